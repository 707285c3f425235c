// Functions that cannot be kept are named, with the reason; everything beside them is kept, and nothing changes in silence.
import { describe, expect, test } from "vitest"
import { ResidentSession } from "../../resident.ts"

const kept: [what: string, source: string, expected: Record<string, string>][] = [
  [
    "a frame that waits",
    "let f; (async () => { let n = 0; f = () => n++; await new Promise(() => {}) })(); 0",
    { f: "function f: the async function or generator around it has not ended" },
  ],
  [
    "a block of a frame that waits",
    "let f; (async () => { for (const x of [1]) { f = () => x; await new Promise(() => {}) } })(); 0",
    { f: "function f: the async function or generator around it has not ended" },
  ],
  ["a frame that has ended", "let f; await (async () => { let n = 0; f = () => n++; await 1 })()", {}],
  [
    "a frame that has thrown",
    "let f; try { await (async () => { let n = 0; f = () => n++; await 1; throw 1 })() } catch {}",
    {},
  ],
  ["an async arrow of one expression", "let f; await (async (n) => f = [() => n, await 1])(5)", {}],
  [
    "a suspended generator",
    "let f; const g = (function* () { let n = 0; f = () => n++; yield 1 })(); g.next()",
    { f: "function f: the async function or generator around it has not ended", g: "a generator" },
  ],
  ["a finished generator's variables", "let f; [...(function* () { let n = 0; f = () => n++; yield 1 })()]", {}],
  ["statements that awaited", "let fs = []; for (const x of [1, 2]) { await x; fs.push(() => x) }", {}],
  [
    "a variable that never got a value",
    "let f; try { (() => { f = () => x; throw 1; let x = 2 })() } catch {}",
    { f: "function f: its variable 'x' was never initialised" },
  ],
  ["switch", "let f; switch (1) { case 1: let a = 1; f = () => a }", { f: "function f" }],
  ["a default of a parameter", "const f = ((a, g = () => a) => g)(1)", { f: "function g" }],
  [
    "super()",
    "let f; class A {} class B extends A { constructor() { const s = () => super(); s(); f = s } }; new B(); 0",
    { f: "function s" },
  ],
  ["arguments", "const f = (function () { return () => arguments.length })(1)", { f: "function" }],
  ["new.target", "const f = new (function F() { return () => new.target })()", { f: "function" }],
  ["a const that is assigned", "const f = (() => { const k = 1; return () => { k = 2 } })()", { f: "function" }],
  ["a computed key", "const o = { ['a' + 1]: () => 1 }", { o: "function a1 (at o.a1)" }],
  ["direct eval", "const f = (() => { let n = 1; return () => eval('n') })()", { f: "function" }],
  ["a local class", "const C = (() => class { m() {} })()", {}],
  ["a class in a switch", "let C; switch (1) { case 1: let a = 1; C = class { m() { return a } } }", { C: "class C" }],
  [
    "a class whose static initialiser threw",
    "let C; try { (class { static { C = this } static #n = (() => { throw 1 })() }) } catch {}",
    { C: "class: its private name '#n' was never initialised" },
  ],
  ["a class in direct eval", "let C = eval('(class {})'); 0", { C: "class" }],
  ["a static that is nothing without its process", "class S { static w = new WeakMap() }", { S: "a WeakMap (at S.w)" }],
  [
    "what a function captured",
    "const f = (() => { const map = new WeakMap(); return { f: () => map } })()",
    { f: "a WeakMap (at f.f{captured map})" },
  ],
  [
    "private names whose constructor runs code",
    "class A { #x = 1; constructor({ n } = { n: Date.now() }) { this.#x = n } } let a = new A(); let sub = new (class extends A {})()",
    { a: "an instance of A, which has private names", sub: "an instance of a class, which has private names" },
  ],
  [
    "private names on a built-in object",
    "class M extends Map { #n = 1 } let m = new M()",
    { m: "an instance of M, which has private names" },
  ],
  [
    "private names that hold something",
    "class H { #w = { in: [new WeakMap()] } } let h = [new H()]",
    { h: "a WeakMap (at h[0]{private H.#w}.in[0])" },
  ],
  [
    "private names on an object of another class",
    "class P { constructor(o) { return o } } class S extends P { #n = 1; static has(o) { return #n in o } } let plain = { a: 1 }, list = [1]; new S(plain); new S(list); let fine = { a: 1 }",
    {
      list: "an object with the private names of S, which it is no instance of",
      plain: "an object with the private names of S, which it is no instance of",
    },
  ],
  [
    "private names put on by a plain function",
    "function P(o) { return o } class S extends P { #n = 1 } let m = new S(new Map())",
    { m: "an object with the private names of S, which it is no instance of" },
  ],
  ["an object made of a prototype only", "class A { #x = 1 } let a = Object.create(A.prototype)", {}],
  ["a function on a native function", "const f = Function('return 1')", { f: "function anonymous" }],
]

