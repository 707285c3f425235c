// Seeded runs of many sessions on hosts that die, stall and answer late. Whatever happens: each accepted eval has exactly one end, in the
// order of its session, is begun at most once, and begins on exactly what was committed.
import { expect, test } from "vitest"
import { World } from "./world.ts"
import type { Step } from "./twin-host.ts"

/** A small generator of numbers from a seed (mulberry32): a run can be repeated from the number in its name. */
function random(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000) * below
  }
}

function program(pick: (below: number) => number): Step[] {
  const steps: Step[] = []
  const count = 1 + Math.floor(pick(3))
  for (let i = 0; i < count; i++) {
    const kind = pick(100)
    if (kind < 60) steps.push({ do: "compute", ms: pick(kind < 50 ? 3 : 120) })
    else if (kind < 90) steps.push({ do: "park", ms: pick(200) })
    else if (kind < 94) steps.push({ do: "compute", ms: Infinity })
    else if (kind < 96) steps.push({ do: "native", ms: Infinity })
    else steps.push({ do: kind < 99 ? "die" : "kill" })
  }
  return steps
}

async function run(seed: number): Promise<World> {
  const pick = random(seed)
  const world = new World({
    hosts: { min: 1 + Math.floor(pick(3)), max: 4, threadsPerHostMax: 1 + Math.floor(pick(3)) },
    limits: { residentsPerWorkerMax: 2 + Math.floor(pick(6)), parkedPerWorker: 1 + Math.floor(pick(4)) },
    latencyMs: () => (pick(20) < 1 ? pick(60) : pick(2)),
    restartMs: 30,
  })
  for (let i = 0; i < 3; i++) world.addHost()
  const sessions = Array.from({ length: 4 + Math.floor(pick(12)) }, () => world.open(pick(10) < 1 ? "own" : "main"))
  for (let turn = 0; turn < 120; turn++) {
    const session = sessions[Math.floor(pick(sessions.length))]!
    const kind = pick(100)
    if (kind < 60) world.eval(session, program(pick), pick(2) < 1 ? 100 + pick(400) : undefined)
    else if (kind < 75 && session.running !== undefined) world.stop(session.running)
    else if (kind < 79) world.hosts.filter((it) => !it.isDead)[0]?.kill("host-killed")
    else if (kind < 81) for (const host of world.hosts.filter((it) => !it.isDead).slice(0, 1)) host.isSilent = true
    else if (kind < 84) world.clock.block(pick(3_000))
    else if (kind < 86) world.scheduler.evictIdle(world.clock.now())
    else if (kind < 90 && session.running === undefined) session.holdsEphemerals = true
    else await world.clock.advance(pick(100))
  }
  // What computes for ever or sits parked without a limit is stopped in the end.
  for (let round = 0; round < 40 && world.evals.some((it) => it.end === undefined); round++) {
    await world.clock.advance(1_000)
    for (const { running } of sessions) if (running !== undefined && round > 2) world.stop(running)
  }
  return world
}

/** `SEEDS=from-to` runs others than the usual ones. */
const [from = 1, to = 150] = (process.env["SEEDS"] ?? "").split("-").filter(Boolean).map(Number)
const seeds = Array.from({ length: to - from + 1 }, (_, index) => from + index)

test.each(seeds)("whatever happens to hosts, threads and messages, seed %i", async (seed) => {
  const world = await run(seed)
  expect(world.faults, world.trace.join("\n")).toEqual([])
  const open = world.evals.filter((it) => it.end === undefined)
  expect(open.map((it) => [it.evalId, it.session.session, ...it.told])).toEqual([])
  for (const session of world.sessions) {
    const mine = world.evals.filter((it) => it.session === session)
    const ended = mine.map((it) => it.endedAt!)
    expect(ended).toEqual(ended.toSorted((a, b) => a - b))
    expect(session.log).toEqual(mine.filter((it) => it.end === "ok").map((it) => it.evalId))
  }
})
