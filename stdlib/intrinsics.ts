// The realm's own built-ins, captured before any user code runs.
//
// Realm-side files (this folder and `runtime/wire/values/`) are evaluated inside every session's realm, where user code may replace
// any built-in: `Array.prototype.push = …` must change the session's own programs and nothing of ours. So realm-side code calls
// what stands here, never a method looked up at run time on a prototype. Realm-side files import only each other, export
// functions, classes and constants under names unique among them, and have no side effect but this capture.
//
// The language itself reaches for prototypes in places that are easy to miss: `for…of`, spread and array patterns read
// `Symbol.iterator`; `list[i] = v` on an ordinary array meets setters on `Array.prototype`; reading past its end meets getters.
// Internal lists are therefore made by `newList()`: arrays without a prototype, filled and read by index.

type Uncurried<F> = F extends (this: infer T, ...args: infer A) => infer R ? (self: T, ...args: A) => R : never

const { bind, call } = Function.prototype

/** Turns a method into a function whose first argument is `this`, so that it survives a changed prototype. */
export const uncurryThis = bind.bind(call) as <F extends (...args: never[]) => unknown>(method: F) => Uncurried<F>

// What the session's names are made with (`cell.ts`, `environment.ts`).
export const { apply, deleteProperty } = Reflect
export const { create: createObject, defineProperty, hasOwn } = Object
export const { Error: ErrorOfRealm, ReferenceError: ReferenceErrorOfRealm, TypeError: TypeErrorOfRealm } = globalThis
export const { is: isSame } = Object
/** Appends to a list. Ordinary arrays get an own property, since setting one would meet setters on `Array.prototype`. */
export function arrayPush<T>(list: T[], item: T): void {
  if (prototypeOf(list) === null) list[list.length] = item
  else putOwn(list, list.length, item)
}
/** The values the node table may hold: what crosses the bridge by itself. */
export type Primitive = string | number | boolean | bigint | null | undefined

export const objectKeys: (object: object) => string[] = Object.keys
export const objectNames: (object: object) => string[] = Object.getOwnPropertyNames
export const objectSymbols: (object: object) => symbol[] = Object.getOwnPropertySymbols
export const objectHasOwn: (object: object, key: PropertyKey) => boolean = Object.hasOwn
export const objectFreeze: <T>(object: T) => T = Object.freeze
export const objectCreate: (prototype: object | null) => object = Object.create
export const objectToString = uncurryThis(Object.prototype.toString)
export const ownKeysOf: (object: object) => (string | symbol)[] = Reflect.ownKeys
export const descriptorOf: (object: object, key: PropertyKey) => PropertyDescriptor | undefined =
  Reflect.getOwnPropertyDescriptor
export const prototypeOf: (object: object) => object | null = Reflect.getPrototypeOf
export const setPrototype: (object: object, prototype: object | null) => boolean = Reflect.setPrototypeOf
export const isEnumerable = uncurryThis(Object.prototype.propertyIsEnumerable) as (
  object: object,
  key: PropertyKey,
) => boolean
export const reflectGet: (object: object, key: PropertyKey, self: unknown) => unknown = Reflect.get
export const reflectSet: (object: object, key: PropertyKey, value: unknown, self: unknown) => boolean = Reflect.set
export const isExtensible: (object: object) => boolean = Reflect.isExtensible
export const preventExtensions: (object: object) => boolean = Reflect.preventExtensions
export const defineOwn: (object: object, key: PropertyKey, descriptor: PropertyDescriptor) => boolean =
  Reflect.defineProperty
export const deleteOwn: (object: object, key: PropertyKey) => boolean = Reflect.deleteProperty
export const applyFunction: (target: unknown, self: unknown, args: ArrayLike<unknown>) => unknown =
  Reflect.apply as never
export const constructAs: (target: unknown, args: ArrayLike<unknown>, newTarget: unknown) => object =
  Reflect.construct as never

export const arrayIsArray = Array.isArray as (value: unknown) => value is unknown[]
export const arraySort = uncurryThis(Array.prototype.sort as (this: string[]) => string[])
export const arraySortBy = uncurryThis(Array.prototype.sort) as <T>(list: T[], compare: (a: T, b: T) => number) => T[]
export const functionToString = uncurryThis(Function.prototype.toString)

export const MapOf = Map
export const mapGet = uncurryThis(Map.prototype.get as <V>(this: Map<unknown, V>, key: unknown) => V | undefined) as <
  V,
