// The supervisor's decisions: `decide(state, event) -> { state, commands }`, pure.
//
// A supervisor does one thing at a time. What it is doing is `work`: children to stop, then children to start, then a purpose to
// finish. While `wait` is set it listens only for the answer to its last command; every other message stays in the mailbox, as
// behind OTP's blocking calls. A failed restart is not retried here but by a message to itself, so that calls get their turn.
//
// | purpose  | a start that fails                                    | when everything is done |
// | -------- | ----------------------------------------------------- | ----------------------- |
// | boot     | report, stop what runs, exit with the failure         | booted                  |
// | restart  | report, mark it restarting, try again by message      | -                       |
// | add      | answer; nothing was stored, no report                 | answer                  |
// | revive   | answer; it stays stopped, no report                   | answer                  |
// | stopOne  | -                                                     | answer                  |
// | shutdown | -                                                     | exit                    |
import type { Answer, Refused, Request } from "./admin.ts"
import { countChildren, listChildren, refuse, startRequest } from "./admin-answers.ts"
import { checkSupervisorSpec, type ResolvedChildSpec, type ResolvedFlags, type SupervisorSpec } from "./child-spec.ts"
import * as table from "./children.ts"
import type { Child, Children } from "./children.ts"
import type { Process } from "./process.ts"
import { formatReason, type ExitReason, type FailedToStartChild } from "./reason.ts"
import type { ReportEvent } from "./report.ts"
import {
  addRestart,
  isExceeded,
  isExpectedShutdown,
  judgeExit,
  nextBackoff,
  noRestarts,
  type RestartWindow,
} from "./restart.ts"
import { planRestart } from "./strategy.ts"

export type Purpose =
  | { readonly is: "boot" }
  | { readonly is: "restart" }
  | { readonly is: "add"; readonly call: number; readonly spec: ResolvedChildSpec; readonly args: readonly unknown[] }
  | { readonly is: "revive"; readonly call: number }
  | { readonly is: "stopOne"; readonly call: number }
  | { readonly is: "shutdown"; readonly reason: ExitReason }

export type Wait =
  | { readonly for: "start"; readonly slot: number | undefined }
  | { readonly for: "exit"; readonly slot: number; readonly process: Process; readonly isKilled: boolean }
  | { readonly for: "allExits"; readonly isKilled: boolean; readonly failures: readonly ShutdownFailure[] }

interface ShutdownFailure {
  readonly reason: ExitReason
  readonly children: number
}

export interface Work {
  readonly purpose: Purpose
  readonly stops: readonly number[]
  readonly stopNext: number
  readonly starts: readonly number[]
  readonly startNext: number
  readonly wait: Wait | undefined
}

export interface SupervisorState {
  readonly flags: ResolvedFlags
  /** The one child specification of a `simple_one_for_one` supervisor. */
  readonly template: ResolvedChildSpec | undefined
  readonly children: Children
  readonly restarts: RestartWindow
  readonly work: Work | undefined
  readonly exitReason: ExitReason | undefined
}

export type SupervisorEvent =
  | { readonly type: "boot" }
  | { readonly type: "child.started"; readonly process: Process; readonly info: unknown }
  | { readonly type: "child.ignored" }
  | { readonly type: "child.notStarted"; readonly reason: ExitReason }
  | { readonly type: "child.exited"; readonly process: Process; readonly reason: ExitReason }
  | { readonly type: "shutdown.expired" }
  | { readonly type: "restart.due"; readonly slot: number; readonly isCounted: boolean }
  | { readonly type: "call"; readonly call: number; readonly request: Request }
  | { readonly type: "stop.requested"; readonly reason: ExitReason }

/** An event with the two facts that a pure function cannot find out; what the XState actor is sent. */
export interface StampedEvent {
  readonly type: "turn"
  readonly event: SupervisorEvent
  readonly nowMs: number
  readonly random: number
}

export type Command =
  | { readonly do: "start"; readonly spec: ResolvedChildSpec; readonly args: readonly unknown[] }
  | { readonly do: "signal"; readonly process: Process; readonly reason: "shutdown" | "kill" }
  | { readonly do: "setShutdownTimer"; readonly ms: number }
  | { readonly do: "clearShutdownTimer" }
  | { readonly do: "tryRestart"; readonly slot: number; readonly afterMs: number; readonly isCounted: boolean }
  | {
      readonly do: "report"
      readonly event: ReportEvent
      readonly child: Pick<Child, "spec" | "process">
      readonly reason: ExitReason
      readonly children: number
    }
  | { readonly do: "answer"; readonly call: number; readonly answer: Answer }
  | { readonly do: "booted" }
  | { readonly do: "exit"; readonly reason: ExitReason }

