// The prompt: one session, and a person at a terminal, or a script that is piped to it.
//
// The session outlives every crash and interrupt of what is typed here, so the loop has no failure mode of its own: each line is a
// command, a part of a submission, or completes one. Streams are given, so that a test can be the terminal. While code runs, its output
// appears as it comes, Tab completes, and entered lines wait their turn; Ctrl-C interrupts it. At the prompt, Ctrl-C drops the line, Ctrl-D
// leaves. A script sees no prompt: values and output are on its output, failures beside it, and the exit code tells whether there were any.
import { createInterface } from "node:readline"
import type { Interface } from "node:readline"
import type { Readable, Writable } from "node:stream"
import type { NacreEvent } from "../events.ts"
import { completeness } from "../language/completeness.ts"
import type { JsxOptions } from "../language/jsx-option.ts"
import { exitCodeOf, failureText, warnings } from "../serve/report.ts"
import { packageVersion } from "../serve/version.ts"
import type { Outcome } from "../session/outcome.ts"
import { namesOfEverySession } from "../workspace/names.ts"
import { describe, suggest } from "./assist.ts"
import { hasColours, paintFor } from "./colours.ts"
import type { Paint } from "./colours.ts"
import { History, historyMax, historyPath } from "./history.ts"
import { commandOf, commands, runCommand } from "./repl-commands.ts"
import { LocalSession } from "./prompt-session.ts"
import type { PromptSession } from "./prompt-session.ts"
import { withSystem } from "./system.ts"
import type { System } from "./system.ts"

export interface ReplOptions extends Pick<System, "signal"> {
  readonly open: () => Promise<PromptSession>
  readonly subscribe: (listener: (news: News) => void) => () => void
  readonly input: Readable
  readonly output: Writable
  /** Where a script's failures go; a person sees them where the values are. */
  readonly errors: Writable
  /** Prompts, line editing and history of a real terminal; otherwise it reads a script. */
  readonly isTerminal: boolean
  readonly paint: Paint
  readonly history: History
  /** Whether what is typed may hold JSX. */
  readonly isJsx?: boolean
}

/** What the prompt tells that nobody asked for: in words for above the line, or an event of its session's. */
export type News = string | NacreEvent

const prompt = "> "
const indentation = "  "
/** Entered lines that may wait; a script is read no faster than it runs. */
const linesMax = 1_000

export interface PromptOptions {
  /** Where history is kept; an empty path for nowhere, default as `historyPath` says. */
  readonly historyFile?: string | undefined
  /** Files of preludes. */
  readonly preludes?: readonly string[]
  readonly jsx?: JsxOptions | undefined
}

/** The prompt on this process's streams. Resolves with the exit code. */
export function replOnStreams({ historyFile, preludes = [], jsx }: PromptOptions): Promise<number> {
  const { stdin: input, stdout: output, stderr: errors, env } = process
  const isTerminal = input.isTTY
  const kept = historyFile === undefined ? historyPath(env) : historyFile
  return withSystem(
    async ({ nacre, subscribe, signal }) => {
      const history = await History.open(isTerminal && kept !== "" ? kept : undefined)
      const paint = paintFor(hasColours(output.isTTY, env))
      const open = async (): Promise<PromptSession> => {
        const system = await nacre
        return new LocalSession(system, await system.open({ kind: "repl", ...(jsx && { jsx }) }))
      }
      const streams = { input, output, errors, isTerminal, paint, history }
      const code = await new Repl({ open, subscribe, signal, isJsx: jsx !== undefined, ...streams }).run()
      await history.close()
      return code
    },
    { preludes },
  )
}

