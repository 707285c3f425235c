// An agent of `nacre mcp`: the built command behind an official client of the protocol, of which there are several generations.
import { mkdtempSync, readdirSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { Client as FirstClient } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport as FirstTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { until } from "../../until.ts"
import { main, processesNaming } from "../nacre-process.ts"

export interface Answer {
  isError: boolean
  text: string
  /** What fits the tool's output schema, which the clients check. */
  data: Record<string, unknown>
  error: { kind: string; retry: string } | undefined
}

export interface CallOptions {
  signal?: AbortSignal
  onprogress?: (progress: { progress: number; message?: string | undefined }) => void
}

export interface Tool {
  name: string
  description?: string | undefined
  inputSchema: object
  outputSchema?: object | undefined
}

/** Which client, and how it agrees on a revision of the protocol. */
export const generations = {
  "the first SDK": "first",
  "the second SDK, with a handshake": "handshake",
  "the second SDK, without a handshake": "stateless",
} as const

interface Connection {
  tools: () => Promise<Tool[]>
  call: (name: string, args: Record<string, unknown>, options: CallOptions) => Promise<unknown>
  close: () => Promise<void>
}

export class Agent {
  readonly folder: string
  readonly #connection: Connection

  private constructor(folder: string, connection: Connection) {
    this.folder = folder
    this.#connection = connection
  }

  static async connect(
    generation: (typeof generations)[keyof typeof generations] = "handshake",
    ...flags: string[]
  ): Promise<Agent> {
    const folder = mkdtempSync(join(tmpdir(), "nacre-test-"))
    const env = { ...(process.env as Record<string, string>), TMPDIR: folder }
    const server = { command: process.execPath, args: [main, "mcp", ...flags], env }
    const me = { name: "test", version: "1" }
    let connection: Connection
    if (generation === "first") {
      const client = new FirstClient(me)
      await client.connect(new FirstTransport(server))
      connection = {
        tools: async () => (await client.listTools()).tools,
        call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
        close: () => client.close(),
      }
    } else {
      const pinned = { versionNegotiation: { mode: { pin: "2026-07-28" } } } as const
      const client = new Client(me, generation === "stateless" ? pinned : {})
      await client.connect(new StdioClientTransport(server))
      connection = {
        tools: async () => (await client.listTools()).tools,
        call: (name, args, options) => client.callTool({ name, arguments: args }, options),
        close: () => client.close(),
      }
    }
    const agent = new Agent(folder, connection)
    // The clients check answers against the schemas that they know.
    await agent.tools()
    return agent
  }

  tools(): Promise<Tool[]> {
    return this.#connection.tools()
  }

  async call(name: string, args: Record<string, unknown> = {}, options: CallOptions = {}): Promise<Answer> {
    const result = (await this.#connection.call(name, args, options)) as {
      isError?: boolean
      content: { type: string; text: string }[]
      structuredContent?: Record<string, unknown>
      _meta?: Record<string, unknown>
    }
    return {
      isError: result.isError ?? false,
      text: result.content.map((part) => part.text).join("\n"),
      data: result.structuredContent ?? {},
      error: result._meta?.["nacre/error"] as Answer["error"],
    }
  }

  /** Closes the connection; resolves when the server and everything it made are gone. */
  async leave(): Promise<void> {
    await this.#connection.close()
    await until("nothing of the server to be left", () => {
      return processesNaming(this.folder).length === 0 && readdirSync(this.folder).length === 0
    })
    rmSync(this.folder, { recursive: true, force: true })
  }
}
