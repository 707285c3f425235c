// The one walk over a submission's tree: which names does it declare, use and capture, and which text is types.
//
// A reference is resolved when the scope it stands in closes, so hoisting needs no second walk; what no inner scope declares reaches
// the submission's own level and is what the transform rewrites. Types are blanked on the way (`erase.ts`). Parameters have a scope of
// their own around the body's, since a default cannot see the body's `var`s. Statements are walked by themselves, so that a reference
// knows its top-level statement, and whether it opens an expression statement in a list (where a rewritten call needs a `;`).
import { visitorKeys } from "oxc-parser"
import type { Edits } from "./edits.ts"
import {
  eraseClass,
  eraseFunction,
  eraseMember,
  erasePattern,
  eraseTail,
  eraseTypeArguments,
  typeKeys,
} from "./erase.ts"
import type { ArrowFunctionExpression, Class, Function, Node, Program } from "./parse.ts"

export type Keyword = "let" | "const" | "var"

/** A use of a name that reached the submission's own level. */
export interface Reference {
  name: string
  start: number
  end: number
  reads: boolean
  writes: boolean
  /** Set on the identifier of a top-level declaration that is no definition (yet): the reference initialises it. */
  initialises: Keyword | undefined
  /** Where the declarator that initialises it ends. */
  declaratorEnd: number
  /** Inside a function, a class's fields or a static block: it may run later, or more often. */
  isCaptured: boolean
  /** `{ x }`, in a literal or a pattern: the rewriting has to repeat the key. */
  isShorthand: boolean
  /** Callee of a call or a tag: the rewriting must keep `this` undefined. */
  isCallee: boolean
  /** The reference begins an expression statement in a statement list. */
  opensStatement: boolean
  /** The `typeof` in front of it, when it is the whole operand. */
  typeofStart: number
  /** An anonymous function or class that takes its name from this target. */
  names: { start: number; end: number } | undefined
  /** The index of the top-level statement it stands in. */
  statement: number
}

/** A declaration with keyword whose names are the submission's own: at top level, or a `var` in a block of it. */
export interface VariableSite {
  node: Extract<Node, { type: "VariableDeclaration" }>
  place: "list" | "head" | "body"
  statement: number
}

export interface Analysis {
  references: Reference[]
  variables: VariableSite[]
  /** Top-level function, class and variable names, with the index of their statement. */
  declared: Map<string, { keyword: Keyword | "function" | "class"; statement: number }>
  isAsync: boolean
  usesDirectEval: boolean
  mentionsGlobalThis: boolean
  /** Constructs that this version cannot compile, with the reason. */
  refused: { message: string; start: number; end: number }[]
  /** Whether something is left that types alone cannot explain (enum, namespace, parameter property, `import =`). */
  needsTransformer: Set<number>
  dynamicImports: { start: number; end: number; form: "call" | "meta" }[]
  /** Catch clauses: where the caught error's message can be cleaned. */
  catches: { param: number; paramEnd: number; name: string | undefined; body: number; bodyEnd: number }[]
  privateNames: Set<number>
}

type Kind = "module" | "function" | "block"

class Scope {
  readonly parent: Scope | undefined
  readonly kind: Kind
  names: Set<string> | undefined
  pending: Reference[] | undefined

  constructor(kind: Kind, parent: Scope | undefined) {
    this.kind = kind
    this.parent = parent
  }

  declare(name: string): void {
    ;(this.names ??= new Set()).add(name)
  }
}

type FunctionNode = Function | ArrowFunctionExpression
type Pattern = Node
/** How the identifiers of a pattern are meant. */
type PatternUse = Keyword | "assign" | "local"

const childKeys = new Map(
  Object.entries(visitorKeys).map(([type, keys]) => [type, keys.filter((key) => !typeKeys.has(key))] as const),
)

export function analyse(program: Program, edits: Edits): Analysis {
  return new Walk(edits).program(program)
}

