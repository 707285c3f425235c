// The behaviours of the design that sessions as objects come from, line by line: each B-line that applies here is a test that names it, and
// each fault that was found there (L-lines) is a test that it cannot happen here. Where Nacre differs on purpose, the row says so.
import { readFileSync } from "node:fs"
import { beforeEach, describe, expect, test } from "vitest"
import type { NacreEvent, Session } from "nacre"
import { until } from "../until.ts"
import { refusal, useNacre } from "./nacre-under-test.ts"

const under = useNacre({ hosts: { min: 2, max: 3 } })

let ada: Session
let bob: Session
beforeEach(async () => {
  ada = await under.open({ id: "ada", kind: "repl", principal: "ada@example.org" })
  bob = await under.open({ id: "bob", kind: "service" })
  await ada.eval(`
    let x = 1; const list = [1, { two: 2 }]; var nothing = undefined
    function greet() { return "hi" }
    class Point { constructor(readonly x = 1) {} }
    let point = new Point(); let socket = new Promise(() => {}); const self = Session.current`)
  await bob.eval(`const user = Session.withId("ada"); let mine = 1`)
  for (const name of under.nacre.globals().keys()) await under.nacre.globals().unbind(name)
})

interface Row {
  line: string
  what: string
  /** Whose code it is. Default: bob's, who has `user`, the session of ada. */
  by?: "ada"
  code: string
  gives?: unknown
  kind?: string
  says?: RegExp
}