describe("what is kept and what is not", () => {
  test.each(kept)("%s", async (_what, source, expected) => {
    const session = new ResidentSession()
    const { status, text } = await session.eval(`let beside = [1]; ${source}`)
    expect(status === "ok" ? "" : text).toBe("")
    const found = Object.fromEntries(session.ephemeral.map((name) => [name, session.ephemeralText(name)]))
    expect(found).toEqual(expected)
    expect(session.rebuild().toSorted()).toEqual(Object.keys(expected).toSorted())
    expect(await session.run("beside")).toEqual([1])
  })
})

describe("what an eval changes through a function is committed", () => {
  const cases: [what: string, scripts: string[], probe: string, expected: unknown][] = [
    ["a variable", ["let n = 0; { let c = 0; var inc = () => ++c; var get = () => c }", "inc()"], "get()", 1],
    [
      "a binding that only the function mentions",
      ["const log = []; const add = ((x) => () => log.push(x))(1)", "add()", "add()"],
      "log.length",
      2,
    ],
    [
      "through a function that calls another",
      ["const log = []; let a = (x) => log.push(x); let b = (x) => a(x); const run = [(x) => b(x)]", "run[0](1)"],
      "log",
      [1],
    ],
    [
      "through a definition",
      [
        "const log = []; const put = ((tag) => (x) => log.push(tag + x))('t'); function use(x) { return put(x) }",
        "use(1)",
      ],
      "log",
      ["t1"],
    ],
    [
      "through the definition that made it",
      ["const seen = []; function make() { return () => seen.push(1) } let f = make()", "f()"],
      "seen",
      [1],
    ],
    [
      "data of a definition",
      [
        "const seen = { n: 0 }; const ops = { f: () => 1 }; ops.g = ((k) => () => (seen.n += k))(2); let h = ops.g",
        "ops.g()",
      ],
      "seen.n",
      2,
    ],
    [
      "a global property",
      ["let seen = [0]; globalThis.hook = (() => { let own = seen; return () => own.push(1) })()", "hook()"],
      "seen.length",
      2,
    ],
  ]
  test.each(cases)("%s", async (_what, scripts, probe, expected) => {
    for (const between of [false, true]) {
      const session = new ResidentSession()
      for (const script of scripts) {
        expect((await session.eval(script)).status).toBe("ok")
        if (between && session.ephemeral.length === 0) session.rebuild()
      }
      session.rebuild()
      expect(await session.run(probe)).toEqual(expected)
    }
  })
})

describe("old instances of definitions", () => {
  test("stay what they were", async () => {
    const session = new ResidentSession()
    await session.run(
      "function step(x) { return x + 1 } function twice(x) { return step(step(x)) } let old = twice; const ops = { s: step, t: (x) => x * 2 }; let t = ops.t; let make = (() => { let n = 0; return () => twice(n++) })()",
    )
    await session.run("function step(x) { return x + 10 }")
    expect(session.ephemeral).toEqual([])
    session.rebuild()
    expect(await session.run("[old(0), twice(0), old === twice, make(), t(3), t === ops.t]")).toEqual([
      2,
      20,
      false,
      20,
      6,
      false,
    ])
    await session.run("function step(x) { return x + 100 } const ops = { t: (x) => x * 3 }")
    session.rebuild()
    expect(await session.run("[old(0), twice(0), make(), t(3), ops.t(3)]")).toEqual([2, 200, 201, 6, 9])
  })

  test("functions that a definition made see the definitions that it saw", async () => {
    const session = new ResidentSession()
    await session.run("function rate() { return 1 } function priced(n) { return () => n * rate() } const p = priced(5)")
    expect(await session.run("p()")).toBe(5)
    await session.run("function rate() { return 2 }")
    const before = await session.run("p()")
    session.rebuild()
    expect(await session.run("[p(), priced(5)()]")).toEqual([before, 10])
  })
})

test("sources are kept as long as something refers to them, and no longer", async () => {
  const session = new ResidentSession()
  for (let index = 0; index < 200; index++) await session.run(`let f = ((n) => () => n + ${index})(1); f()`)
  expect(session.state.sources.size).toBeLessThan(30)
  session.rebuild()
  expect(await session.run("f()")).toBe(200)
})

test("positions in a rebuilt function are those of its own text", async () => {
  const session = new ResidentSession()
  await session.run("let n = 0\nconst boom = (() => {\n  let k = 1\n  return () => {\n    k.x.y\n  }\n})()")
  const before = (await session.eval("boom()")).text
  session.rebuild()
  const after = (await session.eval("boom()")).text
  expect(before.replaceAll(/test\/\d+/g, "t")).toBe(after.replaceAll(/test\/\d+/g, "t"))
  expect(after).toContain("test/1.ts:5:9")
})

test("what leaves the session without its private names does not leave", async () => {
  const session = new ResidentSession()
  await session.run("class A { #x = 1 } class B extends A { y = 2 } let b = new B()")
  expect((await session.eval("b")).value).toBeUndefined()
  expect((await session.eval("structuredClone(b)")).text).toContain("cannot be cloned")
})
