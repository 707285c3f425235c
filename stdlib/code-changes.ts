// What session code did to objects that came with code: to built-ins, and to the functions, classes and literals of definitions.
//
// A rebuilt realm has these objects fresh, so what is different about them is state. Each changed property is one record, a list that the
// encoder writes like any value: the object (a reference), the key, attributes, value or getter, setter. Records have names of their own
// among the locals, which no identifier can be: `Array.prototype.last`, `Klass.registry`. What an object was made with is known from its
// `MadeProperties`: those of definitions are noted when they are made, those of built-ins are the same in every realm (`intrinsic-facts.ts`).
//
// Nothing here runs session code, and nothing here can be reached by it.
import {
  defineOwn,
  deleteOwn,
  descriptorOf,
  isExtensible,
  isSame,
  newList,
  objectCreate,
  ownKeysOf,
  preventExtensions,
  prototypeOf,
  setPrototype,
  WeakMapOf,
  weakMapGet,
  weakMapSet,
} from "./intrinsics.ts"
import { pathStep } from "./quote.ts"

/** Prototype and extensibility, and then of each property: key, value or getter, setter, attributes. */
export type MadeProperties = readonly unknown[]

/** Attributes of a record that stands for no property. */
const bitsOfDeleted = -1
const bitsOfPrototype = -2
const bitsOfClosed = -3

const writableBit = 1
const enumerableBit = 2
const configurableBit = 4
const accessorBit = 8

/** The owner of built-ins. */
export const builtIns = ""
/** The owner of properties of the global object. */
export const globalObject = "globalThis"

type Names = Record<PropertyKey, string | undefined>

export class CodeChanges {
  readonly #records = objectCreate(null) as Record<string, unknown[] | undefined>
  readonly #owners = objectCreate(null) as Record<string, string>
  readonly #names = new WeakMapOf<object, Names>()
  /** Names in the order in which they came. */
  #order: string[] = newList()
  #found = objectCreate(null) as Record<string, boolean>
  #set: string[] = newList()

  get names(): readonly string[] {
    return this.#order
  }

  has(name: string): boolean {
    return this.#records[name] !== undefined
  }

  read(name: string): unknown {
    return this.#records[name]
  }

  ownerOf(name: string): string {
    return this.#owners[name] ?? builtIns
  }

