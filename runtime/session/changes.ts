// Changes of a session's definitions, from what was submitted to the record of a revision.
//
// A submission is read as a module by a worker (`language/module.ts`), becomes a candidate (`module/candidate.ts`), is checked, and its
// definitions are made in the session's realm without being in force; then it can be committed. Nothing of it shows before: the state
// changes in one step, at the end of the making that it rests on. What fails on the way is a rejection, which is a value; only what Nacre
// itself refuses is thrown.
import { nanoid } from "nanoid"
import { NacreError } from "../errors.ts"
import { expectOption, refuseUnknown } from "../options.ts"
import {
  buildCandidate,
  declaredBy,
  isRejection,
  refuseWrapped,
  touches,
  unwrappable,
  withWrappers,
} from "../module/candidate.ts"
import type { Candidate, Diagnostic, Rejection } from "../module/candidate.ts"
import type { RevisionRecord } from "../module/revision.ts"
import type { ChangeEnd } from "../shell/aside.ts"
import type { EvalOptions, Shell } from "../shell/shell.ts"
import type { CheckedSet, SessionChecks } from "./checks.ts"
import type { Outcome } from "./outcome.ts"
import { Definitions } from "../module/definitions.ts"
import { differentFiles, differentPreludes, digestBeside, preludeDigests } from "../module/digest.ts"
import type { FileDigest } from "../module/digest.ts"
import type {
  ChangeAnswer,
  ChangeRequest,
  DefinitionRecord,
  ModuleDeclaration,
  Preludes,
  WrapperRecord,
} from "../wire/schema.ts"
import { commitChange, copyState, differenceTo, historySince, loseRealm, withChangedData } from "./state.ts"
import type { SessionState } from "./state.ts"
import { keepData } from "./unnamed.ts"

export interface Change {
  /** Declarations become definitions; of a `submit`, the other statements run once these are in force. */
  source?: string
  /** Definitions to take away. */
  remove?: readonly string[]
  /** The revision that it is meant for. Default: the one at the time of the call. */
  parent?: number
  /** On whose behalf, instead of the session's principal; for the record. */
  principal?: string
  reason?: string
  /** Whether types are checked, too; default "types" unless the session was opened with another level. */
  check?: "types" | "syntax"
  /** What to do when a definition that must be made again holds other data than its declaration makes. Default "reject". */
  onDataLoss?: "reject" | "rebuild"
  /** Name and first line of the source in positions. */
  file?: string
  line?: number
}

export interface Proposed {
  status: "proposed"
  /** For `commitChange` and `abandonChange`. */
  candidate: string
  parent: number
  /** Keys that it declares anew, and those that it removes. */
  changed: string[]
  removed: string[]
  /** Definitions that are made again because they depend on a change. */
  reinstantiated: string[]
  /** What of the submission is left to run after it has been committed; `submit` does so. */
  statements?: string
}

/** Committed, with what is left to run. */
interface Submitted extends Committed {
  readonly id: string
  readonly statements: string | undefined
  /** What has run has bound these names. */
  readonly learn: (names: readonly string[]) => void
}

const exportFormat = "nacre-revision/1"

/** The definitions of a revision as data. */
export interface ExportedRevision {
  format: typeof exportFormat
  /** Of the whole set, with the preludes that it stands on. */
  digest: string
  /** Missing where there are none. */
  preludes?: { name: string; digest: string }[]
  declarations: ExportedDeclaration[]
}

export interface ExportedDeclaration {
  key: string
  kind: string
  source: string
  file: string
  line: number
  column: number
  /** The innermost one first. */
  wrappers: { key: string; source: string }[]
  /** Of an import: the files that it leads to, with the digests of their contents. They are not part of the export. */
  files?: FileDigest[]
}

export interface Committed {
  status: "committed"
  revision: number
  /** Missing when the change says what was there already. */
  record?: RevisionRecord
  /** Of `restoreRevision` and `importRevision`: files and preludes that are not those of that revision. The digests differ then. */
  differs?: string[]
  /**
   * Of `restoreRevision` and `importRevision`: mistakes in the types of what is in force now that were not there before. They are no ground to reject
   * what was in force once. Missing where types are not checked, or the checker was not there.
   */
  diagnostics?: Diagnostic[]
}

export interface Rejected {
  status: "rejected"
  /** The revision that stands. */
  revision: number
  rejection: Rejection
}

