// One eval takes memory without end: as small objects, as one growing array, as one growing Map, as buffers. What must survive: every
// committed value of its neighbours and of its own session; the machine. The eval ends as `crashed` and says `out-of-memory`; the host is
// replaced when it died.
import { allHostsReady, describeOutcome, hostPids } from "./drill.ts"
import type { Drill } from "./drill.ts"
import { MemoryWatch, megabytes } from "./machine.ts"

const memoryBytesMax = 256 * 1024 * 1024
/** The watch looks every 20 ms and buffers grow by some 5 GB/s; a busy machine delays it. */
const overshootBytesMax = 512 * 1024 * 1024
const neighbourCount = 20

const runaways: Record<string, string> = {
  "small objects": "kept = 2; let all: any = null; for (;;) all = { next: all, at: {} }",
  "a growing array": "kept = 2; const all: number[] = []; for (;;) all.push(all.length + 0.5)",
  "a growing Map": "kept = 2; const all = new Map(); for (let i = 0; ; i += 1) all.set(i, i)",
  buffers: "kept = 2; const all: any[] = []; for (;;) all.push(new Uint8Array(1_000_000).fill(1))",
  "a growing string": "kept = 2; const all: string[] = []; for (let i = 0; ; i += 1) all.push(String(i).repeat(1_000))",
}

export const drill: Drill = {
  survives: "neighbours and the machine, while an eval takes memory without end",
  async run(ground) {
    const nacre = await ground.nacre({ hosts: { memoryBytesMax } })
    const neighbours = await Promise.all(Array.from({ length: neighbourCount }, () => nacre.open()))
    const held = neighbours.map((session, i) => session.eval(`let value = { i: ${i}, list: [${i}, ${i} + 1] }`))
    for (const outcome of await Promise.all(held))
      ground.equal(describeOutcome(outcome), "ok", "a neighbour's first eval")

    const rounds = ground.times(3, 1)
    const becauses = new Set<string>()
    const peaks: string[] = []
    for (const [what, source] of Object.entries(runaways)) {
      let peakBytes = 0
      for (let round = 0; round < rounds; round += 1) {
        await allHostsReady(nacre)
        const session = await nacre.open()
        await session.eval("let kept = 1")
        const watch = new MemoryWatch(() => hostPids(nacre))
        const running = session.eval(source, { timeoutMs: 60_000 })
        // Neighbours go on meanwhile; one on the same host may be told that it crashed with it.
        const meanwhile = await Promise.all(neighbours.map((neighbour) => neighbour.eval("value.list[1] - value.i")))
        for (const outcome of meanwhile) {
          if (outcome.status === "crashed") ground.check(outcome.because !== undefined, "a crash without a cause")
          else ground.equal(outcome.value?.data, 1, `a neighbour meanwhile (${describeOutcome(outcome)})`)
        }
        const outcome = await running
        watch.stop()
        becauses.add(outcome.because ?? "no cause")
        ground.equal([outcome.status, outcome.because], ["crashed", "out-of-memory"], what)
        peakBytes = Math.max(peakBytes, watch.peakBytes)
        ground.check(
          watch.peakBytes < memoryBytesMax + overshootBytesMax,
          `${what} made a host grow to ${megabytes(watch.peakBytes)}`,
        )
        const own = await session.eval("kept")
        ground.equal(own.value?.data, 1, `its own session after ${what} (${describeOutcome(own)})`)
        const after = await Promise.all(neighbours.map((neighbour) => neighbour.eval("[value.i, value.list]")))
        for (const [i, { value, lost }] of after.entries()) {
          ground.equal(value?.data, [i, [i, i + 1]], `a neighbour after ${what}`)
          ground.equal(lost, [], `lost by a neighbour after ${what}`)
        }
        await session.close()
      }
      peaks.push(`${what} ${megabytes(peakBytes)}`)
    }
    ground.check(await allHostsReady(nacre), "the hosts were not all replaced within 30 s")
    ground.figure(`limit ${megabytes(memoryBytesMax)}, peak RSS of a host: ${peaks.join(", ")}`)
    ground.figure(`because: ${[...becauses].join(", ")}`)
  },
}
