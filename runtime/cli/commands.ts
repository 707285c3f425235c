// What the command line offers, and how its arguments are read. Wrong arguments are told with their remedy, and exit with 2.
import type { BuiltInProfile } from "../serve/shapes.ts"
import type { JsxOptions } from "../language/jsx-option.ts"
import { parseArgs } from "node:util"
import type { ParseArgsConfig } from "node:util"
import type { Framing } from "../serve/framing.ts"
import { packageVersion } from "../serve/version.ts"

type Flags = NonNullable<ParseArgsConfig["options"]>
type Values = Readonly<Record<string, unknown>>

interface Command {
  readonly usage: string
  readonly doc: string
  readonly flags: Flags
  readonly argumentsMax: number
  /** Resolves with the exit code. `isNamed`: it was asked for by its name, and not by none. */
  readonly run: (values: Values, operands: string[], isNamed: boolean) => Promise<number>
}

/** Wrong use of the command line: its message names the remedy. */
class UsageError extends Error {
  override readonly name = "UsageError"
}

/** The option `jsx` of a session, by the names that other tools have for its parts. */
const jsxFlags = {
  jsx: { type: "string" },
  "jsx-factory": { type: "string" },
  "jsx-fragment": { type: "string" },
  "jsx-import-source": { type: "string" },
} as const
const jsxUsage = "[--jsx classic|automatic] [--jsx-factory NAME] [--jsx-fragment NAME] [--jsx-import-source PACKAGE]"

/** Files that are loaded into the workspace `main` before anything else. */
const prelude = { type: "string", multiple: true } as const

