// JSON-RPC 2.0 over any transport of whole messages: requests in, one answer each, notifications both ways.
//
// Requests are begun in the order of their arrival and answered as they finish: an eval that computes for an hour does not hold up the
// interrupt behind it. This file knows nothing of methods: a `Dispatch` runs them. Whatever a peer sends, it gets an error that says
// what is wrong; nothing it sends may throw out of `receive`. Everything that waits is counted: requests in flight here, bytes in the
// transport.
import { NacreError, errorKinds } from "../errors.ts"
import type { ErrorKind } from "../errors.ts"
import { isRecord } from "./schema.ts"

/** What carries messages. `receive` of its peer is called with each whole message, and `close` when no more will come. */
export interface Transport {
  /** Takes one whole message; it is written before any later one, and never in part. */
  send(message: string): void
  /** The reader is slow: what can be left out should be. Answers are sent all the same. */
  readonly isCongested: boolean
}

export type RequestId = string | number

export interface Request {
  readonly method: string
  readonly params: unknown
  /** Absent for a notification, which gets no answer. */
  readonly id?: RequestId
  /** Aborted by `$/cancelRequest`, and when the connection ends. */
  readonly signal: AbortSignal
}

/** Runs one request; what it throws or rejects with becomes the error of the answer. */
export type Dispatch = (request: Request) => Promise<unknown>

export interface PeerOptions {
  readonly dispatch: Dispatch
  /** Hears of failures that are Nacre's own fault, with the error as it was thrown. */
  readonly onInternal?: (error: unknown) => void
}

/** Requests under way on one connection. Far more than a session's queue holds; each may cost an answer of some megabytes. */
export const requestsInFlightMax = 256
/** Messages of one batch: as many as may be under way. */
const batchMax = requestsInFlightMax

interface InFlight {
  readonly abort: AbortController
  readonly done: Promise<unknown>
}

type Answer = { jsonrpc: "2.0"; id: RequestId | null } & ({ result: unknown } | { error: ErrorAnswer })
interface ErrorAnswer {
  code: number
  message: string
  data: { kind: ErrorKind; retry: string }
}

/** What an error answer is made of; a NacreError is one. */
interface Refusal {
  readonly kind: ErrorKind
  readonly message: string
}

export class Peer {
  readonly #transport: Transport
  readonly #options: PeerOptions
  readonly #inFlight = new Map<RequestId, InFlight>()
  readonly #notifications = new Set<Promise<void>>()
  #isClosed = false
  /** Notifications left out since the client was last told, and the number of the last event among them or before. */
  #dropped = 0
  #seq = 0

  constructor(transport: Transport, options: PeerOptions) {
    this.#transport = transport
    this.#options = options
  }

  /** Requests that have no answer yet. */
  get inFlight(): number {
    return this.#inFlight.size
  }

