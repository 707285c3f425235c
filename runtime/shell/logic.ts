// The shell's machine as it runs: its states and transitions compiled, once, into a table.
//
// XState's interpreter takes 6 us for an event of this machine, and up to 17 us where thousands of shells share the caches: a third of what
// an eval costs the embedder. A machine without guards, timers, nesting or changing context needs a look-up. The machine stays the one
// description (a test compares each state and event with XState's own interpreter), and what runs is an XState actor like any other.
import type { ActorLogic, Snapshot } from "xstate"
import { shellMachine } from "./machine.ts"
import type { ShellActions, ShellEvent } from "./machine.ts"

export type ShellSnapshot = Snapshot<undefined> & {
  readonly value: string
  readonly context: { shell: ShellActions }
}

interface Step {
  readonly target: string
  readonly isLast: boolean
  readonly actions: readonly (keyof ShellActions)[]
}

type Table = Record<string, Partial<Record<string, Step>>>

const table = compileMachine()

/** One object for all shells. Actions run once the new state stands; one that throws is a broken invariant and ends the actor with it. */
export const shellLogic: ActorLogic<ShellSnapshot, ShellEvent, { shell: ShellActions }> = {
  getInitialSnapshot: (_scope, context) => ({
    status: "active",
    output: undefined,
    error: undefined,
    value: "activating",
    context,
  }),
  transition: (snapshot, event, scope) => {
    const { value, context } = snapshot
    const step = table[value]?.[event.type]
    // What the state does not name is ignored, as the machine ignores it; XState's own `stop` comes as an event without a step.
    if (step === undefined) {
      const isStop = (event.type as string) === "xstate.stop"
      return isStop ? { status: "stopped", output: undefined, error: undefined, value, context } : snapshot
    }
    for (const action of step.actions) scope.defer(() => context.shell[action]())
    return {
      status: step.isLast ? "done" : "active",
      output: undefined,
      error: undefined,
      value: step.target,
      context,
    }
  },
  // A shell is started anew from its session, never from this.
  getPersistedSnapshot: (snapshot) => snapshot,
}

function compileMachine(): Table {
  const compiled: Table = {}
  for (const [name, node] of Object.entries(shellMachine.states)) {
    const steps: Partial<Record<string, Step>> = {}
    for (const [type, [transition]] of node.transitions) {
      const target = transition?.target?.[0]
      if (transition === undefined || target === undefined) continue
      const actions = [...transition.actions, ...target.entry] as (keyof ShellActions)[]
      steps[type] = { target: target.key, isLast: target.type === "final", actions }
    }
    compiled[name] = steps
  }
  return compiled
}