const rows: Row[] = [
  // Session values
  {
    line: "B1",
    what: "Session.current is this session, the same object each time",
    code: `Session.current === Session.current && Session.current.id`,
    gives: "bob",
  },
  {
    line: "B3",
    what: "it crosses awaits, timers, promise jobs and user thenables",
    code: `
      const seen = [Session.current?.id]
      await null; seen.push(Session.current?.id)
      await new Promise((done) => setTimeout(() => { seen.push(Session.current?.id); done() }, 1))
      await { then(done) { seen.push(Session.current?.id); done() } }
      seen.join()`,
    gives: "bob,bob,bob,bob",
  },
  {
    line: "B5",
    what: "a value of another session has its id and its kind",
    code: `[user.id, user.kind]`,
    gives: ["ada", "repl"],
  },
  { line: "B6", what: "withId gives a live session", code: `Session.withId("ada") === user`, gives: true },
  { line: "B6", what: "withId of an unknown id is undefined", code: `Session.withId("nobody")`, gives: undefined },
  {
    line: "B6",
    what: "withId of anything but a string is a type_error that says what it was given",
    code: `Session.withId(5)`,
    kind: "type_error",
    says: /string.*number/,
  },
  {
    line: "B8",
    what: "Workspace.currentSession is Session.current",
    code: `Workspace.currentSession === Session.current`,
    gives: true,
  },
  {
    line: "B9",
    what: "Workspace.sessions has one value for each live session",
    code: `Workspace.sessions.map((it) => it.id).toSorted()`,
    gives: ["ada", "bob"],
  },
  {
    line: "B9",
    what: "and its own among them as itself",
    code: `Workspace.sessions.includes(Session.current) && Workspace.sessions.includes(user)`,
    gives: true,
  },
  {
    line: "B11",
    what: "a kind is one of a closed set and immutable",
    code: `"use strict"; try { user.kind = "ide" } catch {} user.kind`,
    gives: "repl",
  },
  {
    line: "B12",
    what: "info has what is known, and no key for what is not",
    code: `({ ada: Object.keys(user.info()).toSorted(), bob: Object.keys(Session.current.info()).toSorted() })`,
    gives: { ada: ["id", "kind", "openedAt", "principal", "profile"], bob: ["id", "kind", "openedAt", "profile"] },
  },
  {
    line: "B13",
    what: "a session displays as Session(kind: id)",
    code: `[String(user), \`\${Session.current}\`]`,
    gives: ["Session(repl: ada)", "Session(service: bob)"],
  },
  {
    line: "B14",
    what: "a method on anything but a session is a type_error",
    code: `Object.getOwnPropertyDescriptor(Object.getPrototypeOf(user), "resolve").value.call({}, "x")`,
    kind: "type_error",
  },
  { line: "B16", what: "there is no public constructor", code: `new Session()`, says: /cannot be constructed/ },
  { line: "B16", what: "nor through a value", code: `new user.constructor("ada")`, says: /cannot be constructed/ },
  {
    line: "B16",
    what: "there are no mirrors of instance operations on the class, and no Session.globals",
    code: `Reflect.ownKeys(Session).filter((key) => !["length", "name", "prototype"].includes(key)).toSorted()`,
    gives: ["current", "withId"],
  },
  // resolve
  {
    line: "B17",
    what: "resolve goes locals, globals, singletons, registry",
    code: `
      Workspace.bind("shared", 7); const s = Session.current
      [s.resolve("mine"), s.resolve("shared"), s.resolve("Workspace") === Workspace, s.resolve("BindingsView") === BindingsView, s.resolve("Math") === Math]`.replace(
      "Session.current\n",
      "Session.current;\n",
    ),
    gives: [1, 7, true, true, true],
  },
  {
    line: "B18",
    what: "resolve of an unknown name is undefined (Nacre: never an error)",
    code: `Session.current.resolve("nowhere")`,
    gives: undefined,
  },
  {
    line: "B19",
    what: "a local that holds undefined is a hit: it shadows a global",
    by: "ada",
    code: `Workspace.bind("nothing", 5); [Session.current.resolve("nothing"), Session.current.bindings.includesKey("nothing")]`,
    gives: [undefined, true],
  },
  {
    line: "B20",
    what: "a name that is no string is a type_error",
    code: `user.resolve(Symbol("x"))`,
    kind: "type_error",
  },
  {
    line: "B22",
    what: "resolve reads the locals of another session, and then what all share",
    code: `Workspace.bind("shared", 7); [user.resolve("x"), user.resolve("shared"), user.resolve("nowhere"), user.resolve("mine")]`,
    gives: [1, 7, undefined, undefined],
  },
  {
    line: "B23",
    what: "bare names are looked up inside callbacks and loops too",
    code: `Workspace.bind("step", 2); let sum = 0; for (const n of [1, 2]) sum += step; [1, 2].map((n) => n * step).concat(sum)`,
    gives: [2, 4, 4],
  },
  // BindingsView
  { line: "B24", what: "at of an absent key is undefined", code: `user.bindings.at("nowhere")`, gives: undefined },
  {
    line: "B24",
    what: "keys, size, includesKey",
    code: `[user.bindings.keys().toSorted(), user.bindings.size, user.bindings.includesKey("x"), user.bindings.includesKey("nowhere")]`,
    gives: [["Point", "greet", "list", "nothing", "point", "self", "socket", "x"], 8, true, false],
  },
  {
    line: "B24",
    what: "do visits values, and iteration gives entries",
    by: "ada",
    code: `const seen = []; Session.current.bindings.do((v) => seen.push(typeof v)); [seen.length, new Map(Session.current.bindings).get("x"), [...Session.current.bindings].length]`,
    gives: [8, 1, 8],
  },
  {
    line: "B24",
    what: "it prints like a dictionary",
    code: `String(Session.withId("bob").bindings)`,
    gives: "{ user: Session(repl: ada), mine: 1 }",
  },
  { line: "B24", what: "get and set name at and atPut", code: `user.bindings.get("x")`, says: /'at'/ },
  { line: "B24", what: "there is no clear on a view", code: `typeof user.bindings.clear`, gives: "undefined" },
  {
    line: "B25",
    what: "a name that was never seen is absent, and nothing else",
    code: `user.bindings.includesKey("never" + Math.random())`,
    gives: false,
  },
  {
    line: "B26",
    what: "atPut gives the value put, removeKey undefined, and both are seen by the next eval only",
    code: `const view = Session.current.bindings; [view.atPut("mine", 2), view.removeKey("user"), view.at("mine"), view.includesKey("user")]`,
    gives: [2, undefined, 1, true],
  },
  {
    line: "B27",
    what: "withId of the own id is the own session: writes are allowed",
    code: `Session.withId("bob").bindings.atPut("fresh", 1)`,
    gives: 1,
  },
  {
    line: "B27",
    what: "another's atPut is refused",
    code: `user.bindings.atPut("x", 2)`,
    kind: "cross_session_mutation_unsupported",
    says: /cannot mutate bindings of another session; reads only/,
  },
  {
    line: "B27",
    what: "and removeKey",
    code: `user.bindings.removeKey("x")`,
    kind: "cross_session_mutation_unsupported",
  },
  {
    line: "B27",
    what: "also of a name that is not bound (Nacre: no way around the check)",
    code: `user.bindings.removeKey("never")`,
    kind: "cross_session_mutation_unsupported",
  },
  {
    line: "B27",
    what: "and clear, with a hint",
    code: `user.clear()`,
    kind: "cross_session_mutation_unsupported",
    says: /Session\.current/,
  },
  {
    line: "B30",
    what: "another session sees committed state only, also of itself",
    by: "ada",
    code: `x = 2; [Session.current.bindings.at("x"), x]`,
    gives: [1, 2],
  },
  {
    line: "B34",
    what: "Workspace.globals reads live what atPut wrote, in the same eval",
    code: `[Workspace.globals.atPut("g", 1), Workspace.globals.at("g"), g, Workspace.globals.removeKey("g"), Workspace.globals.at("g")]`,
    gives: [1, 1, 1, undefined, undefined],
  },
  {
    line: "B34",
    what: "with the singletons",
    code: `Workspace.bind("g", 1); [Workspace.globals.keys(), Workspace.globals.at("Transcript") === Transcript]`,
    gives: [["g", "Workspace", "Transcript", "tools"], true],
  },
  {
    line: "B35",
    what: "a singleton's name is a name_conflict",
    code: `Workspace.bind("Transcript", 5)`,
    kind: "name_conflict",
    says: /Transcript.*system name/,
  },
  {
    line: "B35",
    what: "a class of the registry too (Nacre: no warning, a refusal)",
    code: `Workspace.bind("Session", 5)`,
    kind: "name_conflict",
  },
  {
    line: "B35",
    what: "a name of the language too",
    code: `Workspace.globals.atPut("Math", 5)`,
    kind: "name_conflict",
  },
  { line: "B35", what: "a reserved word too", code: `Workspace.bind("class", 5)`, kind: "name_conflict" },
  { line: "B35", what: "a name that is no string is a type_error", code: `Workspace.bind(5, 5)`, kind: "type_error" },
  {
    line: "B35",
    what: "a name that code could not use is one as well",
    code: `Workspace.bind("two words", 5)`,
    kind: "type_error",
  },
  {
    line: "B36",
    what: "removing a name that is not bound does nothing, on view and workspace alike",
    code: `[Workspace.unbind("never"), Workspace.globals.removeKey("never")]`,
    gives: [undefined, undefined],
  },
  {
    line: "B37",
    what: "a view's method on anything else is a type_error",
    code: `user.bindings.at.call({}, "x")`,
    kind: "type_error",
  },
  {
    line: "B38",
    what: "a view may be stored and passed on",
    code: `const views = [user.bindings]; ((it) => it.at("x"))(views[0])`,
    gives: 1,
  },
  {
    line: "B42",
    what: "a new session has no bindings and no copies of globals",
    code: `Workspace.bind("g", 1); [Session.current.bindings.keys().toSorted(), g]`,
    gives: [["mine", "user"], 1],
  },
  { line: "B56", what: "the transcript is not the eval's output", code: `Transcript.show("to all")`, gives: undefined },
  // What travels
  {
    line: "B22",
    what: "what is read from another session is a frozen copy, the same while it does not change",
    code: `const view = user.bindings; [view.at("list"), view.at("list") === view.at("list"), Object.isFrozen(view.at("list")[1])]`,
    gives: [[1, { two: 2 }], true, true],
  },
  {
    line: "B5",
    what: "a session in another session's bindings is that session",
    code: `user.bindings.at("self") === user`,
    gives: true,
  },
  {
    line: "B22",
    what: "a function does not leave its session",
    code: `user.bindings.at("greet")`,
    kind: "value_not_transferable",
  },
  {
    line: "B22",
    what: "nor a class, nor an instance of it",
    code: `user.bindings.at("point")`,
    kind: "value_not_transferable",
  },
  {
    line: "B22",
    what: "nor what only its process holds",
    code: `user.bindings.at("socket")`,
    kind: "value_not_transferable",
  },
  {
    line: "B22",
    what: "a global holds no functions either",
    code: `Workspace.bind("f", () => 1)`,
    kind: "value_not_transferable",
  },
  {
    line: "B35",
    what: "Workspace.classes shows the registry and is read-only",
    code: `[Workspace.classes.keys(), Workspace.classes.at("Session") === Session, (() => { try { Workspace.classes.atPut("X", 1) } catch (error) { return error.kind } })()]`,
    gives: [["Session", "BindingsView"], true, "unsupported"],
  },
]