export class Repl {
  readonly #options: ReplOptions
  readonly #readline: Interface
  readonly #lines: string[] = []
  readonly #ephemeral = new Set<string>()
  #opened: Promise<PromptSession> | undefined
  #session: PromptSession | undefined
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
    const { input, output, isTerminal, history } = options
    this.#readline = createInterface({
      input,
      ...(isTerminal && { output, completer: this.#completer, history: [...history.lines], historySize: historyMax }),
      terminal: isTerminal,
      crlfDelay: Infinity,
      prompt,
    })
  }

  /** Resolves with the exit code when the person has left, or the script has ended. */
  async run(): Promise<number> {
    const { subscribe, signal, isTerminal, history, paint } = this.#options
    const unsubscribe = subscribe((news) => this.#onNews(news))
    const finished = new Promise<void>((resolve) => {
      this.#finish = resolve
    })
    this.#readline.on("line", (line) => {
      if (isTerminal) history.add(line)
      this.#lines.push(line)
      if (this.#lines.length > linesMax) this.#readline.pause()
      void this.#work()
    })
    this.#readline.on("SIGINT", () => this.#onInterrupt())
    this.#readline.on("close", () => this.#onClose())
    if (signal.aborted) this.#readline.close()
    else signal.addEventListener("abort", () => this.#onAbort(), { once: true })
    if (isTerminal) this.#write(`Nacre ${packageVersion()}, a TypeScript session. .help tells more.\n`)
    if (history.problem !== undefined) this.#write(`${paint.note(history.problem)}\n`)
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
      if (this.#lines.length === linesMax && !this.#hasClosed) this.#readline.resume()
      await this.#guarded(() => this.#onLine(this.#lines.shift()!))
    }
    this.#lines.length = 0
    this.#isBusy = false
    if (this.#hasClosed) await this.#end()
    else this.#prompt()
  }

  async #guarded(act: () => Promise<void>): Promise<void> {
    try {
      await act()
    } catch (error) {
      // What Nacre itself refused, as its message says.
      this.#fail(error instanceof Error ? error.message : String(error))
    }
  }

  /** A script may end before its last submission does, which is a mistake to be shown. */
  async #end(): Promise<void> {
    const rest = this.#isInterrupted || this.#options.isTerminal ? "" : this.#takePending()
    if (rest !== "") await this.#guarded(() => this.#eval(rest))
    this.#finish()
  }

  async #onLine(line: string): Promise<void> {
    if (this.#isEditing) {
      if (line.trim() !== ".end") return void this.#pending.push(line)
      this.#isEditing = false
      return this.#eval(this.#takePending())
    }
    const command = this.#pending.length === 0 ? commandOf(line) : undefined
    if (command !== undefined) return this.#command(command.name, command.argument)
    if (this.#pending.length === 0 && line.trim() === "") return
    this.#pending.push(line)
    const source = this.#pending.join("\n")
    if (completeness(source, this.#options.isJsx).state === "incomplete") return
    await this.#eval(this.#takePending())
  }

  async #command(name: string, argument: string): Promise<void> {
    await runCommand(
      {
        session: () => this.#open(),
        write: (text) => this.#write(text),
        evaluate: (source, file) => this.#eval(source, file),
        edit: () => {
          this.#isEditing = true
        },
        leave: () => this.#leave(),
      },
      name,
      argument,
    )
    if (name === "reset") this.#ephemeral.clear()
  }

  async #eval(source: string, file = "repl"): Promise<void> {
    if (source.trim() === "") return
    const session = await this.#open()
    if (this.#isInterrupted) return
    const { isTerminal, errors } = this.#options
    let column = 0
    const outcome = await session.eval(source, file, ({ stream, text }) => {
      column = text.endsWith("\n") ? 0 : 1
      if (!isTerminal && stream === "stderr") errors.write(text)
      else this.#write(text)
    })
    if (column > 0 && isTerminal) this.#write("\n")
    this.#show(outcome)
    if (outcome.status !== "exited") return
    this.#exitCode = exitCodeOf(outcome)
    this.#leave()
  }

  #show(outcome: Outcome): void {
    const { paint } = this.#options
    const failure = failureText(outcome)
    if (failure !== undefined) this.#fail(paint.failure(failure))
    else if (outcome.value?.inert === false) this.#write(`${paint.value(outcome.value.text)}\n`)
    for (const line of warnings(outcome)) this.#tell(line)
    const news = outcome.ephemeral.filter((name) => !this.#ephemeral.has(name))
    if (news.length > 0) this.#tell(`Held only by the running process, lost when it ends: ${news.join(", ")}`)
    this.#ephemeral.clear()
    for (const name of outcome.ephemeral) this.#ephemeral.add(name)
  }

  #onInterrupt(): void {
    if (this.#isBusy) {
      if (this.#isInterrupted) {
        this.#write("\nIt is being stopped: within a second, by force if need be. The session stays; Ctrl-D leaves.\n")
        return
      }
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

  /** A signal, or nobody reads any more. */
  #onAbort(): void {
    this.#leave()
    // A script's input has ended, perhaps, while what it says still runs.
    this.#stop()
  }

  #leave(): void {
    this.#lines.length = 0
    this.#pending = []
    this.#readline.close()
  }

  #stop(): void {
    if (!this.#isBusy) return
    this.#isInterrupted = true
    void this.#session?.interrupt()
  }

  #onClose(): void {
    this.#hasClosed = true
    const { isTerminal } = this.#options
    // The end of a script's input ends nothing that it asked for.
    if (this.#isBusy) {
      if (isTerminal) this.#stop()
    } else {
      if (isTerminal) this.#write("\n")
      void this.#end()
    }
  }

  #onNews(event: News): void {
    if (typeof event === "string") return this.#isBusy ? this.#tell(event) : this.#aside(event)
    // The outcome of what runs tells it too.
    if (this.#isBusy) return
    if (event.type === "session.stray") this.#aside(`After its eval had ended: ${event.text.trimEnd()}`)
    else if (event.type === "bindings.lost") this.#aside(`Lost (${event.reason}): ${event.names.join(", ")}`)
  }

  /** A line that nobody entered a line for: above the prompt, which is drawn again with what was typed. */
  #aside(text: string): void {
    if (!this.#options.isTerminal) return this.#tell(text)
    this.#write(`\r\x1b[K${text}\n`)
    this.#readline.prompt(true)
  }

  /** Called by the line editor for a Tab, also while code runs. What it returns is put into the line, or listed at the second Tab. */
  readonly #completer = (line: string, done: (error: null, result: [string[], string]) => void): void => {
    const { line: whole, cursor } = this.#readline
    const nothing: [string[], string] = [[], line]
    void this.#complete(line)
      .catch(() => nothing)
      // Keys that were typed meanwhile are in the line: a name would be put behind them.
      .then((result) => (this.#readline.line === whole && this.#readline.cursor === cursor ? result : nothing))
      // oxlint-disable-next-line promise/no-callback-in-promise -- the line editor knows no promises here
      .then((result) => done(null, result))
  }

  async #complete(line: string): Promise<[string[], string]> {
    // A Tab at the beginning of a line is an indentation.
    if (line.trim() === "" && (this.#pending.length > 0 || this.#isEditing)) return [[`${line}${indentation}`], line]
    const command = this.#pending.length === 0 && !this.#isEditing ? /^\s*(\.[a-z]*)$/.exec(line)?.[1] : undefined
    if (command !== undefined) {
      return [
        Object.keys(commands)
          .map((name) => `.${name}`)
          .filter((name) => name.startsWith(command)),
        command,
      ]
    }
    // Nobody waits here for a host that is still starting.
    if (this.#session === undefined) return withNames(line, namesOfEverySession())
    const text = [...this.#pending, line].join("\n")
    const { typed, names } = await suggest(this.#session, text)
    if (typed === "" || !names.includes(typed)) return [[...names], typed]
    const about = await describe(this.#session, text)
    // The line stays as it is when it is said what stands there.
    if (about !== undefined) this.#aside(this.#options.paint.note(about))
    return names.length === 1 ? [[], typed] : [[...names], typed]
  }

  #prompt(): void {
    if (this.#hasClosed || !this.#options.isTerminal) return
    // The depth is shown in front of the line, not typed into it: spaces would become part of a template's text.
    const { length } = this.#pending
    let text = prompt
    if (this.#isEditing) text = ""
    else if (length > 0) {
      const state = completeness(this.#pending.join("\n"), this.#options.isJsx)
      text = `… ${indentation.repeat(state.state === "incomplete" ? state.indent : 0)}`
    }
    this.#readline.setPrompt(text)
    // What was typed while code ran stays, with the cursor where it is.
    this.#readline.prompt(true)
  }

  async #open(): Promise<PromptSession> {
    this.#opened ??= this.#options.open()
    this.#session = await this.#opened
    return this.#session
  }

  #takePending(): string {
    return this.#pending.splice(0).join("\n")
  }

  #fail(text: string): void {
    const { isTerminal, errors } = this.#options
    if (isTerminal) return this.#write(`${text}\n`)
    if (this.#exitCode === 0) this.#exitCode = 1
    errors.write(`${text}\n`)
  }

  #tell(line: string): void {
    const { isTerminal, errors, paint } = this.#options
    if (isTerminal) this.#write(`${paint.note(line)}\n`)
    else errors.write(`${line}\n`)
  }

  #write(text: string): void {
    this.#options.output.write(text)
  }
}

function withNames(line: string, names: readonly string[]): [string[], string] {
  const typed = /[\w$]*$/.exec(line)![0]
  return [names.filter((name) => typed !== "" && name.startsWith(typed)), typed]
}
