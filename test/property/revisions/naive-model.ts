// A session's module as anybody would write it who does not care for cost: a map of declarations, all of which are evaluated anew, in a fresh context
// of Node's, each time somebody looks. Only data that a definition held when it was made is kept: it is part of what a session is.
//
// Definitions are made when they are first read, whatever the order of their texts; what is read while it is made is in its dead zone.
import vm from "node:vm"
import type { Declared, Wrapper } from "./declarations.ts"

export interface Definition extends Declared {
  readonly wrappers: readonly Wrapper[]
}

export type Definitions = ReadonlyMap<string, Definition>

export interface ModelChange {
  readonly op: "set" | "remove" | "wrap" | "unwrap"
  readonly key: string
  readonly wrapper?: string
  readonly source?: string
  readonly previousSource?: string
}

export interface ModelRecord {
  readonly revision: number
  readonly cause: string
  readonly changes: readonly ModelChange[]
  readonly reinstantiated: readonly string[]
  readonly lostData: readonly string[]
  readonly meaning: string
}

/** What a change says: names with what they become. */
export interface Wanted {
  readonly declared: ReadonlyMap<string, Definition>
  readonly removed: readonly string[]
  readonly cause: string
  /** Wrappers stay around what is declared. */
  readonly keepsWrappers?: boolean
  readonly onDataLoss?: "reject" | "rebuild" | undefined
}

/** `kinds`: of several mistakes any may be named. */
export type Verdict =
  | { readonly status: "committed" }
  | { readonly status: "rejected"; readonly kinds: ReadonlySet<string>; readonly keys?: readonly string[] }

export class NaiveModel {
  definitions: Definitions = new Map()
  /** What data was made, as JSON, by the name that holds it. */
  kept = new Map<string, string>()
  /** Names whose data has changed since it was made. */
  changed = new Set<string>()
  locals = new Map<string, number>()
  /** Records that held data since they were declared: the session takes them for data until they are declared anew. */
  #heldData = new Set<string>()
  readonly records: ModelRecord[] = []
  readonly revisions: Definitions[] = [new Map()]

  get revision(): number {
    return this.records.length
  }

  /** Of the whole set, whatever its layout and order. */
  get meaning(): string {
    return meaningOf(this.definitions)
  }

  /** What a change would do, and does unless it is rejected. */
  apply(wanted: Wanted): Verdict {
    const verdict = this.#decide(wanted)
    if (verdict.status === "rejected") return verdict
    const { declared, removed, cause } = wanted
    const again = this.#again(wanted)
    const lostData = [...again].filter((name) => this.changed.has(name))
    const { values } = verdict
    const definitions = changedBy(this.definitions, wanted)
    for (const name of [...removed, ...declared.keys(), ...again])
      if (this.#isMade(name, wanted, again)) this.#forget(name)
    for (const name of declared.keys()) this.locals.delete(name)
    for (const [name, value] of values) this.kept.set(name, value)
    const own = this.#anew(wanted)
    this.#record(
      definitions,
      cause,
      [...again].filter((name) => !own.has(name)),
      lostData,
    )
    return { status: "committed" }
  }

