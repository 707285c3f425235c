// What the engines do not have yet, as text that they have: standard decorators, `accessor`, `using` and `await using`.
//
// The text is edited in place and parsed again, so positions lead back through the edits. What a decorated class needs while it is made and later
// (its decorators, what they want done with a field) is in one variable, `$$_c`, of a function around the class: it is captured like any
// other, which is what lets such classes and their instances be values. A decorator is evaluated in the key of a method that is taken away
// again, since that is the one place in a class body where an expression is evaluated in the order of the text. `$$_lowered` stands for what
// `stdlib/decorators.ts` and `stdlib/disposal.ts` offer, `$$_using` for the resources of the eval itself.
import { visitorKeys } from "oxc-parser"
import { Edits, Output } from "./edits.ts"
import { insertMark } from "./closures.ts"
import type { AccessorProperty, Class, MethodDefinition, Node, Program, PropertyDefinition } from "./parse.ts"
import { Segments } from "./positions.ts"

export const loweredName = "$$_lowered"
export const usingName = "$$_using"
export const usingAwaitName = "$$_usingAwait"

export interface Desugared {
  text: string
  original(offset: number): number
}

const mayNeed = /@|\busing\b|\baccessor\b/

/** `undefined` when the text has nothing of the kind. */
export function desugar(
  text: string,
  program: Program,
): Desugared | { message: string; start: number; end: number } | undefined {
  if (!mayNeed.test(text)) return undefined
  const walk = new Desugaring(text)
  walk.program(program)
  if (walk.problem !== undefined) return walk.problem
  if (!walk.hasFound) return undefined
  const segments = new Segments()
  const output = new Output(segments)
  walk.edits.render(output, 0, text.length)
  const generated = output.text
  return {
    text: generated,
    original(offset) {
      const at = segments.source(Math.min(offset, generated.length))
      return at < 0 ? 0 : at
    },
  }
}

type Member = MethodDefinition | PropertyDefinition | AccessorProperty
type Variables = Extract<Node, { type: "VariableDeclaration" }>

class Desugaring {
  readonly edits: Edits
  hasFound = false
  problem: { message: string; start: number; end: number } | undefined
  #count = 0

  constructor(text: string) {
    this.edits = new Edits(text)
  }

  program(program: Program): void {
    for (const statement of program.body) {
      const node =
        statement.type === "ExportNamedDeclaration" && statement.declaration !== null
          ? statement.declaration
          : statement
      if (node.type === "VariableDeclaration" && isUsing(node)) {
        this.#keyword(node)
        const name = node.kind === "using" ? usingName : usingAwaitName
        for (const { init } of node.declarations) {
          if (init === null) continue
          this.edits.open(init.start, marked(`${name}.add(`))
          this.#visit(init)
          this.edits.close(init.end, marked(`,${node.kind !== "using"})`))
        }
      } else this.#visit(statement)
    }
  }

