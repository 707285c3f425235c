// Forms of declarations over a few names: TypeScript for a session, and the same as an expression for the naive model.
//
// A name may stand for anything when it is used: nothing, another kind of thing, or what needs this one. Whatever a form can call gives a number or a
// text, and ends: each call passes on less than it was given.

export interface Declared {
  readonly name: string
  readonly kind: string
  /** As it is submitted: one key may have several declarations, a line or more each. */
  readonly source: string
  /** What it says, whatever its layout. */
  readonly meaning: string
  /** An expression for its value; empty for a type. */
  readonly expression: string
  /** Names whose values its text uses. */
  readonly uses: readonly string[]
  /** Evaluating it runs code, or holds what is none. `leaves` are names that must be code for it to be. */
  readonly isData: boolean
  readonly leaves: readonly string[]
  /** Names that are read at once when it is made, and held. */
  readonly holds: readonly string[]
  /** Its value is a list that code can put numbers in. */
  readonly isList: boolean
}

/** What an eval can declare as a definition. */
export const codeForms: ReadonlySet<string> = new Set([
  "function",
  "overloads",
  "arrow",
  "class",
  "subclass",
  "interface",
  "type",
  "enum",
])

interface Form {
  readonly kind: string
  readonly source: (own: string, p: string, q: string, n: number) => string
  readonly expression?: (own: string, p: string, q: string, n: number) => string
  readonly uses?: "p" | "pq"
  readonly isData?: true
  readonly leaves?: "p"
  readonly holds?: "p"
  readonly isList?: true
}

export const forms: Record<string, Form> = {
  function: {
    kind: "function",
    source: (own, p, _, n) => `function ${own}(n: number): any { return n > 0 ? ${p}(n - 1) + ${n} : ${n} }`,
    expression: (own, p, _, n) => `({ ${own}: function (n) { return n > 0 ? ${p}(n - 1) + ${n} : ${n} } }).${own}`,
    uses: "p",
  },
  overloads: {
    kind: "function",
    source: (own, p, _, n) =>
      `function ${own}(n: string): string\nfunction ${own}(n: number): number\nfunction ${own}(n: any): any { return n > 0 ? ${p}(n - 1) + "!" : ${n} }`,
    expression: (own, p, _, n) => `({ ${own}: function (n) { return n > 0 ? ${p}(n - 1) + "!" : ${n} } }).${own}`,
    uses: "p",
  },
  arrow: {
    kind: "const",
    source: (own, p, q, n) => `const ${own} = (n: number): any => n > 0 ? ${p}(n - 1) + ${q}(n - 1) : ${n}`,
    expression: (own, p, q, n) => `({ ${own}: (n) => n > 0 ? ${p}(n - 1) + ${q}(n - 1) : ${n} }).${own}`,
    uses: "pq",
  },
  record: {
    kind: "const",
    source: (own, p, q, n) => `const ${own} = { v: ${p}, g: (n: number): any => n > 0 ? ${q}(n - 1) : ${n} }`,
    expression: (_, p, q, n) => `({ v: ${p}, g: (n) => n > 0 ? ${q}(n - 1) : ${n} })`,
    uses: "pq",
    leaves: "p",
    holds: "p",
  },
  class: {
    kind: "class",
    source: (own, p, _, n) =>
      `class ${own} { n = ${n}; m(k: number): any { return k > 0 ? ${p}(k - 1) + this.n : this.n } }`,
    expression: (own, p, _, n) =>
      `({ ${own}: class { n = ${n}; m(k) { return k > 0 ? ${p}(k - 1) + this.n : this.n } } }).${own}`,
    uses: "p",
  },
  subclass: {
    kind: "class",
    source: (own, p, _, n) => `class ${own} extends ${p} { m(k: number): any { return "s" + super.m(k) + ${n} } }`,
    expression: (own, p, _, n) => `({ ${own}: class extends ${p} { m(k) { return "s" + super.m(k) + ${n} } } }).${own}`,
    uses: "p",
    holds: "p",
  },
  number: {
    kind: "const",
    source: (own, _, __, n) => `const ${own}: any = ${n}`,
    expression: (_, __, ___, n) => `${n}`,
    isData: true,
  },
  called: {
    kind: "const",
    source: (own, p, _, n) => `const ${own}: any = "v" + ${p}(2) + ${n}`,
    expression: (_, p, __, n) => `"v" + ${p}(2) + ${n}`,
    uses: "p",
    isData: true,
  },
  list: {
    kind: "const",
    source: (own, _, __, n) => `const ${own}: any[] = [${n}, ${n} + 1]`,
    expression: (_, __, ___, n) => `[${n}, ${n} + 1]`,
    isData: true,
    isList: true,
  },
  listOfCalls: {
    kind: "const",
    source: (own, p, _, n) => `const ${own}: any[] = [${n}, String(${p}(1))]`,
    expression: (_, p, __, n) => `[${n}, String(${p}(1))]`,
    uses: "p",
    isData: true,
    isList: true,
  },
  enum: {
    kind: "enum",
    source: (own, _, __, n) => `enum ${own} { A = ${n}, B }`,
    expression: (_, __, ___, n) => `({ A: ${n}, B: ${n + 1}, ${n}: "A", ${n + 1}: "B" })`,
  },
  calculatedEnum: {
    kind: "enum",
    source: (own, p, _, n) => `enum ${own} { A = (${p}(1) | 0) * ${n}, B = 4 }`,
    expression: (_, p, __, n) =>
      `(() => { const o = {}; o[o.A = (${p}(1) | 0) * ${n}] = "A"; o[o.B = 4] = "B"; return o })()`,
    uses: "p",
    isData: true,
  },
  namespace: {
    kind: "namespace",
    source: (own, p, _, n) =>
      `namespace ${own} { export const v = ${n}; export function g(n: number): any { return n > 0 ? ${p}(n - 1) : v } }`,
    expression: (_, p, __, n) => `({ v: ${n}, g: function g(n) { return n > 0 ? ${p}(n - 1) : ${n} } })`,
    uses: "p",
    isData: true,
  },
  merged: {
    kind: "namespace",
    source: (own, p, _, n) =>
      `function ${own}(n: number): any { return n > 0 ? ${p}(n - 1) : ${own}.w }\nnamespace ${own} { export const w = ${n} }`,
    expression: (own, p, _, n) =>
      `Object.assign(({ ${own}: function (n) { return n > 0 ? ${p}(n - 1) : ${n} } }).${own}, { w: ${n} })`,
    uses: "p",
    isData: true,
  },
  mergedClass: {
    kind: "class",
    source: (own, p, _, n) =>
      `interface ${own} { z?: number }\nclass ${own} { m(k: number): any { return k > 0 ? ${p}(k - 1) : ${n} } }`,
    expression: (own, p, _, n) => `({ ${own}: class { m(k) { return k > 0 ? ${p}(k - 1) : ${n} } } }).${own}`,
    uses: "p",
  },
  interface: { kind: "interface", source: (own, p, _, n) => `interface ${own} { m?: ${p}; n?: ${n} }` },
  interfaces: {
    kind: "interface",
    source: (own, p, q, n) => `interface ${own} { m?: ${p}; n?: ${n} }\ninterface ${own} { o?: typeof ${q} }`,
  },
  type: { kind: "type", source: (own, p, _, n) => `type ${own} = ${p} | ${n}` },
  // What cannot be made.
  loud: {
    kind: "const",
    source: (own) => `const ${own}: any = console.log("x")`,
    expression: () => `console.log("x")`,
    isData: true,
  },
  throwing: {
    kind: "const",
    source: (own) => `const ${own}: any = (() => { throw new Error("no") })()`,
    expression: () => `(() => { throw new Error("no") })()`,
    isData: true,
  },
  changing: {
    kind: "const",
    source: (own, p, _, n) => `const ${own}: any = ${p}.push(${n})`,
    expression: (_, p, __, n) => `${p}.push(${n})`,
    uses: "p",
    isData: true,
  },
}

