// A host and its worker threads in this process, on a virtual clock: what the scheduler sees of real ones, without running any code.
//
// An eval's source is a program: a list of steps that compute or park for so long, or do what user code can do to its thread or host. The
// fence is the real one, the messages are the real ones, and every message takes its time. What was sent before a death arrives
// before the close, as a kernel has it.
import type { HostEnd, LostWorker } from "../../runtime/host/host.ts"
import type { WorkerDoor } from "../../runtime/host/listener.ts"
import type { EvalRequest, HostPort, WorkerPort } from "../../runtime/host/worker-slot.ts"
import { BEGUN, ENTERED, allocateSharedWords, enter, raiseFence } from "../../runtime/wire/shared-memory.ts"
import type { fromWorker } from "../../runtime/wire/schema.ts"
import type { FieldsOf } from "../../runtime/wire/schema.ts"
import type { VirtualClock } from "./virtual-clock.ts"

/**
 * `compute` for so many milliseconds, or for ever; `park` until a timer fires; `native` as compute, but its thread cannot be stopped;
 * `die` ends the thread, `kill` the host, by its own fault.
 */
export type Step =
  | { do: "compute"; ms: number }
  | { do: "native"; ms: number }
  | { do: "park"; ms: number }
  | { do: "die" }
  | { do: "kill" }

export interface TwinWorld {
  readonly clock: VirtualClock
  readonly threadStopMs: number
  /** Milliseconds that the next message takes. */
  latencyMs(): number
  /** Called when a worker really begins an eval, with what its realm holds. */
  onBegun(evalId: string, host: TwinHost, realm: readonly string[]): void
  onExit(host: TwinHost, end: HostEnd): void
  onWorkerGone(host: TwinHost, worker: number, lost: LostWorker): void
  onFrames(host: TwinHost, worker: number, frames: Uint8Array): void
}

interface Evl {
  readonly request: EvalRequest
  readonly steps: Step[]
  isParked: boolean
  hasEnded: boolean
}

let hosts = 0

export class TwinHost implements HostPort {
  readonly id = `hst_${++hosts}`
  readonly pid = hosts
  readonly kind = ""
  readonly threads = new Map<number, TwinThread>()
  readonly world: TwinWorld
  isDead = false
  wasKilledFromOutside = false
  /** Nothing it is asked gets an answer any more. */
  isSilent = false

  constructor(world: TwinWorld) {
    this.world = world
  }

  grow(worker: number, _listener: unknown, door: WorkerDoor): void {
    const thread = new TwinThread(this, worker)
    this.threads.set(worker, thread)
    this.#later(() => {
      if (!thread.isGone) thread.connect(door)
    })
  }

  interrupt(worker: number, seq: number): ReturnType<HostPort["interrupt"]> {
    return this.#ask((answer) => {
      const thread = this.threads.get(worker)
      if (thread === undefined) return answer({ found: "gone", entered: 0 })
      const { turns } = thread
      this.world.clock.after(15, () => {
        const entered = Atomics.load(thread.words, ENTERED)
        if (thread.isGone) answer({ found: "gone", entered: 0 })
        else if (!thread.isComputing || thread.turns !== turns) answer({ found: "alive", entered })
        else if (entered !== seq) answer({ found: "behind", entered })
        else {
          answer({ found: "terminating", entered })
          thread.terminate("interrupted")
        }
      })
      return undefined
    })
  }

  async fence(worker: number, from: number, to: number): Promise<number | undefined> {
    const { found, entered } = await this.#ask((answer) => {
      const thread = this.threads.get(worker)
      answer({ found: "alive", entered: thread === undefined ? 0 : raiseFence(thread.words, from, to) })
    })
    return found === "gone" ? undefined : entered
  }

  kill(because: string): void {
    this.die({ because, worker: -1, entered: 0 })
  }

  async stop(): Promise<void> {
    this.die({ because: "stopped", worker: -1, entered: 0 })
  }

  /** Ends at once: its threads stop in the middle of whatever they do. */
  die(end: HostEnd): void {
    if (this.isDead) return
    this.isDead = true
    this.wasKilledFromOutside = end.entered === 0
    for (const thread of this.threads.values()) thread.close()
    for (const answer of this.#open) answer({ found: "gone", entered: 0 })
    // A host that ends by its own decision says first what its threads have left to say.
    const left = this.wasKilledFromOutside ? [] : Array.from(this.threads.values(), (it) => it.takeSoon())
    this.#later(() => {
      for (const tell of left) tell()
      this.world.onExit(this, end)
    })
  }

  readonly #open = new Set<(answer: { found: "gone"; entered: number }) => void>()

  #ask(
    look: (answer: (it: Awaited<ReturnType<HostPort["interrupt"]>>) => void) => void,
  ): ReturnType<HostPort["interrupt"]> {
    return new Promise((resolve) => {
      if (this.isDead) return resolve({ found: "gone", entered: 0 })
      this.#open.add(resolve)
      const cancel = this.world.clock.after(2_000, () => this.kill("unresponsive"))
      this.#later(() => {
        if (this.isDead || this.isSilent) return
        look((it) =>
          this.#later(() => {
            cancel()
            this.#open.delete(resolve)
            resolve(it)
          }),
        )
      })
    })
  }

  #later(callback: () => void): void {
    this.world.clock.after(this.world.latencyMs(), callback)
  }
}

