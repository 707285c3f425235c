// The method table and what is made of it: complete in both directions, on a connection whose system is a stand-in that fails on demand.
// oxlint-disable typescript/no-unsafe-type-assertion -- answers are JSON, whose shape is what the tests check
import { describe, expect, it } from "vitest"
import { NacreError, errorKinds } from "../../../runtime/errors.ts"
import type { ErrorKind } from "../../../runtime/errors.ts"
import type { Rejection } from "../../../runtime/module/candidate.ts"
import type { RevisionRecord } from "../../../runtime/module/revision.ts"
import type { Nacre } from "../../../runtime/nacre.ts"
import { resolveLimits } from "../../../runtime/options.ts"
import { Connection } from "../../../runtime/serve/connection.ts"
import { outcomeJson } from "../../../runtime/serve/json.ts"
import { kindsOf, methods, notifications, parametersOf } from "../../../runtime/serve/methods.ts"
import { problemOf } from "../../../runtime/serve/schema.ts"
import type { Fields, Type } from "../../../runtime/serve/schema.ts"
import type { ExportedRevision } from "../../../runtime/session/changes.ts"
import { emptyOutcome } from "../../../runtime/session/outcome.ts"

interface Answer {
  id: number
  result?: unknown
  error?: { code: number; message: string; data: { kind: ErrorKind } }
}

const record: RevisionRecord = {
  session: "ses_a",
  revision: 1,
  parent: 0,
  cause: "submit",
  changes: [
    {
      op: "set",
      key: "f",
      kind: "function",
      source: "function f() {}",
      span: { start: 0, end: 15, line: 1, column: 1 },
    },
  ],
  reinstantiated: ["g"],
  lostData: [],
  stale: [],
  digest: "d",
  at: 1,
}
const rejection: Rejection = {
  kind: "stale_parent",
  message: "It is stale.",
  diagnostics: [{ message: "Here.", file: "a", line: 1, column: 1 }],
  keys: ["f"],
}
const exported: ExportedRevision = {
  format: "nacre-revision/1",
  digest: "d",
  declarations: [
    {
      key: "f",
      kind: "function",
      source: "function f() {}",
      file: "a",
      line: 1,
      column: 1,
      wrappers: [{ key: "a", source: "(inner) => inner" }],
    },
  ],
}

