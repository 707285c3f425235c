// The parent's side of one host process.
//
// A host may die at any instruction, so nothing here waits for it without a deadline, and nothing it says is believed before
// `wire/schema.ts` has checked it. This file owns the child's whole life; no other file may spawn or signal it. It never restarts:
// starting again is the supervisor's work.
import type { ChildProcess } from "node:child_process"
import { constants } from "node:os"
import type { Duplex } from "node:stream"
import { nanoid } from "nanoid"
import { killChild, spawnEntry } from "../child-process.ts"
import type { Clock } from "../clock.ts"
import { NacreError } from "../errors.ts"
import type { HostOptions, Limits } from "../options.ts"
import { Link } from "../wire/transport.ts"
import { fromHost, toHost, wireVersion } from "../wire/schema.ts"
import type { MessageOf } from "../wire/schema.ts"
import type { Confinement } from "./confinement.ts"
import type { Listener, WorkerDoor } from "./listener.ts"
import type { HostArguments } from "./main.ts"
import type { Found } from "./pool.ts"

export type SyncCall = Extract<MessageOf<typeof fromHost>, { type: "syncCall" }>
export interface SyncAnswer {
  ok: boolean
  kind: string
  /** The answer; why there is none, when it is not `ok`. */
  message: string
  /** The value that belongs to the answer. */
  bytes?: Uint8Array
}

export interface HostHandlers {
  /** A promise keeps the calling thread waiting; what takes longer than its deadline is nobody's answer. */
  onSyncCall(call: SyncCall): SyncAnswer | Promise<SyncAnswer>
  onWorkerGone(worker: number, lost: LostWorker): void
  /** Frames of a worker that came by way of its host. */
  onFrames(worker: number, frames: Uint8Array): void
  /** Resident bytes of the process, at each heartbeat. */
  onMemory(rssBytes: number): void
  /** The process has ended; called once, after which nothing else is. */
  onExit(end: HostEnd): void
}

/** How a thread ended: in which eval, the last one that had begun (0 if none), and why. */
export interface LostWorker {
  entered: number
  begun: number
  because: string
}

/** Why a host ended, and in which eval of which worker as far as it could say. */
export interface HostEnd {
  because: string
  worker: number
  entered: number
}

/** Time between heartbeats at most; a silence that kills is several of them long. */
const beatMsMax = 1_000
const beatsPerSilence = 4
/** Bytes kept of what a dying host wrote to its standard error: V8's last words fit. */
const lastWordsBytesMax = 8 * 1024
/** How long a question to a host's main thread may take; it runs no user code, so it answers in under a millisecond. */
const answerTimeoutMs = 2_000

const hostFlags = [
  "--experimental-vm-modules",
  "--no-warnings",
  // A compilation cache keyed by source would keep 0.7 KB for every distinct submission for ever.
  "--no-compilation-cache",
]

export class Host {
  readonly id: string
  /** Of its confinement: groups of other kinds are not for it. */
  readonly kind: string
  /** 0 when the process could not be spawned. */
  readonly pid: number
  /** Resolves when the host can be given work; rejects with `host_unavailable` when it ended before. */
  readonly ready: Promise<void>
  readonly #child: ChildProcess
  readonly #control: Link<typeof toHost, typeof fromHost>
  readonly #clock: Clock
  readonly #limits: Limits
  readonly #handlers: HostHandlers
  readonly #waiting = new Map<number, (answer: { found: Found; entered: number }) => void>()
  #resolveReady!: () => void
  #rejectReady!: (error: Error) => void
  #requests = 0
  #heardAt: number
  #cancelBeat: () => void = () => {}
  #end: HostEnd | undefined
  #lastWords = ""
  readonly #exited: Promise<void>
  #isDead = false

