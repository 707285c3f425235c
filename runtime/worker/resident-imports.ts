// The imports of a session's realm: making them again in a new one, and what is kept of each besides its text.
//
// An imported file may use the names of the session (`nacre:session`). Then the import depends on these as a definition does, evals touch what
// the file uses, and what the file keeps of a name that it has read while it was evaluated is told when that name means something else.
import { compile } from "../language/compile.ts"
import type { InvalidSource } from "../language/compile.ts"
import type { NameTable } from "../language/transform.ts"
import type { DefinitionRecord } from "../wire/schema.ts"
import { newScript } from "./compile-cache.ts"
import type { CompileCache, Compiled } from "./compile-cache.ts"
import type { ModuleFacts, ModuleGraph } from "./modules/graph.ts"
import type { Realm } from "./realm.ts"
import type { Definition, Resident } from "./resident.ts"

/** By specifier, what was found out of it. */
export type ImportFacts = Map<string, ModuleFacts>

export class ResidentImports {
  readonly #realm: Realm
  readonly #modules: ModuleGraph
  readonly #names: NameTable
  /** The session's. */
  readonly #definitions: Map<string, Definition>
  /** Imports of the checkpoint that could not be made again, and those whose files had changed. */
  #lost: string[] = []
  #reloaded: string[] = []

  constructor(realm: Realm, modules: ModuleGraph, names: NameTable, definitions: Map<string, Definition>) {
    this.#realm = realm
    this.#modules = modules
    this.#names = names
    this.#definitions = definitions
  }

  /**
   * Begins to make imports again: their modules are code, so this belongs to the eval that needs them. `opRestored` follows. `isApart`: each by
   * itself, since the next may need what the session has of the last.
   */
  restore(imports: readonly DefinitionRecord[], isApart = false): false {
    const text = imports.map(({ source }) => `${source};\n`)
    const unit = compile(text.join(""), this.#names, { filename: "nacre:imports" })
    if (!unit.valid) throw new Error(`The texts of imports do not parse: ${unit.rendered}`)
    const { api } = this.#realm
    const made = this.#realm.run(newScript(unit.code, unit.filename))
    api.restoreImports(made as Parameters<typeof api.restoreImports>[0], isApart)
    return false
  }

  /** They stand, or are lost. */
  finish(imports: readonly DefinitionRecord[]): void {
    for (const { name, module = "", stamp } of imports) {
      if (this.#realm.api.kindOf(name) !== "import") this.#lost.push(name)
      else if (this.#modules.stampOf(module) !== stamp) this.#reloaded.push(name)
    }
  }

  takeLost(): string[] {
    const lost = this.#lost
    this.#lost = []
    return lost
  }

  takeReloadedNames(): string[] {
    const reloaded = this.#reloaded
    this.#reloaded = []
    return reloaded
  }

  /** Records of imports whose files had changed, as they are now, without those of `own`. */
  takeReloaded(own: ReadonlyMap<string, Definition>): DefinitionRecord[] {
    const facts: ImportFacts = new Map()
    return this.#reloaded.flatMap((name) => {
      const known = this.#definitions.get(name)
      if (known?.record.module === undefined || own.has(name)) return []
      const { readsSession: _, files: _files, texts: _texts, textKey: _key, ...before } = known.record
      const record: DefinitionRecord = { ...before }
      this.describe(record, known.record.module, facts)
      this.#definitions.set(name, { ...known, record, reads: record.dependencies })
      return [record]
    })
  }

  /** Puts down what an import is now. */
  describe(record: DefinitionRecord, module: string, known: ImportFacts): void {
    const facts = known.get(module) ?? this.#modules.factsOf(module)
    known.set(module, facts)
    record.module = module
    record.stamp = this.#modules.stampOf(module)
    record.dependencies = facts.names
    if (facts.files.length > 0) record.files = facts.files
    if (facts.texts.length > 0) record.texts = facts.texts
    if (facts.textKey !== undefined) record.textKey = facts.textKey
    if (facts.readsSession) record.readsSession = true
  }

  /** These names mean something else now. Gives the imports of files that keep what they were evaluated with, in words. */
  outdated(names: Iterable<string>): string[] {
    const changed = new Set(names)
    if (changed.size === 0 || !this.#modules.hasReadSession) return []
    this.#addDependents(changed)
    const imports = [...this.#definitions.values()].filter(({ record }) => record.module !== undefined)
    const found = this.#modules.outdate(changed, new Set(imports.map(({ record }) => record.module!)))
    return imports.flatMap(({ record: { name, module } }) => {
      const what = found.get(module!)
      return what === undefined
        ? []
        : [`${name} ('${module}' was evaluated with '${what}' as it was before; import it again)`]
    })
  }

  /** What is made of a name that means something else is something else, too. */
  #addDependents(changed: Set<string>): void {
    const users = new Map<string, string[]>()
    for (const [name, { record }] of this.#definitions) {
      for (const used of record.dependencies) {
        const known = users.get(used)
        if (known === undefined) users.set(used, [name])
        else known.push(name)
      }
    }
    for (const name of changed) for (const user of users.get(name) ?? []) changed.add(user)
  }
}

/** Compiles a submission. Locals that files use cannot become variables of it, which the compiler must know of the files that it imports, too. */
export function compileFor(
  resident: Resident,
  cache: CompileCache,
  source: string,
  line: number,
): Compiled | InvalidSource {
  const compiled = cache.compile(source, line, resident)
  if (!("unit" in compiled) || !resident.realm.capabilities.hasNode) return compiled
  const { modules, promoted } = compiled.unit
  if (modules.length === 0 || promoted.length === 0) return compiled
  resident.modules.peek(modules)
  return promoted.some((name) => resident.modules.usesName(name)) ? cache.compile(source, line, resident) : compiled
}
