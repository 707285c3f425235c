// Sessions as their embedder holds them: queue and order, ephemerals, forks, marks, reset, closing, isolation.
import { describe, expect, test } from "vitest"
import { EvalFailure } from "nacre"
import type { Session } from "nacre"
import { until } from "../until.ts"
import { refusal, useNacre } from "./nacre-under-test.ts"

const under = useNacre({ limits: { queueMax: 4, sourceMax: 10_000, sessionsMax: 40 } })

describe("the queue", () => {
  test("runs evals one at a time and resolves them in the order of the calls, also behind a parked one", async () => {
    const session = await under.open()
    const ended: number[] = []
    const first = session.eval(`var log = []; await tools.hold("first"); log.push(1)`).then(() => ended.push(1))
    const rest = [2, 3, 4].map((n) => session.eval(`log.push(${n})`).then(() => ended.push(n)))
    const { gate } = await under.parked("first")
    expect(ended).toEqual([])
    gate.open()
    await Promise.all([first, ...rest])
    expect(ended).toEqual([1, 2, 3, 4])
    expect(await session.run("log")).toEqual([1, 2, 3, 4])
  })

  test("keeps the order of calls made before, while and after the shell starts", async () => {
    const session = await under.open()
    const first = session.eval("var log = [1]")
    const second = session.eval("log.push(2)")
    await Promise.resolve()
    const third = session.eval("log.push(3)")
    await first
    const fourth = session.eval("log.push(4)")
    await Promise.all([second, third, fourth])
    expect(await session.run("log")).toEqual([1, 2, 3, 4])
  })

  test("that is full refuses at once, and what was accepted still runs", async () => {
    const session = await under.open()
    const running = session.eval(`await tools.hold("full")`)
    const { gate } = await under.parked("full")
    const waiting = [1, 2, 3, 4].map((n) => session.eval(`${n}`))
    const refused = await refusal(session.eval("5"))
    expect(refused).toMatchObject({ kind: "queue_full", retry: "same" })
    expect(refused.message).toContain(session.id)
    gate.open()
    expect((await running).status).toBe("ok")
    expect((await Promise.all(waiting)).map((it) => it.value?.data)).toEqual([1, 2, 3, 4])
  })

  test("at close: what runs and what waits end as interrupted, nothing of the waiting ran, later uses are refused", async () => {
    const effects: unknown[] = []
    const session = await under.open({ tools: { effect: ([x]) => effects.push(x) } })
    const running = session.eval(`await tools.hold("closing")`)
    await under.parked("closing")
    const waiting = [1, 2].map((n) => session.eval(`await tools.effect(${n})`))
    const late = session.eval(`await tools.effect("just before")`)
    await Promise.all([session.close(), session.close()])
    expect(await running).toMatchObject({ status: "interrupted", because: "closed" })
    for (const outcome of await Promise.all([...waiting, late])) {
      expect(outcome).toMatchObject({ status: "interrupted", because: "closed", durationMs: 0 })
    }
    expect(effects).toEqual([])
    expect(under.nacre.session(session.id)).toBeUndefined()
    for (const use of [
      () => session.eval("1"),
      () => session.reset(),
      () => session.fork(),
      () => session.mark("m"),
      () => session.rollback("m"),
      () => session.run("1"),
    ]) {
      expect(await refusal(use())).toMatchObject({ kind: "session_not_found", retry: "fresh" })
    }
    await session.close()
  })

  test("an interrupt leaves the rest of the queue to run", async () => {
    const session = await under.open()
    const first = session.eval("for (;;);")
    const second = session.eval("2")
    await session.interrupt()
    expect((await first).status).toBe("interrupted")
    expect((await second).value?.data).toBe(2)
  })
})

describe("run", () => {
  test("gives the value, or throws the user's error with everything that is known", async () => {
    const session = await under.open()
    expect(await session.run(`({ a: [1n, new Date(3)] })`)).toEqual({ a: [1n, new Date(3)] })
    expect(await session.run(`undefined`)).toBeUndefined()
    const failed = (await refusal(session.run(`throw new RangeError("mine")`))) as unknown as EvalFailure
    expect(failed).toBeInstanceOf(EvalFailure)
    expect(failed).toMatchObject({ name: "RangeError", message: "mine", outcome: { status: "threw" } })
    expect(failed.stack).toContain("RangeError: mine")
    expect((await refusal(session.run(`(() => 1)`))).kind).toBe("value_not_transferable")
    expect((await refusal(session.run("for (;;);", { timeoutMs: 50 }))).message).toContain("timeout")
  })

  test("of source that is no text or too long is refused by name", async () => {
    const session = await under.open()
    expect((await refusal(session.eval(5 as unknown as string))).kind).toBe("invalid_options")
    expect((await refusal(session.eval("1;".repeat(6_000)))).kind).toBe("source_too_large")
  })
})

