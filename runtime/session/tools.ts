// The functions of the embedder that sessions may call, and what session code is told of their types.
import { createRequire } from "node:module"
import { inspect } from "node:util"
import type * as Parser from "oxc-parser"
import { NacreError } from "../errors.ts"
import { expectOption } from "../options.ts"
import type { Tool } from "../shell/tool-calls.ts"

/** A tool with what code that calls it is checked against, and what completion and hover show. */
export interface TypedTool {
  readonly call: Tool
  /** A TypeScript function type, such as `(city: string) => Promise<number>`. What a tool takes is not checked against it when it is called. */
  readonly type: string
  readonly doc?: string
}

interface ToolType {
  readonly type: string
  readonly doc: string
}

/** What is known of a tool that was given as a mere function. */
const anyTool: ToolType = { type: "(...args: any[]) => Promise<any>", doc: "" }
const typeCharsMax = 4_096
const docCharsMax = 4_096

export class ToolSet {
  readonly calls: ReadonlyMap<string, Tool>
  readonly #types: ReadonlyMap<string, ToolType>
  #declaration: string | undefined

  constructor(calls: ReadonlyMap<string, Tool>, types: ReadonlyMap<string, ToolType>) {
    this.calls = calls
    this.#types = types
  }

  /** Throws `invalid_options` naming the tool. */
  static of(tools: unknown = {}): ToolSet {
    const calls = new Map<string, Tool>()
    const types = new Map<string, ToolType>()
    expectOption(typeof tools === "object" && tools !== null, "tools", "an object of functions", tools)
    for (const [name, tool] of Object.entries(tools as Record<string, unknown>)) {
      const { call, type } =
        typeof tool === "function" ? { call: tool as Tool, type: undefined } : typedTool(name, tool)
      if (typeof call !== "function" || !/^[A-Za-z_$][\w$]*$/.test(name)) {
        const message = `Tool '${name}' must be a function, or { call, type }, under an identifier as its name.`
        throw new NacreError("invalid_options", message)
      }
      calls.set(name, call)
      if (type !== undefined) types.set(name, type)
    }
    return new ToolSet(calls, types)
  }

  /** These, and others that take their places. */
  with(others: ToolSet): ToolSet {
    const types = new Map(this.#types)
    for (const name of others.calls.keys()) types.delete(name)
    return new ToolSet(new Map([...this.calls, ...others.calls]), new Map([...types, ...others.#types]))
  }

  only(isGranted: (name: string) => boolean): ToolSet {
    return new ToolSet(new Map([...this.calls].filter(([name]) => isGranted(name))), this.#types)
  }

  /** Declarations of what `tools` has. */
  get declaration(): string {
    return (this.#declaration ??= this.#declared())
  }

  #declared(): string {
    if (this.calls.size === 0) return ""
    const members = Array.from(this.calls.keys(), (name) => {
      const { type, doc } = this.#types.get(name) ?? anyTool
      const comment = doc === "" ? "" : `/** ${doc.replaceAll("*/", "* /")} */ `
      return `${comment}readonly ${name}: ${type};`
    })
    return `interface SessionTools {\n${members.join("\n")}\n}\n`
  }
}

function typedTool(name: string, tool: unknown): { call: Tool | undefined; type: ToolType | undefined } {
  if (typeof tool !== "object" || tool === null) return { call: undefined, type: undefined }
  const { call, type, doc = "" } = tool as { call?: Tool; type?: unknown; doc?: unknown }
  const place = `tools.${name}`
  const isText = typeof type === "string" && type.length <= typeCharsMax && isFunctionType(type)
  expectOption(isText, `${place}.type`, "a TypeScript function type, such as '(city: string) => Promise<number>'", type)
  const isDoc = typeof doc === "string" && doc.length <= docCharsMax
  expectOption(isDoc, `${place}.doc`, `a string of at most ${docCharsMax} characters`, doc)
  for (const key of Object.keys(tool)) {
    if (key === "call" || key === "type" || key === "doc") continue
    throw new NacreError("invalid_options", `${place} has ${inspect(key)}; a tool has call, type and doc.`)
  }
  return { call, type: { type: type as string, doc: doc as string } }
}

let parser: typeof Parser | undefined

/** One type and nothing else: it becomes part of a declaration. */
function isFunctionType(text: string): boolean {
  // Native, and loaded only by those who give types.
  parser ??= createRequire(import.meta.url)("oxc-parser") as typeof Parser
  const { program, errors, comments } = parser.parseSync("tool.ts", `type T = ${text}\n;`, { lang: "ts" })
  const [statement] = program.body
  if (errors.length > 0 || comments.length > 0 || program.body.length !== 1) return false
  if (statement?.type !== "TSTypeAliasDeclaration") return false
  const { typeAnnotation: type } = statement
  return type.type === "TSFunctionType" || type.type === "TSTypeLiteral" || type.type === "TSIntersectionType"
}
