// Which names a text uses that it does not declare itself: the edges of the graph, and what a module must import.
//
// Types and values alike. It errs on the safe side: a name may be listed although an inner scope hides it (a `var` in a block), which costs
// a needless import; none is missed.
import type ts from "typescript"
import type { Jsx } from "../language/jsx-option.ts"
import { typescript } from "./typescript.ts"

/** The specifier under which the module of a declaration is imported, in generated modules and in declaration texts alike. */
export const moduleOf = (key: string): string => `./-${key}`
const modulePrefix = moduleOf("")

/** The same for a prelude. */
export const preludeModule = (name: string): string => `./prelude/${name}`

/** Names that `file` uses and does not declare at its top level; with `jsx` also those that its elements are calls of. */
export function freeNames(file: ts.SourceFile, jsx?: Jsx): Set<string> {
  const free = new Set<string>()
  const own = topLevelNames(file)
  visitScope(file, own, undefined, free)
  if (jsx?.runtime !== "classic" || !hasElements(file)) return free
  for (const called of [jsx.factory, jsx.fragment]) {
    const [name] = called.split(".", 1)
    if (!own.has(name!)) free.add(name!)
  }
  return free
}

function hasElements(node: ts.Node): boolean {
  if (typescript.isJsxOpeningLikeElement(node) || typescript.isJsxFragment(node)) return true
  return typescript.forEachChild(node, (child) => hasElements(child) || undefined) === true
}

/** What files import the names of their session from. */
export const sessionModule = "nacre:session"

/** Names of the session that a file imports; of a namespace, whatever may be one of its members. */
export function sessionNames(file: ts.SourceFile): Set<string> {
  const names = new Set<string>()
  for (const statement of file.statements) {
    if (!isSessionImport(statement)) continue
    const bindings = statement.importClause?.namedBindings
    if (bindings === undefined) continue
    if (typescript.isNamespaceImport(bindings)) {
      for (const [, name] of file.text.matchAll(/\.\s*([\w$\u0080-\uffff]+)/g)) names.add(name!)
    } else for (const { propertyName, name } of bindings.elements) names.add((propertyName ?? name).text)
  }
  return names
}

/** Whether a file has all names of its session as one object. */
export function hasSessionNamespace(file: ts.SourceFile): boolean {
  return file.statements.some((statement) => {
    const bindings = isSessionImport(statement) ? statement.importClause?.namedBindings : undefined
    return bindings !== undefined && typescript.isNamespaceImport(bindings)
  })
}

function isSessionImport(statement: ts.Statement): statement is ts.ImportDeclaration {
  return (
    typescript.isImportDeclaration(statement) &&
    typescript.isStringLiteral(statement.moduleSpecifier) &&
    statement.moduleSpecifier.text === sessionModule
  )
}

interface Names {
  readonly own: ReadonlySet<string>
  readonly outer: Names | undefined
}

function visitScope(node: ts.Node, own: ReadonlySet<string>, outer: Names | undefined, free: Set<string>): void {
  const names = { own, outer }
  typescript.forEachChild(node, (child) => visit(child, names, free))
}

function visit(node: ts.Node, names: Names, free: Set<string>): void {
  if (typescript.isIdentifier(node)) {
    if (!isLabel(node)) use(node.text, names, free)
    return
  }
  if (typescript.isImportTypeNode(node)) useImportType(node, names, free)
  const own = declaredBy(node)
  const inner = own === undefined ? names : { own, outer: names }
  typescript.forEachChild(node, (child) => visit(child, inner, free))
}

function use(name: string, names: Names, free: Set<string>): void {
  for (let at: Names | undefined = names; at !== undefined; at = at.outer) if (at.own.has(name)) return
  free.add(name)
}

/** Whether a specifier is one of those that the layout generates. */
export function isGeneratedModule(specifier: string): boolean {
  return specifier.startsWith(modulePrefix) || specifier.startsWith(preludeModule(""))
}

