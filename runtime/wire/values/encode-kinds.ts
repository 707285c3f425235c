// How every kind of object but the plainest is written: what it is by its internal slots first, then, where it differs from a fresh
// object of its kind, its prototype, attributes and own properties in the general form.
//
// Functions, instances with private names and settled promises end here as ephemerals. The three seams are `writeFunction`,
// the `hasPrivateNames` line of `writeOrdinary` and the promise line of `writeOther`: whoever can read captures, private fields or a
// promise's state writes them there, with an op of their own.

import {
  bigintValue,
  booleanValue,
  bufferByteLength,
  bufferMaxLength,
  bufferResizable,
  dataViewBuffer,
  dataViewByteLength,
  dataViewOffset,
  dateValue,
  descriptorOf,
  functionToString,
  isExtensible,
  mapEach,
  mapSize,
  newList,
  numberValue,
  objectHasOwn,
  objectSymbols,
  ownKeysOf,
  regExpFlagGetters,
  regExpSource,
  setEach,
  setSize,
  sharedByteLength,
  sharedGrowable,
  sharedMaxLength,
  stringIndexOf,
  stringValue,
  symbolValue,
  typedArrayBuffer,
  typedArrayByteLength,
  typedArrayLength,
  typedArrayName,
  typedArrayOffset,
  typedArraySet,
  Uint8ArrayOf,
  type Primitive,
} from "../../../stdlib/intrinsics.ts"
import { confirmBrand, functionName, unrootedBrand, type Brand } from "../../../stdlib/brands.ts"
import { stackDescriptor } from "../../../stdlib/error-stack.ts"
import { recordedProxy } from "../../../stdlib/proxy-record.ts"
import { errorNameOf, isFreshPrototype } from "./kinds.ts"
import { followsBuffer } from "./views.ts"
import type { PrototypeInfo, ValueEncoder } from "./encoder.ts"
import {
  attrAccessor,
  attrConfigurable,
  attrEnumerable,
  attrWritable,
  opArguments,
  opArrayGeneral,
  opBoxed,
  opBuffer,
  opBufferResizable,
  opBufferShared,
  opClassPrototype,
  opDate,
  opError,
  opMap,
  opObject,
  opProxy,
  opRegExp,
  opSet,
  opView,
  proxyDepthMax,
} from "./format.ts"

/** Views above this many items are not searched for named properties: listing their own keys costs 450 ns an item. */
const viewKeysMax = 4096

