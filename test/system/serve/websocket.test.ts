// A nacre served over WebSocket, with real sockets: who gets in, what is bounded, and what a broken socket loses (nothing).
// oxlint-disable typescript/no-unsafe-type-assertion, typescript/no-explicit-any -- answers are JSON, whose shape is what the tests check
import { connect as connectTcp } from "node:net"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { WebSocket } from "ws"
import type { ClientOptions } from "ws"
import { serve } from "nacre/serve"
import type { ServeOptions, Served } from "nacre/serve"
import { gate, until } from "../../until.ts"
import { NacreProcess } from "../nacre-process.ts"
import { NacreUnderTest } from "../nacre-under-test.ts"

const token = "correct-horse-battery"
const under = new NacreUnderTest()
let served: Served | undefined

beforeAll(() =>
  under.start({
    hosts: { min: 1 },
    tools: {
      // A tool whose work is done elsewhere: by someone who is told the eval that waits.
      outside: async (_args, { session, evalId }) => outside({ session, evalId }),
    },
  }),
)
let outside: (call: { session: string; evalId: string }) => Promise<unknown> = async () => undefined

afterEach(async () => {
  await served?.stop()
  served = undefined
})
afterAll(() => under.nacre.stop())

async function start(options: Partial<ServeOptions> = {}): Promise<Served> {
  served = await serve(under.nacre, { token, ...options })
  return served
}

interface Message {
  id?: unknown
  method?: string
  params?: any
  result?: any
  error?: { code: number; message: string; data: { kind: string } }
}

class Client {
  readonly messages: Message[] = []
  readonly socket: WebSocket
  readonly opened: Promise<void>
  readonly closed: Promise<number>
  /** The status that it was refused with. */
  status: number | undefined
  #id = 0

  constructor(url: string, { protocols = ["nacre.v1"], ...options }: ClientOptions & { protocols?: string[] } = {}) {
    this.socket = new WebSocket(url, protocols, { headers: { authorization: `Bearer ${token}` }, ...options })
    this.socket.on("error", () => {})
    this.socket.on("unexpected-response", (_request, response) => {
      this.status = response.statusCode
      response.destroy()
      this.socket.terminate()
    })
    this.socket.on("message", (data: Buffer) => void this.messages.push(JSON.parse(data.toString()) as Message))
    this.closed = new Promise((resolve) => this.socket.on("close", resolve))
    this.opened = new Promise((resolve) => this.socket.on("open", resolve))
  }

  send(method: string, params: object = {}): number {
    const id = ++this.#id
    this.socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }))
    return id
  }

  async answer(id: unknown): Promise<Message> {
    await until(`an answer to ${String(id)}`, () => this.messages.some((it) => it.id === id))
    return this.messages.find((it) => it.id === id)!
  }

  async ask(method: string, params: object = {}): Promise<any> {
    await this.opened
    const { result, error } = await this.answer(this.send(method, params))
    if (error !== undefined) throw Object.assign(new Error(error.message), { kind: error.data.kind })
    return result
  }
}

async function client(
  params: object = {},
  options: ClientOptions = {},
): Promise<Client & { readonly connection: string }> {
  const it = new Client(served!.url, options)
  const { connection } = await it.ask("initialize", params)
  return Object.assign(it, { connection: connection as string })
}

