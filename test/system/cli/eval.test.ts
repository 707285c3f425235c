// `nacre eval`, `nacre` on a pipe, `nacre tree`, and the answers to wrong use: the built program as a black box.
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { NacreProcess, nacre } from "../nacre-process.ts"

describe("a value", () => {
  it("of -e is printed", async () => {
    expect(await nacre(["eval", "-e", "let x: number = 6 * 7; x"])).toEqual({ code: 0, stdout: "42\n", stderr: "" })
  })

  it("of standard input is printed, with and without a command", async () => {
    const source = "type Point = { x: number }\nconst p: Point = { x: 1 }\np\n"
    const printed = { code: 0, stdout: "{ x: 1 }\n", stderr: "" }
    expect(await nacre([], source)).toEqual(printed)
    expect(await nacre(["eval", "-"], source)).toEqual(printed)
  })

  it("of a file is printed", async () => {
    const process = new NacreProcess(["eval", "-"])
    const file = join(process.folder, "program.ts")
    writeFileSync(file, "await Promise.resolve(['a', 1n])")
    try {
      expect((await nacre(["eval", file])).stdout).toBe("[ 'a', 1n ]\n")
    } finally {
      process.child.stdin.end()
      process.child.kill("SIGKILL")
    }
  })

  it("that is inert is not", async () => {
    expect(await nacre(["eval", "-e", "function f() {}"])).toEqual({ code: 0, stdout: "", stderr: "" })
  })

  it("follows the output, which goes where the code wrote it", async () => {
    const ended = await nacre(["eval", "-e", "console.log('to out'); console.error('to err'); 'value'"])
    expect(ended).toEqual({ code: 0, stdout: "to out\n'value'\n", stderr: "to err\n" })
  })
})

it("what is cancelled because nobody awaited it is told", async () => {
  const code = "setTimeout(() => console.log('late'), 5000); setTimeout(() => {}, 5000); setInterval(() => {}, 5000); 1"
  expect(await nacre(["eval", "-e", code])).toEqual({
    code: 0,
    stdout: "1\n",
    stderr: "Cancelled, since the code had ended: 2 timers, 1 interval. Await what has to finish.\n",
  })
})

describe("a failure", () => {
  it("is rendered on standard error with exit code 1", async () => {
    const { code, stdout, stderr } = await nacre(["eval", "-e", "const a = 1;\nthrow new RangeError('too far')"])
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" })
    expect(stderr).toContain("RangeError: too far")
    expect(stderr).toContain("[eval]:2:")
    expect(stderr).toContain("2 | throw new RangeError('too far')")
  })

  it("is rendered with what it was caused by, and with what it holds", async () => {
    const caused = await nacre([
      "eval",
      "-e",
      "throw new Error('outer', { cause: new TypeError('inner', { cause: 5 }) })",
    ])
    expect(caused.stderr).toMatch(/^Error: outer\n[^]*\nCaused by: TypeError: inner\n[^]*\nCaused by: 5\n$/)
    const several = await nacre([
      "eval",
      "-e",
      "await Promise.any([Promise.reject(new Error('a')), Promise.reject('b')])",
    ])
    expect(several.stderr).toMatch(/^AggregateError: [^]*\nError 1: Error: a\n[^]*\nError 2: 'b'\n$/)
  })

  it("of the syntax too", async () => {
    const { code, stderr } = await nacre(["eval", "-e", "let ="])
    expect(code).toBe(1)
    expect(stderr).toContain("SyntaxError")
  })

  it("is the time limit", async () => {
    const { code, stderr } = await nacre(["eval", "--timeout", "100", "-e", "for (;;) {}"])
    expect(code).toBe(1)
    expect(stderr).toContain("its time limit")
  })

  it("of reading the file names it", async () => {
    const { code, stderr } = await nacre(["eval", "no-such-file.ts"])
    expect(code).toBe(1)
    expect(stderr).toContain("no-such-file.ts")
  })

  it("can be had as JSON", async () => {
    const { code, stdout } = await nacre(["eval", "--json", "-e", "console.log(1); throw new Error('a')"])
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      status: "threw",
      error: { name: "Error", message: "a" },
      output: [{ stream: "stdout", text: "1\n", seq: 0 }],
    })
  })
})

it("process.exit(n) gives exit code n", async () => {
  expect((await nacre(["eval", "-e", "process.exit(7)"])).code).toBe(7)
  expect((await nacre([], "console.log('before'); process.exit(0)")).code).toBe(0)
})

describe("wrong use", () => {
  it.each([
    [["evaluate"], "There is no command 'evaluate'; there are repl, eval, session, serve, request, mcp, tree."],
    [["eval", "--speed"], "Unknown option '--speed'."],
    [["eval"], "needs either -e CODE, or one FILE"],
    [["eval", "-e", "1", "file.ts"], "needs either -e CODE, or one FILE"],
    [["eval", "a.ts", "b.ts"], "Unexpected argument 'b.ts'."],
    [["eval", "--timeout", "soon", "-e", "1"], "whole number of milliseconds"],
    [["eval", "-e", "let x = 1", "-e", "x"], "Option '-e' may stand once only."],
    [["session", "now"], "Unexpected argument 'now'."],
  ])("%j", async (args, told) => {
    const { code, stdout, stderr } = await nacre(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" })
    expect(stderr).toContain(told)
  })
})

it("--help and --version tell", async () => {
  const help = await nacre(["--help"])
  expect(help.code).toBe(0)
  expect(help.stdout).toContain(
    "nacre eval [--timeout MS] [--json] [--prelude FILE]… [--jsx classic|automatic] (-e CODE | FILE | -)",
  )
  expect(help.stdout).toContain("--jsx-factory NAME")
  expect((await nacre(["eval", "--help"])).stdout).toContain("nacre eval [--timeout MS]")
  expect((await nacre(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

it("tree prints the supervision tree of a live system", async () => {
  const { code, stdout } = await nacre(["tree"])
  expect(code).toBe(0)
  expect(stdout.replaceAll(/pid \d+/g, "pid N")).toBe(
    [
      "nacre  one_for_one",
      "├─ hosts  one_for_one",
      "│  ├─ host-1  pid N",
      "│  └─ host-2  pid N",
      "└─ sessions  one_for_one",
      "   └─ example  idle, profile full",
      "",
    ].join("\n"),
  )
})

describe("a signal", () => {
  it.each([
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const)("%s stops it in order", async (signal, code) => {
    const process = new NacreProcess(["eval", "-e", "console.log('running'); for (;;) {}"])
    await process.until(/running/)
    process.child.kill(signal)
    expect(await process.ended()).toEqual({ code, stdout: "running\n", stderr: "Interrupted (aborted).\n" })
  })

  it("that cannot be caught leaves nothing behind either", async () => {
    const process = new NacreProcess(["eval", "-e", "console.log('running'); for (;;) {}"])
    await process.until(/running/)
    process.child.kill("SIGKILL")
    expect((await process.ended()).code).toBe(null)
  })

  it("ends it while it waits for its input", async () => {
    const process = new NacreProcess(["session"])
    process.child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"initialize"}\n')
    await process.until(/"id":1/)
    process.child.kill("SIGTERM")
    expect((await process.ended()).code).toBe(143)
  })
})

it("a reader that goes away ends it", async () => {
  const process = new NacreProcess([
    "eval",
    "-e",
    "for (;;) { console.log('more'); await new Promise((f) => setTimeout(f, 1)) }",
  ])
  await process.until(/more/)
  process.child.stdout.destroy()
  expect((await process.ended()).code).toBe(141)
})
