// What session code writes: in order, live, bounded, and never another eval's.
import { expect, test } from "vitest"
import type { OutputChunk } from "nacre"
import { useNacre } from "./nacre-under-test.ts"

const under = useNacre({ limits: { outputBytesMax: 1_000 } })

const textOf = (output: readonly OutputChunk[], stream?: string): string =>
  output
    .filter((it) => stream === undefined || it.stream === stream)
    .map((it) => it.text)
    .join("")

test("arrives in order over both streams, numbered from 0 without gaps, live and in the outcome alike", async () => {
  const session = await under.open()
  const live: OutputChunk[] = []
  const outcome = await session.eval(
    `console.log("a"); console.error("b"); console.log("c"); await tools.echo(); console.warn("d"); console.info("e")`,
    { onOutput: (chunk) => live.push(chunk) },
  )
  expect(textOf(outcome.output)).toBe("a\nb\nc\nd\ne\n")
  expect(textOf(outcome.output, "stderr")).toBe("b\nd\n")
  expect(outcome.output.map((it) => it.seq)).toEqual(outcome.output.map((_, index) => index))
  expect(live).toEqual(outcome.output)
})

test("is seen while the code computes, also after an await and just before a loop", async () => {
  const session = await under.open()
  await session.eval(`console.log("an eval just before")`)
  for (const code of [
    `console.log("first"); console.log("last"); for (;;);`,
    `await tools.echo(); console.log("last"); for (;;);`,
  ]) {
    let seen = ""
    const outcome = session.eval(code, {
      onOutput: ({ text }) => {
        seen += text
        if (seen.includes("last\n")) void session.interrupt()
      },
    })
    expect(textOf((await outcome).output)).toContain("last\n")
  }
})

test("beyond the limit is cut at a whole character, and what was cut is counted in bytes", async () => {
  const session = await under.open()
  const outcome = await session.eval(`console.log("x".repeat(998) + "€uro"); console.log("more")`)
  expect(textOf(outcome.output)).toBe("x".repeat(998))
  expect(outcome.omittedBytes).toBe("€uro\n".length + 2 + "more\n".length)
  const exact = await session.eval(`console.log("x".repeat(999))`)
  expect(textOf(exact.output)).toHaveLength(1_000)
  expect(exact.omittedBytes).toBe(0)
})

test.each([
  ["console.log(text)", 1],
  ["console.log('a %s', text)", 3],
  ["console.log(text, { a: 1 })", 10],
  ["console.log('%%', text)", 3],
])("one line of 50 MB is cut and counted whole: %s", async (code, more) => {
  const session = await under.open()
  const outcome = await session.eval(`((text) => ${code})("x".repeat(50_000_000))`)
  expect(outcome.status).toBe("ok")
  expect(Buffer.byteLength(textOf(outcome.output))).toBe(1_000)
  expect(outcome.omittedBytes + 1_000).toBe(50_000_000 + more)
})

test("what was cut is counted also when the eval is killed", async () => {
  const session = await under.open()
  const { outcome } = await under.computing(session, `console.log("x".repeat(5_000)); for (;;);`)
  await session.interrupt()
  const { status, omittedBytes } = await outcome
  expect({ status, omittedBytes }).toEqual({ status: "interrupted", omittedBytes: 4_001 })
})

test("once cut stays cut: nothing later slips into room that a cut character left", async () => {
  const session = await under.open()
  const outcome = await session.eval(`console.log("x".repeat(998) + "€"); console.log(1); console.log(2)`)
  expect(textOf(outcome.output)).toBe("x".repeat(998))
})

test("keeps every kind of text: surrogate pairs across chunks, lone surrogates, controls, colours", async () => {
  const session = await under.open()
  const outcome = await session.eval(String.raw`console.log("\u{1F600}é\u0000\u001b[31m"); console.log("a\ud800b")`)
  expect(textOf(outcome.output)).toContain("\u{1F600}é\u0000\u001b[31m\n")
  expect(textOf(outcome.output)).toMatch(/a.b\n$/u)
})

