import { describe, expect, test } from "vitest"
import { World } from "../../simulation/world.ts"
import type { SimEval } from "../../simulation/world.ts"
import type { Step } from "../../simulation/twin-host.ts"

const compute = (ms: number): Step => ({ do: "compute", ms })
const park = (ms: number): Step => ({ do: "park", ms })
const short = [compute(1)]
const endless = [compute(Infinity)]
const parkedForEver = [park(Infinity)]

const ends = (evals: readonly SimEval[]): (string | undefined)[] => evals.map((it) => it.end)

describe("placement", () => {
  test("an eval goes to the worker that holds its session, and sends no checkpoint there", async () => {
    const world = new World({ hosts: { min: 2 } })
    await world.startHost()
    await world.startHost()
    const session = world.open()
    const first = world.eval(session, short)
    await world.clock.advance(50)
    const home = session.worker
    for (let round = 0; round < 5; round++) {
      const again = world.eval(session, short)
      await world.clock.advance(50)
      expect(again.begunOn).toEqual(first.begunOn)
      expect(session.worker).toBe(home)
    }
    expect(session.lost).toEqual([])
  })

  test("an idle host comes before a second eval on a busy one", async () => {
    const world = new World({ hosts: { min: 3 } })
    for (let i = 0; i < 3; i++) await world.startHost()
    const evals = [0, 1, 2].map(() => world.eval(world.open(), [compute(40)]))
    await world.clock.advance(10)
    expect(new Set(evals.map((it) => it.begunOn[0])).size).toBe(3)
  })

  test("what holds ephemerals waits for its worker, however long that computes", async () => {
    const world = new World({ hosts: { min: 2 } })
    await world.startHost()
    await world.startHost()
    const session = world.open()
    world.eval(session, short)
    await world.clock.advance(50)
    session.holdsEphemerals = true
    const home = session.worker
    // Others fill every worker, among them its own.
    const others = [0, 1].map(() => world.eval(world.open(), [compute(300)]))
    await world.clock.advance(10)
    const waiting = world.eval(session, short)
    await world.clock.advance(100)
    expect(waiting.begunOn).toEqual([])
    await world.quiesce(2_000)
    expect(ends([...others, waiting])).toEqual(["ok", "ok", "ok"])
    expect(session.worker).toBe(home)
    expect(session.lost).toEqual([])
  })

  test("what holds nothing moves away from a slow neighbour and is rebuilt elsewhere", async () => {
    const world = new World({ hosts: { min: 2 } })
    await world.startHost()
    await world.startHost()
    const session = world.open()
    const first = world.eval(session, short)
    await world.clock.advance(50)
    const neighbours = [0, 1].map(() => world.open())
    const evals = neighbours.map((it) => world.eval(it, [compute(1_000)]))
    await world.clock.advance(50)
    const slowOnHome = evals.find((it) => it.begunOn[0] === first.begunOn[0])!
    const free = evals.find((it) => it !== slowOnHome)!
    world.stop(free)
    await world.clock.advance(200)
    const moved = world.eval(session, short)
    await world.clock.advance(200)
    expect(moved.end).toBe("ok")
    expect(moved.begunOn[0]).not.toBe(first.begunOn[0])
  })

  test("a session whose eval was killed computes apart from parked neighbours for ten evals", async () => {
    const world = new World({ hosts: { min: 1, threadsPerHostMax: 4 }, restartMs: 20 })
    await world.startHost()
    const bad = world.open()
    const killed = world.eval(bad, endless)
    await world.clock.advance(100)
    world.stop(killed)
    await world.clock.advance(300)
    expect(killed.end).toBe("interrupted: terminated")
    expect(bad.apart).toBe(10)
    const parked = world.eval(world.open(), parkedForEver)
    await world.clock.advance(100)
    for (let round = 0; round < 10; round++) {
      const next = world.eval(bad, short)
      await world.clock.advance(300)
      expect(next.end).toBe("ok")
      expect(next.session.worker).not.toBe(parked.session.worker)
    }
    expect(bad.apart).toBe(0)
  })

  test("evals of a group of its own go only to its own host, and do not wait for the main group's room", async () => {
    const world = new World({ hosts: { min: 1, threadsPerHostMax: 1 } })
    const [main, spare] = [await world.startHost(), await world.startHost()]
    const blockers = Array.from({ length: 20 }, () => world.eval(world.open(), [compute(5_000)]))
    await world.clock.advance(100)
    const own = world.eval(world.open("own:1"), short)
    await world.clock.advance(300)
    expect(own).toMatchObject({ end: "ok", begunOn: [spare] })
    expect(blockers.flatMap((it) => it.begunOn).every((it) => it === main)).toBe(true)
  })

  test("nothing is sent to a host that is known to have ended", async () => {
    const world = new World({ hosts: { min: 2 } })
    const hosts = [await world.startHost(), await world.startHost()]
    // The process is gone, and the loss of its connections is still unread.
    hosts[0]!.isDead = true
    world.scheduler.onHostExit(hosts[0]!, { because: "host-killed", worker: -1, entered: 0 })
    const evals = Array.from({ length: 6 }, () => world.eval(world.open(), short))
    await world.quiesce(1_000)
    expect(ends(evals)).toEqual(evals.map(() => "ok"))
    expect(evals.every((it) => it.begunOn[0] === hosts[1])).toBe(true)
  })
})

