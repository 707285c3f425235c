// Every method of the protocol, in one table: what it is for, its parameters and result, how it can fail, and what it does.
//
// Dispatch, validation, what `initialize` tells and docs/PROTOCOL.md are made from it, so that they cannot part. A handler is a few
// lines over the embedding API; what a connection remembers is `connection.ts`. A method that works on a session says so with `session`
// and gets its parameter `session` from here.
import { NacreError } from "../errors.ts"
import type { ErrorKind } from "../errors.ts"
import type { OpenOptions } from "../nacre.ts"
import { sessionKinds } from "../session/session.ts"
import type { Session } from "../session/session.ts"
import type { EvalOptions } from "../shell/shell.ts"
import { callingSession, sessionKey } from "../shell/tool-calls.ts"
import { callMethods } from "./call-methods.ts"
import { changeMethods } from "./change-methods.ts"
import { outcomeJson, valueJson } from "./json.ts"
import { method, page, pageMax, sessionId } from "./method.ts"
import { preludeMethods } from "./prelude-methods.ts"
import type { Method } from "./method.ts"
import { atomic, retainOptions, retainValues, running, runningOptions } from "./running.ts"
import type { Fields, FieldsOf } from "./schema.ts"
import { eventLevel, foundValue, stateMethods } from "./state-methods.ts"
import { binding, milliseconds, outcome, outputChunk, sessionInfo, spanField } from "./shapes.ts"

/** Changes when a client of the one before could misunderstand an answer. New methods and fields do not change it. */
export const protocolVersion = 1

/** What any request can fail with. */
export const commonKinds = [
  "parse_failed",
  "invalid_request",
  "invalid_options",
  "method_not_found",
  "message_too_large",
  "too_many_requests",
  "request_cancelled",
  "internal",
] as const satisfies ErrorKind[]

/** What a method can fail with when it needs the running system, besides. */
export const nacreKinds = [
  "not_initialized",
  "nacre_stopped",
  "nacre_failed",
  "host_unavailable",
] as const satisfies ErrorKind[]
/** What a method can fail with when it works on a session, besides. */
export const sessionKindsOfFailure = [
  "session_not_found",
  "session_limit",
  "unsupported",
] as const satisfies ErrorKind[]

/** A text that is being written, and a place in it. */
const writing = {
  code: { type: "string", max: 1024 * 1024, doc: "The text, which need not be finished. Nothing of it runs." },
  offset: {
    type: "integer",
    min: 0,
    optional: true,
    doc: "The place, in UTF-16 units from its begin; default its end.",
  },
} as const satisfies Fields

const range = {
  start: { type: "integer", doc: "Offset in the text." },
  end: { type: "integer", doc: "Offset after it." },
} as const satisfies Fields

const check = {
  oneOf: ["types", "syntax"],
  optional: true,
  doc: "What is checked before code runs. With `types`, code with type mistakes ends as `invalid`.",
} as const

const commit = {
  oneOf: ["eval", "idle"],
  optional: true,
  doc: "When large values are committed: with each outcome, the default, or when none of the session's evals waits; outcomes name those as `pending`.",
} as const

const opening = {
  kind: {
    oneOf: sessionKinds,
    optional: true,
    doc: "What it is for. `repl` and `ide` sessions have no time limit for an eval.",
  },
  profile: {
    type: "string",
    min: 1,
    max: 64,
    optional: true,
    doc: 'What its code may do: "minimal", "standard", "full", or one that the server\'s embedder has defined; default "standard".',
  },
  directory: {
    type: "string",
    max: 4096,
    optional: true,
    doc: "Where what its code imports is looked for from; by default the server's working directory.",
  },
  graceMs: {
    ...milliseconds,
    optional: true,
    doc: "Milliseconds after its last connection has ended in which another may use it, before it is closed; by default a session with an id stays.",
  },
  jsx: {
    fields: {
      runtime: { oneOf: ["classic", "automatic"], optional: true, doc: "Default `classic`." },
      factory: {
        type: "string",
        max: 256,
        optional: true,
        doc: "Of `classic`: what makes an element; default `React.createElement`.",
      },
      fragment: {
        type: "string",
        max: 256,
        optional: true,
        doc: "Of `classic`: what a fragment is; default `React.Fragment`.",
      },
      importSource: {
        type: "string",
        min: 1,
        max: 256,
        optional: true,
        doc: "Of `automatic`: the package whose `jsx-runtime` makes elements; default `react`.",
      },
    },
    optional: true,
    doc: "Lets its code hold JSX, and says what that is turned into; without it JSX is refused.",
  },
  principal: { type: "string", max: 256, optional: true, doc: "On whose behalf it runs; given to tools." },
  evalTimeoutMs: {
    ...milliseconds,
    optional: true,
    doc: "Milliseconds an eval may take unless it says otherwise; null for none.",
  },
  check,
  commit,
} as const satisfies Fields

