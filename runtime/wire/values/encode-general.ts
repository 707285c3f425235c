// The general form: prototype, extensibility and own properties with their attributes, for objects the quick forms cannot write.

import { type Primitive, objectHasOwn, descriptorOf, isExtensible, newList } from "../../../stdlib/intrinsics.ts"
import type { Brand } from "../../../stdlib/brands.ts"
import { stackDescriptor } from "../../../stdlib/error-stack.ts"
import type { ValueEncoder } from "./encoder.ts"
import { isFreshPrototype } from "./kinds.ts"
import { attrWritable, attrEnumerable, attrConfigurable, attrAccessor, attrNativeStack } from "./format.ts"

/** Writes one of the kinds that rarely carry more than their slots; the general form follows only where they do. */
export function writeRare(
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

const accessorKeys: readonly ["get", "set"] = ["get", "set"]

/** The general form. Keys whose property is gone or cannot be read without running code (a hostile `stack`) are left out. */
export function writeGeneral(
  encoder: ValueEncoder,
  object: object,
  prototype: object | null,
  brand: Brand,
  keys: readonly (string | symbol)[],
): void {
  writeProperties(encoder, object, !isFreshPrototype(brand, object, prototype), prototype, keys)
}

/** The same, where something else decides whether the prototype is told. */
export function writeProperties(
  encoder: ValueEncoder,
  object: object,
  hasPrototype: boolean,
  prototype: object | null,
  keys: readonly (string | symbol)[],
): void {
  const slots: unknown[] = newList()
  const labels: (string | symbol)[] = newList()
  const attributes: Primitive[] = newList()
  let slotCount = 0
  let count = 0
  if (hasPrototype && prototype !== null) encoder.isInert = false
  if (hasPrototype) {
    slots[0] = prototype
    labels[0] = "__proto__"
    slotCount = 1
  }
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!
    const stack = key === "stack" ? stackDescriptor(object) : undefined
    const descriptor = key === "stack" ? stack : descriptorOf(object, key)
    if (descriptor === undefined) continue
    const isAccessor = !objectHasOwn(descriptor, "value")
    if (isAccessor) encoder.isInert = false
    attributes[count++] =
      (descriptor.enumerable === true ? attrEnumerable : 0) +
      (descriptor.configurable === true ? attrConfigurable : 0) +
      (stack !== undefined && objectHasOwn(stack, "isNative") ? attrNativeStack : 0) +
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

export function withoutKey(keys: (string | symbol)[], left: string): (string | symbol)[] {
  const kept: (string | symbol)[] = newList()
  let count = 0
  for (let i = 0; i < keys.length; i++) if (keys[i] !== left) kept[count++] = keys[i]!
  return kept
}
