// Classes of session code made again: the counterpart of `encode-classes.ts`.
import { deleteOwn, newList, ownKeysOf } from "../../../stdlib/intrinsics.ts"
import { classRecord } from "../../../stdlib/classes.ts"
import { readInPlace, readScope, restoreFact } from "./decode-closures.ts"
import type { ValueDecoder } from "./decoder.ts"
import { Placeholder } from "./described.ts"
import { classListsOwn, classListsPrototype, classOwn, classPrototype } from "./format.ts"

export function readClass(decoder: ValueDecoder): object {
  const more = decoder.readCount(15)
  const number = decoder.readCount(0xffffffff)
  const name = decoder.read()
  const length = decoder.read()
  const activation = readScope(decoder)
  const keys: (string | symbol)[] = newList()
  const keyCount = decoder.readSlotCount(1)
  for (let at = 0; at < keyCount; at++) {
    const key = decoder.readSlot()
    if (typeof key !== "string" && typeof key !== "symbol") decoder.fail("a key was expected")
    keys[at] = key
  }
  const names: string[] = newList()
  const nameCount = decoder.readSlotCount(1)
  for (let at = 0; at < nameCount; at++) names[at] = decoder.readText()
  const made = activation.functionOf(number, keys)
  const record = made === undefined ? undefined : classRecord(made)
  if (made === undefined || record === undefined) {
    const text = typeof name === "string" && name !== "" ? `class ${name}` : "class"
    const placeholder = decoder.keep(new Placeholder(text, `[${text}]`))
    // Its properties are read into nothing.
    if ((more & classOwn) !== 0) decoder.pushGeneral({})
    if ((more & classPrototype) !== 0) decoder.pushGeneral({})
    if (nameCount > 0) decoder.pushCaptures({ set: () => {} }, names)
    return placeholder
  }
  decoder.keep(made)
  const prototype = record.parts[0]!
  if ((more & classListsOwn) !== 0) clearOwn(made, true)
  if ((more & classListsPrototype) !== 0) clearOwn(prototype, false)
  restoreFact(made, "name", name)
  restoreFact(made, "length", length)
  if ((more & classOwn) !== 0) decoder.pushGeneral(made)
  if ((more & classPrototype) !== 0) decoder.pushGeneral(prototype)
  if (nameCount > 0) {
    let next = 0
    decoder.pushCaptures(
      {
        set(wanted, value) {
          // They arrive in the order in which they were written.
          const at = next++
          if (record.names[at] === wanted) record.write!(at, value)
          else decoder.fail("a private name that the class does not have")
        },
      },
      names,
    )
  }
  return made
}

/** Everything that its text put there: what it has by now is told in full. */
function clearOwn(owner: object, isClass: boolean): void {
  const keys = ownKeysOf(owner)
  for (let at = 0; at < keys.length; at++) {
    const key = keys[at]!
    if (isClass && (key === "prototype" || key === "name" || key === "length")) continue
    deleteOwn(owner, key)
  }
}

export function readPart(decoder: ValueDecoder): object {
  const number = decoder.readCount(0xffffffff)
  const made = readInPlace(decoder)
  const record = typeof made === "function" ? classRecord(made) : undefined
  if (record === undefined || number >= record.parts.length) {
    return decoder.keep(new Placeholder("a part of a class", "[a part of a class]"))
  }
  return decoder.keep(record.parts[number]!)
}