/** `import("./-C").C`, as declaration texts name what they did not import. */
function useImportType({ argument, qualifier }: ts.ImportTypeNode, _names: Names, free: Set<string>): void {
  if (
    !typescript.isLiteralTypeNode(argument) ||
    !typescript.isStringLiteral(argument.literal) ||
    qualifier === undefined
  )
    return
  if (!isGeneratedModule(argument.literal.text)) return
  let first: ts.EntityName = qualifier
  while (typescript.isQualifiedName(first)) first = first.left
  free.add(first.text)
}

const kinds = typescript.SyntaxKind
/** Nodes whose `name` is a part of something, and nothing in a scope. */
const withOwnNames: ReadonlySet<ts.SyntaxKind> = new Set([
  kinds.PropertyAccessExpression,
  kinds.PropertyAssignment,
  kinds.MethodDeclaration,
  kinds.MethodSignature,
  kinds.PropertyDeclaration,
  kinds.PropertySignature,
  kinds.GetAccessor,
  kinds.SetAccessor,
  kinds.EnumMember,
  kinds.NamedTupleMember,
  kinds.MetaProperty,
  kinds.JsxAttribute,
])
/** Nodes in which no name is one of a scope. */
const withLabels: ReadonlySet<ts.SyntaxKind> = new Set([
  kinds.ImportSpecifier,
  kinds.LabeledStatement,
  kinds.BreakStatement,
  kinds.ContinueStatement,
])

/** An identifier that names a part of something, and nothing in a scope. */
function isLabel(node: ts.Identifier): boolean {
  const { parent } = node
  if (withOwnNames.has(parent.kind)) return (parent as ts.NamedDeclaration).name === node
  if (typescript.isQualifiedName(parent)) return parent.right === node
  if (typescript.isBindingElement(parent)) return parent.propertyName === node
  if (typescript.isImportTypeNode(parent)) return parent.qualifier === node
  if (typescript.isExportSpecifier(parent)) return parent.propertyName !== undefined && parent.name === node
  return withLabels.has(parent.kind)
}

/** The names that a node's inside sees because of the node; `undefined` when it makes no scope. */
function declaredBy(node: ts.Node): Set<string> | undefined {
  const own = new Set<string>()
  if (typescript.isFunctionLike(node) || typescript.isConstructorTypeNode(node)) {
    addTypeParameters(node.typeParameters, own)
    for (const { name } of node.parameters) addBinding(name, own)
    if (typescript.isFunctionExpression(node) && node.name !== undefined) own.add(node.name.text)
    if ("body" in node && node.body !== undefined && typescript.isBlock(node.body)) addVars(node.body, own)
  } else if (typescript.isClassLike(node)) {
    addTypeParameters(node.typeParameters, own)
    if (typescript.isClassExpression(node) && node.name !== undefined) own.add(node.name.text)
  } else if (typescript.isInterfaceDeclaration(node) || typescript.isTypeAliasDeclaration(node)) {
    addTypeParameters(node.typeParameters, own)
  } else if (typescript.isMappedTypeNode(node)) own.add(node.typeParameter.name.text)
  else if (typescript.isBlock(node) || typescript.isModuleBlock(node)) addStatements(node.statements, own)
  else if (typescript.isCaseBlock(node)) for (const clause of node.clauses) addStatements(clause.statements, own)
  else if (typescript.isForStatement(node) || typescript.isForInStatement(node) || typescript.isForOfStatement(node)) {
    if (node.initializer !== undefined && typescript.isVariableDeclarationList(node.initializer))
      addList(node.initializer, own)
  } else if (typescript.isCatchClause(node) && node.variableDeclaration !== undefined)
    addBinding(node.variableDeclaration.name, own)
  return own.size === 0 ? undefined : own
}

/** Every name that a module's own level has: declarations, imports, and `var`s of its blocks. */
export function topLevelNames(file: ts.SourceFile): Set<string> {
  const names = new Set<string>()
  addStatements(file.statements, names)
  addVars(file, names)
  return names
}

function addStatements(statements: readonly ts.Statement[], into: Set<string>): void {
  for (const statement of statements) {
    if (typescript.isVariableStatement(statement)) addList(statement.declarationList, into)
    else if (typescript.isImportDeclaration(statement)) addImport(statement, into)
    else if (isNamedStatement(statement) && statement.name !== undefined && typescript.isIdentifier(statement.name))
      into.add(statement.name.text)
  }
}

