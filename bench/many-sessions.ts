// How many sessions, how fast, and at what price in memory?
//
// Sessions are opened (nothing starts), then evaluated by many callers at once: uniformly, so that nearly every eval of many sessions finds
// its realm evicted, and by Zipf's law, as users do. Memory is PSS of all processes, and for dormant sessions the live heap of the
// embedder, since those are an entry and bytes in there.
import type { Limits, Nacre, Session } from "../runtime/index.ts"
import { startEcho } from "./parts/echo.ts"
import { isQuick, over, quantile, report, short, show } from "./parts/figures.ts"
import { allHostsReady, built, liveBytes, pssOf } from "./parts/processes.ts"

const callers = 64
const rounds = isQuick ? 2 : 5
const roundMs = isQuick ? 1_000 : 3_000
const kib = 1024

const { Nacre: NacreClass } = await built()

await openCost()
await dormant()
// A realm takes about 0.4 MB, so a thousand need more than a host may have by default.
await evaluate("1,000 sessions, all resident", 1_000, { residentsPerWorkerMax: 1_000 }, 2 * 1024 * kib * kib)
await evaluate("1,000 sessions", 1_000, {})
await evaluate("10,000 sessions", 10_000, {})

async function openCost(): Promise<void> {
  const nacre = await NacreClass.start()
  await allHostsReady(nacre)
  const samples: number[] = []
  const firsts: number[] = []
  for (let round = 0; round < rounds + 1; round += 1) {
    const sessions: Session[] = []
    const from = performance.now()
    for (let i = 0; i < 1_000; i += 1) sessions.push(await nacre.open())
    if (round > 0) samples.push(performance.now() - from)
    // The first eval pays for the realm.
    for (const session of sessions.slice(0, 100)) {
      const before = performance.now()
      await session.eval("let x = 0")
      if (round > 0) firsts.push((performance.now() - before) * 1_000)
    }
    for (const session of sessions) await session.close()
  }
  // Milliseconds for a thousand are microseconds for one.
  const openUs = over(samples)
  report("many-sessions", "open a session", show(openUs, " us"), { openUs }, "<= 50 us")
  const [p50Us, p99Us] = [quantile(firsts, 0.5), quantile(firsts, 0.99)]
  report("many-sessions", "its first eval", `p50 ${short(p50Us)} us, p99 ${short(p99Us)} us`, { p50Us, p99Us })
  await nacre.stop()
}

async function dormant(): Promise<void> {
  const nacre = await NacreClass.start()
  const count = isQuick ? 20_000 : 100_000
  const before = liveBytes()
  for (let i = 0; i < count; i += 1) await nacre.open()
  const opened = (liveBytes() - before) / count
  const text = `${short(opened)} bytes each of ${count.toLocaleString("en")}`
  report("many-sessions", "dormant, never evaluated", text, { count, bytes: opened }, "<= 2 KB")
  await nacre.stop()

  const used = await NacreClass.start()
  const usedCount = isQuick ? 500 : 3_000
  const sessions = await Promise.all(Array.from({ length: usedCount }, () => used.open()))
  const empty = liveBytes()
  await inParallel(sessions, async (session) => {
    await session.eval("let x = 1; let name = 'some words'")
  })
  const active = (liveBytes() - empty) / usedCount
  for (const session of sessions) session.passivate()
  await new Promise((resolve) => setTimeout(resolve, 100))
  const passive = (liveBytes() - empty) / usedCount
  report("many-sessions", "active and idle, evaluated once", `${short(active)} bytes each`, {
    count: usedCount,
    bytes: active,
  })
  report(
    "many-sessions",
    "dormant, evaluated once",
    `${short(passive)} bytes each`,
    { count: usedCount, bytes: passive },
    "<= 2 KB",
  )
  await used.stop()
}

