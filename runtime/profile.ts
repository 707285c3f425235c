// Profiles: what session code may do, as named capabilities. Three are built in; an embedder may define others in `Nacre.start({ profiles })`.
//
//   minimal   the language, and what its workspace shares, to read
//   standard  also what stays within Nacre: output, timers, tools, globals, the web's basics
//   full      everything Node has
//
// A session's profile is fixed when it is opened. What a capability opens within a realm is decided in `stdlib/`; what reaches other
// sessions, in `workspace/`; what a host process may reach, in `host/confinement.ts`.
import { resolve } from "node:path"
import { inspect } from "node:util"
import { NacreError } from "./errors.ts"
import { expectOption, refuseUnknown } from "./options.ts"
import { Capabilities, capabilityNames, denialText, standardCapabilities } from "../stdlib/capabilities.ts"

export type Capability =
  | "print"
  | "timers"
  | "web"
  | "tools.*"
  | `tools.${string}`
  | "globals.write"
  | "sessions.read"
  | "change"
  | "import"
  | "fs.read"
  | "fs.write"
  | "net"
  | "env"
  | "process"

/** A profile of the embedder's own. */
export interface ProfileOptions {
  capabilities: readonly Capability[]
  /** Files and folders that its code may read, with `fs.read` or `import`. Default: the nacre's `directory`. */
  readable?: readonly string[]
  /** Files and folders that its code may write, with `fs.write`. Default: none. */
  writable?: readonly string[]
  /** What `process.env` holds, with `env`. Default: nothing; never the embedder's own environment. */
  env?: Readonly<Record<string, string>>
}

const within: readonly Capability[] = ["sessions.read", "change"]
const standard = standardCapabilities.split(",") as Capability[]
const builtIn: Readonly<Record<string, readonly Capability[]>> = {
  minimal: within,
  standard,
  full: [...standard, "import", "fs.read", "fs.write", "net", "env", "process"],
}

export class Profile {
  readonly name: string
  readonly capabilities: readonly string[]
  readonly readable: readonly string[]
  readonly writable: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly #granted: Capabilities

  constructor(name: string, options: Required<ProfileOptions>) {
    this.name = name
    this.capabilities = options.capabilities
    this.readable = options.readable
    this.writable = options.writable
    this.env = options.env
    this.#granted = new Capabilities(name, options.capabilities.join(","))
  }

  has(capability: Capability): boolean {
    return this.#granted.has(capability)
  }

  hasTool(name: string): boolean {
    return this.#granted.hasTool(name)
  }

  /** Its realms have objects of Node's, from which code can reach whatever its process can. */
  get hasNode(): boolean {
    return this.#granted.hasNode
  }

  /** Throws `capability_denied` when it does not have it. */
  demand(capability: Capability, what: string): void {
    if (!this.has(capability)) throw new NacreError("capability_denied", denialText(what, capability, this.name))
  }
}

/** The profiles of a nacre by name. Throws `invalid_options` naming what is wrong. */
export function resolveProfiles(given: unknown, directory: string): ReadonlyMap<string, Profile> {
  const none = { readable: [], writable: [], env: {} }
  const profiles = new Map(
    Object.entries(builtIn).map(([name, capabilities]) => [name, new Profile(name, { ...none, capabilities })]),
  )
  if (given === undefined) return profiles
  expectOption(isRecord(given), "profiles", "an object of profiles by name", given)
  for (const [name, options] of Object.entries(given as object)) {
    if (!/^[\w.-]{1,64}$/.test(name)) {
      const message = `A profile's name must have 1 to 64 letters, digits, dots, dashes or underscores: ${inspect(name)}.`
      throw new NacreError("invalid_options", message)
    }
    expectOption(!profiles.has(name), "profiles", `without '${name}', which is built in`, name)
    profiles.set(name, customProfile(name, options, directory))
  }
  return profiles
}

function customProfile(name: string, options: unknown, directory: string): Profile {
  const place = `profiles.${name}`
  refuseUnknown(place, options, ["capabilities", "readable", "writable", "env"] satisfies (keyof ProfileOptions)[])
  const { capabilities, readable, writable = [], env = {} } = options as Partial<ProfileOptions>
  const isList = Array.isArray(capabilities)
  expectOption(isList, `${place}.capabilities`, `a list of ${capabilityNames.join(", ")}`, capabilities)
  for (const capability of capabilities!) {
    const isKnown =
      typeof capability === "string" &&
      (capabilityNames.includes(capability) || /^tools\.[A-Za-z_$][\w$]*$/.test(capability))
    const known = `one of ${capabilityNames.join(", ")}, or tools.NAME`
    expectOption(isKnown, `A capability of ${place}`, known, capability)
  }
  const has = (capability: Capability): boolean => capabilities!.includes(capability)
  const reads = has("fs.read") || has("import")
  expectOption(Array.isArray(writable), `${place}.writable`, "a list of paths", writable)
  expectOption(isRecord(env), `${place}.env`, "an object of strings", env)
  expectOption(readable === undefined || reads, `${place}.readable`, "left out without fs.read or import", readable)
  expectOption(writable.length === 0 || has("fs.write"), `${place}.writable`, "left out without fs.write", writable)
  expectOption(Object.keys(env).length === 0 || has("env"), `${place}.env`, "left out without env", env)
  const areTexts = Object.values(env).every((value) => typeof value === "string")
  expectOption(areTexts, `${place}.env`, "an object of strings", env)
  return new Profile(name, {
    capabilities: [...new Set(capabilities)],
    readable: paths(`${place}.readable`, readable === undefined ? (reads ? [directory] : []) : readable, directory),
    writable: paths(`${place}.writable`, writable, directory),
    env: { ...env },
  })
}

/** An object that is written as one: of a Map, or of what is inherited, nothing would be seen. */
function isRecord(given: unknown): boolean {
  if (typeof given !== "object" || given === null) return false
  const prototype: unknown = Object.getPrototypeOf(given)
  return prototype === Object.prototype || prototype === null
}

function paths(name: string, given: readonly string[], directory: string): string[] {
  const areTexts =
    Array.isArray(given) && given.every((it) => typeof it === "string" && it !== "" && !/[\0,*]/.test(it))
  // Node takes a comma for the end of a path and an asterisk for any text.
  expectOption(areTexts, name, "a list of paths without commas and asterisks", given)
  return given.map((path) => resolve(directory, path))
}

/** Throws `invalid_options` naming those there are. */
export function profileNamed(profiles: ReadonlyMap<string, Profile>, name: unknown): Profile {
  const found = typeof name === "string" ? profiles.get(name) : undefined
  if (found !== undefined) return found
  const known = [...profiles.keys()].join(", ")
  throw new NacreError("invalid_options", `Unknown profile ${inspect(name)}; known are ${known}.`)
}
