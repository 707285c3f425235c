// One nacre as a whole: starting, options, two in one process, stopping, and that nothing of it is left.
import { mkdtempSync, readdirSync } from "node:fs"
import { tmpdir } from "node:os"
import { afterEach, describe, expect, test } from "vitest"
import { Nacre } from "nacre"
import type { NacreEvent, NacreOptions } from "nacre"
import { checkLeaks, hostProcesses } from "../leak-check.ts"
import { gate, until } from "../until.ts"
import { refusal } from "./nacre-under-test.ts"

const nothingLeft = checkLeaks()
const started: Nacre[] = []

/** A nacre that is stopped after its test, however that ends. */
async function start(options: NacreOptions): Promise<Nacre> {
  const nacre = await Nacre.start(options)
  started.push(nacre)
  return nacre
}

afterEach(async () => {
  await Promise.all(started.splice(0).map((nacre) => nacre.stop()))
})

const small = { hosts: { min: 1, max: 1 } } as const

describe("starting", () => {
  test.each([
    [{ hosts: { mni: 1 } }, "hosts.mni"],
    [{ hosts: { min: 0 } }, "hosts.min"],
    [{ hosts: { min: 1.5 } }, "hosts.min"],
    [{ hosts: { min: "2" } }, "hosts.min"],
    [{ hosts: { min: 3, max: 2 } }, "hosts.max"],
    [{ hosts: { memoryBytesMax: 1024 } }, "hosts.memoryBytesMax"],
    [{ limits: { queueMaximum: 1 } }, "limits.queueMaximum"],
    [{ limits: { toString: 1 } }, "limits.toString"],
    [{ limits: { queueMax: -1 } }, "limits.queueMax"],
    [{ limits: { drainMs: Number.NaN } }, "limits.drainMs"],
    [{ tools: { "with space": () => 1 } }, "with space"],
    [{ tools: { text: "no function" } }, "text"],
    [{ host: { min: 1 } }, "start.host"],
  ])("with %j is refused before anything starts, naming it", async (options, name) => {
    const refused = await refusal(Nacre.start(options as never))
    expect(refused).toMatchObject({ kind: "invalid_options", retry: "never" })
    expect(refused.message).toContain(name)
    expect(hostProcesses()).toEqual([])
  })

  test("where hosts cannot become ready fails with host_unavailable within its bound, and leaves nothing", async () => {
    const events: NacreEvent[] = []
    // No process starts within this, so every host is killed before it is ready.
    const limits = { hostStartTimeoutMs: 10 }
    const refused = await refusal(Nacre.start({ ...small, limits, onEvent: (event) => events.push(event) }))
    expect(refused.kind).toBe("host_unavailable")
    expect(events.some((it) => it.type === "host.lost" && it.because === "start-timeout")).toBe(true)
    await until("no host to be left", () => hostProcesses().length === 0)
  })
})

test("two nacres in one process know nothing of each other", async () => {
  const [a, b] = await Promise.all([start(small), start(small)])
  const [inA, inB] = [await a.open({ id: "same" }), await b.open({ id: "same" })]
  await Promise.all([inA.eval("let who = 'a'"), inB.eval("let who = 'b'")])
  expect(await Promise.all([inA.run("who"), inB.run("who")])).toEqual(["a", "b"])
  await a.stop()
  expect(await inB.run("who")).toBe("b")
  expect((await refusal(inA.eval("1"))).kind).toBe("session_not_found")
  await b.stop()
})

