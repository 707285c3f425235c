// How each kind of object shows in a preview: one word, or brackets with items in them.

import {
  arrayIsArray,
  bigintValue,
  booleanValue,
  bufferByteLength,
  dataViewByteLength,
  dataViewOffset,
  dateToISO,
  dateValue,
  descriptorOf,
  functionToString,
  mapEntries,
  mapNext,
  mapSize,
  newList,
  numberValue,
  objectHasOwn,
  objectKeys,
  prototypeOf,
  regExpFlagGetters,
  regExpSource,
  setNext,
  setSize,
  setValues,
  sharedByteLength,
  stringSlice,
  stringValue,
  symbolValue,
  typedArrayLength,
  typedArrayName,
  Uint8ArrayOf,
} from "./intrinsics.ts"
import { errorHeader } from "./error-header.ts"
import { classText, functionText, moreText, shownKeys, type Previewer } from "./preview.ts"
import { isIndexText, symbolText } from "./quote.ts"
import type { Brand } from "./brands.ts"

export interface PreviewKind {
  /** The whole object as one word; own properties may follow it. */
  readonly text: string | undefined
  readonly prefix: string
  readonly open: string
  readonly close: string
  readonly keys: readonly (string | symbol)[]
  /** Puts the items that are no properties into `parts` and returns how many. */
  readonly showItems: (parts: string[]) => number
}

/** Arrays with more items than this are not searched for named properties, which would list every index as a string. */
const namedKeysSearchMax = 10_000
const asyncFunctionPrototype = prototypeOf(async function () {})
const generatorFunctionPrototype = prototypeOf(function* () {})
const asyncGeneratorFunctionPrototype = prototypeOf(async function* () {})

export function previewKind(previewer: Previewer, object: object, brand: Brand): PreviewKind {
  switch (brand) {
    case "function":
      return word(functionText(object, functionToString(object), functionKind(object)), shownKeys(object))
    case "array":
    case "arguments":
      return arrayKind(previewer, object as unknown[], brand)
    case "map":
      return brackets(classTextSized(object, "Map", mapSize(object)), shownKeys(object), (parts) =>
        showEntries(previewer, object, parts),
      )
    case "set":
      return brackets(classTextSized(object, "Set", setSize(object)), shownKeys(object), (parts) =>
        showMembers(previewer, object, parts),
      )
    case "view":
      return viewKind(previewer, object)
    case "date": {
      const time = dateValue(object)
      return word(time !== time ? "Invalid Date" : dateToISO(object), shownKeys(object))
    }
    case "regexp":
      return word(`/${regExpSource(object)}/${flagsText(object)}`, shownKeys(object))
    case "error": {
      const header = errorHeader(object)
      return word(previewer.isNested ? `[${header}]` : header, errorKeys(object))
    }
    case "number":
      return word(`[Number: ${previewer.show(numberValue(object))}]`, shownKeys(object))
    case "string": {
      const text = stringValue(object)
      return word(`[String: ${previewer.quote(text)}]`, keysFrom(shownKeys(object), text.length))
    }
    case "boolean":
      return word(`[Boolean: ${booleanValue(object)}]`, shownKeys(object))
    case "bigint":
      return word(`[BigInt: ${bigintValue(object)}n]`, shownKeys(object))
    case "symbol":
      return word(`[Symbol: ${symbolText(symbolValue(object))}]`, shownKeys(object))
    case "arraybuffer":
      return bufferKind(object, "ArrayBuffer", bufferByteLength(object))
    case "sharedarraybuffer":
      return bufferKind(object, "SharedArrayBuffer", sharedByteLength(object))
    case "promise":
      return word("Promise { <state unknown> }", promiseKeys(object))
    case "weakmap":
      return word("WeakMap { <items unknown> }", shownKeys(object))
    case "weakset":
      return word("WeakSet { <items unknown> }", shownKeys(object))
    case "weakref":
      return word("WeakRef { <target unknown> }", shownKeys(object))
    case "finalizationregistry":
      return word("FinalizationRegistry {}", shownKeys(object))
    case "ordinary":
    case "generator":
    case "iterator":
    case "proxy":
      break
  }
  return brackets(classText(object, "Object"), shownKeys(object), noItems)
}

