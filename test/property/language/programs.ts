// Random programs for comparing our language with the engine's own.
//
// A program is a list of top-level statements. Text between the marks U+0001 and U+0002 are types, which only we get; text between U+0003 and U+0004
// is for the engine alone, between U+0005 and U+0006 for us alone. Names are only used after their declaration, and names of
// functions and classes are never assigned, so that a program means the same whole and cut into consecutive evals; with `wild` anything may
// come in any order. Every function and turn of a loop pays a unit of fuel, so every program ends.
//
// The grammar, as `grammar` counts it: declarations with every keyword and pattern (holes, rest, defaults, nesting), functions and arrows of every kind,
// closures, classes with fields, accessors, private names, `super` and static blocks, all loops with labels, `switch`, `try`, destructuring
// assignment, compound and logical assignment, `typeof` of unknown names, optional calls, tagged templates, spread, getters, generators; on request
// `await` in every place that has it (`for await`, async functions, arrows and generators) and names that are declared again, with another keyword or as another kind.
//
// A name that is declared again is assigned in the engine's text, which is what it means for everything that does not copy the value of a definition when it is
// made; so functions and classes that are declared again are only called, and have names of their own.

import { randomFrom } from "./texts.ts"

/** Constructs whose share is reported. */
export const grammar = [
  "redeclaration",
  "change of kind",
  "await",
  "for await",
  "async function",
  "class",
  "subclass",
  "private name",
  "super",
  "closure",
  "loop",
  "label",
  "switch",
  "try",
  "pattern",
  "generator",
  "getter",
  "template",
  "data on code",
] as const

export type Construct = (typeof grammar)[number]

export interface Program {
  statements: string[]
  constructs: ReadonlySet<Construct>
  /** Indices of statements that must begin an eval of their own, and of those that must also end it. */
  begins: ReadonlySet<number>
  stands: ReadonlySet<number>
  /** What it has declared at its top. */
  names: readonly string[]
}

export interface GeneratorOptions {
  readonly wild?: boolean
  readonly awaits?: boolean
  readonly redeclares?: boolean
}

interface Variable {
  name: string
  kind: "let" | "const" | "var" | "function" | "class" | "async" | "called"
}

export class Generator {
  readonly #random: () => number
  readonly #wild: boolean
  #scopes: Variable[][] = [[]]
  #counter = 0
  #loops = 0
  #switches = 0
  #labels: string[] = []
  #functions = 0
  #budget = 0
  /** Whether `await` may stand here. */
  #isAsync: boolean
  readonly #awaits: boolean
  readonly #redeclares: boolean
  readonly #constructs = new Set<Construct>()
  readonly #assigned = new Set<string>()

  constructor(seed: number, { wild = false, awaits = false, redeclares = false }: GeneratorOptions = {}) {
    this.#random = randomFrom(seed)
    this.#wild = wild
    this.#isAsync = awaits
    this.#awaits = awaits
    this.#redeclares = redeclares
  }

