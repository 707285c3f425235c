// The one walk over a submission's tree: which names does it declare, use and capture, which functions and scopes does it have, and
// which text is types.
//
// A reference is resolved when the scope it stands in closes, so hoisting needs no second walk; what no inner scope declares reaches
// the submission's own level and is what the transform rewrites. Types are blanked on the way (`erase.ts`). Parameters have a scope of
// their own around the body's, since a default cannot see the body's `var`s. Statements are walked by themselves, so that a reference
// knows its top-level statement, and whether it opens an expression statement in a list (where a rewritten call needs a `;`).
import { visitorKeys } from "oxc-parser"
import type { Edits } from "./edits.ts"
import { importSite, requireSite, type ImportSite } from "./imports.ts"
import {
  eraseClass,
  eraseFunction,
  eraseMember,
  erasePattern,
  eraseTail,
  eraseTypeArguments,
  typeKeys,
} from "./erase.ts"
import { loweredName, usingAwaitName, usingName } from "./desugar.ts"
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
  /** Of a template, whose call the engine reports where the template begins. */
  isTag: boolean
  /** The reference begins an expression statement in a statement list. */
  opensStatement: boolean
  /** The `typeof` in front of it, when it is the whole operand. */
  typeofStart: number
  /** An anonymous function or class that takes its name from this target. */
  names: { start: number; end: number } | undefined
  /** The index of the top-level statement it stands in. */
  statement: number
  /** The function it stands in. */
  fn: FunctionSite | undefined
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
  declared: Map<string, { keyword: Keyword | "function" | "class" | "import"; statement: number }>
  isAsync: boolean
  usesDirectEval: boolean
  mentionsGlobalThis: boolean
  /** Constructs that this version cannot compile, with the reason. */
  refused: { message: string; start: number; end: number }[]
  /** Whether something is left that types alone cannot explain (enum, namespace, parameter property, `import =`). */
  needsTransformer: Set<number>
  dynamicImports: { start: number; end: number; form: "call" | "meta" }[]
  /** Uses of what stands for our own functions, in a text that `desugar.ts` made. */
  helpers: { start: number; end: number; how: "lowered" | "using" }[]
  /** The statements have resources of their own. */
  usesResources: boolean
  /** Catch clauses: where the caught error's message can be cleaned. */
  catches: { param: number; name: string | undefined; body: number; bodyEnd: number }[]
  privateNames: Set<number>
  /** Every function in the order of the text, and code of class bodies that runs as one. */
  functions: FunctionSite[]
  /** Every scope but the submission's own, in the order of the text. */
  scopes: Scope[]
  /** Variables of inner scopes that a function reaches from outside itself. */
  captures: Capture[]
  classes: ClassSite[]
  /** Imports of values, in their order. */
  imports: ImportSite[]
}

/** What a class's text has beside its functions. */
export interface ClassSite {
  /** Where its body begins. */
  at: number
  site: FunctionSite
  /** The scope of its name. */
  scope: Scope | undefined
  /** The expression behind `extends`. */
  heritage: { start: number; end: number } | undefined
  /** Computed keys whose values have to be kept. */
  keys: { start: number; end: number }[]
  /** Static fields and blocks: what a class that is made again leaves out. A private field stays, without its value. */
  statics: { start: number; end: number; keep: string }[]
  /** Private static fields. */
  staticNames: string[]
  isDerived: boolean
  /** Private fields, and one private name by which an instance is known; "" when instances have none. */
  names: string[]
  brand: string
  /** Where the body of its constructor begins; -1 when it has none. */
  constructorAt: number
  /** Its constructor's parameters are names, with or without a default. */
  isOpen: boolean
  /** Its constructor may return another object than the one it was called for. */
  mayReturn: boolean
  /** What private names instances have, as text: equal for classes whose instances can take each other's place. */
  privateShape: string
  /** Public fields with a plain name; those that can be made on an object which lacks them, with the range of the whole member. */
  publicFields: { name: string; start: number; end: number; isFillable: boolean }[]
  /** Initialisers of instance fields, and defaults of the constructor's parameters; `name` is the one that an anonymous function or class takes from its field. */
  fields: { start: number; end: number; name: string | undefined }[]
}

/** What gives the private names and each `super` inside it their meaning: a class, or an object literal with methods. */
export interface Home {
  /** The scope of the class's name; for a literal one that holds nothing. */
  scope: Scope
  /** The class; a literal has none. */
  site: FunctionSite | undefined
  /** The literal's text. */
  literal: { start: number; end: number } | undefined
  /** An activation of the scope around it makes one at most. */
  isSingle: boolean
  /** A function inside uses private names of it. */
  usesPrivates: boolean
}

