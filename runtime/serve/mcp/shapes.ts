// What the tools answer with: an outcome, a change and a session, as a model reads them.
//
// They are the shapes of the protocol without what says nothing: an empty list is left out, since every word of an answer is paid for.
// The text of an answer says the same for people and for models that are shown only text.
import { cutText } from "../report.ts"
import { outcomeJson } from "../json.ts"
import type { Fields, FieldsOf } from "../schema.ts"
import { outcome as wholeOutcome } from "../shapes.ts"
import { sessionInfo as protocolInfo } from "../shapes.ts"
import type { Committed, Rejected } from "../../session/changes.ts"
import type { RevisionRecord } from "../../module/revision.ts"
import type { Outcome } from "../../session/outcome.ts"
import type { Session } from "../../session/session.ts"

const strings = { list: { type: "string" } } as const

const optional = <const F extends object>(field: F): F & { readonly optional: true } => ({ ...field, optional: true })

export const outcome = {
  evalId: wholeOutcome.evalId,
  status: wholeOutcome.status,
  because: wholeOutcome.because,
  value: wholeOutcome.value,
  error: {
    fields: {
      name: { type: "string", doc: "As `SyntaxError`." },
      message: { type: "string", doc: "Without the name." },
      kind: { type: "string", optional: true, doc: "When the runtime threw it into the code." },
      rendered: { type: "string", doc: "With its stack and the source line it points into." },
      spans: optional(wholeOutcome.error.fields.spans),
    },
    optional: true,
    doc: "What was thrown, or why it is invalid.",
  },
  output: {
    list: {
      fields: {
        stream: { oneOf: ["stdout", "stderr"], doc: "Where the code wrote it." },
        text: { type: "string", doc: "What it wrote." },
      },
    },
    optional: true,
    doc: "What it wrote, up to the limit.",
  },
  omittedBytes: { type: "integer", optional: true, doc: "Bytes of output above the limit." },
  committed: {
    fields: {
      set: optional(wholeOutcome.committed.fields.set),
      removed: optional(wholeOutcome.committed.fields.removed),
      cleared: optional(wholeOutcome.committed.fields.cleared),
      definitions: optional(wholeOutcome.committed.fields.definitions),
      globals: optional(wholeOutcome.committed.fields.globals),
    },
    optional: true,
    doc: "What changed in the session.",
  },
  revision: wholeOutcome.revision,
  rejected: optional(wholeOutcome.rejected),
  stale: optional(wholeOutcome.stale),
  lost: optional(wholeOutcome.lost),
  pending: optional(wholeOutcome.pending),
  ephemeral: optional(wholeOutcome.ephemeral),
  abandoned: optional(wholeOutcome.abandoned),
  late: optional(wholeOutcome.late),
  exitCode: wholeOutcome.exitCode,
  durationMs: wholeOutcome.durationMs,
} as const satisfies Fields

export const sessionInfo = {
  ...protocolInfo,
  revision: { type: "integer", doc: "The number of its definitions' revision." },
  bindings: { type: "integer", doc: "How many names it binds." },
} as const satisfies Fields

export const record = {
  revision: { type: "integer", doc: "Its number." },
  parent: { type: "integer", doc: "The revision that it was made from." },
  cause: {
    oneOf: ["eval", "submit", "restore", "import", "reset", "rollback", "wrap"],
    doc: "What made it.",
  },
  restored: { type: "integer", optional: true, doc: "With `restore`: the revision that it equals." },
  principal: { type: "string", optional: true, doc: "On whose behalf." },
  reason: { type: "string", optional: true, doc: "As it was given." },
  changes: {
    list: {
      fields: {
        op: { oneOf: ["set", "remove", "wrap", "unwrap"], doc: "What was done." },
        key: { type: "string", doc: "The definition." },
        wrapper: { type: "string", optional: true, doc: "The wrapper's key." },
        kind: { type: "string", doc: "`function`, `class`, `const`, …" },
        source: { type: "string", optional: true, doc: "When asked for." },
        previousSource: { type: "string", optional: true, doc: "When asked for." },
      },
    },
    doc: "What it changed.",
  },
  reinstantiated: { ...strings, optional: true, doc: "Definitions made again since they depend on a change." },
  lostData: { ...strings, optional: true, doc: "Definitions that lost data which their declaration does not make." },
  stale: { ...strings, optional: true, doc: "Locals that hold what is no longer in force." },
  digest: { type: "string", doc: "Of all definitions after it; equal for equal ones." },
  at: { type: "integer", doc: "Milliseconds since the epoch." },
} as const satisfies Fields

