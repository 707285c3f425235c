// OTP's supervisor_SUITE, groups normal, shutdown and abnormal termination, case by case under their names.
import { describe, expect, it } from "vitest"
import type { ExitReason, RestartType } from "../../../supervisor/index.ts"
import { World } from "./world.ts"

async function endOne(
  restart: RestartType,
  reason: ExitReason,
): Promise<{ log: string[]; told: string[]; specs: number; active: number }> {
  const world = new World()
  const supervisor = await world.start({ children: [world.child("a", { restart })] })
  world.takeLog()
  await world.exit("a", reason)
  const { specs, active } = await world.finish(supervisor.countChildren())
  return { log: world.takeLog(), told: world.told(), specs, active }
}

describe("normal_termination", () => {
  it("permanent_normal", async () => {
    expect(await endOne("permanent", "normal")).toEqual({
      log: ["-a normal", "+a"],
      told: ["child.terminated a normal"],
      specs: 1,
      active: 1,
    })
  })

  it("transient_normal", async () => {
    expect(await endOne("transient", "normal")).toEqual({ log: ["-a normal"], told: [], specs: 1, active: 0 })
  })

  it("temporary_normal", async () => {
    expect(await endOne("temporary", "normal")).toEqual({ log: ["-a normal"], told: [], specs: 0, active: 0 })
  })
})

describe("shutdown_termination", () => {
  const reasons: readonly ExitReason[] = ["shutdown", { shutdown: "done" }]

  it.each(reasons)("permanent_shutdown: %o", async (reason) => {
    expect(await endOne("permanent", reason)).toMatchObject({ specs: 1, active: 1 })
  })

  it.each(reasons)("transient_shutdown: %o", async (reason) => {
    expect(await endOne("transient", reason)).toMatchObject({ told: [], specs: 1, active: 0 })
  })

  it.each(reasons)("temporary_shutdown: %o", async (reason) => {
    expect(await endOne("temporary", reason)).toMatchObject({ told: [], specs: 0, active: 0 })
  })

  it("faulty_application_shutdown", async () => {
    // An application that brings its own tree down with `{ shutdown }` under a transient entry is not restarted by its neighbours.
    const world = new World()
    const inner = world.supervisor("app", { intensity: 0, children: [world.child("a")] }, { restart: "transient" })
    const supervisor = await world.start({ children: [inner, world.child("other")] })
    world.takeLog()
    await world.exit("a", { shutdown: "faulty" })
    expect(world.takeLog()).toEqual(['-a {"shutdown":"faulty"}', "-app shutdown"])
    expect(await world.finish(supervisor.countChildren())).toMatchObject({ specs: 2, active: 1 })
  })
})

describe("abnormal_termination", () => {
  it("permanent_abnormal", async () => {
    expect(await endOne("permanent", "boom")).toMatchObject({ told: ["child.terminated a boom"], specs: 1, active: 1 })
  })

  it("transient_abnormal", async () => {
    expect(await endOne("transient", "boom")).toMatchObject({ told: ["child.terminated a boom"], specs: 1, active: 1 })
  })

  it("temporary_abnormal", async () => {
    expect(await endOne("temporary", "boom")).toMatchObject({ told: ["child.terminated a boom"], specs: 0, active: 0 })
  })

  it.each(["one_for_all", "rest_for_one"] as const)("temporary_bystander: %s", async (strategy) => {
    const world = new World()
    const children = [world.child("a"), world.child("bystander", { restart: "temporary" })]
    const supervisor = await world.start({ strategy, children })
    world.takeLog()
    await world.exit("a", "boom")
    expect(world.takeLog()).toEqual(["-a boom", "-bystander shutdown", "+a"])
    expect((await world.finish(supervisor.whichChildren())).map(({ id }) => id)).toEqual(["a"])
  })
})
