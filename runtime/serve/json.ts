// Values and outcomes as JSON, without lying: a value is sent as data only when JSON holds exactly that value.
//
// JSON would turn `undefined` and NaN into null, a Map into {}, a Date into a string and a bigint into an exception. A client must not
// mistake one for the other, so such a value has no `data`: its `text` and `type` say what it is.
import { inspect, types } from "node:util"
import type { Outcome } from "../session/outcome.ts"

/** Nesting that is followed; deeper values travel as text. JSON parsers of other languages give up at some hundreds. */
const depthMax = 200
/** Parts that are looked at: a value of 1 MiB, the limit of data, has fewer, unless it names one part exponentially often. */
const partsMax = 1_000_000

/** Whether JSON holds exactly this value, so that parsing its text gives an equal one. Runs no code of the value. */
export function isExactJson(value: unknown): boolean {
  let parts = 0
  const isExact = (part: unknown, depth: number): boolean => {
    if (++parts > partsMax || depth > depthMax) return false
    if (typeof part === "string" || typeof part === "boolean" || part === null) return true
    if (typeof part === "number") return Number.isFinite(part) && !Object.is(part, -0)
    if (typeof part !== "object" || types.isProxy(part)) return false
    const prototype: unknown = Object.getPrototypeOf(part)
    const keys = Reflect.ownKeys(part)
    if (Array.isArray(part)) {
      // Its keys are its indices and `length`: a hole has none, and any other property JSON would leave out.
      return (
        prototype === Array.prototype && keys.length === part.length + 1 && part.every((it) => isExact(it, depth + 1))
      )
    }
    if (prototype !== Object.prototype) return false
    return keys.every((key) => {
      if (typeof key === "symbol" || key === "__proto__" || key === "toJSON") return false
      const property = Object.getOwnPropertyDescriptor(part, key)!
      return property.enumerable === true && "value" in property && isExact(property.value, depth + 1)
    })
  }
  return isExact(value, 0)
}

/** The outcome as it is sent: `value.data` only when it is exact and wanted. */
export function outcomeJson(outcome: Outcome, options: { data: boolean }): Outcome {
  const { value } = outcome
  if (value === undefined) return outcome
  const { text, inert, type, mime } = value
  const sent: Outcome["value"] = { text, inert, type }
  if (mime !== undefined) sent.mime = mime
  if (value.handle !== undefined) sent.handle = value.handle
  if (options.data && "data" in value) {
    // Decoded here, once: the embedder's copy is made afresh by each read.
    const { data } = value
    if (isExactJson(data)) sent.data = data
  }
  return { ...outcome, value: sent }
}

/** A value that a name is bound to: always as text, and as itself when JSON holds exactly it. */
export function valueJson(value: unknown, textMax: number): { isBound: true; text: string; data?: unknown } {
  const text = inspect(value, { depth: 4, maxArrayLength: 100, maxStringLength: 8192, customInspect: false })
  const bounded = text.length > textMax ? `${text.slice(0, textMax)}…` : text
  return isExactJson(value) ? { isBound: true, text: bounded, data: value } : { isBound: true, text: bounded }
}
