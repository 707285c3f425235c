// A session's committed state: what survives every process that runs its code. Bytes and sources, never living objects.
//
// All change goes through the functions below, which know nothing of processes: each takes the state and one event and says what
// changed. The state is owned by one shell and changed in place: copying ten thousand definitions for each eval would make its cost grow
// with the session. A half-applied change cannot be seen, since nothing here waits.
import { isCodeChange, ownerOfChange } from "../wire/code-changes.ts"
import { Definitions, hasSameTexts } from "../module/definitions.ts"
import type { Undo } from "../module/definitions.ts"
import { digestBeside, preludeDigests } from "../module/digest.ts"
import type { RevisionRecord } from "../module/revision.ts"
import type { ChangeAnswer, Checkpoint, DefinitionRecord, Delta, Preludes, SourceOfFunctions } from "../wire/schema.ts"
import { foldQueue, validateWrites } from "../wire/mutations.ts"
import type { QueuedWrite, Rejected } from "../wire/mutations.ts"
import type { PlainValue } from "../wire/check.ts"
import { packPlainValue } from "../wire/values/pack.ts"
import { isUnnamed, loseUnnamed, noteReplaced, shownName, unnamedAfterRollback } from "./unnamed.ts"

interface Group {
  readonly bytes: Uint8Array
  readonly sources?: string[] | undefined
}

/** What the embedder was told of a value that it holds by a handle. */
export interface RetainedFacts {
  /** The revision that it was retained from, in which it is called. */
  readonly revision: number
  readonly isFunction: boolean
  readonly text: string
  readonly type: string
}

/** Data of a definition that was made anew or taken away: the value, where that is plain and short, so that it needs nobody to hold it. */
export type Replaced = { readonly value: PlainValue } | "gone"

/** A value without a name: one that the embedder holds, or, without `facts`, data that a revision needs which is held. */
export interface Unnamed {
  readonly local: Local
  readonly facts?: RetainedFacts
  /** What its group's bytes know it as. */
  readonly inBytes?: string
}

export type Local =
  | { readonly readonly: boolean; readonly held: "value"; readonly value: PlainValue }
  | { readonly readonly: boolean; readonly held: "bytes"; readonly group: Group }
  | { readonly readonly: boolean; readonly held: "realm"; readonly what: string }
  | { readonly readonly: boolean; readonly held: "lost"; readonly reason: string }

export class SessionState {
  /** Counts commits; a realm that holds the same number holds the same state. */
  commit = 0
  revision = 0
  locals = new Map<string, Local>()
  definitions = new Definitions()
  /** What led to each revision. */
  history: History | undefined
  /** What definitions with data held when they were made. */
  dataMade: Map<string, Local> | undefined
  /** What the functions in bindings were written in, by id. Workers say which come and go. */
  sources = new Map<string, SourceOfFunctions>()
  lastValue: Uint8Array | { readonly plain: PlainValue } | undefined
  lastError: Uint8Array | undefined
  /** The preludes beside which its values were written; none until a realm was built for it. */
  preludes: Preludes | undefined
  /** What besides bindings only the realm holds, as texts for people. */
  realmOnly: readonly string[] = nothing
  /** Names whose values in the realm are newer than what stands here. */
  pending = noPending
  /** Whether any of the locals ever was a change to code. */
  hasCodeChanges = false
  /** Values that no code has a name for, by what they are called between the processes: see `session/unnamed.ts`. */
  unnamed: Map<string, Unnamed> | undefined
  /** Revisions that are held for calls, by pin. */
  pins: Map<string, number> | undefined
  /** Definitions whose data has been made anew or taken away since the last revision. */
  replaced: Map<string, Replaced> | undefined
  /** Names that were bound, changed, removed or lost since `takeChanges`. */
  touched: Set<string> | undefined
}

const nothing: readonly string[] = []
const noPending: ReadonlySet<string> = new Set()
const noNames: ReadonlyMap<string, Replaced> = new Map()
/** Until the groups of the same commit are put. */
const placeholder: Unnamed = { local: { readonly: true, held: "lost", reason: "it was not committed" } }

