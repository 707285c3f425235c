// Monitors and links between processes.
//
// A monitor is one-sided and tells once; two monitors tell twice; a monitor of a dead process tells at once, with `noproc`. A link is
// mutual and unique: the end of one is an exit signal to the other, which ends with the same reason unless it traps. Both are delivered
// through the queue, so an undone monitor or link is never heard of again.
import type { Process } from "./process.ts"
import type { ExitReason } from "./reason.ts"

export interface Monitor {
  /** Ends the monitoring; a notice that is already on its way is dropped. */
  demonitor(): void
}

export function monitor(target: Process, onDown: (reason: ExitReason) => void): Monitor {
  let isActive = true
  const wasAlive = target.isAlive
  const watcher = (_process: Process, reason: ExitReason): void => {
    target.system.queue.push(() => {
      if (!isActive) return
      isActive = false
      target.system.runCallback(() => onDown(wasAlive ? reason : "noproc"))
    })
  }
  target.watch(watcher)
  return {
    demonitor: () => {
      isActive = false
      target.unwatch(watcher)
    },
  }
}

/** Linking to a dead process is an exit signal `noproc` from it. */
export function link(one: Process, other: Process): void {
  if (one === other) return
  if (!one.isAlive) return void (other.isAlive && other.signal("noproc", one))
  if (!other.isAlive) return one.signal("noproc", other)
  one.addLink(other)
  other.addLink(one)
}

export function unlink(one: Process, other: Process): void {
  one.removeLink(other)
  other.removeLink(one)
}

/** The exit reason, once it has ended. */
export function whenExited(target: Process): Promise<ExitReason> {
  return new Promise((resolve) => target.watch((_process, reason) => resolve(reason)))
}