export interface WrapChange extends Pick<Change, "parent" | "principal" | "reason" | "check" | "onDataLoss"> {
  /** The definition. */
  name: string
  /** What the wrapper is called among those of the definition. */
  key: string
  source: string
}

export type UnwrapChange = Omit<WrapChange, "key" | "source"> & { key?: string }

export const changeNames: readonly (keyof Change)[] = [
  "source",
  "remove",
  "parent",
  "principal",
  "reason",
  "check",
  "onDataLoss",
  "file",
  "line",
]

/** Attempts to make a candidate on a state that stands still, before it is given up. */
const attemptsMax = 8

/** Who makes a change, where it is not the caller of the embedding API. */
export type Author = Pick<RevisionRecord, "principal" | "onBehalfOf" | "evalId">

interface Open {
  readonly id: string
  readonly change: Change
  readonly author?: Author
  readonly declarations: readonly ModuleDeclaration[]
  readonly statements: string | undefined
  readonly cause: RevisionRecord["cause"]
  /** The revision whose definitions it puts back. */
  readonly restores?: number
  /** The definition whose wrappers it changes, and how. */
  readonly rewraps?: { name: string; become: (wrappers: readonly WrapperRecord[]) => WrapperRecord[] }
  parent: number
  candidate: Candidate
  /** What was told of it when it was proposed. */
  proposed?: Proposed
  /** What it was made of when it was proposed. */
  made?: ChangeAnswer
  /** What a check of the candidate has found. */
  checked?: CheckedSet
}

/** What it needs of its session. */
export interface ChangesContext {
  readonly id: string
  readonly principal: string | undefined
  readonly state: SessionState
  readonly candidatesMax: number
  /** The session's level. */
  readonly check: "types" | "syntax" | undefined
  readonly checks: () => SessionChecks
  /** Of the workspace, as they are now. */
  readonly preludes: () => Preludes
  ready(): Shell | Promise<Shell>
}

export class SessionChanges {
  readonly #context: ChangesContext
  readonly #open = new Map<string, Open>()
  /** That the last work was done for. */
  #shell: Shell | undefined

  constructor(context: ChangesContext) {
    this.#context = context
  }

  /** Reads, builds, checks and makes a change. Nothing of it is in force. */
  async propose(change: Change, author?: Author): Promise<Proposed | Rejected> {
    const open = await this.#prepare(change, "submit", author)
    if ("kind" in open) return this.#rejected(open)
    const { id, candidate, statements, parent } = open
    const wrong = await this.#check(open)
    if (wrong !== undefined) return this.#rejected(wrong)
    this.#checkRoom()
    this.#open.set(id, open)
    const made = await this.#make(open, () => undefined)
    if ("kind" in made) {
      this.#open.delete(id)
      return this.#rejected(made)
    }
    open.made = made.answer
    const changed = candidate.changed.map(({ name }) => name)
    const reinstantiated = made.answer.made.filter((name) => !changed.includes(name))
    const removed = [...candidate.removed]
    const proposed: Proposed = { status: "proposed", candidate: id, parent, changed, removed, reinstantiated }
    if (statements !== undefined) proposed.statements = statements
    open.proposed = proposed
    return proposed
  }

  /** An open candidate: what was asked for, and what came of it when it was proposed. */
  describe(id: string): { change: Change; proposed: Proposed } {
    const open = this.#open.get(id)
    if (open?.proposed === undefined) throw this.#notFound(id)
    return { change: open.change, proposed: open.proposed }
  }

  /** Somebody who is asked first has refused it. */
  vetoed(reason: string): Rejected {
    return this.#rejected({ kind: "vetoed", message: reason, diagnostics: [] })
  }

  /** `propose` and `commit` in one. Without a parent it is meant for whatever stands when its turn comes. */
  async submit(change: Change): Promise<Submitted | Rejected> {
    const open = await this.#prepare(change, "submit")
    if ("kind" in open) return this.#rejected(open)
    const committed = await this.#commit(open, change.parent === undefined ? "any" : "none")
    if (committed.status === "rejected") return committed
    const { id, statements } = open
    return { ...committed, id, statements, learn: (names) => open.checked?.learn(names) }
  }

