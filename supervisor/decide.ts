// The supervisor's decisions: `decide(state, event) -> { state, commands }`, pure.
//
// A supervisor does one thing at a time: its work, see `work.ts`. While that waits, every other message stays in the mailbox, as behind
// OTP's blocking calls. A failed restart is not retried here but by a message to itself, so that calls get their turn.
import type { Refused, Request } from "./admin.ts"
import { countChildren, listChildren, refuse, startRequest } from "./admin-answers.ts"
import { checkSupervisorSpec, type SupervisorSpec } from "./child-spec.ts"
import * as table from "./children.ts"
import type { Child } from "./children.ts"
import type { Process } from "./process.ts"
import type { ExitReason } from "./reason.ts"
import { addRestart, isExceeded, judgeExit, nextBackoff } from "./restart.ts"
import {
  answer,
  report,
  setChildren,
  type Command,
  type StampedEvent,
  type SupervisorEvent,
  type SupervisorState,
  type Turn,
} from "./state.ts"
import { planRestart } from "./strategy.ts"
import {
  begin,
  beginAdding,
  expired,
  ignored,
  notStarted,
  oneOfAllStopped,
  shutdown,
  started,
  stopped,
} from "./work.ts"

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

// ---- admin calls

function call(turn: Turn, ref: number, request: Request): void {
  const { children, template } = turn
  const isDynamic = !children.hasIds
  switch (request.op) {
    case "startChild": {
      const wanted = startRequest(turn, request.child)
      if ("error" in wanted) return answer(turn, ref, wanted)
      return beginAdding(turn, ref, wanted.spec, wanted.args)
    }
    case "terminateChild": {
      if (isDynamic && typeof request.child === "string")
        return answer(turn, ref, refuse({ kind: "simple_one_for_one" }))
      const child = isHandle(request.child)
        ? table.childByProcess(children, request.child)
        : table.childById(children, request.child)
      if (child !== undefined) return begin(turn, { is: "stopOne", call: ref }, [child.slot], [])
      // A dead process is as terminated as it can be; OTP says so too for dynamic children.
      const isGone = isDynamic && isHandle(request.child) && !request.child.isAlive
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
    tryAgain(turn)
  }
  return answer(turn, ref, { ok: true })
}

/** Attempts that were waited for are set again, since every child has another slot now. */
function tryAgain(turn: Turn): void {
  for (const { slot, status, backoff } of table.inStartOrder(turn.children)) {
    if (status !== "restarting") continue
    const afterMs = Math.max(0, (backoff?.lastFailureMs ?? 0) - turn.nowMs)
    turn.commands.push({ do: "tryRestart", slot, afterMs, isCounted: afterMs > 0 })
  }
}

/** Whatever plain JavaScript asks with; a question about nobody must not end the supervisor. */
function isHandle(child: unknown): child is Process {
  return typeof child === "object" && child !== null && "serial" in child && typeof child.serial === "number"
}

function findStopped({ children }: Turn, id: string): Child | Refused {
  if (!children.hasIds) return refuse({ kind: "simple_one_for_one" })
  const child = table.childById(children, id)
  if (child === undefined) return refuse({ kind: "not_found" })
  return child.status === "stopped" ? child : refuse({ kind: child.status })
}
