// Every construct that the transform edits, by what it does: the value of the last of some consecutive evals.
import { describe, expect, test } from "vitest"
import { TestSession, type EvalResult } from "../../realm.ts"

type Row = [what: string, evals: string[], value: unknown]

/** Runs each row with locals promoted and with every local in its cell: the two must agree. */
function table(title: string, rows: Row[]): void {
  describe.each([true, false])(`${title} (promotion %s)`, (promotes) => {
    test.each(rows)("%s", async (_what, evals, value) => {
      const session = new TestSession({ promotes })
      let last: EvalResult = { status: "ok" }
      for (const source of evals) last = await session.eval(source)
      const shown = last.status === "ok" ? last.value : last.status === "threw" ? String(last.error) : last.rendered
      expect(plain(shown)).toEqual(value)
    })
  })
}

/** Objects of the realm as objects of ours, so that they compare. */
function plain(value: unknown): unknown {
  return typeof value === "object" && value !== null ? JSON.parse(JSON.stringify(value)) : value
}

table("reads and writes", [
  ["read", ["let x = 1", "x"], 1],
  ["increment", ["let x = 1", "x++; ++x; x"], 3],
  ["postfix value", ["let x = 1", "x++"], 1],
  ["compound", ["let x = 2", "x **= 3; x <<= 1; x"], 16],
  ["logical assignment", ["let x: any = null, y: any = 1", "x ??= 5; y &&= 6; x ||= 7; [x, y]"], [5, 6]],
  ["bigint", ["let x = 1n", "x++; String(x)"], "2"],
  ["typeof", ["let x = 1", "typeof x"], "number"],
  ["typeof of an unknown name", ["typeof nothing"], "undefined"],
  ["typeof beside a keyword", ["const f = (a: unknown) => { return typeof a }", "f(typeof nothing)"], "string"],
  ["typeof of a realm's global", ["typeof Math"], "object"],
  ["for of target", ["let x = 0", "for (x of [1, 2]); x"], 2],
  ["for in target", ["let x = ''", "for (x in { a: 1, b: 2 }); x"], "b"],
  ["member target", ["const o = { a: 0 }", "for (o.a of [1, 2]); o"], { a: 2 }],
  ["shorthand", ["let x = 1, y = 2", "({ x, y })"], { x: 1, y: 2 }],
  ["shorthand in a function", ["let x = 1", "const f = () => ({ x })", "x = 5; f()"], { x: 5 }],
  ["delete of a property", ["const o = { a: 1, b: 2 }", "delete o.a; o"], { b: 2 }],
  ["comma and parentheses", ["let x = 1", "(x) = 3; (x)++; x"], 4],
  ["new", ["class P { v = 1 }", "new P().v + new (P)().v"], 2],
  ["new of a member", ["let o = { C: class { v = 3 } }", "new o.C().v"], 3],
  ["tagged template", ["let t = (s: TemplateStringsArray, ...v: number[]) => s.raw.join() + v", "t`a${1}b`"], "a,b1"],
  ["tag after an expression on its own line", ["let t = () => 7", "1;\nt`x`"], 7],
  ["optional call", ["let f: any = undefined, g = () => 2", "[f?.(), g?.()]"], [null, 2]],
  ["optional chain", ["let o: any = { a: null }", "o?.a?.b.c"], undefined],
  ["spread call", ["let f = (...a: number[]) => a.length", "f(...[1, 2], 3)"], 3],
  ["sequence", ["let x = 1", "x = 2, x + 1"], 3],
  ["global shadowed by a local", ["let Math = { max: () => 'mine' } as any", "Math.max()"], "mine"],
  ["bare assignment never writes a global", ["Array = 5 as any", "[Array, globalThis.Array.isArray([])]"], [5, true]],
  ["a name that looks like ours", ["let $$x = 1, x = 2", "[$$x, x]"], [1, 2]],
  ["arguments at top level", ["arguments"], "ReferenceError: arguments is not defined"],
  ["arguments in a function", ["function f() { return arguments.length }", "f(1, 2)"], 2],
  ["unicode names", ["let größe = 3, 名 = 4", "größe + 名"], 7],
  ["a property added to globalThis", ["globalThis.extra = 8", "extra"], 8],
])

