// One client: what it said at `initialize`, its own session, its evals under way, and how it ends. The transport is someone else's.
//
// Requests begin in the order of their arrival, so that a client may send `sessions/open` and evals in it without waiting for answers:
// what a request needs (the running system, its session) is awaited in one chain, and only then does its handler start. Nothing in the
// chain waits for code: an eval is not waited for, so an `interrupt` behind it begins at once.
import { NacreError, assert } from "../errors.ts"
import type { AttachOptions, Attachment, NacreEvent } from "../events.ts"
import type { Nacre, OpenOptions } from "../nacre.ts"
import type { Limits } from "../options.ts"
import type { OutputChunk } from "../session/outcome.ts"
import type { Session } from "../session/session.ts"
import { messageBytesMax } from "./framing.ts"
import { kindsOf, methods, notifications, openOptions, parametersOf, protocolVersion } from "./methods.ts"
import type { Call, Method } from "./method.ts"
import type { EventLevel } from "./state-methods.ts"
import { Peer, requestsInFlightMax } from "./rpc.ts"
import type { Request, RequestId, Transport } from "./rpc.ts"
import { checkParameters, isRecord } from "./schema.ts"
import { packageVersion } from "./version.ts"

/** What a connection is served from. The system may still be starting: `initialize` does not wait for it. */
export interface ServeContext {
  readonly nacre: Promise<Nacre>
  readonly limits: Limits
  /** Live sessions that the client may have opened or used. Default: as many as the nacre. */
  readonly sessionsMax?: number
  /** Profiles of sessions that the client may open or use. Default: all. */
  readonly profiles?: readonly string[]
  /** Where a client can come back to on another way: its name for that, and what does it. */
  readonly resumable?: {
    readonly id: string
    /** Milliseconds that it has for that. */
    readonly graceMs: number
    readonly resume: (params: { connection: string; received: number }) => object
  }
  /** Hears of failures that are Nacre's own fault. */
  readonly onInternal?: (error: unknown) => void
}

type Initialize = Parameters<typeof openOptions>[0] & {
  session?: string | undefined
  workspace?: string | undefined
  events?: EventLevel | undefined
}

/** What a connection's own session is, unless the client says otherwise: each input begins where the last one ended. */
const ownKind = "repl"

/** A connection may open sessions without end: closed ones are forgotten now and then. */
const attachedPerPurge = 256

export class Connection {
  readonly peer: Peer
  /** Resolves with the exit code when the client has sent `exit`. */
  readonly exited: Promise<number>
  readonly #context: ServeContext
  readonly #used = new Set<string>()
  /** Sessions that know this client, and how it leaves them. */
  readonly #attached = new Map<Session, () => void>()
  /** Requests under way that run code of a session or change it. */
  readonly #working = new Map<RequestId, Session>()
  /** For sessions whose definitions this connection is changing: resolves when the changes asked for so far have ended. */
  readonly #changing = new Map<Session, Promise<unknown>>()
  #resolveExited!: (code: number) => void
  #begun: Promise<unknown> = Promise.resolve()
  #state: "new" | "initialized" | "shutting down" = "new"
  /** What the client has asked for; a session that is there already is taken as it is in all else. */
  #own: OpenOptions = {}
  #ownSession: Session | undefined
  #events: EventLevel = "own"
  #isClosed = false
  #attachment: Attachment | undefined

  constructor(transport: Transport, context: ServeContext) {
    this.#context = context
    this.peer = new Peer(transport, {
      dispatch: (request) => this.#dispatch(request),
      ...(context.onInternal === undefined ? {} : { onInternal: context.onInternal }),
    })
    this.exited = new Promise((resolve) => {
      this.#resolveExited = resolve
    })
  }

  get isInitialized(): boolean {
    return this.#state !== "new"
  }

  /** What its sessions share globals with. It sees nothing of others. */
  get workspace(): string {
    return this.#own.workspace ?? "main"
  }

  /** The connection's own session, when it has been opened. */
  get ownSession(): Session | undefined {
    return this.#ownSession?.isClosed === true ? undefined : this.#ownSession
  }