/** The record of the last revision and what came before it: copies of a state share it. */
interface History {
  readonly record: RevisionRecord
  readonly undo: Undo
  /** Definitions whose data it made anew or took away. */
  readonly replaced: ReadonlyMap<string, Replaced>
  readonly before: History | undefined
}

/** Who makes a commit, for the record of the revision that it may be. */
export type RevisionFacts = Pick<RevisionRecord, "session" | "cause"> & Partial<RevisionRecord>

const byEval: RevisionFacts = { session: "", cause: "eval" }

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
    if (isCodeChange(name)) continue
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
export function commitDelta(state: SessionState, delta: Delta, by: RevisionFacts = byEval): Change {
  const { set = [], removed = [], cleared = false, plain = [], groups = [], ephemeral = [], definitions = [] } = delta
  const { removedDefinitions = [], lastValue, lastError, realmOnly = nothing } = delta
  if (cleared) clear(state)
  for (const name of removed) if (state.locals.delete(name)) touch(state, name)
  if (delta.retained !== undefined) (state.unnamed ??= new Map()).set(delta.retained.as, placeholder)
  for (const name of removedDefinitions) undefine(state, name)
  dropCodeChanges(
    state,
    definitions.map(({ name }) => name),
  )
  for (const record of definitions) {
    touch(state, record.name)
    noteReplaced(state, record.name)
    state.locals.delete(record.name)
    state.definitions.set(record)
  }
  // One look-up each: a submission may declare ten thousand names, and this runs on the embedder's loop.
  const flags = new Map(set.map((local) => [local.name, local.readonly]))
  const readonlyOf = (name: string): boolean => flags.get(name) ?? state.locals.get(name)?.readonly ?? false
  // A definition with data whose data has changed is that definition still.
  const keeps = (name: string): boolean => !flags.has(name)
  putValues(state, { plain, groups, ephemeral, sources: delta.sources ?? [] }, readonlyOf, keeps)
  state.pending = delta.pending === undefined ? noPending : new Set(delta.pending)
  for (const name of state.pending) {
    const before = state.locals.get(name)
    if (before === undefined ? isUnnamed(name) : !flags.has(name)) continue
    const isKept = before?.held === "value" || before?.held === "bytes"
    const local = isKept ? before : ({ held: "realm", what: "its value was not written yet" } as const)
    put(state, name, { ...local, readonly: readonlyOf(name) }, keeps(name))
  }
  for (const id of delta.droppedSources ?? []) state.sources.delete(id)
  if (lastValue !== undefined) state.lastValue = lastValue
  if (lastError !== undefined) state.lastError = lastError
  state.realmOnly = realmOnly
  state.commit += 1
  recordRevision(state, delta.stale === undefined ? by : { ...by, stale: delta.stale })
  return {
    set: set.map((local) => local.name),
    removed: [...removed.filter((name) => !isCodeChange(name)), ...removedDefinitions],
    cleared,
    definitions: definitions.map((record) => record.name),
    rejected: [],
  }
}

/** Commits the values that evals had put off, as they are now. */
export function commitPending(state: SessionState, values: Values): void {
  const readonlyOf = (name: string): boolean => state.locals.get(name)?.readonly ?? false
  putValues(state, values, readonlyOf, () => true)
  state.pending = noPending
  state.commit += 1
}

type Values = Pick<ChangeAnswer, "plain" | "groups" | "sources" | "ephemeral">

function putValues(
  state: SessionState,
  { plain, groups, ephemeral, sources }: Values,
  readonlyOf: (name: string) => boolean,
  /** Whether a definition of that name has another value now, or there is none any more. */
  keeps: (name: string) => boolean,
): void {
  for (const { name, value } of plain) {
    put(state, name, { readonly: readonlyOf(name), held: "value", value }, keeps(name))
  }
  for (const { names, bytes, sources: ids } of groups) {
    const group = { bytes, sources: ids }
    for (const name of names) put(state, name, { readonly: readonlyOf(name), held: "bytes", group }, keeps(name))
  }
  for (const { name, what } of ephemeral) {
    // Named again by every eval that looks at it: that is no change.
    const before = state.locals.get(name)
    const isSame = before?.held === "realm" && before.what === what && keeps(name)
    if (!isSame) put(state, name, { readonly: readonlyOf(name), held: "realm", what }, keeps(name))
  }
  for (const source of sources) state.sources.set(source.id, source)
}

