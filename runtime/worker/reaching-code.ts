// What a text may do that names and values do not show, told from the text and on the safe side: a word too many costs time, not truth.

// Code that goes on in turns of the loop after its last statement. Without any of these words an eval has ended where its text ends.
const laterCode = /\b(?:async|await|then|Promise|queueMicrotask|FinalizationRegistry|import|WebAssembly|\w*Async)\b/

// Code that can run when its eval has ended: its timers and tool calls are gone by then and its microtasks have run, so that is only what the engine
// itself finishes at some time. With one of these words any later commit may contain its work, so every later commit encodes everything.
const lingeringCode = /\b(?:FinalizationRegistry|WebAssembly|import|\w*Async)\b/

// Ways to the global object. Listing its properties takes as long as a short eval, so it is done only once one of these was seen.
const globalReachingCode = /\b(?:globalThis|eval|Function)\b|\.\s*constructor\b|["'`]constructor["'`]/

// Ways to built-ins as objects: to a prototype, or to a built-in that is more than called, constructed with or read from. A value that
// holds one is seen when it is encoded.
const prototypeWords =
  /\b(?:prototype|__proto__|__defineGetter__|__defineSetter__|getPrototypeOf|setPrototypeOf|globalThis|eval|Function)\b|\.\s*constructor\b|["'`]constructor["'`]/
/** What may follow: properties that are not assigned, a call, type arguments. */
const assignment = String.raw`(?:[-+*/%&|^]|\*\*|<<|>>>?|&&|\|\||\?\?)?=(?![=>])|\+\+|--`
const properties = String.raw`\.\s*[\w$]+(?![\w$])(?:\s*\.\s*[\w$]+(?![\w$]))*(?!\s*(?:[.[]|${assignment}))`
const plainUse = String.raw`(?!\s*(?:${properties}|\?\.|\(|<|\[\s*\]))`
const namespaceUse = new RegExp(
  String.raw`\bdelete\s+[A-Z]|(?<![\w$.])(?:Math|JSON|Reflect|Atomics|Intl|console|performance|crypto)\b${plainUse}`,
)
const classUse = new RegExp(
  String.raw`(?<![\w$.]|\b(?:new|instanceof|extends|as|is|typeof|keyof)\s+|[:<|&]\s*)(?:Object|Array|String|Number|Boolean|BigInt|Symbol|Map|Set|WeakMap|WeakSet|WeakRef|Promise|Proxy|RegExp|Date|DataView|\w*Error|\w*ArrayBuffer|\w+Array|URL|URLSearchParams|Text(?:En|De)coder|Abort(?:Controller|Signal))\b${plainUse}`,
)
// A key that is computed, or a name that is spelled with escapes, can be any of these words.
const hiddenWords = /[\w$)\]}"'`.]\s*\[(?!\s*(?:\d+|"[^"\\]*"|'[^'\\]*')?\s*\])|[{,]\s*\[|\\[ux]/

/** The usual way to pass one: nothing changes it there. */
const conversions = /\(\s*(?:Number|Boolean|String|BigInt)\s*\)/g

/** All of it, of one text. */
export interface Reach {
  readonly goesOn: boolean
  readonly lingers: boolean
  /** The same where the profile has what Node finishes at some time. */
  readonly lingersWithNode: boolean
  readonly global: boolean
  readonly builtIns: boolean
  readonly hidesWords: boolean
}

export function reachOf(source: string): Reach {
  return {
    goesOn: mayGoOn(source),
    lingers: mayLinger(source, false),
    lingersWithNode: mayLinger(source, true),
    global: mayReachGlobal(source),
    builtIns: mayReachBuiltIns(source),
    hidesWords: mayHideWords(source),
  }
}

/** Whether the eval of a text may take more turns of the loop than one. */
function mayGoOn(source: string): boolean {
  return laterCode.test(source)
}

/** Whether something may run when the eval of a text has ended. `hasNode`: its profile has what Node finishes at some time. */
function mayLinger(source: string, hasNode: boolean): boolean {
  return (hasNode ? laterCode : lingeringCode).test(source)
}

function mayReachGlobal(source: string): boolean {
  return globalReachingCode.test(source)
}

/** Whether a text may have a word that is not to be read in it. */
export function mayHideWords(source: string): boolean {
  return hiddenWords.test(source)
}

export function mayReachBuiltIns(source: string): boolean {
  if (prototypeWords.test(source) || namespaceUse.test(source)) return true
  return classUse.test(source) && classUse.test(source.replace(conversions, "()"))
}
