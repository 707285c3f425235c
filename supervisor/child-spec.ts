// Specifications of children and supervisors, and their validation.
//
// Specifications are data written by people, often in plain JavaScript, so they are checked from `unknown`, as a whole, before anything
// starts. The checks are pure and callable alone; problems come back as data, in OTP's order and under OTP's names. Unknown
// keys are ignored.
import type { ActorLike } from "./actor-process.ts"
import type { Backoff } from "./restart.ts"
import type { ChildProcess } from "node:child_process"
import type { Process, ProcessLike } from "./process.ts"
import type { ExitReason } from "./reason.ts"
import type { Report } from "./report.ts"
import type { Supervisor } from "./supervisor.ts"
import type { System } from "./system.ts"

export type RestartType = "permanent" | "transient" | "temporary"
/** `simple_one_for_one`: every child is made from the one template; a start adds arguments; children have no ids. */
export type Strategy = "one_for_one" | "one_for_all" | "rest_for_one" | "simple_one_for_one"
export type AutoShutdown = "never" | "any_significant" | "all_significant"
/** Milliseconds to wait for an orderly end before `kill`; or for ever; or `kill` at once. */
export type Shutdown = number | "infinity" | "brutal_kill"
export type ChildType = "worker" | "supervisor"

/** What a start is given. Passing it on to `startSupervisor` puts the new supervisor in the same system, under this one. */
export interface StartContext {
  readonly system: System
  /** The supervisor's own process: the parent of what is started. */
  readonly parent: Process
  /** The child's path in the tree, such as `main/sessions/ses_1`. */
  readonly name: string
  readonly onReport: ((report: Report) => void) | undefined
}

export type Startable = ActorLike | Supervisor | ChildProcess | ProcessLike | Process
/**
 * What a start may give: the thing itself, started or (an actor) still to be started; the thing with `info` for the caller of
 * `startChild`; `"ignore"`; or `{ error }`. A throw, a rejection or anything else counts as `{ error }` too.
 */
export type StartResult =
  | Startable
  | { readonly child: Startable; readonly info: unknown }
  | "ignore"
  | { readonly error: ExitReason }

export interface ChildSpec {
  readonly id: string
  /** The supervisor waits for a promise before it does anything else, so return one only for a handshake that must come first. */
  start(context: StartContext, ...args: unknown[]): StartResult | PromiseLike<StartResult>
  /** Default `permanent`. */
  readonly restart?: RestartType
  /** Default 5000 for a worker, `infinity` for a supervisor. */
  readonly shutdown?: Shutdown
  /** Default `worker`. */
  readonly type?: ChildType
  /** Whether its end by itself counts for the supervisor's `autoShutdown`. Default `false`. */
  readonly significant?: boolean
  /** A name in the registry, held by the running child. A start fails while another live process holds it. */
  readonly name?: string
  /** How long a promised start may take. Default 60 s; OTP waits for ever. */
  readonly startTimeoutMs?: number
  /** A wait before each restart that grows while the child keeps failing. Default: none, as in OTP. */
  readonly backoff?: Backoff
}

export interface SupervisorSpec {
  /** Default `one_for_one`. */
  readonly strategy?: Strategy
  /** Restarts allowed within `periodMs`; one more and the supervisor gives up. Default 1. */
  readonly intensity?: number
  /** Default 5000. A restart counts while `now - then <= periodMs`. */
  readonly periodMs?: number
  /** Default `never`. */
  readonly autoShutdown?: AutoShutdown
  readonly children?: readonly ChildSpec[]
  /** How many children `startChild` may bring the supervisor to, restarting ones included. Default: no limit. */
  readonly childrenMax?: number
}

/** A specification with every default filled in: what `getChildSpec` returns. */
export interface ResolvedChildSpec {
  readonly id: string
  readonly start: ChildSpec["start"]
  readonly restart: RestartType
  readonly shutdown: Shutdown
  readonly type: ChildType
  readonly significant: boolean
  readonly name: string | undefined
  readonly startTimeoutMs: number
  readonly backoff: Backoff | undefined
}

export interface ResolvedFlags {
  readonly strategy: Strategy
  readonly intensity: number
  readonly periodMs: number
  readonly autoShutdown: AutoShutdown
  readonly childrenMax: number
}

export type SpecProblem = SpecProblemKind & {
  /** Which of several child specifications, from 0. */
  readonly at?: number
}

