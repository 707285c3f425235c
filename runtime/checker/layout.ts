// The virtual files of one check: one module for each declaration or group that is looked at in source form, its declaration text for
// every other one, and one module for the statements.
//
//   function f(n: number) { return g(n) }      <- the source as it was written, from offset 0
//   ;import { g } from "./-g"; declare let x: number; export { f };
//
// What is generated stands behind the source, so offsets are the source's own. Imports come from the names that the source uses; a module
// that nobody imports is not part of the program, so its size is that of the change. User code cannot reach a file that is not its
// own: specifiers are resolved here and nowhere else.
import type ts from "typescript"
import type { Environment, PreludeText } from "./declarations.ts"
import { libraryFile, libraryOf, optionsOf, parseFile } from "./library.ts"
import type { Library } from "./library.ts"
import {
  freeNames,
  hasSessionNamespace,
  moduleOf,
  namesOfStatement,
  preludeModule,
  sessionModule,
  topLevelNames,
} from "./names.ts"
import type { PackageFiles } from "./packages.ts"
import type { Entry, SetVersions } from "./sets.ts"
import { typescript } from "./typescript.ts"

const folder = "/s"
const ambientFile = `${folder}/ambient.d.ts`
export const statementsFile = `${folder}/statements.ts`
const modulePattern = /^\.\/-(.+)$/
const preludeFolder = `${folder}/prelude/`
/** What files see of the session, each its own. */
const sessionFolder = `${folder}/session/`
const preludePattern = /^\.\/prelude\/(.+)$/

/** The statements of a submission as a module. */
export interface Statements {
  readonly text: string
  /** Names the text uses, and those it declares. */
  readonly names: ReadonlySet<string>
  readonly own: ReadonlySet<string>
  /** Names that a plain assignment makes locals. */
  readonly made: readonly string[]
}

export class Layout {
  readonly sets: SetVersions
  readonly environment: Environment
  readonly library: Library
  readonly #packages: PackageFiles
  readonly #ambient: ts.SourceFile
  /** Names that the ambient text declares. */
  readonly ambientNames: ReadonlySet<string>
  /** What preludes export, with the prelude. */
  readonly exports: ReadonlyMap<string, PreludeText>
  #forced: ReadonlySet<string> = new Set()
  #statements: ts.SourceFile | undefined
  #forms = new Map<string, "source" | "scheme">()
  #files = new Map<string, ts.SourceFile>()
  /** Keys by the file that holds them in source form. */
  #sources = new Map<string, readonly string[]>()

