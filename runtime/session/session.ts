// A session as its embedder holds it: a name, a committed state, and, while it is active, a shell.
//
// A dormant session is this object and bytes. Its shell starts at its first message and stops when it has been idle; nobody outside
// notices, since everything a session promises (one outcome per eval, in order; what is committed stays) is kept across both.
import type { Process, ProcessLike, StartContext } from "../../supervisor/index.ts"
import { NacreError } from "../errors.ts"
import type { Tenant, WorkerSlot } from "../host/worker-slot.ts"
import { checkMilliseconds, expectOption, refuseUnknown } from "../options.ts"
import type { RevisionRecord } from "../module/revision.ts"
import { Shell, callTarget, retainedKind } from "../shell/shell.ts"
import type { CallTarget, EvalOptions, ShellContext, ShellSession } from "../shell/shell.ts"
import { callingSession, sessionKey } from "../shell/tool-calls.ts"
import type { Tool } from "../shell/tool-calls.ts"
import type { Checker, QuestionOptions } from "../checker/checker.ts"
import type { Profile } from "../profile.ts"
import type { Jsx } from "../language/jsx-option.ts"
import type { Completions, Hover, PreludeText, Signatures } from "../checker/declarations.ts"
import type { Preludes, RealmUpdate } from "../wire/schema.ts"
import { encodeForSession } from "../wire/values/embedder.ts"
import { SessionBindings } from "./bindings.ts"
import { SessionChecks } from "./checks.ts"
import { codeChangeTool } from "./code-changes.ts"
import type { OnChange } from "./code-changes.ts"
import type { ErrorRecord, Outcome } from "./outcome.ts"
import type { ToolSet } from "./tools.ts"
import { changeNames, checkRevision, SessionChanges } from "./changes.ts"
import { Pin, SessionHandles } from "./handles.ts"
import type { PinInfo, RetainedValue } from "./handles.ts"
import type { Change, Committed, ExportedRevision, Proposed, Rejected, UnwrapChange, WrapChange } from "./changes.ts"
import { SessionState, copyState, digestOf, historySince, loseRealm, restoreState, takeChanges } from "./state.ts"

export const sessionKinds = ["repl", "mcp", "lsp", "ide", "attach", "service", "unknown"] as const
export type SessionKind = (typeof sessionKinds)[number]

const evalOptionNames: readonly (keyof EvalOptions & string)[] = [
  "timeoutMs",
  "atomic",
  "signal",
  "onOutput",
  "file",
  "line",
  "principal",
  "nested",
  "check",
  "retainValues",
]

const retainWords = [undefined, "none", "functions", "all"] as const

const noOptions: EvalOptions = {}

type CallOptions = Pick<EvalOptions, "timeoutMs" | "atomic" | "signal" | "onOutput" | "principal" | "retainValues">

/** What `callBinding` takes. */
export interface BindingCall extends CallOptions {
  name: string
  args?: unknown[]
  /** The revision that the name is looked for in, and that the call runs in; default the one at its turn. */
  revision?: number
  /** The same by a pin, or its id. */
  pin?: Pin | string
}

/** What `callValue` takes. */
export interface ValueCall extends CallOptions {
  /** The handle. */
  value: string
  args?: unknown[]
}

export interface CandidateEvalOptions extends Pick<EvalOptions, "timeoutMs" | "onOutput" | "file" | "line"> {
  /** Let the code call the session's tools, whose effects are real. Default false: a call throws `capability_denied`. */
  tools?: boolean
}

export type SubmittedChange = Change & Pick<EvalOptions, "timeoutMs" | "onOutput" | "signal">

const submitNames: readonly string[] = [...changeNames, "timeoutMs", "onOutput", "signal"]

export interface SessionContext extends ShellContext {
  /** Starts the shell under the session supervisor; resolves when it is supervised. */
  startShell(session: Session, start: (context: StartContext) => ProcessLike): Promise<Process>
  /** The session is closed: forget it. */
  onClosed(session: Session): void
  nextEvalId(): string
  /** The generation of that workspace's globals. */
  generationOf(workspace: string): number
  /** Names of that workspace's globals. */
  globalNamesOf(workspace: string): readonly string[]
  /** The preludes of that workspace as they are now. */
  preludesOf(workspace: string): Preludes
  /** The same as the checker takes them, of those that the profile has. */
  preludeTextsOf(workspace: string, profile: string): PreludeText[]
  readonly checker: Checker
  fork(session: Session, state: SessionState): Session
  /** Throws when the system is stopping and takes no new work. */
  checkRunning(): void
}

