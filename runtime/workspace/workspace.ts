// A workspace: what the sessions opened in it share, and the registry of sessions they can see. Nothing here reaches another workspace.
//
// Session code asks over its host's main thread; what it asks is answered here, by the workspace that the host serves, whatever the
// message claims. Reads are answered at once from committed state. Writes to globals are answered when every host has seen them.
import type { Emit } from "../events.ts"
import { denialText } from "../../stdlib/capabilities.ts"
import { NacreError } from "../errors.ts"
import type { Host, SyncAnswer, SyncCall } from "../host/host.ts"
import type { Session } from "../session/session.ts"
import { answer, committedKeys, isCommitted, readCommitted, refusal } from "./committed.ts"
import type { Versions } from "./committed.ts"
import { GlobalStore } from "./globals.ts"
import { checkGlobalName } from "./names.ts"
import { PreludeStore } from "./preludes.ts"

export interface WorkspaceContext {
  readonly emit: Emit
  /** Hosts that run, or are about to run, code of the workspace. */
  hostsOf(workspace: string): Host[]
  readonly versions: Versions
  /** Another number for each set of preludes of any workspace. */
  nextPreludes(): number
}

/** What is asked of a workspace; the other calls are writes for the shell's queue. */
type Question = Exclude<SyncCall["op"], "atPut" | "removeKey" | "clear" | "cancel">

/** Characters of one text in the transcript. */
const transcriptTextMax = 64 * 1024

export class Workspace {
  readonly name: string
  readonly sessions = new Map<string, Session>()
  readonly globals = new GlobalStore()
  readonly preludes: PreludeStore
  readonly #context: WorkspaceContext

  constructor(name: string, context: WorkspaceContext) {
    this.name = name
    this.#context = context
    this.preludes = new PreludeStore(() => context.nextPreludes())
  }

  /** Nothing is open, bound or loaded: it can be forgotten. */
  get isEmpty(): boolean {
    return this.sessions.size === 0 && this.globals.size === 0 && this.preludes.isEmpty
  }

  /** Fails with `name_conflict`, `type_error` or `value_too_large`; resolves when every host has seen it. */
  async bind(name: string, bytes: Uint8Array, by: { session?: string; evalId?: string } = {}): Promise<void> {
    checkGlobalName(name)
    const owner = this.preludes.ownerOf(name)
    if (owner !== undefined) {
      const message = `'${name}' is what prelude '${owner}' exports and cannot be a global.`
      throw new NacreError("name_conflict", message)
    }
    this.globals.set(name, bytes)
    await this.#announce({ set: [name], removed: [] }, by)
  }

  /** Nothing happens when the name is not bound. */
  async unbind(name: string, by: { session?: string; evalId?: string } = {}): Promise<void> {
    if (!this.globals.has(name)) checkGlobalName(name)
    if (this.globals.delete(name)) await this.#announce({ set: [], removed: [name] }, by)
  }

  async #announce(change: { set: string[]; removed: string[] }, by: { session?: string; evalId?: string }) {
    const { generation } = this.globals
    const seen = this.#context.hostsOf(this.name).map((host) => host.announce(generation))
    this.#context.emit({ type: "globals.changed", workspace: this.name, ...change, ...by })
    await Promise.all(seen)
  }

  /** Answers a question of code whose eval is the one under way in `caller`. */
  answer(caller: Session, call: SyncCall, op: Question): SyncAnswer | Promise<SyncAnswer> {
    const { key, evalId } = call
    const target = call.target ?? ""
    if (isAboutOthers(op) && target !== caller.id && !caller.grants.has("sessions.read")) {
      return refusal("capability_denied", denialText("Reading other sessions", "sessions.read", caller.profile))
    }
    switch (op) {
      case "find":
        return answer(this.#alive(target)?.kind ?? "")
      case "sessions":
        return answer(JSON.stringify(this.#list()))
      case "info":
        return answer(infoText(this.#alive(target)))
      case "global": {
        const global = this.globals.get(key)
        if (global === undefined) return answer("n")
        return global.version === call.version ? answer("s") : answer(`v${global.version}`, global.bytes)
      }
      case "globals":
        return answer(JSON.stringify(this.globals.names()))
      case "bind":
      case "unbind":
      case "show":
        return this.#write(caller, op, key, evalId, call.bytes)
      case "keys":
      case "includes":
      case "read":
        return this.#read(op, target, key, call.version ?? 0)
    }
    op satisfies never
    throw new Error(`Broken invariant: '${String(op)}' is no question.`)
  }

  /** A session that is being closed is no longer alive for others. */
  #alive(id: string): Session | undefined {
    const session = this.sessions.get(id)
    return session?.isClosed === true ? undefined : session
  }

  /** Kinds and ids in turn. */
  #list(): string[] {
    const list: string[] = []
    for (const { kind, id, isClosed } of this.sessions.values()) if (!isClosed) list.push(kind, id)
    return list
  }

  #read(op: "keys" | "includes" | "read", target: string, key: string, version: number): SyncAnswer {
    const session = this.#alive(target)
    if (session === undefined) {
      return refusal("session_not_found", `Session '${target}': the session is no longer alive.`)
    }
    const { state } = session
    if (op === "keys") return answer(JSON.stringify(committedKeys(state)))
    if (op === "includes") return answer(isCommitted(state, key) ? "1" : "0")
    return readCommitted(state, key, version, this.#context.versions)
  }

  #write(
    caller: Session,
    op: "bind" | "unbind" | "show",
    key: string,
    evalId: string,
    bytes: Uint8Array,
  ): SyncAnswer | Promise<SyncAnswer> {
    const needed = op === "show" ? "print" : "globals.write"
    if (!caller.grants.has(needed)) {
      const what = op === "show" ? "Transcript.show" : `Workspace.${op}`
      return refusal("capability_denied", denialText(what, needed, caller.profile))
    }
    const by = { session: caller.id, evalId }
    if (op === "show") {
      if (key.length > transcriptTextMax) {
        return refusal("value_too_large", `A text of the transcript has at most ${transcriptTextMax} characters.`)
      }
      this.#context.emit({ type: "transcript.shown", workspace: this.name, ...by, text: key })
      return answer("")
    }
    const changes = op === "bind" || this.globals.has(key)
    return (op === "bind" ? this.bind(key, bytes, by) : this.unbind(key, by)).then(
      () => {
        if (changes) caller.shell?.noteGlobal(evalId, key)
        return answer("")
      },
      (error: unknown) => {
        if (error instanceof NacreError) return refusal(error.kind, error.message)
        throw error
      },
    )
  }
}

/** Questions whose answer is about sessions. */
function isAboutOthers(op: Question): boolean {
  return op === "find" || op === "sessions" || op === "info" || op === "keys" || op === "includes" || op === "read"
}

/** What is known of a session, as JSON; empty when it is not alive. */
function infoText(session: Session | undefined): string {
  if (session === undefined) return ""
  const { id, kind, profile, principal, openedAt } = session
  return JSON.stringify({ id, kind, profile, principal, openedAt: new Date(openedAt).toISOString() })
}
