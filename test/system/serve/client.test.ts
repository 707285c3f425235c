// The client library against real servers: what it takes for granted, and what becomes of requests when the way breaks or a server hangs.
import { execFileSync } from "node:child_process"
import { once } from "node:events"
import { afterAll, beforeAll, describe, expect, expectTypeOf, test } from "vitest"
import { WebSocket, WebSocketServer } from "ws"
import { connectSocket, connectStdio } from "nacre/client"
import type { Client, ClientOptions, ConnectionChange, ResultOf, StdioOptions } from "nacre/client"
import { serve } from "nacre/serve"
import type { Served } from "nacre/serve"
import { until } from "../../until.ts"
import { NacreUnderTest } from "../nacre-under-test.ts"
import { Wire } from "./wire.ts"

const token = "correct-horse-battery"
const under = new NacreUnderTest()
let served: Served
beforeAll(async () => {
  await under.start({ hosts: { min: 1 } })
  served = await serve(under.nacre, { token })
})
afterAll(async () => {
  await served.stop()
  await under.nacre.stop()
})

/** The process that was started last by this one as `nacre session`. */
function newestServer(): number {
  return Number(execFileSync("pgrep", ["-n", "-P", String(process.pid), "-f", "main.js session"], { encoding: "utf8" }))
}

test("types its methods from the server's table", async () => {
  expectTypeOf<ResultOf<"eval">["status"]>().toEqualTypeOf<
    "ok" | "threw" | "invalid" | "interrupted" | "timeout" | "exited" | "crashed"
  >()
  expectTypeOf<ResultOf<"history">["records"][number]["revision"]>().toEqualTypeOf<number>()
  const check = (client: Client): void => {
    void client.request("initialize")
    // @ts-expect-error -- code is missing
    void client.request("eval")
    // @ts-expect-error -- there is no such parameter
    void client.request("eval", { source: "1" })
    // @ts-expect-error -- there is no such method
    void client.request("evaluate", { code: "1" })
  }
  expect(check).toBeDefined()
})

describe.each<[string, (options?: ClientOptions) => Promise<Client>]>([
  ["on stdio", (options) => connectStdio({ initialize: { events: "changes" }, ...options })],
  [
    "on a socket",
    (options) => connectSocket({ url: served.url, token, initialize: { events: "changes" }, ...options }),
  ],
])("%s", (_what, connect) => {
  test("evaluates, hears output and events, and tells failures apart", async () => {
    await using client = await connect()
    expect(client.server).toMatchObject({ protocolVersion: 1, positionEncoding: "utf-16" })
    const texts: string[] = []
    const stop = client.on("output", ({ text }) => void texts.push(text))
    const events: string[] = []
    client.on("event", ({ type }) => void events.push(type))
    const outcome = await client.request("eval", { code: "console.log('é𝛑'); let n = 40; n + 2" })
    expect(outcome).toMatchObject({ status: "ok", value: { data: 42 } })
    stop()
    await client.request("eval", { code: "console.log('b')" })
    expect(texts).toEqual(["é𝛑\n"])
    await until("the change was told", () => events.includes("bindings.changed"))
    expect(await client.request("submit", { remove: ["nothing"] })).toMatchObject({ status: "rejected" })
    await expect(client.request("rollback", { name: "none" })).rejects.toMatchObject({
      name: "RequestError",
      kind: "mark_not_found",
      retry: "never",
    })
  })

  test("interrupts by a signal and by a deadline, and gets the outcome all the same", async () => {
    await using client = await connect()
    const abort = new AbortController()
    client.on("output", () => abort.abort())
    const aborted = await client.request("eval", { code: "console.log('on'); for (;;) {}" }, { signal: abort.signal })
    expect(aborted.status).toBe("interrupted")
    const late = await client.request("eval", { code: "for (;;) {}" }, { timeoutMs: 50, signal: AbortSignal.abort() })
    expect(late.status).toBe("interrupted")
    const timed = await client.request("eval", { code: "for (;;) {}" }, { timeoutMs: 50 })
    expect(timed.status).toBe("interrupted")
    expect((await client.request("eval", { code: "1 + 1" })).value?.data).toBe(2)
  })

  test("refuses a message that is too large for the server, and keeps the session", async () => {
    const changes: ConnectionChange[] = []
    await using client = await connect({ onConnection: (it) => void changes.push(it) })
    await client.request("eval", { code: "let kept = 7" })
    const code = " ".repeat(33 * 1024 * 1024)
    await expect(client.request("eval", { code }, { timeoutMs: 50 })).rejects.toMatchObject({
      name: "RequestError",
      kind: "message_too_large",
    })
    expect((await client.request("eval", { code: "kept" })).value?.data).toBe(7)
    expect(changes).toEqual([])
  })

  test("fails what is under way when it is closed, and everything after", async () => {
    const client = await connect()
    const asked = client.request("eval", { code: "for (;;) {}" })
    const refused = expect(asked).rejects.toMatchObject({ name: "ConnectionError", kind: "closed" })
    await client.request("isComplete", { code: "1" })
    await client.close()
    await refused
    await expect(client.request("eval", { code: "1" })).rejects.toMatchObject({ kind: "closed" })
  })
})

