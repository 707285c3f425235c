// Instances of a class that was declared again move to the new one, all of them or none.
//
// The bindings are walked as the encoder walks them, so an instance is found wherever it could be kept, behind a closure or a private field too. An
// instance moves by getting the new class's prototype; new fields whose initialisers are literals or functions are put on it, and those that
// would run code are named. Private names belong to the class that made the object: an instance that has some is made again from its
// bytes, with all that shares objects with it, once the caller has committed those (`remade`). Nothing here runs session code.
import { classOfPart, classRecord, type ClassRecord } from "./classes.ts"
import {
  descriptorOf,
  isExtensible,
  MapOf,
  mapGet,
  mapSet,
  newList,
  objectHasOwn,
  prototypeOf,
  setPrototype,
} from "./intrinsics.ts"
import { constructOn, privatesOfPrototype, type PrivatesOfClass } from "./privates.ts"
import { isRecordedProxy } from "./proxy-record.ts"
import { rootScope, stampToken, tokenDescriptor, tokenParent, type ScopeDescriptor, type ScopeToken } from "./stamp.ts"

/** A class that took the place of another under a name. */
export interface Redefinition {
  readonly name: string
  readonly from: object
  readonly to: object
  /** Public fields that only code of the new class could give a value. */
  readonly missing: readonly string[]
  /** Classes with one field each. */
  readonly filled: readonly { readonly name: string; readonly made: object }[]
}

/** An object that bindings reach, and the first binding that does. */
export interface Reached {
  readonly object: object
  readonly binding: string
}

export interface Moved {
  /** What could not be done, in words, each with the binding it is about. */
  readonly stale: string[]
  /** Bindings with instances that have to be made again from their bytes. */
  readonly remade: string[]
}

/** Private names of a class that took the place of another, for objects of either. */
export type PrivatesPair = (entry: PrivatesOfClass) => PrivatesOfClass

const linksMax = 1_000

interface FoundInstance {
  readonly instance: Reached
  /** Its prototype is the old class's; otherwise a class between them is what moves. */
  readonly isDirect: boolean
  /** Nothing but prototypes is between them: the class makes its fields. What has an instance for its prototype has none of its own. */
  readonly hasFields: boolean
}

/**
 * Moves what is reached. `isEphemeral`: a binding that cannot be encoded, so that what it holds cannot be made again.
 */
export function moveInstances(
  redefinitions: readonly Redefinition[],
  reached: readonly Reached[],
  isEphemeral: (binding: string) => boolean,
): Moved {
  const moved: Moved = { stale: newList(), remade: newList() }
  const successors = new MapOf<object, object>()
  for (let at = 0; at < redefinitions.length; at++) {
    const redefinition = redefinitions[at]!
    const from = classRecord(redefinition.from)!
    const to = classRecord(redefinition.to)!
    const found = instancesOf(from.parts[0]!, redefinition.from, reached)
    const problem = moveProblem(redefinition, from, to, found, successors, isEphemeral, reached)
    if (problem === undefined) {
      mapSet(successors, redefinition.from, redefinition.to)
      moveFound(redefinition, from, to, found, moved)
    } else noteStale(moved.stale, found, `still an earlier ${redefinition.name}: ${problem}`)
  }
  return moved
}

function instancesOf(prototype: object, made: object, reached: readonly Reached[]): FoundInstance[] {
  const found: FoundInstance[] = newList()
  for (let at = 0; at < reached.length; at++) {
    const instance = reached[at]!
    const { object } = instance
    // A prototype moves with its class.
    if (isRecordedProxy(object) || (typeof object === "object" && classOfPart(object) !== undefined)) continue
    const record = classRecord(object)
    if (record !== undefined) {
      // A class that extends the old one moves with its prototype.
      if (prototypeOf(object) === made || prototypeOf(record.parts[0]!) === prototype)
        found[found.length] = { instance, isDirect: true, hasFields: false }
      continue
    }
    let link = prototypeOf(object)
    const isDirect = link === prototype
    let hasFields = !isPrototype(object)
    for (let depth = 0; link !== null && link !== prototype && depth < linksMax; depth++) {
      if (isRecordedProxy(link)) break
      hasFields &&= isPrototype(link)
      link = prototypeOf(link)
    }
    if (link === prototype) found[found.length] = { instance, isDirect, hasFields }
  }
  return found
}

/** Whether an object is the prototype of what some constructor makes. */
function isPrototype(object: object): boolean {
  if (classOfPart(object) !== undefined) return true
  const constructor: unknown = descriptorOf(object, "constructor")?.value
  if (typeof constructor !== "function" || isRecordedProxy(constructor)) return false
  return descriptorOf(constructor, "prototype")?.value === object
}

