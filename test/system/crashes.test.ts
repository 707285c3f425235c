// The death of threads and hosts: what was committed survives, the eval under way says what happened, and nobody else is blamed.
import { describe, expect, test } from "vitest"
import { until } from "../until.ts"
import { useNacre } from "./nacre-under-test.ts"

const under = useNacre({ hosts: { min: 2, max: 3, memoryBytesMax: 192 * 1024 * 1024 } })

describe("SIGKILL of every host", () => {
  test("between two evals loses nothing that was committed, and names what only the realm held", async () => {
    const session = await under.open()
    await session.eval(`
      let n = 1; const shared = { a: [1] }; let alias = shared; class Point { x = 1; norm() { return this.x } }
      let point = new Point(); function twice(k: number) { return k * 2 }; let pending = new Promise(() => {})`)
    await under.killHosts()
    const outcome = await session.eval(`[n, alias === shared, point.norm(), twice(4), point instanceof Point]`)
    expect(outcome).toMatchObject({ status: "ok", value: { data: [1, true, 1, 8, true] }, lost: ["pending"] })
    await under.killHosts()
    expect((await session.eval("n")).lost).toEqual([])
    expect(under.events).toContainEqual(
      expect.objectContaining({ type: "bindings.lost", session: session.id, names: ["pending"] }),
    )
  })

  test("during evals of many sessions gives each exactly one outcome and no half of an effect", async () => {
    const sessions = await Promise.all(Array.from({ length: 30 }, () => under.open()))
    await Promise.all(sessions.map((it) => it.eval("let x = 0; let y = 0")))
    const outcomes = sessions.map((it, index) =>
      it.eval(
        index % 3 === 0 ? `x = 1; y = 1; await tools.hold("${index}")` : `x = 1; y = 1; for (let i = 0; i < 3e7; i++);`,
      ),
    )
    await under.parked("0")
    await under.killHosts()
    for (const { gate } of under.held.values()) gate.open()
    const ended = await Promise.all(
      outcomes.map(async (outcome, index) => {
        await Promise.race([
          outcome,
          until("the tool call or the end", () => under.held.has(`${index}`) || undefined).catch(() => {}),
        ])
        under.held.get(`${index}`)?.gate.open()
        return outcome
      }),
    )
    const values = await Promise.all(sessions.map((it) => it.run("[x, y]")))
    for (const [index, { status, because }] of ended.entries()) {
      expect(["ok", "crashed"]).toContain(status)
      if (status === "crashed") expect(because).toBe("host-killed")
      expect(values[index]).toEqual(status === "ok" ? [1, 1] : [0, 0])
    }
  })

  test("is survived again and again", async () => {
    const session = await under.open()
    await session.eval("let n = 0")
    for (let round = 0; round < 5; round++) {
      await under.killHosts()
      expect(await session.run("++n")).toBe(round + 1)
    }
  })
})

describe("memory", () => {
  test.each([
    ["small objects", `const xs = []; for (;;) xs.push({ a: 1 })`],
    ["one growing array", `const xs = []; for (;;) xs.push(xs.length + 0.5)`],
    ["one growing Map", `const map = new Map(); for (let i = 0; ; i++) map.set(i, { i })`],
    ["buffers", `const xs = []; for (;;) xs.push(new Uint8Array(16e6).fill(1))`],
    [
      "one growing string",
      `let text = "x".repeat(1e6); const xs = []; for (;;) xs.push((text + xs.length).toUpperCase())`,
    ],
    ["promises", `const xs = []; for (;;) xs.push(new Promise(() => {}))`],
  ])("exhausted by %s crashes that eval and loses nothing committed", async (_name, code) => {
    const session = await under.open()
    const bystander = await under.open()
    await bystander.eval("let safe = 1")
    await session.eval("let x = 'committed'")
    const outcome = await session.eval(`x = "half"; ${code}`)
    expect(outcome).toMatchObject({ status: "crashed", because: "out-of-memory" })
    expect(await session.run("x")).toBe("committed")
    expect(await bystander.run("safe")).toBe(1)
  })
})

describe("exits", () => {
  test.each([
    ["at top level", `process.exit(7); x = "after"`],
    ["caught by a user's catch", `try { process.exit(7) } catch {} x = "caught"; await tools.echo()`],
    ["in a function behind finally", `try { process.exit(7) } finally { x = "finally" }`],
    ["in an async function", `await (async () => { await null; process.exit(7) })()`],
    [
      "in an async function nobody awaits",
      `(async () => { await null; process.exit(7) })(); await tools.hold("never")`,
    ],
    ["in a timer", `setTimeout(() => process.exit(7), 1); await tools.hold("never")`],
    ["in a promise's then", `Promise.resolve().then(() => process.exit(7)); await tools.hold("never")`],
    ["in a microtask", `queueMicrotask(() => process.exit(7)); await tools.hold("never")`],
  ])("%s end the eval as exited with the code, and the session stays open", async (_name, code) => {
    const session = await under.open()
    await session.eval(`let x = "before"; let y = 0`)
    const outcome = await session.eval(`y = 1; ${code}`)
    expect(outcome).toMatchObject({ status: "exited", exitCode: 7 })
    expect(outcome.error).toBeUndefined()
    expect(await session.run("y")).toBe(1)
  })

  test("without a code are 0", async () => {
    const session = await under.open()
    expect(await session.eval("process.exit()")).toMatchObject({ status: "exited", exitCode: 0 })
  })

  test("the first one counts", async () => {
    const session = await under.open()
    const outcome = await session.eval(`try { process.exit(1) } catch {} process.exit(2)`)
    expect(outcome).toMatchObject({ status: "exited", exitCode: 1 })
  })
})

