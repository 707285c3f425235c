// Which objects and arrays are plain enough for the quick forms: extensible, and every property data with every attribute on.

import {
  descriptorOf,
  Float64ArrayOf,
  Int16ArrayOf,
  Int32ArrayOf,
  Int8ArrayOf,
  objectHasOwn,
  objectKeys,
  objectNames,
  ObjectPrototype,
} from "../../../stdlib/intrinsics.ts"
import { arraysArePlain } from "../../../stdlib/attribute-record.ts"

/**
 * Whether a descriptor is of plain data with every attribute on. An accessor's has no `writable`, and then the question goes to
 * `Object.prototype`, where a session may have put one: `objectPrototypeIsSilent` says that it has not.
 */
export function isPlainData(descriptor: PropertyDescriptor, isSilent: boolean): boolean {
  return (
    descriptor.enumerable === true &&
    descriptor.configurable === true &&
    (isSilent || objectHasOwn(descriptor, "value")) &&
    descriptor.writable === true
  )
}

export function objectPrototypeIsSilent(): boolean {
  return !objectHasOwn(ObjectPrototype, "writable")
}

/**
 * Whether an extensible array has an item at every index, and nothing else. Indices come first among own keys, so the last of
 * exactly `count` keys is the last index only when all of them are indices.
 */
export function hasPlainItems(array: unknown[], count: number): boolean {
  if (arraysArePlain()) {
    const keys = objectKeys(array)
    return keys.length === count && (count === 0 || keys[count - 1] === `${count - 1}`)
  }
  if (objectNames(array).length !== count + 1) return false
  const isSilent = objectPrototypeIsSilent()
  for (let i = 0; i < count; i++) {
    const descriptor = descriptorOf(array, i)
    if (descriptor === undefined || !isPlainData(descriptor, isSilent)) return false
  }
  return descriptorOf(array, "length")?.writable === true
}

/** The bytes each number of an array needs, 0 when one of the items is no number. */
function numberWidth(array: unknown[], count: number): number {
  let low = 0
  let high = 0
  let isWhole = true
  for (let i = 0; i < count; i++) {
    const item = array[i]
    if (typeof item !== "number") return 0
    if (!isWhole) continue
    if ((item | 0) !== item || (item === 0 && 1 / item < 0)) isWhole = false
    else if (item < low) low = item
    else if (item > high) high = item
  }
  if (!isWhole) return 8
  return low >= -0x80 && high <= 0x7f ? 1 : low >= -0x8000 && high <= 0x7fff ? 2 : 4
}

/** The items as numbers of the least width that keeps each exactly; `undefined` when one of them is no number. */
export function numbersOf(array: unknown[], count: number): { numbers: ArrayLike<number>; width: number } | undefined {
  const width = numberWidth(array, count)
  if (width === 0) return undefined
  const Numbers = width === 1 ? Int8ArrayOf : width === 2 ? Int16ArrayOf : width === 4 ? Int32ArrayOf : Float64ArrayOf
  const numbers = new Numbers(count)
  for (let i = 0; i < count; i++) numbers[i] = array[i] as number
  return { numbers, width }
}