type SpecProblemKind =
  | { readonly kind: "missing_id" | "missing_start" }
  | {
      readonly kind:
        | "invalid_supervisor_spec"
        | "invalid_child_spec"
        | "invalid_id"
        | "invalid_start"
        | "invalid_restart_type"
        | "invalid_shutdown"
        | "invalid_child_type"
        | "invalid_significant"
        | "invalid_name"
        | "invalid_start_timeout"
        | "invalid_backoff"
        | "invalid_strategy"
        | "invalid_intensity"
        | "invalid_period"
        | "invalid_auto_shutdown"
        | "invalid_children_max"
        | "bad_template"
      readonly value: unknown
    }
  | { readonly kind: "bad_combination"; readonly first: string; readonly second: string }
  | { readonly kind: "duplicate_child_name"; readonly id: string }

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: SpecProblem }

const shutdownWorkerMs = 5000
const startTimeoutMsDefault = 60_000

const strategies: readonly unknown[] = ["one_for_one", "one_for_all", "rest_for_one", "simple_one_for_one"]
const restartTypes: readonly unknown[] = ["permanent", "transient", "temporary"]
const autoShutdowns: readonly unknown[] = ["never", "any_significant", "all_significant"]

export function checkFlags(spec: SupervisorSpec): Checked<ResolvedFlags> {
  if (typeof spec !== "object" || spec === null) return invalid("invalid_supervisor_spec", spec)
  const {
    strategy = "one_for_one",
    intensity = 1,
    periodMs = 5000,
    autoShutdown = "never",
    childrenMax = Infinity,
  } = spec
  if (!strategies.includes(strategy)) return invalid("invalid_strategy", strategy)
  if (!Number.isInteger(intensity) || intensity < 0) return invalid("invalid_intensity", intensity)
  if (!Number.isFinite(periodMs) || periodMs <= 0) return invalid("invalid_period", periodMs)
  if (!autoShutdowns.includes(autoShutdown)) return invalid("invalid_auto_shutdown", autoShutdown)
  if (childrenMax !== Infinity && (!Number.isInteger(childrenMax) || childrenMax < 0)) {
    return invalid("invalid_children_max", childrenMax)
  }
  return { ok: true, value: { strategy, intensity, periodMs, autoShutdown, childrenMax } }
}

export function checkChildSpec(spec: unknown, autoShutdown: AutoShutdown = "never"): Checked<ResolvedChildSpec> {
  try {
    return readChildSpec(spec, autoShutdown)
  } catch {
    // Its own accessors threw: whatever it is, it is no specification, and no reason for a supervisor to end.
    return invalid("invalid_child_spec", spec)
  }
}

function readChildSpec(spec: unknown, autoShutdown: AutoShutdown): Checked<ResolvedChildSpec> {
  if (typeof spec !== "object" || spec === null) return invalid("invalid_child_spec", spec)
  const { id, start, restart = "permanent", type = "worker", significant = false, ...rest } = spec as Partial<ChildSpec>
  if (id === undefined) return { ok: false, problem: { kind: "missing_id" } }
  if (start === undefined) return { ok: false, problem: { kind: "missing_start" } }
  if (typeof id !== "string") return invalid("invalid_id", id)
  if (typeof start !== "function") return invalid("invalid_start", start)
  if (!restartTypes.includes(restart)) return invalid("invalid_restart_type", restart)
  if (typeof significant !== "boolean") return invalid("invalid_significant", significant)
  if (significant && autoShutdown === "never") return badCombination("autoShutdown: never", "significant: true")
  if (significant && restart === "permanent") return badCombination("restart: permanent", "significant: true")
  if (type !== "worker" && type !== "supervisor") return invalid("invalid_child_type", type)
  const {
    shutdown = type === "worker" ? shutdownWorkerMs : "infinity",
    name,
    startTimeoutMs = startTimeoutMsDefault,
    backoff,
  } = rest
  if (!isShutdown(shutdown)) return invalid("invalid_shutdown", shutdown)
  if (name !== undefined && typeof name !== "string") return invalid("invalid_name", name)
  if (typeof startTimeoutMs !== "number" || !(startTimeoutMs > 0))
    return invalid("invalid_start_timeout", startTimeoutMs)
  if (backoff !== undefined && !isBackoff(backoff)) return invalid("invalid_backoff", backoff)
  return { ok: true, value: { id, start, restart, shutdown, type, significant, name, startTimeoutMs, backoff } }
}

/** A supervisor's whole specification: what is checked before anything starts. */
export interface ResolvedSupervisorSpec {
  readonly flags: ResolvedFlags
  readonly children: readonly ResolvedChildSpec[]
}

export function checkSupervisorSpec(spec: SupervisorSpec): Checked<ResolvedSupervisorSpec> {
  try {
    return readSupervisorSpec(spec)
  } catch {
    return invalid("invalid_supervisor_spec", spec)
  }
}

