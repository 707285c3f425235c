// One session as the checker holds it: its sets, what surrounds them, and the layout that shows them to TypeScript.
import type ts from "typescript"
import type { DeclarationText, Environment } from "./declarations.ts"
import type { Jsx } from "../language/jsx-option.ts"
import { regroup } from "./groups.ts"
import { Layout } from "./layout.ts"
import { parseFile } from "./library.ts"
import { freeNames, namesOfStatement, sessionNames } from "./names.ts"
import type { PackageFiles } from "./packages.ts"
import { brokenScheme, localScheme } from "./schemes.ts"
import { SetVersions } from "./sets.ts"
import type { Entry } from "./sets.ts"
import { typescript } from "./typescript.ts"

export class SessionSets {
  readonly sets = new SetVersions()
  layout: Layout
  readonly #packages: PackageFiles

  constructor(base: string, whole: readonly DeclarationText[], environment: Environment, packages: PackageFiles) {
    this.#packages = packages
    this.layout = new Layout(this.sets, environment, packages)
    this.sets.reduceTo(base)
    const before = new Map<string, Entry | undefined>()
    for (const { name, keyword, type } of environment.locals) this.sets.set(name, localEntry(name, keyword, type))
    for (const declaration of whole) {
      before.set(declaration.key, undefined)
      this.sets.set(declaration.key, entryOf(declaration, environment.jsx))
    }
    this.#regroup(before)
  }

  #regroup(before: ReadonlyMap<string, Entry | undefined>): void {
    regroup(this.sets, before, (key, entry) => this.sets.set(key, entry))
  }

  /** Takes what surrounds the session as it is now. Every other version than the head is forgotten when names of theirs changed. */
  surround(environment: Environment): void {
    const old = this.layout.environment
    if (old.id === environment.id) return
    const changed = new Set<string>()
    const isOther = old.profile !== environment.profile || old.directory !== environment.directory
    if (isOther) for (const key of this.sets.entries.keys()) changed.add(key)
    const locals = new Map(old.locals.map((local) => [local.name, local]))
    const before = new Map<string, Entry | undefined>()
    const put = (name: string, entry: Entry | undefined): void => {
      changed.add(name)
      before.set(name, this.sets.entries.get(name))
      this.sets.set(name, entry)
    }
    for (const { name, keyword, type } of environment.locals) {
      const known = locals.get(name)
      locals.delete(name)
      const held = this.sets.entries.get(name)
      const isSame = known?.type === type && known.keyword === keyword && held?.isLocal === true
      // A declaration of the set hides a local that is about to be replaced.
      if (!isSame && held?.isLocal !== false) put(name, localEntry(name, keyword, type))
    }
    for (const name of locals.keys()) if (this.sets.entries.get(name)?.isLocal === true) put(name, undefined)
    const layout = new Layout(this.sets, environment, this.#packages)
    for (const name of differentNames(this.layout.ambient, layout.ambient)) changed.add(name)
    if (JSON.stringify(old.preludes) !== JSON.stringify(environment.preludes)) {
      for (const { exports } of [...old.preludes, ...environment.preludes])
        for (const name of exports) changed.add(name)
    }
    this.layout = layout
    if (changed.size === 0) return
    this.#forget(changed)
    this.#regroup(before)
    this.sets.reduceTo(this.sets.headId)
  }

  advance({
    set,
    changed,
    removed,
  }: {
    set: string
    changed: readonly DeclarationText[]
    removed: readonly string[]
  }): void {
    this.sets.branch(set)
    const before = new Map<string, Entry | undefined>()
    const put = (key: string, entry: Entry | undefined): void => {
      before.set(key, this.sets.entries.get(key))
      this.sets.set(key, entry)
    }
    for (const declaration of changed) put(declaration.key, entryOf(declaration, this.layout.environment.jsx))
    for (const key of removed) if (this.sets.entries.get(key)?.isLocal === false) put(key, undefined)
    this.#regroup(before)
    this.#forget(new Set(before.keys()))
  }

  /** What is known of declarations that use these names, near or far, is known no longer. */
  #forget(names: ReadonlySet<string>): void {
    const reached = new Set(names)
    for (const name of reached) {
      for (const key of this.sets.users.get(name) ?? []) reached.add(key)
      for (const key of this.sets.schemeUsers.get(name) ?? []) reached.add(key)
    }
    for (const key of reached) {
      const entry = this.sets.entries.get(key)
      if (entry === undefined || entry.isLocal || entry.isBroken === true) continue
      this.sets.set(key, { ...entry, scheme: undefined, shown: undefined, diagnostics: undefined })
    }
  }
}

/** A declaration, parsed by itself. What does not parse says so at once and is `any` to others. */
export function entryOf({ key, source, targets = [], isFile = false }: DeclarationText, jsx: Jsx | undefined): Entry {
  const file = parseFile("declaration.ts", source, jsx !== undefined)
  const names = isFile ? sessionNames(file) : freeNames(file, jsx)
  for (const target of targets) names.add(target.key)
  const entry: Entry = {
    key,
    source,
    names,
    ...(isFile ? { isFile } : {}),
    ...(targets.length > 0 ? { targets: new Map(targets.map((target) => [target.specifier, target.key])) } : {}),
    group: undefined,
    isLocal: false,
    scheme: undefined,
    shown: undefined,
    diagnostics: undefined,
  }
  // Of a file that is evaluated already, they are told with everything else about it.
  const problems = isFile ? [] : syntaxProblems(file)
  if (problems.length === 0) return entry
  const { scheme, shown } = brokenScheme(key)
  const diagnostics = problems.map(({ code, messageText, start, length }) => ({
    key,
    code,
    message: typescript.flattenDiagnosticMessageText(messageText, "\n"),
    related: [],
    start: Math.min(start ?? 0, source.length),
    length: length ?? 0,
    category: "error" as const,
    isNew: true,
  }))
  return { ...entry, names: new Set(), scheme, shown, diagnostics, isBroken: true }
}

function syntaxProblems(file: ts.SourceFile): readonly ts.Diagnostic[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the parser keeps them here; a program would only hand them out
  return (file as unknown as { parseDiagnostics: readonly ts.Diagnostic[] }).parseDiagnostics
}

function localEntry(name: string, keyword: string, type: string): Entry {
  const { source, known } = localScheme(name, keyword, type)
  return {
    key: name,
    source,
    names: new Set(),
    group: undefined,
    isLocal: true,
    scheme: known.scheme,
    shown: known.shown,
    diagnostics: [],
  }
}

/** Names whose declarations differ between two files. */
function differentNames(before: ts.SourceFile, after: ts.SourceFile): Set<string> {
  const [old, now] = [textsByName(before), textsByName(after)]
  const different = new Set<string>()
  for (const name of new Set([...old.keys(), ...now.keys()])) if (old.get(name) !== now.get(name)) different.add(name)
  return different
}

function textsByName(file: ts.SourceFile): Map<string, string> {
  const texts = new Map<string, string>()
  for (const statement of file.statements) {
    for (const name of namesOfStatement(statement)) {
      texts.set(name, (texts.get(name) ?? "") + statement.getText(file))
    }
  }
  return texts
}
