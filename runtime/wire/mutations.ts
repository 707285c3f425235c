// The pending-mutations queue of an eval: what its code asked for through its bindings view, and how it is folded at the end.
//
// Both ends fold the same queue with these pure functions. The worker does it on living objects when an eval ends by itself; the
// shell does it on the encoded bytes when the eval was stopped (`interrupted`, `timeout`). Rules: DESIGN.md section 5.

export type QueuedWrite =
  | {
      readonly op: "atPut"
      readonly key: string
      readonly bytes: Uint8Array
      /** Why the value has no bytes; empty when it has. */
      readonly what: string
    }
  | { readonly op: "removeKey"; readonly key: string }
  | { readonly op: "clear" }

/** What one name becomes: the index in the queue of the write that it is bound to, or removed. */
export type FoldedWrite = { readonly put: number } | { readonly remove: true }

export interface Folded {
  /** Everything the session had, and everything the eval bound, goes first. */
  readonly cleared: boolean
  readonly writes: ReadonlyMap<string, FoldedWrite>
}

/** The last write of a name wins; a clear forgets the writes before it. An eval that threw keeps its writes but not its clears. */
export function foldQueue(
  queue: readonly { op: QueuedWrite["op"]; key?: string }[],
  how: { dropClears: boolean },
): Folded {
  let cleared = false
  const writes = new Map<string, FoldedWrite>()
  for (const [index, entry] of queue.entries()) {
    if (entry.op === "clear") {
      if (how.dropClears) continue
      cleared = true
      writes.clear()
    } else writes.set(entry.key!, entry.op === "atPut" ? { put: index } : { remove: true })
  }
  return { cleared, writes }
}

export interface Rejected {
  op: string
  key: string
  kind: string
}

/**
 * Splits the folded writes into those that apply and those that fail, as one change: a definition's name cannot be put to, and a
 * definition that remaining ones depend on cannot be removed. `definitions` maps each definition's name to what it depends on.
 */
export function validateWrites(
  folded: Folded,
  definitions: Pick<ReadonlyMap<string, { readonly dependencies: readonly string[] }>, "has" | "get" | "keys">,
): { apply: Map<string, FoldedWrite>; rejected: Rejected[] } {
  const apply = new Map(folded.writes)
  const rejected: Rejected[] = []
  const remaining = folded.cleared ? new Map<string, { readonly dependencies: readonly string[] }>() : definitions
  const removals = new Set<string>()
  for (const [key, write] of folded.writes) {
    if (!remaining.has(key)) continue
    if ("put" in write) {
      rejected.push({ op: "atPut", key, kind: "binding_is_definition" })
      apply.delete(key)
    } else removals.add(key)
  }
  // What stays keeps what it depends on; so does a removal that is refused for it.
  const staying = removals.size === 0 ? [] : [...remaining.keys()].filter((name) => !removals.has(name))
  for (let name = staying.pop(); name !== undefined; name = staying.pop()) {
    for (const dependency of remaining.get(name)!.dependencies) {
      if (!removals.delete(dependency)) continue
      apply.delete(dependency)
      rejected.push({ op: "removeKey", key: dependency, kind: "definition_has_dependents" })
      staying.push(dependency)
    }
  }
  return { apply, rejected }
}