  constructor(sets: SetVersions, environment: Environment, packages: PackageFiles) {
    this.sets = sets
    this.environment = environment
    this.library = libraryOf(environment.profile)
    this.#packages = packages
    this.#ambient = parseFile(ambientFile, environment.ambient)
    this.ambientNames = topLevelNames(this.#ambient)
    this.exports = new Map(
      environment.preludes.flatMap((prelude) => prelude.exports.map((name) => [name, prelude] as const)),
    )
  }

  /** The statement of a prelude in which an export is declared. */
  exportText(name: string): string | undefined {
    const prelude = this.exports.get(name)
    const file = prelude && this.getSourceFile(`${preludeFolder}${prelude.name}.ts`)
    const statement = file?.statements.find((each) => namesOfStatement(each).has(name))
    return statement?.getText(file)
  }

  get ambient(): ts.SourceFile {
    return this.#ambient
  }

  /** Lays out the head with these keys in source form, whatever is known of them. */
  arrange(forced: ReadonlySet<string>, statements?: Statements): void {
    this.#forced = forced
    this.#forms = new Map()
    this.#files = new Map([this.#ambient, ...this.library.files].map((file) => [file.fileName, file]))
    this.#sources = new Map()
    this.#statements = statements && parseFile(statementsFile, this.#statementsText(statements), this.#isJsx)
    if (this.#statements !== undefined) this.#files.set(statementsFile, this.#statements)
  }

  get #isJsx(): boolean {
    return this.environment.jsx !== undefined
  }

  program(): ts.Program {
    const roots = this.roots()
    return typescript.createProgram({ rootNames: roots, options: optionsOf(this.environment.jsx), host: this })
  }

  roots(): string[] {
    const files = new Set([libraryFile, ...this.library.files.map((file) => file.fileName), ambientFile])
    for (const key of this.#forced) {
      const file = this.fileOf(key)
      if (file !== undefined) files.add(file)
    }
    if (this.#statements !== undefined) files.add(statementsFile)
    return [...files]
  }

  /** The file in which a declaration stands; `undefined` for what is none. */
  fileOf(key: string): string | undefined {
    const entry = this.sets.entries.get(key)
    if (entry === undefined || entry.isLocal) return undefined
    const form = this.#formOf(entry)
    return form === "scheme" ? `${folder}/-${key}.d.ts` : `${folder}/-${entry.group?.[0] ?? key}.ts`
  }

  /** The declarations whose sources stand in a file, with where each begins; those that were laid out so far. */
  membersOf(file: string): { entry: Entry; start: number }[] {
    const members: { entry: Entry; start: number }[] = []
    let start = 0
    for (const key of this.#sources.get(file) ?? []) {
      const entry = this.sets.entries.get(key)!
      members.push({ entry, start })
      start += entry.source.length + separator.length
    }
    return members
  }

  /** The declaration whose declaration text a file is. */
  schemeIn(file: string): Entry | undefined {
    const key = /^\/s\/-(.+)\.d\.ts$/.exec(file)?.[1]
    return key === undefined ? undefined : this.sets.entries.get(key)
  }

  /** Keys that the program holds in source form. */
  keysInSource(): string[] {
    return [...this.#sources.values()].flat()
  }

  #formOf(entry: Entry): "source" | "scheme" {
    const known = this.#forms.get(entry.key)
    if (known !== undefined) return known
    const members = entry.group ?? [entry.key]
    const isSource = members.some((key) => {
      const { scheme, isBroken } = this.sets.entries.get(key)!
      if (isBroken === true) return false
      return this.#forced.has(key) || scheme === undefined || scheme.isSource
    })
    const form = isSource ? "source" : "scheme"
    for (const key of members) this.#forms.set(key, form)
    return form
  }

  // As TypeScript's host

  getSourceFile(name: string): ts.SourceFile | undefined {
    const known = this.#files.get(name)
    if (known !== undefined) return known
    const file = name.startsWith(`${folder}/-`)
      ? this.#module(name)
      : name.startsWith(preludeFolder)
        ? this.#prelude(name.slice(preludeFolder.length, -".ts".length))
        : name.startsWith(sessionFolder)
          ? this.#sessionOf(name)
          : this.#packages.file(name)
    if (file !== undefined) this.#files.set(name, file)
    return file
  }

  #module(name: string): ts.SourceFile | undefined {
    const isScheme = name.endsWith(".d.ts")
    const entry = this.sets.entries.get(name.slice(`${folder}/-`.length, isScheme ? -".d.ts".length : -".ts".length))
    if (entry === undefined || entry.isLocal) return undefined
    if (isScheme) {
      if (entry.scheme === undefined) return undefined
      return parsed(name, entry.scheme.text + this.#tail(entry.scheme.names, new Set([entry.key]), [entry.key]))
    }
    const keys = entry.group ?? [entry.key]
    this.#sources.set(name, keys)
    if (entry.isFile === true) return parsed(name, `${entry.source}${separator}export{};`)
    const members = keys.map((key) => this.sets.entries.get(key)!)
    const names = new Set(members.flatMap((member) => [...member.names]))
    const text = members.map(({ source }) => source).join(separator) + this.#tail(names, new Set(keys), keys)
    return parsed(name, text, this.#isJsx)
  }

  /** The names of the session as a module, for one file. */
  #sessionOf(name: string): ts.SourceFile | undefined {
    const entry = this.sets.entries.get(name.slice(sessionFolder.length, -".ts".length))
    if (entry === undefined) return undefined
    const { entries } = this.sets
    const isWhole = hasSessionNamespace(parsed("file.ts", entry.source))
    const names = (isWhole ? [...entries.keys()] : [...entry.names]).filter(
      (key) => entries.get(key)?.isFile === undefined,
    )
    const known = names.filter((key) => entries.has(key))
    return parsed(name, this.#tail(new Set(known), new Set(), known))
  }

  /** A prelude sees what the others export, and nothing of the session. */
  #prelude(name: string): ts.SourceFile | undefined {
    const prelude = this.environment.preludes.find((it) => it.name === name)
    if (prelude === undefined) return undefined
    const alone = parsed("prelude.ts", prelude.source)
    const own = topLevelNames(alone)
    let imports = ""
    for (const used of freeNames(alone)) {
      const other = this.exports.get(used)
      if (other !== undefined && other !== prelude && !own.has(used))
        imports += `import{${used}}from${JSON.stringify(`./${other.name}`)};`
    }
    return parsed(`${preludeFolder}${name}.ts`, `${prelude.source}${separator}${imports}export{};`)
  }

  #statementsText({ text, names, own, made }: Statements): string {
    const vars = made.length === 0 ? "" : `var ${made.join(",")};`
    return text + this.#tail(new Set([...names].filter((name) => !made.includes(name))), own, []) + vars
  }

  /** What makes a module of a text: imports of the names it uses, locals as declarations, and its exports. */
  #tail(names: ReadonlySet<string>, own: ReadonlySet<string>, exported: readonly string[]): string {
    let imports = ""
    let locals = ""
    const all = new Set(names)
    // The type of a local brings names of its own, to which the set grows while it is walked.
    for (const name of all) {
      const entry = this.sets.entries.get(name)
      if (own.has(name)) continue
      if (entry === undefined) {
        const prelude = this.ambientNames.has(name) ? undefined : this.exports.get(name)
        if (prelude !== undefined) imports += `import{${name}}from${JSON.stringify(preludeModule(prelude.name))};`
        continue
      }
      if (entry.isLocal) {
        locals += `declare ${entry.source};`
        for (const other of entry.scheme!.names) all.add(other)
      } else imports += `import{${name}}from${JSON.stringify(moduleOf(name))};`
    }
    return `${separator}${imports}${locals}export{${exported.join(",")}};`
  }

