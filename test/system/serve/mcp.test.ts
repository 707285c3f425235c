// `nacre mcp` as agents meet it: the built command, driven by the official clients of each generation, and by hand where these are too polite.
// oxlint-disable typescript/no-unsafe-type-assertion -- answers are JSON, whose shape is what the tests check
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { tools } from "../../../runtime/serve/mcp/tools.ts"
import { NacreProcess } from "../nacre-process.ts"
import { Agent, generations } from "./mcp-agent.ts"

const agents: Agent[] = []

async function connect(...args: Parameters<typeof Agent.connect>): Promise<Agent> {
  const agent = await Agent.connect(...args)
  agents.push(agent)
  return agent
}

afterEach(async () => {
  for (const agent of agents.splice(0)) await agent.leave()
})

/** One agent for the tests of a group, each of which works in a session of its own. */
function shared(): () => Agent {
  let agent: Agent
  beforeAll(async () => {
    agent = await Agent.connect()
  })
  afterAll(() => agent.leave())
  return () => agent
}

describe.each(Object.entries(generations))("with %s", (_what, generation) => {
  it("every tool does its work, and answers as its schema says", async () => {
    const agent = await connect(generation)
    const listed = await agent.tools()
    expect(listed.map(({ name }) => name)).toEqual(Object.keys(tools))
    for (const { description, inputSchema, outputSchema } of listed) {
      expect(description).toMatch(/\.$/)
      expect(inputSchema).toMatchObject({ type: "object", additionalProperties: false })
      expect(outputSchema).toMatchObject({ type: "object" })
    }

    const code =
      "console.log('out'); console.error('err'); function twice(n: number) { return 2 * n } let x = twice(21); x"
    const first = await agent.call("evaluate", { code })
    expect(first.isError).toBe(false)
    expect(first.text).toMatch(/^out\nerr\n=> 42\n\[session default; evl_[\w-]+; ok; set x; defined twice\]$/)
    expect(first.data).toMatchObject({
      session: "default",
      status: "ok",
      value: { text: "42", type: "number", data: 42 },
      output: [
        { stream: "stdout", text: "out\n" },
        { stream: "stderr", text: "err\n" },
      ],
      committed: { set: ["x"], definitions: ["twice"] },
      revision: 1,
    })
    expect((await agent.call("evaluate", { code: "x" })).data).toMatchObject({ value: { data: 42 } })

    const opened = await agent.call("open_session", { session: "notes", profile: "minimal", evalTimeoutMs: null })
    expect(opened.data).toMatchObject({ session: "notes", kind: "mcp", profile: "minimal", bindings: 0, revision: 0 })
    expect((await agent.call("evaluate", { session: "notes", code: "typeof x" })).data).toMatchObject({
      session: "notes",
      value: { data: "undefined" },
    })
    const fresh = await agent.call("open_session")
    expect(fresh.data["session"]).toMatch(/^ses_/)

    const source = "export function twice(n: number) { return n + n }\nexport const limit = 10\ntwice(limit)"
    const submitted = await agent.call("submit_change", { source, reason: "to show it", parent: 1 })
    expect(submitted.isError).toBe(false)
    expect(submitted.text).toMatch(/^revision 2 from 1, submit: .*because to show it\n=> 20\n/)
    expect(submitted.data).toMatchObject({
      session: "default",
      status: "committed",
      revision: 2,
      outcome: { value: { data: 20 } },
    })

    const history = await agent.call("history", { sources: true })
    expect(history.data).toMatchObject({
      session: "default",
      revision: 2,
      omitted: 0,
      records: [
        { revision: 1, cause: "eval" },
        { revision: 2, cause: "submit", reason: "to show it" },
      ],
    })
    const records = history.data["records"] as { changes: { key: string; source: string; previousSource?: string }[] }[]
    expect(records[1]!.changes.find(({ key }) => key === "twice")).toMatchObject({
      source: expect.stringContaining("n + n") as unknown,
      previousSource: expect.stringContaining("2 * n") as unknown,
    })
    expect((await agent.call("history", { count: 1 })).data).toMatchObject({ omitted: 1, records: [{ revision: 2 }] })

    const restored = await agent.call("restore", { revision: 1, reason: "it was better" })
    expect(restored.data).toMatchObject({ status: "committed", revision: 3, record: { cause: "restore", restored: 1 } })
    expect(
      (await agent.call("evaluate", { code: "[typeof limit, twice.toString().includes('2 * n')]" })).data,
    ).toMatchObject({
      value: { data: ["undefined", true] },
    })

    const sessions = await agent.call("list_sessions")
    expect(sessions.data).toMatchObject({
      total: 3,
      sessions: [
        { session: "default", revision: 3, bindings: 2 },
        { session: "notes" },
        { session: fresh.data["session"] },
      ],
    })
    expect((await agent.call("interrupt")).data).toEqual({ session: "default", interrupted: false })
    expect((await agent.call("close_session", { session: "notes" })).data).toEqual({ session: "notes", closed: true })
    expect((await agent.call("close_session", { session: "notes" })).data).toEqual({ session: "notes", closed: false })
    expect((await agent.call("evaluate", { session: "notes", code: "1" })).error?.kind).toBe("session_not_found")
  })

  it("what goes wrong in the code is a tool error that says everything, and the session goes on", async () => {
    const agent = await connect(generation)
    await agent.call("evaluate", { code: "let kept = 'still here'" })
    const threw = await agent.call("evaluate", { code: "kept = 'changed'\nthrow new RangeError('too far')" })
    expect(threw).toMatchObject({
      isError: true,
      data: { status: "threw", error: { name: "RangeError" }, committed: { set: ["kept"] } },
    })
    expect(threw.text).toMatch(/RangeError: too far[^]*2 \| throw new RangeError[^]*\^/)
    const invalid = await agent.call("evaluate", { code: "let = = 1" })
    expect(invalid).toMatchObject({
      isError: true,
      data: { status: "invalid", error: { spans: [{ line: 1, column: 7 }] } },
    })
    const slow = await agent.call("evaluate", { code: "kept = 'lost'; for (;;) {}", timeoutMs: 100 })
    expect(slow).toMatchObject({ isError: true, data: { status: "timeout" } })
    expect(await agent.call("evaluate", { code: "process.exit(3)" })).toMatchObject({
      isError: true,
      data: { status: "exited", exitCode: 3 },
    })
    expect(await agent.call("evaluate", { code: "process.exit(0)" })).toMatchObject({
      isError: false,
      data: { status: "exited" },
    })
    expect((await agent.call("evaluate", { code: "kept" })).data).toMatchObject({ value: { data: "changed" } })
  })

  it("output comes as progress while the code runs, and cancelling the call stops it", async () => {
    const agent = await connect(generation)
    await agent.call("evaluate", { code: "let kept = 1" })
    const cancelling = new AbortController()
    const heard: string[] = []
    let started!: () => void
    const running = new Promise<void>((resolve) => {
      started = resolve
    })
    const call = agent.call(
      "evaluate",
      { code: "kept = 2; console.log('running'); for (;;) {}", timeoutMs: null },
      {
        signal: cancelling.signal,
        onprogress: ({ message = "" }) => {
          heard.push(message)
          started()
        },
      },
    )
    const ended = call.catch((error: unknown) => error)
    await running
    cancelling.abort("enough")
    expect(await ended).toBeInstanceOf(Error)
    expect(heard).toEqual(["running\n"])
    // It waits for the one before, so that it has been stopped.
    expect((await agent.call("evaluate", { code: "kept" })).data).toMatchObject({ value: { data: 1 } })
  })
})

