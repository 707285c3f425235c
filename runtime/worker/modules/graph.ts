// The modules of one realm: from specifiers to the engine's own module records, linked and evaluated.
//
// Everything here is text and records: resolving, reading and checking is done before anything is linked, so that a problem is told with the
// file that asked and what to do, and nothing has run. ES modules are `vm.SourceTextModule`s, so cycles, dead zones, live bindings and
// top-level await are the engine's. CommonJS, JSON and Node's own modules stand in the graph as small modules that ask the realm for
// their value when their turn comes. A file has one instance per revision: when it, or a file that it needs, has changed since, the next
// import from the session makes new ones. Values pass through unseen.
import { readFileSync, statSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname } from "node:path"
import { pathToFileURL, fileURLToPath } from "node:url"
import { compileFunction, SourceTextModule } from "node:vm"
import type { CompileFunctionOptions } from "node:vm"
import { compileFile, importHook } from "../../language/file.ts"
import type { FileText } from "../../language/file.ts"
import type { Jsx } from "../../language/jsx-option.ts"
import { renderProblem } from "../../language/parse.ts"
import type { Position } from "../../language/positions.ts"
import { sessionSpecifier, wholeSession } from "../../language/session-names.ts"
import type { Capabilities } from "../../../stdlib/capabilities.ts"
import { importForRealm, typeOf } from "../dynamic-import.ts"
import type { DynamicImport, LoadForRealm } from "../dynamic-import.ts"
import { admitModule } from "./admission.ts"
import { exportNames, needsWaiting, resolveExport } from "./exports.ts"
import { ModuleProblem } from "./problem.ts"
import { fileDigests, reachedFrom, sessionNamesOf, toldFiles, usesSession } from "./reach.ts"
import type { FileDigest, ToldFile } from "./reach.ts"
import { Resolver } from "./resolve.ts"
import type { Form, Resolved } from "./resolve.ts"

/** Bytes of one file. The largest in wide use is TypeScript's, with 9 MB. */
const fileBytesMax = 32 * 1024 * 1024
/** Bytes of all that a realm has loaded: what a host may spend on sources, of its 512 MiB. */
const bytesMax = 128 * 1024 * 1024
/** Files that one import may bring, and a realm may hold. The largest trees of packages that are not bundled have some thousand. */
const filesPerImportMax = 5_000
const filesMax = 20_000

type Format = "module" | "commonjs" | "json" | "builtin" | "addon"

/** What a realm's side is asked for; see `stdlib/modules.ts`. */
export interface ModulesRealm {
  readonly context: object
  initMeta(meta: object, kind: string, key: string, url: string, path: string, folder: string): void
  give(value: unknown): void
  load(specifier: string, importer: string, type: string, settle: (isLoaded: boolean, value: unknown) => void): void
  onNode(): void
  settle(job: string, ok: boolean, value: unknown): void
  refuse(job: string, problem: string): void
  drop(key: string): void
  /** Between these two, names of the session that files read are noted. */
  begin(): void
  end(): string[]
}

class FileModule {
  /** The path, with the query of a URL if there was one; or `node:name`, or a data URL. */
  readonly key: string
  readonly format: Format
  readonly path: string
  readonly text: FileText | undefined
  readonly source: string
  readonly stamp: string
  /** Exports of what is no ES module. */
  readonly names: ReadonlySet<string>
  readonly targets = new Map<string, FileModule>()
  /** Of CommonJS code: what it asks for by names that its text tells. */
  readonly required = new Map<string, FileModule>()
  /** All that it needs, as far as known. */
  readonly needs = new Set<FileModule>()
  hasWholeSession = false
  /** Names of the session that were read while it was evaluated, and whether one of them means something else by now. */
  readonly read = new Set<string>()
  isOutdated = false
  /** What it imports names of the session from. */
  session: SourceTextModule | undefined
  record: SourceTextModule | undefined
  /** Of an ES module that CommonJS code asks for: a module of its exports and `__esModule`. */
  interop: SourceTextModule | undefined
  filename = ""

  constructor(facts: Pick<FileModule, "key" | "format" | "path" | "text" | "source" | "stamp" | "names">) {
    this.key = facts.key
    this.format = facts.format
    this.path = facts.path
    this.text = facts.text
    this.source = facts.source
    this.stamp = facts.stamp
    this.names = facts.names
  }

  get url(): string {
    return this.path === "" ? this.key : pathToFileURL(this.path).href + this.key.slice(this.path.length)
  }
}

/** What is kept of an imported module besides its name. */
export interface ModuleFacts {
  readonly files: FileDigest[]
  /** Names of the session that its files use. */
  readonly names: string[]
  readonly readsSession: boolean
  readonly texts: ToldFile[]
  readonly textKey: string | undefined
}

type Request = readonly [specifier: string, type: string, form: Form, names: readonly string[]]

