// From the bytes of a server to its messages, however they are cut: `Content-Length` headers as the server writes them.
//
// A server's stream is broken for good when it is broken once, since nothing but it writes there: what is no frame throws.
//
//   Content-Length: 16\r\n\r\n{"jsonrpc":"2.0"

/** Bytes of one message; the server's own limit is 32 MiB for what it reads, and an answer may hold the output of several evals. */
const messageBytesMax = 256 * 1024 * 1024
const headerBytesMax = 4 * 1024

export class FrameDecoder {
  readonly #decoder = new TextDecoder("utf-8", { fatal: true })
  #chunks: Uint8Array[] = []
  #held = 0
  /** Bytes of the body that is awaited; none while its header is. */
  #length: number | undefined

  /** Takes bytes; gives the messages that are whole now. Throws when the stream holds anything but frames. */
  push(bytes: Uint8Array): string[] {
    this.#chunks.push(bytes)
    this.#held += bytes.length
    const messages: string[] = []
    for (;;) {
      if (this.#length === undefined && !this.#readHeader()) return messages
      if (this.#held < this.#length!) return messages
      const all = this.#joined()
      messages.push(this.#decoder.decode(all.subarray(0, this.#length)))
      this.#keep(all.subarray(this.#length))
      this.#length = undefined
    }
  }

  #readHeader(): boolean {
    if (this.#held === 0) return false
    const all = this.#joined()
    const text = String.fromCharCode(...all.subarray(0, headerBytesMax))
    const end = text.indexOf("\r\n\r\n")
    if (end < 0) {
      if (all.length < headerBytesMax) return false
      throw new Error(`The server sent something that is no message: ${JSON.stringify(text.slice(0, 100))}`)
    }
    const length = /^content-length: *(\d+)$/im.exec(text.slice(0, end))?.[1]
    if (length === undefined || Number(length) > messageBytesMax) {
      throw new Error(`The server sent something that is no message: ${JSON.stringify(text.slice(0, 100))}`)
    }
    this.#length = Number(length)
    this.#keep(all.subarray(end + 4))
    return true
  }

  #joined(): Uint8Array {
    if (this.#chunks.length === 1) return this.#chunks[0]!
    const all = new Uint8Array(this.#held)
    let at = 0
    for (const chunk of this.#chunks) {
      all.set(chunk, at)
      at += chunk.length
    }
    this.#chunks = [all]
    return all
  }

  #keep(rest: Uint8Array): void {
    this.#chunks = rest.length === 0 ? [] : [rest]
    this.#held = rest.length
  }
}

export function frameOf(message: string): string {
  return `Content-Length: ${new TextEncoder().encode(message).length}\r\n\r\n${message}`
}