function moveProblem(
  { from: oldClass, to: newClass }: Redefinition,
  from: ClassRecord,
  to: ClassRecord,
  found: readonly FoundInstance[],
  successors: Map<unknown, object>,
  isEphemeral: (binding: string) => boolean,
  reached: readonly Reached[],
): string | undefined {
  const parent = prototypeOf(oldClass)
  if ((mapGet(successors, parent) ?? parent) !== prototypeOf(newClass)) return "what it extends changed"
  const before = privatesOfPrototype(from.parts[0]!)
  const after = privatesOfPrototype(to.parts[0]!)
  if (before?.shape !== after?.shape) return "its private names changed"
  for (let at = 0; at < found.length; at++) {
    const { instance, isDirect } = found[at]!
    if (isDirect && !isExtensible(instance.object)) return `an instance is frozen (in '${instance.binding}')`
    if (before === undefined || !before.has(instance.object)) continue
    if (!after!.isOpen) return "it has private names and a constructor whose parameters run code"
    if (isEphemeral(instance.binding)) return `an instance cannot be made again (in '${instance.binding}')`
  }
  if (before === undefined || found.length === 0) return undefined
  const user = userOfPrivates(oldClass, reached)
  return user === undefined ? undefined : `a function made in it uses its private names (in '${user}')`
}

/** The binding of a function that was made inside of a class and uses its private names. Instances of another class have not got these. */
function userOfPrivates(made: object, reached: readonly Reached[]): string | undefined {
  for (let at = 0; at < reached.length; at++) {
    const { object, binding } = reached[at]!
    let token: ScopeToken | undefined = stampToken(object)
    for (let depth = 0; typeof token === "function" && depth < linksMax; depth++) {
      const descriptor = token(tokenDescriptor) as ScopeDescriptor
      if (descriptor.p === true && token(0) === made) return binding
      if (descriptor.o === rootScope) break
      token = token(tokenParent) as ScopeToken
    }
  }
  return undefined
}

function moveFound(
  { name, from: oldClass, to: newClass, missing, filled }: Redefinition,
  from: ClassRecord,
  to: ClassRecord,
  found: readonly FoundInstance[],
  moved: Moved,
): void {
  const before = from.parts[0]!
  const after = to.parts[0]!
  const privates = privatesOfPrototype(before)
  for (let at = 0; at < found.length; at++) {
    const { instance, isDirect, hasFields } = found[at]!
    const { object, binding } = instance
    const record = classRecord(object)
    if (record !== undefined) {
      if (prototypeOf(object) === oldClass) setPrototype(object, newClass)
      if (prototypeOf(record.parts[0]!) === before) setPrototype(record.parts[0]!, after)
      continue
    }
    if (isDirect) setPrototype(object, after)
    if (isExtensible(object) && hasFields) {
      for (let index = 0; index < filled.length; index++) {
        const field = filled[index]!
        if (!objectHasOwn(object, field.name)) constructOn(object, field.made)
      }
    }
    for (let index = 0; index < missing.length; index++) {
      const field = missing[index]!
      if (hasFields && !objectHasOwn(object, field))
        noteOnce(moved.stale, `${binding} (${name}: '${field}' has no value)`)
    }
    if (privates?.has(object) === true) noteOnce(moved.remade, binding)
  }
}

function noteStale(list: string[], found: readonly FoundInstance[], text: string): void {
  for (let at = 0; at < found.length; at++) noteOnce(list, `${found[at]!.instance.binding} (${text})`)
}

function noteOnce(list: string[], text: string): void {
  for (let at = 0; at < list.length; at++) if (list[at] === text) return
  list[list.length] = text
}

/** How private names are read while objects of both classes are under way. */
export function privatesPair(redefinitions: readonly Redefinition[]): PrivatesPair {
  return (entry) => {
    let pair = entry
    // The latest first: what took its place twice was in the place of the one before.
    for (let at = redefinitions.length - 1; at >= 0; at--) {
      const { from, to } = redefinitions[at]!
      if (to !== pair.made && to !== entry.made) continue
      const old = privatesOfPrototype(classRecord(from)!.parts[0]!)
      if (old === undefined) continue
      pair = readEither(pair, old)
    }
    return pair
  }
}

function readEither(entry: PrivatesOfClass, old: Pick<PrivatesOfClass, "has" | "read">): PrivatesOfClass {
  const { made, names, has, read, write, isOpen, isDerived, shape, className } = entry
  return {
    made,
    names,
    write,
    isOpen,
    isDerived,
    shape,
    className,
    has: (object) => has(object) || old.has(object),
    read: (object, index) => (has(object) ? read(object, index) : old.read(object, index)),
  }
}
