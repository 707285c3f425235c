// A session's committed state: what survives every process that runs its code. Bytes and sources, never living objects.
//
// All change goes through the functions below, which know nothing of processes: each takes the state and one event and says what
// changed. The state is owned by one shell and changed in place: copying ten thousand definitions for each eval would make its cost grow
// with the session. A half-applied change cannot be seen, since nothing here waits.
import type { Checkpoint, DefinitionRecord, Delta, SourceOfFunctions } from "../wire/schema.ts"
import { foldQueue, validateWrites } from "../wire/mutations.ts"
import type { QueuedWrite, Rejected } from "../wire/mutations.ts"
import type { PlainValue } from "../wire/check.ts"
import { packPlainValue } from "../wire/values/pack.ts"

interface Group {
  readonly bytes: Uint8Array
  readonly sources?: string[] | undefined
}

type Local =
  | { readonly readonly: boolean; readonly held: "value"; readonly value: PlainValue }
  | { readonly readonly: boolean; readonly held: "bytes"; readonly group: Group }
  | { readonly readonly: boolean; readonly held: "realm"; readonly what: string }
  | { readonly readonly: boolean; readonly held: "lost"; readonly reason: string }

export class SessionState {
  /** Counts commits; a realm that holds the same number holds the same state. */
  commit = 0
  revision = 0
  locals = new Map<string, Local>()
  definitions = new Map<string, DefinitionRecord>()
  /** What the functions in bindings were written in, by id. Workers say which come and go. */
  sources = new Map<string, SourceOfFunctions>()
  lastValue: Uint8Array | { readonly plain: PlainValue } | undefined
  lastError: Uint8Array | undefined
  /** What besides bindings only the realm holds, as texts for people. */
  realmOnly: readonly string[] = nothing
  /** Names that were bound, changed, removed or lost since `takeChanges`. */
  touched: Set<string> | undefined
}

const nothing: readonly string[] = []

export interface Change {
  set: string[]
  removed: string[]
  cleared: boolean
  definitions: string[]
  rejected: Rejected[]
}

/** What names became that a change touched. */
export interface CommittedChanges {
  set: string[]
  definitions: string[]
  removed: string[]
  lost: string[]
}

/** What has changed since this was last asked, by what each name is now; `undefined` when nothing has. */
export function takeChanges(state: SessionState): CommittedChanges | undefined {
  const { touched } = state
  if (touched === undefined) return undefined
  state.touched = undefined
  const changes: CommittedChanges = { set: [], definitions: [], removed: [], lost: [] }
  for (const name of touched) {
    const local = state.locals.get(name)
    if (local !== undefined) (local.held === "lost" ? changes.lost : changes.set).push(name)
    else (state.definitions.has(name) ? changes.definitions : changes.removed).push(name)
  }
  return changes
}

function touch(state: SessionState, name: string): void {
  ;(state.touched ??= new Set()).add(name)
}

function touchAll(state: SessionState): void {
  for (const name of state.locals.keys()) touch(state, name)
  for (const name of state.definitions.keys()) touch(state, name)
}

/** Commits the effects of an eval that ended by itself (`ok`, `threw`, `exited`), its queue already folded in by the worker. */
export function commitDelta(state: SessionState, delta: Delta): Change {
  const { set = [], removed = [], cleared = false, plain = [], groups = [], ephemeral = [], definitions = [] } = delta
  const { removedDefinitions = [], lastValue, lastError, realmOnly = nothing } = delta
  if (cleared) clear(state)
  for (const name of removed) if (state.locals.delete(name)) touch(state, name)
  for (const name of removedDefinitions) if (state.definitions.delete(name)) touch(state, name)
  for (const record of definitions) {
    touch(state, record.name)
    state.locals.delete(record.name)
    state.definitions.set(record.name, record)
  }
  // One look-up each: a submission may declare ten thousand names, and this runs on the embedder's loop.
  const flags = new Map(set.map((local) => [local.name, local.readonly]))
  const readonlyOf = (name: string): boolean => flags.get(name) ?? state.locals.get(name)?.readonly ?? false
  for (const { name, value } of plain) put(state, name, { readonly: readonlyOf(name), held: "value", value })
  for (const { names, bytes, sources } of groups) {
    const group = { bytes, sources }
    for (const name of names) put(state, name, { readonly: readonlyOf(name), held: "bytes", group })
  }
  for (const { name, what } of ephemeral) {
    // Named again by every eval that looks at it: that is no change.
    const before = state.locals.get(name)
    const isSame = before?.held === "realm" && before.what === what && !flags.has(name)
    if (!isSame) put(state, name, { readonly: readonlyOf(name), held: "realm", what })
  }
  for (const source of delta.sources ?? []) state.sources.set(source.id, source)
  for (const id of delta.droppedSources ?? []) state.sources.delete(id)
  if (lastValue !== undefined) state.lastValue = lastValue
  if (lastError !== undefined) state.lastError = lastError
  state.realmOnly = realmOnly
  state.commit += 1
  if (definitions.length > 0 || removedDefinitions.length > 0 || cleared) state.revision += 1
  return {
    set: set.map((local) => local.name),
    removed: [...removed, ...removedDefinitions],
    cleared,
    definitions: definitions.map((record) => record.name),
    rejected: [],
  }
}

