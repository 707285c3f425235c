// A host: the process in which session code runs, and the unit that may die. This is its main thread, which never runs user code.
//
// It launches threads, answers questions about them that they cannot answer while they compute, relays their synchronous calls,
// watches memory, and kills itself when the embedder is gone: the control channel is a pipe that the kernel closes with the embedder,
// however it died. A host never outlives its embedder and never restarts anything: both are the embedder's side's work.
import { rmSync } from "node:fs"
import { dirname } from "node:path"
import { Socket } from "node:net"
import { Link } from "../wire/transport.ts"
import { fromHost, toHost, wireVersion } from "../wire/schema.ts"
import { ThreadPool } from "./pool.ts"
import type { PoolOptions } from "./pool.ts"

export interface HostArguments extends PoolOptions {
  memoryBytesMax: number
}

/** How often threads and memory are looked at. Buffers grow by some 5 GB/s here, so a limit is overshot by 100 MB at most. */
const watchMs = 20

const options = JSON.parse(process.argv[2]!) as HostArguments
let isStopping = false

function killMyself(): never {
  process.kill(process.pid, "SIGKILL")
  // The signal is delivered before kill(2) returns; this only tells the compiler.
  throw new Error("unreachable")
}

const control = new Link(
  new Socket({ fd: 3, readable: true, writable: true }),
  { out: fromHost, in: toHost },
  {
    onMessage(message) {
      switch (message.type) {
        case "grow":
          return pool.grow(message.worker, message.token)
        case "interrupt":
          return pool.interrupt(message.worker, message.seq, message.graceMs, (found, entered) =>
            control.send("interrupted", { request: message.request, found, entered }),
          )
        case "fence":
          return control.send("fenced", {
            request: message.request,
            begun: pool.fence(message.worker, message.from, message.to),
          })
        case "syncReply":
          return pool.answer(message.worker, message)
        case "generation":
          pool.raiseGeneration(message.generation)
          return control.send("generationSeen", { request: message.request })
        case "ping":
          return beat(message.nonce)
        case "shutdown":
          isStopping = true
          return process.exit(0)
      }
    },
    onClose() {
      if (isStopping) return
      // The embedder is gone without a word, so nobody else removes the folder of its socket.
      rmSync(dirname(options.socketPath), { recursive: true, force: true })
      killMyself()
    },
  },
)

const pool = new ThreadPool(options, {
  onSyncCall: (worker, call) => control.send("syncCall", { worker, ...call }),
  onGone: (worker, entered, begun, because) => control.send("workerGone", { worker, entered, begun, because }),
  onFrames: (worker, frames) => control.send("relayed", { worker, frames }),
  onStuck: (worker, entered) => die("native-code", worker, entered),
})

function beat(nonce: number): void {
  const { rss, external } = process.memoryUsage()
  control.send("beat", { nonce, rssBytes: rss, externalBytes: external })
}

/** Says why and dies: other threads of this process may hang in native code, so an orderly exit is not to be had. */
function die(because: string, worker: number, entered: number): void {
  pool.relayLeft()
  control.send("dying", { because, worker, entered })
  control.flush()
  setImmediate(killMyself)
}

setInterval(() => {
  pool.relayStale()
  if (process.memoryUsage.rss() <= options.memoryBytesMax) return
  const { worker, entered } = pool.computing()
  die("out-of-memory", worker, entered)
}, watchMs)

// A terminal's Ctrl-C and a service manager's SIGTERM are for the embedder, which stops its hosts in order.
process.on("SIGINT", () => {})
process.on("SIGTERM", () => {})

control.send("ready", { version: wireVersion, pid: process.pid })