describe("what cannot be kept as bytes", () => {
  test("is named while the realm lives, and lost loudly with it", async () => {
    const session = await under.open()
    const outcome = await session.eval(`
      let socket = new Promise(() => {}); const weak = new WeakMap(); let gen = (function* () { yield 1 })(); let plain = 1
      const mixed = { plain: 1, deep: [new WeakMap()] }`)
    expect(outcome.ephemeral.toSorted()).toEqual(["gen", "mixed", "socket", "weak"])
    expect(await session.run(`gen.next().value`)).toBe(1)
    await under.killHosts()
    const next = await session.eval("plain")
    expect(next.lost.toSorted()).toEqual(["gen", "mixed", "socket", "weak"])
    expect((await session.eval("1")).lost).toEqual([])
    const read = await session.eval("mixed")
    expect(read).toMatchObject({ status: "threw", error: { kind: "binding_lost" } })
    expect(read.error!.message).toContain("mixed")
    expect((await refusal(Promise.resolve().then(() => session.bindings.at("weak")))).kind).toBe("binding_lost")
    expect(session.bindings.info("weak")).toMatchObject({ held: "lost", kind: "readonly" })
    expect(await session.run(`socket = "again"; socket`)).toBe("again")
    expect((await session.eval("const mixed = 1")).status).toBe("ok")
    expect(await session.run("mixed")).toBe(1)
  })

  test("is lost when its realm is rolled back, and the outcome names it", async () => {
    const session = await under.open()
    await session.eval(`let held = new WeakMap()`)
    const outcome = await session.eval(`throw 1`, { atomic: true })
    expect(outcome).toMatchObject({ status: "threw", lost: ["held"] })
  })

  test("does not survive that another binding takes its place", async () => {
    const session = await under.open()
    await session.eval(`let held = new WeakMap()`)
    expect((await session.eval(`held = 1`)).ephemeral).toEqual([])
    await under.killHosts()
    expect((await session.eval("held")).lost).toEqual([])
    expect(await session.run("held")).toBe(1)
  })
})

describe("a fork", () => {
  test("starts with what is committed and goes its own way", async () => {
    const session = await under.open({ kind: "repl" })
    await session.eval(`let n = { v: 1 }; function next() { return ++n.v }; let gone = new WeakMap()`)
    const fork = await session.fork()
    expect(fork.id).not.toBe(session.id)
    expect(fork.kind).toBe("repl")
    expect(await fork.run("next()")).toBe(2)
    expect(await session.run("n.v")).toBe(1)
    expect((await fork.eval("gone")).error?.kind).toBe("binding_lost")
    expect(await session.run("gone instanceof WeakMap")).toBe(true)
  })

  test("waits for its turn behind evals that are queued", async () => {
    const session = await under.open()
    const running = session.eval(`let n = 1; await tools.hold("fork"); n = 2`)
    const { gate } = await under.parked("fork")
    const fork = session.fork()
    gate.open()
    await running
    expect(await (await fork).run("n")).toBe(2)
  })
})

