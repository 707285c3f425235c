// Declaration texts: what others see of a declaration, as TypeScript's own declaration emit writes it.
//
// They cut a check: a dependent is looked at again only when the text of what it uses has changed. So a text must not depend on comments,
// on formatting or on where a name is declared: the emit names what a module does not import as `import("./-C").C`, which people
// read as `C`. Some types have no text (an unnamed class with a private member); others then see the source.
import type ts from "typescript"
import { parseFile } from "./library.ts"
import { freeNames, isGeneratedModule, moduleOf, namesOfStatement } from "./names.ts"
import type { Entry, Scheme } from "./sets.ts"
import { typescript } from "./typescript.ts"

const importType = /import\("\.\/(?:-|prelude\/)[^"]*"\)\.([\w$\u0080-\uffff]+)/g
const printer = typescript.createPrinter({ removeComments: true, newLine: typescript.NewLineKind.LineFeed })

export interface KnownScheme {
  scheme: Scheme
  /** As people see it, and as it is compared. */
  shown: string
}

/**
 * The declaration text of each member of a module, in the order of the members; `undefined` when TypeScript lost itself while it wrote one, as
 * it does for `function f() { return [f, f] }`: its program cannot be used any more.
 */
export function emitSchemes(
  program: ts.Program,
  file: ts.SourceFile,
  members: readonly Entry[],
): KnownScheme[] | undefined {
  const isJsx = file.languageVariant === typescript.LanguageVariant.JSX
  const sources = (): KnownScheme[] => members.map((member) => sourceScheme(member, isJsx))
  if (members.some(({ isTextless }) => isTextless === true)) return sources()
  let text = ""
  let isSkipped: boolean
  try {
    isSkipped = program.emit(file, (_name, written) => void (text = written), undefined, true).emitSkipped
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    for (const member of members) member.isTextless = true
    return undefined
  }
  const [first] = members
  if (first?.isFile === true) {
    const known = sourceScheme(first, isJsx)
    return [isSkipped ? known : { ...known, shown: shownOf(text) }]
  }
  if (isSkipped || members.some(({ source }) => hidesAnnotation(source, text))) return sources()
  const emitted = parseFile("emitted.d.ts", text)
  const texts = new Map(members.map(({ key }) => [key, ""]))
  // What has no key of its own (the base of a class) is for the next declaration that has one.
  let left = ""
  let last = members[0]!.key
  for (const statement of emitted.statements) {
    if (typescript.isExportDeclaration(statement) || isGenerated(statement)) continue
    left += `${statement.getFullText(emitted).trim()}\n`
    const key = [...namesOfStatement(statement)].find((name) => texts.has(name))
    if (key === undefined) continue
    texts.set(key, texts.get(key)! + left)
    left = ""
    last = key
  }
  texts.set(last, texts.get(last)! + left)
  return members.map(({ key, targets }) => {
    const known = schemeOf(texts.get(key)!)
    if (targets === undefined) return known
    // An import of a file sees what the file sees.
    return { ...known, scheme: { ...known.scheme, names: new Set([...known.scheme.names, ...targets.values()]) } }
  })
}

function isGenerated(statement: ts.Statement): boolean {
  if (!typescript.isImportDeclaration(statement) || !typescript.isStringLiteral(statement.moduleSpecifier)) return false
  return isGeneratedModule(statement.moduleSpecifier.text)
}

export function schemeOf(emitted: string): KnownScheme {
  const text = emitted.replace(importType, (all, name: string) =>
    all.startsWith(`import("${moduleOf("")}`) ? `import("${moduleOf(name)}").${name}` : all,
  )
  const file = parseFile("scheme.d.ts", text)
  return { scheme: { text, names: freeNames(file), isSource: false }, shown: shownOf(text, file) }
}

function shownOf(text: string, file: ts.SourceFile = parseFile("shown.d.ts", text)): string {
  const plain = /\/[/*]/.test(text) ? printer.printFile(file) : text
  return plain.replace(importType, "$1").trim()
}

function sourceScheme({ source, names }: Entry, isJsx: boolean): KnownScheme {
  const shown = printer.printFile(parseFile("scheme.ts", source, isJsx)).trim()
  return { scheme: { text: source, names, isSource: true }, shown }
}

/** A declaration that does not parse: others see a name that says nothing. */
export function brokenScheme(key: string): KnownScheme {
  return schemeOf(`declare const ${key}: any;\ntype ${key} = any;\n`)
}

/**
 * Calls of functions that assert or never return end paths only where the type is written out, which it always is in a declaration text: a
 * constant that has such a type by inference keeps its source.
 */
function hidesAnnotation(source: string, text: string): boolean {
  if (!/\basserts\b|=>\s*never\b/.test(text)) return false
  return /^\s*(?:export\s+)?(?:const|let|var)\s+[\w$\u0080-\uffff]+\s*=/.test(source)
}

/** The scheme of a local. */
export function localScheme(name: string, keyword: string, type: string): { source: string; known: KnownScheme } {
  const source = `${keyword} ${name}: ${type}`
  return { source, known: schemeOf(`declare ${source};\n`) }
}
