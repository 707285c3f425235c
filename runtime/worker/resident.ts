// A session's realm on this thread, with what the worker must know to run evals in it and to commit what they did.
//
// A resident is a cache: it is built from a checkpoint, holds exactly one commit, and may be thrown away at any time. What an eval
// changed leaves as a delta: the locals it set, the groups of bindings it may have touched as bytes, the definitions it reached.
import { createHash } from "node:crypto"
import type { Script } from "node:vm"
import { compileDefinitions, compileSkeleton } from "../language/compile.ts"
import type { KeptDefinition, SkeletonUnit } from "../language/compile.ts"
import type { Jsx } from "../language/jsx-option.ts"
import type { NameKind, NameTable } from "../language/transform.ts"
import type { HostFunction } from "../../stdlib/bridge.ts"
import { isPlainValue } from "../wire/check.ts"
import type { PlainValue } from "../wire/check.ts"
import type { Primitive } from "../../stdlib/intrinsics.ts"
import { formatVersion } from "../wire/values/format.ts"
import { packValue } from "../wire/values/pack.ts"
import { foldQueue, validateWrites } from "../wire/mutations.ts"
import type { Folded, FoldedWrite } from "../wire/mutations.ts"
import type {
  ChangeAnswer,
  ChangeRequest,
  Checkpoint,
  DefinitionRecord,
  Delta,
  ErrorRecord,
  PinnedRevision,
  Preludes,
  RealmUpdate,
  Rejection,
  SourceOfFunctions,
} from "../wire/schema.ts"
import { newScript } from "./compile-cache.ts"
import type { Compiled } from "./compile-cache.ts"
import { errorRecord } from "./error-record.ts"
import { copyStrings } from "./realm.ts"
import type { EncodedGroupBytes, Realm, RealmApi } from "./realm.ts"
import type { RunningEval } from "./running-eval.ts"
import type { ModuleGraph } from "./modules/graph.ts"
import { isCodeChange } from "../wire/code-changes.ts"
import { reachOf } from "./reaching-code.ts"
import type { Reach } from "./reaching-code.ts"
import { ResidentImports } from "./resident-imports.ts"
import type { ImportFacts } from "./resident-imports.ts"
import { ResidentPreludes } from "./resident-preludes.ts"
import { OnlyReads } from "./only-reads.ts"
import { cellsOf, factsOf, sourceOf, splitNames } from "./sources.ts"
import { touchedBy } from "./touched.ts"
import type { Touched } from "./touched.ts"

export interface Definition {
  readonly record: DefinitionRecord
  /** Names that its code can reach. */
  readonly reads: readonly string[]
  /** Names whose values it copies when it is made. */
  readonly readsWhenMade: readonly string[]
  readonly hasPrivateNames: boolean
}

const noFacts = { reads: [], readsWhenMade: [], hasPrivateNames: false }

/** What of a checkpoint could not be made so far. */
interface Postponed {
  readonly kept: readonly KeptDefinition[]
  readonly groups: Checkpoint["groups"]
  readonly isReadonly: (name: string) => boolean
  /** Whether a name is one of the session's, bound already or not. */
  readonly isOwn: (name: string) => boolean
}

const noLocals: ReadonlySet<string> = new Set()

const nothingPostponed: Postponed = { kept: [], groups: [], isReadonly: () => false, isOwn: () => false }

interface AppliedWrites {
  readonly folded: Folded
  readonly apply: ReadonlyMap<string, FoldedWrite>
  readonly rejected: Rejection[]
}

/** What an eval has changed, in arrays of ours. */
interface FinishedNames {
  readonly assigned: readonly string[]
  readonly removed: readonly string[]
  /** Definitions of the unit that are in force. */
  readonly inForce: ReadonlySet<string>
  readonly rebuilt: readonly string[]
}

const noNames: readonly string[] = []
const noNameSet: ReadonlySet<string> = new Set()
const noDefinitions: ReadonlyMap<string, Definition> = new Map()
const nothingFinished: FinishedNames = { assigned: noNames, removed: noNames, inForce: noNameSet, rebuilt: noNames }

/** Of nearly every eval. */
function assignedOnly(name: string): FinishedNames {
  return { assigned: [name], removed: noNames, inForce: noNameSet, rebuilt: noNames }
}

function finishedOf({ assigned, removed, definitions, rebuilt }: ReturnType<RealmApi["finished"]>): FinishedNames {
  return {
    assigned: copyStrings(assigned),
    removed: copyStrings(removed),
    inForce: new Set(copyStrings(definitions)),
    rebuilt: copyStrings(rebuilt),
  }
}

const noWrites: AppliedWrites = { folded: { cleared: false, writes: new Map() }, apply: new Map(), rejected: [] }

/** The owners of changes to code that is no definition's; as the realm calls them. */
const builtIns = ""
const globalObject = "globalThis"

/** What a local was last encoded as. */
interface Encoded {
  readonly names: readonly string[]
  readonly print: string
  /** The sources of the functions in its group. */
  readonly sources?: readonly string[]
  readonly size?: number
  /** It is data and nothing else. */
  readonly isInert?: boolean
}

interface WhatToEncode {
  readonly touched: Touched | "all"
  readonly assigned: ReadonlySet<string>
  /** Names whose groups are to be made again in the realm from what is written. */
  readonly moved?: ReadonlySet<string> | undefined
  readonly defersAbove?: number | undefined
}

/** Sources that nothing refers to are dropped when there are so many more than when they were last counted. */
const sourcesSlack = 16

/** Candidates that a realm keeps made; an older one is made again when it is committed. */
const candidatesKept = 8

/** Earlier revisions whose compiled definitions are kept: a loop calls one again and again. */
const pinnedUnitsKept = 4

/** Bytes of touched groups above which it is worth finding out whether the eval has only read. */
const provesAboveBytes = 64 * 1024

/** Groups shorter than this are compared as they are, longer ones by digest. */
const comparedBytesMax = 64

/** Submissions whose positions are kept; frames of older ones are left out of stacks. A session may run for years. */
const unitsKept = 256

/** Built-ins are looked at in every so many evals even where nothing tells of a change: code that no text gives away is found late, not never. */
const builtInsEvery = 1_024
/** Where some text has keys that are computed. */
const builtInsOftenEvery = 64

export class Resident implements NameTable {
  readonly session: string
  readonly realm: Realm
  readonly modules: ModuleGraph
  commit: number
  readonly preludes: ResidentPreludes
  /** What is still to be done before the realm stands as its checkpoint says. One that gives false has begun what `opRestored` ends. */
  readonly #steps: (() => boolean)[] = []
  readonly #imports: ResidentImports
  /** What could not be had again: the next outcome names it. */
  #lostImports: string[] = []
  /** Scripts by file name, for positions in stacks. */
  readonly units = new Map<string, { unit: Compiled["unit"]; file: string; made?: unknown }>()
  /** The same for functions that came from the checkpoint. */
  readonly #siteUnits = new Map<string, { unit: SkeletonUnit; file: string }>()
  readonly #definitions = new Map<string, Definition>()
  readonly #captured = new Set<string>()
  readonly #referenced = new Set<string>()
  readonly #ephemeral = new Set<string>()
  /** Names whose values are yet to be written. What those hold, and which of them hang together, is not known until then. */
  readonly #pending = new Set<string>()
  /** What each local was last encoded as: its group's names and a fingerprint of its bytes. */
  readonly #encoded = new Map<string, Encoded>()
  /** The sources of functions that are committed, and how many of them were in use when that was last counted. */
  readonly #sources = new Map<string, SourceOfFunctions>()
  #sourcesUsed = 0
  readonly #factsOf = new WeakMap<Compiled["unit"], Primitive[]>()
  /** Definitions that became values because what they copied is no definition any more. */
  #stale: string[] = []
  /** What a change has left behind, for the next eval to say. */
  readonly #staleNext: string[] = []
  /** Instances have moved since values were last written. */
  #hasMoved = false
  /** Changes to code by name, with the definition whose code it is; `builtIns` and `globalObject` own the others. */
  readonly #codeChanges = new Map<string, string>()
  /** Definitions with changes that a change of the session has replaced. */
  readonly #replacedOwners = new Set<string>()
  #commits = 0
  /** An empty list of the realm's own. */
  #noNames: never[] | undefined
  /** Changes that were made and are not in force. */
  readonly #candidates = new Map<
    string,
    { own: ReadonlyMap<string, Definition>; prints: ReadonlyMap<string, Encoded> }
  >()
  /** The earlier revision that the eval under way runs in: its definitions, and where its data is. */
  #entered: { readonly own: ReadonlyMap<string, Definition>; readonly roots: readonly string[] } | undefined
  /** Revisions that were entered, compiled. */
  readonly #pinnedUnits = new Map<string, { readonly unit: Compiled["unit"]; readonly script: Script }>()
  #postponed = nothingPostponed
  #mayGoOn = false
  #mayLinger = false
  #mayReachGlobal = false
  #mayReachBuiltIns = false
  #mayHideWords = false
  #retargets = 0