table("this", [
  ["at top level", ["this"], undefined],
  ["in an arrow at top level", ["(() => this)()"], undefined],
  ["called local", ["let f = function (this: unknown) { return this }", "f()"], undefined],
  ["called definition", ["function f(this: unknown) { return this }", "f()"], undefined],
  [
    "called through parentheses",
    ["let f = function (this: unknown) { return this }", "const g = () => (f)()", "g()"],
    undefined,
  ],
  ["tag", ["let f = function (this: unknown) { return this }", "f`x`"], undefined],
  ["method", ["let o = { v: 1, m() { return this.v } }", "o.m()"], 1],
  ["optional method", ["let o = { v: 1, m() { return this.v } }", "o?.m?.()"], 1],
  ["class field", ["class A { self = this }", "new A().self instanceof A"], true],
  ["static block", ["class A { static s: unknown; static { this.s = 4 } }", "A.s"], 4],
])

table("names of functions", [
  ["let", ["let f = () => {}", "f.name"], "f"],
  ["let in a cell", ["let f = () => f", "f.name"], "f"],
  ["class", ["let C = class {}", "const g = () => C", "C.name"], "C"],
  ["assignment", ["f = function () {}", "f.name"], "f"],
  ["assignment in a function", ["let f: any", "(() => { f = () => {} })()", "f.name"], "f"],
  ["logical assignment", ["let f: any", "(() => { f ??= () => {} })()", "f.name"], "f"],
  ["default in a pattern", ["let { f = () => 1 } = {} as any; const g = () => f", "f.name"], "f"],
  ["parenthesised", ["let f = (() => f)", "f.name"], "f"],
  ["own name wins", ["let f = function inner() { return f }", "f.name"], "inner"],
  ["const definition", ["const f = () => 1", "f.name"], "f"],
  ["expression statement", ["(() => {})", "_.name"], ""],
  ["static name", ["let C = class { static name = 'own' }; const g = () => C", "C.name"], "own"],
])

table("patterns", [
  ["object", ["let { a, b: { c } } = { a: 1, b: { c: 2 } }", "[a, c]"], [1, 2]],
  ["defaults", ["let { a = 1, b: c = 2 } = {} as any", "[a, c]"], [1, 2]],
  ["defaults that see earlier names", ["let { a = 1, b = a + 1 } = {} as any", "[a, b]"], [1, 2]],
  ["rest", ["let { a, ...r } = { a: 1, b: 2 }; let [x, ...y] = [1, 2, 3]", "[r, y]"], [{ b: 2 }, [2, 3]]],
  ["holes", ["const [, b, , d] = [1, 2, 3, 4]", "[b, d]"], [2, 4]],
  ["computed keys", ["let k = 'z'; let { [k]: v } = { z: 9 } as any", "v"], 9],
  ["nested defaults", ["let { a: [b = 3] = [] } = {} as any", "b"], 3],
  ["assignment", ["let a = 1, b = 2", "[a, b] = [b, a]; [a, b]"], [2, 1]],
  ["object assignment", ["let a = 1, b = 2", "({ a, x: b = 5 } = { a: 7 } as any); [a, b]"], [7, 5]],
  [
    "assignment in a function",
    ["let a = 1, b = 2", "const swap = () => { [a, b] = [b, a] }", "swap(); [a, b]"],
    [2, 1],
  ],
  ["rest into a member", ["const o: any = {}", "[o.a, ...o.b] = [1, 2, 3]; o"], { a: 1, b: [2, 3] }],
  ["for of", ["for (var [k, v] of Object.entries({ a: 1 })) ; [k, v]"], ["a", 1]],
  ["two declarators", ["let { a } = { a: 1 }, [b] = [2]", "[a, b]"], [1, 2]],
  [
    "parameters",
    ["const f = ({ a, b = a }: any, [c] = [3], ...d: number[]) => [a, b, c, d]", "f({ a: 1 }, undefined, 4)"],
    [1, 1, 3, [4]],
  ],
])

