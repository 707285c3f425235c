// A supervisor that runs: the thin process around `decide`.
//
// It owns a mailbox, carries out commands, and turns what happens into events. One message is taken per delivery, and while a command
// waits for its answer the mailbox stands still; only that answer is let in. Whatever code of others it calls (a start, a stop, a
// report) may throw, hang or never answer; none of that may reach the mailbox loop.
import { createActor, type Actor } from "xstate"
import { Deadlines } from "./deadlines.ts"
import { adoptChild, isPromiseLike, readStart } from "./adopt.ts"
import type {
  Answer,
  ChildCounts,
  ChildEntry,
  DoneAnswer,
  NewChild,
  Request,
  SpecAnswer,
  StartAnswer,
} from "./admin.ts"
import {
  checkSupervisorSpec,
  formatProblem,
  type ResolvedChildSpec,
  type ResolvedSupervisorSpec,
  type SpecProblem,
  type StartContext,
  type SupervisorSpec,
} from "./child-spec.ts"
import { childById, inStartOrder } from "./children.ts"
import type { Clock, Timer } from "./clock.ts"
import type { Command, SupervisorEvent, SupervisorState } from "./decide.ts"
import { SupervisionError } from "./errors.ts"
import { Process, type ProcessLike } from "./process.ts"
import { formatReason, reasonOfThrown, type ExitReason } from "./reason.ts"
import type { Registry } from "./registry.ts"
import type { Report } from "./report.ts"
import { supervisorLogic } from "./supervisor-logic.ts"
import { System } from "./system.ts"

export interface SupervisorOptions {
  /** Its name in reports, trees and, with `isRegistered`, in the registry. Default `root`. */
  readonly name?: string
  /** Whether the registry maps `name` to it. Default `false`. */
  readonly isRegistered?: boolean
  /** The system to live in. Default: one of its own, with this clock and registry. */
  readonly system?: System
  readonly clock?: Clock
  readonly registry?: Registry
  /** Set by a `StartContext`: the supervisor above. */
  readonly parent?: Process
  readonly onReport?: ((report: Report) => void) | undefined
  /** Only for tests of backoff: numbers in [0, 1). */
  readonly random?: () => number
}

export interface CallOptions {
  /** How long the caller waits; the request itself is not taken back. Default 30 s. */
  readonly timeoutMs?: number
}

/** A start may take long (an OS process took 100 ms here), so this is more than OTP's 5 s for calls between workers. */
const callTimeoutMsDefault = 30_000

/**
 * Starts a supervisor and its children, in order. Rejects with `invalid_spec` before anything has started, `already_registered`, or
 * `start_failed` when a child did not start; those that had started are stopped again by then.
 */
export async function startSupervisor(spec: SupervisorSpec, options: SupervisorOptions = {}): Promise<Supervisor> {
  const checked = checkSupervisorSpec(spec)
  if (!checked.ok) throw invalidSpec(checked.problem)
  const supervisor = new Supervisor(checked.value, options)
  await supervisor.booted
  return supervisor
}

interface PendingCall {
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: SupervisionError) => void
}

export class Supervisor {
  readonly name: string
  readonly process: Process
  readonly system: System
  /** Settles once, when every child has started or one has failed. `startSupervisor` awaits it. */
  readonly booted: Promise<void>
  readonly #actor: Actor<typeof supervisorLogic>
  readonly #onReport: ((report: Report) => void) | undefined
  readonly #random: () => number
  readonly #context: StartContext
  #mailbox: SupervisorEvent[] = []
  #mailboxNext = 0
  #isPumpQueued = false
  readonly #answers: SupervisorEvent[] = []
  #isTurning = false
  #startSerial = 0
  #shutdownTimer: Timer | undefined
  readonly #restartTimers = new Set<Timer>()
  #callSerial = 0
  readonly #calls = new Map<number, PendingCall>()
  readonly #deadlines: Deadlines
  #endListener: ((reason: ExitReason) => void) | undefined
  #bootDone: { resolve: () => void; reject: (error: SupervisionError) => void } | undefined

