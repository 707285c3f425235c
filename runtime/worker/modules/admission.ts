// Which modules a profile lets its code import: files and packages with `import`, each of Node's own by what it opens.
//
// Node's modules are handed out as they are, so this says what a profile is for and keeps honest code to it. What code can do that climbs
// through such an object is for the host's confinement (docs/SECURITY.md).
import type { Capabilities } from "../../../stdlib/capabilities.ts"
import { denialText } from "../../../stdlib/capabilities.ts"
import { ModuleProblem } from "./problem.ts"
import type { Resolved } from "./resolve.ts"

/** Modules that open nothing outside of the process, nor the process itself. */
const harmless: ReadonlySet<string> = new Set([
  "assert",
  "async_hooks",
  "buffer",
  "constants",
  "crypto",
  "diagnostics_channel",
  "events",
  "path",
  "perf_hooks",
  "punycode",
  "querystring",
  "readline",
  "stream",
  "string_decoder",
  "tty",
  "url",
  "util",
  "zlib",
])
const net: ReadonlySet<string> = new Set(["dgram", "dns", "http", "http2", "https", "net", "tls"])

/** Throws a `ModuleProblem` of kind `capability_denied` when session code may not have it; `who` asks. */
export function admitModule(resolved: Resolved, who: string, capabilities: Capabilities): void {
  if (resolved.kind === "builtin") {
    const name = resolved.name.split("/", 1)[0]!
    const wanted = neededForBuiltin(name)
    if (wanted.some((it) => capabilities.has(it))) return
    throw problem(`'node:${resolved.name}', which ${who} asks for,`, wanted[0], capabilities)
  }
  if (capabilities.has("import")) return
  const what = resolved.kind === "data" ? "A data: URL" : `'${resolved.path}'`
  throw problem(`${what}, which ${who} asks for,`, "import", capabilities)
}

/** The capabilities of which each is enough; the first one is named where there is none. */
function neededForBuiltin(name: string): readonly [string, ...string[]] {
  if (name === "fs") return ["fs.read", "fs.write"]
  if (net.has(name)) return ["net"]
  if (name === "timers") return ["timers"]
  // What reads files or talks to others needs these to do it.
  if (harmless.has(name)) return ["import", "fs.read", "fs.write", "net"]
  // `process` is the session's own, and `module` makes a `require` that is asked like any other.
  return name === "process" || name === "module" ? ["import", "fs.read", "fs.write", "net", "env"] : ["process"]
}

function problem(what: string, capability: string, { name }: Capabilities): ModuleProblem {
  return new ModuleProblem("capability_denied", denialText(what, capability, name))
}
