// `nacre request`: one request of the protocol, or a batch, from the command line; its answer is one line of JSON.
import { text } from "node:stream/consumers"
import { Connection } from "../serve/connection.ts"
import { isRecord } from "../serve/schema.ts"
import { withSystem } from "./system.ts"

/** Prints the answer, if there is one. Exit code 1 when it is an error, or a batch holds one. */
export async function answerRequest(json: string): Promise<number> {
  return withSystem(
    async ({ nacre, limits, signal }) => {
      const given = json === "-" ? await text(process.stdin) : json
      const answers: string[] = []
      const connection = new Connection(
        { isCongested: false, send: (message) => void answers.push(message) },
        { nacre, limits },
      )
      const stop = (): void => connection.peer.cancelAll()
      signal.addEventListener("abort", stop, { once: true })
      if (!/"method"\s*:\s*"initialize"/.test(given)) {
        connection.peer.receive('{"jsonrpc":"2.0","id":"initialize","method":"initialize","params":{"events":"none"}}')
        await connection.peer.settled()
        await turn()
        answers.length = 0
      }
      connection.peer.receive(completed(given))
      await connection.peer.settled()
      await turn()
      await connection.close()
      const parsed = answers.map((it): unknown => JSON.parse(it)).filter((it) => !isNotification(it))
      for (const answer of parsed) process.stdout.write(`${JSON.stringify(answer)}\n`)
      return parsed.flat().some((it) => isRecord(it) && "error" in it) ? 1 : 0
    },
    { profile: "standard" },
  )
}

/** A request may leave out what every request says. What is no JSON is told as such. */
function completed(given: string): string {
  let request: unknown
  try {
    request = JSON.parse(given)
  } catch {
    return given
  }
  const complete = (it: unknown, id: number): unknown => (isRecord(it) ? { jsonrpc: "2.0", id, ...it } : it)
  const all: unknown = Array.isArray(request) ? request.map((it, at) => complete(it, at + 1)) : complete(request, 1)
  return JSON.stringify(all)
}

function isNotification(message: unknown): boolean {
  return isRecord(message) && "method" in message
}

/** The last answer is sent a turn after its request has been settled. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
