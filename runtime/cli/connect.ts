// `nacre repl --connect URL`: the prompt here, the session at a nacre that is served elsewhere.
//
// The session is the connection's own, or one with an id, which stays when the prompt is left. A broken socket is opened again by the client
// library, within the server's grace; what that means for the session is told above the prompt.
import { connectSocket, RequestError } from "../client/index.ts"
import type { Client, ConnectionChange } from "../client/index.ts"
import { hasColours, paintFor } from "./colours.ts"
import { History, historyPath } from "./history.ts"
import { RemoteSession } from "./prompt-session.ts"
import { Repl } from "./repl.ts"
import type { News } from "./repl.ts"

export interface ConnectOptions {
  readonly url: string
  readonly token: string
  /** Of a session that stays; by default a fresh one, which goes with the connection. */
  readonly session: string | undefined
  readonly profile: string | undefined
  readonly historyFile?: string | undefined
}

/** Resolves with the exit code; rejects with a `ConnectionError` or `RequestError` when there is no way in. */
export async function replConnected({ url, token, session, profile, historyFile }: ConnectOptions): Promise<number> {
  const { stdin: input, stdout: output, stderr: errors, env } = process
  const stopping = new AbortController()
  const listeners = new Set<(news: News) => void>()
  const client = await connectSocket({
    url,
    token,
    initialize: {
      client: { name: "nacre-repl" },
      kind: "repl",
      ...(session === undefined ? {} : { session }),
      ...(profile === undefined ? {} : { profile }),
    },
    onConnection: (change) => {
      const tell = (text: string): void => {
        for (const listener of listeners) listener(text)
      }
      if (change.type === "renewed" && session !== undefined) void sessionNow(client, session).then(tell)
      else tell(textOf(change))
    },
  })
  const stop = (): void => stopping.abort()
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, stop)
  try {
    const isTerminal = input.isTTY
    const kept = historyFile === undefined ? historyPath(env) : historyFile
    const history = await History.open(isTerminal && kept !== "" ? kept : undefined)
    const remote = new RemoteSession(client)
    const code = await new Repl({
      open: async () => remote,
      subscribe: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
      signal: stopping.signal,
      input,
      output,
      errors,
      isTerminal,
      paint: paintFor(hasColours(output.isTTY, env)),
      history,
    }).run()
    await history.close()
    return code
  } finally {
    for (const signal of ["SIGTERM", "SIGHUP"] as const) process.off(signal, stop)
    await client.close()
  }
}

function textOf(change: ConnectionChange): string {
  if (change.type === "lost") return `The connection broke (${change.reason}); it is being opened again.`
  if (change.type === "refused") return `The server could not read a message: ${change.error.message}`
  if (change.type === "renewed") return "Connected again, to a new session: the server had given the old one up."
  return change.missed === 0 ? "Connected again." : `Connected again; ${change.missed} messages are gone.`
}

/** On a new connection: whether the session with that id is still what it was, or another server knows nothing of it. */
async function sessionNow(client: Client, session: string): Promise<string> {
  try {
    await client.request("attach", { session })
  } catch (error) {
    if (error instanceof RequestError && error.kind === "session_not_found")
      return `Connected again; session '${session}' is new: the server had none of that id.`
    return `Connected again; whether session '${session}' is still there is unknown: ${(error as Error).message}`
  }
  return `Connected again, to session '${session}'.`
}
