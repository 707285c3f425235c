// Stable names for the objects a fresh realm comes with, so that `const log = console.log` is a reference and not lost code.
//
// The names are paths from the global object: `Math.max`, `Array.prototype[Symbol.iterator]`, `Int8Array.__proto__`. They must be taken
// before user code can move anything, and a realm is booted often, so at boot the objects are only listed, by a walk in the first realm
// of a worker and by its plan in the others; the maps from object to name and back are made when the first of them is asked for.

import {
  descriptorOf,
  MapOf,
  mapGet,
  mapHas,
  mapSet,
  newList,
  objectHasOwn,
  ownKeysOf,
  prototypeOf,
  SetOf,
  setAdd,
  setHas,
  stringCodeAt,
} from "./intrinsics.ts"
import type { MadeProperties } from "./code-changes.ts"
import { factsOf, isIntrinsicAsMade, joinFacts, madeProperties, type IntrinsicFacts } from "./intrinsic-facts.ts"
import { formatStack, nativeStackAccessor } from "./error-stack.ts"
import { pathStep } from "./quote.ts"

export interface IntrinsicReferences {
  /** For other realms of the same engine and profile. */
  readonly plan: IntrinsicPlan
  /** What the objects have now is what they were made with. Before other realms get the plan. */
  lookAgain(): void
  /** The path of an intrinsic; `undefined` for every object that did not come with the realm. */
  nameOf(object: object): string | undefined
  /** The intrinsic of that path in this realm; `undefined` when this engine has none. */
  resolve(name: string): object | undefined
  /** Adds an object that is made at its first use, and what it reaches; the name is a path from the global object, or `%Hidden%`. */
  add(name: string, object: object): void
  /** Visits the objects, but for the global one, that are not as they were made. Looks at 2,000 properties, which takes as long as two short evals. */
  eachChanged(visit: (object: object, path: string, made: MadeProperties) => void): void
}

const protoStep = "__proto__"
const percentCode = 37

/** Paths that begin here lead to intrinsics that no global property reaches. */
const hiddenRoots: readonly { name: string; make: () => unknown }[] = [
  { name: "%GeneratorFunction%", make: () => prototypeOf(function* () {}) },
  { name: "%AsyncFunction%", make: () => prototypeOf(async function () {}) },
  { name: "%AsyncGeneratorFunction%", make: () => prototypeOf(async function* () {}) },
  { name: "%ArrayIterator%", make: () => prototypeOf([].values()) },
  { name: "%MapIterator%", make: () => prototypeOf(new Map().values()) },
  { name: "%SetIterator%", make: () => prototypeOf(new Set().values()) },
  { name: "%StringIterator%", make: () => prototypeOf(""[Symbol.iterator]()) },
  { name: "%ErrorStackGetter%", make: () => nativeStackAccessor()[0] },
  { name: "%ErrorStackSetter%", make: () => nativeStackAccessor()[1] },
  { name: "%FormatStack%", make: () => formatStack },
  { name: "%RegExpStringIterator%", make: () => prototypeOf("".matchAll(/x/g)) },
]

/**
 * Whether a function under this key may own objects: classes, which are named with a capital, and what is reached as a constructor or
 * prototype. All others own a name and a length. Not looking at those 1,000 saves two thirds of the walk.
 */
function mayOwnMore(step: string | symbol): boolean {
  if (typeof step === "symbol") return false
  if (step === "constructor" || step === protoStep) return true
  const code = stringCodeAt(step, 0)
  return code === percentCode || (code >= 65 && code <= 90)
}

/** Where the walk of one realm met each object: it is the same in every realm of an engine and profile, and holds primitives only. */
export interface IntrinsicPlan {
  readonly parents: readonly number[]
  /** The key, or the name or number of a root. */
  readonly keys: readonly (string | symbol)[]
  readonly ways: readonly number[]
  readonly facts?: IntrinsicFacts
}

/** How an object is found from its parent: under a key, as one half of an accessor, as the prototype; or as a root of its own. */
const byValue = 0
const byGetter = 1
const bySetter = 2
const byPrototype = 3
const asGlobal = 4
const asHidden = 5

/**
 * Notes every object reachable from the global object. Called once per realm, at boot, when its globals stand as they will stay. The walk
 * takes 0.7 ms; following the plan of an earlier one a sixth of that.
 */
