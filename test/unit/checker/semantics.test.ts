// What sessions allow and one TypeScript module does not, and what the checker says where nobody can know: no false alarms, and no silence.
import { describe, expect, test } from "vitest"
import { complete, hover, signature } from "../../../runtime/checker/assist.ts"
import { CheckEngine } from "../../../runtime/checker/engine.ts"
import type { LocalText } from "../../../runtime/checker/declarations.ts"
import { TestSession, bareEnvironment } from "./oracle.ts"

const locals: LocalText[] = [
  { name: "count", keyword: "let", type: "number" },
  { name: "origin", keyword: "const", type: "Point" },
  { name: "loose", keyword: "let", type: "any" },
]

function session(definitions: Record<string, string> = {}): TestSession {
  const made = new TestSession()
  made.environment = { ...bareEnvironment, ambient: "declare const rate: { eur: number };", locals }
  made.check({ Point: "interface Point { x: number; y: number }", ...definitions })
  return made
}

const withF = { f: "function f(n: number) { return n }" }

describe("statements", () => {
  test.each<[what: string, statements: string, codes: number[], definitions?: Record<string, string>]>([
    ["top-level await", "await Promise.resolve(1); for await (const x of [1]) x.toFixed()", []],
    ["a local declared again with another type and keyword", "const count = 'text'; count.length", []],
    ["a definition declared again as a local", "let f = 1; f.toFixed()", [], withF],
    ["a local is as it was declared", "count.length; count = 2; count = 'x'", [2339, 2322]],
    ["a constant local", "origin.x.toFixed(); origin = origin", [2588]],
    ["a local whose type nobody knows", "loose.anything(1).at.all", []],
    ["a bare assignment makes a local", "fresh = 5; fresh.toFixed(); [a1, { b: b1 }] = [1, { b: 's' }] as const", []],
    ["what was assigned is known from there on", "fresh = 5; fresh.length", [2339]],
    ["a name that nothing binds", "count + conut", [2552]],
    ["a compound assignment makes nothing", "fresh += 1", [2304]],
    ["the last value and the last error", "_.anything; _error.message; _ = 5", [2588]],
    ["an object literal", "{ a: count, b: { c: 1 } }", []],
    ["an object literal, at its own place", "  { a: conut }", [2304]],
    ["an empty object", "{}", []],
    ["a block", "{ let p = count; p.length }", [2339]],
    [
      "names of session code",
      "Session.current!.bindings.at('x'); Workspace.sessions[0]!.id; void tools; console.log(new URL('a:b').href)",
      [],
    ],
    ["no DOM, no Node", "window; document; require('fs'); fetch", [2304, 2584, 2591, 2304]],
    ["a global of the workspace", "rate.eur.toFixed(); rate.usd", [2339]],
    [
      "imports of packages nobody looked up",
      "import z from 'zod'; import * as y from 'y/sub'; import 'side'; z.a(y.b); const m = await import('left-pad'); m.x",
      [],
    ],
    ["a function used before its statement", "early(); function early() { return late }; const late = 1", []],
    ["a const used before its statement", "late; const late = 1", [2448, 2454]],
    ["disposal", "using d = { [Symbol.dispose]() {} }; d", []],
    ["labels and unreachable code", "a: for (;;) { break a; count }", []],
    ["nothing", "  // only a comment", []],
  ])("%s", (_what, statements, codes, definitions = {}) => {
    const { diagnostics } = session(definitions).check({}, statements)
    const errors = diagnostics.filter(({ category }) => category === "error")
    expect(errors.map(({ code, message }) => [code, message])).toEqual(codes.map((code) => [code, expect.any(String)]))
    for (const { start, length, key } of errors) {
      expect(key).toBeUndefined()
      expect(start + length).toBeLessThanOrEqual(statements.length)
    }
  })

  test("places count from what was given, also in an object literal", () => {
    const { diagnostics } = session().check({}, "  { a: '😀', b: conut };")
    expect(diagnostics.map(({ start, length }) => "  { a: '😀', b: conut };".slice(start, start + length))).toEqual([
      "conut",
    ])
  })

  test("no advice for projects is given", () => {
    const { diagnostics } = session().check({}, "document; require('fs'); Object.groupBy")
    const names = ["name 'document'.", "name 'require'."].map((it) => `Cannot find ${it}`)
    expect(diagnostics.map(({ message }) => message)).toEqual([
      ...names,
      "Property 'groupBy' does not exist on type 'ObjectConstructor'.",
    ])
  })

  test("implicit any warns in statements and is an error in declarations", () => {
    const { diagnostics } = session().check({ g: "const g = (a) => a" }, "const h = (a) => a")
    expect(diagnostics.map(({ key, code, category }) => [key, code, category])).toEqual([
      ["g", 7006, "error"],
      [undefined, 7006, "warning"],
    ])
  })

  test("a declaration makes no local by an assignment", () => {
    const { diagnostics } = session().check({ g: "function g() { fresh = 5 }" })
    expect(diagnostics.map(({ key, code }) => [key, code])).toEqual([["g", 2304]])
  })

  test("types of the locals that are left", () => {
    const statements = `let a = [1], { x, ...rest } = { x: 1, y: "s" }; const p: Point = { x, y: 2 }; class K {} ; let k = new K();
      for (var i = 0; i < 3; i++); fresh = 5; let w: string | undefined; let fn = f; var e = []; function own() {}`
    const { localTypes } = session(withF).check({}, statements)
    expect(localTypes.map(({ name, keyword, type }) => `${keyword} ${name}: ${type}`).toSorted()).toEqual([
      "const p: Point",
      "let K: any",
      "let a: number[]",
      "let e: any[]",
      "let fn: (n: number) => number",
      "let fresh: any",
      "let i: number",
      "let k: any",
      "let own: () => void",
      "let rest: { y: string; }",
      "let w: string | undefined",
      "let x: number",
    ])
  })
})

