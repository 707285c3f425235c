// Imports in sessions of profile `full`: what a name is across evals, rebuilds and changed files; what is refused; where errors point.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Session } from "nacre"
import { useNacre } from "./nacre-under-test.ts"

const under = useNacre({ hosts: { min: 1, max: 2 } })
let folder: string

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "nacre-imports-")))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

const open = (): Promise<Session> => under.open({ profile: "full", directory: folder })

function killHosts(): void {
  for (const { host } of under.nacre.placement()) host.kill("a test")
}

describe("an imported name", () => {
  test("is there in later evals, live and read-only", async () => {
    write("counter.mjs", `export let n = 0; export const inc = () => { n += 1 }; export default class Counter {}`)
    const session = await open()
    const { status, committed } = await session.eval(
      `import Counter, { n, inc as more } from "./counter.mjs"; import * as all from "./counter.mjs"; n`,
    )
    expect({ status, definitions: committed.definitions }).toEqual({
      status: "ok",
      definitions: ["Counter", "n", "more", "all"],
    })
    expect(await session.run(`more(); more(); [n, all.n, Counter.name, typeof all]`)).toEqual([
      2,
      2,
      "Counter",
      "object",
    ])
    expect(await session.run(`for (let i = 0; i < 10; i++) more(); n`)).toBe(12)
    const { error } = await session.eval("n = 5")
    expect(error).toMatchObject({ name: "TypeError", message: "Assignment to constant variable." })
    expect(session.bindings.info("more")).toMatchObject({
      kind: "definition",
      held: "source",
      source: `import { inc as more } from "./counter.mjs"`,
    })
    expect((await session.eval(`Session.current.bindings.atPut("n", 1)`)).error?.kind).toBe("binding_is_definition")
  })

  test("can be redeclared with any keyword, and functions see what it is then", async () => {
    write("f.mjs", `export const f = () => "imported"`)
    const session = await open()
    expect(await session.run(`function f() { return "own" } function call() { return f() } call()`)).toBe("own")
    expect(await session.run(`import { f } from "./f.mjs"; call()`)).toBe("imported")
    expect(await session.run(`let f = () => "local"; call()`)).toBe("local")
    expect(await session.run(`import { f } from "./f.mjs"; call()`)).toBe("imported")
    expect(await session.run(`function f() { return "again" } call()`)).toBe("again")
    killHosts()
    expect(await session.run(`call()`)).toBe("again")
  })

  test("is used by functions, classes and closures, also after every process has died", async () => {
    write(
      "tools.ts",
      `export interface Shape { size: number }\nexport abstract class Base { abstract area(): number; twice(): number { return this.area() * 2 } }\nexport const square = (n: number): number => n * n`,
    )
    const session = await open()
    await session.eval(`
      import { Base, square, type Shape } from "./tools.ts"
      function area({ size }: Shape) { return square(size) }
      class Tile extends Base { constructor(private side: number) { super() } area() { return square(this.side) } }
      let tile = new Tile(3)
      const limiter = (factor: number) => { let calls = 0; return (n: number) => square(n) * factor + ++calls }
      const limit = limiter(10)
      limit(1)
    `)
    const code = `[area({ size: 5 }), limit(2), new Tile(2).twice(), new Tile(1) instanceof Base]`
    expect(await session.run(code)).toEqual([25, 42, 8, true])
    killHosts()
    const { value, lost } = await session.eval(code)
    expect(value?.data).toEqual([25, 43, 8, true])
    // What the code of a module keeps of an instance cannot be known.
    expect(lost).toEqual(["tile"])
  })

  test("of a module that awaits is there when the statements run", async () => {
    write("slow.mjs", `export const x = await new Promise((resolve) => setTimeout(() => resolve("slow"), 20))`)
    const session = await open()
    expect(await session.run(`import { x } from "./slow.mjs"; x`)).toBe("slow")
    killHosts()
    expect(await session.run(`x`)).toBe("slow")
  })

  test("stands in a class of the registry's way, and in a fork", async () => {
    write("v.mjs", `export const v = 1`)
    const session = await open()
    await session.eval(`import { v } from "./v.mjs"; import data from "./d.json" with { type: "json" }`)
    write("d.json", `{ "a": 1 }`)
    expect(
      (await session.eval(`import data from "./d.json" with { type: "json" }; import { v } from "./v.mjs"; data.a + v`))
        .value?.text,
    ).toBe("2")
    const fork = await session.fork()
    expect(await fork.run(`data.a + v`)).toBe(2)
    await session.reset()
    expect((await session.eval(`v`)).error?.name).toBe("ReferenceError")
  })
})

