// Evals inside of evals: requested by a tool that the outer one awaits, with outcomes of their own and one fate in what is committed.
import { describe, expect, test } from "vitest"
import type { EvalOptions, Outcome, ToolContext } from "nacre"
import { until } from "../until.ts"
import { refusal, useNacre } from "./nacre-under-test.ts"

const outcomes: Outcome[] = []
let reached = 0
let late: Promise<Outcome> | undefined

const under = useNacre({
  limits: { toolTimeoutMs: 60_000 },
  tools: {
    /** Evaluates a source in the session that calls, and gives what its outcome says. */
    inside: async ([source], { session }) => {
      const onOutput = (): void => void (reached += 1)
      const outcome = await sessionOf(session).eval(String(source), { nested: true, onOutput })
      outcomes.push(outcome)
      return outcome.status === "ok" ? outcome.value?.data : (outcome.error?.message ?? outcome.status)
    },
    insideAndFail: async ([source], { session }) => {
      await sessionOf(session).eval(String(source), { nested: true })
      throw new Error("after it")
    },
    refused: async ([options], { session }) => {
      const rejected = await refusal(sessionOf(session).eval("1", options as EvalOptions))
      return rejected.kind
    },
    /** Requests one and does not wait for it. */
    leave: ([source], { session }) => {
      late = sessionOf(session).eval(String(source), { nested: true })
    },
    hang: (_args, call) => {
      reached += 1
      calls.push(call)
      return new Promise(() => {})
    },
    record: (_args, call) => void calls.push(call),
  },
})
const calls: ToolContext[] = []

function sessionOf(id: string) {
  return under.nacre.session(id)!
}

/** Nothing is resident any more: what comes next is built from what was committed. */
async function killHosts(): Promise<void> {
  for (const { host } of under.nacre.placement()) host.kill("to see what is committed")
}

