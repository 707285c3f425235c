// `console` for session code: formats in the realm, without running user code, and sends text.
//
// Output belongs to the eval in whose context it is written. What code of an ended eval writes goes nowhere, silently: a late log line
// must not throw into a callback that can do nothing about it.
import {
  ErrorOf,
  listOf,
  MapOf,
  mapDelete,
  mapGet,
  mapSet,
  NumberOf,
  stringRepeat,
  stringSlice,
  StringOf,
} from "./intrinsics.ts"
import { opNow } from "./bridge.ts"
import type { Bridge } from "./bridge.ts"
import { readPlainly } from "./brands.ts"
import { tableText } from "./console-table.ts"
import { shownFrames } from "./error-stack.ts"
import { formatConsole } from "./format-console.ts"
import { defaultPreviewLimits, preview } from "./preview.ts"
import type { TextOf } from "./preview.ts"

export function makeConsole(bridge: Bridge, textOf?: TextOf): object {
  const counts = new MapOf<string, number>()
  const times = new MapOf<string, number>()
  let indent = 0

  const write = (stream: "stdout" | "stderr", args: ArrayLike<unknown>, tail = ""): void => {
    const text = formatConsole(args, defaultPreviewLimits, textOf) + tail
    bridge.output(stream, indent === 0 ? `${text}\n` : `${indented(text, stringRepeat("  ", indent))}\n`)
  }
  const line = (text: string, args: ArrayLike<unknown> = none, from = 0): void =>
    write("stdout", listOf(args, from, text))
  const labelOf = (label: unknown): string => (label === undefined ? "default" : StringOf(label))
  const elapsed = (label: string): string | undefined => {
    const since = mapGet<number>(times, label)
    if (since === undefined) return undefined
    // To the microsecond, as Node has it.
    const micros = NumberOf((bridge.call(opNow) as number) - since) * 1000
    return `${label}: ${(micros - (micros % 1)) / 1000}ms`
  }

  // `arguments` and not rest parameters that are spread again: spreading asks `Array.prototype` how to iterate, which is the session's.
  return {
    log() {
      write("stdout", arguments)
    },
    info() {
      write("stdout", arguments)
    },
    debug() {
      write("stdout", arguments)
    },
    /** Of Node's options it has `depth`, within limits. */
    dir(value: unknown, options?: unknown) {
      const { bytesMax, itemsMax } = defaultPreviewLimits
      const limits = { bytesMax, itemsMax, depthMax: depthOf(options) }
      write("stdout", one(preview(value, limits, textOf).text))
    },
    dirxml() {
      write("stdout", listOf(arguments))
    },
    table(value: unknown, columns?: unknown) {
      write("stdout", one(tableText(value, columns, textOf) ?? value))
    },
    error() {
      write("stderr", arguments)
    },
    warn() {
      write("stderr", arguments)
    },
    trace() {
      const head = arguments.length > 0 ? "Trace:" : "Trace"
      write("stderr", listOf(arguments, 0, head), shownFrames(new ErrorOf()))
    },
    assert(condition: unknown) {
      if (condition) return
      const first = arguments[1] as unknown
      if (arguments.length < 2) write("stderr", one("Assertion failed"))
      else if (typeof first === "string") write("stderr", listOf(arguments, 2, `Assertion failed: ${first}`))
      else write("stderr", listOf(arguments, 1, "Assertion failed:"))
    },
    group() {
      if (arguments.length > 0) write("stdout", arguments)
      indent += 1
    },
    groupCollapsed() {
      if (arguments.length > 0) write("stdout", arguments)
      indent += 1
    },
    groupEnd() {
      if (indent > 0) indent -= 1
    },
    count(label?: unknown) {
      const name = labelOf(label)
      const next = (mapGet<number>(counts, name) ?? 0) + 1
      mapSet(counts, name, next)
      line(`${name}: ${next}`)
    },
    countReset(label?: unknown) {
      mapDelete(counts as never, labelOf(label))
    },
    time(label?: unknown) {
      mapSet(times, labelOf(label), bridge.call(opNow) as number)
    },
    timeLog(label?: unknown) {
      const text = elapsed(labelOf(label))
      if (text !== undefined) line(text, arguments, 1)
    },
    timeEnd(label?: unknown) {
      const name = labelOf(label)
      const text = elapsed(name)
      mapDelete(times as never, name)
      if (text !== undefined) line(text)
    },
  }
}

/** Levels that are shown; Node counts those below the first. */
const dirDepthMax = 16

function depthOf(options: unknown): number {
  const depth = typeof options === "object" && options !== null ? readPlainly(options, "depth") : undefined
  if (depth === null) return dirDepthMax
  if (typeof depth !== "number" || !(depth >= 0)) return defaultPreviewLimits.depthMax
  return depth + 1 < dirDepthMax ? depth + 1 : dirDepthMax
}

const none: ArrayLike<unknown> = { length: 0 }

const one = (value: unknown): ArrayLike<unknown> => ({ length: 1, 0: value })

function indented(text: string, by: string): string {
  let result = by
  let from = 0
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== "\n") continue
    result += stringSlice(text, from, at + 1) + by
    from = at + 1
  }
  return result + stringSlice(text, from)
}
