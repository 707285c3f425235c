// The prompt in a real pseudo-terminal, and with a script piped to it.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "vitest"
import { NacreProcess, main } from "../nacre-process.ts"
import type { Ended } from "../nacre-process.ts"
import { Terminal, controlC, controlD, prompted, tab, up } from "./terminal.ts"

const folder = mkdtempSync(join(tmpdir(), "repl-test-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe("the prompt in a pseudo-terminal", () => {
  it("evaluates, asks for more, tells errors, and leaves by Ctrl-D", async () => {
    const terminal = new Terminal()
    await terminal.start()
    expect(await terminal.line("let x: number = 6 * 7; x")).toContain("\n42\n")
    expect(await terminal.line("function twice(n: number) {", /… {2}/)).not.toContain("Error")
    expect(await terminal.line("  return 2 * n", /… {2}/)).not.toContain("Error")
    expect(await terminal.line("}")).not.toContain("undefined")
    expect(await terminal.line("twice(x)")).toContain("\n84\n")
    expect(await terminal.line("console.log('shown'); undefined")).toMatch(/\nshown\n> $/)
    expect(await terminal.line("throw new RangeError('too far')")).toContain("RangeError: too far")
    expect(await terminal.line("let = = 1")).toContain("SyntaxError")
    terminal.type(controlD)
    expect(await terminal.left()).toBe(0)
  })

  it("has commands", async () => {
    const terminal = new Terminal()
    await terminal.start()
    expect(await terminal.line(".help")).toMatch(/\.load FILE +evaluate a file[^]*Ctrl-C interrupts/)
    expect(await terminal.line(".bindings")).toContain("nothing yet")
    expect(await terminal.line(".revisions")).toContain("Nothing has been defined")
    const file = join(folder, "loaded.ts")
    writeFileSync(file, "let y: number = 1\nfunction twice(n: number) {\n  return 2 * n\n}\ntwice(y)\n")
    expect(await terminal.line(`.load ${file}`)).toContain("\n2\n")
    expect(await terminal.line(`.load ${join(folder, "none")}`)).toContain("there is no such file")
    expect(await terminal.line(".bindings")).toMatch(/y +local\n.*twice +definition/s)
    expect(await terminal.line(".type twice")).toContain("(n: number) => number")
    expect(await terminal.line(".type [twice(y), 'a']")).toContain("(string | number)[]")
    expect(await terminal.line(".type let")).toContain("no expression")
    await terminal.line("function twice(n) { return n + n + 1 }")
    expect(await terminal.line("twice(y)")).toContain("\n3\n")
    expect(await terminal.line(".revisions")).toMatch(
      /revision 1 from 0, eval: set twice\nrevision 2 from 1, eval: set twice/,
    )
    expect(await terminal.line(".restore 1")).toContain("revision 3 from 2, restore of 1: set twice")
    expect(await terminal.line("twice(y)")).toContain("\n2\n")
    expect(await terminal.line(".restore")).toContain(".restore needs REVISION")
    expect(await terminal.line(".restore one")).toContain("takes the number of a revision")
    expect(await terminal.line(".restore 9")).toContain("has no revision 9")
    expect(await terminal.line(".nonsense")).toContain(".help lists them")
    expect(await terminal.line(".5 + 1")).toContain("\n1.5\n")
    expect(await terminal.line(".tree")).toContain("one_for_one")
    await terminal.line(".editor", /drops them/)
    terminal.type("const a = 1\rconst b = 2\ra + b\r.end\r")
    expect(await terminal.shows(new RegExp(`\\n3\\r?\\n[^]*${prompted.source}`))).toContain("\n3\n")
    expect(await terminal.line(".reset")).toContain("The session is empty")
    expect(await terminal.line(".bindings")).toContain("nothing yet")
    terminal.type(".exit\r")
    expect(await terminal.left()).toBe(0)
  })

  it("Ctrl-C interrupts what runs and keeps the session; at the prompt it drops the line", async () => {
    const terminal = new Terminal()
    await terminal.start()
    await terminal.line("let kept = 'still here'")
    terminal.type("console.log('running'); for (;;) {}\r")
    await terminal.shows(/\nrunning/)
    terminal.type(controlC)
    expect(await terminal.shows(new RegExp(`Interrupted[^]*${prompted.source}`))).toContain("Interrupted")
    expect(await terminal.line("kept")).toContain("\n'still here'\n")
    terminal.type(`never entered${controlC}`)
    await terminal.shows(new RegExp(`\\n[^]*${prompted.source}`))
    expect(await terminal.line("kept.length")).toContain("\n10\n")
    terminal.type(controlC)
    await terminal.shows(new RegExp(`press Ctrl-D[^]*${prompted.source}`))
    expect(await terminal.line("process.exit(3)", /exit/)).not.toContain("Error")
    expect(await terminal.left()).toBe(3)
  })

  it("a second Ctrl-C says what the first one does", async () => {
    const terminal = new Terminal()
    await terminal.start()
    terminal.type("console.log('running'); for (;;) {}\r")
    await terminal.shows(/\nrunning/)
    terminal.type(controlC + controlC)
    expect(await terminal.shows(new RegExp(`Interrupted[^]*${prompted.source}`))).toContain("It is being stopped")
    expect(await terminal.line("1 + 1")).toContain("\n2\n")
    terminal.type(controlD)
    expect(await terminal.left()).toBe(0)
  })

  it("completes names and commands, shows what a whole name is, and never runs code for it", async () => {
    const terminal = new Terminal()
    await terminal.start()
    await terminal.line("function twiceAsMuch(n: number) { return 2 * n }")
    terminal.type(`twi${tab}`)
    await terminal.shows(/twiceAsMuch$/)
    terminal.type(tab)
    expect(await terminal.shows(/function twiceAsMuch[^]*> twiceAsMuch/)).toContain("function twiceAsMuch(n: number)")
    expect(await terminal.line("(21)")).toContain("\n42\n")
    terminal.type(`.revi${tab}`)
    await terminal.shows(/sions$/)
    expect(await terminal.line("")).toContain("revision 1 from 0")
    await terminal.line("let watched = 0; const trap = { get inside() { watched += 1; return { deep: 1 } } }")
    // It waits for the checker to be there.
    expect(await terminal.line(".type trap.inside.deep")).toContain("number")
    terminal.type(`trap.ins${tab}`)
    await terminal.shows(/trap\.inside$/)
    terminal.type(`.de${tab}`)
    await terminal.shows(/\.deep$/)
    terminal.type(controlC)
    await terminal.shows(new RegExp(`\\n[^]*${prompted.source}`))
    expect(await terminal.line("watched")).toContain("\n0\n")
    terminal.type(controlD)
    expect(await terminal.left()).toBe(0)
  })

  it("completes while code runs; what was typed meanwhile is there afterwards", async () => {
    const terminal = new Terminal()
    await terminal.start()
    await terminal.line("let keptValue = 'still here'")
    terminal.type("console.log('running'); for (;;) {}\r")
    await terminal.shows(/\nrunning/)
    terminal.type(`kep${tab}`)
    await terminal.shows(/keptValue$/)
    terminal.type(controlC)
    await terminal.shows(/Interrupted[^]*> keptValue/)
    expect(await terminal.line("")).toContain("\n'still here'\n")
    terminal.type(controlD)
    expect(await terminal.left()).toBe(0)
  })

  it("colours values and failures, unless it is told not to", async () => {
    const coloured = new Terminal({ environment: { NO_COLOR: undefined } })
    await coloured.start()
    coloured.type("[6 * 7, 'text', null]\r")
    expect(await coloured.paints(prompted)).toContain(
      "[ \x1b[33m42\x1b[39m, \x1b[32m'text'\x1b[39m, \x1b[1mnull\x1b[22m ]",
    )
    coloured.type("throw new RangeError('no')\r")
    expect(await coloured.paints(prompted)).toContain("\x1b[31m\x1b[1mRangeError\x1b[22m\x1b[39m: no")
    coloured.type(controlD)
    expect(await coloured.left()).toBe(0)
    const plain = new Terminal({ environment: { NO_COLOR: "1" } })
    await plain.start()
    plain.type("6 * 7\r")
    expect(await plain.paints(prompted)).toContain("\n42\n")
    plain.type(controlD)
    expect(await plain.left()).toBe(0)
  })

  it("keeps history in a file that only its user can read, and none when told so", async () => {
    const state = join(folder, "state")
    const environment = { NACRE_REPL_HISTORY: undefined, XDG_STATE_HOME: state }
    const first = new Terminal({ environment })
    await first.start()
    await first.line("let remembered = 'from before'")
    first.type(controlD)
    await first.left()
    const file = join(state, "nacre", "repl-history")
    expect(readFileSync(file, "utf8")).toBe("let remembered = 'from before'\n")
    expect(statSync(file).mode & 0o777).toBe(0o600)
    const second = new Terminal({ environment })
    await second.start()
    second.type(up)
    await second.shows(/let remembered/)
    await second.line("")
    expect(await second.line("remembered")).toContain("\n'from before'\n")
    second.type(controlD)
    await second.left()
    const third = new Terminal({ environment, args: ["--no-history"] })
    await third.start()
    await third.line("'a secret'")
    third.type(controlD)
    await third.left()
    expect(readFileSync(file, "utf8")).toBe("let remembered = 'from before'\nremembered\n")
  })

  it("starts without history when its file cannot be used, and says so", async () => {
    const terminal = new Terminal({ args: ["--history", join(folder, "state")] })
    expect(await terminal.start()).toMatch(/History is not kept in [^]*state/)
    expect(await terminal.line("1 + 1")).toContain("\n2\n")
    terminal.type(controlD)
    expect(await terminal.left()).toBe(0)
  })

  it("a hang-up ends it, also while code runs", async () => {
    const terminal = new Terminal()
    await terminal.start()
    terminal.type("console.log('running'); for (;;) {}\r")
    await terminal.shows(/\nrunning/)
    terminal.process.child.kill("SIGKILL")
    await terminal.left()
  })
})

