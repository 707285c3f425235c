// A submission read as a module: its declarations, each a definition of the session, and what remains to be run once they are published.
//
// `function`, `class`, `enum`, `namespace`, `const` of one name, `type` and `interface` are definitions whatever their initialisers do;
// `let`, `var` and statements are what remains; a `const` of a pattern is refused. A definition is code when making it runs nothing of its own (`definition.ts`), and else
// holds data, which its initialiser makes once.
import { Assembly } from "./assembly.ts"
import { prepare, tellTexts } from "./compile.ts"
import { bareStatement, findDefinitions, type DefinitionKind } from "./definition.ts"
import { invalid, type InvalidSource, type Program } from "./parse.ts"
import { LineTable } from "./positions.ts"
import type { NameTable } from "./transform.ts"

export interface Declaration {
  key: string
  kind: DefinitionKind
  source: string
  /** Where its first part stands in the submission, with the comments in front. */
  start: number
  end: number
  line: number
  column: number
  /** Names that its text uses. */
  reads: string[]
  /** Whether making it runs nothing of its own, provided that every name in `leaves` is such a definition too. */
  isCode: boolean
  leaves: string[]
  digest: string
}

export interface Module {
  valid: true
  declarations: Declaration[]
  /** The text with the declarations blanked, each position where it was; `undefined` when nothing remains to be run. */
  statements: string | undefined
}

/** Names mean nothing yet: which of them are definitions is the candidate's business. */
const noNames: NameTable = { kind: () => undefined, isRealmGlobal: () => false }

/** `names` says which JSX there is, and what its runtime has imported already. */
export function splitModule(
  source: string,
  firstLine = 1,
  names: Pick<NameTable, "jsx" | "kind"> = noNames,
): Module | InvalidSource {
  const prepared = prepare(source, names.jsx, (name) => names.kind(name) === "import")
  if (!prepared.valid) return invalid(source, prepared.errors, firstLine)
  const patterns = constPatterns(prepared.written, prepared.shift)
  if (patterns.length > 0) return invalid(source, patterns, firstLine)
  const lines = new LineTable(source)
  const locate = (offset: number) => ({ filename: "", ...lines.position(offset) })
  const { program, written, shift, analysis, special } = prepared
  const code = new Map(
    // Which of the names are code is found by the candidate, whatever the order of the text.
    findDefinitions(program, analysis, special, () => true, false, true).candidates.map((it) => [
      it.name,
      it.readsWhenMade,
    ]),
  )
  const { definitions } = new Assembly(source, prepared, noNames, "module", locate, new Set(), true).unit()
  tellTexts(definitions, source, prepared, (offset) => lines.position(offset))
  const byKey = new Map<string, Declaration>()
  for (const { name: key, kind, source: text, span, dependencies, cells, digest } of definitions) {
    // An import runs the code of a module: it stays among the statements.
    if (kind === "import") continue
    const { start, end, line, column } = span
    const reads = [...new Set([...dependencies, ...cells])].filter((it) => it !== key)
    const leaves = code.get(key)
    const before = byKey.get(key)
    if (before === undefined) {
      const isCode = isCodeDeclaration(kind, leaves, reads)
      const declaration = { key, kind, source: text, start, end, line: line + firstLine - 1, column, reads, isCode }
      byKey.set(key, { ...declaration, leaves: kind === "const" ? (leaves ?? []) : [], digest })
      continue
    }
    before.reads = [...new Set([...before.reads, ...reads])]
    before.isCode &&= isCodeDeclaration(kind, leaves, reads)
    if (isType(before.kind)) before.kind = kind
  }
  const declarations = [...byKey.values()]
  const statements = remaining(source, written, shift)
  const added = prepared.jsxImports
  // Imports are made first wherever they stand, and behind the others they move nothing.
  return { valid: true, declarations, statements: added === "" ? statements : `${statements ?? ""}\n;${added}` }
}

/** One initialiser for several names is no declaration of any of them: which of them would a redefinition, a wrapper or a removal be about? */
function constPatterns(program: Program, shift: number): { message: string; start: number; end: number }[] {
  return program.body.map(bareStatement).flatMap((node) => {
    if (node.type !== "VariableDeclaration" || node.kind !== "const") return []
    return node.declarations.flatMap(({ id }) => {
      if (id.type === "Identifier") return []
      const message =
        "A definition has one name: declare the whole and each name by itself, as in `const it = …, a = it.a`; or use `let` for locals"
      return [{ message, start: id.start - shift, end: id.end - shift }]
    })
  })
}

function isCodeDeclaration(kind: DefinitionKind, leaves: string[] | undefined, reads: readonly string[]): boolean {
  if (isType(kind) || kind === "function") return true
  // An enum's member may be calculated with another declaration's value.
  return leaves !== undefined && (kind !== "enum" || reads.length === 0)
}

function isType(kind: DefinitionKind): boolean {
  return kind === "type" || kind === "interface"
}

/** The text with every declaration blanked. */
function remaining(
  source: string,
  program: { body: Parameters<typeof bareStatement>[0][] },
  shift: number,
): string | undefined {
  let text = ""
  let at = 0
  let runs = false
  for (const statement of program.body) {
    const node = bareStatement(statement)
    if (!isDeclaration(node)) {
      runs ||= node.type !== "EmptyStatement"
      continue
    }
    const [start, end] = [statement.start - shift, statement.end - shift]
    // A `;` in its place: what stands before must not go on with what comes after.
    text += `${source.slice(at, start)};${source.slice(start + 1, end).replace(/[^\n\r\u2028\u2029]/g, " ")}`
    at = end
  }
  return runs ? text + source.slice(at) : undefined
}

function isDeclaration(node: ReturnType<typeof bareStatement>): boolean {
  switch (node.type) {
    case "FunctionDeclaration":
    case "ClassDeclaration":
    case "TSDeclareFunction":
    case "TSTypeAliasDeclaration":
    case "TSInterfaceDeclaration":
    case "TSEnumDeclaration":
    case "TSModuleDeclaration":
      return true
    case "VariableDeclaration":
      return (
        node.kind === "const" && node.declarations.every(({ id, init }) => id.type === "Identifier" && init !== null)
      )
    default:
      return false
  }
}