  /** Use `startSupervisor`, which checks the specification. */
  constructor({ flags, children }: ResolvedSupervisorSpec, options: SupervisorOptions) {
    this.name = options.name ?? "root"
    this.system =
      options.system ??
      new System({
        ...(options.clock === undefined ? {} : { clock: options.clock }),
        ...(options.registry === undefined ? {} : { registry: options.registry }),
      })
    this.#onReport = options.onReport
    this.#random = options.random ?? Math.random
    this.#deadlines = new Deadlines(this.system.clock, (call) => this.#callExpired(call))
    this.#actor = createActor(supervisorLogic, { input: { flags, specs: children } })
    // A throw in `decide` is a broken invariant: it ends this supervisor with that reason, and its parent decides.
    this.#actor.subscribe({ error: (thrown) => this.process.fail(thrown) })
    this.process = new Process(this.system, this.#asProcess(), this.name)
    this.process.watch((_process, reason) => this.#ended(reason))
    this.process.parent = options.parent
    this.#context = { system: this.system, parent: this.process, name: this.name, onReport: this.#onReport }
    this.booted = new Promise<void>((resolve, reject) => {
      this.#bootDone = { resolve, reject }
    })
    // The promise may be awaited late; until then its rejection is nobody's uncaught one.
    this.booted.catch(() => undefined)
    if (options.isRegistered === true && !this.system.registry.register(this.name, this.process).ok) {
      this.#bootDone?.reject(
        new SupervisionError("already_registered", `The name '${this.name}' is taken by a live process.`),
      )
      this.process.kill()
      return
    }
    this.#actor.start()
    this.#receive({ type: "boot" })
  }

  // ---- the admin calls

  /** Starts and adds a child; under `simple_one_for_one` pass the arguments for the template's start instead of a specification. */
  startChild(child: NewChild, options?: CallOptions): Promise<StartAnswer> {
    return this.#call({ op: "startChild", child }, options) as Promise<StartAnswer>
  }

  /** Stops a child by id, or by its process. The specification stays, except for temporary and dynamic children. */
  terminateChild(child: string | Process, options?: CallOptions): Promise<DoneAnswer> {
    return this.#call({ op: "terminateChild", child }, options) as Promise<DoneAnswer>
  }

  /** Starts a child that is stopped. */
  restartChild(id: string, options?: CallOptions): Promise<StartAnswer> {
    return this.#call({ op: "restartChild", id }, options) as Promise<StartAnswer>
  }

  /** Forgets a child that is stopped. */
  deleteChild(id: string, options?: CallOptions): Promise<DoneAnswer> {
    return this.#call({ op: "deleteChild", id }, options) as Promise<DoneAnswer>
  }

  getChildSpec(id: string, options?: CallOptions): Promise<SpecAnswer> {
    return this.#call({ op: "getChildSpec", id }, options) as Promise<SpecAnswer>
  }

  /**
   * New flags and child specifications without touching what runs, as an OTP code change does it: children that are named keep their
   * process, new ones are added stopped, others stay. What changed counts from the next start, stop or restart on.
   */
  changeSpec(spec: SupervisorSpec, options?: CallOptions): Promise<DoneAnswer> {
    return this.#call({ op: "changeSpec", spec }, options) as Promise<DoneAnswer>
  }

  /** The children, the last started first. */
  whichChildren(options?: CallOptions): Promise<readonly ChildEntry[]> {
    return this.#call({ op: "whichChildren" }, options) as Promise<readonly ChildEntry[]>
  }

  countChildren(options?: CallOptions): Promise<ChildCounts> {
    return this.#call({ op: "countChildren" }, options) as Promise<ChildCounts>
  }

  /** The running process of a child, now and without a message. It may end right after. */
  child(id: string): Process | undefined {
    const child = childById(this.state.children, id)
    return child?.status === "running" && child.process?.isAlive === true ? child.process : undefined
  }

  /** The state as it is now; an immutable value. */
  get state(): SupervisorState {
    return this.#actor.getSnapshot().context
  }

  /** The XState actor that holds the state, to subscribe to or inspect. */
  get actor(): Actor<typeof supervisorLogic> {
    return this.#actor
  }

  /**
   * Stops the children and then itself, as an order from above. Resolves with the exit reason once it has ended; when that takes longer
   * than `timeoutMs` (default: no limit, since each child has its own) it is killed.
   */
  stop(reason: ExitReason = "shutdown", options: CallOptions = {}): Promise<ExitReason> {
    return new Promise((resolve) => {
      const { clock } = this.system
      const deadline =
        options.timeoutMs === undefined ? undefined : clock.setTimer(options.timeoutMs, () => this.process.kill())
      this.process.watch((_process, exitReason) => {
        if (deadline !== undefined) clock.clearTimer(deadline)
        resolve(exitReason)
      })
      if (this.process.isAlive) this.#receive({ type: "stop.requested", reason })
    })
  }

  /** Ends it at once; its children get `killed` through their links, as in OTP. */
  kill(): void {
    this.process.kill()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  // ---- messages in

  #receive(event: SupervisorEvent): void {
    this.#mailbox.push(event)
    this.#queuePump()
  }

  #queuePump(): void {
    if (this.#isPumpQueued || this.#mailboxNext >= this.#mailbox.length) return
    this.#isPumpQueued = true
    this.system.queue.push(this.#pump)
  }

  readonly #pump = (): void => {
    this.#isPumpQueued = false
    if (!this.process.isAlive || this.state.work !== undefined) return
    const event = this.#mailbox[this.#mailboxNext++]
    if (this.#mailboxNext >= this.#mailbox.length) {
      this.#mailbox = []
      this.#mailboxNext = 0
    } else if (this.#mailboxNext > 1024 && this.#mailboxNext * 2 > this.#mailbox.length) {
      this.#mailbox = this.#mailbox.slice(this.#mailboxNext)
      this.#mailboxNext = 0
    }
    if (event !== undefined) this.#turn(event)
  }

  /** Runs an event, and the answers that its commands got at once. */
  #turn(event: SupervisorEvent): void {
    this.#answers.push(event)
    if (this.#isTurning) return
    this.#isTurning = true
    try {
      for (let next = this.#answers.shift(); next !== undefined; next = this.#answers.shift()) {
        if (!this.process.isAlive) break
        this.#actor.send({ type: "turn", event: next, nowMs: this.system.clock.now(), random: this.#random() })
        const { status, commands } = this.#actor.getSnapshot()
        if (status === "error" || status === "stopped") break
        for (const command of commands) this.#execute(command)
      }
    } finally {
      this.#answers.length = 0
      this.#isTurning = false
    }
    if (this.state.work === undefined) this.#queuePump()
  }

  /** A child's end: the answer to a stop if this is awaited, a message otherwise. */
  readonly #childEnded = (process: Process, reason: ExitReason): void => {
    this.system.queue.push(() => {
      if (!this.process.isAlive) return
      const event: SupervisorEvent = { type: "child.exited", process, reason }
      const wait = this.state.work?.wait
      const isAwaited = wait?.for === "allExits" || (wait?.for === "exit" && wait.process === process)
      if (isAwaited) this.#turn(event)
      else this.#receive(event)
    })
  }

