// The names of one session in its realm: locals and definitions as cells, and the running of compiled units against them.
//
// A unit is the completion value of a script that `runtime/language/compile.ts` made. Running it prepares dead zones and hoisted names,
// makes its definitions from their factories, makes the dependents of what it redefines again, and then calls its statements. What an
// eval changed is known exactly, since every write goes through a cell: `finish` returns it and settles names whose declaration was never
// reached. Nothing here undoes an eval: the realm of an interrupted one is thrown away.
import { bindCell, bindImport, Cell, readOfImport, restoreCell, savedOf, unbindCell } from "./cell.ts"
import type { CellOwner, CellState, FreeValue, Saved } from "./cell.ts"
import { kindError } from "./bridge.ts"
import { cleanError } from "./messages.ts"
import { classRecord, keyOf, stampClass, workshopOf } from "./classes.ts"
import {
  applyDecorators,
  boundMember,
  callPrivate,
  decoratedState,
  initField,
  runClassExtras,
  runFieldExtras,
  runInstanceExtras,
  runStaticExtras,
} from "./decorators.ts"
import { Resources } from "./disposal.ts"
import type { Redefinition } from "./moves.ts"
import { constructionMode, registerPrivates } from "./privates.ts"
import { aboveHome } from "./super-homes.ts"
import {
  accessorPartOf,
  stampAccessors,
  stampFunction,
  type ScopeDescriptor,
  type Skeleton,
  type SkeletonMaker,
} from "./stamp.ts"
import {
  apply,
  arrayPush,
  ArrayPrototype,
  createObject,
  deleteProperty,
  ErrorOfRealm,
  hasOwn,
  isSame,
  newList,
  objectFreeze,
  ObjectPrototype,
  promiseThen,
  prototypeOf,
  realmGlobal,
  TypeErrorOfRealm,
  SetOf,
  setAdd,
  setDelete,
  setEach,
  setHas,
} from "./intrinsics.ts"

/** One factory of a unit: definitions that need each other are made together. */
export interface UnitGroup {
  /** The number of its first definition among the unit's. */
  first: number
  names: string[]
  kinds: string[]
  /** Whether a definition exists before the first statement runs; otherwise its statement binds it. */
  atStart: boolean[]
  /** Made at its statement, not at the start. */
  isLate: boolean
  dependencies: string[]
  cells: string[]
  /** Cells that are read when it is made: it is made again with what they hold, as with its dependencies. */
  copied?: readonly string[]
  make: (...parameters: unknown[]) => unknown[]
  /** Which members are functions of which all is known that they are made with, their `length` and `name`; missing where none is. */
  bare?: readonly boolean[]
  /** What is known of those that have been made, by number. */
  bareFacts?: (object | undefined)[]
}

/** One import statement. */
export interface UnitImport {
  /** `[specifier, type, form, names]` as JSON: what the worker is asked for. */
  readonly request: string
  readonly names: readonly string[]
  readonly wanted: readonly string[]
  /** By name: makes of a namespace what reads its export. */
  readonly reads: readonly ((namespace: unknown) => () => unknown)[]
}

export interface Unit {
  /** What the tokens of its functions point to. */
  sites: ScopeDescriptor[]
  cells: string[]
  lexical: string[]
  vars: string[]
  /** Left out where there are none, in units that tests write by hand. */
  imports?: readonly UnitImport[]
  groups: UnitGroup[]
  run: ((...parameters: unknown[]) => { v: unknown } | Promise<{ v: unknown }>) | undefined
}

/** A definition that lives in the session; also what its name holds while it is in force. There is one for each time that one is made. */
export class Definition implements Saved {
  readonly cell: Cell
  readonly value: unknown
  readonly group: UnitGroup
  /** All that was made together, when that is more than one. */
  readonly made: readonly unknown[] | undefined

  constructor(cell: Cell, value: unknown, group: UnitGroup, made: readonly unknown[]) {
    this.cell = cell
    this.value = value
    this.group = group
    this.made = made.length === 1 ? undefined : made
  }

  get state(): "definition" {
    return "definition"
  }

  get reason(): string {
    return ""
  }
}

/** Definitions that were made for a change and are not in force, or not yet. Lists that go with each other have one item for each name. */
export interface Candidate {
  /** What names become. */
  readonly cells: Cell[]
  readonly afters: Saved[]
  /** What provided names before, in the order in which they were made. */
  readonly noted: Cell[]
  readonly before: (Definition | undefined)[]
  /** What provides them, from the back: the first one of a name is the last that was made. */
  readonly definitions: (Definition | undefined)[]
  /** Every name that was made. */
  readonly made: string[]
  /** Classes that take the place of others. */
  readonly redefinitions: Redefinition[]
}

/** How an earlier revision differs; see `enterRevision`. */
type DifferenceLists = "removed" | "data" | "from" | "reasons" | "plain"

interface PlainValues {
  readonly plainValues: readonly unknown[]
}

/** An earlier revision that is in force, and what stood there before. */
export interface EnteredRevision extends Pick<Candidate, "noted" | "before" | "made"> {
  readonly cells: { readonly cell: Cell; readonly before: Saved; readonly after: Saved }[]
}

export interface EnvironmentOptions {
  /** Answers for a name that is no binding of the session. The default is the realm's global object. */
  resolveFree?(name: string): FreeValue | undefined
  missing?(name: string): Error | undefined
  /** The generation of the workspace's globals. */
  generation?(): number
  /** Whether a name is a global of the workspace. */
  isShared?(name: string): boolean
  /** `import(specifier)`; the default rejects. */
  load?(specifier: unknown, options: unknown): Promise<unknown>
  /** Loads the modules of import statements; gives their namespaces in that order. */
  loadAll?(requests: readonly string[]): Promise<ArrayLike<unknown>>
  /** `import.meta` of session code. */
  meta?: object
  /** Tells the engine's errors from other values without running user code. Without it messages are not put right where session code catches them. */
  isNativeError?(value: unknown): boolean
  /** A definition is in force, fresh from its factory; no other code has seen it yet. */
  onDefined?(name: string, value: unknown): void
  /** The same for one that is `bare`. What this gives is what it gets as `facts` when the definition has been made again by the same factory. */
  onBareDefined?(name: string, value: object, facts: object | undefined): object | undefined
  /** A name is bound to an export, which has that value now. */
  onImported?(name: string, value: unknown): void
}

