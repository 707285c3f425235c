// An independent implementation of JSON-RPC, the one that editors use, drives the built program through the whole method table and to every
// error kind that a client can bring about.
// oxlint-disable typescript/no-unsafe-type-assertion, typescript/no-explicit-any -- answers are JSON, whose shape is what the tests check
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import rpc from "vscode-jsonrpc/node.js"
import type { MessageConnection } from "vscode-jsonrpc/node.js"
import { errorKinds } from "../../../runtime/errors.ts"
import type { ErrorKind } from "../../../runtime/errors.ts"
import { methods } from "../../../runtime/serve/methods.ts"
import { problemOf } from "../../../runtime/serve/schema.ts"
import { until } from "../../until.ts"
import { NacreProcess } from "../nacre-process.ts"

interface Client {
  readonly process: NacreProcess
  readonly connection: MessageConnection
  readonly end: () => Promise<void>
}

function connect(): Client {
  const process = new NacreProcess(["session"])
  const connection = rpc.createMessageConnection(
    new rpc.StreamMessageReader(process.child.stdout),
    new rpc.StreamMessageWriter(process.child.stdin),
  )
  connection.listen()
  return {
    process,
    connection,
    end: async () => {
      await connection.sendRequest("shutdown")
      await connection.sendNotification("exit")
      expect((await process.ended()).code).toBe(0)
      connection.dispose()
    },
  }
}

interface Failure {
  code: number
  message: string
  data: { kind: ErrorKind; retry: string }
}

async function failureOf(answer: Promise<unknown>): Promise<Failure> {
  try {
    const result = await answer
    throw new Error(`It did not fail: ${JSON.stringify(result)}`)
  } catch (error) {
    return error as Failure
  }
}

test("runs every method of the table", async () => {
  const { connection, end } = connect()
  const run = new Set<string>()
  const ask = async (method: string, params: object = {}): Promise<any> => {
    const result: unknown = await connection.sendRequest(method, params)
    expect(problemOf(methods[method]!.result, result, method)).toBeUndefined()
    run.add(method)
    return result
  }
  await ask("initialize", { client: { name: "vscode-jsonrpc" } })
  const { evalId } = await ask("eval", { code: "let n = 1" })
  await ask("outcome", { evalId })
  await ask("interrupt")
  await ask("isComplete", { code: "(" })
  await ask("submit", { source: "function f(x: number) { return x + 1 }\nf(1)" })
  const { candidate } = await ask("proposeChange", { source: "function f(x: number) { return x + 2 }" })
  await ask("commitChange", { candidate })
  await ask("abandonChange", { candidate })
  expect((await ask("callBinding", { name: "f", args: [40] })).value.data).toBe(42)
  expect((await ask("callBinding", { name: "f", args: [40], revision: 1 })).value.text).toBeDefined()
  const { pin } = await ask("pinRevision")
  expect((await ask("callBinding", { name: "f", args: [40], pin })).value.data).toBe(42)
  await ask("pins")
  await ask("releasePin", { pin })
  const { value: retained } = await ask("eval", { code: "(x: number) => x * 2", retainValues: "all" })
  expect((await ask("callValue", { value: retained.handle, args: [21] })).value.data).toBe(42)
  await ask("retainedValues")
  await ask("releaseValue", { value: retained.handle })
  await ask("wrapBinding", { name: "f", key: "twice", source: "(inner) => (x) => inner(inner(x))" })
  expect((await ask("callBinding", { name: "f", args: [38] })).value.data).toBe(42)
  await ask("wrappers", { name: "f" })
  await ask("unwrapBinding", { name: "f" })
  const exported = await ask("exportRevision")
  await ask("importRevision", { exported })
  await ask("restoreRevision", { revision: 1 })
  await ask("history")
  await ask("mark", { name: "a" })
  expect(await ask("marks")).toEqual({ names: ["a"] })
  await ask("rollback", { name: "a" })
  expect(await ask("unmark", { name: "a" })).toEqual({ removed: true })
  await ask("bindings", { sources: true })
  await ask("resolve", { name: "n" })
  await ask("globals/bind", { name: "g", value: 1 })
  await ask("globals/list")
  await ask("globals/at", { name: "g" })
  await ask("globals/unbind", { name: "g" })
  await ask("preludes/load", { name: "shapes", source: "export const side = 6" })
  expect((await ask("eval", { code: "side * 7" })).value.data).toBe(42)
  await ask("preludes/list")
  await ask("preludes/remove", { name: "shapes" })
  const { session } = await ask("sessions/open", { kind: "service" })
  await ask("attach", { session, since: 0 })
  await ask("detach", { session })
  await ask("sessions/list")
  await ask("sessions/fork")
  await ask("sessions/close", { session })
  await ask("reset")
  await ask("complete", { code: "n" })
  await ask("inspect", { code: "n" })
  // The end of this one, and what is for sockets only.
  const others = ["shutdown", "exit", "resume"]
  expect(Object.keys(methods).filter((name) => !run.has(name) && !others.includes(name))).toEqual([])
  await end()
})

