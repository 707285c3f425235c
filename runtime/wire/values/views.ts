// Whether a view on a resizable buffer follows the buffer's length or has one of its own. The language has no question for it, so
// the buffer is resized for a moment and the view watched. Nothing else can run meanwhile, and the bytes are as they were after.

import {
  bufferByteLength,
  bufferMaxLength,
  bufferResizable,
  bufferResize,
  dataViewByteLength,
  dataViewOffset,
  sharedByteLength,
  sharedGrowable,
  typedArrayByteLength,
  typedArrayName,
  typedArrayOffset,
  typedArraySet,
  Uint8ArrayOf,
} from "../../../stdlib/intrinsics.ts"

/** The size of the largest item: growing by it shows in every view that follows its buffer. */
const widestItemBytes = 8

export function followsBuffer(view: object, buffer: ArrayBuffer): boolean {
  const isDataView = typedArrayName(view) === undefined
  const lengthOf = isDataView ? dataViewByteLength : typedArrayByteLength
  const offset = isDataView ? dataViewOffset(view) : typedArrayOffset(view)
  const length = lengthOf(view)
  if (isShared(buffer)) {
    // A shared buffer only grows, so nothing can be tried; a view that ends where it ends is taken to follow it.
    return sharedGrowable(buffer) === true && offset + length + widestItemBytes > sharedByteLength(buffer)
  }
  if (bufferResizable(buffer) !== true) return false
  const before = bufferByteLength(buffer)
  if (offset + length + widestItemBytes <= before) return false
  const bytes = new Uint8ArrayOf(before)
  typedArraySet(bytes, new Uint8ArrayOf(buffer))
  try {
    if (bufferMaxLength(buffer) >= before + widestItemBytes) {
      bufferResize(buffer, before + widestItemBytes)
      return lengthOf(view) !== length
    }
    if (before < widestItemBytes) return false
    bufferResize(buffer, before - widestItemBytes)
    return safeLength(lengthOf, view) === length - widestItemBytes && safeLength(lengthOf, view) > 0
  } finally {
    bufferResize(buffer, before)
    typedArraySet(new Uint8ArrayOf(buffer), bytes)
  }
}

function isShared(buffer: object): boolean {
  try {
    sharedByteLength(buffer)
    return true
  } catch {
    // An ordinary buffer refuses the shared getter, which is the answer.
    return false
  }
}

function safeLength(lengthOf: (view: unknown) => number, view: object): number {
  try {
    return lengthOf(view)
  } catch {
    // A DataView beyond the end of its buffer has no length.
    return -1
  }
}
