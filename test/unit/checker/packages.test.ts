// Types of packages come from the directory that an embedder names, and nothing else on the disk can be reached by what session code says.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { TestSession, bareEnvironment } from "./oracle.ts"

let directory = ""

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "packages-"))
  const put = (path: string, text: string): void => {
    mkdirSync(join(directory, path, ".."), { recursive: true })
    writeFileSync(join(directory, path), text)
  }
  put("node_modules/shapes/package.json", `{ "name": "shapes", "types": "index.d.ts" }`)
  put("node_modules/shapes/index.d.ts", `import { Unit } from "./unit"; export declare function area(r: Unit): number`)
  put("node_modules/shapes/unit.d.ts", `export type Unit = number`)
  put("node_modules/plain/package.json", `{ "name": "plain", "main": "index.js" }`)
  put("node_modules/plain/index.js", `module.exports = {}`)
  put("secret.ts", `export const secret = "do not tell"`)
})

afterAll(() => rmSync(directory, { recursive: true }))

function codes(statements: string, at: string | undefined): [number, string][] {
  const session = new TestSession()
  session.environment = { ...bareEnvironment, directory: at }
  return session.check({}, statements).diagnostics.map(({ code, message }) => [code, message])
}

test("a package with types is known, through all of its files", () => {
  const statements = `import { area } from "shapes"; area(1).toFixed(); area("x")`
  expect(codes(statements, directory).map(([code]) => code)).toEqual([2345])
  expect(codes(statements, undefined)).toEqual([])
})

test("one without types, and one that is not there, are any", () => {
  expect(codes(`import p from "plain"; import q from "absent"; p.x.y + q.z`, directory)).toEqual([])
})

test.each([
  `import { secret } from "./secret"; const n: number = secret`,
  `import { secret } from "../secret.ts"; const n: number = secret`,
  `type T = typeof import("./secret"); const n: T["secret"] = 1 as never as T["secret"]; n.anything`,
  `/// <reference path="./secret.ts" />\nconst n: number = 1`,
])("what is no package is not read: %s", (statements) => {
  expect(JSON.stringify(codes(statements, directory))).not.toContain("do not tell")
  expect(JSON.stringify(codes(statements.replaceAll("./secret", `${directory}/secret`), directory))).not.toContain(
    "do not tell",
  )
})
