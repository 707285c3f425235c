// What the rest of the nacre sees of the checker: questions that are answered, or fail in time.
//
// The process starts with the first question, is restarted by its supervisor, and works on one question at a time; the others wait here,
// where they can be given up. A question that was under way when the process died is asked once more. One that takes longer than its
// deadline ends with the process, since nothing else stops TypeScript; the others then wait for the next one. Nobody's evals do.
//
// The process holds sets only as a cache. A question names the set it is about and how to get all of it (`whole`); what the process turns out
// to miss is sent with the same question again.
import type { ProcessLike } from "../../supervisor/index.ts"
import type { Clock } from "../clock.ts"
import { NacreError } from "../errors.ts"
import type { Emit } from "../events.ts"
import type { Limits } from "../options.ts"
import type { toChecker } from "../wire/checker.ts"
import type { FieldsOf } from "../wire/schema.ts"
import type { CheckAnswer, Completions, DeclarationText, Environment, Hover, Signatures } from "./declarations.ts"
import { CheckerProcess } from "./process.ts"
import type { CheckerMessage } from "./process.ts"

export interface CheckerContext {
  readonly clock: Clock
  readonly limits: Limits
  readonly emit: Emit
  /** Puts the process under supervision, now and after each of its ends. Called once. */
  supervise(start: () => ProcessLike): Promise<void>
}

/** Where a question stands. */
export interface Place {
  /** The session, unguessably: what the checker holds is kept under it. */
  session: string
  /** Names a set of declarations of that session for ever; "" is the empty one. */
  base: string
  /** Every declaration of `base`: asked for when the checker does not hold it. */
  whole: () => DeclarationText[]
  environment: Environment
}

/** How one set becomes another. */
export interface SetChange {
  /** The id of the set that comes of it. */
  set: string
  changed: DeclarationText[]
  removed: string[]
}

export interface CheckRequest extends Place, SetChange {
  /** What runs after the declarations: checked last, against the new set. May be empty. */
  statements: string
}

export interface QuestionOptions {
  /** Default `limits.checkTimeoutMs`; its waiting counts. */
  deadlineMs?: number | undefined
  /** Gives the question up; the promise rejects with the signal's reason. */
  signal?: AbortSignal | undefined
}

type Messages = typeof toChecker
type QuestionType = "check" | "advance" | "complete" | "hover" | "signature"
type OfPlace = "request" | "session" | "base" | "environmentId" | "environment" | "whole"
type Fields<K extends QuestionType> = Omit<FieldsOf<Messages[K]>, OfPlace>

interface Question {
  readonly place: Place
  readonly type: QuestionType
  readonly fields: object
  readonly deadlineMs: number
  cancelDeadline: () => void
  /** Answers whoever asked; later calls do nothing. Its deadline stays while the process works on it. */
  readonly settle: (answer: CheckerMessage | Error) => void
  isSettled: boolean
  /** How often a process was given it. */
  attempts: number
  /** What the process has said that it misses. */
  sendsEnvironment: boolean
  sendsWhole: boolean
}

/** How often a question may bring down the process: the first time may be somebody else's fault. */
const attemptsMax = 2
/** Milliseconds that the process may go on with a question that nobody waits for any more: most end by themselves, and starting anew takes as long. */
const abandonedMs = 1_000
const stopMs = 2_000

export class Checker {
  readonly #context: CheckerContext
  readonly #waiting: Question[] = []
  #current: Question | undefined
  #process: CheckerProcess | undefined
  #isReady = false
  #supervised: Promise<void> | undefined
  #requests = 0
  #lastSession = ""
  #lastEnd = ""
  #isStopped = false

  constructor(context: CheckerContext) {
    this.#context = context
  }

  /** The process id, while there is one. */
  get pid(): number | undefined {
    return this.#process?.pid
  }

  /**
   * Checks a change with everything that it reaches. Resolves also when there are errors: they are the answer. Rejects with
   * `checker_unavailable` (no answer within the deadline, or the process ended twice under it), `overloaded`, `nacre_stopped`.
   */
  async check(
    { statements, set, changed, removed, ...place }: CheckRequest,
    options?: QuestionOptions,
  ): Promise<CheckAnswer> {
    const answer = await this.#ask(place, "check", { set, changed, removed, statements }, options)
    if (answer.type !== "checked") throw unexpected(answer)
    const { diagnostics, schemes, localTypes, checkedCount } = answer
    return { diagnostics, schemes, localTypes, checkedCount }
  }

