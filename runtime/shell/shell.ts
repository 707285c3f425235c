// The actor that owns one active session and runs its evals one at a time. It never runs user code itself.
//
// Everything that an eval is promised is kept here: one outcome each, in order; the pending-mutations queue, which outlives the thread
// that fills it; the committed state, which only this file changes. The scheduler says when an eval has begun and how its thread or host
// ended; DESIGN.md section 5 says what follows from that, and `#finish*` below are its rows.
import { createActor } from "xstate"
import type { Actor } from "xstate"
import type { Clock } from "../clock.ts"
import { NacreError, assert, messageOf } from "../errors.ts"
import type { Emit } from "../events.ts"
import type { Scheduler } from "../host/scheduler.ts"
import type { SyncAnswer, SyncCall } from "../host/host.ts"
import type { EvalRequest, Job, OutputMessage, Tenant, ToolCall } from "../host/worker-slot.ts"
import type { Limits } from "../options.ts"
import type { Profile } from "../profile.ts"
import { emptyOutcome } from "../session/outcome.ts"
import type { ErrorRecord, Outcome, OutputChunk, OutcomeReason } from "../session/outcome.ts"
import {
  checkpointOf,
  commitDelta,
  commitPending,
  commitQueue,
  ephemeralNames,
  loseRealm,
  resetState,
  takeChanges,
} from "../session/state.ts"
import type { RevisionFacts, SessionState } from "../session/state.ts"
import { pinnedAt, retained, retainedAs, shownName } from "../session/unnamed.ts"
import { decodeForEmbedder } from "../wire/values/embedder.ts"
import type { QueuedWrite } from "../wire/mutations.ts"
import type { Rejected } from "../wire/mutations.ts"
import type {
  ChangeRequest,
  Checkpoint,
  Delta,
  NestedEnded,
  Preludes,
  RealmUpdate,
  WorkerOutcome,
} from "../wire/schema.ts"
import { runAside } from "./aside.ts"
import type { AsideEnd, ChangeEnd } from "./aside.ts"
import { shellLogic } from "./logic.ts"
import { NestedEvals, nestedDepthMax } from "./nested-evals.ts"
import type { Jsx } from "../language/jsx-option.ts"
import type { NestedRequest } from "./nested-evals.ts"
import { ToolCalls } from "./tool-calls.ts"
import type { Tool, ToolResult } from "./tool-calls.ts"

/** The durable part of a session, which a shell works for: it stays when the shell goes. */
export interface ShellSession {
  readonly id: string
  readonly kind: string
  readonly profile: string
  readonly grants: Profile
  readonly directory: string
  readonly jsx: Jsx | undefined
  readonly workspace: string
  readonly principal: string | undefined
  readonly tools: ReadonlyMap<string, Tool>
  readonly state: SessionState
  readonly tenant: Tenant
  /** "idle": large values are written when nothing waits. */
  readonly commits: "eval" | "idle"
  /** Names lost outside an eval, to be named by the next outcome. */
  readonly lostSince: string[]
  /** Changes that were committed and that its realm has not followed yet: from `tenant.commit` to the state's. */
  readonly updates: RealmUpdate[]
  /** The generation of its workspace's globals; 0 or missing while there never was one. */
  readonly generation?: number
  /** The preludes of its workspace; missing while there are none. */
  readonly preludes?: Preludes
  /** What its code can call besides tools. */
  ownCall?(name: string): Tool | undefined
  /** Whether code may run, by its types: what is wrong with it, or `undefined`. */
  checkTypes?(
    evalId: string,
    source: string,
    options: EvalOptions,
    signal: AbortSignal,
  ): Promise<ErrorRecord | undefined>
}

export interface ShellContext {
  readonly scheduler: Scheduler
  readonly limits: Limits
  readonly clock: Clock
  readonly emit: Emit
}

/** Of an eval that is a call. */
export interface CallTarget {
  /** The encoded arguments. */
  readonly args: Uint8Array
  /** The revision that it runs in; default the one at the time. */
  readonly revision?: number
  /** What is called instead of a name: a retained value, as it is called between the processes. */
  readonly value?: string
}

export const callTarget = Symbol("callTarget")

export interface EvalOptions {
  /** Internal. */
  [callTarget]?: CallTarget
  /** Milliseconds from when the code begins; `Infinity` for none. */
  timeoutMs?: number
  /** All or nothing: on any exit but `ok` the session is as before. */
  atomic?: boolean
  /** Aborting it interrupts the eval, queued or running. */
  signal?: AbortSignal
  onOutput?: (chunk: OutputChunk) => void
  /** Name and first line of the source in error positions. */
  file?: string
  line?: number
  /** On whose behalf this eval runs, instead of the session's principal; given to tools. */
  principal?: string
  /**
   * Requested from a tool call of this session's own eval, it runs inside of that one, which waits, instead of being refused. It shares that
   * one's fate: no time limit or `atomic` of its own, and stopping either stops both. Elsewhere it changes nothing.
   */
  nested?: boolean
  /** `types`: TypeScript's check comes first, and code with mistakes ends as `invalid`; nothing of it runs. Default: the session's, else `syntax`. */
  check?: "types" | "syntax"
  /**
   * Whether the result, when it is a function or an object, is kept until `releaseValue`, with a handle in the outcome; "functions": only when it is
   * a function. `true` is "all", and the default is "none".
   */
  retainValues?: boolean | "none" | "functions" | "all"
}

/** What is retained of results, if anything. */
export function retainedKind(retainValues: EvalOptions["retainValues"]): "functions" | "all" | undefined {
  if (retainValues === undefined || retainValues === false || retainValues === "none") return undefined
  return retainValues === true ? "all" : retainValues
}

