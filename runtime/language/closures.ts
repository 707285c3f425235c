// Functions as values: where in the text each is stamped when it is created, and the text from which it is made again in another realm.
//
// A stamp is a token and a number. The token stands for one activation of a scope: a function that reads the variables which inner
// functions capture, declared where the scope begins, so that all functions of the activation carry the same one. The number is the
// function's place among all functions of its source. A source is one top-level statement, or one definition: it is kept as text, with what
// its outer names were compiled to, and nothing else is needed to write the activation's skeleton: its scopes, one inside the other, each
// with its captured variables and with the functions it creates, unchanged. Running a skeleton runs no user code.
//
// A function that uses private names or `super` is made inside of the class or literal that gives these a meaning (`homes.ts`).
//
// What stands before or after the user's text lies between two marks (`insertMark`), so that it can be cut out of what `toString` shows.
import type { Edits, Output } from "./edits.ts"
import { holderOf, Homes } from "./homes.ts"
import type { Analysis, ClassSite, FunctionSite, Home, Scope } from "./scope.ts"

/** A text that functions were written in, as the committed state keeps it. */
export interface SiteSource {
  source: string
  /** Outer names that its functions reach through cells. */
  cells: string[]
  /** Outer names that are variables of its definition's factory. */
  roots: string[]
  filename: string
  line: number
  column: number
}

/** A range of the submission that is a source of its own. */
export interface SourceRange {
  start: number
  end: number
  isDefinition: boolean
  /** Its number among the unit's sources, or -1 when no function of it is kept. */
  index: number
  functions: Map<FunctionSite, number>
  scopes: Map<Scope, number>
}

/** Beyond these numbers a submission's functions stay what they are to the engine: a table of them would weigh more than it helps. */
const functionsMax = 20_000

export class Closures {
  readonly #edits: Edits
  readonly #analysis: Analysis
  readonly #marker: string
  readonly #mark: string
  readonly #captured = new Map<Scope, Set<string>>()
  /** What a function in a field's initialiser captures of it: those tokens stand where the function is created. */
  readonly #inline = new Map<FunctionSite, Set<string>>()
  readonly #kept = new Set<FunctionSite>()
  readonly #descriptors: string[] = []
  readonly #descriptorOf = new Map<Scope | FunctionSite | SourceRange, number>()
  readonly #live = new Set<FunctionSite | undefined>()
  readonly #numbers = new Map<Scope | FunctionSite, number>()
  readonly #declared = new Map<number, FunctionSite>()
  /** Object literals with accessors that are kept, by the first of these. */
  readonly #objects = new Map<FunctionSite, FunctionSite[]>()
  /** Object literals with methods that ask them for `super`, by the first of these. */
  readonly #askers = new Map<number, FunctionSite[]>()
  /** Literals that are homes, by the first of their members. */
  readonly #literals = new Map<FunctionSite, Home>()
  readonly #homes = new Homes()
  /** The first and last change that belong to a site's own text. */
  readonly #bounds = new Map<FunctionSite, { opened: number; closed: number }>()
  /** Classes with computed keys, by the scope whose activation keeps what the keys were. */
  readonly #keyed = new Map<Scope | undefined, FunctionSite[]>()
  /** Scopes that something was put at the beginning of. */
  readonly #opened = new Set<Scope>()
  #ranges: readonly SourceRange[] = []
  #byHolder: Map<Scope | undefined, FunctionSite[]> | undefined

  constructor(edits: Edits, analysis: Analysis, marker: string) {
    this.#edits = edits
    this.#analysis = analysis
    this.#marker = marker
    this.#mark = insertMark(marker)
    for (const [number, scope] of analysis.scopes.entries()) this.#numbers.set(scope, number)
    for (const [number, site] of analysis.functions.entries()) {
      this.#numbers.set(site, number)
      if (site.form === "declaration" && site.scope.parent === undefined) this.#declared.set(site.start, site)
    }
    if (analysis.functions.length <= functionsMax && !analysis.usesDirectEval) this.#decide()
  }

  /** The frame of the statements themselves can be suspended with variables that functions share. */
  get #hasClasses(): boolean {
    for (const { site } of this.#analysis.classes) if (this.#kept.has(site)) return true
    return false
  }

