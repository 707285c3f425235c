// What does a change cost beside the size of the session, and beside the number of definitions that depend on it?
//
// A change is timed from `submit` until the record is there, with digest and history: it is read, built into a candidate, made in the realm
// and committed. "followed" adds the next eval, with which the realm puts it in force. Every submission has another text. The small and the
// large session take turns, so that their ratio is of one machine in one mood.
import { isQuick, over, report, show } from "./parts/figures.ts"
import { built } from "./parts/processes.ts"

const rounds = isQuick ? 5 : 31
const warmUp = 3
const large = isQuick ? 2_000 : 10_000
const small = 10
const dependents = isQuick ? 1_000 : 6_000

const { Nacre } = await built()
const nacre = await Nacre.start({
  hosts: { min: 1, max: 1, threadsPerHostMax: 1, memoryBytesMax: 2 * 1024 ** 3 },
  limits: { changeTimeoutMs: 120_000 },
})

async function sessionOf(count: number) {
  const session = await nacre.open()
  const lines = Array.from({ length: count - 2 }, (_, index) => `function f${index}(n: number) { return n + ${index} }`)
  const source = `function changed() { return 0 }\nconst uses = () => changed()\n${lines.join("\n")}`
  const made = await session.submit(source)
  if (made.status !== "committed") throw new Error(made.rejection.message)
  await session.run("uses()")
  return session
}

const sessions = { small: await sessionOf(small), large: await sessionOf(large) }
const submitMs: Record<keyof typeof sessions, number[]> = { small: [], large: [] }
const followedMs: Record<keyof typeof sessions, number[]> = { small: [], large: [] }
for (let round = 1; round <= warmUp + rounds; round += 1) {
  for (const which of ["small", "large"] as const) {
    const session = sessions[which]
    const from = performance.now()
    await session.submit(`function changed() { return ${round} }`)
    const submitted = performance.now() - from
    const value = await session.run("uses()")
    const followed = performance.now() - from
    if (value !== round) throw new Error(`The change was not followed: ${String(value)}`)
    if (round <= warmUp) continue
    submitMs[which].push(submitted)
    followedMs[which].push(followed)
  }
}
for (const [what, times] of [
  ["submitted", submitMs],
  ["and followed", followedMs],
] as const) {
  const [few, many] = [over(times.small), over(times.large)]
  report("redefinition", `one dependent among ${small}, ${what}`, show(few, " ms"), { ms: few })
  report("redefinition", `one dependent among ${large}, ${what}`, show(many, " ms"), { ms: many })
  const ratios = over(times.large.map((ms, index) => ms / times.small[index]!))
  report("redefinition", `among ${large} over among ${small}, ${what}`, show(ratios, "x"), { ratio: ratios }, "2")
}

const hub = await nacre.open()
const users = Array.from({ length: dependents }, (_, index) => `const u${index} = () => hub() + ${index}`)
const made = await hub.submit(`function hub() { return 0 }\n${users.join("\n")}`)
if (made.status !== "committed") throw new Error(made.rejection.message)
await hub.run("u0()")
const hubMs: number[] = []
for (let round = 1; round <= warmUp + rounds; round += 1) {
  const from = performance.now()
  const changed = await hub.submit(`function hub() { return ${round} }`)
  const ms = performance.now() - from
  if (changed.status !== "committed" || changed.record?.reinstantiated.length !== dependents)
    throw new Error("Not every dependent was made again.")
  const value = await hub.run(`u${dependents - 1}()`)
  if (value !== round + dependents - 1) throw new Error(`The change was not followed: ${String(value)}`)
  if (round > warmUp) hubMs.push(ms)
}
const all = over(hubMs)
report("redefinition", `${dependents} dependents made again, submitted`, show(all, " ms"), { ms: all }, "50 ms")
await nacre.stop()