function noItems(): number {
  return 0
}

function word(text: string, keys: readonly (string | symbol)[]): PreviewKind {
  return { text, prefix: "", open: "", close: "", keys, showItems: noItems }
}

function brackets(
  prefix: string,
  keys: readonly (string | symbol)[],
  showItems: (parts: string[]) => number,
  open = "{",
  close = "}",
): PreviewKind {
  return { text: undefined, prefix, open, close, keys, showItems }
}

/** `Map(2)`, or `Registry(2) [Map]` for a subclass. */
function classTextSized(object: object, expected: string, size: number): string {
  const text = classText(object, expected)
  if (text === "" || text === expected) return `${expected}(${size})`
  const suffix = ` [${expected}]`
  const cut = text.length - suffix.length
  return cut > 0 && stringSlice(text, cut) === suffix
    ? `${stringSlice(text, 0, cut)}(${size})${suffix}`
    : `${text}(${size})`
}

function arrayKind(previewer: Previewer, array: unknown[], brand: Brand): PreviewKind {
  // An arguments object has a `length` that anybody may have changed; its items are its keys.
  const isArray = arrayIsArray(array)
  const keys = isArray && array.length > namedKeysSearchMax ? emptyKeys : shownKeys(array)
  const { items, named } = splitKeys(keys)
  const length = isArray ? array.length : items
  const sized = isArray ? classTextSized(array, "Array", length) : "[Arguments]"
  const prefix = sized === `Array(${length})` ? "" : sized
  return brackets(prefix, named, (parts) => showArray(previewer, array, length, parts, brand), "[", "]")
}

const emptyKeys: readonly (string | symbol)[] = newList()

function splitKeys(keys: readonly (string | symbol)[]): { items: number; named: (string | symbol)[] } {
  let items = 0
  while (items < keys.length) {
    const key = keys[items]!
    if (typeof key === "symbol" || !isIndexText(key)) break
    items++
  }
  return { items, named: keysFrom(keys, items) }
}

function keysFrom(keys: readonly (string | symbol)[], from: number): (string | symbol)[] {
  const kept: (string | symbol)[] = newList()
  for (let i = from; i < keys.length; i++) kept[i - from] = keys[i]!
  return kept
}

function showArray(previewer: Previewer, array: object, length: number, parts: string[], brand: Brand): number {
  let count = 0
  let index = 0
  let indices: string[] | undefined
  let position = 0
  for (let shown = 0; index < length; shown++) {
    if (shown >= previewer.limits.itemsMax || previewer.isSpent) {
      parts[count++] = `... ${moreText(length - index, "item")}`
      break
    }
    if (objectHasOwn(array, index)) {
      parts[count++] = previewer.showProperty(array, index)
      index++
      continue
    }
    // The first hole: from here on the keys lead, or a length of four billion would be walked through.
    indices ??= objectKeys(array)
    while (position < indices.length && +indices[position]! < index) position++
    const key = position < indices.length ? indices[position]! : ""
    const next = isIndexText(key) && +key < length ? +key : length
    const holes = next - index
    parts[count++] = brand === "arguments" ? "<missing>" : `<${holes} empty item${holes === 1 ? "" : "s"}>`
    index = next
  }
  return count
}

function showEntries(previewer: Previewer, map: object, parts: string[]): number {
  const iterator = mapEntries(map)
  const size = mapSize(map)
  let count = 0
  for (let step = mapNext(iterator); step.done !== true; step = mapNext(iterator)) {
    if (count >= previewer.limits.itemsMax || previewer.isSpent) {
      parts[count] = `... ${moreText(size - count, "entr", "y", "ies")}`
      return count + 1
    }
    const entry = step.value
    const key = previewer.show(entry[0])
    parts[count++] = `${key} => ${previewer.show(entry[1])}`
  }
  return count
}

