// Values of elsewhere, decoded for this realm: globals and bindings of other sessions.
//
// What comes is a copy of this realm, frozen as deep as the language can: Maps, Sets, Dates, regular expressions and buffers have no
// frozen form, so a value that holds one is flagged, and whoever caches it makes a new copy for each eval. What only its own session
// can have (functions, instances of its classes) is found by walking the copy, since the rest of its group may hold such things without
// any harm to it.
import {
  arrayIsArray,
  ArrayPrototype,
  descriptorOf,
  isBufferView,
  mapEach,
  newList,
  objectFreeze,
  objectHasOwn,
  ObjectPrototype,
  ownKeysOf,
  prototypeOf,
  setAdd,
  setEach,
  setHas,
  setSize,
  SetOf,
  withoutPrototype,
} from "./intrinsics.ts"
import { brandOf } from "./brands.ts"
import { kindError } from "./bridge.ts"
import type { AnsweredTable } from "./asker.ts"
import { isRecordedProxy } from "./proxy-record.ts"
import { decodeBindings, decodeValue } from "../runtime/wire/values/decode.ts"
import type { Constructed } from "../runtime/wire/values/hooks.ts"
import { hasPlainItems } from "../runtime/wire/values/plain.ts"

export interface SharedCopy {
  readonly value: unknown
  /** It holds something that cannot be frozen. */
  readonly isMutable: boolean
}

export interface SharedNames {
  /** What a reference in that value stands for here: a session, a view, a singleton; `undefined` for what does not travel. */
  resolve(reference: string): object | undefined
  isIntrinsic(object: object): boolean
  /** Of a class that every session of the workspace has, by its name. */
  prototypeOf(className: string): object | undefined
  isShared(prototype: object): boolean
  /** An object with the private names of such classes; `onUnknown` is called for one that the class does not have. */
  construct(classes: readonly unknown[], onUnknown: () => void): Constructed | undefined
  /** What the private names of such an object hold. */
  privatesOf(object: object): readonly unknown[] | undefined
}

/** One value that holds, by itself or as the binding `key` of a group. Throws `value_not_transferable`. */
export function decodeShared(key: string, isGroup: boolean, answered: AnsweredTable, names: SharedNames): SharedCopy {
  const { table, chunks } = answered
  const foreign = new SetOf<object>()
  const shared = new SetOf<object>()
  /** It was made by a class that is another one now. */
  let isOutdated = false
  const mark = (): object => {
    const object = withoutPrototype({})
    setAdd(foreign, object)
    return object
  }
  const hooks = {
    resolveReference(reference: string): object {
      const found = names.resolve(reference)
      if (found === undefined) return mark()
      setAdd(shared, found)
      return found
    },
    prototypeOf: (className: string) => names.prototypeOf(className) ?? mark(),
    construct: (classes: readonly unknown[]) =>
      names.construct(classes, () => {
        isOutdated = true
      }),
  }
  if (!isGroup) {
    const value = decodeValue(table, chunks, hooks)
    return freezeShared(key, value, isOutdated, foreign, shared, names)
  }
  const bindings = decodeBindings(table, chunks, hooks)
  for (let index = 0; index < bindings.length; index++) {
    if (bindings[index]!.name === key) {
      return freezeShared(key, bindings[index]!.value, isOutdated, foreign, shared, names)
    }
  }
  throw kindError("internal", `The group of '${key}' does not hold it.`)
}

/** `foreign` stands for what did not travel, `shared` are objects of this realm that everyone has: both are met by identity. */
function freezeShared(
  key: string,
  root: unknown,
  isOutdated: boolean,
  foreign: ReadonlySet<object>,
  shared: ReadonlySet<object>,
  names: SharedNames,
): SharedCopy {
  if (!isObjectLike(root)) return { value: root, isMutable: false }
  const seen = new SetOf<object>()
  const open: object[] = newList()
  let isMutable = false
  const hasForeign = setSize(foreign) > 0
  const hasShared = setSize(shared) > 0
  const refuse = (what: string): never => {
    throw kindError("value_not_transferable", `'${key}' holds ${what}, which cannot leave its session.`)
  }
  const visit = (value: unknown): void => {
    if (!isObjectLike(value) || setHas(seen, value) || (hasShared && setHas(shared, value))) return
    if (typeof value === "function") refuse("a function")
    if (hasForeign && setHas(foreign, value)) refuse("something that only its session has")
    setAdd(seen, value)
    open[open.length] = value
  }
  visit(root)
  while (open.length > 0) {
    const object = open[open.length - 1]!
    open.length -= 1
    if (isRecordedProxy(object)) refuse("a proxy")
    const prototype = prototypeOf(object)
    if (prototype !== null && prototype !== ObjectPrototype && prototype !== ArrayPrototype) {
      if (setHas(foreign, prototype)) refuse("an instance of a class of its session")
      if (names.isShared(prototype)) {
        const held = names.privatesOf(object)
        if (held !== undefined) {
          if (isOutdated) refuse("an instance of a class that had other private names when it was made")
          isMutable = true
          for (let index = 0; index < held.length; index++) visit(held[index])
        }
      } else if (!names.isIntrinsic(prototype)) visit(prototype)
    }
    if (arrayIsArray(object) && hasPlainItems(object, object.length)) {
      for (let index = 0; index < object.length; index++) visit(object[index])
      objectFreeze(object)
      continue
    }
    if (isBufferView(object)) {
      isMutable = true
      continue
    }
    const brand = brandOf(object)
    if (brand === "map") {
      mapEach(object as Map<unknown, unknown>, (value, from) => {
        visit(from)
        visit(value)
      })
    } else if (brand === "set") setEach(object as Set<unknown>, visit)
    const keys = ownKeysOf(object)
    for (let index = 0; index < keys.length; index++) {
      const descriptor = descriptorOf(object, keys[index]!)
      if (descriptor === undefined) continue
      if (!objectHasOwn(descriptor, "value")) refuse("an accessor")
      visit(descriptor.value)
    }
    if (canFreeze(brand)) objectFreeze(object)
    else isMutable = true
  }
  return { value: root, isMutable }
}

function isObjectLike(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function"
}

/** Whether freezing an object of this brand makes it unchangeable. */
function canFreeze(brand: string): boolean {
  return brand !== "map" && brand !== "set" && brand !== "date" && brand !== "regexp" && !isBufferBrand(brand)
}

function isBufferBrand(brand: string): boolean {
  return brand === "arraybuffer" || brand === "sharedarraybuffer"
}
