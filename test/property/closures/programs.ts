// Random programs full of functions that share, nest and change what they capture, as scripts to be run one after the other.
//
// Every function takes a number and gives one. A function calls at most one other, made before it, so every call ends; what it does besides
// is read and change the variables around it. A program is a list of scripts; the last value of each is a number or a list of numbers.
import { randomFrom } from "../language/texts.ts"

interface Scope {
  /** Variables that hold numbers and may be assigned. */
  variables: string[]
  constants: string[]
  functions: string[]
}

export class ClosurePrograms {
  readonly #random: () => number
  #names = 0
  readonly #top: Scope = { variables: [], constants: [], functions: [] }
  readonly #lists: string[] = []
  readonly #factories: string[] = []
  readonly #singles: string[] = []

  constructor(seed: number) {
    this.#random = randomFrom(seed)
  }

  scripts(): string[] {
    const scripts: string[] = [`let t0 = 1; let t1 = 2; const log = []`]
    this.#top.variables.push("t0", "t1")
    const count = 6 + this.#below(8)
    for (let index = 0; index < count; index++) scripts.push(this.#script())
    scripts.push(`[${this.#lists.map((list) => `...${list}.map((f, i) => f(i))`).join(",")}, t0, t1, log.length]`)
    return scripts
  }

  #script(): string {
    const kind = this.#below(10)
    if (kind < 2 || this.#lists.length === 0) return this.#declareList()
    if (kind < 4) {
      const name = this.#name("F")
      const text = `function ${name}(p, { q, r: [s = 2] = [] } = { q: 3 }, ...more) ${this.#factoryBody(["p", "q", "s"])}`
      this.#factories.push(name)
      return `${text}; 0`
    }
    if (kind === 4) {
      const [list, alias] = [this.#one(this.#lists), this.#name("A")]
      this.#singles.push(alias)
      return `let ${alias} = ${list}[${list}.length - 1]; [${alias} === ${list}[${list}.length - 1], ${alias}(1)]`
    }
    if (kind === 5) {
      const [from, to] = [this.#one(this.#lists), this.#one(this.#lists)]
      return `${to}.push(${from}[0]); [${to}.length, ${to}.at(-1) === ${from}[0]]`
    }
    if (kind === 6) {
      const list = this.#one(this.#lists)
      const name = this.#name("M")
      this.#lists.push(name)
      return `const ${name} = ((fn) => { const cache = new Map(); let misses = 0; return [(x) => { const k = x % 3; if (!cache.has(k)) { misses++; cache.set(k, fn(k)) } return cache.get(k) }, () => misses, (x) => cache.size + x] })(${list}[0]); ${name}[0](4)`
    }
    const list = this.#one(this.#lists)
    const single = this.#singles.length > 0 ? `, ${this.#one(this.#singles)}(2)` : ""
    return `[...${list}.map((f, i) => f(i + ${this.#below(5)})), ${list}[0](1)${single}]`
  }

  #declareList(): string {
    const name = this.#name("L")
    const kind = this.#below(4)
    let text
    if (kind === 0 && this.#factories.length > 0) {
      const factory = this.#one(this.#factories)
      text = `let ${name} = ${factory}(${this.#below(9)}, { q: ${this.#below(9)}, r: [${this.#below(2) === 0 ? "" : "5"}] }, 1, 2)`
    } else if (kind === 1) text = `const ${name} = (() => ${this.#factoryBody([])})()`
    else {
      const scope = this.#inner(this.#top)
      text = `let ${name} = []; { ${this.#statements(scope, "out", 2)} ${name} = out }`.replace(
        "{ ",
        "{ const out = []; ",
      )
    }
    this.#lists.push(name)
    return `${text}; ${name}.length`
  }

  #factoryBody(parameters: string[]): string {
    const scope = this.#inner(this.#top)
    scope.variables.push(...parameters)
    return `{ const out = []; ${this.#statements(scope, "out", 2)} out.push(${this.#function(scope, 1)}); return out }`
  }

  #inner(scope: Scope): Scope {
    return { variables: [...scope.variables], constants: [...scope.constants], functions: [...scope.functions] }
  }

  #statements(scope: Scope, out: string, depth: number): string {
    const parts: string[] = []
    const count = 2 + this.#below(4)
    for (let index = 0; index < count; index++) parts.push(this.#statement(scope, out, depth))
    return parts.join(" ")
  }

