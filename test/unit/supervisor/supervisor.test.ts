// What this supervisor has beyond OTP's: limits, backoff, deadlines of starts and calls, names, trees.
/* oxlint-disable typescript/no-unsafe-type-assertion -- starts return here what their type forbids */
import { describe, expect, it } from "vitest"
import {
  printTree,
  Process,
  startSupervisor,
  SupervisionError,
  supervisorSpec,
  treeOf,
  type ChildSpec,
  type ProcessLike,
} from "../../../supervisor/index.ts"
import { World } from "./world.ts"

const inert: ProcessLike = { kill: () => undefined, onExit: () => undefined }

function breakLog(): never {
  throw new Error("log is broken")
}

describe("a limit of children", () => {
  it("refuses one more, counts restarting ones, and has room again after an end", async () => {
    const world = new World()
    const template = world.child("t", { restart: "permanent", backoff: { minMs: 100, maxMs: 100 } })
    const supervisor = await world.start({
      strategy: "simple_one_for_one",
      childrenMax: 2,
      intensity: 9,
      children: [template],
    })
    await supervisor.startChild(["d1"])
    await supervisor.startChild(["d2"])
    const refused = { ok: false, error: { kind: "max_children", childrenMax: 2 } }
    expect(await supervisor.startChild(["d3"])).toEqual(refused)
    const dying = world.process("d1")
    await world.exit("d1", "boom")
    expect(await supervisor.startChild(["d3"])).toEqual(refused)
    await supervisor.terminateChild(dying)
    expect(await supervisor.startChild(["d3"])).toMatchObject({ ok: true })
    const named = await world.start({ childrenMax: 1, children: [world.child("a")] })
    expect(await named.startChild(world.child("b"))).toMatchObject({ error: { kind: "max_children" } })
  })
})

describe("backoff", () => {
  it("waits longer after each failure, up to the maximum, and starts over after a quiet time", async () => {
    const world = new World()
    const backoff = { minMs: 100, maxMs: 400, jitter: 0.5, resetAfterMs: 1000 }
    await world.start({ intensity: 99, children: [world.child("a", { backoff })] })
    const waits: number[] = []
    for (let round = 0; round < 5; round++) {
      if (round === 4) await world.advance(1001)
      const fromMs = world.clock.now()
      await world.exit("a", "boom")
      expect(world.isAlive("a")).toBe(false)
      await world.advance((world.clock.nextDueMs ?? 0) - world.clock.now())
      expect(world.isAlive("a")).toBe(true)
      waits.push(world.clock.now() - fromMs)
    }
    // Half of each wait is drawn; the world's random number is always a half.
    expect(waits).toEqual([75, 150, 300, 300, 75])
  })

  it("is dropped with its supervisor", async () => {
    const world = new World()
    const supervisor = await world.start({ children: [world.child("a", { backoff: { minMs: 50, maxMs: 50 } })] })
    await world.exit("a", "boom")
    expect(await world.finish(supervisor.stop())).toBe("shutdown")
    expect(world.clock.timerCount).toBe(0)
  })

  it("of one child takes its group along when it is over", async () => {
    const world = new World()
    const a = world.child("a", { backoff: { minMs: 50, maxMs: 50 } })
    await world.start({ strategy: "one_for_all", children: [a, world.child("b")] })
    world.takeLog()
    await world.exit("a", "boom")
    expect(world.takeLog()).toEqual(["-a boom"])
    await world.advance(50)
    expect(world.takeLog()).toEqual(["-b shutdown", "+a", "+b"])
  })
})

