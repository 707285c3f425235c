// Every limit and default of a nacre, with the reason beside it. Bad options are refused here, by name, before anything starts.
import { availableParallelism, totalmem } from "node:os"
import { inspect } from "node:util"
import { NacreError } from "./errors.ts"

export interface HostOptions {
  /** Hosts kept running for the main workspace. One per core: an eval computes on one core. */
  min: number
  /** Hosts at most, beside one spare. When more workspaces want one, an idle host of another is ended for a fresh one: none ever serves two. */
  max: number
  /** Threads per host at most. Threads beyond the first exist for parked evals and slow neighbours; each costs about 10 MB. */
  threadsPerHostMax: number
  /**
   * Resident bytes of a host above which it is killed. By default an eighth of the machine's (or container's) memory, at least 256 MiB and at most
   * 1 GiB: that is 1,000 realms of 0.6 MB within the share at which realms are dropped, and room for one large eval.
   */
  memoryBytesMax: number
}

export interface Limits {
  /** A session's waiting evals. 64 is far beyond what a person or an agent sends ahead. */
  queueMax: number
  /** Milliseconds an eval may take; `undefined` is none. 30 s is longer than any interactive wait. */
  evalTimeoutMs: number | undefined
  /** Bytes of output kept per eval. 256 KiB is ten screens of dense log; beyond it output is cut and the outcome says so. */
  outputBytesMax: number
  /** Characters of a result's text. */
  valueTextMax: number
  /** Encoded bytes of a result that travels as data, not only as text. */
  valueDataBytesMax: number
  /** Milliseconds a tool call may take. */
  toolTimeoutMs: number
  /** Tool calls of one eval that may be under way at once. */
  toolCallsMax: number
  /** Milliseconds that making the definitions of a change may take. */
  changeTimeoutMs: number
  /** Candidates of one session that are neither committed nor abandoned. */
  candidatesMax: number
  /** Pins of one session. Each may keep data of its revision that has been replaced. */
  pinsMax: number
  /** Marks of one session. Each keeps the state that it names. */
  marksMax: number
  /** Values of one session that the embedder holds by handles. They are committed as its bindings are. */
  retainedValuesMax: number
  /** Milliseconds a synchronous call from session code waits for its answer. */
  syncCallTimeoutMs: number
  /** Living realms per worker thread. A full collection grows by 0.2 ms per realm, and stops the thread; memory often sets the limit before. */
  residentsPerWorkerMax: number
  /** Parked evals per worker that placement aims at; it never refuses work for them. */
  parkedPerWorker: number
  /** Milliseconds without an eval after which a session's realm is dropped. */
  residentIdleMs: number
  /** Sessions of one nacre, live and dormant. */
  sessionsMax: number
  /** UTF-16 units of one submission. */
  sourceMax: number
  /** Milliseconds a host may take to report ready; a cold start takes 0.1 s here. */
  hostStartTimeoutMs: number
  /** Milliseconds without a heartbeat after which a host counts as dead. Its main thread runs no user code, so this is generous. */
  hostSilenceMs: number
  /** Milliseconds that `stop` lets running evals finish before it interrupts them. */
  drainMs: number
  /** Milliseconds that a check of types, a completion and the like may take, with their waiting. A checked body edit takes 10 ms, a first check 1 s. */
  checkTimeoutMs: number
  /** Checks that may wait for the checker. At 10 ms each the last of them is answered within seconds. */
  checksWaitingMax: number
  /** Resident bytes of the checker above which it is killed. It has 150 MB with TypeScript loaded, and 60 KB for a definition it has looked at. */
  checkerMemoryBytesMax: number
  /** Milliseconds a computing eval may stand still after an interrupt before its thread is terminated: lets a short stretch end by itself. */
  interruptGraceMs: number
  /** Milliseconds a thread may take to stop before its host is killed (a long native call cannot be interrupted). */
  threadStopMs: number
}

