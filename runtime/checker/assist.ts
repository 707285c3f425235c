// What someone who is writing wants to know: names that may stand at a place, what one is, and what a call takes.
//
// The text need not be finished, and nothing of it is run. TypeScript's language service answers for a module of the text; names of
// the session that the text does not use yet are no part of that module, and are added from the set itself.
import type ts from "typescript"
import type { Completion, Completions, Hover, Signatures } from "./declarations.ts"
import { sayMessage } from "./diagnostics.ts"
import { statementsFile } from "./layout.ts"
import type { Layout } from "./layout.ts"
import { optionsOf } from "./library.ts"
import { namesIn, readStatements } from "./statements.ts"
import { typescript } from "./typescript.ts"

/** Names in one answer: more than anybody reads, fewer than would be slow to send. */
const itemsMax = 500
/** Characters of documentation and of a declaration that are told. */
const textMax = 4_000

interface Written {
  readonly service: ts.LanguageService
  readonly at: number
  /** From an offset in TypeScript's text to one in what was given. */
  readonly given: (offset: number) => number
}

function written(layout: Layout, text: string, offset: number): Written {
  const statements = readStatements(text, layout.environment.jsx) ?? readStatements(";", undefined)!
  layout.arrange(new Set(), namesIn(layout, statements))
  const { shift } = statements
  return {
    service: typescript.createLanguageService(serviceHost(layout), registry(layout)),
    at: Math.min(offset, text.length) + shift,
    given: (there) => Math.max(0, Math.min(there - shift, text.length)),
  }
}

export function complete(layout: Layout, text: string, offset: number): Completions {
  const { service, at } = written(layout, text, offset)
  const { start, end } = wordAround(text, offset)
  const prefix = text.slice(start, Math.min(offset, end)).toLowerCase()
  const found = service.getCompletionsAtPosition(statementsFile, at, {})
  const items = new Map<string, Completion>()
  const add = (name: string, kind: string): void => {
    if (!items.has(name) && name.toLowerCase().startsWith(prefix)) items.set(name, { name, kind })
  }
  // Not after a dot and not in a string: any name of the session may stand here.
  if (found?.isMemberCompletion === false) {
    for (const { key, source, isLocal } of layout.sets.entries.values()) add(key, isLocal ? "local" : kindOf(source))
    for (const name of layout.exports.keys()) add(name, kindOf(layout.exportText(name) ?? ""))
  }
  const entries =
    found?.entries.toSorted((a, b) => (a.sortText < b.sortText ? -1 : a.sortText > b.sortText ? 1 : 0)) ?? []
  for (const { name, kind, insertText } of entries) {
    // One that needs more than its name (a key with a dash) cannot simply be written there.
    if (insertText === undefined || insertText === name) add(name, kind)
  }
  const list = [...items.values()]
  return { start, end, items: list.slice(0, itemsMax), isCut: list.length > itemsMax }
}

export function hover(layout: Layout, text: string, offset: number): Hover | undefined {
  const { service, at, given } = written(layout, text, offset)
  const info = service.getQuickInfoAtPosition(statementsFile, at)
  if (info === undefined) return undefined
  const { textSpan, displayParts, documentation } = info
  const shown = sayMessage(typescript.displayPartsToString(displayParts))
  return {
    start: given(textSpan.start),
    end: given(textSpan.start + textSpan.length),
    // How the layout brings a name here says nothing to anybody.
    text: cut(withoutAlias(shown, layout)),
    documentation: cut(typescript.displayPartsToString(documentation)),
  }
}

export function signature(layout: Layout, text: string, offset: number): Signatures {
  const { service, at } = written(layout, text, offset)
  const found = service.getSignatureHelpItems(statementsFile, at, undefined)
  if (found === undefined) return { items: [], active: 0, parameter: 0 }
  const items = found.items.map((item) => {
    const parameters = item.parameters.map(({ displayParts, documentation }) => ({
      text: cut(sayMessage(typescript.displayPartsToString(displayParts))),
      documentation: cut(typescript.displayPartsToString(documentation)),
    }))
    const before = typescript.displayPartsToString(item.prefixDisplayParts)
    const between = typescript.displayPartsToString(item.separatorDisplayParts)
    const after = typescript.displayPartsToString(item.suffixDisplayParts)
    const inside = parameters.map((parameter) => parameter.text).join(between)
    return {
      text: cut(sayMessage(before + inside + after)),
      documentation: cut(typescript.displayPartsToString(item.documentation)),
      parameters,
    }
  })
  return { items, active: found.selectedItemIndex, parameter: found.argumentIndex }
}

function withoutAlias(shown: string, layout: Layout): string {
  if (!shown.startsWith("(alias) ")) return shown
  const text = shown.slice("(alias) ".length).replace(/\nimport [^\n]+$/, "")
  // Of something that is called only its name is told.
  const name = /^[\w$\u00aa-\uffff]+/.exec(text)?.[0] ?? ""
  const source = layout.sets.entries.get(name)?.source ?? layout.exportText(name)
  return source === undefined ? text : `${kindOf(source)} ${text}`
}

function cut(text: string): string {
  return text.length > textMax ? `${text.slice(0, textMax)}…` : text
}

const wordCharacter = /[\w$\u00aa-\uffff]/

function wordAround(text: string, offset: number): { start: number; end: number } {
  let start = Math.min(offset, text.length)
  let end = start
  while (start > 0 && wordCharacter.test(text[start - 1]!)) start -= 1
  while (end < text.length && wordCharacter.test(text[end]!)) end += 1
  return { start, end }
}

function kindOf(source: string): string {
  const code = source.replace(/^(?:\s+|\/\*[^]*?\*\/|\/\/[^\n]*)+/, "")
  const words = /^(?:export\s+|declare\s+|abstract\s+|async\s+)*(const\s+enum|\w+)/.exec(code)?.[1] ?? "const"
  return words.startsWith("const") && words !== "const" ? "enum" : words
}

function serviceHost(layout: Layout): ts.LanguageServiceHost {
  return {
    getCompilationSettings: () => optionsOf(layout.environment.jsx),
    getScriptFileNames: () => layout.roots(),
    getScriptVersion: (name) => versionOf(layout.getSourceFile(name)),
    getScriptSnapshot: (name) => {
      const file = layout.getSourceFile(name)
      return file && typescript.ScriptSnapshot.fromString(file.text)
    },
    getCurrentDirectory: () => layout.getCurrentDirectory(),
    getDefaultLibFileName: () => layout.getDefaultLibFileName(),
    fileExists: (name) => layout.fileExists(name),
    readFile: (name) => layout.readFile(name),
    useCaseSensitiveFileNames: () => true,
    resolveModuleNameLiterals: (literals, containing) => layout.resolveModuleNameLiterals(literals, containing),
    resolveTypeReferenceDirectiveReferences: (references) => layout.resolveTypeReferenceDirectiveReferences(references),
  }
}

function versionOf(file: ts.SourceFile | undefined): string {
  return (file as { version?: string } | undefined)?.version ?? ""
}

/** The files of the layout as they are: they are parsed already, and bound where another program has used them. */
function registry(layout: Layout): ts.DocumentRegistry {
  const give = (name: string): ts.SourceFile => layout.getSourceFile(name)!
  return {
    acquireDocument: give,
    acquireDocumentWithKey: give,
    updateDocument: give,
    updateDocumentWithKey: give,
    releaseDocument: () => {},
    releaseDocumentWithKey: () => {},
    getKeyForCompilationSettings: () => "" as ts.DocumentRegistryBucketKey,
    reportStats: () => "",
  }
}
