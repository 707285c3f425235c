// What a realm's global object has beyond the language, by capability (`capabilities.ts`).
//
//   (none)  the language only; what V8 adds by itself (`console`, WebAssembly) goes
//   print   console
//   timers  setTimeout and its kin
//   web     queueMicrotask, structuredClone, performance, crypto, process.exit, URL, URLSearchParams, TextEncoder, TextDecoder,
//           AbortController, AbortSignal
//
// Those of Node add what `node-globals.ts` has, which is of the outer realm.
//
// All of it is made of realm-side code. V8's own `console` would write nowhere, and the streaming half of WebAssembly gives promises of
// the outer realm, from which code could climb out.
import {
  realmGlobal,
  listOf,
  newList,
  defineOwn,
  deleteOwn,
  objectFreeze,
  PromiseOf,
  promiseThen,
  TypeErrorOf,
  Uint8ArrayOf,
  NumberOf,
} from "./intrinsics.ts"
import { makeAbortClasses } from "./abort.ts"
import type { Capabilities } from "./capabilities.ts"
import { opNow, opRandom, opTimeOrigin, opUrl } from "./bridge.ts"
import type { Bridge } from "./bridge.ts"
import { makeConsole } from "./console.ts"
import { SuppressedErrorOf } from "./disposal.ts"
import type { LazyGlobals } from "./lazy-globals.ts"
import type { TextOf } from "./preview.ts"
import { makeTextClasses } from "./text-coding.ts"
import { TimerHandle, timerIdOf, type RealmTimers } from "./timers.ts"
import { makeUrlClasses, type AskUrl } from "./url.ts"
import { isBufferView, typedArrayBuffer, typedArrayByteLength, typedArrayOffset, typedArraySet } from "./intrinsics.ts"

export interface RealmServices {
  readonly capabilities: Capabilities
  exit(code: unknown): never
  uncaught(error: unknown): void
  clone(value: unknown): unknown
  readonly textOf: TextOf
}

export function installGlobals(bridge: Bridge, timers: RealmTimers, services: RealmServices, lazy: LazyGlobals): void {
  deleteOwn(realmGlobal, "console")
  // In `full` Node's takes its place.
  deleteOwn(realmGlobal, "WebAssembly")
  const define = (name: string, value: unknown): void => {
    const attributes = { __proto__: null, value, writable: true, enumerable: false, configurable: true }
    defineOwn(realmGlobal, name, attributes)
  }
  // The language's own, where the engine does not have it yet.
  define("SuppressedError", SuppressedErrorOf)
  // Worker threads share no memory with sessions, and waiting would freeze every neighbour.
  const { capabilities } = services
  if (capabilities.has("print")) define("console", makeConsole(bridge, services.textOf))
  if (capabilities.has("timers")) defineTimers(define, timers, capabilities.hasNode)
  if (capabilities.has("web")) defineWeb(define, bridge, timers, services, lazy)
}

type Define = (name: string, value: unknown) => void

function defineTimers(define: Define, timers: RealmTimers, asNode: boolean): void {
  // Packages that are written for Node call `unref` on what a timer function gives.
  const handleOf = asNode ? (id: number) => new TimerHandle(id, timers) : (id: number) => id
  define("setTimeout", function setTimeout(callback: unknown, ms?: unknown) {
    return handleOf(timers.set(callback, ms, listOf(arguments, 2), false))
  })
  define("setInterval", function setInterval(callback: unknown, ms?: unknown) {
    return handleOf(timers.set(callback, ms, listOf(arguments, 2), true))
  })
  define("setImmediate", function setImmediate(callback: unknown) {
    return handleOf(timers.set(callback, 0, listOf(arguments, 1), false))
  })
  define("clearTimeout", (id: unknown) => timers.clear(timerIdOf(id)))
  define("clearInterval", (id: unknown) => timers.clear(timerIdOf(id)))
  define("clearImmediate", (id: unknown) => timers.clear(timerIdOf(id)))
}

function defineWeb(
  define: Define,
  bridge: Bridge,
  timers: RealmTimers,
  services: RealmServices,
  lazy: LazyGlobals,
): void {
  define("queueMicrotask", (callback: unknown) => {
    if (typeof callback !== "function") throw new TypeErrorOf("queueMicrotask takes a function.")
    void promiseThen(new PromiseOf<void>((resolve) => resolve()), () => {
      try {
        callback()
      } catch (error) {
        services.uncaught(error)
      }
    })
  })
  define("structuredClone", (value: unknown) => services.clone(value))
  define("performance", objectFreeze({ now: () => bridge.call(opNow), timeOrigin: bridge.call(opTimeOrigin) }))
  define("crypto", makeCrypto(bridge))
  define("process", makeProcess(services))
  const { capabilities } = services
  const ask: AskUrl = (input, other, part) => bridge.call(opUrl, input, other, undefined, part) as string | undefined
  lazy.define(() => makeUrlClasses(ask), "URL", "URLSearchParams")
  lazy.define(makeTextClasses, "TextEncoder", "TextDecoder")
  const after = (ms: number, callback: () => void): void => {
    if (!capabilities.has("timers")) throw capabilities.refusal("AbortSignal.timeout", "timers")
    timers.set(callback, ms, newList(), false)
  }
  lazy.define(() => makeAbortClasses({ after, uncaught: services.uncaught }), "AbortController", "AbortSignal")
}

function makeProcess({ capabilities, exit }: RealmServices): object {
  const process = { exit: (code?: unknown) => exit(code) }
  defineOwn(process, "env", denied(capabilities, "process.env", "env"))
  return objectFreeze(process)
}

/** A property that says what it needs to whoever reads it. */
export function denied(capabilities: Capabilities, what: string, capability: string): PropertyDescriptor {
  const get = (): never => {
    throw capabilities.refusal(what, capability)
  }
  return { __proto__: null, get, enumerable: false, configurable: true } as PropertyDescriptor
}

/** Bytes that one call may ask for, as in browsers and Node. */
const randomBytesMax = 65_536

function makeCrypto(bridge: Bridge): object {
  const random = (length: number): Uint8Array => {
    const bytes = new Uint8ArrayOf(length)
    bridge.call(opRandom, length, undefined, bytes)
    return bytes
  }
  return objectFreeze({
    getRandomValues<T>(view: T): T {
      if (!isBufferView(view)) throw new TypeErrorOf("getRandomValues takes an integer typed array.")
      const length = typedArrayByteLength(view)
      if (!(NumberOf(length) <= randomBytesMax))
        throw new TypeErrorOf(`getRandomValues gives at most ${randomBytesMax} bytes.`)
      typedArraySet(new Uint8ArrayOf(typedArrayBuffer(view), typedArrayOffset(view), length), random(length))
      return view
    },
    randomUUID(): string {
      const bytes = random(16)
      bytes[6] = (bytes[6]! & 0x0f) | 0x40
      bytes[8] = (bytes[8]! & 0x3f) | 0x80
      const digits = "0123456789abcdef"
      let text = ""
      for (let index = 0; index < 16; index++) {
        if (index === 4 || index === 6 || index === 8 || index === 10) text += "-"
        text += digits[bytes[index]! >> 4]! + digits[bytes[index]! & 15]!
      }
      return text
    },
  })
}
