// Requests to a supervisor and their answers, as data.
//
// A refusal is an answer, since callers branch on it; only a supervisor that is gone or silent makes a call reject.
import type { ChildSpec, ChildType, ResolvedChildSpec, SpecProblem, SupervisorSpec } from "./child-spec.ts"
import type { ChildStatus } from "./children.ts"
import type { Process } from "./process.ts"
import type { ExitReason } from "./reason.ts"

export type AdminError =
  | { readonly kind: "already_started"; readonly process: Process | undefined }
  | { readonly kind: "already_present" | "not_found" | "running" | "restarting" | "simple_one_for_one" }
  | { readonly kind: "max_children"; readonly childrenMax: number }
  | { readonly kind: "invalid_spec"; readonly problem: SpecProblem }
  | { readonly kind: "start_failed"; readonly id: string; readonly reason: ExitReason }

export type Refused = { readonly ok: false; readonly error: AdminError }
/** `process` is `undefined` when the start said `ignore`. */
export type Started = { readonly ok: true; readonly process: Process | undefined; readonly info: unknown }
export type StartAnswer = Started | Refused
export type DoneAnswer = { readonly ok: true } | Refused
export type SpecAnswer = { readonly ok: true; readonly spec: ResolvedChildSpec } | Refused

export interface ChildEntry {
  /** `undefined` under `simple_one_for_one`. */
  readonly id: string | undefined
  readonly status: ChildStatus
  readonly process: Process | undefined
  readonly type: ChildType
}

export interface ChildCounts {
  readonly specs: number
  /** Running and alive; restarting ones do not count. */
  readonly active: number
  readonly supervisors: number
  readonly workers: number
}

/** A specification; or, under `simple_one_for_one`, the arguments that the template's start gets after its context. */
export type NewChild = ChildSpec | readonly unknown[]

export type Request =
  | { readonly op: "startChild"; readonly child: NewChild }
  | { readonly op: "terminateChild"; readonly child: string | Process }
  | { readonly op: "restartChild"; readonly id: string }
  | { readonly op: "deleteChild"; readonly id: string }
  | { readonly op: "getChildSpec"; readonly id: string }
  | { readonly op: "changeSpec"; readonly spec: SupervisorSpec }
  | { readonly op: "whichChildren" }
  | { readonly op: "countChildren" }

/** What each request is answered with. */
export interface AnswerByOp {
  readonly startChild: StartAnswer
  readonly terminateChild: DoneAnswer
  readonly restartChild: StartAnswer
  readonly deleteChild: DoneAnswer
  readonly getChildSpec: SpecAnswer
  readonly changeSpec: DoneAnswer
  readonly whichChildren: readonly ChildEntry[]
  readonly countChildren: ChildCounts
}

export type Answer = AnswerByOp[Request["op"]]
