// OTP's supervisor_SUITE, group admin, case by case under its names.
//
// `get_callback_module` has no counterpart: a supervisor is made from a specification, not from a callback module.
/* oxlint-disable typescript/no-unsafe-type-assertion -- these specifications are wrong on purpose */
import { describe, expect, it } from "vitest"
import { checkChildSpecs, checkFlags, type ChildSpec, type SupervisorSpec } from "../../../supervisor/index.ts"
import { World } from "./world.ts"

const start: ChildSpec["start"] = () => "ignore"

describe("admin", () => {
  it("child_adm", async () => {
    const world = new World()
    const supervisor = await world.start({})
    const spec = world.child("a")
    expect(await world.finish(supervisor.countChildren())).toEqual({ specs: 0, active: 0, supervisors: 0, workers: 0 })
    expect(await world.finish(supervisor.startChild(spec))).toMatchObject({ ok: true, process: world.process("a") })
    expect(await world.finish(supervisor.startChild(spec))).toEqual({
      ok: false,
      error: { kind: "already_started", process: world.process("a") },
    })
    expect(await world.finish(supervisor.restartChild("a"))).toEqual({ ok: false, error: { kind: "running" } })
    expect(await world.finish(supervisor.deleteChild("a"))).toEqual({ ok: false, error: { kind: "running" } })
    expect(await world.finish(supervisor.terminateChild("a"))).toEqual({ ok: true })
    expect(await world.finish(supervisor.terminateChild("a"))).toEqual({ ok: true })
    expect(await world.finish(supervisor.startChild(spec))).toEqual({ ok: false, error: { kind: "already_present" } })
    expect(await world.finish(supervisor.restartChild("a"))).toMatchObject({ ok: true, process: world.process("a") })
    await world.finish(supervisor.terminateChild("a"))
    expect(await world.finish(supervisor.deleteChild("a"))).toEqual({ ok: true })
    for (const answer of [
      supervisor.deleteChild("a"),
      supervisor.restartChild("a"),
      supervisor.terminateChild("a"),
      supervisor.getChildSpec("a"),
    ]) {
      expect(await world.finish<unknown>(answer)).toEqual({ ok: false, error: { kind: "not_found" } })
    }
    await world.finish(supervisor.stop())
    await expect(supervisor.whichChildren()).rejects.toMatchObject({ kind: "noproc" })
  })

  it("child_adm_simple", async () => {
    const world = new World()
    const supervisor = await world.start({ strategy: "simple_one_for_one", children: [world.child("t")] })
    await world.finish(supervisor.startChild(["d1"]))
    const refused = { ok: false, error: { kind: "simple_one_for_one" } }
    expect(await world.finish(supervisor.terminateChild("t"))).toEqual(refused)
    expect(await world.finish(supervisor.restartChild("t"))).toEqual(refused)
    expect(await world.finish(supervisor.deleteChild("t"))).toEqual(refused)
    expect(await world.finish(supervisor.startChild(world.child("x")))).toMatchObject({
      error: { kind: "invalid_spec" },
    })
    expect(await world.finish(supervisor.whichChildren())).toEqual([
      { id: undefined, process: world.process("d1"), status: "running", type: "worker" },
    ])
    const first = world.process("d1")
    expect(await world.finish(supervisor.terminateChild(first))).toEqual({ ok: true })
    expect(await world.finish(supervisor.terminateChild(first))).toEqual({ ok: true })
    const foreign = (await world.start({ children: [world.child("foreign")] })).process
    expect(await world.finish(supervisor.terminateChild(foreign))).toEqual({ ok: false, error: { kind: "not_found" } })
  })

  it("extra_return", async () => {
    const world = new World()
    const supervisor = await world.start({ children: [world.child("a", { info: { port: 1 } })] })
    await world.exit("a", "boom")
    expect(world.isAlive("a")).toBe(true)
    await world.finish(supervisor.terminateChild("a"))
    expect(await world.finish(supervisor.restartChild("a"))).toMatchObject({ ok: true, info: { port: 1 } })
    expect(await world.finish(supervisor.startChild(world.child("b", { info: 7 })))).toMatchObject({
      ok: true,
      info: 7,
    })
  })

  const invalid: readonly (readonly [string, unknown, object])[] = [
    ["not an object", "nonsense", { kind: "invalid_child_spec", value: "nonsense" }],
    ["an id that is no string", { id: 7, start }, { kind: "invalid_id", value: 7 }],
    ["a start that is no function", { id: "a", start: "x" }, { kind: "invalid_start", value: "x" }],
    [
      "an unknown restart type",
      { id: "a", start, restart: "always" },
      { kind: "invalid_restart_type", value: "always" },
    ],
    ["a negative shutdown", { id: "a", start, shutdown: -1 }, { kind: "invalid_shutdown", value: -1 }],
    ["a shutdown of another kind", { id: "a", start, shutdown: "later" }, { kind: "invalid_shutdown", value: "later" }],
    ["an unknown type", { id: "a", start, type: "other" }, { kind: "invalid_child_type", value: "other" }],
    [
      "significant that is no boolean",
      { id: "a", start, restart: "transient", significant: 1 },
      { kind: "invalid_significant", value: 1 },
    ],
    ["a backoff that shrinks", { id: "a", start, backoff: { minMs: 9, maxMs: 1 } }, { kind: "invalid_backoff" }],
    ["a name that is no string", { id: "a", start, name: 1 }, { kind: "invalid_name", value: 1 }],
    ["no time to start", { id: "a", start, startTimeoutMs: 0 }, { kind: "invalid_start_timeout", value: 0 }],
  ]
  it.each(invalid)("child_specs: %s", async (_title, spec, problem) => {
    expect(checkChildSpecs([spec], "any_significant")).toMatchObject(problem)
    const world = new World()
    const supervisor = await world.start({ autoShutdown: "any_significant" })
    const answer = await world.finish(supervisor.startChild(spec as ChildSpec))
    expect(answer).toMatchObject({ ok: false, error: { kind: "invalid_spec", problem } })
  })

  it("child_specs_map", async () => {
    const world = new World()
    const temporary: ChildSpec = { id: "a", start, restart: "temporary", significant: true }
    expect(checkChildSpecs([temporary])).toMatchObject({ kind: "bad_combination", first: "autoShutdown: never" })
    expect(checkChildSpecs([{ ...temporary, restart: "permanent" }], "all_significant")).toMatchObject({
      kind: "bad_combination",
      first: "restart: permanent",
    })
    expect(checkChildSpecs([temporary], "all_significant")).toBeUndefined()
    expect(
      checkChildSpecs([
        { id: "a", start },
        { id: "b", start },
        { id: "a", start },
      ]),
    ).toEqual({
      kind: "duplicate_child_name",
      id: "a",
    })
    // The whole list is checked before anything starts.
    await expect(world.start({ children: [world.child("first"), world.child("first")] })).rejects.toMatchObject({
      kind: "invalid_spec",
    })
    expect(world.takeLog()).toEqual([])
  })

  const flags: readonly (readonly [object, object])[] = [
    [{ strategy: "none_for_one" }, { kind: "invalid_strategy", value: "none_for_one" }],
    [{ intensity: -1 }, { kind: "invalid_intensity", value: -1 }],
    [{ intensity: 1.5 }, { kind: "invalid_intensity", value: 1.5 }],
    [{ periodMs: 0 }, { kind: "invalid_period", value: 0 }],
    [{ autoShutdown: "now" }, { kind: "invalid_auto_shutdown", value: "now" }],
    [{ childrenMax: -1 }, { kind: "invalid_children_max", value: -1 }],
  ]
  it.each(flags)("sup_flags: %o", async (spec, problem) => {
    expect(checkFlags(spec as SupervisorSpec)).toEqual({ ok: false, problem })
    await expect(new World().start(spec as SupervisorSpec)).rejects.toMatchObject({ kind: "invalid_spec", problem })
  })

  it("count_children", async () => {
    const world = new World()
    const supervisor = await world.start({ children: [world.child("a"), world.child("b", { restart: "transient" })] })
    expect(await world.finish(supervisor.countChildren())).toEqual({ specs: 2, active: 2, supervisors: 0, workers: 2 })
    await world.exit("b", "normal")
    expect(await world.finish(supervisor.countChildren())).toEqual({ specs: 2, active: 1, supervisors: 0, workers: 2 })
  })

  it("count_children_supervisor", async () => {
    const world = new World()
    const supervisor = await world.start({ children: [world.supervisor("s", {}), world.supervisor("t", {})] })
    expect(await world.finish(supervisor.countChildren())).toEqual({ specs: 2, active: 2, supervisors: 2, workers: 0 })
    const template = { ...world.supervisor("t", {}), shutdown: 10 }
    const dynamic = await world.start({ strategy: "simple_one_for_one", children: [template] })
    await world.finish(dynamic.startChild([]))
    expect(await world.finish(dynamic.countChildren())).toEqual({ specs: 1, active: 1, supervisors: 1, workers: 0 })
  })

  it("count_restarting_children", async () => {
    const world = new World()
    const backoff = { minMs: 100, maxMs: 100 }
    const supervisor = await world.start({
      strategy: "simple_one_for_one",
      intensity: 9,
      children: [world.child("t", { backoff })],
    })
    for (const id of ["d1", "d2", "d3"]) await world.finish(supervisor.startChild([id]))
    await world.exit("d1", "boom")
    await world.exit("d2", "boom")
    expect(await world.finish(supervisor.countChildren())).toEqual({ specs: 1, active: 1, supervisors: 0, workers: 3 })
    await world.advance(100)
    expect(await world.finish(supervisor.countChildren())).toEqual({ specs: 1, active: 3, supervisors: 0, workers: 3 })
  })
})
