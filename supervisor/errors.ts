// The one error class of this library.
//
// A refused admin call is data (`AdminError`), since callers branch on it. This error is for what leaves nothing to branch on: the
// peer is gone, the deadline has passed, a specification is wrong. Compare `kind`, not the class.
import type { ExitReason } from "./reason.ts"
import type { SpecProblem } from "./child-spec.ts"

export type SupervisionErrorKind =
  | "invalid_spec"
  | "start_failed"
  | "already_registered"
  | "noproc"
  | "exited"
  | "timeout"
  | "calling_self"

export class SupervisionError extends Error {
  readonly kind: SupervisionErrorKind
  /** Why the peer ended; what a `start` that throws this error is reported with. */
  readonly exitReason?: ExitReason
  readonly problem?: SpecProblem

  constructor(
    kind: SupervisionErrorKind,
    message: string,
    detail: { exitReason?: ExitReason; problem?: SpecProblem } = {},
  ) {
    super(message)
    this.name = "SupervisionError"
    this.kind = kind
    if (detail.exitReason !== undefined) this.exitReason = detail.exitReason
    if (detail.problem !== undefined) this.problem = detail.problem
  }
}
