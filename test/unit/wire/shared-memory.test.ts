// Every interleaving of a worker that begins evals and a host that raises a fence, one atomic access at a time.
//
// Both sides run as they are; only `Atomics` is replaced while they run, so that a schedule decides whose access is next. Each side is
// run again from its start for every schedule, stopping at its next access, which needs no threads and no generators.
import { afterEach, expect, test, vi } from "vitest"
import { allocateSharedWords, enter, raiseFence } from "../../../runtime/wire/shared-memory.ts"
import type { SharedWords } from "../../../runtime/wire/shared-memory.ts"

afterEach(() => vi.unstubAllGlobals())

class OutOfSteps extends Error {}

interface Side<R> {
  run(words: SharedWords): R
}

interface Step {
  readonly op: "load" | "store"
  readonly index: number
  readonly value: number
}

/**
 * Runs `side` against answers that it got before, then lets it make one access more. Gives that access, or its result when it has ended.
 */
function advance<R>(side: Side<R>, answers: readonly number[], words: SharedWords): { result: R } | { step: Step } {
  let at = 0
  let step: Step | undefined
  const access = (op: Step["op"], index: number, value: number): number => {
    if (at < answers.length) return answers[at++]!
    step = { op, index, value }
    throw new OutOfSteps()
  }
  vi.stubGlobal("Atomics", {
    load: (_words: SharedWords, index: number) => access("load", index, 0),
    store: (_words: SharedWords, index: number, value: number) => access("store", index, value),
  })
  try {
    return { result: side.run(words) }
  } catch (error) {
    if (!(error instanceof OutOfSteps)) throw error
    return { step: step! }
  } finally {
    vi.unstubAllGlobals()
  }
}

/** Calls `check` with both results for every interleaving of the two sides' accesses. Gives how many there were. */
function everyInterleaving<A, B>(before: SharedWords, a: Side<A>, b: Side<B>, check: (a: A, b: B) => void): number {
  let count = 0
  const explore = (memory: readonly number[], toA: readonly number[], toB: readonly number[]): void => {
    const nextA = advance(a, toA, before)
    const nextB = advance(b, toB, before)
    if ("result" in nextA && "result" in nextB) {
      count += 1
      check(nextA.result, nextB.result)
      return
    }
    for (const [next, isA] of [
      [nextA, true],
      [nextB, false],
    ] as const) {
      if ("result" in next) continue
      const { op, index, value } = next.step
      const after = op === "load" ? memory : memory.with(index, value)
      const answer = op === "load" ? memory[index]! : value
      explore(after, isA ? [...toA, answer] : toA, isA ? toB : [...toB, answer])
    }
  }
  explore([...before], [], [])
  return count
}

const worker = (...seqs: number[]): Side<number[]> => ({ run: (words) => seqs.filter((seq) => enter(words, seq)) })
const host = (from: number, to: number): Side<number> => ({ run: (words) => raiseFence(words, from, to) })

/** What the embedder takes back: the fenced evals above what the host saw begun. */
const takenBack = (from: number, to: number, begun: number): number[] => {
  const taken: number[] = []
  for (let seq = from; seq <= to; seq++) if (seq > begun) taken.push(seq)
  return taken
}

test("an eval is never both begun and taken back", () => {
  for (const [seqs, from, to] of [
    [[1], 1, 1],
    [[1, 2], 2, 2],
    [[1, 2, 3], 1, 3],
    [[2, 3], 2, 3],
  ] as const) {
    const count = everyInterleaving(allocateSharedWords(), worker(...seqs), host(from, to), (begun, seen) => {
      const both = takenBack(from, to, seen).filter((seq) => begun.includes(seq))
      expect(both).toEqual([])
    })
    expect(count).toBeGreaterThan(10)
  }
})

test("evals outside the fence always begin", () => {
  everyInterleaving(allocateSharedWords(), worker(1, 4), host(2, 3), (begun) => expect(begun).toEqual([1, 4]))
})

test("evals inside a fence that stands never begin, and those after it do", () => {
  const words = allocateSharedWords()
  expect(raiseFence(words, 2, 4)).toBe(0)
  expect([1, 2, 3, 4, 5].filter((seq) => enter(words, seq))).toEqual([1, 5])
})

test("a fence that is raised anew holds no eval between the old one and the new one", () => {
  const words = allocateSharedWords()
  raiseFence(words, 2, 3)
  expect([1, 2, 3].filter((seq) => enter(words, seq))).toEqual([1])
  everyInterleaving(words, worker(5, 6), host(6, 7), (begun, seen) => {
    expect(begun).toContain(5)
    expect(takenBack(6, 7, seen).filter((seq) => begun.includes(seq))).toEqual([])
  })
})

test("what has begun is told also after it ended", () => {
  const words = allocateSharedWords()
  enter(words, 1)
  enter(words, 2)
  expect(raiseFence(words, 2, 5)).toBe(2)
})
