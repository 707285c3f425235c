// A system for the life of one command: started, used, and always stopped in order, whatever ends the command.
//
// A signal, a reader that has gone and an ordinary end take the same way out, which has a deadline: the nacre's drain limit. A second
// signal does not wait for it. Even a SIGKILL leaves nothing: hosts end with this process and remove its socket.
import type { EventListener, NacreEvent } from "../events.ts"
import { Nacre } from "../nacre.ts"
import type { ProfileName } from "../nacre.ts"
import { resolveLimits } from "../options.ts"
import type { HostOptions, Limits } from "../options.ts"

export interface System {
  readonly nacre: Promise<Nacre>
  readonly limits: Limits
  readonly subscribe: (listener: EventListener) => () => void
  /** Aborted by a signal, or when standard output has no reader any more. */
  readonly signal: AbortSignal
}

/** Output of one eval that a terminal or a pipe takes: it is shown as it comes, so the limit only guards this process's memory. */
const outputBytesMax = 16 * 1024 * 1024
/** What a shell says for a process that a broken pipe ended. */
const brokenPipeCode = 128 + 13

const signalCodes = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const

/**
 * Starts a system and gives it to `use`. Resolves with the command's exit code. Its sessions have profile `full` by default: whoever evaluates on
 * their own machine may do there what their code says. By default it has one host, which is all that one session needs. `limits` are those in
 * which it differs from the other commands.
 */
export async function withSystem(
  use: (system: System) => Promise<number>,
  options: {
    profile?: ProfileName
    limits?: Partial<Limits>
    hosts?: Partial<HostOptions>
    /** Files. */
    preludes?: readonly string[]
  } = {},
): Promise<number> {
  const { profile = "full", limits: given = {}, hosts = { min: 1 }, preludes = [] } = options
  const limits = resolveLimits({ outputBytesMax, ...given })
  const listeners = new Set<EventListener>()
  const stopping = new AbortController()
  let endedBy: number | undefined
  const stop = (code: number): void => {
    if (endedBy !== undefined) process.exit(code)
    endedBy = code
    stopping.abort()
  }
  for (const [name, code] of Object.entries(signalCodes)) process.on(name, () => stop(code))
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", () => {
      endedBy ??= brokenPipeCode
      stopping.abort()
    })
  }
  const nacre = Nacre.start({
    hosts,
    profile,
    preludes: preludes.map((file) => ({ file })),
    limits: { outputBytesMax, ...given },
    onEvent: (event: NacreEvent) => {
      for (const listener of listeners) listener(event)
    },
  })
  // Whoever needs it hears of a failure; a command that ends before does not care.
  nacre.catch(() => {})
  const subscribe = (listener: EventListener): (() => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  try {
    const code = await use({ nacre, limits, subscribe, signal: stopping.signal })
    return endedBy ?? code
  } finally {
    await nacre.then(
      (it) => it.stop(),
      () => {},
    )
    for (const name of Object.keys(signalCodes)) process.removeAllListeners(name)
  }
}
