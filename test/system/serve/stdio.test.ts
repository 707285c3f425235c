// `nacre session` as a black box: frames and lines in, answers out, and how it ends.
// oxlint-disable typescript/no-unsafe-type-assertion -- answers are JSON, whose shape is what the tests check
import { describe, expect, it } from "vitest"
import { NacreProcess, main } from "../nacre-process.ts"

interface Message {
  id?: unknown
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown>
  error?: { code: number; message: string; data: { kind: string; retry: string } }
}

let asked = 0
function request(method: string, params: object = {}, id: unknown = ++asked): object {
  return { jsonrpc: "2.0", id, method, params }
}

function frame(message: object | string): string {
  const text = typeof message === "string" ? message : JSON.stringify(message)
  return `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
}

/** The messages of a framed output; fails when there is anything else in it. */
function unframe(output: string): Message[] {
  let rest = Buffer.from(output)
  const messages: Message[] = []
  while (rest.length > 0) {
    const header = /^Content-Length: (\d+)\r\n\r\n/.exec(rest.toString("latin1"))
    if (header === null) throw new Error(`No frame: ${rest.toString()}`)
    const end = header[0].length + Number(header[1])
    messages.push(JSON.parse(rest.subarray(header[0].length, end).toString()) as Message)
    rest = rest.subarray(end)
  }
  return messages
}

const unlines = (output: string): Message[] =>
  output
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Message)
const lines = (...messages: object[]): string => messages.map((each) => `${JSON.stringify(each)}\n`).join("")
const initialize = request("initialize", {}, 0)
const answerTo = (messages: Message[], id: unknown): Message => messages.find((each) => each.id === id)!

describe("framed", () => {
  it("three requests give three answers, and the end of the input exits with 0", async () => {
    const input = [
      initialize,
      request("eval", { code: "let x: number = 6 * 7" }, 1),
      request("eval", { code: "x" }, "two"),
    ]
    const { code, stdout, stderr } = await new NacreProcess(["session"]).end(input.map(frame).join(""))
    const messages = unframe(stdout)
    expect({ code, stderr, answers: messages.map((each) => each.id) }).toEqual({
      code: 0,
      stderr: "",
      answers: [0, 1, "two"],
    })
    expect(messages[2]!.result).toMatchObject({ status: "ok", value: { text: "42", inert: false, data: 42 } })
  })

  it("torn and malformed input is told and loses only itself", async () => {
    const input = [
      frame(initialize),
      "Content-Length: nonsense\r\n\r\n",
      frame("{broken"),
      frame(request("nothing", {}, 1)),
      "Content-Length: 99\r\n\r\n{",
    ]
    const { code, stdout } = await new NacreProcess(["session"]).end(input.join(""))
    const messages = unframe(stdout)
    expect(code).toBe(0)
    expect(messages.filter((each) => each.id === null).map((each) => each.error?.data.kind)).toEqual(
      Array(3).fill("parse_failed"),
    )
    expect(answerTo(messages, 1).error).toMatchObject({ code: -32601, data: { kind: "method_not_found" } })
    expect(answerTo(messages, 0).result).toBeDefined()
  })

  it("what code prints is never on the stream by itself", async () => {
    const code = "console.log('Content-Length: 5\\r\\n\\r\\nhello'); console.error('é'); 1"
    const { stdout, stderr } = await new NacreProcess(["session"]).end(
      [initialize, request("eval", { code }, 1)].map(frame).join(""),
    )
    const messages = unframe(stdout)
    expect(stderr).toBe("")
    const output = answerTo(messages, 1).result!["output"] as { stream: string; text: string; seq: number }[]
    expect(output).toMatchObject([{ stream: "stdout" }, { stream: "stderr", text: "é\n" }])
    const streamed = messages.filter((each) => each.method === "output").map((each) => each.params)
    expect(streamed).toEqual(output.map((each) => ({ session: streamed[0]!["session"], request: 1, ...each })))
  })
})

describe("ending", () => {
  it.each([
    ["shutdown and exit", [initialize, request("eval", { code: "1" }, 1), request("shutdown", {}, 2)], 0],
    ["exit alone", [initialize], 1],
  ])("%s", async (_what, requests, code) => {
    const process = new NacreProcess(["session"])
    // Its input stays open: exit has to end it.
    process.child.stdin.write(lines(...requests, { jsonrpc: "2.0", method: "exit" }))
    const ended = await process.ended()
    expect(ended.code).toBe(code)
    expect(unlines(ended.stdout).map((each) => each.id)).toEqual(requests.map((each) => (each as Message).id))
  })

  it("a client that vanishes while code runs leaves nothing behind", async () => {
    const process = new NacreProcess(["session"])
    process.child.stdin.write(lines(initialize, request("eval", { code: "console.log('on'); for (;;) {}" }, 1)))
    await process.until(/"text":"on/)
    process.child.stdout.destroy()
    process.child.stdin.end()
    expect((await process.ended()).code).toBe(141)
  })

  it("a client that is killed while code runs takes the server with it", async () => {
    // The client is a process of its own: both ends of the streams go with it, and the server loses its parent.
    const script = `
      const server = require("node:child_process").spawn(process.execPath, [${JSON.stringify(main)}, "session"])
      server.stdin.write(${JSON.stringify(lines(initialize, request("eval", { code: "console.log('on'); for (;;) {}" }, 1)))})
      server.stdout.pipe(process.stdout)`
    const client = new NacreProcess([], [process.execPath, "-e", script])
    await client.until(/"text":"on/)
    client.child.kill("SIGKILL")
    // Resolves when no process and no file is left.
    expect((await client.ended()).code).toBe(null)
  })

  it("nothing at all is an orderly session", async () => {
    expect(await new NacreProcess(["session"]).end()).toEqual({ code: 0, stdout: "", stderr: "" })
  })
})

describe("a conversation", () => {
  it("interrupts what computes, and keeps what was there", async () => {
    const process = new NacreProcess(["session"])
    process.child.stdin.write(
      lines(
        initialize,
        request("eval", { code: "let kept = 1" }, 1),
        request("eval", { code: "console.log('on'); for (;;) {}" }, 2),
      ),
    )
    await process.until(/"text":"on/)
    process.child.stdin.write(lines(request("interrupt", {}, 3)))
    await process.until(/"id":3,/)
    const { stdout, code } = await process.end(lines(request("eval", { code: "kept" }, 4), request("interrupt", {}, 5)))
    const messages = unlines(stdout)
    expect(code).toBe(0)
    expect(answerTo(messages, 2).result).toMatchObject({ status: "interrupted" })
    expect(answerTo(messages, 3).result).toEqual({ interrupted: true })
    expect(answerTo(messages, 4).result).toMatchObject({ status: expect.stringMatching(/ok|interrupted/) as unknown })
  })

  it("stops one request by its id, queued or running, in both ways", async () => {
    const process = new NacreProcess(["session"])
    process.child.stdin.write(
      lines(
        initialize,
        request("eval", { code: "console.log('on'); for (;;) {}" }, 1),
        request("eval", { code: "'second'" }, 2),
        request("eval", { code: "'third'" }, 3),
      ),
    )
    await process.until(/"text":"on/)
    process.child.stdin.write(lines(request("interrupt", { request: 2 }, 4)))
    await process.until(/"id":4,/)
    const cancel = { jsonrpc: "2.0", method: "$/cancelRequest", params: { id: 1 } }
    const messages = unlines((await process.end(lines(cancel, request("interrupt", { request: 77 }, 5)))).stdout)
    expect(
      messages.filter((each) => [1, 2, 3].includes(each.id as number)).map((each) => [each.id, each.result!["status"]]),
    ).toEqual([
      [2, "interrupted"],
      [1, "interrupted"],
      [3, "ok"],
    ])
    expect(answerTo(messages, 5).error?.data.kind).toBe("eval_not_found")
  })

  it("a question to the checker that is cancelled is answered as such, and is no failure of ours", async () => {
    const cancel = (id: number) => ({ jsonrpc: "2.0", method: "$/cancelRequest", params: { id } })
    const questions = [request("complete", { code: "Mat" }, 1), request("inspect", { code: "Math" }, 2)]
    const ended = await new NacreProcess(["session"]).end(lines(initialize, ...questions, cancel(1), cancel(2)))
    const messages = unlines(ended.stdout)
    for (const id of [1, 2]) expect(answerTo(messages, id).error?.data.kind).toBe("request_cancelled")
    expect(ended.stderr).toBe("")
  })

  it("opens, lists, forks and closes sessions without waiting for answers", async () => {
    const { stdout } = await new NacreProcess(["session"]).end(
      lines(
        initialize,
        request("sessions/open", { session: "notes", kind: "service" }, 1),
        request(
          "eval",
          { session: "notes", code: "const total = 40 + 2; function half(n: number) { return n / 2 }" },
          2,
        ),
        request("sessions/fork", { session: "notes" }, 3),
        request("bindings", { session: "notes", sources: true }, 4),
        request("sessions/list", {}, 5),
        request("sessions/open", { session: "notes", profile: "minimal" }, 6),
        request("eval", { session: "other", code: "1" }, 7),
        request("isComplete", { code: "if (x) {" }, 8),
      ),
    )
    const messages = unlines(stdout)
    expect(answerTo(messages, 1).result).toMatchObject({ session: "notes", kind: "service", profile: "standard" })
    expect(answerTo(messages, 2).result).toMatchObject({ status: "ok", committed: { definitions: ["half"] } })
    expect(answerTo(messages, 3).result!["session"]).toMatch(/^ses_/)
    expect(answerTo(messages, 5).result!["total"]).toBeGreaterThanOrEqual(1)
    expect(answerTo(messages, 6).error?.data.kind).toBe("profile_conflict")
    expect(answerTo(messages, 7).error?.data.kind).toBe("session_not_found")
    expect(answerTo(messages, 8).result).toEqual({ state: "incomplete", indent: 1 })
  })

  it("reads what is committed: bindings, resolve, outcome, reset, close", async () => {
    const process = new NacreProcess(["session"])
    process.child.stdin.write(
      lines(initialize, request("eval", { code: "var list = [1, { a: 'b' }]; function f() {}" }, 1)),
    )
    const [, evalId] = await process.until(/"evalId":"([^"]+)"/)
    process.child.stdin.write(
      lines(
        request("bindings", { sources: true }, 2),
        request("resolve", { name: "list" }, 3),
        request("resolve", { name: "nothing" }, 4),
        request("resolve", { name: "f" }, 5),
        request("outcome", { evalId }, 6),
        request("outcome", { evalId: "evl_none" }, 7),
        request("reset", {}, 8),
      ),
    )
    await process.until(/"id":8,/)
    const { stdout } = await process.end(
      lines(
        request("bindings", {}, 9),
        request("sessions/close", {}, 10),
        request("sessions/close", { session: "none" }, 11),
      ),
    )
    const messages = unlines(stdout)
    expect(answerTo(messages, 2).result).toEqual({
      bindings: [
        { name: "list", kind: "local", held: "bytes" },
        { name: "f", kind: "definition", held: "source", source: "function f() {}" },
      ],
      total: 2,
    })
    expect(answerTo(messages, 3).result).toMatchObject({ isBound: true, data: [1, { a: "b" }] })
    expect(answerTo(messages, 4).result).toEqual({ isBound: false })
    expect(answerTo(messages, 5).error?.data.kind).toBe("value_not_transferable")
    expect(answerTo(messages, 6).result).toMatchObject({ evalId, status: "ok" })
    expect(answerTo(messages, 7).error?.data.kind).toBe("eval_not_found")
    expect(answerTo(messages, 9).result).toEqual({ bindings: [], total: 0 })
    expect(answerTo(messages, 10).result).toEqual({ closed: true })
    expect(answerTo(messages, 11).result).toEqual({ closed: false })
  })
})

it("survives thousands of malformed requests", async () => {
  const bad = [
    "{",
    "1",
    "[]",
    '{"jsonrpc":"2.0"}',
    '{"jsonrpc":"2.0","id":1,"method":"eval"}',
    "\u0000",
    '"',
    '[1,[],{"id":[]}]',
  ]
  const input = Array.from({ length: 5_000 }, (_, index) => `${bad[index % bad.length]}\n`).join("")
  const { code, stdout } = await new NacreProcess(["session"]).end(
    input + lines(initialize, request("eval", { code: "1 + 1" }, 9)),
  )
  const messages = unlines(stdout)
  expect(code).toBe(0)
  expect(messages).toHaveLength(5_002)
  expect(answerTo(messages, 9).result).toMatchObject({ value: { text: "2" } })
})
