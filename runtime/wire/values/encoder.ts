// Flattens a graph of live objects into a node table. One instance encodes one table.
//
// It works on a stack of frames of its own, so nesting is bounded by memory and not by the engine's stack. Plain objects and
// ordinary arrays, which most data is made of, are handled here with as few questions per object as exactness allows: own names,
// own symbols, one descriptor per property, prototype, extensibility. Everything else is in `encode-kinds.ts`. No question asked
// here can run session code; properties are read through descriptors, and read again directly only after every one of the object's
// descriptors was seen to be plain data, since nothing can change in between.
//
// Pushing a frame means "this object's remaining slots follow, after those of the frames above". The decoder pushes the same frames
// at the same items, which is all that keeps the two in step.

import {
  arrayIsArray,
  ArrayPrototype,
  descriptorOf,
  isExtensible,
  MapOf,
  mapGet,
  mapSet,
  newList,
  objectKeys,
  objectNames,
  ObjectPrototype,
  objectSymbols,
  ownHooks,
  prototypeOf,
  symbolDescription,
  symbolKeyFor,
  typedArrayBuffer,
  Uint8ArrayOf,
  type Primitive,
} from "../../../stdlib/intrinsics.ts"
import { strayedFrom, type PrivatesOfClass } from "../../../stdlib/privates.ts"
import type { SourceRecord } from "../../../stdlib/stamp.ts"
import { candidateBrand, functionName, hasLongChain, opaqueBuiltin, type Brand } from "../../../stdlib/brands.ts"
import { isRecordedProxy } from "../../../stdlib/proxy-record.ts"
import { wellKnownSymbolName } from "./symbols.ts"
import { classOfPart, partNumber } from "../../../stdlib/classes.ts"
import { fitsInPlace, writePart } from "./encode-classes.ts"
import { writeInPlace } from "./encode-closures.ts"
import { writeFunction, writeOther, writeProxy } from "./encode-kinds.ts"
import {
  numbersMin,
  opArray,
  opNull,
  opNumbers,
  opPlaceholder,
  opRef,
  opReference,
  opShape,
  opShaped,
  opSymbolRegistered,
  opSymbolUnique,
  opSymbolWellKnown,
  protoClass,
  protoNull,
  protoPlain,
  protoSlot,
} from "./format.ts"
import { frameCaptures, frameFields, frameItems, frameSlots, pathOf, type Frame, type SlotLabels } from "./frames.ts"
import { hasPlainItems, isPlainData, numbersOf, objectPrototypeIsSilent } from "./plain.ts"
import type { EncodeHooks } from "./hooks.ts"

/** Hooks may be left out; what is missing must not be looked up on `Object.prototype`. */
const encodeHookNames = [
  "referenceOf",
  "classOf",
  "isProxy",
  "standInPrototype",
  "viewsAreSlices",
  "keepsClosures",
  "privatesOf",
  "foreignOf",
] as const

/** Shapes remembered per prototype; a program's hot objects rarely alternate between more. */
const recentShapesMax = 8

/** Links of a prototype chain: class hierarchies have ten, and a question about an object walks all of them. */
const prototypesMax = 1_000

interface Shape {
  readonly index: number
  readonly keys: readonly string[]
}

/** What is known of a prototype, looked up once per encode. */
export interface PrototypeInfo {
  /** One of `protoPlain`, `protoNull`, `protoClass`, `protoSlot`; -1 when its objects need the general form. */
  readonly mode: number
  readonly className: string
  /** The class that is a value, and its prototype. */
  readonly made: object | undefined
  readonly prototype: object | undefined
  readonly hasPrivateNames: boolean
  readonly privates: readonly PrivatesOfClass[] | undefined
  readonly brand: Brand
  /** The built-in class on the chain whose internal state nobody can read, as in `Intl.Collator`. */
  readonly builtin: string | undefined
  /** The class of an imported module on the chain: what its code keeps of an instance cannot be known. */
  readonly foreign: string | undefined
  /** The chain has more links than anything but an attack: every question about such an object would walk all of it. */
  readonly isTooDeep: boolean
  readonly shapes: Shape[]
  shapeCount: number
}

export type EphemeralPolicy = "stop" | "placeholder" | "scan"

