// A server of the client's own: `nacre session` as a child process.
//
// It leads a process group, so that whatever stands between (npx, a shell) goes with it. When this process dies, its input ends, and it ends by
// itself.
import { spawn } from "node:child_process"
import { once } from "node:events"
import { fileURLToPath } from "node:url"
import type { Channel, ChannelHandlers } from "./channel.ts"
import { FrameDecoder, frameOf } from "./decoder.ts"
import { ConnectionError, invalidOptions } from "./errors.ts"

export interface StdioOptions {
  /** The program and its arguments. Default: this package's own `nacre session`. */
  command?: readonly string[]
  cwd?: string
  env?: Record<string, string | undefined>
  /** Hears what the server writes to standard error. Default: this process's own. */
  onStderr?: (text: string) => void
}

/** Milliseconds for a server to end after its input has; it is killed then. */
const endMs = 7_000
/** Characters of standard error that are told when the server ends. */
const stderrKept = 2_000

export async function openStdio(options: StdioOptions, handlers: ChannelHandlers): Promise<Channel> {
  const command: unknown = options.command ?? [process.execPath, ownCommand(), "session"]
  if (!isCommand(command)) {
    throw invalidOptions(
      'command must be a list of texts, the program and its arguments, such as ["npx", "nacre", "session"].',
    )
  }
  const [file, ...args] = command
  const { cwd, env, onStderr = (text: string) => void process.stderr.write(text) } = options
  const child = started(file, () =>
    spawn(file, args, {
      stdio: ["pipe", "pipe", "pipe"],
      detached: true,
      ...(cwd === undefined ? {} : { cwd }),
      ...(env === undefined ? {} : { env }),
    }),
  )
  let said = ""
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    said = (said + text).slice(-stderrKept)
    onStderr(text)
  })
  child.stdin.on("error", () => {
    // It ended before it read everything, which `close` tells.
  })
  const kill = (): void => {
    try {
      process.kill(-child.pid!, "SIGKILL")
    } catch {
      // It has ended already.
    }
  }
  const decoder = new FrameDecoder()
  child.stdout.on("data", (bytes: Buffer) => {
    try {
      for (const message of decoder.push(bytes)) handlers.onMessage(message)
    } catch (error) {
      said = String(error)
      kill()
    }
  })
  try {
    await once(child, "spawn")
  } catch (error) {
    throw notStarted(file, error)
  }
  const closed = new Promise<void>((resolve) => {
    child.once("close", (code, signal) => {
      const how = signal === null ? `with code ${code}` : `with ${signal}`
      handlers.onEnd(`The server process ended ${how}${said === "" ? "" : `: ${said.trim()}`}`)
      resolve()
    })
  })
  return {
    send: (text) => void child.stdin.write(frameOf(text)),
    close: async () => {
      // Alone it ends the server at once, also when code runs: whoever closes waits for nothing more.
      child.stdin.end(frameOf('{"jsonrpc":"2.0","method":"exit"}'))
      const late = setTimeout(kill, endMs)
      await closed
      clearTimeout(late)
    },
    kill,
  }
}

function isCommand(command: unknown): command is [string, ...string[]] {
  return (
    Array.isArray(command) && command.length > 0 && command[0] !== "" && command.every((it) => typeof it === "string")
  )
}

/** Some of what cannot be started throws at once, the rest is told by an event. */
function started<T>(file: string, start: () => T): T {
  try {
    return start()
  } catch (error) {
    throw notStarted(file, error)
  }
}

function notStarted(file: string, error: unknown): ConnectionError {
  const why = error instanceof Error ? error.message : String(error)
  return new ConnectionError("not_started", `The server's program ${JSON.stringify(file)} cannot be started: ${why}`)
}

/** The command's entry file lies beside this folder, in the sources and in the package. */
function ownCommand(): string {
  const extension = import.meta.url.endsWith(".ts") ? "ts" : "js"
  return fileURLToPath(new URL(`../cli/main.${extension}`, import.meta.url))
}
