// DESIGN.md section 5, the table: what becomes of an eval's assignments, definitions and queued writes on every way it can end.
//
// Each row is looked at three times: in the outcome, in the session's next eval (the realm that was kept, or a new one), and in a fork,
// whose realm is built from the committed bytes alone.
import { describe, expect, test } from "vitest"
import type { Outcome, Session } from "nacre"
import { useNacre } from "./nacre-under-test.ts"

const under = useNacre()

const setUp = `let own = "old"; let gone = "old"; let kept = "old"; const fixed = "old"; function definition() { return "old" }`
const work = `
own = "new"
let fresh = "new"
function definition() { return "new" }
function added() { return "new" }
Session.current.bindings.atPut("put", "queued")
Session.current.bindings.removeKey("gone")
`
const workWithClear = `
own = "new"
function added() { return "new" }
Session.current.bindings.atPut("before", "queued")
Session.current.clear()
Session.current.bindings.atPut("after", "queued")
`
const look = `({
  own: typeof own === "undefined" ? "absent" : own,
  fresh: typeof fresh === "undefined" ? "absent" : fresh,
  kept: typeof kept === "undefined" ? "absent" : kept,
  fixed: typeof fixed === "undefined" ? "absent" : fixed,
  gone: typeof gone === "undefined" ? "absent" : gone,
  put: typeof put === "undefined" ? "absent" : put,
  before: typeof before === "undefined" ? "absent" : before,
  after: typeof after === "undefined" ? "absent" : after,
  definition: typeof definition === "undefined" ? "absent" : definition(),
  added: typeof added === "undefined" ? "absent" : added(),
})`

const untouched: Record<string, string> = {
  own: "old",
  fresh: "absent",
  kept: "old",
  fixed: "old",
  gone: "old",
  put: "absent",
  before: "absent",
  after: "absent",
  definition: "old",
  added: "absent",
}
const assigned = { ...untouched, own: "new", fresh: "new", definition: "new", added: "new" }
const everything = { ...assigned, gone: "absent", put: "queued" }
const queueOnly = { ...untouched, gone: "absent", put: "queued" }
const nothing = Object.fromEntries(Object.keys(untouched).map((name) => [name, "absent"]))
const clearedThenPut = { ...nothing, after: "queued" }
const clearDropped = { ...untouched, own: "new", added: "new", before: "queued", after: "queued" }

/** Ends the eval whose code is `source` and gives its outcome. */
type Ending = (session: Session, source: string, atomic: boolean) => Promise<Outcome>

const parkAndWait: Ending = (session, source, atomic) => session.eval(`${source};await tools.hold("row")`, { atomic })
const interruptWhen: (
  session: Session,
  begun: Promise<unknown>,
  outcome: Promise<Outcome>,
) => Promise<Outcome> = async (session, begun, outcome) => {
  await begun
  await session.interrupt()
  return outcome
}

const endings: Record<string, Ending> = {
  ok: (session, source, atomic) => session.eval(`${source};0`, { atomic }),
  "ok after an await": (session, source, atomic) => session.eval(`${source};await null;await tools.echo()`, { atomic }),
  threw: (session, source, atomic) => session.eval(`${source};throw new Error("on purpose")`, { atomic }),
  "threw after an await": (session, source, atomic) =>
    session.eval(`${source};await tools.echo();throw new Error("on purpose")`, { atomic }),
  "threw in a timer": (session, source, atomic) =>
    session.eval(`${source};setTimeout(() => { throw new Error("on purpose") }, 1); await tools.hold("row")`, {
      atomic,
    }),
  invalid: (session, source, atomic) => session.eval(`${source};let = = 1`, { atomic }),
  "interrupted, computing": async (session, source, atomic) => {
    const { outcome } = await under.computing(session, `${source};console.log("begun");for(;;);`, { atomic })
    return interruptWhen(session, Promise.resolve(), outcome)
  },
  "interrupted, parked": (session, source, atomic) =>
    interruptWhen(session, under.parked("row"), parkAndWait(session, source, atomic)),
  "interrupted, computing after an await": async (session, source, atomic) => {
    const code = `${source};await tools.echo();console.log("begun");for(;;);`
    const { outcome } = await under.computing(session, code, { atomic })
    return interruptWhen(session, Promise.resolve(), outcome)
  },
  "timeout, computing": (session, source, atomic) => session.eval(`${source};for(;;);`, { atomic, timeoutMs: 300 }),
  "timeout, parked": (session, source, atomic) =>
    session.eval(`${source};await tools.hold("row")`, { atomic, timeoutMs: 300 }),
  exited: (session, source, atomic) => session.eval(`${source};process.exit(3)`, { atomic }),
  "exited after an await": (session, source, atomic) =>
    session.eval(`${source};await tools.echo();process.exit(3)`, { atomic }),
  "crashed, computing": async (session, source, atomic) => {
    const { outcome } = await under.computing(session, `${source};console.log("begun");for(;;);`, { atomic })
    await under.killHosts()
    return outcome
  },
  "crashed, parked": async (session, source, atomic) => {
    const outcome = parkAndWait(session, source, atomic)
    await under.parked("row")
    await under.killHosts()
    return outcome
  },
}

