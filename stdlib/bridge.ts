// The one way out of a realm: a single function of the worker, called with an op and primitives, wrapped so that nothing of the outer
// realm ever comes back through it but primitives.
//
// Payloads (encoded values) go as node tables, which the worker copies item by item. A stack overflow inside the outer function would
// surface as an error object of the outer realm, from which session code could climb out; so every call is caught here and what is
// thrown instead is an error of this realm.
import { ErrorOf, putOwn, stringIndexOf, stringSlice } from "./intrinsics.ts"
import type { Primitive } from "./intrinsics.ts"

/** What the worker's function is called with; the meaning of `a`, `b` and `payload` stands beside each op. */
export const opOutput = 1 // a: "stdout" | "stderr", b: text
export const opTimerSet = 2 // a: timer id, b: milliseconds; < 0: every -b milliseconds
export const opTimerClear = 3 // a: timer id
export const opToolCall = 4 // a: call id, b: name, payload: the arguments
export const opSettled = 5 // the eval's promise has settled
export const opWrite = 6 // a: "atPut" | "removeKey" | "clear", b: key, payload: the value, or a string that says why there is none
export const opExit = 7
export const opCurrent = 8 // gives the id of the running eval that this code belongs to, or undefined
export const opNow = 9 // gives milliseconds since the host started
export const opRandom = 10 // payload: a Uint8Array of this realm, to be filled
export const opUncaught = 11 // an error that nobody caught; gives how many evals are around that of the code; a: it as text, once it is refused
export const opTimeOrigin = 12
export const opAsk = 13 // a: the question, b: key, payload: a value or the version that is known, c: the session; gives "=answer" or "!kind: message"
export const opGeneration = 14 // gives the generation of the workspace's globals; 0 while there never was one
export const opStack = 15 // a: the engine's frames as text; gives those of user code at their places in the source
export const opUrl = 16 // a: text, b: its base; c: a part's name, then b is assigned to it. Gives the parts (`url-parts.ts`), or undefined for what is no URL
// Of modules (`modules.ts`). They give "=answer", or "!" and a problem as JSON: [error name, kind, message, code].
export const opImport = 17 // a: importer, b: requests as JSON; gives the job that the worker settles
export const opRequire = 18 // a: importer, b: specifier; gives "format key"
export const opModuleCode = 19 // a: a CommonJS file; its function is given, its folder is the answer
export const opModuleText = 20 // a: a JSON file; gives its text
export const opModuleValue = 21 // a: one of Node's modules, which is given
export const opResolve = 22 // a: importer, b: specifier, c: "import", "require", or "path" for a path of what may be a URL
export const opRestored = 23 // the imports that a checkpoint asks for have been made, or are lost

/** Given instead of an answer when the code belongs to no running eval. */
export const refusedEnded = "eval_ended"

/** Given instead of an answer while definitions are made, which must not call out. */
export const refusedMaking = "outside_call"

export type HostFunction = (op: number, a?: Primitive, b?: Primitive, payload?: unknown, c?: Primitive) => Primitive

export class Bridge {
  readonly #host: HostFunction

  constructor(host: HostFunction) {
    this.#host = host
  }

  call(op: number, a?: Primitive, b?: Primitive, payload?: unknown, c?: Primitive): Primitive {
    let answer: Primitive
    try {
      answer = this.#host(op, a, b, payload, c)
    } catch {
      throw kindError("internal", "The runtime could not serve this call; the stack may be exhausted.")
    }
    return answer
  }

  /** What code of an ended eval writes goes nowhere. */
  output(stream: "stdout" | "stderr", text: string): void {
    if (this.call(opOutput, stream, text) === refusedMaking) throw refusalOfMaking("Output")
  }

  /** A call that only code of a running eval may make. */
  callOutside(what: string, op: number, a?: Primitive, b?: Primitive, payload?: unknown, c?: Primitive): Primitive {
    const answer = this.call(op, a, b, payload, c)
    if (answer === refusedEnded) {
      throw kindError("eval_ended", `${what} is refused: the eval that this code belongs to has ended.`)
    }
    if (answer === refusedMaking) throw refusalOfMaking(what)
    return answer
  }
}

function refusalOfMaking(what: string): Error {
  return kindError("outside_call", `${what} is refused: a definition must not call out while it is made.`)
}

/** An Error of this realm with a `kind`, as everything that Nacre throws into session code is. */
export function kindError(kind: string, message: string): Error {
  const error = new ErrorOf(message)
  putOwn(error, "kind", kind)
  return error
}

/** The error of a refusal that came as "kind: message". */
export function refuseWith(refusal: string): Error {
  const at = stringIndexOf(refusal, ":")
  return kindError(stringSlice(refusal, 0, at), stringSlice(refusal, at + 2))
}
