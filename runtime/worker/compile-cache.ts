// Compiled submissions by their text: agents and dashboards send the same lines again and again, and parsing is most of a short eval.
//
// A unit depends on its text and on what the compiler asked about the session's names; both are kept and compared. Scripts are shared
// between realms of the thread: running one in a context makes fresh functions.
import { Script } from "node:vm"
import { compile } from "../language/compile.ts"
import type { CompiledUnit } from "../language/compile.ts"
import { invalid } from "../language/parse.ts"
import type { InvalidSource } from "../language/parse.ts"
import type { NameTable } from "../language/transform.ts"
import { importModuleDynamically } from "./dynamic-import.ts"
import { reachOf } from "./reaching-code.ts"
import type { Reach } from "./reaching-code.ts"

interface Kept extends Compiled {
  readonly jsx: NameTable["jsx"]
}

export interface Compiled {
  readonly unit: CompiledUnit
  readonly script: Script
  readonly reach: Reach
}

/** Texts kept. At about 4 KB each this is a few megabytes, far below one realm per session. */
const textsMax = 500
/** Longer texts are compiled each time: they are seldom repeated and would fill the cache. */
const textLengthMax = 4 * 1024
/** Units of one text kept: its names may be of other kinds in other sessions. */
const variantsMax = 4

export class CompileCache {
  readonly #byText = new Map<string, Kept[]>()
  #count = 0

  compile(source: string, line: number, names: NameTable): Compiled | InvalidSource {
    const isCached = source.length <= textLengthMax && line === 1
    const variants = isCached ? this.#byText.get(source) : undefined
    const found = variants?.find(({ unit, jsx }) => isSameJsx(jsx, names.jsx) && holds(unit, names))
    if (found !== undefined) return found
    const filename = `nacre:unit/${++this.#count}`
    const unit = compile(source, names, { filename, line })
    if (!unit.valid) return unit
    let script: Script
    try {
      script = newScript(unit.code, filename)
    } catch (error) {
      // The engine has early errors that the parser does not know.
      const message = error instanceof Error ? error.message : String(error)
      return invalid(source, [{ message, start: 0, end: source.length }], line)
    }
    const compiled = { unit, script, reach: reachOf(source), jsx: names.jsx }
    // A unit that makes dependents again depends on more than the kinds of its names.
    if (!isCached || unit.redefines.length > 0 || unit.replaces.length > 0) return compiled
    if (variants !== undefined && variants.length < variantsMax) variants.push(compiled)
    else {
      if (this.#byText.size >= textsMax) this.#byText.delete(this.#byText.keys().next().value!)
      this.#byText.set(source, [compiled])
    }
    return compiled
  }
}

/** Compiles code for realms. */
export function newScript(code: string, filename: string): Script {
  return new Script(code, { filename, importModuleDynamically })
}

function isSameJsx(a: NameTable["jsx"], b: NameTable["jsx"]): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

function holds(unit: CompiledUnit, names: NameTable): boolean {
  for (const [name, kind] of unit.assumes) if (names.kind(name) !== kind) return false
  for (const name of unit.promoted) if (names.isCaptured?.(name) !== false) return false
  return true
}
