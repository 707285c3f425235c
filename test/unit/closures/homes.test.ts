// Functions that only mean something inside a class or an object literal, since they use private names or `super`: through a realm that is
// thrown away after every eval they give what the engine gives for the same scripts in one context.
import { describe, expect, test } from "vitest"
import { byEngine } from "../../by-engine.ts"
import { byRebuilds } from "../../by-rebuilds.ts"
import { ResidentSession } from "../../resident.ts"

const cases: [what: string, scripts: string[]][] = [
  [
    "a private field of an instance, from an arrow of a method",
    [
      "class A { #n = 1; make() { return () => this.#n++ } get n() { return this.#n } }",
      "const a = new A(), f = a.make(), g = a.make(); [f(), g(), a.n]",
      "[f(), g(), a.n, f === g]",
      "[new A().make()(), a.n]",
      "[f.name, f.length, String(f), String(A), String(a.make)]",
    ],
  ],
  [
    "a private field alone, through a function held by itself",
    ["class A { #n = 1; make() { return () => this.#n++ } } const f = new A().make(); f()", "f()", "f()"],
  ],
  [
    "private names of what is handed in",
    [
      "class P { #x; constructor(x) { this.#x = x } static reader() { return (p) => p.#x } static tester() { return function has(o) { return #x in o } } static { this.writer = (p, v) => { p.#x = v } } }",
      "const read = P.reader(), has = P.tester(), p = new P(3); [read(p), has(p), has({})]",
      "P.writer(p, 4); [read(p), has(p), has.name]",
      "read({})",
      "[read(p), read(new P(9))]",
    ],
  ],
  [
    "private methods and accessors, static ones too",
    [
      "class A { #v = 1; #m(k) { return this.#v * k } get #g() { return this.#v } set #g(v) { this.#v = v } static #count = 0; static #next() { return ++A.#count } static next() { return () => A.#next() } all() { return [(k) => this.#m(k), () => this.#g, (v) => { this.#g = v }] } }",
      "const [times, get, set] = new A().all(), next = A.next(); next(); set(5); [times(2), get()]",
      "set(get() + 1); [times(10), get(), next()]",
      "[next(), times(1)]",
    ],
  ],
  [
    "arrows in field initialisers",
    [
      "class C { #n = 0; inc = () => ++this.#n; static #made = 0; static made = () => C.#made; key = ((k) => () => this.#n + k)(100); constructor() { C.#made++ } }",
      "const c = new C(), { inc, key } = c; [inc(), c.inc === inc, C.made()]",
      "[inc(), c.inc(), key(), C.made(), inc.name, c.inc === inc]",
      "new C(); [C.made(), key(), Object.keys(c)]",
    ],
  ],
  [
    "static blocks",
    [
      "let take, put; class S { static #secret = [1]; static { const own = () => this.#secret; take = () => own(); put = (x) => { this.#secret.push(x); return own().length } } }",
      "[take(), put(2)]",
      "[take(), put(3), take() === take()]",
    ],
  ],
  [
    "variables that are shared with functions that need no home",
    [
      "class A { #n = 10; make(k) { let left = k; return { take: () => (left--, this.#n + left), left: () => left, fill(m) { left = m } } } }",
      "const { take, left, fill } = new A().make(5); [take(), left()]",
      "fill(9); [take(), left()]",
      "[take(), left(), fill.name]",
    ],
  ],
  [
    "classes in functions",
    [
      "const make = (k) => class { #k = k; static of() { return new this() } get() { return () => this.#k++ } same(o) { return () => #k in o } }",
      "const K1 = make(1), K2 = make(10), f1 = K1.of().get(), f2 = K2.of().get(), one = K1.of(), same = K1.of().same(one), other = K2.of().same(one); [f1(), f2(), same(), other()]",
      "[f1(), f2(), same(), other(), one instanceof K1]",
      "[f1(), f2(), K1.of().get()()]",
    ],
  ],
  [
    "classes in loops, each with its own names",
    [
      "const fs = []; for (let i = 0; i < 3; i++) { class L { #i = i * 10; f() { return (o) => (#i in o ? o.#i : -1) } static own = new L() } fs.push([L.own, L.own.f()]) } 0",
      "fs.map(([, f]) => fs.map(([o]) => f(o)))",
      "fs.map(([o, f]) => f(o))",
    ],
  ],
  [
    "nested classes whose private names shadow",
    [
      "class Out { #x = 'out'; #y = 'y'; make() { const outer = this; class In { #x = 'in'; both() { return () => [this.#x, outer.#y, (() => #x in outer)()] } } return [new In().both(), () => this.#x, In] } }",
      "const [both, own, In] = new Out().make(); [both(), own()]",
      "[both(), own(), new In().both()()]",
      "class Out2 { #a = 1; deep() { return class Mid { #b = 2; deep(o) { return class Low { #c = 3; sum(m) { return () => o.#a + m.#b + this.#c++ } } } } } } const o2 = new Out2(), Mid = o2.deep(), m = new Mid(), Low = m.deep(o2), sum = new Low().sum(m); sum()",
      "[sum(), sum()]",
      "[sum(), new Low().sum(m)()]",
    ],
  ],
  [
    "super of a class, in methods, accessors, static members and fields",
    [
      "class A { n = 1; f(k = 0) { return 'A' + this.n + k } get g() { return 'g' + this.n } set s(v) { this.n = v } static st() { return 'static ' + this.name } }",
      "class B extends A { f() { return () => super.f(7) } get g() { return () => super.g } set(v) { return () => { super.s = v } } static st() { return () => super.st() } field = () => super.f(8); any(k) { return () => super[k]() } static { this.block = () => super.st() } }",
      "const b = new B(), f = b.f(), g = b.g, set = b.set(5), st = B.st(), { field } = b, any = b.any('f'), { block } = B; [f(), g(), st(), field(), any(), block()]",
      "set(); [f(), g(), b.n, field(), any()]",
      "[f.name, String(f), field.name, st(), block(), b.f()()]",
    ],
  ],
  [
    "super through classes that are values, and through what their parent becomes",
    [
      "const A = ((k) => class { f() { return 'a' + k } })(1); const mix = (Base) => class extends Base { f() { return () => super.f() + '!' } }; const M = mix(A), f = new M().f(); f()",
      "[f(), new M().f()()]",
      "Object.setPrototypeOf(M.prototype, { f() { return 'other' } }); f()",
      "f()",
      "Object.setPrototypeOf(M.prototype, null); f()",
      "f()",
    ],
  ],
  [
    "super and private names in one function",
    [
      "class A { f() { return this.k } } class B extends A { #n = 1; k = 'k'; f() { return () => super.f() + this.#n++ } }",
      "const f = new B().f(); f()",
      "[f(), f()]",
    ],
  ],
  [
    "object literals",
    [
      "const base = { f() { return 'base ' + this.n }, get g() { return 'g' + this.n } }; const o = { __proto__: base, n: 1, f() { return super.f() + '+' }, get g() { return super.g + '+' }, arrow() { return () => super.f() }, plain() { return this.n } }; const { f, arrow, plain } = o, h = o.arrow(); [o.f(), o.g, h(), f.call({ n: 2 })]",
      "[o.f(), o.g, h(), f.call({ n: 3 }), o.arrow()(), arrow.name, String(f), String(Object.getOwnPropertyDescriptor(o, 'g').get)]",
      "o.n = 7; [h(), o.plain(), plain.call({ n: 1 })]",
      "Object.setPrototypeOf(o, { f() { return 'changed' } }); [h(), f.call(null), o.g]",
      "[h(), o.f()]",
    ],
  ],
  [
    "accessors of which some ask for super",
    [
      "const base = { get x() { return 'x' + this.n } }; const make = (n) => ({ __proto__: base, n, get a() { return n }, get b() { return super.x }, set b(v) { n = v; this.n = v }, get c() { return () => super.x + n }, set a(v) { super.y = v } }); const o = make(1), d = Object.getOwnPropertyDescriptors(o), { c } = o; o.b = 5; o.a = 6; [o.a, o.b, c(), o.y, d.b.get.call({ n: 9 })]",
      "o.b = 7; [o.a, o.b, c(), o.y, d.b.get.call({ n: 9 }), d.a.get(), Object.getOwnPropertyDescriptors(o).a.get === d.a.get]",
      "[o.a, o.b, c(), o.c(), String(d.b.get), String(d.b.set), d.a.get.name]",
    ],
  ],
  [
    "object literals made in functions, many at once",
    [
      "const make = (n) => ({ n, toString() { return 'o' + this.n + super.toString.call([]) }, later() { return () => super.toString.call(this.n) + n } }); const os = [1, 2, 'x'].map(make), later = os.map((o) => o.later()); [os.map(String), later.map((f) => f())]",
      "[os.map(String), later.map((f) => f())]",
      "os[0].n = 5; [String(os[0]), later[0]()]",
    ],
  ],
  [
    "methods of literals whose literal is gone",
    [
      "const { f, g } = { __proto__: { v: 1, get w() { return this?.z } }, f() { return super.v }, g() { return super.w } }; [f(), g.call({ z: 2 })]",
      "[f(), g.call({ z: 3 })]",
      "f.call(null)",
    ],
  ],
  [
    "bound ones, in maps, with properties of their own",
    [
      "class A { #n = 1; make() { const f = (k) => (this.#n += k); f.tag = 't'; return f } } const m = new Map([['f', new A().make()]]), bound = m.get('f').bind(null, 10); bound()",
      "[bound(), m.get('f')(1), m.get('f').tag]",
      "[bound(), m.get('f').tag]",
    ],
  ],
  [
    "cycles: the function in a private field, in a static one, in what it captures",
    [
      "class A { #f; #n = 1; static kept; constructor() { this.#f = () => this.#n++; A.kept = this.#f } get f() { return this.#f } ring() { const ring = { f: () => [ring.f === this.ring2, this.#n] }; this.ring2 = ring.f; return ring } } const a = new A(), { f } = a, ring = a.ring(); [f(), f === A.kept]",
      "[f(), f === A.kept, f === a.f, ring.f(), ring.f === a.ring2]",
      "[f(), f === A.kept, f === a.f, ring.f(), ring.f === a.ring2]",
    ],
  ],
  [
    "several functions deep",
    [
      "class A { #n = 0; a() { let x = 1; return () => { let y = 2; return () => { x++; return () => (this.#n += x + y++) } } } } const one = new A().a(), two = one(), three = two(), four = two(); [three(), four()]",
      "[three(), four(), two()(), one()()()]",
      "[three(), four(), two()(), one()()()]",
    ],
  ],
  [
    "with the class's name shadowed and captured",
    [
      "class A { #n = 1; m(A) { return () => [A, this.#n++] } self() { return () => [new A().#n, A === this.constructor] } } const f = new A().m('arg'), self = new A().self(); [f(), self()]",
      "[f(), self()]",
      "[f(), self()]",
    ],
  ],
  [
    "errors of them",
    [
      "class A { #n = 1; make() { return [(o) => o.#n, () => super.nope(), () => super.nope.x, (o) => { o.#n = 1 }] } } const [read, call, get, write] = new A().make(); 0",
      "read({})",
      "call()",
      "get()",
      "write({})",
      "read(undefined)",
    ],
  ],
  [
    "loops of every kind",
    [
      "const fs = [], base = (k) => ({ f() { return k } }); let i = 0; while (i < 2) { const o = { __proto__: base(i), f() { return () => super.f() } }; fs.push(o.f()); i++ } for (const k of [5, 6]) fs.push({ __proto__: base(k), f() { return () => super.f() } }.f()); do { i++; class L { #i = i; f() { return () => this.#i } } fs.push(new L().f()) } while (i < 4); top: for (;;) { for (let j = 7; ; j++) { if (j > 8) break top; fs.push({ __proto__: base(j), f() { return () => super.f() } }.f()) } } fs.map((f) => f())",
      "fs.map((f) => f())",
      "fs.map((f) => f())",
    ],
  ],
  [
    "in switches, conditions, chains and spreads",
    [
      "const base = { f() { return this.n } }, made = []; for (const n of [1, 2]) switch (n) { case 1: made.push({ __proto__: base, n, f() { return super.f() } }); break; default: { made.push(...[n ? { __proto__: base, n, get g() { return super.f() } } : null]) } } made.map((o) => o.f() + (o.g ?? 0))",
      "made.map((o) => o.f() + (o.g ?? 0))",
    ],
  ],
  [
    "constants that are classes and records of them, parameter properties, nested in namespaces",
    [
      "const K = class { #n = 1; f() { return () => this.#n++ } }; const ops = { K: class { #n = 10; f() { return () => this.#n++ } }, o: { toString() { return () => super.toString.call(1) } } }; const all = [new K().f(), new ops.K().f(), ops.o.toString()]; all.map((f) => f())",
      "all.map((f) => f())",
      "[...all, new K().f(), new ops.K().f()].map((f) => f())",
    ],
  ],
  [
    "a class whose static initialisers never finished",
    [
      "let f, g; try { class A { #n = 1; static { f = (o) => #n in o; throw 1 } } } catch {} try { class B { #n = 1; static { g = () => new B().#n } static x = (() => { throw 1 })() } } catch {} [f({}), g()]",
      "[f({}), g()]",
      "[f({}), g()]",
    ],
  ],
  [
    "private names of two classes and super in one expression",
    [
      "class A { #a = 1; static of(o) { return o.#a } f() { return 'A' } sub() { const a = this; return class B extends A { #b = 2; f() { return () => [super.f(), this.#b++, a.#a++, A.of(this)] } } } } const B = new A().sub(), f = new B().f(); f()",
      "[f(), new B().f()()]",
      "[f(), new B().f()(), new (new A().sub())().f()()]",
    ],
  ],
  [
    "frozen and sealed homes",
    [
      "class A { #n = 1; f() { return () => this.#n++ } } Object.freeze(A); Object.freeze(A.prototype); const o = Object.freeze({ __proto__: { g() { return 'g' } }, g() { return () => super.g() } }); const f = new A().f(), g = o.g(); [f(), g()]",
      "[f(), g()]",
      "[f(), g(), Object.isFrozen(A), Object.isFrozen(o)]",
    ],
  ],
  [
    "super that writes",
    [
      "class A { set v(x) { this.w = x } } class B extends A { put() { return (x) => { super.v = x; super.plain = x + 1; super.w += 1 } } } const b = new B(), put = b.put(); put(1); [b.w, b.plain, Object.keys(b)]",
      "put(5); [b.w, b.plain, Object.keys(b)]",
      "Object.freeze(b); put(6)",
      "Object.freeze(b); try { put(7) } catch (e) { e.name }",
    ],
  ],
  [
    "names that are given, taken away and changed",
    [
      "class A { #n = 1; f() { const named = () => this.#n; Object.defineProperty(named, 'name', { value: 'other' }); named.self = named; delete named.length; return [named, function again(k) { return k > 0 ? again(k - 1) : 'end' }, () => this.#n, { m: () => this.#n }.m] } } const fs = new A().f(); [fs.map((f) => f.name), fs[0].self === fs[0], 'length' in fs[0], fs[1](2)]",
      "[fs.map((f) => f.name), fs[0].self === fs[0], Object.hasOwn(fs[0], 'length'), fs[1](2), fs.map(String)]",
    ],
  ],
  [
    "computed keys, static private data and homes in one class",
    [
      "let k = 0; const C = ((t) => class { static #s = t; #v = 1; ['a' + k++]() { return () => [this.#v++, C.s()()] } static s() { return () => this.#s } static ['b' + k++] = 1 })('t'); const f = new C().a0(); f()",
      "[f(), C.b1]",
      "[f(), Object.getOwnPropertyNames(C.prototype), Object.getOwnPropertyNames(C)]",
    ],
  ],
]