describe("each line", () => {
  test.each(rows)("$line: $what", async ({ by, code, gives, kind, says }) => {
    const outcome = await (by === "ada" ? ada : bob).eval(code)
    if (kind === undefined && says === undefined) {
      expect(outcome.error?.rendered).toBeUndefined()
      expect(outcome.value?.data).toEqual(gives)
    } else {
      expect(outcome.status).toBe("threw")
      if (kind !== undefined) expect(outcome.error?.kind).toBe(kind)
      if (says !== undefined) expect(outcome.error?.message).toMatch(says)
    }
  })
})

describe("closed sessions", () => {
  test("B10, B13: kind, info and display answer, everything else is session_not_found", async () => {
    await bob.eval(`const view = user.bindings; user.info()`)
    await ada.close()
    expect(await bob.run(`[user.kind, user.info().id, String(user)]`)).toEqual(["repl", "ada", "Session(repl: ada)"])
    for (const use of [
      `user.id`,
      `view.at("x")`,
      `view.keys()`,
      `view.size`,
      `user.bindings.includesKey("x")`,
      `user.resolve("x")`,
      `[...view]`,
    ]) {
      const { error } = await bob.eval(use)
      expect([use, error?.kind]).toEqual([use, "session_not_found"])
      expect(error?.message).toContain("session is no longer alive")
    }
    expect(await bob.run(`Session.withId("ada") === undefined && Workspace.sessions.length`)).toBe(1)
  })

  test("B28: a write to a dead session is refused as cross-session first", async () => {
    await ada.close()
    for (const use of [`user.bindings.atPut("x", 1)`, `user.bindings.removeKey("x")`, `user.clear()`]) {
      expect((await bob.eval(use)).error?.kind).toBe("cross_session_mutation_unsupported")
    }
  })

  test("B69: the id of a closed session opens a fresh one, which old values then mean", async () => {
    await ada.close()
    await (await under.open({ id: "ada", kind: "repl" })).eval(`let y = 2`)
    expect(await bob.run(`[user.bindings.keys(), user.bindings.at("y")]`)).toEqual([["y"], 2])
  })
})

