import { generateScenario, cellsOf, histogramCells } from "./generator.ts"
import { runOurs, UnrunnableScenario } from "./ours.ts"
import { Oracle } from "./oracle.ts"
import { canonicalTrace, firstDifference } from "./trace.ts"
const from = Number(process.argv[2] ?? 1),
  count = Number(process.argv[3] ?? 50),
  verbose = process.argv[4] === "v"
const oracle = new Oracle()
let diffs = 0,
  unrunnable = 0,
  t1 = 0,
  t2 = 0,
  done = 0
const histogram = new Map<string, number>(histogramCells.map((c) => [c, 0]))
for (let seed = from; done < count; seed++) {
  const scenario = generateScenario(seed)
  let ours
  const a = performance.now()
  try {
    ours = await runOurs(scenario)
  } catch (e) {
    if (e instanceof UnrunnableScenario) {
      unrunnable++
      continue
    }
    console.log("OURS THREW", seed, JSON.stringify(scenario), e)
    diffs++
    done++
    continue
  }
  const b = performance.now()
  done++
  for (const c of cellsOf(scenario)) histogram.set(c, (histogram.get(c) ?? 0) + 1)
  let theirs
  try {
    theirs = await oracle.run(scenario)
  } catch (e) {
    console.log("ORACLE", seed, String(e), JSON.stringify(scenario))
    break
  }
  const c = performance.now()
  t1 += b - a
  t2 += c - b
  if (c - b > 3000) console.log("slow", seed, c - b, JSON.stringify(scenario))
  const d = firstDifference(canonicalTrace(scenario, ours), canonicalTrace(scenario, theirs))
  if (d !== undefined) {
    diffs++
    if (diffs <= 6) console.log(seed, JSON.stringify(scenario), "\n" + d)
  }
}
await oracle.close()
console.log({ done, diffs, unrunnable, oursMs: t1 / done, erlangMs: t2 / done })
console.log([...histogram].sort((x, y) => x[1] - y[1]).slice(0, 12))
