// What becomes of instances when their class is declared again: in the realm that made them, and in one made from what was committed.
import { describe, expect, test } from "vitest"
import { ResidentSession } from "../../resident.ts"

interface Case {
  what: string
  before: string
  again: string
  stale?: string[]
  ask: string
  answer: unknown
}

const cases: Case[] = [
  {
    what: "methods and accessors",
    before: "class P { x = 1; m() { return 'old' } get g() { return 1 } }; let p = new P(), deep = { a: [new P()] }",
    again: "class P { x = 1; m() { return 'new' + this.x } get g() { return 2 } added() { return 3 } }",
    ask: "[p.m(), p.g, deep.a[0].m(), p.added(), p instanceof P, p.constructor === P]",
    answer: ["new1", 2, "new1", 3, true, true],
  },
  {
    what: "a new field with a literal or a function",
    before: "class P { x = 1 }; let p = new P(); p.x = 9",
    again: "class P { x = 1; n = -1; s = 'a'; list = []; o = { a: [1] }; f = () => this.x; u = undefined; t = `t` }",
    ask: "[p.x, p.n, p.s, p.list, p.o, p.f(), 'u' in p, p.t, Object.keys(p)]",
    answer: [9, -1, "a", [], { a: [1] }, 9, true, "t", ["x", "n", "s", "list", "o", "f", "u", "t"]],
  },
  {
    what: "a new field that only code could fill",
    before: "class P { x = 1 }; let p = new P(); const held = { p }",
    again: "class P { x = 1; id = Math.random(); bare; constructor(readonly owner: string) {} }",
    stale: ["held (P: 'bare' has no value)", "held (P: 'id' has no value)", "held (P: 'owner' has no value)"],
    ask: "['id' in p, p.x, p instanceof P, held.p === p]",
    answer: [false, 1, true, true],
  },
  {
    what: "behind closures, maps, private fields and other instances",
    before:
      "class P { v = 1; who() { return 'old' } } class Box { #p = new P(); get() { return this.#p } }; const f = (() => { const p = new P(); return () => p })(); const m = new Map([[new P(), new Set([new P()])]]); const box = new Box()",
    again: "class P { v = 1; who() { return 'new' } }",
    ask: "[f().who(), [...m.keys()][0].who(), [...[...m.values()][0]][0].who(), box.get().who()]",
    answer: ["new", "new", "new", "new"],
  },
  {
    what: "private names that stay what they are",
    before: "class C { #n = 1; inc() { return ++this.#n } }; const c = new C(); const fs = [() => c.inc(), c]; c.inc()",
    again: "class C { #n = 100; inc() { return (this.#n += 10) } }",
    ask: "[c.inc(), fs[0](), fs[1] === c, c instanceof C, new C().inc()]",
    answer: [12, 22, true, true, 110],
  },
  {
    what: "private names that changed",
    before: "class C { #n = 1; inc() { return ++this.#n } }; const c = new C()",
    again: "class C { #m = 1; inc() { return 'new' } }",
    stale: ["c (still an earlier C: its private names changed)"],
    ask: "[c.inc(), c instanceof C, c.inc(), new C().inc()]",
    answer: [2, false, 3, "new"],
  },
  {
    what: "heritage that changed",
    before: "class A {} class B { b() { return 'B' } } class C extends A { c() { return 1 } }; const c = new C()",
    again: "class C extends B { c() { return 2 } }",
    stale: ["c (still an earlier C: what it extends changed)"],
    ask: "[c.c(), c instanceof C, c instanceof A, new C().b()]",
    answer: [1, false, true, "B"],
  },
  {
    what: "subclasses: definitions, local classes and those with static data",
    before:
      "class A { a() { return 'old' } } class B extends A { b() { return this.a() } } class S extends A { static made = [1] }; const Mixed = ((Base) => class extends Base { x = 1 })(A); const all = [new B(), new S(), new Mixed()]",
    again: "class A { added = 7; a() { return 'new' } }",
    ask: "[all.map((o) => o.a()), all[0].b(), all.map((o) => o instanceof A), all.map((o) => o.added), all[0] instanceof B, all[1] instanceof S, S.made, all[2] instanceof Mixed]",
    answer: [["new", "new", "new"], "new", [true, true, true], [7, 7, 7], true, true, [1], true],
  },
  {
    what: "a subclass with private names",
    before:
      "class A { a() { return 'old' } } class B extends A { #n = 1; b() { return this.#n++ + this.a() } }; const b = new B(); b.b()",
    again: "class A { a() { return 'new' } }",
    ask: "[b.b(), b instanceof A, b instanceof B]",
    answer: ["2new", true, true],
  },
  {
    what: "objects whose prototype is an instance have its fields, and get none of their own",
    before:
      "class P { n = 1; step() { return (this.n += 1) } }; const p = new P(); p.n = 5; const of = Object.create(p), deep = { a: { __proto__: of, own: 1 } }; function F() {} F.prototype = Object.create(P.prototype, { constructor: { value: F } }); const f = new F()",
    again: "class P { n = 9; m = 2; at = Date.now(); step() { return (this.n += 2) } }",
    stale: ["deep (P: 'at' has no value)", "f (P: 'at' has no value)"],
    ask: "[of.n, deep.a.n, Object.keys(of), deep.a.m, p.m, Object.keys(f), of instanceof P]",
    answer: [5, 5, [], 2, 2, ["n", "m"], true],
  },
  {
    what: "one that is frozen keeps all of them",
    before: "class P { m() { return 'old' } }; const free = new P(), frozen = Object.freeze(new P())",
    again: "class P { m() { return 'new' } }",
    stale: [
      "free (still an earlier P: an instance is frozen (in 'frozen'))",
      "frozen (still an earlier P: an instance is frozen (in 'frozen'))",
    ],
    ask: "[free.m(), frozen.m(), Object.getPrototypeOf(free) === Object.getPrototypeOf(frozen), free instanceof P]",
    answer: ["old", "old", true, false],
  },
  {
    what: "a class with static data",
    before: "class P { static made = [1]; m() { return 'old' } }; P.made.push(2); const p = new P()",
    again: "class P { static made = [9]; n = 1; m() { return 'new' } }",
    ask: "[p.m(), p.n, p instanceof P, P.made]",
    answer: ["new", 1, true, [9]],
  },
  {
    what: "between a class that is code and one that is not",
    before: "class P { m() { return 'old' } }; const p = new P()",
    again: "class P { static at = Number('3'); m() { return P.at } }",
    ask: "[p.m(), p instanceof P]",
    answer: [3, true],
  },
  {
    what: "a name that becomes something else",
    before: "class P { m() { return 'old' } }; const p = new P()",
    again: "function P() { return 1 }",
    ask: "[p.m(), P(), p.constructor.name]",
    answer: ["old", 1, "P"],
  },
  {
    what: "errors and maps",
    before:
      "class E extends Error { say() { return 'old' + this.message } } class M extends Map { sum() { return 0 } }; const e = new E('x'), m = new M([[1, 2]])",
    again:
      "class E extends Error { code = 5; say() { return 'new' + this.message } } class M extends Map { sum() { return [...this.values()][0] } }",
    ask: "[e.say(), e.code, e instanceof E, m.sum(), m instanceof M]",
    answer: ["newx", 5, true, 2, true],
  },
]

