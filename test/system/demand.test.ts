// What users of other evaluation servers and notebooks have reported, each with the behaviour that is right. The rows are named as in the list of
// reports they come from: D1 to D20 state and redeclaration, D21 to D26 top-level await, D45 to D56 errors and exits, D57 to D66 output,
// D82 to D90 positions, completeness and completion.
import { describe, expect, test } from "vitest"
import { connectStdio } from "nacre/client"
import type { Outcome, Session } from "nacre"
import { completeness } from "../../runtime/language/completeness.ts"
import { until } from "../until.ts"
import { useNacre } from "./nacre-under-test.ts"

const under = useNacre({ limits: { outputBytesMax: 4_000, valueTextMax: 2_000 } })

/** Code, and what it gives: a value, or what is thrown, as `Name: message` or by a pattern; with "invalid" nothing of it runs. */
type Step = [code: string, expected: unknown]

function told({ status, value, error }: Outcome): unknown {
  if (status === "ok") return value?.data
  return status === "invalid" ? `invalid: ${error?.message}` : `${error?.name}: ${error?.message}`
}

async function take(session: Session, steps: readonly Step[]): Promise<void> {
  for (const [code, expected] of steps) {
    const answer = told(await session.eval(code))
    if (expected instanceof RegExp) expect(String(answer), code).toMatch(expected)
    else expect(answer, code).toEqual(expected)
  }
}

const unbound = /ReferenceError: boom is not defined/

