// The first line of an error as people know it, "TypeError: x is not a function", read without running session code.

import { classNameOf, readPlainly } from "./brands.ts"
import { symbolText } from "./quote.ts"

/** Text of a primitive; `undefined` for objects, whose text only their own code could give. */
function plainText(value: unknown): string | undefined {
  switch (typeof value) {
    case "string":
      return value
    case "number":
    case "boolean":
    case "bigint":
      return `${value}`
    case "symbol":
      return symbolText(value)
    case "object":
    case "function":
    case "undefined":
      return undefined
  }
  return undefined
}

/**
 * The error's `name`; for a subclass that never set one, the name of its class, as Node shows it. "Error" when neither can be
 * read.
 */
export function errorName(error: object): string {
  const name = plainText(readPlainly(error, "name"))
  const className = classNameOf(error)
  if (name === undefined || name === "") return className ?? "Error"
  return name === "Error" && className !== undefined && className !== "Object" ? className : name
}

export function errorMessage(error: object): string {
  return plainText(readPlainly(error, "message")) ?? ""
}

export function errorHeader(error: object): string {
  const message = errorMessage(error)
  const name = errorName(error)
  return message === "" ? name : `${name}: ${message}`
}