export const change = {
  status: { oneOf: ["committed", "rejected"], doc: "`rejected`: the session stands as it did." },
  revision: { type: "integer", doc: "The session's after it." },
  record: { fields: record, optional: true, doc: "What it changed; missing when nothing." },
  rejection: {
    fields: {
      kind: { type: "string", doc: "Why: `invalid`, `definition_has_dependents`, `stale_parent`, …" },
      message: { type: "string", doc: "In words." },
      keys: { ...strings, optional: true, doc: "The definitions that it is about." },
      diagnostics: {
        list: {
          fields: {
            key: { type: "string", optional: true, doc: "The definition that it lies in." },
            message: { type: "string", doc: "What is wrong." },
            file: { type: "string", doc: "The source's name." },
            line: { type: "integer", doc: "1-based." },
            column: { type: "integer", doc: "1-based, in UTF-16 units." },
            rendered: { type: "string", optional: true, doc: "With the source line." },
          },
        },
        optional: true,
        doc: "Where.",
      },
    },
    optional: true,
    doc: "Why it was not made.",
  },
  outcome: { fields: outcome, optional: true, doc: "Of the statements of a submission." },
} as const satisfies Fields

/** Characters of one source or one rendering in an answer. */
const partMax = 16 * 1024
/** Diagnostics of one rejection that are told. */
const diagnosticsMax = 20

/** An outcome as a tool answers with it. */
export function outcomeOf(ended: Outcome): FieldsOf<typeof outcome> {
  const { evalId, status, because, value, revision, exitCode, durationMs } = outcomeJson(ended, { data: true })
  const { error, omittedBytes, committed, rejected, stale, lost, pending, ephemeral, abandoned, late } = ended
  const { set, removed, definitions, globals } = committed
  const told: FieldsOf<typeof outcome> = {
    evalId,
    status,
    revision,
    durationMs: Math.round(durationMs * 1_000) / 1_000,
  }
  if (because !== undefined) told.because = because
  if (value !== undefined) told.value = value
  if (error !== undefined) {
    const { name, message, kind, rendered, spans } = error
    told.error = { name, message: cutText(message, partMax), rendered: cutText(rendered, partMax) }
    if (kind !== undefined) told.error.kind = kind
    if (spans.length > 0) told.error.spans = spans
  }
  const changes = withoutEmpty({ set, removed, definitions, globals, cleared: committed.cleared || undefined })
  if (Object.keys(changes).length > 0) told.committed = changes
  if (omittedBytes > 0) told.omittedBytes = omittedBytes
  if (exitCode !== undefined) told.exitCode = exitCode
  return {
    ...told,
    ...withoutEmpty({ output: joined(ended.output), rejected, stale, lost, pending, ephemeral, abandoned, late }),
  }
}

export function infoOf(session: Session): FieldsOf<typeof sessionInfo> {
  const { id, kind, profile, workspace, shellState: state, isResident: resident } = session
  const { number: revision } = session.revision
  return { session: id, kind, profile, workspace, state, resident, revision, bindings: session.bindings.size }
}

export function recordOf(whole: RevisionRecord, options: { sources: boolean }): FieldsOf<typeof record> {
  const { revision, parent, cause, restored, principal, reason, digest, at, reinstantiated, lostData, stale } = whole
  const changes = whole.changes.map(({ op, key, wrapper, kind, source, previousSource }) => {
    const told: FieldsOf<typeof record>["changes"][number] = { op, key, kind }
    if (wrapper !== undefined) told.wrapper = wrapper
    if (options.sources && source !== undefined) told.source = cutText(source, partMax)
    if (options.sources && previousSource !== undefined) told.previousSource = cutText(previousSource, partMax)
    return told
  })
  const told: FieldsOf<typeof record> = { revision, parent, cause, changes, digest, at }
  if (restored !== undefined) told.restored = restored
  if (principal !== undefined) told.principal = principal
  if (reason !== undefined) told.reason = reason
  return { ...told, ...withoutEmpty({ reinstantiated, lostData, stale }) }
}

export function changeOf(ended: (Committed & { outcome?: Outcome }) | Rejected): FieldsOf<typeof change> {
  const { status, revision } = ended
  if (ended.status === "rejected") {
    const { kind, message, keys = [], diagnostics } = ended.rejection
    const shown = diagnostics.slice(0, diagnosticsMax).map(({ key, message: what, file, line, column, rendered }) => ({
      ...(key !== undefined && { key }),
      message: what,
      file,
      line,
      column,
      ...(rendered !== undefined && { rendered: cutText(rendered, partMax) }),
    }))
    return { status, revision, rejection: { kind, message, ...withoutEmpty({ keys, diagnostics: shown }) } }
  }
  const told: FieldsOf<typeof change> = { status, revision }
  if (ended.record !== undefined) told.record = recordOf(ended.record, { sources: false })
  if (ended.outcome !== undefined) told.outcome = outcomeOf(ended.outcome)
  return told
}

/** Consecutive pieces of one stream are one. */
function joined(output: Outcome["output"]): { stream: "stdout" | "stderr"; text: string }[] {
  const told: { stream: "stdout" | "stderr"; text: string }[] = []
  for (const { stream, text } of output) {
    const last = told.at(-1)
    if (last?.stream === stream) last.text += text
    else told.push({ stream, text })
  }
  return told
}

/** Without lists that are empty and names that have no value. */
function withoutEmpty<T extends object>(parts: T): Partial<T> {
  const kept = Object.entries(parts).filter(
    ([, part]) => part !== undefined && !(Array.isArray(part) && part.length === 0),
  )
  return Object.fromEntries(kept) as Partial<T>
}