  #statement(scope: Scope, out: string, depth: number): string {
    const name = this.#name("v")
    switch (this.#below(depth > 0 ? 11 : 6)) {
      case 0: {
        const text = `let ${name} = ${this.#expression(scope)};`
        scope.variables.push(name)
        return text
      }
      case 1: {
        const text = `const ${name} = ${this.#expression(scope)};`
        scope.constants.push(name)
        return text
      }
      case 2: {
        const text = `const ${name} = ${this.#function(scope, 2)};`
        scope.functions.push(name)
        return `${text} ${out}.push(${name});`
      }
      case 3: {
        const text = `function ${name}(x) { ${this.#effects(scope)} return ${this.#result(this.#expression(scope, true))} }`
        scope.functions.push(name)
        return `${text} ${out}.push(${name});`
      }
      case 4:
      case 5:
        return `${out}.push(${this.#function(scope, 2)});`
      case 6: {
        const inner = this.#inner(scope)
        inner.variables.push(name)
        return `for (let ${name} = 0; ${name} < 2; ${name}++) { ${this.#statements(inner, out, depth - 1)} }`
      }
      case 7: {
        const inner = this.#inner(scope)
        inner.constants.push(name)
        return `for (const ${name} of [${this.#below(5)}, ${this.#below(5)}]) ${out}.push(${this.#function(inner, 1)});`
      }
      case 8: {
        const inner = this.#inner(scope)
        inner.variables.push(name)
        return `try { throw ${this.#below(9)} } catch (${name}) { ${this.#statements(inner, out, depth - 1)} }`
      }
      case 9: {
        const inner = this.#inner(scope)
        return `{ ${this.#statements(inner, out, depth - 1)} }`
      }
      default: {
        const inner = this.#inner(scope)
        inner.variables.push("this.n")
        return `${out}.push(new (function ${name}() { this.n = ${this.#expression(scope)}; this.f = ${this.#function(inner, 1, true)} })().f);`
      }
    }
  }

  /** A function as an expression; `isArrow` where it uses the `this` around it. */
  #function(scope: Scope, depth: number, isArrow = false): string {
    const own = this.#inner(scope)
    const body = (): string => `{ ${this.#effects(own)} return ${this.#result(this.#expression(own, true))} }`
    switch (this.#below(isArrow ? 3 : 8)) {
      case 0:
        return `(x) => ${this.#result(this.#expression(own, true))}`
      case 1:
        return `(x) => ${body()}`
      case 2: {
        if (depth === 0) return `(x) => x`
        const name = this.#name("k")
        const inner = this.#inner(scope)
        inner.variables.push(name)
        return `((${name}) => ${this.#function(inner, depth - 1, isArrow)})(${this.#expression(scope)})`
      }
      case 3:
        return `function (x) ${body()}`
      case 4: {
        const name = this.#name("self")
        return `function ${name}(x) { ${this.#effects(own)} return x > 4 ? ${name}(x % 4) : ${this.#result(this.#expression(own))} }`
      }
      case 5:
        return `({ m(x) ${body()} }).m`
      case 6: {
        const inner = this.#inner(scope)
        return `((o) => (x) => ((o.g = x), ${this.#result("o.g + x")}))({ get g() { ${this.#effects(inner)} return ${this.#result(this.#expression(inner))} }, set g(x) { ${this.#effects(inner)} } })`
      }
      default: {
        if (depth === 0) return `(x) => x + 1`
        // A function whose calls make new functions.
        const name = this.#name("n")
        const inner = this.#inner(scope)
        inner.variables.push(name)
        return `(x) => { let ${name} = x; const f = ${this.#function(inner, depth - 1)}; log.push(f); if (log.length > 40) log.length = 0; return f(1) + (log.length > 1 ? log[0](2) % 7 : 0) }`
      }
    }
  }

  /** Calls of functions in `log` must not push to it without end. */
  #effects(scope: Scope): string {
    if (scope.variables.length === 0 || this.#below(3) === 0) return ""
    const name = this.#one(scope.variables)
    return `${name} = ${this.#result(`${name} + ${1 + this.#below(4)}`)};`
  }

  #result(text: string): string {
    return `(${text}) % 1000`
  }

  #expression(scope: Scope, mayCall = false): string {
    const values = [...scope.variables, ...scope.constants]
    const leaf = (): string => (values.length > 0 && this.#below(4) > 0 ? this.#one(values) : String(this.#below(10)))
    if (mayCall && scope.functions.length > 0 && this.#below(3) === 0)
      return `${this.#one(scope.functions)}(${leaf()} % 5) + ${leaf()}`
    return this.#below(2) === 0 ? leaf() : `${leaf()} + ${leaf()} * 2`
  }

  #below(count: number): number {
    return Math.floor(this.#random() * count)
  }

  #one<T>(list: readonly T[]): T {
    return list[this.#below(list.length)]!
  }

  #name(prefix: string): string {
    return `${prefix}${++this.#names}`
  }
}
