// What sessions make of a prelude's exports is kept: across rebuilds, and across another text of the prelude.
import { expect, test } from "vitest"
import { ResidentSession } from "../../resident.ts"

const geometry = `
export class Point {
  #hidden = 7
  static origin = "zero"
  constructor(public x: number, public y: number) {}
  get hidden() { return this.#hidden }
  raise() { this.#hidden++; return this }
  length() { return Math.hypot(this.x, this.y) }
}
const factor = 2
export const twice = (n: number) => n * factor
export function counter(from = 0) { let n = from; return () => ++n }
export const defaults = { unit: "mm" }
export enum Side { Left, Right = 5 }
export { factor as scale }
export type Pair = [number, number]
`

interface Case {
  name: string
  evals: string[]
  /** Evaluated before and after the realm was thrown away. */
  asked: string
  value: unknown
}

const kept: Case[] = [
  { name: "an export is called", evals: [], asked: "twice(4) + scale", value: 10 },
  {
    name: "an instance",
    evals: ["const p = new Point(3, 4)"],
    asked: "[p.length(), p instanceof Point, p.hidden]",
    value: [5, true, 7],
  },
  { name: "private fields", evals: ["const p = new Point(3, 4)", "p.raise().raise()"], asked: "p.hidden", value: 9 },
  {
    name: "a closure made by it",
    evals: ["const next = counter(5)", "next()"],
    asked: "[typeof next, next.name]",
    value: ["function", ""],
  },
  { name: "statics", evals: [], asked: "Point.origin", value: "zero" },
  {
    name: "an export in a local",
    evals: ["const make = Point, f = twice"],
    asked: "[make === Point, f === twice, new make(1, 0).length()]",
    value: [true, true, 1],
  },
  { name: "an object that it exports", evals: ["const d = defaults"], asked: "d === defaults", value: true },
  {
    name: "a class of the session that extends one of it",
    evals: ["class Point3 extends Point { z = 1 }\nconst q = new Point3(3, 4)"],
    asked: "[q.length(), q.z, q instanceof Point, q.hidden]",
    value: [5, 1, true, 7],
  },
  { name: "an enum", evals: ["const s = Side.Right"], asked: "[s, Side[0]]", value: [5, "Left"] },
  { name: "a name of the session before an export", evals: ["let twice = 5"], asked: "twice", value: 5 },
]

test.each(kept)("$name", async ({ evals, asked, value }) => {
  const session = new ResidentSession()
  expect(await session.load("geometry", geometry)).toBe(undefined)
  for (const source of evals) await session.run(source)
  expect(await session.run(asked)).toEqual(value)
  expect(session.rebuild()).toEqual([])
  expect(await session.run(asked)).toEqual(value)
})

test("a closure of a prelude counts on after a rebuild", async () => {
  const session = new ResidentSession()
  await session.load("geometry", geometry)
  await session.run("const next = counter(5)")
  expect(await session.run("next()")).toBe(6)
  session.rebuild()
  expect(await session.run("next()")).toBe(7)
  session.rebuild()
  expect(await session.run("next()")).toBe(8)
})
