// The preludes of the realm's workspace: environments of their own, beside that of the session, and what they export by bare name.
//
// A prelude is evaluated as session code is, so its functions, classes and instances are values that can be committed; only its names are
// kept apart: outside they are written `prelude:name`, which no identifier can be. It is loaded again in place: functions that were made
// before read the present definitions, as those of a session do, and classes take the place of those of the same name. What could not be
// loaded keeps its exports, and reading one says why. What a prelude holds in variables of its own is the realm's, and begins anew with it.
import { kindError } from "./bridge.ts"
import type { FreeValue } from "./cell.ts"
import { classRecord } from "./classes.ts"
import type { Environment, Unit } from "./environment.ts"
import { descriptorOf, newList, ownKeysOf, stringIndexOf, stringSlice, isListed } from "./intrinsics.ts"
import type { Redefinition } from "./moves.ts"

export interface PreludeServices {
  /** An environment whose names are told to the encoder with this in front. */
  environment(prefix: string): Environment
  /** The generation of the workspace's globals. */
  generation(): number
  /** What a variable of a prelude holds when it has been loaded: values refer to it by that name. */
  onMade(name: string, value: unknown): void
}

interface Prelude {
  readonly environment: Environment
  /** Names that sessions see, and the prelude's own for each. */
  exported: readonly string[]
  locals: readonly string[]
  /** Why it could not be loaded. */
  problem: string | undefined
  isStateful: boolean
}

export const preludeMark = ":"

export class RealmPreludes {
  readonly #services: PreludeServices
  readonly #preludes: Record<string, Prelude | undefined> = { __proto__: null } as never
  #owners: Record<string, string | undefined> = { __proto__: null } as never
  #locals: Record<string, string | undefined> = { __proto__: null } as never
  #names: string[] = newList()
  /** Whether one is being loaded: globals mean nothing to it then. */
  isLoading = false

  constructor(services: PreludeServices) {
    this.#services = services
  }

