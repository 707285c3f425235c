// Shapes of protocol parameters and results, as data: one description is checked, shown by `initialize`, printed into
// docs/PROTOCOL.md, and is the TypeScript type of what a handler gets.
//
// It is smaller than JSON Schema on purpose: everything here can be explained in one table cell. Fields that a nested
// record does not name are ignored. The parameters of a method are another matter: `methods.ts` refuses those it does not have, which would
// otherwise be silently without effect, but for `initialize`, to which a newer client may say more.
import { NacreError } from "../errors.ts"

export type Type =
  | {
      readonly type: "string" | "number" | "integer" | "boolean" | "json" | "null"
      readonly min?: number
      readonly max?: number
    }
  | { readonly oneOf: readonly string[] }
  | { readonly list: Type }
  | { readonly fields: Fields }
  | { readonly either: readonly Type[] }

/** A named part of a record: its type, and what it means. */
export type Field = Type & { readonly doc: string; readonly optional?: true }
export type Fields = Readonly<Record<string, Field>>

type Primitive = { string: string; number: number; integer: number; boolean: boolean; json: unknown; null: null }

/** The TypeScript type that a shape describes. */
export type ValueOf<T> = T extends { type: infer P extends keyof Primitive }
  ? Primitive[P]
  : T extends { oneOf: readonly (infer S)[] }
    ? S
    : T extends { list: infer I }
      ? ValueOf<I>[]
      : T extends { fields: infer F }
        ? FieldsOf<F>
        : T extends { either: readonly (infer E)[] }
          ? ValueOf<E>
          : never

type OptionalKeys<F> = { [K in keyof F]: F[K] extends { optional: true } ? K : never }[keyof F]
export type FieldsOf<F> = { -readonly [K in Exclude<keyof F, OptionalKeys<F>>]: ValueOf<F[K]> } & {
  -readonly [K in OptionalKeys<F>]?: ValueOf<F[K]> | undefined
}

/** A value that has properties at all: not null, not a list. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** What is wrong with a value, said by the path to the first wrong part; `undefined` when nothing is. */
export function problemOf(type: Type, value: unknown, path: string): string | undefined {
  if ("oneOf" in type) return type.oneOf.some((it) => it === value) ? undefined : wrong(type, value, path)
  if ("either" in type) {
    return type.either.some((it) => problemOf(it, value, path) === undefined) ? undefined : wrong(type, value, path)
  }
  if ("list" in type) {
    if (!Array.isArray(value)) return wrong(type, value, path)
    return firstOf(value, (item, index) => problemOf(type.list, item, `${path}[${index}]`))
  }
  if ("fields" in type) {
    if (!isRecord(value)) return wrong(type, value, path)
    return firstOf(Object.entries(type.fields), ([name, field]) => {
      const part = Object.hasOwn(value, name) ? value[name] : undefined
      if (part !== undefined) return problemOf(field, part, `${path}.${name}`)
      return field.optional === true ? undefined : missing(type.fields, value, `${path}.${name}`)
    })
  }
  if (!isPrimitive(type.type, value)) return wrong(type, value, path)
  const size = typeof value === "string" ? value.length : typeof value === "number" ? value : 0
  const isWithin = size >= (type.min ?? -Infinity) && size <= (type.max ?? Infinity)
  return isWithin ? undefined : wrong(type, value, path)
}

/** Throws `invalid_options`, naming the parameter that is wrong and what it must be, or that is unknown. */
export function checkParameters(method: string, fields: Fields, given: unknown): void {
  const problem =
    problemOf({ fields }, given, "params") ?? (method === "initialize" ? undefined : unknownOf(fields, given as object))
  if (problem !== undefined) throw new NacreError("invalid_options", `${method}: ${problem}.`)
}

/** A misspelt parameter must not be a default in disguise. `initialize` alone takes what a newer client says of itself. */
function unknownOf(fields: Fields, given: object): string | undefined {
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(fields, name))
  if (unknown === undefined) return undefined
  const known = Object.keys(fields).join(", ") || "none"
  return `params.${unknown} is unknown; known are: ${known}`
}

/** A type in words, as messages and docs show it. */
export function nameOf(type: Type): string {
  if ("oneOf" in type) return type.oneOf.map((it) => JSON.stringify(it)).join(" | ")
  if ("either" in type) return type.either.map(nameOf).join(" | ")
  if ("list" in type) return `list of ${nameOf(type.list)}`
  if ("fields" in type) {
    return `{ ${Object.entries(type.fields)
      .map(([name, field]) => `${name}${field.optional === true ? "?" : ""}: ${nameOf(field)}`)
      .join("; ")} }`
  }
  const unit = type.type === "string" ? " characters" : ""
  if (type.min !== undefined && type.max !== undefined) return `${type.type} of ${type.min} to ${type.max}${unit}`
  if (type.min !== undefined) return `${type.type} of at least ${type.min}${unit}`
  if (type.max !== undefined) return `${type.type} of at most ${type.max}${unit}`
  return type.type
}

function isPrimitive(type: keyof Primitive, value: unknown): boolean {
  if (type === "json") return true
  if (type === "null") return value === null
  if (type === "integer") return Number.isSafeInteger(value)
  // `1e400` is a number in JSON's grammar and none that could be answered.
  return type === "number" ? Number.isFinite(value) : typeof value === type
}

function wrong(type: Type, value: unknown, path: string): string {
  return `${path} must be ${nameOf(type)}, not ${shown(value)}`
}

function missing(fields: Fields, given: Record<string, unknown>, path: string): string {
  const unknown = Object.keys(given).filter((name) => !Object.hasOwn(fields, name))
  const hint = unknown.length === 0 ? "" : `; unknown here: ${unknown.slice(0, 5).map(shown).join(", ")}`
  return `${path} is missing${hint}`
}

function shown(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
  if (Array.isArray(value)) return "a list"
  if (typeof value === "object" && value !== null) return "an object"
  return typeof value === "number" || typeof value === "boolean" ? String(value) : typeof value
}

function firstOf<T>(items: readonly T[], problem: (item: T, index: number) => string | undefined): string | undefined {
  for (const [index, item] of items.entries()) {
    const found = problem(item, index)
    if (found !== undefined) return found
  }
  return undefined
}
