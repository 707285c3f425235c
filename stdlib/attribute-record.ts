// Whether any array of the realm may have items that are more, or less, than plain data.
//
// An array item can be an accessor, read-only or hidden only after `Object.defineProperty` or one of its four relatives was called on an
// array; no syntax does it. Asking every item for its descriptor costs 100 ns each, thirty times the reading. So the five functions are
// replaced at boot by native proxies of themselves that note when they are given an array. Until that happens, which in most sessions is
// never, the encoder reads items as they are. Frozen and sealed arrays are seen by not being extensible.

import { applyFunction, arrayIsArray, defineOwn, ObjectPrototype, withoutPrototype } from "./intrinsics.ts"
import { recordedProxy } from "./proxy-record.ts"

const NativeProxyOf = Proxy
let attributesRecorded = false
let arrayAttributesSet = false

/** Whether every extensible array of this realm is known to hold nothing but plain data properties. */
export function arraysArePlain(): boolean {
  return attributesRecorded && !arrayAttributesSet
}

/** Notes that an array may have got other attributes; the decoder says so of arrays it makes in the general form. */
export function noteArrayAttributes(): void {
  arrayAttributesSet = true
}

/** Wraps the realm's functions that set attributes. Called once per realm, at boot, before any user code. */
export function recordAttributes(): void {
  attributesRecorded = true
  wrap(Object, "defineProperty", firstArgument)
  wrap(Object, "defineProperties", firstArgument)
  wrap(Reflect, "defineProperty", firstArgument)
  wrap(ObjectPrototype, "__defineGetter__", receiver)
  wrap(ObjectPrototype, "__defineSetter__", receiver)
}

function firstArgument(_self: unknown, args: ArrayLike<unknown>): unknown {
  return args.length > 0 ? args[0] : undefined
}

function receiver(self: unknown): unknown {
  return self
}

function wrap(owner: object, name: string, targetOf: (self: unknown, args: ArrayLike<unknown>) => unknown): void {
  const native = (owner as Record<string, unknown>)[name] as () => unknown
  const value: unknown = new NativeProxyOf(
    native,
    withoutPrototype({
      apply: (_native: unknown, self: unknown, args: ArrayLike<unknown>) => {
        if (reachesArray(targetOf(self, args))) arrayAttributesSet = true
        return applyFunction(native, self, args)
      },
    }),
  )
  defineOwn(owner, name, { value, writable: true, enumerable: false, configurable: true })
}

function reachesArray(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false
  let object: object = value
  for (let record = recordedProxy(object); record !== undefined; record = recordedProxy(object)) {
    if (record.revoked) return false
    object = record.target
  }
  return arrayIsArray(object)
}
