// Random programs of classes, as scripts to be run one after the other: statics that change, local classes, mixins, private names, computed keys,
// decorators, resources, namespaces, and instances that are held in many places while their class is declared again.
//
// A script has two texts: what a session gets, and what says the same to an engine, which has no moving of instances. `all` holds every instance, so
// that the engine's text can move them itself.
import { randomFrom } from "../language/texts.ts"

export interface Script {
  ours: string
  theirs: string
}

interface Known {
  name: string
  /** Declared by a `class` statement at top level, so that it can be declared again. */
  isTop: boolean
  parent: string | undefined
  /** Whether instances have private names, which a new declaration has to repeat. */
  hasPrivate: boolean
  methods: string[]
  version: number
}

export class ClassPrograms {
  readonly #random: () => number
  readonly #classes: Known[] = []
  #names = 0

  constructor(seed: number) {
    this.#random = randomFrom(seed)
  }

  scripts(): Script[] {
    const scripts = [
      both(
        "const all = []; const log = []; const held = { map: new Map(), list: [] }; function keep(o) { all.push(o); return o } const noted = (v, c) => { log.push(c.kind + ':' + String(c.name)) }; const plus = (v, c) => c.kind === 'method' ? function (...a) { return v.call(this, ...a) + 1 } : (x) => x + 1; const res = (n) => ({ [Symbol.dispose]() { log.push('dispose' + n) } })",
      ),
      this.#declare(),
    ]
    const count = 8 + this.#below(8)
    for (let index = 0; index < count; index++) scripts.push(this.#script())
    scripts.push(both("[all.map((o) => o.total()), log.length, held.list.length, held.map.size]"))
    return scripts
  }

  #script(): Script {
    switch (this.#below(16)) {
      case 0:
      case 1:
        return this.#declare()
      case 2:
        return this.#local()
      case 3:
        return this.#mixin()
      case 4:
        return this.#again()
      case 5: {
        const { name } = this.#one(this.#classes)
        return both(
          `${name}.made.push(${this.#below(9)}); ${name}.count += 2; ${name}.extra${this.#below(3)} = { n: ${name}.count }; [${name}.count, ${name}.made.length, ${name}.sum()]`,
        )
      }
      case 6: {
        const { name } = this.#one(this.#classes)
        return both(
          `${name}.prototype.patched${this.#below(2)} = function () { return this.total() + ${this.#below(9)} }; all.map((o) => o.patched0?.() ?? o.patched1?.() ?? 0)`,
        )
      }
      case 7:
        return both(`{ using a = res(${this.#below(9)}), b = res('b'); log.push(all.length) } log.slice(-3)`)
      case 8: {
        const name = this.#name("N")
        return both(
          `namespace ${name} { export const base = ${this.#below(9)}; export function of(o) { return o.total() + base } export class Inner { v = base; total() { return this.v } } } keep(new ${name}.Inner()); all.map((o) => ${name}.of(o))`,
        )
      }
      case 9: {
        const { name } = this.#one(this.#classes)
        return both(
          `held.list.push(((o) => () => o.step())(keep(new ${name}(${this.#below(5)})))); held.list.map((f) => f())`,
        )
      }
      case 10: {
        const { name } = this.#one(this.#classes)
        return both(
          `held.map.set(${name}, keep(new ${name}(${this.#below(5)}))); held.map.get(${name}).k = held; [held.map.size, [...held.map].map(([c, o]) => o instanceof c)]`,
        )
      }
      case 11:
      case 12: {
        const { name } = this.#one(this.#classes)
        const made = `keep(new ${name}(${this.#below(5)}))`
        return both(
          `{ const o = ${made}; for (const f of [o.later?.(${this.#below(5)}), o.peek, o.nested?.(), o.up?.(), o.upField, ${name}.up?.()]) if (f !== undefined) held.list.push(f); const reader = ${name}.reader?.(); if (reader !== undefined) held.list.push(() => all.map(reader)) } held.list.map((f) => f())`,
        )
      }
      case 13: {
        const { name } = this.#one(this.#classes)
        return both(
          `held.list.push((() => { const o = keep(new ${name}(${this.#below(5)})); let n = ${this.#below(5)}; const literal = { __proto__: o, total() { return super.total() + ++n }, get twice() { return super.total() * 2 }, all() { return () => [super.total(), this.twice, n] } }; keep(literal); return literal.all() })()); held.list.map((f) => f())`,
        )
      }
      default:
        return both(
          `[all.map((o) => [o.step?.(), o.total(), o.constructor.name, o.v1 ?? -1, o.v2 ?? -1]), all.map((o) => [${this.#classes.map(({ name }) => name).join(", ")}].map((c) => o instanceof c))]`,
        )
    }
  }

