// A file that session code imports: its text in, the text that the engine is given out, and what the linker must know of it.
//
// The engine's own module records run it, so what an ES module says stays as it is; only `import()` is turned to the linker, since the engine's
// would give promises of another realm. Types are blanked in place, as in a submission; what blanking cannot explain has the whole file go
// through the transformer. Every position leads back to the file.
import { Script } from "node:vm"
import { parseSync, visitorKeys } from "oxc-parser"
import { transformSync } from "oxc-transform"
import { Edits, Output } from "./edits.ts"
import { exportName } from "./imports.ts"
import { firstJsx, plainJsx } from "./jsx.ts"
import { jsxIsOff, type Jsx } from "./jsx-option.ts"
import { decodeMap } from "./lower.ts"
import { invalid, type InvalidSource, type Node, type Program } from "./parse.ts"
import { LineTable, Segments, type Position } from "./positions.ts"
import { analyse } from "./scope.ts"
import { editSessionNames, sessionSpecifier } from "./session-names.ts"
import type { SessionUse } from "./session-names.ts"

/** Where the text of a file asks the linker for `import()`: of a module by its `import.meta`, of a CommonJS file by a parameter. */
export const importHook = "$$_import"

export interface FileRequest {
  readonly specifier: string
  /** The attribute `type`, or nothing. */
  readonly type: string
  /** Exports that it must have. */
  readonly names: string[]
  readonly line: number
  readonly column: number
}

export interface FileText {
  readonly valid: true
  readonly format: "module" | "commonjs"
  readonly code: string
  /** Leads from a position of the code to that of the file. */
  map(line: number, column: number): Position | undefined
  readonly requests: readonly FileRequest[]
  /** Exports that it declares itself. */
  readonly locals: ReadonlySet<string>
  /** Exports that are another module's: by name, the request and the export there (`*`: its namespace). */
  readonly indirect: ReadonlyMap<string, { readonly request: number; readonly name: string }>
  /** Requests of `export *`. */
  readonly stars: readonly number[]
  /** Names that only types bear. */
  readonly types: ReadonlySet<string>
  readonly isAsync: boolean
  /** What it has of the session that loads it. */
  readonly session: SessionUse | undefined
}

export interface FileOptions {
  readonly isTypeScript: boolean
  /** `detect`: whatever its syntax says. */
  readonly format: "module" | "commonjs" | "detect"
  /** It may hold JSX, and what that is turned into; `off` where the session has none. */
  readonly jsx?: Jsx | "off" | undefined
}

const noRequests: readonly FileRequest[] = []
const noNames: ReadonlySet<string> = new Set()

/** Compiles the text of a file; what does not parse comes back as it does for a submission. */
export function compileFile(source: string, options: FileOptions): FileText | InvalidSource {
  return options.jsx === undefined ? compilePlain(source, options) : compileJsx(source, options, options.jsx)
}

