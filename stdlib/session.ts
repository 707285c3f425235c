// `Session` for session code: this session, and the others of its workspace.
//
// A session is a value without a public constructor. For its own session the realm has exactly one; for others one for each id it has
// met. What it says of another is asked when it is asked for, so a session that was closed meanwhile is `session_not_found`; only its
// kind, what it is known by and how it displays are kept, since they answer for closed sessions too.
import {
  defineOwn,
  ErrorOf,
  jsonParse,
  MapOf,
  mapGet,
  mapSet,
  mapSize,
  objectFreeze,
  objectKeys,
  putOwn,
  TypeErrorOf,
} from "./intrinsics.ts"
import { kindError, opCurrent } from "./bridge.ts"
import type { Bridge } from "./bridge.ts"
import { mintView } from "./bindings-view.ts"
import type { BindingsView } from "./bindings-view.ts"
import type { Environment } from "./environment.ts"
import { OtherBindings, refuseCrossSession, textList } from "./other-session.ts"
import type { OthersServices } from "./other-session.ts"
import type { OwnBindings } from "./own-bindings.ts"
import type { RealmTools } from "./tools.ts"

export interface SessionServices extends OthersServices {
  readonly bridge: Bridge
  readonly environment: Environment
  readonly ownBindings: OwnBindings
  readonly tools: RealmTools
  /** The realm's own session; filled in when the realm is adopted. */
  readonly facts: { id: string; kind: string }
  /** What a name means that is no binding of a session, and no `_`. */
  resolveShared(name: string): { value: unknown } | undefined
  /** A session or view that was made: it has a name from now on. */
  onMinted(object: object, name: string): void
}

/** Sessions of others that keep their identity. A session that looks at more of them gets new objects for old ids. */
const handlesMax = 1_000

export interface RealmSessions {
  readonly Session: object
  readonly own: object
  readonly ownView: object
  /** The session of that id, whether it lives or not. */
  handle(kind: string, id: string): object
  /** The view of its bindings. */
  viewOf(kind: string, id: string): object
  live(): unknown[]
  current(): object | undefined
}

