// The checker's process: lazily started, supervised, and never anybody's problem but of who asked.
import { expect, test } from "vitest"
import { Nacre } from "nacre"
import type { DeclarationText } from "../../runtime/checker/declarations.ts"
import { hostProcesses } from "../leak-check.ts"
import { until } from "../until.ts"
import { refusal, useNacre } from "./nacre-under-test.ts"

const under = useNacre({ limits: { checksWaitingMax: 8 } })
const environment = { id: "env", profile: "standard", ambient: "", preludes: [], locals: [] }
let sessions = 0

/** A request of a fresh session, or of one whose base has these declarations. */
function request(change: Record<string, string>, statements = "", whole: Record<string, string> = {}) {
  const texts = (from: Record<string, string>): DeclarationText[] =>
    Object.entries(from).map(([key, source]) => ({ key, source }))
  const isFresh = Object.keys(whole).length === 0
  return {
    session: `chk-${++sessions}`,
    base: isFresh ? "" : "base",
    set: "next",
    whole: () => texts(whole),
    environment,
    changed: texts(change),
    removed: [],
    statements,
  }
}

/** Types that TypeScript computes with for minutes: each of them reaches its limit, one after the other. */
const busy = `namespace busy {
  type D = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9
  type T = \`\${D}\${D}\${D}\${D}\`
${Array.from({ length: 20 }, (_, n) => `  export const x${n}: { [K in T]: { [L in T]: K extends L ? ${n} : -1 }[T] }[T] = 0`).join("\n")}
}`

test("nothing runs before the first check; then it stands in the tree, and answers", async () => {
  await using nacre = await Nacre.start({ hosts: { min: 1 } })
  expect(nacre.tree().text).not.toContain("checker")
  expect(nacre.checker.pid).toBeUndefined()
  const answer = await nacre.checker.check(request({ f: "function f(n: number) { return n }" }, "f('x'); let y = f(1)"))
  expect(answer).toMatchObject({
    diagnostics: [{ code: 2345, start: 2, length: 3, category: "error", isNew: true }],
    schemes: [{ name: "f", text: "declare function f(n: number): number;" }],
    localTypes: [{ name: "y", keyword: "let", type: "number" }],
  })
  expect(nacre.tree().text).toMatch(/checker[^]*pid \d+/)
  expect(hostProcesses()).toContain(nacre.checker.pid)
  const { pid } = nacre.checker
  await nacre.stop()
  expect(hostProcesses()).not.toContain(pid)
  expect((await refusal(nacre.checker.check(request({})))).kind).toBe("nacre_stopped")
})

test("a base that the checker does not hold is sent, and old mistakes in it refuse nothing", async () => {
  const whole = {
    f: "function f(n: number) { return n }",
    g: "const g = () => f('x')",
    h: "const h = () => f(1).length",
  }
  const { diagnostics } = await under.nacre.checker.check(
    request({ f: "function f(n: number) { return [n] }" }, "", whole),
  )
  expect(diagnostics.map(({ key, code, isNew }) => [key, code, isNew])).toEqual([["g", 2345, false]])
})

test("killed under a request, it starts again and the request is answered", async () => {
  await under.nacre.checker.check(request({ a: "const a = 1" }))
  const asked = under.nacre.checker.check(request({ b: "const b: string = 1" }))
  process.kill(under.nacre.checker.pid!, "SIGKILL")
  expect((await asked).diagnostics).toMatchObject([{ code: 2322 }])
  await until("the loss to be told", () => under.events.some((it) => it.type === "checker.lost"))
})

test("killed twice under a request, the request ends as checker_unavailable, and the next is answered", async () => {
  const { checker } = under.nacre
  await checker.check(request({ a: "const a = 1" }))
  const refused = refusal(checker.check(request({ busy }, "")))
  const first = checker.pid!
  process.kill(first, "SIGKILL")
  const second = await until("another process", () => started(first))
  process.kill(second, "SIGKILL")
  const { kind, message } = await refused
  expect([kind, message]).toEqual(["checker_unavailable", expect.stringContaining("2 times")])
  expect((await checker.check(request({ a: "const a = 1" }))).diagnostics).toEqual([])
})

/** The process that came after that one, once it is ready. */
function started(after: number): number | undefined {
  const pids = under.events.flatMap((it) => (it.type === "checker.started" ? [it.pid] : []))
  return pids.at(-1) === after ? undefined : pids.at(-1)
}

test("types without end: the request ends at its deadline, others are answered, and evals notice nothing", async () => {
  const { checker } = under.nacre
  const session = await under.open()
  await checker.check(request({ a: "const a = 1" }))
  const refused = refusal(checker.check(request({ busy }, ""), { deadlineMs: 1_000 }))
  const other = checker.check(request({ b: "const b = 2" }, "b.x"))
  for (let n = 0; n < 20; n += 1) expect(await session.run(`${n} + 1`)).toBe(n + 1)
  const { kind, message } = await refused
  expect([kind, message]).toEqual(["checker_unavailable", expect.stringContaining("1000 ms")])
  expect((await other).diagnostics).toMatchObject([{ code: 2339 }])
  expect(under.events.filter((it) => it.type === "host.lost")).toEqual([])
})

test("waiting requests are bounded, and can be given up", async () => {
  const { checker } = under.nacre
  await checker.check(request({ a: "const a = 1" }))
  const held = refusal(checker.check(request({ busy }, ""), { deadlineMs: 1_500 }))
  const stop = new AbortController()
  const waiting = Array.from({ length: 8 }, () =>
    checker.check(request({ a: "const a = 1" }), { signal: stop.signal }).catch((error: Error) => error.name),
  )
  expect(await refusal(checker.check(request({ a: "const a = 1" })))).toMatchObject({
    kind: "overloaded",
    message: expect.stringContaining("limits.checksWaitingMax"),
  })
  stop.abort()
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(["AbortError"]))
  expect((await held).kind).toBe("checker_unavailable")
})

test("a request given up while it is worked on still has its end", async () => {
  const { checker } = under.nacre
  await checker.check(request({ a: "const a = 1" }))
  const before = checker.pid
  const refused = checker.check(request({ busy }, ""), { deadlineMs: 1_000, signal: AbortSignal.timeout(50) })
  await expect(refused).rejects.toMatchObject({ name: "TimeoutError" })
  expect((await checker.check(request({ a: "const a: 2 = 1" }))).diagnostics).toMatchObject([{ code: 2322 }])
  expect(checker.pid).not.toBe(before)
})

test("huge input is answered, or ended at the deadline", async () => {
  const { checker } = under.nacre
  const lines = Array.from({ length: 20_000 }, (_, n) => `let v${n} = [${n}, "x"].length`).join("\n")
  const answer = await checker.check(request({}, `${lines}\nv1.x`), { deadlineMs: 120_000 })
  expect(answer.diagnostics).toMatchObject([{ code: 2339 }])
  const nested = `const n = ${"[".repeat(100)}1${"]".repeat(100)}`
  expect((await checker.check(request({ n: nested }), { deadlineMs: 60_000 })).diagnostics).toEqual([])
})

test("session code reaches no file", async () => {
  const { checker } = under.nacre
  const { diagnostics } = await checker.check(
    request({
      a: `/// <reference path="/etc/passwd" />\n/// <reference types="node" />\nconst a: typeof import("/etc/passwd") = 1`,
      b: `import b from "../../package.json"`,
      c: `const c = () => import("../ses_other/-secret")`,
    }),
  )
  expect(diagnostics.filter(({ message }) => /root:|nologin/.test(message))).toEqual([])
})
