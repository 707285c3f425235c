// Every construct of TypeScript against TypeScript's own emit run in a plain context: the same value. What a session refuses, it refuses in words.
import vm from "node:vm"
import { inspect } from "node:util"
import ts from "typescript"
import { describe, expect, test } from "vitest"
import { ResidentSession } from "../../resident.ts"

function byTypeScript(sources: readonly string[], ask: string): string {
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY)
  const { outputText } = ts.transpileModule(sources.join("\n;\n"), {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, isolatedModules: true },
  })
  const text = outputText.replace(/^export \{\};?\s*$/m, "").replace(/^export (?=\w)/gm, "")
  const value = vm.runInContext(`"use strict";(() => { ${text}\n;return (${ask}) })()`, context) as unknown
  return inspect(value, { depth: 9 })
}

const cases: [what: string, source: string, ask: string][] = [
  ["enum", "enum E { A, B = 5, C, D = 'd', F = A | C, G = `t` }", "[E.A, E.C, E.D, E[5], E.F, E.G, Object.keys(E)]"],
  ["const enum", "const enum E { A = 1, B } const b = E.B", "[b, E.A]"],
  ["enum with computed members", "const n = (x: number) => x * 2; enum E { A = n(2), B = 'x'.length }", "[E.A, E.B]"],
  ["enum + enum", "enum E { A } enum E { B = 1 }", "[E.A, E.B, E[0], E[1]]"],
  ["enum inside a function", "function f() { enum E { A = 3 } return E.A }", "f()"],
  [
    "namespace",
    "namespace N { export const a = 1; const hidden = 2; export function f() { return a + hidden } export class K { k = a } export enum E { X = 7 } export namespace Inner { export const z = 3 } }",
    "[N.a, N.f(), new N.K().k, N.E.X, N.Inner.z, Object.keys(N)]",
  ],
  [
    "namespace + namespace",
    "namespace N { export const a = 1; export function f() { return a } } namespace N { export const b = 2 }",
    "[N.a, N.b, N.f()]",
  ],
  [
    "function + namespace",
    "function f(x: number) { return x + f.base } namespace f { export const base = 10 }",
    "[f(1), f.base, f.name]",
  ],
  [
    "class + namespace",
    "class C { static own = 1; m() { return C.extra } } namespace C { export const extra = 5; export interface I {} }",
    "[new C().m(), C.extra, C.own]",
  ],
  [
    "enum + namespace",
    "enum E { A = 1 } namespace E { export function parse(s: string) { return E[s as 'A'] } }",
    "E.parse('A')",
  ],
  ["dotted namespace", "namespace A.B.C { export const x = 1 }", "A.B.C.x"],
  [
    "namespace of types",
    "namespace T { export interface I { a: number } export type S = string } let x: T.I = { a: 1 }",
    "x",
  ],
  ["interface merging", "interface A { a: number } interface A { b: string } class A { c = 1 }", "new A().c"],
  [
    "overloads",
    "function f(x: string): string; function f(x: number): number; function f(x: any) { return x } class K { m(): void; m(x: number): number; m(x?: any) { return x } constructor(); constructor(x: number); constructor(x?: any) { } }",
    "[f(1), f('a'), new K().m(2)]",
  ],
  [
    "abstract",
    "abstract class A { abstract x: number; abstract m(): number; abstract get g(): string; protected abstract set s(v: number); y = 1; use() { return this.m() + this.x } } class B extends A { x = 2; m() { return 3 } get g() { return 'g' } set s(v) {} }",
    "[new B().use(), Object.keys(new B())]",
  ],
  [
    "parameter properties",
    "class P { constructor(public a: number, private readonly b = a + 1, protected c?: string, readonly d: number = 4) {} sum() { return this.a + this.b + this.d } } class Q extends P { constructor(override readonly a: number, public e = 9) { super(a) } }",
    "[new P(1).sum(), Object.keys(new P(1)), new Q(2).sum(), Object.keys(new Q(2))]",
  ],
  [
    "declare fields",
    "class A { x = 1 } class B extends A { declare x: number; declare readonly y: string; z?: number; w!: string }",
    "[Object.keys(new B()), new B().x]",
  ],
  [
    "index signatures",
    "class A { [key: string]: unknown; static [k: number]: string; readonly [s: symbol]: 1; a = 1 }",
    "Object.keys(new A())",
  ],
  [
    "satisfies, as, non-null, angle brackets",
    "const o = { a: 1 } satisfies Record<string, number>; const p = (<any>o)!.a as unknown as number; const q = o!['a']!; let r: any; (r as any) = 5; (<any>r)++; r! += 1",
    "[o, p, q, r]",
  ],
  ["definite assignment", "let x!: number; x = 4; class D { y!: string; z: number }", "[x, Object.keys(new D())]"],
  [
    "optional methods and properties",
    "class O { a?(): void; b?: number; ['c']?(x: number): string; d?: () => 1 = () => 1 }",
    "[Object.keys(new O()), new O().d?.()]",
  ],
  [
    "this parameters",
    "function f(this: { n: number }, x: number) { return this.n + x } const g = function (this: void) { return this }; class T { m(this: T) { return this instanceof T } }",
    "[f.call({ n: 1 }, 2), g(), new T().m(), f.length]",
  ],
  [
    "generics",
    "function id<T extends object = {}, const U = 1>(x: T): T { return x } const arrow = <T,>(x: T) => x; class G<in out T> { m<K extends keyof T>(k: K) { return k } } const made = new G<{ a: 1 }>().m<'a'>('a'); const inst = id<{}>; const tag = <T,>(s: TemplateStringsArray, x: T) => x; const t = tag<number>`a${1}`",
    "[id({ a: 1 }), arrow(2), made, typeof inst, t]",
  ],
  [
    "modifiers",
    "class M { public static readonly a = 1; private static b = 2; protected c = 3; public readonly d = 4; static sum() { return M.a + M.b } private get e() { return 5 } public async f() {} protected *g() { yield 1 } override toString() { return 'M' + this.e } }",
    "[M.sum(), Object.keys(new M()), String(new M()), [...(new M() as any).g()]]".replace(
      "(new M() as any)",
      "new M()",
    ),
  ],
  [
    "implements",
    "interface I { a: number } interface J<T> {} abstract class Base {} class K extends Base implements I, J<string> { a = 1 }",
    "new K().a",
  ],
  [
    "type-only things",
    "type A = { [K in 'a' | 'b']?: K } & (new () => void); declare const d: number; declare function df(): void; declare class dc {} declare enum DE { A } declare namespace DN { const x: 1 } declare module 'm' { } declare global { var gg: 1 } export type { A }; let after = 1",
    "after",
  ],
  [
    "import = of a namespace",
    "namespace N { export namespace M { export const x = 3 } } import y = N.M.x; import Z = N.M; const sum = y + Z.x",
    "[sum, y, Z.x]",
  ],
  [
    "type predicates and asserts",
    "function isS(x: unknown): x is string { return typeof x === 'string' } function assertS(x: unknown): asserts x is string {} function assertT(x: unknown): asserts x {}",
    "[isS('a'), assertS(1)]",
  ],
  ["arrow with a return type over lines", "const f = (x: number): {\n  a: number\n} =>\n  ({ a: x })", "f(1)"],
  [
    "accessor pairs with types",
    "class A { #v = 1; get v(): number { return this.#v } set v(x: string | number) { this.#v = Number(x) } }\nconst a = new A(); a.v = '7'",
    "a.v",
  ],
  [
    "private names and static blocks",
    "class S { static #n: number = 1; static { S.#n++ } #m?: string; readonly #r = 2; has(o: object) { return #m in o } static get() { return S.#n } }",
    "[S.get(), new S().has(new S()), new S().has({})]",
  ],
  [
    "parameter properties with private names",
    "class P { #x = 1; constructor(readonly y: number) { this.#x += y } get() { return this.#x } }",
    "[new P(4).get(), Object.keys(new P(4))]",
  ],
  [
    "enum used before and in types",
    "const v: E = 1 as E; enum E { A = 1 } const names = Object.values(E)",
    "[v, names]",
  ],
  [
    "unique symbols, bigint and template literal types",
    "declare const u: unique symbol; type T = `a${string}`; const big: 10n = 10n; let x: T = 'ab'",
    "[big, x]",
  ],
  [
    "assertion of const and enum members as types",
    "const t = ['a', 1] as const; enum C { R = 'r' } const f = (c: C.R): C => c",
    "[t, f(C.R)]",
  ],
  [
    "optional chaining with non-null",
    "const o: any = { a: { b: () => 1 } }; const r = o?.a!.b!(); const s = (o?.a)!.b()",
    "[r, s]",
  ],
  [
    "catch with a type",
    "let r; try { throw 1 } catch (e: unknown) { r = e } try { throw 2 } catch (e: any) {r += e}",
    "r",
  ],
]

describe("one submission", () => {
  test.each(cases)("%s", async (_what, source, ask) => {
    const session = new ResidentSession()
    const expected = byTypeScript([source], ask)
    const { status, text } = await session.eval(source)
    expect(status === "ok" ? "" : text).toBe("")
    expect(inspect(await session.run(ask), { depth: 9 })).toBe(expected)
    session.rebuild()
    expect(inspect(await session.run(ask), { depth: 9 })).toBe(expected)
  })
})

const refused: [source: string, message: RegExp][] = [
  ["export = 5", /`export`/],
  ["export default 5", /`export`/],
  ["namespace N { export let z = 1 }", /namespace cannot export/],
  ["class A { constructor(@dec x) {} }", /experimentalDecorators/],
]

test.each(refused)("%s is refused", async (source, message) => {
  const { status, text } = await new ResidentSession().eval(source)
  expect(status).toBe("invalid")
  expect(text).toMatch(message)
})