/** A system in which everything fails with one kind, or works. */
function standIn(fails?: ErrorKind): Nacre {
  const act =
    <T>(value: T) =>
    async (): Promise<T> => {
      if (fails !== undefined) throw new NacreError(fails, `It failed with ${fails}.`)
      return value
    }
  const failing =
    <T>(value: T) =>
    (): T => {
      if (fails !== undefined) throw new NacreError(fails, `It failed with ${fails}.`)
      return value
    }
  const session = {
    id: "ses_a",
    kind: "repl",
    profile: "standard",
    workspace: "main",
    shellState: "idle",
    isResident: true,
    isClosed: false,
    attachClient: () => () => {},
    eval: act({ ...emptyOutcome("evl_1", "ok", 0), value: { text: "1", inert: false, type: "number", data: 1 } }),
    interrupt: act(true),
    complete: act({ start: 0, end: 1, items: [{ name: "area", kind: "function" }], isCut: false }),
    hover: act({ start: 0, end: 1, text: "let a: number", documentation: "" }),
    signature: act({
      items: [
        { text: "f(n: number): void", documentation: "", parameters: [{ text: "n: number", documentation: "" }] },
      ],
      active: 0,
      parameter: 0,
    }),
    reset: act(undefined),
    fork: () => act(session)(),
    close: act(undefined),
    outcome: () => emptyOutcome("evl_1", "ok", 0),
    shell: { isUnderWay: (evalId: string) => evalId === "evl_1" },
    submit: act({ status: "committed", revision: 1, record, outcome: emptyOutcome("evl_1", "ok", 1) }),
    proposeChange: act({
      status: "proposed",
      candidate: "chg_1",
      parent: 0,
      changed: ["f"],
      removed: [],
      reinstantiated: [],
    }),
    commitChange: act({ status: "rejected", revision: 1, rejection }),
    abandonChange: act(true),
    restoreRevision: act({ status: "committed", revision: 2 }),
    importRevision: act({ status: "committed", revision: 2, record }),
    exportRevision: failing(exported),
    history: failing([record]),
    revision: { number: 1, digest: "d" },
    callBinding: act({
      ...emptyOutcome("evl_1", "ok", 0),
      value: { text: "1", inert: false, type: "number", data: 1 },
    }),
    callValue: act({
      ...emptyOutcome("evl_1", "ok", 0),
      value: { text: "1", inert: false, type: "number", data: 1 },
    }),
    releaseValue: act(undefined),
    retainedValues: failing([
      { value: "val_1", isFunction: true, type: "Function", text: "[Function: f]", revision: 1, held: "bytes" },
    ]),
    pinRevision: act({ id: "pin_1", revision: 1 }),
    releasePin: act(undefined),
    pins: failing([{ pin: "pin_1", revision: 1 }]),
    wrapBinding: act({ status: "committed", revision: 2, record }),
    unwrapBinding: act({ status: "committed", revision: 2, record }),
    wrappers: failing([{ key: "a", source: "(inner) => inner" }]),
    mark: act(undefined),
    marks: failing(["m"]),
    unmark: failing(true),
    rollback: act({ lost: ["a"] }),
    resolve: () => {
      if (fails !== undefined) throw new NacreError(fails, `It failed with ${fails}.`)
      return { a: [1] }
    },
    bindings: {
      keys: () => ["a", "f"],
      includesKey: () => true,
      info: (name: string) =>
        name === "a"
          ? { name, kind: "local", held: "bytes" }
          : { name, kind: "definition", held: "source", source: "function f() {}" },
    },
  }
  // Only what the handlers call.
  return {
    limits: resolveLimits(),
    open: fails === "session_limit" || fails === "profile_conflict" ? act(session) : async () => session,
    session: (id: string) => (id === "ses_a" ? session : undefined),
    sessions: () => [session],
    preludes: () => [{ name: "p", exports: ["P"], hasImports: false }],
    loadPrelude: act({ name: "p", exports: ["P"], hasImports: false }),
    removePrelude: act(true),
    globals: () => ({
      keys: () => ["g"],
      includesKey: () => true,
      at: () => [1],
      bind: act(undefined),
      unbind: act(undefined),
    }),
    attach: (_listener: unknown, { since }: { since?: number } = {}) => ({
      seq: 7,
      isComplete: since === undefined,
      detach: () => {},
    }),
  } as unknown as Nacre
}

function connect(nacre: Promise<Nacre> = Promise.resolve(standIn()), fails?: ErrorKind) {
  const answers: Answer[] = []
  const internal: unknown[] = []
  // Whoever asks hears of it.
  nacre.catch(() => {})
  const connection = new Connection(
    { send: (text) => void answers.push(JSON.parse(text) as Answer), isCongested: false },
    {
      nacre,
      limits: resolveLimits(),
      resumable: {
        id: "con_a",
        graceMs: 30_000,
        resume: () => {
          if (fails !== undefined) throw new NacreError(fails, `It failed with ${fails}.`)
          return { received: 1, missed: 0, inFlight: [2, "a"] }
        },
      },
      onInternal: (error) => void internal.push(error),
    },
  )
  let id = 0
  const ask = async (method: string, params: object = {}): Promise<Answer> => {
    const asked = ++id
    connection.peer.receive(JSON.stringify({ jsonrpc: "2.0", id: asked, method, params }))
    await connection.peer.settled()
    await new Promise((resolve) => setImmediate(resolve))
    return answers.find((answer) => answer.id === asked)!
  }
  return { ask, internal, connection }
}

