// What session code does to built-ins, and what it puts on definitions after they were made, is state: it comes back in a rebuilt realm,
// however it was done, or is named.
import { describe, expect, test } from "vitest"
import { mayHideWords, mayReachBuiltIns } from "../../../runtime/worker/reaching-code.ts"
import { ResidentSession } from "../../resident.ts"

/** Runs the evals, throws the realm away, and gives the last one's value. */
async function afterRebuild(evals: readonly string[], last: string): Promise<{ value: unknown; ephemeral: string[] }> {
  const session = new ResidentSession()
  for (const source of evals) await session.run(source)
  const { ephemeral } = session
  session.rebuild()
  return { value: await session.run(last), ephemeral }
}

describe("built-ins", () => {
  test.each<[name: string, evals: string[], last: string, value: unknown]>([
    ["a new method", ["Array.prototype.last = function () { return this[this.length - 1] }"], "[1, 2, 3].last()", 3],
    ["a property of a namespace", ["Math.seed = 7"], "Math.seed", 7],
    ["a computed key", ["Array['proto' + 'type']['la' + 'st'] = () => 'x'"], "[].last()", "x"],
    ["an alias in the same eval", ["const m = Math; m.seed = 1"], "Math.seed", 1],
    ["an alias from an earlier eval", ["let m = Math", "m.seed = 2"], "Math.seed", 2],
    ["an alias in an object", ["const kit = { m: Math }", "kit.m.seed = 3"], "Math.seed", 3],
    ["an alias that only a rebuilt realm has", ["let m = JSON; let o = { m }", "1"], "o.m.x = 4; JSON.x", 4],
    [
      "a definition that is called",
      ["function patch(o: any, k: string) { o[k] = () => k }", "patch(String.prototype, 'shout')"],
      "'a'.shout()",
      "shout",
    ],
    ["Object.assign", ["Object.assign(Math, { tau: 6 })"], "Math.tau", 6],
    ["Reflect.set", ["const o = JSON; Reflect.set(o, 'version', 2)"], "(JSON as any).version", 2],
    [
      "defineProperty",
      ["Object.defineProperty(Number.prototype, 'double', { get() { return this * 2 } })"],
      "(4).double",
      8,
    ],
    ["a symbol key", ["const k = Symbol('k'); Array.prototype[k] = 5"], "[][k]", 5],
    ["a replaced method", ["const old = Math.max; Math.max = (...n) => old(...n) + 1"], "Math.max(1, 2)", 3],
    ["a deleted one", ["delete Math.cbrt"], "typeof Math.cbrt", "undefined"],
    ["a well-known symbol", ["RegExp.prototype[Symbol.toPrimitive] = () => 'r'"], "`${/x/}`", "r"],
    [
      "a getter that closes over state",
      ["{ let n = 0; Object.defineProperty(Math, 'next', { get: () => ++n, configurable: true }) } Math.next"],
      "Math.next",
      2,
    ],
    ["a shared object", ["const log = []; Array.prototype.log = log"], "log.push(1); [].log.length", 1],
    [
      "a shared object, changed later",
      ["const log = []; Math.log10s = log", "log.push(1)", "1", "Math.log10s.push(2)"],
      "log",
      [1, 2],
    ],
    ["a prototype", ["Object.setPrototypeOf(Math, { inherited: 1 })"], "Math.inherited", 1],
    ["a closed one", ["Object.preventExtensions(JSON)"], "Object.isExtensible(JSON)", false],
    [
      "a frozen one with an addition",
      ["JSON.extra = 1; Object.freeze(JSON)"],
      "[Object.isFrozen(JSON), JSON.extra]",
      [true, 1],
    ],
    ["a property of a built-in function", ["Math.max.calls = 3"], "Math.max.calls", 3],
    ["what was put back", ["const old = Math.abs; Math.abs = () => 0", "Math.abs = old"], "Math.abs(-3)", 3],
    ["the global object", ["globalThis.answer = { n: 42 }"], "answer.n", 42],
    ["the global object, changed by its name", ["globalThis.answer = { n: 42 }", "answer.n++"], "answer.n", 43],
    ["a built-in class that was replaced", ["globalThis.Map = class Better { size = 9 }"], "new Map().size", 9],
    [
      "lazily made classes",
      ["URL.prototype.shout = function () { return this.host + '!' }"],
      "new URL('http://a/').shout()",
      "a!",
    ],
    [
      "an iterator's prototype",
      ["const p = Object.getPrototypeOf([][Symbol.iterator]()); p.first = function () { return this.next().value }"],
      "[8].values().first()",
      8,
    ],
  ])("%s", async (_name, evals, last, value) => {
    expect(await afterRebuild(evals, last)).toEqual({ value, ephemeral: [] })
  })

  test("several rebuilds, with nothing to write in between", async () => {
    const session = new ResidentSession()
    await session.run("Array.prototype.last = function () { return this.at(-1) }")
    for (let round = 0; round < 3; round++) {
      session.rebuild()
      expect((await session.eval("1")).delta).toEqual({})
      expect(await session.run("[1, 2].last()")).toBe(2)
    }
  })

  test("undone ones are written as undone", async () => {
    const session = new ResidentSession()
    await session.run("Math.seed = 1")
    session.rebuild()
    await session.run("delete Math.seed")
    session.rebuild()
    expect(await session.run("'seed' in Math")).toBe(false)
  })

  test("one that cannot be kept is named", async () => {
    const session = new ResidentSession()
    await session.run("Math.wait = new WeakMap()")
    expect(session.ephemeral).toEqual(["Math.wait"])
    expect(session.rebuild()).toEqual(["Math.wait"])
    expect(await session.run("typeof Math.wait")).toBe("undefined")
  })

  test("none of them breaks the runtime", async () => {
    const session = new ResidentSession()
    await session.run("const kept = new Map([[1, { a: [1, 2] }]])")
    await session.run(
      `const own = Reflect.ownKeys; const String = globalThis.String; const all = [Array, Map, Object, String, Function, Reflect, WeakMap, Array.prototype, Map.prototype, Object.prototype, String.prototype, WeakMap.prototype];
      for (let i = 0; i < 12; i++) { const keys = own(all[i]); for (let k = 0; k < keys.length; k++) { const key = keys[k]; try { all[i][key] = () => { throw new RangeError("replaced " + String(key)) } } catch {} } }`,
    )
    session.rebuild()
    expect(await session.run("kept.constructor")).toBe(undefined)
    expect((await session.eval("[].push(1)")).text).toContain("replaced")
    expect((await session.eval("let after = { a: [1] }; after")).text).toBe("{ a: [ 1 ] }")
    session.rebuild()
    expect((await session.eval("after")).text).toBe("{ a: [ 1 ] }")
  })
})

