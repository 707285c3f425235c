// What a host process is kept from by the operating system and by Node, by the profile of the sessions it serves.
//
// Profiles whose realms have nothing of Node's share one kind of host: it reads Nacre's own files and the packages beside them, and writes
// nothing but the folder of its socket. A profile of the embedder's with capabilities of Node's has a kind of its own. Only `process`, which
// `full` has, is not confined. Node's permission model is a second fence, not a wall: a thread started with other flags is outside of it
// (measured on Node 20.20 and 24.22), and it does not know the network. Bubblewrap is a wall, where it works.
import { accessSync, constants, existsSync, readFileSync, realpathSync } from "node:fs"
import { delimiter, dirname, join } from "node:path"
import { tryCommand } from "../child-process.ts"
import { entryFlags, packagePath } from "../entry.ts"
import type { Profile } from "../profile.ts"

export interface Confinement {
  /** The same for hosts that may serve each other's groups. */
  readonly kind: string
  /** For Node. */
  readonly flags: readonly string[]
  /** The command that Node is run by; empty when there is none. */
  readonly wrapper: readonly string[]
  /** What threads have in `process.env`. */
  readonly env: Readonly<Record<string, string>>
}

/** How bubblewrap is used: where it works, never, or else nothing starts. */
export const bubblewrapModes = ["auto", "off", "require"] as const
export type BubblewrapMode = (typeof bubblewrapModes)[number]

/** Milliseconds that the trial of bubblewrap may take; it takes 10 here. */
const trialMs = 5_000

const unconfined: Confinement = { kind: "open", flags: [], wrapper: [], env: {} }

/** What bubblewrap's own system needs to run Node: programs, libraries, time zones, names and certificates. */
const systemPaths = ["/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/opt", "/nix/store", "/etc/ssl", "/etc/pki"]
const netPaths = ["/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/services"]
const timePaths = ["/etc/localtime", "/etc/timezone"]

export class Confinements {
  readonly #socketFolder: string
  readonly #bubblewrap: string | undefined
  readonly #made = new Map<string, Confinement>()

  /** `bubblewrap` is the path of one that works. */
  constructor(socketFolder: string, bubblewrap: string | undefined) {
    this.#socketFolder = socketFolder
    this.#bubblewrap = bubblewrap
  }

  of(profile: Profile): Confinement {
    const kind = kindOf(profile)
    let made = this.#made.get(kind)
    if (made === undefined) {
      made = kind === unconfined.kind ? unconfined : this.#make(kind, profile)
      this.#made.set(kind, made)
    }
    return made
  }

  /** One that `of` has given before. */
  ofKind(kind: string): Confinement {
    return this.#made.get(kind)!
  }

  #make(kind: string, profile: Profile): Confinement {
    const readable = [...ownPaths(), ...profile.readable, ...profile.readable.flatMap(packageFolders)]
    const writable = [this.#socketFolder, ...profile.writable]
    return {
      kind,
      flags: permissionFlags([...readable, ...writable], writable),
      wrapper:
        this.#bubblewrap === undefined ? [] : wrapperOf(this.#bubblewrap, readable, writable, profile.has("net")),
      env: profile.env,
    }
  }
}

/** Profiles without anything of Node's need the same of their process. */
export function kindOf(profile: Profile): string {
  if (profile.has("process")) return unconfined.kind
  return profile.hasNode ? `profile:${profile.name}` : "closed"
}

/** Nacre's own files, and the packages that are installed beside it or around it. */
function ownPaths(): string[] {
  const root = realpathSync(packagePath("."))
  const folders = packageFolders(root)
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
    dependencies: Record<string, string>
  }
  // The folder or a package in it may be a link, and then what the package needs is found from where it really is.
  const packages = folders.flatMap((folder) => Object.keys(dependencies).map((name) => join(folder, name)))
  const real = packages.filter((path) => existsSync(path)).map((path) => realpathSync(path))
  return [root, ...folders, ...folders.map((folder) => realpathSync(folder)), ...real, ...real.flatMap(packageFolders)]
}

/** Where packages for code in that folder are: `node_modules` of its parents. */
function packageFolders(folder: string): string[] {
  const found: string[] = []
  for (let at = folder; ; at = dirname(at)) {
    const packages = join(at, "node_modules")
    if (existsSync(packages)) found.push(packages)
    if (dirname(at) === at) return found
  }
}

function permissionFlags(readable: readonly string[], writable: readonly string[]): string[] {
  // From source, files are read through a compiler that runs as a process of its own.
  if (entryFlags.length > 0) return []
  // Node 20 takes a comma for the end of a path.
  if ([...readable, ...writable].some((path) => /[,*]/.test(path))) return []
  const known = process.allowedNodeEnvironmentFlags
  const flags = [known.has("--permission") ? "--permission" : "--experimental-permission"]
  // The parser is an addon, threads are what a host is for, and on newer Nodes its socket is network.
  flags.push("--allow-worker", "--allow-addons")
  if (known.has("--allow-net")) flags.push("--allow-net")
  const add = (flag: string, paths: readonly string[]): void => {
    for (const path of outermost(paths)) flags.push(`${flag}=${path}`)
  }
  add("--allow-fs-read", readable)
  add("--allow-fs-write", writable)
  return flags
}

/**
 * The paths that are in none of the others and exist. Node takes a folder for all that is in it, and Node 20 ends with an assertion when a path is
 * given twice, itself or as part of another.
 */
function outermost(paths: readonly string[]): string[] {
  const isIn = (path: string, folder: string): boolean => path.startsWith(folder === "/" ? folder : `${folder}/`)
  return [...new Set(paths)].filter(
    (path) => existsSync(path) && !paths.some((other) => other !== path && isIn(path, other)),
  )
}

function wrapperOf(command: string, readable: readonly string[], writable: readonly string[], net: boolean): string[] {
  const wrapper = [command, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]
  if (net) wrapper.push("--share-net")
  wrapper.push("--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp")
  const system = [...systemPaths, ...timePaths, ...(net ? netPaths : []), realpathSync(process.execPath)]
  for (const path of new Set([...system, process.execPath, ...readable])) wrapper.push("--ro-bind-try", path, path)
  for (const path of new Set(writable)) wrapper.push("--bind-try", path, path)
  wrapper.push("--chdir", "/", "--")
  return wrapper
}

/** A bubblewrap on the path that can run Node as hosts are run; otherwise why there is none. */
export async function findBubblewrap(path = process.env["PATH"] ?? ""): Promise<{ path: string } | { reason: string }> {
  if (process.platform !== "linux") return { reason: "it is for Linux" }
  const found = path
    .split(delimiter)
    .map((folder) => join(folder, "bwrap"))
    .find(isExecutable)
  if (found === undefined) return { reason: "there is no 'bwrap' on the path" }
  const [command, ...args] = [...wrapperOf(found, [], [], false), process.execPath, "--version"]
  const failure = await tryCommand(command, args, trialMs)
  return failure === undefined ? { path: found } : { reason: failure }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
