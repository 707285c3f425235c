// `nacre mcp`: sessions as tools for an agent, on standard input and output.
import type { BuiltInProfile } from "../serve/shapes.ts"
import { serveMcp } from "../serve/mcp/server.ts"
import { withSystem } from "./system.ts"

/**
 * What a model reads costs its user: 64 KiB of output are some 15,000 tokens, and a value is shown in a fourth of that. Code that needs more at
 * once can keep it in a binding and look at parts.
 */
const limits = { outputBytesMax: 64 * 1024, valueTextMax: 16 * 1024, valueDataBytesMax: 16 * 1024, sessionsMax: 1_000 }

/**
 * Serves one client. Sessions have this profile unless they ask for less: what an agent's code may do is for whoever starts the server to say. Exit
 * code: 0 after the end of the input.
 */
export async function serveAgent(profile: BuiltInProfile): Promise<number> {
  return withSystem(
    async ({ nacre, signal }) => {
      await serveMcp({
        nacre,
        profile,
        signal,
        input: process.stdin,
        output: process.stdout,
        onProblem: (error) => {
          process.stderr.write(`nacre: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
        },
      })
      return 0
    },
    { profile, limits },
  )
}
