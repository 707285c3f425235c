// The methods about state that is not one eval's: marks of a session, globals of the workspace, and the events of both.
import { NacreError } from "../errors.ts"
import { valueJson } from "./json.ts"
import { method, page, pageMax, sessionId } from "./method.ts"
import type { Fields } from "./schema.ts"

const markName = { type: "string", min: 1, max: 256 } as const
const globalName = { type: "string", min: 1, max: 1024 } as const

/** Which events a connection is sent. */
export const eventLevels = ["none", "own", "changes", "all"] as const
export type EventLevel = (typeof eventLevels)[number]

export const eventLevel = {
  oneOf: eventLevels,
  optional: true,
  doc: 'Which `event` notifications to send; default "own": those about sessions that this connection has used, but for `bindings.changed`. "changes": these too, with `globals.changed`, `preludes.changed` and `transcript.shown`.',
} as const

/** A value that may be there, as text and, where JSON holds exactly it, as itself. */
export const foundValue = {
  isBound: { type: "boolean", doc: "Whether the name is bound." },
  text: { type: "string", optional: true, doc: "The value as text; bounded." },
  data: { type: "json", optional: true, doc: "The value itself; present only when JSON holds exactly it." },
} as const satisfies Fields

export const stateMethods = {
  mark: method({
    doc: "Names the state of a session as it is committed now, to roll back to. A mark of the same name is replaced. Takes its turn behind the evals that are queued.",
    params: { name: { ...markName, doc: "The mark's name." } },
    result: { type: "null" },
    fails: ["handle_limit"],
    needs: "opens",
    isBehindChanges: true,
    handle: async ({ name }, { session }) => {
      await session.mark(name)
      return null
    },
  }),

  unmark: method({
    doc: "Takes a mark of a session away, and frees what only it holds.",
    params: { name: { ...markName, doc: "The mark's name." } },
    result: { fields: { removed: { type: "boolean", doc: "False when there was none of that name." } } },
    fails: [],
    needs: "opens",
    isBehindChanges: true,
    handle: ({ name }, { session }) => ({ removed: session.unmark(name) }),
  }),

  marks: method({
    doc: "The marks of a session; there are at most `limits.marksMax`.",
    params: {},
    result: { fields: { names: { list: { type: "string" }, doc: "Oldest first." } } },
    fails: [],
    needs: "opens",
    isBehindChanges: true,
    handle: (_params, { session }) => ({ names: session.marks() }),
  }),

  rollback: method({
    doc: "Puts a session back to a mark, as a new commit. Takes its turn behind the evals that are queued.",
    params: { name: { ...markName, doc: "The mark's name." } },
    result: {
      fields: { lost: { list: { type: "string" }, doc: "Names whose values could not come back." } },
    },
    fails: ["mark_not_found"],
    needs: "opens",
    isBehindChanges: true,
    isChange: true,
    handle: ({ name }, { session }) => session.rollback(name),
  }),

  "globals/list": method({
    doc: "The names that the sessions of the workspace share.",
    params: page,
    result: {
      fields: {
        names: { list: { type: "string" }, doc: "In the order they were bound." },
        total: { type: "integer", doc: "How many there are." },
      },
    },
    fails: [],
    needs: "nacre",
    handle: ({ from = 0, count = pageMax }, { nacre, connection }) => {
      const names = nacre.globals(connection.workspace).keys()
      return { names: names.slice(from, from + count), total: names.length }
    },
  }),

  "globals/at": method({
    doc: "The value of a global.",
    params: { name: { ...globalName, doc: "Its name." } },
    result: { fields: foundValue },
    fails: [],
    needs: "nacre",
    handle: ({ name }, { nacre, connection }) => {
      const globals = nacre.globals(connection.workspace)
      return globals.includesKey(name) ? valueJson(globals.at(name), nacre.limits.valueTextMax) : { isBound: false }
    },
  }),

  "globals/bind": method({
    doc: "Binds a name for every session of the workspace; answers when every host has seen it.",
    params: {
      name: { ...globalName, doc: "Its name." },
      value: { type: "json", doc: "Its value." },
    },
    result: { type: "null" },
    fails: ["name_conflict", "type_error", "value_too_large"],
    needs: "nacre",
    isBarrier: true,
    handle: async ({ name, value }, { nacre, connection }) => {
      await nacre.globals(connection.workspace).bind(name, value)
      return null
    },
  }),

  "globals/unbind": method({
    doc: "Takes a global away; nothing happens when it is not bound. Answers when every host has seen it.",
    params: { name: { ...globalName, doc: "Its name." } },
    result: { type: "null" },
    fails: [],
    needs: "nacre",
    isBarrier: true,
    handle: async ({ name }, { nacre, connection }) => {
      await nacre.globals(connection.workspace).unbind(name)
      return null
    },
  }),

  attach: method({
    doc: "Follows a session's events, as if this connection had used it. Those after `since` that are still kept come before the answer.",
    params: {
      since: {
        type: "integer",
        min: 0,
        optional: true,
        doc: "The `seq` of the last event that is known. Without it, only what comes.",
      },
      events: { ...eventLevel, doc: "Another choice than that of `initialize`, from now on." },
    },
    result: {
      fields: {
        seq: { type: "integer", doc: "Of the last event so far." },
        isComplete: { type: "boolean", doc: "False when some after `since` are gone: look at what there is." },
      },
    },
    fails: ["session_not_found"],
    needs: "finds",
    handle: ({ since, events }, { connection, nacre, openSession }) =>
      connection.follow(nacre, openSession, { since, events }),
  }),

  detach: method({
    doc: "Leaves a session: its events are no longer sent, and one with `graceMs` may close. What runs in it goes on.",
    params: { session: { ...sessionId, doc: "Which." } },
    result: { fields: { detached: { type: "boolean", doc: "False when this connection had not used it." } } },
    fails: ["session_not_found"],
    needs: "nacre",
    handle: ({ session: id }, { connection, nacre }) => {
      const session = nacre.session(id, connection.workspace)
      if (session === undefined) throw new NacreError("session_not_found", `There is no session '${id}' to leave.`)
      return { detached: connection.leave(session) }
    },
  }),
}
