// The editor's session against a server of the test's: what is shown, and when a process is started, stopped and given up.
import { beforeEach, describe, expect, test } from "vitest"
import { EditorSession } from "../../../editors/vscode/source/session.ts"
import type { Connection, Settings, Status } from "../../../editors/vscode/source/session.ts"
import { outcomeText, problemsOf } from "../../../editors/vscode/source/report.ts"
import type { Outcome, Problem } from "../../../editors/vscode/source/report.ts"
import type { Selected } from "../../../editors/vscode/source/positions.ts"
import { gate, until } from "../../until.ts"

/** One process, whose answers the test gives. */
class FakeServer implements Connection {
  readonly profile: string
  readonly lose: (reason: string) => void
  readonly asked: { params: Record<string, unknown>; options: { timeoutMs?: number; signal?: AbortSignal } }[] = []
  isClosed = false
  #output: ((params: { text: string }) => void) | undefined
  answer: (code: string, signal: AbortSignal) => Promise<Partial<Outcome>> = async (code) => ok(code)

  constructor(profile: string, lose: (reason: string) => void) {
    this.profile = profile
    this.lose = lose
  }

  print(text: string): void {
    this.#output?.({ text })
  }

  readonly request = (async (_method: string, params: never, options: never) => {
    this.asked.push({ params, options })
    const { code } = params as { code: string }
    return { ...ended, ...(await this.answer(code, (options as { signal: AbortSignal }).signal)) }
  }) as never

  readonly on = ((_name: string, listener: never) => {
    this.#output = listener
    return () => {}
  }) as never

  async close(): Promise<void> {
    this.isClosed = true
  }
}

const ended = { omittedBytes: 0, lost: [], durationMs: 3 } as unknown as Outcome
const ok = (text: string): Partial<Outcome> => ({ status: "ok", value: { text, inert: false, type: "string" } })
const at = (text: string, uri = "file:///a.ts", line = 0): Selected => ({
  uri,
  file: uri.slice(8),
  text,
  start: { line, character: 0 },
})

let servers: FakeServer[]
let settings: Settings
let shown: string
let problems: Map<string, readonly Problem[]>
let statuses: Status[]
let session: EditorSession
let refuse: Error | undefined

beforeEach(() => {
  servers = []
  settings = { profile: "standard", timeoutMs: 10_000 }
  shown = ""
  problems = new Map()
  statuses = []
  refuse = undefined
  session = new EditorSession({
    connect: async (profile, lose) => {
      if (refuse !== undefined) throw refuse
      const server = new FakeServer(profile, lose)
      servers.push(server)
      return server
    },
    settings: () => settings,
    display: {
      write: (text) => {
        shown += text
      },
      problems: (uri, found) => problems.set(uri, found),
      status: (status) => statuses.push(status),
    },
  })
})

