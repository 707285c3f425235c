// What every drill stands on: its scale, its checks and figures, the nacre it breaks, and what must be gone afterwards.
//
// A drill is a file `NAME.drill.ts` that exports `drill`. It runs in a process of its own, with a temporary folder of its own, so that
// what it leaves behind can be told from everything else on the machine: `run.ts` looks for processes and files that name that folder.
// A drill only uses what an embedder can use: the package as it was built into `dist/`, and signals.
import { isAlive } from "./machine.ts"
import type { Nacre, NacreEvent, NacreOptions, Outcome, Session } from "../../runtime/index.ts"

export interface Drill {
  /** What must survive, in one line. */
  survives: string
  /** Milliseconds after which the whole drill counts as hung. Default: 300 s, 600 s in full mode. */
  timeoutMs?: number
  run(ground: Ground): Promise<void>
}

export interface Scale {
  quick: boolean
  /** Seeds every random choice, so that a run can be repeated as far as its timing can. */
  seed: number
  /** Replaces the drill's own count of whatever it repeats. */
  count: number | undefined
}

export interface Finding {
  checks: number
  failures: string[]
  failureCount: number
  figures: string[]
}

/** Failures that are kept with their text. */
const failuresKept = 12

export class Ground {
  readonly scale: Scale
  readonly finding: Finding = { checks: 0, failures: [], failureCount: 0, figures: [] }
  readonly events: NacreEvent[] = []
  readonly #nacres: Nacre[] = []
  #randomState: number

  constructor(scale: Scale) {
    this.scale = scale
    this.#randomState = scale.seed
  }

  /** How often to repeat: the count given by flag, else one of the two. */
  times(full: number, quick: number): number {
    return this.scale.count ?? (this.scale.quick ? quick : full)
  }

  check(isTrue: boolean, what: string): void {
    this.finding.checks += 1
    if (isTrue) return
    this.finding.failureCount += 1
    const { failures } = this.finding
    if (failures.length < failuresKept && !failures.includes(what)) failures.push(what)
  }

  /** As `check`, for values that JSON can tell apart. */
  equal(actual: unknown, expected: unknown, what: string): void {
    // Nothing is said of `undefined` in JSON.
    const [a, b] = [actual, expected].map((value) => JSON.stringify(value) as string | undefined)
    this.check(a === b, `${what}: ${a?.slice(0, 200)}, not ${b?.slice(0, 200)}`)
  }

  /** Something the result line should say, such as "312 kills". */
  figure(text: string): void {
    this.finding.figures.push(text)
  }

  /** Starts a nacre that is stopped when the drill ends. */
  async nacre(options: NacreOptions = {}): Promise<Nacre> {
    const { Nacre } = await built()
    const nacre = await Nacre.start({
      ...options,
      onEvent: (event) => {
        this.events.push(event)
        options.onEvent?.(event)
      },
    })
    this.#nacres.push(nacre)
    return nacre
  }

  /** Ends what the drill started. A stop that hangs is a failure of its own. */
  async leave(): Promise<void> {
    const stopped = Promise.all(this.#nacres.map((nacre) => nacre.stop())).then(() => true)
    this.check((await within(20_000, stopped)) === true, "nacre.stop() did not resolve within 20 s")
    const crashes = this.events.filter((event) => event.type === "actor.crashed")
    this.equal(crashes, [], "actors of Nacre crashed")
  }

  /** A number in [0, 1), repeatable by seed (mulberry32). */
  random(): number {
    this.#randomState = (this.#randomState + 0x6d2b79f5) | 0
    let t = Math.imul(this.#randomState ^ (this.#randomState >>> 15), 1 | this.#randomState)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** The package as its users get it. Types come from the sources, since `dist/` may not exist when types are checked. */
export function built(): Promise<typeof import("../../runtime/index.ts")> {
  return import(new URL("../../dist/runtime/index.js", import.meta.url).href)
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** The promise's value, or undefined when it takes longer. */
export function within<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms)
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Resolves with true as soon as the condition holds, with false when it has not within `ms`. For what only the OS can tell. */
export async function until(ms: number, condition: () => boolean): Promise<boolean> {
  const deadline = performance.now() + ms
  while (!condition()) {
    if (performance.now() > deadline) return false
    await pause(5)
  }
  return true
}

/** Resolves when as many hosts have a thread ready as the nacre keeps, its spare among them. */
export function allHostsReady(nacre: Nacre, ms = 30_000): Promise<boolean> {
  const isReady = (): boolean => {
    const hosts = nacre.placement()
    return hosts.length > nacre.hosts.min && hosts.every(({ host, workers }) => !host.isDead && workers.length > 0)
  }
  return until(ms, isReady)
}

export function hostPids(nacre: Nacre): number[] {
  return nacre.placement().map(({ host }) => host.pid)
}

/** The process that holds the session's realm, 0 when none does. */
export function pidOf(session: Session): number {
  return session.worker?.host.pid ?? 0
}

/** Sends the signal; false when the process was gone already. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return pid > 0 && process.kill(pid, name)
  } catch {
    return false
  }
}

/** Whether nothing but a zombie is left of it. */
export function isProcessGone(pid: number): boolean {
  return !isAlive(pid)
}

export function describeOutcome(outcome: Outcome): string {
  const { status, because, error } = outcome
  return `${status}${because === undefined ? "" : ` (${because})`}${error === undefined ? "" : ` ${error.name}: ${error.message}`}`
}

/** `p50 1.2, p99 3.4, max 5.6 ms` of a set of durations. */
export function distribution(values: readonly number[], unit = "ms"): string {
  const [p50, p99, max] = [0.5, 0.99, 1].map((share) => {
    const value = quantile(values, share)
    return value.toFixed(value < 100 ? 1 : 0)
  })
  return `p50 ${p50}, p99 ${p99}, max ${max} ${unit}`
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? NaN
}