describe("import() in code that is made at run time", () => {
  beforeAll(() => {
    write("made/one.mjs", "export const one = 1; export const who = import.meta.url")
    write("made/data.json", `{ "n": 5 }`)
    write("made/file.mjs", `export const made = () => eval('import("./one.mjs")')`)
    write(
      "made/common.cjs",
      `exports.made = () => eval('import("./one.mjs")'); exports.written = () => import("./one.mjs")`,
    )
  })

  test.each([
    `(await eval('import("./made/one.mjs")')).one`,
    `(await (0, eval)('import("./made/one.mjs")')).one`,
    `(await new Function('return import("./made/one.mjs")')()).one`,
    `(await (async () => {}).constructor('return (await import("./made/one.mjs")).one')())`,
    `(await (await import("./made/file.mjs")).made()).one`,
    `(await (await import("./made/common.cjs")).made()).one`,
    `(await (await import("./made/common.cjs")).written()).one`,
    `(await eval('import("./made/data.json", { with: { type: "json" } })')).default.n - 4`,
    `(await eval('import("./made/one.mjs")')) === (await import("./made/one.mjs")) && 1`,
    `eval('import("./made/one.mjs")') instanceof Promise && 1`,
  ])("%s", async (code) => {
    const session = await open()
    expect(await session.run(code)).toBe(1)
    await session.close()
  })

  test("fails with an error of the realm", async () => {
    const session = await open()
    const told = (code: string) => `await eval(${JSON.stringify(code)}).catch((e) => [e instanceof Error, e.kind])`
    expect(await session.run(told('import("./made/none.mjs")'))).toEqual([true, "module_not_found"])
    const closed = await under.open({ profile: "minimal" })
    expect(await closed.run(told('import("node:fs")'))).toEqual([true, "capability_denied"])
    // `then` of session code's own making sees nothing of the thread's.
    const spied = `
      const seen: unknown[] = []
      const { then } = Promise.prototype
      Promise.prototype.then = function (this: any, ...given: any[]) { seen.push(...given); return then.apply(this, given as any) } as any
      try { await eval('import("node:fs")') } catch {} finally { Promise.prototype.then = then }
      seen.every((it) => it === undefined || it instanceof Function)`
    expect(await closed.run(spied)).toBe(true)
  })
})

describe("values of modules", () => {
  test("functions are references to the export they are; what else packages make is named when it is lost", async () => {
    write(
      "lib.cjs",
      `module.exports = function lib() { return "lib" }; module.exports.debounce = () => "debounced"; module.exports.Box = class Box { constructor(v) { this.v = v } }; module.exports.List = class List extends Array {}; module.exports.config = { a: 1 }`,
    )
    const session = await open()
    const { ephemeral } = await session.eval(`
      import lib from "./lib.cjs"; import * as ns from "./lib.cjs"
      const own = lib, f = lib.debounce, list = [ns.debounce, lib], config = lib.config
      const box = new lib.Box(1), made = lib.debounce.bind(null)
      const items = new lib.List(1, 2)
    `)
    expect(ephemeral).toEqual(["box", "items"])
    killHosts()
    const outcome = await session.eval(`[own === lib, f(), f === lib.debounce, list[1](), config.a, made()]`)
    expect(outcome.value?.data).toEqual([true, "debounced", true, "lib", 1, "debounced"])
    expect(outcome.lost).toEqual(["box", "items"])
    expect((await session.eval("box")).error?.kind).toBe("binding_lost")
  })

  test("of Node's live while the process does, and its functions are found again", async () => {
    const session = await open()
    const { ephemeral } = await session.eval(
      `import { createServer } from "node:net"; import * as path from "node:path"; const join = path.join; const server = createServer()`,
    )
    expect(ephemeral).toEqual(["server"])
    killHosts()
    const outcome = await session.eval(`join("a", "b")`)
    expect(outcome.value?.data).toBe("a/b")
    expect(outcome.lost).toEqual(["server"])
  })
})

