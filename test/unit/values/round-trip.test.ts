import { expect, test } from "vitest"
import { bootRealm } from "./realm.ts"
import { packValue, unpackValue } from "../../../runtime/wire/values/pack.ts"

test("smoke", () => {
  const r = bootRealm()
  const hooks = { referenceOf: r.references.nameOf }
  const back = { resolveReference: r.references.resolve }
  const v = r.run(
    `(() => { const a = { a: 1, b: [1, null, undefined, "x"], m: new Map([["k", { d: new Date(5) }]]), e: new TypeError("boo"), f: Math.max, z: -0, s: "\\ud800" }; a.self = a; return a })()`,
  )
  const out = r.encodeValue(v, hooks)
  if (!("table" in out)) throw new Error(JSON.stringify(out))
  const bytes = packValue(out)
  const un = unpackValue(bytes)
  const d = r.decodeValue(un.table, un.chunks, back) as Record<string, unknown>
  console.log(d, out.table.length, bytes.length)
  expect(d["self"]).toBe(d)
})
