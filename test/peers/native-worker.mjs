// A worker that is stuck in a native call, which nothing but the end of its process interrupts in time.
import { pbkdf2Sync } from "node:crypto"
import { threadId } from "node:worker_threads"

const entered = 0

export function serve({ port, words }) {
  port.postMessage({ threadId })
  Atomics.store(words, entered, 7)
  // About a second, so that a pool in a test's own process comes to an end.
  setImmediate(() => pbkdf2Sync("a", "b", 1_500_000, 64, "sha512"))
  return new Promise(() => {})
}
