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
  /** The `export` in it. */
  readonly exported?: { readonly from: number; readonly to: number }
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
    // Without the `export` that may be in between.
    const comments = source.slice(commentsStart, outerStart)
    const start = comments === "" ? bareStart : commentsStart
    const textTo = (to: number): string =>
      outer === node ? source.slice(start, to) : comments + source.slice(bareStart, to)
    gapStart = outerEnd
    if (node.type === "VariableDeclaration") {
      for (const [index, { id, start: from, end: to }] of node.declarations.entries()) {
        if (id.type !== "Identifier") continue
        const isOnly = node.declarations.length === 1
        if (index === 0) {
          const last = isOnly ? end : to - shift
          add(id.name, { statement, start, end: last, text: textTo(last) })
        } else {
          const [own, last] = [from - shift, to - shift]
          add(id.name, { statement, start: own, end: last, text: `${node.kind} ${source.slice(own, last)}` })
        }
      }
      continue
    }
    const key = keyOf(node)
    if (key === undefined) continue
    const part = { statement, start, end, text: textTo(end) }
    add(key, outer === node ? part : { ...part, exported: { from: outerStart, to: bareStart } })
  }
  return new Map(Array.from(parts, ([key, of]) => [key, joined(source, of)] as const))
}

function joined(source: string, parts: readonly Part[]): DeclarationText {
  const [first, last] = [parts[0]!, parts.at(-1)!]
  const { start } = first
  const { end } = last
  const isOnePiece = parts.every(
    ({ statement, start: from, end: to, text, exported }, index) =>
      statement === first.statement + index && (exported !== undefined || text === source.slice(from, to)),
  )
  if (isOnePiece) {
    let text = first.text
    let at = first.end
    for (const { exported, end: to } of parts.slice(1)) {
      // Without a trace of the word all that follows would move.
      if (exported !== undefined) {
        text += source.slice(at, exported.from) + blanksFor(source.slice(exported.from, exported.to))
        at = exported.to
      }
      text += source.slice(at, to)
      at = to
    }
    return { source: text, start, end }
  }
  return { source: parts.map(({ text }) => text).join("\n"), start, end }
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
