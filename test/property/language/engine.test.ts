// Our language against the engine itself: random programs give the same value, output and error.
//
// A program runs whole in a realm by indirect strict `eval`, and by ours whole and cut into consecutive evals. Output is compared line by
// line, a value by its shape, an error by its name. The number of a failing program is its seed: `SEED=n` runs it alone.
import vm from "node:vm"
import { expect, test } from "vitest"
import { TestSession } from "../../realm.ts"
import { Generator, plain, prelude, randomFrom, typed } from "./programs.ts"

interface Ended {
  how: string
  value: string
  logged: string[]
}

const count = Number(process.env["PROGRAMS"] ?? 3000)
const only = process.env["SEED"]
const seeds = only === undefined ? Array.from({ length: count }, (_, index) => index + 1) : [Number(only)]

function byEngine(source: string): Ended {
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY)
  vm.runInContext(prelude, context)
  let how = "ok"
  let value = ""
  try {
    context["source"] = `"use strict";void 0;${source}`
    value = vm.runInContext("show((0, eval)(source))", context) as string
  } catch (error) {
    how = errorName(error)
  }
  return { how, value, logged: [...(context["logged"] as string[])] }
}

function errorName(error: unknown): string {
  return typeof error === "object" && error !== null && "name" in error ? String(error.name) : `thrown ${typeof error}`
}

function byUs(parts: readonly string[]): Ended {
  const session = new TestSession()
  vm.runInContext(prelude, session.context)
  session.noteGlobals()
  let ended = { how: "ok", value: "" }
  for (const part of parts) {
    const { status, value, error } = session.evalNow(part)
    if (status === "invalid") ended = { how: "SyntaxError", value: "" }
    else if (status === "threw") ended = { how: errorName(error), value: "" }
    else ended = { how: "ok", value: (session.context["show"] as (value: unknown) => string)(value) }
    if (status !== "ok") break
  }
  return { ...ended, logged: [...(session.context["logged"] as string[])] }
}

/** What programs may differ in: none of it is a value that a program computes. */
function comparable({ how, value, logged }: Ended): string {
  return JSON.stringify([how, how === "ok" ? value : "", logged], null, 1)
}

function report(seed: number, source: string, theirs: Ended, ours: Ended): string {
  return `seed ${seed}\n${source}\n--- engine\n${comparable(theirs)}\n--- ours\n${comparable(ours)}`
}

test.each([
  ["tame programs", false],
  ["wild programs", true],
])("%s mean the same whole", (_name, wild) => {
  for (const seed of seeds) {
    const source = new Generator(seed, wild).program().statements.join("\n")
    const theirs = byEngine(plain(source))
    const ours = byUs([typed(source)])
    if (comparable(theirs) !== comparable(ours)) expect.fail(report(seed, typed(source), theirs, ours))
  }
})

test("programs mean the same cut into consecutive evals", () => {
  for (const seed of seeds) {
    const { statements } = new Generator(seed).program()
    const random = randomFrom(seed)
    const parts: string[] = []
    for (const statement of statements) {
      if (parts.length > 0 && random() < 0.5) parts[parts.length - 1] += `;\n${statement}`
      else parts.push(statement)
    }
    const source = parts.join(";\n")
    const theirs = byEngine(plain(source))
    if (theirs.how === "SyntaxError") continue
    const ours = byUs(parts.map(typed))
    // The value of the whole is that of its last statement with a value, which need not be in the last part.
    if (ours.value === "undefined") theirs.value = ours.value
    if (comparable(theirs) !== comparable(ours))
      expect.fail(report(seed, parts.map(typed).join("\n-----\n"), theirs, ours))
  }
})
