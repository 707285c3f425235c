// The vocabulary of the node table: what the encoder writes and the decoder reads.
//
// A table is a flat list of primitives. A string, number, boolean, bigint or undefined stands for itself; `null` announces an op.
// Every op that makes an object or a unique symbol takes the next number, from 0, by which `opRef` finds it again: that is
// identity, sharing and cycles. What an object holds follows where it is made, depth first.
//
//   { a: 1, b: "x" }          null 32 0 2 "a" "b"  1 "x"        a shape is defined, then its values follow
//   the next { a, b }         null 64  2 "y"                    64 + shape number, then the values
//   [1, null]                 null 4 2  1 null 0                length, then the items
//   itself again              null 1 <number>
//
// The general form (`opObject`, and after anything made with `more` = 1) writes what the quick forms cannot: a prototype, attributes,
// accessors, symbol keys, non-extensibility:
//
//   <0 default | 1 a slot follows> <0 extensible | 1 not> <count> <attributes × count>  [prototype]  key value | key get set …
//
// A binding table is `<version> <count> <names…>` and then one slot per name; a value table `<version> 0` and one slot.

/** Raised whenever a table of an older version would be read differently. It is the first item of every table. */
export const formatVersion = 1

export const opNull = 0
export const opRef = 1
/** An ordinary object in the general form. */
export const opObject = 2
/** An array in the general form; its length is among its properties. */
export const opArrayGeneral = 3
/** A dense array of ordinary items: length, items. */
export const opArray = 4
/** A dense array of numbers: bytes per number (1, 2, 4: signed integers; 8: doubles, so that every NaN and -0 is exact), chunk. */
export const opNumbers = 5
export const opSymbolWellKnown = 7
export const opSymbolRegistered = 8
export const opSymbolUnique = 9
/** An object both sides know by name: an intrinsic, a singleton, a definition. */
export const opReference = 10
/** The prototype of a session class, by the class's name. */
export const opClassPrototype = 11
/** A described stand-in for what cannot be encoded: what, text. */
export const opPlaceholder = 12
/** more, time */
export const opDate = 13
/** more, source, flags */
export const opRegExp = 14
/** more, size, then key value … */
export const opMap = 15
/** more, size, then values */
export const opSet = 16
/** more, primitive slot */
export const opBoxed = 17
/** always followed by the general form: stack, message, cause and name are own properties */
export const opError = 18
/** more, chunk */
export const opBuffer = 19
/** more, chunk, largest length in bytes */
export const opBufferResizable = 20
/** more, chunk, largest length in bytes or -1 */
export const opBufferShared = 21
/** more, constructor name, byte offset, length (-1: follows the buffer), buffer slot */
export const opView = 22
/** target slot, handler slot; takes its number after both */
export const opProxy = 23
export const opArguments = 24
/** more, number in its source, name, length (see `encode-closures.ts`), activation */
export const opClosure = 25
/** The root activation of a source: source, count, names, then their values. Takes no number. */
export const opRoot = 26
/** source, scope number, has `this`, parent activation, `this` slot and `opEnd`; takes its number; count, names, then their values */
export const opScope = 27
/** Follows a slot written in place before plain items, so that an object whose contents come later does not take these for them. */
export const opEnd = 28
/**
 * A class of session code: bits of what follows, number in its source, name, length, activation, count of keys, keys, count of private static
 * fields, their names; takes its number; the private values, its prototype's general form, its own general form
 */
export const opClass = 31
/** What came with a class: the number of the part, class slot and `opEnd`; takes its number after these. */
export const opPart = 33
/** Defines a shape and makes its first object: 0 Object.prototype | 1 null | 2 class name | 3 slot and `opEnd`; count, keys. */
export const opShape = 32
/** From here on an op is 64 + the number of a shape. */
export const opShaped = 64

/** The class's general form follows, its prototype's does; and whether that lists all properties, or only the prototype. */
export const classOwn = 1
export const classPrototype = 2
export const classListsOwn = 4
export const classListsPrototype = 8

export const protoPlain = 0
export const protoNull = 1
export const protoClass = 2
/** The prototype of a class that is a value. */
export const protoSlot = 3

export const attrWritable = 1
export const attrEnumerable = 2
export const attrConfigurable = 4
/** What assignment makes. */
export const attrsPlain = 7
export const attrAccessor = 8
/** The engine's own accessor for `stack`; the slot holds the text. Engines without one make it a plain property. */
export const attrNativeStack = 16

/** Arrays of at least this many numbers travel as bytes; shorter ones are no smaller that way. */
export const numbersMin = 32

/** Proxies of proxies are written by recursion, which a session must not be able to drive into the engine's stack limit. */
export const proxyDepthMax = 64

/** An activation's parents and its `this` are written by recursion too. Scopes nest as deep as text is written by hand. */
export const scopeDepthMax = 128
export const closureDepthMax = 16

/** classes: count, then name (or `true`, class slot and `opEnd`), count and names of each; then the general form of the object; the private values follow before it */
export const opPrivate = 29

/** more, name, length, count of arguments, target slot, `this` slot, arguments, `opEnd` after each; takes its number after all of them */
export const opBound = 30

/** Well-known symbols by name, in the order in which the language lists them. */
export const wellKnownSymbolNames: readonly string[] = [
  "asyncIterator",
  "hasInstance",
  "isConcatSpreadable",
  "iterator",
  "match",
  "matchAll",
  "replace",
  "search",
  "species",
  "split",
  "toPrimitive",
  "toStringTag",
  "unscopables",
  "dispose",
  "asyncDispose",
  "metadata",
]
