// Definitions that a change has made again are as those of a first declaration: what code does to them is seen, kept, refused or named, and values
// refer to them. Functions that have nothing but a length and a name take a way of their own (`Environment`, `bare`); the others stand beside
// them here, with the same to be said of each.
import { describe, expect, test } from "vitest"
import type { Committed, Rejected, Session } from "nacre"
import { useNacre } from "./nacre-under-test.ts"

const it = useNacre({
  hosts: { min: 1, max: 1, threadsPerHostMax: 1 },
  limits: { residentsPerWorkerMax: 1 },
})

const forms: Record<string, string> = {
  "an arrow": "const it = (a) => hub() + 1",
  "an async arrow": "const it = async (a) => hub() + 1",
  "an async function": "async function it(a) { return hub() + 1 }",
  "an async function expression": "const it = async function named(a) { return hub() + 1 }",
  "a typed arrow": "const it = ((a: number): number => hub() + 1) satisfies (a: number) => number",
  "an arrow among several": "const before = (a, b) => hub(), it = (a) => before() + 1",
  "an arrow in a circle": "const it = (a) => hub() + 0 * (a > 0 ? back(a) : 0) + 1\nconst back = (b) => it(b - 1)",
  "a function": "function it(a) { return hub() + 1 }",
  "a generator": "function* it(a) { yield hub() + 1 }",
  "a class": "class it { static of(a) { return hub() + 1 } }",
  "a record": "const it = { of(a) { return hub() + 1 }, get now() { return hub() } }",
}

/** All that can be told of an object without calling it. */
const probe = `(() => {
  const say = (v) => typeof v === "function" ? "function " + v.name : typeof v === "object" && v !== null ? "object" : String(v)
  return Reflect.ownKeys(it).map((key) => {
    const { get, set, value, writable, enumerable, configurable } = Object.getOwnPropertyDescriptor(it, key)
    return [String(key), say(get), say(set), say(value), writable, enumerable, configurable].join(" ")
  }).sort().concat(String(Object.isExtensible(it)), String(Object.getPrototypeOf(it) === null)).join("; ")
})()`

async function evict(): Promise<void> {
  const other = await it.open({ check: "syntax" })
  await other.run("0")
  await other.close()
}

const declare = async (session: Session, n: number): Promise<Committed | Rejected> =>
  session.submit({ source: `function hub() { return ${n} }` })

/** A session whose `it` has been made three times by one factory, and once more by that of a rebuilt realm. */
async function remade(form: string): Promise<Session> {
  const session = await it.open({ check: "syntax" })
  await session.submit(`function hub() { return 1 }\n${form}`)
  for (const n of [2, 3]) {
    await declare(session, n)
    await session.run("0")
  }
  await evict()
  const last = await declare(session, 4)
  expect(last.status === "committed" && last.record?.reinstantiated).toContain("it")
  return session
}