type NamedStatement =
  | ts.FunctionDeclaration
  | ts.ClassDeclaration
  | ts.EnumDeclaration
  | ts.ModuleDeclaration
  | ts.InterfaceDeclaration
  | ts.TypeAliasDeclaration
  | ts.ImportEqualsDeclaration

const namedStatements: ReadonlySet<ts.SyntaxKind> = new Set([
  kinds.FunctionDeclaration,
  kinds.ClassDeclaration,
  kinds.EnumDeclaration,
  kinds.ModuleDeclaration,
  kinds.InterfaceDeclaration,
  kinds.TypeAliasDeclaration,
  kinds.ImportEqualsDeclaration,
])

function isNamedStatement(node: ts.Node): node is NamedStatement {
  return namedStatements.has(node.kind)
}

/** The names that one statement of a module's own level declares. */
export function namesOfStatement(statement: ts.Statement): Set<string> {
  const names = new Set<string>()
  addStatements([statement], names)
  return names
}

function addImport({ importClause }: ts.ImportDeclaration, into: Set<string>): void {
  if (importClause === undefined) return
  if (importClause.name !== undefined) into.add(importClause.name.text)
  const bindings = importClause.namedBindings
  if (bindings === undefined) return
  if (typescript.isNamespaceImport(bindings)) into.add(bindings.name.text)
  else for (const { name } of bindings.elements) into.add(name.text)
}

function addList({ declarations }: ts.VariableDeclarationList, into: Set<string>): void {
  for (const { name } of declarations) addBinding(name, into)
}

export function addBinding(name: ts.BindingName, into: Set<string>): void {
  if (typescript.isIdentifier(name)) into.add(name.text)
  else for (const element of name.elements) if (typescript.isBindingElement(element)) addBinding(element.name, into)
}

function addTypeParameters(parameters: readonly ts.TypeParameterDeclaration[] | undefined, into: Set<string>): void {
  for (const { name } of parameters ?? []) into.add(name.text)
}

/** `var`s anywhere in a body but in its functions and classes. */
function addVars(body: ts.Node, into: Set<string>): void {
  const open: ts.Node[] = [body]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    typescript.forEachChild(node, (child) => {
      if (typescript.isVariableDeclarationList(child) && (child.flags & typescript.NodeFlags.BlockScoped) === 0)
        addList(child, into)
      if (!typescript.isFunctionLike(child) && !typescript.isClassLike(child) && !typescript.isModuleDeclaration(child))
        open.push(child)
    })
  }
}

/** Names that a plain assignment writes, anywhere in a text. */
export function assignedNames(file: ts.SourceFile): Set<string> {
  const names = new Set<string>()
  const target = (node: ts.Node): void => {
    if (typescript.isIdentifier(node)) names.add(node.text)
    else if (typescript.isParenthesizedExpression(node)) target(node.expression)
    else if (typescript.isArrayLiteralExpression(node)) node.elements.forEach(target)
    else if (typescript.isSpreadElement(node) || typescript.isSpreadAssignment(node)) target(node.expression)
    else if (typescript.isObjectLiteralExpression(node)) node.properties.forEach(target)
    else if (typescript.isPropertyAssignment(node)) target(node.initializer)
    else if (typescript.isShorthandPropertyAssignment(node)) names.add(node.name.text)
    else if (isPlainAssignment(node)) target(node.left)
  }
  const open: ts.Node[] = [file]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (isPlainAssignment(node)) target(node.left)
    else if (
      (typescript.isForOfStatement(node) || typescript.isForInStatement(node)) &&
      !typescript.isVariableDeclarationList(node.initializer)
    )
      target(node.initializer)
    typescript.forEachChild(node, (child) => void open.push(child))
  }
  return names
}

function isPlainAssignment(node: ts.Node): node is ts.BinaryExpression {
  return typescript.isBinaryExpression(node) && node.operatorToken.kind === typescript.SyntaxKind.EqualsToken
}
