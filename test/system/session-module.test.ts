// Files that import the session which loads them (`nacre:session`): what they see of it, when, and what a change or the death of a host does to
// them.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { OpenOptions, Rejected, Session } from "nacre"
import { useNacre } from "./nacre-under-test.ts"

const under = useNacre({ hosts: { min: 1, max: 2 } })
let folder: string

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "nacre-session-module-")))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

const open = (options: OpenOptions = {}): Promise<Session> =>
  under.open({ profile: "full", directory: folder, ...options })

const rejectionOf = (result: object): Rejected["rejection"] => (result as Rejected).rejection

describe("what a file sees of its session", () => {
  test("functions, data and locals, each as it is when it is used", async () => {
    write(
      "live.ts",
      `import { step, log, count, Point } from "nacre:session"
export const call = (n: number): unknown => step(n)
export const note = (text: string): number => log.push(text)
export const read = (): number => count
export const make = () => new Point(1)
export const kinds = () => [typeof step, typeof count, typeof log]`,
    )
    const session = await open()
    await session.submit(`function step(n: number) { return n + 1 }
      const log = [] as string[]
      class Point { constructor(readonly x: number) {} }`)
    await session.eval(`let count = 0; import { call, note, read, make, kinds } from "./live.ts"`)
    expect(await session.run(`[call(1), note("a"), read(), make().x, kinds()]`)).toEqual([
      2,
      1,
      0,
      1,
      ["function", "number", "object"],
    ])
    // A redefinition, an assignment in the same eval, a local that a loop counts.
    await session.submit("function step(n: number) { return n * 100 }")
    expect(
      await session.run(
        `count = 5; const before = read(); for (let i = 0; i < 3; i++) count++; [call(2), before, read()]`,
      ),
    ).toEqual([200, 5, 8])
    expect(await session.run(`make() instanceof Point`)).toBe(true)
    // What a name is declared as later.
    await session.eval(`let step = () => "a local"`)
    expect(await session.run(`call(1)`)).toBe("a local")
  })

  test("is its own bindings alone: neither globals nor names that it does not have", async () => {
    write(
      "missing.mjs",
      `import { nowhere, parseInt as own } from "nacre:session"
export const read = () => nowhere
export const isThere = () => typeof nowhere
export const builtIn = () => own`,
    )
    const session = await open()
    await session.eval(`Workspace.bind("nowhere", 1); import { read, isThere, builtIn } from "./missing.mjs"`)
    const { error } = await session.eval(`read()`)
    expect(error).toMatchObject({
      name: "ReferenceError",
      message: `nowhere is not defined: the session has no such name, which ${folder}/missing.mjs imports from nacre:session`,
    })
    expect(error!.stack[0]).toMatchObject({ file: join(folder, "missing.mjs"), line: 2, column: 27 })
    expect(await session.run(`isThere()`)).toBe("undefined")
    expect((await session.eval(`builtIn()`)).error?.name).toBe("ReferenceError")
    expect(await session.run(`let nowhere = 2; [read(), isThere()]`)).toEqual([2, "number"])
  })

  test("cannot be assigned to from there", async () => {
    write(
      "assigns.mjs",
      `import { count } from "nacre:session"\nexport const set = () => { count = 1 }\nexport const more = () => { count++ }`,
    )
    const session = await open()
    await session.eval(`let count = 0; import { set, more } from "./assigns.mjs"`)
    for (const call of ["set()", "more()"]) {
      const { error } = await session.eval(call)
      expect(error).toMatchObject({
        name: "TypeError",
        message: expect.stringMatching(/^Assignment to constant variable: count/),
      })
    }
    expect(await session.run("count")).toBe(0)
  })

  test("is there as a namespace and by import(), also of names that come later", async () => {
    write(
      "whole.mjs",
      `import * as session from "nacre:session"
export const has = () => Object.keys(session)
export const call = () => session.later?.()
export const dynamic = async () => (await import("nacre:session")).later()`,
    )
    const session = await open()
    await session.eval(`import { has, call, dynamic } from "./whole.mjs"; let x = 1`)
    expect(await session.run(`[has().includes("x"), has().includes("later"), call()]`)).toEqual([
      true,
      false,
      undefined,
    ])
    await session.eval(`function later() { return "here" }`)
    expect(await session.run(`[has().includes("later"), call(), await dynamic()]`)).toEqual([true, "here", "here"])
  })

  test("in a cycle: a submission imports a file that uses what the submission declares", async () => {
    write(
      "cycle.ts",
      `import { down } from "nacre:session"\nexport const up = (n: number): string => n === 0 ? "bottom" : down(n - 1)`,
    )
    const session = await open()
    const code = `import { up } from "./cycle.ts"; function down(n: number): string { return up(n) }; up(5)`
    expect(await session.run(code)).toBe("bottom")
    await under.killHosts()
    expect(await session.run(`down(4)`)).toBe("bottom")
  })

  test("also for files that need each other", async () => {
    write(
      "one.mjs",
      `import { two } from "./two.mjs"; import { name } from "nacre:session"\nexport function one() { return name }\nexport const both = () => [one(), two]`,
    )
    write("two.mjs", `import { one } from "./one.mjs"\nexport const two = one()`)
    const session = await open()
    await session.eval("let name = 1")
    expect(await session.run(`import { both } from "./one.mjs"; both()`)).toEqual([1, 1])
    await under.killHosts()
    expect(await session.run(`both()`)).toEqual([1, 1])
  })
})

