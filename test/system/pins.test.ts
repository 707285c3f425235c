// Pins and retained values across what can happen to a session: evals that are stopped, rollbacks, limits, and random histories. What the calls
// themselves mean is in `test/conformance/revisions/`.
import fc from "fast-check"
import { expect, test } from "vitest"
import type { Outcome, Session } from "nacre"
import { refusal, useNacre } from "./nacre-under-test.ts"

// Nothing here ends a host: with one and its one thread, whatever runs next takes the place of the realm.
const it = useNacre({
  hosts: { min: 1, max: 1, threadsPerHostMax: 1 },
  limits: { residentsPerWorkerMax: 1, pinsMax: 3 },
})

const textOf = ({ value, error, status }: Outcome): string => value?.text ?? error?.message ?? status
const open = (): Promise<Session> => it.open({ check: "syntax" })

async function retain(session: Session, source: string): Promise<string> {
  const { value } = await session.eval(source, { retainValues: true })
  return value!.handle!
}

async function evict(session: Session): Promise<void> {
  await (await it.open()).eval("1")
  expect(session.isResident).toBe(false)
}

test("a call that is stopped leaves the value and the session as they were", async () => {
  const session = await open()
  const value = await retain(session, "let n = 0; (how: string) => { n++; if (how === 'spin') for (;;) {} return n }")
  const timedOut = await session.callValue({ value, args: ["spin"], timeoutMs: 100 })
  expect(timedOut.status).toBe("timeout")
  expect(textOf(await session.callValue({ value, args: ["go"] }))).toBe("1")
  await session.submit("function spin() { console.log('spinning'); n++; for (;;) {} }")
  await session.submit("function spin() { return n }")
  const abort = new AbortController()
  const spinning = session.callBinding({
    name: "spin",
    revision: 2,
    signal: abort.signal,
    onOutput: () => abort.abort(),
  })
  // The first revision is that of no declarations, so the second submission's is the second.
  const stopped = await session.callBinding({ name: "spin", revision: 1, timeoutMs: 100 })
  expect([(await spinning).status, stopped.status]).toEqual(["ok", "timeout"])
  expect(textOf(await session.callBinding({ name: "spin" }))).toBe("1")
  expect(textOf(await session.callValue({ value, args: ["go"] }))).toBe("2")
})

test("a parked call of an earlier revision is interrupted", async () => {
  const session = await open()
  await session.submit("let n = 0\nasync function f() { n = 5; await tools.hold('parked'); return 1 }")
  await session.submit("async function f() { return n }")
  const call = session.callBinding({ name: "f", revision: 1 })
  await it.parked("parked")
  await session.interrupt()
  expect((await call).status).toBe("interrupted")
  expect(textOf(await session.callBinding({ name: "f" }))).toBe("0")
})

test("rolling back gives what was retained by then, forks have nothing, and closing ends it", async () => {
  const session = await open()
  const before = await retain(session, "let n = 0; () => ++n")
  const released = await retain(session, "() => 'released'")
  await session.mark("start")
  const after = await retain(session, "() => n")
  await session.releaseValue(released)
  expect(textOf(await session.callValue({ value: before }))).toBe("1")
  const fork = await session.fork()
  expect(fork.retainedValues()).toEqual([])
  expect(await refusal(fork.callValue({ value: before }))).toMatchObject({ kind: "value_not_found" })
  await session.rollback("start")
  expect(textOf(await session.callValue({ value: before }))).toBe("1")
  expect((await refusal(session.callValue({ value: after }))).kind).toBe("value_not_found")
  expect((await refusal(session.callValue({ value: released }))).kind).toBe("value_not_found")
  expect(await session.run("n")).toBe(1)
  await session.close()
  expect((await refusal(session.callValue({ value: before }))).kind).toBe("session_not_found")
  expect((await refusal(session.releaseValue(before))).kind).toBe("session_not_found")
  expect((await refusal(session.pinRevision())).kind).toBe("session_not_found")
})

