// The preludes of one workspace: texts that every realm of its sessions evaluates first, and whose exports are the workspace's class registry.
//
// A set of them is immutable and has a number. Loading one makes another set, in one step for all sessions: each goes over to it with its next
// eval, while the committed state says beside which set its bytes were written, so that a realm is built as it was and then moves. What is
// loaded is read, its names are checked, and it is evaluated in a realm that is thrown away; a prelude that fails anywhere changes nothing.
import { readFile } from "node:fs/promises"
import { basename, dirname, extname, join, resolve } from "node:path"
import { inspect } from "node:util"
import type { PreludeText } from "../checker/declarations.ts"
import { NacreError, messageOf } from "../errors.ts"
import { textDigest } from "../module/digest.ts"
import { expectOption, refuseUnknown } from "../options.ts"
import type { ErrorRecord, Prelude, Preludes } from "../wire/schema.ts"
import { checkGlobalName } from "./names.ts"

/** A prelude to load: its text, or a file. */
export interface PreludeOptions {
  /** Loading another one of the same name replaces it. Default: the name of the file without its ending. */
  name?: string
  /** Its text, as TypeScript. */
  source?: string
  /** The path of a file that holds the text; what it imports is looked for from there. */
  file?: string
  /** Default "main". */
  workspace?: string
}

export interface LoadedPrelude {
  readonly name: string
  /** Names that sessions see; those of types, which only the checker knows, are among them. */
  readonly exports: readonly string[]
  /** It imports modules, so only sessions of profile `full` have it. */
  readonly hasImports: boolean
}

/** How a prelude went that was evaluated to see whether it can be: why not, or nothing. */
export type Trial = (preludes: Preludes, hasImports: boolean) => Promise<ErrorRecord | undefined>

export const noPreludes: Preludes = { id: 0, list: [] }

const preludeNames: readonly (keyof PreludeOptions)[] = ["name", "source", "file", "workspace"]
/** Of one workspace; and characters of all its preludes together, which travel whenever a realm is built. */
const preludesMax = 100
const textMax = 2 * 1024 * 1024

export class PreludeStore {
  /** As sessions see them from their next eval on. */
  current: Preludes = noPreludes
  readonly #types = new Map<string, readonly string[]>()
  readonly #nextId: () => number
  /** One after the other: each is tried beside those that are there. */
  #loading: Promise<unknown> = Promise.resolve()

  /** `nextId`: another one for each set. */
  constructor(nextId: () => number) {
    this.#nextId = nextId
  }

  get isEmpty(): boolean {
    return this.current.list.length === 0
  }

