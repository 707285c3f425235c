// What piscina is known to do badly, each by what an embedder would see of it: none of it may reach a session.
import { describe, expect, test } from "vitest"
import { Nacre } from "nacre"
import { hostProcesses } from "../leak-check.ts"
import { until } from "../until.ts"
import { useNacre } from "./nacre-under-test.ts"

const under = useNacre({ hosts: { min: 1, max: 1, threadsPerHostMax: 3 } })

const threads = (): number => under.nacre.placement().reduce((sum, { workers }) => sum + workers.length, 0)

describe("values that no thread can be given", () => {
  test.each([
    ["a function as the result", `(() => 1)`, "ok"],
    ["a symbol as the result", `Symbol("s")`, "ok"],
    ["a proxy as the result", `new Proxy({}, { ownKeys() { throw 1 }, getOwnPropertyDescriptor() { throw 1 } })`, "ok"],
    ["a generator as the result", `(function* () {})()`, "ok"],
    ["a thrown function", `throw () => 1`, "threw"],
    ["a thrown symbol", `throw Symbol("s")`, "threw"],
    ["a thrown proxy", `throw new Proxy({}, { get() { throw 1 } })`, "threw"],
    ["a rejection with a function", `await Promise.reject(() => 1)`, "threw"],
  ])("%s kills nothing, and the eval beside it goes on", async (_name, code, status) => {
    const [session, beside] = [await under.open(), await under.open()]
    const waiting = beside.eval(`await tools.hold("beside"); "unharmed"`)
    const { gate } = await under.parked("beside")
    await session.eval("let kept = new WeakMap()")
    const outcome = await session.eval(code)
    expect(outcome).toMatchObject({ status, lost: [] })
    expect(await session.run("kept instanceof WeakMap")).toBe(true)
    gate.open()
    expect(await waiting).toMatchObject({ status: "ok", value: { data: "unharmed" } })
  })
})

test("errors keep their class, code, own properties, causes and the errors of an aggregate", async () => {
  const session = await under.open()
  const { error } = await session.eval(`
    class Special extends RangeError { override name = "Special"; code = "E_SPECIAL"; detail = { a: 1 } }
    throw new AggregateError([new Special("inner"), new TypeError("other")], "outer", { cause: new Special("cause") })`)
  expect(error).toMatchObject({ name: "AggregateError", message: "outer" })
  expect(error!.errors!.map((it) => [it.name, it.message])).toEqual([
    ["Special", "inner"],
    ["TypeError", "other"],
  ])
  expect(error!.cause).toMatchObject({ name: "Special", message: "cause" })
  expect(error!.errors![0]!.properties!.map((it) => it.key).toSorted()).toEqual(["code", "detail"])
})

test("timers of a parked eval tick while its thread has nothing else to do", async () => {
  const session = await under.open()
  const ticks = await session.run(`
    let ticks = 0
    await new Promise((resolve) => { const id = setInterval(() => { if (++ticks === 20) { clearInterval(id); resolve() } }, 5) })
    ticks`)
  expect(ticks).toBe(20)
})

test("a rejection left by one eval is not thrown into the next one on the thread", async () => {
  const [first, second] = [await under.open(), await under.open()]
  await first.eval(
    `var release; new Promise((resolve) => { release = resolve }).then(() => { throw new Error("left") }); 0`,
  )
  const [woken, next] = await Promise.all([first.eval(`release(); "woken"`), second.eval(`await tools.echo(); "mine"`)])
  expect([woken.value?.data, next.value?.data]).toEqual(["woken", "mine"])
})

test("an idle thread gets work while another computes for long", async () => {
  const endless = await under.open()
  const { outcome } = await under.computing(endless, `console.log("begun"); for (;;);`)
  const quick = await under.open()
  for (let round = 0; round < 5; round++) expect(await quick.run(`${round}`)).toBe(round)
  expect(endless.isIdle).toBe(false)
  await endless.interrupt()
  await outcome
})

test("work behind a queued eval that was aborted still runs", async () => {
  const session = await under.open()
  const running = session.eval(`await tools.hold("aborted")`)
  const { gate } = await under.parked("aborted")
  const abort = new AbortController()
  const aborted = session.eval("1", { signal: abort.signal })
  const after = [2, 3].map((n) => session.eval(`${n}`))
  abort.abort()
  gate.open()
  await running
  expect((await aborted).status).toBe("interrupted")
  expect((await Promise.all(after)).map((it) => it.value?.data)).toEqual([2, 3])
})

test("many terminated threads leave no thread, process or memory behind", async () => {
  const session = await under.open()
  const pids = hostProcesses().toSorted()
  for (let round = 0; round < 10; round++) {
    const { outcome } = await under.computing(session, `console.log("begun"); for (;;);`)
    await session.interrupt()
    expect((await outcome).status).toBe("interrupted")
  }
  await until("the threads to be as many as may be", () => threads() <= 2 * 3)
  expect(hostProcesses().toSorted()).toEqual(pids)
  expect(await session.run("1")).toBe(1)
})

test("a burst on a cold nacre runs all of it", async () => {
  const nacre = await Nacre.start({ hosts: { min: 1, max: 1 } })
  const sessions = await Promise.all(Array.from({ length: 100 }, () => nacre.open()))
  const values = await Promise.all(sessions.map((session, index) => session.run(`${index}`)))
  expect(values).toEqual(sessions.map((_, index) => index))
  await nacre.stop()
})

test("stopping lets evals of unequal length finish, each of them", async () => {
  const nacre = await Nacre.start({ hosts: { min: 1, max: 1 } })
  const sessions = await Promise.all([20, 150, 400].map(async (ms) => ({ ms, session: await nacre.open() })))
  await Promise.all(sessions.map(({ session }) => session.eval("0")))
  const outcomes = sessions.map(({ ms, session }) =>
    session.eval(`await new Promise((resolve) => setTimeout(resolve, ${ms})); ${ms}`),
  )
  await until("all to be parked", () => {
    const parked = nacre.placement().flatMap(({ workers }) => workers.map((it) => it.parked))
    return parked.reduce((a, b) => a + b, 0) === 3 || sessions[0]!.session.isIdle
  })
  await nacre.stop()
  for (const [index, outcome] of (await Promise.all(outcomes)).entries()) {
    expect(outcome).toMatchObject({ status: "ok", value: { data: sessions[index]!.ms } })
  }
})

test("an option of an eval that cannot be sent is refused by name, and stops nobody else", async () => {
  const [bad, good] = [await under.open(), await under.open()]
  for (const options of [
    { line: 1.5 },
    { line: 0 },
    { file: 5 },
    { atomic: "yes" },
    { onOutput: 1 },
    { signal: {} },
    { unknownOption: 1 },
  ]) {
    const name = Object.keys(options)[0]!
    const refused = await bad.eval("1", options as never).then(
      () => ({ kind: "not refused", message: name }),
      (error: unknown) => error as { kind: string; message: string },
    )
    expect([name, refused.kind]).toEqual([name, "invalid_options"])
    expect(refused.message).toContain(name)
  }
  expect(await good.run("1")).toBe(1)
  expect(await bad.run("2")).toBe(2)
})
