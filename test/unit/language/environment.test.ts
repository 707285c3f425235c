// What the realm-side table of names reports and keeps: for commits, views, rebuilds and losses.
import { describe, expect, test } from "vitest"
import vm from "node:vm"
import { compileDefinitions } from "../../../runtime/language/compile.ts"
import type { Finished, Unit } from "../../../stdlib/environment.ts"
import { TestRealm, TestSession } from "../../realm.ts"

/** Realm objects as ours. */
function copy<T>(value: T): T {
  return structuredClone(value)
}

describe("what an eval changed", () => {
  test.each<[string, string[], string[], string[]]>([
    ["a declaration", ["let a = 1, b"], ["a", "b"], []],
    ["only what changed", ["let a = 1, b = 1", "a = 2; b = 1"], ["a"], []],
    ["from within a function", ["let a = 1", "const set = (v: number) => { a = v }", "set(5)"], ["a"], []],
    ["a read changes nothing", ["let a = { x: 1 }", "a.x = 2"], [], []],
    ["a failed initialiser", ["let a = 1", "let a = null.x"], [], []],
    ["a new name that failed", ["let a = null.x"], [], []],
    ["a bare assignment in a function", ["function f() { q = 1 }", "f()"], ["q"], []],
    ["const", ["const a = 1"], ["a"], []],
    ["the sign of zero", ["let a = 0", "a = -0"], ["a"], []],
    ["not-a-number stays", ["let a = NaN", "a = NaN"], [], []],
  ])("%s", (_what, evals, assigned, removed) => {
    for (const promotes of [true, false]) {
      const session = new TestSession({ promotes })
      let finished: Finished | undefined
      for (const source of evals) finished = session.evalNow(source).finished
      expect([copy(finished!.assigned).toSorted(), copy(finished!.removed)]).toEqual([assigned, removed])
    }
  })

  test("code of an ended eval that goes on is seen at the next end", async () => {
    const session = new TestSession()
    await session.eval("let a = 1; let go: any; new Promise((f) => { go = f }).then(() => { a = 2 }); 0")
    session.evalNow("go()")
    await Promise.resolve()
    const { finished } = await session.eval("0")
    expect(copy(finished!.assigned)).toEqual(["a"])
  })
})

describe("names", () => {
  test("in the order they were bound, with their kinds", () => {
    const session = new TestSession()
    session.evalNow("let b = 1; const a = 2; function f() {} interface I {} var v")
    const { environment } = session
    expect(copy(environment.names()).toSorted()).toEqual(["a", "b", "f", "v"])
    expect(["a", "b", "f", "I", "nothing"].map((name) => environment.kindOf(name))).toEqual([
      "readonly",
      "local",
      "definition",
      undefined,
      undefined,
    ])
    const locals: [string, unknown, boolean][] = []
    environment.forEachLocal((...local) => locals.push(local))
    expect(locals.toSorted(([a], [b]) => a.localeCompare(b))).toEqual([
      ["a", 2, true],
      ["b", 1, false],
      ["v", undefined, false],
    ])
  })

  test("a view reads what a name held when the eval began", () => {
    const session = new TestSession({ promotes: false })
    session.evalNow("let a = { x: 1 }, gone = 1")
    const begun = session.begin("a = 5; let fresh = 1; a")
    if ("rendered" in begun) throw new Error(begun.rendered)
    const { environment } = session
    expect(copy(environment.readAtStart("a"))).toMatchObject({ state: "local", value: { x: 1 } })
    expect(environment.readAtStart("fresh")).toBeUndefined()
    expect(environment.read("a")).toBe(5)
    environment.finish(begun.run, "ok")
    expect(copy(environment.readAtStart("a"))).toMatchObject({ value: 5 })
  })

  test("a lost binding says why, and can be bound again", () => {
    const session = new TestSession()
    session.evalNow("let socket = 1; const use = () => socket")
    session.environment.lose("socket", "a socket does not survive its host")
    const { error } = session.evalNow("use()")
    expect(error).toMatchObject({
      kind: "binding_lost",
      message: "The binding 'socket' was lost: a socket does not survive its host",
    })
    expect(session.environment.has("socket")).toBe(false)
    expect(session.evalNow("socket = 2; use()").value).toBe(2)
  })

  test("a removed name is unbound for every function that knows it", () => {
    const session = new TestSession()
    session.evalNow("let a = 1; const f = () => typeof a; function g() { return a }")
    session.environment.remove("a")
    expect(session.evalNow("f()").value).toBe("undefined")
    expect(String(session.evalNow("g()").error)).toBe("ReferenceError: a is not defined")
  })

  test("cells stay plain data through rebinding", () => {
    const session = new TestSession({ promotes: false })
    session.evalNow("let a = 1; const f = () => a")
    for (const source of ["const a = 2", "function a() {}", "let a = 3", "class a {}", "var a = 4"])
      session.evalNow(source)
    expect(Object.keys(session.environment.cell("a")).at(-1)).toBe("v")
    expect(session.evalNow("f()").value).toBe(4)
  })
})

test("a fresh realm installs the definitions of another", () => {
  const first = new TestSession()
  const sources = [
    "let n = 1",
    "class A { v() { return n } }",
    "class B extends A {}; const make = () => new B()",
    "enum E { X = 7 }",
    "function even(k) { return k === 0 || odd(k - 1) }",
    "function odd(k) { return k > 0 && even(k - 1) }",
  ]
  const kept = sources.flatMap((source) =>
    first.evalNow(source).unit!.definitions.map((definition) => ({ ...definition, filename: "x", line: 1, column: 1 })),
  )
  const second = new TestSession()
  second.environment.setLocal("n", 5)
  const unit = compileDefinitions(kept.toReversed(), second)
  if (!unit.valid) throw new Error(unit.rendered)
  second.environment.install(new vm.Script(unit.code).runInContext(second.context) as Unit)
  expect(second.evalNow("`${make().v()} ${E.X} ${even(10)} ${A.name} ${make().constructor === B}`").value).toBe(
    "5 7 true A true",
  )
})

test("changed built-ins do not reach the names", async () => {
  const session = new TestSession({ realm: new TestRealm() })
  const spoil = `
    const bad = () => { throw new Error("spoiled") }
    Array.prototype.push = Array.prototype[Symbol.iterator] = Object.defineProperty = Object.hasOwn = Reflect.apply = bad
    Promise.prototype.then = Map.prototype.get = Function.prototype.call = Function.prototype.apply = RegExp.prototype.exec = bad
    Object.defineProperty = bad; Object.prototype.get = bad; Object.prototype.writable = false
    0`
  expect((await session.eval(spoil)).status).toBe("ok")
  for (const [source, value] of [
    ["let a = 1; const f = () => a", undefined],
    ["a = 2; f()", 2],
    ["class K { m() { return f() } }", undefined],
    ["new K().m()", 2],
    ["await 3", 3],
    ["let a = 4; f()", 4],
  ] as const) {
    const result = await session.eval(source)
    expect([source, result.status, result.value]).toEqual([source, "ok", value])
  }
})
