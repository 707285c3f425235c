// A session that declares new names for ever keeps what it holds, and nothing for every eval that ever was. Time is `bench/soak.ts`'s question.
import { expect, test } from "vitest"
import { ResidentSession } from "../../resident.ts"

const forms = [
  (at: number) => `let v${at} = ${at}`,
  (at: number) => `const o${at} = { id: ${at} }`,
  (at: number) => `function f${at}(x: number) { return x + ${at} }`,
  (at: number) => `const g${at} = (() => { let n = ${at}; return () => n++ })()`,
  (at: number) => `class C${at} { #x = ${at}; get() { return this.#x } }`,
]

test("what an eval leaves does not grow with the session", { timeout: 120_000 }, async () => {
  const session = new ResidentSession()
  const parts: number[] = []
  for (let at = 0; at < 1_500; at++) {
    const { delta, status } = await session.eval(forms[at % forms.length]!(at))
    expect(status).toBe("ok")
    const {
      set = [],
      plain = [],
      groups = [],
      sources = [],
      definitions = [],
      removed,
      dropped,
    } = {
      ...delta,
      dropped: delta.droppedSources,
    }
    parts.push(set.length + plain.length + groups.length + sources.length + definitions.length)
    expect([removed, dropped]).toEqual([undefined, undefined])
  }
  expect(Math.max(...parts)).toBeLessThanOrEqual(3)
  // Positions are kept of the last 256 submissions.
  expect(session.resident.units.size).toBeLessThanOrEqual(256)
  expect(session.state.sources.size).toBe(300)
  session.rebuild()
  expect(await session.run("[v1495, o1496.id, f1497(1), g1498(), g1498(), new C1499().get()]")).toEqual([
    1495, 1496, 1498, 1498, 1499, 1499,
  ])
})

test("evals that declare the same names again leave one of each", { timeout: 120_000 }, async () => {
  const session = new ResidentSession()
  for (let round = 0; round < 200; round++)
    for (const form of forms)
      await session.run(
        form(0)
          .replaceAll("0", `${round}`)
          .replace(/(let|const|function|class) (\w)\d+/, "$1 $20"),
      )
  expect(session.state.locals.size + session.state.definitions.size).toBe(5)
  expect(session.state.sources.size).toBeLessThanOrEqual(20)
  expect(await session.run("[v0, o0.id, f0(1), g0(), new C0().get()]")).toEqual([199, 199, 200, 199, 199])
})
