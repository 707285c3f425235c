// What an object is by its internal slots, asked without running any code of the session.
//
// `instanceof`, `constructor` and `Symbol.toStringTag` can all be answered by user code, so a brand is read by calling an intrinsic
// getter on the object: it throws unless the slot is there. Throwing costs about 2 us, so the prototype chain first names the one
// candidate worth asking about; in ordinary programs that question is answered with yes. A chain that leads past a proxy ends there.
//
// Limit: an object whose prototype was replaced so that its chain no longer meets its own intrinsic prototype is recognised only
// where the language has a question that does not throw (arrays, views, errors, dates, boxed primitives, arguments).

import {
  arrayIsArray,
  ArrayPrototype,
  bigintValue,
  booleanValue,
  bufferByteLength,
  dataViewByteLength,
  dateValue,
  descriptorOf,
  FunctionPrototype,
  functionToString,
  isBufferView,
  MapOf,
  mapGet,
  mapSet,
  mapSize,
  numberValue,
  objectHasOwn,
  ObjectPrototype,
  objectToString,
  prototypeOf,
  regExpSource,
  setSize,
  sharedByteLength,
  stringIndexOf,
  stringValue,
  symbolValue,
  toStringTag,
  typedArrayName,
  TypedArrayPrototype,
} from "./intrinsics.ts"
import { isRecordedProxy } from "./proxy-record.ts"

export type Brand =
  | "ordinary"
  | "function"
  | "proxy"
  | "array"
  | "arguments"
  | "map"
  | "set"
  | "date"
  | "regexp"
  | "error"
  | "number"
  | "string"
  | "boolean"
  | "bigint"
  | "symbol"
  | "arraybuffer"
  | "sharedarraybuffer"
  | "view"
  | "promise"
  | "weakmap"
  | "weakset"
  | "weakref"
  | "finalizationregistry"
  | "generator"
  | "iterator"

const brandOfPrototype = new MapOf<object, Brand>()

function brandPrototype(prototype: unknown, brand: Brand): void {
  if (typeof prototype === "object" && prototype !== null) mapSet(brandOfPrototype, prototype, brand)
}

brandPrototype(ArrayPrototype, "array")
brandPrototype(Map.prototype, "map")
brandPrototype(Set.prototype, "set")
brandPrototype(Date.prototype, "date")
brandPrototype(RegExp.prototype, "regexp")
brandPrototype(Error.prototype, "error")
brandPrototype(Number.prototype, "number")
brandPrototype(String.prototype, "string")
brandPrototype(Boolean.prototype, "boolean")
brandPrototype(BigInt.prototype, "bigint")
brandPrototype(Symbol.prototype, "symbol")
brandPrototype(ArrayBuffer.prototype, "arraybuffer")
brandPrototype(SharedArrayBuffer.prototype, "sharedarraybuffer")
brandPrototype(TypedArrayPrototype, "view")
brandPrototype(DataView.prototype, "view")
brandPrototype(Promise.prototype, "promise")
brandPrototype(WeakMap.prototype, "weakmap")
brandPrototype(WeakSet.prototype, "weakset")
brandPrototype(WeakRef.prototype, "weakref")
brandPrototype(FinalizationRegistry.prototype, "finalizationregistry")
// Generators cannot be asked what they are without being resumed; their prototype must do.
const generatorPrototype = prototypeOf((function* () {})()) as object
brandPrototype(prototypeOf(generatorPrototype), "generator")
const asyncGeneratorPrototype = prototypeOf((async function* () {})()) as object
brandPrototype(prototypeOf(asyncGeneratorPrototype), "generator")
const arrayIteratorPrototype = prototypeOf([][Symbol.iterator]()) as object
brandPrototype(prototypeOf(arrayIteratorPrototype), "iterator")

/** The brand that the nearest intrinsic prototype on the chain stands for, not yet confirmed by the object itself. */
export function candidateBrand(prototype: object | null): Brand {
  let link = prototype
  while (link !== null && link !== ObjectPrototype && !isRecordedProxy(link)) {
    const brand = mapGet(brandOfPrototype, link)
    if (brand !== undefined) return brand
    link = prototypeOf(link)
  }
  return "ordinary"
}

/** Whether a prototype chain has more than `max` links. */
export function hasLongChain(prototype: object, max: number): boolean {
  let link: object | null = prototype
  for (let count = 0; link !== null && link !== ObjectPrototype && !isRecordedProxy(link); count++) {
    if (count > max) return true
    link = prototypeOf(link)
  }
  return false
}

