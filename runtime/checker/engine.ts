// The check itself, without a process around it: a set, a change, and TypeScript's word on everything that the change reaches.
//
// It goes in waves. The first looks at what was changed; the next at whatever uses something whose declaration text became another one, or
// whose declaration text names such a thing; until no text changes. One program per wave holds exactly those in source form, so they
// see each other as they are, and everything else as text. A declaration outside of the waves cannot have other diagnostics than before.
import { diagnosticsOf } from "./diagnostics.ts"
import type { CheckAnswer, DeclarationText, Diagnostic, Environment, KeyedText } from "./declarations.ts"
import { inOrder, regroup } from "./groups.ts"
import type { Layout, Statements } from "./layout.ts"
import { PackageFiles } from "./packages.ts"
import { emitSchemes } from "./schemes.ts"
import { SessionSets, entryOf } from "./session-sets.ts"
import type { Entry, SetVersions } from "./sets.ts"
import { checkStatements, namesIn, readStatements } from "./statements.ts"
import type ts from "typescript"

/** Where a request stands: which set of which session. */
export interface PlaceRequest {
  session: string
  /** "" is the empty one. */
  base: string
  environmentId: string
  /** Given when the engine has said that it misses them: what `environmentId` names, and all of `base`. */
  environment?: Environment | undefined
  whole?: readonly DeclarationText[] | undefined
}

/** How to make a set of one that is held. */
export interface SetRequest extends PlaceRequest {
  /** The set that the changes make; `base` when there are none. */
  set: string
  changed: readonly DeclarationText[]
  removed: readonly string[]
}

export interface EngineCheck extends SetRequest {
  statements: string
}

/** What the engine does not hold (any more): ask again with `environment` and `whole`. */
export interface Missing {
  missing: "base" | "environment"
}

/** Sessions held, and characters of their sources together: a definition of 80 has some 3 KB of memory with what is known of it. */
const sessionsMax = 500
const textMax = 4 * 1024 * 1024

export class CheckEngine {
  readonly #sessions = new Map<string, SessionSets>()
  readonly #packages = new PackageFiles()

  check(request: EngineCheck): CheckAnswer | Missing {
    const session = this.open(request)
    if ("missing" in session) return session
    try {
      return new Check(session, request).run()
    } catch (error) {
      // Half a change may be applied.
      this.forget(request.session)
      throw error
    }
  }

  /** The session with its set at `base`; `undefined` parts of the request say what is not held. */
  open(request: PlaceRequest): SessionSets | Missing {
    const { session: id, base, whole, environment, environmentId } = request
    let session = this.#sessions.get(id)
    const isHeld = session !== undefined && (session.sets.has(base) || session.sets.headId === base)
    if (whole !== undefined || !isHeld) {
      if (environment === undefined) return { missing: "environment" }
      if (whole === undefined && base !== "") return { missing: "base" }
      session = new SessionSets(base, whole ?? [], environment, this.#packages)
    } else {
      session!.sets.goTo(base)
      if (session!.layout.environment.id !== environmentId) {
        if (environment === undefined) return { missing: "environment" }
        session!.surround(environment)
      }
    }
    // The one used last is the last to go.
    this.#sessions.delete(id)
    this.#sessions.set(id, session!)
    this.#shrink()
    return session!
  }

  /** Makes the set of a request without looking at it: what it brings was published unchecked, and is found out about when somebody asks. */
  advance(request: SetRequest): SessionSets | Missing {
    const session = this.open(request)
    if (!("missing" in session) && request.set !== request.base) session.advance(request)
    return session
  }

  /** Everything that is wrong with a set that is held, also with what no check has looked at. */
  audit(id: string, set: string): Diagnostic[] {
    const session = this.#sessions.get(id)
    if (session === undefined || !session.sets.has(set)) throw new Error(`Set '${set}' of session '${id}' is not held.`)
    session.sets.goTo(set)
    learnAll(session.sets, session.layout, [...session.sets.entries.keys()])
    return [...session.sets.entries.values()].flatMap(({ diagnostics = [] }) => diagnostics)
  }

  /** The declaration text of a key, where it is known. */
  schemeOf(id: string, set: string, key: string): string | undefined {
    const session = this.#sessions.get(id)
    session?.sets.goTo(set)
    return session?.sets.entries.get(key)?.shown
  }

  forget(session: string): void {
    this.#sessions.delete(session)
  }

  #shrink(): void {
    let length = 0
    const all = [...this.#sessions].toReversed()
    for (const [index, [id, { sets }]] of all.entries()) {
      length += sets.textLength
      if (index > 0 && (index >= sessionsMax || length > textMax)) this.#sessions.delete(id)
    }
  }
}

class Check {
  readonly #sets: SetVersions
  readonly #layout: Layout
  readonly #request: EngineCheck
  /** Every entry that the check replaced, as it was in the base. */
  readonly #before = new Map<string, Entry | undefined>()
  readonly #checked = new Set<string>()