describe("an eval inside of an eval", () => {
  test("goes on with the state of the outer one, which goes on with its", async () => {
    const session = await under.open()
    outcomes.length = 0
    const outer = await session.eval(`
      let n = 1
      let kept = [1]
      const before = n
      const seen = await tools.inside("n += 10; kept.push(2); let fresh = n * 2; fresh")
      n += 100
      ;[before, seen, n, kept, fresh]`)
    expect(outer).toMatchObject({ status: "ok", value: { data: [1, 22, 111, [1, 2], 22] } })
    expect(outcomes).toMatchObject([
      { status: "ok", value: { data: 22 }, committed: { set: ["n", "fresh"], pending: true }, lost: [], ephemeral: [] },
    ])
    expect(outer.committed.set.toSorted()).toEqual(["before", "fresh", "kept", "n", "seen"])
    expect(outer.committed.pending).toBe(false)
    expect(outcomes[0]!.evalId).not.toBe(outer.evalId)
    await killHosts()
    expect(await session.run("[n, kept, fresh]")).toEqual([111, [1, 2], 22])
  })

  test("is seen by every kind of code that waits for it", async () => {
    const session = await under.open()
    await session.run("let read = 1; let called = 1; let caught = 1; let looped = 0; const list = []")
    const outer = await session.eval(`
      async function inFunction() { await tools.inside("called = 7"); return called }
      const inClosure = () => caught
      const first = read
      await tools.inside("read = 5; list.push('inner')")
      const fromFunction = await inFunction()
      try { await tools.insideAndFail("caught = 9") } catch { list.push("caught") }
      for (let i = 0; i < 3; i++) { await tools.inside("looped += 1"); looped += 10 }
      ;[first, read, fromFunction, called, caught, inClosure(), looped, list]`)
    const expected = [1, 5, 7, 7, 9, 9, 33, ["inner", "caught"]]
    expect(outer).toMatchObject({ status: "ok", value: { data: expected } })
    await killHosts()
    const again = "[1, read, await inFunction(), called, caught, inClosure(), looped, list]"
    expect(await session.run(again)).toEqual(expected)
  })

  test("defines and redefines: what is in force last is what is kept", async () => {
    const session = await under.open()
    await session.run(`function base() { return 1 }`)
    const outer = await session.eval(`
      function own() { return base() }
      const first = own()
      await tools.inside("function base() { return 2 } function own() { return 10 * base() } class Made { x = 3 } const made = new Made(); type T = number")
      ;[first, own(), base(), made.x]`)
    // The statements of the outer one are pinned to the definitions that they began with.
    expect(outer).toMatchObject({ status: "ok", value: { data: [1, 1, 1, 3] } })
    expect(await session.run("[own(), base()]")).toEqual([20, 2])
    expect(outer.committed.definitions.toSorted()).toEqual(["Made", "T", "base", "own"])
    await killHosts()
    expect(await session.run("[own(), base(), made instanceof Made, made.x]")).toEqual([20, 2, true, 3])
  })

  test("that throws, does not parse or exits is not the end of the outer one", async () => {
    const session = await under.open()
    outcomes.length = 0
    const outer = await session.eval(`
      let n = 0
      const said = [
        await tools.inside("n = 1; let never = missing; n = 2"),
        await tools.inside("let n = boom()"),
        await tools.inside("n = )"),
        await tools.inside("n += 5; process.exit(3); n = 100"),
      ]
      ;[n, said[0], typeof never]`)
    expect(outer).toMatchObject({ status: "ok", value: { data: [6, "missing is not defined", "undefined"] } })
    expect(outcomes.map((it) => it.status)).toEqual(["threw", "threw", "invalid", "exited"])
    expect(outcomes[3]).toMatchObject({ exitCode: 3 })
    await killHosts()
    expect(await session.run("n")).toBe(6)
  })

  test("has its own output and tool calls", async () => {
    const session = await under.open({ principal: "ada" })
    outcomes.length = calls.length = 0
    const outer = await session.eval(`
      console.log("outer"); await tools.inside("console.log('inner'); await tools.record(); Session.current.id"); console.log("outer again")`)
    expect(outer.output.map((it) => it.text).join("")).toBe("outer\nouter again\n")
    expect(outcomes[0]!.output.map((it) => it.text).join("")).toBe("inner\n")
    expect(outcomes[0]!.value?.data).toBe(session.id)
    expect(calls).toMatchObject([{ evalId: outcomes[0]!.evalId, principal: "ada" }])
    expect(session.outcome(outcomes[0]!.evalId)?.status).toBe("ok")
  })

  test("can hold another one, and those requested side by side come one after the other", async () => {
    const session = await under.open()
    const outer = await session.eval(`
      let trace = []
      await Promise.all([
        tools.inside("trace.push('a1'); await tools.inside('trace.push(\\"inner\\")'); trace.push('a2')"),
        tools.inside("trace.push('b1'); await new Promise((done) => setTimeout(done, 1)); trace.push('b2')"),
      ])
      trace`)
    const data = outer.value?.data as string[]
    expect([
      ["a1", "inner", "a2", "b1", "b2"],
      ["b1", "b2", "a1", "inner", "a2"],
    ]).toContainEqual(data)
  })

  test("queues its writes with those of the outer one", async () => {
    const session = await under.open()
    await session.run("let n = 1")
    const outer = await session.eval(`
      Session.current.bindings.atPut("a", 1)
      await tools.inside("Session.current.bindings.atPut('b', { at: 2 }); typeof b")
      n = 2`)
    expect(outer).toMatchObject({ status: "ok", rejected: [] })
    expect(await session.run("[a, b.at, n]")).toEqual([1, 2, 2])
  })

  test("leaves `_` to the outer one", async () => {
    const session = await under.open()
    await session.run("7")
    await session.run("await tools.inside('8'); undefined")
    expect(await session.run("_")).toBe(7)
  })

  test("is waited for, also when the tool that requested it did not", async () => {
    const session = await under.open()
    // Its first statement comes before the answer of the tool; the rest when everything else of the outer one is done.
    const source = `let n = 0; await tools.leave("await tools.hold('left'); n = 5"); console.log("done"); n`
    const { outcome } = await under.computing(session, source)
    const { gate: held } = await under.parked("left")
    held.open()
    expect(await late).toMatchObject({ status: "ok", committed: { set: ["n"], pending: true } })
    expect(await outcome).toMatchObject({ status: "ok", value: { data: 0 } })
    await killHosts()
    expect(await session.run("n")).toBe(5)
  })
})

