// One parse of a submission: oxc-parser in its module mode, which is strict and knows top-level await.
//
// oxc counts UTF-16 units in spans and labels (its own code frame counts bytes, so we draw ours). It does not recover: on an error
// there is no tree. An input that starts with `{` and is no block is read as an object literal, as every console does: `{ a: 1 }` and
// `{}` show an object, `{ let p = 1; p }` stays a block.
import { parseSync, visitorKeys, type Node, type Program } from "oxc-parser"
import { firstJsx } from "./jsx.ts"
import { jsxIsOff } from "./jsx-option.ts"
import { LineTable, type Span } from "./positions.ts"

export type {
  AccessorProperty,
  ArrowFunctionExpression,
  CallExpression,
  Class,
  Function,
  MethodDefinition,
  Node,
  ObjectPropertyKind,
  Program,
  PropertyDefinition,
} from "oxc-parser"

export interface SyntaxProblem {
  message: string
  span: Span
}

/** A submission that runs nothing because its text is no program, or its check failed. */
export interface InvalidSource {
  valid: false
  errors: SyntaxProblem[]
  /** The errors with their line and a caret beneath, as a terminal shows them. */
  rendered: string
}

export interface ParsedSource {
  valid: true
  program: Program
  /** The text that was parsed: the source, or `(` source `)` for an object literal. */
  text: string
  /** How much longer the parsed text is before the source begins. */
  shift: number
}

const options = { lang: "ts", sourceType: "module", showSemanticErrors: true } as const
const jsxOptions = { ...options, lang: "tsx" } as const

/** Levels of brackets, and operators in one chain: the parser descends a level for each and dies, with its process, of too many. */
const nestingMax = 1_000
const chainMax = 5_000

/** Where a text is too deep to be parsed safely; counted roughly, with strings, templates' text and comments left out. */
function tooDeepAt(source: string, isJsx: boolean): number | undefined {
  if (source.length < nestingMax) return undefined
  let depth = 0
  let chain = 0
  // A line that begins with an operand after one that ended with an operand is another statement.
  let hasOperand = false
  let isNewLine = false
  for (const { 0: token, index } of source.matchAll(isJsx ? jsxTokenPattern : tokenPattern)) {
    const kind =
      token === "\n"
        ? "line"
        : /^[</].*>$/s.test(token)
          ? "end"
          : (kinds[token] ?? (token.startsWith("/") && token.length > 1 ? "comment" : "operand"))
    if (kind === "line") isNewLine ||= hasOperand
    else if (kind === "comment") continue
    else if (kind === "operator") {
      if (++chain > chainMax) return index
      hasOperand = false
      isNewLine = false
    } else {
      if (kind === "end" || (isNewLine && kind === "operand")) chain = 0
      if (kind === "open" && ++depth > nestingMax) return index
      if (kind === "close") depth -= 1
      hasOperand = kind === "operand" || kind === "close"
      isNewLine = false
    }
  }
  return undefined
}

const kinds: Readonly<Record<string, "open" | "close" | "end" | "operator">> = Object.fromEntries([
  ...Array.from("([{", (it) => [it, "open"] as const),
  ...Array.from(")]}", (it) => [it, "close"] as const),
  ...Array.from(";,", (it) => [it, "end"] as const),
  ...Array.from("-+*/%&|^<>=!?:~.", (it) => [it, "operator"] as const),
])

const tokenPattern =
  /"(?:[^"\\\n]|\\[^])*"|'(?:[^'\\\n]|\\[^])*'|`(?:[^`\\]|\\[^])*`|\/\/[^\n]*|\/\*[^]*?\*\/|[\w$\u0080-\uffff]+|\n|[()[\]{};,]|[-+*/%&|^<>=!?:~.]/g

/** The end of an element ends what it stands in a chain with. */
const jsxTokenPattern = new RegExp(`<\\s*/[\\w$.:-]*\\s*>|/\\s*>|${tokenPattern.source}`, "g")

/** With `isJsx` angle brackets are elements, and no assertions of types. */
export function parse(
  given: string,
  isJsx = false,
): ParsedSource | { valid: false; errors: { message: string; start: number; end: number }[] } {
  // A first line for the shell is a comment; as one of the same length nothing moves.
  const source = given.startsWith("#!") ? `//${given.slice(2)}` : given
  const how = isJsx ? jsxOptions : options
  const tooDeep = isJsx ? (tagsTooDeepAt(source) ?? tooDeepAt(source, true)) : tooDeepAt(source, false)
  if (tooDeep !== undefined) {
    const message = `The source is nested or chained too deeply (more than ${nestingMax} levels or ${chainMax} operators)`
    return { valid: false, errors: [{ message, start: tooDeep, end: tooDeep + 1 }] }
  }
  const result = parseSync("submission.ts", source, how)
  const found = result.errors.length === 0 ? result.errors : withoutThoseOfTypes(result.errors, result.program)
  const failed = found.length > 0
  if (startsWithBrace.test(source) && (failed || isObjectLike(result.program))) {
    const text = `(${source.replace(/;\s*$/, (tail) => tail.replace(";", " "))}\n)`
    const literal = parseSync("submission.ts", text, how)
    if (literal.errors.length === 0 && isOneObject(literal.program)) {
      return { valid: true, program: literal.program, text, shift: 1 }
    }
  }
  if (!failed) return { valid: true, program: result.program, text: source, shift: 0 }
  const element = isJsx ? undefined : jsxIn(source)
  if (element !== undefined) return { valid: false, errors: [{ message: jsxIsOff, ...element }] }
  const errors = found.slice(0, errorsMax).map(({ message, labels }) => {
    // The first label is where it went wrong; only of two declarations the second one is.
    const label = labels.find((each) => each.message === "It can not be redeclared here") ??
      labels[0] ?? { start: 0, end: 0 }
    return { message, start: label.start, end: label.end }
  })
  return { valid: false, errors }
}

