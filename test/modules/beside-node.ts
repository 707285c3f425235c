// The same files imported by Node itself and by a session: what each module logs, what the namespaces hold, what is thrown.
//
// The program that imports them is one text, which Node runs from a file and a session evaluates.
import { execFile } from "node:child_process"
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { promisify } from "node:util"
import type { Session } from "nacre"

export interface Imported {
  entry: string
  log: string[]
  /** Keys with their values as text; or what was thrown. */
  exports?: Record<string, string>
  error?: string
}

export type Files = Readonly<Record<string, string>>

/** Writes the files of each case into a folder of its own; gives the folder of all. */
export function writeCases(cases: Readonly<Record<string, Files>>): { root: string; remove: () => void } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "nacre-modules-")))
  for (const [name, files] of Object.entries(cases)) {
    for (const [path, text] of Object.entries(files)) {
      const full = join(root, name, path)
      mkdirSync(dirname(full), { recursive: true })
      writeFileSync(full, text)
    }
  }
  return { root, remove: () => rmSync(root, { recursive: true, force: true }) }
}

function programOf(entries: readonly string[]): string {
  return `
    const results = []
    const show = (value) => {
      if (typeof value === "function") return "function " + value.name
      if (typeof value === "object" && value !== null) {
        const tag = Object.prototype.toString.call(value)
        const keys = Object.keys(value)
        return tag + " " + keys.map((key) => { try { return key + "=" + (typeof value[key] === "object" && value[key] !== null ? "object" : typeof value[key] === "function" ? "function " + value[key].name : String(value[key])) } catch (error) { return key + "!" + error.name } }).join()
      }
      return typeof value + " " + String(value)
    }
    for (const entry of ${JSON.stringify(entries)}) {
      const log = []
      globalThis.log = (...parts) => { log.push(parts.map(String).join(" ")) }
      // What is left for when the module has been evaluated: in what order files are read at the same time is nobody's promise.
      const work = []
      globalThis.later = (next) => { work.push(next) }
      const result = { entry, log }
      try {
        const namespace = await import(entry)
        const keys = Object.keys(namespace)
        result.exports = Object.fromEntries(keys.map((key) => [key, show(namespace[key])]))
        result.exports["(tag)"] = Object.prototype.toString.call(namespace) + Object.isExtensible(namespace)
      } catch (error) {
        result.error = error instanceof Error ? error.name + " " + (error.code ?? "") : "thrown " + String(error)
        if (error instanceof ReferenceError) result.error += error.message
      }
      for (const next of work) await next()
      results.push(result)
    }
  `
}

export async function importedByNode(root: string, entries: readonly string[]): Promise<Imported[]> {
  const file = join(root, "run.mjs")
  // Node 20 has promises of its own that a file which does not parse rejects and nobody handles.
  writeFileSync(
    file,
    `process.on("unhandledRejection", () => {});${programOf(entries)}\nprocess.stdout.write(JSON.stringify(results))`,
  )
  const { stdout } = await promisify(execFile)(process.execPath, ["--no-warnings", file], {
    maxBuffer: 64 * 1024 * 1024,
  })
  return JSON.parse(stdout) as Imported[]
}

export async function importedBySession(session: Session, entries: readonly string[]): Promise<Imported[]> {
  return JSON.parse((await session.run(`${programOf(entries)}\nJSON.stringify(results)`)) as string) as Imported[]
}
