// `nacre tree`: a small live system, to be looked at.
import { withSystem } from "./system.ts"

/** Prints the supervision tree of a system whose one session has just evaluated something. */
export async function printSystemTree(): Promise<number> {
  return withSystem(async ({ nacre: starting, signal }) => {
    const nacre = await starting
    const session = await nacre.open({ id: "example", kind: "repl" })
    await session.eval("const answer = 6 * 7", { signal })
    process.stdout.write(`${nacre.tree().text}\n`)
    return 0
  })
}
