// Texts that the native parser would die of, taking its process with it, are no programs; ordinary long ones are.
import { expect, test } from "vitest"
import { parse } from "../../../runtime/language/parse.ts"

test.each([
  ["brackets", "[".repeat(3_000) + "]".repeat(3_000)],
  ["open brackets", "(".repeat(50_000)],
  ["a chain of sums", "1" + "+1".repeat(500_000)],
  ["a chain of members", "a" + ".b".repeat(100_000)],
  ["a chain over lines", "1" + "\n+1".repeat(100_000)],
])("too deep: %s", (_what, source) => {
  const parsed = parse(source)
  expect(parsed.valid).toBe(false)
  if (!parsed.valid) expect(parsed.errors[0]!.message).toContain("too deeply")
})

test.each([
  ["five hundred brackets", "[".repeat(500) + "]".repeat(500)],
  ["many lines without semicolons", "x = y + 1\n".repeat(20_000)],
  ["text full of operators", `const t = "${"+".repeat(20_000)}"`],
  ["a long comment", `/* ${"[".repeat(20_000)} */ 1`],
  ["a table", `const rows = [${"{ a: 1, b: -2 },\n".repeat(10_000)}]`],
])("not too deep: %s", (_what, source) => {
  expect(parse(source).valid).toBe(true)
})

test("a text with five thousand errors is refused with the first of them", () => {
  const parsed = parse("let a = 1\n".repeat(5_000))
  expect(parsed.valid).toBe(false)
  if (!parsed.valid) {
    expect(parsed.errors).toHaveLength(20)
    expect(parsed.errors[0]).toMatchObject({ start: 14, end: 15 })
  }
})

test("members of one name are no errors, wherever the class stands", () => {
  expect(parse("f(() => class { a() { return 1 } a() { return 2 } })").valid).toBe(true)
  expect(parse("let a; let a").valid).toBe(false)
})