describe("kept and shared", () => {
  test("B38: sessions and views in bindings survive the process", async () => {
    await bob.eval(
      `const view = user.bindings; const globals = Workspace.globals; const me = Session.current; const all = Workspace`,
    )
    await under.killHosts()
    expect(
      await bob.run(
        `[user.bindings.at("x"), view.at("x"), globals === Workspace.globals, me === Session.current, all === Workspace]`,
      ),
    ).toEqual([1, 1, true, true, true])
  })

  test("B40: a session that computes answers for what it has committed", async () => {
    const { outcome } = await under.computing(ada, `x = 99; console.log("on"); for (;;);`)
    expect(await bob.run(`[user.bindings.at("x"), user.info().kind, user.bindings.keys().length]`)).toEqual([
      1,
      "repl",
      8,
    ])
    await ada.interrupt()
    expect((await outcome).status).toBe("interrupted")
  })

  test("B32, B33: put, clear, put keeps the last, and globals are untouched", async () => {
    await bob.eval(`Workspace.bind("g", 1)`)
    await bob.eval(`const s = Session.current; s.bindings.atPut("a", 1); s.clear(); s.bindings.atPut("b", 2)`)
    expect(await bob.run(`[Session.current.bindings.keys(), g]`)).toEqual([["b"], 1])
  })

  test("B31: what the view wrote wins over assignments, in whatever order", async () => {
    await bob.eval(`Session.current.bindings.atPut("mine", 1); mine = 2`)
    expect(await bob.run("mine")).toBe(1)
  })

  test("B75: locals survive changes of the workspace and shadow them", async () => {
    await bob.eval(`Workspace.bind("mine", "global"); Workspace.bind("other", "global")`)
    expect(await bob.run(`[mine, other]`)).toEqual([1, "global"])
    await bob.eval(`let Transcript = 5; other = "local"`)
    expect(await bob.run(`[Transcript, other, Workspace.globals.at("other")]`)).toEqual([5, "local", "global"])
    await bob.eval(`Session.current.bindings.removeKey("other")`)
    expect(await bob.run(`other`)).toBe("global")
  })
})

