import { describe, expect, test } from "vitest"
import { CompileCache } from "../../../runtime/worker/compile-cache.ts"
import type { Compiled } from "../../../runtime/worker/compile-cache.ts"
import type { NameKind, NameTable } from "../../../runtime/language/transform.ts"

function names(kinds: Record<string, NameKind> = {}, captured: string[] = []): NameTable {
  return {
    kind: (name) => kinds[name],
    isRealmGlobal: (name) => name === "console",
    isCaptured: (name) => captured.includes(name),
  }
}

function compiled(cache: CompileCache, source: string, table = names(), line = 1): Compiled {
  const found = cache.compile(source, line, table)
  if (!("unit" in found)) throw new Error(found.rendered)
  return found
}

describe("the compile cache", () => {
  test("gives the same script for the same text and names", () => {
    const cache = new CompileCache()
    expect(compiled(cache, "x + 1", names({ x: "local" }))).toBe(compiled(cache, "x + 1", names({ x: "local" })))
  })

  test("tells texts apart that differ in one character, and never shares a file name", () => {
    const cache = new CompileCache()
    const [a, b] = [compiled(cache, "x + 1"), compiled(cache, "x + 2")]
    expect(a).not.toBe(b)
    expect(a.unit.filename).not.toBe(b.unit.filename)
  })

  test.each<[NameKind | undefined, NameKind | undefined]>([
    ["local", "definition"],
    ["local", "readonly"],
    ["definition", undefined],
    [undefined, "local"],
  ])("compiles again when a name is %s in one session and %s in another", (one, other) => {
    const cache = new CompileCache()
    const table = (kind: NameKind | undefined): NameTable => names(kind === undefined ? {} : { x: kind })
    const first = compiled(cache, "x; () => x", table(one))
    const second = compiled(cache, "x; () => x", table(other))
    const differs = first.unit.code !== second.unit.code
    if (differs) expect(second).not.toBe(first)
    expect(compiled(cache, "x; () => x", table(one)).unit.code).toBe(first.unit.code)
    expect(compiled(cache, "x; () => x", table(other)).unit.code).toBe(second.unit.code)
  })

  test("compiles again when a promoted name has been captured since", () => {
    const cache = new CompileCache()
    const source = "let n = 0; for (let i = 0; i < 3; i++) n += i; n"
    const promoted = compiled(cache, source, names({ n: "local" }))
    const captured = compiled(cache, source, names({ n: "local" }, ["n"]))
    if (promoted.unit.promoted.length > 0) expect(captured).not.toBe(promoted)
    expect(captured.unit.promoted).toEqual([])
  })

  test("keeps nothing for a text on another line, or one that is long", () => {
    const cache = new CompileCache()
    expect(compiled(cache, "1 + 1", names(), 7)).not.toBe(compiled(cache, "1 + 1", names(), 7))
    const long = `1 + 1 // ${"x".repeat(5_000)}`
    expect(compiled(cache, long)).not.toBe(compiled(cache, long))
  })

  test("drops the oldest text once it holds its maximum", () => {
    const cache = new CompileCache()
    const first = compiled(cache, "first")
    for (let index = 0; index < 499; index++) compiled(cache, `${index}`)
    expect(compiled(cache, "first")).toBe(first)
    compiled(cache, "oneMore")
    expect(compiled(cache, "first")).not.toBe(first)
  })

  test("keeps no invalid text, and says each time what is wrong", () => {
    const cache = new CompileCache()
    for (let round = 0; round < 2; round++) {
      const found = cache.compile("let = = 1", 1, names())
      expect("unit" in found).toBe(false)
      expect(found).toMatchObject({ errors: [{ span: { line: 1 } }] })
    }
  })

  test("reports an error that only the engine knows as invalid", () => {
    for (const source of ["/(?<a>.)(?<a>.)/", "new RegExp; /[b-a]/", "({ a: 1, b: 2 } = 1) => 1"]) {
      const found = new CompileCache().compile(source, 1, names())
      expect("unit" in found).toBe(false)
    }
  })
})
