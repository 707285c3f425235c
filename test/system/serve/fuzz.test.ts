// Ten thousand malformed frames and requests against the built program: an error each, no crash, memory flat.
import { readFileSync } from "node:fs"
import * as fc from "fast-check"
import { expect, test } from "vitest"
import { NacreProcess } from "../nacre-process.ts"

const count = 10_000

const request = { jsonrpc: "2.0", method: "eval", params: { code: "1" } }
/** A message of which each is answered with exactly one error. */
const malformed: fc.Arbitrary<string> = fc.oneof(
  // Text that is no JSON.
  fc.string().filter((text) => text.trim() !== "" && !isJson(text)),
  // JSON that is no request.
  fc.oneof(fc.integer(), fc.string(), fc.constant(null), fc.boolean()).map((it) => JSON.stringify(it)),
  fc.constantFrom("[]", "{}", '{"jsonrpc":"2.0"}', '{"jsonrpc":"1.0","id":1,"method":"eval"}'),
  fc.json().map((it) => `{"jsonrpc":"2.0","id":{},"method":"eval","params":${it}}`),
  // Requests whose parameters are anything.
  fc
    .tuple(
      fc.constantFrom("eval", "submit", "callBinding", "attach", "interrupt", "nothing"),
      fc.integer(),
      fc.jsonValue(),
    )
    .map(([method, id, value]) => JSON.stringify({ ...request, id, method, params: { ["unknown"]: value } })),
  fc.integer().map((id) => JSON.stringify({ ...request, id, params: [1] })),
)

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function residentMegabytes(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024
}

test.each(["headers", "lines"] as const)("%s", async (framing) => {
  const messages = fc.sample(malformed, { numRuns: count, seed: 7 }).map((text) => text.replaceAll(/[\r\n]/g, " "))
  const framed = (text: string): string =>
    framing === "lines" ? `${text}\n` : `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  const process = new NacreProcess(["session", "--framing", framing])
  const { stdin, pid } = process.child
  stdin.write(framed('{"jsonrpc":"2.0","id":"begin","method":"initialize"}'))
  stdin.write(framed('{"jsonrpc":"2.0","id":"warm","method":"eval","params":{"code":"1"}}'))
  await process.until(/"id":"warm"/)
  const rounds = 10
  const sizes: number[] = []
  for (let round = 0; round < rounds; round++) {
    const part = messages.slice((round * count) / rounds, ((round + 1) * count) / rounds)
    stdin.write(part.map(framed).join(""))
    // A stop sign keeps rounds apart.
    const from = process.stdout.length
    stdin.write(framed(`{"jsonrpc":"2.0","id":"round ${round}","method":"isComplete","params":{"code":"1"}}`))
    await process.until(new RegExp(`"id":"round ${round}"`), from)
    sizes.push(residentMegabytes(pid!))
  }
  const { code, stdout, stderr } = await process.end(
    framed('{"jsonrpc":"2.0","id":"last","method":"eval","params":{"code":"1 + 1"}}'),
  )
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" })
  const errors = stdout.match(/"error":\{"code":-32/g)!.length
  // A stop sign that comes while the connection has its maximum of requests under way is refused like any other.
  const refused = stdout.match(/"id":"round \d+","error"/g)?.length ?? 0
  expect(errors - refused).toBe(count)
  expect(stdout).toMatch(/"id":"last","result":\{[^}]*"status":"ok"/)
  expect(sizes.at(-1)! - sizes[1]!).toBeLessThan(64)
})
