// AbortController and AbortSignal for session code.
//
// A signal is a value: whether it is aborted, with what reason, who listens and which signals follow it stand in private names, so an
// interrupted piece of work that is kept in a binding is still aborted, or can still be, after its realm has gone. The timer of
// `AbortSignal.timeout` is like every timer: it belongs to the eval that set it, and is cancelled and listed as abandoned when that ends.
import {
  applyFunction,
  ErrorOf,
  newList,
  putOwn,
  RangeErrorOf,
  tagPrototype,
  textOfGiven,
  TypeErrorOf,
  withCode,
  withoutPrototype,
  defineOwn,
} from "./intrinsics.ts"
import { givenItems } from "./iterate.ts"
import { constructionMode, registerRealmClass } from "./privates.ts"

export interface AbortServices {
  after(ms: number, callback: () => void): void
  /** Takes what a listener threw. */
  uncaught(error: unknown): void
}

/** As DOMException names and numbers them, which sessions do not have. */
function namedError(name: string, code: number, message: string): Error {
  const error = new ErrorOf(message)
  defineOwn(error, "name", withoutPrototype({ value: name, writable: true, enumerable: false, configurable: true }))
  putOwn(error, "code", code)
  return error
}

/** Makes the two classes in this realm, at their first use. */
export function makeAbortClasses(services: AbortServices): object {
  interface AbortListener {
    callback: unknown
    readonly once: boolean
    /** It is the value of `onabort`. */
    readonly isHandler: boolean
    /** Listens only while that signal is not aborted. */
    readonly until: AbortSignal | undefined
  }

  /** The constructor of signals is not for session code. */
  const making = { __proto__: null, on: false } as unknown as { on: boolean }

  function newSignal(): AbortSignal {
    making.on = true
    try {
      return new AbortSignal()
    } finally {
      making.on = false
    }
  }

  let abortSignal: (signal: AbortSignal, reason: unknown) => void
  let isSignal: (object: object) => boolean
  let hasAborted: (signal: AbortSignal) => boolean

  class AbortSignal {
    #isAborted = false
    #reason?: unknown
    #listeners: AbortListener[] = newList()
    /** Signals of `any` that abort with this one. */
    #followers: AbortSignal[] = newList()

    constructor() {
      if (constructionMode.on || making.on) return
      throw withCode(
        new TypeErrorOf("Illegal constructor: signals come from an AbortController, or from AbortSignal's functions."),
        "ERR_ILLEGAL_CONSTRUCTOR",
      )
    }

    static abort(reason?: unknown): AbortSignal {
      const signal = newSignal()
      abortSignal(signal, reason)
      return signal
    }

    static timeout(ms: unknown): AbortSignal {
      if (typeof ms !== "number" || !(ms >= 0 && ms <= 2_147_483_647))
        throw withCode(
          new RangeErrorOf("AbortSignal.timeout takes milliseconds from 0 to 2147483647."),
          "ERR_OUT_OF_RANGE",
        )
      const signal = newSignal()
      services.after(ms, () => {
        abortSignal(signal, namedError("TimeoutError", 23, "The operation was aborted due to timeout"))
      })
      return signal
    }

    static any(signals: unknown): AbortSignal {
      const sources = givenItems(signals)
      const signal = newSignal()
      for (let index = 0; index < sources.length; index++) {
        const source = sources[index]
        if (typeof source !== "object" || source === null || !isSignal(source))
          throw withCode(new TypeErrorOf("AbortSignal.any takes signals."), "ERR_INVALID_ARG_TYPE")
      }
      for (let index = 0; index < sources.length; index++) {
        const source = sources[index] as AbortSignal
        if (!source.#isAborted) continue
        signal.#isAborted = true
        signal.#reason = source.#reason
        return signal
      }
      for (let index = 0; index < sources.length; index++) {
        const source = sources[index] as AbortSignal
        // Those that aborted by another of theirs need not be told, and a signal that lives long must not keep them.
        const followers: AbortSignal[] = newList()
        for (let at = 0; at < source.#followers.length; at++) {
          const follower = source.#followers[at]!
          if (!follower.#isAborted && follower !== signal) followers[followers.length] = follower
        }
        followers[followers.length] = signal
        source.#followers = followers
      }
      return signal
    }

    get aborted(): boolean {
      return this.#isAborted
    }

    get reason(): unknown {
      return this.#reason
    }

    throwIfAborted(): void {
      if (this.#isAborted) throw this.#reason
    }

    get onabort(): unknown {
      const at = this.#handlerAt()
      return at < 0 ? null : this.#listeners[at]!.callback
    }
    set onabort(callback: unknown) {
      const at = this.#handlerAt()
      if ((typeof callback !== "object" || callback === null) && typeof callback !== "function") {
        if (at >= 0) this.#remove(at)
      } else if (at >= 0) this.#listeners[at]!.callback = callback
      else this.#add({ callback, once: false, isHandler: true, until: undefined })
    }

    addEventListener(type: unknown, callback: unknown, options?: unknown): void {
      if (textOfGiven(type) !== "abort" || callback === null || callback === undefined) return
      if (typeof callback !== "function" && typeof callback !== "object")
        throw withCode(
          new TypeErrorOf("addEventListener takes a function, or an object with handleEvent."),
          "ERR_INVALID_ARG_TYPE",
        )
      const given: { once?: unknown; signal?: unknown } | null = typeof options === "object" ? options : null
      const once = Boolean(given?.once)
      const until = given?.signal
      if (until !== undefined && (typeof until !== "object" || until === null || !isSignal(until)))
        throw withCode(new TypeErrorOf("The option `signal` must be an AbortSignal."), "ERR_INVALID_ARG_TYPE")
      if (this.#find(callback) >= 0 || (until !== undefined && hasAborted(until as AbortSignal))) return
      this.#add({ callback, once, isHandler: false, until: until as AbortSignal | undefined })
    }

    removeEventListener(type: unknown, callback: unknown): void {
      const at = textOfGiven(type) === "abort" ? this.#find(callback) : -1
      if (at >= 0) this.#remove(at)
    }

    #add(listener: AbortListener): void {
      this.#listeners[this.#listeners.length] = withoutPrototype(listener)
    }

    /** The list is made anew: one that is being told of an abort stays as it is. */
    #remove(at: number): void {
      const kept: AbortListener[] = newList()
      for (let index = 0; index < this.#listeners.length; index++)
        if (index !== at) kept[kept.length] = this.#listeners[index]!
      this.#listeners = kept
    }

    #find(callback: unknown): number {
      for (let at = 0; at < this.#listeners.length; at++) {
        const { isHandler, until, callback: found } = this.#listeners[at]!
        if (found === callback && !isHandler && (until === undefined || !until.#isAborted)) return at
      }
      return -1
    }

    #handlerAt(): number {
      for (let at = 0; at < this.#listeners.length; at++) if (this.#listeners[at]!.isHandler) return at
      return -1
    }

    #tell(): void {
      const told = this.#listeners
      const count = told.length
      const event = {
        type: "abort",
        target: this,
        currentTarget: this,
        bubbles: false,
        cancelable: false,
        isTrusted: true,
      }
      for (let at = 0; at < count; at++) {
        const listener = told[at]!
        if (!this.#isListed(listener) || (listener.until !== undefined && listener.until.#isAborted)) continue
        if (listener.once) this.#remove(this.#find(listener.callback))
        try {
          callListener(listener.callback, this, event)
        } catch (error) {
          services.uncaught(error)
        }
      }
    }

    #isListed(listener: AbortListener): boolean {
      for (let at = 0; at < this.#listeners.length; at++) if (this.#listeners[at] === listener) return true
      return false
    }

    static {
      isSignal = (object) => #isAborted in object
      hasAborted = (signal) => signal.#isAborted
      abortSignal = (signal, reason) => {
        if (signal.#isAborted) return
        const all: AbortSignal[] = newList()
        all[0] = signal
        signal.#isAborted = true
        signal.#reason = reason === undefined ? namedError("AbortError", 20, "This operation was aborted") : reason
        // All are aborted before any listener runs.
        for (let next = 0; next < all.length; next++) {
          const { length } = all[next]!.#followers
          for (let at = 0; at < length; at++) {
            const follower = all[next]!.#followers[at]!
            if (follower.#isAborted) continue
            follower.#isAborted = true
            follower.#reason = signal.#reason
            all[all.length] = follower
          }
          all[next]!.#followers = newList()
        }
        for (let index = 0; index < all.length; index++) all[index]!.#tell()
      }
      registerRealmClass(
        "AbortSignal",
        AbortSignal,
        ["aborted", "reason", "listeners", "followers"],
        (object, index) => {
          const it = object as AbortSignal
          return index === 0 ? it.#isAborted : index === 1 ? it.#reason : index === 2 ? it.#listeners : it.#followers
        },
        (object, index, value) => {
          const it = object as AbortSignal
          if (index === 0) it.#isAborted = value as boolean
          else if (index === 1) it.#reason = value
          else if (index === 2) it.#listeners = value as AbortListener[]
          else it.#followers = value as AbortSignal[]
        },
        isSignal,
        (object) => `AbortSignal { aborted: ${(object as AbortSignal).#isAborted} }`,
      )
    }
  }

  function callListener(callback: unknown, signal: AbortSignal, event: object): void {
    const args: unknown[] = newList()
    args[0] = event
    if (typeof callback === "function") applyFunction(callback, signal, args)
    else applyFunction((callback as { handleEvent?: unknown }).handleEvent, callback, args)
  }

  class AbortController {
    #signal: AbortSignal | undefined

    constructor() {
      if (!constructionMode.on) this.#signal = newSignal()
    }

    get signal(): AbortSignal {
      return this.#signal!
    }

    abort(reason?: unknown): void {
      abortSignal(this.#signal!, reason)
    }

    static {
      registerRealmClass(
        "AbortController",
        AbortController,
        ["signal"],
        (object) => (object as AbortController).#signal,
        (object, _index, value) => {
          ;(object as AbortController).#signal = value as AbortSignal
        },
        (object) => #signal in object,
        (object) =>
          `AbortController { signal: AbortSignal { aborted: ${hasAborted((object as AbortController).signal)} } }`,
      )
    }
  }
  tagPrototype(AbortSignal.prototype, "AbortSignal")
  tagPrototype(AbortController.prototype, "AbortController")

  return withoutPrototype({ AbortController, AbortSignal })
}
