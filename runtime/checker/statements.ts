// The statements of a submission: checked after its declarations, in a module that sees all of them, and asked what locals they leave.
import type ts from "typescript"
import type { Diagnostic, LocalText } from "./declarations.ts"
import { diagnosticsOf } from "./diagnostics.ts"
import { statementsFile } from "./layout.ts"
import type { Jsx } from "../language/jsx-option.ts"
import type { Layout, Statements } from "./layout.ts"
import { parseFile } from "./library.ts"
import { assignedNames, freeNames, topLevelNames } from "./names.ts"
import { typescript } from "./typescript.ts"

export interface StatementsText {
  readonly text: string
  /** How much longer `text` is before what was given begins. */
  readonly shift: number
  readonly names: ReadonlySet<string>
  readonly own: ReadonlySet<string>
  /** Names that a plain assignment writes. */
  readonly assigned: ReadonlySet<string>
}

/** `undefined` when there are none. An object literal is read as one, as in an eval. */
export function readStatements(source: string, jsx: Jsx | undefined): StatementsText | undefined {
  if (source.trim() === "") return undefined
  const isObject = /^\s*\{/.test(source) && isObjectLiteral(source, jsx !== undefined)
  const text = isObject ? `(${source.replace(/;\s*$/, (tail) => tail.replace(";", " "))}\n)` : source
  const file = parseFile(statementsFile, text, jsx !== undefined)
  const own = topLevelNames(file)
  const assigned = new Set([...assignedNames(file)].filter((name) => !own.has(name)))
  return { text, shift: isObject ? 1 : 0, names: freeNames(file, jsx), own, assigned }
}

/** As the session's own parser decides: what reads better as an object, or is no block. */
function isObjectLiteral(source: string, isJsx: boolean): boolean {
  const block = parseFile(statementsFile, source, isJsx)
  const literal = parseFile(statementsFile, `(${source.replace(/;\s*$/, "")}\n)`, isJsx)
  const [only, ...more] = literal.statements
  const isOne =
    more.length === 0 &&
    problemCount(literal) === 0 &&
    only !== undefined &&
    typescript.isExpressionStatement(only) &&
    typescript.isParenthesizedExpression(only.expression) &&
    typescript.isObjectLiteralExpression(only.expression.expression)
  if (!isOne) return false
  if (problemCount(block) > 0) return true
  const [first, ...rest] = block.statements
  if (first === undefined || !typescript.isBlock(first) || !rest.every(typescript.isEmptyStatement)) return false
  if (first.statements.length > 1) return false
  const [inner] = first.statements
  if (inner === undefined) return true
  if (typescript.isLabeledStatement(inner)) return typescript.isExpressionStatement(inner.statement)
  return typescript.isExpressionStatement(inner) && areNames(inner.expression)
}

function areNames(node: ts.Expression): boolean {
  if (typescript.isBinaryExpression(node) && node.operatorToken.kind === typescript.SyntaxKind.CommaToken)
    return areNames(node.left) && areNames(node.right)
  return typescript.isIdentifier(node)
}

function problemCount(file: ts.SourceFile): number {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the parser keeps them here; a program would only hand them out
  return (file as unknown as { parseDiagnostics: readonly unknown[] }).parseDiagnostics.length
}

/** The statements as the layout takes them: with the names that an assignment makes locals. */
export function namesIn(
  { sets, library, ambientNames }: Layout,
  { text, names, own, assigned }: StatementsText,
): Statements {
  const isKnown = (name: string): boolean => sets.entries.has(name) || library.names.has(name) || ambientNames.has(name)
  return { text, names, own, made: [...assigned].filter((name) => !isKnown(name)) }
}

export function checkStatements(
  program: ts.Program,
  layout: Layout,
  { text, shift, own }: StatementsText,
  { made }: Statements,
): { diagnostics: Diagnostic[]; localTypes: LocalText[] } {
  const file = program.getSourceFile(statementsFile)!
  const last = text.length - shift
  const within = (offset: number): number => Math.max(0, Math.min(offset - shift, last))
  const diagnostics = diagnosticsOf(program, file, layout, text.length).map((it) => ({
    ...it,
    start: within(it.start),
    related: it.related.map((place) => (place.key === undefined ? { ...place, start: within(place.start) } : place)),
  }))
  return { diagnostics, localTypes: localTypesOf(program.getTypeChecker(), file, own, made) }
}

const typeFormat: ts.TypeFormatFlags = [
  typescript.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope,
  typescript.TypeFormatFlags.UseFullyQualifiedType,
  typescript.TypeFormatFlags.WriteClassExpressionAsTypeLiteral,
].reduce((all, flag) => all | flag, typescript.TypeFormatFlags.NoTruncation)

/** Locals that the statements leave behind. What is made by an assignment alone may hold anything later. */
function localTypesOf(
  checker: ts.TypeChecker,
  file: ts.SourceFile,
  own: ReadonlySet<string>,
  made: readonly string[],
): LocalText[] {
  const symbols = new Map(
    checker
      .getSymbolsInScope(
        file,
        typescript.SymbolFlags.Variable | typescript.SymbolFlags.Class | typescript.SymbolFlags.Function,
      )
      .filter(({ name }) => own.has(name))
      .map((symbol) => [symbol.name, symbol]),
  )
  const locals: LocalText[] = []
  for (const name of own) {
    const symbol = symbols.get(name)
    const declaration = symbol?.valueDeclaration
    if (symbol === undefined || declaration?.getSourceFile() !== file) continue
    const type = checker.typeToString(checker.getTypeOfSymbolAtLocation(symbol, declaration), file, typeFormat)
    const isConstant = (typescript.getCombinedNodeFlags(declaration) & typescript.NodeFlags.Const) !== 0
    // A class of the statements is no declaration of the session, so its name says nothing elsewhere.
    const isTold = type.length <= localTypeMax && namesOnlyShared(type, own) && !type.includes("import(")
    locals.push({ name, keyword: isConstant ? "const" : "let", type: isTold ? type : "any" })
  }
  for (const name of made) locals.push({ name, keyword: "let", type: "any" })
  return locals
}

/** Characters of a local's type that are kept: beyond it a check would read more of types than of code. */
const localTypeMax = 10_000

function namesOnlyShared(type: string, own: ReadonlySet<string>): boolean {
  for (const name of freeNames(parseFile("type.ts", `let _t: ${type}`))) if (own.has(name)) return false
  return true
}
