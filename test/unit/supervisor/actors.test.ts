// XState actors and tasks as children: every way in which they break is an exit with a reason.
//
// Vitest fails the whole run on an uncaught exception, so each of these cases also proves that there was none: XState rethrows from a
// timer, which `afterTimers` waits for.
import { describe, expect, it } from "vitest"
import {
  assign,
  createActor,
  fromCallback,
  fromPromise,
  fromTransition,
  setup,
  type AnyActor,
  type EventObject,
} from "xstate"
import { actorProcess, task, type ChildSpec, type Startable } from "../../../supervisor/index.ts"
import { World } from "./world.ts"

const fail = (message: string) => (): never => {
  throw new Error(message)
}

const machine = setup({}).createMachine({
  initial: "up",
  context: { count: 0 },
  states: {
    up: {
      on: {
        act: { actions: fail("in an action") },
        assign: { actions: assign({ count: fail("in an assign") }) },
        guard: { guard: fail("in a guard"), target: "down" },
        finish: "down",
      },
    },
    down: { type: "final" },
  },
})

const reducer = fromTransition((state: number, event: EventObject) => {
  if (event.type === "bad") throw new Error("in a transition")
  return state
}, 0)

/** Has observers of its own, none of which takes an error. */
function watched(): AnyActor {
  const actor = createActor(reducer)
  actor.subscribe(() => undefined)
  actor.subscribe({ next: () => undefined })
  return actor
}

async function afterTimers(world: World): Promise<void> {
  await world.quiet()
  await new Promise((resolve) => setTimeout(resolve, 0))
  await world.quiet()
}

async function supervise(make: () => Startable, more: Partial<ChildSpec> = {}) {
  const world = new World()
  const supervisor = await world.start({ intensity: 2, children: [{ id: "a", ...more, start: make }] })
  const send = async (message: unknown): Promise<void> => {
    supervisor.child("a")?.send(message)
    await afterTimers(world)
  }
  return { world, supervisor, send }
}

