// The methods that call what a session has: by name, in any revision, and by the handles of values that were retained.
//
// A call is an eval in everything else: it queues, has one outcome, writes output and can be interrupted. Handles and pins belong to the session,
// not to the connection that asked for them: they stay until they are released, whoever knows them.
import type { BindingCall, ValueCall } from "../session/session.ts"
import { outcomeJson } from "./json.ts"
import { method } from "./method.ts"
import { atomic, retainOptions, retainValues, running, runningOptions } from "./running.ts"
import { outcome, pinInfo, retainedValue } from "./shapes.ts"

const args = { list: { type: "json" }, optional: true, doc: "Its arguments; default none." } as const
const handle = { type: "string", min: 1, max: 256 } as const
const revision = { type: "integer", min: 0, optional: true } as const

export const callMethods = {
  callBinding: method({
    doc: "Calls the function that a name means when its turn comes, with arguments that are data. It is an eval in everything else. With `revision` or `pin` it runs in that revision, over the locals as they are: it commits what it does to them, and changes no definitions.",
    params: {
      name: { type: "string", min: 1, max: 1024, doc: "A name of the session." },
      args,
      revision: { ...revision, doc: "The revision that it is called in; default the one when its turn comes." },
      pin: { ...handle, optional: true, doc: "The same by a pin, instead of `revision`." },
      atomic,
      retainValues,
      ...running,
    },
    result: { fields: outcome },
    fails: ["queue_full", "overloaded", "revision_not_found", "pin_not_found", "handle_limit"],
    needs: "opens",
    isBehindChanges: true,
    handle: async (params, call) => {
      const options: BindingCall = { name: params.name, ...runningOptions(params, call), ...retainOptions(params) }
      if (params.args !== undefined) options.args = params.args
      if (params.atomic !== undefined) options.atomic = params.atomic
      if (params.revision !== undefined) options.revision = params.revision
      if (params.pin !== undefined) options.pin = params.pin
      return outcomeJson(await call.session.callBinding(options), { data: params.data ?? true })
    },
  }),

  callValue: method({
    doc: "Calls a retained function, in the revision that it was retained from. It is an eval in everything else.",
    params: {
      value: { ...handle, doc: "The handle, from the `value` of an outcome." },
      args,
      atomic,
      retainValues,
      ...running,
    },
    result: { fields: outcome },
    fails: ["queue_full", "overloaded", "value_not_found", "binding_lost", "handle_limit"],
    needs: "opens",
    isBehindChanges: true,
    handle: async (params, call) => {
      const options: ValueCall = { value: params.value, ...runningOptions(params, call), ...retainOptions(params) }
      if (params.args !== undefined) options.args = params.args
      if (params.atomic !== undefined) options.atomic = params.atomic
      return outcomeJson(await call.session.callValue(options), { data: params.data ?? true })
    },
  }),

  releaseValue: method({
    doc: "Lets a retained value go.",
    params: { value: { ...handle, doc: "The handle." } },
    result: { type: "null" },
    fails: ["value_not_found"],
    needs: "opens",
    isBehindChanges: true,
    handle: async ({ value }, { session }) => {
      await session.releaseValue(value)
      return null
    },
  }),

  retainedValues: method({
    doc: "The values that a session retains; there are at most `limits.retainedValuesMax`.",
    params: {},
    result: { fields: { values: { list: { fields: retainedValue }, doc: "The oldest first." } } },
    fails: [],
    needs: "opens",
    isBehindChanges: true,
    handle: (_params, { session }) => ({ values: session.retainedValues() }),
  }),

  pinRevision: method({
    doc: "Holds a revision for a series of calls: data of it that a change replaces from now on is kept for them, until the pin is released or the session is closed.",
    params: { revision: { ...revision, doc: "Which; default the present one." } },
    result: { fields: pinInfo },
    fails: ["revision_not_found", "handle_limit"],
    needs: "opens",
    isBehindChanges: true,
    handle: async (params, { session }) => {
      const { id: pin, revision: held } = await session.pinRevision(params.revision)
      return { pin, revision: held }
    },
  }),

  releasePin: method({
    doc: "Lets a pinned revision go.",
    params: { pin: { ...handle, doc: "As `pinRevision` named it." } },
    result: { type: "null" },
    fails: ["pin_not_found"],
    needs: "opens",
    isBehindChanges: true,
    handle: async ({ pin }, { session }) => {
      await session.releasePin(pin)
      return null
    },
  }),

  pins: method({
    doc: "The pins of a session; there are at most `limits.pinsMax`.",
    params: {},
    result: { fields: { pins: { list: { fields: pinInfo }, doc: "The oldest first." } } },
    fails: [],
    needs: "opens",
    isBehindChanges: true,
    handle: (_params, { session }) => ({ pins: session.pins() }),
  }),
}
