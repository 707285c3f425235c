// Rebuilds the objects of a node table with the built-ins of the side it runs on.
//
// Tables may come from a damaged store or a hostile host, so every item is checked before it is used: what is wrong ends in a
// `MalformedValueError`, and nothing is allocated that the table does not pay for. Like the encoder it keeps a stack of its own: a frame holds
// an object that exists already and the slots it still waits for. No setter can run: properties are assigned only while no
// prototype has anything under their names, and defined otherwise.

import {
  type Primitive,
  setPrototype,
  MapOf,
  mapGet,
  mapSet,
  setAdd,
  typedArrayLength,
  symbolFor,
  SymbolOf,
  ObjectPrototype,
  newList,
  withoutPrototype,
  putOwn,
  ownHooks,
} from "../../../stdlib/intrinsics.ts"
import { makeProxy } from "../../../stdlib/proxy-record.ts"
import { finishGeneral, isObject, setGeneralPrototype, type General } from "./decode-general.ts"
import { readBound, readClosure, readInPlace, readPrivate } from "./decode-closures.ts"
import { readClass, readPart } from "./decode-classes.ts"
import { decodeKind } from "./decode-kinds.ts"
import { describedPrototype, Placeholder } from "./described.ts"
import { MalformedValueError } from "./malformed.ts"
import { viewNumbers } from "./numbers.ts"
import { arraysAreOpen, isOpenFor } from "./open.ts"
import { wellKnownSymbol } from "./symbols.ts"
import type { Activation, DecodeHooks } from "./hooks.ts"
import {
  opNull,
  opRef,
  opArray,
  opNumbers,
  opSymbolWellKnown,
  opSymbolRegistered,
  opSymbolUnique,
  opReference,
  opClassPrototype,
  opPlaceholder,
  opProxy,
  opBound,
  opClass,
  opClosure,
  opPart,
  opPrivate,
  opShape,
  opShaped,
  protoPlain,
  protoNull,
  protoClass,
  protoSlot,
  attrAccessor,
  proxyDepthMax,
} from "./format.ts"

const decodeHookNames = ["resolveReference", "prototypeOf", "activate", "construct"] as const

const awaitsFields = 0
const awaitsItems = 1
const awaitsGeneral = 2
const awaitsEntries = 3
const awaitsMembers = 4
const awaitsCaptures = 5

interface DecodedShape {
  readonly keys: readonly string[]
  readonly prototype: object | null
  /** Nothing on the prototype chain bears one of the keys, so assignment makes an own property and runs nothing. */
  readonly isOpen: boolean
}

/** An object that exists, and how many of its slots have arrived. */
interface Waiting {
  readonly kind: number
  readonly owner: object
  readonly detail: DecodedShape | General | readonly string[] | undefined
  position: number
  readonly end: number
  /** The key of the entry whose value is awaited. */
  key: unknown
  readonly below: Waiting | undefined
}

export class ValueDecoder {
  readonly hooks: DecodeHooks
  at = 0
  #table: ArrayLike<Primitive>
  #length: number
  #chunks: ArrayLike<Uint8Array>
  #chunkCount: number
  #objects: unknown[] = newList()
  #count = 0
  #shapes: DecodedShape[] = newList()
  #shapeCount = 0
  #described = new MapOf<string, object>()
  #arraysAreOpen: boolean | undefined
  #proxyDepth = 0
  /** Activations by their number among the objects. */
  readonly activations = new MapOf<number, Activation>()
  scopeDepth = 0
  #top: Waiting | undefined

  constructor(table: ArrayLike<Primitive>, chunks: ArrayLike<Uint8Array>, given: DecodeHooks) {
    this.#table = table
    this.#length = table.length
    this.#chunks = chunks
    this.#chunkCount = chunks.length
    this.hooks = ownHooks(given, decodeHookNames)
  }

  fail(problem: string): never {
    throw new MalformedValueError(`${problem} at item ${this.at} of ${this.#length}`)
  }

  get atEnd(): boolean {
    return this.at === this.#length
  }

