// `BindingsView`: a dictionary of names, for session code. What it shows and where its writes go is its source's business.
//
//   own-bindings.ts     the session's own names: reads from the start of the eval, writes queued for its end
//   other-session.ts    another session's names: read only
//   workspace.ts        the workspace's globals, with synchronous writes, and its class registry
//
// The class is sealed: views are made by `mintView`, and a method called on anything else is a `type_error`.
import {
  arrayPush,
  defineOwn,
  descriptorOf,
  FunctionPrototype,
  iteratorSymbol,
  objectFreeze,
  setPrototype,
  TypeErrorOf,
} from "./intrinsics.ts"
import { kindError } from "./bridge.ts"

export interface ViewSource {
  /** What the key holds; `undefined` when it is not bound. Throws what reading it is refused with. */
  read(key: string): { value: unknown } | undefined
  has(key: string): boolean
  /** A list without prototype. */
  keys(): string[]
  put(key: string, value: unknown): void
  remove(key: string): void
}

/** How a value shows inside a view that is shown. */
export type ShowValue = (value: unknown) => string

/** Entries of a view that are shown; more are counted. Each entry of another session's view is a call. */
const viewEntriesShown = 20

const viewMint = objectFreeze({})
let sourceOfView: (view: unknown) => ViewSource

export class BindingsView {
  readonly #source: ViewSource

  static {
    sourceOfView = (view) => {
      if (typeof view === "object" && view !== null && #source in view) return view.#source
      throw kindError("type_error", "Expected a BindingsView: its methods work on views only.")
    }
  }

  constructor(source: ViewSource, mint: object) {
    if (mint !== viewMint)
      throw new TypeErrorOf("A BindingsView cannot be constructed: use session.bindings or Workspace.globals.")
    this.#source = source
    objectFreeze(this)
  }

  at(key: string): unknown {
    return sourceOfView(this).read(viewKey(key, "at"))?.value
  }

  includesKey(key: string): boolean {
    return sourceOfView(this).has(viewKey(key, "includesKey"))
  }

  atPut<T>(key: string, value: T): T {
    sourceOfView(this).put(viewKey(key, "atPut"), value)
    return value
  }

  removeKey(key: string): undefined {
    sourceOfView(this).remove(viewKey(key, "removeKey"))
  }

  keys(): string[] {
    const names: string[] = []
    const bound = sourceOfView(this).keys()
    for (let index = 0; index < bound.length; index++) arrayPush(names, bound[index]!)
    return names
  }

  values(): unknown[] {
    const values: unknown[] = []
    const source = sourceOfView(this)
    const keys = source.keys()
    for (let index = 0; index < keys.length; index++) arrayPush(values, source.read(keys[index]!)?.value)
    return values
  }

  get size(): number {
    return sourceOfView(this).keys().length
  }

  do(visit: (value: unknown) => void): void {
    const source = sourceOfView(this)
    const keys = source.keys()
    for (let index = 0; index < keys.length; index++) visit(source.read(keys[index]!)?.value)
  }
}

export function mintView(source: ViewSource): BindingsView {
  return new BindingsView(source, viewMint)
}

/** A view as a dictionary: what cannot be read shows why. */
export function viewText(view: BindingsView, show: ShowValue): string {
  const source = sourceOfView(view)
  let keys: string[]
  try {
    keys = source.keys()
  } catch (error) {
    return `BindingsView <${viewRefusal(error)}>`
  }
  if (keys.length === 0) return "{}"
  let text = ""
  for (let index = 0; index < keys.length && index < viewEntriesShown; index++) {
    let shown: string
    try {
      shown = show(source.read(keys[index]!)?.value)
    } catch (error) {
      shown = `<${viewRefusal(error)}>`
    }
    text += `${index === 0 ? "" : ", "}${keys[index]!}: ${shown}`
  }
  const more = keys.length - viewEntriesShown
  return more > 0 ? `{ ${text}, ... ${more} more }` : `{ ${text} }`
}

function viewRefusal(error: unknown): string {
  const kind = typeof error === "object" && error !== null ? (descriptorOf(error, "kind")?.value as unknown) : undefined
  return typeof kind === "string" ? kind : "unreadable"
}

function viewKey(key: unknown, method: string): string {
  if (typeof key !== "string")
    throw kindError("type_error", `BindingsView.${method} takes a name as a string, not ${typeof key}.`)
  return key
}

/** Completes the class once per realm: iteration, text, and words for those who reach for a Map's methods. */
export function sealBindingsView(show: ShowValue): void {
  const prototype = BindingsView.prototype
  const define = (key: PropertyKey, value: unknown): void => {
    defineOwn(prototype, key, { __proto__: null, value } as PropertyDescriptor)
  }
  define(iteratorSymbol, function* entries(this: BindingsView) {
    const source = sourceOfView(this)
    const keys = source.keys()
    for (let index = 0; index < keys.length; index++) {
      const entry: unknown[] = []
      arrayPush(entry, keys[index])
      arrayPush(entry, source.read(keys[index]!)?.value)
      yield entry
    }
  })
  define("toString", function toString(this: BindingsView) {
    return viewText(this, show)
  })
  const wrong = (used: string, right: string) => () => {
    throw new TypeErrorOf(`A BindingsView has no '${used}': use '${right}'.`)
  }
  define("get", wrong("get", "at"))
  define("set", wrong("set", "atPut"))
  setPrototype(BindingsView, FunctionPrototype)
  objectFreeze(prototype)
  objectFreeze(BindingsView)
}
