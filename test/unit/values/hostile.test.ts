// Sessions that try to run code of their own, or to break ours, while their values are encoded, shown and described. Every trap, getter
// and replaced built-in counts its calls; at the end the count is zero and the values are whole.

import { afterAll, beforeAll, expect, test } from "vitest"
import { bytesOf, decodeHooksOf, decodeInto, encodeHooksOf } from "./passage.ts"
import { bootRealm, type Realm } from "./realm.ts"

// The test runner's own stack formatter would be asked about errors of the realm, and it reads what stands on their prototypes.
const ofRunner = Error.prepareStackTrace
beforeAll(() => {
  delete (Error as { prepareStackTrace?: unknown }).prepareStackTrace
})
afterAll(() => {
  if (ofRunner !== undefined) Error.prepareStackTrace = ofRunner
})

/** Replaces everything a program can reach by something that counts. Run once the realm-side files are there. */
const sabotage = `
  globalThis.ran = ""
  const trap = (name) => function () { ran += name + " "; throw new Error("user code ran: " + name) }
  const values = (object) => Reflect.ownKeys(object).filter((key) => key !== "constructor")
  const keep = { defineProperty: Object.defineProperty, getDescriptor: Object.getOwnPropertyDescriptor, push: Array.prototype.push }
  const prototypes = [
    Array, Map, Set, WeakMap, WeakSet, Date, RegExp, Error, TypeError, Function, Number, Boolean, BigInt, Symbol, ArrayBuffer,
    SharedArrayBuffer, DataView, Uint8Array, Object.getPrototypeOf(Uint8Array), Promise,
  ].map((constructor) => constructor.prototype)
  prototypes.push(String.prototype, Object.getPrototypeOf([].values()), Object.getPrototypeOf(new Map().values()), Object.getPrototypeOf(new Set().values()))
  const statics = [Array, Number, String, Symbol, Date, BigInt, Promise, ArrayBuffer, JSON, Math, Reflect, Map, Proxy, Object]
  const targets = []
  for (const object of [...prototypes, ...statics]) for (const key of values(object)) targets.push([object, key])
  const names = ["then", "toJSON", "value", "writable", "get", "set", "enumerable", "configurable", "done", "kind", "what", "cause", "errors",
    "limitBytes", "classOf", "isProxy", "standInPrototype", "viewsAreSlices", "resolveReference", "prototypeOf", "textOf", "stack", "maxByteLength"]
  const descriptors = names.map((name) => [name, { get: trap("get Object.prototype." + name), set: trap("set Object.prototype." + name), configurable: true }])
  const indexed = [0, 1, 2, 3, 5, 40].map((i) => [i, { get: trap("get index " + i), set: trap("set index " + i), configurable: true }])
  const define = Reflect.defineProperty, describe = Reflect.getOwnPropertyDescriptor, ArrayProto = Array.prototype, ObjectProto = Object.prototype
  const tag = { get: trap("toStringTag"), configurable: true }
  const iterator = Symbol.iterator, tagSymbol = Symbol.toStringTag, species = Symbol.species, ErrorOf = Error
  const list = targets.map(([object, key]) => [object, key, trap(String(key))])
  Error.prepareStackTrace = trap("prepareStackTrace")
  for (let i = 0; i < list.length; i++) {
    const entry = list[i], before = describe(entry[0], entry[1])
    if (before === undefined || !before.configurable || typeof before.value !== "function") {
      if (before !== undefined && before.configurable && before.get !== undefined) define(entry[0], entry[1], { get: entry[2], configurable: true })
      continue
    }
    define(entry[0], entry[1], { value: entry[2], writable: true, configurable: true })
  }
  for (let i = 0; i < descriptors.length; i++) { const d = descriptors[i][1]; d.__proto__ = null; define(ObjectProto, descriptors[i][0], d) }
  for (let i = 0; i < indexed.length; i++) { const d = indexed[i][1]; d.__proto__ = null; define(ArrayProto, indexed[i][0], d); define(ObjectProto, indexed[i][0], d) }
  tag.__proto__ = null
  define(ObjectProto, tagSymbol, tag)
`

const victims: Readonly<Record<string, string>> = {
  data: "({ a: 1, b: [1, 'x', { c: null }], s: '\\ud800', n: -0, big: 12n })",
  "sparse array": "[1, , 3]",
  collections: "({ m: new Map([['k', { v: 1 }]]), s: new Set([1, {}]) })",
  "class of built-ins": "[new Date(5), /a/g, new Number(1), new String('ab'), Object(Symbol.for('x'))]",
  bytes: "[new Uint8Array([1, 2, 3]), new DataView(new ArrayBuffer(4)), new ArrayBuffer(2)]",
  error: "new TypeError('boo', { cause: new Error('inner') })",
  numbers: "Array.from({ length: 50 }, (_, i) => i)",
  symbols: "[Symbol.iterator, Symbol('u')]",
  attributes: "Object.freeze(Object.defineProperty({}, 'x', { value: 1 }))",
}

