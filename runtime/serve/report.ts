// An outcome as a person at a terminal sees it: what went wrong, what was lost, and the exit code it stands for.
import type { Outcome, OutcomeStatus } from "../session/outcome.ts"

/** Why there is no value, as text; `undefined` when the eval ended well. */
export function failureText(outcome: Outcome): string | undefined {
  const { status, because, error, durationMs } = outcome
  if (error !== undefined && status !== "ok") return error.rendered
  const reason = because === undefined ? "" : ` (${because})`
  const texts: Record<OutcomeStatus, string | undefined> = {
    ok: undefined,
    exited: undefined,
    threw: `The eval threw${reason}.`,
    invalid: `The source is not valid${reason}.`,
    timeout: `The eval was stopped after ${Math.round(durationMs)} ms, its time limit${reason}. Nothing of it was kept.`,
    interrupted: `Interrupted${reason}.`,
    crashed: `The process that ran the code died${reason}. What was there before is kept; nothing of this eval is.`,
  }
  return texts[status]
}

/** What else has to be told: values that went with a process, output that was cut. */
export function warnings(outcome: Outcome): string[] {
  const { lost, omittedBytes, late } = outcome
  const lines: string[] = []
  if (lost.length > 0) lines.push(`Lost with the process that held them: ${lost.join(", ")}`)
  if (late.length > 0) lines.push(`Changed by code of an eval that had ended: ${late.join(", ")}`)
  if (omittedBytes > 0) lines.push(`${omittedBytes} bytes of output above the limit were left out.`)
  return lines
}

export function exitCodeOf(outcome: Outcome): number {
  if (outcome.status === "ok") return 0
  if (outcome.status === "exited") return (outcome.exitCode ?? 0) & 0xff
  return 1
}