describe("data put on definitions", () => {
  test.each<[name: string, evals: string[], last: string, value: unknown]>([
    ["a function's property", ["function f() {}", "f.count = 1"], "f.count", 1],
    ["in the eval that declares it", ["function f() {} f.count = 1"], "f.count", 1],
    ["counted by itself", ["function f() { f.count = (f.count ?? 0) + 1 }", "f()", "f(); f()"], "f.count", 3],
    [
      "a class's registry",
      ["class K {}", "K.registry = new Map([[1, K]])"],
      "[K.registry.size, K.registry.get(1) === K]",
      [1, true],
    ],
    ["a registry that grows later", ["class K {}", "K.seen = []", "K.seen.push(1)"], "K.seen", [1]],
    [
      "a method added to a prototype",
      ["class K { n = 4 }", "const k = new K()", "K.prototype.twice = function () { return this.n * 2 }"],
      "k.twice()",
      8,
    ],
    ["a method replaced", ["class K { m() { return 1 } }", "K.prototype.m = () => 2"], "new K().m()", 2],
    ["a method taken away", ["class K { m() { return 1 } }", "delete K.prototype.m"], "typeof new K().m", "undefined"],
    ["a function's prototype", ["function F() {}", "F.prototype.x = 3"], "new F().x", 3],
    [
      "on a function in a literal",
      ["const api = { get() { return 1 } }", "api.get.cache = { a: 1 }"],
      "api.get.cache.a",
      1,
    ],
    [
      "in nested literals",
      ["const api = { inner: { deep: { f() {} } } }", "api.inner.deep.f.x = 1; api.inner.y = 2; api.z = 3"],
      "[api.inner.deep.f.x, api.inner.y, api.z]",
      [1, 2, 3],
    ],
    ["a symbol", ["const s = Symbol('s'); function f() {}", "f[s] = 1"], "f[s]", 1],
    ["through an alias", ["function f() {}", "const g = f", "g.x = 1"], "f.x", 1],
    ["an enum's", ["enum E { A }", "E.extra = 5"], "E.extra", 5],
    [
      "shared with a local",
      ["function f() {} const list = []", "f.list = list", "f.list.push(1)"],
      "[list.length, list === f.list]",
      [1, true],
    ],
    ["a closed one", ["const api = { f() {} }", "Object.freeze(api)"], "Object.isFrozen(api)", true],
    [
      "a replaced prototype",
      ["class A { who() { return 'a' } } class B {}", "Object.setPrototypeOf(B.prototype, A.prototype)"],
      "new B().who()",
      "a",
    ],
  ])("%s", async (_name, evals, last, value) => {
    expect(await afterRebuild(evals, last)).toEqual({ value, ephemeral: [] })
  })

  test("it goes with a definition that is declared again, and with one that is removed", async () => {
    const session = new ResidentSession()
    await session.run("function f() {} f.x = 1")
    await session.run("function f() { return 2 }")
    session.rebuild()
    expect(await session.run("[f.x, f()]")).toEqual([undefined, 2])
    await session.run("f.y = 1")
    await session.run("let f = 1")
    session.rebuild()
    expect(await session.run("f")).toBe(1)
    expect([...session.state.locals.keys()]).toEqual(["f"])
  })

  test("a definition that is made again because of another loses it by name", async () => {
    const session = new ResidentSession()
    await session.run("function g() { return 1 } function f() { return g() } ")
    await session.run("f.count = 1")
    const { delta } = await session.eval("function g() { return 2 }")
    expect(delta.stale).toEqual(["f.count (f was made again without it)"])
  })

  test("what cannot be kept is named", async () => {
    const session = new ResidentSession()
    await session.run("class K {} K.cache = new WeakMap()")
    expect(session.ephemeral).toEqual(["K.cache"])
  })
})

