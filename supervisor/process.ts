// The handle of one live thing: its identity, its links and monitors, its one end.
//
// Whatever runs behind it (an XState actor, a task, an OS process, an object of the embedder's) is a `ProcessLike`. The handle decides
// when that thing is dead to the system: at most once, with one reason, and from then on nothing it says is believed. JavaScript cannot
// stop a running loop, so `kill` means exactly that; whoever hosts the code reclaims the CPU. Nobody is ever told of an end in the
// stack of the one who ended.
import { reasonOfThrown, reasonOfTold, type ExitReason } from "./reason.ts"
import type { Supervisor } from "./supervisor.ts"
import type { System } from "./system.ts"

/** What the embedder implements to have an object supervised. Cheap on purpose: no timers, no promises, no emitter needed. */
export interface ProcessLike {
  /**
   * Asks for an orderly end. The end itself is told through `onExit`, and within the child's shutdown deadline, or `kill` follows.
   * Without this method an exit signal ends the process at once, with the signal's reason.
   */
  stop?(reason: ExitReason, from: Process | undefined): void
  /** Releases everything at once. It counts as dead when this returns, or when the promise settles. */
  kill(): void | Promise<void>
  /** Called once, with the listener to be called once when it ends by itself or after `stop`. */
  onExit(listener: (reason: ExitReason) => void): void
  /** Takes a message that was sent with `send`. */
  receive?(message: unknown): void
  /** Lines for `printTree`, such as a pid or a state. Must be quick. */
  describe?(): string
  /** Set when this is a supervisor: how a tree goes on below it. */
  readonly supervisor?: Supervisor
}

/** A watcher that is told of the end; `Supervisor` and monitors use it. It runs in the stack of the end, so it only queues. */
export type ExitWatcher = (process: Process, reason: ExitReason) => void

export type TrapHandler = (signal: { readonly from: Process | undefined; readonly reason: ExitReason }) => void

/** How long a `kill` that returns a promise may take before the process counts as dead. SIGKILL took 2 ms here; disk waits can take seconds. */
const killConfirmMsMax = 5000

export class Process {
  readonly serial: number
  readonly system: System
  /** Set by the supervisor that starts it. Only a parent's signal is an order to stop. */
  parent: Process | undefined
  label: string
  #like: ProcessLike | undefined
  #exitReason: ExitReason | undefined
  #watchers: ExitWatcher | Set<ExitWatcher> | undefined
  #links: Set<Process> | undefined
  #trap: TrapHandler | undefined
  /** Set while it is being killed: the reason it dies of, whatever the thing behind it says in its last moment. */
  #killReason: ExitReason | undefined

  constructor(system: System, like: ProcessLike, label: string) {
    this.serial = system.nextSerial()
    this.system = system
    this.label = label
    this.#like = like
    like.onExit((reason) => this.#end(reason))
  }

  get isAlive(): boolean {
    return this.#exitReason === undefined
  }

  get exitReason(): ExitReason | undefined {
    return this.#exitReason
  }

  /** What this handle stands for, while it lives. */
  get like(): ProcessLike | undefined {
    return this.#like
  }

  describe(): string {
    try {
      return this.#like?.describe?.() ?? ""
    } catch {
      // A description is a courtesy; a tree must print even when one of its nodes cannot describe itself.
      return "(cannot be described)"
    }
  }

  /**
   * Sends an exit signal; it is delivered later, in order. OTP's rules: `kill` cannot be refused and arrives at links as `killed`;
   * `normal` from anyone but the parent is ignored; a process that traps gets the signal as data; any other reason stops it.
   */
  signal(reason: ExitReason, from?: Process): void {
    if (this.isAlive) this.system.queue.push(() => this.#deliverSignal(reason, from))
  }

  #deliverSignal(reason: ExitReason, from: Process | undefined): void {
    const like = this.#like
    if (like === undefined) return
    if (reason === "kill") {
      this.kill()
      return
    }
    const isFromParent = from !== undefined && from === this.parent
    const trap = this.#trap
    if (trap !== undefined && !(isFromParent && like.stop !== undefined)) {
      this.#guard(() => trap({ from, reason }))
    } else if (reason !== "normal" || isFromParent) {
      if (like.stop === undefined) this.#die(reason)
      else this.#guard(() => like.stop?.(reason, from))
    }
  }

  /** Dead to the system now, or as soon as the thing behind it has confirmed. */
  kill(): void {
    this.#die("killed")
  }

  /** Ends the process with what was thrown; used for every call into code that is not ours. */
  fail(thrown: unknown): void {
    this.#die(reasonOfThrown(thrown))
  }

  /** Delivered later, in order, and dropped when the process is dead by then. */
  send(message: unknown): void {
    this.system.queue.push(() => {
      if (this.isAlive) this.#guard(() => this.#like?.receive?.(message))
    })
  }

  watch(watcher: ExitWatcher): void {
    if (this.#exitReason !== undefined) {
      watcher(this, this.#exitReason)
      return
    }
    if (this.#watchers === undefined) this.#watchers = watcher
    else if (typeof this.#watchers === "function") this.#watchers = new Set([this.#watchers, watcher])
    else this.#watchers.add(watcher)
  }

  unwatch(watcher: ExitWatcher): void {
    if (this.#watchers === watcher) this.#watchers = undefined
    else if (this.#watchers instanceof Set) this.#watchers.delete(watcher)
  }

  /** Exit signals arrive at `handler` as data instead of ending this process. `undefined` stops trapping. */
  trapExits(handler: TrapHandler | undefined): void {
    this.#trap = handler
  }

  addLink(other: Process): void {
    this.#links ??= new Set()
    this.#links.add(other)
  }

  removeLink(other: Process): void {
    this.#links?.delete(other)
  }

  #die(reason: ExitReason): void {
    if (!this.isAlive || this.#killReason !== undefined) return
    this.#killReason = reason
    let confirmed: void | Promise<void>
    try {
      confirmed = this.#like?.kill()
    } catch {
      // A kill that throws still kills: the handle is what the system believes, and it ends below.
      confirmed = undefined
    }
    if (!(confirmed instanceof Promise)) {
      this.#end(reason)
      return
    }
    const end = (): void => {
      this.system.clock.clearTimer(deadline)
      this.#end(reason)
    }
    const deadline = this.system.clock.setTimer(killConfirmMsMax, () => this.#end(reason))
    confirmed.then(end, end)
  }

  #guard(run: () => unknown): void {
    try {
      const result = run()
      if (result instanceof Promise) result.catch((thrown: unknown) => this.fail(thrown))
    } catch (thrown) {
      this.fail(thrown)
    }
  }

  /** A watcher that throws keeps no other from being told, and does not break whoever ended. */
  #tell(watcher: ExitWatcher, reason: ExitReason): void {
    try {
      watcher(this, reason)
    } catch (thrown) {
      this.system.callbackThrew(thrown)
    }
  }

  #end(told: ExitReason): void {
    if (this.#exitReason !== undefined) return
    const reason = this.#killReason ?? reasonOfTold(told)
    this.#exitReason = reason
    this.#like = undefined
    this.#trap = undefined
    this.system.registry.free(this)
    const watchers = this.#watchers
    this.#watchers = undefined
    if (typeof watchers === "function") this.#tell(watchers, reason)
    else if (watchers !== undefined) for (const watcher of watchers) this.#tell(watcher, reason)
    const links = this.#links
    this.#links = undefined
    if (links === undefined) return
    for (const other of links) {
      other.removeLink(this)
      this.system.queue.push(() => other.signal(reason === "kill" ? "killed" : reason, this))
    }
  }
}
