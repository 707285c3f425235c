// What a session's state costs the evals beside it: a small binding next to a large one, reading much, a realm made again, changed built-ins.
//
// Everything runs in one process on a real realm and resident (`test/resident.ts`), without hosts and sockets: what is left is what the worker does
// for an eval. Each row sets two figures of the same rounds side by side; medians of rounds, processor time where it is said.
import vm from "node:vm"
import { isQuick, over, report, short, show } from "./parts/figures.ts"
import { ResidentSession } from "../test/resident.ts"

const rounds = isQuick ? 3 : 9

async function sessionWith(...evals: readonly string[]): Promise<ResidentSession> {
  const session = new ResidentSession()
  for (const source of evals) {
    const { status, text } = await session.eval(source)
    if (status !== "ok") throw new Error(text)
  }
  return session
}

/** Microseconds of one eval. */
async function evalUs(session: ResidentSession, source: string, times: number): Promise<number> {
  const start = performance.now()
  for (let turn = 0; turn < times; turn += 1) await session.run(source)
  return ((performance.now() - start) * 1000) / times
}

/** The same eval in two sessions, turn about. */
async function beside(name: string, goal: string, source: string, plain: ResidentSession, other: ResidentSession) {
  for (const session of [plain, other]) await evalUs(session, source, 300)
  const [ours, theirs, factors]: [number[], number[], number[]] = [[], [], []]
  for (let round = 0; round < rounds; round += 1) {
    theirs.push(await evalUs(plain, source, 500))
    ours.push(await evalUs(other, source, 500))
    factors.push(ours.at(-1)! / theirs.at(-1)!)
  }
  const figures = { without: over(theirs), with: over(ours), factor: over(factors) }
  const text = `${show(figures.with, " us")} beside ${show(figures.without, " us")}: ${show(figures.factor)} times`
  report("state", name, text, figures, goal)
}

const small = "let n = 0; let list = [1, 2, 3]; function f(x: number) { return x + 1 }"
await beside(
  "small binding, large one beside it",
  "<= 1.2 times",
  "n = f(n); list.length",
  await sessionWith(small, "let other = 'x'.repeat(1000)"),
  await sessionWith(
    small,
    "const rows = Array.from({ length: 1_000_000 }, (_, id) => ({ id })); const find = (() => { let hits = 0; return (id: number) => (hits++, rows[id]) })()",
  ),
)

await beside(
  "eval, text mentions no built-in",
  "about 1",
  "n = f(n); list.length",
  await sessionWith(small),
  await sessionWith(small, "const words = ['a', 'b']; const total = Math.max(1, 2)"),
)
await beside(
  "eval, built-ins were changed",
  "none",
  "n = f(n); list.length",
  await sessionWith(small),
  await sessionWith(small, "Array.prototype.last = function () { return this.at(-1) }"),
)

{
  const rows =
    "Array.from({ length: 200_000 }, (_, id) => ({ id, name: 'n' + id, score: id * 1.5, on: true, tag: 't' }))"
  const session = await sessionWith(`const rows = ${rows}`)
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY)
  const read = "(() => { let sum = 0; for (const row of rows) sum += row.score; return sum })()"
  vm.runInContext(`var rows = ${rows}`, context)
  const script = new vm.Script(read)
  const [ours, plain]: [number[], number[]] = [[], []]
  for (let round = 0; round < rounds; round += 1) {
    ours.push((await evalUs(session, read, 1)) / 1000)
    const start = performance.now()
    script.runInContext(context)
    plain.push(performance.now() - start)
  }
  const factor = over(ours).median / over(plain).median
  const text = `${show(over(ours), " ms")}, plain ${show(over(plain), " ms")}: ${short(factor)} times`
  report(
    "state",
    "reading 200,000 objects",
    text,
    { ours: over(ours), plain: over(plain), factor },
    "<= 1.3 times, or deferred",
  )
}

{
  // Flat: twice the lines take twice the time.
  const line = (at: number): string => `let v${at}: number = ${at}; v${at} += f(v${at})`
  const costs: number[] = []
  for (const count of [250, 500, 1_000, 2_000]) {
    const times: number[] = []
    for (let round = 0; round < rounds; round += 1) {
      const session = await sessionWith("function f(x: number) { return x }")
      const source = Array.from({ length: count }, (_, at) => line(at)).join("\n")
      times.push((await evalUs(session, source, 1)) / count)
    }
    costs.push(over(times).median)
  }
  const text = `${costs.map((cost) => short(cost)).join(", ")} us a line at 250, 500, 1,000 and 2,000 lines`
  report("state", "cost per line", text, { costs, factor: costs.at(-1)! / costs[0]! }, "flat")
}
