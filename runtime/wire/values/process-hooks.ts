// Outer side: how the embedder's own process encodes what it hands to sessions, such as tool results. Not evaluated in realms.
//
// The embedder's code is trusted but its objects are of another world: its classes mean nothing in a session, so an instance travels as
// the built-in it extends, as `structuredClone` would have it; a Buffer travels as the bytes it shows and never with the pool behind it;
// functions are ephemerals. Decoding needs no hooks here: what has no meaning outside its session becomes a `Placeholder`.

import { types } from "node:util"
import type { EncodeHooks } from "./hooks.ts"

const builtinPrototypes: ReadonlySet<object> = new Set<object>(
  [
    Object,
    Array,
    Map,
    Set,
    Date,
    RegExp,
    Error,
    TypeError,
    RangeError,
    SyntaxError,
    ReferenceError,
    EvalError,
    URIError,
    AggregateError,
    Number,
    String,
    Boolean,
    BigInt,
    Symbol,
    ArrayBuffer,
    SharedArrayBuffer,
    DataView,
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
    Promise,
    WeakMap,
    WeakSet,
    WeakRef,
    FinalizationRegistry,
  ].map((constructor) => constructor.prototype as object),
)

/** Links looked at: beyond it the encoder refuses the object. */
const chainMax = 1_000

function nearestBuiltin(prototype: object): object | undefined {
  let link: object | null = prototype
  for (let count = 0; count < chainMax && link !== null && !types.isProxy(link); count++) {
    if (builtinPrototypes.has(link)) return link
    link = Object.getPrototypeOf(link) as object | null
  }
  return undefined
}

export const processEncodeHooks: EncodeHooks = {
  referenceOf: () => undefined,
  isProxy: types.isProxy,
  standInPrototype: nearestBuiltin,
  viewsAreSlices: true,
}
