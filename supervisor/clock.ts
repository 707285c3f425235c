// Time, injected.
//
// Everything that waits or measures takes a clock, so that a whole tree runs on simulated time. The virtual clock moves only when
// told to and fires timers in order of their due time, ties in order of creation.

/** What `setTimer` returned; only the clock that made it knows what it is. */
export type Timer = object

export interface Clock {
  /** Milliseconds on a scale that never goes back. */
  now(): number
  setTimer(ms: number, fire: () => void): Timer
  clearTimer(timer: Timer): void
}

/** Longer waits than this overflow Node's timers and would fire at once. 24.8 days. */
const timerMsMax = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimer: (ms, fire) => setTimeout(fire, Math.min(ms, timerMsMax)),
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `setTimer` above made it
  clearTimer: (timer) => clearTimeout(timer as NodeJS.Timeout),
}

interface VirtualTimer {
  readonly dueMs: number
  readonly order: number
  readonly fire: () => void
}

/** A clock that stands still until `advance` or `fireNext` moves it. For tests and simulations. */
export class VirtualClock implements Clock {
  #nowMs = 0
  #order = 0
  readonly #timers = new Map<Timer, VirtualTimer>()

  now(): number {
    return this.#nowMs
  }

  setTimer(ms: number, fire: () => void): Timer {
    const timer: VirtualTimer = { dueMs: this.#nowMs + ms, order: this.#order++, fire }
    this.#timers.set(timer, timer)
    return timer
  }

  clearTimer(timer: Timer): void {
    this.#timers.delete(timer)
  }

  get timerCount(): number {
    return this.#timers.size
  }

  /** When the next timer is due, or `undefined` when none is set. */
  get nextDueMs(): number | undefined {
    return this.#next()?.dueMs
  }

  /** Moves to the next timer's time and fires that one timer. `false` when there is none. */
  fireNext(): boolean {
    const timer = this.#next()
    if (timer === undefined) return false
    this.#timers.delete(timer)
    this.#nowMs = Math.max(this.#nowMs, timer.dueMs)
    timer.fire()
    return true
  }

  /** Moves the time without firing anything that is due later than `untilMs`; the caller lets the world settle between timers. */
  moveTo(untilMs: number): void {
    if (untilMs > this.#nowMs) this.#nowMs = untilMs
  }

  #next(): VirtualTimer | undefined {
    let first: VirtualTimer | undefined
    for (const timer of this.#timers.values()) {
      if (
        first === undefined ||
        timer.dueMs < first.dueMs ||
        (timer.dueMs === first.dueMs && timer.order < first.order)
      ) {
        first = timer
      }
    }
    return first
  }
}
