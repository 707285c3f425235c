// The list of changes that turns a source text into generated text, in one pass and with its position map.
//
// Changes never overlap. Those at one offset are written in this order: what ends there (inner before outer; an expression, then the
// statement around it, its `;`, then the body it is), statements that lead what starts there, what is put around it (outer before inner), then a replacement of the text that begins there. That order comes out by itself when a tree walk adds a node's
// prefix on the way in and its suffix on the way out. Rendering a range applies the changes inside it, so the declarations of a
// submission and its statements are rendered from one list.
import { type Segments } from "./positions.ts"

interface Edit {
  start: number
  end: number
  /** A function writes it when it is rendered: one that holds other parts of the source with their changes. */
  text: string | ((into: Output) => void)
  rank: number
  /** In which order the changes were made. */
  serial: number
  /** The parenthesis behind it counts as the start of what was replaced: V8 reports a failed call of ours there. */
  pinsNext: boolean
}

const closes = 0
const closesStatement = 1
const terminates = 2
const closesBody = 3
const leads = 4
const heads = 5
const opens = 6
const replaces = 7

/** What may stand between a callee and its parenthesis. */
const spaceAndComments = /(?:\s|\/\/[^\n\r\u2028\u2029]*|\/\*[^]*?\*\/)*/y

const lineBreak = /[\n\r\u2028\u2029]/
const notLineBreak = /[^\n\r\u2028\u2029]/g

/** As many blanks as the text has characters; its line breaks stay, so that nothing after it moves. */
export function blanksFor(text: string): string {
  return lineBreak.test(text) ? text.replace(notLineBreak, " ") : " ".repeat(text.length)
}

export class Edits {
  readonly source: string
  readonly #edits: Edit[] = []
  readonly #terminated = new Set<number>()
  #isSorted = true
  #serial = 0

  constructor(source: string) {
    this.source = source
  }

  /** Returns the change's serial number, as `close` does: the bounds of a rendering of just that node. */
  open(at: number, text: string): number {
    return this.#add(at, at, text, opens)
  }

  /** Puts statements before the first one of a block, or a block around a body, with what is put around the expression that begins there inside. */
  lead(at: number, text: string): void {
    this.#add(at, at, text, leads)
  }

  /** Puts a member before all others of a class. It stays when the first of them is a hole. */
  head(at: number, text: Edit["text"]): void {
    this.#add(at, at, text, heads)
  }

  close(at: number, text: Edit["text"]): number {
    return this.#add(at, at, text, closes)
  }

  /** Closes what was put around the whole expression of a statement. */
  closeStatement(at: number, text: string): void {
    this.#add(at, at, text, closesStatement)
  }

  /** Closes a block that was put around a statement. */
  closeBody(at: number, text: string): void {
    this.#add(at, at, text, closesBody)
  }

  /** Ends a statement that has no `;` of its own. */
  terminate(at: number): void {
    if (this.#terminated.has(at)) return
    this.#terminated.add(at)
    this.#add(at, at, ";", terminates)
  }

  replace(start: number, end: number, text: string, pinsNext = false): void {
    this.#add(start, end, text, replaces, pinsNext)
  }

  /** Blanks a range; with `first`, its first character becomes that one. An empty range changes nothing. */
  blank(start: number, end: number, first = ""): void {
    if (start < end) this.replace(start, end, first + blanksFor(this.source.slice(start + first.length, end)))
  }

  #add(start: number, end: number, text: Edit["text"], rank: number, pinsNext = false): number {
    const serial = this.#serial++
    this.#edits.push({ start, end, text, rank, serial, pinsNext })
    this.#isSorted = false
    return serial
  }

