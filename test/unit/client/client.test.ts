// The client against a server of the test's, which ends channels, refuses messages and forgets as it is told.
// oxlint-disable typescript/no-unsafe-type-assertion -- messages are JSON, whose shape is what the tests check
import { describe, expect, test } from "vitest"
import type { ChannelHandlers } from "../../../runtime/client/channel.ts"
import { Client } from "../../../runtime/client/client.ts"
import type { ClientOptions, ConnectionChange } from "../../../runtime/client/client.ts"
import { ConnectionError } from "../../../runtime/client/errors.ts"
import { until } from "../../until.ts"

interface Message {
  id?: number
  method: string
  params: Record<string, unknown>
}

/** Ends a channel at messages above its own limit, which may be another than the one it tells. */
class FakeServer {
  readonly got: Message[] = []
  readonly changes: ConnectionChange[] = []
  isKilled = false
  limitTold = 1_000
  limit = 1_000
  /** Messages that it got on the connection, but for `resume`. */
  received = 0
  handlers: ChannelHandlers | undefined
  answers = true
  graceMs: number | undefined
  /** `gone`: it cannot be reached. `silent`: it never answers. */
  state: "up" | "gone" | "silent" = "up"

  connect(canResume: boolean, options: ClientOptions = {}): Promise<Client> {
    const open = async (handlers: ChannelHandlers) => {
      if (this.state === "gone") throw new ConnectionError("refused", "nobody is there")
      this.handlers = handlers
      return {
        send: (text: string) => queueMicrotask(() => this.onMessage(text, handlers, canResume)),
        close: async () => handlers.onEnd("it was closed"),
        kill: () => {
          this.isKilled = true
          handlers.onEnd("it was killed")
        },
      }
    }
    return new Client(open, canResume, { ...options, onConnection: (it) => void this.changes.push(it) }).connect()
  }

  onMessage(text: string, handlers: ChannelHandlers, canResume: boolean): void {
    if (handlers !== this.handlers || this.state === "silent") return
    const message = JSON.parse(text) as Message
    if (text.length > this.limit) {
      if (!canResume) return this.send({ id: null, error: tooLarge })
      this.handlers = undefined
      return handlers.onEnd("closed with 1009", true)
    }
    if (message.method !== "resume") this.received += 1
    this.got.push(message)
    const { id, method } = message
    if (method === "initialize") {
      const limits = { messageBytesMax: this.limitTold }
      this.send({ id, result: { limits, ...(canResume ? { connection: "con_1", graceMs: this.graceMs } : {}) } })
    } else if (method === "resume") this.send({ id, result: { received: this.received, missed: 0, inFlight: [] } })
    else if (this.answers && id !== undefined) this.send({ id, result: message.params["code"] })
  }

  send(message: object): void {
    this.handlers!.onMessage(JSON.stringify({ jsonrpc: "2.0", ...message }))
  }

  codes(): unknown[] {
    return this.got.filter(({ method }) => method === "eval").map(({ params }) => params["code"])
  }
}

const tooLarge = { code: -32016, message: "above the limit", data: { kind: "message_too_large", retry: "never" } }
const huge = "x".repeat(2_000)

describe.each([
  ["a socket", true],
  ["a process", false],
])("on %s", (_what, canResume) => {
  test("a message above the limit that the server told is refused, and nothing of it is sent", async () => {
    const server = new FakeServer()
    await using client = await server.connect(canResume)
    const refused = { name: "RequestError", kind: "message_too_large", code: -32016 }
    await expect(client.request("eval", { code: huge }, { timeoutMs: 1 })).rejects.toMatchObject(refused)
    // It is bytes that count.
    await expect(client.request("eval", { code: "é".repeat(600) })).rejects.toMatchObject(refused)
    expect(await client.request("eval", { code: "x".repeat(600) })).toHaveLength(600)
    expect(server.codes()).toEqual(["x".repeat(600)])
    expect(server.isKilled).toBe(false)
    expect(server.changes).toEqual([])
  })
})

describe("a server that takes less than it told", () => {
  test("ends a socket, which is opened again without that message, and goes on with the others", async () => {
    const server = new FakeServer()
    server.limitTold = 10_000
    await using client = await server.connect(true)
    const asked = ["a", huge, "b", huge, "c"].map((code) =>
      client.request("eval", { code }).catch((error: unknown) => (error as { kind: string }).kind),
    )
    expect(await Promise.all(asked)).toEqual(["a", "message_too_large", "b", "message_too_large", "c"])
    expect(server.codes()).toEqual(["a", "b", "c"])
    // Both sides count alike from there on: what is sent while the socket is broken comes once.
    server.answers = false
    const held = client.request("eval", { code: "held" })
    await until("it came", () => server.codes().includes("held"))
    server.handlers!.onEnd("cut")
    await until("it is back", () => server.changes.filter(({ type }) => type === "resumed").length === 3)
    server.send({ id: server.got.find(({ params }) => params["code"] === "held")!.id, result: "once" })
    expect(await held).toBe("once")
    expect(server.codes()).toEqual(["a", "b", "c", "held"])
  })

  test("answers without an id on stdio, which is the answer to the largest, and nothing is killed", async () => {
    const server = new FakeServer()
    server.limitTold = 10_000
    server.answers = false
    await using client = await server.connect(false, { hungMs: 1 })
    const small = client.request("eval", { code: "small" })
    const large = client.request("eval", { code: huge }, { timeoutMs: 1_000 })
    await expect(large).rejects.toMatchObject({ name: "RequestError", kind: "message_too_large" })
    server.send({ id: server.got.at(-1)!.id, result: "kept" })
    expect(await small).toBe("kept")
    expect(server.isKilled).toBe(false)
    expect(server.changes).toEqual([])
  })

  test("is told where no request is known for the message", async () => {
    const server = new FakeServer()
    await using _client = await server.connect(false)
    server.send({ id: null, error: { code: -32700, message: "torn", data: { kind: "parse_failed", retry: "never" } } })
    server.send({ id: null, error: tooLarge })
    await until("both are told", () => server.changes.length === 2)
    expect(server.changes).toMatchObject([
      { type: "refused", error: { kind: "parse_failed", message: "torn" } },
      { type: "refused", error: { kind: "message_too_large" } },
    ])
  })
})

describe.each(["gone", "silent"] as const)("a server that is %s", (state) => {
  test.each<[string, number | undefined, number | undefined]>([
    ["its grace", 40, undefined],
    ["what the client was told", 600_000, 40],
  ])("is given up after %s, and the next request begins anew", async (_what, graceMs, reconnectMs) => {
    const server = new FakeServer()
    server.graceMs = graceMs
    server.answers = false
    await using client = await server.connect(true, reconnectMs === undefined ? {} : { reconnectMs })
    const asked = client.request("eval", { code: "a" })
    await until("it came", () => server.codes().length === 1)
    server.state = state
    server.handlers!.onEnd("cut")
    await expect(asked).rejects.toMatchObject({ name: "ConnectionError", kind: "connection_lost" })
    server.state = "up"
    server.answers = true
    expect(await client.request("eval", { code: "b" })).toBe("b")
  })
})
