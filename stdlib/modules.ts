// The realm's side of modules: `import`, `import()`, `require` and `import.meta` as session code and the files it imports have them.
//
// The worker resolves, reads and links; what it hands over is text, or an object of this realm that it has not looked at: a namespace, a
// function compiled from a CommonJS file. Node's own modules, in profile `full`, are the one thing that is of another realm. What a file
// throws goes to whoever imported it, untouched. CommonJS modules live here; ES modules are the engine's own records.
import {
  applyFunction,
  arrayPush,
  createObject,
  defineOwn,
  deleteOwn,
  ErrorOf,
  hasOwn,
  jsonParse,
  jsonStringify,
  newList,
  objectFreeze,
  PromiseOf,
  promiseThen,
  putOwn,
  RangeErrorOf,
  stringIndexOf,
  stringSlice,
  SyntaxErrorOf,
  textOfGiven,
  TypeErrorOf,
} from "./intrinsics.ts"
import { kindError, opImport, opModuleCode, opModuleText, opModuleValue, opRequire, opResolve } from "./bridge.ts"
import type { Bridge } from "./bridge.ts"
import type { SessionNames } from "./session-names.ts"

interface CommonJsModule {
  id: string
  path: string
  exports: unknown
  filename: string
  loaded: boolean
  children: CommonJsModule[]
  paths: string[]
  parent: CommonJsModule | undefined
  require: unknown
}

interface Job {
  readonly resolve: (namespace: unknown) => void
  readonly reject: (error: unknown) => void
}

/** What a file imports the names of its session from. */
const sessionSpecifier = "nacre:session"

/** What one of Node's modules is in a session, where it is not Node's own. */
export type BuiltinOverride = (builtin: unknown) => unknown

export class RealmModules {
  readonly #bridge: Bridge
  readonly #hasProcess: boolean
  readonly #jobs: Record<string, Job | undefined> = createObject(null)
  /** CommonJS modules by file name: what `require.cache` shows. */
  readonly #cache: Record<string, CommonJsModule | undefined> = createObject(null)
  readonly #json: Record<string, { value: unknown } | undefined> = createObject(null)
  readonly #builtins: Record<string, { value: unknown } | undefined> = createObject(null)
  readonly #overrides: Record<string, BuiltinOverride | undefined> = createObject(null)
  /** What files have of the session. */
  readonly #session: () => SessionNames
  /** What the worker leaves with the answer that it is about to give. */
  #given: unknown = undefined

  /** `hasProcess`: code may have all of Node, also what loads modules without asking. */
  constructor(bridge: Bridge, hasProcess: boolean, session: () => SessionNames) {
    this.#bridge = bridge
    this.#hasProcess = hasProcess
    this.#session = session
    this.#overrides["module"] = (builtin) => this.#moduleModule(builtin)
  }

  override(name: string, make: BuiltinOverride): void {
    this.#overrides[name] = make
  }

  // What code calls

  /** `import(specifier, options)`; `importer` is a file, or the session when it is empty. */
  async load(specifier: unknown, options: unknown, importer: string): Promise<unknown> {
    const text = textOfGiven(specifier)
    let type = ""
    if (options !== undefined) {
      if ((typeof options !== "object" && typeof options !== "function") || options === null)
        throw new TypeErrorOf("The second argument of import() must be an object.")
      const attributes = (options as { with?: unknown }).with
      if (attributes !== undefined) {
        if (typeof attributes !== "object" || attributes === null)
          throw new TypeErrorOf("The option 'with' of import() must be an object.")
        const given = (attributes as { type?: unknown }).type
        if (given !== undefined) type = textOfGiven(given)
      }
    }
    return this.#loadOne(text, type, importer)
  }

  /** As `load`, for the engine's own `import()`, which is not told to a promise of another realm: session code may have changed `then`. */
  loadFor(
    specifier: string,
    importer: string,
    type: string,
    settle: (isLoaded: boolean, value: unknown) => void,
  ): void {
    // The engine takes nothing but a module of its own for it.
    if (specifier === sessionSpecifier && importer !== "") {
      const message = `'${sessionSpecifier}' is there for the text of ES modules that a session imports; code that is made at run time, and CommonJS, cannot have it.`
      return settle(false, kindError("module_invalid", message))
    }
    void promiseThen(
      this.#loadOne(specifier, type, importer),
      (value) => settle(true, value),
      (reason) => settle(false, reason),
    )
  }

