// What careless and hostile code does to a supervisor: ask with `undefined`, kill it from a report, throw from an observer, end without a
// reason, return a proxy. None of it may hang, lose or orphan anything, or reach the Node process as an uncaught exception.
/* oxlint-disable typescript/no-unsafe-type-assertion -- what plain JavaScript passes, the types forbid */
import { spawn } from "node:child_process"
import { describe, expect, it } from "vitest"
import { createActor, fromCallback, fromTransition, setup, type AnyActor, type EventObject } from "xstate"
import {
  call,
  formatReason,
  monitor,
  readyOsProcess,
  startSupervisor,
  supervisorSpec,
  whenExited,
  type ExitReason,
  type Process,
  type ProcessLike,
} from "../../../supervisor/index.ts"
import { World } from "./world.ts"

const reducer = fromTransition((state: number, event: EventObject) => {
  if (event.type === "bad") throw new Error("bad")
  return state + 1
}, 0)

const actor = (): AnyActor => createActor(reducer)

const hostile: object = new Proxy(
  {},
  {
    has: () => {
      throw new Error("has")
    },
    get: () => {
      throw new Error("get")
    },
  },
)

async function afterTimers(world: World): Promise<void> {
  await world.quiet()
  await new Promise((resolve) => setTimeout(resolve, 2))
  await world.quiet()
}

function isStopped(made: AnyActor | undefined): boolean {
  return (made as unknown as { _processingStatus: number })._processingStatus === 2
}

/** Ends with whatever it is told, as plain JavaScript may. */
function ending(): { like: ProcessLike; end: (reason: unknown) => void } {
  let listener: ((reason: ExitReason) => void) | undefined
  const like: ProcessLike = { kill: () => undefined, onExit: (told) => (listener = told) }
  return { like, end: (reason) => listener?.(reason as ExitReason) }
}

describe("questions about nobody", () => {
  it.each<readonly [string, unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["a number", 7],
    ["an object", {}],
  ])("%s is not found, and the supervisor lives", async (_title, nobody) => {
    const world = new World()
    const supervisor = await world.start({ children: [{ id: "a", start: actor }] })
    const refused = { ok: false, error: { kind: "not_found" } }
    const id = nobody as string
    expect(await world.finish(supervisor.terminateChild(id))).toEqual(refused)
    expect(await world.finish(supervisor.restartChild(id))).toEqual(refused)
    expect(await world.finish(supervisor.deleteChild(id))).toEqual(refused)
    expect(await world.finish(supervisor.getChildSpec(id))).toEqual(refused)
    expect(supervisor.child("a")?.isAlive).toBe(true)
  })

  it("a process of another tree is nobody, although it has the same serial number", async () => {
    const spec = { strategy: "simple_one_for_one", children: [{ id: "a", start: actor }] } as const
    const [one, other] = [await startSupervisor(spec), await startSupervisor(spec)]
    const mine = await one.startChild([])
    const others = await other.startChild([])
    if (!mine.ok || !others.ok || others.process === undefined) throw new Error("not started")
    expect(others.process.serial).toBe(mine.process?.serial)
    expect(await one.terminateChild(others.process)).toEqual({ ok: false, error: { kind: "not_found" } })
    expect(mine.process?.isAlive).toBe(true)
    await Promise.all([one.stop(), other.stop()])
  })

  it("a specification whose accessors throw is refused", async () => {
    const world = new World()
    const supervisor = await world.start({ children: [] })
    expect(await world.finish(supervisor.startChild(hostile as never))).toMatchObject({
      error: { kind: "invalid_spec", problem: { kind: "invalid_child_spec" } },
    })
    expect(await world.finish(supervisor.changeSpec(hostile as never))).toMatchObject({
      error: { kind: "invalid_spec", problem: { kind: "invalid_supervisor_spec" } },
    })
  })
})

describe("a supervisor that is killed by its own callbacks", () => {
  it("from a report: the restart that was due does not happen", async () => {
    const world = new World()
    let starts = 0
    const supervisor = await world.start(
      { intensity: 5, children: [{ id: "a", start: () => (starts++, actor()) }] },
      { onReport: ({ event }) => event === "child.terminated" && supervisor.kill() },
    )
    supervisor.child("a")?.kill()
    await world.quiet()
    expect(supervisor.process.isAlive).toBe(false)
    expect(starts).toBe(1)
  })

  it.each([false, true])("from a start (promised: %s): what it made is ended", async (isPromised) => {
    const world = new World()
    let made: AnyActor | undefined
    const start = ({ parent }: { readonly parent: Process }) => {
      parent.kill()
      made = actor()
      return isPromised ? Promise.resolve(made) : made
    }
    await expect(world.start({ children: [{ id: "a", start }] })).rejects.toMatchObject({ exitReason: "killed" })
    await world.quiet()
    expect(isStopped(made)).toBe(true)
    expect(world.clock.timerCount).toBe(0)
  })

  it("while a start hangs: no timer stays", async () => {
    const world = new World()
    const supervisor = await world.start({ children: [] })
    const started = supervisor.startChild({ id: "a", start: () => new Promise(() => undefined) })
    started.catch(() => undefined)
    await world.quiet()
    supervisor.kill()
    await expect(started).rejects.toMatchObject({ kind: "exited" })
    expect(world.clock.timerCount).toBe(0)
  })

  it("by stopping its actor: it is dead, and answers so", async () => {
    const world = new World()
    const supervisor = await world.start({ children: [{ id: "a", start: actor }] })
    supervisor.actor.stop()
    await expect(supervisor.countChildren()).rejects.toMatchObject({ kind: "noproc" })
    expect(await supervisor.stop()).toBe("killed")
  })
})

