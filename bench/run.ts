// Runs benchmarks: `npm run bench -- [NAME…] [--quick] [--json=FILE]`.
//
// A benchmark is a file `bench/NAME.ts` that answers one question. It is a program: it runs in a process of its own, against `dist/` where
// it measures the runtime, and prints readable lines, and each result once more as a line of JSON that begins with `{` and has the
// property `bench`. `--quick` is handed on; those that know it repeat less. What several of them use lies in `bench/parts/`.
// Numbers of a busy machine are worth little, so the header and the end state its load. Exit code 1 when a benchmark failed.
import { spawn } from "node:child_process"
import { appendFileSync, readdirSync, writeFileSync } from "node:fs"
import { availableParallelism, cpus, loadavg, totalmem } from "node:os"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, json: { type: "string" } },
})
const folder = fileURLToPath(new URL(".", import.meta.url))
const names = readdirSync(folder)
  .filter((name) => name.endsWith(".ts") && name !== "run.ts")
  .map((name) => name.slice(0, -3))
const chosen = positionals.length === 0 ? names : names.filter((name) => positionals.includes(name))
const unknown = positionals.filter((name) => !names.includes(name))

const load = (): string =>
  loadavg()
    .map((it) => it.toFixed(2))
    .join(" ")
const machine = {
  cpu: cpus()[0]?.model ?? "unknown",
  cores: availableParallelism(),
  memoryBytes: totalmem(),
  platform: `${process.platform} ${process.arch}`,
  node: process.version,
}
console.log(
  `${machine.cores} cores of ${machine.cpu}, ${Math.round(machine.memoryBytes / 1024 ** 3)} GiB, ${machine.platform}, Node ${machine.node}`,
)
console.log(`load average ${load()} at the start${loadavg()[0]! > machine.cores / 2 ? " (busy: use the ratios)" : ""}`)
const spinMs = spin()
console.log(`a loop of 1e8 additions takes ${spinMs.toFixed(0)} ms here and now`)
if (values.json !== undefined) writeFileSync(values.json, "")
keep(JSON.stringify({ bench: "machine", ...machine, load: loadavg(), spinMs }))

/** What a host gives its threads: some benchmarks have a realm in their own process. */
const asWorker = ["--experimental-vm-modules", "--disable-warning=ExperimentalWarning"]

let failed = unknown.length
if (unknown.length > 0) console.log(`No benchmark is named ${unknown.join(", ")}; there are ${names.join(", ")}.`)
for (const name of chosen) {
  console.log(`\n${name}, load average ${load()}`)
  const child = spawn(
    process.execPath,
    [...process.execArgv, ...asWorker, `${folder}${name}.ts`, ...(values.quick ? ["--quick"] : [])],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  )
  for await (const line of createInterface(child.stdout)) {
    console.log(line)
    if (line.startsWith("{")) keep(line)
  }
  const code = child.exitCode ?? (await new Promise((resolve) => child.once("exit", resolve)))
  if (code === 0) continue
  failed += 1
  console.log(`${name} failed with code ${String(code)}`)
}
console.log(`\nload average ${load()} at the end; the loop of 1e8 additions takes ${spin().toFixed(0)} ms`)
process.exitCode = failed === 0 ? 0 : 1

/** How fast this machine is at this moment: load averages do not show what a hypervisor withholds. The best of three. */
function spin(): number {
  let best = Infinity
  for (let round = 0; round < 3; round += 1) {
    const from = performance.now()
    let sum = 0
    for (let i = 0; i < 1e8; i += 1) sum = (sum + i) | 0
    best = Math.min(best, performance.now() - from + (sum === 1 ? 1 : 0))
  }
  return best
}

function keep(line: string): void {
  if (values.json !== undefined) appendFileSync(values.json, `${line}\n`)
}
