// The names of the session that a file imports from `nacre:session`, and the edits that reach them.
//
//   import { step, count as n } from "nacre:session"      import{e0 as $$_step,e1 as $$_n}from"nacre:session";
//   step(n)                                               (0,$$_step.v)($$_n.v)
//
// What a name of a session means changes with every eval, and an export of the engine's module records is a variable that nobody can
// write for it. So the file imports something that looks the name up (`stdlib/session-names.ts`), and each use asks that. An export of such a
// name would be a variable again, and is refused.
import { visitorKeys } from "oxc-parser"
import { Edits } from "./edits.ts"
import { exportName } from "./imports.ts"
import type { Node, Program } from "./parse.ts"
import { analyse } from "./scope.ts"
import type { Reference } from "./scope.ts"
import { editCell } from "./transform.ts"

export const sessionSpecifier = "nacre:session"
/** Among a file's names: all of them, as an object. */
export const wholeSession = "*"

export interface SessionUse {
  /** By the number of the export that the file has it from. */
  readonly names: readonly string[]
}

export interface SessionProblem {
  readonly message: string
  readonly start: number
  readonly end: number
}

type Import = Extract<Node, { type: "ImportDeclaration" }>

/** Records the edits for a module's imports of the session; `undefined` when it has none. */
export function editSessionNames(program: Program, edits: Edits): SessionUse | SessionProblem | undefined {
  const imports = program.body.filter((node): node is Import => isImport(node))
  const exported = program.body.find(
    (node) =>
      (node.type === "ExportNamedDeclaration" || node.type === "ExportAllDeclaration") &&
      node.source?.value === sessionSpecifier,
  )
  if (exported !== undefined) return refused(exported, "names of the session")
  const [first, ...others] = imports
  if (first === undefined) return undefined
  const bound = new Map<string, string>()
  for (const specifier of imports.flatMap((node) => node.specifiers)) {
    if (specifier.type === "ImportDefaultSpecifier") {
      const message = `'${sessionSpecifier}' has no default export: import names of the session, as in import { name } from "${sessionSpecifier}"`
      return { message, start: specifier.start, end: specifier.end }
    }
    const name = specifier.type === "ImportSpecifier" ? exportName(specifier.imported) : wholeSession
    bound.set(specifier.local.name, name)
  }
  for (const node of program.body) {
    if (node.type !== "ExportNamedDeclaration" || node.source !== null) continue
    const again = node.specifiers.find(({ local }) => bound.has(exportName(local)))
    if (again !== undefined) return refused(again, `'${exportName(again.local)}'`)
  }
  const use = new Uses(program, edits, bound)
  const list = use.run()
  edits.replace(first.start, first.end, `import{${list}}from${JSON.stringify(sessionSpecifier)};`)
  for (const { start, end } of others) edits.blank(start, end, ";")
  return { names: use.names }
}

function isImport(node: Node): boolean {
  return node.type === "ImportDeclaration" && node.source.value === sessionSpecifier
}

function refused({ start, end }: Node, what: string): SessionProblem {
  const message = `A file cannot export ${what} again, since what they mean changes with the session; export a function that uses them`
  return { message, start, end }
}

class Uses {
  /** By number. */
  readonly names: string[] = []
  readonly #program: Program
  readonly #edits: Edits
  /** What of the session each local name is. */
  readonly #bound: ReadonlyMap<string, string>
  readonly #marker: string
  readonly #list: string[] = []
  readonly #numbers = new Map<string, number>()

  constructor(program: Program, edits: Edits, bound: ReadonlyMap<string, string>) {
    this.#program = program
    this.#edits = edits
    this.#bound = bound
    let marker = "$$_"
    while (edits.source.includes(marker)) marker += "_"
    this.#marker = marker
  }

  /** Gives the specifiers of the import that stands for all of them. */
  run(): string {
    const references = analyse(this.#program, new Edits(this.#edits.source), true).references.filter(({ name }) =>
      this.#bound.has(name),
    )
    for (const [local, name] of this.#bound) if (name !== wholeSession) this.#import(name, local)
    const isWhole = references.some(({ name }) => this.#bound.get(name) === wholeSession)
    const members = isWhole ? membersRead(this.#program) : undefined
    for (const reference of references) {
      const isNamespace = this.#bound.get(reference.name) === wholeSession
      const member = isNamespace ? members?.get(reference.start) : undefined
      if (member !== undefined) this.#editMember(reference, member)
      else {
        if (isNamespace) this.#import(wholeSession, reference.name)
        editCell(this.#edits, this.#marker, reference, reference.opensStatement)
      }
    }
    return this.#list.join(",")
  }

  /** `all.name`: the name alone, and nothing where the session has none, as of a namespace. */
  #editMember({ start, opensStatement }: Reference, { name, end, isCallee }: Member): void {
    const alias = this.#import(name, undefined)
    const text = `${this.#marker}${alias}.o`
    this.#edits.replace(start, end, isCallee ? `${opensStatement ? ";" : ""}(0,${text})` : text, isCallee)
  }

  /** The number under which a name is imported; without `local` under that number as well, which no name is. */
  #import(name: string, local: string | undefined): string {
    const key = local ?? `.${name}`
    const known = this.#numbers.get(key)
    const number = known ?? this.names.length
    if (known === undefined) {
      this.#numbers.set(key, number)
      this.names.push(name)
      this.#list.push(`e${number} as ${this.#marker}${local ?? number}`)
    }
    return local ?? String(number)
  }
}

interface Member {
  readonly name: string
  readonly end: number
  readonly isCallee: boolean
}

/** Where each `x.name` begins that is only read. */
function membersRead(program: Program): Map<number, Member> {
  const found = new Map<number, Member>()
  const written = new Set<unknown>()
  const callees = new Set<unknown>()
  const open: Node[] = [program]
  const members: Extract<Node, { type: "MemberExpression" }>[] = []
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    noteUse(node, written, callees)
    if (node.type === "MemberExpression") members.push(node)
    for (const key of visitorKeys[node.type] ?? []) {
      const child = (node as unknown as Record<string, Node | (Node | null)[] | null | undefined>)[key]
      if (child === null || child === undefined) continue
      for (const each of Array.isArray(child) ? child : [child]) if (each !== null) open.push(each)
    }
  }
  for (const node of members) {
    const { object, property, computed, optional, end } = node
    if (computed || optional || object.type !== "Identifier" || property.type !== "Identifier" || written.has(node))
      continue
    found.set(object.start, { name: property.name, end, isCallee: callees.has(node) })
  }
  return found
}

/** Notes what a node writes to, and what it calls. */
function noteUse(node: Node, written: Set<unknown>, callees: Set<unknown>): void {
  switch (node.type) {
    case "CallExpression":
      callees.add(node.callee)
      break
    case "TaggedTemplateExpression":
      callees.add(node.tag)
      break
    case "AssignmentExpression":
    case "AssignmentPattern":
    case "ForInStatement":
    case "ForOfStatement":
      written.add(node.left)
      break
    case "UpdateExpression":
    case "RestElement":
      written.add(node.argument)
      break
    case "UnaryExpression":
      if (node.operator === "delete") written.add(node.argument)
      break
    case "ArrayPattern":
      for (const element of node.elements) written.add(element)
      break
    case "ObjectPattern":
      for (const property of node.properties) if (property.type === "Property") written.add(property.value)
      break
    default:
  }
}
