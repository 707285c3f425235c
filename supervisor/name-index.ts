// An immutable map from strings to numbers: the ids of a supervisor's children.
//
// A hash tree whose nodes hold only what is there (a bitmap and its items), so that an id costs about a hundred bytes and adding one
// among 100,000 copies four small arrays. Strings of equal hash share a bucket.

interface Leaf {
  readonly hash: number
  readonly entries: readonly (readonly [string, number])[]
}

interface Branch {
  readonly bitmap: number
  readonly items: readonly (Branch | Leaf)[]
}

export type NameIndex = Branch

export const emptyIndex: NameIndex = { bitmap: 0, items: [] }

export function lookUp(index: NameIndex, name: string): number | undefined {
  const hash = hashOf(name)
  let node: Branch | Leaf = index
  for (let shift = 0; "bitmap" in node; shift += 5) {
    const bit: number = 1 << ((hash >>> shift) & 31)
    if ((node.bitmap & bit) === 0) return undefined
    const next: Branch | Leaf | undefined = node.items[position(node.bitmap, bit)]
    if (next === undefined) return undefined
    node = next
  }
  return node.hash === hash ? node.entries.find(([key]) => key === name)?.[1] : undefined
}

/** `undefined` as value removes the name. */
export function put(index: NameIndex, name: string, value: number | undefined): NameIndex {
  const changed = putIn(index, 0, hashOf(name), name, value)
  return changed !== undefined && "bitmap" in changed ? changed : emptyIndex
}

function putIn(
  node: Branch | Leaf | undefined,
  shift: number,
  hash: number,
  name: string,
  value: number | undefined,
): Branch | Leaf | undefined {
  if (node === undefined) return value === undefined ? undefined : { hash, entries: [[name, value]] }
  if ("entries" in node) {
    if (node.hash === hash) {
      const entries = node.entries.filter(([key]) => key !== name)
      if (value !== undefined) entries.push([name, value])
      return entries.length === 0 ? undefined : { hash, entries }
    }
    if (value === undefined) return node
    const bit = 1 << ((node.hash >>> shift) & 31)
    return putIn({ bitmap: bit, items: [node] }, shift, hash, name, value)
  }
  const bit = 1 << ((hash >>> shift) & 31)
  const at = position(node.bitmap, bit)
  const isThere = (node.bitmap & bit) !== 0
  const before = isThere ? node.items[at] : undefined
  const after = putIn(before, shift + 5, hash, name, value)
  if (after === before) return node
  if (after === undefined) {
    const items = node.items.filter((item) => item !== before)
    return items.length === 0 ? undefined : { bitmap: node.bitmap & ~bit, items }
  }
  // `toSpliced` reads better and took ten times as long here.
  const items = node.items.slice()
  if (!isThere) {
    items.push(after)
    for (let to = items.length - 1; to > at; to--) {
      const moved = items[to - 1]
      if (moved !== undefined) items[to] = moved
    }
  }
  items[at] = after
  return { bitmap: node.bitmap | bit, items }
}

function position(bitmap: number, bit: number): number {
  let below = bitmap & (bit - 1)
  below -= (below >>> 1) & 0x55555555
  below = (below & 0x33333333) + ((below >>> 2) & 0x33333333)
  return Math.imul((below + (below >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** FNV-1a over UTF-16 units, then mixed so that the low bits depend on all. */
function hashOf(name: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b)
  return hash ^ (hash >>> 13)
}
