// Random graphs, with sharing and cycles, through bytes into another realm: the same in shape, identity and attributes. And the bytes
// themselves, cut and flipped: a typed error or a valid value, never a crash, a hang or a huge allocation.

import * as fc from "fast-check"
import { expect, test } from "vitest"
import { decodeValue } from "../../../runtime/wire/values/decode.ts"
import { packValue, unpackValue } from "../../../runtime/wire/values/pack.ts"
import { difference } from "../../unit/values/isomorphic.ts"
import { bytesOf, decodeGroupInto, decodeInto, encodeHooksOf, twoRealms } from "../../unit/values/passage.ts"

const { from, to } = twoRealms()

/** A graph as data: nodes by kind, each with slots that are primitives or other nodes, built inside the realm. */
interface Slot {
  readonly node?: number
  readonly primitive?: unknown
  readonly symbol?: number
}
interface Node {
  readonly kind: number
  readonly keys: readonly string[]
  readonly slots: readonly Slot[]
  readonly attributes: number
}

const build = from.run(`(nodes, symbols) => {
  const unique = []; for (const s of symbols) unique.push(Symbol(s))
  const made = []
  for (const { kind } of nodes) made.push(make(kind))
  function make(kind) {
    switch (kind) {
      case 0: return {}
      case 1: return []
      case 2: return new Map()
      case 3: return new Set()
      case 4: return new Error("e")
      case 5: return Object.create(null)
      case 6: return new Date(kind)
      case 7: return new Uint8Array([1, 2, 3])
      case 8: return Object.create({ base: 1 })
      default: return new Array(5)
    }
  }
  const valueOf = (slot) => (slot.node !== undefined ? made[slot.node % made.length] : slot.symbol !== undefined ? unique[slot.symbol % unique.length] : slot.primitive)
  nodes.forEach(({ kind, keys, slots, attributes }, n) => {
    const object = made[n]
    slots.forEach((slot, i) => {
      const value = valueOf(slot)
      const key = (kind === 7 ? "view " : "") + (keys[i % keys.length] ?? "k")
      if (kind === 1) object.push(value)
      else if (kind === 2) object.set(value, valueOf(slots[(i + 1) % slots.length]))
      else if (kind === 3) object.add(value)
      else if (attributes % 7 === 1) Object.defineProperty(object, typeof value === "symbol" ? value : key, { value, enumerable: i % 2 === 0, writable: i % 3 === 0, configurable: true })
      else Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true })
    })
    if (attributes === 30 && kind !== 7) Object.freeze(object)
    if (attributes === 31) Object.preventExtensions(object)
  })
  return made
}`) as (nodes: readonly Node[], symbols: readonly string[]) => unknown[]

const primitive = fc.oneof(
  fc.double(),
  fc.integer(),
  fc.constantFrom(0, -0, NaN, "", null, undefined, true, false, 1n, "\ud800", "__proto__"),
  fc.string({ unit: "binary" }),
  fc.bigInt(),
)
const slot: fc.Arbitrary<Slot> = fc.oneof(
  { weight: 3, arbitrary: primitive.map((value) => ({ primitive: value })) },
  { weight: 3, arbitrary: fc.nat(30).map((node) => ({ node })) },
  { weight: 1, arbitrary: fc.nat(3).map((symbol) => ({ symbol })) },
)
const key = fc.oneof(
  fc.constantFrom("a", "b", "c", "__proto__", "constructor", "0", "7", "length2"),
  fc.string({ unit: "binary", maxLength: 4 }),
)
const node: fc.Arbitrary<Node> = fc.record({
  kind: fc.nat(9),
  keys: fc.array(key, { minLength: 1, maxLength: 5 }),
  slots: fc.array(slot, { maxLength: 6 }),
  attributes: fc.nat(31),
})
const graph = fc.record({
  nodes: fc.array(node, { minLength: 1, maxLength: 12 }),
  symbols: fc.constant(["s", "t", "s"]),
})

test("a random graph comes back the same, and encodes to the same bytes again", { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(graph, ({ nodes, symbols }) => {
      const value = build(nodes, symbols)
      const bytes = bytesOf(from, value)
      const back = decodeInto(to, bytes)
      expect(difference(value, back, from.references, to.references)).toBeUndefined()
      expect(Buffer.from(bytesOf(to, back)).equals(bytes)).toBe(true)
    }),
    { numRuns: 400 },
  )
})