export class ValueEncoder {
  readonly hooks: EncodeHooks
  readonly policy: EphemeralPolicy
  table: Primitive[] = newList()
  length = 0
  chunks: Uint8Array[] = newList()
  chunkCount = 0
  /** Numbers of objects and unique symbols. A scan of many bindings keeps one map: a number below `base` belongs to an earlier one. */
  ids = new MapOf<unknown, number>()
  base = 0
  count = 0
  /** Bytes written, estimated from below: two for a slot, one for a character. */
  weight = 0
  limit: number
  /** Items of the table at most: what decoding takes time for. */
  itemsMax = Infinity
  tooLarge = false
  ephemeral: { what: string; path: string } | undefined
  /** How many proxies of proxies are being written. */
  proxyDepth = 0
  /** How many activations are being written for the sake of another's `this`. */
  closureDepth = 0
  /** The sources of the functions written. */
  sources: SourceRecord[] = newList()
  /** Only data was written: no function, accessor, proxy, instance or reference, and every prototype the usual one. Nothing of it can run code. */
  isInert = true
  /** Called when an object of an earlier binding is met; set only for a scan. */
  onShared: ((id: number) => void) | undefined

  #prototypes = new MapOf<object, PrototypeInfo>()
  #plain = newPrototypeInfo(protoPlain)
  #null = newPrototypeInfo(protoNull)
  #shapeCount = 0
  readonly #isSilent = objectPrototypeIsSilent()
  readonly #keepsClasses: boolean
  #scratch: unknown[] = newList()
  #top: Frame | undefined
  #root = ""

  constructor(given: EncodeHooks, policy: EphemeralPolicy, limit: number) {
    this.hooks = ownHooks(given, encodeHookNames)
    this.#keepsClasses = this.hooks.keepsClosures === true
    this.policy = policy
    this.limit = limit
  }

  /** Forgets the table but not the numbers: the next binding of a scan. */
  restart(): void {
    this.table = newList()
    this.length = 0
    this.chunks = newList()
    this.chunkCount = 0
    this.base += this.count
    this.count = 0
    this.ephemeral = undefined
    this.sources = newList()
    this.isInert = true
    this.#prototypes = new MapOf()
    this.#plain = newPrototypeInfo(protoPlain)
    this.#null = newPrototypeInfo(protoNull)
    this.#shapeCount = 0
  }

  get stopped(): boolean {
    return this.tooLarge || (this.ephemeral !== undefined && this.policy === "stop")
  }

  /** Writes one root and everything it reaches. `name` begins the paths of what is found there. */
  writeRoot(value: unknown, name: string): void {
    this.#root = name
    this.#top = undefined
    this.writeValue(value)
    while (this.#top !== undefined && !this.stopped) this.#continueFrame(this.#top)
  }

  put(item: Primitive): void {
    this.table[this.length++] = item
  }

  putOp(op: number): void {
    this.table[this.length++] = null
    this.table[this.length++] = op
    this.weight += 2
  }

  /** Gives the object, symbol or proxy the next number. */
  mark(value: unknown): void {
    mapSet(this.ids, value, this.base + this.count++)
  }

  addChunk(bytes: Uint8Array, byteLength: number): void {
    this.weight += byteLength
    this.put(this.chunkCount)
    this.chunks[this.chunkCount++] = bytes
  }

  /** Whether so many more bytes would be too many; then the encoding ends. */
  exceeds(bytes: number): boolean {
    if (this.weight + bytes > this.limit || this.length > this.itemsMax) this.tooLarge = true
    return this.tooLarge
  }

  writeValue(value: unknown): void {
    switch (typeof value) {
      case "string":
        if (!this.exceeds(value.length)) this.weight += value.length
        this.put(value)
        return
      case "number":
      case "boolean":
      case "bigint":
      case "undefined":
        this.put(value)
        return
      case "symbol":
        this.#writeSymbol(value)
        return
      case "function":
      case "object":
        if (value === null) this.putOp(opNull)
        else this.#writeObject(value)
    }
  }

  /** The known ways to write a value by name or number; `false` when it is new. */
  #writeKnown(value: object | symbol): boolean {
    const known = mapGet(this.ids, value)
    if (known === undefined) return false
    if (known >= this.base) {
      this.putOp(opRef)
      this.put(known - this.base)
    } else {
      this.putOp(opNull)
      this.onShared?.(known)
    }
    return true
  }