  /** What keys a candidate of it rests on: when one has changed it is not built again. */
  restsOn(wanted: Wanted): ReadonlySet<string> {
    const { declared, removed } = wanted
    const dependents = dependentsOf(this.definitions, [...this.#anew(wanted), ...removed])
    return new Set([
      ...removed,
      ...dependents,
      ...declared.keys(),
      ...Array.from(declared.values(), (it) => [...usesOf(it)]).flat(),
    ])
  }

  /** What would become of a change. */
  judge(wanted: Wanted): Verdict {
    return this.#decide(wanted)
  }

  /** Why it is rejected; or, where it is not, what the data holds that was made. */
  #decide(
    wanted: Wanted,
  ): Exclude<Verdict, { status: "committed" }> | { status: "committed"; values: ReadonlyMap<string, string> } {
    const { declared, removed, onDataLoss = "reject", keepsWrappers = false } = wanted
    const unfit = [...declared.values()].filter(
      ({ name, kind }) => !isWrappable(kind) && (this.definitions.get(name)?.wrappers.length ?? 0) > 0,
    )
    if (keepsWrappers && unfit.length > 0) {
      return rejected(
        "definition_has_dependents",
        unfit.map(({ name }) => name),
      )
    }
    const unknown = removed.filter((name) => !this.definitions.has(name))
    if (unknown.length > 0) return rejected("definition_not_found", unknown)
    const both = removed.filter((name) => declared.has(name))
    if (both.length > 0) return rejected("invalid", both)
    const valueless = [...declared.values()].filter(
      ({ name, expression }) => expression === "" && isValue(this.definitions.get(name)),
    )
    const going = [...removed, ...valueless.map(({ name }) => name)]
    const after = changedBy(this.definitions, wanted)
    const users = [...after.values()].filter((it) => going.some((name) => usesOf(it).has(name) && name !== it.name))
    if (users.length > 0)
      return rejected(
        "definition_has_dependents",
        users.map(({ name }) => name),
      )
    const again = this.#again(wanted)
    const own = this.#anew(wanted)
    const lost = [...again].filter((name) => !own.has(name) && this.changed.has(name))
    if (lost.length > 0 && onDataLoss === "reject") return rejected("data_loss", lost)
    return this.#make(after, new Set([...own, ...again]))
  }

  #make(
    after: Definitions,
    making: ReadonlySet<string>,
  ): Exclude<Verdict, { status: "committed" }> | { status: "committed"; values: ReadonlyMap<string, string> } {
    const kept = new Map([...this.kept].filter(([name]) => !making.has(name) && after.has(name)))
    const world = new World(after, kept, this.locals, true)
    const kinds = new Set<string>()
    const values = new Map<string, string>()
    for (const name of making) {
      const definition = after.get(name)
      if (!isValue(definition)) continue
      world.problem = undefined
      try {
        const value = world.value(name)
        if (definition.wrappers.length === 0 && isKept(definition)) values.set(name, JSON.stringify(value))
      } catch {
        kinds.add(world.problem ?? "threw")
      }
      if (world.problem !== undefined) kinds.add(world.problem)
    }
    for (const [name, before] of kept) {
      if (isKept(after.get(name)!) && JSON.stringify(world.value(name)) !== before) kinds.add("outside_call")
    }
    return kinds.size > 0 ? { status: "rejected", kinds } : { status: "committed", values }
  }

