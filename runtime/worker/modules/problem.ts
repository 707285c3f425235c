// Why a module cannot be given to session code: what the realm makes its own error of.
import type { ErrorKind } from "../../errors.ts"

interface ProblemFacts {
  /** Node's code, which packages look for when a dependency of theirs is optional. */
  readonly code?: string
  readonly name?: "Error" | "SyntaxError" | "TypeError" | "RangeError"
}

/** Never leaves the worker as an object: `text` is what crosses the bridge. */
export class ModuleProblem extends Error {
  override readonly name: string
  readonly kind: ErrorKind
  readonly code: string | undefined

  constructor(kind: ErrorKind, message: string, { code, name = "Error" }: ProblemFacts = {}) {
    super(message)
    this.kind = kind
    this.code = code
    this.name = name
  }

  get text(): string {
    return JSON.stringify([this.name, this.kind, this.message, this.code ?? ""])
  }
}
