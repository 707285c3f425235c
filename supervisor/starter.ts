// Runs the starts of a supervisor's children, one at a time.
//
// A start is code of others: it may throw, reject, never settle, settle too late, or return anything. Whatever it does becomes one event;
// and what it makes when nobody waits for it any more is killed, since it must not live on unsupervised.
import { adoptChild, discardChild, isPromiseLike, readStart } from "./adopt.ts"
import type { ResolvedChildSpec, StartContext } from "./child-spec.ts"
import type { Timer } from "./clock.ts"
import type { ExitWatcher, Process } from "./process.ts"
import { reasonOfThrown } from "./reason.ts"
import type { SupervisorEvent } from "./state.ts"

export class Starter {
  readonly #context: StartContext
  readonly #onExit: ExitWatcher
  /** Which start is waited for; a start of another number is late. */
  #serial = 0
  #timer: Timer | undefined

  constructor(context: StartContext, onExit: ExitWatcher) {
    this.#context = context
    this.#onExit = onExit
  }

  /** The event of a start that is over at once; otherwise `undefined`, and `later` gets it. */
  start(
    spec: ResolvedChildSpec,
    args: readonly unknown[],
    later: (event: SupervisorEvent) => void,
  ): SupervisorEvent | undefined {
    const { system, parent, onReport } = this.#context
    const context: StartContext = { system, parent, name: `${this.#context.name}/${spec.id}`, onReport }
    const serial = ++this.#serial
    let result: unknown
    try {
      result = spec.start(context, ...args)
      if (!isPromiseLike(result)) return this.#settle(spec, context.name, serial, result)
    } catch (thrown) {
      return { type: "child.notStarted", reason: reasonOfThrown(thrown) }
    }
    this.#await(spec, context.name, serial, result, later).catch((thrown: unknown) => parent.fail(thrown))
    return undefined
  }

  /** Nobody waits any more. */
  abandon(): void {
    this.#serial++
    if (this.#timer !== undefined) this.#context.system.clock.clearTimer(this.#timer)
    this.#timer = undefined
  }

  async #await(
    spec: ResolvedChildSpec,
    name: string,
    serial: number,
    result: PromiseLike<unknown>,
    later: (event: SupervisorEvent) => void,
  ): Promise<void> {
    const { clock } = this.#context.system
    const isAwaited = (): boolean => this.#serial === serial
    // The start itself may have ended the supervisor.
    const timer = !isAwaited()
      ? undefined
      : clock.setTimer(spec.startTimeoutMs, () => {
          if (!isAwaited()) return
          this.abandon()
          later({ type: "child.notStarted", reason: { startTimeoutMs: spec.startTimeoutMs } })
        })
    this.#timer = timer
    const clear = (): void => {
      if (timer !== undefined) clock.clearTimer(timer)
      if (this.#timer === timer) this.#timer = undefined
    }
    let value: unknown
    try {
      value = await result
    } catch (thrown) {
      clear()
      if (isAwaited()) later({ type: "child.notStarted", reason: reasonOfThrown(thrown) })
      return
    }
    clear()
    if (!isAwaited()) return this.#discard(value, name)
    const event = this.#settle(spec, name, serial, value)
    if (event !== undefined) later(event)
  }

  #settle(spec: ResolvedChildSpec, name: string, serial: number, value: unknown): SupervisorEvent | undefined {
    if (this.#serial !== serial) {
      this.#discard(value, name)
      return undefined
    }
    const { system, parent } = this.#context
    let process: Process
    let info: unknown
    try {
      const read = readStart(value)
      if (read === "ignore") return { type: "child.ignored" }
      if ("error" in read) return { type: "child.notStarted", reason: read.error }
      process = adoptChild(system, read.child, name)
      info = read.info
    } catch (thrown) {
      return { type: "child.notStarted", reason: reasonOfThrown(thrown) }
    }
    // Starting the actor may have ended the supervisor.
    if (this.#serial !== serial) {
      process.kill()
      return undefined
    }
    process.parent = parent
    if (spec.name !== undefined && process.isAlive && !system.registry.register(spec.name, process).ok) {
      process.kill()
      return { type: "child.notStarted", reason: { alreadyRegistered: spec.name } }
    }
    process.watch(this.#onExit)
    return { type: "child.started", process, info }
  }

  #discard(value: unknown, name: string): void {
    try {
      const read = readStart(value)
      if (read !== "ignore" && !("error" in read)) discardChild(this.#context.system, read.child, name)
    } catch {
      // It could not even be adopted: there is nothing to end.
    }
  }
}
