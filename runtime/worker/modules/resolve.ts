// From a specifier to the file, builtin or data URL it means: Node's algorithm, once for `import` and once for `require`.
//
// `oxc-resolver` does the walking (conditions, `exports`, `imports`, self-reference, symbolic links). Only where Node finds nothing is one thing
// added: TypeScript's way to say `./a.js` and mean the `./a.ts` beside it. What cannot be found is told with who asked and what to do.
import { statSync } from "node:fs"
import { createRequire, isBuiltin } from "node:module"
import { dirname, resolve as resolvePath } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { ModuleProblem } from "./problem.ts"

export type Form = "import" | "require"

export type Resolved =
  | { readonly kind: "file"; readonly path: string; readonly search: string; readonly packageType: string | undefined }
  | { readonly kind: "builtin"; readonly name: string }
  | { readonly kind: "data"; readonly url: string }

const common = { builtinModules: true, moduleType: true, symlinks: true, mainFields: ["main"], mainFiles: ["index"] }
const aliases = { ".js": [".ts", ".tsx"], ".jsx": [".tsx"], ".mjs": [".mts"], ".cjs": [".cts"] }

// Loaded when the first session imports something: most threads never see one.
const load = createRequire(import.meta.url)

export class Resolver {
  readonly #Factory = (load("oxc-resolver") as typeof import("oxc-resolver")).ResolverFactory
  readonly #import = new this.#Factory({
    ...common,
    conditionNames: ["node", "import", "module-sync"],
    extensions: [],
    fullySpecified: true,
  })
  readonly #require = new this.#Factory({
    ...common,
    conditionNames: ["node", "require", "module-sync"],
    extensions: [".js", ".json", ".node", ".cts", ".ts", ".tsx", ".jsx"],
  })
  /** A package without `exports` is found by its `main` also by `import`, with the endings left out. */
  readonly #legacy = this.#import.cloneWithOptions({
    ...common,
    conditionNames: ["node", "import", "module-sync"],
    extensions: [".js", ".json", ".node"],
  })
  readonly #typescript = this.#import.cloneWithOptions({
    ...common,
    conditionNames: ["node", "import", "module-sync"],
    extensions: [],
    extensionAlias: aliases,
  })

  /** Forgets what it has seen of the file system: a session may have installed a package since. */
  forget(): void {
    this.#import.clearCache()
    this.#require.clearCache()
    this.#legacy.clearCache()
    this.#typescript.clearCache()
  }

  /** Throws a `ModuleProblem`. `importer` is a folder when it ends with a slash, and is named as `who`. */
  resolve(specifier: string, importer: string, who: string, form: Form): Resolved {
    if (isBuiltin(specifier)) return { kind: "builtin", name: specifier.replace(/^node:/, "") }
    if (specifier.startsWith("data:")) return { kind: "data", url: specifier }
    const scheme = /^([a-z][a-z+.-]+):/i.exec(specifier)?.[1]
    if (scheme === "node") {
      const message = `There is no builtin module '${specifier}', which ${who} asks for; check its name.`
      throw notFound(message, form, "ERR_UNKNOWN_BUILTIN_MODULE")
    }
    if (scheme !== undefined && scheme !== "file") {
      const remedy = "download it to a file, or install it as a package"
      throw notFound(
        `'${specifier}' in ${who} cannot be imported: only files, packages and data: URLs can; ${remedy}.`,
        form,
      )
    }
    let request = specifier
    let search = ""
    if (form === "import" && (scheme === "file" || /^\.{0,2}\//.test(specifier))) {
      try {
        const url = new URL(specifier, pathToFileURL(importer))
        search = url.search + url.hash
        request = fileURLToPath(url)
      } catch (error) {
        throw notFound(`'${specifier}' in ${who} is no usable file URL: ${(error as Error).message}.`, form)
      }
    }
    const folder = importer.endsWith("/") ? importer : dirname(importer)
    const found = this.#find(folder, request, form)
    if (found.path !== undefined) {
      const { path, moduleType } = found
      // A query is oxc's to keep or not; ours is kept apart.
      return {
        kind: "file",
        path: path.replace(/[?#].*$/, (tail) => (request.includes(tail) ? tail : "")),
        search,
        packageType: moduleType,
      }
    }
    if (found.builtin !== undefined) return { kind: "builtin", name: found.builtin.resolved.replace(/^node:/, "") }
    throw this.#explain(specifier, request, folder, who, form, found.error ?? "")
  }

  /** The URL that `import.meta.resolve` gives: of a path also where there is no file. */
  url(specifier: string, importer: string, who: string): string {
    if (/^\.{0,2}\//.test(specifier) || specifier.startsWith("file:")) {
      const url = new URL(specifier, pathToFileURL(importer))
      return url.href
    }
    const resolved = this.resolve(specifier, importer, who, "import")
    if (resolved.kind === "builtin") return `node:${resolved.name}`
    return resolved.kind === "data" ? resolved.url : pathToFileURL(resolved.path).href
  }

  #find(folder: string, request: string, form: Form) {
    if (form === "require") return this.#require.sync(folder, request)
    const found = this.#import.sync(folder, request)
    if (found.path !== undefined || found.builtin !== undefined) return found
    const isPath = request.startsWith("/")
    const isWholePackage = /^(?:@[^/]+\/)?[^/.][^/]*$/.test(request) || request.startsWith("#")
    const again = isPath
      ? this.#typescript.sync(folder, request)
      : isWholePackage
        ? this.#legacy.sync(folder, request)
        : undefined
    return again?.path !== undefined ? again : found
  }

  #explain(specifier: string, request: string, folder: string, who: string, form: Form, reason: string): ModuleProblem {
    if (/^\.{0,2}\//.test(specifier) || specifier.startsWith("file:")) {
      const path = resolvePath(folder, request)
      if (isFolder(path)) {
        return notFound(
          `'${specifier}' in ${who} is a folder (${path}); name a file in it, such as '${specifier.replace(/\/?$/, "/index.js")}'.`,
          form,
          "ERR_UNSUPPORTED_DIR_IMPORT",
        )
      }
      const near = [".ts", ".mts", ".js", ".mjs", ".cjs", ".json"].find((ending) => isFile(path + ending))
      const remedy = near === undefined ? "check the path" : `did you mean '${specifier}${near}'?`
      return notFound(`Cannot find '${specifier}', which ${who} asks for: there is no file ${path}; ${remedy}`, form)
    }
    if (specifier.startsWith("#")) {
      return notFound(
        `'${specifier}' in ${who} is not among the "imports" of the package.json around ${folder}; add it there.`,
        form,
        "ERR_PACKAGE_IMPORT_NOT_DEFINED",
        "TypeError",
      )
    }
    const [, name = specifier] = /^((?:@[^/]+\/)?[^/]+)/.exec(specifier) ?? []
    if (/not exported|exports field/.test(reason)) {
      return notFound(
        `Package '${name}' does not export '${specifier}', which ${who} asks for: see "exports" of its package.json.`,
        form,
        "ERR_PACKAGE_PATH_NOT_EXPORTED",
      )
    }
    const installed = this.#installed(name, folder)
    const remedy =
      installed === undefined
        ? `no folder from ${folder.replace(/(.)\/$/, "$1")} upwards has it in node_modules; install it there: npm install ${name}`
        : `${installed} has no such file`
    return notFound(`Cannot find '${specifier}', which ${who} asks for: ${remedy}`, form)
  }

  #installed(name: string, folder: string): string | undefined {
    for (let at = resolvePath(folder); ; at = dirname(at)) {
      const path = `${at}/node_modules/${name}`
      if (isFolder(path)) return path
      if (dirname(at) === at) return undefined
    }
  }
}

function notFound(message: string, form: Form, code?: string, name: "Error" | "TypeError" = "Error"): ModuleProblem {
  const usual = form === "require" ? "MODULE_NOT_FOUND" : "ERR_MODULE_NOT_FOUND"
  return new ModuleProblem("module_not_found", message, { code: code ?? usual, name })
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true
}
