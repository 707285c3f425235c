import { describe, expect, test } from "vitest"
import { bundleRealmScript } from "../../../runtime/worker/bundle.ts"
import { RealmMaker } from "../../../runtime/worker/realm.ts"
import { GENERATION, allocateSharedWords, raiseGeneration } from "../../../runtime/wire/shared-memory.ts"
import { GlobalStore } from "../../../runtime/workspace/globals.ts"
import { checkGlobalName } from "../../../runtime/workspace/names.ts"
import { Capabilities, standardCapabilities } from "../../../stdlib/capabilities.ts"

const bytes = (length: number): Uint8Array => new Uint8Array(length)

describe("a store of globals", () => {
  test("moves its generation with every change and with nothing else", () => {
    const store = new GlobalStore()
    expect(store.generation).toBe(0)
    store.set("a", bytes(1))
    store.set("a", bytes(1))
    expect(store.generation).toBe(2)
    expect(store.delete("b")).toBe(false)
    expect(store.generation).toBe(2)
    expect(store.delete("a")).toBe(true)
    expect([store.generation, store.size, store.names()]).toEqual([3, 0, []])
  })

  test("gives every value another version, also under a name that comes back", () => {
    const store = new GlobalStore()
    const versions = new Set<number>()
    for (const name of ["a", "b", "a"]) {
      store.set(name, bytes(1))
      versions.add(store.get(name)!.version)
      store.delete(name)
    }
    expect(versions.size).toBe(3)
  })

  test("has a maximum of bytes and of names, and counts what is replaced or gone", () => {
    const store = new GlobalStore()
    const half = bytes(128 * 1024 * 1024)
    store.set("a", half)
    store.set("b", half)
    expect(() => store.set("c", bytes(1))).toThrow(expect.objectContaining({ kind: "value_too_large" }))
    store.set("a", bytes(1))
    store.set("c", bytes(1))
    store.delete("b")
    for (let n = 0; store.size < 10_000; n++) store.set(`n${n}`, bytes(0))
    expect(() => store.set("one_more", bytes(0))).toThrow(expect.objectContaining({ kind: "value_too_large" }))
    store.set("a", bytes(2))
  })

  test("goes round without ever being 0 again", () => {
    const store = new GlobalStore()
    for (const before of [2 ** 31 - 1, -1]) {
      store.generation = before
      store.set("a", bytes(0))
      expect(store.generation).not.toBe(0)
    }
  })
})

test.each([
  [1, 2, 2],
  [2, 1, 2],
  [0, 5, 5],
  [5, 5, 5],
  [2 ** 31 - 1, -(2 ** 31), -(2 ** 31)],
  [-(2 ** 31), 2 ** 31 - 1, -(2 ** 31)],
])("a thread that has seen generation %i and is told %i has %i", (before, told, after) => {
  const words = allocateSharedWords()
  raiseGeneration(words, before)
  raiseGeneration(words, told)
  expect(words[GENERATION]).toBe(after)
})

describe("names of globals", () => {
  test.each(["a", "$x", "_y", "über", "名", "bindings", "constructor", "current"])("%s is one", (name) => {
    expect(() => checkGlobalName(name)).not.toThrow()
  })

  test.each([
    "Workspace",
    "Transcript",
    "tools",
    "Session",
    "BindingsView",
    "Math",
    "Intl",
    "globalThis",
    "console",
    "setTimeout",
    "structuredClone",
    "URL",
    "URLSearchParams",
    "TextEncoder",
    "TextDecoder",
    "AbortController",
    "AbortSignal",
    "await",
    "let",
    "async",
    "_",
    "_error",
    "undefined",
  ])("%s is taken", (name) => {
    expect(() => checkGlobalName(name)).toThrow(expect.objectContaining({ kind: "name_conflict" }))
  })

  test("every name of a fresh realm's global object is taken", () => {
    const { globals } = new RealmMaker(bundleRealmScript()).make(new Capabilities("standard", standardCapabilities))
    expect(globals.size).toBeGreaterThan(60)
    const free = [...globals].filter((name) => {
      try {
        checkGlobalName(name)
        return true
      } catch {
        return false
      }
    })
    expect(free).toEqual([])
  })

  test.each([5, null, undefined, Symbol("s"), {}, Object.create(null) as unknown])("%o is none", (name) => {
    expect(() => checkGlobalName(name)).toThrow(expect.objectContaining({ kind: "type_error" }))
  })

  test.each(["", "1a", "a b", "a.b", "a-b", "x".repeat(257), "\ud800"])("%j is none", (name) => {
    expect(() => checkGlobalName(name)).toThrow(expect.objectContaining({ kind: "type_error" }))
  })
})
