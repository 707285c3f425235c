// The editor's side: commands, an output channel, problems and the status bar. What they do is decided elsewhere (`session.ts`).
import * as vscode from "vscode"
import { connectProcess } from "./connect.ts"
import { selectedText } from "./positions.ts"
import { EditorSession } from "./session.ts"
import type { Status } from "./session.ts"

const icons: Readonly<Record<Status["state"], string>> = {
  stopped: "circle-outline",
  starting: "sync~spin",
  ready: "circle-filled",
  evaluating: "loading~spin",
}

let session: EditorSession | undefined

export function activate(context: vscode.ExtensionContext): void {
  const channel = vscode.window.createOutputChannel("Nacre Session")
  const problems = vscode.languages.createDiagnosticCollection("nacre")
  const bar = vscode.window.createStatusBarItem(vscode.StatusBarAlignment.Right)
  const settings = () => vscode.workspace.getConfiguration("nacre")
  bar.command = "nacre.restartSession"
  bar.show()

  const own = new EditorSession({
    connect: (profile, onLost) =>
      connectProcess(
        {
          command: settings().get<string[]>("session.command", []),
          cwd: vscode.workspace.workspaceFolders?.[0]?.uri.fsPath,
          onStderr: (text) => channel.append(text),
        },
        profile,
        onLost,
      ),
    settings: () => ({
      profile: settings().get<string>("session.profile", "standard"),
      timeoutMs: settings().get<number>("session.timeoutMs", 10_000),
    }),
    display: {
      write: (text) => channel.append(text),
      problems: (uri, found) =>
        problems.set(
          vscode.Uri.parse(uri),
          found.map(({ range: { start, end }, message }) => {
            const range = new vscode.Range(start.line, start.character, end.line, end.character)
            const problem = new vscode.Diagnostic(range, message, vscode.DiagnosticSeverity.Error)
            problem.source = "nacre"
            return problem
          }),
        ),
      status: ({ profile, state }) => {
        bar.text = `$(${icons[state]}) Nacre: ${profile}`
        bar.tooltip = `Nacre session, ${state}, profile ${profile}. Click to restart it.`
      },
    },
  })
  session = own

  const evaluate = async (editor: vscode.TextEditor): Promise<void> => {
    const { document, selection } = editor
    const found = selectedText(
      {
        lineCount: document.lineCount,
        lineAt: (line) => document.lineAt(line).text,
        textOf: ({ start, end }) =>
          document.getText(new vscode.Range(start.line, start.character, end.line, end.character)),
      },
      selection,
    )
    if (found === undefined) return
    channel.show(true)
    const file = vscode.workspace.asRelativePath(document.uri)
    await own.evaluate({ uri: document.uri.toString(), file, ...found })
  }

  context.subscriptions.push(
    channel,
    problems,
    bar,
    vscode.commands.registerTextEditorCommand("nacre.evaluateSelection", (editor) => void evaluate(editor)),
    vscode.commands.registerCommand("nacre.interrupt", () => void own.stop()),
    vscode.commands.registerCommand("nacre.restartSession", () => own.restart()),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => problems.delete(uri)),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("nacre.session")) void own.settingsChanged()
    }),
  )
}

export async function deactivate(): Promise<void> {
  await session?.dispose()
}
