// The pool of a host with workers that do what piscina deals with badly. Each is a program under `test/peers/`.
import { fileURLToPath } from "node:url"
import { describe, expect, test } from "vitest"
import { ThreadPool } from "../../../runtime/host/pool.ts"
import { until } from "../../until.ts"

interface Heard {
  readonly pool: ThreadPool
  readonly gone: { worker: number; entered: number; because: string }[]
  readonly stuck: { worker: number; entered: number }[]
}

function start(peer: string, threadsMax = 2): Heard {
  const gone: Heard["gone"] = []
  const stuck: Heard["stuck"] = []
  const pool = new ThreadPool(
    {
      hostId: "hst_test",
      socketPath: "none",
      threadsMax,
      heapMegabytesMax: 64,
      threadStopMs: 250,
      syncCallTimeoutMs: 1_000,
      workerFile: fileURLToPath(new URL(`../../peers/${peer}.mjs`, import.meta.url)),
    },
    {
      onSyncCall: () => {},
      onFrames: () => {},
      onGone: (worker, entered, _begun, because) => gone.push({ worker, entered, because }),
      onStuck: (worker, entered) => stuck.push({ worker, entered }),
    },
  )
  return { pool, gone, stuck }
}

function interrupt(pool: ThreadPool, worker: number, seq: number): Promise<{ found: string; entered: number }> {
  return new Promise((resolve) => pool.interrupt(worker, seq, 15, (found, entered) => resolve({ found, entered })))
}

test("a thread that ends itself is told once, with the others untouched, and another can be started", async () => {
  const { pool, gone } = start("dying-worker")
  pool.grow(1, "a")
  await until("the first to be gone", () => gone.length === 1)
  pool.grow(2, "b")
  await until("the second to be gone", () => gone.length === 2)
  expect(gone.map((it) => [it.worker, it.because])).toEqual([
    [1, "thread-exited"],
    [2, "thread-exited"],
  ])
})

test("a result that cannot be cloned kills only its thread, which is told", async () => {
  const { pool, gone } = start("babbling-worker")
  pool.grow(1, "a")
  await until("it to be gone", () => gone.length === 1)
  expect(gone[0]).toMatchObject({ worker: 1, entered: 0 })
})

test("a throw outside every task is no uncaught exception of the host, and its thread is told as gone", async () => {
  const { pool, gone } = start("late-throwing-worker")
  pool.grow(1, "a")
  await until("it to be gone", () => gone.length === 1)
  expect(gone[0]!.because).toContain("late")
})

test("a thread that never reports is not waited for by the pool: what is asked about it gets an answer", async () => {
  const { pool, gone } = start("never-reporting-worker", 1)
  pool.grow(1, "a")
  expect(pool.fence(1, 1, 5)).toBe(0)
  expect(await interrupt(pool, 1, 1)).toEqual({ found: "behind", entered: 0 })
  expect(await interrupt(pool, 99, 1)).toEqual({ found: "gone", entered: 0 })
  expect(gone).toEqual([])
})

test("a file that cannot be loaded is told as gone, or stays silent for its embedder's deadline; nothing throws", async () => {
  const { pool, gone } = start("unloadable-worker")
  pool.grow(1, "a")
  await until("it to be told", () => gone.length === 1)
  expect(gone[0]!.because).toContain("cannot be loaded")
  // From here on piscina may never answer: the host is ended by the embedder's deadline for a thread that does not report.
  pool.grow(2, "b")
  expect(await interrupt(pool, 2, 1)).toMatchObject({ entered: 0 })
})

describe("an interrupt", () => {
  test("ends a computing thread and says so once it is gone", async () => {
    const { pool, gone, stuck } = start("computing-worker")
    pool.grow(1, "a")
    await until("it to compute", async () => (await interrupt(pool, 1, 1)).entered === 7)
    expect(await interrupt(pool, 1, 6)).toEqual({ found: "behind", entered: 7 })
    expect(await interrupt(pool, 1, 7)).toEqual({ found: "terminating", entered: 7 })
    await until("it to be gone", () => gone.length === 1)
    expect(gone).toEqual([{ worker: 1, entered: 7, because: "interrupted" }])
    expect(stuck).toEqual([])
    expect(await interrupt(pool, 1, 7)).toEqual({ found: "gone", entered: 0 })
  })

  test("leaves the threads beside it alone, however many are ended one after the other", async () => {
    const { pool, gone } = start("computing-worker", 3)
    pool.grow(0, "beside")
    await until("it to compute", async () => (await interrupt(pool, 0, 1)).entered === 7)
    for (let worker = 1; worker <= 5; worker++) {
      pool.grow(worker, "a")
      await until("it to compute", async () => (await interrupt(pool, worker, 1)).entered === 7)
      expect((await interrupt(pool, worker, 7)).found).toBe("terminating")
      await until("it to be gone", () => gone.length === worker)
    }
    expect((await interrupt(pool, 0, 1)).found).toBe("behind")
    expect(gone.map((it) => it.worker)).toEqual([1, 2, 3, 4, 5])
    await interrupt(pool, 0, 7)
    await until("the last to be gone", () => gone.length === 6)
  })

  test("of a thread in native code says within its bound that it is stuck", async () => {
    const { pool, gone, stuck } = start("native-worker")
    pool.grow(1, "a")
    await until("it to be in native code", async () => (await interrupt(pool, 1, 1)).entered === 7)
    expect((await interrupt(pool, 1, 7)).found).toBe("terminating")
    await until("it to be stuck", () => stuck.length === 1)
    expect(stuck).toEqual([{ worker: 1, entered: 7 }])
    await until("it to be gone in the end", () => gone.length === 1, 55_000)
  }, 60_000)
})
