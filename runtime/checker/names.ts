// Which names a text uses that it does not declare itself: the edges of the graph, and what a module must import.
//
// Types and values alike. It errs on the safe side: a name may be listed although an inner scope hides it (a `var` in a block), which costs
// a needless import; none is missed.
import ts from "typescript"

/** The specifier under which the module of a declaration is imported, in generated modules and in declaration texts alike. */
export const moduleOf = (key: string): string => `./-${key}`
const modulePrefix = moduleOf("")

/** Names that `file` uses and does not declare at its top level. */
export function freeNames(file: ts.SourceFile): Set<string> {
  const free = new Set<string>()
  visitScope(file, topLevelNames(file), undefined, free)
  return free
}

interface Names {
  readonly own: ReadonlySet<string>
  readonly outer: Names | undefined
}

function visitScope(node: ts.Node, own: ReadonlySet<string>, outer: Names | undefined, free: Set<string>): void {
  const names = { own, outer }
  ts.forEachChild(node, (child) => visit(child, names, free))
}

function visit(node: ts.Node, names: Names, free: Set<string>): void {
  if (ts.isIdentifier(node)) {
    if (!isLabel(node)) use(node.text, names, free)
    return
  }
  if (ts.isImportTypeNode(node)) useImportType(node, names, free)
  const own = declaredBy(node)
  const inner = own === undefined ? names : { own, outer: names }
  ts.forEachChild(node, (child) => visit(child, inner, free))
}

function use(name: string, names: Names, free: Set<string>): void {
  for (let at: Names | undefined = names; at !== undefined; at = at.outer) if (at.own.has(name)) return
  free.add(name)
}

/** `import("./-C").C`, as declaration texts name what they did not import. */
function useImportType({ argument, qualifier }: ts.ImportTypeNode, _names: Names, free: Set<string>): void {
  if (!ts.isLiteralTypeNode(argument) || !ts.isStringLiteral(argument.literal) || qualifier === undefined) return
  if (!argument.literal.text.startsWith(modulePrefix)) return
  let first: ts.EntityName = qualifier
  while (ts.isQualifiedName(first)) first = first.left
  free.add(first.text)
}

/** An identifier that names a part of something, and nothing in a scope. */
function isLabel(node: ts.Identifier): boolean {
  const { parent } = node
  switch (parent.kind) {
    case ts.SyntaxKind.PropertyAccessExpression:
    case ts.SyntaxKind.PropertyAssignment:
    case ts.SyntaxKind.MethodDeclaration:
    case ts.SyntaxKind.MethodSignature:
    case ts.SyntaxKind.PropertyDeclaration:
    case ts.SyntaxKind.PropertySignature:
    case ts.SyntaxKind.GetAccessor:
    case ts.SyntaxKind.SetAccessor:
    case ts.SyntaxKind.EnumMember:
    case ts.SyntaxKind.NamedTupleMember:
    case ts.SyntaxKind.MetaProperty:
    case ts.SyntaxKind.JsxAttribute:
      return (parent as ts.NamedDeclaration).name === node
    case ts.SyntaxKind.QualifiedName:
      return (parent as ts.QualifiedName).right === node
    case ts.SyntaxKind.BindingElement:
      return (parent as ts.BindingElement).propertyName === node
    case ts.SyntaxKind.ImportType:
      return (parent as ts.ImportTypeNode).qualifier === node
    case ts.SyntaxKind.ImportSpecifier:
    case ts.SyntaxKind.LabeledStatement:
    case ts.SyntaxKind.BreakStatement:
    case ts.SyntaxKind.ContinueStatement:
      return true
    case ts.SyntaxKind.ExportSpecifier:
      return (parent as ts.ExportSpecifier).propertyName !== undefined && (parent as ts.ExportSpecifier).name === node
    default:
      return false
  }
}

