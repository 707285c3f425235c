// A client of the protocol: typed requests over a way to a server that may break.
//
// Every request ends: with its answer, or with an error that says why there is none. A socket that breaks is opened again and the server goes on
// where it was: what it had not got is sent again, what this client had not got comes. A process that hangs is killed at a request's
// deadline, and another is started by the next request. Messages are numbered by counting, on both sides, as `resume` needs it.
import type { Channel, OpenChannel } from "./channel.ts"
import { ConnectionError, RequestError, requestErrorOf } from "./errors.ts"
import type { ConnectionErrorKind, ErrorAnswer } from "./errors.ts"
import { requestText, tooLarge } from "./message.ts"
import type { MethodName, NotificationName, NotificationOf, ParamsOf, ResultOf } from "./methods.ts"

export interface ClientOptions {
  /** What `initialize` is given: the session, its profile, which events, … */
  initialize?: ParamsOf<"initialize">
  /** Milliseconds for an answer, unless a request says otherwise. Default: none, since evals may take as long as they like. */
  timeoutMs?: number
  /** Milliseconds for the server to end a request that it was told to end, before the server counts as hung. Default 2 s. */
  hungMs?: number
  /** Milliseconds in which a broken socket is opened again; then what is under way fails. Default: the server's grace. */
  reconnectMs?: number
  /** Hears what became of the connection. */
  onConnection?: (change: ConnectionChange) => void
}

/**
 * `lost`: the way to the server broke. `resumed`: it is back, and `missed` messages are gone for good. `renewed`: it is a new connection, with nothing
 * of the old one but sessions that have an id (on a socket), or another process with none (on stdio). `refused`: the server could not read a
 * message, and nothing tells which.
 */
export type ConnectionChange =
  | { type: "lost"; reason: string }
  | { type: "resumed"; missed: number }
  | { type: "renewed" }
  | { type: "refused"; error: RequestError }

export interface RequestOptions {
  /** Milliseconds for an answer. Then the request is cancelled, which interrupts an eval and still gives its outcome. */
  timeoutMs?: number
  /** Cancels the request, which interrupts an eval and still gives its outcome. */
  signal?: AbortSignal
}

/** The arguments of a request: its parameters may be left out where none is needed. */
type RequestArguments<M extends MethodName> =
  Partial<ParamsOf<M>> extends ParamsOf<M>
    ? [params?: ParamsOf<M>, options?: RequestOptions]
    : [params: ParamsOf<M>, options?: RequestOptions]

interface Pending {
  readonly id: number
  readonly method: string
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
  /** Its message: the server's answer confirms what was sent before it. */
  readonly sent: Sent
  stop: () => void
}

interface Message {
  id?: unknown
  method?: unknown
  params?: unknown
  result?: unknown
  error?: ErrorAnswer
}

interface Sent {
  /** Which message of the connection it is; one before it may turn out not to count. */
  number: number
  /** Of a request. */
  readonly id: number | undefined
  readonly bytes: number
  /** Empty where it will not be sent again. */
  readonly text: string
}

const firstRetryMs = 50
const retryMsMax = 2_000
/** The grace of a server that does not tell it. */
const graceMsDefault = 30_000
/** The longest that a timer can wait. */
const timerMsMax = 2 ** 31 - 1
/** The first request of a channel: no other has this id. */
const helloId = 0

export class Client {
  readonly #open: OpenChannel
  /** What a lost channel means: a socket is opened again, a process is gone with all it had. */
  readonly #canResume: boolean
  readonly #options: ClientOptions
  readonly #pending = new Map<number, Pending>()
  readonly #listeners = new Map<string, Set<(params: never) => void>>()
  #channel: Channel | undefined
  #connecting: Promise<void> | undefined
  #isClosed = false
  #ids = helloId
  /** Of the present connection: its name, and how many messages went each way. */
  #connection: string | undefined
  #sentCount = 0
  #receivedCount = 0
  /** Messages that the server may not have got. */
  #unconfirmed: Sent[] = []
  /** The server ended the last channel because a message was above its limit: the first one that it did not get. */
  #isTooLarge = false
  #server: ResultOf<"initialize"> | undefined

  /** Internal: use `connectStdio` or `connectSocket`. */
  constructor(open: OpenChannel, canResume: boolean, options: ClientOptions) {
    this.#open = open
    this.#canResume = canResume
    this.#options = options
  }

