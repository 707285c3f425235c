// What the value encoding costs, beside `v8.serialize` of the same value in the same run.
//
// Prints one readable line per case and one JSON line at the end. Medians, in microseconds; compare within one run only, since
// the machine's load moves all of them together.

import v8 from "node:v8"
import { packValue, unpackValue } from "../runtime/wire/values/pack.ts"
import { bootRealm } from "../test/unit/values/realm.ts"

interface Case {
  readonly name: string
  readonly repeats: number
  readonly source: string
}

const cases: readonly Case[] = [
  { name: "small value", repeats: 4000, source: "({ a: 1, b: 'x' })" },
  {
    name: "10 KB state",
    repeats: 300,
    source: `(() => {
      const state = {}
      for (let i = 0; i < 130; i++) state["v" + i] = { id: i, name: "name " + i, list: [1, 2, 3], on: true, at: i * 1.5 }
      return state
    })()`,
  },
  {
    name: "200,000 rows",
    repeats: 9,
    source: `Array.from({ length: 200000 }, (_, i) => ({ id: i, name: "user " + i, score: i * 1.5, active: i % 2 === 0, tag: "t" + (i % 10) }))`,
  },
  { name: "100k numbers", repeats: 30, source: "Array.from({ length: 100000 }, (_, i) => i * 3)" },
  { name: "1 MB string", repeats: 50, source: "'x'.repeat(1e6)" },
]

const realm = bootRealm()
const encodeHooks = { referenceOf: realm.references.nameOf }
const decodeHooks = { resolveReference: realm.references.resolve }

function medianUs(repeats: number, work: () => void): number {
  const times: number[] = []
  for (let i = 0; i < repeats; i++) {
    const start = performance.now()
    work()
    times.push((performance.now() - start) * 1000)
  }
  times.sort((a, b) => a - b)
  return Math.round((times[repeats >> 1] ?? 0) * 10) / 10
}

const results = cases.map(({ name, repeats, source }) => {
  const value = realm.run(source)
  const encoded = realm.encodeValue(value, encodeHooks)
  if (!("table" in encoded)) throw new Error(`${name} was not encoded`)
  const bytes = packValue(encoded)
  const unpacked = unpackValue(bytes)
  const plain = v8.serialize(value)
  const result = {
    name,
    encodeUs: medianUs(repeats, () => realm.encodeValue(value, encodeHooks)),
    packUs: medianUs(repeats, () => packValue(encoded)),
    unpackUs: medianUs(repeats, () => unpackValue(bytes)),
    decodeUs: medianUs(repeats, () => realm.decodeValue(unpacked.table, unpacked.chunks, decodeHooks)),
    previewUs: medianUs(Math.min(repeats, 300), () => realm.preview(value)),
    bytes: bytes.byteLength,
    v8SerializeUs: medianUs(repeats, () => v8.serialize(value)),
    v8DeserializeUs: medianUs(repeats, () => void v8.deserialize(plain)),
    v8Bytes: plain.byteLength,
  }
  console.log(
    `${name}: encode ${result.encodeUs} + pack ${result.packUs}, unpack ${result.unpackUs} + decode ${result.decodeUs}, ` +
      `preview ${result.previewUs} us, ${result.bytes} bytes; ` +
      `v8 ${result.v8SerializeUs} / ${result.v8DeserializeUs} us, ${result.v8Bytes} bytes`,
  )
  return result
})
console.log(JSON.stringify({ bench: "values", node: process.version, results }))