  /** Puts a candidate in force. With `rebase` it may be built again on a revision that has not touched what it rests on. */
  async commit(id: string, { rebase = false }: { rebase?: boolean } = {}): Promise<Committed | Rejected> {
    const open = this.#open.get(id)
    if (open === undefined) throw this.#notFound(id)
    this.#open.delete(id)
    return this.#commit(open, rebase ? "untouched" : "none")
  }

  /** `rebase`: on which other revisions than its parent's it may be built again. */
  async #commit(open: Open, rebase: "any" | "untouched" | "none"): Promise<Committed | Rejected> {
    const { state } = this.#context
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      if (open.parent !== state.revision) {
        const stale = this.#stale(open.parent)
        const touched = touches(open.candidate, stale.keys ?? [])
        if (rebase === "none") return this.#rejected(stale)
        if (rebase === "untouched" && touched.length > 0) return this.#rejected({ ...stale, keys: touched })
        const candidate = this.#build(open)
        if (isRejection(candidate)) return this.#rejected(candidate)
        open.candidate = candidate
        delete open.checked
        open.parent = state.revision
      }
      const wrong = await this.#check(open)
      if (wrong !== undefined) return this.#rejected(wrong)
      const report = this.#report(open)
      let committed: Committed | undefined
      const made = await this.#make(open, (answer) => {
        committed = this.#publish(open, answer)
      })
      if ("kind" in made) return this.#rejected(made)
      if (committed === undefined) continue
      const diagnostics = await report
      return diagnostics === undefined ? committed : { ...committed, diagnostics }
    }
    const message = `Session '${this.#context.id}' changed ${attemptsMax} times while the change was made; try again.`
    throw new NacreError("session_busy", message)
  }

  async #prepare(change: Change, cause: RevisionRecord["cause"], author?: Author): Promise<Open | Rejection> {
    checkChange(change)
    const { state } = this.#context
    this.#checkRoom()
    const read = await this.#read(change)
    if ("kind" in read) return read
    const parent = change.parent ?? state.revision
    if (parent !== state.revision) return this.#stale(parent)
    const made = { id: `chg_${nanoid(12)}`, change, ...read, cause, parent }
    const open: Omit<Open, "candidate"> = author === undefined ? made : { ...made, author }
    const candidate = this.#build(open)
    return isRejection(candidate) ? candidate : { ...open, candidate }
  }

  /** Asks the checker, where types are to be checked; gives what is wrong. */
  async #check(open: Open): Promise<Rejection | undefined> {
    if (open.checked !== undefined || isReturn(open) || !this.#isChecked(open)) return undefined
    const { found, diagnostics } = await this.#mistakes(open)
    if (diagnostics.length === 0) {
      open.checked = found
      return undefined
    }
    const keys = [...new Set(diagnostics.flatMap(({ key }) => key ?? []))]
    return { kind: "check_failed", message: diagnostics[0]!.message, diagnostics, keys }
  }

  /**
   * What was in force once, here or elsewhere, comes back as it was, whatever is wrong with it, and without waiting for the checker: this goes on beside
   * it. `undefined` where types are not looked at, or cannot be.
   */
  async #report(open: Open): Promise<Diagnostic[] | undefined> {
    if (!isReturn(open) || !this.#isChecked(open)) return undefined
    try {
      return (await this.#mistakes(open)).diagnostics
    } catch {
      // The checker's failure has an event of its own, and is no reason against going back.
      return undefined
    }
  }

  #isChecked({ change }: Open): boolean {
    return (change.check ?? this.#context.check ?? "types") === "types"
  }

  async #mistakes(open: Open): Promise<{ found: CheckedSet; diagnostics: Diagnostic[] }> {
    const { change, candidate } = open
    const { definitions } = this.#context.state
    const { changed, rewritten, removed, dependents } = candidate
    const records = [...changed, ...rewritten]
    const wrapped = records.filter((it) => it.wrappers !== undefined)
    for (const name of dependents) {
      const record = definitions.get(name)
      if (record?.wrappers !== undefined && records.every((it) => it.name !== name)) wrapped.push(record)
    }
    const { statements = "" } = open
    const found = await this.#context.checks().checkChange({ changed: records, removed, wrapped, statements })
    const { file = open.id, line = 1 } = change
    const diagnostics = found.diagnostics.map(({ key, code, message, start, record }): Diagnostic => {
      const source = record?.source ?? statements
      const at = positionIn(source, start)
      const first = record ?? { file, line, column: 1 }
      const place = {
        file: first.file,
        line: first.line + at.line - 1,
        column: at.line === 1 ? first.column + at.column - 1 : at.column,
      }
      return key === undefined ? { message, code, ...place } : { key, message, code, ...place }
    })
    return { found, diagnostics }
  }

  #build({ id, change, declarations, restores, rewraps }: Omit<Open, "candidate">): Candidate | Rejection {
    const { state } = this.#context
    const { definitions } = state
    const isLocal = (name: string): boolean => state.locals.has(name)
    if (restores !== undefined) {
      const declared = new Map<string, DefinitionRecord>()
      const remove: string[] = []
      for (const [name, then] of differenceTo(state, restores)) {
        if (then === undefined) remove.push(name)
        // What its files were cannot be had back; `differs` says so.
        else if (!isSameImport(definitions.get(name), then)) declared.set(name, then)
      }
      return buildCandidate(definitions, declared, remove, isLocal)
    }
    if (rewraps !== undefined) {
      const { name, become } = rewraps
      const record = definitions.get(name)
      if (record === undefined || unwrappable.has(record.kind)) {
        const message =
          record === undefined
            ? `There is no definition '${name}' to wrap.`
            : `'${name}' is a ${record.kind}, which has no wrappers; functions, classes and constants do.`
        return { kind: "definition_not_found", message, diagnostics: [], keys: [name] }
      }
      const declared = new Map([[name, withWrappers(record, become(record.wrappers ?? []))]])
      return buildCandidate(definitions, declared, [], isLocal)
    }
    const { remove = [], file = id } = change
    const declared = declaredBy(declarations, file, definitions)
    return refuseWrapped(definitions, declared) ?? buildCandidate(definitions, declared, remove, isLocal)
  }

  /** Publishes a new revision with the definitions of an earlier one. */
  async restore(
    revision: number,
    change: Pick<Change, "principal" | "reason" | "onDataLoss">,
  ): Promise<Committed | Rejected> {
    const { state, id } = this.#context
    checkRevision(id, state, revision)
    checkChange(change)
    const none = { declarations: [], statements: undefined }
    const open: Omit<Open, "candidate"> = {
      id: `chg_${nanoid(12)}`,
      change,
      ...none,
      cause: "restore",
      restores: revision,
      parent: state.revision,
    }
    const candidate = this.#build(open)
    if (isRejection(candidate)) return this.#rejected(candidate)
    const differs = Array.from(differenceTo(state, revision).values(), (then) =>
      then === undefined ? [] : differencesOf(state.definitions.get(then.name), then),
    ).flat()
    return withDifferences(await this.#commit({ ...open, candidate }, "any"), differs)
  }

  /**
   * Puts a function around a definition, as one change: `source` is an expression for `(inner: T) => T`. The same key replaces it where it is; a
   * new one is outermost.
   */
  async wrap(wrapper: WrapChange): Promise<Committed | Rejected> {
    checkWrap(wrapper)
    const { name, key, source } = wrapper
    const read = await this.#readExpression(source, wrapperFile(name, key))
    if ("kind" in read) return this.#rejected(read)
    const record: WrapperRecord = { key, source, file: wrapperFile(name, key), line: 1, column: 1, ...read }
    return this.#rewrap(wrapper, (wrappers) => {
      const at = wrappers.findIndex((it) => it.key === key)
      return at === -1 ? [...wrappers, record] : wrappers.with(at, record)
    })
  }

  /** Takes one wrapper of a definition away, or all. */
  async unwrap(change: UnwrapChange): Promise<Committed | Rejected> {
    checkWrap({ source: "-", key: "-", ...change })
    const { name, key } = change
    const { wrappers = [] } = this.#context.state.definitions.get(name) ?? {}
    if (key === undefined ? wrappers.length === 0 : wrappers.every((it) => it.key !== key)) {
      const message = `'${name}' has no wrapper${key === undefined ? "" : ` '${key}'`}.`
      return this.#rejected({ kind: "definition_not_found", message, diagnostics: [], keys: [name] })
    }
    return this.#rewrap(change, (before) => (key === undefined ? [] : before.filter((it) => it.key !== key)))
  }

  async #rewrap(
    change: WrapChange | UnwrapChange,
    become: (wrappers: readonly WrapperRecord[]) => WrapperRecord[],
  ): Promise<Committed | Rejected> {
    const { state } = this.#context
    const { name, parent = state.revision, principal, reason, check, onDataLoss } = change
    const facts: Change = {}
    if (check !== undefined) facts.check = check
    if (principal !== undefined) facts.principal = principal
    if (reason !== undefined) facts.reason = reason
    if (onDataLoss !== undefined) facts.onDataLoss = onDataLoss
    if (parent !== state.revision) return this.#rejected(this.#stale(parent))
    const open: Omit<Open, "candidate"> = {
      id: `chg_${nanoid(12)}`,
      change: facts,
      declarations: [],
      statements: undefined,
      cause: "wrap",
      rewraps: { name, become },
      parent,
    }
    const candidate = this.#build(open)
    if (isRejection(candidate)) return this.#rejected(candidate)
    return this.#commit({ ...open, candidate }, change.parent === undefined ? "any" : "none")
  }

  /** What an expression uses, and its digest. */
  async #readExpression(source: string, file: string): Promise<{ reads: string[]; digest: string } | Rejection> {
    // The line in front counts as the one before the first.
    const read = await this.#read({ source: `const wrapper = (\n${source}\n)`, file, line: 0 })
    if ("kind" in read) {
      // What is missing at the end is missed in the line after it.
      const last = source.split("\n")
      const end = { line: last.length, column: last.at(-1)!.length + 1 }
      const diagnostics = read.diagnostics.map((it) => (it.line > end.line ? { ...it, ...end } : it))
      return { ...read, diagnostics }
    }
    const [declaration, ...more] = read.declarations
    if (declaration === undefined || more.length > 0 || read.statements !== undefined) {
      const message = "A wrapper must be one expression for a function, such as (inner) => (...args) => inner(...args)."
      return { kind: "invalid", message, diagnostics: [{ message, file, line: 1, column: 1 }] }
    }
    return { reads: declaration.reads, digest: declaration.digest }
  }

  /** The definitions of a revision as data, from which another session can be given the same ones. */
  export(revision: number): ExportedRevision {
    const { state, id } = this.#context
    checkRevision(id, state, revision)
    const set = state.definitions.copy()
    for (const [name, then] of differenceTo(state, revision)) {
      if (then === undefined) set.delete(name)
      else set.set(then)
    }
    const declarations = Array.from(set.values(), ({ name: key, wrappers = [], ...record }): ExportedDeclaration => {
      const { kind, source, file, line, column, files } = record
      const told = wrappers.map((it) => ({ key: it.key, source: it.source }))
      const declaration = { key, kind, source, file, line, column, wrappers: told }
      return files === undefined ? declaration : { ...declaration, files }
    })
    const preludes = preludeDigests((state.preludes ?? this.#context.preludes()).list)
    const exported: ExportedRevision = {
      format: exportFormat,
      digest: digestBeside(set.digest, preludes),
      declarations,
    }
    return preludes.length === 0 ? exported : { ...exported, preludes }
  }

  /**
   * Declares what was exported, each at its own place; a session without definitions then has the same digest. `evaluate` runs what the session does
   * not import yet, as an eval of its own.
   */
  async import(
    exported: ExportedRevision,
    change: Pick<Change, "principal" | "reason">,
    evaluate: (source: string) => Promise<Outcome>,
  ): Promise<Committed | Rejected> {
    checkExported(exported)
    checkChange(change)
    const { state } = this.#context
    const imports = exported.declarations.filter((it) => it.kind === "import")
    const unmade = imports.filter((it) => state.definitions.get(it.key)?.source !== it.source)
    if (unmade.length > 0) {
      const { status, error } = await evaluate(unmade.map((it) => it.source).join("\n"))
      if (status !== "ok") {
        const why = error?.message ?? `the eval of them ended as ${status}`
        const message = `What the export imports cannot be imported here: ${why}`
        return this.#rejected({ kind: "threw", message, diagnostics: [], keys: unmade.map((it) => it.key) })
      }
    }
    const source = exported.declarations.flatMap((it) => (it.kind === "import" ? [] : [it.source])).join("\n")
    const read = await this.#read({ source })
    if ("kind" in read) return this.#rejected(read)
    const places = new Map(exported.declarations.map((it) => [it.key, it]))
    const declared = declaredBy(read.declarations, "import", state.definitions)
    for (const [key, record] of declared) {
      const place = places.get(key)
      if (place === undefined) continue
      const wrappers: WrapperRecord[] = []
      for (const wrapper of place.wrappers) {
        const at = wrapperFile(key, wrapper.key)
        const facts = await this.#readExpression(wrapper.source, at)
        if ("kind" in facts) return this.#rejected(facts)
        wrappers.push({ key: wrapper.key, source: wrapper.source, file: at, line: 1, column: 1, ...facts })
      }
      const { file, line, column } = place
      declared.set(key, withWrappers({ ...record, file, line, column }, wrappers))
    }
    const set = new Definitions(declared)
    const differs: string[] = []
    for (const { key, files } of imports) {
      const { files: there, ...record } = state.definitions.get(key)!
      set.set(files === undefined ? record : { ...record, files })
      differs.push(...differentFiles(key, files, there))
    }
    const { preludes = [] } = exported
    if (read.statements !== undefined || digestBeside(set.digest, preludes) !== exported.digest) {
      const message = `The export does not have the digest that it says; it was changed, or is not whole.`
      return this.#rejected({ kind: "invalid", message, diagnostics: [] })
    }
    const candidate = buildCandidate(state.definitions, declared, [], (name) => state.locals.has(name))
    if (isRejection(candidate)) return this.#rejected(candidate)
    const { declarations } = read
    const parent = state.revision
    const open: Open = {
      id: `chg_${nanoid(12)}`,
      change,
      declarations,
      statements: undefined,
      cause: "import",
      parent,
      candidate,
    }
    const done = await this.#commit(open, "none")
    differs.push(...differentPreludes(preludes, preludeDigests(state.preludes?.list)))
    return withDifferences(done, differs)
  }

  /** Runs code as if a candidate were in force, on what the session holds now; nothing of it is kept. */
  async evaluate(
    id: string,
    evalId: string,
    source: string,
    { tools = false, ...options }: EvalOptions & { tools?: boolean },
  ): Promise<Outcome> {
    const open = this.#open.get(id)
    if (open?.made === undefined) throw this.#notFound(id)
    const { state, id: session } = this.#context
    const shell = await this.#context.ready()
    await shell.written()
    const { changed, rewritten, removed } = open.candidate
    const then = copyState(state)
    loseRealm(then, "it lives in the realm of the session, and this runs in another")
    commitChange(
      then,
      { definitions: [...changed, ...rewritten], removed, ...open.made },
      { session, cause: open.cause },
    )
    return shell.evalAside(evalId, source, options, then, tools)
  }

  /** Forgets a candidate. Gives whether there was one. */
  abandon(id: string): boolean {
    return this.#open.delete(id)
  }

  async #read(
    change: Change,
  ): Promise<{ declarations: ModuleDeclaration[]; statements: string | undefined } | Rejection> {
    const { source = "", line = 1 } = change
    if (source.trim() === "") return { declarations: [], statements: undefined }
    const request: ChangeRequest = { stage: "split", id: `chg_${nanoid(12)}`, definitions: [], removed: [] }
    const { file = request.id } = change
    const end = await this.#work(source, { file, line }, request, () => {})
    if (end.error !== undefined) {
      const { message, rendered, spans } = end.error
      const diagnostics = spans.map((span): Diagnostic => ({
        message,
        file,
        line: span.line,
        column: span.column,
        rendered,
      }))
      return { kind: "invalid", message, diagnostics }
    }
    if (end.answer === undefined) return stopped(end)
    const { declarations, statements } = end.answer
    return { declarations, statements }
  }

  /** Makes a candidate; `then` is called at once when it was made on the state as it stands. */
  async #make(open: Open, then: (answer: ChangeAnswer) => void): Promise<{ answer: ChangeAnswer } | Rejection> {
    const { state } = this.#context
    const { candidate, id, change } = open
    const { removed, valueless, dependents } = candidate
    await (await this.#context.ready()).written()
    const lost = withChangedData(state, dependents)
    if (lost.length > 0 && change.onDataLoss !== "rebuild") {
      const message = `${lost.join(", ")} would be made again and lose data that came later; pass onDataLoss: "rebuild" to accept that.`
      return { kind: "data_loss", message, diagnostics: [], keys: lost }
    }
    const request: ChangeRequest = {
      stage: "make",
      id,
      definitions: [...candidate.make],
      removed: [...removed, ...valueless],
    }
    const end = await this.#work("", { file: id, line: 1 }, request, ({ answer, commit }) => {
      const isAsItWas = state.commit === commit && state.revision === open.parent
      if (answer !== undefined && answer.problem === undefined && isAsItWas) then(answer)
    })
    const { answer } = end
    if (answer === undefined) return stopped(end)
    const { problem } = answer
    if (problem === undefined) return { answer }
    const [frame] = problem.stack
    const diagnostics: Diagnostic[] =
      frame === undefined ? [] : [{ message: problem.message, ...placeOf(frame), rendered: problem.rendered }]
    const kind = problem.kind === "outside_call" || problem.kind === "local_read" ? problem.kind : "threw"
    return { kind, message: problem.message, diagnostics }
  }

  #publish(open: Open, answer: ChangeAnswer): Committed {
    const { state, id: session } = this.#context
    const { candidate, change, cause, restores } = open
    const { changed, rewritten, removed, valueless, dependents } = candidate
    const definitions = [...changed, ...rewritten]
    const own = new Set(changed.map(({ name }) => name))
    const facts: Partial<RevisionRecord> = {
      reinstantiated: answer.made.filter((name) => !own.has(name)),
      lostData: withChangedData(state, dependents),
      stale: answer.groups
        .flatMap(({ names }) => names)
        .filter((name) => !own.has(name) && !answer.made.includes(name)),
    }
    const principal = change.principal ?? this.#context.principal
    if (principal !== undefined) facts.principal = principal
    if (change.reason !== undefined) facts.reason = change.reason
    if (restores !== undefined) facts.restored = restores
    Object.assign(facts, open.author)
    const gone = [...removed, ...valueless]
    const kept = keepData(state, gone, answer.made, own)
    const record = commitChange(state, { definitions, removed, ...answer }, { session, cause, ...facts })
    open.checked?.adopt()
    if (record !== undefined) {
      for (const it of record.changes) {
        const scheme = open.checked?.schemes.get(it.key)
        const previousScheme = open.checked?.previousSchemes.get(it.key)
        if (scheme !== undefined && it.op === "set") it.scheme = scheme
        if (previousScheme !== undefined) it.previousScheme = previousScheme
        const declaration = open.declarations.find(({ key }) => key === it.key)
        if (declaration === undefined) continue
        const { start, end, line, column } = declaration
        it.span = { start, end, line, column }
      }
    }
    const { plain, groups, sources, ephemeral } = answer
    const values = { plain, groups, sources, ephemeral }
    this.#shell?.follow({ candidate: open.id, definitions, removed: gone, ...values, kept })
    const committed: Committed = { status: "committed", revision: state.revision }
    if (record !== undefined) committed.record = record
    return committed
  }

  async #work(
    source: string,
    place: { file: string; line: number },
    request: ChangeRequest,
    then: (end: ChangeEnd) => void,
  ): Promise<ChangeEnd> {
    const shell = await this.#context.ready()
    this.#shell = shell
    return new Promise((resolve) => {
      shell.change(source, place, request, (end) => {
        then(end)
        resolve(end)
      })
    })
  }

  /** Several may be on their way when this is asked, so it is asked again when one takes its place. */
  #checkRoom(): void {
    const { id, candidatesMax } = this.#context
    if (this.#open.size < candidatesMax) return
    const message = `Session '${id}' has ${this.#open.size} candidates open; commit or abandon some.`
    throw new NacreError("queue_full", message)
  }

  #notFound(id: string): NacreError {
    const message = `Session '${this.#context.id}' has no candidate '${id}'; it may have been committed or abandoned.`
    return new NacreError("candidate_not_found", message)
  }

  #stale(parent: number): Rejection {
    const { state } = this.#context
    const keys = [...new Set(historySince(state, parent).flatMap(({ changes }) => changes.map(({ key }) => key)))]
    const message = `The change was made for revision ${parent}, and the session is at ${state.revision}; since then ${keys.join(", ")} changed.`
    return { kind: "stale_parent", message, diagnostics: [], keys }
  }

  #rejected(rejection: Rejection): Rejected {
    return { status: "rejected", revision: this.#context.state.revision, rejection }
  }
}

