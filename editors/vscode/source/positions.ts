// Places in an evaluated text as ranges of the document it was taken from, and the text that is taken.
//
// Both sides count UTF-16 units; Nacre's offsets begin at the evaluated text, an editor's positions are 0-based lines and characters of the
// document. Lines are the editor's: they end with LF, CRLF or CR. Everything is computed from the text as it was sent, so that a document
// which is edited meanwhile is never asked.

export interface Position {
  readonly line: number
  readonly character: number
}

export interface Range {
  readonly start: Position
  readonly end: Position
}

export interface Span {
  readonly start: number
  readonly end: number
}

/** What of a document is evaluated, and where it stands. */
export interface Selected {
  /** The document: as a key, and as it is called in messages. */
  readonly uri: string
  readonly file: string
  readonly text: string
  readonly start: Position
}

/** Of the editor's document, as far as it is needed. */
export interface Lines {
  readonly lineCount: number
  lineAt(line: number): string
  /** The text of a range, with the document's own line ends. */
  textOf(range: Range): string
}

/** The selected text, or the line of an empty selection; `undefined` when there is nothing but white space. */
export function selectedText(lines: Lines, selection: Range): Pick<Selected, "text" | "start"> | undefined {
  const isEmpty = compare(selection.start, selection.end) === 0
  const { line } = selection.start
  const start = isEmpty ? { line, character: 0 } : selection.start
  const text = isEmpty ? lines.lineAt(line) : lines.textOf(selection)
  return text.trim() === "" ? undefined : { text, start }
}

/**
 * The text as it is evaluated: a selection that begins inside a line has as many blanks before it as characters stand there, so that its first
 * line has the document's columns, too, wherever an error names them.
 */
export function inItsColumns<T extends Pick<Selected, "text" | "start">>(selected: T): T {
  const { line, character } = selected.start
  return { ...selected, text: " ".repeat(character) + selected.text, start: { line, character: 0 } }
}

/** The ranges of spans, none of them empty: one that has no length covers the unit at its place, or the one before at the end of a line. */
export function rangesOf(selected: Pick<Selected, "text" | "start">, spans: readonly Span[]): Range[] {
  const { text } = selected
  return spans.map(({ start, end }) => {
    let from = clamp(start, text.length)
    let to = Math.max(from, clamp(end, text.length))
    if (to === from) {
      if (from < text.length && !/[\r\n]/.test(text[from]!)) to = from + unitsAt(text, from)
      else if (from > 0 && !/[\r\n]/.test(text[from - 1]!)) from -= isLowSurrogate(text, from - 1) ? 2 : 1
    }
    return { start: positionAt(selected, from), end: positionAt(selected, to) }
  })
}

/** Where an offset of the evaluated text is in the document. */
export function positionAt({ text, start }: Pick<Selected, "text" | "start">, offset: number): Position {
  let line = start.line
  let from = -start.character
  const ends = /\r\n|\n|\r/g
  for (let end = ends.exec(text); end !== null && ends.lastIndex <= offset; end = ends.exec(text)) {
    line += 1
    from = ends.lastIndex
  }
  return { line, character: offset - from }
}

/** The first line of the text, for what has no place of its own. */
export function firstLine(selected: Pick<Selected, "text" | "start">): Range {
  const end = /[\r\n]/.exec(selected.text)?.index ?? selected.text.length
  return { start: selected.start, end: positionAt(selected, end) }
}

function compare(a: Position, b: Position): number {
  return a.line - b.line || a.character - b.character
}

function clamp(offset: number, max: number): number {
  return Math.min(Math.max(offset, 0), max)
}

function unitsAt(text: string, offset: number): number {
  return text.codePointAt(offset)! > 0xffff ? 2 : 1
}

function isLowSurrogate(text: string, offset: number): boolean {
  return (text.charCodeAt(offset) & 0xfc00) === 0xdc00 && offset > 0
}
