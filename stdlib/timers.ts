// setTimeout and its kin, kept in the realm: the worker only knows numbers, so no callback or handle ever leaves.
//
// A timer belongs to the eval that set it. When that eval ends the worker cancels it and the outcome lists it as abandoned; setting one
// from code of an ended eval is refused. What a callback throws is the eval's failure, never the worker's.
import { applyFunction, MapOf, mapDelete, mapGet, mapSet, NumberOf, TypeErrorOf } from "./intrinsics.ts"
import { opTimerClear, opTimerSet } from "./bridge.ts"
import type { Bridge } from "./bridge.ts"

interface TimerEntry {
  readonly callback: unknown
  readonly args: unknown[]
  readonly repeats: boolean
}

export class RealmTimers {
  readonly #bridge: Bridge
  readonly #entries = new MapOf<number, TimerEntry>()
  #last = 0

  constructor(bridge: Bridge) {
    this.#bridge = bridge
  }

  set(callback: unknown, ms: unknown, args: unknown[], repeats: boolean): number {
    if (typeof callback !== "function") throw new TypeErrorOf("A timer's callback must be a function.")
    const given = NumberOf(ms)
    // As elsewhere: what is not a delay counts as the shortest, and the longest is 2^31 - 1.
    const delay = given >= 1 && given <= 2_147_483_647 ? given : 1
    const id = ++this.#last
    this.#bridge.callOutside("Setting a timer", opTimerSet, id, repeats ? -delay : delay)
    mapSet(this.#entries, id, { callback, args, repeats })
    return id
  }

  clear(id: unknown): void {
    if (typeof id !== "number" || !mapDelete(this.#entries as never, id)) return
    this.#bridge.call(opTimerClear, id)
  }

  /** Called by the worker when a timer is due. */
  fire(id: number): void {
    const entry = mapGet<TimerEntry>(this.#entries, id)
    if (entry === undefined) return
    if (!entry.repeats) mapDelete(this.#entries as never, id)
    applyFunction(entry.callback, undefined, entry.args)
  }

  /** Called by the worker when the timer's eval has ended. */
  forget(id: number): void {
    mapDelete(this.#entries as never, id)
  }
}

/** What a timer function gives where Node's way is expected. A timer never keeps anything alive here: it goes with its eval. */
export class TimerHandle {
  readonly #id: number
  readonly #timers: RealmTimers

  constructor(id: number, timers: RealmTimers) {
    this.#id = id
    this.#timers = timers
  }

  static idOf(handle: object): number | undefined {
    return #id in handle ? handle.#id : undefined
  }

  ref(): this {
    return this
  }

  unref(): this {
    return this
  }

  hasRef(): boolean {
    return true
  }

  close(): this {
    this.#timers.clear(this.#id)
    return this
  }

  [Symbol.toPrimitive](): number {
    return this.#id
  }
}

/** The number of a timer, whichever way it was given. */
export function timerIdOf(given: unknown): unknown {
  return typeof given === "object" && given !== null ? TimerHandle.idOf(given) : given
}
