// Stable names for the objects a fresh realm comes with, so that `const log = console.log` is a reference and not lost code.
//
// The names are paths from the global object: `Math.max`, `Array.prototype[Symbol.iterator]`, `Int8Array.__proto__`. They must be taken
// before user code can move anything, and a realm is booted often, so the walk at boot only lists what it meets, in an order that is
// the same in every realm of an engine; the maps from object to name and back are made when the first of them is asked for.

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
import { formatStack, nativeStackAccessor } from "./error-stack.ts"
import { pathStep } from "./quote.ts"

export interface IntrinsicReferences {
  /** The path of an intrinsic; `undefined` for every object that did not come with the realm. */
  nameOf(object: object): string | undefined
  /** The intrinsic of that path in this realm; `undefined` when this engine has none. */
  resolve(name: string): object | undefined
  /** Adds an object that is made at its first use, and what it reaches; the name is a path from the global object, or `%Hidden%`. */
  add(name: string, object: object): void
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

/** Notes every object reachable from the global object. Called once per realm, at boot, when its globals stand as they will stay. 0.5 ms. */
export function captureIntrinsics(global: object): IntrinsicReferences {
  const objects: object[] = newList()
  const parents: number[] = newList()
  const steps: (string | symbol)[] = newList()
  const seen = new SetOf<object>()
  /** Indices of the objects whose own properties are still to be met. */
  const pending: number[] = newList()
  let pendingCount = 0
  let count = 0

  function meet(value: unknown, parent: number, step: string | symbol): void {
    if ((typeof value !== "object" || value === null) && typeof value !== "function") return
    if (setHas(seen, value)) return
    setAdd(seen, value)
    if (typeof value === "object" || mayOwnMore(step)) pending[pendingCount++] = count
    parents[count] = parent
    steps[count] = step
    objects[count++] = value
  }

  meet(global, -1, "globalThis")
  for (let i = 0; i < hiddenRoots.length; i++) {
    const hidden = hiddenRoots[i] as { name: string; make: () => unknown }
    meet(hidden.make(), -1, hidden.name)
  }
  walk()

  function walk(): void {
    for (let p = 0; p < pendingCount; p++) {
      const i = pending[p]!
      const object = objects[i]!
      const keys = ownKeysOf(object)
      for (let k = 0; k < keys.length; k++) {
        const key = keys[k]!
        const descriptor = descriptorOf(object, key) as PropertyDescriptor
        if (objectHasOwn(descriptor, "value")) meet(descriptor.value, i, key)
        else {
          meet(descriptor.get, i, typeof key === "symbol" ? key : `get ${key}`)
          meet(descriptor.set, i, typeof key === "symbol" ? key : `set ${key}`)
        }
      }
      meet(prototypeOf(object), i, protoStep)
    }
    pendingCount = 0
  }

  let names: Map<object, string> | undefined
  let byName: Map<string, object> | undefined

  function index(): void {
    names = new MapOf()
    byName = new MapOf()
    for (let i = 0; i < count; i++) {
      const object = objects[i]!
      const parent = parents[i]!
      const step = steps[i]!
      const base = parent < 0 ? "" : (mapGet(names, objects[parent]) as string)
      let name = parent < 0 ? (step as string) : parent === 0 && typeof step === "string" ? step : base + pathStep(step)
      // An accessor under a symbol gives its two halves the same step; the second one is told apart by a mark.
      while (mapHas(byName, name)) name += "'"
      mapSet(names, object, name)
      mapSet(byName, name, object)
    }
  }

  return {
    add: (name, object) => {
      meet(object, -1, name)
      walk()
      names = undefined
      byName = undefined
    },
    nameOf: (object) => {
      if (!setHas(seen, object)) return undefined
      if (names === undefined) index()
      return mapGet(names as Map<object, string>, object)
    },
    resolve: (name) => {
      if (byName === undefined) index()
      return mapGet(byName as Map<string, object>, name)
    },
  }
}
