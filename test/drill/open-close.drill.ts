// Sessions are opened, evaluated and closed by the thousand, in rounds. What must not grow: handles, processes, threads, and the memory of
// the embedder and of each host. The first rounds warm everything up; the rest must not show a trend.
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { allHostsReady, describeOutcome, hostPids, pause } from "./drill.ts"
import type { Drill } from "./drill.ts"
import { megabytes, rssBytes, threadCount } from "./machine.ts"

const perRound = 1_000
const warmUpRounds = 2
/** Heap that the embedder may keep for a closed session: noise, since 1,000 kept shells are some 10 MB. */
const heapBytesPerSessionMax = 1_000
/** Rounds of realms are collected late and their pages kept: a host may grow to its ceiling of residents, and not beyond. */
const hostBytesMax = 512 * 1024 * 1024

export const drill: Drill = {
  survives: "nothing: 1,000 sessions opened, evaluated and closed leave nothing, round after round",
  async run(ground) {
    setFlagsFromString("--expose-gc")
    const collect = runInNewContext("gc") as () => void
    const nacre = await ground.nacre({ tools: { wait: async () => pause(1) } })
    await allHostsReady(nacre)
    const rounds = warmUpRounds + ground.times(8, 2)
    const heaps: number[] = []
    const hosts: number[] = []
    let handlesBefore = 0
    let threadsBefore = 0
    for (let round = 0; round < rounds; round += 1) {
      for (let at = 0; at < perRound; at += 100) {
        const batch = Array.from({ length: 100 }, async (_, i) => {
          const session = await nacre.open()
          const source = `let x: number[] = [${i}]; function f() { return x.length }${i % 5 === 0 ? "; await tools.wait()" : ""}; x.push(f()); x`
          const outcome = await session.eval(source, { onOutput: () => {}, signal: new AbortController().signal })
          ground.equal(outcome.value?.data, [i, 1], `an eval of a fresh session (${describeOutcome(outcome)})`)
          await session.close()
        })
        await Promise.all(batch)
      }
      ground.equal(nacre.sessions().length, 0, "sessions left")
      for (let i = 0; i < 3; i += 1) {
        await pause(20)
        collect()
      }
      heaps.push(process.memoryUsage().heapUsed)
      hosts.push(Math.max(...hostPids(nacre).map(rssBytes)))
      const handles = process.getActiveResourcesInfo().length
      const threads = hostPids(nacre).reduce((sum, pid) => sum + threadCount(pid), 0)
      if (round < warmUpRounds) [handlesBefore, threadsBefore] = [handles, threads]
      // Some come and go with hosts and heartbeats; what each session leaves would come by the thousand.
      ground.check(handles <= handlesBefore + 50, `${handles} active handles, ${handlesBefore} before`)
      ground.check(threads <= threadsBefore + 8, `${threads} OS threads of hosts, ${threadsBefore} before`)
    }
    const perSession = (heaps.at(-1)! - heaps[warmUpRounds - 1]!) / (perRound * (rounds - warmUpRounds))
    ground.check(
      perSession < heapBytesPerSessionMax,
      `the embedder's heap grew by ${perSession.toFixed(0)} bytes a closed session`,
    )
    ground.check(Math.max(...hosts) < hostBytesMax, `a host grew to ${megabytes(Math.max(...hosts))}`)
    ground.check(hostPids(nacre).length <= nacre.hosts.max + 1, `${hostPids(nacre).length} hosts`)
    ground.figure(
      `${rounds} rounds; embedder's heap ${heaps.map(megabytes).join(" ")} (${perSession.toFixed(0)} B a session)`,
    )
    ground.figure(`largest host ${hosts.map(megabytes).join(" ")}`)
  },
}
