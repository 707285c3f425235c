// OTP's supervisor_SUITE: significant children and live changes of a specification, case by case under their names.
import { describe, expect, it } from "vitest"
import type { AutoShutdown, SupervisorSpec } from "../../../supervisor/index.ts"
import { World } from "./world.ts"

const triggers: readonly AutoShutdown[] = ["any_significant", "all_significant"]

describe("significant", () => {
  it.each(["temporary", "transient"] as const)("nonsignificant_%s", async (restart) => {
    for (const autoShutdown of ["never", ...triggers] as const) {
      const world = new World()
      const supervisor = await world.start({
        autoShutdown,
        children: [world.child("a", { restart }), world.child("b", { restart })],
      })
      await world.exit("a", "normal")
      await world.exit("b", "shutdown")
      expect(supervisor.process.isAlive).toBe(true)
    }
  })

  it("significant_temporary", async () => {
    for (const reason of ["normal", "shutdown", "boom"]) {
      const world = new World()
      const children = ["a", "b"].map((id) => world.child(id, { restart: "temporary", significant: true }))
      const any = await world.start({ autoShutdown: "any_significant", children: [...children, world.child("plain")] })
      world.takeLog()
      await world.exit("a", reason)
      expect(any.process.exitReason).toBe("shutdown")
      expect(world.takeLog()).toEqual([`-a ${reason}`, "-plain shutdown", "-b shutdown"])
      const all = await world.start({ autoShutdown: "all_significant", children })
      await world.exit("a", reason)
      expect(all.process.isAlive).toBe(true)
      await world.exit("b", reason)
      expect(all.process.exitReason).toBe("shutdown")
    }
  })

  it("significant_transient", async () => {
    const world = new World()
    const children = ["a", "b"].map((id) => world.child(id, { restart: "transient", significant: true }))
    const supervisor = await world.start({ autoShutdown: "all_significant", intensity: 5, children })
    await world.exit("a", "boom")
    expect(world.isAlive("a")).toBe(true)
    await world.exit("a", { shutdown: "done" })
    expect(supervisor.process.isAlive).toBe(true)
    await world.exit("b", "normal")
    expect(supervisor.process.exitReason).toBe("shutdown")
  })

  it("significant_simple", async () => {
    for (const autoShutdown of triggers) {
      const world = new World()
      const template = world.child("t", { restart: "temporary", significant: true })
      const supervisor = await world.start({ strategy: "simple_one_for_one", autoShutdown, children: [template] })
      await world.finish(supervisor.startChild(["d1"]))
      await world.finish(supervisor.startChild(["d2"]))
      await world.exit("d1", "normal")
      expect(supervisor.process.isAlive).toBe(autoShutdown === "all_significant")
      await world.exit("d2", "normal")
      expect(supervisor.process.exitReason).toBe("shutdown")
    }
  })

  it("significant_bystander", async () => {
    // Stopped because of a sibling, or by an admin call: no end by itself, so no trigger.
    for (const strategy of ["one_for_all", "rest_for_one"] as const) {
      const world = new World()
      const significant = world.child("b", { restart: "temporary", significant: true })
      const supervisor = await world.start({
        strategy,
        autoShutdown: "any_significant",
        children: [world.child("a"), significant],
      })
      await world.exit("a", "boom")
      expect(world.isAlive("b")).toBe(false)
      expect(supervisor.process.isAlive).toBe(true)
      await world.finish(supervisor.startChild(significant))
      await world.finish(supervisor.terminateChild("b"))
      expect(supervisor.process.isAlive).toBe(true)
    }
  })

  it("significant_escalation", async () => {
    const world = new World()
    const leaf = world.child("leaf", { restart: "transient", significant: true })
    const inner = world.supervisor(
      "inner",
      { autoShutdown: "any_significant", children: [leaf, world.child("other")] },
      { restart: "transient", significant: true },
    )
    const root = await world.start({ autoShutdown: "any_significant", children: [inner, world.child("plain")] })
    world.takeLog()
    await world.exit("leaf", "normal")
    expect(world.takeLog()).toEqual(["-leaf normal", "-other shutdown", "-inner shutdown", "-plain shutdown"])
    expect(root.process.exitReason).toBe("shutdown")
    expect(world.told()).toEqual([])
  })

  const changes = [
    ["never", "any_significant"],
    ["any_significant", "never"],
    ["never", "all_significant"],
    ["all_significant", "never"],
    ["any_significant", "all_significant"],
    ["all_significant", "any_significant"],
  ] as const
  it.each(changes)("significant_upgrade: %s to %s", async (before, after) => {
    const world = new World()
    const spec = (autoShutdown: AutoShutdown): SupervisorSpec => ({
      autoShutdown,
      children: ["a", "b"].map((id) =>
        world.child(id, { restart: "transient", significant: autoShutdown !== "never" }),
      ),
    })
    const supervisor = await world.start(spec(before))
    expect(await world.finish(supervisor.changeSpec(spec(after)))).toEqual({ ok: true })
    await world.exit("a", "normal")
    expect(supervisor.process.isAlive).toBe(after !== "any_significant")
    await world.exit("b", "normal")
    expect(supervisor.process.isAlive).toBe(after === "never")
  })

  it("significant_upgrade_child", async () => {
    const world = new World()
    const spec = (significant: boolean): SupervisorSpec => ({
      autoShutdown: "any_significant",
      children: [world.child("a", { restart: "transient", significant })],
    })
    const supervisor = await world.start(spec(false))
    await world.finish(supervisor.changeSpec(spec(true)))
    await world.exit("a", "normal")
    expect(supervisor.process.exitReason).toBe("shutdown")
  })
})