>(
  map: ReadonlyMap<unknown, V>,
  key: unknown,
) => V | undefined
export const mapSet = uncurryThis(Map.prototype.set) as <K, V>(map: Map<K, V>, key: K, value: V) => Map<K, V>
export const mapHas = uncurryThis(Map.prototype.has) as (map: ReadonlyMap<unknown, unknown>, key: unknown) => boolean
export const mapDelete = uncurryThis(Map.prototype.delete) as (map: Map<never, unknown>, key: unknown) => boolean
export const mapEach = uncurryThis(Map.prototype.forEach) as <K, V>(
  map: ReadonlyMap<K, V>,
  visit: (value: V, key: K) => void,
) => void
/** Iterators for walks that may end early; advance them with `mapNext` and `setNext`, never with `for…of`. */
export const mapEntries = uncurryThis(Map.prototype.entries) as (map: unknown) => object
export const mapNext = uncurryThis(
  new Map<unknown, unknown>().entries().next as () => IteratorResult<[unknown, unknown]>,
) as (iterator: object) => IteratorResult<[unknown, unknown]>
export const SetOf = Set
export const setAdd = uncurryThis(Set.prototype.add) as <T>(set: Set<T>, value: T) => Set<T>
export const setHas = uncurryThis(Set.prototype.has) as (set: ReadonlySet<unknown>, value: unknown) => boolean
export const setDelete = uncurryThis(Set.prototype.delete) as (set: Set<never>, value: unknown) => boolean
export const setEach = uncurryThis(Set.prototype.forEach) as <T>(set: ReadonlySet<T>, visit: (value: T) => void) => void
export const setValues = uncurryThis(Set.prototype.values) as (set: unknown) => object
export const setNext = uncurryThis(new Set<unknown>().values().next as () => IteratorResult<unknown>) as (
  iterator: object,
) => IteratorResult<unknown>
export const WeakMapOf = WeakMap
export const weakMapGet = uncurryThis(WeakMap.prototype.get) as <V>(
  map: WeakMap<object, V>,
  key: object,
) => V | undefined
export const weakMapSet = uncurryThis(WeakMap.prototype.set) as <V>(map: WeakMap<object, V>, key: object, v: V) => void
export const weakMapHas = uncurryThis(WeakMap.prototype.has) as (map: WeakMap<object, unknown>, key: object) => boolean

/** A method without arguments that answers from an internal slot, and throws for objects that lack it. */
function reader(method: unknown): (self: unknown) => unknown {
  return uncurryThis(method as (this: unknown) => unknown)
}

function getter(prototype: object, key: PropertyKey): (self: unknown) => unknown {
  const found = descriptorOf(prototype, key)?.get
  // A getter that an older engine lacks answers `undefined` for every object, as if the feature were never used.
  return found === undefined ? () => undefined : reader(found)
}

export const mapSize = getter(Map.prototype, "size") as (map: unknown) => number
export const setSize = getter(Set.prototype, "size") as (set: unknown) => number
const TypedArray = prototypeOf(Uint8Array) as { prototype: Uint8Array }
/** The constructor name of a typed array, `undefined` for anything else; it never throws. */
export const typedArrayName = getter(TypedArray.prototype, Symbol.toStringTag) as (value: unknown) => string | undefined
export const typedArrayLength = getter(TypedArray.prototype, "length") as (view: unknown) => number
export const typedArrayByteLength = getter(TypedArray.prototype, "byteLength") as (view: unknown) => number
export const typedArrayOffset = getter(TypedArray.prototype, "byteOffset") as (view: unknown) => number
export const typedArrayBuffer = getter(TypedArray.prototype, "buffer") as (view: unknown) => ArrayBuffer
export const typedArraySet = uncurryThis(TypedArray.prototype.set) as (to: Uint8Array, from: ArrayLike<number>) => void
export const dataViewByteLength = getter(DataView.prototype, "byteLength") as (view: unknown) => number
export const dataViewOffset = getter(DataView.prototype, "byteOffset") as (view: unknown) => number
export const dataViewBuffer = getter(DataView.prototype, "buffer") as (view: unknown) => ArrayBuffer
export const bufferByteLength = getter(ArrayBuffer.prototype, "byteLength") as (buffer: unknown) => number
export const bufferResizable = getter(ArrayBuffer.prototype, "resizable") as (buffer: unknown) => boolean | undefined
export const bufferMaxLength = getter(ArrayBuffer.prototype, "maxByteLength") as (buffer: unknown) => number
export const bufferResize = uncurryThis(
  ((ArrayBuffer.prototype as { resize?: unknown }).resize ?? (() => undefined)) as (length: number) => void,
) as (buffer: ArrayBuffer, length: number) => void
export const sharedByteLength = getter(SharedArrayBuffer.prototype, "byteLength") as (buffer: unknown) => number
export const sharedGrowable = getter(SharedArrayBuffer.prototype, "growable") as (
  buffer: unknown,
) => boolean | undefined
export const sharedMaxLength = getter(SharedArrayBuffer.prototype, "maxByteLength") as (buffer: unknown) => number
export const isBufferView: (value: unknown) => value is ArrayBufferView = ArrayBuffer.isView
export const ArrayBufferOf = ArrayBuffer
export const SharedArrayBufferOf = SharedArrayBuffer
export const Uint8ArrayOf = Uint8Array
export const Int8ArrayOf = Int8Array
export const Int16ArrayOf = Int16Array
export const Int32ArrayOf = Int32Array
export const Float64ArrayOf = Float64Array