describe("what ends the one ends the other", () => {
  const nest = `let n = 2; await tools.inside("n = 3; await tools.hang()")`

  async function hanging() {
    const session = await under.open()
    await session.run("let n = 1")
    outcomes.length = 0
    const before = reached
    const outer = session.eval(nest)
    await until("the inner eval to wait", () => reached > before)
    return { session, outer, innerId: calls.at(-1)!.evalId }
  }

  test("interrupting the outer one", async () => {
    const { session, outer } = await hanging()
    expect(await session.interrupt()).toBe(true)
    expect(await outer).toMatchObject({ status: "interrupted", committed: { set: [] } })
    await until("the inner outcome", () => outcomes.length > 0)
    expect(outcomes).toMatchObject([
      { status: "interrupted", because: "outer-ended", committed: { set: [], pending: false } },
    ])
    expect(await session.run("n")).toBe(1)
  })

  test("interrupting the inner one", async () => {
    const { session, outer, innerId } = await hanging()
    expect(await session.interrupt(innerId)).toBe(true)
    expect(await outer).toMatchObject({ status: "interrupted", because: "nested" })
    await until("the inner outcome", () => outcomes.length > 0)
    expect(outcomes).toMatchObject([{ evalId: innerId, status: "interrupted" }])
    expect(outcomes[0]!.because).toBeUndefined()
    expect(await session.run("n")).toBe(1)
  })

  test("the death of their host", async () => {
    const { session, outer } = await hanging()
    await killHosts()
    expect((await outer).status).toBe("crashed")
    await until("the inner outcome", () => outcomes.length > 0)
    expect(outcomes).toMatchObject([{ status: "crashed" }])
    expect(await session.run("n")).toBe(1)
  })

  test("the end of a thread in which the inner one computes without end", async () => {
    const session = await under.open()
    await session.run("let n = 1")
    outcomes.length = 0
    const before = reached
    const outer = session.eval(`await tools.inside("n = 2; console.log('inner'); for (;;);")`)
    await until("the inner eval to compute", () => reached > before)
    expect(await session.interrupt()).toBe(true)
    expect(await outer).toMatchObject({ status: "interrupted", output: [] })
    await until("the inner outcome", () => outcomes.length > 0)
    expect(outcomes).toMatchObject([{ status: "interrupted", output: [{ text: "inner\n" }] }])
    expect(await session.run("n")).toBe(1)
  })

  test("a time limit of the outer one", async () => {
    const session = await under.open()
    await session.run("let n = 1")
    outcomes.length = 0
    expect(await session.eval(nest, { timeoutMs: 100 })).toMatchObject({ status: "timeout" })
    // On a slow machine it may not have come to the inner one.
    for (const { status } of outcomes) expect(status).toBe("timeout")
    expect(await session.run("n")).toBe(1)
  })

  test("closing the session", async () => {
    const { session, outer } = await hanging()
    await session.close()
    expect((await outer).status).toBe("interrupted")
    await until("the inner outcome", () => outcomes.length > 0)
    expect(outcomes).toMatchObject([{ status: "interrupted" }])
  })

  test("`atomic` of the outer one", async () => {
    const session = await under.open()
    await session.run("let n = 1")
    const outer = await session.eval(`await tools.inside("n = 2"); throw new Error("no")`, { atomic: true })
    expect(outer).toMatchObject({ status: "threw", committed: { set: [] } })
    expect(await session.run("n")).toBe(1)
  })
})

test("it is asked for, and has no limits of its own; without it a session refuses to wait for itself", async () => {
  const session = await under.open()
  expect(await session.run("await tools.refused({})")).toBe("would_deadlock")
  expect(await session.run("await tools.refused({ nested: true, atomic: true })")).toBe("invalid_options")
  expect(await session.run("await tools.refused({ nested: true, timeoutMs: 5 })")).toBe("invalid_options")
  expect(await session.eval("1 + 1", { nested: true })).toMatchObject({ status: "ok", value: { data: 2 } })
})