describe("a process", () => {
  test("that dies fails what it had, and another is started", async () => {
    const changes: ConnectionChange[] = []
    await using client = await connectStdio({ onConnection: (it) => void changes.push(it) })
    await client.request("eval", { code: "let n = 1" })
    const pid = newestServer()
    const asked = client.request("eval", { code: "for (;;) {}" })
    const refused = expect(asked).rejects.toMatchObject({
      kind: "server_exited",
      message: expect.stringContaining("SIGKILL") as string,
    })
    await client.request("isComplete", { code: "1" })
    process.kill(pid, "SIGKILL")
    await refused
    expect((await client.request("eval", { code: "typeof n" })).value?.data).toBe("undefined")
    expect(changes.map((it) => it.type)).toEqual(["lost", "renewed"])
  })

  test("that hangs is killed at the deadline, and another is started", async () => {
    await using client = await connectStdio({ hungMs: 100, onStderr: () => {} })
    await client.request("eval", { code: "1" })
    const pid = newestServer()
    process.kill(pid, "SIGSTOP")
    await expect(client.request("eval", { code: "1" }, { timeoutMs: 50 })).rejects.toMatchObject({ kind: "timed_out" })
    expect((await client.request("eval", { code: "1 + 1" })).value?.data).toBe(2)
  })

  test("that is no server is told in its own words", async () => {
    const quiet = { onStderr: () => {} }
    await expect(
      connectStdio({ ...quiet, command: [process.execPath, "-e", "console.error('no such thing'); process.exit(3)"] }),
    ).rejects.toThrow(/code 3: no such thing/)
    await expect(
      connectStdio({ ...quiet, command: [process.execPath, "-e", "console.log('hello')"] }),
    ).rejects.toMatchObject({
      kind: "server_exited",
    })
  })

  test.each<[string, StdioOptions]>([
    ["is not there", { command: ["there-is-no-such-command"] }],
    ["is no program", { command: [import.meta.dirname] }],
    ["is not reached from where it is started", { cwd: "/there/is/no/such/folder" }],
    ["has a name that no program can have", { command: ["no\0de"] }],
  ])("whose program %s has not been started", async (_what, options) => {
    await expect(connectStdio({ onStderr: () => {}, ...options })).rejects.toMatchObject({
      name: "ConnectionError",
      kind: "not_started",
      message: expect.stringMatching(/cannot be started: .*(ENOENT|EACCES|null bytes)/) as string,
    })
  })

  test.each<[string, unknown]>([
    ["one text", "node"],
    ["an empty list", []],
    ["a list with an empty program", [""]],
    ["a list with something else in it", ["node", 1]],
  ])("cannot be made of %s", async (_what, command) => {
    await expect(connectStdio({ command: command as string[] })).rejects.toMatchObject({
      kind: "invalid_options",
      message: expect.stringMatching(/^command must be a list of texts/) as string,
    })
  })
})

