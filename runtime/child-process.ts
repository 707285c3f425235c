// How every child process of Nacre is spawned: with nothing of this process's environment, in a process group of its own, and with one pipe.
//
// The pipe is file descriptor 3 of the child and closes with either end, however it died. Who spawns owns the child's whole life.
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { entryFlags, entryPath } from "./entry.ts"

// What a child inherits: nothing but what changes how dates and texts look. Secrets stay, and a certificate bundle costs 40 ms.
const inheritedVariables = ["TZ", "LANG", "LC_ALL", "TMPDIR"]

/** Starts an entry file of this package in Node; `argument` is what it finds, as JSON, in its first argument. */
export function spawnEntry(
  entry: string,
  flags: readonly string[],
  argument: unknown,
  variables: Readonly<Record<string, string>> = {},
  /** A command that runs the rest. */
  wrapper: readonly string[] = [],
): ChildProcess {
  const env: Record<string, string> = { ...variables }
  for (const name of inheritedVariables) if (process.env[name] !== undefined) env[name] = process.env[name]
  const own = [process.execPath, ...flags, ...entryFlags, entryPath(entry), JSON.stringify(argument)]
  const [command, ...args] = [...wrapper, ...own]
  return spawn(
    command!,
    args,
    // A process group of its own: a terminal's Ctrl-C must not reach it.
    { detached: true, env, stdio: ["ignore", "ignore", "pipe", "pipe"] },
  )
}

/** Runs a command to its end, with nothing of this process's environment; gives why it failed, or `undefined` when it did not. */
export function tryCommand(command: string, args: readonly string[], timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { stdio: ["ignore", "ignore", "pipe"], timeout: timeoutMs, env: {} })
    let words = ""
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      words = (words + text).slice(0, 500)
    })
    child.on("error", (error) => resolve(error.message))
    child.on("close", (code, signal) => {
      if (code === 0) resolve(undefined)
      else resolve(words.trim() || `${command} ended with ${signal ?? `code ${code}`}`)
    })
  })
}

/** Ends a child that was spawned here with everything it has started itself. */
export function killChild({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // No such process: its exit event is on the way.
  }
}