describe("a script at the prompt", () => {
  const run = (input: string, environment: Record<string, string | undefined> = {}): Promise<Ended> =>
    new NacreProcess(["repl"], [process.execPath, main], { FORCE_COLOR: undefined, ...environment }).end(input)

  it("is evaluated a submission at a time: values out, and nothing else", async () => {
    const script =
      "let x = 20\nfunction f(n: number) {\n  return n + x\n}\nf(1)\n\nconsole.log('out')\n.bindings\n`a\n  b`\n"
    expect(await run(script)).toEqual({
      code: 0,
      stdout: "21\nout\nx  local\nf  definition\n'a\\n  b'\n",
      stderr: "",
    })
  })

  it.each([
    ["a throw", "throw new RangeError('no')\n'next'", "'next'\n", /RangeError: no/, 1],
    ["what does not parse", "let = 1\n'next'", "'next'\n", /SyntaxError/, 1],
    ["an end that comes too early", "'first'\n({ a: [", "'first'\n", /SyntaxError/, 1],
    ["what is refused", ".load nowhere\n'next'", "'next'\n", /Cannot read 'nowhere'/, 1],
    ["an exit", "'first'\nprocess.exit(4)\n'never'", "'first'\n", /^$/, 4],
    ["nothing", "", "", /^$/, 0],
    ["output of two kinds", "console.error('err'); console.log('out')", "out\n", /^err\n$/, 0],
  ])("%s", async (_what, script, stdout, stderr, code) => {
    const ended = await run(script)
    expect(ended).toMatchObject({ code, stdout })
    expect(ended.stderr).toMatch(stderr)
  })

  it("of thousands of lines is read no faster than it runs", async () => {
    const script = Array.from({ length: 3_000 }, (_, index) => (index % 100 === 0 ? `${index}` : "//")).join("\n")
    const { code, stdout } = await run(script)
    expect(code).toBe(0)
    expect(stdout.split("\n").filter((line) => line !== "")).toEqual(
      Array.from({ length: 30 }, (_, index) => `${index * 100}`),
    )
  })

  it("has colours when they are asked for", async () => {
    expect((await run("6 * 7", { FORCE_COLOR: "1" })).stdout).toBe("\x1b[33m42\x1b[39m\n")
    expect((await run("6 * 7", { NO_COLOR: undefined })).stdout).toBe("42\n")
  })
})