describe("upgrade", () => {
  it.each(["code_change", "code_change_map"])("%s", async () => {
    // Tuples and maps are one thing here, so both names are one case.
    const world = new World()
    const before = {
      intensity: 1,
      children: [world.child("a", { shutdown: 5000, onStop: "hang" }), world.child("gone")],
    }
    const supervisor = await world.start(before)
    const process = world.process("a")
    world.takeLog()
    const changed = { intensity: 7, children: [world.child("new"), world.child("a", { shutdown: 50, onStop: "hang" })] }
    expect(await world.finish(supervisor.changeSpec(changed))).toEqual({ ok: true })
    // Nothing has been touched; the new one waits, the one that is not named stays.
    expect(world.takeLog()).toEqual([])
    expect(world.process("a")).toBe(process)
    expect(supervisor.state.flags.intensity).toBe(7)
    expect((await world.finish(supervisor.whichChildren())).map(({ id, status }) => `${id} ${status}`)).toEqual([
      "gone running",
      "a running",
      "new stopped",
    ])
    const fromMs = world.clock.now()
    await world.finish(supervisor.terminateChild("a"))
    // The changed shutdown applies to the next stop.
    expect(world.clock.now() - fromMs).toBe(50)
    await world.exit("gone", "boom")
    expect(world.isAlive("gone")).toBe(true)
    expect(await world.finish(supervisor.changeSpec({ intensity: -1 }))).toMatchObject({
      error: { kind: "invalid_spec", problem: { kind: "invalid_intensity" } },
    })
    expect(supervisor.state.flags.intensity).toBe(7)
  })

  it.each(["code_change_simple", "code_change_simple_map"])("%s", async () => {
    const world = new World()
    const spec = (shutdown: number): SupervisorSpec => ({
      strategy: "simple_one_for_one",
      children: [world.child("t", { shutdown, onStop: "hang" })],
    })
    const supervisor = await world.start(spec(5000))
    await world.finish(supervisor.startChild(["d1"]))
    expect(await world.finish(supervisor.changeSpec(spec(50)))).toEqual({ ok: true })
    expect(await world.finish(supervisor.changeSpec({ ...spec(50), children: [] }))).toMatchObject({
      error: { problem: { kind: "bad_template" } },
    })
    expect(await world.finish(supervisor.changeSpec({}))).toMatchObject({
      error: { problem: { kind: "invalid_strategy" } },
    })
    await world.finish(supervisor.stop())
    expect(world.clock.now()).toBe(50)
  })
})
