// Random sequences of changes that are checked for types, beside one ordinary program that holds the whole module (`test/unit/checker/oracle.ts`). A
// change is rejected exactly when that program has a mistake which the one before it did not have, and for the same declarations.
//
// Steps: submit (one or two declarations, with removals and statements), evals that declare without a check and so bring mistakes in, restore, export
// and import into a fresh session, kill -9. Making a declaration never fails here: everything that could is inside of functions.
import fc from "fast-check"
import { afterAll, expect, test } from "vitest"
import type { Committed, Rejected, Session } from "nacre"
import { wholeProgram } from "../../unit/checker/oracle.ts"
import type { Finding } from "../../unit/checker/oracle.ts"
import { useNacre } from "../../system/nacre-under-test.ts"

const seed = Number(process.env["NACRE_SEED"] ?? 1)
/** 30 take some 30 seconds. */
const numRuns = Number(process.env["NACRE_RUNS"] ?? (process.env["CI"] === undefined ? 8 : 30))

const names = ["a", "b", "c", "D", "E"] as const
const forms: readonly ((own: string, x: string, y: string, n: number) => string)[] = [
  (own, _x, _y, n) => `function ${own}(p: number) { return p * ${n} }`,
  (own, x) => `function ${own}(p: number) { return ${x}(p) }`,
  (own, x, y) => `function ${own}(p: number) { return [${x}, ${y}] }`,
  (own, x, y, n) => `function ${own}(p: string, q = ${n}) { return ${x}.m + ${y}(p) }`,
  (own, x) => `function ${own}(p: ${x}): ${x} { return p }`,
  (own, x, y) => `const ${own} = (q: string) => ({ m: ${x}, n: ${y}(q) })`,
  (own, x, y) => `interface ${own} { m: ${x}; n?: ${y}[] }`,
  (own, _x, _y, n) => `interface ${own} { m: ${n % 2 === 0 ? "number" : "string"} }`,
  (own, x, y) => `type ${own} = ${x} | { m: ${y} }`,
  (own, x, y, n) => `class ${own} { m = ${n}; n(it: ${x}) { return ${y} } }`,
  (own, x, y, n) => `const ${own} = { m: ${n}, n: () => ${x}.m, o: (p: typeof ${y}) => p }`,
  (own, x, y) =>
    `function ${own}(p: ${x}): string\nfunction ${own}(p: string): number\nfunction ${own}(p: any): any { return ${y}(p) }`,
]
/** What an eval can declare without a check. */
const functionForms = [0, 1, 2, 3, 4, 11]

/** What a session has at first: nothing, or what is right. */
const starts: readonly (readonly Written[])[] = [
  [],
  [
    { own: "a", source: "function a(p: number) { return { m: p } }" },
    { own: "b", source: "const b = (q: number) => a(q).m" },
    { own: "c", source: "function c(p: D): E { return { m: p.m + b(1) } }" },
    { own: "D", source: "class D { m = 1; n(it: E) { return it.m } }" },
    { own: "E", source: "interface E { m: number }" },
  ],
]

interface Written {
  own: string
  source: string
}
type Step =
  | { step: "submit"; declares: Written[]; removes: string[]; statement: string }
  | { step: "declare"; declares: Written }
  | { step: "restore"; at: number }
  | { step: "import" | "kill" }

