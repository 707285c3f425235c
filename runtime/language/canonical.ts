// What declarations say, whatever their layout: a digest of each from its syntax tree.
//
// Layout, comments, quotes, redundant parentheses and semicolons change nothing; everything that the tree holds does. Keys are written in
// alphabetical order and absent parts not at all, so that the text does not depend on the order or the defaults of the parser's version.
import { createHash } from "node:crypto"
import { bareStatement } from "./definition.ts"
import type { Node, Program } from "./parse.ts"

/** Changes when the text below does: digests of different forms are never equal by accident. */
const form = "1"

/** Where nodes stand, how literals were written, and links that a parser may add. */
const skipped: ReadonlySet<string> = new Set(["start", "end", "range", "loc", "parent", "comments", "optionalTypes"])

/** The digests of a program's declarations by key; those of one key are one declaration. */
export function declarationDigests(program: Program): Map<string, string> {
  const texts = new Map<string, string>()
  const add = (key: string, text: string): void => {
    texts.set(key, `${texts.get(key) ?? form}\n${text}`)
  }
  for (const statement of program.body) {
    const node = bareStatement(statement)
    if (node.type === "VariableDeclaration") {
      for (const declarator of node.declarations) {
        if (declarator.id.type === "Identifier") add(declarator.id.name, `${node.kind} ${canonicalText(declarator)}`)
      }
    } else {
      const key = keyOf(node)
      if (key !== undefined) add(key, canonicalText(node))
    }
  }
  const digests = new Map<string, string>()
  for (const [key, text] of texts) digests.set(key, createHash("sha256").update(text).digest("base64url"))
  return digests
}

/** The name that a declaration other than of variables declares. */
export function keyOf(node: Node): string | undefined {
  switch (node.type) {
    case "FunctionDeclaration":
    case "TSDeclareFunction":
    case "ClassDeclaration":
      return node.id?.name
    case "TSTypeAliasDeclaration":
    case "TSInterfaceDeclaration":
    case "TSEnumDeclaration":
      return node.id.name
    case "TSModuleDeclaration": {
      let { id }: { id: Node } = node
      while (id.type === "TSQualifiedName") id = id.left
      return id.type === "Identifier" ? id.name : undefined
    }
    default:
      return undefined
  }
}

/** A node as text. Its own stack: a chain of operators is as deep as it is long. */
export function canonicalText(root: Node): string {
  let text = ""
  const open: unknown[] = [root]
  while (open.length > 0) {
    const item = open.pop()
    if (item instanceof Piece) text += item.text
    else if (Array.isArray(item)) {
      text += "["
      open.push(closeList)
      for (let index = item.length - 1; index >= 0; index--) open.push(item[index] ?? hole)
    } else if (typeof item === "object" && item !== null) pushNode(item as Record<string, unknown>, open)
    else text += ` ${typeof item === "bigint" ? `${item}n` : JSON.stringify(item)}`
  }
  return text
}

class Piece {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

const closeList = new Piece("]")
const closeNode = new Piece(")")
const hole = new Piece(" _")

function pushNode(given: Record<string, unknown>, open: unknown[]): void {
  let node = given
  for (;;) {
    if (node.type === "ParenthesizedExpression") node = node.expression as Record<string, unknown>
    else if (node.type === "TSParenthesizedType") node = node.typeAnnotation as Record<string, unknown>
    else break
  }
  const isLiteral = node.type === "Literal"
  open.push(closeNode)
  const keys = Object.keys(node).toSorted()
  for (let index = keys.length - 1; index >= 0; index--) {
    const key = keys[index]!
    const value = node[key]
    if (skipped.has(key) || key === "type" || value === undefined || value === null || value === false) continue
    if (Array.isArray(value) && value.length === 0 && key !== "elements" && key !== "body") continue
    // A regular expression is its pattern and flags; the object is one of ours.
    if (isLiteral && (key === "raw" || (key === "value" && typeof value === "object"))) continue
    open.push(value, new Piece(` ${key}`))
  }
  // `false` and `null` are left out elsewhere, and are all that these literals have.
  if (
    isLiteral &&
    (node.value === false || (node.value === null && node.regex === undefined && node.bigint === undefined))
  )
    open.push(new Piece(` value ${String(node.value)}`))
  open.push(new Piece(`(${String(node.type)}`))
}
