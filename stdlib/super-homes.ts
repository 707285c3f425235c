// What `super` finds in a function of an object that was made again: the function stands in a literal of its own, since what `super` asks is fixed
// where a method is written. That literal gets for its prototype what answers like the prototype that the object has at that moment.
//
// Session code can never get hold of it: `super` is no value, and what is asked gets the function's own `this`.
import { apply, prototypeOf, reflectGet, reflectSet, setPrototype } from "./intrinsics.ts"
import { makeFacade } from "./proxy-record.ts"

/** Says what the language says where `super` cannot do what it is asked for. */
const refused = {
  get(key: PropertyKey): unknown {
    return super[key as never]
  },
  set(key: PropertyKey, value: unknown): void {
    super[key as never] = value as never
  },
}

const { get: refuseGet, set: refuseSet } = refused

/** What stands above an object, whatever that is when it is asked. */
export function aboveHome(home: object): object {
  return makeFacade({}, {
    __proto__: null,
    get(_target, key, self) {
      const above = prototypeOf(home)
      if (above !== null) return reflectGet(above, key, self)
      setPrototype(refused, null)
      return apply(refuseGet, self, [key])
    },
    set(_target, key, value, self) {
      const above = prototypeOf(home)
      if (above !== null && reflectSet(above, key, value, self)) return true
      setPrototype(refused, above)
      apply(refuseSet, self, [key, value])
      return true
    },
  } as ProxyHandler<object>)
}
