// Bindings as groups of bytes: names that share an object or a unique symbol are encoded together, everything else apart, so that a
// change to one group leaves the bytes of the others as they were.
//
// One scan encodes every binding by itself into a table of its own, with one map of what was met for all of them. A binding that meets
// nothing of an earlier one is done by that: its table is its group. Only those that share are encoded a second time, together.
// Names are sorted first, so the same graph gives the same bytes in whatever order its names were bound.
//
// A binding that reaches an ephemeral is named and left out. In a group, the others are asked one by one whether they reach it
// too; what a clean one covers is not searched again.

import { arraySort, mapEach, MapOf, mapGet, mapSet, newList, type Primitive } from "../../../stdlib/intrinsics.ts"
import type { SourceRecord } from "../../../stdlib/stamp.ts"
import { ValueEncoder } from "./encoder.ts"
import { formatVersion } from "./format.ts"
import type { EncodedGroup, EncodeHooks, EphemeralFound } from "./hooks.ts"

export interface NamedValue {
  readonly name: string
  readonly value: unknown
}

export interface EphemeralBinding extends EphemeralFound {
  readonly name: string
}

export interface EncodedBindings {
  readonly groups: EncodedGroup[]
  readonly ephemeral: EphemeralBinding[]
}

interface Scanned {
  readonly name: string
  readonly value: unknown
  readonly firstId: number
  /** The binding's own table, good as long as it shares with no other. */
  readonly table: Primitive[]
  readonly chunks: Uint8Array[]
  readonly sources: SourceRecord[]
  readonly isInert: boolean
  readonly ephemeral: EphemeralFound | undefined
  /** The index of a binding it shares with; a chain of these ends at the group's first. */
  parent: number
  /** The next member of its group, filled when groups are collected. */
  members: number[]
  memberCount: number
}

/** Never runs session code and never throws. Both lists are without prototype, as are the lists in them. */
export function encodeBindings(entries: ArrayLike<NamedValue>, hooks: EncodeHooks): EncodedBindings {
  const { scanned } = scan(sortedByName(entries), hooks)
  const count = scanned.length
  const groups: EncodedGroup[] = newList()
  const ephemeral: EphemeralBinding[] = newList()
  let groupCount = 0
  let ephemeralCount = 0
  for (let i = 0; i < count; i++) {
    const first = scanned[rootOf(scanned, i)]!
    first.members[first.memberCount++] = i
  }
  for (let i = 0; i < count; i++) {
    const { members, memberCount } = scanned[i]!
    if (memberCount === 0) continue
    if (memberCount === 1) {
      const { name, table, chunks, sources, isInert, ephemeral: found } = scanned[i]!
      if (found === undefined) {
        const names: string[] = newList()
        names[0] = name
        groups[groupCount++] = { names, table, chunks, sources, isInert }
      } else ephemeral[ephemeralCount++] = { name, what: found.what, path: found.path }
      continue
    }
    const clean: NamedValue[] = newList()
    let cleanCount = 0
    const isTainted = anyEphemeral(scanned, members, memberCount)
    for (let m = 0; m < memberCount; m++) {
      const member = scanned[members[m]!] as Scanned
      const found = isTainted ? firstEphemeral(member, hooks) : undefined
      if (found === undefined) clean[cleanCount++] = { name: member.name, value: member.value }
      else ephemeral[ephemeralCount++] = { name: member.name, what: found.what, path: found.path }
    }
    if (!isTainted) groups[groupCount++] = encodeTogether(clean, hooks)
    else if (cleanCount > 0) {
      // What held them together may have been the ephemeral one.
      const rest = encodeBindings(clean, hooks)
      for (let g = 0; g < rest.groups.length; g++) groups[groupCount++] = rest.groups[g]!
    }
  }
  return { groups, ephemeral }
}

