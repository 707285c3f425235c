// `nacre mcp`: the tools of `tools.ts` as an MCP server on a process's own streams, with the official SDK.
//
// The SDK speaks every revision of MCP, with a handshake or without. A failure of Nacre's own is a tool error whose text begins with its
// kind and whose `_meta` has it as data, since a model has to be able to read it and go on. The end of the input ends everything: calls
// under way are interrupted, since nobody waits for their answers.
import type { Readable, Writable } from "node:stream"
import { McpServer } from "@modelcontextprotocol/server"
import type { CallToolResult, ServerContext } from "@modelcontextprotocol/server"
import { serveStdio } from "@modelcontextprotocol/server/stdio"
import { NacreError } from "../../errors.ts"
import type { Nacre } from "../../nacre.ts"
import type { BuiltInProfile } from "../shapes.ts"
import { checkParameters } from "../schema.ts"
import { packageVersion } from "../version.ts"
import { describedBy, parametersSchema, resultSchema } from "./json-schema.ts"
import { cutText } from "../report.ts"
import { defaultSession, tools } from "./tools.ts"
import type { McpTool } from "./tools.ts"
import { LineTransport } from "./transport.ts"

export interface McpOptions {
  /** The system, which may still be starting: a client that connects is not kept waiting for it. */
  readonly nacre: Promise<Nacre>
  /** The most that a session's code may do, and what it may by default. */
  readonly profile: BuiltInProfile
  readonly input: Readable
  readonly output: Writable
  /** Ends the connection. */
  readonly signal: AbortSignal
  /** Hears of failures that are Nacre's own fault, and of what the client did wrong outside a call. */
  readonly onProblem: (error: unknown) => void
}

const instructions = `Nacre keeps TypeScript sessions alive between calls. Every tool takes the id of a session; without one it is "${defaultSession}". Work that must not be mixed needs a session of its own (open_session). A session survives errors, timeouts and crashes of the code in it: each answer says what was committed and what was lost. Declare functions and classes with evaluate, or with submit_change when a mistake must leave everything as it was; history and restore go back.`

/** Characters of one progress message: a client shows its last line or so. */
const progressTextMax = 4 * 1024

/** What ended a connection: its input ended, the client stopped reading, or the server was told to stop. */
export type McpEnd = "input" | "reader" | "signal"

/** Serves one client; resolves when it has gone. Never rejects. */
export async function serveMcp(options: McpOptions): Promise<McpEnd> {
  const { input, output, signal, onProblem } = options
  const transport = new LineTransport(input, output)
  const handle = serveStdio(() => serverOf(options, transport), { transport, onerror: onProblem })
  const stopped = new Promise<"signal">((resolve) => {
    const stop = (): void => resolve("signal")
    if (signal.aborted) stop()
    else signal.addEventListener("abort", stop, { once: true })
  })
  const end = await Promise.race([transport.ended, stopped])
  await handle.close()
  return end
}

function serverOf(options: McpOptions, transport: LineTransport): McpServer {
  const server = new McpServer(
    { name: "nacre", title: "Nacre", version: packageVersion() },
    { instructions, capabilities: { tools: { listChanged: false } } },
  )
  for (const [name, row] of Object.entries(tools)) {
    const isReading = row.isReading === true
    const config = {
      title: row.title,
      description: row.doc,
      inputSchema: describedBy(parametersSchema(row.params)),
      outputSchema: describedBy(resultSchema(row.result)),
      // Code of the profiles that there are reaches nothing outside its session but what its workspace shares.
      annotations: {
        readOnlyHint: isReading,
        destructiveHint: !isReading,
        idempotentHint: isReading,
        openWorldHint: false,
      },
    }
    server.registerTool(name, config, (given, context) => call(name, row, given, context, options, transport))
  }
  return server
}

async function call(
  name: string,
  row: McpTool,
  given: unknown,
  context: ServerContext,
  options: McpOptions,
  transport: LineTransport,
): Promise<CallToolResult> {
  try {
    checkParameters(name, row.params, given ?? {})
    const nacre = await options.nacre
    const { signal } = context.mcpReq
    const onOutput = progressOf(context, transport)
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- they have been checked
    const answer = await row.handle((given ?? {}) as Record<string, unknown>, {
      nacre,
      profile: options.profile,
      signal,
      onOutput,
    })
    const { data, text, isError = false } = answer
    return { content: [{ type: "text", text }], structuredContent: data, ...(isError && { isError }) }
  } catch (error) {
    if (!(error instanceof NacreError)) options.onProblem(error)
    return failureOf(error)
  }
}

/** A failure of Nacre's own. Without structured content: that is what the tool answers when it could do its work. */
function failureOf(error: unknown): CallToolResult {
  const message = error instanceof Error ? error.message : String(error)
  const { kind, retry } = error instanceof NacreError ? error : new NacreError("internal", message)
  return {
    content: [{ type: "text", text: `${kind}: ${message}` }],
    isError: true,
    _meta: { "nacre/error": { kind, retry } },
  }
}

/**
 * What an eval writes as progress, when the client asked for that. Left out when it reads too slowly: the answer holds it all, up to the limit.
 * `progress` counts characters, since nobody knows how many there will be.
 */
function progressOf({ mcpReq }: ServerContext, transport: LineTransport): ((text: string) => void) | undefined {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return undefined
  let progress = 0
  return (text) => {
    progress += text.length
    if (transport.isCongested || mcpReq.signal.aborted || text === "") return
    const message = cutText(text, progressTextMax)
    // It fails when the connection has ended, which the signal tells.
    mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress, message } }).catch(() => {})
  }
}
