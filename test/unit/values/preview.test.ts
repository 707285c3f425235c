// What people see of values. Where Node's inspect shows the same, the words are Node's.

import { describe, expect, test } from "vitest"
import { bootRealm } from "./realm.ts"

const realm = bootRealm()

const previews: readonly [source: string, text: string, type: string][] = [
  ["undefined", "undefined", "undefined"],
  ["null", "null", "null"],
  ["true", "true", "boolean"],
  ["-0", "-0", "number"],
  ["10n", "10n", "bigint"],
  ["'it'", "'it'", "string"],
  [`"it's"`, `"it's"`, "string"],
  ["'a\\n\\u0007\\ud800\"\\''", "`a\\n\\x07\\ud800\"'`", "string"],
  ["Symbol('s')", "Symbol(s)", "symbol"],
  ["({ a: 1, b: [1, 2] })", "{ a: 1, b: [ 1, 2 ] }", "Object"],
  ["({ 'a-b': 1, [Symbol('s')]: 'x' })", "{ 'a-b': 1, [Symbol(s)]: 'x' }", "Object"],
  ["({})", "{}", "Object"],
  ["[]", "[]", "Array"],
  ["[undefined, null, , 'x', ,]", "[ undefined, null, <1 empty item>, 'x', <1 empty item> ]", "Array"],
  ["new Array(4e9)", "[ <4000000000 empty items> ]", "Array"],
  ["Object.assign([1], { note: 'x' })", "[ 1, note: 'x' ]", "Array"],
  ["new Map([['a', 1], [{}, new Set([1])]])", "Map(2) { 'a' => 1, {} => Set(1) { 1 } }", "Map"],
  ["new (class Registry extends Map {})([[1, 2]])", "Registry(1) [Map] { 1 => 2 }", "Registry"],
  ["new (class List extends Array {})(2)", "List(2) [Array] [ <2 empty items> ]", "List"],
  ["(function f() {})", "[Function: f]", "function"],
  ["(() => {})", "[Function (anonymous)]", "function"],
  ["(async function g() {})", "[AsyncFunction: g]", "function"],
  ["(function* g() {})", "[GeneratorFunction: g]", "function"],
  ["(class A {})", "[class A]", "function"],
  ["(class A extends Map {})", "[class A extends Map]", "function"],
  ["Object.assign(() => {}, { a: 1 })", "[Function (anonymous)] { a: 1 }", "function"],
  ["new (class A { x = 1 })()", "A { x: 1 }", "A"],
  ["Object.create(null)", "[Object: null prototype] {}", "Object"],
  ["Math", "Object [Math] {}", "Object"],
  [
    "({ get x() { return 1 }, set x(v) {}, get y() { return 1 }, set z(v) {} })",
    "{ x: [Getter/Setter], y: [Getter], z: [Setter] }",
    "Object",
  ],
  ["new TypeError('boo')", "TypeError: boo", "TypeError"],
  ["[new TypeError('boo')]", "[ [TypeError: boo] ]", "Array"],
  ["new (class Custom extends Error {})('m')", "Custom: m", "Custom"],
  [
    "Object.assign(new Error('m', { cause: new RangeError('c') }), { code: 'X' })",
    "Error: m { code: 'X', [cause]: [RangeError: c] }",
    "Error",
  ],
  [
    "new AggregateError([new Error('a')], 'many')",
    "AggregateError: many { [errors]: [ [Error: a] ] }",
    "AggregateError",
  ],
  ["new Date(0)", "1970-01-01T00:00:00.000Z", "Date"],
  ["new Date(NaN)", "Invalid Date", "Date"],
  ["/a+/gi", "/a+/gi", "RegExp"],
  [
    "[new Number(-0), new String('ab'), new Boolean(true), Object(5n), Object(Symbol('q'))]",
    "[ [Number: -0], [String: 'ab'], [Boolean: true], [BigInt: 5n], [Symbol: Symbol(q)] ]".length > 76
      ? "[\n  [Number: -0],\n  [String: 'ab'],\n  [Boolean: true],\n  [BigInt: 5n],\n  [Symbol: Symbol(q)]\n]"
      : "",
    "Array",
  ],
  ["new Uint8Array([1, 2])", "Uint8Array(2) [ 1, 2 ]", "Uint8Array"],
  ["new Uint8Array([1, 171]).buffer", "ArrayBuffer { [Uint8Contents]: <01 ab>, byteLength: 2 }", "ArrayBuffer"],
  ["new DataView(new ArrayBuffer(4), 1)", "DataView { byteLength: 3, byteOffset: 1 }", "DataView"],
  ["new Proxy({ a: 1 }, { get() { throw 1 } })", "{ a: 1 }", "Object"],
  ["(function () { return arguments })(1)", "[Arguments] [ 1 ]", "Object"],
  ["(function* () {})()", "Object [Generator] {}", "Object"],
  [
    "(() => { const a = { n: 1 }; a.self = a; a.list = [a]; return a })()",
    "<ref *1> { n: 1, self: [Circular *1], list: [ [Circular *1] ] }",
    "Object",
  ],
  ["({ a: { b: { c: { d: { e: 1 } } } } })", "{ a: { b: { c: { d: [Object] } } } }", "Object"],
  ["({ a: { b: { c: { d: [1] } } } })", "{ a: { b: { c: { d: [Array] } } } }", "Object"],
]

