// Is a text a whole submission, the beginning of one, or neither? By syntax alone; it answers while someone types.
//
// The parser does not say "more is needed", but it says where it stopped: an error at the very end of the text is one that more text
// could cure, and so are an open template, comment or regular expression, and a `\` at the end of a string. An error before the end
// stays an error whatever follows. The comparison is with the error's start: `foo(]` ends with its error and is wrong all the same.
import { LineTable, type Span } from "./positions.ts"
import { parse } from "./parse.ts"

export type Completeness =
  | { state: "complete" }
  /** `indent`: how many levels deep the next line is. */
  | { state: "incomplete"; indent: number }
  | { state: "invalid"; span: Span; message: string }

export function completeness(source: string, isJsx = false): Completeness {
  const parsed = parse(source, isJsx)
  if (parsed.valid) return { state: "complete" }
  const [error] = parsed.errors
  if (error === undefined) return { state: "complete" }
  if (mayGoOn(source, error) || (isJsx && isInsideElement(source, error))) {
    return { state: "incomplete", indent: openBrackets(source) + (isJsx ? openElements(source) : 0) }
  }
  return { state: "invalid", span: new LineTable(source).span(error.start, error.end), message: error.message }
}

interface Found {
  message: string
  start: number
  end: number
}

function mayGoOn(source: string, error: Found): boolean {
  const text = source.trimEnd()
  // A number goes on in its own line or not at all, and so does a private name.
  if (error.start >= text.length) return !brokenWord.test(text)
  if (isOpenText.test(error.message) || canGoOn(source, error)) return true
  return error.end >= text.length && text.endsWith("?.")
}

const brokenWord = /(?<![\w$.])(?:\d[\d_]*\.?[\d_]*[eE][+-]?|0[xob]|\d[\w.]*_)$|#$/i

/** Whether what is wrong is text of an element, or a string in its tag, that goes on in the next line: it would be right if something ended it. */
function isInsideElement(source: string, { start }: Found): boolean {
  const quote = source[start]
  return endsWell(`${source}<`) || ((quote === "'" || quote === '"') && endsWell(`${source}\n${quote}`))
}

function endsWell(text: string): boolean {
  const parsed = parse(text, true)
  return !parsed.valid && parsed.errors[0]!.start >= text.length
}

/** Elements that are open at the end, as far as text alone tells. */
function openElements(source: string): number {
  let depth = 0
  for (const [token] of source.matchAll(/<\s*\/|\/\s*>|(?<![\w$)\]])<(?=[\w$>])/g))
    depth = Math.max(0, depth + (token.includes("/") ? -1 : 1))
  return depth
}

/** The parser's words for text that was opened and not closed; a string cannot go on in the next line, so it is not among them. */
const isOpenText = /found `EOF`|Unterminated multiline comment/

/** An open template, from its start or from the end of a `${…}` in it; or a string whose line ends in `\\`. */
function canGoOn(source: string, { start: from, message }: { start: number; message: string }): boolean {
  const isTail = source[from] === "}" && message.startsWith("Unterminated string")
  return source[from] === "`" || isTail || /^["'][^\n]*\\\s*$/.test(source.slice(from))
}

/** Brackets that are open at the end, outside strings, comments and templates' text. */
function openBrackets(source: string): number {
  let depth = 0
  const templates: number[] = []
  for (let at = 0; at < source.length; at++) {
    const character = source[at]!
    if (character === "/" && source[at + 1] === "/") at = endOf(source, "\n", at)
    else if (character === "/" && source[at + 1] === "*") at = endOf(source, "*/", at + 2) + 1
    else if (character === '"' || character === "'") at = endOfString(source, at, character)
    else if (character === "`") at = templateText(source, at + 1, templates, depth)
    else if (character === "}" && templates.at(-1) === depth) {
      templates.pop()
      at = templateText(source, at + 1, templates, depth)
    } else if ("([{".includes(character)) depth += 1
    else if (")]}".includes(character)) depth = Math.max(0, depth - 1)
  }
  return depth + templates.length
}

function endOf(source: string, text: string, from: number): number {
  const at = source.indexOf(text, from)
  return at < 0 ? source.length : at
}

function endOfString(source: string, from: number, quote: string): number {
  let at = from + 1
  while (at < source.length && source[at] !== quote && source[at] !== "\n") at += source[at] === "\\" ? 2 : 1
  return at
}

/** Skips a template's text up to its end or its next `${`, which is remembered with the depth outside it. */
function templateText(source: string, from: number, templates: number[], depth: number): number {
  let at = from
  while (at < source.length && source[at] !== "`") {
    if (source[at] === "\\") at += 1
    else if (source[at] === "$" && source[at + 1] === "{") {
      templates.push(depth)
      return at + 1
    }
    at += 1
  }
  return at
}
