// Offsets, lines and columns, and the way back from generated text to the source it was made of.
//
// Every count is in UTF-16 units, as in JavaScript strings, editors' protocols and V8's stacks; lines and columns are 1-based. Generated
// text is a run of pieces, each copied from the source or inserted; `Segments` keeps only where the copied ones begin, so that a
// compile pays two array pushes for a piece and the line tables are made when the first position is asked for.

/** A place in a source text: offsets, and the line and column of its start. */
export interface Span {
  start: number
  end: number
  line: number
  column: number
}

export interface Position {
  line: number
  column: number
}

/** Where each line of a text begins. The line terminators are JavaScript's: LF, CR, CRLF, U+2028 and U+2029. */
export class LineTable {
  readonly #starts: number[] = [0]

  constructor(text: string) {
    const pattern = /\r\n|[\n\r\u2028\u2029]/g
    while (pattern.exec(text) !== null) this.#starts.push(pattern.lastIndex)
  }

  position(offset: number): Position {
    let low = 0
    let high = this.#starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#starts[middle]! <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - this.#starts[low]! + 1 }
  }

  /** The offset of a position, or `undefined` when the text has no such line. */
  offset(line: number, column: number): number | undefined {
    const start = this.#starts[line - 1]
    return start === undefined ? undefined : start + column - 1
  }

  span(start: number, end: number): Span {
    return { start, end, ...this.position(start) }
  }
}

/**
 * Which piece of generated text came from where. Pieces are added in the order of the generated text. An inserted piece belongs to the
 * source offset it was inserted for: V8 reports a failed `x.y()` at a character that may be ours.
 */
export class Segments {
  readonly #generated: number[] = []
  readonly #source: number[] = []
  readonly #copied: boolean[] = []

  add(generated: number, source: number, copied: boolean): void {
    this.#generated.push(generated)
    this.#source.push(source)
    this.#copied.push(copied)
  }

  /** The source offset of a generated one; -1 for text that came from no source. */
  source(generated: number): number {
    let low = 0
    let high = this.#generated.length - 1
    if (high < 0 || generated < this.#generated[0]!) return -1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#generated[middle]! <= generated) low = middle
      else high = middle - 1
    }
    const source = this.#source[low]!
    return source >= 0 && this.#copied[low]! ? source + generated - this.#generated[low]! : source
  }
}
