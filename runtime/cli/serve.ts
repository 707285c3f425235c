// `nacre serve`: the protocol over WebSocket, until a signal ends it.
//
// The address goes to standard output, for scripts. A token that was made here is shown once, on standard error; one that was given never is.
import { randomBytes } from "node:crypto"
import { serve } from "../serve/websocket.ts"
import type { ServeOptions } from "../serve/websocket.ts"
import { withSystem } from "./system.ts"

export interface ServeClientsOptions {
  readonly host: string | undefined
  readonly port: number
  /** Without it: that of the environment variable NACRE_TOKEN, or a fresh one. */
  readonly token: string | undefined
  readonly origins: readonly string[]
  /** That clients may use. Default: minimal and standard. */
  readonly profiles: readonly string[] | undefined
  readonly graceMs: number | undefined
  readonly preludes: readonly string[]
}

export async function serveClients({
  host,
  port,
  token: given,
  origins,
  profiles,
  graceMs,
  preludes,
}: ServeClientsOptions): Promise<number> {
  const known = given ?? process.env["NACRE_TOKEN"]
  // Processes that this one starts have no use for it.
  delete process.env["NACRE_TOKEN"]
  const token = known ?? randomBytes(24).toString("base64url")
  return withSystem(
    async ({ nacre, signal }) => {
      const options: ServeOptions = {
        token,
        port,
        origins,
        onInternal: (error) => {
          process.stderr.write(`nacre: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`)
        },
      }
      if (host !== undefined) options.host = host
      if (profiles !== undefined) options.profiles = profiles
      if (graceMs !== undefined) options.graceMs = graceMs
      const served = await serve(await nacre, options)
      if (known === undefined) process.stderr.write(`nacre: the token is ${token}\n`)
      if (!isLoopback(host)) {
        process.stderr.write("nacre: other machines can connect, unencrypted; put a proxy with TLS in front.\n")
      }
      process.stdout.write(`${served.url}\n`)
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve()
        else signal.addEventListener("abort", () => resolve(), { once: true })
      })
      await served.stop()
      return 0
      // What a client may do is the client's to ask for, as far as the server allows.
    },
    { profile: "standard", hosts: {}, preludes },
  )
}

function isLoopback(host: string | undefined): boolean {
  return host === undefined || host === "localhost" || host === "::1" || host.startsWith("127.")
}
