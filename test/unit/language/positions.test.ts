// Errors and stacks stand where the user wrote the code: after emoji, over CRLF, through every edit, and without a name of ours.
import { describe, expect, test } from "vitest"
import { compileDefinitions } from "../../../runtime/language/compile.ts"
import { cleanMessage, mapStack, type Frame } from "../../../runtime/language/stack.ts"
import { cleanText } from "../../../stdlib/messages.ts"
import { TestSession } from "../../realm.ts"

/** The frames of what the last eval threw, as `name@eval:line:column`. */
async function frames(evals: string[], promotes = true): Promise<string[]> {
  const session = new TestSession({ promotes })
  let error: unknown
  for (const source of evals) ({ error } = await session.eval(source))
  return mapStack((error as Error).stack!, (filename) => session.units.get(filename)).map(show)
}

function show({ name, filename, line, column, isAsync }: Frame): string {
  return `${isAsync ? "async " : ""}${name ?? "eval"}@${/\d+/.exec(filename)![0]}:${line}:${column}`
}

describe("stacks", () => {
  test.each<[string, string[], string[]]>([
    ["a throw", ["throw new Error('x')"], ["eval@1:1:7"]],
    ["after an edit in the same line", ["let x = 1", "x + x; x.a.b.c"], ["eval@2:1:12"]],
    ["in a cell", ["let x = 1; const f = () => { x; x.a.b }", "f()"], ["f@1:1:37", "eval@2:1:1"]],
    ["after an emoji", ["'😀é漢'; throw new Error()"], ["eval@1:1:15"]],
    ["astral name and text before an edit", ["let 𝑥 = 1", "/*𝒳*/ 𝑥; null.a"], ["eval@2:1:17"]],
    ["CRLF", ["let x = 1\r\nx\r\n  throw new Error()"], ["eval@1:3:9"]],
    ["line separators", ["1\u2028 2\u2029  throw new Error()"], ["eval@1:3:9"]],
    ["a failed call", ["let f: any = 1; const g = () => f()", "\n  g()"], ["g@1:1:33", "eval@2:2:3"]],
    ["a failed call at the start of a statement", ["let f: any = 1; const g = () => f\nf()"], ["eval@1:2:1"]],
    [
      "a definition",
      ["let k = 0\nfunction f(a: number): number {\n  if (a) throw new Error()\n  return a\n}", "1;\n  f(2)"],
      ["f@1:3:16", "eval@2:2:3"],
    ],
    [
      "behind erased types",
      ["const f = (a: { b: number }, c?: string): void => { throw new Error() }; f(1 as any)"],
      ["f@1:1:59", "eval@1:1:74"],
    ],
    [
      "a class",
      ["class A<T> {\n  private x = 1\n  m(this: A<T>, y: T) { throw new Error() }\n}", "new A<number>().m(1)"],
      ["A.m@1:3:31", "eval@2:1:17"],
    ],
    ["a constructor", ["class A { constructor() { throw new Error() } }", "new A()"], ["new A@1:1:33", "eval@2:1:1"]],
    [
      "parameter properties",
      ["class A {\n  constructor(private x: number) {}\n  m() {\n    throw new Error()\n  }\n}", "new A(1).m()"],
      ["A.m@1:4:11", "eval@2:1:10"],
    ],
    [
      "an enum that fails",
      ["const f = () => { throw new Error() }", "1\nenum E {\n  A = f(),\n}"],
      ["f@1:1:25", "eval@2:3:7", "eval@2:4:1"],
    ],
    ["after a lowered statement", ["enum E { A }\n  throw new Error()"], ["eval@1:2:9"]],
    ["an object literal", ["{ a: null.b }"], ["eval@1:1:11"]],
    ["async", ["const f = async () => { await 1; throw new Error() }", "await f()"], ["f@1:1:40", "async eval@2:1:1"]],
    ["a callee that is bound nowhere", ["1 + !typeof nope(2)"], ["eval@1:1:13"]],
    ["through a native", ["[1].map(() => { throw new Error() })"], ["eval@1:1:23", "eval@1:1:5"]],
    [
      "a rebuilt definition",
      ["const f = () => 1", "const g = () => { f().a.b }", "const f = () => 2", "g()"],
      ["g@2:1:24", "eval@4:1:1"],
    ],
  ])("%s", async (_what, evals, expected) => {
    for (const promotes of [true, false]) expect(await frames(evals, promotes)).toEqual(expected)
  })

  test("definitions compiled again keep their places", () => {
    const unit = compileDefinitions(
      [
        { name: "g", kind: "function", source: "function g() { return f() }", filename: "b.ts", line: 9, column: 5 },
        { name: "f", kind: "const", source: "const f = () => {\n  throw 1\n}", filename: "a.ts", line: 3, column: 7 },
      ],
      { kind: () => undefined, isRealmGlobal: () => false },
    )
    if (!unit.valid) throw new Error(unit.rendered)
    const places = ["f()", "=> {", "throw"].map((text) => {
      const lines = unit.code.slice(0, unit.code.indexOf(text)).split("\n")
      return unit.map(lines.length, lines.at(-1)!.length + 1)
    })
    expect(places).toEqual([
      { filename: "b.ts", line: 9, column: 27 },
      { filename: "a.ts", line: 3, column: 20 },
      { filename: "a.ts", line: 4, column: 3 },
    ])
  })
})

