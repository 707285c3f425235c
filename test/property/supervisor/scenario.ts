// The language of the oracle, `test/otp-oracle/README.md`, as types.

export type OtpReason = string | { readonly shutdown: OtpReason }

export type Plan =
  | "ok"
  | "ignore"
  | { readonly error: string }
  | { readonly throw: string }
  | { readonly bad_return: string }
  | { readonly init_exit: string }

export interface ChildNode {
  readonly id?: string
  readonly restart?: string
  readonly shutdown?: number | "brutal_kill" | "infinity"
  readonly significant?: boolean
  readonly type?: string
  readonly start?: readonly Plan[]
  readonly trap?: boolean
  readonly on_shutdown?: "obey" | "hang" | { readonly exit: OtpReason }
  readonly cleanup_ms?: number
  readonly dynamic?: boolean
  readonly no_start?: boolean
  readonly strategy?: string
  readonly intensity?: number
  readonly period?: number
  readonly auto_shutdown?: string
  readonly children?: readonly ChildNode[]
}

export type StepOp =
  | "kill"
  | "exit"
  | "plan"
  | "sleep"
  | "alive"
  | "start_child"
  | "terminate_child"
  | "restart_child"
  | "delete_child"
  | "which_children"
  | "count_children"
  | "stop_sup"

export interface Step {
  readonly op: StepOp
  readonly id?: string
  readonly sup?: string
  readonly reason?: OtpReason
  readonly wait?: boolean
  readonly start?: readonly Plan[]
  readonly ms?: number
  readonly spec?: ChildNode
  readonly args?: string
  readonly by_pid?: boolean
}

export interface Scenario {
  readonly name: string
  readonly tree: ChildNode
  readonly steps: readonly Step[]
}

/** One line of a trace; `ev` is `start`, `start_failed`, `start_ignored`, `exit`, `report`, `step` or `result`. */
export type TraceEvent = Readonly<Record<string, unknown>> & { readonly ev: string }
