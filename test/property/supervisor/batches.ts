// How many scenarios run where, and how they are cut into tests.
import { hasErlang } from "./oracle.ts"

/** Scenarios per test: small enough to name a place, large enough to keep the list readable. */
export const batchSize = 50

/** The full run takes about two minutes on two Erlangs. */
const scenariosFull = 2000
const scenariosQuick = 200

/** Every run of the default count has the same scenarios; `NACRE_SEED` moves on to others. */
export const firstSeed = Number(process.env["NACRE_SEED"] ?? 1)

export const isCi = process.env["CI"] === "true"

export interface Extent {
  readonly isLive: boolean
  readonly scenarios: number
}

/** With Erlang: all in CI, a sample elsewhere. Without: the stored traces, and the others count as skipped. */
export function chooseExtent(): Extent {
  const isLive = hasErlang()
  const asked = process.env["NACRE_SCENARIOS"]
  if (asked !== undefined) return { isLive, scenarios: Number(asked) }
  return { isLive, scenarios: isCi || !isLive ? scenariosFull : scenariosQuick }
}
