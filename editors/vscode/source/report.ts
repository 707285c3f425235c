// An outcome as the output channel and the list of problems show it.
import type { ResultOf } from "../../../runtime/client/index.ts"
import { firstLine, inItsColumns, rangesOf } from "./positions.ts"
import type { Range, Selected } from "./positions.ts"

export type Outcome = ResultOf<"eval">

export interface Problem {
  readonly range: Range
  readonly message: string
}

/** What is written once an eval has ended; its output has been written as it came. `limitMs`: its time limit, when that ended it. */
export function outcomeText(outcome: Outcome, limitMs?: number): string {
  const { status, because, value, error, omittedBytes, lost, durationMs } = outcome
  const lines: string[] = []
  if (limitMs !== undefined) lines.push(`(stopped at its time limit of ${limitMs} ms, setting nacre.session.timeoutMs)`)
  else if (error !== undefined && status !== "ok") lines.push(error.rendered.trimEnd())
  else if (status === "ok") lines.push(value === undefined || value.inert ? "(no value)" : `=> ${value.text}`)
  else
    lines.push(`(${status}${because === undefined ? "" : `, because ${because}`}, after ${Math.round(durationMs)} ms)`)
  if (omittedBytes > 0) lines.push(`(${omittedBytes} bytes of output above the limit were left out)`)
  if (lost.length > 0) lines.push(`(lost with the process that held them: ${lost.join(", ")})`)
  return `${lines.join("\n")}\n`
}

/** A problem at each place that the error names in the evaluated text; at its first line when it names none. */
export function problemsOf({ status, error }: Outcome, selected: Selected): Problem[] {
  if (error === undefined || status === "ok") return []
  const message = error.message === "" ? error.name : `${error.name}: ${error.message}`
  const ranges = error.spans.length === 0 ? [firstLine(selected)] : rangesOf(inItsColumns(selected), error.spans)
  return ranges.map((range) => ({ range, message }))
}