export function captureIntrinsics(global: object, walked = walk(global)): IntrinsicReferences {
  const objects = follow(global, walked)
  let facts = walked.facts ?? factsOf(objects)
  const { parents: metFrom, keys: metUnder, ways: metBy } = walked
  let found: IntrinsicPlan = walked
  let seen: Set<object> | undefined
  let names: Map<object, string> | undefined
  let byName: Map<string, object> | undefined

  function ensureSeen(): Set<object> {
    if (seen !== undefined) return seen
    seen = new SetOf()
    for (let i = 0; i < objects.length; i++) setAdd(seen, objects[i]!)
    return seen
  }

  function index(): void {
    const { parents, keys, ways } = found
    names = new MapOf()
    byName = new MapOf()
    for (let i = 0; i < objects.length; i++) {
      const object = objects[i]!
      const parent = parents[i]!
      const step = stepOf(keys[i]!, ways[i]!)
      const base = parent < 0 ? "" : (mapGet(names, objects[parent]) as string)
      let name = parent < 0 ? (step as string) : parent === 0 && typeof step === "string" ? step : base + pathStep(step)
      // An accessor under a symbol gives its two halves the same step; the second one is told apart by a mark.
      while (mapHas(byName, name)) name += "'"
      mapSet(names, object, name)
      mapSet(byName, name, object)
    }
  }

  return {
    get plan() {
      return { parents: metFrom, keys: metUnder, ways: metBy, facts }
    },
    lookAgain: () => {
      facts = factsOf(objects)
    },
    add: (name, object) => {
      // The lists of a plan are those of other realms too.
      const more = { parents: copyList(found.parents), keys: copyList(found.keys), ways: copyList(found.ways) }
      const roots: Root[] = newList()
      roots[0] = { value: object, key: name, way: asHidden }
      const { length } = objects
      explore({ objects, parents: more.parents, keys: more.keys, ways: more.ways }, ensureSeen(), roots)
      facts = joinFacts(facts, factsOf(objects, length))
      found = more
      names = undefined
      byName = undefined
    },
    eachChanged: (visit) => {
      for (let i = 1; i < objects.length; i++) {
        if (isIntrinsicAsMade(objects, i, facts)) continue
        if (names === undefined) index()
        const object = objects[i]!
        visit(object, mapGet(names as Map<object, string>, object) as string, madeProperties(objects, i, facts))
      }
    },
    nameOf: (object) => {
      if (!setHas(ensureSeen(), object)) return undefined
      if (names === undefined) index()
      return mapGet(names as Map<object, string>, object)
    },
    resolve: (name) => {
      if (byName === undefined) index()
      return mapGet(byName as Map<string, object>, name)
    },
  }
}

interface Found {
  readonly objects: object[]
  readonly parents: number[]
  readonly keys: (string | symbol)[]
  readonly ways: number[]
}

interface Root {
  readonly value: unknown
  readonly key: string
  readonly way: number
}

function walk(global: object): IntrinsicPlan {
  const found: Found = { objects: newList(), parents: newList(), keys: newList(), ways: newList() }
  const roots: Root[] = newList()
  roots[0] = { value: global, key: "globalThis", way: asGlobal }
  for (let i = 0; i < hiddenRoots.length; i++) {
    const hidden = hiddenRoots[i] as { name: string; make: () => unknown }
    roots[i + 1] = { value: hidden.make(), key: hidden.name, way: asHidden }
  }
  explore(found, new SetOf(), roots)
  return { parents: found.parents, keys: found.keys, ways: found.ways }
}

/** Appends every object that is reachable from the roots and was not met before. */
function explore({ objects, parents, keys, ways }: Found, seen: Set<object>, roots: readonly Root[]): void {
  /** Indices of the objects whose own properties are still to be met. */
  const pending: number[] = newList()
  let pendingCount = 0
  let count = objects.length

  function meet(value: unknown, parent: number, key: string | symbol, way: number): void {
    if ((typeof value !== "object" || value === null) && typeof value !== "function") return
    if (setHas(seen, value)) return
    setAdd(seen, value)
    if (typeof value === "object" || mayOwnMore(stepOf(key, way))) pending[pendingCount++] = count
    parents[count] = parent
    keys[count] = key
    ways[count] = way
    objects[count++] = value
  }

  for (let i = 0; i < roots.length; i++) meet(roots[i]!.value, -1, roots[i]!.key, roots[i]!.way)
  for (let p = 0; p < pendingCount; p++) {
    const i = pending[p]!
    const object = objects[i]!
    const own = ownKeysOf(object)
    for (let k = 0; k < own.length; k++) {
      const key = own[k]!
      const descriptor = descriptorOf(object, key) as PropertyDescriptor
      if (objectHasOwn(descriptor, "value")) meet(descriptor.value, i, key, byValue)
      else {
        meet(descriptor.get, i, key, byGetter)
        meet(descriptor.set, i, key, bySetter)
      }
    }
    meet(prototypeOf(object), i, protoStep, byPrototype)
  }
}

function copyList<T>(list: readonly T[]): T[] {
  const copy: T[] = newList()
  for (let i = 0; i < list.length; i++) copy[i] = list[i]!
  return copy
}

/** The same objects of this realm, in the same order. */
function follow(global: object, { parents, keys, ways }: IntrinsicPlan): object[] {
  const objects: object[] = newList()
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i]!
    const way = ways[i]!
    const parent = way < asGlobal ? objects[parents[i]!]! : global
    objects[i] =
      way === byValue
        ? ((parent as Record<string | symbol, unknown>)[key] as object)
        : way === byPrototype
          ? (prototypeOf(parent) as object)
          : way === asGlobal
            ? global
            : way === asHidden
              ? (hiddenRoot(key as string) as object)
              : (halfOf(parent, key, way) as unknown as object)
  }
  return objects
}

function halfOf(object: object, key: string | symbol, way: number): (() => unknown) | undefined {
  const descriptor = descriptorOf(object, key)
  return way === byGetter ? descriptor?.get : (descriptor?.set as (() => unknown) | undefined)
}

function hiddenRoot(name: string): unknown {
  for (let i = 0; i < hiddenRoots.length; i++) {
    const hidden = hiddenRoots[i] as { name: string; make: () => unknown }
    if (hidden.name === name) return hidden.make()
  }
  return undefined
}

/** How a step is written: the halves of an accessor under a text say which one they are. */
function stepOf(key: string | symbol, way: number): string | symbol {
  if (typeof key === "symbol") return key
  return way === byGetter ? `get ${key}` : way === bySetter ? `set ${key}` : key
}
