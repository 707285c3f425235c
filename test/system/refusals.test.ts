// Kinds of error that no other file meets: what session code is refused, and what an embedder asks too early for.
import { Server } from "node:net"
import { expect, test } from "vitest"
import { Nacre } from "nacre"
import type { Session } from "nacre"
import { refusal, useNacre } from "./nacre-under-test.ts"

// Ten thousand synchronous calls on a loaded machine: each of them in time.
const under = useNacre({ limits: { syncCallTimeoutMs: 30_000 } })

test("more queued writes than an eval may have are value_too_large, and those before stand", async () => {
  const session = await under.open()
  const outcome = await session.eval(`
    let count = 0
    for (; count < 20_000; count++) Session.current.bindings.atPut("n", count)`)
  expect(outcome).toMatchObject({ status: "threw", error: { kind: "value_too_large" } })
  expect(await session.run("n")).toBe(9_999)
})

test("an argument of a tool above its limit is value_too_large", async () => {
  const session = await under.open()
  const outcome = await session.eval(`await tools.echo(new Uint8Array(20e6))`)
  expect(outcome).toMatchObject({ status: "threw", error: { kind: "value_too_large" } })
  expect(await session.run("1")).toBe(1)
})

test.each([
  `Session.withId(5)`,
  `Session.current.bindings.at(5)`,
  `Session.current.bindings.atPut({}, 1)`,
  `Session.current.resolve(null)`,
])("%s is a type_error", async (code) => {
  const session = await under.open()
  expect(await session.eval(code)).toMatchObject({ status: "threw", error: { kind: "type_error" } })
})

test("options of a later version are unsupported", async () => {
  expect((await refusal(Nacre.start({ store: {} } as never))).kind).toBe("unsupported")
})

test("after close everything but identity and display is session_not_found, also through a view taken before", async () => {
  const session = await under.open()
  await session.eval("let x = 1")
  const view = session.bindings
  await session.close()
  const uses: [string, () => unknown][] = [
    ["bindings", () => session.bindings],
    ["view.at", () => view.at("x")],
    ["view.keys", () => view.keys()],
    ["view.size", () => view.size],
    ["view.includesKey", () => view.includesKey("x")],
    ["view.info", () => view.info("x")],
    ["resolve", () => session.resolve("x")],
    ["outcome", () => session.outcome("evl_1")],
    ["interrupt", () => session.interrupt()],
    ["interrupt by id", () => session.interrupt("evl_1")],
    ["eval", () => session.eval("1")],
    ["run", () => session.run("1")],
    ["reset", () => session.reset()],
    ["fork", () => session.fork()],
    ["mark", () => session.mark("m")],
    ["rollback", () => session.rollback("m")],
  ]
  for (const [name, use] of uses) {
    const kind = await (async () => use())().then(
      () => "answered",
      (error: unknown) => (error as { kind: string }).kind,
    )
    expect([name, kind]).toEqual([name, "session_not_found"])
  }
  await session.close()
  expect([session.kind, String(session), session.isClosed]).toEqual([
    "unknown",
    `Session(unknown: ${session.id})`,
    true,
  ])
})

const nothing = null as never
const symbol = Symbol("s") as never
const bare = Object.create(null) as never
const bad: [string, (nacre: Nacre, session: Session) => unknown][] = [
  ["start", () => Nacre.start(nothing)],
  ["start, a list", () => Nacre.start([] as never)],
  ["start hosts", () => Nacre.start({ hosts: nothing })],
  ["start limits", () => Nacre.start({ limits: "many" as never })],
  ["start tools", () => Nacre.start({ tools: nothing })],
  ["start onEvent", () => Nacre.start({ onEvent: 5 as never })],
  ["start profile", () => Nacre.start({ profile: "fool" as never })],
  ["start directory", () => Nacre.start({ directory: 5 as never })],
  ["open", (nacre) => nacre.open(nothing)],
  ["open kind", (nacre) => nacre.open({ kind: symbol })],
  ["open kind, an object", (nacre) => nacre.open({ kind: bare })],
  ["open profile", (nacre) => nacre.open({ profile: bare })],
  ["open isolation", (nacre) => nacre.open({ isolation: bare })],
  ["open principal", (nacre) => nacre.open({ principal: 5 as never })],
  ["open tools", (nacre) => nacre.open({ tools: nothing })],
  ["globals", (nacre) => nacre.globals(symbol)],
  ["attach", (nacre) => nacre.attach(nothing)],
  ["attach options", (nacre) => nacre.attach(() => {}, nothing)],
  ["attach since", (nacre) => nacre.attach(() => {}, { since: Number.NaN })],
  ["attach sinse", (nacre) => nacre.attach(() => {}, { sinse: 1 } as never)],
  ["eval options", (_nacre, session) => session.eval("1", nothing)],
  ["eval atomic", (_nacre, session) => session.eval("1", { atomic: bare })],
  ["eval signal", (_nacre, session) => session.eval("1", { signal: bare })],
  ["run options", (_nacre, session) => session.run("1", nothing)],
  ["interrupt", (_nacre, session) => session.interrupt(5 as never)],
  ["mark", (_nacre, session) => session.mark(symbol)],
  ["rollback", (_nacre, session) => session.rollback(nothing)],
  ["submit", (_nacre, session) => session.submit(nothing)],
  ["submit, nothing", (_nacre, session) => session.submit(undefined as never)],
  ["submit sauce", (_nacre, session) => session.submit({ sauce: "1" } as never)],
  ["commitChange", (_nacre, session) => session.commitChange("chg_1", { rebased: true } as never)],
  ["restoreRevision", (_nacre, session) => session.restoreRevision("0" as never)],
  ["callBinding", (_nacre, session) => session.callBinding(undefined as never)],
  ["callBinding, its name", (_nacre, session) => session.callBinding("f" as never)],
]
test.each(bad)("misshapen options of %s are invalid_options", async (_what, use) => {
  const session = await under.open()
  const refused = await refusal((async () => use(under.nacre, session))())
  expect(refused.kind).toBe("invalid_options")
  expect(await session.run("1 + 1")).toBe(2)
})

test("a time limit that is none is refused before a submission is in force", async () => {
  const session = await under.open()
  const refused = await refusal(session.submit({ source: "const a = 1; let b = a", timeoutMs: -5 }))
  expect([refused.kind, session.revision.number]).toEqual(["invalid_options", 0])
})

test("a source alone is a change, also in steps", async () => {
  const session = await under.open()
  expect(await session.proposeChange("const a = 1")).toMatchObject({ status: "proposed", changed: ["a"] })
})

test("a start that is refused leaves nothing open that keeps the process alive", async () => {
  const servers = () =>
    (process as unknown as { _getActiveHandles(): unknown[] })._getActiveHandles().filter((it) => it instanceof Server)
      .length
  const before = servers()
  await refusal(Nacre.start({ profile: "fool" as never }))
  await refusal(Nacre.start({ directory: 5 as never }))
  expect(servers()).toBe(before)
})

test("a definition that calls a tool while it is made is refused with the place", async () => {
  const session = await under.open()
  expect(await session.submit("const a = 1\nconst b = tools.echo(a)")).toMatchObject({
    status: "rejected",
    rejection: {
      kind: "outside_call",
      diagnostics: [{ line: 2, message: expect.stringContaining("tools.echo") as string }],
    },
  })
})