export function checkRevision(id: string, state: SessionState, revision: number): void {
  expectOption(typeof revision === "number", "A revision", "a number", revision)
  if (Number.isSafeInteger(revision) && revision >= 0 && revision <= state.revision) return
  const message = `Session '${id}' has no revision ${revision}; it has 0 to ${state.revision}.`
  throw new NacreError("revision_not_found", message)
}

function withDifferences(done: Committed | Rejected, differs: string[]): Committed | Rejected {
  return done.status === "committed" && differs.length > 0 ? { ...done, differs } : done
}

/** Whether two records are one import, whatever its files were. */
function isSameImport(now: DefinitionRecord | undefined, then: DefinitionRecord): boolean {
  return now?.kind === "import" && now.source === then.source
}

function differencesOf(now: DefinitionRecord | undefined, then: DefinitionRecord): string[] {
  return isSameImport(now, then) ? differentFiles(then.name, then.files, now?.files) : []
}

/** What was in force once comes back. */
function isReturn({ cause }: Open): boolean {
  return cause === "restore" || cause === "import"
}

function positionIn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split(/\r\n|[\n\r\u2028\u2029]/)
  return { line: before.length, column: before.at(-1)!.length + 1 }
}

function stopped({ status, because }: ChangeEnd): Rejection {
  const why = because === undefined ? "" : ` (${because})`
  const message =
    status === "timeout"
      ? "Making the definitions took longer than limits.changeTimeoutMs."
      : `Making the definitions ended as ${status}${why}.`
  return { kind: "stopped", message, diagnostics: [] }
}

