// An eval that is sent while nobody has noticed yet that its host is dead: it has not begun, so it runs elsewhere instead of crashing.
import { expect, test } from "vitest"
import { useNacre } from "./nacre-under-test.ts"

const under = useNacre()

test("an eval requested right after its host was killed sees what was committed before", async () => {
  const session = await under.open()
  await session.eval("let x = 41")
  for (let round = 0; round < 5; round += 1) {
    // In one turn, so that the embedder cannot have noticed.
    for (const pid of under.hostPids()) process.kill(pid, "SIGKILL")
    const outcome = await session.eval("x += 1")
    expect([outcome.status, outcome.value?.text, outcome.lost]).toEqual(["ok", String(42 + round), []])
  }
})

test("an eval that had begun on a killed host has crashed, and what was sent behind it runs elsewhere", async () => {
  const [first, second] = [await under.open(), await under.open()]
  const { outcome: computing } = await under.computing(first, "let y = 1; console.log('begun'); for (;;);")
  const behind = second.eval("6 * 7")
  for (const pid of under.hostPids()) process.kill(pid, "SIGKILL")
  expect(await computing).toMatchObject({ status: "crashed", because: "host-killed" })
  expect(await behind).toMatchObject({ status: "ok", value: { text: "42" } })
})