  /** Declarations that say something else than what stands. */
  #anew({ declared }: Wanted): ReadonlySet<string> {
    const anew = [...declared.values()].filter((it) => {
      const before = this.definitions.get(it.name)
      return before === undefined || meaningOfOne(before) !== meaningOfOne(it)
    })
    return new Set(anew.map(({ name }) => name))
  }

  /** What depends on a change and has a value. */
  #again(wanted: Wanted): ReadonlySet<string> {
    // What is a type before and after stands for no value that anything was made of.
    const isOfValue = (name: string): boolean =>
      isValue(this.definitions.get(name)) || isValue(wanted.declared.get(name))
    const found = dependentsOf(this.definitions, [...this.#anew(wanted), ...wanted.removed].filter(isOfValue))
    return new Set([...found].filter((name) => isValue(this.definitions.get(name)) && !wanted.removed.includes(name)))
  }

  #isMade(name: string, wanted: Wanted, again: ReadonlySet<string>): boolean {
    return again.has(name) || wanted.removed.includes(name) || this.#anew(wanted).has(name)
  }

  #forget(name: string): void {
    this.kept.delete(name)
    this.changed.delete(name)
  }

  /** An eval declares what is code. Nothing is made again but code, and wrappers of the names fall. */
  declareInEval(declared: Declared): void {
    const definitions = new Map(this.definitions)
    const before = this.definitions.get(declared.name)
    definitions.delete(declared.name)
    definitions.set(declared.name, { ...declared, wrappers: [] })
    if (isValue(before) || declared.expression !== "") this.#forget(declared.name)
    this.locals.delete(declared.name)
    this.#record(definitions, "eval", undefined, [])
  }

  /** `let` takes the place of a definition that nothing holds. */
  declareLocal(name: string, value: number): void {
    const definitions = new Map(this.definitions)
    definitions.delete(name)
    this.#forget(name)
    this.locals.set(name, value)
    this.#record(definitions, "eval", undefined, [])
  }

  /** Whether something that an eval would not make again holds the present value of a name. */
  isHeldByData(name: string): boolean {
    // What was calculated and wrapped is kept by the session, and made again here.
    for (const it of this.definitions.values()) {
      const isMadeAnew = it.wrappers.length > 0 && it.isData
      if (isMadeAnew && dependentsOf(this.definitions, [name]).has(it.name)) return true
    }
    const open = [name]
    const seen = new Set(open)
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      for (const it of this.definitions.values()) {
        const holds = it.holds.includes(at) || (at === it.name && it.wrappers.length > 0)
        if (!holds || seen.has(it.name)) continue
        if (it.wrappers.length > 0 || !this.isCode(it.name) || this.#heldData.has(it.name)) return true
        seen.add(it.name)
        open.push(it.name)
      }
    }
    return false
  }

  /** The same, also of what is made again with that name. */
  isKeptByData(name: string): boolean {
    return [name, ...dependentsOf(this.definitions, [name])].some((it) => this.isHeldByData(it))
  }

  isCode(name: string, path: readonly string[] = []): boolean {
    const definition = this.definitions.get(name)
    if (!isValue(definition) || definition.isData || definition.wrappers.length > 0) return false
    return definition.leaves.every((leaf) => path.includes(leaf) || this.isCode(leaf, [...path, name]))
  }

  push(name: string, value: number): void {
    this.kept.set(name, JSON.stringify([...(JSON.parse(this.kept.get(name)!) as unknown[]), value]))
    // Whatever holds the list holds another one now, too.
    const open = [name]
    this.changed.add(name)
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      for (const it of this.definitions.values()) {
        if (!it.holds.includes(at) || this.changed.has(it.name)) continue
        this.changed.add(it.name)
        open.push(it.name)
      }
    }
  }

  /** What code sees of the names. */
  see(probe: string): string {
    return new World(this.definitions, this.kept, this.locals, false).run(probe) as string
  }

  #record(
    definitions: Definitions,
    cause: string,
    reinstantiated: readonly string[] | undefined,
    lostData: readonly string[],
  ): void {
    const changes = changesBetween(this.definitions, definitions)
    for (const { op, key } of changes) if (op === "set" || op === "remove") this.#heldData.delete(key)
    this.definitions = definitions
    for (const { name, leaves } of definitions.values())
      if (leaves.length > 0 && !this.isCode(name)) this.#heldData.add(name)
    if (changes.length === 0) return
    this.revisions.push(definitions)
    this.records.push({
      revision: this.records.length + 1,
      cause,
      changes,
      reinstantiated: [...(reinstantiated ?? [])].toSorted(),
      lostData: [...lostData].toSorted(),
      meaning: meaningOf(definitions),
    })
  }
}

/** A context in which every definition is made at its first use. */
class World {
  readonly #context = vm.createContext(vm.constants.DONT_CONTEXTIFY)
  readonly #made = new Map<string, { value: unknown }>()
  readonly #making = new Set<string>()
  readonly #definitions: Definitions
  readonly #kept: ReadonlyMap<string, string>
  /** What a definition did that it must not do while it is made. */
  problem: string | undefined