describe("events", () => {
  const changes = (session: Session) =>
    under.events.filter(
      (it): it is Extract<NacreEvent, { type: "bindings.changed" }> =>
        it.type === "bindings.changed" && it.session === session.id,
    )

  test("B63, B64, L5: bindings.changed comes once for each commit, after it, for every kind of change", async () => {
    const before = changes(bob).length
    const seen: unknown[] = []
    const attached = under.nacre.attach(
      (event) => {
        // Whoever looks again at once sees what the event is about.
        if (event.type === "bindings.changed") seen.push(bob.bindings.keys().toSorted())
      },
      { session: "bob" },
    )
    await bob.eval(
      `let a = 1; let { b, c = 2 } = { b: [] }; for (var i = 0; i < 2; i++); function f() {} ; "let s = 1"`,
    )
    await bob.eval(`b.push(1)`)
    await bob.eval(`a; f()`)
    await bob.eval(`throw (a = 2)`)
    await bob.eval(`Session.current.bindings.removeKey("c"); Session.current.bindings.removeKey("f")`)
    const stopped = bob.eval(`Session.current.bindings.atPut("kept", 1); a = 5; await tools.hold("stop")`)
    await under.parked("stop")
    await bob.interrupt()
    await stopped
    await bob.mark("m")
    await bob.eval(`a = 7`)
    await bob.rollback("m")
    await bob.reset()
    attached.detach()
    const found = changes(bob)
      .slice(before)
      .map(({ because, set, definitions, removed, lost }) => [
        because,
        set.toSorted(),
        definitions,
        removed.toSorted(),
        lost,
      ])
    expect(found).toEqual([
      ["eval", ["a", "b", "c", "i"], ["f"], [], []],
      ["eval", ["b"], [], [], []],
      ["eval", ["a"], [], [], []],
      ["eval", [], [], ["c", "f"], []],
      ["eval", ["kept"], [], [], []],
      ["eval", ["a"], [], [], []],
      ["rollback", ["a"], [], [], []],
      ["reset", [], [], ["a", "b", "i", "kept", "mine", "user"], []],
    ])
    expect(seen[0]).toEqual(["a", "b", "c", "f", "i", "mine", "user"])
    expect(seen.at(-1)).toEqual([])
  })

  test("B67: who attaches later gets what it missed, without gaps, and is told when that cannot be", async () => {
    const { seq } = under.nacre.attach(() => {})
    await bob.eval(`let one = 1`)
    await ada.eval(`let two = 2`)
    const seen: NacreEvent[] = []
    const attached = under.nacre.attach((event) => seen.push(event), { since: seq })
    await bob.eval(`let three = 3`)
    expect(attached.isComplete).toBe(true)
    expect(seen.map((it) => it.seq)).toEqual(seen.map((_, index) => seq + 1 + index))
    expect(seen.map((it) => ("session" in it ? it.session : it.type))).toEqual(["bob", "ada", "bob"])
    const own: NacreEvent[] = []
    under.nacre.attach((event) => own.push(event), { since: seq, session: "ada" })
    expect(own).toMatchObject([{ session: "ada", set: ["two"] }])
    for (let n = 0; n < 40; n++) await bob.eval(`for (let i = 0; i < 30; i++) Transcript.show("line")`)
    expect(under.nacre.attach(() => {}, { since: seq }).isComplete).toBe(false)
    expect(under.nacre.attach(() => {}, { since: 1e9 }).isComplete).toBe(false)
    attached.detach()
  })

  test("B66: a listener that throws changes nothing for anyone", async () => {
    const warned = new Promise((resolve) => process.once("warning", resolve))
    const failing = under.nacre.attach(() => {
      throw new Error("mine")
    })
    expect(await bob.run("let z = 1; z")).toBe(1)
    expect(String(await warned)).toContain("mine")
    failing.detach()
  })

  test("B56: the transcript is a stream of its own, in order, with whose it was", async () => {
    const outcome = await bob.eval(
      `Transcript.show("one"); console.log("out"); Transcript.show({ two: 2 }); Transcript.show("")`,
    )
    expect(outcome.output.map((it) => it.text).join("")).toBe("out\n")
    const shown = under.events.filter((it) => it.type === "transcript.shown")
    expect(shown).toMatchObject([
      { text: "one", session: "bob", workspace: "main", evalId: outcome.evalId },
      { text: "{ two: 2 }" },
      { text: "" },
    ])
  })

  test("the outcome names the globals an eval wrote", async () => {
    const outcome = await bob.eval(
      `Workspace.bind("g", 1); Workspace.bind("g", 2); Workspace.unbind("never"); Workspace.unbind("g"); 1`,
      { atomic: true },
    )
    expect(outcome.committed.globals).toEqual(["g"])
    expect(under.events.filter((it) => it.type === "globals.changed")).toMatchObject([
      { set: ["g"], removed: [], evalId: outcome.evalId },
      { set: ["g"] },
      { set: [], removed: ["g"] },
    ])
  })
})

