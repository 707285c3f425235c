// TypeScript's diagnostics in the terms of a session: at a declaration's own source, without those that only the layout causes.
import type ts from "typescript"
import type { Diagnostic, RelatedPlace } from "./declarations.ts"
import { statementsFile } from "./layout.ts"
import type { Layout } from "./layout.ts"
import type { Entry } from "./sets.ts"
import { typescript } from "./typescript.ts"

/** An import that nothing was found for is `any`: whether it may be imported is decided where it is evaluated. */
const importCodes = new Set([2307, 2732, 2792, 2875, 2882, 7016])
/** Used before its declaration: between declarations of a session the order is that of their dependencies, not of the text. */
const orderCodes = new Set([2448, 2449, 2450, 2454])
/** What cannot be assigned is an import here, and something else in the session. */
const importAssigned = 2632

/** File names that differ only in casing. A module is named after its declaration, and `I` and `i` are two. */
const casingCodes: ReadonlySet<number> = new Set([1149, 1261])

/** Elements without types of their own are `any`: whoever makes them may have come without types. */
const untypedElementCodes: ReadonlySet<number> = new Set([2602, 2604, 7026])

interface Place {
  key: string | undefined
  start: number
}

/** Diagnostics of one file of the layout that lie in text of the session. */
export function diagnosticsOf(
  program: ts.Program,
  file: ts.SourceFile,
  layout: Layout,
  textLength: number,
): Diagnostic[] {
  const found = [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
  const isStatements = file.fileName === statementsFile
  const diagnostics: Diagnostic[] = []
  for (const each of found) {
    if (each.start === undefined || (importCodes.has(each.code) && !/["'`]\.\/-/.test(textAt(each, file)))) continue
    if (casingCodes.has(each.code) || untypedElementCodes.has(each.code)) continue
    const isSyntax = each.code < 2000
    if (each.start >= textLength && !isSyntax) continue
    const place = placeIn(file, Math.min(each.start, Math.max(0, textLength - 1)), layout)
    if (place === undefined) continue
    if (orderCodes.has(each.code) && isBetweenDeclarations(program, file, each, place, layout)) continue
    const isLenient = isStatements && each.code >= 7000 && each.code < 8000
    diagnostics.push({
      key: place.key,
      code: each.code,
      message: sayMessage(each.messageText),
      related: relatedOf(each, layout),
      start: place.start,
      length: Math.min(each.length ?? 0, textLength - Math.min(each.start, textLength)),
      // At a prompt nobody writes types for a value that is seen at once.
      category: each.category === typescript.DiagnosticCategory.Error && !isLenient ? "error" : "warning",
      isNew: true,
    })
  }
  return diagnostics.map((it) => (it.code === importAssigned ? asAssigned(it, layout) : it))
}

function textAt({ start = 0, length = 0 }: ts.Diagnostic, file: ts.SourceFile): string {
  return file.text.slice(start, start + length)
}

export function sayMessage(text: string | ts.DiagnosticMessageChain): string {
  return (
    typescript
      .flattenDiagnosticMessageText(text, "\n")
      // There is no such option, and nothing to install: a session has what its profile has.
      .replace(/ Do you need to (?:change your target library|install type definitions)[^\n]*/g, "")
      // Paths of the layout mean nothing to anybody else.
      .replace(
        /(?:typeof )?import\("(?:\/s|\.)\/-([^"]*?)(?:\.d)?(?:\.ts)?"\)(\.?)/g,
        (all, key: string, dot: string) => (dot === "." ? (all.startsWith("typeof") ? "typeof " : "") : key),
      )
  )
}

function placeIn(file: ts.SourceFile, offset: number, layout: Layout): Place | undefined {
  if (file.fileName === statementsFile) return { key: undefined, start: offset }
  let found: Place | undefined
  for (const { entry, start } of layout.membersOf(file.fileName)) {
    // Between two sources lies what ends the first.
    if (start <= offset) found = { key: entry.key, start: Math.min(offset - start, entry.source.length) }
  }
  return found
}

/** Whether what was used too early is another declaration of the session, and not a variable inside of one. */
function isBetweenDeclarations(
  program: ts.Program,
  file: ts.SourceFile,
  { start = 0, length = 0 }: ts.Diagnostic,
  place: Place,
  layout: Layout,
): boolean {
  const node = nodeAt(file, start, start + length)
  const declaration = node && program.getTypeChecker().getSymbolAtLocation(node)?.declarations?.[0]
  if (declaration === undefined || declaration.getSourceFile() !== file) return false
  const there = placeIn(file, declaration.getStart(file), layout)
  return there !== undefined && there.key !== undefined && there.key !== place.key
}

function nodeAt(file: ts.SourceFile, start: number, end: number): ts.Node | undefined {
  let found: ts.Node | undefined
  for (let at: ts.Node | undefined = file; at !== undefined;) {
    found = at
    at = typescript.forEachChild(at, (child) => (child.getStart(file) <= start && child.end >= end ? child : undefined))
  }
  return found
}

function relatedOf({ relatedInformation = [] }: ts.Diagnostic, layout: Layout): RelatedPlace[] {
  const places: RelatedPlace[] = []
  for (const { file, start = 0, length = 0, messageText } of relatedInformation) {
    if (file === undefined) continue
    const message = sayMessage(messageText)
    const scheme = layout.schemeIn(file.fileName)
    if (scheme !== undefined) {
      places.push({ key: scheme.key, message, ...placeOfName(scheme, file.text.slice(start, start + length)) })
      continue
    }
    const place = placeIn(file, start, layout)
    if (place !== undefined) places.push({ key: place.key, message, start: place.start, length })
  }
  return places
}

/** Where a name of a declaration's text stands in its source: at its first mention. */
function placeOfName({ source }: Entry, name: string): { start: number; length: number } {
  const start = /^[\w$\u0080-\uffff]+$/.test(name)
    ? source.search(new RegExp(`(?<![\\w$])${name.replaceAll("$", "\\$")}(?![\\w$])`))
    : source.indexOf(name)
  return start < 0 ? { start: 0, length: 0 } : { start, length: name.length }
}

/** As TypeScript says it in the file of the declaration. */
function asAssigned(diagnostic: Diagnostic, layout: Layout): Diagnostic {
  const name = /'([^']+)'/.exec(diagnostic.message)?.[1] ?? ""
  const source = layout.sets.entries.get(name)?.source ?? ""
  const kinds: [RegExp, number, string][] = [
    [/^\s*(?:async\s+)?function\b/, 2630, "a function"],
    [/^\s*(?:abstract\s+)?class\b/, 2629, "a class"],
    [/^\s*(?:const\s+)?enum\b/, 2628, "an enum"],
    [/^\s*(?:namespace|module)\b/, 2631, "a namespace"],
    [/^\s*const\b/, 2588, "a constant"],
  ]
  const kind = kinds.find(([pattern]) => pattern.test(source))
  if (kind === undefined) return diagnostic
  return { ...diagnostic, code: kind[1], message: `Cannot assign to '${name}' because it is ${kind[2]}.` }
}
