// Outcomes and records as people at a terminal and agents read them: what went wrong, what was lost, what changed, and the exit code of a command.
import type { RevisionRecord } from "../module/revision.ts"
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
  const { lost, omittedBytes, late, status, abandoned } = outcome
  const lines: string[] = []
  if (status === "ok" && abandoned.length > 0) {
    const what = counted(abandoned.map(({ kind }) => abandonedNames[kind] ?? kind))
    lines.push(`Cancelled, since the code had ended: ${what}. Await what has to finish.`)
  }
  if (lost.length > 0) lines.push(`Lost with the process that held them: ${lost.join(", ")}`)
  if (late.length > 0) lines.push(`Changed by code of an eval that had ended: ${late.join(", ")}`)
  if (omittedBytes > 0) lines.push(`${omittedBytes} bytes of output above the limit were left out.`)
  return lines
}

const abandonedNames: Readonly<Record<string, string>> = { timeout: "timer", tool: "tool call" }

/** `2 timers, 1 interval`. */
function counted(kinds: readonly string[]): string {
  const counts = new Map<string, number>()
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return [...counts].map(([kind, count]) => `${count} ${kind}${count === 1 ? "" : "s"}`).join(", ")
}

export function exitCodeOf(outcome: Outcome): number {
  if (outcome.status === "ok") return 0
  if (outcome.status === "exited") return (outcome.exitCode ?? 0) & 0xff
  return 1
}

/** Names of one list that are told; the others are counted. */
export const namesMax = 20

/** The record of a revision in one line. */
export function recordText(record: RevisionRecord): string {
  const { revision, parent, cause, restored, changes, reinstantiated, stale, lostData, principal, reason } = record
  const made = changes.map(({ op, key, wrapper }) => `${op} ${key}${wrapper === undefined ? "" : ` (${wrapper})`}`)
  const facts = [`${cause}${restored === undefined ? "" : ` of ${restored}`}: ${namesText(made) || "no changes"}`]
  if (reinstantiated.length > 0) facts.push(`made again ${namesText(reinstantiated)}`)
  if (stale.length > 0) facts.push(`stale ${namesText(stale)}`)
  if (lostData.length > 0) facts.push(`lost the data of ${namesText(lostData)}`)
  if (principal !== undefined) facts.push(`by ${principal}`)
  if (reason !== undefined) facts.push(`because ${cutText(reason, 200)}`)
  return `revision ${revision} from ${parent}, ${facts.join("; ")}`
}

export function namesText(names: readonly string[]): string {
  const more = names.length - namesMax
  return [...names.slice(0, namesMax), ...(more > 0 ? [`and ${more} more`] : [])].join(", ")
}

/** The text, or its beginning with how much is missing. */
export function cutText(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}… (${text.length - max} more characters)`
}
