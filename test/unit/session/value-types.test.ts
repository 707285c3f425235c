// Types that stand in for values whose declarations nobody checked: right as far as they go, and `any` beyond.
import { expect, test } from "vitest"
import { typeOfValue } from "../../../runtime/session/value-types.ts"

test.each<[value: unknown, type: string]>([
  [1, "number"],
  ["a", "string"],
  [null, "null"],
  [undefined, "undefined"],
  [10n, "bigint"],
  [() => 1, "any"],
  [[], "any[]"],
  [[1, 2], "number[]"],
  [[1, "a"], "(number | string)[]"],
  [[[1], [2]], "number[][]"],
  [{ a: 1, "b-c": { d: [] } }, '{ a: number; "b-c": { d: any[] } }'],
  [[{ id: 1 }, { id: 2 }], "{ id: number }[]"],
  [new Map([["a", { n: 1 }]]), "Map<string, { n: number }>"],
  [new Set([1]), "Set<number>"],
  [new Date(0), "Date"],
  [new Uint8Array(1), "Uint8Array"],
  [new TypeError("x"), "Error"],
  [
    new (class Own {
      n = 1
    })(),
    "any",
  ],
  [{ a: { b: { c: { d: { e: 1 } } } } }, "{ a: { b: { c: { d: any } } } }"],
  [Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`k${n}`, n])), "Record<string, any>"],
  [[1, "a", true, null, {}, []], "any[]"],
])("%o", (value, type) => {
  expect(typeOfValue(value)).toBe(type)
})

test("no getter is run, and a cycle ends", () => {
  const value: Record<string, unknown> = {
    get secret() {
      throw new Error("It was run.")
    },
  }
  value["self"] = value
  expect(typeOfValue(value)).toContain("secret: any; self: { secret: any;")
})
