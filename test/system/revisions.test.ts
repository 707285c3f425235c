// Changes of definitions as data files say: `test/conformance/revisions/`. Each case runs as it stands, and again with the realm evicted
// after each step, so that one is built from the committed state before the next.
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inspect } from "node:util"
import { expect, test } from "vitest"
import type {
  CandidateEvalOptions,
  Committed,
  OpenOptions,
  Outcome,
  Proposed,
  Rejected,
  Session,
  SubmittedChange,
} from "nacre"
import { useNacre } from "./nacre-under-test.ts"

interface Step {
  eval?: string
  submit?: string | SubmittedChange
  propose?: string | SubmittedChange
  /** Evaluates `code` as if that candidate were in force. */
  try?: string
  code?: string
  tools?: boolean
  commit?: string
  rebase?: boolean
  abandon?: string
  restore?: number
  /** Exports that revision and imports it into a fresh session, with which the case goes on. */
  import?: number
  reset?: boolean
  wrap?: { name: string; key: string; source: string }
  unwrap?: { name: string; key?: string }
  call?: { name: string; args?: unknown[]; revision?: number; pin?: string; atomic?: boolean }
  /** A call of the value that is retained under a word. */
  callValue?: string
  args?: unknown[]
  /** Of an eval or a call: the word that its result is retained under. */
  retain?: string
  releaseValue?: string
  /** Holds a revision, or with `true` the present one, under the word in `as`. */
  pin?: number | true
  releasePin?: string
  /** An eval that is left under way once it has called `tools.hold` of that name, and let go on. */
  start?: string
  startCall?: { name: string; args?: unknown[]; revision?: number }
  until?: string
  release?: string
  of?: string
  as?: string
  /** Files that are written into the session's folder, by name. */
  write?: Record<string, string>
  // Expected
  value?: string
  throws?: string
  changed?: string[]
  removed?: string[]
  reinstantiated?: string[]
  lostData?: string[]
  stale?: string[]
  rejected?: string
  keys?: string[]
  line?: number
  /** The definition that the first diagnostic lies in. */
  at?: string
  /** The first one's message says this. */
  says?: string
  schemes?: Record<string, string>
  revision?: number
  /** Equal wherever the same word stands. */
  digest?: string
  fails?: string
  overtaken?: string[]
  wrapped?: string[]
  unwrapped?: string[]
  unlessRebuilt?: boolean
  /** What the outcome lists. */
  committed?: string[]
  abandoned?: string[]
}

interface Case {
  title: string
  /** Default "syntax": most cases are about what the checker does not look at. */
  check?: "types"
  /** Default "standard". One of `full` has a folder of its own. */
  profile?: "full"
  steps: Step[]
}

const folder = join(import.meta.dirname, "../conformance/revisions")
const files = readdirSync(folder).map((file) => ({
  file,
  cases: JSON.parse(readFileSync(join(folder, file), "utf8")) as Case[],
}))

const it = useNacre({
  hosts: { min: 1, max: 1, threadsPerHostMax: 1 },
  limits: { changeTimeoutMs: 2_000, residentsPerWorkerMax: 1 },
})

class Run {
  session: Session
  readonly candidates = new Map<string, string>()
  readonly digests = new Map<string, string>()
  /** Handles of retained values, and ids of pins, by their words. */
  readonly handles = new Map<string, string>()
  readonly started = new Map<string, Promise<Outcome>>()
  readonly neighbour: Session | undefined

  constructor(session: Session, neighbour: Session | undefined) {
    this.session = session
    this.neighbour = neighbour
  }

  get evicts(): boolean {
    return this.neighbour !== undefined
  }