describe("messages", () => {
  test.each([
    ["let f: any; const g = () => f", "f()", "f is not a function"],
    ["let f: any = 1; const g = () => f", "f`x`", "f is not a function"],
    ["let o: any = {}; const g = () => o", "o.a.b", "Cannot read properties of undefined (reading 'b')"],
    ["let o: any = {}; const g = () => o", "o.m()", "o.m is not a function"],
    ["let o: any = {}; const g = () => o", "new o.M()", "o.M is not a constructor"],
    ["let n: any = 1; const g = () => n", "[...n]", "n is not iterable"],
    ["let n: any = 1; const g = () => n", "for (const x of n);", "n is not iterable"],
    [
      "let n: any; const g = () => n",
      "{ const { a } = n }",
      "Cannot destructure property 'a' of 'n' as it is undefined.",
    ],
    ["let $a: any; const g = () => $a", "$a()", "$a is not a function"],
    ["let $$: any; const g = () => $$", "$$()", "$$ is not a function"],
  ])("%s; %s", async (first, second, message) => {
    const session = new TestSession({ promotes: false })
    await session.eval(first)
    const { error } = await session.eval(second)
    expect(cleanMessage((error as Error).message)).toMatch(message)
    expect(cleanText((error as Error).message)).toMatch(message)
    const caught = await session.eval(`try { ${second} } catch (e) { e.message + e.stack.split("\\n")[0] }`)
    expect(caught.value).toBe(
      `${cleanMessage((error as Error).message)}TypeError: ${cleanMessage((error as Error).message)}`,
    )
    const pattern = await session.eval(`try { ${second} } catch ({ message }) { message }`)
    expect(pattern.value).toBe(cleanMessage((error as Error).message))
  })

  test("a user's own text is left alone", () => {
    expect(cleanMessage("costs $$5 and $$")).toBe("costs $$5 and $$")
  })
})

describe("invalid sources", () => {
  test.each([
    ["let x: ;", "Unexpected token (1:8)\n1 | let x: ;\n  |        ^"],
    ["'😀é漢'; let = 5", "(1:9)\n1 | '😀é漢'; let = 5\n  |        ^^^"],
    ["\r\n\r\n  foo(]", "(3:7)\n3 |   foo(]\n  |       ^"],
    ["\tlet y = {a:1 b:2}", "(1:15)\n1 | \tlet y = {a:1 b:2}\n  | \t             ^"],
    [
      "let x = 1; let x = 2",
      "Identifier `x` has already been declared (1:16)\n1 | let x = 1; let x = 2\n  |                ^",
    ],
    ["1\nclass A { m(@d x) {} }", "(2:13)"],
    ["enum E { A = }", "(1:14)"],
    ["export default 1", "(1:1)"],
    ["break", "Illegal break statement (1:1)"],
    ["return 1", "(1:1)"],
  ])("%j", async (source, rendered) => {
    const session = new TestSession()
    const result = await session.eval(source)
    expect(result.status).toBe("invalid")
    expect(result.rendered).toContain(rendered)
  })
})
