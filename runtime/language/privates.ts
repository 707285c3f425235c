// Classes with private names: what lets their instances be read and made again, put into the class's own text.
//
// Only code inside the class can reach a private name. A static block hands out a reader and a writer, and a construction mode installs
// the names on an object without running any of the user's code: while it is on, initialisers give `undefined` and the
// constructor returns at once. A constructor whose parameters run code (defaults, patterns) has no such mode, and says so.
import { insertMark } from "./closures.ts"
import type { Edits } from "./edits.ts"
import type { Analysis, ClassSite } from "./scope.ts"

export class PrivateClasses {
  readonly #edits: Edits
  readonly #marker: string
  readonly #classes: readonly ClassSite[]

  constructor(edits: Edits, analysis: Analysis, marker: string) {
    this.#edits = edits
    this.#marker = marker
    this.#classes = analysis.classes.filter(({ brand }) => brand !== "")
  }

  /** The variables that the edits need at the head of a factory or of the statements. */
  get stampers(): string {
    const hooks = `${this.#marker}0`
    return this.#classes.length === 0
      ? ""
      : `${this.#marker}3p=${hooks}.privates,${this.#marker}3m=${hooks}.construction`
  }

  /** What opens: before the stamps of functions, which belong inside. */
  open(): void {
    for (const site of this.#classes) {
      this.#edits.head(site.at, this.#inserted(`static{${this.#registration(site)}}`))
      const mode = `${this.#marker}3m.on`
      if (site.constructorAt >= 0) {
        const leave = site.isDerived ? `{super();return}` : "return;"
        this.#edits.lead(site.constructorAt, this.#inserted(`if(${mode})${leave}`))
      }
      for (const { start, name } of site.fields) {
        const named = name === undefined ? "" : `{[${JSON.stringify(name)}]:`
        this.#edits.open(start, this.#inserted(`${mode}?void 0:(${named}`))
      }
    }
  }

  /** What closes: after the stamps of functions. */
  close(): void {
    for (const { fields } of this.#classes) {
      for (const { end, name } of fields) {
        this.#edits.close(end, this.#inserted(name === undefined ? ")" : `}[${JSON.stringify(name)}])`))
      }
    }
  }

  #inserted(text: string): string {
    const mark = insertMark(this.#marker)
    return mark + text + mark
  }

  #registration({ names, brand, isOpen, isDerived, privateShape }: ClassSite): string {
    const [object, key, value] = [`${this.#marker}7`, `${this.#marker}8`, `${this.#marker}9`]
    const reads = names.map((name, at) => `case ${at}:return ${object}.#${name};`).join("")
    const writes = names.map((name, at) => `case ${at}:${object}.#${name}=${value};break;`).join("")
    return (
      `${this.#marker}3p(this,${JSON.stringify(names)},(${object},${key})=>{switch(${key}){${reads}}},` +
      `(${object},${key},${value})=>{switch(${key}){${writes}}},${object}=>#${brand} in ${object},${isOpen},${isDerived},${JSON.stringify(privateShape)})`
    )
  }
}
