// A worker thread: takes evals from its own socket, runs them one at a time in their sessions' realms, and sends what came of them.
//
// The thread belongs to user code while that runs, so everything here is written for being cut off anywhere: what has left through the
// socket has happened, the rest has not. An eval that awaits is parked: the thread goes on with the next one, and an ALS store tells
// whose code runs whenever something is resumed. Whatever ends an eval goes through `#finish` or `#discard`, once.
import { AsyncLocalStorage } from "node:async_hooks"
import { randomFillSync } from "node:crypto"
import { connect } from "node:net"
import { threadId } from "node:worker_threads"
import {
  opAsk,
  opCurrent,
  opExit,
  opGeneration,
  opImport,
  opModuleCode,
  opModuleText,
  opModuleValue,
  opNow,
  opOutput,
  opRandom,
  opRequire,
  opResolve,
  opRestored,
  opSettled,
  opStack,
  opTimeOrigin,
  opTimerClear,
  opTimerSet,
  opToolCall,
  opUncaught,
  opUrl,
  opWrite,
  refusedEnded,
  refusedMaking,
} from "../../stdlib/bridge.ts"
import type { HostFunction } from "../../stdlib/bridge.ts"
import type { Primitive } from "../../stdlib/intrinsics.ts"
import { Capabilities, denialText, standardCapabilities } from "../../stdlib/capabilities.ts"
import { splitModule } from "../language/module.ts"
import { Outbox } from "../wire/outbox.ts"
import { ENTERED, GENERATION, TURN, enter, raiseGeneration } from "../wire/shared-memory.ts"
import { Link } from "../wire/transport.ts"
import { fromWorker, toWorker, wireVersion } from "../wire/schema.ts"
import type { ChangeRequest, Checkpoint, ErrorRecord, FieldsOf, NestedEnded, WorkerOutcome } from "../wire/schema.ts"
import type { ServeTask, SyncOp } from "../wire/thread.ts"
import { packValue } from "../wire/values/pack.ts"
import type { PackedInput } from "../wire/values/pack.ts"
import { bundleRealmScript } from "./bundle.ts"
import { Collector } from "./collect.ts"
import { CompileCache } from "./compile-cache.ts"
import type { Compiled } from "./compile-cache.ts"
import { serveDynamicImports } from "./dynamic-import.ts"
import { errorRecord, kindRecord, shownFrames, syntaxErrorRecord } from "./error-record.ts"
import { ModuleProblem } from "./modules/problem.ts"
import { RealmMaker } from "./realm.ts"
import type { Realm } from "./realm.ts"
import { compileFor } from "./resident-imports.ts"
import { Resident, emptyAnswer } from "./resident.ts"
import { RunningEval } from "./running-eval.ts"
import type { EvalMessage, NestedMessage } from "./running-eval.ts"
import { SyncCalls } from "./sync-calls.ts"
import { changedUrlParts, urlParts } from "./url-parts.ts"

/** Writes of an eval that leave at once: the last line before an endless loop or a crash is the one that is wanted. */
const promptFlushesMax = 64
/** Later output of a computing eval is pushed out this often: a loop that prints would otherwise spend its time in system calls. */
const outputFlushMs = 50

/** Ended evals whose late errors can be told whose they are. */
const endedKept = 1_000
/**
 * Outcomes that leave together while more evals wait: half of those that are sent ahead, so that the embedder answers to one half while this
 * thread computes the other.
 */
const companyMax = 8
/** How long the first of them waits for company, beside the eval under way: a busy session's next eval waits for it. */
const companyMs = 1
/** Evals that may begin before the loop turns. */
const begunPerTurnMax = 8
/** Of the realm that a fresh thread boots: nearly every session's. */
const firstSpare = new Capabilities("standard", standardCapabilities)
/** Idle time before a spare realm is booted: a burst of evals must not wait for it. */
const spareDelayMs = 3

const nothing = new Uint8Array(0)

type ShownEnd = Partial<Pick<WorkerOutcome, "error" | "exitCode" | "text" | "inert" | "valueType">>

/** The task of a piscina worker: resolves when the connection has closed. */
export function serve(task: ServeTask): Promise<void> {
  return new Promise((resolve) => new Worker(task, resolve))
}

