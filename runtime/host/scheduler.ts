// Decides where and when evals run, and how one that must stop is stopped.
//
// A worker computes one eval at a time. An eval goes to the worker that holds its session's realm when that one is free, else to the
// least busy one, where the realm is rebuilt. While another host is idle a host gets one computing eval, since a runaway takes the whole
// host. An eval that computes longer than a moment gets nothing more put behind it, and what stands there already is taken back.
//
// Nothing here believes a clock alone: before anyone is judged by a deadline the loop has read once more, so that a blocked embedder
// never kills healthy hosts, and whether an eval computes or is parked behind a neighbour is asked of the host, which can see.
import type { Clock } from "../clock.ts"
import { NacreError } from "../errors.ts"
import type { HostOptions, Limits } from "../options.ts"
import type { HostEnd, LostWorker } from "./host.ts"
import type { Listener } from "./listener.ts"
import { WorkerSlot } from "./worker-slot.ts"
import type { Dispatched, HostPort, Job, Tenant, WorkerSlotHandlers } from "./worker-slot.ts"

/**
 * Evals sent ahead to one worker. Half of them hide the round trip behind work; it is filled up again when half have ended, since the
 * messages of one turn leave in one system call, which costs as much as all the rest of sending. More would only make recalls larger.
 */
const pipelineDepth = 16
const refillDepth = pipelineDepth / 2
/** Milliseconds of computing after which nothing more is put behind an eval, and what stands there is taken back. */
const slowMs = 20
/** Milliseconds of computing after which an eval counts as one that blocks its thread: another thread may then be started. */
const blockingMs = 100
/** Evals that wait for one worker while another is idle, from which on some move: a rebuild costs as much as fifty short evals. */
const stealFrom = 64
/** Time between looks at deadlines and slow evals, while any eval is under way. */
const sweepMs = 10
/** How long a stopped eval's worker may take to settle it once its loop is known to turn. */
const settleMs = 1_000
/** Evals a session computes apart from parked neighbours after one had to be killed. */
const apartEvals = 10
/** Workers that may die before an eval has begun, until it ends as lost itself: hosts that cannot be kept must not hold it for ever. */
const returnsMax = 16
/** Share of a host's memory limit above which half of its idle realms are dropped. */
const crampedShare = 0.6
/** How long a host has to collect what it dropped before, until half of its realms are dropped besides. */
const collectionMs = 1_500
/** And how long until half of the rest follows. */
const reliefMs = 5_000
/** Share above which it gets no new work and is replaced once it is idle. */
const fullShare = 0.8

/** Of hosts that are on their way out; no workspace has that name. */
const retiredGroup = "/retired"

export interface SchedulerHandlers {
  /** More hosts are wanted than there are; `wantedKind` says of which kind. */
  onHostWanted(): void
  /** The host is not needed any more, or must be replaced by a fresh one: it is to be stopped. */
  onHostRetired(host: HostPort): void
  onStray(group: string, session: string, evalId: string, text: string): void
}

interface HostSlot {
  readonly host: HostPort
  /** The group it serves; undefined while it is a spare. */
  group: string | undefined
  readonly workers: WorkerSlot[]
  nextWorker: number
  isFull: boolean
  /** When it was told to collect what it dropped, since it is short of memory. */
  collectedAt: number
  /** When half of its realms were last dropped for want of memory. */
  relievedAt: number
  end: HostEnd | undefined
  /** What the host said of lost threads, by worker index. */
  readonly gone: Map<number, LostWorker>
}

export class Scheduler {
  readonly #clock: Clock
  readonly #limits: Limits
  readonly #options: HostOptions
  readonly #listener: Listener
  readonly #handlers: SchedulerHandlers
  readonly #mainGroup: string
  readonly #kindOf: (group: string) => string
  readonly #hosts = new Map<HostPort, HostSlot>()
  readonly #ready = new Set<Job>()
  /** Groups that have no host with room; the next ones that come are theirs. */
  readonly #wanting = new Set<string>()
  readonly #repeated = new WeakSet<Job>()
  /** How often a job's worker died before it had begun. */
  readonly #returns = new WeakMap<Job, number>()
  readonly #slotHandlers: WorkerSlotHandlers
  #cancelSweep: (() => void) | undefined
  #sweptAt = 0
  #isPumping = false

