// How an accepted eval ended: the one value that every eval resolves with, whatever happened to the code, its thread or its host.
import type { ErrorRecord, Frame, Span } from "../wire/schema.ts"

export type { ErrorRecord, Frame, Span }

export type OutcomeStatus = "ok" | "threw" | "invalid" | "interrupted" | "timeout" | "exited" | "crashed"

/**
 * What `because` of an outcome can say, and what it means: a table that docs/ERRORS.md is made from. A name that ends in `…` stands for all that
 * begin so: an exit code, a signal or the engine's own words follow.
 */
export const outcomeReasons = {
  aborted: "`interrupted`: the `signal` that the eval was given aborted.",
  closed: "`interrupted`: its session was closed.",
  stopped: "`interrupted`: its session's shell or its nacre was stopped. `crashed`: its host was.",
  nested: "`interrupted`: an eval inside of it was stopped, and with it everything on the way.",
  "outer-ended": "`interrupted`: the eval around it ended before it began.",
  "native-code": "It was stuck in a long native call, so it took its host with it.",
  "shell-failed": "`interrupted`: a defect ended its session's shell before it began.",
  neighbour: "`crashed`: another session's eval on the same thread or host ended it.",
  "out-of-memory": "`crashed`: its thread or its host reached the memory limit.",
  "host-killed": "`crashed`: its host was killed from outside.",
  "host-exited-…": "`crashed`: its host ended with that code.",
  "host-sig…": "`crashed`: its host was ended by that signal, other than SIGKILL.",
  "hosts-unstable": "`crashed`: several hosts ended in a row before the eval could begin.",
  unresponsive: "`crashed`: its host did not answer and was killed.",
  interrupted: "`crashed`: its thread was ended by an interrupt that was meant for another eval.",
  "worker-disconnected": "`crashed`: its thread's connection was lost.",
  "thread-start-timeout": "`crashed`: a thread of its host did not start in time.",
  "start-timeout": "`crashed`: its host did not start in time.",
  "stop-timeout": "`crashed`: its host was told to stop and did not.",
  "wire-version-…": "`crashed`: its host spoke another version of the protocol between the processes.",
  "thread-exited": "`crashed`: its thread exited.",
  "thread-failed: …": "`crashed`: its thread failed, with these words.",
  "unsendable: …": "`crashed`: the eval could not be sent, for this reason.",
} as const

export type OutcomeReason = keyof typeof outcomeReasons

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
  /** With `retainValues`, of an object or a function: what `callValue` and `releaseValue` know it by. */
  handle?: string
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
  /** Why it was stopped or crashed: one of `outcomeReasons`. Without it the eval was interrupted by name, or ran out of time. */
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
  /** Imported names whose files had changed when they were imported again in a new realm: they are the new files' now. */
  reloaded: string[]
  /** Bindings whose values could not be kept when a process ended. */
  lost: string[]
  /** Bindings that hold something which cannot outlive the process: they are lost when it ends. */
  ephemeral: string[]
  /**
   * With `commit: "idle"`: bindings whose values are yet to be written. An event `bindings.changed` says when that is done; until then they would
   * fall back to what was committed of them before.
   */
  pending: string[]
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
    reloaded: [],
    lost: [],
    ephemeral: [],
    pending: [],
    abandoned: [],
    late: [],
    durationMs: 0,
  }
}