const table = {
  initialize: method({
    doc: "Begins a connection; the first request. Answers before any host process is up.",
    params: {
      client: {
        fields: {
          name: { type: "string", doc: "Its name." },
          version: { type: "string", optional: true, doc: "Its version." },
        },
        optional: true,
        doc: "Who is calling.",
      },
      session: {
        ...sessionId,
        optional: true,
        doc: "Id of the connection's own session. One with an id stays when the connection ends; by default it is fresh and goes with it.",
      },
      ...opening,
      workspace: {
        type: "string",
        min: 1,
        max: 64,
        optional: true,
        doc: 'What the sessions of this connection share globals with, and all that it sees; default "main".',
      },
      events: eventLevel,
    },
    result: {
      fields: {
        connection: {
          type: "string",
          optional: true,
          doc: "For `resume`, where the connection can outlive its socket.",
        },
        graceMs: {
          type: "number",
          optional: true,
          doc: "Beside `connection`: milliseconds after its socket broke in which it can be resumed.",
        },
        protocolVersion: {
          type: "integer",
          doc: "Changes when a client of the one before could misunderstand an answer.",
        },
        server: {
          fields: { name: { type: "string", doc: "nacre" }, version: { type: "string", doc: "The package's." } },
          doc: "Who answers.",
        },
        workspace: { type: "string", doc: "Of this connection." },
        profile: { type: "string", doc: "Of the connection's own session." },
        kind: { type: "string", doc: "Of the connection's own session." },
        positionEncoding: { oneOf: ["utf-16"], doc: "Lines and columns are 1-based, columns in UTF-16 units." },
        limits: { type: "json", doc: "Every limit by name; null for none." },
        methods: { type: "json", doc: "The methods by name: `doc`, `params`, `result`, `fails`." },
        notifications: { type: "json", doc: "What the server sends by itself: `doc`, `params`." },
      },
    },
    fails: [],
    needs: "nothing",
    isAlways: true,
    handle: (params, { connection }) => connection.initialize(params),
  }),

  resume: method({
    doc: "Goes on with a connection whose socket broke, instead of `initialize`: what it was sent and did not get follows the answer. Only on WebSocket, and within the server's grace.",
    params: {
      connection: { type: "string", min: 1, max: 256, doc: "As `initialize` named it." },
      received: {
        type: "integer",
        min: 0,
        doc: "How many messages the client has got on it, answers and notifications, but for answers to `resume`; more than were sent are refused.",
      },
    },
    result: {
      fields: {
        received: {
          type: "integer",
          doc: "How many messages the server has got on it, but for `resume`: the client sends those after it again.",
        },
        missed: { type: "integer", doc: "Messages that the client did not get and that are no longer kept." },
        inFlight: {
          list: { either: [{ type: "string" }, { type: "number" }] },
          doc: "Requests that are still to be answered.",
        },
      },
    },
    fails: ["connection_not_found", "unsupported"],
    needs: "nothing",
    isAlways: true,
    handle: (params, { connection }) => connection.resume(params),
  }),

  eval: method({
    doc: "Runs TypeScript in a session. Evals of one session run one after the other, in the order of the requests; whatever the code does, the answer is its outcome.",
    params: {
      code: { type: "string", doc: "The source text." },
      file: { type: "string", max: 4096, optional: true, doc: "Its name in error positions; default the eval's id." },
      line: { type: "integer", min: 1, optional: true, doc: "The number of its first line; default 1." },
      check,
      atomic,
      retainValues,
      nested: {
        type: "string",
        min: 1,
        max: 256,
        optional: true,
        doc: "The id of an eval of the session that waits for a tool call: run inside of it, where a queued eval would wait for it. Takes no `timeoutMs`, `atomic` and `retainValues`, since it shares that one's fate.",
      },
      ...running,
    },
    result: { fields: outcome },
    fails: ["queue_full", "source_too_large", "overloaded", "eval_not_found", "handle_limit"],
    needs: "opens",
    isBehindChanges: true,
    handle: async (params, call) => {
      const { session } = call
      const options: EvalOptions = { ...runningOptions(params, call), ...retainOptions(params) }
      if (params.file !== undefined) options.file = params.file
      if (params.line !== undefined) options.line = params.line
      if (params.atomic !== undefined) options.atomic = params.atomic
      if (params.check !== undefined) options.check = params.check
      const data = params.data ?? true
      const { nested: evalId } = params
      if (evalId === undefined) return outcomeJson(await session.eval(params.code, options), { data })
      if (session.shell?.isUnderWay(evalId) !== true) {
        throw new NacreError(
          "eval_not_found",
          `Session '${session.id}' has no eval '${evalId}' under way to run inside of.`,
        )
      }
      options.nested = true
      const inside = { session: sessionKey(session), evalId }
      return outcomeJson(await callingSession.run(inside, () => session.eval(params.code, options)), { data })
    },
  }),

  interrupt: method({
    doc: "Stops an eval, running or queued; answers when it has ended. Without `evalId` or `request`: the eval that runs, or the next one of this connection that is about to.",
    params: {
      evalId: { type: "string", optional: true, doc: "The eval to stop." },
      request: {
        either: [{ type: "string" }, { type: "number" }],
        optional: true,
        doc: "The id of the request of this connection to stop: an `eval`, `submit` or `callBinding`.",
      },
    },
    result: {
      fields: { interrupted: { type: "boolean", doc: "False when nothing ran, which is no error." } },
    },
    fails: ["session_not_found", "eval_not_found"],
    needs: "finds",
    handle: async ({ evalId, request }, { connection, openSession }) => {
      if (request !== undefined) return { interrupted: await connection.stopRequest(request) }
      if (openSession === undefined) {
        if (evalId !== undefined)
          throw new NacreError("eval_not_found", `No session of this connection has an eval '${evalId}'.`)
        return { interrupted: false }
      }
      const isStopped = await openSession.interrupt(evalId)
      return { interrupted: isStopped || (evalId === undefined && (await connection.stopNext(openSession))) }
    },
  }),

  reset: method({
    doc: "Forgets every binding and definition of a session, and its realm. Takes its turn behind the evals that are queued.",
    params: {},
    result: { type: "null" },
    fails: [],
    needs: "opens",
    isBehindChanges: true,
    handle: async (_params, { session }) => {
      await session.reset()
      return null
    },
  }),

  outcome: method({
    doc: "The outcome of a recent eval, for a client that lost the answer. The last 4 of a session are kept while it is active.",
    params: { evalId: { type: "string", doc: "The eval." } },
    result: { fields: outcome },
    fails: ["session_not_found", "eval_not_found"],
    needs: "finds",
    handle: ({ evalId }, { openSession }) => {
      const found = openSession?.outcome(evalId)
      if (found !== undefined) return outcomeJson(found, { data: true })
      const where = openSession === undefined ? "" : ` by session '${openSession.id}'`
      throw new NacreError("eval_not_found", `No outcome of an eval '${evalId}' is kept${where}.`)
    },
  }),

  isComplete: method({
    doc: "Is a text a whole submission, the beginning of one, or neither? By syntax alone; answers while evals run.",
    params: {
      code: { type: "string", max: 1024 * 1024, doc: "The text so far." },
      jsx: {
        type: "boolean",
        optional: true,
        doc: "Whether it may hold JSX; by default as in the connection's own session.",
      },
    },
    result: {
      fields: {
        state: { oneOf: ["complete", "incomplete", "invalid"], doc: "What it is." },
        indent: { type: "integer", optional: true, doc: "With `incomplete`: how many levels deep the next line is." },
        span: spanField,
        message: { type: "string", optional: true, doc: "With `invalid`: what is wrong." },
      },
    },
    fails: [],
    needs: "nothing",
    handle: async ({ code, jsx }, { connection }) => {
      // The parser is native and takes a while to load: only for those who ask.
      const { completeness } = await import("../language/completeness.ts")
      return completeness(code, jsx ?? connection.ownSession?.jsx !== undefined)
    },
  }),

  complete: method({
    doc: "Names that may stand at a place of a text that is being written: those of the session, of its workspace and of the language, or the members of what stands before a dot. Answers while evals run.",
    params: writing,
    result: {
      fields: {
        ...range,
        items: {
          list: {
            fields: {
              name: { type: "string", doc: "What to write from `start` to `end`." },
              kind: { type: "string", doc: "`function`, `const`, `local`, `property`, `keyword`, …" },
            },
          },
          doc: "Those of the session first.",
        },
        isCut: { type: "boolean", doc: "There are more." },
      },
    },
    fails: ["checker_unavailable", "overloaded", "source_too_large"],
    needs: "opens",
    handle: ({ code, offset }, { session, request }) =>
      session.complete(code, offset ?? code.length, { signal: request.signal }),
  }),

  inspect: method({
    doc: "What stands at a place of a text: the declaration of the name there, and what the call around it takes. Answers while evals run.",
    params: writing,
    result: {
      fields: {
        name: {
          fields: {
            ...range,
            text: { type: "string", doc: "Its declaration." },
            documentation: { type: "string", doc: "May be empty." },
          },
          optional: true,
          doc: "Missing when no name stands there.",
        },
        calls: {
          list: {
            fields: {
              text: { type: "string", doc: "The whole signature." },
              documentation: { type: "string", doc: "May be empty." },
              parameters: {
                list: {
                  fields: {
                    text: { type: "string", doc: "Its declaration." },
                    documentation: { type: "string", doc: "May be empty." },
                  },
                },
                doc: "In their order.",
              },
            },
          },
          doc: "Signatures of the call around the place; empty when there is none.",
        },
        active: { type: "integer", doc: "Which of `calls` fits what is written so far." },
        parameter: { type: "integer", doc: "Which of its parameters is being written." },
      },
    },
    fails: ["checker_unavailable", "overloaded", "source_too_large"],
    needs: "opens",
    handle: async ({ code, offset = code.length }, { session, request }) => {
      const options = { signal: request.signal }
      const [name, { items: calls, active, parameter }] = await Promise.all([
        session.hover(code, offset, options),
        session.signature(code, offset, options),
      ])
      return name === undefined ? { calls, active, parameter } : { name, calls, active, parameter }
    },
  }),

  bindings: method({
    doc: "What a session holds, as of its last commit. Never waits for its code.",
    params: {
      ...page,
      sources: { type: "boolean", optional: true, doc: "With the sources of definitions; default false." },
    },
    result: {
      fields: {
        bindings: { list: { fields: binding }, doc: "Locals, then definitions." },
        total: { type: "integer", doc: "How many there are." },
      },
    },
    fails: [],
    needs: "opens",
    handle: ({ from = 0, count = pageMax, sources = false }, { session }) => {
      const { bindings } = session
      const keys = bindings.keys()
      const rows = keys.slice(from, from + count).map((name) => {
        const { source, ...row } = bindings.info(name)!
        return sources && source !== undefined ? { ...row, source } : row
      })
      return { bindings: rows, total: keys.length }
    },
  }),

  resolve: method({
    doc: "The value that a bare name has in a session, as of its last commit.",
    params: { name: { type: "string", min: 1, max: 1024, doc: "The name." } },
    result: { fields: foundValue },
    fails: ["binding_lost", "value_not_transferable"],
    needs: "opens",
    handle: ({ name }, { nacre, session }) => {
      const { valueTextMax } = nacre.limits
      const value = session.resolve(name)
      if (value === undefined && !session.bindings.includesKey(name)) return { isBound: false }
      return valueJson(value, valueTextMax)
    },
  }),

  "sessions/open": method({
    doc: "Opens a session, or gives the live one of that id. It lives until it is closed, also when the connection ends.",
    params: {
      session: { ...sessionId, optional: true, doc: "Its id; default a fresh unguessable one." },
      ...opening,
      isolation: {
        oneOf: ["shared", "process"],
        optional: true,
        doc: "`process`: a process of its own, which no other session's code can take down.",
      },
      idleMs: {
        ...milliseconds,
        optional: true,
        doc: "Milliseconds without an eval after which it is closed; null for never.",
      },
      restart: {
        type: "boolean",
        optional: true,
        doc: "Closes the live session of that id first, with all it holds. Its profile and the rest may then be others.",
      },
    },
    result: { fields: sessionInfo },
    fails: ["profile_conflict", "session_limit"],
    needs: "nacre",
    isBarrier: true,
    handle: async ({ session: id, isolation, idleMs, restart, ...rest }, { connection, nacre }) => {
      const options: OpenOptions = { ...openOptions(rest), workspace: connection.workspace }
      if (id !== undefined) options.id = id
      if (isolation !== undefined) options.isolation = isolation
      if (idleMs !== undefined && idleMs !== null) options.idleMs = idleMs
      connection.admitSession()
      connection.admitProfile(options.profile)
      if (restart === true && id !== undefined) {
        connection.admitProfile(nacre.session(id, connection.workspace)?.profile)
        options.restart = true
      }
      const session = await nacre.open(options)
      connection.admitProfile(session.profile)
      connection.use(session)
      connection.renew(session)
      return infoOf(session)
    },
  }),

  "sessions/list": method({
    doc: "The live sessions of the workspace.",
    params: page,
    result: {
      fields: {
        sessions: { list: { fields: sessionInfo }, doc: "In the order they were opened." },
        total: { type: "integer", doc: "How many there are." },
      },
    },
    fails: [],
    needs: "nacre",
    handle: ({ from = 0, count = pageMax }, { connection, nacre }) => {
      const all = nacre.sessions(connection.workspace)
      return { sessions: all.slice(from, from + count).map(infoOf), total: all.length }
    },
  }),

  "sessions/close": method({
    doc: "Ends a session: what runs or waits in it ends as `interrupted`. Closing one that is closed already is no error.",
    params: { session: { ...sessionId, optional: true, doc: "Which; default the connection's own." } },
    result: { fields: { closed: { type: "boolean", doc: "False when it was not open." } } },
    fails: [],
    needs: "nacre",
    handle: async ({ session: id }, { connection, nacre }) => {
      const session = id === undefined ? connection.ownSession : nacre.session(id, connection.workspace)
      connection.admitProfile(session?.profile)
      await session?.close()
      connection.forgetOwn(session)
      return { closed: session !== undefined }
    },
  }),

  "sessions/fork": method({
    doc: "A new session that starts with what this one has committed. Takes its turn behind the evals that are queued.",
    params: {},
    result: { fields: sessionInfo },
    fails: [],
    needs: "opens",
    isBehindChanges: true,
    handle: async (_params, { connection, session }) => {
      connection.admitSession()
      const fork = await session.fork()
      connection.use(fork)
      return infoOf(fork)
    },
  }),

  ...changeMethods,
  ...callMethods,
  ...stateMethods,
  ...preludeMethods,

  shutdown: method({
    doc: "Ends the work of a connection: later requests are refused, those under way are answered; evals that take longer than the drain limit are interrupted.",
    params: {},
    result: { type: "null" },
    fails: [],
    needs: "nothing",
    handle: async (_params, { connection, request }) => {
      await connection.shutdown(request.id)
      return null
    },
  }),

  exit: method({
    doc: "Ends the connection, and a server on stdio with it: with exit code 0 after `shutdown`, else at once and with 1. A notification; as a request it is answered first.",
    params: {},
    result: { type: "null" },
    fails: [],
    needs: "nothing",
    isAlways: true,
    handle: (_params, { connection, request }) => {
      connection.exit(request.id)
      return null
    },
  }),
}

