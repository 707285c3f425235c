// What blanking types cannot explain: enums, namespaces with values, parameter properties and `import =`.
//
// Each top-level statement that holds one goes through oxc-transform by itself, and the submission is then compiled from the text that
// results. Positions in a replaced statement come back through the transformer's source map; all others are only shifted.
import { transformSync } from "oxc-transform"
import { bareStatement, isCode, isCodeClass, type SpecialStatement } from "./definition.ts"
import type { Node, Program } from "./parse.ts"
import { LineTable } from "./positions.ts"

export interface Lowered {
  text: string
  /** Statements that were enums or namespaces, by their index; the transformer keeps the number of statements. */
  special: Map<number, SpecialStatement>
  /** The offset in the original text of an offset in the lowered one. */
  original(offset: number): number
}

interface Piece {
  /** Where it stands in the lowered text, and the original statement. */
  start: number
  end: number
  originalStart: number
  originalEnd: number
  map(offset: number): number
}

export function lower(
  text: string,
  program: Program,
  statements: ReadonlySet<number>,
): Lowered | { message: string; start: number; end: number } {
  const pieces: Piece[] = []
  const special = new Map<number, SpecialStatement>()
  const merged = mergedDeclarations(program, statements)
  const wanted = new Set(statements)
  for (const group of merged.values()) for (const index of group) wanted.add(index)
  let lowered = ""
  let at = 0
  for (const index of [...wanted].toSorted((a, b) => a - b)) {
    const statement = program.body[index]!
    const group = merged.get(index) ?? [index]
    lowered += text.slice(at, statement.start)
    at = statement.end
    const pieceStart = lowered.length
    if (group[0] !== index) {
      // It is part of the first declaration of its name.
      lowered += ";"
      const { start, end } = statement
      pieces.push({ start: pieceStart, end: lowered.length, originalStart: start, originalEnd: end, map: () => start })
      continue
    }
    const parts = group.map((each) => bareStatement(program.body[each]!))
    const source = parts.map(({ start, end }) => text.slice(start, end)).join("\n")
    const { start, end } = parts[0]!
    const result = transformSync("submission.ts", source, {
      lang: "ts",
      sourceType: "module",
      sourcemap: true,
      target: "esnext",
      typescript: { onlyRemoveTypeImports: true },
    })
    if (result.errors.length > 0) return { message: messageOf(result.errors[0]!.message), start, end }
    let code = result.code.trimEnd()
    let lead = ""
    const node = parts.find(({ type }) => type === "TSModuleDeclaration" || type === "TSEnumDeclaration")
    const name = node === undefined ? undefined : declaredName(node)
    if (name !== undefined && (parts.length > 1 || node?.type === "TSModuleDeclaration")) {
      lead = `var ${name}=(()=>{`
      code = `${code}\nreturn ${name}})();`
    }
    if (name !== undefined) {
      special.set(index, {
        kind: node!.type === "TSEnumDeclaration" ? "enum" : "namespace",
        name,
        isCode: parts.every(isCodeDeclaration),
        sourceStart: start,
        sourceEnd: end,
      })
    }
    lowered += lead + code
    const inner = decodeMap(result.map?.mappings ?? "", code, source)
    pieces.push({
      start: pieceStart,
      end: lowered.length,
      originalStart: start,
      originalEnd: statement.end,
      map: (offset) => partOffset(parts, inner(Math.max(0, offset - pieceStart - lead.length))),
    })
  }
  lowered += text.slice(at)
  return { text: lowered, special, original: (offset) => originalOffset(pieces, offset) }
}

/** Functions, classes, enums and namespaces that share a name: by each statement, all of them. They are made as one. */
function mergedDeclarations(program: Program, statements: ReadonlySet<number>): Map<number, number[]> {
  const byName = new Map<string, number[]>()
  for (const [index, statement] of program.body.entries()) {
    const node = bareStatement(statement)
    const name = declaredName(node)
    if (name === undefined || (node as { declare?: boolean }).declare === true) continue
    if (node.type === "TSModuleDeclaration" && !statements.has(index)) continue
    const list = byName.get(name)
    if (list === undefined) byName.set(name, [index])
    else list.push(index)
  }
  const merged = new Map<number, number[]>()
  for (const group of byName.values()) {
    const kinds = new Set(group.map((index) => bareStatement(program.body[index]!).type))
    if (group.length < 2 || !(kinds.has("TSModuleDeclaration") || kinds.has("TSEnumDeclaration"))) continue
    for (const index of group) merged.set(index, group)
  }
  return merged
}

