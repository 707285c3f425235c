// The realm-side files as one classic script, which every realm of a worker runs once.
//
// Realm-side code is written as ordinary modules (`stdlib/`, `runtime/wire/values/`) that import only each other. A realm has no module
// loader, so they are joined here in the order of their imports with import and export taken out; that is why their top-level names must
// differ, which `test/tidy` checks. Files of `dist/` are plain JavaScript already; from source their types are stripped first.
import { readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"
import { Script } from "node:vm"
import { parseSync } from "oxc-parser"
import { transformSync } from "oxc-transform"
import { entryPath } from "../entry.ts"

export const realmFilename = "nacre:realm"

/** Compiles the bundle whose entry is `entry`; its completion value is the entry's export `boot`. */
export function bundleRealmScript(entry = entryPath("stdlib/realm"), boot = "bootRealm"): Script {
  const parts: string[] = []
  join(entry, new Set(), parts)
  return new Script(`(()=>{"use strict";\n${parts.join("\n")}\nreturn ${boot}})()`, { filename: realmFilename })
}

function join(path: string, seen: Set<string>, parts: string[]): void {
  if (seen.has(path)) return
  seen.add(path)
  let code = readFileSync(path, "utf8")
  if (path.endsWith(".ts")) code = transformSync(path, code, { lang: "ts", sourceType: "module" }).code
  const { module } = parseSync(path, code, { lang: "js", sourceType: "module" })
  const cuts: { start: number; end: number }[] = []
  for (const { start, end, moduleRequest } of module.staticImports) {
    join(resolve(dirname(path), moduleRequest.value), seen, parts)
    cuts.push({ start, end })
  }
  for (const { start, entries } of module.staticExports) {
    if (entries.some((it) => it.moduleRequest !== null))
      throw new Error(`${path} re-exports, which realm-side files must not.`)
    // `export const x`, `export function f`: the keyword goes, the declaration stays. `export {}` and `export { a }` go whole.
    const text = code.slice(start)
    const length = /^export\s*\{[^}]*\}\s*;?/.exec(text)?.[0].length ?? "export".length
    cuts.push({ start, end: start + length })
  }
  let from = 0
  let result = ""
  for (const { start, end } of cuts.toSorted((a, b) => a.start - b.start)) {
    result += code.slice(from, start)
    from = end
  }
  parts.push(result + code.slice(from))
}
