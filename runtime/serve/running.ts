// What requests that run code share: their limits, and where their output goes while they run.
import type { EvalOptions } from "../shell/shell.ts"
import type { Call } from "./method.ts"
import type { Fields, FieldsOf } from "./schema.ts"
import { milliseconds } from "./shapes.ts"

export const running = {
  timeoutMs: { ...milliseconds, optional: true, doc: "Milliseconds from when the code begins; null for none." },
  stream: {
    type: "boolean",
    optional: true,
    doc: "Also send its output as `output` notifications while it runs; default true. The answer holds all of it either way.",
  },
  progressToken: {
    either: [{ type: "string" }, { type: "number" }],
    optional: true,
    doc: "Send its output as `$/progress` notifications with this token instead.",
  },
  data: { type: "boolean", optional: true, doc: "Send `value.data`; default true." },
} as const satisfies Fields

export const atomic = {
  type: "boolean",
  optional: true,
  doc: "On any status but `ok` the session is as it was before.",
} as const

export const retainValues = {
  either: [{ oneOf: ["none", "functions", "all"] }, { type: "boolean" }],
  optional: true,
  doc: "Keep the result when it is a function, or with `all` (or true) an object, too, until `releaseValue`: its `handle` is what `callValue` takes. Default `none`.",
} as const

export function retainOptions({
  retainValues: which,
}: {
  readonly retainValues?: boolean | "none" | "functions" | "all" | undefined
}): Pick<EvalOptions, "retainValues"> {
  return which === undefined ? {} : { retainValues: which }
}

/** The options that these parameters stand for. The eval ends when its request is cancelled. */
export function runningOptions(
  params: FieldsOf<typeof running>,
  { connection, request, session }: Call,
): EvalOptions & { signal: AbortSignal } {
  const options: EvalOptions & { signal: AbortSignal } = { signal: request.signal }
  if (params.timeoutMs !== undefined) options.timeoutMs = params.timeoutMs ?? Infinity
  const { progressToken: token, stream = true } = params
  if (token !== undefined) options.onOutput = (chunk) => connection.sendProgress(token, chunk)
  else if (stream) options.onOutput = (chunk) => connection.sendOutput(session.id, request.id, chunk)
  return options
}
