// Private names of session classes: how they are read, and how they are put on an object that is made again.
//
// Each class with private names registers itself when it is evaluated (`runtime/language/privates.ts`). While construction mode is on, such a
// class's constructor runs nothing of the user's; a class that extends another gets, for that moment, a parent that returns the object at
// hand, so that its private names are put on it.
import {
  constructAs,
  deleteOwn,
  descriptorOf,
  FunctionPrototype,
  functionToString,
  isExtensible,
  newList,
  ownKeysOf,
  prototypeOf,
  setPrototype,
  stringIncludes,
  stringSlice,
  WeakMapOf,
  weakMapGet,
  weakMapSet,
} from "./intrinsics.ts"

import { classRecord } from "./classes.ts"
import { isRecordedProxy } from "./proxy-record.ts"

interface RegisteredClass {
  readonly made: object
  readonly names: readonly string[]
  readonly read: (object: object, index: number) => unknown
  readonly write: (object: object, index: number, value: unknown) => void
  readonly has: (object: object) => boolean
  /** Its constructor has a construction mode. */
  readonly isOpen: boolean
  readonly isDerived: boolean
  /** All private names of its instances as text. */
  readonly shape: string
}

export interface PrivatesOfClass extends RegisteredClass {
  /** The definition that the class is; "" for one that has no name in the session. */
  readonly className: string
}

const registeredClasses = new WeakMapOf<object, RegisteredClass>()

/** Asked by every field initialiser and constructor of a class with private names. */
export const constructionMode = { __proto__: null, on: false } as { on: boolean }

/** Called from a class's static block. */
export function registerPrivates(
  made: object,
  names: readonly string[],
  read: RegisteredClass["read"],
  write: RegisteredClass["write"],
  has: RegisteredClass["has"],
  isOpen: boolean,
  isDerived: boolean,
  shape = "",
): void {
  const prototype = descriptorOf(made, "prototype")?.value as object
  weakMapSet(registeredClasses, prototype, { made, names, read, write, has, isOpen, isDerived, shape })
  if (isDerived && mayStray(made)) strayingClasses[strayingClasses.length] = { made, has }
}

/** Classes whose private names may be on objects that are no instances of them: what they extend may return any object. */
const strayingClasses: { made: object; has: RegisteredClass["has"] }[] = newList()

/** Whether a constructor gives the object that it was called for. Of a plain function nobody knows. */
function givesOwnObject(constructor: object): boolean {
  const record = classRecord(constructor)
  return record === undefined ? stringIncludes(functionToString(constructor), "[native code]") : !record.mayReturn
}

function mayStray(made: object): boolean {
  let parent = prototypeOf(made)
  for (let depth = 0; parent !== null && parent !== FunctionPrototype && depth < 100; depth++) {
    if (isRecordedProxy(parent) || !givesOwnObject(parent)) return true
    parent = prototypeOf(parent)
  }
  return false
}

/** The class whose private names an object has without being an instance of it. */
export function strayedFrom(object: object): object | undefined {
  for (let at = 0; at < strayingClasses.length; at++) {
    const { made, has } = strayingClasses[at]!
    if (!has(object)) continue
    const prototype = descriptorOf(made, "prototype")?.value as object
    let link = isRecordedProxy(object) ? null : prototypeOf(object)
    while (link !== null && link !== prototype && !isRecordedProxy(link)) link = prototypeOf(link)
    if (link !== prototype) return made
  }
  return undefined
}

/** Classes of the realm itself with private names, as `URL`: by their prototype the name they travel under, and back. */
const realmClassNames = new WeakMapOf<object, string>()
const realmPrototypes: Record<string, object | undefined> = { __proto__: null } as never
const realmClassTexts: { has: RegisteredClass["has"]; text: (object: object) => string }[] = newList()

/** No definition can have a name that begins so. */
const realmClassMark = "%"

/**
 * Makes the objects of a class of the realm values: what their private names hold is committed, and they are made again with it. Its constructor
 * does nothing in construction mode. `text` is how one displays.
 */
