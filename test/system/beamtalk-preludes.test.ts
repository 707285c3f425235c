// The lines of the design that Nacre's sessions follow which are about the class registry, with preludes in its place.
import { expect, test } from "vitest"
import type { Session } from "nacre"
import { refusal, useNacre } from "./nacre-under-test.ts"

const under = useNacre({ hosts: { min: 1, max: 3 } })

let workspaces = 0
async function withPrelude(source = "export class Counter { n = 0; step() { return ++this.n } }"): Promise<Session> {
  const workspace = `b${++workspaces}`
  await under.nacre.loadPrelude({ name: "base", source, workspace })
  return under.open({ workspace })
}

async function value(session: Session, source: string): Promise<unknown> {
  const { value: found, error } = await session.eval(source)
  return error === undefined ? found?.data : (error.kind ?? error.name)
}

test("B17: resolve goes locals, globals, singletons, then the class registry", async () => {
  const session = await withPrelude("export const a = 'registry', b = 'registry', c = 'registry'")
  await under.nacre.removePrelude("base", session.workspace)
  await session.run("let a = 'local'; Workspace.bind('b', 'global')")
  await under.nacre.loadPrelude({
    name: "base",
    source: "export const a = 'registry', b = 'registry', c = 'registry'",
    workspace: session.workspace,
  })
  const seen = "['a', 'b', 'c'].map((name) => Session.current.resolve(name))"
  expect(await value(session, seen)).toEqual(["local", "global", "registry"])
  expect(await value(session, "[a, b, c]")).toEqual(["local", "global", "registry"])
})

test("B21: an unknown class is a ReferenceError by its bare name and undefined in the registry", async () => {
  const session = await withPrelude()
  expect(await value(session, "new Missing()")).toBe("ReferenceError")
  expect(await value(session, "[Workspace.classes.at('Missing'), Workspace.classes.includesKey('Counter')]")).toEqual([
    undefined,
    true,
  ])
})

test("B22: another session's resolve reaches the registry behind its locals", async () => {
  const session = await withPrelude("export const rate = 3")
  const other = await under.open({ workspace: session.workspace })
  expect(await value(other, `Session.withId("${session.id}").resolve("rate")`)).toBe(3)
})

test("B23: exports are looked up inside callbacks and loops too", async () => {
  const session = await withPrelude("export const step = 2")
  expect(
    await value(session, "let sum = 0; for (const n of [1, 2]) sum += step; [1, 2].map((n) => n * step).concat(sum)"),
  ).toEqual([2, 4, 4])
})

test("B35: a loaded class's name is no name for a global (Nacre: refused, not warned of)", async () => {
  const session = await withPrelude()
  expect(await value(session, "Workspace.bind('Counter', 1)")).toBe("name_conflict")
  expect(await refusal(under.nacre.globals(session.workspace).bind("Counter", 1))).toMatchObject({
    kind: "name_conflict",
  })
  expect(await value(session, "Workspace.classes.atPut('Counter', 1)")).toBe("unsupported")
})

test("B42, K1: nothing of the registry is copied into a session, so nothing of it goes stale there", async () => {
  const session = await withPrelude("export const rate = 3")
  expect(await value(session, "rate")).toBe(3)
  expect(session.bindings.keys()).toEqual([])
  await under.nacre.loadPrelude({ name: "base", source: "export const rate = 4", workspace: session.workspace })
  expect(await value(session, "rate")).toBe(4)
  await under.nacre.removePrelude("base", session.workspace)
  expect(await value(session, "typeof rate")).toBe("undefined")
})

test("B48, B41, L11: a prelude that is loaded or removed while a session computes is not overwritten when its eval ends", async () => {
  const session = await withPrelude("export const rate = 3")
  const { workspace } = session
  const busy = session.eval("await tools.hold('busy'); rate")
  const { gate } = await under.parked("busy")
  await under.nacre.loadPrelude({ name: "more", source: "export const extra = 1", workspace })
  await under.nacre.removePrelude("base", workspace)
  gate.open()
  expect((await busy).value?.data).toBe(3)
  expect(await value(session, "[typeof rate, extra]")).toEqual(["undefined", 1])
})

test("B75: locals survive a reload of their class", async () => {
  const session = await withPrelude()
  await session.run("const c = new Counter(); c.step(); let plain = { c }")
  await under.nacre.loadPrelude({
    name: "base",
    source: "export class Counter { n = 0; step() { return this.n += 10 } }",
    workspace: session.workspace,
  })
  expect(await value(session, "[c.step(), plain.c === c, c instanceof Counter]")).toEqual([11, true, true])
})

test("L4: bare name, resolve and registry cannot drift, also within one eval", async () => {
  const session = await withPrelude("export let live = 1; export const move = () => ++live")
  expect(
    await value(
      session,
      "const seen = [live]; move(); [...seen, live, Session.current.resolve('live'), Workspace.classes.at('live')]",
    ),
  ).toEqual([1, 2, 2, 2])
})

test("L6: a session that was forked or slept sees what every other one sees", async () => {
  const session = await withPrelude("export const rate = 3")
  await session.run("let x = rate")
  const fork = await session.fork()
  await under.nacre.loadPrelude({ name: "base", source: "export const rate = 4", workspace: session.workspace })
  session.passivate()
  expect([await value(fork, "[x, rate]"), await value(session, "[x, rate]")]).toEqual([
    [3, 4],
    [3, 4],
  ])
})

test("a global with a Map is another copy for each eval, also for code that does not wait", async () => {
  const session = await withPrelude()
  await session.eval("Workspace.bind('table', new Map())")
  const add = "table.set(table.size, 1); table.size"
  expect([await value(session, add), await value(session, add)]).toEqual([1, 1])
})
