// A tree on simulated time, with failures injected everywhere it calls code of others: start, stop, kill, report.
//
// The differential test says that decisions are OTP's; this one says that whatever children do, nothing is lost: no child lives without a
// supervisor that knows it, no call hangs, no timer and no restart is left over, and the books agree with each other. A seed chooses
// everything; a failure names it.
import { describe, expect, it } from "vitest"
import {
  Process,
  startSupervisor,
  System,
  VirtualClock,
  type ChildSpec,
  type ExitReason,
  type ProcessLike,
  type Report,
  type StartResult,
  type Supervisor,
  type SupervisorSpec,
} from "../../../supervisor/index.ts"
import { childById, childByProcess, inStartOrder } from "../../../supervisor/children.ts"
import { createRandom, type Random } from "./random.ts"

const runs = 300
const intensityMax = 11
const firstSeed = Number(process.env["NACRE_SEED"] ?? 1)

class Simulation {
  readonly clock = new VirtualClock()
  readonly thrown: unknown[] = []
  readonly system = new System({ clock: this.clock, onThrow: (thrown) => this.thrown.push(thrown) })
  readonly reports: Report[] = []
  reportsThrown = 0
  readonly supervisors: Supervisor[] = []
  /** Every process that a start has made, also one that came too late. */
  readonly made: { readonly process: Process; readonly exit: (reason: ExitReason) => void }[] = []
  readonly #random: Random
  #idNext = 1
  /** Off while the tree is built, so that there is one. */
  isHostile = false

  constructor(random: Random) {
    this.#random = random
  }

