// Hosts are killed with SIGKILL at random moments while 200 sessions evaluate. What must survive: every committed value of every session;
// every eval has exactly one outcome, in the order of the calls, `ok` or `crashed`; what crashed changed nothing. Values are read back after
// each round and compared with a model that believes the outcomes alone.
import type { Outcome, Session } from "../../runtime/index.ts"
import { allHostsReady, describeOutcome, pause, signal } from "./drill.ts"
import type { Drill, Ground } from "./drill.ts"

const sessionCount = 200
const evalsPerRound = 3

interface Model {
  readonly session: Session
  n: number
  log: number[]
}

// What evals do while their host may die: little, much, waiting, and large values under way.
const bodies = [
  (n: number) => `n = ${n}; log.push(${n})`,
  (n: number) => `{ const until = Date.now() + 3; while (Date.now() < until); } n = ${n}; log.push(${n})`,
  (n: number) => `n = ${n}; await tools.wait(2); log.push(${n})`,
  (n: number) => `n = ${n}; blob = new Uint8Array(20_000).fill(${n % 250}); log.push(${n})`,
  (n: number) => `n = ${n}; await new Promise((done) => setTimeout(done, 3)); log.push(${n})`,
]

export const drill: Drill = {
  survives: "every committed value of 200 sessions while hosts are killed",
  timeoutMs: 900_000,
  async run(ground) {
    const killsWanted = ground.times(1_000, 15)
    const nacre = await ground.nacre({ tools: { wait: async ([ms]) => pause(ms as number) } })
    const models: Model[] = []
    for (let i = 0; i < sessionCount; i += 1) {
      models.push({ session: await nacre.open({ id: `drill-${i}` }), n: 0, log: [] })
    }
    const start = "let n = 0; let log: number[] = []; let blob: any; function double(x: number) { return 2 * x }"
    const started = await Promise.all(models.map(({ session }) => session.eval(start)))
    for (const outcome of started) ground.equal(describeOutcome(outcome), "ok", "the first eval")

    let [rounds, evals, crashed, serial] = [0, 0, 0, 0]
    const tally = { kills: 0 }
    const ids = new Set<string>()
    do {
      rounds += 1
      const done = new AbortController()
      const killing = (async () => {
        while (!done.signal.aborted) {
          await pause(ground.random() * 60)
          const alive = nacre.placement().filter(({ host }) => !host.isDead)
          const victim = alive[Math.floor(ground.random() * alive.length)]
          if (victim === undefined || done.signal.aborted) continue
          if (signal(victim.host.pid, "SIGKILL")) tally.kills += 1
        }
      })()
      const perSession = models.map((model) => {
        const order: number[] = []
        return Array.from({ length: evalsPerRound }, async (_, at) => {
          const n = ++serial
          const body = bodies[Math.floor(ground.random() * bodies.length)]!
          const outcome = await model.session.eval(body(n))
          order.push(at)
          evals += 1
          ground.check(!ids.has(outcome.evalId), `two outcomes for ${outcome.evalId}`)
          ids.add(outcome.evalId)
          ground.equal(order.length - 1, at, "outcomes in the order of the calls")
          if (outcome.status === "crashed") crashed += 1
          apply(ground, model, n, outcome)
        })
      })
      await Promise.all(perSession.flat())
      done.abort()
      await killing
      await verify(ground, models)
    } while (tally.kills < killsWanted)
    ground.check(await allHostsReady(nacre), "the hosts were not all replaced within 30 s")
    ground.figure(`${tally.kills} kills in ${rounds} rounds, ${evals} evals, ${crashed} of them crashed`)
  },
}

function apply(ground: Ground, model: Model, n: number, outcome: Outcome): void {
  if (outcome.status === "ok") {
    model.n = n
    model.log.push(n)
    return
  }
  ground.equal(outcome.status, "crashed", "an eval whose host may have been killed")
  ground.check(outcome.because !== undefined, "a crashed eval that does not say why")
  ground.equal(outcome.committed.set, [], "committed by a crashed eval")
  ground.equal(outcome.lost, [], "lost bindings")
}

async function verify(ground: Ground, models: readonly Model[]): Promise<void> {
  await Promise.all(
    models.map(async ({ session, n, log }) => {
      const outcome = await session.eval("[n, log, double(n)]")
      ground.equal(outcome.value?.data, [n, log, 2 * n], `${session.id} after the round (${describeOutcome(outcome)})`)
    }),
  )
}
