// Whether assignment makes an own property. It does not where a prototype has a setter or a read-only property of that name; then the
// decoder defines, which is slower. Asked once per shape and once per table: nothing can change while a table is decoded.

import {
  objectHasOwn,
  ownKeysOf,
  prototypeOf,
  stringCodeAt,
  ObjectPrototype,
  ArrayPrototype,
} from "../../../stdlib/intrinsics.ts"
import { isRecordedProxy } from "../../../stdlib/proxy-record.ts"

/** Whether an object filled as `{}`, and given this prototype after, may get these keys by assignment. */
export function isOpenFor(keys: readonly string[], prototype: object | null): boolean {
  let link = prototype === null ? ObjectPrototype : prototype
  for (;;) {
    if (isRecordedProxy(link)) return false
    for (let i = 0; i < keys.length; i++) if (objectHasOwn(link, keys[i]!)) return false
    const next = link === ObjectPrototype ? null : prototypeOf(link)
    if (next === null) break
    link = next
  }
  // The object is filled as `{}` and gets its prototype after, so `Object.prototype` counts in any case.
  for (let i = 0; i < keys.length; i++) if (objectHasOwn(ObjectPrototype, keys[i]!)) return false
  return true
}

/** Whether no prototype of an array has an item of its own, which assignment to an index would meet. */
export function arraysAreOpen(): boolean {
  return (
    prototypeOf(ArrayPrototype) === ObjectPrototype &&
    !startsWithIndex(ArrayPrototype) &&
    !startsWithIndex(ObjectPrototype)
  )
}

/** Indices come first among own keys. */
function startsWithIndex(object: object): boolean {
  const keys = ownKeysOf(object)
  const key = keys.length > 0 ? keys[0] : undefined
  if (typeof key !== "string" || key.length === 0) return false
  const code = stringCodeAt(key, 0)
  return code >= 48 && code <= 57
}