  async step(step: Step): Promise<void> {
    if (step.unlessRebuilt === true && this.evicts) return
    const what = JSON.stringify(step)
    if (step.fails !== undefined) {
      await expect(this.refused(step), what).rejects.toMatchObject({ kind: step.fails })
      return
    }
    if (step.start !== undefined || step.startCall !== undefined) {
      const { start, startCall } = step
      const { session } = this
      this.started.set(step.as!, start === undefined ? session.callBinding(startCall!) : session.eval(start))
      await it.parked(step.until!)
    } else if (step.release !== undefined) {
      it.held.get(step.release)!.gate.open()
      this.outcome(await this.started.get(step.of!)!, step)
      this.started.delete(step.of!)
    } else if (step.eval !== undefined)
      this.outcome(await this.session.eval(step.eval, { retainValues: step.retain !== undefined }), step)
    else if (step.call !== undefined || step.callValue !== undefined) this.outcome(await this.called(step), step)
    else if (step.try !== undefined) {
      const options: CandidateEvalOptions = step.tools === undefined ? {} : { tools: step.tools }
      this.outcome(await this.session.evaluateCandidate(this.candidates.get(step.try)!, step.code!, options), step)
    } else if (step.pin !== undefined) {
      const pin = await this.session.pinRevision(step.pin === true ? undefined : step.pin)
      this.handles.set(step.as!, pin.id)
    } else if (step.releasePin !== undefined) await this.session.releasePin(this.handles.get(step.releasePin)!)
    else if (step.releaseValue !== undefined) await this.session.releaseValue(this.handles.get(step.releaseValue)!)
    else if (step.write !== undefined) {
      for (const [name, text] of Object.entries(step.write)) writeFileSync(join(this.session.directory, name), text)
    } else if (step.reset === true) await this.session.reset()
    else if (step.abandon !== undefined)
      expect(await this.session.abandonChange(this.candidates.get(step.abandon)!), what).toBe(true)
    else if (step.propose !== undefined) this.proposed(await this.session.proposeChange(changeOf(step.propose)), step)
    else this.changed(await this.change(step), step)
    if (step.revision !== undefined) expect(this.session.revision.number, what).toBe(step.revision)
    if (step.digest !== undefined) {
      const { digest } = this.session.revision
      expect(digest, what).toBe(this.digests.get(step.digest) ?? digest)
      this.digests.set(step.digest, digest)
    }
    if (!this.evicts || this.started.size > 0) return
    // A worker here has room for one realm.
    await this.neighbour!.eval("1")
    expect(this.session.isResident, what).toBe(false)
  }

  called({ call, callValue, args = [], retain }: Step): Promise<Outcome> {
    const retainValues = retain !== undefined
    if (callValue !== undefined)
      return this.session.callValue({ value: this.handles.get(callValue) ?? callValue, args, retainValues })
    const { pin, ...rest } = call!
    if (pin === undefined) return this.session.callBinding({ ...rest, retainValues })
    return this.session.callBinding({ ...rest, retainValues, pin: this.handles.get(pin) ?? pin })
  }

  refused(step: Step): Promise<unknown> {
    if (step.commit !== undefined) return this.session.commitChange(this.candidates.get(step.commit)!)
    if (step.releaseValue !== undefined) return this.session.releaseValue(this.handles.get(step.releaseValue)!)
    if (step.releasePin !== undefined) return this.session.releasePin(this.handles.get(step.releasePin)!)
    return this.called(step)
  }

  async change(step: Step): Promise<(Committed & { outcome?: Outcome }) | Rejected> {
    if (step.submit !== undefined) return this.session.submit(step.submit)
    if (step.wrap !== undefined) return this.session.wrapBinding(step.wrap)
    if (step.unwrap !== undefined) return this.session.unwrapBinding(step.unwrap)
    if (step.restore !== undefined) return this.session.restoreRevision(step.restore)
    if (step.import !== undefined) {
      const exported = JSON.parse(JSON.stringify(this.session.exportRevision(step.import))) as ReturnType<
        Session["exportRevision"]
      >
      this.session = await it.open({ check: this.session.facts.check ?? "syntax" })
      return this.session.importRevision(exported)
    }
    return this.session.commitChange(this.candidates.get(step.commit!)!, { rebase: step.rebase ?? false })
  }

  proposed(result: Proposed | Rejected, step: Step): void {
    const what = JSON.stringify([step, result])
    expect(result.status, what).toBe(step.rejected === undefined ? "proposed" : "rejected")
    if (result.status === "rejected") return
    this.candidates.set(step.as!, result.candidate)
    if (step.changed !== undefined) expect(result.changed.toSorted(), what).toEqual(step.changed.toSorted())
    if (step.reinstantiated !== undefined)
      expect(result.reinstantiated.toSorted(), what).toEqual(step.reinstantiated.toSorted())
  }