describe("pipelining", () => {
  test("short evals are sent ahead, and each runs once in the order of its session", async () => {
    const world = new World()
    await world.startHost()
    const sessions = Array.from({ length: 20 }, () => world.open())
    const evals = Array.from({ length: 200 }, (_, i) => world.eval(sessions[i % 20]!, short))
    await world.quiesce(5_000)
    expect(ends(evals)).toEqual(evals.map(() => "ok"))
    expect(world.faults).toEqual([])
    for (const session of sessions)
      expect(session.log).toEqual(evals.filter((it) => it.session === session).map((it) => it.evalId))
  })

  test("what stands behind a slow head is taken back and runs elsewhere, once", async () => {
    const world = new World({ hosts: { min: 1, threadsPerHostMax: 2 } })
    await world.startHost()
    const slow = world.eval(world.open(), [compute(3_000)])
    const behind = Array.from({ length: 7 }, () => world.eval(world.open(), short))
    await world.clock.advance(1_500)
    expect(slow.end).toBeUndefined()
    expect(ends(behind)).toEqual(behind.map(() => "ok"))
    expect(world.faults).toEqual([])
    await world.quiesce(3_000)
    expect(slow.end).toBe("ok")
  })

  test("at every moment of a head's end nothing is lost or run twice by taking back", async () => {
    for (let ms = 10; ms < 60; ms++) {
      const world = new World({ hosts: { min: 1, threadsPerHostMax: 2 }, latencyMs: () => 3 })
      await world.startHost()
      const evals = [compute(ms), ...Array.from({ length: 7 }, (_, i) => compute(i + 1))].map((it) =>
        world.eval(world.open(), [it]),
      )
      await world.quiesce(2_000)
      expect([ms, ...ends(evals)]).toEqual([ms, ...evals.map(() => "ok")])
      expect(world.faults).toEqual([])
    }
  })
})

describe("growth", () => {
  test("a thread more comes when every one is blocked by a long eval, up to the maximum", async () => {
    const world = new World({ hosts: { min: 1, threadsPerHostMax: 3 } })
    const host = await world.startHost()
    const blockers = Array.from({ length: 5 }, () => world.eval(world.open(), [compute(4_000)]))
    await world.clock.advance(2_000)
    expect(host.threads.size).toBe(3)
    expect(blockers.filter((it) => it.begunOn.length > 0)).toHaveLength(3)
    await world.quiesce(20_000)
    expect(ends(blockers)).toEqual(blockers.map(() => "ok"))
    expect(host.threads.size).toBe(3)
  })

  test("load alone starts none", async () => {
    const world = new World({ hosts: { min: 1, threadsPerHostMax: 4 } })
    const host = await world.startHost()
    for (let i = 0; i < 300; i++) world.eval(world.open(), short)
    await world.quiesce(5_000)
    expect(host.threads.size).toBe(1)
  })

  test("parked evals are spread, and thousands of them are never refused", async () => {
    const world = new World({ hosts: { min: 2, threadsPerHostMax: 4 }, limits: { parkedPerWorker: 16 } })
    await world.startHost()
    await world.startHost()
    const parked = Array.from({ length: 1_000 }, () => world.eval(world.open(), [park(20_000)]))
    await world.clock.advance(10_000)
    expect(parked.every((it) => it.told.includes("parked"))).toBe(true)
    expect(world.hosts.reduce((sum, it) => sum + it.threads.size, 0)).toBe(8)
    await world.quiesce(60_000)
    expect(ends(parked)).toEqual(parked.map(() => "ok"))
  })
})

