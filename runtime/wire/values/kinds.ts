// What a fresh object of each kind looks like: the prototype it is born with. An object that still has it needs no prototype written.

import {
  ArrayPrototype,
  MapOf,
  mapGet,
  mapHas,
  mapSet,
  ObjectPrototype,
  typedArrayConstructors,
  withoutPrototype,
} from "../../../stdlib/intrinsics.ts"
import { viewName, type Brand } from "../../../stdlib/brands.ts"

const freshPrototypes: Partial<Record<Brand, object>> = withoutPrototype({
  ordinary: ObjectPrototype,
  arguments: ObjectPrototype,
  array: ArrayPrototype,
  map: Map.prototype,
  set: Set.prototype,
  date: Date.prototype,
  regexp: RegExp.prototype,
  number: Number.prototype,
  string: String.prototype,
  boolean: Boolean.prototype,
  bigint: BigInt.prototype,
  symbol: Symbol.prototype,
  arraybuffer: ArrayBuffer.prototype,
  sharedarraybuffer: SharedArrayBuffer.prototype,
})

export type ErrorConstructorOf = new (message?: string) => Error

const errorNames = new MapOf<object, string>()
const errorConstructors = new MapOf<string, ErrorConstructorOf>()

function knowError(name: string, constructor: ErrorConstructorOf): void {
  mapSet(errorNames, constructor.prototype as object, name)
  mapSet(errorConstructors, name, constructor)
}

knowError("Error", Error)
knowError("TypeError", TypeError)
knowError("RangeError", RangeError)
knowError("SyntaxError", SyntaxError)
knowError("ReferenceError", ReferenceError)
knowError("EvalError", EvalError)
knowError("URIError", URIError)
knowError("AggregateError", AggregateError as unknown as ErrorConstructorOf)

/** The native error class whose prototype this is; "Error" for the subclasses of a session, which write their prototype. */
export function errorNameOf(prototype: object | null): string {
  return mapGet(errorNames, prototype) ?? "Error"
}

export function nativeError(name: string): ErrorConstructorOf | undefined {
  return mapGet(errorConstructors, name)
}

/** Whether an object of this brand is born with this prototype, so that it need not be written. */
export function isFreshPrototype(brand: Brand, object: object, prototype: object | null): boolean {
  if (brand === "function") return isFunctionPrototype(prototype)
  if (brand === "error") return mapHas(errorNames, prototype)
  if (brand === "view") {
    return prototype === (typedArrayConstructors[viewName(object)] as { prototype: object } | undefined)?.prototype
  }
  return prototype === freshPrototypes[brand]
}

const functionPrototypes: readonly (object | null)[] = withoutPrototype([
  Function.prototype,
  Object.getPrototypeOf(async function () {}) as object,
  Object.getPrototypeOf(function* () {}) as object,
  Object.getPrototypeOf(async function* () {}) as object,
])

function isFunctionPrototype(prototype: object | null): boolean {
  for (let i = 0; i < functionPrototypes.length; i++) if (functionPrototypes[i] === prototype) return true
  return false
}