export function writeFunction(encoder: ValueEncoder, object: object): void {
  const name = functionName(object)
  const isClass = stringIndexOf(functionToString(object), "class") === 0
  const what = `${isClass ? "class" : "function"}${name === "" ? "" : ` ${name}`}`
  const text = isClass ? `[class ${name || "(anonymous)"}]` : `[Function${name === "" ? " (anonymous)" : `: ${name}`}]`
  encoder.writeEphemeral(object, what, text)
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
  const brand =
    candidate === "ordinary" ? unrootedBrand(object) : confirmBrand(object, candidate) ? candidate : "ordinary"
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
      begin(encoder, opDate, object, prototype, brand, ownKeysOf(object), (more) => {
        encoder.put(more)
        encoder.put(dateValue(object))
      })
      return
    case "regexp":
      begin(encoder, opRegExp, object, prototype, brand, regExpKeys(object), (more) => {
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

function writeOrdinary(
  encoder: ValueEncoder,
  object: object,
  prototype: object | null,
  info: PrototypeInfo | undefined,
): void {
  if (info?.hasPrivateNames === true) {
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

/** Writes one of the kinds that rarely carry more than their slots; the general form follows only where they do. */
function begin(
  encoder: ValueEncoder,
  op: number,
  object: object,
  prototype: object | null,
  brand: Brand,
  keys: readonly (string | symbol)[],
  writeSlots: (more: number) => void,
): void {
  const more = keys.length > 0 || !isFreshPrototype(brand, object, prototype) || !isExtensible(object) ? 1 : 0
  encoder.putOp(op)
  writeSlots(more)
  encoder.mark(object)
  if (more === 1) writeGeneral(encoder, object, prototype, brand, keys)
}

function writeMap(encoder: ValueEncoder, object: object, prototype: object | null): void {
  const entries: unknown[] = newList()
  let count = 0
  const size = mapSize(object)
  if (encoder.exceeds(size * 2)) return
  begin(encoder, opMap, object, prototype, "map", ownKeysOf(object), (more) => {
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
  begin(encoder, opSet, object, prototype, "set", ownKeysOf(object), (more) => {
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
  begin(encoder, opBoxed, object, prototype, brand, keys, (more) => {
    encoder.put(more)
    encoder.writeValue(value)
  })
}

function writeBuffer(encoder: ValueEncoder, object: object, prototype: object | null, brand: Brand): void {
  const shared = brand === "sharedarraybuffer"
  const length = shared ? sharedByteLength(object) : bufferByteLength(object)
  if (encoder.exceeds(length)) return
  const grows = (shared ? sharedGrowable(object) : bufferResizable(object)) === true
  const largest = !grows ? -1 : shared ? sharedMaxLength(object) : bufferMaxLength(object)
  const op = shared ? opBufferShared : grows ? opBufferResizable : opBuffer
  begin(encoder, op, object, prototype, brand, ownKeysOf(object), (more) => {
    encoder.put(more)
    encoder.addChunk(copyBytes(object as ArrayBuffer, 0, length), length)
    if (op !== opBuffer) encoder.put(largest)
  })
}

/** A detached buffer has no bytes left and reads as one of length 0. */
function copyBytes(buffer: ArrayBuffer, offset: number, length: number): Uint8Array {
  const bytes = new Uint8ArrayOf(length)
  if (length > 0) typedArraySet(bytes, new Uint8ArrayOf(buffer, offset, length))
  return bytes
}

function writeView(encoder: ValueEncoder, object: object, prototype: object | null): void {
  const name = typedArrayName(object)
  const buffer = name === undefined ? viewedByDataView(object) : typedArrayBuffer(object)
  if (buffer === undefined) {
    encoder.writeEphemeral(object, "a DataView beyond the end of its buffer")
    return
  }
  const byteLength = name === undefined ? dataViewByteLength(object) : typedArrayByteLength(object)
  const offset = name === undefined ? dataViewOffset(object) : typedArrayOffset(object)
  const length = name === undefined ? byteLength : typedArrayLength(object)
  if (encoder.exceeds(byteLength)) return
  const slice = encoder.hooks.viewsAreSlices === true
  begin(encoder, opView, object, prototype, "view", viewKeys(object, name, length), (more) => {
    encoder.put(more)
    encoder.put(name ?? "DataView")
    encoder.put(slice ? 0 : offset)
    encoder.put(!slice && followsBuffer(object, buffer) ? -1 : length)
    if (slice) {
      encoder.putOp(opBuffer)
      encoder.put(0)
      encoder.addChunk(copyBytes(buffer, offset, byteLength), byteLength)
      encoder.mark(newList())
    } else encoder.writeValue(buffer)
  })
}

function viewedByDataView(object: object): ArrayBuffer | undefined {
  try {
    dataViewByteLength(object)
    return dataViewBuffer(object)
  } catch {
    // The buffer shrank below the view, which then has neither an offset nor a length to write down.
    return undefined
  }
}

const accessorKeys: readonly ["get", "set"] = ["get", "set"]

/** The general form. Keys whose property is gone or cannot be read without running code (a hostile `stack`) are left out. */
function writeGeneral(
  encoder: ValueEncoder,
  object: object,
  prototype: object | null,
  brand: Brand,
  keys: readonly (string | symbol)[],
): void {
  const hasPrototype = !isFreshPrototype(brand, object, prototype)
  const slots: unknown[] = newList()
  const labels: (string | symbol)[] = newList()
  const attributes: Primitive[] = newList()
  let slotCount = 0
  let count = 0
  if (hasPrototype) {
    slots[0] = prototype
    labels[0] = "__proto__"
    slotCount = 1
  }
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!
    const descriptor = key === "stack" ? stackDescriptor(object) : descriptorOf(object, key)
    if (descriptor === undefined) continue
    const isAccessor = !objectHasOwn(descriptor, "value")
    attributes[count++] =
      (descriptor.enumerable === true ? attrEnumerable : 0) +
      (descriptor.configurable === true ? attrConfigurable : 0) +
      (isAccessor ? attrAccessor : descriptor.writable === true ? attrWritable : 0)
    labels[slotCount] = key
    slots[slotCount++] = key
    for (let part = 0; part < (isAccessor ? 2 : 1); part++) {
      labels[slotCount] = key
      slots[slotCount++] = isAccessor ? descriptor[accessorKeys[part] as "get" | "set"] : descriptor.value
    }
  }
  encoder.put(hasPrototype ? 1 : 0)
  encoder.put(isExtensible(object) ? 0 : 1)
  encoder.put(count)
  for (let i = 0; i < count; i++) encoder.put(attributes[i])
  encoder.weight += count
  encoder.pushSlots(slots, slotCount, labels)
}

function withoutKey(keys: (string | symbol)[], left: string): (string | symbol)[] {
  const kept: (string | symbol)[] = newList()
  let count = 0
  for (let i = 0; i < keys.length; i++) if (keys[i] !== left) kept[count++] = keys[i]!
  return kept
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

function viewKeys(object: object, name: string | undefined, length: number): (string | symbol)[] {
  if (name === undefined) return ownKeysOf(object)
  if (length > viewKeysMax) return objectSymbols(object)
  const keys = ownKeysOf(object)
  const kept: (string | symbol)[] = newList()
  let count = 0
  for (let i = length; i < keys.length; i++) kept[count++] = keys[i]!
  return kept
}