describe("eviction", () => {
  test("the least recently used realm goes first, one that holds ephemerals last, and says why", async () => {
    const world = new World({ limits: { residentsPerWorkerMax: 3 }, hosts: { min: 1, threadsPerHostMax: 1 } })
    await world.startHost()
    const sessions = Array.from({ length: 5 }, () => world.open())
    for (const session of sessions.slice(0, 3)) {
      world.eval(session, short)
      await world.clock.advance(50)
    }
    sessions[0]!.holdsEphemerals = true
    world.eval(sessions[3]!, short)
    await world.clock.advance(50)
    expect(sessions.map((it) => it.lost.length)).toEqual([0, 1, 0, 0, 0])
    for (const session of sessions.slice(2, 4)) session.holdsEphemerals = true
    world.eval(sessions[4]!, short)
    await world.clock.advance(50)
    // Only such are left: the one that was used least recently.
    expect(sessions.map((it) => it.lost.length)).toEqual([1, 1, 0, 0, 0])
    expect(sessions[0]!.lost[0]).toContain("too many residents")
    expect(world.faults).toEqual([])
  })

  test("idle realms go after a while, but not those that hold something or have work", async () => {
    const world = new World({ hosts: { min: 1 } })
    await world.startHost()
    const [idle, holding, parked] = [world.open(), world.open(), world.open()]
    for (const session of [idle, holding]) world.eval(session, short)
    world.eval(parked, parkedForEver)
    await world.clock.advance(100)
    holding.holdsEphemerals = true
    world.scheduler.evictIdle(world.clock.now())
    expect([idle, holding, parked].map((it) => it.worker !== undefined)).toEqual([false, true, true])
    const again = world.eval(idle, short)
    await world.clock.advance(50)
    expect(again.end).toBe("ok")
    expect(world.faults).toEqual([])
  })
})

describe("a spare", () => {
  test("takes over when a host of the main group ends, and a new one is asked for", async () => {
    const world = new World({ hosts: { min: 1 } })
    const [host, spare] = [await world.startHost(), await world.startHost()]
    const session = world.open()
    world.eval(session, short)
    await world.clock.advance(50)
    expect(world.scheduler.hasSpare).toBe(true)
    const wanted = world.wanted
    host.kill("host-killed")
    await world.clock.advance(20)
    const next = world.eval(session, short)
    await world.clock.advance(20)
    expect(next).toMatchObject({ end: "ok", begunOn: [spare] })
    expect(world.scheduler.hasSpare).toBe(false)
    expect(world.wanted).toBeGreaterThan(wanted)
  })
})

describe("time limits", () => {
  test("run from when an eval begins, not while it waits behind another", async () => {
    const world = new World({ hosts: { min: 1, threadsPerHostMax: 1 } })
    await world.startHost()
    const slow = world.eval(world.open(), [compute(1_000)])
    const limited = world.eval(world.open(), [compute(50)], 100)
    await world.quiesce(3_000)
    expect(ends([slow, limited])).toEqual(["ok", "ok"])
  })

  test("end a computing eval with its thread and a parked one without", async () => {
    const world = new World({ hosts: { min: 2 }, restartMs: 20 })
    await world.startHost()
    await world.startHost()
    const computing = world.eval(world.open(), endless, 200)
    const parked = world.eval(world.open(), parkedForEver, 200)
    await world.clock.advance(600)
    expect(ends([computing, parked])).toEqual(["timeout: terminated", "timeout: settled"])
  })

  test("are not judged by a loop that was blocked before it has read", async () => {
    const world = new World({ hosts: { min: 1 } })
    const host = await world.startHost()
    const evl = world.eval(world.open(), [compute(100)], 200)
    await world.clock.advance(20)
    world.clock.block(3_000)
    await world.quiesce(1_000)
    expect(evl.end).toBe("ok")
    expect(host.isDead).toBe(false)
  })
})