test("pins are few, listed, and released once", async () => {
  const session = await open()
  await session.submit("function f() { return 1 }")
  const pins = [await session.pinRevision(0), await session.pinRevision(1), await session.pinRevision()]
  expect(session.pins()).toEqual(pins.map(({ id: pin, revision }) => ({ pin, revision })))
  expect(await refusal(session.pinRevision())).toMatchObject({ kind: "handle_limit" })
  expect(await refusal(session.pinRevision(2))).toMatchObject({ kind: "revision_not_found" })
  expect([pins[0]!.release(), pins[0]!.release()]).toEqual([true, false])
  expect(await refusal(session.callBinding({ name: "f", pin: pins[0]! }))).toMatchObject({ kind: "pin_not_found" })
  expect(await refusal(session.releasePin(pins[0]!.id))).toMatchObject({ kind: "pin_not_found" })
  expect(await refusal(session.callBinding({ name: "f", pin: pins[1]!, revision: 1 }))).toMatchObject({
    kind: "invalid_options",
  })
  await session.pinRevision(1)
})

test("a thousand values are retained and no more", async () => {
  const session = await open()
  await session.run("let n = 0; const make = (i: number) => () => i * 1000 + n")
  const handles: string[] = []
  const calls = Array.from({ length: 1_000 }, (_, i) => i)
  for (const i of calls) {
    const { value } = await session.callBinding({ name: "make", args: [i], retainValues: true })
    handles.push(value!.handle!)
  }
  expect(await refusal(session.eval("() => 1", { retainValues: true }))).toMatchObject({ kind: "handle_limit" })
  expect(session.retainedValues()).toHaveLength(1_000)
  await session.run("n = 7")
  await evict(session)
  expect(textOf(await session.callValue({ value: handles[999]! }))).toBe("999007")
  for (const handle of handles) await session.releaseValue(handle)
  expect(session.retainedValues()).toEqual([])
  expect(textOf(await session.callBinding({ name: "make", args: [1], retainValues: true }))).toBe(
    "[Function (anonymous)]",
  )
})

test("an eval that may retain counts before it has ended", async () => {
  const session = await open()
  const all = Array.from({ length: 60 }, () => session.eval("5", { retainValues: true }))
  await Promise.all(all)
  expect(session.retainedValues()).toEqual([])
})

test("no eval runs inside of a call of an earlier revision", async () => {
  const session = await it.open({
    check: "syntax",
    tools: { inside: async () => (await refusal(session.eval("1", { nested: true }))).kind },
  })
  await session.submit("function f() { return tools.inside() }\nfunction g() {}")
  await session.submit("function g() { return 1 }")
  expect(textOf(await session.callBinding({ name: "f", revision: 1 }))).toBe("'unsupported'")
})

test.each([
  [{ name: "f", revision: "1" }, /revision/i],
  [{ name: "f", pin: 5 }, /pin of a call/],
  [{ name: "f", retainValues: "some" }, /retainValues/],
  [{ name: "f", args: 5 }, /args/],
])("a call %j is refused by name", async (call, message) => {
  const session = await open()
  await expect(session.callBinding(call as never)).rejects.toMatchObject({
    kind: "invalid_options",
    message: expect.stringMatching(message) as string,
  })
})

// A naive model: each revision is what its three names were; the list is the only data with a state, and is there for a revision as long as it
// is in force, or somebody held a revision that had it when it was replaced.
interface Model {
  revisions: { code: number; limit: number; list: number }[]
  lists: Map<number, number | undefined>
  held: Map<string, number>
}

