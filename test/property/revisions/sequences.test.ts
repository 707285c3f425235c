// Random sequences of what can be done with a session's definitions, beside a naive model that evaluates the whole module anew each time
// (`naive-model.ts`). After each step they agree on the values of all names, on what was rejected and for which keys, on the whole history, and on
// digests: equal where the model's sets say the same, and nowhere else.
//
// Steps: submit (one to three declarations, with removals, statements, a stale parent, data loss accepted or not), propose, commit with and
// without rebase, abandon, wrap, unwrap, restore, export and import into a fresh session, evals that assign locals, throw, change data, declare
// code or take a definition's name for a local; eviction and kill -9 between steps.
// Declarations (`declarations.ts`): functions and arrows that call each other, also in circles; overloads; classes with inheritance; records of functions;
// data that runs code when it is made; lists that evals change; enums; namespaces; merged declarations; types and interfaces; and what
// cannot be made (calls out, reads of locals, changes of other data, throws). Each in several layouts.
//
// `NACRE_SEED` chooses the sequences and `NACRE_RUNS` how many there are; the seed is in the test's name.
import fc from "fast-check"
import { afterAll, expect, test } from "vitest"
import type { Committed, ExportedRevision, Outcome, Proposed, Rejected, Session, SubmittedChange } from "nacre"
import { useNacre } from "../../system/nacre-under-test.ts"
import { codeForms, declare, forms, layoutCount, wrapper, wrapperCount } from "./declarations.ts"
import { isKept, isValue, isWrappable, meaningOf, NaiveModel } from "./naive-model.ts"
import type { Definition, Verdict, Wanted } from "./naive-model.ts"

const isCi = process.env["CI"] !== undefined
const seed = Number(process.env["NACRE_SEED"] ?? 1)
/** 110 take some 40 seconds. */
const numRuns = Number(process.env["NACRE_RUNS"] ?? (isCi ? 110 : 20))

const moduleNames = ["a", "b", "c", "d", "E", "F"] as const
const localNames = ["x", "y"] as const

interface Written {
  form: string
  own: string
  p: string
  q: string
  n: number
  layout: number
}

type Step =
  | {
      step: "submit" | "propose"
      declares: Written[]
      removes: string[]
      runs: boolean
      isStale: boolean
      losesData: boolean
    }
  | { step: "commit"; at: number; rebase: boolean }
  | { step: "abandon"; at: number }
  | { step: "wrap"; name: string; key: string; form: number; p: string; n: number }
  | { step: "unwrap"; name: string; key: string | undefined }
  | { step: "restore" | "import"; at: number; losesData: boolean }
  | { step: "assign"; name: string; n: number; throws: boolean }
  | { step: "push"; name: string; n: number }
  | { step: "declare"; declares: Written }
  | { step: "shadow"; name: string; n: number }
  | { step: "evict" | "kill" | "garbage" }