const rows: [row: string, right: string, steps: Step[]][] = [
  [
    "D1",
    "a name whose initialiser threw stays free",
    [
      ["let x = boom()", unbound],
      ["let x = 4; x", 4],
      ["const { a, b } = boom()", unbound],
      ["const [a, b] = [1, 2]; a + b", 3],
      ["class C extends boom() {}", unbound],
      ["class C { m() { return 1 } } new C().m()", 1],
      ["const k = await boom()", unbound],
      ["function k() { return 7 } k()", 7],
    ],
  ],
  [
    "D2",
    "const may be declared again by another eval, and not twice in one",
    [
      ["const a = 1", undefined],
      ["const a = 2; a", 2],
      ["const b = 1; const b = 2", /^invalid: .*b.*already been declared/],
      ["a = 3", /TypeError: Assignment to constant variable/],
      ["a", 2],
    ],
  ],
  [
    "D3",
    "a cell runs again",
    Array.from({ length: 3 }, (): Step => [
      "const c = 1; let l = 2; var v = 3; function f() { return 4 } class K { n = 5 } enum E { A = 6 } namespace N { export const n = 7 } type T = number; interface I { n: T } [c, l, v, f(), new K().n, E.A, N.n]",
      [1, 2, 3, 4, 5, 6, 7],
    ]),
  ],
  [
    "D4",
    "one name can be taken away, and all of them",
    [
      ["let one = 1, two = 2; function three() {}", undefined],
      ["Session.current.bindings.removeKey('one')", undefined],
      ["[typeof one, two, typeof three]", ["undefined", 2, "function"]],
      ["Session.current.clear()", undefined],
      ["[typeof one, typeof two, typeof three]", ["undefined", "undefined", "undefined"]],
    ],
  ],
  [
    "D6",
    "blocks keep what is theirs, and nobody needs them to declare again",
    [
      ["{ const inner = 1; let other = 2; var outer = inner + other }", undefined],
      ["[typeof inner, typeof other, outer]", ["undefined", "undefined", 3]],
      ["const outer = 'again'; outer", "again"],
    ],
  ],
  [
    "D9",
    "what was assigned before an await stays",
    [
      ["var v = 0; v = 1; await 0;", 0],
      ["let l = 0; l = 1; await 0; l += 1; await 0", 0],
      ["[v, l]", [1, 2]],
    ],
  ],
  [
    "D10",
    "a session's own name hides what is given",
    [
      ["const fs = { mine: true }, tools = 'mine', Transcript = 5", undefined],
      ["[fs.mine, tools, Transcript]", [true, "mine", 5]],
      ["const console = { log: () => 'mine' }; console.log()", "mine"],
      ["console.log()", "mine"],
    ],
  ],
  [
    "D11",
    "what looks like a declaration and is none stays what it is",
    [
      [
        "const text = 'let inText = 1', re = /const inRe = 1/, tpl = `var inTpl = ${1}`; for (let i = 0; i < 2; i++) { const inBlock = i }",
        undefined,
      ],
      [
        "[text, String(re), tpl, typeof inText, typeof inRe, typeof inTpl, typeof i, typeof inBlock]",
        [
          "let inText = 1",
          "/const inRe = 1/",
          "var inTpl = 1",
          "undefined",
          "undefined",
          "undefined",
          "undefined",
          "undefined",
        ],
      ],
    ],
  ],
  [
    "D12",
    "the word return in a function inside takes nothing from the value",
    [
      ["[1, 2].map((x) => { return x * 2 })", [2, 4]],
      ["function f() { return 'return' } f()", "return"],
      ["// return 1\n'last'", "last"],
      ["return 1", /^invalid: /],
    ],
  ],
  [
    "D13",
    "no semicolon is missed, and no name of ours is in a message",
    [
      ["let a = 1", undefined],
      ["const b = a\n;[b].length", 1],
      ["let f = 5\nf()", /^TypeError: f is not a function$/],
      ["a.b.c", /^TypeError: Cannot read properties of undefined \(reading 'c'\)$/],
      ["nope()", /^ReferenceError: nope is not defined$/],
      ["let g = () => h\ng()", /^ReferenceError: h is not defined$/],
    ],
  ],
  [
    "D14",
    "require, module and exports are names like others",
    [
      [
        "const require = (x) => `mine ${x}`, module = { exports: 1 }, exports = 2; [require('a'), module.exports, exports]",
        ["mine a", 1, 2],
      ],
      ["[require('b'), module.exports, exports]", ["mine b", 1, 2]],
      ["let __filename = 'f', __dirname = 'd'; __filename + __dirname", "fd"],
    ],
  ],
  [
    "D15",
    "a var beside a catch parameter of its name is another variable",
    [
      ["var e = 'outer'; try { throw 1 } catch (e) { var e = 2; e = 3 } e", "outer"],
      ["e", "outer"],
    ],
  ],
  [
    "D16",
    "definitions are there in the next program",
    [
      ["function twice(n: number) { return n * 2 } class P { x = 1 } const k = { f: () => twice(4) }", undefined],
      ["[twice(2), new P().x, k.f()]", [4, 1, 8]],
    ],
  ],
  [
    "D19",
    "an assignment makes a name, also where types are checked",
    [
      ["x = 1", 1],
      ["x += 1; x", 2],
      ["undeclared += 1", /ReferenceError/],
    ],
  ],
  [
    "D20",
    "patterns with holes, rests and defaults",
    [
      [
        "const [a, , b = 3, ...rest] = [1, 2, undefined, 4, 5], { c: { d = 6 } = {}, ['e' + 1]: f = 7, ...others } = { g: 8, h: 9 }; [a, b, rest, d, f, others]",
        [1, 3, [4, 5], 6, 7, { g: 8, h: 9 }],
      ],
      [
        "let [p, [q = a] = []] = [10]; [p, q] = [q, p]; for (const [i, { j }] of [[1, { j: 2 }]]) p += i + j; [a, b, rest, d, f, others, p, q]",
        [1, 3, [4, 5], 6, 7, { g: 8, h: 9 }, 4, 10],
      ],
      ["let [m, , n = await 12] = await Promise.resolve([11, 0]); [m, n]", [11, 12]],
    ],
  ],
  [
    "D21",
    "const stays const beside an await",
    [
      ["const k = await 1", undefined],
      ["k = 2", /TypeError: Assignment to constant variable/],
      ["const m = await 1; m = 2", /TypeError: Assignment to constant variable/],
      ["[k, typeof m]", [1, "number"]],
    ],
  ],
  [
    "D22",
    "await in strict code",
    [
      ["'use strict'; let s = await Promise.resolve(2); s", 2],
      ["await s; this", undefined],
    ],
  ],
  [
    "D23",
    "awaited is what an await is written for",
    [
      ["let log = []; const b = { then() { log.push('asked') } }; await 1, (log.push('after'), 0)", 0],
      ["log", ["after"]],
      ["let list = [await 1, Promise.resolve(2)]; list[1] instanceof Promise", true],
    ],
  ],
  [
    "D24",
    "what never settles ends with an error",
    [
      ["let before = 1; await new Promise(() => {})", /^Error: The eval awaits a promise that nothing can settle/],
      ["before", 1],
    ],
  ],
  [
    "D26",
    "a promise that nobody holds is waited for",
    [["await new Promise((resolve) => setTimeout(() => { new Array(1e6).fill(0); resolve('held') }, 20))", "held"]],
  ],
  [
    "D48",
    "what is thrown is no success, whatever it is",
    [
      ["throw new Error('mine')", "Error: mine"],
      ["throw { code: 5 }", /code/],
      ["await Promise.reject(new TypeError('mine'))", "TypeError: mine"],
      ["(async () => { throw new RangeError('mine') })()", "RangeError: mine"],
      ["class E extends Error { name = 'E' } throw new E('mine')", "E: mine"],
    ],
  ],
  [
    "D53",
    "what failed leaves nothing that is in the way",
    [
      ["function f() { return g() } function g() { return 1 } throw new Error('mine')", "Error: mine"],
      ["function g() { return 2 } f()", 2],
      ["class A { static x = boom() }", unbound],
      ["class A { static x = 1 } A.x", 1],
    ],
  ],
  [
    "D56",
    "null and undefined can be thrown",
    [
      ["throw null", /null/],
      ["throw undefined", /undefined/],
      ["await Promise.reject()", /undefined/],
      ["1 + 1", 2],
    ],
  ],
]

