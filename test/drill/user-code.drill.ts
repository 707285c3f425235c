// Code that tries to end more than itself: exit, abort, stack overflow, unhandled rejections, throwing timers, hostile objects. What must
// survive: the host, its threads, every neighbour, and the session's own earlier state. Each eval has the outcome its exit path promises,
// and no host is lost.
import { allHostsReady, describeOutcome, hostPids, pause } from "./drill.ts"
import type { Drill } from "./drill.ts"

interface Attempt {
  source: string
  /** Its status, and what it leaves `x` at, which was 1. */
  status: string | string[]
  x: number | number[]
}

const attempts: Record<string, Attempt> = {
  exit: { source: "x = 2; process.exit(3); x = 4", status: "exited", x: 2 },
  "exit in a timer": {
    source: "x = 2; setTimeout(() => process.exit(3), 1); await new Promise(() => {})",
    status: "exited",
    x: 2,
  },
  "exit in a catch-all": { source: "x = 2; try { process.exit(3) } catch {} x = 4", status: "exited", x: [2, 4] },
  abort: { source: "x = 2; process.abort()", status: "threw", x: 2 },
  kill: { source: "x = 2; process.kill(process.pid, 'SIGKILL')", status: "threw", x: 2 },
  "a climb out of the realm": {
    source: "x = 2; this.constructor.constructor('return process')().kill(0, 9)",
    status: "threw",
    x: 2,
  },
  "a module of Node": {
    source: "x = 2; const fs = await import('node:fs'); fs.rmSync('/nowhere')",
    status: "threw",
    x: 2,
  },
  "stack overflow": { source: "x = 2; const f = (): number => 1 + f(); f()", status: "threw", x: 2 },
  "unhandled rejection": { source: "x = 2; Promise.reject(new Error('unheard')); 5", status: ["ok", "threw"], x: 2 },
  "unhandled rejection while parked": {
    source: "x = 2; setTimeout(() => { Promise.reject(new Error('unheard')) }, 1); await tools.wait(30)",
    status: ["ok", "threw"],
    x: 2,
  },
  "a throwing timer": {
    source: "x = 2; setTimeout(() => { throw new Error('late') }, 1); await tools.wait(30)",
    status: ["ok", "threw"],
    x: 2,
  },
  "a throwing timer left behind": {
    source: "x = 2; setTimeout(() => { throw new Error('late') }, 5); 5",
    status: "ok",
    x: 2,
  },
  "a throwing microtask": {
    source: "x = 2; queueMicrotask(() => { throw new Error('micro') }); 5",
    status: ["ok", "threw"],
    x: 2,
  },
  "throwing undefined": { source: "x = 2; throw undefined", status: "threw", x: 2 },
  "a thenable that throws": { source: "x = 2; await { then() { throw 7 } }", status: "threw", x: 2 },
  "a thenable that settles twice": {
    source: "x = 2; await { then(a: any, b: any) { a(1); b(2); a(3); throw 4 } }",
    status: "ok",
    x: 2,
  },
  "an error with hostile getters": {
    source:
      "x = 2; throw Object.defineProperties(new Error('e'), { message: { get() { throw 1 } }, stack: { get() { for (;;); } } })",
    status: "threw",
    x: 2,
  },
  "a hostile proxy as result": {
    source: "x = 2; new Proxy({}, new Proxy({}, { get() { throw new Error('trap') } }))",
    // A result is awaited, as `await` would, so the trap for `then` may be heard.
    status: ["ok", "threw"],
    x: 2,
  },
  "a result that is deep": {
    source: "x = 2; let deep: any = null; for (let i = 0; i < 100_000; i++) deep = [deep]; deep",
    status: "ok",
    x: 2,
  },
  "broken intrinsics": {
    source:
      "x = 2; Array.prototype.push = Map.prototype.get = Promise.prototype.then = (): any => { throw 1 }; Object.prototype.toString = 0 as any; 5",
    status: "ok",
    x: 2,
  },
  "prepareStackTrace that throws": {
    source: "x = 2; (Error as any).prepareStackTrace = () => { throw 1 }; throw new Error('e')",
    status: "threw",
    x: 2,
  },
  "output without end": {
    source: "x = 2; for (let i = 0; i < 20_000; i++) console.log('y'.repeat(100)); 5",
    status: "ok",
    x: 2,
  },
  "tool calls without end": {
    source: "x = 2; await Promise.allSettled(Array.from({ length: 1_000 }, () => tools.wait(1))); 5",
    status: ["ok", "threw"],
    x: 2,
  },
}

export const drill: Drill = {
  survives: "hosts, threads, neighbours and earlier state, whatever user code tries to end",
  async run(ground) {
    const nacre = await ground.nacre({ tools: { wait: async ([ms]) => pause(ms as number) } })
    await allHostsReady(nacre)
    const before = hostPids(nacre)
    const neighbours = await Promise.all(Array.from({ length: 8 }, () => nacre.open()))
    await Promise.all(neighbours.map((neighbour) => neighbour.eval("let calm = 0")))
    const rounds = ground.times(20, 2)
    let calm = 0
    for (let round = 0; round < rounds; round += 1) {
      for (const [what, { source, status, x }] of Object.entries(attempts)) {
        const session = await nacre.open({ evalTimeoutMs: 5_000 })
        await session.eval("let x = 1; let kept = { deep: [1, 2] }")
        // A neighbour that is parked on the same threads meanwhile.
        const waiting = Promise.all(neighbours.map((neighbour) => neighbour.eval("await tools.wait(10); ++calm")))
        const outcome = await session.eval(source)
        const allowed = Array.isArray(status) ? status : [status]
        ground.check(
          allowed.includes(outcome.status),
          `${what}: ${describeOutcome(outcome)}, not ${allowed.join(" or ")}`,
        )
        if (outcome.status === "exited") ground.equal(outcome.exitCode, 3, `${what}: its exit code`)
        calm += 1
        for (const beside of await waiting) {
          ground.equal(beside.value?.data, calm, `a neighbour beside ${what} (${describeOutcome(beside)})`)
        }
        const after = await session.eval("[x, kept.deep[1]]")
        const seen = after.value?.data as [number, number] | undefined
        const left = Array.isArray(x) ? x : [x]
        ground.check(
          seen?.[1] === 2 && left.includes(seen[0]),
          `state after ${what}: ${JSON.stringify(seen)} (${describeOutcome(after)})`,
        )
        await session.close()
      }
    }
    ground.equal(hostPids(nacre), before, "the hosts are the same processes")
    const strays = ground.events.filter((event) => event.type === "session.stray").length
    ground.figure(`${rounds * Object.keys(attempts).length} attempts, ${strays} strays reported as events`)
  },
}