  /** The environment that a name as the encoder knows it belongs to, and its name there; `undefined` for one of the session. */
  find(name: string): { environment: Environment; local: string } | undefined {
    const at = stringIndexOf(name, preludeMark)
    if (at === -1) return undefined
    return { environment: this.#one(stringSlice(name, 0, at)).environment, local: stringSlice(name, at + 1) }
  }

  /** A prelude that went may be what functions in bindings were written in. */
  #one(name: string): Prelude {
    return (this.#preludes[name] ??= {
      environment: this.#services.environment(name + preludeMark),
      exported: newList(),
      locals: newList(),
      problem: undefined,
      isStateful: false,
    })
  }

  kindOf(prelude: string, name: string): "local" | "readonly" | "definition" | "import" | undefined {
    return this.#one(prelude).environment.kindOf(name)
  }

  /** Runs its text, in place of what it was before; throws what that throws. */
  load(name: string, unit: Unit): void {
    const { environment } = this.#one(name)
    this.isLoading = true
    try {
      const before = environment.names()
      const { sites, cells, lexical, vars, groups } = unit
      // Its modules are there by now.
      const run = environment.start({ sites, cells, lexical, vars, groups, run: unit.run })
      const { state } = run
      environment.finish(run, state.how === "threw" ? "threw" : "ok")
      if (state.how === "threw") throw state.error
      for (let index = 0; index < before.length; index++) {
        if (!isDeclared(unit, before[index]!)) environment.remove(before[index]!)
      }
      environment.settle()
      const names = environment.names()
      for (let index = 0; index < names.length; index++) {
        const kind = environment.kindOf(names[index]!)
        if (kind === "local" || kind === "readonly")
          this.#services.onMade(name + preludeMark + names[index]!, environment.read(names[index]!))
      }
    } finally {
      this.isLoading = false
    }
  }

  /** Its exports are known by these names from now on. `problem`: why none of them has a value. */
  publish(name: string, exported: readonly string[], locals: readonly string[], problem: string): void {
    const prelude = this.#one(name)
    this.#withdraw(name, prelude)
    prelude.exported = exported
    prelude.locals = locals
    prelude.problem = problem === "" ? undefined : problem
    for (let index = 0; index < exported.length; index++) {
      this.#owners[exported[index]!] = name
      this.#locals[exported[index]!] = locals[index]
      this.#names[this.#names.length] = exported[index]!
    }
    prelude.isStateful = isStateful(prelude.environment)
  }

  drop(name: string): void {
    const prelude = this.#preludes[name]
    if (prelude === undefined) return
    this.#withdraw(name, prelude)
    prelude.environment.clear()
    prelude.environment.settle()
  }

  #withdraw(name: string, prelude: Prelude): void {
    const { exported } = prelude
    for (let index = 0; index < exported.length; index++) {
      if (this.#owners[exported[index]!] !== name) continue
      this.#owners[exported[index]!] = undefined
      this.#locals[exported[index]!] = undefined
    }
    const left: string[] = newList()
    for (let index = 0; index < this.#names.length; index++) {
      if (this.#owners[this.#names[index]!] !== undefined) left[left.length] = this.#names[index]!
    }
    this.#names = left
    prelude.exported = newList()
    prelude.locals = newList()
  }

  /** Classes that took the place of others since this was last asked, and then `own`. */
  takeRedefinitions(own: readonly Redefinition[]): readonly Redefinition[] {
    let all: Redefinition[] | undefined
    for (const name in this.#preludes) {
      const taken = this.#preludes[name]!.environment.takeRedefinitions()
      if (taken.length > 0) all ??= newList()
      for (let index = 0; index < taken.length; index++) all![all!.length] = taken[index]!
    }
    // Nearly always.
    if (all === undefined) return own
    for (let index = 0; index < own.length; index++) all[all.length] = own[index]!
    return all
  }

  /** What code of preludes changed in an eval is no change of the session. */
  settle(): void {
    for (const name in this.#preludes) this.#preludes[name]!.environment.settle()
  }

  forgetKept(): void {
    for (const name in this.#preludes) this.#preludes[name]!.environment.forgetKept()
  }

  // The class registry

  names(): readonly string[] {
    return this.#names
  }

  has(name: string): boolean {
    return this.#owners[name] !== undefined
  }

  lookup(name: string): FreeValue | undefined {
    const owner = this.#owners[name]
    if (owner === undefined) return undefined
    const { environment, problem } = this.#preludes[owner]!
    if (problem !== undefined) {
      throw kindError(
        "binding_lost",
        `'${name}' has no value here, since prelude '${owner}' could not be loaded: ${problem}`,
      )
    }
    const local = this.#locals[name]!
    const kind = environment.kindOf(local)
    const isFixed = kind === "definition" || kind === "readonly"
    return { value: environment.cell(local).v, generation: isFixed ? this.#services.generation() : undefined }
  }

  /** Whether what the name leads to may keep objects of whoever calls it. `name`: an export, or a name as the encoder knows it. */
  isStateful(name: string): boolean {
    const at = stringIndexOf(name, preludeMark)
    const owner = at === -1 ? this.#owners[name] : stringSlice(name, 0, at)
    return owner !== undefined && this.#preludes[owner]?.isStateful === true
  }
}

function isDeclared({ lexical, vars, groups, imports }: Unit, name: string): boolean {
  if (isListed(lexical, name) || isListed(vars, name)) return true
  for (let index = 0; index < groups.length; index++) if (isListed(groups[index]!.names, name)) return true
  if (imports === undefined) return false
  for (let index = 0; index < imports.length; index++) if (isListed(imports[index]!.names, name)) return true
  return false
}

/** It has a variable, an import, an object that is no code, or a class with something static that is none. */
function isStateful(environment: Environment): boolean {
  const names = environment.names()
  for (let index = 0; index < names.length; index++) {
    const name = names[index]!
    const kind = environment.kindOf(name)
    if (kind === "local" || kind === "import") return true
    const value = environment.read(name)
    if ((typeof value !== "object" || value === null) && typeof value !== "function") continue
    if (kind === "readonly") return true
    if (typeof value === "function" && hasStaticState(value)) return true
    if (typeof value === "object") {
      const keys = ownKeysOf(value)
      for (let at = 0; at < keys.length; at++) {
        const held = descriptorOf(value, keys[at]!)?.value as unknown
        if (typeof held === "object" && held !== null) return true
      }
    }
  }
  return false
}

function hasStaticState(value: object): boolean {
  if ((classRecord(value)?.names.length ?? 0) > 0) return true
  const keys = ownKeysOf(value)
  for (let index = 0; index < keys.length; index++) {
    if (keys[index] === "prototype") continue
    const held = descriptorOf(value, keys[index]!)?.value as unknown
    if (typeof held === "object" && held !== null) return true
  }
  return false
}
