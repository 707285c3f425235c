// What a module leads to: the files that it needs, what they have of the session, and what they were, as a digest that is the same on every
// machine.
import { createHash } from "node:crypto"
import { sessionSpecifier, wholeSession } from "../../language/session-names.ts"
import type { FileText } from "../../language/file.ts"

/** A file as what it needs leads to it. */
export interface ReachedFile {
  readonly format: string
  readonly path: string
  readonly source: string
  readonly text: FileText | undefined
  /** By what the file calls them; `required` as far as its text tells. */
  readonly targets: ReadonlyMap<string, ReachedFile>
  readonly required: ReadonlyMap<string, ReachedFile>
  readonly needs: ReadonlySet<ReachedFile>
  /** It has asked for `nacre:session` while it ran. */
  readonly hasWholeSession: boolean
}

/** What an imported file was. */
export interface FileDigest {
  /** The specifier by which the first one asks for it; of files of a package the package's name. */
  readonly name: string
  readonly digest: string
}

/** Files told one by one; the others are told as one. */
const filesToldMax = 200

/** The file and all that it needs, as far as known. */
export function reachedFrom<F extends { readonly needs: ReadonlySet<F> }>(file: F): Set<F> {
  const seen = new Set([file])
  for (const each of seen) for (const next of each.needs) seen.add(next)
  return seen
}

/** Names of the session that a file and those that it needs use; "*" when they may use any. */
export function sessionNamesOf(file: ReachedFile): string[] {
  const names = new Set<string>()
  for (const { text, hasWholeSession } of reachedFrom(file)) {
    for (const name of text?.session?.names ?? []) names.add(name)
    if (hasWholeSession) names.add(wholeSession)
  }
  return [...names]
}

export function usesSession(file: ReachedFile): boolean {
  for (const { text, hasWholeSession } of reachedFrom(file)) {
    if (hasWholeSession || text?.session !== undefined) return true
  }
  return false
}

const digests = new WeakMap<ReachedFile, string>()

function digestOf(file: ReachedFile): string {
  const known = digests.get(file) ?? createHash("sha256").update(file.source).digest("hex")
  digests.set(file, known)
  return known
}

/**
 * The files that an import leads to, in the order of their imports, each by what it is called there: no path of a machine is in it. What has no file
 * of its own (Node's modules, data: URLs) is told by the text that names it.
 */
export function fileDigests(specifier: string, file: ReachedFile): FileDigest[] {
  const told: FileDigest[] = []
  const packages = new Map<string, string[]>()
  const names = new Map([[file, specifier]])
  for (const [each, name] of names) {
    if (each.path !== "" && each.format !== "addon") {
      const [, folder, rest] = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\/(.*)$/s.exec(each.path) ?? []
      if (folder === undefined) told.push({ name, digest: digestOf(each) })
      else {
        const parts = packages.get(folder) ?? []
        packages.set(folder, parts)
        parts.push(`${rest} ${digestOf(each)}`)
      }
    }
    for (const [called, target] of [...each.targets, ...each.required])
      if (!names.has(target)) names.set(target, called)
  }
  for (const [name, parts] of packages) told.push({ name, digest: digestOfAll(parts.toSorted()) })
  if (told.length <= filesToldMax) return told
  const rest = told.splice(filesToldMax).map(({ name, digest }) => `${name} ${digest}`)
  return [...told, { name: `${rest.length} more files`, digest: digestOfAll(rest) }]
}

function digestOfAll(parts: readonly string[]): string {
  return createHash("sha256").update(parts.join("\n")).digest("hex")
}

/** A file as the checker is told of it: see `wire/schema.ts`. */
export interface ToldFile {
  readonly key: string
  readonly path: string
  readonly source: string
  readonly targets: { specifier: string; key: string }[]
}

/** Characters of the files of one import that are told; of more none is, and what they export is of any type. */
const toldMax = 256 * 1024

/** The TypeScript files that a file leads to, itself included, and that lead to names of the session; `key` is that of the file itself. */
export function toldFiles(file: ReachedFile): { texts: ToldFile[]; key: string | undefined } {
  const told = [...reachedFrom(file)].filter(
    (each) => /\.[mc]?ts$/.test(each.path) && each.text?.format === "module" && mentionsSession(each),
  )
  if (told.reduce((length, { source }) => length + source.length, 0) > toldMax) return { texts: [], key: undefined }
  const keys = new Map(told.map((each) => [each, keyOf(each)]))
  const texts = told.map((each) => {
    const targets = Array.from(each.targets, ([specifier, target]) => ({ specifier, key: keys.get(target) ?? "" }))
    return {
      key: keys.get(each)!,
      path: each.path,
      source: each.source,
      targets: targets.filter(({ key }) => key !== ""),
    }
  })
  return { texts, key: keys.get(file) }
}

/** Types of the session leave nothing of their import in what runs. */
function mentionsSession(file: ReachedFile): boolean {
  for (const { source } of reachedFrom(file)) if (source.includes(sessionSpecifier)) return true
  return false
}

/** A file with its contents: one that has changed is another one. */
function keyOf({ path, source }: ReachedFile): string {
  return `file:${createHash("sha256").update(`${path}\n${source}`).digest("base64url").slice(0, 22)}`
}
