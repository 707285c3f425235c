// Changes of definitions over the protocol, on the built program: what is rejected is a result, what is pipelined works.
// oxlint-disable typescript/no-unsafe-type-assertion, typescript/no-explicit-any -- answers are JSON, whose shape is what the tests check
import { expect, test } from "vitest"
import { NacreProcess } from "../nacre-process.ts"

interface Message {
  id?: unknown
  method?: string
  params?: Record<string, unknown>
  result?: any
  error?: { code: number; message: string; data: { kind: string } }
}

/** Sends requests as lines, all at once, and gives the answers by id. */
async function converse(...requests: [string, object?][]): Promise<{ answers: Message[]; messages: Message[] }> {
  const lines = [["initialize", { events: "changes" }] as const, ...requests].map(
    ([method, params = {}], id) => `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`,
  )
  const { code, stdout, stderr } = await new NacreProcess(["session"]).end(lines.join(""))
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const messages = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Message)
  return { answers: lines.map((_, id) => messages.find((it) => it.id === id)!), messages }
}

test("submits, rejects, restores and tells the history, all sent at once", async () => {
  const { answers } = await converse(
    [
      "submit",
      { source: "function rate() { return 2 }\nfunction price(n: number) { return n * rate() }", reason: "first" },
    ],
    ["eval", { code: "price(10)" }],
    ["submit", { source: "function rate() { return 3 }\nprice(10)" }],
    ["submit", { remove: ["rate"] }],
    ["submit", { source: "function broken( {" }],
    ["submit", { source: "function late() {}", parent: 1 }],
    ["restoreRevision", { revision: 1, reason: "back" }],
    ["callBinding", { name: "price", args: [7] }],
    ["restoreRevision", { revision: 99 }],
    ["history", { since: 1 }],
  )
  const [, first, value, second, removed, broken, late, restored, called, unknown, history] = answers
  expect(first!.result).toMatchObject({
    status: "committed",
    revision: 1,
    record: { reason: "first", cause: "submit" },
  })
  expect(first!.result.outcome).toBeUndefined()
  expect(value!.result.value.data).toBe(20)
  expect(second!.result).toMatchObject({ status: "committed", revision: 2, outcome: { value: { data: 30 } } })
  expect(removed!.result).toMatchObject({
    status: "rejected",
    revision: 2,
    rejection: { kind: "definition_has_dependents", keys: ["price"], diagnostics: [{ key: "price" }] },
  })
  expect(broken!.result).toMatchObject({
    status: "rejected",
    rejection: { kind: "invalid", diagnostics: [{ line: 1 }] },
  })
  expect(late!.result).toMatchObject({ status: "rejected", rejection: { kind: "stale_parent", keys: ["rate"] } })
  expect(restored!.result).toMatchObject({
    status: "committed",
    revision: 3,
    record: { cause: "restore", restored: 1 },
  })
  expect(called!.result).toMatchObject({ status: "ok", value: { data: 14 } })
  expect(unknown!.error!.data.kind).toBe("revision_not_found")
  expect(history!.result).toMatchObject({ total: 2, revision: 3, records: [{ revision: 2 }, { revision: 3 }] })
  expect(history!.result.digest).toBe(first!.result.record.digest)
})