function wrapperFile(name: string, key: string): string {
  return `${name}#${key}`
}

function checkWrap({ name, key, source, ...change }: WrapChange): void {
  for (const [what, value] of Object.entries({ name, key, source })) {
    if (typeof value === "string" && value !== "") continue
    throw new NacreError("invalid_options", `${what} of a wrapper must be a string that is not empty.`)
  }
  checkChange(change)
}

function checkExported(exported: ExportedRevision): void {
  const isText = (value: unknown): boolean => typeof value === "string"
  const isWhole =
    typeof exported === "object" &&
    exported !== null &&
    exported.format === exportFormat &&
    isText(exported.digest) &&
    (exported.preludes === undefined ||
      (Array.isArray(exported.preludes) && exported.preludes.every((it) => isText(it?.name) && isText(it?.digest)))) &&
    Array.isArray(exported.declarations) &&
    exported.declarations.every(
      (it) =>
        typeof it === "object" &&
        it !== null &&
        [it.key, it.kind, it.source, it.file].every(isText) &&
        [it.line, it.column].every(Number.isSafeInteger) &&
        (it.files === undefined ||
          (Array.isArray(it.files) && it.files.every((file) => isText(file?.name) && isText(file?.digest)))) &&
        Array.isArray(it.wrappers) &&
        it.wrappers.every((wrapper) => isText(wrapper?.key) && isText(wrapper?.source)),
    )
  if (!isWhole)
    throw new NacreError(
      "invalid_options",
      `An exported revision is what exportRevision gives (format "${exportFormat}").`,
    )
}

