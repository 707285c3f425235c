// What do sessions cost each other: reading another session, reading and writing what all of a workspace share?
//
// Everything is timed inside session code, many times in one eval, on two hosts. A question to the embedder's process is a round trip
// through the host's main thread, so it is shown beside a queued write (`atPut`), which is the shortest such trip. A bare global in a loop
// is shown beside a local. The last line is two sessions on two hosts, each waiting in a loop for what the other binds.
import { isQuick, over, report, show } from "./parts/figures.ts"
import { allHostsReady, built } from "./parts/processes.ts"

const rounds = isQuick ? 3 : 9
const calls = isQuick ? 300 : 1_000
const loops = 1_000_000

const { Nacre } = await built()
const nacre = await Nacre.start({ hosts: { min: 2, max: 2 } })
await allHostsReady(nacre)
const ada = await nacre.open({ id: "ada" })
const bob = await nacre.open({ id: "bob" })
await ada.run(`let small = 1; let order = { id: 1, items: [1, 2, 3] }; 0`)
await bob.run(`
  const user = Session.withId("ada"); const view = user.bindings; const own = Session.current.bindings; let local = 2
  Workspace.bind("rate", 2); Workspace.bind("config", { eur: { rate: 1.1 } }); 0`)

async function timeUs(name: string, count: number, body: string, goal?: string): Promise<void> {
  const samples: number[] = []
  const code = `{ const from = performance.now(); ${body}; ((performance.now() - from) * 1e3) / ${count} }`
  await bob.run(code)
  for (let round = 0; round < rounds; round += 1) samples.push((await bob.run(code)) as number)
  const us = over(samples)
  report("workspaces", name, show(us, " us"), { us }, goal)
}

const repeat = (count: number, body: string): string => `for (let i = 0; i < ${count}; i++) { ${body} }`

await timeUs("a queued write, for comparison", calls, repeat(calls, `own.atPut("q", i)`))
await timeUs("read another session, unchanged", calls, repeat(calls, `view.at("order")`))
await timeUs("includesKey of another session", calls, repeat(calls, `view.includesKey("order")`))
await timeUs("Session.withId", calls, repeat(calls, `Session.withId("ada")`))
await timeUs("a local in a loop", loops, `let sum = 0; ${repeat(loops, "sum += local")}`)
await timeUs("a global in a loop", loops, `let sum = 0; ${repeat(loops, "sum += rate")}`)
await timeUs("a global's property in a loop", loops, `let sum = 0; ${repeat(loops, "sum += config.eur.rate")}`)
await timeUs("write a global, seen by two hosts", calls, repeat(calls, `Workspace.bind("w", i)`))
await timeUs("write a global and read it", calls, repeat(calls, `Workspace.bind("w", i); w`))
await timeUs("Transcript.show", calls, repeat(calls, `Transcript.show("a line")`))

const samples: number[] = []
for (let round = 0; round < rounds; round += 1) {
  await nacre.globals().bind("turn", 0)
  const turns = calls / 10
  const play = (first: number): string =>
    `{ const from = performance.now()
       for (let n = ${first}; n <= ${turns}; n += 2) { while (turn !== n - 1); Workspace.bind("turn", n) }
       ((performance.now() - from) * 1e3) / ${turns} }`
  const [us] = await Promise.all([ada.run(play(1)), bob.run(play(2))])
  samples.push(us as number)
}
const us = over(samples)
report("workspaces", "from one host's write to the other's", show(us, " us"), { us }, "one write")
await nacre.stop()
