// What messages are made of: small composable checks from which the vocabulary in `schema.ts` is built.
//
// What a peer sends is never trusted before it has passed here: a host may be corrupted by the very code it runs. Records travel as arrays
// of their fields in order, without those at the end that are absent: names would take longer to pack than what stands under them.

export interface Check<T> {
  (value: unknown): value is T
  /** How a value travels, where that is not as it is. Both throw a `Misfit` for what is not a value of the type. */
  readonly pack?: (value: never) => unknown
  readonly unpack?: (packed: unknown) => unknown
}
export type Checked<C> = C extends Check<infer T> ? T : never

/** Something that is not of its type. */
export class Misfit extends Error {
  override readonly name = "Misfit"
}

export const str: Check<string> = (value): value is string => typeof value === "string"
export const num: Check<number> = (value): value is number => typeof value === "number"
export const int: Check<number> = (value): value is number => Number.isSafeInteger(value)
export const bool: Check<boolean> = (value): value is boolean => typeof value === "boolean"
export const bytes: Check<Uint8Array> = (value): value is Uint8Array => value instanceof Uint8Array

/** What a message carries as it is, exactly: no -0, no lone surrogate, no bigint. Everything else travels as an encoded value. */
export type PlainValue = string | number | boolean | null | undefined

export function isPlainValue(value: unknown): value is PlainValue {
  if (typeof value === "number") return value !== 0 || !Object.is(value, -0)
  if (typeof value === "string") return isWellFormed(value)
  return value === null || value === undefined || typeof value === "boolean"
}

export const plain: Check<PlainValue> = isPlainValue

const loneSurrogate = /\p{Surrogate}/u

function isWellFormed(text: string): boolean {
  return !loneSurrogate.test(text)
}

export function optional<T>(inner: Check<T>): Check<T | undefined> {
  const check = (value: unknown): value is T | undefined => value === undefined || inner(value)
  if (inner.pack === undefined) return check
  return Object.assign(check, {
    pack: (value: unknown) => (value === undefined ? undefined : packField(inner, value)),
    unpack: (packed: unknown) => (packed === undefined ? undefined : unpackField(inner, packed)),
  })
}

export function list<T>(inner: Check<T>): Check<T[]> {
  const check = (value: unknown): value is T[] => {
    if (!Array.isArray(value)) return false
    for (const item of value) if (!inner(item)) return false
    return true
  }
  if (inner.pack === undefined) return check
  const each = (items: unknown, change: (check: Check<unknown>, item: unknown) => unknown): unknown[] => {
    if (!Array.isArray(items)) throw new Misfit("A list must be an array.")
    return items.map((item) => change(inner, item))
  }
  return Object.assign(check, {
    pack: (value: unknown) => each(value, packField),
    unpack: (packed: unknown) => each(packed, unpackField),
  })
}

export function oneOf<const T extends string>(...values: T[]): Check<T> {
  return (value): value is T => (values as unknown[]).includes(value)
}

type Shape = Record<string, Check<unknown>>
type OptionalKeys<S extends Shape> = { [K in keyof S]: undefined extends Checked<S[K]> ? K : never }[keyof S]
export type Fields<S extends Shape> = { [K in Exclude<keyof S, OptionalKeys<S>>]: Checked<S[K]> } & {
  [K in OptionalKeys<S>]?: Checked<S[K]>
}

/** An object with these fields. A packed one may have more at its end, so that a newer peer may say more. */
export function record<S extends Shape>(shape: S): Check<Fields<S>> {
  const { names, checks, requiredCount } = fieldsOf(shape)
  const check = (value: unknown): value is Fields<S> => {
    if (typeof value !== "object" || value === null) return false
    for (const [index, name] of names.entries()) {
      if (!checks[index]!((value as Record<string, unknown>)[name])) return false
    }
    return true
  }
  return Object.assign(check, {
    pack: (value: unknown) => {
      if (typeof value !== "object" || value === null) throw new Misfit("A record must be an object.")
      return packFields([], names, checks, value)
    },
    unpack: (packed: unknown) => {
      if (!Array.isArray(packed)) throw new Misfit("A record must be an array.")
      const value: Record<string, unknown> = {}
      const count = Math.max(requiredCount, Math.min(names.length, packed.length))
      for (let index = 0; index < count; index++) {
        const field = unpackField(checks[index]!, packed[index])
        if (field !== undefined) value[names[index]!] = field
      }
      return value
    },
  })
}

/** A value that refers to itself in its definition, such as an error with a cause. */
export function lazy<T>(inner: () => Check<T>): Check<T> {
  return Object.assign((value: unknown): value is T => inner()(value), {
    pack: (value: unknown) => packField(inner(), value),
    unpack: (packed: unknown) => unpackField(inner(), packed),
  })
}

export interface FieldTable {
  readonly names: readonly string[]
  readonly checks: readonly Check<unknown>[]
  /** Up to the last one that may not be absent. Reading past an array's end is slow, and absent fields are many. */
  readonly requiredCount: number
}

export function fieldsOf(shape: Shape): FieldTable {
  const checks = Object.values(shape)
  // What a lazy check stands for is not made yet; a field that may be absent says so itself.
  const isRequired = checks.map((check) => !check(undefined))
  return { names: Object.keys(shape), checks, requiredCount: isRequired.lastIndexOf(true) + 1 }
}

function packFields(packed: unknown[], names: readonly string[], checks: readonly Check<unknown>[], fields: object) {
  for (let index = 0; index < names.length; index++) {
    packed.push(packField(checks[index]!, (fields as Record<string, unknown>)[names[index]!]))
  }
  return withoutAbsent(packed)
}

/** Takes the absent fields from the end. */
export function withoutAbsent(packed: unknown[]): unknown[] {
  let { length } = packed
  while (length > 0 && packed[length - 1] === undefined) length -= 1
  packed.length = length
  return packed
}

export function packField(check: Check<unknown>, value: unknown): unknown {
  if (check.pack !== undefined) return (check.pack as (value: unknown) => unknown)(value)
  if (!check(value)) throw new Misfit("A field is not of its type.")
  return value
}

export function unpackField(check: Check<unknown>, packed: unknown): unknown {
  if (check.unpack !== undefined) return check.unpack(packed)
  if (!check(packed)) throw new Misfit("A field is not of its type.")
  return packed
}
