// The line of evals inside one eval: who may begin, who waits, and that each has exactly one outcome, whichever end comes first.
import { expect, test } from "vitest"
import { NestedEvals } from "../../../runtime/shell/nested-evals.ts"
import type { Outcome } from "../../../runtime/session/outcome.ts"
import type { NestedEnded } from "../../../runtime/wire/schema.ts"
import { fromWorkerSamples } from "../wire/messages.ts"

function start() {
  const sent: string[] = []
  const ended: string[] = []
  const outcomes = new Map<string, Outcome>()
  const evals = new NestedEvals("root", {
    send: ({ evalId }) => sent.push(evalId),
    toolsOf: () => {
      throw new Error("nothing here calls a tool")
    },
    tell: ({ onOutput }, chunk) => onOutput?.(chunk),
    valueOf: () => undefined,
    revision: () => 0,
    now: () => 0,
  })
  const add = (evalId: string, parent: string): void => {
    const resolve = (outcome: Outcome): void => {
      ended.push(`${evalId} ${outcome.status} ${outcome.because ?? ""}`.trim())
      outcomes.set(evalId, outcome)
    }
    evals.add({ evalId, parent, source: "", file: "", line: 1, principal: undefined, onOutput: undefined, resolve })
  }
  const end = (nested: string, status: NestedEnded["status"] = "ok"): void => {
    const { error: _error, ...message } = fromWorkerSamples.nestedEnded
    evals.onEnded({ ...message, nested, status })
  }
  return { evals, sent, ended, outcomes, add, end }
}

test("only the last of the line is given another; the others wait for it", () => {
  const { sent, ended, add, end } = start()
  add("a", "root")
  add("b", "root")
  add("a1", "a")
  expect(sent).toEqual(["a", "a1"])
  end("a1")
  end("a", "threw")
  expect(sent).toEqual(["a", "a1", "b"])
  end("b")
  expect(ended).toEqual(["a1 ok", "a threw", "b ok"])
})

test("what it changed is said to be pending", () => {
  const { outcomes, add, end } = start()
  add("a", "root")
  end("a")
  expect(outcomes.get("a")!.committed).toMatchObject({ set: ["a"], removed: ["b"], definitions: ["c"], pending: true })
})

test("the end of the outermost one ends the line from its end, and what waits has not run", () => {
  const { evals, ended, add, end } = start()
  add("a", "root")
  add("a1", "a")
  add("b", "root")
  evals.settle("crashed", "host-killed")
  // Whatever comes late changes nothing.
  end("a1")
  evals.settle("ok", undefined)
  expect(ended).toEqual(["a1 crashed host-killed", "a crashed host-killed", "b interrupted outer-ended"])
})

test("one that waits can be taken back, and ends when who asked for it has ended", () => {
  const { evals, sent, ended, add, end } = start()
  add("a", "root")
  add("b", "root")
  add("a1", "a")
  add("a2", "a")
  expect(evals.cancel("b", "aborted")).toBe(true)
  expect(evals.cancel("a1", undefined)).toBe(false)
  end("a1")
  end("a2")
  add("late", "a1")
  end("a")
  expect(sent).toEqual(["a", "a1", "a2"])
  expect(ended).toEqual(["b interrupted aborted", "a1 ok", "a2 ok", "late interrupted outer-ended", "a ok"])
})
