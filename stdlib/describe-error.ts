// Whatever session code threw, as a plain record: what an outcome's `error` is made from.
//
// Anything can be thrown: `null`, a proxy whose traps throw, an error whose `message` is a getter, an error that is its own cause. Nothing
// here runs session code, and everything has a bound. Records and lists have no prototype, so that `JSON.stringify`, which asks every
// object for a `toJSON`, finds none whatever a session put on `Object.prototype`; strings and numbers it does not ask.

import { arrayIsArray, descriptorOf, jsonStringify, newList, objectHasOwn, withoutPrototype } from "./intrinsics.ts"
import { brandOf, readPlainly } from "./brands.ts"
import { errorMessage, errorName } from "./error-header.ts"
import { stackText } from "./error-stack.ts"
import { cutToBytes, preview, shownKeys, type PreviewLimits, type TextOf } from "./preview.ts"
import { recordedProxy } from "./proxy-record.ts"
import { keyText } from "./quote.ts"

export interface DescribedError {
  /** Whether an error was thrown; else `name` is the type of the value and `message` its preview. */
  readonly isError: boolean
  readonly name: string
  readonly message: string
  /** The error's own or inherited `kind`, when that is a string. */
  readonly kind?: string
  /** The raw text of `stack`, not mapped; "" when there is none that can be read without running code. */
  readonly stack: string
  readonly cause?: DescribedError
  readonly errors?: DescribedError[]
  /** Other enumerable properties of its own. Getters are left out. */
  readonly properties?: { key: string; text: string }[]
}

export interface ErrorLimits {
  /** UTF-8 bytes of a message. */
  readonly messageBytesMax: number
  readonly stackBytesMax: number
  /** Errors in one chain of causes, and in one tree of `errors`. */
  readonly causesMax: number
  readonly errorsMax: number
  readonly propertiesMax: number
  readonly propertyBytesMax: number
}

/** Generous for people, and still only a few hundred kilobytes when everything is at its limit. */
export const defaultErrorLimits: ErrorLimits = {
  messageBytesMax: 16 * 1024,
  stackBytesMax: 16 * 1024,
  causesMax: 8,
  errorsMax: 8,
  propertiesMax: 32,
  propertyBytesMax: 1024,
}

/** Never runs session code and never throws. */
export function describeError(
  thrown: unknown,
  limits: ErrorLimits = defaultErrorLimits,
  textOf?: TextOf,
): DescribedError {
  return new ErrorDescriber(limits, textOf).describe(thrown)
}

/** What an error of Node's permission model means: the host of the session's profile may not do this (`runtime/host/confinement.ts`). */
function deniedByNode(error: object): string {
  const permission = readPlainly(error, "permission")
  const resource = readPlainly(error, "resource")
  const isRead = permission === "FileSystemRead"
  const capability = isRead ? "fs.read" : permission === "FileSystemWrite" ? "fs.write" : "process"
  const where = typeof resource === "string" && resource !== "" ? ` for '${resource}'` : ""
  return `the session's profile does not give '${capability}'${where}`
}

/** The record as JSON, to cross the bridge as one string. */
export function errorToJson(described: DescribedError): string {
  return jsonStringify(described)
}

class ErrorDescriber {
  readonly #limits: ErrorLimits
  readonly #textOf: TextOf | undefined
  readonly #propertyLimits: PreviewLimits
  #open: object[] = newList()
  #depth = 0
  /** Descriptions made so far: a tree of `errors` is bounded as a whole, not level by level. */
  #made = 0

  constructor(limits: ErrorLimits, textOf: TextOf | undefined) {
    this.#limits = limits
    this.#textOf = textOf
    this.#propertyLimits = { bytesMax: limits.propertyBytesMax, depthMax: 2, itemsMax: 20 }
  }

