// OTP's supervisor_SUITE, groups sup_start, sup_start_map and sup_stop, case by case under their names.
/* oxlint-disable typescript/no-unsafe-type-assertion -- these specifications are wrong on purpose */
import { describe, expect, it } from "vitest"
import { startSupervisor, type ChildSpec } from "../../../supervisor/index.ts"
import { World } from "./world.ts"

describe("sup_start", () => {
  it("sup_start_normal", async () => {
    const world = new World()
    const supervisor = await world.start({ children: [world.child("a")] })
    expect(supervisor.process.isAlive).toBe(true)
    expect(await world.finish(supervisor.stop())).toBe("shutdown")
    expect(world.takeLog()).toEqual(["+a", "-a shutdown"])
  })

  it("sup_start_ignore_init", async () => {
    // There is no init callback here: a start that would make the supervisor answers `ignore` in its place.
    const world = new World()
    const nested: ChildSpec = { id: "nested", type: "supervisor", start: () => "ignore" }
    const supervisor = await world.start({ children: [nested, world.child("a")] })
    expect(await world.finish(supervisor.countChildren())).toEqual({ specs: 2, active: 1, supervisors: 1, workers: 1 })
  })

  it("sup_start_ignore_child", async () => {
    const world = new World()
    const supervisor = await world.start({ children: [world.child("a", { plan: ["ignore"] })] })
    expect(await world.finish(supervisor.whichChildren())).toEqual([
      { id: "a", process: undefined, status: "stopped", type: "worker" },
    ])
    const answer = await world.finish(supervisor.startChild(world.child("b", { plan: ["ignore"] })))
    expect(answer).toEqual({ ok: true, process: undefined, info: undefined })
    expect(await world.finish(supervisor.countChildren())).toEqual({ specs: 2, active: 0, supervisors: 0, workers: 2 })
  })

  it("sup_start_ignore_temporary_child", async () => {
    const world = new World()
    const spec = world.child("a", { plan: ["ignore"], restart: "temporary" })
    const supervisor = await world.start({ children: [spec, world.child("b")] })
    expect((await world.finish(supervisor.whichChildren())).map(({ id }) => id)).toEqual(["b"])
  })

  it("sup_start_ignore_temporary_child_start_child", async () => {
    const world = new World()
    const supervisor = await world.start({})
    const spec = world.child("a", { plan: ["ignore"], restart: "temporary" })
    expect(await world.finish(supervisor.startChild(spec))).toMatchObject({ ok: true, process: undefined })
    expect(await world.finish(supervisor.countChildren())).toMatchObject({ specs: 0 })
  })

  it.each(["temporary", "permanent"] as const)("sup_start_ignore_%s_child_start_child_simple", async (restart) => {
    const world = new World()
    const template = world.child("t", { plan: ["ignore"], restart })
    const supervisor = await world.start({ strategy: "simple_one_for_one", children: [template] })
    expect(await world.finish(supervisor.startChild(["d1"]))).toMatchObject({ ok: true, process: undefined })
    expect(await world.finish(supervisor.countChildren())).toEqual({ specs: 1, active: 0, supervisors: 0, workers: 0 })
    expect(await world.finish(supervisor.stop())).toBe("shutdown")
  })

  it("sup_start_error_return", async () => {
    // What a bad return of init is in OTP is a specification that is none.
    await expect(startSupervisor(JSON.parse('"nonsense"'))).rejects.toMatchObject({
      kind: "invalid_spec",
      problem: { kind: "invalid_supervisor_spec", value: "nonsense" },
    })
  })

  it("sup_start_fail", async () => {
    const world = new World()
    const nested: ChildSpec = {
      id: "nested",
      type: "supervisor",
      start: () => {
        throw new Error("init crashed")
      },
    }
    await expect(world.start({ children: [nested] })).rejects.toMatchObject({
      kind: "start_failed",
      exitReason: { shutdown: { failedToStartChild: "nested", reason: { threw: { message: "init crashed" } } } },
    })
  })

  it("sup_start_child_returns_error", async () => {
    const world = new World()
    const failing = world.child("c", { plan: [{ error: "nope" }] })
    await expect(world.start({ children: [world.child("a"), world.child("b"), failing] })).rejects.toMatchObject({
      kind: "start_failed",
      exitReason: { shutdown: { failedToStartChild: "c", reason: "nope" } },
    })
    expect(world.takeLog()).toEqual(["+a", "+b", "!c", "-b shutdown", "-a shutdown"])
    expect(world.told()).toEqual(["child.startFailed c nope"])
  })

  it("sup_start_restart_child_returns_error", async () => {
    const world = new World()
    const supervisor = await world.start({
      intensity: 1,
      children: [world.child("a", { plan: ["ok", { error: "nope" }] })],
    })
    await world.exit("a", "boom")
    expect(supervisor.process.exitReason).toBe("shutdown")
    expect(world.told()).toEqual([
      "child.terminated a boom",
      "child.startFailed a nope",
      "supervisor.gaveUp a reached_max_restart_intensity",
    ])
  })

  it("sup_start_child_returns_error_simple", async () => {
    const world = new World()
    const supervisor = await world.start({
      strategy: "simple_one_for_one",
      children: [world.child("t", { plan: [{ error: "nope" }] })],
    })
    const answer = await world.finish(supervisor.startChild(["d1"]))
    expect(answer).toEqual({ ok: false, error: { kind: "start_failed", id: "t", reason: "nope" } })
    expect(world.told()).toEqual([])
    expect(supervisor.process.isAlive).toBe(true)
  })
})