describe("faults that cannot happen here", () => {
  test("L1: a session that nobody uses ends by itself when it was opened so, also one that never ran anything", async () => {
    const used = await under.open({ idleMs: 1 })
    await used.eval("1")
    const unused = await under.open({ idleMs: 1 })
    await until("both to be closed", () => used.isClosed && unused.isClosed, 20_000)
    expect(
      under.nacre
        .sessions()
        .map((it) => it.id)
        .toSorted(),
    ).toEqual(["ada", "bob"])
  }, 30_000)

  test("L1, B70, B73: a session that its last client has left ends after its grace, unless one comes back", async () => {
    expect((await refusal(under.open({ graceMs: -1 }))).kind).toBe("invalid_options")
    const [left, kept, held] = [
      await under.open({ graceMs: 20 }),
      await under.open({ graceMs: 20 }),
      await under.open(),
    ]
    const leaveKept = kept.attachClient()
    const leaveLeft = left.attachClient()
    const leaveTwice = kept.attachClient()
    leaveTwice()
    leaveTwice()
    leaveKept()
    const stay = kept.attachClient()
    held.attachClient()()
    leaveLeft()
    await until("the one that was left to be closed", () => left.isClosed)
    expect([kept.isClosed, held.isClosed]).toEqual([false, false])
    stay()
    await until("the other to be closed", () => kept.isClosed)
    expect(under.nacre.session(kept.id)).toBeUndefined()
  })

  test("L2: a write or a question of code whose eval has ended is refused, and no other eval gets it", async () => {
    await bob.eval(`
      let release; let log = []; const view = user.bindings
      const uses = [() => Workspace.bind("late", 1), () => view.at("x"), () => Session.withId("ada"), () => Transcript.show("late"),
        () => Workspace.sessions, () => Session.current.bindings.atPut("late", 1)]
      new Promise((resolve) => { release = resolve }).then(() => {
        for (const use of uses) try { use(); log.push("allowed") } catch (error) { log.push(error.kind ?? error.name) }
      })
      0`)
    await bob.eval(`release(); 0`)
    const seen = await until("the late code to have ended", async () => {
      const log = (await bob.run("log")) as string[]
      return log.length === 6 && log
    })
    // Session.current is undefined there.
    expect(seen).toEqual(["eval_ended", "eval_ended", "eval_ended", "eval_ended", "eval_ended", "TypeError"])
    expect(under.nacre.globals().keys()).toEqual([])
    expect(bob.bindings.includesKey("late")).toBe(false)
    expect(under.events.filter((it) => it.type === "transcript.shown")).toEqual([])
  })

  test("L3: an eval that throws leaves no global among the locals", async () => {
    await bob.eval(`Workspace.bind("g", 1)`)
    await bob.eval(`g; throw new Error("no")`)
    expect(bob.bindings.keys().toSorted()).toEqual(["mine", "user"])
    await under.nacre.globals().bind("g", 2)
    expect(await bob.run("g")).toBe(2)
  })

  test("L4: a global bound again is seen by the bare name at once: in this eval, and from another host", async () => {
    await bob.eval(`Workspace.bind("g", 1)`)
    expect(
      await bob.run(
        `const seen = [g]; Workspace.bind("g", 2); seen.push(g); Workspace.unbind("g"); seen.push(typeof g); seen`,
      ),
    ).toEqual([1, 2, "undefined"])
    await bob.eval(`Workspace.bind("turn", 0)`)
    // Both compute at the same time, on hosts of their own, and each waits for what the other binds.
    const [one, two] = await Promise.all([
      ada.eval(`for (let n = 1; n < 20; n += 2) { Workspace.bind("turn", n); while (turn === n); } turn`),
      bob.eval(`for (let n = 2; n <= 20; n += 2) { while (turn !== n - 1); Workspace.bind("turn", n) } turn`),
    ])
    expect([one.value?.data, two.value?.data]).toEqual([20, 20])
  }, 30_000)

  test("L6: every session is found by its id, whoever opened it, and is forgotten with its end", async () => {
    const forked = await ada.fork()
    expect(await bob.run(`Session.withId(${JSON.stringify(forked.id)}).bindings.at("x")`)).toBe(1)
    await forked.close()
    expect(await bob.run(`Session.withId(${JSON.stringify(forked.id)})`)).toBeUndefined()
  })

  test("L11: a reset of a session that computes waits for its turn and is not overwritten", async () => {
    const running = ada.eval(`x = 5; await tools.hold("reset")`)
    const { gate } = await under.parked("reset")
    const reset = ada.reset()
    gate.open()
    await Promise.all([running, reset])
    expect(ada.bindings.keys()).toEqual([])
  })

  test("L14: an outcome can be fetched again by its id", async () => {
    const outcome = await bob.eval("mine")
    expect(bob.outcome(outcome.evalId)?.value?.text).toBe("1")
  })

  test("L15: interrupting an id that is not there stops nothing", async () => {
    const running = ada.eval(`await tools.hold("on"); 1`)
    const { gate } = await under.parked("on")
    expect((await refusal(bob.interrupt("evl_nope"))).kind).toBe("eval_not_found")
    expect((await refusal(ada.interrupt("evl_nope"))).kind).toBe("eval_not_found")
    gate.open()
    expect((await running).status).toBe("ok")
  })

  test("L16: globals outlive every process that runs code, and the writer", async () => {
    await bob.eval(`Workspace.bind("g", { n: [1, 2] })`)
    await bob.close()
    await under.killHosts()
    expect(await ada.run("g.n")).toEqual([1, 2])
  })

  test("L18: a question that is not answered in time is session_unresponsive, and the code goes on", async () => {
    await bob.eval("0")
    const { outcome } = await under.computing(
      bob,
      `console.log("begun"); let kind = "none"; const end = performance.now() + 15_000
       while (kind === "none" && performance.now() < end) try { user.bindings.at("x") } catch (error) { kind = error.kind }
       await tools.echo(); [kind, user.bindings.at("x")]`,
    )
    const end = performance.now() + 3_000
    while (performance.now() < end);
    expect((await outcome).value?.data).toEqual(["session_unresponsive", 1])
  }, 30_000)

  test("L18: a host that stands still holds a write up for its deadline only, and is replaced", async () => {
    await ada.eval("0")
    await bob.eval("0")
    const own = bob.worker!.host.pid
    const still = under
      .hostPids()
      .find(
        (pid) =>
          pid !== own && under.nacre.placement().some((it) => it.host.pid === pid && it.group === "main/standard"),
      )!
    process.kill(still, "SIGSTOP")
    const outcome = await bob.eval(`Workspace.bind("g", 1)`)
    expect(outcome).toMatchObject({ status: "threw", error: { kind: "session_unresponsive" } })
    expect(outcome.error!.message).toContain("may have been done")
    await until("the host to be lost", () => !under.hostPids().includes(still))
    expect(await bob.run(`Workspace.bind("g", 2); g`)).toBe(2)
    expect(await ada.run(`g`)).toBe(2)
  }, 30_000)
})

