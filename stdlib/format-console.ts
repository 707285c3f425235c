// What `console.log(…)` prints: Node's format directives over previews.
//
// Strings stand unquoted at top level, everything else as its preview. Where Node would call a value's own `toString`, `valueOf` or
// `toJSON`, this does not: printing a value must not change it. So `%s` and `%d` of an object give its preview and NaN.

import {
  arrayIsArray,
  descriptorOf,
  jsonStringify,
  newList,
  numberParseFloat,
  numberParseInt,
  objectHasOwn,
  objectKeys,
  stringIndexOf,
  stringSlice,
} from "./intrinsics.ts"
import { brandOf } from "./brands.ts"
import { errorHeader } from "./error-header.ts"
import { shownFrames } from "./error-stack.ts"
import { defaultPreviewLimits, preview, type PreviewLimits, type TextOf } from "./preview.ts"

/** Characters of one line from which on values show as their kind only: a thousand large arguments cost little more than one. */
const detailedCharsMax = 1024 * 1024
/** Half of the longest string an engine makes; a line that long does not leave a host of ordinary memory. */
const consoleCharsMax = 2 ** 28
const briefLimits: PreviewLimits = { bytesMax: 100, depthMax: 0, itemsMax: 1 }

/**
 * Never runs session code and never throws. Strings stand whole, since what is cut from output is counted where it is cut; each other value is
 * bounded as a preview is, and says itself what it leaves out.
 */
export function formatConsole(
  args: ArrayLike<unknown>,
  limits: PreviewLimits = defaultPreviewLimits,
  textOf?: TextOf,
): string {
  const count = args.length
  let text = ""
  let next = 0
  if (count > 1 && typeof args[0] === "string") {
    const format = args[0]
    next = 1
    let from = 0
    for (let i = stringIndexOf(format, "%"); i >= 0 && i < format.length - 1; i = stringIndexOf(format, "%", i + 1)) {
      const letter = stringSlice(format, i + 1, i + 2)
      const takes = isDirective(letter)
      if (letter !== "%" && !(takes && next < count)) continue
      text += stringSlice(format, from, i) + (takes ? directive(letter, args[next++], limits, textOf) : "%")
      from = i + 2
      i++
    }
    text += stringSlice(format, from)
  }
  for (let i = next; i < count; i++) {
    const value = args[i]
    if (i > 0) text += " "
    const part =
      typeof value === "string" ? value : shown(value, text.length > detailedCharsMax ? briefLimits : limits, textOf)
    if (text.length + part.length > consoleCharsMax) return text + stringSlice(part, 0, consoleCharsMax - text.length)
    text += part
  }
  return text
}

/** An error that is written by itself says where it is from, between its header and its properties. */
function shown(value: unknown, limits: PreviewLimits, textOf: TextOf | undefined): string {
  const { text } = preview(value, limits, textOf)
  if (typeof value !== "object" || value === null || brandOf(value) !== "error") return text
  const frames = shownFrames(value)
  if (frames === "") return text
  const header = errorHeader(value)
  // One that is reached from itself has a number in front.
  const at = stringIndexOf(text, header)
  return at < 0 || at > 20
    ? text
    : stringSlice(text, 0, at + header.length) + frames + stringSlice(text, at + header.length)
}

function isDirective(letter: string): boolean {
  switch (letter) {
    case "s":
    case "d":
    case "i":
    case "f":
    case "j":
    case "o":
    case "O":
    case "c":
      return true
    default:
      return false
  }
}

function directive(letter: string, value: unknown, limits: PreviewLimits, textOf: TextOf | undefined): string {
  switch (letter) {
    case "s":
      return typeof value === "string" ? value : preview(value, shallow(limits), textOf).text
    case "d":
      return numberText(value, (text) => +text)
    case "i":
      return numberText(value, (text) => numberParseInt(text, 10))
    case "f":
      return typeof value === "bigint" ? `${value}` : numberText(value, numberParseFloat)
    case "j":
      return jsonText(value, newList(), 0) ?? "undefined"
    case "c":
      return ""
    default:
      return preview(value, limits, textOf).text
  }
}

function shallow(limits: PreviewLimits): PreviewLimits {
  return { bytesMax: limits.bytesMax, depthMax: 1, itemsMax: limits.itemsMax }
}

function numberText(value: unknown, parse: (text: string) => number): string {
  switch (typeof value) {
    case "bigint":
      return `${value}n`
    case "string":
      return preview(parse(value)).text
    case "number":
      return preview(value === 0 ? value : parse(`${value}`)).text
    case "boolean":
      return `${parse(value ? "1" : "0")}`
    case "object":
    case "function":
    case "symbol":
    case "undefined":
      return "NaN"
  }
  return ""
}

/** Deeper than any JSON a person prints, and far from the engine's stack limit. */
const jsonDepthMax = 64

/** JSON of what data properties hold; `undefined` where `JSON.stringify` would leave the value out. */
function jsonText(value: unknown, open: object[], depth: number): string | undefined {
  switch (typeof value) {
    case "string":
      return jsonStringify(value)
    case "number":
      return value - value === 0 ? `${value === 0 ? 0 : value}` : "null"
    case "boolean":
      return `${value}`
    case "bigint":
      return `${value}`
    case "undefined":
    case "function":
    case "symbol":
      return undefined
    case "object":
      return value === null ? "null" : jsonObject(value, open, depth)
  }
  return undefined
}

function jsonObject(object: object, open: object[], depth: number): string {
  if (depth >= jsonDepthMax) return '"[…]"'
  for (let i = 0; i < depth; i++) if (open[i] === object) return '"[Circular]"'
  const brand = brandOf(object)
  if (brand === "proxy") return '"[Proxy]"'
  if (brand === "date") return jsonStringify(preview(object).text)
  open[depth] = object
  let text = ""
  if (arrayIsArray(object)) {
    for (let i = 0; i < object.length; i++) {
      text += `${i === 0 ? "" : ","}${jsonText(dataOf(object, i), open, depth + 1) ?? "null"}`
    }
    return `[${text}]`
  }
  const keys = objectKeys(object)
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!
    const part = jsonText(dataOf(object, key), open, depth + 1)
    if (part !== undefined) text += `${text === "" ? "" : ","}${jsonStringify(key)}:${part}`
  }
  return `{${text}}`
}

function dataOf(object: object, key: PropertyKey): unknown {
  const descriptor = descriptorOf(object, key)
  if (descriptor === undefined) return undefined
  if (objectHasOwn(descriptor, "value")) return descriptor.value
  return "[Getter]"
}