describe("stopping", () => {
  test("lets what runs finish, refuses what is new, and is the same promise each time", async () => {
    const nacre = await start({ ...small, tools: { wait: () => held.opened } })
    const held = gate()
    const session = await nacre.open()
    const running = session.eval("await tools.wait(); 'finished'")
    await until("the eval to be parked", () =>
      nacre.placement().some((it) => it.workers.some((worker) => worker.parked > 0)),
    )
    const stopped = nacre.stop()
    expect(nacre.stop()).toBe(stopped)
    expect((await refusal(nacre.open())).kind).toBe("nacre_stopped")
    held.open()
    expect(await running).toMatchObject({ status: "ok", value: { data: "finished" } })
    await stopped
    expect((await refusal(nacre.open())).kind).toBe("nacre_stopped")
    expect((await refusal(session.eval("1"))).kind).toBe("session_not_found")
    expect(hostProcesses()).toEqual([])
  })

  test("lets finish what a session has accepted whose shell was still to start, and refuses what comes then", async () => {
    const nacre = await start(small)
    const [session, other] = [await nacre.open(), await nacre.open()]
    const accepted = session.eval("await new Promise((resolve) => setTimeout(resolve, 50)); 'finished'")
    const stopped = nacre.stop()
    expect((await refusal(other.eval("1"))).kind).toBe("nacre_stopped")
    expect(await accepted).toMatchObject({ status: "ok", value: { data: "finished" } })
    await stopped
  })

  test("interrupts what does not finish within its time, also what is queued, and what is in native code", async () => {
    const nacre = await start({ ...small, limits: { drainMs: 50 } })
    const session = await nacre.open()
    await session.eval("0")
    const running = session.eval("for (;;) new Float64Array(2e7).map(Math.random).sort()")
    const queued = session.eval("1")
    await nacre.stop()
    expect(await running).toMatchObject({ status: "interrupted" })
    expect(await queued).toMatchObject({ status: "interrupted" })
    await until("no host to be left", () => hostProcesses().length === 0)
  })

  test("right after starting, while the spare still starts, leaves nothing", async () => {
    for (let round = 0; round < 3; round++) {
      const nacre = await start(small)
      await nacre.stop()
    }
    await nothingLeft()
  })

  test("while hosts are being killed leaves nothing", async () => {
    const pids = new Set<number>()
    const nacre = await start({
      hosts: { min: 2, max: 3 },
      onEvent: (event) => {
        if (event.type === "host.started") pids.add(event.pid)
        if (event.type === "host.lost") pids.delete(event.pid)
      },
    })
    for (const pid of pids) process.kill(pid, "SIGKILL")
    await nacre.stop()
    await until("no host to be left", () => hostProcesses().length === 0)
  })

  test("by await using", async () => {
    let pid = 0
    {
      await using nacre = await start(small)
      await using session = await nacre.open()
      expect(await session.run("1")).toBe(1)
      pid = nacre.placement()[0]!.host.pid
    }
    expect(hostProcesses()).not.toContain(pid)
  })
})

test("hosts do not see the embedder's environment, and are process groups of their own", async () => {
  process.env["NACRE_TEST_SECRET"] = "secret"
  const nacre = await start(small)
  delete process.env["NACRE_TEST_SECRET"]
  const session = await nacre.open()
  expect((await session.eval("process.env")).error).toMatchObject({ kind: "capability_denied" })
  const { readFileSync } = await import("node:fs")
  for (const pid of hostProcesses()) {
    if (process.platform === "linux")
      expect(readFileSync(`/proc/${pid}/environ`, "latin1")).not.toContain("NACRE_TEST_SECRET")
    expect(() => process.kill(-pid, 0)).not.toThrow()
  }
  await nacre.stop()
})

test("the socket folder is for this user alone and goes with the nacre", async () => {
  const { statSync } = await import("node:fs")
  const before = process.env["TMPDIR"]
  process.env["TMPDIR"] = mkdtempSync(`${tmpdir()}/s-`)
  const nacre = await start(small)
  const folders = readdirSync(tmpdir())
  expect(folders).toHaveLength(1)
  expect(statSync(`${tmpdir()}/${folders[0]}`).mode & 0o077).toBe(0)
  await nacre.stop()
  expect(readdirSync(tmpdir())).toEqual([])
  const { rmdirSync } = await import("node:fs")
  rmdirSync(tmpdir())
  process.env["TMPDIR"] = before
})

test("a listener of events that throws harms nothing", async () => {
  const warned = gate()
  const listen = (): void => warned.open()
  process.once("warning", listen)
  const nacre = await start({
    ...small,
    onEvent: () => {
      throw new Error("the embedder's fault")
    },
  })
  const session = await nacre.open()
  expect(await session.run("1")).toBe(1)
  await warned.opened
  await nacre.stop()
})

test("an embedder whose loop was blocked for seconds kills no healthy host", async () => {
  const lost: NacreEvent[] = []
  const nacre = await start({
    ...small,
    limits: { hostSilenceMs: 1_000 },
    onEvent: (event) => event.type === "host.lost" && lost.push(event),
  })
  const session = await nacre.open()
  await session.eval("let x = 1")
  const timed = session.eval("for (let i = 0; i < 2e8; i++); x", { timeoutMs: 20_000 })
  for (let round = 0; round < 2; round++) {
    const end = performance.now() + 2_500
    while (performance.now() < end);
    await new Promise((resolve) => setImmediate(resolve))
  }
  expect(await timed).toMatchObject({ status: "ok", value: { data: 1 } })
  expect(lost).toEqual([])
  await nacre.stop()
})

test("a host that is stopped in its tracks is found out and replaced", async () => {
  const lost: NacreEvent[] = []
  const nacre = await start({
    ...small,
    limits: { hostSilenceMs: 1_000 },
    onEvent: (event) => event.type === "host.lost" && lost.push(event),
  })
  const session = await nacre.open()
  await session.eval("let x = 1")
  const { host } = nacre.placement().find((it) => it.group !== undefined)!
  process.kill(host.pid, "SIGSTOP")
  // It never read the eval, which the reset of its connection may tell: then it runs elsewhere, else it has crashed.
  const { status } = await session.eval("x = 2")
  expect([status, await session.run("x")]).toEqual(status === "ok" ? ["ok", 2] : ["crashed", 1])
  expect(lost).toContainEqual(expect.objectContaining({ because: "unresponsive" }))
  await nacre.stop()
})