describe("stopping", () => {
  test("an eval that waits for room ends at once", async () => {
    const world = new World({ hosts: { min: 1, threadsPerHostMax: 1 } })
    await world.startHost()
    world.eval(world.open(), [compute(500)])
    await world.clock.advance(100)
    const waiting = world.eval(world.open(), short)
    world.stop(waiting)
    expect(waiting).toMatchObject({ end: "interrupted: unbegun", begunOn: [] })
  })

  test("a parked eval is settled by its worker within two messages", async () => {
    const world = new World()
    await world.startHost()
    const parked = world.eval(world.open(), parkedForEver)
    await world.clock.advance(50)
    const at = world.clock.now()
    world.stop(parked)
    await world.clock.advance(100)
    expect(parked.end).toBe("interrupted: settled")
    expect(parked.endedAt! - at).toBeLessThanOrEqual(2)
  })

  test("a parked eval behind a computing neighbour is settled without its worker, and the neighbour goes on", async () => {
    const world = new World({ hosts: { min: 1, threadsPerHostMax: 1 } })
    await world.startHost()
    const parked = world.eval(world.open(), parkedForEver)
    await world.clock.advance(50)
    const neighbour = world.eval(world.open(), [compute(500)])
    await world.clock.advance(30)
    world.stop(parked)
    await world.clock.advance(50)
    expect(parked.end).toBe("interrupted: abandoned")
    await world.quiesce(2_000)
    expect(neighbour.end).toBe("ok")
    const next = world.eval(parked.session, short)
    await world.quiesce(500)
    expect(next.end).toBe("ok")
    expect(world.faults).toEqual([])
  })

  test("a computing eval goes with its thread; what stood behind it runs elsewhere", async () => {
    const world = new World({ hosts: { min: 1, threadsPerHostMax: 1 } })
    const host = await world.startHost()
    const computing = world.eval(world.open(), endless)
    const behind = [0, 1, 2].map(() => world.eval(world.open(), short))
    await world.clock.advance(5)
    world.stop(computing)
    await world.quiesce(1_000)
    expect(ends([computing, ...behind])).toEqual(["interrupted: terminated", "ok", "ok", "ok"])
    expect(host.isDead).toBe(false)
    expect(world.faults).toEqual([])
  })

  test("an eval in native code takes its host with it after its bound", async () => {
    const world = new World({ restartMs: 20 })
    const host = await world.startHost()
    const stuck = world.eval(world.open(), [{ do: "native", ms: Infinity }])
    await world.clock.advance(50)
    world.stop(stuck)
    await world.clock.advance(500)
    expect(stuck.end).toBe("interrupted: native-code")
    expect(host.isDead).toBe(true)
  })

  test("an eval that ends by itself meanwhile has its own outcome", async () => {
    for (let ms = 0; ms < 25; ms++) {
      const world = new World()
      await world.startHost()
      const evl = world.eval(world.open(), [compute(20)])
      await world.clock.advance(ms)
      world.stop(evl)
      await world.quiesce(3_000)
      expect(evl.end).toMatch(/^(ok|interrupted: (unbegun|settled|terminated))$/)
      expect(world.faults).toEqual([])
    }
  })

  test("a host that does not answer is killed, and the eval ends", async () => {
    const world = new World({ restartMs: 20 })
    const host = await world.startHost()
    const evl = world.eval(world.open(), endless)
    await world.clock.advance(50)
    host.isSilent = true
    world.stop(evl)
    await world.clock.advance(5_000)
    expect(evl.end).toBe("interrupted: unresponsive")
    expect(host.isDead).toBe(true)
  })
})

describe("losses", () => {
  test("a thread that dies blames the eval it was in; parked neighbours end as neighbours, unbegun ones run elsewhere", async () => {
    const world = new World({ hosts: { min: 1, threadsPerHostMax: 1 } })
    await world.startHost()
    const parked = world.eval(world.open(), parkedForEver)
    await world.clock.advance(20)
    const guilty = world.eval(world.open(), [compute(10), { do: "die" }])
    const unbegun = world.eval(world.open(), short)
    await world.quiesce(2_000)
    expect(ends([guilty, parked, unbegun])).toEqual(["lost: out-of-memory", "lost: neighbour", "ok"])
    expect(guilty.session.apart).toBeGreaterThan(0)
    expect(parked.session.apart).toBe(0)
    expect(world.faults).toEqual([])
  })

  test("a parked eval that is resumed and kills its thread is the one blamed", async () => {
    const world = new World({ hosts: { min: 1, threadsPerHostMax: 1 } })
    await world.startHost()
    const bystander = world.eval(world.open(), parkedForEver)
    const guilty = world.eval(world.open(), [park(50), compute(5), { do: "die" }])
    await world.quiesce(1_000)
    expect(ends([guilty, bystander])).toEqual(["lost: out-of-memory", "lost: neighbour"])
  })

  test("a host that dies by the fault of one eval blames that one on every thread", async () => {
    const world = new World({ hosts: { min: 1, threadsPerHostMax: 2 }, restartMs: 20 })
    await world.startHost()
    const parked = Array.from({ length: 40 }, () => world.eval(world.open(), parkedForEver))
    await world.clock.advance(500)
    const guilty = world.eval(world.open(), [compute(5), { do: "kill" }])
    await world.quiesce(1_000)
    expect(guilty.end).toBe("lost: out-of-memory")
    expect(new Set(ends(parked))).toEqual(new Set(["lost: neighbour"]))
  })

  test("a host killed from outside is nobody's fault", async () => {
    const world = new World({ hosts: { min: 1, threadsPerHostMax: 1 }, restartMs: 20 })
    const host = await world.startHost()
    const parked = world.eval(world.open(), parkedForEver)
    await world.clock.advance(20)
    const computing = world.eval(world.open(), endless)
    await world.clock.advance(20)
    host.kill("host-killed")
    await world.clock.advance(100)
    expect(ends([parked, computing])).toEqual(["lost: host-killed", "lost: host-killed"])
    expect([parked.session.apart, computing.session.apart]).toEqual([0, 0])
  })

  test("a worker whose connection closes without a word of its host takes the host with it, after a while", async () => {
    const world = new World({ restartMs: 20 })
    const host = await world.startHost()
    const evl = world.eval(world.open(), parkedForEver)
    await world.clock.advance(50)
    host.threads.get(0)!.close()
    await world.clock.advance(3_000)
    expect(host.isDead).toBe(true)
    expect(evl.end).toBe("lost: worker-disconnected")
  })

  test("a thread that never reports takes its host with it, and what waited runs elsewhere", async () => {
    const world = new World({ limits: { hostStartTimeoutMs: 500 }, restartMs: 20 })
    const host = world.addHost()
    host.threads.get(0)!.isGone = true
    const evl = world.eval(world.open(), short)
    await world.quiesce(3_000)
    expect(host.isDead).toBe(true)
    expect(evl.end).toBe("ok")
  })
})

