// `nacre request`: one request, one line.
// oxlint-disable typescript/no-unsafe-type-assertion, typescript/no-explicit-any -- answers are JSON, whose shape is what the tests check
import { expect, it } from "vitest"
import { nacre } from "../nacre-process.ts"

const answerOf = (stdout: string): any => JSON.parse(stdout)

it("answers a request that leaves out what every request says", async () => {
  const { code, stdout, stderr } = await nacre([
    "request",
    '{"method":"eval","params":{"code":"console.log(1); 6 * 7"}}',
  ])
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  expect(stdout.trimEnd().split("\n")).toHaveLength(1)
  expect(answerOf(stdout)).toMatchObject({ jsonrpc: "2.0", id: 1, result: { status: "ok", value: { data: 42 } } })
})

it("answers a batch from standard input, in one session", async () => {
  const batch = [
    { method: "submit", params: { source: "function f() { return 1 }" } },
    { method: "eval", params: { code: "f()" }, id: "two" },
    { method: "initialize" },
  ]
  const first = await nacre(["request", "-"], JSON.stringify(batch.slice(0, 2)))
  expect(first.code).toBe(0)
  expect(answerOf(first.stdout)).toMatchObject([
    { id: 1, result: { status: "committed" } },
    { id: "two", result: { value: { data: 1 } } },
  ])
  const initialize = await nacre(["request", JSON.stringify(batch[2])])
  expect(answerOf(initialize.stdout)).toMatchObject({ id: 1, result: { protocolVersion: 1 } })
})

it.each([
  ["an error answer", '{"method":"nothing"}', "method_not_found"],
  ["no JSON", "{", "parse_failed"],
  ["no request", "1", "invalid_request"],
])("exits with 1: %s", async (_what, json, kind) => {
  const { code, stdout } = await nacre(["request", json])
  expect(code).toBe(1)
  expect(answerOf(stdout).error.data.kind).toBe(kind)
})

it("is told how to be used", async () => {
  expect(await nacre(["request"])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("nacre request needs") as string,
  })
  expect(await nacre(["session", "--framing", "tabs"])).toMatchObject({
    code: 2,
    stderr: "nacre: --framing takes headers or lines, not 'tabs'.\n",
  })
})
