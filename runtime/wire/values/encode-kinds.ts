// How every kind of object but the plainest is written: what it is by its internal slots first, then, where it differs from a fresh
// object of its kind, its prototype, attributes and own properties in the general form.
//
// Functions that are not stamped and settled promises end here as ephemerals. The seam for the latter is the promise line of `writeOther`:
// whoever can read a promise's state writes it there, with an op of its own.

import {
  ArrayPrototype,
  objectHasOwn,
  ownKeysOf,
  descriptorOf,
  functionToString,
  mapEach,
  setEach,
  mapSize,
  setSize,
  dateValue,
  regExpSource,
  regExpFlagGetters,
  numberValue,
  stringValue,
  booleanValue,
  bigintValue,
  symbolValue,
  stringIndexOf,
  newList,
} from "../../../stdlib/intrinsics.ts"
import { confirmBrand, functionName, unrootedBrand, type Brand } from "../../../stdlib/brands.ts"
import { recordedProxy } from "../../../stdlib/proxy-record.ts"
import { classRecord } from "../../../stdlib/classes.ts"
import { writeClass } from "./encode-classes.ts"
import { writeClosure } from "./encode-closures.ts"
import { writeBuffer, writeView } from "./encode-bytes.ts"
import { writePrivate } from "./encode-privates.ts"
import { withoutKey, writeGeneral, writeRare } from "./encode-general.ts"
import type { PrototypeInfo, ValueEncoder } from "./encoder.ts"
import { errorNameOf } from "./kinds.ts"
import {
  opObject,
  opArrayGeneral,
  opClassPrototype,
  opDate,
  opRegExp,
  opMap,
  opSet,
  opBoxed,
  opError,
  opProxy,
  opArguments,
  proxyDepthMax,
} from "./format.ts"

export function writeFunction(encoder: ValueEncoder, object: object): void {
  const record = encoder.hooks.keepsClosures === true ? classRecord(object) : undefined
  const problem =
    record !== undefined
      ? writeClass(encoder, object, record)
      : encoder.hooks.keepsClosures === true
        ? writeClosure(encoder, object)
        : ""
  if (problem === undefined) return
  const name = functionName(object)
  const isClass = stringIndexOf(functionToString(object), "class") === 0
  const what = `${isClass ? "class" : "function"}${name === "" ? "" : ` ${name}`}`
  const text = isClass ? `[class ${name || "(anonymous)"}]` : `[Function${name === "" ? " (anonymous)" : `: ${name}`}]`
  encoder.writeEphemeral(object, problem === "" ? what : `${what}: ${problem}`, text)
}

export function writeProxy(encoder: ValueEncoder, object: object): void {
  const record = recordedProxy(object)
  if (record === undefined || record.revoked) {
    encoder.writeEphemeral(object, "a revoked proxy")
    return
  }
  if (encoder.proxyDepth >= proxyDepthMax) {
    encoder.writeEphemeral(object, `a proxy of more than ${proxyDepthMax} proxies`)
    return
  }
  encoder.proxyDepth++
  encoder.putOp(opProxy)
  encoder.writeValue(record.target)
  encoder.writeValue(record.handler)
  encoder.mark(object)
  encoder.proxyDepth--
}

export function writeOther(
  encoder: ValueEncoder,
  object: object,
  prototype: object | null,
  candidate: Brand,
  info: PrototypeInfo | undefined,
): void {
  const foreign = info === undefined ? foreignArrayOf(encoder, prototype) : info.foreign
  if (foreign !== undefined) {
    encoder.writeEphemeral(object, `an instance of ${foreign}, which is an imported class`, `${foreign} {}`)
    return
  }
  const brand =
    candidate === "ordinary" ? unrootedBrand(object) : confirmBrand(object, candidate) ? candidate : "ordinary"
  if (brand === "error" || brand === "regexp" || brand === "arguments" || brand === "sharedarraybuffer")
    encoder.isInert = false
  if (info?.privates !== undefined && writePrivate(encoder, object, prototype, brand, info.className, info.privates))
    return
  switch (brand) {
    case "ordinary":
      writeOrdinary(encoder, object, prototype, info)
      return
    case "array":
      encoder.mark(object)
      encoder.putOp(opArrayGeneral)
      writeGeneral(encoder, object, prototype, brand, ownKeysOf(object))
      return
    case "arguments":
      encoder.mark(object)
      encoder.putOp(opArguments)
      writeGeneral(encoder, object, prototype, brand, withoutKey(ownKeysOf(object), "callee"))
      return
    case "error":
      encoder.mark(object)
      encoder.putOp(opError)
      encoder.put(errorNameOf(prototype))
      writeGeneral(encoder, object, prototype, brand, ownKeysOf(object))
      return
    case "map":
      writeMap(encoder, object, prototype)
      return
    case "set":
      writeSet(encoder, object, prototype)
      return
    case "date":
      writeRare(encoder, opDate, object, prototype, brand, ownKeysOf(object), (more) => {
        encoder.put(more)
        encoder.put(dateValue(object))
      })
      return
    case "regexp":
      writeRare(encoder, opRegExp, object, prototype, brand, regExpKeys(object), (more) => {
        encoder.put(more)
        encoder.writeValue(regExpSource(object))
        encoder.put(regExpFlags(object))
      })
      return
    case "number":
    case "string":
    case "boolean":
    case "bigint":
    case "symbol":
      writeBoxed(encoder, object, prototype, brand)
      return
    case "arraybuffer":
    case "sharedarraybuffer":
      writeBuffer(encoder, object, prototype, brand)
      return
    case "view":
      writeView(encoder, object, prototype)
      return
    case "promise":
      encoder.writeEphemeral(object, "a promise", "Promise { <state unknown> }")
      return
    case "weakmap":
      encoder.writeEphemeral(object, "a WeakMap", "WeakMap { <items unknown> }")
      return
    case "weakset":
      encoder.writeEphemeral(object, "a WeakSet", "WeakSet { <items unknown> }")
      return
    case "weakref":
      encoder.writeEphemeral(object, "a WeakRef", "WeakRef { <target unknown> }")
      return
    case "finalizationregistry":
      encoder.writeEphemeral(object, "a FinalizationRegistry", "FinalizationRegistry {}")
      return
    case "generator":
      encoder.writeEphemeral(object, "a generator", "Object [Generator] {}")
      return
    case "iterator":
      encoder.writeEphemeral(object, "an iterator", "Object [Iterator] {}")
      return
    case "function":
    case "proxy":
      // Both were taken before any brand was asked for.
      encoder.writeEphemeral(object, `a ${brand}`)
  }
}

