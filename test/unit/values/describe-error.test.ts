// Anything that can be thrown, as a plain record.

import { expect, test } from "vitest"
import { bootRealm } from "./realm.ts"

const realm = bootRealm()

function describe(source: string): Record<string, unknown> {
  return JSON.parse(realm.errorToJson(realm.describeError(realm.run(source)))) as Record<string, unknown>
}

test("an error is its name, message, raw stack, cause and properties", () => {
  const record = describe(
    "Object.assign(new TypeError('boo', { cause: new Error('why') }), { code: 'E', list: [1, 'x'], kind: 'binding_lost' })",
  )
  expect(record).toMatchObject({
    isError: true,
    name: "TypeError",
    message: "boo",
    kind: "binding_lost",
    cause: { name: "Error", message: "why" },
    properties: [
      { key: "code", text: "'E'" },
      { key: "list", text: "[ 1, 'x' ]" },
    ],
  })
  expect(record["stack"]).toMatch(/^TypeError: boo\n    at /)
})

test("what is no error is named by its type", () => {
  expect(describe("null")).toEqual({ isError: false, name: "null", message: "null", stack: "" })
  expect(describe("undefined")).toMatchObject({ isError: false, name: "undefined", message: "undefined" })
  expect(describe("'text'")).toMatchObject({ isError: false, name: "string", message: "'text'" })
  expect(describe("({ a: 1 })")).toMatchObject({ isError: false, name: "Object", message: "{ a: 1 }" })
  expect(describe("Symbol('s')")).toMatchObject({ isError: false, name: "symbol", message: "Symbol(s)" })
})

test("a subclass that never set a name has its class's", () => {
  expect(describe("new (class NotFound extends Error {})('x')")).toMatchObject({ name: "NotFound", message: "x" })
})

test("causes and errors that go in circles or on for ever end", () => {
  expect(describe("(() => { const e = new Error('a'); e.cause = e; return e })()")).toMatchObject({
    cause: { message: "[Circular]" },
  })
  const deep = JSON.stringify(
    describe("(() => { let e; for (let i = 0; i < 100; i++) e = new Error('n' + i, { cause: e }); return e })()"),
  )
  expect(deep).toContain("causes beyond 8 are left out")
  const wide = describe("new AggregateError(Array.from({ length: 50 }, (_, i) => new Error('e' + i)), 'many')")
  expect((wide["errors"] as unknown[]).length).toBe(9)
  expect(JSON.stringify(wide)).toContain("42 more errors are left out")
  expect(
    JSON.stringify(
      describe(
        "(() => { const make = (d) => d === 0 ? new Error('leaf') : new AggregateError(Array.from({ length: 8 }, () => make(d - 1)), 'x'); return make(4) })()",
      ),
    ).length,
  ).toBeLessThan(300_000)
})

test("long texts are cut, and many properties", () => {
  const record = describe(
    "Object.assign(new Error('m'.repeat(1e6)), Object.fromEntries(Array.from({ length: 100 }, (_, i) => ['p' + i, 'x'.repeat(1e5)])))",
  )
  expect((record["message"] as string).length).toBeLessThan(17_000)
  expect((record["properties"] as unknown[]).length).toBe(33)
  expect(JSON.stringify(record).length).toBeLessThan(200_000)
})

test("getters on errors are skipped, and a proxy shows its target", () => {
  expect(
    describe("Object.defineProperty(new Error('a'), 'code', { get() { throw 1 }, enumerable: true })"),
  ).not.toHaveProperty("properties")
  expect(describe("new Proxy(new RangeError('inner'), { get() { throw 1 } })")).toMatchObject({
    name: "RangeError",
    message: "inner",
  })
  expect(describe("Object.defineProperty(new Error('a'), 'message', { get() { throw 1 } })")).toMatchObject({
    name: "Error",
    message: "",
    stack: "",
  })
})

test("no toJSON a session could plant is asked", () => {
  const other = bootRealm()
  const error = other.run(
    "for (const p of [Object, Array, String, Number, Boolean]) p.prototype.toJSON = () => { globalThis.ran = true; return 1 }; new Error('m', { cause: [new Error('x')] })",
  )
  expect((JSON.parse(other.errorToJson(other.describeError(error))) as { message: string }).message).toBe("m")
  expect(other.run("globalThis.ran")).toBeUndefined()
})
