// Globals that are made at their first use: classes of the web that most sessions never touch, and that would take a fifth of a realm's boot.
//
// Until then the global object has an accessor, which puts a data property in its own place. The names of such objects are known all the while:
// a value that was committed with a reference to one, or as an instance of one, has it made.
import { defineOwn, descriptorOf, newList, realmGlobal, stringCodeAt, stringSlice } from "./intrinsics.ts"
import type { IntrinsicReferences } from "./intrinsic-references.ts"

interface LazyGroup {
  readonly names: string[]
  readonly getters: (() => unknown)[]
  readonly make: () => Record<string, unknown>
  made: Record<string, unknown> | undefined
}

export class LazyGlobals {
  readonly #groups: LazyGroup[] = newList()
  /** Takes the names of what was made. Set before user code runs. */
  references: IntrinsicReferences | undefined

  /** `make` gives the globals by name; what it gives under other names is only reached through them. */
  define(make: () => object, first: string, second: string): void {
    const group: LazyGroup = { names: newList(), getters: newList(), make: make as never, made: undefined }
    this.#groups[this.#groups.length] = group
    this.#defineAccessor(group, first)
    this.#defineAccessor(group, second)
  }

  #defineAccessor(group: LazyGroup, name: string): void {
    const get = (): unknown => this.#make(group)[name]
    group.names[group.names.length] = name
    group.getters[group.getters.length] = get
    const set = (value: unknown): void => {
      defineData(name, value)
    }
    const attributes = { __proto__: null, get, set, enumerable: false, configurable: true }
    defineOwn(realmGlobal, name, attributes)
  }

  #make(group: LazyGroup): Record<string, unknown> {
    if (group.made !== undefined) return group.made
    const made = group.make()
    group.made = made
    for (let index = 0; index < group.names.length; index++) {
      const name = group.names[index]!
      // A name that the session has given something else stays with that.
      if (descriptorOf(realmGlobal, name)?.get === group.getters[index]) defineData(name, made[name])
      this.references?.add(name, made[name] as object)
    }
    for (const name in made) this.references?.add(`%${name}%`, made[name] as object)
    return made
  }

  /** Whether that global is one of these and stands as it was made. */
  isAsMade(name: string, value: unknown): boolean {
    for (let index = 0; index < this.#groups.length; index++) {
      const { made, names } = this.#groups[index]!
      if (made === undefined) continue
      for (let at = 0; at < names.length; at++) if (names[at] === name) return made[name] === value
    }
    return false
  }

  /** Has the object made that the path of an intrinsic begins with, if it is one of these. */
  need(path: string): void {
    const name = firstName(path)
    for (let index = 0; index < this.#groups.length; index++) {
      const group = this.#groups[index]!
      for (let at = 0; at < group.names.length; at++) if (group.names[at] === name) this.#make(group)
    }
  }
}

function defineData(name: string, value: unknown): void {
  const attributes = { __proto__: null, value, writable: true, enumerable: false, configurable: true }
  defineOwn(realmGlobal, name, attributes)
}

/** Of `%URLSearchParams Iterator%` and the like the first word: what is hidden is named after the global that leads to it. */
function firstName(path: string): string {
  const from = path[0] === "%" ? 1 : 0
  for (let at = from; at < path.length; at++) {
    const code = stringCodeAt(path, at)
    const isLetter = (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
    if (!isLetter) return stringSlice(path, from, at)
  }
  return stringSlice(path, from)
}