interface Row {
  readonly status: Outcome["status"]
  readonly after: Record<string, string>
  readonly afterClear: Record<string, string>
}

const rows: Record<string, Row> = {
  ok: { status: "ok", after: everything, afterClear: clearedThenPut },
  threw: { status: "threw", after: everything, afterClear: clearDropped },
  invalid: { status: "invalid", after: untouched, afterClear: untouched },
  interrupted: { status: "interrupted", after: queueOnly, afterClear: clearedThenPut },
  timeout: { status: "timeout", after: queueOnly, afterClear: clearedThenPut },
  exited: { status: "exited", after: everything, afterClear: clearedThenPut },
  crashed: { status: "crashed", after: untouched, afterClear: untouched },
}

/** What the session holds as seen by its next eval and by a fork, which must agree. */
async function seen(session: Session): Promise<unknown> {
  const here = await session.run(look)
  const fork = await session.fork()
  expect(await fork.run(look), "a realm built from the committed bytes").toEqual(here)
  await fork.close()
  return here
}

describe.each(Object.entries(endings))("%s", (name, end) => {
  const row = rows[name.split(/[ ,]/)[0]!]!
  for (const atomic of [false, true]) {
    const isUndone = atomic && row.status !== "ok"
    const suffix = atomic ? ", atomic" : ""

    test(`leaves what the table says${suffix}`, async () => {
      const session = await under.open()
      expect((await session.eval(setUp)).status).toBe("ok")
      const revision = (await session.eval("0")).revision
      const outcome = await end(session, work, atomic)
      const expected = isUndone ? untouched : row.after
      expect(outcome).toMatchObject({ status: row.status, rejected: [], lost: [], late: [] })
      expect(await seen(session)).toEqual(expected)
      expect(outcome.committed.cleared).toBe(false)
      const isPublished = expected["added"] === "new"
      expect(outcome.committed.definitions.toSorted()).toEqual(isPublished ? ["added", "definition"] : [])
      const set = ["own", "fresh", "put"].filter((it) => expected[it] === "new" || expected[it] === "queued")
      expect(outcome.committed.set.toSorted()).toEqual(set.toSorted())
      expect(outcome.committed.removed).toEqual(expected["gone"] === "absent" ? ["gone"] : [])
      expect(outcome.revisionUsed).toBe(revision)
      expect(outcome.revision).toBe(isPublished ? revision + 1 : revision)
    })

    test(`treats a queued clear as the table says${suffix}`, async () => {
      const session = await under.open()
      await session.eval(setUp)
      const outcome = await end(session, workWithClear, atomic)
      const expected = isUndone ? untouched : row.afterClear
      expect(outcome).toMatchObject({ status: row.status, rejected: [] })
      expect(await seen(session)).toEqual(expected)
      expect(outcome.committed.cleared).toBe(expected === clearedThenPut)
    })
  }
})

