// The immutable tables against plain maps, and the restart window against a naive one. fast-check prints the seed of a failure.
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { emptyIndex, lookUp, put, type NameIndex } from "../../../supervisor/name-index.ts"
import {
  createTable,
  entriesDown,
  entriesUp,
  getAt,
  setAt,
  type OrderedTable,
} from "../../../supervisor/ordered-table.ts"
import { addRestart, isExceeded, nextBackoff, noRestarts } from "../../../supervisor/restart.ts"
import { checkChildSpec } from "../../../supervisor/child-spec.ts"

describe("ordered-table", () => {
  const key = fc.oneof(fc.nat(40), fc.nat(5000), fc.nat(2 ** 40))

  it("is a map in key order, and leaves older versions alone", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(key, fc.option(fc.nat(), { nil: undefined })), { maxLength: 120 }), (changes) => {
        let table: OrderedTable<number> = createTable()
        const model = new Map<number, number>()
        const versions: (readonly [OrderedTable<number>, (readonly [number, number])[]])[] = []
        for (const [at, value] of changes) {
          table = setAt(table, at, value)
          if (value === undefined) model.delete(at)
          else model.set(at, value)
          versions.push([table, [...model].toSorted(([one], [other]) => one - other)])
        }
        for (const [version, entries] of versions) {
          expect([...entriesUp(version)]).toEqual(entries)
          expect([...entriesDown(version)]).toEqual(entries.toReversed())
          expect(version.size).toBe(entries.length)
        }
        for (const [at] of changes) expect(getAt(table, at)).toBe(model.get(at))
      }),
    )
  })

  it("keeps nothing of what was removed", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(100_000), { maxLength: 200 }), (keys) => {
        let table: OrderedTable<string> = createTable()
        for (const at of keys) table = setAt(table, at, "x")
        for (const at of keys) table = setAt(table, at, undefined)
        expect(table.root).toEqual([])
      }),
    )
  })
})

describe("name-index", () => {
  // Few letters, so that names repeat; long ones beside them.
  const name = fc.oneof(fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 4 }), fc.string({ maxLength: 30 }))

  it("is a map", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(name, fc.option(fc.nat(), { nil: undefined })), { maxLength: 300 }), (changes) => {
        let index: NameIndex = emptyIndex
        const model = new Map<string, number>()
        for (const [text, value] of changes) {
          index = put(index, text, value)
          if (value === undefined) model.delete(text)
          else model.set(text, value)
        }
        for (const [text] of changes) expect(lookUp(index, text)).toBe(model.get(text))
        for (const text of model.keys()) index = put(index, text, undefined)
        expect(index).toEqual(emptyIndex)
      }),
    )
  })

  it("holds 100,000 names", () => {
    let index: NameIndex = emptyIndex
    for (let at = 0; at < 100_000; at++) index = put(index, `session-${at}`, at)
    for (let at = 0; at < 100_000; at += 997) expect(lookUp(index, `session-${at}`)).toBe(at)
    expect(lookUp(index, "session-100000")).toBeUndefined()
  })
})

describe("restart window", () => {
  it("gives up exactly when a naive count does", () => {
    const steps = fc.array(fc.nat(2000), { maxLength: 60 })
    fc.assert(
      fc.property(steps, fc.nat(6), fc.integer({ min: 1, max: 3000 }), (pauses, intensity, periodMs) => {
        let window = noRestarts
        const all: number[] = []
        let nowMs = 0
        for (const pause of pauses) {
          nowMs += pause
          all.push(nowMs)
          window = addRestart(window, nowMs, periodMs)
          const counted = all.filter((atMs) => nowMs - atMs <= periodMs).length
          expect(window.next - window.oldest).toBe(counted)
          expect(isExceeded(window, intensity)).toBe(counted > intensity)
        }
      }),
    )
  })
})

describe("backoff", () => {
  it("stays between minMs without its jittered part and maxMs", () => {
    const backoffs = fc.record({
      minMs: fc.nat(1000),
      maxMs: fc.integer({ min: 1000, max: 60_000 }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    fc.assert(
      fc.property(
        backoffs,
        fc.array(fc.tuple(fc.nat(100_000), fc.double({ min: 0, max: 0.999, noNaN: true })), { maxLength: 30 }),
        (backoff, ends) => {
          const checked = checkChildSpec({ id: "a", start: () => "ignore", backoff })
          if (!checked.ok) throw new Error("the specification is right")
          let last: Parameters<typeof nextBackoff>[1]
          let nowMs = 0
          for (const [pauseMs, random] of ends) {
            nowMs += pauseMs
            const { waitMs, state } = nextBackoff(checked.value, last, nowMs, random)
            expect(waitMs).toBeGreaterThanOrEqual(backoff.minMs * (1 - backoff.jitter) - 1e-6)
            expect(waitMs).toBeLessThanOrEqual(backoff.maxMs + 1e-6)
            last = state
          }
        },
      ),
    )
  })
})
