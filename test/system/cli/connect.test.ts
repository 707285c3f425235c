// `nacre repl --connect`: the prompt in a real pseudo-terminal, its session at a served nacre, and a socket between them that breaks.
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { serve } from "nacre/serve"
import type { Served } from "nacre/serve"
import { until } from "../../until.ts"
import { NacreProcess } from "../nacre-process.ts"
import { NacreUnderTest } from "../nacre-under-test.ts"
import { Wire } from "../serve/wire.ts"
import { Terminal, controlC, controlD, prompted, tab, up } from "./terminal.ts"

const token = "correct-horse-battery"
const under = new NacreUnderTest()
let served: Served
beforeAll(async () => {
  await under.start({ hosts: { min: 1 } })
  served = await serve(under.nacre, { token })
})
afterAll(async () => {
  await served.stop()
  await under.nacre.stop()
})

const connected = (...args: string[]): Terminal =>
  new Terminal({ args: ["repl", "--connect", served.url, ...args], environment: { NACRE_TOKEN: token } })

describe("the prompt of a served session", () => {
  it("evaluates, prints, completes, hovers, interrupts, and has its commands", async () => {
    const terminal = connected()
    await terminal.start()
    expect(await terminal.line("let x: number = 6 * 7; x")).toContain("\n42\n")
    expect(await terminal.line("function twiceAsMuch(n: number) {", /… {2}/)).not.toContain("Error")
    await terminal.line("  return 2 * n", /… {2}/)
    await terminal.line("}")
    terminal.type(`twi${tab}`)
    await terminal.shows(/twiceAsMuch$/)
    terminal.type(tab)
    expect(await terminal.shows(/function twiceAsMuch[^]*> twiceAsMuch/)).toContain("function twiceAsMuch(n: number)")
    expect(await terminal.line("(x)")).toContain("\n84\n")
    expect(await terminal.line("console.log('shown'); undefined")).toMatch(/\nshown\n> $/)
    expect(await terminal.line("throw new RangeError('too far')")).toContain("RangeError: too far")
    terminal.type(up)
    await terminal.shows(/too far/)
    expect(await terminal.line("")).toContain("RangeError: too far")
    terminal.type("console.log('running'); for (;;) {}\r")
    await terminal.shows(/\nrunning/)
    terminal.type(controlC)
    expect(await terminal.shows(new RegExp(`Interrupted[^]*${prompted.source}`))).toContain("Interrupted")
    expect(await terminal.line(".bindings")).toMatch(/x +local\n.*twiceAsMuch +definition/s)
    expect(await terminal.line(".type twiceAsMuch")).toContain("(n: number) => number")
    await terminal.line("function twiceAsMuch(n: number) { return 3 * n }")
    expect(await terminal.line(".restore 1")).toContain("restore of 1: set twiceAsMuch")
    expect(await terminal.line(".restore 9")).toContain("has no revision 9")
    expect(await terminal.line(".revisions")).toContain("revision 1 from 0, eval: set twiceAsMuch")
    expect(await terminal.line(".tree")).toMatch(/ses_\S+ {2}repl, idle, profile standard/)
    expect(await terminal.line(".reset")).toContain("The session is empty")
    expect(await terminal.line("typeof x")).toContain("\n'undefined'\n")
    terminal.type(controlD)
    expect(await terminal.left()).toBe(0)
    // Without an id it goes with its connection.
    await until("its session to be closed", () => under.nacre.sessions().length === 0)
  })

  it("comes back when the socket breaks, also while code runs, and keeps a session with an id", async () => {
    const wire = await new Wire(served.url).open()
    const args = ["repl", "--connect", wire.url, "--session", "notes"]
    const terminal = new Terminal({ args, environment: { NACRE_TOKEN: token } })
    await terminal.start()
    expect(await terminal.line("let kept = 40; kept")).toContain("\n40\n")
    wire.cut()
    // Until the editor has drawn the whole prompt: what it draws late would pass for the next one.
    await terminal.shows(new RegExp(`Connected again\\.[^]*${prompted.source}`))
    expect(await terminal.line("kept + 2")).toContain("\n42\n")
    terminal.type("console.log('waiting'); await tools.hold('here'); 'answered'\r")
    await terminal.shows(/\nwaiting/)
    const { gate } = await under.parked("here")
    wire.cut()
    await terminal.shows(/Connected again\./)
    gate.open()
    expect(await terminal.shows(/'answered'[^]*> /)).toContain("'answered'")
    terminal.type(controlD)
    expect(await terminal.left()).toBe(0)
    expect(under.nacre.session("notes")?.bindings.at("kept")).toBe(40)
    await wire.close()
    await under.nacre.session("notes")?.close()
  })
})

describe("after the server was replaced", () => {
  it("the prompt says that its session is new, and goes on", async () => {
    const wire = await new Wire(served.url).open()
    const args = ["repl", "--connect", wire.url, "--session", "replaced"]
    const terminal = new Terminal({ args, environment: { NACRE_TOKEN: token } })
    await terminal.start()
    expect(await terminal.line("let gone = 1; gone")).toContain("\n1\n")
    // What a new process would know of the connection and of the session: nothing.
    const { port } = new URL(served.url)
    await served.stop()
    await under.nacre.session("replaced")!.close()
    served = await serve(under.nacre, { token, port: Number(port) })
    expect(await terminal.shows(new RegExp(`Connected again;[^]*${prompted.source}`))).toContain(
      "session 'replaced' is new",
    )
    expect(await terminal.line("typeof gone")).toContain("\n'undefined'\n")
    terminal.type(controlD)
    expect(await terminal.left()).toBe(0)
    await wire.close()
    await under.nacre.session("replaced")?.close()
  })
})

describe("without a terminal", () => {
  const script = (args: string[], input: string, environment = { NACRE_TOKEN: token }) =>
    new NacreProcess(["repl", ...args], undefined, environment).end(input)

  it("a script runs a submission at a time, with a profile of its own", async () => {
    const { code, stdout, stderr } = await script(
      ["--connect", served.url, "--profile", "minimal"],
      "let n = 20\nfunction next(): number {\n  return ++n\n}\nnext()\nconsole.log(n)\nnext()\n",
    )
    expect({ code, stdout }).toEqual({ code: 1, stdout: "21\n22\n" })
    expect(stderr).toContain("needs the capability 'print', which profile 'minimal' does not have")
  })

  it.each([
    ["a wrong token", ["--connect", "URL", "--token", "wrong-horse-battery"], 1, "is the token right?"],
    ["a profile that the server does not allow", ["--connect", "URL", "--profile", "full"], 1, "not full"],
    ["what is no address", ["--connect", "localhost:4750"], 2, "ws://127.0.0.1:4750"],
    ["what can be no token", ["--connect", "URL", "--token", "two words"], 2, "this one has others"],
    ["a token for nobody", ["--token", "x"], 2, "--token is for --connect"],
  ])("refuses %s", async (_what, args, exit, said) => {
    const { code, stderr } = await script(
      args.map((arg) => (arg === "URL" ? served.url : arg)),
      "1\n",
    )
    expect({ code, stderr }).toEqual({ code: exit, stderr: expect.stringContaining(said) })
  })
})