/** The table with each row's own types, from which the client library's are made. */
export type MethodTable = typeof table

export const methods: Readonly<Record<string, Method>> = table

export interface Notification {
  readonly doc: string
  readonly params: Fields
}

/** What the server sends by itself. */
export const notifications = {
  output: {
    doc: "What an eval wrote, while it runs. Left out when the client reads too slowly; `seq` shows it, and the answer holds all.",
    params: {
      session: { type: "string", doc: "Where." },
      request: { either: [{ type: "string" }, { type: "number" }], doc: "The id of the `eval` request." },
      ...outputChunk,
    },
  },
  "$/progress": {
    doc: "What code wrote while it runs, for a request with a `progressToken`.",
    params: {
      token: { either: [{ type: "string" }, { type: "number" }], doc: "As the request gave it." },
      value: { fields: outputChunk, doc: "What it wrote." },
    },
  },
  dropped: {
    doc: "The client reads too slowly: so many notifications were left out before this one. Answers never are.",
    params: {
      count: { type: "integer", doc: "How many." },
      seq: {
        type: "integer",
        doc: "Of the last event that was sent before: `attach` with `since` gives those that were left out.",
      },
    },
  },
  event: {
    doc: "Something happened outside an answer. `waiting` is sent every few seconds while the input has ended and requests are under way.",
    params: {
      type: {
        oneOf: [
          "session.opened",
          "session.closed",
          "bindings.changed",
          "bindings.lost",
          "globals.changed",
          "preludes.changed",
          "transcript.shown",
          "session.stray",
          "host.started",
          "host.lost",
          "checker.started",
          "checker.lost",
          "actor.crashed",
          "waiting",
        ],
        doc: "What; the other fields depend on it.",
      },
      seq: { type: "integer", optional: true, doc: "Counts the events of the system; `waiting` has none." },
      session: {
        type: "string",
        optional: true,
        doc: "Of `session.*`, `bindings.*`, `globals.changed` and `transcript.shown`.",
      },
      workspace: { type: "string", optional: true, doc: "Of the same." },
      names: { list: { type: "string" }, optional: true, doc: "Of `bindings.lost`." },
      reason: { type: "string", optional: true, doc: "Of `bindings.lost`." },
      evalId: { type: "string", optional: true, doc: "The eval that did it, where one did." },
      text: {
        type: "string",
        optional: true,
        doc: "Of `session.stray`: what code of an ended eval did; of `transcript.shown`: the text.",
      },
      set: { list: { type: "string" }, optional: true, doc: "Of `*.changed`: names bound or changed." },
      removed: { list: { type: "string" }, optional: true, doc: "Of `*.changed`." },
      prelude: { type: "string", optional: true, doc: "Of `preludes.changed`: its name." },
      exports: { list: { type: "string" }, optional: true, doc: "Of the same: what it exports, or did." },
      isRemoved: { type: "boolean", optional: true, doc: "Of the same." },
      definitions: { list: { type: "string" }, optional: true, doc: "Of `bindings.changed`." },
      lost: {
        list: { type: "string" },
        optional: true,
        doc: "Of `bindings.changed`: bound, but without their values.",
      },
      commit: { type: "integer", optional: true, doc: "Of `bindings.changed`: the session's commit after it." },
      host: { type: "string", optional: true, doc: "Of `host.*`." },
      pid: { type: "integer", optional: true, doc: "Of `host.*` and `checker.*`." },
      because: { type: "string", optional: true, doc: "Of `*.lost` and `bindings.changed`: why." },
      actor: { type: "string", optional: true, doc: "Of `actor.crashed`." },
      message: { type: "string", optional: true, doc: "Of `actor.crashed`." },
      requests: { type: "integer", optional: true, doc: "Of `waiting`: how many are under way." },
    },
  },
} as const satisfies Record<string, Notification>

