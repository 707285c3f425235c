// Two customers in two workspaces of one nacre: every way in which code of one could reach the other, and that none of them does.
//
// The victim holds a secret in everything a session has: a binding, a definition, a global, the transcript, its output, changed
// built-ins, `globalThis`. The other knows every id and name of it, and has a session of the very same id.
import { beforeEach, describe, expect, test } from "vitest"
import type { NacreEvent, Session } from "nacre"
import { until } from "../until.ts"
import { refusal, useNacre } from "./nacre-under-test.ts"

const secret = "s3cret"
const under = useNacre({
  hosts: { min: 1, max: 3 },
  tools: { whose: (_args, { workspace, session }) => [workspace, session] },
})

const prelude = `let kept = []; export const theirSecret = "${secret}"; export class Safe { #held = "${secret}"; static all = kept; open() { return this.#held } }
  export const keep = (value) => kept.push(value)`

let victim: Session
let other: Session
let twin: Session
beforeEach(async () => {
  victim = await under.open({ workspace: "acme", id: "ses_victim", principal: secret })
  other = await under.open({ workspace: "globex", id: "ses_other" })
  twin = await under.open({ workspace: "globex", id: "ses_victim" })
  await victim.eval(`
    let mine = "${secret}"; function tell() { return "${secret}" }
    Workspace.bind("shared", "${secret}"); Workspace.bind("door", Session.current)
    globalThis.left = "${secret}"; Array.prototype.left = "${secret}"; Object.prototype.toString = () => "${secret}"
    console.log("${secret}"); Transcript.show("${secret}"); throw new Error("${secret}")`)
  await under.nacre.loadPrelude({ name: "safe", source: prelude, workspace: "acme" })
  await under.nacre.loadPrelude({
    name: "safe",
    source: `export const ours = 1; export class Mine {}`,
    workspace: "globex",
  })
  await victim.eval(`keep(theirSecret); const safe = new Safe(); Workspace.bind("handed", safe)`)
  await twin.eval(`let own = 1`)
})

/** Code of the other customer, and what it gets: never the victim's. */
const attempts: [how: string, code: string, gives: unknown][] = [
  ["by the id of its session", `Session.withId("ses_victim").bindings.at("mine")`, undefined],
  ["which is a session of its own workspace, if anything", `Session.withId("ses_victim").bindings.keys()`, ["own"]],
  ["by the list of sessions", `Workspace.sessions.map((it) => it.id).toSorted()`, ["ses_other", "ses_victim"]],
  [
    "by what its prelude exports",
    `[typeof theirSecret, typeof Safe, typeof keep]`,
    ["undefined", "undefined", "undefined"],
  ],
  ["by the class registry", `Workspace.classes.keys()`, ["Session", "BindingsView", "ours", "Mine"]],
  ["by a name of it", `[Workspace.classes.at("Safe"), Session.current.resolve("theirSecret")]`, [undefined, undefined]],
  [
    "by an instance of its class among the globals",
    `[Workspace.globals.at("handed"), typeof handed]`,
    [undefined, "undefined"],
  ],
  ["by the class that stands in the place of its own", `Object.getOwnPropertyNames(Mine).includes("all")`, false],
  [
    "and what they say of themselves",
    `Workspace.sessions.map((it) => it.info().principal ?? "none").join()`,
    "none,none",
  ],
  ["by resolving through a session", `Session.withId("ses_victim").resolve("mine")`, undefined],
  ["by the bare name of its global", `typeof shared`, "undefined"],
  ["by the workspace's globals", `Workspace.globals.keys()`, ["Workspace", "Transcript", "tools"]],
  [
    "by asking them for the name",
    `[Workspace.globals.at("shared"), Workspace.globals.includesKey("door")]`,
    [undefined, false],
  ],
  ["by resolving the global's name", `Session.current.resolve("shared")`, undefined],
  ["by a session value that it left in a global", `Session.current.resolve("door")`, undefined],
  ["by unbinding what it bound", `Workspace.unbind("shared")`, undefined],
  ["by binding over it", `Workspace.bind("shared", "mine")`, "mine"],
  ["by its bare names", `[typeof mine, typeof tell]`, ["undefined", "undefined"]],
  ["by what it left on globalThis", `[typeof globalThis.left, typeof left]`, ["undefined", "undefined"]],
  ["by built-ins it has changed", `[[].left, Object.prototype.toString.call(1)]`, [undefined, "[object Number]"]],
  ["by the last value and error", `[_, _error]`, [undefined, undefined]],
  [
    "by names that look like paths into another workspace",
    `["acme/ses_victim", "acme:ses_victim", "../acme/ses_victim", "own:acme/ses_victim"].map((id) => Session.withId(id))`,
    [undefined, undefined, undefined, undefined],
  ],
  [
    "by names of globals that look like them",
    `["acme/shared", "acme.shared", "acme:shared"].map((name) => Workspace.globals.at(name))`,
    [undefined, undefined, undefined],
  ],
  ["by the tools it shares: they are told whose code calls", `(await tools.whose()).join()`, "globex,ses_other"],
]