describe("a change", () => {
  const agent = shared()
  it.each([
    ["that does not parse", { source: "export function f(" }, "invalid"],
    ["that removes what others use", { remove: ["base"] }, "definition_has_dependents"],
    ["of something that is not there", { remove: ["nothing"] }, "definition_not_found"],
    ["for another revision", { source: "export const base = 2", parent: 0 }, "stale_parent"],
    ["whose making throws", { source: "export const broken = (() => { throw new Error('no') })()" }, "threw"],
  ])("%s is rejected, and the session stands as it did", async (_what, change, kind) => {
    const session = String((await agent().call("open_session")).data["session"])
    const source = "export const base = 1; export function user() { return base }"
    await agent().call("submit_change", { session, source })
    const rejected = await agent().call("submit_change", { session, ...change })
    expect(rejected).toMatchObject({ isError: true, data: { status: "rejected", revision: 1, rejection: { kind } } })
    expect(rejected.text).toMatch(new RegExp(`^Rejected, ${kind}: `))
    const still = await agent().call("evaluate", { session, code: "user()" })
    expect(still.data).toMatchObject({ value: { data: 1 } })
  })
})

describe("what is refused", () => {
  const agent = shared()
  it.each([
    ["evaluate", {}, "invalid_options", "params.code is missing"],
    ["evaluate", { cod: "1", code: "1" }, "invalid_options", "params.cod is unknown"],
    ["evaluate", { code: "1", timeoutMs: -1 }, "invalid_options", "params.timeoutMs must be"],
    ["evaluate", { code: "1", session: "nowhere" }, "session_not_found", "open_session"],
    ["submit_change", {}, "invalid_options", "needs a source"],
    ["restore", { revision: 7 }, "revision_not_found", "0 to 0"],
    ["interrupt", { evalId: "evl_none" }, "eval_not_found", "evl_none"],
    ["open_session", { session: "default", profile: "minimal" }, "profile_conflict", "profile is fixed"],
    ["open_session", { profile: "full" }, "capability_denied", "nacre mcp --profile full"],
  ])("%s %j is the tool error %s", async (tool, args, kind, words) => {
    if (kind !== "session_not_found") await agent().call("evaluate", { code: "1" })
    const refused = await agent().call(tool, args)
    expect(refused).toMatchObject({ isError: true, error: { kind, retry: expect.any(String) as unknown } })
    expect(refused.text).toContain(`${kind}: `)
    expect(refused.text).toContain(words)
  })
})

