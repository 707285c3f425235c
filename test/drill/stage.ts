// The process in which one drill runs: `stage.ts FILE SCALE-AS-JSON`. Its findings leave on descriptor 3; then it has nothing left to do,
// and so it must end by itself. That it does is part of what `run.ts` checks: no timer, socket or child may keep it.
import { writeSync } from "node:fs"
import { Ground } from "./drill.ts"
import type { Drill, Scale } from "./drill.ts"
import { threadCount } from "./machine.ts"

const [file, scale] = process.argv.slice(2) as [string, string]
const { drill } = (await import(file)) as { drill: Drill }
const ground = new Ground(JSON.parse(scale) as Scale)

// Node starts its helper threads at first use, so one process may count a few more at its end; a leaked worker repeats.
const threadsSpare = 4
const threadsBefore = threadCount()

process.on("unhandledRejection", (reason) => {
  ground.check(false, `unhandled rejection in the embedder: ${String(reason)}`)
})
try {
  await drill.run(ground)
} catch (error) {
  ground.check(false, `the drill itself failed: ${error instanceof Error ? error.stack : String(error)}`)
}
await ground.leave()
const threads = threadCount()
ground.check(threads <= threadsBefore + threadsSpare, `${threads} threads in the embedder, ${threadsBefore} before`)
writeSync(3, JSON.stringify(ground.finding))