  getDefaultLibFileName(): string {
    return libraryFile
  }

  writeFile(): void {
    // Emitted text is taken from the emit itself.
  }

  getCurrentDirectory(): string {
    return folder
  }

  getCanonicalFileName(name: string): string {
    return name
  }

  useCaseSensitiveFileNames(): boolean {
    return true
  }

  getNewLine(): string {
    return "\n"
  }

  fileExists(name: string): boolean {
    return this.getSourceFile(name) !== undefined
  }

  readFile(name: string): string | undefined {
    return this.getSourceFile(name)?.text
  }

  resolveModuleNameLiterals(
    literals: readonly ts.StringLiteralLike[],
    containing: string,
  ): ts.ResolvedModuleWithFailedLookupLocations[] {
    return literals.map(({ text }) => {
      const key = modulePattern.exec(text)?.[1]
      const prelude = this.#preludeOf(text, containing)
      if (prelude !== undefined) {
        const resolvedFileName = `${preludeFolder}${prelude}.ts`
        return {
          resolvedModule: { resolvedFileName, extension: typescript.Extension.Ts, isExternalLibraryImport: false },
        }
      }
      if (containing.startsWith(preludeFolder)) {
        const own = containing.slice(preludeFolder.length, -".ts".length)
        const directory = this.environment.preludes.find(({ name }) => name === own)?.directory
        return { resolvedModule: this.#packages.resolve(text, directory) }
      }
      const told = this.#targetOf(text, containing)
      if (told !== undefined) {
        return {
          resolvedModule: {
            resolvedFileName: told,
            extension: typescript.Extension.Ts,
            isExternalLibraryImport: false,
          },
        }
      }
      if (!containing.startsWith(`${folder}/`)) return { resolvedModule: this.#packages.resolveFrom(text, containing) }
      if (key === undefined) return { resolvedModule: this.#packages.resolve(text, this.environment.directory) }
      const file = this.fileOf(key)
      if (file === undefined) return { resolvedModule: undefined }
      const extension = file.endsWith(".d.ts") ? typescript.Extension.Dts : typescript.Extension.Ts
      return { resolvedModule: { resolvedFileName: file, extension, isExternalLibraryImport: false } }
    })
  }

  /** The file that a specifier means in a file that is told, or in an import that leads to one. */
  #targetOf(text: string, containing: string): string | undefined {
    const key = declarationFile.exec(containing)?.[1]
    const entry = key === undefined ? undefined : this.sets.entries.get(key)
    if (entry === undefined) return undefined
    if (text === sessionModule) return entry.isFile === true ? `${sessionFolder}${key}.ts` : undefined
    for (const member of entry.group ?? [entry.key]) {
      const target = this.sets.entries.get(member)?.targets?.get(text)
      if (target !== undefined) return this.fileOf(target)
    }
    return undefined
  }

  /** The prelude that a generated import means: written in a declaration, or in another prelude. */
  #preludeOf(text: string, containing: string): string | undefined {
    const name = containing.startsWith(preludeFolder) ? /^\.\/(.+)$/.exec(text)?.[1] : preludePattern.exec(text)?.[1]
    return this.environment.preludes.some((it) => it.name === name) ? name : undefined
  }

  resolveTypeReferenceDirectiveReferences(
    references: readonly (ts.FileReference | string)[],
  ): ts.ResolvedTypeReferenceDirectiveWithFailedLookupLocations[] {
    return references.map(() => ({ resolvedTypeReferenceDirective: undefined }))
  }
}

const declarationFile = /^\/s\/-(.+?)(?:\.d)?\.ts$/

/** Parsed modules that are kept: what the checks of the last while were about, with what they use. */
const parsedMax = 4_000
const parsedFiles = new Map<string, ts.SourceFile>()

/** The same text under the same name is the same file, in every program: binding it again would cost more than parsing it. */
function parsed(name: string, text: string, isJsx = false): ts.SourceFile {
  const key = `${name}${isJsx ? "x" : ""}\n${text}`
  const known = parsedFiles.get(key)
  const file = known ?? parseFile(name, text, isJsx)
  if (known !== undefined) parsedFiles.delete(key)
  parsedFiles.set(key, file)
  if (parsedFiles.size > parsedMax) parsedFiles.delete(parsedFiles.keys().next().value!)
  return file
}

/** Ends a source whatever it ends with: a comment, a missing `;`. */
const separator = "\n;"
