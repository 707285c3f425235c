// The compiler: a submission's text in, the script that a realm runs out. Plain data both ways: no realm, no user value.
//
// `compile` takes a submission, `compileDefinitions` the kept texts of definitions that a fresh realm needs; both parse, analyse, hand what
// blanking types cannot explain to a transformer, and assemble.
import { assembleSkeleton, Assembly } from "./assembly.ts"
import type { CompiledDefinition, CompiledUnit, Place, Prepared, SkeletonUnit } from "./assembly.ts"
import { declarationDigests } from "./canonical.ts"
import { declarationTexts } from "./declaration-texts.ts"
import type { SiteSource } from "./closures.ts"
import { desugar } from "./desugar.ts"
import { bareStatement } from "./definition.ts"
import type { DefinitionKind } from "./definition.ts"
import { Edits } from "./edits.ts"
import { plainJsx } from "./jsx.ts"
import type { Jsx } from "./jsx-option.ts"
import { lower } from "./lower.ts"
import { invalid, parse, type InvalidSource, type Node } from "./parse.ts"
import { LineTable, type Position } from "./positions.ts"
import { analyse } from "./scope.ts"
import type { NameTable } from "./transform.ts"

export type { CompiledDefinition, CompiledUnit, SkeletonUnit } from "./assembly.ts"
export type { SiteSource } from "./closures.ts"
export type { InvalidSource } from "./parse.ts"
export type { NameKind, NameTable } from "./transform.ts"

export interface CompileOptions {
  filename: string
  /** The number of the source's first line. */
  line?: number
}

export function compile(source: string, names: NameTable, options: CompileOptions): CompiledUnit | InvalidSource {
  const prepared = prepare(source, names.jsx, (name) => names.kind(name) === "import")
  if (!prepared.valid) return invalid(source, prepared.errors, options.line)
  const { filename, line: firstLine = 1 } = options
  let lines: LineTable | undefined
  const locate = (offset: number): Place => {
    const { line, column } = (lines ??= new LineTable(source)).position(offset)
    return { filename, line: line + firstLine - 1, column }
  }
  const unit = new Assembly(source, prepared, names, filename, locate, noNames).unit()
  if (unit.definitions.length > 0) tellTexts(unit.definitions, source, prepared, locate)
  return unit
}

/** Puts down of each definition what is kept of it: the text of all its declarations, where that stands, and its digest. */
export function tellTexts(
  definitions: readonly CompiledDefinition[],
  source: string,
  { written, shift }: Prepared,
  locate: (offset: number) => Position,
): void {
  const digests = declarationDigests(written)
  const texts = declarationTexts(source, written, shift)
  for (const definition of definitions) {
    definition.digest = digests.get(definition.name) ?? definition.digest
    const text = texts.get(definition.name)
    if (text === undefined || definition.kind === "import") continue
    const { start, end } = text
    const { line, column } = locate(start)
    definition.source = text.source
    definition.span = { start, end, line, column }
  }
}

const noNames: ReadonlySet<string> = new Set()

/** A definition of the session that a new realm needs: its text as it was compiled, and where that text stands. */
export interface KeptDefinition {
  name: string
  kind: DefinitionKind
  source: string
  filename: string
  line: number
  column: number
  /** Making it runs code of its own: others reach it through its cell. */
  isData?: boolean | undefined
  /** Expressions for functions that are put around it, the innermost first. */
  wrappers?: readonly Wrapper[] | undefined
}

interface Wrapper {
  source: string
  filename: string
  line: number
  column: number
}

/**
 * The factories of definitions by themselves, in an order in which each finds what it needs: what a fresh realm installs. They are
 * compiled as one text; a position leads back to the file of its definition. Types have no value and may be left out. `declaresAgain`: they
 * take the places of others in a realm that lives.
 */
export function compileDefinitions(
  definitions: readonly KeptDefinition[],
  names: NameTable,
  filename = "nacre:definitions",
  declaresAgain = false,
): CompiledUnit | InvalidSource {
  const pieces: (Wrapper & { start: number })[] = []
  let source = ""
  const add = (piece: Wrapper): void => {
    pieces.push({ ...piece, start: source.length })
    source += piece.source
  }
  for (const definition of definitions) {
    for (const piece of wrapped(definition, names.jsx)) add(piece)
    source += "\n;"
  }
  const prepared = prepare(source, names.jsx)
  if (!prepared.valid) return invalid(source, prepared.errors)
  let lines: LineTable | undefined
  const locate = (offset: number): Place => {
    lines ??= new LineTable(source)
    const piece = pieces[lastAtOrBefore(pieces, offset)]!
    const first = lines.position(piece.start)
    const { line, column } = lines.position(offset)
    return {
      filename: piece.filename,
      line: piece.line + line - first.line,
      column: line === first.line ? piece.column + column - first.column : column,
    }
  }
  const data = new Set(definitions.filter(({ isData }) => isData).map(({ name }) => name))
  return new Assembly(source, prepared, names, filename, locate, data, true, declaresAgain).unit()
}

/** The index of the last piece that starts at an offset or before it. */
function lastAtOrBefore(pieces: readonly { start: number }[], offset: number): number {
  let [low, high] = [0, pieces.length]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if (pieces[middle]!.start <= offset) low = middle
    else high = middle
  }
  return low
}

