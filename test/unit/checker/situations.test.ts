// Situations of TypeScript: what the layout of modules says after a change must be what one ordinary check of everything in one module
// says, at the same places of the same declarations.
import { describe, expect, test } from "vitest"
import { TestSession, asFinding, sorted, wholeProgram } from "./oracle.ts"

type Change = Record<string, string | undefined>
interface Situation {
  what: string
  first: Record<string, string>
  /** Each is checked on top of the one before. */
  then: Change[]
  statements?: string
  /** Codes expected at the end, so that both sides being silent is no success. */
  codes: number[]
}

const situations: Situation[] = [
  {
    what: "a dependent's use of a changed return type",
    first: { f: "function f(n: number) { return n }", g: "function g() { return f(1).toFixed(2) }" },
    then: [{ f: "function f(n: number) { return { n } }" }],
    codes: [2339],
  },
  {
    what: "all failing dependents",
    first: {
      f: "const f = (s: string) => s.length",
      a: "const a = () => f('a') + 1",
      b: "function b() { return f('b') - 1 }",
      c: "class C0 { n = f('c') }\nconst c = C0",
    },
    then: [{ f: "const f = (s: number) => s > 1" }],
    codes: [2345, 2345, 2345, 2362, 2365],
  },
  {
    what: "a type that dependents reach without naming it",
    first: {
      Row: "interface Row { id: number; tags: string[] }",
      load: "function load(): Row { return JSON.parse('') }",
      first: "function first() { return load().tags[0] }",
      use: "const use = () => first()!.toUpperCase()",
    },
    then: [{ Row: "interface Row { id: number; tags: number[] }" }],
    codes: [2339],
  },
  {
    what: "a type alone as the edge",
    first: {
      Kind: "type Kind = 'a' | 'b'",
      pick: "function pick(k: Kind) { return k }",
      call: "const call = () => pick('b')",
    },
    then: [{ Kind: "type Kind = 'a' | 'c'" }],
    codes: [2345],
  },
  {
    what: "generics",
    first: {
      Box: "class Box<T> { constructor(readonly value: T) {} map<U>(f: (v: T) => U) { return new Box(f(this.value)) } }",
      make: "const make = <T,>(v: T) => new Box({ v })",
      use: "function use() { return make(1).map((it) => it.v.toFixed()).value.length }",
    },
    then: [{ make: "const make = <T,>(v: T) => new Box([v])" }],
    codes: [2339],
  },
  {
    what: "overloads",
    first: {
      parse:
        "function parse(s: string): number\nfunction parse(s: number): string\nfunction parse(s: any): any { return s }",
      a: "const a = () => parse('1').toFixed()",
      b: "const b = () => parse(1).length",
    },
    then: [
      {
        parse:
          "function parse(s: string): string\nfunction parse(s: number): string\nfunction parse(s: any): any { return s }",
      },
    ],
    codes: [2551],
  },
  {
    what: "a class hierarchy",
    first: {
      Animal: "abstract class Animal { abstract name(): string; protected age = 1 }",
      Dog: "class Dog extends Animal { name() { return 'dog' } older() { return this.age + 1 } }",
      Puppy: "class Puppy extends Dog { override older() { return super.older() - 1 } }",
    },
    then: [{ Animal: "abstract class Animal { abstract name(): number; protected age = '1' }" }],
    codes: [2416, 2416, 2362],
  },
  {
    what: "private members are nominal",
    first: {
      P: "class P { private secret = 1 }",
      Q: "class Q { private secret = 1 }",
      f: "function f(p: P) { return p }",
      g: "const g = () => f(new P())",
    },
    then: [{ g: "const g = () => f(new Q())" }],
    codes: [2345],
  },
  {
    what: "conditional and mapped types",
    first: {
      Shape: "type Shape = { a: number; b?: string }",
      Keys: "type Keys<T> = { [K in keyof T]: T[K] extends string | undefined ? K : never }[keyof T]",
      get: "const get = (k: Keys<Shape>) => k",
      use: "const use = () => get('b')",
    },
    then: [{ Shape: "type Shape = { a: string; b?: number }" }],
    codes: [2345],
  },
  {
    what: "enums",
    first: {
      Color: "enum Color { Red, Green = 'g' as any, Blue = 5 }",
      Level: "const enum Level { Low = 1, High }",
      name: "function name(c: Color) { switch (c) { case Color.Red: return 1; default: return Level.High } }",
    },
    then: [{ Level: "const enum Level { Low = 1 }" }],
    codes: [2339],
  },
  {
    what: "exhaustiveness over an enum",
    first: {
      E: "enum E { A, B }",
      f: "function f(e: E): string { switch (e) { case E.A: return 'a'; case E.B: return 'b' } }",
    },
    then: [{ E: "enum E { A, B, C }" }],
    codes: [2366],
  },
  {
    what: "namespaces, a function and a namespace as one",
    first: {
      N: "namespace N { export const k = 1; export interface I { x: number } export namespace M { export const deep = 'd' } }",
      f: "function f() { return f.count }\nnamespace f { export let count = 0 }",
      use: "const use = (i: N.I) => i.x + N.k + N.M.deep.length + f.count + f()",
    },
    then: [
      {
        N: "namespace N { export const k = 1; export interface I { y: number } export namespace M { export const deep = 1 } }",
      },
    ],
    codes: [2339, 2339],
  },
  {
    what: "merged interfaces",
    first: {
      I: "interface I { a: number }\ninterface I { b: string }",
      o: "const o: I = { a: 1, b: 'b' }",
    },
    then: [{ I: "interface I { a: number }\ninterface I { c: string }" }],
    codes: [2353],
  },
  {
    what: "functions that need each other, without annotations",
    first: {
      even: "const even = (n: number): boolean => n === 0 || odd(n - 1)",
      odd: "function odd(n: number) { return n === 0 ? false : even(n - 1) }",
      use: "const use = () => odd(3) ? 1 : 2",
    },
    then: [{ odd: "function odd(n: string) { return n === '' ? false : even(1) }" }],
    codes: [2345, 2345],
  },
  {
    what: "an inference that needs itself",
    first: { a: "function a(n: number) { return n > 0 ? b(n - 1) : 0 }", b: "function b(n: number) { return n }" },
    then: [{ b: "function b(n: number) { return n > 0 ? a(n - 1) : 0 }" }],
    codes: [7023, 7023],
  },
  {
    what: "types that need each other",
    first: {
      Tree: "interface Tree { value: number; kids: Forest }",
      Forest: "type Forest = Tree[]",
      sum: "function sum(t: Tree): number { return t.kids.reduce((s, k) => s + sum(k), t.value) }",
    },
    then: [{ Forest: "type Forest = Set<Tree>" }],
    codes: [2339, 7006, 7006],
  },
  {
    what: "a class and a function that need each other",
    first: {
      Node0: "class Node0 { next?: Node0; grow() { return link(this) } }",
      link: "function link(n: Node0) { n.next = new Node0(); return n.next }",
    },
    then: [{ link: "function link(n: Node0): string { n.next = new Node0(); return n.next }" }],
    codes: [2322],
  },
  {
    what: "literal types: fresh ones widen, frozen ones do not",
    first: {
      k: "const k = 5",
      t: "const t = ['a', 1] as const",
      w: "const w = () => { let x = k; x = 6; return x }",
      v: "const v = () => { let x: 'a' = t[0]; return x }",
    },
    then: [{ t: "const t = ['a', 1]" }],
    codes: [2322],
  },
  {
    what: "unique symbols and computed members",
    first: {
      tag: "const tag = Symbol('tag')",
      O: "interface O { [tag]: number }",
      read: "const read = (o: O) => o[tag].toFixed()",
    },
    then: [{ O: "interface O { [tag]: string }" }],
    codes: [2551],
  },
  {
    what: "an unnamed class with a private member, which has no declaration text",
    first: {
      Mix: "const Mix = (n: number) => class { private p = n; q = n }",
      Named: "class Named extends Mix(1) { r() { return this.q } }",
      use: "const use = () => new Named().r().toFixed()",
    },
    then: [{ Mix: "const Mix = (n: number) => class { private p = n; q = 'q' }" }],
    codes: [2551],
  },
  {
    what: "an assertion function whose type is inferred",
    first: {
      fail: "const fail = (m: string) => { throw new Error(m) }",
      g: "function g(x: unknown): number { if (typeof x === 'number') return x; fail('no') }",
    },
    then: [
      { fail: "const fail: (m: string) => never = (m) => { throw new Error(m) }" },
      { fail: "const fail = (m: string): never => { throw new Error(m) }" },
    ],
    codes: [2366, 2366],
  },
  {
    what: "an assertion function that is declared",
    first: {
      sure: "function sure(x: unknown): asserts x is string { if (typeof x !== 'string') throw 1 }",
      g: "function g(x: unknown) { sure(x); return x.length }",
    },
    then: [{ sure: "function sure(x: unknown) { if (typeof x !== 'string') throw 1 }" }],
    codes: [18046],
  },
  {
    what: "assignments to what cannot be assigned",
    first: {
      f: "function f() {}",
      C: "class C {}",
      k: "const k = 1",
      E: "enum E { A }",
      N: "namespace N { export const a = 1 }",
    },
    then: [{ g: "function g() { f = g as any; C = 1 as any; k = 2; E = 1 as any; N = 1 as any }" }],
    codes: [2588, 2628, 2629, 2630, 2631],
  },
  {
    what: "a name that goes",
    first: { T: "type T = number", f: "function f(t: T): T { return t }", g: "const g = () => f(1)" },
    then: [{ T: undefined }],
    codes: [2304, 2304],
  },
  {
    what: "a name that comes back as another kind",
    first: { f: "function f() { return 1 }", g: "const g = () => f() + 1" },
    then: [{ f: "class f { x = 1 }" }],
    codes: [2348],
  },
  {
    what: "a type and a value of one name",
    first: {
      T: "type T = { n: number }\nconst T = { make: (n: number): T => ({ n }) }",
      u: "const u = (t: T) => T.make(t.n).n",
    },
    then: [{ T: "type T = { m: number }\nconst T = { make: (m: number): T => ({ m }) }" }],
    codes: [2339, 2339],
  },
  {
    what: "a name that hides a global",
    first: { f: "const f = () => new Map([[1, 2]]).get(1)" },
    then: [{ Map: "class Map { constructor(a: string) {} }" }],
    codes: [2345, 2339],
  },
  {
    what: "names inside that hide names outside",
    first: {
      n: "const n = 'text'",
      f: "function f(n: number) { return n + 1 }",
      g: "const g = <n,>(x: n) => { type m = n; let y: m = x; return y }",
      h: "const h = () => { for (const n of [1]) { n.toFixed() } try { throw 1 } catch (n) { return n } }",
      o: "const o = { n: 1, f() { return this.n } }",
    },
    then: [{ n: "const n = 5" }, { f: "function f(m: number) { return n.length + m }" }],
    codes: [2339],
  },
  {
    what: "emoji and CRLF in front of the mistake",
    first: {
      f: "function f() { return 1 }",
      g: "const g = () => {\r\n  const s = '😀🏳️‍🌈'; // ﹏\r\n  return s + f().length\r\n}",
    },
    then: [{ f: "function f() { return 'x' }" }, { f: "function f() { return 2 }" }],
    codes: [2339, 2339],
  },
  {
    what: "mistakes in a member of a group that is not the first",
    first: {
      a: "function a(): number { return b() }\r\n// 😀",
      b: "function b(): number { return c() /* 🏳️‍🌈 */ }",
      c: "function c(): number {\r\n return a()\r\n}",
    },
    then: [{ c: "function c(): number {\r\n '😀'; return a().x\r\n}" }],
    codes: [2339],
  },
  {
    what: "satisfies, defaults, destructuring, tuples",
    first: {
      cfg: "const cfg = { port: 80, tags: ['a'] } satisfies Record<string, unknown>",
      f: "function f({ port = 1, tags: [t] } = cfg) { return [port, t] as [number, string | undefined] }",
      g: "const g = () => { const [p, t] = f(); return p.toFixed() + t!.length }",
    },
    then: [{ cfg: "const cfg = { port: 80, tags: 'a' } satisfies Record<string, unknown[]>" }],
    codes: [2322, 2322],
  },
  {
    what: "async, generators, await in statements",
    first: {
      load: "async function load(n: number) { return { n } }",
      all: "async function* all() { yield await load(1) }",
    },
    then: [{ load: "async function load(n: number) { return { m: n } }" }],
    statements: "for await (const it of all()) console.log(it.n)\nawait load('x')",
    codes: [2339, 2345],
  },
  {
    what: "statements with declarations of their own",
    first: { f: "const f = (n: number) => n", P: "class P { x = 1 }" },
    then: [{ f: "const f = (n: number) => String(n)" }],
    statements:
      "let a = f(1), { x } = new P()\na.toFixed()\nvar b: string = x\nfunction own() { return a.length + b }\nown().y",
    codes: [2551, 2322, 2339],
  },
]

