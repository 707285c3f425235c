// What shells run must be what their machine says: each state with each event, compared with XState's own interpreter.
import { createActor } from "xstate"
import { expect, test } from "vitest"
import { shellLogic } from "../../../runtime/shell/logic.ts"
import { shellMachine } from "../../../runtime/shell/machine.ts"
import type { ShellActions, ShellEvent } from "../../../runtime/shell/machine.ts"

const events = ["READY", "EVAL", "STOP", "ENDED", "CLOSE"] as const

/** What both do on the way; the recorder is also asked to throw. */
function record(failing?: keyof ShellActions) {
  const calls: string[] = []
  const act = (name: keyof ShellActions) => () => {
    calls.push(name)
    if (name === failing) throw new Error(`${name} failed`)
  }
  const shell: ShellActions = {
    submitNext: act("submitNext"),
    drain: act("drain"),
    stopCurrent: act("stopCurrent"),
    release: act("release"),
  }
  return { shell, calls }
}

function run(which: "machine" | "logic", types: readonly ShellEvent["type"][], failing?: keyof ShellActions) {
  const { shell, calls } = record(failing)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- alike from outside: that is what is tested
  const logic = (which === "machine" ? shellMachine : shellLogic) as typeof shellLogic
  const actor = createActor(logic, { input: { shell } })
  const ends: string[] = []
  actor.subscribe({ complete: () => ends.push("complete"), error: (error) => ends.push(String(error)) })
  actor.start()
  const seen: unknown[] = []
  for (const type of types) {
    if (actor.getSnapshot().status !== "active") break
    actor.send({ type })
    const { status, value } = actor.getSnapshot()
    seen.push([type, status, status === "error" ? "" : value])
  }
  return { seen, calls, ends }
}

/** Every way to a state: all sequences up to five events long. */
function sequences(length: number): ShellEvent["type"][][] {
  if (length === 0) return [[]]
  return sequences(length - 1).flatMap((before) => events.map((type) => [...before, type]))
}

test("the table does what the machine does, for every sequence of five events", () => {
  for (const types of sequences(5)) expect(run("logic", types), types.join(" ")).toEqual(run("machine", types))
})

test.each(["submitNext", "drain", "stopCurrent"] as const)(
  "an action that throws (%s) ends the actor with its error",
  (failing) => {
    const types = ["READY", "EVAL", "STOP", "ENDED"] as const
    const [logic, machine] = [run("logic", types, failing), run("machine", types, failing)]
    expect(logic.ends).toEqual([`Error: ${failing} failed`])
    expect(logic.ends).toEqual(machine.ends)
    expect(logic.calls).toEqual(machine.calls)
  },
)
