// A request as text. What JSON cannot hold, and what is above the server's limit, is refused here, with the request's own error: a server
// reads nothing of a message that is too large, so it cannot say which request it was, and a socket ends with it.
import { RequestError, invalidOptions } from "./errors.ts"

/** Of docs/ERRORS.md. */
const messageTooLarge = -32016

export interface RequestMessage {
  readonly id: number
  readonly method: string
  readonly params: unknown
}

/** Throws a `RequestError`: `invalid_options` with the parameter's name when it is not JSON, `message_too_large` above `bytesMax`. */
export function requestText({ id, method, params }: RequestMessage, bytesMax: number): { text: string; bytes: number } {
  let text: string
  try {
    const found = foundIn(params, "", new Set())
    if (found !== undefined) throw notJson(method, `the parameter '${found.path}' ${found.what}`)
    text = JSON.stringify({ jsonrpc: "2.0", id, method, params })
  } catch (error) {
    if (error instanceof RequestError) throw error
    // Above what the engine can hold at all.
    if (error instanceof RangeError && /string length/.test(error.message)) throw tooLarge(method, Infinity, bytesMax)
    throw notJson(method, error instanceof Error ? error.message : String(error))
  }
  // Every UTF-16 unit is a byte at least.
  const bytes = text.length > bytesMax ? text.length : new TextEncoder().encode(text).length
  if (bytes > bytesMax) throw tooLarge(method, bytes, bytesMax)
  return { text, bytes }
}

function notJson(method: string, what: string): RequestError {
  return invalidOptions(`${method}: ${what}; what a request takes must be JSON.`)
}

export function tooLarge(method: string, bytes: number, bytesMax: number): RequestError {
  const size = bytes === Infinity ? "" : ` has ${bytes} bytes or more and`
  const limit = bytesMax === Infinity ? "what the server takes" : `the server's limit of ${bytesMax} bytes`
  const message = `${method}: the message${size} is above ${limit}; send less at once.`
  return new RequestError(message, messageTooLarge, "message_too_large", "never")
}

/** The first value that JSON would throw at or leave out, and where. Absent parameters may be written as `undefined`. */
function foundIn(value: unknown, path: string, around: Set<object>): { path: string; what: string } | undefined {
  if (typeof value === "bigint") return { path, what: "is a BigInt" }
  if (typeof value === "function" || typeof value === "symbol") return { path, what: `is a ${typeof value}` }
  if (typeof value !== "object" || value === null) return undefined
  // It says itself what it is in JSON.
  if ("toJSON" in value && typeof value.toJSON === "function") return undefined
  if (around.has(value)) return { path, what: "holds itself" }
  around.add(value)
  for (const [key, part] of Object.entries(value)) {
    const step = Array.isArray(value) ? `[${key}]` : path === "" ? key : `.${key}`
    const found = foundIn(part, `${path}${step}`, around)
    if (found !== undefined) return found
  }
  around.delete(value)
  return undefined
}