export function registerRealmClass(
  name: string,
  made: object,
  names: readonly string[],
  read: RegisteredClass["read"],
  write: RegisteredClass["write"],
  has: RegisteredClass["has"],
  text: (object: object) => string,
): void {
  setPrototype(names, null)
  registerPrivates(made, names, read, write, has, true, prototypeOf(made) !== FunctionPrototype)
  const prototype = descriptorOf(made, "prototype")?.value as object
  weakMapSet(realmClassNames, prototype, realmClassMark + name)
  realmPrototypes[realmClassMark + name] = prototype
  realmClassTexts[realmClassTexts.length] = { has, text }
}

export function realmClassName(prototype: object): string | undefined {
  return weakMapGet(realmClassNames, prototype)
}

/** `make` makes classes that are made at their first use, by the name of one. */
export function realmClassPrototype(name: string, make: (global: string) => void): object | undefined {
  if (name[0] !== realmClassMark) return undefined
  if (realmPrototypes[name] === undefined) make(stringSlice(name, 1))
  return realmPrototypes[name]
}

/** How an object of such a class displays; `undefined` for all others. */
export function realmClassText(object: object): string | undefined {
  for (let at = 0; at < realmClassTexts.length; at++) {
    const { has, text } = realmClassTexts[at]!
    if (has(object)) return text(object)
  }
  return undefined
}

/** The classes with private names on a prototype chain, base first; `undefined` when there is none. */
export function privatesOnChain(
  prototype: object,
  nameOf: (prototype: object) => string,
  isOpaque: (object: object) => boolean,
): PrivatesOfClass[] | undefined {
  const found: PrivatesOfClass[] = newList()
  for (let link: object | null = prototype; link !== null && !isOpaque(link); link = prototypeOf(link)) {
    const known = weakMapGet(registeredClasses, link)
    if (known === undefined) continue
    const { made, names, read, write, has, isOpen, isDerived, shape } = known
    for (let at = found.length; at > 0; at--) found[at] = found[at - 1]!
    found[0] = { made, names, read, write, has, isOpen, isDerived, shape, className: nameOf(link) }
  }
  return found.length === 0 ? undefined : found
}

/** The private names of the class with this prototype. */
export function privatesOfPrototype(prototype: object): RegisteredClass | undefined {
  return weakMapGet(registeredClasses, prototype)
}

const parentSlot = { __proto__: null, object: undefined } as { object: object | undefined }

// What `super()` returns is what gets the private names.
// oxlint-disable-next-line no-extraneous-class
class ParentOfOne {
  constructor() {
    return parentSlot.object!
  }
}

/** Whether an object with a class's private names can be made: the parent of a frozen class cannot be replaced for that moment. */
export function canStandAside({ made, isDerived }: RegisteredClass): boolean {
  return !isDerived || isExtensible(made)
}

/** Has a class without a constructor of its own, which extends something, put its fields on an object that exists. */
export function constructOn(object: object, made: object): void {
  parentSlot.object = object
  setPrototype(made, ParentOfOne)
  try {
    constructAs(made, newList(), made)
  } finally {
    parentSlot.object = undefined
  }
}

/** An object with the private names of these classes, base first, and with nothing else. */
export function constructPrivates(classes: readonly RegisteredClass[]): object {
  let object: object = {}
  constructionMode.on = true
  try {
    for (let at = 0; at < classes.length; at++) {
      const { made, isDerived } = classes[at]!
      const parent = prototypeOf(made)
      if (!isDerived && at === 0) {
        object = constructAs(made, newList(), made)
        continue
      }
      parentSlot.object = object
      setPrototype(made, ParentOfOne)
      try {
        constructAs(made, newList(), made)
      } finally {
        setPrototype(made, parent)
        parentSlot.object = undefined
      }
    }
  } finally {
    constructionMode.on = false
  }
  const keys = ownKeysOf(object)
  for (let at = 0; at < keys.length; at++) deleteOwn(object, keys[at]!)
  return object
}