function sabotaged(source: string): { realm: Realm; value: unknown } {
  const realm = bootRealm()
  const value = realm.run(source)
  realm.run(sabotage)
  return { realm, value }
}

/** An error of a sabotaged realm cannot be printed by the test runner; its text can. */
function plainly(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (error instanceof Error) throw error
    // No `cause`: the runner would print it, and run what it is about to report.
    // oxlint-disable-next-line preserve-caught-error
    throw new Error(`in the realm: ${String(Object.getOwnPropertyDescriptor(error, "message")?.value)}`)
  }
}

function checkSabotaged(name: string, source: string, realm: Realm, value: unknown): void {
  const clean = bootRealm()
  const bytes = bytesOf(realm, value)
  if (name !== "error") expect(Buffer.from(bytesOf(clean, clean.run(source))).equals(bytes)).toBe(true)
  realm.encodeBindings([{ name: "x", value }], encodeHooksOf(realm))
  const { table, chunks } = realm.encodeValue(value, encodeHooksOf(realm)) as { table: never[]; chunks: never[] }
  const back = realm.decodeValue(table, chunks, decodeHooksOf(realm))
  expect(Buffer.from(bytesOf(realm, back)).equals(bytes)).toBe(true)
  const shown = realm.preview(value).text
  if (name !== "error") expect(shown).toBe(clean.preview(clean.run(source)).text)
  realm.formatConsole(["%s %d %j %o", value, value, value, value, value])
  JSON.parse(realm.errorToJson(realm.describeError(value)))
  expect(realm.global["ran"]).toBe("")
}

for (const [name, source] of Object.entries(victims)) {
  test(`${name}: replaced built-ins are never called`, () => {
    const { realm, value } = sabotaged(source)
    plainly(() => checkSabotaged(name, source, realm, value))
  })
}

test("getters, traps and tags of values are never run", () => {
  const realm = bootRealm()
  const value = realm.run(`
    globalThis.ran = []
    const bad = (name) => () => { ran.push(name); throw new Error(name) }
    const handler = new Proxy({}, { get: (_, name) => bad(String(name)) })
    class Tagged { get [Symbol.toStringTag]() { ran.push("tag"); return "x" } }
    const error = new Error("plain")
    Object.defineProperty(error, "name", { get: bad("error name"), enumerable: true })
    Object.defineProperty(error, "message", { get: bad("error message"), enumerable: true })
    Object.defineProperty(error, "code", { get: bad("error code"), enumerable: true })
    const trapped = new Proxy({ a: 1 }, { get: bad("get"), ownKeys: bad("ownKeys"), getPrototypeOf: bad("getPrototypeOf"), has: bad("has"), getOwnPropertyDescriptor: bad("gopd") })
    const child = Object.create(trapped); child.own = 1
    const revocable = Proxy.revocable({ a: 1 }, {}); revocable.revoke()
    const list = [
      Object.defineProperty({ a: 1 }, "x", { get: bad("getter"), enumerable: true }),
      { toJSON: bad("toJSON"), toString: bad("toString"), valueOf: bad("valueOf"), [Symbol.toPrimitive]: bad("toPrimitive") },
      trapped, child, new Proxy(() => {}, handler), new Proxy([1], handler), new Proxy(error, handler), revocable.proxy,
      Object.defineProperty([1, 2], 0, { get: bad("item") }),
      { get constructor() { ran.push("constructor"); return 1 } }, new Tagged(), error,
      Object.defineProperty(new Error("x"), "stack", { get: bad("stack") }),
      Object.defineProperty(new Error("x"), "cause", { get: bad("cause") }),
      Object.defineProperty(() => {}, "name", { get: bad("function name") }),
      Object.defineProperty(new Map([[1, 2]]), "size", { get: bad("size") }),
      new (class extends Map { get size() { return bad("size")() } forEach() { bad("forEach")() } })(),
      new (class extends Error { get name() { return bad("class name")() } })("x"),
      { then: bad("then") },
    ]
    Error.prepareStackTrace = bad("prepareStackTrace")
    list`) as unknown[]
  for (let i = 0; i < value.length; i++) {
    const item = value[i]
    realm.encodeValue(item, encodeHooksOf(realm))
    realm.encodeValue(item, encodeHooksOf(realm), Infinity, "describe")
    realm.encodeBindings(
      [
        { name: "x", value: item },
        { name: "y", value: item },
      ],
      encodeHooksOf(realm),
    )
    expect(typeof realm.preview(item).text).toBe("string")
    expect(
      typeof realm.formatConsole(["%s %d %i %f %j %o %O %c", item, item, item, item, item, item, item, item]),
    ).toBe("string")
    expect(typeof realm.errorToJson(realm.describeError(item))).toBe("string")
  }
  expect(realm.run("ran.join()")).toBe("")
})

