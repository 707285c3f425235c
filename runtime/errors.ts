// Nacre's own failures: one class, a closed set of kinds, one table that drives messages, JSON-RPC codes and docs/ERRORS.md.
//
// A failure of user code is never one of these: it is an outcome, a value. A NacreError means that Nacre refused or could not do what
// was asked; its message names the thing and the remedy. Compare `kind`, never `instanceof`: errors cross processes and realms.

export type Retry = "never" | "same" | "fresh"

interface KindRow {
  /** JSON-RPC error code, stable for ever. */
  readonly code: number
  /** `same`: the same call may succeed later; `fresh`: it needs a new session, revision or id; `never`: the call itself is wrong. */
  readonly retry: Retry
  /** When it happens, for docs/ERRORS.md. */
  readonly when: string
}

export const errorKinds = {
  invalid_options: { code: -32602, retry: "never", when: "An option or parameter has the wrong type, name or range." },
  method_not_found: { code: -32601, retry: "never", when: "The protocol has no method of that name." },
  invalid_request: { code: -32600, retry: "never", when: "A protocol message is not a valid JSON-RPC 2.0 request." },
  parse_failed: {
    code: -32700,
    retry: "never",
    when: "A protocol message is not valid JSON, or its frame is malformed.",
  },
  not_initialized: { code: -32002, retry: "same", when: "A protocol request came before `initialize`." },
  internal: { code: -32603, retry: "same", when: "An invariant of Nacre broke; the actor that met it was restarted." },
  nacre_stopped: { code: -32010, retry: "fresh", when: "The nacre has stopped or is stopping." },
  nacre_failed: {
    code: -32011,
    retry: "fresh",
    when: "The supervision tree gave up: hosts could not be kept running.",
  },
  host_unavailable: { code: -32012, retry: "same", when: "No host process became ready within its deadline." },
  overloaded: {
    code: -32013,
    retry: "same",
    when: "The hosts are at their memory limit and nothing can be evicted, or the checker has its maximum of requests waiting.",
  },
  request_cancelled: {
    code: -32800,
    retry: "same",
    when: "A protocol request was cancelled, or took longer than the end of its connection waits.",
  },
  too_many_requests: {
    code: -32015,
    retry: "same",
    when: "A protocol connection has its maximum of requests under way.",
  },
  message_too_large: { code: -32016, retry: "never", when: "A protocol message is above its limit of bytes." },
  queue_full: { code: -32014, retry: "same", when: "A session's queue holds its maximum of waiting evals." },
  session_not_found: { code: -32020, retry: "fresh", when: "The session is unknown or closed." },
  session_busy: { code: -32021, retry: "same", when: "The session computes and the call could not wait longer." },
  session_unresponsive: {
    code: -32022,
    retry: "same",
    when: "A call about a session got no answer within its deadline.",
  },
  session_limit: {
    code: -32023,
    retry: "same",
    when: "The nacre, or one client of a served one, holds its maximum of sessions.",
  },
  profile_conflict: {
    code: -32024,
    retry: "fresh",
    when: "A live session was opened again with another fixed option.",
  },
  connection_not_found: {
    code: -32025,
    retry: "fresh",
    when: "A connection to resume is unknown, or its grace has ended.",
  },
  eval_not_found: {
    code: -32030,
    retry: "never",
    when: "The eval id is not one of this session's running or queued evals.",
  },
  eval_ended: { code: -32031, retry: "never", when: "Code of an ended eval made an outside call." },
  would_deadlock: {
    code: -32032,
    retry: "never",
    when: "An eval without `nested: true`, or what takes its turn between evals, was requested from a tool call that the same session's eval waits for.",
  },
  never_settles: { code: -32033, retry: "never", when: "An eval awaits a promise that nothing pending can settle." },
  source_too_large: {
    code: -32034,
    retry: "never",
    when: "The source text of an eval, or of what it imports, is above its limit.",
  },
  binding_lost: {
    code: -32040,
    retry: "never",
    when: "A binding's value could not be kept when the process that held it ended.",
  },
  binding_is_definition: {
    code: -32041,
    retry: "never",
    when: "`atPut` named a definition, which only a declaration can replace.",
  },
  cross_session_mutation_unsupported: {
    code: -32042,
    retry: "never",
    when: "Session code tried to write another session's bindings.",
  },
  name_conflict: { code: -32043, retry: "never", when: "A global cannot have that name." },
  value_not_transferable: {
    code: -32044,
    retry: "never",
    when: "A value holds something that cannot leave its realm, such as a function.",
  },
  value_too_large: { code: -32045, retry: "never", when: "An encoded value is above its limit." },
  type_error: { code: -32046, retry: "never", when: "An argument has the wrong type." },
  value_not_found: {
    code: -32048,
    retry: "never",
    when: "The session retains no value of that handle: it was released, or the session was reset or rolled back.",
  },
  mark_not_found: { code: -32047, retry: "never", when: "The session has no mark of that name." },
  candidate_not_found: {
    code: -32061,
    retry: "never",
    when: "The session has no open candidate of that id.",
  },
  revision_not_found: { code: -32062, retry: "never", when: "The session has no revision of that number." },
  pin_not_found: {
    code: -32063,
    retry: "never",
    when: "The session has no pin of that id; it may have been released.",
  },
  handle_limit: {
    code: -32064,
    retry: "same",
    when: "The session holds its maximum of pins, of marks or of retained values.",
  },
  tool_not_found: { code: -32050, retry: "never", when: "Session code called a tool that the session does not have." },
  tool_timeout: { code: -32051, retry: "same", when: "A tool call did not settle within its deadline." },
  stale_parent: { code: -32060, retry: "fresh", when: "A key was changed by another change since this one began." },
  capability_denied: {
    code: -32071,
    retry: "never",
    when: "Session code used something that the session's profile does not have.",
  },
  module_not_found: {
    code: -32072,
    retry: "same",
    when: "What session code imports is no file, package or builtin module that can be found.",
  },
  module_invalid: {
    code: -32073,
    retry: "same",
    when: "What session code imports does not parse, lacks an export that is asked for, or is of a kind that cannot be imported.",
  },
  prelude_invalid: {
    code: -32074,
    retry: "never",
    when: "A prelude does not parse, exports nothing, throws, waits or calls out while it is loaded, or takes longer than its limit.",
  },
  checker_unavailable: {
    code: -32065,
    retry: "same",
    when: "The process that checks types did not answer within the deadline, or ended twice under the request.",
  },
  unsupported: { code: -32070, retry: "never", when: "The feature is not available in this profile or version." },
} as const satisfies Record<string, KindRow>

export type ErrorKind = keyof typeof errorKinds

/** Every failure that Nacre itself reports. `kind` is one of a closed set and stable; `retry` says whether trying again can help. */
export class NacreError extends Error {
  override readonly name = "NacreError"
  readonly kind: ErrorKind
  readonly retry: Retry
  readonly code: number

  constructor(kind: ErrorKind, message: string, options?: { cause?: unknown }) {
    super(message, options)
    this.kind = kind
    this.retry = errorKinds[kind].retry
    this.code = errorKinds[kind].code
  }
}

/** A broken invariant: crashes the actor it happens in, whose supervisor decides. Never caught to carry on. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`Broken invariant: ${message}`)
}

/** The message of whatever was thrown: the embedder's code may throw what cannot be turned into text, and that must not become a second failure. */
export function messageOf(thrown: unknown): string {
  try {
    return String(thrown instanceof Error ? thrown.message : thrown)
  } catch {
    return "something that cannot be shown as text"
  }
}