describe("files that change", () => {
  test("are new ones when they are imported again, with all that needs them; before that nothing moves", async () => {
    write("deep.mjs", `export const deep = 1; export const id = {}`)
    write("middle.mjs", `export { deep, id } from "./deep.mjs"`)
    write("apart.mjs", `export const apart = {}`)
    const session = await open()
    await session.eval(
      `import { deep, id } from "./middle.mjs"; import { apart } from "./apart.mjs"; function read() { return deep }; let first = [id, apart]`,
    )
    write("deep.mjs", `export const deep = 22; export const id = {}`)
    expect(await session.run(`read()`)).toBe(1)
    expect(
      await session.run(
        `import { deep, id } from "./middle.mjs"; import { apart } from "./apart.mjs"; [read(), first[0] === id, first[1] === apart]`,
      ),
    ).toEqual([22, false, true])
    expect(
      await session.run(
        `import * as a from "./middle.mjs"; import * as b from "./middle.mjs"; const c = await import("./middle.mjs"); a === b && a === c`,
      ),
    ).toBe(true)
  })

  test("are named by the outcome when a new realm imports them", async () => {
    write("one.mjs", `export const one = 1`)
    write("gone.mjs", `export const gone = 1; export const too = 2`)
    write("same.mjs", `export const same = 1`)
    const session = await open()
    await session.eval(
      `import { one } from "./one.mjs"; import { gone, too } from "./gone.mjs"; import { same } from "./same.mjs"; const useGone = () => gone`,
    )
    write("one.mjs", `export const one = 11`)
    write("gone.mjs", `export const too = 22`)
    killHosts()
    const outcome = await session.eval(`[one, too, same]`)
    expect(outcome.value?.data).toEqual([11, 22, 1])
    expect(outcome.reloaded).toEqual(["one", "too"])
    expect(outcome.lost).toEqual(["gone"])
    const { error } = await session.eval(`useGone()`)
    expect(error?.kind).toBe("binding_lost")
    expect(error?.message).toMatch(/^The binding 'gone' was lost: it cannot be imported again: .*no export 'gone'/)
    // The remedy.
    write("gone.mjs", `export const gone = 3`)
    expect(await session.run(`import { gone } from "./gone.mjs"; useGone()`)).toBe(3)
  })

  test("that failed run again when they are imported again", async () => {
    write("fails.mjs", `if (globalThis.isFixed !== true) throw new TypeError("not yet"); export const x = 1`)
    const session = await open()
    expect((await session.eval(`import { x } from "./fails.mjs"`)).error).toMatchObject({
      name: "TypeError",
      message: "not yet",
    })
    expect((await session.eval(`x`)).error?.name).toBe("ReferenceError")
    expect(await session.run(`globalThis.isFixed = true; (await import("./fails.mjs")).x`)).toBe(1)
  })
})

