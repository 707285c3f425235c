// `nacre eval`, and `nacre` when standard input is no terminal: one source, one value.
import { readFile } from "node:fs/promises"
import { dirname, resolve as resolvePath } from "node:path"
import { text } from "node:stream/consumers"
import { outcomeJson } from "../serve/json.ts"
import { NacreError } from "../errors.ts"
import type { JsxOptions } from "../language/jsx-option.ts"
import type { EvalOptions } from "../shell/shell.ts"
import { exitCodeOf, failureText, warnings } from "../serve/report.ts"
import { withSystem } from "./system.ts"

/** `path` "-" is standard input. */
export type Source = { readonly kind: "code"; readonly code: string } | { readonly kind: "file"; readonly path: string }

export interface EvalSourceOptions {
  readonly timeoutMs?: number | undefined
  /** Print the whole outcome, as one line of JSON, instead of the value and the output as it comes. */
  readonly json?: boolean
  /** Files of preludes. */
  readonly preludes?: readonly string[]
  readonly jsx?: JsxOptions | undefined
}

/** Evaluates it in a fresh session. Output is written as it comes; the value follows on standard output unless there is nothing to show. */
export async function evalSource(
  source: Source,
  { timeoutMs, json = false, preludes = [], jsx }: EvalSourceOptions,
): Promise<number> {
  return withSystem(
    async ({ nacre, signal }) => {
      // Read while the host starts.
      const code = await Promise.race([read(source), aborted(signal)])
      if (code === undefined) return 1
      // Whoever runs a file on their own machine may import what lies beside it.
      const directory =
        source.kind === "file" && source.path !== "-" ? dirname(resolvePath(source.path)) : process.cwd()
      const session = await (await nacre).open({ kind: "repl", directory, ...(jsx && { jsx }) })
      const options: EvalOptions = { signal, file: nameOf(source) }
      if (timeoutMs !== undefined) options.timeoutMs = timeoutMs
      if (!json) options.onOutput = ({ stream, text: written }) => void process[stream].write(written)
      const outcome = await session.eval(code, options)
      if (json) {
        process.stdout.write(`${JSON.stringify(outcomeJson(outcome, { data: true }))}\n`)
        return exitCodeOf(outcome)
      }
      const failure = failureText(outcome)
      if (failure !== undefined) process.stderr.write(`${failure}\n`)
      else if (outcome.value?.inert === false) process.stdout.write(`${outcome.value.text}\n`)
      for (const line of warnings(outcome)) process.stderr.write(`${line}\n`)
      return exitCodeOf(outcome)
    },
    { preludes },
  )
}

async function read(source: Source): Promise<string> {
  if (source.kind === "code") return source.code
  if (source.path === "-") return text(process.stdin)
  return readSource(source.path)
}

/** The text of a file. Rejects with `invalid_options`, which says why it cannot be read. */
export async function readSource(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8")
  } catch (error) {
    throw new NacreError("invalid_options", `Cannot read '${path}': ${reasonOf(error)}.`, { cause: error })
  }
}

/** Why a file could not be read, in words. */
function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === "ENOENT") return "there is no such file"
  if (code === "EISDIR") return "it is a folder"
  if (code === "EACCES") return "it may not be read"
  return message
}

function nameOf(source: Source): string {
  if (source.kind === "code") return "[eval]"
  return source.path === "-" ? "[stdin]" : source.path
}

/** Gives up reading an input that may never end. */
async function aborted(signal: AbortSignal): Promise<undefined> {
  await new Promise<void>((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener("abort", () => resolve(), { once: true })
  })
  process.stdin.destroy()
}