describe("an evaluation", () => {
  test("starts the process, names the place, and shows output and value", async () => {
    expect(servers).toHaveLength(0)
    await session.evaluate(at("1 + 1", "file:///a.ts", 6))
    expect(shown).toBe("\n[a.ts:7]\n=> 1 + 1\n")
    expect(servers[0]!.asked[0]).toMatchObject({
      params: { code: "1 + 1", file: "a.ts", line: 7, timeoutMs: 10_000 },
    })
    servers[0]!.print("late\n")
    expect(shown).toContain("late\n")
    await session.evaluate(at("2"))
    expect(servers).toHaveLength(1)
  })

  test("shows an error as it is rendered, and a problem at each place, until the next one", async () => {
    await session.evaluate(at("0"))
    servers[0]!.answer = async () => ({
      status: "threw",
      error: {
        name: "TypeError",
        message: "no",
        rendered: "TypeError: no\n  | ^",
        stack: [],
        spans: [{ start: 4, end: 5, line: 1, column: 5 }],
      },
    })
    await session.evaluate(at("let x = y", "file:///a.ts", 2))
    expect(shown).toContain("TypeError: no\n  | ^\n")
    const place = { start: { line: 2, character: 4 }, end: { line: 2, character: 5 } }
    expect(problems.get("file:///a.ts")).toEqual([{ range: place, message: "TypeError: no" }])
    const other = session.evaluate(at("1", "file:///b.ts"))
    await other
    expect(problems.get("file:///a.ts")).toHaveLength(1)
    servers[0]!.answer = async (code) => ok(code)
    await session.evaluate(at("1", "file:///a.ts"))
    expect(problems.get("file:///a.ts")).toEqual([])
  })

  test("of a selection that begins inside a line has the document's columns, in its first line and after it", async () => {
    await session.evaluate(at("0"))
    const [server] = servers
    const text = "f(x)\ng(y)"
    server!.answer = async (code) => {
      const place = (name: string) => ({ start: code.indexOf(name), end: code.indexOf(name) + 1, line: 0, column: 0 })
      const error = { name: "Error", message: "no", rendered: "no", stack: [], spans: [place("x"), place("y")] }
      return { status: "threw", error }
    }
    await session.evaluate({ ...at(text), start: { line: 4, character: 8 } })
    expect(server!.asked.at(-1)!.params).toMatchObject({ code: `        ${text}`, line: 5 })
    expect(problems.get("file:///a.ts")!.map(({ range }) => range)).toEqual([
      { start: { line: 4, character: 10 }, end: { line: 4, character: 11 } },
      { start: { line: 5, character: 2 }, end: { line: 5, character: 3 } },
    ])
    server!.answer = async () => ({
      status: "threw",
      error: { name: "Error", message: "no", rendered: "no", stack: [], spans: [] },
    })
    await session.evaluate({ ...at(text), start: { line: 4, character: 8 } })
    expect(problems.get("file:///a.ts")![0]!.range.start).toEqual({ line: 4, character: 8 })
  })

  test("of several editors goes to one session, in order", async () => {
    const held = gate()
    await session.evaluate(at("0"))
    const [server] = servers
    server!.answer = async (code) => {
      if (code === "first") await held.opened
      return ok(code)
    }
    const first = session.evaluate(at("first", "file:///a.ts"))
    const second = session.evaluate(at("second", "file:///b.ts"))
    await until("the first one is asked", () => server!.asked.length === 2)
    // What it writes stands under its own place, whatever waits behind it.
    server!.print("written\n")
    held.open()
    await Promise.all([first, second])
    expect(shown).toBe("\n[a.ts:1]\n=> 0\n\n[a.ts:1]\nwritten\n=> first\n\n[b.ts:1]\n=> second\n")
    expect(server!.asked.map(({ params }) => [params["file"], params["code"]])).toEqual([
      ["a.ts", "0"],
      ["a.ts", "first"],
      ["b.ts", "second"],
    ])
    expect(servers).toHaveLength(1)
  })

  test("that is stopped is told, and the session stays", async () => {
    await session.evaluate(at("0"))
    servers[0]!.answer = (_code, signal) =>
      new Promise((resolve) =>
        signal.addEventListener("abort", () => resolve({ status: "interrupted", because: "aborted" })),
      )
    const running = session.evaluate(at("for (;;) {}"))
    const waiting = session.evaluate(at("2"))
    await until("it runs", () => servers[0]!.asked.length === 2)
    expect(session.stop()).toBe(true)
    await Promise.all([running, waiting])
    expect(shown).toContain("(interrupted, because aborted, after 3 ms)")
    expect(shown).toContain("Not evaluated: it was interrupted before it began.")
    expect(servers[0]!.asked).toHaveLength(2)
    expect(session.stop()).toBe(false)
    expect(servers).toHaveLength(1)
  })

  test("has a time limit from when its code begins, which is named when it was what ended it", async () => {
    settings = { ...settings, timeoutMs: 3_000 }
    await session.evaluate(at("0"))
    const [server] = servers
    server!.answer = async () => ({ status: "timeout" })
    await session.evaluate(at("for (;;) {}"))
    expect(shown).toMatch(/\(stopped at its time limit of 3000 ms, setting nacre\.session\.timeoutMs\)\n$/)
    // The client library's own deadline stands behind that of the process, and is no other limit.
    expect(server!.asked.at(-1)).toMatchObject({ params: { timeoutMs: 3_000 }, options: { timeoutMs: 13_000 } })
    server!.answer = async () => ({ status: "interrupted", because: "aborted" })
    await session.evaluate(at("stuck"))
    expect(shown).toMatch(/\(stopped at its time limit of 3000 ms[^\n]+\n$/)
    for (const [timeoutMs, ms, guardMs] of [
      [2 ** 31 - 1, 2 ** 31 - 1, 2 ** 31 - 1],
      [150.5, 151, 10_151],
      [-1, 1, 10_001],
    ] as const) {
      settings = { ...settings, timeoutMs }
      await session.evaluate(at("1"))
      expect(server!.asked.at(-1)).toMatchObject({ params: { timeoutMs: ms }, options: { timeoutMs: guardMs } })
    }
  })

  test("that waits for a session which ends is not evaluated in the next one", async () => {
    await session.evaluate(at("0"))
    const held = gate()
    servers[0]!.answer = async () => {
      await held.opened
      throw new Error("This client was closed.")
    }
    const both = [session.evaluate(at("1")), session.evaluate(at("2"))]
    await until("it runs", () => servers[0]!.asked.length === 2)
    const restarted = session.restart()
    held.open()
    await Promise.all([restarted, ...both])
    expect(shown).toContain("Not evaluated: the session that it was meant for has ended.")
    expect(servers.map(({ asked }) => asked.length)).toEqual([2, 0])
  })

  test("by a process that cannot be started is told where it was asked for, and tried again", async () => {
    refuse = new Error("no such program: npx")
    await session.evaluate(at("1"))
    expect(shown).toContain("Not evaluated: no such program: npx")
    expect(problems.get("file:///a.ts")?.[0]?.message).toContain("no such program")
    refuse = undefined
    await session.evaluate(at("2"))
    expect(shown).toContain("=> 2")
  })
})

test("a hung process, which the client has killed, is followed by another", async () => {
  await session.evaluate(at("0"))
  const [hung] = servers
  hung!.answer = async () => {
    hung!.lose("it hung")
    throw Object.assign(new Error("No answer"), { kind: "timed_out" })
  }
  await session.evaluate(at("hang"))
  expect(shown).toContain("the session has ended, with all it held: it hung")
  expect(shown).toContain("The process did not stop it at the time limit of 10000 ms, and was killed.")
  await session.evaluate(at("1"))
  expect(servers).toHaveLength(2)
  expect(shown).toMatch(/=> 1\n$/)
})

describe("a restart", () => {
  test("closes the process and starts another", async () => {
    await session.evaluate(at("0"))
    await session.restart()
    expect(servers.map(({ isClosed }) => isClosed)).toEqual([true, false])
    expect(shown).toContain("[session restarted, profile standard]")
  })

  test("comes with another profile, which is shown as it is", async () => {
    await session.evaluate(at("0"))
    settings = { ...settings, profile: "full" }
    // Until then the session that runs has the old one.
    expect(statuses.at(-1)).toEqual({ profile: "standard", state: "ready" })
    await session.settingsChanged()
    expect(servers.map(({ profile, isClosed }) => [profile, isClosed])).toEqual([
      ["standard", true],
      ["full", false],
    ])
    expect(statuses.at(-1)).toEqual({ profile: "full", state: "ready" })
  })

  test("does not come with other settings, nor before there is a session", async () => {
    settings = { ...settings, profile: "minimal" }
    await session.settingsChanged()
    expect(servers).toHaveLength(0)
    expect(statuses.at(-1)).toEqual({ profile: "minimal", state: "stopped" })
    await session.evaluate(at("0"))
    settings = { ...settings, timeoutMs: 50 }
    await session.settingsChanged()
    expect(servers).toHaveLength(1)
    await session.evaluate(at("1"))
    expect(servers[0]!.asked.at(-1)!.params["timeoutMs"]).toBe(50)
  })

  test("twice at once leaves one process", async () => {
    await session.evaluate(at("0"))
    await Promise.all([session.restart(), session.restart(), session.evaluate(at("1"))])
    expect(servers.filter(({ isClosed }) => !isClosed)).toHaveLength(1)
  })
})

test("what is shown of an outcome", () => {
  expect(outcomeText({ ...ended, status: "ok" })).toBe("(no value)\n")
  expect(outcomeText({ ...ended, status: "crashed", because: "out-of-memory", lost: ["a"] })).toBe(
    "(crashed, because out-of-memory, after 3 ms)\n(lost with the process that held them: a)\n",
  )
  expect(outcomeText({ ...ended, ...ok("1"), omittedBytes: 9 })).toContain("9 bytes of output")
  const bare = { name: "Error", message: "", rendered: "Error", stack: [], spans: [] }
  const [problem] = problemsOf({ ...ended, status: "threw", error: bare }, at("ab\ncd"))
  expect(problem).toEqual({
    message: "Error",
    range: { start: { line: 0, character: 0 }, end: { line: 0, character: 2 } },
  })
})