/** A turn in progress: the next state so far, and the commands it has given. Local to one call of `decide`. */
interface Turn {
  flags: ResolvedFlags
  template: ResolvedChildSpec | undefined
  children: Children
  restarts: RestartWindow
  work: Work | undefined
  exitReason: ExitReason | undefined
  readonly commands: Command[]
  readonly nowMs: number
  readonly random: number
}

export function createState(flags: ResolvedFlags, specs: readonly ResolvedChildSpec[]): SupervisorState {
  const isDynamic = flags.strategy === "simple_one_for_one"
  return {
    flags,
    template: isDynamic ? specs[0] : undefined,
    children: table.createChildren(isDynamic ? [] : specs, !isDynamic),
    restarts: noRestarts,
    work: undefined,
    exitReason: undefined,
  }
}

export function decide(
  state: SupervisorState,
  { event, nowMs, random }: StampedEvent,
): { readonly state: SupervisorState; readonly commands: readonly Command[] } {
  if (state.exitReason !== undefined) return { state, commands: [] }
  const { flags, template, children, restarts, work, exitReason } = state
  const turn: Turn = { flags, template, children, restarts, work, exitReason, commands: [], nowMs, random }
  take(turn, event)
  return {
    state: {
      flags: turn.flags,
      template: turn.template,
      children: turn.children,
      restarts: turn.restarts,
      work: turn.work,
      exitReason: turn.exitReason,
    },
    commands: turn.commands,
  }
}

function take(turn: Turn, event: SupervisorEvent): void {
  const wait = turn.work?.wait
  switch (event.type) {
    case "boot": {
      const starts = Array.from(table.inStartOrder(turn.children), (child) => child.slot)
      return begin(turn, { is: "boot" }, [], starts)
    }
    case "child.started":
      return wait?.for === "start" ? started(turn, wait.slot, event.process, event.info) : undefined
    case "child.ignored":
      return wait?.for === "start" ? ignored(turn, wait.slot) : undefined
    case "child.notStarted":
      return wait?.for === "start" ? notStarted(turn, wait.slot, event.reason) : undefined
    case "child.exited":
      if (wait?.for === "exit" && wait.process === event.process) return stopped(turn, wait, event.reason)
      if (wait?.for === "allExits") return oneOfAllStopped(turn, wait, event.process, event.reason)
      return exited(turn, event.process, event.reason)
    case "shutdown.expired":
      return expired(turn, wait)
    case "restart.due": {
      const child = table.childAt(turn.children, event.slot)
      // Terminated, deleted or revived meanwhile: the attempt is not wanted any more.
      if (child?.status !== "restarting") return undefined
      return event.isCounted ? restartNow(turn, child) : restart(turn, child)
    }
    case "call":
      return call(turn, event.call, event.request)
    case "stop.requested":
      return shutdown(turn, event.reason)
  }
}

// ---- a child that ended by itself

function exited(turn: Turn, process: Process, reason: ExitReason): void {
  const child = table.childByProcess(turn.children, process)
  if (child?.status !== "running") return
  const verdict = judgeExit(child.spec.restart, reason)
  if (verdict.isReported) report(turn, "child.terminated", child, reason)
  if (verdict.isRestarted) return restart(turn, child)
  setChildren(turn, table.setEnded(turn.children, child.slot))
  if (isAutoShutdown(turn, child)) shutdown(turn, "shutdown")
}

function isAutoShutdown({ flags, children }: Turn, ended: Child): boolean {
  if (flags.autoShutdown === "never" || !ended.spec.significant) return false
  if (flags.autoShutdown === "any_significant") return true
  if (!children.hasIds) return children.bySlot.size === 0
  for (const child of table.inStartOrder(children)) {
    if (child.spec.significant && child.status !== "stopped") return false
  }
  return true
}

/** Counts the attempt first: one too many and the supervisor gives up with `shutdown`, which a transient parent entry does not restart. */
function restart(turn: Turn, child: Child): void {
  turn.restarts = addRestart(turn.restarts, turn.nowMs, turn.flags.periodMs)
  if (isExceeded(turn.restarts, turn.flags.intensity)) {
    report(turn, "supervisor.gaveUp", child, "reached_max_restart_intensity")
    setChildren(turn, table.setEnded(turn.children, child.slot))
    return shutdown(turn, "shutdown")
  }
  const { waitMs, state: backoff } = nextBackoff(child.spec, child.backoff, turn.nowMs, turn.random)
  if (backoff === undefined || waitMs <= 0) return restartNow(turn, child)
  setChildren(turn, table.setRestarting(turn.children, child.slot, backoff))
  turn.commands.push({ do: "tryRestart", slot: child.slot, afterMs: waitMs, isCounted: true })
}