const name = fc.constantFrom(...names)
const written = (choice: fc.Arbitrary<number>) =>
  fc
    .record({ own: name, x: name, y: name, form: choice, n: fc.nat(9) })
    .map(({ own, x, y, form, n }): Written => ({ own, source: forms[form]!(own, x, y, n) }))
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      step: fc.constant("submit" as const),
      declares: fc.uniqueArray(written(fc.nat(forms.length - 1)), { selector: ({ own }) => own, maxLength: 2 }),
      removes: fc.oneof(
        { weight: 4, arbitrary: fc.constant<string[]>([]) },
        { weight: 1, arbitrary: name.map((it) => [it]) },
      ),
      statement: fc.oneof(
        { weight: 3, arbitrary: fc.constant("") },
        { weight: 1, arbitrary: name.map((it) => `void (${it} satisfies { m: number })`) },
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      step: fc.constant("declare" as const),
      declares: written(fc.constantFrom(...functionForms)),
    }),
  },
  { weight: 2, arbitrary: fc.record({ step: fc.constant("restore" as const), at: fc.nat(30) }) },
  { weight: 1, arbitrary: fc.record({ step: fc.constantFrom("import" as const, "kill" as const) }) },
)

// Between declarations of a session the order of the text means nothing.
const order = new Set([2448, 2449, 2450, 2454])
/** "Needs itself": which member of a circle that is said of depends on where TypeScript entered it. */
const circles = new Set([7022, 7023, 7024])

type DeclarationSet = ReadonlyMap<string, string>
const programs = new Map<string, readonly Finding[] | undefined>()

