// What session code sees of the text of its functions: what it wrote, not what runs.
//
// `Function.prototype.toString` is replaced at boot by a native proxy of itself, which looks and behaves as the native one and cuts out of
// its answer what the compiler put in.
import {
  applyFunction,
  defineOwn,
  FunctionPrototype,
  functionToString,
  WeakMapOf,
  weakMapGet,
  weakMapSet,
  withoutPrototype,
} from "./intrinsics.ts"
import { cleanSource } from "./messages.ts"

const NativeProxyOfText = Proxy

const shownTexts = new WeakMapOf<object, object>()

/** Has one function show the text of another: of the native one that it stands for. */
export function showTextOf(standIn: object, native: object): void {
  weakMapSet(shownTexts, standIn, native)
}

/** Replaces `Function.prototype.toString`. Called once per realm, at boot, before any user code. */
export function hideInserted(): void {
  const native = FunctionPrototype.toString
  const value: unknown = new NativeProxyOfText(
    native,
    withoutPrototype({
      apply: (_native: unknown, self: unknown, args: ArrayLike<unknown>): unknown =>
        typeof self === "function"
          ? cleanSource(functionToString((weakMapGet(shownTexts, self) ?? self) as () => void))
          : applyFunction(native, self, args),
    }),
  )
  showTextOf(value as object, native)
  defineOwn(FunctionPrototype, "toString", { value, writable: true, enumerable: false, configurable: true })
}
