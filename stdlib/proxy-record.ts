// Which objects of the realm are proxies, and of what.
//
// A proxy runs its handler's code at the first question anybody asks it, and the language offers no question that does not. So
// the realm's `Proxy` is replaced at boot by one that notes target and handler of every proxy it makes; encoder, previews and
// error descriptions look here first and then at the target, never at the proxy. The replacement is itself a native proxy of
// the native constructor: its name, length, `typeof` and errors stay what they were.

import {
  applyFunction,
  defineOwn,
  WeakMapOf,
  weakMapGet,
  weakMapHas,
  weakMapSet,
  withoutPrototype,
} from "./intrinsics.ts"

export interface ProxyRecord {
  readonly target: object
  readonly handler: object
  revoked: boolean
}

const NativeProxy = Proxy
const nativeRevocable: unknown = Proxy.revocable
const proxyRecords = new WeakMapOf<object, ProxyRecord>()

/** Target and handler of a proxy this realm made since `recordProxies` ran; `undefined` for every other object. */
export function recordedProxy(object: object): ProxyRecord | undefined {
  return weakMapGet(proxyRecords, object)
}

export function isRecordedProxy(object: object): boolean {
  return weakMapHas(proxyRecords, object)
}

/** Makes a proxy that is on record. The decoder uses it too, so that a proxy survives being encoded twice. */
export function makeProxy(target: object, handler: object): object {
  const proxy = new NativeProxy(target, handler)
  weakMapSet(proxyRecords, proxy, { target, handler, revoked: false })
  return proxy
}

/** A proxy of the runtime's own, which nothing here takes for a proxy of the session: it is looked at as its target. */
export function makeFacade<T extends object>(target: T, handler: ProxyHandler<T>): T {
  return new NativeProxy(target, handler)
}

function argument(args: ArrayLike<unknown>, index: number): unknown {
  return index < args.length ? args[index] : undefined
}

/** Replaces `global.Proxy`. Called once per realm, at boot, before any user code. */
export function recordProxies(global: object): void {
  const recording = new NativeProxy(
    NativeProxy,
    withoutPrototype({
      construct: (_native: unknown, args: ArrayLike<unknown>) =>
        makeProxy(argument(args, 0) as object, argument(args, 1) as object),
    }),
  )
  defineOwn(NativeProxy, "revocable", {
    value: new NativeProxy(
      nativeRevocable as () => unknown,
      withoutPrototype({
        apply: (native: unknown, self: unknown, args: ArrayLike<unknown>) => recordRevocable(native, self, args),
      }),
    ),
    writable: true,
    enumerable: false,
    configurable: true,
  })
  defineOwn(global, "Proxy", { value: recording, writable: true, enumerable: false, configurable: true })
}

function recordRevocable(native: unknown, self: unknown, args: ArrayLike<unknown>): object {
  const made = applyFunction(native, self, args) as { proxy: object; revoke: () => void }
  const record = { target: args[0]!, handler: args[1]!, revoked: false }
  weakMapSet(proxyRecords, made.proxy, record)
  made.revoke = new NativeProxy(
    made.revoke,
    withoutPrototype({
      apply: (revoke: unknown, revokeSelf: unknown, revokeArgs: ArrayLike<unknown>) => {
        record.revoked = true
        return applyFunction(revoke, revokeSelf, revokeArgs)
      },
    }),
  ) as () => void
  return made
}
