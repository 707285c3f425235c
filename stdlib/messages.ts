// Messages of errors that the engine raises about generated code, in the user's words.
//
// V8 prints the callee of a failed call from the text it runs: `(0 , $$_f.v) is not a function`. Session code may catch such an error and
// read it, so the message is put right where it is caught; what nobody catches is put right where it leaves the realm. Only errors of
// the engine's own classes are touched, and only when the text of a cell is in them.
import { apply, defineProperty, regExpExec, regExpReplace, stringIncludes } from "./intrinsics.ts"

const calledCell = cellPattern(/\(0 ?, ?\$\$+_([\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*?)\.[vw]\)/gu)
const bareCell = cellPattern(/\$\$+_([\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*?)\.[vwic]\b/gu)
const typeofCell = cellPattern(/\$\$+_([\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*?)\.t\b/gu)
const importHook = cellPattern(/\$\$+_0\.load/g)

/** What stands between two marks of ours in the text of a function (`runtime/language/closures.ts`); the last one may end with the function. Inside there may be others. */
const inserted = cellPattern(/(\/\*\$\$+_\*\/)[^]*?(?:\1|$)/g)
/** What makes the inside of a class again, with texts of other functions in it. Each has a mark of its own, so that one may be in another. */
const workshop = cellPattern(/(\/\*\$\$+_h_\d+\*\/)[^]*?(?:\1|$)/g)
const madeFunction = cellPattern(/\$\$+_3g?\(\.\.\.\)/g)

/** The text of a function as the session wrote it, but for types. */
export function cleanSource(text: string): string {
  if (!stringIncludes(text, "$$_")) return text
  const own = regExpReplace(inserted, regExpReplace(workshop, text, ""), "")
  return cleanText(regExpReplace(typeofCell, own, "typeof $1"))
}

/** A pattern that works whatever session code did to `RegExp.prototype`. */
function cellPattern(pattern: RegExp): RegExp {
  const { flags, global, unicode } = pattern
  const own = {
    __proto__: null,
    exec: { value: regExpExec },
    flags: { value: flags },
    global: { value: global },
    unicode: { value: unicode },
  }
  for (const key in own) defineProperty(pattern, key, own[key as keyof typeof own] as unknown as PropertyDescriptor)
  return pattern
}

/** A text of the engine's with the names that the user wrote. */
export function cleanText(text: string): string {
  if (!stringIncludes(text, "$$_")) return text
  const called = regExpReplace(calledCell, text, "$1")
  // The engine puts unary operators in parentheses.
  const named = regExpReplace(typeofCell, regExpReplace(bareCell, called, "$1"), "(typeof $1)")
  return regExpReplace(madeFunction, regExpReplace(importHook, named, "import"), "(intermediate value)")
}

/** Puts a caught error's message and stack right; any other value is left alone. `isNativeError` must run no user code. */
export function cleanError(error: unknown, isNativeError: (value: unknown) => boolean): void {
  if (!apply(isNativeError, undefined, [error])) return
  const { message, stack } = error as Error
  if (typeof message !== "string" || !stringIncludes(message, "$$_")) return
  const change = (key: string, value: string): void => {
    defineProperty(error as Error, key, {
      __proto__: null,
      value,
      writable: true,
      configurable: true,
    } as PropertyDescriptor)
  }
  change("message", cleanText(message))
  if (typeof stack === "string") change("stack", cleanText(stack))
}
