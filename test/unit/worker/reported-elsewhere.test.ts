// What users of other tools of this kind have reported, as programs: each is a list of evals, with the realm thrown away between them, and
// what the last one gives. The title says where it was reported.
import { expect, test } from "vitest"
import { ResidentSession } from "../../resident.ts"

test.each<[where: string, evals: string[], value: unknown]>([
  ["a failed initialiser leaves its name free: nodejs/node#42084", ["let x = nope()", "let x = 4", "x"], 4],
  ["const is declared again by another eval: denoland/deno#26026", ["const a = 1", "const a = 2", "a"], 2],
  [
    "a cell with const, let and class runs again: n-riesco/ijavascript#107",
    [
      "const a = 1; let b = 2; class C { m() { return a + b } }",
      "const a = 1; let b = 2; class C { m() { return a + b } }",
      "new C().m()",
    ],
    3,
  ],
  [
    "what was made before a throw is kept: openai/codex#13482",
    ["const a = 1; let b = nope(); const c = 3", "[a, typeof b, typeof c]"],
    [1, "undefined", "undefined"],
  ],
  ["assignments before an await last: can1357/oh-my-pi#10987", ["var v = 0; v = 1; await 0", "v"], 1],
  ["one's own name hides an injected one: can1357/oh-my-pi#10988", ["const Transcript = 'mine'", "Transcript"], "mine"],
  [
    "patterns, literals with declarations in them, block scopes: code-yeongyu/senpi#1150",
    ["const { a, b: [c = 2] } = { a: 1, b: [] }; const s = 'let z = 1'; { let inner = 1 }", "[a, c, s, typeof inner]"],
    [1, 2, "let z = 1", "undefined"],
  ],
  [
    "return in a nested function: code-yeongyu/senpi#1439",
    ["const f = () => { return 1 }", "[1, 2].map((x) => { return x * f() })"],
    [1, 2],
  ],
  ["no semicolon at the end: QwenLM/qwen-code#12167", ["let x = 1", "x"], 1],
  [
    "require and module are names: code-yeongyu/senpi#1286",
    ["const require = 1; const module = 2", "[require, module]"],
    [1, 2],
  ],
  [
    "a var beside a catch parameter of that name: kernel/kernel-images#368",
    ["var e = 1; try { throw 2 } catch (e) { var f = e; e = 3 }", "[e, f]"],
    [1, 2],
  ],
  ["a name that is only assigned: yunabe/tslab#38", ["x = 1", "x"], 1],
  [
    "holes, rest and defaults in patterns: oven-sh/bun#31827",
    ["const [, a, ...[b = 5]] = [1, 2]; const { ...rest } = { p: 1 }", "[a, b, rest.p]"],
    [2, 5, 1],
  ],
  [
    "await makes no variable of a constant: nodejs/node#17669",
    ["const c = await Promise.resolve(1)", "try { eval('') ; (() => { throw 0 })() } catch {} typeof c"],
    "number",
  ],
  [
    "only what is written is awaited: nodejs/node#43777",
    ["const p = await 1, q = Promise.resolve(2) instanceof Promise", "[p, q]"],
    [1, true],
  ],
  ["throw null is contained: nodejs/node test-repl-throw-null", ["throw null", "throw undefined", "1"], 1],
  ["a BigInt result: langchain-ai/deepagentsjs#558", ["let big = 2n ** 70n", "big"], 2n ** 70n],
  [
    "a throwing custom inspector: nodejs/node#16483",
    [
      "const o = { get boom() { throw 2 } }; o[Symbol.for('nodejs.util.inspect.custom')] = function () { throw 1 }; o",
      "Object.keys(o)",
    ],
    ["boom"],
  ],
  [
    "a replaced map of arrays: nodejs/node, R23",
    [
      "const map = Array.prototype.map; Array.prototype.map = null",
      "[1].length",
      "Array.prototype.map = map; [1].map((x) => x + 1)",
    ],
    [2],
  ],
])("%s", async (_where, evals, value) => {
  const session = new ResidentSession()
  for (const [index, source] of evals.entries()) {
    const { value: given, text } = await session.eval(source)
    if (index === evals.length - 1) expect(given, text).toEqual(value)
    else session.rebuild()
  }
})

test("a constant stays one behind an await, and lines and columns are the user's: nodejs/node#17669, denoland/deno#20643", async () => {
  const session = new ResidentSession()
  await session.run("const c = await 1")
  session.rebuild()
  const assigned = await session.eval("c = 2")
  expect(assigned.text).toContain("Assignment to constant variable")
  const { error } = await session.eval("interface A {\n  b: string\n}\nconst x = 1 as number\n/* 😀 */ nope(x)")
  expect(error?.stack[0]).toMatchObject({ line: 5, column: 10 })
})
