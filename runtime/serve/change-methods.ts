// The methods that change a session's definitions, and that tell how they changed.
//
// A change that is not made is a result like one that is: `status` says which, and the session stands as it did. An error answer means that
// Nacre could not even try. What is pipelined works: a request that runs code begins when the changes asked for before it have ended.
import { defaultLimits } from "../options.ts"
import type { Change } from "../session/changes.ts"
import type { SubmittedChange } from "../session/session.ts"
import { outcomeJson } from "./json.ts"
import { method, page, pageMax } from "./method.ts"
import { running, runningOptions } from "./running.ts"
import type { Fields } from "./schema.ts"
import { committedOrRejected, exportedRevision, outcome, proposedOrRejected, revisionRecord } from "./shapes.ts"

const name = { type: "string", min: 1, max: 1024 } as const
const source = { type: "string", max: defaultLimits.sourceMax } as const

/** For the record, and what to do about data. */
const reasons = {
  principal: { type: "string", max: 256, optional: true, doc: "On whose behalf; default the session's principal." },
  reason: { type: "string", max: 4096, optional: true, doc: "Why; for the record." },
} as const satisfies Fields

const onDataLoss = {
  oneOf: ["reject", "rebuild"],
  optional: true,
  doc: "What to do when a definition that must be made again holds other data than its declaration makes; default `reject`.",
} as const

const parent = {
  type: "integer",
  min: 0,
  optional: true,
  doc: "The revision that it is meant for; default the one at the time of the call.",
} as const

const change = {
  source: { ...source, optional: true, doc: "Declarations, which become definitions, and other statements." },
  remove: { list: { type: "string" }, optional: true, doc: "Names of definitions to take away." },
  parent,
  ...reasons,
  onDataLoss,
  file: { type: "string", max: 4096, optional: true, doc: "The source's name in positions." },
  line: { type: "integer", min: 1, optional: true, doc: "The number of its first line; default 1." },
} as const satisfies Fields

const changeKinds = ["capability_denied", "queue_full", "session_busy", "overloaded"] as const