describe("what whoever starts the server decides", () => {
  const code = "const { readFileSync } = await import('node:fs'); typeof readFileSync"

  it("is the most that code may do: by default there is no file system", async () => {
    const agent = await connect()
    const denied = await agent.call("evaluate", { code })
    expect(denied).toMatchObject({ isError: true, data: { status: "threw", error: { kind: "capability_denied" } } })
  })

  it("may be more, and a session may have less", async () => {
    const agent = await connect("handshake", "--profile", "full")
    expect((await agent.call("evaluate", { code })).data).toMatchObject({ value: { data: "function" } })
    await agent.call("open_session", { session: "less", profile: "standard" })
    expect(await agent.call("evaluate", { code, session: "less" })).toMatchObject({ isError: true })
  })

  it("has no other profiles", async () => {
    const { code: exit, stderr } = await new NacreProcess(["mcp", "--profile", "all"]).end()
    expect({ exit, stderr }).toEqual({ exit: 2, stderr: expect.stringContaining("minimal, standard, full") as unknown })
  })
})

describe("types", () => {
  it("are checked when that is asked for, and in changes", async () => {
    const agent = await connect()
    const wrong = { code: "console.log('ran'); const n: number = 'text'", check: "types" }
    const checked = await agent.call("evaluate", wrong)
    expect(checked).toMatchObject({ isError: true, data: { status: "invalid" } })
    expect(checked.text).not.toContain("ran\n")
    await agent.call("open_session", { session: "typed", check: "types" })
    const { code: source } = wrong
    expect((await agent.call("evaluate", { session: "typed", code: source })).data).toMatchObject({ status: "invalid" })
    const changed = await agent.call("submit_change", { source: "export const n: number = 'text'" })
    expect(changed).toMatchObject({ isError: true, data: { rejection: { kind: "check_failed" } } })
    const loose = await agent.call("submit_change", { source: "export const n: number = 'text'", check: "syntax" })
    expect(loose.data).toMatchObject({ status: "committed" })
  })
})

describe("limits", () => {
  it("a flood of output, a long value and a long error are cut, and say so", async () => {
    const agent = await connect()
    const flood = await agent.call("evaluate", {
      code: "for (let i = 0; i < 5000; i++) console.log('x'.repeat(99)); 'done'",
    })
    expect(flood.data).toMatchObject({ value: { text: "'done'" }, omittedBytes: expect.any(Number) as unknown })
    expect(flood.text.length).toBeLessThan(70_000)
    expect(flood.text).toMatch(/\d+ bytes of output above the limit were left out\./)
    const long = await agent.call("evaluate", { code: "'y'.repeat(1_000_000)" })
    expect(long.data["value"]).not.toHaveProperty("data")
    expect(JSON.stringify(long.data).length).toBeLessThan(40_000)
    const thrown = await agent.call("evaluate", { code: "throw new Error('z'.repeat(1_000_000))" })
    expect(JSON.stringify(thrown.data).length).toBeLessThan(80_000)
  })
})

describe("calls side by side", () => {
  it("another call interrupts what a session runs", async () => {
    const agent = await connect()
    let started!: () => void
    const running = new Promise<void>((resolve) => {
      started = resolve
    })
    const stuck = agent.call(
      "evaluate",
      { code: "console.log(1); for (;;) {}", session: "default" },
      { onprogress: () => started() },
    )
    await running
    expect((await agent.call("interrupt")).data).toEqual({ session: "default", interrupted: true })
    expect(await stuck).toMatchObject({ isError: true, data: { status: "interrupted" } })
    expect((await agent.call("evaluate", { code: "1 + 1" })).data).toMatchObject({ value: { data: 2 } })
  })

  it("sessions do not see each other's bindings, and calls of one keep their order", async () => {
    const agent = await connect()
    await Promise.all([agent.call("open_session", { session: "a" }), agent.call("open_session", { session: "b" })])
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => {
        const session = index % 2 === 0 ? "a" : "b"
        return agent.call("evaluate", {
          session,
          code: "var count = (typeof count === 'number' ? count : 0) + 1; count",
        })
      }),
    )
    expect(answers.map(({ data }) => (data["value"] as { data: number }).data)).toEqual(
      Array.from({ length: 20 }, (_, index) => Math.floor(index / 2) + 1),
    )
  })
})

