// The checker's process. Its main thread computes nothing: it carries messages, watches memory, and dies with the embedder.
//
// The control channel is a pipe that the kernel closes with the embedder, however that died. A checker holds nothing that anybody would
// miss: sets come again from those who ask.
import { Socket } from "node:net"
import { Worker } from "node:worker_threads"
import { entryPath } from "../entry.ts"
import { checkerWireVersion, fromChecker, toChecker } from "../wire/checker.ts"
import { Link } from "../wire/transport.ts"
import type { Answer } from "./thread.ts"

export interface CheckerArguments {
  memoryBytesMax: number
}

/** How often memory is looked at. TypeScript makes a few hundred megabytes a second at most. */
const watchMs = 100
/** Types may be nested as deep as the limits of TypeScript allow; with the usual 4 MB some of them are not. */
const stackMegabytes = 32

const { memoryBytesMax } = JSON.parse(process.argv[2]!) as CheckerArguments
let isStopping = false

function killMyself(): never {
  process.kill(process.pid, "SIGKILL")
  // The signal is delivered before kill(2) returns; this only tells the compiler.
  throw new Error("unreachable")
}

function die(because: string): void {
  control.send("dying", { because })
  control.flush()
  setImmediate(killMyself)
}

const control = new Link(
  new Socket({ fd: 3, readable: true, writable: true }),
  { out: fromChecker, in: toChecker },
  {
    onMessage(message) {
      if (message.type !== "shutdown") return thread.postMessage(message)
      isStopping = true
      process.exit(0)
    },
    onClose() {
      if (!isStopping) killMyself()
    },
  },
)

const thread = new Worker(entryPath("runtime/checker/thread"), {
  resourceLimits: {
    // Below the process's limit, so that what counts is said by the engine where it can.
    maxOldGenerationSizeMb: Math.max(128, Math.floor((memoryBytesMax * 0.75) / (1024 * 1024))),
    stackSizeMb: stackMegabytes,
  },
})
thread.on("message", (answer: Answer | "ready") => {
  if (answer === "ready") return control.send("ready", { version: checkerWireVersion, pid: process.pid })
  const { type, ...fields } = answer
  control.send(type, fields)
})
thread.on("error", (error: Error & { code?: string }) =>
  die(error.code === "ERR_WORKER_OUT_OF_MEMORY" ? "out-of-memory" : `failed: ${error.message}`),
)
thread.on("exit", () => die("thread-exited"))

setInterval(() => {
  if (process.memoryUsage.rss() > memoryBytesMax) die("out-of-memory")
}, watchMs)

// A terminal's Ctrl-C and a service manager's SIGTERM are for the embedder, which stops its checker in order.
process.on("SIGINT", () => {})
process.on("SIGTERM", () => {})
