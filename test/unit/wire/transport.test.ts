import { once } from "node:events"
import { mkdtempSync } from "node:fs"
import { createConnection, createServer } from "node:net"
import type { Server, Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { duplexPair } from "node:stream"
import type { Duplex } from "node:stream"
import { Packr } from "msgpackr"
import { describe, expect, test } from "vitest"
import { fromWorker, toWorker } from "../../../runtime/wire/schema.ts"
import { Link } from "../../../runtime/wire/transport.ts"
import { until } from "../../until.ts"
import { fromWorkerSamples, toWorkerSamples } from "./messages.ts"

type Near = Link<typeof toWorker, typeof fromWorker>
type Far = Link<typeof fromWorker, typeof toWorker>

interface Ends {
  near: Near
  far: Far
  nearStream: Duplex
  farStream: Duplex
  /** What each end has received, and with what it was closed. */
  atNear: { type: string }[]
  atFar: { type: string }[]
  closed: { near?: Error | "in order"; far?: Error | "in order" }
  /** Writes that reached the far end's stream. */
  chunks: number
}

function connect(onFar?: (message: { type: string }) => void): Ends {
  const [nearStream, farStream] = duplexPair()
  const ends = { nearStream, farStream, atNear: [], atFar: [], closed: {}, chunks: 0 } as unknown as Ends
  farStream.on("data", () => (ends.chunks += 1))
  ends.near = new Link(
    nearStream,
    { out: toWorker, in: fromWorker },
    { onMessage: (it) => ends.atNear.push(it), onClose: (reason) => (ends.closed.near = reason ?? "in order") },
  )
  ends.far = new Link(
    farStream,
    { out: fromWorker, in: toWorker },
    {
      onMessage: (it) => {
        ends.atFar.push(it)
        onFar?.(it)
      },
      onClose: (reason) => (ends.closed.far = reason ?? "in order"),
    },
  )
  return ends
}

/** Two ends of a Unix socket. */
async function connectedSockets(): Promise<[Server, Socket, Socket]> {
  const path = join(mkdtempSync(join(tmpdir(), "nacre-link-")), "socket")
  const server = createServer().listen(path)
  await once(server, "listening")
  const near = createConnection(path)
  const [[far]] = await Promise.all([once(server, "connection") as Promise<[Socket]>, once(near, "connect")])
  return [server, near, far]
}

const packed = (message: unknown): Uint8Array => {
  const payload = new Packr({ useRecords: false }).pack(message)
  return Uint8Array.from([0, 0, payload.length >> 8, payload.length & 255, ...payload])
}

test("carries every message of both directions, in order", async () => {
  const { near, far, atNear, atFar } = connect()
  for (const [type, fields] of Object.entries(toWorkerSamples)) near.send(type as "eval", fields as never)
  for (const [type, fields] of Object.entries(fromWorkerSamples)) far.send(type as "outcome", fields as never)
  const count = Object.keys(toWorkerSamples).length + Object.keys(fromWorkerSamples).length
  await until("all of them", () => atFar.length + atNear.length === count)
  expect(atFar).toEqual(Object.entries(toWorkerSamples).map(([type, fields]) => ({ type, ...fields })))
  expect(atNear).toEqual(Object.entries(fromWorkerSamples).map(([type, fields]) => ({ type, ...fields })))
})

test("does not change bytes that were received when more arrive", async () => {
  const { far, atNear } = connect()
  for (let index = 0; index < 200; index++) {
    far.send("toolCall", { ...fromWorkerSamples.toolCall, callId: index, bytes: new Uint8Array(500).fill(index) })
  }
  await until("all of them", () => atNear.length === 200)
  for (const [index, message] of (atNear as unknown as { bytes: Uint8Array; callId: number }[]).entries()) {
    expect(message.callId).toBe(index)
    expect(message.bytes.every((it) => it === index % 256)).toBe(true)
    expect(message.bytes.buffer.byteLength).toBeLessThan(2_000)
  }
})

test("checks what it sends as strictly as what it receives, and stays open", async () => {
  const { near, atFar } = connect()
  expect(() => near.send("evict", { session: 5 as never })).toThrow("field session is not valid")
  near.send("evict", { session: "a" })
  await until("the good one", () => atFar.length === 1)
})

test("flushed says whether everything has left, and calls back once it has", async () => {
  const { near, farStream, atFar } = connect()
  farStream.pause()
  near.send("evict", { session: "x".repeat(200_000) })
  let calls = 0
  expect(near.flushed(() => (calls += 1))).toBe(false)
  expect(calls).toBe(0)
  farStream.resume()
  await until("the call", () => calls === 1)
  expect(atFar).toHaveLength(1)
  near.abort()
  expect(near.flushed(() => (calls += 1))).toBe(false)
  expect(calls).toBe(1)
})

test("what is not urgent leaves at the end of the turn, or with the next that is, in order", async () => {
  const ends = connect()
  const { near, atFar } = ends
  near.send("evict", { session: "a" }, false)
  await Promise.resolve()
  near.send("evict", { session: "b" }, false)
  await new Promise<void>((resolve) => process.nextTick(resolve))
  expect(atFar).toEqual([])
  near.send("evict", { session: "c" })
  await until("the three", () => atFar.length === 3)
  near.send("evict", { session: "d" }, false)
  await until("the last", () => atFar.length === 4)
  expect(atFar.map((it) => (it as unknown as { session: string }).session)).toEqual(["a", "b", "c", "d"])
})

test("tells when all that had arrived together was handed on", async () => {
  const [nearStream, farStream] = duplexPair()
  const heard: string[] = []
  const far = new Link(
    farStream,
    { out: fromWorker, in: toWorker },
    {
      onMessage: (message) => heard.push((message as { session: string }).session),
      onRead: () => heard.push("read"),
      onClose: () => {},
    },
  )
  const frames = ["a", "b", "c"].map((session) => packed([4, session]))
  const half = frames[2]!.length - 2
  nearStream.write(Buffer.concat([frames[0]!, frames[1]!, frames[2]!.subarray(0, half)]))
  await until("the first two", () => heard.includes("read"))
  nearStream.write(frames[2]!.subarray(half))
  await until("the third", () => heard.includes("c"))
  expect(heard).toEqual(["a", "b", "read", "c", "read"])
  far.abort()
})

describe("closing", () => {
  test("in order sends what waits, and drops what either side says afterwards", async () => {
    const { near, far, atNear, atFar, closed } = connect()
    near.send("evict", { session: "last" })
    near.close()
    near.send("evict", { session: "too late" })
    far.send("parked", { evalId: "too late" })
    await until("the far end to close", () => atFar.length === 1)
    far.close()
    await until("both to be closed", () => closed.near !== undefined && closed.far !== undefined)
    expect(atFar).toEqual([{ type: "evict", session: "last" }])
    expect(atNear).toEqual([])
    expect(closed).toEqual({ near: "in order", far: "in order" })
  })

  test("at once drops what waits", async () => {
    const { near, atFar, closed } = connect()
    near.send("evict", { session: "never" })
    near.abort()
    expect(near.isClosed).toBe(true)
    await until("the near end to be closed", () => closed.near !== undefined)
    expect(atFar).toEqual([])
  })

  test("inside a frame is told as the reason", async () => {
    const { nearStream, farStream, closed } = connect()
    nearStream.write(packed([4, "a"]).subarray(0, 5))
    await until("the bytes to arrive", () => nearStream.writableLength === 0)
    // As the kernel does when the peer's process has died.
    farStream.destroy()
    await until("the far end to be closed", () => closed.far !== undefined)
    expect(String(closed.far)).toContain("inside a frame")
  })
})

describe("a peer", () => {
  test.each([
    ["of an unknown code", packed([99, 1]), "No message has the code 99"],
    ["with a wrong field", packed([4, 5]), "field session is not valid"],
    ["that is no array", packed({ type: "evict" }), "must be an array"],
    ["that is not msgpack", Uint8Array.of(0, 0, 0, 2, 0xc1, 0xc1), ""],
    ["above the limit", Uint8Array.of(255, 0, 0, 0), "the limit is"],
    ["of the other direction", packed([65, "evl_a"]), "No message has the code 65"],
  ])("that sends something %s is cut off with the reason, after what was good", async (_name, bytes, reason) => {
    const { nearStream, atFar, closed } = connect()
    nearStream.write(Buffer.concat([packed([4, "good"]), bytes, packed([4, "never"])]))
    await until("it to be cut off", () => closed.far !== undefined)
    expect(atFar).toEqual([{ type: "evict", session: "good" }])
    expect(closed.far).toBeInstanceOf(Error)
    expect(String(closed.far)).toContain(reason)
  })

  test("is not blamed for what the receiver's own handler throws", () => {
    const { farStream, closed } = connect(() => {
      throw new Error("the receiver's own fault")
    })
    expect(() => farStream.emit("data", packed([4, "a"]))).toThrow("own fault")
    expect(closed.far).toBeUndefined()
  })
})

test("what a peer said before it went is read, though a write to it fails first", async () => {
  const [server, nearStream, farStream] = await connectedSockets()
  const received: unknown[] = []
  let close!: (reason: Error | undefined) => void
  const closed = new Promise<Error | undefined>((resolve) => (close = resolve))
  const near = new Link(
    nearStream,
    { out: toWorker, in: fromWorker },
    { onMessage: (it) => received.push(it), onClose: close },
  )
  const far = new Link(farStream, { out: fromWorker, in: toWorker }, { onMessage() {}, onClose() {} })
  for (const [type, fields] of Object.entries(fromWorkerSamples)) far.send(type as "outcome", fields as never)
  far.flush()
  farStream.destroy()
  // All in one turn: this end has read nothing yet, and the kernel refuses what it writes.
  near.send("evict", { session: "a" })
  near.send("evict", { session: "b" })
  near.flush()
  expect(await closed).toMatchObject({ code: "EPIPE" })
  expect(received).toHaveLength(Object.keys(fromWorkerSamples).length)
  expect(nearStream.destroyed).toBe(true)
  server.close()
})

test("messages of one turn leave in one batch", async () => {
  const [nearStream, farStream] = duplexPair()
  let batches = 0
  const write = nearStream._writev?.bind(nearStream) ?? undefined
  nearStream._writev = (chunks, callback) => {
    batches += 1
    if (write !== undefined) return write(chunks, callback)
    farStream.push(Buffer.concat(chunks.map((it) => it.chunk as Buffer)))
    return callback()
  }
  const near: Near = new Link(nearStream, { out: toWorker, in: fromWorker }, { onMessage() {}, onClose() {} })
  const seen: unknown[] = []
  void new Link(farStream, { out: fromWorker, in: toWorker }, { onMessage: (it) => seen.push(it), onClose() {} })
  for (let index = 0; index < 50; index++) near.send("evict", { session: String(index) })
  await until("all to arrive", () => seen.length === 50)
  expect(batches).toBe(1)
})
