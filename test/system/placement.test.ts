// Where sessions are built when nothing is under way: they stay there, so they must not all be built on one host.
import { expect, test } from "vitest"
import { useNacre } from "./nacre-under-test.ts"
import { until } from "../until.ts"

const under = useNacre({ hosts: { min: 2, max: 2 } })

test("sessions built one after another spread over the hosts", async () => {
  await until("two hosts with a thread", () => {
    const hosts = under.nacre
      .placement()
      .filter(({ group, workers }) => group !== undefined && workers.some(({ isReady }) => isReady))
    return hosts.length === 2
  })
  const sessions = await Promise.all(Array.from({ length: 8 }, () => under.open()))
  for (const session of sessions) await session.eval("let x = 1")
  // A second thread's start may coincide with the first evals.
  const perHost = new Map<number, number>()
  for (const session of sessions) {
    const { pid } = session.worker!.host
    perHost.set(pid, (perHost.get(pid) ?? 0) + 1)
  }
  expect(perHost.size).toBe(2)
  expect(Math.min(...perHost.values())).toBeGreaterThanOrEqual(2)
})