export const changeMethods = {
  submit: method({
    doc: "Declares, replaces and removes definitions as one change, then runs what else the source says. The declarations stay, however the statements end.",
    params: { ...change, ...running },
    result: {
      fields: {
        ...committedOrRejected,
        outcome: { fields: outcome, optional: true, doc: "Of the statements, when there are some." },
      },
    },
    fails: changeKinds,
    needs: "opens",
    isBehindChanges: true,
    isChange: true,
    handle: async (params, call) => {
      const { timeoutMs: _timeoutMs, stream: _stream, progressToken: _token, data = true, ...rest } = params
      const submitted: SubmittedChange = { ...given<Change>(rest), ...runningOptions(params, call) }
      const result = await call.session.submit(submitted)
      if (result.status === "rejected" || result.outcome === undefined) return result
      return { ...result, outcome: outcomeJson(result.outcome, { data }) }
    },
  }),

  proposeChange: method({
    doc: "Reads, builds, checks and makes a change without putting it in force: `commitChange` does, `abandonChange` forgets it.",
    params: change,
    result: { fields: proposedOrRejected },
    fails: changeKinds,
    needs: "opens",
    isBehindChanges: true,
    handle: (params, { session }) => session.proposeChange(given<Change>(params)),
  }),

  commitChange: method({
    doc: "Puts a candidate in force.",
    params: {
      candidate: { ...name, doc: "As `proposeChange` named it." },
      rebase: {
        type: "boolean",
        optional: true,
        doc: "Build it again on the present revision when that has not touched what it rests on; default false: rejected as `stale_parent`.",
      },
    },
    result: { fields: committedOrRejected },
    fails: ["capability_denied", "candidate_not_found", "session_busy", "overloaded"],
    needs: "opens",
    isBehindChanges: true,
    isChange: true,
    handle: ({ candidate, rebase = false }, { session }) => session.commitChange(candidate, { rebase }),
  }),

  abandonChange: method({
    doc: "Forgets a candidate.",
    params: { candidate: { ...name, doc: "As `proposeChange` named it." } },
    result: { fields: { abandoned: { type: "boolean", doc: "False when there was none." } } },
    fails: ["capability_denied"],
    needs: "opens",
    isBehindChanges: true,
    handle: async ({ candidate }, { session }) => ({ abandoned: await session.abandonChange(candidate) }),
  }),

  restoreRevision: method({
    doc: "Publishes a new revision with the definitions of an earlier one; the session's locals stay.",
    params: { revision: { type: "integer", min: 0, doc: "The earlier one." }, ...reasons, onDataLoss },
    result: { fields: committedOrRejected },
    fails: ["capability_denied", "revision_not_found", "session_busy", "overloaded"],
    needs: "opens",
    isBehindChanges: true,
    isChange: true,
    handle: ({ revision, ...rest }, { session }) => session.restoreRevision(revision, given<ChangeFacts>(rest)),
  }),

  exportRevision: method({
    doc: "The definitions of a revision as data, for `importRevision`.",
    params: { revision: { type: "integer", min: 0, optional: true, doc: "Which; default the present one." } },
    result: { fields: exportedRevision },
    fails: ["revision_not_found"],
    needs: "opens",
    isBehindChanges: true,
    handle: ({ revision }, { session }) => session.exportRevision(revision),
  }),

  importRevision: method({
    doc: "Declares what was exported. A session that had no definitions then has the digest of the export.",
    params: { exported: { fields: exportedRevision, doc: "What `exportRevision` answered." }, ...reasons },
    result: { fields: committedOrRejected },
    fails: ["capability_denied", "session_busy", "overloaded"],
    needs: "opens",
    isBehindChanges: true,
    isChange: true,
    handle: ({ exported, ...rest }, { session }) =>
      // The format is looked at where it is read.
      session.importRevision(exported as Parameters<typeof session.importRevision>[0], given<ChangeFacts>(rest)),
  }),

  history: method({
    doc: "What led to each revision of a session's definitions, the oldest first.",
    params: {
      since: { type: "integer", min: 0, optional: true, doc: "Only revisions after this one; default 0." },
      ...page,
    },
    result: {
      fields: {
        records: { list: { fields: revisionRecord }, doc: "One for each revision." },
        total: { type: "integer", doc: "How many there are after `since`." },
        revision: { type: "integer", doc: "The present one." },
        digest: { type: "string", doc: "Of its definitions: the same wherever the same ones are." },
      },
    },
    fails: [],
    needs: "opens",
    isBehindChanges: true,
    handle: ({ since = 0, from = 0, count = pageMax }, { session }) => {
      const records = session.history(since)
      const { number: revision, digest } = session.revision
      return { records: records.slice(from, from + count), total: records.length, revision, digest }
    },
  }),

  wrapBinding: method({
    doc: "Puts a function around a definition. The same key replaces it where it is, a new one is outermost; it stays when the definition is submitted anew.",
    params: {
      name: { ...name, doc: "The definition." },
      key: { ...name, doc: "What the wrapper is called among those of the definition." },
      source: { ...source, doc: "An expression for a function from the inner function to the wrapped one." },
      parent,
      ...reasons,
      onDataLoss,
    },
    result: { fields: committedOrRejected },
    fails: ["capability_denied", "session_busy", "overloaded"],
    needs: "opens",
    isBehindChanges: true,
    isChange: true,
    handle: (params, { session }) => session.wrapBinding(given<Parameters<typeof session.wrapBinding>[0]>(params)),
  }),

  unwrapBinding: method({
    doc: "Takes one wrapper of a definition away, or all.",
    params: {
      name: { ...name, doc: "The definition." },
      key: { ...name, optional: true, doc: "Which; default all." },
      parent,
      ...reasons,
      onDataLoss,
    },
    result: { fields: committedOrRejected },
    fails: ["capability_denied", "session_busy", "overloaded"],
    needs: "opens",
    isBehindChanges: true,
    isChange: true,
    handle: (params, { session }) => session.unwrapBinding(given<Parameters<typeof session.unwrapBinding>[0]>(params)),
  }),

  wrappers: method({
    doc: "The wrappers of a definition.",
    params: { name: { ...name, doc: "The definition." } },
    result: {
      fields: {
        wrappers: {
          list: {
            fields: {
              key: { type: "string", doc: "What it is called." },
              source: { type: "string", doc: "The expression." },
            },
          },
          doc: "The innermost one first.",
        },
      },
    },
    fails: [],
    needs: "opens",
    isBehindChanges: true,
    handle: (params, { session }) => ({ wrappers: session.wrappers(params.name) }),
  }),
}

type ChangeFacts = Pick<Change, "principal" | "reason" | "onDataLoss">

/** The parameters that were given, under the embedding API's names for them. */
function given<T>(params: { [K in keyof T]?: T[K] | undefined }): T {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- they have been checked against the row's parameters
  return Object.fromEntries(Object.entries(params).filter(([key, it]) => it !== undefined && key !== "session")) as T
}