describe("queued writes", () => {
  test("win over the eval's own assignments of the same name", async () => {
    const session = await under.open()
    await session.eval(`let x = 0`)
    await session.eval(`Session.current.bindings.atPut("x", "queued"); x = "assigned"`)
    expect(await session.run("x")).toBe("queued")
    await session.eval(`Session.current.bindings.removeKey("x"); x = "assigned"`)
    expect(session.bindings.includesKey("x")).toBe(false)
    expect(await session.run("typeof x")).toBe("undefined")
  })

  test("apply in order, the last one of a name winning", async () => {
    const session = await under.open()
    await session.eval(`
      const { bindings } = Session.current
      bindings.atPut("x", 1); bindings.removeKey("x"); bindings.atPut("y", 1); bindings.atPut("y", 2); bindings.atPut("z", 1)
      bindings.removeKey("z")`)
    expect(session.bindings.keys().toSorted()).toEqual(["bindings", "y"])
    expect(session.bindings.at("y")).toBe(2)
  })

  test("are not seen by reads of the same eval", async () => {
    const session = await under.open()
    await session.eval(`let x = "old"`)
    const data = await session.run(`
      x = "new"
      Session.current.bindings.atPut("x", "queued")
      Session.current.bindings.atPut("fresh", 1);
      [x, Session.current.bindings.at("x"), Session.current.bindings.includesKey("fresh"), Session.current.bindings.keys()]`)
    expect(data).toEqual(["new", "old", false, ["x"]])
  })

  test("bind the object itself on ok and the bytes of the call when stopped", async () => {
    const session = await under.open()
    await session.eval(`const box = { n: 1 }; Session.current.bindings.atPut("boxed", box); box.n = 2`)
    expect(await session.run("boxed.n")).toBe(2)
    expect(await session.run("boxed === box")).toBe(true)
    const { outcome } = await under.computing(
      session,
      `const other = { n: 1 }; Session.current.bindings.atPut("kept", other); other.n = 2; console.log("put"); for(;;);`,
    )
    await session.interrupt()
    expect((await outcome).committed.set).toEqual(["kept"])
    expect(await session.run("kept.n")).toBe(1)
  })

  test("to a definition's name are refused in the call, and its removal takes part in the eval's change", async () => {
    const session = await under.open()
    await session.eval(`function used() { return 1 }\nfunction user() { return used() }\nfunction free() {}`)
    const refused = await session.eval(`Session.current.bindings.atPut("used", 1)`)
    expect(refused).toMatchObject({ status: "threw", error: { kind: "binding_is_definition" } })
    const outcome = await session.eval(
      `Session.current.bindings.removeKey("used"); Session.current.bindings.removeKey("free")`,
    )
    expect(outcome.rejected).toEqual([{ op: "removeKey", key: "used", kind: "definition_has_dependents" }])
    expect(outcome.committed.removed).toEqual(["free"])
    expect(await session.run(`[user(), typeof free]`)).toEqual([1, "undefined"])
  })

  test("of a name that becomes a definition in the same eval stand in rejected", async () => {
    const session = await under.open()
    const outcome = await session.eval(
      `Session.current.bindings.atPut("later", 1)\nfunction later() { return "definition" }`,
    )
    expect(outcome.rejected).toEqual([{ op: "atPut", key: "later", kind: "binding_is_definition" }])
    expect(await session.run("later()")).toBe("definition")
  })

  test("of an eval that has ended are refused", async () => {
    const session = await under.open()
    await session.eval(`var refusal = "none"; globalThis.wake = undefined`)
    await session.eval(`
      new Promise((resolve) => { globalThis.wake = resolve }).then(() => {
        try { Session.current?.bindings.atPut("late", 1); refusal = "no session" } catch (error) { refusal = error.kind }
      })
      var view = Session.current.bindings
      new Promise((resolve) => { globalThis.wakeView = resolve }).then(() => {
        try { view.atPut("late", 1); refusal = "accepted" } catch (error) { refusal = error.kind }
      })
      0`)
    await session.eval(`globalThis.wakeView(); 0`)
    expect(await session.run("refusal")).toBe("eval_ended")
    expect(session.bindings.includesKey("late")).toBe(false)
  })
})

describe("a throw", () => {
  test("publishes only the definitions whose statement was reached, and hoisted ones", async () => {
    const session = await under.open()
    const outcome = await session.eval(`
      class Reached {}
      const also = () => 1
      throw new Error("stop")
      class NotReached {}
      const neither = () => 1
      function hoisted() { return 1 }`)
    expect(outcome.status).toBe("threw")
    expect(outcome.committed.definitions.toSorted()).toEqual(["Reached", "also", "hoisted"])
    expect(await session.run("[typeof NotReached, typeof neither, typeof hoisted]")).toEqual([
      "undefined",
      "undefined",
      "function",
    ])
  })

  test("of an initialiser leaves a new name unbound and an old one as it was", async () => {
    const session = await under.open()
    await session.eval("let old = 1")
    await session.eval(`let old = (() => { throw new Error("no") })()`)
    await session.eval(`let fresh = (() => { throw new Error("no") })()`)
    expect(await session.run("[old, typeof fresh]")).toEqual([1, "undefined"])
  })
})
