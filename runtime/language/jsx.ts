// JSX as plain code: the calls that TypeScript would make of it.
//
// The text is edited in place, like what `desugar.ts` does, so positions lead back through the edits, and what stands in braces stays where it is. Everything
// after this step sees ordinary code: the factory, components and what the automatic runtime imports are references like any other. An
// element's `<` is where the call of the factory stands.
//
// | runtime | `<a b="1" key="k">x</a>` |
// | --- | --- |
// | classic | `React.createElement("a",{b:"1",key:"k"},"x")` |
// | automatic | `_jsx("a",{b:"1",children:"x"},"k")`, with `_jsx` imported from `react/jsx-runtime` |
import { visitorKeys } from "oxc-parser"
import { Edits, Output, type Hole } from "./edits.ts"
import { characterNames } from "./jsx-characters.ts"
import type { Jsx } from "./jsx-option.ts"
import type { Node, Program } from "./parse.ts"
import { Segments } from "./positions.ts"

/** What the automatic runtime calls, by what is imported. */
const importedNames = { jsx: "_jsx", jsxs: "_jsxs", Fragment: "_Fragment", createElement: "_createElement" } as const
type Imported = keyof typeof importedNames

export interface PlainText {
  text: string
  /** What was put in front. */
  imports: string
  original(offset: number): number
}

type Element = Extract<Node, { type: "JSXElement" }>
type Fragment = Extract<Node, { type: "JSXFragment" }>
type Attribute = Element["openingElement"]["attributes"][number]

const mayHold = /<\s*[\p{ID_Start}$_>/]/u

/**
 * The text without JSX; `undefined` when it has none. `added` says what is put in front of it for the automatic runtime: imports, but of the names that are
 * there already, in a file imports or calls of `require`; without it nothing is.
 */
export function plainJsx(
  text: string,
  program: Program,
  jsx: Jsx,
  added?: "import" | "require" | ((name: string) => boolean),
): PlainText | undefined {
  if (!mayHold.test(text)) return undefined
  const rewriting = new Rewriting(text, jsx)
  for (const statement of program.body) rewriting.visit(statement)
  if (!rewriting.hasFound) return undefined
  const segments = new Segments()
  const output = new Output(segments)
  const imports = added === undefined ? "" : rewriting.imports(added)
  output.write(imports)
  rewriting.edits.render(output, 0, text.length, rewriting.moved(0, text.length))
  const generated = output.text
  return {
    text: generated,
    imports,
    original(offset) {
      const at = segments.source(Math.min(offset, generated.length))
      return at < 0 ? 0 : at
    },
  }
}

/** The first element or fragment of a program. */
export function firstJsx(program: Program): Node | undefined {
  const open: Node[] = program.body.toReversed()
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.type === "JSXElement" || node.type === "JSXFragment") return node
    open.push(...childrenOf(node).toReversed())
  }
  return undefined
}

function childrenOf(node: Node): Node[] {
  const found: Node[] = []
  for (const key of visitorKeys[node.type] ?? []) {
    const child = (node as unknown as Record<string, Node | (Node | null)[] | null | undefined>)[key]
    if (child === null || child === undefined) continue
    for (const each of Array.isArray(child) ? child : [child]) if (each !== null) found.push(each)
  }
  return found
}

class Rewriting {
  readonly edits: Edits
  hasFound = false
  readonly #text: string
  readonly #jsx: Jsx
  readonly #used = new Set<Imported>()
  /** Keys, which stand elsewhere in what is made. */
  readonly #moved: Hole[] = []

  constructor(text: string, jsx: Jsx) {
    this.#text = text
    this.edits = new Edits(text)
    this.#jsx = jsx
  }

