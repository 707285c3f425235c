// One vm context with the realm-side code in it, seen from the worker: functions that take and give primitives and tables.
//
// This is the only file of the worker that touches objects of a realm, and only those that realm-side code made: it reads their own data
// properties and elements, never anything a prototype could answer. Values of session code do not come here at all.
import { pathToFileURL } from "node:url"
import { constants, createContext } from "node:vm"
import type { Script } from "node:vm"
import type { RealmApi } from "../../stdlib/realm.ts"
import type { HostFunction } from "../../stdlib/bridge.ts"
import type { Primitive } from "../../stdlib/intrinsics.ts"
import type { SourceOfFunctions } from "../wire/schema.ts"
import { capabilityFor, denialText } from "../../stdlib/capabilities.ts"
import type { Capabilities } from "../../stdlib/capabilities.ts"
import { opOutput } from "../../stdlib/bridge.ts"
import type { Jsx } from "../language/jsx-option.ts"
import { packValue, unpackValue } from "../wire/values/pack.ts"
import { ModuleGraph } from "./modules/graph.ts"
import type { PreludeUnits } from "./resident-preludes.ts"
import { makeProcess, nodeGlobal, nodeGlobalNames, sharedConstructors } from "./modules/node-side.ts"

export type { RealmApi }

export interface EncodedGroupBytes {
  names: string[]
  bytes: Uint8Array
  sources: SourceOfFunctions[]
  isInert: boolean
}

/** Boots realms, and keeps what those of one profile have in common. */
export class RealmMaker {
  readonly #bundle: Script
  readonly #common = new Map<string, CommonFacts>()
  readonly #preludeUnits: PreludeUnits = new Map()

  constructor(bundle: Script) {
    this.#bundle = bundle
  }

