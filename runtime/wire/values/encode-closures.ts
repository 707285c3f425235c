// How a function of session code is written: which one of which source, and the activation it was created in with its variables.
//
// An activation is written once and referred to by number, like an object, so that functions which shared variables go on sharing them.
// Its parent and its `this` stand in place, since it cannot be made without them; its variables follow later, so that cycles through them
// are nothing special. A source's root is different: what it holds never changes, so each use writes it anew and nothing is
// shared through it. What cannot be made again as it is stays ephemeral: a variable in its dead zone, a frame that may still go on.
import {
  descriptorOf,
  mapGet,
  newList,
  objectHasOwn,
  ownKeysOf,
  prototypeOf,
  type Primitive,
} from "../../../stdlib/intrinsics.ts"
import { boundRecord } from "../../../stdlib/bound-record.ts"
import {
  rootScope,
  stampNumber,
  stampToken,
  tokenDescriptor,
  tokenLife,
  tokenParent,
  type ScopeDescriptor,
  type ScopeToken,
} from "../../../stdlib/stamp.ts"
import { writeGeneral } from "./encode-general.ts"
import type { ValueEncoder } from "./encoder.ts"
import { closureDepthMax, opBound, opClosure, opEnd, opRef, opRoot, opScope, opNull, scopeDepthMax } from "./format.ts"
import { isFreshPrototype } from "./kinds.ts"

/** Writes a stamped or bound function; gives the reason when it cannot be kept, and "" for any other function. */
export function writeClosure(encoder: ValueEncoder, object: object): string | undefined {
  const token = stampToken(object)
  if (token === undefined) return writeBound(encoder, object)
  const problem = problemOf(encoder, token)
  if (problem !== undefined) return problem
  const keys = keysOf(object)
  const prototype = prototypeOf(object)
  const more = keys.length > 0 || !isFreshPrototype("function", object, prototype) ? 1 : 0
  encoder.putOp(opClosure)
  encoder.put(more)
  encoder.put(stampNumber(object))
  encoder.put(factOf(object, "name", "string"))
  encoder.put(factOf(object, "length", "number"))
  writeScope(encoder, token)
  encoder.mark(object)
  if (more === 1) writeGeneral(encoder, object, prototype, "function", keys)
  return undefined
}

/** What a bound function calls is part of it, and stands in place. */
function writeBound(encoder: ValueEncoder, object: object): string | undefined {
  const record = boundRecord(object)
  if (record === undefined) return ""
  if (encoder.closureDepth >= closureDepthMax) return `it is bound more than ${closureDepthMax} times over`
  const { target, self, args } = record
  const keys = keysOf(object)
  const prototype = prototypeOf(object)
  const more = keys.length > 0 || !isFreshPrototype("function", object, prototype) ? 1 : 0
  encoder.putOp(opBound)
  encoder.put(more)
  encoder.put(factOf(object, "name", "string"))
  encoder.put(factOf(object, "length", "number"))
  encoder.put(args.length)
  encoder.weight += args.length * 2
  writeInPlace(encoder, target)
  writeInPlace(encoder, self)
  for (let at = 0; at < args.length; at++) writeInPlace(encoder, args[at])
  encoder.mark(object)
  if (more === 1) writeGeneral(encoder, object, prototype, "function", keys)
  return undefined
}

export function writeInPlace(encoder: ValueEncoder, value: unknown): void {
  encoder.closureDepth++
  encoder.writeValue(value)
  encoder.closureDepth--
  encoder.putOp(opEnd)
}

/** `name` and `length` as a fresh function has them: the value. `false`: there is none; `true`: it is among the properties. */
export function factOf(object: object, key: "name" | "length", type: "string" | "number"): Primitive {
  const descriptor = descriptorOf(object, key)
  if (descriptor === undefined) return false
  return isFact(descriptor, type) ? (descriptor.value as Primitive) : true
}

export function isFact(descriptor: PropertyDescriptor, type: "string" | "number"): boolean {
  if (!objectHasOwn(descriptor, "value") || typeof descriptor.value !== type) return false
  return descriptor.writable === false && descriptor.enumerable === false && descriptor.configurable === true
}

