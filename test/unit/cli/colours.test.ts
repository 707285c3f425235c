// Which texts get which colours, and when there are any.
import { describe, expect, it } from "vitest"
import { hasColours, paintFor } from "../../../runtime/cli/colours.ts"

const escape = String.fromCodePoint(27)
const sequences = new RegExp(`${escape}\\[\\d+m`, "g")
const names: Record<string, string> = {
  1: "bold",
  31: "red",
  32: "green",
  33: "yellow",
  35: "magenta",
  36: "cyan",
  90: "grey",
}

/** Colours as tags, so that they can be read. */
const tagged = (text: string): string =>
  text.replaceAll(sequences, (sequence) => {
    const name = names[sequence.slice(2, -1)]
    return name === undefined ? "/" : `<${name}>`
  })

describe("whether there are colours", () => {
  it.each([
    [true, {}, true],
    [false, {}, false],
    [true, { TERM: "dumb" }, false],
    [true, { NO_COLOR: "1" }, false],
    [true, { NO_COLOR: "" }, true],
    [false, { FORCE_COLOR: "1" }, true],
    [false, { FORCE_COLOR: "" }, true],
    [true, { FORCE_COLOR: "0" }, false],
    [true, { FORCE_COLOR: "false" }, false],
    [true, { FORCE_COLOR: "1", NO_COLOR: "1" }, true],
  ])("terminal %s with %j: %s", (isTerminal, environment, expected) => {
    expect(hasColours(isTerminal, environment)).toBe(expected)
  })
})

describe("values", () => {
  const value = (text: string): string => paintFor(true).value(text)
  it.each([
    ["42", "<yellow>42/"],
    ["-1.5e-7", "<yellow>-1.5e-7/"],
    ["10n", "<yellow>10n/"],
    ["NaN", "NaN"],
    ["'it\\'s 5'", "<green>'it\\'s 5'/"],
    ['"quoted \' 5"', '<green>"quoted \' 5"/'],
    ["null", "<bold>null/"],
    ["undefined", "<grey>undefined/"],
    ["true", "<yellow>true/"],
    ["{ a: 1, null: 2, x1: true }", "{ a: <yellow>1/, null: <yellow>2/, x1: <yellow>true/ }"],
    ["Map(2) { 'a' => 1 }", "Map(2) { <green>'a'/ => <yellow>1/ }"],
    ["[Function: f1]", "<cyan>[Function: f1]/"],
    ["[class C1 extends B]", "<cyan>[class C1 extends B]/"],
    ["Symbol(x 1)", "<green>Symbol(x 1)/"],
    ["2026-01-02T03:04:05.678Z", "<magenta>2026-01-02T03:04:05.678Z/"],
    ["[ <3 empty items>, 1 ]", "[ <3 empty items>, <yellow>1/ ]".replace("3", "<yellow>3/")],
    ["RangeError: 5\n    at repl:1:7", "RangeError: 5\n    at repl:1:7"],
    ["'never closed 5\n6", "<green>'never closed 5/\n<yellow>6/"],
  ])("%s", (text, expected) => {
    expect(tagged(value(text))).toBe(expected)
    expect(value(text).replaceAll(sequences, "")).toBe(text)
  })

  it("a text that fits no pattern is itself", () => {
    const text = `'${"a\\'".repeat(20_000)}\n${"'".repeat(50_001)}${"[Function".repeat(5_000)}${"\\".repeat(20_000)}`
    expect(value(text).replaceAll(sequences, "")).toBe(text)
  })
})

it("failures show their name, their stack and their place", () => {
  const text = "RangeError: too far\n    at f (repl:1:7)\n1 | throw new RangeError()\n  |       ^^"
  expect(tagged(paintFor(true).failure(text))).toBe(
    "<red><bold>RangeError//: too far\n<grey>    at f (repl:1:7)/\n1 | throw new RangeError()\n  |       <red>^^/",
  )
})

it("without colours every text is what it was", () => {
  const paint = paintFor(false)
  expect([paint.value("[ 1 ]"), paint.failure("Error: x"), paint.note("n")]).toEqual(["[ 1 ]", "Error: x", "n"])
})
