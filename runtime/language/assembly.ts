// From an analysed submission to the text of its script and what the worker has to know about it.
//
// The script's completion value is a unit (`stdlib/environment.ts`): the names it takes, the factories of its definitions, and one
// function with its statements. Pieces of the source are copied in with their edits, and each copy is noted, so every position of the
// script leads back to the source, whatever the layout. What the compiler asked about the session's names is in `assumes`: while those
// answers hold, the same text gives the same unit.
import {
  bareStatement,
  findDefinitions,
  groupDefinitions,
  inOrderOfNeed,
  type Candidate,
  type DefinitionKind,
  type Group,
  type SpecialStatement,
} from "./definition.ts"
import { Closures, insertMark, type SiteSource, type SourceRange } from "./closures.ts"
import { markCompletion } from "./completion.ts"
import { importLiterals, importText } from "./imports.ts"
import { Output, type Edits, type Hole } from "./edits.ts"
import type { Program } from "./parse.ts"
import { PrivateClasses } from "./privates.ts"
import { LineTable, Segments, type Position, type Span } from "./positions.ts"
import type { Analysis, Reference } from "./scope.ts"
import { editCell, Transform, type NameKind, type NameTable } from "./transform.ts"

export interface CompiledDefinition {
  name: string
  kind: DefinitionKind
  /** The declaration's text, as written. */
  source: string
  span: Span
  /** Definitions and free names that it reads. */
  dependencies: string[]
  /** Names it reaches through cells. */
  cells: string[]
  /** Names that it reads when it is made, not when it is called. */
  readsWhenMade: string[]
  hoisted: boolean
  hasPrivateNames: boolean
  /** Of an import, what it imports. */
  module?: string
  /** What it says whatever its layout (`canonical.ts`); only of a submission. */
  digest: string
}

export interface CompiledUnit {
  valid: true
  filename: string
  code: string
  isAsync: boolean
  cells: string[]
  /** Whether modules are loaded before its statements run. */
  imports: boolean
  /** Specifiers of its imports. */
  modules: readonly string[]
  declares: { name: string; kind: "let" | "const" | "var"; span: Span }[]
  definitions: CompiledDefinition[]
  mentions: string[]
  writes: string[]
  /** Names whose cells functions of this unit may keep: they are captured from now on. */
  captures: string[]
  /** Locals that became variables of the eval; the unit can be reused while none of them is captured. */
  promoted: string[]
  /** Definitions of the session that it declares again as definitions; their dependents are made again. */
  redefines: string[]
  /**
   * Definitions of the session that become locals. Whoever runs the unit first installs their dependents, compiled again
   * (`compileDefinitions` with a table that says so), and demotes those that read the name when they were made.
   */
  replaces: string[]
  /** Names that stood for a value and are declared as types alone: the values go when the eval ends. */
  valueless: string[]
  mentionsGlobalThis: boolean
  usesDirectEval: boolean
  assumes: [name: string, kind: NameKind | undefined][]
  /** The sources of functions that are stamped when they are created, by their number in the unit. */
  sources: SiteSource[]
  map(line: number, column: number): (Position & { filename: string }) | undefined
}

export interface Place extends Position {
  filename: string
}

/** A submission that was parsed and analysed. */
export interface Prepared {
  valid: true
  program: Program
  /** The program as it was written, before anything was put through a transformer; it stands `shift` later than in the source. */
  written: Program
  shift: number
  edits: Edits
  analysis: Analysis
  special: ReadonlyMap<number, SpecialStatement>
  /** Imports that its JSX needed and that were put in front. */
  jsxImports: string
  /** The source offset of an offset of the text that was analysed. */
  original(offset: number): number
}

/**
 * What our own names begin with: no name of the source does. The `_` ends it, so that `$$_$x` can only be the cell of `$x` when a message
 * is read back (`stack.ts`).
 */
export function freeMarker(source: string): string {
  let dollars = "$$"
  while (source.includes(`${dollars}_`)) dollars += "$"
  return `${dollars}_`
}

