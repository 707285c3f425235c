// What the view of another session shows: its committed bindings, read only, answered by its shell at any time.
//
// A value is decoded once for each version of it and frozen; the same read of an unchanged binding gives the same object. One with parts
// that cannot be frozen is made anew for each eval, so that what one eval did to its copy is never taken for the other session's state.
import { jsonParse, MapOf, mapGet, mapSet, newList, numberParseInt, stringSlice } from "./intrinsics.ts"
import { kindError } from "./bridge.ts"
import type { Asker } from "./asker.ts"
import type { ViewSource } from "./bindings-view.ts"
import { decodeShared } from "./shared-copy.ts"
import type { SharedCopy, SharedNames } from "./shared-copy.ts"

export interface OthersServices {
  readonly asker: Asker
  readonly names: SharedNames
  /** Something that is another one for each eval. */
  evalMark(): unknown
}

interface ReadCopy extends SharedCopy {
  readonly version: number
  readonly mark: unknown
}

/** Values of elsewhere by key: one version of each. */
export class SharedCopies {
  readonly #services: OthersServices
  readonly #copies = new MapOf<string, ReadCopy>()

  constructor(services: OthersServices) {
    this.#services = services
  }

  /** Asks for the value of `key`, unless the copy at hand is of the present version. */
  read(what: string, question: string, key: string, target: string, names: SharedNames): SharedCopy | undefined {
    const { asker, evalMark } = this.#services
    const mark = evalMark()
    const copy = mapGet<ReadCopy>(this.#copies, key)
    const isUsable = copy !== undefined && (!copy.isMutable || copy.mark === mark)
    const answer = asker.ask(what, question, key, target, isUsable ? copy.version : 0)
    const form = answer[0]
    if (form === "s" && isUsable) return copy
    if (form !== "v" && form !== "g") return undefined
    const answered = asker.take()
    if (answered === undefined) throw kindError("internal", `The value of '${key}' did not come with its answer.`)
    const { value, isMutable } = decodeShared(key, form === "g", answered, names)
    const fresh = { value, isMutable, version: numberParseInt(stringSlice(answer, 1), 10), mark }
    mapSet(this.#copies, key, fresh)
    return fresh
  }
}

export class OtherBindings implements ViewSource {
  readonly #id: string
  readonly #services: OthersServices
  readonly #names: SharedNames
  readonly #copies: SharedCopies

  /** `self` is the session whose bindings these are: what its values call their own session. */
  constructor(id: string, services: OthersServices, self: () => { session: object; view: object }) {
    this.#id = id
    this.#services = services
    this.#copies = new SharedCopies(services)
    const { isIntrinsic, prototypeOf, isShared, construct, privatesOf } = services.names
    this.#names = {
      isIntrinsic,
      prototypeOf,
      isShared,
      construct,
      privatesOf,
      resolve: (reference) =>
        reference === "s:Session.own"
          ? self().session
          : reference === "s:Session.own.bindings"
            ? self().view
            : services.names.resolve(reference),
    }
  }

  read(key: string): { value: unknown } | undefined {
    return this.#copies.read("Reading another session", "read", key, this.#id, this.#names)
  }

  has(key: string): boolean {
    return this.#services.asker.ask("Reading another session", "includes", key, this.#id) === "1"
  }

  keys(): string[] {
    return textList(this.#services.asker.ask("Reading another session", "keys", "", this.#id))
  }

  put(): void {
    refuseCrossSession("atPut")
  }

  remove(): void {
    refuseCrossSession("removeKey")
  }
}

export function refuseCrossSession(operation: string): never {
  throw kindError(
    "cross_session_mutation_unsupported",
    `${operation}: cannot mutate bindings of another session; reads only. Write to Session.current, or read the other through Session.withId(id).`,
  )
}

/** A list that came as JSON, as one without prototype. */
export function textList(json: string): string[] {
  const parsed = jsonParse(json) as string[]
  const list: string[] = newList()
  for (let index = 0; index < parsed.length; index++) list[index] = parsed[index]!
  return list
}