/** What one program says of a set; `undefined` where TypeScript's word depends on where it began, or it has none. */
function findingsOf(set: DeclarationSet, statement = ""): readonly Finding[] | undefined {
  const key = JSON.stringify([[...set].toSorted(), statement])
  if (programs.has(key)) return programs.get(key)
  let findings: readonly Finding[] | undefined
  try {
    findings = wholeProgram(Object.fromEntries(set), statement).filter(({ code }) => !order.has(code))
    if (findings.some(({ code }) => circles.has(code))) findings = undefined
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  programs.set(key, findings)
  return findings
}

/** The declarations in which there are mistakes that were not there; "" is the statement. */
function newMistakes(before: DeclarationSet, after: DeclarationSet, statement: string): string[] | undefined {
  const [old, now] = [findingsOf(before), findingsOf(after, statement)]
  if (old === undefined || now === undefined) return undefined
  const identity = ({ key = "", code, message, start, length }: Finding, set: DeclarationSet): string =>
    JSON.stringify([key, code, message, (set.get(key) ?? "").slice(start, start + length)])
  const known = old.map((it) => identity(it, before))
  const fresh = now.filter((it) => {
    const at = known.indexOf(identity(it, after))
    if (at >= 0) known.splice(at, 1)
    return at < 0
  })
  return [...new Set(fresh.map(({ key = "" }) => key))].toSorted()
}

const counts = new Map<string, number>()
const count = (what: string): void => void counts.set(what, (counts.get(what) ?? 0) + 1)
const under = useNacre({ hosts: { min: 1, max: 1, threadsPerHostMax: 1 } })

class Sequence {
  #session: Session
  #set: DeclarationSet = new Map()
  #revisions: DeclarationSet[] = [new Map()]
  readonly #trace: string[] = []

  constructor(session: Session) {
    this.#session = session
  }

  async run(steps: readonly Step[]): Promise<void> {
    try {
      for (const each of steps) {
        this.#trace.push(JSON.stringify(each))
        await this.#step(each)
        expect(this.#session.revision.number, this.#told()).toBe(this.#revisions.length - 1)
      }
    } finally {
      await this.#session.close()
    }
  }

  async #step(each: Step): Promise<void> {
    count(each.step)
    switch (each.step) {
      case "submit":
        return this.#submit(each)
      case "declare": {
        const { own, source } = each.declares
        const { status } = await this.#session.eval(source)
        expect(status, this.#told()).toBe("ok")
        return this.#become(new Map([...this.#set, [own, source]]))
      }
      case "restore": {
        const at = each.at % this.#revisions.length
        const then = this.#revisions[at]!
        const result = (await this.#session.restoreRevision(at)) as Committed
        this.#expectTold(result, newMistakes(this.#set, then, ""))
        return this.#become(then)
      }
      case "import": {
        const exported = this.#session.exportRevision()
        await this.#session.close()
        this.#session = await under.open()
        const result = (await this.#session.importRevision(exported)) as Committed
        this.#expectTold(result, newMistakes(new Map(), this.#set, ""))
        expect(this.#session.revision.digest, this.#told()).toBe(exported.digest)
        this.#revisions = this.#set.size === 0 ? [new Map()] : [new Map(), this.#set]
        return
      }
      case "kill":
        return under.killHosts()
    }
  }

  async #submit({ declares, removes, statement }: Extract<Step, { step: "submit" }>): Promise<void> {
    const after = new Map(this.#set)
    const remove = removes.filter((it) => after.delete(it) && declares.every(({ own }) => own !== it))
    for (const { own, source } of declares) after.set(own, source)
    const mistakes = newMistakes(this.#set, after, statement)
    const source = [...declares.map((it) => it.source), statement].join("\n")
    const result = await this.#session.submit({ source, remove })
    if (mistakes === undefined) count("not compared")
    else if (mistakes.length === 0) {
      expect(result.status, this.#told(result)).toBe("committed")
      count("committed")
    } else {
      const { rejection } = result as Rejected
      expect(result.status, this.#told({ result, mistakes })).toBe("rejected")
      // What takes a value away from who uses it is refused before types are looked at.
      expect(["check_failed", "definition_has_dependents"], this.#told(result)).toContain(rejection.kind)
      count(rejection.kind)
      if (rejection.kind === "check_failed") {
        const keys = [...new Set(rejection.diagnostics.map(({ key = "" }) => key))].toSorted()
        expect(keys, this.#told({ result, mistakes })).toEqual(mistakes)
      }
    }
    if (result.status === "committed") this.#become(after)
  }

  /** What comes back is told its mistakes, and not rejected for them. */
  #expectTold(result: Committed, mistakes: readonly string[] | undefined): void {
    expect(result.status, this.#told(result)).toBe("committed")
    if (mistakes === undefined) return
    const keys = [...new Set((result.diagnostics ?? []).map(({ key = "" }) => key))].toSorted()
    expect(keys, this.#told({ result, mistakes })).toEqual(mistakes)
    if (mistakes.length > 0) count("told")
  }

  #become(set: DeclarationSet): void {
    const textOf = (it: DeclarationSet): string => JSON.stringify([...it].toSorted())
    if (textOf(set) !== textOf(this.#set)) this.#revisions.push(set)
    this.#set = set
  }

  #told(what?: unknown): string {
    return `${this.#trace.join("\n")}\n${what === undefined ? "" : JSON.stringify(what)}`
  }
}

/** How often each kind of step and each verdict comes up at least in 40 sequences. */
const expected = {
  submit: 150,
  declare: 20,
  restore: 20,
  import: 4,
  kill: 4,
  committed: 45,
  check_failed: 50,
  definition_has_dependents: 3,
  told: 1,
}

afterAll(() => {
  console.log(
    Array.from(counts, ([what, times]) => `${what}: ${times}`)
      .toSorted()
      .join(", "),
  )
})

test(
  `checked changes are rejected for what one program finds new, with NACRE_SEED=${seed}`,
  { timeout: 240_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...starts),
        fc.array(step, { minLength: 5, maxLength: 10, size: "max" }),
        async (start, steps) => {
          const first: Step = { step: "submit", declares: [...start], removes: [], statement: "" }
          await new Sequence(await under.open()).run([first, ...steps])
        },
      ),
      { seed, numRuns, interruptAfterTimeLimit: 120_000, endOnFailure: process.env["NACRE_SHRINK"] === "0" },
    )
    // A generator that no longer makes a kind of step, or a model that expects one verdict always, fails here.
    for (const [what, times] of Object.entries(expected)) {
      expect([what, (counts.get(what) ?? 0) >= Math.floor((times * numRuns) / 40)]).toEqual([what, true])
    }
  },
)
