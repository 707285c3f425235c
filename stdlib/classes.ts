// What a class of session code carries invisibly: the activation it was made in, which class of its source it is, and which of its parts
// came with it.
//
// A class stamps itself in a static block that runs before everything else in it (`runtime/language/closures.ts`), when it has its methods and
// nothing more. What is different later is data: static fields, methods that somebody replaced. Its prototype and its methods are parts, told by
// a number in the order in which the language lists them, so that the class made again from the same text has the same.
import { ReturnedObject, type ScopeToken, type Skeleton } from "./stamp.ts"
import {
  descriptorOf,
  FunctionPrototype,
  isExtensible,
  newList,
  ObjectPrototype,
  ownKeysOf,
  prototypeOf,
} from "./intrinsics.ts"

export interface ClassRecord {
  readonly token: ScopeToken
  /** The number of the class in its source. */
  readonly number: number
  /** What its computed keys were. */
  readonly keys: readonly (string | symbol)[] | undefined
  /** Its private static fields. */
  readonly names: readonly string[]
  readonly read: ((index: number) => unknown) | undefined
  readonly write: ((index: number, value: unknown) => void) | undefined
  /** Its prototype, the methods and accessors of that, and then the static ones. */
  readonly parts: readonly object[]
  readonly firstStatic: number
  /** Its constructor may return another object than the one it was called for. */
  readonly mayReturn: boolean
  /** It extends something. */
  readonly isDerived: boolean
  /** The keys of the class and of its prototype as it was made. */
  readonly staticKeys: readonly (string | symbol)[]
  /** Makes functions again that only have a meaning inside of the class. */
  readonly workshop: (() => Skeleton) | undefined
  readonly prototypeKeys: readonly (string | symbol)[]
}

class ClassStamp extends ReturnedObject {
  #record: ClassRecord

  constructor(object: object, record: ClassRecord) {
    super(object)
    this.#record = record
  }

  static has(object: object): boolean {
    return #record in object
  }

  static record(object: ClassStamp): ClassRecord {
    return object.#record
  }
}

class PartStamp extends ReturnedObject {
  #made: object
  #number: number

  constructor(object: object, made: object, number: number) {
    super(object)
    this.#made = made
    this.#number = number
  }

  static has(object: object): boolean {
    return #made in object
  }

  static made(object: PartStamp): object {
    return object.#made
  }

  static number(object: PartStamp): number {
    return object.#number
  }
}

/** Called from a static block of the class. */
export function stampClass(
  made: object,
  token: ScopeToken,
  number: number,
  mayReturn: boolean,
  keys?: readonly (string | symbol)[],
  names: readonly string[] = noNames,
  read?: (index: number) => unknown,
  write?: (index: number, value: unknown) => void,
  workshop?: () => Skeleton,
): void {
  const prototype = descriptorOf(made, "prototype")!.value as object
  const parts: object[] = newList()
  addPart(parts, made, prototype)
  const prototypeKeys = ownKeysOf(prototype)
  const staticKeys = ownKeysOf(made)
  addParts(parts, made, prototype, prototypeKeys)
  const firstStatic = parts.length
  addParts(parts, made, made, staticKeys)
  const record: ClassRecord = {
    token,
    number,
    keys,
    names,
    read,
    write,
    parts,
    firstStatic,
    mayReturn,
    isDerived: prototypeOf(made) !== FunctionPrototype || prototypeOf(prototype) !== ObjectPrototype,
    staticKeys,
    workshop,
    prototypeKeys,
  }
  void new ClassStamp(made, record)
}

const noNames: readonly string[] = newList()

function addParts(parts: object[], made: object, owner: object, keys: readonly (string | symbol)[]): void {
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index]!
    if (key === "constructor" || key === "prototype") continue
    const descriptor = descriptorOf(owner, key)!
    addPart(parts, made, descriptor.get)
    addPart(parts, made, descriptor.set)
    addPart(parts, made, descriptor.value)
  }
}

function addPart(parts: object[], made: object, part: unknown): void {
  if ((typeof part !== "object" && typeof part !== "function") || part === null || PartStamp.has(part)) return
  void new PartStamp(part, made, parts.length)
  parts[parts.length] = part
}

/** What is known of a class of session code; `undefined` for everything else. */
export function classRecord(object: object): ClassRecord | undefined {
  return ClassStamp.has(object) ? ClassStamp.record(object as ClassStamp) : undefined
}

/** What makes functions again that were inside of a class; `undefined` when the class has none, or when it is no class. */
export function workshopOf(made: unknown): Skeleton | undefined {
  return typeof made === "function" ? classRecord(made)?.workshop?.() : undefined
}

/** The class that an object came with, as its prototype or as a method of it. */
export function classOfPart(object: object): object | undefined {
  return PartStamp.has(object) ? PartStamp.made(object as PartStamp) : undefined
}

export function partNumber(object: object): number {
  return PartStamp.number(object as PartStamp)
}

/** Whether a class, or its prototype, has exactly the properties that it was made with. */
export function classIsAsMade(record: ClassRecord, made: object, isPrototype: boolean): boolean {
  const { parts, firstStatic, prototypeKeys, staticKeys } = record
  const owner = isPrototype ? parts[0]! : made
  const before = isPrototype ? prototypeKeys : staticKeys
  const keys = ownKeysOf(owner)
  if (keys.length !== before.length || !isExtensible(owner)) return false
  let next = isPrototype ? 1 : firstStatic
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index]!
    if (key !== before[index]) return false
    if (key === "prototype" && !isPrototype) continue
    const { get, set, value, writable, enumerable, configurable } = descriptorOf(owner, key) as PropertyDescriptor
    if (enumerable !== false || configurable !== true) return false
    if (key === "constructor" && isPrototype) {
      if (value !== made || writable !== true) return false
    } else if (!isPrototype && isClassFact(key, value)) {
      if (writable !== false) return false
    } else if (get === undefined && set === undefined) {
      if (value !== parts[next++] || writable !== true) return false
    } else if ((get !== undefined && get !== parts[next++]) || (set !== undefined && set !== parts[next++]))
      return false
  }
  return true
}

/** `name` and `length` as every class has them; what they are is told beside. */
function isClassFact(key: string | symbol, value: unknown): boolean {
  return (key === "name" && typeof value === "string") || (key === "length" && typeof value === "number")
}

/** A property key as the language makes one of a value; what that runs, the class would have run. */
export function keyOf(value: unknown): string | symbol {
  if (typeof value === "string" || typeof value === "symbol") return value
  return ownKeysOf({ [value as string]: 0 })[0]!
}
