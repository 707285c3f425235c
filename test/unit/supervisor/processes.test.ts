// Monitors, links, exit signals and names.
import { describe, expect, it } from "vitest"
import {
  formatReason,
  link,
  monitor,
  Process,
  System,
  unlink,
  VirtualClock,
  whenExited,
  type ExitReason,
  type ProcessLike,
} from "../../../supervisor/index.ts"

function createWorld() {
  const clock = new VirtualClock()
  const thrown: unknown[] = []
  const system = new System({ clock, onThrow: (value) => thrown.push(value) })
  const make = (label: string, more: Partial<ProcessLike> = {}): Process =>
    new Process(system, { kill: () => undefined, onExit: () => undefined, ...more }, label)
  const quiet = async (): Promise<void> => {
    do await new Promise<void>((resolve) => setImmediate(resolve))
    while (!system.queue.isIdle)
  }
  return { clock, system, make, quiet, thrown }
}

describe("exit signals", () => {
  it("`normal` from outside is ignored, any other reason ends one that does not trap, `kill` arrives as `killed`", async () => {
    const { make, quiet } = createWorld()
    const [one, other] = [make("one"), make("other")]
    one.signal("normal")
    await quiet()
    expect(one.isAlive).toBe(true)
    one.signal("boom")
    other.signal("kill")
    expect(one.isAlive).toBe(true)
    await quiet()
    expect([one.exitReason, other.exitReason]).toEqual(["boom", "killed"])
  })

  it("one that traps gets the signal as data, but cannot trap `kill`", async () => {
    const { make, quiet } = createWorld()
    const [one, sender] = [make("one"), make("sender")]
    const signals: unknown[] = []
    one.trapExits((signal) => signals.push(signal))
    one.signal("normal", sender)
    one.signal("boom", sender)
    await quiet()
    expect(signals).toEqual([
      { from: sender, reason: "normal" },
      { from: sender, reason: "boom" },
    ])
    one.signal("kill")
    await quiet()
    expect(one.exitReason).toBe("killed")
  })

  it("a trap or a stop that throws or rejects is an exit", async () => {
    const { make, quiet } = createWorld()
    const one = make("one")
    one.trapExits(() => {
      throw new Error("trap")
    })
    const other = make("other", {
      stop: () => {
        throw new Error("stop")
      },
    })
    one.signal("boom")
    other.signal("boom")
    await quiet()
    expect(one.exitReason).toMatchObject({ threw: { message: "trap" } })
    expect(other.exitReason).toMatchObject({ threw: { message: "stop" } })
  })

  it("a kill that throws still kills; one that promises is waited for, at most 5 s", async () => {
    const { make, quiet, clock } = createWorld()
    const throwing = make("throwing", {
      kill: () => {
        throw new Error("kill")
      },
    })
    throwing.kill()
    expect(throwing.exitReason).toBe("killed")
    let confirm: (() => void) | undefined
    const slow = make("slow", { kill: () => new Promise<void>((resolve) => (confirm = resolve)) })
    slow.kill()
    expect(slow.isAlive).toBe(true)
    confirm?.()
    await quiet()
    expect(slow.exitReason).toBe("killed")
    const never = make("never", { kill: () => new Promise<void>(() => undefined) })
    never.kill()
    await quiet()
    expect(clock.nextDueMs).toBe(5000)
    clock.fireNext()
    expect(never.exitReason).toBe("killed")
    expect(clock.timerCount).toBe(0)
  })
})

describe("monitors (S28)", () => {
  it("tell once each, `noproc` for the dead, nothing after demonitor", async () => {
    const { make, quiet } = createWorld()
    const one = make("one")
    const told: string[] = []
    monitor(one, (reason) => told.push(`first ${formatReason(reason)}`))
    monitor(one, (reason) => told.push(`second ${formatReason(reason)}`))
    const third = monitor(one, () => told.push("third"))
    one.kill()
    expect(told).toEqual([])
    // Already dead, its notice on the way: undone all the same.
    third.demonitor()
    await quiet()
    expect(told).toEqual(["first killed", "second killed"])
    monitor(one, (reason) => told.push(`late ${formatReason(reason)}`))
    await quiet()
    expect(told.at(-1)).toBe("late noproc")
    expect(await whenExited(one)).toBe("killed")
  })

  it("a callback that throws costs nobody else anything", async () => {
    const { make, quiet, thrown } = createWorld()
    const one = make("one")
    const told: ExitReason[] = []
    monitor(one, () => {
      throw new Error("callback")
    })
    monitor(one, (reason) => told.push(reason))
    one.kill()
    await quiet()
    expect(told).toEqual(["killed"])
    expect(thrown).toMatchObject([{ message: "callback" }])
  })
})

describe("links (S28)", () => {
  it("an end is a signal to the other, with the same reason; `normal` does not end it; unlinked, nothing comes", async () => {
    const { make, quiet } = createWorld()
    const [a, b, c, d] = [make("a"), make("b"), make("c"), make("d")]
    link(a, b)
    link(b, c)
    link(c, d)
    unlink(d, c)
    a.signal("boom")
    await quiet()
    expect([b, c, d].map(({ exitReason }) => exitReason)).toEqual(["boom", "boom", undefined])
    const [x, y] = [make("x", { stop: () => undefined }), make("y")]
    link(x, y)
    y.signal("kill")
    await quiet()
    expect(x.isAlive).toBe(true)
  })

  it("linking to the dead is a signal `noproc`; linking twice is one link; nobody links to himself", async () => {
    const { make, quiet } = createWorld()
    const [a, b, dead] = [make("a"), make("b"), make("dead")]
    const signals: unknown[] = []
    a.trapExits((signal) => signals.push(signal.reason))
    link(a, b)
    link(b, a)
    link(a, a)
    b.kill()
    dead.kill()
    await quiet()
    link(a, dead)
    link(dead, a)
    await quiet()
    expect(signals).toEqual(["killed", "noproc", "noproc"])
  })
})

describe("registry (S30)", () => {
  it("one live process per name, free in the step in which it ends", () => {
    const { make, system } = createWorld()
    const { registry } = system
    const [a, b] = [make("a"), make("b")]
    expect(registry.register("name", a)).toEqual({ ok: true })
    expect(registry.register("name", a)).toEqual({ ok: true })
    expect(registry.register("other", a)).toEqual({ ok: true })
    expect(registry.register("name", b)).toEqual({ ok: false, holder: a })
    expect(registry.names()).toEqual(["name", "other"])
    a.kill()
    expect(registry.whereis("name")).toBeUndefined()
    expect(registry.names()).toEqual([])
    expect(registry.register("name", a)).toEqual({ ok: false, holder: a })
    expect(registry.register("name", b)).toEqual({ ok: true })
    registry.unregister("name")
    registry.unregister("name")
    expect(registry.whereis("name")).toBeUndefined()
  })
})
