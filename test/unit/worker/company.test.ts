// When outcomes of a real worker leave that others wait behind: in company, but never after anything of a later eval, and at once where another eval
// of the session waits for them. The host's main thread is this test.
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import type { Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterEach, expect, test } from "vitest"
import { ThreadPool } from "../../../runtime/host/pool.ts"
import { fromWorker, toWorker } from "../../../runtime/wire/schema.ts"
import type { FieldsOf, MessageOf } from "../../../runtime/wire/schema.ts"
import { Link } from "../../../runtime/wire/transport.ts"
import { standardCapabilities } from "../../../stdlib/capabilities.ts"
import { until } from "../../until.ts"

const ended: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const end of ended.splice(0)) await end()
})

interface Peer {
  readonly pool: ThreadPool
  readonly link: Link<typeof toWorker, typeof fromWorker>
  readonly heard: MessageOf<typeof fromWorker>[]
  /** Outcomes that came by way of the host. */
  readonly relayed: string[]
}

async function startWorker(): Promise<Peer> {
  const folder = mkdtempSync(join(tmpdir(), "nacre-company-"))
  const path = join(folder, "workers")
  const server = createServer().listen(path)
  await once(server, "listening")
  const heard: Peer["heard"] = []
  const relayed: string[] = []
  let isRelaying = false
  let isGone = false
  let failure: string | undefined
  const pool = new ThreadPool(
    {
      hostId: "hst_test",
      socketPath: path,
      threadsMax: 1,
      heapMegabytesMax: 256,
      threadStopMs: 5_000,
      syncCallTimeoutMs: 1_000,
      // As hosts have it.
      env: { NODE_OPTIONS: "--experimental-vm-modules --no-warnings" },
      workerFile: fileURLToPath(new URL("../../../dist/runtime/worker/main.js", import.meta.url)),
    },
    {
      onSyncCall: () => {},
      onFrames: (_worker, frames) => {
        isRelaying = true
        link.receive(frames)
        isRelaying = false
      },
      onGone: (_worker, _entered, _begun, because) => {
        isGone = true
        failure = because
      },
      onStuck: () => {},
    },
  )
  let socket: Socket | undefined
  server.once("connection", (it) => (socket = it))
  pool.grow(0, "token")
  await until("its connection", () => {
    expect(failure).toBeUndefined()
    return socket !== undefined
  })
  const link: Peer["link"] = new Link(
    socket!,
    { out: toWorker, in: fromWorker },
    {
      onMessage: (message) => {
        heard.push(message)
        if (isRelaying && message.type === "outcome") relayed.push(message.evalId)
      },
      onClose: () => {},
    },
  )
  ended.push(async () => {
    link.abort()
    await until("the thread to be gone", () => isGone)
    server.close()
    rmSync(folder, { recursive: true, force: true })
  })
  await until("its hello", () => heard.length === 1)
  return { pool, link, heard, relayed }
}

const checkpoint = {
  definitions: [],
  locals: [],
  plain: [],
  groups: [],
  sources: [],
  lost: [],
  tools: [],
  kind: "service",
  profile: "standard",
  capabilities: standardCapabilities.split(","),
  directory: "/",
}

function evalOf(seq: number, source: string, more: Partial<FieldsOf<typeof toWorker.eval>> = {}) {
  const evalId = `evl_${seq}`
  const place = { file: evalId, line: 1, atomic: false, limits: [1_000, 1_000, 1_000] }
  return { seq, session: `ses_${seq}`, evalId, commit: 0, source, ...place, checkpoint, ...more }
}

/** Frees a thread that computes for ever. */
function interrupt({ pool }: Peer, seq: number): Promise<string> {
  return new Promise((resolve) => pool.interrupt(0, seq, 15, (found) => resolve(found)))
}

test("an outcome that others wait behind is relayed by the host when the next eval computes for ever", async () => {
  const peer = await startWorker()
  const { pool, link, heard, relayed } = peer
  link.send("eval", evalOf(1, "1 + 1"))
  link.send("eval", evalOf(2, "for (;;);"))
  await until("the outcome", () => {
    pool.relayStale()
    return heard.some((it) => it.type === "outcome")
  })
  expect(relayed).toEqual(["evl_1"])
  expect(await interrupt(peer, 2)).toBe("terminating")
})

test("an outcome that its own session's next eval waits for leaves before the next eval begins, with those ahead of it", async () => {
  const peer = await startWorker()
  const { link, heard, relayed } = peer
  link.send("eval", evalOf(1, "1 + 1"))
  link.send("eval", evalOf(2, "2 + 2", { isAwaited: true }))
  link.send("eval", evalOf(3, "for (;;);"))
  await until("both outcomes", () => heard.length === 3)
  expect(heard.slice(1).map((it) => it.type === "outcome" && it.evalId)).toEqual(["evl_1", "evl_2"])
  expect(relayed).toEqual([])
  expect(await interrupt(peer, 3)).toBe("terminating")
})

test("nothing of an eval is seen before the outcomes ahead of it, and none is missing, in whatever companies they leave", async () => {
  const { link, heard } = await startWorker()
  const count = 40
  for (let seq = 1; seq <= count; seq++) {
    const says = seq % 3 === 0 ? `console.log(${seq});` : seq % 7 === 0 ? "setTimeout(() => {}, 1);" : ""
    link.send("eval", evalOf(seq, `${says} let x = ${seq}; x`, seq % 5 === 0 ? { isAwaited: true } : {}))
  }
  await until("all outcomes", () => heard.filter((it) => it.type === "outcome").length === count)
  let last = 0
  for (const message of heard) {
    if (message.type === "outcome") {
      expect(message.seq).toBe(last + 1)
      last = message.seq
    } else if (message.type === "output") expect(message.evalId).toBe(`evl_${last + 1}`)
  }
  expect(heard.filter((it) => it.type === "output")).toHaveLength(Math.floor(count / 3))
})

test("a thread that is ended leaves the outcomes that waited, and says how far it had begun", async () => {
  const peer = await startWorker()
  const { link, heard, relayed } = peer
  for (let seq = 1; seq <= 5; seq++) link.send("eval", evalOf(seq, "1 + 1"))
  link.send("eval", evalOf(6, "for (;;);"))
  await until("it to compute", async () => (await interrupt(peer, 6)) === "terminating")
  await until("what it left", () => heard.filter((it) => it.type === "outcome").length === 5)
  const outcomes = heard.filter((it) => it.type === "outcome").map((it) => it.evalId)
  expect(outcomes).toEqual(["evl_1", "evl_2", "evl_3", "evl_4", "evl_5"])
  expect(relayed.length).toBeGreaterThan(0)
})
