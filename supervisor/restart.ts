// Whether and when a child is restarted: three pure decisions.
//
// | restart   | `normal`, `shutdown`, `{ shutdown }` | any other reason |
// | --------- | ------------------------------------ | ---------------- |
// | permanent | restarted, reported                  | restarted, reported |
// | transient | stays down, its spec is kept         | restarted, reported |
// | temporary | forgotten                            | forgotten, reported |
//
// Every attempt counts against the intensity, failed ones too; a group restart counts once.
import type { ResolvedChildSpec, RestartType, Shutdown } from "./child-spec.ts"
import { createTable, getAt, setAt, type OrderedTable } from "./ordered-table.ts"
import { isNormalEnd, isShutdownRecord, type ExitReason } from "./reason.ts"

export interface ExitVerdict {
  readonly isReported: boolean
  readonly isRestarted: boolean
}

export function judgeExit(restart: RestartType, reason: ExitReason): ExitVerdict {
  if (restart === "permanent") return { isReported: true, isRestarted: true }
  if (isNormalEnd(reason)) return { isReported: false, isRestarted: false }
  return { isReported: true, isRestarted: restart === "transient" }
}

/** The times of restarts that still count: a queue, so that a high intensity costs no more than a low one. */
export interface RestartWindow {
  readonly timesMs: OrderedTable<number>
  readonly oldest: number
  readonly next: number
}

export const noRestarts: RestartWindow = { timesMs: createTable(), oldest: 0, next: 0 }

/** Adds a restart now and forgets those before the period. A restart of exactly `periodMs` ago still counts. */
export function addRestart(window: RestartWindow, nowMs: number, periodMs: number): RestartWindow {
  let { timesMs, oldest } = window
  for (; oldest < window.next; oldest++) {
    const atMs = getAt(timesMs, oldest)
    if (atMs !== undefined && nowMs - atMs <= periodMs) break
    timesMs = setAt(timesMs, oldest, undefined)
  }
  return { timesMs: setAt(timesMs, window.next, nowMs), oldest, next: window.next + 1 }
}

/** One more than `intensity` restarts within the period is too many. */
export function isExceeded(window: RestartWindow, intensity: number): boolean {
  return window.next - window.oldest > intensity
}

/** Whether a child that was told to stop ended as asked; anything else is reported as a shutdown error. */
export function isExpectedShutdown(restart: RestartType, shutdown: Shutdown, reason: ExitReason): boolean {
  if (shutdown === "brutal_kill" && reason === "killed") return true
  if (restart === "permanent") return reason === "shutdown" && shutdown !== "brutal_kill"
  return reason === "shutdown" || reason === "normal" || isShutdownRecord(reason)
}

export interface Backoff {
  readonly minMs: number
  readonly maxMs: number
  /** Growth per failure in a row. Default 2. */
  readonly factor?: number
  /** The part of the wait that is drawn at random, 0 to 1, so that many children do not return in one moment. Default 0. */
  readonly jitter?: number
  /** After this long without a failure the wait is `minMs` again. Default `maxMs`. */
  readonly resetAfterMs?: number
}

export interface BackoffState {
  readonly failures: number
  readonly lastFailureMs: number
}

/** The wait before the next attempt. `random` is a number in [0, 1), passed in so that the decision stays pure. */
export function nextBackoff(
  spec: ResolvedChildSpec,
  last: BackoffState | undefined,
  nowMs: number,
  random: number,
): { readonly waitMs: number; readonly state: BackoffState | undefined } {
  const { backoff } = spec
  if (backoff === undefined) return { waitMs: 0, state: undefined }
  const { minMs, maxMs, factor = 2, jitter = 0, resetAfterMs = maxMs } = backoff
  const isFresh = last === undefined || nowMs - last.lastFailureMs > resetAfterMs
  const failures = isFresh ? 0 : last.failures
  const fullMs = Math.min(maxMs, minMs * factor ** failures)
  const waitMs = fullMs * (1 - jitter) + fullMs * jitter * random
  return { waitMs, state: { failures: failures + 1, lastFailureMs: nowMs + waitMs } }
}
