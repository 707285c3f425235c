// A real vm realm with the realm-side files evaluated in it, as a worker boots one: each file compiled by itself, its import and export
// lines blanked, all of them concatenated in the order of their imports into one classic script.

import { readFileSync } from "node:fs"
import vm from "node:vm"
import { transformSync } from "oxc-transform"
import type * as Decode from "../../../runtime/wire/values/decode.ts"
import type * as Encode from "../../../runtime/wire/values/encode.ts"
import type * as Groups from "../../../runtime/wire/values/groups.ts"
import type * as References from "../../../stdlib/intrinsic-references.ts"
import type * as Intrinsics from "../../../stdlib/intrinsics.ts"
import type * as Proxies from "../../../stdlib/proxy-record.ts"
import type * as Preview from "../../../stdlib/preview.ts"
import type * as Attributes from "../../../stdlib/attribute-record.ts"
import type * as Console from "../../../stdlib/format-console.ts"
import type * as Tables from "../../../stdlib/console-table.ts"
import type * as Errors from "../../../stdlib/describe-error.ts"

type RealmSide = Pick<typeof Encode, "encodeValue"> &
  Pick<typeof Groups, "encodeBindings"> &
  Pick<typeof Decode, "decodeValue" | "decodeBindings"> &
  Pick<typeof References, "captureIntrinsics"> &
  Pick<typeof Intrinsics, "newList"> &
  Pick<typeof Proxies, "recordProxies"> &
  Pick<typeof Attributes, "recordAttributes"> &
  Pick<typeof Preview, "preview"> &
  Pick<typeof Console, "formatConsole"> &
  Pick<typeof Tables, "tableText"> &
  Pick<typeof Errors, "describeError" | "errorToJson">

export interface Realm extends RealmSide {
  run(source: string): unknown
  readonly global: Record<string, unknown>
  /** Captured at boot, as the bridge does: later they may be a session's. */
  newBytes(length: number): Uint8Array
  readonly references: ReturnType<RealmSide["captureIntrinsics"]>
}

const root = new URL("../../../", import.meta.url)
const entries = [
  "runtime/wire/values/encode.ts",
  "runtime/wire/values/groups.ts",
  "runtime/wire/values/decode.ts",
  "stdlib/intrinsic-references.ts",
  "stdlib/preview.ts",
  "stdlib/format-console.ts",
  "stdlib/console-table.ts",
  "stdlib/describe-error.ts",
]
const exported = [
  "encodeValue",
  "encodeBindings",
  "decodeValue",
  "decodeBindings",
  "captureIntrinsics",
  "recordProxies",
  "recordAttributes",
  "preview",
  "formatConsole",
  "tableText",
  "describeError",
  "errorToJson",
  "newList",
]

const importLine = /^import\s[^;]*?from\s+"([^"]+)";?$/gm

function collect(path: URL, seen: Map<string, string>): void {
  if (seen.has(path.href)) return
  seen.set(path.href, "")
  const compiled = transformSync(path.pathname, readFileSync(path, "utf8"), {
    typescript: { onlyRemoveTypeImports: true },
  })
  if (compiled.errors.length > 0) throw new Error(compiled.errors[0]?.message)
  for (const match of compiled.code.matchAll(importLine)) collect(new URL(match[1] as string, path), seen)
  // Set again, so that a file stands after what it imports.
  seen.delete(path.href)
  seen.set(
    path.href,
    compiled.code
      .replaceAll(importLine, "")
      .replaceAll(/^export \{.*\};?$/gm, "")
      .replaceAll(/^export /gm, ""),
  )
}

function bundle(): string {
  const files = new Map<string, string>()
  for (const entry of entries) collect(new URL(entry, root), files)
  return `"use strict";(function () {\n${[...files.values()].join("\n")}\nreturn { ${exported.join(", ")} }\n})()`
}

let script: vm.Script | undefined

export function bootRealm(): Realm {
  script ??= new vm.Script(bundle(), { filename: "realm-side.js" })
  const global = vm.createContext(vm.constants.DONT_CONTEXTIFY) as Record<string, unknown>
  const side = script.runInContext(global) as RealmSide
  side.recordProxies(global)
  side.recordAttributes()
  const references = side.captureIntrinsics(global)
  const newBytes = vm.runInContext(
    "const Bytes = Uint8Array; (length) => new Bytes(length)",
    global,
  ) as Realm["newBytes"]
  return { ...side, newBytes, global, references, run: (source) => vm.runInContext(source, global) }
}
