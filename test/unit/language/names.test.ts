// What a session's names do: declaring, declaring again, dead zones, failed initialisers, read-only names, and definitions.
import { describe, expect, test } from "vitest"
import { TestSession, type EvalResult } from "../../realm.ts"

function outcome({ status, value, error, rendered }: EvalResult): unknown {
  if (status === "ok") return value
  return status === "threw" ? String(error) : `invalid: ${rendered!.split("\n")[0]}`
}

async function last(evals: string[], promotes = true): Promise<unknown> {
  const session = new TestSession({ promotes })
  let result: EvalResult | undefined
  for (const source of evals) result = await session.eval(source)
  return outcome(result!)
}

const declarations = {
  let: "let x = 'new'",
  const: "const x = 'new'",
  var: "var x = 'new'",
  bare: "x = 'new'",
  function: "function x() { return 'new' }",
  arrow: "const x = () => 'new'",
  class: "class x { static v = () => 'new' }",
  enum: "enum x { v = 'new' }",
  pattern: "let [x] = ['new']",
}
const shown = "typeof x === 'string' ? x : typeof x === 'function' ? (x.v ?? x)() : x.v"

describe("any name may be declared again with any keyword", () => {
  const keywords = Object.keys(declarations) as (keyof typeof declarations)[]
  const pairs = keywords.flatMap((first) => keywords.map((second) => [first, second] as const))
  test.each(pairs)("%s, then %s", async (first, second) => {
    const isWriteToConstant = second === "bare" && ["const", "function", "arrow", "class", "enum"].includes(first)
    for (const promotes of [true, false]) {
      const old = declarations[first].replaceAll("'new'", "'old'")
      expect(await last([old, shown], promotes)).toBe("old")
      expect(await last([old, "const seen = () => x", declarations[second], shown], promotes)).toBe(
        isWriteToConstant ? "old" : "new",
      )
      if (isWriteToConstant)
        expect(await last([old, declarations[second]])).toBe("TypeError: Assignment to constant variable.")
    }
  })

  test.each(["let x = 1; let x = 2", "let x = 1; var x = 2", "const x = 1; function x() {}", "class x {}; let x = 1"])(
    "but not twice in one submission: %s",
    async (source) => {
      expect(await last([source])).toMatch(/^invalid: Identifier `x` has already been declared \(1:\d+\)$/)
    },
  )
})

describe("dead zones", () => {
  test.each([
    ["let", ["x; let x = 1"]],
    ["const", ["x; const x = 1"]],
    ["class", ["x; class x { static s = 1 }"]],
    ["class that is a definition", ["x; class x {}"]],
    ["const that is a definition", ["x(); const x = () => 1"]],
    ["own initialiser", ["let x = x"]],
    ["a name that existed", ["let x = 1", "let x = x + 1"]],
    ["typeof", ["typeof x; let x = 1"]],
    ["assignment", ["x = 2; let x = 1"]],
    ["through a function", ["f(); let x = 1; function f() { return x }"]],
    ["through a function to a definition", ["f(); const x = () => 1; function f() { return x() }"]],
    ["through an older function", ["function f() { return x }", "f(); let x = 1"]],
    ["a pattern's default", ["let [y = x, x] = []"]],
  ])("%s", async (_what, evals) => {
    for (const promotes of [true, false]) {
      expect(await last(evals, promotes)).toBe("ReferenceError: Cannot access 'x' before initialization")
    }
  })

  test("a function exists from the start, and var is undefined", async () => {
    expect(await last(["f() + String(v); function f() { return 1 } var v = 2"])).toBe("1undefined")
  })
})

