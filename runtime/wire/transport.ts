// One end of a connection that carries messages: packs, frames, sends in batches, and hands on what the peer says once it is checked.
//
// Messages sent in one turn leave in one write: at a thousand evals in flight the system calls cost more than the evals. A peer that
// sends something outside the vocabulary, or more than the limit, is cut off: `onClose` gets the reason, and whoever owns the peer
// (a host's supervisor) decides what that means.
import type { Duplex } from "node:stream"
import { Packr } from "msgpackr"
import type { Outbox } from "./outbox.ts"
import { FrameError, FrameReader, frameHeaderBytes, sealFrame } from "./frame.ts"
import { decoder, encodeMessage } from "./schema.ts"
import type { FieldsOf, MessageOf, MessageType, Vocabulary } from "./schema.ts"

// Plain maps and arrays only: no records (they keep state between messages), no extensions. Bytes are copied out of the read
// buffer, since a ten-byte value would otherwise keep a 64 KiB chunk alive.
const packr = new Packr({ useRecords: false, copyBuffers: true, encodeUndefinedAsNil: false })
const reserveStartSpace = 2048
const nothing: Uint8Array = new Uint8Array(0)

/** Bytes that may wait for a peer that does not read. Above it the connection is cut: the peer is stuck or gone. */
const waitingBytesMax = 512 * 1024 * 1024

export interface LinkHandlers<In extends Vocabulary> {
  onMessage(message: MessageOf<In>): void
  /** What had arrived together has been handed on: whoever would rather see all of it first can begin now. */
  onRead?(): void
  /** Called once, after the last message; `reason` is undefined when the peer closed in order. */
  onClose(reason: Error | undefined): void
}

/** A connection on which messages of `Out` are sent and messages of `In` arrive. */
export class Link<Out extends Vocabulary, In extends Vocabulary> {
  readonly #stream: Duplex
  readonly #waiting: Uint8Array[] = []
  readonly #out: Out
  readonly #outbox: Outbox | undefined
  readonly #receive: (payload: Uint8Array) => void
  #isTickDue = false
  #isTurnDue = false
  #isClosed = false
  #closeReason: Error | undefined