/** Applies the queue of an eval that was stopped: its own assignments are gone, what it queued is kept as the bytes of each call. */
export function commitQueue(state: SessionState, queue: readonly QueuedWrite[]): Change {
  const folded = foldQueue(queue, { dropClears: false })
  const { apply, rejected } = validateWrites(folded, state.definitions)
  const change: Change = { set: [], removed: [], cleared: folded.cleared, definitions: [], rejected }
  if (folded.cleared) clear(state)
  let definitionsRemoved = 0
  for (const [key, write] of apply) {
    if ("put" in write) {
      const entry = queue[write.put]
      if (entry?.op !== "atPut") continue
      if (entry.what === "") put(state, key, { readonly: false, held: "bytes", group: { bytes: entry.bytes } })
      else put(state, key, { readonly: false, held: "lost", reason: `${entry.what}: its eval was stopped` })
      change.set.push(key)
    } else {
      if (state.definitions.delete(key)) definitionsRemoved += 1
      else if (!state.locals.delete(key)) continue
      touch(state, key)
      change.removed.push(key)
    }
  }
  if (change.set.length > 0 || change.removed.length > 0 || change.cleared) state.commit += 1
  if (definitionsRemoved > 0 || change.cleared) state.revision += 1
  return change
}

/** The realm is gone: what only it held is lost. Returns the names, which read as `binding_lost` from now on. */
export function loseRealm(state: SessionState, reason: string): string[] {
  const lost: string[] = []
  for (const [name, local] of state.locals) {
    if (local.held !== "realm") continue
    state.locals.set(name, { readonly: local.readonly, held: "lost", reason: `${local.what}: ${reason}` })
    touch(state, name)
    lost.push(name)
  }
  lost.push(...state.realmOnly)
  state.realmOnly = nothing
  if (lost.length > 0) state.commit += 1
  return lost
}

/** Names that live only in the realm. */
export function ephemeralNames(state: SessionState): string[] {
  const names: string[] = []
  for (const [name, local] of state.locals) if (local.held === "realm") names.push(name)
  names.push(...state.realmOnly)
  return names
}

/** As if nothing had ever been evaluated; the history goes on counting. */
export function resetState(state: SessionState): void {
  clear(state)
  state.sources.clear()
  state.lastValue = undefined
  state.lastError = undefined
  state.realmOnly = nothing
  state.commit += 1
  state.revision += 1
}

/** A copy to fork from or to roll back to. Bytes and records are immutable, so it shares them. */
export function copyState(state: SessionState): SessionState {
  const copy = new SessionState()
  copy.commit = state.commit
  copy.revision = state.revision
  copy.locals = new Map(state.locals)
  copy.definitions = new Map(state.definitions)
  copy.sources = new Map(state.sources)
  copy.lastValue = state.lastValue
  copy.lastError = state.lastError
  copy.realmOnly = state.realmOnly
  return copy
}

/** Puts the session back to `earlier` as a new commit and a new revision. Names that were held by a realm then are lost. */
export function restoreState(state: SessionState, earlier: SessionState): string[] {
  const { locals, definitions, sources, lastValue, lastError, realmOnly } = copyState(earlier)
  touchDifference(state, locals, state.locals)
  touchDifference(state, definitions, state.definitions)
  Object.assign(state, { locals, definitions, sources, lastValue, lastError, realmOnly })
  const lost = loseRealm(state, "the state it was part of was left and came back without it")
  state.commit += 1
  state.revision += 1
  return lost
}

/** Everything a worker needs to build the session's realm anew. */
export function checkpointOf(
  state: SessionState,
  realm: { tools: string[]; kind: string; profile: string; directory: string },
): Checkpoint {
  const { lastValue } = state
  const groups = new Map<Group, string[]>()
  const locals: Checkpoint["locals"] = []
  const plain: Checkpoint["plain"] = []
  const lost: Checkpoint["lost"] = []
  for (const [name, local] of state.locals) {
    locals.push({ name, readonly: local.readonly })
    if (local.held === "value") plain.push({ name, value: local.value })
    else if (local.held === "bytes") {
      const names = groups.get(local.group)
      if (names === undefined) groups.set(local.group, [name])
      else names.push(name)
    } else lost.push({ name, reason: local.held === "lost" ? local.reason : local.what })
  }
  return {
    definitions: [...state.definitions.values()],
    locals,
    plain,
    groups: Array.from(groups, ([{ bytes, sources }, names]) => ({ names, bytes, sources })),
    sources: [...state.sources.values()],
    lost,
    lastValue: lastValue !== undefined && "plain" in lastValue ? packPlainValue(lastValue.plain) : lastValue,
    lastError: state.lastError,
    ...realm,
  }
}

/** Values are replaced, never changed, so another object is another value. */
function touchDifference(state: SessionState, to: Map<string, object>, from: Map<string, object>): void {
  for (const [name, value] of to) if (from.get(name) !== value) touch(state, name)
  for (const name of from.keys()) if (!to.has(name)) touch(state, name)
}

function clear(state: SessionState): void {
  touchAll(state)
  state.locals.clear()
  state.definitions.clear()
}

function put(state: SessionState, name: string, local: Local): void {
  touch(state, name)
  state.definitions.delete(name)
  state.locals.set(name, local)
}
