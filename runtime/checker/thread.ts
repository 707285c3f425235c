// The thread that computes: TypeScript, the sessions it holds, one request at a time. It never ends by itself; whoever started it ends it.
//
// It is a thread, and not the process's main one, because a type can keep it computing for ever: the main thread has to notice meanwhile
// that the embedder is gone. And a thread's stack can be made as large as deep types need.
import { parentPort } from "node:worker_threads"
import type { MessageOf } from "../wire/schema.ts"
import type { fromChecker, toChecker } from "../wire/checker.ts"
import { complete, hover, signature } from "./assist.ts"
import { CheckEngine } from "./engine.ts"
import { libraryOf } from "./library.ts"

type Request = MessageOf<typeof toChecker>
export type Answer = MessageOf<typeof fromChecker>

const engine = new CheckEngine()
// Most of a first check is spent here: done before anybody waits for it.
libraryOf("standard")
const port = parentPort!
port.on("message", (request: Request) => {
  if (request.type === "forget") engine.forget(request.session)
  else if (request.type !== "shutdown") port.postMessage(answer(request))
})
port.postMessage("ready")

function answer(request: Exclude<Request, { type: "forget" | "shutdown" }>): Answer {
  const { request: number } = request
  try {
    if (request.type === "check") {
      const answered = engine.check(request)
      return "missing" in answered
        ? { type: "missing", request: number, what: answered.missing }
        : { type: "checked", request: number, ...answered }
    }
    const session = request.type === "advance" ? engine.advance(request) : engine.open(request)
    if ("missing" in session) return { type: "missing", request: number, what: session.missing }
    const { layout } = session
    if (request.type === "advance") return { type: "advanced", request: number }
    const { type, text, offset } = request
    if (type === "complete") return { type: "completed", request: number, ...complete(layout, text, offset) }
    if (type === "signature") return { type: "signatures", request: number, ...signature(layout, text, offset) }
    const found = hover(layout, text, offset)
    const nothing = { start: 0, end: 0, text: "", documentation: "" }
    return { type: "hovered", request: number, isFound: found !== undefined, ...(found ?? nothing) }
  } catch (error) {
    return { type: "failed", request: number, message: error instanceof Error ? error.message : String(error) }
  }
}
