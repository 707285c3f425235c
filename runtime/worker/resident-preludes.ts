// The preludes of one realm: which it holds, and what leads from those to others.
//
// They are evaluated in their order before anything of the session, and when one changes it and those behind it are evaluated again, in
// place. A text without imports is evaluated at once; one with imports first has its modules loaded, which takes turns of the loop.
// The embedder has tried every prelude before it sends it; one that fails here all the same leaves its exports without a value, and the session's
// next outcome says so.
import { compile } from "../language/compile.ts"
import type { CompiledUnit } from "../language/compile.ts"
import type { NameTable } from "../language/transform.ts"
import type { Script } from "node:vm"
import type { ErrorRecord, Prelude, Preludes } from "../wire/schema.ts"
import { newScript } from "./compile-cache.ts"
import { errorRecord } from "./error-record.ts"
import type { Realm } from "./realm.ts"
import type { Resident } from "./resident.ts"
import { factsOf, sourceOf } from "./sources.ts"

export interface PreludeRealm {
  readonly realm: Realm
  readonly profile: string
  isRealmGlobal(name: string): boolean
  unitOf: Resident["unitOf"]
}

interface Made {
  readonly unit: CompiledUnit
  readonly made: unknown
}

/** The steps that lead to a set, and the names whose meaning may be another one then. */
export interface PreludeSteps {
  readonly steps: (() => boolean)[]
  readonly changed: ReadonlySet<string>
}

/** Units of preludes that no realm of theirs has evaluated before: the same for all realms of a thread. */
export type PreludeUnits = Map<string, { readonly unit: CompiledUnit; readonly script: Script }>

/** Texts kept by a thread, beyond which preludes are compiled each time; and by a realm, beyond which stacks leave the oldest out. */
const unitsMax = 64

export class ResidentPreludes {
  /** Of the set that it holds; 0 is the empty one. */
  id = 0
  /** Whether the steps given last await something. */
  mustWait = false
  readonly #host: PreludeRealm
  #list: readonly Prelude[] = []
  readonly #units = new Map<string, { unit: CompiledUnit; file: string }>()
  readonly #evaluated = new Set<string>()
  readonly #lost: string[] = []
  #count = 0
  /** What went wrong first. */
  problem: ErrorRecord | undefined

  constructor(host: PreludeRealm) {
    this.#host = host
  }

  unitOf(filename: string): { unit: CompiledUnit; file: string } | undefined {
    return this.#units.get(filename)
  }

  /** Exports that had no value when this was last asked. */
  takeLost(): string[] {
    return this.#lost.splice(0)
  }

  stepsTo(preludes: Preludes | undefined): PreludeSteps {
    const changed = new Set<string>()
    this.mustWait = false
    const steps: (() => boolean)[] = []
    if (preludes === undefined || preludes.id === this.id) return { steps, changed }
    // Modules are for those that have them.
    const list = preludes.list.filter(({ hasImports }) => !hasImports || this.#host.profile === "full")
    let first = 0
    while (first < list.length && first < this.#list.length && isSame(list[first]!, this.#list[first]!)) first += 1
    const kept = new Set(list.map(({ name }) => name))
    for (const { name, exported } of this.#list.slice(first)) {
      for (const each of exported) changed.add(each)
      if (kept.has(name)) continue
      steps.push(() => {
        this.#host.realm.api.dropPrelude(name)
        return true
      })
    }
    for (const prelude of list.slice(first)) {
      for (const each of prelude.exported) changed.add(each)
      this.#addSteps(steps, prelude)
    }
    this.#list = list
    this.id = preludes.id
    return { steps, changed }
  }

  #addSteps(steps: (() => boolean)[], prelude: Prelude): void {
    if (!prelude.hasImports) {
      steps.push(() => {
        const compiled = this.#compile(prelude)
        if (compiled !== undefined) this.#evaluate(prelude, compiled)
        return true
      })
      return
    }
    this.mustWait = true
    let compiled: Made | undefined
    const { api } = this.#host.realm
    steps.push(() => {
      compiled = this.#compile(prelude)
      if (compiled === undefined) return true
      api.importForPrelude(prelude.name, compiled.made as never, prelude.importer)
      return false
    })
    steps.push(() => {
      if (compiled === undefined) return true
      const problem = api.importProblem()
      if (problem === undefined) this.#evaluate(prelude, compiled)
      else this.#fail(prelude, this.#record(prelude, problem))
      return true
    })
  }

  #compile(prelude: Prelude): Made | undefined {
    const { name, source, file } = prelude
    const { realm } = this.#host
    const { api, preludeUnits } = realm
    const isFresh = !this.#evaluated.has(name)
    const key = JSON.stringify([name, file, source])
    const known = isFresh ? preludeUnits.get(key) : undefined
    const names: NameTable = {
      kind: (wanted) => api.preludeKind(name, wanted),
      isRealmGlobal: (wanted) => this.#host.isRealmGlobal(wanted),
    }
    try {
      const filename = isFresh ? `nacre:prelude/${name}` : `nacre:prelude/${name}/${++this.#count}`
      const unit = known?.unit ?? compile(source, names, { filename })
      if (!unit.valid) throw new Error(unit.rendered)
      const script = known?.script ?? newScript(unit.code, filename)
      if (isFresh && preludeUnits.size < unitsMax) preludeUnits.set(key, { unit, script })
      this.#units.set(filename, { unit, file })
      if (this.#units.size > unitsMax) this.#units.delete(this.#units.keys().next().value!)
      return { unit, made: realm.run(script) }
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      this.#fail(prelude, { name: "SyntaxError", message, stack: [], spans: [], rendered: message })
      return undefined
    }
  }

  #evaluate(prelude: Prelude, { unit, made }: Made): void {
    const { name, file } = prelude
    const { realm } = this.#host
    const { api } = realm
    this.#evaluated.add(name)
    const prefix = (names: readonly string[]): string[] => names.map((each) => `${name}:${each}`)
    const facts = unit.sources.flatMap((source) =>
      factsOf(sourceOf({ ...source, cells: prefix(source.cells) }, file, source.line, source.column)),
    )
    const problem = api.loadPrelude(
      name,
      made as Parameters<typeof api.loadPrelude>[1],
      realm.list(prefix(unit.definitions.map((it) => it.name))),
      realm.list(unit.definitions.map((it) => it.hasPrivateNames)),
      realm.list(facts),
    )
    if (problem === undefined) this.#publish(prelude, "")
    else this.#fail(prelude, this.#record(prelude, problem))
  }

  #record({ source, file }: Prelude, thrown: string): ErrorRecord {
    return errorRecord(thrown, this.#host, { text: source, file, line: 1 })
  }

  #fail(prelude: Prelude, error: ErrorRecord): void {
    this.problem ??= error
    for (const each of prelude.exported) this.#lost.push(`${each} (of prelude '${prelude.name}')`)
    this.#publish(prelude, `${error.name}: ${error.message}`)
  }

  #publish({ name, exported, locals }: Prelude, problem: string): void {
    const { realm } = this.#host
    realm.api.publishPrelude(name, realm.list(exported), realm.list(locals), problem)
  }
}

function isSame(a: Prelude, b: Prelude): boolean {
  return (
    a.name === b.name &&
    a.source === b.source &&
    a.file === b.file &&
    a.importer === b.importer &&
    a.exported.join() === b.exported.join() &&
    a.locals.join() === b.locals.join() &&
    // What it imports may have changed.
    !b.hasImports
  )
}