table("statements", [
  [
    "labels",
    [
      "let n = 0",
      "outer: for (const i of [1, 2]) { for (const j of [1, 2]) { if (j === 2) continue outer; n += i * j } } n",
    ],
    3,
  ],
  [
    "closures in loops",
    ["let fs: any[] = []", "for (let i = 0; i < 3; i++) fs.push(() => i); fs.map((f) => f())"],
    [0, 1, 2],
  ],
  [
    "closures over var",
    ["let fs: any[] = []", "for (var i = 0; i < 3; i++) fs.push(() => i); fs.map((f) => f())"],
    [3, 3, 3],
  ],
  ["var in a loop is a local", ["for (var i = 0; i < 3; i++);", "i"], 3],
  ["var in a block", ["{ var a = 1 } if (true) var b = 2; else var c = 3", "[a, b, c]"], [1, 2, null]],
  ["let in a block stays there", ["let a = 1; { let a = 2 } a"], 1],
  ["function in a block stays there", ["{ function f() {} } typeof f"], "undefined"],
  ["switch", ["let x = 2", "switch (x) { case 1: 'a'; break; case 2: 'b'; break; default: 'c' }"], "b"],
  ["catch shadows", ["let e = 1", "try { throw 2 } catch (e) { e } e"], 1],
  [
    "catch pattern",
    ["try { throw { message: 'm', n: [1] } } catch ({ message, n: [first] }) { `${message}${first}` }"],
    "m1",
  ],
  ["do while", ["let i = 0", "do { i++ } while (i < 3)\ni"], 3],
  ["generators", ["function* g() { yield 1; yield* [2, 3] }", "[...g()]"], [1, 2, 3]],
  [
    "async generators",
    ["async function* g() { yield 1; yield 2 }", "let n = 0; for await (const x of g()) n += x; n"],
    3,
  ],
  ["getter and setter", ["let v = 1; const o = { get x() { return v }, set x(y) { v = y } }", "o.x = 5; o.x + v"], 10],
  [
    "private fields",
    [
      "class A { #p = 1; inc() { return ++this.#p } static has(o: object) { return #p in o } }",
      "const a = new A(); [a.inc(), A.has(a), A.has({})]",
    ],
    [2, true, false],
  ],
  ["new.target", ["function F() { return { t: new.target === F } } ", "new (F as any)()"], { t: true }],
  ["direct eval sees the realm's globals", ["eval('1 + 2')"], 3],
  [
    "export is taken off",
    ["export const a = () => 1; export function b() { return 2 } export let c = 3", "a() + b() + c"],
    6,
  ],
  ["export list", ["const a = 1; export { a }", "a"], 1],
  ["top-level await", ["const x = await Promise.resolve(4)", "x"], 4],
  ["await in a pattern with holes", ["const [a, , b] = await [1, 2, 3]", "[a, b]"], [1, 3]],
  ["await in a block", ["{ let p = await 1; p }"], 1],
  ["a promise as the result", ["Promise.resolve(6)"], 6],
  ["an awaited thenable", ["await { then(f: (n: number) => void) { f(7) } }"], 7],
  ["a rejected promise", ["Promise.reject(new TypeError('no'))"], "TypeError: no"],
  [
    "import() has a clear error",
    ["import('x')"],
    "Error: This session cannot load modules: `import()` is not available in it",
  ],
])

table("lines without semicolons", [
  ["call at the start of a line", ["let f = () => 5", "let a = 1\nf()"], 5],
  ["call after a declaration", ["let f = () => 5; let x: unknown", "let a\nf()"], 5],
  ["declaration between expression and parenthesis", ["let r = 0", "r = 1\nfunction f() {}\n(2)\nr"], 1],
  ["type between expression and parenthesis", ["let r = 0", "r = 1\ntype T = 1\n;(2)\nr"], 1],
  ["erased tail", ["let a = 1 as number\n[2].length", "a"], 1],
  [
    "erased tail in a function",
    ["const f = (x: any) => { const y = x as number\n  ;[0].length\n  return y }", "f(4)"],
    4,
  ],
  ["no value", ["let v\n;[1].length", "v"], undefined],
  ["var without a value before a parenthesis", ["var v, w\n(function () {})\nv"], undefined],
  ["comment at the end", ["1 + 1 // two"], 2],
  ["empty source", [""], undefined],
  ["a first line for the shell", ["#!/usr/bin/env -S npx nacre eval\nconst f = () => 4; f()"], 4],
  ["only comments", ["/* nothing */ // here"], undefined],
])