export interface SessionFacts {
  readonly id: string
  readonly kind: SessionKind
  readonly profile: string
  /** What its profile lets its code do. */
  readonly grants: Profile
  readonly directory: string
  /** What JSX is turned into; without it there is none. */
  readonly jsx: Jsx | undefined
  readonly workspace: string
  readonly group: string
  readonly principal: string | undefined
  readonly tools: ToolSet
  readonly evalTimeoutMs: number | undefined
  readonly idleMs: number | undefined
  readonly graceMs: number | undefined
  /** Whether its code may change its definitions, and who is asked. */
  readonly onChange: OnChange | undefined
  /** Of its evals, where they do not say. */
  readonly check: "types" | "syntax" | undefined
  readonly commit: "eval" | "idle"
}

/** Throws `invalid_options` naming the first option that is unknown or misshapen. */
function checkEvalOptions(options: EvalOptions): void {
  refuseUnknown("eval", options, evalOptionNames)
  const { timeoutMs, atomic, signal, onOutput, file, line, principal, nested } = options
  checkMilliseconds("timeoutMs", timeoutMs)
  expectOption(atomic === undefined || typeof atomic === "boolean", "atomic", "true or false", atomic)
  expectOption(nested === undefined || typeof nested === "boolean", "nested", "true or false", nested)
  const isItsOwn = nested !== true || (atomic !== true && timeoutMs === undefined)
  expectOption(
    isItsOwn,
    "nested",
    "without timeoutMs and atomic, since it shares the fate of the eval around it",
    nested,
  )
  expectOption(signal === undefined || signal instanceof AbortSignal, "signal", "an AbortSignal", signal)
  expectOption(onOutput === undefined || typeof onOutput === "function", "onOutput", "a function", onOutput)
  expectOption(principal === undefined || typeof principal === "string", "principal", "a string", principal)
  expectOption(file === undefined || typeof file === "string", "file", "a string", file)
  expectOption(line === undefined || (Number.isSafeInteger(line) && line >= 1), "line", "a whole number from 1", line)
  const { check, retainValues } = options
  const isRetain = typeof retainValues === "boolean" || (retainWords as readonly unknown[]).includes(retainValues)
  expectOption(isRetain, "retainValues", 'true, false, "none", "functions" or "all"', retainValues)
  expectOption(nested !== true || retainedKind(retainValues) === undefined, "nested", "without retainValues", nested)
  expectOption(check === undefined || check === "types" || check === "syntax", "check", "types or syntax", check)
  expectOption(nested !== true || check !== "types", "nested", "without check, since its eval has begun", nested)
}

/** What `run` throws when the code did not end with a value. `outcome` holds everything that is known. */
export class EvalFailure extends Error {
  override readonly name: string
  readonly outcome: Outcome
  readonly kind: string | undefined

  constructor(outcome: Outcome) {
    const { error, status, because } = outcome
    super(error?.message ?? `The eval ended as ${status}${because === undefined ? "" : ` (${because})`}.`)
    this.name = error?.name ?? "EvalFailure"
    this.kind = error?.kind
    this.outcome = outcome
    if (error !== undefined) this.stack = error.rendered
  }
}

function encodeArguments(args: unknown): Uint8Array {
  if (!Array.isArray(args)) throw new NacreError("invalid_options", "args of a call must be an array.")
  return encodeForSession(args)
}

/** A durable, named evaluation state. Open one with `nacre.open`; it lives until `close`, whatever happens to processes. */
export class Session implements Tenant, ShellSession {
  readonly facts: SessionFacts
  readonly #context: SessionContext
  #state: SessionState | undefined
  #shell: Shell | undefined
  #starting: Promise<Shell> | undefined
  #isClosed = false
  #closing: Promise<void> | undefined
  #clients = 0
  #cancelGrace: (() => void) | undefined
  #marks: Map<string, SessionState> | undefined
  #changes: SessionChanges | undefined
  #handles: SessionHandles | undefined
  #updates: RealmUpdate[] | undefined
  /** Milliseconds since the epoch when it was opened. */
  readonly openedAt = Date.now()
  /** When it was last used, for idle closing and passivation. */
  lastUsedAt: number
  // As a tenant of workers:
  worker: WorkerSlot | undefined = undefined
  commit = -1
  holdsEphemerals = false
  apart = 0
  usedAt = 0
  #lostSince: string[] | undefined
  #checks: SessionChecks | undefined

  constructor(facts: SessionFacts, context: SessionContext, state?: SessionState) {
    this.facts = facts
    this.#context = context
    this.#state = state
    this.lastUsedAt = context.clock.now()
  }

