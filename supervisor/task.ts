// A promise as a process: it ends `normal` when the promise is fulfilled, and with what was thrown when it is rejected.
//
// A stop aborts the task's signal and waits for the promise to settle, within the child's shutdown deadline. A killed task's promise may
// settle whenever it likes: nobody listens any more.
import { createActor, fromPromise } from "xstate"
import { actorProcess } from "./actor-process.ts"
import type { ProcessLike } from "./process.ts"
import type { ExitReason } from "./reason.ts"

/** Starts `run` at once. `signal` is aborted with the exit reason, by a stop or a kill. */
export function task(run: (signal: AbortSignal) => Promise<unknown>): ProcessLike {
  const controller = new AbortController()
  let asked: ExitReason | undefined
  const actor = createActor(fromPromise(() => run(controller.signal)))
  const running = actorProcess(actor)
  return {
    stop: (reason) => {
      asked = reason
      controller.abort(reason)
    },
    kill: () => {
      controller.abort("killed")
      return running.kill()
    },
    // A task that was asked to stop usually rejects with the abort's reason; it did as it was told.
    onExit: (listener) => running.onExit((reason) => listener(asked ?? reason)),
    describe: () => "task",
  }
}
