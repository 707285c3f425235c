// What a function of session code carries invisibly: the activation it was created in, and which function of its source it is.
//
// The stamp is a private field, put on by a class whose base returns the function instead of a new object. Nothing of the language shows it,
// and a function that does not escape costs next to nothing (a WeakMap costs 100 times as much). Generated code stamps functions as it
// creates them (`runtime/language/closures.ts`); only the encoder asks. Tokens are generated code too: they read variables and nothing else.
import { descriptorOf, objectHasOwn } from "./intrinsics.ts"

/** One source of functions: a statement or a definition, with what its outer names were compiled to. */
export interface SourceRecord {
  readonly id: string
  readonly source: string
  readonly cells: string
  readonly roots: string
  readonly file: string
  readonly line: number
  readonly column: number
}

/** What is known of a scope without any activation of it. */
export interface ScopeDescriptor {
  /** The number of the source in its unit. */
  readonly r: number
  /** The number of the scope in its source; -1 is the source's root, and below that a function's own. */
  readonly o: number
  /** The captured variables; `this` comes first. */
  readonly n: readonly string[]
  /** The source, once the unit is known. */
  q: SourceRecord | undefined
  /** The scope is a class's, and what is inside uses its private names. */
  readonly p?: true
}

/** An activation: gives the variable of a number, its parent for -1, its descriptor for -2, and 1 for -3 while its frame may go on. */
export type ScopeToken = ((key: number) => unknown) | ScopeDescriptor

/** An activation that is made again: how its variables are set, its functions, and the scopes inside it. */
export interface Skeleton {
  readonly w: (key: number, value: unknown) => void
  /** A class takes what its computed keys were. */
  readonly f: Record<string, (keys?: readonly (string | symbol)[]) => object>
  /** A class whose inside is to be made has to be one that has an inside. */
  readonly s: Record<string, (this: unknown) => Skeleton | undefined>
}

export type SkeletonMaker = (...parameters: unknown[]) => Skeleton

export const tokenParent = -1
export const tokenDescriptor = -2
export const tokenLife = -3
export const rootScope = -1

/** A base class is what makes the returned object the one that gets the private fields. */
// oxlint-disable-next-line no-extraneous-class
export class ReturnedObject {
  constructor(object: object) {
    return object
  }
}

class Stamp extends ReturnedObject {
  #token: ScopeToken
  #number: number

  constructor(object: object, token: ScopeToken, number: number) {
    super(object)
    this.#token = token
    this.#number = number
  }

  static has(object: object): boolean {
    return #token in object
  }

  static token(object: Stamp): ScopeToken {
    return object.#token
  }

  static number(object: Stamp): number {
    return object.#number
  }
}

/**
 * Puts the stamp on a function that was just created, and returns the function: itself, not what the constructor gave, so that the compiler
 * goes on knowing which function it is (inlined callbacks cost a third of what they do otherwise).
 */
export function stampFunction(object: object, token: ScopeToken, number: number): object {
  void new Stamp(object, token, number)
  return object
}

/** The activation that a function was created in; `undefined` for one that is not stamped. */
export function stampToken(object: object): ScopeToken | undefined {
  return Stamp.has(object) ? Stamp.token(object as Stamp) : undefined
}

/** The number of a stamped function in its source. */
export function stampNumber(object: object): number {
  return Stamp.number(object as Stamp)
}

/** Stamps accessors of an object literal that was just made. `facts`: a key and the numbers of its getter and setter, and so on. */
export function stampAccessors(object: object, token: ScopeToken, facts: readonly (string | number)[]): object {
  for (let at = 0; at < facts.length; at += 3) {
    const descriptor = descriptorOf(object, facts[at] as string)
    // A spread or a computed key behind it may have put something else in its place.
    if (descriptor === undefined || objectHasOwn(descriptor, "value")) continue
    const { get, set } = descriptor
    if (get !== undefined && (facts[at + 1] as number) >= 0 && !Stamp.has(get)) {
      stampFunction(get, token, facts[at + 1] as number)
    }
    if (set !== undefined && (facts[at + 2] as number) >= 0 && !Stamp.has(set)) {
      stampFunction(set, token, facts[at + 2] as number)
    }
  }
  return object
}

/** The getter or setter of a key. */
export function accessorPartOf(object: object, key: string, isGetter: boolean): object {
  const descriptor = descriptorOf(object, key)!
  return isGetter ? descriptor.get! : descriptor.set!
}
