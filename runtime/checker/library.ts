// What every session's code is checked against: compiler options, ECMAScript's declarations, and what a profile has besides.
//
// TypeScript splits its library into seventy files and a checker merges them anew each time one is made; as one text they are merged once,
// when it is bound, which makes a check some milliseconds shorter. No DOM and no Node: a realm has neither.
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import type ts from "typescript"
import { packagePath } from "../entry.ts"
import { Capabilities, capabilityFor, standardCapabilities } from "../../stdlib/capabilities.ts"
import type { Jsx } from "../language/jsx-option.ts"
import { namesOfStatement, topLevelNames } from "./names.ts"
import { typescript } from "./typescript.ts"

export const options: ts.CompilerOptions = {
  target: typescript.ScriptTarget.ESNext,
  module: typescript.ModuleKind.ESNext,
  moduleResolution: typescript.ModuleResolutionKind.Bundler,
  moduleDetection: typescript.ModuleDetectionKind.Force,
  strict: true,
  // A session is no project: what runs is what counts, and these ask how it would be built.
  noUncheckedSideEffectImports: false,
  allowUnreachableCode: true,
  allowUnusedLabels: true,
  resolveJsonModule: true,
  allowImportingTsExtensions: true,
  declaration: true,
  emitDeclarationOnly: true,
  noLib: true,
  skipLibCheck: true,
  types: [],
  // Both types of a mismatch as a whole, up to the checker's own bound.
  noErrorTruncation: false,
}

/** Node 20 has the language of 2023, and disposal. */
const roots = ["lib.es2023.d.ts", "lib.esnext.disposable.d.ts"]
export const libraryFile = "/lib/es.d.ts"
export const sessionCodeFile = "/lib/session-code.d.ts"

/** The capabilities that sessions of the built-in profiles have within a realm. */
const within: Readonly<Record<string, string>> = {
  standard: standardCapabilities,
  full: standardCapabilities,
  minimal: "",
}

export interface Library {
  readonly files: readonly ts.SourceFile[]
  /** Every name that its files declare. */
  readonly names: ReadonlySet<string>
}

const libraries = new Map<string, Library>()

/** The library of a profile, by its name or as the list of its capabilities; made once in a process. */
export function libraryOf(profile: string): Library {
  const granted = new Capabilities("", within[profile] ?? profile)
  const all = parseFile(sessionCodeFile, readFileSync(packagePath("types/session-code.d.ts"), "utf8"))
  const offered = (statement: ts.Statement): boolean => [...namesOfStatement(statement)].every((it) => has(granted, it))
  const kind = all.statements.map((it) => (offered(it) ? "1" : "0")).join("")
  let library = libraries.get(kind)
  if (library !== undefined) return library
  const [known] = libraries.values()
  const text = all.statements.filter(offered).map((it) => it.getFullText(all))
  const sessionCode = kind.includes("0") ? parseFile(sessionCodeFile, text.join("\n")) : all
  const files = [known?.files[0] ?? languageFile(), sessionCode]
  const names = new Set<string>()
  for (const file of files) for (const name of topLevelNames(file)) names.add(name)
  library = { files, names }
  libraries.set(kind, library)
  return library
}

function has(granted: Capabilities, name: string): boolean {
  const needed = capabilityFor(name)
  return needed === undefined || (needed === "tools.*" ? granted.hasTools : granted.has(needed))
}

function languageFile(): ts.SourceFile {
  const folder = dirname(createRequire(import.meta.url).resolve("typescript"))
  const seen = new Set<string>()
  const texts: string[] = []
  const add = (name: string): void => {
    if (seen.has(name)) return
    seen.add(name)
    const text = readFileSync(join(folder, name), "utf8")
    for (const [, inner] of text.matchAll(/^\/\/\/\s*<reference lib="([^"]+)"\s*\/>/gm)) add(`lib.${inner!}.d.ts`)
    texts.push(text.replace(/^\/\/\/.*$/gm, ""))
  }
  for (const name of roots) add(name)
  return parseFile(libraryFile, texts.join("\n"))
}

const withJsx = new Map<string, ts.CompilerOptions>()

/** The options of a session's programs. Equal ones are the same object. */
export function optionsOf(jsx: Jsx | undefined): ts.CompilerOptions {
  if (jsx === undefined) return options
  const key = JSON.stringify(jsx)
  let found = withJsx.get(key)
  if (found === undefined) {
    const { runtime, factory, fragment, importSource } = jsx
    const how =
      runtime === "automatic"
        ? { jsx: typescript.JsxEmit.ReactJSX, jsxImportSource: importSource }
        : { jsx: typescript.JsxEmit.React, jsxFactory: factory, jsxFragmentFactory: fragment }
    withJsx.set(key, (found = { ...options, ...how }))
  }
  return found
}

/** A source file as programs share it. With `isJsx` angle brackets are elements. */
export function parseFile(name: string, text: string, isJsx = false): ts.SourceFile {
  const kind = isJsx ? typescript.ScriptKind.TSX : undefined
  const file = typescript.createSourceFile(name, text, { languageVersion: typescript.ScriptTarget.ESNext }, true, kind)
  // The language service asks every file for one; a file of another text is another object here.
  return Object.assign(file, { version: String(++filesParsed) })
}

let filesParsed = 0