describe("initialisers that fail", () => {
  const fail = "const fail = () => { throw new Error('failed') }"
  test.each([
    ["let", "let x = fail()", "ReferenceError: x is not defined"],
    ["const", "const x = fail()", "ReferenceError: x is not defined"],
    ["var", "var x = fail()", "ReferenceError: x is not defined"],
    ["class", "class x { static v = fail() }", "ReferenceError: x is not defined"],
    ["pattern, later name", "let [y, x = fail()] = [1]", "ReferenceError: x is not defined"],
    ["pattern, earlier name", "let [x, y = fail()] = [1]", 1],
    ["later statement", "let x = 5; fail()", 5],
  ])("%s: a new name stays unbound", async (_what, source, value) => {
    for (const promotes of [true, false]) {
      expect(await last([fail, source, "x"], promotes)).toBe(value)
      expect(await last([fail, source, "let x = 3; x"], promotes)).toBe(3)
    }
  })

  test.each([
    "let x = fail()",
    "const x = fail()",
    "var x = fail()",
    "class x { static v = fail() }",
    "fail(); let x = 2",
    "fail(); const x = () => 1",
  ])("an old name keeps its value: %s", async (source) => {
    for (const promotes of [true, false]) expect(await last([fail, "let x = 1", source, "x"], promotes)).toBe(1)
  })

  test("what was assigned before the throw stays", async () => {
    for (const promotes of [true, false])
      expect(await last([fail, "let x = 1, y = 1", "x = 2; fail(); y = 2", "x + y"], promotes)).toBe(3)
  })

  test("definitions before the throw stay, later ones do not, hoisted ones always", async () => {
    const session = new TestSession()
    const source = "class A {}; throw 1; class B {}; const c = () => 1; function d() { return typeof B }"
    const { finished } = await session.eval(source)
    expect([Array.from(finished!.definitions).toSorted(), Array.from(finished!.dropped).toSorted()]).toEqual([
      ["A", "d"],
      ["B", "c"],
    ])
    expect(outcome(await session.eval("[typeof A, typeof B, typeof c, d()].join()"))).toBe(
      "function,undefined,undefined,undefined",
    )
  })
})

describe("read-only names", () => {
  test.each([
    ["const local", ["const x = 1", "x = 2"]],
    ["in the same submission", ["const x = 1; x = 2"]],
    ["update", ["const x = 1", "x++"]],
    ["compound", ["const x = 1", "x += 1"]],
    ["pattern", ["const x = 1", "[x] = [2]"]],
    ["loop target", ["const x = 1", "for (x of [1]);"]],
    ["in a function", ["const x = 1", "(() => { x = 2 })()"]],
    ["in a definition", ["const x = 1", "function f() { x = 2 } f()"]],
    ["a definition", ["function x() {}", "x = 1"]],
    ["const definition by itself", ["const x = () => { x = 1 }", "x()"]],
    ["class definition", ["class x {}", "x = 1"]],
    ["const definition in its submission", ["const x = () => 1; x = 2"]],
  ])("%s", async (_what, evals) => {
    for (const promotes of [true, false])
      expect(await last(evals, promotes)).toBe("TypeError: Assignment to constant variable.")
  })

  test("logical assignment that does not assign", async () => {
    expect(await last(["const x = 1", "x ??= 2"])).toBe(1)
  })

  test("a function that is assigned in its own submission is a variable", async () => {
    expect(await last(["const before = f(); function f() { return 1 } f = () => 2; [before, f()].join()"])).toBe("1,2")
  })
})

describe("names that are bound nowhere", () => {
  test.each([
    ["read", ["q"], "ReferenceError: q is not defined"],
    ["compound assignment", ["q += 1"], "ReferenceError: q is not defined"],
    ["update", ["q++"], "ReferenceError: q is not defined"],
    ["logical assignment", ["q ||= 1"], "ReferenceError: q is not defined"],
    ["plain assignment makes a local", ["q = 1", "q"], 1],
    ["in a called function too", ["function f() { q = 7 }", "f()", "q"], 7],
    ["a function may name what comes later", ["function f() { return q() }", "function q() { return 3 }", "f()"], 3],
    [
      "two functions that call each other over evals",
      [
        "function even(n) { return n === 0 || odd(n - 1) }",
        "function odd(n) { return n !== 0 && even(n - 1) }",
        "even(10)",
      ],
      true,
    ],
    [
      "undefined is not a variable",
      ["undefined = 1"],
      "TypeError: Cannot assign to read only property 'undefined' of object '#<Object>'",
    ],
    ["the last value", ["41", "_ + 1"], 42],
    ["the last error", ["throw new Error('e')", "_error.message"], "e"],
    ["hidden by a binding", ["let _ = 'mine'", "5", "_"], "mine"],
  ])("%s", async (_what, evals, value) => {
    expect(await last(evals)).toBe(value)
  })
})

