// What the checker is told of a session, and what it says in the session's terms.
//
// The session's definitions are a set; since a default eval changes them without a check, what has changed since the last question is told
// before the next one, by comparing records. Locals have the types that a checked eval declared; nobody knows those of the others. For somebody
// who writes, their committed values stand in, which is no ground to refuse code on: completion and checks are told of two sessions.
import type { Checker, Place, QuestionOptions } from "../checker/checker.ts"
import type {
  Completions,
  DeclarationText,
  Diagnostic,
  Environment,
  Hover,
  LocalText,
  PreludeText,
  Signatures,
} from "../checker/declarations.ts"
import { decodeBindingForEmbedder } from "../wire/values/embedder.ts"
import type { Definitions } from "../module/definitions.ts"
import type { DefinitionRecord } from "../wire/schema.ts"
import type { Jsx } from "../language/jsx-option.ts"
import type { ErrorRecord, Outcome } from "./outcome.ts"
import type { SessionState } from "./state.ts"
import { typeOfValue } from "./value-types.ts"

export interface ChecksContext {
  readonly checker: Checker
  /** Names the session in this nacre. */
  readonly key: string
  readonly profile: string
  /** Where packages are looked up, for their types. */
  readonly directory: string
  readonly jsx: Jsx | undefined
  /** Declarations of the session's tools. */
  readonly tools: string
  readonly state: () => SessionState
  /** Names of the workspace's globals. */
  readonly globalNames: () => readonly string[]
  /** The workspace's preludes, of those that the session's profile has. */
  readonly preludes: () => PreludeText[]
}

/** Bytes of a committed value above which its type is not looked for: decoding it would hold up the embedder. */
const valueBytesMax = 256 * 1024
/** Mistakes of one eval that are shown; the others are counted. */
const shownMax = 10

export class SessionChecks {
  readonly #context: ChecksContext
  readonly #told: { checks: ToldSession; assist: ToldSession }
  /** Types of locals that checked evals have declared. */
  readonly #types = new Map<string, LocalText>()
  /** What others see of the definitions, where a check has told it. */
  readonly #schemes = new Map<string, string>()
  /** Types that checked evals will have declared when they have ended. */
  readonly #coming = new Map<string, LocalText[]>()

  constructor(context: ChecksContext) {
    this.#context = context
    this.#told = { checks: new ToldSession(context, "check"), assist: new ToldSession(context, "assist") }
  }

  /** Checks the code of an eval; the record of its mistakes, or `undefined` when it may run. Rejects as the checker does. */
  async check(
    evalId: string,
    source: string,
    at: { file: string; line: number },
    options: QuestionOptions,
  ): Promise<ErrorRecord | undefined> {
    const place = this.#place("checks", "")
    const request = { ...place, set: place.base, changed: [], removed: [], statements: source }
    const { diagnostics, localTypes } = await this.#context.checker.check(request, options)
    const wrong = diagnostics.filter(({ category, isNew }) => category === "error" && isNew)
    if (wrong.length > 0) return recordOf(wrong, source, at)
    this.#coming.set(evalId, localTypes)
    return undefined
  }

