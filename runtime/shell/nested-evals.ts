// The evals that run inside one eval, because a tool call that it waits for has requested them.
//
// They stand in a line: the eval itself, the one that runs inside of it, the one inside of that. Only the last one may be given another, so
// requests for any other wait until what stands behind that one has ended. Each has exactly one outcome, and has it before the eval
// around it. What they change is a change of the outermost one and is committed or discarded with it, so no worker is ever asked to undo
// one of them alone: stopping one stops them all.
import type { OutputMessage, ToolCall } from "../host/worker-slot.ts"
import { emptyOutcome } from "../session/outcome.ts"
import type { Outcome, OutputChunk, OutcomeStatus } from "../session/outcome.ts"
import type { NestedEnded } from "../wire/schema.ts"
import type { ToolCalls } from "./tool-calls.ts"

/** Evals inside of each other. A tool that requests the eval that calls it would go on for ever. */
export const nestedDepthMax = 16

export interface NestedRequest {
  readonly evalId: string
  /** The eval whose tool call requested it. */
  readonly parent: string
  readonly source: string
  readonly file: string
  readonly line: number
  readonly principal: string | undefined
  readonly onOutput: ((chunk: OutputChunk) => void) | undefined
  readonly resolve: (outcome: Outcome) => void
}

export interface NestedServices {
  send(request: NestedRequest): void
  toolsOf(request: NestedRequest): ToolCalls
  /** Gives a chunk to the embedder's own callback. */
  tell(request: NestedRequest, chunk: OutputChunk): void
  valueOf(message: NestedEnded): Outcome["value"]
  revision(): number
  now(): number
}

interface Nested {
  readonly request: NestedRequest
  readonly output: OutputChunk[]
  readonly begunAt: number
  omittedBytes: number
  tools: ToolCalls | undefined
}

export class NestedEvals {
  readonly #rootId: string
  readonly #services: NestedServices
  readonly #line: Nested[] = []
  readonly #waiting: NestedRequest[] = []
  /** The one that was to be stopped, which takes all others with it, and why. */
  stopped: { readonly evalId: string; readonly because: string | undefined } | undefined

  constructor(rootId: string, services: NestedServices) {
    this.#rootId = rootId
    this.#services = services
  }

  get depth(): number {
    return this.#line.length
  }
  get waitingCount(): number {
    return this.#waiting.length
  }

  isRunning(evalId: string): boolean {
    return this.#line.some((it) => it.request.evalId === evalId)
  }

  add(request: NestedRequest): void {
    this.#waiting.push(request)
    this.#pump()
  }

  /** Takes back one that has not begun, and gives it its outcome; false when it is not waiting. */
  cancel(evalId: string, because: string | undefined): boolean {
    const at = this.#waiting.findIndex((it) => it.evalId === evalId)
    const [request] = at === -1 ? [] : this.#waiting.splice(at, 1)
    if (request === undefined) return false
    this.#resolve(request, "interrupted", because)
    return true
  }

  onOutput(evalId: string, { stream, text, seq, omittedBytes }: OutputMessage): void {
    const nested = this.#find(evalId)
    if (nested === undefined) return
    nested.omittedBytes = omittedBytes
    if (text === "") return
    const chunk: OutputChunk = { stream, text, seq }
    nested.output.push(chunk)
    this.#services.tell(nested.request, chunk)
  }

  onToolCall(evalId: string, call: ToolCall): void {
    const nested = this.#find(evalId)
    if (nested === undefined) return
    nested.tools ??= this.#services.toolsOf(nested.request)
    nested.tools.start(call)
  }

  onEnded(message: NestedEnded): Outcome | undefined {
    const nested = this.#line.at(-1)
    if (nested === undefined || nested.request.evalId !== message.nested) return undefined
    this.#line.pop()
    nested.tools?.abortAll()
    const { status, set, removed, definitions, error, exitCode, abandoned, omittedBytes } = message
    const outcome = this.#outcomeOf(nested, status)
    outcome.omittedBytes = omittedBytes
    const value = status === "ok" ? this.#services.valueOf(message) : undefined
    if (value !== undefined) outcome.value = value
    if (error !== undefined) outcome.error = error
    if (exitCode !== undefined) outcome.exitCode = exitCode
    outcome.abandoned = abandoned ?? []
    const pending = set.length + removed.length + definitions.length > 0
    Object.assign(outcome.committed, { set, removed, definitions, pending })
    nested.request.resolve(outcome)
    this.#pump()
    return outcome
  }

  /** The outermost eval has ended: those that are left end with it, the innermost first. Nothing of them is committed. */
  settle(status: OutcomeStatus, because: string | undefined): Outcome[] {
    const ended: Outcome[] = []
    const own = status === "crashed" || status === "timeout" ? status : "interrupted"
    for (const nested of this.#line.splice(0).toReversed()) {
      nested.tools?.abortAll()
      const outcome = this.#outcomeOf(nested, own)
      const isStopped = nested.request.evalId === this.stopped?.evalId
      const why = isStopped ? this.stopped?.because : (because ?? "outer-ended")
      if (why !== undefined) outcome.because = why
      nested.request.resolve(outcome)
      ended.push(outcome)
    }
    for (const request of this.#waiting.splice(0)) this.#resolve(request, "interrupted", "outer-ended")
    return ended
  }

  #find(evalId: string): Nested | undefined {
    return this.#line.find((it) => it.request.evalId === evalId)
  }

  /** Begins the first one that waits for the end of the line. */
  #pump(): void {
    const last = this.#line.at(-1)?.request.evalId ?? this.#rootId
    const at = this.#waiting.findIndex((it) => it.parent === last)
    const [request] = at === -1 ? [] : this.#waiting.splice(at, 1)
    if (request === undefined) {
      this.#dropOrphans()
      return
    }
    const begunAt = this.#services.now()
    this.#line.push({ request, output: [], begunAt, omittedBytes: 0, tools: undefined })
    this.#services.send(request)
  }

  /** Those that were requested by an eval which has ended since. */
  #dropOrphans(): void {
    for (const { evalId, parent } of this.#waiting.slice()) {
      if (parent !== this.#rootId && !this.isRunning(parent)) this.cancel(evalId, "outer-ended")
    }
  }

  #outcomeOf({ request, output, omittedBytes, begunAt }: Nested, status: OutcomeStatus): Outcome {
    const outcome = emptyOutcome(request.evalId, status, this.#services.revision())
    outcome.output = output
    outcome.omittedBytes = omittedBytes
    outcome.durationMs = this.#services.now() - begunAt
    return outcome
  }

  #resolve(request: NestedRequest, status: OutcomeStatus, because: string | undefined): void {
    const outcome = emptyOutcome(request.evalId, status, this.#services.revision())
    if (because !== undefined) outcome.because = because
    request.resolve(outcome)
  }
}
