// The scheduler with twin hosts and sessions that hand it one eval at a time, as shells do, and note everything that is promised to them.
import { Scheduler } from "../../runtime/host/scheduler.ts"
import type { EvalRequest, Job, Tenant, WorkerSlot } from "../../runtime/host/worker-slot.ts"
import { defaultLimits } from "../../runtime/options.ts"
import type { HostOptions, Limits } from "../../runtime/options.ts"
import type { WorkerOutcome } from "../../runtime/wire/schema.ts"
import { TwinHost } from "./twin-host.ts"
import type { Step } from "./twin-host.ts"
import { VirtualClock } from "./virtual-clock.ts"

export interface SimEval {
  readonly evalId: string
  readonly session: SimSession
  readonly job: Job
  /** Everything the scheduler told its job, in order. */
  readonly told: string[]
  /** Hosts on which it really began. */
  readonly begunOn: TwinHost[]
  end: string | undefined
  begunAt: number | undefined
  endedAt: number | undefined
}

export class SimSession implements Tenant {
  readonly session: string
  readonly group: string
  worker: WorkerSlot | undefined
  commit = -1
  holdsEphemerals = false
  apart = 0
  usedAt = 0
  /** What is committed: the evals that ended as ok. */
  log: readonly string[] = []
  committed = 0
  readonly lost: string[] = []
  readonly queue: SimEval[] = []
  running: SimEval | undefined

  constructor(session: string, group: string) {
    this.session = session
    this.group = group
  }

  onRealmLost(reason: string): void {
    this.holdsEphemerals = false
    this.lost.push(reason)
  }
}

export interface WorldOptions {
  hosts?: Partial<HostOptions>
  limits?: Partial<Limits>
  latencyMs?: () => number
  /** A host is replaced after so long; undefined: never. */
  restartMs?: number | undefined
}

export class World {
  readonly clock = new VirtualClock()
  readonly hosts: TwinHost[] = []
  readonly evals: SimEval[] = []
  readonly sessions: SimSession[] = []
  readonly faults: string[] = []
  /** What happened when, for the message of a run that failed. */
  readonly trace: string[] = []
  readonly retired: TwinHost[] = []
  readonly latencyMs: () => number
  readonly threadStopMs: number
  wanted = 0
  readonly scheduler: Scheduler
  readonly #byId = new Map<string, SimEval>()
  readonly #restartMs: number | undefined

  constructor({ hosts = {}, limits = {}, latencyMs = () => 1, restartMs }: WorldOptions = {}) {
    this.latencyMs = latencyMs
    this.#restartMs = restartMs
    const allLimits = { ...defaultLimits, ...limits }
    this.threadStopMs = allLimits.threadStopMs
    const options = { min: 1, max: 2, threadsPerHostMax: 4, memoryBytesMax: 512 * 1024 * 1024, ...hosts }
    this.scheduler = new Scheduler(
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- twins have no sockets to listen for
      { clock: this.clock, limits: allLimits, hosts: options, listener: undefined as never, mainGroup: "main" },
      {
        onHostWanted: () => (this.wanted += 1),
        onHostRetired: (host) => {
          const twin = this.hosts.find((it) => it.id === host.id)!
          this.retired.push(twin)
          void host.stop(0)
        },
        onStray: () => {},
      },
    )
  }

  addHost(): TwinHost {
    const host = new TwinHost({
      clock: this.clock,
      threadStopMs: this.threadStopMs,
      latencyMs: this.latencyMs,
      onBegun: (evalId, on, realm) => this.#onBegun(evalId, on, realm),
      onExit: (it, end) => {
        this.trace.push(`${this.clock.now()} host exit ${it.id} ${JSON.stringify(end)}`)
        this.scheduler.onHostExit(it, end)
        if (this.#restartMs !== undefined) this.clock.after(this.#restartMs, () => this.addHost())
      },
      onWorkerGone: (it, worker, lost) => {
        this.trace.push(`${this.clock.now()} host gone ${it.id}/${worker} ${JSON.stringify(lost)}`)
        this.scheduler.onWorkerGone(it, worker, lost)
      },
      onFrames: (it, worker, frames) => {
        this.trace.push(`${this.clock.now()} frames by way of ${it.id}/${worker}`)
        this.scheduler.onFrames(it, worker, frames)
      },
    })
    this.hosts.push(host)
    this.scheduler.addHost(host)
    return host
  }

  /** A host with its thread ready. */
  async startHost(): Promise<TwinHost> {
    const host = this.addHost()
    await this.clock.advance(10)
    return host
  }

  open(group = "main"): SimSession {
    const session = new SimSession(`s${this.sessions.length}`, group)
    this.sessions.push(session)
    return session
  }

  eval(session: SimSession, steps: readonly Step[], timeoutMs?: number): SimEval {
    const evalId = `e${this.evals.length}`
    const evl: SimEval = {
      evalId,
      session,
      job: this.#job(evalId, session, steps, timeoutMs),
      told: [],
      begunOn: [],
      end: undefined,
      begunAt: undefined,
      endedAt: undefined,
    }
    this.#byId.set(evalId, evl)
    this.evals.push(evl)
    session.queue.push(evl)
    this.#next(session)
    return evl
  }

  stop(evl: SimEval, how: "interrupted" | "timeout" = "interrupted"): void {
    if (evl.session.running === evl) this.scheduler.stop(evl.job, how)
  }

  /** Time passes until every eval has ended, at most so long. */
  async quiesce(msMax: number): Promise<void> {
    for (let passed = 0; passed < msMax && this.evals.some((it) => it.end === undefined); passed += 50) {
      await this.clock.advance(50)
    }
  }

  #next(session: SimSession): void {
    if (session.running !== undefined) return
    const next = session.queue.shift()
    if (next === undefined) return
    session.running = next
    try {
      this.scheduler.submit(next.job)
    } catch (error) {
      this.#end(next, `refused: ${(error as { kind?: string }).kind ?? String(error)}`)
    }
  }

