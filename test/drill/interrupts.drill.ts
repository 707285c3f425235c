// Interrupts of each rung: of an eval that is parked, that computes, that stands in native code; each while an eval computes on every other
// host. What must survive: the interrupted session's earlier state, and the other hosts' evals, which end as `ok`. Native code cannot be
// stopped without its host, so each of those costs one; full mode takes about a quarter of an hour for that reason.
import { availableParallelism, loadavg } from "node:os"
import type { Nacre, Session } from "../../runtime/index.ts"
import { allHostsReady, describeOutcome, distribution, pause, pidOf, quantile, until } from "./drill.ts"
import type { Drill, Ground } from "./drill.ts"

interface Rung {
  source: string
  /** 99 of 100 end within this. */
  p99Ms: number
}

const rungs: Record<string, Rung> = {
  parked: { source: "x = 2; await tools.never()", p99Ms: 5 },
  computing: { source: "x = 2; for (;;);", p99Ms: 100 },
  // The ladder's own waits are 265 ms; the rest is the death of the process.
  native: { source: "x = 2; Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)", p99Ms: 600 },
}
/** What the other hosts compute meanwhile, again and again. */
const busyMs = 200

export const drill: Drill = {
  survives: "earlier state and every other host's eval, across interrupts of each rung",
  timeoutMs: 3_600_000,
  async run(ground) {
    const nacre = await ground.nacre({
      tools: { never: (_args, { signal }) => new Promise((_, reject) => onAbort(signal, reject)) },
    })
    await allHostsReady(nacre)
    for (const [name, rung] of Object.entries(rungs)) {
      const times = ground.times(1_000, name === "native" ? 5 : 50)
      const startedAt = performance.now()
      const late = await interruptMany(ground, nacre, name, rung, times)
      const seconds = (performance.now() - startedAt) / 1_000
      ground.figure(`${times} ${name}: ${distribution(late)} in ${seconds.toFixed(0)} s`)
      // Of fewer than 200 the 99th percentile is one unlucky sample.
      const share = late.length < 200 ? 0.9 : 0.99
      const p99 = quantile(late, share)
      // The promise is made for a machine that has time for it; every wake-up waits its turn on a busier one.
      const boundMs = rung.p99Ms * Math.max(1, loadavg()[0]! / availableParallelism())
      ground.check(
        p99 <= boundMs,
        `p${100 * share} of ${name} interrupts ${p99.toFixed(1)} ms, above ${boundMs.toFixed(0)} ms`,
      )
    }
    ground.figure(`load ${loadavg()[0]!.toFixed(1)} on ${availableParallelism()} cores`)
  },
}

async function interruptMany(ground: Ground, nacre: Nacre, name: string, rung: Rung, times: number): Promise<number[]> {
  const others = await Promise.all(Array.from({ length: nacre.hosts.min - 1 }, () => nacre.open()))
  for (const other of others) await other.eval("let rounds = 0")
  const done = new AbortController()
  let busyEvals = 0
  const busy = others.map(async (other) => {
    while (!done.signal.aborted) {
      const outcome = await other.eval(`{ const end = Date.now() + ${busyMs}; while (Date.now() < end); } ++rounds`)
      busyEvals += 1
      ground.equal(describeOutcome(outcome), "ok", `the eval on another host beside ${name} interrupts`)
    }
  })
  const late: number[] = []
  let session: Session | undefined
  for (let at = 0; at < times; at += 1) {
    session = await apartFrom(others, nacre, session)
    const running = session.eval(rung.source, { timeoutMs: Infinity })
    // It begins, parks or gets stuck at a random moment.
    await pause(20 + ground.random() * 10)
    if (name === "parked") {
      const parked = session
      ground.check(await until(5_000, () => parked.isParked), "an eval that awaits a tool is not parked")
    }
    const from = performance.now()
    await session.interrupt()
    const outcome = await running
    late.push(performance.now() - from)
    ground.equal(outcome.status, "interrupted", `a ${name} eval (${describeOutcome(outcome)})`)
    const after = await session.eval("x")
    ground.equal(after.value?.data, 1, `state after a ${name} interrupt (${describeOutcome(after)})`)
  }
  done.abort()
  await Promise.all(busy)
  ground.check(others.length === 0 || busyEvals > 0, "nothing computed on the other hosts")
  for (const other of [...others, ...(session === undefined ? [] : [session])]) await other.close()
  return late
}

/**
 * A session whose realm is on a host where nothing else computes. The idle host's thread may be starting again after the last interrupt, and
 * placement does not wait for it; a session whose eval had to be killed is not moved for a while, so a fresh one takes its place.
 */
async function apartFrom(others: readonly Session[], nacre: Nacre, last: Session | undefined): Promise<Session> {
  let session = last
  for (;;) {
    session ??= await nacre.open()
    await session.eval("let x = 1")
    const pid = pidOf(session)
    if (pid !== 0 && others.every((other) => pidOf(other) !== pid)) return session
    await session.close()
    session = undefined
    await pause(20)
  }
}

function onAbort(signal: AbortSignal, reject: (error: Error) => void): void {
  if (signal.aborted) reject(new Error("aborted"))
  signal.addEventListener("abort", () => reject(new Error("aborted")))
}
