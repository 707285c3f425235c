// The prompt: one session, and a person at a terminal.
//
// The session outlives every crash and interrupt of what is typed here, so the loop has no failure mode of its own: each line is a
// command, a part of a submission, or completes one. Streams are given, so that a test can be the terminal. While code runs, its output
// appears as it comes and typed lines wait their turn; Ctrl-C interrupts it. At the prompt, Ctrl-C drops the line, Ctrl-D leaves.
import { createInterface } from "node:readline"
import type { Interface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import type { NacreEvent } from "../events.ts"
import { completeness } from "../language/completeness.ts"
import { packageVersion } from "../serve/version.ts"
import type { Outcome } from "../session/outcome.ts"
import type { Session } from "../session/session.ts"
import { exitCodeOf, failureText, warnings } from "../serve/report.ts"
import { withSystem } from "./system.ts"
import type { System } from "./system.ts"

export interface ReplOptions extends Pick<System, "nacre" | "subscribe" | "signal"> {
  readonly input: Readable
  readonly output: Writable
  /** Line editing, history and colours of a real terminal. */
  readonly isTerminal: boolean
}

const prompt = "> "
const indentation = "  "
/** Lines kept for the arrow keys. */
const historyMax = 1_000

const help = `
  .help      this text
  .bindings  what the session holds
  .reset     forget every binding and definition
  .editor    enter many lines; .end evaluates them, Ctrl-C drops them
  .tree      the supervision tree
  .exit      leave (Ctrl-D)

Ctrl-C interrupts what runs and keeps the session. _ is the last value, _error the last error.`

/** The prompt on this process's terminal. Resolves with the exit code. */
export function replOnTerminal(): Promise<number> {
  return withSystem(({ nacre, subscribe, signal }) =>
    new Repl({ nacre, subscribe, signal, input: process.stdin, output: process.stdout, isTerminal: true }).run(),
  )
}

export class Repl {
  readonly #options: ReplOptions
  readonly #readline: Interface
  readonly #lines: string[] = []
  readonly #ephemeral = new Set<string>()
  #opened: Promise<Session> | undefined
  #session: Session | undefined
  /** The lines of a submission that is not complete yet. */
  #pending: string[] = []
  #isEditing = false
  #isBusy = false
  #isInterrupted = false
  #hasClosed = false
  #exitCode = 0
  #finish!: () => void

  constructor(options: ReplOptions) {
    this.#options = options
    const { input, output, isTerminal } = options
    this.#readline = createInterface({ input, output, terminal: isTerminal, historySize: historyMax, prompt })
  }

  /** Resolves with the exit code when the person has left. */
  async run(): Promise<number> {
    const { subscribe, signal } = this.#options
    const unsubscribe = subscribe((event) => this.#onEvent(event))
    const finished = new Promise<void>((resolve) => {
      this.#finish = resolve
    })
    this.#readline.on("line", (line) => {
      this.#lines.push(line)
      void this.#work()
    })
    this.#readline.on("SIGINT", () => this.#onInterrupt())
    this.#readline.on("close", () => this.#onClose())
    if (signal.aborted) this.#readline.close()
    else signal.addEventListener("abort", () => this.#readline.close(), { once: true })
    this.#write(`Nacre ${packageVersion()}, a TypeScript session. .help tells more.\n`)
    this.#prompt()
    // Begun now, so that the host is up when the first line has been typed. A failure is told by the eval that needs it.
    this.#open().catch(() => {})
    await finished
    unsubscribe()
    return this.#exitCode
  }

  async #work(): Promise<void> {
    if (this.#isBusy) return
    this.#isBusy = true
    this.#isInterrupted = false
    while (this.#lines.length > 0 && !this.#isInterrupted) {
      try {
        await this.#onLine(this.#lines.shift()!)
      } catch (error) {
        // What Nacre itself refused, as its message says.
        this.#write(`${error instanceof Error ? error.message : String(error)}\n`)
      }
    }
    this.#lines.length = 0
    this.#isBusy = false
    if (this.#hasClosed) this.#finish()
    else this.#prompt()
  }

  async #onLine(line: string): Promise<void> {
    if (this.#isEditing) {
      if (line.trim() !== ".end") return void this.#pending.push(line)
      this.#isEditing = false
      return this.#eval(this.#takePending())
    }
    const command = this.#pending.length === 0 ? /^\s*\.([a-z]+)\s*$/.exec(line)?.[1] : undefined
    if (command !== undefined) return this.#command(command)
    if (this.#pending.length === 0 && line.trim() === "") return
    this.#pending.push(line)
    const source = this.#pending.join("\n")
    if (completeness(source).state === "incomplete") return
    await this.#eval(this.#takePending())
  }

  async #command(name: string): Promise<void> {
    switch (name) {
      case "help":
        return this.#write(`${help}\n\n`)
      case "exit":
        return this.#readline.close()
      case "editor":
        this.#isEditing = true
        return this.#write("Enter any number of lines; .end evaluates them, Ctrl-C drops them.\n")
      case "reset":
        await (await this.#open()).reset()
        this.#ephemeral.clear()
        return this.#write("The session is empty.\n")
      case "bindings":
        return this.#write(bindingsText(await this.#open()))
      case "tree":
        return this.#write(`${(await this.#options.nacre).tree().text}\n`)
      default:
        return this.#write(`There is no command .${name}; .help lists them.\n`)
    }
  }

  async #eval(source: string): Promise<void> {
    if (source.trim() === "") return
    const session = await this.#open()
    if (this.#isInterrupted) return
    let column = 0
    const outcome = await session.eval(source, {
      file: "repl",
      onOutput: ({ text }) => {
        column = text.endsWith("\n") ? 0 : 1
        this.#write(text)
      },
    })
    if (column > 0) this.#write("\n")
    this.#show(outcome)
    if (outcome.status !== "exited") return
    this.#exitCode = exitCodeOf(outcome)
    this.#readline.close()
  }

  #show(outcome: Outcome): void {
    const failure = failureText(outcome)
    if (failure !== undefined) this.#write(`${failure}\n`)
    else if (outcome.value?.inert === false) this.#write(`${outcome.value.text}\n`)
    for (const line of warnings(outcome)) this.#write(`${line}\n`)
    const news = outcome.ephemeral.filter((name) => !this.#ephemeral.has(name))
    if (news.length > 0) this.#write(`Held only by the running process, lost when it ends: ${news.join(", ")}\n`)
    this.#ephemeral.clear()
    for (const name of outcome.ephemeral) this.#ephemeral.add(name)
  }

  #onInterrupt(): void {
    if (this.#isBusy) {
      this.#isInterrupted = true
      // Lines that were typed ahead were meant for what is being stopped.
      this.#lines.length = 0
      void this.#session?.interrupt()
      return
    }
    const hadText = this.#pending.length > 0 || this.#isEditing || this.#readline.line !== ""
    this.#pending = []
    this.#isEditing = false
    // Ctrl-E, Ctrl-U: the line as it was typed is dropped.
    this.#readline.write(null, { ctrl: true, name: "e" })
    this.#readline.write(null, { ctrl: true, name: "u" })
    this.#write(hadText ? "\n" : "\nTo leave, press Ctrl-D or type .exit\n")
    this.#prompt()
  }

  #onClose(): void {
    this.#hasClosed = true
    if (this.#isBusy) {
      this.#isInterrupted = true
      void this.#session?.interrupt()
    } else {
      if (this.#options.isTerminal) this.#write("\n")
      this.#finish()
    }
  }

  #onEvent(event: NacreEvent): void {
    if (event.type === "session.stray") this.#aside(`After its eval had ended: ${event.text.trimEnd()}`)
    else if (event.type === "bindings.lost") this.#aside(`Lost (${event.reason}): ${event.names.join(", ")}`)
  }

  /** A line that nobody asked for: above the prompt, which is drawn again with what was typed. */
  #aside(text: string): void {
    // The outcome of what runs tells it too.
    if (this.#isBusy) return
    this.#write(`\r\x1b[K${text}\n`)
    this.#readline.prompt(true)
  }

  #prompt(): void {
    if (this.#hasClosed) return
    // The depth is shown in front of the line, not typed into it: spaces would become part of a template's text.
    const { length } = this.#pending
    let text = prompt
    if (this.#isEditing) text = ""
    else if (length > 0) {
      const state = completeness(this.#pending.join("\n"))
      text = `… ${indentation.repeat(state.state === "incomplete" ? state.indent : 0)}`
    }
    this.#readline.setPrompt(text)
    this.#readline.prompt()
  }

  async #open(): Promise<Session> {
    this.#opened ??= this.#options.nacre.then((nacre) => nacre.open({ kind: "repl" }))
    this.#session = await this.#opened
    return this.#session
  }

  #takePending(): string {
    return this.#pending.splice(0).join("\n")
  }

  #write(text: string): void {
    this.#options.output.write(text)
  }
}

function bindingsText(session: Session): string {
  const { bindings } = session
  const names = bindings.keys()
  if (names.length === 0) return "The session holds nothing yet.\n"
  const width = Math.max(...names.map((name) => name.length))
  return names
    .map((name) => {
      const { kind, held } = bindings.info(name)!
      const note = held === "ephemeral" ? ", held only by the running process" : held === "lost" ? ", lost" : ""
      return `${name.padEnd(width)}  ${kind}${note}\n`
    })
    .join("")
}
