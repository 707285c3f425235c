// Our supervisor and Erlang's, the same scenarios, the same traces.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { batchSize, chooseExtent, firstSeed, isCi } from "./batches.ts"
import { differenceFrom, judge, runnableScenarios, shrink } from "./differ.ts"
import { cellsOf, histogramCells } from "./generator.ts"
import { Oracle } from "./oracle.ts"
import { runOurs } from "./ours.ts"
import type { Scenario, TraceEvent } from "./scenario.ts"
import { readStoredTraces, type StoredTrace } from "./stored-traces.ts"

const { isLive, scenarios: scenarioCount } = chooseExtent()
const batchCount = Math.ceil(scenarioCount / batchSize)
const cellMin = 20
/** An Erlang on a busy machine may miss a deadline by 30 ms once in a while; more often than this and something else is wrong. */
const unsteadyMax = Math.max(2, scenarioCount / 250)
const fixturesUrl = new URL("fixtures/", import.meta.url)

interface Prepared {
  readonly scenario: Scenario
  readonly ours: TraceEvent[]
}

const histogram = new Map<string, number>(histogramCells.map((cell) => [cell, 0]))
const stored = isLive ? new Map<string, StoredTrace>() : readStoredTraces()
const batches: Prepared[][] = []
const tally = { compared: 0, events: 0, unsteady: 0 }
const oracles: Oracle[] = []

function count(scenario: Scenario, ours: readonly TraceEvent[]): void {
  tally.compared++
  tally.events += ours.length
  for (const cell of cellsOf(scenario)) histogram.set(cell, (histogram.get(cell) ?? 0) + 1)
}

async function compareLive(batch: readonly Prepared[]): Promise<string[]> {
  const failures: string[] = []
  const runLane = async (oracle: Oracle, lane: number): Promise<void> => {
    for (const { scenario, ours } of batch.filter((_, at) => at % oracles.length === lane)) {
      count(scenario, ours)
      const verdict = await judge(oracle, scenario, ours)
      if (verdict.is === "unsteady") tally.unsteady++
      if (verdict.is !== "different") continue
      const smallest = await shrink(oracle, scenario)
      storeFixture(smallest, await oracle.run(smallest))
      failures.push(`${scenario.name}, shrunk to fixtures/${scenario.name}.json:\n${verdict.difference}`)
    }
  }
  await Promise.all(oracles.map(runLane))
  return failures
}

function compareStored(batch: readonly Prepared[]): string[] {
  const failures: string[] = []
  for (const { scenario, ours } of batch) {
    const kept = stored.get(scenario.name)
    if (kept === undefined) continue
    count(scenario, ours)
    if (JSON.stringify(kept.scenario) !== JSON.stringify(scenario)) {
      failures.push(`${scenario.name}: the generator has changed; record the traces anew`)
      continue
    }
    const difference = differenceFrom(scenario, ours, kept.trace)
    if (difference !== undefined) failures.push(`${scenario.name}:\n${difference}`)
  }
  return failures
}

function storeFixture(scenario: Scenario, theirs: readonly TraceEvent[]): void {
  mkdirSync(fixturesUrl, { recursive: true })
  const fixture: StoredTrace = { scenario, trace: theirs }
  writeFileSync(new URL(`${scenario.name}.json`, fixturesUrl), `${JSON.stringify(fixture, undefined, 1)}\n`)
}

beforeAll(async () => {
  let seed = firstSeed
  for (let at = 0; at < batchCount; at++) {
    const { scenarios, seedNext } = await runnableScenarios(seed, batchSize)
    batches.push(scenarios)
    seed = seedNext
  }
  if (isLive) oracles.push(new Oracle(), new Oracle())
}, 300_000)

afterAll(async () => {
  await Promise.all(oracles.map((oracle) => oracle.close()))
})

describe("differential test against Erlang's supervisor", () => {
  it("finds Erlang where CI asks for it", () => {
    expect(isLive || !isCi, "CI=true needs `apt-get install erlang-base`").toBe(true)
  })

  // Stored traces are of consecutive scenarios from the first on, so whole batches are either stored or not.
  const storedBatches = Math.floor(stored.size / batchSize)
  for (let at = 0; at < batchCount; at++) {
    const isCompared = isLive || at < storedBatches
    it.skipIf(!isCompared)(
      `gives the same traces, scenarios ${at * batchSize + 1} to ${(at + 1) * batchSize}`,
      async () => {
        const batch = batches[at] ?? []
        expect(batch.length).toBe(batchSize)
        const failures = isLive ? await compareLive(batch) : compareStored(batch)
        expect(failures.join("\n\n")).toBe("")
      },
      300_000,
    )
  }

  it("exercises every operation x strategy x restart type", () => {
    const sorted = [...histogram].toSorted(([, one], [, other]) => one - other)
    printHistogram()
    console.log(
      `${tally.compared} scenarios from seed ${firstSeed}, ${tally.events} events, ${tally.unsteady} unsteady on Erlang's side; ` +
        `least exercised: ${sorted[0]?.[0]} (${sorted[0]?.[1]})`,
    )
    expect(tally.unsteady).toBeLessThanOrEqual(unsteadyMax)
    // A sample cannot fill every cell; the full run must.
    if (tally.compared >= 2000) expect(sorted.filter(([, times]) => times < cellMin)).toEqual([])
  })
})

describe("scenarios kept by name", () => {
  const names = readdirSync(fixturesUrl).filter((name) => name.endsWith(".json"))
  for (const name of names) {
    it(`stays equal: ${name}`, async () => {
      const text = readFileSync(new URL(name, fixturesUrl), "utf8")
      const fixture: StoredTrace = JSON.parse(text)
      const ours = await runOurs(fixture.scenario)
      expect(differenceFrom(fixture.scenario, ours, fixture.trace)).toBeUndefined()
    })
  }
})

/** Operations down; strategies and, within each, permanent / transient / temporary across. */
function printHistogram(): void {
  const operations = [...new Set(histogramCells.map((cell) => cell.split(" ")[0] ?? ""))]
  const columns = [...new Set(histogramCells.map((cell) => cell.split(" ").slice(1).join(" ")))]
  const strategies = [...new Set(columns.map((column) => column.split(" ")[0] ?? ""))]
  const header = strategies.map((strategy) => strategy.padStart(19)).join("")
  const lines = operations.map((operation) => {
    const cells = strategies.map((strategy) =>
      columns
        .filter((column) => column.startsWith(`${strategy} `))
        .map((column) => String(histogram.get(`${operation} ${column}`) ?? 0))
        .join("/")
        .padStart(19),
    )
    return `${operation.padEnd(15)}${cells.join("")}`
  })
  console.log([`${"".padEnd(15)}${header}`, ...lines].join("\n"))
}
