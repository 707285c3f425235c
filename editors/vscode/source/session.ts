// The session that an editor evaluates in: one process of `nacre session`, whichever documents are evaluated.
//
// The process is started by the first evaluation. It is started anew, with nothing of what it held, by a restart, by another profile, and
// when it had to be killed: the client library does that to one which does not end an eval that it was told to end. Evaluations run in
// the order in which they were asked for, and each is sent when the one before it has ended: what is written then, and the time that counts,
// are its own. Nothing here knows the editor: what it shows goes to a `Display`.
import type { Client } from "../../../runtime/client/index.ts"
import { firstLine, inItsColumns } from "./positions.ts"
import type { Selected } from "./positions.ts"
import { outcomeText, problemsOf } from "./report.ts"
import type { Outcome, Problem } from "./report.ts"

export interface Settings {
  readonly profile: string
  /** Milliseconds from when its code begins after which an evaluation is stopped; a process that does not stop it is killed. */
  readonly timeoutMs: number
}

export type Connection = Pick<Client, "request" | "on" | "close">

export interface Display {
  /** Appends to the output channel. */
  write(text: string): void
  /** Replaces the problems of a document. */
  problems(uri: string, problems: readonly Problem[]): void
  status(status: Status): void
}

export interface Status {
  /** Of the running session; the one that the next will have, when none runs. */
  readonly profile: string
  readonly state: "stopped" | "starting" | "ready" | "evaluating"
}

export interface SessionContext {
  /** Starts a process; `onLost` hears of its end. */
  connect(profile: string, onLost: (reason: string) => void): Promise<Connection>
  settings(): Settings
  readonly display: Display
}

/** Milliseconds that a process has to stop an evaluation by itself, which may have to end a host for it. */
const stopMs = 10_000
/** The longest that a timer can wait. */
const timerMsMax = 2 ** 31 - 1

interface Running {
  readonly profile: string
  readonly connection: Promise<Connection>
}

export class EditorSession {
  readonly #context: SessionContext
  readonly #evaluations = new Set<AbortController>()
  /** Resolves when the evaluations so far have ended. */
  #last: Promise<void> = Promise.resolve()
  #running: Running | undefined
  #isReady = false

  constructor(context: SessionContext) {
    this.#context = context
    this.#tell()
  }

  /** Resolves when what came of it is shown; never rejects. */
  async evaluate(selected: Selected): Promise<void> {
    const stop = new AbortController()
    this.#evaluations.add(stop)
    this.#context.display.problems(selected.uri, [])
    const running = this.#start()
    this.#tell()
    const ended = this.#last.then(() => this.#evaluateNow(selected, running, stop))
    this.#last = ended
    await ended
  }

  async #evaluateNow(selected: Selected, running: Running, stop: AbortController): Promise<void> {
    const { display } = this.#context
    display.write(`\n[${selected.file}:${selected.start.line + 1}]\n`)
    // A settings file may hold any number.
    const timeoutMs = Math.ceil(Math.min(Math.max(this.#context.settings().timeoutMs, 1), timerMsMax))
    try {
      const connection = await running.connection
      if (stop.signal.aborted) throw new Error("it was interrupted before it began.")
      if (this.#running !== running) throw new Error("the session that it was meant for has ended.")
      const outcome = await connection.request(
        "eval",
        { code: inItsColumns(selected).text, file: selected.file, line: selected.start.line + 1, timeoutMs },
        { timeoutMs: Math.min(timeoutMs + stopMs, timerMsMax), signal: stop.signal },
      )
      display.write(outcomeText(outcome, endedByLimit(outcome, stop) ? timeoutMs : undefined))
      display.problems(selected.uri, problemsOf(outcome, selected))
    } catch (error) {
      const message = isHung(error)
        ? `The process did not stop it at the time limit of ${timeoutMs} ms, and was killed.`
        : `Not evaluated: ${error instanceof Error ? error.message : String(error)}`
      display.write(`${message}\n`)
      display.problems(selected.uri, [{ range: firstLine(selected), message }])
    } finally {
      this.#evaluations.delete(stop)
      this.#tell()
    }
  }

  /** Interrupts whatever runs or waits; the session stays. Gives whether there was anything. */
  stop(): boolean {
    const hadAny = this.#evaluations.size > 0
    for (const evaluation of this.#evaluations) evaluation.abort()
    return hadAny
  }

  /** Ends the process and starts another, with the profile of the settings. */
  async restart(why = "restarted"): Promise<void> {
    const before = this.#running
    this.#running = undefined
    this.#isReady = false
    await before?.connection.then((it) => it.close()).catch(() => {})
    // Another call of this, or an evaluation, may have been faster.
    const { profile, connection } = this.#start()
    this.#tell()
    try {
      await connection
      this.#context.display.write(`\n[session ${why}, profile ${profile}]\n`)
    } catch (error) {
      this.#context.display.write(`\nThe session could not be started: ${(error as Error).message}\n`)
    }
  }

  /** Restarts a session whose profile is not that of the settings any more. */
  async settingsChanged(): Promise<void> {
    const { profile } = this.#context.settings()
    if (this.#running === undefined) return this.#tell()
    if (this.#running.profile !== profile) await this.restart("restarted for its profile")
  }

  async dispose(): Promise<void> {
    const before = this.#running
    this.#running = undefined
    await before?.connection.then((it) => it.close()).catch(() => {})
  }

  #start(): Running {
    if (this.#running !== undefined) return this.#running
    const { profile } = this.#context.settings()
    const forget = (): void => {
      if (this.#running !== running) return
      this.#running = undefined
      this.#isReady = false
      this.#tell()
    }
    const connection = this.#context
      .connect(profile, (reason) => {
        if (this.#running !== running) return
        forget()
        this.#context.display.write(`\n[the session has ended, with all it held: ${reason}]\n`)
      })
      .then((it) => {
        it.on("output", ({ text }) => this.#context.display.write(text))
        if (this.#running === running) {
          this.#isReady = true
          this.#tell()
        }
        return it
      })
    const running: Running = { profile, connection }
    this.#running = running
    // Whoever awaits it hears of the failure; the next one tries again.
    connection.catch(forget)
    return running
  }

  #tell(): void {
    const profile = this.#running?.profile ?? this.#context.settings().profile
    let state: Status["state"] = "stopped"
    if (this.#running !== undefined) state = this.#isReady ? "ready" : "starting"
    if (state === "ready" && this.#evaluations.size > 0) state = "evaluating"
    this.#context.display.status({ profile, state })
  }
}

/** The process keeps the limit; the client library stops what outlasts it, which is the limit's doing too. */
function endedByLimit({ status, because }: Outcome, stop: AbortController): boolean {
  return status === "timeout" || (status === "interrupted" && because === "aborted" && !stop.signal.aborted)
}

function isHung(error: unknown): boolean {
  return error instanceof Error && "kind" in error && error.kind === "timed_out"
}
