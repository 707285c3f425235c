// What session code does to its own definitions, where its embedder lets it: `Session.current.proposeChange` and its like.
import { expect, test } from "vitest"
import { Nacre } from "nacre"
import type { ChangeRequested, ChangeVerdict, Session } from "nacre"
import { until } from "../until.ts"
import { useNacre } from "./nacre-under-test.ts"

const requests: ChangeRequested[] = []
let answer: (request: ChangeRequested) => ChangeVerdict | Promise<ChangeVerdict> = () => "allow"
const it = useNacre({
  hosts: { min: 1, max: 1, threadsPerHostMax: 1 },
  limits: { residentsPerWorkerMax: 1 },
  onChange: (request) => {
    requests.push(request)
    return answer(request)
  },
})

async function open(): Promise<Session> {
  requests.length = 0
  answer = () => "allow"
  return it.open({ check: "syntax", principal: "alice" })
}

const proposeAndCommit = (source: string, reason = "") => `
  const proposed = await Session.current.proposeChange({ source: ${JSON.stringify(source)}, reason: ${JSON.stringify(reason)} })
  const committed = await Session.current.commitChange(proposed.candidate)`

test("code changes a definition: its own eval goes on as it was, the next one has the new one, and the record says who did it", async () => {
  const session = await open()
  await session.submit("function step(n) { return n + 1 }")
  const outcome = await session.eval(`${proposeAndCommit("function step(n) { return n + 100 }", "faster")}
    ;[step(1), proposed.changed, committed.status, committed.revision]`)
  expect(outcome.value?.text).toBe("[ 2, [ 'step' ], 'committed', 2 ]")
  expect(await session.run("step(1)")).toBe(101)
  const record = session.history().at(-1)!
  expect(record).toMatchObject({
    revision: 2,
    cause: "submit",
    principal: `session:${session.id}`,
    onBehalfOf: "alice",
    evalId: outcome.evalId,
    reason: "faster",
  })
  expect(requests.map(({ op, session: id, principal, change }) => [op, id, principal, change.reason])).toEqual([
    ["proposeChange", session.id, "alice", "faster"],
    ["commitChange", session.id, "alice", "faster"],
  ])
  expect(requests[1]!.candidate).toMatchObject({ changed: ["step"], parent: 1 })
})

test("the principal of an eval is the one that its code acts for", async () => {
  const session = await open()
  await session.eval(proposeAndCommit("const k = 1"), { principal: "bob" })
  expect(session.history().at(-1)).toMatchObject({ principal: `session:${session.id}`, onBehalfOf: "bob" })
})

test("without an onChange code has no such capability", async () => {
  const bare = await Nacre.start({ hosts: { min: 1, max: 1 } })
  try {
    const session = await bare.open()
    for (const call of ['proposeChange("const a = 1")', 'commitChange("chg")', 'abandonChange("chg")', "history()"]) {
      const { status, error } = await session.eval(`await Session.current.${call}`)
      expect([status, error?.kind]).toEqual(["threw", "capability_denied"])
      expect(error?.message).toContain("'change'")
    }
    expect(session.revision.number).toBe(0)
  } finally {
    await bare.stop()
  }
})

test.each<[string, () => ChangeVerdict | Promise<ChangeVerdict>, string]>([
  ["a reason", () => ({ veto: "not on a Friday" }), "not on a Friday"],
  ["an exception", () => Promise.reject(new Error("no rules loaded")), "onChange failed: no rules loaded"],
  ["anything else", () => undefined as never, 'onChange answered neither "allow" nor { veto: reason }.'],
])("a proposal is vetoed by %s, which code sees", async (_, verdict, reason) => {
  const session = await open()
  answer = verdict
  const vetoed = await session.run('await Session.current.proposeChange("const a = 1")')
  expect(vetoed).toMatchObject({ status: "rejected", revision: 0, rejection: { kind: "vetoed", message: reason } })
  expect(session.revision.number).toBe(0)
})

