// How an accepted eval ended: the one value that every eval resolves with, whatever happened to the code, its thread or its host.
import type { ErrorRecord, Frame, Span } from "../wire/schema.ts"

export type { ErrorRecord, Frame, Span }

export type OutcomeStatus = "ok" | "threw" | "invalid" | "interrupted" | "timeout" | "exited" | "crashed"

export interface OutcomeValue {
  /** The value as a person would like to see it; bounded, and made without running user code. */
  text: string
  /** Nothing worth showing, as `undefined` after a declaration. */
  inert: boolean
  type: string
  /** The value itself, when it can leave its realm and is within its limit. Decoded afresh by each call. */
  data?: unknown
  /** Why there is no `data`: "too-large" (above `limits.valueDataBytesMax`), or what the value holds that cannot leave its realm. */
  withheld?: string
  mime?: Record<string, string>
}

export interface OutputChunk {
  stream: "stdout" | "stderr"
  text: string
  /** Counts the chunks of one eval from 0; consecutive. */
  seq: number
}

export interface Outcome {
  evalId: string
  status: OutcomeStatus
  /** Why it was stopped or crashed: "neighbour", "out-of-memory", "host-killed", "native-code", "closed", … */
  because?: string
  value?: OutcomeValue
  error?: ErrorRecord
  output: OutputChunk[]
  omittedBytes: number
  committed: {
    set: string[]
    removed: string[]
    cleared: boolean
    definitions: string[]
    globals: string[]
    /** Of a nested eval: what stands here is committed with the eval around it, or not at all. */
    pending: boolean
  }
  /** The revision the eval ran on, and the session's after it. */
  revisionUsed: number
  revision: number
  /** Queued writes that could not be applied. */
  rejected: { op: string; key: string; kind: string }[]
  stale: string[]
  /** Bindings whose values could not be kept when a process ended. */
  lost: string[]
  /** Bindings that hold something which cannot outlive the process: they are lost when it ends. */
  ephemeral: string[]
  /** Timers and the like that were cancelled because the eval ended. */
  abandoned: { kind: string; span?: Span }[]
  /** Bindings changed by code of an eval that had already ended. */
  late: string[]
  exitCode?: number
  durationMs: number
}

/** An outcome in which nothing happened yet; endings fill in what they know. */
export function emptyOutcome(evalId: string, status: OutcomeStatus, revision: number): Outcome {
  return {
    evalId,
    status,
    output: [],
    omittedBytes: 0,
    committed: { set: [], removed: [], cleared: false, definitions: [], globals: [], pending: false },
    revisionUsed: revision,
    revision,
    rejected: [],
    stale: [],
    lost: [],
    ephemeral: [],
    abandoned: [],
    late: [],
    durationMs: 0,
  }
}
