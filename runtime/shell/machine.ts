// The life of a shell, as one XState machine object that all shells share.
//
//   state         what is so                                     leaves on
//   activating    the actor runs, its state is being loaded      READY -> idle, CLOSE -> closed
//   idle          nothing is under way                           EVAL -> evaluating, CLOSE -> closed
//   evaluating    one eval is with the scheduler                 ENDED -> idle, STOP -> interrupting, CLOSE -> draining
//   interrupting  that eval is being stopped                     ENDED -> idle, CLOSE -> draining
//   draining      as interrupting, and nothing may follow        ENDED -> closed
//   closed        final
//
// The machine says what may happen; the shell does it, in methods that the transitions name. The way of an ordinary eval has two events:
// EVAL and ENDED. `logic.ts` is what actors run.
import { setup } from "xstate"

/** What the machine asks of its shell. A method that throws is a broken invariant and crashes the shell. */
export interface ShellActions {
  /** Hand the first queued eval to the scheduler. */
  submitNext(): void
  /** Fold the queue, commit, resolve the eval that ended. */
  drain(): void
  /** Stop the eval under way. */
  stopCurrent(): void
  /** Refuse what comes and settle what waits. */
  release(): void
}

export type ShellEvent = { type: "READY" | "EVAL" | "STOP" | "ENDED" | "CLOSE" }

export const shellMachine = setup({
  types: { context: {} as { shell: ShellActions }, input: {} as { shell: ShellActions }, events: {} as ShellEvent },
  actions: {
    submitNext: ({ context }) => context.shell.submitNext(),
    drain: ({ context }) => context.shell.drain(),
    stopCurrent: ({ context }) => context.shell.stopCurrent(),
    release: ({ context }) => context.shell.release(),
  },
}).createMachine({
  id: "shell",
  context: ({ input }) => ({ shell: input.shell }),
  initial: "activating",
  states: {
    activating: { on: { READY: "idle", CLOSE: "closed" } },
    idle: { on: { EVAL: { target: "evaluating", actions: "submitNext" }, CLOSE: "closed" } },
    evaluating: {
      on: {
        ENDED: { target: "idle", actions: "drain" },
        STOP: { target: "interrupting", actions: "stopCurrent" },
        CLOSE: { target: "draining", actions: "stopCurrent" },
      },
    },
    interrupting: { on: { ENDED: { target: "idle", actions: "drain" }, CLOSE: "draining" } },
    draining: { on: { ENDED: { target: "closed", actions: "drain" } } },
    closed: { type: "final", entry: "release" },
  },
})
