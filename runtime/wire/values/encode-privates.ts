// Instances whose classes have private names: the values of these, beside the object's own properties.
import { newList, ownKeysOf } from "../../../stdlib/intrinsics.ts"
import type { PrivatesOfClass } from "../../../stdlib/privates.ts"
import type { Brand } from "../../../stdlib/brands.ts"
import { writeGeneral } from "./encode-general.ts"
import type { ValueEncoder } from "./encoder.ts"
import { opPrivate } from "./format.ts"

/** Writes an object that has private names; `false` when it has none, as one made by `Object.create`. */
export function writePrivate(
  encoder: ValueEncoder,
  object: object,
  prototype: object | null,
  brand: Brand,
  className: string,
  privates: readonly PrivatesOfClass[],
): boolean {
  const present: PrivatesOfClass[] = newList()
  let isOpen = brand === "ordinary"
  for (let at = 0; at < privates.length; at++) {
    const each = privates[at]!
    if (!each.has(object)) continue
    isOpen &&= each.isOpen && each.className !== ""
    present[present.length] = each
  }
  if (present.length === 0) return false
  if (!isOpen) {
    const name = className === "" ? "a class" : className
    encoder.writeEphemeral(object, `an instance of ${name}, which has private names`, `${name} {}`)
    return true
  }
  const values: unknown[] = newList()
  const labels: string[] = newList()
  encoder.putOp(opPrivate)
  encoder.put(present.length)
  for (let at = 0; at < present.length; at++) {
    const { className: owner, names, read } = present[at]!
    encoder.put(owner)
    encoder.put(names.length)
    for (let index = 0; index < names.length; index++) {
      encoder.put(names[index])
      labels[labels.length] = `${owner}.#${names[index]!}`
      values[values.length] = read(object, index)
    }
  }
  encoder.weight += labels.length * 2
  encoder.mark(object)
  writeGeneral(encoder, object, prototype, "ordinary", ownKeysOf(object))
  encoder.pushCaptures(values, labels)
  return true
}
