// The envelope, and the embedder's side of it: what leaves a realm as bytes becomes live data in an ordinary process, and back.

import { expect, test } from "vitest"
import { Packr } from "msgpackr"
import { decodeBindings, decodeValue } from "../../../runtime/wire/values/decode.ts"
import { Placeholder } from "../../../runtime/wire/values/described.ts"
import { encodeValue } from "../../../runtime/wire/values/encode.ts"
import { packValue, unpackValue } from "../../../runtime/wire/values/pack.ts"
import { processEncodeHooks } from "../../../runtime/wire/values/process-hooks.ts"
import { bytesOf, decodeInto } from "./passage.ts"
import { bootRealm } from "./realm.ts"

const realm = bootRealm()

function here(source: string): unknown {
  const { table, chunks } = unpackValue(bytesOf(realm, realm.run(source)))
  return decodeValue(table, chunks)
}

function there(value: unknown): unknown {
  const encoded = encodeValue(value, processEncodeHooks)
  if (!("table" in encoded)) throw new Error(JSON.stringify(encoded))
  return decodeInto(realm, packValue(encoded))
}

test("every primitive passes exactly", () => {
  const table = [
    0,
    -0,
    1.5,
    NaN,
    Infinity,
    2 ** 53,
    "",
    "ä😀",
    "\ud800",
    "a\udc00",
    true,
    false,
    null,
    undefined,
    0n,
    -1n,
    2n ** 63n - 1n,
    -(2n ** 63n),
    2n ** 63n,
    -(2n ** 100n),
    10n ** 3000n,
  ]
  const back = unpackValue(packValue({ table, chunks: [] })).table
  expect(back.length).toBe(table.length)
  for (const [i, item] of table.entries()) expect(Object.is(back[i], item)).toBe(true)
})

test("chunks pass as bytes", () => {
  const chunks = [new Uint8Array([1, 2, 3]), new Uint8Array(0), new Uint8Array(70_000).fill(7)]
  const back = unpackValue(packValue({ table: [1], chunks })).chunks
  expect(back.map((chunk) => Buffer.from(chunk).toString("hex"))).toEqual(
    chunks.map((chunk) => Buffer.from(chunk).toString("hex")),
  )
})

test("a table that holds more than primitives is refused", () => {
  for (const item of [{}, [], () => 1, Symbol("x")]) {
    expect(() => packValue({ table: [1, item], chunks: [] })).toThrow(
      expect.objectContaining({ kind: "value_malformed" }),
    )
  }
  expect(() => packValue({ table: [], chunks: [[1, 2]] })).toThrow(expect.objectContaining({ kind: "value_malformed" }))
})

function pack(value: unknown): Uint8Array {
  return new Packr({ useRecords: false }).pack(value)
}

test("bytes nobody packed are refused", () => {
  for (const bytes of [
    Buffer.alloc(0),
    Buffer.from("hello"),
    pack({ a: 1 }),
    pack(["nacre/1", [], []]),
    pack(["nacre/2", [], [], []]),
    pack(["nacre/1", [{}], [], []]),
    pack(["nacre/1", [[1]], [], []]),
    pack(["nacre/1", [new Date()], [], []]),
    pack(["nacre/1", [1], [0, 1], []]),
    pack(["nacre/1", [1], [5, 0, ""], []]),
    pack(["nacre/1", [1], [0, 9, ""], []]),
    pack(["nacre/1", [1], [0, 2, "zz"], []]),
    pack(["nacre/1", [1], [], [1]]),
    Buffer.from("94a76e616372652f31ddffffffff", "hex"),
    Buffer.from("94a76e616372652f31dbffffffff", "hex"),
  ]) {
    expect(() => unpackValue(bytes)).toThrow(expect.objectContaining({ kind: "value_malformed" }))
  }
})

test("in the embedder's process values are live data of that process", () => {
  const value = here(
    "({ a: [1, { b: 2 }], m: new Map([['k', new Set([1])]]), d: new Date(5), e: new RangeError('r', { cause: 1 }), u: new Uint8Array([1, 2]), r: /x/g, n: null, big: 5n })",
  ) as Record<string, unknown>
  expect(value["a"]).toEqual([1, { b: 2 }])
  expect(value["m"]).toEqual(new Map([["k", new Set([1])]]))
  expect(value["d"]).toEqual(new Date(5))
  expect(value["e"]).toBeInstanceOf(RangeError)
  expect(value["u"]).toEqual(new Uint8Array([1, 2]))
  expect(value["r"]).toEqual(/x/g)
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
})

test("in the embedder's process a reference becomes a placeholder, and an unknown class a name", () => {
  const value = here("({ f: Math.max, list: [console.log] })") as { f: Placeholder; list: Placeholder[] }
  expect(value.f).toBeInstanceOf(Placeholder)
  expect(value.f).toEqual({ what: "a reference", text: "Math.max" })
  const classes = {
    referenceOf: (object: object) => realm.references.nameOf(object),
    classOf: (object: object) =>
      object === proto
        ? { name: "Point", hasPrivateNames: false }
        : object === oops
          ? { name: "Oops", hasPrivateNames: false }
          : undefined,
  }
  const [pair, proto, oops] = realm.run(
    "class Point { x = 1 }; class Oops extends Error {}; [[new Point(), new Oops('m')], Point.prototype, Oops.prototype]",
  ) as object[]
  const { table, chunks } = unpackValue(bytesOf(realm, pair, classes))
  const [point, back] = decodeValue(table, chunks) as [{ x: number }, Error]
  expect({ ...point }).toEqual({ x: 1 })
  expect(point.constructor.name).toBe("Point")
  expect(back).toBeInstanceOf(Error)
  expect(back.constructor.name).toBe("Oops")
  expect(back.message).toBe("m")
})

test("what the embedder hands in becomes data of the realm", () => {
  class Row {
    id = 1
    list = [new Date(5)]
  }
  class AppError extends TypeError {
    code = "E"
  }
  const value = there({
    row: new Row(),
    error: new AppError("bad"),
    map: new Map([[1, { x: 1 }]]),
    bytes: Buffer.from("hello"),
  }) as Record<string, { code?: string; length?: number }>
  realm.global["handed"] = value
  expect(
    realm.run(
      "[handed instanceof Object, handed.row.list[0] instanceof Date, Object.getPrototypeOf(handed.row) === Object.prototype, handed.error instanceof TypeError, handed.map instanceof Map, Object.getPrototypeOf(handed.bytes) === Uint8Array.prototype, handed.bytes.buffer.byteLength].join()",
    ),
  ).toBe("true,true,true,true,true,true,5")
  expect(value["error"]!.code).toBe("E")
})

test("what the embedder cannot hand in is named", () => {
  expect(encodeValue({ a: [() => 1] }, processEncodeHooks, Infinity, "reject", "result")).toEqual({
    ephemeral: { what: "function", path: "result.a[0]" },
  })
  expect(encodeValue(new Proxy({}, {}), processEncodeHooks)).toEqual({ ephemeral: { what: "a proxy", path: "" } })
})

test("a table of bindings is no value, and the other way round", () => {
  const encoded = encodeValue(1, processEncodeHooks)
  if (!("table" in encoded)) throw new Error("not encoded")
  expect(() => decodeBindings(encoded.table, encoded.chunks)).toThrow(
    expect.objectContaining({ kind: "value_malformed" }),
  )
  const group = realm.encodeBindings([{ name: "a", value: 1 }], { referenceOf: () => undefined }).groups[0]!
  expect(() => decodeValue(group.table, group.chunks)).toThrow(expect.objectContaining({ kind: "value_malformed" }))
})
