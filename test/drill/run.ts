// Rehearses failure: `npm run drill -- [NAME…] [--quick] [--seed=N] [--count=N]`. Needs Linux (/proc).
//
// Each drill breaks a live system on purpose and states what must survive. Full mode repeats as often as the promises are made for;
// `--quick` shows in about a minute that each drill works. A name runs the drills whose name contains it. After each drill nothing of it
// may be left: no process, no thread, no socket folder, no timer. Exit code 1 when anything failed.
import { spawn } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import type { Drill, Finding, Scale } from "./drill.ts"
import { until } from "./drill.ts"
import { processesNaming } from "./machine.ts"

const suffix = ".drill.ts"
/** How long a finished drill's processes may take to be gone. */
const leaveMs = 5_000

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, seed: { type: "string" }, count: { type: "string" } },
})
const scale: Scale = {
  quick: values.quick,
  seed: Number(values.seed ?? Date.now() % 1_000_000),
  count: values.count === undefined ? undefined : Number(values.count),
}

const folder = fileURLToPath(new URL(".", import.meta.url))
const names = readdirSync(folder)
  .filter((name) => name.endsWith(suffix))
  .map((name) => name.slice(0, -suffix.length))
const chosen =
  positionals.length === 0 ? names : names.filter((name) => positionals.some((wanted) => name.includes(wanted)))
const unknown = positionals.filter((wanted) => !names.some((name) => name.includes(wanted)))
if (unknown.length > 0) console.log(`No drill is named ${unknown.join(", ")}; there are ${names.join(", ")}.`)

console.log(`${scale.quick ? "quick" : "full"} drills, seed ${scale.seed}, Node ${process.version}`)
let [passed, failed] = [0, unknown.length]
for (const name of chosen) {
  const { drill } = (await import(join(folder, name + suffix))) as { drill: Drill }
  const startedAt = performance.now()
  const { checks, failures, failureCount, figures } = await rehearse(name, drill)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  const verdict = failureCount === 0 ? "PASS" : "FAIL"
  console.log(`${verdict} ${name}: ${drill.survives} | ${[`${checks} checks`, ...figures].join("; ")} | ${seconds} s`)
  for (const failure of failures) console.log(`     ${failure}`)
  if (failureCount > failures.length) console.log(`     … and ${failureCount - failures.length} more`)
  if (failureCount === 0) passed += 1
  else failed += 1
}
console.log(`${passed} passed, ${failed} failed, ${names.length - chosen.length} skipped`)
process.exitCode = failed === 0 ? 0 : 1

async function rehearse(name: string, drill: Drill): Promise<Finding> {
  const temporary = mkdtempSync(join(tmpdir(), "nacre-drill-"))
  const timeoutMs = drill.timeoutMs ?? (scale.quick ? 300_000 : 600_000)
  const child = spawn(
    process.execPath,
    [...process.execArgv, join(folder, "stage.ts"), join(folder, name + suffix), JSON.stringify(scale)],
    { stdio: ["ignore", "inherit", "inherit", "pipe"], env: { ...process.env, TMPDIR: temporary } },
  )
  let said = ""
  child.stdio[3]!.on("data", (chunk: Buffer) => (said += chunk.toString()))
  const ended = new Promise<string>((resolve) => {
    child.once("exit", (code, signal) => resolve(signal ?? `code ${code}`))
  })
  let isLate = false
  let late = setTimeout(giveUp, timeoutMs)
  function giveUp(): void {
    isLate = true
    child.kill("SIGKILL")
  }
  child.stdio[3]!.once("data", () => {
    clearTimeout(late)
    late = setTimeout(giveUp, leaveMs)
  })
  const how = await ended
  clearTimeout(late)

  const finding: Finding =
    said === "" ? { checks: 0, failures: [], failureCount: 0, figures: [] } : (JSON.parse(said) as Finding)
  const fail = (text: string): void => {
    finding.failures.push(text)
    finding.failureCount += 1
  }
  if (said === "") fail(isLate ? `hung: no findings within ${timeoutMs / 1000} s` : `its process ended with ${how}`)
  else if (isLate) fail(`something keeps its process alive ${leaveMs / 1000} s after it was done`)
  else if (how !== "code 0") fail(`its process ended with ${how}`)
  finding.checks += 2
  if (!(await until(leaveMs, () => processesNaming(temporary).length === 0))) {
    const left = processesNaming(temporary)
    fail(
      `left ${left.length} processes: ${left.map(({ pid, command }) => `${pid} ${command.slice(0, 80)}`).join(", ")}`,
    )
    for (const { pid } of left) process.kill(pid, "SIGKILL")
  }
  // tsx keeps its own cache and pipe in the temporary folder.
  const files = readdirSync(temporary).filter((file) => !file.startsWith("tsx-"))
  if (files.length > 0) fail(`left files: ${files.join(", ")}`)
  rmSync(temporary, { recursive: true, force: true })
  return finding
}