const layouts: readonly ((source: string) => string)[] = [
  (source) => source,
  (source) => source.replaceAll("{ ", "{\n  ").replaceAll(" }", "\n}"),
  (source) => source.replaceAll('"', "'"),
  (source) => `/** Says: "it". */\n${source}`,
  (source) => source.replaceAll(" => ", " => /* so */ "),
]
export const layoutCount = layouts.length

/** One declaration of a name. `layout` chooses among texts that say the same. */
export function declare(form: string, own: string, p: string, q: string, n: number, layout: number): Declared {
  const { kind, source, expression, uses, isData, leaves, holds, isList } = forms[form]!
  const text = source(own, p, q, n)
  const used = uses === "pq" ? [p, q] : uses === "p" ? [p] : []
  return {
    name: own,
    kind,
    source: layouts[layout]!(text),
    meaning: text,
    expression: expression?.(own, p, q, n) ?? "",
    uses: [...new Set(used)].filter((it) => it !== own),
    isData: isData ?? false,
    leaves: leaves === "p" ? [p] : [],
    holds: holds === "p" ? [p] : [],
    isList: isList ?? false,
  }
}

export interface Wrapper {
  readonly key: string
  readonly source: string
  readonly expression: string
  readonly uses: readonly string[]
}

const wrapperForms: readonly { source: (p: string, n: number) => string; uses?: "p" }[] = [
  { source: (_, n) => `(inner: any) => (n: number) => inner(n) + "${n}w"` },
  { source: (p) => `(inner: any) => (n: number) => inner(n) + ${p}(n - 3)`, uses: "p" },
  { source: () => `(inner: any) => class extends inner { m(k: number) { return "w" + super.m(k) } }` },
  { source: () => `() => { throw new Error("no") }` },
  { source: () => `(inner: any) => inner` },
]
export const wrapperCount = wrapperForms.length

export function wrapper(form: number, name: string, key: string, p: string, n: number): Wrapper {
  const { source, uses } = wrapperForms[form]!
  const text = source(p, n)
  return {
    key,
    source: text,
    expression: text.replaceAll(/: (any|number)/g, ""),
    uses: uses === "p" && p !== name ? [p] : [],
  }
}
