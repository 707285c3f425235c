// Which declarations of a submission are definitions, and in which groups and order they are made.
//
// A declaration is a definition when it is code: evaluating it runs no code of its own, so it can be made again at any time (when one
// of its dependencies changes, in a new realm) and nobody can tell. Everything else is an ordered local. A definition is compiled to a
// factory whose parameters are the definitions it depends on; those that depend on each other share one factory. A name is passed as a
// parameter only where the dead zone of its declaration cannot be observed through it; elsewhere it is read through its cell, which
// knows. So a submission of declarations followed by statements runs at native speed, and the odd one stays exact.
import type { Analysis, Reference } from "./scope.ts"
import type { Class, Node, Program } from "./parse.ts"

export type DefinitionKind = "function" | "class" | "const" | "enum" | "namespace" | "type" | "interface" | "import"

export interface Candidate {
  name: string
  kind: DefinitionKind
  /** The top-level statement, and the declaration's own text in it. */
  statement: number
  start: number
  end: number
  /** What the text needs in front to be a declaration: `const ` for one declarator among several. */
  lead: string
  /** A function: it exists from the start. */
  hoisted: boolean
  /** A function that is made with its `length` and `name` and nothing else: no object of its own, as `prototype` is one. */
  isBare: boolean
  /** Names that are read when the definition is made. */
  readsWhenMade: string[]
  hasHeritage: boolean
  hasPrivateNames: boolean
  /** Made at its statement, since what it reads then may depend on the statements before. */
  isLate: boolean
  /** References from its text to names outside it. */
  references: Reference[]
}

export interface Group {
  members: Candidate[]
  isLate: boolean
}

/** A statement that a transformer turned into plain code, and what it was. */
export interface SpecialStatement {
  kind: "enum" | "namespace"
  name: string
  isCode: boolean
  sourceStart: number
  sourceEnd: number
}

/** Top-level statements with the `export` in front taken off. */
export function bareStatement(node: Node): Node {
  return node.type === "ExportNamedDeclaration" && node.declaration !== null ? node.declaration : node
}

/**
 * The definitions among a submission's declarations, and the first statement that runs something. With `isForced` every declaration
 * counts: the text of definitions that were found to be code when they were submitted.
 */
export function findDefinitions(
  program: Program,
  analysis: Analysis,
  special: ReadonlyMap<number, SpecialStatement>,
  isDefinition: (name: string) => boolean,
  isForced = false,
  isInAnyOrder = false,
): { candidates: Candidate[]; firstRunning: number } {
  const assigned = new Set<string>()
  for (const { name, writes, initialises } of analysis.references) {
    if (writes && initialises === undefined && !isForced) assigned.add(name)
  }
  const candidates: Candidate[] = []
  const found = new Set<string>()
  const add = (candidate: Omit<Candidate, "hasPrivateNames" | "isLate" | "references">): void => {
    const hasPrivateNames = analysis.privateNames.has(candidate.statement)
    candidates.push({ ...candidate, hasPrivateNames, isLate: false, references: [] })
    if (candidate.kind !== "type" && candidate.kind !== "interface") found.add(candidate.name)
  }
  const base = { lead: "", hoisted: false, isBare: false, readsWhenMade: [] as string[], hasHeritage: false }
  let firstRunning = program.body.length
  const statements = program.body.map(bareStatement)
  for (const [statement, node] of statements.entries()) {
    if (node.type === "FunctionDeclaration" && node.id !== null && !assigned.has(node.id.name)) {
      const { start, end } = node
      const isBare = isBareFunction(node)
      add({ ...base, name: node.id.name, kind: "function", statement, start, end, hoisted: true, isBare })
    }
  }
  const known = (name: string): boolean =>
    found.has(name) || ((isInAnyOrder || !analysis.declared.has(name)) && isDefinition(name))
  for (const [statement, node] of statements.entries()) {
    const { start, end } = node
    const extra = special.get(statement)
    if (extra !== undefined) {
      if ((extra.isCode || isForced) && !assigned.has(extra.name))
        add({ ...base, name: extra.name, kind: extra.kind, statement, start, end })
      else firstRunning = Math.min(firstRunning, statement)
      continue
    }
    switch (node.type) {
      case "FunctionDeclaration":
      case "TSDeclareFunction":
      case "EmptyStatement":
        break
      case "TSTypeAliasDeclaration":
      case "TSInterfaceDeclaration":
        add({
          ...base,
          name: node.id.name,
          kind: node.type === "TSInterfaceDeclaration" ? "interface" : "type",
          statement,
          start,
          end,
        })
        break
      case "ClassDeclaration": {
        const reads: string[] = []
        if (node.declare === true) break
        if (node.id !== null && !assigned.has(node.id.name) && (isCodeClass(node, known, reads) || isForced)) {
          const hasHeritage = node.superClass !== null
          add({ ...base, name: node.id.name, kind: "class", statement, start, end, readsWhenMade: reads, hasHeritage })
        } else firstRunning = Math.min(firstRunning, statement)
        break
      }
      case "VariableDeclaration": {
        if (node.declare === true) break
        const parts = node.kind === "const" ? codeDeclarators(node, known, isForced) : undefined
        if (parts === undefined) {
          firstRunning = Math.min(firstRunning, statement)
          break
        }
        const isOne = parts.length === 1
        for (const { name, reads, declarator, isBare } of parts) {
          const range = isOne
            ? { start, end, lead: "" }
            : { start: declarator.start, end: declarator.end, lead: "const " }
          add({ ...base, ...range, name, kind: "const", statement, isBare, readsWhenMade: reads })
        }
        break
      }
      default:
        if (node.type.startsWith("TS") || node.type === "ImportDeclaration") break
        firstRunning = Math.min(firstRunning, statement)
    }
  }
  return { candidates, firstRunning }
}

