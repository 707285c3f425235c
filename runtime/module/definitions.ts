// The definitions of a session: their records, who uses whom, the digest of all, and what has changed since that was last asked.
//
// Everything but the records is made when it is first needed, since most sessions never look back; from then on it is kept up to date,
// so that a change costs what it touches.
import type { DefinitionRecord, WrapperRecord } from "../wire/schema.ts"
import { SetDigest } from "./digest.ts"
import { DependencyGraph } from "./graph.ts"
import type { RevisionChange } from "./revision.ts"

const none: readonly string[] = []

/** What names had before a revision. */
export type Undo = readonly (readonly [string, DefinitionRecord | undefined])[]

export class Definitions {
  readonly #records: Map<string, DefinitionRecord>
  #graph: DependencyGraph | undefined
  #digest: SetDigest | undefined
  #mayHaveData = false
  /** What changed names had before. */
  #before: Map<string, DefinitionRecord | undefined> | undefined

  constructor(records?: Iterable<readonly [string, DefinitionRecord]>) {
    this.#records = new Map(records)
    for (const { isData } of this.#records.values()) this.#mayHaveData ||= isData === true
  }

  /** False when no definition has data, and none had: most sessions have none, and a change may look for it in thousands. */
  get mayHaveData(): boolean {
    return this.#mayHaveData
  }

  get size(): number {
    return this.#records.size
  }

  has(name: string): boolean {
    return this.#records.has(name)
  }

  get(name: string): DefinitionRecord | undefined {
    return this.#records.get(name)
  }

  keys(): MapIterator<string> {
    return this.#records.keys()
  }

  values(): MapIterator<DefinitionRecord> {
    return this.#records.values()
  }

  [Symbol.iterator](): MapIterator<[string, DefinitionRecord]> {
    return this.#records[Symbol.iterator]()
  }

  /** It goes to the end, so that records stand in the order in which they can be made again. */
  set(record: DefinitionRecord): void {
    const { name } = record
    const before = this.#records.get(name)
    this.#note(name, before)
    if (before !== undefined) this.#digest?.remove(memberOf(before))
    this.#digest?.add(memberOf(record))
    this.#graph?.set(name, before?.dependencies ?? none, record.dependencies)
    this.#mayHaveData ||= record.isData === true
    this.#records.set(name, record)
  }

  delete(name: string): boolean {
    const before = this.#records.get(name)
    if (before === undefined) return false
    this.#note(name, before)
    this.#digest?.remove(memberOf(before))
    this.#graph?.set(name, before.dependencies, none)
    return this.#records.delete(name)
  }

  clear(): void {
    for (const name of this.#records.keys()) this.delete(name)
  }

  copy(): Definitions {
    const copy = new Definitions(this.#records)
    copy.#digest = this.#digest?.copy()
    return copy
  }

  /** Makes these the definitions; what differs counts as changed. */
  become(wanted: Definitions): void {
    for (const name of this.#records.keys()) if (!wanted.has(name)) this.delete(name)
    for (const record of wanted.values()) if (this.#records.get(record.name) !== record) this.set(record)
  }

  get graph(): DependencyGraph {
    if (this.#graph === undefined) {
      this.#graph = new DependencyGraph()
      for (const { name, dependencies } of this.#records.values()) this.#graph.set(name, none, dependencies)
    }
    return this.#graph
  }

  /** Of the whole set, whatever its order and layout. */
  get digest(): string {
    if (this.#digest === undefined) {
      this.#digest = new SetDigest()
      for (const record of this.#records.values()) this.#digest.add(memberOf(record))
    }
    return this.#digest.toString()
  }

  /** Whether a name was set or taken away since `takeChanges` was last called. */
  get isTouched(): boolean {
    return this.#before !== undefined
  }

  /** What has changed since this was last called, and what each name had then. A name that has its old text again has not. */
  takeChanges(): { changes: RevisionChange[]; undo: Undo } {
    const changes: RevisionChange[] = []
    const undo: [string, DefinitionRecord | undefined][] = []
    for (const [key, before] of this.#before ?? []) {
      const now = this.#records.get(key)
      if (hasSameTexts(before, now)) continue
      undo.push([key, before])
      if (before?.source !== now?.source || filesOf(before) !== filesOf(now)) {
        const change: RevisionChange = { op: now === undefined ? "remove" : "set", key, kind: (now ?? before)!.kind }
        if (now !== undefined) change.source = now.source
        if (before !== undefined) change.previousSource = before.source
        if (now?.files !== undefined) change.files = now.files
        changes.push(change)
      }
      changes.push(...wrapperChanges(key, before?.wrappers ?? [], now?.wrappers ?? []))
    }
    this.#before = undefined
    return { changes, undo }
  }

  #note(name: string, before: DefinitionRecord | undefined): void {
    this.#before ??= new Map()
    if (!this.#before.has(name)) this.#before.set(name, before)
  }
}

/** What the digest of the set knows of one. */
export function memberOf({ name, digest, wrappers = [], files = [] }: DefinitionRecord): string {
  return [
    name,
    digest,
    ...wrappers.flatMap((wrapper) => [wrapper.key, wrapper.digest]),
    ...files.flatMap((file) => [file.name, file.digest]),
  ].join("\n")
}

/** The files of an import as one text. */
function filesOf(record: DefinitionRecord | undefined): string {
  return (record?.files ?? []).map(({ name, digest }) => `${name}\n${digest}\n`).join("")
}

/** Whether two records have the same texts, those of imported files included. */
export function hasSameTexts(a: DefinitionRecord | undefined, b: DefinitionRecord | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  const textsOf = ({ source, wrappers = [] }: DefinitionRecord): string[] => [
    source,
    ...wrappers.flatMap((wrapper) => [wrapper.key, wrapper.source]),
  ]
  if (filesOf(a) !== filesOf(b)) return false
  const [those, these] = [textsOf(a), textsOf(b)]
  return those.length === these.length && those.every((text, index) => text === these[index])
}

function wrapperChanges(
  key: string,
  before: readonly WrapperRecord[],
  now: readonly WrapperRecord[],
): RevisionChange[] {
  const changes: RevisionChange[] = []
  const had = new Map(before.map((it) => [it.key, it]))
  for (const { key: wrapper, source } of now) {
    const previous = had.get(wrapper)
    had.delete(wrapper)
    if (previous?.source === source) continue
    const change: RevisionChange = { op: "wrap", key, wrapper, kind: "wrapper", source }
    changes.push(previous === undefined ? change : { ...change, previousSource: previous.source })
  }
  for (const { key: wrapper, source: previousSource } of had.values()) {
    changes.push({ op: "unwrap", key, wrapper, kind: "wrapper", previousSource })
  }
  return changes
}
