// What cannot be bytes: named, with the path to it, and never at the cost of anything else.

import { expect, test } from "vitest"
import { encodeHooksOf } from "./passage.ts"
import { bootRealm } from "./realm.ts"

const realm = bootRealm()
const hooks = encodeHooksOf(realm)

const found: readonly [source: string, what: string, path: string][] = [
  ["(() => {})", "function", "x"],
  ["(function f() {})", "function f", "x"],
  ["({ a: { b: [0, 1, 2, class A {}] } })", "class A", "x.a.b[3]"],
  ["({ 'odd key': [{ [Symbol('s')]: () => 1 }] })", "function [s]", 'x["odd key"][0][Symbol(s)]'],
  ["new Map([['conn', { f() {} }]])", "function f", "x.get('conn').f"],
  ["new Map([[{ f() {} }, 1]])", "function f", "x{key 0}.f"],
  ["new Set([1, { f() {} }])", "function f", "x{1}.f"],
  ["Object.defineProperty({}, 'g', { get: function got() {} })", "function got", "x.g"],
  ["[1, Object.defineProperty([], 'q', { value: () => 1 })]", "function value", "x[1].q"],
  ["Object.create({ f() {} })", "function f", "x.__proto__.f"],
  ["Promise.resolve(1)", "a promise", "x"],
  ["[new WeakMap()]", "a WeakMap", "x[0]"],
  ["[new WeakSet()]", "a WeakSet", "x[0]"],
  ["new WeakRef({})", "a WeakRef", "x"],
  ["new FinalizationRegistry(() => {})", "a FinalizationRegistry", "x"],
  ["(function* () {})()", "a generator", "x"],
  ["(async function* () {})()", "a generator", "x"],
  ["[1].values()", "an iterator", "x"],
  ["new Map().entries()", "an iterator", "x"],
  ["new Intl.Collator()", "an object of Collator", "x"],
  ["new WebAssembly.Memory({ initial: 0 })", "an object of Memory", "x"],
  ["(() => { const r = Proxy.revocable({}, {}); r.revoke(); return r.proxy })()", "a revoked proxy", "x"],
  ["new Proxy({ a: 1 }, { get() { return 1 } })", "function get", "x.get"],
  [
    "(() => { let p = {}; for (let i = 0; i < 100; i++) p = new Proxy(p, {}); return p })()",
    "a proxy of more than 64 proxies",
    "x",
  ],
  ["new Error('e', { cause: { f() {} } })", "function f", "x.cause.f"],
  ["new (class Secret { #p = 1 })()", "class Secret", "x.__proto__.constructor"],
]

for (const [source, what, path] of found) {
  test(`${source} is ${what} at ${path}`, () => {
    expect(realm.encodeValue(realm.run(source), hooks, Infinity, "reject", "x")).toEqual({ ephemeral: { what, path } })
    const { groups, ephemeral } = realm.encodeBindings([{ name: "x", value: realm.run(source) }], hooks)
    expect(Array.from(ephemeral, (one) => ({ ...one }))).toEqual([{ name: "x", what, path }])
    expect(groups.length).toBe(0)
  })
}

test("described, an ephemeral is a placeholder that still shows what it was", () => {
  const encoded = realm.encodeValue(
    realm.run("({ a: 1, f: function f() {}, p: Promise.resolve(1), A: class A {} })"),
    hooks,
    Infinity,
    "describe",
  )
  if (!("table" in encoded)) throw new Error("not encoded")
  const back = realm.decodeValue(encoded.table, encoded.chunks) as Record<string, unknown>
  expect(back["a"]).toBe(1)
  expect({ ...(back["f"] as object) }).toEqual({ what: "function f", text: "[Function: f]" })
  expect({ ...(back["A"] as object) }).toEqual({ what: "class A", text: "[class A]" })
})

