// A thousand sessions are parked at one instant: a tool holds them until a probe has counted all of them. What must survive: all of them, with
// bounded memory and without a thread each; a session that computes meanwhile is not kept waiting.
import { describeOutcome, distribution, hostPids, until } from "./drill.ts"
import type { Drill } from "./drill.ts"
import { megabytes, pssBytes, threadCount } from "./machine.ts"

/** All processes together, with 1,000 realms of 0.3 MB. */
const pssBytesMax = 1_500 * 1024 * 1024

export const drill: Drill = {
  survives: "1,000 sessions parked at one instant, all of which finish",
  async run(ground) {
    const count = ground.times(1_000, 1_000)
    const held: (() => void)[] = []
    const nacre = await ground.nacre({ tools: { hold: () => new Promise((resolve) => held.push(() => resolve(1))) } })
    const sessions = await Promise.all(Array.from({ length: count }, () => nacre.open()))
    const running = sessions.map((session, i) => session.eval(`let x = ${i}; x += (await tools.hold()) as number; x`))
    const parkedNow = (): number => nacre.sessions().filter((session) => session.isParked).length
    const allParked = await until(90_000, () => parkedNow() === count)
    ground.check(allParked, `${parkedNow()} of ${count} sessions were parked at one instant`)
    const pids = hostPids(nacre)
    const hosts = pids.reduce((sum, pid) => sum + pssBytes(pid), 0)
    const embedder = pssBytes(process.pid)
    const threads = pids.reduce((sum, pid) => sum + threadCount(pid), 0)
    ground.check(hosts + embedder < pssBytesMax, `PSS ${megabytes(hosts + embedder)}, above ${megabytes(pssBytesMax)}`)

    const busy = await nacre.open()
    await busy.eval("let y = 0")
    const waits: number[] = []
    for (let i = 0; i < 50; i += 1) {
      const from = performance.now()
      const outcome = await busy.eval("++y")
      waits.push(performance.now() - from)
      ground.equal(describeOutcome(outcome), "ok", "an eval beside the parked ones")
    }
    for (const release of held.splice(0)) release()
    const outcomes = await Promise.all(running)
    for (const [i, outcome] of outcomes.entries()) {
      ground.equal(outcome.value?.data, i + 1, `a parked session's result (${describeOutcome(outcome)})`)
    }
    ground.equal(parkedNow(), 0, "parked after all have finished")
    for (const [i, session] of sessions.entries()) {
      if (i % 10 !== 0) continue
      const outcome = await session.eval("x")
      ground.equal(outcome.value?.data, i + 1, `state afterwards (${describeOutcome(outcome)})`)
    }
    ground.figure(`${count} parked on ${pids.length} hosts with ${threads} OS threads`)
    ground.figure(`PSS ${megabytes(hosts)} hosts, ${megabytes(embedder)} embedder`)
    ground.figure(`evals beside them: ${distribution(waits)}`)
  },
}