function restartNow(turn: Turn, child: Child): void {
  const { stops, starts } = planRestart(turn.flags.strategy, turn.children, child)
  // In a group the start of another child may fail first, and then this one must not look as if it still ran.
  if (starts.length > 1) setChildren(turn, table.setStopped(turn.children, child.slot))
  begin(turn, { is: "restart" }, stops, starts)
}

// ---- work: stops, then starts, then the purpose

function begin(turn: Turn, purpose: Purpose, stops: readonly number[], starts: readonly number[]): void {
  turn.work = { purpose, stops, stopNext: 0, starts, startNext: 0, wait: undefined }
  advance(turn)
}

function advance(turn: Turn): void {
  for (;;) {
    const work = turn.work
    if (work === undefined || work.wait !== undefined) return
    const stopSlot = work.stops[work.stopNext]
    const startSlot = work.starts[work.startNext]
    if (stopSlot !== undefined) {
      setWork(turn, { ...work, stopNext: work.stopNext + 1 })
      stopChild(turn, stopSlot)
    } else if (startSlot !== undefined) {
      setWork(turn, { ...work, startNext: work.startNext + 1 })
      startChild(turn, startSlot)
    } else {
      return finish(turn, work.purpose)
    }
  }
}

function stopChild(turn: Turn, slot: number): void {
  const child = table.childAt(turn.children, slot)
  if (child?.status !== "running" || child.process === undefined) {
    setChildren(turn, table.setEnded(turn.children, slot))
    return
  }
  const { shutdown: how } = child.spec
  const isKilled = how === "brutal_kill"
  setWait(turn, { for: "exit", slot, process: child.process, isKilled })
  turn.commands.push({ do: "signal", process: child.process, reason: isKilled ? "kill" : "shutdown" })
  if (typeof how === "number") turn.commands.push({ do: "setShutdownTimer", ms: how })
}

function stopped(turn: Turn, wait: Extract<Wait, { for: "exit" }>, reason: ExitReason): void {
  const child = table.childAt(turn.children, wait.slot)
  turn.commands.push({ do: "clearShutdownTimer" })
  if (child !== undefined && !isExpectedShutdown(child.spec.restart, child.spec.shutdown, reason)) {
    report(turn, "child.shutdownFailed", child, reason)
  }
  setChildren(turn, table.setEnded(turn.children, wait.slot))
  setWait(turn, undefined)
  advance(turn)
}

/** Asked in vain: `kill`, and wait once more, now without a deadline, since a killed process cannot refuse. */
function expired(turn: Turn, wait: Wait | undefined): void {
  if (wait === undefined || wait.for === "start" || wait.isKilled) return
  setWait(turn, { ...wait, isKilled: true })
  if (wait.for === "exit") {
    turn.commands.push({ do: "signal", process: wait.process, reason: "kill" })
    return
  }
  for (const { process } of table.inStartOrder(turn.children)) {
    if (process !== undefined) turn.commands.push({ do: "signal", process, reason: "kill" })
  }
}

function startChild(turn: Turn, slot: number): void {
  const child = table.childAt(turn.children, slot)
  if (child === undefined) return // a temporary one of the group, gone with its stop
  setWait(turn, { for: "start", slot })
  turn.commands.push({ do: "start", spec: child.spec, args: child.args })
}

function started(turn: Turn, slot: number | undefined, process: Process, info: unknown): void {
  const purpose = turn.work?.purpose
  if (purpose?.is === "add") {
    const args = purpose.spec.restart === "temporary" ? table.noArguments : purpose.args
    setChildren(turn, table.addChild(turn.children, purpose.spec, args, process))
    report(turn, "child.started", { spec: purpose.spec, process }, "normal")
  } else if (slot !== undefined) {
    setChildren(turn, table.setRunning(turn.children, slot, process))
    const child = table.childAt(turn.children, slot)
    if (child !== undefined) report(turn, "child.started", child, "normal")
  }
  if (purpose?.is === "add" || purpose?.is === "revive") answer(turn, purpose.call, { ok: true, process, info })
  setWait(turn, undefined)
  advance(turn)
}

