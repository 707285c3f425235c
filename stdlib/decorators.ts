// Standard decorators at run time: what the text made by `runtime/language/desugar.ts` calls.
//
// The state of a decorated class is data and functions only, since it travels with the class: what decorators want done with a field, what they
// want run, and the private methods they replaced. Decorators are called by captured built-ins; what they get is of the session's realm.
import { makeBound } from "./bound-record.ts"
import {
  applyFunction,
  defineOwn,
  deleteOwn,
  descriptorOf,
  listOf,
  newList,
  objectCreate,
  putOwn,
  symbolMetadata,
  TypeErrorOf,
} from "./intrinsics.ts"

type Fn = (...args: never[]) => unknown

interface DecoratedElement {
  readonly kind: "method" | "getter" | "setter" | "field" | "accessor"
  readonly name: string | symbol
  readonly static: boolean
  readonly private: boolean
  readonly index: number
  /** For a private one they are methods of the class, taken away from it. */
  readonly has?: Fn
  readonly get?: Fn
  readonly set?: Fn
}

interface ClassState {
  /** Decorators of the class, and of its members by their index. Gone once they were applied. */
  d: unknown[] | undefined
  l: unknown[][] | undefined
  /** Computed keys. */
  k: (string | symbol)[]
  /** What private methods and accessors do. */
  v: unknown[]
  /** Initialisers of a field, and what runs after it, by the index of the member. */
  i: (Fn[] | undefined)[]
  e: (Fn[] | undefined)[]
  /** What runs for an instance before its fields, for the class before its static fields, and for the class at the end. */
  instance: Fn[]
  statics: Fn[]
  finish: Fn[]
  made: object | undefined
}

export function decoratedState(): ClassState {
  return {
    __proto__: null,
    d: undefined,
    l: newList(),
    k: newList(),
    v: newList(),
    i: newList(),
    e: newList(),
    instance: newList(),
    statics: newList(),
    finish: newList(),
    made: undefined,
  } as unknown as ClassState
}

/** Applies all decorators of a class whose methods are there and whose static fields are not. Returns what stands for the class. */
export function applyDecorators(made: object, state: ClassState, elements: readonly DecoratedElement[]): object {
  const prototype = descriptorOf(made, "prototype")!.value as object
  const metadata = newMetadata(made)
  deleteOwn(made, "$$_t")
  for (let at = 0; at < elements.length; at++) {
    const { kind, private: isPrivate, static: isStatic, index, name } = elements[at]!
    if (!isPrivate || kind === "field") continue
    const owner = isStatic ? made : prototype
    if (kind === "accessor") {
      const { get, set } = taken(owner, `$$_o${index}`)!
      state.v[index] = { __proto__: null, get, set }
    } else state.v[index] = ownPart(descriptorOf(owner, name)!, kind)
  }
  for (let at = 0; at < elements.length; at++) {
    const { kind, private: isPrivate, static: isStatic, name } = elements[at]!
    if (isPrivate && kind !== "field" && kind !== "accessor") deleteOwn(isStatic ? made : prototype, name)
  }
  for (let pass = 0; pass < 4; pass++) {
    for (let at = 0; at < elements.length; at++) {
      const element = elements[at]!
      if ((element.kind === "field") !== pass >= 2 || element.static !== (pass % 2 === 0)) continue
      applyToElement(made, element, element.static ? made : prototype, state, metadata)
    }
  }
  let result: unknown = made
  const decorators = state.d
  if (decorators !== undefined) {
    const name = descriptorOf(made, "name")?.value as unknown
    const extras: Fn[] = newList()
    for (let at = decorators.length - 1; at >= 0; at--) {
      const adding: Adding = { list: extras }
      const context: Record<string, unknown> = {}
      putOwn(context, "kind", "class")
      putOwn(context, "name", name)
      putOwn(context, "metadata", metadata)
      putOwn(context, "addInitializer", adder(adding))
      const next = applyFunction(functionOf(decorators[at]), undefined, listOf([result, context]))
      adding.list = undefined
      if (next !== undefined) result = functionOf(next)
    }
    state.finish = extras
  }
  state.made = result as object
  state.d = undefined
  state.l = undefined
  defineOwn(result as object, symbolMetadata, {
    __proto__: null,
    value: metadata,
    enumerable: true,
    configurable: true,
    writable: true,
  } as PropertyDescriptor)
  return result as object
}

/** It inherits the metadata of what the class extends, read as the language reads a property. */
function newMetadata(made: object): object {
  const parent = (made as Record<symbol, unknown>)[symbolMetadata]
  return objectCreate(typeof parent === "object" ? parent : null)
}

function ownPart(descriptor: PropertyDescriptor, kind: DecoratedElement["kind"]): unknown {
  return kind === "getter" ? descriptor.get : kind === "setter" ? descriptor.set : descriptor.value
}

/** A property that is there for us alone, and is no longer. */
function taken(owner: object, key: string): PropertyDescriptor | undefined {
  const descriptor = descriptorOf(owner, key)
  deleteOwn(owner, key)
  return descriptor
}

function takenMethod(made: object, key: string, name: string): Fn | undefined {
  const method = taken(made, key)?.value as Fn | undefined
  if (method !== undefined) {
    defineOwn(method, "name", { __proto__: null, value: name, configurable: true } as PropertyDescriptor)
  }
  return method
}

