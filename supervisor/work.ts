// A supervisor's work: children to stop, then children to start, then a purpose to finish; and its own end.
//
// While `wait` is set nothing moves but by the answer to the last command. Each step that is done calls `advance`, which gives the
// next command or finishes the purpose.
//
// | purpose  | a start that fails                                    | when everything is done |
// | -------- | ----------------------------------------------------- | ----------------------- |
// | boot     | report, stop what runs, exit with the failure         | booted                  |
// | restart  | report, mark it restarting, try again by message      | -                       |
// | add      | answer; nothing was stored, no report                 | answer                  |
// | revive   | answer; it stays stopped, no report                   | answer                  |
// | stopOne  | -                                                     | answer                  |
// | shutdown | -                                                     | exit                    |
import { refuse } from "./admin-answers.ts"
import type { ResolvedChildSpec } from "./child-spec.ts"
import * as table from "./children.ts"
import { emptyIndex, lookUp, put } from "./name-index.ts"
import { createTable, entriesUp, getAt, setAt } from "./ordered-table.ts"
import type { Process } from "./process.ts"
import { formatReason, type ExitReason, type FailedToStartChild } from "./reason.ts"
import { isExpectedShutdown } from "./restart.ts"
import {
  answer,
  report,
  setChildren,
  setWait,
  setWork,
  type Purpose,
  type ShutdownFailures,
  type Turn,
  type Wait,
} from "./state.ts"

export function begin(turn: Turn, purpose: Purpose, stops: readonly number[], starts: readonly number[]): void {
  turn.work = { purpose, stops, stopNext: 0, starts, startNext: 0, wait: undefined }
  advance(turn)
}

/** Starts a child that is not in the table yet. */
export function beginAdding(turn: Turn, call: number, spec: ResolvedChildSpec, args: readonly unknown[]): void {
  const purpose: Purpose = { is: "add", call, spec, args }
  const wait: Wait = { for: "start", slot: undefined }
  setWork(turn, { purpose, stops: [], stopNext: 0, starts: [], startNext: 0, wait })
  turn.commands.push({ do: "start", spec, args })
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

export function stopped(turn: Turn, wait: Extract<Wait, { for: "exit" }>, reason: ExitReason): void {
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
export function expired(turn: Turn, wait: Wait | undefined): void {
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

export function started(turn: Turn, slot: number | undefined, process: Process, info: unknown): void {
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

export function ignored(turn: Turn, slot: number | undefined): void {
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

export function notStarted(turn: Turn, slot: number | undefined, reason: ExitReason): void {
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

export function shutdown(turn: Turn, reason: ExitReason): void {
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
    wait: { for: "allExits", isKilled, failures: noFailures },
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

export function oneOfAllStopped(
  turn: Turn,
  wait: Extract<Wait, { for: "allExits" }>,
  process: Process,
  reason: ExitReason,
): void {
  const child = table.childByProcess(turn.children, process)
  if (child === undefined) return
  setChildren(turn, table.removeChild(turn.children, child.slot))
  if (!isExpectedShutdown(child.spec.restart, child.spec.shutdown, reason)) {
    setWait(turn, { ...wait, failures: addFailure(wait.failures, reason) })
  }
  finishWhenAllStopped(turn)
}

const noFailures: ShutdownFailures = { byText: emptyIndex, list: createTable(), size: 0 }

/** Counts those that failed alike together. Through an index: a hundred thousand may each have a reason of their own. */
function addFailure({ byText, list, size }: ShutdownFailures, reason: ExitReason): ShutdownFailures {
  const told = formatReason(reason)
  const at = lookUp(byText, told) ?? size
  const children = (getAt(list, at)?.children ?? 0) + 1
  const isNew = at === size
  return {
    byText: isNew ? put(byText, told, at) : byText,
    list: setAt(list, at, { reason, children }),
    size: isNew ? size + 1 : size,
  }
}

function finishWhenAllStopped(turn: Turn): void {
  const wait = turn.work?.wait
  if (wait?.for !== "allExits" || turn.children.bySlot.size > 0) return
  turn.commands.push({ do: "clearShutdownTimer" })
  const { template } = turn
  for (const [, { reason, children }] of template === undefined ? [] : entriesUp(wait.failures.list)) {
    if (template !== undefined)
      report(turn, "child.shutdownFailed", { spec: template, process: undefined }, reason, children)
  }
  setWait(turn, undefined)
  advance(turn)
}
