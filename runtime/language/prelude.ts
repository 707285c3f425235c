// The text of a prelude: session code that exports names, for every session of a workspace.
//
// It is compiled as a submission is (`compile.ts`); what is read here is what it exports, and what it may not do: wait at its top level, since a
// realm is built with it; export without a name; pass on what another module exports. Pure: nothing of it runs.
import { visitorKeys } from "oxc-parser"
import { bareStatement } from "./definition.ts"
import { exportName } from "./imports.ts"
import { invalid, parse, type InvalidSource, type Node } from "./parse.ts"

export interface PreludeExport {
  /** The name that sessions see, and the prelude's own. */
  readonly name: string
  readonly local: string
  readonly start: number
  readonly end: number
  readonly isType: boolean
}

export interface PreludeText {
  readonly valid: true
  readonly exports: readonly PreludeExport[]
  /** Specifiers of what it imports, types left out. */
  readonly imports: readonly string[]
}

interface Problem {
  message: string
  start: number
  end: number
}

export function readPrelude(source: string): PreludeText | InvalidSource {
  const parsed = parse(source)
  if (!parsed.valid) return invalid(source, parsed.errors)
  const exports: PreludeExport[] = []
  const imports: string[] = []
  const problems: Problem[] = []
  const types = new Set<string>()
  for (const statement of parsed.program.body) {
    const node = bareStatement(statement)
    if ((node.type === "TSInterfaceDeclaration" || node.type === "TSTypeAliasDeclaration") && node.id !== null)
      types.add(node.id.name)
  }
  const declared = new Set(parsed.program.body.flatMap(declaredNames))
  for (const node of parsed.program.body) {
    const { start, end } = node
    switch (node.type) {
      case "ExportNamedDeclaration":
        if (node.source !== null)
          problems.push({ message: "A prelude cannot re-export: import the name and export it", start, end })
        else if (node.declaration !== null) exports.push(...exportsOf(node.declaration))
        else {
          for (const { local, exported, exportKind, ...at } of node.specifiers) {
            const name = exportName(exported)
            const own = exportName(local)
            const isType = node.exportKind === "type" || exportKind === "type" || types.has(own)
            if (!declared.has(own))
              problems.push({
                message: `'${own}' is exported and not declared at the top level`,
                start: at.start,
                end: at.end,
              })
            exports.push({ name, local: own, start: at.start, end: at.end, isType })
          }
        }
        break
      case "ExportDefaultDeclaration":
      case "ExportAllDeclaration":
      case "TSExportAssignment":
      case "TSNamespaceExportDeclaration":
        problems.push({
          message: "What a prelude exports has a name: use `export` with a declaration or a list",
          start,
          end,
        })
        break
      case "ImportDeclaration":
        if (node.importKind !== "type") imports.push(node.source.value)
        break
      case "TSImportEqualsDeclaration":
        if (node.moduleReference.type === "TSExternalModuleReference")
          imports.push(node.moduleReference.expression.value)
        break
      default:
    }
    const waiting = awaitIn(node)
    if (waiting !== undefined)
      problems.push({ message: "A prelude cannot wait at its top level: `await` belongs in a function", ...waiting })
  }
  const seen = new Set<string>()
  for (const { name, start, end } of exports) {
    if (name === "default") problems.push({ message: "A prelude has no default export: give it a name", start, end })
    seen.add(name)
  }
  if (seen.size === 0 && problems.length === 0)
    problems.push({ message: "A prelude exports at least one name, which its sessions see", start: 0, end: 0 })
  return problems.length > 0 ? invalid(source, problems) : { valid: true, exports: once(exports), imports }
}

/** What a statement declares, imports included. */
function declaredNames(statement: Node): string[] {
  if (statement.type === "ImportDeclaration") return statement.specifiers.map(({ local }) => local.name)
  if (statement.type === "TSImportEqualsDeclaration") return [statement.id.name]
  const node = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement
  return node === null ? [] : exportsOf(node).map(({ name }) => name)
}

/** Overloads and merged declarations are one export, which is a value when one of them is. */
function once(exports: readonly PreludeExport[]): PreludeExport[] {
  const byName = new Map<string, PreludeExport>()
  for (const each of exports) {
    const before = byName.get(each.name)
    if (before === undefined || (before.isType && !each.isType)) byName.set(each.name, each)
  }
  return [...byName.values()]
}

function exportsOf(node: Node): PreludeExport[] {
  const one = (name: string, isType = false): PreludeExport => ({
    name,
    local: name,
    start: node.start,
    end: node.end,
    isType,
  })
  switch (node.type) {
    case "FunctionDeclaration":
    case "TSDeclareFunction":
    case "ClassDeclaration":
      return node.id === null ? [] : [one(node.id.name)]
    case "TSEnumDeclaration":
      return [one(node.id.name)]
    case "TSModuleDeclaration":
      return node.id.type === "Identifier" ? [one(node.id.name)] : []
    case "TSInterfaceDeclaration":
    case "TSTypeAliasDeclaration":
      return [one(node.id.name, true)]
    case "VariableDeclaration":
      return node.declarations.flatMap(({ id }) => boundNames(id).map((name) => one(name)))
    default:
      return []
  }
}

function boundNames(pattern: Node): string[] {
  switch (pattern.type) {
    case "Identifier":
      return [pattern.name]
    case "AssignmentPattern":
      return boundNames(pattern.left)
    case "RestElement":
      return boundNames(pattern.argument)
    case "ArrayPattern":
      return pattern.elements.flatMap((element) => (element === null ? [] : boundNames(element)))
    case "ObjectPattern":
      return pattern.properties.flatMap((property) =>
        boundNames(property.type === "RestElement" ? property.argument : property.value),
      )
    default:
      return []
  }
}

/** The first `await` outside functions. The walk keeps its own list, as texts may be deep. */
function awaitIn(root: Node): { start: number; end: number } | undefined {
  const open: Node[] = [root]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.type === "AwaitExpression" || (node.type === "ForOfStatement" && node.await))
      return { start: node.start, end: node.end }
    if (node.type === "VariableDeclaration" && node.kind === "await using") return { start: node.start, end: node.end }
    if (/^(?:Function|Arrow|TSDeclareFunction)/.test(node.type)) continue
    for (const key of visitorKeys[node.type] ?? []) {
      const child = (node as unknown as Record<string, unknown>)[key]
      for (const each of Array.isArray(child) ? child : [child]) if (isNode(each)) open.push(each)
    }
  }
  return undefined
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value
}
