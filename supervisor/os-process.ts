// An OS process as a process.
//
// It may die at any instruction and it may ignore everything but SIGKILL. So an orderly stop is only a request (a message, a signal, the
// caller's own hook), death is what the kernel reports, and `kill` goes to the whole process group when the child leads one.
import type { ChildProcess } from "node:child_process"
import { SupervisionError } from "./errors.ts"
import type { ProcessLike } from "./process.ts"
import { reasonOfThrown, type ExitReason } from "./reason.ts"

export interface OsProcessOptions {
  /** Asks for an orderly end. Default: the IPC message `{ type: "shutdown" }` when there is a channel, SIGTERM otherwise. */
  readonly stop?: (child: ChildProcess, reason: ExitReason) => void
}

export interface ReadyOptions extends OsProcessOptions {
  /** Which IPC message means that it is ready. Default: `"ready"` or `{ type: "ready" }`. */
  readonly isReady?: (message: unknown) => boolean
  /** A forked Node process took 66 to 104 ms here; 30 s is for a machine that is on its knees. */
  readonly readyTimeoutMs?: number
}

const readyTimeoutMsDefault = 30_000

export function osProcess(child: ChildProcess, options: OsProcessOptions = {}): ProcessLike {
  let listener: ((reason: ExitReason) => void) | undefined
  let ended: ExitReason | undefined
  let asked: ExitReason | undefined
  let confirmKill: (() => void) | undefined
  const end = (reason: ExitReason): void => {
    if (ended !== undefined) return
    ended = reason
    confirmKill?.()
    listener?.(reason)
  }
  child.on("exit", (code, signal) => {
    const isAsAsked = asked !== undefined && (code === 0 || signal === "SIGTERM")
    if (isAsAsked) end(asked ?? "shutdown")
    else if (signal !== null) end({ signal })
    else end(code === 0 ? "normal" : { exitCode: code ?? -1 })
  })
  // A spawn that failed has no exit; a kill or send that failed says nothing about its life.
  child.on("error", (error) => {
    if (child.pid === undefined) end(reasonOfThrown(error))
  })
  if (child.exitCode !== null) ended = child.exitCode === 0 ? "normal" : { exitCode: child.exitCode }
  else if (child.signalCode !== null) ended = { signal: child.signalCode }
  return {
    stop: (reason) => {
      asked = reason
      if (reason === "killed") killGroup(child)
      else if (options.stop !== undefined) options.stop(child, reason)
      else if (child.connected) child.send({ type: "shutdown", reason }, ignoreFailure)
      else child.kill("SIGTERM")
    },
    kill: () =>
      new Promise<void>((resolve) => {
        if (ended !== undefined) return resolve()
        confirmKill = resolve
        killGroup(child)
      }),
    onExit: (told) => {
      listener = told
      if (ended !== undefined) told(ended)
    },
    describe: () => `pid ${child.pid ?? "none"}`,
  }
}

/** A started OS process once it has said that it is ready: return this from a child's `start`. Kills what does not get ready. */
export function readyOsProcess(child: ChildProcess, options: ReadyOptions = {}): Promise<ProcessLike> {
  const { isReady = isReadyMessage, readyTimeoutMs = readyTimeoutMsDefault } = options
  const adopted = osProcess(child, options)
  return new Promise((resolve, reject) => {
    const fail = (message: string, exitReason?: ExitReason): void => {
      leave()
      killGroup(child)
      reject(
        new SupervisionError(
          "start_failed",
          `OS process ${child.pid ?? ""} ${message}.`,
          exitReason === undefined ? {} : { exitReason },
        ),
      )
    }
    const leave = (): void => {
      clearTimeout(deadline)
      child.off("message", onMessage)
      child.off("exit", onExit)
      child.off("error", onError)
    }
    const onMessage = (message: unknown): void => {
      try {
        if (!isReady(message)) return
      } catch (thrown) {
        // In the stack of an emitter it would be nobody's, and end the Node process.
        return fail("sent a message that isReady threw over", reasonOfThrown(thrown))
      }
      leave()
      resolve(adopted)
    }
    const onExit = (code: number | null, signal: string | null): void => {
      leave()
      const exitReason: ExitReason = signal === null ? { exitCode: code ?? -1 } : { signal }
      reject(
        new SupervisionError("start_failed", `OS process ${child.pid ?? ""} ended before it was ready.`, {
          exitReason,
        }),
      )
    }
    const onError = (error: Error): void => {
      leave()
      reject(error)
    }
    const deadline = setTimeout(() => {
      const message = `did not send the message "ready" within readyTimeoutMs, ${readyTimeoutMs} ms`
      fail(message, { startTimeoutMs: readyTimeoutMs })
    }, readyTimeoutMs)
    child.on("message", onMessage)
    child.on("exit", onExit)
    child.on("error", onError)
    if (child.exitCode !== null || child.signalCode !== null) {
      onExit(child.exitCode, child.signalCode)
    } else if (child.pid !== undefined && child.channel === undefined) {
      fail("has no IPC channel to be ready on; fork it, or spawn it with 'ipc' in stdio")
    }
  })
}

function isReadyMessage(message: unknown): boolean {
  return (
    message === "ready" ||
    (typeof message === "object" && message !== null && "type" in message && message.type === "ready")
  )
}

/** The group when the child leads one (`detached: true`), so that its own children go too; else the child alone. */
function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, "SIGKILL")
  } catch {
    // No such group: it was not started as a leader.
    child.kill("SIGKILL")
  }
}

function ignoreFailure(): void {
  // The channel may close between the check and the send; the child's exit is what counts.
}
