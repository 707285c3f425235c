// The whole vocabulary between the embedder's process, a host's main thread and a worker: every message, in one place.
//
// A message is packed as an array, its code first and its fields in the order given here: [1, 7, "ses_a", …]. Both sides check
// every message against this table. Fields that are mostly absent stand at the end, where they take no room. There are four directions:
//
//   toWorker   embedder -> worker, over the worker's own socket: what to evaluate
//   fromWorker worker -> embedder, the same socket: what came of it
//   toHost     embedder -> host main thread, over the control channel: threads, interrupts, answers to synchronous calls
//   fromHost   host main thread -> embedder, the same channel: readiness, heartbeat, lost threads, synchronous calls
import { Misfit, bool, bytes, fieldsOf, int, lazy, list, num, oneOf, optional } from "./check.ts"
import { packField, plain, record, str, unpackField, withoutAbsent } from "./check.ts"
import type { Check, Checked, FieldTable, Fields } from "./check.ts"

/** Changes whenever a message changes; a host that says another one is refused at its handshake. */
export const wireVersion = 8

/** A function that is put around a definition when it is made: `(inner: T) => T`, as an expression. */
const wrapper = record({ key: str, source: str, file: str, line: int, column: int, digest: str, reads: list(str) })
/** A file as the checker is told of it: `targets` are the files among those told that its specifiers mean. */
const fileText = record({
  key: str,
  path: str,
  source: str,
  targets: list(record({ specifier: str, key: str })),
})
const definition = record({
  name: str,
  kind: str,
  source: str,
  file: str,
  line: int,
  column: int,
  dependencies: list(str),
  /** Of an import: its specifier, and what the module was then. */
  module: optional(str),
  stamp: optional(str),
  /** Of an import: the files that it leads to, as they were; its dependencies are the names of the session that these use. */
  files: optional(list(record({ name: str, digest: str }))),
  /**
   * Of an import: those of its files that types are checked in, since they lead to names of the session, and which of them the specifier means. The
   * keys stand for a file with its contents.
   */
  texts: optional(list(fileText)),
  textKey: optional(str),
  /** Of an import: its files have read names of the session while they were evaluated. */
  readsSession: optional(bool),
  /** What it says whatever its layout. */
  digest: str,
  /** Making it ran code of its own: it holds a value, which is bound as a read-only local of the same name. */
  isData: optional(bool),
  /** The oldest, innermost one first. */
  wrappers: optional(list(wrapper)),
  /** Of a wrapped one: what it is without its wrappers. */
  bare: optional(record({ dependencies: list(str), isData: bool })),
})
const local = record({ name: str, readonly: bool })
/** `sources`: those of the functions in it. `aliases`: names that its bytes know as something else. */
const group = record({
  names: list(str),
  bytes,
  sources: optional(list(str)),
  aliases: optional(list(record({ name: str, inBytes: str }))),
})
/** A text that functions were written in, which are values of some group; `cells` and `roots` are names with commas between them. */
const source = record({
  id: str,
  source: str,
  cells: str,
  roots: str,
  file: str,
  line: int,
  column: int,
})
/** A binding whose value a message carries as it is. */
const plainBinding = record({ name: str, value: plain })
const ephemeral = record({ name: str, what: str })
const frame = record({ name: optional(str), file: str, line: int, column: int })
const span = record({ start: int, end: int, line: int, column: int })
const property = record({ key: str, text: str })
export interface ErrorRecord {
  name: string
  message: string
  kind?: string | undefined
  stack: Checked<typeof frame>[]
  spans: Checked<typeof span>[]
  rendered: string
  cause?: ErrorRecord | undefined
  errors?: ErrorRecord[] | undefined
  properties?: Checked<typeof property>[] | undefined
}
const error: Check<ErrorRecord> = record({
  name: str,
  message: str,
  kind: optional(str),
  stack: list(frame),
  spans: list(span),
  rendered: str,
  cause: optional(lazy((): Check<ErrorRecord> => error)),
  errors: optional(list(lazy((): Check<ErrorRecord> => error))),
  properties: optional(list(property)),
})
/** A prelude of the workspace: text that every realm evaluates before anything of its session. */
const prelude = record({
  name: str,
  source: str,
  /** Of the source. */
  digest: str,
  /** What frames call it. */
  file: str,
  /** The path that its imports are looked for from. */
  importer: str,
  /** The names that sessions see, and the prelude's own for each. */
  exported: list(str),
  locals: list(str),
  hasImports: bool,
})
/** Those of a workspace, in the order in which they are evaluated. Equal ids mean equal contents. */
const preludes = record({ id: int, list: list(prelude) })
/** As `language/jsx-option.ts` has it. */
export const jsx = record({ runtime: oneOf("classic", "automatic"), factory: str, fragment: str, importSource: str })
const checkpoint = record({
  definitions: list(definition),
  locals: list(local),
  plain: list(plainBinding),
  groups: list(group),
  sources: list(source),
  lost: list(record({ name: str, reason: str })),
  lastValue: optional(bytes),
  lastError: optional(bytes),
  tools: list(str),
  kind: str,
  profile: str,
  capabilities: list(str),
  /** Where what its code imports is looked for from. */
  directory: str,
  /** What JSX is turned into; without it there is none. */
  jsx: optional(jsx),
  /** Those that its values were written beside. */
  preludes: optional(preludes),
})
/** What an eval changed. Parts that are empty are left out: most evals change one thing, and packing names costs more than packing values. */
const delta = record({
  /** Locals bound or assigned by the eval, with their attribute. */
  set: optional(list(local)),
  /** Bindings with plain values. */
  plain: optional(list(plainBinding)),
  removed: optional(list(str)),
  cleared: optional(bool),
  /** Groups encoded again; each replaces what its names had before. */
  groups: optional(list(group)),
  /** Sources that the groups refer to and that were not committed before; and those that nothing refers to any more. */
  sources: optional(list(source)),
  droppedSources: optional(list(str)),
  /** Names that are bound to something that cannot be encoded. */
  ephemeral: optional(list(ephemeral)),
  definitions: optional(list(definition)),
  removedDefinitions: optional(list(str)),
  lastValue: optional(bytes),
  lastError: optional(bytes),
  late: optional(list(str)),
  /** What besides bindings only the realm holds, all of it: properties of the global object, data put on definitions. */
  realmOnly: optional(list(str)),
  /** Definitions that became values. */
  stale: optional(list(str)),
  /** The result was retained under the name that was given for it; its groups hold it. */
  retained: optional(record({ as: str, isFunction: bool })),
  /** Imports of the checkpoint that could not be made again, and those whose files had changed. */
  lostImports: optional(list(str)),
  reloaded: optional(list(str)),
  /** Every name whose value is yet to be written: what was committed of it before stands meanwhile. */
  pending: optional(list(str)),
})
const rejected = record({ op: str, key: str, kind: str })
/** A declaration of a submission that is read as a module: see `language/module.ts`. */
const declaration = record({
  key: str,
  kind: str,
  source: str,
  start: int,
  end: int,
  line: int,
  column: int,
  reads: list(str),
  isCode: bool,
  leaves: list(str),
  digest: str,
})
/**
 * Work on a change instead of an eval. "split": read the source as a module. "preludes": only say what was wrong with those of the checkpoint. "make": make these definitions as they would stand without
 * `removed`, put none in force, and keep them as the candidate `id`; the session's locals must not be read meanwhile. "write": write the values
 * that evals have put off; that is a commit.
 */
