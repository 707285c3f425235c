// Tools: the embedder's functions as session code sees them, with values both ways, failures, limits and the way back.
import { describe, expect, test } from "vitest"
import type { ToolContext } from "nacre"
import { gate, until } from "../until.ts"
import { refusal, useNacre } from "./nacre-under-test.ts"

const calls: { args: unknown[]; call: ToolContext }[] = []
const concurrency = { now: 0, most: 0 }
const slots = new Map<string, () => void>()

class Weather extends Error {
  override readonly name = "Weather"
  readonly degrees = 21
}

const under = useNacre({
  limits: { toolTimeoutMs: 400, toolCallsMax: 3 },
  tools: {
    record: (args, call) => {
      calls.push({ args, call })
      return "recorded"
    },
    give: ([what]) => given[what as keyof typeof given],
    fail: ([how]) => failures[how as keyof typeof failures](),
    hang: () => new Promise(() => {}),
    // Holds a slot until the test frees it, and counts how many are held.
    slot: async ([name]) => {
      concurrency.now += 1
      concurrency.most = Math.max(concurrency.most, concurrency.now)
      await new Promise<void>((resolve) => slots.set(String(name), resolve))
      concurrency.now -= 1
      return name
    },
    reenter: async (_args, call) => {
      const refused = await refusal(under.nacre.session(call.session)!.eval("1"))
      return refused.kind
    },
    takeTurn: async ([what], call) => {
      const session = under.nacre.session(call.session)!
      const turns: Record<string, () => Promise<unknown>> = {
        reset: () => session.reset(),
        fork: () => session.fork(),
        mark: () => session.mark("m"),
        rollback: () => session.rollback("m"),
      }
      return (await refusal(turns[String(what)]!())).kind
    },
    elsewhere: async () => {
      const other = await under.open()
      return other.run("20 + 1")
    },
  },
})

const given = {
  map: new Map<unknown, unknown>([["k", { deep: [1, { d: new Date(5) }] }]]),
  bytes: new Uint8Array([1, 2, 255]),
  nothing: undefined,
  big: 10n ** 30n,
  function: () => 1,
}

const failures = {
  error: () => {
    throw new Weather("too warm")
  },
  rejected: async () => {
    throw new TypeError("rejected")
  },
  kinded: () => {
    throw Object.assign(new Error("no"), { kind: "weather_unknown" })
  },
  primitive: () => {
    // oxlint-disable-next-line no-throw-literal
    throw "a text"
  },
  uncloneable: () => {
    throw Object.assign(new Error("holds a function"), { callback: () => 1 })
  },
}

