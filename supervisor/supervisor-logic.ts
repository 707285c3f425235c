// The supervisor as XState actor logic.
//
// The actor holds the state and applies `decide`; it starts nothing, waits for nothing and spawns nothing. The commands of the last
// event are part of its snapshot, and `Supervisor` carries them out. So a supervisor can be inspected and subscribed to like any other
// actor, while its children are root actors of their own: XState's child map is copied on every spawn.
import type { ActorLogic, Snapshot } from "xstate"
import { decide } from "./decide.ts"
import { createState, type Command, type StampedEvent, type SupervisorState } from "./state.ts"
import type { ResolvedChildSpec, ResolvedFlags } from "./child-spec.ts"

export interface SupervisorInput {
  readonly flags: ResolvedFlags
  readonly specs: readonly ResolvedChildSpec[]
}

export type SupervisorSnapshot = Snapshot<unknown> & {
  readonly context: SupervisorState
  readonly commands: readonly Command[]
}

export const supervisorLogic: ActorLogic<SupervisorSnapshot, StampedEvent, SupervisorInput> = {
  getInitialSnapshot: (_scope, { flags, specs }) => ({
    status: "active",
    output: undefined,
    error: undefined,
    context: createState(flags, specs),
    commands: [],
  }),
  transition: (snapshot, event) => {
    // What XState's own `stop` sends to every logic.
    if (event.type !== "turn") {
      return { status: "stopped", output: undefined, error: undefined, context: snapshot.context, commands: [] }
    }
    const { state, commands } = decide(snapshot.context, event)
    if (state.exitReason !== undefined) {
      return { status: "done", output: state.exitReason, error: undefined, context: state, commands }
    }
    return { status: "active", output: undefined, error: undefined, context: state, commands }
  },
  // Processes cannot be written down; a supervisor is started anew from its specification.
  getPersistedSnapshot: (snapshot) => snapshot,
}
