// Functions and what they capture, through a realm that is thrown away after every eval: the same results as the engine gives for the same
// scripts in one context.
import { describe, expect, test } from "vitest"
import { byEngine } from "../../by-engine.ts"
import { byRebuilds as throughRebuilds } from "../../by-rebuilds.ts"

const byRebuilds = (scripts: readonly string[]): Promise<string[]> => throughRebuilds(scripts, { isStable: false })

// What the engine has no word for: told by what it must give.
test("objects of the realm's own classes are made again, and still joined to each other", async () => {
  const values = await byRebuilds([
    "const u = new URL('https://h/a?x=1'); const p = u.searchParams; class Api extends URL { #n = 1; next() { return this.#n++ } } const api = new Api('https://api/v1'); 1",
    "p.append('y', '2'); [u.href, u.searchParams === p, u instanceof URL, api.next(), api.host, api instanceof Api]",
    "[u.search, api.next(), new URL('b', api).href]",
    "const d = new TextDecoder(), half = d.decode(new Uint8Array([0xf0, 0x9f]), { stream: true }); const make = TextEncoder; 1",
    "[half, d.decode(new Uint8Array([0x98, 0x80])), new make().encode('a').length]",
    "const c = new AbortController(), seen = []; const any = AbortSignal.any([c.signal]); any.onabort = () => seen.push(any.reason); 1",
    "c.abort('stop'); [any.aborted, seen]",
    "[c.signal.aborted, any.reason, seen, any instanceof AbortSignal, Object.keys(any)]",
  ])
  expect(values).toEqual([
    "1",
    "[ 'https://h/a?x=1&y=2', true, true, 1, 'api', true ]",
    "[ '?x=1&y=2', 2, 'https://api/b' ]",
    "1",
    "[ '', '😀', 1 ]",
    "1",
    "[ true, [ 'stop' ] ]",
    "[ true, 'stop', [ 'stop' ], true, [] ]",
  ])
})