  changed(result: (Committed & { outcome?: Outcome }) | Rejected, step: Step): void {
    const what = JSON.stringify([step, result])
    if (result.status === "rejected") {
      const { kind, keys, diagnostics } = result.rejection
      expect(kind, what).toBe(step.rejected)
      if (step.keys !== undefined) expect(keys?.toSorted(), what).toEqual(step.keys)
      if (step.line !== undefined) expect(diagnostics[0]?.line, what).toBe(step.line)
      if (step.says !== undefined) expect(diagnostics[0]?.message, what).toContain(step.says)
      if (step.at !== undefined) expect(diagnostics[0]?.key, what).toBe(step.at)
      return
    }
    expect(step.rejected, what).toBeUndefined()
    const { record, outcome } = result
    const keysOf = (op: string): string[] =>
      (record?.changes ?? []).filter((change) => change.op === op).map(({ key }) => key)
    if (step.changed !== undefined) expect(keysOf("set").toSorted(), what).toEqual(step.changed.toSorted())
    if (step.removed !== undefined) expect(keysOf("remove").toSorted(), what).toEqual(step.removed.toSorted())
    const wrapperKeysOf = (op: string): (string | undefined)[] =>
      (record?.changes ?? []).filter((change) => change.op === op).map(({ wrapper }) => wrapper)
    if (step.wrapped !== undefined) expect(wrapperKeysOf("wrap"), what).toEqual(step.wrapped)
    if (step.unwrapped !== undefined) expect(wrapperKeysOf("unwrap"), what).toEqual(step.unwrapped)
    for (const list of ["reinstantiated", "lostData", "stale"] as const) {
      if (step[list] !== undefined) expect(record?.[list].toSorted(), what).toEqual(step[list].toSorted())
    }
    if (record !== undefined)
      expect(record, what).toMatchObject({ revision: result.revision, parent: result.revision - 1 })
    if (step.value !== undefined || step.throws !== undefined) this.outcome(outcome!, step)
  }

  outcome(outcome: Outcome, step: Step): void {
    const what = inspect([step, outcome], { depth: 6 })
    expect(outcome.status, what).toBe(step.throws === undefined ? "ok" : "threw")
    const text = outcome.value?.text.replaceAll(this.session.id, "…").replace(/\s+/g, " ")
    if (step.value !== undefined) expect(text, what).toBe(step.value)
    const message = outcome.error?.message.replace(/ evl_[\w-]+/g, "")
    if (step.throws !== undefined) expect(message, what).toBe(step.throws)
    if (step.committed !== undefined) expect(outcome.committed.set, what).toEqual(step.committed)
    if (step.abandoned !== undefined) {
      expect(
        outcome.abandoned.map(({ kind }) => kind),
        what,
      ).toEqual(step.abandoned)
    }
    if (step.retain !== undefined && outcome.value?.handle !== undefined)
      this.handles.set(step.retain, outcome.value.handle)
    const overtaken = outcome.rejected.filter(({ kind }) => kind === "stale_parent").map(({ key }) => key)
    expect(overtaken, what).toEqual(step.overtaken ?? [])
  }
}

function changeOf(change: string | SubmittedChange): SubmittedChange {
  return typeof change === "string" ? { source: change } : change
}

for (const { file, cases } of files) {
  for (const { title, check = "syntax", profile = "standard", steps } of cases) {
    for (const evicts of [false, true]) {
      test(`${file}: ${title}${evicts ? ", with a rebuild after each step" : ""}`, async () => {
        const directory = profile === "full" ? mkdtempSync(join(tmpdir(), "nacre-revisions-")) : undefined
        const options: OpenOptions = directory === undefined ? {} : { profile, directory }
        try {
          const run = new Run(await it.open({ check, ...options }), evicts ? await it.open(options) : undefined)
          for (const step of steps) await run.step(step)
        } finally {
          if (directory !== undefined) rmSync(directory, { recursive: true })
        }
      })
    }
  }
}

test("a revision that does not exist is refused by its number", async () => {
  const session = await it.open()
  await session.submit("const a = 1")
  await expect(session.restoreRevision(2)).rejects.toMatchObject({ kind: "revision_not_found" })
  await expect(session.restoreRevision(-1)).rejects.toMatchObject({ kind: "revision_not_found" })
  expect(() => session.exportRevision(7)).toThrow(/has no revision 7/)
})

test("an unknown candidate is refused, and so is one too many", async () => {
  const session = await it.open()
  await expect(session.commitChange("chg_none")).rejects.toMatchObject({ kind: "candidate_not_found" })
  const { candidatesMax } = it.nacre.limits
  for (let index = 0; index < candidatesMax; index++) await session.proposeChange({ source: `const a = ${index}` })
  await expect(session.proposeChange({ source: "const a = 1" })).rejects.toMatchObject({ kind: "queue_full" })
})

test.each([
  [5, /an object/],
  [{ sauce: "" }, /sauce/],
  [{ source: 5 }, /source/],
  [{ remove: "a" }, /remove/],
  [{ parent: 1.5 }, /parent/],
  [{ onDataLoss: "ignore" }, /onDataLoss/],
  [{ line: 0 }, /line/],
])("a change %j is refused by name", async (change, message) => {
  const session = await it.open()
  await expect(session.proposeChange(change as SubmittedChange)).rejects.toMatchObject({
    kind: "invalid_options",
    message: expect.stringMatching(message) as string,
  })
})

