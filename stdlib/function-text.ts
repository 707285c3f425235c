// What session code sees of the text of its functions: what it wrote, not what runs.
//
// `Function.prototype.toString` is replaced at boot by a native proxy of itself, which looks and behaves as the native one and cuts out of
// its answer what the compiler put in.
import { applyFunction, defineOwn, FunctionPrototype, functionToString, withoutPrototype } from "./intrinsics.ts"
import { cleanSource } from "./messages.ts"

const NativeProxyOfText = Proxy

/** Replaces `Function.prototype.toString`. Called once per realm, at boot, before any user code. */
export function hideInserted(): void {
  const native = FunctionPrototype.toString as unknown as () => string
  const value: unknown = new NativeProxyOfText(
    native,
    withoutPrototype({
      apply: (_native: unknown, self: unknown, args: ArrayLike<unknown>): unknown =>
        typeof self === "function" ? cleanSource(functionToString(self)) : applyFunction(native, self, args),
    }),
  )
  defineOwn(FunctionPrototype, "toString", { value, writable: true, enumerable: false, configurable: true })
}