const cases: [what: string, scripts: string[]][] = [
  [
    "a limiter made by a factory",
    [
      "function makeLimiter(n) { let left = n; return () => left-- > 0 }",
      "const lim = makeLimiter(2); lim()",
      "lim()",
      "lim()",
      "[lim(), lim()]",
    ],
  ],
  [
    "two closures on one variable",
    [
      "let inc, get; { let count = 0; inc = () => ++count; get = () => count }",
      "inc(); inc()",
      "[get(), inc(), get()]",
      "inc() + get()",
    ],
  ],
  [
    "an object of closures",
    [
      "const counter = (() => { let n = 0; return { inc: () => ++n, dec: () => --n, reset: function () { n = 0 }, peek() { return n } } })()",
      "counter.inc(); counter.inc()",
      "[counter.peek(), counter.dec()]",
      "counter.reset(); counter.peek()",
      "counter.inc()",
    ],
  ],
  [
    "variables of a loop",
    [
      "const fs = []; for (let i = 0; i < 3; i++) fs.push(() => i++)",
      "fs.map((f) => f())",
      "fs.map((f) => f())",
      "const gs = []; for (const x of ['a', 'b']) gs.push({ up: () => x.toUpperCase(), self: () => gs.length })",
      "gs.map((g) => g.up() + g.self())",
      "const hs = []; for (const k in { p: 1, q: 2 }) hs.push(() => k); for (let j = 0; j < 2; j++) hs.push(() => j)",
      "hs.map((h) => h())",
    ],
  ],
  [
    "a var that turns of a loop share",
    [
      "const fs = (() => { const list = []; for (var i = 0; i < 3; i++) { list.push(() => i++) } return list })()",
      "fs.map((f) => f())",
      "fs.map((f) => f())",
    ],
  ],
  [
    "nested activations",
    [
      "const adder = (a) => (b) => { let calls = 0; return (c) => a + b + c + calls++ }",
      "const one = adder(1), two = one(2), other = one(20)",
      "[two(3), two(3), other(3)]",
      "[two(3), other(3)]",
      "const late = adder(5); const later = late(6)",
      "later(1) + later(1)",
    ],
  ],
  [
    "a declaration inside a function",
    [
      "function make() { let n = 0; function inc() { n++; return helper() } function helper() { return 'n' + n } return { inc, helper } }",
      "const m = make(); m.inc()",
      "m.inc() + m.helper()",
      "m.inc === m.inc && m.inc.name + m.inc.length",
    ],
  ],
  [
    "recursion through the own name and a variable",
    [
      "const fact = (() => { let calls = 0; return { f: function self(n) { calls++; return n < 2 ? 1 : n * self(n - 1) }, calls: () => calls } })()",
      "fact.f(5)",
      "[fact.f(3), fact.calls()]",
      "const even = (() => { const isEven = (n) => n === 0 || isOdd(n - 1); const isOdd = (n) => n !== 0 && isEven(n - 1); return isEven })()",
      "[even(10), even(7)]",
    ],
  ],
  [
    "a memoizer",
    [
      "function memoize(fn) { const cache = new Map(); let misses = 0; const memo = (x) => { if (!cache.has(x)) { misses++; cache.set(x, fn(x)) } return cache.get(x) }; memo.misses = () => misses; return memo }",
      "const square = memoize((x) => x * x); square(3); square(4)",
      "[square(3), square(5), square.misses()]",
      "[square(5), square.misses()]",
    ],
  ],
  [
    "identity and cycles",
    [
      "const node = {}; { let n = 0; node.step = () => { n++; return node }; node.read = () => n }",
      "node.step().step() === node",
      "node.read()",
      "const alias = node.step; alias === node.step",
      "alias(); node.read()",
    ],
  ],
  [
    "sharing with plain data",
    [
      "const log = []; const write = (line) => { log.push(line); return log.length }; const log2 = log",
      "write('a')",
      "write('b'); log",
      "log2 === log && log2.length",
    ],
  ],
  [
    "variables of the session",
    [
      "let total = 0; let add; add = (n) => { total += n; return total }",
      "add(2)",
      "add(3)",
      "total = 100; add(1)",
      "total",
    ],
  ],
  [
    "names",
    [
      "let a = () => 1; const b = { c: () => 2, 'd e': () => 3, f() {}, async g() {}, *h() {}, 1: () => 4 }; var i; i = function () {}; const j = [() => 5]; let { k = () => 6 } = {}; const l = class { static m = () => 1 }.m",
      "[a.name, b.c.name, b['d e'].name, b.f.name, b.g.name, b.h.name, b[1].name, i.name, j[0].name, k.name, l.name]",
      "[a, b.c, b['d e'], b.f, b.g, b.h, b[1], i, j[0], k].map((f) => f.length)",
      "[Object.keys(a), Reflect.ownKeys(a), Reflect.ownKeys(i), Reflect.ownKeys(b.f)]",
    ],
  ],
  [
    "texts",
    [
      "let outer = (x) => { let n = 0; const f = () => n + x; function g(y) { return f() + y } return { f, g, h() { return () => n }, i: (z) => (w) => z + w } }; let made = outer(1)",
      "[outer, made.f, made.g, made.h, made.i, made.h(), made.i(1)].map(String)",
      "String(made.i(2))",
    ],
  ],
  [
    "generators and async functions that are not running",
    [
      "const gen = (() => { let n = 0; return function* (k) { for (let i = 0; i < k; i++) yield n++ } })()",
      "[...gen(2)]",
      "[...gen(2)]",
    ],
  ],
  [
    "this inside an arrow",
    [
      "function Box(v) { this.v = v; this.get = () => this.v; this.set = (w) => { this.v = w } }",
      "const box = new Box(1); box.get()",
      "box.set(5); box.v",
      "[box.get(), box instanceof Box]",
      "const o = { n: 1, make() { return () => ++this.n } }; const bump = o.make()",
      "bump()",
      "[bump(), o.n]",
    ],
  ],
  [
    "this inside an arrow of a class",
    [
      "class Counter { n = 0; step = 2; inc = () => { this.n += this.step; return this.n }; later() { let k = 10; return () => this.n + k++ } static make() { return () => new Counter() } }",
      "const c = new Counter(); c.inc()",
      "c.inc()",
      "const l = c.later(); l()",
      "[l(), c.n, c.inc.name]",
      "const mk = Counter.make()",
      "mk().n + mk().inc()",
      "mk() instanceof Counter",
    ],
  ],
  [
    "constructors kept in locals",
    [
      "let Point = function (x) { this.x = x }; Point.prototype.twice = function () { return this.x * 2 }; let p = new Point(3)",
      "[p instanceof Point, p.twice(), Point.prototype.constructor === Point]",
      "new Point(4).twice()",
    ],
  ],
  [
    "properties of functions",
    [
      "const f = Object.assign((() => { let n = 1; return () => n++ })(), { label: 'x', list: [1] }); f.self = f",
      "f()",
      "[f(), f.label, f.list, f.self === f]",
      "f.list.push(2); f.list",
      "f.list",
    ],
  ],
  [
    "parameters",
    [
      "const make = (a, { b, c: [d] }, ...rest) => ({ sum: () => a + b + d + rest.length, bump: () => { a++; d++; rest.push(0) } }); const m = make(1, { b: 2, c: [3] }, 4, 5)",
      "m.sum()",
      "m.bump(); m.sum()",
      "m.bump(); m.sum()",
    ],
  ],
  [
    "catch variables and blocks",
    [
      "let held; try { throw { code: 7 } } catch (e) { let twice = e.code * 2; held = () => e.code + twice++ }",
      "held()",
      "held()",
      "let other; try { null.x } catch ({ message }) { other = () => message.length > 3 }",
      "other()",
    ],
  ],
  [
    "definitions that functions use",
    [
      "function tax(x) { return x * 2 } const rates = { low: (x) => x + 1 }; class Base { v() { return 'v' } }",
      "function pricer(k) { return (x) => tax(x) + rates.low(k) + new Base().v() } const price = pricer(1)",
      "price(3)",
      "const low = rates.low; low(1)",
      "low === rates.low",
      "const held = { tax, low }; held.tax === tax && held.low === rates.low",
    ],
  ],
  [
    "arrows with a body of one expression",
    [
      "const curry = (a) => (b) => (c) => [a, b, c]; const ab = curry(1)(2)",
      "ab(3)",
      "const pipe = (...fs) => (x) => fs.reduce((y, f) => f(y), x); const p = pipe((x) => x + 1, ab, (l) => l.length)",
      "p(1)",
    ],
  ],
  [
    "functions on a prototype chain and in collections",
    [
      "const m = new Map([['a', (() => { let n = 0; return () => n++ })()]]); const s = new Set(m.values()); const arr = [m.get('a'), ...s]",
      "arr.map((f) => f())",
      "[m.get('a')(), s.has(arr[0])]",
    ],
  ],
  [
    "accessors",
    [
      "const box = (() => { let v = 1; return { get value() { return v }, set value(w) { v = w * 2 }, get twice() { return v * 2 } } })()",
      "box.value = 5; box.value",
      "[box.value, box.twice]",
      "box.value = 1; box.twice",
    ],
  ],
  [
    "private names",
    [
      "class Account { #balance = 0; #log = []; owner; constructor(owner, start) { this.owner = owner; this.#balance = start } add(n) { this.#balance += n; this.#log.push(n); return this } get total() { return this.#balance } #secret() { return this.#log.length } peek() { return this.#secret() } static is(o) { return #log in o } }",
      "let a = new Account('ann', 5); let same = [a]; a.add(1).total",
      "[a.add(2).total, a.peek(), a.owner, same[0] === a, Account.is(a), Object.keys(a)]",
      "class Saver extends Account { #rate = this.total; extra = 'x'; constructor(o) { super(o, 100) } rate() { return this.#rate } } let s = new Saver('sue'); s.add(3); s.rate()",
      "[s.total, s.rate(), s.peek(), s.extra, s instanceof Account, JSON.stringify(s), Object.keys(s)]",
      "class Plain extends Account {} const p = new Plain('pat', 1); p.self = p; p.total",
      "[p.add(1).total, p.self === p, p instanceof Plain]",
      "[Account.toString().includes('static{'), String(Saver).length > 20, new Account('new', 2).total]",
      "const tie = new Account('tie', 1); const held = { tie, f: () => tie.add(1).total }; held.f()",
      "[held.f(), held.tie === tie, tie.total]",
      "class Fn { #cb = () => this.n; n = 4; #K = class {}; call() { return this.#cb() } name() { return this.#cb.name + this.#K.name } }; Object.freeze(new Account('f', 1)).total",
      "class Node2 { #next = null; link(o) { this.#next = o; return this } next() { return this.#next } } const n1 = new Node2(), n2 = new Node2().link(n1); n1.link(n2); n1.next() === n2",
      "[n1.next() === n2, n1.next().next() === n1]",
    ],
  ],
  [
    "bound functions",
    [
      "const o = { n: 1, add(k, m) { this.n += k + m; return this.n } }; o.bound = o.add.bind(o, 10); const twice = o.bound.bind(null, 1); const max = Math.max.bind(null, 3)",
      "[o.bound(1), twice(), max(1, 7)]",
      "[o.bound(1), twice(), o.n, o.bound.name, twice.name, o.bound.length, max.name]",
      "class A { constructor() { this.v = 1; this.get = this.get.bind(this) } get() { return this.v++ } } const a = new A(); const { get } = a",
      "[get(), a.get(), get === a.get]",
      "[get(), a.v]",
      "const K = function (x, y) { this.s = x + y }.bind(null, 1); new K(2).s",
      "new K(3).s",
      "String(K)",
      "Object.getOwnPropertyNames(Function.prototype.bind) + Function.prototype.bind + Function.prototype.bind.name",
    ],
  ],
  [
    "a function declaration that something assigns to",
    [
      "function f(a) { return a + 1 } const g = f; if (false) f = 1; var h = () => f; [f(1), String(g), g.name]",
      "[f(2), String(f), f.name, g === f, h() === f]",
      "f = (x) => x * 10; [f(2), g(2)]",
      "[f(2), g(2), h()(2)]",
    ],
  ],
  [
    "names that look like ours",
    [
      "const $$_3 = 1; let $$_f = (x) => x + $$_3; const o = { $$_5_1: ($$_7) => $$_7 }",
      "[$$_f(1), String($$_f), String(o.$$_5_1), o.$$_5_1(4)]",
    ],
  ],
  [
    "texts with everything that is put into them",
    [
      "let make = (a) => { for (let i = 0; i < 1; i++) (() => i)(); class P { #x = a; y = () => this.#x; constructor(z) { this.z = z } static s = 1 } async function w() { try { await 1 } catch (e) { return () => e } } return { get g() { return a }, m() { return () => this }, w, P, k: async (q) => () => q, l: function* () { let v = 1; yield () => v } } }",
      "String(make)",
      "Object.values(Object.getOwnPropertyDescriptors(make(1))).map((d) => String(d.get ?? d.value))",
      "String(new (make(2).P)(1).y)",
    ],
  ],
  [
    "strict errors keep their texts",
    [
      "const fs = (() => { const k = 1; let u; return { call: () => u(), prop: () => u.x, made: () => (() => 5)()() } })()",
      "fs.call()",
      "fs.prop()",
      "fs.made()",
    ],
  ],
]

describe("what a rebuilt realm gives is what the engine gives", () => {
  test.each(cases)("%s", async (_what, scripts) => {
    expect(await byRebuilds(scripts)).toEqual(byEngine(scripts))
  })
})
