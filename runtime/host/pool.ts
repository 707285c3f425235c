// The threads of one host. piscina launches and terminates them; each runs one long task, `serve`, that ends with its thread.
//
// What piscina does badly is kept away from it (measured behaviour, each with a test): no task result ever carries a value (an
// uncloneable one kills the worker), its queue holds nothing (it blocks head-of-line), `close` is never called (it drops running tasks),
// atomics are off (they freeze timers between tasks), and a thread that never reports is left to the embedder's deadline (after one
// failed start piscina may never answer again).
import { MessageChannel } from "node:worker_threads"
import type { MessagePort, Worker } from "node:worker_threads"
import { Piscina } from "piscina"
import { entryPath } from "../entry.ts"
import { Outbox } from "../wire/outbox.ts"
import {
  BEGUN,
  ENTERED,
  TURN,
  WAITING,
  allocateSharedWords,
  raiseFence,
  raiseGeneration,
} from "../wire/shared-memory.ts"
import type { SharedWords } from "../wire/shared-memory.ts"
import type { ServeTask, SyncReply, SyncRequest } from "../wire/thread.ts"

export interface PoolOptions {
  hostId: string
  socketPath: string
  threadsMax: number
  heapMegabytesMax: number
  threadStopMs: number
  syncCallTimeoutMs: number
  /** What threads have in `process.env`. */
  env?: Readonly<Record<string, string>>
  /** The file of the task, when it is not the worker's own. */
  workerFile?: string
}

export interface PoolHandlers {
  onSyncCall(worker: number, call: SyncRequest): void
  /** The thread has ended; `entered` is the eval it was in, `begun` the last one that had begun; 0 if none. */
  onGone(worker: number, entered: number, begun: number, because: string): void
  /** Frames for the embedder that the thread could not send itself. */
  onFrames(worker: number, frames: Uint8Array): void
  /** A thread did not stop in time: only the death of the whole process frees it. */
  onStuck(worker: number, entered: number): void
}

interface Thread {
  readonly words: SharedWords
  readonly outbox: Outbox
  readonly port: MessagePort
  readonly abort: AbortController
  worker: Worker | undefined
  because: string | undefined
}

/** Time between looks at a thread that has been asked whether its loop turns: an idle one answers at once. */
const lookMs = 1

export type Found = "alive" | "behind" | "terminating" | "gone"

export class ThreadPool {
  readonly #options: PoolOptions
  readonly #handlers: PoolHandlers
  readonly #threads = new Map<number, Thread>()
  readonly #piscina: Piscina
  #generation = 0