export const dateValue = reader(Date.prototype.getTime) as (value: unknown) => number
export const dateToISO = uncurryThis(Date.prototype.toISOString)
export const DateOf = Date
export const RegExpOf = RegExp
export const regExpSource = getter(RegExp.prototype, "source") as (regExp: unknown) => string
/** Each flag's own getter: the `flags` getter reads these as properties, where a session may have put code of its own. */
export const regExpFlagGetters: readonly { flag: string; read: (regExp: unknown) => unknown }[] = [
  { flag: "d", read: getter(RegExp.prototype, "hasIndices") },
  { flag: "g", read: getter(RegExp.prototype, "global") },
  { flag: "i", read: getter(RegExp.prototype, "ignoreCase") },
  { flag: "m", read: getter(RegExp.prototype, "multiline") },
  { flag: "s", read: getter(RegExp.prototype, "dotAll") },
  { flag: "u", read: getter(RegExp.prototype, "unicode") },
  { flag: "v", read: getter(RegExp.prototype, "unicodeSets") },
  { flag: "y", read: getter(RegExp.prototype, "sticky") },
]

export const numberValue = reader(Number.prototype.valueOf) as (value: unknown) => number
export const stringValue = reader(String.prototype.valueOf) as (value: unknown) => string
export const booleanValue = reader(Boolean.prototype.valueOf) as (value: unknown) => boolean
export const bigintValue = reader(BigInt.prototype.valueOf) as (value: unknown) => bigint
export const symbolValue = reader(Symbol.prototype.valueOf) as (value: unknown) => symbol
export const symbolDescription = getter(Symbol.prototype, "description") as (value: unknown) => string | undefined
export const symbolKeyFor: (symbol: symbol) => string | undefined = Symbol.keyFor
export const symbolFor: (key: string) => symbol = Symbol.for
export const SymbolOf: (description?: string) => symbol = Symbol
// Engines that lack these get them here, before anything looks for them.
export const symbolDispose = wellKnown("dispose")
export const symbolAsyncDispose = wellKnown("asyncDispose")
export const symbolMetadata = wellKnown("metadata")
export const toStringTag: symbol = Symbol.toStringTag
export const ObjectOf = Object as unknown as (value: unknown) => object
export const StringOf = String
export const NumberOf = Number
export const numberParseFloat: (text: string) => number = Number.parseFloat
export const numberParseInt: (text: string, radix: number) => number = Number.parseInt
export const mathTrunc: (value: number) => number = Math.trunc
export const jsonStringify: (value: unknown) => string = JSON.stringify
export const jsonParse: (text: string) => unknown = JSON.parse
export const stringCodeAt = uncurryThis(String.prototype.charCodeAt)
export const stringSlice = uncurryThis(String.prototype.slice) as (text: string, from: number, to?: number) => string
export const stringIndexOf = uncurryThis(String.prototype.indexOf) as (
  text: string,
  part: string,
  at?: number,
) => number
export const stringFromCodes: (...codes: number[]) => string = String.fromCharCode
/** Without lone surrogates. */
export const stringToWellFormed = uncurryThis(
  (String.prototype as unknown as { toWellFormed: (this: string) => string }).toWellFormed,
)
export const stringToLowerCase = uncurryThis(String.prototype.toLowerCase)
export const stringRepeat = uncurryThis(String.prototype.repeat)