function placeOf({ file, line, column }: { file: string; line: number; column: number }) {
  return { file, line, column }
}

function checkChange(change: Change): void {
  const expect = (isFine: boolean, name: string, what: string): void => {
    if (!isFine) throw new NacreError("invalid_options", `${name} of a change must be ${what}.`)
  }
  expect(typeof change === "object" && change !== null, "The argument", "an object, such as { source }")
  refuseUnknown("change", change, changeNames)
  const { source, remove, parent, principal, reason, check, onDataLoss, file, line } = change
  expect(check === undefined || check === "types" || check === "syntax", "check", '"types" or "syntax"')
  expect(source === undefined || typeof source === "string", "source", "a string")
  expect(
    remove === undefined || (Array.isArray(remove) && remove.every((it) => typeof it === "string")),
    "remove",
    "a list of names",
  )
  expect(parent === undefined || Number.isSafeInteger(parent), "parent", "the number of a revision")
  expect(principal === undefined || typeof principal === "string", "principal", "a string")
  expect(reason === undefined || typeof reason === "string", "reason", "a string")
  expect(
    onDataLoss === undefined || onDataLoss === "reject" || onDataLoss === "rebuild",
    "onDataLoss",
    '"reject" or "rebuild"',
  )
  expect(file === undefined || typeof file === "string", "file", "a string")
  expect(line === undefined || (Number.isSafeInteger(line) && line >= 1), "line", "a whole number from 1")
}
