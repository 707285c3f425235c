// How every name of a submission is reached in the generated code, and the edits that make it so.
//
// | what a name is, where it is used | what stands there |
// | --- | --- |
// | a definition, inside a definition that is code | the factory's parameter of the same name: no edit |
// | a definition or read-only local, at statement level | a `const` of the same name made from its cell at the start: no edit |
// | a local that no closure captures | a real `let`, written back when the eval ends: no edit |
// | a name of a fresh realm's global object | itself |
// | an imported name, everything else | its cell: `$$_x.v` to read, `$$_x.w` to write, `$$_x.t` for `typeof` |
//
// A cell's `v` is plain data while the name is bound, so a read costs a load; writes go through `w`, which knows read-only names and
// dead zones, makes session locals and keeps the list of what an eval changed.
import type { Edits } from "./edits.ts"
import type { Candidate } from "./definition.ts"
import { insertMark } from "./closures.ts"
import type { Jsx } from "./jsx-option.ts"
import type { Analysis, Reference, VariableSite } from "./scope.ts"

export type NameKind = "local" | "readonly" | "definition" | "import"

/** What the compiler asks about a session's names. */
export interface NameTable {
  kind(name: string): NameKind | undefined
  /** A property of a fresh realm's global object. */
  isRealmGlobal(name: string): boolean
  /** Whether a function may hold the name's cell. Without an answer no local is promoted. */
  isCaptured?(name: string): boolean
  /** What JSX is turned into; without it there is none. */
  readonly jsx?: Jsx | undefined
  /** What a definition depends on, by name: a definition that is declared again may not receive as a parameter what needs itself. */
  dependencies?(name: string): readonly string[] | undefined
}

/** Names that cannot be bound anew by assignment. */
const constants: ReadonlySet<string> = new Set(["undefined", "NaN", "Infinity"])

export interface Promotion {
  name: string
  /** `fresh`: declared here by `let` or `const`; `kept`: a local that exists, or a `var`; `read`: never written. */
  kind: "fresh" | "kept" | "read"
}

/** How the statements of a submission use a name. */
interface Use {
  captured: boolean
  writes: boolean
  /** Written other than by its declaration. */
  assigned: boolean
  /** Used within its own declarator. */
  early: boolean
  from: number
  to: number
}

export interface Plan {
  candidates: readonly Candidate[]
  /** Definitions of this submission by name. */
  own: ReadonlyMap<string, Candidate>
  firstRunning: number
  isAsync: boolean
  /** Definitions whose making runs code: others reach them through their cells. */
  data: ReadonlySet<string>
}

/** Decides for every reference and records the edits; what it decided is what the unit has to be given. */
export class Transform {
  readonly promotions = new Map<string, Promotion>()
  readonly cells = new Set<string>()
  readonly mentions = new Set<string>()
  readonly writes = new Set<string>()
  /** Names that functions of this submission hold cells of. */
  readonly captures = new Set<string>()
  readonly definitionCells = new Map<Candidate, Set<string>>()
  readonly definitionReads = new Map<Candidate, Set<string>>()
  /** What functions of a definition read as variables of its factory. */
  readonly definitionRoots = new Map<Candidate, Set<string>>()
  /** What functions of a top-level statement reach through cells. */
  readonly statementCells = new Map<number, Set<string>>()
  readonly #edits: Edits
  readonly #analysis: Analysis
  readonly #names: NameTable
  readonly #plan: Plan
  readonly #marker: string
  readonly #freshFrom = new Map<string, number>()
  readonly #needing = new Map<string, boolean>()
  readonly #marked: ReadonlySet<number>
  /** Statements that are definitions. */
  readonly #defining: ReadonlySet<number>
  /** Names that something in the submission may assign: they are no longer the realm's. */
  readonly #written = new Set<string>()

  constructor(
    edits: Edits,
    analysis: Analysis,
    names: NameTable,
    plan: Plan,
    marker: string,
    marked: ReadonlySet<number>,
  ) {
    this.#edits = edits
    this.#analysis = analysis
    this.#names = names
    this.#plan = plan
    this.#marker = marker
    this.#marked = marked
    this.#defining = new Set(plan.candidates.map(({ statement }) => statement))
    for (const { name, writes } of analysis.references) if (writes) this.#written.add(name)
  }