  imports(added: "import" | "require" | ((name: string) => boolean)): string {
    const { importSource } = this.#jsx
    const wanted = [...this.#used].filter((name) => typeof added === "string" || !added(importedNames[name]))
    const from = (specifier: string, names: Imported[]): string => {
      if (names.length === 0) return ""
      const isRequired = added === "require"
      const list = names.map((name) => `${name}${isRequired ? ":" : " as "}${importedNames[name]}`).join(",")
      const module = JSON.stringify(specifier)
      return isRequired ? `const{${list}}=require(${module});` : `import{${list}}from${module};`
    }
    return (
      from(
        `${importSource}/jsx-runtime`,
        wanted.filter((it) => it !== "createElement"),
      ) +
      from(
        importSource,
        wanted.filter((it) => it === "createElement"),
      )
    )
  }

  /** Those of a range that are left out of it. */
  moved(from: number, to: number): Hole[] {
    const inside = this.#moved.filter(({ start, end }) => start >= from && end <= to)
    return inside.toSorted((a, b) => a.start - b.start)
  }

  #import(name: Imported): string {
    this.#used.add(name)
    return importedNames[name]
  }

  visit(node: Node): void {
    if (node.type === "JSXElement") this.#element(node)
    else if (node.type === "JSXFragment") this.#fragment(node)
    else for (const child of childrenOf(node)) this.visit(child)
  }

