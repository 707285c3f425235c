import { expect, test } from "vitest"
import type { NacreHappening } from "../../../runtime/events.ts"
import type { Scheduler } from "../../../runtime/host/scheduler.ts"
import type { Job, Tenant } from "../../../runtime/host/worker-slot.ts"
import { defaultLimits } from "../../../runtime/options.ts"
import { SessionState } from "../../../runtime/session/state.ts"
import { profileNamed, resolveProfiles } from "../../../runtime/profile.ts"
import { Shell } from "../../../runtime/shell/shell.ts"
import { VirtualClock } from "../../simulation/virtual-clock.ts"
import { fromWorkerSamples } from "../wire/messages.ts"

function start() {
  const jobs: Job[] = []
  const stopped: Job[] = []
  const events: NacreHappening[] = []
  const exits: unknown[] = []
  const tenant: Tenant = {
    session: "ses_a",
    group: "main",
    worker: undefined,
    commit: -1,
    holdsEphemerals: false,
    apart: 0,
    usedAt: 0,
    onRealmLost: () => {},
  }
  const session = {
    id: "ses_a",
    kind: "repl",
    profile: "standard",
    grants: profileNamed(resolveProfiles(undefined, "/"), "standard"),
    directory: "/d",
    jsx: undefined,
    workspace: "main",
    principal: undefined,
    tools: new Map(),
    state: new SessionState(),
    tenant,
    lostSince: [],
    commits: "eval" as const,
    updates: [],
  }
  const scheduler = { submit: (job: Job) => jobs.push(job), stop: (job: Job) => stopped.push(job) }
  const shell = new Shell(
    session,
    {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- all that a shell asks of it
      scheduler: scheduler as unknown as Scheduler,
      limits: defaultLimits,
      clock: new VirtualClock(),
      emit: (event) => events.push(event),
    },
    (error) => exits.push(error),
  )
  return { shell, jobs, stopped, events, exits, session }
}

const outcome = {
  ...fromWorkerSamples.outcome,
  status: "ok" as const,
  error: undefined,
  exitCode: undefined,
  delta: {},
}

test("an invariant that breaks while an eval ends crashes the shell, and the evals have their outcomes all the same", async () => {
  const { shell, jobs, events, exits } = start()
  const first = shell.eval("evl_1", "1", {})
  const second = shell.eval("evl_2", "2", {})
  jobs[0]!.onBegun()
  jobs[0]!.onOutcome({ ...outcome, evalId: "evl_1", queued: 5 })
  expect(await first).toMatchObject({ evalId: "evl_1", status: "crashed", because: "shell-failed" })
  expect(await second).toMatchObject({ evalId: "evl_2", status: "interrupted", because: "shell-failed" })
  expect(String(exits[0])).toContain("Broken invariant")
  expect(events).toMatchObject([{ type: "actor.crashed" }])
  await expect(shell.eval("evl_3", "3", {})).rejects.toMatchObject({ kind: "session_not_found" })
})

test("one eval is with the scheduler at a time, and operations run between two of them in their turn", async () => {
  const { shell, jobs } = start()
  const order: string[] = []
  const first = shell.eval("evl_1", "1", {}).then(() => order.push("first"))
  const operation = shell.operate(() => order.push("operation"))
  const second = shell.eval("evl_2", "2", {}).then(() => order.push("second"))
  expect(jobs.map((it) => it.evalId)).toEqual(["evl_1"])
  jobs[0]!.onLost("host-killed")
  await operation
  expect(jobs.map((it) => it.evalId)).toEqual(["evl_1", "evl_2"])
  jobs[1]!.onLost("host-killed")
  await Promise.all([first, second])
  expect(order).toEqual(["first", "operation", "second"])
})

test("closing settles what waits, stops what runs, and refuses what comes", async () => {
  const { shell, jobs, stopped, exits } = start()
  const running = shell.eval("evl_1", "1", {})
  const waiting = shell.eval("evl_2", "2", {})
  const closed = shell.close()
  expect(stopped).toEqual(jobs)
  expect(await waiting).toMatchObject({ status: "interrupted", because: "closed" })
  jobs[0]!.onStopped("interrupted", "terminated")
  expect(await running).toMatchObject({ status: "interrupted", because: "closed" })
  await closed
  expect(exits).toEqual([undefined])
})

