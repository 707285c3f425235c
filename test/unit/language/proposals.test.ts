// Decorators, `accessor` and `using` against TypeScript's own emit run in a plain context: the same values and the same order of side effects.
import vm from "node:vm"
import { inspect } from "node:util"
import ts from "typescript"
import { describe, expect, test } from "vitest"
import { ResidentSession } from "../../resident.ts"

/** The context of a session has what engines of today lack. */
const prelude = `for (const name of ["dispose", "asyncDispose", "metadata"]) if (!Symbol[name]) Object.defineProperty(Symbol, name, { value: Symbol("Symbol." + name) });
  globalThis.SuppressedError ??= class SuppressedError extends Error { constructor(error, suppressed, message) { super(message); Object.defineProperty(this, "error", { value: error, enumerable: false }); Object.defineProperty(this, "suppressed", { value: suppressed, enumerable: false }) } get name() { return "SuppressedError" } };`

async function byTypeScript(source: string, ask: string): Promise<string> {
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY)
  vm.runInContext(prelude, context)
  const { outputText } = ts.transpileModule(source, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  })
  const text = outputText.replace(/^export \{\};?\s*$/m, "")
  let failure = ""
  try {
    // `var` and function declarations of a module become globals, as the names of a session are there for what comes next.
    if (/\bawait\b/.test(text)) {
      const result = vm.runInContext(
        `"use strict";(async () => { ${text}\n;globalThis.ask = () => (${ask}) })()`,
        context,
      ) as Promise<void>
      await result
    } else vm.runInContext(`"use strict";(() => { ${text}\n;globalThis.ask = () => (${ask}) })()`, context)
  } catch (error) {
    failure = String(error)
  }
  if (failure !== "") return failure
  return inspect(vm.runInContext("ask()", context), { depth: 9 })
}