describe("memory", () => {
  test("a host above its share gets no new work, and is replaced once it is idle", async () => {
    const world = new World({ hosts: { min: 1, max: 2, memoryBytesMax: 100e6 } })
    const [full, spare] = [await world.startHost(), await world.startHost()]
    const session = world.open()
    world.eval(session, short)
    const parked = world.eval(world.open(), [park(500)])
    await world.clock.advance(50)
    world.scheduler.onMemory(full, 90e6)
    const next = world.eval(world.open(), short)
    await world.clock.advance(300)
    expect(next).toMatchObject({ end: "ok", begunOn: [spare] })
    expect(world.retired).toEqual([])
    await world.clock.advance(500)
    expect(parked.end).toBe("ok")
    expect(world.retired).toEqual([full])
  })

  test("a cramped host collects what it dropped, then drops half of its realms, then half of the rest", async () => {
    const world = new World({ hosts: { min: 1, threadsPerHostMax: 1, memoryBytesMax: 100e6 } })
    const host = await world.startHost()
    const sessions = Array.from({ length: 8 }, () => world.open())
    for (const session of sessions) {
      world.eval(session, short)
      await world.clock.advance(50)
    }
    const left = () => sessions.filter((it) => it.worker !== undefined).length
    const thread = host.threads.get(0)!
    const seen: { left: number; collections: number }[] = []
    // One report a second, as hosts do.
    for (const [rss, seconds] of [
      [50e6, 1],
      [70e6, 2],
      [50e6, 1],
      [70e6, 3],
      [70e6, 4],
      [70e6, 2],
      [50e6, 1],
      [70e6, 1],
    ] as const) {
      for (let second = 0; second < seconds; second++) {
        world.scheduler.onMemory(host, rss)
        await world.clock.advance(1_000)
      }
      seen.push({ left: left(), collections: thread.collections })
    }
    expect(seen).toEqual([
      { left: 8, collections: 0 },
      { left: 8, collections: 1 },
      { left: 8, collections: 1 },
      { left: 4, collections: 3 },
      { left: 4, collections: 3 },
      { left: 2, collections: 4 },
      { left: 2, collections: 4 },
      { left: 2, collections: 5 },
    ])
    expect(thread.realms.size).toBe(2)
    expect(world.faults).toEqual([])
  })

  test("only where every host is at its limit an eval is refused", async () => {
    const world = new World({ hosts: { min: 2, max: 2, memoryBytesMax: 100e6 } })
    const hosts = [await world.startHost(), await world.startHost()]
    const parked = [0, 1].map(() => world.eval(world.open(), parkedForEver))
    await world.clock.advance(50)
    for (const host of hosts) world.scheduler.onMemory(host, 99e6)
    const refused = world.eval(world.open(), short)
    expect(refused.end).toBe("refused: overloaded")
    world.scheduler.onMemory(hosts[0]!, 10e6)
    const accepted = world.eval(world.open(), short)
    await world.clock.advance(100)
    expect(accepted.end).toBe("ok")
    expect(ends(parked)).toEqual([undefined, undefined])
  })
})