/** Every object that the bindings reach, each with the first binding that does; and the bindings that reach an ephemeral. */
export function reachedFrom(
  entries: ArrayLike<NamedValue>,
  hooks: EncodeHooks,
): { reached: { object: object; binding: string }[]; ephemeral: EphemeralBinding[] } {
  const sorted = sortedByName(entries)
  const { encoder, scanned } = scan(sorted, hooks)
  const reached: { object: object; binding: string }[] = newList()
  const ephemeral: EphemeralBinding[] = newList()
  mapEach(encoder.ids, (id, value) => {
    if ((typeof value !== "object" && typeof value !== "function") || value === null) return
    reached[reached.length] = { object: value, binding: scanned[bindingOf(scanned, scanned.length, id)]!.name }
  })
  for (let i = 0; i < scanned.length; i++) {
    const found = firstEphemeral(scanned[i]!, hooks)
    if (found !== undefined)
      ephemeral[ephemeral.length] = { name: scanned[i]!.name, what: found.what, path: found.path }
  }
  return { reached, ephemeral }
}

function scan(entries: NamedValue[], hooks: EncodeHooks): { scanned: Scanned[]; encoder: ValueEncoder } {
  const scanned: Scanned[] = newList()
  const encoder = new ValueEncoder(hooks, "scan", Infinity)
  for (let i = 0; i < entries.length; i++) {
    const { name, value } = entries[i]!
    if (i > 0) encoder.restart()
    let parent = i
    encoder.onShared = (id) => {
      parent = join(scanned, parent, ownerOf(scanned, i, id))
    }
    encoder.put(formatVersion)
    encoder.put(1)
    encoder.put(name)
    encoder.writeRoot(value, name)
    scanned[i] = {
      name,
      value,
      firstId: encoder.base,
      table: encoder.table,
      chunks: encoder.chunks,
      sources: encoder.sources,
      isInert: encoder.isInert,
      ephemeral: encoder.ephemeral,
      parent,
      members: newList(),
      memberCount: 0,
    }
  }
  return { scanned, encoder }
}

/** The group of the binding that met the object of this number first, among the first `count`. */
function ownerOf(scanned: Scanned[], count: number, id: number): number {
  return rootOf(scanned, bindingOf(scanned, count, id))
}

function bindingOf(scanned: Scanned[], count: number, id: number): number {
  let low = 0
  let high = count - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (scanned[middle]!.firstId <= id) low = middle
    else high = middle - 1
  }
  return low
}

/** Makes two groups one; the earlier first member stays first. `own` may be the binding being scanned, which has no entry yet. */
function join(scanned: Scanned[], own: number, other: number): number {
  if (own >= scanned.length) return other
  const root = rootOf(scanned, own)
  const first = root < other ? root : other
  scanned[root]!.parent = first
  scanned[other]!.parent = first
  return first
}

function rootOf(scanned: Scanned[], index: number): number {
  let root = index
  while (scanned[root]!.parent !== root) root = scanned[root]!.parent
  return root
}

function anyEphemeral(scanned: Scanned[], members: number[], count: number): boolean {
  for (let m = 0; m < count; m++) {
    if ((scanned[members[m]!] as Scanned).ephemeral !== undefined) return true
  }
  return false
}

/** The first ephemeral that the binding reaches when everything it reaches is walked, not only what no earlier one did. */
function firstEphemeral(member: Scanned, hooks: EncodeHooks): EphemeralFound | undefined {
  if (member.ephemeral !== undefined) return member.ephemeral
  const encoder = new ValueEncoder(hooks, "stop", Infinity)
  encoder.writeRoot(member.value, member.name)
  return encoder.ephemeral
}

function encodeTogether(entries: NamedValue[], hooks: EncodeHooks): EncodedGroup {
  const encoder = new ValueEncoder(hooks, "stop", Infinity)
  const names: string[] = newList()
  const count = entries.length
  encoder.put(formatVersion)
  encoder.put(count)
  for (let i = 0; i < count; i++) {
    names[i] = entries[i]!.name
    encoder.put(names[i])
  }
  for (let i = 0; i < count; i++) encoder.writeRoot(entries[i]!.value, names[i]!)
  return { names, table: encoder.table, chunks: encoder.chunks, sources: encoder.sources, isInert: encoder.isInert }
}

function sortedByName(entries: ArrayLike<NamedValue>): NamedValue[] {
  const names: string[] = newList()
  const byName = new MapOf<string, NamedValue>()
  for (let i = 0; i < entries.length; i++) {
    const entry = entries[i]!
    names[i] = entry.name
    mapSet(byName, entry.name, entry)
  }
  arraySort(names)
  const sorted: NamedValue[] = newList()
  for (let i = 0; i < names.length; i++) sorted[i] = mapGet(byName, names[i]) as NamedValue
  return sorted
}
