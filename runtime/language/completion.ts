// The completion value: what a program's text is worth, by ECMAScript's UpdateEmpty rules.
//
// Statements are visited from the last to the first, and only those whose value can be the program's are marked: `e;` becomes
// `R=(0,e);`, where the comma keeps `e` from naming a function after R. A statement that may complete without a value (`if`, loops,
// `switch`, `try`) is preceded by `R=void 0;`. Where `break` or `continue` can leave a list early, every expression in it counts.
import type { Edits } from "./edits.ts"
import type { Node } from "./parse.ts"

/**
 * Marks the statements of a program; `result` is the name of the variable that receives the value. Returns where the marked statements
 * begin: what is written there no longer opens a statement.
 */
export function markCompletion(statements: readonly Node[], edits: Edits, result: string): ReadonlySet<number> {
  const marker = new Marker(edits, result)
  marker.list(statements, false)
  return marker.marked
}

class Marker {
  readonly marked = new Set<number>()
  readonly #edits: Edits
  readonly #result: string

  constructor(edits: Edits, result: string) {
    this.#edits = edits
    this.#result = result
  }

  /** True when the list surely has a value, so that nothing before it counts. */
  list(statements: readonly Node[], all: boolean): boolean {
    let isDefinite = false
    for (let index = statements.length - 1; index >= 0; index--) {
      if (this.#statement(statements[index]!, all, true)) isDefinite = true
      if (isDefinite && !all) return true
    }
    return isDefinite
  }

  #statement(node: Node, all: boolean, inList: boolean): boolean {
    switch (node.type) {
      case "ExpressionStatement":
        this.#mark(node)
        return true
      case "BlockStatement":
        return this.list(node.body, all)
      case "LabeledStatement": {
        let body: Node = node
        while (body.type === "LabeledStatement") body = body.body
        if (body.type === "BlockStatement") {
          const jumps = hasJump(body)
          const isDefinite = this.list(body.body, all || jumps)
          return isDefinite && !jumps
        }
        if (isCompound(body)) this.#reset(node, inList)
        return this.#compound(body, all) || this.#plain(body)
      }
      default:
        if (!isCompound(node)) return false
        this.#reset(node, inList)
        return this.#compound(node, all)
    }
  }

  #plain(node: Node): boolean {
    if (node.type !== "ExpressionStatement") return false
    this.#mark(node)
    return true
  }

  #compound(node: Node, all: boolean): boolean {
    switch (node.type) {
      case "IfStatement":
        this.#statement(node.consequent, all, false)
        if (node.alternate !== null) this.#statement(node.alternate, all, false)
        return true
      case "ForStatement":
      case "ForInStatement":
      case "ForOfStatement":
      case "WhileStatement":
      case "DoWhileStatement":
        this.#statement(node.body, all || hasJump(node.body), false)
        return true
      case "SwitchStatement":
        for (const { consequent } of node.cases) this.list(consequent, true)
        return true
      case "TryStatement":
        this.list(node.block.body, all)
        if (node.handler !== null) {
          this.#edits.lead(node.handler.body.start + 1, `${this.#result}=void 0;`)
          this.list(node.handler.body.body, all)
        }
        return true
      default:
        return false
    }
  }

  #mark(node: Extract<Node, { type: "ExpressionStatement" }>): void {
    this.marked.add(node.start)
    this.#edits.open(node.start, `${this.#result}=(0,`)
    this.#edits.closeStatement(node.expression.end, ")")
    if (this.#edits.source[node.end - 1] !== ";") this.#edits.terminate(node.end)
  }

  #reset(node: Node, inList: boolean): void {
    this.#edits.open(node.start, `${inList ? ";" : "{"}${this.#result}=void 0;`)
    if (!inList) this.#edits.closeBody(node.end, "}")
  }
}

function isCompound({ type }: Node): boolean {
  return type === "IfStatement" || type === "SwitchStatement" || type === "TryStatement" || isLoop(type)
}

function isLoop(type: Node["type"]): boolean {
  return (
    type === "ForStatement" ||
    type === "ForInStatement" ||
    type === "ForOfStatement" ||
    type === "WhileStatement" ||
    type === "DoWhileStatement"
  )
}

/** Whether `break` or `continue` stands in it, outside functions. */
function hasJump(node: Node): boolean {
  switch (node.type) {
    case "BreakStatement":
    case "ContinueStatement":
      return true
    case "BlockStatement":
      return node.body.some(hasJump)
    case "IfStatement":
      return hasJump(node.consequent) || (node.alternate !== null && hasJump(node.alternate))
    case "ForStatement":
    case "ForInStatement":
    case "ForOfStatement":
    case "WhileStatement":
    case "DoWhileStatement":
    case "LabeledStatement":
      return hasJump(node.body)
    case "SwitchStatement":
      return node.cases.some(({ consequent }) => consequent.some(hasJump))
    case "TryStatement":
      return (
        hasJump(node.block) ||
        (node.handler !== null && hasJump(node.handler.body)) ||
        (node.finalizer !== null && hasJump(node.finalizer))
      )
    default:
      return false
  }
}
