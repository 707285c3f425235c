// Answers of tools as text: what a terminal would show, then a line that says where it happened and what it changed.
import { failureText, namesMax, namesText, recordText, warnings } from "../report.ts"
import type { Committed, Rejected } from "../../session/changes.ts"
import type { Outcome } from "../../session/outcome.ts"

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