/** The first element of a text that would parse with JSX. */
function jsxIn(source: string): { start: number; end: number } | undefined {
  if (!jsxEnd.test(source) || tagsTooDeepAt(source) !== undefined) return undefined
  const { errors, program } = parseSync("submission.tsx", source, jsxOptions)
  const found = errors.length > 0 ? undefined : firstJsx(program)
  if (found === undefined) return undefined
  const { start, end } = found.type === "JSXElement" ? found.openingElement : found
  return { start, end }
}

const jsxEnd = /\/\s*>|<\s*\//
/** Behind an operand it is a comparison or has types in it; or a text is in front, and the operators of a chain are counted. */
const tag = /<\s*\/|\/\s*>|(?<![\w$)\]])<(?=[\w$>])/g
const tagsMax = 1_000

/** Where elements are nested too deeply to be parsed safely. */
function tagsTooDeepAt(source: string): number | undefined {
  let depth = 0
  for (const { 0: token, index } of source.matchAll(tag)) {
    if (token.includes("/")) depth = Math.max(0, depth - 1)
    else if (++depth > tagsMax) return index
  }
  return undefined
}

type OxcError = ReturnType<typeof parseSync>["errors"][number]

/** Two class members of one name are JavaScript; only the type checker minds, and the parser reports it with the real redeclarations. */
function withoutThoseOfTypes(errors: readonly OxcError[], program: Program): OxcError[] {
  // One walk for all errors: a text of a megabyte may have a hundred thousand.
  let memberKeys: Set<number> | undefined
  return errors.filter(({ message, labels }) => {
    if (!message.endsWith("has already been declared") || message.includes("#")) return true
    memberKeys ??= collectMemberKeys(program)
    return !memberKeys.has(labels.at(-1)?.start ?? -1)
  })
}

/** Where the keys of class members begin. */
function collectMemberKeys(program: Program): Set<number> {
  const starts = new Set<number>()
  const open: Node[] = [...program.body]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.type === "MethodDefinition" || node.type === "PropertyDefinition") starts.add(node.key.start)
    for (const key of visitorKeys[node.type] ?? []) {
      const child = (node as unknown as Record<string, Node | (Node | null)[] | null | undefined>)[key]
      if (child === null || child === undefined) continue
      for (const each of Array.isArray(child) ? child : [child]) if (each !== null) open.push(each)
    }
  }
  return starts
}

/** Errors of one text that are told: a reader mends the first ones, and each is rendered with its line. */
const errorsMax = 20

const startsWithBrace = /^\s*\{/

/** A block that reads better as an object: `{}`, `{ a }`, `{ a, b }` or `{ a: 1 }`, with nothing after it. */
function isObjectLike({ body }: Program): boolean {
  const [block, ...rest] = body
  if (block?.type !== "BlockStatement" || rest.some(({ type }) => type !== "EmptyStatement")) return false
  const [statement, ...more] = block.body
  if (statement === undefined) return true
  if (more.length > 0) return false
  if (statement.type === "LabeledStatement") return statement.body.type === "ExpressionStatement"
  if (statement.type !== "ExpressionStatement") return false
  const { expression } = statement
  const parts = expression.type === "SequenceExpression" ? expression.expressions : [expression]
  return parts.every(({ type }) => type === "Identifier")
}

function isOneObject({ body: [statement, ...rest] }: Program): boolean {
  if (statement?.type !== "ExpressionStatement" || rest.length > 0) return false
  const { expression } = statement
  return expression.type === "ParenthesizedExpression" && expression.expression.type === "ObjectExpression"
}

/** The record of a text that is no program. Offsets are those of the source; `line` is the number of its first line. */
export function invalid(
  source: string,
  found: readonly { message: string; start: number; end: number }[],
  line = 1,
): InvalidSource {
  const lines = new LineTable(source)
  const errors = found.map(({ message, start, end }) => {
    const span = lines.span(Math.min(start, source.length), Math.min(end, source.length))
    return { message, span: { ...span, line: span.line + line - 1 } }
  })
  return { valid: false, errors, rendered: errors.map((error) => renderProblem(source, error)).join("\n\n") }
}

/** An error with its line of source and a caret under every character of its span that lies on that line. */
export function renderProblem(source: string, { message, span }: SyntaxProblem, file = ""): string {
  const lineStart = span.start - span.column + 1
  const rest = /[\n\r\u2028\u2029]/.exec(source.slice(lineStart))
  const text = source.slice(lineStart, rest === null ? source.length : lineStart + rest.index)
  const gutter = String(span.line)
  const before = text.slice(0, span.column - 1).replace(/[^\t]/gu, " ")
  const width = Math.max(1, Array.from(text.slice(span.column - 1, span.column - 1 + span.end - span.start)).length)
  const place = `${file}${file === "" ? "" : ":"}${span.line}:${span.column}`
  return `${message} (${place})\n${gutter} | ${text}\n${" ".repeat(gutter.length)} | ${before}${"^".repeat(width)}`
}
