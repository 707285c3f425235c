// A request to a process and its one answer.
//
// The deadline runs in the caller. The callee may die, be dead already, answer twice or answer late: the caller learns of the first thing
// that happens and of nothing after it.
import { SupervisionError } from "./errors.ts"
import { monitor } from "./monitor.ts"
import type { Process } from "./process.ts"
import { formatReason, reasonOfThrown } from "./reason.ts"

/** What the callee's `receive` gets for a call. Only the first use of `reply` or `fail` counts. */
export interface CallMessage<Request, Answer> {
  readonly type: "call"
  readonly request: Request
  readonly from: Process | undefined
  reply(answer: Answer): void
  fail(error: unknown): void
}

export interface CallTarget {
  readonly timeoutMs?: number
  /** The calling process; a process that calls itself would wait for itself, and is refused. */
  readonly from?: Process
}

/** OTP's default. */
const timeoutMsDefault = 5000

/** Rejects with kind `timeout`, `noproc`, `exited` (with the reason) or `calling_self`; with the callee's own error after `fail`. */
export function call<Answer>(target: Process, request: unknown, options: CallTarget = {}): Promise<Answer> {
  const { timeoutMs = timeoutMsDefault, from } = options
  if (from === target) {
    return Promise.reject(new SupervisionError("calling_self", `Process '${target.label}' called itself.`))
  }
  return new Promise((resolve, reject) => {
    const { clock } = target.system
    const settle = (end: () => void): void => {
      if (isSettled) return
      isSettled = true
      watching.demonitor()
      clock.clearTimer(deadline)
      end()
    }
    let isSettled = false
    const deadline = clock.setTimer(timeoutMs, () =>
      settle(() =>
        reject(
          new SupervisionError(
            "timeout",
            `Process '${target.label}' did not answer within ${timeoutMs} ms.${hintOf(target)}`,
          ),
        ),
      ),
    )
    const watching = monitor(target, (exitReason) =>
      settle(() => {
        const kind = exitReason === "noproc" ? "noproc" : "exited"
        reject(
          new SupervisionError(kind, `Process '${target.label}' ended: ${formatReason(exitReason)}.`, { exitReason }),
        )
      }),
    )
    const message: CallMessage<unknown, Answer> = {
      type: "call",
      request,
      from,
      reply: (answer) => settle(() => resolve(answer)),
      fail: (error) => settle(() => reject(errorOf(error))),
    }
    target.send(message)
  })
}

/** Whatever the callee failed with, as an error; a value that cannot even be made a string must not cost the caller its answer. */
function errorOf(failure: unknown): Error {
  try {
    return failure instanceof Error ? failure : new Error(String(failure))
  } catch {
    return new Error(formatReason(reasonOfThrown(failure)))
  }
}

function hintOf(target: Process): string {
  return target.like?.receive === undefined ? " It takes no messages: what runs behind it has no `receive`." : ""
}
