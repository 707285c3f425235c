// Which definitions use which names: the edges of a session's module, kept up to date so that a change costs what it touches.
//
// A name that nothing declares is an edge like any other: whoever declares it later makes its users depend on it. All walks keep their own
// stack, since chains are as long as a session has definitions.

const nobody: ReadonlySet<string> = new Set()

/** What uses each name. */
export class DependencyGraph {
  readonly #users = new Map<string, Set<string>>()

  set(name: string, before: readonly string[], after: readonly string[]): void {
    for (const used of before) {
      const users = this.#users.get(used)
      users?.delete(name)
      if (users?.size === 0) this.#users.delete(used)
    }
    for (const used of after) {
      const users = this.#users.get(used)
      if (users === undefined) this.#users.set(used, new Set([name]))
      else users.add(name)
    }
  }

  usersOf(name: string): ReadonlySet<string> {
    return this.#users.get(name) ?? nobody
  }

  /** Everything that uses one of the names, directly or not, without the names themselves. */
  dependentsOf(names: Iterable<string>): Set<string> {
    const given = new Set(names)
    const found = new Set<string>()
    const open = [...given]
    for (let name = open.pop(); name !== undefined; name = open.pop()) {
      for (const user of this.usersOf(name)) {
        if (found.has(user) || given.has(user)) continue
        found.add(user)
        open.push(user)
      }
    }
    return found
  }
}

/** The names that are reached from some within a set, by what each uses. */
export function reachedWithin(
  from: Iterable<string>,
  within: ReadonlySet<string>,
  uses: (name: string) => readonly string[],
): Set<string> {
  const found = new Set<string>()
  const open = [...from]
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    for (const used of uses(name)) {
      if (!within.has(used) || found.has(used)) continue
      found.add(used)
      open.push(used)
    }
  }
  return found
}
