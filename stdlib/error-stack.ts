// The `stack` of an error, read without running session code.
//
// V8 formats a stack the first time it is read. Formatting calls `Error.prepareStackTrace` when a session has set one, and reads the
// error's `name` and `message`, which may be getters or sit behind a proxy. So the hook is shadowed for the length of the reading
// and put back as it was, and an error whose header cannot be read plainly has no stack here. Once formatted, a stack is a string.

import { isRecordedProxy } from "./proxy-record.ts"
import {
  applyFunction,
  defineOwn,
  deleteOwn,
  descriptorOf,
  ErrorOf,
  objectHasOwn,
  prototypeOf,
  withoutPrototype,
  realmGlobal,
} from "./intrinsics.ts"

/** Engines since V8 12 keep `stack` behind an accessor of their own, whose halves are the same for all errors of a realm. */
const nativeStack = descriptorOf(new ErrorOf("probe"), "stack")
const nativeStackGetter: unknown = nativeStack?.get
const nativeStackSetter: unknown = nativeStack?.set

export interface StackDescriptor extends PropertyDescriptor {
  /** The engine's accessor stands there, whose value this is. */
  readonly isNative?: boolean
}

/** The descriptor of an object's own `stack`, as data; `undefined` when there is none that can be read without running code. */
export function stackDescriptor(object: object): StackDescriptor | undefined {
  if (!objectHasOwn(object, "stack") || !hasPlainHeader(object)) return undefined
  const prepared = shadow(ErrorOf, "prepareStackTrace", undefined)
  if (prepared === false) return undefined
  const named = shadow(realmGlobal, "Error", ErrorOf)
  try {
    if (named === false) return undefined
    const found = descriptorOf(object, "stack") as PropertyDescriptor
    if (objectHasOwn(found, "value")) return found
    if (nativeStackGetter === undefined || found.get !== nativeStackGetter) return found
    return withoutPrototype({
      value: applyFunction(nativeStackGetter, object, []),
      writable: true,
      enumerable: found.enumerable === true,
      configurable: found.configurable === true,
      isNative: true,
    })
  } finally {
    if (named !== false) unshadow(realmGlobal, "Error", named)
    unshadow(ErrorOf, "prepareStackTrace", prepared)
  }
}

/** The text of an own `stack`; `undefined` when there is none that can be read without running code. */
export function stackText(object: object): string | undefined {
  const descriptor = stackDescriptor(object)
  const value: unknown = descriptor !== undefined && objectHasOwn(descriptor, "value") ? descriptor.value : undefined
  return typeof value === "string" ? value : undefined
}

/** Puts the engine's accessor with this text on an object. `false` where `stack` is a plain property, which the caller then defines. */
export function restoreStack(object: object, text: string, enumerable: boolean, configurable: boolean): boolean {
  if (nativeStackGetter === undefined || nativeStackSetter === undefined || objectHasOwn(object, "stack")) return false
  applyFunction(nativeStackSetter, object, [text])
  return defineOwn(
    object,
    "stack",
    withoutPrototype({
      get: nativeStackGetter as () => unknown,
      set: nativeStackSetter as () => void,
      enumerable,
      configurable,
    }),
  )
}

/** The halves of the engine's accessor, where it has one; nothing else names these two functions. */
export function nativeStackAccessor(): unknown[] {
  return [nativeStackGetter, nativeStackSetter]
}

/**
 * What `make` makes, with no stack captured for the errors among it: capturing costs 20 us, and the stack of a decoder is nobody's. The limit is
 * read by the engine as plain data, so nothing of a session runs.
 */
export function withoutStackTraces<T>(make: () => T): T {
  const limit = shadow(ErrorOf, "stackTraceLimit", 0)
  try {
    return make()
  } finally {
    if (limit !== false) unshadow(ErrorOf, "stackTraceLimit", limit)
  }
}

/** Puts a plain value in the property's place; `false` when the session made that impossible. */
function shadow(owner: object, key: string, value: unknown): PropertyDescriptor | undefined | false {
  const before = descriptorOf(owner, key)
  const done = defineOwn(
    owner,
    key,
    withoutPrototype({ value, configurable: before?.configurable ?? true, enumerable: before?.enumerable ?? false }),
  )
  return done ? before : false
}

function unshadow(owner: object, key: string, before: PropertyDescriptor | undefined): void {
  if (before === undefined) deleteOwn(owner, key)
  else defineOwn(owner, key, withoutPrototype(before))
}

function hasPlainHeader(object: object): boolean {
  let link: object | null = object
  while (link !== null) {
    if (isRecordedProxy(link) || !isPlainHeaderOf(link, "name") || !isPlainHeaderOf(link, "message")) return false
    link = prototypeOf(link)
  }
  return true
}

function isPlainHeaderOf(object: object, key: string): boolean {
  const descriptor = descriptorOf(object, key)
  if (descriptor === undefined) return true
  if (!objectHasOwn(descriptor, "value")) return false
  const value: unknown = descriptor.value
  return (typeof value !== "object" || value === null) && typeof value !== "function" && typeof value !== "symbol"
}