/** One compilation; `unit` is called once. */
export class Assembly {
  readonly #source: string
  readonly #program: Program
  readonly #special: ReadonlyMap<number, SpecialStatement>
  readonly #original: (offset: number) => number
  readonly #edits: Edits
  readonly #analysis: Analysis
  readonly #filename: string
  readonly #locate: (offset: number) => Place
  readonly #data: ReadonlySet<string>
  readonly #isForced: boolean
  readonly #declaresAgain: boolean
  readonly #names: NameTable
  readonly #assumes = new Map<string, NameKind | undefined>()
  readonly #marker: string
  #stampers = ""

  constructor(
    source: string,
    prepared: Prepared,
    names: NameTable,
    filename: string,
    locate: (offset: number) => Place,
    data: ReadonlySet<string>,
    isForced = false,
    /** Whether what it declares may take the place of something. */
    declaresAgain = !isForced,
  ) {
    const { program, edits, analysis, special } = prepared
    this.#source = source
    this.#program = program
    this.#edits = edits
    this.#analysis = analysis
    this.#special = special
    this.#original = (offset) => prepared.original(offset)
    this.#filename = filename
    this.#locate = locate
    this.#data = data
    this.#isForced = isForced
    this.#declaresAgain = declaresAgain
    this.#names = {
      kind: (name) => {
        const kind = names.kind(name)
        this.#assumes.set(name, kind)
        return kind
      },
      isRealmGlobal: (name) => names.isRealmGlobal(name),
      isCaptured: (name) => names.isCaptured?.(name) ?? true,
      dependencies: (name) => names.dependencies?.(name),
    }
    this.#marker = freeMarker(edits.source)
  }

  unit(): CompiledUnit {
    const { candidates, firstRunning } = findDefinitions(
      this.#program,
      this.#analysis,
      this.#special,
      (name) => this.#names.kind(name) === "definition",
      this.#isForced,
    )
    const valued = candidates.filter(({ kind }) => kind !== "type" && kind !== "interface")
    const own = new Map(valued.map((candidate) => [candidate.name, candidate] as const))
    settleLateness(valued, own, firstRunning)
    const ofStatements = this.#distribute(valued)
    const marker = this.#marker
    const closures = new Closures(this.#edits, this.#analysis, marker)
    const sources = closures.divide(this.#ranges(valued))
    const privates = new PrivateClasses(this.#edits, this.#analysis, marker)
    // Its edits are around everything that an expression is.
    const marked = markCompletion(this.#program.body.map(bareStatement), this.#edits, `${marker}1`)
    privates.open()
    closures.open()
    this.#stampers = [closures.stampers, privates.stampers].filter((text) => text !== "").join(",")
    // What was caught is put right before anything else of the clause runs.
    editCatches(this.#edits, this.#analysis, `${marker}0`, `${marker}2`, insertMark(marker))
    const plan = { candidates: valued, own, firstRunning, isAsync: this.#analysis.isAsync, data: this.#data }
    const transform = new Transform(this.#edits, this.#analysis, this.#names, plan, marker, marked)
    transform.run(ofStatements)
    closures.close()
    privates.close()
    this.#hooks()
    const groups = groupDefinitions(valued, (candidate) =>
      [...transform.definitionReads.get(candidate)!]
        .map((name) => own.get(name))
        .filter((target) => target !== undefined && target !== candidate)
        .filter((target) => this.#data.has(target!.name) || transform.passes(candidate, target!))
        .map((target) => target!),
    )
    return this.#assemble(candidates, groups, transform, closures, sources)
  }

  /** Each definition by itself, and each other statement. */
  #ranges(candidates: readonly Candidate[]): SourceRange[] {
    const ranges: SourceRange[] = []
    const add = (start: number, end: number, isDefinition: boolean): void => {
      ranges.push({ start, end, isDefinition, index: -1, functions: new Map(), scopes: new Map() })
    }
    const defining = new Set(candidates.map(({ statement }) => statement))
    for (const { start, end } of candidates) add(start, end, true)
    for (const [index, { start, end }] of this.#program.body.entries()) if (!defining.has(index)) add(start, end, false)
    return ranges.toSorted((a, b) => a.start - b.start)
  }

  /** Uses of our hooks: `import()`, `import.meta` and what stands for our own functions. */
  #hooks(): void {
    const hooks = `${this.#marker}0`
    for (const { start, end, form } of this.#analysis.dynamicImports) {
      this.#edits.replace(start, end, form === "call" ? `${hooks}.load` : `${hooks}.meta`)
    }
    editHelpers(this.#edits, this.#analysis, this.#marker)
  }

  /** Hands every reference to the definition whose text holds it; returns the rest. */
  #distribute(candidates: readonly Candidate[]): Reference[] {
    const byStatement = new Map<number, Candidate[]>()
    for (const candidate of candidates) {
      const list = byStatement.get(candidate.statement)
      if (list === undefined) byStatement.set(candidate.statement, [candidate])
      else list.push(candidate)
    }
    const rest: Reference[] = []
    for (const reference of this.#analysis.references) {
      const owner = byStatement
        .get(reference.statement)
        ?.find(({ start, end }) => reference.start >= start && reference.start < end)
      if (owner === undefined) rest.push(reference)
      else if (reference.initialises === undefined) owner.references.push(reference)
    }
    return rest
  }

  #assemble(
    candidates: readonly Candidate[],
    groups: readonly Group[],
    transform: Transform,
    closures: Closures,
    sources: readonly SourceRange[],
  ): CompiledUnit {
    const segments = new Segments()
    const output = new Output(segments)
    const indexes = new Map<Candidate, number>()
    const fresh = this.#freshNames(transform)
    const cells = [...new Set([...transform.cells, ...fresh.cells])]
    output.write(
      `"use strict";(${this.#marker}4=>({sites:${this.#marker}4,cells:${JSON.stringify(cells)},lexical:${JSON.stringify(fresh.lexical)},vars:${JSON.stringify(fresh.vars)},imports:[${importLiterals(this.#analysis.imports)}],groups:[`,
    )
    const byStart = new Map(sources.map((range) => [range.start, range]))
    for (const group of groups) this.#group(output, group, transform, indexes, closures, byStart)
    output.write("],run:")
    const hasStatements = this.#statements(output, candidates, cells, transform, indexes, closures)
    output.write(`${hasStatements ? "" : "undefined"}}))(${closures.descriptors})`)
    const generated = output.text
    let generatedLines: LineTable | undefined
    const filename = this.#filename
    const original = this.#original
    const locate = this.#locate
    const valueless = this.#valueless(candidates, transform)
    return {
      valid: true,
      filename,
      code: generated,
      isAsync: this.#analysis.isAsync,
      cells,
      declares: fresh.declares,
      definitions: [...candidates.map((candidate) => this.#definition(candidate, transform)), ...this.#imports()],
      imports: this.#analysis.imports.length > 0,
      modules: this.#analysis.imports.map(({ specifier }) => specifier),
      mentions: [...transform.mentions],
      writes: [...transform.writes],
      captures: [...transform.captures],
      promoted: [...transform.promotions.values()].filter(({ kind }) => kind !== "read").map(({ name }) => name),
      redefines: candidates.map(({ name }) => name).filter((name) => this.#wasDefinition(transform, name)),
      replaces: [...fresh.declares.map(({ name }) => name), ...this.#importedNames(), ...valueless].filter(
        (name) => this.#names.kind(name) === "definition",
      ),
      valueless,
      mentionsGlobalThis: this.#analysis.mentionsGlobalThis,
      usesDirectEval: this.#analysis.usesDirectEval,
      assumes: [...this.#assumes],
      sources: sources.map((range) => this.#siteSource(range, candidates, transform)),
      map(line, column) {
        generatedLines ??= new LineTable(generated)
        const offset = generatedLines.offset(line, column)
        const at = offset === undefined ? -1 : segments.source(offset)
        return at < 0 ? undefined : locate(Math.max(0, original(at)))
      },
    }
  }

  #valueless(candidates: readonly Candidate[], transform: Transform): string[] {
    const types = candidates.filter(({ kind }) => kind === "type" || kind === "interface").map(({ name }) => name)
    const declared = new Set(this.#analysis.declared.keys())
    return [...new Set(types)].filter(
      (name) => !declared.has(name) && !transform.isOwnDefinition(name) && this.#names.kind(name) !== undefined,
    )
  }

  #siteSource(range: SourceRange, candidates: readonly Candidate[], transform: Transform): SiteSource {
    const start = this.#original(range.start)
    const { filename, line, column } = this.#locate(Math.max(0, start))
    const text = this.#edits.source.slice(range.start, range.end)
    if (!range.isDefinition) {
      const statement = this.#program.body.findIndex((each) => each.start === range.start)
      const cells = [...(transform.statementCells.get(statement) ?? [])].toSorted()
      // A block by itself could be read as an object literal.
      const lead = text.startsWith("{") ? ";" : ""
      return {
        source: lead + text,
        cells,
        roots: [],
        filename,
        line,
        column: column - lead.length + Math.min(0, start),
      }
    }
    const candidate = candidates.find((each) => each.start === range.start && transform.definitionRoots.has(each))!
    const cells = [...transform.definitionCells.get(candidate)!].toSorted()
    const roots = [...transform.definitionRoots.get(candidate)!].toSorted()
    return { source: candidate.lead + text, cells, roots, filename, line, column: column - candidate.lead.length }
  }

  #span(start: number, end: number): Span {
    const [from, to] = [this.#original(start), this.#original(end)]
    const { line, column } = this.#locate(from)
    return { start: from, end: to, line, column }
  }

  #sourceSpan({ sourceStart: start, sourceEnd: end }: SpecialStatement): Span {
    const { line, column } = this.#locate(start)
    return { start, end, line, column }
  }

  /** What the statements declare: dead zones and hoisted names are prepared before they run. */
  #freshNames(transform: Transform): {
    lexical: string[]
    vars: string[]
    cells: string[]
    declares: CompiledUnit["declares"]
  } {
    const declares = new Map<string, CompiledUnit["declares"][number]>()
    for (const { initialises, name, start, end } of this.#analysis.references) {
      if (initialises !== undefined && !declares.has(name) && !this.#isDefinition(transform, name)) {
        declares.set(name, { name, kind: initialises, span: this.#span(start, end) })
      }
    }
    for (const [name, { keyword, statement }] of this.#analysis.declared) {
      if (keyword !== "function" && keyword !== "class") continue
      if (this.#isDefinition(transform, name)) continue
      const { start, end } = this.#program.body[statement]!
      declares.set(name, { name, kind: keyword === "class" ? "let" : "var", span: this.#span(start, end) })
    }
    const lexical: string[] = []
    const vars: string[] = []
    for (const { name, kind } of declares.values()) (kind === "var" ? vars : lexical).push(name)
    return { lexical, vars, cells: [...declares.keys()], declares: [...declares.values()] }
  }

  #wasDefinition(transform: Transform, name: string): boolean {
    return transform.isOwnDefinition(name) && this.#names.kind(name) === "definition"
  }

  #isDefinition(transform: Transform, name: string): boolean {
    return transform.isOwnDefinition(name)
  }

  #group(
    output: Output,
    group: Group,
    transform: Transform,
    indexes: Map<Candidate, number>,
    closures: Closures,
    sources: ReadonlyMap<number, SourceRange>,
  ): void {
    const marker = this.#marker
    // Those that hold data are reached through their cells, also by the others of their group, which are made with them.
    const isMixed = group.members.length > 1 && group.members.some(({ name }) => this.#data.has(name))
    // A script's declarations are made in its order, a module's in that of their need.
    const members = this.#isForced ? inOrderOfNeed(group.members) : group.members
    const inside = new Set(members.map(({ name }) => name))
    const dependencies = new Set<string>()
    const cells = new Set<string>()
    for (const member of members) {
      for (const name of transform.definitionReads.get(member)!) {
        if (!inside.has(name) && transform.isPassed(member, name)) dependencies.add(name)
      }
      for (const name of transform.definitionCells.get(member)!) cells.add(name)
    }
    const names = members.map(({ name }) => name)
    if (isMixed) for (const name of names) cells.add(name)
    const atStart = members.map(
      ({ hoisted, statement }) => hoisted || (!group.isLate && statement < transform.firstRunning),
    )
    const copied = members.flatMap((it) => it.readsWhenMade).filter((name) => cells.has(name) && !names.includes(name))
    const bare = members.map(({ isBare, name }) => isBare && !this.#data.has(name))
    const first = indexes.size
    for (const member of members) indexes.set(member, indexes.size)
    output.write(
      `{first:${first},names:${JSON.stringify(names)},kinds:${JSON.stringify(members.map(({ kind }) => kind))},atStart:${JSON.stringify(atStart)},` +
        `isLate:${group.isLate},${bare.includes(true) ? `bare:${JSON.stringify(bare)},` : ""}${copied.length > 0 ? `copied:${JSON.stringify(copied)},` : ""}dependencies:${JSON.stringify([...dependencies])},cells:${JSON.stringify([...cells])},` +
        `make:function ${marker}make(${[`${marker}0`, ...dependencies, ...[...cells].map((name) => marker + name)].join(",")}){`,
    )
    if (this.#stampers !== "") output.write(`const ${this.#stampers};`)
    for (const member of members) {
      output.write(closures.rootVariables(member.start))
      const range = sources.get(member.start)
      if (range !== undefined) output.write(closures.root(range, [...transform.definitionRoots.get(member)!]))
    }
    if (isMixed) for (const { name, hoisted } of members) if (hoisted) output.write(`${marker}${name}.c=${name};`)
    for (const { name, lead, start, end, hoisted } of members) {
      output.write(lead)
      this.#edits.render(output, start, end)
      output.write("\n")
      if (isMixed && !hoisted) output.write(`;${marker}${name}.c=${name};`)
    }
    for (const { name, start } of members) {
      const stamp = closures.stampOfDeclared(start, name)
      if (stamp !== undefined) output.write(`;${stamp}`)
      this.#fields(output, name, start, name)
    }
    output.write(`;return[${names.join(",")}]}},`)
  }

  #importedNames(): string[] {
    return this.#analysis.imports.flatMap(({ bindings }) => bindings.map(({ local }) => local))
  }

  #imports(): CompiledDefinition[] {
    const made = { dependencies: [], cells: [], readsWhenMade: [], hoisted: false, hasPrivateNames: false }
    return this.#analysis.imports.flatMap((site) =>
      site.bindings.map((binding) => {
        const source = importText(site, binding)
        const span = this.#span(site.start, site.end)
        // The text has one layout already.
        const facts = { name: binding.local, kind: "import" as const, source, span, digest: source }
        return { ...made, ...facts, module: site.specifier }
      }),
    )
  }

  /** The function with the statements. False when there are none, so that nothing has to run. */
  #statements(
    output: Output,
    candidates: readonly Candidate[],
    cells: readonly string[],
    transform: Transform,
    indexes: ReadonlyMap<Candidate, number>,
    closures: Closures,
  ): boolean {
    const marker = this.#marker
    const body = this.#program.body
    const [first, last] = [body[0], body.at(-1)]
    if (first === undefined || last === undefined) return false
    const byStatement = new Map<number, string>()
    for (const candidate of candidates) {
      const index = indexes.get(candidate)
      const reach = index === undefined || transform.isBoundAtStart(candidate) ? "" : `${marker}0.reach(${index});`
      byStatement.set(candidate.statement, (byStatement.get(candidate.statement) ?? ";") + reach)
    }
    const holes: Hole[] = [...byStatement].map(([statement, text]) => ({
      start: body[statement]!.start,
      end: body[statement]!.end,
      text,
    }))
    const hoisted: number[] = []
    for (const [name, { keyword, statement }] of this.#analysis.declared) {
      if (transform.isOwnDefinition(name)) continue
      const { start, end } = bareStatement(body[statement]!)
      if (keyword === "function") {
        hoisted.push(statement)
        holes.push({ start: body[statement]!.start, end: body[statement]!.end, text: ";" })
      } else if (keyword === "class") {
        this.#edits.open(start, `;${marker}${name}.i=`)
        this.#edits.terminate(end)
        const fields = new Output(new Segments())
        this.#fields(fields, name, start, `${marker}${name}.v`)
        if (fields.text !== "") this.#edits.closeBody(end, `${fields.text};`)
      }
    }
    if (transform.firstRunning === body.length && hoisted.length === 0) return false
    holes.sort((a, b) => a.start - b.start)
    output.write(
      `${this.#analysis.isAsync ? "async " : ""}function ${marker}run(${[`${marker}0`, ...cells.map((name) => marker + name)].join(",")}){let ${marker}1`,
    )
    if (this.#stampers !== "") output.write(`,${this.#stampers}`)
    if (closures.statementsMayLive) output.write(`,${marker}6_run=1`)
    if (this.#analysis.usesResources) output.write(`,${marker}u=${marker}0.lowered.env()`)
    const backs = this.#variables(output, transform, closures.rootVariables())
    if (closures.statementsMayLive) backs.push(`${marker}6_run=0;`)
    for (const statement of hoisted) this.#hoistedFunction(output, statement, closures)
    if (backs.length > 0) output.write("try{")
    if (this.#analysis.usesResources) output.write("try{")
    this.#edits.render(output, 0, this.#edits.source.length, holes)
    if (this.#analysis.usesResources) {
      const end = this.#analysis.isAsync ? `await ${marker}u.end()` : `${marker}u.end()`
      output.write(`\n}catch(${marker}2){${marker}u.fail(${marker}2)}finally{${end}}`)
    }
    output.write(backs.length > 0 ? `\n}finally{${backs.join("")}}` : "\n")
    output.write(`;return{v:${marker}1}}`)
    return true
  }

  /** Declares the promoted names; returns what writes them back. */
  #variables(output: Output, transform: Transform, rootVariables: string): string[] {
    const marker = this.#marker
    const backs: string[] = []
    for (const { name, kind } of transform.promotions.values()) {
      if (kind === "fresh") {
        output.write(`,${name}=${marker}0`)
        const isConst = this.#analysis.declared.get(name)?.keyword === "const"
        backs.push(`${name}===${marker}0||(${marker}${name}.${isConst ? "c" : "i"}=${name});`)
      } else {
        output.write(`,${name}=${marker}${name}.v`)
        if (kind === "kept" && transform.writes.has(name)) backs.push(`${marker}0.keep(${marker}${name},${name});`)
      }
    }
    output.write(`;${rootVariables}`)
    return backs
  }

  /** A function that is assigned to somewhere is a local that exists from the start. */
  #hoistedFunction(output: Output, statement: number, closures: Closures): void {
    const node = bareStatement(this.#program.body[statement]!)
    if (node.type !== "FunctionDeclaration" || node.id === null) return
    // Its code reaches the name through the cell, so the name of the expression shadows nothing.
    const cell = `${this.#marker}${node.id.name}`
    output.write(`${cell}.w=`)
    this.#edits.render(output, node.start, node.end)
    output.write(";")
    const stamp = closures.stampOfDeclared(node.start, `${cell}.v`)
    if (stamp !== undefined) output.write(`${stamp};`)
  }

  /** What a class that is declared again can put on instances of the one before. */
  #fields(output: Output, name: string, start: number, made: string): void {
    if (!this.#declaresAgain || this.#names.kind(name) === undefined) return
    const found = this.#analysis.classes.find(({ site }) => site.start === start)
    if (found === undefined) return
    const fields = found.publicFields.map((field) => ({
      ...field,
      isFillable: field.isFillable && !placeBound.test(this.#edits.source.slice(field.start, field.end)),
    }))
    const missing = fields.filter(({ isFillable }) => !isFillable).map((field) => field.name)
    const filled = fields.filter(({ isFillable }) => isFillable)
    output.write(`;${this.#marker}0.fields(${JSON.stringify(name)},${made},${JSON.stringify(missing)},[`)
    for (const field of filled) {
      output.write(`{name:${JSON.stringify(field.name)},made:class extends null{`)
      this.#edits.renderMember(output, field.start, field.end)
      output.write("\n}},")
    }
    output.write("])")
  }

  #definition(candidate: Candidate, transform: Transform): CompiledDefinition {
    const { name, kind, lead, hoisted, hasPrivateNames, statement } = candidate
    const extra = this.#special.get(statement)
    const span = extra === undefined ? this.#span(candidate.start, candidate.end) : this.#sourceSpan(extra)
    return {
      name,
      kind,
      source: lead + this.#source.slice(span.start, span.end),
      span,
      dependencies: [...(transform.definitionReads.get(candidate) ?? [])],
      cells: [...(transform.definitionCells.get(candidate) ?? [])],
      readsWhenMade: candidate.readsWhenMade,
      hoisted,
      hasPrivateNames,
      digest: "",
    }
  }
}

/** What only the class that it stands in gives a meaning to. */
const placeBound = /#|\b(?:super|target|arguments)\b/

/** A class that extends something is made at its statement when statements before it may have changed what it extends; so is what needs such a class at once. */
function settleLateness(
  candidates: readonly Candidate[],
  own: ReadonlyMap<string, Candidate>,
  firstRunning: number,
): void {
  for (const candidate of candidates) {
    if (candidate.hoisted || candidate.statement < firstRunning) continue
    candidate.isLate = candidate.hasHeritage || candidate.readsWhenMade.some((name) => own.get(name)?.isLate === true)
  }
}

/** What stands for our own functions in a text that was made of what the engine does not have. */
function editHelpers(edits: Edits, { helpers }: Analysis, marker: string): void {
  for (const { start, end, how } of helpers)
    edits.replace(start, end, how === "using" ? `${marker}u` : `${marker}0.lowered`)
}

/** Has every `catch` put the message of what it caught right. */
export function editCatches(edits: Edits, analysis: Analysis, hooks: string, caught: string, mark: string): void {
  for (const { param, name, body, bodyEnd } of analysis.catches) {
    if (name !== undefined) edits.lead(body, `${mark}${hooks}.clean(${name});${mark}`)
    else {
      // The engine's words for what a pattern cannot take name its own catch, and nothing of ours.
      edits.open(param, `${caught}){try{throw ${hooks}.clean(${caught})}catch(`)
      edits.close(bodyEnd, "}")
    }
  }
}

/** A script that makes activations of one source, and the way back from its positions. */
export interface SkeletonUnit {
  filename: string
  code: string
  map: CompiledUnit["map"]
}

/** The skeleton of a source of functions, from its text alone. */
export function assembleSkeleton(
  { cells, roots, filename: sourceFile, line: firstLine, column: firstColumn }: SiteSource,
  { edits, analysis }: Prepared,
  filename: string,
): SkeletonUnit {
  const marker = freeMarker(edits.source)
  const closures = new Closures(edits, analysis, marker)
  const range = {
    start: 0,
    end: edits.source.length,
    isDefinition: roots.length > 0,
    index: -1,
    functions: new Map(),
    scopes: new Map(),
  }
  closures.divide([range])
  const privates = new PrivateClasses(edits, analysis, marker)
  privates.open()
  closures.open()
  const known = new Set(cells)
  const variables = new Set(roots)
  for (const reference of analysis.references) {
    const { name, isCaptured, writes, initialises } = reference
    if (!isCaptured || initialises !== undefined || !known.has(name)) continue
    if (!writes && variables.has(name)) continue
    editCell(edits, marker, reference, reference.opensStatement)
  }
  closures.close()
  privates.close()
  editHelpers(edits, analysis, marker)
  editCatches(edits, analysis, `${marker}0`, `${marker}2`, insertMark(marker))
  for (const { start, end, form } of analysis.dynamicImports) {
    edits.replace(start, end, form === "call" ? `${marker}0.load` : `${marker}0.meta`)
  }
  const segments = new Segments()
  const output = new Output(segments)
  const parameters = [`${marker}0`, ...cells.map((name) => marker + name)].join(",")
  output.write(
    `"use strict";(${marker}4=>({__proto__:null,sites:${marker}4,make:function ${marker}make(${parameters}){const ${[closures.stampers, privates.stampers].filter((text) => text !== "").join(",")};return (`,
  )
  closures.skeleton(output, range, roots)
  output.write(`)()}}))(${closures.descriptors})`)
  const generated = output.text
  let generatedLines: LineTable | undefined
  let sourceLines: LineTable | undefined
  return {
    filename,
    code: generated,
    map(line, column) {
      generatedLines ??= new LineTable(generated)
      const offset = generatedLines.offset(line, column)
      const at = offset === undefined ? -1 : segments.source(offset)
      if (at < 0) return undefined
      const place = (sourceLines ??= new LineTable(edits.source)).position(at)
      return {
        filename: sourceFile,
        line: place.line + firstLine - 1,
        column: place.line === 1 ? place.column + firstColumn - 1 : place.column,
      }
    },
  }
}