describe("what nobody catches", () => {
  test.each([
    ["a throw in a timer", `setTimeout(() => { throw new RangeError("mine") }, 1); await tools.hold("never")`],
    ["a throw in a microtask", `queueMicrotask(() => { throw new RangeError("mine") }); await tools.hold("never")`],
    ["a rejection", `Promise.reject(new RangeError("mine")); await tools.hold("never")`],
    ["a rejection of an async function", `(async () => { throw new RangeError("mine") })(); await tools.hold("never")`],
    [
      "a rejection after a tool call",
      `(async () => { await tools.echo(); throw new RangeError("mine") })(); await tools.hold("never")`,
    ],
    ["a rejection in the last turn", `Promise.reject(new RangeError("mine")); 1`],
  ])("%s ends its own eval as threw and kills nothing", async (_name, code) => {
    const [session, other] = [await under.open(), await under.open()]
    const beside = other.eval(`await tools.hold("beside"); "unharmed"`)
    await under.parked("beside")
    await session.eval("let x = 0")
    const lost = under.events.length
    const outcome = await session.eval(`x = 1; ${code}`)
    expect(outcome).toMatchObject({ status: "threw", error: { name: "RangeError", message: "mine" } })
    expect(await session.run("x")).toBe(1)
    under.held.get("beside")!.gate.open()
    expect(await beside).toMatchObject({ status: "ok", value: { data: "unharmed" } })
    expect(under.events.slice(lost).filter((it) => it.type === "host.lost")).toEqual([])
  })

  test("of an ended eval is an event and never the next eval's failure", async () => {
    const session = await under.open()
    await session.eval(`
      var release
      new Promise((resolve) => { release = resolve }).then(() => { throw new RangeError("late") })
      0`)
    const next = await session.eval(`release(); await tools.echo(); "fine"`)
    expect(next).toMatchObject({ status: "ok", value: { data: "fine" } })
    const stray = await until("the event of the late throw", () =>
      under.events.find((it) => it.type === "session.stray" && it.session === session.id),
    )
    expect(JSON.stringify(stray)).toContain("late")
  })

  test("of an ended eval's microtask is an event too, also when the next eval has nothing left to run", async () => {
    const session = await under.open()
    await session.eval(`
      var release
      new Promise((resolve) => { release = resolve }).then(() => queueMicrotask(() => { throw new RangeError("late") }))
      0`)
    expect(await session.eval(`release(); "fine"`)).toMatchObject({ status: "ok", value: { data: "fine" } })
    const stray = await until("the event of the late throw", () =>
      under.events.find((it) => it.type === "session.stray" && it.session === session.id),
    )
    expect(JSON.stringify(stray)).toContain("late")
  })

  test("a handled rejection, even handled late in the same turn, is no failure", async () => {
    const session = await under.open()
    expect(
      await session.eval(`const p = Promise.reject(new Error("no")); p.catch(() => {}); await tools.echo(); "fine"`),
    ).toMatchObject({ status: "ok" })
  })
})

describe("code of an ended eval", () => {
  test("finds every outside call refused, and what it changes is listed as late", async () => {
    const session = await under.open()
    await session.eval(`
      var log = []
      var release
      var shared = { n: 0 }
      new Promise((resolve) => { release = resolve }).then(async () => {
        for (const call of [() => tools.echo(), () => setTimeout(() => {}, 1), () => process.exit(1)]) {
          try { await call(); log.push("allowed") } catch (error) { log.push(error.kind) }
        }
        console.log("into nowhere")
        log.push(typeof Session.current)
        shared.n = 1
      })
      0`)
    const outcome = await session.eval(`release(); 0`)
    expect(outcome.output).toEqual([])
    const seen = await until("the late code to have ended", async () => {
      const log = (await session.run("log")) as string[]
      return log.length === 4 && log
    })
    expect(seen).toEqual(["eval_ended", "eval_ended", "eval_ended", "undefined"])
    expect(await session.run("shared.n")).toBe(1)
    const fork = await session.fork()
    expect(await fork.run("shared.n")).toBe(1)
  })

  test.fails("is named by the next outcome's late list when it changed a binding", async () => {
    // Only a value that is ephemeral can wake such code, and an eval that touches one touches everything, so nothing of it counts as late.
    const session = await under.open()
    await session.eval(`
      var box = { n: 0 }
      var release
      new Promise((resolve) => { release = resolve }).then(() => {}).then(() => { box.n = 1 })
      0`)
    const first = await session.eval(`release(); 0`)
    const second = await session.eval(`1`)
    expect(session.bindings.at("box")).toEqual({ n: 1 })
    expect([...first.late, ...second.late]).toContain("box")
  })

  test("timers that are left are cancelled and listed", async () => {
    const session = await under.open()
    const outcome = await session.eval(
      `setTimeout(() => {}, 1e6); setInterval(() => {}, 1e6); setImmediate(() => {}); 1`,
    )
    expect(outcome.status).toBe("ok")
    expect(outcome.abandoned.map((it) => it.kind).toSorted()).toEqual(["interval", "timeout", "timeout"])
  })
})
