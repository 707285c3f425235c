// Runs a scenario on our supervisor, on a virtual clock, and writes the trace that the oracle would.
//
// Workers are the oracle's workers: they trap or not, obey, hang or answer otherwise. The translation into OTP's notation is in this
// file too; it renames, it never drops or reorders.
/* oxlint-disable typescript/no-unsafe-type-assertion -- scenarios are the oracle's JSON; what is wrong in them is meant to reach the checks */
import {
  formatProblem,
  formatReason,
  Process,
  SupervisionError,
  Supervisor,
  System,
  VirtualClock,
  type ChildSpec,
  type ExitReason,
  type ProcessLike,
  type Report,
  type SpecProblem,
  type StartContext,
  type StartResult,
} from "../../../supervisor/index.ts"
import { checkSupervisorSpec } from "../../../supervisor/child-spec.ts"
import type { AdminError } from "../../../supervisor/admin.ts"
import type { ChildNode, OtpReason, Plan, Scenario, Step, TraceEvent } from "./scenario.ts"

/** A scenario that asks something of a supervisor that never existed: the oracle cannot run it. */
export class UnrunnableScenario extends Error {}

const contexts = {
  "child.started": undefined,
  "child.terminated": "child_terminated",
  "child.startFailed": "start_error",
  "child.shutdownFailed": "shutdown_error",
  "supervisor.gaveUp": "shutdown",
} as const

interface Entry {
  readonly process: Process
  readonly inc: number
  readonly supervisor?: Supervisor
  readonly worker?: Worker
}

export async function runOurs(scenario: Scenario): Promise<TraceEvent[]> {
  const run = new Run()
  await run.execute(scenario)
  return run.trace
}

class Run {
  readonly trace: TraceEvent[] = []
  readonly #clock = new VirtualClock()
  readonly #system = new System({ clock: this.#clock })
  readonly #plans = new Map<string, readonly Plan[]>()
  readonly #incs = new Map<string, number>()
  readonly #latest = new Map<string, Entry>()
  readonly #labels = new Map<Process, string>()
  readonly #supervisors = new Set<Supervisor>()

  async execute({ tree, steps }: Scenario): Promise<void> {
    let root: Supervisor | undefined
    let start: unknown
    const context: StartContext = {
      system: this.#system,
      parent: this.#owner(),
      name: "root",
      onReport: this.#onReport,
    }
    const starting = async (): Promise<void> => {
      try {
        root = await this.#startSupervisor("root", tree, context)
        start = "ok"
      } catch (thrown) {
        start = { error: otpReason(exitReasonOf(thrown)) }
      }
    }
    const started = starting()
    await this.#until(() => start !== undefined)
    await started
    this.#note({ ev: "step", n: 0, op: "start_tree", result: start })
    await this.#settle()
    for (const [index, step] of steps.entries()) {
      this.#note({ ev: "step", n: index + 1, op: step.op })
      const result = await this.#step(step)
      await this.#settle()
      this.#note({ ev: "result", n: index + 1, result })
    }
    if (root !== undefined) {
      this.#note({ ev: "step", n: -1, op: "parent_shutdown" })
      const { process } = root
      process.signal("shutdown", context.parent)
      await this.#until(() => !process.isAlive)
    }
    await this.#settle()
  }

  #owner(): Process {
    return new Process(this.#system, { kill: () => undefined, onExit: () => undefined, stop: () => undefined }, "owner")
  }

