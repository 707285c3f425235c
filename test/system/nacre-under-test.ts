// A real nacre for a test file, through the public API: started once, watched for leaks, and quiet again after every test.
import { afterAll, afterEach, beforeAll, expect } from "vitest"
import { Nacre } from "nacre"
import type { EvalOptions, NacreEvent, NacreOptions, OpenOptions, Outcome, Session, ToolContext } from "nacre"
import { checkLeaks } from "../leak-check.ts"
import { gate, until } from "../until.ts"
import type { Gate } from "../until.ts"

export interface Computing {
  readonly outcome: Promise<Outcome>
  readonly evalId: string
}

export class NacreUnderTest {
  nacre!: Nacre
  readonly events: NacreEvent[] = []
  /** Calls of `tools.hold(name)` by name: the eval is parked until the test opens the gate. */
  readonly held = new Map<string, { gate: Gate; call: ToolContext }>()

  async start(options: NacreOptions): Promise<void> {
    this.nacre = await Nacre.start({
      ...options,
      // Less than the default, so that what takes all of it does so soon.
      hosts: { memoryBytesMax: 512 * 1024 ** 2, ...options.hosts },
      tools: {
        hold: async ([name], call) => {
          const held = { gate: gate(), call }
          this.held.set(String(name), held)
          await held.gate.opened
          return name
        },
        echo: async (args) => args,
        ...options.tools,
      },
      onEvent: (event) => {
        this.events.push(event)
        options.onEvent?.(event)
      },
    })
  }

  open(options: OpenOptions = {}): Promise<Session> {
    return this.nacre.open(options)
  }

  /** The context of a held tool call, as soon as session code has made it. */
  async parked(name: string): Promise<{ gate: Gate; call: ToolContext }> {
    return until(`tools.hold(${JSON.stringify(name)}) to be called`, () => this.held.get(name))
  }

  /** Starts an eval and resolves once its code has written something. */
  async computing(session: Session, source: string, options: EvalOptions = {}): Promise<Computing> {
    const begun = gate()
    const outcome = session.eval(source, { ...options, onOutput: () => begun.open() })
    await Promise.race([
      begun.opened,
      outcome.then((it) => Promise.reject(new Error(`It ended: ${JSON.stringify(it)}`))),
    ])
    return { outcome, evalId: session.shell!.runningEvalId! }
  }

  /** Process ids of living hosts, as the events tell. */
  hostPids(): number[] {
    const pids = new Set<number>()
    for (const event of this.events) {
      if (event.type === "host.started") pids.add(event.pid)
      else if (event.type === "host.lost") pids.delete(event.pid)
    }
    return [...pids]
  }

  /** Kills every host with SIGKILL; resolves when the nacre has noticed each. */
  async killHosts(): Promise<void> {
    const pids = this.hostPids()
    for (const pid of pids) process.kill(pid, "SIGKILL")
    await until("the loss of the killed hosts", () => {
      const lost = new Set(this.events.flatMap((it) => (it.type === "host.lost" ? [it.pid] : [])))
      return pids.every((pid) => lost.has(pid))
    })
  }

  /** Nothing runs, nothing is parked and nobody waits on any worker. */
  isQuiet(): boolean {
    return this.nacre.placement().every(({ workers }) => workers.every((it) => it.inFlight === 0 && it.parked === 0))
  }
}

/** One nacre for all tests of a file; after each test its sessions are closed and it must be quiet. */
export function useNacre(options: NacreOptions = {}): NacreUnderTest {
  const under = new NacreUnderTest()
  checkLeaks()
  beforeAll(() => under.start({ hosts: { min: 1, max: 2 }, ...options }))
  afterEach(async () => {
    for (const { gate: held } of under.held.values()) held.open()
    under.held.clear()
    await Promise.all(under.nacre.sessions().map((session) => session.close()))
    await until("the nacre to be quiet", () => under.isQuiet(), 5_000).catch(() => {
      throw new Error(`Evals are under way after their sessions were closed: ${JSON.stringify(describe(under.nacre))}`)
    })
    const crashed = under.events.filter((it) => it.type === "actor.crashed")
    under.events.splice(0, under.events.length, ...under.events.filter((it) => it.type.startsWith("host.")))
    expect(crashed, "no actor of Nacre may crash").toEqual([])
  })
  afterAll(() => under.nacre?.stop())
  return under
}

function describe(nacre: Nacre): unknown {
  return nacre.placement().map(({ host, group, workers }) => ({ pid: host.pid, group, workers }))
}

/** What a refused call rejects with. */
export async function refusal(promise: Promise<unknown>): Promise<{ kind: string; message: string; retry: string }> {
  try {
    await promise
  } catch (error) {
    return error as { kind: string; message: string; retry: string }
  }
  throw new Error("It was not refused.")
}