  get inFlightIds(): RequestId[] {
    return [...this.#inFlight.keys()]
  }

  /** Takes one message of the peer: an object, or a batch of them. Never throws. */
  receive(text: string): void {
    if (this.#isClosed) return
    let message: unknown
    try {
      message = JSON.parse(text)
    } catch (error) {
      return this.refuse(new NacreError("parse_failed", `The message is not valid JSON: ${String(error)}`))
    }
    if (!Array.isArray(message)) return void this.#single(message)
    const messages: unknown[] = message
    if (messages.length === 0) return this.refuse(new NacreError("invalid_request", "A batch must not be empty."))
    if (messages.length <= batchMax) return void this.#batch(messages)
    const what = `A batch may hold ${batchMax} messages, not ${messages.length}.`
    this.refuse(new NacreError("invalid_request", what))
  }

  /** Answers something that cannot be a request at all, such as a torn frame. */
  refuse(error: Refusal): void {
    this.#send(errorAnswer(null, error))
  }

  /**
   * Sends a notification. One that may be left out is dropped while the reader is slow; when it has caught up, the next one is preceded by
   * `dropped`, which says how many. `seq` is that of an event.
   */
  notify(method: string, params: object, { mayDrop = false, seq }: { mayDrop?: boolean; seq?: number } = {}): void {
    if (this.#isClosed) return
    if (mayDrop && this.#transport.isCongested) {
      this.#dropped += 1
      return
    }
    this.#tellDropped()
    if (seq !== undefined) this.#seq = Math.max(this.#seq, seq)
    this.#write(JSON.stringify({ jsonrpc: "2.0", method, params }))
  }

  #tellDropped(): void {
    if (this.#dropped === 0 || this.#transport.isCongested) return
    const count = this.#dropped
    this.#dropped = 0
    this.#write(JSON.stringify({ jsonrpc: "2.0", method: "dropped", params: { count, seq: this.#seq } }))
  }

  /** Aborts the signal of a request under way; its answer still comes. False when there is none. */
  cancel(id: RequestId): boolean {
    const request = this.#inFlight.get(id)
    request?.abort.abort(new NacreError("request_cancelled", "The request was cancelled."))
    return request !== undefined
  }

  /** Resolves when that request has been answered, or is not under way. */
  async answered(id: RequestId): Promise<void> {
    await this.#inFlight.get(id)?.done
  }

  /** Resolves when every request so far has been answered, but for those of `except`. */
  async settled(except?: RequestId): Promise<void> {
    const others = [...this.#inFlight].filter(([id]) => id !== except).map(([, it]) => it.done)
    await Promise.all([...others, ...this.#notifications])
  }

  cancelAll(except?: RequestId): void {
    const reason = new NacreError("request_cancelled", "The connection ended before the request was answered.")
    for (const [id, { abort }] of this.#inFlight) if (id !== except) abort.abort(reason)
  }

  /** Nobody listens any more: nothing is sent from now on, and what is under way is told so. */
  close(): void {
    this.#isClosed = true
    this.cancelAll()
  }

  async #single(message: unknown): Promise<void> {
    const answer = await this.#begin(message)
    if (answer !== undefined) this.#send(answer)
  }

  async #batch(messages: unknown[]): Promise<void> {
    const begun = messages.map((it) => this.#begin(it))
    const answers = (await Promise.all(begun)).filter((it) => it !== undefined)
    if (answers.length > 0) this.#write(`[${answers.map((it) => this.#textOf(it)).join(",")}]`)
  }

  /** Begins a message. Its promise, which never rejects, gives the answer; `undefined` when there is none to give. */
  #begin(message: unknown): Promise<Answer | undefined> {
    let request: { id?: RequestId; method: string; params: unknown }
    try {
      request = checkRequest(message)
    } catch (error) {
      return Promise.resolve(errorAnswer(idOf(message), this.#told(error)))
    }
    const { id, method, params } = request
    if (id === undefined) {
      this.#notified(method, params)
      return Promise.resolve(undefined)
    }
    if (this.#inFlight.has(id)) {
      const what = `Request ${JSON.stringify(id)} is still under way; its id can be used again when it has been answered.`
      return Promise.resolve(errorAnswer(id, new NacreError("invalid_request", what)))
    }
    if (this.#inFlight.size >= requestsInFlightMax) {
      const what = `${requestsInFlightMax} requests of this connection are under way, the maximum; wait for answers.`
      return Promise.resolve(errorAnswer(id, new NacreError("too_many_requests", what)))
    }
    const abort = new AbortController()
    const answer = this.#answer({ id, method, params, signal: abort.signal })
    this.#inFlight.set(id, { abort, done: answer })
    return answer
  }

  async #answer(request: Request & { id: RequestId }): Promise<Answer> {
    // Not in this turn: the request must be in flight before its handler looks at what is.
    await Promise.resolve()
    let answer: Answer
    try {
      const result = await this.#options.dispatch(request)
      answer = { jsonrpc: "2.0", id: request.id, result: result ?? null }
    } catch (error) {
      answer = errorAnswer(request.id, this.#told(error))
    }
    this.#inFlight.delete(request.id)
    return answer
  }

  #notified(method: string, params: unknown): void {
    if (method === "$/cancelRequest") {
      const id = isRecord(params) ? params["id"] : undefined
      if (isRequestId(id)) this.cancel(id)
      return
    }
    const done = this.#run({ method, params, signal: new AbortController().signal })
    this.#notifications.add(done)
    void done.finally(() => this.#notifications.delete(done))
  }

  async #run(notification: Request): Promise<void> {
    // In the turn that requests take too: it must not overtake those before it.
    await Promise.resolve()
    try {
      await this.#options.dispatch(notification)
    } catch (error) {
      // A notification has no answer to carry an error; what is our own fault is told elsewhere.
      this.#told(error)
    }
  }

  #told(error: unknown): Refusal {
    const known = nacreErrorOf(error)
    if (known !== undefined) return known
    this.#options.onInternal?.(error)
    const message = error instanceof Error ? error.message : String(error)
    return { kind: "internal", message: `Nacre failed: ${message}` }
  }

  #send(answer: Answer): void {
    this.#tellDropped()
    this.#write(this.#textOf(answer))
  }

  #textOf(answer: Answer): string {
    try {
      return JSON.stringify(answer)
    } catch (error) {
      return JSON.stringify(errorAnswer(answer.id, this.#told(error)))
    }
  }

  #write(text: string): void {
    if (!this.#isClosed) this.#transport.send(text)
  }
}

/** The error as a NacreError when it is one, whichever copy of this module made it. */
function nacreErrorOf(error: unknown): Refusal | undefined {
  if (!(error instanceof Error) || !("kind" in error) || !isErrorKind(error.kind)) return undefined
  return { kind: error.kind, message: error.message }
}

function isErrorKind(kind: unknown): kind is ErrorKind {
  return typeof kind === "string" && Object.hasOwn(errorKinds, kind)
}

function errorAnswer(id: RequestId | null, { kind, message }: Refusal): Answer {
  const { code, retry } = errorKinds[kind]
  return { jsonrpc: "2.0", id, error: { code, message, data: { kind, retry } } }
}

function idOf(message: unknown): RequestId | null {
  const id = isRecord(message) ? message["id"] : undefined
  return isRequestId(id) ? id : null
}

/** Of a number beyond these, what was read is not what was written, and an answer to it would be one to nobody. */
function isRequestId(id: unknown): id is RequestId {
  return typeof id === "string" || (typeof id === "number" && Math.abs(id) <= Number.MAX_SAFE_INTEGER)
}

function invalid(what: string): never {
  throw new NacreError("invalid_request", what)
}

function checkRequest(message: unknown): { id?: RequestId; method: string; params: unknown } {
  if (!isRecord(message)) return invalid("A request must be an object with jsonrpc, method and id.")
  const { jsonrpc, method, id, params } = message
  if (jsonrpc !== "2.0") return invalid('A request must say "jsonrpc": "2.0".')
  if (typeof method !== "string") return invalid("A request must name its method, a string.")
  if (params !== undefined && (typeof params !== "object" || params === null)) {
    return invalid("The params of a request must be an object.")
  }
  if (id === undefined) return { method, params }
  if (!isRequestId(id)) {
    const limit = `of at most ${Number.MAX_SAFE_INTEGER}, which is as far as JSON's numbers are exact`
    return invalid(`The id of a request must be a string or a number ${limit}.`)
  }
  return { id, method, params }
}
