// The shapes that several methods share: an outcome, a session, a binding, a place in a source.
import type { RejectionKind } from "../module/candidate.ts"
import { sessionKinds } from "../session/session.ts"
import type { Field, Fields } from "./schema.ts"

export const profiles = ["minimal", "standard", "full"] as const
export type BuiltInProfile = (typeof profiles)[number]

const strings = { list: { type: "string" } } as const

const span = {
  start: { type: "integer", doc: "Offset of its first UTF-16 unit in the source." },
  end: { type: "integer", doc: "Offset after its last." },
  line: { type: "integer", doc: "1-based line of its start." },
  column: { type: "integer", doc: "1-based column of its start, in UTF-16 units." },
} as const satisfies Fields

const frame = {
  name: { type: "string", optional: true, doc: "The function; absent for the statements of an eval." },
  file: { type: "string", doc: "The eval's `file`, or its id." },
  line: { type: "integer", doc: "1-based." },
  column: { type: "integer", doc: "1-based, in UTF-16 units." },
} as const satisfies Fields

const error = {
  name: { type: "string", doc: "As `SyntaxError`." },
  message: { type: "string", doc: "Without the name." },
  kind: { type: "string", optional: true, doc: "One of docs/ERRORS.md, when Nacre threw it into the code." },
  stack: { list: { fields: frame }, doc: "User code only, innermost first." },
  spans: { list: { fields: span }, doc: "Places in the eval's own source." },
  rendered: { type: "string", doc: "For people: with its stack, the source line it points into, and its causes." },
  cause: { type: "json", optional: true, doc: "An error of this shape." },
  errors: { type: "json", optional: true, doc: "Those of an AggregateError, each of this shape." },
  properties: {
    list: {
      fields: { key: { type: "string", doc: "Its name." }, text: { type: "string", doc: "Its value as text." } },
    },
    optional: true,
    doc: "Own properties of the thrown object.",
  },
} as const satisfies Fields

const value = {
  text: { type: "string", doc: "As a person would like to see it; bounded." },
  inert: { type: "boolean", doc: "Nothing worth showing, as `undefined` after a declaration." },
  type: { type: "string", doc: "`number`, `Array`, the name of a class, …" },
  data: { type: "json", optional: true, doc: "The value itself; present only when JSON holds exactly it." },
  mime: { type: "json", optional: true, doc: "Other forms by media type." },
  handle: {
    type: "string",
    optional: true,
    doc: "With `retainValues`: what `callValue` and `releaseValue` know it by.",
  },
} as const satisfies Fields

export const outputChunk = {
  stream: { oneOf: ["stdout", "stderr"], doc: "Where the code wrote it." },
  text: { type: "string", doc: "What it wrote." },
  seq: { type: "integer", doc: "Counts the chunks of one eval from 0." },
} as const satisfies Fields

export const outcome = {
  evalId: { type: "string", doc: "The eval's id." },
  status: {
    oneOf: ["ok", "threw", "invalid", "interrupted", "timeout", "exited", "crashed"],
    doc: "`invalid`: it does not parse, nothing ran. `crashed`: its process died; what was committed before is kept.",
  },
  because: {
    type: "string",
    optional: true,
    doc: "Why it was stopped or crashed: `aborted`, `neighbour`, `out-of-memory`, …",
  },
  value: { fields: value, optional: true, doc: "The completion value." },
  error: { fields: error, optional: true, doc: "What was thrown, or why it is invalid." },
  output: { list: { fields: outputChunk }, doc: "Everything it wrote, up to the limit." },
  omittedBytes: { type: "integer", doc: "Bytes of output above the limit." },
  committed: {
    fields: {
      set: { ...strings, doc: "Locals bound or assigned." },
      removed: { ...strings, doc: "Names removed." },
      cleared: { type: "boolean", doc: "The session was cleared." },
      definitions: { ...strings, doc: "Definitions published." },
      globals: { ...strings, doc: "Workspace globals written." },
      pending: { type: "boolean", doc: "Of a nested eval: what stands here is committed with the eval around it." },
    },
    doc: "What changed in the session.",
  },
  revisionUsed: { type: "integer", doc: "The revision it ran on." },
  revision: { type: "integer", doc: "The session's after it." },
  rejected: {
    list: {
      fields: {
        op: { type: "string", doc: "The write." },
        key: { type: "string", doc: "The name." },
        kind: { type: "string", doc: "The error kind." },
      },
    },
    doc: "Queued writes that could not be applied.",
  },
  stale: {
    ...strings,
    doc: "Bindings that hold a copy of a definition which has changed, or instances of a class that was declared again and that could not move to it, with the reason.",
  },
  reloaded: { ...strings, doc: "Imported names whose files had changed when a new realm imported them again." },
  lost: { ...strings, doc: "Bindings whose values went with a process." },
  pending: {
    ...strings,
    doc: 'With `commit: "idle"`: bindings whose values are yet to be written; an event `bindings.changed` says when.',
  },
  ephemeral: { ...strings, doc: "Bindings that only a process holds; they are lost when it ends." },
  abandoned: {
    list: {
      fields: { kind: { type: "string", doc: "As `timer`." }, span: { fields: span, optional: true, doc: "Where." } },
    },
    doc: "What was cancelled because the eval ended.",
  },
  late: { ...strings, doc: "Bindings changed by code of an eval that had ended." },
  exitCode: { type: "integer", optional: true, doc: "With `exited`: what `process.exit` was given." },
  durationMs: { type: "number", doc: "Milliseconds from when the code began." },
} as const satisfies Fields