  program(): Program {
    const statements: string[] = []
    const begins = new Set<number>()
    const stands = new Set<number>()
    const count = 2 + this.#below(7)
    for (let index = 0; index < count; index++) {
      this.#budget = 9
      const again = this.#redeclares && index > 0 && this.#chance(0.45) ? this.#again() : undefined
      if (again !== undefined) {
        begins.add(statements.length)
        if (again.isAlone) stands.add(statements.length)
      }
      statements.push(again?.text ?? this.#statement(3))
    }
    const names = this.#scopes[0]!.map(({ name }) => name)
    if (this.#random() < 0.8) statements.push(`[${names.join(", ")}]`)
    return { statements, constructs: this.#constructs, begins, stands, names }
  }

  #uses(construct: Construct): void {
    this.#constructs.add(construct)
  }

  /** A name declared again. Definitions are in force from the next eval on for what was made before, so they stand alone. */
  #again(): { text: string; isAlone: boolean } | undefined {
    const isCalled = this.#chance(0.5)
    const known = this.#scopes[0]!.filter(({ kind }) =>
      isCalled ? kind === "called" : kind === "let" || kind === "var",
    )
    if (isCalled) {
      const isClass = this.#chance(0.3)
      const text = (name: string): string =>
        isClass ? `class ${name} ${this.#classBody(1)}` : `function ${name}${this.#functionRest(2)}`
      if (known.length > 0 && this.#chance(0.7)) {
        const { name } = this.#pick(known)
        this.#uses("redeclaration")
        return { text: `\u0003${name} = \u0004${text(name)}\u0003;\u0004`, isAlone: true }
      }
      const name = `r${++this.#counter}`
      const declared = text(name)
      this.#declare(name, "called")
      return { text: declared, isAlone: true }
    }
    if (known.length === 0) return undefined
    this.#uses("redeclaration")
    const variable = this.#pick(known)
    const { name } = variable
    // A definition cannot be assigned, neither by what is there already.
    if (this.#chance(0.5) && !this.#assigned.has(name)) {
      this.#uses("change of kind")
      variable.kind = "function"
      return { text: `\u0003${name} = \u0004function ${name}${this.#functionRest(2)}\u0003;\u0004`, isAlone: true }
    }
    // A name declared with `let` is in its dead zone meanwhile.
    if (this.#chance(0.3))
      return { text: `\u0005let \u0006${name} = ${this.#pick(["1", '"s"', "[2]"])};`, isAlone: false }
    const keyword = "var"
    if (this.#chance(0.3)) {
      const pattern = this.#pick([`[${name} = 1]`, `{ a: ${name} }`, `[, ...${name}]`])
      return {
        text: `\u0005${keyword} \u0006\u0003;(\u0004${pattern} = ${this.#iterable()}\u0003)\u0004;`,
        isAlone: false,
      }
    }
    return { text: `\u0005${keyword} \u0006${name} = ${this.#expression(2)};`, isAlone: false }
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit)
  }

