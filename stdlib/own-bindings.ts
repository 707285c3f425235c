// What `Session.current.bindings` shows: the session's own names as they were when the eval began.
//
//   reads    what a name held when the eval began: the same object, neither this eval's assignments nor its queued writes
//   writes   queued in the shell, which has them when the call returns; applied when the eval ends, in order, over its assignments
//
// The queue is the shell's, because the shell outlives the thread. Here only the objects themselves are kept, so that an eval which ends
// by itself binds the very object that was put.
import { arrayPush, isListed, objectFreeze } from "./intrinsics.ts"
import { kindError, opWrite, refuseWith } from "./bridge.ts"
import type { Bridge } from "./bridge.ts"
import type { ViewSource } from "./bindings-view.ts"
import { unnamedMark } from "./environment.ts"
import type { Environment } from "./environment.ts"

export interface OwnServices {
  readonly bridge: Bridge
  readonly environment: Environment
  /** The objects of queued puts, by their place in the queue; holes for the other ops. */
  readonly held: unknown[]
  /** The value as a payload, or a text that says why it has none. */
  encodeWrite(key: string, value: unknown): unknown
}

/** Names that code in strict mode cannot declare or assign to. */
const constantNames: readonly string[] = objectFreeze(["undefined", "NaN", "Infinity", "eval", "arguments"])

export class OwnBindings implements ViewSource {
  readonly #services: OwnServices

  constructor(services: OwnServices) {
    this.#services = services
  }

  read(key: string): { value: unknown } | undefined {
    return this.#services.environment.readAtStart(key)
  }

  has(key: string): boolean {
    return this.read(key) !== undefined
  }

  keys(): string[] {
    return this.#services.environment.namesAtStart()
  }

  put(key: string, value: unknown): void {
    if (key[0] === unnamedMark)
      throw kindError(
        "name_conflict",
        `No binding can have the name '${key}': names that begin so are the runtime's own.`,
      )
    if (isListed(constantNames, key))
      throw kindError("name_conflict", `'${key}' means something to the language, and no binding can have that name.`)
    const state = this.#services.environment.readAtStart(key)?.state
    if (state === "definition" || state === "import") {
      throw kindError(
        "binding_is_definition",
        `'${key}' is a definition; declare it again to replace it, or remove it first.`,
      )
    }
    this.#write("atPut", key, value, this.#services.encodeWrite(key, value))
  }

  remove(key: string): void {
    this.#write("removeKey", key, undefined, undefined)
  }

  clear(): void {
    this.#write("clear", "", undefined, undefined)
  }

  #write(op: string, key: string, value: unknown, payload: unknown): void {
    const refusal = this.#services.bridge.callOutside(`Bindings ${op}`, opWrite, op, key, payload)
    // "kind: message" when the shell refused it, or did not answer in time.
    if (typeof refusal === "string") throw refuseWith(refusal)
    arrayPush(this.#services.held, value)
  }
}