  constructor(
    context: {
      clock: Clock
      limits: Limits
      hosts: HostOptions
      listener: Listener
      mainGroup: string
      /** The kind of host that serves a group; by default there is one. */
      kindOf?: (group: string) => string
    },
    handlers: SchedulerHandlers,
  ) {
    this.#clock = context.clock
    this.#limits = context.limits
    this.#options = context.hosts
    this.#listener = context.listener
    this.#mainGroup = context.mainGroup
    this.#kindOf = context.kindOf ?? (() => "")
    this.#handlers = handlers
    this.#slotHandlers = {
      onReady: () => this.#pump(),
      onRoom: (worker) => this.#onRoom(worker),
      onReturned: (job) => this.#resubmit(job),
      onClosed: (worker) => this.#onWorkerClosed(worker),
      onStray: (worker, session, evalId, text) =>
        this.#handlers.onStray(this.#hosts.get(worker.host)?.group ?? this.#mainGroup, session, evalId, text),
      now: () => this.#clock.now(),
    }
  }

  // Hosts

  addHost(host: HostPort): void {
    const slot: HostSlot = {
      host,
      group: undefined,
      workers: [],
      nextWorker: 0,
      isFull: false,
      collectedAt: -Infinity,
      relievedAt: -Infinity,
      end: undefined,
      gone: new Map(),
    }
    this.#hosts.set(host, slot)
    // A spare has its thread ready too: that is what makes it warm.
    this.#grow(slot)
    const isMain = this.#fits(slot, this.#mainGroup)
    if (isMain && this.#hostsOf(this.#mainGroup).length < this.#options.min) slot.group = this.#mainGroup
    else {
      for (const group of this.#wanting) {
        if (!this.#fits(slot, group)) continue
        slot.group = group
        this.#wanting.delete(group)
        // It would have been the spare, so another is wanted.
        this.#handlers.onHostWanted()
        break
      }
    }
    // What others wait for may have waited for this start.
    if (this.#wanting.size > 0) this.#handlers.onHostWanted()
    this.#pump()
  }

  /** What a worker had to say and could not send itself. */
  onFrames(host: HostPort, worker: number, frames: Uint8Array): void {
    this.#hosts
      .get(host)
      ?.workers.find((it) => it.index === worker)
      ?.receive(frames)
  }

  onWorkerGone(host: HostPort, worker: number, lost: LostWorker): void {
    const slot = this.#hosts.get(host)
    if (slot === undefined) return
    slot.gone.set(worker, lost)
    const found = slot.workers.find((it) => it.index === worker)
    if (found === undefined || found.state === "starting") this.#forgetWorker(slot, worker)
    else if (found.state === "gone") this.#workerLost(slot, found)
  }

  onMemory(host: HostPort, rssBytes: number): void {
    const slot = this.#hosts.get(host)
    if (slot === undefined) return
    const share = rssBytes / this.#options.memoryBytesMax
    slot.isFull = share > fullShare
    if (share <= crampedShare) slot.collectedAt = slot.relievedAt = -Infinity
    else this.#relieve(slot)
    if (slot.isFull) this.#recycleIfIdle(slot)
  }

  onHostExit(host: HostPort, end: HostEnd): void {
    const slot = this.#hosts.get(host)
    if (slot === undefined) return
    slot.end = end
    for (const worker of slot.workers.slice()) {
      if (worker.state === "gone") this.#workerLost(slot, worker)
      else if (worker.state === "starting") this.#forgetWorker(slot, worker.index)
      // A ready one is closed by the kernel; what it wrote before is read first.
    }
    this.#dropHostIfEmpty(slot)
    const promoted = slot.group === this.#mainGroup ? this.#takeSpare(this.#mainGroup) : undefined
    if (promoted === undefined) this.#handlers.onHostWanted()
    this.#pump()
  }

  get hostCount(): number {
    return this.#hosts.size
  }

  /** The group that a host serves, once it serves one: that never changes, since code of one must not meet what another left. */
  groupOf(host: HostPort): string | undefined {
    return this.#hosts.get(host)?.group
  }

  /**
   * No more hosts may be started, and a group waits for its first: an idle host of another one is given up for it. The main group keeps
   * its minimum; what only the realms of that host hold is lost and named.
   */
  reclaim(): void {
    if (this.#wanting.size === 0) return
    let idlest: HostSlot | undefined
    for (const slot of this.#hosts.values()) {
      if (slot.group === undefined || slot.end !== undefined || this.#wanting.has(slot.group)) continue
      if (slot.group === this.#mainGroup && this.#hostsOf(slot.group).length <= this.#options.min) continue
      if (slot.workers.some((worker) => worker.depth > 0 || worker.parked.size > 0 || worker.waiting.length > 0))
        continue
      if (idlest === undefined || usedAt(slot) < usedAt(idlest)) idlest = slot
    }
    if (idlest === undefined) return
    for (const worker of idlest.workers) {
      for (const tenant of Array.from(worker.tenants.values())) this.evict(tenant, "its host was needed elsewhere")
    }
    this.#retire(idlest)
  }

  /** The kind of host to start next: one that a group waits for, else that of a missing spare; `undefined` when there is enough. */
  get wantedKind(): string | undefined {
    for (const group of this.#wanting) if (!this.#hasSpare(group)) return this.#kindOf(group)
    return this.hasSpare ? undefined : this.#kindOf(this.#mainGroup)
  }

  /** Spares that no group which waits can use: they are beside the maximum. */
  get idleSpares(): number {
    let count = 0
    for (const slot of this.#hosts.values()) if (slot.group === undefined && slot.end === undefined) count += 1
    return count
  }

  /** Whether one stands ready for the main group. */
  get hasSpare(): boolean {
    return this.#hasSpare(this.#mainGroup)
  }

  #hasSpare(group: string): boolean {
    for (const slot of this.#hosts.values()) {
      if (slot.group === undefined && slot.end === undefined && this.#fits(slot, group)) return true
    }
    return false
  }

  /** Whether the process is of the kind that the group needs. */
  #fits({ host }: HostSlot, group: string): boolean {
    return this.#kindOf(group) === host.kind
  }

  /** Nothing more will come for that group: its hosts go. */
  retireGroup(group: string): void {
    this.#wanting.delete(group)
    for (const slot of this.#hostsOf(group)) this.#retire(slot)
  }

  /** Nothing more is placed on it: who opens the group again meanwhile gets another host. */
  #retire(slot: HostSlot): void {
    slot.group = retiredGroup
    this.#handlers.onHostRetired(slot.host)
  }

  /** What runs where, for trees and tests. */
  describe(): {
    host: HostPort
    group: string | undefined
    workers: { index: number; isReady: boolean; inFlight: number; parked: number; residents: number }[]
  }[] {
    return Array.from(this.#hosts.values(), ({ host, group, workers }) => ({
      host,
      group,
      workers: workers.map((worker) => ({
        index: worker.index,
        isReady: worker.state === "ready",
        inFlight: worker.depth,
        parked: worker.parked.size,
        residents: worker.tenants.size,
      })),
    }))
  }

  // Evals

  /** Accepts a job, to be placed as soon as there is room. Throws `overloaded` when every host is at its memory limit. */
  submit(job: Job): void {
    const hosts = this.#hostsOf(job.tenant.group)
    if (hosts.length >= this.#options.max && hosts.every((slot) => slot.isFull)) {
      throw new NacreError(
        "overloaded",
        "Every host is at its memory limit; retry later, or raise hosts.max or memoryBytesMax.",
      )
    }
    this.#ready.add(job)
    this.#pump()
  }

  /**
   * Stops an eval, in whatever state it is. Its job gets `onStopped`, `onOutcome` (when it ended by itself first) or `onLost`. A job that
   * has not begun ends at once; a parked one at once; a computing one with its thread; one in native code with its host.
   */
  stop(job: Job, how: "interrupted" | "timeout"): void {
    if (this.#ready.delete(job)) return job.onStopped(how, "unbegun")
    const worker = job.tenant.worker
    const waitingAt = worker?.waiting.indexOf(job) ?? -1
    if (worker !== undefined && waitingAt !== -1) {
      worker.waiting.splice(waitingAt, 1)
      return job.onStopped(how, "unbegun")
    }
    const dispatched = worker?.find(job.evalId)
    if (worker === undefined || dispatched === undefined || dispatched.stopping !== undefined) return
    dispatched.stopping = how
    if (dispatched.begunAt === 0) this.#abandon(worker, dispatched, "unbegun")
    else worker.settle(job.evalId, how)
    void this.#pursue(worker, dispatched)
  }

  evict(tenant: Tenant, reason: string): void {
    const { worker } = tenant
    if (worker === undefined) return
    worker.evict(tenant)
    tenant.onRealmLost(reason)
  }

  /** Drops the realms of sessions that have not computed since `usedBefore`, unless they hold what would be lost. */
  evictIdle(usedBefore: number): void {
    for (const worker of this.#workers()) {
      for (const tenant of worker.tenants.values()) {
        if (tenant.usedAt >= usedBefore) break
        if (!tenant.holdsEphemerals && !isBusy(worker, tenant)) this.evict(tenant, "the session was idle")
      }
    }
  }

  dispose(): void {
    for (const worker of this.#workers()) worker.cancelDeadline()
    this.#cancelSweep?.()
    this.#cancelSweep = undefined
  }

  // Placement

  #pump(): void {
    if (this.#isPumping) return
    this.#isPumping = true
    let isMainFull = false
    try {
      for (const job of this.#ready) {
        // Other groups, and sessions apart, have workers of their own to wait for.
        if (isMainFull && job.tenant.group === this.#mainGroup && job.tenant.apart === 0) continue
        const placed = this.#place(job)
        if (placed === "no-room") isMainFull = true
        else if (placed === "placed") this.#ready.delete(job)
      }
    } finally {
      this.#isPumping = false
    }
    if (this.#cancelSweep === undefined && this.#isAnythingUnderWay()) this.#scheduleSweep()
  }

  /** "no-room": nothing else of the main group can be placed either. "later": only this one cannot. */
  #place(job: Job): "placed" | "no-room" | "later" {
    const { tenant } = job
    const home = tenant.worker
    if (home !== undefined && home.state === "ready" && !home.host.isDead) {
      const isNext = home.waiting.length === 0 && this.#hasRoom(home)
      if (isNext && (tenant.apart === 0 || isAlone(home))) return this.#dispatch(home, job)
      // Waiting for a short while is cheaper than a rebuild, and what only the realm holds cannot move at all.
      if (tenant.holdsEphemerals || (tenant.apart === 0 && !home.isSlow)) {
        home.waiting.push(job)
        if (home.waiting.length >= stealFrom) this.#offer(tenant.group)
        return "placed"
      }
    }
    const best = tenant.apart > 0 ? this.#loneliest(tenant.group) : this.#leastBusy(tenant.group)
    if (best !== undefined) return this.#dispatch(best, job)
    this.#wantRoom(tenant.group)
    return tenant.apart > 0 || tenant.group !== this.#mainGroup ? "later" : "no-room"
  }

  #dispatch(worker: WorkerSlot, job: Job): "placed" {
    const { tenant } = job
    if (tenant.worker !== worker && worker.tenants.size >= this.#limits.residentsPerWorkerMax) this.#makeSpace(worker)
    this.#send(worker, job)
    return "placed"
  }

  #send(worker: WorkerSlot, job: Job): void {
    worker.dispatch(job, this.#returns.has(job))
  }

  #hasRoom(worker: WorkerSlot): boolean {
    const isUsable = worker.state === "ready" && !worker.host.isDead
    return isUsable && worker.depth < pipelineDepth && !worker.isSlow && !worker.isRevoking && worker.judgements === 0
  }

  #leastBusy(group: string): WorkerSlot | undefined {
    let best: WorkerSlot | undefined
    let bestScore = Infinity
    for (const slot of this.#hosts.values()) {
      if (slot.group !== group || slot.isFull) continue
      let computing = 0
      for (const worker of slot.workers) computing += worker.depth
      for (const worker of slot.workers) {
        if (!this.#hasRoom(worker)) continue
        // An idle host first, then an idle thread, then few parked neighbours, then few residents: sessions stay where they are built, so
        // those that come one after another must not all be built on the first host.
        const score =
          computing * 1_000_000 + worker.depth * 1_000 + worker.parked.size + worker.tenants.size / 1_000_000
        if (score < bestScore) [best, bestScore] = [worker, score]
      }
    }
    if (best !== undefined && best.parked.size >= this.#limits.parkedPerWorker) this.#wantRoom(group)
    return best
  }

  /** A worker with no neighbour at all, on an idle host if there is one: for a session whose last eval had to be killed. */
  #loneliest(group: string): WorkerSlot | undefined {
    let best: WorkerSlot | undefined
    let fewest = Infinity
    for (const slot of this.#hosts.values()) {
      if (slot.group !== group) continue
      let computing = 0
      for (const worker of slot.workers) computing += worker.depth
      if (computing >= fewest) continue
      const lonely = slot.workers.find((it) => this.#hasRoom(it) && it.depth === 0 && it.parked.size === 0)
      if (lonely !== undefined) [best, fewest] = [lonely, computing]
    }
    return best
  }

  /** Starts one more thread, or asks for one more host, unless one is already on its way. */
  #wantRoom(group: string): void {
    const hosts = this.#hostsOf(group)
    if (hosts.every((slot) => slot.isFull)) {
      if (this.#takeSpare(group) !== undefined) return
      this.#wanting.add(group)
      this.#handlers.onHostWanted()
      return
    }
    if (hosts.some((slot) => slot.workers.some((worker) => worker.state === "starting"))) return
    // Depth alone is load, not need: only where every thread is blocked by a long eval or has parked ones does one more help.
    const now = this.#clock.now()
    const crowded = hosts.every((slot) =>
      slot.workers.every((worker) => worker.parked.size > 0 || now - (worker.inFlight[0]?.begunAt ?? now) > blockingMs),
    )
    if (!crowded) return
    let fewest: HostSlot | undefined
    for (const slot of hosts) {
      if (slot.isFull || slot.workers.length >= this.#options.threadsPerHostMax) continue
      if (fewest === undefined || slot.workers.length < fewest.workers.length) fewest = slot
    }
    if (fewest !== undefined) this.#grow(fewest)
  }

  #makeSpace(worker: WorkerSlot): void {
    let last: Tenant | undefined
    for (const tenant of worker.tenants.values()) {
      if (isBusy(worker, tenant)) continue
      if (!tenant.holdsEphemerals) return this.evict(tenant, "its worker had too many residents")
      last ??= tenant
    }
    // Only realms that hold something are left: the least recently used one goes, and says what it loses.
    if (last !== undefined) this.evict(last, "its worker had too many residents")
  }

  /** Of a busy host's memory most is what has been dropped already: realms that are in use go only when that is not enough. */
  #relieve(slot: HostSlot): void {
    const now = this.#clock.now()
    if (slot.collectedAt === -Infinity) {
      slot.collectedAt = now
      for (const worker of slot.workers) worker.collect()
    } else if (now - slot.collectedAt >= collectionMs && now - slot.relievedAt >= reliefMs) {
      slot.relievedAt = now
      this.#evictHalf(slot)
    }
  }

  #evictHalf(slot: HostSlot): void {
    for (const worker of slot.workers) {
      let count = Math.ceil(worker.tenants.size / 2)
      for (const tenant of Array.from(worker.tenants.values())) {
        if (count-- === 0) break
        if (!tenant.holdsEphemerals && !isBusy(worker, tenant)) this.evict(tenant, "its host was short of memory")
      }
      worker.collect()
    }
  }

  #grow(slot: HostSlot): void {
    const index = slot.nextWorker++
    const worker = new WorkerSlot(slot.host, index, this.#slotHandlers)
    slot.workers.push(worker)
    slot.host.grow(index, this.#listener, worker)
    worker.cancelDeadline = this.#clock.after(this.#limits.hostStartTimeoutMs, () => {
      // A thread that never reports means a host whose pool no longer starts any.
      if (worker.state === "starting" && this.#hosts.has(slot.host)) slot.host.kill("thread-start-timeout")
    })
  }

  #takeSpare(group: string): HostSlot | undefined {
    for (const slot of this.#hosts.values()) {
      if (slot.group !== undefined || slot.end !== undefined || !this.#fits(slot, group)) continue
      slot.group = group
      // The spare that went must be replaced.
      this.#handlers.onHostWanted()
      return slot
    }
    return undefined
  }

  #onRoom(worker: WorkerSlot): void {
    if (worker.depth <= refillDepth) {
      while (worker.waiting.length > 0 && this.#hasRoom(worker)) this.#send(worker, worker.waiting.shift()!)
      if (this.#ready.size > 0) this.#pump()
    }
    if (worker.depth === 0) this.#steal(worker)
    const slot = this.#hosts.get(worker.host)
    if (slot?.isFull) this.#recycleIfIdle(slot)
    else if (this.#wanting.size > 0 && worker.depth === 0) this.#handlers.onHostWanted()
  }

  /** Much waits for one worker: an idle one of the group takes some, also one that never had work. */
  #offer(group: string): void {
    for (const slot of this.#hosts.values()) {
      if (slot.group !== group) continue
      for (const worker of slot.workers) if (worker.depth === 0 && this.#hasRoom(worker)) return this.#steal(worker)
    }
  }

  /** An idle worker takes half of what waits for the busiest one of its group, when that is much. */
  #steal(idle: WorkerSlot): void {
    const slot = this.#hosts.get(idle.host)
    if (slot === undefined || slot.isFull || !this.#hasRoom(idle)) return
    let busiest: WorkerSlot | undefined
    for (const other of this.#hosts.values()) {
      if (other.group !== slot.group) continue
      for (const worker of other.workers) {
        if (worker.waiting.length >= (busiest?.waiting.length ?? stealFrom)) busiest = worker
      }
    }
    if (busiest === undefined) return
    const kept: Job[] = []
    const moved: Job[] = []
    for (const job of busiest.waiting) {
      if (job.tenant.holdsEphemerals || moved.length >= busiest.waiting.length / 2) kept.push(job)
      else moved.push(job)
    }
    busiest.waiting.splice(0, busiest.waiting.length, ...kept)
    for (const job of moved) {
      job.tenant.worker?.evict(job.tenant)
      this.#ready.add(job)
    }
    this.#pump()
  }

  #resubmit(job: Job): void {
    // In front of the others: it has waited longest.
    const waiting = [...this.#ready]
    this.#ready.clear()
    this.#ready.add(job)
    for (const other of waiting) this.#ready.add(other)
    queueMicrotask(() => this.#pump())
  }

  #recycleIfIdle(slot: HostSlot): void {
    if (slot.end !== undefined || slot.workers.some((worker) => worker.depth > 0 || worker.parked.size > 0)) return
    for (const worker of slot.workers) {
      for (const tenant of Array.from(worker.tenants.values())) this.evict(tenant, "its host was at its memory limit")
    }
    this.#handlers.onHostRetired(slot.host)
  }

  // Deadlines

  #scheduleSweep(): void {
    this.#sweptAt = this.#clock.now()
    this.#cancelSweep = this.#clock.after(sweepMs, () => this.#sweep())
  }

  #sweep(): void {
    const now = this.#clock.now()
    const wasBlocked = now - this.#sweptAt > 5 * sweepMs
    this.#cancelSweep = undefined
    if (!this.#isAnythingUnderWay()) return
    this.#scheduleSweep()
    // This process was busy: what the workers said meanwhile is still unread. The next sweep judges.
    if (wasBlocked) return
    for (const worker of this.#workers()) {
      const head = worker.inFlight[0]
      if (head !== undefined && now - head.begunAt > slowMs) {
        worker.isSlow = true
        if (worker.inFlight.length > 1) void worker.recallBehindHead()
        this.#releaseWaiting(worker)
      }
      if (head !== undefined && now > head.deadlineAt) this.#expire(head)
      for (const parked of worker.parked.values()) if (now > parked.deadlineAt) this.#expire(parked)
    }
    if (this.#ready.size > 0) this.#pump()
  }

  /** Nobody waits behind a slow eval but those who must. */
  #releaseWaiting(worker: WorkerSlot): void {
    const kept: Job[] = []
    for (const job of worker.waiting) {
      if (job.tenant.holdsEphemerals) kept.push(job)
      else this.#ready.add(job)
    }
    worker.waiting.splice(0, worker.waiting.length, ...kept)
  }

  #expire(dispatched: Dispatched): void {
    dispatched.deadlineAt = Infinity
    this.stop(dispatched.job, "timeout")
  }

  #isAnythingUnderWay(): boolean {
    if (this.#ready.size > 0) return true
    for (const worker of this.#workers()) if (worker.depth > 0 || worker.parked.size > 0) return true
    return false
  }

  /** Climbs the ladder until the eval has ended: its worker settles it, or it is settled for it, or its thread or host is ended. */
  async #pursue(worker: WorkerSlot, dispatched: Dispatched): Promise<void> {
    const isOpen = () => worker.find(dispatched.job.evalId) === dispatched
    let attempts = 0
    while (isOpen()) {
      // It may settle the eval in the very moment in which its host decides to end it: until that is known, nothing new is sent to it.
      worker.judgements += 1
      const { found } = await worker.host.interrupt(worker.index, dispatched.seq)
      // A thread that is being ended takes nothing more.
      if (found === "terminating") return
      worker.judgements -= 1
      if (!isOpen()) {
        if (worker.state === "ready") this.#onRoom(worker)
        return
      }
      if (found === "behind") {
        if (!dispatched.isOrphan) this.#abandon(worker, dispatched, "abandoned")
        // Once its turn comes it must not compute for nobody.
        await new Promise<void>((resolve) => this.#clock.after(settleMs / 2, resolve))
        continue
      }
      // The worker's link closes once the thread or the host has ended, and that settles it.
      if (found !== "alive") return
      attempts += 1
      if (attempts > 3) {
        worker.host.kill("unresponsive")
        return
      }
      await new Promise<void>((resolve) => this.#clock.after(attempts === 1 ? 20 : settleMs / 2, resolve))
    }
  }

  /**
   * Ends an eval without its worker, which stands still in a neighbour or has the eval still before it. Until the worker has read of it,
   * the eval may begin or go on all the same, so it is still pursued. Its realm is dropped when the worker reads again.
   */
  #abandon(worker: WorkerSlot, dispatched: Dispatched, by: string): void {
    const { job, stopping } = dispatched
    worker.settle(job.evalId, stopping ?? "interrupted")
    dispatched.isOrphan = true
    dispatched.deadlineAt = Infinity
    worker.evict(job.tenant)
    job.onStopped(stopping ?? "interrupted", by)
  }

  // Losses

  #onWorkerClosed(worker: WorkerSlot): void {
    const slot = this.#hosts.get(worker.host)
    if (slot === undefined) return
    if (slot.end !== undefined || slot.gone.has(worker.index)) return this.#workerLost(slot, worker)
    // Its host says why in a moment, or dies. A closed socket of a living thread is a fault: the host goes.
    worker.cancelDeadline = this.#clock.after(this.#limits.threadStopMs * 4, () => {
      if (slot.workers.includes(worker)) worker.host.kill("worker-disconnected")
    })
  }

  #workerLost(slot: HostSlot, worker: WorkerSlot): void {
    const gone = slot.gone.get(worker.index)
    const end = slot.end
    const blamed = gone?.entered ?? (end?.worker === worker.index ? end.entered : 0)
    // A host killed from outside was nobody's fault; otherwise one eval is to blame and the others were its neighbours.
    const isOutside = gone === undefined && end !== undefined && end.entered === 0
    const because = gone?.because ?? end?.because ?? "host-killed"
    worker.cancelDeadline()
    slot.workers.splice(slot.workers.indexOf(worker), 1)
    const begunCount = worker.countBegun(gone?.begun ?? blamed, gone !== undefined)
    const ended = [...worker.inFlight.slice(0, begunCount), ...worker.parked.values()]
    const returned = worker.inFlight.slice(begunCount).filter((it) => !it.isOrphan)
    const unbegun = [...returned.map((it) => it.job), ...worker.waiting]
    worker.inFlight.length = 0
    worker.waiting.length = 0
    worker.parked.clear()
    for (const tenant of worker.tenants.values()) {
      if (tenant.worker !== worker) continue
      tenant.worker = undefined
      tenant.onRealmLost(isOutside ? `its host ended (${because})` : `its worker ended (${because})`)
    }
    for (const { job, seq, begunAt, stopping, isOrphan } of ended) {
      const isBlamed = isOutside || seq === blamed
      if (isBlamed && !isOutside) job.tenant.apart = apartEvals
      if (isOrphan) continue
      if (isOutside && stopping === undefined && this.#mayRepeat(job, begunAt)) {
        unbegun.unshift(job)
        continue
      }
      if (stopping !== undefined) job.onStopped(stopping, because === "interrupted" ? "terminated" : because)
      else job.onLost(isBlamed ? because : "neighbour")
    }
    for (const job of unbegun.toReversed()) {
      const returns = (this.#returns.get(job) ?? 0) + 1
      this.#returns.set(job, returns)
      if (returns > returnsMax) job.onLost("hosts-unstable")
      else this.#resubmit(job)
    }
    if (slot.end === undefined && slot.workers.length === 0) this.#grow(slot)
    this.#dropHostIfEmpty(slot)
    this.#pump()
  }

  /**
   * Whether an eval that was sent to a host as it died may be sent again: once, when that was a moment ago, and nothing it may have done
   * was seen by anyone. Most likely it was never read.
   */
  #mayRepeat(job: Job, begunAt: number): boolean {
    if (this.#repeated.has(job) || !job.isUnseen() || this.#clock.now() - begunAt > slowMs) return false
    this.#repeated.add(job)
    return true
  }

  #forgetWorker(slot: HostSlot, index: number): void {
    const at = slot.workers.findIndex((it) => it.index === index)
    const [forgotten] = at === -1 ? [] : slot.workers.splice(at, 1)
    if (forgotten !== undefined) {
      forgotten.state = "gone"
      forgotten.cancelDeadline()
    }
    if (slot.end === undefined && slot.workers.length === 0) this.#grow(slot)
  }

  #dropHostIfEmpty(slot: HostSlot): void {
    if (slot.end !== undefined && slot.workers.length === 0) this.#hosts.delete(slot.host)
  }

  #hostsOf(group: string): HostSlot[] {
    return [...this.#hosts.values()].filter((slot) => slot.group === group && slot.end === undefined)
  }

  *#workers(): Iterable<WorkerSlot> {
    for (const slot of this.#hosts.values()) yield* slot.workers
  }
}

/** When anything on it was last used; the longer ago the less it is missed. */
function usedAt(slot: HostSlot): number {
  let last = 0
  for (const worker of slot.workers) for (const tenant of worker.tenants.values()) last = Math.max(last, tenant.usedAt)
  return last
}

function isAlone(worker: WorkerSlot): boolean {
  return worker.depth === 0 && worker.parked.size === 0
}

function isBusy(worker: WorkerSlot, tenant: Tenant): boolean {
  for (const { job } of worker.inFlight) if (job.tenant === tenant) return true
  for (const { job } of worker.parked.values()) if (job.tenant === tenant) return true
  return worker.waiting.some((job) => job.tenant === tenant)
}
