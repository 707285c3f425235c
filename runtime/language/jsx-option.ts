// The option `jsx` of a session: whether its code may hold JSX, and what that is turned into. Without the parser, so that whoever opens sessions
// need not load it.

/** What JSX is turned into. */
export interface Jsx {
  readonly runtime: "classic" | "automatic"
  /** Of the classic runtime: what makes an element, and what a fragment is; names with dots. */
  readonly factory: string
  readonly fragment: string
  /** Of the automatic runtime: the package whose `jsx-runtime` makes elements. */
  readonly importSource: string
}

/** As it is given: what is left out is React's, by the classic runtime. */
export type JsxOptions = { [Name in keyof Jsx]?: Jsx[Name] | undefined }

const defaults: Jsx = {
  runtime: "classic",
  factory: "React.createElement",
  fragment: "React.Fragment",
  importSource: "react",
}

export function jsxOf({ runtime, factory, fragment, importSource }: JsxOptions): Jsx {
  return {
    runtime: runtime ?? defaults.runtime,
    factory: factory ?? defaults.factory,
    fragment: fragment ?? defaults.fragment,
    importSource: importSource ?? defaults.importSource,
  }
}

const entityName = /^[\p{ID_Start}$_][\p{ID_Continue}$]*(?:\.[\p{ID_Start}$_][\p{ID_Continue}$]*)*$/u

/** What is wrong with a value that is given for the option; `undefined` when it can be used. */
export function jsxProblem(given: unknown): string | undefined {
  if (typeof given !== "object" || given === null) return 'an object such as { runtime: "automatic" }'
  const known = ["runtime", "factory", "fragment", "importSource"]
  const { runtime, factory, fragment, importSource } = given as Record<string, unknown>
  const isName = (name: unknown): boolean => name === undefined || (typeof name === "string" && entityName.test(name))
  if (Object.keys(given).some((key) => !known.includes(key)))
    return `an object with ${known.join(", ")} and nothing else`
  if (runtime !== undefined && runtime !== "classic" && runtime !== "automatic")
    return 'an object whose runtime is "classic" or "automatic"'
  if (!isName(factory) || !isName(fragment))
    return 'an object whose factory and fragment are names, as "React.createElement"'
  if (importSource !== undefined && (typeof importSource !== "string" || importSource === ""))
    return "an object whose importSource is the name of a package"
  if (runtime === "automatic" ? factory !== undefined || fragment !== undefined : importSource !== undefined)
    return 'an object with factory and fragment for the runtime "classic", or importSource for "automatic"'
  return undefined
}

/** What is said where JSX stands in a session that has none of it. */
export const jsxIsOff = 'JSX is off here; open the session with the option jsx, as in { jsx: { runtime: "automatic" } }'