function codeDeclarators(
  node: Extract<Node, { type: "VariableDeclaration" }>,
  known: (name: string) => boolean,
  isForced: boolean,
): { name: string; reads: string[]; declarator: Node; isBare: boolean }[] | undefined {
  const parts = []
  const own = new Set<string>()
  for (const declarator of node.declarations) {
    const reads: string[] = []
    const { id, init } = declarator
    if (id.type !== "Identifier" || init === null) return undefined
    if (!isCode(init, (name) => own.has(name) || known(name), reads) && !isForced) return undefined
    own.add(id.name)
    parts.push({ name: id.name, reads, declarator, isBare: isBareFunction(bare(init)) })
  }
  return parts
}

function isBareFunction(node: Node): boolean {
  if (node.type === "ArrowFunctionExpression") return true
  const isFunction = node.type === "FunctionExpression" || node.type === "FunctionDeclaration"
  return isFunction && node.async && !node.generator
}

/** Whether evaluating an expression runs nothing: see the header. `reads` collects the names it reads at once. */
export function isCode(expression: Node, known: (name: string) => boolean, reads: string[]): boolean {
  const node = bare(expression)
  const isLeaf = (leaf: Node): boolean => {
    const inner = bare(leaf)
    if (inner.type !== "Identifier") return isCode(inner, known, reads)
    if (!known(inner.name)) return false
    reads.push(inner.name)
    return true
  }
  switch (node.type) {
    case "ArrowFunctionExpression":
    case "FunctionExpression":
      return true
    case "ClassExpression":
      return isCodeClass(node, known, reads)
    case "ObjectExpression":
      if (node.properties.length === 0) return false
      return node.properties.every((property) => {
        if (property.type !== "Property" || (property.computed && property.key.type !== "Literal")) return false
        return isLeaf(property.value)
      })
    case "ArrayExpression":
      return (
        node.elements.length > 0 &&
        node.elements.every((element) => element !== null && element.type !== "SpreadElement" && isLeaf(element))
      )
    default:
      return false
  }
}

export function isCodeClass(node: Class, known: (name: string) => boolean, reads: string[]): boolean {
  if (node.superClass !== null) {
    const heritage = bare(node.superClass)
    if (heritage.type !== "Identifier") return false
    reads.push(heritage.name)
  }
  return node.body.body.every((member) => {
    if (member.type === "StaticBlock") return member.body.length === 0
    if (member.type !== "MethodDefinition" && member.type !== "PropertyDefinition") return true
    if (member.computed && !isPlainKey(member.key)) return false
    if (member.type === "MethodDefinition" || !member.static || member.value === null) return true
    return isCode(member.value, known, reads)
  })
}

/** A literal, or `Symbol.iterator` and its like. */
function isPlainKey(key: Node): boolean {
  if (key.type === "Literal") return true
  return (
    key.type === "MemberExpression" && !key.computed && key.object.type === "Identifier" && key.object.name === "Symbol"
  )
}

