// Tables as Node itself draws them, from the realm's side; where Node would run code of the value, ours does not.
import { Console } from "node:console"
import { PassThrough } from "node:stream"
import { runInThisContext } from "node:vm"
import { describe, expect, test } from "vitest"
import { bootRealm } from "./realm.ts"

const realm = bootRealm()

function byNode(value: unknown, columns?: string[]): string {
  const stdout = new PassThrough()
  new Console({ stdout }).table(value, columns)
  return String(stdout.read()).replace(/\n$/, "")
}

const tables: readonly [string, string[]?][] = [
  ["[{ a: 1, b: 'y' }, { a: 3, c: [1, 2, 3, 4] }, 5, null, undefined]"],
  ["[{ a: { x: 1, y: 2, z: 3 }, b: { x: 1, y: { q: 1 } } }]"],
  ["new Map([['k', { a: 1 }], ['z', 2]])"],
  ["new Set([1, '漢字', 'é', '🎉'])"],
  ["({ r: { v: 1 }, s: 2 })"],
  ["[[1, 2], [3, 4, 5]]"],
  ["[{ a: 1, b: 2 }, 7]", ["b", "z"]],
  ["[]"],
  ["({})"],
  ["[() => 1, 'text']"],
  ["[Symbol.iterator, 10n, -0, true]"],
  ["new Uint8Array(3)"],
  ["[, 1]"],
  ["[{ 'two words': 1, index: 2, Values: 3 }, 4]"],
  ["[{ a: ['a long text that is cut nowhere', 'and another one of that kind', 'and a third one'] }]"],
]

describe("console.table", () => {
  test.each(tables)("%s is as Node's", (source, columns) => {
    const ours = realm.tableText(
      realm.run(source),
      columns === undefined ? undefined : realm.run(JSON.stringify(columns)),
    )
    expect(ours).toBe(byNode(runInThisContext(`(${source})`), columns))
  })

  test("runs nothing of the value", () => {
    const value = realm.run(`
      globalThis.ran = 0
      ;[{ get a() { ran++; return 1 } }, new Proxy({ b: 1 }, { ownKeys() { ran++; return [] }, getOwnPropertyDescriptor() { ran++ } })]`)
    expect(realm.tableText(value, undefined)).toContain("[Getter]")
    expect(realm.run("ran")).toBe(0)
  })

  test("is bounded, and says what is missing", () => {
    expect(realm.tableText(realm.run("Array.from({ length: 1_200 }, (_, i) => i)"), undefined)).toMatch(
      /│ 999 {5}│ 999 {4}│\n.*\n\.\.\. 200 more rows$/,
    )
    const wide = realm.run("[Object.fromEntries(Array.from({ length: 150 }, (_, i) => ['c' + i, i]))]")
    expect(realm.tableText(wide, undefined)).toMatch(/\.\.\. 51 cells in more columns$/)
  })

  test.each(["5", "'text'", "null", "undefined", "() => 1"])("of %s is no table", (source) => {
    expect(realm.tableText(realm.run(`(${source})`), undefined)).toBeUndefined()
  })
})
