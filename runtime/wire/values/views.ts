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
  typedArrayConstructors,
  typedArrayName,
  typedArrayOffset,
  typedArraySet,
  Uint8ArrayOf,
} from "../../../stdlib/intrinsics.ts"

/** A typed array of one item that fills a buffer which can grow no further is taken to have a length of its own. */
export function followsBuffer(view: object, buffer: ArrayBuffer): boolean {
  const name = typedArrayName(view)
  const isDataView = name === undefined
  const lengthOf = isDataView ? dataViewByteLength : typedArrayByteLength
  const itemBytes = isDataView ? 1 : typedArrayConstructors[name]!.BYTES_PER_ELEMENT!
  const offset = isDataView ? dataViewOffset(view) : typedArrayOffset(view)
  const length = lengthOf(view)
  if (isShared(buffer)) {
    // A shared buffer only grows, so nothing can be tried; a view that ends where it ends is taken to follow it.
    return sharedGrowable(buffer) === true && offset + length + itemBytes > sharedByteLength(buffer)
  }
  if (bufferResizable(buffer) !== true) return false
  const before = bufferByteLength(buffer)
  if (offset + length + itemBytes <= before) return false
  const grows = bufferMaxLength(buffer) >= before + itemBytes
  if (!grows && before < itemBytes) return false
  const bytes = new Uint8ArrayOf(before)
  typedArraySet(bytes, new Uint8ArrayOf(buffer))
  bufferResize(buffer, grows ? before + itemBytes : before - itemBytes)
  const after = safeLength(lengthOf, view)
  const stillInside = isDataView ? after >= 0 : after > 0 || (offset > 0 && typedArrayOffset(view) === offset)
  bufferResize(buffer, before)
  typedArraySet(new Uint8ArrayOf(buffer), bytes)
  return after !== length && stillInside
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
