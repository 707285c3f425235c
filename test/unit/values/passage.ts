// The whole way of a value: out of one realm, through bytes, into another.

import { packValue, unpackValue } from "../../../runtime/wire/values/pack.ts"
import type { DecodeHooks, EncodedGroup, EncodeHooks } from "../../../runtime/wire/values/hooks.ts"
import { bootRealm, type Realm } from "./realm.ts"

export function encodeHooksOf(realm: Realm): EncodeHooks {
  return { referenceOf: (object) => realm.references.nameOf(object) }
}

export function decodeHooksOf(realm: Realm): DecodeHooks {
  return { resolveReference: (id) => realm.references.resolve(id) }
}

export function bytesOf(realm: Realm, value: unknown, hooks: EncodeHooks = encodeHooksOf(realm)): Uint8Array {
  const encoded = realm.encodeValue(value, hooks)
  if (!("table" in encoded)) throw new Error(`not encoded: ${JSON.stringify(encoded)}`)
  return packValue(encoded)
}

/** Decodes into a realm, through lists the realm owns, as the bridge fills them. */
export function decodeInto(realm: Realm, bytes: Uint8Array, hooks: DecodeHooks = decodeHooksOf(realm)): unknown {
  const { table, chunks } = unpackValue(bytes)
  return realm.decodeValue(owned(realm, table), ownedChunks(realm, chunks), hooks)
}

export function decodeGroupInto(realm: Realm, group: EncodedGroup): Record<string, unknown> {
  const { table, chunks } = unpackValue(packValue(group))
  const bindings = realm.decodeBindings(owned(realm, table), ownedChunks(realm, chunks), decodeHooksOf(realm))
  const values: Record<string, unknown> = Object.create(null) as Record<string, unknown>
  for (let i = 0; i < bindings.length; i++) values[bindings[i]!.name] = bindings[i]!.value
  return values
}

function owned<T>(realm: Realm, items: ArrayLike<T>): T[] {
  const list = realm.newList<T>()
  for (let i = 0; i < items.length; i++) list[i] = items[i]!
  return list
}

function ownedChunks(realm: Realm, chunks: ArrayLike<Uint8Array>): Uint8Array[] {
  return owned(
    realm,
    Array.from(chunks, (chunk) => {
      const copy = realm.newBytes(chunk.length)
      // Not `copy.set`: in a sabotaged realm that is not ours to call.
      Uint8Array.prototype.set.call(copy, chunk)
      return copy
    }),
  )
}

export function twoRealms(): { from: Realm; to: Realm } {
  return { from: bootRealm(), to: bootRealm() }
}