function readSupervisorSpec(spec: SupervisorSpec): Checked<ResolvedSupervisorSpec> {
  const flags = checkFlags(spec)
  if (!flags.ok) return flags
  const { children = [] } = spec
  if (!Array.isArray(children)) return invalid("invalid_child_spec", children)
  const resolved = resolveChildSpecs(children, flags.value.autoShutdown)
  if (!resolved.ok) return resolved
  if (flags.value.strategy === "simple_one_for_one" && resolved.value.length !== 1) {
    return invalid("bad_template", `${resolved.value.length} child specifications instead of one`)
  }
  return { ok: true, value: { flags: flags.value, children: resolved.value } }
}

/** Checks a whole list, duplicates included. `undefined`: nothing is wrong. */
export function checkChildSpecs(
  specs: readonly unknown[],
  autoShutdown: AutoShutdown = "never",
): SpecProblem | undefined {
  const resolved = resolveChildSpecs(specs, autoShutdown)
  return resolved.ok ? undefined : resolved.problem
}

export function resolveChildSpecs(specs: readonly unknown[], autoShutdown: AutoShutdown): Checked<ResolvedChildSpec[]> {
  const ids = new Set<string>()
  const value: ResolvedChildSpec[] = []
  for (const spec of specs) {
    const checked = checkChildSpec(spec, autoShutdown)
    if (!checked.ok) return { ok: false, problem: { ...checked.problem, at: value.length } }
    if (ids.has(checked.value.id)) return { ok: false, problem: { kind: "duplicate_child_name", id: checked.value.id } }
    ids.add(checked.value.id)
    value.push(checked.value)
  }
  return { ok: true, value }
}

export function formatProblem(problem: SpecProblem): string {
  const where = problem.at === undefined ? "" : ` in children[${problem.at}]`
  const wanted = wantedBy[problem.kind]
  return `${describeProblem(problem)}${where}${wanted === undefined ? "" : `; ${wanted}`}`
}

const wantedBy: Partial<Record<SpecProblem["kind"], string>> = {
  missing_id: "a child needs an id, a string",
  missing_start: "a child needs start, a function",
  invalid_child_spec: "a child is an object with id and start, or an array of arguments under simple_one_for_one",
  invalid_id: "an id is a string",
  invalid_start: "start is a function",
  invalid_restart_type: "restart is permanent, transient or temporary",
  invalid_shutdown: "shutdown is whole milliseconds, infinity or brutal_kill",
  invalid_child_type: "type is worker or supervisor",
  invalid_significant: "significant is a boolean",
  invalid_name: "a name is a string",
  invalid_start_timeout: "startTimeoutMs is above 0",
  invalid_backoff: "backoff is { minMs, maxMs, factor >= 1, jitter 0 to 1, resetAfterMs }, minMs at most maxMs",
  invalid_strategy:
    "strategy is one_for_one, one_for_all, rest_for_one or simple_one_for_one, and a running one keeps its kind",
  invalid_intensity: "intensity is a whole number from 0",
  invalid_period: "periodMs is above 0",
  invalid_auto_shutdown: "autoShutdown is never, any_significant or all_significant",
  invalid_children_max: "childrenMax is a whole number from 0",
}

function describeProblem(problem: SpecProblem): string {
  if ("value" in problem) return `${problem.kind}: ${describeValue(problem.value)}`
  if (problem.kind === "bad_combination") return `bad_combination: ${problem.first} with ${problem.second}`
  if (problem.kind === "duplicate_child_name") return `duplicate_child_name: ${problem.id}`
  return problem.kind
}

function describeValue(value: unknown): string {
  if (typeof value === "function") return "a function"
  return typeof value === "object" && value !== null ? "an object" : String(value)
}

function isShutdown(shutdown: unknown): shutdown is Shutdown {
  if (shutdown === "infinity" || shutdown === "brutal_kill") return true
  return typeof shutdown === "number" && Number.isInteger(shutdown) && shutdown >= 0
}

function isBackoff(backoff: unknown): backoff is Backoff {
  if (typeof backoff !== "object" || backoff === null) return false
  const { minMs, maxMs, factor = 2, jitter = 0, resetAfterMs = 0 } = backoff as Partial<Backoff>
  if (typeof minMs !== "number" || typeof maxMs !== "number") return false
  return (
    minMs >= 0 &&
    maxMs >= minMs &&
    Number.isFinite(maxMs) &&
    isRange(factor, 1, Infinity) &&
    isRange(jitter, 0, 1) &&
    isRange(resetAfterMs, 0, Infinity)
  )
}

function isRange(value: unknown, from: number, to: number): boolean {
  return typeof value === "number" && value >= from && value <= to
}

function invalid(
  kind: Extract<SpecProblem, { value: unknown }>["kind"],
  value: unknown,
): { ok: false; problem: SpecProblem } {
  return { ok: false, problem: { kind, value } }
}

function badCombination(first: string, second: string): { ok: false; problem: SpecProblem } {
  return { ok: false, problem: { kind: "bad_combination", first, second } }
}