test("in a flood does not stop the session, and the count adds up", async () => {
  const session = await under.open()
  const outcome = await session.eval(`for (let i = 0; i < 20_000; i++) console.log("line " + i)`)
  expect(outcome.status).toBe("ok")
  const written = Array.from({ length: 20_000 }, (_, i) => `line ${i}\n`.length).reduce((a, b) => a + b, 0)
  expect(Buffer.byteLength(textOf(outcome.output)) + outcome.omittedBytes).toBe(written)
})

test("of an embedder's listener that throws is an event, and the eval goes on", async () => {
  const session = await under.open()
  const outcome = await session.eval(`console.log("a"); await tools.echo(); console.log("b"); 1`, {
    onOutput: () => {
      throw new Error("the embedder's fault")
    },
  })
  expect(outcome).toMatchObject({ status: "ok", value: { data: 1 } })
  const crashed = under.events.splice(0).filter((it) => it.type === "actor.crashed")
  expect(crashed.length).toBeGreaterThan(0)
})

test("belongs to the eval that wrote it, also while another session writes on the same thread", async () => {
  const sessions = await Promise.all(Array.from({ length: 6 }, () => under.open()))
  const outcomes = await Promise.all(
    sessions.map((it, index) =>
      it.eval(`for (let i = 0; i < 5; i++) { console.log("${index}:" + i); await tools.echo() }`),
    ),
  )
  for (const [index, { output }] of outcomes.entries()) {
    expect(textOf(output)).toBe([0, 1, 2, 3, 4].map((i) => `${index}:${i}\n`).join(""))
  }
})

test("a promise shows nothing of what Node hangs on it", async () => {
  const session = await under.open()
  const { value, output } = await session.eval(`const p = new Promise(() => {}); console.log(p); ({ p })`)
  expect(value?.text).toBe("{ p: Promise { <state unknown> } }")
  expect(output.map((it) => it.text).join("")).toBe("Promise { <state unknown> }\n")
})

test.each([
  ["console.dir({ a: 1 }, { depth: 0 })", /^\{ a: 1 \}\n$/],
  [
    "function fail() { throw Object.assign(new RangeError('too far'), { code: 'E' }) } try { fail() } catch (e) { console.log('caught', e) }",
    /^caught RangeError: too far\n    at fail \(.*1:\d+\)\n    at .*1:\d+\)? \{ code: 'E' \}\n$/,
  ],
  [
    "function traced() { console.trace('here', 1) } traced()",
    /^Trace: here 1\n    at traced \(.*1:\d+\)\n    at .*1:\d+\)?\n$/,
  ],
  ["console.log([new Error('inner')])", /^\[ \[Error: inner\] \]\n$/],
  ["console.table([{ a: 1 }], ['a'])", /^┌─+┬─+┐\n│ \(index\) │ a │\n/],
  [
    "console.assert(true, 'a'); console.assert(false, 'b'); console.assert(false)",
    /^Assertion failed: b\nAssertion failed\n$/,
  ],
  ["console.groupCollapsed('a'); console.log('b'); console.groupEnd(); console.dirxml(1, 2)", /^a\n {2}b\n1 2\n$/],
  [
    "console.assert(false, 'm %s', 1); console.assert(false, { a: 1 })",
    /^Assertion failed: m 1\nAssertion failed: \{ a: 1 \}\n$/,
  ],
  ["console.dir({ a: { b: { c: 1 } } }, { depth: 0 })", /^\{ a: \[Object\] \}\n$/],
  ["console.dir({ a: { b: { c: { d: { e: { f: 1 } } } } } }, { depth: null })", /f: 1/],
  ["const e: any = new Error('own'); e.cause = e; console.log(e)", /^<ref \*1> Error: own\n    at .*1:\d+/],
  ["console.time('t'); console.timeEnd('t')", /^t: \d+(\.\d{1,3})?ms\n$/],
])("is what Node's console would say: %s", async (code, text) => {
  const session = await under.open()
  expect(textOf((await session.eval(code)).output)).toMatch(text)
})
