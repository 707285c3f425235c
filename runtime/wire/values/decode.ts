// Tables back to live values. See `decoder.ts` for how, `format.ts` for what a table is.

import { newList, type Primitive } from "../../../stdlib/intrinsics.ts"
import { ValueDecoder } from "./decoder.ts"
import { formatVersion } from "./format.ts"
import type { DecodeHooks } from "./hooks.ts"

/** The bindings of one group, sharing what they shared. Throws `MalformedValueError`. The list has no prototype. */
export function decodeBindings(
  table: ArrayLike<Primitive>,
  chunks: ArrayLike<Uint8Array>,
  hooks: DecodeHooks = {},
): { name: string; value: unknown }[] {
  const decoder = openTable(table, chunks, hooks)
  const count = decoder.readSlotCount(2)
  const bindings: { name: string; value: unknown }[] = newList()
  for (let i = 0; i < count; i++) bindings[i] = { name: decoder.readText(), value: undefined }
  for (let i = 0; i < count; i++) (bindings[i] as { value: unknown }).value = decoder.readRoot()
  if (!decoder.atEnd) decoder.fail("items are left over")
  return bindings
}

/** One value. Throws `MalformedValueError`. */
export function decodeValue(
  table: ArrayLike<Primitive>,
  chunks: ArrayLike<Uint8Array>,
  hooks: DecodeHooks = {},
): unknown {
  const decoder = openTable(table, chunks, hooks)
  if (decoder.readCount(0) !== 0) decoder.fail("a table of bindings")
  const value = decoder.readRoot()
  if (!decoder.atEnd) decoder.fail("items are left over")
  return value
}

function openTable(table: ArrayLike<Primitive>, chunks: ArrayLike<Uint8Array>, hooks: DecodeHooks): ValueDecoder {
  const decoder = new ValueDecoder(table, chunks, hooks)
  if (decoder.read() !== formatVersion) decoder.fail(`a table of another version than ${formatVersion}`)
  return decoder
}
