// The sets of declarations of one session: many versions of one map, and the graph of who names whom, at a cost that depends on the change.
//
// One version is the head: its entries are in the maps. Every other one holds how it differs from its neighbour on the way to the
// head, so going to it applies the differences of the way and turns them around. Entries never change their meaning: what depends
// on a changed one gets a new entry, and a version that is left keeps its own. What is only known later (declaration text,
// diagnostics) is filled in once, and is as true in every version that has the entry.
import type { Diagnostic } from "./declarations.ts"

/** What others see of a declaration: its text in a `.d.ts`, or its source where it has none. */
export interface Scheme {
  /** Statements without imports. */
  readonly text: string
  readonly names: ReadonlySet<string>
  /** A declaration whose type has no text (an unnamed class with private members): others see its source. */
  readonly isSource: boolean
}

export interface Entry {
  readonly key: string
  readonly source: string
  /** Names its text uses. */
  readonly names: ReadonlySet<string>
  /** The keys that it and others reach each other through, itself among them; they are checked as one module. */
  readonly group: readonly string[] | undefined
  /** Its source does not parse: `diagnostics` says why, and no program has it in source form. */
  readonly isBroken?: boolean
  /** An imported file, which has what it imports of `nacre:session`; its key is no name. Others always see its source. */
  readonly isFile?: boolean
  /** By specifier, the keys of files that are in the set. */
  readonly targets?: ReadonlyMap<string, string>
  /** A local: no declaration of the session; its scheme is all there is. */
  readonly isLocal: boolean
  scheme: Scheme | undefined
  /** TypeScript fails to write its declaration text. */
  isTextless?: boolean
  /** The scheme as people see it. */
  shown: string | undefined
  diagnostics: readonly Diagnostic[] | undefined
}

interface Version {
  id: string
  /** The neighbour on the way to the head; `undefined` for the head itself. */
  next: Version | undefined
  /** What makes this version of its neighbour. */
  differences: Map<string, Entry | undefined>
}

/** Versions kept of one session: the current revision, and candidates that wait. */
const versionsMax = 16

export class SetVersions {
  readonly entries = new Map<string, Entry>()
  /** Keys whose source uses a name. */
  readonly users = new Map<string, Set<string>>()
  /** Keys whose scheme uses a name. */
  readonly schemeUsers = new Map<string, Set<string>>()
  readonly #versions = new Map<string, Version>()
  readonly #near = new Set<Version>()
  #head: Version = { id: "", next: undefined, differences: new Map() }
  /** Characters of all entries of the head. */
  textLength = 0

  get headId(): string {
    return this.#head.id
  }

  has(id: string): boolean {
    return this.#versions.has(id)
  }

  /** Makes that version the head. */
  goTo(id: string): void {
    const target = this.#versions.get(id)
    if (target === undefined || target === this.#head) return
    const way: Version[] = []
    for (let at: Version | undefined = target; at !== undefined; at = at.next) way.push(at)
    for (let index = way.length - 2; index >= 0; index--) {
      const to = way[index]!
      const from = way[index + 1]!
      const back = new Map<string, Entry | undefined>()
      for (const [key, entry] of to.differences) {
        back.set(key, this.entries.get(key))
        this.#put(key, entry)
      }
      from.next = to
      from.differences = back
      to.next = undefined
      to.differences = new Map()
    }
    this.#head = target
    // Used last: it is dropped last.
    this.#versions.delete(id)
    this.#versions.set(id, target)
    this.#findNear()
  }

  /** A new version, equal to the head so far, becomes the head. */
  branch(id: string): void {
    const from = this.#head
    const version: Version = { id, next: undefined, differences: new Map() }
    from.next = version
    from.differences = new Map()
    this.#head = version
    const replaced = this.#versions.get(id)
    this.#versions.delete(id)
    // A version of that id from an attempt before stays on the way of others, without its name.
    if (replaced !== undefined) replaced.id = ""
    this.#versions.set(id, version)
    for (const old of [...this.#versions.keys()].slice(0, Math.max(0, this.#versions.size - versionsMax))) {
      this.#versions.delete(old)
    }
    this.#findNear()
  }

  /** Changes the head, and with it only the head. */
  set(key: string, entry: Entry | undefined): void {
    const before = this.entries.get(key)
    if (before === entry) return
    // What is told as a difference to the head must go on being what it is.
    for (const version of this.#near) {
      if (!version.differences.has(key)) version.differences.set(key, before)
    }
    this.#put(key, entry)
  }

  /** Forgets every version but the head, which gets that id. */
  reduceTo(id: string): void {
    this.#versions.clear()
    this.#head = { id, next: undefined, differences: new Map() }
    this.#versions.set(id, this.#head)
    this.#near.clear()
  }

  /** Fills in what has become known of an entry. */
  learnScheme(entry: Entry, scheme: Scheme): void {
    const before = entry.scheme
    entry.scheme = scheme
    if (this.entries.get(entry.key) !== entry) return
    if (before !== undefined) unlink(this.schemeUsers, before.names, entry.key)
    link(this.schemeUsers, scheme.names, entry.key)
  }

  /** Finds the neighbours of the head that lead to a version that is kept. */
  #findNear(): void {
    this.#near.clear()
    const reached = new Set<Version>()
    for (const version of this.#versions.values()) {
      for (let at: Version | undefined = version; at !== undefined && !reached.has(at); at = at.next) {
        reached.add(at)
        if (at.next === this.#head) this.#near.add(at)
      }
    }
  }

  #put(key: string, entry: Entry | undefined): void {
    const before = this.entries.get(key)
    if (before === entry) return
    if (before !== undefined) {
      unlink(this.users, before.names, key)
      if (before.scheme !== undefined) unlink(this.schemeUsers, before.scheme.names, key)
      this.textLength -= before.source.length
    }
    if (entry === undefined) this.entries.delete(key)
    else {
      link(this.users, entry.names, key)
      if (entry.scheme !== undefined) link(this.schemeUsers, entry.scheme.names, key)
      this.textLength += entry.source.length
      this.entries.set(key, entry)
    }
  }
}

function link(index: Map<string, Set<string>>, names: ReadonlySet<string>, key: string): void {
  for (const name of names) {
    const keys = index.get(name)
    if (keys === undefined) index.set(name, new Set([key]))
    else keys.add(key)
  }
}

function unlink(index: Map<string, Set<string>>, names: ReadonlySet<string>, key: string): void {
  for (const name of names) {
    const keys = index.get(name)
    if (keys?.delete(key) === true && keys.size === 0) index.delete(name)
  }
}