  /** Spawns the process at once; `ready` settles when it can be used, or has failed to become so within its deadline. */
  constructor(context: HostContext, handlers: HostHandlers) {
    const { hosts, limits, clock, confinement } = context
    this.kind = confinement.kind
    this.id = `hst_${nanoid(12)}`
    this.#clock = clock
    this.#limits = limits
    this.#handlers = handlers
    this.#heardAt = clock.now()
    this.ready = new Promise((resolve, reject) => {
      this.#resolveReady = resolve
      this.#rejectReady = reject
    })
    // Whoever waits for it hears of a failure; when nobody does, `onExit` has said it.
    this.ready.catch(() => {})
    const options: HostArguments = {
      hostId: this.id,
      socketPath: context.listener.path,
      threadsMax: hosts.threadsPerHostMax,
      // Below the process's limit, so that a thread that only makes objects dies alone and its host lives.
      heapMegabytesMax: Math.max(32, Math.floor((hosts.memoryBytesMax * 0.7) / (1024 * 1024))),
      threadStopMs: limits.threadStopMs,
      syncCallTimeoutMs: limits.syncCallTimeoutMs,
      memoryBytesMax: hosts.memoryBytesMax,
      env: confinement.env,
    }
    // With an arena per thread, glibc keeps what dropped realms have freed.
    this.#child = spawnEntry(
      "runtime/host/main",
      [...hostFlags, ...confinement.flags],
      options,
      { MALLOC_ARENA_MAX: "2" },
      confinement.wrapper,
    )
    this.pid = this.#child.pid ?? 0
    // A spawn that failed says so here and then closes like any other end.
    this.#child.on("error", (error) => {
      this.#lastWords += error.message
    })
    this.#control = new Link(
      this.#child.stdio[3] as Duplex,
      { out: toHost, in: fromHost },
      { onMessage: (message) => this.#onMessage(message), onClose: () => this.kill("host-killed") },
    )
    this.#child.stderr!.setEncoding("utf8")
    this.#child.stderr!.on("data", (text: string) => {
      this.#lastWords = (this.#lastWords + text).slice(-lastWordsBytesMax)
    })
    this.#exited = new Promise((resolve) => {
      // Not "exit": the last words on the control channel may still be unread then.
      this.#child.once("close", (code, signal) => {
        this.#onExit(code, signal)
        resolve()
      })
    })
    const cancelStart = clock.after(limits.hostStartTimeoutMs, () => this.kill("start-timeout"))
    this.ready.then(() => {
      cancelStart()
      this.#beat(0)
    }, cancelStart)
  }

  /** Its end is decided, even where it has not come yet: whatever is sent to it now may die with it. */
  get isDead(): boolean {
    return this.#isDead || this.#end !== undefined
  }

  /** Starts a worker thread, whose own connection reaches `door`. */
  grow(worker: number, listener: Listener, door: WorkerDoor): void {
    const token = nanoid()
    listener.expect(token, door)
    this.#control.send("grow", { worker, token })
  }

  /** Asks what the thread does, terminating it when it stands still in that eval. `gone` when the host does not answer in time. */
  interrupt(worker: number, seq: number): Promise<{ found: Found; entered: number }> {
    return this.#ask((request) => {
      this.#control.send("interrupt", { request, worker, seq, graceMs: this.#limits.interruptGraceMs })
    })
  }

  /** Keeps the worker from beginning the evals `from` to `to`; resolves with the last that has begun, undefined when the host is gone. */
  async fence(worker: number, from: number, to: number): Promise<number | undefined> {
    const { found, entered } = await this.#ask((request) => this.#control.send("fence", { request, worker, from, to }))
    return found === "gone" ? undefined : entered
  }

  /** Tells every thread that globals of its workspace have been written; resolves when they have seen it, or the host is gone. */
  async announce(generation: number): Promise<void> {
    if (this.#isDead) return
    await this.#ask((request) => this.#control.send("generation", { request, generation }))
  }

  /** Ends the process with its whole group, at once. Idempotent; the first reason stands. */
  kill(because: string): void {
    this.#end ??= { because, worker: -1, entered: 0 }
    if (!this.#isDead) killChild(this.#child)
  }

  /** Asks the host to end and kills it when it has not within `deadlineMs`. */
  async stop(deadlineMs: number): Promise<void> {
    if (this.#isDead) return
    this.#end ??= { because: "stopped", worker: -1, entered: 0 }
    this.#control.send("shutdown", {})
    const cancel = this.#clock.after(deadlineMs, () => this.kill("stop-timeout"))
    await this.#exited
    cancel()
  }

  #ask(send: (request: number) => void): Promise<{ found: Found; entered: number }> {
    const request = ++this.#requests
    return new Promise((resolve) => {
      if (this.#isDead) return resolve({ found: "gone", entered: 0 })
      const cancel = this.#clock.after(answerTimeoutMs, () => {
        // A timer may fire before data that has long arrived is read: one more turn of the loop decides.
        setImmediate(() => {
          if (this.#waiting.has(request)) this.kill("unresponsive")
        })
      })
      this.#waiting.set(request, (answer) => {
        cancel()
        this.#waiting.delete(request)
        resolve(answer)
      })
      send(request)
    })
  }

  #beat(nonce: number): void {
    const sentAt = this.#clock.now()
    const beatMs = Math.min(beatMsMax, this.#limits.hostSilenceMs / beatsPerSilence)
    this.#control.send("ping", { nonce })
    this.#cancelBeat = this.#clock.after(beatMs, () => {
      const lateMs = this.#clock.now() - sentAt - beatMs
      // When this process itself was blocked, what the host said meanwhile has not been read yet: read once before judging.
      if (lateMs > beatMs) this.#heardAt = this.#clock.now()
      if (this.#clock.now() - this.#heardAt > this.#limits.hostSilenceMs) return this.kill("unresponsive")
      this.#beat(nonce + 1)
    })
  }

  #onMessage(message: MessageOf<typeof fromHost>): void {
    this.#heardAt = this.#clock.now()
    switch (message.type) {
      case "ready":
        if (message.version === wireVersion) this.#resolveReady()
        else this.kill(`wire-version-${message.version}`)
        break
      case "beat":
        this.#handlers.onMemory(message.rssBytes)
        break
      case "interrupted":
        this.#waiting.get(message.request)?.({ found: message.found, entered: message.entered })
        break
      case "fenced":
        this.#waiting.get(message.request)?.({ found: "alive", entered: message.begun })
        break
      case "syncCall": {
        const { worker, callId } = message
        const answer = this.#handlers.onSyncCall(message)
        if (!(answer instanceof Promise)) this.#control.send("syncReply", { worker, callId, ...answer })
        else
          void answer.then((it) => {
            if (!this.#isDead) this.#control.send("syncReply", { worker, callId, ...it })
          })
        break
      }
      case "generationSeen":
        this.#waiting.get(message.request)?.({ found: "alive", entered: 0 })
        break
      case "workerGone":
        this.#handlers.onWorkerGone(message.worker, message)
        break
      case "relayed":
        this.#handlers.onFrames(message.worker, message.frames)
        break
      case "dying":
        this.#end = { because: message.because, worker: message.worker, entered: message.entered }
        break
    }
  }

  #onExit(code: number | null, signal: NodeJS.Signals | null): void {
    this.#isDead = true
    this.#cancelBeat()
    this.#control.abort()
    this.#child.stderr!.destroy()
    const end = this.#end
    const named = end === undefined || end.because === "host-killed"
    const because = named ? reasonOfExit(code, signal, this.#lastWords) : end.because
    const words = this.#lastWords.trim().split("\n")[0] ?? ""
    this.#rejectReady(
      new NacreError(
        "host_unavailable",
        `Host ${this.id} ended (${because}) before it was ready.${words && ` It said: ${words}`}`,
      ),
    )
    for (const answer of this.#waiting.values()) answer({ found: "gone", entered: 0 })
    this.#handlers.onExit({ because, worker: end?.worker ?? -1, entered: end?.entered ?? 0 })
  }
}

export interface HostContext {
  confinement: Confinement
  clock: Clock
  listener: Listener
  hosts: HostOptions
  limits: Limits
}

function reasonOfExit(code: number | null, signal: NodeJS.Signals | null, lastWords: string): string {
  if (/out of memory|heap limit|Allocation failed/i.test(lastWords)) return "out-of-memory"
  if (signal === "SIGKILL") return "host-killed"
  // Who runs under another command is reported by its exit code, as a shell does.
  if (code === 128 + constants.signals.SIGKILL) return "host-killed"
  return signal === null ? `host-exited-${code}` : `host-${signal.toLowerCase()}`
}
