// What the built-ins of a fresh realm have, told once for all realms of an engine and profile: numbers and other primitives only, where an object
// is the index at which the walk of `intrinsic-references.ts` met it. So a realm need not look at its 2,000 properties when it boots to
// know later which of them changed.
import { bitsOf, firstOf, type MadeProperties } from "./code-changes.ts"
import {
  descriptorOf,
  isExtensible,
  isSame,
  mapGet,
  MapOf,
  mapSet,
  newList,
  ownKeysOf,
  prototypeOf,
} from "./intrinsics.ts"

export interface IntrinsicFacts {
  /** Of each object where its properties begin; one more at the end. */
  readonly starts: readonly number[]
  /** Its prototype's index and whether it may be extended. */
  readonly prototypes: readonly number[]
  readonly open: readonly boolean[]
  readonly keys: readonly (string | symbol)[]
  readonly bits: readonly number[]
  /** Index of the value or getter, -1 for a primitive. */
  readonly values: readonly number[]
  readonly primitives: readonly unknown[]
  readonly setters: readonly number[]
}

const noObject = -1
/** An object that the walk did not meet, such as the prototype of a function that is no class. */
const unmetObject = -2
const accessorBitOf = 8

/** The facts of the objects from an index on. */
export function factsOf(objects: readonly object[], from = 0): IntrinsicFacts {
  const indices = new MapOf<object, number>()
  for (let index = 0; index < objects.length; index++) mapSet(indices, objects[index]!, index)
  const indexOf = (value: unknown): number =>
    (typeof value === "object" && value !== null) || typeof value === "function"
      ? (mapGet(indices, value) ?? noObject)
      : noObject
  const starts: number[] = newList()
  const prototypes: number[] = newList()
  const open: boolean[] = newList()
  const keys: (string | symbol)[] = newList()
  const bits: number[] = newList()
  const values: number[] = newList()
  const primitives: unknown[] = newList()
  const setters: number[] = newList()
  let count = 0
  for (let index = from; index < objects.length; index++) {
    const object = objects[index]!
    starts[index - from] = count
    prototypes[index - from] = indexOf(prototypeOf(object))
    open[index - from] = isExtensible(object)
    const own = ownKeysOf(object)
    for (let at = 0; at < own.length; at++) {
      const descriptor = descriptorOf(object, own[at]!)!
      const first = firstOf(descriptor)
      keys[count] = own[at]!
      bits[count] = bitsOf(descriptor)
      values[count] = isAnyObject(first) && indexOf(first) === noObject ? unmetObject : indexOf(first)
      primitives[count] = isAnyObject(first) ? undefined : first
      setters[count] = indexOf(descriptor.set)
      count += 1
    }
  }
  starts[objects.length - from] = count
  return { starts, prototypes, open, keys, bits, values, primitives, setters }
}

/** Whether the object at an index has what it was made with. */
export function isIntrinsicAsMade(objects: readonly object[], index: number, facts: IntrinsicFacts): boolean {
  const { starts, prototypes, open, keys, bits, values, primitives, setters } = facts
  const object = objects[index]!
  const from = starts[index]!
  const to = starts[index + 1]!
  const own = ownKeysOf(object)
  if (own.length !== to - from || isExtensible(object) !== open[index]) return false
  if (prototypeOf(object) !== (prototypes[index] === noObject ? null : objects[prototypes[index]!])) return false
  for (let at = from; at < to; at++) {
    const key = keys[at]!
    if (own[at - from] !== key) return false
    // Neither writable nor configurable: it is what it was.
    if ((bits[at]! & 5) === 0) continue
    const descriptor = descriptorOf(object, key)
    if (descriptor === undefined || bitsOf(descriptor) !== bits[at]) return false
    const first = firstOf(descriptor)
    if (values[at] === unmetObject) continue
    if (values[at] === noObject ? !isSame(first, primitives[at]) : first !== objects[values[at]!]) return false
    if (
      (bits[at]! & accessorBitOf) !== 0 &&
      descriptor.set !== (setters[at] === noObject ? undefined : objects[setters[at]!])
    )
      return false
  }
  return true
}

/** The same as what `compare` takes. */
export function madeProperties(objects: readonly object[], index: number, facts: IntrinsicFacts): MadeProperties {
  const { starts, prototypes, open, keys, bits, values, primitives, setters } = facts
  const made: unknown[] = newList()
  made[0] = prototypes[index] === noObject ? null : objects[prototypes[index]!]
  made[1] = open[index]
  let { length } = made
  for (let at = starts[index]!; at < starts[index + 1]!; at++) {
    const isFixed = (bits[at]! & 5) === 0 || values[at] === unmetObject
    const now = isFixed ? descriptorOf(objects[index]!, keys[at]!) : undefined
    made[length++] = keys[at]
    made[length++] = now !== undefined ? firstOf(now) : values[at] === noObject ? primitives[at] : objects[values[at]!]
    made[length++] = now !== undefined ? now.set : setters[at] === noObject ? undefined : objects[setters[at]!]
    made[length++] = bits[at]
  }
  return made
}

/** Two lists of facts as one; the second is of the objects behind those of the first. */
export function joinFacts(before: IntrinsicFacts, after: IntrinsicFacts): IntrinsicFacts {
  const starts: number[] = newList()
  const count = before.starts.length - 1
  const shift = before.starts[count]!
  for (let index = 0; index < count; index++) starts[index] = before.starts[index]!
  for (let index = 0; index < after.starts.length; index++) starts[count + index] = shift + after.starts[index]!
  return {
    starts,
    prototypes: joinedLists(before.prototypes, after.prototypes),
    open: joinedLists(before.open, after.open),
    keys: joinedLists(before.keys, after.keys),
    bits: joinedLists(before.bits, after.bits),
    values: joinedLists(before.values, after.values),
    primitives: joinedLists(before.primitives, after.primitives),
    setters: joinedLists(before.setters, after.setters),
  }
}

function joinedLists<T>(before: readonly T[], after: readonly T[]): T[] {
  const list: T[] = newList()
  for (let index = 0; index < before.length; index++) list[index] = before[index]!
  for (let index = 0; index < after.length; index++) list[before.length + index] = after[index]!
  return list
}

function isAnyObject(value: unknown): boolean {
  return (typeof value === "object" && value !== null) || typeof value === "function"
}
