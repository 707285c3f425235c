// The text that a session keeps of a declaration: all of its parts in the order in which they stand, with the comments in front of them.
//
// One key may have several: overloads, merged interfaces, a namespace on a function. Parts that follow each other are kept as one piece of the
// source, so that every position in them is as it was; others are joined by a line break. A comment belongs to what it stands in front of, unless
// it ends the line of the statement before or an empty line is between them. Documentation belongs to what follows in any case.
import { keyOf } from "./canonical.ts"
import { bareStatement } from "./definition.ts"
import { blanksFor } from "./edits.ts"
import type { Program } from "./parse.ts"

export interface DeclarationText {
  readonly source: string
  /** Where its first part begins in the source, with what stands in front, and where its last one ends. */
  readonly start: number
  readonly end: number
}

interface Part {
  readonly statement: number
  /** With its comments. */
  readonly start: number
  readonly end: number
  readonly text: string
  /** Where the `export` stands in it that is no part of the text. */
  readonly exported: readonly [from: number, to: number]
}

/** The texts of a program's declarations by key. The program stands `shift` later than in the source. */
export function declarationTexts(source: string, program: Program, shift: number): Map<string, DeclarationText> {
  const parts = new Map<string, Part[]>()
  const add = (key: string, part: Part): void => {
    const before = parts.get(key)
    if (before === undefined) parts.set(key, [part])
    else before.push(part)
  }
  let gapStart = 0
  for (const [statement, outer] of program.body.entries()) {
    const node = bareStatement(outer)
    const [outerStart, outerEnd] = [outer.start - shift, outer.end - shift]
    const [bareStart, end] = [node.start - shift, node.end - shift]
    const commentsStart = leadingComments(source, gapStart, outerStart)
    // The `export` that may be in between becomes blanks, so that what follows stands where it stood.
    const comments = source.slice(commentsStart, outerStart)
    const start = comments === "" ? bareStart : commentsStart
    const exported = [outerStart, bareStart] as const
    const textTo = (to: number): string => withoutExports(source, start, to, [exported])
    gapStart = outerEnd
    if (node.type === "VariableDeclaration") {
      for (const [index, { id, start: from, end: to }] of node.declarations.entries()) {
        if (id.type !== "Identifier") continue
        const isOnly = node.declarations.length === 1
        if (index === 0) {
          const last = isOnly ? end : to - shift
          add(id.name, { statement, start, end: last, text: textTo(last), exported })
        } else {
          const [own, last] = [from - shift, to - shift]
          const text = `${node.kind} ${source.slice(own, last)}`
          add(id.name, { statement, start: own, end: last, text, exported: [own, own] })
        }
      }
      continue
    }
    const key = keyOf(node)
    if (key !== undefined) add(key, { statement, start, end, text: textTo(end), exported })
  }
  return new Map(Array.from(parts, ([key, of]) => [key, joined(source, of)] as const))
}

function joined(source: string, parts: readonly Part[]): DeclarationText {
  const [first, last] = [parts[0]!, parts.at(-1)!]
  const { start } = first
  const { end } = last
  const whole = withoutExports(
    source,
    start,
    end,
    parts.map(({ exported }) => exported),
  )
  const isOnePiece = parts.every(
    ({ statement, start: from, end: to, text }, index) =>
      text === whole.slice(from - start, to - start) && statement === first.statement + index,
  )
  return { source: isOnePiece ? whole : parts.map(({ text }) => text).join("\n"), start, end }
}

/** A range of the source in which blanks stand for these ranges, as far as they lie in it: what follows stands where it stood. */
function withoutExports(
  source: string,
  start: number,
  end: number,
  exported: readonly (readonly [from: number, to: number])[],
): string {
  let text = ""
  let at = start
  for (const [from, to] of exported) {
    if (from < at || to > end || from >= to) continue
    text += source.slice(at, from) + blanksFor(source.slice(from, to))
    at = to
  }
  return text + source.slice(at, end)
}

const commentPattern = /\/\/[^\n\r\u2028\u2029]*|\/\*[^]*?\*\//g
const lineBreak = /\r\n|[\n\r\u2028\u2029]/g

/** Where the comments begin that belong to what begins at `to`; between it and `from` there is nothing but space and comments. */
function leadingComments(source: string, from: number, to: number): number {
  if (to === from) return to
  const gap = source.slice(from, to)
  // A first line for the shell is no comment of what follows.
  const shellLine = from === 0 && gap.startsWith("#!") ? gap.search(/[\n\r]/) : 0
  const comments = Array.from(gap.matchAll(commentPattern), ({ 0: text, index }) => ({ text, index }))
  let start = gap.length
  for (const { text, index } of comments.toReversed()) {
    if (index < shellLine) break
    const breaks = (gap.slice(index + text.length, start).match(lineBreak) ?? []).length
    if (breaks > 1 && !text.startsWith("/**")) break
    const endsLineBefore = from > 0 && breaks > 0 && !/[\n\r\u2028\u2029]/.test(gap.slice(0, index))
    if (endsLineBefore) break
    start = index
  }
  return from + start
}
