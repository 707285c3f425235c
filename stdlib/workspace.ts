// `Workspace` and `Transcript` for session code, and what a name means that no session binds.
//
// Globals live in the embedder's process. Here each name has a slot: the value as it was at a generation of the workspace. While the
// generation has not moved the slot answers by itself; when it has, the next use of the name asks. A write returns when every host of the
// workspace has the new generation, so nobody reads an older value after that. Nothing of a global is ever kept in a session.
import { jsonStringify, MapOf, mapGet, mapSet, newList, objectFreeze, isListed } from "./intrinsics.ts"
import { kindError, opGeneration } from "./bridge.ts"
import type { Bridge } from "./bridge.ts"
import { mintView } from "./bindings-view.ts"
import type { FreeValue } from "./cell.ts"
import type { BindingsView, ViewSource } from "./bindings-view.ts"
import { SharedCopies, textList } from "./other-session.ts"
import type { OthersServices } from "./other-session.ts"

export interface WorkspaceServices extends OthersServices {
  readonly bridge: Bridge
  /** A global's value as a payload. Throws `value_not_transferable` or `value_too_large`. */
  encodeShared(key: string, value: unknown): unknown
  sessions(): unknown[]
  currentSession(): object | undefined
  /** Singletons and classes by name, of those that this realm has. */
  singleton(name: string): object | undefined
  /** What the workspace's preludes export. */
  readonly exports: {
    names(): readonly string[]
    has(name: string): boolean
    lookup(name: string): FreeValue | undefined
  }
  /** The text that a value shows in the transcript. */
  show(value: unknown): string
}

interface GlobalSlot extends FreeValue {
  /** Of the workspace when it was asked for. */
  readonly asOf: number
  isBound: boolean
  isMutable: boolean
  mark: unknown
}

/** Names that are the same for every session of every workspace, after its globals. */
const singletonNames: readonly string[] = objectFreeze(["Workspace", "Transcript", "tools"])
const registryNames: readonly string[] = objectFreeze(["Session", "BindingsView"])

export class WorkspaceGlobals implements ViewSource {
  readonly #services: WorkspaceServices
  readonly #slots = new MapOf<string, GlobalSlot>()
  readonly #copies: SharedCopies

  constructor(services: WorkspaceServices) {
    this.#services = services
    this.#copies = new SharedCopies(services)
  }

  /** The global of that name as it is now, singletons left out. */
  lookup(key: string): FreeValue | undefined {
    const { bridge } = this.#services
    const generation = bridge.call(opGeneration) as number
    if (generation === 0) return undefined
    const slot = mapGet<GlobalSlot>(this.#slots, key)
    if (slot !== undefined && slot.asOf === generation) {
      if (!slot.isBound) return undefined
      if (!slot.isMutable || slot.mark === this.#services.evalMark()) return slot
    }
    return this.#ask(key, generation)
  }

  /** What it gets is at least as new as the generation, which was read before. */
  #ask(key: string, generation: number): GlobalSlot | undefined {
    const { names } = this.#services
    const copy = this.#copies.read(`Reading the global '${key}'`, "global", key, "", names)
    const slot: GlobalSlot = {
      asOf: generation,
      // What cannot be frozen is another copy in the next eval, so nobody may keep it.
      generation: copy?.isMutable === true ? undefined : generation,
      isBound: copy !== undefined,
      isMutable: copy?.isMutable ?? false,
      mark: this.#services.evalMark(),
      value: copy?.value,
    }
    mapSet(this.#slots, key, slot)
    return copy === undefined ? undefined : slot
  }

  read(key: string): { value: unknown } | undefined {
    const found = this.lookup(key)
    if (found !== undefined) return found
    const singleton = isListed(singletonNames, key) ? this.#services.singleton(key) : undefined
    return singleton === undefined ? undefined : { value: singleton }
  }

  has(key: string): boolean {
    return this.read(key) !== undefined
  }

  keys(): string[] {
    const keys: string[] = newList()
    if ((this.#services.bridge.call(opGeneration) as number) !== 0) {
      const bound = textList(this.#services.asker.ask("Workspace.globals", "globals", "", ""))
      for (let index = 0; index < bound.length; index++) keys[keys.length] = bound[index]!
    }
    for (let index = 0; index < singletonNames.length; index++) {
      const name = singletonNames[index]!
      if (this.#services.singleton(name) !== undefined) keys[keys.length] = name
    }
    return keys
  }

  put(key: string, value: unknown): void {
    const payload = this.#services.encodeShared(key, value)
    this.#services.asker.ask(`Binding the global '${key}'`, "bind", key, "", payload)
  }

  remove(key: string): void {
    this.#services.asker.ask(`Unbinding the global '${key}'`, "unbind", key, "")
  }
}

/** The class registry as a view: what session code can rely on besides globals. */
class ClassRegistry implements ViewSource {
  readonly #services: WorkspaceServices

  constructor(services: WorkspaceServices) {
    this.#services = services
  }

  read(key: string): { value: unknown } | undefined {
    const found = isListed(registryNames, key) ? this.#services.singleton(key) : undefined
    return found === undefined ? this.#services.exports.lookup(key) : { value: found }
  }

  has(key: string): boolean {
    return isListed(registryNames, key) || this.#services.exports.has(key)
  }

  keys(): string[] {
    const keys: string[] = newList()
    for (let index = 0; index < registryNames.length; index++) keys[index] = registryNames[index]!
    const exported = this.#services.exports.names()
    for (let index = 0; index < exported.length; index++) keys[keys.length] = exported[index]!
    return keys
  }

  put(key: string): void {
    this.remove(key)
  }

  remove(key: string): void {
    throw kindError("unsupported", `${jsonStringify(key)}: Workspace.classes is read-only.`)
  }
}

export interface RealmWorkspace {
  readonly Workspace: object
  readonly Transcript: object
  readonly globals: WorkspaceGlobals
  readonly globalsView: BindingsView
  readonly classesView: BindingsView
}

/** Makes the realm's `Workspace` and `Transcript`, sealed. */
export function makeWorkspace(services: WorkspaceServices): RealmWorkspace {
  const globals = new WorkspaceGlobals(services)
  const globalsView = mintView(globals)
  const classesView = mintView(new ClassRegistry(services))
  const isKey = (name: unknown, method: string): string => {
    if (typeof name === "string") return name
    throw kindError("type_error", `Workspace.${method} takes a name as a string, not ${typeof name}.`)
  }
  const Workspace = objectFreeze({
    __proto__: null,
    get globals() {
      return globalsView
    },
    get classes() {
      return classesView
    },
    get currentSession() {
      return services.currentSession()
    },
    get sessions() {
      return services.sessions()
    },
    bind<T>(name: unknown, value: T): T {
      globals.put(isKey(name, "bind"), value)
      return value
    },
    unbind(name: unknown): undefined {
      globals.remove(isKey(name, "unbind"))
    },
    toString: () => "Workspace",
  })
  const Transcript = objectFreeze({
    __proto__: null,
    show(text: unknown): undefined {
      const shown = typeof text === "string" ? text : services.show(text)
      services.asker.ask("Transcript.show", "show", shown, "")
    },
    toString: () => "Transcript",
  })
  return { Workspace, Transcript, globals, globalsView, classesView }
}