describe("evals one after the other", () => {
  test.each(rows)("%s %s", async (_row, _right, steps) => {
    await take(await under.open(), steps)
  })

  test.each(rows.filter(([row]) => row !== "D24"))(
    "%s %s, with the host killed in between",
    async (row, _right, steps) => {
      const session = await under.open()
      for (const [index, step] of steps.entries()) {
        if (index > 0 && index === steps.length - 1 && row !== "D3") await under.killHosts()
        await take(session, [step])
      }
    },
  )
})

/** The text that was written. */
function written({ output }: Outcome): string {
  return output.map(({ text }) => text).join("")
}

describe("state", () => {
  test("D5 loading a text again replaces what it declared", async () => {
    const session = await under.open()
    const source =
      "export function f(n: number): number\nexport function f(s: string): string\nexport function f(x: any) { return x }\nexport const k = 1"
    for (let time = 0; time < 3; time++) expect(await session.submit({ source })).toMatchObject({ status: "committed" })
    await take(session, [["[f(1), f('a'), k]", [1, "a", 1]]])
  })

  test("D7 D8 what a failed eval leaves is said, and nothing of ours is within reach", async () => {
    const session = await under.open()
    const outcome = await session.eval("const a = 1; let b = boom(); const c = 3; function f() {}")
    expect(outcome).toMatchObject({ status: "threw", committed: { set: ["a"], removed: [], definitions: ["f"] } })
    await take(session, [
      ["[a, typeof b, typeof c, typeof f]", [1, "undefined", "undefined", "function"]],
      [
        "[typeof $$_0, typeof $$_1, typeof $$_a, typeof $$_make, typeof $$_run, typeof $$_lowered]",
        Array(6).fill("undefined"),
      ],
      ["Object.getOwnPropertyNames(globalThis).filter((name) => /[$]|nacre|hook/i.test(name))", []],
      ["(function () { return [typeof arguments[0], this === undefined] })()", ["undefined", true]],
    ])
  })

  test("D17 a reset leaves nothing of what was", async () => {
    const session = await under.open()
    await session.eval(
      "Array.prototype.mine = 1; globalThis.mine = 2; let mine2 = 3; function mine3() {} Math.max = () => 0; const never = setInterval(() => {}, 1)",
    )
    await session.reset()
    await take(session, [
      [
        "[[].mine, typeof globalThis.mine, typeof mine2, typeof mine3, Math.max(1, 2)]",
        [undefined, "undefined", "undefined", "undefined", 2],
      ],
    ])
  })

  test(
    "D18 D19 what one eval declares is known to the check of the next, and an assignment makes a name there too",
    { timeout: 60_000 },
    async () => {
      const session = await under.open({ check: "types" })
      await take(session, [
        ["function twice(n: number) { return n * 2 } let held = twice(2); x = 1", 1],
        ["x + held", 5],
        ["twice('a')", /^invalid: .*'string' is not assignable.*'number'/],
        ["held.toUpperCase()", /^invalid: .*toUpperCase/],
      ])
      const loose = await under.open()
      await take(loose, [["const n: number = 'no' as any; y = n; y.length", 2]])
    },
  )
})

