// Which bindings an eval may have changed, found from texts alone and on the safe side: what is not touched need not be encoded again.
//
// Reached are the names in its code; what the definitions among them mention, and so on; what the functions in a reached value mention;
// and, as soon as any value is reached, what the definitions that values refer to (their classes) mention. A value that cannot be encoded may hold any code, so
// reaching one touches everything; so does code whose names cannot be known: direct eval, `globalThis`, `_`.

export interface Mentions {
  readonly mentions: readonly string[]
}

export interface TouchedQuestion {
  /** The eval's own code. */
  readonly unit: Mentions & { readonly usesDirectEval: boolean; readonly mentionsGlobalThis: boolean }
  /** Definitions by name, those of the eval included. */
  definitionOf(name: string): { readonly reads: readonly string[] } | undefined
  isLocal(name: string): boolean
  isEphemeral(name: string): boolean
  /** Outer names that the functions in a local's value can reach. */
  reachedFrom(name: string): readonly string[]
  /** A name that is no binding and may be a property that code put on the global object. */
  isUnknown(name: string): boolean
  /** Definitions that encoded values refer to. */
  readonly referenced: ReadonlySet<string>
}

export interface Touched {
  readonly locals: ReadonlySet<string>
  readonly definitions: readonly string[]
}

/** What the eval may have changed, or "all". */
export function touchedBy(question: TouchedQuestion): Touched | "all" {
  const { unit, referenced } = question
  if (unit.usesDirectEval || unit.mentionsGlobalThis) return "all"
  const locals = new Set<string>()
  const definitions: string[] = []
  const seen = new Set<string>()
  const open = [...unit.mentions]
  let reachedValue = false
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (seen.has(name)) continue
    seen.add(name)
    // "*": a file may use any name of the session.
    if (name === "_" || name === "_error" || name === "*" || question.isEphemeral(name)) return "all"
    const definition = question.definitionOf(name)
    if (definition !== undefined) {
      definitions.push(name)
      for (const read of definition.reads) open.push(read)
    } else if (question.isLocal(name)) {
      locals.add(name)
      for (const reached of question.reachedFrom(name)) open.push(reached)
      if (!reachedValue) for (const referencedName of referenced) open.push(referencedName)
      reachedValue = true
    } else if (question.isUnknown(name)) return "all"
  }
  return { locals, definitions }
}
