// What the encoder and decoder ask of the side they run on. Types only: nothing of this file exists at run time.
//
// A hook is asked about objects of session code, so it must answer without running any: look the object up in a Map, never read a
// property of it.

import type { Primitive } from "../../../stdlib/intrinsics.ts"
import type { PrivatesOfClass } from "../../../stdlib/privates.ts"
import type { SourceRecord } from "../../../stdlib/stamp.ts"

export interface EncodeHooks {
  /** The stable name of an object both sides know: intrinsics, singletons, sessions, current instances of definitions. */
  referenceOf(object: object): string | undefined
  /** The session class whose prototype this is. */
  classOf?(prototype: object): { readonly name: string; readonly hasPrivateNames: boolean } | undefined
  /** A proxy the realm has no record of, as in the embedder's process; it is then described, never asked. */
  isProxy?(object: object): boolean
  /** The prototype to treat this one as: classes of the embedder mean nothing in a session, so its objects travel as what they extend. */
  standInPrototype?(prototype: object): object | undefined
  /** The classes with private names on the prototype chain, base first. Without it such instances are ephemeral. */
  privatesOf?(prototype: object): readonly PrivatesOfClass[] | undefined
  /** The name of an imported class on the prototype chain; its instances are ephemeral. */
  foreignOf?(prototype: object): string | undefined
  /** Functions of session code are written as values; only where their sources are kept beside the bytes. */
  readonly keepsClosures?: boolean
  /** Encode only the bytes a view shows, as a buffer of its own. For Node's pooled Buffers, whose neighbours are none of ours. */
  readonly viewsAreSlices?: boolean
}

export interface DecodeHooks {
  /** The object of that name here, or `undefined` when it means nothing on this side: it becomes a placeholder. */
  resolveReference?(id: string): object | undefined
  /** The prototype of the session class of that name; `undefined` makes one that knows only the name. */
  prototypeOf?(className: string): object | undefined
  /** A root activation of the source of that name. */
  activate?(source: string): Activation | undefined
  /** An object with the private names of these classes, by name or as they are; `set` takes a `privateLabel`. */
  construct?(classes: readonly unknown[]): Constructed | undefined
}

export interface Constructed {
  readonly object: object
  set(name: string, value: unknown): void
}

/** An activation that is being made again. What is missing in it is `undefined`. */
export interface Activation {
  /** `keys`: what the computed keys of a class were. */
  functionOf(number: number, keys?: readonly (string | symbol)[]): object | undefined
  scopeOf(number: number, self: unknown): Activation | undefined
  set(name: string, value: unknown): void
}

/** Something that lives only while its session is resident, and where it was found. */
export interface EphemeralFound {
  readonly what: string
  readonly path: string
}

/** An encoded graph: the node table and the bytes it refers to by index. */
export interface EncodedValue {
  readonly table: Primitive[]
  readonly chunks: Uint8Array[]
}

export interface EncodedGroup extends EncodedValue {
  readonly names: string[]
  /** The sources of the functions in it. */
  readonly sources: SourceRecord[]
  /** It is data and nothing else: nothing of it can run code. */
  readonly isInert: boolean
}