  /** Variables for homes, and for the keys of classes, that stand in no function and no block: of the definition that begins there, or of the statements. */
  rootVariables(definition?: number): string {
    const isInside = (part: Scope | FunctionSite): boolean => {
      const { start, isDefinition } = this.#rangeOf(part)
      return definition === undefined ? !isDefinition : start === definition
    }
    const names = (this.#keyed.get(undefined) ?? []).filter(isInside).map((site) => this.#keysName(site))
    const keys = names.length === 0 ? "" : `let ${names.join(",")};`
    const homes = this.#homes.heldBy(undefined).filter(({ scope }) => isInside(scope))
    return keys + homes.map((home) => this.#homeVariable(home)).join("")
  }

  get statementsMayLive(): boolean {
    return this.#live.has(undefined)
  }

  isKept(site: FunctionSite): boolean {
    return this.#kept.has(site)
  }

  /** The variables that stamping needs at the head of a factory or of the statements; "" when nothing is stamped. */
  get stampers(): string {
    if (this.#kept.size === 0) return ""
    const accessors = this.#objects.size > 0 ? `,${this.#marker}3g=${this.#marker}0.stampAccessors` : ""
    const classes = this.#hasClasses ? `,${this.#marker}3k=${this.#marker}0.stampClass` : ""
    return `${this.#marker}3=${this.#marker}0.stamp${accessors}${classes}`
  }

  // What is captured, and by which functions that can be kept

  #decide(): void {
    const { functions, captures } = this.#analysis
    for (const site of functions) {
      if (!isKeepable(site)) continue
      if (site.form === "class" && site.made!.keys.length > 0) {
        const scope = holderOf(site.scope)
        if (scope === "none") continue
        const list = this.#keyed.get(scope)
        if (list === undefined) this.#keyed.set(scope, [site])
        else list.push(site)
      }
      this.#kept.add(site)
    }
    if (this.#kept.size === 0) return
    const found: { scope: Scope | undefined; inline: FunctionSite | undefined; name: string; from: FunctionSite }[] = []
    for (const { scope, name, from, to } of captures) {
      const target = targetOf(scope, from, to)
      const isBroken =
        target === undefined ||
        // One token serves all accessors of an object, and a field's initialiser has none to share.
        target.inline?.form === "accessor" ||
        scope.breaksConstants ||
        (target.scope !== undefined && !hasRoom(target.scope))
      if (isBroken) for (const each of chain(from, to)) this.#kept.delete(each)
      else found.push({ ...target, name, from })
    }
    for (const { scope, inline, name, from } of found) {
      if (inline !== undefined && this.#kept.has(inline)) add(this.#inline, inline, name)
      if (scope === undefined) continue
      const isWanted = chain(from, scope.fn).some((each) => this.#kept.has(each))
      if (!isWanted) continue
      add(this.#captured, scope, name)
      if (scope.fn?.canSuspend === true) this.#live.add(scope.fn)
      else if (scope.fn === undefined && this.#analysis.isAsync) this.#live.add(undefined)
    }
    this.#homes.settle(this.#kept)
  }

  /** The innermost scope with a token, from one outwards, or the home that `via` has to be made in; `undefined` is the source's root. */
  #holder(from: Scope | undefined, via: FunctionSite | undefined, except?: Scope): Scope | undefined {
    for (let scope = from; scope !== undefined; scope = scope.parent) {
      const target = scope.into ?? scope
      if (target !== except && this.#captured.has(target)) return target
      if (this.#homes.isEntered(scope, via)) return scope
      via = scope.fn
    }
    return undefined
  }

  #holderOfSite(site: FunctionSite): Scope | undefined {
    return this.#holder(site.scope, site)
  }

  #holderOfScope(scope: Scope): Scope | undefined {
    return this.#holder(scope.parent, scope.fn, scope)
  }

  // Sources

  /** Divides the functions among the ranges, which cover all of them in the order of the text. Those without a kept function are no sources. Returns the sources. */
  divide(ranges: SourceRange[]): SourceRange[] {
    this.#ranges = ranges
    const sources: SourceRange[] = []
    if (this.#kept.size === 0) return sources
    for (const site of this.#analysis.functions) {
      const range = this.#rangeOf(site)
      range.functions.set(site, range.functions.size)
      if (range.index < 0 && this.#kept.has(site)) range.index = sources.push(range) - 1
    }
    // Literals come last: they have a number only since functions can need them, and numbers are committed.
    for (const isLiteral of [false, true]) {
      for (const scope of this.#analysis.scopes) {
        if ((scope.kind === "object") !== isLiteral) continue
        const range = this.#rangeOf(scope)
        if (range.index >= 0) range.scopes.set(scope, range.scopes.size)
      }
    }
    return sources
  }

  #rangeOf({ start }: Scope | FunctionSite): SourceRange {
    let low = 0
    let high = this.#ranges.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if (this.#ranges[middle]!.start <= start) low = middle
      else high = middle - 1
    }
    return this.#ranges[low]!
  }

  #descriptor(
    key: Scope | FunctionSite | SourceRange,
    range: SourceRange,
    names: readonly string[],
    at: number,
    more = "",
  ): number {
    let index = this.#descriptorOf.get(key)
    if (index === undefined) {
      index = this.#descriptors.length
      this.#descriptorOf.set(key, index)
      this.#descriptors.push(`{r:${range.index},o:${at},n:${JSON.stringify(names)},q:void 0${more}}`)
    }
    return index
  }

  /** The list of descriptors as text: what tokens point to. */
  get descriptors(): string {
    return `[${this.#descriptors.join(",")}]`
  }

  // Tokens

  #tokenName(scope: Scope): string {
    return `${this.#marker}5_${this.#numbers.get(scope)}`
  }

  #liveName(fn: FunctionSite | undefined): string {
    return `${this.#marker}6_${fn === undefined ? "run" : this.#numbers.get(fn)}`
  }

  #rootName(range: SourceRange): string {
    if (range.isDefinition) return `${this.#marker}5_r${range.index}`
    return `${this.#marker}4[${this.#descriptor(range, range, [], -1)}]`
  }

  /** The declaration of a definition's root token. */
  root(range: SourceRange, names: readonly string[]): string {
    const sorted = sortedNames(names)
    const index = this.#descriptor(range, range, sorted, -1)
    const name = `${this.#marker}5_r${range.index}`
    if (sorted.length === 0) return `const ${name}=${this.#marker}4[${index}];`
    return `const ${name}=${this.#reader(sorted, undefined, index, undefined)};`
  }

  #token(scope: Scope | undefined, range: SourceRange): string {
    return scope === undefined ? this.#rootName(range) : this.#tokenName(scope)
  }

  #tokenOf(site: FunctionSite): string {
    const range = this.#rangeOf(site)
    const holder = this.#holderOfSite(site)
    const names = this.#inline.get(site)
    if (names === undefined) return this.#token(holder, range)
    const sorted = sortedNames(names)
    const index = this.#descriptor(site, range, sorted, -2 - range.functions.get(site)!)
    return this.#reader(sorted, this.#token(holder, range), index, undefined)
  }

