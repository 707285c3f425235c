// The last step of an object in the general form, when all its slots have arrived: properties, then extensibility.
//
// The prototype is set before, as soon as it exists and while it has no prototype of its own yet: the engine searches the chain above for
// cycles each time, so that chains built from their far end would take time in the square of their length.

import {
  arrayIsArray,
  setPrototype,
  preventExtensions,
  defineOwn,
  withoutPrototype,
} from "../../../stdlib/intrinsics.ts"
import { noteArrayAttributes } from "../../../stdlib/attribute-record.ts"
import { restoreStack } from "../../../stdlib/error-stack.ts"
import { rebasePrototype } from "./described.ts"
import { attrsPlain, attrWritable, attrEnumerable, attrConfigurable, attrAccessor, attrNativeStack } from "./format.ts"

/** An object and what the general form says of it, slots in the order in which they were written. */
export interface General {
  readonly object: object
  readonly hasPrototype: boolean
  readonly isSealed: boolean
  readonly attributes: number[]
  readonly count: number
  readonly values: unknown[]
}

export function setGeneralPrototype(object: object, prototype: unknown, fail: (problem: string) => never): void {
  if (prototype !== null && !isObject(prototype)) fail("a prototype that is no object")
  // A proxy's trap would run if the chain were searched for cycles through it; the engine stops at it instead.
  if (!setPrototype(object, rebasePrototype(prototype, object))) fail("a prototype that cannot be set")
}

export function finishGeneral(general: General, fail: (problem: string) => never): void {
  const { object, values, attributes, count } = general
  let at = general.hasPrototype ? 1 : 0
  let isOdd = false
  for (let i = 0; i < count; i++) {
    const key = values[at++]
    if (typeof key !== "string" && typeof key !== "symbol") fail("a property key of another type")
    const bits = attributes[i]!
    const isAccessor = (bits & attrAccessor) !== 0
    const first = values[at++]
    const second = isAccessor ? values[at++] : undefined
    const enumerable = (bits & attrEnumerable) !== 0
    const configurable = (bits & attrConfigurable) !== 0
    if (bits !== attrsPlain && (key !== "length" || bits !== attrWritable)) isOdd = true
    if ((bits & attrNativeStack) !== 0 && typeof first === "string") {
      if (restoreStack(object, first, enumerable, configurable)) continue
    }
    const descriptor: PropertyDescriptor = isAccessor
      ? { get: accessorPart(first), set: accessorPart(second), enumerable, configurable }
      : { value: first, writable: (bits & attrWritable) !== 0, enumerable, configurable }
    if (!defineSafely(object, key, withoutPrototype(descriptor))) fail("a property that cannot be defined")
  }
  if (general.isSealed) preventExtensions(object)
  // From now on this realm's arrays must be read with care; one that is merely sparse, or has a name, changes nothing.
  if (isOdd && arrayIsArray(object)) noteArrayAttributes()
}

function defineSafely(object: object, key: string | symbol, descriptor: PropertyDescriptor): boolean {
  try {
    return defineOwn(object, key, descriptor)
  } catch {
    // Only a hostile table defines what an array or view throws at, such as a length of -1.
    return false
  }
}

/** Half of an accessor that means nothing on this side stays a missing half: reading it gives `undefined`. */
function accessorPart(value: unknown): () => undefined {
  return (typeof value === "function" ? value : undefined) as () => undefined
}

export function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function"
}