describe("the door", () => {
  test.each<[string, ConstructorParameters<typeof Client>[1], string, number]>([
    ["no token", { headers: {} }, "", 401],
    ["a wrong token", { headers: { authorization: "Bearer correct-horse-batterx" } }, "", 401],
    ["a part of the token", { headers: { authorization: "Bearer correct" } }, "", 401],
    ["a wrong token as subprotocol", { headers: {}, protocols: ["nacre.v1", "nacre.token.wrong"] }, "", 401],
    ["an origin that was not named", { origin: "https://evil.example" }, "", 403],
    ["a page opened from a file", { origin: "null" }, "", 403],
    ["another path", {}, "/other", 404],
  ])("stays closed: %s", async (_what, options, path, status) => {
    await start({ origins: ["https://notes.example"] })
    const it = new Client(`${served!.url}${path}`, options)
    await it.closed
    expect(it.status).toBe(status)
    expect(served!.clients).toBe(0)
  })

  test.each<[string, ConstructorParameters<typeof Client>[1]]>([
    ["a token in a header", {}],
    ["a token as subprotocol", { headers: {}, protocols: ["nacre.v1", `nacre.token.${token}`] }],
    ["an origin that was named", { origin: "https://notes.example" }],
  ])("opens for %s", async (_what, options) => {
    await start({ origins: ["https://notes.example"] })
    const it = new Client(served!.url, options)
    expect(await it.ask("initialize")).toMatchObject({ protocolVersion: 1 })
    expect(it.socket.protocol).toBe("nacre.v1")
    expect((await it.ask("eval", { code: "6 * 7" })).value.data).toBe(42)
    it.socket.close()
    await until("it is gone", () => served!.clients === 0)
  })

  test("answers what is no WebSocket with a hint", async () => {
    await start()
    const answer = await fetch(served!.url.replace("ws:", "http:"))
    expect(answer.status).toBe(426)
    await answer.text()
  })

  test.each<[string, Partial<ServeOptions>, RegExp]>([
    ["a short token", { token: "short" }, /token of serve must be at least 16/],
    ["an unknown option", { tokens: "a" } as never, /Unknown option serve.tokens/],
    ["a port that is none", { port: 70_000 }, /port of serve/],
    ["a limit of nothing", { clientsMax: 0 }, /clientsMax of serve/],
  ])("is not opened with %s", async (_what, options, message) => {
    await expect(start(options)).rejects.toThrow(message)
  })

  test("tells that the port is taken", async () => {
    await start()
    const port = Number(new URL(served!.url).port)
    await expect(serve(under.nacre, { token, port })).rejects.toThrow("EADDRINUSE")
  })
})