test("bindings over a random graph come back sharing exactly what they shared", { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(graph, ({ nodes, symbols }) => {
      const made = build(nodes, symbols)
      const bindings = Array.from({ length: made.length }, (_, i) => ({ name: `b${i}`, value: made[i] }))
      const { groups, ephemeral } = from.encodeBindings(bindings, encodeHooksOf(from))
      expect(ephemeral.length).toBe(0)
      const back: Record<string, unknown> = {}
      for (let g = 0; g < groups.length; g++) Object.assign(back, decodeGroupInto(to, groups[g]!))
      const before = Object.fromEntries(bindings.map(({ name, value }) => [name, value]))
      const after = Object.fromEntries(bindings.map(({ name }) => [name, back[name]]))
      expect(difference(before, after, from.references, to.references)).toBeUndefined()
    }),
    { numRuns: 300 },
  )
})

const rich = bytesOf(
  from,
  from.run(`(() => {
    const shared = { id: 1, name: "shared" }, unique = Symbol("u"), buffer = new ArrayBuffer(16, { maxByteLength: 64 })
    return {
      shared, list: [shared, [1, 2.5, -0], , "\\ud800"], rows: Array.from({ length: 5 }, (_, i) => ({ id: i, name: "n" + i })),
      map: new Map([[shared, unique], ["k", { [unique]: 1 }]]), set: new Set([1n << 80n, 5n]), date: new Date(5), regexp: /a+/gi,
      error: new RangeError("r", { cause: new Error("c") }), views: [new Uint8Array(buffer), new Float64Array(buffer, 8, 1), new DataView(new ArrayBuffer(3))],
      numbers: Array.from({ length: 40 }, (_, i) => i), boxed: [new Number(1), Object(unique)], frozen: Object.freeze([1]), proxy: new Proxy({ a: 1 }, {}),
      bare: Object.create(null), child: Object.create({ base: 1 }), f: Math.max, args: (function () { return arguments })(1),
    }
  })()`),
)

function isTypedError(error: unknown): boolean {
  return typeof error === "object" && error !== null && (error as { kind?: unknown }).kind === "value_malformed"
}

/** Decodes here and in a realm; whatever comes of it, it is a value or the one error. */
function survives(bytes: Uint8Array): void {
  for (const decode of [
    () => {
      const { table, chunks } = unpackValue(bytes)
      return decodeValue(table, chunks)
    },
    () => decodeInto(to, bytes),
  ]) {
    try {
      decode()
    } catch (error) {
      if (!isTypedError(error)) throw error
    }
  }
}

test("every truncation gives the typed error", { timeout: 120_000 }, () => {
  for (let length = 0; length < rich.byteLength; length++) {
    const cut = rich.subarray(0, length)
    expect(() => decodeInto(to, cut)).toThrow(expect.objectContaining({ kind: "value_malformed" }))
  }
})

// Five is prime to eight: every bit position and every byte is met.
test("flipped bits give the typed error or a value", { timeout: 120_000 }, () => {
  for (let i = 0; i < rich.byteLength * 8; i += 5) {
    const bytes = Uint8Array.from(rich)
    bytes[i >> 3]! ^= 1 << (i & 7)
    survives(bytes)
  }
})

test("tables with random items give the typed error or a value", { timeout: 120_000 }, () => {
  const { table, chunks } = unpackValue(rich)
  const item = fc.oneof(
    fc.nat(40),
    fc.constantFrom(null, undefined, -1, 0, 1, 4294967295, 1e300, NaN, "x", "__proto__", true, 5n),
    fc.integer(),
    fc.string(),
  )
  fc.assert(
    fc.property(
      fc.array(fc.record({ at: fc.nat(table.length - 1), item }), { minLength: 1, maxLength: 6 }),
      (changes) => {
        const changed = [...table]
        for (const { at, item: put } of changes) changed[at] = put as never
        survives(packValue({ table: changed, chunks }))
      },
    ),
    { numRuns: 2000 },
  )
})

test("tables of nothing but random items give the typed error or a value", { timeout: 120_000 }, () => {
  const item = fc.oneof(fc.constant(null), fc.nat(70), fc.constantFrom("a", undefined, -1, true, 4294967295))
  fc.assert(
    fc.property(fc.array(item, { maxLength: 60 }), (items) => {
      survives(packValue({ table: [1, 0, ...items], chunks: [new Uint8Array(8)] }))
    }),
    { numRuns: 3000 },
  )
})