/** Parameters with which each method works on the stand-in. */
const working: Record<string, object> = {
  eval: { code: "1" },
  outcome: { evalId: "evl_1", session: "ses_a" },
  isComplete: { code: "{" },
  complete: { code: "a" },
  inspect: { code: "a", offset: 0 },
  resolve: { name: "a" },
  submit: { source: "function f() {}" },
  commitChange: { candidate: "chg_1" },
  abandonChange: { candidate: "chg_1" },
  restoreRevision: { revision: 0 },
  importRevision: { exported },
  callBinding: { name: "f", args: [1] },
  callValue: { value: "val_1", args: [1] },
  releaseValue: { value: "val_1" },
  releasePin: { pin: "pin_1" },
  wrapBinding: { name: "f", key: "a", source: "(inner) => inner" },
  unwrapBinding: { name: "f" },
  wrappers: { name: "f" },
  mark: { name: "m" },
  rollback: { name: "m" },
  unmark: { name: "m" },
  "globals/at": { name: "g" },
  "globals/bind": { name: "g", value: [1] },
  "globals/unbind": { name: "g" },
  "preludes/load": { name: "p", source: "export class P {}" },
  "preludes/remove": { name: "p" },
  resume: { connection: "con_a", received: 3 },
  attach: { session: "ses_a", since: 3 },
  detach: { session: "ses_a" },
}
const names = Object.keys(methods)

describe.each(names)("%s", (name) => {
  const row = methods[name]!

  it("answers what its row says", async () => {
    const { ask } = connect()
    if (name !== "initialize" && name !== "resume") await ask("initialize")
    const { result, error } = await ask(name, working[name])
    expect(error).toBeUndefined()
    expect(problemOf(row.result, result, "result")).toBeUndefined()
  })

  it("names the first parameter that is wrong", async () => {
    for (const [parameter, field] of Object.entries(parametersOf(row))) {
      if ("type" in field && field.type === "json") continue
      const { ask } = connect()
      if (name !== "initialize" && name !== "resume") await ask("initialize")
      const { error } = await ask(name, { ...working[name], [parameter]: "list" in field ? {} : [[]] })
      expect(error).toMatchObject({ code: -32602, data: { kind: "invalid_options" } })
      expect(error!.message).toContain(`params.${parameter} must be`)
    }
  })

  it("declares kinds that exist, once, and none that every request has", () => {
    for (const kind of kindsOf(row)) expect(errorKinds).toHaveProperty(kind)
    expect(new Set(row.fails).size).toBe(row.fails.length)
  })

  it("passes on the kinds it declares", async () => {
    for (const kind of row.fails) {
      const { ask } = connect(Promise.resolve(standIn(kind)), kind)
      if (name !== "resume") await ask("initialize")
      const own = kind === "session_not_found" ? { session: "ses_unknown" } : { session: "ses_a" }
      const isOther = kind === "session_limit" || kind === "profile_conflict" || !("session" in parametersOf(row))
      const params = isOther ? {} : own
      const { error } = await ask(name, {
        ...working[name],
        ...params,
        ...(kind === "eval_not_found" ? { [name === "eval" ? "nested" : "evalId"]: "b" } : {}),
      })
      // A recent outcome is found or not; the stand-in always finds one.
      if (name === "outcome" && kind === "eval_not_found") continue
      expect(error?.data.kind, `${name}: ${kind}`).toBe(kind)
    }
  })

  it("says what it means in every field", () => {
    const check = (fields: Fields): void => {
      for (const [field, type] of Object.entries(fields)) {
        expect(type.doc, field).not.toBe("")
        const inner: Type = "list" in type ? type.list : type
        if ("fields" in inner) check(inner.fields)
      }
    }
    expect(row.doc).toMatch(/\.$/)
    check(row.params)
    if ("fields" in row.result) check(row.result.fields)
  })
})

