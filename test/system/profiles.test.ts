// A host serves one workspace and one profile: sessions of two profiles share globals and no process.
import { expect, test } from "vitest"
import { until } from "../until.ts"
import { useNacre } from "./nacre-under-test.ts"

const under = useNacre({ hosts: { min: 1, max: 2 } })

test("sessions of two profiles never share a host, and see the same globals", async () => {
  const standard = await under.open()
  const minimal = await under.open({ profile: "minimal" })
  await standard.eval(`Workspace.bind("rate", 2)`)
  const { value } = await minimal.eval(`rate * 21 + typeof setTimeout + typeof URL`)
  expect(value?.data).toBe("42undefinedundefined")
  expect((await standard.eval(`new URL("?x", "https://h/").href`)).value?.data).toBe("https://h/?x")
  expect(minimal.worker!.host.pid).not.toBe(standard.worker!.host.pid)
  const groups = new Set(under.nacre.placement().map(({ group }) => group))
  expect(groups).toContain("main/minimal")
  expect(groups).toContain("main/standard")
  // The last one of a profile takes its host with it; the main workspace's hosts stay.
  await minimal.close()
  await until("the host of profile minimal is gone", () =>
    under.nacre.placement().every(({ group }) => group !== "main/minimal"),
  )
  expect((await standard.eval(`rate`)).value?.data).toBe(2)
})

test("what does not parse says its place once", async () => {
  const session = await under.open()
  const { error } = await session.eval("let x = ;", { file: "a.ts", line: 7 })
  expect(error?.rendered.match(/7:9/g)).toEqual(["7:9"])
  expect(error?.rendered).toMatch(/^SyntaxError: .*\(a\.ts:7:9\)\n7 \| let x = ;\n/)
})