// By hand

interface Message {
  id?: unknown
  method?: string
  result?: Record<string, unknown>
  error?: { code: number; message: string }
}

const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "hand", version: "1" } },
}
const initialized = { jsonrpc: "2.0", method: "notifications/initialized" }

function evaluate(id: unknown, code: string): object {
  return {
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name: "evaluate", arguments: { code, timeoutMs: null } },
  }
}

const lines = (...messages: (object | string)[]): string =>
  messages.map((message) => `${typeof message === "string" ? message : JSON.stringify(message)}\n`).join("")

/** The messages of an output; fails when a line is anything else. */
const unlines = (output: string): Message[] =>
  output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Message)

describe("the stream", () => {
  it("answers what is no message with an error, and what follows as if nothing had been", async () => {
    const process = new NacreProcess(["mcp"])
    process.child.stdin.write(
      lines(
        initialize,
        initialized,
        "{broken",
        "[]",
        '{"jsonrpc":"2.0","id":5}',
        '{"jsonrpc":"1.0","id":6,"method":"ping"}',
        { jsonrpc: "2.0", id: 7, method: "no/such" },
        evaluate(8, "6 * 7"),
      ),
    )
    await process.until(/"id":8,?/)
    const { stdout, code } = await process.end()
    const messages = unlines(stdout)
    expect(code).toBe(0)
    expect(messages.filter(({ id }) => id === undefined).map(({ error }) => error?.code)).toEqual([-32700, -32600])
    expect(
      messages.filter(({ id }) => [5, 6, 7].includes(id as number)).map(({ id, error }) => [id, error?.code]),
    ).toEqual([
      [5, -32600],
      [6, -32600],
      [7, -32601],
    ])
    expect(messages.find(({ id }) => id === 8)?.result).toMatchObject({ structuredContent: { value: { data: 42 } } })
  })

  it("refuses a second request of an id that is under way, and leaves the first alone", async () => {
    const process = new NacreProcess(["mcp"])
    process.child.stdin.write(
      lines(initialize, initialized, evaluate("same", "await new Promise(r => setTimeout(r, 50)); 'first'")),
    )
    process.child.stdin.write(lines(evaluate("same", "'second'")))
    await process.until(/'first'/)
    // Without the id, which is the first one's.
    const [refused, first] = unlines((await process.end()).stdout).filter(({ id }) => id !== 0)
    expect(refused).toEqual({
      jsonrpc: "2.0",
      error: { code: -32600, message: expect.stringContaining("under way") as unknown },
    })
    expect(first).toMatchObject({ id: "same", result: { structuredContent: { value: { data: "first" } } } })
  })

  it("carries nothing that code prints", async () => {
    const forged = '{"jsonrpc":"2.0","id":1,"result":{}}\\n'
    const code = `console.log('${forged}'); console.error('${forged}'); console.log('\\u0000\\ud800 \\u2028'); 1`
    const process = new NacreProcess(["mcp"])
    process.child.stdin.write(lines(initialize, initialized, evaluate(1, code)))
    await process.until(/"id":1[,}]/)
    const { stdout, stderr } = await process.end()
    expect(unlines(stdout).map(({ id }) => id)).toEqual([0, 1])
    expect(stderr).toBe("")
  })
})

describe("the end", () => {
  it("of the input stops what runs, and leaves nothing", async () => {
    const process = new NacreProcess(["mcp"])
    const run = { ...evaluate(1, "console.log('on'); for (;;) {}") } as { params: object }
    run.params = { ...run.params, _meta: { progressToken: 1 } }
    process.child.stdin.write(lines(initialize, initialized, run))
    await process.until(/"message":"on/)
    expect((await process.end()).code).toBe(0)
  })

  it("before anything was said is an orderly one", async () => {
    expect(await new NacreProcess(["mcp"]).end()).toEqual({ code: 0, stdout: "", stderr: "" })
  })

  it("of a client that does not read any more", async () => {
    const process = new NacreProcess(["mcp"])
    process.child.stdin.write(lines(initialize, initialized))
    await process.until(/"id":0/)
    process.child.stdout.destroy()
    process.child.stdin.write(lines(evaluate(1, "1"), evaluate(2, "2")))
    expect((await process.ended()).code).toBe(141)
  })

  it("by a signal, also while code runs", async () => {
    const process = new NacreProcess(["mcp"])
    const run = { ...evaluate(1, "console.log('on'); for (;;) {}") } as { params: object }
    run.params = { ...run.params, _meta: { progressToken: 1 } }
    process.child.stdin.write(lines(initialize, initialized, run))
    await process.until(/"message":"on/)
    process.child.kill("SIGTERM")
    expect((await process.ended()).code).toBe(143)
  })
})
