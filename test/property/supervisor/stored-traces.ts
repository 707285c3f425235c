// Erlang's traces of the default scenarios, kept so that a clone without Erlang compares too.
//
// One JSON line per scenario, gzipped: the scenario as it was generated, and the trace of the real run, without times.
// `record-traces.ts` writes the file. The scenario is stored, not only its seed, so that a change of the generator cannot go unnoticed.
import { readFileSync, writeFileSync } from "node:fs"
import { gunzipSync, gzipSync } from "node:zlib"
import type { Scenario, TraceEvent } from "./scenario.ts"

export interface StoredTrace {
  readonly scenario: Scenario
  readonly trace: readonly TraceEvent[]
}

const path = new URL("erlang-traces.jsonl.gz", import.meta.url)

export function readStoredTraces(): Map<string, StoredTrace> {
  const lines = gunzipSync(readFileSync(path)).toString("utf8").trim().split("\n")
  const traces = lines.map((line): StoredTrace => JSON.parse(line))
  return new Map(traces.map((stored) => [stored.scenario.name, stored]))
}

export function writeStoredTraces(traces: readonly StoredTrace[]): number {
  const bytes = gzipSync(traces.map((stored) => JSON.stringify(stored)).join("\n"), { level: 9 })
  writeFileSync(path, bytes)
  return bytes.length
}