class Walk {
  readonly #edits: Edits
  readonly #result: Analysis = {
    references: [],
    variables: [],
    declared: new Map(),
    isAsync: false,
    usesDirectEval: false,
    mentionsGlobalThis: false,
    refused: [],
    needsTransformer: new Set(),
    dynamicImports: [],
    catches: [],
    privateNames: new Set(),
  }
  #scope = new Scope("module", undefined)
  /** The scope that `var` declares in. */
  #varScope = this.#scope
  #functionDepth = 0
  #statement = 0
  /** Where the statement (or class member) at hand ends: an erasure that ends there leaves a `;`. */
  #statementEnd = -1
  #opening = -1
  #declaratorEnd = -1

  constructor(edits: Edits) {
    this.#edits = edits
  }

  program(program: Program): Analysis {
    for (const [index, statement] of program.body.entries()) {
      this.#statement = index
      this.#listStatement(statement)
    }
    this.#close()
    return this.#result
  }

  // Scopes

  #open(kind: Kind): Scope {
    const outer = this.#scope
    this.#scope = new Scope(kind, outer)
    return outer
  }

  #close(): void {
    const { names, pending, parent } = this.#scope
    if (pending !== undefined) {
      if (parent === undefined) this.#result.references = pending
      else {
        for (const reference of pending) {
          if (names?.has(reference.name) !== true) (parent.pending ??= []).push(reference)
        }
      }
    }
    if (parent !== undefined) this.#scope = parent
  }

  #refer(name: string, start: number, end: number, reads: boolean, writes: boolean): Reference {
    const reference: Reference = {
      name,
      start,
      end,
      reads,
      writes,
      initialises: undefined,
      declaratorEnd: -1,
      isCaptured: this.#functionDepth > 0,
      isShorthand: false,
      isCallee: false,
      opensStatement: this.#opening === start,
      typeofStart: -1,
      names: undefined,
      statement: this.#statement,
    }
    ;(this.#scope.pending ??= []).push(reference)
    if (name === "globalThis") this.#result.mentionsGlobalThis = true
    return reference
  }

  #declareTop(name: string, keyword: Keyword | "function" | "class"): void {
    if (!this.#result.declared.has(name)) this.#result.declared.set(name, { keyword, statement: this.#statement })
  }

  // Statements

  #list(statements: readonly Node[]): void {
    for (const statement of statements) this.#listStatement(statement)
  }

  #listStatement(node: Node): void {
    if (node.type === "ExpressionStatement") this.#opening = node.start
    this.#statementNode(node, "list")
  }

  #body(node: Node): void {
    this.#statementNode(node, "body")
  }

  #statementNode(node: Node, place: "list" | "body"): void {
    const outerEnd = this.#statementEnd
    this.#statementEnd = node.end
    switch (node.type) {
      case "ExpressionStatement":
        this.#expression(node.expression)
        break
      case "VariableDeclaration":
        this.#variables(node, place)
        break
      case "FunctionDeclaration":
        this.#declareFunction(node)
        break
      case "ClassDeclaration":
        if (node.declare === true) this.#eraseStatement(node)
        else {
          if (node.id !== null) {
            if (this.#scope.parent === undefined) this.#declareTop(node.id.name, "class")
            else this.#scope.declare(node.id.name)
          }
          this.#class(node)
        }
        break
      case "BlockStatement": {
        this.#open("block")
        this.#list(node.body)
        this.#close()
        break
      }
      case "IfStatement":
        this.#expression(node.test)
        this.#body(node.consequent)
        if (node.alternate !== null) this.#body(node.alternate)
        break
      case "ForStatement":
        this.#open("block")
        if (node.init?.type === "VariableDeclaration") this.#variables(node.init, "head")
        else this.#maybe(node.init)
        this.#maybe(node.test)
        this.#maybe(node.update)
        this.#body(node.body)
        this.#close()
        break
      case "ForInStatement":
      case "ForOfStatement":
        if (node.type === "ForOfStatement" && node.await && this.#functionDepth === 0) this.#result.isAsync = true
        this.#open("block")
        if (node.left.type === "VariableDeclaration") this.#variables(node.left, "head")
        else this.#pattern(node.left, "assign")
        this.#expression(node.right)
        this.#body(node.body)
        this.#close()
        break
      case "WhileStatement":
        this.#expression(node.test)
        this.#body(node.body)
        break
      case "DoWhileStatement":
        this.#body(node.body)
        this.#expression(node.test)
        break
      case "LabeledStatement":
        this.#body(node.body)
        break
      case "SwitchStatement":
        this.#expression(node.discriminant)
        this.#open("block")
        for (const { test, consequent } of node.cases) {
          this.#maybe(test)
          this.#list(consequent)
        }
        this.#close()
        break
      case "TryStatement":
        this.#statementNode(node.block, "body")
        if (node.handler !== null) this.#catch(node.handler)
        if (node.finalizer !== null) this.#statementNode(node.finalizer, "body")
        break
      case "ReturnStatement":
      case "ThrowStatement":
        this.#maybe(node.argument)
        break
      case "BreakStatement":
      case "ContinueStatement":
      case "EmptyStatement":
      case "DebuggerStatement":
        break
      case "ExportNamedDeclaration":
        this.#exportNamed(node)
        break
      case "ExportDefaultDeclaration":
      case "ExportAllDeclaration":
      case "TSExportAssignment":
        this.#refuse(node, "a session exports every name it binds; this form of `export` means nothing in it")
        break
      case "ImportDeclaration":
        if (node.importKind === "type") this.#eraseStatement(node)
        else
          this.#refuse(
            node,
            "`import` declarations are not supported in this session yet; use a tool or paste the code",
          )
        break
      case "TSImportEqualsDeclaration":
        if (node.importKind === "type") this.#eraseStatement(node)
        else this.#transformer(node)
        break
      case "TSEnumDeclaration":
      case "TSModuleDeclaration":
        if (node.declare || (node.type === "TSModuleDeclaration" && isTypeOnly(node))) this.#eraseStatement(node)
        else this.#transformer(node)
        break
      case "TSInterfaceDeclaration":
      case "TSTypeAliasDeclaration":
      case "TSDeclareFunction":
      case "TSNamespaceExportDeclaration":
        this.#eraseStatement(node)
        break
      default:
        this.#expression(node)
    }
    this.#statementEnd = outerEnd
  }

  #exportNamed(node: Extract<Node, { type: "ExportNamedDeclaration" }>): void {
    if (node.exportKind === "type" && node.declaration === null) this.#eraseStatement(node)
    else if (node.declaration === null) {
      if (node.source !== null) this.#refuse(node, "a session cannot re-export; import the module and use its names")
      else this.#edits.blank(node.start, node.end, ";")
    } else {
      this.#edits.blank(node.start, node.declaration.start, ";")
      this.#statementNode(node.declaration, "list")
    }
  }

  #eraseStatement(node: Node): void {
    this.#edits.blank(node.start, node.end, ";")
  }

  #transformer(_node: Node): void {
    this.#result.needsTransformer.add(this.#statement)
  }

  #refuse(node: Node, message: string): void {
    this.#result.refused.push({ message, start: node.start, end: node.end })
  }

  #variables(node: Extract<Node, { type: "VariableDeclaration" }>, place: VariableSite["place"]): void {
    if (node.declare === true) {
      this.#eraseStatement(node)
      return
    }
    let use: PatternUse = "local"
    const keyword = node.kind
    if (keyword === "using" || keyword === "await using") {
      this.#refuse(node, "`using` is not supported in this session yet; call the disposer in a `finally`")
    } else if (keyword === "var") {
      if (this.#varScope.parent === undefined) use = "var"
    } else if (this.#scope.parent === undefined) use = keyword
    if (use !== "local") this.#result.variables.push({ node, place, statement: this.#statement })
    for (const { id, init, definite, end } of node.declarations) {
      this.#declaratorEnd = end
      this.#pattern(id, use, use === "local" && keyword === "var" ? this.#varScope : this.#scope, definite === true)
      if (init !== null) {
        this.#nameFrom(id, init)
        this.#expression(init)
      }
    }
  }

  #declareFunction(node: FunctionNode): void {
    if (node.type === "FunctionDeclaration" && node.id !== null) {
      if (this.#scope.parent === undefined) this.#declareTop(node.id.name, "function")
      else this.#scope.declare(node.id.name)
    }
    this.#function(node)
  }

  #catch(node: Extract<Node, { type: "CatchClause" }>): void {
    this.#open("block")
    const { param, body } = node
    if (param !== null) {
      this.#pattern(param, "local")
      this.#result.catches.push({
        param: param.start,
        paramEnd: param.end,
        name: param.type === "Identifier" ? param.name : undefined,
        body: body.start + 1,
        bodyEnd: body.end,
      })
    }
    this.#open("block")
    this.#list(body.body)
    this.#close()
    this.#close()
  }

  // Patterns

  #pattern(node: Pattern, use: PatternUse, scope = this.#scope, isDefinite = false): void {
    switch (node.type) {
      case "Identifier":
        this.#patternName(node, use, scope, isDefinite)
        break
      case "ObjectPattern":
        for (const property of node.properties) {
          if (property.type === "RestElement") {
            this.#pattern(property.argument, use, scope)
            continue
          }
          if (property.computed) this.#expression(property.key)
          if (property.shorthand) this.#shorthand(property.value, use, scope)
          else this.#pattern(property.value, use, scope)
        }
        erasePattern(this.#edits, node)
        break
      case "ArrayPattern":
        for (const element of node.elements) if (element !== null) this.#pattern(element, use, scope)
        erasePattern(this.#edits, node)
        break
      case "AssignmentPattern":
        this.#pattern(node.left, use, scope)
        this.#nameFrom(node.left, node.right)
        this.#expression(node.right)
        break
      case "RestElement":
        this.#pattern(node.argument, use, scope)
        erasePattern(this.#edits, node)
        break
      case "TSParameterProperty":
        this.#transformer(node)
        this.#pattern(node.parameter, use, scope)
        break
      case "TSAsExpression":
      case "TSSatisfiesExpression":
      case "TSNonNullExpression":
        eraseTail(this.#edits, node, this.#statementEnd)
        this.#pattern(node.expression, use, scope)
        break
      case "TSTypeAssertion":
        this.#edits.blank(node.start, node.expression.start)
        this.#pattern(node.expression, use, scope)
        break
      case "ParenthesizedExpression":
        this.#pattern(node.expression, use, scope)
        break
      default:
        this.#expression(node)
    }
  }

  #shorthand(value: Node, use: PatternUse, scope: Scope): void {
    const target = value.type === "AssignmentPattern" ? value.left : value
    this.#pattern(target, use, scope)
    if (use !== "local") {
      const reference = scope.pending?.at(-1)
      if (reference !== undefined && reference.start === target.start) reference.isShorthand = true
    }
    if (value.type === "AssignmentPattern") {
      this.#nameFrom(target, value.right)
      this.#expression(value.right)
    }
  }

  #patternName(node: Extract<Node, { type: "Identifier" }>, use: PatternUse, scope: Scope, isDefinite: boolean): void {
    const { name } = node
    const end = erasePattern(this.#edits, node, isDefinite)
    if (use === "local") {
      scope.declare(name)
      return
    }
    const reference = this.#refer(name, node.start, end, false, true)
    if (use === "assign") return
    reference.initialises = use
    reference.declaratorEnd = this.#declaratorEnd
    const declared = this.#result.declared.get(name)
    if (declared === undefined) this.#result.declared.set(name, { keyword: use, statement: this.#statement })
  }

  /** An anonymous function or class takes the name of a plain target, also when the target is rewritten. */
  #nameFrom(target: Node, value: Node): void {
    if (target.type !== "Identifier" || !isAnonymousFunction(value)) return
    const reference = this.#scope.pending?.at(-1)
    if (reference !== undefined && reference.start === target.start) {
      reference.names = { start: value.start, end: value.end }
    }
  }

  // Expressions

  #maybe(node: Node | null): void {
    if (node !== null) this.#expression(node)
  }

  #expression(node: Node): void {
    switch (node.type) {
      case "Identifier":
        this.#refer(node.name, node.start, node.end, true, false)
        break
      case "Literal":
      case "ThisExpression":
      case "Super":
      case "TemplateElement":
        break
      case "MemberExpression":
        this.#expression(node.object)
        if (node.computed) this.#expression(node.property)
        break
      case "CallExpression":
        this.#callee(node.callee)
        eraseTypeArguments(this.#edits, node.typeArguments)
        for (const argument of node.arguments) this.#expression(argument)
        break
      case "NewExpression":
        this.#expression(node.callee)
        eraseTypeArguments(this.#edits, node.typeArguments)
        for (const argument of node.arguments) this.#expression(argument)
        break
      case "TaggedTemplateExpression":
        this.#callee(node.tag, true)
        eraseTypeArguments(this.#edits, node.typeArguments)
        this.#expression(node.quasi)
        break
      case "UnaryExpression":
        this.#unary(node)
        break
      case "UpdateExpression":
        this.#assigned(node.argument, true)
        break
      case "AssignmentExpression":
        if (node.operator === "=") {
          this.#pattern(node.left, "assign")
          this.#nameFrom(node.left, node.right)
        } else {
          this.#assigned(node.left, true)
          if (isLogicalAssignment(node.operator)) this.#nameFrom(node.left, node.right)
        }
        this.#expression(node.right)
        break
      case "ObjectExpression":
        for (const property of node.properties) this.#property(property)
        break
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        this.#function(node)
        break
      case "ClassExpression":
        this.#class(node)
        break
      case "AwaitExpression":
        if (this.#functionDepth === 0) this.#result.isAsync = true
        this.#expression(node.argument)
        break
      case "ImportExpression":
        this.#result.dynamicImports.push({ start: node.start, end: node.start + "import".length, form: "call" })
        this.#expression(node.source)
        this.#maybe(node.options)
        break
      case "MetaProperty":
        if (node.meta.name === "import") {
          this.#result.dynamicImports.push({ start: node.start, end: node.end, form: "meta" })
        }
        break
      case "TSAsExpression":
      case "TSSatisfiesExpression":
      case "TSNonNullExpression":
      case "TSInstantiationExpression":
        this.#expression(node.expression)
        eraseTail(this.#edits, node, this.#statementEnd)
        break
      case "TSTypeAssertion":
        this.#edits.blank(node.start, node.expression.start)
        this.#expression(node.expression)
        break
      default:
        this.#children(node)
    }
  }

  #children(node: Node): void {
    const keys = childKeys.get(node.type)
    if (keys === undefined) return
    for (const key of keys) {
      const child = (node as unknown as Record<string, Node | (Node | null)[] | null | undefined>)[key]
      if (child === null || child === undefined) continue
      if (!Array.isArray(child)) this.#expression(child)
      else for (const item of child) if (item !== null) this.#expression(item)
    }
  }

  /** A callee keeps its `this` undefined, also through parentheses and erased types. */
  #callee(node: Node, isTag = false): void {
    if (node.type === "Identifier") {
      if (node.name === "eval" && !isTag) this.#result.usesDirectEval = true
      this.#refer(node.name, node.start, node.end, true, false).isCallee = true
    } else if (node.type === "TSNonNullExpression" && node.expression.type === "Identifier") {
      this.#callee(node.expression, isTag)
      eraseTail(this.#edits, node, this.#statementEnd)
    } else if (node.type === "ParenthesizedExpression" && isNameInside(node.expression)) {
      this.#callee(node.expression, isTag)
    } else this.#expression(node)
  }

  #unary(node: Extract<Node, { type: "UnaryExpression" }>): void {
    let { argument }: { argument: Node } = node
    while (argument.type === "ParenthesizedExpression") argument = argument.expression
    if (node.operator === "typeof" && argument.type === "Identifier") {
      const reference = this.#refer(argument.name, argument.start, argument.end, true, false)
      if (argument === node.argument) reference.typeofStart = node.start
    } else this.#expression(node.argument)
  }

  /** The target of `++`, `--` or a compound assignment. */
  #assigned(node: Node, reads: boolean): void {
    if (node.type === "Identifier") this.#refer(node.name, node.start, node.end, reads, true)
    else if (node.type === "ParenthesizedExpression") this.#assigned(node.expression, reads)
    else if (
      node.type === "TSNonNullExpression" ||
      node.type === "TSAsExpression" ||
      node.type === "TSSatisfiesExpression"
    ) {
      this.#assigned(node.expression, reads)
      eraseTail(this.#edits, node, this.#statementEnd)
    } else this.#expression(node)
  }

  #property(node: Node): void {
    if (node.type !== "Property") {
      this.#expression(node)
      return
    }
    if (node.computed) this.#expression(node.key)
    if (node.shorthand && node.value.type === "Identifier") {
      this.#refer(node.value.name, node.value.start, node.value.end, true, false).isShorthand = true
    } else this.#expression(node.value)
  }

  // Functions and classes

  #function(node: FunctionNode): void {
    eraseFunction(this.#edits, node)
    this.#open("function")
    const isArrow = node.type === "ArrowFunctionExpression"
    if (!isArrow) this.#scope.declare("arguments")
    if (node.type === "FunctionExpression" && node.id !== null) this.#scope.declare(node.id.name)
    const outerVars = this.#varScope
    const outerOpening = this.#opening
    this.#functionDepth += 1
    // An arrow without parentheses begins with its parameter; nothing in a function opens the statement outside.
    this.#opening = -1
    this.#varScope = this.#scope
    for (const parameter of node.params) this.#parameter(parameter)
    if (node.body !== null) {
      this.#open("function")
      this.#varScope = this.#scope
      if (node.body.type === "BlockStatement") this.#list(node.body.body)
      else this.#expression(node.body)
      this.#close()
    }
    this.#functionDepth -= 1
    this.#varScope = outerVars
    this.#opening = outerOpening
    this.#close()
  }

  #parameter(node: Node): void {
    this.#decorators(node)
    if (node.type === "Identifier" && node.name === "this") return
    this.#pattern(node, "local")
  }

  #decorators(node: Node): void {
    const { decorators } = node as { decorators?: Node[] | null }
    if (decorators !== undefined && decorators !== null) {
      for (const decorator of decorators) this.#refuse(decorator, "decorators are not supported in this session yet")
    }
  }

  #class(node: Class): void {
    this.#decorators(node)
    eraseClass(this.#edits, node)
    this.#open("block")
    if (node.id !== null) this.#scope.declare(node.id.name)
    if (node.superClass !== null) this.#expression(node.superClass)
    for (const member of node.body.body) this.#member(member)
    this.#close()
  }

  #member(node: Node): void {
    this.#decorators(node)
    const outerEnd = this.#statementEnd
    this.#statementEnd = node.end
    if (eraseMember(this.#edits, node)) {
      this.#statementEnd = outerEnd
      return
    }
    if (node.type === "StaticBlock") {
      this.#inner(() => {
        this.#varScope = this.#scope
        this.#list(node.body)
      })
    } else if (
      node.type === "MethodDefinition" ||
      node.type === "PropertyDefinition" ||
      node.type === "AccessorProperty"
    ) {
      if (node.type === "AccessorProperty")
        this.#refuse(node, "`accessor` fields are not supported in this session yet")
      if (node.computed) this.#expression(node.key)
      else if (node.key.type === "PrivateIdentifier") this.#result.privateNames.add(this.#statement)
      const { value } = node
      if (value !== null) {
        if (node.type === "MethodDefinition") this.#expression(value)
        else this.#inner(() => this.#expression(value))
      }
    }
    this.#statementEnd = outerEnd
  }

  /** Code of a class body that runs as a function of its own. */
  #inner(walk: () => void): void {
    this.#open("function")
    this.#scope.declare("arguments")
    const outerVars = this.#varScope
    this.#functionDepth += 1
    walk()
    this.#functionDepth -= 1
    this.#varScope = outerVars
    this.#close()
  }
}

function isNameInside(node: Node): boolean {
  let inner = node
  while (inner.type === "ParenthesizedExpression") inner = inner.expression
  return inner.type === "Identifier"
}

function isAnonymousFunction(node: Node): boolean {
  let inner = node
  while (inner.type === "ParenthesizedExpression") inner = inner.expression
  if (inner.type === "ArrowFunctionExpression") return true
  return (inner.type === "FunctionExpression" || inner.type === "ClassExpression") && inner.id === null
}

function isLogicalAssignment(operator: string): boolean {
  return operator === "&&=" || operator === "||=" || operator === "??="
}

/** A namespace that holds only types leaves no value behind. */
function isTypeOnly(node: Extract<Node, { type: "TSModuleDeclaration" }>): boolean {
  const body = node.body
  if (body === null) return true
  return body.body.every((statement) => {
    const inner = statement.type === "ExportNamedDeclaration" ? statement.declaration : statement
    if (inner === null) return false
    if (inner.type === "TSModuleDeclaration") return isTypeOnly(inner)
    return inner.type === "TSInterfaceDeclaration" || inner.type === "TSTypeAliasDeclaration"
  })
}
