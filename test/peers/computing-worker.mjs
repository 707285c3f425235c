// A worker that reports, says which eval it has entered, and computes for ever.
import { threadId } from "node:worker_threads"

const entered = 0

export function serve({ port, words }) {
  port.postMessage({ threadId })
  Atomics.store(words, entered, 7)
  setImmediate(() => {
    for (;;);
  })
  return new Promise(() => {})
}
