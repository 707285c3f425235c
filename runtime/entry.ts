// Where the entry files of child processes and threads lie, from source (`.ts`, loaded through tsx) and from `dist/` (`.js`) alike.
//
// `new URL("./x.ts", import.meta.url)` is not rewritten by tsc, so the extension is picked here, once, from this file's own.
import { fileURLToPath } from "node:url"

const fromSource = import.meta.url.endsWith(".ts")

/** Absolute path of a file of this package, named without its extension relative to the package's code root: `runtime/host/main`. */
export function entryPath(name: string): string {
  return fileURLToPath(new URL(`../${name}${fromSource ? ".ts" : ".js"}`, import.meta.url))
}

/** Absolute path of a file of the package that is not code, relative to the package's root: `types/session-code.d.ts`. */
export function packagePath(name: string): string {
  return fileURLToPath(new URL(`${fromSource ? "../" : "../../"}${name}`, import.meta.url))
}

/** Node flags that a child needs so that it can load entry files of this kind. */
export const entryFlags: readonly string[] = fromSource ? ["--import", import.meta.resolve("tsx")] : []