  #end(evl: SimEval, end: string): void {
    if (evl.end !== undefined) this.faults.push(`${evl.evalId} ended as ${evl.end} and again as ${end}`)
    evl.end = end
    evl.endedAt = this.clock.now()
    evl.told.push(end)
    evl.session.running = undefined
    queueMicrotask(() => this.#next(evl.session))
  }

  #onBegun(evalId: string, host: TwinHost, realm: readonly string[]): void {
    const evl = this.#byId.get(evalId)!
    const before = evl.begunOn.at(-1)
    this.trace.push(`${this.clock.now()} ${evalId} began on ${host.id}`)
    evl.begunOn.push(host)
    // The one exception: its host was killed from outside, and nothing of it was seen by anyone.
    const mayRepeat = evl.begunOn.slice(0, -1).every((it) => it.wasKilledFromOutside) && !evl.told.includes("parked")
    if (before !== undefined && !mayRepeat) this.faults.push(`${evalId} was begun ${evl.begunOn.length} times`)
    // One that was stopped before its worker had read of that may begin for nobody, on what its session had then.
    if (evl.end === undefined && realm.join() !== evl.session.log.join()) {
      this.faults.push(`${evalId} began on [${realm.join()}] although [${evl.session.log.join()}] is committed`)
    }
  }

  #job(evalId: string, session: SimSession, steps: readonly Step[], timeoutMs: number | undefined): Job {
    const evl = (): SimEval => this.#byId.get(evalId)!
    return {
      evalId,
      tenant: session,
      timeoutMs,
      request: (seq, isResident): EvalRequest => {
        this.trace.push(`${this.clock.now()} ${evalId} requested as ${seq}`)
        const request: EvalRequest = {
          seq,
          session: session.session,
          evalId,
          commit: session.committed,
          source: JSON.stringify(steps, (_key, value: unknown) => (value === Infinity ? 1e12 : value)),
          file: "",
          line: 1,
          atomic: false,
          limits: [],
        }
        if (isResident && session.commit === session.committed) return request
        session.commit = session.committed
        session.holdsEphemerals = false
        // The log travels where a real checkpoint has its bytes.
        const checkpoint = {
          definitions: [],
          locals: [],
          plain: [],
          groups: [],
          sources: [],
          lost: [],
          kind: "",
          profile: "",
          capabilities: [],
          directory: "/",
        }
        return { ...request, checkpoint: { ...checkpoint, tools: [...session.log] } }
      },
      isUnseen: () => !evl().told.includes("parked"),
      onBegun: () => {
        evl().told.push("begun")
        this.trace.push(`${this.clock.now()} ${evalId} onBegun`)
        evl().begunAt ??= this.clock.now()
      },
      onParked: () => evl().told.push("parked"),
      onOutput: () => {},
      onToolCall: () => {},
      onOutcome: ({ status, realmKept }: WorkerOutcome) => {
        if (status === "ok") {
          session.log = [...session.log, evalId]
          session.committed += 1
          session.commit = session.committed
          if (session.apart > 0) session.apart -= 1
        } else if (!realmKept) session.lost.push(status)
        this.#end(evl(), status === "ok" ? "ok" : `${status}: settled`)
      },
      onStopped: (how, by) => {
        session.worker?.evict(session)
        this.#end(evl(), `${how}: ${by}`)
      },
      onLost: (because) => this.#end(evl(), `lost: ${because}`),
    }
  }
}