  /** Checks a change of the definitions with everything that it reaches, and what is to run after it. Rejects as the checker does. */
  async checkChange(
    { changed, removed, wrapped, statements }: CheckedChange,
    options?: QuestionOptions,
  ): Promise<CheckedSet> {
    const { checker } = this.#context
    const told = this.#told.checks
    const { definitions } = this.#context.state()
    // A local whose name is declared gives way to it.
    const place = this.#place("checks", "", new Set(changed.map(({ name }) => name)))
    const set = told.nextSet()
    const texts = changed.map(textOf)
    const answer = await checker.check({ ...place, set, changed: texts, removed: [...removed], statements }, options)
    const found = answer.diagnostics.filter(isMistake)
    const records = new Map(changed.map((record) => [record.name, record]))
    const diagnostics = found.map((it) => {
      const file = it.key === undefined ? undefined : told.files.get(it.key)
      // It lies in no declaration.
      if (file !== undefined) return { ...it, key: undefined, record: fileRecord(file) }
      return { ...it, record: recordAt(it.key, records, definitions) }
    })
    if (diagnostics.length === 0) {
      for (const { name, wrappers = [] } of wrapped) {
        for (const wrapper of wrappers) {
          const at = { ...place, base: set, set, changed: [], removed: [] }
          const fits = await checker.check({ ...at, statements: wrapperText(name, wrapper.source) }, options)
          for (const it of fits.diagnostics.filter(isMistake)) {
            const start = Math.max(0, it.start - wrapperLead.length)
            const record: DefinitionRecord = { ...wrapper, name, kind: "wrapper", dependencies: [] }
            diagnostics.push({ ...it, key: name, start, record })
          }
        }
      }
    }
    const schemes = new Map(answer.schemes.map(({ name, text }) => [name, text]))
    const previousSchemes = new Map(changed.map(({ name }) => [name, this.#schemes.get(name)]))
    return {
      diagnostics,
      schemes,
      previousSchemes,
      adopt: () => {
        for (const [name, text] of schemes) this.#schemes.set(name, text)
        told.adopt(set, this.#context.state().definitions)
      },
      learn: (names) => {
        for (const local of answer.localTypes) if (names.includes(local.name)) this.#types.set(local.name, local)
      },
    }
  }

  complete(text: string, offset: number, options?: QuestionOptions): Promise<Completions> {
    return this.#context.checker.complete(this.#place("assist", text), text, offset, options)
  }

  hover(text: string, offset: number, options?: QuestionOptions): Promise<Hover | undefined> {
    return this.#context.checker.hover(this.#place("assist", text), text, offset, options)
  }

  signature(text: string, offset: number, options?: QuestionOptions): Promise<Signatures> {
    return this.#context.checker.signature(this.#place("assist", text), text, offset, options)
  }

  /** An eval has ended: a checked one declared what it was found to, another one may have put anything anywhere. */
  note({ evalId, status, committed }: Outcome): void {
    const coming = this.#coming.get(evalId)
    this.#coming.delete(evalId)
    if (committed.cleared) this.#types.clear()
    for (const name of committed.removed) this.#types.delete(name)
    if (coming === undefined) for (const name of committed.set) this.#types.delete(name)
    const bound = new Set(committed.set)
    for (const local of coming ?? []) {
      // Of what was thrown before its end nothing is known.
      if (bound.has(local.name) && status === "ok") this.#types.set(local.name, local)
      else if (bound.has(local.name)) this.#types.delete(local.name)
    }
  }

  forget(): void {
    for (const { id } of Object.values(this.#told)) this.#context.checker.forget(id)
  }

  #place(purpose: "checks" | "assist", text: string, hidden: ReadonlySet<string> = noNames): Place {
    const { state, globalNames, preludes, profile, directory, jsx, tools } = this.#context
    const { locals, definitions } = state()
    const used = purpose === "assist" ? new Set(text.match(/[\w$\u00aa-\uffff]+/g)) : undefined
    const told: LocalText[] = []
    for (const [name, local] of locals) {
      if (definitions.has(name) || hidden.has(name)) continue
      const known = this.#types.get(name)
      const type = known?.type ?? (used?.has(name) === true ? typeOf(name, local) : "any")
      told.push({ name, keyword: local.readonly ? "const" : "let", type })
    }
    const globals = globalNames().map((name) => `declare const ${name}: any;\n`)
    return this.#told[purpose].place(definitions, {
      profile,
      ambient: tools + globals.join(""),
      preludes: preludes(),
      locals: told,
      directory,
      jsx,
    })
  }
}

const noNames: ReadonlySet<string> = new Set()

/** What a change would make of the definitions. */
export interface CheckedChange {
  readonly changed: readonly DefinitionRecord[]
  readonly removed: readonly string[]
  /** Definitions with wrappers that may not fit any more. */
  readonly wrapped: readonly DefinitionRecord[]
  readonly statements: string
}

export interface CheckedSet {
  /** Mistakes that were not there before, with the declaration that each lies in; `undefined` is what runs after it. */
  readonly diagnostics: readonly (Diagnostic & { record: DefinitionRecord | undefined })[]
  readonly schemes: ReadonlyMap<string, string>
  readonly previousSchemes: ReadonlyMap<string, string | undefined>
  /** The change has been committed: the session's set is the one that was checked. */
  adopt(): void
  /** What ran after it has bound these names. */
  learn(names: readonly string[]): void
}

const wrapperLead = "(("

/** A wrapper as a statement that has to fit. */
function wrapperText(name: string, source: string): string {
  return `${wrapperLead}${source}\n) satisfies (inner: typeof ${name}) => typeof ${name});`
}

function isMistake({ category, isNew }: Diagnostic): boolean {
  return category === "error" && isNew
}

function recordAt(
  key: string | undefined,
  changed: ReadonlyMap<string, DefinitionRecord>,
  definitions: Definitions,
): DefinitionRecord | undefined {
  return key === undefined ? undefined : (changed.get(key) ?? definitions.get(key))
}

/** One of the two sessions that the checker knows of this one. */
class ToldSession {
  readonly id: string
  readonly #context: ChecksContext
  #set = ""
  #definitions: ReadonlyMap<string, DefinitionRecord> = new Map()
  #count = 0
  #environmentText = ""
  /** Imported files that are told with the definitions. */
  files: ReadonlyMap<string, FileText> = new Map()

  constructor(context: ChecksContext, purpose: string) {
    this.#context = context
    this.id = `${context.key} ${purpose}`
  }

  /** Where questions about the session as it is now stand; what is new since the last one is told first. */
  place(definitions: Definitions, surroundings: Omit<Environment, "id">): Place {
    const text = JSON.stringify(surroundings)
    if (text !== this.#environmentText) {
      this.#environmentText = text
      this.#count += 1
    }
    const environment = { id: `e${this.#count}`, ...surroundings }
    const old = this.#placeAt(environment)
    const changed: DeclarationText[] = []
    for (const [name, record] of definitions) {
      if (this.#definitions.get(name) !== record) changed.push(textOf(record))
    }
    const removed = [...this.#definitions.keys()].filter((name) => !definitions.has(name))
    const files = filesOf(definitions.values())
    for (const [key, file] of files) if (!this.files.has(key)) changed.push(textOfFile(file))
    for (const key of this.files.keys()) if (!files.has(key)) removed.push(key)
    if (changed.length === 0 && removed.length === 0) return old
    this.#set = `s${++this.#count}`
    this.#definitions = new Map(definitions)
    this.files = files
    // Questions of a session are answered in their order. If this one is not, the next says what it misses.
    this.#context.checker.advance({ ...old, set: this.#set, changed, removed }).catch(() => {})
    return this.#placeAt(environment)
  }

  nextSet(): string {
    return `s${++this.#count}`
  }

  /** The definitions have become a set that the checker was asked about. */
  adopt(set: string, definitions: Definitions): void {
    this.#set = set
    this.#definitions = new Map(definitions)
  }

  #placeAt(environment: Environment): Place {
    const { files } = this
    const definitions = this.#definitions
    return {
      session: this.id,
      base: this.#set,
      whole: () => [...Array.from(definitions.values(), textOf), ...Array.from(files.values(), textOfFile)],
      environment,
    }
  }
}

type FileText = NonNullable<DefinitionRecord["texts"]>[number]

function textOf({ name: key, source, module, textKey }: DefinitionRecord): DeclarationText {
  if (module === undefined || textKey === undefined) return { key, source }
  return { key, source, targets: [{ specifier: module, key: textKey }] }
}

function textOfFile({ key, source, targets }: FileText): DeclarationText {
  return { key, source, targets, isFile: true }
}

/** What imports lead to that has names of the session, by key. */
function filesOf(records: Iterable<DefinitionRecord>): Map<string, FileText> {
  const files = new Map<string, FileText>()
  for (const { texts } of records) if (texts !== undefined) for (const file of texts) files.set(file.key, file)
  return files
}

/** A file as what a diagnostic lies in. */
function fileRecord({ path, source }: FileText): DefinitionRecord {
  return { name: path, kind: "file", source, file: path, line: 1, column: 1, dependencies: [], digest: "" }
}

type Local = SessionState["locals"] extends Map<string, infer L> ? L : never

function typeOf(name: string, local: Local): string {
  if (local.held === "value") return typeOfValue(local.value)
  if (local.held !== "bytes" || local.group.bytes.length > valueBytesMax) return "any"
  try {
    return typeOfValue(decodeBindingForEmbedder(local.group.bytes, name))
  } catch {
    // A value that cannot leave its realm has no type that can be seen from here.
    return "any"
  }
}

/** Mistakes of an eval as the error of its outcome. */
async function recordOf(
  diagnostics: readonly Diagnostic[],
  source: string,
  { file, line: firstLine }: { file: string; line: number },
): Promise<ErrorRecord> {
  // The parser behind it is native: only a process that shows mistakes loads it.
  const [{ renderProblem }, { LineTable }] = await Promise.all([
    import("../language/parse.ts"),
    import("../language/positions.ts"),
  ])
  const lines = new LineTable(source)
  const problems = diagnostics.map(({ code, message, start, length }) => {
    const span = lines.span(start, start + length)
    return { message: `TS${code}: ${message}`, span: { ...span, line: span.line + firstLine - 1 } }
  })
  const more = problems.length > shownMax ? [`… and ${problems.length - shownMax} more`] : []
  const shown = problems.slice(0, shownMax).map((problem) => renderProblem(source, problem, file))
  return {
    name: "TypeCheckError",
    message: problems[0]!.message,
    stack: [],
    spans: problems.map(({ span }) => span),
    rendered: `TypeCheckError: ${[...shown, ...more].join("\n\n")}`,
  }
}