function applyToElement(
  made: object,
  element: DecoratedElement,
  owner: object,
  state: ClassState,
  metadata: object,
): void {
  const { kind, name, static: isStatic, private: isPrivate, index } = element
  const decorators = state.l![index]!
  const isField = kind === "field"
  const own = isPrivate ? undefined : descriptorOf(owner, name)
  let current: unknown = isField
    ? undefined
    : isPrivate
      ? state.v[index]
      : kind === "accessor"
        ? own
        : ownPart(own!, kind)
  let getter: unknown
  let setter: unknown
  if (kind === "accessor") {
    getter = (current as PropertyDescriptor).get
    setter = (current as PropertyDescriptor).set
  }
  const access = isPrivate
    ? {
        has: takenMethod(made, `$$_h${index}`, "has"),
        get: takenMethod(made, `$$_g${index}`, "get"),
        set: takenMethod(made, `$$_s${index}`, "set"),
      }
    : { has: element.has, get: element.get, set: element.set }
  const initial: Fn[] = newList()
  const extras: Fn[] = isField || kind === "accessor" ? newList() : isStatic ? state.statics : state.instance
  for (let at = decorators.length - 1; at >= 0; at--) {
    const adding: Adding = { list: extras }
    const context: Record<string, unknown> = {}
    putOwn(context, "kind", kind)
    putOwn(context, "name", name)
    putOwn(context, "static", isStatic)
    putOwn(context, "private", isPrivate)
    putOwn(context, "access", accessOf(access))
    putOwn(context, "metadata", metadata)
    putOwn(context, "addInitializer", adder(adding))
    let value = current
    if (kind === "accessor") {
      value = {}
      putOwn(value as object, "get", getter)
      putOwn(value as object, "set", setter)
    }
    const result = applyFunction(functionOf(decorators[at]), undefined, listOf([value, context]))
    adding.list = undefined
    if (kind === "accessor") {
      if (result === undefined) continue
      if (typeof result !== "object" || result === null) throw new TypeErrorOf("Object expected")
      const { get, set, init } = result as Record<string, unknown>
      if (get !== undefined) getter = functionOf(get)
      if (set !== undefined) setter = functionOf(set)
      if (init !== undefined) prepend(initial, functionOf(init))
    } else if (result !== undefined) {
      if (isField) prepend(initial, functionOf(result))
      else current = functionOf(result)
    }
  }
  if (isField || kind === "accessor") {
    state.i[index] = initial
    state.e[index] = extras
  }
  if (isField) return
  if (isPrivate) {
    state.v[index] = kind === "accessor" ? { __proto__: null, get: getter, set: setter } : current
    return
  }
  const descriptor = { __proto__: null, enumerable: false, configurable: true } as PropertyDescriptor
  if (kind === "accessor") {
    descriptor.get = getter as () => unknown
    descriptor.set = setter as (value: unknown) => void
  } else if (kind === "getter" || kind === "setter") {
    descriptor.get = (kind === "getter" ? current : own!.get) as () => unknown
    descriptor.set = (kind === "setter" ? current : own!.set) as (value: unknown) => void
  } else {
    descriptor.value = current
    descriptor.writable = true
  }
  defineOwn(owner, name, descriptor)
}

function accessOf({ has, get, set }: Record<"has" | "get" | "set", Fn | undefined>): object {
  const access = {}
  putOwn(access, "has", has)
  if (get !== undefined) putOwn(access, "get", get)
  if (set !== undefined) putOwn(access, "set", set)
  return access
}

/** What a decorator's `addInitializer` adds to, until it has returned. */
interface Adding {
  list: Fn[] | undefined
}

/** What every `addInitializer` is, bound to what it adds to: so it is a value, like all that a decorator may keep. */
export function addInitializer(adding: Adding, initializer: unknown): void {
  if (adding.list === undefined) throw new TypeErrorOf("Cannot add initializers after decoration has completed")
  adding.list[adding.list.length] = functionOf(initializer)
}

function adder(adding: Adding): unknown {
  const made = makeBound(addInitializer, undefined, listOf([adding]))
  defineOwn(made, "name", { __proto__: null, value: "addInitializer", configurable: true } as PropertyDescriptor)
  return made
}

function functionOf(value: unknown): Fn {
  if (typeof value !== "function") throw new TypeErrorOf("Function expected")
  return value as Fn
}

function prepend(list: Fn[], item: Fn): void {
  for (let at = list.length; at > 0; at--) list[at] = list[at - 1]!
  list[0] = item
}

function runAll(list: readonly Fn[] | undefined, self: unknown): void {
  if (list === undefined) return
  for (let at = 0; at < list.length; at++) applyFunction(list[at], self, newList())
}

/** What a decorated field gets for the value that it was written with. */
export function initField(self: unknown, state: ClassState, index: number, given?: unknown): unknown {
  let value = given
  const list = state.i[index]
  if (list !== undefined)
    for (let at = 0; at < list.length; at++) value = applyFunction(list[at], self, listOf([value]))
  return value
}

export const runFieldExtras = (self: unknown, state: ClassState, index: number): void => runAll(state.e[index], self)
export const runInstanceExtras = (self: unknown, state: ClassState): void => runAll(state.instance, self)
export const runStaticExtras = (state: ClassState): void => runAll(state.statics, state.made)
export const runClassExtras = (state: ClassState): void => runAll(state.finish, state.made)

export function callPrivate(called: unknown, self: unknown, ...args: unknown[]): unknown {
  return applyFunction(called, self, args)
}

/** A decorator that is a method of something. */
export function boundMember(object: Record<PropertyKey, unknown>, key: PropertyKey): unknown {
  const member = object[key]
  if (typeof member !== "function") return member
  return (value: unknown, context: unknown) => applyFunction(member, object, listOf([value, context]))
}