/** A worker thread: one loop, which either computes or reads what has arrived. */
export class TwinThread implements WorkerPort {
  readonly host: TwinHost
  readonly index: number
  readonly words = allocateSharedWords()
  /** How often it was told to collect what had been dropped. */
  collections = 0
  readonly realms = new Map<string, { commit: number; log: readonly string[] }>()
  isComputing = false
  isGone = false
  turns = 0
  readonly #inbox: (() => void)[] = []
  /** Messages that the embedder has sent and this thread has not read. */
  #unread = 0
  readonly #queue: EvalRequest[] = []
  readonly #evals = new Map<string, Evl>()
  #isNative = false
  #isDying = false
  #receiver: ReturnType<WorkerDoor["onConnected"]> | undefined
  /** Outcomes that wait for company, and how often they have left. */
  #soon: (() => void)[] = []
  #emptied = 0
  readonly #relayed: (() => void)[][] = []
  readonly #arriving: (() => void)[] = []
  readonly #leaving: (() => void)[] = []
  #arrivesAt = 0
  #leavesAt = 0

  constructor(host: TwinHost, index: number) {
    this.host = host
    this.index = index
  }

  connect(door: WorkerDoor): void {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the scheduler's side asks for these three methods only
    this.#receiver = door.onConnected(this as never)
  }

  // What the embedder sends

