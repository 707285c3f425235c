// The calls to one supervisor that wait for their answer.
//
// A call ends once: with its answer, at its deadline, or with the supervisor. What comes after that is nobody's.
import type { Answer } from "./admin.ts"
import type { Clock } from "./clock.ts"
import { Deadlines } from "./deadlines.ts"
import { SupervisionError } from "./errors.ts"
import { formatReason, type ExitReason } from "./reason.ts"

interface PendingCall {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: SupervisionError) => void
}

export class PendingCalls {
  readonly #supervisor: string
  readonly #calls = new Map<number, PendingCall>()
  readonly #deadlines: Deadlines
  #serial = 0

  constructor(supervisor: string, clock: Clock) {
    this.#supervisor = supervisor
    this.#deadlines = new Deadlines(clock, (call) => this.#expire(call))
  }

  /** Opens a call; `send` gets its number. */
  open(timeoutMs: number, send: (call: number) => void): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const call = ++this.#serial
      this.#calls.set(call, { resolve, reject })
      this.#deadlines.add(call, timeoutMs)
      send(call)
    })
  }

  answer(call: number, answer: Answer): void {
    const pending = this.#calls.get(call)
    if (pending === undefined) return
    this.#calls.delete(call)
    this.#deadlines.delete(call)
    pending.resolve(answer)
  }

  /** The supervisor has ended: every open call fails with its reason. */
  endAll(exitReason: ExitReason): void {
    const pending = [...this.#calls.values()]
    this.#calls.clear()
    this.#deadlines.clear()
    for (const { reject } of pending) reject(this.goneError("exited", exitReason))
  }

  goneError(kind: "noproc" | "exited", exitReason: ExitReason): SupervisionError {
    const message = `Supervisor '${this.#supervisor}' has ended: ${formatReason(exitReason)}.`
    return new SupervisionError(kind, message, { exitReason })
  }

  #expire(call: number): void {
    const pending = this.#calls.get(call)
    this.#calls.delete(call)
    const message = `Supervisor '${this.#supervisor}' did not answer in time; the request was not taken back.`
    pending?.reject(new SupervisionError("timeout", message))
  }
}
