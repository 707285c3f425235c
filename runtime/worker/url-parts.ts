// URLs for session code, parsed by this process's own parser: exact, and no second one to keep right.
//
// A realm asks with strings and gets one string, the parts in the order of `urlPartNames` with a line feed between them, which none of
// them can hold: the parser removes line feeds or escapes them. Nothing of this process's URL objects reaches the realm.

const urlPartNames = [
  "href",
  "origin",
  "protocol",
  "username",
  "password",
  "host",
  "hostname",
  "port",
  "pathname",
  "search",
  "hash",
] as const

const changeable: ReadonlySet<string> = new Set(urlPartNames.filter((name) => name !== "origin"))

/** The parts of `input`, which may be relative to `other`; `undefined` when that is no URL. */
export function urlParts(input: string, other: string | undefined): string | undefined {
  try {
    return joined(new URL(input, other))
  } catch {
    // Not a URL, which the realm tells its code.
    return undefined
  }
}

/** The parts of `href` after an assignment of `value` to its part `name`; `undefined` when that makes no URL. */
export function changedUrlParts(href: string, name: string, value: string): string | undefined {
  if (!changeable.has(name)) return undefined
  try {
    const url = new URL(href)
    url[name as Exclude<(typeof urlPartNames)[number], "origin">] = value
    return joined(url)
  } catch {
    // Only an assignment to `href` can fail.
    return undefined
  }
}

function joined(url: URL): string {
  return urlPartNames.map((name) => url[name]).join("\n")
}
