// An error of session code as a record: what the realm described, with positions mapped to the source and a rendering for people.
import type { DescribedError } from "../../stdlib/describe-error.ts"
import { renderProblem } from "../language/parse.ts"
import type { InvalidSource } from "../language/parse.ts"
import { cleanMessage, mapStack } from "../language/stack.ts"
import type { ErrorRecord, Frame, Span } from "../wire/schema.ts"
import type { Resident } from "./resident.ts"

/** Who knows which source a frame's file name stands for. */
type Units = Pick<Resident, "unitOf">

interface Source {
  readonly text: string
  readonly file: string
  readonly line: number
}

/** The record of what the realm described as JSON. `source` is the eval's own, whose text is quoted where the error points into it. */
export function errorRecord(json: string, resident: Units, source: Source): ErrorRecord {
  return recordOf(JSON.parse(json) as DescribedError, resident, source)
}

function recordOf(described: DescribedError, resident: Units, source: Source): ErrorRecord {
  const message = cleanMessage(described.message)
  const stack = framesOf(described.stack, resident)
  const { cause, errors, properties, kind, name } = described
  const span = spanOf(stack[0], source)
  const record: ErrorRecord = {
    name,
    message,
    stack,
    spans: span === undefined ? [] : [span],
    rendered: render(described.isError ? `${name}: ${message}` : `Uncaught ${message}`, stack, span, source),
  }
  if (kind !== undefined) record.kind = kind
  if (errors !== undefined) {
    record.errors = errors.map((it) => recordOf(it, resident, source))
    for (const [at, it] of record.errors.entries()) record.rendered += `\nError ${at + 1}: ${withoutUncaught(it)}`
  }
  if (cause !== undefined) {
    record.cause = recordOf(cause, resident, source)
    record.rendered += `\nCaused by: ${withoutUncaught(record.cause)}`
  }
  if (properties !== undefined) record.properties = properties
  return record
}

/** What is no error stands by itself where it was not thrown. */
function withoutUncaught({ rendered }: ErrorRecord): string {
  return rendered.startsWith("Uncaught ") ? rendered.slice("Uncaught ".length) : rendered
}

/** The record of a submission that does not parse. */
export function syntaxErrorRecord(invalid: InvalidSource, source: Source): ErrorRecord {
  const first = invalid.errors[0]
  // The place stands once, with its file.
  const problems = invalid.errors.map((error) => renderProblem(source.text, error, source.file))
  return {
    name: "SyntaxError",
    message: first?.message ?? "The source does not parse.",
    stack: [],
    spans: invalid.errors.map(({ span }) => ({ ...span })),
    rendered: `SyntaxError: ${problems.join("\n\n")}`,
  }
}

/** An error that Nacre itself puts in place of a result, with its kind. */
export function kindRecord(kind: string, message: string): ErrorRecord {
  return { name: "Error", message, kind, stack: [], spans: [], rendered: `Error: ${message}` }
}

function framesOf(stack: string, resident: Units): Frame[] {
  const frames: Frame[] = []
  for (const { name, filename, line, column } of mapStack(stack, (file) => resident.unitOf(file)?.unit)) {
    const file = resident.unitOf(filename)?.file ?? filename
    frames.push(name === undefined ? { file, line, column } : { name, file, line, column })
  }
  return frames
}

/** A stack's frames as session code sees them: as V8 writes them, of user code only, at their places in the source. */
export function shownFrames(raw: string, resident: Units): string {
  let text = ""
  for (const { name, file, line, column } of framesOf(raw, resident)) {
    text += name === undefined ? `\n    at ${file}:${line}:${column}` : `\n    at ${name} (${file}:${line}:${column})`
  }
  return text
}

/** The place of a frame in the eval's own source, as a span of one character. */
function spanOf(frame: Frame | undefined, { text, file, line }: Source): Span | undefined {
  if (frame === undefined || frame.file !== file) return undefined
  let start = 0
  for (let at = line; at < frame.line; at++) {
    const next = text.indexOf("\n", start)
    if (next === -1) return undefined
    start = next + 1
  }
  start = Math.min(start + frame.column - 1, text.length)
  return { start, end: start + 1, line: frame.line, column: frame.column }
}

function render(head: string, stack: readonly Frame[], span: Span | undefined, source: Source): string {
  const lines = [head]
  for (const { name, file, line, column } of stack) {
    lines.push(name === undefined ? `    at ${file}:${line}:${column}` : `    at ${name} (${file}:${line}:${column})`)
  }
  if (span !== undefined) {
    // Its first line repeats the place, which the stack has said.
    lines.push(...renderProblem(source.text, { message: "", span }).split("\n").slice(1))
  }
  return lines.join("\n")
}
