// The protocol over a process's own streams: one client, and the process is its server.
//
// Standard output carries messages and nothing else. The end of the input is an orderly end: what is under way is answered first. A
// client that has vanished is noticed, so that no process stays behind it: at once when a write fails, and while requests are still under
// way after the end of the input by a notification every few seconds, whose write fails when nobody reads; and at once when the process
// that started this one has ended.
import type { Readable, Writable } from "node:stream"
import { Connection } from "./connection.ts"
import type { ServeContext } from "./connection.ts"
import { FrameReader, frameOf } from "./framing.ts"
import type { Framing } from "./framing.ts"

export interface StdioOptions extends ServeContext {
  readonly input: Readable
  readonly output: Writable
  /** How messages are framed; by default as the client's first bytes are. */
  readonly framing?: Framing | undefined
  /** Ends the connection: requests under way are answered as far as the drain limit allows. */
  readonly signal: AbortSignal
}

/** Unwritten bytes above which output notifications are left out. */
const congestedBytes = 1024 * 1024
/** Unwritten bytes above which no more requests are read until the client has read. */
const pauseBytes = 16 * 1024 * 1024
/** Time between notifications while requests are under way after the end of the input. */
const waitingMs = 5_000
/** Time between looks at the parent process after the end of the input. */
const orphanMs = 200

/** What ended a connection: the client said `exit`, its input ended, it stopped reading, or the server was told to stop. */
export type StdioEnd = { readonly by: "exit"; readonly code: number } | { readonly by: "input" | "reader" | "signal" }

/** Serves one client; resolves when it has gone and everything that could be answered is written. Never rejects. */
export async function serveStdio(options: StdioOptions): Promise<StdioEnd> {
  const { input, output, signal } = options
  const transport = {
    get isCongested() {
      return output.writableLength > congestedBytes
    },
    send(message: string) {
      output.write(frameOf(message, reader.framing ?? "headers"))
      if (output.writableLength <= pauseBytes || input.isPaused()) return
      input.pause()
      output.once("drain", () => input.resume())
    },
  }
  const connection = new Connection(transport, options)
  const reader = new FrameReader(
    {
      onMessage: (text) => connection.peer.receive(text),
      onProblem: (error) => connection.peer.refuse(error),
    },
    { framing: options.framing },
  )
  const parent = process.ppid
  let isOrphan = false
  let toldAt = 0
  let waiting: NodeJS.Timeout | undefined
  const probe = (): void => {
    const isNews = !isOrphan && process.ppid !== parent
    isOrphan ||= isNews
    if (!isNews && performance.now() - toldAt < waitingMs) return
    toldAt = performance.now()
    connection.peer.notify("event", { type: "waiting", requests: connection.peer.inFlight })
  }

  const end = await new Promise<StdioEnd>((resolve) => {
    const inputEnded = (): void => {
      reader.end()
      toldAt = performance.now()
      waiting ??= setInterval(probe, orphanMs)
      void connection.endOfInput().then(() => resolve({ by: "input" }))
    }
    input.on("data", (chunk: Buffer) => reader.push(chunk))
    input.once("end", inputEnded)
    // A terminal or socket that broke: nothing more will come, which is an end like any other.
    input.once("error", inputEnded)
    output.on("error", () => resolve({ by: "reader" }))
    void connection.exited.then((code) => resolve({ by: "exit", code }))
    const stop = (): void => void connection.shutdown(undefined).then(() => resolve({ by: "signal" }))
    if (signal.aborted) stop()
    else signal.addEventListener("abort", stop, { once: true })
  })

  clearInterval(waiting)
  input.removeAllListeners("data")
  input.destroy()
  await connection.close()
  if (end.by !== "reader") await written(output)
  return end
}

/** Resolves when everything sent so far is with the operating system, or cannot be. */
function written(output: Writable): Promise<void> {
  return new Promise((resolve) => {
    output.write("", () => resolve())
  })
}
