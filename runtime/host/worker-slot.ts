// One worker thread as the scheduler sees it: which evals it was given, which of them have begun, which are parked on it, and whose
// realms it holds.
//
// Evals are sent ahead (up to the pipeline's depth) so that a worker never waits for the embedder between two short ones. They begin in the
// order in which they were sent: the head has begun, those behind it have not, and `host.fence` can take them back.
import type { NestedEnded, WorkerOutcome } from "../wire/schema.ts"
import type { FieldsOf } from "../wire/schema.ts"
import type { fromWorker, toWorker } from "../wire/schema.ts"
import type { Host } from "./host.ts"
import type { WorkerLink, WorkerMessage } from "./listener.ts"

/** What the scheduler asks of a host. Simulations put a twin in its place. */
export type HostPort = Pick<Host, "id" | "kind" | "pid" | "grow" | "interrupt" | "fence" | "kill" | "stop" | "isDead">
/** What it asks of a worker's connection. */
export type WorkerPort = Pick<WorkerLink, "send" | "receive" | "close" | "abort">

export type EvalRequest = FieldsOf<typeof toWorker.eval>
export type ToolCall = FieldsOf<typeof fromWorker.toolCall>
export type OutputMessage = FieldsOf<typeof fromWorker.output>

/** A session as far as placement is concerned. Owned by its shell; the scheduler keeps `worker` and `commit` true. */
export interface Tenant {
  readonly session: string
  /** Hosts are never shared between groups: one per workspace and profile, or a session's own. */
  readonly group: string
  worker: WorkerSlot | undefined
  /** The commit that the realm on `worker` holds. */
  commit: number
  /** The realm holds values that nothing else does: it is moved and evicted last. */
  holdsEphemerals: boolean
  /** Evals that must still end by themselves before the session computes beside parked neighbours again. */
  apart: number
  usedAt: number
  /** The realm is gone; what only it held is lost. */
  onRealmLost(reason: string): void
}

/** One eval on its way. The scheduler calls exactly one of `onOutcome`, `onStopped` and `onLost`, once. */
export interface Job {
  readonly evalId: string
  readonly tenant: Tenant
  /** Milliseconds it may take from when it begins. */
  readonly timeoutMs: number | undefined
  /** The message that starts it; with the checkpoint unless the worker holds a realm of the session at its present commit. */
  request(seq: number, isResident: boolean): EvalRequest
  /** Nothing that it did has reached anyone: no output, tool call or queued write. */
  isUnseen(): boolean
  onBegun(): void
  onParked(): void
  onOutput(output: OutputMessage): void
  onToolCall(call: ToolCall): void
  /** An eval that ran inside of it has ended; only of jobs that asked for one. */
  onNestedEnded?(message: NestedEnded): void
  onOutcome(outcome: WorkerOutcome): void
  /** It was stopped on request, by what it took: "settled", "abandoned" (settled without the worker), or "terminated". */
  onStopped(how: "interrupted" | "timeout", by: string): void
  /** Its worker died under it. */
  onLost(because: string): void
}

/** A job with what the scheduler knows of it. */
export interface Dispatched {
  readonly job: Job
  /** Its job has been told how it ended; it keeps its place here until its worker has let go of it. */
  isOrphan: boolean
  readonly seq: number
  /** It was sent with a checkpoint: until it begins, the worker does not hold the session. */
  readonly builds: boolean
  begunAt: number
  deadlineAt: number
  /** Milliseconds it had left when it could go on but for the neighbour that computes; its clock stands still meanwhile. */
  pausedMs: number | undefined
  stopping: "interrupted" | "timeout" | undefined
}

export interface WorkerSlotHandlers {
  onReady(worker: WorkerSlot): void
  /** It has room again: an eval ended or parked. */
  onRoom(worker: WorkerSlot): void
  /** The job must be placed again: nothing of it ran. */
  onReturned(job: Job): void
  onClosed(worker: WorkerSlot): void
  onStray(worker: WorkerSlot, session: string, evalId: string, text: string): void
  now(): number
}

export class WorkerSlot {
  readonly host: HostPort
  readonly index: number
  /** Sent and neither ended nor parked; the first one has begun. */
  readonly inFlight: Dispatched[] = []
  readonly parked = new Map<string, Dispatched>()
  /** Sessions whose realms live here, least recently used first. */
  readonly tenants = new Map<string, Tenant>()
  /** Jobs that can run nowhere else, because their realm holds ephemerals. */
  readonly waiting: Job[] = []
  state: "starting" | "ready" | "gone" = "starting"
  /** The head has computed so long that nothing more is put behind it. */
  isSlow = false
  /** Questions to its host that may end in the thread's death. */
  judgements = 0
  /** Cancels the deadline that runs against it: to report when it starts, to be explained when its connection has closed. */
  cancelDeadline: () => void = () => {}
  /** Fenced evals that the worker has not confirmed to have skipped. */
  readonly #revoked = new Set<number>()
  readonly #handlers: WorkerSlotHandlers
  #link: WorkerPort | undefined
  #seq = 0
  /** The eval that was sent last, 0 when something else was sent after it. */
  #lastSentSeq = 0
  /**
   * The eval that the thread had not read when its connection closed, 0 if none is known. The kernel tells: a Unix socket whose other end
   * closes with unread bytes is reset, and a write to a closed one fails.
   */
  unreadSeq = 0

