// Buffers and the views on them. Contents travel as chunks of bytes beside the table; views of one buffer keep sharing it.

import {
  objectSymbols,
  ownKeysOf,
  typedArrayName,
  typedArrayLength,
  typedArrayByteLength,
  typedArrayOffset,
  typedArrayBuffer,
  typedArraySet,
  dataViewByteLength,
  dataViewOffset,
  dataViewBuffer,
  bufferByteLength,
  bufferResizable,
  bufferMaxLength,
  sharedByteLength,
  sharedGrowable,
  sharedMaxLength,
  Uint8ArrayOf,
  newList,
} from "../../../stdlib/intrinsics.ts"
import type { Brand } from "../../../stdlib/brands.ts"
import { writeRare } from "./encode-general.ts"
import type { ValueEncoder } from "./encoder.ts"
import { followsBuffer } from "./views.ts"
import { opBuffer, opBufferResizable, opBufferShared, opView } from "./format.ts"

/** Views above this many items are not searched for named properties: listing their own keys costs 450 ns an item. */
const viewKeysMax = 4096

export function writeBuffer(encoder: ValueEncoder, object: object, prototype: object | null, brand: Brand): void {
  const shared = brand === "sharedarraybuffer"
  const length = shared ? sharedByteLength(object) : bufferByteLength(object)
  if (encoder.exceeds(length)) return
  const grows = (shared ? sharedGrowable(object) : bufferResizable(object)) === true
  const largest = !grows ? -1 : shared ? sharedMaxLength(object) : bufferMaxLength(object)
  const op = shared ? opBufferShared : grows ? opBufferResizable : opBuffer
  writeRare(encoder, op, object, prototype, brand, ownKeysOf(object), (more) => {
    encoder.put(more)
    encoder.addChunk(copyBytes(object as ArrayBuffer, 0, length), length)
    if (op !== opBuffer) encoder.put(largest)
  })
}

/** A detached buffer has no bytes left and reads as one of length 0. */
function copyBytes(buffer: ArrayBuffer, offset: number, length: number): Uint8Array {
  const bytes = new Uint8ArrayOf(length)
  if (length > 0) typedArraySet(bytes, new Uint8ArrayOf(buffer, offset, length))
  return bytes
}

export function writeView(encoder: ValueEncoder, object: object, prototype: object | null): void {
  const name = typedArrayName(object)
  const buffer = name === undefined ? viewedByDataView(object) : typedArrayBuffer(object)
  if (buffer === undefined) {
    encoder.writeEphemeral(object, "a DataView beyond the end of its buffer")
    return
  }
  const byteLength = name === undefined ? dataViewByteLength(object) : typedArrayByteLength(object)
  const offset = name === undefined ? dataViewOffset(object) : typedArrayOffset(object)
  const length = name === undefined ? byteLength : typedArrayLength(object)
  if (encoder.exceeds(byteLength)) return
  const slice = encoder.hooks.viewsAreSlices === true
  writeRare(encoder, opView, object, prototype, "view", viewKeys(object, name, length), (more) => {
    encoder.put(more)
    encoder.put(name ?? "DataView")
    encoder.put(slice ? 0 : offset)
    encoder.put(!slice && followsBuffer(object, buffer) ? -1 : length)
    if (slice) {
      encoder.putOp(opBuffer)
      encoder.put(0)
      encoder.addChunk(copyBytes(buffer, offset, byteLength), byteLength)
      encoder.mark(newList())
    } else encoder.writeValue(buffer)
  })
}

function viewedByDataView(object: object): ArrayBuffer | undefined {
  try {
    dataViewByteLength(object)
    return dataViewBuffer(object)
  } catch {
    // The buffer shrank below the view, which then has neither an offset nor a length to write down.
    return undefined
  }
}

function viewKeys(object: object, name: string | undefined, length: number): (string | symbol)[] {
  if (name === undefined) return ownKeysOf(object)
  if (length > viewKeysMax) return objectSymbols(object)
  const keys = ownKeysOf(object)
  const kept: (string | symbol)[] = newList()
  let count = 0
  for (let i = length; i < keys.length; i++) kept[count++] = keys[i]!
  return kept
}