  describe(thrown: unknown): DescribedError {
    this.#made++
    const object = unproxied(thrown)
    if (object === undefined || brandOf(object) !== "error") return this.#describeOther(thrown)
    for (let i = 0; i < this.#depth; i++)
      if (this.#open[i] === object) return this.#note(errorName(object), "[Circular]")
    this.#open[this.#depth++] = object
    const limits = this.#limits
    const record: { -readonly [K in keyof DescribedError]: DescribedError[K] } = withoutPrototype({
      isError: true,
      name: cutToBytes(errorName(object), limits.messageBytesMax),
      message: cutToBytes(errorMessage(object), limits.messageBytesMax),
      stack: cutToBytes(stackText(object) ?? "", limits.stackBytesMax),
    })
    const kind = readPlainly(object, "kind")
    if (typeof kind === "string") record.kind = cutToBytes(kind, limits.messageBytesMax)
    else if (readPlainly(object, "code") === "ERR_ACCESS_DENIED") {
      record.kind = "capability_denied"
      record.message = cutToBytes(`Access has been restricted: ${deniedByNode(object)}`, limits.messageBytesMax)
    }
    const cause = descriptorOf(object, "cause")
    if (cause !== undefined && objectHasOwn(cause, "value")) record.cause = this.#describeWithin(cause.value)
    const errors = this.#describeErrors(object)
    if (errors !== undefined) record.errors = errors
    const properties = this.#describeProperties(object)
    if (properties !== undefined) record.properties = properties
    this.#depth--
    return record
  }

  #describeWithin(thrown: unknown): DescribedError {
    if (this.#depth >= this.#limits.causesMax)
      return this.#note("…", `causes beyond ${this.#limits.causesMax} are left out`)
    return this.describe(thrown)
  }

  #describeErrors(object: object): DescribedError[] | undefined {
    const descriptor = descriptorOf(object, "errors")
    const list: unknown = descriptor !== undefined && objectHasOwn(descriptor, "value") ? descriptor.value : undefined
    if (typeof list !== "object" || list === null || recordedProxy(list) !== undefined || !arrayIsArray(list))
      return undefined
    const described: DescribedError[] = newList()
    const max = this.#limits.errorsMax
    for (let i = 0; i < list.length; i++) {
      if (i >= max || this.#made >= max * this.#limits.causesMax) {
        described[i] = this.#note("…", `${list.length - i} more errors are left out`)
        break
      }
      const item = descriptorOf(list, i)
      described[i] = this.#describeWithin(item !== undefined && objectHasOwn(item, "value") ? item.value : undefined)
    }
    return described
  }

  #describeProperties(object: object): { key: string; text: string }[] | undefined {
    const keys = shownKeys(object)
    const properties: { key: string; text: string }[] = newList()
    let count = 0
    for (let i = 0; i < keys.length; i++) {
      const key = keys[i]!
      if (isDescribedElsewhere(key)) continue
      const descriptor = descriptorOf(object, key)
      if (descriptor === undefined || !objectHasOwn(descriptor, "value")) continue
      if (count >= this.#limits.propertiesMax) {
        properties[count++] = withoutPrototype({ key: "…", text: "more properties are left out" })
        break
      }
      properties[count++] = withoutPrototype({
        key: cutToBytes(keyText(key), this.#limits.propertyBytesMax),
        text: preview(descriptor.value, this.#propertyLimits, this.#textOf).text,
      })
    }
    return count === 0 ? undefined : properties
  }

  #describeOther(thrown: unknown): DescribedError {
    const shown = preview(thrown, { bytesMax: this.#limits.messageBytesMax, depthMax: 2, itemsMax: 20 }, this.#textOf)
    return withoutPrototype({ isError: false, name: shown.type, message: shown.text, stack: "" })
  }

  #note(name: string, message: string): DescribedError {
    return withoutPrototype({ isError: true, name, message, stack: "" })
  }
}

function isDescribedElsewhere(key: string | symbol): boolean {
  return key === "name" || key === "message" || key === "stack" || key === "cause" || key === "errors" || key === "kind"
}

/** The object, or what it is a proxy of in the end; `undefined` for primitives. */
function unproxied(value: unknown): object | undefined {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return undefined
  let object: object = value
  for (let record = recordedProxy(object); record !== undefined; record = recordedProxy(object)) object = record.target
  return object
}
