// Calls of session code that need their answer at once: over the message port to the host's main thread, which relays them.
//
// The thread sleeps until the answer is on the port or its deadline has passed; an answer that comes later is nobody's and is dropped.
// While it sleeps it answers nothing, so pings that lie on the port are counted on the way.
import { receiveMessageOnPort } from "node:worker_threads"
import { TURN, WAITING } from "../wire/shared-memory.ts"
import type { ServeTask, SyncReply, SyncRequest } from "../wire/thread.ts"

export class SyncCalls {
  readonly #task: ServeTask
  #last = 0

  constructor(task: ServeTask) {
    this.#task = task
  }

  /** Sends the request and waits; `reply` is undefined when no answer came in time. */
  call(request: Omit<SyncRequest, "callId">): { callId: number; reply: SyncReply | undefined } {
    const { port, words, syncCallTimeoutMs } = this.#task
    const callId = ++this.#last
    Atomics.store(words, WAITING, 1)
    port.postMessage({ callId, ...request })
    const deadline = performance.now() + syncCallTimeoutMs
    for (;;) {
      const left = deadline - performance.now()
      if (left <= 0 || Atomics.wait(words, WAITING, 1, left) === "timed-out") return { callId, reply: undefined }
      const reply = this.#receive(callId)
      if (reply !== undefined) return { callId, reply }
      Atomics.store(words, WAITING, 1)
    }
  }

  #receive(callId: number): SyncReply | undefined {
    for (;;) {
      const received = receiveMessageOnPort(this.#task.port)
      if (received === undefined) return undefined
      const { message } = received
      if (message === "ping") Atomics.add(this.#task.words, TURN, 1)
      else if (message.callId === callId) return message
    }
  }
}
