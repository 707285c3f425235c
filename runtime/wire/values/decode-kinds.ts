// How every kind of object but the plainest is made again; the counterpart of `encode-kinds.ts`, op by op.

import {
  ArrayBufferOf,
  bufferByteLength,
  constructAs,
  DateOf,
  deleteOwn,
  ErrorOf,
  MapOf,
  ObjectOf,
  RegExpOf,
  SetOf,
  SharedArrayBufferOf,
  sharedByteLength,
  typedArrayConstructors,
  typedArraySet,
  typedArrayByteLength,
  Uint8ArrayOf,
  withoutPrototype,
} from "../../../stdlib/intrinsics.ts"
import { withoutStackTraces } from "../../../stdlib/error-stack.ts"
import type { ValueDecoder } from "./decoder.ts"
import {
  opArguments,
  opArrayGeneral,
  opBoxed,
  opBuffer,
  opBufferResizable,
  opBufferShared,
  opDate,
  opError,
  opMap,
  opObject,
  opRegExp,
  opSet,
  opView,
} from "./format.ts"
import { nativeError } from "./kinds.ts"

/** The largest resizable buffer made from a table: the room is only reserved, but an address space has an end. */
const resizableBytesMax = 2 ** 32

export function decodeKind(decoder: ValueDecoder, op: number): unknown {
  switch (op) {
    case opObject:
      return general(decoder, decoder.keep({}))
    case opArrayGeneral:
      return general(decoder, decoder.keep([]))
    case opArguments:
      return general(decoder, decoder.keep(newArguments()))
    case opError:
      return general(decoder, decoder.keep(newError(decoder)))
    case opMap: {
      const more = decoder.readCount(1)
      const size = decoder.readSlotCount(2)
      const map = decoder.keep(new MapOf())
      if (more === 1) decoder.pushGeneral(map)
      decoder.pushEntries(map, size)
      return map
    }
    case opSet: {
      const more = decoder.readCount(1)
      const size = decoder.readSlotCount(1)
      const set = decoder.keep(new SetOf())
      if (more === 1) decoder.pushGeneral(set)
      decoder.pushMembers(set, size)
      return set
    }
    case opDate:
      return rare(decoder, () => {
        const time = decoder.read()
        return typeof time === "number" ? new DateOf(time) : decoder.fail("a time that is no number")
      })
    case opRegExp:
      return rare(decoder, () => newRegExp(decoder))
    case opBoxed:
      return rare(decoder, () => {
        const value = decoder.readSlot()
        if (value === null || value === undefined || typeof value === "object" || typeof value === "function") {
          decoder.fail("a boxed value that is no primitive")
        }
        return ObjectOf(value)
      })
    case opBuffer:
    case opBufferResizable:
    case opBufferShared:
      return rare(decoder, () => newBuffer(decoder, op))
    case opView:
      return rare(decoder, () => newView(decoder))
    default:
      return decoder.fail(`an unknown op ${op}`)
  }
}

function general<T extends object>(decoder: ValueDecoder, object: T): T {
  decoder.pushGeneral(object)
  return object
}

/** Kinds whose general form follows only when the first item says so. */
function rare(decoder: ValueDecoder, make: () => object): object {
  const more = decoder.readCount(1)
  const object = decoder.keep(make())
  if (more === 1) decoder.pushGeneral(object)
  return object
}

function newArguments(): object {
  // A strict function's: the only kind a session has, since its code is strict.
  return (function () {
    return arguments
  })()
}

function newError(decoder: ValueDecoder): object {
  const constructor = nativeError(decoder.readText()) ?? decoder.fail("an unknown error class")
  const error = withoutStackTraces(() => constructAs(ErrorOf, [], constructor))
  // The error's own stack follows among its properties.
  deleteOwn(error, "stack")
  return error
}

function newRegExp(decoder: ValueDecoder): object {
  const source = decoder.readText()
  const flags = decoder.readText()
  try {
    return new RegExpOf(source, flags)
  } catch {
    return decoder.fail("an invalid regular expression")
  }
}

function newBuffer(decoder: ValueDecoder, op: number): object {
  const chunk = decoder.readChunk()
  const length = typedArrayByteLength(chunk)
  const max = op === opBuffer ? -1 : readLargest(decoder, length)
  const options = max < 0 ? undefined : withoutPrototype({ maxByteLength: max })
  try {
    const buffer =
      op === opBufferShared
        ? new (SharedArrayBufferOf as unknown as ResizableOf)(length, options)
        : new (ArrayBufferOf as unknown as ResizableOf)(length, options)
    typedArraySet(new Uint8ArrayOf(buffer), chunk)
    return buffer
  } catch {
    return decoder.fail("a buffer that cannot be made here")
  }
}

type ResizableOf = new (length: number, options?: { maxByteLength: number }) => ArrayBuffer

function readLargest(decoder: ValueDecoder, length: number): number {
  const item = decoder.read()
  if (item === -1) return -1
  if (typeof item !== "number" || item % 1 !== 0 || !(item >= length && item <= resizableBytesMax)) {
    decoder.fail("a buffer's largest length is out of range")
  }
  return item
}

function newView(decoder: ValueDecoder): object {
  const name = decoder.readText()
  const constructor = typedArrayConstructors[name] ?? decoder.fail("an unknown view")
  const offset = decoder.readCount(Number.MAX_SAFE_INTEGER)
  const length = decoder.read()
  if (typeof length !== "number" || length % 1 !== 0 || length < -1) decoder.fail("a view's length is out of range")
  const buffer = decoder.readSlot()
  if (!isAnyBuffer(buffer)) decoder.fail("a view of no buffer")
  try {
    return length === -1 ? new constructor(buffer, offset) : new constructor(buffer, offset, length)
  } catch {
    return decoder.fail("a view that does not fit its buffer")
  }
}

function isAnyBuffer(value: unknown): value is ArrayBuffer {
  return (
    typeof value === "object" &&
    value !== null &&
    (answers(bufferByteLength, value) || answers(sharedByteLength, value))
  )
}

function answers(getter: (value: unknown) => unknown, value: object): boolean {
  try {
    getter(value)
    return true
  } catch {
    // The intrinsic refused the object: it is no such buffer.
    return false
  }
}
