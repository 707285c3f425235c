import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { foldQueue, validateWrites } from "../../../runtime/wire/mutations.ts"

type Entry = { op: "atPut" | "removeKey"; key: string } | { op: "clear" }

const keys = ["a", "b", "c", "d"] as const
const entry: fc.Arbitrary<Entry> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      op: fc.constantFrom("atPut" as const, "removeKey" as const),
      key: fc.constantFrom(...keys),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ op: "clear" as const }) },
)
const queue = fc.array(entry, { maxLength: 12 })

/** The queue applied one entry after the other, to a dictionary of names. */
function applied(
  before: ReadonlyMap<string, unknown>,
  entries: readonly Entry[],
  dropClears: boolean,
): Map<string, unknown> {
  const names = new Map(before)
  for (const [index, it] of entries.entries()) {
    if (it.op === "clear") {
      if (!dropClears) names.clear()
    } else if (it.op === "atPut") names.set(it.key, index)
    else names.delete(it.key)
  }
  return names
}

test("a folded queue does what its entries do one after the other", () => {
  const before = fc.dictionary(fc.constantFrom(...keys), fc.constant("before")).map((it) => new Map(Object.entries(it)))
  fc.assert(
    fc.property(before, queue, fc.boolean(), (names, entries, dropClears) => {
      const { cleared, writes } = foldQueue(entries, { dropClears })
      const after = new Map<string, unknown>(cleared ? [] : names)
      for (const [key, write] of writes) {
        if ("put" in write) after.set(key, write.put)
        else after.delete(key)
      }
      const expected = applied(names, entries, dropClears)
      expect([...after].toSorted()).toEqual([...expected].toSorted())
      expect(cleared).toBe(!dropClears && entries.some((it) => it.op === "clear"))
    }),
  )
})

describe("validation", () => {
  const definitionNames = ["a", "b", "c", "d", "e"]
  const definitions = fc
    .array(fc.tuple(fc.constantFrom(...definitionNames), fc.subarray(definitionNames)), { maxLength: 5 })
    .map((it) => new Map(it.map(([name, dependencies]) => [name, { dependencies }])))

  test("removes the largest set of definitions that leaves no dependent behind, and refuses the others by name", () => {
    fc.assert(
      fc.property(definitions, queue, (before, entries) => {
        const folded = foldQueue(entries, { dropClears: false })
        const { apply, rejected } = validateWrites(folded, before)
        const remaining = folded.cleared ? new Map<string, { dependencies: string[] }>() : before
        const asked = [...folded.writes].flatMap(([key, it]) => ("remove" in it && remaining.has(key) ? [key] : []))
        // The largest removable set: of all subsets of what was asked, those that are closed, and their union.
        const isClosed = (removed: readonly string[]): boolean =>
          [...remaining].every(
            ([name, { dependencies }]) =>
              removed.includes(name) || dependencies.every((it) => it === name || !removed.includes(it)),
          )
        const closed = subsets(asked).filter(isClosed)
        const largest = new Set(closed.flat())
        expect(isClosed([...largest])).toBe(true)
        for (const key of asked) {
          const isRefused = rejected.some((it) => it.key === key && it.kind === "definition_has_dependents")
          expect([key, isRefused]).toEqual([key, !largest.has(key)])
          expect(apply.has(key)).toBe(largest.has(key))
        }
        for (const [key, write] of folded.writes) {
          if ("put" in write) expect(apply.has(key)).toBe(!remaining.has(key))
          else if (!remaining.has(key)) expect(apply.has(key)).toBe(true)
        }
        expect(new Set(rejected.map((it) => it.key)).size).toBe(rejected.length)
        expect(apply.size + rejected.length).toBe(folded.writes.size)
      }),
    )
  })

  test("after a clear no definition is left that could refuse", () => {
    const folded = foldQueue([{ op: "clear" }, { op: "atPut", key: "f" }], { dropClears: false })
    expect(validateWrites(folded, new Map([["f", { dependencies: [] }]])).rejected).toEqual([])
  })

  test("a definition that depends on itself can be removed", () => {
    const folded = foldQueue([{ op: "removeKey", key: "f" }], { dropClears: false })
    expect(validateWrites(folded, new Map([["f", { dependencies: ["f"] }]]))).toEqual({
      apply: new Map([["f", { remove: true }]]),
      rejected: [],
    })
  })

  test("of a long chain takes time in proportion to it", () => {
    // Quadratic work would take minutes, in the embedder's process.
    const length = 50_000
    const dependenciesOf = (i: number): string[] => (i === 0 ? [] : [`n${i - 1}`])
    const chain = new Map(Array.from({ length }, (_, i) => [`n${i}`, { dependencies: dependenciesOf(i) }]))
    const removals = Array.from({ length: length - 1 }, (_, i) => ({ op: "removeKey" as const, key: `n${i}` }))
    const { rejected } = validateWrites(foldQueue(removals, { dropClears: false }), chain)
    expect(rejected).toHaveLength(length - 1)
  })
})

function subsets<T>(items: readonly T[]): T[][] {
  return items.reduce<T[][]>((found, item) => [...found, ...found.map((it) => [...it, item])], [[]])
}
