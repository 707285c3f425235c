// The `stack` of an error, read without running session code.
//
// V8 formats a stack the first time it is read. Formatting calls `Error.prepareStackTrace` when a session has set one, and reads the
// error's `name` and `message`, which may be getters or sit behind a proxy. So the hook is shadowed for the length of the reading
// and put back as it was, and an error whose header cannot be read plainly has no stack here. Once formatted, a stack is a string.
//
// In a session's realm the engine formats with `formatStack`: what session code reads names the user's frames at their places in the source,
// as the worker tells, and nothing of the runtime or its paths. The raw frames are kept beside it for the records of outcomes.
//
// `Error.prepareStackTrace` is an accessor there: what a session sets is called by `formatStack`, with the call sites of its own code only, since the
// sites of the others name our files. It gives `formatStack`, so that code that puts back what it found takes its hook away; so does `undefined`.

import { isRecordedProxy } from "./proxy-record.ts"
import {
  applyFunction,
  arrayPush,
  defineOwn,
  deleteOwn,
  descriptorOf,
  ErrorOf,
  objectFreeze,
  objectHasOwn,
  objectKeys,
  prototypeOf,
  withoutPrototype,
  realmGlobal,
  stringSlice,
  uncurryThis,
  WeakMapOf,
  weakMapGet,
  weakMapSet,
} from "./intrinsics.ts"

/** Engines since V8 12 keep `stack` behind an accessor of their own, whose halves are the same for all errors of a realm. */
const nativeStack = descriptorOf(new ErrorOf("probe"), "stack")
const nativeStackGetter: unknown = nativeStack?.get
const nativeStackSetter: unknown = nativeStack?.set

/** How frames are written in this realm, and the engine's own way to write one; undefined where the engine's stacks stay as they are. */
let frames: { readonly map: (raw: string) => string; readonly textOf: (site: unknown) => string } | undefined
const errorText = uncurryThis(Error.prototype.toString)

interface FormattedStack {
  readonly raw: string
  readonly shown: string
}
const formattedStacks = new WeakMapOf<object, FormattedStack>()

/** From now on stacks of this realm are made of what `map` makes of the engine's frames. Call it before user code runs. */
export function installStackFormatter(map: (raw: string) => string): void {
  let textOf: ((site: unknown) => string) | undefined
  ErrorOf.prepareStackTrace = (_error, sites) => {
    textOf = uncurryThis((sites[0] as unknown as { toString(): string }).toString)
    return ""
  }
  // Reading formats it, which is when the engine hands out its frames.
  void new ErrorOf("probe").stack
  deleteOwn(ErrorOf, "prepareStackTrace")
  if (textOf === undefined) return
  frames = { map, textOf }
  const get = (): unknown => formatStack
  const set = (hook: unknown): void => {
    sessionHook = typeof hook === "function" && hook !== formatStack ? hook : undefined
  }
  // Not configurable: a hook in its place would get every frame.
  defineOwn(ErrorOf, "prepareStackTrace", withoutPrototype({ get, set, enumerable: false, configurable: false }))
}

/** What the session set as `Error.prepareStackTrace`. */
let sessionHook: object | undefined
/** While we read a stack, which must run nothing of the session. */
let isHookOff = false

function askHook(hook: object, error: unknown, sites: ArrayLike<unknown>): unknown {
  const own: unknown[] = []
  for (let index = 0; index < sites.length; index++) {
    const shown = frames!.map(`\n    at ${frames!.textOf(sites[index])}`)
    if (shown !== "") arrayPush(own, siteAsWritten(sites[index], stringSlice(shown, leadOfFrame.length)))
  }
  return applyFunction(hook, ErrorOf, withoutPrototype([error, own]))
}

const leadOfFrame = "\n    at "

/** What a site answers by itself: neither its place nor a name that may be ours. */
const askedOfSite: readonly string[] = objectFreeze([
  "getTypeName",
  "getMethodName",
  "isToplevel",
  "isEval",
  "isNative",
  "isConstructor",
  "isAsync",
  "isPromiseAll",
  "getPromiseIndex",
])

