// Values that no code has a name for: those that the embedder holds by a handle, and the data of earlier revisions that are held.
//
//   @val_x1   a retained value: the embedder knows it as `val_x1`
//   @3:cache  what `cache` held when the change after revision 3 replaced it
//
// They are committed with the groups that they share objects with, moved, rebuilt and lost as locals are. They stand apart from the session's
// bindings on both sides, so nothing that lists, reads or clears those meets them. What of them is needed is decided here, from the
// history alone: a revision is held by a pin, or by a value that was retained from it.
import type { DefinitionRecord, PinnedRevision } from "../wire/schema.ts"
import { reachedWithin } from "../module/graph.ts"
import { differenceTo } from "./state.ts"
import type { Replaced, RetainedFacts, SessionState, Unnamed } from "./state.ts"

const mark = "@"
/** Characters of a retained value's text that a list of them shows. */
const shownTextMax = 200
/** UTF-16 units of a string that history keeps for whoever calls an earlier revision: a name or a path, not a document. */
const keptTextMax = 1_024

export function isUnnamed(name: string): boolean {
  return name.startsWith(mark)
}

/** What a handle is called between the processes. */
export function nameOfHandle(handle: string): string {
  return mark + handle
}

/** What the result of an eval is called when it is retained. */
export function retainedAs(evalId: string): string {
  return nameOfHandle(evalId.replace(/^evl_/, "val_"))
}

/** A result has been committed under a name that no code has; gives its handle. */
export function retained(
  state: SessionState,
  { as, isFunction }: { readonly as: string; readonly isFunction: boolean },
  { revision, text, type }: Omit<RetainedFacts, "isFunction">,
): string {
  const { local } = state.unnamed!.get(as)!
  const facts = { revision, isFunction, text: text.slice(0, shownTextMax), type }
  state.unnamed!.set(as, { local, facts })
  return as.slice(mark.length)
}

function nameOfData(name: string, revision: number): string {
  return `${mark}${revision}:${name}`
}

/** For people. */
export function shownName(name: string): string {
  if (!isUnnamed(name)) return name
  const [revision, ...rest] = name.slice(mark.length).split(":")
  return rest.length === 0 ? revision! : `${rest.join(":")} of revision ${revision}`
}

/** Before a definition is replaced: its data, if it has some, is that of no later revision. */
export function noteReplaced(state: SessionState, name: string): void {
  if (state.definitions.get(name)?.isData !== true || state.replaced?.has(name) === true) return
  const local = state.locals.get(name)
  const isShort = local?.held === "value" && (typeof local.value !== "string" || local.value.length <= keptTextMax)
  ;(state.replaced ??= new Map()).set(name, isShort ? { value: local.value } : "gone")
}

function* heldRevisions(state: SessionState): Iterable<number> {
  yield* state.pins?.values() ?? []
  for (const { facts } of state.unnamed?.values() ?? []) if (facts !== undefined) yield facts.revision
}

/** What replaced the data which a definition had at `revision`, and what that was; `undefined` when it has that still. */
function replacedAfter(
  state: SessionState,
  revision: number,
  name: string,
): { readonly by: number; readonly was: Replaced } | undefined {
  const last = state.replaced?.get(name)
  let found = last === undefined ? undefined : { by: state.revision + 1, was: last }
  for (let at = state.history; at !== undefined && at.record.revision > revision; at = at.before) {
    const was = at.replaced.get(name)
    if (was !== undefined) found = { by: at.record.revision, was }
  }
  return found
}

function isDataAt(state: SessionState, revision: number, name: string): boolean {
  let record = state.definitions.get(name)
  for (let at = state.history; at !== undefined && at.record.revision > revision; at = at.before) {
    for (const [key, before] of at.undo) if (key === name) record = before
  }
  return record?.isData === true
}

/** Whether a definition holds the very data that it had at an earlier revision. */
function hasDataOf(state: SessionState, revision: number, name: string): boolean {
  return replacedAfter(state, revision, name) === undefined && isDataAt(state, revision, name)
}

/**
 * Before a change is committed: data that it replaces and that a held revision needs goes on without a name. Gives what the realm must do alike.
 */
export function keepData(state: SessionState, ...lists: Iterable<string>[]): { name: string; as: string }[] {
  const kept: { name: string; as: string }[] = []
  const held = [...new Set(heldRevisions(state))]
  if (held.length === 0) return kept
  for (const names of lists) {
    for (const name of names) {
      const local = state.locals.get(name)
      if (local === undefined || local.held === "value" || state.definitions.get(name)?.isData !== true) continue
      if (!held.some((revision) => hasDataOf(state, revision, name))) continue
      const as = nameOfData(name, state.revision)
      ;(state.unnamed ??= new Map()).set(as, { local: { ...local, readonly: true }, inBytes: name })
      kept.push({ name, as })
    }
  }
  return kept
}

