// Outer side: node tables as bytes, in the process or thread that talks to the store and the socket. Not evaluated in realms.
//
// The table comes out of a realm, so every item is read once, by index, and kept only when it is a primitive. msgpackr then packs the
// flat list. What it would change is taken out first and listed beside it: -0, lone surrogates, and bigints beyond 64 bits. The same
// table always gives the same bytes.
//
//   [ magic, items, exceptions, chunks ]      exceptions: index, code, text, index, code, text, …
//
// Unpacking believes nothing: whatever the bytes are, the result is primitives and byte arrays, or a `MalformedValueError`.

import { Packr, Unpackr } from "msgpackr"
import { typedArrayByteLength, typedArrayName, typedArraySet, type Primitive } from "../../../stdlib/intrinsics.ts"
import type { PlainValue } from "../check.ts"
import { formatVersion, opNull } from "./format.ts"
import { MalformedValueError } from "./malformed.ts"

/** Distinguishes encoded values from other msgpack, and this envelope from a later one. */
const magic = "nacre/1"

const exceptNegativeZero = 0
const exceptString = 1
const exceptBigint = 2

const packr = new Packr({ useRecords: false, variableMapSize: true })
const unpackr = new Unpackr({ useRecords: false, int64AsType: "bigint" })

export interface PackedInput {
  readonly table: ArrayLike<unknown>
  readonly chunks: ArrayLike<unknown>
}

/** Throws `MalformedValueError` when the table holds anything but primitives or a chunk is no byte array. */
export function packValue(value: PackedInput): Uint8Array {
  const count = value.table.length
  const items: Primitive[] = Array.from({ length: count })
  const exceptions: (number | string)[] = []
  for (let i = 0; i < count; i++) {
    const item: unknown = value.table[i]
    switch (typeof item) {
      case "string":
        if (isWellFormed(item)) items[i] = item
        else exceptions.push(i, exceptString, codeUnits(item))
        break
      case "number":
        if (item === 0 && Object.is(item, -0)) exceptions.push(i, exceptNegativeZero, "")
        items[i] = item
        break
      case "bigint":
        if (BigInt.asIntN(64, item) === item) items[i] = item
        else exceptions.push(i, exceptBigint, hexadecimal(item))
        break
      case "boolean":
      case "undefined":
        items[i] = item
        break
      case "object":
      case "function":
      case "symbol":
        if (item !== null) throw new MalformedValueError(`item ${i} of a table is a ${typeof item}`)
        items[i] = null
    }
  }
  const chunks: Uint8Array[] = []
  for (let i = 0; i < value.chunks.length; i++) {
    const chunk: unknown = value.chunks[i]
    if (typedArrayName(chunk) !== "Uint8Array") throw new MalformedValueError(`chunk ${i} of a table is no byte array`)
    // Our own getter and method: the chunk is of a realm, and what stands on its prototypes may be a session's. `Buffer.from` reads them.
    const copy = new Uint8Array(typedArrayByteLength(chunk))
    typedArraySet(copy, chunk as Uint8Array)
    chunks.push(copy)
  }
  return packr.pack([magic, items, exceptions, chunks])
}

/** The bytes that the encoder would give for a plain value, which needs no encoder and so no realm. */
export function packPlainValue(value: PlainValue): Uint8Array {
  return packValue({ table: value === null ? [formatVersion, 0, null, opNull] : [formatVersion, 0, value], chunks: [] })
}

/** Throws `MalformedValueError` for bytes `packValue` did not make. Chunks may share the memory of `bytes`. */
export function unpackValue(bytes: Uint8Array): { table: Primitive[]; chunks: Uint8Array[] } {
  const envelope: unknown = unpackEnvelope(bytes)
  if (!Array.isArray(envelope) || envelope.length !== 4 || envelope[0] !== magic)
    fail("the envelope is not one of ours")
  const [, items, exceptions, chunks] = envelope as unknown[]
  if (!Array.isArray(items) || !Array.isArray(exceptions) || !Array.isArray(chunks)) fail("a part is missing")
  const table = items as unknown[]
  for (let i = 0; i < table.length; i++) {
    const item = table[i]
    if ((typeof item === "object" && item !== null) || typeof item === "function" || typeof item === "symbol") {
      fail(`item ${i} is no primitive`)
    }
  }
  restoreExceptions(table, exceptions)
  for (const chunk of chunks as unknown[]) if (!(chunk instanceof Uint8Array)) fail("a chunk is no byte array")
  return { table: table as Primitive[], chunks: chunks as Uint8Array[] }
}

function unpackEnvelope(bytes: Uint8Array): unknown {
  try {
    return unpackr.unpack(bytes)
  } catch (cause) {
    throw new MalformedValueError("the bytes are not msgpack", { cause })
  }
}

function restoreExceptions(table: unknown[], exceptions: unknown[]): void {
  if (exceptions.length % 3 !== 0) fail("the exceptions are cut")
  for (let i = 0; i < exceptions.length; i += 3) {
    const [index, code, text] = exceptions.slice(i, i + 3)
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= table.length) {
      fail("an exception is out of range")
    }
    if (typeof text !== "string") fail("an exception is no text")
    if (code === exceptNegativeZero) table[index] = -0
    else if (code === exceptString) table[index] = fromCodeUnits(text)
    else if (code === exceptBigint) table[index] = fromHexadecimal(text)
    else fail("an exception of an unknown kind")
  }
}

function fail(problem: string): never {
  throw new MalformedValueError(`encoded value: ${problem}`)
}

/** In ES2024 and in every Node this runs on, but not in the library this is typed with. */
function isWellFormed(text: string): boolean {
  return (text as string & { isWellFormed(): boolean }).isWellFormed()
}

function codeUnits(text: string): string {
  return Buffer.from(text, "utf16le").toString("base64")
}

function fromCodeUnits(text: string): string {
  return Buffer.from(text, "base64").toString("utf16le")
}

function hexadecimal(value: bigint): string {
  return value < 0n ? `-${(-value).toString(16)}` : value.toString(16)
}

function fromHexadecimal(text: string): bigint {
  const negative = text.startsWith("-")
  try {
    const value = BigInt(`0x${negative ? text.slice(1) : text}`)
    return negative ? -value : value
  } catch {
    return fail("a bigint is no number")
  }
}
