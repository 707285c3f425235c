// Sessions that share one thread: what one of them does must not cost another its answer, its time or its state.
import { expect, test } from "vitest"
import { until } from "../until.ts"
import { useNacre } from "./nacre-under-test.ts"

// One host with one thread: everything meets on it.
const under = useNacre({ hosts: { min: 1, max: 1, threadsPerHostMax: 1 }, limits: { interruptGraceMs: 15 } })

test("an eval that has ended is answered although the one behind it computes for ever", async () => {
  const [quick, endless] = [await under.open(), await under.open()]
  await Promise.all([quick.eval("0"), endless.eval("0")])
  const ended = quick.eval("1")
  const outcome = endless.eval("for (;;);")
  expect((await ended).status).toBe("ok")
  expect(await endless.interrupt()).toBe(true)
  expect((await outcome).status).toBe("interrupted")
  expect(await quick.run("2")).toBe(2)
})

test("a large result has left before the next eval begins", async () => {
  const [large, endless] = [await under.open(), await under.open()]
  await Promise.all([large.eval("0"), endless.eval("0")])
  const ended = large.run(`"x".repeat(900_000)`)
  const outcome = endless.eval("for (;;);")
  expect(await ended).toHaveLength(900_000)
  await endless.interrupt()
  expect((await outcome).status).toBe("interrupted")
})

test("evals behind a slow one are taken back and each runs exactly once when it is killed", async () => {
  const seen: string[] = []
  const sessions = await Promise.all(
    Array.from({ length: 8 }, () => under.open({ tools: { note: ([x]) => seen.push(String(x)) } })),
  )
  await Promise.all(sessions.map((it) => it.eval("0")))
  const endless = await under.open()
  const { outcome } = await under.computing(endless, `console.log("begun"); for (;;);`)
  const behind = sessions.map((it, index) => it.eval(`await tools.note(${index}); ${index}`))
  await endless.interrupt()
  expect((await outcome).status).toBe("interrupted")
  const outcomes = await Promise.all(behind)
  expect(outcomes.map((it) => [it.status, it.value?.data])).toEqual(sessions.map((_, index) => ["ok", index]))
  expect(seen.toSorted()).toEqual(sessions.map((_, index) => String(index)))
})

test("an eval sent behind another one, stopped before its turn, has run nothing", async () => {
  const [slow, next] = [await under.open(), await under.open()]
  await next.eval("let ran = 0; 0")
  const { outcome } = await under.computing(slow, `console.log("begun"); for (;;);`)
  const second = next.eval("ran = 1")
  expect(await next.interrupt()).toBe(true)
  expect(await second).toMatchObject({ status: "interrupted", lost: [] })
  await slow.interrupt()
  await outcome
  expect(await next.run("ran")).toBe(0)
})

test("a parked neighbour of a killed eval ends as crashed by a neighbour, and keeps what it had committed", async () => {
  const [parked, endless] = [await under.open(), await under.open()]
  await parked.eval(`let x = 1`)
  const waiting = parked.eval(`x = 2; await tools.hold("neighbour")`)
  await under.parked("neighbour")
  const { outcome } = await under.computing(endless, `console.log("begun"); for (;;);`)
  await endless.interrupt()
  expect((await outcome).status).toBe("interrupted")
  expect(await waiting).toMatchObject({ status: "crashed", because: "neighbour" })
  expect(await parked.run("x")).toBe(1)
})

test("a parked eval is interrupted at once, and alone, while a neighbour computes", async () => {
  const [parked, endless] = [await under.open(), await under.open()]
  const waiting = parked.eval(`await tools.hold("beside")`)
  await under.parked("beside")
  const { outcome } = await under.computing(endless, `console.log("begun"); for (;;);`)
  await parked.interrupt()
  expect((await waiting).status).toBe("interrupted")
  expect(endless.isIdle).toBe(false)
  await endless.interrupt()
  expect((await outcome).status).toBe("interrupted")
})

test("no time limit runs out while an eval waits behind a neighbour to begin", async () => {
  const [slow, limited] = [await under.open(), await under.open()]
  await limited.eval("0")
  const { outcome } = await under.computing(slow, `console.log("begun"); for (;;);`)
  const second = limited.eval("'ran'", { timeoutMs: 100 })
  const refuted = await Promise.race([second.then(() => "ended"), until("400 ms of computing", later(400))])
  expect(refuted).toBe("later")
  await slow.interrupt()
  await outcome
  expect(await second).toMatchObject({ status: "ok", value: { data: "ran" } })
})

test("no time limit runs out while a parked eval could go on but for a neighbour", async () => {
  const [slow, limited] = [await under.open(), await under.open()]
  const second = limited.eval(`await tools.hold("limited"); "went on"`, { timeoutMs: 2_000 })
  const { gate } = await under.parked("limited")
  // It ends by itself: killing it would take its neighbours' thread.
  const source = `console.log("begun"); const end = performance.now() + 3_000; while (performance.now() < end);`
  const { outcome } = await under.computing(slow, source)
  gate.open()
  expect(await outcome).toMatchObject({ status: "ok" })
  expect(await second).toMatchObject({ status: "ok", value: { data: "went on" } })
})

/** True once that much time has passed on the clock: for limits that must not have run out by then. */
function later(ms: number): () => "later" | false {
  const end = performance.now() + ms
  return () => performance.now() > end && "later"
}