export const ObjectPrototype: object = Object.prototype
export const ArrayPrototype: object = Array.prototype
export const FunctionPrototype: object = Function.prototype
export const ErrorOf = Error
export const TypeErrorOf = TypeError
export const RangeErrorOf = RangeError
export const SyntaxErrorOf = SyntaxError
export const TypedArrayPrototype: object = TypedArray.prototype
export interface ViewConstructor {
  new (buffer: ArrayBuffer, offset: number, length?: number): ArrayBufferView
  readonly prototype: object
  readonly BYTES_PER_ELEMENT?: number
}
export const typedArrayConstructors: Readonly<Record<string, ViewConstructor>> = objectFreeze(
  withoutPrototype({
    Int8Array,
    Uint8Array,
    Uint8ClampedArray,
    Int16Array,
    Uint16Array,
    Int32Array,
    Uint32Array,
    Float32Array,
    Float64Array,
    BigInt64Array,
    BigUint64Array,
    DataView,
  }),
)

/** An empty array without a prototype. Index it and keep its length yourself; it has no methods that could be replaced. */
export function newList<T>(): T[] {
  const list: T[] = []
  setPrototype(list, null)
  return list
}

/** Whether a list has a text, without a method that session code could have changed. */
export function isListed(names: readonly string[], name: string): boolean {
  for (let index = 0; index < names.length; index++) if (names[index] === name) return true
  return false
}

/** The same object, cut from `Object.prototype`, so that a missing key is missing whatever user code put there. */
export function withoutPrototype<T extends object>(object: T): T {
  setPrototype(object, null)
  return object
}

/** A data property with every attribute on, as assignment would make it, but never through a setter. */
export function putOwn(object: object, key: PropertyKey, value: unknown): void {
  defineOwn(object, key, withoutPrototype({ value, writable: true, enumerable: true, configurable: true }))
}

/** As the language makes text of an argument: what has a `toString` runs it, and a symbol throws. */
export function textOfGiven(value: unknown): string {
  // oxlint-disable-next-line typescript/no-unnecessary-template-expression
  return `${value as string}`
}

/** The error with a `code`, as Node's have one. */
export function withCode(error: Error, code: string): Error {
  putOwn(error, "code", code)
  return error
}

/** What `Object.prototype.toString` says of the class's objects. */
export function tagPrototype(prototype: object, tag: string): void {
  defineOwn(prototype, toStringTag, withoutPrototype({ value: tag, configurable: true }))
}

/** The named hooks an object has itself, on one without a prototype: a hook that was left out is never found elsewhere. */
export function ownHooks<T extends object>(given: T, names: readonly (keyof T)[]): T {
  const hooks = withoutPrototype({}) as T
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as keyof T
    if (objectHasOwn(given, name)) hooks[name] = given[name]
  }
  return hooks
}

export const PromiseOf = Promise
export const promiseThen = uncurryThis(Promise.prototype.then) as <T>(
  promise: Promise<T>,
  onFulfilled: (value: T) => unknown,
  onRejected?: (error: unknown) => unknown,
) => Promise<unknown>
export const iteratorPrototype = prototypeOf(prototypeOf([][Symbol.iterator]())!)
export const iteratorSymbol: symbol = Symbol.iterator
export const stringIncludes = uncurryThis(String.prototype.includes) as (text: string, part: string) => boolean
export const regExpExec = RegExp.prototype.exec
export const regExpReplace = uncurryThis(RegExp.prototype[Symbol.replace]) as unknown as (
  pattern: RegExp,
  text: string,
  replacement: string,
) => string

/** The items of an argument list from `from` on, with `first` in front when it is given; a list without prototype. */
export function listOf(args: ArrayLike<unknown>, from = 0, first?: string): unknown[] {
  const list: unknown[] = newList()
  if (first !== undefined) list[0] = first
  for (let index = from; index < args.length; index++) list[list.length] = args[index]
  return list
}

/** The global object, whatever becomes of the name `globalThis`. */
export const realmGlobal: object = globalThis

/** A property as built-ins have theirs: not listed, and free to change. */
export function hiddenValue(value: unknown): PropertyDescriptor {
  return { __proto__: null, value, writable: true, enumerable: false, configurable: true } as PropertyDescriptor
}

function wellKnown(name: string): symbol {
  const known: unknown = descriptorOf(Symbol, name)?.value
  if (typeof known === "symbol") return known
  const made = Symbol(`Symbol.${name}`)
  const fixed = { __proto__: null, value: made, writable: false, enumerable: false, configurable: false }
  defineOwn(Symbol, name, fixed)
  return made
}