/** Nothing is looked up ahead for arrays, which nearly always have the usual prototype. */
function foreignArrayOf(encoder: ValueEncoder, prototype: object | null): string | undefined {
  if (prototype === null || prototype === ArrayPrototype) return undefined
  return encoder.hooks.foreignOf?.(prototype)
}

function writeOrdinary(
  encoder: ValueEncoder,
  object: object,
  prototype: object | null,
  info: PrototypeInfo | undefined,
): void {
  if (info?.hasPrivateNames === true && info.privates === undefined) {
    encoder.writeEphemeral(object, `an instance of ${info.className}, which has private names`, `${info.className} {}`)
    return
  }
  if (info?.builtin !== undefined) {
    encoder.writeEphemeral(object, `an object of ${info.builtin}`, `${info.builtin} {}`)
    return
  }
  const own = objectHasOwn(object, "constructor") ? encoder.hooks.classOf?.(object) : undefined
  if (own !== undefined) {
    encoder.putOp(opClassPrototype)
    encoder.put(own.name)
    return
  }
  encoder.mark(object)
  encoder.putOp(opObject)
  writeGeneral(encoder, object, prototype, "ordinary", ownKeysOf(object))
}

function writeMap(encoder: ValueEncoder, object: object, prototype: object | null): void {
  const entries: unknown[] = newList()
  let count = 0
  const size = mapSize(object)
  if (encoder.exceeds(size * 2)) return
  writeRare(encoder, opMap, object, prototype, "map", ownKeysOf(object), (more) => {
    encoder.put(more)
    encoder.put(size)
  })
  mapEach(object as Map<unknown, unknown>, (value, key) => {
    entries[count++] = key
    entries[count++] = value
  })
  encoder.pushSlots(entries, count, "map")
}

function writeSet(encoder: ValueEncoder, object: object, prototype: object | null): void {
  const members: unknown[] = newList()
  let count = 0
  const size = setSize(object)
  if (encoder.exceeds(size)) return
  writeRare(encoder, opSet, object, prototype, "set", ownKeysOf(object), (more) => {
    encoder.put(more)
    encoder.put(size)
  })
  setEach(object as Set<unknown>, (value) => {
    members[count++] = value
  })
  encoder.pushSlots(members, count, "set")
}

function writeBoxed(
  encoder: ValueEncoder,
  object: object,
  prototype: object | null,
  brand: "number" | "string" | "boolean" | "bigint" | "symbol",
): void {
  const value =
    brand === "number"
      ? numberValue(object)
      : brand === "string"
        ? stringValue(object)
        : brand === "boolean"
          ? booleanValue(object)
          : brand === "bigint"
            ? bigintValue(object)
            : symbolValue(object)
  // The characters of a string object are no properties anybody could have set.
  const keys = brand === "string" ? boxedStringKeys(object, stringValue(object).length) : ownKeysOf(object)
  writeRare(encoder, opBoxed, object, prototype, brand, keys, (more) => {
    encoder.put(more)
    encoder.writeValue(value)
  })
}

/** A regular expression always owns `lastIndex`; it is worth writing when it is not the 0 of a fresh one. */
function regExpKeys(object: object): (string | symbol)[] {
  const last = descriptorOf(object, "lastIndex")
  const fresh = last !== undefined && last.value === 0 && !isNegativeZero(last.value) && last.writable === true
  return fresh ? withoutKey(ownKeysOf(object), "lastIndex") : ownKeysOf(object)
}

function isNegativeZero(value: number): boolean {
  return value === 0 && 1 / value < 0
}

function regExpFlags(object: object): string {
  let flags = ""
  for (let i = 0; i < regExpFlagGetters.length; i++) {
    const known = regExpFlagGetters[i] as { flag: string; read: (regExp: unknown) => unknown }
    if (known.read(object) === true) flags += known.flag
  }
  return flags
}

function boxedStringKeys(object: object, length: number): (string | symbol)[] {
  const keys = ownKeysOf(object)
  const kept: (string | symbol)[] = newList()
  let count = 0
  // Own keys list the indices first, in order; `length` comes after them.
  for (let i = length; i < keys.length; i++) if (keys[i] !== "length") kept[count++] = keys[i]!
  return kept
}