  get id(): string {
    return this.facts.id
  }
  get session(): string {
    return this.facts.id
  }
  /** Internal: what the scheduler places. */
  get tenant(): Tenant {
    return this
  }
  get kind(): SessionKind {
    return this.facts.kind
  }
  /** When what evals have changed is written: with their outcomes, or, what is large, when nothing waits. */
  get commits(): "eval" | "idle" {
    return this.facts.commit
  }
  /** Where what its code imports is looked for from. */
  get directory(): string {
    return this.facts.directory
  }

  /** What JSX is turned into; `undefined` where it is refused. */
  get jsx(): Jsx | undefined {
    return this.facts.jsx
  }

  get profile(): string {
    return this.facts.profile
  }
  /** Internal: what its profile lets its code do. */
  get grants(): Profile {
    return this.facts.grants
  }
  get workspace(): string {
    return this.facts.workspace
  }
  get principal(): string | undefined {
    return this.facts.principal
  }
  get tools(): ReadonlyMap<string, Tool> {
    return this.facts.tools.calls
  }
  get group(): string {
    return this.facts.group
  }
  /** Internal: of its workspace's globals. */
  get generation(): number {
    return this.#context.generationOf(this.facts.workspace)
  }
  /** Internal: of its workspace, as they are now. */
  get preludes(): Preludes {
    return this.#context.preludesOf(this.facts.workspace)
  }
  /** Internal: the committed state, made at first use. */
  get state(): SessionState {
    return (this.#state ??= new SessionState())
  }
  /** Internal: names lost since the last outcome. */
  get lostSince(): string[] {
    return (this.#lostSince ??= [])
  }
  /** Internal: committed changes that its realm has not followed. */
  get updates(): RealmUpdate[] {
    return (this.#updates ??= [])
  }
  get isClosed(): boolean {
    return this.#isClosed
  }
  /** A parked eval awaits a tool, a timer or a promise; its thread is free meanwhile. */
  get isParked(): boolean {
    return this.#shell?.isParked ?? false
  }
  get isIdle(): boolean {
    return this.#starting === undefined && (this.#shell?.isIdle ?? true)
  }
  /** Whether a living realm holds the session's values. */
  get isResident(): boolean {
    return this.worker !== undefined
  }
  get isDormant(): boolean {
    return this.#shell === undefined && this.#starting === undefined
  }
  get shellState(): string {
    return this.#shell?.state ?? "dormant"
  }

  /** What the session holds, as of its last commit. */
  get bindings(): SessionBindings {
    this.#checkOpen()
    return new SessionBindings(this.state, () => this.#checkOpen())
  }

  /** The value that the bare name has in session code, as far as it can leave its process; `undefined` when it is not bound. */
  resolve(name: string): unknown {
    return this.bindings.at(name)
  }

  /**
   * Runs TypeScript in the session. An accepted eval resolves with exactly one outcome, in the order of the calls, whatever happens; it
   * never rejects for what the code did. Rejects at once with `session_not_found`, `queue_full`, `source_too_large`, `would_deadlock`,
   * `overloaded` or `invalid_options` when it is refused.
   */
  eval(source: string, options: EvalOptions = noOptions): Promise<Outcome> {
    try {
      this.#checkEval(source, options)
    } catch (error) {
      return Promise.reject(error)
    }
    const parent = options.nested === true ? this.#waitingEval() : undefined
    if (parent !== undefined && this.#shell?.isInEarlierRevision === true) {
      const message = `Session '${this.id}' runs a call of an earlier revision, inside of which no eval can run; request it after the call.`
      return Promise.reject(new NacreError("unsupported", message))
    }
    if (parent !== undefined) {
      this.lastUsedAt = this.#context.clock.now()
      return this.#shell!.evalNested(this.#context.nextEvalId(), parent, source, options)
    }
    const shell = this.#ready()
    if (shell instanceof Shell) return this.#request(shell, source, options)
    return shell.then((ready) => this.#request(ready, source, options))
  }

  #request(shell: Shell, source: string, options: EvalOptions): Promise<Outcome> {
    const evalId = this.#context.nextEvalId()
    this.lastUsedAt = this.#context.clock.now()
    if (options.timeoutMs === undefined && this.facts.evalTimeoutMs !== undefined) {
      options = { ...options, timeoutMs: this.facts.evalTimeoutMs }
    }
    if (options.check === undefined && this.facts.check === "types" && options[callTarget] === undefined)
      options = { ...options, check: "types" }
    if (retainedKind(options.retainValues) !== undefined) return this.#retaining(shell, evalId, source, options)
    return this.#note(shell.eval(evalId, source, options), options)
  }

  async #retaining(shell: Shell, evalId: string, source: string, options: EvalOptions): Promise<Outcome> {
    const ended = this.#held.expectValue()
    try {
      return await this.#note(shell.eval(evalId, source, options), options)
    } finally {
      ended()
    }
  }

  #note(outcome: Promise<Outcome>, options: EvalOptions): Promise<Outcome> {
    if (this.#checks === undefined && options.check !== "types") return outcome
    // Before the next eval of this session is checked, which is after this one has ended.
    return outcome.then((it) => {
      this.#checks?.note(it)
      return it
    })
  }

  /** Internal: for the shell, before code with `check: "types"` runs. */
  checkTypes(
    evalId: string,
    source: string,
    options: EvalOptions,
    signal: AbortSignal,
  ): Promise<ErrorRecord | undefined> {
    const { file = evalId, line = 1 } = options
    return this.#known().check(evalId, source, { file, line }, { signal })
  }

  #known(): SessionChecks {
    const { facts, workspace } = this
    this.#checks ??= new SessionChecks({
      checker: this.#context.checker,
      key: sessionKey(facts),
      profile: facts.grants.capabilities.join(","),
      directory: facts.directory,
      jsx: facts.jsx,
      tools: facts.tools.declaration,
      state: () => this.state,
      globalNames: () => this.#context.globalNamesOf(workspace),
      preludes: () => this.#context.preludeTextsOf(workspace, facts.profile),
    })
    return this.#checks
  }