const command = fc.oneof(
  fc.record({ do: fc.constant("code" as const) }),
  fc.record({ do: fc.constant("limit" as const) }),
  fc.record({ do: fc.constant("list" as const) }),
  fc.record({ do: fc.constant("pin" as const), at: fc.nat() }),
  fc.record({ do: fc.constant("retain" as const), at: fc.nat() }),
  fc.record({ do: fc.constant("release" as const), at: fc.nat() }),
  fc.record({ do: fc.constant("call" as const), at: fc.nat() }),
  fc.record({ do: fc.constant("callHeld" as const), at: fc.nat() }),
  fc.record({ do: fc.constant("evict" as const) }),
)

test("random changes, pins, values and calls have what a naive model has", { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 30 }), async (commands) => {
      const session = await open()
      const source = (code: number, limit: number, list: number): string[] => [
        `function tag() { return 'code ${code}' }`,
        `const limit = ${limit} + 0`,
        `const list = Array.from({ length: ${list} }, () => 0)`,
      ]
      const use =
        "function use() { list.push(0); return [tag(), limit, list.length].join() }\nfunction make() { return () => use() }"
      await session.submit([...source(1, 1, 1), use].join("\n"))
      const model: Model = {
        revisions: [
          { code: 0, limit: 0, list: 0 },
          { code: 1, limit: 1, list: 1 },
        ],
        lists: new Map([[1, 1]]),
        held: new Map(),
      }
      const now = () => model.revisions.at(-1)!
      const pinsHeld = () => [...model.held.keys()].filter((key) => key.startsWith("pin_")).length
      const isHeld = (list: number) =>
        [...model.held.values()].some((revision) => model.revisions[revision]!.list === list)
      const expected = (revision: number): string => {
        if (revision === 0) return "not defined"
        const { code, limit, list } = model.revisions[revision]!
        const length = model.lists.get(list)
        if (length === undefined) return "was lost"
        model.lists.set(list, length + 1)
        return `code ${code},${limit},${length + 1}`
      }
      let next = 1
      for (const step of commands) {
        const at = "at" in step ? step.at : 0
        const revision = at % model.revisions.length
        const [held] = [...model.held.keys()].slice(at % Math.max(1, model.held.size))
        if (step.do === "evict") await evict(session)
        else if (step.do === "code" || step.do === "limit" || step.do === "list") {
          next += 1
          const { code, limit, list } = Object.assign({ ...now() }, { [step.do]: next })
          const [tag, constant, data] = source(code, limit, list)
          const text = step.do === "code" ? tag! : step.do === "limit" ? constant! : data!
          expect(await session.submit({ source: text, onDataLoss: "rebuild" })).toMatchObject({ status: "committed" })
          if (step.do === "list") {
            if (!isHeld(now().list)) model.lists.set(now().list, undefined)
            model.lists.set(next, next)
          }
          model.revisions.push({ code, limit, list })
        } else if (step.do === "pin" && pinsHeld() < 3)
          model.held.set((await session.pinRevision(revision)).id, revision)
        else if (step.do === "retain" && revision > 0) {
          const { value } = await session.callBinding({ name: "make", revision, retainValues: true })
          model.held.set(value!.handle!, revision)
        } else if (step.do === "release" && held !== undefined) {
          await (held.startsWith("pin_") ? session.releasePin(held) : session.releaseValue(held))
          model.held.delete(held)
          for (const list of model.lists.keys())
            if (list !== now().list && !isHeld(list)) model.lists.set(list, undefined)
        } else if (step.do === "call") {
          expect(textOf(await session.callBinding({ name: "use", revision }))).toContain(expected(revision))
        } else if (step.do === "callHeld" && held !== undefined) {
          const outcome = await (held.startsWith("pin_")
            ? session.callBinding({ name: "use", pin: held })
            : session.callValue({ value: held }))
          expect(textOf(outcome)).toContain(expected(model.held.get(held)!))
        }
      }
      expect(textOf(await session.callBinding({ name: "use" }))).toContain(expected(model.revisions.length - 1))
      await session.close()
    }),
    { numRuns: 25 },
  )
})