describe("preview", () => {
  for (const [source, text, type] of previews) {
    test(source, () => {
      const shown = realm.preview(realm.run(source))
      expect(shown.text).toBe(text)
      expect(shown.type).toBe(type)
      expect(shown.inert).toBe(source === "undefined")
    })
  }
})

test("long objects break into lines, long arrays fill them", () => {
  expect(realm.preview(realm.run("({ first: 'x'.repeat(30), second: 'y'.repeat(30), third: { n: 1 } })")).text).toBe(
    `{\n  first: '${"x".repeat(30)}',\n  second: '${"y".repeat(30)}',\n  third: { n: 1 }\n}`,
  )
  const lines = realm.preview(realm.run("Array.from({ length: 60 }, (_, i) => i)")).text.split("\n")
  expect(lines.length).toBe(5)
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80)
})

test("what is cut is said", () => {
  const limits = { bytesMax: 1000, depthMax: 2, itemsMax: 3 }
  const show = (source: string) => realm.preview(realm.run(source), limits).text
  expect(show("[1, 2, 3, 4, 5]")).toBe("[ 1, 2, 3, ... 2 more items ]")
  expect(show("({ a: 1, b: 2, c: 3, d: 4 })")).toBe("{ a: 1, b: 2, c: 3, ... 1 more property }")
  expect(show("new Set([1, 2, 3, 4])")).toBe("Set(4) { 1, 2, 3, ... 1 more item }")
  expect(show("new Map([[1, 1], [2, 2], [3, 3], [4, 4], [5, 5]])")).toBe(
    "Map(5) { 1 => 1, 2 => 2, 3 => 3, ... 2 more entries }",
  )
  expect(show("new Uint8Array(9)")).toBe("Uint8Array(9) [ 0, 0, 0, ... 6 more items ]")
  expect(show("'x'.repeat(5000)")).toMatch(/^'x+'\.\.\. 40\d\d more characters$/)
})

test("the text stays within its bytes, whatever the value", () => {
  for (const source of [
    "Array.from({ length: 5000 }, (_, i) => 'ä'.repeat(100))",
    "'ä'.repeat(100000)",
    "'😀'.repeat(100000)",
    "(() => { let o = {}; for (let i = 0; i < 50; i++) o = { a: o, b: o, c: 'text'.repeat(20) }; return o })()",
    "Object.fromEntries(Array.from({ length: 5000 }, (_, i) => ['key'.repeat(50) + i, i]))",
    "new Error('m'.repeat(100000))",
    "(() => { let a = []; for (let i = 0; i < 6; i++) a = Array(100).fill(a); return a })()",
  ]) {
    const { text } = realm.preview(realm.run(source), { bytesMax: 2000, depthMax: 60, itemsMax: 1000 })
    expect(Buffer.byteLength(text)).toBeLessThan(2000 + 40)
  }
})

test("objects with a text of their own show it", () => {
  const session = realm.run("globalThis.s = {}; s") as object
  const textOf = (object: object) => (object === session ? "Session(repl: abc)" : undefined)
  expect(realm.preview(realm.run("[s, { s }]"), undefined, textOf).text).toBe(
    "[ Session(repl: abc), { s: Session(repl: abc) } ]",
  )
})

const formats: readonly [source: string, text: string][] = [
  ["[]", ""],
  ["['a', 'b']", "a b"],
  ["[1, 'a', { b: 'c' }]", "1 a { b: 'c' }"],
  ["['%s is %d', 'Bob', 42.5]", "Bob is 42.5"],
  ["['%i %f', '42.9px', '1.5kg']", "42 1.5"],
  ["['%d %i %d', 5n, -0, '0x10']", "5n -0 16"],
  ["['%d %d %i', {}, Symbol('x'), 'x']", "NaN NaN NaN"],
  ["['%s %s %s %s', null, undefined, -0, Symbol('a')]", "null undefined -0 Symbol(a)"],
  ["['%s', { a: { b: 1 } }]", "{ a: [Object] }"],
  ["['%j', { a: [1, 'x', undefined, () => 1], b: undefined }]", '{"a":[1,"x",null,null]}'],
  ["['%j %j', (() => { const a = {}; a.a = a; return a })(), undefined]", '{"a":"[Circular]"} undefined'],
  ["['%o %O', [1], { a: 'b' }]", "[ 1 ] { a: 'b' }"],
  ["['%c styled', 'color: red']", " styled"],
  ["['100%% %s']", "100%% %s"],
  ["['100%% %s', 'x']", "100% x"],
  ["['%x %s', 'a', 'b']", "%x a b"],
  ["['%s']", "%s"],
  ["['%']", "%"],
  ["[new Error('boo')]", "Error: boo"],
]

describe("console formatting", () => {
  for (const [source, text] of formats) {
    test(source, () => expect(realm.formatConsole(realm.run(source) as unknown[])).toBe(text))
  }
})
