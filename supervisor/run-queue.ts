// Asynchronous delivery: one first-in-first-out queue per system, drained from a microtask.
//
// A delivery never runs in its sender's stack: XState's own send does, and a forward chain of a few hundred actors overflowed
// the stack there. One queue for all keeps the order between any two processes. Microtasks alone could starve timers and I/O, so
// after a burst the queue lets the event loop turn once. A delivery that throws never stops the ones behind it.

/** Deliveries in one burst. About 1 ms of supervision work; the loop's other work waits no longer than that. */
const burstDeliveriesMax = 1024

export class RunQueue {
  #waiting: (() => void)[] = []
  #next = 0
  #isScheduled = false
  readonly #onThrow: (thrown: unknown) => void

  constructor(onThrow: (thrown: unknown) => void) {
    this.#onThrow = onThrow
  }

  get isIdle(): boolean {
    return this.#next >= this.#waiting.length
  }

  push(deliver: () => void): void {
    this.#waiting.push(deliver)
    if (this.#isScheduled) return
    this.#isScheduled = true
    queueMicrotask(this.#drain)
  }

  readonly #drain = (): void => {
    let budget = burstDeliveriesMax
    while (this.#next < this.#waiting.length) {
      if (budget-- === 0) {
        // Only when most of it is done, so that a long queue is not copied once a burst.
        if (this.#next * 2 > this.#waiting.length) {
          this.#waiting = this.#waiting.slice(this.#next)
          this.#next = 0
        }
        setImmediate(this.#drain)
        return
      }
      const deliver = this.#waiting[this.#next++]
      try {
        deliver?.()
      } catch (thrown) {
        this.#onThrow(thrown)
      }
    }
    this.#waiting = []
    this.#next = 0
    this.#isScheduled = false
  }
}
