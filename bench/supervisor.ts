// What supervision costs: starting, killing and restarting children, beside Erlang's own figures from the same run.
//
// Runs against `dist/`, since that is what people install. Prints one JSON line and one readable line per question. Each figure is
// the median of several rounds; a machine shared with others shows it in the spread (`min`, `max`).
import { spawnSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { createActor, fromTransition } from "xstate"
import type * as Api from "../supervisor/index.ts"

const distPath = new URL("../dist/supervisor/index.js", import.meta.url).href
const api: typeof Api = await import(distPath)
const { startSupervisor } = api

const childCount = Number(process.env["BENCH_CHILDREN"] ?? 100_000)
const rounds = Number(process.env["BENCH_ROUNDS"] ?? 3)
const kills = 2000

interface Figure {
  readonly question: string
  readonly unit: string
  readonly median: number
  readonly min: number
  readonly max: number
  readonly goal?: number
}

/** The cheapest child: an object with a listener. */
function lean(): Api.ProcessLike {
  let listener: ((reason: Api.ExitReason) => void) | undefined
  return {
    kill: () => undefined,
    onExit: (told) => {
      listener = told
    },
    stop: (reason) => listener?.(reason),
  }
}

const logic = fromTransition((count: number, event: { type: "add" }) => (event.type === "add" ? count + 1 : count), 0)

function dynamicSpec(make: () => Api.Startable, restart: Api.RestartType): Api.SupervisorSpec {
  const children = [{ id: "child", restart, start: () => make() }]
  return { strategy: "simple_one_for_one", intensity: 1_000_000, periodMs: 1000, children }
}

async function timeStarts(
  spec: Api.SupervisorSpec,
  count: number,
): Promise<{ startUs: number; stopUs: number; bytes: number }> {
  globalThis.gc?.()
  const before = process.memoryUsage().heapUsed
  const supervisor = await startSupervisor(spec)
  const from = performance.now()
  for (let at = 0; at < count; at++) await supervisor.startChild([at])
  const startUs = ((performance.now() - from) * 1000) / count
  globalThis.gc?.()
  const bytes = (process.memoryUsage().heapUsed - before) / count
  const stopFrom = performance.now()
  await supervisor.stop()
  return { startUs, stopUs: ((performance.now() - stopFrom) * 1000) / count, bytes }
}

async function timeStaticStarts(count: number): Promise<number> {
  const supervisor = await startSupervisor({ strategy: "one_for_one" })
  const from = performance.now()
  for (let at = 0; at < count; at++) await supervisor.startChild({ id: `child-${at}`, start: lean })
  const startUs = ((performance.now() - from) * 1000) / count
  supervisor.kill()
  return startUs
}

/** From the kill to the moment the supervisor's next answer shows the new child, as Erlang's figure is measured. */
async function timeRestarts(strategy: "simple_one_for_one" | "one_for_one", count: number): Promise<number> {
  const isDynamic = strategy === "simple_one_for_one"
  const supervisor = await startSupervisor(
    isDynamic ? dynamicSpec(lean, "permanent") : { strategy, intensity: 1_000_000, periodMs: 1000 },
  )
  const victims: Api.Process[] = []
  for (let at = 0; at < count; at++) {
    const answer = await supervisor.startChild(isDynamic ? [at] : { id: `child-${at}`, start: lean })
    if (answer.ok && answer.process !== undefined && victims.length < kills) victims.push(answer.process)
  }
  const from = performance.now()
  for (const victim of victims) {
    victim.kill()
    await supervisor.getChildSpec("child")
  }
  const us = ((performance.now() - from) * 1000) / victims.length
  supervisor.kill()
  return us
}

async function repeat(measure: () => Promise<number>): Promise<number[]> {
  const values: number[] = []
  for (let at = 0; at < rounds; at++) values.push(await measure())
  return values
}

function show(question: string, unit: string, values: readonly number[], goal?: number): void {
  const sorted = values.toSorted((one, other) => one - other)
  const median = sorted[Math.floor(sorted.length / 2)] ?? NaN
  const figure: Figure = {
    question,
    unit,
    median: round(median),
    min: round(sorted[0] ?? NaN),
    max: round(sorted.at(-1) ?? NaN),
    ...(goal === undefined ? {} : { goal }),
  }
  const verdict = goal === undefined ? "" : median <= goal ? `  (goal ${goal}: met)` : `  (goal ${goal}: MISSED)`
  console.log(JSON.stringify(figure))
  console.log(`  ${question}: ${figure.median} ${unit}${verdict}`)
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

function showErlang(): void {
  const script = fileURLToPath(new URL("supervisor.escript", import.meta.url))
  const run = spawnSync("escript", [script, String(childCount), String(kills)], { encoding: "utf8" })
  if (run.error !== undefined) {
    console.log("  Erlang is not installed; its figures are left out")
    return
  }
  for (const line of run.stdout.trim().split("\n")) {
    const [question = "", unit = "", value = ""] = line.split("\t")
    show(`erlang ${question}`, unit, [Number(value)])
  }
}

const leanStarts: { startUs: number; stopUs: number; bytes: number }[] = []
for (let at = 0; at < rounds; at++) leanStarts.push(await timeStarts(dynamicSpec(lean, "temporary"), childCount))
show(
  `start one of ${childCount} dynamic children (process-like)`,
  "us",
  leanStarts.map(({ startUs }) => startUs),
  25,
)
show(
  `stop ${childCount} dynamic children at once, each`,
  "us",
  leanStarts.map(({ stopUs }) => stopUs),
)
if (globalThis.gc !== undefined)
  show(
    "memory of a dynamic child (process-like)",
    "bytes",
    leanStarts.map(({ bytes }) => bytes),
    1024,
  )
const bareActor = await repeat(() => {
  const actors = []
  const from = performance.now()
  for (let at = 0; at < childCount; at++) actors.push(createActor(logic).start())
  return Promise.resolve(((performance.now() - from) * 1000) / actors.length)
})
show(`XState alone: create and start one of ${childCount} actors`, "us", bareActor)
const actorStarts = await repeat(
  async () =>
    (
      await timeStarts(
        dynamicSpec(() => createActor(logic), "temporary"),
        childCount,
      )
    ).startUs,
)
show(`start one of ${childCount} dynamic children (XState actor)`, "us", actorStarts, 25)
show(
  `start one of ${childCount} children with ids (process-like)`,
  "us",
  await repeat(() => timeStaticStarts(childCount)),
  25,
)
for (const strategy of ["simple_one_for_one", "one_for_one"] as const) {
  for (const count of [1000, childCount]) {
    show(`${strategy}: killed to restarted among ${count}`, "us", await repeat(() => timeRestarts(strategy, count)), 50)
  }
}
showErlang()
