// What a supervisor tells about its children, as events for logs and metrics.
//
// | here                 | OTP's report       | when |
// | -------------------- | ------------------ | ---- |
// | child.started        | progress           | a child runs, at the first start and after every restart |
// | child.terminated     | child_terminated   | a child ended by itself and the end was not an expected one |
// | child.startFailed    | start_error        | a start at boot or during a restart failed |
// | child.shutdownFailed | shutdown_error     | a child that was told to stop ended in another way |
// | supervisor.gaveUp    | shutdown           | one restart too many within the period |
import type { ChildType, RestartType, Shutdown } from "./child-spec.ts"
import type { Process } from "./process.ts"
import type { ExitReason } from "./reason.ts"

export interface Offender {
  readonly id: string
  readonly process: Process | undefined
  readonly restart: RestartType
  readonly shutdown: Shutdown
  readonly type: ChildType
  readonly significant: boolean
}

export type ReportEvent =
  | "child.started"
  | "child.terminated"
  | "child.startFailed"
  | "child.shutdownFailed"
  | "supervisor.gaveUp"

export interface Report {
  readonly event: ReportEvent
  /** The supervisor's name: its path in the tree. */
  readonly supervisor: string
  readonly reason: ExitReason
  readonly offender: Offender
  /** How many children the report is about. Above 1 only when a `simple_one_for_one` supervisor stops. */
  readonly children: number
  readonly atMs: number
}