/** What the names of values begin with that no code has a name for. */
export const unnamedMark = "@"

/** For what is empty in most evals; making a list without a prototype takes longer than a short eval's own code. */
const nothing: never[] = objectFreeze(newList<never>())
const noneListed: Record<string, undefined> = objectFreeze(createObject(null) as Record<string, undefined>)

/** How a unit's statements ended, as far as they have. */
export type RunState = { how: "running" } | { how: "ok"; value: unknown } | { how: "threw"; error: unknown }

/**
 * One run of a unit. While `state` is `running`, whoever started it sets `ended` to be called once. It is a callback and no promise, since
 * awaiting a realm's promise from outside calls that realm's `then`, which session code may have replaced.
 */
export class Run {
  readonly unit: Unit
  state: RunState = { how: "running" }
  ended: (() => void) | undefined = undefined
  /** By number of the definition: made and bound in this run. */
  readonly reached: boolean[]
  /** Definitions made in this run whose statement has not been reached yet, by name. */
  readonly pending: Record<string, { definition: Definition; index: number } | undefined>
  readonly redefined: string[]
  /** Names that its imports have bound. */
  readonly imported: string[]
  /** Of a nested run: what the cells that the eval around it had touched held when it began, in the order of that list. */
  readonly before: readonly Saved[] | undefined

  constructor(unit: Unit, before?: readonly Saved[]) {
    this.unit = unit
    this.before = before
    // Most submissions define nothing.
    const defines = unit.groups.length > 0
    this.reached = defines ? newList() : nothing
    this.pending = defines ? createObject(null) : noneListed
    this.redefined = defines ? newList() : nothing
    this.imported = hasImports(unit) ? newList() : nothing
  }
}

/** What a run did to the session's names. */
export interface Finished {
  /** Names that are locals and were assigned or declared. */
  assigned: string[]
  /** Names that were bound when the eval began and are no longer. */
  removed: string[]
  /** Definitions of the unit that are in force, and those whose statement was never reached. */
  definitions: string[]
  dropped: string[]
  /** Definitions made again because something they depend on changed. */
  rebuilt: string[]
}

export class Environment implements CellOwner {
  readonly #cells: Record<string, Cell | undefined> = createObject(null)
  /** Bound names in the order they were bound. */
  readonly #bound: Record<string, Cell | undefined> = createObject(null)
  readonly #options: EnvironmentOptions
  /** What generated code calls, in definitions too. */
  readonly #hooks: object
  /** Values that the embedder holds by a handle, or an earlier revision by its data: kept as locals are, and no code has a name for them. */
  readonly #unnamed: Record<string, { value: unknown } | undefined> = createObject(null)
  readonly #touched: Cell[] = newList()
  #touchedCount = 0
  #size = 0
  /** Classes that took the place of others since this was last asked. */
  #redefinitions = new Redefinitions()
  /** `_` and `_error`: names of the session but no bindings. */
  lastValue: unknown = undefined
  lastError: unknown = undefined

