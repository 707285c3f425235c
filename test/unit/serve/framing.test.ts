// Bytes to messages: however they are cut, the same messages come; what is malformed loses only itself.
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { FrameReader, frameOf } from "../../../runtime/serve/framing.ts"
import type { FrameReaderOptions, Framing } from "../../../runtime/serve/framing.ts"

function read(chunks: readonly (Buffer | string)[], options: FrameReaderOptions = {}): string[] {
  const seen: string[] = []
  const reader = new FrameReader(
    {
      onMessage: (text) => void seen.push(text),
      onProblem: ({ kind, message }) => void seen.push(`${kind}: ${message}`),
    },
    options,
  )
  for (const chunk of chunks) reader.push(Buffer.from(chunk))
  reader.end()
  return seen
}

function cutAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [...new Set([0, ...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length])].toSorted(
    (a, b) => a - b,
  )
  return places.slice(1).map((place, index) => bytes.subarray(places[index], place))
}

describe("any chunking gives the same messages", () => {
  const message = fc.oneof(
    fc.json(),
    fc.string({ unit: "grapheme" }).map((text) => JSON.stringify({ text })),
  )
  it.each<Framing>(["headers", "lines"])("%s", (framing) => {
    fc.assert(
      fc.property(fc.array(message, { minLength: 1, maxLength: 5 }), fc.array(fc.nat()), (messages, cuts) => {
        // JSON text has no raw line ends, so a message is a line.
        const sent = messages.map((text) => `{"m":${text}}`)
        const bytes = Buffer.from(sent.map((text) => frameOf(text, framing)).join(""))
        expect(read(cutAt(bytes, cuts))).toEqual(sent)
      }),
    )
  })

  it("a character of four bytes that is cut everywhere", () => {
    const bytes = Buffer.from(frameOf('{"a":"𝛑é"}', "headers"))
    expect(read([...bytes].map((byte) => Buffer.from([byte])))).toEqual(['{"a":"𝛑é"}'])
  })
})

describe("garbage", () => {
  const good = fc.json().map((text) => ({ text: `{"m":${text}}`, isGood: true }))
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: "binary" }),
    fc.constantFrom(
      "Content-Length: x\r\n\r\n",
      "Content-Type: a\r\n\r\n",
      "\r\n\r\n",
      "C",
      "Content-",
      "{}\n",
      ":",
      "\u0000",
    ),
  )
  const bad = text
    // What announces a body would take the next message for it, as it should.
    .filter((each) => !/content-length:[ \t]*\d/i.test(each))
    .map((each) => ({ text: each, isGood: false }))
  const parts = fc.array(fc.oneof(good, bad), { minLength: 1, maxLength: 8 })
  const bytesOf = (all: readonly { text: string; isGood: boolean }[]): Buffer =>
    Buffer.from(all.map((each) => (each.isGood ? frameOf(each.text, "headers") : each.text)).join(""))

  it("gives the same messages however it is cut, and is told", () => {
    const messagesIn = (seen: string[]): string[] => seen.filter((each) => !each.startsWith("parse_failed"))
    fc.assert(
      fc.property(parts, fc.array(fc.nat()), (all, cuts) => {
        const bytes = bytesOf(all)
        const whole = read([bytes], { framing: "headers" })
        const cut = read(cutAt(bytes, cuts), { framing: "headers" })
        expect(messagesIn(cut)).toEqual(messagesIn(whole))
        expect(cut.length > messagesIn(cut).length).toBe(whole.length > messagesIn(whole).length)
      }),
      { numRuns: 1_000 },
    )
  })

  it("loses only itself when it ends with its line", () => {
    fc.assert(
      fc.property(parts, (all) => {
        const bytes = bytesOf(all.map((each) => (each.isGood ? each : { ...each, text: `${each.text}\r\n` })))
        const seen = read([bytes], { framing: "headers" }).filter((each) => each.startsWith('{"m"'))
        expect(seen).toEqual(all.filter((each) => each.isGood).map((each) => each.text))
      }),
      { numRuns: 1_000 },
    )
  })
})

