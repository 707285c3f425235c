// Values in the embedder's own process: results and arguments as live data, and the embedder's values as bytes for session code.
//
// Here nothing of a realm can be referred to: what a reference means only there decodes to a placeholder that says what it was.
import { NacreError } from "../../errors.ts"
import { decodeBindings, decodeValue } from "./decode.ts"
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

/** A live copy of one binding of an encoded group; `undefined` when the group does not hold that name. */
export function decodeBindingForEmbedder(bytes: Uint8Array, name: string): unknown {
  const { table, chunks } = unpackValue(bytes)
  const bindings = decodeBindings(table, chunks, {
    resolveReference(reference) {
      const message = `Binding '${name}' refers to ${reference.slice(2)}, which only its session has; read a part of it that is data.`
      throw new NacreError("value_not_transferable", message)
    },
  })
  for (let index = 0; index < bindings.length; index++)
    if (bindings[index]!.name === name) return bindings[index]!.value
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
