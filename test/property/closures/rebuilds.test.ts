// Functions that share, nest and change what they capture: run script by script with the realm thrown away between some of them, they
// give what the engine gives for the same scripts in one context. The number of a failing program is its seed: `SEED=n` runs it alone,
// `FIRST_SEED=n` goes on from there.
import vm from "node:vm"
import { expect, test } from "vitest"
import { ResidentSession } from "../../resident.ts"
import { randomFrom } from "../language/texts.ts"
import { ClosurePrograms } from "./programs.ts"

const count = Number(process.env["PROGRAMS"] ?? 80)
const first = Number(process.env["FIRST_SEED"] ?? 1)
const only = process.env["SEED"]
const seeds = only === undefined ? Array.from({ length: count }, (_, index) => index + first) : [Number(only)]

function byEngine(scripts: readonly string[]): string[] {
  const context = vm.createContext(vm.constants.DONT_CONTEXTIFY)
  return scripts.map((script) => {
    try {
      return JSON.stringify(vm.runInContext(`"use strict";void 0;${script}`, context)) ?? "undefined"
    } catch (error) {
      return String(error)
    }
  })
}

test("programs of functions mean the same through rebuilds", { timeout: 180_000 }, async () => {
  for (const seed of seeds) {
    const scripts = new ClosurePrograms(seed).scripts()
    const theirs = byEngine(scripts)
    const random = randomFrom(seed)
    const session = new ResidentSession()
    const defersAbove = random() < 0.3 ? 0 : undefined
    if (random() < 0.5) session.provesAbove = -1
    const ours: string[] = []
    const marks: string[] = []
    for (const script of scripts) {
      session.defersAbove = defersAbove
      const { status, text, value } = await session.eval(script)
      ours.push(status === "ok" ? (JSON.stringify(value) ?? "undefined") : text.split("\n")[0]!)
      const isRebuilt = random() < 0.5
      if (isRebuilt) session.write()
      const ephemeral = session.ephemeral.map((name) => `${name}: ${session.ephemeralText(name)}`)
      expect(ephemeral, `seed ${seed}\n${scripts.join("\n")}`).toEqual([])
      if (isRebuilt) {
        session.defersAbove = undefined
        session.rebuild()
        // Looking at everything finds nothing changed: the same graph gives the same bytes in the realm that was made from them.
        const { delta } = await session.eval("globalThis; void 0")
        expect(delta, `seed ${seed}: ${script}`).toEqual({})
      }
      marks.push(isRebuilt ? "// rebuilt" : "")
    }
    const listing = scripts.map(
      (script, index) => `${script}\n//   ${theirs[index]}\n//   ${ours[index]} ${marks[index]}`,
    )
    if (JSON.stringify(theirs) !== JSON.stringify(ours)) expect.fail(`seed ${seed}\n${listing.join("\n")}`)
  }
})
