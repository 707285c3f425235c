// What a session gives for the same scripts when its realm is thrown away after every one: beside `by-engine.ts`.
import { inspect } from "node:util"
import { expect } from "vitest"
import { ResidentSession } from "./resident.ts"

/** The results as text. `isStable`: the graph must also give the same bytes in the realm that was made from them. */
export async function byRebuilds(scripts: readonly string[], { isStable = true } = {}): Promise<string[]> {
  const session = new ResidentSession()
  const values: string[] = []
  for (const script of scripts) {
    const { status, text, value } = await session.eval(script)
    expect(session.ephemeral.map((name) => `${name}: ${session.ephemeralText(name)}`)).toEqual([])
    values.push(status === "ok" ? inspect(value, { depth: 9 }) : inspect(text.split("\n")[0]))
    expect(session.rebuild()).toEqual([])
    if (!isStable) continue
    // Looking at everything finds nothing changed.
    const { delta } = await session.eval("globalThis; void 0")
    expect(delta, script).toEqual({})
  }
  return values
}
