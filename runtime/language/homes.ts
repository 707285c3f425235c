// Homes: what functions have to be made inside of, since private names and `super` mean something there only.
//
// | home | what stands for it | how a function inside is made again |
// | --- | --- | --- |
// | a class | a variable with the class, set by its first static block | by a *workshop*: skeletons in that block, among the private names |
// | an object literal | a variable with the object | as a method of a literal whose prototype is that of the object |
//
// A home is an activation like a scope's: its only variable is `this`, which is the class or the object, and which always exists before what is
// inside. The variable belongs to the innermost scope that makes the home once at most; where there is none, functions that need the
// home stay ephemeral. Only homes that a kept function needs cost anything.
import type { FunctionSite, Home, Scope } from "./scope.ts"

/** The text of a workshop holds what is inside of a class once more, and so on further in: this many times at most. */
const nestedMax = 3

export class Homes {
  readonly #members = new Map<Scope, Set<FunctionSite>>()
  readonly #homes = new Map<Scope, Home>()
  readonly #byHolder = new Map<Scope | undefined, Home[]>()

  /** Takes note of what the kept functions need, which come in the order of the text. Functions that need what cannot be held are taken out. */
  settle(kept: Set<FunctionSite>): void {
    for (const site of kept) {
      if (site.homes === undefined) continue
      if (![...site.homes].every((home) => isHeld(home, kept))) kept.delete(site)
      else for (const home of site.homes) this.#add(home, site)
    }
  }

  #add(home: Home, site: FunctionSite): void {
    let members = this.#members.get(home.scope)
    if (members === undefined) {
      this.#members.set(home.scope, (members = new Set()))
      this.#homes.set(home.scope, home)
      const holder = holderOf(outerScope(home))
      if (holder === "none") throw new Error("a home that nothing can hold is in use")
      const list = this.#byHolder.get(holder)
      if (list === undefined) this.#byHolder.set(holder, [home])
      else list.push(home)
    }
    let member = site
    while (member.home !== home) member = member.outer!
    members.add(member)
  }

  get isEmpty(): boolean {
    return this.#homes.size === 0
  }

  of(scope: Scope): Home | undefined {
    return this.#homes.get(scope)
  }

  /** Whether something inside a member needs the home whose scope that is. */
  isEntered(scope: Scope, via: FunctionSite | undefined): boolean {
    return via !== undefined && this.#members.get(scope)?.has(via) === true
  }

  /** The homes whose variables are declared at the beginning of a scope. */
  heldBy(scope: Scope | undefined): readonly Home[] {
    return this.#byHolder.get(scope) ?? []
  }

  /** The home that a function's own `super` asks, where it has to be made inside of that. */
  asked(site: FunctionSite | undefined): Home | undefined {
    if (site?.usesSuper !== true || site.home === undefined) return undefined
    return this.isEntered(site.home.scope, site) ? site.home : undefined
  }
}

function outerScope({ scope, site }: Home): Scope | undefined {
  return site === undefined ? scope.parent : site.scope
}

function isHeld(home: Home, kept: ReadonlySet<FunctionSite>): boolean {
  if (!home.isSingle || (home.site !== undefined && !kept.has(home.site))) return false
  return holderOf(outerScope(home)) !== "none" && depthOf(home) <= nestedMax
}

/** How many classes and functions with homes of their own it stands in. */
function depthOf(home: Home): number {
  let depth = 1
  for (let scope = home.scope.parent; scope !== undefined; scope = scope.parent) {
    if (scope.kind === "class" || scope.kind === "object") depth += 1
  }
  return depth
}

/** The scope whose activation something at a scope is made in once at most; "none" where nothing can be declared. */
export function holderOf(from: Scope | undefined): Scope | undefined | "none" {
  for (let scope = from; scope !== undefined; scope = scope.parent) {
    const target: Scope = scope.into ?? scope
    if (target.place !== undefined) return target
    if (scope.parent?.fn !== scope.fn) return scope.parent === undefined ? undefined : "none"
  }
  return undefined
}