const change = record({
  stage: oneOf("split", "make", "preludes", "write"),
  id: str,
  definitions: list(definition),
  removed: list(str),
})
const values = {
  plain: list(plainBinding),
  groups: list(group),
  sources: list(source),
  ephemeral: list(ephemeral),
}
/** What became of it. `problem`: why the definitions cannot be made. */
const changed = record({
  declarations: list(declaration),
  ...values,
  /** Every definition that was made, those included that only depend on what changed. */
  made: list(str),
  /** What remains of a module to be run. */
  statements: optional(str),
  problem: optional(error),
})
/**
 * A change that was committed while the realm could not follow: what it must do before the next eval. `kept`: data that an earlier revision still
 * needs; it goes on under a name that no code has.
 */
const update = record({
  candidate: str,
  definitions: list(definition),
  removed: list(str),
  ...values,
  kept: optional(list(record({ name: str, as: str }))),
})
/**
 * An earlier revision as differences from the one that stands: what has to be made again, what was not there, and data that has been replaced
 * since: plain values, and where the rest is; without `from` it is gone, for that reason. `id` says from where to where.
 */
const pinned = record({
  id: str,
  definitions: list(definition),
  removed: list(str),
  plain: list(plainBinding),
  data: list(record({ name: str, from: str, reason: str })),
})

