// Values as text for people: results, console output, tooltips. In the spirit of Node's inspect, and bounded.
//
// Node's own inspect runs getters of `Symbol.toStringTag`, custom inspect functions and traps, so it cannot be used on session values.
// This one reads data descriptors and internal slots only; what it would have to run code for it names instead: `[Getter]`, and a
// proxy shows its target. Depth, items and length have limits, and what is cut is said where it is missing. The recursion is bounded by
// `depthMax`.

import {
  arrayIsArray,
  descriptorOf,
  isEnumerable,
  MapOf,
  mapGet,
  mapSet,
  newList,
  objectHasOwn,
  objectKeys,
  objectSymbols,
  prototypeOf,
  stringCodeAt,
  stringSlice,
  toStringTag,
} from "./intrinsics.ts"
import { brandOf, classNameOf, functionName, readPlainly, type Brand } from "./brands.ts"
import { layOut } from "./layout.ts"
import { previewKind } from "./preview-kinds.ts"
import { recordedProxy } from "./proxy-record.ts"
import { keyText, quoteText, symbolText } from "./quote.ts"

export interface PreviewLimits {
  /** UTF-8 bytes of the whole text, without the note that says it was cut. */
  readonly bytesMax: number
  /** Levels of nesting shown; deeper objects are named: `[Object]`. */
  readonly depthMax: number
  /** Items, entries or properties shown of one object. */
  readonly itemsMax: number
}

/** 64 KiB is what an outcome carries; four levels and a hundred items are what a person reads of one value. */
export const defaultPreviewLimits: PreviewLimits = { bytesMax: 64 * 1024, depthMax: 4, itemsMax: 100 }

/** As long as "... 123456789 more characters" and the quotes. */
const cutNoteChars = 40

export interface Preview {
  readonly text: string
  /** Nothing worth showing: the value is `undefined`. */
  readonly inert: boolean
  /** `typeof`, "null", or the name of the object's class. */
  readonly type: string
}

/** The text that some object shows as, when it is not an ordinary one: sessions, views, singletons. Must not run session code. */
export type TextOf = (object: object) => string | undefined

/** Never runs session code and never throws. */
export function preview(value: unknown, limits: PreviewLimits = defaultPreviewLimits, textOf?: TextOf): Preview {
  const previewer = new Previewer(limits, textOf)
  return { text: cutToBytes(previewer.show(value), limits.bytesMax), inert: value === undefined, type: typeText(value) }
}

function typeText(value: unknown): string {
  if (value === null) return "null"
  if (typeof value !== "object") return typeof value
  const record = recordedProxy(value)
  return record === undefined ? (classNameOf(value) ?? "Object") : typeText(record.target)
}

export class Previewer {
  readonly limits: PreviewLimits
  readonly textOf: TextOf | undefined
  /** Characters of the leaves written so far: a preview stops growing when they alone are too many. */
  spent = 0
  #open = new MapOf<object, boolean>()
  #circular = new MapOf<object, number>()
  #circularCount = 0
  #depth = 0

  constructor(limits: PreviewLimits, textOf: TextOf | undefined) {
    this.limits = limits
    this.textOf = textOf
  }

  get isSpent(): boolean {
    return this.spent >= this.limits.bytesMax
  }

  get isNested(): boolean {
    return this.#depth > 0
  }

  show(value: unknown): string {
    const text = typeof value === "object" && value !== null ? this.#showObject(value) : this.#showLeaf(value)
    return text
  }

