// `Session.current.bindings`: a dictionary of the session's names, with reads from the start of the eval and writes for its end.
//
//   reads    what a name held when the eval began: the same object, neither this eval's assignments nor its queued writes
//   writes   queued in the shell, which has them when the call returns; applied when the eval ends, in order, over its assignments
//
// The queue is the shell's, because the shell outlives the thread. Here only the objects themselves are kept, so that an eval which ends
// by itself binds the very object that was put.
import {
  arrayPush,
  defineOwn,
  FunctionPrototype,
  iteratorSymbol,
  objectFreeze,
  setPrototype,
  TypeErrorOf,
} from "./intrinsics.ts"
import { kindError, opWrite } from "./bridge.ts"
import type { Bridge } from "./bridge.ts"
import type { Environment } from "./environment.ts"

/** The objects of queued puts, by their place in the queue; holes for the other ops. */
export type HeldWrites = unknown[]

export interface ViewSource {
  readonly bridge: Bridge
  readonly environment: Environment
  readonly held: HeldWrites
  /** The value as a payload, or a text that says why it has none. */
  encodeWrite(key: string, value: unknown): unknown
}

export class BindingsView {
  readonly #source: ViewSource

  constructor(source: ViewSource) {
    this.#source = source
    objectFreeze(this)
  }

  at(key: string): unknown {
    return this.#source.environment.readAtStart(checkKey(key, "at"))?.value
  }

  includesKey(key: string): boolean {
    return this.#source.environment.readAtStart(checkKey(key, "includesKey")) !== undefined
  }

  atPut<T>(key: string, value: T): T {
    checkKey(key, "atPut")
    if (this.#source.environment.readAtStart(key)?.state === "definition") {
      throw kindError(
        "binding_is_definition",
        `'${key}' is a definition; declare it again to replace it, or remove it first.`,
      )
    }
    this.#write("atPut", key, value, this.#source.encodeWrite(key, value))
    return value
  }

  removeKey(key: string): undefined {
    this.#write("removeKey", checkKey(key, "removeKey"), undefined, undefined)
  }

  keys(): string[] {
    const names: string[] = []
    const bound = this.#source.environment.namesAtStart()
    for (let index = 0; index < bound.length; index++) arrayPush(names, bound[index]!)
    return names
  }

  values(): unknown[] {
    const values: unknown[] = []
    const keys = this.keys()
    for (let index = 0; index < keys.length; index++) arrayPush(values, this.at(keys[index]!))
    return values
  }

  get size(): number {
    return this.keys().length
  }

  do(visit: (value: unknown) => void): void {
    const values = this.values()
    for (let index = 0; index < values.length; index++) visit(values[index])
  }

  /** Internal: `Session.clear`. */
  static clear(source: ViewSource): undefined {
    write(source, "clear", "", undefined, undefined)
  }

  #write(op: string, key: string, value: unknown, payload: unknown): void {
    write(this.#source, op, key, value, payload)
  }
}

function write(source: ViewSource, op: string, key: string, value: unknown, payload: unknown): void {
  const refusal = source.bridge.callOutside(`Bindings ${op}`, opWrite, op, key, payload)
  // "kind: message" when the shell refused it, or did not answer in time.
  if (typeof refusal === "string") {
    let at = 0
    while (at < refusal.length && refusal[at] !== ":") at += 1
    let kind = ""
    for (let index = 0; index < at; index++) kind += refusal[index]!
    let message = ""
    for (let index = at + 2; index < refusal.length; index++) message += refusal[index]!
    throw kindError(kind, message)
  }
  arrayPush(source.held, value)
}

function checkKey(key: unknown, method: string): string {
  if (typeof key !== "string")
    throw kindError("type_error", `BindingsView.${method} takes a name as a string, not ${typeof key}.`)
  return key
}

/** Completes the class once per realm: iteration, and words for those who reach for a Map's methods. */
export function sealBindingsView(): void {
  const prototype = BindingsView.prototype
  defineOwn(prototype, iteratorSymbol, {
    __proto__: null,
    value: function* entries(this: BindingsView) {
      const keys = this.keys()
      for (let index = 0; index < keys.length; index++) yield [keys[index], this.at(keys[index]!)]
    },
  } as PropertyDescriptor)
  const wrong = (used: string, right: string) => ({
    __proto__: null,
    value: () => {
      throw new TypeErrorOf(`A BindingsView has no '${used}': use '${right}'.`)
    },
  })
  defineOwn(prototype, "get", wrong("get", "at"))
  defineOwn(prototype, "set", wrong("set", "atPut"))
  setPrototype(BindingsView, FunctionPrototype)
  objectFreeze(prototype)
}