/** How a function stands in its text; "field" and "static" are code of a class body that runs as a function of its own. */
export type FunctionForm =
  | "expression"
  | "declaration"
  | "method"
  | "accessor"
  | "member"
  | "called"
  | "field"
  | "static"
  | "class"

/** A place in the text where a function is created. */
export class FunctionSite {
  readonly form: FunctionForm
  /** The function's text; for methods and accessors of object literals, the whole property's. */
  readonly start: number
  readonly end: number
  readonly isArrow: boolean
  /** A generator or an async function: its frame can outlive the eval that began it. */
  readonly canSuspend: boolean
  readonly outer: FunctionSite | undefined
  /** The scope it is created in. */
  readonly scope: Scope
  readonly statement: number
  /** The scope of its body, which stands for its parameters too. */
  body: Scope | undefined = undefined
  /** The name of a declaration or of a property; the one an anonymous function takes from where it stands. */
  name: string | undefined = undefined
  /** A property key as its text, and whether it can be written after a dot. */
  isNamed = false
  /** It holds a construct that only its own place in the text can give it: `super()`, `new.target` or `arguments` of another. */
  isBound: boolean
  /** The object literal that an accessor is part of, and whether it is the getter. */
  object: { start: number; end: number } | undefined = undefined
  isGetter = false
  /** The reference whose `names` would name it. */
  target: Reference | undefined = undefined
  /** For a class: the rest of what its text has. */
  made: ClassSite | undefined = undefined
  /** The class or literal that it is a member of. */
  home: Home | undefined = undefined
  /** A static member of a class. */
  isStatic = false
  /** `super`, in it or in an arrow inside, asks its home. */
  usesSuper = false
  /** Those around it that its text needs. */
  homes: Set<Home> | undefined = undefined

  constructor(
    form: FunctionForm,
    range: { start: number; end: number },
    kind: { isArrow: boolean; canSuspend: boolean; isBound: boolean },
    scope: Scope,
    outer: FunctionSite | undefined,
    statement: number,
  ) {
    this.form = form
    this.start = range.start
    this.end = range.end
    this.isArrow = kind.isArrow
    this.canSuspend = kind.canSuspend
    this.isBound = kind.isBound
    this.scope = scope
    this.outer = outer
    this.statement = statement
  }
}

/** `scope` is where the variable lives; for `this` it is the function's body. */
export interface Capture {
  scope: Scope
  name: string
  from: FunctionSite
  to: FunctionSite | undefined
}

/** Where something can be put at the beginning of a scope's code. */
export type ScopePlace =
  | { how: "block"; at: number; end: number }
  | { how: "arrow"; at: number; end: number }
  | { how: "statement"; at: number; end: number }

type Kind = "module" | "function" | "block" | "class" | "object" | "switch"

export class Scope {
  readonly parent: Scope | undefined
  readonly kind: Kind
  readonly start: number
  readonly statement: number
  /** The function whose code it is part of. */
  readonly fn: FunctionSite | undefined
  names: Set<string> | undefined
  pending: Reference[] | undefined
  /** The scope whose beginning is where this one's variables can be reached as they are: a loop's body for its head. */
  into: Scope | undefined = undefined
  place: ScopePlace | undefined = undefined
  /** Names that cannot be assigned, and whether something in it assigns one all the same. */
  constants: Set<string> | undefined
  breaksConstants = false
  functionNames: Set<string> | undefined
  /** A function and another declaration bear one name, which a block does not allow. */
  hasDoubles = false

  constructor(kind: Kind, parent: Scope | undefined, start: number, fn: FunctionSite | undefined, statement: number) {
    this.kind = kind
    this.parent = parent
    this.start = start
    this.fn = fn
    this.statement = statement
  }

  declare(name: string, isFunction = false): void {
    if (isFunction) {
      if (this.names?.has(name) === true) this.hasDoubles = true
      ;(this.functionNames ??= new Set()).add(name)
    } else if (this.functionNames?.has(name) === true) this.hasDoubles = true
    ;(this.names ??= new Set()).add(name)
  }

  declareConstant(name: string): void {
    this.declare(name)
    ;(this.constants ??= new Set()).add(name)
  }
}

type FunctionNode = Function | ArrowFunctionExpression