let lexer: typeof import("cjs-module-lexer") | undefined
const requireBuiltin = createRequire(import.meta.url)
/** Node 23 and newer give a CommonJS module's `module.exports` under that name too. */
const namesModuleExports = Number(process.versions.node.split(".", 1)[0]) >= 23

export class ModuleGraph {
  readonly #realm: ModulesRealm
  readonly #folder: string
  readonly #capabilities: Capabilities
  #made: Resolver | undefined
  readonly #files = new Map<string, FileModule>()
  readonly #ofRecord = new WeakMap<object, FileModule>()
  /** By the file name that the engine knows. */
  readonly #byFilename = new Map<string, FileModule>()
  /** Linking goes one after the other: two that share modules must not meet half-way. */
  #linking: Promise<unknown> = Promise.resolve()
  readonly #jsx: Jsx | undefined
  #jobs = 0
  #bytes = 0
  #added: FileModule[] = []
  /** Names of the session that files have; "*" for all. */
  readonly sessionNames = new Set<string>()
  /** Whether a file has read names of the session while it was evaluated. */
  hasReadSession = false
  /** Stand-ins for the session that were linked and not evaluated. */
  #fresh: SourceTextModule[] = []

  constructor(realm: ModulesRealm, directory: string, capabilities: Capabilities, jsx: Jsx | undefined) {
    this.#jsx = jsx
    this.#realm = realm
    this.#capabilities = capabilities
    this.#folder = directory.endsWith("/") ? directory : `${directory}/`
  }

  #languageOf(path: string): { isTypeScript: boolean; jsx: Jsx | "off" | undefined } {
    return {
      isTypeScript: /\.(?:[cm]?ts|tsx)$/.test(path),
      jsx: /\.[jt]sx$/.test(path) ? (this.#jsx ?? "off") : undefined,
    }
  }

  get #resolver(): Resolver {
    return (this.#made ??= new Resolver())
  }

  // What the realm asks for: "=answer", or "!" and a problem