function showMembers(previewer: Previewer, set: object, parts: string[]): number {
  const iterator = setValues(set)
  const size = setSize(set)
  let count = 0
  for (let step = setNext(iterator); step.done !== true; step = setNext(iterator)) {
    if (count >= previewer.limits.itemsMax || previewer.isSpent) {
      parts[count] = `... ${moreText(size - count, "item")}`
      return count + 1
    }
    parts[count++] = previewer.show(step.value)
  }
  return count
}

function viewKind(previewer: Previewer, object: object): PreviewKind {
  const name = typedArrayName(object)
  if (name === undefined) {
    return word(`DataView { byteLength: ${dataViewLengthText(object)} }`, shownKeys(object))
  }
  const length = typedArrayLength(object)
  const named = length > namedKeysSearchMax ? emptyKeys : splitKeys(shownKeys(object)).named
  return brackets(
    classTextSized(object, name, length),
    named,
    (parts) => {
      let count = 0
      for (; count < length; count++) {
        if (count >= previewer.limits.itemsMax || previewer.isSpent) {
          parts[count] = `... ${moreText(length - count, "item")}`
          return count + 1
        }
        parts[count] = previewer.show((object as unknown[])[count])
      }
      return count
    },
    "[",
    "]",
  )
}

function dataViewLengthText(object: object): string {
  try {
    return `${dataViewByteLength(object)}, byteOffset: ${dataViewOffset(object)}`
  } catch {
    // The buffer shrank below the view.
    return "<out of bounds>"
  }
}

/** As many bytes as Node's inspect shows of a buffer. */
const bufferBytesShown = 50

function bufferKind(object: object, name: string, length: number): PreviewKind {
  const shown = length < bufferBytesShown ? length : bufferBytesShown
  // A detached buffer has length 0, and no view can be made of it.
  const bytes = shown === 0 ? new Uint8ArrayOf(0) : new Uint8ArrayOf(object as ArrayBuffer, 0, shown)
  let contents = ""
  for (let i = 0; i < shown; i++) {
    const byte = bytes[i]!
    contents += `${i === 0 ? "" : " "}${hexDigit(byte >> 4)}${hexDigit(byte & 15)}`
  }
  if (shown < length) contents += ` ... ${moreText(length - shown, "byte")}`
  return word(`${name} { [Uint8Contents]: <${contents}>, byteLength: ${length} }`, shownKeys(object))
}

function hexDigit(value: number): string {
  return stringSlice("0123456789abcdef", value, value + 1)
}

function flagsText(object: object): string {
  let flags = ""
  for (let i = 0; i < regExpFlagGetters.length; i++) {
    const known = regExpFlagGetters[i] as { flag: string; read: (regExp: unknown) => unknown }
    if (known.read(object) === true) flags += known.flag
  }
  return flags
}

function functionKind(object: object): string {
  const prototype = prototypeOf(object)
  if (prototype === asyncFunctionPrototype) return "AsyncFunction"
  if (prototype === generatorFunctionPrototype) return "GeneratorFunction"
  if (prototype === asyncGeneratorFunctionPrototype) return "AsyncGeneratorFunction"
  return "Function"
}

/** Without what Node hangs on a promise for its own bookkeeping. */
function promiseKeys(object: object): (string | symbol)[] {
  const keys = shownKeys(object)
  const kept: (string | symbol)[] = newList()
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index]!
    const text = typeof key === "symbol" ? symbolText(key) : ""
    const isNodes =
      text === "Symbol(async_id_symbol)" ||
      text === "Symbol(trigger_async_id_symbol)" ||
      text === "Symbol(kResourceStore)"
    if (!isNodes) kept[kept.length] = key
  }
  return kept
}

/** What an error says beyond its header: its enumerable properties, its cause and its errors. */
function errorKeys(object: object): (string | symbol)[] {
  const keys = shownKeys(object)
  const shown: (string | symbol)[] = newList()
  let count = 0
  for (let i = 0; i < keys.length; i++) {
    if (keys[i] !== "stack" && keys[i] !== "message" && keys[i] !== "cause" && keys[i] !== "errors") {
      shown[count++] = keys[i]!
    }
  }
  if (descriptorOf(object, "cause") !== undefined) shown[count++] = "cause"
  if (descriptorOf(object, "errors") !== undefined) shown[count++] = "errors"
  return shown
}
