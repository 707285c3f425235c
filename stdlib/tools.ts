// `tools.name(…)`: calls of the embedder's functions from session code, as promises of this realm.
//
// Arguments and results are encoded values, so nothing is shared. The eval is parked while it waits; a call from code of an ended eval
// is refused. The object is frozen: which tools a session has is fixed when it is opened.
import { MapOf, mapDelete, mapGet, mapSet, objectFreeze, PromiseOf, putOwn, withoutPrototype } from "./intrinsics.ts"
import { kindError, opToolCall } from "./bridge.ts"
import type { Bridge } from "./bridge.ts"

interface PendingCall {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
}

/** What makes a payload of arguments; fails when one cannot leave the realm. */
export type EncodeArguments = (args: unknown[], what: string) => unknown

export class RealmTools {
  readonly #bridge: Bridge
  readonly #encode: EncodeArguments
  readonly #pending = new MapOf<number, PendingCall>()
  #last = 0

  constructor(bridge: Bridge, encode: EncodeArguments) {
    this.#bridge = bridge
    this.#encode = encode
  }

  makeTools(names: readonly string[]): object {
    const tools = withoutPrototype({})
    for (let index = 0; index < names.length; index++) {
      const name = names[index]!
      putOwn(tools, name, this.#makeTool(name))
    }
    return objectFreeze(tools)
  }

  /** Called by the worker when the embedder has answered. */
  settle(callId: number, ok: boolean, value: unknown): void {
    const call = mapGet<PendingCall>(this.#pending, callId)
    if (call === undefined) return
    mapDelete(this.#pending as never, callId)
    if (ok) call.resolve(value)
    else call.reject(value)
  }

  /** Called by the worker when the call's eval has ended: nobody waits any more. */
  forget(callId: number): void {
    mapDelete(this.#pending as never, callId)
  }

  #makeTool(name: string): () => Promise<unknown> {
    const call = (args: ArrayLike<unknown>): Promise<unknown> =>
      new PromiseOf((resolve, reject) => {
        // An ordinary array for whoever receives it, filled without asking its prototype.
        const list: unknown[] = []
        for (let index = 0; index < args.length; index++) putOwn(list, index, args[index])
        const payload = this.#encode(list, `An argument of tools.${name}`)
        const callId = ++this.#last
        this.#bridge.callOutside(`Calling tools.${name}`, opToolCall, callId, name, payload)
        mapSet(this.#pending, callId, { resolve, reject })
      })
    const named = {
      [name]() {
        return call(arguments)
      },
    }
    return objectFreeze(named[name]!)
  }
}

/** What a failed call rejects with when the tool's own error could not travel. */
export function toolError(kind: string, message: string): Error {
  return kindError(kind === "" ? "tool_failed" : kind, message)
}
