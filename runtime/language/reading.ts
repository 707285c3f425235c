// Whether a text only reads: whether running it can change no object that was there before, whatever its names hold, as long as what is reached through
// them is inert data (no functions, accessors, proxies or instances of classes) and no built-in was changed. What an eval with such a text has touched need
// not be encoded again to know that it is what it was.
//
// The proof is by what is listed here, and everything else counts as a change. Assignments to variables are seen elsewhere. Objects are changed by assignments to
// members and by calls; so members are only assigned of objects that the text has made, and calls are those of functions of the text, of functions
// whose texts are looked at too, and of methods by name. A name stands for any built-in that has it, so only names are listed all of whose built-ins change
// nothing but, in `changing`, their receiver. That a receiver's own property of that name is a function made elsewhere cannot be: inert data holds none,
// and objects of the text get properties of these names from nobody. Built-ins that call what they are given are only given functions of the text, and no `this`.
import { visitorKeys } from "oxc-parser"
import { bare as withoutTypes } from "./definition.ts"
import {
  parse,
  type ArrowFunctionExpression,
  type CallExpression,
  type Function,
  type Node,
  type ObjectPropertyKind,
  type Program,
} from "./parse.ts"

/** What a text that only reads relies on. */
export interface Reading {
  /** Outer names that it calls, or hands to built-ins that call them: they must be functions whose texts only read. */
  readonly calls: readonly string[]
  /** Names that it takes for the built-ins they are. */
  readonly globals: readonly string[]
}

const words = (text: string): ReadonlySet<string> => new Set(text.trim().split(/\s+/))

/** Methods that change nothing and call nothing. */
const quiet = words(`
  at charAt charCodeAt codePointAt concat endsWith entries flat get getDate getDay getFullYear getHours getMilliseconds getMinutes getMonth getSeconds getTime
  getTimezoneOffset getUTCDate getUTCDay getUTCFullYear getUTCHours getUTCMilliseconds getUTCMinutes getUTCMonth getUTCSeconds has hasOwn hasOwnProperty includes
  indexOf isWellFormed join keys lastIndexOf localeCompare match matchAll normalize padEnd padStart repeat search slice split startsWith substring toExponential
  toFixed toISOString toLocaleDateString toLocaleLowerCase toLocaleString toLocaleTimeString toLocaleUpperCase toLowerCase toPrecision toReversed toSpliced
  toString toUpperCase toWellFormed trim trimEnd trimStart valueOf values with
`)
/** Those that call their first argument. */
const calling = words(`
  every filter find findIndex findLast findLastIndex flatMap forEach map reduce reduceRight some toSorted
`)
/** Those that may call their second one. */
const replacing = words("replace replaceAll")
/** Those whose result is an object that nothing else holds. */
const making = words(`
  concat filter flat flatMap map matchAll slice split toReversed toSorted toSpliced with
`)
/** Those that change their receiver; they are called on what the text has made. */
const changing = words("add clear copyWithin delete exec fill pop push reverse set shift sort splice test unshift")
/** Of these the result is the receiver. */
const returning = words("add copyWithin fill reverse set sort")
const methods = new Set([...quiet, ...calling, ...replacing, ...changing])

/** Functions that belong to objects: what they may be given is anything. */
const functionsOf: Readonly<Record<string, ReadonlySet<string>>> = {
  Array: words("isArray of"),
  BigInt: words("asIntN asUintN"),
  Date: words("UTC now parse"),
  JSON: words(""),
  Math: words(`
    abs acos acosh asin asinh atan atan2 atanh cbrt ceil clz32 cos cosh exp expm1 floor fround hypot imul log log10 log1p log2 max min pow random round sign sin
    sinh sqrt tan tanh trunc
  `),
  Number: words("isFinite isInteger isNaN isSafeInteger parseFloat parseInt"),
  Object: words("entries is hasOwn keys values getOwnPropertyNames"),
  String: words("fromCharCode fromCodePoint"),
  console: words("debug error info log table warn"),
}
const makingFunctions = words("Array.of Array.from Object.entries Object.keys Object.values Object.getOwnPropertyNames")
/** Their first argument is anything, their second one a function. */
const callingFunctions = words("Array.from JSON.stringify JSON.parse Object.groupBy Map.groupBy")
/** Functions by themselves, which may also be handed to built-ins. */
const functions = words("BigInt Boolean Number String isFinite isNaN parseFloat parseInt")
/** What these make has nothing in common with what they are given. */
const makingClasses = words("Array Date Error EvalError Map RangeError Set SyntaxError TypeError URIError")
/** A view may be one of a buffer that was there before. */
const views = words(`
  BigInt64Array BigUint64Array Float32Array Float64Array Int16Array Int32Array Int8Array Uint16Array Uint32Array Uint8Array Uint8ClampedArray
`)
const classes = new Set([...makingClasses, ...views])
const values = words("Infinity NaN undefined")

