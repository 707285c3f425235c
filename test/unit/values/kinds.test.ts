// Every kind of value there and back: out of one real realm, through bytes, into another, compared in everything that shows.

import { describe, expect, test } from "vitest"
import { difference } from "./isomorphic.ts"
import { bytesOf, decodeInto, twoRealms } from "./passage.ts"
import { bootRealm } from "./realm.ts"

const { from, to } = twoRealms()

const kinds: Readonly<Record<string, string>> = {
  undefined: "undefined",
  null: "null",
  booleans: "[true, false]",
  numbers: "[0, -0, 1, -1, 1.5, NaN, Infinity, -Infinity, 2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 53, 5e-324, 1e308]",
  "negative zero alone": "-0",
  bigints: "[0n, -1n, 2n ** 63n - 1n, 2n ** 63n, -(2n ** 63n), 2n ** 64n, -(2n ** 200n), 10n ** 400n]",
  strings: "['', 'a', '\\u0000', 'ä', '😀', 'x'.repeat(70000), 'ä'.repeat(40000)]",
  "lone surrogates": "['\\ud800', 'a\\udc00b', '\\udc00\\ud800', { '\\ud800': 1 }]",
  "well-known symbols": "[Symbol.iterator, Symbol.asyncIterator, Symbol.toStringTag, Symbol.hasInstance]",
  "registered symbols": "[Symbol.for('a'), Symbol.for('')]",
  "unique symbols with identity":
    "(() => { const s = Symbol('s'), t = Symbol('s'), u = Symbol(); return [s, t, s, u, { [s]: 1 }] })()",
  "plain objects": "({ a: 1, b: { c: null, d: undefined }, 1: 'x' })",
  "empty object": "({})",
  "same shape many times": "Array.from({ length: 50 }, (_, i) => ({ id: i, name: 'n' + i }))",
  "shapes that alternate": "Array.from({ length: 50 }, (_, i) => ({ ['k' + (i % 12)]: i, x: {} }))",
  "symbol keys": "({ [Symbol.for('r')]: 1, [Symbol.iterator]: 2, a: 3 })",
  "null prototype": "Object.assign(Object.create(null), { a: 1 })",
  "null prototype, empty": "Object.create(null)",
  "__proto__ as an own key": 'JSON.parse(\'{"__proto__": {"x": 1}, "a": 2}\')',
  "keys of Object.prototype": "({ constructor: 1, toString: 2, hasOwnProperty: 3, valueOf: 4 })",
  "own prototype object":
    "(() => { const base = { x: 1 }; return [Object.assign(Object.create(base), { y: 2 }), base] })()",
  "prototype chain": "Object.create(Object.create(Object.create({ deep: true })))",
  "non-enumerable":
    "Object.defineProperty({ a: 1 }, 'h', { value: 2, enumerable: false, writable: true, configurable: true })",
  "non-writable":
    "Object.defineProperty({ a: 1 }, 'h', { value: 2, enumerable: true, writable: false, configurable: true })",
  "non-configurable": "Object.defineProperty({ a: 1 }, 'h', { value: 2, enumerable: true, writable: true })",
  frozen: "Object.freeze({ a: 1, b: { c: 2 } })",
  sealed: "Object.seal({ a: 1 })",
  "non-extensible": "Object.preventExtensions({ a: 1 })",
  "accessors that are references":
    "Object.defineProperty({}, 'x', { get: Object.getOwnPropertyDescriptor(Map.prototype, 'size').get, configurable: true })",
  "setter only": "Object.defineProperty({}, 'x', { set: Math.max, enumerable: true })",
  arrays: "[1, 'a', null, undefined, [2, [3]], []]",
  "sparse arrays": "[1, , 3, , , 6, ,]",
  "very sparse array": "(() => { const a = []; a[4294967294] = 1; a[5] = 2; return a })()",
  "only holes": "new Array(1000000)",
  "array with properties": "Object.assign([1, 2], { extra: 'x', [Symbol.for('k')]: 3 })",
  "array with a hole and a property": "(() => { const a = [1, , 3]; a.foo = 1; return a })()",
  "frozen array": "Object.freeze([1, [2]])",
  "array with fixed length": "Object.defineProperty([1, 2], 'length', { writable: false })",
  "array with odd items": "Object.defineProperty([1, 2, 3], 1, { enumerable: false })",
  "array with a read-only item": "Object.defineProperty([1, 2, 3], 1, { writable: false })",
  "array without prototype": "Object.setPrototypeOf([1, 2], null)",
  "match result": "/(?<year>\\d+)/.exec('in 1999')",
  "many small integers": "Array.from({ length: 100 }, (_, i) => i - 50)",
  "many 16-bit integers": "Array.from({ length: 100 }, (_, i) => i * 300 - 15000)",
  "many 32-bit integers": "Array.from({ length: 100 }, (_, i) => i * 30000000 - 1500000000)",
  "many doubles": "[...Array.from({ length: 100 }, (_, i) => i / 3), NaN, -0, Infinity]",
  "many integers and -0": "[...Array.from({ length: 100 }, (_, i) => i), -0]",
  "many integers and a string": "[...Array.from({ length: 100 }, (_, i) => i), 'x']",
  "boxed primitives": "[new Number(-0), new String('ab'), new Boolean(false), Object(5n), Object(Symbol.for('z'))]",
  "boxed unique symbol": "(() => { const s = Symbol('b'); return [Object(s), s] })()",
  "boxed with properties": "Object.assign(new String('abc'), { x: 1 })",
  "boxed as null prototype": "Object.setPrototypeOf(new Number(7), null)",
  dates: "[new Date(0), new Date(1e15), new Date(NaN), Object.assign(new Date(5), { note: 'x' })]",
  "date with another prototype": "Object.setPrototypeOf(new Date(5), Object.prototype)",
  regexps: "[/a/, /b+/dgimsuy, /[\\p{L}--[a-z]]/v, new RegExp('/'), new RegExp('')]",
  "regexp with lastIndex":
    "(() => { const r = /a/g; r.lastIndex = 5; const q = /b/y; q.lastIndex = -0; return [r, q] })()",
  "frozen regexp": "Object.freeze(/x/g)",
  errors:
    "[new Error('a'), new TypeError('b'), new RangeError(), new SyntaxError('c'), new ReferenceError('d'), new EvalError('e'), new URIError('f')]",
  "error with cause": "new Error('a', { cause: new TypeError('b', { cause: 5 }) })",
  "error with itself as cause": "(() => { const e = new Error('a'); e.cause = e; return e })()",
  "error with own properties": "Object.assign(new Error('a'), { code: 'ENOENT', errno: -2, name: 'Custom' })",
  "error without stack": "(() => { const e = new Error('a'); delete e.stack; return e })()",
  "error with another stack": "Object.assign(new Error('a'), { stack: 'none' })",
  "aggregate error": "new AggregateError([new Error('x'), 5], 'many', { cause: null })",
  "frozen error": "Object.freeze(new Error('a'))",
  "object with a captured stack": "(() => { const o = {}; Error.captureStackTrace(o); return o })()",
  maps: "new Map([['a', 1], [NaN, 2], [-0, 3], [null, undefined], [{ k: 1 }, [1]]])",
  "map of itself": "(() => { const m = new Map(); m.set(m, m); m.set('x', { m }); return m })()",
  "map with properties": "Object.assign(new Map([[1, 2]]), { note: 'x' })",
  sets: "new Set([1, 'a', NaN, { x: 1 }, [1]])",
  "set of itself": "(() => { const s = new Set(); s.add(s); s.add([s]); return s })()",
  "frozen map and set": "[Object.freeze(new Map([[1, {}]])), Object.freeze(new Set([{}]))]",
  "map keys that refer to their map": "(() => { const m = new Map(); const k = { m }; m.set(k, k); return [k, m] })()",
  buffers: "[new ArrayBuffer(0), new Uint8Array([1, 2, 3]).buffer, new ArrayBuffer(8, { maxByteLength: 16 })]",
  "shared buffers":
    "(() => { const b = new SharedArrayBuffer(4); new Uint8Array(b).set([1, 2, 3, 4]); return [b, new Uint8Array(b), new SharedArrayBuffer(2, { maxByteLength: 4 })] })()",
  "every view":
    "[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, Float32Array, Float64Array].map((T) => new T([1, 2, 3])).concat([new BigInt64Array([1n, -1n]), new BigUint64Array([1n])])",
  "views of one buffer":
    "(() => { const b = new ArrayBuffer(16); return [new Uint8Array(b, 4, 4), new DataView(b, 2), new Float64Array(b), b, new Uint8Array(b)] })()",
  "views that follow their buffer":
    "(() => { const b = new ArrayBuffer(16, { maxByteLength: 32 }); return [new Uint8Array(b), new Uint8Array(b, 0, 16), new Uint8Array(b, 4), new Float64Array(b), new DataView(b)] })()",
  "full resizable buffer":
    "(() => { const b = new ArrayBuffer(16, { maxByteLength: 16 }); return [new Uint16Array(b, 0, 8), new Uint16Array(b)] })()",
  "view with properties": "Object.assign(new Uint8Array(2), { note: 1 })",
  "buffer that knows its view": "(() => { const v = new Uint8Array(2); v.buffer.view = v; return v })()",
  arguments: "(function () { 'use strict'; return arguments })(1, 'b', {})",
  proxies: "(() => { const t = { a: 1 }, h = {}; const p = new Proxy(t, h); t.self = p; h.t = t; return [p, t, h] })()",
  "proxy of a proxy": "new Proxy(new Proxy([1], {}), {})",
  intrinsics:
    "[Math.max, console.log, Array.prototype[Symbol.iterator], Map, Map.prototype, globalThis, Object.getPrototypeOf(Int8Array), Reflect, JSON, Intl.Collator, Promise.resolve]",
  "intrinsics nobody names":
    "[Object.getPrototypeOf(function* () {}), Object.getPrototypeOf([].values()), Object.getPrototypeOf(async () => {}), Object.getOwnPropertyDescriptor(RegExp.prototype, 'flags').get]",
  "object that inherits from an intrinsic":
    "[Object.create(Array.prototype), Object.create(Map.prototype), Object.create(Math)]",
  sharing: "(() => { const s = { x: 1 }; return { a: s, b: [s, s], c: new Map([[s, s]]) } })()",
  cycles: "(() => { const a = [], o = { a }; a.push(o, a); o.o = o; return o })()",
  "object from Object.groupBy-like factories": "Object.fromEntries([['a', 1], ['b', { c: 1 }]])",
}

