// What one session may read of another: its committed bindings, as they are, at any time.
//
// The answer never waits for the session that is read: its committed state lies in this process. Values go as the bytes that were
// committed; the realm that asked decodes them, and says there when part of a value means nothing outside its session.
import { isCodeChange } from "../wire/code-changes.ts"
import type { SyncAnswer } from "../host/host.ts"
import type { SessionState } from "../session/state.ts"
import { packPlainValue } from "../wire/values/pack.ts"

/** Numbers for values: the same number is the same value. */
export class Versions {
  readonly #numbers = new WeakMap<object, number>()
  #last = 0

  /** Of a local as the state holds it: replaced whenever it is committed anew. */
  of(local: object): number {
    const known = this.#numbers.get(local)
    if (known !== undefined) return known
    this.#last += 1
    this.#numbers.set(local, this.#last)
    return this.#last
  }
}

export function answer(message: string, bytes?: Uint8Array): SyncAnswer {
  return bytes === undefined ? { ok: true, kind: "", message } : { ok: true, kind: "", message, bytes }
}

export function refusal(kind: string, message: string): SyncAnswer {
  return { ok: false, kind, message }
}

/**
 * "n" when the name is not bound, "s" when the asking realm has that version, "v12" or "g12" when the bytes hold the value by itself or
 * the group it is of, at version 12.
 */
export function readCommitted(state: SessionState, key: string, known: number, versions: Versions): SyncAnswer {
  const local = isCodeChange(key) ? undefined : state.locals.get(key)
  if (local === undefined) {
    if (!state.definitions.has(key)) return answer("n")
    return refusal("value_not_transferable", `'${key}' is a definition of another session: code does not leave it.`)
  }
  if (local.held === "lost") return refusal("binding_lost", `The binding '${key}' was lost: ${local.reason}`)
  if (local.held === "realm") {
    return refusal("value_not_transferable", `'${key}' holds ${local.what}, which cannot leave its session.`)
  }
  const version = versions.of(local)
  if (version === known) return answer("s")
  return local.held === "value"
    ? answer(`v${version}`, packPlainValue(local.value))
    : answer(`g${version}`, local.group.bytes)
}

export function committedKeys(state: SessionState): string[] {
  return [...new Set([...state.locals.keys(), ...state.definitions.keys()])].filter((name) => !isCodeChange(name))
}

export function isCommitted(state: SessionState, key: string): boolean {
  return (state.locals.has(key) && !isCodeChange(key)) || state.definitions.has(key)
}