export const sessionInfo = {
  session: { type: "string", doc: "Its id." },
  kind: { oneOf: sessionKinds, doc: "What it was opened for." },
  profile: { type: "string", doc: "What its code may call; fixed when it was opened." },
  workspace: { type: "string", doc: "What it shares globals with." },
  state: { type: "string", doc: "Its shell's: `dormant`, `idle`, `evaluating`, …" },
  resident: { type: "boolean", doc: "A living realm holds its values." },
} as const satisfies Fields

export const binding = {
  name: { type: "string", doc: "Its name." },
  kind: { oneOf: ["local", "readonly", "definition"], doc: "`readonly`: a local from `const`." },
  held: {
    oneOf: ["bytes", "ephemeral", "lost", "source"],
    doc: "`bytes`: committed. `ephemeral`: only a process holds it. `lost`: its process ended. `source`: a definition.",
  },
  source: { type: "string", optional: true, doc: "Of a definition, when asked for." },
} as const satisfies Fields

/** Milliseconds, or null for no limit. */
export const milliseconds = { either: [{ type: "integer", min: 1, max: 2 ** 31 - 1 }, { type: "null" }] } as const

export const spanField = { fields: span, optional: true, doc: "With `invalid`: where." } as const satisfies Field

const diagnostic = {
  key: { type: "string", optional: true, doc: "The definition that it lies in." },
  message: { type: "string", doc: "What is wrong." },
  code: { type: "integer", optional: true, doc: "The type checker's number for it." },
  file: { type: "string", doc: "The source's name, or the change's." },
  line: { type: "integer", doc: "1-based." },
  column: { type: "integer", doc: "1-based, in UTF-16 units." },
  rendered: { type: "string", optional: true, doc: "For people: with its line and a caret." },
} as const satisfies Fields

const fileDigest = {
  name: { type: "string", doc: "The specifier that leads to it; of a package its name." },
  digest: { type: "string", doc: "Of its contents." },
} as const satisfies Fields

const revisionChange = {
  op: { oneOf: ["set", "remove", "wrap", "unwrap"], doc: "What was done." },
  key: { type: "string", doc: "The definition." },
  wrapper: { type: "string", optional: true, doc: "Of a wrapper: its key." },
  kind: { type: "string", doc: "`function`, `class`, `const`, …; of a removed one, what it was." },
  source: { type: "string", optional: true, doc: "As it is now." },
  previousSource: { type: "string", optional: true, doc: "As it was." },
  files: { list: { fields: fileDigest }, optional: true, doc: "Of an import: the files that it leads to." },
  span: { fields: span, optional: true, doc: "Where it stands in the submission." },
  scheme: { type: "string", optional: true, doc: "Its type, where a checker has told it." },
  previousScheme: { type: "string", optional: true, doc: "The type it had." },
} as const satisfies Fields

/** What led to a revision. */
export const revisionRecord = {
  session: { type: "string", doc: "Whose." },
  revision: { type: "integer", doc: "Its number." },
  parent: { type: "integer", doc: "The one it was made from." },
  cause: {
    oneOf: ["eval", "submit", "restore", "import", "reset", "rollback", "wrap"],
    doc: "What made it.",
  },
  restored: { type: "integer", optional: true, doc: "Of `restore`: the revision that it equals." },
  evalId: { type: "string", optional: true, doc: "Of `eval`, and of what session code proposed." },
  principal: { type: "string", optional: true, doc: "Who made it; `session:` and its id is the session's own code." },
  onBehalfOf: { type: "string", optional: true, doc: "Of a change that session code made: its eval's principal." },
  reason: { type: "string", optional: true, doc: "Why, as the change said." },
  changes: { list: { fields: revisionChange }, doc: "What differs from its parent." },
  reinstantiated: { ...strings, doc: "Definitions that were made again since they depend on a change." },
  lostData: { ...strings, doc: "Definitions that lost data which their declaration does not make." },
  stale: { ...strings, doc: "Locals that hold what is no longer in force." },
  digest: { type: "string", doc: "Of the whole set of definitions." },
  at: { type: "number", doc: "Milliseconds since the epoch." },
} as const satisfies Fields

