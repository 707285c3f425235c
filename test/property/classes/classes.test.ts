// Classes and their instances: run script by script with the realm thrown away between some of them, they give what the engine gives for scripts
// that say the same (what it lacks goes through TypeScript's own emit). The number of a failing program is its seed: `SEED=n` runs it alone.
import vm from "node:vm"
import ts from "typescript"
import { expect, test } from "vitest"
import { ResidentSession } from "../../resident.ts"
import { randomFrom } from "../language/texts.ts"
import { ClassPrograms } from "./programs.ts"

const count = Number(process.env["PROGRAMS"] ?? 40)
const only = process.env["SEED"]
const seeds = only === undefined ? Array.from({ length: count }, (_, index) => index + 1) : [Number(only)]

function byEngine(scripts: readonly string[]): string[] {
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY)
  vm.runInContext(
    `for (const name of ["dispose", "asyncDispose", "metadata"]) if (!Symbol[name]) Object.defineProperty(Symbol, name, { value: Symbol("Symbol." + name) })`,
    context,
  )
  return scripts.map((script) => {
    try {
      return JSON.stringify(vm.runInContext(`"use strict";void 0;${emitted(script)}`, context)) ?? "undefined"
    } catch (error) {
      return String(error)
    }
  })
}

function emitted(script: string): string {
  if (!/@|\busing\b|\bnamespace\b|\baccessor\b/.test(script)) return script
  const { outputText } = ts.transpileModule(script, {
    compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext },
  })
  return outputText.replace(/^export \{\};?\s*$/m, "")
}

test("programs of classes mean the same through rebuilds and redefinitions", { timeout: 180_000 }, async () => {
  for (const seed of seeds) {
    const scripts = new ClassPrograms(seed).scripts()
    const theirs = byEngine(scripts.map((script) => script.theirs))
    const random = randomFrom(seed)
    const session = new ResidentSession()
    const defersAbove = random() < 0.3 ? 0 : undefined
    if (random() < 0.5) session.provesAbove = -1
    const ours: string[] = []
    const marks: string[] = []
    for (const script of scripts) {
      session.defersAbove = defersAbove
      const { status, text, value, delta } = await session.eval(script.ours)
      ours.push(status === "ok" ? (JSON.stringify(value) ?? "undefined") : text.split("\n")[0]!)
      const isRebuilt = random() < 0.5
      if (isRebuilt) session.write()
      const ephemeral = session.ephemeral.map((name) => `${name}: ${session.ephemeralText(name)}`)
      expect(ephemeral, `seed ${seed}\n${scripts.map(({ ours: each }) => each).join("\n")}`).toEqual([])
      expect(delta.stale ?? [], `seed ${seed}: ${script.ours}`).toEqual([])
      if (isRebuilt) {
        session.defersAbove = undefined
        session.rebuild()
        // Looking at everything finds nothing changed: the same graph gives the same bytes in the realm that was made from them.
        const again = await session.eval("globalThis; void 0")
        expect(again.delta, `seed ${seed}: ${script.ours}`).toEqual({})
      }
      marks.push(isRebuilt ? "// rebuilt" : "")
    }
    const listing = scripts.map(
      (script, index) => `${script.ours}\n//   ${theirs[index]}\n//   ${ours[index]} ${marks[index]}`,
    )
    if (JSON.stringify(theirs) !== JSON.stringify(ours)) expect.fail(`seed ${seed}\n${listing.join("\n")}`)
  }
})