  #writeObject(object: object): void {
    if (this.#writeKnown(object)) return
    const reference = this.hooks.referenceOf(object)
    if (reference !== undefined) {
      this.isInert = false
      this.putOp(opReference)
      this.put(reference)
      return
    }
    if (this.exceeds(2)) return
    if (typeof object === "function") this.isInert = false
    const made = this.#keepsClasses ? classOfPart(object) : undefined
    const strayed = strayedFrom(object)
    if (made !== undefined || strayed !== undefined) this.isInert = false
    if (strayed !== undefined) {
      const name = functionName(strayed) || "a class"
      this.writeEphemeral(object, `an object with the private names of ${name}, which it is no instance of`)
    } else if (made !== undefined) writePart(this, object, made)
    else if (isRecordedProxy(object)) {
      this.isInert = false
      writeProxy(this, object)
    } else if (this.hooks.isProxy?.(object) === true) this.writeEphemeral(object, "a proxy")
    else if (typeof object === "function") writeFunction(this, object)
    else if (arrayIsArray(object)) {
      if (this.#writeArray(object)) return
      const prototype = this.#prototypeOf(object)
      if (prototype !== null && hasLongChain(prototype, prototypesMax)) this.#writeTooDeep(object)
      else writeOther(this, object, prototype, "array", undefined)
    } else {
      const prototype = this.#prototypeOf(object)
      const info =
        prototype === ObjectPrototype ? this.#plain : prototype === null ? this.#null : this.infoOf(prototype)
      if (info.isTooDeep) return this.#writeTooDeep(object)
      if (info.mode >= protoClass) this.isInert = false
      if (info.mode >= 0 && !info.hasPrivateNames && info.privates === undefined && this.#writeShaped(object, info))
        return
      writeOther(this, object, prototype, info.brand, info)
    }
  }

  #writeTooDeep(object: object): void {
    this.writeEphemeral(object, `an object with more than ${prototypesMax} prototypes`)
  }

  #prototypeOf(object: object): object | null {
    const prototype = prototypeOf(object)
    if (prototype === null || this.hooks.standInPrototype === undefined) return prototype
    return this.hooks.standInPrototype(prototype) ?? prototype
  }

  infoOf(prototype: object): PrototypeInfo {
    const known = mapGet(this.#prototypes, prototype)
    if (known !== undefined) return known
    const found = isRecordedProxy(prototype) ? undefined : this.hooks.classOf?.(prototype)
    const isTooDeep = hasLongChain(prototype, prototypesMax)
    const brand = isTooDeep ? "ordinary" : candidateBrand(prototype)
    const builtin = brand === "ordinary" && !isTooDeep ? opaqueBuiltin(prototype) : undefined
    const foreign = isTooDeep ? undefined : this.hooks.foreignOf?.(prototype)
    const isPlain = brand === "ordinary" && builtin === undefined && foreign === undefined && !isTooDeep
    const part = found === undefined && this.#keepsClasses ? classOfPart(prototype) : undefined
    const made = part !== undefined && partNumber(prototype) === 0 ? part : undefined
    const info: PrototypeInfo = {
      mode: !isPlain ? -1 : found !== undefined ? protoClass : made !== undefined ? protoSlot : -1,
      className: found?.name ?? (made === undefined ? "" : functionName(made)),
      made,
      prototype: made === undefined ? undefined : prototype,
      hasPrivateNames: found?.hasPrivateNames ?? false,
      privates: this.hooks.privatesOf?.(prototype),
      brand,
      builtin,
      foreign,
      isTooDeep,
      shapes: newList(),
      shapeCount: 0,
    }
    mapSet(this.#prototypes, prototype, info)
    return info
  }

  /** The quick form: string keys only, all of them plain data with every attribute on, extensible. `false`: nothing was written. */
  #writeShaped(object: object, info: PrototypeInfo): boolean {
    if (!isExtensible(object)) return false
    const keys = objectKeys(object)
    const count = keys.length
    if (count === 0 && info.mode < protoClass) return false
    if (info.made !== undefined && !fitsInPlace(this, info.made)) return false
    if (objectNames(object).length !== count || objectSymbols(object).length !== 0) return false
    const scratch = this.#scratch
    const isSilent = this.#isSilent
    for (let i = 0; i < count; i++) {
      const descriptor = descriptorOf(object, keys[i]!) as PropertyDescriptor
      if (!isPlainData(descriptor, isSilent)) return false
      scratch[i] = descriptor.value
    }
    this.mark(object)
    this.#writeShape(info, keys)
    this.weight += count * 2
    const written = this.#writeLeaves(scratch, count)
    if (written < count) this.#push(frameFields, object, keys, written, count)
    return true
  }

  /** Writes the values up to the first that is no leaf, and returns how many that were. */
  #writeLeaves(values: ArrayLike<unknown>, count: number): number {
    const { table } = this
    let at = this.length
    let i = 0
    for (; i < count; i++) {
      const value = values[i]
      const type = typeof value
      if (type === "string") {
        this.weight += (value as string).length
        if (this.weight > this.limit) this.tooLarge = true
      } else if (value === null) {
        table[at++] = null
        table[at++] = opNull
        continue
      } else if (type === "object" || type === "function" || type === "symbol") break
      table[at++] = value as Primitive
    }
    this.length = at
    return i
  }