/** The names that a node's inside sees because of the node; `undefined` when it makes no scope. */
function declaredBy(node: ts.Node): Set<string> | undefined {
  const own = new Set<string>()
  if (ts.isFunctionLike(node) || ts.isConstructorTypeNode(node)) {
    addTypeParameters(node.typeParameters, own)
    for (const { name } of node.parameters) addBinding(name, own)
    if (ts.isFunctionExpression(node) && node.name !== undefined) own.add(node.name.text)
    if ("body" in node && node.body !== undefined && ts.isBlock(node.body)) addVars(node.body, own)
  } else if (ts.isClassLike(node)) {
    addTypeParameters(node.typeParameters, own)
    if (ts.isClassExpression(node) && node.name !== undefined) own.add(node.name.text)
  } else if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) {
    addTypeParameters(node.typeParameters, own)
  } else if (ts.isMappedTypeNode(node)) own.add(node.typeParameter.name.text)
  else if (ts.isBlock(node) || ts.isModuleBlock(node)) addStatements(node.statements, own)
  else if (ts.isCaseBlock(node)) for (const clause of node.clauses) addStatements(clause.statements, own)
  else if (ts.isForStatement(node) || ts.isForInStatement(node) || ts.isForOfStatement(node)) {
    if (node.initializer !== undefined && ts.isVariableDeclarationList(node.initializer)) addList(node.initializer, own)
  } else if (ts.isCatchClause(node) && node.variableDeclaration !== undefined)
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
    if (ts.isVariableStatement(statement)) addList(statement.declarationList, into)
    else if (ts.isImportDeclaration(statement)) addImport(statement, into)
    else if (isNamedStatement(statement) && statement.name !== undefined && ts.isIdentifier(statement.name))
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

function isNamedStatement(node: ts.Node): node is NamedStatement {
  switch (node.kind) {
    case ts.SyntaxKind.FunctionDeclaration:
    case ts.SyntaxKind.ClassDeclaration:
    case ts.SyntaxKind.EnumDeclaration:
    case ts.SyntaxKind.ModuleDeclaration:
    case ts.SyntaxKind.InterfaceDeclaration:
    case ts.SyntaxKind.TypeAliasDeclaration:
    case ts.SyntaxKind.ImportEqualsDeclaration:
      return true
    default:
      return false
  }
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
  if (ts.isNamespaceImport(bindings)) into.add(bindings.name.text)
  else for (const { name } of bindings.elements) into.add(name.text)
}

function addList({ declarations }: ts.VariableDeclarationList, into: Set<string>): void {
  for (const { name } of declarations) addBinding(name, into)
}

export function addBinding(name: ts.BindingName, into: Set<string>): void {
  if (ts.isIdentifier(name)) into.add(name.text)
  else for (const element of name.elements) if (ts.isBindingElement(element)) addBinding(element.name, into)
}

function addTypeParameters(parameters: readonly ts.TypeParameterDeclaration[] | undefined, into: Set<string>): void {
  for (const { name } of parameters ?? []) into.add(name.text)
}

/** `var`s anywhere in a body but in its functions and classes. */
function addVars(body: ts.Node, into: Set<string>): void {
  const open: ts.Node[] = [body]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    ts.forEachChild(node, (child) => {
      if (ts.isVariableDeclarationList(child) && (child.flags & ts.NodeFlags.BlockScoped) === 0) addList(child, into)
      if (!ts.isFunctionLike(child) && !ts.isClassLike(child) && !ts.isModuleDeclaration(child)) open.push(child)
    })
  }
}

/** Names that a plain assignment writes, anywhere in a text. */
export function assignedNames(file: ts.SourceFile): Set<string> {
  const names = new Set<string>()
  const target = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) names.add(node.text)
    else if (ts.isParenthesizedExpression(node)) target(node.expression)
    else if (ts.isArrayLiteralExpression(node)) node.elements.forEach(target)
    else if (ts.isSpreadElement(node) || ts.isSpreadAssignment(node)) target(node.expression)
    else if (ts.isObjectLiteralExpression(node)) node.properties.forEach(target)
    else if (ts.isPropertyAssignment(node)) target(node.initializer)
    else if (ts.isShorthandPropertyAssignment(node)) names.add(node.name.text)
    else if (isPlainAssignment(node)) target(node.left)
  }
  const open: ts.Node[] = [file]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (isPlainAssignment(node)) target(node.left)
    else if ((ts.isForOfStatement(node) || ts.isForInStatement(node)) && !ts.isVariableDeclarationList(node.initializer))
      target(node.initializer)
    ts.forEachChild(node, (child) => void open.push(child))
  }
  return names
}

function isPlainAssignment(node: ts.Node): node is ts.BinaryExpression {
  return ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken
}