describe("definitions", () => {
  test.each([
    [
      "dependents are made again",
      ["const f = () => 1", "const g = () => f() + 1", "const h = () => g() + 1", "const f = () => 10", "h()"],
      12,
    ],
    ["within the same eval", ["const f = () => 1", "const g = () => f()", "const f = () => 2; g()"], 2],
    [
      "a record of functions",
      ["const f = () => 1", "const api = { f, g: () => f() }", "const f = () => 2", "api.f() * 10 + api.g()"],
      22,
    ],
    [
      "an array of functions",
      ["const f = () => 1", "const list = [f, () => 5]", "const f = () => 2", "list[0]() + list[1]()"],
      7,
    ],
    [
      "a value that is an instance stays",
      ["const f = () => 1", "let held = f", "const f = () => 2", "held() * 10 + f()"],
      12,
    ],
    ["a copied definition stays", ["const f = () => 1", "const copy = f", "const f = () => 2", "copy()"], 1],
    [
      "classes",
      ["class A { v() { return 1 } }", "class B extends A {}", "class A { v() { return 2 } }", "new B().v()"],
      2,
    ],
    [
      "data is not code",
      ["let n = 0; const next = () => ++n", "const first = next()", "const next = () => 100", "first"],
      1,
    ],
    [
      "mutual recursion in one submission",
      [
        "const a = (n: number): number => n <= 0 ? 0 : b(n - 1); const b = (n: number): number => n <= 0 ? 1 : a(n - 1)",
        "a(3)",
      ],
      1,
    ],
    ["a functions sees locals live", ["let k = 1; const f = () => k", "k = 5", "f()"], 5],
    [
      "a local that becomes a definition",
      ["let x: any = 1; const f = () => x", "function x() { return 2 }", "f()()"],
      2,
    ],
    ["a definition that becomes a local", ["function x() { return 1 }", "let x = 2", "x"], 2],
    [
      "recursion over evals, then one of the two anew",
      [
        "const a = (n: number): string => n === 0 ? 'a' : b(n - 1)",
        "const b = (n: number): string => n === 0 ? 'b' : a(n - 1)",
        "const a = (n: number): string => n === 0 ? 'A' : b(n - 1)",
        "a(2) + a(1) + b(1) + b(2)",
      ],
      "AbAb",
    ],
    [
      "both anew",
      [
        "const a = () => b",
        "const b = () => a",
        "const a = () => [b]; const b = () => [a]",
        "a()[0] === b && b()[0] === a",
      ],
      true,
    ],
    [
      "a definition that becomes a local, for its dependents",
      ["function x() { return 1 }", "const g = () => x", "const h = () => g()", "let x: any = 2", "x = 3; h()"],
      3,
    ],
    [
      "and for a literal that copied it",
      ["function x() { return 1 }", "const api = { x }", "let x: any = 2", "api.x()"],
      1,
    ],
    [
      "order of statements",
      [
        "const order: string[] = []",
        "order.push('a'); const t = order.length; order.push('b'); const u = order.length; [t, u].join()",
      ],
      "1,2",
    ],
    [
      "a class extends what a statement before it made",
      ["let Base: any", "Base = class { v = 3 }; class D extends Base {}; new D().v"],
      3,
    ],
    ["several declarators", ["const f = () => 1, g = () => f() + 1", "const f = () => 5", "g()"], 6],
  ])("%s", async (_what, evals, value) => {
    for (const promotes of [true, false]) expect(await last(evals, promotes)).toBe(value)
  })

  test("a long chain of dependents is rebuilt", async () => {
    const session = new TestSession()
    const chain = Array.from({ length: 2000 }, (_, index) => `const f${index + 1} = () => f${index}()`)
    await session.eval("const f0 = () => 1")
    expect((await session.eval(chain.join("\n"))).status).toBe("ok")
    const { finished } = await session.eval("const f0 = () => 2")
    expect(finished!.rebuilt).toHaveLength(2001)
    expect(session.environment.names()).toHaveLength(2001)
  })

  test("what a submission compiles to says what it needs", async () => {
    const session = new TestSession()
    const { unit } = await session.eval(
      "let n = 0; function f() { return g() + n } const g = () => later\nclass P { #p = 1 }",
    )
    const view = unit!.definitions.map(({ name, kind, dependencies, cells, hoisted, hasPrivateNames }) => ({
      name,
      kind,
      dependencies,
      cells,
      hoisted,
      hasPrivateNames,
    }))
    expect(view).toEqual([
      {
        name: "f",
        kind: "function",
        dependencies: ["g", "n"],
        cells: ["g", "n"],
        hoisted: true,
        hasPrivateNames: false,
      },
      { name: "g", kind: "const", dependencies: ["later"], cells: ["later"], hoisted: false, hasPrivateNames: false },
      { name: "P", kind: "class", dependencies: [], cells: [], hoisted: false, hasPrivateNames: true },
    ])
    expect(unit!.declares.map(({ name, kind }) => [name, kind])).toEqual([["n", "let"]])
    expect(unit!.definitions[1]!.source).toBe("const g = () => later")
  })
})