const name = fc.constantFrom(...moduleNames)
const used = fc.constantFrom(...moduleNames, ...moduleNames, ...localNames)
const n = fc.nat({ max: 4 })
const harmless = Object.keys(forms).filter((form) => !["loud", "throwing", "changing"].includes(form))
const declarations = fc.record({
  form: fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom(...harmless) },
    { weight: 1, arbitrary: fc.constantFrom(...Object.keys(forms)) },
  ),
  own: name,
  p: used,
  q: used,
  n,
  layout: fc.nat({ max: layoutCount - 1 }),
})
const change = <S extends "submit" | "propose">(step: S) =>
  fc.record({
    step: fc.constant(step),
    declares: fc.uniqueArray(declarations, { selector: ({ own }) => own, minLength: 1, maxLength: 3 }),
    removes: fc.oneof(
      { weight: 4, arbitrary: fc.constant<string[]>([]) },
      { weight: 1, arbitrary: fc.uniqueArray(name, { maxLength: 2 }) },
    ),
    runs: fc.boolean(),
    isStale: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
    losesData: fc.boolean(),
  })
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 12, arbitrary: change("submit") },
  { weight: 4, arbitrary: change("propose") },
  {
    weight: 9,
    arbitrary: fc.record({ step: fc.constant("commit" as const), at: fc.nat({ max: 2 }), rebase: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ step: fc.constant("abandon" as const), at: fc.nat({ max: 2 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      step: fc.constant("wrap" as const),
      name,
      key: fc.constantFrom("k", "l"),
      form: fc.nat({ max: wrapperCount - 1 }),
      p: used,
      n,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ step: fc.constant("unwrap" as const), name, key: fc.constantFrom("k", "l", undefined) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ step: fc.constant("restore" as const), at: fc.nat({ max: 30 }), losesData: fc.boolean() }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      step: fc.constant("import" as const),
      at: fc.nat({ max: 30 }),
      losesData: fc.constant(false),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      step: fc.constant("assign" as const),
      name: fc.constantFrom(...localNames),
      n,
      throws: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: fc.record({ step: fc.constant("push" as const), name, n }) },
  { weight: 3, arbitrary: fc.record({ step: fc.constant("declare" as const), declares: declarations }) },
  { weight: 1, arbitrary: fc.record({ step: fc.constant("shadow" as const), name, n }) },
  { weight: 6, arbitrary: fc.record({ step: fc.constant("evict" as const) }) },
  { weight: 1, arbitrary: fc.record({ step: fc.constantFrom("kill" as const, "garbage" as const) }) },
)

const submitted = (...declares: [form: string, own: string, p: string, q: string, n: number][]): Step => ({
  step: "submit",
  declares: declares.map(([form, own, p, q, value]) => ({ form, own, p, q, n: value, layout: 0 })),
  removes: [],
  runs: false,
  isStale: false,
  losesData: false,
})
/** What a session has at first. */
const starts: readonly (readonly Step[])[] = [
  [],
  [
    submitted(["function", "a", "b", "b", 1], ["overloads", "b", "a", "a", 2], ["list", "c", "a", "a", 3]),
    submitted(["class", "E", "a", "a", 1], ["subclass", "F", "E", "E", 2], ["record", "d", "c", "a", 3]),
  ],
  [
    submitted(["arrow", "a", "b", "a", 1], ["function", "b", "x", "x", 2], ["listOfCalls", "c", "a", "a", 3]),
    submitted(["called", "d", "b", "b", 1], ["namespace", "E", "a", "a", 2], ["enum", "F", "a", "a", 3]),
    { step: "wrap", name: "b", key: "k", form: 0, p: "x", n: 1 },
  ],
  [
    submitted(["record", "a", "b", "c", 1], ["arrow", "b", "c", "c", 2], ["merged", "c", "x", "x", 3]),
    submitted(["mergedClass", "E", "b", "b", 1], ["interfaces", "F", "E", "a", 2], ["list", "d", "b", "b", 3]),
  ],
]

/** Shows the names of a session: calls what can be called, and looks into what can be. */
const probe = `JSON.stringify((() => {
  const see = (v, depth) => {
    try {
      if (typeof v === "function") {
        const called = v.toString().startsWith("class") ? new v().m(2) : v(2)
        const own = Object.keys(v).sort().map((key) => [key, see(v[key], depth - 1)])
        return [v.name, typeof called === "function" ? "function" : String(called), ...own]
      }
      if (typeof v !== "object" || v === null) return v === undefined ? "undefined" : v
      if (depth === 0) return "..."
      return Object.keys(v).sort().map((key) => [key, see(v[key], depth - 1)])
    } catch (error) {
      // The engine names the class or not by how it came about.
      return error.name + ": " + error.message.replace(/Class constructor.* cannot/, "Class constructor cannot")
    }
  }
  return [${[...moduleNames, ...localNames].map((it) => `typeof ${it} === "undefined" ? "free" : see(${it}, 2)`).join(", ")}]
})())`

/** How often each kind of step and each rejection came up. */
const counts = new Map<string, number>()
const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1)

const under = useNacre({ hosts: { min: 1, max: 1, threadsPerHostMax: 1 }, limits: { residentsPerWorkerMax: 1 } })
/** Digests by what the sets say, and the other way. */
const digests = new Map<string, string>()
const meanings = new Map<string, string>()

interface Candidate {
  readonly id: string
  readonly wanted: (model: NaiveModel) => Wanted
  readonly parent: number
  readonly restsOn: ReadonlySet<string>
  readonly runs: string | undefined
}

class Sequence {
  readonly #trace: string[] = []
  #session: Session
  readonly #neighbours: readonly Session[]
  #model = new NaiveModel()
  #candidates: Candidate[] = []

  constructor(session: Session, neighbours: readonly Session[]) {
    this.#session = session
    this.#neighbours = neighbours
  }

  async run(steps: readonly Step[]): Promise<void> {
    try {
      for (const each of steps) {
        await this.#step(each)
        await this.#compare()
      }
    } finally {
      await this.#session.close()
    }
  }

  async #step(each: Step): Promise<void> {
    const { step: kind } = each
    switch (kind) {
      case "submit":
        return this.#submit(each)
      case "propose":
        return this.#propose(each)
      case "commit":
        return this.#commit(each)
      case "abandon": {
        const [candidate] = this.#candidates.splice(each.at % (this.#candidates.length || 1), 1)
        if (candidate === undefined) return
        this.#note("abandon", candidate.id)
        expect(await this.#session.abandonChange(candidate.id)).toBe(true)
        return
      }
      case "wrap":
        return this.#wrap(each)
      case "unwrap":
        return this.#unwrap(each)
      case "restore":
        return this.#restore(each)
      case "import":
        return this.#import(each)
      case "assign": {
        const { name: local, n: value, throws } = each
        if (this.#model.isHeldByData(local)) return
        this.#model.locals.set(local, value)
        const code = `${local} = ${value}${throws ? '; throw new Error("stop")' : ""}`
        await this.#eval(throws ? "assign and throw" : "assign", code, throws ? "threw" : "ok")
        return
      }
      case "push": {
        const list = this.#pick(each.name, (it) => it.isList && isKept(it))
        const definition = this.#model.definitions.get(list)
        if (definition?.isList !== true || !isKept(definition)) return
        this.#model.push(list, each.n)
        await this.#eval("push", `${list}.push(${each.n})`, "ok")
        return
      }
      case "declare": {
        const { form, own, p } = each.declares
        if (!codeForms.has(form) || this.#model.isKeptByData(own) || this.#model.locals.has(own)) return
        if (
          form === "subclass" &&
          (p === own || !this.#model.isCode(p) || this.#model.definitions.get(p)!.kind !== "class")
        )
          return
        const declared = declareOf(each.declares)
        const isHeld = [...this.#model.definitions.values()].some(({ holds }) => holds.includes(own))
        if (declared.expression === "" && isHeld) return
        // A class that extends it is made again, which needs something to extend: the eval throws otherwise.
        const isExtended = [...this.#model.definitions.values()].some(
          (it) => it.kind === "class" && it.holds.includes(own),
        )
        if (isExtended && declared.kind !== "class" && declared.kind !== "function") return
        this.#model.declareInEval(declared)
        await this.#eval("declare", declared.source, "ok")
        return
      }
      case "shadow": {
        const isHeld = [...this.#model.definitions.values()].some(({ holds }) => holds.includes(each.name))
        if (!this.#model.definitions.has(each.name) || isHeld || this.#model.isKeptByData(each.name)) return
        this.#model.declareLocal(each.name, each.n)
        await this.#eval("shadow", `let ${each.name} = ${each.n}`, "ok")
        return
      }
      case "evict":
        // Each takes the place of whoever is in a host; after a kill there may be two.
        await Promise.all(this.#neighbours.map((neighbour) => neighbour.eval("1")))
        this.#note(this.#session.isResident ? "not evicted" : "evict", "")
        return
      case "kill":
        this.#note("kill", "")
        return under.killHosts()
      case "garbage": {
        const result = await this.#session.submit("const a = (")
        this.#note("garbage", "const a = (")
        this.#expect(result, { status: "rejected", kinds: new Set(["invalid"]) })
      }
    }
  }

  async #submit({
    declares,
    removes,
    runs,
    isStale,
    losesData,
  }: Extract<Step, { step: "submit" | "propose" }>): Promise<void> {
    const written = declares.map(declareOf)
    const statement = `x = ${declares.length}`
    const submission: SubmittedChange = {
      source: [...written.map(({ source }) => source), ...(runs ? [statement] : [])].join("\n"),
      remove: removes,
      onDataLoss: losesData ? "rebuild" : "reject",
    }
    const model = this.#model
    const wanted = wantedOf(written, removes, losesData)(model)
    if (isStale && model.revision > 0) {
      this.#note("submit", submission)
      const last = model.records.at(-1)!
      const keys = [...new Set(last.changes.map(({ key }) => key))]
      const result = await this.#session.submit({ ...submission, parent: model.revision - 1 })
      this.#expect(result, { status: "rejected", kinds: new Set(["stale_parent"]), keys })
      return
    }
    this.#note("submit", submission)
    const verdict = model.apply(wanted)
    const result = await this.#session.submit(submission)
    this.#expect(result, verdict)
    if (verdict.status === "rejected" || !runs) return
    expect((result as { outcome?: Outcome }).outcome?.status, this.#told()).toBe("ok")
    model.locals.set("x", declares.length)
  }

  async #propose({ declares, removes, losesData }: Extract<Step, { step: "submit" | "propose" }>): Promise<void> {
    const written = declares.map(declareOf)
    const model = this.#model
    const wanted = wantedOf(written, removes, losesData)
    const verdict = model.judge(wanted(model))
    const submission: SubmittedChange = {
      source: written.map(({ source }) => source).join("\n"),
      remove: removes,
      onDataLoss: losesData ? "rebuild" : "reject",
    }
    this.#note("propose", submission)
    if (this.#candidates.length === 3) await this.#session.abandonChange(this.#candidates.shift()!.id)
    const result = await this.#session.proposeChange(submission)
    this.#expect(result, verdict)
    if (result.status !== "proposed") return
    const restsOn = model.restsOn(wanted(model))
    this.#candidates.push({ id: result.candidate, wanted, parent: model.revision, restsOn, runs: result.statements })
  }

  async #commit({ at, rebase }: Extract<Step, { step: "commit" }>): Promise<void> {
    const [candidate] = this.#candidates.splice(at % (this.#candidates.length || 1), 1)
    if (candidate === undefined) return
    const model = this.#model
    this.#note(rebase ? "rebase" : "commit", candidate.id)
    const since = new Set(model.records.slice(candidate.parent).flatMap(({ changes }) => changes.map(({ key }) => key)))
    const touched = rebase ? [...since].filter((key) => candidate.restsOn.has(key)) : [...since]
    const isStale = candidate.parent !== model.revision && (!rebase || touched.length > 0)
    const verdict = isStale
      ? ({ status: "rejected", kinds: new Set(["stale_parent"]), keys: touched } as const)
      : model.apply(candidate.wanted(model))
    this.#expect(await this.#session.commitChange(candidate.id, { rebase }), verdict)
  }

  /** One of the definitions of a kind, where there are some; otherwise the name itself. */
  #pick(given: string, isWanted: (definition: Definition) => boolean): string {
    const names = [...this.#model.definitions.values()].filter(isWanted).map((it) => it.name)
    return names[given.charCodeAt(0) % names.length] ?? given
  }

  async #wrap({ name: given, key, form, p, n: value }: Extract<Step, { step: "wrap" }>): Promise<void> {
    const model = this.#model
    const own = this.#pick(given, isValue)
    const wrapping = wrapper(form, own, key, p, value)
    this.#note("wrap", { name: own, key, source: wrapping.source })
    const definition = model.definitions.get(own)
    const verdict = this.#rewrap(own, definition, () => {
      const { wrappers } = definition!
      const index = wrappers.findIndex((each) => each.key === key)
      return index === -1 ? [...wrappers, wrapping] : wrappers.with(index, wrapping)
    })
    this.#expect(await this.#session.wrapBinding({ name: own, key, source: wrapping.source }), verdict)
  }

  async #unwrap({ name: given, key }: Extract<Step, { step: "unwrap" }>): Promise<void> {
    const own = this.#pick(given, ({ wrappers }) => wrappers.length > 0)
    this.#note("unwrap", { name: own, key })
    const definition = this.#model.definitions.get(own)
    const kept = key === undefined ? [] : (definition?.wrappers ?? []).filter((each) => each.key !== key)
    const isThere = definition !== undefined && kept.length < definition.wrappers.length
    const verdict = this.#rewrap(own, isThere ? definition : undefined, () => kept)
    this.#expect(await this.#session.unwrapBinding(key === undefined ? { name: own } : { name: own, key }), verdict)
  }

  #rewrap(own: string, definition: Definition | undefined, become: () => Definition["wrappers"]): Verdict {
    if (definition === undefined || !isWrappable(definition.kind)) {
      return { status: "rejected", kinds: new Set(["definition_not_found"]), keys: [own] }
    }
    const declared = new Map([[own, { ...definition, wrappers: become() }]])
    return this.#model.apply({ declared, removed: [], cause: "wrap" })
  }

  async #restore({ at, losesData }: Extract<Step, { step: "restore" | "import" }>): Promise<void> {
    const model = this.#model
    const revision = at % (model.revision + 1)
    this.#note("restore", revision)
    const then = model.revisions[revision]!
    const declared = new Map<string, Definition>()
    for (const [own, definition] of then) {
      if (!hasSameTexts(model.definitions.get(own), definition)) declared.set(own, definition)
    }
    const removed = [...model.definitions.keys()].filter((own) => !then.has(own))
    const onDataLoss = losesData ? "rebuild" : "reject"
    const verdict = model.apply({ declared, removed, cause: "restore", onDataLoss })
    this.#expect(await this.#session.restoreRevision(revision, { onDataLoss }), verdict)
  }

  async #import({ at }: Extract<Step, { step: "restore" | "import" }>): Promise<void> {
    const revision = at % (this.#model.revision + 1)
    this.#note("import", revision)
    const exported = JSON.parse(JSON.stringify(this.#session.exportRevision(revision))) as ExportedRevision
    const declared = this.#model.revisions[revision]!
    expect(exported.digest, this.#told()).toBe(digests.get(meaningOf(declared)))
    await this.#session.close()
    this.#session = await under.open({ check: "syntax" })
    this.#model = new NaiveModel()
    this.#candidates = []
    const verdict = this.#model.apply({ declared, removed: [], cause: "import" })
    this.#expect(await this.#session.importRevision(exported), verdict)
  }

  async #eval(kind: string, source: string, status: Outcome["status"]): Promise<void> {
    this.#note(kind, source)
    const outcome = await this.#session.eval(source)
    expect([outcome.status, outcome.rejected], this.#told(outcome)).toEqual([status, []])
  }

  #expect(result: Committed | Rejected | Proposed, verdict: Verdict): void {
    if (verdict.status === "committed") {
      expect(result.status, this.#told(result)).toMatch(/committed|proposed/)
      count("committed")
      return
    }
    expect(result.status, this.#told({ result, expected: [...verdict.kinds] })).toBe("rejected")
    const { rejection } = result as Rejected
    expect([...verdict.kinds], this.#told(result)).toContain(rejection.kind)
    if (verdict.keys !== undefined)
      expect(rejection.keys?.toSorted(), this.#told(result)).toEqual([...verdict.keys].toSorted())
    count(`rejected: ${rejection.kind}`)
  }

  async #compare(): Promise<void> {
    const model = this.#model
    const outcome = await this.#session.eval(probe)
    expect(outcome.status, this.#told(outcome)).toBe("ok")
    expect(JSON.parse(outcome.value!.data as string), this.#told()).toEqual(JSON.parse(this.#expected()))
    const history = this.#session.history().map(({ revision, cause, changes, reinstantiated, lostData }) => ({
      revision,
      cause,
      changes: inOrder(
        changes.map(({ op, key, wrapper: wrapperKey, source, previousSource }) => ({
          op,
          key,
          wrapper: wrapperKey,
          source,
          previousSource,
        })),
      ),
      reinstantiated: reinstantiated.toSorted(),
      lostData: lostData.toSorted(),
    }))
    expect(history, this.#told()).toEqual(
      model.records.map(({ revision, cause, changes, reinstantiated, lostData }) => ({
        revision,
        cause,
        changes: inOrder(
          changes.map(({ op, key, wrapper: wrapperKey, source, previousSource }) => ({
            op,
            key,
            wrapper: wrapperKey,
            source,
            previousSource,
          })),
        ),
        reinstantiated,
        lostData,
      })),
    )
    const { digest } = this.#session.revision
    const { meaning } = model
    expect(digest, this.#told()).toBe(digests.get(meaning) ?? digest)
    expect(meaning, this.#told()).toBe(meanings.get(digest) ?? meaning)
    digests.set(meaning, digest)
    meanings.set(digest, meaning)
  }

  #expected(): string {
    try {
      return this.#model.see(probe)
    } catch (error) {
      throw new Error(this.#told("The model cannot be evaluated."), { cause: error })
    }
  }

  #note(kind: string, what: unknown): void {
    count(kind)
    this.#trace.push(`${kind} ${typeof what === "string" ? what : JSON.stringify(what)}`)
  }

  #told(what?: unknown): string {
    return `${this.#trace.join("\n")}\n${what === undefined ? "" : JSON.stringify(what)}`
  }
}

function declareOf({ form, own, p, q, n: value, layout }: Written) {
  return declare(form, own, p, q, value, layout)
}

/** What a change wants of the definitions as they are when it is built. */
function wantedOf(written: readonly ReturnType<typeof declare>[], removed: readonly string[], losesData: boolean) {
  return ({ definitions }: NaiveModel): Wanted => {
    const declared = new Map<string, Definition>()
    for (const each of written) {
      const wrappers = each.expression === "" ? [] : (definitions.get(each.name)?.wrappers ?? [])
      declared.set(each.name, { ...each, wrappers })
    }
    return { declared, removed, cause: "submit", keepsWrappers: true, onDataLoss: losesData ? "rebuild" : "reject" }
  }
}

function hasSameTexts(a: Definition | undefined, b: Definition): boolean {
  if (a === undefined) return false
  const textsOf = (each: Definition): string =>
    JSON.stringify([each.source, ...each.wrappers.map(({ key, source }) => [key, source])])
  return textsOf(a) === textsOf(b)
}

function inOrder<C extends { op: string; key: string; wrapper: string | undefined }>(changes: readonly C[]): C[] {
  const order = ({ op, key, wrapper: wrapperKey }: C): string => `${key} ${op} ${wrapperKey ?? ""}`
  return changes.toSorted((a, b) => (order(a) < order(b) ? -1 : 1))
}

/** How often each came up at least in 100 sequences of seed 1; far below what it is, so that other seeds pass. A generator that no longer makes one fails. */
const expected: Record<string, number> = {
  submit: 200,
  propose: 25,
  commit: 4,
  rebase: 4,
  abandon: 1,
  wrap: 40,
  unwrap: 6,
  restore: 12,
  import: 6,
  assign: 20,
  "assign and throw": 10,
  push: 15,
  declare: 6,
  shadow: 2,
  evict: 40,
  kill: 4,
  garbage: 3,
  committed: 200,
  "rejected: data_loss": 1,
  "rejected: definition_has_dependents": 10,
  "rejected: definition_not_found": 15,
  "rejected: invalid": 6,
  "rejected: local_read": 1,
  "rejected: stale_parent": 6,
  "rejected: threw": 50,
}

afterAll(() =>
  console.log(
    Array.from(counts, ([what, times]) => `${what}: ${times}`)
      .toSorted()
      .join(", "),
  ),
)

test(`sequences of changes mean what the whole module means, with NACRE_SEED=${seed}`, async () => {
  const neighbours = [await under.open(), await under.open()]
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...starts),
      fc.array(step, { minLength: 4, maxLength: 14, size: "max" }),
      async (start, steps) => {
        const session = await under.open({ check: "syntax" })
        await new Sequence(session, neighbours).run([...start, ...steps])
      },
    ),
    // Shrinking may take long on a busy machine; what it has found by then is told.
    {
      seed,
      numRuns,
      interruptAfterTimeLimit: 120_000,
      endOnFailure: process.env["NACRE_SHRINK"] === "0",
      ...(process.env["NACRE_PATH"] !== undefined && { path: process.env["NACRE_PATH"] }),
    },
  )
  for (const [what, times] of Object.entries(expected)) {
    const enough = Math.floor((times * numRuns) / 100)
    expect([what, (counts.get(what) ?? 0) >= enough]).toEqual([what, true])
  }
})
