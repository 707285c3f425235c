// One long-lived Erlang that runs scenarios: a line in, a trace out.
import { spawn, spawnSync, type ChildProcessWithoutNullStreams } from "node:child_process"
import { createInterface } from "node:readline"
import { fileURLToPath } from "node:url"
import type { Scenario, TraceEvent } from "./scenario.ts"

const oraclePath = fileURLToPath(new URL("../../otp-oracle/otp_oracle", import.meta.url))

export function hasErlang(): boolean {
  return spawnSync("escript", [], { stdio: "ignore" }).error === undefined
}

export class Oracle {
  readonly #child: ChildProcessWithoutNullStreams
  #events: TraceEvent[] = []
  #waiting: { resolve: (trace: TraceEvent[]) => void; reject: (error: Error) => void } | undefined

  constructor() {
    this.#child = spawn("escript", [oraclePath], { stdio: ["pipe", "pipe", "pipe"] })
    createInterface({ input: this.#child.stdout }).on("line", (line) => this.#take(line))
    this.#child.on("exit", (code) => this.#waiting?.reject(new Error(`the oracle ended with ${code}`)))
  }

  run(scenario: Scenario): Promise<TraceEvent[]> {
    this.#events = []
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#child.stdin.write(`${JSON.stringify(scenario)}\n`)
    })
  }

  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once("exit", resolve))
    this.#child.stdin.end()
    await ended
  }

  #take(line: string): void {
    const parsed: TraceEvent = JSON.parse(line)
    const { scenario: _scenario, seq: _seq, t_ms: _timeMs, ...event } = parsed
    if (event.ev === "oracle_error") this.#waiting?.reject(new Error(line))
    else if (event.ev === "done") this.#waiting?.resolve(this.#events)
    else this.#events.push(event)
  }
}
