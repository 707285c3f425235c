// The prompt in a real pseudo-terminal, as a person meets it: typed keys in, what the screen shows out.
import { execFileSync } from "node:child_process"
import { describe, expect, it } from "vitest"
import { NacreProcess, main } from "../nacre-process.ts"

const controlC = "\x03"
const controlD = "\x04"
const cursorMoves = new RegExp(`${String.fromCodePoint(27)}\\[[\\d;]*[A-Za-z]`, "g")

/** util-linux's `script` gives a command a terminal; other systems' differ. */
function hasScript(): boolean {
  try {
    return execFileSync("script", ["--version"], { encoding: "utf8" }).includes("util-linux")
  } catch {
    return false
  }
}

class Terminal {
  readonly process = new NacreProcess([], ["script", "-qec", `"${process.execPath}" "${main}"`, "/dev/null"])
  #seen = 0

  /** Types a line, and resolves with what the screen shows up to the next prompt. */
  async line(text: string, prompt = /\[3G$/): Promise<string> {
    this.type(`${text}\r`)
    return this.shows(prompt)
  }

  type(keys: string): void {
    this.#seen = this.process.stdout.length
    this.process.child.stdin.write(keys)
  }

  /** Resolves when what came since the last keys matches, with all of it as plain text. */
  async shows(pattern: RegExp): Promise<string> {
    await this.process.until(pattern, this.#seen)
    return this.process.stdout.slice(this.#seen).replaceAll(cursorMoves, "").replaceAll("\r", "")
  }

  async left(): Promise<number | null> {
    return (await this.process.ended()).code
  }
}

describe.runIf(hasScript())("the prompt in a pseudo-terminal", () => {
  it("evaluates, asks for more, tells errors, and leaves by Ctrl-D", async () => {
    const terminal = new Terminal()
    await terminal.shows(/\.help tells more[^]*\[3G$/)
    expect(await terminal.line("let x: number = 6 * 7; x")).toContain("\n42\n")
    expect(await terminal.line("function twice(n: number) {", /… {2}/)).not.toContain("Error")
    expect(await terminal.line("  return 2 * n", /… {2}/)).not.toContain("Error")
    expect(await terminal.line("}")).not.toContain("undefined")
    expect(await terminal.line("twice(x)")).toContain("\n84\n")
    expect(await terminal.line("console.log('shown'); undefined")).toMatch(/\nshown\n> $/)
    expect(await terminal.line("throw new RangeError('too far')")).toContain("RangeError: too far")
    expect(await terminal.line("let = = 1")).toContain("SyntaxError")
    expect(await terminal.line(".bindings")).toMatch(/x +local\n.*twice +definition/s)
    expect(await terminal.line(".nonsense")).toContain(".help lists them")
    expect(await terminal.line(".tree")).toContain("one_for_one")
    await terminal.line(".editor", /drops them/)
    terminal.type("const a = 1\rconst b = 2\ra + b\r.end\r")
    expect(await terminal.shows(/\n3\r?\n[^]*\[3G$/)).toContain("\n3\n")
    expect(await terminal.line(".reset")).toContain("The session is empty")
    expect(await terminal.line(".bindings")).toContain("nothing yet")
    terminal.type(controlD)
    expect(await terminal.left()).toBe(0)
  })

  it("Ctrl-C interrupts what runs and keeps the session; at the prompt it drops the line", async () => {
    const terminal = new Terminal()
    await terminal.line("let kept = 'still here'")
    terminal.type("console.log('running'); for (;;) {}\r")
    await terminal.shows(/\nrunning/)
    terminal.type(controlC)
    expect(await terminal.shows(/Interrupted[^]*\[3G$/)).toContain("Interrupted")
    expect(await terminal.line("kept")).toContain("\n'still here'\n")
    terminal.type(`never entered${controlC}`)
    await terminal.shows(/\n[^]*\[3G$/)
    expect(await terminal.line("kept.length")).toContain("\n10\n")
    terminal.type(controlC)
    await terminal.shows(/press Ctrl-D[^]*\[3G$/)
    expect(await terminal.line("process.exit(3)", /exit/)).not.toContain("Error")
    expect(await terminal.left()).toBe(3)
  })

  it("a hang-up ends it, also while code runs", async () => {
    const terminal = new Terminal()
    terminal.type("console.log('running'); for (;;) {}\r")
    await terminal.shows(/\nrunning/)
    terminal.process.child.kill("SIGKILL")
    await terminal.left()
  })
})
