// A console asks with every line: is this whole, does it go on, or is it wrong?
import { describe, expect, test } from "vitest"
import { completeness } from "../../../runtime/language/completeness.ts"

describe("completeness", () => {
  test.each([
    ["", "complete"],
    ["1 + 1", "complete"],
    ["{ a: 1 }", "complete"],
    ["`a${b} c", "incomplete 0"],
    ["if (x) }", "invalid 7"],
    ["{ a", "incomplete 1"],
    ["f(", "incomplete 1"],
    ["f(1,", "incomplete 1"],
    ["let x =", "incomplete 0"],
    ["x.", "incomplete 0"],
    ["a ?", "incomplete 0"],
    ["a &&", "incomplete 0"],
    ["if (x) {\n  foo([", "incomplete 3"],
    ["class A {", "incomplete 1"],
    ["class A {\n  m() {", "incomplete 2"],
    ["const f = () => {", "incomplete 1"],
    ["type A = {", "incomplete 1"],
    ["`abc", "incomplete 0"],
    ["`abc ${", "incomplete 1"],
    ["`abc ${ { a: `x${", "incomplete 3"],
    ["/* comment", "incomplete 0"],
    ["'abc\\", "incomplete 0"],
    ["// ( [ {\n(", "incomplete 1"],
    ["'(' + [", "incomplete 1"],
    ["async function f() { await", "incomplete 1"],
    ["a?.", "incomplete 0"],
    ["a?.\n", "incomplete 0"],
    ["a = 3.5e", "invalid 8"],
    ["a = 3.5e+\n", "invalid 9"],
    ["a = 0x", "invalid 6"],
    ["a = 1_", "invalid 6"],
    ["a.b1_", "complete"],
    ["a.e1 +", "incomplete 0"],
    ["a.#", "invalid 3"],
    ["switch (x) { case 1:", "incomplete 1"],
    [")", "invalid 0"],
    ["foo(]", "invalid 4"],
    ["let x: ;", "invalid 7"],
    ["'abc", "invalid 0"],
    ["let let = 1", "invalid 4"],
    ["return 1", "invalid 0"],
    ["let x = 1; let x = 2", "invalid 15"],
  ])("%j", (source, expected) => {
    const result = completeness(source)
    const detail =
      result.state === "incomplete" ? ` ${result.indent}` : result.state === "invalid" ? ` ${result.span.start}` : ""
    expect(result.state + detail).toBe(expected)
  })

  test("no beginning of a good program, cut after a line, is wrong", () => {
    const program = [
      "import type { X } from 'x'",
      "interface Point {",
      "  x: number",
      "  y?: string | null",
      "}",
      "export class Shape<T extends Point> {",
      "  #secret = `a${[1,",
      "    2].map((n) => {",
      "    return n",
      "  })}b`",
      "  constructor(private readonly p: T) {}",
      "  get x(): number {",
      "    return this.p.x",
      "  }",
      "}",
      "const table = {",
      "  a: /[/(]/.test('('),",
      "  'b': [",
      "    1, // one (",
      "  ],",
      "}",
      "async function* run(",
      "  this: void,",
      "  ...rest: number[]",
      "): AsyncGenerator<number> {",
      "  for await (const n of rest)",
      "    yield n",
      "  try {",
      "    label: for (;;) break label",
      "  } catch {",
      "  } finally {",
      "  }",
      "}",
      "enum E { A = 1,",
      "  B }",
      "if (table.a)",
      "  run.call(",
      "    undefined,",
      "  )",
      "else",
      "  void 0",
    ]
    const states = program.map((_line, index) => completeness(program.slice(0, index + 1).join("\n")).state)
    expect(states.filter((state) => state === "invalid")).toEqual([])
    expect(states.at(-1)).toBe("complete")
  })
})

describe("completeness with JSX", () => {
  test.each([
    ["<a/>", "complete"],
    ["<a>text</a>", "complete"],
    ["<", "incomplete 0"],
    ["<a", "incomplete 1"],
    ["<a b=", "incomplete 1"],
    ["<a b={", "incomplete 2"],
    ["<a b='x", "incomplete 1"],
    ["<a>", "incomplete 1"],
    ["<a>\n  text", "incomplete 1"],
    ["<a>it's", "incomplete 1"],
    ["<a>\n  <b/>\n", "incomplete 1"],
    ["<a>\n  <b>\n", "incomplete 2"],
    ["<a>{x}", "incomplete 1"],
    ["<a>{/* x", "incomplete 2"],
    ["const f = () => (\n  <>", "incomplete 2"],
    ["<A.B", "incomplete 1"],
    ["</a>", "invalid 1"],
    ["<a></b>", "invalid 5"],
    ["<a b='x' 'y'", "invalid 9"],
    ["foo )", "invalid 3"],
    ["'abc", "invalid 0"],
    ["1 < 2", "complete"],
  ])("%j", (source, expected) => {
    const found = completeness(source, true)
    const more =
      found.state === "incomplete" ? ` ${found.indent}` : found.state === "invalid" ? ` ${found.span.start}` : ""
    expect(found.state + more).toBe(expected)
  })

  test("without the option it is wrong, and says what to do", () => {
    expect(completeness("<a>x</a>")).toMatchObject({
      state: "invalid",
      message: expect.stringMatching(/the option jsx/),
    })
  })
})
