export { Nacre } from "./nacre.ts"
export type { NacreOptions, OpenOptions } from "./nacre.ts"
export { EvalFailure, Session } from "./session/session.ts"
export type { SessionKind } from "./session/session.ts"
export type { BindingInfo, SessionBindings } from "./session/bindings.ts"
export type { ErrorRecord, Frame, Outcome, OutcomeStatus, OutcomeValue, OutputChunk, Span } from "./session/outcome.ts"
export type {
  Change,
  Committed,
  ExportedDeclaration,
  ExportedRevision,
  Proposed,
  Rejected,
  UnwrapChange,
  WrapChange,
} from "./session/changes.ts"
export type { ChangeRequested, ChangeVerdict, OnChange } from "./session/code-changes.ts"
export type { BindingCall, CandidateEvalOptions, SubmittedChange, ValueCall } from "./session/session.ts"
export type { Pin, PinInfo, RetainedValue } from "./session/handles.ts"
export type { Diagnostic, Rejection, RejectionKind } from "./module/candidate.ts"
export type { RevisionChange, RevisionRecord } from "./module/revision.ts"
export type { EvalOptions } from "./shell/shell.ts"
export type { QuestionOptions } from "./checker/checker.ts"
export type { Completion, Completions, Hover, Signature, Signatures } from "./checker/declarations.ts"
export type { TypedTool } from "./session/tools.ts"
export type { Tool, ToolContext } from "./shell/tool-calls.ts"
export type { AttachOptions, Attachment, EventListener, NacreEvent } from "./events.ts"
export type { WorkspaceGlobals } from "./workspace/globals.ts"
export { NacreError, errorKinds } from "./errors.ts"
export type { ErrorKind, Retry } from "./errors.ts"
export type { HostOptions, Limits } from "./options.ts"
export type { LoadedPrelude, PreludeOptions } from "./workspace/preludes.ts"