  #writeShape(info: PrototypeInfo, keys: readonly string[]): void {
    const count = keys.length
    const { shapes } = info
    for (let i = 0; i < info.shapeCount && i < recentShapesMax; i++) {
      const shape = shapes[i]!
      if (sameKeys(shape.keys, keys)) {
        this.putOp(opShaped + shape.index)
        return
      }
    }
    this.putOp(opShape)
    this.put(info.mode)
    if (info.mode === protoClass) this.put(info.className)
    else if (info.mode === protoSlot) writeInPlace(this, info.prototype)
    this.put(count)
    for (let i = 0; i < count; i++) this.writeValue(keys[i])
    // Numbered only now: what stands in place may define shapes too.
    shapes[info.shapeCount % recentShapesMax] = { index: this.#shapeCount++, keys }
    info.shapeCount++
  }

  /** Dense, extensible, no property beside its items, all of them plain data. `false`: nothing was written. */
  #writeArray(array: unknown[]): boolean {
    if (prototypeOf(array) !== ArrayPrototype || !isExtensible(array)) return false
    const count = array.length
    if (this.exceeds(count)) return true
    if (!hasPlainItems(array, count) || objectSymbols(array).length !== 0) return false
    this.mark(array)
    if (count >= numbersMin && typeof array[0] === "number" && this.#writeNumbers(array, count)) return true
    this.putOp(opArray)
    this.put(count)
    this.weight += count
    const written = this.#writeLeaves(array, count)
    if (written < count) this.#push(frameItems, array, undefined, written, count)
    return true
  }

  #writeNumbers(array: unknown[], count: number): boolean {
    const found = numbersOf(array, count)
    if (found === undefined) return false
    const bytes = new Uint8ArrayOf(typedArrayBuffer(found.numbers))
    this.putOp(opNumbers)
    this.put(found.width)
    this.addChunk(bytes, count * found.width)
    this.exceeds(0)
    return true
  }

  #writeSymbol(symbol: symbol): void {
    if (this.#writeKnown(symbol)) return
    const wellKnown = wellKnownSymbolName(symbol)
    const registered = symbolKeyFor(symbol)
    if (wellKnown !== undefined) {
      this.putOp(opSymbolWellKnown)
      this.writeValue(wellKnown)
    } else if (registered !== undefined) {
      this.putOp(opSymbolRegistered)
      this.writeValue(registered)
    } else {
      this.mark(symbol)
      this.putOp(opSymbolUnique)
      this.writeValue(symbolDescription(symbol))
    }
  }

  /** Notes what cannot be encoded, with the path to it, and writes a stand-in that describes it. */
  writeEphemeral(object: object, what: string, text: string = what): void {
    this.isInert = false
    this.ephemeral ??= { what, path: pathOf(this.#top, this.#root) }
    this.mark(object)
    this.putOp(opPlaceholder)
    this.put(what)
    this.writeValue(text)
  }

  /** Has the slots of `list` written after what is being written now, before anything below. `labels` names them in paths. */
  pushSlots(list: unknown[], count: number, labels: SlotLabels): void {
    if (count > 0) this.#push(frameSlots, list, labels, 0, count)
  }

  /** The same for the variables of an activation. */
  pushCaptures(values: unknown[], names: string[]): void {
    if (names.length > 0) this.#push(frameCaptures, values, names, 0, names.length)
  }

  #push(kind: number, object: object, list: unknown, position: number, end: number): void {
    this.#top = { kind, object, list, position, begun: false, end, below: this.#top }
  }

  #continueFrame(frame: Frame): void {
    const { kind, end } = frame
    const object = frame.object as Record<PropertyKey, unknown>
    const keys = frame.list as string[]
    frame.begun = true
    while (frame.position < end) {
      const at = frame.position++
      this.writeValue(object[kind === frameFields ? keys[at]! : at])
      if (this.#top !== frame || this.stopped) return
    }
    this.#top = frame.below
  }
}

function sameKeys(a: readonly string[], b: readonly string[]): boolean {
  const count = a.length
  if (count !== b.length) return false
  for (let i = 0; i < count; i++) if (a[i] !== b[i]) return false
  return true
}

function newPrototypeInfo(mode: number): PrototypeInfo {
  return {
    mode,
    className: "",
    made: undefined,
    prototype: undefined,
    hasPrivateNames: false,
    privates: undefined,
    brand: "ordinary",
    builtin: undefined,
    foreign: undefined,
    isTooDeep: false,
    shapes: newList(),
    shapeCount: 0,
  }
}
