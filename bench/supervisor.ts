// What supervision costs: starting, killing and restarting children, beside Erlang's own figures from the same run.
//
// Runs against `dist/`, since that is what people install. Prints one JSON line and one readable line per question. Each figure is
// the median of several rounds, in wall-clock time; `cpu` is the median of the process's own CPU time, collector included, which stays
// comparable when the machine is shared with others. Run it with `--expose-gc` for the memory figures.
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
  readonly cpu?: number
  readonly goal?: number
}

interface Time {
  readonly wall: number
  readonly cpu: number
}

/** Starts a watch; it gives microseconds per operation. */
function watch(): (operations: number) => Time {
  const fromMs = performance.now()
  const fromCpu = process.cpuUsage()
  return (operations) => {
    const { user, system } = process.cpuUsage(fromCpu)
    return { wall: ((performance.now() - fromMs) * 1000) / operations, cpu: (user + system) / operations }
  }
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
): Promise<{ start: Time; stop: Time; bytes: number }> {
  globalThis.gc?.()
  const before = process.memoryUsage().heapUsed
  const supervisor = await startSupervisor(spec)
  const started = watch()
  for (let at = 0; at < count; at++) await supervisor.startChild([at])
  const start = started(count)
  globalThis.gc?.()
  const bytes = (process.memoryUsage().heapUsed - before) / count
  const stopped = watch()
  await supervisor.stop()
  return { start, stop: stopped(count), bytes }
}

async function timeStaticStarts(count: number): Promise<Time> {
  const supervisor = await startSupervisor({ strategy: "one_for_one" })
  const started = watch()
  for (let at = 0; at < count; at++) await supervisor.startChild({ id: `child-${at}`, start: lean })
  const time = started(count)
  supervisor.kill()
  return time
}

/** From the kill to the moment the supervisor's next answer shows the new child, as Erlang's figure is measured. */
async function timeRestarts(strategy: "simple_one_for_one" | "one_for_one", count: number): Promise<Time> {
  const isDynamic = strategy === "simple_one_for_one"
  const supervisor = await startSupervisor(
    isDynamic ? dynamicSpec(lean, "permanent") : { strategy, intensity: 1_000_000, periodMs: 1000 },
  )
  const victims: Api.Process[] = []
  for (let at = 0; at < count; at++) {
    const answer = await supervisor.startChild(isDynamic ? [at] : { id: `child-${at}`, start: lean })
    if (answer.ok && answer.process !== undefined && victims.length < kills) victims.push(answer.process)
  }
  const restarted = watch()
  for (const victim of victims) {
    victim.kill()
    await supervisor.getChildSpec("child")
  }
  const time = restarted(victims.length)
  supervisor.kill()
  return time
}

async function repeat(measure: () => Promise<Time>): Promise<Time[]> {
  const values: Time[] = []
  for (let at = 0; at < rounds; at++) values.push(await measure())
  return values
}

function show(question: string, unit: string, values: readonly number[], goal?: number, cpu?: readonly number[]): void {
  const sorted = values.toSorted((one, other) => one - other)
  const median = medianOf(values)
  const figure: Figure = {
    question,
    unit,
    median: round(median),
    min: round(sorted[0] ?? NaN),
    max: round(sorted.at(-1) ?? NaN),
    ...(cpu === undefined ? {} : { cpu: round(medianOf(cpu)) }),
    ...(goal === undefined ? {} : { goal }),
  }
  const verdict = goal === undefined ? "" : median <= goal ? `  (goal ${goal}: met)` : `  (goal ${goal}: MISSED)`
  const cpuText = figure.cpu === undefined ? "" : `, cpu ${figure.cpu}`
  console.log(JSON.stringify(figure))
  console.log(`  ${question}: ${figure.median} ${unit}${cpuText}${verdict}`)
}

function showTimes(question: string, times: readonly Time[], goal?: number): void {
  show(
    question,
    "us",
    times.map(({ wall }) => wall),
    goal,
    times.map(({ cpu }) => cpu),
  )
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? NaN
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
    const [question = "", unit = "", wall = "", cpu = ""] = line.split("\t")
    show(`erlang ${question}`, unit, [Number(wall)], undefined, [Number(cpu)])
  }
}

const leanStarts: Awaited<ReturnType<typeof timeStarts>>[] = []
for (let at = 0; at < rounds; at++) leanStarts.push(await timeStarts(dynamicSpec(lean, "temporary"), childCount))
showTimes(
  `start one of ${childCount} dynamic children (process-like)`,
  leanStarts.map(({ start }) => start),
  25,
)
showTimes(
  `stop ${childCount} dynamic children at once, each`,
  leanStarts.map(({ stop }) => stop),
)
if (globalThis.gc !== undefined) {
  show(
    "memory of a dynamic child (process-like)",
    "bytes",
    leanStarts.map(({ bytes }) => bytes),
    1024,
  )
}
const bareActors = await repeat(() => {
  const actors = []
  const created = watch()
  for (let at = 0; at < childCount; at++) actors.push(createActor(logic).start())
  return Promise.resolve(created(actors.length))
})
showTimes(`XState alone: create and start one of ${childCount} actors`, bareActors)
const actorStarts = await repeat(
  async () =>
    (
      await timeStarts(
        dynamicSpec(() => createActor(logic), "temporary"),
        childCount,
      )
    ).start,
)
showTimes(`start one of ${childCount} dynamic children (XState actor)`, actorStarts, 25)
showTimes(
  `start one of ${childCount} children with ids (process-like)`,
  await repeat(() => timeStaticStarts(childCount)),
  25,
)
for (const strategy of ["simple_one_for_one", "one_for_one"] as const) {
  // A thousand kills are few: unwarmed, they measure the compiler.
  for (let at = 0; at < 5; at++) await timeRestarts(strategy, 1000)
  for (const count of [1000, childCount]) {
    const times = await repeat(() => timeRestarts(strategy, count))
    showTimes(`${strategy}: killed to restarted among ${count}`, times, 50)
  }
}
showErlang()