  import(importer: string, requests: string): string {
    return this.#answer(() => {
      // From the session, or from a prelude.
      if (!this.#files.has(importer)) this.#refresh()
      const wanted = JSON.parse(requests) as Request[]
      if (wanted.some(([specifier]) => specifier === sessionSpecifier)) return this.#giveSession(importer)
      const root = this.#load(() => this.#root(importer, wanted))
      if (importer !== "" && !this.#files.has(importer)) this.#refuseForPrelude(root)
      const job = String(++this.#jobs)
      this.#start(job, root)
      return job
    })
  }

  require(importer: string, specifier: string): string {
    return this.#answer(() => {
      if (importer === "") this.#refresh()
      const who = this.#who(importer)
      if (specifier === sessionSpecifier) throw sessionByRequire(who)
      const resolved = this.#resolver.resolve(specifier, importer === "" ? this.#folder : importer, who, "require")
      const file = this.#load(() => this.#file(resolved, "any", who, "require"))
      this.#files.get(importer)?.needs.add(file)
      if (file.format === "module") return this.#requireModule(file, specifier, who)
      if (file.format === "addon") return `builtin ${file.path}`
      return `${file.format} ${file.format === "builtin" ? file.key.slice("node:".length) : file.key}`
    })
  }

  code(key: string): string {
    return this.#answer(() => {
      const file = this.#files.get(key)!
      const parameters = ["exports", "require", "module", "__filename", "__dirname", importHook]
      try {
        const options: CompileFunctionOptions = {
          parsingContext: this.#realm.context,
          filename: this.#nameFile(file),
          importModuleDynamically: this.#importFrom(key),
        }
        this.#realm.give(compileFunction(file.text!.code, parameters, options))
      } catch (error) {
        throw syntaxProblem(file.path, engineMessage(error))
      }
      return dirname(file.path)
    })
  }

  json(key: string): string {
    return this.#answer(() => this.#files.get(key)!.source)
  }

  value(name: string): string {
    return this.#answer(() => {
      this.#realm.onNode()
      // An addon is Node's to load, and of its realm, as its own modules are.
      if (name.startsWith("/")) this.#realm.give(loadAddon(name))
      else this.#realm.give(requireBuiltin(`node:${name}`))
      return ""
    })
  }

  resolve(importer: string, specifier: string, form: string): string {
    return this.#answer(() => {
      if (form === "path") {
        const path = specifier.startsWith("file:") ? fileURLToPath(specifier) : specifier
        if (path.startsWith("/")) return path
        throw new ModuleProblem(
          "type_error",
          `createRequire takes an absolute path or a file: URL, not '${specifier}'.`,
          {
            name: "TypeError",
            code: "ERR_INVALID_ARG_VALUE",
          },
        )
      }
      const from = importer === "" ? this.#folder : importer
      const who = this.#who(importer)
      if (specifier === sessionSpecifier && form === "import") return specifier
      if (form === "import") return this.#resolver.url(specifier, from, who)
      const resolved = this.#resolver.resolve(specifier, from, who, "require")
      if (resolved.kind === "file") return resolved.path
      return resolved.kind === "data" || specifier.startsWith("node:") ? specifier : resolved.name
    })
  }

  /** The file that a frame's name stands for, with the way back from its positions. */
  unitOf(
    filename: string,
  ):
    | { unit: { map(line: number, column: number): (Position & { filename: string }) | undefined }; file: string }
    | undefined {
    const found = this.#byFilename.get(filename)
    if (found?.text === undefined) return undefined
    const { text, path, key } = found
    const map = (line: number, column: number) => {
      const place = text.map(line, column)
      return place && { ...place, filename }
    }
    return { unit: { map }, file: path === "" ? key.slice(0, 60) : path }
  }

  /** What a module that is imported is at present: it changes with the file, and with those that it needs. */
  stampOf(specifier: string): string {
    const file = this.#known(specifier)
    if (file === undefined) return ""
    let print = 5381
    for (const { stamp } of reachedFrom(file)) {
      for (let at = 0; at < stamp.length; at++) print = (Math.imul(print, 33) ^ stamp.charCodeAt(at)) >>> 0
    }
    return `${file.key} ${print}`
  }

  /** What is kept of an import besides its text: the files that it leads to, and what these have of the session. */
  factsOf(specifier: string): ModuleFacts {
    const file = this.#known(specifier)
    if (file === undefined) return { files: [], names: [], readsSession: false, texts: [], textKey: undefined }
    let readsSession = false
    for (const { read } of reachedFrom(file)) readsSession ||= read.size > 0
    const { texts, key: textKey } = toldFiles(file)
    return { files: fileDigests(specifier, file), names: sessionNamesOf(file), readsSession, texts, textKey }
  }

  /** Reads what is about to be imported, so that it is known which names of the session its files use. What is wrong is found by the import. */
  peek(specifiers: readonly string[]): void {
    this.#refresh()
    for (const specifier of specifiers) {
      this.#answer(() => {
        const resolved = this.#resolver.resolve(specifier, this.#folder, "this session", "import")
        this.#load(() => this.#file(resolved, "any", "this session", "import"))
        return ""
      })
    }
  }

  /** Whether a file may use a name of the session. */
  usesName(name: string): boolean {
    return this.sessionNames.has(name) || this.sessionNames.has(wholeSession)
  }

  /** Names of the session mean something else now. Gives, by specifier, which of them files keep what they were evaluated with of. */
  outdate(names: ReadonlySet<string>, specifiers: Iterable<string>): Map<string, string> {
    const found = new Map<FileModule, string>()
    for (const file of this.#files.values()) {
      if (file.isOutdated || file.read.size === 0) continue
      const name = [...names].find((it) => file.read.has(it) || file.read.has(wholeSession))
      if (name === undefined) continue
      file.isOutdated = true
      found.set(file, name)
    }
    const told = new Map<string, string>()
    if (found.size === 0) return told
    for (const specifier of specifiers) {
      const file = this.#known(specifier)
      for (const each of file === undefined ? [] : reachedFrom(file)) {
        const name = found.get(each)
        if (name !== undefined) told.set(specifier, name)
      }
    }
    return told
  }

  /** A module that the session imports by that name and that is loaded. */
  #known(specifier: string): FileModule | undefined {
    try {
      return this.#files.get(keyOf(this.#resolver.resolve(specifier, this.#folder, "", "import")))
    } catch {
      return undefined
    }
  }

  /** A file asks for all of the session while it runs: the realm gives it that. */
  #giveSession(importer: string): string {
    const file = this.#files.get(importer)
    if (file === undefined) {
      const message =
        importer === ""
          ? `'${sessionSpecifier}' is there for files: code of the session itself has its names without an import.`
          : `'${sessionSpecifier}' is there for files that a session imports; a prelude sees nothing of the sessions that have it.`
      throw new ModuleProblem("module_invalid", message)
    }
    file.hasWholeSession = true
    this.sessionNames.add(wholeSession)
    return ""
  }

  #refuseForPrelude(root: SourceTextModule): void {
    for (const target of this.#roots.get(root)!.values()) {
      if (typeof target === "string" || !usesSession(target)) continue
      const message = `'${target.path}' imports '${sessionSpecifier}', or a file that it needs does; a prelude sees nothing of the sessions that have it.`
      throw new ModuleProblem("module_invalid", message)
    }
  }

  // Loading

  #answer(work: () => string): string {
    try {
      return `=${work()}`
    } catch (error) {
      if (error instanceof ModuleProblem) return `!${error.text}`
      const { code, resource } = error as { code?: unknown; resource?: unknown }
      if (code === "ERR_ACCESS_DENIED") return `!${this.#refused(String(resource)).text}`
      throw error
    }
  }

  /** The operating system or Node keeps the host from a file that is asked for, or that decides what is. */
  #refused(path: string): ModuleProblem {
    const message = `Profile '${this.#capabilities.name}' may not read '${path}': import what is within its 'readable', or have the folder added there.`
    return new ModuleProblem("capability_denied", message)
  }

  #who(importer: string): string {
    return importer === "" ? "this session" : importer
  }

  /** Nothing that did not load as a whole stays. */
  #load<T>(work: () => T): T {
    this.#added = []
    try {
      return work()
    } catch (error) {
      for (const { key } of this.#added) this.#files.delete(key)
      throw error
    }
  }

  #root(importer: string, requests: readonly Request[]): SourceTextModule {
    const who = this.#who(importer)
    const targets = new Map<string, FileModule | string>()
    let code = ""
    for (const [index, [specifier, type, form, names]] of requests.entries()) {
      const from = importer === "" ? this.#folder : importer
      const resolved = this.#resolver.resolve(specifier, from, who, form)
      const file = this.#file(resolved, form === "require" ? "any" : type, who, form)
      this.#files.get(importer)?.needs.add(file)
      for (const name of names) {
        if (file.text?.types.has(name) !== true) this.#checkExport(file, name, specifier, who)
      }
      code += `export * as n${index} from "${index}";`
      targets.set(String(index), form === "require" ? specifier : file)
    }
    const root = this.#newRecord(code, "nacre:imports", () => {})
    this.#roots.set(root, targets)
    return root
  }

  readonly #roots = new WeakMap<object, Map<string, FileModule | string>>()

  /** The module with all that it imports; those that are new are read. The walk keeps its own list: chains are long. */
  #file(resolved: Resolved, type: string, who: string, form: Form): FileModule {
    const before = this.#added.length
    const found = this.#one(resolved, type, who, form)
    for (let index = before; index < this.#added.length; index++) this.#expand(this.#added[index]!)
    for (let index = before; index < this.#added.length; index++) this.#checkRequests(this.#added[index]!)
    return found
  }

  #expand(file: FileModule): void {
    for (const { specifier, type, line, column } of file.text?.requests ?? []) {
      const who = `${file.path}:${line}:${column}`
      const resolved = this.#resolver.resolve(specifier, file.path === "" ? this.#folder : file.path, who, "import")
      const target = this.#one(resolved, type, who, "import")
      file.targets.set(specifier, target)
      file.needs.add(target)
    }
    if (file.format === "commonjs") this.#expandCommonJs(file)
  }

  /** What a CommonJS file asks for by name is looked for ahead, since an ES module among it has to be linked before code runs. */
  #expandCommonJs(file: FileModule): void {
    for (const [, specifier] of (file.text?.code ?? file.source).matchAll(requireCall)) {
      if (this.#added.length >= filesPerImportMax) return
      try {
        const resolved = this.#resolver.resolve(specifier!, file.path, file.path, "require")
        if (resolved.kind !== "file" || !isCode(resolved.path)) continue
        const needed = this.#one(resolved, "any", file.path, "require")
        file.needs.add(needed)
        file.required.set(specifier!, needed)
      } catch (error) {
        // It may never be asked for; who asks is told.
        if (!(error instanceof ModuleProblem)) throw error
      }
    }
  }

  #checkRequests(file: FileModule): void {
    for (const { specifier, names, line, column } of file.text?.requests ?? []) {
      for (const name of names) {
        this.#checkExport(file.targets.get(specifier)!, name, specifier, `${file.path}:${line}:${column}`)
      }
    }
  }

  #one(resolved: Resolved, type: string, who: string, form: Form): FileModule {
    admitModule(resolved, who, this.#capabilities)
    const key = keyOf(resolved)
    const known = this.#files.get(key)
    if (known !== undefined) {
      checkType(known, type, who)
      return known
    }
    if (this.#added.length >= filesPerImportMax || this.#files.size >= filesMax) {
      const message = `'${key}', which ${who} asks for, is one file too many: an import may bring ${filesPerImportMax}, and a session may hold ${filesMax}. Import a bundled form of the package.`
      throw new ModuleProblem("source_too_large", message)
    }
    const file = resolved.kind === "builtin" ? builtinModule(resolved.name) : this.#read(resolved, key, who, form)
    checkType(file, type, who)
    this.#bytes += file.source.length
    this.#files.set(key, file)
    this.#added.push(file)
    for (const name of file.text?.session?.names ?? []) this.sessionNames.add(name)
    return file
  }

  #read(resolved: Exclude<Resolved, { kind: "builtin" }>, key: string, who: string, form: Form): FileModule {
    if (resolved.kind === "data") return dataModule(resolved.url, who)
    const { path, packageType } = resolved
    const ending = /\.[^./]*$/.exec(path)?.[0] ?? ""
    if (ending === ".node" && form === "require") {
      const facts = { key, path, source: "", stamp: "", text: undefined, names: noNames }
      return new FileModule({ ...facts, format: "addon" })
    }
    const source = this.#readText(path, who)
    const stamp = stampOfFile(path, source)
    const made = { key, path, source, stamp }
    if (ending === ".json") {
      const names = new Set(["default"])
      checkJson(path, source)
      return new FileModule({ ...made, format: "json", text: undefined, names })
    }
    const format = formatOf(ending, packageType)
    if (format === undefined) {
      const known = ".js, .mjs, .cjs, .jsx, .ts, .mts, .cts, .tsx and .json"
      throw new ModuleProblem(
        "module_invalid",
        `'${path}', which ${who} asks for, is no file that a session can import; those end in ${known}.`,
        {
          code: "ERR_UNKNOWN_FILE_EXTENSION",
          name: "TypeError",
        },
      )
    }
    const text = compileFile(source, { ...this.#languageOf(path), format })
    if (!text.valid) {
      const [error] = text.errors
      const place = renderProblem(source, error!, path)
      throw syntaxProblem(path, place, form)
    }
    const names = text.format === "module" ? noNames : this.#namesOf(path, text.code)
    return new FileModule({ ...made, format: text.format, text, names })
  }

  #readText(path: string, who: string): string {
    const found = statSync(path, { throwIfNoEntry: false })
    if (found?.isFile() !== true) {
      throw new ModuleProblem("module_not_found", `'${path}', which ${who} asks for, is no file.`, {
        code: "ERR_MODULE_NOT_FOUND",
      })
    }
    if (found.size > fileBytesMax || this.#bytes + found.size > bytesMax) {
      const message = `'${path}', which ${who} asks for, has ${found.size} bytes: a file may have ${fileBytesMax}, and all files of a session ${bytesMax}. Import a smaller form of it.`
      throw new ModuleProblem("source_too_large", message)
    }
    try {
      return readFileSync(path, "utf8")
    } catch (error) {
      const message = `'${path}', which ${who} asks for, cannot be read: ${(error as Error).message}.`
      throw new ModuleProblem("module_not_found", message, { code: "ERR_MODULE_NOT_FOUND" })
    }
  }

  /** The exports of a CommonJS file as far as its text tells them, with those that it gives on. */
  #namesOf(path: string, code: string, seen = new Set<string>()): ReadonlySet<string> {
    const names = new Set(["default"])
    if (namesModuleExports) names.add("module.exports")
    // Loaded at its first use, as the resolver is.
    lexer ??= requireBuiltin("cjs-module-lexer") as typeof import("cjs-module-lexer")
    let found
    try {
      found = lexer.parse(code)
    } catch {
      // What the lexer cannot read has no names but the default; running it tells what is wrong.
      return names
    }
    seen.add(path)
    for (const name of found.exports) names.add(name)
    for (const specifier of found.reexports) {
      try {
        const resolved = this.#resolver.resolve(specifier, path, path, "require")
        if (resolved.kind !== "file" || seen.has(resolved.path) || !isCode(resolved.path)) continue
        const format = formatOf(/\.[^./]*$/.exec(resolved.path)?.[0] ?? "", resolved.packageType)
        const text = compileFile(readFileSync(resolved.path, "utf8"), {
          ...this.#languageOf(resolved.path),
          format: format ?? "commonjs",
        })
        if (!text.valid || text.format === "module") continue
        for (const name of this.#namesOf(resolved.path, text.code, seen)) names.add(name)
      } catch {
        // As above.
      }
    }
    return names
  }

  // Exports

  #checkExport(file: FileModule, name: string, specifier: string, who: string): void {
    const found = resolveExport(file, name, new Set())
    if (found !== undefined && found !== "ambiguous") return
    const where = file.path === "" ? `'${specifier}'` : `'${specifier}' (${file.path})`
    let message
    if (found === "ambiguous")
      message = `${where} has more than one '${name}', from different 'export *'; ${who} cannot import it by that name.`
    else if (file.text?.types.has(name) === true)
      message = `${where} has '${name}' as a type only; write 'import type' or 'export type' in ${who}.`
    else if (file.format === "module" || file.format === "builtin" || file.format === "json") {
      const has = [...exportNames(file)].toSorted().slice(0, 20).join(", ")
      message = `${where} has no export '${name}', which ${who} imports; it has ${has === "" ? "none" : has}.`
    } else {
      message = `${where} is CommonJS and does not show an export '${name}', which ${who} imports; import its default and take '${name}' from that.`
    }
    throw new ModuleProblem("module_invalid", message, { name: "SyntaxError" })
  }

  // Records

  #newRecord(code: string, identifier: string, initMeta: (meta: object) => void, importer?: string): SourceTextModule {
    return new SourceTextModule(code, {
      context: this.#realm.context,
      identifier,
      initializeImportMeta: initMeta,
      ...(importer === undefined ? {} : { importModuleDynamically: this.#importFrom(importer) }),
    })
  }

  /** For `import()` that the compiler has not seen: in CommonJS files and in code that is made at run time. */
  #importFrom(key: string): DynamicImport {
    const load: LoadForRealm = (specifier, type, settle) => this.#realm.load(specifier, key, type, settle)
    return (specifier, _from, attributes) => importForRealm(load, specifier, typeOf(attributes))
  }

  #nameFile(file: FileModule): string {
    if (file.filename !== "") return file.filename
    const name = file.path === "" ? `data:${this.#byFilename.size}` : file.key
    file.filename = this.#byFilename.has(name) ? `${name}?revision=${this.#byFilename.size}` : name
    this.#byFilename.set(file.filename, file)
    return file.filename
  }

  #recordOf(file: FileModule): SourceTextModule {
    if (file.record !== undefined) return file.record
    const { key, format, url, path } = file
    const folder = path === "" ? "" : dirname(path)
    const kind = format === "module" ? fileKind : format
    const asked = format === "builtin" ? key.slice("node:".length) : key
    const initMeta = (meta: object): void => this.#realm.initMeta(meta, kind, asked, url, path, folder)
    try {
      const code = format === "module" ? file.text!.code : standInCode(file)
      const identifier = format === "module" ? this.#nameFile(file) : `nacre:${format}`
      file.record = this.#newRecord(code, identifier, initMeta, file.key)
    } catch (error) {
      throw syntaxProblem(path, engineMessage(error))
    }
    this.#ofRecord.set(file.record, file)
    return file.record
  }

  /** What a file has its names of the session from. */
  #sessionOf(file: FileModule): SourceTextModule {
    if (file.session !== undefined) return file.session
    const names = file.text!.session!.names.map((name, index) => `e${index}=of(${JSON.stringify(name)})`)
    const code = `const of=import.meta.$$_session;export const ${names.join(",")};`
    const initMeta = (meta: object): void => this.#realm.initMeta(meta, "session", file.path || file.key, "", "", "")
    file.session = this.#newRecord(names.length === 0 ? "" : code, sessionSpecifier, initMeta)
    this.#fresh.push(file.session)
    return file.session
  }

  readonly #linker = (specifier: string, from: { identifier: string }): SourceTextModule => {
    const roots = this.#roots.get(from)
    if (roots !== undefined) {
      const target = roots.get(specifier)!
      if (typeof target !== "string") return this.#recordOf(target)
      const initMeta = (meta: object): void => this.#realm.initMeta(meta, "require", target, "", "", "")
      return this.#newRecord("export const r=import.meta.$$_loaded()", "nacre:require", initMeta)
    }
    const file = this.#ofRecord.get(from)!
    return specifier === sessionSpecifier ? this.#sessionOf(file) : this.#recordOf(file.targets.get(specifier)!)
  }

  #start(job: string, root: SourceTextModule): void {
    const ahead = [...this.#files.values()]
      .filter((file) => file.format === "commonjs")
      .flatMap((file) => [...file.needs])
    const settle = (ok: boolean, value: unknown): void => this.#realm.settle(job, ok, value)
    const link = async (): Promise<void> => {
      await root.link(this.#linker)
      for (const file of ahead) if (file.format === "module") await this.#linkAhead(file)
      // Before all others: of files that need each other, one is asked before its own imports have been evaluated.
      for (const session of this.#fresh.splice(0)) if (session.status === "linked") await session.evaluate()
    }
    const failed = this.#failed(root)
    if (failed !== undefined) return void Promise.resolve().then(() => settle(false, failed.record!.error))
    const linked = this.#linking.then(link)
    this.#linking = linked.catch(() => {})
    linked.then(
      () => {
        const ended = this.#beginEvaluation(root)
        root.evaluate().then(
          () => {
            ended()
            settle(true, root.namespace)
          },
          (error: unknown) => {
            ended()
            settle(false, error)
          },
        )
      },
      (error: unknown) => {
        const problem =
          error instanceof ModuleProblem
            ? error
            : new ModuleProblem("module_invalid", engineMessage(error), { name: "SyntaxError" })
        // Records that are half linked must not be met again.
        for (const [key, file] of this.#files)
          if (file.record?.status === "unlinked" || file.record?.status === "linking") this.#files.delete(key)
        this.#realm.refuse(job, problem.text)
      },
    )
  }

  #evaluating = 0

  /** Has it noted what files read of the session while they are evaluated. */
  #beginEvaluation(root: SourceTextModule): () => void {
    const reached = new Set<FileModule>()
    for (const target of this.#roots.get(root)!.values()) {
      if (typeof target !== "string") for (const file of reachedFrom(target)) reached.add(file)
    }
    if (![...reached].some(({ text, hasWholeSession }) => hasWholeSession || text?.session !== undefined))
      return () => {}
    const fresh = [...reached].filter((file) => file.record?.status !== "evaluated")
    this.#evaluating += 1
    this.#realm.begin()
    return () => {
      const names = this.#realm.end()
      this.#evaluating -= 1
      if (this.#evaluating > 0) this.#realm.begin()
      this.hasReadSession ||= names.length > 0
      for (const file of fresh) for (const name of names) file.read.add(name)
    }
  }

  /** A module among what is imported that has thrown when it was evaluated: it throws that again, for whoever needs it. */
  #failed(root: SourceTextModule): FileModule | undefined {
    const seen = new Set<FileModule>()
    for (const target of this.#roots.get(root)!.values()) if (typeof target !== "string") seen.add(target)
    for (const each of seen) {
      if (each.record?.status === "errored") return each
      if (each.record?.status === "evaluated") continue
      for (const target of each.targets.values()) seen.add(target)
    }
    return undefined
  }

  /** An ES module that a CommonJS file may ask for while it runs. */
  async #linkAhead(file: FileModule): Promise<void> {
    if (file.interop !== undefined || needsWaiting(file) || usesSession(file)) return
    const exports = exportNames(file)
    const marks = exports.has("default") && !exports.has("__esModule")
    const code = marks
      ? `export * from "0";export{default}from "0";export const __esModule=true`
      : `export * as n0 from "0"`
    const interop = this.#newRecord(code, "nacre:interop", () => {})
    this.#roots.set(interop, new Map([["0", file]]))
    await interop.link(this.#linker)
    file.interop = interop
  }

  #requireModule(file: FileModule, specifier: string, who: string): string {
    if (needsWaiting(file)) {
      const message = `'${specifier}' is an ES module that awaits at its top level, so ${who} cannot get it by require; use await import().`
      throw new ModuleProblem("module_invalid", message, { code: "ERR_REQUIRE_ASYNC_MODULE" })
    }
    if (usesSession(file)) throw sessionByRequire(who, specifier)
    const { interop } = file
    if (interop === undefined) {
      const message = `'${specifier}' is an ES module, which ${who} asks for by a require that was not seen ahead; use await import().`
      throw new ModuleProblem("module_invalid", message, { code: "ERR_REQUIRE_ESM" })
    }
    if (file.record?.status === "evaluating") {
      const message = `'${specifier}' is being evaluated and needs ${who} for that, which asks for it by require; break the cycle with import().`
      throw new ModuleProblem("module_invalid", message, { code: "ERR_REQUIRE_CYCLE_MODULE" })
    }
    // Its promise is settled when this returns; whether it threw is in the status.
    if (interop.status === "linked") void interop.evaluate().catch(() => {})
    if (interop.status === "errored") {
      this.#realm.give(interop.error)
      return "threw "
    }
    const exports = exportNames(file)
    const namespace = interop.namespace as Record<string, unknown>
    const isMarked = exports.has("default") && !exports.has("__esModule")
    if (exports.has("module.exports"))
      this.#realm.give((file.record!.namespace as Record<string, unknown>)["module.exports"])
    else this.#realm.give(isMarked ? namespace : file.record!.namespace)
    return "module "
  }

  // Revisions

  /** Forgets files that have changed, what failed, and all that needs either. */
  #refresh(): void {
    this.#resolver.forget()
    const dirty = new Set<FileModule>()
    for (const file of this.#files.values()) {
      const isFailed = file.record?.status === "errored"
      if (isFailed || file.isOutdated || (file.path !== "" && hasChanged(file))) dirty.add(file)
    }
    if (dirty.size === 0) return
    for (let size = -1; size !== dirty.size;) {
      size = dirty.size
      for (const file of this.#files.values()) {
        if (dirty.has(file)) continue
        for (const needed of file.needs) {
          if (!dirty.has(needed)) continue
          dirty.add(file)
          break
        }
      }
    }
    for (const file of dirty) {
      this.#bytes -= file.source.length
      this.#files.delete(file.key)
      this.#realm.drop(file.key)
    }
  }
}