describe("what a file does to its session", () => {
  test("is committed, whatever the eval mentions", async () => {
    write(
      "writes.mjs",
      `import { log, nested } from "nacre:session"\nexport const add = (text) => { log.push(text); nested.deep.list.push(text) }`,
    )
    const session = await open()
    await session.eval(
      `const log = []; let nested = { deep: { list: [] } }; import { add } from "./writes.mjs"; const held = { call: add }`,
    )
    await session.eval(`add("first")`)
    await session.eval(`held.call("second")`)
    await under.killHosts()
    expect(await session.run(`[log, nested.deep.list]`)).toEqual([
      ["first", "second"],
      ["first", "second"],
    ])
  })

  test("by the whole namespace, too", async () => {
    write(
      "writes-all.mjs",
      `export const add = async () => { const all = await import("nacre:session"); all.log.push(1) }`,
    )
    const session = await open()
    await session.eval(`const log = []; import { add } from "./writes-all.mjs"`)
    await session.eval(`await add()`)
    await session.eval(`await add()`)
    await under.killHosts()
    expect(await session.run(`log`)).toEqual([1, 1])
  })

  test("a local that the same submission declares is seen by the file that it imports", async () => {
    write("sees.mjs", `import { x } from "nacre:session"\nexport const see = () => x`)
    const session = await open()
    expect(
      await session.run(`import { see } from "./sees.mjs"; let x = 1; const first = see(); x = 2; [first, see()]`),
    ).toEqual([1, 2])
  })
})

describe("a change", () => {
  test("that removes what a file uses is rejected, at the import", async () => {
    write("uses.mjs", `import { step } from "nacre:session"\nexport const run = () => step()`)
    const session = await open({ check: "syntax" })
    await session.submit("function step() { return 1 }")
    await session.eval(`import { run } from "./uses.mjs"`)
    const rejection = rejectionOf(await session.submit({ remove: ["step"] }))
    expect(rejection).toMatchObject({ kind: "definition_has_dependents", keys: ["run"] })
    expect((await session.eval(`Session.current.bindings.removeKey("step")`)).rejected).toEqual([
      { op: "removeKey", key: "step", kind: "definition_has_dependents" },
    ])
    expect((await session.submit({ remove: ["run", "step"] })).status).toBe("committed")
  })

  test("makes data anew that was made through a file", async () => {
    write("price.mjs", `import { rate } from "nacre:session"\nexport const price = (n) => n * rate()`)
    const session = await open({ check: "syntax" })
    await session.submit("function rate() { return 2 }")
    await session.eval(`import { price } from "./price.mjs"`)
    await session.submit("const total = price(10)")
    expect(await session.run("total")).toBe(20)
    const result = await session.submit("function rate() { return 3 }")
    expect(result).toMatchObject({ status: "committed", record: { reinstantiated: ["total"] } })
    expect(await session.run("total")).toBe(30)
  })

  test("must not read a local through a file while a definition is made", async () => {
    write("local.mjs", `import { x } from "nacre:session"\nexport const read = () => x`)
    const session = await open({ check: "syntax" })
    await session.eval(`let x = 1; import { read } from "./local.mjs"`)
    expect(rejectionOf(await session.submit("const copy = read()")).kind).toBe("local_read")
  })

  test("is checked in the file that uses it, at the file's own lines", async () => {
    write(
      "typed.ts",
      `import { step } from "nacre:session"\nexport const run = (n: number) => step(n).toFixed(2)\nexport const other = () => step(1)`,
    )
    const session = await open()
    await session.submit("function step(n: number) { return n + 1 }")
    await session.eval(`import { run, other } from "./typed.ts"`)
    await session.submit("function user() { return other() * 2 }")
    expect((await session.submit("function step(n: number) { return n + 2 }")).status).toBe("committed")
    const rejection = rejectionOf(await session.submit("function step(n: number) { return String(n) }"))
    expect(rejection.kind).toBe("check_failed")
    expect(rejection.diagnostics).toContainEqual(
      expect.objectContaining({ file: join(folder, "typed.ts"), line: 2, column: 43, code: 2551 }),
    )
    // Through the file, a definition.
    expect(rejection.diagnostics).toContainEqual(expect.objectContaining({ key: "user", code: 2362 }))
    // What the file exports has its type in the session.
    const wrong = rejectionOf(await session.submit("function bad() { return run('a') }"))
    expect(wrong.diagnostics).toEqual([expect.objectContaining({ key: "bad", code: 2345 })])
  })

  test("that takes a type away is rejected for the file that uses it", async () => {
    write("rows.ts", `import type { Row } from "nacre:session"\nexport const idOf = (row: Row) => row.id`)
    const session = await open()
    await session.submit("interface Row { id: number }")
    await session.eval(`import { idOf } from "./rows.ts"`)
    const rejection = rejectionOf(await session.submit("interface Row { name: string }"))
    expect(rejection.diagnostics).toEqual([
      expect.objectContaining({ file: join(folder, "rows.ts"), line: 2, code: 2339 }),
    ])
    expect((await session.submit("interface Row { id: number; name: string }")).status).toBe("committed")
  })

  test("while an eval is parked in the file shows to it at its next call of the name after it ends", async () => {
    write(
      "parks.mjs",
      `import { step } from "nacre:session"\nexport const run = async (hold) => { const first = step(); await hold(); return [first, step()] }`,
    )
    const session = await open({ check: "syntax" })
    await session.submit("function step() { return 1 }")
    await session.eval(`import { run } from "./parks.mjs"`)
    const running = session.eval(`await run(() => tools.hold("parks"))`)
    const { gate } = await under.parked("parks")
    const changed = await session.submit("function step() { return 2 }")
    expect(changed.status).toBe("committed")
    gate.open()
    // An eval stays in its revision.
    expect((await running).value?.data).toEqual([1, 1])
    expect(await session.run(`await run(async () => {})`)).toEqual([2, 2])
  })
})