describe("marks", () => {
  test("bring back what was committed then, with definitions, any number of times", async () => {
    const session = await under.open()
    await session.eval(`let n = 1; function f() { return "old" }`)
    await session.mark("one")
    await session.eval(`n = 2; let extra = 1; function f() { return "new" }; delete globalThis.nothing`)
    const before = (await session.eval("0")).revision
    for (let round = 0; round < 2; round++) {
      expect(await session.rollback("one")).toEqual({ lost: [] })
      expect(await session.run("[n, f(), typeof extra]")).toEqual([1, "old", "undefined"])
      await session.eval("n = 5")
    }
    expect((await session.eval("0")).revision).toBeGreaterThan(before)
  })

  test("name what cannot come back, and an unknown one fails with the known ones", async () => {
    const session = await under.open()
    await session.eval(`let held = new WeakMap(); let n = 1`)
    await session.mark("held")
    await session.eval(`held = 1`)
    expect(await session.rollback("held")).toEqual({ lost: ["held"] })
    const refused = await refusal(session.rollback("other"))
    expect(refused.kind).toBe("mark_not_found")
    expect(refused.message).toContain("held")
    expect(await session.run("n")).toBe(1)
  })

  test("are listed, bounded, and taken away", async () => {
    const session = await under.open()
    await session.eval("let n = 1")
    const { marksMax } = under.nacre.limits
    for (let index = 0; index < marksMax; index++) await session.mark(`m${index}`)
    await session.mark("m0")
    const refused = await refusal(session.mark("one more"))
    expect(refused.kind).toBe("handle_limit")
    expect(refused.message).toContain(`has ${marksMax} marks, its maximum (limits.marksMax)`)
    expect([session.unmark("m3"), session.unmark("m3")]).toEqual([true, false])
    await session.mark("one more")
    expect(session.marks()).toHaveLength(marksMax)
    expect(session.marks()).toContain("one more")
    expect((await refusal(session.rollback("m3"))).kind).toBe("mark_not_found")
  })

  test("survive the death of every host", async () => {
    const session = await under.open()
    await session.eval("let n = 1")
    await session.mark("m")
    await session.eval("n = 2")
    await under.killHosts()
    await session.rollback("m")
    expect(await session.run("n")).toBe(1)
  })
})

describe("reset", () => {
  test("forgets everything, the realm too, and waits for its turn", async () => {
    const session = await under.open()
    const running = session.eval(
      `let n = 1; function f() {}; globalThis.mine = 1; Array.prototype.mine = 1; await tools.hold("reset")`,
    )
    const { gate } = await under.parked("reset")
    const done = session.reset()
    gate.open()
    expect((await running).status).toBe("ok")
    await done
    expect(session.bindings.keys()).toEqual([])
    expect(await session.run("[typeof n, typeof f, typeof mine, typeof [].mine]")).toEqual([
      "undefined",
      "undefined",
      "undefined",
      "undefined",
    ])
  })
})

describe("opening", () => {
  test("the id of a live session gives that session; another profile or kind for it is refused", async () => {
    const session = await under.open({ id: "notes", kind: "repl" })
    expect(await under.open({ id: "notes" })).toBe(session)
    expect(await under.open({ id: "notes", kind: "repl", profile: "standard" })).toBe(session)
    expect((await refusal(under.open({ id: "notes", profile: "minimal" }))).kind).toBe("profile_conflict")
    expect((await refusal(under.open({ id: "notes", kind: "ide" }))).kind).toBe("profile_conflict")
    await session.close()
    expect(await under.open({ id: "notes", kind: "ide" })).not.toBe(session)
  })

  test("more sessions than the limit is refused until some close", async () => {
    const opened = await Promise.all(Array.from({ length: 40 }, () => under.open()))
    expect((await refusal(under.open())).kind).toBe("session_limit")
    await opened[0]!.close()
    expect((await under.open()).id).toBeDefined()
  })

  test("with a bad id, kind, profile or tool is refused, naming it", async () => {
    const bad = [
      [{ id: "" }, "id"],
      [{ id: 5 }, "id"],
      [{ kind: "unheard" }, "unheard"],
      [{ profile: "huge" }, "huge"],
      [{ tools: { "not a name": () => 1 } }, "not a name"],
      [{ tools: { text: "no function" } }, "text"],
      [{ isolation: "planet" }, "planet"],
      [{ evalTimeoutMs: -1 }, "evalTimeoutMs"],
      [{ idleMs: "soon" }, "idleMs"],
      [{ unknownOption: 1 }, "unknownOption"],
    ] as const
    for (const [options, name] of bad) {
      const refused = await refusal(under.open(options as never))
      expect([name, refused.kind]).toEqual([name, "invalid_options"])
      expect(refused.message).toContain(name)
    }
  })
})

describe("isolation", () => {
  test("gives a session a host of its own, which goes with it and which no other session's death touches", async () => {
    const own = await under.open({ isolation: "process" })
    const shared = await under.open()
    await Promise.all([own.eval("let x = 1"), shared.eval("let x = 1")])
    const hostOf = (group: string) => under.nacre.placement().filter((it) => it.group === group)
    const [mine] = hostOf(`own:main/${own.id}`)
    expect(mine).toBeDefined()
    const waiting = own.eval(`await tools.hold("own"); x`)
    const { gate } = await under.parked("own")
    process.kill(under.nacre.placement().find((it) => it.group === "main/standard")!.host.pid, "SIGKILL")
    await until("the shared session to compute again", async () => (await shared.eval("x")).value?.data === 1)
    gate.open()
    expect(await waiting).toMatchObject({ status: "ok", value: { data: 1 } })
    await own.close()
    await until("its host to be gone", () => !under.hostPids().includes(mine!.host.pid))
  })
})