/** Makes the realm's `Session`: a sealed class, the one value of its own session, and values of others. */
export function makeSessions(services: SessionServices): RealmSessions {
  const { asker, bridge, facts, environment, ownBindings, tools } = services
  const mint = objectFreeze({})
  const handles = new MapOf<string, Session>()
  let idOf: (session: unknown) => string

  class Session {
    readonly #id: string
    readonly #kind: string
    readonly #source: OtherBindings | undefined
    readonly #bindings: BindingsView
    #known: string | undefined

    static {
      idOf = (session) => {
        if (typeof session === "object" && session !== null && #id in session) return session.#id
        throw kindError("type_error", "Expected a Session: its methods work on sessions only.")
      }
    }

    constructor(key: unknown, id = "", kind = "") {
      if (key !== mint) {
        throw new TypeErrorOf("A Session cannot be constructed: use Session.current or Session.withId(id).")
      }
      this.#id = id
      this.#kind = kind
      const self = () => ({ session: this, view: this.#bindings })
      this.#source = id === "" ? undefined : new OtherBindings(id, services, self)
      this.#bindings = mintView(this.#source ?? ownBindings)
      objectFreeze(this)
    }

    static get current(): Session | undefined {
      return bridge.call(opCurrent) === undefined ? undefined : own
    }

    static withId(id: unknown): Session | undefined {
      if (typeof id !== "string") {
        throw kindError("type_error", `Session.withId takes an id as a string, not ${typeof id}.`)
      }
      if (id === facts.id) return own
      const kind = asker.ask("Session.withId", "find", "", id)
      return kind === "" ? undefined : handleOf(kind, id)
    }

    get id(): string {
      if (isOwn(this)) return facts.id
      this.#alive()
      return this.#id
    }

    get kind(): string {
      return isOwn(this) ? facts.kind : this.#kind
    }

    get bindings(): BindingsView {
      idOf(this)
      return this.#bindings
    }

    info(): object {
      const id = isOwn(this) ? facts.id : this.#id
      const answer = asker.ask("Session.info", "info", "", id)
      if (answer !== "") this.#known = answer
      const info = {}
      if (this.#known === undefined) {
        putOwn(info, "id", id)
        putOwn(info, "kind", this.kind)
        return info
      }
      const known = jsonParse(this.#known) as Record<string, unknown>
      const keys = objectKeys(known)
      for (let index = 0; index < keys.length; index++) putOwn(info, keys[index]!, known[keys[index]!])
      return info
    }

    resolve(name: unknown): unknown {
      const isMine = isOwn(this)
      if (typeof name !== "string")
        throw kindError("type_error", `resolve takes a name as a string, not ${typeof name}.`)
      if (isMine) return environment.resolveName(name)
      const found = this.#source?.read(name)
      return found === undefined ? services.resolveShared(name)?.value : found.value
    }

    proposeChange(..._change: unknown[]): Promise<unknown> {
      return callOut(this, "proposeChange", arguments)
    }

    commitChange(..._candidate: unknown[]): Promise<unknown> {
      return callOut(this, "commitChange", arguments)
    }

    abandonChange(..._candidate: unknown[]): Promise<unknown> {
      return callOut(this, "abandonChange", arguments)
    }

    history(..._since: unknown[]): Promise<unknown> {
      return callOut(this, "history", arguments)
    }

    clear(): undefined {
      if (!isOwn(this)) refuseCrossSession("clear")
      ownBindings.clear()
    }

    toString(): string {
      return isOwn(this) ? `Session(${facts.kind}: ${facts.id})` : `Session(${this.#kind}: ${this.#id})`
    }

    #alive(): void {
      if (asker.ask("Session.id", "find", "", this.#id) === "") {
        throw kindError("session_not_found", `Session '${this.#id}': the session is no longer alive.`)
      }
    }
  }

  /** What the embedder decides about: its own session's definitions. */
  function callOut(session: unknown, method: string, args: ArrayLike<unknown>): Promise<unknown> {
    if (!isOwn(session)) refuseCrossSession(method)
    return tools.call(`Session.${method}`, `Session.${method}`, args, new ErrorOf())
  }

  /** Whether it is this realm's session, which bears no id of its own: a realm is booted before it is anybody's. */
  function isOwn(session: unknown): boolean {
    return idOf(session) === ""
  }

  function handleOf(kind: string, id: string): Session {
    if (id === facts.id) return own
    const known = mapGet<Session>(handles, id)
    // An id that is used again is another session's.
    if (known !== undefined && known.kind === kind) return known
    const session = new Session(mint, id, kind)
    services.onMinted(session, `Session:${kind}:${id}`)
    services.onMinted(session.bindings, `View:${kind}:${id}`)
    if (known !== undefined || mapSize(handles) < handlesMax) mapSet(handles, id, session)
    return session
  }

  const own = new Session(mint)
  services.onMinted(own, "Session.own")
  services.onMinted(own.bindings, "Session.own.bindings")
  services.onMinted(Session, "Session")
  defineOwn(Session.prototype, "constructor", { __proto__: null, value: Session } as PropertyDescriptor)
  objectFreeze(Session.prototype)
  objectFreeze(Session)
  return {
    Session,
    own,
    ownView: own.bindings,
    handle: handleOf,
    viewOf: (kind, id) => handleOf(kind, id).bindings,
    current: () => Session.current,
    live() {
      const list: unknown[] = []
      const found = textList(asker.ask("Workspace.sessions", "sessions", "", ""))
      // Kinds and ids in turn.
      for (let index = 0; index + 1 < found.length; index += 2) {
        putOwn(list, list.length, handleOf(found[index]!, found[index + 1]!))
      }
      return list
    },
  }
}
