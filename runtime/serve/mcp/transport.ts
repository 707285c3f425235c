// MCP messages on a process's own streams: one JSON value per line, as MCP has it.
//
// The SDK's transport loses a line that is no message without a word, closes at 10 MB, and begins two requests of one id. This one answers
// each of them with an error, and goes on. Requests that wait for an answer are counted, and so are unwritten bytes: a client that
// does not read is not read from.
import type { Readable, Writable } from "node:stream"
import {
  ProtocolErrorCode,
  isJSONRPCErrorResponse,
  isJSONRPCNotification,
  isJSONRPCRequest,
} from "@modelcontextprotocol/server"
import { isJSONRPCResultResponse, parseJSONRPCMessage } from "@modelcontextprotocol/server"
import type { JSONRPCMessage, RequestId, Transport } from "@modelcontextprotocol/server"
import type { NacreError } from "../../errors.ts"
import { FrameReader, frameOf } from "../framing.ts"
import { requestsInFlightMax } from "../rpc.ts"
import { isRecord } from "../schema.ts"

/** Unwritten bytes above which what can be left out is left out. */
const congestedBytes = 1024 * 1024
/** Unwritten bytes above which no more requests are read until the client has read. */
const pauseBytes = 16 * 1024 * 1024

export class LineTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void
  onclose?: () => void
  onerror?: (error: Error) => void
  /** Resolves when no more will come in or can go out. */
  readonly ended: Promise<"input" | "reader">
  readonly #input: Readable
  readonly #output: Writable
  readonly #reader: FrameReader
  readonly #unanswered = new Set<RequestId>()
  #end!: (by: "input" | "reader") => void
  #isClosed = false

  constructor(input: Readable, output: Writable) {
    this.#input = input
    this.#output = output
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    this.#reader = new FrameReader({
      onMessage: (text) => this.#receive(text),
      onProblem: (error) => this.#refuse(error.code, error.message),
    })
  }

  /** The client reads slowly. */
  get isCongested(): boolean {
    return this.#output.writableLength > congestedBytes
  }

  async start(): Promise<void> {
    this.#input.on("data", (chunk: Buffer) => this.#reader.push(chunk))
    this.#input.once("end", () => {
      this.#reader.end()
      this.#end("input")
    })
    this.#input.once("error", () => this.#end("input"))
    this.#output.on("error", () => this.#end("reader"))
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if ((isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message)) && message.id !== undefined) {
      this.#unanswered.delete(message.id)
    }
    this.#write(message)
  }

  /** Resolves when everything sent so far is with the operating system, or cannot be. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#input.removeAllListeners("data")
    this.#input.destroy()
    if (!this.#output.destroyed) await new Promise<void>((resolve) => void this.#output.write("", () => resolve()))
    this.onclose?.()
  }

  #receive(text: string): void {
    let raw: unknown
    try {
      raw = JSON.parse(text)
    } catch (error) {
      return this.#refuse(ProtocolErrorCode.ParseError, `A message is not valid JSON: ${(error as Error).message}.`)
    }
    const id = isRecord(raw) && (typeof raw["id"] === "string" || typeof raw["id"] === "number") ? raw["id"] : undefined
    let message: JSONRPCMessage
    try {
      message = parseJSONRPCMessage(raw)
    } catch {
      const what = Array.isArray(raw)
        ? "A batch: MCP has none; send one message per line."
        : "A message is no JSON-RPC 2.0."
      return this.#refuse(ProtocolErrorCode.InvalidRequest, what, id)
    }
    if (isJSONRPCRequest(message)) {
      if (this.#unanswered.has(message.id)) {
        // An answer with this id would be taken for the one that the first request waits for.
        return this.#refuse(
          ProtocolErrorCode.InvalidRequest,
          `A request with id ${JSON.stringify(message.id)} is under way.`,
        )
      }
      if (this.#unanswered.size >= requestsInFlightMax) {
        const what = `${requestsInFlightMax} requests are under way, the maximum; wait for answers.`
        return this.#refuse(ProtocolErrorCode.InternalError, what, message.id)
      }
      this.#unanswered.add(message.id)
    } else if (isJSONRPCNotification(message) && message.method === "notifications/cancelled") {
      // Nobody answers what was cancelled.
      const cancelled = message.params?.["requestId"]
      if (typeof cancelled === "string" || typeof cancelled === "number") this.#unanswered.delete(cancelled)
    }
    this.onmessage?.(message)
  }

  /** An id that cannot be read is left out: MCP has no null. */
  #refuse(code: NacreError["code"], message: string, id?: RequestId): void {
    this.#write({ jsonrpc: "2.0", ...(id !== undefined && { id }), error: { code, message } })
  }

  #write(message: unknown): void {
    if (this.#isClosed) return
    this.#output.write(frameOf(JSON.stringify(message), this.#reader.framing ?? "lines"))
    if (this.#output.writableLength <= pauseBytes || this.#input.isPaused()) return
    this.#input.pause()
    this.#output.once("drain", () => this.#input.resume())
  }
}
