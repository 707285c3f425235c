// A host is frozen with SIGSTOP: it neither answers nor dies. What must survive: committed state, and the other hosts. The silence is
// noticed, the host is killed and replaced, and its evals end as `crashed`; an interrupt or a time limit ends them earlier.
import { allHostsReady, describeOutcome, isProcessGone, pause, pidOf, signal, until, within } from "./drill.ts"
import type { Drill } from "./drill.ts"

const hostSilenceMs = 1_500
/** Silence, one heartbeat more, and the death of the process. */
const noticedMs = hostSilenceMs + 1_000 + 2_000

export const drill: Drill = {
  survives: "committed state and other hosts, while a host is frozen",
  async run(ground) {
    const nacre = await ground.nacre({
      limits: { hostSilenceMs },
      tools: { never: () => new Promise(() => {}) },
    })
    const rounds = ground.times(5, 1)
    const noticed: number[] = []
    const ways = ["silence", "interrupt", "time limit"] as const
    for (let round = 0; round < rounds; round += 1) {
      for (const way of ways) {
        await allHostsReady(nacre)
        const [frozen, parked, other] = await Promise.all([nacre.open(), nacre.open(), nacre.open()])
        for (const session of [frozen, parked, other]) await session.eval("let x = 1")
        const waiting = parked.eval("x = 2; await tools.never()", { timeoutMs: Infinity })
        await until(2_000, () => parked.isParked)
        const pid = pidOf(parked)
        const running = frozen.eval("x = 2; for (;;);", { timeoutMs: way === "time limit" ? 300 : Infinity })
        await pause(50)
        const pids = new Set([pid, pidOf(frozen)])
        const from = performance.now()
        for (const each of pids) signal(each, "SIGSTOP")
        if (way === "interrupt") {
          await within(noticedMs, Promise.all([frozen.interrupt(), parked.interrupt()]))
        }
        const outcomes = await within(noticedMs, Promise.all([running, waiting]))
        const ms = performance.now() - from
        noticed.push(ms)
        ground.check(outcomes !== undefined, `evals of a frozen host still run after ${noticedMs} ms (${way})`)
        const expected = { silence: ["crashed"], interrupt: ["interrupted"], "time limit": ["timeout", "crashed"] }[way]
        for (const outcome of outcomes ?? []) {
          const isExpected = expected.includes(outcome.status) || (way === "time limit" && outcome.status === "crashed")
          ground.check(isExpected, `${way}: ${describeOutcome(outcome)}, not ${expected.join(" or ")}`)
        }
        const gone = await until(noticedMs, () => [...pids].every(isProcessGone))
        ground.check(gone, `the frozen host is still there (${way})`)
        if (!gone) for (const each of pids) signal(each, "SIGKILL")
        for (const session of [frozen, parked, other]) {
          const after = await session.eval("x")
          ground.equal(after.value?.data, 1, `state after the freeze (${way}, ${describeOutcome(after)})`)
          await session.close()
        }
      }
    }
    ground.check(await allHostsReady(nacre), "the hosts were not all replaced within 30 s")
    ground.figure(`evals ended ${noticed.map((ms) => ms.toFixed(0)).join(", ")} ms after SIGSTOP`)
  },
}
