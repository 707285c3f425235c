// Answers of tools as text: what a terminal would show, then a line that says where it happened and what it changed.
import { failureText, warnings } from "../report.ts"
import type { RevisionRecord } from "../../module/revision.ts"
import type { Committed, Rejected } from "../../session/changes.ts"
import type { Outcome } from "../../session/outcome.ts"

/** Names of one list that are told; the others are counted. */
const namesMax = 20

export function outcomeText(session: string, outcome: Outcome): string {
  const { status, value, exitCode, committed, evalId, ephemeral, stale, rejected, abandoned } = outcome
  const written = outcome.output.map(({ text }) => text).join("")
  const lines: string[] = []
  if (written !== "") lines.push(written.replace(/\n$/, ""))
  const failure = failureText(outcome)
  if (failure !== undefined) lines.push(failure)
  else if (value?.inert === false) lines.push(`=> ${value.text}`)
  lines.push(...warnings(outcome))
  if (rejected.length > 0) lines.push(`Not written: ${namesText(rejected.map(({ key, kind }) => `${key} (${kind})`))}`)
  if (stale.length > 0) lines.push(`Hold a copy of a definition that has changed: ${namesText(stale)}`)
  if (ephemeral.length > 0) lines.push(`Held only by the running process, lost when it ends: ${namesText(ephemeral)}`)
  if (abandoned.length > 0)
    lines.push(`Cancelled because the eval ended: ${namesText(abandoned.map(({ kind }) => kind))}`)
  const { set, removed, definitions, globals } = committed
  const facts = [`session ${session}`, evalId, exitCode === undefined ? status : `${status} with ${exitCode}`]
  for (const [what, names] of Object.entries({ set, defined: definitions, removed, globals })) {
    if (names.length > 0) facts.push(`${what} ${namesText(names)}`)
  }
  lines.push(`[${facts.join("; ")}]`)
  return lines.join("\n")
}

export function changeText(session: string, ended: (Committed & { outcome?: Outcome }) | Rejected): string {
  if (ended.status === "rejected") {
    const { kind, message, diagnostics } = ended.rejection
    const places = diagnostics.slice(0, namesMax).map(({ rendered, message: what, file, line, column }) => {
      return rendered ?? `${what} (${file}:${line}:${column})`
    })
    const said = [`Rejected, ${kind}: ${message}`, ...places.filter((place) => !message.includes(place))]
    return [...said, `[session ${session}; revision ${ended.revision} stands]`].join("\n")
  }
  const lines: string[] = []
  if (ended.record === undefined) lines.push("The session has this already; nothing was changed.")
  else lines.push(recordText(ended.record))
  if (ended.outcome !== undefined) lines.push(outcomeText(session, ended.outcome))
  else lines.push(`[session ${session}; revision ${ended.revision}]`)
  return lines.join("\n")
}

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