describe("an XState actor as a child", () => {
  it.each(["act", "assign", "guard"])("a machine that throws (%s) is restarted", async (type) => {
    const { world, supervisor, send } = await supervise(() => createActor(machine))
    const first = supervisor.child("a")
    await send({ type })
    expect(first?.exitReason).toHaveProperty("threw")
    expect(supervisor.child("a")?.isAlive).toBe(true)
    expect(world.told()).toHaveLength(1)
  })

  it.each<readonly [string, () => AnyActor, unknown]>([
    ["a transition", () => createActor(reducer), { type: "bad" }],
    [
      "a callback's receive",
      () => createActor(fromCallback(({ receive }) => receive(fail("in receive")))),
      { type: "anything" },
    ],
  ])("%s that throws is an exit", async (_title, make, message) => {
    const { supervisor, send } = await supervise(make)
    const first = supervisor.child("a")
    await send(message)
    expect(first?.isAlive).toBe(false)
    expect(supervisor.process.isAlive).toBe(true)
  })

  it("a promise that rejects is an exit, and a fulfilled one a normal end", async () => {
    const rejected = await supervise(() => createActor(fromPromise(() => Promise.reject(new Error("rejected")))), {
      restart: "temporary",
    })
    await afterTimers(rejected.world)
    expect(rejected.world.told()).toEqual(["child.terminated a threw rejected"])
    const fulfilled = await supervise(() => createActor(fromPromise(() => Promise.resolve(1))), {
      restart: "transient",
    })
    await afterTimers(fulfilled.world)
    expect(fulfilled.world.told()).toEqual([])
    expect(await fulfilled.supervisor.countChildren()).toMatchObject({ specs: 1, active: 0 })
  })

  it.each<readonly [string, () => AnyActor]>([
    ["a callback that throws in its start", () => createActor(fromCallback(fail("in start")))],
    ["a machine whose initial state throws", () => createActor(setup({}).createMachine({ entry: fail("in entry") }))],
    ["an actor that has ended before", () => createActor(reducer).start().stop()],
    ["an actor that was stopped before its start", () => createActor(reducer).stop()],
  ])("%s has not started", async (_title, make) => {
    const world = new World()
    await expect(world.start({ children: [{ id: "a", start: make }] })).rejects.toMatchObject({ kind: "start_failed" })
    await afterTimers(world)
  })

  it("a machine's own child that fails unhandled ends the machine, and only it", async () => {
    const parent = setup({ actors: { worker: fromPromise(() => Promise.reject(new Error("inner"))) } }).createMachine({
      invoke: { src: "worker" },
    })
    const { world, supervisor } = await supervise(() => createActor(parent), { restart: "temporary" })
    await afterTimers(world)
    expect(world.told()).toEqual(["child.terminated a threw inner"])
    expect(supervisor.process.isAlive).toBe(true)
  })

  it("observers without an error callback, before and after adoption, cost nothing", async () => {
    let made: AnyActor | undefined
    const { supervisor, send } = await supervise(() => (made = watched()))
    const seen: unknown[] = []
    made?.subscribe((snapshot) => seen.push(snapshot))
    made?.subscribe({ complete: () => undefined })
    await send({ type: "fine" })
    expect(seen).toHaveLength(1)
    const first = supervisor.child("a")
    await send({ type: "bad" })
    expect(first?.exitReason).toMatchObject({ threw: { message: "in a transition" } })
  })

  it("an inspector that throws is an exit of the actor it looks at", async () => {
    let isArmed = false
    const inspect = (): void => {
      if (isArmed) throw new Error("inspector")
    }
    const { supervisor, send } = await supervise(() => createActor(reducer, { inspect }))
    isArmed = true
    const first = supervisor.child("a")
    await send({ type: "fine" })
    isArmed = false
    expect(first?.isAlive).toBe(false)
  })

  it("a stop is immediate, or a stop event and a final state, or a kill at the deadline", async () => {
    const immediate = await supervise(() => createActor(machine))
    expect(await immediate.world.finish(immediate.supervisor.stop())).toBe("shutdown")
    expect(immediate.world.told()).toEqual([])
    const polite = await supervise(() => actorProcess(createActor(machine), { stopEvent: { type: "finish" } }))
    await polite.world.finish(polite.supervisor.stop())
    expect(polite.world.told()).toEqual([])
    const deaf = await supervise(() => actorProcess(createActor(machine), { stopEvent: { type: "unknown" } }), {
      shutdown: 70,
    })
    await deaf.world.finish(deaf.supervisor.stop())
    expect(deaf.world.clock.now()).toBe(70)
    expect(deaf.world.told()).toEqual(["child.shutdownFailed a killed"])
  })

  it("a final state is a normal end, a stop by someone else a shutdown", async () => {
    const done = await supervise(() => createActor(machine), { restart: "transient" })
    await done.send({ type: "finish" })
    expect(done.supervisor.child("a")).toBeUndefined()
    let made: AnyActor | undefined
    const stopped = await supervise(() => (made = createActor(reducer)), { restart: "transient" })
    const process = stopped.supervisor.child("a")
    made?.stop()
    await afterTimers(stopped.world)
    expect(process?.exitReason).toBe("shutdown")
  })
})

describe("a task as a child", () => {
  it("is told to stop by its signal, and is done when its promise settles", async () => {
    let isAborted = false
    const { world, supervisor } = await supervise(() =>
      task((signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve((isAborted = true))))),
    )
    expect(await world.finish(supervisor.stop())).toBe("shutdown")
    expect(isAborted).toBe(true)
    expect(world.told()).toEqual([])
  })

  it("that rejects because of its signal has done as it was told", async () => {
    const { world, supervisor } = await supervise(() =>
      task(
        (signal) =>
          new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")))),
      ),
    )
    await world.finish(supervisor.stop())
    expect(world.told()).toEqual([])
  })

  it("that never settles is dead at its deadline, and heard of no more", async () => {
    let reject: ((error: Error) => void) | undefined
    const { world, supervisor } = await supervise(
      () => task(() => new Promise((_resolve, fails) => (reject = fails))),
      { shutdown: 10 },
    )
    await world.finish(supervisor.stop())
    expect(world.told()).toEqual(["child.shutdownFailed a killed"])
    reject?.(new Error("too late"))
    await afterTimers(world)
  })

  it("that throws before its promise has not started well: it is restarted", async () => {
    const { world } = await supervise(() => task(() => Promise.reject(new Error("early"))), { restart: "temporary" })
    await afterTimers(world)
    expect(world.told()).toEqual(["child.terminated a threw early"])
  })
})
