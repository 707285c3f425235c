// Every tool, in one table: what it is for, its parameters and result, and what it does, which is a few lines over the embedding API.
//
// A session is named by its id in every call and every answer. MCP's own connection means nothing to it: several agents may share one
// server, and newer revisions of MCP have no connection state at all. A call that names none means the session `default`, which its
// answer says.
import { NacreError } from "../../errors.ts"
import type { Nacre, OpenOptions } from "../../nacre.ts"
import type { Change } from "../../session/changes.ts"
import type { Outcome } from "../../session/outcome.ts"
import type { Session, SubmittedChange } from "../../session/session.ts"
import type { EvalOptions } from "../../shell/shell.ts"
import type { Fields, FieldsOf } from "../schema.ts"
import { milliseconds, profiles } from "../shapes.ts"
import type { BuiltInProfile } from "../shapes.ts"
import { change, changeOf, infoOf, outcome, outcomeOf, record, recordOf, sessionInfo } from "./shapes.ts"
import { recordText } from "../report.ts"
import { changeText, outcomeText } from "./text.ts"

export const defaultSession = "default"

/** One call of a tool. */
export interface ToolCall {
  readonly nacre: Nacre
  /** The most that a session's code may do. */
  readonly profile: BuiltInProfile
  /** Aborted when the client cancels the call, and when the connection ends. */
  readonly signal: AbortSignal
  /** Hears what an eval writes, as it comes. */
  readonly onOutput: ((text: string) => void) | undefined
}

export interface Answer {
  /** Fits the tool's `result`. */
  readonly data: Record<string, unknown>
  readonly text: string
  /** What was asked for did not come about: the code threw, the change was rejected. */
  readonly isError?: boolean
}

export interface McpTool {
  readonly title: string
  readonly doc: string
  readonly params: Fields
  readonly result: Fields
  /** It changes nothing. */
  readonly isReading?: true
  readonly handle: (params: Readonly<Record<string, unknown>>, call: ToolCall) => Promise<Answer>
}

type Row<P extends Fields> = Omit<McpTool, "params" | "handle"> & {
  readonly params: P
  readonly handle: (params: FieldsOf<P>, call: ToolCall) => Promise<Answer>
}

function tool<const P extends Fields>(row: Row<P>): McpTool {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- they have been checked against the row's parameters
  return { ...row, handle: (params, call) => row.handle(params as FieldsOf<P>, call) }
}

/** Sessions in one answer, and records. */
const pageMax = 100
const recordsDefault = 20

const sessionId = { type: "string", min: 1, max: 256 } as const
const where = { session: { ...sessionId, optional: true, doc: `Which session; default "${defaultSession}".` } } as const
const told = { session: { type: "string", doc: "Which session it was." } } as const
const reason = { type: "string", max: 4_096, optional: true, doc: "Why, for the record." } as const
const onDataLoss = {
  oneOf: ["reject", "rebuild"],
  optional: true,
  doc: "When a definition that must be made again holds other data than its declaration makes; default reject.",
} as const
const checking = {
  oneOf: ["types", "syntax"],
  optional: true,
  doc: "`types`: TypeScript checks it first, and with mistakes nothing of it runs.",
} as const
const timeoutMs = {
  ...milliseconds,
  optional: true,
  doc: "Milliseconds the code may take; null for no limit; default 30000.",
} as const