describe("declarations", () => {
  test("a local's type is known in them, and a change of it refuses nobody's change", () => {
    const made = session()
    const { diagnostics } = made.check({ g: "const g = () => count.toFixed() + origin.z" })
    expect(diagnostics.map(({ code }) => code)).toEqual([2339])
    made.check({ g: "const g = () => count.toFixed()" })
    made.environment = { ...made.environment, id: "later", locals: [{ name: "count", keyword: "let", type: "string" }] }
    expect(made.check({ h: "const h = 1" }).diagnostics).toEqual([])
    // Known, but old: it was so before the change.
    const again = made.check({ g: "const g = () => count.toFixed() + 'x'" }).diagnostics
    expect(again.map(({ code, isNew }) => [code, isNew])).toEqual([[2551, false]])
  })

  test("a type that a local has reaches those who use the local", () => {
    const made = session({ g: "const g = () => origin.x.toFixed()" })
    const { diagnostics } = made.check({ Point: "interface Point { x: string; y: number }" })
    expect(diagnostics.map(({ key, code }) => [key, code])).toEqual([["g", 2551]])
  })

  test("mistakes that the set had before are told as old, whatever is checked again", () => {
    const made = session({ f: "function f(n: number) { return n }", g: "const g = () => f('x') + f(1)" })
    const { diagnostics } = made.check({ f: "function f(n: number) { return String(n) }" })
    expect(diagnostics.map(({ key, code, isNew }) => [key, code, isNew])).toEqual([["g", 2345, false]])
    const worse = made.check({ f: "function f(n: boolean) { return String(n) }" }).diagnostics
    expect(worse.map(({ message, isNew }) => [message.includes("'number'"), isNew])).toEqual([
      [false, true],
      [true, true],
    ])
  })

  test("one that does not parse says where, and takes nobody with it", () => {
    const made = session({ g: "const g = () => 1" })
    const { diagnostics } = made.check({ bad: "function bad( {", h: "const h = () => bad(1) + g()" })
    expect(diagnostics.map(({ key, code }) => [key, code])).toEqual([["bad", 1005]])
  })

  test("comments and formatting change no declaration text", () => {
    const made = session({ f: "/** Doubles. */ function f(n: number) { return n * 2 }", g: "const g = () => f(1)" })
    const { checkedCount, schemes } = made.check({ f: "// twice\nfunction f( n : number ) {\r\n\r\n return n + n }" })
    expect([checkedCount, schemes]).toEqual([1, [{ name: "f", text: "declare function f(n: number): number;" }]])
  })

  test("a body edit looks at one declaration, a new type at its users, and at theirs only when they change", () => {
    const users = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`u${n}`, `const u${n} = () => f(${n})`]))
    const made = session({ ...withF, ...users, top: "const top0 = () => u0() + u1()\nconst top = top0" })
    expect(made.check({ f: "function f(n: number) { return n + 1 }" }).checkedCount).toBe(1)
    expect(made.check({ f: "function f(n: number, m = 1) { return n + m }" }).checkedCount).toBe(51)
    expect(made.check({ f: "function f(n: number, m = 1) { return String(n + m) }" }).checkedCount).toBe(52)
  })
})