  /** Internal: opens the first channel. */
  async connect(): Promise<this> {
    try {
      await this.#connected()
    } catch (error) {
      await this.close()
      throw error
    }
    return this
  }

  /** What the server said of itself when it was connected last. */
  get server(): ResultOf<"initialize"> {
    if (this.#server === undefined) throw new ConnectionError("closed", "This client has not been connected.")
    return this.#server
  }

  /**
   * Calls a method. Rejects with a `RequestError` when the server refused, with a `ConnectionError` when there is no answer. How an eval ended is
   * its result, whatever its status.
   */
  async request<M extends MethodName>(method: M, ...given: RequestArguments<M>): Promise<ResultOf<M>> {
    const [params = {}, options = {}] = given
    await this.#connected()
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server's answers are held to its table by its tests
    return (await this.#send(method, params, options)) as ResultOf<M>
  }

  /** Calls `listener` for every notification of that name; gives what ends that. */
  on<N extends NotificationName>(name: N, listener: (params: NotificationOf<N>) => void): () => void {
    const listeners = this.#listeners.get(name) ?? new Set()
    this.#listeners.set(name, listeners)
    listeners.add(listener)
    return () => void listeners.delete(listener)
  }

  /** Says goodbye; what is under way fails as `closed`. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    const channel = this.#channel
    this.#channel = undefined
    this.#failAll("closed", "This client was closed.")
    await channel?.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  // Requests

  #send(
    method: string,
    params: object,
    { timeoutMs = this.#options.timeoutMs, signal }: RequestOptions,
  ): Promise<unknown> {
    const id = ++this.#ids
    return new Promise((resolve, reject) => {
      // Throws, before anything waits for it.
      const message = requestText({ id, method, params }, this.#bytesMax)
      let hung: NodeJS.Timeout | undefined
      const cancel = (): void => this.#cancel(id)
      const onDeadline = (): void => {
        cancel()
        hung = setTimeout(() => this.#onHung(id, timeoutMs!), this.#options.hungMs ?? 2_000)
      }
      const deadline = timeoutMs === undefined || timeoutMs === Infinity ? undefined : setTimeout(onDeadline, timeoutMs)
      const stop = (): void => {
        clearTimeout(deadline)
        clearTimeout(hung)
        signal?.removeEventListener("abort", cancel)
      }
      const sent = this.#put({ ...message, id })
      this.#pending.set(id, { id, method, resolve, reject, stop, sent })
      if (signal?.aborted === true) cancel()
      else signal?.addEventListener("abort", cancel, { once: true })
    })
  }

  #cancel(id: number): void {
    const text = JSON.stringify({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id } })
    this.#put({ text, bytes: text.length, id: undefined })
  }

  /** Bytes that the server takes of one message. */
  get #bytesMax(): number {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- looked at before it is used
    const { messageBytesMax } = (this.#server?.limits ?? {}) as { messageBytesMax?: unknown }
    return typeof messageBytesMax === "number" ? messageBytesMax : Infinity
  }

  /** It did not even end when it was told to: nobody there can be trusted to answer. */
  #onHung(id: number, timeoutMs: number): void {
    const message = `No answer within ${timeoutMs} ms, and the request did not end when it was cancelled.`
    this.#fail(id, new ConnectionError("timed_out", message))
    const channel = this.#channel
    if (channel === undefined) return
    // Not when its end comes: the next request must not be sent to it.
    this.#onLost(message)
    channel.kill()
  }

  #put({ text, ...message }: Omit<Sent, "number">): Sent {
    const number = ++this.#sentCount
    const sent = { ...message, number, text: this.#canResume ? text : "" }
    if (this.#canResume) this.#unconfirmed.push(sent)
    this.#channel?.send(text)
    return sent
  }

  #fail(id: number, error: ConnectionError | RequestError): void {
    const pending = this.#pending.get(id)
    if (pending === undefined) return
    this.#pending.delete(id)
    pending.stop()
    pending.reject(error)
  }

  #failAll(kind: ConnectionErrorKind, why: string): void {
    for (const { id, method } of this.#pending.values()) {
      this.#fail(id, new ConnectionError(kind, `${method} has no answer: ${why}`))
    }
    this.#unconfirmed = []
  }

  // What comes