  /** The text of a class's body; `version` tells one declaration from the next. */
  #body(known: Known, name: string): string {
    const parts = [
      `static count = ${this.#below(9)}`,
      `static made = [${this.#below(9)}]`,
      `static sum() { return this.count + this.made.length }`,
      `n = 1`,
      `constructor(a = 0) { ${known.parent === undefined ? "" : "super(a);"} this.a = a; ${name}.count++ }`,
      `total() { return this.n + this.a + ${known.version} }`,
    ]
    if (known.hasPrivate) {
      parts.push(
        `#p${name} = ${this.#below(9)}`,
        `#add${name}(x) { return (this.#p${name} += x) }`,
        `step() { this.n++; return this.#add${name}(${known.version + 1}) }`,
        `static #hidden${name} = ${this.#below(5)}`,
        `static hidden() { return ++${name}.#hidden${name} }`,
        `later(k) { let left = k; return () => { left += 1; return left + (this.#p${name} += 1) } }`,
        `peek = () => this.#add${name}(0)`,
        `static reader() { return (o) => (#p${name} in o ? o.#p${name} : -1) + this.#hidden${name} }`,
        `nested() { const o = this; return new (class { #own = ${this.#below(9)}; later() { return () => this.#own++ + o.#p${name} } })().later() }`,
      )
    } else parts.push(`step() { return (this.n += ${known.version + 1}) }`)
    if (known.parent !== undefined) {
      parts.push(
        `up() { let times = 0; return (k = 1) => super.total() + ++times * k }`,
        `upField = () => super.total() - 1`,
        `static up() { return () => super.sum() }`,
      )
    }
    if (this.#below(3) === 0) parts.push(`["k" + ${this.#below(3)}]() { return log.length }`)
    if (this.#below(3) === 0) parts.push(`static { log.push("block ${name}"); this.fromBlock = [${this.#below(9)}] }`)
    if (this.#below(3) === 0) parts.push(`f = () => this.n + ${this.#below(9)}`)
    // It is a private field, so the class could not be declared again without it.
    if (!known.isTop && this.#below(3) === 0) parts.push(`accessor acc = ${this.#below(9)}`)
    return parts.join("; ")
  }

  #declare(): Script {
    const name = this.#name("C")
    const parent = this.#below(3) === 0 && this.#classes.length > 0 ? this.#one(this.#classes) : undefined
    const isDecorated = this.#below(4) === 0
    const known = this.#new(name, parent?.name)
    known.isTop &&= !isDecorated
    const heritage = parent === undefined ? "" : ` extends ${parent.name}`
    const body = this.#body(known, name)
    const decorated = isDecorated ? `@noted @plus d = ${this.#below(9)}; @plus @noted m() { return this.n } ` : ""
    const text = `class ${name}${heritage} { ${decorated}${body} }`
    this.#classes.push(known)
    const use = `keep(new ${name}(${this.#below(9)})); keep(new ${name}()); [${name}.sum(), all.at(-1).total(), ${isDecorated ? "all.at(-1).m(), all.at(-1).d" : "0"}]`
    const lead = isDecorated ? "@noted " : ""
    const ours = `${lead}${text}; ${use}`
    // What is declared again later is a variable for the engine.
    return { ours, theirs: isDecorated ? ours : `var ${name} = ${text}; ${use}` }
  }

  #local(): Script {
    const name = this.#name("L")
    const known = this.#new("Local", undefined)
    const body = this.#body(known, "Local")
    this.#classes.push({ ...known, name, isTop: false })
    return both(
      `const ${name} = (() => { let shared = ${this.#below(9)}; class Local { ${body}; bump() { return ++shared } } Local.peek = () => shared; return Local })(); keep(new ${name}(1)); [all.at(-1).bump(), ${name}.peek()]`,
    )
  }

  #mixin(): Script {
    const parent = this.#one(this.#classes)
    const name = this.#name("M")
    this.#classes.push({ ...this.#new(name, parent.name), isTop: false })
    return both(
      `const ${name} = ((B, by) => class extends B { #by = by; static count = by; total() { return super.total() * this.#by } })(${parent.name}, ${1 + this.#below(3)}); keep(new ${name}(${this.#below(5)})); [all.at(-1).total(), ${name}.sum(), all.at(-1) instanceof ${parent.name}]`,
    )
  }

  /** A class declared again, with the same heritage and the same private names. */
  #again(): Script {
    const candidates = this.#classes.filter(({ isTop }) => isTop)
    if (candidates.length === 0) return this.#declare()
    const known = this.#one(candidates)
    known.version += 1
    const { name, parent } = known
    const field = `v${known.version}`
    const value = this.#below(9)
    const text = `class ${name}${parent === undefined ? "" : ` extends ${parent}`} { ${this.#stable(known, name)}; ${field} = ${value} }`
    const move = `const affected = all.filter((o) => Old.prototype.isPrototypeOf(o)); for (const o of affected) if (Object.getPrototypeOf(o) === Old.prototype) Object.setPrototypeOf(o, ${name}.prototype);`
    const classes = `for (const K of known) if (Object.getPrototypeOf(K) === Old) { Object.setPrototypeOf(K, ${name}); Object.setPrototypeOf(K.prototype, ${name}.prototype) } for (const o of affected) if (!Object.hasOwn(o, "${field}")) o.${field} = ${value};`
    const list = this.#classes.map((each) => each.name).join(", ")
    return {
      // Instances move when the eval has ended.
      ours: `${text}; ${name}.count`,
      theirs: `{ const Old = ${name}; ${name} = ${text}; const known = [${list}]; ${move} ${classes} } ${name}.count`,
    }
  }

  /** Without private names of its own: the engine cannot give an object those of another class. */
  #stable(known: Known, name: string): string {
    return this.#body({ ...known, hasPrivate: false }, name)
  }

  #new(name: string, parent: string | undefined): Known {
    const hasPrivate = this.#below(3) === 0
    return { name, isTop: !hasPrivate, parent, hasPrivate, methods: [], version: 0 }
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

function both(text: string): Script {
  return { ours: text, theirs: text }
}