  /** `outbox`: where messages of `sendSoon` wait. */
  constructor(stream: Duplex, vocabularies: { out: Out; in: In }, handlers: LinkHandlers<In>, outbox?: Outbox) {
    this.#stream = stream
    this.#out = vocabularies.out
    this.#outbox = outbox
    this.#outliveFailedWrites()
    const decode = decoder(vocabularies.in)
    const cutOff = (error: unknown): void => {
      this.#closeReason ??= error as Error
      this.#isClosed = true
      stream.destroy()
    }
    this.#receive = (payload) => {
      let message: MessageOf<In>
      try {
        message = decode(packr.unpack(payload))
      } catch (error) {
        return cutOff(error)
      }
      // What the handler throws is its owner's fault and not the peer's: it goes up.
      handlers.onMessage(message)
    }
    const reader = new FrameReader((payload) => {
      if (!this.#isClosed) this.#receive(payload)
    })
    stream.on("data", (chunk: Uint8Array) => {
      if (this.#isClosed) return
      try {
        reader.push(chunk)
      } catch (error) {
        if (!(error instanceof FrameError)) throw error
        cutOff(error)
      }
      handlers.onRead?.()
    })
    stream.on("error", (error) => {
      this.#closeReason ??= error
    })
    stream.on("close", () => {
      const wasClosed = this.#isClosed
      this.#isClosed = true
      if (this.#waiting.length > 0) this.#closeReason ??= unsentError()
      if (reader.isTorn && !wasClosed) this.#closeReason ??= new Error("The connection closed inside a frame.")
      handlers.onClose(this.#closeReason)
    })
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /**
   * Sends one message; on a closed connection it is dropped, since its owner hears of the close anyway. One that is not `urgent` leaves at the end
   * of this turn of the loop, when everything that has arrived meanwhile has been answered too, or with the next urgent one.
   */
  send<K extends keyof Out>(type: K, fields: FieldsOf<Out[K]>, isUrgent = true): void {
    if (this.#isClosed) return
    this.#emptyOutbox()
    this.#waiting.push(this.#frame(type, fields))
    if (isUrgent) {
      if (this.#isTickDue) return
      this.#isTickDue = true
      process.nextTick(this.#onTick)
    } else if (!this.#isTickDue && !this.#isTurnDue) {
      this.#isTurnDue = true
      setImmediate(this.#onTurn)
    }
  }

  readonly #onTick = (): void => {
    this.#isTickDue = false
    this.flush()
  }

  readonly #onTurn = (): void => {
    this.#isTurnDue = false
    this.flush()
  }

  /**
   * Sends one message in company: it leaves with the next `send` or `flush`. The outbox's other side sends it when that does not come.
   */
  sendSoon<K extends keyof Out>(type: K, fields: FieldsOf<Out[K]>): void {
    if (this.#isClosed) return
    const frame = this.#frame(type, fields)
    if (this.#waiting.length === 0 && this.#outbox?.put(frame)) return
    this.#emptyOutbox()
    this.#waiting.push(frame)
  }

  /** How many messages wait for company. */
  get soonCount(): number {
    return this.#outbox?.count ?? 0
  }

  /** Whether anything waits that only this side can send. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0 || this.#stream.writableLength > 0
  }

  /** Takes whole frames that came another way, also after the connection has closed. */
  receive(frames: Uint8Array): void {
    new FrameReader(this.#receive).push(frames)
  }

  /**
   * A failed write says that the peer is gone, not that all it said has been read: only the end of reading closes the stream. Node
   * destroys a socket at the first error of either direction, and with it a host's last words while this process was busy.
   */
  #outliveFailedWrites(): void {
    const stream = this.#stream
    const forgiving = (done: (error?: Error | null) => void) => (error?: Error | null) => {
      if (error == null) return done()
      this.#closeReason ??= error
      done(stream.readableEnded ? error : null)
    }
    const write = stream._write.bind(stream)
    stream._write = (chunk, encoding, done) => write(chunk, encoding, forgiving(done))
    const writev = stream._writev?.bind(stream)
    if (writev !== undefined) stream._writev = (chunks, done) => writev(chunks, forgiving(done))
  }

  #frame<K extends keyof Out>(type: K, fields: FieldsOf<Out[K]>): Uint8Array {
    const packed = encodeMessage(this.#out[type] as MessageType, fields as Record<string, unknown>)
    return sealFrame(packr.pack(packed, reserveStartSpace + frameHeaderBytes))
  }

  #emptyOutbox(): void {
    if (this.soonCount === 0) return
    const taken = this.#outbox?.take()
    if (taken !== undefined) this.#waiting.push(taken)
  }

  /** Sends what waits; true when the kernel has all of it. When it has not yet, `then` is called once it has. False once closed. */
  flushed(then: () => void): boolean {
    this.flush()
    if (this.#isClosed) return false
    if (this.#stream.writableLength === 0) return true
    // "drain" comes only above the high-water mark; the callback of a write always comes, after those of all before it.
    this.#stream.write(nothing, () => then())
    return false
  }

  flush(): void {
    this.#emptyOutbox()
    const waiting = this.#waiting
    if (waiting.length === 0 || this.#isClosed) return
    // The peer has ended its side and the close is on its way; a write now would fail without a word.
    if (!this.#stream.writable) this.#closeReason ??= unsentError()
    this.#stream.cork()
    for (const buffer of waiting) this.#stream.write(buffer)
    this.#stream.uncork()
    waiting.length = 0
    if (this.#stream.writableLength > waitingBytesMax) {
      this.#closeReason = new Error(`The peer left ${this.#stream.writableLength} bytes unread.`)
      this.#stream.destroy()
    }
  }

  /** Sends what waits and closes; messages that arrive afterwards are dropped. */
  close(): void {
    this.flush()
    this.#isClosed = true
    this.#stream.end()
  }

  /** Closes at once. */
  abort(): void {
    this.#isClosed = true
    this.#waiting.length = 0
    this.#stream.destroy()
  }
}

/** As the kernel says it when it is asked: the last messages did not leave. */
function unsentError(): Error {
  return Object.assign(new Error("The peer was gone before the last messages could be sent."), { code: "EPIPE" })
}
