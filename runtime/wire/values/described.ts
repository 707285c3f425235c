// What stands in a decoded value for something that means nothing on this side: named, harmless, and never mistaken for data.

import {
  defineOwn,
  objectCreate,
  objectFreeze,
  ObjectPrototype,
  prototypeOf,
  setPrototype,
  stringIndexOf,
  stringSlice,
  WeakMapOf,
  weakMapGet,
  weakMapSet,
  withoutPrototype,
} from "../../../stdlib/intrinsics.ts"

/** A value that could not travel: `what` says what kind of thing it is, `text` how it displayed where it lives. */
export class Placeholder {
  readonly what: string
  readonly text: string
  constructor(what: string, text: string) {
    this.what = what
    this.text = text
    objectFreeze(this)
  }
}

const describedNames = new WeakMapOf<object, string>()

/**
 * The prototype for instances of a class this side does not have. It knows the class's name and nothing else, so that
 * `value.constructor.name` and Node's inspect name the class.
 */
export function describedPrototype(className: string): object {
  return basedOn(shownClassName(className), ObjectPrototype)
}

/** A class as people know it: one of the realm itself and one of a prelude are written with what tells them apart in front. */
export function shownClassName(className: string): string {
  return stringSlice(className, className[0] === "%" ? 1 : stringIndexOf(className, ":") + 1)
}

/** The name of the class a described prototype stands for. */
export function describedClassName(prototype: object): string | undefined {
  return weakMapGet(describedNames, prototype)
}

/** A described prototype that also inherits what the object was born with, so that a subclass of Error is still an Error. */
export function rebasePrototype(prototype: object | null, object: object): object | null {
  const className = prototype === null ? undefined : weakMapGet(describedNames, prototype)
  const born = prototypeOf(object)
  return className === undefined || born === ObjectPrototype ? prototype : basedOn(className, born)
}

/** A new function each time: it is to bear a name of its own. */
function unmadeClass(): object {
  return function () {}
}

function basedOn(className: string, base: object | null): object {
  const prototype = objectCreate(base)
  const constructor = unmadeClass()
  setPrototype(constructor, null)
  defineOwn(constructor, "name", withoutPrototype({ value: className, configurable: true }))
  defineOwn(constructor, "prototype", withoutPrototype({ value: prototype, writable: false }))
  defineOwn(
    prototype,
    "constructor",
    withoutPrototype({ value: constructor, writable: true, enumerable: false, configurable: true }),
  )
  weakMapSet(describedNames, prototype, className)
  return prototype
}