describe.each([
  ["in the realm that made them", false],
  ["in a realm made from what was committed", true],
])("%s", (_how, isRebuilt) => {
  test.each(cases)("$what", async ({ before, again, stale = [], ask, answer }) => {
    const session = new ResidentSession()
    await session.run(before)
    if (isRebuilt) session.rebuild()
    const { status, text, delta } = await session.eval(again)
    expect(status === "ok" ? "" : text).toBe("")
    expect((delta.stale ?? []).toSorted()).toEqual(stale)
    if (isRebuilt) expect(session.rebuild()).toEqual([])
    expect(await session.run(ask)).toEqual(answer)
    expect(session.rebuild()).toEqual([])
    if (!/inc\(\)|b\.b\(\)/.test(ask)) expect(await session.run(ask)).toEqual(answer)
  })
})

test("several in a row, and a binding that only lives in the realm", async () => {
  const session = new ResidentSession()
  await session.run(
    "class P { #n = 1; m() { return this.#n } }; const p = new P(); const bound = { p: new P(), w: new WeakMap() }",
  )
  const { delta } = await session.eval("class P { #n = 2; m() { return -this.#n } }")
  expect((delta.stale ?? []).toSorted()).toEqual([
    "bound (still an earlier P: an instance cannot be made again (in 'bound'))",
    "p (still an earlier P: an instance cannot be made again (in 'bound'))",
  ])
  expect(await session.run("[p.m(), bound.p.m(), new P().m()]")).toEqual([1, 1, -2])
  // A declaration that is never reached moves nothing.
  expect((await session.eval("throw 1; class P { #n = 9; m() { return 'never' } }")).status).toBe("threw")
  expect(await session.run("[p.m(), new P().m()]")).toEqual([1, -2])
  await session.run("class Q { a = 1 }; let q = new Q()")
  for (const version of [2, 3, 4])
    await session.run(`class Q { a = 1; v${version} = ${version}; v() { return ${version} } }`)
  expect(await session.run("[q.v(), q]")).toEqual([4, { a: 1, v2: 2, v3: 3, v4: 4 }])
})