  constructor(options: EnvironmentOptions = {}) {
    this.#options = options
    const { load, isNativeError } = options
    const reach = (run: Run, index: number): void => this.#reach(run, index)
    this.#hooks = {
      __proto__: null,
      reach(this: RunHooks, index: number) {
        reach(this.run, index)
      },
      keep(this: RunHooks, cell: Cell, value: unknown) {
        if (!isSame(cell.v, value) && this.run.state.how === "running") cell.w = value
      },
      clean: (error: unknown) => {
        if (isNativeError !== undefined) cleanError(error, isNativeError)
        return error
      },
      load: async (specifier: unknown, attributes: unknown) => {
        if (load === undefined)
          throw new ErrorOfRealm("This session cannot load modules: `import()` is not available in it")
        return await load(specifier, attributes)
      },
      meta: options.meta ?? { __proto__: null },
      stamp: stampFunction,
      stampAccessors,
      stampClass,
      workshop: workshopOf,
      above: aboveHome,
      fields: (name: string, made: object, missing: string[], filled: Redefinition["filled"]) => {
        this.#redefine(name, this.readAtStart(name)?.value, made, missing, filled)
      },
      lowered: {
        __proto__: null,
        state: decoratedState,
        key: keyOf,
        apply: applyDecorators,
        init: initField,
        extra: runFieldExtras,
        extras: runInstanceExtras,
        statics: runStaticExtras,
        finish: runClassExtras,
        call: callPrivate,
        bound: boundMember,
        env: () => new Resources(),
        declared: (name: string, made: unknown) => this.#redefine(name, this.readAtStart(name)?.value, made),
      },
      keys: newList,
      key: keyOf,
      accessor: accessorPartOf,
      privates: registerPrivates,
      construction: constructionMode,
    }
  }

  // Names

  get size(): number {
    return this.#size
  }

  cell(name: string): Cell {
    return (this.#cells[name] ??= new Cell(name, this))
  }

  has(name: string): boolean {
    return this.#bound[name] !== undefined
  }

  kindOf(name: string): "local" | "readonly" | "definition" | "import" | undefined {
    if (isUnnamed(name)) return this.#unnamed[name] === undefined ? undefined : "readonly"
    const state = this.#bound[name]?.state
    return state !== undefined && isBoundState(state) ? state : undefined
  }

  names(): string[] {
    const names: string[] = newList()
    for (const name in this.#bound) arrayPush(names, name)
    return names
  }

  /** The value of a bound name as it is now; `undefined` when it is not bound, or an export that is not initialised yet. */
  read(name: string): unknown {
    if (isUnnamed(name)) return this.#unnamed[name]?.value
    const cell = this.#bound[name]
    return cell?.state === "import" ? readExport(readOfImport(cell)) : cell?.v
  }

  /** What a name held when the eval at hand began, or `undefined` when it was not bound. */
  readAtStart(name: string): { state: CellState; value: unknown } | undefined {
    const cell = this.#cells[name]
    if (cell === undefined) return undefined
    const saved = cell.saved
    if (saved?.state === "import") return { state: "import", value: readExport(saved.value as () => unknown) }
    if (saved !== undefined) return isBoundState(saved.state) ? saved : undefined
    return this.has(name) ? { state: cell.state, value: this.read(name) } : undefined
  }

  /** The names that were bound when the eval at hand began. */
  namesAtStart(): string[] {
    const names: string[] = newList()
    for (const name in this.#bound) {
      const { saved } = this.#bound[name]!
      if (saved === undefined || isBoundState(saved.state)) arrayPush(names, name)
    }
    for (let index = 0; index < this.#touchedCount; index++) {
      const { name, saved } = this.#touched[index]!
      if (saved !== undefined && isBoundState(saved.state) && this.#bound[name] === undefined) arrayPush(names, name)
    }
    return names
  }

  /** What the bare name gives now; `undefined` where it would throw. */
  resolveName(name: string): unknown {
    if (this.has(name)) return this.cell(name).v
    return this.resolveFree(name)?.value
  }

  setLocal(name: string, value: unknown, isReadonly = false): void {
    if (isUnnamed(name)) {
      this.#unnamed[name] = { value }
      return
    }
    this.#forget(name)
    bindCell(this.cell(name), isReadonly ? "readonly" : "local", value)
  }

  /** The name stays known, and using it throws with the reason. */
  lose(name: string, reason: string): void {
    if (isUnnamed(name)) return this.remove(name)
    this.#forget(name)
    unbindCell(this.cell(name), "lost", reason)
  }

  remove(name: string): void {
    if (isUnnamed(name)) {
      deleteProperty(this.#unnamed, name)
      return
    }
    this.#forget(name)
    const cell = this.#cells[name]
    if (cell !== undefined && cell.state !== "free") unbindCell(cell, "free")
  }

  forEachLocal(visit: (name: string, value: unknown, isReadonly: boolean) => void): void {
    for (const name in this.#bound) {
      const cell = this.#bound[name]!
      if (cell.state === "local" || cell.state === "readonly") visit(name, cell.v, cell.state === "readonly")
    }
    for (const name in this.#unnamed) visit(name, this.#unnamed[name]!.value, true)
  }

  // What cells ask

  touched(cell: Cell): void {
    this.#touched[this.#touchedCount++] = cell
  }

  bound(cell: Cell, isBound: boolean): void {
    this.#size += isBound ? 1 : -1
    if (isBound) this.#bound[cell.name] = cell
    else deleteProperty(this.#bound, cell.name)
  }

  isShared(name: string): boolean {
    return this.#options.isShared?.(name) === true
  }

  generation(): number {
    return this.#options.generation?.() ?? 0
  }

  missing(name: string): Error | undefined {
    return this.#options.missing?.(name)
  }

  /** Names that no binding has may mean something else from now on. */
  forgetKept(): void {
    for (const name in this.#cells) this.#cells[name]!.kept = undefined
  }

  resolveFree(name: string): FreeValue | undefined {
    if (name === "_") return { value: this.lastValue, generation: undefined }
    if (name === "_error") return { value: this.lastError, generation: undefined }
    const { resolveFree } = this.#options
    if (resolveFree !== undefined) return resolveFree(name)
    if (!(name in realmGlobal)) return undefined
    return { value: (realmGlobal as Record<string, unknown>)[name], generation: undefined }
  }

  /** What changed so far counts as given: the realm stands as its checkpoint says. */
  settle(): void {
    this.#settle()
  }

  /** An activation of a source's root, for functions that come from a checkpoint. */
  activate(make: SkeletonMaker, cells: readonly string[]): Skeleton {
    const parameters: unknown[] = [this.#hooks]
    for (let index = 0; index < cells.length; index++) arrayPush(parameters, this.cell(cells[index]!))
    return apply(make, undefined, parameters)
  }

  /** Takes every binding away. */
  clear(): void {
    const names = this.names()
    for (let index = 0; index < names.length; index++) this.remove(names[index]!)
  }

  /** Definitions of the run's unit that are in force so far. */
  reachedDefinitions(run: Run): string[] {
    const names: string[] = newList()
    const { groups } = run.unit
    for (let index = 0; index < groups.length; index++) {
      const group = groups[index]!
      for (let member = 0; member < group.names.length; member++) {
        if (run.reached[group.first + member] === true) arrayPush(names, group.names[member]!)
      }
    }
    return names
  }

  /** Classes that took the place of others in the eval that has just ended; one whose statement was never reached did not. */
  takeRedefinitions(): readonly Redefinition[] {
    const noted = this.#redefinitions.list
    if (noted.length === 0) return nothing
    this.#redefinitions = new Redefinitions()
    const kept: Redefinition[] = newList()
    const replaced = new SetOf<unknown>()
    for (let at = noted.length - 1; at >= 0; at--) {
      const { name, from, to } = noted[at]!
      // One may have taken the place of the next.
      if (this.read(name) !== to && !setHas(replaced, to)) continue
      setAdd(replaced, from)
      kept[kept.length] = noted[at]!
    }
    const taken: Redefinition[] = newList()
    for (let at = kept.length - 1; at >= 0; at--) taken[taken.length] = kept[at]!
    return taken
  }

  /** A class took the place of another; `filled` are fields that can be put on instances of that. */
  #redefine(
    name: string,
    from: unknown,
    to: unknown,
    missing: readonly string[] = nothing,
    filled: Redefinition["filled"] = nothing,
  ): void {
    if (typeof from !== "function" || typeof to !== "function" || from === to) return
    if (classRecord(from) === undefined || classRecord(to) === undefined) return
    this.#redefinitions.add({ name, from, to, missing, filled })
  }

  /** The name is bound to what takes the place of what it held, which matters of classes alone. */
  #redefineClass(name: string, to: unknown): void {
    if (typeof to !== "function" || classRecord(to) === undefined) return
    this.#redefine(name, this.readAtStart(name)?.value, to)
  }

  // Definitions

  /** Makes the definitions of a unit without statements, in a new realm. A definition that throws rejects the whole. */
  install(unit: Unit): void {
    const run = new Run(unit)
    for (let index = 0; index < unit.groups.length; index++) {
      const group = unit.groups[index]!
      this.#make(run, group)
      for (let member = 0; member < group.names.length; member++) this.#reach(run, group.first + member)
    }
    this.#settle()
  }

  /**
   * Makes the definitions of a unit as they would stand after a change, with everything that depends on them or on a removed name. Until
   * `leaveCandidate` they are in force, so that they find each other however they are reached; nobody else runs meanwhile. Those named in
   * `data` hold a value and are bound as read-only locals. Throws what making them threw; nothing has changed then.
   */
  enterCandidate(
    unit: Unit,
    data: readonly string[],
    removed: readonly string[],
    guarded: readonly string[],
  ): Candidate {
    const candidate = emptyCandidate()
    this.#redefinitions = new Redefinitions()
    // What code of an ended eval has assigned since is none of the change's, and is not taken back with it.
    this.#settle()
    for (let index = 0; index < guarded.length; index++) {
      if (this.#bound[guarded[index]!] !== undefined) unbindCell(this.cell(guarded[index]!), "guarded")
    }
    try {
      for (let index = 0; index < removed.length; index++) {
        noteDefinition(candidate, this.cell(removed[index]!))
        this.remove(removed[index]!)
      }
      const names: string[] = newList()
      for (let index = 0; index < removed.length; index++) arrayPush(names, removed[index]!)
      const isData = listedNames(data)
      // What is made before them must not find what they were.
      for (let index = 0; index < unit.groups.length; index++) {
        const own = unit.groups[index]!.names
        for (let member = 0; member < own.length; member++) unbindCell(this.cell(own[member]!), "dead")
      }
      for (let index = 0; index < unit.groups.length; index++) {
        const group = unit.groups[index]!
        this.#bindGroup(candidate, group, this.#instances(group), isData)
        for (let member = 0; member < group.names.length; member++) arrayPush(names, group.names[member]!)
      }
      const order = this.#dependentsInOrder(names, true)
      for (let index = order.length - 1; index >= 0; index--) {
        this.#bindGroup(candidate, order[index]!, this.#instances(order[index]!), undefined)
      }
    } catch (error) {
      this.#unguard()
      this.leaveCandidate(candidate)
      throw error
    }
    this.#unguard()
    return candidate
  }

  /** Binds the members of a group that were made; with `isData` undefined only those that it still provides. */
  #bindGroup(
    candidate: Candidate,
    group: UnitGroup,
    values: readonly unknown[],
    isData: Readonly<Record<string, true | undefined>> | undefined,
  ): void {
    const { names } = group
    const { made } = candidate
    for (let member = 0; member < names.length; member++) {
      const cell = this.cell(names[member]!)
      if (isData === undefined && cell.definition?.group !== group) continue
      noteDefinition(candidate, cell)
      made[made.length] = cell.name
      const value = values[member]
      this.#redefineClass(cell.name, value)
      if (isData !== undefined && isData[cell.name] === true) this.setLocal(cell.name, value, true)
      else this.#define(new Definition(cell, value, group, values), member)
    }
  }

  #unguard(): void {
    for (let index = 0; index < this.#touchedCount; index++) {
      const cell = this.#touched[index]!
      if (cell.state === "guarded") restoreCell(cell)
    }
  }

  /** Takes what was made out of force. The realm is as it was before, and the candidate can be put in force later. */
  leaveCandidate(candidate: Candidate): void {
    const { noted, before, definitions, cells, afters, redefinitions } = candidate
    const { list } = this.#redefinitions
    for (let index = 0; index < list.length; index++) arrayPush(redefinitions, list[index]!)
    this.#redefinitions = new Redefinitions()
    for (let index = noted.length - 1; index >= 0; index--) {
      const cell = noted[index]!
      definitions[definitions.length] = cell.definition
      this.#provide(cell, before[index])
    }
    const count = this.#touchedCount
    for (let index = 0; index < count; index++) {
      const cell = this.#touched[index]!
      cells[index] = cell
      afters[index] = savedOf(cell)
      restoreCell(cell)
    }
    this.#settle()
  }

  /**
   * Puts an earlier revision in force until `leaveRevision`: makes the definitions of the unit, and what depends on them, as they stood then,
   * and takes away what was not there. `data` has its values under the names of `from`; where there is none it is lost, for a reason. Throws what
   * making them threw; nothing has changed then.
   */
  enterRevision(
    unit: Unit,
    { removed, data, from, reasons, plain, plainValues }: Record<DifferenceLists, readonly string[]> & PlainValues,
  ): EnteredRevision {
    const candidate = emptyCandidate()
    this.#settle()
    const names: string[] = newList()
    for (let index = 0; index < data.length; index++) {
      const name = data[index]!
      const kept = this.#unnamed[from[index]!]
      noteDefinition(candidate, this.cell(name))
      if (kept === undefined) this.lose(name, reasons[index]!)
      else this.setLocal(name, kept.value, true)
      arrayPush(names, name)
    }
    for (let index = 0; index < plain.length; index++) {
      noteDefinition(candidate, this.cell(plain[index]!))
      this.setLocal(plain[index]!, plainValues[index], true)
      arrayPush(names, plain[index]!)
    }
    for (let index = 0; index < removed.length; index++) {
      noteDefinition(candidate, this.cell(removed[index]!))
      this.remove(removed[index]!)
      arrayPush(names, removed[index]!)
    }
    try {
      for (let index = 0; index < unit.groups.length; index++) {
        const group = unit.groups[index]!
        this.#bindGroup(candidate, group, this.#instances(group), noneListed)
        for (let member = 0; member < group.names.length; member++) arrayPush(names, group.names[member]!)
      }
      const order = this.#dependentsInOrder(names)
      for (let index = order.length - 1; index >= 0; index--) {
        this.#bindGroup(candidate, order[index]!, this.#instances(order[index]!), undefined)
      }
    } catch (error) {
      this.leaveRevision(this.#entered(candidate))
      throw error
    }
    return this.#entered(candidate)
  }

  #entered({ noted, before, made }: Candidate): EnteredRevision {
    const cells: EnteredRevision["cells"] = newList()
    for (let index = 0; index < this.#touchedCount; index++) {
      const cell = this.#touched[index]!
      arrayPush(cells, { cell, before: cell.saved!, after: savedOf(cell) })
    }
    // Classes of an earlier revision take nobody's place.
    this.#redefinitions = new Redefinitions()
    this.#settle()
    return { cells, noted, before, made }
  }

  /** Puts back what an earlier revision stood in front of; gives the names that were changed meanwhile, which is undone with it. */
  leaveRevision({ cells, noted, before }: EnteredRevision): string[] {
    const changed: string[] = newList()
    for (let index = 0; index < cells.length; index++) {
      const { cell, before: saved, after } = cells[index]!
      if (!isUnchangedSince(cell, after)) arrayPush(changed, cell.name)
      restoreCell(cell, saved)
    }
    for (let index = noted.length - 1; index >= 0; index--) {
      const cell = noted[index]!
      const made = cell.definition?.group
      if (made !== undefined && made !== before[index]?.group) this.#unnote(made)
      this.#provide(cell, before[index])
    }
    this.#settle()
    return changed
  }

  /** Takes a group that goes out of force from those that use a name. */
  #unnote(group: UnitGroup): void {
    for (let at = 0; at < group.dependencies.length; at++)
      dropGroup(this.cell(group.dependencies[at]!).dependents, group)
    for (let at = 0; at < group.cells.length; at++) dropGroup(this.cell(group.cells[at]!).readers, group)
    const copied = group.copied ?? nothing
    for (let at = 0; at < copied.length; at++) dropGroup(this.cell(copied[at]!).dependents, group)
  }

  /** Puts a candidate in force that was made on the very state that the realm holds. */
  publish({ cells, afters, noted, definitions, redefinitions }: Candidate): void {
    for (let index = 0; index < redefinitions.length; index++) {
      this.#redefinitions.add(redefinitions[index]!)
    }
    for (let index = 0; index < cells.length; index++) restoreCell(cells[index]!, afters[index])
    for (let index = 0; index < noted.length; index++) {
      this.#provide(noted[index]!, definitions[noted.length - 1 - index])
    }
    this.#settle()
  }

  /** A definition whose declaration can no longer be made stays as a read-only local with the value it has. */
  demote(name: string): void {
    const cell = this.cell(name)
    if (cell.definition === undefined) return
    const { value } = cell.definition
    cell.definition = undefined
    bindCell(cell, "readonly", value)
  }

  /** Definitions that one factory makes together with that one, and still provides: they reach it as a variable of that. */
  madeWith(name: string): string[] {
    const names: string[] = newList()
    const group = this.#cells[name]?.definition?.group
    if (group === undefined) return names
    for (let index = 0; index < group.names.length; index++) {
      const other: string = group.names[index]!
      if (other !== name && this.#cells[other]?.definition?.group === group) arrayPush(names, other)
    }
    return names
  }

  /** Whether an object that a definition holds is what another name is bound to: one that was made with it, or a local that it reads. */
  isOfAnother(name: string, object: object): boolean {
    const definition = this.#cells[name]?.definition
    if (definition === undefined) return false
    const { made, value, group } = definition
    if (made !== undefined && object !== value) {
      for (let index = 0; index < made.length; index++) if (made[index] === object) return true
    }
    return this.#isOfLocal(group.cells, object) || this.#isOfLocal(group.dependencies, object)
  }

  #isOfLocal(names: readonly string[], object: object): boolean {
    for (let index = 0; index < names.length; index++) {
      const cell = this.cell(names[index]!)
      if ((cell.state === "local" || cell.state === "readonly") && cell.v === object) return true
    }
    return false
  }

  #forget(name: string): void {
    const cell = this.#cells[name]
    if (cell !== undefined) cell.definition = undefined
  }

  /** Calls a group's factory with what is in force now; its definitions wait until they are reached. */
  #make(run: Run, group: UnitGroup): void {
    const values = this.#instances(group, run)
    for (let member = 0; member < group.names.length; member++) {
      const cell = this.cell(group.names[member]!)
      const definition = new Definition(cell, values[member], group, values)
      run.pending[cell.name] = { definition, index: group.first + member }
    }
  }

  /** Calls a group's factory, with what a run has made and not bound yet, or else with what is in force. */
  #instances(group: UnitGroup, run?: Run): unknown[] {
    const { dependencies, cells, make } = group
    // Most depend on next to nothing, and an argument list takes as long as making one of those.
    const count = dependencies.length + cells.length
    if (count === 0) return make(this.#hooks)
    if (count === 1) return make(this.#hooks, this.#parameter(group, 0, run))
    if (count === 2) return make(this.#hooks, this.#parameter(group, 0, run), this.#parameter(group, 1, run))
    const parameters: unknown[] = newList()
    parameters[0] = this.#hooks
    for (let index = 0; index < count; index++) parameters[index + 1] = this.#parameter(group, index, run)
    return apply(make, undefined, parameters)
  }

  #parameter({ dependencies, cells }: UnitGroup, index: number, run: Run | undefined): unknown {
    if (index >= dependencies.length) return this.cell(cells[index - dependencies.length]!)
    const name = dependencies[index]!
    const pending = run?.pending[name]
    return pending === undefined ? this.cell(name).v : pending.definition.value
  }

  /** The statement of a definition is reached: its name is bound, and what depends on an earlier one of that name is made again. */
  #reach(run: Run, index: number): void {
    if (run.reached[index] === true) return
    const { groups } = run.unit
    let at = groups.length - 1
    while (groups[at]!.first > index) at--
    const group = groups[at]!
    const name = group.names[index - group.first]!
    if (run.pending[name] === undefined) this.#make(run, group)
    const { definition } = run.pending[name]!
    run.reached[index] = true
    const wasDefined = definition.cell.definition !== undefined
    this.#redefineClass(name, definition.value)
    this.#define(definition, index - group.first)
    if (wasDefined) arrayPush(run.redefined, name)
    if (wasDefined) this.#rebuildDependents(run, name)
  }

  #define(definition: Definition, member: number): void {
    const { cell, value, group } = definition
    this.#record(definition)
    bindCell(cell, "definition", value)
    const { onDefined, onBareDefined } = this.#options
    if (group.bare !== undefined && group.bare[member] === true && onBareDefined !== undefined) {
      const facts = (group.bareFacts ??= newList())
      facts[member] = onBareDefined(cell.name, value as object, facts[member])
    } else onDefined?.(cell.name, value)
  }

  #record(definition: Definition): void {
    const { cell, group } = definition
    const before = cell.definition
    cell.definition = definition
    // A group that provides something is noted already.
    if (before !== undefined && before.group === group) return
    for (let at = 0; at < group.dependencies.length; at++) {
      const used = this.cell(group.dependencies[at]!)
      setAdd((used.dependents ??= new SetOf<UnitGroup>()), group)
    }
    const copied = group.copied ?? nothing
    for (let at = 0; at < copied.length; at++) {
      const used = this.cell(copied[at]!)
      setAdd((used.dependents ??= new SetOf<UnitGroup>()), group)
    }
    for (let at = 0; at < group.cells.length; at++) {
      const used = this.cell(group.cells[at]!)
      setAdd((used.readers ??= new SetOf<UnitGroup>()), group)
    }
  }

  #provide(cell: Cell, definition: Definition | undefined): void {
    if (definition === undefined) cell.definition = undefined
    else this.#record(definition)
  }

  /** Whether a group still provides one of its names. */
  #isInForce(group: UnitGroup): boolean {
    for (let index = 0; index < group.names.length; index++) {
      if (this.#cells[group.names[index]!]?.definition?.group === group) return true
    }
    return false
  }

  /** Makes everything again that reaches a name through factory parameters, each after what it needs itself. */
  #rebuildDependents(run: Run, changed: string): void {
    const order = this.#dependentsInOrder([changed])
    for (let index = order.length - 1; index >= 0; index--) {
      const group = order[index]!
      const values = this.#instances(group, run)
      for (let member = 0; member < group.names.length; member++) {
        const cell = this.cell(group.names[member]!)
        const { definition } = cell
        if (definition?.group !== group) continue
        this.#redefine(cell.name, definition.value, values[member])
        const again = new Definition(cell, values[member], group, values)
        const pending = run.pending[cell.name]
        if (pending !== undefined && pending.definition === definition) pending.definition = again
        this.#define(again, member)
        arrayPush(run.redefined, cell.name)
      }
    }
  }

  /** Depth first with a stack of its own; the order is that in which the searches end, so it is read from the back. */
  #dependentsInOrder(changed: readonly string[], withReaders = false): UnitGroup[] {
    const order: UnitGroup[] = newList()
    const seen = new SeenGroups()
    const stack: { list: readonly UnitGroup[]; index: number; group: UnitGroup | undefined }[] = newList()
    arrayPush(stack, { list: this.#usersOf(changed, withReaders), index: 0, group: undefined })
    for (let index = 0; index < changed.length; index++) {
      const own = this.#cells[changed[index]!]?.definition?.group
      if (own !== undefined) seen.add(own)
    }
    while (stack.length > 0) {
      const frame = stack[stack.length - 1]!
      if (frame.index < frame.list.length) {
        const group = frame.list[frame.index++]!
        if (!seen.add(group)) continue
        const list = this.#usersOf(group.names, withReaders)
        if (list.length > 0) arrayPush(stack, { list, index: 0, group })
        else order[order.length] = group
        continue
      }
      stack.length -= 1
      if (frame.group !== undefined) order[order.length] = frame.group
    }
    seen.clear()
    return order
  }

  /** The groups that use one of the names and still provide something; the others are forgotten. */
  #usersOf(names: readonly string[], withReaders: boolean): readonly UnitGroup[] {
    let list: UnitGroup[] = nothing
    const addInForce = (groups: Set<UnitGroup>): void => {
      if (list === nothing) list = newList()
      setEach(groups, (group) => {
        if (this.#isInForce(group)) list[list.length] = group
        else dropGroup(groups, group)
      })
    }
    for (let index = 0; index < names.length; index++) {
      const cell = this.#cells[names[index]!]
      if (cell === undefined) continue
      if (cell.dependents !== undefined) addInForce(cell.dependents)
      if (withReaders && cell.readers !== undefined) addInForce(cell.readers)
    }
    return list
  }

  // Running

  /**
   * Runs a unit. What user code throws is in the run's state; nothing is thrown from here. A nested one runs while another is under way, and
   * ends before it: what it changes is a change of that one too.
   */
  start(unit: Unit, isNested = false): Run {
    const run = isNested ? new Run(unit, this.#savedNow()) : new Run(unit)
    if (hasImports(unit)) void this.#import(run, unit.imports)
    else this.#begin(run)
    return run
  }

  #begin(run: Run): void {
    const { unit } = run
    try {
      this.#prepare(run)
      if (unit.run === undefined) run.state = { how: "ok", value: undefined }
      else this.#call(run, unit.run)
    } catch (error) {
      run.state = { how: "threw", error }
    }
  }

  /** Modules are loaded and evaluated before anything of the unit is made. */
  async #import(run: Run, imports: readonly UnitImport[]): Promise<void> {
    try {
      await this.bindImports(imports)
    } catch (error) {
      run.state = { how: "threw", error }
      run.ended?.()
      return
    }
    for (let index = 0; index < imports.length; index++) {
      const { names } = imports[index]!
      for (let at = 0; at < names.length; at++) arrayPush(run.imported, names[at]!)
    }
    this.#begin(run)
    // Otherwise its promise says so.
    if (run.state.how !== "running") run.ended?.()
  }

  /** Loads what import statements ask for and binds their names; rejects with the reason, and then nothing is bound. */
  async bindImports(imports: readonly UnitImport[]): Promise<void> {
    const requests: string[] = newList()
    for (let index = 0; index < imports.length; index++) arrayPush(requests, imports[index]!.request)
    const namespaces = await this.#loadAll(requests)
    for (let index = 0; index < imports.length; index++) {
      const { names, reads, wanted } = imports[index]!
      const namespace = namespaces[index]
      for (let at = 0; at < names.length; at++) {
        // The worker has seen that what is missing is a type.
        if (isMissing(namespace, wanted[at]!)) continue
        bindImport(this.cell(names[at]!), reads[at]!(namespace))
        this.#options.onImported?.(names[at]!, this.read(names[at]!))
      }
    }
  }

  /** As `bindImports`, one by one where not all can be loaded, or at once: a name that cannot be is lost, with the reason. */
  async restoreImports(
    imports: readonly UnitImport[],
    textOf: (error: unknown) => string,
    isApart = false,
  ): Promise<void> {
    try {
      if (!isApart) return await this.bindImports(imports)
    } catch {
      // Which one it was is found below.
    }
    for (let index = 0; index < imports.length; index++) {
      const each: UnitImport[] = newList()
      each[0] = imports[index]!
      try {
        await this.bindImports(each)
      } catch (error) {
        const { names } = each[0]
        for (let at = 0; at < names.length; at++) this.lose(names[at]!, `it cannot be imported again: ${textOf(error)}`)
      }
    }
  }

  #loadAll(requests: readonly string[]): Promise<ArrayLike<unknown>> {
    const { loadAll } = this.#options
    if (loadAll === undefined)
      throw new ErrorOfRealm("This session cannot load modules: `import` is not available in it")
    return loadAll(requests)
  }

  /** What a run has given is a value that was retained. */
  giveRetained(run: Run, handle: string): void {
    const kept = this.#unnamed[handle]
    const message = "The retained value is gone: it was released, or lost with the process that held it."
    run.state =
      kept === undefined
        ? { how: "threw", error: kindError("value_not_found", message) }
        : { how: "ok", value: kept.value }
  }

  /** Calls what a run has given; what the call gives or throws stands in its place. */
  callResult(run: Run, name: string, args: readonly unknown[]): void {
    if (run.state.how !== "ok") return
    const called = run.state.value
    try {
      if (typeof called !== "function") {
        throw new TypeErrorOfRealm(`${name} is not a function`)
      }
      const value = apply(called as (...parameters: unknown[]) => unknown, undefined, args)
      if (!isPromise(value)) run.state = { how: "ok", value }
      else {
        run.state = { how: "running" }
        void settleRun(run, value)
      }
    } catch (error) {
      run.state = { how: "threw", error }
    }
  }

  #prepare(run: Run): void {
    const { lexical, vars, groups } = run.unit
    for (let index = 0; index < lexical.length; index++) unbindCell(this.cell(lexical[index]!), "dead")
    for (let index = 0; index < vars.length; index++) {
      const cell = this.cell(vars[index]!)
      if (cell.state !== "local") bindCell(cell, "local", isBoundState(cell.state) ? cell.v : undefined)
    }
    for (let index = 0; index < groups.length; index++) {
      const group = groups[index]!
      for (let member = 0; member < group.names.length; member++) {
        if (group.atStart[member] !== true) unbindCell(this.cell(group.names[member]!), "dead")
      }
    }
    for (let index = 0; index < groups.length; index++) {
      const group = groups[index]!
      if (group.isLate) continue
      this.#make(run, group)
      for (let member = 0; member < group.names.length; member++) {
        if (group.atStart[member] === true) this.#reach(run, group.first + member)
      }
    }
  }

  #call(run: Run, statements: NonNullable<Unit["run"]>): void {
    const { cells } = run.unit
    const hooks = createObject(this.#hooks) as RunHooks
    hooks.run = run
    let returned: { v?: unknown } | Promise<{ v: unknown }>
    // Calls with few names are nearly all; an argument list takes as long as such a call.
    if (cells.length === 0) returned = statements(hooks)
    else if (cells.length === 1) returned = statements(hooks, this.cell(cells[0]!))
    else if (cells.length === 2) returned = statements(hooks, this.cell(cells[0]!), this.cell(cells[1]!))
    else {
      const parameters: unknown[] = [hooks]
      for (let index = 0; index < cells.length; index++) arrayPush(parameters, this.cell(cells[index]!))
      returned = apply(statements, undefined, parameters)
    }
    if (hasOwn(returned, "v")) {
      const value = (returned as { v: unknown }).v
      if (isPromise(value)) void settleRun(run, value)
      else run.state = { how: "ok", value }
    } else void settleRun(run, returned, true)
  }

  /**
   * Ends a run: settles names whose declaration was never reached and returns what changed. Call it once, when the eval has ended.
   */
  finish(run: Run, how: "ok" | "threw"): Finished {
    const { lexical, vars, groups } = run.unit
    const dropped: string[] = groups.length > 0 ? newList() : nothing
    const definitions: string[] = groups.length > 0 || run.imported.length > 0 ? newList() : nothing
    for (let index = 0; index < run.imported.length; index++) {
      if (this.kindOf(run.imported[index]!) === "import") arrayPush(definitions, run.imported[index]!)
    }
    for (let index = 0; index < lexical.length; index++) {
      const cell = this.cell(lexical[index]!)
      if (cell.state === "dead") restoreCell(cell, this.#savedFor(run, cell))
    }
    for (let index = 0; index < vars.length; index++) {
      if (how !== "threw") break
      const cell = this.cell(vars[index]!)
      if (cell.state === "local" && cell.v === undefined && this.#savedFor(run, cell)?.state === "free")
        unbindCell(cell, "free")
    }
    for (let index = 0; index < groups.length; index++) {
      const { names, first } = groups[index]!
      for (let member = 0; member < names.length; member++) {
        const name = names[member]!
        if (run.reached[first + member] === true) {
          // A nested run may have put another definition in its place.
          if (this.#cells[name]?.definition?.group === groups[index]) arrayPush(definitions, name)
          continue
        }
        const cell = this.cell(name)
        if (cell.state === "dead") restoreCell(cell, this.#savedFor(run, cell))
        arrayPush(dropped, name)
      }
    }
    if (run.before !== undefined) {
      const { assigned, removed } = this.#changedSince(run.before)
      return { assigned, removed, definitions, dropped, rebuilt: run.redefined }
    }
    if (run.state.how === "ok" && run.state.value !== undefined) this.lastValue = run.state.value
    if (run.state.how === "threw") this.lastError = run.state.error
    const { assigned, removed } = this.#settle()
    return { assigned, removed, definitions, dropped, rebuilt: run.redefined }
  }

  #savedNow(): Saved[] {
    const saved: Saved[] = newList()
    for (let index = 0; index < this.#touchedCount; index++) arrayPush(saved, savedOf(this.#touched[index]!))
    return saved
  }

  /** What the name held when the run began; `undefined` when it has not been touched. */
  #savedFor({ before }: Run, cell: Cell): Saved | undefined {
    if (before !== undefined) {
      for (let index = 0; index < before.length; index++) if (this.#touched[index] === cell) return before[index]
    }
    return cell.saved
  }

  /** As `#settle`, for a nested run: the cells stay changes of the eval around it. */
  #changedSince(before: readonly Saved[]): { assigned: string[]; removed: string[] } {
    const assigned: string[] = newList()
    const removed: string[] = newList()
    for (let index = 0; index < this.#touchedCount; index++) {
      const cell = this.#touched[index]!
      const { state, name } = cell
      const saved = index < before.length ? before[index] : cell.saved
      if (saved === undefined) continue
      const isUnchanged = isUnchangedSince(cell, saved)
      if (state !== "definition" && saved.state === "definition") this.#forget(name)
      if (state === "local" || state === "readonly") {
        if (!isUnchanged) arrayPush(assigned, name)
      } else if (!isBoundState(state) && isBoundState(saved.state)) arrayPush(removed, name)
    }
    return { assigned, removed }
  }

  /** Reads the list of changed cells and forgets it. */
  #settle(): { assigned: string[]; removed: string[] } {
    let assigned: string[] = nothing
    let removed: string[] = nothing
    const count = this.#touchedCount
    this.#touchedCount = 0
    for (let index = 0; index < count; index++) {
      const cell = this.#touched[index]!
      const { state, name, saved } = cell
      cell.saved = undefined
      if (saved === undefined) continue
      const isUnchanged = isUnchangedSince(cell, saved)
      if (state !== "definition" && saved.state === "definition") this.#forget(name)
      if (state === "local" || state === "readonly") {
        if (isUnchanged) continue
        if (assigned === nothing) assigned = newList()
        assigned[assigned.length] = name
      } else if (!isBoundState(state) && isBoundState(saved.state)) {
        if (removed === nothing) removed = newList()
        removed[removed.length] = name
      }
    }
    return { assigned, removed }
  }
}

/** What the statements of one run call is an object of its own in front of what all code calls: an ended run changes nothing any more. */
interface RunHooks {
  run: Run
}

/** Classes that took the place of others, in that order. The first word on a class is the one that knows its fields. */
class Redefinitions {
  readonly list: Redefinition[] = newList()
  readonly #made = new SetOf<unknown>()

  add(redefinition: Redefinition): void {
    if (setHas(this.#made, redefinition.to)) return
    setAdd(this.#made, redefinition.to)
    arrayPush(this.list, redefinition)
  }
}

/** Groups met by one search: a mark on the group itself, taken off at its end. */
class SeenGroups {
  readonly #groups: { seen?: boolean }[] = newList()

  add(group: UnitGroup & { seen?: boolean }): boolean {
    if (group.seen === true) return false
    group.seen = true
    arrayPush(this.#groups, group)
    return true
  }

  clear(): void {
    for (let index = 0; index < this.#groups.length; index++) this.#groups[index]!.seen = false
  }
}

function emptyCandidate(): Candidate {
  return {
    cells: newList(),
    afters: newList(),
    noted: newList(),
    before: newList(),
    definitions: newList(),
    made: newList(),
    redefinitions: newList(),
  }
}

function noteDefinition({ noted, before }: Candidate, cell: Cell): void {
  noted[noted.length] = cell
  before[before.length] = cell.definition
}

function dropGroup(groups: Set<UnitGroup> | undefined, group: UnitGroup): void {
  if (groups !== undefined) setDelete(groups as Set<never>, group)
}

/** No identifier begins so; `own-bindings.ts` refuses to write one. */
function isUnnamed(name: string): boolean {
  return name[0] === unnamedMark
}

function isBoundState(state: CellState): state is "local" | "readonly" | "definition" | "import" {
  return state === "local" || state === "readonly" || state === "definition" || state === "import"
}

/** What a local holds is what it held. Imports are no locals, and are not read for this. */
function isUnchangedSince(cell: Cell, saved: Saved): boolean {
  if (cell.state !== saved.state) return false
  return cell.state === "import" || !isBoundState(cell.state) || isSame(cell.v, saved.value)
}

function hasImports(unit: Unit): unit is Unit & { imports: readonly UnitImport[] } {
  return unit.imports !== undefined && unit.imports.length > 0
}

/** An export whose declaration has not been reached, in a cycle, is `undefined` to whoever only looks. */
function readExport(read: () => unknown): unknown {
  try {
    return read()
  } catch {
    return undefined
  }
}

function isMissing(namespace: unknown, name: string): boolean {
  if (name === "*" || name === "=") return false
  return !(name in (namespace as object))
}

/**
 * Whether a result is awaited: a promise of the engine's, of this realm or of a subclass. Anything else with a `then` is a value like others, since
 * looking for one would run getters and traps of whatever a session wants to look at; who wants its answer awaits it.
 */
function isPromise(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false
  try {
    const prototype = prototypeOf(value)
    // Most results are plain; being refused by `then` takes microseconds.
    if (prototype === null || prototype === ObjectPrototype || prototype === ArrayPrototype) return false
    void promiseThen(value as Promise<unknown>, ignoreSettled, ignoreSettled)
    return true
  } catch {
    // `then` refused it, or a trap of a proxy threw.
    return false
  }
}

function ignoreSettled(): void {}

/** Awaits what the statements returned: `await` itself uses the engine's own promises, whatever user code did to theirs. */
async function settleRun(run: Run, returned: unknown, isBoxed = false): Promise<void> {
  try {
    const outcome = await returned
    const boxed = isBoxed ? (outcome as { v: unknown }).v : outcome
    const value = isBoxed && isPromise(boxed) ? await boxed : boxed
    run.state = { how: "ok", value }
  } catch (error) {
    run.state = { how: "threw", error }
  }
  run.ended?.()
}

function listedNames(list: readonly string[]): Record<string, true | undefined> {
  const names = createObject(null) as Record<string, true | undefined>
  for (let index = 0; index < list.length; index++) names[list[index]!] = true
  return names
}
