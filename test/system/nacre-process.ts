// The built command as its users meet it: a process with three streams, in a temporary folder of its own that tells what it left behind.
import { spawn } from "node:child_process"
import type { ChildProcessWithoutNullStreams } from "node:child_process"
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { until } from "../until.ts"

/** The built entry file of the command. */
export const main = resolve(import.meta.dirname, "../../dist/runtime/cli/main.js")

export interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

export class NacreProcess {
  readonly child: ChildProcessWithoutNullStreams
  readonly folder = mkdtempSync(join(tmpdir(), "nacre-test-"))
  readonly #closed: Promise<Ended>
  #stdout = ""
  #stderr = ""
  readonly #watchers = new Set<() => void>()

  /** `environment` is beside this process's own; `undefined` takes a name away. */
  constructor(
    args: readonly string[] = [],
    command: readonly string[] = [process.execPath, main],
    environment: Record<string, string | undefined> = {},
  ) {
    const [file, ...before] = command
    this.child = spawn(file!, [...before, ...args], { env: { ...process.env, TMPDIR: this.folder, ...environment } })
    this.child.stdout.setEncoding("utf8").on("data", (text: string) => this.#on(() => (this.#stdout += text)))
    this.child.stderr.setEncoding("utf8").on("data", (text: string) => this.#on(() => (this.#stderr += text)))
    this.child.stdin.on("error", () => {
      // It ended before it read everything, which its exit code tells.
    })
    this.#closed = new Promise((done) => {
      this.child.once("close", (code) => done({ code, stdout: this.#stdout, stderr: this.#stderr }))
    })
  }

  get stdout(): string {
    return this.#stdout
  }

  /** Resolves when its standard output, from `from` on, matches. */
  async until(pattern: RegExp, from = 0): Promise<RegExpExecArray> {
    for (;;) {
      const found = pattern.exec(this.#stdout.slice(from))
      if (found !== null) return found
      await new Promise<void>((seen, failed) => {
        const watcher = (): void => {
          this.#watchers.delete(watcher)
          seen()
        }
        this.#watchers.add(watcher)
        void this.#closed.then(() =>
          failed(new Error(`It ended without ${String(pattern)}: ${this.#stdout}${this.#stderr}`)),
        )
      })
    }
  }

  /** Ends its input after `text`; resolves with how it ended, when it has left nothing behind. */
  async end(text: string | Buffer = ""): Promise<Ended> {
    this.child.stdin.end(text)
    return this.ended()
  }

  async ended(): Promise<Ended> {
    const ended = await this.#closed
    await this.#leftNothing()
    return ended
  }

  /** No host process and no file: hosts end with their embedder, and the last one removes the folder of its socket. */
  async #leftNothing(): Promise<void> {
    const leftovers = (): string[] => [...processesNaming(this.folder), ...readdirSync(this.folder)]
    await until(`nothing of the command is left in ${this.folder}`, () => leftovers().length === 0)
    rmSync(this.folder, { recursive: true, force: true })
  }

  #on(take: () => void): void {
    take()
    for (const watcher of this.#watchers) watcher()
  }
}

/** Runs the command to its end. */
export function nacre(args: readonly string[], input: string | Buffer = ""): Promise<Ended> {
  return new NacreProcess(args).end(input)
}

/** Command lines of live processes that name this text: hosts name their socket in theirs. */
export function processesNaming(text: string): string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8")
      } catch {
        // It has ended since.
        return ""
      }
    })
    .filter((line) => line.includes(text))
}
