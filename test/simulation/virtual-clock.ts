// Time that a test moves by hand. Nothing happens in it but what was asked for, in the order of its due times.
import type { Clock } from "../../runtime/clock.ts"

interface Timer {
  readonly at: number
  readonly order: number
  readonly callback: () => void
}

export class VirtualClock implements Clock {
  readonly #timers = new Set<Timer>()
  #now = 1_000
  #order = 0

  now(): number {
    return this.#now
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, order: ++this.#order, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  /** Lets everything happen that is due within `ms`; promises settle between two timers. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    await settle()
    for (let next = this.#next(); next !== undefined && next.at <= end; next = this.#next()) {
      this.#timers.delete(next)
      this.#now = Math.max(this.#now, next.at)
      next.callback()
      await settle()
    }
    this.#now = end
  }

  /** The loop did not turn for so long: timers that were due meanwhile fire late, when it turns again. */
  block(ms: number): void {
    this.#now += ms
  }

  #next(): Timer | undefined {
    let first: Timer | undefined
    for (const timer of this.#timers) {
      if (first === undefined || timer.at < first.at || (timer.at === first.at && timer.order < first.order))
        first = timer
    }
    return first
  }
}

/** Every promise that can go on has gone on. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