/** Node 24 and newer tell a file whether it is the program; none is here. */
const fileKind = "main" in import.meta ? "file with main" : "file"
const noNames: ReadonlySet<string> = new Set()
const requireCall = /\brequire\(\s*["']([^"'\n]+)["']\s*\)/g

/** Locals of the session that code is under way with are not seen by what it gets at once; what is awaited sees them. */
function sessionByRequire(who: string, specifier?: string): ModuleProblem {
  const message =
    specifier === undefined
      ? `'${sessionSpecifier}' is there for ES modules that a session imports, and not by require, as ${who} asks for it.`
      : `'${specifier}' has names of '${sessionSpecifier}' and cannot be had by require, as ${who} asks for it; use await import().`
  return new ModuleProblem("module_invalid", message, { code: "ERR_REQUIRE_ESM" })
}

function keyOf(resolved: Resolved): string {
  if (resolved.kind === "builtin") return `node:${resolved.name}`
  return resolved.kind === "data" ? resolved.url : resolved.path + resolved.search
}

function isCode(path: string): boolean {
  return /\.(?:[cm]?[jt]s|[jt]sx)$/.test(path)
}

function formatOf(ending: string, packageType: string | undefined): "module" | "commonjs" | "detect" | undefined {
  switch (ending) {
    case ".mjs":
    case ".mts":
      return "module"
    case ".cjs":
    case ".cts":
      return "commonjs"
    case ".js":
    case ".jsx":
      return packageType === "module" || packageType === "commonjs" ? packageType : "detect"
    case ".ts":
    case ".tsx":
      // A package of type "commonjs" may still be written with `import`, for a compiler that turns it into `require`.
      return packageType === "module" ? "module" : "detect"
    case "":
      return "commonjs"
    default:
      return undefined
  }
}