export const tools: Readonly<Record<string, McpTool>> = {
  evaluate: tool({
    title: "Evaluate TypeScript",
    doc: "Runs TypeScript in a persistent session and gives the value of its last expression, what it printed, or its error. Bindings, functions and classes stay for later calls; any name may be declared again. Top-level await works. Network, file system and import are there only in sessions of profile `full`. Evals of one session run one after the other.",
    params: {
      code: { type: "string", doc: "The source text." },
      ...where,
      timeoutMs,
      check: { ...checking, doc: `${checking.doc} Default the session's.` },
      atomic: { type: "boolean", optional: true, doc: "Unless it ends ok, leave the session as it was before." },
    },
    result: { ...told, ...outcome },
    handle: async ({ code, session: id, timeoutMs: limit, atomic, check: level }, call) => {
      const session = await sessionFor(call.nacre, id, true)
      const options = evalOptions(call, limit)
      if (atomic !== undefined) options.atomic = atomic
      if (level !== undefined) options.check = level
      const ended = await session.eval(code, options)
      const text = outcomeText(session.id, ended)
      return { data: { session: session.id, ...outcomeOf(ended) }, text, isError: hasFailed(ended) }
    },
  }),

  list_sessions: tool({
    title: "List sessions",
    doc: "The live sessions, in the order they were opened.",
    params: {
      from: { type: "integer", min: 0, optional: true, doc: "How many to skip; default 0." },
      count: {
        type: "integer",
        min: 1,
        max: pageMax,
        optional: true,
        doc: `At most so many; default and maximum ${pageMax}.`,
      },
    },
    result: {
      sessions: { list: { fields: sessionInfo }, doc: "In the order they were opened." },
      total: { type: "integer", doc: "How many there are." },
    },
    isReading: true,
    handle: async ({ from = 0, count = pageMax }, { nacre }) => {
      const all = nacre.sessions()
      const sessions = all.slice(from, from + count).map(infoOf)
      const lines = sessions.map(
        (it) => `${it.session}: ${it.state}, ${it.bindings} bindings, revision ${it.revision}, profile ${it.profile}`,
      )
      const rest = all.length - from - sessions.length
      if (rest > 0) lines.push(`and ${rest} more`)
      return { data: { sessions, total: all.length }, text: lines.join("\n") || "There are no sessions yet." }
    },
  }),

  open_session: tool({
    title: "Open a session",
    doc: "Opens a session, or gives the live one of that id. Sessions have their own bindings, and share only what is bound with Workspace.bind. It stays until it is closed or the server ends.",
    params: {
      session: { ...sessionId, optional: true, doc: "Its id; default a fresh unguessable one." },
      profile: {
        oneOf: profiles,
        optional: true,
        doc: "What its code may call; default what the server was started with. `minimal`: the language only. `standard`: also console, timers and the like. `full`: also Node, network and imports, where the server allows it.",
      },
      isolation: {
        oneOf: ["shared", "process"],
        optional: true,
        doc: "`process`: a process of its own, which no other session's code can take down.",
      },
      check: { ...checking, doc: `${checking.doc} Of its evals; default syntax.` },
      evalTimeoutMs: {
        ...milliseconds,
        optional: true,
        doc: "Milliseconds an eval may take unless it says otherwise; null for no limit.",
      },
    },
    result: sessionInfo,
    handle: async ({ session: id, profile, isolation, evalTimeoutMs, check }, { nacre, profile: most }) => {
      checkProfile(profile, most)
      const options: OpenOptions = { kind: "mcp" }
      if (id !== undefined) options.id = id
      if (profile !== undefined) options.profile = profile
      if (isolation !== undefined) options.isolation = isolation
      if (check !== undefined) options.check = check
      if (evalTimeoutMs !== undefined) options.evalTimeoutMs = evalTimeoutMs ?? Infinity
      const info = infoOf(await nacre.open(options))
      return {
        data: info,
        text: `session ${info.session}, profile ${info.profile}, ${info.bindings} bindings, revision ${info.revision}`,
      }
    },
  }),

  interrupt: tool({
    title: "Interrupt an eval",
    doc: "Stops the eval that runs in a session, or the one named. Its assignments are discarded, what was committed before is kept. No error when nothing runs.",
    params: {
      ...where,
      evalId: { type: "string", optional: true, doc: "The eval to stop, running or queued; default the running one." },
    },
    result: { ...told, interrupted: { type: "boolean", doc: "False when nothing ran." } },
    handle: async ({ session: id, evalId }, { nacre }) => {
      const session = await sessionFor(nacre, id, evalId === undefined)
      const interrupted = await session.interrupt(evalId)
      return {
        data: { session: session.id, interrupted },
        text: interrupted ? `Interrupted. [session ${session.id}]` : `Nothing ran. [session ${session.id}]`,
      }
    },
  }),

  submit_change: tool({
    title: "Change definitions",
    doc: "Declares, replaces and removes definitions (functions, classes, constants, types) of a session as one checked change: it is made whole, with everything that depends on it, and recorded as a revision, or rejected, and then the session stands as it did. Other statements in the source run afterwards.",
    params: {
      ...where,
      source: { type: "string", optional: true, doc: "The declarations, as a module." },
      remove: { list: { type: "string" }, optional: true, doc: "Definitions to take away." },
      parent: {
        type: "integer",
        min: 0,
        optional: true,
        doc: "The revision that it is meant for: rejected as stale_parent when the session has another one.",
      },
      check: { ...checking, doc: `${checking.doc} Default types.` },
      reason,
      onDataLoss,
      timeoutMs: { ...timeoutMs, doc: "Milliseconds the statements may take; null for no limit; default 30000." },
    },
    result: { ...told, ...change },
    handle: async ({ session: id, timeoutMs: limit, ...given }, call) => {
      const session = await sessionFor(call.nacre, id, true)
      const submitted: SubmittedChange = { ...evalOptions(call, limit), ...changeOptions(given) }
      const { source, remove, parent, check: level } = given
      if (source === undefined && remove === undefined) {
        throw new NacreError("invalid_options", "submit_change needs a source, or names to remove.")
      }
      if (source !== undefined) submitted.source = source
      if (remove !== undefined) submitted.remove = remove
      if (parent !== undefined) submitted.parent = parent
      if (level !== undefined) submitted.check = level
      const ended = await session.submit(submitted)
      const isError = ended.status === "rejected" || (ended.outcome !== undefined && hasFailed(ended.outcome))
      return { data: { session: session.id, ...changeOf(ended) }, text: changeText(session.id, ended), isError }
    },
  }),

  history: tool({
    title: "History of definitions",
    doc: "The records of what led to a session's revisions, oldest first: what changed, why, and what was made again with it.",
    params: {
      ...where,
      since: { type: "integer", min: 0, optional: true, doc: "Only revisions after this one; default 0." },
      count: {
        type: "integer",
        min: 1,
        max: pageMax,
        optional: true,
        doc: `At most so many, the newest; default ${recordsDefault}, maximum ${pageMax}.`,
      },
      sources: { type: "boolean", optional: true, doc: "With the sources before and after; default false." },
    },
    result: {
      ...told,
      revision: { type: "integer", doc: "The session's." },
      digest: { type: "string", doc: "Of its definitions; equal for equal ones." },
      records: { list: { fields: record }, doc: "Oldest first." },
      omitted: { type: "integer", doc: "Older records that were left out." },
    },
    isReading: true,
    handle: async ({ session: id, since = 0, count = recordsDefault, sources = false }, { nacre }) => {
      const session = await sessionFor(nacre, id, true)
      const all = session.history(since)
      const shown = all.slice(-count)
      const { number: revision, digest } = session.revision
      const omitted = all.length - shown.length
      const lines = shown.map((it) => [recordText(it), ...(sources ? sourcesText(it.changes) : [])].join("\n"))
      if (omitted > 0) lines.unshift(`${omitted} older ones left out`)
      lines.push(`[session ${session.id}; revision ${revision}]`)
      const records = shown.map((it) => recordOf(it, { sources }))
      return { data: { session: session.id, revision, digest, records, omitted }, text: lines.join("\n") }
    },
  }),

  restore: tool({
    title: "Restore a revision",
    doc: "Publishes a new revision with the definitions of an earlier one. Locals stay as they are, and so does history.",
    params: {
      ...where,
      revision: { type: "integer", min: 0, doc: "The revision whose definitions are wanted; see history." },
      reason,
      onDataLoss,
    },
    result: { ...told, ...change },
    handle: async ({ session: id, revision, ...given }, { nacre }) => {
      const session = await sessionFor(nacre, id, true)
      const ended = await session.restoreRevision(revision, changeOptions(given))
      const isError = ended.status === "rejected"
      return { data: { session: session.id, ...changeOf(ended) }, text: changeText(session.id, ended), isError }
    },
  }),

  close_session: tool({
    title: "Close a session",
    doc: "Ends a session: what runs or waits in it is interrupted, and its bindings are gone. No error when it is closed already.",
    params: { session: { ...sessionId, doc: "Which." } },
    result: { ...told, closed: { type: "boolean", doc: "False when it was not open." } },
    handle: async ({ session: id }, { nacre }) => {
      const session = nacre.session(id)
      await session?.close()
      const closed = session !== undefined
      return { data: { session: id, closed }, text: closed ? `Closed session ${id}.` : `There was no session ${id}.` }
    },
  }),
}

