// Why a process ended, as data.
//
// A reason is compared, stored, printed and sent on, so it is a string with a meaning or a small record, never a live error.
// The strings are OTP's: `normal`, `shutdown`, `kill` (asked for), `killed` (arrived), `noproc` (was dead already); any other
// string is the application's own word for an abnormal end. Only `normal`, `shutdown` and `{ shutdown }` are ends that a
// transient child is not restarted for.

/** What is kept of a thrown or rejected value: enough to log it, and the value itself for whoever wants to look closer. */
export interface Thrown {
  readonly name: string
  readonly message: string
  readonly stack?: string
  readonly value: unknown
}

export type ExitReason =
  | "normal"
  | "shutdown"
  | "kill"
  | "killed"
  | "noproc"
  | (string & {})
  | { readonly shutdown: unknown }
  | { readonly threw: Thrown }
  | { readonly badReturn: unknown }
  | { readonly startTimeoutMs: number }
  | { readonly alreadyRegistered: string }
  | { readonly signal: string }
  | { readonly exitCode: number }

/** What a supervisor's own start fails with, inside `{ shutdown }`; it nests through levels. */
export interface FailedToStartChild {
  readonly failedToStartChild: string
  readonly reason: ExitReason
}

/** `normal`, `shutdown` or `{ shutdown }`: an end by intention. */
export function isNormalEnd(reason: ExitReason): boolean {
  return reason === "normal" || reason === "shutdown" || isShutdownRecord(reason)
}

export function isShutdownRecord(reason: ExitReason): reason is { readonly shutdown: unknown } {
  return typeof reason === "object" && "shutdown" in reason
}

/** The reason for a value that was thrown or rejected. Never throws, whatever the value's own getters do. */
export function reasonOfThrown(value: unknown): ExitReason {
  try {
    if (value instanceof Error) {
      if (hasExitReason(value)) return value.exitReason
      const { name, message, stack } = value
      return { threw: { name, message, ...(stack === undefined ? {} : { stack }), value } }
    }
    return { threw: { name: typeof value, message: String(value), value } }
  } catch {
    // The value's own accessors or toString threw; there is nothing more to learn from it.
    return { threw: { name: typeof value, message: "a value that cannot be described", value } }
  }
}

/** One line for logs and trees. */
export function formatReason(reason: ExitReason): string {
  if (typeof reason === "string") return reason
  if ("threw" in reason) return `${reason.threw.name}: ${reason.threw.message}`
  try {
    return JSON.stringify(reason, (_key, value: unknown) => (typeof value === "bigint" ? `${value}n` : value))
  } catch {
    // Cyclic details, or a toJSON that throws: the kind is still worth a line.
    return `{ ${Object.keys(reason).join(", ")} }`
  }
}

function hasExitReason(error: Error): error is Error & { exitReason: ExitReason } {
  if (!("exitReason" in error)) return false
  const reason = error.exitReason
  return typeof reason === "string" || (typeof reason === "object" && reason !== null)
}
