// Pins and retained values when the processes die that run their session.
import { expect, test } from "vitest"
import type { Outcome, Session } from "nacre"
import { refusal, useNacre } from "./nacre-under-test.ts"

const it = useNacre({ hosts: { min: 1, max: 1, threadsPerHostMax: 1 } })

const textOf = ({ value, error, status }: Outcome): string => value?.text ?? error?.message ?? status
const open = (): Promise<Session> => it.open({ check: "syntax" })

async function retain(session: Session, source: string): Promise<string> {
  const { value } = await session.eval(source, { retainValues: true })
  return value!.handle!
}

test("pins, their data and retained values survive a killed host between all calls", async () => {
  const session = await open()
  await session.submit(
    "const log = [] as string[]\nfunction f(s: string) { log.push(s); return log.join('') }\nlet n = 0",
  )
  const value = await retain(session, "() => [++n, f('r')]")
  const pin = await session.pinRevision()
  await it.killHosts()
  await session.submit({ source: "const log = ['new']", onDataLoss: "rebuild" })
  await it.killHosts()
  expect(textOf(await session.callBinding({ name: "f", args: ["a"], pin }))).toBe("'a'")
  await it.killHosts()
  expect(textOf(await session.callValue({ value }))).toBe("[ 1, 'ar' ]")
  await it.killHosts()
  expect(textOf(await session.callBinding({ name: "f", args: ["b"], pin: pin.id }))).toBe("'arb'")
  await it.killHosts()
  await session.releaseValue(value)
  expect(pin.release()).toBe(true)
  await it.killHosts()
  expect(textOf(await session.callBinding({ name: "f", args: ["c"] }))).toBe("'newc'")
  expect(await session.run("[n, log]")).toEqual([1, ["new", "c"]])
})

test("a value that only its process holds is listed as such, and lost with it", async () => {
  const session = await open()
  const outcome = await session.eval("((weak) => () => weak.has({}))(new WeakMap())", { retainValues: "functions" })
  const value = outcome.value!.handle!
  expect(outcome.ephemeral).toEqual([value])
  expect(session.retainedValues()).toMatchObject([{ value, isFunction: true, held: "ephemeral" }])
  expect(textOf(await session.callValue({ value }))).toBe("false")
  await it.killHosts()
  expect(session.retainedValues()).toMatchObject([{ value, held: "lost" }])
  expect(await refusal(session.callValue({ value }))).toMatchObject({ kind: "binding_lost" })
  expect((await session.eval("1")).lost).toEqual([value])
  await session.releaseValue(value)
  expect(session.retainedValues()).toEqual([])
})