test("a file is asked for its session's names in asides as well: a candidate that is tried, and one made beside a parked eval", async () => {
  write("tried.mjs", `import { step } from "nacre:session"\nexport const at = step()\nexport const run = () => step()`)
  const session = await open({ check: "syntax" })
  await session.submit("function step() { return 1 }")
  await session.eval(`import { at, run } from "./tried.mjs"`)
  const proposed = await session.proposeChange("function step() { return 2 }\nconst made = run()")
  if (proposed.status !== "proposed") throw new Error(JSON.stringify(proposed))
  const tried = await session.evaluateCandidate(proposed.candidate, "[run(), made]")
  expect(tried.value?.data).toEqual([2, 2])
  expect(await session.run("[run(), typeof made]")).toEqual([1, "undefined"])
  const running = session.eval(`await tools.hold("aside"); run()`)
  const { gate } = await under.parked("aside")
  expect((await session.commitChange(proposed.candidate)).status).toBe("committed")
  gate.open()
  expect((await running).value?.data).toBe(1)
  expect(await session.run("[run(), made]")).toEqual([2, 2])
})

test("what a fork and a host that died have of a file's session is their own", async () => {
  write("forks.mjs", `import { count } from "nacre:session"\nexport const read = () => count`)
  const session = await open()
  await session.eval(`let count = 1; import { read } from "./forks.mjs"`)
  const fork = await session.fork()
  await fork.eval("count = 2")
  expect([await session.run("read()"), await fork.run("read()")]).toEqual([1, 2])
  await under.killHosts()
  expect([await session.run("read()"), await fork.run("read()")]).toEqual([1, 2])
})

describe("a file that reads names while it is evaluated", () => {
  test("is made again after the session stands", async () => {
    write(
      "eager.ts",
      `import { rate, names } from "nacre:session"\nexport const doubled = rate() * 2\nexport class Base { kind() { return names[0] } }`,
    )
    const session = await open()
    await session.submit("function rate() { return 21 }\nconst names = ['base']")
    await session.eval(`import { doubled, Base } from "./eager.ts"`)
    await session.eval(
      `class Own extends Base { twice() { return doubled * 2 } }; function show() { return new Own().kind() + new Own().twice() }; const list = [Base]`,
    )
    const code = `[doubled, show(), list[0] === Base]`
    expect(await session.run(code)).toEqual([42, "base84", true])
    await under.killHosts()
    const outcome = await session.eval(code)
    expect(outcome).toMatchObject({ status: "ok", lost: [], value: { data: [42, "base84", true] } })
  })

  test("keeps what it was made with, which is told, until it is imported again", async () => {
    write("copies.mjs", `import { rate } from "nacre:session"\nexport const table = { rate }`)
    const session = await open({ check: "syntax" })
    await session.submit("function rate() { return 1 }")
    await session.eval(`import { table } from "./copies.mjs"`)
    await session.submit("function rate() { return 2 }")
    const outcome = await session.eval(`table.rate()`)
    expect(outcome.value?.data).toBe(1)
    expect(outcome.stale).toEqual([
      "table ('./copies.mjs' was evaluated with 'rate' as it was before; import it again)",
    ])
    expect(await session.run(`import { table } from "./copies.mjs"; table.rate()`)).toBe(2)
    const declared = await session.eval(`function rate() { return 3 }`)
    expect(declared.stale).toHaveLength(1)
    // A realm that is built anew evaluates it anew.
    await under.killHosts()
    expect(await session.run(`table.rate()`)).toBe(3)
  })
})

