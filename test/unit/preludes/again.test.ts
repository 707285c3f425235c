// A prelude is loaded again while sessions live: what they hold moves to the new text, or is named.
import { expect, test } from "vitest"
import { ResidentSession } from "../../resident.ts"

interface Case {
  name: string
  first: string
  /** `null`: it is removed. */
  second: string | null
  evals: string[]
  asked: string
  value: unknown
  /** The value when it is asked once more; the same unless it says otherwise. */
  again?: unknown
  /** What the first outcome after it names. */
  stale?: string[]
}

const point = (body: string): string => `export class Point { constructor(public x = 1) {} ${body} }`

const cases: Case[] = [
  {
    name: "the next eval sees the new function",
    first: "export function f() { return 1 }",
    second: "export function f() { return 2 }",
    evals: [],
    asked: "f()",
    value: 2,
  },
  {
    name: "an instance has the new methods",
    first: point("who() { return 'a' }"),
    second: point("who() { return 'b' }"),
    evals: ["const p = new Point(5)"],
    asked: "[p.who(), p.x, p instanceof Point]",
    value: ["b", 5, true],
  },
  {
    name: "one with private fields",
    first: point("#n = 1; n() { return this.#n }"),
    second: point("#n = 1; n() { return this.#n * 100 }"),
    evals: ["const p = new Point(5)"],
    asked: "p.n()",
    value: 100,
  },
  {
    name: "one whose private names changed is named",
    first: point("#n = 1; n() { return this.#n }"),
    second: point("#m = 1; n() { return this.#m }"),
    evals: ["const p = new Point(5)"],
    asked: "[p.n(), p instanceof Point]",
    value: [1, false],
    stale: ["p (still an earlier Point: its private names changed)"],
  },
  {
    name: "a new field with a literal is filled",
    first: point(""),
    second: point("y = 'new'"),
    evals: ["const p = new Point(5)"],
    asked: "p.y",
    value: "new",
  },
  {
    name: "one that runs code is named",
    first: point(""),
    second: point("y = Math.sqrt(4)"),
    evals: ["const p = new Point(5)"],
    asked: "p.y",
    value: undefined,
    stale: ["p (Point: 'y' has no value)"],
  },
  {
    name: "with statics",
    first: point("static unit = 'mm'; u() { return Point.unit }"),
    second: point("static unit = 'm'; u() { return Point.unit }"),
    evals: ["const p = new Point(5)"],
    asked: "[p.u(), p instanceof Point]",
    value: ["m", true],
  },
  {
    name: "a class of the session that extends it",
    first: point("who() { return 'a' }"),
    second: point("who() { return 'b' }"),
    evals: ["class Q extends Point {}\nconst q = new Q(3)"],
    asked: "[q.who(), new Q().who(), q instanceof Q, q instanceof Point, q.x]",
    value: ["b", "b", true, true, 3],
  },
  {
    name: "a closure that a definition made keeps what that was made with",
    first: "function step() { return 1 }\nexport const make = () => () => step()",
    second: "function step() { return 2 }\nexport const make = () => () => step()",
    evals: ["const g = make()"],
    asked: "[g(), make()()]",
    value: [1, 2],
  },
  {
    name: "a closure that a variable made reads the present definitions",
    first: "function step() { return 1 }\nexport let make = () => () => step()",
    second: "function step() { return 2 }\nexport let make = () => () => step()",
    evals: ["const g = make()"],
    asked: "g()",
    value: 2,
  },
  {
    name: "a closure keeps its variables",
    first: "export function make() { let n = 10; return () => ++n }",
    second: "export function make() { let n = 90; return () => --n }",
    evals: ["const g = make(); g()"],
    asked: "[g(), make()()]",
    value: [12, 89],
    again: [13, 89],
  },
  {
    name: "a function in a local stays the one it was",
    first: "export function f() { return 1 }",
    second: "export function f() { return 2 }",
    evals: ["const held = f"],
    asked: "[held(), f()]",
    value: [1, 2],
  },
  {
    name: "a name that is gone",
    first: "export const a = 1, b = 2",
    second: "export const a = 3",
    evals: [],
    asked: "[a, typeof b, Workspace.classes.keys().includes('b')]",
    value: [3, "undefined", false],
  },
  {
    name: "removed",
    first: point("who() { return 'a' }"),
    second: null,
    evals: ["const p = new Point(5)"],
    asked: "[typeof Point, p.who(), p.x]",
    value: ["undefined", "a", 5],
  },
  {
    name: "locals are untouched",
    first: "export const a = 1",
    second: "export const a = 2",
    evals: ["let a2 = a; const m = new Map([[1, 2]])"],
    asked: "[a2, a, m.get(1)]",
    value: [1, 2, 2],
  },
]

test.each(cases)("$name", async ({ first, second, evals, asked, value, again = value, stale = [] }) => {
  const session = new ResidentSession()
  expect(await session.load("p", first)).toBe(undefined)
  for (const source of evals) await session.run(source)
  const before = session.resident
  if (second === null) await session.removePrelude("p")
  else expect(await session.load("p", second)).toBe(undefined)
  const found = await session.eval(asked)
  expect([found.text, found.value]).toEqual([found.text, value])
  expect(found.delta.stale ?? []).toEqual(stale)
  expect(session.resident).toBe(before)
  // Once more, and with nothing but what was committed.
  expect(await session.run(asked)).toEqual(again)
})

test.each(cases)(
  "a session that slept meanwhile: $name",
  async ({ first, second, evals, asked, value, again = value, stale = [] }) => {
    const session = new ResidentSession()
    await session.load("p", first)
    for (const source of evals) await session.run(source)
    if (second === null) await session.removePrelude("p")
    else await session.load("p", second)
    expect(session.rebuild()).toEqual([])
    const found = await session.eval(asked)
    expect([found.text, found.value]).toEqual([found.text, value])
    expect(found.delta.stale ?? []).toEqual(stale)
    expect(session.rebuild()).toEqual([])
    expect(await session.run(asked)).toEqual(again)
  },
)