describe("top-level await", () => {
  test.each([
    ["await (", "incomplete"],
    ["await fetch(", "incomplete"],
    ["async () => { await", "incomplete"],
    ["await )", "invalid"],
    ["await await", "incomplete"],
    ["const x = await", "incomplete"],
    ["await 1 2", "invalid"],
  ])("D25 %j is %s", (source, state) => {
    expect(completeness(source).state).toBe(state)
  })
})

describe("errors and exits", () => {
  test("D45 D47 D49 D55 a promise that nobody waits for, and a timer, fail by themselves: the eval is told of, and the session goes on", async () => {
    const session = await under.open()
    const early = await session.eval("Promise.reject(new Error('nobody waits')); 1")
    expect(early).toMatchObject({ status: "threw", error: { message: "nobody waits" } })
    const timer = await session.eval(
      "setTimeout(() => { throw new Error('of a timer') }, 1); await new Promise((ok) => setTimeout(ok, 30)); 2",
    )
    expect(timer).toMatchObject({ status: "threw", error: { message: "of a timer" } })
    await take(session, [
      ["let kept = 1; (async () => { await 0; throw new Error('later') })(); kept", "Error: later"],
      ["kept", 1],
      ["let fire; new Promise((ok) => { fire = ok }).then(() => { throw new Error('after the end') }); 0", 0],
      ["fire(); 2", 2],
    ])
    const stray = await until("what an ended eval has thrown", () =>
      under.events.find((it) => it.type === "session.stray"),
    )
    expect(stray).toMatchObject({ session: session.id, text: expect.stringContaining("after the end") })
    await take(session, [["kept", 1]])
  })

  test("D46 D50 a killed host is named, and the next eval runs", async () => {
    const session = await under.open()
    await session.eval("let n = 1")
    const { outcome } = await under.computing(session, "n = 2; console.log('on'); for (;;);")
    await under.killHosts()
    expect(await outcome).toMatchObject({ status: "crashed", committed: { set: [] } })
    await take(session, [["n", 1]])
    await under.killHosts()
    await take(session, [["n += 1", 2]])
  })

  test("D51 D52 an exit is an answer at once, and ends neither the session nor the host", async () => {
    const session = await under.open({ profile: "full" })
    const outcome = await session.eval("let n = 5; process.exit(3); n = 6")
    expect(outcome).toMatchObject({ status: "exited", exitCode: 3 })
    await take(session, [["n", 5]])
    expect(await session.eval("await 1; process.exit(0)")).toMatchObject({ status: "exited", exitCode: 0 })
    await take(session, [["n", 5]])
  })

  test("D54 what comes after the end is dropped, or named", async () => {
    const session = await under.open()
    const parked = session.eval("let n = 1; await tools.hold('late'); n = 2; console.log('too late'); n")
    const { gate } = await under.parked("late")
    await session.interrupt()
    gate.open()
    const outcome = await parked
    expect(outcome.status).toBe("interrupted")
    await take(session, [["typeof n", "undefined"]])
    expect(written(outcome)).toBe("")
  })
})

