// What the processes of one tree share: clock, delivery queue, registry, serial numbers.
//
// Two systems in one Node process know nothing of each other, so nothing here may live at module level.
import { systemClock, type Clock } from "./clock.ts"
import { Registry } from "./registry.ts"
import { formatReason, reasonOfThrown } from "./reason.ts"
import { RunQueue } from "./run-queue.ts"

export class System {
  readonly clock: Clock
  readonly registry: Registry
  readonly queue: RunQueue
  readonly #onThrow: (thrown: unknown) => void
  #serial = 0

  constructor(options: { clock?: Clock; registry?: Registry; onThrow?: (thrown: unknown) => void } = {}) {
    this.clock = options.clock ?? systemClock
    this.registry = options.registry ?? new Registry()
    this.#onThrow = options.onThrow ?? warnOfThrown
    this.queue = new RunQueue((thrown) => this.callbackThrew(thrown))
  }

  nextSerial(): number {
    return ++this.#serial
  }

  /** Calls into a callback that belongs to no process; it may throw, and, being an async function, reject. */
  runCallback(run: () => unknown): void {
    try {
      const result = run()
      if (result instanceof Promise) result.catch((thrown: unknown) => this.callbackThrew(thrown))
    } catch (thrown) {
      this.callbackThrew(thrown)
    }
  }

  /**
   * Takes what a callback threw that belongs to no process: a report's, a monitor's. Nobody can be restarted for it, so it becomes a
   * warning of the Node process (or goes to `onThrow`), and never an uncaught exception.
   */
  callbackThrew(thrown: unknown): void {
    try {
      this.#onThrow(thrown)
    } catch {
      // The hook itself is broken; there is nobody left to tell.
    }
  }
}

export function warnOfThrown(thrown: unknown): void {
  process.emitWarning(`a supervision callback threw ${formatReason(reasonOfThrown(thrown))}`)
}
