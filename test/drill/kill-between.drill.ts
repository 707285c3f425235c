// Every host, the spare among them, is killed with SIGKILL between two evals. What must survive: everything the first eval committed, with
// its identity and its closures. What cannot outlive a process is named as lost by the outcome, and throws when it is read.
import { describeOutcome, hostPids, isProcessGone, signal, until } from "./drill.ts"
import type { Drill } from "./drill.ts"

const first = `
  let n = 41
  const tree: any = { kids: [{ name: "a" }], when: new Date(86_400_000), tags: new Set(["x"]), big: 2n ** 70n }
  tree.self = tree
  tree.alias = tree.kids[0]
  const counts = new Map([["k", [1, 2, 3]]])
  function twice(x: number): number { return 2 * x }
  class Point { constructor(public x: number) {} sum() { return this.x + n } }
`
const second = `
  n += 1
  ;[n, tree.self === tree, tree.alias === tree.kids[0], tree.when.getTime(), [...tree.tags], String(tree.big),
    counts.get("k")!.length, twice(21), new Point(8).sum()]
`
// Kept when the codec can keep them, and otherwise said to be ephemeral: never silently one or the other.
const hard = `
  let bump = (() => { let hidden = 10; return () => ++hidden })()
  bump()
  let point = new Point(35)
  let generator = (function* () { yield 1; yield 2 })()
  generator.next()
`
const reads: Record<string, [string, unknown]> = {
  bump: ["bump()", 12],
  point: ["[point.x, point instanceof Point]", [35, true]],
  generator: ["generator.next().value", 2],
}

export const drill: Drill = {
  survives: "state committed before every host was killed",
  async run(ground) {
    const nacre = await ground.nacre()
    const rounds = ground.times(20, 3)
    let kept = 0
    for (let round = 0; round < rounds; round += 1) {
      const session = await nacre.open()
      const made = await session.eval(first)
      ground.equal(describeOutcome(made), "ok", "the first eval")
      const pids = hostPids(nacre)
      for (const pid of pids) signal(pid, "SIGKILL")
      const outcome = await session.eval(second)
      ground.equal(describeOutcome(outcome), "ok", "the eval right after the kills")
      const expected = [42, true, true, 86_400_000, ["x"], String(2n ** 70n), 3, 42, 50]
      ground.equal(outcome.value?.data, expected, "what the second eval saw")
      ground.equal(outcome.lost, [], "lost, when everything could be kept")
      ground.check(await until(2_000, () => pids.every(isProcessGone)), "a killed host is still there")

      const { ephemeral } = await session.eval(hard)
      ground.check(ephemeral.includes("generator"), "a suspended generator is not said to be ephemeral")
      for (const pid of hostPids(nacre)) signal(pid, "SIGKILL")
      const after = await session.eval("[twice(1), n]")
      ground.equal(after.value?.data, [2, 42], `what is kept, beside what is lost (${describeOutcome(after)})`)
      ground.equal(after.lost.toSorted(), ephemeral.toSorted(), "lost, beside what was said to be ephemeral")
      for (const [name, [source, value]] of Object.entries(reads)) {
        const reading = await session.eval(source)
        if (ephemeral.includes(name)) {
          ground.equal([reading.status, reading.error?.kind], ["threw", "binding_lost"], `reading the lost '${name}'`)
        } else {
          ground.equal(reading.value?.data, value, `the kept '${name}' (${describeOutcome(reading)})`)
          kept += 1
        }
      }
      await session.close()
    }
    ground.figure(`${rounds} rounds, ${kept} of ${2 * rounds} closures and instances kept, the others named as lost`)
  },
}