/** With `commit: "idle"`: bytes that values share above which writing them is put off, and the milliseconds after which it is not, though evals wait. */
const pendingBytesMin = 1024 * 1024
const pendingMsMax = 1_000

/** Writes that one eval may have queued, and their bytes together. */
const queuedWritesMax = 10_000
const queuedBytesMax = 64 * 1024 * 1024
/** Outcomes kept for `outcome(evalId)`: enough for a client that reconnects; more would keep garbage alive for long. */
const outcomesKept = 4

interface Eval {
  readonly evalId: string
  readonly source: string
  readonly options: EvalOptions
  readonly resolve: (outcome: Outcome) => void
  readonly reject: (error: Error) => void
  readonly enqueuedAt: number
  readonly cancelSignal: (() => void) | undefined
  /** Set on what is no eval but work on a change, in an eval's place. */
  readonly change?: { readonly request: ChangeRequest; readonly onEnd: (end: ChangeEnd) => void }
}

/** Work between two evals that needs no thread: reset, mark, rollback, fork. */
interface Operation {
  readonly run: () => void
}

interface Running {
  readonly request: Eval
  readonly job: Job
  readonly output: OutputChunk[]
  outputBytes: number
  omittedBytes: number
  readonly queue: QueuedWrite[]
  /** The call that each write of the queue came with. */
  readonly callIds: number[]
  queuedBytes: number
  /** Made at its first tool call. */
  tools: ToolCalls | undefined
  begunAt: number
  isParked: boolean
  /** It has done something that others may have seen. */
  wasSeen: boolean
  /** Updates that it was sent with: once it has begun, its realm has followed them. */
  updatesSent: number
  /** What its realm goes over to before it: beside them its values are written. */
  preludes: Preludes | undefined
  /** Names that a change has touched since it began. */
  overtaken: Set<string> | undefined
  /** Globals it has written. */
  globals: string[] | undefined
  /** Made when an eval is first asked to run inside of it. */
  nested: NestedEvals | undefined
  /** Its types are being checked; nothing has been sent anywhere. */
  checking: AbortController | undefined
  /** The commit and the revision that it runs on. */
  commit: number
  revision: number
  /** That is an earlier one than the session's: nothing of it can change definitions. */
  isPinned: boolean
  /** Set once, by whichever end came first. */
  end: (() => Outcome) | undefined
  /** Called when everything else has been done. */
  ended: (() => void) | undefined
}

export class Shell {
  readonly session: ShellSession
  readonly #context: ShellContext
  readonly #queue: (Eval | Operation)[] = []
  readonly #outcomes: Outcome[] = []
  readonly #actor: Actor<typeof shellLogic>
  #waitingEvals = 0
  #running: Running | undefined
  #isClosing = false
  #stopBecause: OutcomeReason | undefined
  /** When the first of the values was put off that are yet to be written. */
  #pendingSince = 0
  /** The invariant that broke in a callback. */
  #failure: unknown

