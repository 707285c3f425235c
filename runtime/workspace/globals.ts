// The globals of one workspace: names and bytes, in the embedder's process. Sessions read copies; nothing of a global lives in them.
//
// A write has three steps: it stands here, it is told to every host of the workspace, and it returns when all of them have seen it. So no
// code that begins to read after a write has returned gets what was before. A host that does not answer is lost, and its code with it.
import { NacreError } from "../errors.ts"
import { decodeForEmbedder, encodeForSession } from "../wire/values/embedder.ts"

export interface Global {
  readonly bytes: Uint8Array
  /** Another one for each value that any name ever had. */
  readonly version: number
}

/** Globals of one workspace. They are for what sessions share, not a database. */
const globalsMax = 10_000
const globalBytesMax = 256 * 1024 * 1024

export class GlobalStore {
  readonly #globals = new Map<string, Global>()
  #bytes = 0
  #versions = 0
  /** Moves with every write; 0 while there never was one. A worker keeps it in 32 bits. */
  generation = 0

  get(name: string): Global | undefined {
    return this.#globals.get(name)
  }

  has(name: string): boolean {
    return this.#globals.has(name)
  }

  names(): string[] {
    return [...this.#globals.keys()]
  }

  get size(): number {
    return this.#globals.size
  }

  /** Fails with `value_too_large` when the workspace holds its maximum. */
  set(name: string, bytes: Uint8Array): void {
    const before = this.#globals.get(name)?.bytes.length ?? 0
    const isNew = !this.#globals.has(name)
    if (this.#bytes - before + bytes.length > globalBytesMax || (isNew && this.#globals.size >= globalsMax)) {
      const message = `The workspace's globals are at their maximum (${globalsMax} names, ${globalBytesMax} bytes); unbind some before '${name}' is bound.`
      throw new NacreError("value_too_large", message)
    }
    this.#bytes += bytes.length - before
    this.#globals.set(name, { bytes, version: ++this.#versions })
    this.#move()
  }

  /** False when there is none of that name: nothing happened then. */
  delete(name: string): boolean {
    const before = this.#globals.get(name)
    if (before === undefined) return false
    this.#bytes -= before.bytes.length
    this.#globals.delete(name)
    this.#move()
    return true
  }

  #move(): void {
    this.generation = (this.generation + 1) | 0 || 1
  }
}

/** What an embedder reads and writes of a workspace's globals, as `nacre.globals(workspace)` gives it. Live; values are copies. */
export class WorkspaceGlobals {
  readonly #store: () => GlobalStore | undefined
  readonly #bind: (name: string, bytes: Uint8Array) => Promise<void>
  readonly #unbind: (name: string) => Promise<void>

  constructor(
    store: () => GlobalStore | undefined,
    bind: (name: string, bytes: Uint8Array) => Promise<void>,
    unbind: (name: string) => Promise<void>,
  ) {
    this.#store = store
    this.#bind = bind
    this.#unbind = unbind
  }

  keys(): string[] {
    return this.#store()?.names() ?? []
  }

  get size(): number {
    return this.#store()?.size ?? 0
  }

  includesKey(name: string): boolean {
    return this.#store()?.has(name) ?? false
  }

  /** A fresh copy of the value, `undefined` when nothing is bound to the name. */
  at(name: string): unknown {
    const global = this.#store()?.get(name)
    return global && decodeForEmbedder(global.bytes)
  }

  /**
   * Binds the name for every session of the workspace; resolves when every host has seen it. Rejects with `name_conflict`, `type_error`,
   * `value_not_transferable` or `value_too_large`.
   */
  async bind(name: string, value: unknown): Promise<void> {
    await this.#bind(name, encodeForSession(value))
  }

  /** Takes the name away; nothing happens when it is not bound. Resolves when every host has seen it. */
  async unbind(name: string): Promise<void> {
    await this.#unbind(name)
  }
}
