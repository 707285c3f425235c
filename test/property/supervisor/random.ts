// Seeded randomness for generators: the same seed gives the same scenario on every machine.

export interface Random {
  /** A whole number in [0, below). */
  below(below: number): number
  chance(probability: number): boolean
  pick<T>(items: readonly T[]): T
  /** One of the values, as often as its weight says. */
  weighted<T>(items: readonly (readonly [T, number])[]): T
}

export function createRandom(seed: number): Random {
  let state = (seed * 0x9e3779b1) >>> 0
  const next = (): number => {
    // mulberry32
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const random: Random = {
    below: (below) => Math.floor(next() * below),
    chance: (probability) => next() < probability,
    pick: (items) => {
      const item = items[random.below(items.length)]
      if (item === undefined) throw new Error("nothing to pick from")
      return item
    },
    weighted: (items) => {
      let left = next() * items.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [item, weight] of items) {
        left -= weight
        if (left < 0) return item
      }
      return random.pick(items)[0]
    },
  }
  return random
}