export type NotificationTable = typeof notifications

/** The parameters of a method with the one that its row implies. */
export function parametersOf(row: Method): Fields {
  if (row.needs !== "opens" && row.needs !== "finds") return row.params
  const doc = "Which session; default the connection's own."
  return { session: { ...sessionId, optional: true, doc }, ...row.params }
}

/** Every kind that a method can fail with. */
export function kindsOf(row: Method): Set<ErrorKind> {
  const kinds = new Set<ErrorKind>([...commonKinds, ...row.fails])
  if (row.isAlways !== true) kinds.add("not_initialized")
  if (row.needs !== "nothing") for (const kind of nacreKinds) kinds.add(kind)
  if (row.needs === "opens") for (const kind of sessionKindsOfFailure) kinds.add(kind)
  return kinds
}

/** The parameters that open a session, as the embedding API takes them. */
export function openOptions(given: FieldsOf<typeof opening>): OpenOptions {
  const options: OpenOptions = {}
  if (given.kind !== undefined) options.kind = given.kind
  if (given.profile !== undefined) options.profile = given.profile
  if (given.directory !== undefined) options.directory = given.directory
  if (given.jsx !== undefined) options.jsx = given.jsx
  if (given.principal !== undefined) options.principal = given.principal
  if (given.check !== undefined) options.check = given.check
  if (given.commit !== undefined) options.commit = given.commit
  if (given.graceMs !== undefined) options.graceMs = given.graceMs ?? Infinity
  if (given.evalTimeoutMs !== undefined) options.evalTimeoutMs = given.evalTimeoutMs ?? Infinity
  return options
}

function infoOf(session: Session): FieldsOf<typeof sessionInfo> {
  const { id, kind, profile, workspace, shellState, isResident } = session
  return { session: id, kind, profile, workspace, state: shellState, resident: isResident }
}
