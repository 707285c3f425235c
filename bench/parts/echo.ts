// The floor under an eval: a worker thread of a child process that answers each message of a known size with one of a known size, over a Unix
// socket to its parent, as a host's worker does. Nothing is packed, checked or run.
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import type { Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"

export interface Echo {
  roundTrip(): Promise<void>
  /** Messages a second with that many under way. */
  flood(inFlight: number, ms: number): Promise<number>
  stop(): Promise<void>
}

/** The child's whole program: plain JavaScript, so that it runs as the host's code does, without a loader. */
const program = `
  const { Worker, isMainThread, workerData } = require("node:worker_threads")
  if (isMainThread) {
    const [path, request, response] = process.argv.slice(-3)
    const worker = new Worker(process.env.ECHO_PROGRAM, { eval: true, workerData: { path, request: +request, response: +response } })
    process.stdin.on("data", () => {}).on("close", () => process.exit())
  } else {
    const { path, request, response } = workerData
    const socket = require("node:net").connect(path)
    const answer = Buffer.alloc(response)
    let missing = request
    socket.on("data", (chunk) => {
      missing -= chunk.length
      while (missing <= 0) { socket.write(answer); missing += request }
    })
  }
`

export async function startEcho(requestBytes: number, responseBytes: number): Promise<Echo> {
  const folder = mkdtempSync(join(tmpdir(), "nacre-echo-"))
  const path = join(folder, "echo")
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(path, resolve))
  const connected = new Promise<Socket>((resolve) => server.once("connection", resolve))
  const child = spawn(process.execPath, ["-e", program, path, String(requestBytes), String(responseBytes)], {
    env: { ECHO_PROGRAM: program },
    stdio: ["pipe", "ignore", "inherit"],
  })
  const socket = await connected
  const request = Buffer.alloc(requestBytes)
  let missing = responseBytes
  let answered: (() => void) | undefined
  socket.on("data", (chunk) => {
    missing -= chunk.length
    while (missing <= 0) {
      missing += responseBytes
      answered?.()
    }
  })
  return {
    roundTrip: () =>
      new Promise((resolve) => {
        answered = resolve
        socket.write(request)
      }),
    async flood(inFlight, ms) {
      const from = performance.now()
      const end = from + ms
      let count = 0
      await new Promise<void>((resolve) => {
        let left = inFlight
        answered = () => {
          count += 1
          if (performance.now() < end) socket.write(request)
          else if (--left === 0) resolve()
        }
        for (let i = 0; i < inFlight; i += 1) socket.write(request)
      })
      return (count / (performance.now() - from)) * 1_000
    },
    async stop() {
      socket.destroy()
      child.stdin.end()
      await new Promise((resolve) => child.once("exit", resolve))
      await new Promise((resolve) => server.close(resolve))
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