/** A file with JSX is compiled as the text without it; its positions go the same way back. */
function compileJsx(source: string, options: FileOptions, jsx: Jsx | "off"): FileText | InvalidSource {
  const { isTypeScript, format } = options
  const text = source.replace(/^\uFEFF/, " ").replace(/^#!/, "//")
  const lang = isTypeScript ? "tsx" : "jsx"
  const sourceType = format === "detect" && !isTypeScript ? "unambiguous" : format === "commonjs" ? format : "module"
  const result = parseSync(`file.${lang}`, text, { lang, sourceType })
  if (result.errors.length > 0) return invalid(source, problemsOf(result))
  if (jsx === "off") {
    const element = firstJsx(result.program)
    if (element === undefined) return compilePlain(source, options)
    return invalid(source, [{ message: jsxIsOff, start: element.start, end: element.start + 1 }])
  }
  const isModule = format === "module" || (format === "detect" && isModuleText(result))
  const plain = plainJsx(text, result.program, jsx, isModule ? "import" : "require")
  if (plain === undefined) return compilePlain(source, options)
  const inner = compilePlain(plain.text, { isTypeScript, format: isModule ? "module" : "commonjs" })
  if (!inner.valid) {
    return invalid(
      source,
      inner.errors.map(({ message, span }) => ({
        message,
        start: plain.original(span.start),
        end: plain.original(span.end),
      })),
    )
  }
  const [plainLines, sourceLines] = [new LineTable(plain.text), new LineTable(source)]
  const back = <P extends Position>(place: P): P => {
    const offset = plainLines.offset(place.line, place.column)
    return offset === undefined ? place : { ...place, ...sourceLines.position(plain.original(offset)) }
  }
  return {
    ...inner,
    requests: inner.requests.map(back),
    map(line, column) {
      const place = inner.map(line, column)
      return place === undefined ? undefined : back(place)
    },
  }
}

function problemsOf({ errors }: Parsed): { message: string; start: number; end: number }[] {
  return errors.slice(0, 5).map(({ message, labels }) => ({ message, ...placeOf(labels[0]) }))
}

function compilePlain(source: string, { isTypeScript, format }: FileOptions): FileText | InvalidSource {
  // A comment of the same length: lines and columns stay.
  const text = source.replace(/^\uFEFF/, " ").replace(/^#!/, "//")
  if (!isTypeScript && format !== "module") {
    // `import()` in it is the engine's, which asks the linker.
    if (format === "commonjs" || !moduleWords.test(text) || isFunctionBody(text)) return plainCommonJs(text)
  }
  const lang = isTypeScript ? "ts" : "js"
  const sourceType = format === "module" || isTypeScript ? "module" : format === "commonjs" ? "commonjs" : "unambiguous"
  let result = parseSync(`file.${lang}`, text, { lang, sourceType })
  let isModule = format === "module" || (format === "detect" && isModuleText(result))
  if (format === "detect" && !isTypeScript && !isModule && /\bawait\b/.test(text)) {
    // Top-level `await` alone makes a module of it, where it makes no sense otherwise.
    const asScript = parseSync("file.js", text, { lang: "js", sourceType: "commonjs" })
    const again = parseSync("file.js", text, { lang: "js", sourceType: "module" })
    if (asScript.errors.length > 0 && again.errors.length === 0) {
      result = again
      isModule = true
    }
  }
  if (result.errors.length > 0) {
    return invalid(source, problemsOf(result))
  }
  if (isTypeScript) return compileTypeScript(source, text, result.program, isModule)
  return assemble(text, new Edits(text), result, isModule, (offset) => offset, noNames)
}

const moduleWords = /\b(?:import|export|await)\b/

/** Whether the engine takes it as CommonJS. It only compiles it, and lazily: no tree is made. */
function isFunctionBody(text: string): boolean {
  try {
    void new Script(`(function(exports,require,module,__filename,__dirname){${text}\n})`)
    return true
  } catch {
    return false
  }
}

function placeOf(label: { start: number; end: number } | undefined): { start: number; end: number } {
  return { start: label?.start ?? 0, end: label?.end ?? 0 }
}

function plainCommonJs(code: string): FileText {
  return {
    valid: true,
    format: "commonjs",
    code,
    map: (line, column) => ({ line, column }),
    requests: noRequests,
    locals: noNames,
    indirect: new Map(),
    stars: [],
    types: noNames,
    isAsync: false,
    session: undefined,
  }
}

type Parsed = ReturnType<typeof parseSync>

function isModuleText({ module, program }: Parsed): boolean {
  if (!module.hasModuleSyntax) return false
  // `import x = require()` and `export =` are what CommonJS looks like in TypeScript.
  return program.body.some((node) => esStatements.has(node.type)) || module.importMetas.length > 0
}

const esStatements: ReadonlySet<string> = new Set([
  "ImportDeclaration",
  "ExportNamedDeclaration",
  "ExportDefaultDeclaration",
  "ExportAllDeclaration",
])

function compileTypeScript(
  source: string,
  text: string,
  program: Program,
  isModule: boolean,
): FileText | InvalidSource {
  const types = typeNames(program)
  const edits = new Edits(text)
  const analysis = analyse(program, edits, true)
  if (analysis.needsTransformer.size === 0 && analysis.refused.length === 0) {
    dropTypeSpecifiers(program, edits, new Set(analysis.references.map(({ name }) => name)))
    const blanked = new Output(new Segments())
    edits.render(blanked, 0, text.length)
    const result = parseSync("file.js", blanked.text, { lang: "js", sourceType: isModule ? "module" : "commonjs" })
    if (result.errors.length === 0) {
      const original = (offset: number): number => Math.max(0, blanked.segments.source(offset))
      return assemble(blanked.text, new Edits(blanked.text), result, isModule, original, types, text)
    }
  }
  const transformed = transformSync("file.ts", text, {
    lang: "ts",
    sourceType: "module",
    sourcemap: true,
    target: "es2023",
  })
  if (transformed.errors.length > 0) {
    const [error] = transformed.errors
    return invalid(source, [{ message: error!.message, ...placeOf(error!.labels[0]) }])
  }
  const { code } = transformed
  const original = decodeMap(transformed.map?.mappings ?? "", code, text)
  const result = parseSync("file.js", code, { lang: "js", sourceType: isModule ? "module" : "commonjs" })
  if (result.errors.length > 0) {
    return invalid(source, [{ message: result.errors[0]!.message, ...placeOf(undefined) }])
  }
  return assemble(code, new Edits(code), result, isModule, original, types, text)
}

/** Names that a file declares as types, or imports and exports as such. */
function typeNames(program: Program): ReadonlySet<string> {
  const names = new Set<string>()
  for (const statement of program.body) {
    if (statement.type !== "ExportNamedDeclaration") continue
    const { declaration, specifiers, exportKind } = statement
    if (declaration?.type === "TSInterfaceDeclaration" || declaration?.type === "TSTypeAliasDeclaration") {
      names.add(declaration.id.name)
    }
    for (const specifier of specifiers) {
      if (exportKind === "type" || specifier.exportKind === "type") names.add(exportName(specifier.exported))
    }
  }
  return names
}

/** Names in import and export lists that are types, or are used as such only, as TypeScript leaves them out. */
function dropTypeSpecifiers(program: Program, edits: Edits, used: ReadonlySet<string>): void {
  for (const node of program.body) {
    if (node.type === "ImportDeclaration" && node.importKind !== "type" && node.specifiers.length > 0) {
      const dropped = node.specifiers.filter(
        (it) => (it.type === "ImportSpecifier" && it.importKind === "type") || !used.has(it.local.name),
      )
      if (dropped.length === node.specifiers.length) edits.blank(node.start, node.end, ";")
      else for (const each of dropped) dropOne(edits, each.start, each.end, node.source.start)
    } else if (node.type === "ExportNamedDeclaration" && node.declaration === null && node.exportKind !== "type") {
      for (const { start, end, exportKind } of node.specifiers) {
        if (exportKind === "type") dropOne(edits, start, end, node.end)
      }
    }
  }
}

/** Blanks a specifier with the comma behind it; where a list ends there, one before it may stay. */
function dropOne(edits: Edits, start: number, end: number, limit: number): void {
  const comma = /^(?:\s|\/\*[^]*?\*\/|\/\/.*)*,/.exec(edits.source.slice(end, limit))
  if (comma !== null) return edits.blank(start, end + comma[0].length)
  // `import d, * as ns`, of which the namespace is a type.
  const before = /,\s*$/.exec(edits.source.slice(0, start))
  const isNamespace = edits.source[start] === "*"
  edits.blank(isNamespace && before !== null ? before.index : start, end)
}

function assemble(
  text: string,
  edits: Edits,
  parsed: Parsed,
  isModule: boolean,
  original: (offset: number) => number,
  types: ReadonlySet<string>,
  source = text,
): FileText | InvalidSource {
  const session = isModule && text.includes(sessionSpecifier) ? editSessionNames(parsed.program, edits) : undefined
  if (session !== undefined && "message" in session) {
    const { message, start, end } = session
    return invalid(source, [{ message, start: original(start), end: original(end) }])
  }
  for (const { start } of parsed.module.dynamicImports) {
    const hook = isModule ? `import.meta.${importHook}` : importHook
    edits.replace(start, start + "import".length, hook)
  }
  const segments = new Segments()
  const output = new Output(segments)
  edits.render(output, 0, text.length)
  const code = output.text
  let codeLines: LineTable | undefined
  let sourceLines: LineTable | undefined
  const map = (line: number, column: number): Position | undefined => {
    if (code === source) return { line, column }
    const offset = (codeLines ??= new LineTable(code)).offset(line, column)
    const at = offset === undefined ? -1 : segments.source(offset)
    return at < 0 ? undefined : (sourceLines ??= new LineTable(source)).position(original(at))
  }
  if (!isModule) return { ...plainCommonJs(code), map, types }
  const lines = (sourceLines ??= new LineTable(source))
  const { program } = parsed
  const isAsync = /\bawait\b/.test(text) && hasTopLevelAwait(program)
  return {
    valid: true,
    format: "module",
    code,
    map,
    types,
    isAsync,
    session,
    ...exportsOf(program, lines, original),
  }
}

function exportsOf(
  program: Program,
  lines: LineTable,
  original: (offset: number) => number,
): Pick<FileText, "requests" | "locals" | "indirect" | "stars"> {
  const requests: FileRequest[] = []
  const locals = new Set<string>()
  const indirect = new Map<string, { request: number; name: string }>()
  const stars: number[] = []
  const imported = new Map<string, { request: number; name: string }>()
  const ask = (node: { source: { value: string; start: number }; attributes: readonly unknown[] }): number => {
    const { line, column } = lines.position(original(node.source.start))
    requests.push({ specifier: node.source.value, type: typeOf(node.attributes), names: [], line, column })
    return requests.length - 1
  }
  // Imports first, since an export may stand before what it gives on.
  for (const node of program.body) {
    if (node.type === "ImportDeclaration") {
      // The session is no file.
      if (node.source.value === sessionSpecifier) continue
      const request = ask(node)
      for (const specifier of node.specifiers) {
        let name = "*"
        if (specifier.type === "ImportDefaultSpecifier") name = "default"
        else if (specifier.type === "ImportSpecifier") name = exportName(specifier.imported)
        if (name !== "*") requests[request]!.names.push(name)
        imported.set(specifier.local.name, { request, name })
      }
    } else if (node.type === "ExportAllDeclaration") {
      const request = ask(node)
      if (node.exported === null) stars.push(request)
      else indirect.set(exportName(node.exported), { request, name: "*" })
    } else if (node.type === "ExportNamedDeclaration" && node.source !== null) {
      const request = ask({ source: node.source, attributes: node.attributes })
      for (const { local, exported } of node.specifiers) {
        const name = exportName(local)
        requests[request]!.names.push(name)
        indirect.set(exportName(exported), { request, name })
      }
    }
  }
  for (const node of program.body) {
    if (node.type === "ExportDefaultDeclaration") locals.add("default")
    else if (node.type === "ExportNamedDeclaration" && node.source === null) {
      if (node.declaration !== null) declaredNames(node.declaration, locals)
      for (const { local, exported } of node.specifiers) {
        const from = imported.get(exportName(local))
        if (from === undefined) locals.add(exportName(exported))
        else indirect.set(exportName(exported), from)
      }
    }
  }
  return { requests, locals, indirect, stars }
}

function typeOf(attributes: readonly unknown[]): string {
  for (const { key, value } of attributes as readonly {
    key: { name?: string; value?: string }
    value: { value: string }
  }[]) {
    if ((key.name ?? key.value) === "type") return value.value
  }
  return ""
}

function declaredNames(node: Node, names: Set<string>): void {
  switch (node.type) {
    case "FunctionDeclaration":
    case "ClassDeclaration":
      if (node.id !== null) names.add(node.id.name)
      break
    case "VariableDeclaration":
      for (const { id } of node.declarations) patternNames(id, names)
      break
    default:
  }
}

function patternNames(node: Node, names: Set<string>): void {
  switch (node.type) {
    case "Identifier":
      names.add(node.name)
      break
    case "ObjectPattern":
      for (const property of node.properties) {
        patternNames(property.type === "RestElement" ? property.argument : property.value, names)
      }
      break
    case "ArrayPattern":
      for (const element of node.elements) if (element !== null) patternNames(element, names)
      break
    case "AssignmentPattern":
      patternNames(node.left, names)
      break
    case "RestElement":
      patternNames(node.argument, names)
      break
    default:
  }
}

const ownAwait: ReadonlySet<string> = new Set(["FunctionDeclaration", "FunctionExpression", "ArrowFunctionExpression"])

function hasTopLevelAwait(program: Program): boolean {
  const open: Node[] = [...program.body]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.type === "AwaitExpression" || (node.type === "ForOfStatement" && node.await)) return true
    if (node.type === "VariableDeclaration" && node.kind === "await using") return true
    if (ownAwait.has(node.type)) continue
    for (const key of visitorKeys[node.type] ?? []) {
      const child = (node as unknown as Record<string, Node | (Node | null)[] | null | undefined>)[key]
      if (child === null || child === undefined) continue
      for (const each of Array.isArray(child) ? child : [child]) if (each !== null) open.push(each)
    }
  }
  return false
}