test("sees output, progress and events, and stops what it asked for by cancelling", async () => {
  const { connection, end } = connect()
  const output: unknown[] = []
  const progress: unknown[] = []
  const events: { type: string }[] = []
  connection.onNotification("output", (it: unknown) => void output.push(it))
  connection.onNotification("event", (it: { type: string }) => void events.push(it))
  connection.onProgress(new rpc.ProgressType<unknown>(), "t", (it) => void progress.push(it))
  await connection.sendRequest("initialize", { events: "changes" })
  await connection.sendRequest("eval", { code: "console.log('a'); let kept = 1" })
  await connection.sendRequest("eval", { code: "console.error('b')", progressToken: "t" })
  expect(output).toMatchObject([{ stream: "stdout", text: "a\n" }])
  expect(progress).toMatchObject([{ stream: "stderr", text: "b\n" }])
  expect(events.map((it) => it.type)).toContain("bindings.changed")

  const source = new rpc.CancellationTokenSource()
  const endless = connection.sendRequest("eval", { code: "console.log('on'); for (;;) {}" }, source.token)
  await until("it runs", () => output.length === 2)
  source.cancel()
  expect(await endless).toMatchObject({ status: "interrupted" })
  expect(await connection.sendRequest("eval", { code: "kept" })).toMatchObject({ value: { data: 1 } })
  await end()
})

test("interrupts a hundred times, then adds", async () => {
  const { connection, end } = connect()
  let seen = 0
  connection.onNotification("output", () => void seen++)
  await connection.sendRequest("initialize", {})
  for (let round = 1; round <= 100; round++) {
    const code =
      round % 2 === 0
        ? "console.log('on'); for (;;) {}"
        : "console.log('on'); await new Promise(() => setTimeout(() => {}, 1e6))"
    const asked = connection.sendRequest("eval", { code })
    await until("it runs", () => seen === round)
    expect(await connection.sendRequest("interrupt")).toEqual({ interrupted: true })
    expect(await asked).toMatchObject({ status: "interrupted" })
  }
  expect(await connection.sendRequest("eval", { code: "1 + 1" })).toMatchObject({ status: "ok", value: { data: 2 } })
  await end()
})

