// Single values as node tables: results, tool arguments, queued writes. Bindings, which are many and share, are in `groups.ts`.

import { ValueEncoder } from "./encoder.ts"
import { formatVersion } from "./format.ts"
import type { EncodedValue, EncodeHooks, EphemeralFound } from "./hooks.ts"

export type EncodeOutcome =
  | EncodedValue
  | { readonly tooLarge: true }
  /** The first ephemeral met, in the order of writing. */
  | { readonly ephemeral: EphemeralFound }

/**
 * Encodes one value; what it shares with other values is copied. Never runs session code and never throws.
 *
 * `limitBytes` is an estimate from below, two for a slot and one for a character, after which the encoding ends as `tooLarge`.
 * `ephemerals`: with "reject" the first ephemeral ends the encoding; with "describe" it becomes a placeholder, for values that
 * are only looked at. `name` begins an ephemeral's path. `itemsMax` bounds the table's length, which decoding takes time for.
 */
export function encodeValue(
  value: unknown,
  hooks: EncodeHooks,
  limitBytes: number = Infinity,
  ephemerals: "reject" | "describe" = "reject",
  name: string = "",
  itemsMax: number = Infinity,
): EncodeOutcome {
  const encoder = new ValueEncoder(hooks, ephemerals === "describe" ? "placeholder" : "stop", limitBytes)
  encoder.itemsMax = itemsMax
  encoder.put(formatVersion)
  encoder.put(0)
  encoder.writeRoot(value, name)
  encoder.exceeds(0)
  if (encoder.tooLarge) return { tooLarge: true }
  if (encoder.ephemeral !== undefined && ephemerals === "reject") return { ephemeral: encoder.ephemeral }
  return { table: encoder.table, chunks: encoder.chunks }
}
