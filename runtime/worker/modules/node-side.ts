// What profile `full` has of Node, as objects of Node's own realm: its globals, and a `process` that cannot end or disturb the host.
//
// Only this profile hands objects of the outer realm to session code; its hosts serve nothing else. Output goes to the eval, exits are the
// session's, and listeners are kept apart from the host's own: one that waits for an uncaught error would have it taken from the eval it
// belongs to.
import { EventEmitter } from "node:events"
import { Writable } from "node:stream"

/** Where Node's must be had, since other parts of Node know them by their brand; the realm's own of that name goes. */
const nodesOwn: ReadonlySet<string> = new Set([
  "AbortController",
  "AbortSignal",
  "Event",
  "EventTarget",
  "performance",
  "crypto",
])

/** Names that are made by the realm, or that mean this thread. */
const left: ReadonlySet<string> = new Set([
  "globalThis",
  "global",
  "process",
  "console",
  "require",
  "module",
  "exports",
])

/** Names of Node's globals for a realm that has those names already. */
export function nodeGlobalNames(has: ReadonlySet<string>): string[] {
  return Object.getOwnPropertyNames(globalThis).filter(
    (name) => !left.has(name) && (nodesOwn.has(name) || !has.has(name)),
  )
}

export function nodeGlobal(name: string): unknown {
  return (globalThis as Record<string, unknown>)[name]
}

/** Constructors whose objects come from Node: `instanceof` with the realm's own of that name is to know them. */
export const sharedConstructors = [
  "Error",
  "TypeError",
  "RangeError",
  "SyntaxError",
  "AggregateError",
  "Promise",
  "Uint8Array",
  "ArrayBuffer",
  "Map",
  "Set",
  "Date",
  "Object",
  "Function",
  "Array",
] as const

/** `write` gets what is written to the two streams. */
export function makeProcess(write: (stream: "stdout" | "stderr", text: string) => void): object {
  const own = Object.create(process) as object
  // Some of Node's are accessors, which an assignment would meet.
  const define = (name: string, value: unknown): void => {
    Object.defineProperty(own, name, { value, writable: true, enumerable: true, configurable: true })
  }
  const emitter = new EventEmitter()
  for (const name of [
    "on",
    "once",
    "off",
    "addListener",
    "removeListener",
    "removeAllListeners",
    "prependListener",
    "emit",
  ] as const) {
    define(name, (...args: unknown[]) => {
      const result: unknown = (emitter[name] as (...given: unknown[]) => unknown).apply(emitter, args)
      return result === emitter ? own : result
    })
  }
  for (const name of ["listeners", "listenerCount", "eventNames", "setMaxListeners"] as const) {
    define(name, (...args: unknown[]) => (emitter[name] as (...given: unknown[]) => unknown).apply(emitter, args))
  }
  define(
    "stdout",
    makeStream((text) => write("stdout", text)),
  )
  define(
    "stderr",
    makeStream((text) => write("stderr", text)),
  )
  define("argv", [process.execPath])
  define("execArgv", [])
  // Of the host's, which has few.
  define("env", { ...process.env })
  for (const name of ["kill", "abort", "reallyExit", "dlopen", "setUncaughtExceptionCaptureCallback"]) {
    define(name, () => {
      const message = `process.${name} is not available in a session: it would end or change the host of others.`
      throw Object.assign(new Error(message), { kind: "capability_denied" })
    })
  }
  return own
}

function makeStream(write: (text: string) => void): Writable {
  return new Writable({
    decodeStrings: false,
    write(chunk: string | Buffer, _encoding, callback) {
      write(typeof chunk === "string" ? chunk : chunk.toString("utf8"))
      callback()
    },
  })
}
