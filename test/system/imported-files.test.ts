// Imported files as part of a revision: its digest says what they were, wherever they lie, and what differs is told.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { Committed, ExportedRevision, Rejected, Session } from "nacre"
import { useNacre } from "./nacre-under-test.ts"

const under = useNacre({ hosts: { min: 1, max: 2 } })
let root: string

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "nacre-imported-files-")))
})
afterAll(() => rmSync(root, { recursive: true, force: true }))

function write(folder: string, files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    const at = join(root, folder, path)
    mkdirSync(dirname(at), { recursive: true })
    writeFileSync(at, text)
  }
}

const project = {
  "lib.mjs": `import { base } from "./deep/base.mjs"; import { pkg } from "pkg"; export const run = () => base + pkg`,
  "deep/base.mjs": `export const base = 1`,
  "node_modules/pkg/package.json": `{ "name": "pkg", "type": "module", "exports": "./main.js" }`,
  "node_modules/pkg/main.js": `export * from "./other.js"`,
  "node_modules/pkg/other.js": `export const pkg = 10`,
}

const open = (folder: string): Promise<Session> =>
  under.open({ profile: "full", directory: join(root, folder), check: "syntax" })

/** A session in a folder with the project's files, of which some are others. */
async function importing(folder: string, others: Record<string, string> = {}): Promise<Session> {
  write(folder, { ...project, ...others })
  const session = await open(folder)
  await session.submit("function own() { return 5 }")
  await session.eval(`import { run } from "./lib.mjs"`)
  await session.submit("function use() { return run() + own() }")
  return session
}

test("the digest is that of the contents, wherever they lie", async () => {
  const here = await importing("here")
  const there = await importing("far/away/there")
  expect(there.revision.digest).toBe(here.revision.digest)
  const [change] = here.history()[1]!.changes
  expect(change).toMatchObject({ op: "set", key: "run", kind: "import" })
  expect(change!.files!.map(({ name }) => name)).toEqual(["./lib.mjs", "./deep/base.mjs", "pkg"])
  expect(JSON.stringify(here.exportRevision().declarations.map(({ files }) => files))).not.toContain(root)

  for (const path of ["lib.mjs", "deep/base.mjs", "node_modules/pkg/other.js"]) {
    const text = `${project[path as keyof typeof project]} // changed`
    const other = await importing(`changed-${path.replaceAll("/", "-")}`, { [path]: text })
    expect(other.revision.digest, path).not.toBe(here.revision.digest)
  }
})

test("a file that is imported again after it has changed makes a revision, and so does one that a new realm finds changed", async () => {
  const session = await importing("moves")
  const { number, digest } = session.revision
  await session.eval(`import { run } from "./lib.mjs"`)
  expect(session.revision).toEqual({ number, digest })
  write("moves", { "deep/base.mjs": `export const base = 2` })
  await session.eval("1")
  expect(session.revision).toEqual({ number, digest })

  await session.eval(`import { run } from "./lib.mjs"`)
  const [record] = session.history(number)
  expect(record).toMatchObject({ cause: "eval", revision: number + 1, changes: [{ op: "set", key: "run" }] })
  expect(session.revision.digest).not.toBe(digest)

  // As it was: the digest of then.
  write("moves", { "deep/base.mjs": `export const base = 1` })
  await under.killHosts()
  const outcome = await session.eval("use()")
  expect(outcome).toMatchObject({ value: { data: 16 }, reloaded: ["run"] })
  expect(session.revision).toEqual({ number: number + 2, digest })
  // Once is enough.
  await under.killHosts()
  expect((await session.eval("use()")).reloaded).toEqual([])
  expect(session.revision).toEqual({ number: number + 2, digest })
})

test("an exported revision has the same digest elsewhere beside the same files, and says which are missing or others", async () => {
  const exported = JSON.parse(JSON.stringify((await importing("exports")).exportRevision())) as ExportedRevision
  write("same", project)
  const same = await open("same")
  expect(await same.importRevision(exported)).toMatchObject({ status: "committed" })
  expect(same.revision.digest).toBe(exported.digest)
  expect(await same.run("use()")).toBe(16)

  write("others", {
    ...project,
    "deep/base.mjs": `export const base = 7`,
    "node_modules/pkg/other.js": `export const pkg = 20`,
  })
  const others = await open("others")
  const imported = (await others.importRevision(exported)) as Committed
  expect(imported).toMatchObject({
    status: "committed",
    differs: ["'./deep/base.mjs' of import 'run' is another text", "'pkg' of import 'run' is another text"],
  })
  expect(others.revision.digest).not.toBe(exported.digest)
  expect(await others.run("use()")).toBe(32)

  write("missing", { "lib.mjs": project["lib.mjs"] })
  const missing = await open("missing")
  const { rejection } = (await missing.importRevision(exported)) as Rejected
  expect(rejection).toMatchObject({ kind: "threw", keys: ["run"] })
  expect(rejection.message).toMatch(
    /^What the export imports cannot be imported here: Cannot find '\.\/deep\/base.mjs', which .*lib.mjs:1:22 asks for/,
  )
  expect(missing.revision.number).toBe(0)

  const changed = structuredClone(exported)
  Object.assign(changed.declarations.find(({ key }) => key === "run")!.files![0]!, { digest: "0" })
  expect(((await same.importRevision(changed)) as Rejected).rejection.kind).toBe("invalid")
})

test("what files were cannot be restored: the present ones stay, and the result names them", async () => {
  const session = await importing("restores")
  const { number } = session.revision
  write("restores", { "deep/base.mjs": `export const base = 3` })
  await session.eval(`import { run } from "./lib.mjs"`)
  await session.submit("function own() { return 100 }")
  const restored = (await session.restoreRevision(number)) as Committed
  expect(restored).toMatchObject({
    status: "committed",
    differs: ["'./deep/base.mjs' of import 'run' is another text"],
  })
  expect(await session.run("use()")).toBe(18)
})

test("a call of an earlier revision has imports as they are now, also of files that have changed since", async () => {
  const session = await importing("earlier")
  const { number } = session.revision
  write("earlier", { "deep/base.mjs": `export const base = 100` })
  await session.eval(`import { run } from "./lib.mjs"`)
  await session.submit("function own() { return 1000 }")
  const { value, revisionUsed } = await session.callBinding({ name: "use", revision: number })
  expect([value?.data, revisionUsed]).toEqual([115, number])
  expect(await session.run("use()")).toBe(1110)
})