/** Applies the queue of an eval that was stopped: its own assignments are gone, what it queued is kept as the bytes of each call. */
export function commitQueue(state: SessionState, queue: readonly QueuedWrite[], by: RevisionFacts = byEval): Change {
  const folded = foldQueue(queue, { dropClears: false })
  const { apply, rejected } = validateWrites(folded, state.definitions)
  const change: Change = { set: [], removed: [], cleared: folded.cleared, definitions: [], rejected }
  if (folded.cleared) clear(state)
  for (const [key, write] of apply) {
    if ("put" in write) {
      const entry = queue[write.put]
      if (entry?.op !== "atPut") continue
      if (entry.what === "") put(state, key, { readonly: false, held: "bytes", group: { bytes: entry.bytes } })
      else put(state, key, { readonly: false, held: "lost", reason: `${entry.what}: its eval was stopped` })
      change.set.push(key)
    } else {
      if (!undefine(state, key) && !state.locals.delete(key)) continue
      touch(state, key)
      change.removed.push(key)
    }
  }
  if (change.set.length > 0 || change.removed.length > 0 || change.cleared) state.commit += 1
  recordRevision(state, by)
  return change
}

/** A change of the definitions that was made somewhere and is put in force. */
export interface MadeChange extends Values, Pick<ChangeAnswer, "made"> {
  readonly definitions: readonly DefinitionRecord[]
  readonly removed: readonly string[]
}

/** Commits a change of the definitions; gives the record of the revision, or `undefined` when it says what was there already. */
export function commitChange(state: SessionState, change: MadeChange, by: RevisionFacts): RevisionRecord | undefined {
  const { definitions, removed, plain, groups, made } = change
  // A change leaves other data as it is, also where that is written anew since it shares objects with what is made.
  const unchanged = [...plain.map(({ name }) => name), ...groups.flatMap(({ names }) => names)].filter(
    (name) => state.dataMade?.has(name) === true && state.locals.get(name) === state.dataMade.get(name),
  )
  for (const name of removed) noteReplaced(state, name)
  if (state.definitions.mayHaveData) for (const name of made) noteReplaced(state, name)
  for (const { name, isData } of definitions) if (isData !== true) noteReplaced(state, name)
  for (const name of removed) undefine(state, name)
  dropCodeChanges(state, [...definitions.map(({ name }) => name), ...made])
  for (const record of definitions) {
    touch(state, record.name)
    if (record.isData !== true) state.locals.delete(record.name)
    state.definitions.set(record)
  }
  const readonlyOf = (name: string): boolean =>
    state.definitions.has(name) || (state.locals.get(name)?.readonly ?? false)
  putValues(state, change, readonlyOf, () => true)
  const noteMade = (name: string): void => {
    const local = state.locals.get(name)
    if (local !== undefined) (state.dataMade ??= new Map()).set(name, local)
  }
  for (const name of made) noteMade(name)
  for (const name of unchanged) noteMade(name)
  state.commit += 1
  return recordRevision(state, by)
}

/** Those of the definitions that hold other data than their declarations made. */
export function withChangedData(state: SessionState, names: ReadonlySet<string>): string[] {
  // Most sessions have no data, and a change may make thousands again.
  if (!state.hasCodeChanges && state.dataMade === undefined) return []
  const changed = new Set(codeChangesOf(state).map(ownerOfChange))
  return Array.from(names).filter((name) => {
    const made = state.dataMade?.get(name)
    const isOther = made !== undefined && state.locals.get(name) !== made
    return changed.has(name) || (isOther && state.definitions.get(name)?.isData === true)
  })
}

/** Counts a revision and keeps its record, when the definitions have changed. */
function recordRevision(state: SessionState, by: RevisionFacts): RevisionRecord | undefined {
  // Nearly every eval leaves the definitions alone.
  if (!state.definitions.isTouched) return undefined
  const { changes, undo } = state.definitions.takeChanges()
  if (changes.length === 0) return undefined
  const parent = state.revision
  state.revision += 1
  const record: RevisionRecord = {
    revision: state.revision,
    parent,
    reinstantiated: [],
    lostData: [],
    stale: [],
    at: Date.now(),
    digest: digestOf(state),
    ...by,
    changes,
  }
  state.history = { record, undo, replaced: state.replaced ?? noNames, before: state.history }
  state.replaced = undefined
  return record
}