  #reader(names: readonly string[], parent: string | undefined, index: number, live: string | undefined): string {
    const key = `${this.#marker}7`
    const reads = names.map((name, at) => `${key}===${at}?${name}:`).join("")
    const up = parent === undefined ? "" : `${key}===-1?${parent}:`
    const alive = live === undefined ? "" : `${key}===-3?${live}:`
    return `${key}=>${reads}${up}${alive}${this.#marker}4[${index}]`
  }

  #declaration(scope: Scope, hasFrames: boolean): string {
    const range = this.#rangeOf(scope)
    const sorted = sortedNames(this.#captured.get(scope)!)
    const index = this.#descriptor(scope, range, sorted, range.scopes.get(scope)!)
    const parent = this.#token(this.#holderOfScope(scope), range)
    const live = hasFrames && this.#isFramed(scope) ? this.#liveName(scope.fn) : undefined
    return `const ${this.#tokenName(scope)}=${this.#reader(sorted, parent, index, live)};`
  }

  // Homes

  #homeName({ scope }: Home): string {
    return `${this.#marker}h_${this.#numbers.get(scope)}`
  }

  /** The variable of a home, and its token. */
  #homeVariable(home: Home, value = ""): string {
    const { scope, usesPrivates } = home
    const range = this.#rangeOf(scope)
    const index = this.#descriptor(scope, range, ["this"], range.scopes.get(scope)!, usesPrivates ? ",p:true" : "")
    const [key, name] = [`${this.#marker}7`, this.#homeName(home)]
    const parent = this.#token(this.#holderOfScope(scope), range)
    const token = `${key}=>${key}===0?${name}:${key}===-1?${parent}:${this.#marker}4[${index}]`
    return `let ${name}${value};const ${this.#tokenName(scope)}=${token};`
  }

  /** An object literal that finds for `super` what the home itself finds. */
  #above(home: Home, isStatic: boolean): string {
    const name = this.#homeName(home)
    return `{__proto__:${this.#marker}0.above(${name}${home.site === undefined || isStatic ? "" : ".prototype"}),`
  }

  /** A function that gives the skeleton of a class's inside; it stands in the class, so what it makes is at home there. */
  #workshop(output: Output, home: Home): void {
    const range = this.#rangeOf(home.scope)
    const mark = `/*${this.#marker}${this.#homeName(home).slice(this.#marker.length)}*/`
    output.write(`${mark}()=>{return`)
    this.#members(output, range, home.scope, this.#sitesOf(home.scope), "()=>{}")
    output.write(`}${mark}`)
  }

  #isFramed({ fn }: Scope): boolean {
    return fn === undefined ? this.#analysis.isAsync : fn.canSuspend
  }

  // Edits

  #inserted(text: string): string {
    return text === "" ? "" : this.#mark + text + this.#mark
  }

  #stamp(site: FunctionSite, made: string): string {
    return `${this.#marker}3(${made},${this.#tokenOf(site)},${this.#rangeOf(site).functions.get(site)})`
  }

  /** What follows the text of a kept function declaration that is a definition, or that stands at statement level. */
  stampOfDeclared(start: number, made: string): string | undefined {
    const site = this.#declared.get(start)
    return site === undefined || !this.#kept.has(site) ? undefined : this.#stamp(site, made)
  }

  /** Everything that opens. After the edits of the completion value, which are around it. */
  open(): void {
    if (this.#kept.size === 0) return
    const declared = new Map<Scope, FunctionSite[]>()
    for (const site of this.#kept) {
      if (site.form !== "declaration" || site.scope.parent === undefined) continue
      const list = declared.get(site.scope)
      if (list === undefined) declared.set(site.scope, [site])
      else list.push(site)
    }
    const first = new Map<number, FunctionSite>()
    for (const site of this.#kept) {
      if (site.form === "method" && this.#homes.asked(site) !== undefined) {
        const askers = this.#askers.get(site.object!.start)
        if (askers === undefined) this.#askers.set(site.object!.start, [site])
        else askers.push(site)
      }
      if (site.form !== "accessor") continue
      const known = first.get(site.object!.start)
      if (known === undefined) {
        first.set(site.object!.start, site)
        this.#objects.set(site, [site])
      } else this.#objects.get(known)!.push(site)
    }
    for (const scope of this.#analysis.scopes) {
      this.#openScope(scope, declared.get(scope) ?? [])
      const home = this.#homes.of(scope)
      if (home?.literal !== undefined) this.#openLiteral(home, home.literal)
    }
    const seen = new Set<Home>()
    for (const site of this.#homes.isEmpty ? [] : this.#analysis.functions) {
      const { home } = site
      if (home?.literal === undefined || seen.has(home) || this.#homes.of(home.scope) === undefined) continue
      seen.add(home)
      this.#literals.set(site, home)
    }
    for (const site of this.#kept) this.#openSite(site)
  }

  #openScope(scope: Scope, declared: readonly FunctionSite[]): void {
    const { place } = scope
    if (place === undefined) return
    const frame = scope.fn?.body === scope && this.#live.has(scope.fn) ? `let ${this.#liveName(scope.fn)}=1;try{` : ""
    const token = this.#captured.has(scope) ? this.#declaration(scope, true) : ""
    const stamps = declared.map((site) => `${this.#stamp(site, site.name!)};`).join("")
    const keys = (this.#keyed.get(scope) ?? []).map((site) => `let ${this.#keysName(site)};`).join("")
    const homes = this.#homes
      .heldBy(scope)
      .map((home) => this.#homeVariable(home))
      .join("")
    const text = frame + token + keys + homes + stamps
    if (text === "") return
    this.#opened.add(scope)
    if (place.how === "block") this.#edits.lead(place.at, this.#inserted(text))
    else this.#edits.lead(place.at, this.#inserted(`{${text}${place.how === "arrow" ? "return " : ""}`))
  }

  #openLiteral(home: Home, { start }: { start: number }): void {
    this.#edits.open(start, this.#inserted(`(${this.#homeName(home)}=`))
  }

  /** Methods that ask the literal for `super` are stamped once they stand in it. */
  #closeLiteral(home: Home): void {
    const { start, end } = home.literal!
    const askers = this.#askers.get(start) ?? []
    const name = this.#homeName(home)
    const stamps = askers.map((site) => `,${this.#stamp(site, name + accessText(site.name!))}`)
    this.#edits.close(end, this.#inserted(`${stamps.join("")}${askers.length > 0 ? `,${name}` : ""})`))
  }

  #openSite(site: FunctionSite): void {
    const { form, start, isNamed, name } = site
    const stamp = `${this.#marker}3(`
    if (form === "class") this.#openClass(site, site.made!)
    else if (form === "accessor") {
      if (!this.#objects.has(site)) return
      for (const _ of this.#accessors(site)) this.#edits.open(site.object!.start, this.#inserted(`${this.#marker}3g(`))
    } else if (form === "method") {
      // In a literal of its own it would have another home.
      if (this.#homes.asked(site) !== undefined) return
      this.#bounds.set(site, {
        opened: this.#edits.open(start, this.#inserted(`${keyText(name!)}:${stamp}{`)),
        closed: -1,
      })
    } else if (form === "expression") {
      const opened = this.#edits.open(start, this.#inserted(isNamed ? `${stamp}{${keyText(name!)}:` : stamp))
      this.#bounds.set(site, { opened, closed: -1 })
      // The name is given here, so nothing else has to give it.
      if (site.target !== undefined) site.target.names = undefined
    }
  }

  /** A class is stamped by a static block of its own, which runs before all others. */
  #openClass(site: FunctionSite, { at, keys, staticNames, mayReturn, scope }: ClassSite): void {
    const home = this.#homes.of(scope!)
    const [key, value] = [`${this.#marker}7`, `${this.#marker}8`]
    const number = this.#rangeOf(site).functions.get(site)
    let text = home === undefined ? "" : `${this.#homeName(home)}=this;`
    text += `${this.#marker}3k(this,${this.#tokenOf(site)},${number},${mayReturn}`
    if (keys.length > 0 || staticNames.length > 0 || home !== undefined)
      text += `,${keys.length > 0 ? this.#keysName(site) : "void 0"}`
    if (staticNames.length > 0) {
      const reads = staticNames.map((name, index) => `case ${index}:return this.#${name};`).join("")
      const writes = staticNames.map((name, index) => `case ${index}:this.#${name}=${value};break;`).join("")
      text +=
        `,${JSON.stringify(staticNames)},${key}=>{switch(${key}){${reads}}},` +
        `(${key},${value})=>{switch(${key}){${writes}}}`
    } else if (home !== undefined) text += ",void 0,void 0,void 0"
    if (home === undefined) this.#edits.head(at, this.#inserted(`static{${text})}`))
    else {
      this.#edits.head(at, (output) => {
        output.write(`${this.#mark}static{${text},`)
        this.#workshop(output, home)
        output.write(`)}${this.#mark}`)
      })
    }
    for (const [index, { start, end }] of keys.entries()) {
      const list = index === 0 ? `(${this.#keysName(site)}=${this.#marker}0.keys())` : this.#keysName(site)
      this.#edits.open(start, this.#inserted(`${list}[${index}]=${this.#marker}0.key(`))
      this.#edits.close(end, this.#inserted(")"))
    }
  }

  #keysName(site: FunctionSite): string {
    return `${this.#marker}k_${this.#numbers.get(site)}`
  }

  /** Everything that closes, inner before outer. After all other edits that close an expression. */
  close(): void {
    if (this.#kept.size === 0) return
    for (let index = this.#analysis.functions.length - 1; index >= 0; index--) {
      const site = this.#analysis.functions[index]!
      // A body that is a block can end where a statement in it does: those are closed in their order, below.
      if (site.body?.place?.how === "arrow") this.#closeScope(site.body)
      const literal = this.#literals.get(site)
      if (this.#objects.has(site)) this.#closeObject(site)
      if (literal !== undefined) this.#closeLiteral(literal)
      if (!this.#kept.has(site)) continue
      const { form, end, isNamed, name } = site
      const tail = `,${this.#tokenOf(site)},${this.#rangeOf(site).functions.get(site)})`
      const bounds = this.#bounds.get(site)
      if (bounds === undefined) continue
      const isWrapped = form === "method" || isNamed
      bounds.closed = this.#edits.close(end, this.#inserted(isWrapped ? `}${accessText(name!)}${tail}` : tail))
    }
    const bodies = this.#analysis.functions.flatMap(({ body }) => (body?.place?.how === "block" ? [body] : []))
    const statements = this.#analysis.scopes.filter(({ place }) => place?.how === "statement")
    for (const scope of [...bodies, ...statements].toSorted((a, b) => b.place!.at - a.place!.at))
      this.#closeScope(scope)
  }

  /** After an object literal: which of its accessors are which functions. */
  #closeObject(first: FunctionSite): void {
    for (const [token, numbers] of this.#accessors(first)) {
      const list = Array.from(numbers, ([name, pair]) => `${JSON.stringify(name)},${pair.join(",")}`).join(",")
      this.#edits.close(first.object!.end, this.#inserted(`,${token},[${list}])`))
    }
  }

  /** The numbers of a literal's accessors by their tokens, which differ where only some ask it for `super`. The last one of a key is the one that counts. */
  #accessors(first: FunctionSite): Map<string, Map<string, [get: number, set: number]>> {
    const last = new Map<string, FunctionSite>()
    for (const site of this.#objects.get(first)!) last.set(`${site.isGetter} ${site.name!}`, site)
    const found = new Map<string, Map<string, [get: number, set: number]>>()
    const { functions } = this.#rangeOf(first)
    for (const site of last.values()) {
      const token = this.#tokenOf(site)
      let numbers = found.get(token)
      if (numbers === undefined) found.set(token, (numbers = new Map()))
      const pair = numbers.get(site.name!) ?? [-1, -1]
      pair[site.isGetter ? 0 : 1] = functions.get(site)!
      numbers.set(site.name!, pair)
    }
    return found
  }

  #closeScope(scope: Scope): void {
    const { place } = scope
    if (place === undefined) return
    const isFramed = scope.fn?.body === scope && this.#live.has(scope.fn)
    const frame = isFramed ? `}finally{${this.#liveName(scope.fn)}=0}` : ""
    if (place.how === "block") {
      if (isFramed) this.#edits.closeBody(place.end, this.#inserted(frame))
    } else if (this.#opened.has(scope)) {
      const text = this.#inserted(`${frame}}`)
      if (place.how === "arrow") this.#edits.close(place.end, text)
      else this.#edits.closeBody(place.end, text)
    }
  }

  // Skeletons

  /** The expression that makes a root activation: an object with the token, how to set its variables, its functions and its scopes. */
  skeleton(output: Output, range: SourceRange, roots: readonly string[]): void {
    const sorted = sortedNames(roots)
    const index = this.#descriptor(range, range, sorted, -1)
    const name = this.#rootName(range)
    const declaration = range.isDefinition ? `const ${name}=${this.#reader(sorted, undefined, index, undefined)};` : ""
    this.#skeletonOf(output, range, undefined, undefined, sorted, declaration)
  }

  #skeletonOf(
    output: Output,
    range: SourceRange,
    scope: Scope | undefined,
    inline: FunctionSite | undefined,
    names: readonly string[],
    declaration: string,
  ): void {
    const sites = inline !== undefined ? [inline] : this.#sitesOf(scope)
    // A declared function that others refer to is a variable of the activation.
    const declared = sites.filter(
      (site) => site.form === "declaration" && isOwn(site, scope) && names.includes(site.name!),
    )
    const variables = names.filter((name) => name !== "this" && !declared.some((site) => site.name === name))
    const owner = inline === undefined ? scope?.fn : inline.outer
    const asked = inline !== undefined || owner?.body === scope ? this.#homes.asked(owner) : undefined
    // Only what has a `this` of its own may be a function: arrows further in use the one around them.
    const hasThis = scope === undefined || names.includes("this")
    if (asked !== undefined) output.write(`${this.#above(asked, owner!.isStatic)}m()`)
    else output.write(hasThis ? "function()" : "()=>")
    output.write(`{${variables.length > 0 ? `let ${variables.join(",")};` : ""}`)
    for (const site of declared) {
      this.#render(output, site)
      output.write("\n")
    }
    output.write(declaration)
    for (const site of declared)
      output.write(`const ${this.#marker}9_${range.functions.get(site)}=${this.#stamp(site, site.name!)};`)
    const [key, value] = [`${this.#marker}7`, `${this.#marker}8`]
    const cases = names.map((name, at) => (name === "this" ? "" : `case ${at}:${name}=${value};break;`)).join("")
    output.write("return")
    const write = `(${key},${value})=>{switch(${key}){${cases}}}`
    this.#members(output, range, inline === undefined ? scope : inline, sites, write, declared)
    output.write(asked === undefined ? "}" : "}}.m")
  }

  /** What an activation has: how its variables are set, its functions, the activations in it. */
  #members(
    output: Output,
    range: SourceRange,
    within: Scope | FunctionSite | undefined,
    sites: readonly FunctionSite[],
    write: string,
    declared: readonly FunctionSite[] = [],
  ): void {
    output.write(`{__proto__:null,w:${write},f:{__proto__:null`)
    for (const site of sites) this.#maker(output, range, site, declared.includes(site))
    output.write("},s:{__proto__:null")
    if (within === undefined || "kind" in within) this.#children(output, range, within)
    output.write("}}")
  }

  /** A home as an activation: a class has its inside itself, an object is put into the variable that its methods know it by. */
  #homeSkeleton(output: Output, range: SourceRange, home: Home): void {
    if (home.site !== undefined) {
      output.write(`function(){return ${this.#marker}0.workshop(this)}`)
      return
    }
    output.write(`function(){${this.#homeVariable(home, "=this")}return`)
    this.#members(output, range, home.scope, this.#sitesOf(home.scope), "()=>{}")
    output.write("}")
  }

  /** The kept functions that carry a scope's token. */
  #sitesOf(scope: Scope | undefined): readonly FunctionSite[] {
    if (this.#byHolder === undefined) {
      this.#byHolder = new Map()
      for (const site of this.#analysis.functions) {
        if (!this.#kept.has(site) || this.#inline.has(site)) continue
        const holder = this.#holderOfSite(site)
        const list = this.#byHolder.get(holder)
        if (list === undefined) this.#byHolder.set(holder, [site])
        else list.push(site)
      }
    }
    return this.#byHolder.get(scope) ?? []
  }

  #render(output: Output, site: FunctionSite): void {
    const bounds = this.#bounds.get(site) ?? { opened: Infinity, closed: -1 }
    this.#edits.render(output, site.start, site.end, [], bounds)
  }

  #maker(output: Output, range: SourceRange, site: FunctionSite, isDeclared: boolean): void {
    const number = range.functions.get(site)!
    const { form, name } = site
    if (isDeclared) {
      output.write(`,${number}:()=>${this.#marker}9_${number}`)
      return
    }
    if (form === "declaration") {
      output.write(`,${number}:()=>{`)
      this.#render(output, site)
      output.write(`\nreturn ${this.#stamp(site, name!)}}`)
      return
    }
    if (form === "class") {
      const { keys, statics, heritage } = site.made!
      const holes = [
        ...statics.map(({ start, end, keep }) => ({ start, end, text: keep })),
        ...keys.map(({ start, end }, index) => ({ start, end, text: `${this.#keysName(site)}[${index}]` })),
        // What it extends is told by its prototypes, which it gets afterwards.
        ...(heritage === undefined ? [] : [{ ...heritage, text: "null" }]),
      ].toSorted((a, b) => a.start - b.start)
      const home = this.#homes.of(site.made!.scope!)
      output.write(`,${number}:${keys.length > 0 ? this.#keysName(site) : "()"}=>`)
      output.write(home === undefined ? "(" : `{${this.#homeVariable(home)}return(`)
      this.#edits.render(output, site.start, site.end, holes, { opened: Infinity, closed: -1 })
      output.write(home === undefined ? "\n)" : "\n)}")
      return
    }
    if (form === "accessor") {
      const asked = this.#homes.asked(site)
      const literal = asked === undefined ? "{" : this.#above(asked, false)
      output.write(`,${number}:()=>${this.#marker}3(${this.#marker}0.accessor(${literal}`)
      this.#render(output, site)
      output.write(`},${JSON.stringify(name)},${site.isGetter}),${this.#tokenOf(site)},${number})`)
      return
    }
    const asked = form === "method" ? this.#homes.asked(site) : undefined
    if (asked !== undefined) {
      output.write(`,${number}:()=>${this.#marker}3(${this.#above(asked, false)}`)
      this.#render(output, site)
      output.write(`}${accessText(name!)},${this.#tokenOf(site)},${number})`)
      return
    }
    output.write(`,${number}:()=>(${form === "method" ? "{" : ""}`)
    this.#render(output, site)
    output.write(form === "method" ? `})${accessText(name!)}` : ")")
  }

  #children(output: Output, range: SourceRange, parent: Scope | undefined): void {
    for (const [scope, number] of range.scopes) {
      const home = this.#homes.of(scope)
      if ((home === undefined && !this.#captured.has(scope)) || this.#holderOfScope(scope) !== parent) continue
      output.write(`,${number}:`)
      if (home !== undefined) {
        this.#homeSkeleton(output, range, home)
        continue
      }
      const names = sortedNames(this.#captured.get(scope)!)
      this.#skeletonOf(output, range, scope, undefined, names, this.#declaration(scope, false))
    }
    for (const [site, names] of this.#inline) {
      if (!this.#kept.has(site) || this.#holderOfSite(site) !== parent) continue
      const number = range.functions.get(site)!
      output.write(`,"-${2 + number}":`)
      // The function's own text makes its token.
      this.#skeletonOf(output, range, undefined, site, sortedNames(names), "")
    }
  }
}

/** Both ends of a text of ours inside a user's function. A comment, so that it may stand anywhere. */
export function insertMark(marker: string): string {
  return `/*${marker}*/`
}

function isKeepable(site: FunctionSite): boolean {
  if (site.isBound) return false
  switch (site.form) {
    case "expression":
    case "class":
      return true
    case "method":
    case "accessor":
      return site.name !== undefined
    case "declaration":
      return site.name !== undefined && (site.scope.parent === undefined || site.scope.place !== undefined)
    case "member":
    case "called":
    case "field":
    case "static":
      return false
  }
  return false
}

/** Whether a declared function is created by the scope itself, not by a block inside it that has no token. */
function isOwn(site: FunctionSite, scope: Scope | undefined): boolean {
  return scope === undefined ? site.scope.parent === undefined : site.scope === scope
}

function chain(from: FunctionSite, to: FunctionSite | undefined): FunctionSite[] {
  const functions: FunctionSite[] = []
  for (let fn: FunctionSite | undefined = from; fn !== undefined && fn !== to; fn = fn.outer) functions.push(fn)
  return functions
}

/** Where a captured variable is read: a scope with room for a token, and for a field's initialiser also the function in it. */
function targetOf(
  scope: Scope,
  from: FunctionSite,
  to: FunctionSite | undefined,
): { scope: Scope | undefined; inline: FunctionSite | undefined } | undefined {
  if (scope.kind !== "class" && to?.form !== "field") return { scope: scope.into ?? scope, inline: undefined }
  const functions = chain(from, to)
  // The class's own name cannot change, so the code of a member holds it as well as the class does.
  const member = scope.kind === "class" ? functions.pop() : to
  if (member?.form === "field") {
    const inline = functions.pop()
    if (inline === undefined) return { scope: undefined, inline: undefined }
    return { scope: inline === from ? undefined : inline.body, inline }
  }
  if (member?.form !== "member" && member?.form !== "static") return undefined
  return { scope: functions.length === 0 ? undefined : member.body, inline: undefined }
}

/** Whether a token can be declared where the scope begins. */
function hasRoom(scope: Scope): boolean {
  if (scope.place === undefined) return false
  const { fn } = scope
  return fn?.canSuspend !== true || fn.body?.hasDoubles !== true
}

function add<K>(map: Map<K, Set<string>>, key: K, name: string): void {
  const names = map.get(key)
  if (names === undefined) map.set(key, new Set([name]))
  else names.add(name)
}

/** `this` comes first: it must be there before the activation is. */
function sortedNames(names: Iterable<string>): string[] {
  return [...names].toSorted((a, b) => (a === "this" ? -1 : b === "this" ? 1 : a < b ? -1 : a > b ? 1 : 0))
}

const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u

function keyText(name: string): string {
  if (name === "__proto__") return `["__proto__"]`
  return identifier.test(name) ? name : JSON.stringify(name)
}

function accessText(name: string): string {
  return identifier.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`
}
