// Examples in README and docs, run as they stand: a `ts` block that imports the package or a client, and an `sh` block with the `text` block after it
// as its output. `npx nacre` is the built command there.
import { execFile } from "node:child_process"
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { promisify } from "node:util"
import { transformSync } from "oxc-transform"
import { afterAll, describe, expect, it } from "vitest"

const root = resolve(import.meta.dirname, "..")
const main = join(root, "dist/runtime/cli/main.js")
const folder = join(root, ".tmp", `examples-${process.pid}`)
const pages = [
  "README.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
]

afterAll(() => rmSync(folder, { recursive: true, force: true }))

interface Example {
  language: "ts" | "sh"
  code: string
  output: string
}

/** The environment of an example: in a clone npx would build the package anew each time. */
function environment(): NodeJS.ProcessEnv {
  const npx = join(folder, "npx")
  writeFileSync(npx, `#!/bin/sh\n[ "$1" = nacre ] && shift\nexec "${process.execPath}" "${main}" "$@"\n`, {
    mode: 0o755,
  })
  return { ...process.env, PATH: `${folder}:${process.env["PATH"] ?? ""}`, FORCE_COLOR: undefined }
}

function examplesOf(page: string): Example[] {
  const text = readFileSync(join(root, page), "utf8")
  const found: Example[] = []
  for (const match of text.matchAll(
    /^```(ts|sh)\n([\s\S]*?)^```\n(?:(?:(?!```).*\n){0,3}```text\n([\s\S]*?)^```\n)?/gm,
  )) {
    const [, language, code, output] = match
    const isRun =
      language === "ts" ? /from "(?:nacre|@modelcontextprotocol)(\/[\w/]+)?"/.test(code!) : output !== undefined
    if (isRun) found.push({ language: language as "ts" | "sh", code: code!, output: output ?? "" })
  }
  return found
}

describe.each(pages)("%s", (page) => {
  const examples = examplesOf(page)
  it.runIf(examples.length > 0)("prints what it says", { timeout: 150_000 }, async () => {
    mkdirSync(folder, { recursive: true })
    const env = environment()
    for (const [index, { language, code, output }] of examples.entries()) {
      if (language === "sh") {
        const ran = await promisify(execFile)("sh", ["-c", code], { cwd: root, env })
        expect(ran.stdout.trimEnd()).toBe(output.trimEnd())
        continue
      }
      const { code: script, errors } = transformSync("example.ts", code, { lang: "ts", sourceType: "module" })
      expect(errors).toEqual([])
      // Inside the package, so that its own name resolves to it.
      const file = join(folder, `${page.replaceAll(/\W/g, "_")}-${index}.mjs`)
      writeFileSync(file, script)
      const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: root, env })
      expect(stdout.trimEnd()).toBe(output.trimEnd())
    }
  })
})
