// Bindings and their groups: what shares is together, what does not is apart, and the same graph is always the same bytes.

import { expect, test } from "vitest"
import { packValue } from "../../../runtime/wire/values/pack.ts"
import type { EncodedBindings } from "../../../runtime/wire/values/groups.ts"
import { decodeGroupInto, encodeHooksOf } from "./passage.ts"
import { bootRealm, type Realm } from "./realm.ts"

function encode(realm: Realm, source: string): EncodedBindings {
  const bindings = realm.run(`(${source})`) as Record<string, unknown>
  return realm.encodeBindings(
    Object.keys(bindings).map((name) => ({ name, value: bindings[name] })),
    encodeHooksOf(realm),
  )
}

function names(encoded: EncodedBindings): string[][] {
  return Array.from(encoded.groups, (group) => Array.from(group.names))
}

const realm = bootRealm()

test("bindings that share nothing are groups of their own", () => {
  expect(names(encode(realm, "{ a: 1, b: { x: 1 }, c: [1], d: 'x' }"))).toEqual([["a"], ["b"], ["c"], ["d"]])
})

test("bindings that share an object, a unique symbol or a buffer are one group", () => {
  const shared = names(
    encode(
      realm,
      "(() => { const s = {}, y = Symbol('y'), b = new ArrayBuffer(8); return { a: s, b: { s }, c: [y], d: { [y]: 1 }, e: 5, f: new Uint8Array(b), g: new Uint16Array(b) } })()",
    ),
  )
  expect(shared).toEqual([["a", "b"], ["c", "d"], ["e"], ["f", "g"]])
})

test("a late binding joins groups that were apart", () => {
  expect(
    names(
      encode(realm, "(() => { const p = {}, q = {}, r = {}; return { a: [p], b: [q], c: [r], d: [q, p], e: [1] } })()"),
    ),
  ).toEqual([["a", "b", "d"], ["c"], ["e"]])
  expect(
    names(encode(realm, "(() => { const p = {}, q = {}; return { a: [p], b: [p], c: [q], d: [q], e: [p, q] } })()")),
  ).toEqual([["a", "b", "c", "d", "e"]])
})

test("references, registered symbols and equal strings do not join bindings", () => {
  expect(
    names(
      encode(
        realm,
        "{ a: [Math.max, Symbol.for('x'), 'same'], b: [Math.max, Symbol.for('x'), 'same', Symbol.iterator] }",
      ),
    ),
  ).toEqual([["a"], ["b"]])
})

test("a group keeps identity and cycles across its names", () => {
  const encoded = encode(
    realm,
    "(() => { const s = { n: 1 }, y = Symbol('y'); s.self = s; return { a: s, b: [s, y], c: new Map([[s, y]]) } })()",
  )
  expect(names(encoded)).toEqual([["a", "b", "c"]])
  const other = bootRealm()
  const { a, b, c } = decodeGroupInto(other, encoded.groups[0]!) as {
    a: { self: unknown }
    b: unknown[]
    c: Map<unknown, unknown>
  }
  expect(a.self).toBe(a)
  expect(b[0]).toBe(a)
  expect(other.global["Map"]).toBe((c as object).constructor)
  expect(c.get(a)).toBe(b[1])
})

test("the order in which names were bound does not change the bytes", () => {
  const one = encode(realm, "(() => { const s = { n: 1 }; return { a: [s], b: { s }, c: 1 } })()")
  const two = encode(realm, "(() => { const s = { n: 1 }; return { c: 1, b: { s }, a: [s] } })()")
  expect(names(one)).toEqual(names(two))
  expect(Array.from(one.groups, (group) => Buffer.from(packValue(group)).toString("hex"))).toEqual(
    Array.from(two.groups, (group) => Buffer.from(packValue(group)).toString("hex")),
  )
})

test("an ephemeral takes its binding and whoever reaches it, and leaves the others of the group", () => {
  const encoded = encode(
    realm,
    "(() => { const s = { ok: 1 }, conn = { f() {} }; return { a: s, b: { s, conn }, c: [s], d: { deep: { conn } }, e: [1] } })()",
  )
  expect(names(encoded)).toEqual([["a", "c"], ["e"]])
  expect(Array.from(encoded.ephemeral, (one) => ({ ...one }))).toEqual([
    { name: "b", what: "function f", path: "b.conn.f" },
    { name: "d", what: "function f", path: "d.deep.conn.f" },
  ])
  const values = decodeGroupInto(bootRealm(), encoded.groups[0]!)
  expect((values["c"] as unknown[])[0]).toBe(values["a"])
})

test("what only an ephemeral binding held together falls apart", () => {
  expect(
    names(encode(realm, "(() => { const p = {}, q = {}; return { a: [p], b: [q], c: { p, q, f() {} } } })()")),
  ).toEqual([["a"], ["b"]])
})

test("no bindings are no groups; odd names pass", () => {
  expect(encode(realm, "{}").groups.length).toBe(0)
  const encoded = encode(realm, "{ __proto: 1, 'ä ö': { x: 1 }, constructor: 2 }")
  expect(names(encoded)).toEqual([["__proto"], ["constructor"], ["ä ö"]])
  expect(decodeGroupInto(bootRealm(), encoded.groups[2]!)["ä ö"]).toEqual({ x: 1 })
})

function thousand(changed: number): string {
  return `(() => { const o = {}; for (let i = 0; i < 1000; i++) o['v' + i] = { i, list: [i, i === 500 ? ${changed} : 0] }; return o })()`
}

test("a thousand bindings keep their own bytes when one changes", () => {
  const one = encode(realm, thousand(1))
  const two = encode(realm, thousand(2))
  const differing = Array.from(one.groups, (group, i) =>
    Buffer.from(packValue(group)).equals(packValue(two.groups[i]!)) ? [] : Array.from(group.names),
  ).flat()
  expect(differing).toEqual(["v500"])
})