/** A call site with the place and the name that a stack shows: `name (file:line:column)`, or without a name. */
function siteAsWritten(site: unknown, shown: string): object {
  const bracket = shown[shown.length - 1] === ")" ? lastIndexOf(shown, " (", shown.length) : -1
  const name = bracket < 0 ? null : stringSlice(shown, 0, bracket)
  const place = bracket < 0 ? shown : stringSlice(shown, bracket + 2, shown.length - 1)
  const beforeColumn = lastIndexOf(place, ":", place.length)
  const beforeLine = lastIndexOf(place, ":", beforeColumn)
  const file = stringSlice(place, 0, beforeLine)
  const answers: Record<string, unknown> = {
    getFunctionName: name,
    getFileName: file,
    getScriptNameOrSourceURL: file,
    getLineNumber: +stringSlice(place, beforeLine + 1, beforeColumn),
    getColumnNumber: +stringSlice(place, beforeColumn + 1),
    getEvalOrigin: undefined,
    getThis: undefined,
    getFunction: undefined,
    toString: shown,
  }
  const written: object = {}
  const keys = objectKeys(answers)
  for (let index = 0; index < keys.length; index++) {
    const answer = answers[keys[index]!]
    hideOn(written, keys[index]!, () => answer)
  }
  for (let index = 0; index < askedOfSite.length; index++) {
    const ask = (site as Record<string, unknown>)[askedOfSite[index]!]
    hideOn(written, askedOfSite[index]!, () =>
      typeof ask === "function" ? applyFunction(ask, site, withoutPrototype([])) : undefined,
    )
  }
  return written
}

function hideOn(object: object, name: string, value: unknown): void {
  defineOwn(object, name, withoutPrototype({ value, writable: true, enumerable: false, configurable: true }))
}

function lastIndexOf(text: string, part: string, before: number): number {
  let at = before - part.length
  while (at >= 0 && stringSlice(text, at, at + part.length) !== part) at--
  return at
}

/** What V8 asks for the text of a stack. The header may run session code, as the engine's own would; nothing else does. */
export function formatStack(error: unknown, sites: unknown): unknown {
  const list = sites as ArrayLike<unknown>
  const hook = isHookOff ? undefined : sessionHook
  let header = "Error"
  try {
    if (hook === undefined) header = errorText(error)
  } catch {
    // The error's own name or message threw.
  }
  let raw = ""
  for (let index = 0; index < list.length; index++) raw += `\n    at ${frames!.textOf(list[index])}`
  const shown = hook === undefined ? header + frames!.map(raw) : askHook(hook, error, list)
  if (typeof shown === "string" && typeof error === "object" && error !== null)
    weakMapSet(formattedStacks, error, withoutPrototype({ raw, shown }))
  return shown
}

export interface StackDescriptor extends PropertyDescriptor {
  /** The engine's accessor stands there, whose value this is. */
  readonly isNative?: boolean
}

/** The descriptor of an object's own `stack`, as data; `undefined` when there is none that can be read without running code. */
export function stackDescriptor(object: object): StackDescriptor | undefined {
  if (!objectHasOwn(object, "stack") || !hasPlainHeader(object)) return undefined
  const prepared = frames === undefined ? shadow(ErrorOf, "prepareStackTrace", undefined) : undefined
  if (prepared === false) return undefined
  const named = shadow(realmGlobal, "Error", ErrorOf)
  const wasOff = isHookOff
  isHookOff = true
  try {
    if (named === false) return undefined
    const found = descriptorOf(object, "stack") as PropertyDescriptor
    if (objectHasOwn(found, "value")) return found
    if (nativeStackGetter === undefined || found.get !== nativeStackGetter) return found
    return withoutPrototype({
      value: applyFunction(nativeStackGetter, object, []),
      writable: true,
      enumerable: found.enumerable === true,
      configurable: found.configurable === true,
      isNative: true,
    })
  } finally {
    isHookOff = wasOff
    if (named !== false) unshadow(realmGlobal, "Error", named)
    if (frames === undefined) unshadow(ErrorOf, "prepareStackTrace", prepared)
  }
}