describe.each(Object.entries(forms))("%s", (_what, form) => {
  test("has what a first one has", async () => {
    const session = await remade(form)
    const first = await it.open({ check: "syntax" })
    await first.submit(`function hub() { return 4 }\n${form}`)
    const facts = await first.run(probe)
    expect(await session.run(probe)).toBe(facts)
    // Nothing has been done to it.
    expect((await declare(session, 5)).status).toBe("committed")
  })

  test("is what values refer to", async () => {
    const session = await remade(form)
    await session.run("let held = { it }; 0")
    await evict()
    expect(await session.run("held.it === it")).toBe(true)
    const outcome = await declare(session, 5)
    expect(outcome.status === "committed" && outcome.record).toMatchObject({ stale: ["held"] })
    expect(await session.run("held.it === it")).toBe(false)
    await evict()
    expect(await session.run("held.it === it")).toBe(false)
  })

  test.each([
    ["a property", "it.count = 1"],
    ["a property like one of a definition's", "it.hub = hub"],
    ["another name", 'Object.defineProperty(it, "name", { value: "other" })'],
    ["a symbol", "it[Symbol.iterator] = 1"],
    ["a getter", 'Object.defineProperty(it, "extra", { get: () => 1, configurable: true })'],
    ["a prototype", "Object.setPrototypeOf(it, null)"],
    ["closed", "Object.preventExtensions(it)"],
    ["frozen", "Object.freeze(it)"],
  ])("changed: %s", async (_change, change) => {
    const session = await remade(form)
    await session.run(`${change}; 0`)
    const facts = await session.run(probe)
    const first = await it.open({ check: "syntax" })
    await first.submit(`function hub() { return 4 }\n${form}`)
    const fresh = await first.run(probe)
    expect(await session.run(probe)).toBe(facts)
    const refused = await declare(session, 5)
    expect(refused).toMatchObject({ status: "rejected", rejection: { kind: "data_loss", keys: ["it"] } })
    expect(await session.run(probe)).toBe(facts)
    const rebuilt = await session.submit({ source: "function hub() { return 6 }", onDataLoss: "rebuild" })
    expect(rebuilt.status === "committed" && rebuilt.record).toMatchObject({ lostData: ["it"] })
    expect(await session.run(probe)).toBe(fresh)
    await evict()
    expect(await session.run(probe)).toBe(fresh)
  })
})

test("one that was changed and has gone back to what it was is no loss", async () => {
  const session = await remade(forms["an arrow"]!)
  await session.run("it.count = 1; 0")
  await session.run("delete it.count; 0")
  expect((await declare(session, 5)).status).toBe("committed")
})

test("a candidate that is left out of force changes nothing of what it would replace", async () => {
  const session = await remade(forms["an arrow"]!)
  await session.run("let held = it; 0")
  const proposed = await session.proposeChange({ source: "function hub() { return 50 }" })
  if (proposed.status !== "proposed") throw new Error(proposed.rejection.message)
  expect(await session.run("[held === it, it()].join()")).toBe("true,5")
  await session.run("it.count = 1; 0")
  expect(await session.commitChange(proposed.candidate)).toMatchObject({
    status: "rejected",
    rejection: { kind: "data_loss" },
  })
  await evict()
  expect(await session.run("[held === it, it(), it.count].join()")).toBe("true,5,1")
})

test("one whose making throws leaves all as it was", async () => {
  const session = await remade(`${forms["an arrow"]}\nclass Last extends (hub as any) {}`)
  await session.run("let held = it; 0")
  const failed = await session.submit("const hub = () => 1")
  expect(failed).toMatchObject({ status: "rejected", rejection: { kind: "threw" } })
  expect(await session.run("[held === it, it()].join()")).toBe("true,5")
  const after = await declare(session, 7)
  expect(after.status === "committed" && after.record?.reinstantiated.toSorted()).toEqual(["Last", "it"])
  expect(await session.run("it()")).toBe(8)
})

test("what an eval makes again is what its later definitions are made with", async () => {
  const session = await it.open({ check: "syntax" })
  await session.run("const low = () => 1; const through = () => low(); 0")
  await session.run("const mid = () => through(); let n = 1; n += 1; const low = () => n; const last = { mid }; 0")
  expect(await session.run("[mid(), last.mid === mid, last.mid()].join()")).toBe("2,true,2")
  await evict()
  expect(await session.run("[mid(), last.mid === mid, last.mid()].join()")).toBe("2,true,2")
})

test.each(["it.count = 1", "it.prototype.extra = 1", "Object.freeze(it.prototype)"])(
  "what was put on a generator goes with it when that is accepted, also when its realm is dropped right after: %s",
  async (change) => {
    const session = await it.open({ check: "syntax" })
    await session.submit("function hub() { return 1 }\nfunction* it() { yield hub() }")
    await session.run(`${change}; 0`)
    expect(await session.submit({ source: "function hub() { return 2 }", onDataLoss: "rebuild" })).toMatchObject({
      status: "committed",
      record: { lostData: ["it"] },
    })
    await evict()
    expect(await session.run("[it.count, it.prototype.extra, Object.isFrozen(it.prototype)].join()")).toBe(",,false")
  },
)