async function byUs(source: string, ask: string, isRebuilt: boolean): Promise<string> {
  const session = new ResidentSession()
  const first = await session.eval(source)
  if (first.status !== "ok")
    return first.text
      .split("\n")[0]!
      .replace(/^Uncaught /, "")
      .replace(/ \(.*$/, "")
  if (isRebuilt) {
    expect(session.ephemeral.map((name) => `${name}: ${session.ephemeralText(name)}`)).toEqual([])
    session.rebuild()
  }
  const { status, text, value } = await session.eval(ask)
  return status === "ok" ? inspect(value, { depth: 9 }) : text.split("\n")[0]!
}

const noting = `const log: any[] = [];
const note = (label: string) => (log.push("eval " + label), (value: any, context: any) => { log.push(["apply " + label, context.kind, String(context.name), context.static, context.private, typeof value, Object.keys(context)]); });
`

const decorated: [what: string, source: string, ask: string][] = [
  [
    "evaluation and application order",
    `${noting}
    @note("c1") @note("c2") class C {
      @note("m1") @note("m2") m() {}
      @note("f") f = log.push("init f");
      @note("s") static s = log.push("init s");
      @note("sm") static sm() {}
      @note("g") get g() { return 1 }
      @note("st") set g(v) {}
      @note("a") accessor a = log.push("init a");
      @note("sa") static accessor sa = log.push("init sa");
      static { log.push("block") }
      @note("p") #p() {}
      @note("pf") #pf = log.push("init pf");
      [(log.push("key"), "k")]() {}
      @note("ck") [(log.push("key2"), "k2")]() {}
      constructor() { log.push("constructor") }
    }
    new C();`,
    "log",
  ],
  [
    "a method replaced",
    `function loud(f: any, c: any) { return function (this: any, ...args: any[]) { return c.name + ":" + f.call(this, ...args) + "!" } }
    class A { n = 1; @loud hi(x: number) { return this.n + x } @loud static s() { return "s" } @loud get g() { return this.n } }
    const a = new A()`,
    "[a.hi(1), A.s(), a.g, A.prototype.hi.name, Object.getOwnPropertyNames(A.prototype), Object.getOwnPropertyNames(A)]",
  ],
  [
    "fields",
    `function twice(v: any, c: any) { return (x: any) => [c.name, x, x] } function one(v: any) { return (x: any) => 1 }
    class A { @twice a = 5; @twice b; @one @twice c = 2; @twice static s = 7; @twice "quoted key" = 1; @twice 12 = 3; @twice [\`com\${1}puted\`] = 4 }
    const a = new A()`,
    "[{ ...a }, A.s]",
  ],
  [
    "accessors",
    `function bounded(max: number) { return (v: any, c: any) => ({ get() { return v.get.call(this) }, set(x: number) { v.set.call(this, Math.min(x, max)) }, init(x: number) { return x + 1 } }) }
    class A { @bounded(10) accessor n = 1; accessor plain = 2; static accessor st = 3; @bounded(5) static accessor bs = 4; accessor ["key" + 1] = 9 }
    const a: any = new A(); const before = [a.n, a.plain, A.st, A.bs, a.key1]; a.n = 50; a.plain = 60; A.st = 70; A.bs = 80; a.key1 = 1`,
    "[before, a.n, a.plain, A.st, A.bs, a.key1, Object.keys(a), Object.getOwnPropertyNames(A.prototype)]",
  ],
  [
    "addInitializer",
    `const log: any[] = []; const add = (label: string) => (v: any, c: any) => { c.addInitializer(function (this: any) { log.push([label, c.kind, typeof this, this === globalThis.A]) }) };
    @add("class") class A { @add("m") m() {} @add("f") f = log.push("f"); @add("g") g = log.push("g"); @add("s") static s() {} @add("sf") static sf = log.push("sf"); @add("acc") accessor acc = log.push("acc"); constructor() { log.push("body") } }
    new A(); log.push("derived"); class B extends A { @add("own") own = log.push("own"); @add("bm") bm() {} constructor() { log.push("before"); super(); log.push("after") } } new B()`,
    "log",
  ],
  [
    "a class replaced",
    `const seen: any[] = []; function wrap(c: any, context: any) { seen.push(context.kind, context.name); return class extends c { extra = 1; static made = "wrapped" } }
    @wrap class A { me() { return A } static self = 1 } const a: any = new A()`,
    "[a.extra, a.me() === A, (A as any).made, seen, a instanceof A]".replace(" as any", ""),
  ],
  [
    "private members",
    `const log: any[] = []; function wrap(v: any, c: any) { log.push([c.kind, c.name, c.private, Object.keys(c.access)]); if (c.kind === "method") return function (this: any, x: number) { return v.call(this, x) * 10 }; if (c.kind === "getter") return function (this: any) { return v.call(this) + 100 }; if (c.kind === "setter") return function (this: any, x: number) { v.call(this, x + 1) }; if (c.kind === "accessor") return { get(this: any) { return v.get.call(this) + 1000 } }; return (x: number) => x + 5 }
    class A { @wrap #f = 1; @wrap #m(x: number) { return x + this.#f } @wrap get #g() { return this.#f } @wrap set #g(v) { this.#f = v } @wrap accessor #a = 3; @wrap static #s(x: number) { return x }
      run() { const first = [this.#f, this.#m(1), this.#g, this.#a, A.#s(4)]; this.#g = 50; this.#a = 7; return [first, this.#f, this.#g, this.#a] } static has(o: any) { return #m in o } }
    const a = new A(); const first = a.run()`,
    "[first, log, A.has(a), A.has({}), Object.getOwnPropertyNames(A.prototype), Object.getOwnPropertyNames(A)]",
  ],
  [
    "context.access",
    `const got: any[] = []; function probe(v: any, c: any) { got.push(c.access) }
    class A { @probe x = 1; @probe #y = 2; @probe m() { return 3 } @probe accessor z = 4; @probe get g() { return 5 } @probe set s(v: any) { this.x = v } }
    const a = new A(); const read = got.map((access) => [access.has(a), access.has({}), access.get?.(a)?.toString().slice(0, 1)]); got[0].set(a, 10); got[1].set(a, 20); got[3].set(a, 40); got[5].set(a, 60); const after = [a.x, got[1].get(a), a.z]; got.length = 0`,
    "[read, after]",
  ],
  [
    "metadata",
    `function meta(key: string) { return (v: any, c: any) => { (c.metadata[key] ??= []).push(String(c.name)) } }
    @meta("classes") class A { @meta("members") x = 1; @meta("members") y() {} } @meta("own") class B extends A { @meta("more") z = 1 }`,
    "[A[Symbol.metadata], B[Symbol.metadata], Object.getPrototypeOf(B[Symbol.metadata]) === A[Symbol.metadata], B[Symbol.metadata].members]",
  ],
  [
    "class expressions and their names",
    `const log: any[] = []; function n(v: any, c: any) { log.push(c.name) } const E = @n class {}; const F = @n class Inner { static who() { return Inner } }; const o = { G: @n class {} }; let H; H = @n class {}; const list = [@n class {}]; const M = class { @n m() {} }`,
    "[log, E.name, F.name, o.G.name, H.name, F.who() === F, list[0].name, M.name]",
  ],
  [
    "static blocks and this",
    `const id = (v: any, c: any) => v; @id class A { static x = 1; static y = this.x + A.x; static { this.z = A.y + 1 } static z: number }`,
    "[A.x, A.y, 'z' in A]",
  ],
  ["a result that is none", `class A { @(() => 5 as any) m() {} }`, "0"],
  [
    "initialisers that are added too late",
    `let late: any; class A { @((v: any, c: any) => { late = c.addInitializer }) m() {} } let message = ""; try { late(() => {}) } catch (e: any) { message = e.message } late = undefined`,
    "message",
  ],
  [
    "nested",
    `const log: any[] = []; const n = (l: string) => (v: any, c: any) => { log.push(l) }; @n("outer") class A { @n("m") m() { @n("inner") class B { @n("im") x = 1 } return new B().x } static K = @n("field") class {} } new A().m()`,
    "log",
  ],
  [
    "member expressions keep their object",
    `const tools = { tag: "t", mark(this: any, v: any, c: any) { seen.push(this?.tag) } }; const seen: any[] = []; @tools.mark class A { @tools.mark m() {} @(tools.mark) n() {} @(tools["mark"]) o() {} }`,
    "seen",
  ],
  [
    "async and generator methods",
    `const plain = (v: any) => v; class A { @plain async a() { return 1 } @plain *g() { yield 1 } @plain async *ag() {} @plain static async s() {} }`,
    "[[...new A().g()], A.prototype.a.constructor.name, A.s.constructor.name]",
  ],
  [
    "types in between",
    `function d(...args: any[]): any {} @d abstract class A<T> { @d protected readonly x: number = 1; declare y: string; @d public static z?: number; @d override toString(): string { return "A" } abstract m(): void; @d private async p<U>(u: U): Promise<U> { return u } } class B extends A<number> { m() {} }`,
    "[String(new B()), Object.keys(new B())]",
  ],
]

const resources = `const log: any[] = []; const res = (name: string, fails = false) => ({ name, [Symbol.dispose]() { log.push("dispose " + name); if (fails) throw new Error("dispose " + name) } }); const ares = (name: string, fails = false) => ({ name, async [Symbol.asyncDispose]() { log.push("start " + name); await 0; log.push("end " + name); if (fails) throw new Error("async " + name) } });
`
const used: [what: string, source: string, ask: string][] = [
  [
    "a block",
    `${resources} { using a = res("a"); using b = res("b"), c = null, d = res("d"); log.push(a.name, c) }`,
    "log",
  ],
  [
    "a function that returns",
    `${resources} function f() { using a = res("a"); log.push("body"); return a.name } log.push(f())`,
    "log",
  ],
  [
    "errors",
    `${resources} let caught: any; try { using a = res("a", true); using b = res("b", true); throw new Error("body") } catch (e) { caught = e }`,
    "[log, caught.name, caught.message, caught.error.message, caught.suppressed.name, caught.suppressed.error.message, caught.suppressed.suppressed.message]",
  ],
  [
    "one error",
    `${resources} let caught: any; try { using a = res("a", true); log.push(1) } catch (e) { caught = e.message }`,
    "[log, caught]",
  ],
  [
    "break, continue and labels",
    `${resources} out: for (let i = 0; i < 3; i++) { using a = res("a" + i); if (i === 0) continue; for (;;) { using b = res("b" + i); break out } }`,
    "log",
  ],
  [
    "for of",
    `${resources} for (using x of [res("x"), res("y")]) { log.push(x.name) } for (using x of [res("z")]) log.push(x.name)`,
    "log",
  ],
  [
    "for",
    `${resources} for (using x = res("x"), n = { i: 0, [Symbol.dispose]() {} }; n.i < 2; n.i++) log.push(x.name, n.i)`,
    "log",
  ],
  [
    "arrows, methods, static blocks",
    `${resources} const f = () => { using a = res("arrow"); return 1 }; class A { m() { using a = res("method"); return 2 } static { using s = res("static"); log.push("in") } constructor() { using c = res("constructor") } } log.push(f(), new A().m())`,
    "log",
  ],
  [
    "generators",
    `${resources} function* g() { using a = res("g"); yield 1; yield 2 } for (const x of g()) { log.push(x); break }`,
    "log",
  ],
  [
    "await using",
    `${resources} async function f() { await using a = ares("a"); await using b = ares("b"); using c = res("c"); log.push("body") } await f()`,
    "log",
  ],
  [
    "await using, errors",
    `${resources} let caught: any; try { await using a = ares("a", true); await using b = ares("b", true); throw new Error("body") } catch (e) { caught = e }`,
    "[log, caught.name, caught.error.message, caught.suppressed.error.message]",
  ],
  [
    "await using of what is not async",
    `${resources} { await using a = res("a"); await using n = null; log.push("body") }`,
    "log",
  ],
  [
    "for await",
    `${resources} async function* g() { yield ares("x"); yield ares("y") } for await (await using x of g()) log.push(x.name)`,
    "log",
  ],
  ["await using in for of", `${resources} for (await using x of [ares("x"), res("y")]) log.push(x.name)`, "log"],
  [
    "what cannot be disposed",
    `const log: any[] = []; for (const v of [1, {}, "s", { [Symbol.dispose]: 1 }] as any[]) try { using x = v } catch (e: any) { log.push(e.name) }`,
    "log",
  ],
  [
    "a disposer is read once, at the declaration",
    `const log: any[] = []; { const o: any = { get [Symbol.dispose]() { log.push("get"); return () => log.push("call") } }; using a = o; Object.defineProperty(o, Symbol.dispose, { value: () => log.push("other") , configurable: true}); }`.replace(
      'get [Symbol.dispose]() { log.push("get"); return () => log.push("call") }',
      "[Symbol.dispose]() { log.push('call') }",
    ),
    "log",
  ],
  [
    "declarations beside it",
    `${resources} { const before = f(); using a = res("a"); function f() { return "hoisted" } class K { k = before } log.push(new K().k) }`,
    "log",
  ],
  [
    "names that look like it",
    `let using = 1; using = 2; const o = { using, accessor: 3 }; class A { accessor = 4; using() { return 5 } } let accessor = 6`,
    "[using, o, new A().accessor, new A().using(), accessor]",
  ],
]

describe.each([
  ["in the realm that ran it", false],
  ["in a realm made from what was committed", true],
])("%s", (_where, isRebuilt) => {
  test.each(decorated)("decorators: %s", async (_what, source, ask) => {
    expect(await byUs(source, ask, isRebuilt)).toBe(await byTypeScript(source, ask))
  })
  test.each(used)("using: %s", async (_what, source, ask) => {
    expect(await byUs(source, ask, isRebuilt)).toBe(await byTypeScript(source, ask))
  })
})

test("what cannot be is said in words of the source", async () => {
  const session = new ResidentSession()
  const texts = async (source: string): Promise<string> => (await session.eval(source)).text.split("\n")[0]!
  expect(await texts("class A { constructor(@dec x) {} }")).toMatch(/experimentalDecorators/)
  expect(await texts("switch (1) { case 1: using x = null }")).toMatch(/using/)
  expect(await texts("class A { @(5 as any) m() {} }")).toBe("TypeError: Function expected")
  expect(await texts("{ using x = 5 as any }")).toBe("TypeError: Object expected.")
  expect(
    await texts(
      "function f() {\n  using a = null, b = { [Symbol.dispose]() { throw new RangeError('x') } }\n  return 1\n}\nf()",
    ),
  ).toBe("RangeError: x")
})

test("a resource of the top level is disposed when its eval ends, and stays a read-only binding", async () => {
  const session = new ResidentSession()
  await session.run("const log = []; const res = (n) => ({ n, [Symbol.dispose]() { log.push(n) } })")
  expect(await session.run("using a = res('a'); using b = res('b'); log.push('body'); let c = a.n; log.length")).toBe(1)
  expect(await session.run("[log, a.n, c]")).toEqual([["body", "b", "a"], "a", "a"])
  expect((await session.eval("a = 1")).text).toMatch(/constant/)
  expect((await session.eval("using d = res('d'); throw new Error('stop')")).text).toMatch(/stop/)
  expect(await session.run("log.at(-1)")).toBe("d")
  expect(await session.run("await using e = { async [Symbol.asyncDispose]() { await 0; log.push('e') } }; 5")).toBe(5)
  session.rebuild()
  expect(await session.run("log.at(-1)")).toBe("e")
  const { text } = await session.eval("using x = { [Symbol.dispose]() { throw new Error('late') } }; 1")
  expect(text).toMatch(/late/)
})

test("positions and texts are those of the source", async () => {
  const session = new ResidentSession()
  const { text } = await session.eval(
    "const d = (v: any) => v\n@d class A {\n  @d m() {\n    null!.x\n  }\n}\nnew A().m()",
  )
  expect(text).toMatch(/4:5|:4:1[0-9]|:4:/)
  expect(await session.run("A.prototype.m.toString()")).toBe("m() {\n    null .x\n  }")
  expect(await session.run("(class { @d accessor x = 1; @d y = 2 }).toString()")).not.toMatch(/\$\$_/)
  expect(await session.run("(() => { { using a = null; return 1 } }).toString()")).not.toMatch(/\$\$_/)
})