describe("output and values", () => {
  test("D57 what code writes late is its own eval's, and no other's", async () => {
    const session = await under.open()
    const first = session.eval(
      "console.log('first'); await tools.hold('a'); await new Promise((ok) => setTimeout(() => { console.log('first, late'); ok() }, 1))",
    )
    const held = await under.parked("a")
    const second = session.eval("console.log('second')")
    held.gate.open()
    expect(written(await first)).toBe("first\nfirst, late\n")
    expect(written(await second)).toBe("second\n")
    await session.eval("const tick = () => console.log('tick'); setInterval(tick, 1); 0")
    expect(written(await session.eval("await new Promise((ok) => setTimeout(ok, 20)); 0"))).toBe("")
  })

  test("D58 D59 D61 a flood is cut at a whole character and counted; text without a line end comes as it is", async () => {
    const session = await under.open({ profile: "full" })
    const flood = await session.eval("for (let i = 0; i < 5_000; i++) console.log('é😀'.repeat(5)); 1")
    expect(flood.status).toBe("ok")
    expect(Buffer.byteLength(written(flood))).toBeLessThanOrEqual(4_000)
    expect(written(flood)).not.toContain("\ufffd")
    expect(flood.omittedBytes).toBe(5_000 * 31 - Buffer.byteLength(written(flood)))
    expect(written(await session.eval("process.stdout.write('no end é'); process.stderr.write('!'); 1"))).toBe(
      "no end é!",
    )
  })

  test("D62 what code writes to its process's own streams is output, and never part of the protocol", async () => {
    await using client = await connectStdio({ initialize: { profile: "full" } })
    const code =
      "process.stdout.write('Content-Length: 2\\r\\n\\r\\n{}'); process.stderr.write('{'); console.log('{\"jsonrpc\":\"2.0\"'); 1"
    const answer = await client.request("eval", { code })
    expect(answer.output.map(({ text }) => text).join("")).toBe('Content-Length: 2\r\n\r\n{}{{"jsonrpc":"2.0"\n')
    expect(await client.request("eval", { code: "6 * 7" })).toMatchObject({ value: { text: "42" } })
  })

  test.each([
    [
      "D60",
      "a value that cannot be written",
      "({ f() {}, s: Symbol('s'), p: new Proxy({}, { get() { throw 1 } }), w: new WeakMap() })",
      /Symbol\(s\)/,
    ],
    ["D63", "a huge value", "Object.fromEntries(Array.from({ length: 1e5 }, (_, i) => ['key' + i, { i }]))", /key0/],
    [
      "D65",
      "a proxy that throws at everything",
      "new Proxy({}, new Proxy({}, { get() { throw new Error('trap') } }))",
      /Proxy|\{\}/,
    ],
    [
      "D65",
      "a display that throws",
      "({ get [Symbol.toStringTag]() { throw 1 }, [Symbol.for('nodejs.util.inspect.custom')]() { throw 2 }, toJSON() { throw 3 }, a: 1 })",
      /a: 1/,
    ],
    [
      "D65",
      "an error that throws when it is asked",
      "Object.defineProperties(new Error('m'), { stack: { get() { throw 1 } }, message: { get() { throw 2 } } })",
      /./,
    ],
  ])("%s %s is shown within bounds", async (_row, _what, code, text) => {
    const session = await under.open()
    const outcome = await session.eval(code)
    expect(outcome.status).toBe("ok")
    expect(outcome.value?.text).toMatch(text)
    expect(outcome.value!.text.length).toBeLessThanOrEqual(2_100)
    await take(session, [["1 + 1", 2]])
  })

  test.each([
    ["D64", "10n ** 30n", 10n ** 30n],
    ["D66", "[2n ** 53n + 1n, -1n, 9007199254740993n]", [2n ** 53n + 1n, -1n, 9_007_199_254_740_993n]],
    ["D66", "[-0, NaN, 2 ** 53]", [-0, Number.NaN, 2 ** 53]],
  ])("%s %s comes out whole", async (_row, code, expected) => {
    const session = await under.open()
    expect((await session.eval(code)).value?.data).toEqual(expected)
  })
})