export const toWorker = {
  eval: message(1, {
    seq: int,
    session: str,
    evalId: str,
    /** The commit that the eval runs on; the worker uses its realm only when that holds the same one. */
    commit: int,
    source: str,
    file: str,
    line: int,
    atomic: bool,
    limits: list(int),
    checkpoint: optional(checkpoint),
    /** The generation of the workspace's globals that its code must see at least. */
    generation: optional(int),
    /** A worker has died with it in flight: whatever ended before it must have left before it begins, so that a second death is its own. */
    isSuspect: optional(bool),
    /** Another eval of the session waits for its outcome, which therefore waits for no company. */
    isAwaited: optional(bool),
    change: optional(change),
    /** What leads from the commit `base`, which the realm holds, to `commit`. */
    updates: optional(list(update)),
    base: optional(int),
    /** The source is the name of a function, to be called with these. */
    args: optional(bytes),
    /** Instead of a source: a retained value, to be called with `args`. */
    retained: optional(str),
    /** The revision that it runs in, when that is another one than the present. */
    pinned: optional(pinned),
    /** Keep the result under this name, when it is an object or a function. */
    retain: optional(record({ as: str, functionsOnly: bool })),
    /** Those of the workspace as they are now, where the realm may hold others. Its values move to them before the eval. */
    preludes: optional(preludes),
    /** Writing values that share more bytes than this may be put off. */
    defersAbove: optional(int),
  }),
  settle: message(2, { evalId: str, how: oneOf("interrupted", "timeout") }),
  toolResult: message(3, { session: str, callId: int, ok: bool, bytes, message: str, kind: str }),
  evict: message(4, { session: str }),
  /** Realms have been dropped for want of memory: they are to be collected now, not when the heap's heuristics see need. */
  collect: message(7, {}),
  /** An eval to run inside the parked eval `evalId`, or inside one that runs in it: `parent` waits for it. Dropped when that has ended. */
  nested: message(5, { evalId: str, parent: str, nested: str, source: str, file: str, line: int, limits: list(int) }),
} as const

export const fromWorker = {
  hello: message(64, { version: int, host: str, worker: int, token: str }),
  parked: message(65, { evalId: str }),
  /** What was written, and the bytes that were written since the eval began and are not kept; the text may be empty. */
  output: message(66, {
    evalId: str,
    stream: oneOf("stdout", "stderr"),
    text: str,
    seq: int,
    omittedBytes: int,
    nested: optional(str),
  }),
  toolCall: message(67, { session: str, evalId: str, callId: int, name: str, bytes, nested: optional(str) }),
  outcome: message(68, {
    seq: int,
    evalId: str,
    status: oneOf("ok", "threw", "invalid", "exited", "interrupted", "timeout"),
    text: str,
    inert: bool,
    valueType: str,
    /** Queued writes that the eval sent to its shell; the shell must hold as many. */
    queued: int,
    omittedBytes: int,
    /** False when the realm was thrown away with this eval. */
    realmKept: bool,
    /** Milliseconds in the worker: compile, run, and from then to this message. */
    times: list(num),
    isPlain: bool,
    /** The result itself, when it is plain; `isPlain` says so. */
    plain,
    delta: optional(delta),
    data: optional(bytes),
    /** Why the result does not travel as data: "too-large", or what it holds. */
    withheld: optional(str),
    error: optional(error),
    exitCode: optional(int),
    rejected: optional(list(rejected)),
    abandoned: optional(list(record({ kind: str }))),
    /** Call ids of writes that their callers were told had failed: the cancel takes another way and may come later. */
    cancelled: optional(list(int)),
    change: optional(changed),
  }),
  /** The eval was revoked or settled before it began: nothing of it ran. */
  skipped: message(69, { seq: int, evalId: str }),
  /** The worker does not hold the session at that commit and got no checkpoint: nothing of the eval ran. */
  missing: message(70, { seq: int, evalId: str }),
  /** The eval `nested`, which ran inside of `evalId`, has ended; what it changed is committed with that one. Fields as in `outcome`. */
  nestedEnded: message(72, {
    evalId: str,
    nested: str,
    status: oneOf("ok", "threw", "invalid", "exited"),
    text: str,
    inert: bool,
    valueType: str,
    isPlain: bool,
    plain,
    omittedBytes: int,
    set: list(str),
    removed: list(str),
    definitions: list(str),
    data: optional(bytes),
    withheld: optional(str),
    error: optional(error),
    exitCode: optional(int),
    abandoned: optional(list(record({ kind: str }))),
  }),
  /** Something that no running eval can be blamed for, such as a late throw. */
  stray: message(71, { session: str, evalId: str, text: str }),
} as const

export const toHost = {
  grow: message(128, { worker: int, token: str }),
  /** Look at that worker's thread; when it computes the eval of that sequence number and stands still, terminate it. */
  interrupt: message(129, { request: int, worker: int, seq: int, graceMs: int }),
  /** Keep the worker from beginning the evals of these sequence numbers. */
  fence: message(130, { request: int, worker: int, from: int, to: int }),
  syncReply: message(131, { worker: int, callId: int, ok: bool, kind: str, message: str, bytes: optional(bytes) }),
  shutdown: message(132, {}),
  ping: message(133, { nonce: int }),
  /** Globals have been written: every thread must see that generation before the answer. */
  generation: message(134, { request: int, generation: int }),
} as const

