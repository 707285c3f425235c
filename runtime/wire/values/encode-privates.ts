// Instances whose classes have private names: the values of these, beside the object's own properties.
import { newList, ownKeysOf } from "../../../stdlib/intrinsics.ts"
import type { PrivatesOfClass } from "../../../stdlib/privates.ts"
import { classRecord } from "../../../stdlib/classes.ts"
import { functionName, type Brand } from "../../../stdlib/brands.ts"
import { canConstruct, fitsInPlace } from "./encode-classes.ts"
import { writeInPlace } from "./encode-closures.ts"
import { writeGeneral } from "./encode-general.ts"
import type { ValueEncoder } from "./encoder.ts"
import { opPrivate } from "./format.ts"

/** A class without a name in the session has to be a value. */
function canBeNamed(encoder: ValueEncoder, { className, made }: PrivatesOfClass): boolean {
  if (className !== "") return true
  if (encoder.hooks.keepsClosures !== true || !fitsInPlace(encoder, made)) return false
  return classRecord(made) !== undefined || encoder.hooks.referenceOf(made) !== undefined
}

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
    isOpen &&= each.isOpen && canBeNamed(encoder, each) && canConstruct(each.made, each.isDerived)
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
    const { className: given, made, names, read } = present[at]!
    const owner = given === "" ? functionName(made) : given
    if (given === "") {
      encoder.put(true)
      writeInPlace(encoder, made)
    } else encoder.put(given)
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
