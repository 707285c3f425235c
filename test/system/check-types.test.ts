// Types in a session's life: evals that are checked before they run, and what someone who writes is told, while code runs.
import { expect, test } from "vitest"
import type { Committed } from "nacre"
import { refusal, useNacre } from "./nacre-under-test.ts"

const under = useNacre()
const types = { check: "types" } as const

test("code with mistakes does not run, and says where they are", async () => {
  const session = await under.open()
  await session.eval("let n = 1; function f(x: number) { return x }")
  const outcome = await session.eval("n = 2\nf('x'); f(1).y", { ...types, file: "a.ts", line: 10 })
  expect(outcome).toMatchObject({
    status: "invalid",
    committed: { set: [], definitions: [] },
    error: {
      name: "TypeCheckError",
      message: "TS2345: Argument of type 'string' is not assignable to parameter of type 'number'.",
      spans: [
        { start: 8, end: 11, line: 11, column: 3 },
        { start: 19, end: 20, line: 11, column: 14 },
      ],
    },
  })
  expect(outcome.error!.rendered).toContain("(a.ts:11:3)\n11 | f('x'); f(1).y\n   |   ^^^")
  expect(await session.run("n")).toBe(1)
})

test("locals have the types that checked code declared, and none after code that was not checked", async () => {
  const session = await under.open({ check: "types" })
  await session.run("let rows = [{ id: 1 }]; fresh = 5; const k = 'a'")
  expect(await session.eval("rows[0]!.name")).toMatchObject({ status: "invalid", error: { spans: [{ start: 9 }] } })
  expect(await session.run("fresh = 'anything'; rows.length + k.length")).toBe(2)
  await session.run("rows = 'text' as any", { check: "syntax" })
  expect(await session.run("rows.anything")).toBeUndefined()
})

test("a function that checked code redefines is known as it is now", async () => {
  const session = await under.open({ check: "types" })
  await session.run("function f(n: number) { return n }")
  expect(await session.run("f(1).toFixed(1)")).toBe("1.0")
  await session.run("function f(n: number) { return [n] }")
  expect(await session.eval("f(1).toFixed(1)")).toMatchObject({ status: "invalid" })
  expect(await session.run("f(1).length")).toBe(1)
  expect(await session.run("{ a: f(2) }")).toEqual({ a: [2] })
})

test("evals stay in the order of the calls when some of them are checked", async () => {
  const session = await under.open()
  const outcomes = await Promise.all([
    session.eval("let log = ['a']", types),
    session.eval("log.push('b')"),
    session.eval("log.push('c')", types),
    session.eval("log.push('d'); log"),
  ])
  expect(outcomes.map(({ status }) => status)).toEqual(["ok", "ok", "ok", "ok"])
  expect(outcomes[3].value?.data).toEqual(["a", "b", "c", "d"])
})

/** Code whose check takes for ever. */
const busy = `type D = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9; type T = \`\${D}\${D}\${D}\${D}\`
${Array.from({ length: 20 }, (_, n) => `const x${n}: { [K in T]: { [L in T]: K extends L ? ${n} : -1 }[T] }[T] = 0`).join("\n")}`

test("an eval that is being checked can be interrupted, and closed; nothing of it ran", async () => {
  const session = await under.open()
  await session.eval("let ran = false")
  const stop = new AbortController()
  const checked = session.eval(`ran = true; ${busy}`, { ...types, signal: stop.signal })
  const behind = session.eval("ran")
  stop.abort()
  expect(await checked).toMatchObject({ status: "interrupted", because: "aborted" })
  expect((await behind).value?.data).toBe(false)
  const closing = session.eval(`ran = true; ${busy}`, types)
  await session.close()
  expect((await closing).status).toBe("interrupted")
})

test("a checker that cannot be used is the outcome's error, and nothing ran", async () => {
  await using nacre = await (await import("nacre")).Nacre.start({ hosts: { min: 1 }, limits: { checkTimeoutMs: 1 } })
  const session = await nacre.open()
  const outcome = await session.eval("let x = 1", types)
  expect(outcome).toMatchObject({ status: "invalid", error: { kind: "checker_unavailable" } })
  expect(await session.run("typeof x")).toBe("undefined")
  expect((await refusal(session.complete("a"))).kind).toBe("checker_unavailable")
})

test("completion, inspection and signatures know the session, while its code runs", async () => {
  const session = await under.open()
  await under.nacre.globals().bind("rate", { eur: 1 })
  await session.eval("function area(r: number) { return r * r } let rows = [{ id: 1, when: new Date(0) }], n = 5")
  const running = session.eval("await tools.hold('writing')")
  const { gate } = await under.parked("writing")
  const names = async (text: string) => (await session.complete(text)).items.map(({ name }) => name)
  expect(await names("ro")).toEqual(["rows"])
  expect(await names("rows[0].")).toEqual(["id", "when"])
  expect(await names("rows[0].when.toIS")).toEqual(["toISOString"])
  expect(await names("ra")).toEqual(expect.arrayContaining(["rate"]))
  expect(await names("document.")).toEqual([])
  expect(await session.hover("area(2)", 2)).toEqual({
    start: 0,
    end: 4,
    text: "function area(r: number): number",
    documentation: "",
  })
  expect(await session.signature("area(")).toMatchObject({ items: [{ text: "area(r: number): number" }] })
  gate.open()
  expect((await running).status).toBe("ok")
})

