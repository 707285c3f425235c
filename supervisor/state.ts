// The words of a supervisor's decisions: its state, the events it is told, the commands it gives.
//
// All of it is data. A state is never changed; a turn works on a draft of its own and leaves a new state. Events that answer a command
// (`child.started`, a `child.exited` that is waited for) belong to the command before them; the rest are messages.
import type { Answer, Request } from "./admin.ts"
import type { ResolvedChildSpec, ResolvedFlags } from "./child-spec.ts"
import { createChildren, type Child, type Children } from "./children.ts"
import type { NameIndex } from "./name-index.ts"
import type { OrderedTable } from "./ordered-table.ts"
import type { Process } from "./process.ts"
import type { ExitReason } from "./reason.ts"
import type { ReportEvent } from "./report.ts"
import { noRestarts, type RestartWindow } from "./restart.ts"

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
  | { readonly for: "allExits"; readonly isKilled: boolean; readonly failures: ShutdownFailures }

interface ShutdownFailure {
  readonly reason: ExitReason
  readonly children: number
}

export interface ShutdownFailures {
  /** Where in `list` the reason of this text is. */
  readonly byText: NameIndex
  readonly list: OrderedTable<ShutdownFailure>
  readonly size: number
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
export interface Turn {
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
    children: createChildren(isDynamic ? [] : specs, !isDynamic),
    restarts: noRestarts,
    work: undefined,
    exitReason: undefined,
  }
}

export function setChildren(turn: Turn, children: Children): void {
  turn.children = children
}

export function setWork(turn: Turn, work: Work | undefined): void {
  turn.work = work
}

export function setWait(turn: Turn, wait: Wait | undefined): void {
  if (turn.work === undefined) return
  const { purpose, stops, stopNext, starts, startNext } = turn.work
  turn.work = { purpose, stops, stopNext, starts, startNext, wait }
}

export function answer(turn: Turn, ref: number, value: Answer): void {
  turn.commands.push({ do: "answer", call: ref, answer: value })
}

export function report(
  turn: Turn,
  event: ReportEvent,
  child: Pick<Child, "spec" | "process">,
  reason: ExitReason,
  children = 1,
): void {
  turn.commands.push({ do: "report", event, child, reason, children })
}