class Worker {
  readonly #task: ServeTask
  readonly #link: Link<typeof fromWorker, typeof toWorker>
  // The store is a number: Node 20 hangs it on every promise, where session code can find it.
  readonly #als = new AsyncLocalStorage<number>()
  readonly #residents = new Map<string, Resident>()
  readonly #cache = new CompileCache()
  readonly #collector = new Collector()
  readonly #queue: EvalMessage[] = []
  /** Evals that have begun and not ended, by sequence number. */
  readonly #running = new Map<number, RunningEval>()
  /** The last evals that have ended: whose a late error is. */
  readonly #ended = new Map<number, { session: string; evalId: string }>()
  readonly #parked = new Map<string, RunningEval>()
  readonly #realms = new RealmMaker(bundleRealmScript())
  readonly #syncCalls: SyncCalls
  /** The eval that has ended but is being shown: a view that is part of its result may still be read. */
  #shown: RunningEval | undefined
  #current: RunningEval | undefined
  /** Whose definitions are being made. */
  #making: Resident | undefined
  #hasCalledOut = false
  /** A realm that is booted and belongs to nobody. */
  #spare: Realm | undefined
  /** Of the session that came last: a host serves one profile. */
  #spareOf = firstSpare
  #isSpareDue = false
  /** Nested evals count downwards: the embedder numbers the others. */
  #nestedSeq = 0
  #flushedAt = 0
  /** When the first of the outcomes that wait for company began to, and how many may. */
  #soonSince = 0
  #companyMax = companyMax

