// A synchronous call of session code whose answer comes too late: the code goes on, and the answer is nobody's.
import { expect, test } from "vitest"
import { useNacre } from "./nacre-under-test.ts"

const under = useNacre({ limits: { syncCallTimeoutMs: 1_000 } })

test("a queued write that its shell does not take in time is session_unresponsive, and the eval can go on", async () => {
  const session = await under.open()
  await session.eval("0")
  const { outcome } = await under.computing(
    session,
    `Session.current.bindings.atPut("before", 1)
     console.log("begun")
     let kind = "none"
     const end = performance.now() + 10_000
     while (kind === "none" && performance.now() < end) {
       try { Session.current.bindings.atPut("late", 1) } catch (error) { kind = error.kind }
     }
     await tools.echo()
     Session.current.bindings.atPut("after", 1)
     kind`,
  )
  // This process is the shell's: while it is busy nobody answers.
  const end = performance.now() + 4_000
  while (performance.now() < end);
  expect(await outcome).toMatchObject({ status: "ok", value: { data: "session_unresponsive" } })
  expect(await session.run("[before, after]")).toEqual([1, 1])
})
