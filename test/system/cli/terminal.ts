// The built command in a real pseudo-terminal, as a person meets it: typed keys in, what the screen shows out.
//
// `script` gives a command a terminal: util-linux's, or that of macOS and the BSDs, which takes the command in another way. A machine
// without it fails these tests: a prompt that nobody has seen is not tested.
import { execFileSync } from "node:child_process"
import { NacreProcess, main } from "../nacre-process.ts"

export const controlC = "\x03"
export const controlD = "\x04"
export const tab = "\t"
export const up = "\x1b[A"

const escape = String.fromCodePoint(27)
const cursorMoves = new RegExp(`${escape}\\[[\\d;?]*[A-LN-Za-ln-z]`, "g")
const colours = new RegExp(`${escape}\\[[\\d;]*m`, "g")
/** The line editor has drawn the prompt and put the cursor after it. */
export const prompted = new RegExp(`${escape}\\[3G$`)

export interface TerminalOptions {
  readonly args?: readonly string[]
  readonly environment?: Record<string, string | undefined>
}

export class Terminal {
  readonly process: NacreProcess
  #seen = 0

  constructor({ args = [], environment = {} }: TerminalOptions = {}) {
    const command = [
      "stty cols 100 rows 40;",
      "exec",
      quoted(process.execPath),
      quoted(main),
      ...args.map(quoted),
    ].join(" ")
    const isUtilLinux = execFileSync("script", ["--version"], { encoding: "utf8" }).includes("util-linux")
    const script = isUtilLinux
      ? ["script", "-qefc", command, "/dev/null"]
      : ["script", "-qe", "/dev/null", "sh", "-c", command]
    // History of the tests is nobody's history; colours are wanted where they are tested.
    const plain = { NACRE_REPL_HISTORY: "", NO_COLOR: "1", FORCE_COLOR: undefined, TERM: "xterm-256color" }
    this.process = new NacreProcess([], script, { ...plain, ...environment })
  }

  /** Resolves when the first prompt is there. */
  async start(): Promise<string> {
    return this.shows(new RegExp(`\\.help tells more[^]*${prompted.source}`))
  }

  /** Types a line, and resolves with what the screen shows up to the next prompt. */
  async line(text: string, pattern = prompted): Promise<string> {
    this.type(`${text}\r`)
    return this.shows(pattern)
  }

  type(keys: string): void {
    this.#seen = this.process.stdout.length
    this.process.child.stdin.write(keys)
  }

  /** Resolves when what came since the last keys matches, with all of it as plain text. */
  async shows(pattern: RegExp): Promise<string> {
    return (await this.paints(pattern)).replaceAll(colours, "")
  }

  /** As `shows`, with its colours. */
  async paints(pattern: RegExp): Promise<string> {
    await this.process.until(pattern, this.#seen)
    return this.process.stdout.slice(this.#seen).replaceAll(cursorMoves, "").replaceAll("\r", "")
  }

  async left(): Promise<number | null> {
    return (await this.process.ended()).code
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
