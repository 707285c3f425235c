export { startSupervisor, Supervisor, type CallOptions, type SupervisorOptions } from "./supervisor.ts"
export { supervisorSpec } from "./nested.ts"
export {
  checkChildSpec,
  checkChildSpecs,
  checkFlags,
  formatProblem,
  type AutoShutdown,
  type ChildSpec,
  type ChildType,
  type ResolvedChildSpec,
  type RestartType,
  type Shutdown,
  type SpecProblem,
  type Startable,
  type StartContext,
  type StartResult,
  type Strategy,
  type SupervisorSpec,
} from "./child-spec.ts"
export type {
  AdminError,
  ChildCounts,
  ChildEntry,
  DoneAnswer,
  NewChild,
  Refused,
  SpecAnswer,
  StartAnswer,
  Started,
} from "./admin.ts"
export type { Backoff } from "./restart.ts"
export type { Offender, Report, ReportEvent } from "./report.ts"
export { Process, type ExitWatcher, type ProcessLike, type TrapHandler } from "./process.ts"
export {
  formatReason,
  isNormalEnd,
  reasonOfThrown,
  type ExitReason,
  type FailedToStartChild,
  type Thrown,
} from "./reason.ts"
export { SupervisionError, type SupervisionErrorKind } from "./errors.ts"
export { System } from "./system.ts"
export { Registry, type Registered } from "./registry.ts"
export { systemClock, VirtualClock, type Clock, type Timer } from "./clock.ts"
export { link, monitor, unlink, whenExited, type Monitor } from "./monitor.ts"
export { call, type CallMessage, type CallTarget } from "./call.ts"
export { actorProcess, type ActorProcessOptions } from "./actor-process.ts"
export { task } from "./task.ts"
export { osProcess, readyOsProcess, type OsProcessOptions, type ReadyOptions } from "./os-process.ts"
export { printTree, treeOf, type TreeNode } from "./tree.ts"