describe("outcomes", () => {
  test("are kept for a client that lost the answer", async () => {
    const session = await under.open()
    const outcome = await session.eval("1")
    expect(session.outcome(outcome.evalId)).toBe(outcome)
    expect(session.outcome("evl_other")).toBeUndefined()
  })

  test("of an eval that does not parse name the place, and nothing of it ran", async () => {
    const session = await under.open()
    const outcome = await session.eval(`var ran = true\nlet x = = 1`, { file: "notes.ts", line: 10 })
    expect(outcome).toMatchObject({ status: "invalid", error: { name: "SyntaxError", spans: [{ line: 11 }] } })
    expect(outcome.error!.rendered).toContain("notes.ts:11")
    expect(await session.run("typeof ran")).toBe("undefined")
  })
})

test.each([
  ["a promise", `Promise.resolve(7)`, "7"],
  ["a promise of a subclass", `class Mine extends Promise {}; Mine.resolve(7)`, "7"],
  ["a promise after an await", `await null; Promise.resolve(7)`, "7"],
  ["an awaited thenable", `await { then(done) { done(7) } }`, "7"],
  ["a thenable", `globalThis.asked = 0; ({ get then() { asked++; return () => {} } })`, "{ then: [Getter] }"],
  ["a thenable after an await", `await null; ({ then() {} })`, "{ then: [Function: then] }"],
  ["a hostile proxy", `new Proxy({ a: 1 }, { get() { throw new Error("trap") } })`, "{ a: 1 }"],
])(
  "as a result, %s is what a REPL shows: promises are awaited, other thenables are values",
  async (_what, code, text) => {
    const session = await under.open()
    const outcome = await session.eval(code)
    expect([outcome.status, outcome.error?.message, outcome.value?.text]).toEqual(["ok", undefined, text])
  },
)

describe("an id whose session is being closed", () => {
  test("names no live session, and is opened afresh when that has gone", async () => {
    const first = await under.open({ id: "again", kind: "repl" })
    await first.eval("let x = 1")
    const running = first.eval(`await tools.hold("again")`)
    await under.parked("again")
    const closing = first.close()
    expect(under.nacre.session("again")).toBeUndefined()
    expect(under.nacre.sessions()).not.toContain(first)
    const second = await under.open({ id: "again", kind: "service" })
    expect(second).not.toBe(first)
    expect(await second.run("typeof x")).toBe("undefined")
    await closing
    expect((await running).status).toBe("interrupted")
    expect(under.nacre.session("again")).toBe(second)
  })

  test("opened twice meanwhile is one session", async () => {
    const first = await under.open({ id: "twice" })
    await first.eval("1")
    void first.close()
    const [second, third] = await Promise.all([under.open({ id: "twice" }), under.open({ id: "twice" })])
    expect(second).toBe(third)
    expect(await second.run("1")).toBe(1)
  })

  test("is another session's for code that knew the one before", async () => {
    const reader = await under.open()
    const first = await under.open({ id: "reused", kind: "repl" })
    await reader.eval(`const before = Session.withId("reused")`)
    await first.close()
    await under.open({ id: "reused", kind: "service" })
    const text = `const now = Session.withId("reused"); [before.kind, now.kind, String(now), Workspace.sessions.at(-1).kind]`
    expect(await reader.run(text)).toEqual(["repl", "service", "Session(service: reused)", "service"])
  })
})

describe("a fork", () => {
  test("counts as a session", async () => {
    const session = await under.open()
    const opened = [session]
    while (under.nacre.sessions().length < 40) opened.push(await under.open())
    expect((await refusal(session.fork())).kind).toBe("session_limit")
    await opened.at(-1)!.close()
    expect(await (await session.fork()).run("1")).toBe(1)
  })

  test("of a session with a host of its own has one of its own", async () => {
    const session = await under.open({ isolation: "process" })
    const fork = await session.fork()
    await Promise.all([session.run("1"), fork.run("1")])
    const hostOf = (it: Session) => it.worker?.host.pid
    expect(hostOf(session)).toBeGreaterThan(0)
    expect(hostOf(fork)).not.toBe(hostOf(session))
  })
})
