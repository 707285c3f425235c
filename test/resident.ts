// A session in one process, for tests: a real realm and resident, and the committed state that its deltas make. `rebuild` throws the realm
// away, so that what follows runs on what was committed and on nothing else.
import { bundleRealmScript } from "../runtime/worker/bundle.ts"
import { CompileCache } from "../runtime/worker/compile-cache.ts"
import { errorRecord } from "../runtime/worker/error-record.ts"
import { RealmMaker } from "../runtime/worker/realm.ts"
import { Resident } from "../runtime/worker/resident.ts"
import { RunningEval, type EvalMessage } from "../runtime/worker/running-eval.ts"
import { jsxOf, type Jsx, type JsxOptions } from "../runtime/language/jsx-option.ts"
import { changedUrlParts, urlParts } from "../runtime/worker/url-parts.ts"
import { Capabilities, standardCapabilities } from "../stdlib/capabilities.ts"
import { opUrl } from "../stdlib/bridge.ts"
import {
  checkpointOf,
  commitDelta,
  commitPending,
  ephemeralNames,
  loseRealm,
  SessionState,
} from "../runtime/session/state.ts"
import type { Delta, ErrorRecord, Preludes } from "../runtime/wire/schema.ts"
import { PreludeStore } from "../runtime/workspace/preludes.ts"
import { decodeForEmbedder } from "../runtime/wire/values/embedder.ts"

const ordinaryRealms = new RealmMaker(bundleRealmScript())

export interface ResidentEval {
  status: "ok" | "threw" | "invalid"
  /** The preview of the result, or the error's rendering. */
  text: string
  value: unknown
  delta: Delta
  /** What a thrown error was described as. */
  error?: ErrorRecord
}

export class ResidentSession {
  readonly state = new SessionState()
  readonly #realms: RealmMaker
  readonly #cache = new CompileCache()
  #resident: Resident | undefined
  #count = 0
  #preludeSets = 0
  readonly preludes = new PreludeStore(() => ++this.#preludeSets)

  readonly #jsx: Jsx | undefined
  /** Values that share more bytes are written only by `write`, and before a rebuild. */
  defersAbove: number | undefined

  /** Bytes above which it is found out whether an eval only reads. */
  provesAbove: number | undefined

  constructor({ realms = ordinaryRealms, jsx }: { realms?: RealmMaker; jsx?: JsxOptions } = {}) {
    this.#realms = realms
    this.#jsx = jsx && jsxOf(jsx)
  }

  get resident(): Resident {
    return (this.#resident ??= this.#build())
  }

  #build(): Resident {
    this.state.preludes ??= this.preludes.current
    const checkpoint = checkpointOf(this.state, {
      tools: [],
      kind: "repl",
      profile: "standard",
      capabilities: standardCapabilities.split(","),
      directory: process.cwd(),
      jsx: this.#jsx,
    })
    // As bytes, so that nothing but what a message carries can come through.
    const resident = new Resident(
      "ses_test",
      this.state.commit,
      structuredClone(checkpoint),
      this.#realms.make(new Capabilities("standard", standardCapabilities)),
      (op, a, b, _payload, c) => {
        if (op !== opUrl) return 0
        const other = b === undefined ? undefined : String(b)
        return c === undefined ? urlParts(String(a), other) : changedUrlParts(String(a), String(c), String(b))
      },
    )
    if (this.provesAbove !== undefined) resident.provesAbove = this.provesAbove
    resident.prepare()
    return resident
  }

  /** Loads a prelude for the next eval. Gives what its first evaluation failed with, where it did. */
  async load(name: string, source: string): Promise<string | undefined> {
    try {
      await this.preludes.load({ name, source }, "/nowhere", async (preludes) => {
        const trial = new ResidentSession()
        trial.state.preludes = preludes
        return trial.resident.preludes.problem
      })
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

  async removePrelude(name: string): Promise<void> {
    await this.preludes.remove(name, async () => undefined)
  }

  #follow(): Preludes {
    const { current } = this.preludes
    if (current.id === this.resident.preludes.id) return current
    this.resident.follow(structuredClone(current))
    this.resident.prepare()
    return current
  }

  /** The realm is gone. Returns the names that were lost with it. */
  rebuild(): string[] {
    this.write()
    this.#resident = undefined
    return loseRealm(this.state, "its realm was thrown away")
  }

  /** Writes what evals have put off. */
  write(): void {
    if (this.#resident === undefined || this.state.pending.size === 0) return
    commitPending(this.state, structuredClone(this.#resident.writePending()))
    this.#resident.commit = this.state.commit
  }

  get ephemeral(): string[] {
    return ephemeralNames(this.state)
  }

  /** What is said of a name that only the realm holds. */
  ephemeralText(name: string): string | undefined {
    const local = this.state.locals.get(name)
    return local?.held === "realm" ? local.what : undefined
  }

  async eval(source: string): Promise<ResidentEval> {
    const { resident } = this
    const { api } = resident.realm
    const file = `test/${++this.#count}.ts`
    const compiled = this.#cache.compile(source, 1, resident)
    if (!("unit" in compiled)) return { status: "invalid", text: compiled.rendered, value: undefined, delta: {} }
    const preludes = this.#follow()
    const message = {
      seq: 1,
      evalId: "evl",
      session: "ses_test",
      source,
      file,
      line: 1,
      limits: [1e6],
      defersAbove: this.defersAbove,
    }
    const evl = new RunningEval(message as unknown as EvalMessage, resident, () => {})
    if (!resident.start(compiled, source, file)) {
      for (let turn = 0; turn < 50 && api.how() === "running"; turn++)
        await new Promise((resolve) => setImmediate(resolve))
    }
    const status = api.how() === "ok" ? "ok" : "threw"
    const error =
      status === "ok" ? undefined : errorRecord(api.describeError(), resident, { text: source, file, line: 1 })
    const text = error?.rendered ?? resident.previewResult(10_000).text
    const { delta } = resident.commitEval(evl, compiled, status)
    const result = status === "ok" ? resident.takeResult(1e6) : { withheld: "threw" }
    const value = "plain" in result ? result.plain : "data" in result ? decodeForEmbedder(result.data) : undefined
    api.end()
    commitDelta(this.state, structuredClone(delta))
    this.state.preludes = preludes
    resident.commit = this.state.commit
    return error === undefined ? { status, text, value, delta } : { status, text, value, delta, error }
  }

  /** The value of an eval that must not throw. */
  async run(source: string): Promise<unknown> {
    const { status, text, value } = await this.eval(source)
    if (status !== "ok") throw new Error(text)
    return value
  }
}
