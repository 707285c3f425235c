// `commit: "idle"`: what is large is written when nothing waits. Until then it falls back to what was written last, and is named when it does.
import { expect, test } from "vitest"
import { until } from "../until.ts"
import { useNacre } from "./nacre-under-test.ts"
import type { Session } from "nacre"

const under = useNacre()

/** A session with more than 1 MiB in `rows`, which are written. */
async function opened(): Promise<Session> {
  const session = await under.open({ commit: "idle" })
  const made = await session.eval(
    "let rows = Array.from({ length: 50_000 }, (_, id) => ({ id, name: `row number ${id} of a good many` })); let n = 0",
  )
  expect(made).toMatchObject({ status: "ok", pending: [] })
  return session
}

function writes(session: Session): number {
  return under.events.filter(
    (it) => it.type === "bindings.changed" && it.session === session.id && it.because === "idle",
  ).length
}

function killHosts(): void {
  for (const pid of under.hostPids()) process.kill(pid, "SIGKILL")
}

/** Waits for everything to be written, and has it read from that. */
async function valueAfterKill(session: Session, source: string): Promise<unknown> {
  await until("what is pending to be written", () => (session.state.pending.size === 0 ? true : undefined))
  killHosts()
  const outcome = await session.eval(source)
  expect(outcome).toMatchObject({ status: "ok", lost: [] })
  return outcome.value?.data
}

test("an outcome names what is not written yet, and an event says when it is", async () => {
  const session = await opened()
  expect(await session.eval("rows.push({ id: -1, name: 'new' }); n += 1")).toMatchObject({
    status: "ok",
    committed: { set: ["n"] },
    pending: ["rows"],
    ephemeral: [],
  })
  await until("an event", () => (writes(session) === 1 ? true : undefined))
  expect(await valueAfterKill(session, "[rows.length, rows.at(-1).name, n]")).toEqual([50_001, "new", 1])
})

test("evals that wait together are written together", async () => {
  const session = await opened()
  const outcomes = await Promise.all(
    Array.from({ length: 8 }, (_, at) => session.eval(`rows[${at}].name = "changed"; ${at}`)),
  )
  expect(outcomes.map((it) => [it.status, it.pending])).toEqual(outcomes.map(() => ["ok", ["rows"]]))
  expect(await valueAfterKill(session, "rows.filter((row) => row.name === 'changed').length")).toBe(8)
  expect(writes(session)).toBe(1)
})

test("what shares objects with it stays the same object", async () => {
  const session = await opened()
  const [made, used] = await Promise.all([
    session.eval("let first = rows[0]; const pair = { first, add: () => rows.push(first) }"),
    session.eval("pair.add(); first.name = 'mine'; let copy = first"),
  ])
  expect([made.pending, used.pending]).toEqual(
    [
      ["rows", "first", "pair"],
      ["rows", "first", "pair", "copy"],
    ].map((names) => expect.arrayContaining(names)),
  )
  expect(
    await valueAfterKill(
      session,
      "[first === rows[0], copy === first, rows.at(-1) === first, rows[0].name, pair.add()]",
    ),
  ).toEqual([true, true, true, "mine", 50_002])
})

test("when the process ends before, names are back to what was written, and are named", async () => {
  const session = await opened()
  const changed = session.eval("rows[0].name = 'changed'; let fresh = { of: rows[1] }; n = 5")
  const parked = session.eval("await tools.hold('pending')")
  await under.parked("pending")
  expect((await changed).pending).toEqual(expect.arrayContaining(["rows", "fresh"]))
  killHosts()
  const crashed = await parked
  expect(crashed.status).toBe("crashed")
  expect(crashed.lost).toEqual(
    expect.arrayContaining(["fresh", expect.stringMatching(/^rows \(back to what was written last: /)]),
  )
  expect(await session.eval("[rows[0].name, n]")).toMatchObject({
    value: { data: ["row number 0 of a good many", 5] },
    lost: [],
  })
  expect(await session.eval("fresh")).toMatchObject({ status: "threw", error: { kind: "binding_lost" } })
})

test("a name that becomes another thing is that thing", async () => {
  const session = await opened()
  await Promise.all([
    session.eval("rows[0].name = 'changed'"),
    session.eval("rows = 7; function n() { return rows }"),
    session.eval("rows += 1"),
  ])
  expect(await valueAfterKill(session, "[rows, n()]")).toEqual([8, 8])
})

test("marks, forks and failed atomic evals have what was not written when they were asked for", async () => {
  const session = await opened()
  const shortened = session.eval("rows.length = 45_000")
  await session.mark("before")
  expect((await shortened).pending).toEqual(["rows"])
  const shortenedAgain = session.eval("rows.length = 44_000")
  const fork = await session.fork()
  expect((await shortenedAgain).pending).toEqual(["rows"])
  const [, failed] = await Promise.all([
    session.eval("rows.length = 43_001"),
    session.eval("rows.length = 3; throw new Error('no')", { atomic: true }),
    session.eval("rows.length -= 1"),
  ])
  expect(failed).toMatchObject({ status: "threw", lost: [] })
  expect((await fork.eval("rows.length")).value?.data).toBe(44_000)
  expect((await session.eval("rows.length")).value?.data).toBe(43_000)
  await session.rollback("before")
  expect((await session.eval("rows.length")).value?.data).toBe(45_000)
})

test("a change of definitions waits until everything is written, and is refused while an eval keeps that from happening", async () => {
  const session = await opened()
  await session.submit({ source: "const base = 1; const index = new Map([['a', base]])" })
  const changed = session.eval("index.set('b', 2); rows.length = 40_000")
  const parked = session.eval("await tools.hold('change')")
  await under.parked("change")
  expect((await changed).pending).toContain("index")
  await expect(session.submit({ remove: ["index"] })).rejects.toMatchObject({ kind: "session_busy" })
  under.held.get("change")!.gate.open()
  await parked
  expect(await session.submit({ source: "const base = 2" })).toMatchObject({
    status: "rejected",
    rejection: { kind: "data_loss" },
  })
  expect(await valueAfterKill(session, "[index.get('b'), rows.length]")).toEqual([2, 40_000])
})

test("a fork writes as its original does, and the option is fixed", async () => {
  const session = await opened()
  const fork = await session.fork()
  expect((await fork.eval("rows.length = 1")).pending).toEqual(["rows"])
  await expect(under.open({ id: session.id, commit: "eval" })).rejects.toMatchObject({ kind: "profile_conflict" })
  await expect(under.open({ commit: "never" as "idle" })).rejects.toMatchObject({ kind: "invalid_options" })
})
