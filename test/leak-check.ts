// What must be gone once every nacre of a test has stopped: host processes, socket folders, timers, and handles of the event loop.
//
// Each test file gets a temporary folder of its own, so that a socket folder left behind can be seen although other files run beside it.
// Timers are followed with async hooks, because the runtime's own do not keep the process alive and so are in no list of Node's.
import { execFileSync } from "node:child_process"
import { createHook } from "node:async_hooks"
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { afterAll, beforeAll } from "vitest"
import { until } from "./until.ts"

const packageCode = fileURLToPath(new URL("../dist/", import.meta.url))

/** Timers that code of the package has set and that have neither fired nor been cleared, with the place that set them. */
const openTimers = new Map<number, string>()

const timerHook = createHook({
  init(asyncId, type) {
    if (type !== "Timeout") return
    const ours = new Error("timer").stack!.split("\n").filter((it) => it.includes(packageCode))
    if (ours.length > 0) openTimers.set(asyncId, ours.map((it) => it.trim().split(packageCode)[1]).join(" < "))
  },
  destroy(asyncId) {
    openTimers.delete(asyncId)
  },
})

/** Process ids of the hosts and checkers that this process has started and that still run. */
export function hostProcesses(): number[] {
  const listing = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat=,command="], { encoding: "utf8" })
  const pids: number[] = []
  for (const line of listing.split("\n")) {
    const [, pid, ppid, state, command] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
    if (Number(ppid) !== process.pid || command === undefined || state!.startsWith("Z")) continue
    if (/runtime\/(host|checker)\/main/.test(command)) pids.push(Number(pid))
  }
  return pids
}

/** Handles of the loop that a nacre makes: child processes, pipes and sockets, servers. */
function handles(): string[] {
  return process.getActiveResourcesInfo().filter((it) => /Process|Pipe|Server|Socket/.test(it))
}

interface LeakBaseline {
  readonly folder: string
  readonly handles: number
}

/** Begins to watch; everything that is open now does not count as a leak. */
function watchLeaks(): LeakBaseline {
  const folder = mkdtempSync(join(tmpdir(), "t-"))
  process.env["TMPDIR"] = folder
  timerHook.enable()
  return { folder, handles: handles().length }
}

/** Fails, naming it, when anything of a nacre is left. */
async function expectNothingLeft({ folder, handles: before }: LeakBaseline): Promise<void> {
  const left = (): Record<string, unknown> => ({
    hosts: hostProcesses(),
    folders: readdirSync(folder).filter((it) => it.startsWith("nacre-")),
    timers: [...openTimers.values()],
    handles: handles().length > before ? handles() : [],
  })
  const isNothing = (found: Record<string, unknown>): boolean =>
    Object.values(found).every((it) => (it as []).length === 0)
  await until("nothing of a nacre to be left", () => isNothing(left()), 5_000).catch(() => {
    throw new Error(`A stopped nacre left something behind: ${JSON.stringify(left(), undefined, 1)}`)
  })
}

/**
 * Watches a whole test file: what its tests and their nacres made must be gone after its last test. Gives a function that checks it
 * earlier, when no nacre is to be running.
 */
export function checkLeaks(): () => Promise<void> {
  const temporary = tmpdir()
  let baseline: LeakBaseline
  beforeAll(() => {
    baseline = watchLeaks()
  })
  afterAll(async () => {
    try {
      await expectNothingLeft(baseline)
    } finally {
      rmSync(baseline.folder, { recursive: true, force: true })
      process.env["TMPDIR"] = temporary
    }
  })
  return () => expectNothingLeft(baseline)
}