test("a write that belongs to no eval under way is refused as eval_ended", async () => {
  const { shell, jobs } = start()
  const write = {
    type: "syncCall" as const,
    worker: 0,
    callId: 1,
    session: "ses_a",
    op: "atPut" as const,
    key: "x",
    what: "",
    bytes: new Uint8Array(1),
  }
  expect(shell.onSyncCall({ ...write, evalId: "evl_1" })).toMatchObject({ ok: false, kind: "eval_ended" })
  const first = shell.eval("evl_1", "1", {})
  expect(shell.onSyncCall({ ...write, evalId: "evl_0" })).toMatchObject({ ok: false, kind: "eval_ended" })
  expect(shell.onSyncCall({ ...write, evalId: "evl_1" })).toMatchObject({ ok: true })
  jobs[0]!.onStopped("timeout", "terminated")
  expect(shell.onSyncCall({ ...write, evalId: "evl_1" })).toMatchObject({ ok: false, kind: "eval_ended" })
  expect(await first).toMatchObject({ status: "timeout", committed: { set: ["x"] } })
})

test.each(["cancel first", "outcome first"])(
  "a write that its caller was told had failed is not applied, whichever is heard first: %s",
  async (order) => {
    const { shell, jobs, session } = start()
    const first = shell.eval("evl_1", "1", {})
    const write = {
      type: "syncCall" as const,
      worker: 0,
      session: "ses_a",
      evalId: "evl_1",
      op: "removeKey" as const,
      key: "kept",
      what: "",
      bytes: new Uint8Array(0),
    }
    session.state.locals.set("kept", { readonly: false, held: "value", value: 1 })
    session.state.locals.set("gone", { readonly: false, held: "value", value: 1 })
    shell.onSyncCall({ ...write, callId: 1, key: "gone" })
    shell.onSyncCall({ ...write, callId: 2 })
    if (order === "cancel first") {
      expect(shell.onSyncCall({ ...write, callId: 2, op: "cancel" })).toMatchObject({ ok: true })
      jobs[0]!.onStopped("interrupted", "terminated")
    } else {
      jobs[0]!.onOutcome({ ...outcome, delta: undefined, evalId: "evl_1", status: "interrupted", cancelled: [2] })
      expect(shell.onSyncCall({ ...write, callId: 2, op: "cancel" })).toMatchObject({ ok: false })
    }
    expect((await first).committed.removed).toEqual(["gone"])
    expect([...session.state.locals.keys()]).toEqual(["kept"])
  },
)

test("an invariant that breaks in a callback crashes the shell alone: the scheduler's stack does not unwind, and every eval ends once", async () => {
  const { shell, jobs, events, exits } = start()
  const first = shell.eval("evl_1", "1", {})
  const second = shell.eval("evl_2", "2", {})
  const third = shell.eval("evl_3", "3", {})
  jobs[0]!.onOutcome({ ...outcome, evalId: "evl_1" })
  expect(await first).toMatchObject({ status: "ok" })
  await Promise.resolve()
  expect(jobs).toHaveLength(2)
  jobs[0]!.onOutput({ evalId: "evl_1", stream: "stdout", text: "late", seq: 0, omittedBytes: 0 })
  expect(await second).toMatchObject({ evalId: "evl_2", status: "crashed", because: "shell-failed" })
  expect(await third).toMatchObject({ evalId: "evl_3", status: "interrupted", because: "shell-failed" })
  expect(String(exits[0])).toContain("a job outlived its eval")
  expect(events).toMatchObject([{ type: "actor.crashed" }])
  // What the scheduler still says of the dead shell's evals is nobody's.
  jobs[1]!.onStopped("interrupted", "terminated")
  jobs[1]!.onLost("host-killed")
  expect(jobs[1]!.isUnseen()).toBe(false)
  expect(exits).toHaveLength(1)
})
