// From bytes to messages and back, for streams: LSP's `Content-Length` headers, or one JSON value per line.
//
// The first bytes choose: `Content-` begins a header, anything else a line. Lengths are bytes, so a character that is split across two
// chunks is whole again before it is decoded. What is malformed loses only itself: it becomes one problem, and reading goes on at
// the next header or line. Nothing is held that is above `messageBytesMax`.
//
//   Content-Length: 46\r\n\r\n{"jsonrpc":"2.0","id":1,"method":"initialize"}
import { NacreError } from "../errors.ts"

export type Framing = "headers" | "lines"

export interface FrameHandlers {
  onMessage(text: string): void
  /** Something in the stream was no message: `parse_failed` or `message_too_large`. */
  onProblem(error: NacreError): void
}

/** Bytes of one message: the largest source (4 Mi UTF-16 units) fits with its escapes. */
export const messageBytesMax = 32 * 1024 * 1024
/** Bytes of one frame's headers; the two that are known need fewer than 100. */
const headerBytesMax = 4 * 1024
const headerStart = "content-"

type Part = "headers" | "body" | "skipped body" | "garbage"

export interface FrameReaderOptions {
  bytesMax?: number
  framing?: Framing | undefined
}

export class FrameReader {
  readonly #handlers: FrameHandlers
  readonly #bytesMax: number
  #framing: Framing | undefined
  #chunks: Buffer[] = []
  #held = 0
  #part: Part = "headers"
  /** Bytes that the body still needs, or that are still skipped. */
  #missing = 0
  /** In line framing: the rest of a line that is too long is being dropped. */
  #skipsLine = false

  /** With `framing` the first bytes do not choose. */
  constructor(handlers: FrameHandlers, { bytesMax = messageBytesMax, framing }: FrameReaderOptions = {}) {
    this.#handlers = handlers
    this.#bytesMax = bytesMax
    this.#framing = framing
  }

  /** How the peer frames its messages; `undefined` until its first bytes have come. Answers are framed alike. */
  get framing(): Framing | undefined {
    return this.#framing
  }

