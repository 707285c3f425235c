// Every kind of error has a test that produces it for real, or a reason why none can.
import { readFileSync } from "node:fs"
import { describe, expect, test } from "vitest"
import { NacreError, errorKinds } from "../../runtime/errors.ts"
import type { ErrorKind } from "../../runtime/errors.ts"

/** The file in which a test meets the kind, under `test/`; or why there is none. */
const met: Record<ErrorKind, string | { never: string }> = {
  invalid_options: "system/nacre.test.ts",
  method_not_found: "system/serve/stdio.test.ts",
  invalid_request: "unit/serve/methods.test.ts",
  parse_failed: "system/serve/stdio.test.ts",
  not_initialized: "unit/serve/methods.test.ts",
  internal: "unit/serve/rpc.test.ts",
  nacre_stopped: "system/nacre.test.ts",
  nacre_failed: {
    never: "A thousand hosts would have to die within ten seconds, which takes longer to arrange than backoff allows.",
  },
  host_unavailable: "system/nacre.test.ts",
  overloaded: "unit/host/scheduler.test.ts",
  request_cancelled: "system/serve/stdio.test.ts",
  too_many_requests: "unit/serve/rpc.test.ts",
  message_too_large: "unit/serve/framing.test.ts",
  queue_full: "system/sessions.test.ts",
  session_not_found: "system/sessions.test.ts",
  session_busy: {
    never: "A session would have to change eight times in a row while a change is made, which no test can arrange.",
  },
  connection_not_found: "system/serve/websocket.test.ts",
  session_unresponsive: "system/late-answers.test.ts",
  session_limit: "system/sessions.test.ts",
  profile_conflict: "system/sessions.test.ts",
  eval_not_found: "system/interrupts.test.ts",
  eval_ended: "system/crashes.test.ts",
  would_deadlock: "system/tools.test.ts",
  never_settles: "system/interrupts.test.ts",
  source_too_large: "system/sessions.test.ts",
  binding_lost: "system/sessions.test.ts",
  binding_is_definition: "system/exits.test.ts",
  cross_session_mutation_unsupported: "system/beamtalk.test.ts",
  name_conflict: "system/beamtalk.test.ts",
  value_not_transferable: "system/tools.test.ts",
  value_too_large: "system/refusals.test.ts",
  type_error: "system/refusals.test.ts",
  value_not_found: "system/pins.test.ts",
  pin_not_found: "system/pins.test.ts",
  handle_limit: "system/pins.test.ts",
  mark_not_found: "system/sessions.test.ts",
  tool_not_found: "unit/shell/tool-calls.test.ts",
  tool_timeout: "system/tools.test.ts",
  checker_unavailable: "system/checker.test.ts",
  revision_not_found: "system/revisions.test.ts",
  candidate_not_found: "system/revisions.test.ts",
  stale_parent: { never: "It is no error but the kind of a rejection, and of what stands in an outcome's `rejected`." },
  capability_denied: "system/modules.test.ts",
  module_not_found: "system/modules.test.ts",
  module_invalid: "system/modules.test.ts",
  prelude_invalid: "system/preludes.test.ts",
  unsupported: "system/refusals.test.ts",
}

describe("kinds of error", () => {
  test.each(Object.entries(met))("%s is met by a test, or has a reason", (kind, where) => {
    if (typeof where !== "string") expect(where.never).not.toBe("")
    else expect(readFileSync(new URL(`../${where}`, import.meta.url), "utf8")).toContain(kind)
  })

  test("have numbers that are all different", () => {
    const codes = Object.values(errorKinds).map((it) => it.code)
    expect(new Set(codes).size).toBe(codes.length)
  })

  test("carry their row in every error", () => {
    for (const kind of Object.keys(errorKinds) as ErrorKind[]) {
      const error = new NacreError(kind, "what happened")
      expect(error).toMatchObject({ kind, name: "NacreError", message: "what happened" })
      expect([error.code, error.retry]).toEqual([errorKinds[kind].code, errorKinds[kind].retry])
    }
  })
})