function ignored(turn: Turn, slot: number | undefined): void {
  const purpose = turn.work?.purpose
  const { children } = turn
  if (purpose?.is === "add") {
    // A temporary or dynamic child that does not want to run leaves nothing behind; others keep their specification.
    const isStored = children.hasIds && purpose.spec.restart !== "temporary"
    if (isStored) setChildren(turn, table.addChild(children, purpose.spec, [], undefined))
  } else if (slot !== undefined) {
    setChildren(turn, table.setEnded(children, slot))
  }
  if (purpose?.is === "add" || purpose?.is === "revive") {
    answer(turn, purpose.call, { ok: true, process: undefined, info: undefined })
  }
  setWait(turn, undefined)
  advance(turn)
}

function notStarted(turn: Turn, slot: number | undefined, reason: ExitReason): void {
  const work = turn.work
  if (work === undefined) return
  const { purpose } = work
  const child = slot === undefined ? undefined : table.childAt(turn.children, slot)
  setWork(turn, undefined)
  if (purpose.is === "add") {
    return answer(turn, purpose.call, refuse({ kind: "start_failed", id: purpose.spec.id, reason }))
  }
  if (child === undefined) return
  if (purpose.is === "revive") {
    return answer(turn, purpose.call, refuse({ kind: "start_failed", id: child.spec.id, reason }))
  }
  report(turn, "child.startFailed", child, reason)
  if (purpose.is === "boot") {
    const failure: FailedToStartChild = { failedToStartChild: child.spec.id, reason }
    return shutdown(turn, { shutdown: failure })
  }
  setChildren(turn, table.setRestarting(turn.children, child.slot))
  turn.commands.push({ do: "tryRestart", slot: child.slot, afterMs: 0, isCounted: false })
}

function finish(turn: Turn, purpose: Purpose): void {
  setWork(turn, undefined)
  if (purpose.is === "boot") turn.commands.push({ do: "booted" })
  if (purpose.is === "stopOne") answer(turn, purpose.call, { ok: true })
  if (purpose.is === "shutdown") {
    turn.exitReason = purpose.reason
    turn.commands.push({ do: "exit", reason: purpose.reason })
  }
}

// ---- the supervisor's own end

function shutdown(turn: Turn, reason: ExitReason): void {
  const { children } = turn
  if (!children.hasIds) return shutdownAtOnce(turn, reason)
  const stops = Array.from(table.inReverseOrder(children), (child) => child.slot)
  begin(turn, { is: "shutdown", reason }, stops, [])
}

/** Dynamic children are all told in one go, with one deadline for all of them: the order is undefined by contract. */
function shutdownAtOnce(turn: Turn, reason: ExitReason): void {
  const how = turn.template?.shutdown ?? "infinity"
  const isKilled = how === "brutal_kill"
  setWork(turn, {
    purpose: { is: "shutdown", reason },
    stops: [],
    stopNext: 0,
    starts: [],
    startNext: 0,
    wait: { for: "allExits", isKilled, failures: [] },
  })
  for (const child of table.inStartOrder(turn.children)) {
    if (child.status !== "running" || child.process === undefined) {
      setChildren(turn, table.removeChild(turn.children, child.slot))
      continue
    }
    turn.commands.push({ do: "signal", process: child.process, reason: isKilled ? "kill" : "shutdown" })
  }
  if (typeof how === "number") turn.commands.push({ do: "setShutdownTimer", ms: how })
  finishWhenAllStopped(turn)
}

function oneOfAllStopped(
  turn: Turn,
  wait: Extract<Wait, { for: "allExits" }>,
  process: Process,
  reason: ExitReason,
): void {
  const child = table.childByProcess(turn.children, process)
  if (child === undefined) return
  setChildren(turn, table.removeChild(turn.children, child.slot))
  if (!isExpectedShutdown(child.spec.restart, child.spec.shutdown, reason)) {
    const told = formatReason(reason)
    const same = wait.failures.find((failure) => formatReason(failure.reason) === told)
    const failures = wait.failures.filter((failure) => failure !== same)
    setWait(turn, { ...wait, failures: [...failures, { reason, children: (same?.children ?? 0) + 1 }] })
  }
  finishWhenAllStopped(turn)
}

function finishWhenAllStopped(turn: Turn): void {
  const wait = turn.work?.wait
  if (wait?.for !== "allExits" || turn.children.bySlot.size > 0) return
  turn.commands.push({ do: "clearShutdownTimer" })
  const { template } = turn
  for (const { reason, children } of template === undefined ? [] : wait.failures) {
    if (template !== undefined)
      report(turn, "child.shutdownFailed", { spec: template, process: undefined }, reason, children)
  }
  setWait(turn, undefined)
  advance(turn)
}

