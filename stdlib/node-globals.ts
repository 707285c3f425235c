// What profile `full`, and others with some of Node, add to a realm's global object: Node's globals, `require`, `process`, and `instanceof` that knows Node's objects.
//
// The objects are of the outer realm: what they hold lives as long as the process. Each is fetched at
// its first use, since some of Node's take milliseconds to load.
import {
  applyFunction,
  defineOwn,
  descriptorOf,
  FunctionPrototype,
  objectFreeze,
  putOwn,
  PromiseOf,
  realmGlobal,
  symbolFor,
} from "./intrinsics.ts"
import type { Capabilities } from "./capabilities.ts"
import { denied } from "./globals.ts"
import type { RealmModules } from "./modules.ts"

export interface NodeSide {
  readonly names: ArrayLike<string>
  readonly shared: ArrayLike<string>
  read(name: string): unknown
  /** For `instanceof` alone. */
  readShared(name: string): unknown
  makeProcess(): object
}

const { hasInstance } = Symbol as unknown as { hasInstance: symbol }
const ordinaryHasInstance = descriptorOf(FunctionPrototype, hasInstance)!.value as unknown

/** Parts of `process` that tell of the host's process or reach into it. */
const ofTheHost: readonly string[] = objectFreeze([
  "report",
  "binding",
  "_linkedBinding",
  "_getActiveHandles",
  "_getActiveRequests",
  "mainModule",
])

/** `made` is told what each global is once it has been read. */
export function installNode(
  node: NodeSide,
  modules: RealmModules,
  exit: (code: unknown) => never,
  made: Record<string, unknown>,
  capabilities: Capabilities,
): void {
  const defineLazily = (name: string, read: (name: string) => unknown): void => {
    defineAccessor(name, (wanted) => {
      made[name] = read(wanted)
      return made[name]
    })
  }

  for (let index = 0; index < node.names.length; index++) defineLazily(node.names[index]!, node.read)
  for (let index = 0; index < node.shared.length; index++) share(node.shared[index]!, node.readShared)
  let process: object | undefined
  const makeProcess = (): object => {
    if (process !== undefined) return process
    process = node.makeProcess()
    putOwn(process, "exit", exit)
    for (let index = 0; !capabilities.has("process") && index < ofTheHost.length; index++) {
      defineOwn(process, ofTheHost[index]!, denied(capabilities, `process.${ofTheHost[index]!}`, "process"))
    }
    if (!capabilities.has("env")) defineOwn(process, "env", denied(capabilities, "process.env", "env"))
    putOwn(process, "getBuiltinModule", (name: unknown) => {
      try {
        return modules.require(name, "")
      } catch {
        return undefined
      }
    })
    return process
  }
  modules.override("process", makeProcess)
  defineLazily("process", makeProcess)
  define("global", realmGlobal)
  if (capabilities.has("timers")) promisifiable()
}

function define(name: string, value: unknown): void {
  const attributes = { __proto__: null, value, writable: true, enumerable: false, configurable: true }
  defineOwn(realmGlobal, name, attributes)
}

function defineAccessor(name: string, read: (name: string) => unknown): void {
  const get = (): unknown => {
    const value = read(name)
    define(name, value)
    return value
  }
  const set = (value: unknown): void => define(name, value)
  const attributes = { __proto__: null, get, set, enumerable: false, configurable: true }
  defineOwn(realmGlobal, name, attributes)
}

/** An error of Node's, or bytes that a file held, are instances of the realm's own classes too. */
function share(name: string, read: (name: string) => unknown): void {
  const own = descriptorOf(realmGlobal, name)?.value as object | undefined
  if (own === undefined) return
  const value = function (this: unknown, object: unknown): boolean {
    if (applyFunction(ordinaryHasInstance, this, [object]) === true) return true
    return this === own && applyFunction(ordinaryHasInstance, read(name), [object]) === true
  }
  const attributes = { __proto__: null, value, writable: true, enumerable: false, configurable: true }
  defineOwn(own, hasInstance, attributes)
}

/** `util.promisify(setTimeout)`, as packages do. */
function promisifiable(): void {
  const custom = symbolFor("nodejs.util.promisify.custom")
  const setTimeout = descriptorOf(realmGlobal, "setTimeout")?.value as (callback: () => void, ms: unknown) => unknown
  const after = (ms: unknown, value: unknown): Promise<unknown> =>
    new PromiseOf((resolve) => void setTimeout(() => resolve(value), ms))
  const attributes = { __proto__: null, value: after, writable: true, enumerable: false, configurable: true }
  defineOwn(setTimeout, custom, attributes)
}