export const fromHost = {
  ready: message(192, { version: int, pid: int }),
  beat: message(193, { nonce: int, rssBytes: int, externalBytes: int }),
  /** What an `interrupt` found: see `host/pool.ts`. */
  interrupted: message(194, { request: int, found: oneOf("alive", "behind", "terminating", "gone"), entered: int }),
  fenced: message(195, { request: int, begun: int }),
  syncCall: message(196, {
    worker: int,
    callId: int,
    session: str,
    evalId: str,
    /** "cancel": the caller of the write with this call id was told that it failed, so it must not be applied. */
    op: oneOf(
      "atPut",
      "removeKey",
      "clear",
      "cancel",
      "find",
      "info",
      "sessions",
      "keys",
      "includes",
      "read",
      "global",
      "globals",
      "bind",
      "unbind",
      "show",
    ),
    key: str,
    what: str,
    bytes,
    target: optional(str),
    version: optional(int),
  }),
  /** `entered`: the eval the thread was in, `begun`: the last one that had begun; 0 if none. */
  workerGone: message(197, { worker: int, entered: int, begun: int, because: str }),
  /** Whole frames that the worker could not send itself: it computes, or has ended. */
  relayed: message(199, { worker: int, frames: bytes }),
  /** The host is about to kill itself. */
  dying: message(198, { because: str, worker: int, entered: int }),
  /** Every thread has seen the generation. */
  generationSeen: message(200, { request: int }),
} as const

type Shape = Record<string, Check<unknown>>
export interface MessageType<S extends Shape = Shape> extends FieldTable {
  readonly code: number
  readonly fields?: Fields<S>
}
export type Vocabulary = Record<string, MessageType>
export type FieldsOf<M> = M extends MessageType<infer S> ? Fields<S> : never
/** A union of `{ type, …fields }` for every message of a direction. */
export type MessageOf<V extends Vocabulary> = { [K in keyof V]: { type: K } & FieldsOf<V[K]> }[keyof V]

export type Checkpoint = Checked<typeof checkpoint>
export type Prelude = Checked<typeof prelude>
export type Preludes = Checked<typeof preludes>
export type SourceOfFunctions = Checked<typeof source>
export type WrapperRecord = Checked<typeof wrapper>
export type DefinitionRecord = Checked<typeof definition>
export type Delta = Checked<typeof delta>
export type ChangeRequest = Checked<typeof change>
export type ChangeAnswer = Checked<typeof changed>
export type RealmUpdate = Checked<typeof update>
export type PinnedRevision = Checked<typeof pinned>
export type ModuleDeclaration = Checked<typeof declaration>
export type Rejection = Checked<typeof rejected>
export type Frame = Checked<typeof frame>
export type Span = Checked<typeof span>
export type NestedEnded = FieldsOf<typeof fromWorker.nestedEnded>
export type WorkerOutcome = FieldsOf<typeof fromWorker.outcome>

export function message<S extends Shape>(code: number, shape: S): MessageType<S> {
  return { code, ...fieldsOf(shape) }
}

export class SchemaError extends Error {
  override readonly name = "SchemaError"
}

/** Makes the decoder of one direction: an unpacked array becomes a checked message, or a SchemaError says what is wrong with it. */
export function decoder<V extends Vocabulary>(vocabulary: V): (packed: unknown) => MessageOf<V> {
  const byCode = new Map(Object.entries(vocabulary).map(([type, row]) => [row.code, { type, row }]))
  return (packed) => {
    if (!Array.isArray(packed)) throw new SchemaError("A message must be an array.")
    const known = byCode.get(packed[0] as number)
    if (known === undefined) throw new SchemaError(`No message has the code ${String(packed[0])}.`)
    const { type, row } = known
    const { names, checks, requiredCount } = row
    const decoded: Record<string, unknown> = { type }
    const count = Math.max(requiredCount, Math.min(names.length, packed.length - 1))
    let index = 0
    try {
      for (; index < count; index++) decoded[names[index]!] = unpackField(checks[index]!, packed[index + 1])
    } catch (thrown) {
      throw inField(thrown, type, names[index]!)
    }
    return decoded as MessageOf<V>
  }
}

/** The packed form of a message, checked too: what we send is held to the same table. */
export function encodeMessage<S extends Shape>({ code, names, checks }: MessageType<S>, fields: Fields<S>): unknown[] {
  const packed: unknown[] = [code]
  let index = 0
  try {
    for (; index < names.length; index++) {
      packed.push(packField(checks[index]!, (fields as Record<string, unknown>)[names[index]!]))
    }
  } catch (thrown) {
    throw inField(thrown, String(code), names[index]!)
  }
  return withoutAbsent(packed)
}

function inField(thrown: unknown, type: string, field: string): unknown {
  return thrown instanceof Misfit ? new SchemaError(`Message ${type}: field ${field} is not valid.`) : thrown
}
