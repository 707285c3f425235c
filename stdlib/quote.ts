// Text of strings, keys and symbols as a person reads it, built one code unit at a time: the regular expressions and string methods
// that would do it in a line can be replaced by session code.

import { jsonStringify, stringCodeAt, stringIndexOf, stringSlice, symbolDescription } from "./intrinsics.ts"

/** Whether the text can stand as a property name without quotes. ASCII only: anything else is quoted, which is never wrong. */
export function isIdentifierText(text: string): boolean {
  const { length } = text
  if (length === 0) return false
  for (let i = 0; i < length; i++) {
    const code = stringCodeAt(text, i)
    const letter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95 || code === 36
    if (!letter && !(i > 0 && code >= 48 && code <= 57)) return false
  }
  return true
}

/** Whether the text is an array index as `ownKeys` spells it. */
export function isIndexText(text: string): boolean {
  const number = +text
  return number >= 0 && number < 4294967295 && number % 1 === 0 && `${number}` === text
}

const unitNames: Readonly<Record<number, string>> = { 8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 92: "\\\\" }
const controlEnd = 32

/**
 * The string in quotes: single ones, or double ones or backticks where that saves escaping. Control characters and lone surrogates
 * are escaped, since a terminal or a protocol would lose them.
 */
export function quoteText(text: string): string {
  let quote = "'"
  if (stringIndexOf(text, "'") >= 0) {
    if (stringIndexOf(text, '"') < 0) quote = '"'
    else if (stringIndexOf(text, "`") < 0 && stringIndexOf(text, "${") < 0) quote = "`"
  }
  return quote + escapeText(text, stringCodeAt(quote, 0)) + quote
}

function escapeText(text: string, quoteCode: number): string {
  const { length } = text
  let out = ""
  let from = 0
  for (let i = 0; i < length; i++) {
    const code = stringCodeAt(text, i)
    let escaped = ""
    if (code === quoteCode) escaped = `\\${stringSlice(text, i, i + 1)}`
    else if (code < controlEnd || code === 92) escaped = unitNames[code] ?? hexEscape(code, 2, "\\x")
    else if (code >= 0x7f && code < 0xa0) escaped = hexEscape(code, 2, "\\x")
    else if (code >= 0xd800 && code <= 0xdfff) {
      const next = i + 1 < length ? stringCodeAt(text, i + 1) : 0
      if (code < 0xdc00 && next >= 0xdc00 && next <= 0xdfff) i++
      else escaped = hexEscape(code, 4, "\\u")
    }
    if (escaped !== "") {
      out += stringSlice(text, from, i) + escaped
      from = i + 1
    }
  }
  return from === 0 ? text : out + stringSlice(text, from)
}

const hexDigits = "0123456789abcdef"

function hexEscape(code: number, digits: number, prefix: string): string {
  let out = ""
  for (let i = digits - 1; i >= 0; i--) {
    const digit = (code >> (i * 4)) & 15
    out += stringSlice(hexDigits, digit, digit + 1)
  }
  return prefix + out
}

/** `Symbol(description)`, with the description escaped as in a string. */
export function symbolText(symbol: symbol): string {
  const description = symbolDescription(symbol)
  return description === undefined ? "Symbol()" : `Symbol(${escapeText(description, -1)})`
}

/** How a property key reads before a colon: bare, quoted, or `[Symbol(x)]`. */
export function keyText(key: string | symbol): string {
  if (typeof key === "symbol") return `[${symbolText(key)}]`
  return isIdentifierText(key) ? key : quoteText(key)
}

/** How a key reads as a step of a path: `.name`, `["odd name"]`, `[Symbol(x)]`. */
export function pathStep(key: string | symbol): string {
  if (typeof key === "symbol") return `[${symbolText(key)}]`
  return isIdentifierText(key) ? `.${key}` : isIndexText(key) ? `[${key}]` : `[${jsonStringify(key)}]`
}
