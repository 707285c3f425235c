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
  | { readonly badReason: unknown }
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
  try {
    return typeof reason === "object" && "shutdown" in reason
  } catch {
    // A proxy that does not let itself be asked says nothing of an intention.
    return false
  }
}

/** The reason for what a `ProcessLike` told as its end, which plain JavaScript may leave out or give as an error. */
export function reasonOfTold(told: unknown): ExitReason {
  if (typeof told === "string") return told
  if (typeof told !== "object" || told === null) return { badReason: told }
  const isError = isErrorObject(told)
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- any record is taken as a reason: every reader treats it as data
  return isError ? reasonOfThrown(told) : (told as ExitReason)
}

/** A string, which an error's name and message need not be; throws when there is none. */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : String(value)
}

function isErrorObject(value: object): boolean {
  try {
    return value instanceof Error
  } catch {
    return false
  }
}

/** The reason for a value that was thrown or rejected. Never throws, whatever the value's own getters do. */
export function reasonOfThrown(value: unknown): ExitReason {
  try {
    if (value instanceof Error) {
      if (hasExitReason(value)) return value.exitReason
      const { name, message, stack } = value
      return {
        threw: { name: textOf(name), message: textOf(message), ...(stack === undefined ? {} : { stack }), value },
      }
    }
    return { threw: { name: typeof value, message: String(value), value } }
  } catch {
    // The value's own accessors or toString threw; there is nothing more to learn from it.
    return { threw: { name: typeof value, message: "a value that cannot be described", value } }
  }
}

/** One line for logs and trees. Never throws, whatever is in the reason. */
export function formatReason(reason: ExitReason): string {
  try {
    return format(reason)
  } catch {
    // Cyclic details, or a toJSON that throws: the kind is still worth a line.
    return kindOf(reason)
  }
}

function format(reason: unknown): string {
  if (typeof reason !== "object" || reason === null) return String(reason)
  if ("threw" in reason && isThrown(reason.threw)) return `${reason.threw.name}: ${reason.threw.message}`
  if ("badReturn" in reason) {
    return `its start returned ${describe(reason.badReturn)}; it must return what is started, such as createActor(logic)`
  }
  if ("badReason" in reason) return `its onExit listener was told ${describe(reason.badReason)} instead of a reason`
  if ("startTimeoutMs" in reason)
    return `its start took longer than startTimeoutMs, ${String(reason.startTimeoutMs)} ms`
  if ("shutdown" in reason && isFailedStart(reason.shutdown)) {
    return `child '${reason.shutdown.failedToStartChild}' did not start: ${formatReason(reason.shutdown.reason)}`
  }
  return JSON.stringify(reason, (_key, value: unknown) => (typeof value === "bigint" ? `${value}n` : value))
}

function kindOf(reason: ExitReason): string {
  try {
    return `{ ${Object.keys(reason).join(", ")} }`
  } catch {
    return "a reason that cannot be described"
  }
}

function describe(value: unknown): string {
  if (typeof value === "object" && value !== null) return Array.isArray(value) ? "an array" : "an object"
  return typeof value === "function" ? "a function" : String(value)
}

function isThrown(value: unknown): value is Thrown {
  return typeof value === "object" && value !== null && "name" in value && "message" in value
}

function isFailedStart(value: unknown): value is FailedToStartChild {
  return typeof value === "object" && value !== null && "failedToStartChild" in value && "reason" in value
}

function hasExitReason(error: Error): error is Error & { exitReason: ExitReason } {
  if (!("exitReason" in error)) return false
  const reason = error.exitReason
  return typeof reason === "string" || (typeof reason === "object" && reason !== null)
}
