// What random programs found (`test/property/language/rebuilds`): each fault as the smallest text that shows it.
import { describe, expect, test } from "vitest"
import { ResidentSession } from "../../resident.ts"

describe("a generator whose last statement is a loop without a block", () => {
  test("closes the loop before its own frame", async () => {
    const session = new ResidentSession()
    await session.run(`
      let made: any[] = []
      function* each(list: number[]) { for (const n of list) made.push(class { #n = n; own() { return this.#n } });}
      for (const _ of each([7, 8]));`)
    session.rebuild()
    expect(await session.run("made.map((C) => new C().own())")).toEqual([7, 8])
  })
})

describe("a class that is declared again with private methods", () => {
  test("gives instances its new fields", async () => {
    const session = new ResidentSession()
    await session.run("class A { #old = 1; old() { return this.#old } } const a = new A()")
    await session.run(
      "class A { added = 5; twice(v: any) { return this.#has(v) ? 1 : 2 } #has(v: any) { return v } } const b = new A()",
    )
    expect(await session.run("[b.added, b.twice(1), b.twice(0)]")).toEqual([5, 1, 2])
  })

  test("and with private fields behind a public one", async () => {
    const session = new ResidentSession()
    await session.run("class A { n = 1; #p = 2; p() { return this.#p } } const a = new A()")
    await session.run("class A { m = 7; n = 1; #p = 3; p() { return this.#p + 10 } }")
    expect(await session.run("[a.m, a.p()]")).toEqual([7, 12])
    session.rebuild()
    expect(await session.run("[a.m, a.p()]")).toEqual([7, 12])
  })
})

test("a pattern of a catch fails in the engine's words, which name nothing of ours", async () => {
  const session = new ResidentSession()
  const { error } = await session.eval("try { throw undefined } catch ({ name: n }) { n }")
  expect(error?.message).toMatch(/^Cannot destructure property 'name' of '\.catch' as it is undefined\.$/)
  expect(await session.run("try { null!.x } catch ({ message }) { message }")).toBe(
    "Cannot read properties of null (reading 'x')",
  )
})

test("a template that is called is reported where it begins, whatever its tag is", async () => {
  const session = new ResidentSession()
  await session.run("let tag = 1; const read = () => tag")
  for (const [source, line, column] of [
    ["tag`a`", 1, 4],
    ["tag\n `a${tag += 1}`", 2, 2],
    ["(() => { tag++; tag\n\n`a` })()", 3, 1],
  ] as const) {
    const { error } = await session.eval(source)
    expect(error?.message).toContain("tag is not a function")
    expect(error?.stack[0]).toMatchObject({ line, column })
  }
})
