// Modules as Node has them: each case is imported by Node and by a session of profile `full`, and must be the same in both.
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { importedByNode, importedBySession, writeCases, type Files, type Imported } from "../modules/beside-node.ts"
import { useNacre } from "./nacre-under-test.ts"

const under = useNacre({ hosts: { min: 1, max: 1 } })

const pkg = (json: object): string => JSON.stringify(json)

/** The entry of a case is `main.mjs`, or what its name says behind the last `:`. */
const cases: Record<string, Files> = {
  "live bindings": {
    "main.mjs": `import { n, inc } from "./n.mjs"; log(n); inc(); log(n); export { n as live }; inc()`,
    "n.mjs": `export let n = 0; export function inc() { n += 1 }`,
  },
  "an import is read-only": {
    "main.mjs": `import { n } from "./n.mjs"; try { n = 2 } catch (error) { log(error.name, error.message) } export {}`,
    "n.mjs": `export let n = 0`,
  },
  "cycles with hoisted functions": {
    "main.mjs": `import { b } from "./b.mjs"; log("main"); export function a() { return "a" } export const r = b()`,
    "b.mjs": `import { a } from "./main.mjs"; log("b sees " + a()); export function b() { return a() + "b" }`,
  },
  "a dead zone across a cycle": {
    "main.mjs": `import "./b.mjs"; export const x = 1`,
    "b.mjs": `import { x } from "./main.mjs"; export const y = x`,
  },
  "a class in its dead zone across a cycle": {
    "main.mjs": `import "./b.mjs"; export class A {}`,
    "b.mjs": `import * as main from "./main.mjs"; try { main.A } catch (error) { log(error.message) } log(typeof main)`,
  },
  "names of defaults": {
    "main.mjs": `import f from "./f.mjs"; import c from "./c.mjs"; import a from "./a.mjs"; import n from "./n.mjs"; import g from "./g.mjs"
      log(f.name, c.name, a.name, n.name, g.name); export { f, c, a, n, g }`,
    "f.mjs": `log(typeof f); export default function f() {}`,
    "c.mjs": `export default class {}`,
    "a.mjs": `export default () => 1`,
    "n.mjs": `export default (function named() {})`,
    "g.mjs": `export default function () {}`,
  },
  "a default that changes": {
    "main.mjs": `import d, { set } from "./d.mjs"; import e, { change } from "./e.mjs"; log(d(), e); set(); change(); log(typeof d, e); export {}`,
    "d.mjs": `export default function d() { return 1 } export function set() { d = 5 }`,
    "e.mjs": `let e = 1; export default e; export function change() { e = 2 }`,
  },
  "export * and conflicts": {
    "main.mjs": `export * from "./a.mjs"; export * from "./b.mjs"; export * as all from "./a.mjs"; export const own = "main"`,
    "a.mjs": `export const x = "a", only = 1, own = "a"; export default 5; export * from "./c.mjs"`,
    "b.mjs": `export const x = "b", other = 2; export * from "./c.mjs"`,
    "c.mjs": `export const same = "c"`,
  },
  "importing an ambiguous name": {
    "main.mjs": `import { x } from "./star.mjs"; log(x)`,
    "star.mjs": `export * from "./a.mjs"; export * from "./b.mjs"`,
    "a.mjs": `export const x = 1`,
    "b.mjs": `export const x = 2`,
  },
  "export * in a circle": {
    "main.mjs": `export * from "./b.mjs"; export const a = 1`,
    "b.mjs": `export * from "./main.mjs"; export const b = 2`,
  },
  "order of evaluation": {
    "main.mjs": `import "./a.mjs"; import "./b.mjs"; log("main"); export {}`,
    "a.mjs": `import "./shared.mjs"; log("a")`,
    "b.mjs": `import "./c.mjs"; import "./shared.mjs"; log("b")`,
    "c.mjs": `log("c")`,
    "shared.mjs": `log("shared")`,
  },
  "top-level await": {
    "main.mjs": `import { x } from "./a.mjs"; import "./b.mjs"; log("main", x); export const r = await Promise.resolve(x + 1)`,
    "a.mjs": `log("a"); export let x = await new Promise((resolve) => setTimeout(() => resolve(41), 5)); log("a end")`,
    "b.mjs": `log("b"); await null; log("b 1"); await null; log("b 2")`,
  },
  "top-level await in a cycle, siblings and parents": {
    "main.mjs": `import "./p.mjs"; import "./q.mjs"; import "./sync.mjs"; log("main")`,
    "p.mjs": `import "./q.mjs"; log("p"); await 0; log("p end")`,
    "q.mjs": `import "./p.mjs"; log("q"); await 0; await 0; log("q end")`,
    "sync.mjs": `log("sync"); for await (const x of [1, Promise.resolve(2)]) log(x)`,
  },
  "a rejection at the top level": {
    "main.mjs": `import "./a.mjs"; log("never")`,
    "a.mjs": `await null; throw new RangeError("late")`,
  },
  "what throws is thrown again": {
    "main.mjs": `const seen = []; for (let i = 0; i < 2; i++) await import("./a.mjs").catch((error) => seen.push(error)); log(seen[0] === seen[1], seen[0].name); export {}`,
    "a.mjs": `log("runs"); throw new TypeError("x")`,
  },
  "throws what is no error": { "main.mjs": `throw { toString: () => "an object" }` },
  "names that are strings": {
    "main.mjs": `import { "a b" as ab } from "./s.mjs"; log(ab); export { ab as "c d" }`,
    "s.mjs": `const x = 5; export { x as "a b" }`,
  },
  "this, strictness and arguments": {
    "main.mjs": `log(this === undefined, typeof arguments, typeof require, typeof module); try { undeclared = 1 } catch (error) { log(error.name) }`,
  },
  "import.meta": {
    "main.mjs": `log(Object.keys(import.meta).join(), Object.getPrototypeOf(import.meta), import.meta === import.meta)
      log(import.meta.filename.endsWith("main.mjs"), import.meta.dirname.length < import.meta.filename.length, new URL("./x", import.meta.url).pathname.endsWith("/x"), import.meta.resolve("./y.mjs").slice(0, 8), import.meta.resolve("fs"))`,
  },
  "a query makes another instance": {
    "main.mjs": `import a from "./n.mjs?1"; import b from "./n.mjs?2"; import c from "./n.mjs?1"; log(a === b, a === c)`,
    "n.mjs": `log("n" + new URL(import.meta.url).search); export default {}`,
  },
  "data: URLs": {
    "main.mjs": `import x, { y } from "data:text/javascript,export default 1; export const y = 2"; import j from "data:application/json,[1]" with { type: "json" }; log(x, y, j)
      await import("data:text/plain,hello").catch((error) => log(error.name, error.code)); export {}`,
  },
  "file: URLs": {
    "main.mjs": `const { x } = await import(new URL("./x y.mjs", import.meta.url)); log(x); export {}`,
    "x y.mjs": `export const x = "with a blank"`,
  },
  JSON: {
    "main.mjs": `import data from "./d.json" with { type: "json" }; log(data.a, Object.keys(data)); export { data }
      await import("./d.json").catch((error) => log(error.name)); await import("./main.mjs", { with: { type: "json" } }).catch((error) => log(error.name)); await import("./bad.json", { with: { type: "json" } }).catch((error) => log(error.name))`,
    "d.json": `{ "a": [1], "__proto__": 3 }`,
    "bad.json": `{ a: 1 }`,
  },
  "a namespace": {
    "main.mjs": `import * as ns from "./n.mjs"; log(Reflect.ownKeys(ns).map(String)); log(JSON.stringify(Object.getOwnPropertyDescriptor(ns, "a")), "zz" in ns)
      try { ns.a = 2 } catch (error) { log(error.name, error.message) } try { delete ns.a } catch (error) { log(error.name) } log(Object.getPrototypeOf(ns))`,
    "n.mjs": `export const z = 1, a = 2; export default 3`,
  },
  "a namespace with then": {
    "main.mjs": `log(await import("./t.mjs")); export {}`,
    "t.mjs": `export function then(resolve) { resolve("from then") }`,
  },
  "CommonJS and its names": {
    "main.mjs": `import d, { a, b, computed } from "./c.cjs"; import * as ns from "./c.cjs"; log(a, b, computed, d.a, Object.keys(ns)); export { d }`,
    "c.cjs": `exports.a = 1; module.exports.b = 2; Object.defineProperty(exports, "computed", { enumerable: true, get() { return 3 } }); exports.late = undefined`,
  },
  "CommonJS that is a function": {
    "main.mjs": `import f, * as ns from "./c.cjs"; log(typeof f, f.name, Object.keys(ns)); export { f }`,
    "c.cjs": `module.exports = function plain() {}; module.exports.extra = 1`,
  },
  "CommonJS made from an ES module": {
    "main.mjs": `import d, * as ns from "./c.cjs"; log(JSON.stringify(d), Object.keys(ns), ns.default === d, ns.x)`,
    "c.cjs": `Object.defineProperty(exports, "__esModule", { value: true }); exports.default = "dflt"; exports.x = 1`,
  },
  "CommonJS that gives on": {
    "main.mjs": `import { deep, own } from "./c.cjs"; log(deep, own)`,
    "c.cjs": `module.exports = { ...require("./d.cjs"), own: 1 }; exports.unused = 0`,
    "d.cjs": `exports.deep = "d"`,
  },
  "an export that CommonJS does not show": {
    "main.mjs": `import { hidden } from "./c.cjs"; log(hidden)`,
    "c.cjs": `const name = "hidden"; exports[name] = 1`,
  },
  "cycles of CommonJS": {
    "main.mjs": `import a from "./a.cjs"; log(JSON.stringify(a))`,
    "a.cjs": `exports.first = 1; const b = require("./b.cjs"); exports.b = b; exports.last = 2`,
    "b.cjs": `const a = require("./a.cjs"); log(JSON.stringify(a)); module.exports = { saw: Object.keys(a) }`,
  },
  "what CommonJS has": {
    "main.mjs": `import "./c.cjs"`,
    "c.cjs": `log(this === module.exports, typeof require, typeof exports, arguments.length >= 5, __filename.endsWith("c.cjs"), __dirname === module.path, module.loaded, module.id === __filename)
      log(require("./c.cjs") === module.exports, require.resolve("./c.cjs") === __filename, require.resolve("fs"), Object.keys(require.cache).includes(__filename)); with ({ sloppy: 1 }) log(sloppy); return`,
  },
  "CommonJS finds files as it does": {
    "main.mjs": `import c from "./c.cjs"; log(JSON.stringify(c))`,
    "c.cjs": `module.exports = [require("./folder"), require("./noending"), require("./j"), require("./pkg")]
      try { require("./none") } catch (error) { log(error.name, error.code) }
      try { require("no-such-package") } catch (error) { log(error.name, error.code) }
      try { require("./bad") } catch (error) { log(error.name) }`,
    "folder/index.js": `module.exports = "folder"`,
    "noending.js": `module.exports = "noending"`,
    "j.json": `{"j":1}`,
    "bad.json": `{`,
    "pkg/package.json": pkg({ main: "./lib/entry" }),
    "pkg/lib/entry.js": `module.exports = "pkg"`,
  },
  "a failed CommonJS file is tried again": {
    "main.mjs": `import "./c.cjs"`,
    "c.cjs": `for (let i = 0; i < 2; i++) try { require("./t.cjs") } catch (error) { log(error.message) }`,
    "t.cjs": `log("runs"); throw new Error("once more")`,
  },
  "import() from CommonJS": {
    "main.mjs": `import c from "./c.cjs"; log(await c); export {}`,
    "c.cjs": `module.exports = import("./e.mjs").then(async (e) => e.x + (await import("./d.cjs")).default)`,
    "e.mjs": `export const x = "e"`,
    "d.cjs": `module.exports = "d"`,
  },
  "require of an ES module": {
    "main.mjs": `import c from "./c.cjs"; log("main"); export {}`,
    "c.cjs": `log("c"); const e = require("./e.mjs"); log(Object.keys(e).sort(), e.x, e.default, e.__esModule); const n = require("./n.mjs"); log(Object.keys(n), n.__esModule, n === require("./n.mjs"))
      try { require("./a.mjs") } catch (error) { log(error.code) } try { require("./t.mjs") } catch (error) { log(error.name, error.message) }`,
    "e.mjs": `log("e"); export const x = 1; export default 2`,
    "n.mjs": `export const y = 1`,
    "a.mjs": `await null; export const z = 1`,
    "t.mjs": `throw new TypeError("from the module")`,
  },
  "CommonJS among ES modules runs in its turn": {
    "main.mjs": `import "./a.mjs"; import "./c.cjs"; import "./b.mjs"; log("main")`,
    "a.mjs": `log("a")`,
    "b.mjs": `log("b")`,
    "c.cjs": `log("c"); require("./d.cjs")`,
    "d.cjs": `log("d")`,
  },
  "kinds by package": {
    "main.mjs": `import "./esm/x.js"; import "./cjs/x.js"; import "./none/x.js"; import "./none/y.js"; import "./none/z.js"`,
    "esm/package.json": pkg({ type: "module" }),
    "esm/x.js": `log("esm", typeof require)`,
    "cjs/package.json": pkg({ type: "commonjs" }),
    "cjs/x.js": `log("cjs", typeof require)`,
    "none/package.json": pkg({}),
    "none/x.js": `log("none", typeof require)`,
    "none/y.js": `log("detected", typeof require); export {}`,
    "none/z.js": `await null; log("awaits", typeof require)`,
  },
  "packages: conditions and subpaths": {
    "main.mjs": `import a from "pkg"; import b from "pkg/sub"; import c from "pkg/feature/x.js"; import d from "@scope/name"; import e from "@scope/name/deep.js"; import m from "onlymain"; import i from "indexed"; log(a, b, c, d, e, m, i)
      for (const name of ["pkg/hidden.js", "pkg/feature/internal.js", "missing", "pkg/none", "pkg/package.json", "@scope/none"]) await import(name).catch((error) => log(name, error.name, error.code)); export {}`,
    "node_modules/pkg/package.json": pkg({
      exports: {
        ".": { browser: "./browser.js", import: "./a.mjs", require: "./a.cjs" },
        "./sub": { node: { import: "./sub.mjs", default: "./sub.cjs" } },
        "./feature/*": "./lib/*",
        "./feature/internal.js": null,
        "./none": { deno: "./x.js" },
      },
    }),
    "node_modules/pkg/a.mjs": `export default "import"`,
    "node_modules/pkg/a.cjs": `module.exports = "require"`,
    "node_modules/pkg/sub.mjs": `export default "sub"`,
    "node_modules/pkg/hidden.js": ``,
    "node_modules/pkg/lib/x.js": `module.exports = "pattern"`,
    "node_modules/pkg/lib/internal.js": ``,
    "node_modules/@scope/name/package.json": pkg({ type: "module", main: "./main.js" }),
    "node_modules/@scope/name/main.js": `export default "scoped"`,
    "node_modules/@scope/name/deep.js": `export default "deep"`,
    "node_modules/onlymain/package.json": pkg({ main: "lib/main" }),
    "node_modules/onlymain/lib/main.js": `module.exports = "main"`,
    "node_modules/indexed/index.js": `module.exports = "index"`,
  },
  "packages: imports and themselves": {
    "main.mjs": `import a from "#internal"; import b from "self"; import c from "self/x"; import d from "#dep"; import e from "#files/f.mjs"; log(a, b, c, d, e); await import("#none").catch((error) => log(error.name, error.code)); export {}`,
    "package.json": pkg({
      name: "self",
      exports: { ".": "./self.mjs", "./x": "./x.mjs" },
      imports: { "#internal": { import: "./internal.mjs", default: "./no.js" }, "#dep": "dep", "#files/*": "./*" },
    }),
    "internal.mjs": `export default "internal"`,
    "self.mjs": `export default "self"`,
    "x.mjs": `export default "x"`,
    "f.mjs": `export default "f"`,
    "node_modules/dep/index.js": `module.exports = "dep"`,
  },
  "packages: require and import of one": {
    "main.mjs": `import i from "dual"; import c from "./c.cjs"; log(i, c)`,
    "c.cjs": `module.exports = require("dual")`,
    "node_modules/dual/package.json": pkg({ exports: { import: "./i.mjs", require: "./r.cjs" } }),
    "node_modules/dual/i.mjs": `export default "import"`,
    "node_modules/dual/r.cjs": `module.exports = "require"`,
  },
  "packages: the nearest": {
    "main.mjs": `import a from "p"; import b from "q"; log(a, b)`,
    "node_modules/p/index.js": `module.exports = "p1"`,
    "node_modules/q/index.js": `module.exports = require("p")`,
    "node_modules/q/node_modules/p/index.js": `module.exports = "p2"`,
  },
  "Node's modules": {
    "main.mjs": `import fs, { readFileSync } from "node:fs"; import * as path from "path"; import { promisify } from "util"; import process from "node:process"; import { createRequire } from "node:module"
      log(fs.readFileSync === readFileSync, path.join("a", "b"), path.default.sep, typeof promisify, typeof process.exit); const require = createRequire(import.meta.url); log(require("./c.cjs").x, require("node:path") === path.default)
      await import("node:nothing").catch((error) => log(error.name, error.code)); export {}`,
    "c.cjs": `exports.x = "by createRequire"`,
  },
  "texts with a hashbang and a mark": {
    "main.mjs": `#!/usr/bin/env node\nimport "./c.cjs"; import "./b.mjs"; log("main")`,
    "c.cjs": `#!/usr/bin/env node\nlog("c")`,
    "b.mjs": `\uFEFFlog("marked")`,
  },
  "what does not parse": { "main.mjs": `import "./bad.mjs"; log("never")`, "bad.mjs": `let x = ;` },
  "CommonJS that does not parse": { "main.mjs": `import "./bad.cjs"; log("never")`, "bad.cjs": `let x = ;` },
  "no such file": { "main.mjs": `import "./none.mjs"; log("never")` },
  "a folder": { "main.mjs": `import "./folder"; log("never")`, "folder/index.js": `` },
  "no ending": { "main.mjs": `import "./x"; log("never")`, "x.mjs": `` },
  "no such export": {
    "main.mjs": `import { y } from "./x.mjs"; log("never")`,
    "x.mjs": `log("never"); export const x = 1`,
  },
  "no default": { "main.mjs": `import d from "./x.mjs"; log(d)`, "x.mjs": `export const x = 1` },
  "no such export through another": {
    "main.mjs": `import { y } from "./b.mjs"; log(y)`,
    "b.mjs": `export { y } from "./x.mjs"`,
    "x.mjs": `export const x = 1`,
  },
  "an unknown ending": { "main.mjs": `import "./x.css"`, "x.css": `a {}` },
  "no scheme that is known": { "main.mjs": `import "https://example.com/x.js"` },
  "import() of what is no text": {
    "main.mjs": `await import(Symbol("x")).catch((error) => log(error.name)); await import({ toString() { return "./x.mjs" } }).then((ns) => log(ns.x)); await import("./x.mjs", 5).catch((error) => log(error.name)); export {}`,
    "x.mjs": `export const x = 1`,
  },
  "import() at once from many places": {
    "main.mjs": `const all = await Promise.all(["./a.mjs", "./b.mjs", "./a.mjs", "./c.mjs"].map((it) => import(it))); log(all[0] === all[2], all.map((ns) => ns.x)); export {}`,
    "a.mjs": `import "./shared.mjs"; export const x = "a"; await null`,
    "b.mjs": `import "./shared.mjs"; export const x = "b"`,
    "c.mjs": `import { x as y } from "./a.mjs"; export const x = "c" + y`,
    "shared.mjs": `log("shared")`,
  },
}

/** Codes that Node has changed the names of, or that another version gives. */
const sameCodes: Readonly<Record<string, string>> = {
  ERR_IMPORT_ASSERTION_TYPE_MISSING: "ERR_IMPORT_ATTRIBUTE_MISSING",
  ERR_UNSUPPORTED_ESM_URL_SCHEME: "ERR_MODULE_NOT_FOUND",
}

let byNode: Imported[]
let bySession: Imported[]
let remove: () => void

beforeAll(async () => {
  const written = writeCases(cases)
  remove = written.remove
  const entries = Object.keys(cases).map((name) => join(written.root, name, "main.mjs"))
  const session = await under.open({ profile: "full", directory: written.root })
  ;[byNode, bySession] = await Promise.all([importedByNode(written.root, entries), importedBySession(session, entries)])
}, 60_000)
afterAll(() => remove())

test.each(Object.keys(cases).map((name, index) => [name, index] as const))("%s", (_name, index) => {
  const expected = JSON.parse(
    JSON.stringify(byNode[index]).replace(/\bERR_\w+/g, (code) => sameCodes[code] ?? code),
  ) as Imported
  expect(bySession[index]).toEqual(expected)
})
