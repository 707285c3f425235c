// The embedder itself is killed with SIGKILL while its evals compute, wait, and stand in native code. What must be gone a moment later: every
// host, and the folder of its sockets. Nothing may be left to run without an owner.
import { spawn } from "node:child_process"
import { existsSync, readdirSync } from "node:fs"
import { tmpdir } from "node:os"
import { fileURLToPath } from "node:url"
import { isProcessGone, pause, signal, until } from "./drill.ts"
import type { Drill } from "./drill.ts"

const goneMs = 2_000

export const drill: Drill = {
  survives: "nothing: no host and no socket folder outlives a killed embedder",
  async run(ground) {
    const rounds = ground.times(10, 2)
    const took: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      const file = fileURLToPath(new URL("./embedders/busy.ts", import.meta.url))
      const embedder = spawn(process.execPath, [...process.execArgv, file], { stdio: ["ignore", "pipe", "inherit"] })
      let said = ""
      embedder.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()))
      const isUp = await until(60_000, () => said.includes("\n"))
      ground.check(isUp, "the embedder did not come up")
      if (!isUp) {
        embedder.kill("SIGKILL")
        continue
      }
      const hosts = JSON.parse(said) as number[]
      const folders = readdirSync(tmpdir()).filter((name) => name.startsWith("nacre-"))
      ground.check(folders.length > 0, "the embedder has no socket folder to lose")
      await pause(ground.random() * 300)
      const from = performance.now()
      embedder.kill("SIGKILL")
      const isGone = (): boolean =>
        hosts.every(isProcessGone) && !folders.some((name) => existsSync(`${tmpdir()}/${name}`))
      ground.check(await until(goneMs, isGone), `hosts or sockets are left ${goneMs} ms after the embedder was killed`)
      took.push(performance.now() - from)
      for (const pid of hosts) if (!isProcessGone(pid)) signal(pid, "SIGKILL")
    }
    ground.figure(`gone after ${took.map((ms) => ms.toFixed(0)).join(", ")} ms`)
  },
}