  /** No more requests will come. Resolves when those under way have been answered. */
  async endOfInput(): Promise<void> {
    await this.peer.settled()
  }

  /** The client is gone: its evals are interrupted, its own session is closed unless it has a name. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#attachment?.detach()
    this.peer.close()
    for (const detach of this.#attached.values()) detach()
    this.#attached.clear()
    if (this.#own.id === undefined) await this.#ownSession?.close()
  }

  // For handlers

  initialize(params: Initialize): object {
    if (this.#state !== "new")
      throw new NacreError("invalid_request", "initialize: this connection has been initialized.")
    this.admitProfile(params.profile)
    this.#state = "initialized"
    this.#own = openOptions(params)
    if (params.session !== undefined) this.#own.id = params.session
    else this.#own.profile ??= "standard"
    if (params.workspace !== undefined) this.#own.workspace = params.workspace
    this.#events = params.events ?? "own"
    // A system that cannot start is told to whoever needs it.
    void this.#context.nacre.then((nacre) => this.#listen(nacre), nothing)
    const { resumable } = this.#context
    return {
      ...(resumable === undefined ? {} : { connection: resumable.id, graceMs: resumable.graceMs }),
      protocolVersion,
      server: { name: "nacre", version: packageVersion() },
      workspace: this.workspace,
      profile: this.#own.profile ?? "standard",
      kind: this.#own.kind ?? ownKind,
      positionEncoding: "utf-16",
      limits: { ...withoutInfinity(this.#context.limits), requestsInFlightMax, messageBytesMax },
      methods: Object.fromEntries(
        Object.entries(methods).map(([name, row]) => [
          name,
          { doc: row.doc, params: parametersOf(row), result: row.result, fails: [...kindsOf(row)] },
        ]),
      ),
      notifications,
    }
  }

  /** Goes on with an earlier connection, whose answers come on this one's way from then on. */
  resume(params: { connection: string; received: number }): object {
    const { resumable } = this.#context
    if (resumable === undefined) {
      throw new NacreError(
        "unsupported",
        "resume: a connection on standard input and output ends with it; begin a new one.",
      )
    }
    if (this.#state !== "new") {
      throw new NacreError(
        "invalid_request",
        "resume: it must be the first request; this connection has been initialized.",
      )
    }
    return resumable.resume(params)
  }

  /** Whether the server lets its clients use that profile. */
  mayUse(profile: string): boolean {
    return this.#context.profiles?.includes(profile) ?? true
  }

  /** Throws `unsupported` for a session of a profile that this client may not use. */
  admitProfile(profile: string | undefined): void {
    const { profiles } = this.#context
    if (profiles === undefined || profile === undefined || profiles.includes(profile)) return
    const message = `This server lets its clients use sessions of profile ${profiles.join(", ")}, not ${profile}.`
    throw new NacreError("unsupported", message)
  }