describe("sup_start_map", () => {
  it("sup_start_map", async () => {
    const world = new World()
    const supervisor = await world.start({ children: [world.child("a"), world.supervisor("s", {})] })
    expect(await world.finish(supervisor.getChildSpec("a"))).toMatchObject({
      ok: true,
      spec: { id: "a", restart: "permanent", shutdown: 5000, type: "worker", significant: false },
    })
    expect(await world.finish(supervisor.getChildSpec("s"))).toMatchObject({
      spec: { shutdown: "infinity", type: "supervisor" },
    })
    expect(supervisor.state.flags).toMatchObject({
      strategy: "one_for_one",
      intensity: 1,
      periodMs: 5000,
      autoShutdown: "never",
    })
  })

  it("sup_start_map_simple", async () => {
    const world = new World()
    const supervisor = await world.start({ strategy: "simple_one_for_one", children: [world.child("t")] })
    expect(await world.finish(supervisor.getChildSpec("t"))).toMatchObject({
      ok: true,
      spec: { id: "t", restart: "permanent" },
    })
    await expect(world.start({ strategy: "simple_one_for_one", children: [] })).rejects.toMatchObject({
      problem: { kind: "bad_template" },
    })
  })

  it("sup_start_map_faulty_specs", async () => {
    const world = new World()
    const good = world.child("a")
    const withoutId = { ...good, id: undefined }
    const withoutStart = { ...good, start: undefined }
    await expect(world.start({ children: [withoutId as unknown as ChildSpec] })).rejects.toMatchObject({
      problem: { kind: "missing_id" },
    })
    await expect(world.start({ children: [withoutStart as unknown as ChildSpec] })).rejects.toMatchObject({
      problem: { kind: "missing_start" },
    })
    const unknownKey = { ...good, color: "red" }
    expect((await world.start({ children: [unknownKey] })).process.isAlive).toBe(true)
  })
})