describe("callbacks that throw or reject", () => {
  it("a report or a monitor that is async goes to the system's hook", async () => {
    const world = new World()
    const fails = (message: string) => (() => Promise.reject(new Error(message))) as () => void
    const supervisor = await world.start({ children: [{ id: "a", start: actor }] }, { onReport: fails("report") })
    const process = supervisor.child("a")
    if (process !== undefined) monitor(process, fails("down"))
    process?.kill()
    await afterTimers(world)
    expect(world.thrown.map(String)).toContain("Error: report")
    expect(world.thrown.map(String)).toContain("Error: down")
  })

  it("observers of an actor, before and after adoption, are warned of and cost nothing", async () => {
    const world = new World()
    let made: AnyActor | undefined
    const throws = (): never => {
      throw new Error("in an observer")
    }
    const start = () => {
      made = actor()
      made.subscribe({ next: throws, error: throws })
      return made
    }
    const supervisor = await world.start({ intensity: 5, children: [{ id: "a", start }] })
    made?.subscribe({ next: throws, error: throws, complete: throws })
    supervisor.actor.subscribe(throws)
    const process = supervisor.child("a")
    process?.send({ type: "fine" })
    await afterTimers(world)
    expect(process?.isAlive).toBe(true)
    process?.send({ type: "bad" })
    await afterTimers(world)
    expect(process?.exitReason).toMatchObject({ threw: { message: "bad" } })
    made?.subscribe({ complete: throws })
    await world.finish(supervisor.stop())
    await afterTimers(world)
  })

  it("a watcher keeps no other from being told", async () => {
    const world = new World()
    const supervisor = await world.start({ intensity: 5, children: [{ id: "a", start: actor }] })
    const process = supervisor.child("a")
    if (process === undefined) throw new Error("not started")
    process.watch(() => {
      throw new Error("in a watcher")
    })
    const exited = whenExited(process)
    process.send({ type: "bad" })
    await afterTimers(world)
    expect(await exited).toHaveProperty("threw")
    expect(world.thrown.map(String)).toEqual(["Error: in a watcher"])
  })

  it("a call that fails with a value that is no string is answered", async () => {
    const world = new World()
    const like: ProcessLike = {
      kill: () => undefined,
      onExit: () => undefined,
      receive: (message) => (message as { fail: (error: unknown) => void }).fail(Object.create(null)),
    }
    const supervisor = await world.start({ children: [{ id: "a", start: () => like }] })
    const process = supervisor.child("a")
    if (process === undefined) throw new Error("not started")
    await expect(world.finish(call(process, "anything"))).rejects.toThrow("cannot be described")
  })
})

describe("ends and results that are none", () => {
  it.each<readonly [string, unknown, string]>([
    ["nothing", undefined, "its onExit listener was told undefined instead of a reason"],
    ["null", null, "its onExit listener was told null instead of a reason"],
    ["an error", new Error("broken"), "Error: broken"],
  ])("a process that ends with %s is dead, with a reason", async (_title, told, text) => {
    const world = new World()
    const { like, end } = ending()
    const supervisor = await world.start({ children: [{ id: "a", restart: "temporary", start: () => like }] })
    const process = supervisor.child("a")
    end(told)
    await world.quiet()
    expect(process?.isAlive).toBe(false)
    expect(supervisor.process.isAlive).toBe(true)
    expect(formatReason(process?.exitReason ?? "")).toBe(text)
  })

  it.each<readonly [string, () => unknown]>([
    ["a proxy that throws", () => hostile],
    ["a promise of one", () => Promise.resolve([hostile])],
    ["a `then` that throws", () => Object.defineProperty({}, "then", { get: () => hostile.constructor })],
    [
      "a `kill` that throws",
      () => Object.defineProperty({ onExit: () => undefined }, "kill", { get: () => hostile.constructor }),
    ],
  ])("a start that returns %s has not started, and holds nobody up", async (_title, start) => {
    const world = new World()
    const supervisor = await world.start({ children: [] })
    const answer = await world.finish(supervisor.startChild({ id: "a", start: start as () => ProcessLike }))
    expect(answer).toMatchObject({ error: { kind: "start_failed" } })
    expect(supervisor.process.isAlive).toBe(true)
  })

  it("an error whose message is no string can be told", async () => {
    const error = Object.assign(new Error("x"), { message: Object.create(null) as string })
    const world = new World()
    const start = (): never => {
      throw error
    }
    await expect(world.start({ children: [{ id: "a", start }] })).rejects.toMatchObject({ kind: "start_failed" })
    expect(formatReason(hostile as ExitReason)).toBe("{  }")
  })

  it.each<readonly [string, unknown, string]>([
    ["nothing", undefined, "its start returned undefined"],
    ["logic instead of an actor", reducer, "such as createActor(logic)"],
  ])("a start that returns %s is told what to return", async (_title, value, text) => {
    const world = new World()
    const start = () => value as ProcessLike
    await expect(world.start({ children: [{ id: "a", start }] })).rejects.toThrow(text)
  })

  it("a wrong specification is named, and what would be right", async () => {
    const children = [
      { id: "a", start: actor },
      { id: "b", start: actor, shutdown: -1 },
    ]
    await expect(startSupervisor({ children })).rejects.toThrow(
      "invalid_shutdown: -1 in children[1]; shutdown is whole milliseconds, infinity or brutal_kill",
    )
  })
})