  constructor(host: HostPort, index: number, handlers: WorkerSlotHandlers) {
    this.host = host
    this.index = index
    this.#handlers = handlers
  }

  /** The door through which the thread's own connection comes. */
  onConnected(link: WorkerPort): { onMessage(message: WorkerMessage): void; onClose(reason?: Error): void } {
    this.#link = link
    if (this.state === "starting") {
      this.state = "ready"
      this.cancelDeadline()
      this.#handlers.onReady(this)
    } else link.abort()
    return {
      onMessage: (message) => this.#onMessage(message),
      onClose: (reason) => {
        if (this.state === "gone") return
        const { code } = (reason ?? {}) as { code?: string }
        if (code === "ECONNRESET" || code === "EPIPE") this.unreadSeq = this.#lastSentSeq
        this.state = "gone"
        this.#handlers.onClosed(this)
      },
    }
  }

  get isRevoking(): boolean {
    return this.#revoked.size > 0
  }

  /** Jobs that are neither parked nor ended, that is what a new one would wait for. */
  get depth(): number {
    return this.inFlight.length
  }

  /** `isSuspect`: a worker has died with it in flight. */
  dispatch(job: Job, isSuspect = false): void {
    const { tenant } = job
    const seq = ++this.#seq
    if (tenant.worker !== this) tenant.worker?.evict(tenant)
    const request = job.request(seq, tenant.worker === this)
    if (isSuspect) request.isSuspect = true
    tenant.worker = this
    tenant.usedAt = this.#handlers.now()
    this.tenants.delete(tenant.session)
    this.tenants.set(tenant.session, tenant)
    const builds = request.checkpoint !== undefined
    const dispatched: Dispatched = {
      job,
      seq,
      builds,
      isOrphan: false,
      begunAt: 0,
      deadlineAt: Infinity,
      pausedMs: undefined,
      stopping: undefined,
    }
    try {
      // While it computes others it does not wait for this one: what comes meanwhile leaves in the same system call.
      this.#link!.send("eval", request, this.inFlight.length === 0)
    } catch (error) {
      // Its state is above what a frame may hold. That is this eval's end, and nobody else's: whoever called must go on.
      this.#disown(tenant)
      job.onLost(`unsendable: ${(error as Error).message}`)
      return
    }
    this.inFlight.push(dispatched)
    this.#lastSentSeq = seq
    if (this.inFlight.length === 1) this.#begin(dispatched)
  }

  settle(evalId: string, how: "interrupted" | "timeout"): void {
    this.#lastSentSeq = 0
    this.#link?.send("settle", { evalId, how })
  }

  sendToolResult(result: FieldsOf<typeof toWorker.toolResult>): void {
    this.#lastSentSeq = 0
    this.#link?.send("toolResult", result)
    // What it waited for has come: from now on it waits for whoever computes, and no limit of its own runs for that.
    if (this.inFlight.length === 0) return
    for (const parked of this.parked.values()) {
      if (parked.job.tenant.session === result.session && parked.deadlineAt !== Infinity) this.#pause(parked)
    }
  }

  sendNested(request: FieldsOf<typeof toWorker.nested>): void {
    this.#lastSentSeq = 0
    this.#link?.send("nested", request)
  }

  #pause(parked: Dispatched): void {
    parked.pausedMs = Math.max(0, parked.deadlineAt - this.#handlers.now())
    parked.deadlineAt = Infinity
  }