describe("there and back", () => {
  for (const [name, source] of Object.entries(kinds)) {
    test(name, () => {
      const value = from.run(source)
      const bytes = bytesOf(from, value)
      const back = decodeInto(to, bytes)
      expect(difference(value, back, from.references, to.references)).toBeUndefined()
      expect(difference(back, value, to.references, from.references)).toBeUndefined()
      // The same graph gives the same bytes, also when it is the rebuilt one.
      expect(Buffer.from(bytesOf(from, value)).equals(bytes)).toBe(true)
      if (!name.includes("error") && !name.includes("stack"))
        expect(Buffer.from(bytesOf(to, back)).equals(bytes)).toBe(true)
    })
  }
})

test("a rebuilt view still follows its buffer", () => {
  const value = from.run("new Uint8Array(new ArrayBuffer(4, { maxByteLength: 8 }))")
  const back = decodeInto(to, bytesOf(from, value)) as Uint8Array
  ;(back.buffer as ArrayBuffer & { resize(length: number): void }).resize(6)
  expect(back.length).toBe(6)
  expect(() => bytesOf(to, back)).not.toThrow()
  expect(back.length).toBe(6)
})

test("a rebuilt map finds its keys", () => {
  const value = from.run("(() => { const k = {}; return { k, m: new Map([[k, 'found']]) } })()")
  const back = decodeInto(to, bytesOf(from, value)) as { k: object; m: Map<object, string> }
  expect(back.m.get(back.k)).toBe("found")
})