/**
 * A definition as one declaration with its wrappers around it, in pieces that each know their place. Inside, its name means the wrapped one: a
 * function or class is written as an expression that has its name without binding it.
 */
function wrapped(definition: KeptDefinition, jsx: Jsx | undefined): Wrapper[] {
  const { name, source, filename, line, column, wrappers = [] } = definition
  if (wrappers.length === 0) return [definition]
  const parsed = parse(source, jsx !== undefined)
  // Overloads and interfaces of its name say nothing about its value.
  const valued = parsed.valid ? parsed.program.body.map(bareStatement).filter(isValued) : []
  const statement = valued.length === 1 ? valued[0] : undefined
  const lines = new LineTable(source)
  const ours = (text: string): Wrapper => ({ source: text, filename, line, column })
  const part = (start: number, end: number): Wrapper => {
    const at = lines.position(start)
    const onFirst = at.line === 1
    return {
      source: source.slice(start, end),
      filename,
      line: line + at.line - 1,
      column: onFirst ? column + at.column - 1 : at.column,
    }
  }
  const key = JSON.stringify(name)
  let inner: Wrapper[]
  if (statement?.type === "VariableDeclaration" && statement.declarations[0]?.init) {
    const { init } = statement.declarations[0]
    inner = [part(init.start, init.end)]
  } else if (
    (statement?.type === "FunctionDeclaration" || statement?.type === "ClassDeclaration") &&
    statement.id !== null
  ) {
    const { start, end, id } = statement
    inner = [ours(`({${key}:`), part(start, id.start), part(id.end, end), ours(`})[${key}]`)]
  } else inner = [ours("(()=>{"), definition, ours(`\nreturn ${name}})()`)]
  const outermostFirst = wrappers.toReversed()
  return [
    ours(`const ${name}=`),
    ...outermostFirst.flatMap((wrapper) => [ours("("), wrapper, ours("\n)(")]),
    ...inner,
    ours(")".repeat(wrappers.length)),
  ]
}

function isValued({ type }: Node): boolean {
  return type !== "TSDeclareFunction" && type !== "TSInterfaceDeclaration" && type !== "TSTypeAliasDeclaration"
}

/** What makes the functions of a source again in a realm that has never seen it. */
export function compileSkeleton(source: SiteSource, filename: string): SkeletonUnit | InvalidSource {
  const prepared = prepare(source.source)
  if (!prepared.valid) return invalid(source.source, prepared.errors)
  return assembleSkeleton(source, prepared, filename)
}

type Problem = { message: string; start: number; end: number }

/**
 * Parses and analyses; where types cannot simply be blanked, what the transformer makes of the text is parsed instead, and where it has JSX, what that stands
 * for. `hasImport`: see `plainJsx`.
 */
export function prepare(
  source: string,
  jsx?: Jsx,
  hasImport?: (name: string) => boolean,
): Prepared | { valid: false; errors: Problem[] } {
  const parsed = parse(source, jsx !== undefined)
  if (!parsed.valid) return parsed
  const { shift } = parsed
  let { program, text } = parsed
  let sourceOf = (offset: number): number => offset - shift
  const withoutJsx = jsx === undefined ? undefined : plainJsx(text, program, jsx, hasImport)
  if (withoutJsx !== undefined) {
    const again = parse(withoutJsx.text)
    if (!again.valid)
      return { valid: false, errors: moved(again.errors, (offset) => sourceOf(withoutJsx.original(offset))) }
    const before = sourceOf
    program = again.program
    text = again.text
    sourceOf = (offset) => before(withoutJsx.original(offset - again.shift))
  }
  const plain = desugar(text, program)
  if (plain !== undefined) {
    if ("message" in plain)
      return { valid: false, errors: [{ ...plain, start: sourceOf(plain.start), end: sourceOf(plain.end) }] }
    const again = parse(plain.text)
    if (!again.valid) return { valid: false, errors: moved(again.errors, (offset) => sourceOf(plain.original(offset))) }
    const before = sourceOf
    program = again.program
    text = again.text
    sourceOf = (offset) => before(plain.original(offset - again.shift))
  }
  let edits = new Edits(text)
  let analysis = analyse(program, edits)
  let original = sourceOf
  let special: Prepared["special"] = new Map()
  if (analysis.needsTransformer.size > 0 && analysis.refused.length === 0) {
    const lowered = lower(text, program, analysis.needsTransformer)
    if ("message" in lowered)
      return { valid: false, errors: [{ ...lowered, start: sourceOf(lowered.start), end: sourceOf(lowered.end) }] }
    const again = parse(lowered.text)
    if (!again.valid)
      return { valid: false, errors: moved(again.errors, (offset) => sourceOf(lowered.original(offset))) }
    program = again.program
    edits = new Edits(again.text)
    analysis = analyse(program, edits)
    special = lowered.special
    original = (offset) => sourceOf(lowered.original(offset - again.shift))
  }
  if (analysis.refused.length > 0) {
    return { valid: false, errors: moved(analysis.refused, original) }
  }
  const jsxImports = withoutJsx?.imports ?? ""
  return { valid: true, program, written: parsed.program, shift, edits, analysis, special, jsxImports, original }
}

function moved(problems: readonly Problem[], original: (offset: number) => number): Problem[] {
  return problems.map(({ message, start, end }) => ({ message, start: original(start), end: original(end) }))
}