describe("headers", () => {
  it("may come in any case, with others beside the length, and with bare line ends", () => {
    const body = '{"a":1}'
    expect(read([`Content-Type: application/json\r\ncontent-length:7\r\n\r\n${body}`])).toEqual([body])
    expect(read([`Content-Length: 7\n\n${body}Content-Length: 7\r\n\r\n${body}`])).toEqual([body, body])
  })

  it("counts bytes", () => {
    expect(read(['Content-Length: 4\r\n\r\n"é"Content-Length: 1\r\n\r\n1'])).toEqual(['"é"', "1"])
  })

  it.each([
    ["a length that is no number", "Content-Length: x\r\n\r\n{}", "no valid Content-Length"],
    ["a negative length", "Content-Length: -4\r\n\r\n{}", "no valid Content-Length"],
    ["no length", "Content-Type: a\r\n\r\n{}", "no valid Content-Length"],
    ["endless headers", `Content-Type: ${"a".repeat(5000)}`, "more than 4096 bytes of headers"],
  ])("loses only itself: %s", (_what, bad, told) => {
    const [problem, ...rest] = read([bad, "Content-Length: 1\r\n\r\n1"])
    expect(problem).toContain("parse_failed")
    expect(problem).toContain(told)
    expect(rest).toEqual(["1"])
  })

  it("finds its way back after garbage between two messages", () => {
    const seen = read(["Content-Length: 1\r\n\r\n1 stray print {}\r\nContent-Length: 1\r\n\r\n2"])
    expect(seen).toEqual(["1", "parse_failed: A message must begin with its Content-Length header.", "2"])
  })

  it("skips a body above the limit without holding it", () => {
    const seen = read(["Content-Length: 50\r\n\r\n", "x".repeat(30), `${"x".repeat(20)}Content-Length: 1\r\n\r\n1`], {
      bytesMax: 40,
    })
    expect(seen).toEqual([
      "message_too_large: A message of 50 bytes is above the limit of 40 bytes; send less at once.",
      "1",
    ])
  })

  it("tells a body that is no UTF-8", () => {
    const bad = Buffer.concat([Buffer.from("Content-Length: 2\r\n\r\n"), Buffer.from([0xc3, 0x28])])
    expect(read([bad, "Content-Length: 1\r\n\r\n1"])).toEqual(["parse_failed: A message is not valid UTF-8.", "1"])
  })

  it("tells an input that ends inside a message or its headers", () => {
    expect(read(["Content-Length: 10\r\n\r\n{"])).toEqual([
      "parse_failed: The input ended inside a message: 1 of 10 bytes came.",
    ])
    expect(read(["Content-Length: 10\r\n"])).toEqual(["parse_failed: The input ended inside the headers of a message."])
  })
})

describe("lines", () => {
  it("ignores blank ones, takes CRLF, and a last one without an end", () => {
    expect(read(['\n\n{"a":1}\r\n\n', '{"b":', "2}"])).toEqual(['{"a":1}\r', '{"b":2}'])
  })

  it("drops a line above the limit and goes on behind it", () => {
    const [problem, ...rest] = read(["{".repeat(30), `${"{".repeat(30)}\n1\n`], { bytesMax: 40 })
    expect(problem).toContain("message_too_large")
    expect(rest).toEqual(["1"])
  })

  it("can be asked for, whatever comes first", () => {
    expect(read(["Content-Length: 1\n1\n"], { framing: "lines" })).toEqual(["Content-Length: 1", "1"])
  })

  it("is chosen by whatever is no header, also when it is torn or nothing follows", () => {
    expect(read(["co", "n\n1\n"])).toEqual(["con", "1"])
    expect(read(["Conte"])).toEqual(["Conte"])
    expect(read([])).toEqual([])
  })
})