/** Files of packages change when they are installed, which their time tells; others are compared. */
function stampOfFile(path: string, source: string): string {
  if (!path.includes("/node_modules/")) return source
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? "" : `${found.mtimeMs} ${found.size}`
}

function hasChanged({ path, stamp, format }: FileModule): boolean {
  // A process loads an addon once.
  if (format === "addon") return false
  try {
    if (path.includes("/node_modules/")) return stampOfFile(path, "") !== stamp
    return readFileSync(path, "utf8") !== stamp
  } catch {
    return true
  }
}

function loadAddon(path: string): unknown {
  try {
    return requireBuiltin(path)
  } catch (error) {
    throw new ModuleProblem("module_invalid", engineMessage(error), { code: "ERR_DLOPEN_FAILED" })
  }
}

function builtinModule(name: string): FileModule {
  const names = new Set(["default", ...Object.keys(requireBuiltin(`node:${name}`) as object)])
  return new FileModule({
    key: `node:${name}`,
    format: "builtin",
    path: "",
    text: undefined,
    source: "",
    stamp: "",
    names,
  })
}

function dataModule(url: string, who: string): FileModule {
  const match = /^data:([^,;]*)[^,]*?(;base64)?,([^]*)$/.exec(url)
  const [, type, base64, body = ""] = match ?? []
  let source
  try {
    source = base64 === undefined ? decodeURIComponent(body) : Buffer.from(body, "base64").toString()
  } catch {
    source = body
  }
  const made = { key: url, path: "", source, stamp: "" }
  if (type === "application/json") {
    checkJson("data: URL", source)
    return new FileModule({ ...made, format: "json", text: undefined, names: new Set(["default"]) })
  }
  if (type !== "text/javascript") {
    const message = `A data: URL in ${who} is of type '${type ?? ""}'; those that can be imported are text/javascript and application/json.`
    throw new ModuleProblem("module_invalid", message, { code: "ERR_UNKNOWN_MODULE_FORMAT", name: "RangeError" })
  }
  const text = compileFile(source, { isTypeScript: false, format: "module" })
  if (!text.valid) throw syntaxProblem("data: URL", renderProblem(source, text.errors[0]!, "data: URL"))
  return new FileModule({ ...made, format: "module", text, names: noNames })
}

