// Changes of definitions as data files say: `test/conformance/revisions/`. Each case runs as it stands, and again with the realm evicted
// after each step, so that one is built from the committed state before the next.
import { readFileSync, readdirSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import type { Committed, Outcome, Proposed, Rejected, Session, SubmittedChange } from "nacre"
import { useNacre } from "./nacre-under-test.ts"

interface Step {
  eval?: string
  submit?: string | SubmittedChange
  propose?: string | SubmittedChange
  commit?: string
  rebase?: boolean
  abandon?: string
  restore?: number
  /** Exports that revision and imports it into a fresh session, with which the case goes on. */
  import?: number
  reset?: boolean
  wrap?: { name: string; key: string; source: string }
  unwrap?: { name: string; key?: string }
  call?: { name: string; args?: unknown[] }
  /** An eval that is left under way once it has called `tools.hold` of that name, and let go on. */
  start?: string
  until?: string
  release?: string
  of?: string
  as?: string
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
}

interface Case {
  title: string
  /** Default "syntax": most cases are about what the checker does not look at. */
  check?: "types"
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
      await expect(this.session.commitChange(this.candidates.get(step.commit!)!), what).rejects.toMatchObject({
        kind: step.fails,
      })
      return
    }
    if (step.start !== undefined) {
      this.started.set(step.as!, this.session.eval(step.start))
      await it.parked(step.until!)
    } else if (step.release !== undefined) {
      it.held.get(step.release)!.gate.open()
      this.outcome(await this.started.get(step.of!)!, step)
      this.started.delete(step.of!)
    } else if (step.eval !== undefined) this.outcome(await this.session.eval(step.eval), step)
    else if (step.call !== undefined) this.outcome(await this.session.callBinding(step.call), step)
    else if (step.reset === true) await this.session.reset()
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
    const what = JSON.stringify([step, outcome])
    expect(outcome.status, what).toBe(step.throws === undefined ? "ok" : "threw")
    if (step.value !== undefined) expect(outcome.value?.text.replace(/\s+/g, " "), what).toBe(step.value)
    if (step.throws !== undefined) expect(outcome.error?.message, what).toBe(step.throws)
    const overtaken = outcome.rejected.filter(({ kind }) => kind === "stale_parent").map(({ key }) => key)
    expect(overtaken, what).toEqual(step.overtaken ?? [])
  }
}

function changeOf(change: string | SubmittedChange): SubmittedChange {
  return typeof change === "string" ? { source: change } : change
}

for (const { file, cases } of files) {
  for (const { title, check = "syntax", steps } of cases) {
    for (const evicts of [false, true]) {
      test(`${file}: ${title}${evicts ? ", with a rebuild after each step" : ""}`, async () => {
        const run = new Run(await it.open({ check }), evicts ? await it.open() : undefined)
        for (const step of steps) await run.step(step)
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
