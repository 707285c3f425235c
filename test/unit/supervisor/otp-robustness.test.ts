// OTP's supervisor_SUITE: trees, loops of failing restarts, order, scale and reports, case by case under their names.
import { describe, expect, it } from "vitest"
import { Process, startSupervisor, type ChildSpec, type StartContext } from "../../../supervisor/index.ts"
import { childByProcess } from "../../../supervisor/children.ts"
import { World } from "./world.ts"

describe("misc", () => {
  it("child_unlink", async () => {
    // OTP: a child that unlinks itself cannot hang its supervisor's stop. Here that is a child that loses its exit notice:
    // the deadline and the kill do not depend on it.
    const world = new World()
    const deaf: ChildSpec = {
      id: "deaf",
      shutdown: 100,
      start: () => ({ kill: () => undefined, onExit: () => undefined, stop: () => undefined }),
    }
    const supervisor = await world.start({ children: [deaf] })
    expect(await world.finish(supervisor.stop())).toBe("shutdown")
    expect(world.clock.now()).toBe(100)
    expect(world.told()).toEqual(["child.shutdownFailed deaf killed"])
  })

  it("tree", async () => {
    const world = new World()
    const inner = (name: string) =>
      world.supervisor(name, { intensity: 1, children: [world.child(`${name}1`), world.child(`${name}2`)] })
    const root = await world.start({ strategy: "one_for_all", intensity: 1, children: [inner("x"), inner("y")] })
    world.takeLog()
    await world.exit("x1", "boom")
    expect(world.takeLog()).toEqual(["-x1 boom", "+x1"])
    // One more and x gives up, and takes y along; the restart of both is one restart of the root.
    await world.exit("x2", "boom")
    expect(world.takeLog()).toEqual([
      "-x2 boom",
      "-x1 shutdown",
      "-x shutdown",
      "-y2 shutdown",
      "-y1 shutdown",
      "-y shutdown",
      "+x1",
      "+x2",
      "+x",
      "+y1",
      "+y2",
      "+y",
    ])
    await world.exit("y1", "boom")
    await world.exit("y1", "boom")
    expect(root.process.exitReason).toBe("shutdown")
    for (const id of ["x1", "x2", "y1", "y2"]) expect(world.isAlive(id)).toBe(false)
  })

  it.each([
    ["hanging_restart_loop", "one_for_all"],
    ["hanging_restart_loop_rest_for_one", "rest_for_one"],
  ] as const)("%s", async (_name, strategy) => {
    // A start that never succeeds, without a limit that ends it: calls are still served, and so is the stop.
    const world = new World()
    const children = [world.child("a"), world.child("b")]
    const supervisor = await world.start({ strategy, intensity: 1_000_000, children })
    world.plan("b", { error: "nope" })
    const listed = world.system.queue
    world.process("b").kill()
    const during = supervisor.whichChildren()
    const stopped = supervisor.stop()
    expect(listed.isIdle).toBe(false)
    const entry = (await during).find(({ id }) => id === "b")
    expect(entry?.status === "restarting" || entry?.status === "running").toBe(true)
    expect(await stopped).toBe("shutdown")
    expect(world.isAlive("a")).toBe(false)
  })

  it("hanging_restart_loop_simple", async () => {
    const world = new World()
    const supervisor = await world.start({
      strategy: "simple_one_for_one",
      intensity: 1_000_000,
      children: [world.child("t")],
    })
    await world.finish(supervisor.startChild(["d1"]))
    world.plan("d1", { error: "nope" })
    const victim = world.process("d1")
    victim.kill()
    const isServed = await supervisor.countChildren()
    expect(isServed.workers).toBe(1)
    // Terminating the restarting child by its last process ends the loop.
    expect(await supervisor.terminateChild(victim)).toEqual({ ok: true })
    expect(await supervisor.countChildren()).toEqual({ specs: 1, active: 0, supervisors: 0, workers: 0 })
    expect(await supervisor.stop()).toBe("shutdown")
  })

  it("a restarting child: start_child, restart_child, delete_child, terminate_child", async () => {
    // Not a case of its own in OTP's suite: what the hanging_restart_loop cases ask meanwhile (S20).
    const world = new World()
    const backoff = { minMs: 1000, maxMs: 1000 }
    const spec = world.child("a", { backoff })
    const supervisor = await world.start({ children: [spec] })
    await world.exit("a", "boom")
    expect((await supervisor.whichChildren())[0]).toMatchObject({ status: "restarting", process: undefined })
    expect(await supervisor.countChildren()).toMatchObject({ specs: 1, active: 0 })
    expect(await supervisor.startChild(spec)).toMatchObject({ error: { kind: "already_present" } })
    expect(await supervisor.restartChild("a")).toMatchObject({ error: { kind: "restarting" } })
    expect(await supervisor.deleteChild("a")).toMatchObject({ error: { kind: "restarting" } })
    expect(await supervisor.terminateChild("a")).toEqual({ ok: true })
    world.takeLog()
    await world.advance(5000)
    expect(world.takeLog()).toEqual([])
    expect(await supervisor.deleteChild("a")).toEqual({ ok: true })
  })

  it("simple_global_supervisor", async () => {
    // A supervisor found by its name, whose name a second one cannot take, and which is free again when it has ended.
    const world = new World()
    const named = { name: "main", isRegistered: true }
    const first = await world.start({ children: [world.child("a")] }, named)
    expect(world.system.registry.whereis("main")).toBe(first.process)
    await expect(world.start({ children: [world.child("b")] }, named)).rejects.toMatchObject({
      kind: "already_registered",
    })
    expect(world.isAlive("b")).toBe(false)
    await world.finish(first.stop())
    expect(world.system.registry.whereis("main")).toBeUndefined()
    expect((await world.start({}, named)).process.isAlive).toBe(true)
  })

  it("order_of_children", async () => {
    const world = new World()
    const ids = ["a", "b", "c", "d", "e"]
    const supervisor = await world.start({
      strategy: "rest_for_one",
      intensity: 9,
      children: ids.slice(0, 4).map((id) => world.child(id)),
    })
    await world.finish(supervisor.startChild(world.child("e")))
    const order = async () => (await world.finish(supervisor.whichChildren())).map(({ id }) => id)
    expect(await order()).toEqual(["e", "d", "c", "b", "a"])
    await world.exit("c", "boom")
    expect(await order()).toEqual(["e", "d", "c", "b", "a"])
    await world.finish(supervisor.terminateChild("b"))
    await world.finish(supervisor.restartChild("b"))
    expect(await order()).toEqual(["e", "d", "c", "b", "a"])
    world.takeLog()
    await world.finish(supervisor.stop())
    expect(world.takeLog()).toEqual(["-e shutdown", "-d shutdown", "-c shutdown", "-b shutdown", "-a shutdown"])
  })

  it("scale_start_stop_many_children", async () => {
    const world = new World()
    const supervisor = await world.start({})
    const count = 5000
    for (let at = 0; at < count; at++) await supervisor.startChild(world.child(`c${at}`))
    expect(await supervisor.countChildren()).toMatchObject({ specs: count, active: count })
    for (let at = 0; at < count; at += 2) await supervisor.terminateChild(`c${at}`)
    for (let at = 0; at < count; at += 2) await supervisor.deleteChild(`c${at}`)
    expect(await supervisor.countChildren()).toMatchObject({ specs: count / 2, active: count / 2 })
    expect(await world.finish(supervisor.stop())).toBe("shutdown")
  })

  it("simple_one_for_one_scale_many_temporary_children", async () => {
    const world = new World()
    const template = world.child("t", { restart: "temporary" })
    const supervisor = await world.start({ strategy: "simple_one_for_one", children: [template] })
    for (let at = 0; at < 5000; at++) await supervisor.startChild([`d${at}`])
    for (let at = 0; at < 5000; at++) world.process(`d${at}`).kill()
    await world.quiet()
    expect(await supervisor.countChildren()).toEqual({ specs: 1, active: 0, supervisors: 0, workers: 0 })
    // Nothing is left of them, in any index.
    expect(supervisor.state.children.bySlot.size).toBe(0)
    expect(supervisor.state.children.bySlot.root).toEqual([])
  })

  it("do_not_save_start_parameters_for_temporary_children", async () => {
    const world = new World()
    const kept: unknown[] = []
    for (const restart of ["temporary", "permanent"] as const) {
      const template = world.child(restart, { restart })
      const supervisor = await world.start({ strategy: "simple_one_for_one", children: [template] })
      const answer = await world.finish(supervisor.startChild([`${restart}-1`, "large"]))
      if (!answer.ok || answer.process === undefined) throw new Error("not started")
      kept.push(childByProcess(supervisor.state.children, answer.process)?.args)
    }
    expect(kept).toEqual([[], ["permanent-1", "large"]])
  })

  it("do_not_save_child_specs_for_temporary_children", async () => {
    const world = new World()
    const supervisor = await world.start({ children: [world.child("a", { restart: "temporary" })] })
    await world.finish(supervisor.terminateChild("a"))
    expect(await world.finish(supervisor.getChildSpec("a"))).toMatchObject({ error: { kind: "not_found" } })
    expect(supervisor.state.children.slotById.items).toEqual([])
  })

  it("format_log_1: a report has the supervisor, the reason and the offender", async () => {
    const world = new World()
    await world.start({ children: [world.child("a", { restart: "transient", shutdown: 10 })] }, { name: "main" })
    const process = world.process("a")
    await world.exit("a", "boom")
    expect(world.reports.find(({ event }) => event === "child.terminated")).toEqual({
      event: "child.terminated",
      supervisor: "main",
      reason: "boom",
      offender: { id: "a", process, restart: "transient", shutdown: 10, type: "worker", significant: false },
      children: 1,
      atMs: 0,
    })
  })

  it("format_log_2: progress is reported for every start and restart", async () => {
    const world = new World()
    const nested = world.supervisor("s", { children: [world.child("a")] })
    await world.start({ children: [nested] }, { name: "main" })
    await world.exit("a", "boom")
    const started = world.reports.filter(({ event }) => event === "child.started")
    expect(started.map(({ supervisor, offender }) => `${supervisor} ${offender.id}`)).toEqual([
      "main/s a",
      "main s",
      "main/s a",
    ])
  })
})

describe("relations (S27)", () => {
  it("an order from the parent stops it; signals from others are ignored; a kill reaches the children as `killed`", async () => {
    const world = new World()
    let context: StartContext | undefined
    const nested: ChildSpec = {
      id: "s",
      type: "supervisor",
      start: (given) => {
        context = given
        return startSupervisor({ children: [world.child("a")] }, given)
      },
    }
    const root = await world.start({ children: [nested] })
    const inner = root.child("s")
    expect(context?.parent).toBe(root.process)
    const stranger = new Process(world.system, { kill: () => undefined, onExit: () => undefined }, "stranger")
    inner?.signal("shutdown", stranger)
    inner?.signal("boom")
    await world.quiet()
    expect(inner?.isAlive).toBe(true)
    world.takeLog()
    root.kill()
    await world.quiet()
    expect(root.process.exitReason).toBe("killed")
    expect(inner?.exitReason).toBe("killed")
    expect(world.takeLog()).toEqual(["-a shutdown"])
  })
})