describe("error kinds", () => {
  let client: Client
  beforeAll(async () => {
    client = connect()
    await client.connection.sendRequest("initialize", {})
    await client.connection.sendRequest("eval", {
      code: "function f() {}; let gone = (function* () { yield 1 })(); Promise.resolve(1)",
    })
    await client.connection.sendRequest("sessions/open", { session: "named" })
  })
  afterAll(() => client.end())

  const produced = new Set<ErrorKind>()
  const expectKind = (failure: Failure, kind: ErrorKind): void => {
    expect(failure.data).toEqual({ kind, retry: errorKinds[kind].retry })
    expect(failure.code).toBe(errorKinds[kind].code)
    expect(failure.message.length).toBeGreaterThan(10)
    produced.add(kind)
  }

  test.each<[ErrorKind, string, object | unknown[]]>([
    ["method_not_found", "evaluate", {}],
    ["invalid_options", "eval", { code: 1 }],
    ["invalid_options", "eval", { code: "1", nested: "evl", timeout: 1 }],
    ["invalid_request", "initialize", {}],
    ["session_not_found", "eval", { code: "1", session: "nobody" }],
    ["profile_conflict", "sessions/open", { session: "named", profile: "minimal" }],
    ["eval_not_found", "interrupt", { evalId: "evl_none" }],
    ["eval_not_found", "eval", { code: "1", nested: "evl_none" }],
    ["source_too_large", "eval", { code: " ".repeat(4 * 1024 * 1024 + 1) }],
    ["message_too_large", "eval", { code: " ".repeat(33 * 1024 * 1024) }],
    ["candidate_not_found", "commitChange", { candidate: "none" }],
    ["revision_not_found", "exportRevision", { revision: 1000 }],
    ["mark_not_found", "rollback", { name: "none" }],
    ["value_not_found", "callValue", { value: "val_none" }],
    ["pin_not_found", "releasePin", { pin: "pin_none" }],
    ["value_not_transferable", "resolve", { name: "f" }],
    ["name_conflict", "globals/bind", { name: "Array", value: 1 }],
    ["prelude_invalid", "preludes/load", { name: "wrong", source: "export const = 1" }],
  ])("%s: %s", async (kind, method, params) => {
    if (kind === "message_too_large") {
      // Its id is in what was not read, so the answer has none and no client can tell whose it is.
      const from = client.process.stdout.length
      void client.connection.sendRequest(method, params).catch(() => {})
      const [text] = await client.process.until(/\{"jsonrpc":"2.0","id":null,"error":.*?\}\}\}/, from)
      expectKind((JSON.parse(text) as { error: Failure }).error, kind)
      return
    }
    expectKind(await failureOf(client.connection.sendRequest(method, params)), kind)
  })

  test("binding_lost", async () => {
    await client.connection.sendRequest("eval", { code: "process.kill?.(0); for (;;) {}", timeoutMs: 50 })
    expectKind(await failureOf(client.connection.sendRequest("resolve", { name: "gone" })), "binding_lost")
  })

  test("queue_full and too_many_requests", async () => {
    const { connection } = client
    const sessions = ["a", "b", "c", "d", "e"]
    for (const session of sessions) await connection.sendRequest("sessions/open", { session })
    const stop = new rpc.CancellationTokenSource()
    const code = "await new Promise(() => setTimeout(() => {}, 1e6))"
    const ask = (session: string) => connection.sendRequest("eval", { code, session }, stop.token)
    const full = Array.from({ length: 70 }, () => ask("a"))
    const refused = await failureOf(Promise.race(full))
    expectKind(refused, "queue_full")
    const many = sessions.slice(1).flatMap((session) => Array.from({ length: 60 }, () => ask(session)))
    expectKind(await failureOf(Promise.race(many)), "too_many_requests")
    // A notification, for which there is always room.
    stop.cancel()
    const settled = await Promise.allSettled([...full, ...many])
    const outcomes = settled.flatMap((it) => (it.status === "fulfilled" ? [it.value as { status: string }] : []))
    expect(outcomes).toHaveLength(256)
    expect(outcomes.every(({ status }) => status === "interrupted")).toBe(true)
  })

  test("handle_limit", async () => {
    const pin = (): Promise<unknown> => client.connection.sendRequest("pinRevision", {})
    const pins = await Promise.allSettled(Array.from({ length: 33 }, pin))
    expect(pins.filter(({ status }) => status === "rejected")).toHaveLength(1)
    expectKind(await failureOf(pin()), "handle_limit")
  })

  test("parse_failed and invalid_request, for what is no request", async () => {
    for (const [text, kind] of [
      ["{", "parse_failed"],
      ["[]", "invalid_request"],
    ] as const) {
      const from = client.process.stdout.length
      client.process.child.stdin.write(`Content-Length: ${text.length}\r\n\r\n${text}`)
      const [answer] = await client.process.until(/\{"jsonrpc":"2.0","id":null,"error":.*?\}\}\}/, from)
      expectKind((JSON.parse(answer) as { error: Failure }).error, kind)
    }
  })

  test("not_initialized and unsupported", async () => {
    const fresh = connect()
    expectKind(await failureOf(fresh.connection.sendRequest("eval", { code: "1" })), "not_initialized")
    const resume = fresh.connection.sendRequest("resume", { connection: "con_a", received: 0 })
    expectKind(await failureOf(resume), "unsupported")
    await fresh.connection.sendRequest("initialize", {})
    await fresh.end()
  })

  test("covers what a client of this program can bring about", () => {
    const declared = new Set(Object.values(methods).flatMap((row) => row.fails))
    // A socket, a server with a lesser profile, a defect, a machine without memory, a system that cannot start or a workspace of 256 MiB: tests of their own bring these about.
    const elsewhere = [
      "capability_denied",
      "connection_not_found",
      "host_unavailable",
      "overloaded",
      "session_busy",
      "session_limit",
      "type_error",
      "value_too_large",
      "checker_unavailable",
    ]
    expect([...declared].filter((kind) => !produced.has(kind) && !elsewhere.includes(kind))).toEqual([])
  })
})
