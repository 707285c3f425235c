// What a change would make of a session's definitions: pure data, made from the declarations of a submission and the set as it stands.
//
// Nothing here waits or runs: whoever builds a candidate has it checked and made (`session/changes.ts`), and puts it in force.
import type { DefinitionRecord, ModuleDeclaration, WrapperRecord } from "../wire/schema.ts"
import { hasSameTexts, memberOf } from "./definitions.ts"
import type { Definitions } from "./definitions.ts"
import { reachedWithin } from "./graph.ts"

export interface Candidate {
  /** Declarations that say something else than what stands. */
  readonly changed: readonly DefinitionRecord[]
  /** Declarations that only look different: nothing is made anew for them. */
  readonly rewritten: readonly DefinitionRecord[]
  readonly removed: readonly string[]
  /** Names that stood for a value and become types: their values go. */
  readonly valueless: readonly string[]
  /** What has to be compiled: the changed ones, and what must be made between or together with them. */
  readonly make: readonly DefinitionRecord[]
  /** Every definition that depends on a change. */
  readonly dependents: ReadonlySet<string>
}

export type RejectionKind =
  | "invalid"
  | "check_failed"
  | "definition_not_found"
  | "definition_has_dependents"
  | "stale_parent"
  | "data_loss"
  | "outside_call"
  | "local_read"
  | "threw"
  | "stopped"
  | "vetoed"

/** A place in a source: of the submission, or of a definition that depends on what it changes. */
export interface Diagnostic {
  /** The definition that it lies in. */
  key?: string
  message: string
  /** The checker's number for it. */
  code?: number
  file: string
  line: number
  column: number
  /** The message with its line and a caret, where the text is known. */
  rendered?: string
}

/** Why a change was not made. The session stands as it did. */
export interface Rejection {
  kind: RejectionKind
  message: string
  diagnostics: Diagnostic[]
  /** The keys that it is about, where it is about some. */
  keys?: string[]
}

/** The records of a submission's declarations, beside those that stand. */
export function declaredBy(
  declarations: readonly ModuleDeclaration[],
  file: string,
  definitions: Definitions,
): Map<string, DefinitionRecord> {
  const declared = new Map<string, DefinitionRecord>()
  for (const declaration of declarations) declared.set(declaration.key, recordOf(declaration, file))
  settleData(declarations, declared, definitions)
  // Wrappers stay around whatever a name is declared as, as long as it is a value.
  for (const [name, record] of declared) {
    const { wrappers } = definitions.get(name) ?? {}
    if (wrappers !== undefined && !isType(record.kind)) declared.set(name, withWrappers(record, wrappers))
  }
  return declared
}

/** Kinds of definitions that nothing can be put around. */
export const unwrappable: ReadonlySet<string> = new Set(["type", "interface", "enum", "namespace", "import"])

/** A name with wrappers can only be declared as what they can stay around. */
export function refuseWrapped(
  definitions: Definitions,
  declared: ReadonlyMap<string, DefinitionRecord>,
): Rejection | undefined {
  const diagnostics: Diagnostic[] = []
  for (const record of declared.values()) {
    const { name, kind } = record
    const { wrappers = [] } = definitions.get(name) ?? {}
    if (wrappers.length === 0 || !unwrappable.has(kind)) continue
    const keys = quoted(wrappers.map(({ key }) => key))
    const message = `'${name}' has the wrapper${wrappers.length === 1 ? "" : "s"} ${keys}, which cannot be around a ${kind}; unwrap it first.`
    diagnostics.push({ key: name, message, ...placeOf(record) })
  }
  if (diagnostics.length === 0) return undefined
  const keys = diagnostics.map(({ key }) => key!)
  return { kind: "definition_has_dependents", message: diagnostics[0]!.message, diagnostics, keys }
}

/** A definition with these wrappers around it, the innermost first. What a wrapper makes of it is a value. */
export function withWrappers(record: DefinitionRecord, wrappers: readonly WrapperRecord[]): DefinitionRecord {
  const bare = record.bare ?? { dependencies: record.dependencies, isData: record.isData === true }
  const { bare: _, wrappers: _wrappers, isData: _isData, ...rest } = record
  if (wrappers.length === 0) {
    const { dependencies, isData } = bare
    return isData ? { ...rest, dependencies, isData } : { ...rest, dependencies }
  }
  const reads = wrappers.flatMap((wrapper) => wrapper.reads).filter((name) => name !== record.name)
  const dependencies = [...new Set([...bare.dependencies, ...reads])]
  return { ...rest, dependencies, isData: true, wrappers: [...wrappers], bare }
}

