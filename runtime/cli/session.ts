// `nacre session`: the protocol on standard input and output, for editors, agents and scripts.
import { serveStdio } from "../serve/stdio.ts"
import type { Framing } from "../serve/framing.ts"
import { withSystem } from "./system.ts"

/** Serves one client. Exit code: 0 after the end of the input or `shutdown` and `exit`; 1 after `exit` alone, as in LSP. */
export async function serveSession(framing?: Framing, preludes: readonly string[] = []): Promise<number> {
  return withSystem(
    async ({ nacre, limits, signal }) => {
      const end = await serveStdio({
        nacre,
        limits,
        signal,
        framing,
        input: process.stdin,
        output: process.stdout,
        onInternal: (error) => {
          process.stderr.write(`nacre: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
        },
      })
      return end.by === "exit" ? end.code : 0
      // What a client may do is the client's to ask for.
    },
    { profile: "standard", preludes },
  )
}