  #visit(node: Node, name?: string): void {
    switch (node.type) {
      case "ClassDeclaration":
      case "ClassExpression":
        this.#class(node, name)
        return
      case "ExportNamedDeclaration":
        if (node.declaration !== null) this.#visit(node.declaration)
        return
      case "BlockStatement":
      case "StaticBlock":
        this.#block(node)
        return
      case "SwitchStatement":
        for (const { consequent } of node.cases) {
          for (const each of consequent) {
            if (each.type !== "VariableDeclaration" || !isUsing(each)) continue
            this.#refuse(each, "`using` cannot stand directly in a `case`; put the statements of the case in a block")
          }
        }
        break
      case "ForOfStatement":
      case "ForInStatement":
        if (node.left.type === "VariableDeclaration" && isUsing(node.left)) {
          this.#forOf(node, node.left)
          return
        }
        break
      case "ForStatement":
        if (node.init?.type === "VariableDeclaration" && isUsing(node.init)) {
          const env = this.#openEnv(node.start, "{")
          this.#keyword(node.init)
          this.#declare(node.init, env)
          if (node.test !== null) this.#visit(node.test)
          if (node.update !== null) this.#visit(node.update)
          this.#visit(node.body)
          this.#closeEnv(node.end, env, node.init.kind !== "using", "}")
          return
        }
        break
      case "LabeledStatement":
        if (
          node.body.type === "ForStatement" &&
          node.body.init?.type === "VariableDeclaration" &&
          isUsing(node.body.init)
        )
          this.#refuse(
            node,
            "A loop with `using` in its head cannot have a label; declare the resource before the loop",
          )
        break
      case "VariableDeclarator":
        if (node.init !== null) this.#visit(node.init, node.id.type === "Identifier" ? node.id.name : undefined)
        this.#visit(node.id)
        return
      case "AssignmentExpression":
        this.#visit(node.left)
        this.#visit(node.right, node.left.type === "Identifier" ? node.left.name : undefined)
        return
      case "AssignmentPattern":
        this.#visit(node.left)
        this.#visit(node.right, node.left.type === "Identifier" ? node.left.name : undefined)
        return
      case "Property":
      case "PropertyDefinition":
        this.#visit(node.key)
        if (node.value !== null) this.#visit(node.value, node.computed ? undefined : keyText(node.key))
        return
      case "ParenthesizedExpression":
        this.#visit(node.expression, name)
        return
      case "FunctionDeclaration":
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        for (const parameter of node.params) {
          const { decorators } = parameter as { decorators?: Node[] | null }
          if (decorators?.[0] !== undefined) {
            this.#refuse(
              decorators[0],
              "Decorators of parameters belong to TypeScript's `experimentalDecorators`; a session has the standard ones, for classes and their members",
            )
          }
        }
        break
      default:
    }
    this.#children(node)
  }

  #children(node: Node): void {
    for (const key of visitorKeys[node.type] ?? []) {
      const child = (node as unknown as Record<string, Node | (Node | null)[] | null | undefined>)[key]
      if (child === null || child === undefined) continue
      if (!Array.isArray(child)) this.#visit(child)
      else for (const item of child) if (item !== null) this.#visit(item)
    }
  }

  #refuse({ start, end }: { start: number; end: number }, message: string): void {
    this.problem ??= { message, start, end }
  }

  // `using`

  #block(node: { start: number; end: number; body: Node[] }): void {
    const resources = node.body.filter(
      (each): each is Variables => each.type === "VariableDeclaration" && isUsing(each),
    )
    if (resources.length === 0) {
      for (const statement of node.body) this.#visit(statement)
      return
    }
    const open = this.edits.source.indexOf("{", node.start) + 1
    const env = this.#openEnv(open, "")
    for (const statement of node.body) {
      if (statement.type === "VariableDeclaration" && isUsing(statement)) {
        this.#keyword(statement)
        this.#declare(statement, env)
      } else this.#visit(statement)
    }
    const isAsync = resources.some(({ kind }) => kind === "await using")
    this.#closeEnv(node.end - 1, env, isAsync, "")
  }

  #forOf(node: Extract<Node, { type: "ForOfStatement" | "ForInStatement" }>, left: Variables): void {
    const { id } = left.declarations[0]!
    const turn = `$$_u${++this.#count}`
    const name = this.edits.source.slice(id.start, id.end)
    this.#keyword(left)
    this.edits.replace(id.start, id.end, turn)
    this.#visit(node.right)
    const isAsync = left.kind === "await using"
    const env = this.#openEnv(node.body.start, "{")
    this.edits.open(node.body.start, marked(`const ${name}=${env}.add(${turn},${isAsync});`))
    this.#visit(node.body)
    this.#closeEnv(node.body.end, env, isAsync, "}")
  }

  #keyword(node: Variables): void {
    this.hasFound = true
    const { source } = this.edits
    const end = source.indexOf("using", node.start) + "using".length
    this.edits.replace(node.start, end, "const".padEnd(end - node.start))
  }

  #declare(node: Variables, env: string): void {
    for (const { init } of node.declarations) {
      if (init === null) continue
      this.edits.open(init.start, marked(`${env}.add(`))
      this.#visit(init)
      this.edits.close(init.end, marked(`,${node.kind === "await using"})`))
    }
  }

  #openEnv(at: number, lead: string): string {
    const env = `$$_e${++this.#count}`
    this.edits.open(at, marked(`${lead}const ${env}=${loweredName}.env();try{`))
    return env
  }

  #closeEnv(at: number, env: string, isAsync: boolean, tail: string): void {
    const end = isAsync ? `const $$_r=${env}.end();if($$_r!==void 0)await $$_r` : `${env}.end()`
    this.edits.closeBody(at, marked(`\n}catch($$_x){${env}.fail($$_x)}finally{${end}}${tail}`))
  }

  // Classes

  #class(node: Class, given: string | undefined): void {
    const decorators = node.decorators ?? []
    const members = node.body.body
    const elements = members.filter((member): member is Member => decoratorsOf(member).length > 0)
    const needsState =
      decorators.length > 0 ||
      elements.length > 0 ||
      members.some((member) => member.type === "AccessorProperty" && member.computed)
    for (const decorator of decorators) this.#visit(decorator)
    if (node.superClass !== null) this.#visit(node.superClass)
    if (!needsState) {
      for (const member of members) this.#member(member, "", -1)
      return
    }
    this.hasFound = true
    const state = `$$_c${++this.#count}`
    const isDeclaration = node.type === "ClassDeclaration"
    const name = node.id?.name
    const lead = isDeclaration && name !== undefined ? `let ${name}=` : ""
    this.edits.open(node.start, `${mark}${lead}(()=>{const ${state}=${loweredName}.state();`)
    const isReplaced = decorators.length > 0
    for (const [index, decorator] of decorators.entries()) {
      this.#at(decorator, index === 0 ? `${state}.d=[` : ",")
    }
    if (isReplaced) this.edits.close(decorators.at(-1)!.end, "];")
    const keywordAt = this.#keywordAt(node)
    if (node.abstract === true) {
      // Only a declaration may say so.
      this.edits.blank(keywordAt, keywordAt + "abstract".length)
      for (const { type, start, end } of members) if (type.startsWith("TSAbstract")) this.edits.blank(start, end, ";")
    }
    let before = "return "
    let after = "})()"
    if (isReplaced) {
      before = "return "
      after = `,${state}.made})()`
      if (name !== undefined) {
        // The name inside the class is what its decorators make of it.
        this.edits.blank(node.id!.start, node.id!.end)
        before = `let ${name};return ${name}=`
        after = `,${name}=${state}.made})()`
      }
    }
    if (name === undefined) {
      before += given === undefined ? "(0," : `({[${JSON.stringify(given)}]:`
      after = (given === undefined ? ")" : `})[${JSON.stringify(given)}]`) + after
    }
    this.edits.open(keywordAt, before + mark)
    this.#body(node, state, elements, isReplaced ? (name ?? "") : undefined)
    this.edits.close(
      node.end,
      marked(after + (lead === "" ? "" : `;${loweredName}.declared(${JSON.stringify(name)},${name});`)),
    )
  }

  /** Where `class`, or `abstract` in front of it, begins. */
  #keywordAt(node: Class): number {
    const last = (node.decorators ?? []).at(-1)
    if (last === undefined) return node.start
    const rest = this.edits.source.slice(last.end)
    return last.end + (/^(?:\s|\/\*[^]*?\*\/|\/\/.*)*/.exec(rest)?.[0].length ?? 0)
  }

  /** A decorator's expression, without its `@`. */
  #at(decorator: Node, before: string): void {
    this.edits.replace(decorator.start, decorator.start + 1, `${before}(`)
    let { expression } = decorator as Extract<Node, { type: "Decorator" }> as { expression: Node }
    while (expression.type === "ParenthesizedExpression") expression = expression.expression
    // A method of something is called on it.
    if (expression.type === "MemberExpression" && expression.object.type !== "Super") {
      const { object, property, computed } = expression
      if (property.type !== "PrivateIdentifier") {
        this.edits.open(object.start, `${loweredName}.bound(`)
        const key = computed ? "," : `,${JSON.stringify(keyText(property))})`
        this.edits.replace(object.end, computed ? property.start : expression.end, key)
        if (computed) this.edits.replace(property.end, expression.end, ")")
      }
    }
    this.edits.close(decorator.end, ")")
  }

  #body(node: Class, state: string, elements: readonly Member[], replaced: string | undefined): void {
    const members = node.body.body
    for (const member of members) this.#member(member, state, elements.indexOf(member as Member))
    const described = elements.map((element, index) => this.#element(element, state, index))
    const hasExtras = elements.some((element) => element.type !== "PropertyDefinition" && !element.static)
    const start = node.body.start + 1
    const again = replaced === undefined || replaced === "" ? "" : `${replaced}=`
    this.edits.open(
      start,
      marked(
        `static{${again}${loweredName}.apply(this,${state},[${described.join(",")}])}` +
          `static{${loweredName}.statics(${state})}` +
          (hasExtras ? `#$$_i=${loweredName}.extras(this,${state});` : ""),
      ),
    )
    const access = elements.map((element, index) => this.#access(element, index)).join("")
    this.edits.closeBody(node.body.end - 1, marked(`;${access}static{${loweredName}.finish(${state})}`))
  }

  #member(member: Node, state: string, index: number): void {
    if (member.type.startsWith("TS")) return
    if (!isMember(member)) {
      this.#visit(member)
      return
    }
    for (const decorator of decoratorsOf(member)) this.#visit(decorator)
    this.#visit(member.key)
    if (member.value !== null) {
      const value: Node = member.value
      this.#visit(value, member.computed ? undefined : keyText(member.key))
    }
    if (index >= 0) this.#decorated(member, state, index)
    else if (member.type === "AccessorProperty") this.#accessor(member, state, `a${++this.#count}`, false)
  }

  #decorated(member: Member, state: string, index: number): void {
    const decorators = decoratorsOf(member)
    for (const [at, decorator] of decorators.entries()) {
      this.#at(decorator, at === 0 ? `${mark}static[(${state}.l[${index}]=[` : ",")
    }
    this.edits.close(decorators.at(-1)!.end, `],"$$_t")](){} ${mark}`)
    const { key, type } = member
    if (member.computed && type !== "AccessorProperty") {
      this.edits.open(key.start, marked(`${state}.k[${index}]=${loweredName}.key(`))
      this.edits.close(key.end, marked(")"))
    }
    const lead = member.static ? "static " : ""
    if (type === "MethodDefinition") {
      if (key.type !== "PrivateIdentifier") return
      const call = `${loweredName}.call(${state}.v[${index}],this`
      const text =
        member.kind === "get"
          ? `get #${key.name}(){return ${call})}`
          : member.kind === "set"
            ? `set #${key.name}($$_v){${call},$$_v)}`
            : `get #${key.name}(){return ${state}.v[${index}]}`
      this.edits.close(decorators.at(-1)!.end, marked(lead + text))
      this.edits.replace(key.start, key.end, `["#${key.name}"]`)
      return
    }
    if (type === "AccessorProperty") this.#accessor(member, state, `a${index}_`, true, index)
    const { value } = member
    if (value !== null) {
      const isAnonymous = isAnonymousFunction(value)
      const text = member.computed ? undefined : JSON.stringify(keyText(key))
      this.edits.open(
        value.start,
        marked(`${loweredName}.init(this,${state},${index},${isAnonymous && text !== undefined ? `({[${text}]:` : ""}`),
      )
      this.edits.close(value.end, marked(`${isAnonymous && text !== undefined ? `})[${text}]` : ""})`))
    } else this.edits.close(this.#endOf(member), marked(`=${loweredName}.init(this,${state},${index})`))
    this.edits.closeStatement(member.end, marked(`;${lead}#$$_x${index}=${loweredName}.extra(this,${state},${index});`))
  }

  #endOf({ end }: Member): number {
    return this.edits.source[end - 1] === ";" ? end - 1 : end
  }

  /** A getter and a setter of a private field. */
  #accessor(node: AccessorProperty, state: string, storage: string, isDecorated: boolean, index = -1): void {
    this.hasFound = true
    const { source } = this.edits
    const from = decoratorsOf(node).at(-1)?.end ?? node.start
    const at = from + source.slice(from, node.key.start).search(/\baccessor\b/)
    const field = `#$$_${storage}`
    const lead = node.static ? "static " : ""
    const isPrivate = node.key.type === "PrivateIdentifier"
    const read = isDecorated && isPrivate ? `${loweredName}.call(${state}.v[${index}].get,this)` : `this.${field}`
    const write =
      isDecorated && isPrivate ? `${loweredName}.call(${state}.v[${index}].set,this,$$_v)` : `this.${field}=$$_v`
    if (!node.computed) {
      const key = source.slice(node.key.start, node.key.end)
      this.edits.replace(
        at,
        node.key.end,
        marked(`get ${key}(){return ${read}}${lead}set ${key}($$_v){${write}}${lead}${field}`),
      )
      return
    }
    const slot = index >= 0 ? `${state}.k[${index}]` : `${state}.${storage}`
    this.edits.replace(at, at + "accessor".length, "get".padEnd("accessor".length))
    this.edits.open(node.key.start, marked(`${slot}=${loweredName}.key(`))
    this.edits.close(node.key.end, marked(")"))
    const close = source.indexOf("]", node.key.end) + 1
    this.edits.close(
      close,
      marked(`(){return this.${field}}${lead}set[${slot}]($$_v){this.${field}=$$_v}${lead}${field}`),
    )
  }

  /** What the runtime has to know of a decorated member, as text. */
  #element(member: Member, state: string, index: number): string {
    const { key } = member
    const isPrivate = key.type === "PrivateIdentifier"
    const name = member.computed ? `${state}.k[${index}]` : JSON.stringify(isPrivate ? `#${key.name}` : keyText(key))
    const kind = elementKind(member)
    let text = `{kind:"${kind}",name:${name},static:${member.static},private:${isPrivate},index:${index}`
    if (!isPrivate) {
      text += `,has:($$_o)=>${name} in $$_o`
      if (kind !== "setter") text += `,get:($$_o)=>$$_o[${name}]`
      if (kind !== "method" && kind !== "getter") text += `,set:($$_o,$$_v)=>{$$_o[${name}]=$$_v}`
    }
    return `${text}}`
  }

  /** Methods that only the runtime gets: they are taken away when the decorators were applied, and stay parts of the class. */
  #access(member: Member, index: number): string {
    const { key } = member
    if (key.type !== "PrivateIdentifier") return ""
    const own = `#${key.name}`
    const kind = elementKind(member)
    let text = `static["$$_h${index}"]($$_o){return ${own} in $$_o}`
    if (kind !== "setter") text += `static["$$_g${index}"]($$_o){return $$_o.${own}}`
    if (kind !== "method" && kind !== "getter") text += `static["$$_s${index}"]($$_o,$$_v){$$_o.${own}=$$_v}`
    if (kind === "accessor") {
      const field = `#$$_a${index}_`
      const lead = member.static ? "static " : ""
      text += `${lead}get["$$_o${index}"](){return this.${field}}${lead}set["$$_o${index}"]($$_v){this.${field}=$$_v}`
    }
    return text
  }
}

function elementKind(member: Member): string {
  if (member.type === "PropertyDefinition") return "field"
  if (member.type !== "MethodDefinition") return "accessor"
  return member.kind === "get" ? "getter" : member.kind === "set" ? "setter" : "method"
}

const mark = insertMark("$$_")

function marked(text: string): string {
  return mark + text + mark
}

function isUsing({ kind }: Variables): boolean {
  return kind === "using" || kind === "await using"
}

function isMember(node: Node): node is Member {
  return node.type === "MethodDefinition" || node.type === "PropertyDefinition" || node.type === "AccessorProperty"
}

function decoratorsOf(node: Node): Node[] {
  return isMember(node) ? (node.decorators ?? []) : []
}

function keyText(key: Node): string | undefined {
  if (key.type === "Identifier") return key.name
  if (key.type === "PrivateIdentifier") return `#${key.name}`
  return key.type === "Literal" ? String(key.value) : undefined
}

function isAnonymousFunction(node: Node): boolean {
  let inner = node
  while (inner.type === "ParenthesizedExpression") inner = inner.expression
  if (inner.type === "ArrowFunctionExpression") return true
  return (inner.type === "FunctionExpression" || inner.type === "ClassExpression") && inner.id === null
}
