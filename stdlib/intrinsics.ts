// The realm's own built-ins, captured before any user code runs.
//
// Realm-side files (this folder and `runtime/wire/values/`) are evaluated inside every session's realm, where user code may replace
// any built-in: `Array.prototype.push = …` must change the session's own programs and nothing of ours. So realm-side code calls
// what stands here, never a method looked up at run time on a prototype. Realm-side files import only each other, export
// functions, classes and constants under names unique among them, and have no side effect but this capture.

type Uncurried<F> = F extends (this: infer T, ...args: infer A) => infer R ? (self: T, ...args: A) => R : never

const { bind, call } = Function.prototype

/** Turns a method into a function whose first argument is `this`, so that it survives a changed prototype. */
export const uncurryThis = bind.bind(call) as <F extends (...args: never[]) => unknown>(method: F) => Uncurried<F>

// What the session's names are made with (`cell.ts`, `environment.ts`).
export const { apply, deleteProperty } = Reflect
export const { create: createObject, defineProperty, hasOwn } = Object
export const { Error: ErrorOfRealm, ReferenceError: ReferenceErrorOfRealm, TypeError: TypeErrorOfRealm } = globalThis
export const { is: isSame } = Object
export const arrayPush = uncurryThis(Array.prototype.push) as <T>(list: T[], ...items: T[]) => number
export const stringIncludes = uncurryThis(String.prototype.includes) as (text: string, part: string) => boolean
export const regExpExec = RegExp.prototype.exec
export const regExpReplace = uncurryThis(RegExp.prototype[Symbol.replace]) as unknown as (
  pattern: RegExp,
  text: string,
  replacement: string,
) => string
