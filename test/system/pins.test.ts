// Calls of earlier revisions, pins, and values that the embedder holds by handles: each case as it stands, and again with the realm evicted
// after each step.
import { expect, test } from "vitest"
import type { Outcome, Session } from "nacre"
import { refusal, useNacre } from "./nacre-under-test.ts"

const it = useNacre({
  hosts: { min: 1, max: 1, threadsPerHostMax: 1 },
  limits: { residentsPerWorkerMax: 1, retainedValuesMax: 4, pinsMax: 3 },
})

const textOf = ({ value, error, status }: Outcome): string => value?.text ?? error?.message ?? status

describeBoth(
  "a call of an earlier revision finds everything as it was then, over the locals of now",
  async (session, settle) => {
    await session.submit("function g() { return 'old' }\nfunction f() { n += 1; return [g(), n] }\nlet n = 0")
    await settle()
    await session.submit("function g() { return 'new' }")
    await settle()
    expect(textOf(await session.callBinding({ name: "f", revision: 1 }))).toBe("[ 'old', 1 ]")
    await settle()
    expect(textOf(await session.callBinding({ name: "f" }))).toBe("[ 'new', 2 ]")
    await settle()
    const outcome = await session.callBinding({ name: "f", revision: 1 })
    expect(textOf(outcome)).toBe("[ 'old', 3 ]")
    expect(outcome).toMatchObject({
      revisionUsed: 1,
      revision: 2,
      rejected: [],
      committed: { set: ["n"], definitions: [] },
    })
    await settle()
    expect(await session.run("[...f(), g()]")).toEqual(["new", 4, "new"])
  },
)

describeBoth("a retained function is called with what it closes over", async (session, settle) => {
  const { value } = await session.eval("let n = 0; () => ++n", { retainValues: true })
  await settle()
  expect(value?.handle).toMatch(/^val_/)
  expect(textOf(await session.callValue({ value: value!.handle! }))).toBe("1")
  await settle()
  await session.eval("n = 10")
  await settle()
  expect(textOf(await session.callValue({ value: value!.handle! }))).toBe("11")
  expect(session.bindings.keys()).toEqual(["n"])
  await session.releaseValue(value!.handle!)
  await settle()
  expect((await refusal(session.callValue({ value: value!.handle! }))).kind).toBe("value_not_found")
  expect(session.retainedValues()).toEqual([])
})

function describeBoth(title: string, run: (session: Session, settle: () => Promise<void>) => Promise<void>): void {
  for (const evicts of [false, true]) {
    test(`${title}${evicts ? ", with a rebuild after each step" : ""}`, async () => {
      const session = await it.open({ check: "syntax" })
      const neighbour = evicts ? await it.open() : undefined
      await run(session, async () => {
        await neighbour?.eval("1")
      })
    })
  }
}