describe("what is refused", () => {
  test.each(["standard", "minimal"] as const)("by profile %s: any import, with the remedy", async (profile) => {
    const session = await under.open({ profile })
    for (const code of [
      `import fs from "node:fs"`,
      `await import("node:fs")`,
      `import x = require("y")`,
      `import "./x.mjs"`,
    ]) {
      const { status, error } = await session.eval(code)
      expect({ status, kind: error?.kind }).toEqual({ status: "threw", kind: "capability_denied" })
      expect(error?.message).toMatch(
        /^import needs the capability 'import', which profile '\w+' does not have. Open the session with profile "full"/,
      )
    }
    expect((await session.eval(`typeof require + typeof Buffer + typeof fetch`)).value?.data).toBe(
      "undefinedundefinedundefined",
    )
    await session.close()
  })

  test.each([
    [
      "nowhere",
      `import x from "nowhere"`,
      "module_not_found",
      /Cannot find 'nowhere', which this session asks for: .*npm install nowhere$/,
    ],
    [
      "a missing file",
      `import x from "./missing"`,
      "module_not_found",
      /there is no file .*\/missing; check the path$/,
    ],
    ["an ending left out", `import x from "./there"`, "module_not_found", /did you mean '.\/there.ts'\?$/],
    [
      "a missing export",
      `import { nope } from "./there.ts"`,
      "module_invalid",
      /'.\/there.ts' \(.*there.ts\) has no export 'nope', which this session imports; it has there.$/,
    ],
    [
      "in a file",
      `import "./asks.mjs"`,
      "module_not_found",
      /Cannot find '.\/nothing.mjs', which .*\/asks.mjs:2:8 asks for/,
    ],
    [
      "a missing export in a file",
      `import "./wants.mjs"`,
      "module_invalid",
      /has no export 'nope', which .*\/wants.mjs:1:22 imports/,
    ],
    [
      "a file that does not parse",
      `import "./broken.ts"`,
      "module_invalid",
      /broken.ts:2:14\)\n2 \| const x: X = ;\n {2}\| {14}\^/,
    ],
    ["an addon", `import "./x.node"`, "module_invalid", /is no file that a session can import/],
    ["a url", `import "https://example.com/x.js"`, "module_not_found", /only files, packages and data: URLs can/],
    ["json without its type", `import x from "./j.json"`, "module_invalid", /with \{ type: "json" \}/],
  ])("%s", async (_name, code, kind, message) => {
    write("there.ts", `export const there = 1; export type Only = 1`)
    write("asks.mjs", `\nimport "./nothing.mjs"`)
    write("wants.mjs", `import { nope } from "./there.ts"`)
    write("broken.ts", `type X = 1\nconst x: X = ;`)
    write("x.node", ``)
    write("j.json", `1`)
    const { status, error, committed } = await (await open()).eval(`let before = 1; ${code}`)
    expect({ status, kind: error?.kind, definitions: committed.definitions }).toEqual({
      status: "threw",
      kind,
      definitions: [],
    })
    expect(error?.message).toMatch(message)
  })

  test("imports of a file in which only a type has that name bind nothing", async () => {
    write("there.ts", `export const there = 1; export type Only = 1`)
    const session = await open()
    expect(await session.run(`import { there, Only } from "./there.ts"; const x: Only = 1; there + x`)).toBe(2)
  })

  test("a file too many, or one that is no file", async () => {
    write("folder/x.mjs", ``)
    const { error } = await (await open()).eval(`import "./folder"`)
    expect(error?.message).toMatch(/is a folder .*name a file in it/)
    const device = await (await open()).eval(`import "file:///dev/zero"`)
    expect(device.error).toMatchObject({ kind: "module_not_found", message: expect.stringContaining("is no file") })
  })
})