describe("the engine", () => {
  test("says what it misses, and takes it with the next request", () => {
    const engine = new CheckEngine()
    const request = {
      session: "s",
      base: "b",
      set: "c",
      changed: [],
      removed: [],
      statements: "f(1).x",
      environmentId: "env",
    }
    expect(engine.check(request)).toEqual({ missing: "environment" })
    expect(engine.check({ ...request, environment: bareEnvironment })).toEqual({ missing: "base" })
    const whole = [{ key: "f", source: withF.f }]
    expect(engine.check({ ...request, environment: bareEnvironment, whole })).toMatchObject({
      diagnostics: [{ code: 2339 }],
    })
    expect(engine.check({ ...request, base: "c", set: "d" })).toMatchObject({ diagnostics: [{ code: 2339 }] })
    expect(engine.check({ ...request, environmentId: "other" })).toEqual({ missing: "environment" })
  })

  test("keeps several candidates of one base, and goes back to any of them", () => {
    const engine = new CheckEngine()
    const at = { session: "s", environmentId: "env", environment: bareEnvironment, removed: [], statements: "f(1).x" }
    const change = (base: string, set: string, source: string) =>
      engine.check({ ...at, base, set, changed: [{ key: "f", source }] })
    const message = (set: string): string => {
      const answer = engine.check({ ...at, base: set, set, changed: [] })
      return "missing" in answer ? answer.missing : answer.diagnostics[0]!.message
    }
    change("", "r1", "function f(n: number) { return n }")
    change("r1", "c1", "function f(n: number) { return [n] }")
    change("r1", "c2", "function f(n: number) { return String(n) }")
    change("c1", "c3", "function f(n: number) { return true }")
    for (const [set, type] of Object.entries({ c2: "'string'", r1: "'number'", c3: "'boolean'", c1: "'number[]'" }))
      expect([set, message(set)]).toEqual([set, expect.stringContaining(`type ${type}`)])
  })

  test("shows a session nothing of another", () => {
    const engine = new CheckEngine()
    const mine = new TestSession(engine, "mine")
    const yours = new TestSession(engine, "yours")
    mine.check({ Secret: "type Secret = { pin: 1234 }" })
    const { diagnostics } = yours.check({
      spy: `type A = import("./-Secret").Secret; type B = import("../mine/-Secret").Secret; let spy: A | B = 1`,
    })
    expect(JSON.stringify(diagnostics)).not.toContain("1234")
    expect(yours.scheme("spy")).not.toContain("1234")
  })
})

describe("while someone writes", () => {
  const definitions = {
    area: "/** Of a circle.\n * @param r its radius */\nfunction area(r: number): number { return r * r * 3 }",
    shape: "const shape = { side: { length: 1 } }",
    Kind: "enum Kind { A, B }",
  }
  const layout = () => {
    const made = session(definitions)
    const opened = made.engine.open({ session: made.id, base: "set-1", environmentId: made.environment.id })
    if ("missing" in opened) throw new Error(opened.missing)
    return opened.layout
  }

  test.each<[text: string, names: string[], start: number]>([
    ["are", ["area"], 0],
    ["shape.side.", ["length"], 11],
    ["let q = shape.si", ["side"], 14],
    ["if (coun", ["count"], 4],
    ["origin.", ["x", "y"], 7],
    ["Kind.", ["A", "B"], 5],
    ["'are", [], 1],
    ["rat", ["rate"], 0],
    ["({ so: 1 }).s", ["so"], 12],
    ["const f = (point: Poi", ["Point"], 18],
  ])("%s", (text, names, start) => {
    const found = complete(layout(), text, text.length)
    expect(found.items.map(({ name }) => name)).toEqual(expect.arrayContaining(names))
    if (names.length === 0) expect(found.items).toEqual([])
    expect([found.start, found.end]).toEqual([start, text.length])
  })

  test("what a name is", () => {
    expect(hover(layout(), "let a = area(1)", 9)).toEqual({
      start: 8,
      end: 12,
      text: "function area(r: number): number",
      documentation: "Of a circle.",
    })
    expect(hover(layout(), "count", 0)?.text).toBe("let count: number")
    expect(hover(layout(), "Kind.A", 0)?.text).toBe("enum Kind")
    expect(hover(layout(), "1 + 1", 2)).toBeUndefined()
  })

  test("what a call takes", () => {
    expect(signature(layout(), "area(", 5)).toEqual({
      items: [
        {
          text: "area(r: number): number",
          documentation: "Of a circle.",
          parameters: [{ text: "r: number", documentation: "its radius" }],
        },
      ],
      active: 0,
      parameter: 0,
    })
    expect(signature(layout(), "1 + 1", 3).items).toEqual([])
  })
})