// ---- admin calls

function call(turn: Turn, ref: number, request: Request): void {
  const { children, template } = turn
  const isDynamic = !children.hasIds
  switch (request.op) {
    case "startChild": {
      const wanted = startRequest(turn, request.child)
      if ("error" in wanted) return answer(turn, ref, wanted)
      const purpose: Purpose = { is: "add", call: ref, ...wanted }
      const wait: Wait = { for: "start", slot: undefined }
      setWork(turn, { purpose, stops: [], stopNext: 0, starts: [], startNext: 0, wait })
      turn.commands.push({ do: "start", spec: wanted.spec, args: wanted.args })
      return undefined
    }
    case "terminateChild": {
      if (isDynamic && typeof request.child === "string")
        return answer(turn, ref, refuse({ kind: "simple_one_for_one" }))
      const child =
        typeof request.child === "string"
          ? table.childById(children, request.child)
          : table.childByProcess(children, request.child)
      if (child !== undefined) return begin(turn, { is: "stopOne", call: ref }, [child.slot], [])
      // A dead process is as terminated as it can be; OTP says so too for dynamic children.
      const isGone = isDynamic && typeof request.child !== "string" && !request.child.isAlive
      return answer(turn, ref, isGone ? { ok: true } : refuse({ kind: "not_found" }))
    }
    case "restartChild": {
      const child = findStopped(turn, request.id)
      if ("error" in child) return answer(turn, ref, child)
      return begin(turn, { is: "revive", call: ref }, [], [child.slot])
    }
    case "deleteChild": {
      const child = findStopped(turn, request.id)
      if ("error" in child) return answer(turn, ref, child)
      setChildren(turn, table.removeChild(children, child.slot))
      return answer(turn, ref, { ok: true })
    }
    case "getChildSpec": {
      const isTemplate = template?.id === request.id
      const spec = isTemplate ? template : table.childById(children, request.id)?.spec
      return answer(turn, ref, spec === undefined ? refuse({ kind: "not_found" }) : { ok: true, spec })
    }
    case "changeSpec":
      return changeSpec(turn, ref, request.spec)
    case "whichChildren":
      return answer(turn, ref, listChildren(turn))
    case "countChildren":
      return answer(turn, ref, countChildren(turn))
  }
}

/** New flags and specifications without touching what runs: they count from the next start, stop or restart on. */
function changeSpec(turn: Turn, ref: number, spec: SupervisorSpec): void {
  const checked = checkSupervisorSpec(spec)
  if (!checked.ok) return answer(turn, ref, refuse({ kind: "invalid_spec", problem: checked.problem }))
  const { flags, children } = checked.value
  const isDynamic = !turn.children.hasIds
  if ((flags.strategy === "simple_one_for_one") !== isDynamic) {
    return answer(
      turn,
      ref,
      refuse({ kind: "invalid_spec", problem: { kind: "invalid_strategy", value: flags.strategy } }),
    )
  }
  turn.flags = flags
  if (isDynamic) {
    turn.template = children[0]
    if (turn.template !== undefined) setChildren(turn, table.replaceTemplate(turn.children, turn.template))
  } else {
    setChildren(turn, table.replaceSpecs(turn.children, children))
  }
  return answer(turn, ref, { ok: true })
}

function findStopped({ children }: Turn, id: string): Child | Refused {
  if (!children.hasIds) return refuse({ kind: "simple_one_for_one" })
  const child = table.childById(children, id)
  if (child === undefined) return refuse({ kind: "not_found" })
  return child.status === "stopped" ? child : refuse({ kind: child.status })
}

// ---- small steps of a turn

function setChildren(turn: Turn, children: Children): void {
  turn.children = children
}

function setWork(turn: Turn, work: Work | undefined): void {
  turn.work = work
}

function setWait(turn: Turn, wait: Wait | undefined): void {
  if (turn.work === undefined) return
  const { purpose, stops, stopNext, starts, startNext } = turn.work
  turn.work = { purpose, stops, stopNext, starts, startNext, wait }
}

function answer(turn: Turn, ref: number, value: Answer): void {
  turn.commands.push({ do: "answer", call: ref, answer: value })
}

function report(
  turn: Turn,
  event: ReportEvent,
  child: Pick<Child, "spec" | "process">,
  reason: ExitReason,
  children = 1,
): void {
  turn.commands.push({ do: "report", event, child, reason, children })
}