describe("actors that are not as they should be", () => {
  it("a machine whose initial state is final starts and ends, with a name too", async () => {
    const machine = setup({}).createMachine({ initial: "end", states: { end: { type: "final" } } })
    const world = new World()
    const start = () => createActor(machine)
    const supervisor = await world.start({ children: [{ id: "a", name: "a", restart: "transient", start }] })
    await world.quiet()
    expect(world.reports.map(({ event }) => event)).toEqual(["child.started"])
    expect(await world.finish(supervisor.countChildren())).toMatchObject({ specs: 1, active: 0 })
  })

  it("another actor's child is refused: nothing but its parent can stop it", async () => {
    const machine = setup({ actors: { reducer } }).createMachine({ invoke: { src: "reducer", id: "inner" } })
    const inner = createActor(machine).start().getSnapshot().children["inner"] as AnyActor
    const world = new World()
    await expect(world.start({ children: [{ id: "a", start: () => inner }] })).rejects.toThrow("another actor's child")
    expect(isStopped(inner)).toBe(false)
  })

  it("one that comes too late is never run", async () => {
    const world = new World()
    let runs = 0
    let resolve: ((late: AnyActor) => void) | undefined
    const start = () => new Promise<AnyActor>((settle) => (resolve = settle))
    const supervisor = await world.start({ children: [] })
    const answer = await world.finish(supervisor.startChild({ id: "a", startTimeoutMs: 10, start }))
    expect(answer).toMatchObject({ error: { reason: { startTimeoutMs: 10 } } })
    resolve?.(createActor(fromCallback(() => void runs++)))
    await world.quiet()
    expect(runs).toBe(0)
  })

  it("a supervisor of another system is refused and ended: its serial numbers are not ours", async () => {
    const world = new World()
    let made: Process | undefined
    const start = async () => {
      const inner = await startSupervisor({ children: [] })
      made = inner.process
      return inner
    }
    await expect(world.start({ children: [{ id: "a", start }] })).rejects.toThrow("pass the start's context on")
    expect(made?.isAlive).toBe(false)
  })
})

describe("what the rest found", () => {
  it("changeSpec while a child waits for its restart does not lose it", async () => {
    const world = new World()
    const child = (id: string) => ({ id, start: actor, backoff: { minMs: 50, maxMs: 50 } })
    const supervisor = await world.start({ intensity: 5, children: [child("a"), child("b"), child("c")] })
    await world.finish(supervisor.terminateChild("a"))
    await world.finish(supervisor.deleteChild("a"))
    const before = supervisor.child("c")
    before?.kill()
    await world.quiet()
    await world.finish(supervisor.changeSpec({ intensity: 5, children: [child("b"), child("c")] }))
    await world.advance(49)
    expect(supervisor.child("c")).toBeUndefined()
    await world.advance(1)
    expect(supervisor.child("c")?.isAlive).toBe(true)
    expect(supervisor.child("c")).not.toBe(before)
  })

  it("supervisorSpec takes every option of a child", () => {
    const backoff = { minMs: 1, maxMs: 2 }
    expect(supervisorSpec("a", {}, { startTimeoutMs: 7, backoff })).toMatchObject({ startTimeoutMs: 7, backoff })
  })

  it("an OS process that cannot say that it is ready is told at once", async () => {
    const start = () => readyOsProcess(spawn("sleep", ["60"]))
    await expect(startSupervisor({ children: [{ id: "a", start }] })).rejects.toThrow("no IPC channel")
  })

  it("an isReady that throws is a failed start", async () => {
    const child = spawn(process.execPath, ["-e", "process.send('odd'); setInterval(() => {}, 1000)"], {
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    })
    const isReady = (): never => {
      throw new Error("in isReady")
    }
    await expect(
      startSupervisor({ children: [{ id: "a", start: () => readyOsProcess(child, { isReady }) }] }),
    ).rejects.toThrow("in isReady")
  })
})
