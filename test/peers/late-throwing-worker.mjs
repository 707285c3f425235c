// A worker in which something throws that no task can be blamed for.
import { threadId } from "node:worker_threads"

export function serve({ port }) {
  port.postMessage({ threadId })
  setTimeout(() => {
    throw new Error("late")
  }, 1)
  return new Promise(() => {})
}
