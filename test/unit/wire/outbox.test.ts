// The outbox between a worker and its host: whole frames in order, taken by exactly one side, whoever comes when.
import { Worker } from "node:worker_threads"
import { expect, test } from "vitest"
import { Outbox } from "../../../runtime/wire/outbox.ts"

const frame = (...bytes: number[]): Uint8Array => Uint8Array.from(bytes)

test("gives what was put, in order, once", () => {
  const box = new Outbox()
  expect(box.take()).toBeUndefined()
  expect([box.put(frame(1, 2)), box.put(frame(3))]).toEqual([true, true])
  expect(box.count).toBe(2)
  expect(box.take()).toEqual(frame(1, 2, 3))
  expect([box.take(), box.count]).toEqual([undefined, 0])
})

test("refuses a frame for which it has no room, and keeps what it has", () => {
  const box = new Outbox()
  expect(box.put(new Uint8Array(60_000).fill(7))).toBe(true)
  expect(box.put(new Uint8Array(10_000))).toBe(false)
  expect(box.take()).toHaveLength(60_000)
  expect(box.put(new Uint8Array(10_000))).toBe(true)
})

test("the host takes only what has waited since it looked before", () => {
  const box = new Outbox()
  const host = new Outbox(box.memory)
  box.put(frame(1))
  expect(host.takeStale()).toBeUndefined()
  // Emptied and filled between two looks: the thread turns, so nothing is stuck.
  expect(box.take()).toEqual(frame(1))
  box.put(frame(2))
  expect(host.takeStale()).toBeUndefined()
  box.put(frame(3))
  expect(host.takeStale()).toEqual(frame(2, 3))
  expect(host.takeStale()).toBeUndefined()
  expect(box.take()).toBeUndefined()
})

test("the host takes all that a thread has left, also when that held the lock as it died", () => {
  const box = new Outbox()
  box.put(frame(1))
  const host = new Outbox(box.memory)
  new Int32Array(box.memory, 0, 1)[0] = 1
  expect([host.takeStale(), host.takeStale()]).toEqual([undefined, undefined])
  expect(host.takeLeft()).toEqual(frame(1))
})

test("a thread that puts and takes and a host that takes lose, repeat and tear nothing", async () => {
  const box = new Outbox()
  // Each frame is a number in four bytes. What the thread takes itself comes back as a message.
  const thread = new Worker(
    `const { workerData, parentPort } = require("node:worker_threads")
     import(workerData.file).then(({ Outbox }) => {
       const box = new Outbox(workerData.memory)
       const take = () => { const taken = box.take(); if (taken !== undefined) parentPort.postMessage(taken) }
       for (let n = 0; n < workerData.count; n++) {
         const frame = new Uint8Array(Uint32Array.of(n).buffer)
         while (!box.put(frame)) take()
         if (n % 7 === 0) take()
         // Long enough between two for the other side to come in.
         if (n % 64 === 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1)
       }
       take()
       parentPort.postMessage("done")
     })`,
    {
      eval: true,
      workerData: {
        memory: box.memory,
        count: 20_000,
        file: new URL("../../../dist/runtime/wire/outbox.js", import.meta.url).href,
      },
    },
  )
  const taken: number[] = []
  const add = (bytes: Uint8Array): void => {
    expect(bytes.length % 4).toBe(0)
    taken.push(...new Uint32Array(Uint8Array.from(bytes).buffer))
  }
  await new Promise<void>((resolve, reject) => {
    let isDone = false
    thread.on("error", reject)
    thread.on("message", (message: Uint8Array | "done") => {
      if (message === "done") isDone = true
      else add(message)
    })
    const look = (): void => {
      const frames = box.takeStale()
      if (frames !== undefined) add(frames)
      if (isDone) resolve()
      else setImmediate(look)
    }
    look()
  })
  const left = box.takeLeft()
  if (left !== undefined) add(left)
  await thread.terminate()
  expect(taken.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20_000 }, (_, n) => n))
})