describe("what a rebuilt realm gives is what the engine gives", () => {
  test.each(cases)("%s", async (_what, scripts) => {
    expect(await byRebuilds(scripts)).toEqual(byEngine(scripts))
  })
})

test("async functions and generators with a home", async () => {
  const values = await byRebuilds([
    "class A { #n = 1; async f() { return 1 } work() { return async (k) => { await 1; return this.#n += k } } all() { const self = this; return function* () { for (let i = 0; i < 2; i++) yield self.#n++ } } } class B extends A { later() { return async () => (await super.f()) + 1 } }; const w = new A().work(), all = new A().all(), later = new B().later(); await w(1)",
    "[await w(2), [...all()], await later()]",
    "[await w(2), [...all()], await later()]",
  ])
  expect(values).toEqual(["2", "[ 4, [ 1, 2 ], 2 ]", "[ 6, [ 3, 4 ], 2 ]"])
})

describe("what still belongs to the realm that made it", () => {
  test.each([
    [
      "a call of super() that waits",
      "let f; class A {} class B extends A { constructor() { const s = () => super(); s(); f = s } } new B()",
      "f",
    ],
    [
      "an accessor that a computed one may have replaced",
      "const o = (() => { let n = 1; return { get a() { return n }, get ['a' + '']() { return 'other' } } })()",
      "o",
    ],
    ["a private method by itself", "class A { #m() {} get() { return this.#m } } const m = new A().get()", "m"],
    ["an object literal in a field", "class A { o = { f() { return super.toString() } } } const o = new A().o", "o"],
    [
      "a method that something may have replaced",
      "const o = { f() { return super.toString() }, ...{ a: 1 }, g() { return super.toString() } }",
      "o",
    ],
    [
      "an object literal that the body of a loop makes again and again",
      "const fs = []; let i = 0; while (i++ < 2) fs.push({ __proto__: { v: i }, f() { return super.v } }.f); do fs.push(class { #n = i; static f = new this().f; f = () => this.#n }.f); while (i++ < 5)",
      "fs",
    ],
    [
      "a class in the default of a parameter",
      "const f = ((C = class { #n = 1; m() { return () => this.#n } }) => new C().m())()",
      "f",
    ],
    [
      "a class that is made in a test of a loop",
      "let f; while ((f = new (class { #n = 1; m() { return () => this.#n } })().m()) && f() > 1);",
      "f",
    ],
  ])("%s", async (_what, source, name) => {
    const session = new ResidentSession()
    const { status, text } = await session.eval(`let beside = 1; ${source}`)
    expect(status === "ok" ? "" : text).toBe("")
    expect(session.ephemeral).toContain(name)
    session.rebuild()
    expect(await session.run("beside")).toBe(1)
  })
})