test("a list nested a million deep passes without recursion", { timeout: 120_000 }, () => {
  const value = from.run("(() => { let l = null; for (let i = 0; i < 1e6; i++) l = i % 2 ? [l] : { l }; return l })()")
  let back = decodeInto(to, bytesOf(from, value))
  let depth = 0
  while (back !== null) {
    back = Array.isArray(back) ? (back as unknown[])[0] : (back as { l: unknown }).l
    depth++
  }
  expect(depth).toBe(1_000_000)
})

test("maps and causes nested fifty thousand deep pass", { timeout: 120_000 }, () => {
  for (const source of [
    "(() => { let p = {}; for (let i = 0; i < 5e4; i++) p = new Map([[p, 1]]); return p })()",
    "(() => { let p = {}; for (let i = 0; i < 5e4; i++) { const e = new Error('x', { cause: p }); e.stack = ''; p = e } return p })()",
  ]) {
    expect(() => decodeInto(to, bytesOf(from, from.run(source)))).not.toThrow()
  }
})

test("a detached buffer reads as an empty one, and so does a view of it", () => {
  const value = from.run("new Uint8Array([1, 2])") as Uint8Array<ArrayBuffer>
  structuredClone(value.buffer, { transfer: [value.buffer] })
  const back = decodeInto(to, bytesOf(from, value)) as Uint8Array
  expect([back.length, back.buffer.byteLength]).toEqual([0, 0])
  expect(from.preview(value.buffer).text).toBe("ArrayBuffer { [Uint8Contents]: <>, byteLength: 0 }")
})

test("a rebuilt sparse array leaves the realm's other arrays plain", () => {
  const realm = bootRealm()
  decodeInto(realm, bytesOf(from, from.run("[[1, , 3], /x/.exec('x'), Object.freeze([1])]")))
  expect(bytesOf(realm, realm.run("[1, 2, [3]]"))).toEqual(bytesOf(from, from.run("[1, 2, [3]]")))
})

test("a rebuilt proxy traps", () => {
  const value = from.run("new Proxy({ a: 1 }, { get: Reflect.has })")
  const back = decodeInto(to, bytesOf(from, value)) as { a: unknown; b: unknown }
  expect([back.a, back.b]).toEqual([true, false])
})