  list(): LoadedPrelude[] {
    return this.current.list.map((prelude) => this.#described(prelude))
  }

  /** As the checker takes them, of those that the profile has. */
  texts(profile: string): PreludeText[] {
    return this.current.list
      .filter(({ hasImports }) => !hasImports || profile === "full")
      .map((prelude) => {
        const { name, source, importer } = prelude
        return { name, source, directory: dirname(importer), exports: [...this.#described(prelude).exports] }
      })
  }

  /** The prelude that exports a value of that name. */
  ownerOf(name: string): string | undefined {
    return this.current.list.find(({ exported }) => exported.includes(name))?.name
  }

  /**
   * Loads a prelude, or one in the place of another. Rejects with `invalid_options`, `prelude_invalid`, `name_conflict`, `source_too_large` and what the
   * trial rejects with; nothing has changed then.
   */
  load(options: PreludeOptions, directory: string, trial: Trial): Promise<LoadedPrelude> {
    return this.#next(async () => {
      const { prelude, types } = await readPreludeOf(options, directory)
      const others = this.current.list.filter(({ name }) => name !== prelude.name)
      this.#checkConflicts(prelude, types, others)
      this.#checkSize(prelude, others)
      // In its old place: what others behind it take from it they find there.
      const at = this.current.list.findIndex(({ name }) => name === prelude.name)
      const list = at === -1 ? [...others, prelude] : others.toSpliced(at, 0, prelude)
      const candidate = { id: this.#nextId(), list }
      const problem = await trial(candidate, prelude.hasImports)
      if (problem !== undefined) throw failure(prelude, problem)
      this.current = candidate
      this.#types.set(prelude.name, types)
      return this.#described(prelude)
    })
  }

  /** Takes a prelude away; gives the names that went with it, `undefined` when there was none. Rejects as `load`. */
  remove(name: string, trial: Trial): Promise<readonly string[] | undefined> {
    return this.#next(async () => {
      const found = this.current.list.find((it) => it.name === name)
      if (found === undefined) return undefined
      const candidate = { id: this.#nextId(), list: this.current.list.filter((it) => it !== found) }
      if (candidate.list.length > 0) {
        const problem = await trial(
          candidate,
          candidate.list.some(({ hasImports }) => hasImports),
        )
        if (problem !== undefined) {
          const message = `Prelude '${name}' cannot be removed, since another one needs it: ${problem.rendered}`
          throw new NacreError("prelude_invalid", message)
        }
      }
      this.current = candidate
      const { exports } = this.#described(found)
      this.#types.delete(name)
      return exports
    })
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#loading.then(work)
    this.#loading = done.catch(() => {})
    return done
  }

  #described({ name, exported, hasImports }: Prelude): LoadedPrelude {
    return { name, exports: [...exported, ...(this.#types.get(name) ?? [])], hasImports }
  }

  #checkConflicts({ name, exported }: Prelude, types: readonly string[], others: readonly Prelude[]): void {
    for (const other of others) {
      const known = [...other.exported, ...(this.#types.get(other.name) ?? [])]
      const twice = [...exported, ...types].find((each) => known.includes(each))
      if (twice === undefined) continue
      const message = `Prelude '${name}' exports '${twice}', which prelude '${other.name}' exports already; rename one of them, or remove that prelude first.`
      throw new NacreError("name_conflict", message)
    }
  }

  #checkSize({ name, source }: Prelude, others: readonly Prelude[]): void {
    if (others.length >= preludesMax) {
      throw new NacreError(
        "invalid_options",
        `A workspace has at most ${preludesMax} preludes; remove some before '${name}'.`,
      )
    }
    const length = others.reduce((sum, it) => sum + it.source.length, source.length)
    if (length > textMax) throw tooLarge(name, length)
  }
}

function tooLarge(name: string, length: number): NacreError {
  const message = `With prelude '${name}' the workspace's preludes have ${length} characters; the limit is ${textMax}. Put what is large into modules that a prelude imports.`
  return new NacreError("source_too_large", message)
}

async function readPreludeOf(
  options: PreludeOptions,
  directory: string,
): Promise<{ prelude: Prelude; types: readonly string[] }> {
  refuseUnknown("loadPrelude", options, preludeNames)
  const { source: given, file } = options
  expectOption(given === undefined || typeof given === "string", "source", "the text of a prelude", given)
  expectOption(file === undefined || (typeof file === "string" && file !== ""), "file", "the path of a file", file)
  expectOption((given === undefined) !== (file === undefined), "source", "given, or file is, and not both", given)
  const path = file === undefined ? undefined : resolve(file)
  const name = options.name ?? (path === undefined ? undefined : basename(path, extname(path)))
  const isName = typeof name === "string" && /^[\w.-]{1,64}$/.test(name)
  if (!isName) {
    const message = `A prelude's name must have 1 to 64 letters, digits, dots, dashes or underscores, unlike ${inspect(name)}; give it as \`name\`.`
    throw new NacreError("invalid_options", message)
  }
  const source = given ?? (await textOf(path!))
  // Before it is parsed: that takes as long as the text is, and this process waits.
  if (source.length > textMax) throw tooLarge(name, source.length)
  const shown = path ?? `prelude:${name}`
  // The parser behind it is native: only a process that reads preludes loads it.
  const [{ readPrelude }, { renderProblem }] = await Promise.all([
    import("../language/prelude.ts"),
    import("../language/parse.ts"),
  ])
  const text = readPrelude(source)
  if (!text.valid) {
    const problems = text.errors.map((error) => renderProblem(source, error, shown))
    throw new NacreError("prelude_invalid", `Prelude '${name}' cannot be read: ${problems.join("\n\n")}`)
  }
  for (const each of text.exports) checkExportName(name, each.name)
  const values = text.exports.filter(({ isType }) => !isType)
  const prelude: Prelude = {
    name,
    source,
    digest: textDigest(source),
    file: shown,
    importer: path ?? join(directory, `${name}.ts`),
    exported: values.map((it) => it.name),
    locals: values.map((it) => it.local),
    hasImports: text.imports.length > 0,
  }
  return { prelude, types: text.exports.filter(({ isType }) => isType).map((it) => it.name) }
}

async function textOf(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8")
  } catch (error) {
    throw new NacreError("prelude_invalid", `The prelude's file '${path}' cannot be read: ${messageOf(error)}`)
  }
}

function checkExportName(prelude: string, name: string): void {
  try {
    checkGlobalName(name)
  } catch (error) {
    const { kind } = error as NacreError
    const why = kind === "name_conflict" ? "which means something in every session already" : "which is no identifier"
    throw new NacreError(kind, `Prelude '${prelude}' exports '${name}', ${why}; export it under another name.`)
  }
}

function failure({ name }: Prelude, { kind, rendered }: ErrorRecord): NacreError {
  if (kind === "outside_call") {
    const message = `Prelude '${name}' calls out while it is loaded, which belongs in a function that sessions call: ${rendered}`
    return new NacreError("prelude_invalid", message)
  }
  return new NacreError("prelude_invalid", `Prelude '${name}' cannot be loaded: ${rendered}`)
}
