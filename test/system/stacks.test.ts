// What session code sees when it looks at a stack: its own frames at their places in the source, and nothing of the machine.
import { expect, test } from "vitest"
import { useNacre } from "./nacre-under-test.ts"

const under = useNacre()

const internals = /node:|nacre:|file:|\$\$|\/|realm|worker|stdlib/

test.each([
  ["a new error", `new Error("mine").stack`],
  ["a caught error of the engine", `let s; try { null.x } catch (e) { s = e.stack } s`],
  ["an error of the runtime", `let s; try { Session.withId(1) } catch (e) { s = e.stack } s`],
  ["a captured trace", `const o = {}; Error.captureStackTrace(o); o.stack`],
  ["an error after an await", `await tools.echo(); new Error("mine").stack`],
  ["an error of a tool", `let s; try { await tools.fails() } catch (e) { s = e.stack } s`],
  ["an error of a timer", `await new Promise((ok) => setTimeout(() => ok(new Error("mine").stack), 1))`],
])("%s", async (_what, code) => {
  const session = await under.open({
    tools: {
      fails: () => {
        throw new Error("no")
      },
      echo: () => 1,
    },
  })
  const stack = (await session.run(code, { file: "mine.ts" })) as string
  expect(stack.split("\n").slice(1).join("\n")).not.toMatch(internals)
})

test("frames have their names, files, lines and columns, across evals", async () => {
  const session = await under.open()
  await session.eval(`function inner() {\n  return new Error("mine").stack\n}`, { file: "first.ts" })
  const stack = await session.run(`const outer = (): string => inner()\nouter()`, { file: "second.ts", line: 10 })
  expect(stack).toBe("Error: mine\n    at inner (first.ts:2:10)\n    at outer (second.ts:10:29)\n    at second.ts:11:1")
})

test("an error that was shown in an outcome and is looked at later has the same frames, also after its host has died", async () => {
  const session = await under.open()
  const outcome = await session.eval(`let kept = new RangeError("mine"); throw kept`, { file: "mine.ts" })
  expect(outcome.error?.stack).toEqual([{ file: "mine.ts", line: 1, column: 12 }])
  const shown = "RangeError: mine\n    at mine.ts:1:12"
  expect(await session.run("[_error.stack, kept.stack]")).toEqual([shown, shown])
  await under.killHosts()
  expect(await session.run("kept.stack")).toBe(shown)
})

test("looking at an error first does not take its positions from the outcome", async () => {
  const session = await under.open()
  const outcome = await session.eval(`const e = new Error("mine")\ne.stack\nthrow e`, { file: "mine.ts" })
  expect(outcome.error?.stack).toEqual([{ file: "mine.ts", line: 1, column: 11 }])
})

test("a session may format stacks itself", async () => {
  const session = await under.open()
  expect(await session.run(`Error.prepareStackTrace = () => "own"; new Error("x").stack`)).toBe("own")
})

test("a hook of the session's own gets the frames of its code, and nothing of ours", async () => {
  const session = await under.open()
  const code = `
    const found = Error.prepareStackTrace
    Error.prepareStackTrace = (error, sites) => [error.message, sites.map((it) => it.getFunctionName()), sites.map((it) => it.getFileName()).join()]
    function inner() { return new Error("hooked").stack }
    function outer() { return inner() }
    const [message, names, files] = outer()
    Error.prepareStackTrace = found
    const plain = new Error("plain").stack`
  await session.eval(code)
  const { value } = await session.eval(
    `[message, names.slice(0, 2), /dist|runtime|stdlib|node:|nacre:realm/.test(files), plain]`,
  )
  const [message, names, isOurs, plain] = value!.data as [string, string[], boolean, string]
  expect([message, names, isOurs]).toEqual(["hooked", ["inner", "outer"], false])
  expect(plain).toMatch(/^Error: plain\n    at /)
})

test("a session's hook is asked nothing for an outcome", async () => {
  const session = await under.open()
  const { error } = await session.eval(`Error.prepareStackTrace = () => "mine"; throw new Error("x")`)
  expect(error?.stack.length).toBe(1)
  expect(error?.rendered).toMatch(/^Error: x\n    at /)
})

test("call sites that session code is given have the places and names of its source", async () => {
  const session = await under.open()
  const sites = await session.run(
    `function deep() { return new Error("x").stack as any }
Error.prepareStackTrace = (error, sites) => sites.map((it) => [it.getFunctionName(), it.getFileName(), it.getLineNumber(), it.getColumnNumber(), it.isNative(), String(it)])
const got = deep()

Error.prepareStackTrace = undefined
got`,
    { file: "my.ts", line: 100 },
  )
  expect(sites).toEqual([
    ["deep", "my.ts", 100, 26, false, "deep (my.ts:100:26)"],
    [null, "my.ts", 102, 13, false, "my.ts:102:13"],
  ])
})

test("a definition of an eval that begins in a later line stands there, also in a realm that is made again", async () => {
  const session = await under.open()
  await session.eval("function f() { throw new Error('x') }\nconst g = () => f()", { file: "a.ts", line: 7 })
  const places = async () => (await session.eval("g()")).error!.stack.slice(0, 2).map(({ line }) => line)
  expect(await places()).toEqual([7, 8])
  await under.killHosts()
  expect(await places()).toEqual([7, 8])
  const { declarations } = session.exportRevision()
  expect(declarations.map(({ key, line }) => [key, line])).toEqual([
    ["f", 7],
    ["g", 8],
  ])
})
