// A session language in one process, for tests: a real realm, the real compiler, and nothing of hosts or workers between them.
//
// The realm-side files are compiled and evaluated inside the realm as one script, as a worker does. The outcome of an eval is read by
// this file directly, which a worker never does: here both sides are ours.
import { readFileSync } from "node:fs"
import { types } from "node:util"
import vm from "node:vm"
import { transformSync } from "oxc-transform"
import { compile, compileDefinitions, type CompiledDefinition, type CompiledUnit } from "../runtime/language/compile.ts"
import type { NameTable } from "../runtime/language/transform.ts"
import type { Environment, EnvironmentOptions, Finished, Run, Unit } from "../stdlib/environment.ts"

const realmFiles = [
  "intrinsics",
  "messages",
  "cell",
  "stamp",
  "bound-record",
  "classes",
  "decorators",
  "disposal",
  "proxy-record",
  "super-homes",
  "privates",
  "environment",
]

/** The realm-side files as one expression that gives what they export. */
function realmSource(): string {
  const parts = realmFiles.map((file) => {
    const url = new URL(`../stdlib/${file}.ts`, import.meta.url)
    const { code } = transformSync(`${file}.ts`, readFileSync(url, "utf8"), { lang: "ts", sourceType: "module" })
    return code.replace(/^import [^;]*;$/gm, "").replace(/^export /gm, "")
  })
  return `(()=>{"use strict";${parts.join("\n")}\nreturn { Environment }})()`
}

const realmScript = new vm.Script(realmSource(), { filename: "nacre:realm.js" })

export interface EvalResult {
  status: "ok" | "threw" | "invalid"
  value?: unknown
  error?: unknown
  rendered?: string
  unit?: CompiledUnit
  finished?: Finished
}

interface RealmFiles {
  Environment: new (options: EnvironmentOptions) => Environment
}

/** A realm with the realm-side files in it. Sessions of tests that leave built-ins alone may share one. */
export class TestRealm {
  readonly context = vm.createContext(vm.constants.DONT_CONTEXTIFY)
  readonly globals: Set<string>
  readonly #files: RealmFiles

  constructor() {
    this.globals = new Set(vm.runInContext("Object.getOwnPropertyNames(globalThis)", this.context) as string[])
    this.#files = realmScript.runInContext(this.context) as RealmFiles
  }

  environment(): Environment {
    return new this.#files.Environment({ isNativeError: types.isNativeError })
  }
}

export class TestSession implements NameTable {
  readonly context: vm.Context
  readonly environment: Environment
  readonly units = new Map<string, CompiledUnit>()
  readonly #globals: Set<string>
  readonly #captured = new Set<string>()
  readonly #promotes: boolean
  readonly #definitions = new Map<string, CompiledDefinition & { filename: string }>()
  #count = 0

  constructor({ promotes = true, realm = new TestRealm() }: { promotes?: boolean; realm?: TestRealm } = {}) {
    this.#promotes = promotes
    this.context = realm.context
    this.#globals = realm.globals
    this.environment = realm.environment()
  }

  kind(name: string): ReturnType<NameTable["kind"]> {
    return this.environment.kindOf(name)
  }

  isRealmGlobal(name: string): boolean {
    return this.#globals.has(name)
  }

  dependencies(name: string): readonly string[] | undefined {
    return this.#definitions.get(name)?.dependencies
  }

  isCaptured(name: string): boolean {
    return !this.#promotes || this.#captured.has(name)
  }

  /** Compiles and starts; undefined when the source is invalid. */
  begin(source: string): { unit: CompiledUnit; run: Run } | { rendered: string } {
    const filename = `nacre:test/${++this.#count}.ts`
    const unit = compile(source, this, { filename })
    if (!unit.valid) return { rendered: unit.rendered }
    this.units.set(filename, unit)
    for (const name of unit.captures) this.#captured.add(name)
    this.#retarget(unit)
    for (const definition of unit.definitions) this.#definitions.set(definition.name, { ...definition, filename })
    const script = new vm.Script(unit.code, { filename })
    const run = this.environment.start(script.runInContext(this.context) as Unit)
    return { unit, run }
  }

  /** Compiles the dependents of definitions that become locals again, so that they read the new binding. */
  #retarget({ replaces }: CompiledUnit): void {
    if (replaces.length === 0) return
    const dependents = [...this.#definitions.values()].filter(({ dependencies }) =>
      dependencies.some((name) => replaces.includes(name)),
    )
    const kept = dependents.filter(({ readsWhenMade }) => !readsWhenMade.some((name) => replaces.includes(name)))
    for (const { name } of dependents) if (!kept.some((each) => each.name === name)) this.environment.demote(name)
    for (const name of replaces) this.#definitions.delete(name)
    const kind = (name: string): ReturnType<NameTable["kind"]> => (replaces.includes(name) ? "local" : this.kind(name))
    const filename = `nacre:test/${this.#count}.retargeted`
    const located = kept.map((definition) => ({
      ...definition,
      line: definition.span.line,
      column: definition.span.column,
    }))
    const unit = compileDefinitions(located, { kind, isRealmGlobal: (name) => this.isRealmGlobal(name) }, filename)
    if (!unit.valid) throw new Error(unit.rendered)
    this.units.set(filename, unit)
    for (const name of unit.captures) this.#captured.add(name)
    this.environment.install(new vm.Script(unit.code, { filename }).runInContext(this.context) as Unit)
  }

  /** An eval that does not wait: for sources without `await`. */
  evalNow(source: string): EvalResult {
    const begun = this.begin(source)
    if ("rendered" in begun) return { status: "invalid", rendered: begun.rendered }
    return this.#end(begun)
  }

  async eval(source: string): Promise<EvalResult> {
    const begun = this.begin(source)
    if ("rendered" in begun) return { status: "invalid", rendered: begun.rendered }
    const { run } = begun
    if (run.state.how === "running") await new Promise<void>((resolve) => (run.ended = resolve))
    return this.#end(begun)
  }

  #end({ unit, run }: { unit: CompiledUnit; run: Run }): EvalResult {
    const { state } = run
    if (state.how === "running") return { status: "threw", error: new Error("the eval has not ended"), unit }
    const finished = this.environment.finish(run, state.how)
    if (state.how === "ok") return { status: "ok", value: state.value, unit, finished }
    return { status: "threw", error: state.error, unit, finished }
  }
}
