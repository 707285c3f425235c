// The version that the command line and `initialize` tell: package.json's, read when it is asked for.
//
// package.json lies beside `runtime/` in the sources and beside `dist/` in the package, so the way up depends on which this is.
import { readFileSync } from "node:fs"

export function packageVersion(): string {
  const up = import.meta.url.endsWith(".ts") ? "../../package.json" : "../../../package.json"
  const text = readFileSync(new URL(up, import.meta.url), "utf8")
  return /"version": "([^"]+)"/.exec(text)?.[1] ?? "unknown"
}
