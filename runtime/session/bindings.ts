// What a session holds, as its embedder sees it: the committed state, decoded on demand. Reading never waits for the session's code.
import { NacreError } from "../errors.ts"
import { decodeBindingForEmbedder } from "../wire/values/embedder.ts"
import type { SessionState } from "./state.ts"

export interface BindingInfo {
  name: string
  kind: "local" | "readonly" | "definition"
  /** `lost` when its value went with the process that held it, `ephemeral` while only a process holds it. */
  held: "bytes" | "ephemeral" | "lost" | "source"
}

/** A live, read-only view of a session's bindings as of its last commit. Values are copies: decoded afresh by each `at`. */
export class SessionBindings {
  readonly #state: SessionState

  constructor(state: SessionState) {
    this.#state = state
  }

  keys(): string[] {
    return [...this.#state.locals.keys(), ...this.#state.definitions.keys()]
  }

  get size(): number {
    return this.#state.locals.size + this.#state.definitions.size
  }

  includesKey(name: string): boolean {
    return this.#state.locals.has(name) || this.#state.definitions.has(name)
  }

  /**
   * The value of a local; `undefined` when the name is not bound. Fails with `binding_lost` when its value went with a process, and with
   * `value_not_transferable` for a definition or a value that only a process holds.
   */
  at(name: string): unknown {
    const local = this.#state.locals.get(name)
    if (local === undefined) {
      if (!this.#state.definitions.has(name)) return undefined
      throw new NacreError(
        "value_not_transferable",
        `Binding '${name}' is a definition; its source is in info('${name}').`,
      )
    }
    if (local.held === "value") return local.value
    if (local.held === "lost") throw new NacreError("binding_lost", `Binding '${name}' was lost: ${local.reason}.`)
    if (local.held === "realm") {
      throw new NacreError(
        "value_not_transferable",
        `Binding '${name}' holds ${local.what}, which cannot leave its process.`,
      )
    }
    return decodeBindingForEmbedder(local.group.bytes, name)
  }

  info(name: string): (BindingInfo & { source?: string }) | undefined {
    const local = this.#state.locals.get(name)
    if (local !== undefined) {
      const held = local.held === "realm" ? "ephemeral" : local.held === "value" ? "bytes" : local.held
      return { name, kind: local.readonly ? "readonly" : "local", held }
    }
    const definition = this.#state.definitions.get(name)
    return definition && { name, kind: "definition", held: "source", source: definition.source }
  }
}