  /** Tells of a set that was made without a check. What is wrong in it is nobody's change later. */
  async advance({ set, changed, removed, ...place }: Place & SetChange, options?: QuestionOptions): Promise<void> {
    await this.#ask(place, "advance", { set, changed, removed }, options)
  }

  /** Names that may stand at an offset of a text, which need not be finished. */
  async complete(place: Place, text: string, offset: number, options?: QuestionOptions): Promise<Completions> {
    const answer = await this.#ask(place, "complete", { text, offset }, options)
    if (answer.type !== "completed") throw unexpected(answer)
    const { start, end, items, isCut } = answer
    return { start, end, items, isCut }
  }

  /** What the name at an offset of a text is. */
  async hover(place: Place, text: string, offset: number, options?: QuestionOptions): Promise<Hover | undefined> {
    const answer = await this.#ask(place, "hover", { text, offset }, options)
    if (answer.type !== "hovered") throw unexpected(answer)
    const { isFound, start, end, text: shown, documentation } = answer
    return isFound ? { start, end, text: shown, documentation } : undefined
  }

  /** What the call around an offset of a text takes. */
  async signature(place: Place, text: string, offset: number, options?: QuestionOptions): Promise<Signatures> {
    const answer = await this.#ask(place, "signature", { text, offset }, options)
    if (answer.type !== "signatures") throw unexpected(answer)
    const { items, active, parameter } = answer
    return { items, active, parameter }
  }

  /** The session is gone: what is held of it may go. */
  forget(session: string): void {
    if (this.#isReady) this.#process!.send("forget", { session })
  }

  /** Fails what waits. The process itself is stopped with the tree. */
  stop(): void {
    this.#isStopped = true
    const error = new NacreError("nacre_stopped", "This nacre has been stopped; its checker answers no more.")
    this.#waiting.push(...this.#takeCurrent())
    for (const question of this.#waiting.splice(0)) finish(question, error)
  }

  #ask<K extends QuestionType>(
    place: Place,
    type: K,
    fields: Fields<K>,
    options: QuestionOptions = {},
  ): Promise<CheckerMessage> {
    const { clock, limits } = this.#context
    const { signal, deadlineMs = limits.checkTimeoutMs } = options
    if (this.#isStopped) return Promise.reject(new NacreError("nacre_stopped", "This nacre has been stopped."))
    if (signal?.aborted === true) return Promise.reject(signal.reason as Error)
    if (this.#waiting.length >= limits.checksWaitingMax) {
      const message = `The checker has ${this.#waiting.length} requests waiting; ask again, or raise limits.checksWaitingMax.`
      return Promise.reject(new NacreError("overloaded", message))
    }
    return new Promise((resolve, reject) => {
      const onAbort = (): void => this.#giveUp(question, signal!.reason as Error)
      const cancelDeadline = clock.after(deadlineMs, () => {
        // A timer may fire before data that has long arrived is read: one more turn of the loop decides.
        setImmediate(() => this.#expire(question))
      })
      const question: Question = {
        place,
        type,
        fields,
        deadlineMs,
        cancelDeadline,
        isSettled: false,
        attempts: 0,
        sendsEnvironment: false,
        sendsWhole: false,
        settle: (answer) => {
          if (question.isSettled) return
          question.isSettled = true
          signal?.removeEventListener("abort", onAbort)
          if (answer instanceof Error) reject(answer)
          else resolve(answer)
        },
      }
      signal?.addEventListener("abort", onAbort, { once: true })
      this.#waiting.push(question)
      this.#supervised ??= this.#context.supervise(() => this.#start())
      this.#supervised.catch((error: unknown) => {
        this.#supervised = undefined
        this.#giveUp(
          question,
          new NacreError("checker_unavailable", "The checker could not be started.", { cause: error }),
        )
      })
      this.#next()
    })
  }