export function buildCandidate(
  definitions: Definitions,
  declared: ReadonlyMap<string, DefinitionRecord>,
  remove: readonly string[],
  isLocal: (name: string) => boolean,
): Candidate | Rejection {
  const removed = [...new Set(remove)]
  const valueless = [...declared.values()].flatMap(({ name, kind }) => {
    const before = definitions.get(name)
    const wasValue = before === undefined ? isLocal(name) : !isType(before.kind)
    return isType(kind) && wasValue ? [name] : []
  })
  const refused = refuseRemovals(definitions, declared, removed, valueless)
  if (refused !== undefined) return refused
  const changed: DefinitionRecord[] = []
  const rewritten: DefinitionRecord[] = []
  for (const record of declared.values()) {
    const before = definitions.get(record.name)
    if (
      before === undefined ||
      memberOf(before) !== memberOf(record) ||
      (before.isData === true) !== (record.isData === true)
    )
      changed.push(record)
    else if (!hasSameTexts(before, record)) rewritten.push({ ...before, source: record.source })
  }
  const { graph } = definitions
  const keys = [...changed.map(({ name }) => name), ...removed]
  const dependents = graph.dependentsOf(keys)
  const make = new Set<string>()
  for (const { name, kind } of changed) if (!isType(kind)) make.add(name)
  if (definitions.mayHaveData) {
    for (const name of dependents) if (definitions.get(name)?.isData === true) make.add(name)
  }
  const uses = (name: string): readonly string[] => (declared.get(name) ?? definitions.get(name))?.dependencies ?? []
  // What is made between two of them, and what was one group with one of them before.
  for (const name of reachedWithin(make, dependents, uses)) make.add(name)
  for (const name of reachedWithin(keys, dependents, (it) => definitions.get(it)?.dependencies ?? [])) make.add(name)
  return {
    changed,
    rewritten,
    removed,
    valueless,
    make: Array.from(make, (name) => declared.get(name) ?? definitions.get(name)!),
    dependents,
  }
}

export function isRejection(found: Candidate | Rejection): found is Rejection {
  return "kind" in found
}

/** Names whose definitions or surroundings a candidate builds on: when one of them has changed since, it has to be built again. */
export function touches(candidate: Candidate, keys: readonly string[]): string[] {
  const own = new Set([...candidate.removed, ...candidate.dependents])
  for (const record of [...candidate.changed, ...candidate.rewritten]) {
    own.add(record.name)
    for (const name of record.dependencies) own.add(name)
  }
  return keys.filter((key) => own.has(key))
}

function recordOf(declaration: ModuleDeclaration, file: string): DefinitionRecord {
  const { key: name, kind, source, line, column, reads, digest } = declaration
  return { name, kind, source, file, line, column: column - leadOf(declaration), dependencies: reads, digest }
}

/** Characters that the kept text has in front of what was written: the `const` of one declarator among several. */
function leadOf({ source, start, end }: ModuleDeclaration): number {
  const lead = source.length - (end - start)
  return lead === "const ".length && source.startsWith("const ") ? lead : 0
}

/** What is made of a definition with data has data itself. */
function settleData(
  declarations: readonly ModuleDeclaration[],
  declared: ReadonlyMap<string, DefinitionRecord>,
  definitions: Definitions,
): void {
  const isData = (name: string): boolean => {
    const record = declared.get(name) ?? definitions.get(name)
    return record === undefined || record.isData === true
  }
  for (const { key, isCode } of declarations) if (!isCode) declared.get(key)!.isData = true
  for (let isSettled = false; !isSettled;) {
    isSettled = true
    for (const { key, leaves } of declarations) {
      const record = declared.get(key)!
      if (record.isData === true || !leaves.some(isData)) continue
      record.isData = true
      isSettled = false
    }
  }
}

function refuseRemovals(
  definitions: Definitions,
  declared: ReadonlyMap<string, DefinitionRecord>,
  removed: readonly string[],
  valueless: readonly string[],
): Rejection | undefined {
  const unknown = removed.filter((name) => !definitions.has(name))
  if (unknown.length > 0) {
    const message = `There is no definition ${quoted(unknown)} to remove.`
    return { kind: "definition_not_found", message, diagnostics: [], keys: unknown }
  }
  const both = removed.filter((name) => declared.has(name))
  if (both.length > 0) {
    const message = `The change declares ${quoted(both)} and removes it; leave one out.`
    return { kind: "invalid", message, diagnostics: [], keys: both }
  }
  const going = new Set([...removed, ...valueless])
  const diagnostics: Diagnostic[] = []
  const keys = new Set<string>()
  for (const name of going) {
    const own = [...declared.values()].filter((it) => it.name !== name && it.dependencies.includes(name))
    for (const user of new Set([...definitions.graph.usersOf(name), ...own.map((it) => it.name)])) {
      if (removed.includes(user)) continue
      const record = declared.get(user) ?? definitions.get(user)!
      if (!record.dependencies.includes(name)) continue
      keys.add(user)
      const message = `'${user}' uses '${name}', which the change removes.`
      diagnostics.push({ key: user, message, ...placeOf(record) })
    }
  }
  if (keys.size === 0) return undefined
  const message = `${quoted(keys)} still use${keys.size === 1 ? "s" : ""} what the change removes; change or remove them with it.`
  return { kind: "definition_has_dependents", message, diagnostics, keys: [...keys] }
}

/** Where a definition begins, behind the comments in front of it. */
function placeOf({ source, file, line, column }: DefinitionRecord): { file: string; line: number; column: number } {
  const [comments] = /^(?:\s|\/\/.*|\/\*[^]*?\*\/)*/.exec(source)!
  const lines = comments.split(/\r\n|[\n\r\u2028\u2029]/)
  const last = lines.at(-1)!.length
  return { file, line: line + lines.length - 1, column: lines.length === 1 ? column + last : last + 1 }
}

function isType(kind: string): boolean {
  return kind === "type" || kind === "interface"
}

function quoted(names: Iterable<string>): string {
  return Array.from(names, (name) => `'${name}'`).join(", ")
}
