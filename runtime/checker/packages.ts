// Types of packages, from the `node_modules` of the directory that an embedder names for a session, and from nowhere else.
//
// Session code chooses the specifiers, so only bare ones are looked up, and only files under a `node_modules` are read. What is not found
// is `any`: whether a package may be imported at all is decided where it is evaluated. Files are read once in the life of the process.
import { isAbsolute } from "node:path"
import type ts from "typescript"
import { options, parseFile } from "./library.ts"
import { typescript } from "./typescript.ts"

const inPackage = /[\\/]node_modules[\\/]/

export class PackageFiles {
  readonly #files = new Map<string, ts.SourceFile | undefined>()
  readonly #resolved = new Map<string, ts.ResolvedModuleFull | undefined>()
  readonly #host: ts.ModuleResolutionHost = {
    fileExists: (name) => inPackage.test(name) && typescript.sys.fileExists(name),
    readFile: (name) => (inPackage.test(name) ? typescript.sys.readFile(name) : undefined),
    directoryExists: (name) => typescript.sys.directoryExists(name),
    realpath: (name) => typescript.sys.realpath?.(name) ?? name,
  }

  /** What a specifier in session code means. */
  resolve(specifier: string, directory: string | undefined): ts.ResolvedModuleFull | undefined {
    if (directory === undefined || specifier.startsWith(".") || isAbsolute(specifier)) return undefined
    return this.resolveFrom(specifier, `${directory}/session.ts`)
  }

  /** What a specifier in a package's file means. */
  resolveFrom(specifier: string, containing: string): ts.ResolvedModuleFull | undefined {
    const key = `${containing}\n${specifier}`
    if (this.#resolved.has(key)) return this.#resolved.get(key)
    const found = typescript.resolveModuleName(specifier, containing, options, this.#host).resolvedModule
    const isTyped = found !== undefined && inPackage.test(found.resolvedFileName)
    const resolved = isTyped ? found : undefined
    this.#resolved.set(key, resolved)
    return resolved
  }

  file(name: string): ts.SourceFile | undefined {
    if (!inPackage.test(name)) return undefined
    if (!this.#files.has(name)) {
      const text = typescript.sys.readFile(name)
      this.#files.set(name, text === undefined ? undefined : parseFile(name, text))
    }
    return this.#files.get(name)
  }
}
