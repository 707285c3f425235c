// The way of one client's messages, which outlives the socket that carries them.
//
// Messages are numbered by counting, on both sides. Those that the client may not have are kept, within a bound; when it comes back on another
// socket it says how many it got, and is sent the rest. A pong proves what has arrived, since it answers a ping that was sent behind it: so
// nothing but WebSocket's own frames is needed to forget what is kept.
import type { Transport } from "./rpc.ts"

/** What a link needs of a socket. */
export interface Socket {
  /** Bytes that the reader has not taken. */
  readonly bufferedAmount: number
  send(text: string, onTaken: () => void): void
  ping(data: string): void
  pause(): void
  resume(): void
  /** Ends it at once. */
  terminate(): void
}

/** Unread bytes above which notifications are left out. */
export const congestedBytes = 1024 * 1024
/** Unread bytes above which no more requests are read until the client has read. */
export const pauseBytes = 16 * 1024 * 1024
/** Unread bytes above which the client counts as gone: as much as a few of the largest answers. */
export const unreadBytesMax = 128 * 1024 * 1024
/** Bytes of messages kept for a client that may come back. */
export const keptBytesMax = 4 * 1024 * 1024
/** Messages kept, however small. */
const keptMax = 10_000

export class Link implements Transport {
  #socket: Socket | undefined
  #kept: string[] = []
  #keptBytes = 0
  #sent = 0
  /** How many of those sent are no longer kept. */
  #forgotten = 0
  #isPaused = false
  /** Messages that the client has sent so far. */
  received = 0
  /** Called once, when the next message has been handed to the socket. */
  onNextSent: (() => void) | undefined

  constructor(socket: Socket) {
    this.#socket = socket
  }

  get socket(): Socket | undefined {
    return this.#socket
  }

  /** Messages sent so far. */
  get sent(): number {
    return this.#sent
  }

  get isCongested(): boolean {
    // Without a socket, answers to come need the room that is left.
    if (this.#socket === undefined) return this.#keptBytes > keptBytesMax / 2 || this.#kept.length > keptMax / 2
    return this.#socket.bufferedAmount > congestedBytes
  }

  send(message: string): void {
    this.#sent += 1
    this.#kept.push(message)
    this.#keptBytes += message.length
    this.#forgetTo(this.#forgotten + Math.max(0, this.#kept.length - keptMax))
    while (this.#keptBytes > keptBytesMax && this.#kept.length > 1) this.#forgetTo(this.#forgotten + 1)
    this.#put(message)
    const { onNextSent } = this
    this.onNextSent = undefined
    onNextSent?.()
  }

  /** The last message each way is none of those that are numbered: a `resume` that was refused, and its answer. */
  uncountLast(): void {
    this.received -= 1
    this.onNextSent = () => {
      this.#sent -= 1
      this.#keptBytes -= this.#kept.pop()?.length ?? 0
    }
  }

  /** Asks the client for a sign of life, which also tells what it has got. */
  ping(): void {
    this.#socket?.ping(String(this.#sent))
  }

  /** The client has got every message up to this number. */
  onPong(data: string): void {
    const number = Number(data)
    if (Number.isSafeInteger(number) && number <= this.#sent) this.#forgetTo(number)
  }

  /** Goes on without a socket, until `attach`. Gives the one it had. */
  detach(): Socket | undefined {
    const socket = this.#socket
    this.#socket = undefined
    this.#isPaused = false
    return socket
  }

  /** How many messages after that number are no longer kept. */
  missedSince(number: number): number {
    return Math.max(0, this.#forgotten - number)
  }

  /** Goes on with this socket: sends it what is kept of the messages after that number. */
  attach(socket: Socket, number: number): void {
    this.#socket = socket
    for (const message of this.#kept.slice(Math.max(0, number - this.#forgotten))) this.#put(message)
  }

  #put(message: string): void {
    const socket = this.#socket
    if (socket === undefined) return
    socket.send(message, () => {
      if (!this.#isPaused || this.#socket !== socket || socket.bufferedAmount > congestedBytes) return
      this.#isPaused = false
      socket.resume()
    })
    if (socket.bufferedAmount > unreadBytesMax) socket.terminate()
    else if (socket.bufferedAmount > pauseBytes && !this.#isPaused) {
      this.#isPaused = true
      socket.pause()
    }
  }

  #forgetTo(number: number): void {
    const count = Math.min(number - this.#forgotten, this.#kept.length)
    if (count <= 0) return
    for (const message of this.#kept.splice(0, count)) this.#keptBytes -= message.length
    this.#forgotten += count
  }
}
