// An immutable table from growing whole numbers to values, walked in either order of its keys.
//
// The supervisor's state is a value, and it may hold 100,000 children: copying a Map per event would cost milliseconds. This is a radix
// tree of 32 ways, so a change copies one path of at most four short arrays at that size. Keys are handed out in growing order, which
// keeps the tree dense and makes the order of keys the order of starts.

/* oxlint-disable typescript/no-unsafe-type-assertion -- the level of a node, not the item, says whether it holds nodes or values */

const ways = 32

type Node<V> = readonly (Node<V> | V | undefined)[]

export interface OrderedTable<V> {
  readonly size: number
  /** Keys below this fit in the tree: a power of 32. */
  readonly capacity: number
  readonly root: Node<V>
}

const emptyTable: OrderedTable<never> = { size: 0, capacity: ways, root: [] }

export function createTable<V>(): OrderedTable<V> {
  return emptyTable
}

export function getAt<V>(table: OrderedTable<V>, key: number): V | undefined {
  if (key >= table.capacity) return undefined
  let node: Node<V> | undefined = table.root
  for (let step = table.capacity / ways; step > 1; step /= ways) {
    node = node[Math.floor(key / step) % ways] as Node<V> | undefined
    if (node === undefined) return undefined
  }
  return node[key % ways] as V | undefined
}

/** Setting `undefined` removes the key. */
export function setAt<V>(table: OrderedTable<V>, key: number, value: V | undefined): OrderedTable<V> {
  const before = getAt(table, key)
  if (before === value) return table
  let { capacity, root } = table
  while (key >= capacity) {
    root = root.length === 0 ? root : [root]
    capacity *= ways
  }
  const size = table.size + (before === undefined ? 1 : 0) - (value === undefined ? 1 : 0)
  return { size, capacity, root: setIn(root, capacity / ways, key, value) ?? [] }
}

/** The new node, or `undefined` when nothing is left in it, so that removed ranges cost no memory. */
function setIn<V>(node: Node<V>, step: number, key: number, value: V | undefined): Node<V> | undefined {
  const digit = Math.floor(key / step) % ways
  const item = step === 1 ? value : setIn((node[digit] as Node<V> | undefined) ?? [], step / ways, key, value)
  const copy = node.slice()
  while (copy.length < digit) copy.push(undefined)
  copy[digit] = item
  if (item !== undefined) return copy
  return copy.every((other) => other === undefined) ? undefined : copy
}

export function* entriesUp<V>(table: OrderedTable<V>): Generator<readonly [number, V]> {
  yield* walk(table.root, table.capacity / ways, 0, false)
}

export function* entriesDown<V>(table: OrderedTable<V>): Generator<readonly [number, V]> {
  yield* walk(table.root, table.capacity / ways, 0, true)
}

function* walk<V>(node: Node<V>, step: number, base: number, isDown: boolean): Generator<readonly [number, V]> {
  for (let index = 0; index < node.length; index++) {
    const digit = isDown ? node.length - 1 - index : index
    const item = node[digit]
    if (item === undefined) continue
    const key = base + digit * step
    if (step === 1) yield [key, item as V]
    else yield* walk(item as Node<V>, step / ways, key, isDown)
  }
}