table("completion values", [
  ["expression", ["1; 2"], 2],
  ["declaration after", ["1; let x = 2"], 1],
  ["function after", ["1; function f() {}"], 1],
  ["if without else", ["1; if (false) 2"], undefined],
  ["if with else", ["if (false) 1; else 2"], 2],
  ["nested bodies", ["if (true) if (false) 1; else 3"], 3],
  ["empty block", ["1; {}"], 1],
  ["loop", ["for (const i of [1, 2]) i * 10"], 20],
  ["loop that never runs", ["1; while (false) 2"], undefined],
  ["break keeps the value before it", ["do { 5; break; } while (true)"], 5],
  ["break in an if", ["do { 5; if (true) break; 6 } while (true)"], undefined],
  ["continue", ["for (const i of [1, 2]) { i; continue; 9 }"], 2],
  ["switch falls through", ["switch (1) { case 1: 'a'; case 2: 'b' }"], "b"],
  ["switch without a match", ["1; switch (3) { case 1: 2 }"], undefined],
  ["try", ["try { 1 } finally { 2 }"], 1],
  ["catch", ["try { 1; throw 0 } catch { 2 }"], 2],
  ["empty catch", ["try { 1; throw 0 } catch {}"], undefined],
  ["labelled block", ["a: { 1; break a; }"], 1],
  ["labelled loop", ["a: for (;;) { 3; break a }"], 3],
  ["empty statement", ["4;;;"], 4],
  ["directive", ["'use strict'"], "use strict"],
  ["object literal", ["{ a: 1, b: [2] }"], { a: 1, b: [2] }],
  ["object literal with a semicolon", ["{ a: 1 };"], { a: 1 }],
  ["empty object", ["{}"], {}],
  ["object shorthand", ["let a = 1, b = 2", "{ a, b }"], { a: 1, b: 2 }],
  ["spread object", ["let a = { x: 1 }", "{ ...a, y: 2 }"], { x: 1, y: 2 }],
  ["block stays a block", ["{ let p = 1; p + 1 }"], 2],
  ["block with a call", ["{ [1].length; }"], 1],
  ["class", ["class A {}"], undefined],
])

// What is written around an expression, before it and at the start of a block meets at one place when nothing stands between.
table("functions and blocks at one place", [
  ["arrow", ["()=>7", "_()"], 7],
  ["arrow behind a statement", ["1;x=>x", "_(2)"], 2],
  ["arrow that gives an arrow", ["x=>y=>[x,y]", "_(1)(2)"], [1, 2]],
  ["async arrow", ["async x=>x", "await _(3)"], 3],
  ["arrow in an if", ["if(1)()=>2", "_()"], 2],
  ["arrow in a block", ["if(1){()=>2}", "_()"], 2],
  ["arrow in a loop", ["for(const q of [4]){()=>q}", "_()"], 4],
  ["arrow as a loop's body", ["for(const q of [4])()=>q", "_()"], 4],
  ["arrow in a nested loop", ["for(const q of [4])if(q)()=>q", "_()"], 4],
  ["arrow in a catch", ["try{throw 5}catch(e){()=>e}", "_()"], 5],
  ["arrow in a case", ["switch(1){case 1:()=>6}", "_()"], 6],
  ["arrow behind a label", ["l:()=>8", "_()"], 8],
  ["arrow with a type", ["()=>9 as number", "_()"], 9],
  ["catch", ["try{throw 1}catch(e){e}"], 1],
  ["catch without a throw", ["try{1}catch(e){2}finally{3}"], 1],
  ["catch that assigns", ["let x=0", "try{throw 1}catch(e){x=e}", "x"], 1],
  ["catch with a pattern", ["try{throw {a:4}}catch({a}){a}"], 4],
  ["catch with a function", ["try{throw 1}catch(e){function f(){return e}f()}"], 1],
  ["methods of an object", ["{a(){return 1},get b(){return 2}}", "[_.a(),_.b]"], [1, 2]],
  ["constructor", ["class P{#x=()=>1;constructor(){()=>this;this.y=()=>this.#x()}}", "new P().y()"], 1],
  ["arrow before a parenthesis", ["let k\nk = () => {}\n(1)\ntypeof k"], "function"],
  [
    "arrow in a function before a parenthesis",
    ["function f() { let q = () => {} // (\n(1)\nreturn q }", "typeof f()"],
    "function",
  ],
  ["arrow before a list", ["let o: any = {}\no.f = () => {}\n[1].length\ntypeof o.f"], "function"],
  ["arrow before a template", ["let k\nk = async () => {}\n`a`\ntypeof k"], "function"],
  ["arrow before a sign", ["let k\nk = () => {}\n/* + */ -1\ntypeof k"], "function"],
  ["arrow before a regular expression", ["let k\nk = () => {}\n/a/.test('a')\ntypeof k"], "function"],
  ["arrow before an assertion", ["let k\nk = () => {}\n<any>(1)\ntypeof k"], "function"],
  ["arrow of a field before a computed key", ["class F { x = () => {}\n['y'] = 1 }", "typeof new F().x"], "function"],
  ["arrow of a field before a generator", ["class F { x = () => {}\n*y() {} }", "typeof new F().x"], "function"],
  ["arrow as an argument before a comment", ["[2].map((x) => { return x } // (\n)"], [2]],
  ["arrow as an argument before a comment of its own", ["[2].map((x) => { return x } /* ( */)"], [2]],
  ["arrow as an argument before comments", ["[2].map((x) => { return x } /* a */ , /* ( */ 0)"], [2]],
  ["arrow by itself before a parenthesis", ["() => { throw 1 }\n(2)"], 2],
  ["static block", ["class S{static #n=1;static{()=>1;this.m=()=>S.#n}}", "S.m()"], 1],
])