describe("what is refused", () => {
  test.each([
    [
      "code of the session",
      `import { x } from "nacre:session"`,
      /^'nacre:session' is there for files: code of the session itself has its names/,
    ],
    ["import() of the session", `await import("nacre:session")`, /^'nacre:session' is there for files/],
    [
      "require",
      `require("nacre:session")`,
      /^'nacre:session' is there for ES modules that a session imports, and not by require, as this session asks for it/,
    ],
    [
      "a CommonJS file",
      `import "./common.cjs"`,
      /^'nacre:session' is there for ES modules that a session imports, and not by require, as .*common.cjs asks/,
    ],
    [
      "require of a file that imports it",
      `import "./outer.cjs"`,
      /^'\.\/live-names.mjs' has names of 'nacre:session' and cannot be had by require, as .*outer.cjs.*use await import/,
    ],
    [
      "import() of a CommonJS file",
      `import late from "./late.cjs"; await late()`,
      /^'nacre:session' is there for the text of ES modules that a session imports; .*CommonJS, cannot have it/,
    ],
    [
      "import() in a text of a file",
      `import { late } from "./made.mjs"; await late()`,
      /^'nacre:session' is there for the text of ES modules/,
    ],
    ["an export of a name", `import "./again.mjs"`, /A file cannot export 'x' again, since what they mean changes/],
    ["a file that does not parse", `import "./broken.mjs"`, /broken.mjs:2:/],
  ])("for %s", async (_, code, message) => {
    write("common.cjs", `require("nacre:session")`)
    write("live-names.mjs", `import { x } from "nacre:session"; export const f = () => x`)
    write("late.cjs", `module.exports = () => import("nacre:session")`)
    write("made.mjs", `export const late = () => (0, eval)('import("nacre:session")')`)
    write("outer.cjs", `require("./live-names.mjs")`)
    write("again.mjs", `import { x } from "nacre:session"\nexport { x }`)
    write("broken.mjs", `import { x } from "nacre:session"\nexport const y = (`)
    const session = await open()
    const { error } = await session.eval(`let x = 1\n${code}`)
    expect(error?.kind).toBe("module_invalid")
    expect(error?.message).toMatch(message)
  })

  test("for a prelude, and for a file that one imports", async () => {
    write("of-prelude.mjs", `import { x } from "nacre:session"\nexport const read = () => x`)
    for (const [name, from] of [
      ["direct", "nacre:session"],
      ["through", "./of-prelude.mjs"],
    ]) {
      write(`${name}.ts`, `import * as it from "${from}"\nexport const all = it`)
      const loading = under.nacre.loadPrelude({ file: join(folder, `${name}.ts`), workspace: "preludes" })
      await expect(loading).rejects.toThrow(/a prelude sees nothing of the sessions that have it/)
    }
  })

  test("for profiles without imports", async () => {
    const session = await open({ profile: "standard" })
    expect((await session.eval(`import { x } from "./live.ts"`)).error?.kind).toBe("capability_denied")
  })
})

test("an earlier revision is what a file sees in a call of it; before its import the file's names are gone", async () => {
  write("past.mjs", `import { step } from "nacre:session"\nexport const run = () => step()`)
  const session = await open({ check: "syntax" })
  await session.submit("function step() { return 'old' }")
  const { number: before } = session.revision
  await session.eval(`import { run } from "./past.mjs"`)
  await session.submit("function use() { return run() }")
  const { number: then } = session.revision
  await session.submit("function step() { return 'new' }")
  expect((await session.callBinding({ name: "use" })).value?.data).toBe("new")
  expect((await session.callBinding({ name: "use", revision: then })).value?.data).toBe("old")
  const digest = session.history().find(({ revision }) => revision === before)!.digest
  expect((await session.restoreRevision(before)).status).toBe("committed")
  expect(session.revision.digest).toBe(digest)
  expect(await session.run("[typeof run, typeof use, step()]")).toEqual(["undefined", "undefined", "old"])
  await under.killHosts()
  expect(await session.run("[typeof run, step()]")).toEqual(["undefined", "old"])
})