test("proposes, commits and abandons candidates", async () => {
  const process = new NacreProcess(["session"])
  const ask = (id: number, method: string, params: object) =>
    process.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`)
  ask(0, "initialize", {})
  ask(1, "submit", { source: "function a() { return 1 }\nfunction b() { return a() }" })
  ask(2, "proposeChange", { source: "function a() { return 2 }" })
  ask(3, "proposeChange", { source: "function c() { return 3 }" })
  const candidates = [
    (await process.until(/"id":2.*?"candidate":"([^"]+)"/))[1],
    (await process.until(/"id":3.*?"candidate":"([^"]+)"/))[1],
  ]
  ask(4, "eval", { code: "b()" })
  ask(5, "commitChange", { candidate: candidates[0] })
  ask(6, "eval", { code: "b()" })
  ask(7, "commitChange", { candidate: candidates[1] })
  ask(8, "commitChange", { candidate: candidates[1] })
  const { stdout } = await process.end(
    `${JSON.stringify({ jsonrpc: "2.0", id: 9, method: "abandonChange", params: { candidate: "none" } })}\n`,
  )
  const messages = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Message)
  const answer = (id: number) => messages.find((it) => it.id === id)!
  expect(answer(2).result).toMatchObject({ status: "proposed", parent: 1, changed: ["a"] })
  expect(answer(4).result.value.data).toBe(1)
  expect(answer(5).result).toMatchObject({ status: "committed", revision: 2 })
  expect(answer(6).result.value.data).toBe(2)
  expect(answer(7).result).toMatchObject({ status: "rejected", rejection: { kind: "stale_parent" } })
  expect(answer(8).error!.data.kind).toBe("candidate_not_found")
  expect(answer(9).result).toEqual({ abandoned: false })
})

test("wraps and unwraps, and gives a revision to another session", async () => {
  const first = await converse(
    ["submit", { source: "function greet(name: string) { return `hello ${name}` }" }],
    ["wrapBinding", { name: "greet", key: "loud", source: "(inner) => (name) => inner(name).toUpperCase()" }],
    ["eval", { code: "greet('ada')" }],
    ["wrappers", { name: "greet" }],
    ["exportRevision", {}],
    ["wrapBinding", { name: "greet", key: "bad", source: "(inner" }],
    ["unwrapBinding", { name: "greet", key: "none" }],
    ["unwrapBinding", { name: "greet" }],
    ["eval", { code: "greet('ada')" }],
  )
  const [, , wrapped, loud, wrappers, exported, bad, none, unwrapped, plain] = first.answers
  expect(wrapped!.result).toMatchObject({
    status: "committed",
    record: { cause: "wrap", changes: [{ op: "wrap", wrapper: "loud" }] },
  })
  expect(loud!.result.value.data).toBe("HELLO ADA")
  expect(wrappers!.result.wrappers).toEqual([{ key: "loud", source: "(inner) => (name) => inner(name).toUpperCase()" }])
  expect(bad!.result).toMatchObject({ status: "rejected", rejection: { kind: "invalid" } })
  expect(none!.result).toMatchObject({ status: "rejected", rejection: { kind: "definition_not_found" } })
  expect(unwrapped!.result.status).toBe("committed")
  expect(plain!.result.value.data).toBe("hello ada")

  const { answers } = await converse(
    ["importRevision", { exported: exported!.result }],
    ["eval", { code: "greet('bob')" }],
    ["history"],
    ["importRevision", { exported: { ...exported!.result, digest: "other" } }],
    ["importRevision", { exported: { ...exported!.result, format: "other" } }],
  )
  expect(answers[1]!.result.status).toBe("committed")
  expect(answers[2]!.result.value.data).toBe("HELLO BOB")
  expect(answers[3]!.result.digest).toBe(exported!.result.digest)
  expect(answers[4]!.result).toMatchObject({ status: "rejected", rejection: { kind: "invalid" } })
  expect(answers[5]!.error!.data.kind).toBe("invalid_options")
})

test("marks, rolls back, shares globals, and replays events that were missed", async () => {
  const { answers, messages } = await converse(
    ["eval", { code: "let n = 1" }],
    ["mark", { name: "one" }],
    ["eval", { code: "n = 2" }],
    ["rollback", { name: "one" }],
    ["eval", { code: "n" }],
    ["rollback", { name: "two" }],
    ["globals/bind", { name: "shared", value: { a: [1] } }],
    ["eval", { code: "shared.a[0]" }],
    ["globals/at", { name: "shared" }],
    ["globals/list"],
    ["globals/bind", { name: "Workspace", value: 1 }],
    ["globals/unbind", { name: "other" }],
    ["globals/at", { name: "other" }],
    ["attach", { since: 0 }],
    ["attach", { since: 0, session: "unknown" }],
  )
  const results = answers.map((it) => it.result)
  expect(results[4]).toEqual({ lost: [] })
  expect(results[5].value.data).toBe(1)
  expect(answers[6]!.error!.data.kind).toBe("mark_not_found")
  expect(results[8].value.data).toBe(1)
  expect(results[9]).toEqual({ isBound: true, text: "{ a: [ 1 ] }", data: { a: [1] } })
  expect(results[10]).toEqual({ names: ["shared"], total: 1 })
  expect(answers[11]!.error!.data.kind).toBe("name_conflict")
  expect(results[13]).toEqual({ isBound: false })
  expect(results[14]).toMatchObject({ isComplete: true, seq: expect.any(Number) })
  expect(answers[15]!.error!.data.kind).toBe("session_not_found")
  const at = messages.findIndex((it) => it.id === 14)
  const events = messages.filter((it) => it.method === "event").map((it) => it.params!)
  const replayed = messages
    .slice(0, at)
    .filter((it) => it.method === "event" && it.params!["type"] === "bindings.changed")
  expect(events.filter((it) => it["type"] === "globals.changed").length).toBeGreaterThanOrEqual(1)
  // Each once when it happened, and the same again since they were asked for.
  const seqs = replayed.map((it) => it.params!["seq"])
  expect(new Set(seqs).size * 2).toBe(seqs.length)
})

test("sends output as progress to a request with a token", async () => {
  const { messages } = await converse(["eval", { code: "console.log('a')", progressToken: "t" }])
  expect(messages.filter((it) => it.method === "output")).toEqual([])
  expect(messages.filter((it) => it.method === "$/progress").map((it) => it.params)).toEqual([
    { token: "t", value: { stream: "stdout", text: "a\n", seq: 0 } },
  ])
})

test("keeps workspaces apart", async () => {
  const process = new NacreProcess(["session"])
  const lines = [
    ["initialize", { workspace: "left" }],
    ["globals/bind", { name: "here", value: 1 }],
    ["eval", { code: "[here, Workspace.sessions.length]" }],
    ["sessions/list", {}],
    ["globals/list", {}],
  ].map(([method, params], id) => `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`)
  const { stdout } = await process.end(lines.join(""))
  const messages = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Message)
  const answer = (id: number) => messages.find((it) => it.id === id)!
  expect(answer(0).result.workspace).toBe("left")
  expect(answer(2).result.value.data[0]).toBe(1)
  expect(answer(3).result.sessions).toMatchObject([{ workspace: "left" }])
  expect(answer(4).result.names).toEqual(["here"])
})