test("a replaced Error or a getter for prepareStackTrace leaves the stack unread or whole, and runs nothing", () => {
  for (const trick of [
    "Object.defineProperty(Error, 'prepareStackTrace', { get() { ran.push(1) }, configurable: true })",
    "Object.defineProperty(Error, 'prepareStackTrace', { get() { ran.push(1) }, configurable: false })",
    "Function.prototype.prepareStackTrace = () => ran.push(2)",
    "globalThis.Error = { prepareStackTrace: () => ran.push(3) }",
    "Object.defineProperty(globalThis, 'Error', { get() { ran.push(4) } })",
    "Error.prepareStackTrace = () => ran.push(5); Object.freeze(Error)",
  ]) {
    const realm = bootRealm()
    const error = realm.run(`globalThis.ran = []; const e = new Error('boo'); ${trick}; e`)
    const before = realm.run("ran.length")
    const described = realm.describeError(error)
    expect(described.message).toBe("boo")
    realm.encodeValue(error, encodeHooksOf(realm))
    expect(realm.run("ran.length")).toBe(before)
  }
})

test("what was shadowed to read a stack is put back", () => {
  const realm = bootRealm()
  const error = realm.run("Error.prepareStackTrace = globalThis.hook = () => 'mine'; new Error('boo')")
  realm.describeError(error)
  expect(realm.run("Error.prepareStackTrace === hook && new Error('x').stack")).toBe("mine")
  expect(realm.run("delete Error.prepareStackTrace; typeof Error")).toBe("function")
})

test("the recording Proxy passes for the native one", () => {
  const realm = bootRealm()
  expect(realm.run("[typeof Proxy, Proxy.name, Proxy.length, 'prototype' in Proxy, Proxy.revocable.name].join()")).toBe(
    "function,Proxy,2,false,revocable",
  )
  expect(() => realm.run("Proxy({}, {})")).toThrow(/requires 'new'/)
  expect(() => realm.run("new Proxy(1, {})")).toThrow(/non-object/)
  expect(
    realm.run(
      "let p = Proxy.revocable({a: 1}, {}); const a = p.proxy.a; p.revoke(); let t; try { p.proxy.a } catch (e) { t = e instanceof TypeError } [a, t].join()",
    ),
  ).toBe("1,true")
})

test("the recording defineProperty passes for the native one", () => {
  const realm = bootRealm()
  expect(
    realm.run(
      "[Object.defineProperty.name, Object.defineProperty.length, Reflect.defineProperty({}, 'x', {}), Object.defineProperties([1], { 0: { get: () => 'got' } })[0]].join()",
    ),
  ).toBe("defineProperty,3,true,got")
})

test("an array whose item became an accessor is never read past it", () => {
  const realm = bootRealm()
  const value = realm.run(
    "globalThis.ran = 0; const a = [1, 2, 3]; Object.defineProperty(a, 1, { get() { ran++; return 5 }, enumerable: true, configurable: true }); a",
  )
  expect(realm.encodeValue(value, encodeHooksOf(realm))).toEqual({ ephemeral: { what: "function get", path: "[1]" } })
  expect(realm.preview(value).text).toBe("[ 1, [Getter], 3 ]")
  expect(realm.run("ran")).toBe(0)
})

test("a decoded value meets no setter of the realm it is made in", () => {
  const realm = bootRealm()
  const source = "({ a: [1, [2], { b: 3 }], m: new Map([[1, { c: 1 }]]), n: Array.from({ length: 40 }, (_, i) => i) })"
  const bytes = bytesOf(realm, realm.run(source))
  realm.run(`globalThis.ran = []
    for (const key of ["a", "b", "c", "m", "0", "1", "2"]) for (const object of [Object.prototype, Array.prototype]) {
      Object.defineProperty(object, key, { set() { ran.push(key) }, get() { ran.push(key) }, configurable: true })
    }`)
  const back = decodeInto(realm, bytes)
  expect(realm.run("ran.join()")).toBe("")
  expect(realm.preview(back).text).toContain("a: [ 1, [ 2 ], { b: 3 } ]")
})