  /** Whether a definition may receive another as a parameter; otherwise it reads the other's cell. */
  passes(from: Candidate, to: Candidate): boolean {
    const isOwn = from === to && (to.kind === "enum" || to.kind === "namespace")
    if (this.#plan.data.has(to.name)) return isOwn
    if (from === to) return true
    if (to.isLate) return from.isLate && from.statement > to.statement
    if (to.hoisted || to.statement < this.#plan.firstRunning) return true
    return from.statement >= to.statement && !from.hoisted
  }

  run(statementReferences: readonly Reference[]): void {
    for (const candidate of this.#plan.candidates) {
      this.definitionCells.set(candidate, new Set())
      this.definitionReads.set(candidate, new Set())
      this.definitionRoots.set(candidate, new Set())
      for (const reference of candidate.references) this.#inDefinition(candidate, reference)
    }
    this.#promote(statementReferences)
    for (const reference of statementReferences) this.#inStatements(reference)
    for (const site of this.#analysis.variables) this.#declaration(site)
  }

  isSelf(name: string): boolean {
    if (constants.has(name)) return !this.#analysis.declared.has(name)
    if (this.#analysis.declared.has(name) || this.#written.has(name)) return false
    return this.#names.kind(name) === undefined && this.#names.isRealmGlobal(name)
  }

  #inDefinition(candidate: Candidate, reference: Reference): void {
    const { name } = reference
    this.mentions.add(name)
    // Whatever it is now: a change may make a definition of it.
    this.definitionReads.get(candidate)!.add(name)
    const own = this.#plan.own.get(name)
    // Data is not made again when an eval declares a name anew: functions in it have to find what the name is then.
    const isLasting = this.#plan.data.has(candidate.name) && reference.isCaptured && own !== candidate
    if (own !== undefined) {
      if (!reference.writes && !isLasting && this.passes(candidate, own)) {
        if (reference.isCaptured) this.definitionRoots.get(candidate)!.add(name)
        return
      }
    } else if (!this.#analysis.declared.has(name) && this.#names.kind(name) === "definition") {
      if (!reference.writes && !isLasting && !this.#needsOwn(name)) {
        if (reference.isCaptured) this.definitionRoots.get(candidate)!.add(name)
        return
      }
    } else if (!reference.writes && this.isSelf(name)) return
    this.definitionCells.get(candidate)!.add(name)
    this.captures.add(name)
    this.#cell(reference)
  }

  get firstRunning(): number {
    return this.#plan.firstRunning
  }

  isOwnDefinition(name: string): boolean {
    return this.#plan.own.has(name)
  }

  /** Whether a name that a definition reads reaches it as a parameter of its factory. */
  isPassed(from: Candidate, name: string): boolean {
    const own = this.#plan.own.get(name)
    if (own !== undefined) return this.passes(from, own)
    return !this.#analysis.declared.has(name) && this.#names.kind(name) === "definition" && !this.#needsOwn(name)
  }

  /**
   * Whether an existing definition depends on one that this submission declares again. Both cannot be parameters of each other, so the new
   * one reads the old one through its cell.
   */
  #needsOwn(name: string): boolean {
    const known = this.#needing.get(name)
    if (known !== undefined) return known
    const seen = new Set([name])
    let needs = false
    for (const each of seen) {
      if (this.#plan.own.has(each)) {
        needs = true
        break
      }
      for (const next of this.#names.dependencies?.(each) ?? []) seen.add(next)
    }
    this.#needing.set(name, needs)
    return needs
  }

  /** Whether a definition of this submission is bound before its first statement runs. */
  isBoundAtStart(candidate: Candidate): boolean {
    return candidate.hoisted || (!candidate.isLate && candidate.statement < this.#plan.firstRunning)
  }

  #promote(references: readonly Reference[]): void {
    const uses = new Map<string, Use>()
    for (const { name, isCaptured, writes, initialises, start, declaratorEnd } of references) {
      let use = uses.get(name)
      if (use === undefined) {
        use = { captured: false, writes: false, assigned: false, early: false, from: Infinity, to: -1 }
        uses.set(name, use)
      }
      use.captured ||= isCaptured
      use.writes ||= writes
      use.assigned ||= writes && initialises === undefined
      if (isCaptured) this.captures.add(name)
      if (writes) this.writes.add(name)
      if (initialises !== undefined && initialises !== "var") {
        use.from = start
        use.to = declaratorEnd
        this.#freshFrom.set(name, declaratorEnd)
      }
    }
    if (this.#analysis.usesDirectEval) return
    // `let { a, b = a } = o` uses a name that is fresh within its own declarator: such a name stays in its cell.
    for (const { name, start } of references) {
      const use = uses.get(name)!
      if (start > use.from && start < use.to) use.early = true
    }
    for (const [name, use] of uses) {
      const kind = this.#promotion(name, use)
      if (kind !== undefined) this.promotions.set(name, { name, kind })
    }
  }

  #promotion(name: string, use: Use): Promotion["kind"] | undefined {
    const own = this.#plan.own.get(name)
    if (own !== undefined) return this.isBoundAtStart(own) && !use.writes ? "read" : undefined
    const keyword = this.#analysis.declared.get(name)?.keyword
    if (keyword === "function" || keyword === "class" || keyword === "import") return undefined
    // The dependents of a definition that becomes a local read it through its cell from now on.
    if (keyword !== undefined && this.#names.kind(name) === "definition") return undefined
    const kind = keyword === undefined ? this.#names.kind(name) : undefined
    if (keyword === undefined && !use.writes && (kind === "definition" || kind === "readonly")) return "read"
    if (use.captured || use.early || this.captures.has(name) || this.#plan.isAsync) return undefined
    if (this.#names.isCaptured?.(name) !== false) return undefined
    if (keyword === "let" || (keyword === "const" && !use.assigned)) return "fresh"
    return keyword === "var" || kind === "local" ? "kept" : undefined
  }

  /** Whether a reference in statement code uses the promoted variable; a fresh one exists from its declarator on. */
  #isPromoted(reference: Reference): boolean {
    const promotion = this.promotions.get(reference.name)
    if (promotion === undefined || reference.isCaptured) return false
    if (promotion.kind !== "fresh" || reference.initialises !== undefined) return true
    return reference.start > this.#freshFrom.get(reference.name)!
  }

  #inStatements(reference: Reference): void {
    const { name } = reference
    this.mentions.add(name)
    if (this.#isPromoted(reference)) {
      this.cells.add(name)
      return
    }
    if (!this.#plan.own.has(name) && this.isSelf(name)) return
    this.cells.add(name)
    if (reference.isCaptured) {
      const cells = this.statementCells.get(reference.statement)
      if (cells === undefined) this.statementCells.set(reference.statement, new Set([name]))
      else cells.add(name)
    }
    this.#cell(reference)
  }

  #cell(reference: Reference): void {
    editCell(this.#edits, this.#marker, reference, reference.opensStatement && !this.#marked.has(reference.start))
  }

  /** A declaration whose names are locals: its keyword goes, its declarators become assignments. */
  #declaration({ node, place, statement }: VariableSite): void {
    if (this.#defining.has(statement)) return
    const { kind, declarations } = node
    const edits = this.#edits
    edits.blank(node.start, node.start + kind.length, place === "list" ? ";" : "")
    // Without its keyword a declaration is an expression, and the next line could go on with it.
    if (place !== "head" && edits.source[node.end - 1] !== ";") edits.terminate(node.end)
    for (const { id, init } of declarations) {
      if (init !== null) {
        if (id.type === "ObjectPattern") {
          edits.open(id.start, "(")
          // After everything that closes a function in the initialiser.
          edits.closeStatement(init.end, ")")
        }
        continue
      }
      // A `var` without a value becomes a read that nobody sees; the head of `for (var x of …)` is a target already.
      if (id.type === "Identifier" && kind !== "var") edits.close(id.end, "=void 0")
    }
  }
}

/** The edit for a use through the cell. `isFirst`: it begins a statement, and must not be glued to the one before. */
export function editCell(edits: Edits, marker: string, reference: Reference, isFirst: boolean): void {
  const { name, start, end, reads, writes, initialises, isShorthand, isCallee, isTag, typeofStart, names } = reference
  const cell = marker + name
  let text
  if (initialises === "let") text = `${cell}.i`
  else if (initialises === "const") text = `${cell}.c`
  else if (writes) text = `${cell}.w`
  else text = `${cell}.v`
  if (isShorthand) text = `${name}:${text}`
  if (isCallee) text = `${isFirst ? ";" : ""}(0,${text})`
  if (typeofStart >= 0 && reads)
    edits.replace(
      typeofStart,
      end,
      `${typeofStart > 0 && /[\w$]/.test(edits.source[typeofStart - 1]!) ? " " : ""}${cell}.t`,
    )
  else edits.replace(start, end, text, isCallee && !isTag)
  if (names !== undefined) {
    const key = JSON.stringify(name)
    const mark = insertMark(marker)
    edits.open(names.start, `${mark}({[${key}]:${mark}`)
    edits.close(names.end, `${mark}})[${key}]${mark}`)
  }
}
