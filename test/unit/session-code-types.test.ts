// The declarations for session code, as TypeScript itself reads them: what a session may write has no errors, and what it may not has.
import { resolve } from "node:path"
import ts from "typescript"
import { describe, expect, test } from "vitest"

const declarations = resolve(import.meta.dirname, "../../types/session-code.d.ts")

/** Messages of the errors in a text of session code. */
function errorsIn(code: string): string[] {
  const options: ts.CompilerOptions = {
    lib: ["lib.es2023.d.ts"],
    types: [],
    strict: true,
    noEmit: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.ESNext,
  }
  const file = resolve(import.meta.dirname, "session-code-sample.ts")
  const host = ts.createCompilerHost(options)
  const plain = ts.createCompilerHost(options)
  host.getSourceFile = (name, ...rest) =>
    name === file
      ? ts.createSourceFile(name, `export {};${code}`, ts.ScriptTarget.ES2023)
      : plain.getSourceFile(name, ...rest)
  host.fileExists = (name) => name === file || plain.fileExists(name)
  host.readFile = (name) => (name === file ? code : plain.readFile(name))
  const program = ts.createProgram([declarations, file], options, host)
  return ts.getPreEmitDiagnostics(program).map((it) => ts.flattenDiagnosticMessageText(it.messageText, " "))
}

// A whole compiler run for each: seconds on a busy machine.
describe("declarations for session code", { timeout: 60_000 }, () => {
  test("know what a session can do", () => {
    const code = `
      declare global { interface SessionTools { search(text: string, most: number): Promise<any> } }
      const user = Session.withId("ada")
      const total: number = user?.bindings.at("total") ?? Session.current!.bindings.atPut("total", 1)
      for (const [name, value] of Workspace.globals) console.log(name, value)
      new Map(Session.current!.bindings)
      const bound: { eur: number } = Workspace.bind("rate", { eur: 1.1 })
      Transcript.show(String(user)); Workspace.unbind("rate")
      const answer = await tools.search("a", total)
      clearTimeout(setTimeout((n: number) => answer + n + _, 5, 1))
      const url = new URL("?q=1", new URL("https://example.org"))
      for (const [name, value] of url.searchParams) new TextDecoder("latin1").decode(new TextEncoder().encode(name + value))
      const both = AbortSignal.any([new AbortController().signal, AbortSignal.timeout(5)])
      both.addEventListener("abort", (event) => event.target.throwIfAborted(), { once: true })
      Workspace.sessions.map((it) => it.info().openedAt ?? it.kind).concat(crypto.randomUUID())`
    expect(errorsIn(code)).toEqual([])
  })

  test.each([
    [`new Session()`, /not constructable/],
    [`new BindingsView()`, /not constructable/],
    [`Session.current.id`, /possibly 'undefined'/],
    [`Session.globals`, /does not exist/],
    [`Workspace.globals.get("x")`, /does not exist/],
    [`Session.withId(5)`, /not assignable/],
    [`Workspace.globals.atPut("rate", 1).toFixed().x`, /does not exist/],
    [`setTimeout("code", 1)`, /not assignable/],
    [`new AbortSignal()`, /not constructable/],
    [`new URL("a:b").origin = "x"`, /read-only/],
    [`fetch("https://example.org")`, /Cannot find name/],
  ])("%s is an error", (code, says) => {
    expect(errorsIn(code).join()).toMatch(says)
  })
})