  readonly onReport = (report: Report): void => {
    this.reports.push(report)
    if (!this.isHostile || !this.#random.chance(0.2)) return
    this.reportsThrown++
    throw new Error("report")
  }

  supervisorSpec(depth: number): SupervisorSpec {
    const random = this.#random
    const strategy = random.pick(["one_for_one", "one_for_all", "rest_for_one", "simple_one_for_one"] as const)
    const count = strategy === "simple_one_for_one" ? 1 : 1 + random.below(4)
    return {
      strategy,
      intensity: random.below(intensityMax + 1),
      periodMs: 1 + random.below(5000),
      autoShutdown: random.pick(["never", "never", "any_significant", "all_significant"] as const),
      ...(random.chance(0.2) ? { childrenMax: 6 } : {}),
      children: Array.from({ length: count }, () => this.childSpec(depth)),
    }
  }

  childSpec(depth: number): ChildSpec {
    const random = this.#random
    const base = {
      id: `c${this.#idNext++}`,
      restart: random.pick(["permanent", "transient", "temporary"] as const),
      shutdown: random.pick(["brutal_kill", 0, 10, 1000] as const),
      startTimeoutMs: 200,
      ...(random.chance(0.3) ? { backoff: { minMs: 1, maxMs: 500, jitter: random.pick([0, 0.5, 1]) } } : {}),
    }
    if (depth > 0 && random.chance(0.4)) {
      const spec = this.supervisorSpec(depth - 1)
      const start: ChildSpec["start"] = async (context) => {
        const supervisor = await startSupervisor(spec, context)
        this.supervisors.push(supervisor)
        return supervisor
      }
      return { ...base, shutdown: random.pick(["infinity", "brutal_kill", 500] as const), type: "supervisor", start }
    }
    return { ...base, start: () => this.#startWorker() }
  }

  #startWorker(): StartResult | Promise<StartResult> {
    const random = this.#random
    if (!this.isHostile) return this.#worker()
    return random.weighted<() => StartResult | Promise<StartResult>>([
      [() => this.#worker(), 8],
      [() => Promise.resolve(this.#worker()), 2],
      [() => this.#later(random.below(150), () => this.#worker()), 2],
      [() => this.#later(1000, () => this.#worker()), 1],
      [() => new Promise(() => undefined), 1],
      [() => this.#later(random.below(150), () => ({ error: "late" })), 1],
      [() => Promise.reject(new Error("rejected")), 1],
      [
        () => {
          throw new Error("thrown")
        },
        1,
      ],
      [() => ({ error: "error" }), 1],
      [() => "ignore", 1],
      [() => JSON.parse("null"), 1],
      [() => this.#stillborn(), 1],
    ])()
  }

  #later(ms: number, make: () => StartResult): Promise<StartResult> {
    return new Promise((resolve) => this.clock.setTimer(ms, () => resolve(make())))
  }

  /** Dead by the time it is adopted. */
  #stillborn(): Process {
    const process = this.#worker()
    process.kill()
    return process
  }

  #worker(): Process {
    const random = this.#random
    let tell: ((reason: ExitReason) => void) | undefined
    const exit = (reason: ExitReason): void => tell?.(reason)
    const stop = random.weighted<ProcessLike["stop"]>([
      [(reason) => exit(reason), 6],
      [undefined, 3],
      [(reason) => (reason === "killed" ? exit(reason) : undefined), 2],
      [(reason) => void this.clock.setTimer(random.below(50), () => exit(reason)), 2],
      [() => exit("another"), 1],
      [
        () => {
          throw new Error("stop")
        },
        1,
      ],
      [async () => Promise.reject(new Error("stop")), 1],
    ])
    const kill = random.weighted<ProcessLike["kill"]>([
      [() => undefined, 8],
      [() => Promise.resolve(), 2],
      [() => Promise.reject(new Error("kill")), 1],
      [() => new Promise<void>(() => undefined), 1],
      [
        () => {
          throw new Error("kill")
        },
        1,
      ],
    ])
    const like: ProcessLike = {
      kill,
      onExit: (listener) => {
        tell = listener
      },
      ...(stop === undefined ? {} : { stop }),
    }
    const process = new Process(this.system, like, "worker")
    this.made.push({ process, exit })
    return process
  }

  async quiet(): Promise<void> {
    do await new Promise<void>((resolve) => setImmediate(resolve))
    while (!this.system.queue.isIdle)
  }

  /** Until nothing is due any more. A failing restart without backoff counts against its intensity, so this ends. */
  async settle(): Promise<void> {
    await this.quiet()
    while (this.clock.fireNext()) await this.quiet()
  }

  step(root: Supervisor): void {
    const random = this.#random
    const supervisor = random.pick([root, ...this.supervisors].filter(({ process }) => process.isAlive))
    const victim = this.made.length === 0 ? undefined : random.pick(this.made)
    const id = `c${1 + random.below(this.#idNext)}`
    const act = random.weighted<() => unknown>([
      [() => victim?.exit(random.pick(["normal", "boom", { shutdown: 1 }])), 5],
      [() => victim?.process.kill(), 2],
      [() => victim?.process.signal(random.pick(["normal", "boom", "kill", "shutdown"])), 2],
      [() => supervisor.terminateChild(id), 2],
      [() => supervisor.restartChild(id), 2],
      [() => supervisor.deleteChild(id), 1],
      [() => supervisor.startChild(supervisor.state.template === undefined ? this.childSpec(0) : [1]), 3],
      [() => supervisor.countChildren({ timeoutMs: 50 }), 1],
      [() => supervisor.whichChildren(), 1],
      [() => (supervisor === root ? undefined : supervisor.kill()), 0.5],
      [() => supervisor.changeSpec(this.supervisorSpec(0)), 0.3],
    ])
    const result = act()
    if (result instanceof Promise) this.calls.push(result.catch((error: unknown) => error))
  }

  readonly calls: Promise<unknown>[] = []
}

function checkBooks(supervisor: Supervisor): void {
  const { children, restarts } = supervisor.state
  let restarting = 0
  let size = 0
  for (const child of inStartOrder(children)) {
    size++
    if (child.status === "restarting") restarting++
    if (child.status === "running") {
      expect(child.process?.isAlive).toBe(true)
      expect(child.process?.parent).toBe(supervisor.process)
    }
    if (child.process !== undefined) expect(childByProcess(children, child.process)).toBe(child)
    if (children.hasIds) expect(childById(children, child.spec.id)).toBe(child)
    else expect(child.status).not.toBe("stopped")
  }
  expect(children.restartingCount).toBe(restarting)
  expect(children.bySlot.size).toBe(size)
  expect(restarts.next - restarts.oldest).toBeLessThanOrEqual(intensityMax + 1)
}

async function simulate(seed: number): Promise<{ restarts: number; failures: number }> {
  const random = createRandom(seed)
  const simulation = new Simulation(random)
  const { system, onReport } = simulation
  const starting = startSupervisor(simulation.supervisorSpec(2), {
    system,
    onReport,
    random: () => random.below(1000) / 1000,
  })
  await simulation.quiet()
  const root = await starting
  simulation.isHostile = true
  for (let at = 0; at < 30 && root.process.isAlive; at++) {
    simulation.step(root)
    if (random.chance(0.6)) await simulation.quiet()
    if (random.chance(0.4)) simulation.clock.fireNext()
  }
  await simulation.settle()
  const alive = [root, ...simulation.supervisors].filter(({ process }) => process.isAlive)
  for (const supervisor of alive) checkBooks(supervisor)
  // Whoever lives is known to a living supervisor.
  for (const { process } of simulation.made) {
    if (!process.isAlive) continue
    const owner = alive.find((supervisor) => supervisor.process === process.parent)
    expect(owner === undefined ? undefined : childByProcess(owner.state.children, process)?.process).toBe(process)
  }
  const stopped = root.stop()
  await simulation.settle()
  expect(await stopped).toBe(root.process.exitReason)
  expect(simulation.made.filter(({ process }) => process.isAlive)).toEqual([])
  expect(simulation.supervisors.filter(({ process }) => process.isAlive)).toEqual([])
  expect(simulation.clock.timerCount).toBe(0)
  await Promise.all(simulation.calls)
  // Only what reports threw has reached the system's hook.
  expect(simulation.thrown).toHaveLength(simulation.reportsThrown)
  const count = (event: Report["event"]): number => simulation.reports.filter((report) => report.event === event).length
  return { restarts: count("child.terminated"), failures: count("child.startFailed") + count("child.shutdownFailed") }
}

describe("simulation with injected failures", () => {
  it(`loses nothing in ${runs} runs`, { timeout: 120_000 }, async () => {
    const sum = { restarts: 0, failures: 0 }
    for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
      try {
        const { restarts, failures } = await simulate(seed)
        sum.restarts += restarts
        sum.failures += failures
      } catch (thrown) {
        throw new Error(`seed ${seed} (NACRE_SEED=${seed} runs it first)`, { cause: thrown })
      }
    }
    console.log(
      `${runs} simulations from seed ${firstSeed}: ${sum.restarts} ends reported, ${sum.failures} failures of start or stop`,
    )
    // A simulation in which nothing breaks proves nothing.
    expect(sum.restarts).toBeGreaterThan(runs)
    expect(sum.failures).toBeGreaterThan(runs / 2)
  })
})