describe("starts that are promises", () => {
  it("hold everything else back, and count when they are fulfilled", async () => {
    const world = new World()
    let ready: ((child: ProcessLike) => void) | undefined
    const spec: ChildSpec = { id: "a", start: () => new Promise<ProcessLike>((resolve) => (ready = resolve)) }
    const supervisor = await world.start({})
    const starting = supervisor.startChild(spec)
    const counting = supervisor.countChildren()
    await world.quiet()
    ready?.(inert)
    expect(await starting).toMatchObject({ ok: true })
    expect(await counting).toMatchObject({ specs: 1, active: 1 })
    expect(world.clock.timerCount).toBe(0)
  })

  it("that take too long have failed, and what they bring too late is killed", async () => {
    const world = new World()
    let ready: ((child: ProcessLike) => void) | undefined
    let kills = 0
    const spec: ChildSpec = {
      id: "a",
      startTimeoutMs: 100,
      start: () => new Promise<ProcessLike>((resolve) => (ready = resolve)),
    }
    const supervisor = await world.start({})
    const starting = supervisor.startChild(spec)
    await world.advance(100)
    expect(await starting).toEqual({
      ok: false,
      error: { kind: "start_failed", id: "a", reason: { startTimeoutMs: 100 } },
    })
    ready?.({ ...inert, kill: () => void kills++ })
    await world.quiet()
    expect(kills).toBe(1)
    expect(await supervisor.countChildren()).toMatchObject({ specs: 0 })
  })

  it("of a supervisor that is killed meanwhile are killed too", async () => {
    const world = new World()
    let ready: ((child: ProcessLike) => void) | undefined
    let kills = 0
    const supervisor = await world.start({})
    const starting = supervisor.startChild({
      id: "a",
      start: () => new Promise<ProcessLike>((resolve) => (ready = resolve)),
    })
    await world.quiet()
    supervisor.kill()
    await expect(starting).rejects.toMatchObject({ kind: "exited", exitReason: "killed" })
    ready?.({ ...inert, kill: () => void kills++ })
    await world.quiet()
    expect(kills).toBe(1)
  })

  it("that reject, and results that are nothing, are start failures with their reason", async () => {
    const world = new World()
    const supervisor = await world.start({})
    const start = (make: () => unknown) => supervisor.startChild({ id: "a", start: make as ChildSpec["start"] })
    expect(await start(() => Promise.reject(new Error("no")))).toMatchObject({
      error: { reason: { threw: { message: "no" } } },
    })
    for (const value of [undefined, 7, "text", {}, { child: {} }]) {
      expect(await start(() => value)).toEqual({
        ok: false,
        error: { kind: "start_failed", id: "a", reason: { badReturn: value } },
      })
    }
    const known = new SupervisionError("start_failed", "told apart", { exitReason: { exitCode: 3 } })
    expect(await start(() => Promise.reject(known))).toMatchObject({ error: { reason: { exitCode: 3 } } })
  })
})

describe("calls", () => {
  it("have a deadline, 30 s unless told otherwise, and late answers are dropped", async () => {
    const world = new World()
    const hangs = world.child("a", { onStop: "hang", shutdown: 60_000 })
    const supervisor = await world.start({ children: [hangs] })
    const stopping = supervisor.terminateChild("a")
    const hasty = supervisor.countChildren({ timeoutMs: 10 })
    const patient = supervisor.countChildren({ timeoutMs: Infinity })
    const failures = Promise.allSettled([stopping, hasty])
    await world.advance(10)
    await world.advance(29_990)
    expect(await failures).toMatchObject([
      { status: "rejected", reason: { kind: "timeout" } },
      { status: "rejected", reason: { kind: "timeout" } },
    ])
    expect(world.clock.now()).toBe(30_000)
    expect(await world.finish(patient)).toMatchObject({ specs: 1, active: 0 })
    expect(world.clock.timerCount).toBe(0)
  })

  it("a stop with a deadline becomes a kill", async () => {
    const world = new World()
    const supervisor = await world.start({ children: [world.child("a", { onStop: "hang", shutdown: "infinity" })] })
    const stopped = supervisor.stop("shutdown", { timeoutMs: 500 })
    expect(await world.finish(stopped)).toBe("killed")
    expect(world.clock.now()).toBe(500)
    expect(await supervisor.stop()).toBe("killed")
  })

  it("`await using` stops it", async () => {
    const world = new World()
    const supervisor = await world.start({ children: [world.child("a")] })
    await supervisor[Symbol.asyncDispose]()
    expect(world.isAlive("a")).toBe(false)
  })
})