test("a session of profile minimal has no console", async () => {
  const session = await under.open({ profile: "minimal", check: "types" })
  expect(await session.eval("console.log(1)")).toMatchObject({ status: "invalid", error: { spans: [{ start: 0 }] } })
  expect(await session.run("Session.current!.id.length > 0 && [1].map((n) => n + 1)")).toEqual([2])
})

test("wrong use is refused", async () => {
  const session = await under.open()
  expect(await refusal(session.eval("1", { check: "all" as never }))).toMatchObject({ kind: "invalid_options" })
  expect(await refusal(session.eval("1", { check: "types", nested: true }))).toMatchObject({ kind: "invalid_options" })
  expect(await refusal(session.complete("ab", 3))).toMatchObject({ kind: "invalid_options" })
  expect(await refusal(session.complete(5 as never))).toMatchObject({ kind: "invalid_options" })
  expect(await refusal(under.open({ check: "some" as never }))).toMatchObject({ kind: "invalid_options" })
  await session.close()
  expect(await refusal(session.complete("a"))).toMatchObject({ kind: "session_not_found" })
})

test("what comes back is in force whatever its types say now, and the mistakes are told", async () => {
  const session = await under.open()
  await session.submit("interface Row { id: number }\nfunction load(): Row { return { id: 1 } }")
  await session.submit("interface Row { key: string }\nfunction load(): Row { return { key: 'x' } }")
  await session.submit("function keyOf() { return load().key.length }")
  const fine = await session.restoreRevision(3)
  expect(fine).toMatchObject({ status: "committed", diagnostics: [] })
  // An eval is not checked by default: what it leaves is wrong, and so is the export of it.
  await session.eval("interface Row { id: number }")
  const exported = session.exportRevision()
  const other = await under.open()
  const imported = await other.importRevision(exported)
  expect(imported.status).toBe("committed")
  const { diagnostics = [] } = imported as Committed
  expect(diagnostics.map(({ key, code, line }) => [key, code, line])).toEqual(
    expect.arrayContaining([["keyOf", 2339, 1]]),
  )
  expect(await other.run("keyOf()")).toBe(1)
  const unchecked = await under.open({ check: "syntax" })
  expect(await unchecked.importRevision(exported)).not.toHaveProperty("diagnostics")
})

test("tools have the types that the embedder gives, and no others are there", async () => {
  const tools = {
    half: {
      call: ([n]: unknown[]) => Number(n) / 2,
      type: "(n: number) => Promise<number>",
      doc: "Half of it. */ Really.",
    },
    plain: () => "anything",
    first: {
      call: ([list]: unknown[]) => (list as unknown[])[0],
      type: "<T>(list: readonly T[]) => Promise<T | undefined>",
    },
  }
  const session = await under.open({ check: "types", tools })
  expect(await session.run("const h = await tools.half(9); h.toFixed(2)")).toBe("4.50")
  expect(await session.run("(await tools.plain(1, 'a')).length")).toBe(8)
  expect(await session.run("const f = await tools.first(['a']); f?.toUpperCase()")).toBe("A")
  for (const [code, message] of [
    ["await tools.half('9')", "TS2345: Argument of type 'string' is not assignable to parameter of type 'number'."],
    ["await tools.halve(9)", "TS2339: Property 'halve' does not exist on type 'SessionTools'."],
    ["const s: string = await tools.half(9)", "TS2322: Type 'number' is not assignable to type 'string'."],
  ] as const) {
    const { status, error } = await session.eval(code)
    expect([status, error?.message]).toEqual(["invalid", message])
  }
  // What is open to no check still runs as it did.
  expect(await session.run("await tools.half('9')", { check: "syntax" })).toBe(4.5)
  const { items } = await session.complete("tools.")
  expect(items.map(({ name }) => name)).toEqual(expect.arrayContaining(["first", "half", "plain"]))
  const shown = await session.hover("tools.half", 7)
  expect(JSON.stringify(shown)).toContain("(n: number) => Promise<number>")
  expect(JSON.stringify(shown)).toContain("Half of it. * / Really.")
  const other = await under.open({ check: "types" })
  expect((await other.eval("tools.half(1)")).status).toBe("invalid")
})

test.each<[unknown, string]>([
  [{ call: () => 1, type: "number" }, "tools.t.type must be a TypeScript function type"],
  [{ call: () => 1, type: "(a: number" }, "tools.t.type"],
  [{ call: () => 1, type: "() => void; declare const x: 1" }, "tools.t.type"],
  [{ call: () => 1, type: "() => void // ha" }, "tools.t.type"],
  [{ call: () => 1 }, "tools.t.type"],
  [{ call: () => 1, type: "() => void", doc: 5 }, "tools.t.doc"],
  [{ call: () => 1, type: "() => void", docs: "" }, "tools.t has 'docs'"],
  [{ type: "() => void" }, "Tool 't' must be a function, or { call, type }"],
  [5, "Tool 't' must be a function"],
  [null, "Tool 't' must be a function"],
])("a tool %j is refused: %s", async (tool, message) => {
  const refused = await refusal(under.open({ tools: { t: tool } } as never))
  expect(refused.kind).toBe("invalid_options")
  expect(refused.message).toContain(message)
})