  push(chunk: Buffer): void {
    this.#framing ??= this.#choose(chunk)
    if (this.#framing === undefined) return
    if (this.#framing === "lines") this.#readLines(chunk)
    else this.#readFrames(chunk)
  }

  /** No more bytes will come; a message that was begun is a problem. */
  end(): void {
    if (this.#framing === undefined && this.#held > 0) {
      this.#framing = "lines"
      this.#line(this.#take())
    } else if (this.#framing === "lines") {
      if (!this.#skipsLine) this.#line(this.#take())
    } else if (this.#part === "body") {
      const whole = this.#missing
      this.#problem(`The input ended inside a message: ${this.#held} of ${whole} bytes came.`)
    } else if (this.#part === "headers" && this.#take().toString("latin1").trim() !== "") {
      this.#problem("The input ended inside the headers of a message.")
    }
    this.#take()
  }

  #choose(chunk: Buffer): Framing | undefined {
    const start = Buffer.concat([...this.#chunks, chunk.subarray(0, 64)])
      .toString("latin1")
      .trimStart()
      .toLowerCase()
    if (start.startsWith(headerStart)) return "headers"
    if (!headerStart.startsWith(start)) return "lines"
    this.#hold(chunk)
    return undefined
  }

  // Lines

  #readLines(chunk: Buffer): void {
    let from = 0
    for (;;) {
      const end = chunk.indexOf(0x0a, from)
      const part = chunk.subarray(from, end < 0 ? chunk.length : end)
      if (!this.#skipsLine) {
        this.#hold(part)
        if (this.#held > this.#bytesMax) {
          this.#take()
          this.#skipsLine = true
          this.#tooLarge()
        }
      }
      if (end < 0) return
      from = end + 1
      if (this.#skipsLine) this.#skipsLine = false
      else this.#line(this.#take())
    }
  }

  #line(bytes: Buffer): void {
    const text = this.#decode(bytes)
    if (text !== undefined && text.trim() !== "") this.#handlers.onMessage(text)
  }

  // Headers and bodies

  #readFrames(chunk: Buffer): void {
    this.#hold(chunk)
    while (this.#held > 0) {
      const before = this.#held
      const part = this.#part
      if (part === "body") this.#readBody()
      else if (part === "skipped body") this.#skipBody()
      else if (part === "garbage") this.#skipGarbage()
      else this.#readHeaders()
      if (this.#held === before && this.#part === part) return
    }
  }

  #readHeaders(): void {
    const bytes = this.#peek()
    const text = bytes.subarray(0, headerBytesMax).toString("latin1")
    const headers = text.trimStart()
    const end = /\r?\n\r?\n/.exec(headers)
    // A block that cannot become one is told at its first bad line, not when much more has come.
    if (!areHeaders(end === null ? headers : headers.slice(0, end.index))) {
      return this.#malformed("A message must begin with its Content-Length header.")
    }
    if (end === null) {
      if (bytes.length >= headerBytesMax) this.#malformed(`A message has more than ${headerBytesMax} bytes of headers.`)
      return
    }
    const length = /^content-length:[ \t]*(\d+)[ \t]*$/im.exec(headers.slice(0, end.index).replaceAll("\r", ""))?.[1]
    if (length === undefined) return this.#malformed("The headers of a message have no valid Content-Length.")
    this.#drop(text.length - headers.length + end.index + end[0].length)
    this.#missing = Number(length)
    if (this.#missing > this.#bytesMax) this.#tooLarge(this.#missing)
    this.#part = this.#missing > this.#bytesMax ? "skipped body" : "body"
    if (this.#missing === 0) this.#readBody()
  }

  #readBody(): void {
    if (this.#held < this.#missing) return
    const bytes = this.#peek().subarray(0, this.#missing)
    this.#drop(this.#missing)
    this.#part = "headers"
    this.#missing = 0
    const text = this.#decode(bytes)
    if (text !== undefined) this.#handlers.onMessage(text)
  }

  #skipBody(): void {
    const skipped = Math.min(this.#held, this.#missing)
    this.#drop(skipped)
    this.#missing -= skipped
    if (this.#missing === 0) this.#part = "headers"
  }

  /** Drops everything up to the next thing that looks like a header. */
  #skipGarbage(): void {
    const bytes = this.#peek()
    const at = bytes.toString("latin1").toLowerCase().indexOf("content-length:", 0)
    if (at >= 0) {
      this.#drop(at)
      this.#part = "headers"
      return
    }
    // The last bytes may be the beginning of one.
    this.#drop(Math.max(0, bytes.length - "content-length".length))
  }

  #malformed(what: string): void {
    this.#problem(what)
    // Past the first letter, so that the same header is not found again.
    this.#drop(1)
    this.#part = "garbage"
  }

  // Bytes

  #hold(bytes: Buffer): void {
    if (bytes.length === 0) return
    this.#chunks.push(bytes)
    this.#held += bytes.length
  }

  #peek(): Buffer {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)]
    return this.#chunks[0]!
  }

  #take(): Buffer {
    const bytes = this.#peek()
    this.#chunks = []
    this.#held = 0
    return bytes
  }

  #drop(count: number): void {
    const rest = this.#peek().subarray(count)
    this.#chunks = rest.length === 0 ? [] : [rest]
    this.#held = rest.length
  }

  #decode(bytes: Buffer): string | undefined {
    try {
      return new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    } catch {
      this.#problem("A message is not valid UTF-8.")
      return undefined
    }
  }

  #problem(what: string): void {
    this.#handlers.onProblem(new NacreError("parse_failed", what))
  }

  #tooLarge(bytes?: number): void {
    const size = bytes === undefined ? "" : ` of ${bytes} bytes`
    const what = `A message${size} is above the limit of ${this.#bytesMax} bytes; send less at once.`
    this.#handlers.onProblem(new NacreError("message_too_large", what))
  }
}

/** One message as bytes. */
export function frameOf(message: string, framing: Framing): string {
  if (framing === "lines") return `${message}\n`
  return `Content-Length: ${Buffer.byteLength(message)}\r\n\r\n${message}`
}

/** Whether each line is a header, the last one as far as it has come. */
function areHeaders(text: string): boolean {
  const lines = text.split(/\r?\n/)
  const last = lines.pop()!
  return lines.every((line) => /^[\w-]+:/.test(line)) && /^(?:[\w-]*|[\w-]+:.*)\r?$/.test(last)
}
