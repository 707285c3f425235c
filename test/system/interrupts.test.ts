// Interrupts and time limits, on every rung of the ladder: unbegun, parked, computing, and stuck in a native call.
import { describe, expect, test } from "vitest"
import { refusal, useNacre } from "./nacre-under-test.ts"

// The sorted array alone has 400 MB, and is made from another one.
const under = useNacre({ hosts: { min: 1, max: 2, memoryBytesMax: 2 * 1024 ** 3 } })

/** Code that never lets its thread go, but can be stopped with it. */
const endless = {
  "a plain loop": `for (;;);`,
  "a loop that swallows everything": `for (;;) { try { for (;;); } catch {} finally { for (;;); } }`,
  "a loop in finally": `try { throw 1 } finally { for (;;); }`,
  "a flood of microtasks": `const spin = () => { Promise.resolve().then(spin) }; spin(); await new Promise(() => {})`,
  "a loop of awaits": `for (;;) await null`,
  "a loop after an await": `await tools.echo(); console.log("begun again"); for (;;);`,
  "a loop in a timer": `setTimeout(() => { for (;;); }, 1); await tools.hold("never")`,
  "a loop in a thenable": `await { then() { for (;;); } }`,
  "a catastrophic regular expression": `/^(a+)+$/.test("a".repeat(64) + "b")`,
  "a loop in a getter that the preview meets": `({ get x() { for (;;); } }).x`,
  "a loop in a proxy trap": `new Proxy({}, { get() { for (;;); } }).x`,
}

describe("interrupting", () => {
  test.each(Object.entries(endless))(
    "%s ends it within its bound and keeps what was committed",
    async (_name, code) => {
      const session = await under.open()
      await session.eval("let x = 'committed'")
      const { outcome, evalId } = await under.computing(session, `x = "half"; console.log("begun"); ${code}`)
      const asked = performance.now()
      expect(await session.interrupt(evalId)).toBe(true)
      expect(await outcome).toMatchObject({ status: "interrupted", evalId, lost: [], output: [{ text: /^begun\n/ }] })
      // 15 ms of grace, 250 ms for the thread, and a busy machine.
      expect(performance.now() - asked).toBeLessThan(3_000)
      expect(await session.run("x")).toBe("committed")
    },
  )

  test.each([
    ["a sort of 5e7 elements", `const xs = new Float64Array(5e7).map(Math.random); console.log("begun"); xs.sort()`],
    [
      "JSON.parse of a million objects",
      `const text = "[" + '{"a":{"b":[1,2,3]}},'.repeat(1_000_000) + "0]"; console.log("begun"); for (;;) JSON.parse(text)`,
    ],
  ])("%s takes its host with it when the thread does not stop", async (_name, code) => {
    const session = await under.open()
    await session.eval("let x = 'committed'")
    const { outcome } = await under.computing(session, code)
    await session.interrupt()
    expect((await outcome).status).toBe("interrupted")
    expect(await session.run("x")).toBe("committed")
  })

  test("an idle session does nothing", async () => {
    const session = await under.open()
    expect(await session.interrupt()).toBe(false)
    await session.eval("1")
    expect(await session.interrupt()).toBe(false)
    expect(await session.run("2")).toBe(2)
  })

  test("with an id that is not under way fails and stops nothing", async () => {
    const session = await under.open()
    const ended = await session.eval("1")
    expect((await refusal(session.interrupt("evl_unknown"))).kind).toBe("eval_not_found")
    const waiting = session.eval(`await tools.hold("other")`)
    const { gate, call } = await under.parked("other")
    expect((await refusal(session.interrupt(ended.evalId))).kind).toBe("eval_not_found")
    gate.open()
    expect(await waiting).toMatchObject({ status: "ok", evalId: call.evalId })
  })

  test("right after the request ends the eval, whether or not its shell or code had begun", async () => {
    const session = await under.open()
    const first = session.eval("for (;;);")
    expect(await session.interrupt()).toBe(true)
    expect((await first).status).toBe("interrupted")
    const second = session.eval("for (;;);")
    expect(await session.interrupt()).toBe(true)
    expect((await second).status).toBe("interrupted")
  })

  test("a queued eval ends only that one, and nothing of it ran", async () => {
    const session = await under.open()
    const abort = new AbortController()
    const first = session.eval(`await tools.hold("first"); 1`)
    const second = session.eval(`var ran = true`, { signal: abort.signal })
    const third = session.eval(`typeof ran`)
    const { gate } = await under.parked("first")
    abort.abort()
    expect(await second).toMatchObject({ status: "interrupted", because: "aborted", durationMs: 0 })
    gate.open()
    expect((await first).status).toBe("ok")
    expect((await third).value?.data).toBe("undefined")
  })

  test("by a signal that is aborted already, or aborts while the code runs, ends it as aborted", async () => {
    const session = await under.open()
    expect(await session.eval("for (;;);", { signal: AbortSignal.abort() })).toMatchObject({ because: "aborted" })
    const abort = new AbortController()
    const { outcome } = await under.computing(session, `console.log("begun"); for (;;);`, { signal: abort.signal })
    abort.abort()
    expect(await outcome).toMatchObject({ status: "interrupted", because: "aborted" })
  })

  test("twice at once gives one outcome", async () => {
    const session = await under.open()
    const { outcome } = await under.computing(session, `console.log("begun"); for (;;);`)
    expect(await Promise.all([session.interrupt(), session.interrupt(), session.interrupt()])).toEqual([
      true,
      true,
      true,
    ])
    expect((await outcome).status).toBe("interrupted")
    expect(await session.run("1")).toBe(1)
  })

  test("names what only the realm held", async () => {
    const session = await under.open()
    expect((await session.eval(`let pending = new Promise(() => {}); let kept = 1`)).ephemeral).toEqual(["pending"])
    const { outcome } = await under.computing(session, `console.log("begun"); for (;;);`)
    await session.interrupt()
    expect(await outcome).toMatchObject({ status: "interrupted", lost: ["pending"] })
    const read = await session.eval("pending")
    expect(read).toMatchObject({ status: "threw", error: { kind: "binding_lost" } })
    expect((await refusal(Promise.resolve().then(() => session.bindings.at("pending")))).kind).toBe("binding_lost")
    expect(await session.run("kept")).toBe(1)
  })
})