  #note(event: TraceEvent): void {
    this.trace.push(event)
  }

  // ---- time

  async #quiet(): Promise<void> {
    do {
      await new Promise<void>((resolve) => setImmediate(resolve))
    } while (!this.#system.queue.isIdle)
  }

  async #until(isDone: () => boolean, untilMs = Infinity): Promise<boolean> {
    for (;;) {
      await this.#quiet()
      if (isDone()) return true
      const dueMs = this.#clock.nextDueMs
      if (dueMs === undefined || dueMs > untilMs) {
        if (untilMs === Infinity) throw new Error("nothing will ever happen again")
        this.#clock.moveTo(untilMs)
        return false
      }
      this.#clock.fireNext()
    }
  }

  /** As the oracle: until every living supervisor answers and none of its children is restarting. */
  async #settle(): Promise<void> {
    await this.#until(() => {
      for (const supervisor of this.#supervisors) {
        if (!supervisor.process.isAlive) this.#supervisors.delete(supervisor)
        else if (supervisor.state.work !== undefined || supervisor.state.children.restartingCount > 0) return false
      }
      return true
    })
  }

  // ---- children

  #begin(id: string): number {
    const inc = (this.#incs.get(id) ?? 0) + 1
    this.#incs.set(id, inc)
    return inc
  }

  #enter(id: string, kind: "worker" | "supervisor", entry: Entry): void {
    this.#latest.set(id, entry)
    this.#labels.set(entry.process, `${id}#${entry.inc}`)
    this.#note({ ev: "start", id, inc: entry.inc, kind })
    entry.process.watch((_process, reason) => {
      this.#note({ ev: "exit", id, inc: entry.inc, reason: otpReason(reason) })
    })
  }

  async #startSupervisor(id: string, node: ChildNode, context: StartContext): Promise<Supervisor> {
    const checked = checkSupervisorSpec({
      strategy: (node.strategy ?? "one_for_one") as "one_for_one",
      intensity: node.intensity ?? 1,
      periodMs: (node.period ?? 5) * 1000,
      autoShutdown: (node.auto_shutdown ?? "never") as "never",
      children: (node.children ?? []).map((child) => this.#spec(child)),
    })
    if (!checked.ok) throw new Error(formatProblem(checked.problem))
    const supervisor = new Supervisor(checked.value, context)
    this.#supervisors.add(supervisor)
    this.#enter(id, "supervisor", { process: supervisor.process, inc: this.#begin(id), supervisor })
    await supervisor.booted
    return supervisor
  }

  #spec(node: ChildNode): ChildSpec {
    const { id, restart, shutdown, significant, type, no_start: noStart, dynamic } = node
    const start: ChildSpec["start"] = (context, ...args) =>
      dynamic === true ? this.#start(args[0] as string, node, context) : this.#start(id ?? "root", node, context)
    const spec = { id, restart, shutdown, significant, type, ...(noStart === true ? {} : { start }) }
    return Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined)) as unknown as ChildSpec
  }

  #start(id: string, node: ChildNode, context: StartContext): StartResult | Promise<StartResult> {
    const plans = this.#plans.get(id) ?? (node.dynamic === true ? ["ok" as const] : (node.start ?? ["ok" as const]))
    const [plan = "ok", ...rest] = plans
    this.#plans.set(id, rest.length === 0 ? plans : rest)
    if (plan === "ok") {
      if (node.type === "supervisor") return this.#startSupervisor(id, node, context)
      const worker = new Worker(node, this.#clock)
      const process: Process = new Process(
        this.#system,
        worker.asProcess((): Process => process),
        id,
      )
      this.#enter(id, "worker", { process, inc: this.#begin(id), worker })
      return process
    }
    if (plan === "ignore") {
      this.#note({ ev: "start_ignored", id })
      return "ignore"
    }
    const [how, reason] = Object.entries(plan)[0] as [string, string]
    this.#note({ ev: "start_failed", id, how, reason })
    if (how === "throw") throw reason
    if (how === "bad_return") return reason as unknown as StartResult
    return { error: reason }
  }

  readonly #onReport = ({ event, offender, reason }: Report): void => {
    const context = contexts[event]
    if (context !== undefined) this.#note({ ev: "report", context, id: offender.id, reason: otpReason(reason) })
  }

  // ---- steps

  // oxlint-disable-next-line typescript/consistent-return -- the switch is exhaustive
  async #step(step: Step): Promise<unknown> {
    switch (step.op) {
      case "kill":
      case "stop_sup":
        return this.#withProcess(step, ({ process }) => process.signal(internalReason(step.reason ?? "boom")))
      case "exit":
        return this.#withProcess(step, ({ worker, process }) => {
          if (process.isAlive) worker?.exit(internalReason(step.reason ?? "boom"))
        })
      case "plan":
        this.#plans.set(step.id ?? "", step.start ?? [])
        return "ok"
      case "sleep":
        await this.#until(() => false, this.#clock.now() + (step.ms ?? 0))
        return "ok"
      case "alive":
        return this.#latest.get(step.id ?? "")?.process.isAlive ?? false
      case "start_child":
        return this.#start_child(step)
      case "terminate_child":
        return this.#admin(step, async (supervisor) => {
          const entry = this.#latest.get(step.id ?? "")
          if (step.by_pid === true && entry === undefined) throw new UnrunnableScenario()
          const target = step.by_pid === true ? entry?.process : step.id
          const answer = await supervisor.terminateChild(target ?? "", { timeoutMs: Infinity })
          return answer.ok ? "ok" : { error: this.#otpError(answer.error, true) }
        })
      case "restart_child":
        return this.#admin(step, async (supervisor) => {
          const answer = await supervisor.restartChild(step.id ?? "", { timeoutMs: Infinity })
          return answer.ok ? this.#okProcess(answer.process) : { error: this.#otpError(answer.error, true) }
        })
      case "delete_child":
        return this.#admin(step, async (supervisor) => {
          const answer = await supervisor.deleteChild(step.id ?? "", { timeoutMs: Infinity })
          return answer.ok ? "ok" : { error: this.#otpError(answer.error, true) }
        })
      case "which_children":
        return this.#admin(step, async (supervisor) => {
          const entries = await supervisor.whichChildren({ timeoutMs: Infinity })
          return entries.map(({ id, process, status, type }) => {
            const child = process === undefined ? (status === "restarting" ? "restarting" : null) : this.#label(process)
            return { child, id: id ?? null, type }
          })
        })
      case "count_children":
        return this.#admin(step, (supervisor) => supervisor.countChildren({ timeoutMs: Infinity }))
    }
  }

  #start_child(step: Step): Promise<unknown> {
    return this.#admin(step, async (supervisor) => {
      const isDynamic = step.args !== undefined
      const child = isDynamic ? [step.args] : this.#spec(step.spec ?? {})
      const answer = await supervisor.startChild(child, { timeoutMs: Infinity })
      return answer.ok ? this.#okProcess(answer.process) : { error: this.#otpError(answer.error, isDynamic) }
    })
  }

  async #withProcess(step: Step, act: (entry: Entry) => void): Promise<string> {
    const entry = this.#latest.get(step.id ?? "")
    if (entry === undefined) return "no_such_child"
    act(entry)
    if (step.wait === false) return "ok"
    return (await this.#until(() => !entry.process.isAlive, this.#clock.now() + 1000)) ? "ok" : "no_exit"
  }

  async #admin(step: Step, ask: (supervisor: Supervisor) => Promise<unknown>): Promise<unknown> {
    const supervisor = this.#latest.get(step.sup ?? "root")?.supervisor
    if (supervisor === undefined) throw new UnrunnableScenario()
    let outcome: { readonly result: unknown } | undefined
    let failure: unknown
    const asking = async (): Promise<void> => {
      try {
        outcome = { result: await ask(supervisor) }
      } catch (thrown) {
        failure = thrown
      }
    }
    const asked = asking()
    await this.#until(() => outcome !== undefined || failure !== undefined)
    await asked
    if (outcome !== undefined) return outcome.result
    if (failure instanceof SupervisionError) {
      return `{exit,${failure.kind === "noproc" ? "noproc" : formatReason(failure.exitReason ?? "noproc")}}`
    }
    throw failure
  }

  #okProcess(process: Process | undefined): unknown {
    return process === undefined ? "{ok,undefined}" : { ok: this.#label(process) }
  }

  #label(process: Process): string {
    return this.#labels.get(process) ?? "pid"
  }

  /** OTP adds the child to a static `start_child`'s failure, and nothing to the others'. */
  #otpError(error: AdminError, isBare: boolean): unknown {
    if (error.kind === "already_started") {
      return { already_started: error.process === undefined ? "pid" : this.#label(error.process) }
    }
    if (error.kind === "invalid_spec") return otpProblem(error.problem)
    if (error.kind !== "start_failed") return error.kind
    const reason = otpReason(error.reason)
    return isBare ? reason : { child: error.id, reason }
  }
}

