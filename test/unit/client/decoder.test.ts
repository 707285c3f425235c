// The client's decoder: the same messages however bytes are cut; a stream that is broken is told.
import * as fc from "fast-check"
import { expect, it } from "vitest"
import { FrameDecoder, frameOf } from "../../../runtime/client/decoder.ts"
import { frameOf as serverFrameOf } from "../../../runtime/serve/framing.ts"

it("gives the same messages however they are cut", () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: "grapheme" }), { minLength: 1 }), fc.array(fc.nat()), (messages, cuts) => {
      const bytes = Buffer.from(messages.map((text) => serverFrameOf(text, "headers")).join(""))
      const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].toSorted((a, b) => a - b)
      const decoder = new FrameDecoder()
      const seen = places.slice(1).flatMap((place, index) => decoder.push(bytes.subarray(places[index], place)))
      expect(seen).toEqual(messages)
    }),
  )
})

it("frames as the server does", () => {
  expect(frameOf('{"a":"é𝛑"}')).toBe(serverFrameOf('{"a":"é𝛑"}', "headers"))
})

it.each([
  ["a stray line", "hello, this is no frame\r\n\r\n"],
  ["a length that is none", "Content-Length: x\r\n\r\n"],
  ["endless headers", "a".repeat(5_000)],
])("throws at %s", (_what, text) => {
  expect(() => new FrameDecoder().push(Buffer.from(text))).toThrow("no message")
})
