import fc from "fast-check"
import { expect, test } from "vitest"
import { FrameReader, frameHeaderBytes, sealFrame } from "../../../runtime/wire/frame.ts"

function frame(payload: Uint8Array): Uint8Array {
  const buffer = new Uint8Array(frameHeaderBytes + payload.length)
  buffer.set(payload, frameHeaderBytes)
  return sealFrame(buffer)
}

function stream(payloads: readonly Uint8Array[]): Uint8Array {
  return Uint8Array.from(payloads.flatMap((it) => [...frame(it)]))
}

/** What a reader hands out of these chunks; payloads are copied, since they are only valid during the call. */
function read(chunks: readonly Uint8Array[], bytesMax?: number): { payloads: number[][]; isTorn: boolean } {
  const payloads: number[][] = []
  const reader = new FrameReader((payload) => payloads.push([...payload]), bytesMax)
  for (const chunk of chunks) reader.push(chunk)
  return { payloads, isTorn: reader.isTorn }
}

const three = [Uint8Array.of(1, 2, 3), new Uint8Array(0), Uint8Array.of(255, 0, 0, 0, 9)]

test("a frame is four bytes of big-endian length and the payload", () => {
  expect([...frame(Uint8Array.of(7, 8))]).toEqual([0, 0, 0, 2, 7, 8])
  expect([...frame(new Uint8Array(0x01_02_03)).subarray(0, 4)]).toEqual([0, 1, 2, 3])
})

test("frames cut at every byte come out whole", () => {
  const bytes = stream(three)
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      const chunks = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]
      expect(read(chunks)).toEqual({ payloads: three.map((it) => [...it]), isTorn: false })
    }
  }
})

test("frames arrive whole whatever the chunks", () => {
  const payload = fc.uint8Array({ maxLength: 40 })
  fc.assert(
    fc.property(fc.array(payload, { maxLength: 8 }), fc.array(fc.nat(9), { minLength: 1 }), (payloads, sizes) => {
      const bytes = stream(payloads)
      const chunks: Uint8Array[] = []
      for (let at = 0, turn = 0; at < bytes.length; turn++) {
        const size = sizes[turn % sizes.length]! + (turn % sizes.length === 0 ? 1 : 0)
        chunks.push(bytes.slice(at, at + size))
        at += size
      }
      expect(read(chunks)).toEqual({ payloads: payloads.map((it) => [...it]), isTorn: false })
    }),
  )
})

test("a stream that ends inside a frame is torn, and what was whole has been handed out", () => {
  const bytes = stream(three)
  const ends = new Set([0])
  for (let at = 0, index = 0; index < three.length; index++) ends.add((at += frameHeaderBytes + three[index]!.length))
  for (let length = 0; length <= bytes.length; length++) {
    const { payloads, isTorn } = read([bytes.subarray(0, length)])
    expect(isTorn).toBe(!ends.has(length))
    expect(payloads).toHaveLength([...ends].filter((it) => it <= length).length - 1)
  }
})

test("a length above the limit is refused from the header alone, whole or cut", () => {
  const header = Uint8Array.of(0, 0, 0, 11)
  expect(() => read([header], 10)).toThrow("11 bytes; the limit is 10")
  for (let cut = 1; cut < 4; cut++)
    expect(() => read([header.subarray(0, cut), header.subarray(cut)], 10)).toThrow("11")
  expect(() => read([Uint8Array.of(255, 255, 255, 255)])).toThrow("4294967295 bytes")
  expect(read([frame(new Uint8Array(10))], 10).payloads).toHaveLength(1)
})

test("a frame that is read while another is handed out does not disturb it", () => {
  const seen: number[] = []
  const bytes = stream([Uint8Array.of(1), Uint8Array.of(2)])
  const inner: number[] = []
  const other = new FrameReader((payload) => inner.push(payload[0]!))
  const reader = new FrameReader((payload) => {
    other.push(frame(Uint8Array.of(9)))
    seen.push(payload[0]!)
  })
  reader.push(bytes.subarray(0, 3))
  reader.push(bytes.subarray(3))
  expect(seen).toEqual([1, 2])
  expect(inner).toEqual([9, 9])
})
