// How long is a session away when something ends its process, its realm or its eval?
//
// The kill: SIGKILL to the session's host, the next eval requested in the same turn, until that eval's outcome; other hosts and the warm spare
// live. The rebuild: an eval of a session whose realm was dropped, over a warm one, interleaved. The interrupt: from the request to the
// outcome, of a parked and of a computing eval on an otherwise idle nacre.
import type { Session } from "../runtime/index.ts"
import { isQuick, over, quantile, report, short, show } from "./parts/figures.ts"
import { allHostsReady, built } from "./parts/processes.ts"

const kills = isQuick ? 5 : 30
const rebuildRounds = isQuick ? 3 : 10
const rebuildsPerRound = isQuick ? 30 : 100
const interrupts = isQuick ? 20 : 100

const { Nacre } = await built()
const nacre = await Nacre.start({
  tools: { never: (_args, call) => new Promise((_, reject) => call.signal.addEventListener("abort", reject)) },
})

await kill()
await rebuild()
await interrupt("parked", "x = 2; await tools.never()", "<= 5 ms")
await interrupt("computing", "x = 2; for (;;);", "<= 100 ms")
await nacre.stop()

async function kill(): Promise<void> {
  const samples: number[] = []
  let lostBegun = 0
  for (let i = 0; i < kills; i += 1) {
    await allHostsReady(nacre)
    const session = await nacre.open()
    await session.run("let x = 1")
    const pid = session.worker!.host.pid
    const from = performance.now()
    process.kill(pid, "SIGKILL")
    let outcome = await session.eval("x")
    while (outcome.status === "crashed") {
      lostBegun += 1
      outcome = await session.eval("x")
    }
    samples.push(performance.now() - from)
    if (outcome.value?.text !== "1") throw new Error("A committed value was lost.")
    await session.close()
  }
  const figure = { killMs: over(samples), p99Ms: quantile(samples, 0.99), kills, lostBegun }
  report("recovery", "SIGKILL to the next outcome", show(figure.killMs, " ms"), figure, "<= 10 ms")
}

async function rebuild(): Promise<void> {
  await allHostsReady(nacre)
  const session = await nacre.open()
  const definitions = Array.from(
    { length: 10 },
    (_, i) => `function f${i}(n: number): number { return n * ${i} + offset }`,
  )
  await session.run(`let offset = 1; ${definitions.join("\n")}`)
  // 10 KB: 100 records of a number and a text of 90 characters.
  await session.run(
    "let state = Array.from({ length: 100 }, (_, i) => ({ id: i, text: String(i).padStart(90, '-') })); let x = 0",
  )
  await session.mark("here")
  const differences: number[] = []
  const [warm, cold]: [number[], number[]] = [[], []]
  for (let round = 0; round < rebuildRounds; round += 1) {
    const [warmRound, coldRound]: [number[], number[]] = [[], []]
    for (let i = 0; i < rebuildsPerRound; i += 1) {
      await session.rollback("here")
      coldRound.push(await timeMs(session))
      warmRound.push(await timeMs(session))
    }
    warm.push(quantile(warmRound, 0.5))
    cold.push(quantile(coldRound, 0.5))
    differences.push(cold.at(-1)! - warm.at(-1)!)
  }
  const figures = { coldMs: over(cold), warmMs: over(warm), overWarmMs: over(differences) }
  const text = `${show(figures.overWarmMs, " ms")} over a warm one of ${short(figures.warmMs.median)} ms`
  report("recovery", "cold rebuild, 10 definitions, 10 KB", text, figures, "<= 2 ms")
  await session.close()
}

async function timeMs(session: Session): Promise<number> {
  const from = performance.now()
  await session.run("x = f3(x) - f3(x)")
  return performance.now() - from
}

async function interrupt(name: string, source: string, goal: string): Promise<void> {
  const samples: number[] = []
  for (let i = 0; i < interrupts; i += 1) {
    const session = await nacre.open()
    await session.run("let x = 1")
    const running = session.eval(source, { timeoutMs: Infinity })
    await new Promise((resolve) => setTimeout(resolve, 20))
    const from = performance.now()
    await session.interrupt()
    const outcome = await running
    samples.push(performance.now() - from)
    if (outcome.status !== "interrupted") throw new Error(`An interrupted eval ended as ${outcome.status}.`)
    await session.close()
  }
  const figure = { p50Ms: quantile(samples, 0.5), p99Ms: quantile(samples, 0.99), interrupts }
  report(
    "recovery",
    `interrupt, ${name}`,
    `p50 ${short(figure.p50Ms)} ms, p99 ${short(figure.p99Ms)} ms`,
    figure,
    `p99 ${goal}`,
  )
}
