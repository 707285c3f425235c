// TextEncoder and TextDecoder for session code: UTF-8, UTF-16LE and windows-1252 (which `latin1` and `ascii` are names of).
//
// Written out after the Encoding standard's state machines, since a decoder keeps its state between the pieces of a stream, and that state
// is part of the session: it is a few numbers in private names, which commit with the decoder.
import {
  applyFunction,
  bufferByteLength,
  dataViewBuffer,
  dataViewByteLength,
  dataViewOffset,
  isBufferView,
  newList,
  RangeErrorOf,
  sharedByteLength,
  stringCodeAt,
  stringFromCodes,
  stringSlice,
  stringToLowerCase,
  tagPrototype,
  textOfGiven,
  TypeErrorOf,
  typedArrayBuffer,
  typedArrayByteLength,
  typedArrayName,
  typedArrayOffset,
  Uint8ArrayOf,
  withCode,
  withoutPrototype,
} from "./intrinsics.ts"
import { constructionMode, registerRealmClass } from "./privates.ts"

const replacement = 0xfffd

/** The code point at a place; a lone surrogate is U+FFFD. One beyond U+FFFF takes two places. */
function scalarAt(text: string, at: number): number {
  const unit = stringCodeAt(text, at)
  if (unit < 0xd800 || unit > 0xdfff) return unit
  if (unit > 0xdbff || at + 1 >= text.length) return replacement
  const next = stringCodeAt(text, at + 1)
  return next >= 0xdc00 && next <= 0xdfff ? 0x10000 + ((unit - 0xd800) << 10) + (next - 0xdc00) : replacement
}

function utf8Length(scalar: number): number {
  return scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4
}

/** Writes whole characters while there is room. */
function writeUtf8(text: string, bytes: Uint8Array, room: number): { read: number; written: number } {
  let read = 0
  let written = 0
  while (read < text.length) {
    const scalar = scalarAt(text, read)
    const length = utf8Length(scalar)
    if (written + length > room) break
    if (length === 1) bytes[written] = scalar
    else {
      bytes[written] = (length === 2 ? 0xc0 : length === 3 ? 0xe0 : 0xf0) | (scalar >> ((length - 1) * 6))
      for (let rest = 1; rest < length; rest++)
        bytes[written + rest] = 0x80 | ((scalar >> ((length - 1 - rest) * 6)) & 0x3f)
    }
    written += length
    read += length === 4 ? 2 : 1
  }
  return { read, written }
}

export function encodeUtf8(text: string): Uint8Array {
  let length = 0
  for (let at = 0; at < text.length; at++) {
    const size = utf8Length(scalarAt(text, at))
    length += size
    if (size === 4) at++
  }
  const bytes = new Uint8ArrayOf(length)
  writeUtf8(text, bytes, length)
  return bytes
}

/** Text that is made of code units, in pieces: a call takes no more arguments than fit its stack. */
class UnitSink {
  text = ""
  #units: number[] = newList()
  #count = 0

  put(scalar: number): void {
    if (scalar > 0xffff) {
      this.#put(0xd800 + ((scalar - 0x10000) >> 10))
      this.#put(0xdc00 + ((scalar - 0x10000) & 0x3ff))
    } else this.#put(scalar)
  }

  #put(unit: number): void {
    this.#units[this.#count++] = unit
    if (this.#count === 2048) this.finish()
  }