/** After something was let go: forgets data that no held revision needs any more. Gives their names. */
export function dropData(state: SessionState): string[] {
  const needed = new Set<string>()
  const data = Array.from(state.unnamed ?? []).flatMap(([as, { facts }]) => (facts === undefined ? [as] : []))
  if (data.length === 0) return data
  for (const revision of new Set(heldRevisions(state))) {
    for (const as of data) {
      const name = as.slice(as.indexOf(":") + 1)
      const replaced = replacedAfter(state, revision, name)
      if (replaced !== undefined && isDataAt(state, revision, name)) needed.add(nameOfData(name, replaced.by - 1))
    }
  }
  const dropped = data.filter((as) => !needed.has(as))
  for (const as of dropped) state.unnamed!.delete(as)
  return dropped
}

/** The realm is gone, and with it what only it held. */
export function loseUnnamed(state: SessionState, reason: string): string[] {
  const lost: string[] = []
  for (const [name, it] of state.unnamed ?? []) {
    const { local } = it
    if (local.held !== "realm") continue
    state.unnamed!.set(name, { ...it, local: { readonly: true, held: "lost", reason: `${local.what}: ${reason}` } })
    lost.push(shownName(name))
  }
  return lost
}

/** Of a state that goes back to an earlier one: what was retained by then and is still held; the data of held revisions stays. */
export function unnamedAfterRollback(state: SessionState, earlier: SessionState): Map<string, Unnamed> | undefined {
  const unnamed = new Map<string, Unnamed>()
  for (const [name, it] of state.unnamed ?? []) {
    if (it.facts === undefined) unnamed.set(name, it)
    const then = earlier.unnamed?.get(name)
    if (then !== undefined) unnamed.set(name, then)
  }
  return unnamed.size === 0 ? undefined : unnamed
}

/** What a realm that stands as the session does has to make, to stand as it did at an earlier revision. */
export function pinnedAt(state: SessionState, revision: number): PinnedRevision {
  const { definitions } = state
  const difference = differenceTo(state, revision)
  const suspects = new Set(difference.keys())
  for (const name of state.replaced?.keys() ?? []) suspects.add(name)
  for (let at = state.history; at !== undefined && at.record.revision > revision; at = at.before)
    for (const name of at.replaced.keys()) suspects.add(name)
  const then = (name: string): DefinitionRecord | undefined =>
    difference.has(name) ? difference.get(name) : definitions.get(name)

  const changed = new Map<string, DefinitionRecord>()
  const removed: string[] = []
  const plain: PinnedRevision["plain"] = []
  const data: PinnedRevision["data"] = []
  for (const name of suspects) {
    const record = then(name)
    const now = definitions.get(name)
    if (record === undefined || isType(record)) {
      if (now !== undefined && !isType(now)) removed.push(name)
    } else if (record.kind === "import") {
      // Whatever its files were: an import is what it is now.
      const isThere = now?.kind === "import" && now.source === record.source
      if (!isThere) data.push({ name, from: "", reason: `its import of revision ${revision} is gone` })
    } else if (record.isData !== true) {
      if (difference.has(name)) changed.set(name, record)
    } else {
      const replaced = replacedAfter(state, revision, name)
      if (replaced === undefined) continue
      const { by, was } = replaced
      const from = nameOfData(name, by - 1)
      const local = state.unnamed?.get(from)?.local
      if (was !== "gone") plain.push({ name, value: was.value })
      else if (local !== undefined && local.held !== "lost") data.push({ name, from, reason: "" })
      else data.push({ name, from: "", reason: goneReason(revision, by, local) })
    }
  }

  // As `buildCandidate` finds what must be made with a change. What reads a name that is bound in another way then is compiled anew, too.
  const unbound = new Set([...removed, ...[...plain, ...data].map(({ name }) => name)])
  const keys = [...changed.keys(), ...unbound]
  const dependents = definitions.graph.dependentsOf(keys)
  const make = new Set(changed.keys())
  for (const name of dependents) if (usesOf(then(name)).some((used) => unbound.has(used))) make.add(name)
  for (const name of reachedWithin(make, dependents, (it) => usesOf(then(it)))) make.add(name)
  for (const name of reachedWithin(keys, dependents, (it) => usesOf(definitions.get(it)))) make.add(name)
  const made = Array.from(make, (name) => then(name)).filter(
    (record) => record !== undefined && record.isData !== true && !isType(record) && record.kind !== "import",
  ) as DefinitionRecord[]
  return { id: `${revision} from ${state.revision}`, definitions: made, removed, plain, data }
}

function goneReason(revision: number, replaced: number, local: Unnamed["local"] | undefined): string {
  if (local?.held === "lost") return `what it held at revision ${revision} was lost: ${local.reason}`
  return `what it held at revision ${revision} is gone, since revision ${replaced} made it anew; pin a revision before it is changed to keep its data`
}

function usesOf(record: DefinitionRecord | undefined): readonly string[] {
  return record?.dependencies ?? []
}

function isType({ kind }: DefinitionRecord): boolean {
  return kind === "type" || kind === "interface"
}
