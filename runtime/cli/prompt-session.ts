// The session behind the prompt: one of this process, or one of a nacre that is served elsewhere. The prompt knows only this interface.
//
// What is asked while code runs (completion, hover, names) waits for no code on either side. Over a socket an answer may be a while in coming, and
// the socket may break and be opened again: the client library sees to it that answers and output still come, each once.
import type { QuestionOptions } from "../checker/checker.ts"
import type { Client, ResultOf } from "../client/index.ts"
import type { Nacre } from "../nacre.ts"
import type { Outcome, OutputChunk } from "../session/outcome.ts"
import type { Session } from "../session/session.ts"
import type { RevisionRecord } from "../module/revision.ts"

export interface PromptBinding {
  readonly name: string
  readonly kind: "local" | "readonly" | "definition"
  readonly held: "bytes" | "ephemeral" | "lost" | "source"
  readonly source?: string | undefined
}

export interface Restored {
  readonly status: "committed" | "rejected"
  readonly revision?: number
  readonly record?: RevisionRecord
  readonly rejection?: { readonly kind: string; readonly message: string }
}

export type OnOutput = (chunk: Pick<OutputChunk, "stream" | "text">) => void

export interface PromptSession {
  eval(source: string, file: string, onOutput: OnOutput): Promise<Outcome>
  /** Stops what runs, if anything does. */
  interrupt(): Promise<unknown>
  reset(): Promise<unknown>
  complete(text: string, options: QuestionOptions): Promise<{ start: number; items: readonly { name: string }[] }>
  hover(
    text: string,
    offset: number,
    options?: QuestionOptions,
  ): Promise<{ text: string; documentation: string } | undefined>
  /** With the sources of definitions. */
  bindings(): Promise<PromptBinding[]>
  /** Names that its workspace shares, as far as they are known here. */
  sharedNames(): Promise<string[]>
  revisions(): Promise<readonly RevisionRecord[]>
  restore(revision: number): Promise<Restored>
  /** What runs where it is, for a person. */
  tree(): Promise<string>
}

export class LocalSession implements PromptSession {
  readonly #nacre: Nacre
  readonly #session: Session

  constructor(nacre: Nacre, session: Session) {
    this.#nacre = nacre
    this.#session = session
  }

  eval(source: string, file: string, onOutput: OnOutput): Promise<Outcome> {
    return this.#session.eval(source, { file, onOutput })
  }
  interrupt(): Promise<boolean> {
    return this.#session.interrupt()
  }
  reset(): Promise<void> {
    return this.#session.reset()
  }
  complete(text: string, options: QuestionOptions): ReturnType<PromptSession["complete"]> {
    return this.#session.complete(text, text.length, options)
  }
  hover(text: string, offset: number, options?: QuestionOptions): ReturnType<PromptSession["hover"]> {
    return this.#session.hover(text, offset, options)
  }
  async bindings(): Promise<PromptBinding[]> {
    const { bindings } = this.#session
    return bindings.keys().map((name) => bindings.info(name)!)
  }
  async sharedNames(): Promise<string[]> {
    return this.#nacre.globals(this.#session.workspace).keys()
  }
  async revisions(): Promise<readonly RevisionRecord[]> {
    return this.#session.history()
  }
  restore(revision: number): Promise<Restored> {
    return this.#session.restoreRevision(revision)
  }
  async tree(): Promise<string> {
    return this.#nacre.tree().text
  }
}

export class RemoteSession implements PromptSession {
  readonly #client: Client
  #onOutput: OnOutput | undefined

  /** The connection's own session. */
  constructor(client: Client) {
    this.#client = client
    client.on("output", (chunk) => this.#onOutput?.(chunk))
  }

  async eval(source: string, file: string, onOutput: OnOutput): Promise<Outcome> {
    this.#onOutput = onOutput
    try {
      return (await this.#client.request("eval", { code: source, file, data: false })) as Outcome
    } finally {
      this.#onOutput = undefined
    }
  }
  interrupt(): Promise<unknown> {
    // When the answer does not come, the eval tells why.
    return this.#client.request("interrupt").catch(() => {})
  }
  reset(): Promise<unknown> {
    return this.#client.request("reset")
  }
  complete(text: string, { signal }: QuestionOptions): ReturnType<PromptSession["complete"]> {
    return this.#client.request("complete", { code: text }, signal === undefined ? {} : { signal })
  }
  async hover(text: string, offset: number, { signal }: QuestionOptions = {}): ReturnType<PromptSession["hover"]> {
    const asked = signal === undefined ? {} : { signal }
    return (await this.#client.request("inspect", { code: text, offset }, asked)).name
  }
  async bindings(): Promise<PromptBinding[]> {
    const found: PromptBinding[] = []
    for (let total = 1; found.length < total;) {
      const page: ResultOf<"bindings"> = await this.#client.request("bindings", { from: found.length, sources: true })
      found.push(...page.bindings)
      // One that lost some meanwhile has an end, too.
      total = page.bindings.length === 0 ? 0 : page.total
    }
    return found
  }
  async sharedNames(): Promise<string[]> {
    return []
  }
  async revisions(): Promise<readonly RevisionRecord[]> {
    const { total } = await this.#client.request("history", { count: 1 })
    const from = Math.max(0, total - revisionsAsked)
    return (await this.#client.request("history", { from, count: revisionsAsked })).records as readonly RevisionRecord[]
  }
  async restore(revision: number): Promise<Restored> {
    return (await this.#client.request("restoreRevision", { revision })) as Restored
  }
  async tree(): Promise<string> {
    const { sessions } = await this.#client.request("sessions/list")
    const rows = sessions.map(
      ({ session, kind, profile, state }) => `${session}  ${kind}, ${state}, profile ${profile}`,
    )
    return ["sessions of the workspace", ...rows].join("\n")
  }
}

/** Of a long history the last ones. */
const revisionsAsked = 100
