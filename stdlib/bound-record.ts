// Which functions of the realm were made by `bind`, and of what: the language does not tell.
//
// `Function.prototype.bind` is replaced at boot by a native proxy of itself that notes what it was given. The note costs about as much as
// the call; bound functions are made once and called often.
import { showTextOf } from "./function-text.ts"
import {
  applyFunction,
  defineOwn,
  FunctionPrototype,
  newList,
  WeakMapOf,
  weakMapGet,
  weakMapSet,
  withoutPrototype,
} from "./intrinsics.ts"

export interface BoundRecord {
  readonly target: object
  readonly self: unknown
  readonly args: unknown[]
}

const NativeProxyOfBind = Proxy
const nativeBind: unknown = (FunctionPrototype as { bind?: unknown }).bind
const boundRecords = new WeakMapOf<object, BoundRecord>()

/** What a bound function calls; `undefined` for every other one. */
export function boundRecord(object: object): BoundRecord | undefined {
  return weakMapGet(boundRecords, object)
}

/** Makes a bound function that is on record. */
export function makeBound(target: object, self: unknown, args: unknown[]): object {
  const all: unknown[] = newList()
  all[0] = self
  for (let at = 0; at < args.length; at++) all[at + 1] = args[at]
  const bound = applyFunction(nativeBind, target, all) as object
  weakMapSet(boundRecords, bound, { target, self, args })
  return bound
}

/** Replaces `Function.prototype.bind`. Called once per realm, at boot, before any user code. */
export function recordBound(): void {
  const value: unknown = new NativeProxyOfBind(
    nativeBind as () => unknown,
    withoutPrototype({
      apply: (_native: unknown, target: unknown, args: ArrayLike<unknown>): unknown => {
        if (typeof target !== "function") return applyFunction(nativeBind, target, args)
        const rest: unknown[] = newList()
        for (let at = 1; at < args.length; at++) rest[at - 1] = args[at]
        return makeBound(target, args.length > 0 ? args[0] : undefined, rest)
      },
    }),
  )
  showTextOf(value as object, nativeBind as object)
  defineOwn(FunctionPrototype, "bind", { value, writable: true, enumerable: false, configurable: true })
}
