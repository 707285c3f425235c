// A worker whose code ends its thread as soon as it has reported.
import { threadId } from "node:worker_threads"

export function serve({ port }) {
  port.postMessage({ threadId })
  setImmediate(() => process.exit(3))
  return new Promise(() => {})
}