  #fragment({ start, openingFragment, closingFragment, children }: Fragment): void {
    this.hasFound = true
    if (this.#jsx.runtime === "classic") {
      this.edits.replace(start, openingFragment.end, `${this.#jsx.factory}(${this.#jsx.fragment},null`)
      this.#arguments(children)
      this.#blank(closingFragment.start, closingFragment.end, ")")
      return
    }
    const callee = this.#import(isStatic(children, this.#text) ? "jsxs" : "jsx")
    this.edits.replace(start, openingFragment.end, `${callee}(${this.#import("Fragment")},{`)
    this.#childrenProperty(children, false)
    this.#blank(closingFragment.start, closingFragment.end, "})")
  }

  #element({ start, end, openingElement: opening, closingElement: closing, children }: Element): void {
    this.hasFound = true
    const { name, attributes, typeArguments, selfClosing } = opening
    const isPlain = this.#jsx.runtime === "classic" || hasKeyAfterSpread(attributes)
    const isFromImport = this.#jsx.runtime === "automatic"
    let callee = this.#jsx.factory
    if (isFromImport) callee = this.#import(isPlain ? "createElement" : isStatic(children, this.#text) ? "jsxs" : "jsx")
    this.edits.replace(start, start + 1, `${callee}(`)
    this.#tag(name)
    if (typeArguments !== null && typeArguments !== undefined) this.#blank(typeArguments.start, typeArguments.end)
    const key = isPlain ? undefined : attributes.find(isKey)
    const left = attributes.filter((attribute) => attribute !== key)
    const tagEnd = typeArguments?.end ?? name.end
    const mark = this.#endMark(opening.end, selfClosing)
    if (key !== undefined) this.#moved.push({ start: key.start, end: key.end, text: "" })
    if (isPlain) {
      this.edits.close(tagEnd, attributes.length === 0 ? ",null" : ",{")
      this.#attributes(left)
      this.#blank(mark, opening.end, attributes.length === 0 ? "" : "}")
      this.#arguments(children)
    } else {
      this.edits.close(tagEnd, ",{")
      this.#attributes(left)
      this.#blank(mark, opening.end)
      this.#childrenProperty(children, left.length > 0)
      const keyed = key?.type === "JSXAttribute" ? key : undefined
      if (keyed !== undefined) this.#visitValue(keyed)
      this.edits.close(closing === null ? end : closing.start, (into) => this.#tail(into, keyed))
    }
    if (closing === null) this.edits.close(end, ")")
    else this.#blank(closing.start, closing.end, ")")
  }

  /** The end of the properties, and the key, which comes after the children. */
  #tail(into: Output, key: Extract<Attribute, { type: "JSXAttribute" }> | undefined): void {
    into.write("}")
    if (key === undefined) return
    into.write(",")
    if (key.value === null) into.write("true")
    else this.edits.render(into, key.value.start, key.value.end, this.moved(key.value.start, key.value.end))
  }

  /** Where `>` or `/>` begins. */
  #endMark(end: number, isSelfClosing: boolean): number {
    if (!isSelfClosing) return end - 1
    return this.#text.lastIndexOf("/", end - 1)
  }

  #tag(name: Element["openingElement"]["name"]): void {
    if (name.type === "JSXIdentifier") {
      if (isIntrinsic(name.name)) this.edits.replace(name.start, name.end, JSON.stringify(name.name))
    } else if (name.type === "JSXNamespacedName") {
      this.edits.replace(name.start, name.end, JSON.stringify(`${name.namespace.name}:${name.name.name}`))
    }
  }

  #attributes(attributes: readonly Attribute[]): void {
    for (const [index, attribute] of attributes.entries()) {
      if (index > 0) this.edits.lead(attribute.start, ",")
      if (attribute.type === "JSXSpreadAttribute") {
        const { start, end, argument } = attribute
        this.#blank(start, this.#text.indexOf("...", start) + 3, "...(")
        this.visit(argument)
        this.edits.replace(end - 1, end, ")")
        continue
      }
      const { name, value } = attribute
      const text = name.type === "JSXIdentifier" ? name.name : `${name.namespace.name}:${name.name.name}`
      const key = plainKey.test(text) ? text : JSON.stringify(text)
      this.edits.replace(name.start, name.end, value === null ? `${key}:true` : `${key}:`)
      if (value === null) continue
      const equals = skipTrivia(this.#text, name.end)
      this.edits.blank(equals, equals + 1)
      this.#visitValue(attribute)
    }
  }

  #visitValue({ value }: Extract<Attribute, { type: "JSXAttribute" }>): void {
    if (value === null) return
    if (value.type === "Literal") {
      this.#blank(value.start, value.end, quoted(decoded(this.#text.slice(value.start + 1, value.end - 1))))
    } else if (value.type === "JSXExpressionContainer") {
      if (value.expression.type === "JSXEmptyExpression") this.#blank(value.start, value.end, "true")
      else this.#braces(value.start, value.end, value.expression)
    } else this.visit(value)
  }

  #braces(start: number, end: number, expression: Node, lead = ""): void {
    this.edits.replace(start, start + 1, `${lead}(`)
    this.visit(expression)
    this.edits.replace(end - 1, end, ")")
  }

  /** Children as arguments, each behind a comma. */
  #arguments(children: readonly Node[]): void {
    for (const child of children) this.#child(child, ",")
  }

  /** The property `children`: the child itself where there is one, otherwise a list. */
  #childrenProperty(children: readonly Node[], hasMore: boolean): void {
    const semantic = children.filter((child) => isSemantic(child, this.#text))
    const isOne = semantic.length === 1 && semantic[0]!.type !== "JSXSpreadChild"
    let isFirst = true
    for (const child of children) {
      const lead = isFirst ? `${hasMore ? "," : ""}children:${isOne ? "" : "["}` : ","
      if (this.#child(child, lead)) isFirst = false
    }
    const last = children.at(-1)
    if (!isFirst && !isOne && last !== undefined) this.edits.close(last.end, "]")
  }

  /** Whether the child is anything. */
  #child(child: Node, lead: string): boolean {
    const { start, end } = child
    switch (child.type) {
      case "JSXText": {
        const text = textOf(this.#text.slice(start, end))
        this.#blank(start, end, text === undefined ? "" : lead + quoted(text))
        return text !== undefined
      }
      case "JSXExpressionContainer":
        if (child.expression.type === "JSXEmptyExpression") {
          this.#blank(start, end)
          return false
        }
        this.#braces(start, end, child.expression, lead)
        return true
      case "JSXSpreadChild":
        this.#blank(start, this.#text.indexOf("...", start) + 3, `${lead}...(`)
        this.visit(child.expression)
        this.edits.replace(end - 1, end, ")")
        return true
      default:
        this.edits.lead(start, lead)
        this.visit(child)
        return true
    }
  }

  /** Replaces a range by a text and its own line breaks. */
  #blank(start: number, end: number, text = ""): void {
    const breaks = this.#text.slice(start, end).replace(/[^\n\r\u2028\u2029]+/g, "")
    if (start < end) this.edits.replace(start, end, text + breaks)
  }
}