// A word too many costs a look at the built-ins; a word too few would find a change late.
test.each<[source: string, is: boolean]>([
  ["Math.max(1, 2)", false],
  ["const m: Map<string, number> = new Map(); const d: Date = new Date()", false],
  ["x instanceof Error && class A extends Map {}", false],
  ["Object.keys(o).map(Number).filter(Boolean)", false],
  ["class A { constructor(readonly x: Array<number>) {} }", false],
  ["JSON.stringify(a) === String(b)", false],
  ["Symbol.iterator in o; Number.MAX_SAFE_INTEGER; o.Math = 1", false],
  ["Math.seed = 1", true],
  ["Math.seed += 1", true],
  ["Math.seed++", true],
  ["Math['seed'] = 1", true],
  ["Math.max.calls = 1", true],
  ["delete Math.max", true],
  ["f(Math)", true],
  ["const { a } = { a: JSON }", true],
  ["const m = Map", true],
  ["Object.assign(Array, {})", true],
  ["[].__proto__", true],
  ["x.constructor", true],
  ["({})['constructor']", true],
])("%s reaches built-ins as objects: %s", (source, is) => {
  expect(mayReachBuiltIns(source)).toBe(is)
})

test.each([
  ["x[k]", true],
  ["x?.[k]", true],
  ["f()[k]", true],
  ["[][k]", true],
  ['[]["const" + "ructor"]', true],
  ["[]['\\x63onstructor']", true],
  ["x.\\u0063onstructor", true],
  ["const { [k]: c } = x", true],
  ["x[`k`]", true],
  ["x = x + 1", false],
  ["[1, 2].map((n) => n * 2)", false],
  ["const a = [x, y]", false],
  ["a[0] + b['name'] + c[\"name\"]", false],
  ["const all: number[] = []", false],
])("%s may have a word that is not to be read: %s", (source, is) => {
  expect(mayHideWords(source)).toBe(is)
})

test("what no text gives away is found late", async () => {
  const session = new ResidentSession()
  await session.run("let k = 'const' + 'ructor'; const patched = []; patched[k].later = 1")
  for (let count = 0; count < 64; count++) await session.run("k = k")
  session.rebuild()
  expect(await session.run("(Array as any).later")).toBe(1)
})