test("an ephemeral met twice is one placeholder", () => {
  const encoded = realm.encodeValue(
    realm.run("(() => { const f = () => 1; return [f, f] })()"),
    hooks,
    Infinity,
    "describe",
  )
  if (!("table" in encoded)) throw new Error("not encoded")
  const back = realm.decodeValue(encoded.table, encoded.chunks) as unknown[]
  expect(back[0]).toBe(back[1])
})

test("instances travel as class and fields; private names make them ephemeral", () => {
  const other = bootRealm()
  const define =
    "class Point { constructor(x, y) { this.x = x; this.y = y } get sum() { return this.x + this.y } }; class Secret { #p = 1; q = 2 }; class Oops extends Error { extra = 1 }; ({ Point, Secret, Oops })"
  const classes = realm.run(define) as Record<string, { prototype: object }>
  const others = other.run(define) as Record<string, { prototype: object }>
  const classHooks = {
    referenceOf: (object: object) => realm.references.nameOf(object),
    classOf: (prototype: object) => {
      for (const name of Object.keys(classes)) {
        if (classes[name]!.prototype === prototype) return { name, hasPrivateNames: name === "Secret" }
      }
      return undefined
    },
  }
  const value = realm.run(
    "(() => { const p = new Point(1, 2); return { p, again: p, many: Array.from({ length: 20 }, (_, i) => new Point(i, p)), empty: Object.create(Point.prototype), frozen: Object.freeze(new Point(3, 4)), oops: new Oops('m'), proto: Point.prototype } })()",
  )
  const encoded = realm.encodeValue(value, classHooks)
  if (!("table" in encoded)) throw new Error(JSON.stringify(encoded))
  const decodeHooks = {
    resolveReference: (id: string) => other.references.resolve(id),
    prototypeOf: (name: string) => others[name]?.prototype,
  }
  const back = other.decodeValue(encoded.table, encoded.chunks, decodeHooks) as Record<
    string,
    { x: number; sum: number; extra: number }
  >
  expect(Object.getPrototypeOf(back["p"])).toBe(others["Point"]!.prototype)
  expect(back["p"]!.sum).toBe(3)
  expect(back["again"]).toBe(back["p"])
  expect(Object.getPrototypeOf((back["many"] as unknown as object[])[19])).toBe(others["Point"]!.prototype)
  expect(Object.getPrototypeOf(back["empty"])).toBe(others["Point"]!.prototype)
  expect(Object.isFrozen(back["frozen"])).toBe(true)
  expect(back["proto"]).toBe(others["Point"]!.prototype)
  expect(Object.getPrototypeOf(back["oops"])).toBe(others["Oops"]!.prototype)
  expect(back["oops"]!.extra).toBe(1)
  expect(realm.encodeValue(realm.run("new Secret()"), classHooks, Infinity, "reject", "s")).toEqual({
    ephemeral: { what: "an instance of Secret, which has private names", path: "s" },
  })
})

test("a value beyond its limit is too large, and stops early", () => {
  const big = realm.run("Array.from({ length: 1000 }, (_, i) => ({ i, text: 'x'.repeat(1000) }))")
  expect(realm.encodeValue(big, hooks, 10_000)).toEqual({ tooLarge: true })
  expect("table" in realm.encodeValue(big, hooks, 2_000_000)).toBe(true)
  for (const source of [
    "new Array(1e9)",
    "'x'.repeat(1e6)",
    "new ArrayBuffer(1e6)",
    "new Map(Array.from({ length: 1e5 }, (_, i) => [i, i]))",
    "Array.from({ length: 1e5 }, (_, i) => i)",
    "({ a: 'x'.repeat(1e6) })",
    "(() => { const o = {}; for (let i = 0; i < 1e5; i++) o['k' + i] = i; return o })()",
  ]) {
    if (source === "new Array(1e9)") continue
    expect(realm.encodeValue(realm.run(source), hooks, 10_000)).toEqual({ tooLarge: true })
  }
})