describe("a time limit", () => {
  test.each(Object.entries(endless))("ends %s as timeout", async (_name, code) => {
    const session = await under.open()
    const outcome = await session.eval(code, { timeoutMs: 200 })
    expect(outcome).toMatchObject({ status: "timeout" })
    expect(await session.run("1")).toBe(1)
  })

  test("of the session holds where the eval gives none, and Infinity means none", async () => {
    const session = await under.open({ evalTimeoutMs: 150 })
    expect((await session.eval(`await tools.hold("limited")`)).status).toBe("timeout")
    const waiting = session.eval(`await tools.hold("unlimited"); "done"`, { timeoutMs: Infinity })
    const { gate } = await under.parked("unlimited")
    const end = performance.now() + 400
    while (performance.now() < end) await new Promise((resolve) => setImmediate(resolve))
    gate.open()
    expect((await waiting).status).toBe("ok")
  })

  test("that is no positive number is refused by name", async () => {
    const session = await under.open()
    for (const timeoutMs of [0, -1, Number.NaN, "5" as unknown as number]) {
      const refused = await refusal(session.eval("1", { timeoutMs }))
      expect(refused.kind).toBe("invalid_options")
      expect(refused.message).toContain("timeoutMs")
    }
  })
})

describe("never_settles", () => {
  test.each([
    ["a promise nobody holds", `await new Promise(() => {})`],
    ["a rejection handler that waits for one", `await Promise.reject(1).catch(() => new Promise(() => {}))`],
    ["one after a tool call", `await tools.echo(); await new Promise(() => {})`],
    [
      "one after its only timer was cleared",
      `const id = setTimeout(() => {}, 1e6); clearTimeout(id); await new Promise(() => {})`,
    ],
    [
      "an async iterator that never comes",
      `for await (const x of { [Symbol.asyncIterator]: () => ({ next: () => new Promise(() => {}) }) });`,
    ],
  ])("ends an eval that awaits %s", async (_name, code) => {
    const session = await under.open()
    const outcome = await session.eval(`let before = 1; ${code}`)
    expect(outcome).toMatchObject({ status: "threw", error: { kind: "never_settles" } })
    expect(await session.run("before")).toBe(1)
  })
})