/** Own properties beyond those that a function of its kind is born with and that nobody has changed. */
function keysOf(object: object): (string | symbol)[] {
  const keys = ownKeysOf(object)
  const kept: (string | symbol)[] = newList()
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!
    if (key === "name" || key === "length") {
      if (isFact(descriptorOf(object, key)!, key === "name" ? "string" : "number")) continue
    } else if (key === "prototype" && isGeneratorPrototype(descriptorOf(object, key))) continue
    kept[kept.length] = key
  }
  return kept
}

/** The `prototype` of a generator function, which nobody has put anything on. That of a constructor is part of its identity. */
function isGeneratorPrototype(descriptor: PropertyDescriptor | undefined): boolean {
  const value: unknown = descriptor?.value
  return (
    typeof value === "object" && value !== null && ownKeysOf(value).length === 0 && !objectHasOwn(value, "constructor")
  )
}

/** Why an activation cannot be made again. */
export function problemOf(encoder: ValueEncoder, from: ScopeToken): string | undefined {
  let token = from
  for (let depth = 0; typeof token === "function"; depth++) {
    if (depth > scopeDepthMax) return `it stands in more than ${scopeDepthMax} scopes`
    const known = mapGet(encoder.ids, token)
    if (known !== undefined && known >= encoder.base) return undefined
    const descriptor = token(tokenDescriptor) as ScopeDescriptor
    if (descriptor.q === undefined) return "its source is not known"
    if (token(tokenLife) === 1) return "the async function or generator around it has not ended"
    for (let at = 0; at < descriptor.n.length; at++) {
      if (!canRead(token, at)) return `its variable '${descriptor.n[at]}' was never initialised`
    }
    if (descriptor.o === rootScope) return undefined
    token = token(tokenParent) as ScopeToken
  }
  return token.q === undefined ? "its source is not known" : undefined
}

function canRead(token: (key: number) => unknown, at: number): boolean {
  try {
    token(at)
    return true
  } catch {
    // The dead zone is the only thing that a token can meet.
    return false
  }
}

export function writeScope(encoder: ValueEncoder, token: ScopeToken): void {
  if (typeof token === "object") {
    writeRoot(encoder, token)
    encoder.put(0)
    return
  }
  const known = mapGet(encoder.ids, token)
  if (known !== undefined) {
    if (known >= encoder.base) {
      encoder.putOp(opRef)
      encoder.put(known - encoder.base)
    } else {
      encoder.putOp(opNull)
      encoder.onShared?.(known)
    }
    return
  }
  const descriptor = token(tokenDescriptor) as ScopeDescriptor
  const { n: names, o: number } = descriptor
  const values: unknown[] = newList()
  const labels: string[] = newList()
  const hasThis = names.length > 0 && names[0] === "this"
  for (let at = hasThis ? 1 : 0; at < names.length; at++) {
    labels[labels.length] = names[at]!
    values[values.length] = token(at)
  }
  if (number === rootScope) writeRoot(encoder, descriptor)
  else {
    encoder.putOp(opScope)
    encoder.put(noteSource(encoder, descriptor))
    encoder.put(number)
    encoder.put(hasThis ? 1 : 0)
    writeScope(encoder, token(tokenParent) as ScopeToken)
    if (hasThis) writeThis(encoder, token(0))
    encoder.mark(token)
  }
  encoder.put(labels.length)
  for (let at = 0; at < labels.length; at++) encoder.put(labels[at])
  encoder.weight += labels.length * 2
  encoder.pushCaptures(values, labels)
}

function writeRoot(encoder: ValueEncoder, descriptor: ScopeDescriptor): void {
  encoder.putOp(opRoot)
  encoder.put(noteSource(encoder, descriptor))
}

/** Its contents follow later, but where it is a function itself its activation stands in place, and so on. */
function writeThis(encoder: ValueEncoder, value: unknown): void {
  if (
    typeof value === "function" &&
    encoder.closureDepth >= closureDepthMax &&
    mapGet(encoder.ids, value) === undefined
  ) {
    encoder.writeEphemeral(value, `a function in more than ${closureDepthMax} others as their \`this\``)
    encoder.putOp(opEnd)
  } else writeInPlace(encoder, value)
}

function noteSource(encoder: ValueEncoder, { q }: ScopeDescriptor): string {
  const { sources } = encoder
  let isKnown = false
  for (let at = 0; at < sources.length; at++) isKnown ||= sources[at] === q
  if (!isKnown) sources[sources.length] = q!
  return q!.id
}
