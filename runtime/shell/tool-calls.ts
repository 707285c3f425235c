// The tool calls of one eval: started when session code asks, bounded in number and time, aborted when the eval ends.
//
// A tool is the embedder's own function, so it may throw, hang, or answer after everyone has left. Its failure is session code's to
// catch; a late answer is dropped; the signal it was given tells it that nobody waits any more.
import { AsyncLocalStorage } from "node:async_hooks"
import type { Clock } from "../clock.ts"
import type { ToolCall } from "../host/worker-slot.ts"
import { messageOf } from "../errors.ts"
import type { Limits } from "../options.ts"
import { decodeForEmbedder, encodeForSession } from "../wire/values/embedder.ts"

export interface ToolContext {
  readonly session: string
  readonly workspace: string
  readonly evalId: string
  readonly principal?: string
  /** Aborted when the call's deadline passes or its eval ends. */
  readonly signal: AbortSignal
}

/** An async function that the embedder exposes to sessions. What it throws or rejects with reaches session code as an error. */
export type Tool = (args: unknown[], call: ToolContext) => unknown

export interface ToolResult {
  callId: number
  ok: boolean
  bytes: Uint8Array
  message: string
  kind: string
}

interface Caller {
  readonly id: string
  readonly workspace: string
  readonly principal: string | undefined
  readonly tools: ReadonlyMap<string, Tool>
  /** Calls that are no tools of the embedder's; no tool can have such a name. */
  ownCall?(name: string): Tool | undefined
}

/** The session (`sessionKey`) and its eval whose tool call this code runs in: what it awaits, these wait for. */
export const callingSession = new AsyncLocalStorage<{ readonly session: string; readonly evalId: string }>()

/** A session's id is its own within its workspace only. */
export function sessionKey({ workspace, id }: { workspace: string; id: string }): string {
  return `${workspace}/${id}`
}

const nothing: Uint8Array = new Uint8Array(0)

export class ToolCalls {
  readonly #caller: Caller
  readonly #evalId: string
  readonly #limits: Limits
  readonly #clock: Clock
  readonly #answer: (result: ToolResult) => void
  /** Each with what stops its deadline. */
  readonly #running = new Map<number, { readonly abort: AbortController; cancel: () => void }>()
  readonly #waiting: ToolCall[] = []

  constructor(caller: Caller, evalId: string, limits: Limits, clock: Clock, answer: (result: ToolResult) => void) {
    this.#caller = caller
    this.#evalId = evalId
    this.#limits = limits
    this.#clock = clock
    this.#answer = answer
  }

  start(call: ToolCall): void {
    if (this.#running.size >= this.#limits.toolCallsMax) {
      this.#waiting.push(call)
      return
    }
    void this.#run(call)
  }

  /** The eval has ended: nobody waits for these any more. */
  abortAll(): void {
    this.#waiting.length = 0
    for (const { abort, cancel } of this.#running.values()) {
      // A tool that never settles must not keep a timer, and with it the process, until its deadline.
      cancel()
      abort.abort(new Error(`Eval ${this.#evalId} has ended.`))
    }
    this.#running.clear()
  }

  async #run(call: ToolCall): Promise<void> {
    const abort = new AbortController()
    const { toolTimeoutMs } = this.#limits
    const timeout = withResolvers<never>()
    const cancel = this.#clock.after(toolTimeoutMs, () => {
      const message = `Tool '${call.name}' did not settle within ${toolTimeoutMs} ms.`
      abort.abort(new Error(message))
      timeout.reject(Object.assign(new Error(message), { kind: "tool_timeout" }))
    })
    this.#running.set(call.callId, { abort, cancel })
    let result: ToolResult
    try {
      const value = await Promise.race([this.#invoke(call, abort.signal), timeout.promise])
      result = { callId: call.callId, ok: true, bytes: encodeForSession(value), message: "", kind: "" }
    } catch (error) {
      result = failure(call.callId, error)
    }
    cancel()
    if (!this.#running.delete(call.callId)) return
    this.#answer(result)
    const next = this.#waiting.shift()
    if (next !== undefined) this.start(next)
  }

  async #invoke(call: ToolCall, signal: AbortSignal): Promise<unknown> {
    const { id, workspace, principal, tools } = this.#caller
    const tool = tools.get(call.name) ?? this.#caller.ownCall?.(call.name)
    if (tool === undefined) {
      throw Object.assign(new Error(`Session '${id}' has no tool '${call.name}'.`), { kind: "tool_not_found" })
    }
    const args = decodeForEmbedder(call.bytes) as unknown[]
    const context: ToolContext = {
      session: id,
      workspace,
      evalId: this.#evalId,
      signal,
      ...(principal && { principal }),
    }
    const caller = { session: sessionKey({ workspace, id }), evalId: this.#evalId }
    return callingSession.run(caller, () => tool(args, context))
  }
}

function failure(callId: number, error: unknown): ToolResult {
  const message = messageOf(error)
  let given: unknown
  let bytes: Uint8Array = nothing
  try {
    if (typeof error === "object" && error !== null) given = (error as { kind?: unknown }).kind
    bytes = encodeForSession(error)
  } catch {
    // The error holds something that cannot travel or be read: its message does.
  }
  return { callId, ok: false, bytes, message, kind: typeof given === "string" ? given : "" }
}

// Promise.withResolvers is not in Node 20.
function withResolvers<T>(): { promise: Promise<T>; reject: (error: Error) => void } {
  let reject!: (error: Error) => void
  const promise = new Promise<T>((_resolve, rejectIt) => {
    reject = rejectIt
  })
  return { promise, reject }
}
