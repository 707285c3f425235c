// `console` for session code: formats in the realm, without running user code, and sends text.
//
// Output belongs to the eval in whose context it is written. What code of an ended eval writes goes nowhere, silently: a late log line
// must not throw into a callback that can do nothing about it.
import { MapOf, mapDelete, mapGet, mapSet, NumberOf, stringRepeat, stringSlice, StringOf } from "./intrinsics.ts"
import { opNow, opOutput } from "./bridge.ts"
import type { Bridge } from "./bridge.ts"
import { formatConsole } from "./format-console.ts"

type Log = (...args: unknown[]) => void

export function makeConsole(bridge: Bridge): object {
  const counts = new MapOf<string, number>()
  const times = new MapOf<string, number>()
  let indent = 0

  const write = (stream: "stdout" | "stderr", args: unknown[]): void => {
    const text = formatConsole(args)
    bridge.call(opOutput, stream, indent === 0 ? `${text}\n` : `${indented(text, stringRepeat("  ", indent))}\n`)
  }
  const out: Log = (...args) => write("stdout", args)
  const err: Log = (...args) => write("stderr", args)
  const labelOf = (label: unknown): string => (label === undefined ? "default" : StringOf(label))
  const elapsed = (label: string): string | undefined => {
    const since = mapGet<number>(times, label)
    return since === undefined ? undefined : `${label}: ${NumberOf((bridge.call(opNow) as number) - since)}ms`
  }

  return {
    log: (...args: unknown[]) => out(...args),
    info: (...args: unknown[]) => out(...args),
    debug: (...args: unknown[]) => out(...args),
    dir: (value: unknown) => out(value),
    table: (value: unknown) => out(value),
    error: (...args: unknown[]) => err(...args),
    warn: (...args: unknown[]) => err(...args),
    trace: (...args: unknown[]) => err("Trace:", ...args),
    assert: (condition: unknown, ...args: unknown[]) => {
      if (!condition) err("Assertion failed", ...args)
    },
    group: (...args: unknown[]) => {
      if (args.length > 0) out(...args)
      indent += 1
    },
    groupEnd: () => {
      if (indent > 0) indent -= 1
    },
    count: (label?: unknown) => {
      const name = labelOf(label)
      const next = (mapGet<number>(counts, name) ?? 0) + 1
      mapSet(counts, name, next)
      out(`${name}: ${next}`)
    },
    countReset: (label?: unknown) => {
      mapDelete(counts as never, labelOf(label))
    },
    time: (label?: unknown) => {
      mapSet(times, labelOf(label), bridge.call(opNow) as number)
    },
    timeLog: (label?: unknown, ...args: unknown[]) => {
      const line = elapsed(labelOf(label))
      if (line !== undefined) out(line, ...args)
    },
    timeEnd: (label?: unknown) => {
      const name = labelOf(label)
      const line = elapsed(name)
      mapDelete(times as never, name)
      if (line !== undefined) out(line)
    },
  }
}

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