function declaredName(node: Node): string | undefined {
  switch (node.type) {
    case "FunctionDeclaration":
    case "TSDeclareFunction":
    case "ClassDeclaration":
      return node.id?.name
    case "TSEnumDeclaration":
      return node.id.name
    case "TSModuleDeclaration":
      return moduleName(node)
    default:
      return undefined
  }
}

function isCodeDeclaration(node: Node): boolean {
  switch (node.type) {
    case "TSModuleDeclaration":
      return isCodeNamespace(node)
    case "TSEnumDeclaration":
      return isCodeEnum(node)
    case "ClassDeclaration":
      return isCodeClass(node, () => false, [])
    default:
      return true
  }
}

/** The offset in the text of an offset in the parts of it that were joined by line breaks. */
function partOffset(parts: readonly Node[], offset: number): number {
  let rest = offset
  for (const { start, end } of parts) {
    if (rest <= end - start) return start + rest
    rest -= end - start + 1
  }
  return parts.at(-1)!.end
}

/** A refusal of the transformer, about the user's text. */
function messageOf(message: string): string {
  return message.startsWith("Namespaces exporting non-const")
    ? "A namespace cannot export a `let` or `var`: export a `const`, or functions that read and set it"
    : message
}

function originalOffset(pieces: readonly Piece[], offset: number): number {
  let shift = 0
  for (const piece of pieces) {
    if (offset < piece.start) break
    if (offset < piece.end) return piece.map(offset)
    shift = piece.originalEnd - piece.end
  }
  return offset + shift
}

function moduleName(node: Extract<Node, { type: "TSModuleDeclaration" }>): string {
  let { id }: { id: Node } = node
  while (id.type === "TSQualifiedName") id = id.left
  return id.type === "Identifier" ? id.name : "module"
}

function isCodeEnum(node: Extract<Node, { type: "TSEnumDeclaration" }>): boolean {
  return node.body.members.every(({ initializer }) => initializer === null || isConstant(initializer))
}

/** A literal, or a calculation with literals and members of the same enum. */
function isConstant(node: Node): boolean {
  switch (node.type) {
    case "Literal":
    case "Identifier":
      return true
    case "UnaryExpression":
      return isConstant(node.argument)
    case "BinaryExpression":
      return isConstant(node.left) && isConstant(node.right)
    case "ParenthesizedExpression":
      return isConstant(node.expression)
    case "TemplateLiteral":
      return node.expressions.every(isConstant)
    default:
      return false
  }
}

function isCodeNamespace(node: Extract<Node, { type: "TSModuleDeclaration" }>): boolean {
  const { body } = node
  return (
    body !== null &&
    body.body.every((statement) => {
      const inner = bareStatement(statement)
      switch (inner.type) {
        case "FunctionDeclaration":
        case "TSDeclareFunction":
        case "TSInterfaceDeclaration":
        case "TSTypeAliasDeclaration":
          return true
        case "TSEnumDeclaration":
          return isCodeEnum(inner)
        case "TSModuleDeclaration":
          return isCodeNamespace(inner)
        case "VariableDeclaration":
          return (
            inner.kind === "const" &&
            inner.declarations.every(({ init }) => init !== null && isCode(init, () => false, []))
          )
        default:
          return false
      }
    })
  )
}

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

/** Reads a source map's mappings: a function from offsets in the generated text to offsets in its source. */
export function decodeMap(mappings: string, generated: string, source: string): (offset: number) => number {
  const generatedLines = new LineTable(generated)
  const sourceLines = new LineTable(source)
  const from: number[] = []
  const to: number[] = []
  let [sourceLine, sourceColumn] = [0, 0]
  for (const [line, text] of mappings.split(";").entries()) {
    let column = 0
    for (const segment of text.split(",")) {
      if (segment === "") continue
      const values = decodeNumbers(segment)
      column += values[0] ?? 0
      if (values.length < 4) continue
      sourceLine += values[2] ?? 0
      sourceColumn += values[3] ?? 0
      from.push(generatedLines.offset(line + 1, column + 1) ?? 0)
      to.push(sourceLines.offset(sourceLine + 1, sourceColumn + 1) ?? 0)
    }
  }
  return (offset) => {
    let found = 0
    for (let index = 0; index < from.length && from[index]! <= offset; index++) found = to[index]!
    return found
  }
}

function decodeNumbers(segment: string): number[] {
  const numbers: number[] = []
  let [value, shift] = [0, 0]
  for (const character of segment) {
    const digit = digits.indexOf(character)
    value |= (digit & 31) << shift
    if ((digit & 32) !== 0) {
      shift += 5
      continue
    }
    numbers.push((value & 1) === 1 ? -(value >> 1) : value >> 1)
    value = 0
    shift = 0
  }
  return numbers
}