  constructor(session: ShellSession, context: ShellContext, onExit: (error: unknown) => void) {
    this.session = session
    this.#context = context
    this.#actor = createActor(shellLogic, { input: { shell: this } })
    this.#actor.subscribe({
      complete: () => onExit(undefined),
      error: (error) => {
        this.#crash(error)
        onExit(error)
      },
    })
    this.#actor.start()
    this.#actor.send({ type: "READY" })
  }

  get state(): string {
    return this.#actor.getSnapshot().value
  }

  get isIdle(): boolean {
    return this.#running === undefined && this.#queue.length === 0 && this.session.state.pending.size === 0
  }

  get isParked(): boolean {
    return this.#running?.isParked ?? false
  }

  /** The eval under way, if any. */
  get runningEvalId(): string | undefined {
    return this.#running?.request.evalId
  }

  /** Accepts an eval. Rejects at once when it is refused; otherwise resolves with its one outcome. */
  eval(evalId: string, source: string, options: EvalOptions): Promise<Outcome> {
    const { limits } = this.#context
    if (this.#isClosing) return Promise.reject(closedError(this.session.id))
    if (this.#waitingEvals >= limits.queueMax) {
      const message = `Session '${this.session.id}' has ${limits.queueMax} evals waiting; wait for outcomes, or raise limits.queueMax.`
      return Promise.reject(new NacreError("queue_full", message))
    }
    return new Promise((resolve, reject) => {
      const cancelSignal = this.#watchSignal(evalId, options.signal)
      const enqueuedAt = this.#context.clock.now()
      this.#queue.push({ evalId, source, options, resolve, reject, enqueuedAt, cancelSignal })
      this.#waitingEvals += 1
      this.#wake()
    })
  }

  /** Whether that eval is under way, so that whoever it waits for must not wait for this shell. */
  isUnderWay(evalId: string): boolean {
    const running = this.#running
    return running !== undefined && (running.request.evalId === evalId || running.nested?.isRunning(evalId) === true)
  }

  /** Accepts an eval that runs inside `parent`, which is under way and waits for it. */
  evalNested(evalId: string, parent: string, source: string, options: EvalOptions): Promise<Outcome> {
    const { limits } = this.#context
    const running = this.#running
    assert(running !== undefined && this.isUnderWay(parent), "an eval is nested in one that is not under way")
    const { id } = this.session
    if (this.#isClosing || running.end !== undefined) return Promise.reject(closedError(id))
    const nested = (running.nested ??= this.#nestedIn(running))
    if (nested.waitingCount >= limits.queueMax || nested.depth >= nestedDepthMax) {
      const message = `Session '${id}' has ${nested.depth} evals inside of each other and ${nested.waitingCount} that wait; end some first.`
      return Promise.reject(new NacreError("queue_full", message))
    }
    const { principal, onOutput, file = evalId, line = 1 } = options
    return new Promise((resolve) => {
      const cancelSignal = this.#watchSignal(evalId, options.signal)
      const settle = (outcome: Outcome): void => {
        cancelSignal?.()
        this.#keep(outcome)
        resolve(outcome)
      }
      nested.add({ evalId, parent, source, file, line, principal, onOutput, resolve: settle })
    })
  }

  /**
   * Work on a change: next when no eval is under way, and else beside it, in a realm of its own that is made from the committed state.
   * `onEnd` is called once, at the moment it has ended; the state then stands as the work found it when `commit` is the same.
   */
  change(
    source: string,
    place: { file: string; line: number },
    request: ChangeRequest,
    onEnd: (end: ChangeEnd) => void,
  ): void {
    const { limits, scheduler } = this.#context
    if (this.#isClosing) return onEnd({ status: "crashed", because: "closed", commit: this.session.state.commit })
    const evalId = request.id
    if (this.#running === undefined) {
      this.#queue.unshift(this.#changeWork(source, place, request, onEnd))
      this.#waitingEvals += 1
      this.#wake()
      return
    }
    const message = { ...this.#plainMessage(evalId, source, place), checkpoint: this.#checkpoint(), change: request }
    const { commit } = this.session.state
    runAside(scheduler, this.session.tenant, message, limits.changeTimeoutMs, (end) => onEnd({ ...end, commit }))
  }

  #changeWork(
    source: string,
    place: { file: string; line: number },
    request: ChangeRequest,
    onEnd: (end: ChangeEnd) => void,
  ): Eval {
    const { limits, clock } = this.#context
    return {
      evalId: request.id,
      source,
      options: { ...place, timeoutMs: limits.changeTimeoutMs },
      resolve: () => {},
      reject: (error) => onEnd({ status: "crashed", because: error.message, commit: this.session.state.commit }),
      enqueuedAt: clock.now(),
      cancelSignal: undefined,
      change: { request, onEnd },
    }
  }

  /** Resolves when everything that evals have come to is written. Fails with `session_busy` where that must wait for an eval which is under way. */
  written(): Promise<void> {
    const { state, id } = this.session
    if (state.pending.size === 0) return Promise.resolve()
    if (this.#running === undefined || this.#running.request.change !== undefined) return this.operate(() => {})
    const message = `Session '${id}' has values that are not written yet (commit: "idle"), and eval '${this.#running.request.evalId}' is under way; try again when it has ended.`
    return Promise.reject(new NacreError("session_busy", message))
  }

  /** Whether values are to be written before what is next in the queue. */
  get #mustWrite(): boolean {
    const { pending } = this.session.state
    if (pending.size === 0 || this.#isClosing) return false
    const next = this.#queue[0]
    if (next === undefined || !("evalId" in next)) return true
    if (next.change !== undefined) return next.change.request.stage !== "write"
    return next.options.atomic === true || this.#context.clock.now() - this.#pendingSince > pendingMsMax
  }

  /** Has the values written that evals have put off, before anything else. */
  #writePending(): void {
    const id = `write_${this.session.state.commit}`
    const request: ChangeRequest = { stage: "write", id, definitions: [], removed: [] }
    this.#queue.unshift(this.#changeWork("", { file: id, line: 1 }, request, () => {}))
    this.#waitingEvals += 1
  }

  /**
   * Runs code on another state than the session's, in a realm that is thrown away: nothing of what it does is kept. It can write no globals, and call
   * tools only when it `usesTools`.
   */
  evalAside(
    evalId: string,
    source: string,
    options: EvalOptions,
    state: SessionState,
    usesTools: boolean,
  ): Promise<Outcome> {
    const { scheduler, limits, clock } = this.#context
    const { kind, profile, grants, directory, jsx, tools } = this.session
    const capabilities = [...grants.capabilities]
    const place = { file: options.file ?? evalId, line: options.line ?? 1 }
    state.preludes ??= this.session.preludes
    const checkpoint = checkpointOf(state, { tools: [...tools.keys()], kind, profile, capabilities, directory, jsx })
    const message = { ...this.#plainMessage(evalId, source, place), commit: state.commit, checkpoint }
    const outcome = emptyOutcome(evalId, "ok", state.revision)
    const timeoutMs = options.timeoutMs ?? limits.evalTimeoutMs
    const begunAt = clock.now()
    return new Promise((resolve) => {
      const end = ({ status, because, error, outcome: ended }: AsideEnd): void => {
        outcome.status = status
        outcome.durationMs = clock.now() - begunAt
        if (because !== undefined) outcome.because = because
        if (error !== undefined) outcome.error = error
        if (ended !== undefined && status === "ok") outcome.value = valueOf(ended)
        if (ended?.exitCode !== undefined) outcome.exitCode = ended.exitCode
        resolve(outcome)
      }
      const onOutput = ({ stream, text, seq, omittedBytes }: OutputMessage): void => {
        outcome.omittedBytes = omittedBytes
        if (text === "") return
        const chunk: OutputChunk = { stream, text, seq }
        outcome.output.push(chunk)
        this.#tell({ evalId, onOutput: options.onOutput }, chunk)
      }
      runAside(scheduler, this.session.tenant, message, timeoutMs === Infinity ? undefined : timeoutMs, end, {
        onOutput,
        tools: (answer) =>
          usesTools ? this.#toolCalls(evalId, options.principal, answer) : refusingTools(answer, this.session.id),
      })
    })
  }

  /** A change was committed: the realm follows before the next eval, and an eval under way does not undo it. */
  follow(update: RealmUpdate): void {
    const { session } = this
    const running = this.#running
    const names = [...update.definitions.map(({ name }) => name), ...update.removed]
    if (running !== undefined && running.end === undefined) {
      running.overtaken ??= new Set()
      for (const name of names) running.overtaken.add(name)
    }
    if (session.tenant.worker !== undefined) session.updates.push(update)
    this.#announce("change")
  }

  /** Runs `run` between two evals, in its turn. */
  operate<T>(run: () => T): Promise<T> {
    if (this.#isClosing) return Promise.reject(closedError(this.session.id))
    return new Promise((resolve, reject) => {
      this.#queue.push({
        run: () => {
          try {
            resolve(run())
          } catch (error) {
            reject(error)
          }
        },
      })
      this.#wake()
    })
  }

  /**
   * Stops the eval with that id, running or queued; without one the running eval. Resolves when it has ended: with true when there was
   * something to stop. Rejects with `eval_not_found` for an id that is not under way.
   */
  async interrupt(evalId?: string, because?: OutcomeReason): Promise<boolean> {
    const queuedAt = this.#queue.findIndex((it) => "evalId" in it && it.evalId === evalId)
    const queued = this.#queue[queuedAt]
    if (queued !== undefined && "evalId" in queued) {
      this.#queue.splice(queuedAt, 1)
      this.#waitingEvals -= 1
      this.#resolveUnrun(queued, because)
      return true
    }
    const running = this.#running
    // Writing is no eval: stopping it would lose what evals have come to.
    const isNone = running === undefined || running.request.change?.request.stage === "write"
    if (isNone && evalId === undefined) return false
    if (evalId !== undefined && running?.nested?.cancel(evalId, because) === true) return true
    if (running === undefined || (evalId !== undefined && !this.isUnderWay(evalId))) {
      const message = `Session '${this.session.id}' has no eval '${evalId}' running or queued; it may have ended already.`
      throw new NacreError("eval_not_found", message)
    }
    const ended = new Promise<void>((resolve) => this.#onEnded.push(resolve))
    const isNested = evalId !== undefined && evalId !== running.request.evalId
    if (isNested) running.nested!.stopped ??= { evalId, because }
    this.#stopBecause ??= isNested ? "nested" : because
    this.#actor.send({ type: "STOP" })
    await ended
    return true
  }

  /** Ends every eval as `interrupted` and the actor with them; resolves when nothing is under way. */
  async close(because: OutcomeReason = "closed"): Promise<void> {
    if (this.#actor.getSnapshot().status !== "active") return
    this.#isClosing = true
    const ended = this.#running === undefined ? undefined : new Promise<void>((resolve) => this.#onEnded.push(resolve))
    this.#stopBecause ??= because
    this.#settleQueue(because)
    this.#actor.send({ type: "CLOSE" })
    await ended
  }

  /** Back to an empty session; waits for its turn in the queue. */
  reset(): Promise<void> {
    return this.operate(() => {
      this.#dropRealm("the session was reset")
      resetState(this.session.state)
      this.session.lostSince.length = 0
      this.#announce("reset")
    })
  }

  outcome(evalId: string): Outcome | undefined {
    return this.#outcomes.find((it) => it.evalId === evalId)
  }

  /** Whether the eval under way runs in another revision than the session's. */
  get isInEarlierRevision(): boolean {
    return this.#running?.isPinned === true
  }

  /** A queued write from session code: refused unless its eval is the one under way. */
  onSyncCall(call: SyncCall): SyncAnswer {
    const running = this.#running
    if (running === undefined || running.end !== undefined || running.request.evalId !== call.evalId) {
      return {
        ok: false,
        kind: "eval_ended",
        message: `Eval ${call.evalId} has ended; its code can queue no more writes.`,
      }
    }
    if (call.op === "cancel") {
      dropWrites(running, [call.callId])
      return { ok: true, kind: "", message: "" }
    }
    if (running.isPinned && (call.op === "clear" || this.session.state.definitions.has(call.key))) {
      const what = call.op === "clear" ? "the definitions" : `the definition '${call.key}'`
      const message = `Eval ${call.evalId} runs in revision ${running.revision} and cannot change ${what} of the present one.`
      return { ok: false, kind: "stale_parent", message }
    }
    if (running.queue.length >= queuedWritesMax || running.queuedBytes + call.bytes.length > queuedBytesMax) {
      const message = `Eval ${call.evalId} has queued ${running.queue.length} writes of ${running.queuedBytes} bytes, its maximum.`
      return { ok: false, kind: "value_too_large", message }
    }
    running.queuedBytes += call.bytes.length
    running.callIds.push(call.callId)
    if (call.op === "atPut") running.queue.push({ op: "atPut", key: call.key, bytes: call.bytes, what: call.what })
    else running.queue.push(call.op === "clear" ? { op: "clear" } : { op: "removeKey", key: call.key })
    return { ok: true, kind: "", message: "" }
  }

  /** Whether code of that eval may call out now. What `changes` something makes that the eval cannot be begun again elsewhere. */
  admits(evalId: string, changes: boolean): boolean {
    const running = this.#running
    if (running === undefined || running.end !== undefined || running.request.evalId !== evalId) return false
    running.wasSeen ||= changes
    return true
  }

  /** A global that the eval has written, for its outcome. */
  noteGlobal(evalId: string, name: string): void {
    const running = this.#running
    if (running?.request.evalId !== evalId) return
    running.globals ??= []
    if (!running.globals.includes(name)) running.globals.push(name)
  }

  /** Tells what has been committed since this was last called. */
  #announce(because: "eval" | "reset" | "realm-lost" | "change" | "idle", evalId?: string): void {
    const { id: session, workspace, state } = this.session
    const changes = takeChanges(state)
    if (changes === undefined) return
    const { commit } = state
    const by = evalId === undefined ? {} : { evalId }
    this.#context.emit({ type: "bindings.changed", session, workspace, because, ...by, ...changes, commit })
  }

  // What the machine asks for

  submitNext(): void {
    const request = this.#takeEval()
    assert(request !== undefined, "a shell evaluates without a queued eval")
    const job = this.#job(request)
    this.#running = {
      request,
      job,
      output: [],
      outputBytes: 0,
      omittedBytes: 0,
      queue: [],
      callIds: [],
      queuedBytes: 0,
      tools: undefined,
      begunAt: 0,
      isParked: false,
      wasSeen: false,
      updatesSent: 0,
      preludes: undefined,
      overtaken: undefined,
      globals: undefined,
      nested: undefined,
      checking: undefined,
      commit: this.session.state.commit,
      revision: this.session.state.revision,
      isPinned: false,
      end: undefined,
      ended: undefined,
    }
    if (request.options.check === "types" && this.session.checkTypes !== undefined) this.#checkFirst(this.#running)
    else this.#submit(this.#running)
  }

  /** Submits the eval when its types are right; else it ends as `invalid`, also when nobody can say. */
  #checkFirst(running: Running): void {
    const { request } = running
    const stop = (running.checking = new AbortController())
    const ended = (error: ErrorRecord | undefined): void => {
      if (this.#running !== running || running.end !== undefined) return
      running.checking = undefined
      if (error === undefined) return this.#submit(running)
      running.end = () => Object.assign(this.#outcomeOf(running, "invalid"), { error })
      this.#actor.send({ type: "ENDED" })
    }
    const { evalId, source, options } = request
    const checked = this.session.checkTypes!(evalId, source, options, stop.signal).catch((error: unknown) => {
      const { kind, message } = error as NacreError
      return { name: "NacreError", message, kind, stack: [], spans: [], rendered: `NacreError: ${message}` }
    })
    void checked.then((error) => ended(error))
  }

  #submit({ request, job }: Running): void {
    try {
      this.#context.scheduler.submit(job)
    } catch (error) {
      this.#running = undefined
      request.cancelSignal?.()
      request.reject(error as Error)
      // The state must be left by the event that the machine waits for; nothing ran, so there is nothing to drain.
      queueMicrotask(() => this.#actor.send({ type: "ENDED" }))
    }
  }

  drain(): void {
    const running = this.#running
    this.#running = undefined
    this.#stopBecause = undefined
    if (running !== undefined) {
      assert(running.end !== undefined, "an eval is drained before it has ended")
      running.tools?.abortAll()
      running.request.cancelSignal?.()
      let outcome: Outcome
      try {
        outcome = running.end()
      } catch (error) {
        // The crash that follows gives the eval its outcome.
        this.#running = running
        throw error
      }
      running.nested?.settle(outcome.status, outcome.because)
      if (running.request.change === undefined) {
        this.#announce("eval", outcome.evalId)
        this.#keep(outcome)
      } else {
        // This outcome goes to nobody; the next one tells.
        this.session.lostSince.push(...outcome.lost)
        this.#announce("idle")
      }
      running.request.resolve(outcome)
      running.ended?.()
    }
    for (const ended of this.#onEnded.splice(0)) ended()
    if (this.#queue.length > 0 || this.#mustWrite) queueMicrotask(() => this.#wake())
  }

  #keep(outcome: Outcome): void {
    this.#outcomes.push(outcome)
    if (this.#outcomes.length > outcomesKept) this.#outcomes.shift()
  }

  fail(): void {
    throw this.#failure
  }

  stopCurrent(): void {
    const running = this.#running
    if (running === undefined || running.end !== undefined) return
    if (running.checking === undefined) return this.#context.scheduler.stop(running.job, "interrupted")
    running.checking.abort()
    const because = this.#stopBecause
    running.end = () => Object.assign(this.#outcomeOf(running, "interrupted"), because && { because })
    // The state must be left by the event that the machine waits for.
    queueMicrotask(() => this.#actor.send({ type: "ENDED" }))
  }

  release(): void {
    this.#isClosing = true
    this.#settleQueue("closed")
    this.#dropRealm("the session was closed")
  }

  // Endings

  #finishByItself(running: Running, message: WorkerOutcome): Outcome {
    const { state, tenant, updates } = this.session
    if (running.updatesSent > 0) updates.splice(0, running.updatesSent)
    const { change } = running.request
    if (change !== undefined) return this.#finishChange(running, message, change.onEnd)
    const outcome = this.#outcomeOf(running, message.status)
    if (message.status === "ok") outcome.value = valueOf(message)
    if (message.error !== undefined) outcome.error = message.error
    if (message.exitCode !== undefined) outcome.exitCode = message.exitCode
    outcome.rejected = message.rejected ?? []
    outcome.abandoned = message.abandoned ?? []
    const { delta } = message
    if (delta === undefined) {
      // `invalid` and a failed atomic eval change nothing.
      if (!message.realmKept) outcome.lost.push(...this.#realmLost("the eval was rolled back"))
    } else {
      assert(message.queued <= running.queue.length, "the worker folded writes that its shell does not hold")
      if (running.overtaken !== undefined)
        outcome.rejected = [...outcome.rejected, ...withoutOvertaken(delta, running.overtaken)]
      const before = state.revision
      const hadPending = state.pending.size > 0
      if (running.preludes !== undefined) state.preludes = running.preludes
      Object.assign(outcome.committed, without(commitDelta(state, delta, this.#by(running)), "rejected"))
      if (message.isPlain && message.plain !== undefined) state.lastValue = { plain: message.plain }
      if (delta.retained !== undefined && outcome.value !== undefined) {
        // What the eval has published is part of what its result was made in.
        const revision = state.revision === before ? running.revision : state.revision
        outcome.value.handle = retained(state, delta.retained, { revision, ...outcome.value })
      }
      outcome.late = (delta.late ?? []).map(shownName)
      outcome.stale = (delta.stale ?? []).map((text) => text.replace(/^\S+/, shownName))
      outcome.reloaded = delta.reloaded ?? []
      outcome.lost.push(...(delta.lostImports ?? []))
      if (!message.realmKept) outcome.lost.push(...this.#realmLost("its realm could not be kept"))
      if (state.pending.size > 0 && !hadPending) this.#pendingSince = this.#context.clock.now()
      outcome.pending = Array.from(state.pending, shownName)
    }
    // A change that was committed meanwhile is among the updates still.
    if (message.realmKept) tenant.commit = running.commit + (delta === undefined ? 0 : 1)
    outcome.ephemeral = ephemeralNames(state)
    tenant.holdsEphemerals = outcome.ephemeral.length > 0 || state.pending.size > 0
    if (tenant.apart > 0) tenant.apart -= 1
    outcome.revision = state.revision
    return outcome
  }

  #finishChange(running: Running, message: WorkerOutcome, onEnd: (end: ChangeEnd) => void): Outcome {
    const { state, tenant } = this.session
    const outcome = this.#outcomeOf(running, message.status)
    tenant.commit = running.commit
    if (running.request.change!.request.stage === "write" && message.change !== undefined) {
      commitPending(state, message.change)
      tenant.commit += 1
      tenant.holdsEphemerals = ephemeralNames(state).length > 0
    }
    if (!message.realmKept) outcome.lost.push(...this.#realmLost("a definition changed other values while it was made"))
    const { status, error, change: answer } = message
    running.ended = () => onEnd({ status, error, answer, commit: state.commit })
    return outcome
  }

  /** Who makes what a running eval commits. */
  #by({ request }: Running): RevisionFacts {
    const { id: session, principal } = this.session
    const by: RevisionFacts = { session, cause: "eval", evalId: request.evalId }
    const on = request.options.principal ?? principal
    return on === undefined ? by : { ...by, principal: on }
  }

  #finishStopped(running: Running, status: "interrupted" | "timeout", because: OutcomeReason | undefined): Outcome {
    const outcome = this.#outcomeOf(running, status)
    if (because !== undefined) outcome.because = because
    this.#changeFailed(running, status, because)
    // The realm may hold half of what the eval did, so it is gone whatever stopped it.
    outcome.lost.push(...this.#dropRealm(`eval ${running.request.evalId} was stopped`))
    if (running.request.options.atomic !== true && running.queue.length > 0) {
      const { rejected, ...change } = commitQueue(this.session.state, running.queue, this.#by(running))
      Object.assign(outcome.committed, change)
      outcome.rejected = rejected
    }
    outcome.revision = this.session.state.revision
    return outcome
  }

  #finishCrashed(running: Running, because: string): Outcome {
    const outcome = this.#outcomeOf(running, "crashed")
    outcome.because = because
    this.#changeFailed(running, "crashed", because)
    outcome.lost.push(...this.#realmLost(`its worker ended (${because})`))
    return outcome
  }

  #changeFailed(running: Running, status: Outcome["status"], because: string | undefined): void {
    const { change } = running.request
    if (change !== undefined) running.ended = () => change.onEnd({ status, because, commit: this.session.state.commit })
  }

  #outcomeOf(running: Running, status: Outcome["status"]): Outcome {
    const outcome = emptyOutcome(running.request.evalId, status, running.revision)
    outcome.revision = this.session.state.revision
    outcome.output = running.output
    outcome.omittedBytes = running.omittedBytes
    if (running.globals !== undefined) outcome.committed.globals = running.globals
    outcome.durationMs = running.begunAt === 0 ? 0 : this.#context.clock.now() - running.begunAt
    outcome.lost = this.session.lostSince.splice(0)
    return outcome
  }

  // Jobs

  #job(request: Eval): Job {
    const { session } = this
    const { limits } = this.#context
    const current = (): Running => {
      assert(this.#running?.request === request, "a job outlived its eval")
      return this.#running
    }
    const end = (finish: () => Outcome): void => {
      const running = current()
      assert(running.end === undefined, "an eval has ended twice")
      running.end = finish
      this.#actor.send({ type: "ENDED" })
    }
    const timeoutMs = request.options.timeoutMs ?? limits.evalTimeoutMs
    // These run on the scheduler's stack, or a socket's: what breaks here is this shell's end and must not be theirs. What a dead shell is
    // still told concerns an eval that has had its outcome.
    const guarded =
      <A extends unknown[]>(run: (...args: A) => void) =>
      (...args: A): void => {
        if (this.#actor.getSnapshot().status !== "active") return
        try {
          run(...args)
        } catch (error) {
          this.#failure = error
          this.#actor.send({ type: "FAIL" })
        }
      }
    return {
      evalId: request.evalId,
      tenant: session.tenant,
      timeoutMs: timeoutMs === Infinity ? undefined : timeoutMs,
      request: (seq, isResident) => this.#message(request, seq, isResident),
      isUnseen: () => {
        const running = this.#running
        if (running?.request !== request) return false
        const { output, queue, tools, isParked, wasSeen } = running
        return !wasSeen && output.length === 0 && queue.length === 0 && tools === undefined && !isParked
      },
      onBegun: guarded(() => {
        current().begunAt = this.#context.clock.now()
      }),
      onParked: guarded(() => {
        current().isParked = true
      }),
      onOutput: guarded((output: OutputMessage) => this.#onOutput(current(), output)),
      onToolCall: guarded((call: ToolCall) => {
        const running = current()
        if (call.nested !== undefined) running.nested?.onToolCall(call.nested, call)
        else (running.tools ??= this.#toolCalls(request.evalId, request.options.principal)).start(call)
      }),
      onNestedEnded: guarded((message: NestedEnded) => {
        current().nested?.onEnded(message)
      }),
      onOutcome: guarded((message: WorkerOutcome) => {
        const running = current()
        const { status } = message
        const because = this.#stopBecause
        running.omittedBytes = message.omittedBytes
        if (message.cancelled !== undefined) dropWrites(running, message.cancelled)
        end(() =>
          status === "interrupted" || status === "timeout"
            ? this.#finishStopped(running, status, because)
            : this.#finishByItself(running, message),
        )
      }),
      onStopped: guarded((how: "interrupted" | "timeout", by: string) => {
        const running = current()
        const because = this.#stopBecause ?? (by === "native-code" ? by : undefined)
        end(() => this.#finishStopped(running, how, because))
      }),
      onLost: guarded((because: string) => {
        const running = current()
        end(() => this.#finishCrashed(running, because))
      }),
    }
  }

  #toolCalls(
    evalId: string,
    principal = this.session.principal,
    answer = (result: ToolResult): void => {
      this.session.tenant.worker?.sendToolResult({ session: this.session.id, ...result })
    },
  ): ToolCalls {
    const { id, workspace, tools } = this.session
    const { limits, clock } = this.#context
    const ownCall = (name: string): Tool | undefined => this.session.ownCall?.(name)
    return new ToolCalls({ id, workspace, principal, tools, ownCall }, evalId, limits, clock, answer)
  }

  #nestedIn({ request }: Running): NestedEvals {
    const { limits, clock } = this.#context
    return new NestedEvals(request.evalId, {
      send: ({ evalId: nested, parent, source, file, line }) => {
        const { outputBytesMax, valueTextMax, valueDataBytesMax } = limits
        const message = { evalId: request.evalId, parent, nested, source, file, line }
        this.session.tenant.worker?.sendNested({
          ...message,
          limits: [outputBytesMax, valueTextMax, valueDataBytesMax],
        })
      },
      toolsOf: ({ evalId, principal }) => this.#toolCalls(evalId, principal ?? request.options.principal),
      tell: (nested, chunk) => this.#tell(nested, chunk),
      valueOf,
      revision: () => this.session.state.revision,
      now: () => clock.now(),
    })
  }

  #message(request: Eval, seq: number, isResident: boolean): EvalRequest {
    const { session } = this
    const { state, tenant, updates } = session
    const { evalId, source, options, change } = request
    const message = this.#plainMessage(evalId, source, { file: options.file ?? evalId, line: options.line ?? 1 })
    message.seq = seq
    message.atomic = options.atomic ?? false
    if (this.#waitingEvals > 0) message.isAwaited = true
    if (session.commits === "idle" && !message.atomic) message.defersAbove = pendingBytesMin
    if (change !== undefined) message.change = change.request
    const running = this.#running!
    running.commit = state.commit
    running.revision = state.revision
    const target = options[callTarget]
    if (target !== undefined) {
      message.args = target.args
      if (target.value !== undefined) message.retained = target.value
      running.revision = target.revision ?? state.revision
      running.isPinned = running.revision !== state.revision
      if (running.isPinned) message.pinned = pinnedAt(state, running.revision)
    }
    const kind = retainedKind(options.retainValues)
    if (kind !== undefined) message.retain = { as: retainedAs(evalId), functionsOnly: kind === "functions" }
    running.updatesSent = updates.length
    // What was committed until now it runs on.
    running.overtaken = undefined
    if (!isResident || (tenant.commit !== state.commit && updates.length === 0)) {
      message.checkpoint = this.#checkpoint()
      tenant.commit = state.commit
      tenant.holdsEphemerals = false
    } else if (updates.length > 0) {
      message.updates = updates.slice()
      message.base = tenant.commit
    }
    // A change is made beside the values that there are; the eval after it goes over.
    const { preludes } = session
    if (change === undefined && preludes !== undefined && preludes.id !== (state.preludes?.id ?? 0)) {
      message.preludes = preludes
      running.preludes = preludes
      delete message.defersAbove
    }
    return message
  }

  #plainMessage(evalId: string, source: string, { file, line }: { file: string; line: number }): EvalRequest {
    const { session } = this
    const { limits } = this.#context
    const message: EvalRequest = {
      seq: 0,
      session: session.id,
      evalId,
      commit: session.state.commit,
      source,
      file,
      line,
      atomic: false,
      limits: [limits.outputBytesMax, limits.valueTextMax, limits.valueDataBytesMax],
    }
    if (session.generation) message.generation = session.generation
    return message
  }

  #checkpoint(): Checkpoint {
    const { tools, kind, profile, grants, directory, jsx, state } = this.session
    const capabilities = [...grants.capabilities]
    state.preludes ??= this.session.preludes
    return checkpointOf(state, { tools: [...tools.keys()], kind, profile, capabilities, directory, jsx })
  }

  #onOutput(running: Running, output: OutputMessage): void {
    const { nested } = output
    if (nested !== undefined) return running.nested?.onOutput(nested, output)
    const { stream, text, seq, omittedBytes } = output
    running.omittedBytes = omittedBytes
    if (text === "") return
    const chunk: OutputChunk = { stream, text, seq }
    running.outputBytes += text.length
    running.output.push(chunk)
    const { evalId, options } = running.request
    this.#tell({ evalId, onOutput: options.onOutput }, chunk)
  }

  #tell({ evalId, onOutput }: Pick<NestedRequest, "evalId" | "onOutput">, chunk: OutputChunk): void {
    try {
      onOutput?.(chunk)
    } catch (error) {
      // The embedder's own callback failed; the eval goes on, and the embedder hears of it as an event.
      this.#context.emit({
        type: "actor.crashed",
        actor: `onOutput of ${evalId}`,
        message: messageOf(error),
      })
    }
  }

  // Queue

  #wake(): void {
    if (this.#running !== undefined) return
    if (this.#mustWrite) this.#writePending()
    while (this.#queue.length > 0 && !("evalId" in this.#queue[0]!)) (this.#queue.shift() as Operation).run()
    if (this.#queue.length > 0) this.#actor.send({ type: "EVAL" })
  }

  #takeEval(): Eval | undefined {
    const next = this.#queue.shift()
    if (next === undefined || !("evalId" in next)) return undefined
    this.#waitingEvals -= 1
    return next
  }

  #settleQueue(because: OutcomeReason): void {
    for (const waiting of this.#queue.splice(0)) {
      if ("evalId" in waiting) this.#resolveUnrun(waiting, because)
      else waiting.run()
    }
    this.#waitingEvals = 0
  }

  /** The outcome of an eval of which nothing ran. */
  #resolveUnrun(request: Eval, because: OutcomeReason | undefined): void {
    request.cancelSignal?.()
    const outcome = emptyOutcome(request.evalId, "interrupted", this.session.state.revision)
    if (because !== undefined) outcome.because = because
    request.resolve(outcome)
  }

  #watchSignal(evalId: string, signal: AbortSignal | undefined): (() => void) | undefined {
    if (signal === undefined) return undefined
    // The eval may have ended by itself in the same moment: then there is nothing to stop, and nobody waits for the answer.
    const stop = () => void this.interrupt(evalId, "aborted").catch(() => {})
    if (signal.aborted) queueMicrotask(stop)
    else signal.addEventListener("abort", stop, { once: true })
    return () => signal.removeEventListener("abort", stop)
  }

  readonly #onEnded: (() => void)[] = []

  // Realms

  #dropRealm(reason: string): string[] {
    const { tenant } = this.session
    tenant.worker?.evict(tenant)
    return this.#realmLost(reason)
  }

  #realmLost(reason: string): string[] {
    this.session.updates.length = 0
    const lost = loseRealm(this.session.state, reason)
    this.session.tenant.holdsEphemerals = false
    return lost
  }

  /** A broken invariant: the eval under way has an outcome all the same, and the supervisor starts a fresh shell on the same state. */
  #crash(error: unknown): void {
    this.#isClosing = true
    const running = this.#running
    this.#running = undefined
    this.#context.emit({ type: "actor.crashed", actor: `shell of ${this.session.id}`, message: messageOf(error) })
    if (running !== undefined) {
      if (running.checking === undefined) this.#context.scheduler.stop(running.job, "interrupted")
      running.checking?.abort()
      running.tools?.abortAll()
      running.nested?.settle("crashed", "shell-failed")
      running.request.resolve(this.#finishCrashed(running, "shell-failed"))
    }
    this.#settleQueue("shell-failed")
    this.#dropRealm("its shell failed")
    this.#announce("realm-lost")
    for (const ended of this.#onEnded.splice(0)) ended()
  }
}

function valueOf(
  message: Pick<WorkerOutcome, "text" | "inert" | "valueType" | "data" | "plain" | "isPlain" | "withheld">,
): NonNullable<Outcome["value"]> {
  const { text, inert, valueType: type, data, plain, isPlain, withheld } = message
  if (isPlain) return { text, inert, type, data: plain }
  if (data === undefined) return withheld === undefined ? { text, inert, type } : { text, inert, type, withheld }
  // Most callers look at the text only: the data is decoded when it is first read.
  let decoded: { value: unknown } | undefined
  return {
    text,
    inert,
    type,
    get data() {
      decoded ??= { value: decodeForEmbedder(data) }
      return decoded.value
    },
  }
}

/** Takes out of a delta what another change has touched meanwhile; gives what was taken. */
function withoutOvertaken(delta: Delta, overtaken: ReadonlySet<string>): Rejected[] {
  const rejected: Rejected[] = []
  const reject = (op: string, key: string): boolean => {
    if (!overtaken.has(key)) return false
    rejected.push({ op, key, kind: "stale_parent" })
    return true
  }
  delta.set = delta.set?.filter(({ name }) => !reject("set", name))
  delta.definitions = delta.definitions?.filter(({ name }) => !reject("define", name))
  delta.removed = delta.removed?.filter((name) => !reject("remove", name))
  delta.removedDefinitions = delta.removedDefinitions?.filter((name) => !reject("remove", name))
  delta.plain = delta.plain?.filter(({ name }) => !overtaken.has(name))
  delta.ephemeral = delta.ephemeral?.filter(({ name }) => !overtaken.has(name))
  delta.groups = delta.groups
    ?.map((group) => ({ ...group, names: group.names.filter((name) => !overtaken.has(name)) }))
    .filter(({ names }) => names.length > 0)
  return rejected
}

/** What a candidate is tried with unless its embedder says otherwise: its tool calls may reach the world, and nothing of it is meant to. */
function refusingTools(answer: (result: ToolResult) => void, session: string): Pick<ToolCalls, "start" | "abortAll"> {
  return {
    start: ({ callId, name }) => {
      const message = `Tool '${name}' is refused while a candidate of session '${session}' is tried; pass tools: true to evaluateCandidate.`
      answer({ callId, ok: false, bytes: new Uint8Array(0), message, kind: "capability_denied" })
    },
    abortAll: () => {},
  }
}

/** Takes writes out of the queue whose callers were told that they failed. */
function dropWrites({ queue, callIds }: Running, dropped: readonly number[]): void {
  for (const callId of dropped) {
    const at = callIds.indexOf(callId)
    if (at === -1) continue
    queue.splice(at, 1)
    callIds.splice(at, 1)
  }
}

function without<T extends object, K extends keyof T>(object: T, key: K): Omit<T, K> {
  const { [key]: _dropped, ...rest } = object
  return rest
}

function closedError(id: string): NacreError {
  return new NacreError("session_not_found", `Session '${id}' is no longer alive; open a new one.`)
}