  #resume(): void {
    for (const parked of this.parked.values()) {
      if (parked.pausedMs === undefined) continue
      // One that is being stopped has no deadline any more.
      if (parked.stopping === undefined) parked.deadlineAt = this.#handlers.now() + parked.pausedMs
      parked.pausedMs = undefined
    }
  }

  /** Drops a session's realm. The caller has told the tenant. */
  evict(tenant: Tenant): void {
    if (tenant.worker !== this) return
    this.tenants.delete(tenant.session)
    tenant.worker = undefined
    this.#lastSentSeq = 0
    this.#link?.send("evict", { session: tenant.session })
  }

  /** Has dropped realms collected, when it next reads. */
  collect(): void {
    this.#link?.send("collect", {})
  }

  find(evalId: string): Dispatched | undefined {
    return this.parked.get(evalId) ?? this.inFlight.find((it) => it.job.evalId === evalId)
  }

  /** Frames of the worker that came by way of its host: outcomes that it could not send while it computed, or before it ended. */
  receive(frames: Uint8Array): void {
    this.#link?.receive(frames)
  }

  /**
   * How many of those in flight have begun, as far as can be known once the worker is gone. They begin in order, so have all up to `begun`
   * and up to the last one of which anything was seen. Where its host could say no more than that, the head has begun unless the thread
   * had not read it.
   */
  countBegun(begun: number, isExact: boolean): number {
    const [head] = this.inFlight
    const hasBegun = ({ seq, isOrphan, stopping, job }: Dispatched): boolean =>
      seq <= begun || (!isOrphan && (stopping !== undefined || !job.isUnseen()))
    const last = this.inFlight.findLastIndex(hasBegun)
    const isHeadLost = !isExact && head !== undefined && head.seq !== this.unreadSeq
    return Math.max(last + 1, isHeadLost ? 1 : 0)
  }

  /** Takes back what stands behind the head, so that it can run elsewhere. */
  async recallBehindHead(): Promise<void> {
    const behind = this.inFlight.slice(1)
    const [first, last] = [behind[0], behind.at(-1)]
    if (first === undefined || last === undefined || this.isRevoking) return
    for (const { seq } of behind) this.#revoked.add(seq)
    const begun = await this.host.fence(this.index, first.seq, last.seq)
    // A host that is gone takes the worker's link with it, which returns what has not begun.
    if (begun === undefined || this.state === "gone") return
    for (const dispatched of behind) {
      if (dispatched.seq <= begun) this.#revoked.delete(dispatched.seq)
      else if (this.inFlight.includes(dispatched)) this.#return(dispatched)
    }
    if (!this.isRevoking) this.#handlers.onRoom(this)
  }

  /** Ends the connection from this side; the thread's task then ends by itself. */
  close(): void {
    this.#link?.close()
  }

  /** Its worker has let go of it, or will: nothing of it ran. */
  #return(dispatched: Dispatched): void {
    const { job, stopping, isOrphan, builds } = dispatched
    const at = this.inFlight.indexOf(dispatched)
    this.inFlight.splice(at, 1)
    if (!isOrphan) {
      if (builds) this.#disown(job.tenant)
      if (stopping === undefined) this.#handlers.onReturned(job)
      else job.onStopped(stopping, "unbegun")
    }
    if (at === 0) this.#advance()
  }

  #disown(tenant: Tenant): void {
    if (tenant.worker !== this) return
    this.tenants.delete(tenant.session)
    tenant.worker = undefined
  }

  #begin(dispatched: Dispatched): void {
    dispatched.begunAt = this.#handlers.now()
    const { timeoutMs } = dispatched.job
    if (timeoutMs !== undefined && !dispatched.isOrphan) dispatched.deadlineAt = dispatched.begunAt + timeoutMs
    if (!dispatched.isOrphan) dispatched.job.onBegun()
  }

  /** The job that still waits for that eval. */
  #jobOf(evalId: string): Job | undefined {
    const dispatched = this.find(evalId)
    return dispatched === undefined || dispatched.isOrphan ? undefined : dispatched.job
  }

  /** The head has ended or parked: the next one begins. */
  #advance(): void {
    this.isSlow = false
    this.#resume()
    const head = this.inFlight[0]
    if (head !== undefined && head.begunAt === 0) this.#begin(head)
    this.#handlers.onRoom(this)
  }

  #take(evalId: string): Dispatched | undefined {
    const parked = this.parked.get(evalId)
    if (parked !== undefined) {
      this.parked.delete(evalId)
      return parked
    }
    const at = this.inFlight.findIndex((it) => it.job.evalId === evalId)
    return at === -1 ? undefined : this.inFlight.splice(at, 1)[0]
  }

  #onMessage(message: WorkerMessage): void {
    switch (message.type) {
      case "hello":
        break
      case "parked": {
        const dispatched = this.#take(message.evalId)
        if (dispatched === undefined) break
        this.parked.set(message.evalId, dispatched)
        if (!dispatched.isOrphan) dispatched.job.onParked()
        this.#advance()
        break
      }
      case "output":
        this.#jobOf(message.evalId)?.onOutput(message)
        break
      case "toolCall":
        this.#jobOf(message.evalId)?.onToolCall(message)
        break
      case "nestedEnded":
        this.#jobOf(message.evalId)?.onNestedEnded?.(message)
        break
      case "outcome": {
        const dispatched = this.#take(message.evalId)
        if (dispatched === undefined) break
        if (!dispatched.isOrphan) {
          if (!message.realmKept) this.#disown(dispatched.job.tenant)
          dispatched.job.onOutcome(message)
        }
        this.#advance()
        break
      }
      case "skipped": {
        this.#revoked.delete(message.seq)
        const dispatched = this.inFlight.find((it) => it.seq === message.seq)
        if (dispatched !== undefined) this.#return(dispatched)
        // Until the last one is confirmed nothing new was sent here.
        if (!this.isRevoking) this.#handlers.onRoom(this)
        break
      }
      case "missing": {
        // It no longer holds the realm that it was believed to hold; the next attempt carries the checkpoint.
        const dispatched = this.inFlight.find((it) => it.seq === message.seq)
        if (dispatched === undefined) break
        if (!dispatched.isOrphan) this.#disown(dispatched.job.tenant)
        this.#return(dispatched)
        break
      }
      case "stray":
        this.#handlers.onStray(this, message.session, message.evalId, message.text)
        break
    }
  }
}