  finish(): string {
    this.#units.length = this.#count
    this.text += applyFunction(stringFromCodes, undefined, this.#units) as string
    this.#count = 0
    return this.text
  }
}

/** What a decoder is in the middle of, as a list of numbers. UTF-8: code point, bytes needed, seen, the next byte's bounds. */
type Pending = [number, number, number, number, number]

function nothingOpen(): Pending {
  return withoutPrototype<Pending>([0, 0, 0, 0x80, 0xbf])
}

type EmitScalar = (scalar: number) => void

function decodeUtf8Bytes(bytes: Uint8Array, count: number, open: Pending, emit: EmitScalar, fault: () => void): void {
  // Not an array pattern: that would ask the session's iterators.
  let point = open[0]
  let needed = open[1]
  let seen = open[2]
  let lower = open[3]
  let upper = open[4]
  for (let at = 0; at < count; at++) {
    const byte = bytes[at]!
    if (needed === 0) {
      if (byte < 0x80) emit(byte)
      else if (byte >= 0xc2 && byte <= 0xdf) {
        needed = 1
        point = byte & 0x1f
      } else if (byte >= 0xe0 && byte <= 0xef) {
        if (byte === 0xe0) lower = 0xa0
        if (byte === 0xed) upper = 0x9f
        needed = 2
        point = byte & 0xf
      } else if (byte >= 0xf0 && byte <= 0xf4) {
        if (byte === 0xf0) lower = 0x90
        if (byte === 0xf4) upper = 0x8f
        needed = 3
        point = byte & 7
      } else fault()
      continue
    }
    const isExpected = byte >= lower && byte <= upper
    lower = 0x80
    upper = 0xbf
    if (!isExpected) {
      point = needed = seen = 0
      fault()
      // The byte begins something of its own.
      at--
      continue
    }
    point = (point << 6) | (byte & 0x3f)
    if (++seen < needed) continue
    emit(point)
    point = needed = seen = 0
  }
  open[0] = point
  open[1] = needed
  open[2] = seen
  open[3] = lower
  open[4] = upper
}

/** UTF-16: `open` holds the first byte of a unit (+ 1), and the first unit of a pair. */
function decodeUtf16Bytes(bytes: Uint8Array, count: number, open: Pending, emit: EmitScalar, fault: () => void): void {
  for (let at = 0; at < count; at++) {
    if (open[0] === 0) {
      open[0] = bytes[at]! + 1
      continue
    }
    const unit = (bytes[at]! << 8) | (open[0] - 1)
    open[0] = 0
    const first = open[1]
    open[1] = 0
    if (first !== 0) {
      if (unit >= 0xdc00 && unit <= 0xdfff) {
        emit(0x10000 + ((first - 0xd800) << 10) + (unit - 0xdc00))
        continue
      }
      fault()
    }
    if (unit >= 0xd800 && unit <= 0xdbff) open[1] = unit
    else if (unit >= 0xdc00 && unit <= 0xdfff) fault()
    else emit(unit)
  }
}

/** Code points of the bytes 0x80 to 0x9f; all others stand for themselves. */
const windows1252: readonly number[] = withoutPrototype([
  0x20ac, 0x81, 0x201a, 0x0192, 0x201e, 0x2026, 0x2020, 0x2021, 0x02c6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8d, 0x017d,
  0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x02dc, 0x2122, 0x0161, 0x203a, 0x0153, 0x9d,
  0x017e, 0x0178,
])

/** Bytes as text with U+FFFD where they are no UTF-8; a byte order mark stays. */
export function decodeUtf8(bytes: Uint8Array, count: number): string {
  const sink = new UnitSink()
  const open = nothingOpen()
  decodeUtf8Bytes(
    bytes,
    count,
    open,
    (scalar) => sink.put(scalar),
    () => sink.put(replacement),
  )
  if (open[1] !== 0) sink.put(replacement)
  return sink.finish()
}

const encodingLabels: Readonly<Record<string, string | undefined>> = withoutPrototype({
  "utf-8": "utf-8",
  utf8: "utf-8",
  "unicode-1-1-utf-8": "utf-8",
  unicode11utf8: "utf-8",
  unicode20utf8: "utf-8",
  "x-unicode20utf8": "utf-8",
  "utf-16le": "utf-16le",
  "utf-16": "utf-16le",
  "ucs-2": "utf-16le",
  unicode: "utf-16le",
  unicodefeff: "utf-16le",
  csunicode: "utf-16le",
  "iso-10646-ucs-2": "utf-16le",
  latin1: "windows-1252",
  l1: "windows-1252",
  ascii: "windows-1252",
  "us-ascii": "windows-1252",
  "iso-8859-1": "windows-1252",
  "iso8859-1": "windows-1252",
  iso88591: "windows-1252",
  "iso_8859-1": "windows-1252",
  "windows-1252": "windows-1252",
  cp1252: "windows-1252",
  "x-cp1252": "windows-1252",
})

function isBlank(code: number): boolean {
  return code === 32 || code === 9 || code === 10 || code === 12 || code === 13
}

function encodingOf(label: string): string {
  let from = 0
  let to = label.length
  while (from < to && isBlank(stringCodeAt(label, from))) from++
  while (to > from && isBlank(stringCodeAt(label, to - 1))) to--
  const found = encodingLabels[stringToLowerCase(stringSlice(label, from, to))]
  if (found !== undefined) return found
  throw withCode(
    new RangeErrorOf(
      `The "${label}" encoding is not supported; sessions have utf-8, utf-16le and windows-1252 (latin1).`,
    ),
    "ERR_ENCODING_NOT_SUPPORTED",
  )
}

/** The bytes that a buffer or a view shows. */
function bytesOfGiven(input: unknown): Uint8Array {
  if (input === undefined) return new Uint8ArrayOf(0)
  if (isBufferView(input)) {
    return typedArrayName(input) === undefined
      ? new Uint8ArrayOf(dataViewBuffer(input), dataViewOffset(input), dataViewByteLength(input))
      : new Uint8ArrayOf(typedArrayBuffer(input), typedArrayOffset(input), typedArrayByteLength(input))
  }
  const length = lengthOfBuffer(input)
  if (length < 0)
    throw withCode(
      new TypeErrorOf("TextDecoder decodes an ArrayBuffer, a SharedArrayBuffer or a view of one."),
      "ERR_INVALID_ARG_TYPE",
    )
  return new Uint8ArrayOf(input as ArrayBuffer, 0, length)
}

function lengthOfBuffer(input: unknown): number {
  if (typeof input !== "object" || input === null) return -1
  for (let kind = 0; kind < 2; kind++) {
    try {
      return kind === 0 ? bufferByteLength(input) : sharedByteLength(input)
    } catch {
      // It has not the slot of that kind, which is the answer.
    }
  }
  return -1
}

function invalidData(encoding: string): Error {
  return withCode(
    new TypeErrorOf(`The encoded data was not valid for encoding ${encoding}`),
    "ERR_ENCODING_INVALID_ENCODED_DATA",
  )
}

/** Makes the two classes in this realm, at their first use. */
export function makeTextClasses(): object {
  class TextEncoder {
    get encoding(): string {
      return "utf-8"
    }

    encode(input: unknown = ""): Uint8Array {
      return encodeUtf8(textOfGiven(input))
    }

    encodeInto(source: unknown, destination: unknown): { read: number; written: number } {
      const text = textOfGiven(source)
      if (typedArrayName(destination) !== "Uint8Array")
        throw withCode(new TypeErrorOf("encodeInto writes into a Uint8Array."), "ERR_INVALID_ARG_TYPE")
      return writeUtf8(text, destination as Uint8Array, typedArrayByteLength(destination))
    }
  }

  class TextDecoder {
    #encoding = "utf-8"
    #fatal = false
    #ignoreBOM = false
    #open: Pending = nothingOpen()
    /** The mark that may begin a text has been passed. */
    #isBegun = false
    /** The last piece was said not to be the end. */
    #isStreaming = false

    constructor(label: unknown = "utf-8", options?: unknown) {
      if (constructionMode.on) return
      this.#encoding = encodingOf(textOfGiven(label))
      const given = options as { fatal?: unknown; ignoreBOM?: unknown } | null | undefined
      this.#fatal = Boolean(given?.fatal)
      this.#ignoreBOM = Boolean(given?.ignoreBOM)
    }

    get encoding(): string {
      return this.#encoding
    }

    get fatal(): boolean {
      return this.#fatal
    }

    get ignoreBOM(): boolean {
      return this.#ignoreBOM
    }

    decode(input?: unknown, options?: unknown): string {
      const encoding = this.#encoding
      const bytes = bytesOfGiven(input)
      const streams = Boolean((options as { stream?: unknown } | null | undefined)?.stream)
      if (!this.#isStreaming) {
        this.#open = nothingOpen()
        this.#isBegun = encoding === "windows-1252" || this.#ignoreBOM
      }
      this.#isStreaming = streams
      const open = this.#open
      const count = typedArrayByteLength(bytes)
      const sink = new UnitSink()
      const emit = (scalar: number): void => {
        if (this.#isBegun || scalar !== 0xfeff) sink.put(scalar)
        this.#isBegun = true
      }
      const fault = (): void => {
        if (this.#fatal) {
          this.#open = nothingOpen()
          throw invalidData(encoding)
        }
        emit(replacement)
      }
      if (encoding === "utf-8") decodeUtf8Bytes(bytes, count, open, emit, fault)
      else if (encoding === "utf-16le") decodeUtf16Bytes(bytes, count, open, emit, fault)
      else {
        for (let at = 0; at < count; at++) {
          const byte = bytes[at]!
          emit(byte >= 0x80 && byte <= 0x9f ? windows1252[byte - 0x80]! : byte)
        }
      }
      if (!streams && (open[1] !== 0 || (encoding === "utf-16le" && open[0] !== 0))) {
        this.#open = nothingOpen()
        fault()
      }
      return sink.finish()
    }

    static {
      registerRealmClass(
        "TextDecoder",
        TextDecoder,
        ["encoding", "fatal", "ignoreBOM", "open", "isBegun", "isStreaming"],
        (object, index) => {
          const it = object as TextDecoder
          switch (index) {
            case 0:
              return it.#encoding
            case 1:
              return it.#fatal
            case 2:
              return it.#ignoreBOM
            case 3:
              return it.#open
            case 4:
              return it.#isBegun
            default:
              return it.#isStreaming
          }
        },
        (object, index, value) => {
          const it = object as TextDecoder
          if (index === 0) it.#encoding = value as string
          else if (index === 1) it.#fatal = value as boolean
          else if (index === 2) it.#ignoreBOM = value as boolean
          else if (index === 3) it.#open = value as Pending
          else if (index === 4) it.#isBegun = value as boolean
          else it.#isStreaming = value as boolean
        },
        (object) => #encoding in object,
        (object) => `TextDecoder { encoding: '${(object as TextDecoder).#encoding}' }`,
      )
    }
  }
  tagPrototype(TextEncoder.prototype, "TextEncoder")
  tagPrototype(TextDecoder.prototype, "TextDecoder")

  return withoutPrototype({ TextEncoder, TextDecoder })
}