  constructor(options: PoolOptions, handlers: PoolHandlers) {
    this.#options = options
    this.#handlers = handlers
    this.#piscina = new Piscina({
      filename: options.workerFile ?? entryPath("runtime/worker/main"),
      minThreads: 1,
      maxThreads: options.threadsMax,
      idleTimeout: Infinity,
      atomics: "disabled",
      concurrentTasksPerWorker: 1,
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: options.heapMegabytesMax },
      env: { ...options.env },
    })
    // Without a listener an idle worker's error would be an uncaught exception of the host. Which thread it was, its exit tells.
    this.#piscina.on("error", () => {})
  }

  /** Starts a thread that will report to the embedder over its own socket with `token`. */
  grow(worker: number, token: string): void {
    const { port1, port2 } = new MessageChannel()
    const words = allocateSharedWords()
    if (this.#generation !== 0) raiseGeneration(words, this.#generation)
    const outbox = new Outbox()
    const thread: Thread = {
      words,
      outbox,
      port: port1,
      abort: new AbortController(),
      worker: undefined,
      because: undefined,
    }
    this.#threads.set(worker, thread)
    port1.on("message", (message: SyncRequest | { threadId: number }) => {
      if ("threadId" in message) thread.worker = this.#piscina.threads.find((it) => it.threadId === message.threadId)
      else this.#handlers.onSyncCall(worker, message)
    })
    const { hostId, socketPath, syncCallTimeoutMs } = this.#options
    const task: ServeTask = {
      hostId,
      socketPath,
      worker,
      token,
      words,
      outbox: outbox.memory,
      port: port2,
      syncCallTimeoutMs,
    }
    const options = { name: "serve", signal: thread.abort.signal, transferList: [port2] }
    this.#piscina.run(task, options).then(
      () => this.#ended(worker, "closed"),
      (error: unknown) => this.#ended(worker, thread.because ?? nameOfDeath(error)),
    )
  }

  /**
   * Looks whether the thread computes the eval `seq` and stands still, and terminates it if so. `alive`: its loop turns, so it
   * will read what the embedder sends it. `behind`: it stands still in another eval.
   */
  interrupt(worker: number, seq: number, graceMs: number, reply: (found: Found, entered: number) => void): void {
    const thread = this.#threads.get(worker)
    if (thread === undefined) return reply("gone", 0)
    const turn = Atomics.load(thread.words, TURN)
    const askedAt = performance.now()
    thread.port.postMessage("ping")
    const look = (): void => {
      if (!this.#threads.has(worker)) return reply("gone", 0)
      const entered = Atomics.load(thread.words, ENTERED)
      if (Atomics.load(thread.words, TURN) !== turn) return reply("alive", entered)
      if (performance.now() - askedAt < graceMs) return void setTimeout(look, lookMs)
      if (entered !== seq) return reply("behind", entered)
      reply("terminating", entered)
      this.#terminate(worker, thread, "interrupted")
    }
    setTimeout(look, lookMs)
  }

  /** Sends what threads that compute have had to say since this was called last. */
  relayStale(): void {
    for (const [worker, { outbox }] of this.#threads) {
      const frames = outbox.takeStale()
      if (frames !== undefined) this.#handlers.onFrames(worker, frames)
    }
  }

  /** The process is about to end: sends what every thread has left to say. */
  relayLeft(): void {
    for (const [worker, { outbox }] of this.#threads) {
      const frames = outbox.takeLeft()
      if (frames !== undefined) this.#handlers.onFrames(worker, frames)
    }
  }

  /** Keeps the thread from beginning the evals `from` to `to`; returns the last one that has begun. */
  fence(worker: number, from: number, to: number): number {
    const thread = this.#threads.get(worker)
    return thread === undefined ? 0 : raiseFence(thread.words, from, to)
  }

  /** Globals of this host's workspace have been written: no thread answers for them from an older state after this. */
  raiseGeneration(generation: number): void {
    this.#generation = generation
    for (const { words } of this.#threads.values()) raiseGeneration(words, generation)
  }

  answer(worker: number, reply: SyncReply): void {
    const thread = this.#threads.get(worker)
    if (thread === undefined) return
    thread.port.postMessage(reply)
    Atomics.store(thread.words, WAITING, 0)
    Atomics.notify(thread.words, WAITING)
  }

  /** The thread in whose eval memory most likely grew: the first one that is in an eval at all. */
  computing(): { worker: number; entered: number } {
    for (const [worker, thread] of this.#threads) {
      const entered = Atomics.load(thread.words, ENTERED)
      if (entered !== 0) return { worker, entered }
    }
    return { worker: -1, entered: 0 }
  }

  #terminate(worker: number, thread: Thread, because: string): void {
    if (thread.because !== undefined) return
    thread.because = because
    const exited = new Promise<void>((resolve) => {
      if (thread.worker === undefined) resolve()
      else thread.worker.once("exit", () => resolve())
    })
    const stuck = setTimeout(() => {
      this.#handlers.onStuck(worker, Atomics.load(thread.words, ENTERED))
    }, this.#options.threadStopMs)
    // Aborting rejects the task at once, long before the thread has stopped: only its exit counts.
    thread.abort.abort()
    void exited.then(() => {
      clearTimeout(stuck)
      this.#remove(worker, because)
    })
  }

  #ended(worker: number, because: string): void {
    const thread = this.#threads.get(worker)
    if (thread === undefined || (thread.because !== undefined && thread.worker !== undefined)) return
    this.#remove(worker, because)
  }

  #remove(worker: number, because: string): void {
    const thread = this.#threads.get(worker)
    if (thread === undefined) return
    this.#threads.delete(worker)
    const entered = Atomics.load(thread.words, ENTERED)
    thread.port.close()
    const frames = thread.outbox.takeLeft()
    if (frames !== undefined) this.#handlers.onFrames(worker, frames)
    this.#handlers.onGone(worker, entered, Atomics.load(thread.words, BEGUN), because)
  }
}

function nameOfDeath(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code
  if (code === "ERR_WORKER_OUT_OF_MEMORY") return "out-of-memory"
  const message = error instanceof Error ? error.message : String(error)
  return message.includes("exited with code") ? "thread-exited" : `thread-failed: ${message.slice(0, 200)}`
}