  /** Boots a blank realm: it belongs to no session until `adopt`. */
  make(capabilities: Capabilities): Realm {
    const profile = capabilities.name
    const realm = new Realm(this.#bundle, capabilities, this.#common.get(profile), this.#preludeUnits)
    if (!this.#common.has(profile)) this.#common.set(profile, realm.common)
    return realm
  }
}

/** What the first realm of a profile tells about all of them. */
interface CommonFacts {
  /** Names of the global object as it stands before any user code. */
  readonly globals: ReadonlySet<string>
  readonly plan: RealmApi["intrinsicPlan"]
}

export class Realm {
  readonly api: RealmApi
  /** Of these, what every eval needs. */
  readonly calls: EvalCalls
  readonly common: CommonFacts
  readonly capabilities: Capabilities
  /** Of the thread: the same for all its realms. */
  readonly preludeUnits: PreludeUnits
  readonly #context: object
  /** Something of Node's has been handed out, whose promises nobody here knows of. */
  usesNode = false

  /** What the realm's calls go to; set by whoever takes the realm over. */
  #host: HostFunction | undefined

  constructor(
    bundle: Script,
    capabilities: Capabilities,
    common?: CommonFacts,
    preludeUnits: PreludeUnits = new Map(),
  ) {
    this.capabilities = capabilities
    this.preludeUnits = preludeUnits
    const context = createContext(constants.DONT_CONTEXTIFY)
    this.#context = context
    const boot = bundle.runInContext(context) as Boot
    this.api = boot(
      (op, a, b, payload, c) => this.#host?.(op, a, b, payload, c),
      capabilities.name,
      capabilities.list,
      common?.plan,
    )
    this.calls = callsOfEval(this.api)
    if (capabilities.hasNode) this.#installNode()
    this.common = common ?? {
      globals: new Set(Reflect.ownKeys(context).filter((key) => typeof key === "string")),
      plan: copyPlan(this.api.intrinsicPlan),
    }
  }

  get globals(): ReadonlySet<string> {
    return this.common.globals
  }

  adopt(host: HostFunction, facts: { id: string; kind: string; tools: readonly string[]; directory: string }): void {
    const { id, kind, tools, directory } = facts
    this.#host = host
    this.api.adopt(id, kind, tools.join(","), directory, pathToFileURL(`${directory.replace(/\/$/, "")}/`).href)
  }

  #installNode(): void {
    const { capabilities } = this
    const own = new Set(Reflect.ownKeys(this.#context).filter((key) => typeof key === "string"))
    const names = nodeGlobalNames(own).filter((name) => {
      const needed = capabilityFor(name)
      return needed === undefined || capabilities.has(needed)
    })
    this.api.installNode({
      names,
      shared: sharedConstructors,
      readShared: nodeGlobal,
      read: (name) => {
        this.usesNode = true
        return nodeGlobal(name)
      },
      makeProcess: () => {
        this.usesNode = true
        return makeProcess((stream, text) => {
          if (!capabilities.has("print")) {
            const error = new Error(denialText(`process.${stream}`, "print", capabilities.name))
            throw Object.assign(error, { kind: "capability_denied" })
          }
          this.#host?.(opOutput, stream, text)
        })
      },
    })
  }

  /** The modules that files and packages are in this realm; they are found from a folder. */
  moduleGraph(directory: string, jsx?: Jsx): ModuleGraph {
    const { api } = this
    return new ModuleGraph(
      {
        context: this.#context,
        initMeta: api.initMeta,
        give: api.giveModule,
        load: api.loadModule,
        onNode: () => {
          this.usesNode = true
        },
        settle: api.settleImport,
        refuse: api.refuseImport,
        drop: api.dropModule,
        begin: api.beginModules,
        end: () => copyStrings(api.endModules()),
      },
      directory,
      this.capabilities,
      jsx,
    )
  }

  /** Runs a compiled script; its completion value is only ever handed back to realm-side code. */
  run(script: Script): unknown {
    return script.runInContext(this.#context)
  }

  /** Properties of the global object that code has added, replaced or taken away. */
  changedGlobals(): string[] {
    return copyStrings(this.api.changedGlobals())
  }

  /** A list of the realm's own with these items. */
  list<T extends Primitive>(items: readonly T[]): T[] {
    const list = this.api.newList() as T[]
    for (let index = 0; index < items.length; index++) list[index] = items[index]!
    return list
  }

  /** An encoded value as a table and chunks of the realm's own. Throws when the bytes are malformed. */
  table(bytes: Uint8Array): { table: Primitive[]; chunks: Uint8Array[] } {
    const unpacked = unpackValue(bytes)
    const chunks = this.api.newList() as unknown as Uint8Array[]
    for (let index = 0; index < unpacked.chunks.length; index++) {
      const chunk = unpacked.chunks[index]!
      const copy = this.api.newBytes(chunk.length)
      // `set` of our own realm, on a view that realm-side code has just made.
      Uint8Array.prototype.set.call(copy, chunk)
      chunks[index] = copy
    }
    return { table: this.list(unpacked.table), chunks }
  }

  /** Locals as bytes by group, and those that cannot be encoded. */
  encode(names: readonly string[]): {
    groups: EncodedGroupBytes[]
    ephemeral: { name: string; what: string }[]
  } {
    const encoded = this.api.encode(this.list(names))
    const groups: EncodedGroupBytes[] = []
    for (let index = 0; index < encoded.groups.length; index++) {
      const group = encoded.groups[index]!
      const sources: SourceOfFunctions[] = []
      for (let at = 0; at < group.sources.length; at++) {
        const { id, source, cells, roots, file, line, column } = group.sources[at]!
        sources.push({ id, source, cells, roots, file, line, column })
      }
      groups.push({ names: copyStrings(group.names), bytes: packValue(group), sources, isInert: group.isInert })
    }
    const ephemeral: { name: string; what: string }[] = []
    for (let index = 0; index < encoded.ephemeral.length; index++) {
      const { name, what, path } = encoded.ephemeral[index]!
      ephemeral.push({ name, what: path === name ? what : `${what} (at ${path})` })
    }
    return { groups, ephemeral }
  }
}

type Boot = (
  host: HostFunction,
  profile: string,
  granted: string,
  plan: RealmApi["intrinsicPlan"] | undefined,
) => RealmApi

type EvalCalls = ReturnType<typeof callsOfEval>

/**
 * As an object of ours. Those of realms look alike and have a shape each, so a thread with hundreds of them looks every property up anew at each
 * read: a quarter of a short eval.
 */
function callsOfEval(api: RealmApi) {
  // oxlint-disable typescript/unbound-method -- they are closures and know no `this`
  const { start, how, finishShort, end, kindOf, isPrimitive, primitive, isResultPrimitive, resultPrimitive } = api
  const { moveInstances, holdsBuiltIn } = api
  // oxlint-enable typescript/unbound-method
  return {
    start,
    how,
    finishShort,
    end,
    kindOf,
    isPrimitive,
    primitive,
    isResultPrimitive,
    resultPrimitive,
    moveInstances,
    holdsBuiltIn,
  }
}

/** The plan as arrays of ours, so that the first realm can go. */
function copyPlan({ parents, keys, ways, facts }: RealmApi["intrinsicPlan"]): RealmApi["intrinsicPlan"] {
  const copy = <T>(list: ArrayLike<T>): T[] => Array.from({ length: list.length }, (_, index) => list[index]!)
  const { starts, prototypes, open, values, primitives, setters } = facts!
  return {
    parents: copy(parents),
    keys: copy(keys),
    ways: copy(ways),
    facts: {
      starts: copy(starts),
      prototypes: copy(prototypes),
      open: copy(open),
      keys: copy(facts!.keys),
      bits: copy(facts!.bits),
      values: copy(values),
      primitives: copy(primitives),
      setters: copy(setters),
    },
  }
}

/** A list of realm-side code as an array of ours. */
export function copyStrings(list: ArrayLike<string>): string[] {
  const copy: string[] = []
  for (let index = 0; index < list.length; index++) copy.push(String(list[index]))
  return copy
}
