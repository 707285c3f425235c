// What the embedder holds of a session: revisions, by pins, and values, by handles. Both are few and bounded, and go with the session.
//
// A pin keeps the data of its revision when a change replaces it; the rest of a revision is made from its sources for each call. A retained value
// is committed like a binding, so it survives its host, and its revision is held as by a pin.
import { nanoid } from "nanoid"
import { NacreError } from "../errors.ts"
import type { Limits } from "../options.ts"
import type { SessionState } from "./state.ts"
import { dropData, nameOfHandle } from "./unnamed.ts"

/** A revision that is held for a series of calls, until it is released or its session is closed. */
export class Pin {
  readonly id: string
  readonly revision: number
  readonly #release: (id: string) => boolean

  constructor(id: string, revision: number, release: (id: string) => boolean) {
    this.id = id
    this.revision = revision
    this.#release = release
  }

  /** Lets it go; false when it was gone already. */
  release(): boolean {
    return this.#release(this.id)
  }

  [Symbol.dispose](): void {
    this.release()
  }

  toString(): string {
    return this.id
  }
}

export interface PinInfo {
  pin: string
  revision: number
}

/** A value that the embedder holds by a handle. */
export interface RetainedValue {
  /** The handle. */
  value: string
  isFunction: boolean
  /** As its outcome said, its text shortened. */
  type: string
  text: string
  /** The revision that it was retained from. */
  revision: number
  /** `ephemeral` while only a process holds it, `lost` when that ended. */
  held: "bytes" | "ephemeral" | "lost"
}

export interface HandlesContext {
  readonly id: string
  readonly limits: Pick<Limits, "pinsMax" | "retainedValuesMax">
  readonly state: SessionState
  /** These values without names are gone from the state: the realm forgets them, too. */
  readonly forget: (names: string[]) => void
}

export class SessionHandles {
  readonly #context: HandlesContext
  /** Evals under way that may retain their result. */
  #coming = 0

  constructor(context: HandlesContext) {
    this.#context = context
  }

  pin(revision: number): Pin {
    const { state, id, limits } = this.#context
    const pins = (state.pins ??= new Map())
    if (pins.size >= limits.pinsMax) {
      const message = `Session '${id}' has ${pins.size} pins, its maximum (limits.pinsMax); release some.`
      throw new NacreError("handle_limit", message)
    }
    const pin = `pin_${nanoid(12)}`
    pins.set(pin, revision)
    return new Pin(pin, revision, (it) => this.#unpin(it))
  }

  #unpin(pin: string): boolean {
    const { state, forget } = this.#context
    if (state.pins?.delete(pin) !== true) return false
    forget(dropData(state))
    return true
  }

  release(pin: string): void {
    if (!this.#unpin(pin)) throw this.#noPin(pin)
  }

  /** The revision that a pin holds. Fails with `pin_not_found`. */
  revisionOf(pin: string): number {
    const revision = this.#context.state.pins?.get(pin)
    if (revision === undefined) throw this.#noPin(pin)
    return revision
  }

  pins(): PinInfo[] {
    return Array.from(this.#context.state.pins ?? [], ([pin, revision]) => ({ pin, revision }))
  }

  values(): RetainedValue[] {
    const values: RetainedValue[] = []
    for (const [name, { local, facts }] of this.#context.state.unnamed ?? []) {
      if (facts === undefined) continue
      const held = local.held === "realm" ? "ephemeral" : local.held === "lost" ? "lost" : "bytes"
      values.push({ value: name.slice(1), ...facts, held })
    }
    return values
  }

  /** The name and the revision of a value that can be called. Fails with `value_not_found`, `binding_lost`. */
  find(handle: string): { name: string; revision: number } {
    const name = nameOfHandle(handle)
    const known = this.#context.state.unnamed?.get(name)
    if (known?.facts === undefined) throw this.#noValue(handle)
    const { local, facts } = known
    if (local.held === "lost")
      throw new NacreError("binding_lost", `The retained value '${handle}' was lost: ${local.reason}.`)
    return { name, revision: facts.revision }
  }

  /** Fails with `value_not_found`. */
  releaseValue(handle: string): void {
    const { state, forget } = this.#context
    const name = nameOfHandle(handle)
    if (state.unnamed?.get(name)?.facts === undefined) throw this.#noValue(handle)
    state.unnamed.delete(name)
    forget([name, ...dropData(state)])
  }

  /** Room for the result of an eval that is accepted now; gives what is called when that has ended. Fails with `handle_limit`. */
  expectValue(): () => void {
    const { state, id, limits } = this.#context
    let held = this.#coming
    for (const { facts } of state.unnamed?.values() ?? []) if (facts !== undefined) held += 1
    if (held >= limits.retainedValuesMax) {
      const message = `Session '${id}' retains ${held} values, its maximum (limits.retainedValuesMax); release some.`
      throw new NacreError("handle_limit", message)
    }
    this.#coming += 1
    return () => {
      this.#coming -= 1
    }
  }

  #noPin(pin: string): NacreError {
    const message = `Session '${this.#context.id}' has no pin '${pin}'; it may have been released. Pin a revision with pinRevision.`
    return new NacreError("pin_not_found", message)
  }

  #noValue(handle: string): NacreError {
    const message = `Session '${this.#context.id}' retains no value '${handle}': it was released, or the session was reset or rolled back. Ask for it again with retainValues.`
    return new NacreError("value_not_found", message)
  }
}