  #showLeaf(value: unknown): string {
    const text = typeof value === "function" ? this.#showObject(value) : this.#primitive(value)
    this.spent += text.length
    return text
  }

  #primitive(value: unknown): string {
    switch (typeof value) {
      case "string":
        return this.quote(value)
      case "number":
        return value === 0 && 1 / value < 0 ? "-0" : `${value}`
      case "bigint":
        return `${value}n`
      case "symbol":
        return symbolText(value)
      case "boolean":
      case "undefined":
        return `${value}`
      case "object":
      case "function":
        return "null"
    }
    return ""
  }

  /** A string in quotes, cut where the whole preview would be. */
  quote(text: string): string {
    const max = this.limits.bytesMax - this.spent
    if (text.length <= max) return quoteText(text)
    // Room for the note, so that the whole preview is not cut a second time right after it.
    const shown = max > cutNoteChars * 2 ? max - cutNoteChars : 0
    return `${quoteText(stringSlice(text, 0, shown))}... ${moreText(text.length - shown, "character")}`
  }

  #showObject(object: object): string {
    // Also an empty object takes room: a hundred lists of a hundred lists of … nothing must end like any other text.
    this.spent += 4
    const record = recordedProxy(object)
    if (record !== undefined) return record.revoked ? "<Revoked Proxy>" : this.#showTarget(record.target)
    const own = this.textOf?.(object)
    if (own !== undefined) return own
    if (mapGet(this.#open, object) === true) {
      let number = mapGet(this.#circular, object)
      if (number === undefined) mapSet(this.#circular, object, (number = ++this.#circularCount))
      return `[Circular *${number}]`
    }
    mapSet(this.#open, object, true)
    const text = this.#describe(object, brandOf(object))
    mapSet(this.#open, object, false)
    const number = mapGet(this.#circular, object)
    return number === undefined ? text : `<ref *${number}> ${text}`
  }

  /** A proxy shows what it stands for. Proxies of proxies are followed without recursion. */
  #showTarget(target: object): string {
    let inner = target
    for (let record = recordedProxy(inner); record !== undefined; record = recordedProxy(inner)) {
      if (record.revoked) return "<Revoked Proxy>"
      inner = record.target
    }
    return this.#showObject(inner)
  }

  #describe(object: object, brand: Brand): string {
    const kind = previewKind(this, object, brand)
    if (kind.text !== undefined) return this.#withProperties(kind.text, object, kind.keys)
    const { open, close } = kind
    if (this.#depth >= this.limits.depthMax) return `[${kind.prefix === "" ? defaultName(object) : kind.prefix}]`
    this.#depth++
    const parts: string[] = newList()
    const partCount = this.#showProperties(object, kind.keys, parts, kind.showItems(parts))
    this.#depth--
    const inside = partCount === 0 ? `${open}${close}` : layOut(parts, partCount, open, close, this.#depth, brand)
    return kind.prefix === "" ? inside : `${kind.prefix} ${inside}`
  }

  /** Kinds that are one word show their own enumerable properties after it, if there are any. */
  #withProperties(text: string, object: object, keys: readonly (string | symbol)[]): string {
    if (keys.length === 0 || this.#depth >= this.limits.depthMax) {
      this.spent += text.length
      return text
    }
    this.#depth++
    const parts: string[] = newList()
    const count = this.#showProperties(object, keys, parts, 0)
    this.#depth--
    return count === 0 ? text : `${text} ${layOut(parts, count, "{", "}", this.#depth, "ordinary")}`
  }

  #showProperties(object: object, keys: readonly (string | symbol)[], parts: string[], from: number): number {
    let count = from
    for (let i = 0; i < keys.length; i++) {
      if (i >= this.limits.itemsMax || this.isSpent) {
        parts[count++] = `... ${moreText(keys.length - i, "propert", "y", "ies")}`
        break
      }
      const key = keys[i]!
      const name = keyText(key)
      this.spent += name.length
      parts[count++] = `${isEnumerable(object, key) ? name : `[${name}]`}: ${this.showProperty(object, key)}`
    }
    return count
  }

  showProperty(object: object, key: PropertyKey): string {
    const descriptor = descriptorOf(object, key)
    if (descriptor === undefined) return "undefined"
    if (objectHasOwn(descriptor, "value")) return this.show(descriptor.value)
    return descriptor.get === undefined ? "[Setter]" : descriptor.set === undefined ? "[Getter]" : "[Getter/Setter]"
  }
}

function defaultName(object: object): string {
  return arrayIsArray(object) ? "Array" : "Object"
}

/** Own keys whose properties are enumerable, strings before symbols. */
export function shownKeys(object: object): (string | symbol)[] {
  const keys: (string | symbol)[] = objectKeys(object)
  const symbols = objectSymbols(object)
  if (symbols.length === 0) return keys
  const shown: (string | symbol)[] = newList()
  let count = 0
  for (let i = 0; i < keys.length; i++) shown[count++] = keys[i]!
  for (let i = 0; i < symbols.length; i++) {
    if (isEnumerable(object, symbols[i]!)) shown[count++] = symbols[i]!
  }
  return shown
}

/** The class of an object and what its `Symbol.toStringTag` adds, where that is plain data: `Object [Math]`. */
export function classText(object: object, expected: string): string {
  const prototype = prototypeOf(object)
  const name = classNameOf(object)
  const tag = readPlainly(object, toStringTag)
  const suffix = typeof tag === "string" && tag !== "" && tag !== (name ?? expected) ? ` [${tag}]` : ""
  if (prototype === null) return `[${expected}: null prototype]${suffix}`
  if (name === undefined || name === expected)
    return `${expected === "Object" && suffix === "" ? "" : expected}${suffix}`
  return expected === "Object" ? `${name}${suffix}` : `${name}${suffix === "" ? ` [${expected}]` : suffix}`
}

export function moreText(count: number, noun: string, one = "", many = "s"): string {
  return `${count} more ${noun}${count === 1 ? one : many}`
}

export function functionText(object: object, text: string, kind: string): string {
  const name = functionName(object)
  if (stringSlice(text, 0, 5) === "class") {
    const parent = prototypeOf(object)
    const parentName = parent !== null && typeof parent === "function" ? functionName(parent) : ""
    return `[class ${name || "(anonymous)"}${parentName === "" ? "" : ` extends ${parentName}`}]`
  }
  return `[${kind}${name === "" ? " (anonymous)" : `: ${name}`}]`
}

/** The longest beginning of the text within so many UTF-8 bytes, with a note when something is missing. */
export function cutToBytes(text: string, bytesMax: number): string {
  if (text.length * 3 <= bytesMax) return text
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const code = stringCodeAt(text, i)
    // A surrogate pair is four bytes, two for each half; a lone half is replaced by three.
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code >= 0xd800 && code <= 0xdfff ? 2 : 3
    if (bytes > bytesMax) {
      const end = i > 0 && code >= 0xdc00 && code <= 0xdfff ? i - 1 : i
      return `${stringSlice(text, 0, end)}... ${moreText(text.length - end, "character")}`
    }
  }
  return text
}