  /** The connection's own session may have been opened anew, with other options. */
  renew(session: Session): void {
    if (session.id !== this.#own.id) return
    this.#own.profile = session.profile
    this.#ownSession = session
  }

  /** The client has closed it itself, and knows. */
  forgetOwn(session: Session | undefined): void {
    if (session !== undefined && session === this.#ownSession) this.#ownSession = undefined
  }

  /** Throws `session_limit` when the client has its maximum of live sessions. */
  admitSession(): void {
    const { sessionsMax = Infinity } = this.#context
    if (this.#attached.size < sessionsMax) return
    for (const known of this.#attached.keys()) if (known.isClosed) this.#attached.delete(known)
    if (this.#attached.size < sessionsMax) return
    const message = `This connection has ${this.#attached.size} sessions, its maximum; close or detach some.`
    throw new NacreError("session_limit", message)
  }

  /** Events about this session are the client's from now on. */
  use(session: Session): void {
    this.#used.add(session.id)
    if (this.#attached.has(session)) return
    if (this.#attached.size % attachedPerPurge === 0) {
      for (const known of this.#attached.keys()) if (known.isClosed) this.#attached.delete(known)
    }
    this.#attached.set(session, session.attachClient())
  }

  sendOutput(session: string, request: RequestId | undefined, chunk: OutputChunk): void {
    if (request !== undefined) this.peer.notify("output", { session, request, ...chunk }, { mayDrop: true })
  }

  sendProgress(token: RequestId, value: OutputChunk): void {
    this.peer.notify("$/progress", { token, value }, { mayDrop: true })
  }

  /** Sends what was missed of a session's events, or of all that this connection follows, and goes on with what comes. */
  follow(
    nacre: Nacre,
    session: Session | undefined,
    { since, events }: { since?: number | undefined; events?: EventLevel | undefined },
  ): { seq: number; isComplete: boolean } {
    if (events !== undefined) this.#events = events
    const options: AttachOptions = {}
    if (since !== undefined) options.since = since
    if (session !== undefined) options.session = session.id
    const { seq, isComplete, detach } = nacre.attach((event) => this.#onEvent(event), options)
    // Those that come are sent by the listener that every connection has.
    detach()
    return { seq, isComplete }
  }

  /** Events about this session are no longer the client's. */
  leave(session: Session): boolean {
    this.#used.delete(session.id)
    this.#attached.get(session)?.()
    return this.#attached.delete(session)
  }

  async stopRequest(request: RequestId): Promise<boolean> {
    if (!this.#working.has(request)) {
      const message = `Request ${JSON.stringify(request)} runs no code of this connection.`
      throw new NacreError("eval_not_found", message)
    }
    return this.#stop(request)
  }

  /** Stops this connection's oldest request that runs code of a session, which may not have reached its shell yet. */
  async stopNext(session: Session): Promise<boolean> {
    for (const [request, it] of this.#working) if (it === session) return this.#stop(request)
    return false
  }

  async shutdown(request: RequestId | undefined): Promise<void> {
    this.#state = "shutting down"
    const late = setTimeout(() => this.peer.cancelAll(request), this.#context.limits.drainMs)
    await this.peer.settled(request)
    clearTimeout(late)
  }

  exit(request: RequestId | undefined): void {
    const isOrderly = this.#state === "shutting down"
    if (!isOrderly) this.peer.cancelAll(request)
    void this.peer.settled().then(() => this.#resolveExited(isOrderly ? 0 : 1))
  }

  async #stop(request: RequestId): Promise<boolean> {
    this.peer.cancel(request)
    await this.peer.answered(request)
    return true
  }

  // Dispatch

  #dispatch(request: Request): Promise<unknown> {
    const begun = this.#begun.then(async () => {
      const row = this.#check(request)
      const call = await this.#prepare(row, request)
      // Wrapped, so that waiting for it to begin is not waiting for it to end.
      const ended = this.#handle(row, request, call)
      return { ended, isBarrier: row.isBarrier === true }
    })
    // What this request fails of is its own answer; the next one begins all the same.
    this.#begun = begun.then(({ ended, isBarrier }) => (isBarrier ? ended.then(nothing, nothing) : undefined), nothing)
    return begun.then(({ ended }) => ended)
  }

  async #handle(row: Method, request: Request, call: Call): Promise<unknown> {
    const { openSession: session } = call
    if (row.isBehindChanges !== true || session === undefined) return row.handle(paramsOf(request), call)
    const { id } = request
    const changes = this.#changing.get(session)
    const ended = (async (): Promise<unknown> => {
      if (changes !== undefined) await changes
      return row.handle(paramsOf(request), call)
    })()
    if (row.isChange === true) this.#changing.set(session, ended.then(nothing, nothing))
    const last = this.#changing.get(session)
    if (id !== undefined) this.#working.set(id, session)
    try {
      return await ended
    } finally {
      if (id !== undefined) this.#working.delete(id)
      if (row.isChange === true && this.#changing.get(session) === last) this.#changing.delete(session)
    }
  }

  #check({ method, params }: Request): Method {
    const row = Object.hasOwn(methods, method) ? methods[method] : undefined
    if (row === undefined) {
      const known = Object.keys(methods).join(", ")
      throw new NacreError(
        "method_not_found",
        `There is no method ${JSON.stringify(method.slice(0, 100))}; there are: ${known}.`,
      )
    }
    if (row.isAlways !== true && this.#state === "new") {
      throw new NacreError("not_initialized", `${method}: send initialize first.`)
    }
    if (row.isAlways !== true && this.#state === "shutting down") {
      throw new NacreError("invalid_request", `${method}: this connection is shutting down; only exit may follow.`)
    }
    if (Array.isArray(params)) {
      throw new NacreError("invalid_options", `${method}: parameters are given by name, in an object, not in a list.`)
    }
    checkParameters(method, parametersOf(row), params ?? {})
    return row
  }

  async #prepare(row: Method, request: Request): Promise<Call> {
    const { needs } = row
    const nacre = needs === "nothing" ? undefined : await this.#context.nacre
    let session: Session | undefined
    if (nacre !== undefined && (needs === "opens" || needs === "finds")) {
      const { session: id } = paramsOf(request)
      session = typeof id === "string" ? nacre.session(id, this.workspace) : this.ownSession
      if (typeof id === "string" && session === undefined) {
        throw new NacreError("session_not_found", `There is no session '${id}'; open it with sessions/open.`)
      }
      if (typeof id !== "string") this.#tellIfGone()
      if (session === undefined && needs === "opens") session = this.#ownSession = await this.#openOwn(nacre)
      if (session !== undefined) {
        this.admitProfile(session.profile)
        this.use(session)
      }
    }
    return {
      connection: this,
      request,
      openSession: session,
      get nacre() {
        assert(nacre !== undefined, `${request.method} uses the system, which its row does not say`)
        return nacre
      },
      get session() {
        assert(session !== undefined, `${request.method} uses a session, which its row does not say`)
        return session
      },
    }
  }

  /** What the connection's own session held is gone when somebody else has closed it: that is told once, before it is opened anew. */
  #tellIfGone(): void {
    const gone = this.#ownSession
    if (gone?.isClosed !== true) return
    this.#ownSession = undefined
    const message = `Session '${gone.id}' was closed, with all it held; the next request opens it anew.`
    throw new NacreError("session_not_found", message)
  }

  #openOwn(nacre: Nacre): Promise<Session> {
    const { id } = this.#own
    const isThere = id !== undefined && nacre.session(id, this.workspace) !== undefined
    return nacre.open(isThere ? this.#own : { kind: ownKind, ...this.#own })
  }

  /** About a session that this connection has used, or what it shares with others; changes only for a client that follows them. */
  #isWanted(event: NacreEvent): boolean {
    const { type } = event
    if (type === "globals.changed" || type === "preludes.changed" || type === "transcript.shown")
      return this.#events === "changes"
    if (type === "session.opened" || (type === "bindings.changed" && this.#events !== "changes")) return false
    return "session" in event && this.#used.has(event.session)
  }

  #listen(nacre: Nacre): void {
    if (!this.#isClosed) this.#attachment = nacre.attach((event) => this.#onEvent(event))
  }

  #onEvent(event: NacreEvent): void {
    // A session of another workspace may have the same id.
    const isOther = "workspace" in event && event.workspace !== this.workspace
    const isSent = this.#events === "all" || (this.#events !== "none" && !isOther && this.#isWanted(event))
    if (event.type === "session.closed" && !isOther) this.#used.delete(event.session)
    if (isSent) this.peer.notify("event", event, { mayDrop: true, seq: event.seq })
  }
}

function nothing(): void {}

function paramsOf({ params }: Request): Record<string, unknown> {
  return isRecord(params) ? params : {}
}

/** JSON has no Infinity: null says that there is no limit. */
function withoutInfinity(limits: Limits): Record<string, number | null> {
  return Object.fromEntries(
    Object.entries(limits).map(([name, value]: [string, number | undefined]) => [
      name,
      value === undefined || value === Infinity ? null : value,
    ]),
  )
}
