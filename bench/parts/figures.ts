// Figures of repeated measurements, and how a benchmark prints them.

export const isQuick = process.argv.includes("--quick")

/** A figure over rounds: the median round, and the best and the worst one as its spread. */
export interface Figure {
  median: number
  min: number
  max: number
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(sorted.length * share) - 1))] ?? NaN
}

export function over(rounds: readonly number[]): Figure {
  return { median: quantile(rounds, 0.5), min: Math.min(...rounds), max: Math.max(...rounds) }
}

export function show({ median, min, max }: Figure, unit = ""): string {
  return `${short(median)}${unit} (${short(min)} to ${short(max)})`
}

export function short(value: number): string {
  if (Math.abs(value) >= 1_000) return Math.round(value).toLocaleString("en")
  return value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2)
}

/** Prints a readable line, with the goal it is measured against if there is one, and the JSON line. */
export function report(
  bench: string,
  name: string,
  text: string,
  values: Record<string, unknown>,
  goal?: string,
): void {
  console.log(`  ${name.padEnd(34)} ${text}${goal === undefined ? "" : `   goal ${goal}`}`)
  console.log(JSON.stringify({ bench, name, ...values }, (_, value: unknown) => rounded(value)))
}

function rounded(value: unknown): unknown {
  return typeof value === "number" && !Number.isInteger(value) ? Number(value.toPrecision(5)) : value
}