describe("a tool call", () => {
  test("carries arguments and results both ways, as copies", async () => {
    const session = await under.open({ principal: "ada" })
    calls.length = 0
    const outcome = await session.eval(`
      const shared = { n: 1 }
      await tools.record(1, "two", [shared, shared], new Map([[1, new Set([2])]]), new Date(7), undefined, 3n, new Uint8Array([9]))`)
    expect(outcome).toMatchObject({ status: "ok", value: { data: "recorded" } })
    const { args, call } = calls[0]!
    expect(args.slice(0, 2)).toEqual([1, "two"])
    const pair = args[2] as unknown[]
    expect(pair[0]).toBe(pair[1])
    expect(args.slice(3)).toEqual([new Map([[1, new Set([2])]]), new Date(7), undefined, 3n, new Uint8Array([9])])
    expect(call).toMatchObject({ session: session.id, evalId: outcome.evalId, workspace: "main", principal: "ada" })
    expect(
      await session.run(`const m = await tools.give("map"); [m instanceof Map, m.get("k").deep[1].d.getTime()]`),
    ).toEqual([true, 5])
    expect(await session.run(`const b = await tools.give("bytes"); [b instanceof Uint8Array, b[2]]`)).toEqual([
      true,
      255,
    ])
    expect(await session.run(`[await tools.give("nothing"), typeof await tools.give("big")]`)).toEqual([
      undefined,
      "bigint",
    ])
  })

  test("with an argument that cannot leave the session fails in the session, before any call", async () => {
    const session = await under.open()
    calls.length = 0
    const outcome = await session.eval(`await tools.record({ deep: [() => 1] })`)
    expect(outcome).toMatchObject({ status: "threw", error: { kind: "value_not_transferable" } })
    expect(outcome.error!.message).toContain("tools.record")
    expect(calls).toEqual([])
  })

  test("whose result cannot travel fails, says so, and leaves the session usable", async () => {
    const session = await under.open()
    const outcome = await session.eval(`await tools.give("function")`)
    expect(outcome).toMatchObject({ status: "threw" })
    expect(outcome.error!.message).not.toBe("")
    expect(await session.run("1")).toBe(1)
  })

  test.each([
    ["error", { name: "Weather", message: "too warm" }],
    ["rejected", { name: "TypeError", message: "rejected" }],
    ["kinded", { message: "no", kind: "weather_unknown" }],
    ["primitive", { message: "a text" }],
    ["uncloneable", { message: "holds a function" }],
  ])("that fails with %s rejects with it, and can be caught", async (how, error) => {
    const session = await under.open()
    const outcome = await session.eval(`await tools.fail("${how}")`)
    expect(outcome.status).toBe("threw")
    expect(`${outcome.error!.message} ${outcome.error!.rendered}`).toContain(error.message)
    if ("name" in error) expect(outcome.error!.name).toBe(error.name)
    if ("kind" in error) expect(outcome.error!.kind).toBe(error.kind)
    expect(await session.run(`try { await tools.fail("${how}"); "no" } catch { "caught" }`)).toBe("caught")
  })

  test("that throws an Error gives the session an Error of its own realm", async () => {
    const session = await under.open()
    expect(
      await session.run(
        `try { await tools.fail("error") } catch (e) { [e instanceof Error, e.name, e.message, e.degrees] }`,
      ),
    ).toEqual([true, "Weather", "too warm", 21])
  })

  test("that does not settle in time fails with tool_timeout and is told by its signal", async () => {
    const session = await under.open()
    const outcome = await session.eval(`await tools.hang()`)
    expect(outcome).toMatchObject({ status: "threw", error: { kind: "tool_timeout" } })
    expect(outcome.error!.message).toContain("hang")
  })

  test("is told by its signal when its eval is interrupted, and its late answer is dropped", async () => {
    const session = await under.open()
    const outcome = session.eval(`await tools.hold("told")`)
    const { gate: held, call } = await under.parked("told")
    expect(call.signal.aborted).toBe(false)
    await session.interrupt()
    expect(await outcome).toMatchObject({ status: "interrupted" })
    expect(call.signal.aborted).toBe(true)
    held.open()
    expect(await session.run("'after'")).toBe("after")
  })

  test("is told by its signal when the host dies, and when the eval ends without it", async () => {
    const session = await under.open()
    const crashed = session.eval(`await tools.hold("dies")`)
    const { call } = await under.parked("dies")
    await under.killHosts()
    expect((await crashed).status).toBe("crashed")
    expect(call.signal.aborted).toBe(true)
    const exited = session.eval(
      `tools.hold("left"); setTimeout(() => process.exit(), 20); await tools.hold("left too")`,
    )
    const left = await under.parked("left")
    expect(await exited).toMatchObject({ status: "exited", abandoned: [{ kind: "tool" }, { kind: "tool" }] })
    expect(left.call.signal.aborted).toBe(true)
  })

  test("nobody awaits is waited for: the eval ends when its calls have settled", async () => {
    const session = await under.open()
    const outcome = session.eval(`void tools.hold("unawaited").then(() => { globalThis.done = 1 }); 1`)
    const { gate: held } = await under.parked("unawaited")
    held.open()
    expect(await outcome).toMatchObject({ status: "ok", abandoned: [] })
    expect(await session.run("done")).toBe(1)
  })
})