/** Of all definitions, with the preludes that they stand on. `preludes`: of a session that no realm was built for. */
export function digestOf({ definitions, preludes: own }: SessionState, preludes?: Preludes): string {
  return digestBeside(definitions.digest, preludeDigests((own ?? preludes)?.list))
}

/** The definitions as they were at a revision: the names that were others then, with what they were. */
export function differenceTo(state: SessionState, revision: number): Map<string, DefinitionRecord | undefined> {
  const then = new Map<string, DefinitionRecord | undefined>()
  for (let at = state.history; at !== undefined && at.record.revision > revision; at = at.before) {
    for (const [name, before] of at.undo) then.set(name, before)
  }
  for (const [name, before] of then) if (hasSameTexts(state.definitions.get(name), before)) then.delete(name)
  return then
}

/** The records after a revision, oldest first. */
export function historySince(state: SessionState, revision: number): RevisionRecord[] {
  const records: RevisionRecord[] = []
  for (let at = state.history; at !== undefined && at.record.revision > revision; at = at.before)
    records.push(at.record)
  return records.toReversed()
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
  for (const name of state.pending) {
    const isGone = isUnnamed(name) || state.locals.get(name)?.held === "lost"
    if (!isGone) lost.push(`${name} (back to what was written last: ${reason})`)
  }
  state.pending = noPending
  lost.push(...loseUnnamed(state, reason))
  lost.push(...state.realmOnly)
  state.realmOnly = nothing
  if (lost.length > 0) state.commit += 1
  return lost
}

/** Names that live only in the realm. */
export function ephemeralNames(state: SessionState): string[] {
  const names: string[] = []
  for (const [name, local] of state.locals) if (local.held === "realm" && !state.pending.has(name)) names.push(name)
  for (const [name, { local }] of state.unnamed ?? []) if (local.held === "realm") names.push(shownName(name))
  names.push(...state.realmOnly)
  return names
}

/** As if nothing had ever been evaluated; the history goes on counting. */
export function resetState(state: SessionState, by: RevisionFacts = { ...byEval, cause: "reset" }): void {
  clear(state)
  state.unnamed = undefined
  state.sources.clear()
  state.lastValue = undefined
  state.lastError = undefined
  state.realmOnly = nothing
  state.pending = noPending
  state.preludes = undefined
  state.commit += 1
  recordRevision(state, by)
}

/** A copy to fork from or to roll back to. Bytes and records are immutable, so it shares them. */
export function copyState(state: SessionState): SessionState {
  const copy = new SessionState()
  copy.commit = state.commit
  copy.revision = state.revision
  copy.locals = new Map(state.locals)
  copy.definitions = state.definitions.copy()
  copy.history = state.history
  copy.dataMade = state.dataMade && new Map(state.dataMade)
  copy.sources = new Map(state.sources)
  copy.lastValue = state.lastValue
  copy.lastError = state.lastError
  copy.realmOnly = state.realmOnly
  copy.hasCodeChanges = state.hasCodeChanges
  copy.unnamed = state.unnamed && new Map(state.unnamed)
  copy.pins = state.pins && new Map(state.pins)
  copy.replaced = state.replaced && new Map(state.replaced)
  copy.preludes = state.preludes
  return copy
}

/** Puts the session back to `earlier` as a new commit and a new revision. Names that were held by a realm then are lost. */
export function restoreState(
  state: SessionState,
  earlier: SessionState,
  by: RevisionFacts = { ...byEval, cause: "rollback" },
): string[] {
  const copy = copyState(earlier)
  const { locals, definitions, sources, dataMade, lastValue, lastError, realmOnly, hasCodeChanges, preludes } = copy
  touchDifference(state, locals, state.locals)
  touchDifference(state, definitions, state.definitions)
  for (const name of [...state.definitions.keys(), ...definitions.keys()])
    if (state.locals.get(name) !== locals.get(name)) noteReplaced(state, name)
  state.unnamed = unnamedAfterRollback(state, earlier)
  state.pending = noPending
  state.definitions.become(definitions)
  Object.assign(state, { locals, sources, dataMade, lastValue, lastError, realmOnly, hasCodeChanges, preludes })
  const lost = loseRealm(state, "the state it was part of was left and came back without it")
  state.commit += 1
  recordRevision(state, by)
  return lost
}

