// What definitions hold, from the objects' side: which definition one belongs to, and what it was made with.
//
// Functions and classes of session code, which are nearly all, carry it as a private field as they carry their stamp (`stamp.ts`): a change that
// makes thousands again would otherwise fill a WeakMap with objects that live for one change, and what a collector does about those took half
// of its time. Everything else is in a WeakMap: it may have any shape, and be another realm's.
import { WeakMapOf, weakMapGet, weakMapSet } from "./intrinsics.ts"
import { classRecord } from "./classes.ts"
import { ReturnedObject, stampToken } from "./stamp.ts"
import type { MadeProperties } from "./code-changes.ts"

/** An object that came with a definition, a function of its literal or a method of its class, and how it is reached from another one of the list. */
export interface CodeObject {
  /** `undefined`: the one that the definition is. */
  readonly object: object | undefined
  readonly parent: number
  readonly step: string
  readonly made: MadeProperties
}

/** What a definition holds: its name, and what its objects were made with; imports are not compared. */
export interface Instance {
  readonly definition: string
  readonly made: readonly CodeObject[] | undefined
}

class InstanceMark extends ReturnedObject {
  #instance: Instance

  constructor(object: object, instance: Instance) {
    super(object)
    this.#instance = instance
  }

  static of(object: object): Instance | undefined {
    return #instance in object ? object.#instance : undefined
  }

  static put(object: object, instance: Instance): boolean {
    if (!(#instance in object)) return false
    object.#instance = instance
    return true
  }
}

export class Instances {
  readonly #others = new WeakMapOf<object, Instance>()

  get(object: object): Instance | undefined {
    return InstanceMark.of(object) ?? weakMapGet(this.#others, object)
  }

  set(object: object, instance: Instance): void {
    if (InstanceMark.put(object, instance)) return
    if (isMadeHere(object)) void new InstanceMark(object, instance)
    else weakMapSet(this.#others, object, instance)
  }
}

/** Generated code has made it and stamped it. */
function isMadeHere(object: object): boolean {
  return typeof object === "function" && (stampToken(object) !== undefined || classRecord(object) !== undefined)
}