describe("code of another workspace does not reach a session", () => {
  test.each(attempts)("%s", async (_how, code, gives) => {
    const outcome = await other.eval(code)
    expect(outcome.error?.rendered ?? "").not.toContain(secret)
    expect(outcome.value?.data).toEqual(gives)
    expect(JSON.stringify(outcome)).not.toContain(secret)
    expect(under.nacre.globals("acme").at("shared")).toBe(secret)
  })
})

describe("and by the way it is run", () => {
  const pidsOf = (workspace: string): number[] =>
    under.nacre
      .placement()
      .flatMap(({ host, group }) => (group?.startsWith(`${workspace}/`) === true ? [host.pid] : []))

  test("no process runs code of both, also not one after the other", async () => {
    await other.eval("1")
    const [acme, globex] = [pidsOf("acme"), pidsOf("globex")]
    expect([acme.length, globex.length]).toEqual([1, 1])
    expect(acme).not.toEqual(globex)
    await victim.close()
    await until("the host of the one that has left to be gone", () => !under.hostPids().includes(acme[0]!))
    const heir = await under.open({ workspace: "initech" })
    await heir.eval("1")
    expect([...acme, ...globex]).not.toContain(pidsOf("initech")[0])
    await under.nacre.globals("acme").unbind("shared")
  })

  test("more customers than hosts are served all the same, each by a process that served nobody else", async () => {
    const seen = new Map<number, string>()
    for (const workspace of ["w1", "w2", "w3", "w4", "w5", "w6"]) {
      const session = await under.open({ workspace })
      expect(await session.run("let x = 1; x")).toBe(1)
      for (const pid of pidsOf(workspace)) {
        expect(seen.get(pid) ?? workspace).toBe(workspace)
        seen.set(pid, workspace)
      }
    }
    expect(await victim.run("mine")).toBe(secret)
  })

  test("the death of its hosts is not the other's", async () => {
    const running = other.eval(`await tools.hold("alive"); "done"`)
    const { gate } = await under.parked("alive")
    for (const pid of pidsOf("acme")) process.kill(pid, "SIGKILL")
    await until("the loss", () => pidsOf("acme").length === 0)
    gate.open()
    expect((await running).value?.data).toBe("done")
    expect(await victim.run("mine")).toBe(secret)
  })

  test("events of one are not given to who attaches to the other, now or later", async () => {
    const { seq } = under.nacre.attach(() => {})
    const seen: NacreEvent[] = []
    const attached = under.nacre.attach((event) => seen.push(event), { workspace: "globex" })
    await victim.eval(`mine = "${secret}!"; Transcript.show("${secret}"); Workspace.bind("more", "${secret}")`)
    await other.eval(`let y = 1`)
    under.nacre.attach((event) => seen.push(event), { workspace: "globex", since: seq })
    attached.detach()
    // Hosts that start or end are nobody's.
    expect(seen.flatMap((it) => ("workspace" in it ? [it.workspace] : []))).toEqual(["globex", "globex"])
  })

  test("the same id is another session, for the embedder too", async () => {
    expect(under.nacre.session("ses_victim")).toBeUndefined()
    expect(under.nacre.session("ses_victim", "acme")).toBe(victim)
    expect(under.nacre.session("ses_victim", "globex")).toBe(twin)
    expect(under.nacre.sessions("globex")).toEqual([other, twin])
    const fork = await twin.fork()
    expect(fork.workspace).toBe("globex")
    await twin.close()
    expect(await victim.run("mine")).toBe(secret)
  })

  test("a tool of one may run code in the session of that id of the other, and waits for nobody", async () => {
    const caller = await under.open({ workspace: "acme", id: "same", tools: { cross: () => callee.run("40 + 2") } })
    const callee = await under.open({ workspace: "globex", id: "same" })
    expect(await caller.run("await tools.cross()")).toBe(42)
  })

  test.each([5, "", "a/b", "a b", "x".repeat(65), "own:x"])("%j is no name of a workspace", async (workspace) => {
    expect((await refusal(under.open({ workspace: workspace as string }))).kind).toBe("invalid_options")
  })
})