/** Whether the object has the internal slots of the brand. Brands that cannot be asked are taken at their prototype's word. */
export function confirmBrand(object: object, brand: Brand): boolean {
  try {
    switch (brand) {
      case "map":
        mapSize(object)
        return true
      case "set":
        setSize(object)
        return true
      case "date":
        dateValue(object)
        return true
      case "regexp":
        // `source` answers "(?:)" for RegExp.prototype itself, which no session value is.
        regExpSource(object)
        return true
      case "number":
        numberValue(object)
        return true
      case "string":
        stringValue(object)
        return true
      case "boolean":
        booleanValue(object)
        return true
      case "bigint":
        bigintValue(object)
        return true
      case "symbol":
        symbolValue(object)
        return true
      case "arraybuffer":
        bufferByteLength(object)
        return true
      case "sharedarraybuffer":
        sharedByteLength(object)
        return true
      case "view":
        return isBufferView(object)
      case "error": {
        const tag = builtinTag(object)
        return tag === undefined || tag === "[object Error]"
      }
      case "array":
        return arrayIsArray(object)
      case "arguments":
        return builtinTag(object) === "[object Arguments]"
      case "ordinary":
      case "function":
      case "proxy":
      case "promise":
      case "weakmap":
      case "weakset":
      case "weakref":
      case "finalizationregistry":
      case "generator":
      case "iterator":
        return true
    }
  } catch {
    // The intrinsic refused the object: it lacks the slot, which is the answer.
    return false
  }
  return false
}

/** `Object.prototype.toString` where nothing on the chain can speak for the object; else `undefined`. */
function builtinTag(object: object): string | undefined {
  let link: object | null = object
  while (link !== null) {
    if (isRecordedProxy(link) || objectHasOwn(link, toStringTag)) return undefined
    link = prototypeOf(link)
  }
  return objectToString(object)
}

/**
 * The name of a built-in class on the chain that this file has no brand for, as `Intl.Collator`: its objects keep state in slots
 * nobody can read. Told by a native function that stands as the prototype's `constructor`.
 */
export function opaqueBuiltin(prototype: object | null): string | undefined {
  let link = prototype
  while (link !== null && link !== ObjectPrototype && link !== FunctionPrototype && !isRecordedProxy(link)) {
    const made: unknown = descriptorOf(link, "constructor")
    const constructor =
      made !== undefined && objectHasOwn(made as object, "value") ? (made as { value: unknown }).value : undefined
    if (typeof constructor === "function" && stringIndexOf(functionToString(constructor), "[native code]") >= 0) {
      return functionName(constructor)
    }
    link = prototypeOf(link)
  }
  return undefined
}

/** A function's own `name` where it is a plain string; "" otherwise. */
export function functionName(object: object): string {
  if (isRecordedProxy(object)) return ""
  const descriptor = descriptorOf(object, "name")
  const name: unknown = descriptor !== undefined && objectHasOwn(descriptor, "value") ? descriptor.value : undefined
  return typeof name === "string" ? name : ""
}

/** The brand of an object whose chain names none: what the language answers without throwing. */
export function unrootedBrand(object: object): Brand {
  if (isBufferView(object)) return "view"
  switch (builtinTag(object) ?? "") {
    case "[object Error]":
      return "error"
    case "[object Arguments]":
      return "arguments"
    case "[object Date]":
      return "date"
    case "[object RegExp]":
      return "regexp"
    case "[object Number]":
      return "number"
    case "[object String]":
      return "string"
    case "[object Boolean]":
      return "boolean"
    default:
      return "ordinary"
  }
}

export function brandOf(object: object): Brand {
  if (isRecordedProxy(object)) return "proxy"
  if (typeof object === "function") return "function"
  if (arrayIsArray(object)) return "array"
  const candidate = candidateBrand(prototypeOf(object))
  if (candidate === "ordinary") return unrootedBrand(object)
  return confirmBrand(object, candidate) ? candidate : "ordinary"
}

/** "Uint8Array", …, "DataView": the constructor a view was made by, whatever its prototype says now. */
export function viewName(view: object): string {
  return typedArrayName(view) ?? (dataViewByteLength(view) >= 0 ? "DataView" : "")
}

/**
 * An own or inherited property read without running code: `undefined` when it is missing, an accessor, or behind a proxy.
 */
export function readPlainly(object: object, key: PropertyKey): unknown {
  let link: object | null = object
  while (link !== null && !isRecordedProxy(link)) {
    const descriptor = descriptorOf(link, key)
    if (descriptor !== undefined) return objectHasOwn(descriptor, "value") ? descriptor.value : undefined
    link = prototypeOf(link)
  }
  return undefined
}

/** The name of the class an object was made by, as its prototypes tell; `undefined` when none names one plainly. */
export function classNameOf(object: object): string | undefined {
  let link = prototypeOf(object)
  while (link !== null && !isRecordedProxy(link)) {
    const descriptor = descriptorOf(link, "constructor")
    const made: unknown = descriptor !== undefined && objectHasOwn(descriptor, "value") ? descriptor.value : undefined
    if ((typeof made === "object" && made !== null) || typeof made === "function") {
      const name = functionName(made)
      if (name !== "") return name
    }
    link = prototypeOf(link)
  }
  return undefined
}
