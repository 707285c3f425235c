// How a class of session code is written: which one of which source, the activation it was made in, and what differs from a class fresh from
// its text.
//
// Its methods, its prototype and its private names come with the text; nothing else of the class's own code runs when it is made again. So static
// fields are data, what computed keys were is part of the class, and what it extends is told by its prototypes. A class that nobody has
// touched, and that has no static fields, is a few items. A part of a class (its prototype, a method) stands for the class and a number.
import {
  descriptorOf,
  FunctionPrototype,
  isExtensible,
  mapGet,
  newList,
  ObjectPrototype,
  ownKeysOf,
  prototypeOf,
} from "../../../stdlib/intrinsics.ts"
import { classIsAsMade, partNumber, type ClassRecord } from "../../../stdlib/classes.ts"
import { functionName } from "../../../stdlib/brands.ts"
import { factOf, isFact, problemOf, writeInPlace, writeScope } from "./encode-closures.ts"
import { writeProperties } from "./encode-general.ts"
import type { ValueEncoder } from "./encoder.ts"
import {
  classListsOwn,
  classListsPrototype,
  classOwn,
  classPrototype,
  closureDepthMax,
  opClass,
  opClassPrototype,
  opPart,
} from "./format.ts"

/** Gives the reason when it cannot be kept. */
export function writeClass(encoder: ValueEncoder, made: object, record: ClassRecord): string | undefined {
  const { token, number, keys, names, read, parts, isDerived } = record
  const problem = problemOf(encoder, token)
  if (problem !== undefined) return problem
  const values: unknown[] = newList()
  const labels: string[] = newList()
  const text = functionName(made)
  for (let at = 0; at < names.length; at++) {
    labels[at] = `${text}.#${names[at]!}`
    try {
      values[at] = read!(at)
    } catch {
      // Its static initialisers have not got that far, and never will when one of them threw.
      return `its private name '#${names[at]!}' was never initialised`
    }
  }
  const prototype = parts[0]!
  const ownParent = prototypeOf(made)
  const parent = prototypeOf(prototype)
  const hasOwnParent = ownParent !== FunctionPrototype
  const hasParent = parent !== (isDerived ? null : ObjectPrototype)
  const listsOwn = !classIsAsMade(record, made, false)
  const listsPrototype = !classIsAsMade(record, made, true)
  encoder.putOp(opClass)
  encoder.put(
    (listsOwn || hasOwnParent ? classOwn : 0) +
      (listsPrototype || hasParent ? classPrototype : 0) +
      (listsOwn ? classListsOwn : 0) +
      (listsPrototype ? classListsPrototype : 0),
  )
  encoder.put(number)
  encoder.put(factOf(made, "name", "string"))
  encoder.put(factOf(made, "length", "number"))
  writeScope(encoder, token)
  const keyCount = keys === undefined ? 0 : keys.length
  encoder.put(keyCount)
  for (let at = 0; at < keyCount; at++) encoder.writeValue(keys![at])
  encoder.put(names.length)
  for (let at = 0; at < names.length; at++) encoder.put(names[at])
  encoder.weight += (keyCount + names.length) * 2
  encoder.mark(made)
  if (listsOwn || hasOwnParent) {
    writeProperties(encoder, made, hasOwnParent, ownParent, listsOwn ? dataKeys(made) : newList())
  }
  if (listsPrototype || hasParent) {
    writeProperties(encoder, prototype, hasParent, parent, listsPrototype ? ownKeysOf(prototype) : newList())
  }
  encoder.pushCaptures(values, labels)
  return undefined
}

/** Own properties of a class that neither stand in front nor come with every class. */
function dataKeys(made: object): (string | symbol)[] {
  const keys = ownKeysOf(made)
  const kept: (string | symbol)[] = newList()
  for (let at = 0; at < keys.length; at++) {
    const key = keys[at]!
    if (key === "prototype") continue
    if ((key === "name" || key === "length") && isFact(descriptorOf(made, key)!, key === "name" ? "string" : "number"))
      continue
    kept[kept.length] = key
  }
  return kept
}

/** A class's prototype, or a function that came with it. */
export function writePart(encoder: ValueEncoder, part: object, made: object): void {
  const number = partNumber(part)
  const known = number === 0 ? encoder.hooks.classOf?.(part) : undefined
  if (known !== undefined) {
    encoder.putOp(opClassPrototype)
    encoder.put(known.name)
    return
  }
  if (!fitsInPlace(encoder, made)) {
    encoder.writeEphemeral(part, "a class in more than a few others")
    return
  }
  encoder.putOp(opPart)
  encoder.put(number)
  writeInPlace(encoder, made)
  encoder.mark(part)
}

/** Whether a class may be written where it is needed at once, and not only referred to. */
export function fitsInPlace(encoder: ValueEncoder, made: object): boolean {
  return encoder.closureDepth < closureDepthMax || mapGet(encoder.ids, made) !== undefined
}

/** Whether a class has nothing against objects with its private names being made again: a frozen one cannot have its parent stand aside. */
export function canConstruct(made: object, isDerived: boolean): boolean {
  return !isDerived || isExtensible(made)
}