  /** Whoever asked is told; the process may finish what it works on, if it soon does. */
  #giveUp(question: Question, error: Error): void {
    if (this.#current === question) {
      question.cancelDeadline()
      question.cancelDeadline = this.#context.clock.after(abandonedMs, () => {
        if (this.#current === question) this.#process?.kill("given up")
      })
      return question.settle(error)
    }
    const at = this.#waiting.indexOf(question)
    if (at >= 0) this.#waiting.splice(at, 1)
    finish(question, error)
  }

  #takeCurrent(): Question[] {
    const question = this.#current
    this.#current = undefined
    return question === undefined ? [] : [question]
  }

  /** Gives the process its next question: of another session than the last one, where one waits. */
  #next(): void {
    if (this.#current !== undefined || !this.#isReady) return
    const other = this.#waiting.findIndex(({ place }) => place.session !== this.#lastSession)
    const [question] = this.#waiting.splice(Math.max(0, other), 1)
    if (question === undefined) return
    this.#current = question
    this.#lastSession = question.place.session
    question.attempts += 1
    this.#send(question)
  }

  #send(question: Question): void {
    const { place, type, fields, sendsEnvironment, sendsWhole } = question
    const { session, base, environment, whole } = place
    const message = {
      request: ++this.#requests,
      session,
      base,
      environmentId: environment.id,
      ...fields,
      ...(sendsEnvironment ? { environment } : {}),
    }
    try {
      this.#process!.send(type, { ...message, ...(sendsWhole ? { whole: whole() } : {}) } as never)
    } catch (error) {
      // What cannot be sent is the caller's: above the limit of a message, or not of its type.
      this.#current = undefined
      finish(question, error as Error)
      this.#next()
    }
  }

  #expire(question: Question): void {
    const after = `within its deadline of ${question.deadlineMs} ms`
    if (this.#current === question) {
      const message = `The checker did not answer ${after}: the types of this change may have no end. It was ended and starts anew.`
      question.settle(new NacreError("checker_unavailable", message))
      // Between two processes there is nothing to end, only to wait for.
      this.#process?.kill("deadline")
      return
    }
    if (question.isSettled) return
    const ended = this.#lastEnd === "" ? "" : ` Its process ended last with: ${this.#lastEnd}.`
    const message = `The checker could not begin ${after}; ${this.#waiting.length - 1} other requests wait.${ended} Ask again.`
    this.#giveUp(question, new NacreError("checker_unavailable", message))
  }

  #onMessage(message: CheckerMessage): void {
    const question = this.#current
    if (!("request" in message) || question === undefined || message.request !== this.#requests) return
    if (message.type === "missing") {
      const isBase = message.what === "base"
      if (!(isBase ? question.sendsWhole : question.sendsEnvironment)) {
        question.sendsEnvironment = true
        question.sendsWhole ||= isBase
        return this.#send(question)
      }
    }
    this.#current = undefined
    if (message.type === "failed" || message.type === "missing") {
      const why = message.type === "failed" ? message.message : `it misses the ${message.what} that it was given`
      finish(question, new NacreError("checker_unavailable", `The checker failed on this request: ${why}`))
    } else finish(question, message)
    this.#next()
  }

  #start(): ProcessLike {
    let onExit: ((reason: string) => void) | undefined
    const { clock, limits, emit } = this.#context
    const started: CheckerProcess = new CheckerProcess(clock, limits, {
      onReady: () => {
        this.#isReady = true
        emit({ type: "checker.started", pid: started.pid })
        this.#next()
      },
      onMessage: (message) => this.#onMessage(message),
      onExit: (because) => {
        this.#onExit(because)
        emit({ type: "checker.lost", pid: started.pid, because })
        onExit?.(because === "stopped" ? "shutdown" : because)
      },
    })
    this.#process = started
    return {
      stop: () => void started.stop(stopMs),
      kill: () => started.kill("killed"),
      onExit: (listener) => {
        onExit = listener
      },
      describe: () => `pid ${started.pid}`,
    }
  }

  #onExit(because: string): void {
    this.#process = undefined
    this.#isReady = false
    this.#lastEnd = because
    const [question] = this.#takeCurrent()
    if (question === undefined) return
    if (question.isSettled) return question.cancelDeadline()
    if (question.attempts < attemptsMax) {
      question.sendsEnvironment = question.sendsWhole = false
      this.#waiting.unshift(question)
      return
    }
    const message = `The checker ended (${because}) ${question.attempts} times under this request; it starts anew for others.`
    finish(question, new NacreError("checker_unavailable", message))
  }
}

function finish(question: Question, answer: CheckerMessage | Error): void {
  question.cancelDeadline()
  question.settle(answer)
}

function unexpected(answer: CheckerMessage): NacreError {
  return new NacreError("internal", `The checker answered a question with '${answer.type}'.`)
}