test("a session runs only so many calls at once, in order, and answers all", async () => {
  const session = await under.open()
  concurrency.most = 0
  const outcome = session.eval(`await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((i) => tools.slot(i)))`)
  const order: string[] = []
  for (let i = 0; i < 8; i++) {
    const name = await until("a call to hold a slot", () => [...slots.keys()][0])
    order.push(name)
    slots.get(name)!()
    slots.delete(name)
  }
  expect(await outcome).toMatchObject({ status: "ok", value: { data: [0, 1, 2, 3, 4, 5, 6, 7] } })
  expect(order).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"])
  expect(concurrency.most).toBe(3)
})

test("an eval requested from a tool call of the same session is refused, of another one allowed", async () => {
  const session = await under.open()
  expect(await session.run(`await tools.reenter()`)).toBe("would_deadlock")
  expect(await session.run(`await tools.elsewhere()`)).toBe(21)
})

test("a session's own tools add to the nacre's and replace those of the same name", async () => {
  const session = await under.open({ tools: { echo: () => "own", extra: () => "extra" } })
  expect(await session.run(`[await tools.echo(), await tools.extra(), typeof tools.record]`)).toEqual([
    "own",
    "extra",
    "function",
  ])
})

test("many sessions can be parked at one instant and all finish", async () => {
  const open = gate()
  let parked = 0
  const wait = async (): Promise<void> => {
    parked += 1
    await open.opened
  }
  const sessions = await Promise.all(Array.from({ length: 60 }, () => under.open({ tools: { wait } })))
  // The time limit of a tool call is short in this file; all calls arrive and leave within it on a machine that is not stuck.
  const outcomes = sessions.map((it) => it.eval(`let n = 1; try { await tools.wait() } catch {} ; n`))
  await until("every session to be parked or ended", () => parked === 60 || undefined)
  open.open()
  for (const outcome of await Promise.all(outcomes)) expect(outcome).toMatchObject({ status: "ok", value: { data: 1 } })
})

test("a tool that fails has its place in the caller's source, whoever catches it, and no path of the embedder", async () => {
  const session = await under.open({
    tools: {
      fails: () => {
        throw new RangeError("no")
      },
    },
  })
  const source = `const before = 1\nasync function ask() {\n  return tools.fails()\n}\nawait ask()`
  const outcome = await session.eval(source, { file: "mine.ts" })
  expect(outcome.value).toBeUndefined()
  expect(outcome).not.toHaveProperty("value")
  expect(outcome.error).toMatchObject({ name: "RangeError", message: "no" })
  expect(outcome.error?.stack[0]).toEqual({ name: "ask", file: "mine.ts", line: 3, column: 16 })
  expect(outcome.error?.spans).toHaveLength(1)
  expect(JSON.stringify(outcome.error)).not.toMatch(/test\/system|node:/)
  const shown = (await session.run(`let s; try { await ask() } catch (e) { s = e.stack } s`)) as string
  expect(shown).toMatch(/^RangeError: no\n    at ask \(mine.ts:3:16\)/)
})

test("a tool that is missing is named, with those there are", async () => {
  const session = await under.open({ tools: { one: () => 1, two: () => 2 } })
  const outcome = await session.eval(`await tools.three(1)`)
  expect(outcome.error).toMatchObject({ kind: "tool_not_found" })
  expect(outcome.error?.message).toMatch(/^There is no tool 'three'; this session has: .*one, two/)
  expect(outcome.error?.stack).toHaveLength(1)
  expect(await session.run(`["one" in tools, "three" in tools, tools.then, JSON.stringify(tools)]`)).toEqual([
    true,
    false,
    undefined,
    "{}",
  ])
  expect(await session.run(`const t = tools; await t.two()`)).toBe(2)
  await under.killHosts()
  expect(await session.run(`await t.two()`)).toBe(2)
})

test.each(["reset", "fork", "mark", "rollback"])(
  "a tool that asks for %s of the session that waits for it is refused",
  async (what) => {
    const session = await under.open()
    await session.eval("let x = 1")
    expect(await session.run(`await tools.takeTurn("${what}")`)).toBe("would_deadlock")
    expect(await session.run("x")).toBe(1)
  },
)
