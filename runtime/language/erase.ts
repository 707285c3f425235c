// Which text of a program is types, and how it disappears without moving anything.
//
// Types become blanks in place, so lines and columns stay. Three places need more than a blank: where an erased tail ended a statement
// that had no `;`, the next line could be taken for its continuation, so a `;` is added; a class member
// likewise; and a return type over several lines may not leave a line break between `)` and `=>`.
import type { Edits } from "./edits.ts"
import type {
  AccessorProperty,
  ArrowFunctionExpression,
  Class,
  Function,
  MethodDefinition,
  Node,
  PropertyDefinition,
} from "./parse.ts"

/** Keys of tree nodes beneath which there are only types; the walk never enters them. */
export const typeKeys: ReadonlySet<string> = new Set([
  "typeAnnotation",
  "typeArguments",
  "typeParameters",
  "returnType",
  "superTypeArguments",
  "implements",
  "decorators",
])

type Of<T extends Node["type"]> = Extract<Node, { type: T }>
interface Range {
  start: number
  end: number
}

export function eraseTypeArguments(edits: Edits, node: Range | null | undefined): void {
  if (node !== null && node !== undefined) edits.blank(node.start, node.end)
}

/** The tail of `x as T`, `x satisfies T`, `x!` or `f<T>`. */
export function eraseTail(
  edits: Edits,
  node: Of<"TSAsExpression" | "TSSatisfiesExpression" | "TSNonNullExpression" | "TSInstantiationExpression">,
  statementEnd: number,
): void {
  edits.blank(node.expression.end, node.end)
  if (node.end === statementEnd && node.type !== "TSNonNullExpression") edits.terminate(node.end)
}

/** Erases `?`, `!` and the annotation behind a name or pattern; returns where the name itself ends. */
export function erasePattern(
  edits: Edits,
  node: Of<"Identifier" | "ObjectPattern" | "ArrayPattern" | "RestElement">,
  isDefinite = false,
): number {
  const { typeAnnotation } = node
  const isOptional = (node as { optional?: boolean }).optional === true
  if (typeAnnotation === null || typeAnnotation === undefined) {
    if (!isOptional && !isDefinite) return node.end
  }
  let end = typeAnnotation?.start ?? node.end
  const { source } = edits
  if (isOptional || isDefinite) {
    const mark = isOptional ? "?" : "!"
    let at = source.lastIndexOf(mark, end)
    if (at < node.start) at = source.indexOf(mark, node.start)
    if (node.type === "Identifier") end = endOfName(source, node, at)
    else end = at
    edits.blank(end, Math.max(node.end, at + 1))
    return end
  }
  if (node.type === "Identifier") end = endOfName(source, node, end)
  edits.blank(end, node.end)
  return end
}

function endOfName(source: string, { start, name }: { start: number; name: string }, limit: number): number {
  return source.startsWith(name, start) ? start + name.length : limit
}

/** Type parameters, a `this` parameter with its comma, and the return type. */
export function eraseFunction(edits: Edits, node: Function | ArrowFunctionExpression): void {
  const { typeParameters, returnType, params } = node
  eraseTypeArguments(edits, typeParameters)
  const [first, second] = params
  if (first?.type === "Identifier" && first.name === "this") {
    if (second !== undefined) edits.blank(first.start, second.start)
    else {
      const comma = edits.source.slice(first.end).match(/^\s*,/)
      edits.blank(first.start, first.end + (comma === null ? 0 : comma[0].length))
    }
  }
  if (returnType === null || returnType === undefined) return
  const { start, end } = returnType
  if (node.type === "ArrowFunctionExpression") {
    edits.replace(start, end, edits.source.slice(start, end).replace(/[\s\S]/g, " "))
  } else edits.blank(start, end)
}

/** `abstract`, type parameters, the heritage's type arguments and `implements`. */
export function eraseClass(edits: Edits, node: Class): void {
  const { source } = edits
  if (node.abstract === true) {
    const at = source.indexOf("abstract", node.start)
    edits.blank(at, at + "abstract".length)
  }
  eraseTypeArguments(edits, node.typeParameters)
  eraseTypeArguments(edits, node.superTypeArguments)
  const list = node.implements
  if (list !== undefined && list.length > 0) {
    const from =
      node.superTypeArguments?.end ??
      node.superClass?.end ??
      node.typeParameters?.end ??
      node.id?.end ??
      node.start + "class".length
    edits.blank(from, list.at(-1)!.end)
  }
}

/** Erases a class member's modifiers and types; true when nothing of the member is left. */
export function eraseMember(edits: Edits, node: Node): boolean {
  switch (node.type) {
    case "TSIndexSignature":
    case "TSAbstractMethodDefinition":
    case "TSAbstractPropertyDefinition":
    case "TSAbstractAccessorProperty":
      edits.blank(node.start, node.end, ";")
      return true
    case "MethodDefinition":
      if (node.value.body === null) {
        edits.blank(node.start, node.end, ";")
        return true
      }
      eraseModifiers(edits, node)
      if (node.optional === true) eraseMark(edits, "?", node.key.end + (node.computed ? 1 : 0))
      return false
    case "PropertyDefinition":
    case "AccessorProperty":
      if (node.declare === true) {
        edits.blank(node.start, node.end, ";")
        return true
      }
      eraseModifiers(edits, node)
      erasePropertyType(edits, node)
      return false
    default:
      return false
  }
}

function eraseMark(edits: Edits, mark: string, from: number): void {
  const at = edits.source.indexOf(mark, from)
  edits.blank(at, at + 1)
}

function erasePropertyType(edits: Edits, node: PropertyDefinition | AccessorProperty): void {
  const { typeAnnotation, value } = node
  const isMarked = node.optional === true || node.definite === true
  if (!isMarked && (typeAnnotation === null || typeAnnotation === undefined)) return
  const mark = node.optional === true ? "?" : "!"
  const keyEnd = node.key.end
  const at = isMarked ? edits.source.indexOf(mark, keyEnd) : typeAnnotation!.start
  const end = typeAnnotation?.end ?? at + 1
  // Without a value and without its own `;` the field would run into the next member.
  edits.blank(at, end, value === null && end === node.end ? ";" : "")
}

const modifiers = /\b(?:public|private|protected|readonly|override|abstract|declare)\b/g

/** Modifiers stand before the key; only `static`, `async`, `get`, `set`, `accessor` and `*` are JavaScript's. */
function eraseModifiers(edits: Edits, node: MethodDefinition | PropertyDefinition | AccessorProperty): void {
  if (node.key.start === node.start) return
  const isModified =
    node.accessibility !== null || node.override === true || (node as { readonly?: boolean }).readonly === true
  if (!isModified) return
  const start = node.decorators.at(-1)?.end ?? node.start
  const head = edits.source
    .slice(start, node.key.start)
    .replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, (comment) => " ".repeat(comment.length))
  modifiers.lastIndex = 0
  for (let match = modifiers.exec(head); match !== null; match = modifiers.exec(head)) {
    // A modifier that opens the member also has to part it from the member before, as in `a = 1⏎ readonly [k] = 2`.
    const isFirst = match.index === 0 && node.decorators.length === 0
    edits.blank(start + match.index, start + match.index + match[0].length, isFirst && node.computed ? ";" : "")
  }
}