  #onMessage(text: string): void {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every part is looked at before it is used
    const { id, method, params, result, error } = JSON.parse(text) as Message
    this.#receivedCount += 1
    if (typeof method === "string") {
      for (const listener of this.#listeners.get(method) ?? []) listener(params as never)
      return
    }
    if (id === null && error !== undefined) return this.#onRefused(requestErrorOf(error))
    const pending = typeof id === "number" ? this.#pending.get(id) : undefined
    if (pending === undefined) return
    this.#pending.delete(pending.id)
    pending.stop()
    // It has got this one, and so all before it.
    const at = this.#unconfirmed.findIndex((it) => it.number > pending.sent.number)
    this.#unconfirmed.splice(0, at === -1 ? this.#unconfirmed.length : at)
    if (error === undefined) return pending.resolve(result)
    pending.reject(requestErrorOf(error))
  }

  /**
   * The server could not read a message, so it does not know whose it was. One that was too large was that of the largest request under way:
   * a larger one than it would not have been read either.
   */
  #onRefused(error: RequestError): void {
    let largest: Pending | undefined
    for (const pending of this.#pending.values()) {
      if (largest === undefined || pending.sent.bytes > largest.sent.bytes) largest = pending
    }
    if (error.kind === "message_too_large" && largest !== undefined) return this.#fail(largest.id, error)
    this.#options.onConnection?.({ type: "refused", error })
  }

  // The way to the server

  #connected(): Promise<void> {
    if (this.#isClosed) return Promise.reject(new ConnectionError("closed", "This client was closed."))
    if (this.#channel !== undefined) return Promise.resolve()
    this.#connecting ??= this.#begin().finally(() => {
      this.#connecting = undefined
    })
    return this.#connecting
  }

  /** A new connection, with a history of its own. */
  async #begin(over?: AbortSignal): Promise<void> {
    const { channel, hello } = await this.#openWith("initialize", { ...this.#options.initialize }, over)
    if (hello.error !== undefined) {
      channel.kill()
      throw requestErrorOf(hello.error)
    }
    const isFirst = this.#server === undefined
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server's answers are held to its table by its tests
    this.#server = hello.result as ResultOf<"initialize">
    this.#connection = this.#server.connection
    this.#sentCount = 1
    this.#receivedCount = 1
    this.#unconfirmed = []
    this.#isTooLarge = false
    this.#channel = channel
    if (!isFirst) this.#options.onConnection?.({ type: "renewed" })
  }

  /** Opens a channel and makes its first request, which alone has no number. One that comes when it is `over` is given up. */
  async #openWith(
    method: "initialize" | "resume",
    params: object,
    over?: AbortSignal,
  ): Promise<{ channel: Channel; hello: Message }> {
    const { text } = requestText({ id: helloId, method, params }, this.#bytesMax)
    let answer!: (message: Message) => void
    let fail!: (error: Error) => void
    const answered = new Promise<Message>((resolve, reject) => {
      answer = resolve
      fail = reject
    })
    // Who ends before its answer is told by the race below only.
    answered.catch(() => {})
    let isGreeted = false
    /** What comes in the turn of the first answer, before this client goes on. */
    let early: string[] | undefined = []
    const channel = await this.#open({
      onMessage: (came) => {
        if (!isGreeted) {
          isGreeted = true
          // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- every part is looked at before it is used
          return answer(JSON.parse(came) as Message)
        }
        if (early === undefined) this.#onMessage(came)
        else early.push(came)
      },
      onEnd: (reason, isTooLarge = false) => {
        const lost = new ConnectionError(this.#canResume ? "connection_lost" : "server_exited", reason)
        fail(isTooLarge ? tooLarge(method, text.length, this.#bytesMax) : lost)
        if (this.#channel === channel) this.#onLost(reason, isTooLarge)
      },
    })
    if (this.#isClosed) {
      await channel.close()
      throw new ConnectionError("closed", "This client was closed.")
    }
    const late = setTimeout(() => channel.kill(), Math.max(this.#options.hungMs ?? 2_000, 10_000))
    channel.send(text)
    try {
      const hello = await answered
      if (over?.aborted === true) {
        channel.kill()
        throw new ConnectionError("connection_lost", "The server answered too late.")
      }
      // After whoever awaits this has set up what these messages need.
      setImmediate(() => {
        const messages = early ?? []
        early = undefined
        for (const message of messages) this.#onMessage(message)
      })
      return { channel, hello }
    } finally {
      clearTimeout(late)
    }
  }

  #onLost(reason: string, isTooLarge = false): void {
    this.#channel = undefined
    this.#isTooLarge ||= isTooLarge
    if (this.#isClosed) return
    this.#options.onConnection?.({ type: "lost", reason })
    if (!this.#canResume || this.#connection === undefined) return this.#failAll("server_exited", reason)
    this.#connecting = this.#comeBack(reason).finally(() => {
      this.#connecting = undefined
    })
    // Whoever asks next hears of a failure, and begins anew.
    this.#connecting.catch(() => {})
  }

  /** Within the server's grace; what is under way does not wait for an attempt that takes longer. */
  async #comeBack(reason: string): Promise<void> {
    const graceMs = Math.min(this.#options.reconnectMs ?? this.#server?.graceMs ?? graceMsDefault, timerMsMax)
    const deadline = performance.now() + graceMs
    const over = new AbortController()
    const gone = new Promise<never>((_resolve, reject) => {
      const message = `The server could not be reached again within ${graceMs} ms: ${reason}`
      over.signal.addEventListener("abort", () => reject(new ConnectionError("connection_lost", message)))
    })
    const late = setTimeout(() => over.abort(), graceMs)
    try {
      await Promise.race([this.#tryAgain(deadline, over.signal), gone])
    } catch (error) {
      this.#failAll("connection_lost", reason)
      throw error
    } finally {
      clearTimeout(late)
    }
  }

  async #tryAgain(deadline: number, over: AbortSignal): Promise<void> {
    for (let waitMs = firstRetryMs; ; waitMs = Math.min(waitMs * 2, retryMsMax)) {
      try {
        if (await this.#resume(over)) return
        over.throwIfAborted()
        this.#failAll("connection_lost", "the server no longer knows this client.")
        return await this.#begin(over)
      } catch (error) {
        if (this.#isClosed || over.aborted || error instanceof RequestError) throw error
      }
      const leftMs = Math.max(0, deadline - performance.now())
      await new Promise<void>((resolve) => setTimeout(resolve, Math.min(waitMs, leftMs)))
    }
  }

  /** False when the server has forgotten the connection. */
  async #resume(over: AbortSignal): Promise<boolean> {
    const params = { connection: this.#connection!, received: this.#receivedCount }
    const { channel, hello } = await this.#openWith("resume", params, over)
    if (hello.error !== undefined) {
      await channel.close()
      return false
    }
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the server's answers are held to its table by its tests
    const { received, missed, inFlight } = hello.result as ResultOf<"resume">
    this.#receivedCount += missed
    this.#unconfirmed = this.#unconfirmed.filter((it) => it.number > received)
    if (this.#isTooLarge) this.#dropTooLarge(received)
    this.#channel = channel
    for (const { text } of this.#unconfirmed) channel.send(text)
    if (missed > 0) this.#findLost(new Set(inFlight), received)
    this.#options.onConnection?.({ type: "resumed", missed })
    return true
  }

  /** The first message that the server did not get is the one that it would not read; sent again, it would end the next socket too. */
  #dropTooLarge(received: number): void {
    this.#isTooLarge = false
    const [refused, ...rest] = this.#unconfirmed
    this.#unconfirmed = rest
    for (const [index, sent] of rest.entries()) sent.number = received + 1 + index
    this.#sentCount = received + rest.length
    const pending = refused?.id === undefined ? undefined : this.#pending.get(refused.id)
    if (pending !== undefined) this.#fail(pending.id, tooLarge(pending.method, pending.sent.bytes, Infinity))
  }

  /** Answers among what is gone will never come. Those that are kept come before that of a request made now. */
  #findLost(inFlight: ReadonlySet<unknown>, received: number): void {
    const doubtful = [...this.#pending.values()].filter(({ id, sent }) => sent.number <= received && !inFlight.has(id))
    if (doubtful.length === 0) return
    const told = (): void => {
      for (const { id, method } of doubtful) {
        const message = `The answer to ${method} was sent while the socket was broken, and is no longer kept.`
        this.#fail(id, new ConnectionError("answer_lost", message))
      }
    }
    this.#send("isComplete", { code: "" }, {}).then(told, told)
  }
}