/** An agent must not give its own code more than whoever started the server has. */
function checkProfile(wanted: BuiltInProfile | undefined, most: BuiltInProfile): void {
  if (wanted === undefined || profiles.indexOf(wanted) <= profiles.indexOf(most)) return
  const message = `This server's sessions have profile '${most}' at most; ask who runs it to start it with nacre mcp --profile ${wanted}.`
  throw new NacreError("capability_denied", message)
}

/** The session of that id, or the default one, which the first call that needs it opens. */
async function sessionFor(nacre: Nacre, id: string | undefined, opensDefault: boolean): Promise<Session> {
  const found = nacre.session(id ?? defaultSession)
  if (found !== undefined) return found
  if ((id ?? defaultSession) === defaultSession && opensDefault) return nacre.open({ id: defaultSession, kind: "mcp" })
  const message = `There is no session '${id ?? defaultSession}'; open it with open_session, or see list_sessions.`
  throw new NacreError("session_not_found", message)
}

function evalOptions({ signal, onOutput }: ToolCall, limit: number | null | undefined): EvalOptions {
  const options: EvalOptions = { signal }
  if (limit !== undefined) options.timeoutMs = limit ?? Infinity
  if (onOutput !== undefined) options.onOutput = ({ text }) => onOutput(text)
  return options
}

function changeOptions(given: {
  reason?: string | undefined
  onDataLoss?: Change["onDataLoss"] | undefined
}): Pick<Change, "reason" | "onDataLoss"> {
  const options: Pick<Change, "reason" | "onDataLoss"> = {}
  if (given.reason !== undefined) options.reason = given.reason
  if (given.onDataLoss !== undefined) options.onDataLoss = given.onDataLoss
  return options
}

function sourcesText(changes: readonly { key: string; source?: string }[]): string[] {
  return changes.flatMap(({ source }) => (source === undefined ? [] : [source]))
}

function hasFailed({ status, exitCode = 0 }: Outcome): boolean {
  return status !== "ok" && !(status === "exited" && exitCode === 0)
}
