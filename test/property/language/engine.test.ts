// Our language against the engine itself: random programs give the same value, output and error.
//
// A program runs whole in a realm by indirect strict `eval`, and by ours whole and cut into consecutive evals. Output is compared line by
// line, a value by its shape, an error by its name. The number of a failing program is its seed: `SEED=n` runs it alone,
// `FIRST_SEED=n` goes on from there.
import vm from "node:vm"
import { expect, test } from "vitest"
import { TestRealm, TestSession } from "../../realm.ts"
import { Generator } from "./programs.ts"
import { cleaning, plain, prelude, randomFrom, typed } from "./texts.ts"

interface Ended {
  how: string
  value: string
  logged: string[]
}

const count = Number(process.env["PROGRAMS"] ?? 2000)
const first = Number(process.env["FIRST_SEED"] ?? 1)
const only = process.env["SEED"]
const seeds = only === undefined ? Array.from({ length: count }, (_, index) => index + first) : [Number(only)]

/** Programs change no built-in, so that one realm serves them all; `reset` puts output and fuel back. */
const realm = new TestRealm()
vm.runInContext(`Function.prototype.toString = function toString() { return "code" };${prelude}`, realm.context)
for (const name of vm.runInContext("Object.getOwnPropertyNames(globalThis)", realm.context) as string[])
  realm.globals.add(name)

function reset(): void {
  vm.runInContext(`logged = []; fuel = 400; ${cleaning}`, realm.context)
}

function output(): string[] {
  return [...(realm.context["logged"] as string[])]
}

function byEngine(source: string): Ended {
  reset()
  realm.context["source"] = `"use strict";void 0;${source}`
  try {
    const value = vm.runInContext("show((0, eval)(source))", realm.context) as string
    return { how: "ok", value, logged: output() }
  } catch (error) {
    return { how: errorName(error), value: "", logged: output() }
  }
}

function errorName(error: unknown): string {
  return typeof error === "object" && error !== null && "name" in error ? String(error.name) : `thrown ${typeof error}`
}

function byUs(parts: readonly string[]): Ended {
  reset()
  const session = new TestSession({ realm })
  let ended = { how: "ok", value: "" }
  for (const part of parts) {
    const { status, value, error } = session.evalNow(part)
    if (status === "invalid") ended = { how: "SyntaxError", value: "" }
    else if (status === "threw") ended = { how: errorName(error), value: "" }
    else ended = { how: "ok", value: (session.context["show"] as (value: unknown) => string)(value) }
    if (status !== "ok") break
  }
  return { ...ended, logged: output() }
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
])("%s mean the same whole", { timeout: 120_000 }, (_name, wild) => {
  for (const seed of seeds) {
    const source = new Generator(seed, { wild }).program().statements.join("\n")
    const theirs = byEngine(plain(source))
    const ours = byUs([typed(source)])
    if (comparable(theirs) !== comparable(ours)) expect.fail(report(seed, typed(source), theirs, ours))
  }
})

test("programs mean the same cut into consecutive evals", { timeout: 120_000 }, () => {
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
