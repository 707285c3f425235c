// Functions of session code made again: the counterpart of `encode-closures.ts`.
//
// The side that decodes makes activations (`DecodeHooks.activate`); where it cannot, as in the embedder's process, everything is read
// all the same and the function becomes a placeholder.
import {
  defineOwn,
  deleteOwn,
  mapGet,
  mapSet,
  newList,
  prototypeOf,
  withoutPrototype,
} from "../../../stdlib/intrinsics.ts"
import { makeBound } from "../../../stdlib/bound-record.ts"
import type { ValueDecoder } from "./decoder.ts"
import { Placeholder, shownClassName } from "./described.ts"
import { closureDepthMax, opEnd, opRef, opRoot, opScope, scopeDepthMax } from "./format.ts"
import type { Activation, Constructed } from "./hooks.ts"

export function readClosure(decoder: ValueDecoder): object {
  const more = decoder.readCount(1)
  const number = decoder.readCount(0xffffffff)
  const name = decoder.read()
  const length = decoder.read()
  const made = readScope(decoder).functionOf(number)
  if (made === undefined) {
    const text = typeof name === "string" && name !== "" ? `function ${name}` : "function"
    const placeholder = decoder.keep(new Placeholder(text, `[${text}]`))
    // Its properties are read into nothing.
    if (more === 1) decoder.pushGeneral({})
    return placeholder
  }
  decoder.keep(made)
  restoreFact(made, "name", name)
  restoreFact(made, "length", length)
  if (more === 1) decoder.pushGeneral(made)
  return made
}

export function readBound(decoder: ValueDecoder): object {
  const more = decoder.readCount(1)
  const name = decoder.read()
  const length = decoder.read()
  const count = decoder.readSlotCount(1)
  const target = readInPlace(decoder)
  const self = readInPlace(decoder)
  const args: unknown[] = newList()
  for (let at = 0; at < count; at++) args[at] = readInPlace(decoder)
  const isCallable = typeof target === "function" && decoder.hooks.activate !== undefined
  const made = decoder.keep(isCallable ? makeBound(target, self, args) : new Placeholder("function", "[function]"))
  if (isCallable) {
    restoreFact(made, "name", name)
    restoreFact(made, "length", length)
  }
  if (more === 1) decoder.pushGeneral(isCallable ? made : {})
  return made
}

export function readInPlace(decoder: ValueDecoder): unknown {
  if (decoder.scopeDepth > scopeDepthMax * closureDepthMax) decoder.fail("functions bound too often")
  decoder.scopeDepth++
  const value = decoder.readSlot()
  decoder.scopeDepth--
  if (decoder.read() !== null || decoder.read() !== opEnd) decoder.fail("the end of a slot was expected")
  return value
}

/** An instance of classes with private names; a placeholder where these mean nothing. */
export function readPrivate(decoder: ValueDecoder): object {
  const count = decoder.readSlotCount(2)
  const classes: unknown[] = newList()
  const labels: string[] = newList()
  for (let i = 0; i < count; i++) {
    const item = decoder.read()
    if (item !== true && typeof item !== "string") decoder.fail("a class was expected")
    classes[i] = item === true ? readInPlace(decoder) : item
    const names = decoder.readSlotCount(1)
    for (let at = 0; at < names; at++) labels[labels.length] = privateLabel(classes, i, decoder.readText())
  }
  const constructed = decoder.hooks.construct?.(classes) ?? standIn(classes)
  decoder.keep(constructed.object)
  decoder.pushGeneral(isPlaceholder(constructed.object) ? {} : constructed.object)
  if (labels.length > 0) decoder.pushCaptures(constructed, labels)
  return constructed.object
}

/** How `Constructed.set` is told of a private name: the class by its name, or by its place where it is a value. */
export function privateLabel(classes: readonly unknown[], index: number, name: string): string {
  const owner = classes[index]
  return `${typeof owner === "string" ? owner : index}.#${name}`
}

function standIn(classes: readonly unknown[]): Constructed {
  const given = classes.length > 0 ? classes[classes.length - 1] : undefined
  const name = typeof given === "string" ? shownClassName(given) : "a class"
  return { object: new Placeholder(`value with private names of ${name}`, `${name} {}`), set: () => {} }
}

function isPlaceholder(object: object): boolean {
  return prototypeOf(object) === Placeholder.prototype
}

export function restoreFact(made: object, key: "name" | "length", fact: unknown): void {
  if (fact === false) deleteOwn(made, key)
  else if (typeof fact === (key === "name" ? "string" : "number")) {
    defineOwn(made, key, withoutPrototype({ value: fact, writable: false, enumerable: false, configurable: true }))
  }
}

export function readScope(decoder: ValueDecoder): Activation {
  if (decoder.read() !== null) decoder.fail("an activation was expected")
  if (decoder.scopeDepth > scopeDepthMax * closureDepthMax) decoder.fail("activations in too many others")
  decoder.scopeDepth++
  const activation = readScopeOp(decoder, decoder.readCount(0xffffffff))
  decoder.scopeDepth--
  return activation
}

function readScopeOp(decoder: ValueDecoder, op: number): Activation {
  if (op === opRef) {
    return mapGet(decoder.activations, decoder.readCount(0xffffffff)) ?? decoder.fail("a reference to no activation")
  }
  if (op !== opRoot && op !== opScope) decoder.fail("an activation was expected")
  const source = decoder.readText()
  let activation: Activation
  if (op === opRoot) activation = decoder.hooks.activate?.(source) ?? noActivation
  else {
    const number = decoder.readNumber()
    const hasThis = decoder.readCount(1) === 1
    const parent = readScope(decoder)
    const self = hasThis ? readInPlace(decoder) : undefined
    activation = parent.scopeOf(number, self) ?? noActivation
    mapSet(decoder.activations, decoder.keepHidden(), activation)
  }
  const count = decoder.readSlotCount(2)
  const names: string[] = newList()
  for (let i = 0; i < count; i++) names[i] = decoder.readText()
  if (count > 0) decoder.pushCaptures(activation, names)
  return activation
}

const noActivation: Activation = withoutPrototype({
  functionOf: () => undefined,
  scopeOf: () => undefined,
  set: () => {},
})