  #sorted(): readonly Edit[] {
    if (!this.#isSorted) {
      this.#edits.sort((a, b) => a.start - b.start || a.rank - b.rank)
      this.#isSorted = true
    }
    return this.#edits
  }

  /** The index of the first change that lies at or after an offset. */
  #firstAt(offset: number): number {
    const edits = this.#sorted()
    let low = 0
    let high = edits.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (edits[middle]!.start < offset) low = middle + 1
      else high = middle
    }
    return low
  }

  /**
   * Writes a range with its changes applied, without the ranges listed in `holes` (sorted, each with the text that stands for it). A
   * suffix at the very start of the range, or at the end of a hole, belongs to what lies outside and is not written. With `bounds` the
   * same holds for what was opened at the start before, or closed at the end after, those two changes.
   */
  render(into: Output, start: number, end: number, holes: readonly Hole[] = [], bounds?: Bounds): void {
    this.#render(into, start, end, holes, bounds, true)
  }

  /** Writes a member of a class, without what stands before all members when it is the first. */
  renderMember(into: Output, start: number, end: number): void {
    this.#render(into, start, end, [], undefined, false)
  }

  #render(
    into: Output,
    start: number,
    end: number,
    holes: readonly Hole[],
    bounds: Bounds | undefined,
    hasHeads: boolean,
  ): void {
    const edits = this.#sorted()
    let at = start
    let hole = 0
    let holeEnd = -1
    let pin = -1
    const copy = (from: number, to: number): void => {
      if (pin >= 0 && from < to) {
        spaceAndComments.lastIndex = from
        spaceAndComments.exec(this.source)
        const next = spaceAndComments.lastIndex
        if (next < to) {
          if (this.source[next] === "(") {
            into.copy(this.source, from, next)
            into.insert(this.source[next], pin)
            from = next + 1
          }
          pin = -1
        }
      }
      into.copy(this.source, from, to)
    }
    for (let index = this.#firstAt(start); index < edits.length; index++) {
      const edit = edits[index]!
      if (edit.start > end || (edit.start === end && edit.rank >= leads)) break
      if (edit.rank < leads && (edit.start === start || edit.start === holeEnd)) continue
      if (!hasHeads && edit.rank === heads && edit.start === start) continue
      if (bounds !== undefined) {
        if (edit.rank >= leads && edit.rank <= opens && edit.start === start && edit.serial < bounds.opened) continue
        if (edit.rank < leads && edit.start === end && (edit.rank > closes || edit.serial > bounds.closed)) continue
      }
      while (hole < holes.length && holes[hole]!.start < edit.start) {
        const { start: from, end: to, text } = holes[hole++]!
        if (from < at) continue
        copy(at, from)
        into.insert(text, from)
        at = holeEnd = to
      }
      if (edit.rank < leads && edit.start === holeEnd) continue
      if (
        edit.start < at ||
        (hole < holes.length && holes[hole]!.start === edit.start && edit.rank >= leads && edit.rank !== heads)
      )
        continue
      copy(at, edit.start)
      if (typeof edit.text === "string") into.insert(edit.text, edit.start)
      else edit.text(into)
      at = edit.end
      if (edit.pinsNext) pin = edit.start
    }
    for (; hole < holes.length; hole++) {
      const { start: from, end: to, text } = holes[hole]!
      if (from < at) continue
      copy(at, from)
      into.insert(text, from)
      at = to
    }
    copy(at, end)
  }
}

/** What was opened first and closed last for the node that is rendered. */
export interface Bounds {
  opened: number
  closed: number
}

/** A range that is left out of a rendering, and what stands for it. */
export interface Hole {
  start: number
  end: number
  text: string
}

/** Generated text under construction, with the map back. */
export class Output {
  text = ""
  readonly segments: Segments

  constructor(segments: Segments) {
    this.segments = segments
  }

  /** Text of ours, for which there is no source. */
  write(text: string): void {
    this.segments.add(this.text.length, -1, false)
    this.text += text
  }

  insert(text: string, source: number): void {
    if (text === "") return
    this.segments.add(this.text.length, source, false)
    this.text += text
  }

  copy(source: string, start: number, end: number): void {
    if (start >= end) return
    this.segments.add(this.text.length, start, true)
    this.text += source.slice(start, end)
  }
}