describe("sup_stop", () => {
  it("sup_stop_infinity", async () => {
    const world = new World()
    const patient = { shutdown: "infinity", onStop: { afterMs: 3_600_000 } } as const
    const supervisor = await world.start({
      children: [world.child("a", patient), world.child("b", { shutdown: "infinity" })],
    })
    const stopped = supervisor.stop()
    await world.advance(3_599_999)
    expect(world.isAlive("a")).toBe(true)
    expect(await world.finish(stopped)).toBe("shutdown")
    expect(world.told()).toEqual([])
  })

  it("sup_stop_timeout", async () => {
    const world = new World()
    const supervisor = await world.start({
      children: [
        world.child("slow", { shutdown: 1000, onStop: { afterMs: 2000 } }),
        world.child("hangs", { shutdown: 500, onStop: "hang" }),
        world.child("quick", { shutdown: 1000 }),
      ],
    })
    world.takeLog()
    await world.finish(supervisor.stop())
    // One at a time: the total is the sum of the timeouts.
    expect(world.clock.now()).toBe(1500)
    expect(world.takeLog()).toEqual(["-quick shutdown", "-hangs killed", "-slow killed"])
    expect(world.told()).toEqual(["child.shutdownFailed hangs killed", "child.shutdownFailed slow killed"])
  })

  it("sup_stop_timeout_dynamic", async () => {
    const world = new World()
    const template = world.child("t", { shutdown: 1000, onStop: "hang" })
    const supervisor = await world.start({ strategy: "simple_one_for_one", children: [template] })
    for (const id of ["d1", "d2", "d3"]) await world.finish(supervisor.startChild([id]))
    await world.finish(supervisor.stop())
    // All at once: one timeout for all.
    expect(world.clock.now()).toBe(1000)
    expect(world.told()).toEqual(["child.shutdownFailed t killed"])
    expect(world.reports.at(-1)?.children).toBe(3)
  })

  it("sup_stop_brutal_kill", async () => {
    const world = new World()
    const supervisor = await world.start({ children: [world.child("a", { shutdown: "brutal_kill", onStop: "hang" })] })
    await world.finish(supervisor.stop())
    expect(world.takeLog()).toEqual(["+a", "-a killed"])
    expect(world.told()).toEqual([])
  })

  it("sup_stop_brutal_kill_dynamic", async () => {
    const world = new World()
    const template = world.child("t", { shutdown: "brutal_kill", onStop: "hang" })
    const supervisor = await world.start({ strategy: "simple_one_for_one", children: [template] })
    for (const id of ["d1", "d2"]) await world.finish(supervisor.startChild([id]))
    await world.finish(supervisor.stop())
    expect(world.clock.now()).toBe(0)
    expect(world.told()).toEqual([])
  })

  it("sup_stop_race", async () => {
    // While the supervisor waits for one child, others die of their own reasons; each is found dead when its turn comes.
    const world = new World()
    const supervisor = await world.start({
      children: [
        world.child("a", { onStop: "hang" }),
        world.child("b", { restart: "transient", onStop: "hang" }),
        world.child("c", { onStop: { afterMs: 100 } }),
      ],
    })
    const stopped = supervisor.stop()
    await world.advance(50)
    await world.exit("a", "boom")
    await world.exit("b", "normal")
    expect(await world.finish(stopped)).toBe("shutdown")
    expect(world.told()).toEqual(["child.shutdownFailed a boom"])
    expect(world.clock.now()).toBe(100)
  })

  it("sup_stop_race: a permanent child that was to be killed and had ended with `shutdown` is reported", async () => {
    const world = new World()
    const supervisor = await world.start({
      children: [
        world.child("permanent", { shutdown: "brutal_kill" }),
        world.child("transient", { shutdown: "brutal_kill", restart: "transient" }),
        world.child("slow", { onStop: { afterMs: 100 } }),
      ],
    })
    const stopped = supervisor.stop()
    await world.advance(50)
    await world.exit("permanent", "shutdown")
    await world.exit("transient", "shutdown")
    await world.finish(stopped)
    expect(world.told()).toEqual(["child.shutdownFailed permanent shutdown"])
  })

  it("sup_stop_non_shutdown_exit_dynamic", async () => {
    const world = new World()
    const template = world.child("t", { onStop: { exit: "boom" } })
    const supervisor = await world.start({ strategy: "simple_one_for_one", children: [template] })
    for (const id of ["d1", "d2"]) await world.finish(supervisor.startChild([id]))
    expect(await world.finish(supervisor.stop())).toBe("shutdown")
    expect(world.told()).toEqual(["child.shutdownFailed t boom"])
  })
})