describe("when their class is declared again", () => {
  test.each([
    [
      "they keep its instances with them, and say so",
      "class A { #n = 1; make() { return () => this.#n++ } get() { return this.#n } } const a = new A(), f = a.make(); f()",
      "class A { #n = 100; make() { return () => -this.#n } get() { return 'new' + this.#n } }",
      ["a (still an earlier A: a function made in it uses its private names (in 'f'))"],
      "[f(), a.get(), a instanceof A, new A().get(), new A().make()()]",
      [2, 3, false, "new100", -100],
    ],
    [
      "those that only call super go on, and the instances move",
      "class P { f() { return 'p' } } class A extends P { v = 1; f() { return () => super.f() + this.v } who() { return 'old' } } const a = new A(), f = a.f()",
      "class A extends P { v = 1; f() { return () => 'new' } who() { return 'new' } }",
      [],
      "a.v = 5; [f(), a.who(), a.f()(), a instanceof A]",
      ["p5", "new", "new", true],
    ],
    [
      "a parent that is declared again is the one that super asks",
      "class P { f() { return 'p' } } class A extends P { f() { return () => super.f() + '!' } } const f = new A().f()",
      "class P { f() { return 'new p' } }",
      [],
      "[f(), new A().f()()]",
      ["new p!", "new p!"],
    ],
    [
      "the same text again",
      "class A { #n = 1; make() { return () => this.#n++ } } const f = new A().make(); f()",
      "class A { #n = 1; make() { return () => this.#n++ } }",
      undefined,
      "[f(), new A().make()()]",
      [2, 1],
    ],
  ] as [string, string, string, string[] | undefined, string, unknown][])(
    "%s",
    async (_what, before, again, stale, ask, answer) => {
      for (const isRebuilt of [false, true]) {
        const session = new ResidentSession()
        await session.run(before)
        if (isRebuilt) session.rebuild()
        const { status, text, delta } = await session.eval(again)
        expect(status === "ok" ? "" : text).toBe("")
        if (stale !== undefined) expect(delta.stale ?? []).toEqual(stale)
        if (isRebuilt) session.rebuild()
        expect(await session.run(ask)).toEqual(answer)
        session.rebuild()
        expect(session.ephemeral).toEqual([])
        await session.run(ask)
      }
    },
  )
})