describe("names of children", () => {
  it("belong to the running child, and a start that finds its name taken has failed", async () => {
    const world = new World()
    const { registry } = world.system
    const supervisor = await world.start({ children: [world.child("a", { name: "shared" })] })
    expect(registry.whereis("shared")).toBe(world.process("a"))
    expect(await supervisor.startChild(world.child("b", { name: "shared" }))).toMatchObject({
      error: { kind: "start_failed", reason: { alreadyRegistered: "shared" } },
    })
    expect(world.isAlive("b")).toBe(false)
    await world.exit("a", "boom")
    expect(registry.whereis("shared")).toBe(world.process("a"))
  })
})

describe("reports", () => {
  it("whose receiver throws cost nothing", async () => {
    const world = new World()
    await world.start({ children: [world.child("a")] }, { onReport: breakLog })
    await world.exit("a", "boom")
    expect(world.isAlive("a")).toBe(true)
    expect(world.thrown).toHaveLength(3)
  })
})

describe("the tree", () => {
  it("is printed with states and what children tell of themselves", async () => {
    const world = new World()
    const told: ChildSpec = {
      id: "told",
      start: () => new Process(world.system, { ...inert, describe: () => "pid 7" }, "told"),
    }
    const mute: ChildSpec = {
      id: "mute",
      start: () => ({
        ...inert,
        describe: () => {
          throw new Error("mute")
        },
      }),
    }
    const sessions = supervisorSpec("sessions", {
      strategy: "simple_one_for_one",
      children: [world.child("shell", { restart: "temporary" })],
    })
    const waiting = world.child("waiting", { backoff: { minMs: 10, maxMs: 10 } })
    const supervisor = await world.start(
      {
        strategy: "rest_for_one",
        children: [told, mute, sessions, world.child("down", { plan: ["ignore"] }), waiting],
      },
      { name: "main" },
    )
    const inner = supervisor.nested("sessions")
    for (const id of ["d1", "d2", "d3"]) await inner?.startChild([id])
    await world.exit("waiting", "boom")
    const lines = printTree(supervisor, { childrenMax: 5 }).split("\n")
    expect(lines[0]).toBe("main  rest_for_one")
    expect(lines.slice(1, 4)).toEqual([
      "├─ told  pid 7",
      "├─ mute  (cannot be described)",
      "├─ sessions  simple_one_for_one",
    ])
    expect(lines.slice(4, 7).every((line) => /^│  [├└]─ shell\[\d+\]$/.test(line))).toBe(true)
    expect(lines.slice(7)).toEqual(["├─ down (stopped)", "└─ waiting (restarting)"])
    const tree = treeOf(supervisor, { childrenMax: 2 })
    expect(tree).toMatchObject({ id: "main", type: "supervisor", status: "running", omitted: 3 })
    expect(printTree(supervisor, { childrenMax: 2 }).split("\n").at(-1)).toBe("└─ … 3 more")
    await world.finish(supervisor.stop())
    expect(treeOf(supervisor)).toMatchObject({ status: "ended", children: [] })
  })
})

describe("a supervisor alone", () => {
  it("runs on the real clock by default and has a system of its own", async () => {
    const supervisor = await startSupervisor({ children: [{ id: "a", start: () => ({ ...inert }) }] })
    expect(supervisor.child("a")?.isAlive).toBe(true)
    supervisor.kill()
    expect(supervisor.process.exitReason).toBe("killed")
    await expect(supervisor.countChildren()).rejects.toMatchObject({ kind: "noproc" })
  })
})