// Between declarations of a session the order of the text means nothing.
const order = new Set([2448, 2449, 2450, 2454])

function codesOf(findings: { code: number }[]): number[] {
  return findings.map(({ code }) => code).toSorted((a, b) => a - b)
}

describe("after a change, the layout says what one module says", () => {
  test.each(situations)("$what", ({ first, then, statements = "", codes }) => {
    const session = new TestSession()
    session.check(first)
    let found = session.findings()
    expect(sorted(found)).toEqual(sorted(oracle(session)))
    let last = session.check()
    const seen: number[] = found.map(({ code }) => code)
    for (const [index, change] of then.entries()) {
      last = session.check(change, index === then.length - 1 ? statements : "")
      found = session.findings()
      seen.push(...found.map(({ code }) => code))
      expect(sorted(found)).toEqual(sorted(oracle(session)))
    }
    const inStatements = last.diagnostics.filter(({ key }) => key === undefined).map(asFinding)
    const whole = wholeProgram(Object.fromEntries(session.declarations), statements)
    expect(sorted(inStatements)).toEqual(sorted(whole.filter(({ key }) => key === undefined)))
    seen.push(...inStatements.map(({ code }) => code))
    expect(codesOf(seen.map((code) => ({ code })))).toEqual(codes.toSorted((a, b) => a - b))
  })

  test.each(situations)("$what, all at once in a fresh session", ({ first, then }) => {
    const steps = new TestSession()
    steps.check(first)
    for (const change of then) steps.check(change)
    const fresh = new TestSession()
    const answer = fresh.check(Object.fromEntries(steps.declarations))
    expect(sorted(answer.diagnostics.map(asFinding))).toEqual(sorted(steps.findings()))
  })
})

function oracle(session: TestSession) {
  return wholeProgram(Object.fromEntries(session.declarations)).filter(({ code }) => !order.has(code))
}
