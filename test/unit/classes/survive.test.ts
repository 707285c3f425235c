// Classes that are values, and their instances, through a realm that is thrown away after every eval: the same results as the engine gives for
// the same scripts in one context. Side effects of class bodies are logged, so that what runs twice shows.
import { describe, expect, test } from "vitest"
import { byEngine } from "../../by-engine.ts"
import { byRebuilds } from "../../by-rebuilds.ts"
import { ResidentSession } from "../../resident.ts"

const cases: [what: string, scripts: string[]][] = [
  [
    "a class expression",
    [
      "let C = class { constructor(n) { this.n = n } m() { return this.n } static s() { return 's' } get g() { return -this.n } }; let c = new C(1); 0",
      "[c.m(), c.g, C.s(), c instanceof C, C.name, c.constructor === C, C.length]",
      "let d = new C(2); [Object.getPrototypeOf(c) === Object.getPrototypeOf(d), d.m === c.m, Object.getOwnPropertyNames(C.prototype)]",
      "[d.m === c.m, d instanceof C, new C(3).m()]",
    ],
  ],
  [
    "a local class, two instances",
    [
      "function make() { class Local { #n = 0; inc() { return ++this.#n } } return [new Local(), new Local()] } let [a, b] = make(); let [other] = make(); a.inc()",
      "[a.inc(), b.inc(), a.constructor === b.constructor, a.constructor !== other.constructor, a instanceof b.constructor, other instanceof a.constructor]",
      "[a.inc(), b.inc(), other.inc(), a.constructor.name]",
    ],
  ],
  [
    "classes of one activation share its variables with its functions",
    [
      "const pair = (() => { let n = 0; class A { inc() { return ++n } } class B extends A { dec() { return --n } } return { a: new A(), b: new B(), read: () => n, A, B } })(); pair.a.inc()",
      "[pair.b.inc(), pair.b.dec(), pair.read(), pair.b instanceof pair.A, Object.getPrototypeOf(pair.B) === pair.A]",
      "[pair.a.inc(), pair.read(), new pair.B().dec()]",
    ],
  ],
  [
    "static data is decoded, not made again",
    [
      "const log = []; class S { static count = log.push('init'); static list = [1]; static { log.push('block'); this.late = { n: 1 } } static inc() { return ++S.count } }; S.inc()",
      "[S.inc(), S.list.push(2), S.late.n++, log, Object.keys(S)]",
      "[S.count, S.list, S.late, log.length, Object.getOwnPropertyNames(S)]",
    ],
  ],
  [
    "private static fields, methods and accessors",
    [
      "const P = (() => class { static #n = 1; static #twice() { return this.#n * 2 } static get #next() { return ++this.#n } static step() { return [this.#next, this.#twice()] } static has(o) { return #n in o } }); let K = P(); K.step()",
      "[K.step(), K.has(K), K.has({})]",
      "K.step()",
    ],
  ],
  [
    "a mixin",
    [
      "const log = []; class Base { constructor(n) { this.n = n } hi() { return 'base' + this.n } static make(n) { return new this(n) } } const Loud = B => class extends B { #volume = 3; hi() { return super.hi() + '!'.repeat(this.#volume) } }; const Named = (B, name) => class Named extends B { get name() { return name } }; 0",
      "let X = Named(Loud(Base), 'x'); let x = X.make(1); [x.hi(), x.name]",
      "[x.hi(), x.name, x instanceof Base, x instanceof X, X.make(2).hi(), X.name, Object.getPrototypeOf(X).name]",
      "let Y = Loud(X); let y = new Y(5); [y.hi(), y instanceof X, y.name]",
      "[y.hi(), y instanceof X, y instanceof Y, Object.getPrototypeOf(Y) === X, x.hi()]",
    ],
  ],
  [
    "computed keys are not evaluated again",
    [
      "const log = []; const key = (k) => (log.push(k), k); let C = class { [key('a')]() { return 1 } static [key('b')] = 2; [key(Symbol.iterator)]() { return [7][Symbol.iterator]() } get [key(5)]() { return 'five' } static async [key('s')]() {} }; let c = new C(); log.length",
      "[c.a(), C.b, [...c], c[5], log.length, C.s.name, Object.getOwnPropertyNames(C.prototype)]",
      "let D = class { [{ toString() { log.push('ts'); return 'q' } }]() { return 'q!' } }; log.length",
      "[new D().q(), new D().q.name, log.length]",
    ],
  ],
  [
    "computed keys in a loop and in functions",
    [
      "const made = []; for (const k of ['x', 'y']) { made.push(class { [k]() { return k } [k + 1] = k }) } const f = (k) => class { static [k]() { return 1 } [k]() { return 2 } }; made.push(f('z')); 0",
      "[new made[0]().x(), new made[1]().y(), new made[0]().x1, made[2].z(), new made[2]().z()]",
    ],
  ],
  [
    "changes of the class and of its prototype",
    [
      "let C = class { a() { return 'a' } b() { return 'b' } static s() {} }; let c = new C(); C.prototype.a = function () { return 'A' }; C.prototype.extra = { n: 1 }; delete C.prototype.b; C.tag = 't'; Object.defineProperty(C, 'acc', { get() { return 'acc' }, configurable: true }); 0",
      "[c.a(), c.b, c.extra, C.tag, C.acc, Object.getOwnPropertyNames(C), Object.keys(C.prototype)]",
      "C.prototype.extra.n++; c.extra.n",
      "[c.extra.n, 'b' in c, typeof C.s]",
    ],
  ],
  [
    "methods by themselves",
    [
      "let C = class { #n = 5; m() { return this.#n } static s() { return this === undefined } get g() { return this.#n + 1 } }; let m = C.prototype.m, g = Object.getOwnPropertyDescriptor(C.prototype, 'g').get, o = { s: C.s }; let c = new C(); 0",
      "[m.call(c), g.call(c), (0, o.s)(), m === C.prototype.m, m === c.m]",
      "c = undefined; C = undefined; m.name",
      "m.name",
    ],
  ],
  [
    "errors and other built-in classes",
    [
      "const make = () => class Failure extends Error { code = 7; constructor(m) { super(m); this.name = 'Failure' } }; let F = make(); let f = new F('x'); class Bag extends Map { static made = 1; total() { return [...this.values()].reduce((a, b) => a + b, 0) } } let bag = new Bag([['a', 1]]); let Stack = class extends Array { top() { return this.at(-1) } }; let s = Stack.of(1, 2); 0",
      "[f instanceof F, f instanceof Error, f.code, String(f), bag.total(), bag instanceof Bag, s.top(), s instanceof Stack, s.length]",
      "bag.set('b', 2); s.push(3); [bag.total(), s.top(), s.map((x) => x) instanceof Stack]",
    ],
  ],
  [
    "extends null, and a class whose parent was changed",
    [
      "class N extends (0, null) { static who() { return 'n' } } class A { hi() { return 'A' } } class B { hi() { return 'B' } } let C = class extends A { hi() { return super.hi() + 'c' } }; Object.setPrototypeOf(C.prototype, B.prototype); let c = new C(); 0",
      "[N.who(), Object.getPrototypeOf(N.prototype), c.hi(), c instanceof A, c instanceof B]",
    ],
  ],
  [
    "names and lengths",
    [
      "let Anon = (0, class {}); let o = { K: class {} }; let named = class Inner { who() { return Inner } }; class WithName { static name = 'mine' } class WithNameMethod { static name() { return 1 } } let gone = class {}; delete gone.name; 0",
      "[Anon.name, o.K.name, named.name, new named().who() === named, WithName.name, WithNameMethod.name(), Object.getOwnPropertyNames(gone), Object.hasOwn(gone, 'name')]",
    ],
  ],
  [
    "fields that are functions",
    [
      "const made = (() => { let shared = 0; class Button { n = 1; click = () => (shared++, this.n++); static all = []; constructor() { Button.all.push(this) } } return { Button, b: new Button(), read: () => shared } })(); made.b.click()",
      "[made.b.click(), made.read(), made.Button.all.length, made.Button.all[0] === made.b]",
      "new made.Button(); [made.Button.all.length, made.b.click(), made.read()]",
      "made.Button.all[1].click(); [made.Button.all[1].n, made.read(), made.b.n]",
    ],
  ],
  [
    "nested classes",
    [
      "class Outer { static Inner = class { v = 1; get outer() { return Outer } static Deep = class Deep extends Array {} } ; make() { return new Outer.Inner() } } let i = new Outer().make(); let d = new Outer.Inner.Deep(); 0",
      "[i.v, i.outer === Outer, i instanceof Outer.Inner, d instanceof Outer.Inner.Deep, Outer.Inner.name, Outer.Inner.Deep.name]",
      "function f() { return class A { g() { let n = 0; return class B { h() { return [++n, A.name] } } } } } let B1 = new (f())().g(); new B1().h()",
      "[new B1().h(), B1.name]",
    ],
  ],
  [
    "private names over several classes",
    [
      "const K = (() => { class A { #a = 1; a() { return this.#a++ } } class B extends A { #b = 10; b() { return this.#b++ + this.a() } } return class C extends B { #c = 100; #m() { return this.#c++ } c() { return this.#m() + this.b() } } })(); let k = new K(); k.c()",
      "k.c()",
      "[k.c(), k.a(), new K().c()]",
    ],
  ],
  [
    "instances in one another, and of a class that knows them",
    [
      "let Node_ = class Node_ { static root = undefined; static nodes = new Map(); children = []; constructor(id, parent) { this.id = id; this.parent = parent; Node_.nodes.set(id, this); if (parent) parent.children.push(this); else Node_.root = this } }; let r = new Node_('r'); new Node_('a', r); new Node_('b', r); 0",
      "[r.children.map((n) => n.id), r.children[0].parent === r, Node_.nodes.get('b') === r.children[1], Node_.root === r]",
    ],
  ],
  [
    "frozen and sealed classes",
    [
      "let C = Object.freeze(class { static s = 1; m() { return 2 } }); Object.freeze(C.prototype); let c = Object.freeze(new C()); 0",
      "let r; try { C.s = 5 } catch (e) { r = e.name } [r, C.s, c.m(), Object.isFrozen(C), Object.isFrozen(C.prototype), Object.isFrozen(c)]",
    ],
  ],
  [
    "a class in a field and in a static block",
    [
      "let Out = class Out { static made; K = class { who() { return Out.made } }; static { let n = 3; Out.made = () => n++; this.L = class { n() { return n++ } } } }; let o = new Out(); Out.made()",
      "[new o.K().who()(), new Out.L().n(), Out.made(), new (new Out().K)().who() === Out.made]",
      "[Out.made(), new o.K().who()()]",
    ],
  ],
  [
    "generators, async methods and symbols",
    [
      "let C = class { *[Symbol.iterator]() { yield* [1, 2] } async a() { return 3 } static async *g() { yield 4 } get [Symbol.toStringTag]() { return 'Tag' } static [Symbol.hasInstance](o) { return o === 1 } }; let c = new C(); [...c]",
      "[[...c], String(c), 1 instanceof C, typeof c.a().then, typeof C.g().next]",
    ],
  ],
]

describe("a realm thrown away after every eval", () => {
  test.each(cases)("%s", async (_what, scripts) => {
    expect(await byRebuilds(scripts)).toEqual(byEngine(scripts))
  })
})

// What stands first in a class has the same place as what is put in front of everything in it.
test.each([
  "class C {static y = 1; #x = 2; get() { return [C.y, this.#x] } }",
  "class C {static { C.y = 1 } #x = 2; get() { return [C.y, this.#x] } }",
  "class C {static #y = 1; static y = 1; #x = 2; get() { return [C.#y, this.#x] } }",
  "class C {static [`y`] = 1; #x = 2; get() { return [C.y, this.#x] } }",
  "const C = (() => class {static y = 1; #x = 2; get() { return [C.y, this.#x] } })()",
])("a class whose first member is static and stands right behind its brace: %s", async (source) => {
  const session = new ResidentSession()
  await session.run(source)
  await session.run("const c = new C(); 0")
  session.rebuild()
  expect(await session.run("[...c.get(), ...new C().get(), c instanceof C]")).toEqual([1, 2, 1, 2, true])
})
