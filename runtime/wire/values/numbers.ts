// Arrays of numbers that travelled as bytes, in this machine's byte order: little-endian wherever Node runs.

import {
  typedArrayByteLength,
  typedArrayBuffer,
  typedArraySet,
  Uint8ArrayOf,
  Int8ArrayOf,
  Int16ArrayOf,
  Int32ArrayOf,
  Float64ArrayOf,
} from "../../../stdlib/intrinsics.ts"

/** The bytes as numbers, copied so that they are aligned; `undefined` when they are no whole number of such numbers. */
export function viewNumbers(chunk: Uint8Array, width: number): ArrayLike<number> | undefined {
  const byteLength = typedArrayByteLength(chunk)
  if ((width !== 1 && width !== 2 && width !== 4 && width !== 8) || byteLength % width !== 0) return undefined
  const bytes = new Uint8ArrayOf(byteLength)
  typedArraySet(bytes, chunk)
  const buffer = typedArrayBuffer(bytes)
  if (width === 1) return new Int8ArrayOf(buffer)
  if (width === 2) return new Int16ArrayOf(buffer)
  return width === 4 ? new Int32ArrayOf(buffer) : new Float64ArrayOf(buffer)
}