/** As Node has it: JSON is imported as such by name, and nothing else is. */
function checkType({ format, key }: FileModule, type: string, who: string): void {
  if (type === "any") return
  if (type !== "" && type !== "json") {
    throw new ModuleProblem(
      "module_invalid",
      `${who} imports '${key}' with the type '${type}'; the only one is "json".`,
      {
        code: "ERR_IMPORT_ATTRIBUTE_UNSUPPORTED",
        name: "TypeError",
      },
    )
  }
  if (format === "json" && type === "") {
    const message = `'${key}' is JSON, which ${who} has to say: import … with { type: "json" }.`
    throw new ModuleProblem("module_invalid", message, { code: "ERR_IMPORT_ATTRIBUTE_MISSING", name: "TypeError" })
  }
  if (format !== "json" && type === "json") {
    const message = `'${key}' is no JSON, as ${who} says; leave out with { type: "json" }.`
    throw new ModuleProblem("module_invalid", message, {
      code: "ERR_IMPORT_ATTRIBUTE_TYPE_INCOMPATIBLE",
      name: "TypeError",
    })
  }
}

function checkJson(path: string, source: string): void {
  try {
    JSON.parse(source)
  } catch (error) {
    throw syntaxProblem(path, (error as Error).message)
  }
}

function syntaxProblem(path: string, detail: string, _form?: Form): ModuleProblem {
  const message = detail.includes(path) ? detail : `${path}: ${detail}`
  return new ModuleProblem("module_invalid", message, { name: "SyntaxError" })
}

/** The message of an error that the engine made for a text that it refused; no session code has seen it. */
function engineMessage(error: unknown): string {
  const message = (error as { message?: unknown } | null)?.message
  return typeof message === "string" ? message : "the engine refused it"
}

/** The module that stands for what is no ES module: it asks the realm for the value when its turn comes. */
function standInCode({ format, names }: FileModule): string {
  if (format === "json") return "export default import.meta.$$_loaded().d"
  let code = "const{d,v}=import.meta.$$_loaded();export{d as default"
  if (names.has("module.exports")) code += `,d as "module.exports"`
  code += "};"
  let index = 0
  for (const name of names) {
    if (name === "default" || name === "module.exports") continue
    const text = JSON.stringify(name)
    // A lone surrogate is no export's name.
    if (/\p{Surrogate}/u.test(name)) continue
    code += `const e${index}=v(${text});export{e${index} as ${text}};`
    index += 1
  }
  return code
}