describe("a socket", () => {
  test("is not opened with a wrong token, or where nothing is served", async () => {
    await expect(connectSocket({ url: served.url, token: "wrong-wrong-wrong-wrong" })).rejects.toMatchObject({
      kind: "refused",
    })
    await expect(connectSocket({ url: "ws://127.0.0.1:1", token })).rejects.toMatchObject({ kind: "refused" })
  })

  test("that breaks again and again loses no answer, no output and no event, and runs nothing twice", async () => {
    const wire = await new Wire(served.url).open()
    const changes: string[] = []
    const client = await connectSocket({
      url: wire.url,
      token,
      initialize: { events: "changes" },
      onConnection: ({ type }) => void changes.push(type),
    })
    const texts: string[] = []
    const commits: number[] = []
    client.on("output", ({ text }) => void texts.push(text))
    client.on("event", ({ type, commit }) => type === "bindings.changed" && commits.push(commit!))
    await client.request("eval", { code: "let count = 0" })
    const results: unknown[] = []
    const rounds = 60
    const asked = Array.from({ length: rounds }, async (_, round) => {
      const { value } = await client.request("eval", { code: `count += 1; console.log(${round}); count` })
      results.push(value?.data)
      if (round % 6 === 0) wire.cut()
    })
    await Promise.all(asked)
    // And those that are asked one after the other, each time on a wire that has just been cut.
    for (let round = 0; round < 10; round++) {
      wire.cut()
      const { value } = await client.request("eval", { code: `count += 1; console.log(${rounds + round}); count` })
      results.push(value?.data)
    }
    const all = Array.from({ length: rounds + 10 }, (_, index) => index)
    expect(results).toEqual(all.map((index) => index + 1))
    expect(texts).toEqual(all.map((index) => `${index}\n`))
    expect(commits).toEqual([...new Set(commits)].toSorted((a, b) => a - b))
    expect(commits).toHaveLength(rounds + 11)
    expect(changes).toContain("resumed")
    expect(changes).not.toContain("renewed")
    await client.close()
    await wire.close()
  })

  test("that stays broken fails what was asked, and the next request tries again", async () => {
    const wire = await new Wire(served.url).open()
    const client = await connectSocket({ url: wire.url, token, reconnectMs: 100, initialize: { session: "stays" } })
    await client.request("eval", { code: "let n = 5" })
    const asked = client.request("eval", { code: "await tools.hold('broken')" })
    await until("it waits", () => under.held.has("broken"))
    const refused = expect(asked).rejects.toMatchObject({ kind: "connection_lost" })
    wire.isCut = true
    wire.cut()
    await refused
    under.held.get("broken")!.gate.open()
    under.held.delete("broken")
    wire.isCut = false
    expect((await client.request("eval", { code: "n" })).value?.data).toBe(5)
    await client.request("sessions/close")
    await client.close()
    await wire.close()
  })

  test("whose other end takes less than the server is opened again, without the message that was too large", async () => {
    // A proxy, as one stands between: it ends what is above its own limit.
    const proxy = new WebSocketServer({ port: 0, host: "127.0.0.1", maxPayload: 10_000 })
    proxy.on("connection", (near, request) => {
      const far = new WebSocket(served.url, request.headers["sec-websocket-protocol"]!.split(/, */))
      const early: string[] = []
      near.on("message", (data: Buffer) => {
        if (far.readyState === far.OPEN) far.send(data.toString())
        else early.push(data.toString())
      })
      far.on("open", () => early.forEach((text) => far.send(text)))
      far.on("message", (data: Buffer) => near.send(data.toString()))
      far.on("error", () => {})
      near.on("error", () => {})
      near.on("close", () => far.terminate())
      far.on("close", () => near.terminate())
    })
    await once(proxy, "listening")
    const changes: string[] = []
    const url = `ws://127.0.0.1:${(proxy.address() as { port: number }).port}`
    const client = await connectSocket({ url, token, onConnection: ({ type }) => void changes.push(type) })
    await client.request("eval", { code: "let kept = 7" })
    const large = client.request("eval", { code: " ".repeat(20_000) })
    const after = client.request("eval", { code: "kept" })
    await expect(large).rejects.toMatchObject({ kind: "message_too_large" })
    expect((await after).value?.data).toBe(7)
    expect(changes).toEqual(["lost", "resumed"])
    await client.close()
    await new Promise((resolve) => proxy.close(resolve))
  })

  test("to a server that has forgotten it begins anew, and says so", async () => {
    const other = await serve(under.nacre, { token })
    const changes: string[] = []
    const client = await connectSocket({ url: other.url, token, onConnection: ({ type }) => void changes.push(type) })
    await client.request("eval", { code: "1" })
    const port = Number(new URL(other.url).port)
    await other.stop()
    const again = await serve(under.nacre, { token, port })
    expect((await client.request("eval", { code: "1 + 1" })).value?.data).toBe(2)
    expect(changes).toEqual(["lost", "renewed"])
    await client.close()
    await again.stop()
  })
})