  /** Notes what is different about one object. */
  compare(object: object, path: string, owner: string, made: MadeProperties): void {
    const keys = ownKeysOf(object)
    const placeOf = objectCreate(null) as Record<PropertyKey, number>
    for (let at = 2; at < made.length; at += 4) placeOf[made[at] as string] = at
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index]!
      const descriptor = descriptorOf(object, key)
      if (descriptor === undefined) continue
      const first = firstOf(descriptor)
      const second = descriptor.set
      const bits = bitsOf(descriptor)
      const at = placeOf[key]
      if (at !== undefined) {
        placeOf[key] = -1
        if (isSame(made[at + 1], first) && isSame(made[at + 2], second) && made[at + 3] === bits) continue
      }
      this.#note(object, key, path, owner, bits, first, second)
    }
    for (let at = 2; at < made.length; at += 4) {
      const key = made[at] as string
      if (placeOf[key]! >= 0) this.#note(object, key, path, owner, bitsOfDeleted, undefined, undefined)
    }
    const prototype = prototypeOf(object)
    if (prototype !== made[0]) this.#note(object, "[[Prototype]]", path, owner, bitsOfPrototype, prototype, undefined)
    if (!isExtensible(object) && made[1] === true) {
      this.#note(object, "[[Extensible]]", path, owner, bitsOfClosed, undefined, undefined)
    }
  }

  /** Notes one property as it is now. */
  noteProperty(object: object, key: string | symbol, path: string, owner: string): void {
    const now = descriptorOf(object, key)
    if (now === undefined) this.#note(object, key, path, owner, bitsOfDeleted, undefined, undefined)
    else this.#note(object, key, path, owner, bitsOf(now), firstOf(now), now.set)
  }

  #note(
    object: object,
    key: string | symbol,
    path: string,
    owner: string,
    bits: number,
    first: unknown,
    second: unknown,
  ): void {
    const name = this.#nameOf(object, key, path, owner, bits)
    this.#found[name] = true
    const before = this.#records[name]
    if (before !== undefined && before[2] === bits && isSame(before[3], first) && isSame(before[4], second)) return
    const record: unknown[] = newList()
    record[0] = object
    record[1] = key
    record[2] = bits
    record[3] = first
    record[4] = second
    this.#keep(name, record, owner)
    this.#set[this.#set.length] = name
  }

  #nameOf(object: object, key: string | symbol, path: string, owner: string, bits: number): string {
    let names = weakMapGet(this.#names, object)
    if (names === undefined) weakMapSet(this.#names, object, (names = objectCreate(null) as Names))
    const known = names[key]
    if (known !== undefined) return known
    let name = path + (bits <= bitsOfPrototype ? `.${key as string}` : pathStep(key))
    // Symbols may look alike, and a definition may have the name of a built-in.
    for (let other = this.#records[name]; other !== undefined; other = this.#records[name]) {
      if (other[0] === object && other[1] === key) break
      name += "'"
    }
    names[key] = name
    this.#owners[name] = owner
    return name
  }

  #keep(name: string, record: unknown[], owner: string): void {
    if (this.#records[name] === undefined) this.#order[this.#order.length] = name
    this.#records[name] = record
    this.#owners[name] = owner
  }

  /** What is new or different since the last time, and what is as it was made again, of the owners that were looked at. */
  take(isLookedAt: (owner: string) => boolean): { set: string[]; removed: string[] } {
    const set = this.#set
    const removed: string[] = newList()
    const kept: string[] = newList()
    for (let index = 0; index < this.#order.length; index++) {
      const name = this.#order[index]!
      if (this.#found[name] === true || !isLookedAt(this.ownerOf(name))) kept[kept.length] = name
      else {
        removed[removed.length] = name
        this.#records[name] = undefined
      }
    }
    this.#order = kept
    this.#set = newList()
    this.#found = objectCreate(null) as Record<string, boolean>
    return { set, removed }
  }

  /** Takes over a record that came from bytes. */
  adopt(name: string, record: unknown, owner: string): void {
    const list = record as unknown[]
    let names = weakMapGet(this.#names, list[0] as object)
    if (names === undefined) weakMapSet(this.#names, list[0] as object, (names = objectCreate(null) as Names))
    names[list[1] as string] = name
    this.#keep(name, list, owner)
  }

  /** Makes the objects what the records say; gives the names of those that could not be. */
  apply(): string[] {
    const failed: string[] = newList()
    // An object takes nothing more once it is closed.
    for (let pass = 0; pass < 2; pass++) {
      for (let index = 0; index < this.#order.length; index++) {
        const name = this.#order[index]!
        const record = this.#records[name]!
        if ((record[2] === bitsOfClosed) !== (pass === 1)) continue
        if (!applyRecord(record)) failed[failed.length] = name
      }
    }
    return failed
  }
}

/** What `compare` compares an object with later. */
export function propertiesOf(object: object): MadeProperties {
  const made: unknown[] = newList()
  made[0] = prototypeOf(object)
  made[1] = isExtensible(object)
  const keys = ownKeysOf(object)
  for (let index = 0; index < keys.length; index++) {
    const descriptor = descriptorOf(object, keys[index]!)
    if (descriptor === undefined) continue
    const { length } = made
    made[length] = keys[index]
    made[length + 1] = firstOf(descriptor)
    made[length + 2] = descriptor.set
    made[length + 3] = bitsOf(descriptor)
  }
  return made
}

export function isAsMade(object: object, made: MadeProperties): boolean {
  if (prototypeOf(object) !== made[0] || isExtensible(object) !== made[1]) return false
  const keys = ownKeysOf(object)
  if (keys.length * 4 + 2 !== made.length) return false
  for (let index = 0, at = 2; index < keys.length; index++, at += 4) {
    if (keys[index] !== made[at]) return false
    const descriptor = descriptorOf(object, keys[index]!)
    if (descriptor === undefined || !isSame(firstOf(descriptor), made[at + 1])) return false
    if (descriptor.set !== made[at + 2] || bitsOf(descriptor) !== made[at + 3]) return false
  }
  return true
}

export function firstOf(descriptor: PropertyDescriptor): unknown {
  return descriptor.get ?? (descriptor.value as unknown)
}

export function bitsOf({ writable, enumerable, configurable, get, set }: PropertyDescriptor): number {
  return (
    (writable === true ? writableBit : 0) +
    (enumerable === true ? enumerableBit : 0) +
    (configurable === true ? configurableBit : 0) +
    (get !== undefined || set !== undefined ? accessorBit : 0)
  )
}

function applyRecord(record: readonly unknown[]): boolean {
  const object = record[0] as object
  const key = record[1] as string | symbol
  const bits = record[2] as number
  switch (bits) {
    case bitsOfDeleted:
      return deleteOwn(object, key)
    case bitsOfPrototype:
      return setPrototype(object, record[3] as object | null)
    case bitsOfClosed:
      return preventExtensions(object)
    default:
  }
  const attributes: PropertyDescriptor = {
    __proto__: null,
    enumerable: (bits & enumerableBit) !== 0,
    configurable: (bits & configurableBit) !== 0,
  } as never
  if ((bits & accessorBit) !== 0) {
    attributes.get = record[3] as () => unknown
    attributes.set = record[4] as (value: unknown) => void
  } else {
    attributes.value = record[3]
    attributes.writable = (bits & writableBit) !== 0
  }
  return defineOwn(object, key, attributes)
}
