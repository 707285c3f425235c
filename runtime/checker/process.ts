// The parent's side of the checker's process.
//
// It may die at any instruction, and TypeScript may compute for ever in it; so nothing here waits without somebody's deadline, and nothing it
// says is believed before `wire/checker.ts` has checked it. It never restarts: that is the supervisor's work.
import type { ChildProcess } from "node:child_process"
import type { Duplex } from "node:stream"
import { killChild, spawnEntry } from "../child-process.ts"
import type { Clock } from "../clock.ts"
import type { Limits } from "../options.ts"
import { checkerWireVersion, fromChecker, toChecker } from "../wire/checker.ts"
import type { FieldsOf, MessageOf } from "../wire/schema.ts"
import { Link } from "../wire/transport.ts"
import type { CheckerArguments } from "./main.ts"

export type CheckerMessage = MessageOf<typeof fromChecker>

export interface ProcessHandlers {
  onReady(): void
  onMessage(message: CheckerMessage): void
  /** The process has ended; called once, after which nothing else is. */
  onExit(because: string): void
}

/** Characters kept of what a dying checker wrote to its standard error. */
const lastWordsMax = 4 * 1024
const flags = ["--no-warnings"]

export class CheckerProcess {
  /** 0 when the process could not be spawned. */
  readonly pid: number
  readonly #child: ChildProcess
  readonly #link: Link<typeof toChecker, typeof fromChecker>
  readonly #clock: Clock
  readonly #exited: Promise<void>
  #because: string | undefined
  #hasEnded = false
  #lastWords = ""

  constructor(clock: Clock, limits: Limits, handlers: ProcessHandlers) {
    this.#clock = clock
    const argument: CheckerArguments = { memoryBytesMax: limits.checkerMemoryBytesMax }
    const child = spawnEntry("runtime/checker/main", flags, argument)
    this.#child = child
    this.pid = child.pid ?? 0
    child.on("error", (error) => {
      this.#lastWords += error.message
    })
    const cancelStart = clock.after(limits.hostStartTimeoutMs, () => this.kill("start-timeout"))
    this.#link = new Link(
      child.stdio[3] as Duplex,
      { out: toChecker, in: fromChecker },
      {
        onMessage: (message) => {
          if (message.type === "ready") {
            cancelStart()
            if (message.version === checkerWireVersion) handlers.onReady()
            else this.kill(`wire-version-${message.version}`)
          } else if (message.type === "dying") this.#because ??= message.because
          else handlers.onMessage(message)
        },
        onClose: (reason) => this.kill(reason === undefined ? "disconnected" : `disconnected: ${reason.message}`),
      },
    )
    child.stderr!.setEncoding("utf8")
    child.stderr!.on("data", (text: string) => {
      this.#lastWords = (this.#lastWords + text).slice(-lastWordsMax)
    })
    this.#exited = new Promise((resolve) => {
      // Not "exit": the last words on the channel may still be unread then.
      child.once("close", (code, signal) => {
        cancelStart()
        this.#hasEnded = true
        this.#link.abort()
        child.stderr!.destroy()
        handlers.onExit(this.#reason(code, signal))
        resolve()
      })
    })
  }

  send<K extends keyof typeof toChecker>(type: K, fields: FieldsOf<(typeof toChecker)[K]>): void {
    this.#link.send(type, fields)
  }

  /** Ends the process at once. Idempotent; the first reason stands. */
  kill(because: string): void {
    this.#because ??= because
    if (!this.#hasEnded) killChild(this.#child)
  }

  /** Asks it to end and kills it when it has not within `deadlineMs`. */
  async stop(deadlineMs: number): Promise<void> {
    if (this.#hasEnded) return
    this.#because ??= "stopped"
    this.#link.send("shutdown", {})
    const cancel = this.#clock.after(deadlineMs, () => killChild(this.#child))
    await this.#exited
    cancel()
  }

  #reason(code: number | null, signal: NodeJS.Signals | null): string {
    const because = this.#because
    if (because !== undefined && !because.startsWith("disconnected")) return because
    if (/out of memory|heap limit|Allocation failed/i.test(this.#lastWords)) return "out-of-memory"
    if (signal !== null) return signal === "SIGKILL" ? "killed" : signal.toLowerCase()
    const words = this.#lastWords.trim().split("\n")[0] ?? ""
    return `exited-${code}${words === "" ? "" : `: ${words}`}`
  }
}
