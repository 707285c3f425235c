// Evals that never end by themselves, or not for a long time. What must survive: the session's earlier state and everybody else. Each is
// ended by its time limit and by an interrupt, within a stated bound, and what it assigned before is discarded.
//
// The bound: the grace of a computing thread (15 ms), the look at deadlines (10 ms), and for native code 250 ms until its host is killed.
// A busy machine delays each of them, so one second is checked and the measured distribution is printed.
import { allHostsReady, describeOutcome, pause, quantile } from "./drill.ts"
import type { Drill } from "./drill.ts"

const boundMs = 1_000
const timeLimitMs = 400

const loops: Record<string, string> = {
  plain: "x = 2; for (;;);",
  "in finally": "x = 2; for (;;) { try { throw 1 } catch { continue } finally { for (;;); } }",
  "of microtasks": "x = 2; const again = (): Promise<void> => Promise.resolve().then(again); await again()",
  "of timers": "x = 2; const again = (): void => { setTimeout(again, 0) }; again(); await new Promise(() => {})",
  "in a timer": "x = 2; setTimeout(() => { for (;;); }, 0); await new Promise(() => {})",
  "after an await": "x = 2; await null; for (;;);",
  "after a tool call": "x = 2; await tools.wait(5); for (;;);",
  "a catastrophic RegExp": 'x = 2; /^(a+)+$/.test("a".repeat(40) + "b")',
  "a sort of 5e7 elements":
    "x = 2; const a = new Float32Array(5e7); for (let i = 0, s = 1; i < 5e7; i++) a[i] = s = (s * 48271) % 2147483647; a.sort()",
  "JSON.parse of a million objects":
    'x = 2; const text = "[" + \'{"a":1,"b":[1,2,{"c":"d"}]},\'.repeat(1e6) + "0]"; for (;;) JSON.parse(text)',
  "a native search": "x = 2; Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)",
}

export const drill: Drill = {
  survives: "earlier state and other sessions, while evals loop without end",
  async run(ground) {
    // Above the largest array here, so that only time ends an eval.
    const nacre = await ground.nacre({
      hosts: { memoryBytesMax: 1536 * 1024 * 1024 },
      tools: { wait: async ([ms]) => pause(ms as number) },
    })
    const other = await nacre.open()
    await other.eval("let calm = 1")
    const rounds = ground.times(3, 1)
    const latencies: string[] = []
    for (const [what, source] of Object.entries(loops)) {
      const late: number[] = []
      for (let round = 0; round < rounds; round += 1) {
        for (const way of ["timeout", "interrupted"] as const) {
          await allHostsReady(nacre)
          const session = await nacre.open()
          await session.eval("let x = 1; const list = [1, 2, 3]")
          const startedAt = performance.now()
          let stoppedAt = startedAt + timeLimitMs
          const running = session.eval(source, { timeoutMs: way === "timeout" ? timeLimitMs : Infinity })
          if (way === "interrupted") {
            await pause(timeLimitMs)
            stoppedAt = performance.now()
            await session.interrupt()
          }
          const outcome = await running
          late.push(performance.now() - stoppedAt)
          ground.equal(outcome.status, way, `a loop ${what}, ended by ${way} (${describeOutcome(outcome)})`)
          ground.equal(outcome.committed.set, [], `committed by a loop ${what}`)
          const after = await session.eval("[x, list.length]")
          ground.equal(after.value?.data, [1, 3], `state after a loop ${what}, ${way} (${describeOutcome(after)})`)
          const calm = await other.eval("calm")
          ground.equal(calm.value?.data, 1, `another session beside a loop ${what} (${describeOutcome(calm)})`)
          await session.close()
        }
      }
      const worst = quantile(late, 1)
      ground.check(worst < boundMs, `a loop ${what} ended ${worst.toFixed(0)} ms late, above ${boundMs} ms`)
      latencies.push(`${what} ${quantile(late, 0.5).toFixed(0)}/${worst.toFixed(0)}`)
    }
    ground.figure(`ms late, median/worst of ${2 * rounds}: ${latencies.join(", ")}`)
  },
}
