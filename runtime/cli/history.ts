// What was typed at the prompt before, kept in a file of the user's, for the arrow keys of the next time.
//
// A line is in the file before its code runs, so a crash loses none, and two prompts at once add to each other's. The file has a bound: a
// start that finds it too long writes the newest lines anew, beside it, and puts that in its place. A file that cannot be used is
// no reason not to start: it is told once, and history is that of this prompt alone.
import { appendFile, mkdir, open, rename, rm, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, isAbsolute, join } from "node:path"

/** Lines kept for the arrow keys. */
export const historyMax = 1_000
/** Characters of one line that is remembered; longer ones are data that was pasted. */
const lineMax = 8 * 1024
/** Bytes of the file above which a start makes it short again; at most so much is read of it. */
const fileBytesMax = 1024 * 1024

/** Where history is by default; `NACRE_REPL_HISTORY` names another file, or, when it is empty, none. */
export function historyPath(environment: Readonly<Record<string, string | undefined>>): string | undefined {
  const { NACRE_REPL_HISTORY: named, XDG_STATE_HOME: state } = environment
  if (named !== undefined) return named === "" ? undefined : named
  const folder = state !== undefined && isAbsolute(state) ? state : join(homedir(), ".local", "state")
  return join(folder, "nacre", "repl-history")
}

export class History {
  /** The newest line first, as the line editor takes them. */
  readonly lines: readonly string[]
  /** Why history is not kept, when it is not. */
  readonly problem: string | undefined
  readonly #path: string | undefined
  #last: string | undefined
  #writing: Promise<void> = Promise.resolve()

  private constructor(path: string | undefined, lines: readonly string[], problem?: string) {
    this.#path = path
    this.lines = lines
    this.problem = problem
    this.#last = lines[0]
  }

  /** Without a path nothing is read or kept. Never rejects. */
  static async open(path: string | undefined): Promise<History> {
    if (path === undefined) return new History(undefined, [])
    try {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      const { lines, isLong } = await read(path)
      if (isLong) await replace(path, lines)
      return new History(path, lines.toReversed())
    } catch (error) {
      return new History(undefined, [], `History is not kept in ${path}: ${(error as Error).message}`)
    }
  }

  /** Keeps a line, unless it is empty, like the one before, or too long. */
  add(line: string): void {
    const kept = line.replaceAll(/[\r\n]/g, " ").trimEnd()
    if (this.#path === undefined || kept === "" || kept === this.#last || kept.length > lineMax) return
    this.#last = kept
    const path = this.#path
    // A disk that is full costs the user this line, and nothing else.
    this.#writing = this.#writing.then(() => appendFile(path, `${kept}\n`, { mode: 0o600 })).catch(() => {})
  }

  /** Resolves when everything is with the operating system, or cannot be. */
  async close(): Promise<void> {
    await this.#writing
  }
}

/** The newest lines, oldest first, and whether there is much more than these. */
async function read(path: string): Promise<{ lines: string[]; isLong: boolean }> {
  // Made here, so that nobody else can read it from the first line on.
  const file = await open(path, "a+", 0o600)
  try {
    const { size } = await file.stat()
    const from = Math.max(0, size - fileBytesMax)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from)
    const all = buffer.subarray(0, bytesRead).toString("utf8").split("\n")
    // Of the first line there may be only an end.
    if (from > 0) all.shift()
    const lines = all.filter((line) => line !== "")
    return { lines: lines.slice(-historyMax), isLong: from > 0 || lines.length > 2 * historyMax }
  } finally {
    await file.close()
  }
}

async function replace(path: string, lines: readonly string[]): Promise<void> {
  const beside = `${path}.${process.pid}`
  try {
    await writeFile(beside, lines.map((line) => `${line}\n`).join(""), { mode: 0o600 })
    await rename(beside, path)
  } catch (error) {
    await rm(beside, { force: true })
    throw error
  }
}
