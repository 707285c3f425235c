// Records Erlang's traces for clones without Erlang: `npx tsx test/property/supervisor/record-traces.ts [count]`.
import { judge, runnableScenarios } from "./differ.ts"
import { firstSeed } from "./batches.ts"
import { Oracle } from "./oracle.ts"
import { writeStoredTraces, type StoredTrace } from "./stored-traces.ts"

const count = Number(process.argv[2] ?? 1500)
const { scenarios } = await runnableScenarios(firstSeed, count)
const oracles = [new Oracle(), new Oracle()]
const stored: StoredTrace[] = []
await Promise.all(
  oracles.map(async (oracle, lane) => {
    for (let at = lane; at < scenarios.length; at += oracles.length) {
      const { scenario, ours } = scenarios[at] ?? {}
      if (scenario === undefined || ours === undefined) continue
      const verdict = await judge(oracle, scenario, ours)
      if (verdict.is === "equal") stored.push({ scenario, trace: verdict.theirs })
      else console.log(`${scenario.name}: ${verdict.is}; not stored`)
    }
    await oracle.close()
  }),
)
const number = ({ scenario }: StoredTrace): number => Number(scenario.name.slice("seed-".length))
const bytes = writeStoredTraces(stored.toSorted((one, other) => number(one) - number(other)))
console.log(`${stored.length} traces, ${bytes} bytes`)
