// Deep and long values: whatever a session hands over, decoding it takes the embedder's loop time in proportion to it, or it is refused.
//
// Nothing here measures time. The sizes are such that an algorithm of the square of them would not end within a test's timeout.
import { expect, test } from "vitest"
import { commitDelta, SessionState } from "../../../runtime/session/state.ts"
import { decodeValue } from "../../../runtime/wire/values/decode.ts"
import { encodeValue } from "../../../runtime/wire/values/encode.ts"
import { processEncodeHooks } from "../../../runtime/wire/values/process-hooks.ts"

const hooks = { ...processEncodeHooks, standInPrototype: (prototype: object) => prototype }

function nested(depth: number, wrap: (inner: unknown) => unknown): unknown {
  let value: unknown = null
  for (let i = 0; i < depth; i++) value = wrap(value)
  return value
}

test.each<[string, (inner: unknown) => unknown]>([
  ["objects", (inner) => ({ inner })],
  ["arrays", (inner) => [inner]],
  ["frozen objects", (inner) => Object.freeze({ inner })],
  ["maps", (inner) => new Map([["inner", inner]])],
  ["keys of maps", (inner) => new Map([[inner, 1]])],
  ["sets", (inner) => new Set([inner])],
  ["errors", (inner) => new Error("outer", { cause: inner })],
])("50,000 nested %s come back", (_what, wrap) => {
  const encoded = encodeValue(nested(50_000, wrap), hooks)
  if (!("table" in encoded)) throw new Error(JSON.stringify(encoded))
  expect(decodeValue(encoded.table, encoded.chunks)).toBeDefined()
})

test.each<[string, (inner: unknown) => unknown]>([
  ["an object", (inner) => Object.create(inner as object)],
  ["an array", (inner) => Object.setPrototypeOf([], inner as object)],
])("%s with a thousand prototypes travels; one with more cannot", (_what, wrap) => {
  expect(encodeValue(nested(900, wrap), hooks)).toHaveProperty("table")
  expect(encodeValue(nested(2_000, wrap), hooks)).toEqual({
    ephemeral: { what: "an object with more than 1000 prototypes", path: "" },
  })
})

test.each<[string, () => unknown]>([
  ["many objects", () => Array.from({ length: 300 }, () => ({}))],
  ["many leaves", () => Array.from({ length: 600 }, () => null)],
  ["one long string", () => ["x".repeat(10_000)]],
])("more parts than the limit are too large, bytes are not: %s", (what, make) => {
  const encoded = encodeValue(make(), hooks, Infinity, "reject", "", 1_000)
  if (what === "one long string") expect(encoded).toHaveProperty("table")
  else expect(encoded).toEqual({ tooLarge: true })
})

test("a restored error captures no stack of ours, and the limit is as it was", () => {
  const encoded = encodeValue(new RangeError("mine"), hooks)
  if (!("table" in encoded)) throw new Error("not encoded")
  const before = Error.stackTraceLimit
  const decoded = decodeValue(encoded.table, encoded.chunks) as Error
  expect(Error.stackTraceLimit).toBe(before)
  expect(decoded).toBeInstanceOf(RangeError)
  expect(decoded.stack).toContain("depth.test.ts")
})

test("a commit of 200,000 names at once takes time in proportion to them", () => {
  const state = new SessionState()
  const names = Array.from({ length: 200_000 }, (_, index) => `n${index}`)
  commitDelta(state, {
    set: names.map((name, index) => ({ name, readonly: index % 2 === 0 })),
    plain: names.map((name) => ({ name, value: 1 })),
  })
  expect(state.locals.size).toBe(200_000)
  expect([state.locals.get("n0")?.readonly, state.locals.get("n1")?.readonly]).toEqual([true, false])
})
