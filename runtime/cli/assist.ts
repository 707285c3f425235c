// What the prompt knows of what is being typed: names that may follow, and what a name is.
//
// Nothing here runs user code or waits for it, so that it answers while an eval runs. Where the session has types they are asked, with a deadline:
// nobody waits for a Tab. Otherwise, and when they do not answer in time, names of what is committed do.
import type { Session } from "../session/session.ts"
import type { Nacre } from "../nacre.ts"
import { namesOfEverySession } from "../workspace/names.ts"

/** What a session with types offers. */
interface Typed {
  complete(
    text: string,
    offset: number,
    options: { signal: AbortSignal },
  ): Promise<{ start: number; items: { name: string }[] }>
  inspect(
    text: string,
    offset: number,
    options: { signal: AbortSignal },
  ): Promise<{ text: string; documentation: string } | undefined>
}

export interface Suggestions {
  /** What of the text the names would replace. */
  readonly typed: string
  /** Names that begin with it. */
  readonly names: readonly string[]
}

/** The first question starts the checker, which takes longer than anybody waits; the next ones take milliseconds. */
const typesMs = 2_000
/** Lines of a declaration that are shown. */
const linesMax = 12

const word = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u

/** Names that may stand at the end of a text. */
export async function suggest(nacre: Nacre, session: Session, text: string): Promise<Suggestions> {
  const found = await typesOf(session, (types, signal) => types.complete(text, text.length, { signal }))
  if (found !== undefined) {
    const typed = text.slice(found.start)
    return { typed, names: found.items.map(({ name }) => name).filter((name) => name.startsWith(typed)) }
  }
  const typed = word.exec(text)?.[0] ?? ""
  // Members are known to types alone.
  const isMember = /\.\s*$/.test(text.slice(0, text.length - typed.length).replace(/\.\.\.\s*$/, ""))
  if (isMember) return { typed, names: [] }
  const own = session.bindings.keys()
  const shared = nacre.globals(session.workspace).keys()
  const names = new Set([...own, ...shared, ...namesOfEverySession()])
  return { typed, names: [...names].filter((name) => name.startsWith(typed)) }
}

/** What the name at the end of a text is, in a few lines; `undefined` when it is not known. */
export async function describe(session: Session, text: string): Promise<string | undefined> {
  const name = word.exec(text)?.[0]
  if (name === undefined) return undefined
  const found = await typesOf(session, (types, signal) => types.inspect(text, text.length - name.length, { signal }))
  if (found !== undefined) return cutLines([found.text, found.documentation].filter((it) => it !== "").join("\n"))
  const isMember = text.slice(0, -name.length).trimEnd().endsWith(".")
  return isMember ? undefined : bindingText(session, name)
}

/** The type of an expression; without types, what a name is. */
export async function typeText(session: Session, expression: string): Promise<string> {
  const found = await typesOf(session, (types, signal) => types.inspect(`const _ = (${expression}\n)`, 6, { signal }))
  if (found !== undefined) return cutLines(found.text.replace(/^const _: /, ""))
  const text = bindingText(session, expression.trim())
  return text ?? `Nothing is known of the type of ${expression.trim()}.`
}

async function typesOf<T>(
  session: Session,
  ask: (types: Typed, signal: AbortSignal) => Promise<T>,
): Promise<T | undefined> {
  if (!("complete" in session && "inspect" in session)) return undefined
  try {
    return await ask(session as unknown as Typed, AbortSignal.timeout(typesMs))
  } catch {
    // It is down, or not up yet: names are better than nothing, and a Tab is no place for an error.
    return undefined
  }
}

function bindingText(session: Session, name: string): string | undefined {
  const info = session.bindings.info(name)
  if (info === undefined) return undefined
  if (info.source !== undefined) return cutLines(info.source)
  const note = { bytes: "", source: "", ephemeral: ", held only by the running process", lost: ", lost" }[info.held]
  return `${info.kind === "readonly" ? "const" : "let"} ${name}${note}`
}

function cutLines(text: string): string {
  const lines = text.split("\n")
  return lines.length <= linesMax ? text : [...lines.slice(0, linesMax), "…"].join("\n")
}