describe("where errors point", () => {
  test("at their place in the file, through types and transformers, with the session's own frames", async () => {
    write(
      "plain.ts",
      `type A = { a: number }\nexport function plain(x: A): number {\n  const { a }: A = x; if (a > 1) throw new RangeError("too big: " + a)\n  return a\n}\n`,
    )
    write(
      "lowered.ts",
      `enum E { A = 1, B }\nexport class P { constructor(private readonly x: number, public y = E.B) {}\n  get(): number { return this.x === E.B ? (undefined as any).nope : this.x } }\n`,
    )
    write("c.cjs", `exports.f = () => {\n  null.x\n}`)
    const session = await open()
    await session.eval(
      `import { plain } from "./plain.ts"; import { P } from "./lowered.ts"; import { f } from "./c.cjs"`,
    )
    const frames = async (code: string) =>
      ((await session.eval(code, { file: "e.ts" })).error?.stack ?? []).map(
        ({ name, file, line, column }) => `${name ?? ""}@${file.replace(folder, "")}:${line}:${column}`,
      )
    expect(await frames(`plain({ a: 5 })`)).toEqual(["plain@/plain.ts:3:40", "@e.ts:1:1"])
    expect(await frames(`new P(2).get()`)).toEqual(["P.get@/lowered.ts:3:62", "@e.ts:1:10"])
    expect(await frames(`f()`)).toEqual(["f@/c.cjs:2:8", "@e.ts:1:1"].map((it) => it.replace("f@", "exports.f@")))
    expect(await session.run(`try { f() } catch (error) { error.stack.split("\\n")[1] }`)).toBe(
      `    at exports.f (${folder}/c.cjs:2:8)`,
    )
  })

  test("in a module's own code while it is imported", async () => {
    write("top.mjs", `\n\n  JSON.parse("{")`)
    const { error } = await (await open()).eval(`import "./top.mjs"`)
    expect(error).toMatchObject({ name: "SyntaxError", stack: [{ file: join(folder, "top.mjs"), line: 3, column: 8 }] })
  })
})

describe("code of modules belongs to the eval that imports", () => {
  test("its output, its exit, its time limit", async () => {
    write("speaks.mjs", `console.log("from the module"); process.stdout.write("raw\\n")`)
    write("loops.mjs", `for (;;) {}`)
    write("exits.cjs", `process.exit(3)`)
    const session = await open()
    const spoken = await session.eval(`import "./speaks.mjs"`)
    expect(spoken.output.map(({ text }) => text).join("")).toBe("from the module\nraw\n")
    expect(await session.eval(`import "./exits.cjs"`)).toMatchObject({ status: "exited", exitCode: 3 })
    await session.eval(`let kept = 1`)
    expect((await session.eval(`import "./loops.mjs"`, { timeoutMs: 300 })).status).toBe("timeout")
    expect(await session.run(`kept`)).toBe(1)
  })

  test("an endless module of a session's import is stopped when it is imported again, too", async () => {
    write("turns.mjs", `export const x = 1`)
    const session = await open()
    await session.eval(`import { x } from "./turns.mjs"; let kept = 1`)
    write("turns.mjs", `for (;;) {}\nexport const x = 1`)
    killHosts()
    expect((await session.eval(`kept`, { timeoutMs: 300 })).status).toBe("timeout")
    write("turns.mjs", `export const x = 2`)
    expect(await session.run(`kept + x`)).toBe(3)
  })

  test("what it rejects later is the eval's", async () => {
    write(
      "later.mjs",
      `setTimeout(() => { throw new TypeError("late") }, 5); await new Promise((resolve) => setTimeout(resolve, 50))`,
    )
    expect((await (await open()).eval(`import "./later.mjs"`)).error?.message).toBe("late")
  })

  test("an eval that waits for something of Node's goes on", async () => {
    const session = await open()
    expect(
      await session.run(`import { setTimeout as sleep } from "node:timers/promises"; await sleep(20, "slept")`),
    ).toBe("slept")
    expect((await session.eval(`await fetch("data:text/plain,hello").then((it) => it.text())`)).value?.data).toBe(
      "hello",
    )
  })
})

