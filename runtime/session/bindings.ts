// What a session holds, as its embedder sees it: the committed state, decoded on demand. Reading never waits for the session's code.
import { isCodeChange } from "../wire/code-changes.ts"
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

  readonly #checkOpen: () => void

  /** `checkOpen` throws `session_not_found` once the session is closed, also for a view that was taken before. */
  constructor(state: SessionState, checkOpen: () => void) {
    this.#state = state
    this.#checkOpen = checkOpen
  }

  #open(): SessionState {
    this.#checkOpen()
    return this.#state
  }

  keys(): string[] {
    const { locals, definitions } = this.#open()
    const names = Array.from(locals.keys()).filter((name) => !isCodeChange(name))
    return [...names, ...Array.from(definitions.keys()).filter((name) => !locals.has(name))]
  }

  get size(): number {
    return this.keys().length
  }

  includesKey(name: string): boolean {
    const { locals, definitions } = this.#open()
    return (locals.has(name) && !isCodeChange(name)) || definitions.has(name)
  }

  /**
   * The value of a local; `undefined` when the name is not bound. Fails with `binding_lost` when its value went with a process, and with
   * `value_not_transferable` for a definition or a value that only a process holds.
   */
  at(name: string): unknown {
    const { locals, definitions } = this.#open()
    const local = locals.get(name)
    if (local === undefined) {
      if (!definitions.has(name)) return undefined
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
    const { locals, definitions } = this.#open()
    const local = locals.get(name)
    const definition = definitions.get(name)
    if (local !== undefined) {
      const held = local.held === "realm" ? "ephemeral" : local.held === "value" ? "bytes" : local.held
      const kind = definition === undefined ? (local.readonly ? "readonly" : "local") : "definition"
      const info: BindingInfo & { source?: string } = { name, kind, held }
      if (definition !== undefined) info.source = definition.source
      return info
    }
    return definition && { name, kind: "definition", held: "source", source: definition.source }
  }
}