/** What a name that is declared in the text is known to hold for ever. */
type Held = "made" | "function" | "anything"

/** `outer`: the names that the text uses and does not declare, wherever it may declare others of the same name. */
export function readingOf(source: string, outer: ReadonlySet<string>): Reading | undefined {
  const parsed = parse(source)
  if (!parsed.valid) return undefined
  const reader = new Reader(outer)
  return reader.read(parsed.program) ? reader : undefined
}

type Nodes = readonly (Node | null)[]

class Reader implements Reading {
  readonly calls: string[] = []
  readonly globals: string[] = []
  readonly #outer: ReadonlySet<string>
  readonly #held = new Map<string, Held>()
  /** Parameters that are only ever given what the text has made. */
  readonly #madeParams = new Set<Node>()

  constructor(outer: ReadonlySet<string>) {
    this.#outer = outer
  }

  read(program: Program): boolean {
    this.#declare(program)
    return this.#all(program.body)
  }

  // What the names of the text hold

  #declare(node: Node): void {
    switch (node.type) {
      case "VariableDeclaration":
        for (const { id, init } of node.declarations) {
          const isConst = node.kind === "const" && init !== null
          if (named(id) === undefined) this.#declarePattern(id)
          else this.#hold(named(id)!, isConst ? this.#initially(init) : "anything")
        }
        break
      case "FunctionDeclaration":
        if (node.id !== null) this.#hold(named(node.id)!, "function")
        break
      case "AssignmentExpression":
      case "ForInStatement":
      case "ForOfStatement":
        this.#declarePattern(node.left)
        break
      case "CallExpression": {
        const accumulator = this.#accumulatorOf(node)
        if (accumulator !== undefined) this.#madeParams.add(accumulator)
        break
      }
      case "CatchClause":
        if (node.param !== null) this.#declarePattern(node.param)
        break
      default:
    }
    if (isFunction(node)) for (const param of node.params) this.#declarePattern(param)
    if (node.type === "FunctionExpression" && node.id !== null) this.#hold(named(node.id)!, "function")
    for (const child of childrenOf(node)) this.#declare(child)
  }

  /** What a reduction hands on: it begins with what is made there, and its function gives back nothing else. */
  #accumulatorOf({ callee, arguments: given }: CallExpression): Node | undefined {
    const [first, seed] = given
    if (callee.type !== "MemberExpression" || named(callee.property)?.startsWith("reduce") !== true) return undefined
    if (first === undefined || seed === undefined) return undefined
    if (bare(seed).type === "Identifier" || !this.#isMade(bare(seed))) return undefined
    const step = bare(first)
    if (!isFunction(step)) return undefined
    const [param] = step.params
    const name = param === undefined ? undefined : named(param)
    if (name === undefined || step.body === null) return undefined
    const isIt = (node: Node | null): boolean => {
      if (node === null) return false
      const it = bare(node)
      return it.type === "SequenceExpression" ? isIt(it.expressions.at(-1)!) : named(it) === name
    }
    if (step.body.type !== "BlockStatement") return isIt(step.body) ? param : undefined
    return step.body.body.at(-1)?.type === "ReturnStatement" && returnsOf(step.body).every(isIt) ? param : undefined
  }

  /** Also what is assigned to: such a name holds anything. */
  #declarePattern(node: Node): void {
    if (node.type === "Identifier") this.#hold(node.name, this.#madeParams.has(node) ? "made" : "anything")
    else if (node.type === "AssignmentPattern") this.#declarePattern(node.left)
    else if (node.type === "RestElement") this.#declarePattern(node.argument)
    else if (node.type === "ArrayPattern") {
      for (const element of node.elements) if (element !== null) this.#declarePattern(element)
    } else if (node.type === "ObjectPattern") {
      for (const property of node.properties)
        this.#declarePattern(property.type === "RestElement" ? property : property.value)
    }
  }

  #hold(name: string, what: Held): void {
    // Several of one name: whichever is meant holds that, if all do.
    const before = this.#held.get(name)
    this.#held.set(name, before === undefined || before === what ? what : "anything")
  }

  #initially(init: Node): Held {
    // What another name holds is known only when all have been seen.
    const it = bare(init)
    if (isFunction(it)) return "function"
    return it.type !== "Identifier" && this.#isMade(it) ? "made" : "anything"
  }

  /** The name is declared in the text and holds that, wherever it stands. */
  #holds(node: Node, what: Held): boolean {
    const name = named(node)
    return name !== undefined && !this.#outer.has(name) && this.#held.get(name) === what
  }

  /** A built-in's name that the text has no other meaning for; whether the session has one is to be found out. */
  #global(node: Node, known: ReadonlySet<string> | Readonly<Record<string, unknown>>): string | undefined {
    const name = named(node)
    if (name === undefined || this.#held.has(name)) return undefined
    if (!(known instanceof Set ? known.has(name) : Object.hasOwn(known, name))) return undefined
    if (!this.globals.includes(name)) this.globals.push(name)
    return name
  }

  // Statements and expressions

  #all(nodes: Nodes): boolean {
    return nodes.every((node) => node === null || this.#reads(node))
  }

  #maybe(node: Node | null): boolean {
    return node === null || this.#reads(node)
  }

  #reads(node: Node): boolean {
    switch (node.type) {
      case "EmptyStatement":
      case "DebuggerStatement":
      case "BreakStatement":
      case "ContinueStatement":
      case "TSInterfaceDeclaration":
      case "TSTypeAliasDeclaration":
      case "Literal":
        return true
      case "Identifier":
        return this.#isValue(node)
      case "ExpressionStatement":
      case "ChainExpression":
      case "ParenthesizedExpression":
      case "TSAsExpression":
      case "TSSatisfiesExpression":
      case "TSNonNullExpression":
      case "TSTypeAssertion":
        return this.#reads(node.expression)
      case "BlockStatement":
        return this.#all(node.body)
      case "VariableDeclaration": {
        if (node.kind !== "const" && node.kind !== "let" && node.kind !== "var") return false
        if (node.declare === true) return false
        return node.declarations.every(({ id, init }) => this.#isTarget(id) && this.#maybe(init))
      }
      case "IfStatement":
      case "ConditionalExpression":
        return this.#reads(node.test) && this.#reads(node.consequent) && this.#maybe(node.alternate)
      case "ForStatement":
        return this.#maybe(node.init) && this.#maybe(node.test) && this.#maybe(node.update) && this.#reads(node.body)
      case "ForInStatement":
      case "ForOfStatement":
        if (node.type === "ForOfStatement" && node.await) return false
        return this.#isTargetOrDeclared(node.left) && this.#reads(node.right) && this.#reads(node.body)
      case "WhileStatement":
      case "DoWhileStatement":
        return this.#reads(node.test) && this.#reads(node.body)
      case "LabeledStatement":
        return this.#reads(node.body)
      case "ReturnStatement":
      case "ThrowStatement":
      case "SpreadElement":
        return this.#maybe(node.argument)
      case "SwitchStatement":
        return (
          this.#reads(node.discriminant) && node.cases.every((it) => this.#maybe(it.test) && this.#all(it.consequent))
        )
      case "TryStatement": {
        const { block, handler, finalizer } = node
        const isCaught = handler === null || handler.param === null || this.#isTarget(handler.param)
        return isCaught && this.#reads(block) && this.#maybe(handler?.body ?? null) && this.#maybe(finalizer)
      }
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        return this.#isReadingFunction(node)
      case "UnaryExpression":
        return node.operator !== "delete" && this.#reads(node.argument)
      case "BinaryExpression":
        if (node.operator === "instanceof")
          return this.#reads(node.left) && this.#global(node.right, classes) !== undefined
        return node.left.type !== "PrivateIdentifier" && this.#reads(node.left) && this.#reads(node.right)
      case "LogicalExpression":
        return this.#reads(node.left) && this.#reads(node.right)
      case "SequenceExpression":
      case "TemplateLiteral":
        return this.#all(node.expressions)
      case "ArrayExpression":
        return this.#all(node.elements)
      case "ObjectExpression":
        return node.properties.every((it) => this.#isReadingProperty(it))
      case "MemberExpression":
        if (this.#global(node.object, { Math: 0, Number: 0 }) !== undefined) return !node.computed
        return (
          this.#reads(node.object) &&
          (node.computed ? this.#reads(node.property) : node.property.type !== "PrivateIdentifier")
        )
      case "UpdateExpression":
        return this.#isTarget(bare(node.argument)) || this.#isOwnMember(bare(node.argument), undefined)
      case "AssignmentExpression": {
        const left = bare(node.left)
        const isPlain = !/^(?:=|\?\?=|\|\|=|&&=)$/.test(node.operator)
        if (!this.#reads(node.right)) return false
        return this.#isTarget(left) || this.#isOwnMember(left, isPlain ? undefined : node.right)
      }
      case "NewExpression":
        return this.#global(node.callee, classes) !== undefined && this.#all(node.arguments)
      case "CallExpression":
        return this.#isReadingCall(node)
      default:
        return false
    }
  }

  /** A name that is read; those of built-ins only where what becomes of them is known. */
  #isValue(node: Node): boolean {
    const name = named(node)!
    if (name === "arguments" || name === "eval") return false
    if (this.#held.has(name) || this.#global(node, values) !== undefined) return true
    return this.#outer.has(name) && !isBuiltIn(name)
  }

  #isReadingFunction(node: AnyFunction): boolean {
    if (node.async || node.generator || node.body === null) return false
    return node.params.every((it) => this.#isTarget(it)) && this.#reads(node.body)
  }

  /** Variables, and patterns of them: nothing of an object is assigned. */
  #isTarget(node: Node): boolean {
    switch (node.type) {
      case "Identifier":
        return named(node) !== "arguments" && named(node) !== "eval"
      case "AssignmentPattern":
        return this.#isTarget(node.left) && this.#reads(node.right)
      case "RestElement":
        return this.#isTarget(node.argument)
      case "ArrayPattern":
        return node.elements.every((it) => it === null || this.#isTarget(it))
      case "ObjectPattern":
        return node.properties.every((it) => {
          if (it.type === "RestElement") return this.#isTarget(it)
          return (!it.computed || this.#reads(it.key)) && this.#isTarget(it.value)
        })
      default:
        return false
    }
  }

  #isTargetOrDeclared(node: Node): boolean {
    return node.type === "VariableDeclaration" ? this.#reads(node) : this.#isTarget(node)
  }

  /** A property that is written of what the text has made. `value` is missing where it can only be a primitive. */
  #isOwnMember(node: Node, value: Node | undefined): boolean {
    if (node.type !== "MemberExpression" || !this.#holds(node.object, "made")) return false
    if (node.computed) return this.#reads(node.property) && (value === undefined || isNoFunction(value))
    const name = named(node.property)
    return name !== undefined && isFree(name)
  }

  #isReadingProperty(node: ObjectPropertyKind): boolean {
    if (node.type === "SpreadElement") return this.#reads(node.argument)
    if (node.kind !== "init" || node.method || !this.#reads(node.value)) return false
    if (node.computed) return this.#reads(node.key) && isNoFunction(node.value)
    return isFree(named(node.key) ?? String((node.key as { value?: unknown }).value))
  }

  // Calls

  #isReadingCall(node: CallExpression): boolean {
    const callee = bare(node.callee)
    const given = node.arguments
    if (isFunction(callee)) return this.#reads(callee) && this.#all(given)
    if (callee.type === "Identifier") return this.#isCallable(callee) && this.#all(given)
    if (callee.type !== "MemberExpression" || callee.computed) return false
    const method = named(callee.property)
    if (method === undefined) return false
    const object = bare(callee.object)
    const owner = this.#global(object, { ...functionsOf, Map: 0 })
    if (owner !== undefined) {
      if (functionsOf[owner]?.has(method) === true) return this.#all(given)
      if (!callingFunctions.has(`${owner}.${method}`) || given.length > (method === "stringify" ? 3 : 2)) return false
      const [first, second, ...rest] = given
      const isCallback = (it: Node): boolean => this.#isCallback(it) || (method === "stringify" && this.#isText(it))
      return isAbsentOr(first, (it) => this.#reads(it)) && isAbsentOr(second, isCallback) && this.#all(rest)
    }
    if (!this.#reads(object)) return false
    if (quiet.has(method)) return this.#all(given)
    if (calling.has(method)) {
      const [first, ...rest] = given
      const isReduce = method === "reduce" || method === "reduceRight"
      return rest.length <= (isReduce ? 1 : 0) && isAbsentOr(first, (it) => this.#isCallback(it)) && this.#all(rest)
    }
    if (replacing.has(method)) {
      const [first, second, ...rest] = given
      const isGiven = (it: Node): boolean => this.#isText(it) || this.#isCallback(it)
      return isAbsentOr(first, (it) => this.#reads(it)) && isAbsentOr(second, isGiven) && rest.length === 0
    }
    if (!changing.has(method) || !this.#isMade(object)) return false
    return method === "sort" ? given.length <= 1 && given.every((it) => this.#isCallback(it)) : this.#all(given)
  }

  /** An object that nothing but the text holds: it has made it, and keeps it in a constant at most. */
  #isMade(node: Node): boolean {
    if (this.#holds(node, "made")) return true
    if (node.type === "ArrayExpression" || node.type === "ObjectExpression") return true
    if (node.type === "Literal") return "regex" in node
    if (node.type === "NewExpression") return this.#global(node.callee, makingClasses) !== undefined
    if (node.type !== "CallExpression") return false
    const callee = bare(node.callee)
    if (callee.type !== "MemberExpression" || callee.computed) return false
    const method = named(callee.property)
    if (method === undefined) return false
    const object = bare(callee.object)
    const owner = this.#global(object, functionsOf)
    if (owner !== undefined) return makingFunctions.has(`${owner}.${method}`)
    return making.has(method) || (returning.has(method) && this.#isMade(object))
  }

  /** A function whose text is here, or is looked at, or a built-in that is known. */
  #isCallable(node: Node): boolean {
    if (this.#holds(node, "function") || this.#global(node, functions) !== undefined) return true
    const name = named(node)!
    if (!this.#outer.has(name) || this.#held.has(name) || isBuiltIn(name)) return false
    if (!this.calls.includes(name)) this.calls.push(name)
    return true
  }

  #isText(node: Node): boolean {
    return isNoFunction(node) && this.#reads(node)
  }

  #isCallback(node: Node): boolean {
    const it = bare(node)
    return isFunction(it) ? this.#reads(it) : it.type === "Identifier" && this.#isCallable(it)
  }
}

type AnyFunction = ArrowFunctionExpression | Function

function isFunction(node: Node): node is AnyFunction {
  const { type } = node
  return type === "ArrowFunctionExpression" || type === "FunctionExpression" || type === "FunctionDeclaration"
}

function isBuiltIn(name: string): boolean {
  return functions.has(name) || classes.has(name) || Object.hasOwn(functionsOf, name)
}

/** A name that no method has which may be called on what the text makes. */
function isFree(name: string): boolean {
  return name !== "__proto__" && !methods.has(name)
}

/** What can only be a primitive, or an object made here. */
function isNoFunction(node: Node): boolean {
  const it = bare(node)
  switch (it.type) {
    case "Literal":
    case "TemplateLiteral":
    case "UnaryExpression":
    case "BinaryExpression":
    case "UpdateExpression":
    case "ArrayExpression":
    case "ObjectExpression":
      return true
    case "LogicalExpression":
      return isNoFunction(it.left) && isNoFunction(it.right)
    case "ConditionalExpression":
      return isNoFunction(it.consequent) && isNoFunction(it.alternate)
    default:
      return false
  }
}

function isAbsentOr(node: Node | undefined, test: (node: Node) => boolean): boolean {
  return node === undefined || (node.type !== "SpreadElement" && test(node))
}

/** Without brackets, types and the end of an optional chain around it. */
function bare(node: Node): Node {
  const it = withoutTypes(node)
  return it.type === "ChainExpression" ? bare(it.expression) : it
}

function named(node: Node): string | undefined {
  return node.type === "Identifier" ? node.name : undefined
}

/** What the function with that body may give back. */
function returnsOf(node: Node): (Node | null)[] {
  if (node.type === "ReturnStatement") return [node.argument]
  return isFunction(node) ? [] : childrenOf(node).flatMap(returnsOf)
}

function childrenOf(node: Node): Node[] {
  const fields = node as unknown as Record<string, unknown>
  return (visitorKeys[node.type] ?? []).flatMap((key) => fields[key]).filter(isNode)
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null
}