  async #loadOne(specifier: string, type: string, importer: string): Promise<unknown> {
    const request = jsonStringify([specifier, type, "import", newList()])
    if (specifier === sessionSpecifier) {
      this.#ask("import", opImport, importer, `[${request}]`)
      return this.#session().all()
    }
    const root = await this.#start(`[${request}]`, importer)
    return (root as { n0: unknown }).n0
  }

  /** Loads what the import statements of a submission ask for; gives namespaces, or what `require` gives, in their order. */
  async loadAll(requests: readonly string[], importer = ""): Promise<ArrayLike<unknown>> {
    let list = ""
    for (let index = 0; index < requests.length; index++) list += (index === 0 ? "" : ",") + requests[index]!
    const root = (await this.#start(`[${list}]`, importer)) as Record<string, unknown>
    const loaded: unknown[] = newList()
    for (let index = 0; index < requests.length; index++) {
      const namespace = root[`n${index}`] as { r?: unknown }
      loaded[index] = stringIndexOf(requests[index]!, '"require",[') === -1 ? namespace : namespace.r
    }
    return loaded
  }

  #start(requests: string, importer: string): Promise<unknown> {
    const job = this.#ask("import", opImport, importer, requests)
    return new PromiseOf((resolve, reject) => {
      this.#jobs[job] = { resolve, reject }
    })
  }

  /** What `require(specifier)` gives in a file; in the session when `importer` is empty. */
  require(specifier: unknown, importer: string, parent?: CommonJsModule): unknown {
    if (typeof specifier !== "string" || specifier === "")
      throw new TypeErrorOf("require takes the name of a module, which is a text that is not empty.")
    const answer = this.#ask("require", opRequire, importer, specifier)
    const at = stringIndexOf(answer, " ")
    const format = stringSlice(answer, 0, at)
    const key = stringSlice(answer, at + 1)
    if (format === "commonjs") return this.#commonJs(key, parent)
    if (format === "json") return this.#jsonValue(key)
    if (format === "builtin") return this.#builtin(key)
    const given = this.#take()
    if (format === "threw") throw given
    return given
  }

  makeRequire(importer: string, parent?: CommonJsModule): unknown {
    const require = (specifier: unknown): unknown => this.require(specifier, importer, parent)
    const resolve = (specifier: unknown): unknown => {
      if (typeof specifier !== "string") throw new TypeErrorOf("require.resolve takes the name of a module.")
      return this.#ask("require.resolve", opResolve, importer, specifier, "require")
    }
    putOwn(require, "resolve", resolve)
    putOwn(require, "cache", this.#cache)
    putOwn(require, "main", undefined)
    return require
  }

  // What generated code and the worker call

  /** Fills `import.meta`: what a file sees is Node's, what generated code needs does not show. */
  initMeta(meta: object, kind: string, key: string, url: string, path: string, folder: string): void {
    const hide = (name: string, value: unknown): void => {
      defineOwn(meta, name, { __proto__: null, value } as PropertyDescriptor)
    }
    if (kind === "commonjs") {
      hide("$$_loaded", () => {
        const exports = this.#commonJs(key, undefined)
        return objectFreeze({ __proto__: null, d: exports, v: (name: string) => exportOf(exports, name) })
      })
    } else if (kind === "json") hide("$$_loaded", () => objectFreeze({ __proto__: null, d: this.#jsonValue(key) }))
    else if (kind === "builtin") {
      hide("$$_loaded", () => {
        const value = this.#builtin(key)
        return objectFreeze({ __proto__: null, d: value, v: (name: string) => exportOf(value, name) })
      })
    } else if (kind === "session") {
      const session = this.#session()
      hide("$$_session", (name: string) => session.name(name, key))
    } else if (kind === "require") {
      // Of a submission's `import x = require()`.
      hide("$$_loaded", () => this.require(key, ""))
    } else {
      if (path !== "") {
        putOwn(meta, "dirname", folder)
        putOwn(meta, "filename", path)
      }
      if (kind === "file with main") putOwn(meta, "main", false)
      putOwn(meta, "resolve", (specifier: unknown) => this.#resolveUrl(specifier, key))
      putOwn(meta, "url", url)
      hide("$$_import", (specifier: unknown, options: unknown) => this.load(specifier, options, key))
    }
  }

  /** `import.meta` of session code: of the folder that it resolves from. */
  fillSessionMeta(meta: object, folder: string, url: string): void {
    putOwn(meta, "dirname", folder)
    putOwn(meta, "resolve", (specifier: unknown) => this.#resolveUrl(specifier, ""))
    putOwn(meta, "url", url)
  }

  give(value: unknown): void {
    this.#given = value
  }

  settle(job: string, ok: boolean, value: unknown): void {
    const waiting = this.#jobs[job]
    deleteOwn(this.#jobs, job)
    if (ok) waiting?.resolve(value)
    else waiting?.reject(value)
  }

  /** A problem that came up after the answer to the import. */
  refuse(job: string, problem: string): void {
    this.settle(job, false, problemError(problem))
  }

  /** Modules are being evaluated from now on. */
  begin(): void {
    this.#session().begin()
  }

  /** None is; gives the names of the session that they have read meanwhile. */
  end(): string[] {
    return this.#session().end()
  }

  /** Files that have changed: asked for again, they are read again. */
  drop(key: string): void {
    deleteOwn(this.#cache, key)
    deleteOwn(this.#json, key)
  }

  // Inside

  #ask(what: string, op: number, a: string, b: string, c?: string): string {
    const answer = this.#bridge.callOutside(what, op, a, b, undefined, c) as string
    const rest = stringSlice(answer, 1)
    if (answer[0] !== "=") throw problemError(rest)
    return rest
  }

  #take(): unknown {
    const given = this.#given
    this.#given = undefined
    return given
  }

  #resolveUrl(specifier: unknown, importer: string): unknown {
    return this.#ask("import.meta.resolve", opResolve, importer, textOfGiven(specifier), "import")
  }

  #commonJs(key: string, parent: CommonJsModule | undefined): unknown {
    const known = this.#cache[key]
    if (known !== undefined) return known.exports
    const folder = this.#ask("require", opModuleCode, key, "")
    const compiled = this.#take()
    const exports = {}
    const module: CommonJsModule = {
      id: key,
      path: folder,
      exports,
      filename: key,
      loaded: false,
      children: [],
      paths: [],
      parent,
      require: undefined,
    }
    const require = this.makeRequire(key, module)
    module.require = require
    if (parent !== undefined) arrayPush(parent.children, module)
    this.#cache[key] = module
    const load = (specifier: unknown, options: unknown): Promise<unknown> => this.load(specifier, options, key)
    const parameters: unknown[] = newList()
    parameters[0] = exports
    parameters[1] = require
    parameters[2] = module
    parameters[3] = key
    parameters[4] = folder
    parameters[5] = load
    let isDone = false
    try {
      applyFunction(compiled, exports, parameters)
      isDone = true
    } finally {
      // What throws is asked for again by the next one that needs it.
      if (!isDone) deleteOwn(this.#cache, key)
    }
    module.loaded = true
    return module.exports
  }

  #jsonValue(key: string): unknown {
    const known = this.#json[key]
    if (known !== undefined) return known.value
    const value = jsonParse(this.#ask("import", opModuleText, key, ""))
    this.#json[key] = { value }
    return value
  }

  #builtin(name: string): unknown {
    const known = this.#builtins[name]
    if (known !== undefined) return known.value
    this.#ask("import", opModuleValue, name, "")
    const builtin = this.#take()
    const override = this.#overrides[name]
    const value = override === undefined ? builtin : override(builtin)
    this.#builtins[name] = { value }
    return value
  }

  /** `node:module`, whose `createRequire` would load files into another realm, and of which other parts load what no profile is asked for. */
  #moduleModule(builtin: unknown): unknown {
    const node = builtin as { isBuiltin: unknown; builtinModules: unknown }
    const module = createObject(this.#hasProcess ? node : null) as Record<string, unknown>
    module["isBuiltin"] = node.isBuiltin
    module["builtinModules"] = node.builtinModules
    module["createRequire"] = (from: unknown): unknown => {
      const text = textOfGiven(from)
      // A folder's slash stays: it is what `file:` URLs and paths agree on.
      return this.makeRequire(this.#ask("createRequire", opResolve, "", text, "path"))
    }
    module["default"] = module
    return module
  }
}

/** The error of a problem that the worker told as JSON. */
function problemError(problem: string): Error {
  const told = jsonParse(problem) as string[]
  const name = told[0]!
  const kind = told[1]!
  const message = told[2]!
  const code = told[3]!
  let error: Error
  if (name === "SyntaxError") error = new SyntaxErrorOf(message)
  else if (name === "TypeError") error = new TypeErrorOf(message)
  else if (name === "RangeError") error = new RangeErrorOf(message)
  else error = new ErrorOf(message)
  putOwn(error, "kind", kind)
  if (code !== "") putOwn(error, "code", code)
  return error
}

/** A named export of a CommonJS or builtin module, as Node gives it: a getter that throws gives nothing. */
function exportOf(exports: unknown, name: string): unknown {
  if ((typeof exports !== "object" && typeof exports !== "function") || exports === null) return undefined
  try {
    return hasOwn(exports, name) || name in exports ? (exports as Record<string, unknown>)[name] : undefined
  } catch {
    return undefined
  }
}
