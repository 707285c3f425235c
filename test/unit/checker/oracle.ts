// What an ordinary check of everything in one module says, in the terms of the checker: what its answers are compared with.
import ts from "typescript"
import type { DeclarationText, Environment } from "../../../runtime/checker/declarations.ts"
import { CheckEngine } from "../../../runtime/checker/engine.ts"
import { libraryOf, options, parseFile } from "../../../runtime/checker/library.ts"

export interface Finding {
  key?: string | undefined
  code: number
  start: number
  length: number
  message: string
}

const separator = "\n;\n"

/** Diagnostics of one module that holds all declarations by name, and the statements behind them. */
export function wholeProgram(declarations: Record<string, string>, statements = "", locals: string[] = []): Finding[] {
  const parts = Object.keys(declarations)
    .toSorted((a, b) => (a < b ? -1 : 1))
    .map((key): { key: string | undefined; source: string } => ({ key, source: declarations[key]! }))
  parts.push({ key: undefined, source: statements })
  let text = ""
  const starts = parts.map(({ source }) => {
    const at = text.length
    text += source + separator
    return at
  })
  text += `export {};${locals.map((local) => `declare ${local};`).join("")}`
  const { files } = libraryOf("standard")
  const all = new Map([...files, parseFile("/all.ts", text)].map((file) => [file.fileName, file]))
  const host: ts.CompilerHost = {
    getSourceFile: (name) => all.get(name),
    getDefaultLibFileName: () => files[0]!.fileName,
    writeFile: () => {},
    getCurrentDirectory: () => "/",
    getCanonicalFileName: (name) => name,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => "\n",
    fileExists: (name) => all.has(name),
    readFile: (name) => all.get(name)?.text,
  }
  const program = ts.createProgram({ rootNames: [...all.keys()], options, host })
  const file = program.getSourceFile("/all.ts")!
  return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)].map((each) => {
    const index = starts.findLastIndex((start) => start <= each.start!)
    return {
      key: parts[index]!.key,
      code: each.code,
      start: each.start! - starts[index]!,
      length: each.length!,
      message: ts.flattenDiagnosticMessageText(each.messageText, "\n"),
    }
  })
}

export const bareEnvironment: Environment = { id: "env", profile: "standard", ambient: "", preludes: [], locals: [] }

/** A session of an engine, with the sets it has seen: what the parent side does, without a process. */
export class TestSession {
  readonly engine: CheckEngine
  readonly id: string
  declarations = new Map<string, string>()
  environment: Environment = bareEnvironment
  #base = ""
  #sets = 0

  constructor(engine = new CheckEngine(), id = "ses") {
    this.engine = engine
    this.id = id
  }

  /** Checks a change; keeps it, unless told otherwise. */
  check(change: Record<string, string | undefined> = {}, statements = "", keep = true) {
    const changed: DeclarationText[] = []
    const removed: string[] = []
    for (const [key, source] of Object.entries(change)) {
      if (source === undefined) removed.push(key)
      else changed.push({ key, source })
    }
    const isNone = changed.length === 0 && removed.length === 0
    const set = isNone ? this.#base : `set-${++this.#sets}`
    const request = {
      session: this.id,
      base: this.#base,
      set,
      changed,
      removed,
      statements,
      environmentId: this.environment.id,
    }
    let answer = this.engine.check({ ...request, environment: this.environment })
    if ("missing" in answer) {
      const whole = Array.from(this.declarations, ([key, source]) => ({ key, source }))
      answer = this.engine.check({ ...request, environment: this.environment, whole })
    }
    if ("missing" in answer) throw new Error(`The engine misses ${answer.missing} that it was given.`)
    if (keep) {
      this.#base = set
      for (const { key, source } of changed) this.declarations.set(key, source)
      for (const key of removed) this.declarations.delete(key)
    }
    return answer
  }

  /** The declaration text of a key of the current set. */
  scheme(key: string): string | undefined {
    this.findings()
    return this.engine.schemeOf(this.id, this.#base, key)
  }

  /** Everything that is wrong with the current set, as the engine knows it. */
  findings(): Finding[] {
    return this.engine.audit(this.id, this.#base).map(asFinding)
  }
}

export function asFinding({ key, code, start, length, message }: Finding): Finding {
  return { key, code, start, length, message }
}

export function sorted(findings: Finding[]): Finding[] {
  const order = ({ key, start, code }: Finding): string => `${key ?? "~"} ${String(start).padStart(6, "0")} ${code}`
  return findings.toSorted((a, b) => (order(a) < order(b) ? -1 : 1))
}
