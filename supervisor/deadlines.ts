// Deadlines of many calls on one timer.
//
// Nearly every call is answered long before its deadline, and a Node timer per call would cost more than the call. The timer is set for
// the earliest deadline and cleared when nothing waits, so that no timer outlives the calls.
import type { Clock, Timer } from "./clock.ts"

export class Deadlines {
  readonly #clock: Clock
  readonly #onExpired: (id: number) => void
  readonly #dueMs = new Map<number, number>()
  #timer: Timer | undefined
  #timerDueMs = Infinity

  constructor(clock: Clock, onExpired: (id: number) => void) {
    this.#clock = clock
    this.#onExpired = onExpired
  }

  /** `Infinity` means no deadline. */
  add(id: number, timeoutMs: number): void {
    if (timeoutMs === Infinity) return
    const dueMs = this.#clock.now() + timeoutMs
    this.#dueMs.set(id, dueMs)
    if (dueMs < this.#timerDueMs) this.#arm(dueMs)
  }

  delete(id: number): void {
    this.#dueMs.delete(id)
    if (this.#dueMs.size === 0) this.clear()
  }

  clear(): void {
    this.#dueMs.clear()
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer)
    this.#timer = undefined
    this.#timerDueMs = Infinity
  }

  #arm(dueMs: number): void {
    if (this.#timer !== undefined) this.#clock.clearTimer(this.#timer)
    this.#timerDueMs = dueMs
    this.#timer = this.#clock.setTimer(Math.max(0, dueMs - this.#clock.now()), () => this.#sweep())
  }

  #sweep(): void {
    this.#timer = undefined
    this.#timerDueMs = Infinity
    const nowMs = this.#clock.now()
    let nextMs = Infinity
    for (const [id, dueMs] of this.#dueMs) {
      if (dueMs <= nowMs) {
        this.#dueMs.delete(id)
        this.#onExpired(id)
      } else {
        nextMs = Math.min(nextMs, dueMs)
      }
    }
    if (nextMs < this.#timerDueMs) this.#arm(nextMs)
  }
}