test("what session code has is what its declarations say", async () => {
  const declared = readFileSync(new URL("../../types/session-code.d.ts", import.meta.url), "utf8")
  const found = (await bob.run(`
    const names = (object) => Reflect.ownKeys(object).filter((key) => typeof key === "string" && key !== "constructor")
    ;[...names(BindingsView.prototype), ...names(Session.prototype), ...names(Workspace), ...names(Transcript), ...names(console), ...names(crypto), ...names(performance), ...names(process)]`)) as string[]
  // Words for those who reach for a Map's methods.
  for (const name of found.filter((it) => it !== "get" && it !== "set"))
    expect(declared).toMatch(new RegExp(`\\b${name}\\b`))
  const globals = (await bob.run(`Reflect.ownKeys(globalThis).filter((key) => typeof key === "string")`)) as string[]
  const minimal = await under.open({ profile: "minimal" })
  const language = new Set(
    (await minimal.run(`Reflect.ownKeys(globalThis).filter((key) => typeof key === "string")`)) as string[],
  )
  for (const name of globals.filter((it) => !language.has(it)))
    expect(declared).toMatch(new RegExp(`declare (?:const|function) ${name}\\b`))
})

test("profile minimal reads what is shared and writes none of it", async () => {
  await bob.eval(`Workspace.bind("g", 1)`)
  const minimal = await under.open({ profile: "minimal" })
  expect(
    await minimal.run(
      `[g, Workspace.globals.at("g"), Session.withId("ada").bindings.at("x"), typeof Transcript, typeof tools, Workspace.globals.keys()]`,
    ),
  ).toEqual([1, 1, 1, "undefined", "undefined", ["g", "Workspace"]])
  for (const use of [`Workspace.bind("g", 2)`, `Workspace.unbind("g")`, `Workspace.globals.atPut("g", 2)`]) {
    expect((await minimal.eval(use)).error?.kind).toBe("capability_denied")
  }
})