test("a commit is vetoed, and the candidate stays", async () => {
  const session = await open()
  answer = ({ op }) => (op === "commitChange" ? { veto: "ask me first" } : "allow")
  const outcome = await session.eval(`${proposeAndCommit("const a = 1")}
    ;[committed.status, committed.rejection.kind, committed.rejection.message, proposed.candidate]`)
  const [status, kind, message, candidate] = outcome.value!.data as string[]
  expect([status, kind, message]).toEqual(["rejected", "vetoed", "ask me first"])
  expect(await session.commitChange(candidate!)).toMatchObject({ status: "committed", revision: 1 })
})

test.each([
  ['proposeChange({ source: "const a = 1", principal: "root" })', "invalid_options", /principal/],
  ["proposeChange(5)", "invalid_options", /proposeChange/],
  ['proposeChange({ source: "const a = 1", sauce: 1 })', "invalid_options", /sauce/],
  ['commitChange("chg_none")', "candidate_not_found", /chg_none/],
  ["commitChange(5)", "invalid_options", /candidate/],
  ['commitChange("chg_none", { force: true })', "invalid_options", /force/],
  ['history("all")', "invalid_options", /history/],
])("Session.current.%s is refused as %s", async (call, kind, message) => {
  const session = await open()
  const { error } = await session.eval(`await Session.current.${call}`)
  expect(error).toMatchObject({ kind, message: expect.stringMatching(message) as string })
})

test("another session's definitions are not to be changed, nor any while a definition is made", async () => {
  const session = await open()
  const other = await it.open({ id: "other" })
  const crossing = await session.eval(`Session.withId("${other.id}").proposeChange("const a = 1")`)
  expect(crossing.error?.kind).toBe("cross_session_mutation_unsupported")
  const making = await session.submit('const made: any = Session.current?.proposeChange("const a = 1") ?? 1')
  expect([making.status, await session.run("made")]).toEqual(["committed", 1])
})

test("what an eval declares after its code has changed the same name is overtaken", async () => {
  const session = await open()
  await session.submit("function f() { return 1 }")
  const outcome = await session.eval(`function f() { return 3 }
    ${proposeAndCommit("function f() { return 2 }")}
    ;f()`)
  expect(outcome.value?.text).toBe("3")
  expect(outcome.rejected).toMatchObject([{ key: "f", kind: "stale_parent" }])
  expect(await session.run("f()")).toBe(2)
})

test("a candidate outlives the realm whose code proposed it", async () => {
  const session = await open()
  const neighbour = await it.open()
  await session.submit("function f() { return 1 }")
  await session.eval('let candidate = (await Session.current.proposeChange("function f() { return 2 }")).candidate')
  await neighbour.eval("1")
  expect(session.isResident).toBe(false)
  expect(await session.run("(await Session.current.commitChange(candidate)).revision")).toBe(2)
  await neighbour.eval("1")
  expect(await session.run("f()")).toBe(2)
  expect(
    await session.run("(await Session.current.history(1)).map(({ revision, changes }) => [revision, changes[0].key])"),
  ).toEqual([[2, "f"]])
})

test("a candidate is abandoned by code", async () => {
  const session = await open()
  const abandoned = `const { candidate } = await Session.current.proposeChange("const a = 1")
    ;[await Session.current.abandonChange(candidate), await Session.current.abandonChange(candidate)]`
  expect(await session.run(abandoned)).toEqual([true, false])
})

test("what an eval has committed stands when its host is killed; what it has not, does not", async () => {
  const session = await open()
  await session.submit("function f() { return 1 }")
  const outcome = session.eval(`let mine = 1
    ${proposeAndCommit("function f() { return 2 }")}
    await tools.hold("killed")`)
  await it.parked("killed")
  await it.killHosts()
  expect((await outcome).status).toBe("crashed")
  expect([await session.run("f()"), await session.run("typeof mine"), session.revision.number]).toEqual([
    2,
    "undefined",
    2,
  ])
})

test("a proposal that is on its way when its host is killed changes nothing", async () => {
  const session = await open()
  let isAsked = false
  let go: (verdict: ChangeVerdict) => void = () => {}
  answer = () => {
    isAsked = true
    return new Promise((resolve) => {
      go = resolve
    })
  }
  const outcome = session.eval(proposeAndCommit("const a = 1"))
  await until("the question", () => isAsked || undefined)
  await it.killHosts()
  expect((await outcome).status).toBe("crashed")
  go("allow")
  expect(await session.run("typeof a")).toBe("undefined")
  expect(session.revision.number).toBe(0)
})
