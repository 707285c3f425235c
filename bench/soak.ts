// One session that declares new names for ever: 50,000 evals, each with names of its own. What an eval costs at the end beside the start, and
// what memory is left. In one process on a real realm and resident, without hosts and sockets; `--quick` runs a tenth.
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { isQuick, over, report, short, show } from "./parts/figures.ts"
import { ResidentSession } from "../test/resident.ts"

const evals = isQuick ? 5_000 : 50_000
const step = evals / 50
setFlagsFromString("--expose-gc")
const collect = runInNewContext("gc") as () => void

const session = new ResidentSession()
const forms = [
  (at: number) => `let v${at} = ${at}`,
  (at: number) => `const o${at} = { id: ${at}, list: [1, 2] }`,
  (at: number) => `function f${at}(x: number) { return x + ${at} }`,
  (at: number) => `const g${at} = (() => { let n = ${at}; return () => n++ })()`,
  (at: number) => `class C${at} { #x = ${at}; get() { return this.#x } } new C${at}().get()`,
]

const costs: number[] = []
const heaps: number[] = []
for (let at = 0; at < evals;) {
  const start = process.cpuUsage()
  for (const end = at + step; at < end; at += 1) await session.run(forms[at % forms.length]!(at))
  const { user, system } = process.cpuUsage(start)
  costs.push((user + system) / step)
  collect()
  heaps.push(process.memoryUsage().heapUsed)
}

// The first tenth warms the engine up.
const warm = costs.slice(5, 10)
const last = costs.slice(-5)
const factor = over(last).median / over(warm).median
report(
  "soak",
  "processor time of an eval",
  `${show(over(warm), " us")} at first, ${show(over(last), " us")} at the end: ${short(factor)} times`,
  { warm: over(warm), last: over(last), factor, costs },
  "<= 1.2 times",
)
const bytesAName = (heaps.at(-1)! - heaps[9]!) / (evals * 0.8)
report("soak", "memory of a name", `${short(bytesAName)} bytes`, { bytesAName, heapBytes: heaps.at(-1)! }, "bounded")