/** The oracle's worker. */
class Worker {
  readonly #node: ChildNode
  readonly #clock: VirtualClock
  #listener: ((reason: ExitReason) => void) | undefined
  #isLeaving = false

  constructor(node: ChildNode, clock: VirtualClock) {
    this.#node = node
    this.#clock = clock
  }

  exit(reason: ExitReason): void {
    if (!this.#isLeaving) this.#listener?.(reason)
  }

  asProcess(self: () => Process): ProcessLike {
    const like: ProcessLike = {
      kill: () => undefined,
      onExit: (listener) => {
        this.#listener = listener
      },
    }
    if (this.#node.trap !== true) return like
    return { ...like, stop: (reason, from) => this.#trapped(reason, from !== undefined && from === self().parent) }
  }

  #trapped(reason: ExitReason, isFromParent: boolean): void {
    if (this.#isLeaving) return
    if (!isFromParent) return this.exit(reason)
    const how = this.#node.on_shutdown ?? "obey"
    if (how === "hang") return
    if (typeof how === "object") return this.exit(internalReason(how.exit))
    const cleanupMs = this.#node.cleanup_ms ?? 0
    if (cleanupMs === 0) return this.exit(reason)
    this.#isLeaving = true
    this.#clock.setTimer(cleanupMs, () => this.#listener?.(reason))
  }
}

function internalReason(reason: OtpReason): ExitReason {
  return typeof reason === "string" ? reason : { shutdown: internalReason(reason.shutdown) }
}

function exitReasonOf(thrown: unknown): ExitReason {
  if (thrown instanceof SupervisionError && thrown.exitReason !== undefined) return thrown.exitReason
  throw thrown
}

/** Our reason in the oracle's JSON: a thrown string and a bad return are themselves in Erlang. */
function otpReason(reason: ExitReason): unknown {
  if (typeof reason === "string") return reason
  if ("threw" in reason) return typeof reason.threw.value === "string" ? reason.threw.value : reason
  if ("badReturn" in reason) return reason.badReturn
  if ("shutdown" in reason) {
    const detail = reason.shutdown
    if (typeof detail === "object" && detail !== null && "failedToStartChild" in detail && "reason" in detail) {
      return {
        shutdown: { failed_to_start_child: detail.failedToStartChild, reason: otpReason(detail.reason as ExitReason) },
      }
    }
    return { shutdown: otpReason(detail as ExitReason) }
  }
  return reason
}

const otpProblemNames: Readonly<Record<string, string>> = {
  "autoShutdown: never": "{auto_shutdown,never}",
  "restart: permanent": "{restart,permanent}",
  "significant: true": "{significant,true}",
}

function otpProblem(problem: SpecProblem): string {
  if ("value" in problem) return `{${problem.kind},${String(problem.value)}}`
  if (problem.kind === "bad_combination") {
    return `{bad_combination,[${otpProblemNames[problem.first]},${otpProblemNames[problem.second]}]}`
  }
  return problem.kind
}