describe("hostile clients", () => {
  test("is refused above the limit, and admitted when one has gone", async () => {
    await start({ clientsMax: 2 })
    const [first] = [await client(), await client()]
    const third = new Client(served!.url)
    await third.closed
    expect(third.status).toBe(503)
    first.socket.close()
    await first.closed
    await until("there is room", () => served!.clients === 1)
    await client()
  })

  test("a frame above the limit ends its socket and nothing else", async () => {
    await start({ graceMs: 1 })
    const other = await client()
    const huge = await client()
    huge.socket.send("x".repeat(33 * 1024 * 1024))
    expect(await huge.closed).toBe(1009)
    expect((await other.ask("eval", { code: "1" })).status).toBe("ok")
  })

  test("messages that are none are answered", async () => {
    await start()
    const it = await client()
    it.socket.send("{")
    it.socket.send(Buffer.from("{}"))
    it.socket.send("[]")
    await until("three answers", () => it.messages.filter((each) => each.id === null).length === 3)
    expect(it.messages.filter((each) => each.id === null).map((each) => each.error!.data.kind)).toEqual([
      "parse_failed",
      "invalid_request",
      "invalid_request",
    ])
    expect((await it.ask("eval", { code: "1" })).status).toBe("ok")
  })

  test("one that never says initialize is sent away", async () => {
    await start({ initializeMs: 50 })
    const it = new Client(served!.url)
    expect(await it.closed).toBe(4001)
    await until("it is forgotten", () => served!.clients === 0)
  })

  test("one that is half open is found by its silence, and a quiet one stays", async () => {
    await start({ pingMs: 200, graceMs: 1 })
    const quiet = await client()
    const { hostname, port } = new URL(served!.url)
    // A socket that upgrades, initializes, and then never reads or answers again.
    const deaf = connectTcp({ host: hostname, port: Number(port) })
    const key = Buffer.alloc(16).toString("base64")
    deaf.write(
      `GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    )
    const text = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"initialize"}')
    deaf.write(Buffer.concat([Buffer.from([0x81, 0x80 | text.length, 0, 0, 0, 0]), text]))
    deaf.pause()
    await until("it came", () => served!.clients === 2)
    await until("it is gone", () => served!.clients === 1)
    expect((await quiet.ask("eval", { code: "1" })).status).toBe("ok")
    deaf.destroy()
  })

  test("opens no more sessions than it may", async () => {
    await start({ sessionsPerClientMax: 2 })
    const it = await client()
    const { session } = await it.ask("sessions/open")
    await it.ask("sessions/open")
    await expect(it.ask("sessions/open")).rejects.toMatchObject({ kind: "session_limit" })
    await it.ask("sessions/close", { session })
    await it.ask("sessions/open")
  })

  test("gets no session of a profile that was not allowed, opened or found", async () => {
    await start()
    const it = await client()
    await expect(it.ask("sessions/open", { profile: "full" })).rejects.toMatchObject({ kind: "unsupported" })
    const session = await under.nacre.open({ profile: "full", id: "powerful" })
    await expect(it.ask("eval", { session: "powerful", code: "1" })).rejects.toMatchObject({ kind: "unsupported" })
    await expect(it.ask("sessions/open", { session: "powerful" })).rejects.toMatchObject({ kind: "unsupported" })
    await expect(client({ profile: "full" })).rejects.toMatchObject({ kind: "unsupported" })
    await session.close()
  })

  test("one that does not read loses notifications, is told how many, and gets every answer", async () => {
    await start()
    const it = await client()
    it.socket.pause()
    // Far more than the buffers of both ends hold, in chunks of which each is one notification.
    const code = "for (let i = 0; i < 200; i++) console.log('x'.repeat(1000)); 'end'"
    const asked = Array.from({ length: 60 }, () => it.send("eval", { code }))
    const bob = await client()
    const session = under.nacre.sessions().find(({ isIdle }) => !isIdle)!
    // Queued behind all of them.
    await bob.ask("eval", { session: session.id, code: "1" })
    it.socket.resume()
    for (const id of asked) expect((await it.answer(id)).result.value.data).toBe("end")
    await it.ask("isComplete", { code: "1" })
    const output = it.messages.filter((each) => each.method === "output").length
    const dropped = it.messages.filter((each) => each.method === "dropped").map((each) => each.params.count as number)
    const all = it.messages.flatMap((each) => (each.result?.output as unknown[] | undefined) ?? []).length
    expect(dropped.length).toBeGreaterThan(0)
    expect(output + dropped.reduce((sum, each) => sum + each, 0)).toBe(all)
  })
})

describe("several clients", () => {
  test("share a session, its queue and its events", async () => {
    await start()
    const ada = await client({ session: "shared", events: "changes" })
    const bob = await client({ session: "shared", events: "changes" })
    await ada.ask("eval", { code: "let n = 1" })
    await bob.ask("attach")
    expect((await bob.ask("eval", { code: "n += 1; n" })).value.data).toBe(2)
    await until(
      "ada hears of it",
      () => ada.messages.filter((it) => it.params?.type === "bindings.changed").length === 2,
    )
    ada.socket.close()
    await ada.closed
    expect((await bob.ask("eval", { code: "n" })).value.data).toBe(2)
    await bob.ask("sessions/close")
  })

  test("replays events since a number, and says when some are gone", async () => {
    await start()
    const ada = await client({ session: "watched", events: "changes" })
    await ada.ask("eval", { code: "let n = 1" })
    const { seq } = await ada.ask("attach")
    await ada.ask("eval", { code: "n = 2" })
    const bob = await client({ events: "changes" })
    const answer = await bob.ask("attach", { session: "watched", since: seq })
    expect(answer).toMatchObject({ isComplete: true })
    expect(bob.messages.filter((it) => it.method === "event").map((it) => it.params)).toMatchObject([
      { type: "bindings.changed", session: "watched", set: ["n"] },
    ])
    expect(await bob.ask("attach", { session: "watched", since: 1_000_000 })).toMatchObject({ isComplete: false })
    expect(await bob.ask("detach", { session: "watched" })).toEqual({ detached: true })
    await ada.ask("eval", { code: "n = 3" })
    await bob.ask("isComplete", { code: "1" })
    expect(bob.messages.filter((it) => it.method === "event")).toHaveLength(1)
    await ada.ask("sessions/close")
  })

  test("run inside of an eval that waits for a tool", async () => {
    await start()
    const ada = await client({ session: "asking" })
    const bob = await client()
    outside = async ({ session, evalId }) => {
      const outcome = await bob.ask("eval", { session, nested: evalId, code: "inner = n + 1; inner" })
      return outcome.value.data as number
    }
    const outcome = await ada.ask("eval", {
      code: "let n = 40; var inner; const got = await tools.outside(); [got, inner]",
    })
    expect(outcome.value.data).toEqual([41, 41])
    await expect(bob.ask("eval", { session: "asking", nested: outcome.evalId, code: "1" })).rejects.toMatchObject({
      kind: "eval_not_found",
    })
    await ada.ask("sessions/close")
  })
})

describe("a socket that breaks", () => {
  /** Comes back on another socket; `received` is what the client counted. */
  async function back(lost: Client & { readonly connection: string }): Promise<{ it: Client; answer: any }> {
    const it = new Client(served!.url)
    const answer = await it.ask("resume", { connection: lost.connection, received: lost.messages.length })
    return { it, answer }
  }

  test("loses nothing: evals go on, answers and output come to the next socket", async () => {
    await start()
    const lost = await client({ events: "changes" })
    await lost.ask("eval", { code: "let kept = 1" })
    const asked = lost.send("eval", {
      code: "console.log('before'); await tools.hold('socket'); console.log('after'); kept + 1",
    })
    await until(
      "it waits",
      () => under.held.has("socket") && lost.messages.some((it) => it.params?.text === "before\n"),
    )
    lost.socket.terminate()
    await lost.closed
    under.held.get("socket")!.gate.open()
    under.held.delete("socket")
    const { it, answer } = await back(lost)
    expect(answer).toMatchObject({ received: 3, missed: 0 })
    expect((await it.answer(asked)).result).toMatchObject({ status: "ok", value: { data: 2 } })
    const texts = it.messages.filter((each) => each.method === "output").map((each) => each.params.text as string)
    expect(texts).toEqual(["after\n"])
    expect(it.messages.filter((each) => each.params?.type === "bindings.changed").length).toBeLessThanOrEqual(1)
    // And it goes on as before, also over a second break.
    const again = Object.assign(it, { connection: lost.connection })
    const count = lost.messages.length + it.messages.length - 1
    it.socket.terminate()
    await it.closed
    const third = new Client(served!.url)
    await third.ask("resume", { connection: again.connection, received: count })
    expect((await third.ask("eval", { code: "kept" })).value.data).toBe(1)
  })

  test("whose server side looks alive still is taken over", async () => {
    await start()
    const stale = await client()
    await stale.ask("eval", { code: "let a = 7" })
    const { it } = await back(stale)
    expect((await it.ask("eval", { code: "a" })).value.data).toBe(7)
    expect(await stale.closed).toBe(1006)
    expect(served!.clients).toBe(1)
  })

  test("cannot have got more than it was sent, and is not taken over by who says so", async () => {
    await start({ graceMs: 12_345 })
    const lost = await client()
    expect(lost.messages[0]!.result).toMatchObject({ connection: lost.connection, graceMs: 12_345 })
    lost.socket.terminate()
    await lost.closed
    const it = new Client(served!.url)
    const { connection } = lost
    await expect(it.ask("resume", { connection, received: 2 })).rejects.toMatchObject({
      kind: "invalid_options",
      message: expect.stringMatching(/params\.received must be at most 1/) as string,
    })
    // What was refused counts on neither side, and both connections can be had still.
    expect(await it.ask("resume", { connection, received: 1 })).toMatchObject({ received: 1, missed: 0 })
    expect((await it.ask("eval", { code: "6 * 7" })).value.data).toBe(42)
    const next = await client()
    expect(next.connection).not.toBe(connection)
  })

  test("is forgiven only for the grace, then what ran is stopped", async () => {
    await start({ graceMs: 20 })
    const lost = await client()
    lost.send("eval", { code: "console.log('on'); for (;;) {}" })
    await until("it runs", () => lost.messages.some((it) => it.method === "output"))
    lost.socket.terminate()
    await until("it is forgotten", () => served!.clients === 0)
    await expect(back(lost)).rejects.toMatchObject({ kind: "connection_not_found" })
  })

  test("counts as gone at once when its client said goodbye", async () => {
    await start()
    const left = await client()
    left.socket.close(1000)
    await left.closed
    await until("it is forgotten", () => served!.clients === 0)
    await expect(back(left)).rejects.toMatchObject({ kind: "connection_not_found" })
  })

  test("says what is no longer kept", async () => {
    await start()
    const lost = await client()
    const asked = lost.send("eval", { code: "await tools.hold('flood'); 1" })
    await until("it waits", () => under.held.has("flood"))
    lost.socket.terminate()
    await lost.closed
    under.held.get("flood")!.gate.open()
    under.held.delete("flood")
    // It says that it has less than it has: the kept ones come again, none is missing.
    const { it, answer } = await back(lost)
    expect(answer.missed).toBe(0)
    await it.answer(asked)
  })

  test("refuses to resume what is unknown, or from the middle of a connection", async () => {
    await start()
    const it = await client()
    await expect(it.ask("resume", { connection: it.connection, received: 0 })).rejects.toMatchObject({
      kind: "invalid_request",
    })
    const fresh = new Client(served!.url)
    await expect(fresh.ask("resume", { connection: "con_none", received: 0 })).rejects.toMatchObject({
      kind: "connection_not_found",
    })
    expect(await fresh.ask("initialize")).toMatchObject({ protocolVersion: 1 })
  })
})

describe("the end", () => {
  test("answers what is under way and closes every socket", async () => {
    await start()
    const it = await client()
    const asked = it.send("eval", { code: "await tools.hold('stop'); 'done'" })
    await until("it waits", () => under.held.has("stop"))
    const stopping = served!.stop()
    const late = gate()
    under.held.get("stop")!.gate.open()
    under.held.delete("stop")
    late.open()
    expect((await it.answer(asked)).result.value.data).toBe("done")
    await stopping
    expect(await it.closed).toBe(1001)
    expect(served!.clients).toBe(0)
    expect((await under.nacre.open()).isClosed).toBe(false)
  })

  test("of one client is exit", async () => {
    await start()
    const it = await client()
    await it.ask("shutdown")
    it.socket.send('{"jsonrpc":"2.0","method":"exit"}')
    expect(await it.closed).toBe(1000)
    await until("it is forgotten", () => served!.clients === 0)
  })
})

describe("nacre serve", () => {
  test("lets a client load no prelude, and close no session, that a profile beyond its own is concerned by", async () => {
    const full = await under.open({ id: "beyond", profile: "full" })
    await start()
    const it = await client()
    const prelude = { name: "p", source: "export const a = 1" }
    await expect(it.ask("preludes/load", prelude)).rejects.toMatchObject({ kind: "capability_denied" })
    await expect(it.ask("preludes/remove", { name: "p" })).rejects.toMatchObject({ kind: "capability_denied" })
    await expect(it.ask("sessions/close", { session: "beyond" })).rejects.toMatchObject({ kind: "unsupported" })
    expect(full.isClosed).toBe(false)
    await full.close()
  })

  test("a client that began with an id goes on in the session that another client has opened anew", async () => {
    await start()
    const first = await client({ session: "shared-id" })
    await first.ask("eval", { code: "let x = 1" })
    const second = await client()
    await second.ask("sessions/open", { session: "shared-id", restart: true })
    await expect(first.ask("eval", { code: "x" })).rejects.toMatchObject({ kind: "session_not_found" })
    expect(await first.ask("eval", { code: "typeof x" })).toMatchObject({ value: { text: "'undefined'" } })
    const third = await client({ session: "shared-id", kind: "repl" })
    await expect(third.ask("eval", { code: "1" })).rejects.toMatchObject({ kind: "profile_conflict" })
    // And in a fresh one when it was closed, which is told once; what it closes itself it knows of.
    await second.ask("sessions/close", { session: "shared-id" })
    await expect(first.ask("eval", { code: "1" })).rejects.toMatchObject({ kind: "session_not_found" })
    expect(await first.ask("eval", { code: "2" })).toMatchObject({ value: { text: "2" } })
    await first.ask("sessions/close")
    expect(await first.ask("eval", { code: "3" })).toMatchObject({ value: { text: "3" } })
    await first.ask("sessions/close")
  })

  test("refuses a profile that it does not know", async () => {
    const command = new NacreProcess(["serve", "--port", "0", "--profile", "nope"])
    let stderr = ""
    command.child.stderr.on("data", (text: string) => (stderr += text))
    expect((await command.ended()).code).toBe(2)
    expect(stderr).toContain("--profile takes one of minimal, standard, full, not 'nope'")
  })

  test("makes a token, shows it once, serves, and ends with a signal", async () => {
    const command = new NacreProcess(["serve", "--port", "0"])
    let stderr = ""
    command.child.stderr.on("data", (text: string) => (stderr += text))
    const [url] = await command.until(/ws:\/\/127\.0\.0\.1:\d+/)
    await until("the token is shown", () => /the token is (\S+)/.test(stderr))
    const shown = /the token is (\S+)/.exec(stderr)![1]!
    const it = new Client(url, { headers: { authorization: `Bearer ${shown}` } })
    await it.ask("initialize")
    expect((await it.ask("eval", { code: "process.env" })).error).toMatchObject({ kind: "capability_denied" })
    command.child.kill("SIGTERM")
    expect(await it.closed).toBe(1001)
    expect((await command.ended()).code).toBe(143)
  })
})
