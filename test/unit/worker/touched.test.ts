import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { touchedBy } from "../../../runtime/worker/touched.ts"
import type { TouchedQuestion } from "../../../runtime/worker/touched.ts"

interface World {
  locals?: string[]
  definitions?: Record<string, string[]>
  ephemeral?: string[]
  referenced?: string[]
  reached?: Record<string, string[]>
  unknown?: string[]
  usesDirectEval?: boolean
  mentionsGlobalThis?: boolean
}

function touched(mentions: string[], world: World): string[] | "all" {
  const { locals = [], definitions = {}, ephemeral = [], referenced = [] } = world
  const question: TouchedQuestion = {
    unit: {
      mentions,
      usesDirectEval: world.usesDirectEval ?? false,
      mentionsGlobalThis: world.mentionsGlobalThis ?? false,
    },
    definitionOf: (name) => (Object.hasOwn(definitions, name) ? { reads: definitions[name]! } : undefined),
    isLocal: (name) => locals.includes(name),
    isEphemeral: (name) => ephemeral.includes(name),
    reachedFrom: (name) => world.reached?.[name] ?? [],
    isUnknown: (name) => world.unknown?.includes(name) === true,
    referenced: new Set(referenced),
  }
  const found = touchedBy(question)
  return found === "all" ? "all" : [...found.locals].toSorted()
}

describe("touched", () => {
  test("are the locals that the code names, and no others", () => {
    expect(touched(["a", "console", "unknown"], { locals: ["a", "b"] })).toEqual(["a"])
    expect(touched([], { locals: ["a"] })).toEqual([])
  })

  test("are locals that a named definition reads, however deep, also in cycles", () => {
    const definitions = { f: ["g"], g: ["h", "f"], h: ["x"], other: ["y"] }
    expect(touched(["f"], { locals: ["x", "y"], definitions })).toEqual(["x"])
  })

  test("are those that a class or stored function of any reached value reads", () => {
    const world = { locals: ["point", "count", "other"], definitions: { Point: ["count"] }, referenced: ["Point"] }
    expect(touched(["point"], world)).toEqual(["count", "point"])
    expect(touched(["nothing"], world)).toEqual([])
  })

  test("is everything where code cannot be known", () => {
    expect(touched(["eval"], { locals: ["a"], usesDirectEval: true })).toBe("all")
    expect(touched(["globalThis"], { locals: ["a"], mentionsGlobalThis: true })).toBe("all")
    expect(touched(["_"], { locals: ["a"] })).toBe("all")
    expect(touched(["_error"], { locals: ["a"] })).toBe("all")
    expect(touched(["pending"], { locals: ["a", "pending"], ephemeral: ["pending"] })).toBe("all")
    expect(touched(["f"], { locals: ["a", "pending"], definitions: { f: ["pending"] }, ephemeral: ["pending"] })).toBe(
      "all",
    )
  })

  test("what the functions in a value mention is reached with the value", () => {
    const world = {
      locals: ["f", "g", "log", "far"],
      definitions: { d: ["far"] },
      reached: { f: ["g"], g: ["log", "d"] },
    }
    expect(touched(["f"], world)).toEqual(["f", "far", "g", "log"])
    expect(touched(["log"], world)).toEqual(["log"])
  })

  test("a definition with data of its own, or a name that may be the global object's, may lead anywhere", () => {
    expect(touched(["hook"], { locals: ["a"], unknown: ["hook"] })).toBe("all")
  })

  test("an ephemeral that is not reached costs nothing", () => {
    expect(touched(["a"], { locals: ["a", "pending"], ephemeral: ["pending"] })).toEqual(["a"])
  })
})

test("everything that a walk over all edges reaches is touched", () => {
  const names = ["a", "b", "c", "d", "e", "f", "g"]
  const world = fc.record({
    mentions: fc.subarray(names),
    definitions: fc.dictionary(fc.constantFrom(...names), fc.subarray(names)),
    referenced: fc.subarray(names),
  })
  fc.assert(
    fc.property(world, ({ mentions, definitions, referenced }) => {
      const locals = names.filter((it) => !Object.hasOwn(definitions, it))
      const reached = new Set<string>(mentions)
      for (let size = -1; size !== reached.size;) {
        size = reached.size
        for (const it of reached) {
          for (const read of definitions[it] ?? []) reached.add(read)
          if (locals.includes(it)) for (const read of referenced) reached.add(read)
        }
      }
      expect(touched(mentions, { locals, definitions, referenced })).toEqual(locals.filter((it) => reached.has(it)))
    }),
  )
})
