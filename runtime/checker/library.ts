// What every session's code is checked against: compiler options, ECMAScript's declarations, and what a profile has besides.
//
// TypeScript splits its library into seventy files and a checker merges them anew each time one is made; as one text they are merged once,
// when it is bound, which makes a check some milliseconds shorter. No DOM and no Node: a realm has neither.
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import type ts from "typescript"
import { packagePath } from "../entry.ts"
import { topLevelNames } from "./names.ts"
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

/** Names of the declarations for session code that a session of profile `minimal` has too. */
const minimalNames = new Set(["BindingsView", "SessionKind", "SessionInfo", "Session", "Workspace", "_", "_error"])

export interface Library {
  readonly files: readonly ts.SourceFile[]
  /** Every name that its files declare. */
  readonly names: ReadonlySet<string>
}

const libraries = new Map<string, Library>()

/** The library of a profile; made once in a process. */
export function libraryOf(profile: string): Library {
  const kind = profile === "minimal" ? "minimal" : "standard"
  let library = libraries.get(kind)
  if (library !== undefined) return library
  const language = libraries.get("standard")?.files[0] ?? libraries.get("minimal")?.files[0] ?? languageFile()
  const files = [language, sessionCode(kind)]
  const names = new Set<string>()
  for (const file of files) for (const name of topLevelNames(file)) names.add(name)
  library = { files, names }
  libraries.set(kind, library)
  return library
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

function sessionCode(kind: "minimal" | "standard"): ts.SourceFile {
  const text = readFileSync(packagePath("types/session-code.d.ts"), "utf8")
  if (kind === "standard") return parseFile(sessionCodeFile, text)
  const file = parseFile(sessionCodeFile, text)
  const kept = file.statements.filter((statement) => {
    if (typescript.isVariableStatement(statement))
      return statement.declarationList.declarations.some(
        ({ name }) => typescript.isIdentifier(name) && minimalNames.has(name.text),
      )
    return "name" in statement && minimalNames.has((statement.name as ts.Identifier).text)
  })
  return parseFile(sessionCodeFile, kept.map((statement) => statement.getFullText(file)).join("\n"))
}

/** A source file as programs share it. */
export function parseFile(name: string, text: string): ts.SourceFile {
  const file = typescript.createSourceFile(name, text, { languageVersion: typescript.ScriptTarget.ESNext }, true)
  // The language service asks every file for one; a file of another text is another object here.
  return Object.assign(file, { version: String(++filesParsed) })
}

let filesParsed = 0
