// Which declarations are checked together: those that reach each other, since the inferred type of each may need the others'.
//
// After a change only the changed keys, and the groups they were in, are looked at. Whether a key reaches itself is asked from both ends in
// turn, so that the smaller side decides: a leaf among ten thousand costs nothing. All searches keep their own stack; chains are long.
import type { Entry, SetVersions } from "./sets.ts"

/** Changed keys above which the whole graph is walked once instead of a search for each. */
const searchesMax = 32

/** Puts an entry into the head. */
export type Replace = (key: string, entry: Entry) => void

/** Gives entries of the head their groups anew after some were replaced; `changed` has these as they were before. */
export function regroup(sets: SetVersions, changed: ReadonlyMap<string, Entry | undefined>, replace: Replace): void {
  const keys = new Set<string>()
  for (const [key, before] of changed) {
    for (const member of before?.group ?? []) keys.add(member)
    const after = sets.entries.get(key)
    if (after === undefined || after.isLocal) continue
    // Fewer edges make no cycle.
    const canGrow = before === undefined || [...after.names].some((name) => !before.names.has(name))
    if (canGrow) keys.add(key)
  }
  if (keys.size > searchesMax) return assign(sets, components(sets), [...sets.entries.keys()], replace)
  const groups = new Map<string, readonly string[]>()
  for (const key of keys) {
    if (groups.has(key) || !sets.entries.has(key)) continue
    const group = groupOf(sets, key)
    for (const member of group ?? []) groups.set(member, group!)
  }
  assign(sets, groups, new Set([...keys, ...groups.keys()]), replace)
}

function assign(
  sets: SetVersions,
  groups: ReadonlyMap<string, readonly string[]>,
  keys: Iterable<string>,
  replace: Replace,
): void {
  for (const key of keys) {
    const entry = sets.entries.get(key)
    const group = groups.get(key)
    if (entry === undefined || isSameGroup(entry.group, group)) continue
    replace(key, { ...entry, group })
  }
}

function isSameGroup(a: readonly string[] | undefined, b: readonly string[] | undefined): boolean {
  if (a === undefined || b === undefined) return a === b
  return a.length === b.length && a.every((key, index) => key === b[index])
}

function* uses(sets: SetVersions, key: string): Iterable<string> {
  const entry = sets.entries.get(key)
  if (!isDeclaration(entry)) return
  for (const name of entry.names) if (name !== key && isDeclaration(sets.entries.get(name))) yield name
}

function* usedBy(sets: SetVersions, key: string): Iterable<string> {
  for (const name of sets.users.get(key) ?? []) if (name !== key && isDeclaration(sets.entries.get(name))) yield name
}

/** A file is a module already, whoever it reaches. */
function isDeclaration(entry: Entry | undefined): entry is Entry {
  return entry !== undefined && !entry.isLocal && entry.isFile !== true
}

/** The keys that `key` reaches and that reach it, by name; `undefined` when it is alone. */
function groupOf(sets: SetVersions, key: string): string[] | undefined {
  if (!isInCycle(sets, key)) return undefined
  const forward = reach(key, (at) => uses(sets, at))
  const back = reach(key, (at) => usedBy(sets, at))
  const group = [...forward].filter((at) => back.has(at))
  // By name, so that it does not depend on the history.
  return group.toSorted((a, b) => (a < b ? -1 : 1))
}

function reach(from: string, next: (key: string) => Iterable<string>): Set<string> {
  const seen = new Set([from])
  for (const key of seen) for (const other of next(key)) seen.add(other)
  return seen
}

/** Both ends search in turn; the one that runs dry first has the answer. */
function isInCycle(sets: SetVersions, key: string): boolean {
  const forward = new Set<string>()
  const back = new Set<string>()
  const step = function* (own: Set<string>, other: Set<string>, next: (at: string) => Iterable<string>) {
    for (const name of next(key)) {
      if (other.has(name)) return true
      own.add(name)
    }
    for (const at of own) {
      for (const name of next(at)) {
        if (name === key || other.has(name)) return true
        own.add(name)
      }
      yield
    }
    return false
  }
  const sides = [step(forward, back, (at) => uses(sets, at)), step(back, forward, (at) => usedBy(sets, at))]
  for (;;) {
    for (const side of sides) {
      const { done, value } = side.next()
      if (done === true) return value
    }
  }
}

/** Every group of more than one, by each of its keys. */
function components(sets: SetVersions): Map<string, readonly string[]> {
  const groups = new Map<string, readonly string[]>()
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const open: string[] = []
  const isOpen = new Set<string>()
  for (const root of sets.entries.keys()) {
    if (order.has(root)) continue
    const path: { at: string; next: Iterator<string> }[] = []
    const enter = (at: string): void => {
      order.set(at, order.size)
      low.set(at, order.get(at)!)
      open.push(at)
      isOpen.add(at)
      path.push({ at, next: uses(sets, at)[Symbol.iterator]() })
    }
    enter(root)
    while (path.length > 0) {
      const { at, next } = path.at(-1)!
      const { done, value: target } = next.next()
      if (done !== true) {
        if (!order.has(target)) enter(target)
        else if (isOpen.has(target)) low.set(at, Math.min(low.get(at)!, order.get(target)!))
        continue
      }
      path.pop()
      const below = path.at(-1)?.at
      if (below !== undefined) low.set(below, Math.min(low.get(below)!, low.get(at)!))
      if (low.get(at) !== order.get(at)) continue
      const members: string[] = []
      let member: string
      do {
        member = open.pop()!
        isOpen.delete(member)
        members.push(member)
      } while (member !== at)
      if (members.length === 1) continue
      members.sort((a, b) => (a < b ? -1 : 1))
      for (const each of members) groups.set(each, members)
    }
  }
  return groups
}

/** Keys with those first that others of them use; groups in one piece. */
export function inOrder(sets: SetVersions, keys: Iterable<string>): string[] {
  const wanted = new Set(keys)
  const sorted: string[] = []
  const seen = new Set<string>()
  for (const root of wanted) {
    if (seen.has(root)) continue
    seen.add(root)
    const path = [{ at: root, next: uses(sets, root)[Symbol.iterator]() }]
    while (path.length > 0) {
      const { at, next } = path.at(-1)!
      const { done, value } = next.next()
      if (done === true) {
        path.pop()
        sorted.push(at)
      } else if (wanted.has(value) && !seen.has(value)) {
        seen.add(value)
        path.push({ at: value, next: uses(sets, value)[Symbol.iterator]() })
      }
    }
  }
  return sorted
}
