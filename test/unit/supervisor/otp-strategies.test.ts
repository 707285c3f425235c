// OTP's supervisor_SUITE: restart intensity and the strategies, case by case under their names.
import { describe, expect, it } from "vitest"
import type { Strategy } from "../../../supervisor/index.ts"
import { World } from "./world.ts"

const abc = ["a", "b", "c"] as const

async function threeChildren(strategy: Strategy, intensity = 3) {
  const world = new World()
  const supervisor = await world.start({ strategy, intensity, children: abc.map((id) => world.child(id)) })
  world.takeLog()
  return { world, supervisor }
}

async function dynamic(intensity = 3, script: Parameters<World["child"]>[1] = {}) {
  const world = new World()
  const supervisor = await world.start({
    strategy: "simple_one_for_one",
    intensity,
    children: [world.child("t", script)],
  })
  for (const id of ["d1", "d2"]) await world.finish(supervisor.startChild([id]))
  world.takeLog()
  return { world, supervisor }
}

describe("restart_intensity", () => {
  it("multiple_restarts", async () => {
    const world = new World()
    const supervisor = await world.start({ intensity: 1, periodMs: 1000, children: [world.child("a")] })
    for (let round = 0; round < 5; round++) {
      await world.exit("a", "boom")
      // A restart of exactly one period ago still counts, so it takes a millisecond more.
      await world.advance(1001)
    }
    expect(supervisor.process.isAlive).toBe(true)
    await world.exit("a", "boom")
    await world.advance(1000)
    await world.exit("a", "boom")
    expect(supervisor.process.exitReason).toBe("shutdown")
  })
})

describe("restart_one_for_one", () => {
  it("one_for_one", async () => {
    const { world } = await threeChildren("one_for_one")
    await world.exit("b", "boom")
    expect(world.takeLog()).toEqual(["-b boom", "+b"])
  })

  it("one_for_one_escalation", async () => {
    const { world, supervisor } = await threeChildren("one_for_one", 4)
    for (let times = 0; times < 4; times++) await world.exit("a", "boom")
    world.takeLog()
    await world.exit("a", "boom")
    expect(world.takeLog()).toEqual(["-a boom", "-c shutdown", "-b shutdown"])
    expect(supervisor.process.exitReason).toBe("shutdown")
  })
})

describe("restart_one_for_all", () => {
  it("one_for_all", async () => {
    const { world } = await threeChildren("one_for_all")
    await world.exit("b", "boom")
    expect(world.takeLog()).toEqual(["-b boom", "-c shutdown", "-a shutdown", "+a", "+b", "+c"])
  })

  it("one_for_all_escalation", async () => {
    const { world, supervisor } = await threeChildren("one_for_all", 0)
    await world.exit("b", "boom")
    expect(world.takeLog()).toEqual(["-b boom", "-c shutdown", "-a shutdown"])
    expect(supervisor.process.exitReason).toBe("shutdown")
  })

  it("one_for_all_other_child_fails_restart", async () => {
    const { world } = await threeChildren("one_for_all")
    world.plan("b", { error: "nope" }, { error: "nope" }, "ok")
    await world.exit("a", "boom")
    // b fails, so the next attempts are b's; what had started in an attempt is stopped again first.
    expect(world.takeLog()).toEqual([
      "-a boom",
      "-c shutdown",
      "-b shutdown",
      "+a",
      "!b",
      "-a shutdown",
      "+a",
      "!b",
      "-a shutdown",
      "+a",
      "+b",
      "+c",
    ])
    expect(world.told()).toEqual(["child.terminated a boom", "child.startFailed b nope", "child.startFailed b nope"])
  })
})

describe("restart_rest_for_one", () => {
  it("rest_for_one", async () => {
    const { world } = await threeChildren("rest_for_one")
    await world.exit("b", "boom")
    expect(world.takeLog()).toEqual(["-b boom", "-c shutdown", "+b", "+c"])
  })

  it("rest_for_one_escalation", async () => {
    const { world, supervisor } = await threeChildren("rest_for_one", 0)
    await world.exit("b", "boom")
    expect(world.takeLog()).toEqual(["-b boom", "-c shutdown", "-a shutdown"])
    expect(supervisor.process.exitReason).toBe("shutdown")
  })

  it("rest_for_one_other_child_fails_restart", async () => {
    const { world } = await threeChildren("rest_for_one")
    world.plan("b", { error: "nope" }, { error: "nope" }, "ok")
    await world.exit("a", "boom")
    // Those before the failing one stay.
    expect(world.takeLog()).toEqual(["-a boom", "-c shutdown", "-b shutdown", "+a", "!b", "!b", "+b", "+c"])
  })
})

describe("restart_simple_one_for_one", () => {
  it("simple_one_for_one", async () => {
    const { world, supervisor } = await dynamic()
    await world.exit("d1", "boom")
    expect(world.takeLog()).toEqual(["-d1 boom", "+d1"])
    expect(await world.finish(supervisor.countChildren())).toMatchObject({ active: 2, workers: 2 })
  })

  it("simple_one_for_one_shutdown", async () => {
    const { world, supervisor } = await dynamic(3, { onStop: { afterMs: 100 } })
    await world.finish(supervisor.stop())
    expect(world.clock.now()).toBe(100)
    expect(world.takeLog().toSorted()).toEqual(["-d1 shutdown", "-d2 shutdown"])
  })

  it("simple_one_for_one_extra", async () => {
    const { world, supervisor } = await dynamic(3, { info: "extra" })
    expect(await world.finish(supervisor.startChild(["d3"]))).toMatchObject({ ok: true, info: "extra" })
    await world.exit("d3", "boom")
    expect(world.isAlive("d3")).toBe(true)
  })

  it("simple_one_for_one_escalation", async () => {
    const { world, supervisor } = await dynamic(1)
    await world.exit("d1", "boom")
    await world.exit("d1", "boom")
    expect(supervisor.process.exitReason).toBe("shutdown")
    expect(world.isAlive("d2")).toBe(false)
  })

  it("simple_one_for_one_corruption", async () => {
    // After a restart that failed and then succeeded the books are right: nothing is restarting, the old process is nobody.
    const { world, supervisor } = await dynamic(9)
    const dead = world.process("d1")
    world.plan("d1", { error: "nope" }, { error: "nope" }, "ok")
    await world.exit("d1", "boom")
    expect(supervisor.state.children.restartingCount).toBe(0)
    expect(await world.finish(supervisor.countChildren())).toEqual({ specs: 1, active: 2, supervisors: 0, workers: 2 })
    expect(await world.finish(supervisor.terminateChild(dead))).toEqual({ ok: true })
    expect(await world.finish(supervisor.countChildren())).toMatchObject({ active: 2 })
    expect(world.isAlive("d1")).toBe(true)
  })
})
