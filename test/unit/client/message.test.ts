// What of a request is refused before it is sent.
import { expect, test } from "vitest"
import { requestText } from "../../../runtime/client/message.ts"

const textOf = (params: unknown, bytesMax = 1_000): unknown => requestText({ id: 1, method: "eval", params }, bytesMax)

const loop: Record<string, unknown> = { list: [] }
;(loop["list"] as unknown[]).push({ back: loop })
let deep: unknown = 1
for (let depth = 0; depth < 100_000; depth++) deep = [deep]

test.each<[string, unknown, string]>([
  [
    "a BigInt",
    { code: "1", timeoutMs: 5n },
    "eval: the parameter 'timeoutMs' is a BigInt; what a request takes must be JSON.",
  ],
  ["a function in a list", { args: [1, { f: () => 1 }] }, "the parameter 'args[1].f' is a function"],
  ["a symbol", { code: Symbol("a") }, "the parameter 'code' is a symbol"],
  ["a cycle", { args: loop }, "the parameter 'args.list[0].back' holds itself"],
  [
    "a getter that throws",
    Object.defineProperty({}, "a", {
      enumerable: true,
      get: () => {
        throw new Error("no")
      },
    }),
    "eval: no;",
  ],
  ["what is too deep", { args: deep }, "call stack"],
])("%s is no JSON, and named where that is possible", (_what, params, message) => {
  expect(() => textOf(params)).toThrow(
    expect.objectContaining({
      name: "RequestError",
      kind: "invalid_options",
      code: -32602,
      message: expect.stringContaining(message) as string,
    }) as Error,
  )
})

test("what JSON holds is sent as it is, shared parts and absent parameters too", () => {
  const shared = { a: 1 }
  const at = new Date(0)
  expect(textOf({ x: shared, y: shared, line: undefined, at })).toMatchObject({
    text: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eval", params: { x: shared, y: shared, at } }),
  })
})

test("bytes are counted, not units", () => {
  const { bytes } = requestText({ id: 1, method: "eval", params: { code: "é𝛑" } }, 1_000)
  expect(() => textOf({ code: "é𝛑" }, bytes)).not.toThrow()
  expect(() => textOf({ code: "é𝛑" }, bytes - 1)).toThrow(
    /has \d+ bytes or more and is above the server's limit of \d+ bytes/,
  )
})