/** Behind room and comments, what would go on with a call. */
const continuation = /(?:\s|\/\/.*$|\/\*(?:[^*]|\*(?!\/))*\*\/)*(?:[([`+\-*<]|\/(?![/*]))/my
type Pattern = Node
/** How the identifiers of a pattern are meant. */
type PatternUse = Keyword | "assign" | "local"

const childKeys = new Map(
  Object.entries(visitorKeys).map(([type, keys]) => [type, keys.filter((key) => !typeKeys.has(key))] as const),
)

/** With `isFile` the program is a module of its own: its imports and exports stay, but for those of types. */
export function analyse(program: Program, edits: Edits, isFile = false): Analysis {
  return new Walk(edits, isFile).program(program)
}

class Walk {
  readonly #edits: Edits
  readonly #isFile: boolean
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
    helpers: [],
    usesResources: false,
    catches: [],
    privateNames: new Set(),
    functions: [],
    scopes: [],
    captures: [],
    classes: [],
    imports: [],
  }
  #scope = new Scope("module", undefined, 0, undefined, -1)
  #fn: FunctionSite | undefined = undefined
  /** Above 0 where a function is created in code that has no place for what would have to stand before it. */
  #placeless = 0
  #declaresConstants = false
  /** The names that anonymous functions take from where they stand. */
  readonly #given = new Map<Node, { name: string; target: Reference | undefined }>()
  /** The classes around, with their private names. */
  readonly #classes: { names: ReadonlySet<string>; home: Home }[] = []
  /** Above 0 in the head of a loop, and in a body that is no block: what stands there is evaluated again without a new activation. */
  #repeated = 0
  /** The scope that `var` declares in. */
  #varScope = this.#scope
  #functionDepth = 0
  #statement = 0
  /** Where the statement (or class member) at hand ends: an erasure that ends there leaves a `;`. */
  #statementEnd = -1
  #opening = -1
  #declaratorEnd = -1

  constructor(edits: Edits, isFile: boolean) {
    this.#edits = edits
    this.#isFile = isFile
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

  #open(kind: Kind, start: number, place?: ScopePlace): Scope {
    const scope = new Scope(kind, this.#scope, start, this.#fn, this.#statement)
    scope.place = place
    this.#result.scopes.push(scope)
    this.#scope = scope
    return scope
  }

  #close(): void {
    const { names, pending, parent } = this.#scope
    if (pending !== undefined) {
      if (parent === undefined) this.#result.references = pending
      else {
        for (const reference of pending) {
          if (names?.has(reference.name) !== true) (parent.pending ??= []).push(reference)
          else this.#found(reference)
        }
      }
    }
    if (parent !== undefined) this.#scope = parent
  }

  /** A reference found its variable in the scope at hand. */
  #found({ name, fn, writes, initialises }: Reference): void {
    const scope = this.#scope
    if (writes && initialises === undefined && scope.constants?.has(name) === true) scope.breaksConstants = true
    if (fn === undefined || fn === scope.fn) return
    // The heritage of a class is code of the function around it.
    if (scope.kind === "class" && fn === scope.fn?.outer) return
    // What a function's own name or parameter is bound to belongs to its activation.
    if (name === "arguments" && scope.kind === "function" && scope.place === undefined) this.#bind(fn, scope.fn)
    else this.#result.captures.push({ scope, name, from: fn, to: scope.fn })
  }

  /** Functions from one up to another can only be made where they stand. */
  #bind(from: FunctionSite | undefined, to: FunctionSite | undefined): void {
    for (let fn = from; fn !== undefined && fn !== to; fn = fn.outer) fn.isBound = true
  }

  /** `this`, or something that comes with it, inside arrows belongs to the function around them. */
  #owner(): FunctionSite | undefined {
    let fn = this.#fn
    while (fn?.isArrow === true) fn = fn.outer
    return fn
  }

  #this(): void {
    const owner = this.#owner()
    if (owner === this.#fn || owner === undefined) return
    this.#result.captures.push({ scope: owner.body ?? owner.scope, name: "this", from: this.#fn!, to: owner })
  }

  #private(name: string): void {
    const home = this.#classes.findLast(({ names }) => names.has(name))?.home
    if (home !== undefined) home.usesPrivates = true
    this.#need(home, home?.site)
  }

  /** `super`, but not a call of it. */
  #super(): void {
    const owner = this.#owner()
    if (owner?.home === undefined) return this.#bind(this.#fn, owner?.outer)
    owner.usesSuper = true
    this.#this()
    this.#need(owner.home, owner.home.site ?? owner.outer)
  }

  /** Functions from the one at hand up to another can only be made inside of a home. */
  #need(home: Home | undefined, to: FunctionSite | undefined): void {
    let fn = this.#fn
    while (fn !== undefined && fn !== to) fn = fn.outer
    // A computed key of the class itself is outside of it.
    if (home === undefined || fn !== to) return this.#bind(this.#fn, to)
    for (fn = this.#fn; fn !== undefined && fn !== to; fn = fn.outer) (fn.homes ??= new Set()).add(home)
  }

  #home(scope: Scope, site: FunctionSite | undefined, literal: Node | undefined): Home {
    const isSingle = this.#placeless === 0 && this.#repeated === 0
    return { scope, site, literal, isSingle, usesPrivates: false }
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
      isTag: false,
      opensStatement: this.#opening === start,
      typeofStart: -1,
      names: undefined,
      statement: this.#statement,
      fn: this.#fn,
    }
    ;(this.#scope.pending ??= []).push(reference)
    if (name === "globalThis") this.#result.mentionsGlobalThis = true
    return reference
  }

  #declareTop(name: string, keyword: Keyword | "function" | "class" | "import"): void {
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
      case "BlockStatement":
        this.#block(node)
        break
      case "IfStatement":
        this.#expression(node.test)
        this.#body(node.consequent)
        if (node.alternate !== null) this.#body(node.alternate)
        break
      case "ForStatement":
        this.#open("block", node.start)
        this.#placeless += 1
        if (node.init?.type === "VariableDeclaration") this.#variables(node.init, "head")
        else this.#maybe(node.init)
        this.#repeated += 1
        this.#maybe(node.test)
        this.#maybe(node.update)
        this.#repeated -= 1
        this.#placeless -= 1
        this.#loopBody(node.body)
        this.#close()
        break
      case "ForInStatement":
      case "ForOfStatement":
        if (node.type === "ForOfStatement" && node.await && this.#functionDepth === 0) this.#result.isAsync = true
        this.#open("block", node.start)
        this.#placeless += 1
        if (node.left.type === "VariableDeclaration") this.#variables(node.left, "head")
        else this.#pattern(node.left, "assign")
        this.#expression(node.right)
        this.#placeless -= 1
        this.#loopBody(node.body)
        this.#close()
        break
      case "WhileStatement":
        this.#repeated += 1
        this.#expression(node.test)
        // A block is an activation of its own, anything else is not.
        this.#body(node.body)
        this.#repeated -= 1
        break
      case "DoWhileStatement":
        this.#repeated += 1
        this.#body(node.body)
        this.#expression(node.test)
        this.#repeated -= 1
        break
      case "LabeledStatement":
        this.#body(node.body)
        break
      case "SwitchStatement":
        this.#expression(node.discriminant)
        this.#open("switch", node.start)
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
        if (this.#isFile) this.#fileExport(node)
        else this.#refuse(node, "a session exports every name it binds; this form of `export` means nothing in it")
        break
      case "ImportDeclaration":
        if (node.importKind === "type") this.#eraseStatement(node)
        else this.#import(importSite(node), node)
        break
      case "TSImportEqualsDeclaration": {
        const site = requireSite(node)
        if (node.importKind === "type") this.#eraseStatement(node)
        else if (site === undefined) this.#transformer(node)
        else if (this.#isFile) this.#edits.replace(node.start, node.start + "import".length, "const")
        else this.#import(site, node)
        break
      }
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

  #block(node: Extract<Node, { type: "BlockStatement" }>): Scope {
    const scope = this.#open("block", node.start, { how: "block", at: node.start + 1, end: node.end - 1 })
    const repeated = this.#repeated
    this.#repeated = 0
    this.#list(node.body)
    this.#repeated = repeated
    this.#close()
    return scope
  }

  /** A turn of a loop has variables of its own: those of its head too are reached from the beginning of its body. */
  #loopBody(node: Node): void {
    const head = this.#scope
    const repeated = this.#repeated
    this.#repeated = 0
    if (node.type === "BlockStatement") {
      const scope = this.#open("block", node.start, { how: "block", at: node.start + 1, end: node.end - 1 })
      head.into = scope
      this.#list(node.body)
    } else {
      head.into = this.#open("block", node.start, { how: "statement", at: node.start, end: node.end })
      this.#body(node)
    }
    this.#repeated = repeated
    this.#close()
  }

  #exportNamed(node: Extract<Node, { type: "ExportNamedDeclaration" }>): void {
    if (node.exportKind === "type" && node.declaration === null) this.#eraseStatement(node)
    else if (this.#isFile) this.#fileExportNamed(node)
    else if (node.declaration === null) {
      if (node.source !== null) this.#refuse(node, "a session cannot re-export; import the module and use its names")
      else this.#edits.blank(node.start, node.end, ";")
    } else {
      this.#edits.blank(node.start, node.declaration.start, ";")
      this.#statementNode(node.declaration, "list")
    }
  }

  /** The statement goes: its names are made before any statement runs. */
  #import(site: ImportSite | string, node: Node): void {
    if (typeof site === "string") return this.#refuse(node, site)
    this.#result.imports.push(site)
    if (this.#isFile) return
    for (const { local } of site.bindings) this.#declareTop(local, "import")
    this.#eraseStatement(node)
  }

  // Of a file

  #fileExportNamed({ declaration, source, specifiers }: Extract<Node, { type: "ExportNamedDeclaration" }>): void {
    if (declaration !== null) return this.#statementNode(declaration, "list")
    if (source !== null) return
    for (const { local, exportKind } of specifiers) {
      if (exportKind !== "type" && local.type === "Identifier")
        this.#refer(local.name, local.start, local.end, true, false)
    }
  }

  #fileExport(node: Node): void {
    if (node.type === "TSExportAssignment") {
      this.#edits.replace(node.start, node.expression.start, "module.exports=")
      this.#expression(node.expression)
    } else if (node.type === "ExportAllDeclaration") {
      if (node.exportKind === "type") this.#eraseStatement(node)
    } else if (node.type === "ExportDefaultDeclaration") {
      const { declaration } = node
      if (declaration.type === "TSInterfaceDeclaration" || declaration.type === "TSDeclareFunction")
        this.#eraseStatement(node)
      else this.#statementNode(declaration, "list")
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
      this.#declaresConstants = use === "local" && keyword === "const"
      this.#pattern(id, use, use === "local" && keyword === "var" ? this.#varScope : this.#scope, definite === true)
      this.#declaresConstants = false
      if (init !== null) {
        this.#nameFrom(id, init)
        this.#expression(init)
      }
    }
  }

  #declareFunction(node: FunctionNode): void {
    if (node.type === "FunctionDeclaration" && node.id !== null) {
      if (this.#scope.parent === undefined) this.#declareTop(node.id.name, "function")
      else this.#scope.declare(node.id.name, true)
    }
    this.#function(node, "declaration")
  }

  #catch(node: Extract<Node, { type: "CatchClause" }>): void {
    const outer = this.#open("block", node.start)
    const { param, body } = node
    if (param !== null) {
      this.#placeless += 1
      this.#pattern(param, "local")
      this.#placeless -= 1
      this.#result.catches.push({
        param: param.start,
        name: param.type === "Identifier" ? param.name : undefined,
        body: body.start + 1,
        bodyEnd: body.end,
      })
    }
    outer.into = this.#open("block", body.start, { how: "block", at: body.start + 1, end: body.end - 1 })
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
      if (this.#declaresConstants) scope.declareConstant(name)
      else scope.declare(name)
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
    const isTarget = reference !== undefined && reference.start === target.start
    if (isTarget) reference.names = { start: value.start, end: value.end }
    this.#given.set(bareValue(value), { name: target.name, target: isTarget ? reference : undefined })
  }

  // Expressions

  #maybe(node: Node | null): void {
    if (node !== null) this.#expression(node)
  }

  #expression(node: Node): void {
    switch (node.type) {
      case "Identifier":
        if (node.name.startsWith("$$_") && this.#helper(node)) break
        this.#refer(node.name, node.start, node.end, true, false)
        break
      case "Literal":
      case "TemplateElement":
        break
      case "ThisExpression":
        this.#this()
        break
      case "Super":
        this.#super()
        break
      case "PrivateIdentifier":
        this.#private(node.name)
        break
      case "MemberExpression":
        this.#expression(node.object)
        if (node.computed) this.#expression(node.property)
        else if (node.property.type === "PrivateIdentifier") this.#private(node.property.name)
        break
      case "CallExpression":
        if (node.callee.type === "Super") this.#bind(this.#fn, this.#owner()?.outer)
        else this.#callee(node.callee)
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
        this.#object(node)
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
        } else this.#bind(this.#fn, this.#owner())
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

  #helper({ name, start, end }: Extract<Node, { type: "Identifier" }>): boolean {
    if (name === loweredName) this.#result.helpers.push({ start, end, how: "lowered" })
    else if (name === usingName || name === usingAwaitName) {
      this.#result.helpers.push({ start, end, how: "using" })
      this.#result.usesResources = true
      this.#result.isAsync ||= name === usingAwaitName
    } else return false
    return true
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
      Object.assign(this.#refer(node.name, node.start, node.end, true, false), { isCallee: true, isTag })
    } else if (node.type === "TSNonNullExpression" && node.expression.type === "Identifier") {
      this.#callee(node.expression, isTag)
      eraseTail(this.#edits, node, this.#statementEnd)
    } else if (node.type === "ParenthesizedExpression" && isNameInside(node.expression)) {
      this.#callee(node.expression, isTag)
    } else if (isAnonymousFunction(node)) this.#called(node)
    else this.#expression(node)
  }

  /** A function that is called where it stands, and that nothing else can get hold of. */
  #called(node: Node): void {
    if (node.type === "ParenthesizedExpression") this.#called(node.expression)
    else if (node.type === "FunctionExpression" || node.type === "ArrowFunctionExpression") {
      this.#function(node, "called")
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

  #object(node: Extract<Node, { type: "ObjectExpression" }>): void {
    if (!node.properties.some((property) => property.type === "Property" && isMember(property))) {
      for (const property of node.properties) this.#property(property, node, undefined)
      return
    }
    const home = this.#home(this.#open("object", node.start), undefined, node)
    const members: FunctionSite[] = []
    for (const property of node.properties) {
      const site = this.#property(property, node, home)
      // What comes later may take the place of a method that is known by its key.
      const replaced = property.type !== "Property" || property.computed ? undefined : (keyName(property.key) ?? "")
      const isAccessor = property.type === "Property" && (property.kind === "get" || property.kind === "set")
      for (const member of members) {
        const mayBeReplaced =
          member.form === "method"
            ? member.usesSuper && (replaced === undefined || replaced === member.name)
            : isAccessor && replaced === undefined
        if (mayBeReplaced) member.isBound = true
      }
      if (site !== undefined) members.push(site)
    }
    this.#close()
  }

  #property(node: Node, object: Node, home: Home | undefined): FunctionSite | undefined {
    if (node.type !== "Property") {
      this.#expression(node)
      return undefined
    }
    if (node.computed) this.#expression(node.key)
    const { value } = node
    if (node.shorthand && value.type === "Identifier") {
      this.#refer(value.name, value.start, value.end, true, false).isShorthand = true
      return undefined
    }
    const key = node.computed && node.key.type !== "Literal" ? undefined : keyName(node.key)
    if (value.type === "FunctionExpression" && isMember(node)) {
      // A method's `__proto__` is a property, what we would write for it is not; and a computed key is not known before it runs.
      const isBound = key === undefined || key === "__proto__"
      const site = this.#function(value, node.method ? "method" : "accessor", node, home)
      site.name = key
      site.isBound ||= isBound
      site.object = object
      site.isGetter = node.kind === "get"
      return site
    }
    if (isAnonymousFunction(value)) {
      if (key === undefined) this.#placeless += 1
      else if (key !== "__proto__") this.#given.set(bareValue(value), { name: key, target: undefined })
      this.#expression(value)
      if (key === undefined) this.#placeless -= 1
    } else this.#expression(value)
    return undefined
  }

  // Functions and classes

  #function(
    node: FunctionNode,
    form: FunctionForm = "expression",
    range: Node = node,
    home?: Home,
    isStatic = false,
  ): FunctionSite {
    eraseFunction(this.#edits, node)
    const outerFunction = this.#fn
    const isArrow = node.type === "ArrowFunctionExpression"
    const site = new FunctionSite(
      form,
      range,
      {
        isArrow,
        canSuspend: node.async || (!isArrow && node.generator),
        isBound: this.#placeless > 0 || node.body === null,
      },
      this.#scope,
      outerFunction,
      this.#statement,
    )
    site.home = home
    site.isStatic = isStatic
    const given = this.#given.get(node)
    if (given !== undefined) {
      site.name = given.name
      site.isNamed = true
      site.target = given.target
    } else if (form === "declaration" && !isArrow && node.id !== null) site.name = node.id.name
    this.#result.functions.push(site)
    this.#fn = site
    const parameters = this.#open("function", node.start)
    if (!isArrow) this.#scope.declare("arguments")
    if (node.type === "FunctionExpression" && node.id !== null) this.#scope.declareConstant(node.id.name)
    const outerVars = this.#varScope
    const outerOpening = this.#opening
    this.#functionDepth += 1
    // An arrow without parentheses begins with its parameter; nothing in a function opens the statement outside.
    this.#opening = -1
    this.#varScope = this.#scope
    const outerPlaceless = this.#placeless
    const outerRepeated = this.#repeated
    this.#placeless += 1
    for (const parameter of node.params) this.#parameter(parameter)
    this.#placeless = outerPlaceless
    this.#repeated = 0
    if (node.body !== null) {
      const { body } = node
      const isBlock = body.type === "BlockStatement"
      const place: ScopePlace = isBlock
        ? { how: "block", at: body.start + 1, end: body.end - 1 }
        : { how: "arrow", at: body.start, end: body.end }
      site.body = this.#open("function", body.start, place)
      parameters.into = site.body
      this.#varScope = this.#scope
      if (isBlock) this.#list(body.body)
      else this.#expression(body)
      this.#close()
      if (isArrow && isBlock) this.#endArrow(node.end)
    }
    this.#functionDepth -= 1
    this.#repeated = outerRepeated
    this.#varScope = outerVars
    this.#opening = outerOpening
    this.#close()
    this.#fn = outerFunction
    return site
  }

  /** An arrow's block can be followed by nothing that calls it or goes on with it, so a statement ends there; what we put around it could be. */
  #endArrow(end: number): void {
    continuation.lastIndex = end
    if (continuation.test(this.#edits.source)) this.#edits.terminate(end)
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
    const outer = this.#fn
    const kind = { isArrow: false, canSuspend: false, isBound: this.#placeless > 0 }
    const site = new FunctionSite("class", node, kind, this.#scope, outer, this.#statement)
    const made = classSiteOf(node, site)
    site.made = made
    // Its keys are kept in a variable of the activation it is made in.
    if (made.keys.length > 0 && this.#repeated > 0) site.isBound = true
    this.#result.functions.push(site)
    this.#result.classes.push(made)
    this.#fn = site
    made.scope = this.#open("class", node.start)
    const home = this.#home(made.scope, site, undefined)
    if (node.id !== null) this.#scope.declareConstant(node.id.name)
    this.#fn = outer
    this.#placeless += 1
    if (node.superClass !== null) this.#expression(node.superClass)
    this.#placeless -= 1
    this.#classes.push({ names: privateNamesOf(node), home })
    const repeated = this.#repeated
    this.#repeated = 0
    for (const member of node.body.body) this.#member(member, site, home)
    this.#repeated = repeated
    this.#classes.pop()
    this.#close()
    this.#fn = outer
  }

  #member(node: Node, site: FunctionSite, home: Home): void {
    this.#decorators(node)
    const outerEnd = this.#statementEnd
    this.#statementEnd = node.end
    if (eraseMember(this.#edits, node)) {
      this.#statementEnd = outerEnd
      return
    }
    this.#fn = site
    if (node.type === "StaticBlock") {
      const at = this.#edits.source.indexOf("{", node.start + "static".length) + 1
      this.#inner(node, "static", { how: "block", at, end: node.end - 1 }, home, true, () => {
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
      if (node.computed) {
        this.#fn = site.outer
        this.#placeless += 1
        this.#expression(node.key)
        this.#placeless -= 1
        this.#fn = site
      } else if (node.key.type === "PrivateIdentifier") this.#result.privateNames.add(this.#statement)
      const { value } = node
      if (value !== null) {
        if (node.type === "MethodDefinition") {
          if (value.type === "FunctionExpression") this.#function(value, "member", value, home, node.static)
          else this.#expression(value)
        } else {
          const key = node.computed ? undefined : keyName(node.key)
          this.#inner(value, "field", undefined, home, node.static, () => {
            if (isAnonymousFunction(value)) {
              if (key === undefined) this.#placeless += 1
              else this.#given.set(bareValue(value), { name: key, target: undefined })
              this.#expression(value)
              if (key === undefined) this.#placeless -= 1
            } else this.#expression(value)
          })
        }
      }
    }
    this.#statementEnd = outerEnd
  }

  /** Code of a class body that runs as a function of its own. */
  #inner(
    node: Node,
    form: "field" | "static",
    place: ScopePlace | undefined,
    home: Home,
    isStatic: boolean,
    walk: () => void,
  ): void {
    const kind = { isArrow: false, canSuspend: false, isBound: true }
    const site = new FunctionSite(form, node, kind, this.#scope, this.#fn, this.#statement)
    site.home = home
    site.isStatic = isStatic
    const outer = this.#fn
    this.#fn = site
    site.body = this.#open("function", node.start, place)
    this.#scope.declare("arguments")
    const outerVars = this.#varScope
    this.#functionDepth += 1
    walk()
    this.#functionDepth -= 1
    this.#varScope = outerVars
    this.#close()
    this.#fn = outer
  }
}

/** A method or an accessor of an object literal. */
function isMember(property: Extract<Node, { type: "Property" }>): boolean {
  return property.method || property.kind !== "init"
}

function privateNamesOf(node: Class): ReadonlySet<string> {
  const names = new Set<string>()
  for (const member of node.body.body) {
    if ("key" in member && member.key.type === "PrivateIdentifier") names.add(member.key.name)
  }
  return names
}

function classSiteOf(node: Class, owner: FunctionSite): ClassSite {
  const { superClass } = node
  const site: ClassSite = {
    at: node.body.start + 1,
    site: owner,
    scope: undefined,
    heritage: superClass === null ? undefined : { start: superClass.start, end: superClass.end },
    keys: [],
    statics: [],
    staticNames: [],
    isDerived: superClass !== null,
    names: [],
    brand: "",
    constructorAt: -1,
    isOpen: true,
    mayReturn: false,
    privateShape: "",
    publicFields: [],
    fields: [],
  }
  for (const member of node.body.body) {
    if (member.type === "StaticBlock") site.statics.push({ start: member.start, end: member.end, keep: ";" })
    if (member.type !== "MethodDefinition" && member.type !== "PropertyDefinition") continue
    if (member.type === "PropertyDefinition" ? member.declare === true : isBodiless(member.value)) continue
    const { key, start, end } = member
    if (member.static && member.type === "PropertyDefinition") {
      const isPrivate = key.type === "PrivateIdentifier"
      if (isPrivate) site.staticNames.push(key.name)
      site.statics.push({ start, end, keep: isPrivate ? `static #${key.name};` : ";" })
    } else if (member.computed && key.type !== "Literal") site.keys.push({ start: key.start, end: key.end })
    if (member.static) continue
    const isMethod = member.type === "MethodDefinition"
    if (key.type === "PrivateIdentifier") {
      if (site.brand === "") site.brand = key.name
      site.privateShape += `#${key.name}${isMethod ? ` ${member.kind}` : ""};`
      if (member.type === "PropertyDefinition") site.names.push(key.name)
    }
    if (member.type === "PropertyDefinition") {
      const { value } = member
      const plain = member.computed || key.type === "PrivateIdentifier" ? undefined : keyName(key)
      if (plain !== undefined) {
        site.publicFields.push({ name: plain, start, end, isFillable: value !== null && isFillable(value) })
      }
      if (value === null) continue
      const isNamed = isAnonymousFunction(value) && bareValue(value).type === "ClassExpression"
      const name = isNamed && !member.computed ? keyName(key) : undefined
      site.fields.push({ start: value.start, end: value.end, name })
    } else if (member.type === "MethodDefinition" && member.kind === "constructor" && member.value.body !== null) {
      site.constructorAt = member.value.body.start + 1
      site.mayReturn = hasReturn(member.value.body)
      site.isOpen = member.value.params.every(isPlainParameter)
      for (const parameter of member.value.params) {
        if (parameter.type !== "AssignmentPattern" || parameter.left.type !== "Identifier") continue
        const { left, right } = parameter
        site.fields.push({
          start: right.start,
          end: right.end,
          name: isAnonymousFunction(right) ? left.name : undefined,
        })
      }
    }
  }
  return site
}

/** Whether an initialiser is a literal or a function: making it runs nothing. */
function isFillable(value: Node): boolean {
  const node = bareValue(value)
  switch (node.type) {
    case "Literal":
    case "FunctionExpression":
    case "ArrowFunctionExpression":
      return true
    case "TemplateLiteral":
      return node.expressions.length === 0
    case "UnaryExpression":
      return (node.operator === "void" || node.operator === "-") && bareValue(node.argument).type === "Literal"
    case "Identifier":
      return node.name === "undefined"
    case "ArrayExpression":
      return node.elements.every(
        (element) => element !== null && element.type !== "SpreadElement" && isFillable(element),
      )
    case "ObjectExpression":
      return node.properties.every(
        (property) =>
          property.type === "Property" &&
          (!property.computed || property.key.type === "Literal") &&
          (property.method || property.kind !== "init" || isFillable(property.value)),
      )
    default:
      return false
  }
}

/** Whether code returns something, functions inside it aside. */
function hasReturn(node: Node): boolean {
  if (node.type === "ReturnStatement") return node.argument !== null
  if (node.type === "FunctionExpression" || node.type === "FunctionDeclaration" || node.type === "ClassDeclaration")
    return false
  if (node.type === "ArrowFunctionExpression" || node.type === "ClassExpression") return false
  for (const key of childKeys.get(node.type) ?? []) {
    const child = (node as unknown as Record<string, Node | (Node | null)[] | null | undefined>)[key]
    if (child === null || child === undefined) continue
    for (const each of Array.isArray(child) ? child : [child]) if (each !== null && hasReturn(each)) return true
  }
  return false
}

/** An overload signature or an optional method. */
function isBodiless(node: Node | null): boolean {
  return node !== null && "body" in node && node.body === null
}

function isPlainParameter(node: Node): boolean {
  if (node.type === "AssignmentPattern") return node.left.type === "Identifier"
  return node.type === "Identifier" || (node.type === "RestElement" && node.argument.type === "Identifier")
}

/** A key that the text gives as it is: what a function in its place is called. */
function keyName(key: Node): string | undefined {
  if (key.type === "Identifier") return key.name
  if (key.type === "PrivateIdentifier") return `#${key.name}`
  if (key.type === "Literal" && (typeof key.value === "string" || typeof key.value === "number"))
    return String(key.value)
  return undefined
}

function isNameInside(node: Node): boolean {
  let inner = node
  while (inner.type === "ParenthesizedExpression") inner = inner.expression
  return inner.type === "Identifier"
}

/** Without parentheses and types: these do not keep a function from getting the name of its place. */
function bareValue(node: Node): Node {
  let inner = node
  while (
    inner.type === "ParenthesizedExpression" ||
    inner.type === "TSAsExpression" ||
    inner.type === "TSSatisfiesExpression" ||
    inner.type === "TSNonNullExpression" ||
    inner.type === "TSTypeAssertion"
  ) {
    inner = inner.expression
  }
  return inner
}

function isAnonymousFunction(node: Node): boolean {
  const inner = bareValue(node)
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