test("a definition that an eval declares notes everything it uses: data, locals, and what they become", async () => {
  const session = await it.open({ check: "syntax" })
  await session.submit("const list = [1, 2]")
  await session.eval("let rate = 2; function total() { return list.length * rate }")
  const rejected = (await session.submit({ remove: ["list"] })) as Rejected
  expect(rejected.rejection).toMatchObject({ kind: "definition_has_dependents", keys: ["total"] })
  // A local that becomes a definition is one that others use already.
  expect((await session.submit("const rate = 10")).status).toBe("committed")
  expect(await session.run("total()")).toBe(20)
  expect(((await session.submit({ remove: ["rate"] })) as Rejected).rejection.keys).toEqual(["total"])
  expect((await session.submit("const sum = total()")).status).toBe("committed")
  expect(await session.submit("const list = [1, 2, 3]")).toMatchObject({ record: { reinstantiated: ["total", "sum"] } })
  expect(await session.run("sum")).toBe(30)
})

test.each([
  ["on its line", `/* one */ export function f() { return missing.x }`, { line: 1, column: 40 }],
  ["on a line of its own", `// one\nexport function f() { return missing.x }`, { line: 2, column: 30 }],
  [
    "of several declarations",
    `// one\nexport function f(a: string): void\nexport function f(a?: any) { return missing.x }`,
    { line: 3, column: 37 },
  ],
])("an exported declaration with a comment %s has the positions of the submission", async (_, source, place) => {
  const session = await it.open({ check: "syntax" })
  await session.submit({ source, file: "here.ts" })
  for (const again of [false, true]) {
    if (again) await it.killHosts()
    const { error } = await session.eval("f()")
    expect(error!.stack[0]).toMatchObject({ name: "f", file: "here.ts", ...place })
  }
  const checked = await it.open()
  const { rejection } = (await checked.submit({ source, file: "here.ts" })) as Rejected
  expect(rejection.diagnostics[0]).toMatchObject({ key: "f", file: "here.ts", ...place })
})

test("a record whose member was wrapped since, and so is data, is there again with it in a new realm", async () => {
  const session = await it.open({ check: "syntax" })
  await session.submit(
    "const both = { v: f, g: () => 5 }\nfunction f(n: number): number { return n }\nconst kept = [] as unknown[]",
  )
  await session.eval("kept.push(both.g)")
  await session.wrapBinding({ name: "f", key: "k", source: "(inner) => (n) => inner(n) + 1" })
  const code = "[both.v(1), both.v === f, both.g(), kept[0]()]"
  expect(await session.run(code)).toEqual([2, true, 5, 5])
  await it.killHosts()
  const outcome = await session.eval(code)
  expect(outcome).toMatchObject({ status: "ok", lost: [], value: { data: [2, true, 5, 5] } })
})

test("what a record holds is made again with an eval, whatever the order of the submission", async () => {
  for (const source of [
    "const both = { v: f }\nconst f = (n: number): number => g(n)\nfunction g(n: number) { return n }",
    "function g(n: number) { return n }\nconst f = (n: number): number => g(n)\nconst both = { v: f }",
  ]) {
    const session = await it.open({ check: "syntax" })
    await session.submit(source)
    await session.eval("function g(n: number) { return n * 10 }")
    expect(await session.run("[both.v(1), both.v === f]")).toEqual([10, true])
  }
})

test("a class that extends a function, which makes a subclass of that class, is made before the subclass", async () => {
  const session = await it.open({ check: "syntax" })
  await session.submit("class E {}\nclass F extends E { m() { return 1 } }")
  const result = await session.submit("class E extends d {}\nfunction d(): any { if (!new.target) return new F() }")
  expect(result).toMatchObject({ status: "committed" })
  expect(await session.run("d().m()")).toBe(1)
})

test("data that a change only writes anew, beside what it makes, has not changed", async () => {
  const session = await it.open({ check: "syntax" })
  await session.submit("class E { m() { return 1 } }\nclass F extends E {}")
  const wrap = (name: string) =>
    session.wrapBinding({ name, key: "k", source: "(inner: any) => class extends inner {}" })
  await wrap("E")
  // It holds the other, so both are one group now.
  await wrap("F")
  const changed = await session.submit("class E { m() { return 2 } }")
  expect(changed).toMatchObject({ status: "committed", record: { lostData: [] } })
  expect(await session.run("new F().m()")).toBe(2)
})