  // ---- commands out

  #execute(command: Command): void {
    const { clock } = this.system
    switch (command.do) {
      case "start":
        return this.#start(command.spec, command.args)
      case "signal":
        // Already dead, with its end still on the way: that end is the answer. The message, when it comes, is about nobody.
        if (command.process.exitReason !== undefined) {
          this.#answers.push({ type: "child.exited", process: command.process, reason: command.process.exitReason })
        } else {
          command.process.signal(command.reason, this.process)
        }
        return undefined
      case "setShutdownTimer":
        this.#shutdownTimer = clock.setTimer(command.ms, () =>
          this.system.queue.push(() => {
            if (this.process.isAlive) this.#turn({ type: "shutdown.expired" })
          }),
        )
        return undefined
      case "clearShutdownTimer":
        if (this.#shutdownTimer !== undefined) clock.clearTimer(this.#shutdownTimer)
        this.#shutdownTimer = undefined
        return undefined
      case "tryRestart":
        return this.#tryRestart(command.slot, command.afterMs, command.isCounted)
      case "report":
        return this.#report(command)
      case "answer":
        return this.#answer(command.call, command.answer)
      case "booted":
        return this.#bootDone?.resolve()
      case "exit":
        return this.#endListener?.(command.reason)
    }
  }

  #start(spec: ResolvedChildSpec, args: readonly unknown[]): void {
    const serial = ++this.#startSerial
    const { system, parent, onReport } = this.#context
    const context: StartContext = { system, parent, name: `${this.name}/${spec.id}`, onReport }
    let result: unknown
    try {
      result = spec.start(context, ...args)
    } catch (thrown) {
      this.#answers.push({ type: "child.notStarted", reason: reasonOfThrown(thrown) })
      return
    }
    if (!isPromiseLike(result)) {
      this.#answers.push(this.#settleStart(spec, context.name, result))
      return
    }
    const isCurrent = (): boolean =>
      this.process.isAlive && this.#startSerial === serial && this.state.work?.wait?.for === "start"
    const timer = this.system.clock.setTimer(spec.startTimeoutMs, () => {
      if (!isCurrent()) return
      this.#startSerial++
      this.#turn({ type: "child.notStarted", reason: { startTimeoutMs: spec.startTimeoutMs } })
    })
    result.then(
      (value) => {
        this.system.clock.clearTimer(timer)
        if (isCurrent()) this.#turn(this.#settleStart(spec, context.name, value))
        else this.#discardLate(value, context.name)
      },
      (thrown: unknown) => {
        this.system.clock.clearTimer(timer)
        if (isCurrent()) this.#turn({ type: "child.notStarted", reason: reasonOfThrown(thrown) })
      },
    )
  }

  #settleStart(spec: ResolvedChildSpec, name: string, value: unknown): SupervisorEvent {
    const read = readStart(value)
    if (read === "ignore") return { type: "child.ignored" }
    if ("error" in read) return { type: "child.notStarted", reason: read.error }
    let process: Process
    try {
      process = adoptChild(this.system, read.child, name)
    } catch (thrown) {
      return { type: "child.notStarted", reason: reasonOfThrown(thrown) }
    }
    process.parent = this.process
    if (spec.name !== undefined && !this.system.registry.register(spec.name, process).ok) {
      process.kill()
      return { type: "child.notStarted", reason: { alreadyRegistered: spec.name } }
    }
    process.watch(this.#childEnded)
    return { type: "child.started", process, info: read.info }
  }

  /** A start that nobody waits for any more has still made something: it must not live on unsupervised. */
  #discardLate(value: unknown, name: string): void {
    const read = readStart(value)
    if (read === "ignore" || "error" in read) return
    try {
      adoptChild(this.system, read.child, name).kill()
    } catch {
      // It could not even be adopted: there is nothing to end.
    }
  }

  #tryRestart(slot: number, afterMs: number, isCounted: boolean): void {
    const event: SupervisorEvent = { type: "restart.due", slot, isCounted }
    if (afterMs === 0) {
      this.#receive(event)
      return
    }
    const timer = this.system.clock.setTimer(afterMs, () => {
      this.#restartTimers.delete(timer)
      this.#receive(event)
    })
    this.#restartTimers.add(timer)
  }

  #report({ event, child, reason, children }: Extract<Command, { do: "report" }>): void {
    if (this.#onReport === undefined) return
    const { id, restart, shutdown, type, significant } = child.spec
    const offender = { id, process: child.process, restart, shutdown, type, significant }
    try {
      this.#onReport({ event, supervisor: this.name, reason, offender, children, atMs: this.system.clock.now() })
    } catch (thrown) {
      // A broken log must not cost a restart; the system's hook tells of it.
      this.system.callbackThrew(thrown)
    }
  }

  // ---- calls

  #call(request: Request, { timeoutMs = callTimeoutMsDefault }: CallOptions = {}): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (!this.process.isAlive) {
        reject(this.#goneError("noproc", this.process.exitReason ?? "noproc"))
        return
      }
      const call = ++this.#callSerial
      this.#calls.set(call, { resolve, reject })
      this.#deadlines.add(call, timeoutMs)
      this.#receive({ type: "call", call, request })
    })
  }

  #answer(call: number, answer: Answer): void {
    const pending = this.#calls.get(call)
    // The caller's deadline has passed: a late answer is nobody's.
    if (pending === undefined) return
    this.#calls.delete(call)
    this.#deadlines.delete(call)
    pending.resolve(answer)
  }

  #callExpired(call: number): void {
    const pending = this.#calls.get(call)
    this.#calls.delete(call)
    pending?.reject(
      new SupervisionError(
        "timeout",
        `Supervisor '${this.name}' did not answer in time; the request was not taken back.`,
      ),
    )
  }

  #goneError(kind: "noproc" | "exited", exitReason: ExitReason): SupervisionError {
    return new SupervisionError(kind, `Supervisor '${this.name}' has ended: ${formatReason(exitReason)}.`, {
      exitReason,
    })
  }

  // ---- its own process

  #asProcess(): ProcessLike {
    return {
      stop: (reason, from) => {
        // Only the parent's signal is an order; signals from others are ignored, as OTP's supervisor ignores unknown EXITs.
        if (from !== undefined && from === this.process.parent) this.#receive({ type: "stop.requested", reason })
      },
      kill: () => {
        const { children } = this.state
        for (const { process, status } of inStartOrder(children)) {
          if (status === "running") process?.signal("killed", this.process)
        }
      },
      onExit: (listener) => {
        this.#endListener = listener
      },
      describe: () => this.state.flags.strategy,
      supervisor: this,
    }
  }

  #ended(reason: ExitReason): void {
    const { clock } = this.system
    if (this.#shutdownTimer !== undefined) clock.clearTimer(this.#shutdownTimer)
    for (const timer of this.#restartTimers) clock.clearTimer(timer)
    this.#restartTimers.clear()
    this.#deadlines.clear()
    this.#mailbox = []
    this.#mailboxNext = 0
    if (this.#actor.getSnapshot().status === "active") this.#actor.stop()
    this.#bootDone?.reject(
      new SupervisionError("start_failed", `Supervisor '${this.name}' did not start: ${formatReason(reason)}.`, {
        exitReason: reason,
      }),
    )
    const calls = [...this.#calls.values()]
    this.#calls.clear()
    for (const { reject } of calls) reject(this.#goneError("exited", reason))
  }
}

function invalidSpec(problem: SpecProblem): SupervisionError {
  return new SupervisionError("invalid_spec", `The supervisor was not started: ${formatProblem(problem)}.`, { problem })
}