const commands: Readonly<Record<string, Command>> = {
  repl: {
    usage:
      "nacre [repl] [--connect URL [--token TOKEN] [--session ID] [--profile PROFILE]] [--history FILE | --no-history] [--prelude FILE]… " +
      jsxUsage,
    doc: "A prompt on a terminal. Without a terminal, nacre evaluates standard input and prints its value; nacre repl evaluates it a submission at a time. --connect takes a session of a served nacre.",
    flags: {
      connect: { type: "string" },
      token: { type: "string" },
      session: { type: "string" },
      profile: { type: "string" },
      history: { type: "string" },
      "no-history": { type: "boolean" },
      prelude,
      ...jsxFlags,
    },
    argumentsMax: 0,
    run: async (values, _operands, isNamed) => {
      const historyFile = values["no-history"] === true ? "" : textOf(values["history"])
      const url = textOf(values["connect"])
      const [session, profile] = [textOf(values["session"]), textOf(values["profile"])]
      if (url !== undefined) {
        const token = textOf(values["token"]) ?? process.env["NACRE_TOKEN"]
        if (!/^wss?:\/\//.test(url)) {
          throw new UsageError(
            `--connect takes the address that nacre serve prints, such as ws://127.0.0.1:4750, not '${url}'.`,
          )
        }
        if (jsxOptionsOf(values) !== undefined)
          throw new UsageError("--jsx is for a session of this process, and --connect takes one of a server.")
        if (token === undefined) throw new UsageError("--connect needs the server's token, in NACRE_TOKEN or --token.")
        if (!/^[\w.~+/=-]+$/.test(token)) {
          throw new UsageError(
            "A server's token has letters, digits and characters of -._~+/= only; this one has others.",
          )
        }
        return (await import("./connect.ts")).replConnected({ url, token, session, profile, historyFile })
      }
      for (const name of ["token", "session", "profile"]) {
        if (values[name] !== undefined) throw new UsageError(`--${name} is for --connect, which is missing.`)
      }
      const isPrompt = process.stdin.isTTY || isNamed
      const preludes = listOf(values["prelude"])
      const jsx = jsxOptionsOf(values)
      if (!isPrompt) return (await import("./eval.ts")).evalSource({ kind: "file", path: "-" }, { preludes, jsx })
      return (await import("./repl.ts")).replOnStreams({ historyFile, preludes, jsx })
    },
  },
  eval: {
    usage: `nacre eval [--timeout MS] [--json] [--prelude FILE]… ${jsxUsage} (-e CODE | FILE | -)`,
    doc: "Evaluates TypeScript and prints the value; - is standard input. --json prints the whole outcome instead.",
    flags: {
      e: { type: "string", short: "e" },
      timeout: { type: "string" },
      json: { type: "boolean" },
      prelude,
      ...jsxFlags,
    },
    argumentsMax: 1,
    run: async (values, [file]) => {
      const code = textOf(values["e"])
      if ((code === undefined) === (file === undefined)) {
        throw new UsageError("nacre eval needs either -e CODE, or one FILE, or - for standard input.")
      }
      const { evalSource } = await import("./eval.ts")
      const source = code === undefined ? ({ kind: "file", path: file! } as const) : ({ kind: "code", code } as const)
      const timeoutMs = timeoutOf(textOf(values["timeout"]))
      const options = { timeoutMs, json: values["json"] === true, preludes: listOf(values["prelude"]) }
      return evalSource(source, { ...options, jsx: jsxOptionsOf(values) })
    },
  },
  session: {
    usage: "nacre session [--framing headers|lines] [--prelude FILE]…",
    doc: "Serves the protocol (docs/PROTOCOL.md) on standard input and output. By default the first bytes choose the framing.",
    flags: { framing: { type: "string" }, prelude },
    argumentsMax: 0,
    run: async (values) => {
      const framing = framingOf(textOf(values["framing"]))
      return (await import("./session.ts")).serveSession(framing, listOf(values["prelude"]))
    },
  },
  serve: {
    usage:
      "nacre serve [--host HOST] [--port PORT] [--token TOKEN] [--origin ORIGIN]… [--profile PROFILE]… [--grace MS] [--prelude FILE]…",
    doc: "Serves the protocol over WebSocket, on this machine only unless --host says otherwise. The token may come from NACRE_TOKEN.",
    flags: {
      host: { type: "string" },
      port: { type: "string" },
      token: { type: "string" },
      origin: { type: "string", multiple: true },
      profile: { type: "string", multiple: true },
      grace: { type: "string" },
      prelude,
    },
    argumentsMax: 0,
    run: async (values) => {
      const [host, port, token] = [textOf(values["host"]), textOf(values["port"]), textOf(values["token"])]
      if (port !== undefined && !/^\d{1,5}$/.test(port)) {
        throw new UsageError(`--port takes a number, such as --port 4750, or 0 for any free one, not '${port}'.`)
      }
      const origins = listOf(values["origin"])
      const named = listOf(values["profile"])
      const profiles = named.length === 0 ? undefined : await Promise.all(named.map(builtInProfile))
      const graceMs = timeoutOf(textOf(values["grace"]), "--grace")
      return (await import("./serve.ts")).serveClients({
        host,
        port: Number(port ?? 4750),
        token,
        origins,
        profiles,
        graceMs,
        preludes: listOf(values["prelude"]),
      })
    },
  },
  request: {
    usage: "nacre request (JSON | -)",
    doc: "Answers one request of the protocol, or a batch, and prints the answer as one line. - is standard input.",
    flags: {},
    argumentsMax: 1,
    run: async (_values, [json]) => {
      if (json === undefined) {
        throw new UsageError(
          `nacre request needs a request, such as '{"method":"eval","params":{"code":"6 * 7"}}', or -.`,
        )
      }
      return (await import("./request.ts")).answerRequest(json)
    },
  },
  mcp: {
    usage: "nacre mcp [--profile minimal | standard | full]",
    doc: "Serves sessions as tools of the Model Context Protocol (docs/AGENTS.md) on standard input and output. --profile is the most that their code may do; default standard.",
    flags: { profile: { type: "string" } },
    argumentsMax: 0,
    run: async (values) => {
      return (await import("./mcp.ts")).serveAgent(await builtInProfile(textOf(values["profile"]) ?? "standard"))
    },
  },
  tree: {
    usage: "nacre tree",
    doc: "Starts a system with one session and prints its supervision tree.",
    flags: {},
    argumentsMax: 0,
    run: async () => (await import("./tree.ts")).printSystemTree(),
  },
}

/** Runs the command line; resolves with the exit code. */
export async function run(argv: string[]): Promise<number> {
  try {
    return await dispatch(argv)
  } catch (error) {
    if (error instanceof UsageError) {
      process.stderr.write(`nacre: ${error.message}\n`)
      return 2
    }
    // A NacreError says what is wrong by itself; anything else is a defect, whose stack is worth having.
    const known = error instanceof Error && "kind" in error
    process.stderr.write(`nacre: ${known ? error.message : error instanceof Error ? error.stack : String(error)}\n`)
    return 1
  }
}

