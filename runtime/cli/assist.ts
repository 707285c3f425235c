// What the prompt knows of what is being typed: names that may follow, and what a name is.
//
// Nothing here runs user code or waits for it, so that it answers while an eval runs. The checker is asked, with a deadline: nobody waits long
// for a Tab. When it does not answer in time, or is down, names of what is committed do.
import { completeness } from "../language/completeness.ts"
import { namesOfEverySession } from "../workspace/names.ts"
import type { PromptBinding, PromptSession } from "./prompt-session.ts"

export interface Suggestions {
  /** What of the text the names would replace. */
  readonly typed: string
  /** Names that begin with it. */
  readonly names: readonly string[]
}

/** The first question starts the checker, which takes one to three seconds; the next ones take milliseconds. */
const typesMs = 5_000
/** Lines of a declaration that are shown. */
const linesMax = 12

const word = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u

/** Names that may stand at the end of a text. */
export async function suggest(session: PromptSession, text: string): Promise<Suggestions> {
  const found = await inTime((signal) => session.complete(text, { signal }))
  if (found !== undefined) {
    const typed = text.slice(found.start)
    return { typed, names: found.items.map(({ name }) => name).filter((name) => name.startsWith(typed)) }
  }
  const typed = word.exec(text)?.[0] ?? ""
  // Members are known to types alone.
  const isMember = /\.\s*$/.test(text.slice(0, text.length - typed.length).replace(/\.\.\.\s*$/, ""))
  if (isMember) return { typed, names: [] }
  const own = (await session.bindings()).map(({ name }) => name)
  const shared = await session.sharedNames()
  const names = new Set([...own, ...shared, ...namesOfEverySession()])
  return { typed, names: [...names].filter((name) => name.startsWith(typed)) }
}

/** What the name at the end of a text is, in a few lines; `undefined` when it is not known. */
export async function describe(session: PromptSession, text: string): Promise<string | undefined> {
  const name = word.exec(text)?.[0]
  if (name === undefined) return undefined
  const found = await inTime((signal) => session.hover(text, text.length - name.length, { signal }))
  if (found !== undefined) return cutLines([found.text, found.documentation].filter((it) => it !== "").join("\n"))
  const isMember = text.slice(0, -name.length).trimEnd().endsWith(".")
  if (isMember) return undefined
  const binding = (await session.bindings()).find((it) => it.name === name)
  return binding === undefined ? undefined : bindingText(binding)
}

/** The type of an expression. Waits as long as the checker may take: it was asked for by a command. */
export async function typeText(session: PromptSession, expression: string): Promise<string> {
  if (completeness(`(${expression}\n)`).state !== "complete") return `That is no expression: ${expression}`
  const found = await session.hover(`const _ = (${expression}\n)`, "const ".length)
  return cutLines(found?.text.replace(/^const _: /, "") ?? "Nothing is known of its type.")
}

async function inTime<T>(ask: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
  try {
    return await ask(AbortSignal.timeout(typesMs))
  } catch {
    // It is down, or not up yet: names are better than nothing, and a Tab is no place for an error.
    return undefined
  }
}

function bindingText(info: PromptBinding): string {
  if (info.source !== undefined) return cutLines(info.source)
  const note = { bytes: "", source: "", ephemeral: ", held only by the running process", lost: ", lost" }[info.held]
  return `${info.kind === "readonly" ? "const" : "let"} ${info.name}${note}`
}

function cutLines(text: string): string {
  const lines = text.split("\n")
  return lines.length <= linesMax ? text : [...lines.slice(0, linesMax), "…"].join("\n")
}
