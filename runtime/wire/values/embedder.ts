// Values in the embedder's own process: results and arguments as live data, and the embedder's values as bytes for session code.
//
// Here nothing of a realm can be referred to: what a reference means only there decodes to a placeholder that says what it was.
import { types } from "node:util"
import { NacreError } from "../../errors.ts"
import { decodeBindings, decodeValue } from "./decode.ts"
import { Placeholder } from "./described.ts"
import { encodeValue } from "./encode.ts"
import { packValue, unpackValue } from "./pack.ts"
import { processEncodeHooks } from "./process-hooks.ts"

/** Encoded bytes of one value that the embedder hands to session code. */
const valueBytesMax = 64 * 1024 * 1024

/** A live copy, made afresh: nothing is shared with the session or with an earlier call. */
export function decodeForEmbedder(bytes: Uint8Array): unknown {
  const { table, chunks } = unpackValue(bytes)
  return decodeValue(table, chunks)
}

/**
 * A live copy of one binding of an encoded group; `undefined` when the group does not hold that name. Fails with
 * `value_not_transferable` when something in it means nothing outside its session; what others of the group hold does not matter.
 */
export function decodeBindingForEmbedder(bytes: Uint8Array, name: string): unknown {
  const { table, chunks } = unpackValue(bytes)
  let hasStandIns = false
  const nothing = (): undefined => {
    hasStandIns = true
  }
  const bindings = decodeBindings(table, chunks, { resolveReference: nothing, activate: nothing, construct: nothing })
  for (let index = 0; index < bindings.length; index++) {
    if (bindings[index]!.name !== name) continue
    const { value } = bindings[index]!
    const found = hasStandIns ? placeholderIn(value) : undefined
    if (found === undefined) return value
    const what = found.what === "a reference" ? `refers to ${found.text.slice(2)}` : `holds a ${found.what}`
    const message = `Binding '${name}' ${what}, which only its session has; read a part of it that is data.`
    throw new NacreError("value_not_transferable", message)
  }
  return undefined
}

/** The first stand-in that a decoded value reaches. Decoded values run no code when they are looked at but for proxies, which are left out. */
function placeholderIn(root: unknown): Placeholder | undefined {
  const seen = new Set<unknown>()
  const open: unknown[] = [root]
  for (let value = open.pop(); open.length > 0 || value !== undefined; value = open.pop()) {
    if (typeof value !== "object" || value === null || seen.has(value) || types.isProxy(value)) continue
    if (value instanceof Placeholder) return value
    seen.add(value)
    if (ArrayBuffer.isView(value)) continue
    if (value instanceof Map) for (const [key, held] of value) open.push(key, held)
    else if (value instanceof Set) for (const held of value) open.push(held)
    for (const key of Reflect.ownKeys(value)) {
      const descriptor = Object.getOwnPropertyDescriptor(value, key)!
      // Half an accessor that had no meaning here is gone.
      if (!("value" in descriptor)) return new Placeholder("function", "")
      open.push(descriptor.value)
    }
  }
  return undefined
}

/** The value as bytes; fails with `value_not_transferable` or `value_too_large`. */
export function encodeForSession(value: unknown): Uint8Array {
  const encoded = encodeValue(value, processEncodeHooks, valueBytesMax)
  if ("tooLarge" in encoded) {
    throw new NacreError("value_too_large", `A value for session code is larger than ${valueBytesMax} bytes.`)
  }
  if ("ephemeral" in encoded) {
    const { what, path } = encoded.ephemeral
    const place = path === "" ? "" : ` (at ${path})`
    throw new NacreError(
      "value_not_transferable",
      `A value for session code holds ${what}${place}, which cannot travel.`,
    )
  }
  return packValue(encoded)
}
