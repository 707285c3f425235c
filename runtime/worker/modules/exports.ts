// What modules export, by the specification's rules, as far as their texts tell.
import type { FileText } from "../../language/file.ts"

export interface ExportingFile {
  readonly key: string
  readonly format: string
  readonly text: FileText | undefined
  /** Exports of what is no ES module. */
  readonly names: ReadonlySet<string>
  readonly targets: ReadonlyMap<string, ExportingFile>
}

interface FoundExport {
  readonly file: ExportingFile
  readonly name: string
}

/** The specification's ResolveExport: which module's which binding a name is. */
export function resolveExport(
  file: ExportingFile,
  name: string,
  seen: Set<string>,
): FoundExport | "ambiguous" | undefined {
  const { text } = file
  if (file.format !== "module" || text === undefined) return file.names.has(name) ? { file, name } : undefined
  const mark = `${name} ${file.key}`
  if (seen.has(mark)) return undefined
  seen.add(mark)
  if (text.locals.has(name)) return { file, name }
  const indirect = text.indirect.get(name)
  if (indirect !== undefined) {
    const target = file.targets.get(text.requests[indirect.request]!.specifier)!
    return indirect.name === "*" ? { file: target, name: "*" } : resolveExport(target, indirect.name, seen)
  }
  if (name === "default") return undefined
  let found: FoundExport | undefined
  for (const star of text.stars) {
    const next = resolveExport(file.targets.get(text.requests[star]!.specifier)!, name, seen)
    if (next === "ambiguous") return next
    if (next === undefined) continue
    if (found !== undefined && (found.file !== next.file || found.name !== next.name)) return "ambiguous"
    found = next
  }
  return found
}

export function exportNames(file: ExportingFile, seen = new Set<ExportingFile>()): Set<string> {
  const { text, names } = file
  if (text === undefined || file.format !== "module") return new Set(names)
  if (seen.has(file)) return new Set()
  seen.add(file)
  const all = new Set([...text.locals, ...text.indirect.keys()])
  for (const star of text.stars) {
    const target = file.targets.get(text.requests[star]!.specifier)
    if (target === undefined) continue
    for (const name of exportNames(target, seen)) if (name !== "default") all.add(name)
  }
  return all
}

/** Whether evaluating it awaits something. */
export function needsWaiting(file: ExportingFile): boolean {
  const seen = new Set([file])
  for (const each of seen) {
    if (each.text?.isAsync === true) return true
    for (const target of each.targets.values()) seen.add(target)
  }
  return false
}