const rejection = {
  kind: {
    oneOf: [
      "invalid",
      "check_failed",
      "definition_not_found",
      "definition_has_dependents",
      "stale_parent",
      "data_loss",
      "outside_call",
      "local_read",
      "threw",
      "stopped",
      "vetoed",
    ] satisfies RejectionKind[],
    doc: "Why.",
  },
  message: { type: "string", doc: "In words." },
  diagnostics: { list: { fields: diagnostic }, doc: "Places in the submission, or in what depends on it." },
  keys: { ...strings, optional: true, doc: "The definitions that it is about." },
} as const satisfies Fields

const rejectionField = {
  fields: rejection,
  optional: true,
  doc: "With `rejected`: why. The session stands as it did.",
} as const satisfies Field

/** How a change ended. */
export const committedOrRejected = {
  status: { oneOf: ["committed", "rejected"], doc: "Whether it is in force." },
  revision: { type: "integer", doc: "The one that stands now." },
  record: {
    fields: revisionRecord,
    optional: true,
    doc: "With `committed`: what it changed. Missing when it says what was there already.",
  },
  differs: {
    ...strings,
    optional: true,
    doc: "Of `restoreRevision` and `importRevision`: files and preludes that are not those of that revision. The digests differ then.",
  },
  diagnostics: {
    list: { fields: diagnostic },
    optional: true,
    doc: "Of `restoreRevision` and `importRevision`: new mistakes in the types of what is in force now, which do not reject it.",
  },
  rejection: rejectionField,
} as const satisfies Fields

export const proposedOrRejected = {
  status: { oneOf: ["proposed", "rejected"], doc: "Whether it could be made." },
  candidate: { type: "string", optional: true, doc: "Its id." },
  parent: { type: "integer", optional: true, doc: "The revision that it is meant for." },
  changed: { ...strings, optional: true, doc: "Keys that it declares anew." },
  removed: { ...strings, optional: true, doc: "Keys that it takes away." },
  reinstantiated: { ...strings, optional: true, doc: "Definitions that are made again because they depend on it." },
  statements: { type: "string", optional: true, doc: "What of the source would be left to run; `submit` does so." },
  revision: { type: "integer", optional: true, doc: "With `rejected`: the one that stands." },
  rejection: rejectionField,
} as const satisfies Fields

/** A revision that is held for calls. */
export const pinInfo = {
  pin: { type: "string", doc: "Its id." },
  revision: { type: "integer", doc: "The one it holds." },
} as const satisfies Fields

/** A value that is held by a handle. */
export const retainedValue = {
  value: { type: "string", doc: "Its handle." },
  isFunction: { type: "boolean", doc: "Whether `callValue` can call it." },
  type: { type: "string", doc: "As its outcome said." },
  text: { type: "string", doc: "The same, shortened." },
  revision: { type: "integer", doc: "The revision that it was retained from, in which it is called." },
  held: { oneOf: ["bytes", "ephemeral", "lost"], doc: "As of a binding." },
} as const satisfies Fields

/** The definitions of a revision as data. */
export const exportedRevision = {
  format: { type: "string", doc: "`nacre-revision/1`." },
  digest: { type: "string", doc: "Of the whole set, with the preludes that it stands on." },
  preludes: {
    list: {
      fields: {
        name: { type: "string", doc: "Its name." },
        digest: { type: "string", doc: "Of its text." },
      },
    },
    optional: true,
    doc: "Missing where there are none.",
  },
  declarations: {
    list: {
      fields: {
        key: { type: "string", doc: "Its name." },
        kind: { type: "string", doc: "`function`, `class`, …" },
        source: { type: "string", doc: "Its text." },
        file: { type: "string", doc: "Where it was declared." },
        line: { type: "integer", doc: "1-based." },
        column: { type: "integer", doc: "1-based, in UTF-16 units." },
        wrappers: {
          list: {
            fields: {
              key: { type: "string", doc: "What it is called." },
              source: { type: "string", doc: "Its expression." },
            },
          },
          doc: "The innermost one first.",
        },
        files: { list: { fields: fileDigest }, optional: true, doc: "Of an import: the files that it leads to." },
      },
    },
    doc: "Each definition with its wrappers.",
  },
} as const satisfies Fields