describe("positions, completeness and completion", () => {
  const typed =
    "interface A { a: number }\n\nenum E { X = 1, Y }\nclass B<T extends A> implements A {\n  constructor(readonly a: T['a'], public b?: string) {}\n}\nfunction f<T>(this: void, x: T, ...ys: Array<number>): T {\n  const n = (x as any)!.y satisfies unknown; throw new Error(String(n))\n}\n"

  test("D82 D83 D84 lines and columns are those of the text, through types, enums and generics, and only the user's frames are shown", async () => {
    const session = await under.open()
    const { error } = await session.eval(`${typed}f<A>({ a: 1 })`, { file: "mine.ts" })
    expect(error?.stack.map(({ file, line, column, name }) => [file, line, column, name ?? ""])).toEqual([
      ["mine.ts", 8, 52, "f"],
      ["mine.ts", 10, 1, ""],
    ])
    expect((await session.eval("null.x", { file: "mine.ts" })).error?.stack).toMatchObject([{ line: 1, column: 6 }])
  })

  test("D85 D90 completion counts in UTF-16 units, and knows what was imported", { timeout: 60_000 }, async () => {
    const session = await under.open({ profile: "full" })
    await session.eval("import { readFileSync as readIt } from 'node:fs'; const 한국어값 = 1, plain = 2")
    for (const [text, name] of [
      ["'😀é漢'; readI", "readIt"],
      ["'😀'; 한국", "한국어값"],
      ["'한국어'; pla", "plain"],
    ] as const) {
      const { start, items } = await session.complete(text)
      expect(text.slice(start), text).toBe(text.slice(text.lastIndexOf(" ") + 1))
      expect(
        items.map((it) => it.name),
        text,
      ).toContain(name)
    }
  })

  test.each([
    ["D86", "/'/.test(x)", "complete"],
    ["D86", "/[/'\"`]/", "complete"],
    ["D86", "// it's", "complete"],
    ["D86", '/* " */ 1', "complete"],
    ["D86", "'a\\\nb'", "complete"],
    ["D86", "'a\\\n", "incomplete"],
    ["D86", "a = 3.5e", "invalid"],
    ["D86", "a = 3.5e1", "complete"],
    ["D86", "x = { a: 1 }\n/b/", "incomplete"],
    ["D87", "a.", "incomplete"],
    ["D87", "a?.", "incomplete"],
    ["D87", "/[']/", "complete"],
    ["D87", "/['\"]/.exec(`'`)", "complete"],
    ["D88", "const n: number = 'text'", "complete"],
    ["D88", "function f(x: Missing) {", "incomplete"],
    ["D88", "type T = {", "incomplete"],
    ["D88", "`${", "incomplete"],
  ])("%s %j is %s", (_row, source, state) => {
    expect(completeness(source).state).toBe(state)
  })

  test("D89 neither completion nor a preview runs code", { timeout: 60_000 }, async () => {
    const session = await under.open()
    const outcome = await session.eval(
      "let ran = 0; const trap = { get a() { ran++; return { b: 1 } }, [Symbol.iterator]: () => { ran++; return [][Symbol.iterator]() }, toString() { ran++; return '' } }, proxy = new Proxy({}, { get: () => ran++, ownKeys: () => { ran++; return [] } }); class C { get own() { ran++; return 1 } } const c = new C(); [trap, proxy, c]",
    )
    expect(outcome.status).toBe("ok")
    for (const text of ["trap.", "trap.a.", "proxy.", "c.", "c.own."]) await session.complete(text)
    await session.hover("trap.a", 5)
    await take(session, [["ran", 0]])
  })
})
