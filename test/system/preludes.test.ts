// Preludes of a workspace: what they export is known in every session of it by bare name, and follows when they are loaded again.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import type { Session } from "nacre"
import { until } from "../until.ts"
import { refusal, useNacre } from "./nacre-under-test.ts"

const under = useNacre({ hosts: { min: 2, max: 4 }, limits: { changeTimeoutMs: 1_500, residentsPerWorkerMax: 4 } })

const folder = mkdtempSync(join(tmpdir(), "nacre-preludes-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
function file(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

let workspaces = 0
const fresh = (): string => `w${++workspaces}`

const point = (who: string): string => `
  export class Point {
    #seen = 0
    static made = 0
    constructor(public x: number, public y: number) {}
    see() { return ++this.#seen }
    who() { return "${who}" }
  }
  export const unit = "${who}"`

async function value(session: Session, source: string): Promise<unknown> {
  const { value: found, error } = await session.eval(source)
  return error === undefined ? found?.data : `${error.kind ?? error.name}: ${error.message}`
}

test("what a prelude exports is known by bare name, in the registry, and to resolve", async () => {
  const workspace = fresh()
  const loaded = await under.nacre.loadPrelude({ name: "geometry", source: point("a"), workspace })
  expect(loaded).toEqual({ name: "geometry", exports: ["Point", "unit"], hasImports: false })
  expect(under.nacre.preludes(workspace)).toEqual([loaded])
  for (const profile of ["minimal", "standard", "full"] as const) {
    const session = await under.open({ workspace, profile })
    expect(
      await value(
        session,
        `[new Point(1, 2).who(), unit, Workspace.classes.keys(), Workspace.classes.at("Point") === Point, Session.current.resolve("unit")]`,
      ),
    ).toEqual(["a", "a", ["Session", "BindingsView", "Point", "unit"], true, "a"])
    await session.close()
  }
  expect(
    await refusal(under.nacre.loadPrelude({ name: "g2", source: "export const unit = 1", workspace })),
  ).toMatchObject({
    kind: "name_conflict",
  })
  expect(await under.nacre.removePrelude("geometry", workspace)).toBe(true)
  expect(await under.nacre.removePrelude("geometry", workspace)).toBe(false)
})

test("a name is a local before a global before what a prelude exports", async () => {
  const workspace = fresh()
  const session = await under.open({ workspace })
  const other = await under.open({ workspace })
  await session.run(`Workspace.bind("rank", "global")`)
  await under.nacre.loadPrelude({
    name: "p",
    source: `export const rank = "prelude"; export const own = () => rank`,
    workspace,
  })
  const seen = `[rank, typeof rank, Session.current.resolve("rank"), Workspace.classes.at("rank"), own()]`
  expect(await value(session, seen)).toEqual(["global", "string", "global", "prelude", "prelude"])
  await session.run(`let rank = "local"`)
  expect(await value(session, seen)).toEqual(["local", "string", "local", "prelude", "prelude"])
  expect(await value(other, `Workspace.bind("rank", 1)`)).toMatch(/^name_conflict: .*prelude 'p'/)
  await other.run(`Workspace.unbind("rank")`)
  expect(await value(other, seen)).toEqual(["prelude", "string", "prelude", "prelude", "prelude"])
  expect(await value(other, `rank += 1`)).toMatch(/^ReferenceError/)
  expect(await value(other, `rank = "mine"; rank`)).toBe("mine")
  expect(await value(session, `delete (Session.current.bindings.removeKey("rank"))`)).toBe(true)
  expect(await value(session, seen)).toEqual(["prelude", "string", "prelude", "prelude", "prelude"])
})

const refused: [what: string, options: { source?: string; file?: string }, kind: string, message: RegExp][] = [
  ["does not parse", { source: "export const a =\n  1 +" }, "prelude_invalid", /prelude:bad:2:6/],
  ["throws", { source: "export const a = 1\nnull.b" }, "prelude_invalid", /TypeError: .*\n\s+at prelude:bad:2:/],
  ["exports nothing", { source: "const a = 1" }, "prelude_invalid", /exports at least one name/],
  [
    "waits",
    { source: "export const a = 1\nawait new Promise(() => {})" },
    "prelude_invalid",
    /cannot wait.*2:1|2:1.*cannot wait/s,
  ],
  ["computes for ever", { source: "export const a = 1\nfor (;;);" }, "prelude_invalid", /within 1500 ms/],
  ["calls out", { source: "export const a = 1\nconsole.log(a)" }, "prelude_invalid", /calls out/],
  ["has no name for what it exports", { source: "export default class {}" }, "prelude_invalid", /has a name/],
  [
    "exports what it does not declare",
    { source: "export { nope }" },
    "prelude_invalid",
    /'nope' is exported and not declared/,
  ],
  [
    "is too long to be read",
    { source: `export const a = 1\n${"f();".repeat(2 ** 19 + 1)}` },
    "source_too_large",
    /the limit is/,
  ],
  ["re-exports", { source: "export { readFile } from 'node:fs'" }, "prelude_invalid", /re-export/],
  ["exports a name of the language", { source: "export class Map {}" }, "name_conflict", /'Map'/],
  ["exports a singleton", { source: "export const Workspace = 1" }, "name_conflict", /'Workspace'/],
  ["exports a class of the registry", { source: "export const Session = 1" }, "name_conflict", /'Session'/],
  ["exports a name of every session", { source: "export const _ = 1" }, "name_conflict", /'_'/],
  ["is no file", { file: join(folder, "none.ts") }, "prelude_invalid", /none\.ts/],
  [
    "imports what is not there",
    { source: `import { a } from "./none.ts"\nexport const b = a` },
    "prelude_invalid",
    /none\.ts/,
  ],
  [
    "exhausts its stack",
    { source: "export const a = (function f() { return f() })()" },
    "prelude_invalid",
    /RangeError/,
  ],
]

test.each(refused)("a prelude that %s is refused and changes nothing", async (_what, options, kind, message) => {
  const workspace = fresh()
  await under.nacre.loadPrelude({ name: "bad", source: "export const a = 'good'", workspace })
  const session = await under.open({ workspace })
  const error = await refusal(under.nacre.loadPrelude({ name: "bad", workspace, ...options }))
  expect([error.kind, error.message]).toEqual([kind, expect.stringMatching(message)])
  expect(await value(session, "a")).toBe("good")
  expect(under.nacre.preludes(workspace)).toEqual([{ name: "bad", exports: ["a"], hasImports: false }])
})

test("there is no session while a prelude is loaded", async () => {
  const workspace = fresh()
  const source = `export const seen = [typeof Session.current, typeof Workspace.currentSession]; export const now = () => Session.current?.id`
  await under.nacre.loadPrelude({ name: "p", source, workspace })
  const session = await under.open({ workspace })
  expect(await value(session, "[seen, now() === Session.current.id]")).toEqual([["undefined", "undefined"], true])
})

describe("loaded again", () => {
  test("under a parked eval, which stays with what there was; the next one sees the new text and moved instances", async () => {
    const workspace = fresh()
    await under.nacre.loadPrelude({ name: "geometry", source: point("a"), workspace })
    const session = await under.open({ workspace })
    await session.run("const p = new Point(3, 4); p.see(); let n = 1")
    const parked = session.eval(
      `const before = unit; await tools.hold("again"); [before, unit, p.who(), new Point(0, 0).who()]`,
    )
    const { gate } = await under.parked("again")
    const other = await under.open({ workspace })
    await under.nacre.loadPrelude({ name: "geometry", source: point("b"), workspace })
    expect(await value(other, "unit")).toBe("b")
    gate.open()
    expect((await parked).value?.data).toEqual(["a", "a", "a", "a"])
    const next = await session.eval("[unit, p.who(), p instanceof Point, p.see(), p.x, n]")
    expect([next.value?.data, next.stale]).toEqual([["b", "b", true, 2, 3, 1], []])
  })

  test("with fifty sessions on several hosts, some of them asleep, some of them killed", async () => {
    const workspace = fresh()
    await under.nacre.loadPrelude({ name: "geometry", source: point("0"), workspace })
    const sessions: Session[] = []
    for (let index = 0; index < 50; index++) sessions.push(await under.open({ workspace }))
    await Promise.all(
      sessions.map((it, index) => it.run(`const p = new Point(${index}, 0), see = () => p.see(); let round = 0`)),
    )
    for (let round = 1; round <= 4; round++) {
      const busy = sessions.map((it) => it.eval(`round += 1; [unit, p.who(), see()]`))
      const loading = under.nacre.loadPrelude({ name: "geometry", source: point(String(round)), workspace })
      if (round % 2 === 0) for (const pid of under.hostPids()) process.kill(pid, "SIGKILL")
      const outcomes = await Promise.all(busy)
      for (const { status, value: found } of outcomes) {
        if (status === "crashed") continue
        // Whole: never one text's constant beside another's class.
        const [unit, who] = found!.data as [string, string]
        expect(unit).toBe(who)
      }
      const loaded = await loading.catch((error: { kind: string }) => error)
      if ("kind" in loaded) {
        expect(loaded.kind).toBe("host_unavailable")
        await under.nacre.loadPrelude({ name: "geometry", source: point(String(round)), workspace })
      }
      const after = await Promise.all(sessions.map((it) => it.eval(`[unit, p.who(), p.x, p instanceof Point]`)))
      for (const [index, { value: found, lost }] of after.entries()) {
        expect([found?.data, lost]).toEqual([[String(round), String(round), index, true], []])
      }
    }
    await Promise.all(sessions.map((it) => it.close()))
  })

  test("a nested prelude follows the one that it stands on", async () => {
    const workspace = fresh()
    await under.nacre.loadPrelude({ name: "base", source: `export class Base { who() { return "a" } }`, workspace })
    await under.nacre.loadPrelude({
      name: "top",
      source: `export class Top extends Base {}\nexport const asks = () => later()`,
      workspace,
    })
    const session = await under.open({ workspace })
    await session.run("const t = new Top()")
    // One uses what is loaded after it, and the other way round: circular, and found when it is called.
    await under.nacre.loadPrelude({
      name: "late",
      source: `export const later = () => "late " + new Top().who()`,
      workspace,
    })
    expect(await value(session, "[t.who(), asks()]")).toEqual(["a", "late a"])
    await under.nacre.loadPrelude({ name: "base", source: `export class Base { who() { return "b" } }`, workspace })
    expect(await value(session, "[t.who(), t instanceof Base, asks()]")).toEqual(["b", true, "late b"])
    const error = await refusal(under.nacre.removePrelude("base", workspace))
    expect([error.kind, error.message]).toEqual(["prelude_invalid", expect.stringMatching(/'base'.*another/s)])
  })
})

test("a file with imports is for sessions of profile full; its modules are found beside it", async () => {
  const workspace = fresh()
  file(
    "helper.ts",
    `import { sep } from "node:path"\nexport const joined = (...parts: string[]): string => parts.join(sep)`,
  )
  const path = file(
    "paths.ts",
    `import { joined } from "./helper.ts"\nexport const join2 = (a: string, b: string): string => joined(a, b)\nexport class Path { at = joined("a", "b") }`,
  )
  const loaded = await under.nacre.loadPrelude({ file: path, workspace })
  expect(loaded).toEqual({ name: "paths", exports: ["join2", "Path"], hasImports: true })
  const full = await under.open({ workspace, profile: "full" })
  expect(await value(full, `const kept = new Path(); [join2("x", "y"), kept.at]`)).toEqual(["x/y", "a/b"])
  const standard = await under.open({ workspace })
  expect(await value(standard, "typeof join2")).toBe("undefined")
  for (const pid of under.hostPids()) process.kill(pid, "SIGKILL")
  await until("its realm to go", () => !full.isResident)
  expect(await value(full, `[join2("x", "z"), kept.at, kept instanceof Path]`)).toEqual(["x/z", "a/b", true])
  file("helper.ts", `export const joined = (...parts: string[]): string => parts.join("+")`)
  await under.nacre.loadPrelude({ file: path, workspace })
  expect(await value(full, `[join2("x", "z"), kept.at, kept instanceof Path]`)).toEqual(["x+z", "a/b", true])
  file("helper.ts", `export const joined = 1\nawait new Promise(() => {})`)
  expect(await refusal(under.nacre.loadPrelude({ file: path, workspace }))).toMatchObject({ kind: "prelude_invalid" })
  expect(await value(full, `join2("x", "z")`)).toBe("x+z")
})

test("instances of its classes go through globals and between sessions, frozen", async () => {
  const workspace = fresh()
  await under.nacre.loadPrelude({ name: "geometry", source: point("a"), workspace })
  const giver = await under.open({ workspace, id: "giver" })
  const taker = await under.open({ workspace })
  await giver.eval(
    `const p = new Point(1, 2); p.see(); Workspace.bind("shared", [p, { p }]); class Own {}; const o = new Own()`,
  )
  expect(
    await value(
      taker,
      `const [q, { p: same }] = shared, r = Session.withId("giver").bindings.at("p");
       [q.who(), q === same, q instanceof Point, r instanceof Point, r.x, Object.isFrozen(q), q.see(), r.see()]`,
    ),
  ).toEqual(["a", true, true, true, 1, true, 2, 2])
  // A private field cannot be frozen: what an eval does to its copy is gone with it.
  expect(await value(taker, `shared[0].see()`)).toBe(2)
  expect(await value(taker, `Session.withId("giver").bindings.at("o")`)).toMatch(/^value_not_transferable/)
  await under.nacre.loadPrelude({ name: "geometry", source: point("b"), workspace })
  expect(await value(taker, `[shared[0].who(), shared[0].x]`)).toEqual(["b", 1])
})

test("checks, completions and hover know what preludes export, and follow when it changes", async () => {
  const workspace = fresh()
  const source = `
    /** A place. */
    export class Point<T = number> { constructor(public x: T, public y: T) {} map<U>(f: (at: T) => U): Point<U> { return new Point(f(this.x), f(this.y)) } }
    export const origin = new Point(0, 0)
    export type Pair = [number, number]
    const hidden = 1`
  await under.nacre.loadPrelude({ name: "geometry", source, workspace })
  await under.nacre.loadPrelude({
    name: "top",
    source: "export class Top extends Point<string> { label = origin.x }",
    workspace,
  })
  const session = await under.open({ workspace, check: "types" })
  expect(
    await value(
      session,
      `const p: Point<string> = origin.map(String); const pair: Pair = [1, 2]; p.x + new Top("a", "b").label`,
    ),
  ).toBe("00")
  expect(await value(session, `new Point("a", "b").x.toFixed()`)).toMatch(
    /^TypeCheckError: TS2551|^TypeCheckError: TS2339/,
  )
  expect(await value(session, `hidden`)).toMatch(/^TypeCheckError: TS2304/)
  expect(await value(session, `p.x.toFixed()`)).toMatch(/^TypeCheckError: TS2551|^TypeCheckError: TS2339/)
  const submitted = await session.submit({
    source:
      "const middle = (a: Point, b: Point) => new Point((a.x + b.x) / 2, 0); class Far extends Top { far = true }",
  })
  expect(submitted).toMatchObject({ status: "committed" })
  expect(await value(session, `middle(origin, origin).x`)).toBe(0)
  expect((await session.complete("Poi")).items).toEqual([{ name: "Point", kind: "class" }])
  expect((await session.complete("origin.")).items.map((it) => it.name)).toEqual(["map", "x", "y"])
  expect(await session.hover("new Point(1, 2)", 5)).toMatchObject({ documentation: "A place." })
  await under.nacre.loadPrelude({
    name: "geometry",
    source: source.replace("y: T) {}", "y: T, public z = 1) {}"),
    workspace,
  })
  expect(await value(session, `origin.z.toFixed()`)).toBe("1")
  expect(await session.submit({ source: "const bad: string = middle(origin, origin).z" })).toMatchObject({
    status: "rejected",
  })
})

test("the digest of a revision says what preludes it stands on, and an import tells which are others", async () => {
  const [from, same, other] = [fresh(), fresh(), fresh()]
  for (const workspace of [from, same])
    await under.nacre.loadPrelude({ name: "geometry", source: point("a"), workspace })
  await under.nacre.loadPrelude({ name: "geometry", source: point("b"), workspace: other })
  await under.nacre.loadPrelude({ name: "more", source: "export const more = 1", workspace: other })
  const origin = await under.open({ workspace: from })
  await origin.submit({ source: "class Far extends Point { far = true }\nfunction f() { return new Far(1, 2).who() }" })
  const exported = origin.exportRevision()
  expect(exported.digest).toBe(origin.revision.digest)
  expect(exported.preludes).toEqual([{ name: "geometry", digest: expect.stringMatching(/^[0-9a-f]{64}$/) }])
  const twin = await under.open({ workspace: same })
  expect(await twin.importRevision(exported)).not.toHaveProperty("differs")
  expect(twin.revision.digest).toBe(exported.digest)
  expect(await value(twin, "f()")).toBe("a")
  const stranger = await under.open({ workspace: other })
  expect(await stranger.importRevision(exported)).toMatchObject({
    status: "committed",
    differs: ["prelude 'geometry' is another text", "prelude 'more' is loaded besides"],
  })
  expect(stranger.revision.digest).not.toBe(exported.digest)
  expect(await value(stranger, "f()")).toBe("b")
  expect(await stranger.importRevision({ ...exported, preludes: [] })).toMatchObject({ status: "rejected" })
})

test("start loads preludes, each into its workspace, and refuses with what is wrong", async () => {
  const { Nacre } = await import("nacre")
  const bad = { name: "p", source: "export const Map = 1" }
  expect(await refusal(Nacre.start({ hosts: { min: 1, max: 1 }, preludes: [bad] }))).toMatchObject({
    kind: "name_conflict",
  })
  await using nacre = await Nacre.start({
    hosts: { min: 1, max: 2 },
    preludes: [
      { name: "p", source: "export const here = 'main'" },
      { name: "p", source: "export const here = 'acme'", workspace: "acme" },
    ],
  })
  for (const workspace of ["main", "acme"]) {
    const session = await nacre.open({ workspace })
    expect(await session.run("here")).toBe(workspace)
  }
  expect(nacre.preludes("none")).toEqual([])
})
