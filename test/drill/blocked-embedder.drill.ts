// The embedder's own loop stands still for seconds. What must survive: everything. No host may be killed for a silence that was the
// embedder's, and an eval that ended in time by itself has ended in time, however late its outcome was read.
import { allHostsReady, describeOutcome, hostPids, pause } from "./drill.ts"
import type { Drill } from "./drill.ts"

export const drill: Drill = {
  survives: "hosts and evals, while the embedder's loop is blocked",
  async run(ground) {
    const nacre = await ground.nacre({ tools: { wait: async ([ms]) => pause(ms as number) } })
    await allHostsReady(nacre)
    const before = hostPids(nacre)
    // 7 s is beyond the silence after which a host counts as dead (5 s).
    for (const blockedMs of ground.scale.quick ? [3_000] : [3_000, 7_000, 3_000]) {
      const sessions = await Promise.all(Array.from({ length: 8 }, () => nacre.open()))
      await Promise.all(sessions.map((session) => session.eval("let x = 1; await null")))
      const sources = [
        [
          "a computing eval within its limit",
          "{ const end = Date.now() + 300; while (Date.now() < end); } x = 2",
          1_500,
        ],
        ["an eval that waits for a timer", "await new Promise((done) => setTimeout(done, 200)); x = 2", 1_500],
        ["an eval that waits for a tool", "await tools.wait(200); x = 2", 60_000],
        [
          "an eval that computes all the while",
          `{ const end = Date.now() + ${blockedMs}; while (Date.now() < end); } x = 2`,
          60_000,
        ],
        ["an eval with much output", "for (let i = 0; i < 1_000; i++) console.log('line', i); x = 2", 30_000],
      ] as const
      const running = sources.map(([, source, timeoutMs], i) => sessions[i]!.eval(source, { timeoutMs }))
      // Long enough for all to have begun: what is runnable behind a neighbour has no running time limit.
      await pause(150)
      const end = performance.now() + blockedMs
      while (performance.now() < end);
      const outcomes = await Promise.all(running)
      for (const [i, outcome] of outcomes.entries()) {
        ground.equal(describeOutcome(outcome), "ok", `${sources[i]![0]}, blocked for ${blockedMs} ms`)
      }
      await pause(1_500)
      ground.equal(hostPids(nacre), before, `the hosts after ${blockedMs} ms are the same processes`)
      for (const session of sessions) {
        const outcome = await session.eval("x")
        ground.equal(describeOutcome(outcome), "ok", `an eval after ${blockedMs} ms`)
        await session.close()
      }
    }
    ground.equal(
      ground.events.filter((event) => event.type === "host.lost"),
      [],
      "hosts lost",
    )
  },
}