  /** Tests have more proved. */
  provesAbove = provesAboveBytes
  readonly #onlyReads = new OnlyReads()

  /** What JSX is turned into. */
  readonly jsx: Jsx | undefined

  /** `realm` is a blank one of the checkpoint's profile. */
  constructor(session: string, commit: number, checkpoint: Checkpoint, realm: Realm, host: HostFunction) {
    this.session = session
    this.commit = commit
    const { kind, tools, directory, profile, jsx } = checkpoint
    this.realm = realm
    this.jsx = jsx
    this.modules = realm.moduleGraph(directory, jsx)
    realm.adopt(host, { id: session, kind, tools, directory })
    this.preludes = new ResidentPreludes({
      realm,
      profile,
      isRealmGlobal: (name) => this.isRealmGlobal(name),
      unitOf: (filename) => this.unitOf(filename),
    })
    for (const { source } of checkpoint.preludes?.list ?? []) this.#look(source)
    this.#steps.push(...this.preludes.stepsTo(checkpoint.preludes).steps)
    this.#imports = new ResidentImports(realm, this.modules, this, this.#definitions)
    const imports = checkpoint.definitions.filter(isImport)
    const early = imports.filter(({ readsSession }) => readsSession !== true)
    const late = imports.filter(({ readsSession }) => readsSession === true)
    if (early.length > 0) this.#steps.push(() => this.#imports.restore(early))
    this.#steps.push(() => this.#build(checkpoint, late))
    // What they read while they are evaluated has to stand.
    if (late.length > 0)
      this.#steps.push(
        () => this.#imports.restore(late, true),
        () => this.#finishLate(),
      )
    this.#steps.push(() => this.#finishBuild(imports))
    this.mustWait = imports.length > 0 || this.preludes.mustWait
  }

  /** What is to be done awaits something: it belongs to the eval that needs the realm. */
  mustWait: boolean

  /** Whether the realm does not stand as its checkpoint says. */
  get isUnbuilt(): boolean {
    return this.#steps.length > 0
  }

  /** Goes on with what is to be done; false when it awaits `opRestored`. */
  prepare(): boolean {
    for (let step = this.#steps.shift(); step !== undefined; step = this.#steps.shift()) if (!step()) return false
    this.mustWait = false
    return true
  }

  /** Has the session see the workspace's preludes as they are now; its values move to them. `prepare` does it. */
  follow(preludes: Preludes): void {
    const { steps, changed } = this.preludes.stepsTo(preludes)
    for (const { source } of preludes.list) this.#look(source)
    this.mustWait = this.preludes.mustWait
    this.#steps.push(...steps, () => {
      this.#remakeUsers(changed)
      this.#moveNow()
      this.#noteReferenced()
      this.realm.api.ready()
      return true
    })
  }

  /** The imports stand, or are lost. */
  #finishBuild(imports: readonly DefinitionRecord[]): true {
    this.#imports.finish(imports)
    this.#noteReferenced()
    this.realm.api.ready()
    return true
  }

  /** What could not be made without the late imports is made now. */
  #finishLate(): true {
    const rest = this.#makeInTurns(this.#postponed)
    this.#postponed = nothingPostponed
    this.#loseRest(rest)
    return true
  }

  // What the compiler asks

  kind(name: string): NameKind | undefined {
    return this.realm.calls.kindOf(name)
  }

  isRealmGlobal(name: string): boolean {
    return this.realm.globals.has(name)
  }

  isCaptured(name: string): boolean {
    return this.#captured.has(name) || this.modules.usesName(name)
  }

  dependencies(name: string): readonly string[] | undefined {
    return this.#definitions.get(name)?.record.dependencies
  }

  /** Whether code of this session has been seen that can start something which goes on by itself, timers and tool calls aside. */
  get mayGoOn(): boolean {
    return this.#mayGoOn || this.#mayReachGlobal || this.#mayReachBuiltIns
  }

  /** The script of that file name, for positions in stacks. */
  unitOf(filename: string): { unit: Pick<Compiled["unit"], "map">; file: string } | undefined {
    return (
      this.units.get(filename) ??
      this.#siteUnits.get(filename) ??
      this.preludes.unitOf(filename) ??
      this.modules.unitOf(filename)
    )
  }

  // An eval

  /** Starts a compiled submission; true when it ended at once. Must be called inside the eval's async context. */
  start(
    { unit, script, reach }: Compiled,
    source: string,
    file: string,
    isNested = false,
    { args, retained }: { args?: Uint8Array | undefined; retained?: string | undefined } = {},
  ): boolean {
    const made = this.#made(unit, script, file)
    for (const name of unit.captures) this.#captured.add(name)
    this.#note(reach)
    if (!isNested) this.#stale = this.#staleNext.splice(0)
    if (unit.replaces.length > 0) this.#retarget(unit.replaces)
    if (unit.redefines.length > 0) this.#separate(unit.redefines)
    const { calls } = this.realm
    const none = (this.#noNames ??= this.realm.list<never>([]))
    const { definitions, sources } = unit
    const isPlain = definitions.length === 0
    const names = isPlain ? none : this.realm.list(definitions.map((it) => it.name))
    const privates = isPlain ? none : this.realm.list(definitions.map((it) => it.hasPrivateNames))
    const facts = sources.length === 0 ? none : this.realm.list(this.#facts(unit, file))
    const call = args === undefined ? undefined : this.realm.table(args)
    return calls.start(
      made as Parameters<typeof calls.start>[0],
      names,
      privates,
      facts,
      isNested,
      call === undefined ? "" : retained === undefined ? source : "The retained value",
      call?.table,
      call?.chunks,
      retained,
    )
  }

  /** Puts an earlier revision in force for the next eval, until it is committed; gives what went wrong. */
  enterRevision({ id, definitions, removed, plain, data }: PinnedRevision): ErrorRecord | undefined {
    const { api } = this.realm
    const values = new Set([...plain, ...data].map(({ name }) => name))
    const names: NameTable = {
      kind: (name) => (removed.includes(name) ? undefined : values.has(name) ? "readonly" : this.kind(name)),
      isRealmGlobal: (name) => this.isRealmGlobal(name),
      jsx: this.jsx,
      dependencies: (name) => this.dependencies(name),
    }
    const filename = `nacre:revision/${id}`
    let compiled = this.#pinnedUnits.get(id)
    if (compiled === undefined || [...compiled.unit.assumes].some(([name, kind]) => names.kind(name) !== kind)) {
      const unit = compileDefinitions(keptOf(definitions), names, filename)
      if (!unit.valid) return problemOf(unit.rendered)
      compiled = { unit, script: newScript(unit.code, filename) }
      this.#pinnedUnits.set(id, compiled)
      if (this.#pinnedUnits.size > pinnedUnitsKept) this.#pinnedUnits.delete(this.#pinnedUnits.keys().next().value!)
      for (const { source } of definitions) this.#look(source)
      for (const name of unit.captures) this.#captured.add(name)
    }
    const { unit, script } = compiled
    this.units.set(filename, { unit, file: filename })
    const list = this.realm.list.bind(this.realm)
    const thrown = api.enterRevision(
      this.realm.run(script) as Parameters<typeof api.enterRevision>[0],
      list(unit.definitions.map((it) => it.name)),
      list(unit.definitions.map((it) => it.hasPrivateNames)),
      list(this.#facts(unit, filename)),
      list(removed),
      list(data.map((it) => it.name)),
      list(data.map((it) => it.from)),
      list(data.map((it) => it.reason)),
      list(plain.map((it) => it.name)),
      list(plain.map((it) => it.value)),
    )
    if (thrown !== undefined) return errorRecord(thrown, this, { text: "", file: "", line: 1 })
    const roots = data.flatMap(({ from }) => (from === "" ? [] : [from]))
    this.#entered = { own: this.#definitionsOf({ unit }, ""), roots }
    return undefined
  }

  /** The present revision again; gives what the eval would have changed of definitions. */
  leaveRevision(): string[] {
    this.#entered = undefined
    return copyStrings(this.realm.api.leaveRevision())
  }

  /** Ends a nested eval: what it changed stands, and is committed with the eval around it. */
  endNested(
    evl: RunningEval,
    how: "ok" | "threw" | "exited",
  ): { set: string[]; removed: string[]; definitions: string[] } {
    const { root, message, compiled } = evl
    const own = this.#definitionsOf(compiled!, message.file)
    for (const name of compiled!.unit.valueless) this.realm.api.remove(name)
    const finished = this.realm.api.finish(how === "ok" ? "ok" : "threw")
    const [set, removed] = [copyStrings(finished.assigned), copyStrings(finished.removed)]
    const inForce = new Set(copyStrings(finished.definitions))
    for (const name of [...set, ...removed]) {
      this.#definitions.delete(name)
      root.nestedDefinitions?.delete(name)
    }
    const definitions: string[] = []
    for (const [name, definition] of own) {
      if (!isType(definition.record.kind) && !inForce.has(name)) continue
      this.#definitions.set(name, definition)
      root.nestedDefinitions ??= new Map()
      root.nestedDefinitions.set(name, definition)
      definitions.push(name)
    }
    return { set, removed, definitions }
  }

  /** Folds the queue, ends the run and gathers what changed since the last commit. */
  commitEval(
    evl: RunningEval,
    compiled: Compiled,
    how: "ok" | "threw" | "exited",
  ): { delta: Delta; rejected: Rejection[] } {
    const { api } = this.realm
    const { unit } = compiled
    const own = unit.definitions.length === 0 ? noDefinitions : this.#definitionsOf(compiled, evl.message.file)
    const applied = evl.queue.length === 0 ? noWrites : this.#applyQueue(evl, own, how)
    const { folded, apply } = applied
    let { rejected } = applied
    const { retain } = evl.message
    const retained = how === "ok" && retain !== undefined ? api.retainResult(retain.as, retain.functionsOnly) : ""
    const { valueless } = unit
    for (const name of valueless) api.remove(name)
    const short = this.realm.calls.finishShort(how === "ok" ? "ok" : "threw")
    const finished =
      short === undefined ? finishedOf(api.finished()) : short === "" ? nothingFinished : assignedOnly(short)
    const entered = this.#entered
    const undone = entered === undefined ? noNames : this.leaveRevision()
    if (undone.length > 0) rejected = [...rejected, ...undone.map((key) => ({ op: "set", key, kind: "stale_parent" }))]
    const assigned =
      undone.length === 0 ? finished.assigned : finished.assigned.filter((name) => !undone.includes(name))
    // A name that became a type is bound to that.
    const removed = finished.removed.filter((name) => !undone.includes(name) && !valueless.includes(name))
    const { inForce, rebuilt } = finished

    const definitions: DefinitionRecord[] = []
    if (folded.cleared) this.#definitions.clear()
    const removedDefinitions = removed.filter((name) => this.#definitions.delete(name))
    for (const [key, write] of apply) {
      if ("remove" in write && this.#definitions.delete(key)) removedDefinitions.push(key)
    }
    const demoted = assigned.filter((name) => this.#definitions.delete(name))
    for (const [name, definition] of own) {
      const isPublished = isType(definition.record.kind)
        ? !folded.cleared && !removedDefinitions.includes(name)
        : inForce.has(name)
      if (!isPublished) continue
      this.#definitions.set(name, definition)
      definitions.push(definition.record)
    }
    for (const [name, definition] of evl.nestedDefinitions ?? []) {
      const isReplaced = own.has(name) && (isType(definition.record.kind) || inForce.has(name))
      const isInForce = isType(definition.record.kind) ? !folded.cleared : isDefined(this.kind(name))
      if (isReplaced || !isInForce || removedDefinitions.includes(name)) continue
      this.#definitions.set(name, definition)
      definitions.push(definition.record)
    }
    definitions.push(...this.#imports.takeReloaded(own))
    for (const name of [...removed, ...definitions.map((it) => it.name)]) this.#forget(name)

    // Values that refer to a definition which is another one now must be looked at again, whoever holds them.
    const redefined = [...definitions.map((it) => it.name), ...rebuilt, ...removedDefinitions, ...assigned]
    const isReferenceChanged = redefined.some((name) => this.#referenced.has(name))
    const declared = [...definitions.map((it) => it.name), ...rebuilt, ...removedDefinitions, ...demoted]
    if (!folded.cleared) this.#stale.push(...this.#imports.outdated(declared))
    // What nested evals could reach is not looked for name by name.
    const moved = this.#moveInstances()
    const isReferencePending = this.#pending.size > 0 && redefined.length > 0
    const hasMoved = moved !== undefined || this.#hasMoved
    const isAllTouched = isReferenceChanged || isReferencePending || hasMoved || evl.hadNested
    this.#hasMoved = false
    const roots = [
      ...unit.mentions,
      ...(entered?.roots ?? []),
      ...(evl.message.retained === undefined ? [] : [evl.message.retained]),
    ]
    const touched = isAllTouched
      ? "all"
      : touchedBy({
          unit: this.#withBuiltInChanges(roots.length === unit.mentions.length ? unit : { ...unit, mentions: roots }),
          definitionOf: (name) =>
            this.#withChanges(name, codeOf(entered?.own.get(name) ?? this.#definitions.get(name) ?? own.get(name))),
          isLocal: (name) => isLocal(this.kind(name)),
          isEphemeral: (name) => this.#ephemeral.has(name) || this.#pending.has(name),
          reachedFrom: (name) => this.#reachedFrom(name),
          isUnknown: (name) => this.#isUnknown(name),
          referenced: this.#referenced,
        })
    const isReading = touched !== "all" && this.#isLarge(touched) && this.#hasOnlyRead(evl, unit, own, assigned)
    const code = this.#noteCode(touched, redefined, folded.cleared, isReading)
    for (const name of code.removed) {
      const owner = this.#codeChanges.get(name)!
      this.#codeChanges.delete(name)
      this.#forget(name)
      if (!rebuilt.includes(owner) || own.has(owner)) continue
      this.#stale.push(`${name} (${owner} was made again without it)`)
    }
    const written = new Set([...assigned, ...code.set])
    if (retained !== "") written.add(retain!.as)
    const { plain, groups, ephemeral, late, sources } = this.#encode({
      touched: isReading && this.#codeChanges.size === 0 ? { ...touched, locals: noLocals } : touched,
      assigned: written,
      moved,
      // What stands beside a value as a part of its own is written with it.
      defersAbove: hasMoved || retained !== "" || this.#codeChanges.size > 0 ? undefined : evl.message.defersAbove,
    })
    const delta: Delta = {}
    if (this.#pending.size > 0) delta.pending = [...this.#pending]
    if (retained !== "") delta.retained = { as: retain!.as, isFunction: retained === "function" }
    if (assigned.length > 0) delta.set = assigned.map((name) => ({ name, readonly: this.kind(name) === "readonly" }))
    const gone = [...removed.filter((name) => !removedDefinitions.includes(name)), ...code.removed]
    if (gone.length > 0) delta.removed = gone
    if (folded.cleared) delta.cleared = true
    if (plain.length > 0) delta.plain = plain
    if (groups.length > 0) delta.groups = groups
    if (sources.length > 0) delta.sources = sources
    const dropped = this.#dropSources()
    if (dropped.length > 0) delta.droppedSources = dropped
    if (ephemeral.length > 0) delta.ephemeral = ephemeral
    if (definitions.length > 0) delta.definitions = definitions
    if (removedDefinitions.length > 0) delta.removedDefinitions = removedDefinitions
    if (late.length > 0) delta.late = late
    if (this.#stale.length > 0) delta.stale = this.#stale
    this.#lostImports.push(...this.preludes.takeLost(), ...this.#imports.takeLost())
    if (this.#lostImports.length > 0) delta.lostImports = this.#lostImports
    const reloaded = this.#imports.takeReloadedNames()
    if (reloaded.length > 0) delta.reloaded = reloaded
    this.#lostImports = []
    return { delta, rejected }
  }

  /** Moves instances of classes that were declared again; gives the names whose groups have to be made again from their bytes. */
  #moveInstances(): ReadonlySet<string> | undefined {
    const moved = this.realm.calls.moveInstances()
    if (moved === undefined) return undefined
    this.#stale.push(...copyStrings(moved.stale))
    this.#noteReferenced()
    return new Set(copyStrings(moved.remade))
  }

  /** Makes a group again in the realm that it was read from, so that its instances are of the classes as they are now. */
  #makeAgain({ names, bytes, sources }: EncodedGroupBytes): void {
    const { api } = this.realm
    for (const source of sources) this.#addSkeleton(source)
    const flags = names.map((name) => this.kind(name) === "readonly")
    const { table, chunks } = this.realm.table(bytes)
    const problem = api.bindGroup(table, chunks, this.realm.list(names), this.realm.list(flags))
    if (names.some(isCodeChange)) api.applyChanges()
    if (problem === undefined) return
    for (const name of names) api.lose(name, `it could not be moved to a class that was declared again: ${problem}`)
  }

  /** Folds the eval's queued writes and applies those that are valid. */
  #applyQueue(evl: RunningEval, own: ReadonlyMap<string, Definition>, how: "ok" | "threw" | "exited"): AppliedWrites {
    const { api } = this.realm
    const reached = new Set(copyStrings(api.reached()))
    const candidate = new Map<string, { dependencies: readonly string[] }>()
    for (const [name, { record }] of this.#definitions) candidate.set(name, record)
    for (const [name, { record }] of own) if (reached.has(name) || isType(record.kind)) candidate.set(name, record)
    const folded = foldQueue(evl.queue, { dropClears: how === "threw" })
    const { apply, rejected } = validateWrites(folded, candidate)
    if (folded.cleared) api.clear()
    for (const [key, write] of apply) {
      if ("put" in write) api.put(key, write.put)
      else api.remove(key)
    }
    return { folded, apply, rejected }
  }

  /** The result as text. Numbers and the like are written here; strings need the realm's quoting. */
  previewResult(bytesMax: number): { text: string; inert: boolean; valueType: string } {
    const { calls, api } = this.realm
    if (calls.isResultPrimitive()) {
      const value = calls.resultPrimitive()
      if (typeof value === "number")
        return { text: Object.is(value, -0) ? "-0" : String(value), inert: false, valueType: "number" }
      if (value === undefined) return { text: "undefined", inert: true, valueType: "undefined" }
      if (typeof value === "boolean") return { text: String(value), inert: false, valueType: "boolean" }
    }
    const { text, inert, type } = api.preview(bytesMax)
    return { text, inert, valueType: type }
  }

  /** The result itself when it is plain; else as bytes, when it can leave the realm and is within the limit. */
  takeResult(bytesMax: number): { isPlain: true; plain: PlainValue } | { data: Uint8Array } | { withheld: string } {
    const { calls, api } = this.realm
    if (calls.isResultPrimitive()) {
      const plain = calls.resultPrimitive()
      if (isPlainValue(plain) && (typeof plain !== "string" || plain.length <= bytesMax))
        return { isPlain: true, plain }
    }
    const encoded = api.encodeResult(bytesMax)
    if ("table" in encoded) return { data: packValue(encoded) }
    if ("tooLarge" in encoded) return { withheld: "too-large" }
    const { what, path } = encoded.ephemeral
    return { withheld: path === "" ? what : `${what} (at ${path})` }
  }

  encodeError(bytesMax: number): Uint8Array | undefined {
    const encoded = this.realm.api.encodeError(bytesMax)
    return "table" in encoded ? packValue(encoded) : undefined
  }

  // Changes

  /**
   * Makes what a change would put in force and keeps it as a candidate. When making it changed what the session holds, or may have, the
   * realm is not what its commit says any more: `isSpoiled`.
   */
  makeCandidate({ id, definitions, removed }: ChangeRequest): { answer: ChangeAnswer; isSpoiled: boolean } {
    const { api } = this.realm
    const filename = `nacre:change/${id}`
    const names: NameTable = {
      kind: (name) => (removed.includes(name) ? undefined : this.kind(name)),
      isRealmGlobal: (name) => this.isRealmGlobal(name),
      jsx: this.jsx,
      dependencies: (name) => this.dependencies(name),
    }
    const missing = definitions.find(
      (it) => isImport(it) && it.source !== this.#definitions.get(it.name)?.record.source,
    )
    if (missing !== undefined) {
      const message = `The change has the import '${missing.name}', which this session does not: evaluate \`${missing.source}\` first.`
      return { answer: emptyAnswer({ problem: { ...problemOf(message), kind: "unsupported" } }), isSpoiled: false }
    }
    const unit = compileDefinitions(keptOf(definitions), names, filename, true)
    if (!unit.valid) return { answer: emptyAnswer({ problem: problemOf(unit.rendered) }), isSpoiled: false }
    for (const { source } of definitions) this.#look(source)
    this.units.set(filename, { unit, file: filename })
    for (const name of unit.captures) this.#captured.add(name)
    const own = this.#definitionsOf({ unit }, "")
    const data = definitions.filter(({ isData }) => isData).map(({ name }) => name)
    const touched = touchedBy({
      unit: this.#withBuiltInChanges(unit),
      definitionOf: (name) => this.#withChanges(name, codeOf(own.get(name) ?? this.#definitions.get(name))),
      isLocal: (name) => isLocal(this.kind(name)),
      isEphemeral: (name) => this.#ephemeral.has(name),
      reachedFrom: (name) => this.#reachedFrom(name),
      isUnknown: (name) => this.#isUnknown(name),
      referenced: this.#referenced,
    })
    const locals = touched === "all" ? copyStrings(api.locals()) : [...touched.locals]
    const guarded = locals.filter((name) => !this.#definitions.has(name) && !data.includes(name))
    const list = this.realm.list.bind(this.realm)
    const thrown = api.enterCandidate(
      this.realm.run(newScript(unit.code, filename)) as Parameters<typeof api.enterCandidate>[0],
      list(unit.definitions.map((it) => it.name)),
      list(unit.definitions.map((it) => it.hasPrivateNames)),
      list(this.#facts(unit, filename)),
      list(data),
      list(removed),
      list(guarded),
    )
    let answer: ChangeAnswer
    if (thrown !== undefined) {
      answer = emptyAnswer({ problem: errorRecord(thrown, this, { text: "", file: "", line: 1 }) })
    } else {
      const made = copyStrings(api.candidateNames())
      const isReferenceChanged = [...made, ...removed].some((name) => this.#referenced.has(name))
      const encoded = this.#encodeCandidate(isReferenceChanged ? "all" : touched, new Set(data))
      api.leaveCandidate(id)
      this.#candidates.set(id, { own, prints: encoded.prints })
      if (this.#candidates.size > candidatesKept) this.#dropCandidate(this.#candidates.keys().next().value!)
      answer = emptyAnswer({ ...encoded.values, made })
    }
    const changed = this.#changedSince(touched)
    if (changed.length > 0) {
      const what = changed.map((name) => `'${name}'`).join(", ")
      const message = `Making it would change what ${what} hold${changed.length === 1 ? "s" : ""}; a definition must not change other values while it is made.`
      answer = emptyAnswer({ problem: { ...problemOf(message), kind: "outside_call" } })
    }
    return { answer, isSpoiled: changed.length > 0 }
  }

  /** Follows changes that were committed since the commit it holds. */
  update(updates: readonly RealmUpdate[], commit: number): void {
    for (const { candidate, definitions, removed, plain, groups, sources, kept = [] } of updates) {
      const changed = definitions.filter((it) => it.digest !== this.#definitions.get(it.name)?.record.digest)
      const known = this.#candidates.get(candidate)
      for (const { name, as } of kept) this.#keep(name, as)
      for (const name of removed) this.#forget(name)
      for (const { name } of definitions) this.#forget(name)
      for (const name of removed) this.#definitions.delete(name)
      for (const owner of this.#codeChanges.values()) {
        if (removed.includes(owner) || definitions.some(({ name }) => name === owner)) this.#replacedOwners.add(owner)
      }
      for (const record of definitions) {
        const compiled = known?.own.get(record.name)
        const facts = compiled ?? { reads: record.dependencies, readsWhenMade: [], hasPrivateNames: false }
        this.#definitions.set(record.name, { ...facts, record })
      }
      if (known !== undefined) {
        this.realm.api.publishCandidate(candidate)
        for (const [name, encoded] of known.prints) this.#encoded.set(name, encoded)
        for (const record of sources) this.#sources.set(record.id, record)
        this.#dropCandidate(candidate)
      } else this.#catchUp(definitions, removed, { plain, groups, sources })
      this.#staleNext.push(...this.#imports.outdated([...removed, ...changed.map(({ name }) => name)]))
    }
    // They were made on what was in force before.
    for (const id of this.#candidates.keys()) this.#dropCandidate(id)
    this.#moveNow()
    this.#noteReferenced()
    this.realm.api.ready()
    this.commit = commit
  }

  /** What a name holds goes on under another one, among those that it shares objects with. */
  #keep(name: string, as: string): void {
    this.realm.api.keep(name, as)
    const encoded = this.#encoded.get(name)
    if (encoded === undefined) return
    const names = encoded.names.map((it) => (it === name ? as : it))
    for (const member of names) this.#encoded.set(member, { ...encoded, names })
    if (this.#ephemeral.has(name)) this.#ephemeral.add(as)
  }

  /** Before the next eval; what it was committed as is written anew with that one. */
  #moveNow(): void {
    const before = this.#stale
    this.#stale = []
    const moved = this.#moveInstances()
    this.#staleNext.push(...this.#stale)
    this.#stale = before
    if (moved === undefined) return
    this.#hasMoved = true
    const groups = moved.size === 0 ? [] : this.realm.encode([...moved]).groups
    for (const group of groups) this.#makeAgain(group)
    if (moved.size > 0) this.realm.api.endMove()
  }

  /** Definitions that read what a prelude exports when they are made, as a class does that extends one of its classes. */
  #remakeUsers(changed: ReadonlySet<string>): void {
    const kept: KeptDefinition[] = []
    for (const { record, readsWhenMade } of this.#definitions.values()) {
      if (isType(record.kind) || record.isData || isImport(record) || !readsWhenMade.some((name) => changed.has(name)))
        continue
      kept.push(...keptOf([record]))
    }
    if (kept.length === 0) return
    const problem = this.#install(kept, this, `nacre:followed/${++this.#retargets}`, true)
    if (problem !== undefined) for (const { name } of kept) this.#staleNext.push(`${name} (${problem})`)
  }

  #dropCandidate(id: string): void {
    this.#candidates.delete(id)
    this.realm.api.dropCandidate(id)
  }

  /** Makes again what was made elsewhere. */
  #catchUp(
    definitions: readonly DefinitionRecord[],
    removed: readonly string[],
    { plain, groups, sources }: Pick<RealmUpdate, "plain" | "groups" | "sources">,
  ): void {
    const { api } = this.realm
    for (const name of removed) api.remove(name)
    const data = new Set(definitions.filter(({ isData }) => isData).map(({ name }) => name))
    const names: NameTable = {
      kind: (name) => (data.has(name) ? "readonly" : this.kind(name)),
      isRealmGlobal: (name) => this.isRealmGlobal(name),
      jsx: this.jsx,
      dependencies: (name) => this.dependencies(name),
    }
    this.#addSources(sources.filter(({ id }) => !this.#sources.has(id)))
    const kept = keptOf(definitions).filter(({ name }) => !data.has(name))
    // What they read when they are made may be among the values, and the values may refer to them.
    const problem = kept.length === 0 ? undefined : this.#install(kept, names, `nacre:change/${++this.#retargets}`)
    for (const { name, value } of plain) {
      if (!data.has(name)) continue
      api.setPrimitive(name, value, true)
      this.#encoded.set(name, { names: [name], print: printOfPrimitive(value) })
    }
    const unbound = groups.filter(
      (group) => group.names.some((name) => data.has(name)) && !this.#bindGroup(group, () => true),
    )
    const open = problem === undefined ? [] : kept
    const own = new Set(definitions.map(({ name }) => name))
    const isOwn = (name: string): boolean => own.has(name)
    this.#loseRest(this.#makeInTurns({ kept: open, groups: unbound, isReadonly: () => true, isOwn }))
  }

  /** The values of a candidate that is entered, and what else must be written anew since it refers to something that changes. */
  #encodeCandidate(
    touched: Touched | "all",
    data: ReadonlySet<string>,
  ): { values: Pick<ChangeAnswer, "plain" | "groups" | "sources" | "ephemeral">; prints: Map<string, Encoded> } {
    const values: Pick<ChangeAnswer, "plain" | "groups" | "sources" | "ephemeral"> = {
      plain: [],
      groups: [],
      sources: [],
      ephemeral: [],
    }
    const prints = new Map<string, Encoded>()
    const objects: string[] = []
    for (const name of this.#namesToEncode(touched, data)) {
      if (!isLocal(this.kind(name))) continue
      if (!this.realm.api.isPrimitive(name)) {
        objects.push(name)
        continue
      }
      if (!data.has(name)) continue
      const value = this.realm.api.primitive(name)
      prints.set(name, { names: [name], print: printOfPrimitive(value) })
      if (isPlainValue(value)) values.plain.push({ name, value })
      else values.groups.push({ names: [name], bytes: packPrimitive(name, value) })
    }
    if (objects.length === 0) return { values, prints }
    const encoded = this.realm.encode(objects)
    values.ephemeral = encoded.ephemeral.filter(({ name }) => data.has(name))
    for (const { names, bytes, sources } of encoded.groups) {
      const print = fingerprint(bytes)
      const ids = sources.map(({ id }) => id)
      const isSame = names.every((name) => {
        const before = this.#encoded.get(name)
        return !data.has(name) && before?.print === print && before.names.length === names.length
      })
      if (isSame) continue
      values.groups.push(ids.length === 0 ? { names, bytes } : { names, bytes, sources: ids })
      for (const name of names) prints.set(name, { names, print, sources: ids })
      for (const record of sources) if (!this.#sources.has(record.id)) values.sources.push(record)
    }
    return { values, prints }
  }

  /** Touched locals that do not hold any more what they were last encoded as. */
  #changedSince(touched: Touched | "all"): string[] {
    const names = this.#namesToEncode(touched, new Set()).filter((name) => this.#encoded.has(name))
    const changed = names.filter(
      (name) =>
        this.realm.api.isPrimitive(name) &&
        this.#encoded.get(name)!.print !== printOfPrimitive(this.realm.api.primitive(name)),
    )
    const objects = names.filter((name) => !this.realm.api.isPrimitive(name))
    if (objects.length === 0) return changed
    for (const group of this.realm.encode(objects).groups) {
      const print = fingerprint(group.bytes)
      for (const name of group.names) if (this.#encoded.get(name)?.print !== print) changed.push(name)
    }
    return changed
  }

  // Inside

  #look(source: string): void {
    this.#note(reachOf(source))
  }

  #note(reach: Reach): void {
    this.#mayGoOn ||= reach.goesOn
    this.#mayLinger ||= this.realm.capabilities.hasNode ? reach.lingersWithNode : reach.lingers
    this.#mayReachGlobal ||= reach.global
    this.#mayReachBuiltIns ||= reach.builtIns
    this.#mayHideWords ||= reach.hidesWords
  }

  /** The unit as the realm has it. One without definitions keeps no state, so a repeated submission finds it made already. */
  #made(unit: Compiled["unit"], script: Script, file: string): unknown {
    const before = this.units.get(unit.filename)
    this.units.delete(unit.filename)
    const made = before?.made ?? this.realm.run(script)
    this.units.set(unit.filename, unit.definitions.length === 0 ? { unit, file, made } : { unit, file })
    if (this.units.size > unitsKept) this.units.delete(this.units.keys().next().value!)
    return made
  }

  /** The facts of a unit's sources, as the realm takes them. */
  #facts(unit: Compiled["unit"], file: string): Primitive[] {
    const known = this.#factsOf.get(unit)
    if (known !== undefined) return known
    const facts = unit.sources.flatMap((source) => {
      const { filename, line, column } = source
      const record = sourceOf(source, filename === unit.filename ? file : filename, line, column)
      return factsOf(record)
    })
    this.#factsOf.set(unit, facts)
    return facts
  }

  /** Makes the functions of committed sources known to the realm. One that cannot be is missed by the groups that refer to it. */
  #addSources(sources: readonly SourceOfFunctions[]): void {
    for (const record of sources) {
      this.#sources.set(record.id, record)
      this.#look(record.source)
      this.#addSkeleton(record)
    }
  }

  /** It may be a property that code put on the global object, or lead to objects that a prelude keeps. */
  #isUnknown(name: string): boolean {
    if (this.#mayReachGlobal && !this.isRealmGlobal(name)) return true
    return this.preludes.id !== 0 && this.realm.api.isPreludeStateful(name)
  }

  #addSkeleton(record: SourceOfFunctions): void {
    const { api } = this.realm
    const filename = `nacre:site/${record.id}`
    if (this.#siteUnits.has(filename)) return
    const { source, cells, roots, file, line, column } = record
    const { names, prelude } = cellsOf(cells)
    const site = { source, cells: names, roots: splitNames(roots), filename: file, line, column }
    const unit = compileSkeleton(site, filename)
    if ("errors" in unit) return
    this.#siteUnits.set(filename, { unit, file })
    if (prelude === "") for (const name of site.cells) this.#captured.add(name)
    const made = this.realm.run(newScript(unit.code, filename))
    api.addSource(made as Parameters<typeof api.addSource>[0], this.realm.list(factsOf(record)))
  }

  #reachedFrom(name: string): readonly string[] {
    const names: string[] = []
    for (const id of this.#encoded.get(name)?.sources ?? []) {
      const source = this.#sources.get(id)
      if (source !== undefined) names.push(...splitNames(source.cells), ...splitNames(source.roots))
    }
    return names
  }

  /** Forgets sources that no binding refers to; counting is put off until it is worth it. */
  #dropSources(): string[] {
    if (this.#sources.size <= this.#sourcesUsed * 2 + sourcesSlack) return []
    const used = new Set<string>()
    for (const { sources = [] } of this.#encoded.values()) for (const id of sources) used.add(id)
    this.#sourcesUsed = used.size
    const dropped: string[] = []
    for (const id of this.#sources.keys()) if (!used.has(id)) dropped.push(id)
    for (const id of dropped) this.#sources.delete(id)
    return dropped
  }

  #build(checkpoint: Checkpoint, late: readonly DefinitionRecord[]): true {
    const { api } = this.realm
    this.#addSources(checkpoint.sources)
    const readonly = new Map(checkpoint.locals.map((local) => [local.name, local.readonly]))
    const isReadonly = (name: string): boolean => readonly.get(name) ?? false
    const own = new Set(readonly.keys())
    for (const { name, kind } of checkpoint.definitions) if (!isType(kind)) own.add(name)
    const isOwn = (name: string): boolean => own.has(name)
    const failed = this.#buildDefinitions(checkpoint)
    for (const { name, value } of checkpoint.plain) {
      api.setPrimitive(name, value, isReadonly(name))
      this.#encoded.set(name, { names: [name], print: printOfPrimitive(value) })
    }
    const groups = checkpoint.groups.filter((group) => !this.#bindGroup(group, isReadonly))
    for (const { name, reason } of checkpoint.lost) if (!isCodeChange(name)) api.lose(name, reason)
    const kept = failed.filter(({ name }) => this.kind(name) !== "definition")
    const rest = this.#makeInTurns({ kept, groups, isReadonly, isOwn })
    if (late.length > 0) this.#postponed = rest
    else this.#loseRest(rest)
    this.#lostImports.push(...copyStrings(api.applyChanges()))
    for (const name of copyStrings(api.changeNames())) this.#codeChanges.set(name, api.changeOwner(name))
    for (const owner of this.#codeChanges.values()) {
      this.#mayReachBuiltIns ||= owner === builtIns
      this.#mayReachGlobal ||= owner === globalObject
    }
    for (const which of ["value", "error"] as const) {
      const bytes = which === "value" ? checkpoint.lastValue : checkpoint.lastError
      if (bytes === undefined || bytes.length === 0) continue
      const { table, chunks } = this.realm.table(bytes)
      api.setLast(which, table, chunks)
    }
    return true
  }

  /**
   * Makes definitions and values that need each other, a definition that reads a local when it is made or a value that refers to such a definition, until
   * no more can be made; gives the rest.
   */
  #makeInTurns({ kept, groups, isReadonly, isOwn }: Postponed): Postponed {
    let rest = kept
    let unbound = groups
    for (let left = -1; left !== rest.length + unbound.length;) {
      left = rest.length + unbound.length
      rest = rest.filter((each) => this.#makeAlone(each, isOwn) !== undefined)
      unbound = unbound.filter((group) => !this.#bindGroup(group, isReadonly))
    }
    return { kept: rest, groups: unbound, isReadonly, isOwn }
  }

  /** A definition whose fellows may not be there yet: it reaches those through their cells. Gives what went wrong. */
  #makeAlone(definition: KeptDefinition, isOwn: (name: string) => boolean): string | undefined {
    const names: NameTable = {
      kind: (name) => this.kind(name) ?? (isOwn(name) ? "local" : undefined),
      isRealmGlobal: (name) => this.isRealmGlobal(name),
      dependencies: (name) => this.dependencies(name),
    }
    return this.#install([definition], names, `nacre:again/${++this.#retargets}`)
  }

  /** Names of groups are lost already. */
  #loseRest({ kept, groups, isOwn }: Postponed): void {
    for (const each of kept) {
      const problem = this.#makeAlone(each, isOwn)
      if (problem !== undefined) this.#loseDefinitions([each], problem)
    }
    for (const name of groups.flatMap(({ names }) => names)) if (isCodeChange(name)) this.#lostImports.push(name)
  }

  /** False when its names are lost. */
  #bindGroup(
    { names, bytes, sources = [], aliases = [] }: Checkpoint["groups"][number],
    isReadonly: (name: string) => boolean,
  ): boolean {
    const { api } = this.realm
    const { table, chunks } = this.realm.table(bytes)
    const inBytes = names.map((name) => aliases.find((it) => it.name === name)?.inBytes ?? name)
    const list = this.realm.list.bind(this.realm)
    const problem = api.bindGroup(table, chunks, list(names), list(names.map(isReadonly)), list(inBytes))
    if (problem !== undefined) {
      for (const name of names) {
        if (!isCodeChange(name)) api.lose(name, `its bytes could not be read back: ${problem}`)
      }
    }
    const print = fingerprint(bytes)
    const encoded = { names, print, sources, size: bytes.length }
    for (const name of names) this.#encoded.set(name, encoded)
    return problem === undefined
  }

  /** Makes the checkpoint's definitions; gives all when one could not be made before the locals stand. */
  #buildDefinitions({ definitions: records, locals }: Checkpoint): KeptDefinition[] {
    const kept: KeptDefinition[] = []
    // Locals are not bound yet, and lost ones will throw when they are read: definitions reach both through their cells.
    const kinds = new Map<string, NameKind>(locals.map(({ name, readonly }) => [name, readonly ? "readonly" : "local"]))
    for (const record of records) {
      this.#look(record.source)
      this.#definitions.set(record.name, { ...noFacts, record })
      if (isImport(record)) {
        this.#definitions.set(record.name, { ...noFacts, record, reads: record.dependencies })
        // A lost one is read through its cell, which throws.
        kinds.set(record.name, "import")
        continue
      }
      // One with data is not made again: it is among the locals.
      if (isType(record.kind) || record.isData) continue
      kinds.set(record.name, "definition")
      kept.push(...keptOf([record]))
    }
    if (kept.length === 0) return kept
    const names: NameTable = {
      kind: (name) => kinds.get(name) ?? this.kind(name),
      isRealmGlobal: (name) => this.isRealmGlobal(name),
      jsx: this.jsx,
    }
    return this.#install(kept, names, "nacre:definitions") === undefined ? [] : kept
  }

  /** Names that were definitions become locals: their dependents are made again to read them so, and copies of them become values. */
  #retarget(replaces: readonly string[]): void {
    const { api } = this.realm
    const dependents = [...this.#definitions.values()].filter(({ record }) =>
      record.dependencies.some((name) => replaces.includes(name)),
    )
    const kept: KeptDefinition[] = []
    for (const { record, readsWhenMade } of dependents) {
      const { name, kind } = record
      if (replaces.includes(name) || isType(kind) || record.isData || kind === "import") continue
      if (readsWhenMade.some((read) => replaces.includes(read))) this.#stale.push(name)
      else kept.push(...keptOf([record]))
    }
    this.#remake(kept, replaces)
    // After that, since making definitions counts as given and this as a change of the eval.
    for (const name of this.#stale) api.demote(name)
  }

  /** What was made together with a definition that is declared again is made by itself, so that it finds the new one. */
  #separate(redefines: readonly string[]): void {
    const members = new Set(redefines.flatMap((name) => copyStrings(this.realm.api.madeWith(name))))
    for (const name of redefines) members.delete(name)
    const records = Array.from(members, (name) => this.#definitions.get(name)?.record).filter((it) => it !== undefined)
    this.#remake(keptOf(records), [])
  }

  #remake(kept: readonly KeptDefinition[], replaces: readonly string[]): void {
    if (kept.length === 0) return
    const names: NameTable = {
      kind: (name) => (replaces.includes(name) ? "local" : this.kind(name)),
      isRealmGlobal: (name) => this.isRealmGlobal(name),
      jsx: this.jsx,
    }
    const problem = this.#install(kept, names, `nacre:retargeted/${++this.#retargets}`)
    if (problem !== undefined) this.#loseDefinitions(kept, problem)
  }

  /** Compiles and makes definitions; gives what went wrong. */
  #install(
    kept: readonly KeptDefinition[],
    names: NameTable,
    filename: string,
    declaresAgain = false,
  ): string | undefined {
    const unit = compileDefinitions(kept, names, filename, declaresAgain)
    if (!unit.valid) return unit.rendered
    this.units.set(filename, { unit, file: filename })
    for (const name of unit.captures) this.#captured.add(name)
    const own = this.#definitionsOf({ unit }, "")
    for (const { name } of kept) {
      const compiled = own.get(name)
      const record = this.#definitions.get(name)?.record
      if (compiled !== undefined) this.#definitions.set(name, record === undefined ? compiled : { ...compiled, record })
    }
    const { api } = this.realm
    return api.install(
      this.realm.run(newScript(unit.code, filename)) as Parameters<typeof api.install>[0],
      this.realm.list(unit.definitions.map((it) => it.name)),
      this.realm.list(unit.definitions.map((it) => it.hasPrivateNames)),
      this.realm.list(this.#facts(unit, filename)),
    )
  }

  #loseDefinitions(kept: readonly KeptDefinition[], problem: string): void {
    for (const { name } of kept) {
      if (this.kind(name) === undefined) this.realm.api.lose(name, `its definition could not be made again: ${problem}`)
    }
  }

  /** The unit's definitions by name; the declarations of one name are one definition. */
  #definitionsOf({ unit }: Pick<Compiled, "unit">, file: string): Map<string, Definition> {
    const own = new Map<string, Definition>()
    const facts: ImportFacts = new Map()
    for (const definition of unit.definitions) {
      // Of several with one name each has the text of all.
      const { name, kind, source, span, dependencies, cells, readsWhenMade, hasPrivateNames, digest } = definition
      const { module } = definition
      const reads = [...dependencies, ...cells]
      const before = own.get(name)
      if (before === undefined) {
        const record: DefinitionRecord = {
          name,
          kind,
          source,
          file,
          line: span.line,
          column: span.column,
          dependencies,
          digest,
        }
        if (module !== undefined) this.#imports.describe(record, module, facts)
        own.set(name, {
          record,
          reads: module === undefined ? reads : record.dependencies,
          readsWhenMade,
          hasPrivateNames,
        })
        continue
      }
      const { record } = before
      own.set(name, {
        record: {
          ...record,
          kind: isType(record.kind) ? kind : record.kind,
          dependencies: [...record.dependencies, ...dependencies],
        },
        reads: [...before.reads, ...reads],
        readsWhenMade: [...before.readsWhenMade, ...readsWhenMade],
        hasPrivateNames: before.hasPrivateNames || hasPrivateNames,
      })
    }
    return own
  }

  /** Writes what evals have put off. */
  writePending(): Pick<ChangeAnswer, "plain" | "groups" | "sources" | "ephemeral"> {
    return this.#encode({ touched: { locals: noLocals, definitions: [] }, assigned: noLocals })
  }

  /** What a commit writes of the locals. Groups of more bytes than `defersAbove` are put off, and all that may hang together with them. */
  #encode({ touched, assigned, moved, defersAbove = Infinity }: WhatToEncode) {
    const plain: Delta["plain"] & object = []
    const groups: Delta["groups"] & object = []
    const late: string[] = []
    // Changed, and not by anything that this eval's code could reach: by code of an earlier one.
    const explained = new Set(assigned)
    if (touched !== "all") {
      for (const name of touched.locals)
        for (const member of this.#encoded.get(name)?.names ?? [name]) explained.add(member)
    }
    for (const name of this.#pending) explained.add(name)
    const isLate = (name: string): boolean => touched !== "all" && !explained.has(name)
    const objects: string[] = []
    let all = this.#namesToEncode(touched, assigned)
    const isDue = (name: string): boolean =>
      this.#pending.has(name) || (this.#encoded.get(name)?.size ?? 0) > defersAbove
    const defers = defersAbove < Infinity && all.some(isDue)
    if (!defers && this.#pending.size > 0) all = [...new Set([...all, ...this.#pending])]
    for (const name of all) {
      if (defers && isLocal(this.kind(name)) && !this.realm.api.isPrimitive(name)) {
        this.#pending.add(name)
        continue
      }
      this.#pending.delete(name)
      this.#ephemeral.delete(name)
      if (!isLocal(this.kind(name))) continue
      if (!this.realm.calls.isPrimitive(name)) {
        objects.push(name)
        continue
      }
      const value = this.realm.calls.primitive(name)
      const print = printOfPrimitive(value)
      const before = this.#encoded.get(name)
      const isSame = before !== undefined && before.print === print && before.names.length === 1
      if (isSame && !assigned.has(name)) continue
      if (!isSame && before !== undefined && isLate(name)) late.push(name)
      const names = [name]
      this.#encoded.set(name, { names, print })
      if (isPlainValue(value)) plain.push({ name, value })
      else groups.push({ names, bytes: packPrimitive(name, value) })
    }
    const sources: SourceOfFunctions[] = []
    if (objects.length === 0) return { plain, groups, ephemeral: [], late, sources }
    const encoded = this.realm.encode(objects)
    this.#noteReferenced()
    for (const { name } of encoded.ephemeral) {
      this.#ephemeral.add(name)
      this.#encoded.delete(name)
    }
    if (moved !== undefined && moved.size > 0) {
      for (const group of encoded.groups) if (group.names.some((name) => moved.has(name))) this.#makeAgain(group)
      this.realm.api.endMove()
    }
    for (const { names, bytes, sources: records, isInert } of encoded.groups) {
      const print = fingerprint(bytes)
      const ids = records.map(({ id }) => id)
      const group = ids.length === 0 ? { names, bytes } : { names, bytes, sources: ids }
      let isChanged = false
      for (const name of group.names) {
        const before = this.#encoded.get(name)
        const isSame = before?.print === print && before.names.length === group.names.length
        isChanged ||= !isSame || assigned.has(name)
        if (!isSame && before !== undefined && group.names.every(isLate)) late.push(name)
        this.#encoded.set(name, { names: group.names, print, sources: ids, size: bytes.length, isInert })
      }
      if (!isChanged) continue
      groups.push(group)
      for (const record of records) {
        if (this.#sources.has(record.id)) continue
        this.#sources.set(record.id, record)
        sources.push(record)
      }
    }
    return { plain, groups, ephemeral: encoded.ephemeral, late, sources }
  }

  #isLarge({ locals }: Touched): boolean {
    let bytes = 0
    for (const name of locals) bytes += this.#encoded.get(name)?.size ?? 0
    return bytes > this.provesAbove
  }

  /**
   * Whether the eval can have changed nothing but the names that it assigned: its text only reads, and so do those of the functions that it reaches; what it
   * has found there is data.
   */
  #hasOnlyRead(
    { message, queue, hadNested }: RunningEval,
    unit: Compiled["unit"],
    own: ReadonlyMap<string, Definition>,
    assigned: readonly string[],
  ): boolean {
    const { api } = this.realm
    if (this.#mayLinger || this.#codeChanges.size > 0 || this.jsx !== undefined || message.pinned !== undefined)
      return false
    if (message.args !== undefined || message.retain !== undefined || queue.length > 0 || hadNested) return false
    // An object that is bound now may hold what others hold: only encoding tells.
    if (assigned.some((name) => isLocal(this.kind(name)) && !api.isPrimitive(name))) return false
    return this.#onlyReads.proves(
      { key: unit, source: message.source, outer: unit.mentions },
      {
        codeOf: (name) => {
          const definition = codeOf(own.get(name) ?? this.#definitions.get(name))
          if (definition === undefined) return undefined
          const { record, reads } = definition
          return record.wrappers === undefined ? { key: record, source: record.source, outer: reads } : "opaque"
        },
        isInert: (name) =>
          isLocal(this.kind(name)) &&
          !this.#ephemeral.has(name) &&
          (api.isPrimitive(name) || this.#encoded.get(name)?.isInert === true),
        isBound: (name) => this.kind(name) !== undefined,
      },
    )
  }

  /** Touched locals with all that share a group with them; every local when anything may have changed. */
  #namesToEncode(touched: Touched | "all", assigned: ReadonlySet<string>): string[] {
    if (touched === "all" || this.#mayLinger) return copyStrings(this.realm.api.locals())
    const wanted = new Set(assigned)
    for (const name of touched.locals) {
      for (const member of this.#encoded.get(name)?.names ?? [name]) wanted.add(member)
    }
    return [...wanted]
  }

  /** Built-ins are reached without a name of the session, as files are: what was changed of the ones and what the others use is part of every eval. */
  #withBuiltInChanges(
    unit: Compiled["unit"],
  ): Pick<Compiled["unit"], "mentions" | "usesDirectEval" | "mentionsGlobalThis"> {
    const names = [...this.modules.sessionNames]
    for (const [name, owner] of this.#codeChanges) if (owner === builtIns || owner === globalObject) names.push(name)
    if (names.length === 0) return unit
    const { usesDirectEval, mentionsGlobalThis, mentions } = unit
    return { usesDirectEval, mentionsGlobalThis, mentions: [...mentions, ...names] }
  }

  /** A definition's code also reaches what was put on it. */
  #withChanges(name: string, definition: Definition | undefined): { reads: readonly string[] } | undefined {
    if (definition === undefined || this.#codeChanges.size === 0) return definition
    const names: string[] = []
    for (const [change, owner] of this.#codeChanges) if (owner === name) names.push(change)
    return names.length === 0 ? definition : { reads: [...definition.reads, ...names] }
  }

  /** Looks for changes to built-ins and definitions where the eval may have made some; gives the names of those that must be written. */
  #noteCode(
    touched: Touched | "all",
    redefined: readonly string[],
    isCleared: boolean,
    mustLook: boolean,
  ): { set: string[]; removed: string[] } {
    const { api } = this.realm
    const changes = this.#codeChanges
    const asked = new Set(touched === "all" || this.#mayLinger ? this.#definitions.keys() : touched.definitions)
    if (changes.size > 0) for (const name of redefined) asked.add(name)
    for (const owner of this.#replacedOwners) asked.add(owner)
    this.#replacedOwners.clear()
    if (isCleared) for (const owner of changes.values()) asked.add(owner)
    const owners = new Set(changes.values())
    this.#commits += 1
    const withBuiltIns =
      mustLook ||
      this.#mayReachBuiltIns ||
      this.realm.calls.holdsBuiltIn() ||
      owners.has(builtIns) ||
      this.#commits % (this.#mayHideWords ? builtInsOftenEvery : builtInsEvery) === 0
    const withGlobals = this.#mayReachGlobal || owners.has(globalObject)
    if (asked.size === 0 && !withBuiltIns && !withGlobals) return { set: [], removed: [] }
    const globals = withGlobals ? this.realm.changedGlobals() : []
    const noted = api.noteChanges(
      this.realm.list([...asked]),
      withBuiltIns,
      withGlobals ? this.realm.list(globals) : undefined,
    )
    for (const name of copyStrings(noted.set)) changes.set(name, api.changeOwner(name))
    const removed = copyStrings(noted.removed)
    const set = isCleared ? [...changes.keys()].filter((name) => !removed.includes(name)) : copyStrings(noted.set)
    return { set, removed }
  }

  #noteReferenced(): void {
    const found = this.realm.api.takeReferenced()
    for (let index = 0; index < found.length; index++) this.#referenced.add(found[index]!)
  }

  #forget(name: string): void {
    this.#encoded.delete(name)
    this.#ephemeral.delete(name)
    this.#pending.delete(name)
  }
}

/** A definition that holds data is reached as a local. */
function codeOf(definition: Definition | undefined): Definition | undefined {
  return definition?.record.isData === true ? undefined : definition
}

/** Definitions as the compiler takes them; types have no value. */
function keptOf(records: readonly DefinitionRecord[]): KeptDefinition[] {
  return records
    .filter(({ kind }) => !isType(kind) && kind !== "import")
    .map(({ name, kind, source, file, line, column, isData, wrappers }) => ({
      name,
      kind: kind as KeptDefinition["kind"],
      source,
      filename: file,
      line,
      column,
      isData,
      wrappers: wrappers?.map((it) => ({ source: it.source, filename: it.file, line: it.line, column: it.column })),
    }))
}

export function emptyAnswer(answer: Partial<ChangeAnswer>): ChangeAnswer {
  return { declarations: [], plain: [], groups: [], sources: [], ephemeral: [], made: [], ...answer }
}

function problemOf(message: string): ErrorRecord {
  return { name: "Error", message, stack: [], spans: [], rendered: message }
}

/** One primitive as a group of its own. */
function packPrimitive(name: string, value: Primitive): Uint8Array {
  return packValue({ table: [formatVersion, 1, name, value], chunks: [] })
}

function isLocal(kind: NameKind | undefined): boolean {
  return kind === "local" || kind === "readonly"
}

function isDefined(kind: NameKind | undefined): boolean {
  return kind === "definition" || kind === "import"
}

function isImport({ kind }: { kind: string }): boolean {
  return kind === "import"
}

function isType(kind: string): boolean {
  return kind === "type" || kind === "interface"
}

/** A primitive as it is encoded, told apart from every other one. */
function printOfPrimitive(value: Primitive): string {
  if (typeof value === "string")
    return value.length <= comparedBytesMax ? `string ${value}` : `text ${fingerprint(Buffer.from(value, "utf16le"))}`
  return `${typeof value} ${Object.is(value, -0) ? "-0" : String(value)}`
}

function fingerprint(bytes: Uint8Array): string {
  if (bytes.length <= comparedBytesMax)
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1")
  return createHash("sha1").update(bytes).digest("base64")
}
