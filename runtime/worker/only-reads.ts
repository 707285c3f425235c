// Whether an eval can have changed nothing but the names that it assigned (docs/decisions/341): its text only reads, and so do those of the
// definitions that it reaches, and what it reaches besides is data.
import { readingOf } from "../language/reading.ts"
import type { Reading } from "../language/reading.ts"

/** A text of code, and the names that it takes from outside. */
export interface CodeText {
  /** Stands for the text as long as that is the same. */
  readonly key: object
  readonly source: string
  readonly outer: readonly string[]
}

export interface ReadsQuestion {
  /** The code of a definition; "opaque" where that is not all that runs when it is called. */
  readonly codeOf: (name: string) => CodeText | "opaque" | undefined
  /** A local that holds data and nothing else. */
  readonly isInert: (name: string) => boolean
  /** The session has a meaning for that name. */
  readonly isBound: (name: string) => boolean
}

export class OnlyReads {
  readonly #readings = new WeakMap<object, Reading | "none">()

  proves(text: CodeText, { codeOf, isInert, isBound }: ReadsQuestion): boolean {
    const seen = new Set<string>()
    const open = [text]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const reading = this.#readingOf(next)
      if (reading === "none" || reading.globals.some(isBound)) return false
      for (const name of new Set(next.outer)) {
        if (seen.has(name) || reading.globals.includes(name)) continue
        const code = codeOf(name)
        if (code === "opaque") return false
        if (code !== undefined) {
          seen.add(name)
          open.push(code)
        } else if (reading.calls.includes(name) || !isInert(name)) return false
      }
    }
    return true
  }

  #readingOf({ key, source, outer }: CodeText): Reading | "none" {
    const known = this.#readings.get(key)
    if (known !== undefined) return known
    const reading = readingOf(source, new Set(outer)) ?? "none"
    this.#readings.set(key, reading)
    return reading
  }
}
