// A world on simulated time for tests of supervision: scripted children, collected reports, and a way to wait for nothing.
//
// `quiet` lets everything that can happen now happen; `advance` moves the clock and lets what is due happen in order. A child is told how
// to start (`plan`, one entry per attempt, the last repeats) and how to answer a stop.
/* oxlint-disable typescript/no-unsafe-type-assertion -- scripted children return what a start must not */
import {
  Process,
  startSupervisor,
  System,
  VirtualClock,
  type ChildSpec,
  type ExitReason,
  type ProcessLike,
  type Report,
  type StartResult,
  type Supervisor,
  type SupervisorOptions,
  type SupervisorSpec,
} from "../../../supervisor/index.ts"

export type StartPlan =
  | "ok"
  | "ignore"
  | { readonly error: ExitReason }
  | { readonly throws: unknown }
  | { readonly returns: unknown }

export interface Script extends Partial<Omit<ChildSpec, "id" | "start">> {
  readonly plan?: readonly StartPlan[]
  /** `obey` at once (default), after so many ms, never, with another reason; `none`: it does not trap and dies of the signal. */
  readonly onStop?: "obey" | "hang" | "none" | { readonly afterMs: number } | { readonly exit: ExitReason }
  readonly info?: unknown
}

export class World {
  readonly clock = new VirtualClock()
  readonly system = new System({ clock: this.clock, onThrow: (thrown) => this.thrown.push(thrown) })
  readonly reports: Report[] = []
  readonly thrown: unknown[] = []
  /** Starts and ends in order: `+a`, `-a shutdown`; a failed start is `!a`. */
  readonly log: string[] = []
  readonly #running = new Map<string, { process: Process; exit: (reason: ExitReason) => void }>()
  readonly #plans = new Map<string, readonly StartPlan[]>()

  readonly options: SupervisorOptions = {
    system: this.system,
    onReport: (report) => this.reports.push(report),
    random: () => 0.5,
  }

  child(id: string, script: Script = {}): ChildSpec {
    const { plan = ["ok"], onStop = "obey", info, ...rest } = script
    this.#plans.set(id, plan)
    return {
      ...rest,
      id,
      start: (_context, ...args) => this.#start(args.length === 0 ? id : String(args[0]), id, onStop, info),
    }
  }

  /** A nested supervisor that writes to the log too. */
  supervisor(id: string, spec: SupervisorSpec, rest: Partial<ChildSpec> = {}): ChildSpec {
    return {
      type: "supervisor",
      ...rest,
      id,
      start: async (context) => {
        const supervisor = await startSupervisor(spec, context)
        this.log.push(`+${id}`)
        supervisor.process.watch((_process, reason) => this.log.push(`-${id} ${describe(reason)}`))
        return supervisor
      },
    }
  }

  plan(id: string, ...plan: StartPlan[]): void {
    this.#plans.set(id, plan)
  }

  async start(spec: SupervisorSpec, options: SupervisorOptions = {}): Promise<Supervisor> {
    const started = startSupervisor(spec, { ...this.options, ...options })
    started.catch(() => undefined)
    await this.quiet()
    return started
  }

  /** The child ends by itself. */
  async exit(id: string, reason: ExitReason): Promise<void> {
    this.#running.get(id)?.exit(reason)
    await this.quiet()
  }

  /** An exit signal from outside. */
  async signal(id: string, reason: ExitReason): Promise<void> {
    this.process(id).signal(reason)
    await this.quiet()
  }

  process(id: string): Process {
    const running = this.#running.get(id)
    if (running === undefined) throw new Error(`${id} has not been started`)
    return running.process
  }

  isAlive(id: string): boolean {
    return this.#running.get(id)?.process.isAlive ?? false
  }

  async quiet(): Promise<void> {
    do {
      await new Promise<void>((resolve) => setImmediate(resolve))
    } while (!this.system.queue.isIdle)
  }

  async advance(ms: number): Promise<void> {
    const untilMs = this.clock.now() + ms
    await this.quiet()
    while ((this.clock.nextDueMs ?? Infinity) <= untilMs) {
      this.clock.fireNext()
      await this.quiet()
    }
    this.clock.moveTo(untilMs)
  }

  /** Runs a call to its end, moving the clock as far as it takes. */
  async finish<T>(promise: Promise<T>): Promise<T> {
    const progress = { isSettled: false }
    const settle = (): void => {
      progress.isSettled = true
    }
    promise.then(settle, settle)
    await this.quiet()
    while (!progress.isSettled && this.clock.fireNext()) await this.quiet()
    return promise
  }

  /** Reports as `event id reason`, without the starts. */
  told(): string[] {
    return this.reports
      .filter(({ event }) => event !== "child.started")
      .map(({ event, offender, reason }) => `${event} ${offender.id} ${describe(reason)}`)
  }

  takeLog(): string[] {
    return this.log.splice(0)
  }

  #start(id: string, planId: string, onStop: Script["onStop"], info: unknown): StartResult {
    const plans = this.#plans.get(id) ?? this.#plans.get(planId) ?? ["ok"]
    const [plan = "ok", ...rest] = plans
    if (rest.length > 0) this.#plans.set(this.#plans.has(id) ? id : planId, rest)
    if (plan === "ok") return this.#run(id, onStop, info)
    if (plan === "ignore") return "ignore"
    this.log.push(`!${id}`)
    if ("throws" in plan) throw plan.throws
    if ("returns" in plan) return plan.returns as StartResult
    return plan
  }

  #run(id: string, onStop: Script["onStop"], info: unknown): StartResult {
    let tell: ((reason: ExitReason) => void) | undefined
    const exit = (reason: ExitReason): void => tell?.(reason)
    const like: ProcessLike = {
      kill: () => undefined,
      onExit: (listener) => {
        tell = listener
      },
      ...(onStop === "none" ? {} : { stop: (reason) => this.#answerStop(onStop, exit, reason) }),
    }
    const process = new Process(this.system, like, id)
    this.#running.set(id, { process, exit })
    this.log.push(`+${id}`)
    process.watch((_process, reason) => this.log.push(`-${id} ${describe(reason)}`))
    return info === undefined ? process : { child: process, info }
  }

  #answerStop(onStop: Script["onStop"], exit: (reason: ExitReason) => void, reason: ExitReason): void {
    if (onStop === "hang") return
    if (typeof onStop === "object" && "exit" in onStop) exit(onStop.exit)
    else if (typeof onStop === "object") this.clock.setTimer(onStop.afterMs, () => exit(reason))
    else exit(reason)
  }
}

export function describe(reason: ExitReason): string {
  if (typeof reason === "string") return reason
  if ("threw" in reason) return `threw ${reason.threw.message}`
  return JSON.stringify(reason)
}
