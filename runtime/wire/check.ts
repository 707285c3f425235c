// Checks of decoded messages: small composable predicates from which the vocabulary in `schema.ts` is built.
//
// What a peer sends is never trusted before it has passed here: a host may be corrupted by the very code it runs.

export type Check<T> = (value: unknown) => value is T
export type Checked<C> = C extends Check<infer T> ? T : never

export const str: Check<string> = (value) => typeof value === "string"
export const num: Check<number> = (value) => typeof value === "number"
export const int: Check<number> = (value): value is number => Number.isSafeInteger(value)
export const bool: Check<boolean> = (value) => typeof value === "boolean"
export const bytes: Check<Uint8Array> = (value) => value instanceof Uint8Array

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

export function optional<T>(check: Check<T>): Check<T | undefined> {
  return (value): value is T | undefined => value === undefined || check(value)
}

export function list<T>(check: Check<T>): Check<T[]> {
  return (value): value is T[] => {
    if (!Array.isArray(value)) return false
    for (const item of value) if (!check(item)) return false
    return true
  }
}

export function oneOf<const T extends string>(...values: T[]): Check<T> {
  return (value): value is T => (values as unknown[]).includes(value)
}

type Shape = Record<string, Check<unknown>>
type OptionalKeys<S extends Shape> = { [K in keyof S]: undefined extends Checked<S[K]> ? K : never }[keyof S]
export type Fields<S extends Shape> = { [K in Exclude<keyof S, OptionalKeys<S>>]: Checked<S[K]> } & {
  [K in OptionalKeys<S>]?: Checked<S[K]>
}

/** An object with these fields; others are allowed and ignored, so that a newer peer may say more. */
export function record<S extends Shape>(shape: S): Check<Fields<S>> {
  const entries = Object.entries(shape)
  return (value): value is Fields<S> => {
    if (typeof value !== "object" || value === null) return false
    for (const [name, check] of entries) if (!check((value as Record<string, unknown>)[name])) return false
    return true
  }
}

/** A value that refers to itself in its definition, such as an error with a cause. */
export function lazy<T>(check: () => Check<T>): Check<T> {
  return (value): value is T => check()(value)
}
