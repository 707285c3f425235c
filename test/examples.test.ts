// Examples in README and docs, run as they stand: a `ts` block that imports the package, and the `text` block after it as its output.
import { execFile } from "node:child_process"
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { transformSync } from "oxc-transform"
import { afterAll, describe, expect, it } from "vitest"

const root = resolve(import.meta.dirname, "..")
const folder = join(root, ".tmp", `examples-${process.pid}`)
const pages = [
  "README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
]

afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Example {
  code: string
  output: string
}

function examplesOf(page: string): Example[] {
  const text = readFileSync(join(root, page), "utf8")
  const found: Example[] = []
  for (const match of text.matchAll(/^```ts\n([\s\S]*?)^```\n(?:(?:(?!```).*\n){0,3}```text\n([\s\S]*?)^```\n)?/gm)) {
    if (/from "nacre(\/\w+)?"/.test(match[1]!)) found.push({ code: match[1]!, output: match[2] ?? "" })
  }
  return found
}

describe.each(pages)("%s", (page) => {
  const examples = examplesOf(page)
  it.runIf(examples.length > 0)("prints what it says", { timeout: 150_000 }, async () => {
    mkdirSync(folder, { recursive: true })
    for (const [index, { code, output }] of examples.entries()) {
      const { code: script, errors } = transformSync("example.ts", code, { lang: "ts", sourceType: "module" })
      expect(errors).toEqual([])
      // Inside the package, so that its own name resolves to it.
      const file = join(folder, `${page.replaceAll(/\W/g, "_")}-${index}.mjs`)
      writeFileSync(file, script)
      const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: root })
      expect(stdout.trimEnd()).toBe(output.trimEnd())
    }
  })
})
