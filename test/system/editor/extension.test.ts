// The extension as it is shipped: one bundled file, with an editor of the test's around it and the built server behind it.
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { Module, createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { checkLeaks } from "../../leak-check.ts"
import { until } from "../../until.ts"
import { main } from "../nacre-process.ts"

const root = resolve(import.meta.dirname, "../../..")
const home = join(root, "editors/vscode")
const manifest = JSON.parse(readFileSync(join(home, "package.json"), "utf8")) as {
  main: string
  contributes: {
    commands: { command: string }[]
    keybindings: { command: string }[]
    menus: Record<string, { command: string }[]>
    configuration: { properties: Record<string, { default: unknown }> }
  }
}
const folder = mkdtempSync(join(tmpdir(), "nacre-editor-"))
checkLeaks()

/** What the extension uses of the editor's API. */
class FakeEditor {
  readonly commands = new Map<string, (argument?: unknown) => unknown>()
  readonly problems = new Map<string, { range: unknown; message: string }[]>()
  readonly bar = { text: "", tooltip: "", command: "", show: () => {} }
  readonly values = new Map<string, unknown>()
  shown = ""
  #onConfiguration: ((change: { affectsConfiguration: (section: string) => boolean }) => void) | undefined

  set(name: string, value: unknown): void {
    this.values.set(name, value)
    this.#onConfiguration?.({ affectsConfiguration: (section) => name.startsWith(section) })
  }

  readonly api = {
    StatusBarAlignment: { Right: 2 },
    DiagnosticSeverity: { Error: 0 },
    Range: class {
      readonly place: number[]
      constructor(...place: number[]) {
        this.place = place
      }
    },
    Diagnostic: class {
      readonly range: unknown
      readonly message: string
      constructor(range: unknown, message: string) {
        this.range = range
        this.message = message
      }
    },
    Uri: { parse: (uri: string) => ({ uri }) },
    window: {
      createOutputChannel: () => ({
        append: (text: string) => {
          this.shown += text
        },
        show: () => {},
      }),
      createStatusBarItem: () => this.bar,
    },
    languages: {
      createDiagnosticCollection: () => ({
        set: ({ uri }: { uri: string }, found: never) => this.problems.set(uri, found),
        delete: ({ uri }: { uri: string }) => this.problems.delete(uri),
      }),
    },
    commands: {
      registerCommand: (name: string, run: () => unknown) => this.commands.set(name, run),
      registerTextEditorCommand: (name: string, run: () => unknown) => this.commands.set(name, run),
    },
    workspace: {
      workspaceFolders: [{ uri: { fsPath: folder } }],
      getConfiguration: (section: string) => ({
        get: (name: string, otherwise: unknown) => this.values.get(`${section}.${name}`) ?? otherwise,
      }),
      asRelativePath: () => "notes.ts",
      onDidCloseTextDocument: () => ({}),
      onDidChangeConfiguration: (listener: never) => {
        this.#onConfiguration = listener
      },
    },
  }
}

/** An editor with one line selected by its cursor, or its end `from` a character on. */
function textEditor(line: string, from = 0): object {
  const cursor = { line: 0, character: from }
  return {
    selection: { start: cursor, end: from === 0 ? cursor : { line: 0, character: line.length } },
    document: {
      lineCount: 1,
      lineAt: () => ({ text: line }),
      getText: () => line.slice(from),
      uri: { toString: () => "file:///notes.ts" },
    },
  }
}

const editor = new FakeEditor()
let extension: { activate(context: { subscriptions: unknown[] }): void; deactivate(): Promise<void> }

beforeAll(() => {
  execFileSync(process.execPath, [join(home, "bundle.mjs")], { cwd: folder })
  // The editor gives its API to `require`, and to nothing else.
  const modules = Module as unknown as { _load: (name: string, ...rest: unknown[]) => unknown }
  const load = modules._load
  modules._load = (name, ...rest) => (name === "vscode" ? editor.api : load(name, ...rest))
  try {
    extension = createRequire(import.meta.url)(join(home, manifest.main)) as typeof extension
  } finally {
    modules._load = load
  }
})
afterAll(async () => {
  await extension.deactivate()
  rmSync(folder, { recursive: true, force: true })
})

test("the bundle is one file that needs nothing but Node and the editor", () => {
  const code = readFileSync(join(home, manifest.main), "utf8")
  const needed = [...code.matchAll(/\b(?:require|import)\("([^"]+)"\)/g)].map(([, name]) => name!)
  expect(needed.filter((name) => !name.startsWith("node:")).toSorted()).toEqual(["vscode"])
})

test("evaluates, tells problems, interrupts, restarts, and shows its profile", { timeout: 120_000 }, async () => {
  for (const [name, { default: value }] of Object.entries(manifest.contributes.configuration.properties)) {
    editor.values.set(name, value)
  }
  editor.values.set("nacre.session.command", [process.execPath, main, "session"])
  extension.activate({ subscriptions: [] })
  const { commands, keybindings, menus } = manifest.contributes
  const declared = commands.map(({ command }) => command)
  expect([...editor.commands.keys()].toSorted()).toEqual(declared.toSorted())
  for (const { command } of [...keybindings, ...Object.values(menus).flat()]) expect(declared).toContain(command)
  expect(editor.bar.text).toContain("Nacre: standard")

  const evaluate = (line: string, from?: number): void =>
    void editor.commands.get("nacre.evaluateSelection")!(textEditor(line, from))
  const shows = (text: string): Promise<unknown> =>
    until(`the editor to show ${text}`, () => editor.shown.includes(text))
  evaluate("let kept = 40; console.log('printed')")
  await shows("printed\n")
  evaluate("kept + 2")
  await shows("=> 42\n")
  evaluate("kept + nothing")
  await shows("ReferenceError: nothing is not defined")
  await until("the problem", () => editor.problems.get("file:///notes.ts")?.length === 1)
  expect(editor.problems.get("file:///notes.ts")).toMatchObject([
    { range: { place: [0, 7, 0, 8] }, message: "ReferenceError: nothing is not defined" },
  ])
  evaluate("skipped; kept + absent", 9)
  await shows("at notes.ts:1:17\n1 |          kept + absent\n  |                 ^")
  expect(editor.problems.get("file:///notes.ts")).toMatchObject([{ range: { place: [0, 16, 0, 17] } }])
  evaluate("console.log('looping'); for (;;) {}")
  await shows("looping\n")
  editor.commands.get("nacre.interrupt")!()
  await shows("(interrupted")
  // What waits behind another has its whole time to itself.
  editor.values.set("nacre.session.timeoutMs", 200)
  evaluate("for (;;) {}")
  evaluate("console.log('its own time'); for (;;) {}")
  await until("both have ended", () => editor.shown.split("stopped at its time limit of 200 ms").length === 3)
  expect(editor.shown).toMatch(/limit of 200 ms[^\n]*\n\n\[notes.ts:1\]\nits own time\n\(stopped at/)
  editor.values.set("nacre.session.timeoutMs", 10_000)
  evaluate("kept + 3")
  await shows("=> 43\n")
  editor.set("nacre.session.profile", "minimal")
  await shows("[session restarted for its profile, profile minimal]")
  expect(editor.bar.text).toContain("Nacre: minimal")
  evaluate("console.log(typeof kept)")
  await shows("needs the capability 'print', which profile 'minimal' does not have")
  await editor.commands.get("nacre.restartSession")!()
  expect(editor.shown).toContain("[session restarted, profile minimal]")
})
