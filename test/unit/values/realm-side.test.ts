// The rules realm-side files live by: one classic script, names unique across all of them, nothing imported from elsewhere.

import { readdirSync, readFileSync } from "node:fs"
import { expect, test } from "vitest"
import { bootRealm } from "./realm.ts"

const root = new URL("../../../", import.meta.url)
/** Files of the outer side: they run beside the socket, not in realms. */
const outer = new Set(["pack.ts", "process-hooks.ts", "hooks.ts", "embedder.ts"])

function realmSideFiles(): { name: string; text: string }[] {
  return ["stdlib/", "runtime/wire/values/"].flatMap((folder) =>
    readdirSync(new URL(folder, root))
      .filter((name) => name.endsWith(".ts") && !outer.has(name))
      .map((name) => ({ name: folder + name, text: readFileSync(new URL(folder + name, root), "utf8") })),
  )
}

test("top-level names are unique across realm-side files", () => {
  const owners = new Map<string, string[]>()
  for (const { name, text } of realmSideFiles()) {
    for (const match of text.matchAll(/^(?:export )?(?:async )?(?:function\*?|const|let|class) (\w+)/gm)) {
      owners.set(match[1] ?? "", [...(owners.get(match[1] ?? "") ?? []), name])
    }
  }
  expect([...owners].filter(([, files]) => files.length > 1)).toEqual([])
})

test("realm-side files import only each other, and iterate nothing by protocol", () => {
  for (const { name, text } of realmSideFiles()) {
    for (const match of text.matchAll(/^import (type )?[^"]*from "([^"]+)"/gm)) {
      expect(`${name}: ${match[1] === undefined && !(match[2] ?? "").startsWith(".") ? match[2] : ""}`).toBe(
        `${name}: `,
      )
    }
    const code = text.replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gm, "")
    expect(`${name}: ${/for \((?:const|let) [^;)]* of /.exec(code)?.[0] ?? ""}`).toBe(`${name}: `)
    // Rest parameters, with their types, are made by the engine; spreading asks the session's prototypes.
    if (!name.endsWith("intrinsics.ts"))
      expect(`${name}: ${/\.\.\.[a-z]\w*(?![\w:])/.exec(code)?.[0] ?? ""}`).toBe(`${name}: `)
    expect(`${name}: ${/\binstanceof\b/.exec(code)?.[0] ?? ""}`).toBe(`${name}: `)
  }
})

test("intrinsics have names that are unique, stable across realms, and lead back", () => {
  const one = bootRealm()
  const two = bootRealm()
  const sample = one.run(
    "[Math.max, Map.prototype.get, Array.prototype[Symbol.iterator], Object.getPrototypeOf(Int8Array), Object.getPrototypeOf([].values()), console.log, Reflect, globalThis, Intl.NumberFormat.prototype, Proxy, Object.defineProperty, Error.prototype]",
  ) as object[]
  for (let i = 0; i < sample.length; i++) {
    const name = one.references.nameOf(sample[i]!) ?? "unnamed"
    expect(one.references.resolve(name)).toBe(sample[i])
    expect(two.references.nameOf(two.references.resolve(name)!)).toBe(name)
  }
  expect(one.references.nameOf(one.run("({})") as object)).toBeUndefined()
  expect(one.references.resolve("no.such")).toBeUndefined()
})

test("a name taken before a session changed its built-ins stays with the original", () => {
  const realm = bootRealm()
  const push = realm.run(
    "const original = Array.prototype.push; Array.prototype.push = Array.prototype.pop; original",
  ) as object
  expect(realm.references.nameOf(push)).toBe("Array.prototype.push")
  expect(realm.references.resolve("Array.prototype.push")).toBe(push)
})
