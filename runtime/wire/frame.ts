// Length-prefixed frames over a byte stream: four bytes of big-endian payload length, then the payload.
//
// The peer may die at any byte, so a reader hands out whole frames only; what is left of a torn one is dropped with the reader. A
// length above the limit is a protocol error at once, before a byte of it is stored.

/** Payload bytes of one frame at most. A host of 512 MiB cannot hold more encoded state than this. */
export const frameBytesMax = 256 * 1024 * 1024

const headerBytes = 4

/** Bytes that a packer leaves free at the front of a frame for `sealFrame`. */
export const frameHeaderBytes = headerBytes

/** Writes the header into a buffer whose first four bytes were left free; throws when the payload is above the limit. */
export function sealFrame(buffer: Uint8Array): Uint8Array {
  const length = buffer.length - headerBytes
  if (length > frameBytesMax) throw new FrameError(`A frame of ${length} bytes is above the limit of ${frameBytesMax}.`)
  buffer[0] = length >>> 24
  buffer[1] = length >>> 16
  buffer[2] = length >>> 8
  buffer[3] = length
  return buffer
}

export class FrameError extends Error {
  override readonly name = "FrameError"
}

/** Cuts a stream into frames. `push` calls back for each whole payload; the bytes are only valid during the call. */
export class FrameReader {
  readonly #onFrame: (payload: Uint8Array) => void
  readonly #bytesMax: number
  #pending: Uint8Array | undefined
  #filled = 0

  constructor(onFrame: (payload: Uint8Array) => void, bytesMax = frameBytesMax) {
    this.#onFrame = onFrame
    this.#bytesMax = bytesMax
  }

  /** True while a frame has begun and not ended: when the stream ends now, it was torn. */
  get isTorn(): boolean {
    return this.#pending !== undefined
  }

  push(chunk: Uint8Array): void {
    let at = 0
    if (this.#pending !== undefined) at = this.#fill(chunk)
    while (at < chunk.length) {
      const left = chunk.length - at
      if (left >= headerBytes) {
        const length = this.#length(chunk, at)
        if (left >= headerBytes + length) {
          this.#onFrame(chunk.subarray(at + headerBytes, at + headerBytes + length))
          at += headerBytes + length
          continue
        }
        this.#pending = new Uint8Array(headerBytes + length)
      } else this.#pending = new Uint8Array(headerBytes)
      this.#pending.set(chunk.subarray(at))
      this.#filled = left
      at = chunk.length
    }
  }

  /** Completes the pending frame from the front of `chunk`; returns how many of its bytes were used. */
  #fill(chunk: Uint8Array): number {
    let used = 0
    while (this.#pending !== undefined) {
      const pending: Uint8Array = this.#pending
      const take = Math.min(pending.length - this.#filled, chunk.length - used)
      pending.set(chunk.subarray(used, used + take), this.#filled)
      this.#filled += take
      used += take
      if (this.#filled < pending.length) return used
      const length = this.#length(pending, 0)
      if (pending.length === headerBytes + length) {
        this.#pending = undefined
        this.#onFrame(pending.subarray(headerBytes))
        return used
      }
      const grown = new Uint8Array(headerBytes + length)
      grown.set(pending)
      this.#pending = grown
    }
    return used
  }

  #length(bytes: Uint8Array, at: number): number {
    const [a, b, c, d] = [bytes[at]!, bytes[at + 1]!, bytes[at + 2]!, bytes[at + 3]!]
    const length = a * 0x1000000 + ((b << 16) | (c << 8) | d)
    if (length > this.#bytesMax) {
      throw new FrameError(`The peer announced a frame of ${length} bytes; the limit is ${this.#bytesMax}.`)
    }
    return length
  }
}