describe("before and after", () => {
  it.each(names.filter((name) => methods[name]!.isAlways !== true))("%s waits for initialize", async (name) => {
    const { ask } = connect()
    expect((await ask(name, working[name])).error?.data.kind).toBe("not_initialized")
  })

  it("initialize comes once", async () => {
    const { ask } = connect()
    await ask("initialize")
    expect((await ask("initialize")).error?.data.kind).toBe("invalid_request")
  })

  it("nothing but exit follows shutdown", async () => {
    const { ask, connection } = connect()
    await ask("initialize")
    expect((await ask("shutdown")).result).toBe(null)
    expect((await ask("eval", { code: "1" })).error?.data.kind).toBe("invalid_request")
    await ask("exit")
    expect(await connection.exited).toBe(0)
  })

  it("exit alone ends with 1", async () => {
    const { ask, connection } = connect()
    await ask("exit")
    expect(await connection.exited).toBe(1)
  })
})

it("initialize answers while the system is still starting, and a failed start is told to who needs it", async () => {
  let fail!: (error: Error) => void
  const { ask } = connect(
    new Promise<Nacre>((_resolve, reject) => {
      fail = reject
    }),
  )
  const { result } = await ask("initialize", { client: { name: "test" }, unknown: true })
  expect(result).toMatchObject({ protocolVersion: 1, server: { name: "nacre" }, profile: "standard", kind: "repl" })
  expect(Object.keys((result as { methods: object }).methods)).toEqual(names)
  fail(new NacreError("host_unavailable", "No host."))
  expect((await ask("eval", { code: "1" })).error?.data.kind).toBe("host_unavailable")
})

it("an unknown method is told with the known ones", async () => {
  const { ask } = connect()
  const { error } = await ask("evaluate")
  expect(error).toMatchObject({ code: -32601, data: { kind: "method_not_found" } })
  expect(error!.message).toContain("initialize, resume, eval, interrupt")
})

it("a parameter of another name is named", async () => {
  const { ask } = connect()
  await ask("initialize")
  expect((await ask("eval", { source: "1" })).error?.message).toBe(
    'eval: params.code is missing; unknown here: "source".',
  )
})

it("a parameter that a method does not have is refused by name", async () => {
  const { ask } = connect()
  await ask("initialize")
  expect((await ask("eval", { code: "1", timeout: 5 })).error?.message).toMatch(
    /^eval: params.timeout is unknown; known are: .*code/,
  )
})

it("notifications describe their fields", () => {
  for (const { doc } of Object.values(notifications)) expect(doc).toMatch(/\.$/)
})

const sent = (data: unknown): boolean =>
  "data" in
  outcomeJson({ ...emptyOutcome("evl_1", "ok", 0), value: { text: "", inert: false, type: "", data } }, { data: true })
    .value!

describe("a value is sent as data only when JSON holds exactly it", () => {
  const cyclic: unknown[] = []
  cyclic.push(cyclic)
  const exponential = Array.from({ length: 60 }).reduce<unknown[]>((inner) => [inner, inner], [])
  it.each([
    ["null", null],
    ["numbers and texts", [0, -1.5, "é\ud800", true]],
    ["records", { a: { b: [] }, "": 1 }],
  ])("%s: yes", (_what, data) => expect(sent(data)).toBe(true))
  it.each([
    ["undefined", undefined],
    ["NaN", [NaN]],
    ["-0", -0],
    ["a bigint", { a: 1n }],
    ["a date", new Date(0)],
    ["a map", new Map()],
    ["a hole", Array.from({ length: 1 }).concat([]).fill(0).concat(Array(1))],
    ["an array with a property", Object.assign([1], { a: 1 })],
    ["a symbol key", { [Symbol("a")]: 1 }],
    ["toJSON", { toJSON: 1 }],
    ["a getter", Object.defineProperty({}, "a", { enumerable: true, get: () => 1 })],
    ["an instance", new URL("a:b")],
    ["a cycle", cyclic],
    ["one part named exponentially often", exponential],
  ])("%s: no", (_what, data) => expect(sent(data)).toBe(false))
})