const plainKey = /^[A-Z_]\w*$/i

function isIntrinsic(name: string): boolean {
  return /^[a-z]/.test(name) || name.includes("-")
}

function isKey(attribute: Attribute): boolean {
  return attribute.type === "JSXAttribute" && attribute.name.type === "JSXIdentifier" && attribute.name.name === "key"
}

/** Such a key has to win over one that the spread object may have: what makes elements with keys apart cannot tell. */
function hasKeyAfterSpread(attributes: readonly Attribute[]): boolean {
  let hasSpread = false
  for (const attribute of attributes) {
    if (attribute.type === "JSXSpreadAttribute") {
      const { argument } = attribute
      hasSpread ||=
        argument.type !== "ObjectExpression" || argument.properties.some(({ type }) => type === "SpreadElement")
    } else if (hasSpread && isKey(attribute)) return true
  }
  return false
}

/** More than one child, known from the text. */
function isStatic(children: readonly Node[], text: string): boolean {
  const semantic = children.filter((child) => isSemantic(child, text))
  return semantic.length > 1 || semantic[0]?.type === "JSXSpreadChild"
}

/** All but comments and text that only breaks lines. */
function isSemantic(child: Node, text: string): boolean {
  if (child.type === "JSXExpressionContainer") return child.expression.type !== "JSXEmptyExpression"
  return child.type !== "JSXText" || !isLineBreaks(text.slice(child.start, child.end))
}

const blank = "\\t\\v\\f \\u00a0\\u0085\\u1680\\u2000-\\u200b\\u202f\\u205f\\u3000\\ufeff"
const lineBreak = "\\n\\r\\u2028\\u2029"
const onlyBlanks = new RegExp(`^[${blank}${lineBreak}]*$`)
const blankHead = new RegExp(`^[${blank}]+`)
const blankTail = new RegExp(`[${blank}]+$`)
const lineBreaks = new RegExp(`[${lineBreak}]`)

function isLineBreaks(text: string): boolean {
  return lineBreaks.test(text) && onlyBlanks.test(text)
}

/** Text between elements: lines without their indentation, joined by a space; `undefined` when nothing is left. */
function textOf(text: string): string | undefined {
  const lines = text.split(lineBreaks)
  const kept: string[] = []
  for (const [index, line] of lines.entries()) {
    const isLast = index === lines.length - 1
    let shown = index === 0 ? line : line.replace(blankHead, "")
    if (!isLast) shown = shown.replace(blankTail, "")
    // The blanks in front of the first and behind the last word count, unless they are a line's only content.
    if (shown !== "") kept.push(decoded(shown))
  }
  return kept.length === 0 ? undefined : kept.join(" ")
}

function decoded(text: string): string {
  return text.replace(/&(?:#(?:(\d+)|x([\da-fA-F]+))|(\w+));/g, (whole, decimal, hex, name) => {
    if (name !== undefined) return characterNames.get(name as string) ?? whole
    const code = decimal === undefined ? Number.parseInt(hex as string, 16) : Number.parseInt(decimal as string, 10)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}

/** A string literal without line breaks, so that nothing in it can be taken for one. */
function quoted(text: string): string {
  return JSON.stringify(text).replace(/[\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16)}`)
}

const trivia = /(?:\s|\/\/[^\n\r\u2028\u2029]*|\/\*[^]*?\*\/)*/y

function skipTrivia(text: string, from: number): number {
  trivia.lastIndex = from
  trivia.exec(text)
  return trivia.lastIndex
}
