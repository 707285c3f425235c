// The shapes that several methods share: an outcome, a session, a binding, a place in a source.
import { sessionKinds } from "../session/session.ts"
import type { Field, Fields } from "./schema.ts"

export const profiles = ["minimal", "standard", "full"] as const

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
  rendered: { type: "string", doc: "For people: with its stack and the source line it points into." },
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
      pending: { type: "boolean", doc: "A large part is committed later." },
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
