// The file of what was typed: what is kept, how much of it, and what happens when it cannot be.
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { History, historyMax, historyPath } from "../../../runtime/cli/history.ts"

const folder = mkdtempSync(join(tmpdir(), "history-test-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let count = 0
const fresh = (): string => join(folder, `of-${++count}`, "repl-history")

async function type(path: string, ...lines: string[]): Promise<void> {
  const history = await History.open(path)
  for (const line of lines) history.add(line)
  await history.close()
}

describe("where it is", () => {
  it.each([
    [{ NACRE_REPL_HISTORY: "/elsewhere" }, "/elsewhere"],
    [{ NACRE_REPL_HISTORY: "" }, undefined],
    [{ XDG_STATE_HOME: "/state" }, "/state/nacre/repl-history"],
  ])("%j: %s", (environment, expected) => {
    expect(historyPath(environment)).toBe(expected)
  })

  it.each([{}, { XDG_STATE_HOME: "relative" }, { XDG_STATE_HOME: "" }])("%j: in the home folder", (environment) => {
    expect(historyPath(environment)).toMatch(/^\/.*\/\.local\/state\/nacre\/repl-history$/)
  })
})

it("the newest line comes first the next time", async () => {
  const path = fresh()
  await type(path, "first", "second")
  await type(path, "third")
  expect((await History.open(path)).lines).toEqual(["third", "second", "first"])
})

it("leaves out what is empty, the same again, or very long", async () => {
  const path = fresh()
  await type(path, "", "   ", "a", "a", "b", "x".repeat(10_000), "a  ")
  await type(path, "a")
  expect(readFileSync(path, "utf8")).toBe("a\nb\na\n")
})

it("two prompts at once lose nothing of each other's", async () => {
  const path = fresh()
  const [one, other] = [await History.open(path), await History.open(path)]
  for (let index = 0; index < 20; index++) {
    one.add(`one ${index}`)
    other.add(`other ${index}`)
  }
  await Promise.all([one.close(), other.close()])
  expect((await History.open(path)).lines).toHaveLength(40)
})

it.each([
  ["many lines", Array.from({ length: 3 * historyMax }, (_, index) => `line ${index}`)],
  ["many bytes", Array.from({ length: 1_500 }, (_, index) => `line ${index} ${"é".repeat(600)}`)],
])("a file of %s is made short, and keeps the newest", async (_what, lines) => {
  const path = fresh()
  mkdirSync(join(path, ".."), { recursive: true })
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""))
  const { lines: kept } = await History.open(path)
  expect(kept[0]).toBe(lines.at(-1))
  expect(kept.length).toBeLessThanOrEqual(historyMax)
  expect(kept).toEqual(lines.slice(-kept.length).toReversed())
  expect(readFileSync(path, "utf8").trimEnd().split("\n")).toEqual(kept.toReversed())
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(readdirSync(join(path, ".."))).toEqual(["repl-history"])
})

it("a file that cannot be used is told, and costs nothing else", async () => {
  const path = fresh()
  mkdirSync(path, { recursive: true })
  const history = await History.open(path)
  expect(history).toMatchObject({ lines: [], problem: expect.stringContaining(path) as unknown })
  history.add("line")
  await history.close()
})

it("a folder that is taken away while it runs costs only its lines", async () => {
  const path = fresh()
  const history = await History.open(path)
  rmSync(join(path, ".."), { recursive: true })
  history.add("lost")
  await history.close()
})

it("its folder is its user's alone", async () => {
  const path = fresh()
  await type(path, "line")
  expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700)
})

it("without a path nothing is kept", async () => {
  const history = await History.open(undefined)
  history.add("line")
  await history.close()
  expect(history).toMatchObject({ lines: [], problem: undefined })
})