  send(type: string, fields: unknown): void {
    const { clock } = this.host.world
    this.#unread += 1
    this.#arrivesAt = Math.max(this.#arrivesAt, clock.now() + this.host.world.latencyMs())
    this.#arriving.push(() => {
      if (this.isGone) return
      this.#inbox.push(() => {
        this.#unread -= 1
        this.#read(type, fields)
      })
      this.#turn()
    })
    // Whichever timer fires first takes the oldest: sums of fractions must not change an order.
    clock.after(this.#arrivesAt - clock.now(), () => this.#arriving.shift()!())
  }

  /** Frames that came by way of the host: their number stands for them. */
  receive(frames: Uint8Array): void {
    for (const tell of this.#relayed[frames[0]!]!) tell()
  }

  /** Takes what waits in the outbox; the function that is given brings it to the embedder, by way of the host. */
  takeSoon(): () => void {
    const number = this.#relayed.push(this.#empty()) - 1
    return () => this.host.world.onFrames(this.host, this.index, Uint8Array.of(number))
  }

  #empty(): (() => void)[] {
    const soon = this.#soon
    this.#soon = []
    this.#emptied += 1
    return soon
  }

  #flush(): void {
    for (const tell of this.#empty()) this.#deliver(tell)
  }

  abort(): void {
    this.close()
  }

  /** The connection ends; what was sent before arrives before that is known. */
  close(): void {
    if (this.isGone) return
    this.isGone = true
    // A socket that closes with unread bytes is reset.
    const reset = this.#unread > 0 ? Object.assign(new Error("reset"), { code: "ECONNRESET" }) : undefined
    this.#deliver(() => this.#receiver?.onClose(reset))
  }

  terminate(because: string): void {
    if (this.#isDying || this.isGone) return
    this.#isDying = true
    const entered = Atomics.load(this.words, ENTERED)
    const { clock, threadStopMs } = this.host.world
    if (this.#isNative) {
      clock.after(threadStopMs, () => this.host.die({ because: "native-code", worker: this.index, entered }))
      return
    }
    clock.after(2, () => this.#end(entered, because))
  }

  // Its loop

  #turn(): void {
    while (!this.isComputing && !this.isGone) {
      const next = this.#inbox.shift()
      if (next !== undefined) {
        next()
        this.turns += 1
      } else if (!this.#pump()) return
    }
  }

  #pump(): boolean {
    const [next] = this.#queue
    if (next === undefined || this.#soon.length >= (next.isSuspect ? 1 : 8)) this.#flush()
    const request = this.#queue.shift()
    if (request === undefined) return false
    const { seq, evalId } = request
    if (enter(this.words, seq)) this.#begin(request)
    else this.#say("skipped", { seq, evalId })
    return true
  }

  #read(type: string, fields: unknown): void {
    // oxlint-disable typescript/no-unsafe-type-assertion -- the sender's types say so
    if (type === "eval") this.#queue.push(fields as EvalRequest)
    else if (type === "collect") this.collections += 1
    else if (type === "evict") this.realms.delete((fields as { session: string }).session)
    else if (type === "settle") this.#settle(fields as { evalId: string; how: "interrupted" | "timeout" })
    // oxlint-enable typescript/no-unsafe-type-assertion
  }

  #begin(request: EvalRequest): void {
    const { session, evalId, commit, checkpoint, seq } = request
    if (checkpoint !== undefined) this.realms.set(session, { commit, log: checkpoint.tools })
    const realm = this.realms.get(session)
    if (realm?.commit !== commit) {
      this.#leave()
      return this.#say("missing", { seq, evalId })
    }
    this.host.world.onBegun(evalId, this.host, realm.log)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the simulation writes the programs
    const evl: Evl = { request, steps: JSON.parse(request.source) as Step[], isParked: false, hasEnded: false }
    this.#evals.set(evalId, evl)
    this.#step(evl)
    return undefined
  }

  #step(evl: Evl): void {
    if (evl.hasEnded) return
    Atomics.store(this.words, ENTERED, evl.request.seq)
    const step = evl.steps.shift()
    if (step === undefined) this.#finish(evl)
    else if (step.do === "die") this.#end(evl.request.seq, "out-of-memory")
    else if (step.do === "kill")
      this.host.die({ because: "out-of-memory", worker: this.index, entered: evl.request.seq })
    else if (step.do === "park") this.#park(evl, step.ms)
    else this.#compute(evl, step.ms, step.do === "native")
  }

  #compute(evl: Evl, ms: number, isNative: boolean): void {
    this.isComputing = true
    this.#isNative = isNative
    if (ms === Infinity) return
    this.host.world.clock.after(ms, () => {
      if (this.isGone) return
      this.isComputing = this.#isNative = false
      this.#step(evl)
      this.#turn()
    })
  }

  #park(evl: Evl, ms: number): void {
    this.#leave()
    if (!evl.isParked) this.#say("parked", { evalId: evl.request.evalId })
    evl.isParked = true
    if (ms === Infinity) return
    this.host.world.clock.after(ms, () => {
      if (this.isGone) return
      this.#inbox.push(() => this.#step(evl))
      this.#turn()
    })
  }

  #finish(evl: Evl): void {
    const { request } = evl
    const realm = this.realms.get(request.session)
    const log = [...(realm?.log ?? []), request.evalId]
    this.realms.set(request.session, { commit: request.commit + 1, log })
    this.#outcome(evl, "ok", true)
  }

  #settle({ evalId, how }: { evalId: string; how: "interrupted" | "timeout" }): void {
    const queued = this.#queue.findIndex((it) => it.evalId === evalId)
    for (const { seq } of queued === -1 ? [] : this.#queue.splice(queued, 1)) this.#say("skipped", { seq, evalId })
    const evl = this.#evals.get(evalId)
    if (evl === undefined || evl.hasEnded) return
    this.realms.delete(evl.request.session)
    this.#outcome(evl, how, false)
  }

  /** One that another eval of its session waits for takes all before it along. */
  #outcome(evl: Evl, status: "ok" | "interrupted" | "timeout", realmKept: boolean): void {
    const { seq, evalId } = evl.request
    evl.hasEnded = true
    this.#evals.delete(evalId)
    this.#leave()
    this.#say("outcome", {
      seq,
      evalId,
      status,
      text: "",
      inert: true,
      valueType: "undefined",
      plain: undefined,
      isPlain: false,
      rejected: [],
      queued: 0,
      omittedBytes: 0,
      abandoned: [],
      realmKept,
      times: [],
    })
    if (evl.request.isAwaited === true) this.#flush()
  }

  #leave(): void {
    Atomics.store(this.words, ENTERED, 0)
  }

  #end(entered: number, because: string): void {
    if (this.isGone) return
    const { world } = this.host
    this.close()
    const begun = Atomics.load(this.words, BEGUN)
    const tell = this.takeSoon()
    world.clock.after(world.latencyMs(), () => {
      if (this.host.isDead) return
      tell()
      world.onWorkerGone(this.host, this.index, { entered, begun, because })
    })
  }

  #say<K extends keyof typeof fromWorker>(type: K, fields: FieldsOf<(typeof fromWorker)[K]>): void {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a message is its type and its fields
    const tell = (): void => this.#receiver?.onMessage({ type, ...fields } as never)
    if (type === "outcome" && this.#queue.length > 0) {
      if (this.#soon.push(tell) === 1) this.#awaitRescue()
      return
    }
    this.#flush()
    this.#deliver(tell)
  }

  /** The host looks in every 20 ms and relays what it has seen waiting before. */
  #awaitRescue(): void {
    const { clock } = this.host.world
    const emptied = this.#emptied
    clock.after(40, () => {
      if (this.#emptied !== emptied || this.host.isDead || this.host.isSilent) return
      this.takeSoon()()
    })
  }

  /** In order, however long each takes. */
  #deliver(callback: () => void): void {
    const { clock } = this.host.world
    this.#leavesAt = Math.max(this.#leavesAt, clock.now() + this.host.world.latencyMs())
    this.#leaving.push(callback)
    clock.after(this.#leavesAt - clock.now(), () => this.#leaving.shift()!())
  }
}