  #chance(probability: number): boolean {
    return this.#random() < probability
  }

  #pick<T>(list: readonly T[]): T {
    return list[this.#below(list.length)]!
  }

  #fresh(kind: Variable["kind"]): string {
    const letter = kind === "class" ? "C" : kind === "function" ? "f" : "v"
    return `${letter}${++this.#counter}`
  }

  #declare(name: string, kind: Variable["kind"]): void {
    const scope = kind === "var" ? this.#scopes[0]! : this.#scopes.at(-1)!
    scope.push({ name, kind })
  }

  #visible(kinds?: readonly Variable["kind"][]): Variable[] {
    const all = this.#scopes.flat()
    return all.filter(({ kind }) =>
      kinds === undefined ? kind !== "async" && kind !== "called" : kinds.includes(kind),
    )
  }

  #name(): string {
    const visible = this.#visible()
    if (this.#wild && this.#chance(0.06)) return `v${1 + this.#below(this.#counter + 2)}`
    return visible.length === 0 || this.#chance(0.03) ? "id" : this.#pick(visible).name
  }

  #target(): string | undefined {
    const visible = this.#visible(this.#wild && this.#chance(0.2) ? undefined : ["let", "var"])
    if (this.#chance(0.04)) {
      const constants = this.#visible(["const"])
      if (constants.length > 0) return this.#pick(constants).name
    }
    if (visible.length === 0) return undefined
    const { name } = this.#pick(visible)
    this.#assigned.add(name)
    return name
  }

  /** Where a function begins that is not async. */
  #withoutAwait<T>(make: () => T): T {
    const outer = this.#isAsync
    this.#isAsync = false
    const made = make()
    this.#isAsync = outer
    return made
  }

  #scoped<T>(make: () => T): T {
    this.#scopes.push([])
    const made = make()
    this.#scopes.pop()
    return made
  }

  #type(): string {
    return this.#chance(0.2)
      ? `\u0001: ${this.#pick(["number", "any", "{ a: string }", "Array<() => void>", "unknown[]"])}\u0002`
      : ""
  }

  #end(): string {
    return this.#chance(0.75) ? ";" : ""
  }

  // Statements

  #block(depth: number, extra = ""): string {
    return this.#scoped(() => {
      const statements: string[] = extra === "" ? [] : [extra]
      const count = this.#below(3) + (this.#chance(0.9) ? 1 : 0)
      for (let index = 0; index < count; index++) statements.push(this.#statement(depth - 1))
      return this.#braces(statements.join("\n"))
    })
  }

  /** With and without room inside: what begins right behind a brace has the same place as what the block begins with. */
  #braces(text: string): string {
    return this.#chance(0.5) ? `{ ${text} }` : `{${text}}`
  }

  #body(depth: number): string {
    return this.#chance(0.8) ? this.#block(depth) : this.#simple()
  }

  #simple(): string {
    return `${this.#statementExpression()};`
  }

  /** An expression that does not begin like another statement. */
  #statementExpression(): string {
    if (this.#chance(0.06)) return this.#arrow(2)
    const text = this.#expression(2)
    return /^(?:function|class|\{|let\b|async\b|")/.test(text) ? `(${text})` : text
  }

  #statement(depth: number): string {
    if (depth <= 0 || --this.#budget < 0) return this.#statementExpression() + this.#end()
    const choice = this.#below(30)
    switch (choice) {
      case 0:
      case 1:
      case 2:
      case 3:
        return this.#variable()
      case 4:
      case 5:
        return this.#function(depth)
      case 6:
        return this.#class(depth)
      case 7:
      case 8:
        return `if (${this.#expression(2)}) ${this.#body(depth)}${this.#chance(0.5) ? ` else ${this.#body(depth)}` : ""}`
      case 9:
        return this.#forLoop(depth)
      case 10:
      case 20:
        return this.#forEach(depth)
      case 11:
        return this.#while(depth)
      case 12:
        return this.#switch()
      case 13:
      case 14:
        return this.#try(depth)
      case 15:
        return this.#labelled(depth)
      case 16:
        return this.#block(depth)
      case 17:
        return this.#jump()
      case 18:
        return this.#chance(0.3) ? `throw ${this.#expression(1)};` : `log(${this.#expression(2)})${this.#end()}`
      case 21:
      case 22:
      case 23:
        return this.#dataOnCode()
      case 19:
        return this.#chance(0.5) ? ";" : `\u0001type T${++this.#counter} = { a: number } | string\u0002;`
      default:
        return this.#statementExpression() + this.#end()
    }
  }

  /** Something put on a function, a class or a built-in, which is read wherever one is shown. A definition that is made again loses it. */
  #dataOnCode(): string {
    const known = this.#redeclares ? [] : this.#visible(["function", "class"])
    if (known.length === 0) return `log(${this.#expression(2)})${this.#end()}`
    this.#uses("data on code")
    const { name, kind } = this.#pick(known)
    const target = this.#pick([name, name, `${name}.prototype`, "Math"])
    const key = this.#pick([".x", ".y", '["x" + 1]', "[Symbol.for('s')]", kind === "class" ? ".m" : ".z"])
    const from = `(${target} ?? {})${key}`
    return this.#pick([
      `${from} = ${this.#expression(1)};`,
      `${from} = ${this.#arrow(1)};`,
      `delete ${from};`,
      `log(${from});`,
    ])
  }

  #variable(): string {
    const kind = this.#pick(["let", "let", "const", "const", "var"] as const)
    if (kind === "var" && this.#functions > 0) return `let ${this.#declarators("let")}${this.#end()}`
    const actual = kind === "var" && !this.#wild && this.#scopes.length > 1 ? "let" : kind
    return `${actual} ${this.#declarators(actual)}${this.#end()}`
  }

  #declarators(kind: "let" | "const" | "var"): string {
    const count = this.#chance(0.8) ? 1 : 2
    const parts: string[] = []
    for (let index = 0; index < count; index++) {
      if (this.#chance(0.25)) {
        const names: string[] = []
        const pattern = this.#pattern(2, names)
        parts.push(`${pattern}${this.#type()} = ${this.#iterable()}`)
        for (const name of names) this.#declare(name, kind)
        continue
      }
      const name = this.#fresh(kind)
      const hasValue = kind === "const" || this.#chance(0.85)
      parts.push(`${name}${this.#type()}${hasValue ? ` = ${this.#expression(3)}` : ""}`)
      this.#declare(name, kind)
    }
    return parts.join(", ")
  }

  #pattern(depth: number, names: string[]): string {
    this.#uses("pattern")
    const target = (): string => {
      if (depth > 0 && this.#chance(0.2)) return `${this.#pattern(depth - 1, names)} = ${this.#iterable()}`
      const name = this.#fresh("let")
      names.push(name)
      return this.#chance(0.4) ? `${name} = ${this.#expression(1)}` : name
    }
    const rest = (): string => {
      const name = this.#fresh("let")
      names.push(name)
      return `...${name}`
    }
    const parts: string[] = []
    const count = this.#below(3)
    if (this.#chance(0.5)) {
      for (let index = 0; index < count; index++) parts.push(this.#chance(0.2) ? "" : target())
      if (this.#chance(0.3)) parts.push(rest())
      return `[${parts.join(", ")}]`
    }
    for (let index = 0; index < count; index++) {
      if (this.#chance(0.25)) {
        const name = this.#fresh("let")
        names.push(name)
        parts.push(this.#chance(0.5) ? name : `${name} = ${this.#expression(1)}`)
      } else parts.push(`${this.#pick(["a", "b", '"c"', `[${this.#expression(1)}]`])}: ${target()}`)
    }
    if (this.#chance(0.3)) parts.push(rest())
    return `{ ${parts.join(", ")} }`
  }

  /** A value that any pattern can take apart. */
  #iterable(): string {
    return this.#pick([
      () =>
        `Object.assign([${this.#expression(1)}, ${this.#expression(1)}], { a: ${this.#expression(1)}, b: [${this.#expression(1)}] })`,
      () => `Object.assign([[1, 2], { a: 3 }], { a: [4, 5], b: { a: 6 } })`,
      () => `"xy"`,
    ])()
  }

  #parameters(): string {
    const parts: string[] = []
    const count = this.#below(3)
    for (let index = 0; index < count; index++) {
      if (this.#chance(0.2)) {
        const names: string[] = []
        parts.push(`${this.#pattern(1, names)}${this.#type()} = ${this.#iterable()}`)
        for (const name of names) this.#declare(name, "let")
        continue
      }
      const name = this.#fresh("let")
      parts.push(`${name}${this.#chance(0.3) ? ` = ${this.#expression(1)}` : this.#type()}`)
      this.#declare(name, "let")
    }
    if (this.#chance(0.1)) {
      const name = this.#fresh("let")
      this.#declare(name, "let")
      parts.push(`...${name}`)
    }
    return parts.join(", ")
  }

  /** Parameters and body of a function; loops and labels outside do not reach in. */
  #functionRest(depth: number, between = " ", isAsync = false): string {
    return this.#scoped(() => {
      this.#uses("closure")
      const outer = { loops: this.#loops, switches: this.#switches, labels: this.#labels, isAsync: this.#isAsync }
      this.#isAsync = false
      this.#loops = 0
      this.#switches = 0
      this.#labels = []
      this.#functions += 1
      const parameters = this.#parameters()
      this.#isAsync = isAsync
      const body = this.#block(depth - 1, "tick();")
      const result = this.#chance(0.7)
        ? body.replace(/\}$/, `; return ${this.#chance(0.8) ? this.#expression(1) : ""} }`)
        : body
      this.#functions -= 1
      this.#loops = outer.loops
      this.#switches = outer.switches
      this.#labels = outer.labels
      this.#isAsync = outer.isAsync
      return `(${parameters})${this.#chance(0.15) ? "\u0001: any\u0002" : ""}${between}${result}`
    })
  }

  #function(depth: number): string {
    const name = this.#fresh("function")
    if (this.#awaits && this.#chance(0.4)) return this.#asyncFunction(name, depth)
    const star = this.#chance(0.12) ? "*" : ""
    if (star !== "") this.#uses("generator")
    const generics = this.#chance(0.1) ? "\u0001<T>\u0002" : ""
    const text = `function${star} ${name}${generics}${this.#functionRest(depth)}`
    this.#declare(name, "function")
    return text
  }

  #asyncFunction(name: string, depth: number): string {
    this.#uses("async function")
    const text = `async function ${name}${this.#functionRest(depth, " ", true)}`
    this.#declare(name, "async")
    return text
  }

  #classBody(depth: number, isDerived = false): string {
    this.#uses("class")
    const outer = this.#isAsync
    this.#isAsync = false
    const text = this.#members(depth, isDerived)
    this.#isAsync = outer
    return text
  }

  #members(depth: number, isDerived: boolean): string {
    const members: string[] = []
    if (isDerived) this.#uses("subclass")
    const count = 1 + this.#below(4)
    for (let index = 0; index < count; index++) {
      members.push(
        this.#pick([
          () => `${this.#pick(["m", "n"])}${this.#functionRest(depth)}`,
          () => `static s${index}${this.#functionRest(depth)}`,
          () => `get g() { tick(); return ${this.#expression(1)} }`,
          () => `\u0001readonly \u0002x${index}${this.#type()} = ${this.#expression(1)};`,
          () => `static y${index} = ${this.#expression(1)};`,
          () => {
            this.#uses("private name")
            return this.#pick([
              () => `#p${index} = ${this.#expression(1)}; q${index}() { return this.#p${index} }`,
              () => `#p${index} = 1; q${index}() { tick(); return (v) => [this.#p${index}++, v] }`,
              () => `static #p${index} = ${this.#expression(1)}; static s${index}() { return this.#p${index} }`,
              () => `#p${index}(v) { tick(); return v } q${index}(v) { return [1].map((w) => this.#p${index}(w)) }`,
            ])()
          },
          () => {
            this.#uses("super")
            return isDerived && this.#chance(0.5)
              ? `constructor(v) { super(v); tick(); this.k${index} = () => super.m?.(v) }`
              : `u${index}(v) { tick(); return this.#has(super.m) ? super.toString.length : v } #has(v) { return typeof v }`
          },
          () => `static { log(${this.#expression(1)}) }`,
          () =>
            `[${this.#pick(['"k"', "Symbol.iterator", this.#expression(1)])}]() { tick(); return [][Symbol.iterator]() }`,
          () => `z${index};`,
        ])(),
      )
    }
    // One constructor, and one declaration of each private name.
    const once = members.filter(
      (text, at) => !isRepeated(members, at, "constructor(") && !isRepeated(members, at, "#has("),
    )
    return this.#braces(once.join("\n"))

    function isRepeated(all: readonly string[], at: number, part: string): boolean {
      return all[at]!.includes(part) && all.slice(0, at).some((each) => each.includes(part))
    }
  }

  #class(depth: number): string {
    const classes = this.#visible(["class"])
    const heritage = classes.length > 0 && this.#chance(0.5) ? ` extends ${this.#pick(classes).name}` : ""
    const name = this.#fresh("class")
    const text = `class ${name}${heritage} ${this.#classBody(depth, heritage !== "")}`
    this.#declare(name, "class")
    return text
  }

  #classExpression(depth: number): string {
    const name = this.#chance(0.3) ? this.#fresh("class") : ""
    const classes = this.#visible(["class"])
    const heritage = this.#chance(0.4)
      ? ` extends ${classes.length > 0 ? this.#pick(classes).name : `(class ${this.#classBody(1)})`}`
      : ""
    return `(class ${name}${heritage} ${this.#classBody(depth, heritage !== "")})`
  }

  #loop(depth: number): string {
    this.#uses("loop")
    this.#loops += 1
    const body = this.#chance(0.85) ? this.#block(depth, "tick();") : `tick(), ${this.#simple()}`
    this.#loops -= 1
    return body
  }

  #forLoop(depth: number): string {
    return this.#scoped(() => {
      const name = this.#fresh("let")
      const keyword = this.#functions === 0 && this.#scopes.length === 2 && this.#chance(0.3) ? "var" : "let"
      this.#declare(name, keyword)
      return `for (${keyword} ${name} = 0; ${name} < ${1 + this.#below(3)}; ${name}++) ${this.#loop(depth)}`
    })
  }

  #forEach(depth: number): string {
    return this.#scoped(() => {
      const isIn = this.#chance(0.3)
      const source = isIn ? `{ a: 1, b: ${this.#expression(1)} }` : `[${this.#expression(1)}, ${this.#expression(1)}]`
      if (!isIn && this.#isAsync && this.#chance(0.7)) {
        this.#uses("for await")
        const name = this.#fresh("let")
        this.#declare(name, "let")
        const items = this.#chance(0.5)
          ? source
          : `(async function* () { tick(); yield ${this.#leaf()}; yield* ${source} })()`
        return `for await (const ${name} of ${items}) ${this.#loop(depth)}`
      }
      const target = this.#chance(0.25) ? this.#target() : undefined
      if (target !== undefined) return `for (${target} ${isIn ? "in" : "of"} ${source}) ${this.#loop(depth)}`
      const name = this.#fresh("let")
      const keyword =
        this.#functions === 0 && this.#scopes.length === 2 && this.#chance(0.3)
          ? "var"
          : this.#pick(["let", "const"] as const)
      this.#declare(name, keyword)
      return `for (${keyword} ${name} ${isIn ? "in" : "of"} ${source}) ${this.#loop(depth)}`
    })
  }

  #while(depth: number): string {
    const name = this.#fresh("let")
    const body = this.#loop(depth)
    const guarded = `{ if (++${name} > ${1 + this.#below(3)}) break; ${body} }`
    const loop = this.#chance(0.5) ? `while (true) ${guarded}` : `do ${guarded} while (${this.#expression(1)})`
    return `{ let ${name} = 0; ${loop} }`
  }

  #switch(): string {
    this.#switches += 1
    this.#uses("switch")
    const text = this.#scoped(() => {
      const cases: string[] = []
      const count = 1 + this.#below(3)
      for (let index = 0; index < count; index++) {
        const label =
          this.#chance(0.2) && !cases.some((each) => each.startsWith("default"))
            ? "default:"
            : `case ${this.#expression(1)}:`
        // Behind a parenthesis TypeScript reads `case (a): b => c` as an arrow with a type.
        const body = this.#scoped(() => this.#statement(1)).replace(/^(?=\(?\w+\)? =>|\()/, ";")
        cases.push(
          `${label} ${/^(?:let|const|class|function)\b/.test(body) ? `{ ${body} }` : body}${this.#chance(0.5) ? "\nbreak;" : ""}`,
        )
      }
      return `switch (${this.#expression(1)}) { ${cases.join("\n")} }`
    })
    this.#switches -= 1
    return text
  }

  #try(depth: number): string {
    this.#uses("try")
    const block = this.#block(depth)
    const handler = this.#chance(0.8)
      ? this.#scoped(() => {
          if (this.#chance(0.2)) return ` catch ${this.#block(depth)}`
          if (this.#chance(0.2)) {
            const name = this.#fresh("let")
            this.#declare(name, "let")
            return ` catch ({ name: ${name} }) ${this.#block(depth)}`
          }
          const name = this.#fresh("let")
          this.#declare(name, "let")
          return ` catch (${name}${this.#chance(0.2) ? "\u0001: unknown\u0002" : ""}) ${this.#block(depth, this.#chance(0.5) ? `log(${name} && ${name}.name);` : "")}`
        })
      : ""
    const finalizer = handler === "" || this.#chance(0.3) ? ` finally ${this.#block(depth)}` : ""
    return `try ${block}${handler}${finalizer}`
  }

  #labelled(depth: number): string {
    const label = `l${++this.#counter}`
    this.#uses("label")
    this.#labels.push(label)
    const text = this.#chance(0.5) ? this.#block(depth) : this.#forLoop(depth)
    this.#labels = this.#labels.filter((each) => each !== label)
    return `${label}: ${text}`
  }

  #jump(): string {
    if (this.#labels.length > 0 && this.#chance(0.5)) return `break ${this.#pick(this.#labels)};`
    if (this.#loops > 0) return this.#chance(0.5) ? "break;" : "continue;"
    return this.#switches > 0 ? "break;" : this.#statementExpression() + this.#end()
  }

  // Expressions

  #expression(depth: number): string {
    const text = this.#bareExpression(depth)
    return this.#chance(0.05) ? `(${text}\u0001 as any\u0002)` : text
  }

  #bareExpression(depth: number): string {
    if (depth <= 0 || --this.#budget < -14) return this.#leaf()
    if (this.#isAsync && this.#chance(0.15)) return this.#await(depth)
    if (this.#redeclares && this.#chance(0.12)) {
      const called = this.#visible(["called"])
      if (called.length > 0) return `called(() => ${this.#pick(called).name}, ${this.#expression(depth - 1)})`
    }
    const inner = (): string => this.#expression(depth - 1)
    switch (this.#below(34)) {
      case 0:
      case 1:
        return `(${inner()} ${this.#pick(["+", "-", "*", "%", "<", ">=", "===", "!==", "&&", "||", "??", ",", "|"])} ${inner()})`.replace(
          /^\((.*) \?\? (.*)\)$/s,
          "(($1) ?? ($2))",
        )
      case 2:
        return this.#assignment(depth)
      case 3:
        return this.#assignment(depth)
      case 4: {
        const target = this.#target()
        return target === undefined
          ? this.#leaf()
          : this.#pick([`${target}++`, `(--${target})`, `(${target} += ${inner()})`])
      }
      case 5:
        return `typeof ${this.#chance(0.3) ? `unknown${this.#below(3)}` : this.#name()}`
      case 6:
        return `(${inner()} ? ${inner()} : ${inner()})`
      case 7:
        return `[${this.#chance(0.2) ? ", " : ""}${inner()}, ...[${inner()}]]`
      case 8:
      case 9:
        return this.#object(depth)
      case 10:
      case 11:
      case 12:
        return this.#call(depth)
      case 13:
        return `(${this.#arrow(depth)})`
      case 14:
        return this.#arrow(depth, true)
      case 15:
        return `(function${this.#chance(0.3) ? ` ${this.#fresh("let")}` : ""}${this.#functionRest(depth)})`
      case 16:
        return this.#classExpression(depth)
      case 17:
        return `\`a\${${inner()}}b\``
      case 18:
        this.#uses("template")
        return `tag\`x\${${inner()}}y\``
      case 19:
        return `${this.#name()}?.${this.#pick(["a", "m?.()", "[0]", "length"])}`
      case 20:
        return `${this.#name()}${this.#pick(["\u0001!\u0002", ""])}.${this.#pick(["a", "length", "name", "x0"])}`
      case 21: {
        const classes = this.#visible(["class"])
        return classes.length === 0 ? inner() : `new ${this.#pick(classes).name}(${inner()})`
      }
      case 22:
        this.#uses("generator")
        return `[...(function* () { tick(); yield ${this.#withoutAwait(inner)}; yield* [${this.#withoutAwait(inner)}] })()]`
      case 23:
        return `log(${inner()})`
      case 24:
        return `void ${this.#name()}`
      case 25:
        return `show(${inner()})`
      case 26:
        return `!${inner()}`
      case 27:
        return this.#patternAssignment(depth)
      default:
        return this.#leaf()
    }
  }

  #await(depth: number): string {
    this.#uses("await")
    const inner = (): string => this.#expression(depth - 1)
    const functions = this.#visible(["async"])
    switch (this.#below(functions.length > 0 ? 5 : 3)) {
      case 0:
        return `(await ${inner()})`
      case 1:
        return `(await Promise.resolve(${inner()}))`
      case 2:
        return `(await (${this.#asyncArrow(depth)})(${inner()}))`
      default:
        return `(await ${this.#pick(functions).name}(${inner()}))`
    }
  }

  #asyncArrow(depth: number): string {
    this.#uses("async function")
    return this.#scoped(() => {
      if (depth > 1 && this.#chance(0.5)) return `async ${this.#functionRest(depth, " => ", true)}`
      const name = this.#fresh("let")
      this.#declare(name, "let")
      const outer = this.#isAsync
      this.#isAsync = true
      const text = `async (${name}) => (tick(), ${this.#expression(Math.max(0, depth - 1))})`
      this.#isAsync = outer
      return text
    })
  }

  #leaf(): string {
    if (this.#chance(0.6)) return this.#name()
    return this.#pick(["0", "1", "2.5", "-0", '"s"', "true", "null", "undefined", "[]", "({})", "NaN"])
  }

  #assignment(depth: number): string {
    const target = this.#target()
    if (target === undefined) return this.#leaf()
    const operator = this.#pick(["=", "=", "=", "+=", "??=", "||=", "&&=", "-="])
    const value = this.#chance(0.2) ? this.#arrow(depth - 1) : this.#expression(depth - 1)
    return `(${target} ${operator} ${value})`
  }

  #patternAssignment(depth: number): string {
    const [first, second] = [this.#target(), this.#target()]
    if (first === undefined || second === undefined) return this.#leaf()
    return this.#pick([
      () => `([${first}, ${second} = ${this.#expression(depth - 1)}] = [${this.#expression(depth - 1)}])`,
      () => `({ a: ${first}, ${second} = ${this.#arrow(0)} } = { a: ${this.#expression(depth - 1)} })`,
      () => `([${first}, ...${second}] = [${second}, ${first}, 1])`,
    ])()
  }

  #object(depth: number): string {
    const parts: string[] = []
    const count = 1 + this.#below(3)
    for (let index = 0; index < count; index++) {
      parts.push(
        this.#pick([
          () => this.#name(),
          () => `a: ${this.#expression(depth - 1)}`,
          () => `b: ${this.#arrow(depth - 1)}`,
          () => `m${this.#functionRest(depth - 1)}`,
          () => {
            this.#uses("getter")
            return `get g() { tick(); return ${this.#withoutAwait(() => this.#expression(1))} }`
          },
          () => `...${this.#object(0).replace(/^\(|\)$/g, "")}`,
          () => `[${this.#expression(1)}]: ${this.#expression(depth - 1)}`,
        ])(),
      )
      if (depth <= 0) break
    }
    return depth <= 0 ? `({ a: ${this.#leaf()} })` : `({ ${parts.join(", ")} })`
  }

  #arrow(depth: number, isCalled = false): string {
    const text = this.#scoped(() => {
      if (depth > 1 && this.#chance(0.4)) return this.#functionRest(depth, " => ")
      const name = this.#fresh("let")
      this.#declare(name, "let")
      return `${this.#chance(0.3) ? `(${name}${this.#type()})` : name} => (tick(), ${this.#withoutAwait(() => this.#expression(Math.max(0, depth - 1)))})`
    })
    return isCalled ? `(${text})(${this.#leaf()})` : text
  }

  #call(depth: number): string {
    const callee = this.#chance(0.1) ? `(${this.#name()})` : this.#name()
    const optional = this.#chance(0.5) ? "?." : ""
    const spread = this.#chance(0.15) ? "...[1, 2]" : this.#expression(depth - 1)
    return `${callee}${optional}${this.#chance(0.05) ? "" : ""}(${spread})`
  }
}