/**
 * The members of a group in the order in which they can be made: each after those that it reads at once itself, and, as far as these let it, after those
 * that it reads when it calls what it reads. Where they read each other at once, and otherwise, in the order of the text.
 */
export function inOrderOfNeed(members: readonly Candidate[]): Candidate[] {
  const byName = new Map(members.map((member) => [member.name, member]))
  const needs = new Map(members.map((member) => [member, needsOf(member, byName)]))
  const ordered = new Set<Candidate>()
  const begun = new Set<Candidate>()
  /** Whether it can only be made after one that waits for it. */
  const mustWait = (member: Candidate): boolean => {
    const reached = new Set([member])
    for (const each of reached) for (const next of needs.get(each)!.atOnce) reached.add(next)
    return Array.from(reached).some((each) => begun.has(each) && !ordered.has(each))
  }
  for (const root of members) {
    const path: { member: Candidate; open: Candidate[] }[] = []
    const enter = (member: Candidate): void => {
      begun.add(member)
      const { atOnce, byCall } = needs.get(member)!
      // The last is taken first.
      path.push({ member, open: [...atOnce, ...byCall].toReversed() })
    }
    if (!begun.has(root)) enter(root)
    while (path.length > 0) {
      const { member, open } = path.at(-1)!
      const next = open.pop()
      if (next === undefined) {
        ordered.add(member)
        path.pop()
      } else if (!begun.has(next) && (needs.get(member)!.atOnce.has(next) || !mustWait(next))) enter(next)
    }
  }
  return [...ordered]
}

function needsOf(
  member: Candidate,
  byName: ReadonlyMap<string, Candidate>,
): { atOnce: ReadonlySet<Candidate>; byCall: ReadonlySet<Candidate> } {
  const atOnce = new Set<Candidate>()
  for (const { name, isCaptured } of member.references) {
    const needed = byName.get(name)
    if (needed !== undefined && needed !== member && !isCaptured) atOnce.add(needed)
  }
  const reached = new Set(atOnce)
  for (const { references } of reached) {
    for (const { name } of references) {
      const needed = byName.get(name)
      if (needed !== undefined && needed !== member) reached.add(needed)
    }
  }
  return { atOnce, byCall: new Set([...reached].filter((it) => !atOnce.has(it))) }
}

export function bare(expression: Node): Node {
  let node = expression
  for (;;) {
    switch (node.type) {
      case "ParenthesizedExpression":
      case "TSAsExpression":
      case "TSSatisfiesExpression":
      case "TSNonNullExpression":
      case "TSTypeAssertion":
      case "TSInstantiationExpression":
        node = node.expression
        break
      default:
        return node
    }
  }
}

/** Groups definitions that need each other, in an order in which each finds what it needs. The search keeps its own stack: chains are long. */
export function groupDefinitions(
  candidates: readonly Candidate[],
  edges: (candidate: Candidate) => readonly Candidate[],
): Group[] {
  const groups: Group[] = []
  const order = new Map<Candidate, number>()
  const low = new Map<Candidate, number>()
  const open: Candidate[] = []
  const isOpen = new Set<Candidate>()
  for (const root of candidates) {
    if (order.has(root)) continue
    const path: { at: Candidate; next: readonly Candidate[]; index: number }[] = []
    const enter = (at: Candidate): void => {
      order.set(at, order.size)
      low.set(at, order.get(at)!)
      open.push(at)
      isOpen.add(at)
      path.push({ at, next: edges(at), index: 0 })
    }
    enter(root)
    while (path.length > 0) {
      const frame = path.at(-1)!
      const target = frame.next[frame.index++]
      if (target !== undefined) {
        if (!order.has(target)) enter(target)
        else if (isOpen.has(target)) low.set(frame.at, Math.min(low.get(frame.at)!, order.get(target)!))
        continue
      }
      path.pop()
      const below = path.at(-1)?.at
      if (below !== undefined) low.set(below, Math.min(low.get(below)!, low.get(frame.at)!))
      if (low.get(frame.at) !== order.get(frame.at)) continue
      const members = open.splice(open.indexOf(frame.at))
      for (const member of members) isOpen.delete(member)
      members.sort((a, b) => a.statement - b.statement || a.start - b.start)
      groups.push({ members, isLate: members.some(({ isLate }) => isLate) })
    }
  }
  return groups
}