test("session code has require, import.meta, process and Node's globals", async () => {
  write("r.cjs", `module.exports = "required"`)
  const session = await open()
  expect(
    await session.run(
      `import legacy = require("./r.cjs"); [legacy, require("./r.cjs"), require.resolve("./r.cjs").endsWith("r.cjs")]`,
    ),
  ).toEqual(["required", "required", true])
  expect(await session.run(`[import.meta.dirname, import.meta.url, import.meta.resolve("./r.cjs")]`)).toEqual([
    folder,
    `file://${folder}/`,
    `file://${folder}/r.cjs`,
  ])
  expect(
    await session.run(
      `[typeof process.exit, process.argv.length, process.platform.length > 2, typeof process.env.PATH, global === globalThis]`,
    ),
  ).toEqual(["function", 1, true, "undefined", true])
  expect(await session.run(`process.kill`).catch(() => "function")).toBe("function")
  expect((await session.eval(`process.kill(process.pid)`)).error?.message).toMatch(/not available in a session/)
  expect(await session.run(`setTimeout(() => {}, 5).unref().hasRef()`)).toBe(true)
  expect(
    await session.run(
      `[Buffer.from("é").length, Buffer.from("x") instanceof Uint8Array, structuredClone(new Uint8Array(2)).length]`,
    ),
  ).toEqual([2, true, 2])
  expect(
    await session.run(
      `try { require("fs").readFileSync("none") } catch (error) { [error instanceof Error, error.code] }`,
    ),
  ).toEqual([true, "ENOENT"])
})

test("what the engine has for its hosts is no name of sessions", async () => {
  const session = await open()
  expect(await session.run("[typeof gc, 'gc' in globalThis]")).toEqual(["undefined", false])
})

test("sessions of profile full have hosts of their own", async () => {
  const full = await open()
  const standard = await under.open()
  await full.eval("1")
  await standard.eval("1")
  expect(full.worker!.host.pid).not.toBe(standard.worker!.host.pid)
})

test("directory must be a folder", async () => {
  await expect(under.open({ directory: join(folder, "none") })).rejects.toMatchObject({
    kind: "invalid_options",
    message: expect.stringContaining("is no folder"),
  })
  await expect(under.open({ directory: 5 as never })).rejects.toMatchObject({ kind: "invalid_options" })
  const session = await under.open({ id: "fixed", profile: "full", directory: folder })
  await expect(under.open({ id: "fixed", directory: tmpdir() })).rejects.toMatchObject({ kind: "profile_conflict" })
  await session.close()
})

test.each([
  [
    "xstate",
    `createActor(createMachine({ initial: "a", states: { a: { on: { go: "b" } }, b: {} } })).start().getSnapshot().value`,
    "createActor, createMachine",
    "a",
  ],
  ["nanoid", `nanoid(7).length`, "nanoid", 7],
  ["msgpackr", `unpack(pack({ a: [1, "x"] })).a[1]`, "pack, unpack", "x"],
  ["piscina", `typeof Piscina`, "Piscina", "function"],
  ["fast-check", `fc.sample(fc.integer(), { numRuns: 2, seed: 1 }).length`, "default as fc", 2],
  ["picomatch", `picomatch("*.js")("a.js")`, "default as picomatch", true],
  ["picocolors", `pc.createColors(false).red("x")`, "default as pc", "x"],
  ["pathe", `join("a", "..", "b")`, "join", "b"],
  [
    "chai",
    `(() => { try { expect(1).to.equal(2) } catch (error) { return error.message } })()`,
    "expect",
    "expected 1 to equal 2",
  ],
  ["magic-string", `new MagicString("abc").overwrite(0, 1, "x").toString()`, "default as MagicString", "xbc"],
  ["typescript", `ts.transpile("let x: number = 1").includes("let x = 1")`, "default as ts", true],
  ["estree-walker", `typeof walk`, "walk", "function"],
  ["acorn-free: es-module-lexer", `typeof parse`, "parse", "function"],
  ["oxc-parser", `parseSync("a.js", "1").program.body.length`, "parseSync", 1],
  ["cjs-module-lexer", `parse("exports.a = 1").exports`, "parse", ["a"]],
])("package %s works in the realm", async (name, code, names, expected) => {
  const session = await under.open({ profile: "full", directory: process.cwd() })
  const outcome = await session.eval(`import { ${names} } from "${name.replace(/^.*: /, "")}"; ${code}`)
  expect(outcome.error?.rendered).toBeUndefined()
  expect(outcome.value?.data).toEqual(expected)
})