  constructor(session: SessionSets, request: EngineCheck) {
    this.#sets = session.sets
    this.#layout = session.layout
    this.#request = request
  }

  run(): CheckAnswer {
    const { request, statements } = {
      request: this.#request,
      statements: readStatements(this.#request.statements, this.#layout.environment.jsx),
    }
    const pending = this.#apply()
    const answer: CheckAnswer = { diagnostics: [], schemes: [], localTypes: [], checkedCount: 0 }
    const prepared = statements && namesIn(this.#layout, statements)
    for (let wave = pending; ;) {
      if (wave.size === 0 && prepared === undefined) break
      const changed = this.#wave(wave, prepared)
      const next = this.#usersOf(changed, wave)
      if (next.size > 0) {
        wave = next
        continue
      }
      if (statements === undefined || prepared === undefined) break
      const found = checkStatements(this.#program!, this.#layout, statements, prepared)
      answer.diagnostics.push(...found.diagnostics)
      answer.localTypes.push(...found.localTypes)
      break
    }
    answer.diagnostics.unshift(...this.#found())
    answer.schemes = request.changed.flatMap(({ key }): KeyedText[] => {
      const text = this.#sets.entries.get(key)?.shown
      return text === undefined ? [] : [{ name: key, text }]
    })
    answer.checkedCount = this.#checked.size
    return answer
  }

  #program: ts.Program | undefined

  /** Makes the set of the request; gives the keys to look at first. */
  #apply(): Set<string> {
    const { base, set, changed, removed } = this.#request
    const fresh = changed.filter(({ key, source }) => {
      const held = this.#sets.entries.get(key)
      return held === undefined || held.isLocal || held.source !== source
    })
    const gone = removed.filter((key) => this.#sets.entries.get(key)?.isLocal === false)
    if (set === base) return new Set()
    learnAll(
      this.#sets,
      this.#layout,
      fresh.map(({ key }) => key).filter((key) => this.#isUsed(key)),
    )
    this.#sets.branch(set)
    const changes = new Map<string, Entry | undefined>()
    for (const declaration of fresh) changes.set(declaration.key, entryOf(declaration, this.#layout.environment.jsx))
    for (const key of gone) changes.set(key, undefined)
    const names = new Set<string>()
    const before = new Map<string, Entry | undefined>()
    for (const [key, entry] of changes) {
      const held = this.#sets.entries.get(key)
      before.set(key, held)
      this.#replace(key, entry)
      if (held === undefined || held.isLocal || entry === undefined) names.add(key)
    }
    regroup(this.#sets, before, (key, entry) => this.#replace(key, entry))
    const pending = this.#usersOf(names, new Set())
    for (const { key } of fresh) pending.add(key)
    return withGroups(this.#sets, pending)
  }

  #isUsed(key: string): boolean {
    return this.#sets.users.has(key) || this.#sets.schemeUsers.has(key)
  }

  #replace(key: string, entry: Entry | undefined): void {
    if (!this.#before.has(key)) this.#before.set(key, this.#sets.entries.get(key))
    this.#sets.set(key, entry)
  }

  /** Declarations that see another thing than before when these names have changed, but for those of `seen`, which saw them change. */
  #usersOf(names: Iterable<string>, seen: ReadonlySet<string>): Set<string> {
    const affected = new Set(names)
    for (const name of affected) for (const key of this.#sets.schemeUsers.get(name) ?? []) affected.add(key)
    const users = new Set<string>()
    for (const name of affected) {
      for (const key of this.#sets.users.get(name) ?? []) {
        if (!seen.has(key) && this.#sets.entries.get(key)?.isLocal === false) users.add(key)
      }
    }
    return withGroups(this.#sets, users)
  }

  /** Looks at these keys in one program; gives those whose declaration text is another one now. */
  #wave(keys: Set<string>, statements: Statements | undefined): Set<string> {
    this.#learnAtBase([...keys].filter((key) => this.#isUsed(key)))
    const results = examine(this.#layout, keys, statements)
    this.#program = results.program
    const changed = new Set<string>()
    for (const [key, found] of results.found) {
      this.#checked.add(key)
      const entry = this.#sets.entries.get(key)!
      // A source that was changed has no text of its own yet: what counts is whether others see a change.
      const isOther = (entry.shown ?? this.#before.get(key)?.shown) !== found.shown
      if (isOther) changed.add(key)
      if (entry.shown === found.shown && isSame(entry.diagnostics, found.diagnostics)) continue
      this.#replace(key, { ...entry, scheme: found.scheme, shown: found.shown, diagnostics: found.diagnostics })
    }
    return changed
  }

  /** As `learnAll`, of the base, for entries that the change has not replaced so far. */
  #learnAtBase(keys: readonly string[]): void {
    const { base, set } = this.#request
    const unknown = keys.filter((key) => {
      const held = this.#before.has(key) ? this.#before.get(key) : this.#sets.entries.get(key)
      return held !== undefined && (held.shown === undefined || held.diagnostics === undefined)
    })
    if (unknown.length === 0 || base === set) return
    this.#sets.goTo(base)
    learnAll(this.#sets, this.#layout, unknown)
    this.#sets.goTo(set)
    // A group that came to be with the change holds copies of what was not known then.
    for (const key of unknown) {
      const [held, now] = [this.#before.get(key), this.#sets.entries.get(key)]
      if (held !== undefined && now !== undefined && now.source === held.source && now.shown === undefined)
        learn(this.#sets, now, held as Examined)
    }
  }

  /** Diagnostics of everything that was looked at, by key; those that the base has as well are not new. */
  #found(): Diagnostic[] {
    const keys = [...this.#checked].toSorted((a, b) => (a < b ? -1 : 1))
    const failing = keys.filter((key) => (this.#sets.entries.get(key)?.diagnostics?.length ?? 0) > 0)
    this.#learnAtBase(failing)
    return failing.flatMap((key) => {
      const { source, diagnostics = [] } = this.#sets.entries.get(key)!
      const before = this.#before.has(key) ? this.#before.get(key) : this.#sets.entries.get(key)
      const old = (before?.diagnostics ?? []).map((it) => identityOf(it, before!.source))
      return diagnostics.map((it) => {
        const at = old.indexOf(identityOf(it, source))
        if (at >= 0) old.splice(at, 1)
        return { ...it, isNew: at < 0 }
      })
    })
  }
}

/** Whoever is checked is checked with its group: they are one module. */
function withGroups(sets: SetVersions, keys: Set<string>): Set<string> {
  for (const key of keys) for (const member of sets.entries.get(key)?.group ?? []) keys.add(member)
  return keys
}

/** Finds out about entries of the head of which not everything is known. */
function learnAll(sets: SetVersions, layout: Layout, keys: readonly string[]): void {
  const unknown = keys.filter((key) => {
    const entry = sets.entries.get(key)
    return entry !== undefined && !entry.isLocal && (entry.shown === undefined || entry.diagnostics === undefined)
  })
  if (unknown.length === 0) return
  const forced = withGroups(sets, new Set(unknown))
  for (const [key, found] of examine(layout, forced).found) learn(sets, sets.entries.get(key)!, found)
}

type Examined = Pick<Entry, "shown" | "diagnostics" | "scheme"> & { diagnostics: readonly Diagnostic[] }

/**
 * Checks keys of the head, and learns whatever else stands in source form because nothing was known of it. Gives the program with it: it
 * has the statements too.
 */
function examine(layout: Layout, keys: ReadonlySet<string>, statements?: Statements): Results {
  for (;;) {
    layout.arrange(keys, statements)
    const program = layout.program()
    const found = examineIn(program, layout, keys)
    if (found !== undefined) return { program, found }
  }
}

interface Results {
  program: ts.Program
  found: Map<string, Examined>
}

/** `undefined` when the program broke. */
function examineIn(program: ts.Program, layout: Layout, keys: ReadonlySet<string>): Map<string, Examined> | undefined {
  const { sets } = layout
  const dragged = layout.keysInSource().filter((key) => !keys.has(key) && sets.entries.get(key)?.scheme === undefined)
  const results = new Map<string, Examined>()
  const learned: [Entry, Examined][] = []
  const done = new Set<string>()
  // Those first that others need: what they infer is then known, and no chain is followed to its end in one go.
  for (const key of inOrder(sets, [...keys, ...dragged])) {
    const name = layout.fileOf(key)
    const entry = sets.entries.get(key)
    if (entry?.isBroken === true) {
      results.set(key, { scheme: entry.scheme, shown: entry.shown, diagnostics: entry.diagnostics ?? [] })
      continue
    }
    if (name === undefined || done.has(name)) continue
    done.add(name)
    const file = program.getSourceFile(name)!
    const members = layout.membersOf(name)
    const { entry: last, start } = members.at(-1)!
    const diagnostics = diagnosticsOf(program, file, layout, start + last.source.length)
    const entries = members.map((member) => member.entry)
    const schemes = emitSchemes(program, file, entries)
    if (schemes === undefined) return undefined
    for (const [index, member] of entries.entries()) {
      const found = { ...schemes[index]!, diagnostics: diagnostics.filter((it) => it.key === member.key) }
      if (keys.has(member.key)) results.set(member.key, found)
      else learned.push([member, found])
    }
  }
  for (const [entry, found] of learned) learn(sets, entry, found)
  return results
}

function learn(sets: SetVersions, entry: Entry, { scheme, shown, diagnostics }: Examined): void {
  sets.learnScheme(entry, scheme!)
  entry.shown = shown
  entry.diagnostics = diagnostics
}

function isSame(a: readonly Diagnostic[] | undefined, b: readonly Diagnostic[] | undefined): boolean {
  return a !== undefined && b !== undefined && a.length === b.length && JSON.stringify(a) === JSON.stringify(b)
}

function identityOf({ code, message, start, length }: Diagnostic, source: string): string {
  return `${code}\n${message}\n${source.slice(start, start + length)}`
}
