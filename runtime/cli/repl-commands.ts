// The commands of the prompt, in one table that `.help` and completion are made from: what begins with a dot and is no code.
import { recordText } from "../serve/report.ts"
import { typeText } from "./assist.ts"
import { readSource } from "./eval.ts"
import type { PromptBinding, PromptSession, Restored } from "./prompt-session.ts"
import type { RevisionRecord } from "../module/revision.ts"

/** What a command works on. */
export interface Prompt {
  session(): Promise<PromptSession>
  write(text: string): void
  evaluate(source: string, file: string): Promise<void>
  /** Takes lines as they are until `.end`. */
  edit(): void
  leave(): void
}

interface Command {
  /** The name of its argument, when it takes one. */
  readonly argument?: string
  readonly doc: string
  readonly run: (prompt: Prompt, argument: string) => Promise<void> | void
}

/** Revisions that are listed. */
const revisionsMax = 20

export const commands: Readonly<Record<string, Command>> = {
  help: { doc: "this text", run: (prompt) => prompt.write(`\n${helpText()}\n\n`) },
  bindings: {
    doc: "what the session holds",
    run: async (prompt) => prompt.write(bindingsText(await (await prompt.session()).bindings())),
  },
  type: {
    argument: "EXPR",
    doc: "what something is, without running it",
    run: async (prompt, expression) => prompt.write(`${await typeText(await prompt.session(), expression)}\n`),
  },
  load: {
    argument: "FILE",
    doc: "evaluate a file",
    run: async (prompt, file) => prompt.evaluate(await readSource(file), file),
  },
  editor: {
    doc: "enter many lines; .end evaluates them, Ctrl-C drops them",
    run: (prompt) => {
      prompt.edit()
      prompt.write("Enter any number of lines; .end evaluates them, Ctrl-C drops them.\n")
    },
  },
  revisions: {
    doc: "how the definitions came to be",
    run: async (prompt) => prompt.write(revisionsText(await (await prompt.session()).revisions())),
  },
  restore: {
    argument: "REVISION",
    doc: "go back to the definitions of a revision",
    run: async (prompt, revision) => {
      if (!/^\d+$/.test(revision))
        return prompt.write(`.restore takes the number of a revision, as .revisions shows it.\n`)
      const session = await prompt.session()
      return prompt.write(restoredText(await session.restore(Number(revision))))
    },
  },
  reset: {
    doc: "forget every binding and definition",
    run: async (prompt) => {
      await (await prompt.session()).reset()
      prompt.write("The session is empty.\n")
    },
  },
  tree: {
    doc: "the supervision tree",
    run: async (prompt) => prompt.write(`${await (await prompt.session()).tree()}\n`),
  },
  exit: { doc: "leave (Ctrl-D)", run: (prompt) => prompt.leave() },
}

/** The command that a line is, and its argument; `undefined` when it is none, such as `.5 + 1`. */
export function commandOf(line: string): { name: string; argument: string } | undefined {
  const [, name, argument = ""] = /^\s*\.([a-z]+)(?:\s+(.*?))?\s*$/.exec(line) ?? []
  return name === undefined ? undefined : { name, argument }
}

export async function runCommand(prompt: Prompt, name: string, argument: string): Promise<void> {
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) return prompt.write(`There is no command .${name}; .help lists them.\n`)
  if (command.argument !== undefined && argument === "") return prompt.write(`.${name} needs ${command.argument}.\n`)
  if (command.argument === undefined && argument !== "") return prompt.write(`.${name} takes nothing after it.\n`)
  return command.run(prompt, argument)
}

function helpText(): string {
  const rows = Object.entries(commands).map(([name, { argument, doc }]): [string, string] => {
    return [`.${name}${argument === undefined ? "" : ` ${argument}`}`, doc]
  })
  const width = Math.max(...rows.map(([usage]) => usage.length))
  return [
    ...rows.map(([usage, doc]) => `  ${usage.padEnd(width)}  ${doc}`),
    "",
    "Tab completes a name, and on a whole one shows what it is. Ctrl-C interrupts what runs and keeps the session.",
    "_ is the last value, _error the last error.",
  ].join("\n")
}

function bindingsText(bindings: readonly PromptBinding[]): string {
  if (bindings.length === 0) return "The session holds nothing yet.\n"
  const width = Math.max(...bindings.map(({ name }) => name.length))
  return bindings
    .map(({ name, kind, held }) => {
      const note = held === "ephemeral" ? ", held only by the running process" : held === "lost" ? ", lost" : ""
      return `${name.padEnd(width)}  ${kind}${note}\n`
    })
    .join("")
}

function revisionsText(records: readonly RevisionRecord[]): string {
  if (records.length === 0) return "Nothing has been defined yet.\n"
  const shown = records.slice(-revisionsMax)
  const more = records.length - shown.length
  const lines = [...(more > 0 ? [`${more} older ones`] : []), ...shown.map(recordText)]
  return `${lines.join("\n")}\n`
}

function restoredText(ended: Restored): string {
  const { rejection } = ended
  if (rejection !== undefined) return `Not restored, ${rejection.kind}: ${rejection.message}\n`
  if (ended.record === undefined) return `These are the definitions of revision ${ended.revision} already.\n`
  return `${recordText(ended.record)}\n`
}