export const defaultLimits: Limits = {
  queueMax: 64,
  evalTimeoutMs: 30_000,
  outputBytesMax: 256 * 1024,
  valueTextMax: 64 * 1024,
  valueDataBytesMax: 1024 * 1024,
  toolTimeoutMs: 60_000,
  toolCallsMax: 16,
  changeTimeoutMs: 10_000,
  candidatesMax: 32,
  pinsMax: 32,
  marksMax: 32,
  retainedValuesMax: 1_000,
  syncCallTimeoutMs: 1_000,
  residentsPerWorkerMax: 500,
  parkedPerWorker: 16,
  residentIdleMs: 10 * 60_000,
  sessionsMax: 1_000_000,
  sourceMax: 4 * 1024 * 1024,
  hostStartTimeoutMs: 20_000,
  hostSilenceMs: 5_000,
  drainMs: 5_000,
  checkTimeoutMs: 15_000,
  checksWaitingMax: 256,
  checkerMemoryBytesMax: 1024 * 1024 * 1024,
  interruptGraceMs: 5,
  threadStopMs: 250,
}

export function defaultHosts(): HostOptions {
  const cores = availableParallelism()
  return { min: cores, max: Math.max(cores, 8), threadsPerHostMax: 8, memoryBytesMax: hostMemoryBytes() }
}

function hostMemoryBytes(): number {
  // Where nothing constrains the process this is 0, or more than there is.
  const constrained = process.constrainedMemory()
  const total = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
  return Math.round(Math.min(1024 ** 3, Math.max(256 * 1024 ** 2, total / 8)))
}

/** Fills in the defaults; throws `invalid_options` naming the first option that is unknown, not a positive number, or contradictory. */
export function resolveHosts(given: Partial<HostOptions> = {}): HostOptions {
  const hosts = withNumbers("hosts", defaultHosts(), given)
  if (given.max === undefined) hosts.max = Math.max(hosts.max, hosts.min)
  if (hosts.max < hosts.min) {
    throw new NacreError(
      "invalid_options",
      `hosts.max (${hosts.max}) is below hosts.min (${hosts.min}); raise max or lower min.`,
    )
  }
  if (hosts.memoryBytesMax < 64 * 1024 * 1024) {
    throw new NacreError(
      "invalid_options",
      `hosts.memoryBytesMax must be at least 64 MiB; an empty host needs about 60 MB.`,
    )
  }
  return hosts
}

export function resolveLimits(given: Partial<Limits> = {}): Limits {
  return withNumbers("limits", defaultLimits, given)
}

/** Options of the design that later versions bring; naming them says so, instead of ignoring what was asked for. */
const comingOptions = new Set(["store", "logger"])

/**
 * Throws for the first option of `given` that is not among `known`, since a misspelt one must not be a default in disguise: `unsupported` for
 * one that a later version brings, else `invalid_options`. The same when `given` holds no options at all.
 */
export function refuseUnknown(group: string, given: unknown, known: readonly string[]): asserts given is object {
  if (typeof given !== "object" || given === null || Array.isArray(given)) {
    throw new NacreError("invalid_options", `The options of ${group} must be an object, not ${inspect(given)}.`)
  }
  for (const name of Object.keys(given)) {
    if (known.includes(name)) continue
    if (comingOptions.has(name)) {
      throw new NacreError(
        "unsupported",
        `Option '${name}' of ${group} is not available in this version; leave it out.`,
      )
    }
    throw new NacreError("invalid_options", `Unknown option ${group}.${name}; known are ${known.join(", ")}.`)
  }
}

/** Throws `invalid_options` unless `value` is `undefined` or a positive number of milliseconds; `Infinity` is none. */
export function checkMilliseconds(name: string, value: unknown): void {
  const isFine = value === undefined || (typeof value === "number" && value > 0)
  expectOption(isFine, name, "a positive number of milliseconds or Infinity", value)
}

/** Throws `invalid_options` naming the option unless `isFine`. */
export function expectOption(isFine: boolean, name: string, what: string, value: unknown): void {
  if (!isFine) throw new NacreError("invalid_options", `${name} must be ${what}, not ${inspect(value)}.`)
}

function withNumbers<T extends object>(group: string, defaults: T, given: Partial<T>): T {
  const result = { ...defaults }
  refuseUnknown(group, given, Object.keys(defaults))
  for (const [name, value] of Object.entries(given)) {
    const optional = name === "evalTimeoutMs"
    if (value === undefined && optional) Object.assign(result, { [name]: undefined })
    else if (value === undefined) continue
    else if (typeof value !== "number" || !(value > 0) || (!Number.isInteger(value) && value !== Infinity)) {
      throw new NacreError(
        "invalid_options",
        `Option ${group}.${name} must be a positive whole number, not ${inspect(value)}.`,
      )
    } else Object.assign(result, { [name]: value })
  }
  return result
}