  readRoot(): unknown {
    const value = this.readSlot()
    while (this.#top !== undefined) this.#continueFrame(this.#top)
    return value
  }

  read(): Primitive {
    if (this.at >= this.#length) this.fail("the table ends too early")
    return this.#table[this.at++]
  }

  /** A whole number from 0 up to `max`. */
  readCount(max: number): number {
    const item = this.read()
    if (typeof item !== "number" || !(item >= 0 && item <= max) || item % 1 !== 0) this.fail("a count is out of range")
    return item
  }

  /** A count of slots of which each takes at least one item, so that no table can ask for more than its own size. */
  readSlotCount(itemsPerSlot: number): number {
    const count = this.readCount(0xffffffff)
    if (count * itemsPerSlot > this.#length - this.at) this.fail("a count exceeds the table")
    return count
  }

  /** A whole number of either sign. */
  readNumber(): number {
    const item = this.read()
    if (typeof item !== "number" || item % 1 !== 0) this.fail("a number was expected")
    return item
  }

  readText(): string {
    const item = this.read()
    if (typeof item !== "string") this.fail("a string was expected")
    return item
  }

  readChunk(): Uint8Array {
    return this.#chunks[this.readCount(this.#chunkCount - 1)] as Uint8Array
  }

  /** Gives the object, symbol or proxy the next number, as the encoder did. */
  keep<T>(value: T): T {
    this.#objects[this.#count++] = value
    return value
  }

  /** Takes a number for something that no slot may refer to. */
  keepHidden(): number {
    this.#objects[this.#count] = new Placeholder("an activation", "an activation")
    return this.#count++
  }

  readSlot(): unknown {
    const item = this.read()
    return item === null ? this.#readOp(this.readCount(0xffffffff)) : item
  }

  #readOp(op: number): unknown {
    if (op >= opShaped) {
      if (op - opShaped >= this.#shapeCount) this.fail("an unknown shape")
      return this.#readShaped(this.keep({}), this.#shapes[op - opShaped] as DecodedShape)
    }
    switch (op) {
      case opNull:
        return null
      case opRef: {
        const id = this.readCount(0xffffffff)
        if (id >= this.#count) this.fail("a reference to an object that is not there yet")
        return this.#objects[id]
      }
      case opShape:
        return this.#readShaped(this.keep({}), this.#readShape())
      case opArray: {
        const count = this.readSlotCount(1)
        return this.#readItems(this.keep([]), count)
      }
      case opSymbolWellKnown:
        return wellKnownSymbol(this.readText()) ?? this.fail("an unknown well-known symbol")
      case opSymbolRegistered:
        return symbolFor(this.readText())
      case opSymbolUnique: {
        const description = this.read()
        if (description !== undefined && typeof description !== "string") this.fail("a symbol's description is no text")
        return this.keep(SymbolOf(description))
      }
      case opReference: {
        const id = this.readText()
        return this.hooks.resolveReference?.(id) ?? new Placeholder("a reference", id)
      }
      case opClassPrototype:
        return this.#classPrototype(this.readText())
      case opPlaceholder:
        return this.keep(new Placeholder(this.readText(), this.readText()))
      case opProxy:
        return this.#readProxy()
      case opBound:
        return readBound(this)
      case opPrivate:
        return readPrivate(this)
      case opClosure:
        return readClosure(this)
      case opClass:
        return readClass(this)
      case opPart:
        return readPart(this)
      case opNumbers:
        return this.readNumbers()
      default:
        return decodeKind(this, op)
    }
  }

  #readProxy(): object {
    if (this.#proxyDepth >= proxyDepthMax) this.fail("proxies of too many proxies")
    this.#proxyDepth++
    const target = this.readSlot()
    const handler = this.readSlot()
    this.#proxyDepth--
    if (!isObject(target) || !isObject(handler)) this.fail("a proxy of no object")
    return this.keep(makeProxy(target, handler))
  }

  #classPrototype(name: string): object {
    const known = this.hooks.prototypeOf?.(name) ?? mapGet(this.#described, name)
    if (known !== undefined) return known
    const made = describedPrototype(name)
    mapSet(this.#described, name, made)
    return made
  }

  #readShape(): DecodedShape {
    const mode = this.readCount(protoSlot)
    const prototype = this.#shapePrototype(mode)
    const count = this.readSlotCount(1)
    const keys: string[] = newList()
    for (let i = 0; i < count; i++) keys[i] = this.readText()
    const shape = { keys, prototype, isOpen: isOpenFor(keys, prototype) }
    this.#shapes[this.#shapeCount++] = shape
    return shape
  }

  #shapePrototype(mode: number): object | null {
    if (mode === protoPlain) return ObjectPrototype
    if (mode === protoNull) return null
    if (mode === protoClass) return this.#classPrototype(this.readText())
    const prototype = readInPlace(this)
    if (!isObject(prototype)) this.fail("a prototype that is no object")
    return prototype
  }

  #readShaped(made: object, shape: DecodedShape): object {
    const { keys, prototype, isOpen } = shape
    const object = made as Record<string, unknown>
    if (!isOpen && prototype !== ObjectPrototype) setPrototype(object, prototype)
    const count = keys.length
    for (let i = 0; i < count; i++) {
      const item = this.#peekPlain()
      if (item === suspended) {
        this.#push(awaitsFields, object, shape, i, count)
        return object
      }
      if (isOpen) object[keys[i]!] = item
      else putOwn(object, keys[i]!, item)
    }
    if (isOpen && prototype !== ObjectPrototype) setPrototype(object, prototype)
    return object
  }

  /** The next item when it stands for itself or for `null`, consumed; else `suspended`, and nothing is consumed. */
  #peekPlain(): unknown {
    const item = this.read()
    if (item !== null) return item
    if (this.at < this.#length && this.#table[this.at] === opNull) {
      this.at++
      return null
    }
    this.at--
    return suspended
  }

  #readItems(array: unknown[], count: number): unknown[] {
    const isOpen = (this.#arraysAreOpen ??= arraysAreOpen())
    for (let i = 0; i < count; i++) {
      const item = this.#peekPlain()
      if (item === suspended) {
        this.#push(awaitsItems, array, undefined, i, count)
        return array
      }
      if (isOpen) array[i] = item
      else putOwn(array, i, item)
    }
    return array
  }

  /** An array of the numbers in a chunk, in this machine's byte order, which is little-endian wherever Node runs. */
  readNumbers(): number[] {
    const width = this.readCount(8)
    const numbers = viewNumbers(this.readChunk(), width) ?? this.fail("numbers of an unknown width, or cut")
    const count = typedArrayLength(numbers)
    const array: number[] = this.keep([])
    const isOpen = (this.#arraysAreOpen ??= arraysAreOpen())
    for (let i = 0; i < count; i++) {
      if (isOpen) array[i] = numbers[i]!
      else putOwn(array, i, numbers[i])
    }
    return array
  }

  /** Reads the header of the general form and waits for its slots. */
  pushGeneral(object: object): void {
    const hasPrototype = this.readCount(1) === 1
    const isSealed = this.readCount(1) === 1
    const count = this.readSlotCount(3)
    const attributes: number[] = newList()
    let slots = hasPrototype ? 1 : 0
    for (let i = 0; i < count; i++) {
      const bits = this.readCount(31)
      attributes[i] = bits
      slots += (bits & attrAccessor) === 0 ? 2 : 3
    }
    const general: General = { object, hasPrototype, isSealed, attributes, count, values: newList() }
    if (slots === 0) finishGeneral(general, (problem) => this.fail(problem))
    else this.#push(awaitsGeneral, general.values, general, 0, slots)
  }

  pushEntries(map: object, count: number): void {
    if (count > 0) this.#push(awaitsEntries, map, undefined, 0, count * 2)
  }

  pushMembers(set: object, count: number): void {
    if (count > 0) this.#push(awaitsMembers, set, undefined, 0, count)
  }

  /** Waits for the variables of an activation. */
  pushCaptures(activation: Pick<Activation, "set">, names: readonly string[]): void {
    this.#push(awaitsCaptures, activation, names, 0, names.length)
  }

  #push(kind: number, owner: object, detail: Waiting["detail"], position: number, end: number): void {
    this.#top = { kind, owner, detail, position, end, key: undefined, below: this.#top }
  }

  #continueFrame(frame: Waiting): void {
    while (frame.position < frame.end) {
      const at = frame.position++
      this.#deliver(frame, at, this.readSlot())
      if (this.#top !== frame) return
    }
    this.#top = frame.below
    if (frame.kind === awaitsGeneral) finishGeneral(frame.detail as General, (problem) => this.fail(problem))
    else if (frame.kind === awaitsFields) {
      const { prototype, isOpen } = frame.detail as DecodedShape
      if (isOpen && prototype !== ObjectPrototype) setPrototype(frame.owner, prototype)
    }
  }

  #deliver(frame: Waiting, at: number, value: unknown): void {
    const owner = frame.owner as Record<PropertyKey, unknown>
    switch (frame.kind) {
      case awaitsFields: {
        const shape = frame.detail as DecodedShape
        const key = shape.keys[at]!
        if (shape.isOpen) owner[key] = value
        else putOwn(owner, key, value)
        return
      }
      case awaitsItems:
        if (this.#arraysAreOpen === true) owner[at] = value
        else putOwn(owner, at, value)
        return
      case awaitsGeneral: {
        const { hasPrototype, object } = frame.detail as General
        if (at === 0 && hasPrototype) setGeneralPrototype(object, value, (problem) => this.fail(problem))
        owner[at] = value
        return
      }
      case awaitsEntries:
        if (at % 2 === 0) frame.key = value
        else mapSet(owner as unknown as Map<unknown, unknown>, frame.key, value)
        return
      case awaitsCaptures:
        ;(frame.owner as Activation).set((frame.detail as readonly string[])[at]!, value)
        return
      default:
        setAdd(owner as unknown as Set<unknown>, value)
    }
  }
}

const suspended: unknown = withoutPrototype({})
