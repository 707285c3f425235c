// Preludes on trial: a realm that is built with them, by itself, and thrown away.
import type { Profile } from "../profile.ts"
import { nanoid } from "nanoid"
import type { Scheduler } from "../host/scheduler.ts"
import { NacreError } from "../errors.ts"
import type { Limits } from "../options.ts"
import { checkpointOf, SessionState } from "../session/state.ts"
import type { ErrorRecord, Preludes } from "../wire/schema.ts"
import { runAside } from "./aside.ts"

export interface TrialFacts {
  readonly group: string
  readonly profile: Profile
  readonly directory: string
  readonly preludes: Preludes
}

/** What went wrong first, if anything. Rejects with `prelude_invalid` when it took too long, and `host_unavailable` when its host ended. */
export function tryPreludes(
  scheduler: Scheduler,
  { group, profile, directory, preludes }: TrialFacts,
  limits: Limits,
): Promise<ErrorRecord | undefined> {
  const state = new SessionState()
  state.preludes = preludes
  const id = `prl_${nanoid(12)}`
  const message = {
    seq: 0,
    session: id,
    evalId: id,
    commit: 0,
    source: "",
    file: id,
    line: 1,
    atomic: false,
    limits: [0, 0, 0],
    checkpoint: checkpointOf(state, {
      tools: [],
      kind: "unknown",
      profile: profile.name,
      capabilities: [...profile.capabilities],
      directory,
    }),
    change: { stage: "preludes" as const, id, definitions: [], removed: [] },
  }
  return new Promise((resolve, reject) => {
    runAside(
      scheduler,
      { session: id, group },
      message,
      limits.changeTimeoutMs,
      ({ status, because, error, answer }) => {
        if (status === "ok") return resolve(error ?? answer?.problem)
        if (status === "timeout") {
          const ms = limits.changeTimeoutMs
          const text = `The prelude was not loaded within ${ms} ms: it computes, or what it imports waits, for too long; raise limits.changeTimeoutMs, or do that in a function.`
          return reject(new NacreError("prelude_invalid", text))
        }
        const text = `The prelude could not be tried, since its host ended (${because ?? status}); load it again.`
        reject(new NacreError("host_unavailable", text))
      },
    )
  })
}