  /**
   * Names that may stand at an offset of a text that is being written, with what they replace: those of the session, of its workspace and of the
   * language, or the members of what stands before a dot. Types come from the checker; nothing of the text runs, and an eval that runs
   * is not waited for. Rejects with `checker_unavailable`, `overloaded`.
   */
  async complete(text: string, offset = text.length, options?: QuestionOptions): Promise<Completions> {
    this.#checkOpen()
    this.#checkText(text, offset)
    return this.#known().complete(text, offset, options)
  }

  /**
   * What the name at an offset of a text is: its declaration and its documentation; `undefined` when none stands there. It is not called `inspect`,
   * which assertion and logging libraries call on whatever they show.
   */
  async hover(text: string, offset = 0, options?: QuestionOptions): Promise<Hover | undefined> {
    this.#checkOpen()
    this.#checkText(text, offset)
    return this.#known().hover(text, offset, options)
  }

  /** What the call around an offset of a text takes. Without items when there is none. */
  async signature(text: string, offset = text.length, options?: QuestionOptions): Promise<Signatures> {
    this.#checkOpen()
    this.#checkText(text, offset)
    return this.#known().signature(text, offset, options)
  }

  #checkText(text: unknown, offset: unknown): void {
    if (typeof text !== "string")
      throw new NacreError("invalid_options", `The text must be a string, not ${typeof text}.`)
    const { sourceMax } = this.#context.limits
    if (text.length > sourceMax)
      throw new NacreError("source_too_large", `The text has ${text.length} characters; the limit is ${sourceMax}.`)
    if (!Number.isSafeInteger(offset) || (offset as number) < 0 || (offset as number) > text.length)
      throw new NacreError(
        "invalid_options",
        `The offset must be within the text, 0 to ${text.length}, not ${String(offset)}.`,
      )
  }

  /** As `eval`, for callers who want the value: resolves with it, or rejects with an `EvalFailure` that carries the outcome. */
  async run(source: string, options: EvalOptions = {}): Promise<unknown> {
    const outcome = await this.eval(source, options)
    if (outcome.status !== "ok") throw new EvalFailure(outcome)
    const value = outcome.value
    if (value === undefined || value.type === "undefined") return undefined
    if ("data" in value) return value.data
    const shown = value.text.length > 80 ? `${value.text.slice(0, 80)}…` : value.text
    if (value.withheld === "too-large") {
      const { valueDataBytesMax } = this.#context.limits
      const message = `The result ${shown} is above limits.valueDataBytesMax (${valueDataBytesMax} bytes); return less, or raise it.`
      throw new NacreError("value_too_large", message)
    }
    const message = `The result ${shown} holds ${value.withheld ?? "something"}, which cannot leave its session; return data.`
    throw new NacreError("value_not_transferable", message)
  }

  /**
   * Declares, replaces and removes definitions as one change, then runs what else the source says. When any step fails the session stands as it
   * did, and the result says why. The declarations stay, however the statements end: their outcome is in `outcome`.
   */
  async submit(change: string | SubmittedChange): Promise<(Committed & { outcome?: Outcome }) | Rejected> {
    const given: SubmittedChange = typeof change === "string" ? { source: change } : change
    refuseUnknown("submit", given, submitNames)
    const { timeoutMs, onOutput, signal, ...rest } = given
    // Before anything is in force: the eval of the statements refuses nothing then.
    this.#checkOpen()
    const options: EvalOptions = {}
    if (timeoutMs !== undefined) options.timeoutMs = timeoutMs
    if (onOutput !== undefined) options.onOutput = onOutput
    if (signal !== undefined) options.signal = signal
    checkEvalOptions(options)
    const submitted = await this.#moduleChanges.submit(rest)
    if (submitted.status === "rejected") return submitted
    const { id, statements, learn, ...committed } = submitted
    if (statements === undefined) return committed
    options.file = rest.file ?? id
    options.line = rest.line ?? 1
    if (rest.principal !== undefined) options.principal = rest.principal
    // Its types are checked already.
    options.check = "syntax"
    const outcome = await this.eval(statements, options)
    if (outcome.status === "ok") learn(outcome.committed.set)
    return { ...committed, outcome }
  }

  /** Reads, builds, checks and makes a change without putting it in force. Several may be open at once, within `limits.candidatesMax`. */
  async proposeChange(change: string | Change): Promise<Proposed | Rejected> {
    this.#checkOpen()
    return this.#moduleChanges.propose(typeof change === "string" ? { source: change } : change)
  }

  /** Puts a candidate in force. Without `rebase` it is rejected as `stale_parent` when the session has another revision by now. */
  async commitChange(candidate: string, options: { rebase?: boolean } = {}): Promise<Committed | Rejected> {
    this.#checkOpen()
    refuseUnknown("commitChange", options, ["rebase"])
    return this.#moduleChanges.commit(candidate, options)
  }

  /**
   * Runs code as if a candidate were in force, on what the session holds now: in a realm of its own that is thrown away, also while an eval is
   * under way. Nothing of it is kept; it can write no globals, and call tools only with `tools: true`.
   */
  async evaluateCandidate(candidate: string, source: string, options: CandidateEvalOptions = {}): Promise<Outcome> {
    this.#checkOpen()
    const { tools, ...rest } = options
    expectOption(tools === undefined || typeof tools === "boolean", "tools", "true or false", tools)
    this.#checkEval(source, rest)
    return this.#moduleChanges.evaluate(candidate, this.#context.nextEvalId(), source, options)
  }

  /** Forgets a candidate; resolves with whether there was one. */
  async abandonChange(candidate: string): Promise<boolean> {
    this.#checkOpen()
    return this.#moduleChanges.abandon(candidate)
  }

  /**
   * Puts a function around a definition: `source` is an expression for `(inner: T) => T`. Everything that uses the name uses the wrapped one from
   * then on. The same key replaces it where it is, a new one is outermost; wrappers stay when the definition is submitted anew.
   */
  async wrapBinding(wrapper: WrapChange): Promise<Committed | Rejected> {
    this.#checkOpen()
    return this.#moduleChanges.wrap(wrapper)
  }

  /** Takes one wrapper of a definition away, or without a key all of them. */
  async unwrapBinding(change: UnwrapChange): Promise<Committed | Rejected> {
    this.#checkOpen()
    return this.#moduleChanges.unwrap(change)
  }

  /** The wrappers of a definition, the innermost one first. */
  wrappers(name: string): { key: string; source: string }[] {
    this.#checkOpen()
    const { wrappers = [] } = this.state.definitions.get(name) ?? {}
    return wrappers.map(({ key, source }) => ({ key, source }))
  }

  /**
   * Calls what a name means when its turn comes, and is an eval in everything else: a loop of the embedder's that calls a binding sees its
   * redefinition at the next call. Arguments are data; they are copied.
   *
   * With `revision` or `pin` it runs in that revision instead, over the locals as they are now: what it does to them is committed, and what it would
   * do to definitions is not, and stands in `rejected` as `stale_parent`. Data that a definition of that revision held is what it is now; reading
   * what has been made anew since throws `binding_lost`, unless a pin was taken before. Fails with `revision_not_found`, `pin_not_found`.
   */
  callBinding(call: BindingCall): Promise<Outcome> {
    try {
      const isCall = typeof call === "object" && call !== null
      expectOption(isCall, "The argument of a call", "an object such as { name, args }", call)
      const { name, args = [], revision, pin, ...options } = call
      if (typeof name !== "string" || !/^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u.test(name)) {
        throw new NacreError("invalid_options", `name of a call must be an identifier, not ${JSON.stringify(name)}.`)
      }
      this.#checkOpen()
      const at = this.#revisionOf(revision, pin)
      const target: CallTarget = { args: encodeArguments(args) }
      return this.eval(name, { ...options, [callTarget]: at === undefined ? target : { ...target, revision: at } })
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #revisionOf(revision: number | undefined, pin: Pin | string | undefined): number | undefined {
    if (revision !== undefined && pin !== undefined)
      throw new NacreError("invalid_options", "A call takes a revision or a pin, not both.")
    if (revision !== undefined) checkRevision(this.id, this.state, revision)
    if (pin === undefined) return revision
    const isPin = typeof pin === "string" || pin instanceof Pin
    expectOption(isPin, "pin of a call", "what pinRevision gave, or its id", pin)
    return this.#held.revisionOf(String(pin))
  }

  /**
   * Calls a retained function, in the revision that it was retained from; an eval in everything else, as `callBinding` is. Fails with
   * `value_not_found`, and with `binding_lost` when only a process held the value and has ended.
   */
  callValue(call: ValueCall): Promise<Outcome> {
    try {
      const isCall = typeof call === "object" && call !== null
      expectOption(isCall, "The argument of a call", "an object such as { value, args }", call)
      const { value, args = [], ...options } = call
      expectOption(typeof value === "string", "value of a call", "a handle", value)
      this.#checkOpen()
      const { name, revision } = this.#held.find(value)
      return this.eval("", { ...options, [callTarget]: { args: encodeArguments(args), revision, value: name } })
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Lets a retained value go. Fails with `value_not_found`. */
  async releaseValue(value: string): Promise<void> {
    this.#checkOpen()
    expectOption(typeof value === "string", "A retained value", "its handle", value)
    this.#held.releaseValue(value)
  }

  /** The values that are retained, the oldest first. */
  retainedValues(): RetainedValue[] {
    this.#checkOpen()
    return this.#held.values()
  }

  /**
   * Holds a revision, by default the present one, for calls: data of it that a change replaces from now on is kept for them. Until it is released,
   * or the session is closed. Fails with `revision_not_found`, `handle_limit`.
   */
  async pinRevision(revision?: number): Promise<Pin> {
    this.#checkOpen()
    if (revision !== undefined) checkRevision(this.id, this.state, revision)
    return this.#held.pin(revision ?? this.state.revision)
  }

  /** As `release` of the pin with that id. Fails with `pin_not_found`. */
  async releasePin(pin: string): Promise<void> {
    this.#checkOpen()
    expectOption(typeof pin === "string", "A pin", "its id", pin)
    this.#held.release(pin)
  }

  /** The pins that are not released, the oldest first. */
  pins(): PinInfo[] {
    this.#checkOpen()
    return this.#held.pins()
  }

  get #held(): SessionHandles {
    this.#handles ??= new SessionHandles({
      id: this.id,
      limits: this.#context.limits,
      state: this.state,
      forget: (removed) => {
        if (removed.length === 0) return
        this.state.commit += 1
        const update = { candidate: "", definitions: [], removed, plain: [], groups: [], sources: [], ephemeral: [] }
        if (this.#shell !== undefined) this.#shell.follow(update)
        else if (this.worker !== undefined) this.updates.push(update)
      },
    })
    return this.#handles
  }

  /** Publishes a new revision with the definitions of an earlier one; the session's locals stay. Fails with `revision_not_found`. */
  async restoreRevision(
    revision: number,
    options: Pick<Change, "principal" | "reason" | "onDataLoss"> = {},
  ): Promise<Committed | Rejected> {
    this.#checkOpen()
    return this.#moduleChanges.restore(revision, options)
  }

  /** The definitions of a revision, by default the present one, as data: `importRevision` gives them to another session. */
  exportRevision(revision?: number): ExportedRevision {
    this.#checkOpen()
    return this.#allChanges.export(revision ?? this.state.revision)
  }

  /**
   * Declares what was exported. A session that had no definitions then has the digest of the export, if its workspace has the same preludes and
   * its directory the same files; otherwise `differs` names those that are not. What the session does not import yet is imported first, in an eval.
   */
  async importRevision(
    exported: ExportedRevision,
    options: Pick<Change, "principal" | "reason"> = {},
  ): Promise<Committed | Rejected> {
    this.#checkOpen()
    const { principal } = options
    return this.#moduleChanges.import(exported, options, (source) =>
      this.eval(source, principal === undefined ? {} : { principal }),
    )
  }

  /** The records of what led to each revision after `since`, oldest first. */
  history(since = 0): RevisionRecord[] {
    this.#checkOpen()
    return historySince(this.state, since)
  }

  /** The number of the session's revision, and the digest of its definitions, which is the same wherever the same ones are beside the same preludes. */
  get revision(): { number: number; digest: string } {
    this.#checkOpen()
    return { number: this.state.revision, digest: digestOf(this.state, this.preludes) }
  }

  /** Internal: what its code can call besides tools. */
  ownCall(name: string): Tool | undefined {
    const { id, workspace } = this
    return codeChangeTool(
      {
        id,
        workspace,
        onChange: this.facts.onChange,
        changes: () => this.#moduleChanges,
        history: (since) => historySince(this.state, since),
      },
      name,
    )
  }

  /** Throws `capability_denied` where the profile has no changes. */
  get #moduleChanges(): SessionChanges {
    this.facts.grants.demand("change", "Changing definitions as a whole")
    return this.#allChanges
  }

  get #allChanges(): SessionChanges {
    this.#changes ??= new SessionChanges({
      id: this.id,
      principal: this.principal,
      state: this.state,
      candidatesMax: this.#context.limits.candidatesMax,
      check: this.facts.check,
      checks: () => this.#known(),
      preludes: () => this.preludes,
      ready: () => this.#ready(),
    })
    return this.#changes
  }

  /** Stops one eval, running or queued; without an id the running one. Resolves with false when nothing ran. */
  async interrupt(evalId?: string): Promise<boolean> {
    this.#checkOpen()
    expectOption(evalId === undefined || typeof evalId === "string", "evalId", "a string", evalId)
    // In the order of the calls: an eval requested before this is under way when it is looked for.
    const shell = await (this.#starting ?? this.#shell)
    if (shell === undefined) {
      if (evalId === undefined) return false
      throw new NacreError("eval_not_found", `Session '${this.id}' has no eval '${evalId}' running or queued.`)
    }
    return shell.interrupt(evalId)
  }

  /** Forgets every binding and definition, and the realm with them. Waits for its turn behind the evals that are queued. */
  async reset(): Promise<void> {
    this.#checkTurn("reset")
    await (await this.#ready()).reset()
  }

  /** A new session that starts with what this one has committed. */
  async fork(): Promise<Session> {
    this.#checkTurn("fork")
    const shell = await this.#ready()
    return shell.operate(() => {
      const state = copyState(this.state)
      // Nobody has handles of the fork's.
      state.unnamed = state.pins = undefined
      loseRealm(state, "a fork copies what is committed, and this lives in the process of the session it came from")
      return this.#context.fork(this, state)
    })
  }

  /** Names the state as it is committed now, to roll back to. A mark of the same name is replaced; `handle_limit` beyond `limits.marksMax`. */
  async mark(name: string): Promise<void> {
    this.#checkTurn("mark")
    expectOption(typeof name === "string", "A mark's name", "a string", name)
    const shell = await this.#ready()
    await shell.operate(() => {
      const marks = (this.#marks ??= new Map())
      const { marksMax } = this.#context.limits
      if (!marks.has(name) && marks.size >= marksMax) {
        const message = `Session '${this.id}' has ${marks.size} marks, its maximum (limits.marksMax); take some away with unmark.`
        throw new NacreError("handle_limit", message)
      }
      marks.set(name, copyState(this.state))
    })
  }

  /** The names of the marks, oldest first. */
  marks(): string[] {
    return [...(this.#marks?.keys() ?? [])]
  }

  /** Takes a mark away, and frees what only it holds; `false` when there is none of that name. */
  unmark(name: string): boolean {
    return this.#marks?.delete(name) === true
  }

  /** Puts the session back to a mark, as a new commit. Resolves with the names that could not come back; fails with `mark_not_found`. */
  async rollback(name: string): Promise<{ lost: string[] }> {
    this.#checkTurn("rollback")
    expectOption(typeof name === "string", "A mark's name", "a string", name)
    const shell = await this.#ready()
    return shell.operate(() => {
      const marked = this.#marks?.get(name)
      if (marked === undefined) {
        const known = this.marks().join(", ") || "none"
        throw new NacreError("mark_not_found", `Session '${this.id}' has no mark '${name}'; it has: ${known}.`)
      }
      this.worker?.evict(this)
      const lost = restoreState(this.state, marked)
      this.#announce("rollback")
      return { lost }
    })
  }

  /**
   * Notes that a client uses the session; returns what it calls when it is gone. A session that was opened with `graceMs` closes that long
   * after its last client has gone, unless another comes: it neither leaks nor vanishes under a reconnect.
   */
  attachClient(): () => void {
    this.#clients += 1
    this.#cancelGrace?.()
    this.#cancelGrace = undefined
    let isAttached = true
    return () => {
      if (!isAttached) return
      isAttached = false
      this.#clients -= 1
      const { graceMs } = this.facts
      if (this.#clients > 0 || graceMs === undefined || graceMs === Infinity || this.#isClosed) return
      this.#cancelGrace = this.#context.clock.after(graceMs, () => void this.close())
    }
  }

  /** The outcome of a recent eval, for a client that lost the answer; the last few are kept while the session is active. */
  outcome(evalId: string): Outcome | undefined {
    this.#checkOpen()
    return this.#shell?.outcome(evalId)
  }

  /** Ends the session: what runs or waits ends as `interrupted`, and every later use fails with `session_not_found`. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#isClosed = true
    this.#cancelGrace?.()
    // In the order of the calls: an eval requested before this is accepted, and ends as interrupted.
    // One that could not be started holds nothing up.
    const shell = await (this.#starting?.catch(() => undefined) ?? this.#shell)
    await shell?.close()
    this.worker?.evict(this)
    this.#checks?.forget()
    this.#context.onClosed(this)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  toString(): string {
    return `Session(${this.kind}: ${this.id})`
  }

  /** Internal: the scheduler dropped the realm, or its process ended. */
  onRealmLost(reason: string): void {
    this.holdsEphemerals = false
    this.#updates = undefined
    if (this.#state === undefined) return
    const names = loseRealm(this.#state, reason)
    if (names.length === 0) return
    this.lostSince.push(...names)
    const { id: session, workspace } = this
    this.#context.emit({ type: "bindings.lost", session, workspace, names, reason })
    this.#announce("realm-lost")
  }

  #announce(because: "rollback" | "realm-lost"): void {
    const { id: session, workspace, state } = this
    const changes = takeChanges(state)
    if (changes === undefined) return
    this.#context.emit({ type: "bindings.changed", session, workspace, because, ...changes, commit: state.commit })
  }

  /** Internal: stops the shell of an idle session; the next message starts another. */
  passivate(): void {
    const shell = this.#shell
    if (shell === undefined || !shell.isIdle) return
    this.#shell = this.#starting = undefined
    void shell.close()
    this.#announce("realm-lost")
  }

  /** Internal: for synchronous calls of session code. */
  get shell(): Shell | undefined {
    return this.#shell
  }

  #checkOpen(): void {
    if (this.#isClosed)
      throw new NacreError("session_not_found", `Session '${this.id}' is no longer alive; open a new one.`)
  }

  #checkEval(source: string, options: EvalOptions): void {
    this.#checkOpen()
    if (typeof source !== "string") {
      throw new NacreError("invalid_options", `The source of an eval must be a string, not ${typeof source}.`)
    }
    const { sourceMax } = this.#context.limits
    if (source.length > sourceMax) {
      throw new NacreError("source_too_large", `The source has ${source.length} characters; the limit is ${sourceMax}.`)
    }
    if (options !== noOptions) checkEvalOptions(options)
    // One inside of an eval that may still finish is part of that.
    if (options.nested !== true || this.#waitingEval() === undefined) this.#context.checkRunning()
    if (options.nested === true || !this.#waitsForCaller()) return
    const message = `Session '${this.id}' waits for the tool call that requests this eval; ask for \`nested: true\`, run it in another session or after the call.`
    throw new NacreError("would_deadlock", message)
  }

  /** Whether this is called in a tool call of the session's own eval: what takes its turn behind that would wait for ever. */
  #waitsForCaller(): boolean {
    return callingSession.getStore()?.session === sessionKey(this) && !this.isIdle
  }

  /** Before what takes its turn between two evals. */
  #checkTurn(what: string): void {
    this.#checkOpen()
    if (!this.#waitsForCaller()) return
    const message = `Session '${this.id}' waits for the tool call that requests '${what}', which takes its turn between evals; request it after the call.`
    throw new NacreError("would_deadlock", message)
  }

  /** The eval of this session that waits for the tool call in which this is called. */
  #waitingEval(): string | undefined {
    const calling = callingSession.getStore()
    if (calling === undefined || calling.session !== sessionKey(this)) return undefined
    return this.#shell?.isUnderWay(calling.evalId) === true ? calling.evalId : undefined
  }

  /** The shell, in the order of the calls: while it starts everybody waits, also those who could see it already. */
  #ready(): Shell | Promise<Shell> {
    return this.#starting ?? this.#shell ?? this.#activate()
  }

  #activate(): Promise<Shell> {
    const starting = this.#startShell()
    this.#starting = starting
    const forget = (): void => {
      if (this.#starting === starting) this.#starting = undefined
    }
    // A turn later: whoever waits for it goes on before those who come then.
    starting.then(() => setImmediate(forget), forget)
    return starting
  }

  async #startShell(): Promise<Shell> {
    let shell: Shell | undefined
    await this.#context.startShell(this, () => {
      let onExit: ((reason: "normal" | { error: unknown }) => void) | undefined
      const started = new Shell(this, this.#context, (error) => {
        if (this.#shell === started) this.#shell = this.#starting = undefined
        onExit?.(error === undefined ? "normal" : { error })
      })
      shell = started
      return {
        stop: () => void started.close("stopped"),
        kill: () => void started.close("stopped"),
        onExit: (listener) => {
          onExit = listener as typeof onExit
        },
        describe: () => `${started.state}, profile ${this.profile}`,
      }
    })
    this.#shell = shell
    return shell!
  }
}