/** Everything a worker needs to build the session's realm anew. */
export function checkpointOf(
  state: SessionState,
  realm: Pick<Checkpoint, "tools" | "kind" | "profile" | "capabilities" | "directory" | "jsx">,
): Checkpoint {
  const { lastValue } = state
  const groups = new Map<Group, string[]>()
  const aliases = new Map<Group, { name: string; inBytes: string }[]>()
  const locals: Checkpoint["locals"] = []
  const plain: Checkpoint["plain"] = []
  const lost: Checkpoint["lost"] = []
  const add = (name: string, local: Local): void => {
    locals.push({ name, readonly: local.readonly })
    if (local.held === "value") plain.push({ name, value: local.value })
    else if (local.held === "bytes") {
      const names = groups.get(local.group)
      if (names === undefined) groups.set(local.group, [name])
      else names.push(name)
    } else lost.push({ name, reason: local.held === "lost" ? local.reason : local.what })
  }
  for (const [name, local] of state.locals) add(name, local)
  for (const [name, { local, inBytes }] of state.unnamed ?? []) {
    add(name, local)
    if (inBytes === undefined || local.held !== "bytes") continue
    const known = aliases.get(local.group)
    if (known === undefined) aliases.set(local.group, [{ name, inBytes }])
    else known.push({ name, inBytes })
  }
  return {
    definitions: [...state.definitions.values()],
    locals,
    plain,
    groups: Array.from(groups, ([group, names]) => {
      const { bytes, sources } = group
      return { names, bytes, sources, aliases: aliases.get(group) }
    }),
    sources: [...state.sources.values()],
    lost,
    lastValue: lastValue !== undefined && "plain" in lastValue ? packPlainValue(lastValue.plain) : lastValue,
    lastError: state.lastError,
    // None is what a realm has by itself.
    preludes: state.preludes?.list.length === 0 && state.preludes.id === 0 ? undefined : state.preludes,
    ...realm,
  }
}

/** Values are replaced, never changed, so another object is another value. */
function touchDifference(state: SessionState, to: NamedValues, from: NamedValues): void {
  for (const [name, value] of to) if (from.get(name) !== value) touch(state, name)
  for (const name of from.keys()) if (!to.has(name)) touch(state, name)
}

type NamedValues = Pick<Map<string, object>, "get" | "has" | "keys" | typeof Symbol.iterator>

function clear(state: SessionState): void {
  touchAll(state)
  for (const name of state.definitions.keys()) noteReplaced(state, name)
  state.locals.clear()
  state.definitions.clear()
}

function put(state: SessionState, name: string, local: Local, keepsDefinition = false): void {
  if (isUnnamed(name)) {
    // One that was let go meanwhile stays so.
    const known = state.unnamed?.get(name)
    if (known === undefined) return
    const { facts } = known
    state.unnamed!.set(name, facts === undefined ? { local } : { local, facts })
    return
  }
  touch(state, name)
  if (!keepsDefinition) {
    noteReplaced(state, name)
    state.definitions.delete(name)
  }
  state.hasCodeChanges ||= isCodeChange(name)
  state.locals.set(name, local)
}

/** Takes a definition away, with its data. */
function undefine(state: SessionState, name: string): boolean {
  const isData = state.definitions.get(name)?.isData === true
  noteReplaced(state, name)
  if (!state.definitions.delete(name)) return false
  if (isData) state.locals.delete(name)
  dropCodeChanges(state, [name])
  touch(state, name)
  return true
}

/** What was put on definitions goes with them. */
function dropCodeChanges(state: SessionState, definitions: Iterable<string>): void {
  if (!state.hasCodeChanges) return
  const owners = new Set(definitions)
  for (const name of codeChangesOf(state)) if (owners.has(ownerOfChange(name))) state.locals.delete(name)
}

function codeChangesOf({ hasCodeChanges, locals }: SessionState): string[] {
  return hasCodeChanges ? Array.from(locals.keys()).filter(isCodeChange) : []
}