table("types", [
  ["annotations", ["function f(this: void, a: number, b?: string, ...c: any[]): [number] { return [a] }", "f(1)"], [1]],
  ["generics", ["const id = <T,>(x: T): T => x; id<number>(3)"], 3],
  ["return type over lines", ["const f = (a: number): {\n  a: number\n} => ({ a })", "f(1)"], { a: 1 }],
  ["as, satisfies, non-null, assertion", ["let x = <any>(1 as unknown as number)! satisfies number; x"], 1],
  ["definite", ["let x!: number\nx = 3\nx"], 3],
  [
    "names of functions behind types",
    [
      "let f = (() => 1) as any, g: any; g = <any>(() => 1); const o = { a: (() => 1) satisfies any }; class C { x = ((() => 1) as any)! }",
      "const h = (({ a = ((() => 1) as any) }) => a.name)({}); [f.name, g.name, o.a.name, new C().x.name, h, ((() => 2) as any)()]",
    ],
    ["f", "g", "a", "x", "a", 2],
  ],
  ["optional catch type", ["try { throw 1 } catch (e: unknown) { e as number }"], 1],
  [
    "class",
    [
      "abstract class A<T> { abstract m(): void; declare d: T; protected readonly x: number = 1; static y?: string; z!: T\n w?: number\n [k: string]: any; constructor(); constructor(a?: number) {} get g(): number { return this.x } m2?(): void }",
      "class B extends A<string> implements Iface { override m(): void {} }\ninterface Iface {}",
      "const b: any = new B(); [b.g, Object.keys(b)]",
    ],
    [1, ["x", "z", "w"]],
  ],
  [
    "overloads",
    ["function f(a: string): void\nfunction f(a: number): void\nfunction f(a: any) { return a }", "f(2 as any)"],
    2,
  ],
  [
    "declare",
    ["declare const q: number; declare function w(): void; declare class E {}; declare module 'x' {}; typeof q"],
    "undefined",
  ],
  ["type only statements", ["type A = 1; interface B { a: A }; import type { C } from 'x'; export type { A }; 5"], 5],
  ["type only namespace", ["namespace T { export type A = 1 } typeof T"], "undefined"],
  ["enum", ["enum E { A, B = 5, C, D = 'd' }", "[E.A, E.B, E.C, E.D, E[5]]"], [0, 5, 6, "d", "B"]],
  ["const enum", ["const enum E { A = 3 }", "E.A"], 3],
  ["enum with code is a local", ["let n = 0; enum E { A = ++n, B = A * 2 }", "[E.A, E.B, n]"], [1, 2, 1]],
  [
    "namespace",
    [
      "namespace N { export const f = () => g() + 1; function g() { return 1 } export namespace M { export const h = () => f() } }",
      "N.M.h()",
    ],
    2,
  ],
  [
    "parameter properties",
    [
      "class P { constructor(private a: number, public readonly b = a + 1) {} sum() { return this.a + this.b } }",
      "new P(1).sum()",
    ],
    3,
  ],
  ["a type and a value of one name", ["type T = number; const T = () => 2", "T()"], 2],
  ["this parameter alone", ["function f(this: any,) { return 3 }", "f()"], 3],
  ["arrow with a type on async", ["const f = async <T>(x: T): Promise<T> => x", "await f(4)"], 4],
  ["instantiation expression", ["const id = <T>(x: T) => x; const n = id<number>; n(6)"], 6],
  ["tagged template with type arguments", ["const t = <T>(s: TemplateStringsArray) => s[0]", "t<string>`q`"], "q"],
])