async function evaluate(name: string, count: number, limits: Partial<Limits>, memoryBytesMax?: number): Promise<void> {
  const hosts = memoryBytesMax === undefined ? {} : { memoryBytesMax }
  const nacre = await NacreClass.start({ limits: { queueMax: callers, ...limits }, hosts })
  await allHostsReady(nacre)
  const before = pssOf(nacre)
  const sessions = await Promise.all(Array.from({ length: count }, () => nacre.open()))
  const from = performance.now()
  await inParallel(sessions, async (session) => {
    await session.run("let x = 0")
  })
  const coldPerSecond = (count / (performance.now() - from)) * 1_000
  report("many-sessions", `${name}: first evals`, `${short(coldPerSecond)} a second`, {
    count,
    perSecond: coldPerSecond,
  })
  // Sizes of a short eval's messages, one per write, over one socket: what one loop can carry of them without doing anything.
  const echo = await startEcho(100, 280)
  for (const [access, pick] of [
    ["uniform", () => Math.floor(Math.random() * count)],
    ["Zipf", zipf(count)],
  ] as const) {
    const rates: number[] = []
    const shares: number[] = []
    const halves: number[] = []
    const tails: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      const { perSecond, latenciesUs } = await load(sessions, pick)
      rates.push(perSecond)
      shares.push(perSecond / (await echo.flood(callers, roundMs / 4)))
      halves.push(quantile(latenciesUs, 0.5))
      tails.push(quantile(latenciesUs, 0.99))
    }
    const figures = { perSecond: over(rates), shareOfEcho: over(shares), p50Us: over(halves), p99Us: over(tails) }
    const text = `${show(figures.perSecond)} a second, ${short(figures.shareOfEcho.median)} of an echo's rate; p50 ${show(figures.p50Us, " us")}, p99 ${show(figures.p99Us, " us")}`
    const goal = count === 1_000 ? ">= 25,000 a second" : undefined
    report("many-sessions", `${name}, ${access}`, text, { count, callers, access, ...figures }, goal)
  }
  await echo.stop()
  const after = pssOf(nacre)
  const residents = residentCount(nacre)
  const perSession = (after.embedder + after.hosts - before.embedder - before.hosts) / count
  const figures = {
    count,
    residents,
    pssEmbedderBytes: after.embedder,
    pssHostsBytes: after.hosts,
    pssPerSessionBytes: perSession,
  }
  const text = `${short(after.embedder / kib / kib)} MiB embedder, ${short(after.hosts / kib / kib)} MiB hosts (empty ${short(before.hosts / kib / kib)}), ${residents} resident, ${short(perSession / kib)} KiB a session`
  report("many-sessions", `${name}, PSS`, text, figures)
  await nacre.stop()
}

async function load(
  sessions: readonly Session[],
  pick: () => number,
): Promise<{ perSecond: number; latenciesUs: number[] }> {
  const latenciesUs: number[] = []
  const from = performance.now()
  const end = from + roundMs
  const caller = async (): Promise<void> => {
    while (performance.now() < end) {
      const session = sessions[pick()]!
      const before = performance.now()
      const outcome = await session.eval("x = x + 1")
      if (outcome.status !== "ok") throw new Error(`An eval ended as ${outcome.status} (${outcome.because ?? ""}).`)
      latenciesUs.push((performance.now() - before) * 1_000)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return { perSecond: (latenciesUs.length / (performance.now() - from)) * 1_000, latenciesUs }
}

async function inParallel(sessions: readonly Session[], run: (session: Session) => Promise<void>): Promise<void> {
  const left = sessions.values()
  await Promise.all(
    Array.from({ length: callers }, async () => {
      for (const session of left) await run(session)
    }),
  )
}

function residentCount(nacre: Nacre): number {
  return nacre.placement().reduce((sum, { workers }) => sum + workers.reduce((all, it) => all + it.residents, 0), 0)
}

/** Picks i with a probability that falls as 1 / (i + 1). */
function zipf(count: number): () => number {
  const sums = new Float64Array(count)
  let sum = 0
  for (let i = 0; i < count; i += 1) sums[i] = sum += 1 / (i + 1)
  return () => {
    const wanted = Math.random() * sum
    let [low, high] = [0, count - 1]
    while (low < high) {
      const middle = (low + high) >> 1
      if (sums[middle]! < wanted) low = middle + 1
      else high = middle
    }
    return low
  }
}