async function dispatch(argv: string[]): Promise<number> {
  const [first] = argv
  if (first === "--help" || first === "-h" || first === "help") return print(helpText())
  if (first === "--version" || first === "-v") return print(packageVersion())
  const isNamed = first !== undefined && !first.startsWith("-")
  const name = isNamed ? first : "repl"
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) {
    const known = Object.keys(commands).join(", ")
    throw new UsageError(`There is no command '${name}'; there are ${known}. To evaluate a file: nacre eval ${name}`)
  }
  const parsed = parse(command, isNamed ? argv.slice(1) : argv)
  if (parsed.values["help"] === true) return print(`${command.usage}\n\n  ${command.doc}`)
  return command.run(parsed.values, parsed.operands, isNamed)
}

function parse(command: Command, args: string[]): { values: Values; operands: string[] } {
  const options: Flags = { ...command.flags, help: { type: "boolean", short: "h" } }
  let parsed
  try {
    parsed = parseArgs({ args, options, allowPositionals: true, strict: true, tokens: true })
  } catch (error) {
    // Node's own words name the argument; its advice about `--` is no help here.
    const what = (error instanceof Error ? error.message : String(error)).split(". ", 1)[0]!.replace(/\.?$/, ".")
    throw new UsageError(`${what} Usage: ${command.usage}; see nacre --help.`)
  }
  // The last one would count, and the others be forgotten without a word.
  const given = new Set<string>()
  for (const it of parsed.tokens) {
    if (it.kind !== "option") continue
    if (given.has(it.name) && command.flags[it.name]?.multiple !== true) {
      throw new UsageError(`Option '${it.rawName}' may stand once only. Usage: ${command.usage}; see nacre --help.`)
    }
    given.add(it.name)
  }
  if (parsed.positionals.length > command.argumentsMax) {
    const extra = parsed.positionals[command.argumentsMax]
    throw new UsageError(`Unexpected argument '${extra}'. Usage: ${command.usage}; see nacre --help.`)
  }
  return { values: parsed.values, operands: parsed.positionals }
}

function listOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : []
}

async function builtInProfile(given: string): Promise<BuiltInProfile> {
  const { profiles } = await import("../serve/shapes.ts")
  const profile = profiles.find((name) => name === given)
  if (profile === undefined) throw new UsageError(`--profile takes one of ${profiles.join(", ")}, not '${given}'.`)
  return profile
}

/** `undefined` when no flag asks for JSX. The parts are looked at where the session is opened. */
function jsxOptionsOf(values: Values): JsxOptions | undefined {
  const runtime = textOf(values["jsx"])
  if (runtime !== undefined && runtime !== "classic" && runtime !== "automatic")
    throw new UsageError(`--jsx takes classic or automatic, not '${runtime}'.`)
  const [factory, fragment] = [textOf(values["jsx-factory"]), textOf(values["jsx-fragment"])]
  const importSource = textOf(values["jsx-import-source"])
  if ([runtime, factory, fragment, importSource].every((it) => it === undefined)) return undefined
  // A package is only asked for by one of the two.
  return { runtime: runtime ?? (importSource === undefined ? "classic" : "automatic"), factory, fragment, importSource }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined
}

function timeoutOf(text: string | undefined, name = "--timeout"): number | undefined {
  if (text === undefined) return undefined
  const timeoutMs = Number(text)
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1) {
    throw new UsageError(`${name} takes a whole number of milliseconds, such as ${name} 5000, not '${text}'.`)
  }
  return timeoutMs
}

function framingOf(text: string | undefined): Framing | undefined {
  if (text === undefined || text === "headers" || text === "lines") return text
  throw new UsageError(`--framing takes headers or lines, not '${text}'.`)
}

function helpText(): string {
  const lines = ["nacre: many live TypeScript sessions, supervised.", ""]
  for (const { usage, doc } of Object.values(commands)) lines.push(`  ${usage}`, `      ${doc}`)
  lines.push("", "  nacre --help | --version")
  return lines.join("\n")
}

function print(text: string): number {
  process.stdout.write(`${text}\n`)
  return 0
}
