// `tools.name(…)`: calls of the embedder's functions from session code, as promises of this realm.
//
// Arguments and results are encoded values, so nothing is shared. The eval is parked while it waits; a call from code of an ended eval
// is refused. The object is frozen: which tools a session has is fixed when it is opened.
import {
  descriptorOf,
  ErrorOf,
  MapOf,
  mapDelete,
  mapGet,
  mapSet,
  objectFreeze,
  PromiseOf,
  putOwn,
  withoutPrototype,
} from "./intrinsics.ts"
import { kindError, opToolCall } from "./bridge.ts"
import type { Bridge } from "./bridge.ts"
import type { Capabilities } from "./capabilities.ts"
import { brandOf } from "./brands.ts"
import { errorHeader } from "./error-header.ts"
import { lendStack } from "./error-stack.ts"
import { makeFacade } from "./proxy-record.ts"

interface PendingCall {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: unknown) => void
  /** Made where the tool was called: a failure has its frames. */
  readonly site: object
}

/** Names that one message lists. */
const toolsListedMax = 20

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

  makeTools(names: readonly string[], capabilities: Capabilities): object {
    const tools = withoutPrototype({})
    for (let index = 0; index < names.length; index++) {
      const name = names[index]!
      putOwn(tools, name, this.#makeTool(name))
    }
    objectFreeze(tools)
    return makeFacade(
      tools,
      withoutPrototype({ get: (_target: object, key: string | symbol) => toolOf(tools, key, names, capabilities) }),
    )
  }

  /** Called by the worker when the embedder has answered. */
  settle(callId: number, ok: boolean, value: unknown): void {
    const call = mapGet<PendingCall>(this.#pending, callId)
    if (call === undefined) return
    mapDelete(this.#pending as never, callId)
    if (ok) call.resolve(value)
    else {
      if (typeof value === "object" && value !== null && brandOf(value) === "error") {
        lendStack(value, call.site, errorHeader(value))
      }
      call.reject(value)
    }
  }

  /** Called by the worker when the call's eval has ended: nobody waits any more. */
  forget(callId: number): void {
    mapDelete(this.#pending as never, callId)
  }

  /** Calls what the embedder's process has under a name: a tool, or what Nacre has there under a name that no tool has. */
  call(what: string, name: string, args: ArrayLike<unknown>, site: object): Promise<unknown> {
    let refusal: unknown
    const called = new PromiseOf((resolve, reject) => {
      // An ordinary array for whoever receives it, filled without asking its prototype.
      const list: unknown[] = []
      for (let index = 0; index < args.length; index++) putOwn(list, index, args[index])
      const payload = this.#encode(list, `An argument of ${what}`)
      const callId = ++this.#last
      try {
        this.#bridge.callOutside(`Calling ${what}`, opToolCall, callId, name, payload)
      } catch (error) {
        if (descriptorOf(error as object, "kind")?.value !== "outside_call") throw error
        refusal = error
        return resolve(undefined)
      }
      mapSet(this.#pending, callId, { resolve, reject, site })
    })
    // Not as a rejection: while a definition is made nobody waits for one, and its place would be lost.
    if (refusal !== undefined) throw refusal
    return called
  }

  #makeTool(name: string): () => Promise<unknown> {
    const call = (args: ArrayLike<unknown>, site: object) => this.call(`tools.${name}`, name, args, site)
    const named = {
      [name]() {
        return call(arguments, new ErrorOf())
      },
    }
    return objectFreeze(named[name]!)
  }
}

/** A tool by name; what is none throws at once and says which there are, where `undefined` would end in a TypeError about calling it. */
function toolOf(tools: object, key: string | symbol, names: readonly string[], capabilities: Capabilities): unknown {
  const found = descriptorOf(tools, key)
  if (found !== undefined) return found.value
  // What the language and its libraries ask any object for is simply not there.
  if (typeof key !== "string" || key === "then" || key === "toJSON" || key === "constructor" || key === "toString") {
    return undefined
  }
  if (!capabilities.hasTool(key)) throw capabilities.refusal(`tools.${key}`, `tools.${key}`)
  let known = ""
  for (let index = 0; index < names.length && index < toolsListedMax; index++) {
    known += index === 0 ? names[index]! : `, ${names[index]!}`
  }
  if (names.length > toolsListedMax) known += `, and ${names.length - toolsListedMax} more`
  throw kindError("tool_not_found", `There is no tool '${key}'; this session has: ${known === "" ? "none" : known}.`)
}

/** What a failed call rejects with when the tool's own error could not travel. */
export function toolError(kind: string, message: string): Error {
  return kindError(kind === "" ? "tool_failed" : kind, message)
}