  constructor(task: ServeTask, onClosed: () => void) {
    this.#task = task
    this.#syncCalls = new SyncCalls(task)
    task.port.on("message", (message: unknown) => {
      // Answers to synchronous calls that came too late are dropped here.
      if (message === "ping") Atomics.add(task.words, TURN, 1)
    })
    serveDynamicImports(() => {
      const realm = this.#evalOfCode()?.resident.realm
      return realm && ((specifier, type, settle) => realm.api.loadModule(specifier, "", type, settle))
    })
    // The thread lives as long as its socket, not because a port could still say something.
    task.port.unref()
    this.#link = new Link(
      connect(task.socketPath),
      { out: fromWorker, in: toWorker },
      {
        onMessage: (message) => {
          switch (message.type) {
            case "eval":
              this.#queue.push(message)
              break
            case "settle":
              this.#settle(message.evalId, message.how)
              break
            case "nested":
              this.#onNested(message)
              break
            case "toolResult":
              this.#onToolResult(message)
              break
            case "evict":
              this.#residents.delete(message.session)
              break
            case "collect":
              this.#collector.collect()
              break
          }
        },
        // Not at each eval: the first must know that others wait, so that their outcomes leave in company.
        onRead: () => this.#pump(),
        onClose: onClosed,
      },
      new Outbox(task.outbox),
    )
    this.#catchStrays()
    this.#spare = this.#realms.make(this.#spareOf)
    task.port.postMessage({ threadId })
    this.#link.send("hello", { version: wireVersion, host: task.hostId, worker: task.worker, token: task.token })
  }

  // From frame to turn

  #pump(): void {
    let begun = 0
    while (this.#current === undefined) {
      // What the embedder says meanwhile must be read from time to time, and questions whether this loop turns be answered.
      if (begun++ === begunPerTurnMax) {
        this.#link.flush()
        return void setImmediate(() => this.#pump())
      }
      const message = this.#queue[0]
      if (message === undefined) {
        this.#link.flush()
        return this.#bootSpare()
      }
      // What earlier evals came to must be with the kernel, or in the outbox, before other code may compute: it could not leave meanwhile,
      // and would die with the thread, so that an eval which has ended would be run again or blamed.
      const isDue = this.#link.isWaiting || this.#link.soonCount >= (message.isSuspect ? 1 : this.#companyMax)
      if (isDue && !this.#link.flushed(() => this.#pump())) return
      this.#queue.shift()
      if (enter(this.#task.words, message.seq)) this.#begin(message)
      else this.#link.send("skipped", { seq: message.seq, evalId: message.evalId })
    }
  }

  #begin(message: EvalMessage): void {
    const begunAt = performance.now()
    if (message.generation !== undefined) raiseGeneration(this.#task.words, message.generation)
    const resident = this.#residentFor(message)
    if (resident === undefined) {
      this.#link.send("missing", { seq: message.seq, evalId: message.evalId })
      return
    }
    const evl = new RunningEval(message, resident, (chunk) => this.#link.send("output", chunk))
    evl.times.begunAt = begunAt
    if (message.change !== undefined && !resident.isUnbuilt) return this.#change(evl, message.change)
    let hasEnded = false
    const state = this.#proceed(evl)
    if (state === "ended") return
    this.#current = evl
    this.#running.set(message.seq, evl)
    if (state === "waits") this.#als.run(message.seq, () => this.#prepare(evl))
    else {
      hasEnded = this.#als.run(message.seq, () =>
        resident.start(evl.compiled!, message.source, message.file, false, message),
      )
    }
    evl.times.ranAt = performance.now()
    // Where no code of the session can start anything that runs by itself, the turn that is due would pass with nothing in it.
    if (hasEnded && !evl.hasPending && !resident.mayGoOn) return this.#afterTurn(evl)
    // Microtasks, and whatever they start, get one turn before the eval is judged.
    setImmediate(() => {
      this.#afterTurn(evl)
      this.#pump()
    })
  }

  /** The eval's unit, in the revision that it runs in; without one the eval has ended. */
  #compile(evl: RunningEval): Compiled | undefined {
    const { message, resident } = evl
    const problem = message.pinned === undefined ? undefined : resident.enterRevision(message.pinned)
    if (problem !== undefined) {
      this.#sendOutcome(evl, "threw", { error: problem, realmKept: true })
      return undefined
    }
    const compiled = compileFor(resident, this.#cache, message.source, message.line)
    evl.times.compiledAt = performance.now()
    if ("unit" in compiled) {
      evl.compiled = compiled
      return compiled
    }
    const source = { text: message.source, file: message.file, line: message.line }
    if (message.pinned !== undefined) resident.leaveRevision()
    this.#sendOutcome(evl, "invalid", { error: syntaxErrorRecord(compiled, source), realmKept: true })
    return undefined
  }

  /**
   * Brings an eval to where its code may begin: the realm stands as the commit says, the source is compiled, the workspace's preludes are those
   * of now. `waits`: what comes next takes turns of the loop, and belongs to the eval. `ended`: as invalid, nothing has changed then.
   */
  #proceed(evl: RunningEval): "ready" | "waits" | "ended" {
    const { message, resident } = evl
    if (!resident.isUnbuilt) {
      if (evl.compiled === undefined && this.#compile(evl) === undefined) return "ended"
      const { preludes } = message
      if (preludes === undefined || preludes.id === resident.preludes.id) return "ready"
      resident.follow(preludes)
    }
    if (resident.mustWait) return "waits"
    this.#make(resident, () => resident.prepare())
    return this.#proceed(evl)
  }

  #prepare(evl: RunningEval): void {
    evl.isPreparing = true
    const { resident } = evl
    if (this.#make(resident, () => resident.prepare())) setImmediate(() => this.#afterRestore(evl))
  }

  /** What runs meanwhile belongs to no eval. */
  #make<T>(resident: Resident, work: () => T): T {
    this.#making = resident
    this.#hasCalledOut = false
    try {
      return work()
    } finally {
      this.#making = undefined
    }
  }

  /** What an eval's realm awaited has come: it goes on, and when it stands the eval itself begins. */
  #afterRestore(evl: RunningEval): void {
    if (evl.hasEnded || !evl.isPreparing) return
    const { message, resident } = evl
    if (resident.isUnbuilt) {
      const isDone = this.#als.run(message.seq, () => this.#make(resident, () => resident.prepare()))
      if (!isDone) return
    }
    const leave = (): void => {
      evl.end()
      this.#parked.delete(message.evalId)
    }
    if (message.change !== undefined) {
      evl.isPreparing = false
      leave()
      return this.#change(evl, message.change)
    }
    const state = this.#proceed(evl)
    if (state === "waits") return this.#als.run(message.seq, () => this.#prepare(evl))
    evl.isPreparing = false
    if (state === "ended") return leave()
    this.#als.run(message.seq, () => resident.start(evl.compiled!, message.source, message.file, false, message))
    this.#reconsider(evl)
  }

  /** Work on a change: no code of an eval runs, and the session stands as it did. */
  #change(evl: RunningEval, request: ChangeRequest): void {
    const { source, file, line } = evl.message
    const { times } = evl
    times.compiledAt = performance.now()
    if (request.stage === "split") {
      const module = splitModule(source, line, evl.resident)
      if (!module.valid) {
        const error = syntaxErrorRecord(module, { text: source, file, line })
        return this.#sendOutcome(evl, "invalid", { error })
      }
      const { declarations, statements } = module
      this.#sendOutcome(evl, "ok", { change: emptyAnswer({ declarations, statements }) })
    } else if (request.stage === "write") {
      const values = evl.resident.writePending()
      evl.resident.commit += 1
      this.#sendOutcome(evl, "ok", { change: emptyAnswer(values) })
    } else if (request.stage === "preludes") {
      const { problem } = evl.resident.preludes
      this.#sendOutcome(evl, "ok", { change: emptyAnswer(problem === undefined ? {} : { problem }) })
    } else {
      const { answer, isSpoiled } = this.#make(evl.resident, () => evl.resident.makeCandidate(request))
      // Code may have caught the refusal, or got it as a promise's.
      if (this.#hasCalledOut && answer.problem === undefined) {
        const message =
          "A definition called out while it was made; what calls out belongs in a function, or in a statement."
        answer.problem = kindRecord("outside_call", message)
      }
      if (isSpoiled) this.#residents.delete(evl.message.session)
      this.#sendOutcome(evl, "ok", { change: answer, realmKept: !isSpoiled })
    }
    Atomics.store(this.#task.words, ENTERED, 0)
  }

  #residentFor(message: EvalMessage): Resident | undefined {
    const { session, commit, checkpoint, updates, base } = message
    const resident = this.#residents.get(session)
    if (checkpoint === undefined) {
      if (resident?.commit !== (base ?? commit)) return undefined
      if (updates !== undefined) resident.update(updates, commit)
      return resident
    }
    // Its realm asks for a few things while it is booted.
    let fresh: Resident | undefined = undefined
    const { words } = this.#task
    const host: HostFunction = (op, a, b, payload, c) =>
      // Asked at every use of a global: it must cost next to nothing.
      op === opGeneration ? Atomics.load(words, GENERATION) : this.#serveRealm(fresh, op, a, b, payload, c)
    const built = new Resident(session, commit, checkpoint, this.#blankRealm(checkpoint), host)
    fresh = built
    this.#residents.set(session, built)
    this.#collector.noteRealm(this.#residents.size)
    if (!built.mustWait) this.#make(built, () => built.prepare())
    return built
  }

  #blankRealm({ profile, capabilities }: Checkpoint): Realm {
    const spare = this.#spare
    this.#spare = undefined
    if (spare?.capabilities.name === profile) return spare
    this.#spareOf = new Capabilities(profile, capabilities.join(","))
    return this.#realms.make(this.#spareOf)
  }

  /** Boots the next session's realm while nothing else is to do. */
  #bootSpare(): void {
    if (this.#spare !== undefined || this.#isSpareDue) return
    this.#isSpareDue = true
    setTimeout(() => {
      this.#isSpareDue = false
      if (this.#current === undefined && this.#queue.length === 0) {
        this.#spare ??= this.#realms.make(this.#spareOf)
      }
    }, spareDelayMs).unref()
  }

  /** The first turn has passed: the eval has ended, or it is parked. */
  #afterTurn(evl: RunningEval): void {
    if (this.#current === evl) this.#current = undefined
    if (!evl.hasEnded && !this.#endIfDone(evl)) {
      evl.isParked = true
      evl.flush()
      this.#parked.set(evl.message.evalId, evl)
      this.#link.send("parked", { evalId: evl.message.evalId })
    }
    Atomics.store(this.#task.words, ENTERED, 0)
    const { waitingNested } = evl
    evl.waitingNested = undefined
    if (waitingNested !== undefined && !evl.hasEnded) this.#beginNested(evl, waitingNested)
  }

  // Evals inside of evals. To the scheduler, and to whoever judges this thread, they are what the parked eval around them does.

  #onNested(message: NestedMessage): void {
    const current = this.#current
    const parent =
      this.#parked.get(message.parent) ?? (current?.message.evalId === message.parent ? current : undefined)
    // What waited for it has ended: its shell tells so.
    if (parent === undefined || parent.hasEnded || parent.child !== undefined) return
    if (parent.isParked) this.#beginNested(parent, message)
    else parent.waitingNested = message
  }

  #beginNested(parent: RunningEval, { nested, source, file, line, limits }: NestedMessage): void {
    const { resident, root } = parent
    const { evalId } = root.message
    const seq = --this.#nestedSeq
    const message: EvalMessage = { ...parent.message, seq, evalId: nested, source, file, line, limits, atomic: false }
    const send = (chunk: FieldsOf<typeof fromWorker.output>) => this.#link.send("output", { ...chunk, evalId, nested })
    const evl = new RunningEval(message, resident, send, parent)
    Atomics.store(this.#task.words, ENTERED, root.message.seq)
    const compiled = compileFor(resident, this.#cache, source, line)
    if (!("unit" in compiled)) {
      const error = syntaxErrorRecord(compiled, { text: source, file, line })
      this.#sendNested(evl, "invalid", { error })
      return this.#reconsider(parent)
    }
    evl.compiled = compiled
    evl.isParked = true
    parent.child = evl
    root.hadNested = true
    this.#running.set(seq, evl)
    this.#parked.set(nested, evl)
    this.#als.run(seq, () => resident.start(compiled, source, file, true))
    this.#reconsider(evl)
  }

  #finishNested(evl: RunningEval, parent: RunningEval, how: "ok" | "threw" | "exited", error?: ErrorRecord): void {
    const { message, resident, root } = evl
    Atomics.store(this.#task.words, ENTERED, root.message.seq)
    evl.end()
    this.#parked.delete(message.evalId)
    const ended: Partial<NestedEnded> = this.#shownEnd(evl, how, error)
    Object.assign(ended, resident.endNested(evl, how))
    if (how === "ok") {
      const result = resident.takeResult(message.limits[2] ?? 0)
      if ("isPlain" in result) {
        ended.isPlain = true
        ended.plain = result.plain
      } else if ("data" in result) ended.data = result.data
      else ended.withheld = result.withheld
    }
    resident.realm.api.end()
    parent.child = undefined
    this.#sendNested(evl, how, ended)
    this.#reconsider(parent)
  }

  #sendNested(evl: RunningEval, status: NestedEnded["status"], rest: Partial<NestedEnded>): void {
    evl.flush()
    const { seq, session, evalId } = evl.message
    this.#forgetRunning(seq, session, evalId)
    this.#link.send("nestedEnded", {
      evalId: evl.root.message.evalId,
      nested: evalId,
      status,
      text: rest.text ?? "",
      inert: rest.inert ?? true,
      valueType: rest.valueType ?? "undefined",
      isPlain: rest.isPlain ?? false,
      plain: rest.plain,
      omittedBytes: evl.omittedBytes,
      set: rest.set ?? [],
      removed: rest.removed ?? [],
      definitions: rest.definitions ?? [],
      data: rest.data,
      withheld: rest.withheld,
      error: rest.error,
      exitCode: rest.exitCode,
      abandoned: evl.abandoned.length > 0 ? evl.abandoned : undefined,
    })
  }

  #forgetRunning(seq: number, session: string, evalId: string): void {
    this.#running.delete(seq)
    this.#ended.set(seq, { session, evalId })
    if (this.#ended.size > endedKept) this.#ended.delete(this.#ended.keys().next().value!)
  }

  /** Something of a parked eval went on: look at it again after the turn. */
  #reconsider(evl: RunningEval): void {
    if (evl.isCheckScheduled || evl.hasEnded || !evl.isParked) return
    evl.isCheckScheduled = true
    setImmediate(() => {
      evl.isCheckScheduled = false
      evl.flush()
      if (!evl.hasEnded) this.#endIfDone(evl)
      Atomics.store(this.#task.words, ENTERED, this.#current?.message.seq ?? 0)
    })
  }

  #endIfDone(evl: RunningEval): boolean {
    // An eval ends after those that run inside of it, whatever else it waits for.
    if (evl.isPreparing) return false
    const { child } = evl
    if (child !== undefined) {
      this.#endIfDone(child)
      return false
    }
    const how = evl.resident.realm.calls.how()
    if (evl.exitCode !== undefined) this.#finish(evl, "exited")
    else if (evl.hasUncaught) this.#finish(evl, "threw")
    else if (how === "running") {
      // Node's own promises are settled by what nobody here knows of.
      if (evl.resident.realm.usesNode) return false
      for (let it: RunningEval | undefined = evl; it !== undefined; it = it.parent) if (it.hasPending) return false
      const message = "The eval awaits a promise that nothing can settle: no timer or tool call of it is pending."
      this.#finish(evl, "threw", kindRecord("never_settles", message))
    } else if (evl.hasToolCalls) return false
    else this.#finish(evl, how)
    return true
  }

  // Endings

  /** What an eval that ended by itself shows: its error, its exit code, its result as text. */
  #shownEnd(evl: RunningEval, how: "ok" | "threw" | "exited", error: ErrorRecord | undefined): ShownEnd {
    const { message, resident } = evl
    const source = { text: message.source, file: message.file, line: message.line }
    this.#shown = evl
    const shown =
      error ?? (how === "threw" ? errorRecord(resident.realm.api.describeError(), resident, source) : undefined)
    const end: ShownEnd = {}
    if (shown !== undefined) end.error = shown
    if (evl.exitCode !== undefined) end.exitCode = evl.exitCode
    if (how === "ok") Object.assign(end, resident.previewResult(message.limits[1] ?? 0))
    this.#shown = undefined
    return end
  }

  #finish(evl: RunningEval, how: "ok" | "threw" | "exited", error?: ErrorRecord): void {
    if (evl.parent !== undefined) return this.#finishNested(evl, evl.parent, how, error)
    const { message, resident } = evl
    Atomics.store(this.#task.words, ENTERED, message.seq)
    const valueDataBytesMax = message.limits[2] ?? 0
    evl.end()
    this.#parked.delete(message.evalId)
    const outcome: Partial<WorkerOutcome> = { realmKept: true, ...this.#shownEnd(evl, how, error) }
    if (message.atomic && how !== "ok") {
      // Half of what the eval did is in the realm, and nothing of it may stay.
      outcome.realmKept = false
      this.#residents.delete(message.session)
    } else {
      const { delta, rejected } = resident.commitEval(evl, evl.compiled!, how)
      if (how === "ok") {
        const result = resident.takeResult(valueDataBytesMax)
        if ("isPlain" in result) {
          outcome.isPlain = true
          outcome.plain = result.plain
        } else if ("data" in result) delta.lastValue = outcome.data = result.data
        else {
          outcome.withheld = result.withheld
          // What cannot be kept must not leave an older `_` behind.
          delta.lastValue = new Uint8Array(0)
        }
      }
      if (how === "threw") delta.lastError = resident.encodeError(valueDataBytesMax) ?? new Uint8Array(0)
      outcome.delta = delta
      if (rejected.length > 0) outcome.rejected = rejected
      resident.commit = message.commit + 1
    }
    resident.realm.calls.end()
    this.#sendOutcome(evl, how, outcome)
  }

  /** Ends an eval that was stopped: nothing of it is kept, so its realm goes. */
  #discard(evl: RunningEval, how: "interrupted" | "timeout"): void {
    for (let child = evl.child; child !== undefined; child = child.child) {
      const { seq, session, evalId } = child.message
      child.end()
      child.flush()
      this.#parked.delete(evalId)
      this.#forgetRunning(seq, session, evalId)
    }
    evl.end()
    this.#parked.delete(evl.message.evalId)
    this.#residents.delete(evl.message.session)
    this.#sendOutcome(evl, how, { realmKept: false })
  }

  #settle(evalId: string, how: "interrupted" | "timeout"): void {
    const queued = this.#queue.findIndex((it) => it.evalId === evalId)
    if (queued !== -1) {
      for (const { seq } of this.#queue.splice(queued, 1)) this.#link.send("skipped", { seq, evalId })
      return
    }
    const evl = this.#parked.get(evalId) ?? (this.#current?.message.evalId === evalId ? this.#current : undefined)
    if (evl !== undefined && !evl.hasEnded) this.#discard(evl, how)
  }

  /** The running eval that the code at hand belongs to. */
  #evalOfCode(): RunningEval | undefined {
    const seq = this.#als.getStore()
    return seq === undefined ? undefined : this.#running.get(seq)
  }

  #sendOutcome(evl: RunningEval, status: WorkerOutcome["status"], rest: Partial<WorkerOutcome>): void {
    evl.flush()
    const { seq, session, evalId } = evl.message
    this.#forgetRunning(seq, session, evalId)
    const { begunAt, compiledAt, ranAt } = evl.times
    const now = performance.now()
    // Every field is named, so that all outcomes have one shape: packing reads them by name.
    const outcome: WorkerOutcome = {
      seq,
      evalId,
      status,
      text: rest.text ?? "",
      inert: rest.inert ?? true,
      valueType: rest.valueType ?? "undefined",
      data: rest.data,
      plain: rest.plain,
      isPlain: rest.isPlain ?? false,
      withheld: rest.withheld,
      error: rest.error,
      exitCode: rest.exitCode,
      delta: rest.delta,
      rejected: rest.rejected,
      queued: evl.queue.length,
      omittedBytes: evl.omittedBytes,
      abandoned: evl.abandoned.length > 0 ? evl.abandoned : undefined,
      realmKept: rest.realmKept ?? true,
      times: [compiledAt - begunAt, Math.max(0, ranAt - compiledAt), now - Math.max(ranAt, compiledAt)],
      cancelled: evl.cancelled.length > 0 ? evl.cancelled : undefined,
      change: rest.change,
    }
    // Where others wait behind it on this thread, their outcomes will soon follow. What an eval with Node did to the world must not be done again
    // because its host was killed with the outcome in it.
    const isAlone = this.#queue.length === 0 || evl.message.isAwaited === true
    if (isAlone || evl.resident.realm.capabilities.hasNode) return this.#link.send("outcome", outcome)
    this.#link.sendSoon("outcome", outcome)
    if (this.#link.soonCount <= 1) this.#soonSince = now
    this.#companyMax = now - this.#soonSince > companyMs ? 1 : companyMax
  }

  // What realms ask for

  #serveRealm(
    resident: Resident | undefined,
    op: number,
    a: Primitive,
    b: Primitive,
    payload: unknown,
    c: Primitive,
  ): Primitive {
    const evl = this.#evalOfCode()
    const isRunning = evl !== undefined && !evl.hasEnded && resident !== undefined && evl.resident === resident
    switch (op) {
      case opNow:
        return performance.now()
      case opTimeOrigin:
        return performance.timeOrigin
      case opRandom:
        // The realm's own array, made for this call.
        randomFillSync(payload as Uint8Array)
        return undefined
      case opStack:
        return resident === undefined ? "" : shownFrames(String(a), resident)
      case opCurrent:
        return isRunning && !evl.isPreparing ? evl.message.evalId : undefined
      case opUrl: {
        const other = b === undefined ? undefined : String(b)
        return c === undefined ? urlParts(String(a), other) : changedUrlParts(String(a), String(c), String(b))
      }
      case opTimerClear:
        if (evl !== undefined) this.#clearTimer(evl, a as number)
        return undefined
    }
    if (op === opAsk && resident !== undefined && this.#shown?.resident === resident)
      return this.#ask(this.#shown, a as SyncOp, String(b), String(c), payload)
    // What evaluates a prelude is no code of the eval that needs it; its modules are loaded all the same.
    if (!isRunning || (this.#making === resident && !isModuleCall(op))) {
      if (op === opUncaught && typeof a === "string") this.#sendStray(a)
      if (resident === undefined || this.#making !== resident) return refusedEnded
      this.#hasCalledOut = true
      return refusedMaking
    }
    switch (op) {
      case opOutput:
        evl.write(a === "stderr" ? "stderr" : "stdout", String(b))
        this.#pushOutput(evl)
        return undefined
      case opTimerSet:
        this.#setTimer(evl, a as number, b as number)
        return undefined
      case opToolCall: {
        ;(evl.toolCalls ??= new Set()).add(a as number)
        evl.flush()
        this.#link.send("toolCall", {
          session: resident.session,
          evalId: evl.root.message.evalId,
          callId: a as number,
          name: String(b),
          bytes: packValue(payload as PackedInput),
          nested: evl.parent === undefined ? undefined : evl.message.evalId,
        })
        return undefined
      }
      case opSettled:
        this.#reconsider(evl)
        return undefined
      case opUncaught:
        evl.hasUncaught = true
        this.#reconsider(evl)
        return evl.depth
      case opExit:
        // Code that catches the exit and exits again had ended at the first one.
        evl.exitCode ??= a as number
        this.#reconsider(evl)
        return undefined
      case opImport:
      case opRequire:
      case opModuleCode:
      case opModuleText:
      case opModuleValue:
      case opResolve:
        return serveModules(resident, op, String(a), String(b), String(c))
      case opRestored:
        this.#afterRestore(evl)
        return undefined
      case opAsk:
        return this.#ask(evl, a as SyncOp, String(b), String(c), payload)
      case opWrite:
        return this.#queueWrite(evl, a as "atPut" | "removeKey" | "clear", String(b), payload)
      default:
        return undefined
    }
  }

  #pushOutput(evl: RunningEval): void {
    const now = performance.now()
    if (evl.prompt >= promptFlushesMax && now - this.#flushedAt < outputFlushMs) return
    evl.prompt += 1
    this.#flushedAt = now
    // In the same turn: the loop may not come round for a long time, and with a killed thread goes what it has not sent.
    evl.flush()
    this.#link.flush()
  }

  #setTimer(evl: RunningEval, id: number, ms: number): void {
    const repeats = ms < 0
    const run = (): void => {
      if (evl.hasEnded) return
      Atomics.store(this.#task.words, ENTERED, evl.root.message.seq)
      if (!repeats) evl.timers?.delete(id)
      evl.resident.realm.api.fireTimer(id)
      this.#reconsider(evl)
    }
    const handle = repeats ? setInterval(run, -ms) : setTimeout(run, ms)
    ;(evl.timers ??= new Map()).set(id, { handle: handle, repeats })
  }

  #clearTimer(evl: RunningEval, id: number): void {
    const timer = evl.timers?.get(id)
    if (timer === undefined) return
    clearTimeout(timer.handle)
    evl.timers?.delete(id)
    this.#reconsider(evl)
  }

  #onToolResult(result: FieldsOf<typeof toWorker.toolResult>): void {
    const { session, callId, ok, bytes, kind, message } = result
    const evl = this.#evalOfCall(session, callId)
    if (evl === undefined) return
    evl.toolCalls?.delete(callId)
    Atomics.store(this.#task.words, ENTERED, evl.root.message.seq)
    const { realm } = evl.resident
    this.#als.run(evl.message.seq, () => {
      if (bytes.length === 0) realm.api.settleTool(callId, false, undefined, undefined, kind, message)
      else {
        const { table, chunks } = realm.table(bytes)
        realm.api.settleTool(callId, ok, table, chunks, kind, message)
      }
    })
    this.#reconsider(evl)
  }

  #evalOfCall(session: string, callId: number): RunningEval | undefined {
    const isIts = (evl: RunningEval | undefined) =>
      evl?.message.session === session && evl.toolCalls?.has(callId) === true
    if (isIts(this.#current)) return this.#current
    for (const evl of this.#parked.values()) if (isIts(evl)) return evl
    return undefined
  }

  /** Hands a queued write to the shell and waits for its answer: undefined, or "kind: message". */
  #queueWrite(
    evl: RunningEval,
    op: "atPut" | "removeKey" | "clear",
    key: string,
    payload: unknown,
  ): string | undefined {
    const what = typeof payload === "string" ? payload : ""
    const bytes = op === "atPut" && what === "" ? packValue(payload as PackedInput) : nothing
    // What a nested eval queues is the outermost one's, and applies when that ends.
    const { root } = evl
    const { evalId, session } = root.message
    // Whatever ended before must have left before the shell hears of this eval.
    this.#link.flush()
    const { callId, reply } = this.#syncCalls.call({ session, evalId, op, key, what, bytes })
    if (reply === undefined) {
      // The shell may take the write yet: whatever ends this eval, it must not be applied behind the back of code that was refused.
      root.cancelled.push(callId)
      this.#task.port.postMessage({ callId, session, evalId, op: "cancel", key, what: "", bytes: nothing })
      return `session_unresponsive: The shell did not take the write within ${this.#task.syncCallTimeoutMs} ms.`
    }
    if (!reply.ok) return `${reply.kind}: ${reply.message}`
    root.queue.push({ op, key })
    return undefined
  }

  /** Asks the embedder's process about another session or a global: "=answer" or "!kind: message". Values are left with the realm. */
  #ask(evl: RunningEval, op: SyncOp, key: string, target: string, payload: unknown): string {
    const version = typeof payload === "number" ? payload : 0
    const bytes = typeof payload === "object" ? packValue(payload as PackedInput) : nothing
    const { evalId, session } = evl.root.message
    this.#link.flush()
    const { reply } = this.#syncCalls.call({ session, evalId, op, key, what: "", bytes, target, version })
    if (reply === undefined) {
      const wait = `within ${this.#task.syncCallTimeoutMs} ms`
      return isWrite(op)
        ? `!session_unresponsive: '${op}' was not confirmed by every host ${wait}; it may have been done.`
        : `!session_unresponsive: There was no answer ${wait}.`
    }
    if (!reply.ok) return `!${reply.kind}: ${reply.message}`
    if (reply.bytes !== undefined && reply.bytes.length > 0) {
      const { realm } = evl.resident
      const { table, chunks } = realm.table(reply.bytes)
      realm.api.deposit(table, chunks)
    }
    return `=${reply.message}`
  }

  // What nobody caught

  /** Something that code of an ended eval threw. */
  #sendStray(text: string): void {
    const ended = this.#ended.get(this.#als.getStore() ?? 0)
    if (ended !== undefined) this.#link.send("stray", { ...ended, text })
  }

  #catchStrays(): void {
    const blame = (error: unknown): void => {
      const seq = this.#als.getStore()
      const evl = this.#evalOfCode()
      if (evl !== undefined && !evl.hasEnded) return evl.resident.realm.api.uncaught(error)
      const ended = evl?.message ?? (seq === undefined ? undefined : this.#ended.get(seq))
      if (ended !== undefined) {
        const { session, evalId } = ended
        const text = this.#residents.get(session)?.realm.api.describeOther(error) ?? "its realm is gone"
        this.#link.send("stray", { session, evalId, text })
      } else if (seq === undefined) {
        // Outside every eval it is the worker's own fault: the thread dies of it, and its host says so.
        throw error
      }
    }
    process.on("uncaughtException", blame)
    process.on("unhandledRejection", blame)
  }
}

function isModuleCall(op: number): boolean {
  switch (op) {
    case opImport:
    case opRequire:
    case opModuleCode:
    case opModuleText:
    case opModuleValue:
    case opResolve:
    case opRestored:
      return true
    default:
      return false
  }
}

/** What a realm asks about modules, where its profile has any. */
function serveModules({ modules, realm }: Resident, op: number, a: string, b: string, c: string): string {
  const { capabilities } = realm
  if (!capabilities.hasNode) {
    const what = op === opImport ? "import" : "require"
    const message =
      `${denialText(what, "import", capabilities.name)} Open the session with profile "full", ` +
      "which has files, packages and Node's modules, or give what is needed as a tool."
    return `!${new ModuleProblem("capability_denied", message).text}`
  }
  switch (op) {
    case opImport:
      return modules.import(a, b)
    case opRequire:
      return modules.require(a, b)
    case opModuleCode:
      return modules.code(a)
    case opModuleText:
      return modules.json(a)
    case opModuleValue:
      return modules.value(a)
    default:
      return modules.resolve(a, b, c)
  }
}

function isWrite(op: SyncOp): boolean {
  return op === "bind" || op === "unbind" || op === "show"
}