  constructor(
    definitions: Definitions,
    kept: ReadonlyMap<string, string>,
    locals: ReadonlyMap<string, number>,
    isMaking: boolean,
  ) {
    this.#definitions = definitions
    this.#kept = kept
    for (const [name, definition] of definitions) {
      if (isValue(definition)) Object.defineProperty(this.#context, name, { get: () => this.value(name) })
    }
    for (const [name, value] of locals) {
      if (definitions.has(name)) continue
      const get = (): number => {
        if (isMaking) this.#refuse("local_read")
        return value
      }
      Object.defineProperty(this.#context, name, { get, configurable: true })
    }
    if (isMaking) Object.defineProperty(this.#context, "console", { get: () => this.#refuse("outside_call") })
  }

  run(source: string): unknown {
    return vm.runInContext(`"use strict";void 0;${source}`, this.#context)
  }

  value(name: string): unknown {
    const made = this.#made.get(name)
    if (made !== undefined) return made.value
    if (this.#making.has(name)) throw new ReferenceError(`Cannot access '${name}' before initialization`)
    this.#making.add(name)
    const { expression, wrappers } = this.#definitions.get(name)!
    const kept = this.#kept.get(name)
    let value = this.run(`(${kept ?? expression})`)
    for (const wrapper of wrappers) value = (this.run(`(${wrapper.expression})`) as (inner: unknown) => unknown)(value)
    this.#made.set(name, { value })
    return value
  }

  #refuse(problem: string): never {
    this.problem = problem
    throw new Error(problem)
  }
}

function rejected(
  kind: string,
  keys: readonly string[],
): { status: "rejected"; kinds: ReadonlySet<string>; keys: readonly string[] } {
  return { status: "rejected", kinds: new Set([kind]), keys }
}

export function isValue(definition: Definition | undefined): definition is Definition {
  return definition !== undefined && definition.expression !== ""
}

export function isWrappable(kind: string): boolean {
  return kind === "function" || kind === "class" || kind === "const"
}

/** Whether what it holds is numbers and texts, which are what they were when it was made. */
export function isKept({ isData, kind, wrappers }: Definition): boolean {
  return isData && (kind === "const" || kind === "enum") && wrappers.length === 0
}

function usesOf({ uses, wrappers, name }: Definition): ReadonlySet<string> {
  return new Set([...uses, ...wrappers.flatMap((wrapper) => wrapper.uses)].filter((it) => it !== name))
}

function dependentsOf(definitions: Definitions, keys: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  for (let grows = true; grows;) {
    grows = false
    for (const it of definitions.values()) {
      if (found.has(it.name) || keys.includes(it.name)) continue
      if (![...usesOf(it)].some((name) => keys.includes(name) || found.has(name))) continue
      found.add(it.name)
      grows = true
    }
  }
  return found
}

export function changedBy(
  definitions: Definitions,
  { declared, removed }: Pick<Wanted, "declared" | "removed">,
): Map<string, Definition> {
  const after = new Map(definitions)
  for (const name of removed) after.delete(name)
  for (const [name, definition] of declared) after.set(name, definition)
  return after
}

export function meaningOfOne({ name, meaning, wrappers }: Definition): string {
  return JSON.stringify([name, meaning, ...wrappers.map((it) => [it.key, it.source])])
}

export function meaningOf(definitions: Definitions): string {
  return Array.from(definitions.values(), meaningOfOne).toSorted().join("\n")
}

function changesBetween(before: Definitions, after: Definitions): ModelChange[] {
  const changes: ModelChange[] = []
  for (const key of new Set([...before.keys(), ...after.keys()])) {
    const [was, is] = [before.get(key), after.get(key)]
    if (was?.source !== is?.source) {
      changes.push({
        op: is === undefined ? "remove" : "set",
        key,
        ...(is === undefined ? {} : { source: is.source }),
        ...(was === undefined ? {} : { previousSource: was.source }),
      })
    }
    for (const wrapper of is?.wrappers ?? []) {
      const previous = was?.wrappers.find((it) => it.key === wrapper.key)
      if (previous?.source === wrapper.source) continue
      changes.push({
        op: "wrap",
        key,
        wrapper: wrapper.key,
        source: wrapper.source,
        ...(previous === undefined ? {} : { previousSource: previous.source }),
      })
    }
    for (const wrapper of was?.wrappers ?? []) {
      if (is?.wrappers.some((it) => it.key === wrapper.key) === true) continue
      changes.push({ op: "unwrap", key, wrapper: wrapper.key, previousSource: wrapper.source })
    }
  }
  return changes
}
