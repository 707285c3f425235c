// A supervisor that runs: the thin process around `decide`.
//
// It owns a mailbox, carries out commands, and turns what happens into events. One message is taken per delivery, and while a command
// waits for its answer the mailbox stands still; only that answer is let in. Whatever code of others it calls (a start, a stop, a
// report) may throw, hang or never answer; none of that may reach the mailbox loop.
import { createActor, type Actor } from "xstate"
import { tameObservers } from "./actor-process.ts"
import type {
  AnswerByOp,
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
  type ResolvedSupervisorSpec,
  type SpecProblem,
  type SupervisorSpec,
} from "./child-spec.ts"
import { childById, inStartOrder } from "./children.ts"
import type { Clock, Timer } from "./clock.ts"
import { SupervisionError } from "./errors.ts"
import { Mailbox } from "./mailbox.ts"
import { PendingCalls } from "./pending-calls.ts"
import { Process, type ProcessLike } from "./process.ts"
import { formatReason, type ExitReason } from "./reason.ts"
import type { Registry } from "./registry.ts"
import type { Report } from "./report.ts"
import { Starter } from "./starter.ts"
import type { Command, SupervisorEvent, SupervisorState } from "./state.ts"
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

export class Supervisor {
  readonly name: string
  readonly process: Process
  readonly system: System
  /** Settles once, when every child has started or one has failed. `startSupervisor` awaits it. */
  readonly booted: Promise<void>
  readonly #actor: Actor<typeof supervisorLogic>
  readonly #onReport: ((report: Report) => void) | undefined
  readonly #random: () => number
  readonly #starter: Starter
  readonly #calls: PendingCalls
  readonly #mailbox = new Mailbox<SupervisorEvent>()
  #isPumpQueued = false
  /** Events that came of this turn's own commands; they go before any message. */
  readonly #answers: SupervisorEvent[] = []
  #isTurning = false
  #shutdownTimer: Timer | undefined
  readonly #restartTimers = new Set<Timer>()
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
    this.#calls = new PendingCalls(this.name, this.system.clock)
    this.#actor = createActor(supervisorLogic, { input: { flags, specs: children } })
    // A throw in `decide` is a broken invariant: it ends this supervisor with that reason, and its parent decides.
    tameObservers(this.#actor)
    this.#actor.subscribe({
      error: (thrown) => this.process.fail(thrown),
      complete: () => {
        // Somebody has stopped the actor itself: nothing would ever move here again.
        if (this.#actor.getSnapshot().status === "stopped") this.process.kill()
      },
    })
    this.process = new Process(this.system, this.#asProcess(), this.name)
    this.process.watch((_process, reason) => this.#ended(reason))
    this.process.parent = options.parent
    const context = { system: this.system, parent: this.process, name: this.name, onReport: this.#onReport }
    this.#starter = new Starter(context, this.#childEnded)
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
    return this.#ask({ op: "startChild", child }, options)
  }

  /** Stops a child by id, or by its process. The specification stays, except for temporary and dynamic children. */
  terminateChild(child: string | Process, options?: CallOptions): Promise<DoneAnswer> {
    return this.#ask({ op: "terminateChild", child }, options)
  }

  /** Starts a child that is stopped. */
  restartChild(id: string, options?: CallOptions): Promise<StartAnswer> {
    return this.#ask({ op: "restartChild", id }, options)
  }

  /** Forgets a child that is stopped. */
  deleteChild(id: string, options?: CallOptions): Promise<DoneAnswer> {
    return this.#ask({ op: "deleteChild", id }, options)
  }

  getChildSpec(id: string, options?: CallOptions): Promise<SpecAnswer> {
    return this.#ask({ op: "getChildSpec", id }, options)
  }

  /**
   * New flags and child specifications without touching what runs, as an OTP code change does it: children that are named keep their
   * process, new ones are added stopped, others stay. What changed counts from the next start, stop or restart on.
   */
  changeSpec(spec: SupervisorSpec, options?: CallOptions): Promise<DoneAnswer> {
    return this.#ask({ op: "changeSpec", spec }, options)
  }

  /** The children, the last started first. */
  whichChildren(options?: CallOptions): Promise<readonly ChildEntry[]> {
    return this.#ask({ op: "whichChildren" }, options)
  }

  countChildren(options?: CallOptions): Promise<ChildCounts> {
    return this.#ask({ op: "countChildren" }, options)
  }

  /** The running process of a child, now and without a message. It may end right after. */
  child(id: string): Process | undefined {
    const child = childById(this.state.children, id)
    return child?.status === "running" && child.process?.isAlive === true ? child.process : undefined
  }

  /** The running supervisor below this one that has this id. */
  nested(id: string): Supervisor | undefined {
    return this.child(id)?.like?.supervisor
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
    if (this.#isPumpQueued || this.#mailbox.isEmpty) return
    this.#isPumpQueued = true
    this.system.queue.push(this.#pump)
  }

  readonly #pump = (): void => {
    this.#isPumpQueued = false
    if (!this.process.isAlive || this.state.work !== undefined) return
    const event = this.#mailbox.take()
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
        for (const command of commands) {
          // A report or a start may have killed it; what it would start then, nobody would stop.
          if (!this.process.isAlive) break
          this.#execute(command)
        }
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
      case "start": {
        const started = this.#starter.start(command.spec, command.args, (event) => {
          if (this.process.isAlive) this.#turn(event)
        })
        if (started !== undefined) this.#answers.push(started)
        return undefined
      }
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
        return this.#calls.answer(command.call, command.answer)
      case "booted":
        return this.#bootDone?.resolve()
      case "exit":
        return this.#endListener?.(command.reason)
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
    const onReport = this.#onReport
    if (onReport === undefined) return
    const { id, restart, shutdown, type, significant } = child.spec
    const offender = { id, process: child.process, restart, shutdown, type, significant }
    const report = { event, supervisor: this.name, reason, offender, children, atMs: this.system.clock.now() }
    // A broken log must not cost a restart; the system's hook tells of it.
    this.system.runCallback(() => onReport(report))
  }

  #ask<R extends Request>(
    request: R,
    { timeoutMs = callTimeoutMsDefault }: CallOptions = {},
  ): Promise<AnswerByOp[R["op"]]> {
    if (!this.process.isAlive) {
      return Promise.reject(this.#calls.goneError("noproc", this.process.exitReason ?? "noproc"))
    }
    const answer = this.#calls.open(timeoutMs, (call) => this.#receive({ type: "call", call, request }))
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- `decide` answers every request with its own kind of answer
    return answer as Promise<AnswerByOp[R["op"]]>
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
    this.#mailbox.clear()
    this.#starter.abandon()
    if (this.#actor.getSnapshot().status === "active") this.#actor.stop()
    this.#bootDone?.reject(
      new SupervisionError("start_failed", `Supervisor '${this.name}' did not start: ${formatReason(reason)}.`, {
        exitReason: reason,
      }),
    )
    this.#calls.endAll(reason)
  }
}

function invalidSpec(problem: SpecProblem): SupervisionError {
  return new SupervisionError("invalid_spec", `The supervisor was not started: ${formatProblem(problem)}.`, { problem })
}
