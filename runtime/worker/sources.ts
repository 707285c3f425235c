// Sources of functions as they are committed: a text with its place, and what its outer names were compiled to.
import { createHash } from "node:crypto"
import type { SiteSource } from "../language/compile.ts"
import type { Primitive } from "../../stdlib/intrinsics.ts"
import type { SourceOfFunctions } from "../wire/schema.ts"

/** The record of a source; its id stands for all that it says. */
export function sourceOf(site: SiteSource, file: string, line: number, column: number): SourceOfFunctions {
  const [cells, roots] = [site.cells.join(","), site.roots.join(",")]
  const text = JSON.stringify([site.source, cells, roots, file, line, column])
  const id = createHash("sha1").update(text).digest("base64url")
  return { id, source: site.source, cells, roots, file, line, column }
}

export function factsOf({ id, source, cells, roots, file, line, column }: SourceOfFunctions): Primitive[] {
  return [id, source, cells, roots, file, line, column]
}

/** The names of a source's cells; those of a prelude stand with that in front. */
export function cellsOf(cells: string): { prelude: string; names: string[] } {
  const names = splitNames(cells)
  const at = names[0]?.indexOf(":") ?? -1
  if (at === -1) return { prelude: "", names }
  return { prelude: names[0]!.slice(0, at), names: names.map((name) => name.slice(at + 1)) }
}

export function splitNames(names: string): string[] {
  return names === "" ? [] : names.split(",")
}
