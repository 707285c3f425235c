// What a profile may let session code do, by name, and which names of a session need which of it.
//
// A profile is a name and a list of these. What it does not list does not exist in its realms: `typeof` such a name is "undefined", and
// reading it throws a ReferenceError of kind `capability_denied` that says what is missing. What reaches beyond the realm is decided
// again outside of it, by the embedder's process or by the host's.
import { objectFreeze, putOwn, ReferenceErrorOfRealm, stringIncludes, isListed } from "./intrinsics.ts"
import { kindError } from "./bridge.ts"

/** `tools.NAME` stands for one tool, and is a capability too. */
export const capabilityNames: readonly string[] = objectFreeze([
  "print",
  "timers",
  "web",
  "tools.*",
  "globals.write",
  "sessions.read",
  "change",
  "import",
  "fs.read",
  "fs.write",
  "net",
  "env",
  "process",
])

/** What profile `standard` has: all that stays within Nacre. */
export const standardCapabilities = "sessions.read,change,print,timers,web,tools.*,globals.write"

/** Those for which a realm has objects of Node's. */
const ofNode: readonly string[] = objectFreeze(["import", "fs.read", "fs.write", "net", "env", "process"])

export const webNames: readonly string[] = objectFreeze([
  "queueMicrotask",
  "structuredClone",
  "performance",
  "crypto",
  "process",
  "URL",
  "URLSearchParams",
  "TextEncoder",
  "TextDecoder",
  "AbortController",
  "AbortSignal",
])
export const timerNames: readonly string[] = objectFreeze([
  "setTimeout",
  "setInterval",
  "setImmediate",
  "clearTimeout",
  "clearInterval",
  "clearImmediate",
])
const netNames: readonly string[] = objectFreeze([
  "fetch",
  "Headers",
  "Request",
  "Response",
  "FormData",
  "WebSocket",
  "EventSource",
  "MessageEvent",
  "CloseEvent",
])

/** What the name of a session's, or of Node's, needs; `undefined` for any other name. */
export function capabilityFor(name: string): string | undefined {
  if (name === "console" || name === "Transcript") return "print"
  if (name === "tools") return "tools.*"
  if (name === "require" || name === "Buffer") return "import"
  if (isListed(timerNames, name)) return "timers"
  if (isListed(webNames, name)) return "web"
  return isListed(netNames, name) ? "net" : undefined
}

export class Capabilities {
  /** Of the profile. */
  readonly name: string
  /** Their names with commas between them. */
  readonly list: string
  /** Asked at every eval. */
  readonly hasNode: boolean

  constructor(name: string, list: string) {
    this.name = name
    this.list = list
    let hasNode = false
    for (let index = 0; index < ofNode.length; index++) hasNode ||= this.has(ofNode[index]!)
    this.hasNode = hasNode
  }

  has(capability: string): boolean {
    return stringIncludes(`,${this.list},`, `,${capability},`)
  }

  get hasTools(): boolean {
    return stringIncludes(`,${this.list}`, ",tools.")
  }

  hasTool(name: string): boolean {
    return this.has("tools.*") || this.has(`tools.${name}`)
  }

  /** What using `what` throws, which needs a capability that the profile does not have. */
  refusal(what: string, capability: string): Error {
    return kindError("capability_denied", denialText(what, capability, this.name))
  }

  /** What reading a name that exists only in other profiles throws; `undefined` when that is not why there is none. */
  missing(name: string): Error | undefined {
    const capability = capabilityFor(name)
    if (capability === undefined || this.has(capability)) return undefined
    const error = new ReferenceErrorOfRealm(denialText(name, capability, this.name))
    putOwn(error, "kind", "capability_denied")
    return error
  }
}

/** The words of every refusal, in a realm or outside. */
export function denialText(what: string, capability: string, profile: string): string {
  return `${what} needs the capability '${capability}', which profile '${profile}' does not have.`
}