/** The text of an own `stack`, with the engine's frames; `undefined` when there is none that can be read without running code. */
export function stackText(object: object): string | undefined {
  const descriptor = stackDescriptor(object)
  const value: unknown = descriptor !== undefined && objectHasOwn(descriptor, "value") ? descriptor.value : undefined
  if (typeof value !== "string") return undefined
  const formatted = weakMapGet(formattedStacks, object)
  // A stack that the session replaced is its own text.
  return formatted !== undefined && formatted.shown === value ? formatted.raw : value
}

/** The lines of an own `stack` that name user code, with the line break before each; empty where there are none, or a session has replaced them. */
export function shownFrames(object: object): string {
  if (frames === undefined || stackText(object) === undefined) return ""
  const formatted = weakMapGet(formattedStacks, object)
  return formatted === undefined ? "" : frames.map(formatted.raw)
}

/**
 * Gives an error that came from elsewhere the frames of `site`, an error made where this realm asked for it: the stack it brought is of another
 * process, with that one's paths.
 */
export function lendStack(error: object, site: object, header: string): void {
  stackText(site)
  const formatted = weakMapGet(formattedStacks, site)
  const raw = formatted?.raw ?? ""
  const shown = header + (formatted === undefined ? "" : frames!.map(raw))
  const done = defineOwn(
    error,
    "stack",
    withoutPrototype({ value: shown, writable: true, enumerable: false, configurable: true }),
  )
  if (done) weakMapSet(formattedStacks, error, withoutPrototype({ raw, shown }))
}

/** Puts the engine's accessor with this text on an object. `false` where `stack` is a plain property, which the caller then defines. */
export function restoreStack(object: object, text: string, enumerable: boolean, configurable: boolean): boolean {
  if (nativeStackGetter === undefined || nativeStackSetter === undefined || objectHasOwn(object, "stack")) return false
  applyFunction(nativeStackSetter, object, [text])
  return defineOwn(
    object,
    "stack",
    withoutPrototype({
      get: nativeStackGetter as () => unknown,
      set: nativeStackSetter as () => void,
      enumerable,
      configurable,
    }),
  )
}

/** The halves of the engine's accessor, where it has one; nothing else names these two functions. */
export function nativeStackAccessor(): unknown[] {
  return [nativeStackGetter, nativeStackSetter]
}

/**
 * What `make` makes, with no stack captured for the errors among it: capturing costs 20 us, and the stack of a decoder is nobody's. The limit is
 * read by the engine as plain data, so nothing of a session runs.
 */
export function withoutStackTraces<T>(make: () => T): T {
  const limit = shadow(ErrorOf, "stackTraceLimit", 0)
  try {
    return make()
  } finally {
    if (limit !== false) unshadow(ErrorOf, "stackTraceLimit", limit)
  }
}

/** Puts a plain value in the property's place; `false` when the session made that impossible. */
function shadow(owner: object, key: string, value: unknown): PropertyDescriptor | undefined | false {
  const before = descriptorOf(owner, key)
  const done = defineOwn(
    owner,
    key,
    withoutPrototype({ value, configurable: before?.configurable ?? true, enumerable: before?.enumerable ?? false }),
  )
  return done ? before : false
}

function unshadow(owner: object, key: string, before: PropertyDescriptor | undefined): void {
  if (before === undefined) deleteOwn(owner, key)
  else defineOwn(owner, key, withoutPrototype(before))
}

function hasPlainHeader(object: object): boolean {
  let link: object | null = object
  while (link !== null) {
    if (isRecordedProxy(link) || !isPlainHeaderOf(link, "name") || !isPlainHeaderOf(link, "message")) return false
    link = prototypeOf(link)
  }
  return true
}

function isPlainHeaderOf(object: object, key: string): boolean {
  const descriptor = descriptorOf(object, key)
  if (descriptor === undefined) return true
  if (!objectHasOwn(descriptor, "value")) return false
  const value: unknown = descriptor.value
  return (typeof value !== "object" || value === null) && typeof value !== "function" && typeof value !== "symbol"
}
