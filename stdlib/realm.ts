// The realm's side of one session: everything the worker asks of a realm goes through the object made here, in primitives and tables.
//
// The worker never touches a value of session code. It holds this object's functions, passes numbers, strings and node tables, and
// gets the same back; the values stay here, in the environment, the run and the queue. All of it is made before user code runs and
// uses captured built-ins only.
import {
  applyFunction,
  arrayPush,
  defineOwn,
  deleteOwn,
  descriptorOf,
  hasOwn,
  isSame,
  mathTrunc,
  prototypeOf,
  putOwn,
  realmGlobal,
  ownKeysOf,
  objectFreeze,
  stringCodeAt,
  Uint8ArrayOf,
  WeakMapOf,
  weakMapGet,
  weakMapSet,
  newList,
  objectCreate,
  stringIndexOf,
  stringSlice,
  toStringTag,
  withoutPrototype,
} from "./intrinsics.ts"
import type { Primitive } from "./intrinsics.ts"
import { Asker } from "./asker.ts"
import { BindingsView, sealBindingsView, viewText } from "./bindings-view.ts"
import { brandOf } from "./brands.ts"
import { recordBound } from "./bound-record.ts"
import { Bridge, kindError, opExit, opGeneration, opRestored, opSettled, opStack, opUncaught } from "./bridge.ts"
import type { HostFunction } from "./bridge.ts"
import { Capabilities } from "./capabilities.ts"
import { builtIns, CodeChanges, globalObject, isAsMade, propertiesOf, type MadeProperties } from "./code-changes.ts"
import { describeError, defaultErrorLimits, errorToJson } from "./describe-error.ts"
import type { FreeValue } from "./cell.ts"
import { Environment } from "./environment.ts"
import { Instances, type CodeObject, type Instance } from "./instances.ts"
import { installStackFormatter } from "./error-stack.ts"
import type { Candidate, EnteredRevision, Finished, Run, Unit } from "./environment.ts"
import { installGlobals } from "./globals.ts"
import { recordAttributes } from "./attribute-record.ts"
import { hideInserted } from "./function-text.ts"
import { captureIntrinsics, type IntrinsicPlan } from "./intrinsic-references.ts"
import { LazyGlobals } from "./lazy-globals.ts"
import { RealmModules } from "./modules.ts"
import { SessionNames } from "./session-names.ts"
import { installNode, type NodeSide } from "./node-globals.ts"
import { addInitializer } from "./decorators.ts"
import { defaultPreviewLimits, preview } from "./preview.ts"
import { pathStep } from "./quote.ts"
import { RealmPreludes } from "./preludes.ts"
import { moveInstances, privatesPair, type Moved, type PrivatesPair } from "./moves.ts"
import { OwnBindings } from "./own-bindings.ts"
import {
  canStandAside,
  constructPrivates,
  privatesOfPrototype,
  privatesOnChain,
  realmClassName,
  realmClassPrototype,
  realmClassText,
  type PrivatesOfClass,
} from "./privates.ts"
import { isRecordedProxy, recordProxies } from "./proxy-record.ts"
import { makeSessions } from "./session.ts"
import { rootScope } from "./stamp.ts"
import type { ScopeDescriptor, Skeleton, SkeletonMaker, SourceRecord } from "./stamp.ts"
import { RealmTimers } from "./timers.ts"
import { RealmTools, toolError } from "./tools.ts"
import { makeWorkspace } from "./workspace.ts"
import { privateLabel } from "../runtime/wire/values/decode-closures.ts"
import { decodeBindings, decodeValue } from "../runtime/wire/values/decode.ts"
import { encodeValue } from "../runtime/wire/values/encode.ts"
import { encodeBindings, reachedFrom } from "../runtime/wire/values/groups.ts"
import type { Activation, Constructed, DecodeHooks, EncodeHooks } from "../runtime/wire/values/hooks.ts"

/** Encoded bytes of the arguments of one tool call. */
const argumentBytesMax = 16 * 1024 * 1024
/** Items of its table: decoding them takes the embedder's loop up to 0.2 s. A record of two fields has six. */
const argumentItemsMax = 500_000

export type RealmApi = ReturnType<typeof bootRealm>

const nothingMade: readonly CodeObject[] = newList()

interface Member {
  readonly definition: string
  readonly of: object
  readonly number: number
}

interface KnownSource {
  readonly record: SourceRecord
  readonly make: SkeletonMaker
  readonly cells: readonly string[]
  /** Whose names its cells are; "" is the session. */
  readonly prelude: string
  /** The variables of each scope. */
  readonly names: Record<string, readonly string[]>
  root: Activation | undefined
}

interface KnownNames {
  readonly names: readonly string[]
  /** Whether they had private names before. */
  readonly before: readonly boolean[]
}

interface KnownCandidate extends KnownNames {
  readonly candidate: Candidate
  /** The same, in the candidate. */
  readonly privates: readonly boolean[]
}

interface ClassFacts {
  readonly name: string
  readonly hasPrivateNames: boolean
}

/**
 * Boots a realm that belongs to no session yet: that takes a millisecond, and a worker does it ahead of need. `granted`: the capabilities of the
 * profile, with commas between them. `plan`: that of an earlier
 * realm of the same profile; it may be an array of another realm: it is read by index, here, and kept from user code.
 */
export function bootRealm(host: HostFunction, profile: string, granted: string, plan?: IntrinsicPlan) {
  const bridge = new Bridge(host)
  const capabilities = new Capabilities(profile, granted)
  const timers = new RealmTimers(bridge)
  /** What definitions hold. */
  const instances = new Instances()
  const classes = new WeakMapOf<object, ClassFacts>()
  const singletons = new WeakMapOf<object, string>()
  const privateNames: Record<string, boolean> = { __proto__: null } as never
  const changes = new CodeChanges()
  /** A value holds a built-in through which others can be changed without a word of them in the text. */
  let holdsBuiltIn = false
  const members = new WeakMapOf<object, Member>()
  let hasImported = false
  /** Functions of imported modules: the imported name, and the way from there. */
  const exports = new WeakMapOf<object, readonly string[]>()
  const sources: Record<string, KnownSource | undefined> = { __proto__: null } as never
  const named: Record<string, unknown> = { __proto__: null }
  const held: unknown[] = newList()
  /** The innermost one under way, and those that wait for it, outermost first. */
  let run: Run | undefined
  /** What the last run that ended had changed. */
  let finished: Finished | undefined
  const around: Run[] = newList()
  let evalCount = 0
  let exitSignal: object | undefined
  /** The candidate that is being looked at, and those that were left. */
  let entered: KnownCandidate | undefined
  const candidates: Record<string, KnownCandidate | undefined> = { __proto__: null } as never
  /** The earlier revision that the eval under way runs in. */
  let enteredRevision: (KnownNames & { readonly revision: EnteredRevision }) | undefined

  const exit = (code: unknown): never => {
    bridge.callOutside("process.exit", opExit, exitCodeOf(code))
    exitSignal = objectFreeze({})
    throw exitSignal
  }
  const describeOther = (error: unknown): string => errorToJson(describeError(error, defaultErrorLimits, textOf))
  const uncaught = (error: unknown): void => {
    if (exitSignal !== undefined && error === exitSignal) return
    const depth = bridge.call(opUncaught)
    if (typeof depth !== "number") {
      // The eval that this code belongs to has ended; whoever runs now is not to blame.
      bridge.call(opUncaught, describeOther(error))
      return
    }
    const own = depth < around.length ? around[depth] : run
    if (own !== undefined && own.state.how !== "threw") own.state = { how: "threw", error }
  }
  // The engine's, in a realm that is made at the moment in which another thread has asked for it (`runtime/worker/collect.ts`).
  deleteOwn(realmGlobal, "gc")
  recordProxies(realmGlobal)
  recordAttributes()
  hideInserted()
  recordBound()
  installStackFormatter((raw) => bridge.call(opStack, raw) as string)
  const lazy = new LazyGlobals()
  installGlobals(bridge, timers, { capabilities, exit, uncaught, clone, textOf }, lazy)
  const intrinsics = captureIntrinsics(realmGlobal, plan)
  lazy.references = intrinsics
  /** Names and values of the global object in turn. */
  const globalsAsMade: unknown[] = newList()
  const isGlobalMade: Record<PropertyKey, boolean> = { __proto__: null } as never
  /** Node's globals, once they have been read. */
  const nodeGlobals: Record<string, unknown> = { __proto__: null }
  const noteGlobals = (): void => {
    const globalKeys = ownKeysOf(realmGlobal)
    globalsAsMade.length = 0
    for (let index = 0; index < globalKeys.length; index++) {
      isGlobalMade[globalKeys[index]!] = true
      globalsAsMade[index * 2] = globalKeys[index]
      globalsAsMade[index * 2 + 1] = heldOf(descriptorOf(realmGlobal, globalKeys[index]!))
    }
  }
  noteGlobals()

  const modules: RealmModules = new RealmModules(bridge, capabilities.has("process"), () => sessionNames)
  const meta: Record<string, unknown> = objectCreate(null) as Record<string, unknown>
  const environment = new Environment({
    resolveFree: resolveShared,
    missing: (wanted) => capabilities.missing(wanted),
    isShared,
    generation,
    onDefined,
    onBareDefined,
    onImported,
    isNativeError,
    load: (specifier, options) => modules.load(specifier, options, ""),
    loadAll: (requests) => modules.loadAll(requests),
    meta,
  })
  const sessionNames = new SessionNames(environment)
  const preludes: RealmPreludes = new RealmPreludes({
    environment: (prefix): Environment =>
      new Environment({
        resolveFree: (wanted): FreeValue | undefined => resolveShared(wanted, preludes.isLoading),
        isShared,
        generation,
        onDefined: (defined, value) => onDefined(prefix + defined, value),
        onBareDefined: (defined, value, known) => onBareDefined(prefix + defined, value, known),
        onImported: (imported, value) => onImported(prefix + imported, value),
        isNativeError,
        load: (specifier, options) => modules.load(specifier, options, ""),
        loadAll: (requests) => modules.loadAll(requests, importer),
      }),
    generation,
    onMade(made, value) {
      if ((typeof value === "object" && value !== null) || typeof value === "function") {
        // What was there before is known by its own name.
        if (!isDefinitionInstance(value)) onDefined(made, value)
      }
    },
  })
  /** The file of the prelude that is being loaded, and why its modules could not be. */
  let importer = ""
  let importProblem: string | undefined

  function finish(how: "ok" | "threw"): Finished {
    preludes.settle()
    return (finished = environment.finish(run!, how))
  }

  /** Of a name of the session or, with its prelude in front, of one of those. */
  function kindOfNamed(wanted: string): ReturnType<Environment["kindOf"]> {
    const found = preludes.find(wanted)
    return found === undefined ? environment.kindOf(wanted) : found.environment.kindOf(found.local)
  }

  function readNamed(wanted: string): unknown {
    const found = preludes.find(wanted)
    return found === undefined ? environment.read(wanted) : found.environment.read(found.local)
  }

  /** The last reference that meant nothing here. */
  let unresolved = ""
  const encodeHooks: EncodeHooks = {
    referenceOf(object) {
      const intrinsic = intrinsics.nameOf(object)
      if (intrinsic !== undefined) {
        holdsBuiltIn ||= typeof object !== "function" || mayOwnBuiltIns(intrinsic)
        return `i:${intrinsic}`
      }
      const definition = instances.get(object)?.definition
      // An old instance, or one whose name is a local by now, cannot be found by that name again.
      if (definition !== undefined && isInstance(definition, object)) {
        note(definition)
        return `d:${definition}`
      }
      const exported = weakMapGet(exports, object)
      if (exported !== undefined && exportAt(exported) === object) {
        note(exported[0]!)
        return `x:${joinPath(exported)}`
      }
      const member = weakMapGet(members, object)
      if (member !== undefined && isInstance(member.definition, member.of)) {
        note(member.definition)
        return `m:${member.definition}/${member.number}`
      }
      const singleton = weakMapGet(singletons, object)
      return singleton === undefined ? undefined : `s:${singleton}`
    },
    classOf(prototype) {
      const found = weakMapGet(classes, prototype)
      // The prototype of a class that was redefined since cannot be found by that name again.
      if (found === undefined || !isCurrentPrototype(found.name, prototype)) return undefined
      note(found.name)
      return found
    },
    privatesOf: closedPrivates,
  }
  // For values that other sessions get: data, and references that mean the same in every realm of the workspace.
  const sharingHooks: EncodeHooks = {
    referenceOf(object) {
      const travelling = travellingName(object)
      if (travelling !== undefined) return `s:${travelling}`
      const exported = instances.get(object)?.definition
      return exported !== undefined &&
        isPreludeName(exported) &&
        isInstance(exported, object) &&
        typeof object === "object"
        ? `d:${exported}`
        : undefined
    },
    classOf: (prototype) => (isPreludePrototype(prototype) ? weakMapGet(classes, prototype) : undefined),
    privatesOf: (prototype) =>
      privatesOnChain(prototype, (link) => (isPreludePrototype(link) ? nameOfClass(link) : ""), isRecordedProxy),
  }
  /** While instances of a class that was declared again wait to be made again. */
  let pairing: PrivatesPair | undefined
  // For values that leave the session: a name of this realm means nothing where they go, so what only a name could stand for stays.
  /** Bindings keep functions: their sources are committed with them. */
  const bindingHooks: EncodeHooks = {
    referenceOf: encodeHooks.referenceOf,
    classOf: encodeHooks.classOf!,
    keepsClosures: true,
    foreignOf,
    privatesOf(prototype) {
      const found = privatesOnChain(prototype, nameOfClass, isRecordedProxy)
      if (found === undefined || pairing === undefined) return found
      for (let at = 0; at < found.length; at++) found[at] = pairing(found[at]!)
      return found
    },
  }
  const leavingHooks: EncodeHooks = {
    referenceOf: () => undefined,
    classOf(prototype) {
      const found = encodeHooks.classOf!(prototype)
      return found === undefined || !isPreludeName(found.name)
        ? found
        : { name: afterColon(found.name), hasPrivateNames: found.hasPrivateNames }
    },
    privatesOf: closedPrivates,
  }
  const decodeHooks: DecodeHooks = {
    resolveReference(reference) {
      let path = ""
      for (let at = 2; at < reference.length; at++) path += reference[at]!
      if (reference[0] === "d") note(path)
      if (reference[0] === "i") holdsBuiltIn ||= mayOwnBuiltIns(path)
      const found =
        reference[0] === "i"
          ? (intrinsics.resolve(path) ?? resolveLazy(path))
          : reference[0] === "d"
            ? readNamed(path)
            : reference[0] === "m"
              ? memberOf(path)
              : reference[0] === "x"
                ? exportNamed(path)
                : (named[path] ?? handleNamed(path))
      if (found === undefined) unresolved = reference
      return found as object | undefined
    },
    prototypeOf(className) {
      const own = realmClassPrototype(className, (wanted) => lazy.need(wanted))
      if (own !== undefined) return own
      note(className)
      const found = readNamed(className)
      return typeof found === "function" ? (descriptorOf(found, "prototype")?.value as object | undefined) : undefined
    },
    construct: constructed,
    activate(id) {
      const source = sources[id]
      if (source === undefined) {
        unresolved = `source ${id}`
        return undefined
      }
      if (source.root !== undefined) return source.root
      const owner = source.prelude === "" ? environment : preludes.find(`${source.prelude}:`)!.environment
      const made = activationOf(source, rootScope, owner.activate(source.make, source.cells))
      // Without variables one root is like another.
      if (source.names["-1"]!.length === 0) source.root = made
      return made
    },
  }

  /** Private names by class, as `construct` was asked for them. */
  function constructed(classList: readonly unknown[]): Constructed | undefined {
    const found: NonNullable<ReturnType<typeof privatesOfPrototype>>[] = newList()
    for (let index = 0; index < classList.length; index++) {
      const given = classList[index]
      const prototype = typeof given === "string" ? decodeHooks.prototypeOf!(given) : prototypeOfClass(given)
      const known = prototype === undefined ? undefined : privatesOfPrototype(prototype)
      if (known === undefined || !known.isOpen || !canStandAside(known)) {
        unresolved = `the private names of ${typeof given === "string" ? given : "a class"}`
        return undefined
      }
      found[index] = known
    }
    return {
      object: constructPrivates(found),
      set(wanted, value) {
        for (let index = 0; index < found.length; index++) {
          const { names, write } = found[index]!
          for (let at = 0; at < names.length; at++) {
            if (privateLabel(classList, index, names[at]!) === wanted) {
              write(this.object, at, value)
              return
            }
          }
        }
        unresolved = wanted
      },
    }
  }

  function prototypeOfClass(made: unknown): object | undefined {
    return typeof made === "function" ? (descriptorOf(made, "prototype")?.value as object | undefined) : undefined
  }

  function activationOf(source: KnownSource, scope: number, skeleton: Skeleton): Activation {
    const missing = (what: string): undefined => {
      unresolved = `${what} of source ${source.record.id}`
    }
    const names = source.names[scope] ?? newList<string>()
    return {
      functionOf: (number, keys) =>
        hasOwn(skeleton.f, number) ? skeleton.f[number]!(keys) : missing(`function ${number}`),
      scopeOf(number, self) {
        const made = hasOwn(skeleton.s, number) ? applyFunction(skeleton.s[number], self, newList()) : undefined
        return made === undefined ? missing(`scope ${number}`) : activationOf(source, number, made as Skeleton)
      },
      set(wanted, value) {
        for (let at = 0; at < names.length; at++) {
          if (names[at] !== wanted) continue
          skeleton.w(at, value)
          return
        }
        missing(`variable ${wanted}`)
      },
    }
  }

  /** Tells the tokens of a unit which sources they belong to. `facts`: what a source has, one after the other. */
  function adoptSources(sites: readonly ScopeDescriptor[], facts: readonly Primitive[]): void {
    if (sites.length === 0 || sites[0]!.q !== undefined) return
    const records: SourceRecord[] = newList()
    for (let at = 0; at < facts.length; at += sourceFacts) records[records.length] = sourceRecord(facts, at)
    for (let index = 0; index < sites.length; index++) sites[index]!.q = records[sites[index]!.r]
  }

  function resolveLazy(path: string): object | undefined {
    lazy.need(path)
    return intrinsics.resolve(path)
  }

  function memberOf(path: string): object | undefined {
    let at = path.length - 1
    while (at > 0 && path[at] !== "/") at--
    let definition = ""
    for (let index = 0; index < at; index++) definition += path[index]!
    let number = 0
    for (let index = at + 1; index < path.length; index++) number = number * 10 + (stringCodeAt(path, index) - 48)
    note(definition)
    const value = readNamed(definition)
    if ((typeof value !== "object" || value === null) && typeof value !== "function") return undefined
    const found = membersOf(value, (object) => isNoMember(definition, object))
    return number < found.length ? found[number] : undefined
  }

  /** Whether an object that a definition holds is another's, and found by its name. What it holds of a local is the local's. */
  function isNoMember(definition: string, object: object): boolean {
    if (isDefinitionInstance(object)) return true
    const found = preludes.find(definition)
    return found === undefined
      ? environment.isOfAnother(definition, object)
      : found.environment.isOfAnother(found.local, object)
  }

  function isDefinitionInstance(object: object): boolean {
    return instances.get(object) !== undefined || intrinsics.nameOf(object) !== undefined
  }

  /** For values that are written without private names: an object that has some is not written at all. */
  function closedPrivates(prototype: object): PrivatesOfClass[] | undefined {
    // A class without a name is one that cannot be made again.
    return privatesOnChain(prototype, () => "", isRecordedProxy)
  }

  function nameOfClass(prototype: object): string {
    const own = realmClassName(prototype)
    if (own !== undefined) return own
    const found = weakMapGet(classes, prototype)
    if (found === undefined || !isCurrentPrototype(found.name, prototype)) return ""
    note(found.name)
    return found.name
  }

  function isCurrentPrototype(definition: string, prototype: object): boolean {
    const isNamed = kindOfNamed(definition) === "definition" || isPreludeName(definition)
    const value = isNamed ? readNamed(definition) : undefined
    return typeof value === "function" && descriptorOf(value, "prototype")?.value === prototype
  }

  /** The imported class that objects of this prototype are instances of. */
  function foreignOf(prototype: object): string | undefined {
    if (!hasImported) return undefined
    for (let link: object | null = prototype; link !== null; link = prototypeOf(link)) {
      if (isRecordedProxy(link)) return undefined
      const made = dataProperty(link, "constructor")
      if (typeof made !== "function" || dataProperty(made, "prototype") !== link) continue
      const definition = instances.get(made)?.definition
      const isImported = definition !== undefined && kindOfNamed(definition) === "import"
      if (!isImported && weakMapGet(exports, made) === undefined) continue
      if (intrinsics.nameOf(made) !== undefined) continue
      const className = dataProperty(made, "name")
      return typeof className === "string" && className !== "" ? className : "a class"
    }
    return undefined
  }

  /** An imported name holds functions of its module that can be found by the way to them again; data is encoded like other data. */
  function onImported(imported: string, value: unknown): void {
    if (!isInterface(value)) return
    // A file may give the session what the session has given it.
    const known = instances.get(value)
    if (known !== undefined && kindOfNamed(known.definition) === "definition" && isInstance(known.definition, value))
      return
    hasImported = true
    instances.set(value, { definition: imported, made: known?.made })
    noteExports(value, [imported], 2)
  }

  function noteExports(from: object, path: readonly string[], depth: number): void {
    const keys = ownKeysOf(from)
    if (keys.length > exportsMax) return
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index]!
      if (typeof key !== "string" || stringIndexOf(key, "/") !== -1) continue
      const value = dataProperty(from, key)
      if (!isInterface(value) || instances.get(value) !== undefined) continue
      const way = withoutPrototype(newListOf(path, key))
      weakMapSet(exports, value, way)
      if (depth > 1 && key === "default") noteExports(value, way, depth - 1)
    }
  }

  function exportAt(path: readonly string[]): unknown {
    if (kindOfNamed(path[0]!) !== "import") return undefined
    let value = readNamed(path[0]!)
    for (let at = 1; at < path.length; at++) value = dataProperty(value, path[at]!)
    return value
  }

  function exportNamed(text: string): object | undefined {
    const path: string[] = newList()
    let rest = text
    for (let at = stringIndexOf(rest, "/"); at !== -1; at = stringIndexOf(rest, "/")) {
      path[path.length] = stringSlice(rest, 0, at)
      rest = stringSlice(rest, at + 1)
    }
    path[path.length] = rest
    note(path[0]!)
    return exportAt(path) as object | undefined
  }

  /** The definition whose object a record is about. */
  function ownerOf(record: unknown): string {
    const object = (record as unknown[])[0] as object
    if (object === realmGlobal) return globalObject
    return (instances.get(object) ?? weakMapGet(members, object))?.definition ?? builtIns
  }

  function isInstance(definition: string, object: object): boolean {
    const kind = kindOfNamed(definition)
    return (kind === "definition" || kind === "import" || isPreludeName(definition)) && readNamed(definition) === object
  }

  const show = (value: unknown): string => preview(value, defaultPreviewLimits, textOf).text
  sealBindingsView(show)
  const facts = { id: "", kind: "" }
  const asker = new Asker(bridge)
  const shared = {
    bridge,
    asker,
    // `run` is known only when its code first waits or has ended.
    evalMark: () => evalCount,
    names: {
      // A name that only one session's realm gives a meaning to does not travel.
      resolve(reference: string): object | undefined {
        const path = afterColon(reference)
        if (reference[0] === "s") return sharedNamed(path)
        if ((reference[0] !== "d" && reference[0] !== "m") || !isPreludeName(path)) return undefined
        const found = reference[0] === "d" ? readNamed(path) : memberOf(path)
        return typeof found === "object" && found !== null ? found : undefined
      },
      isIntrinsic: (object: object) => intrinsics.nameOf(object) !== undefined,
      prototypeOf: (className: string) => (isPreludeName(className) ? decodeHooks.prototypeOf!(className) : undefined),
      isShared: isPreludePrototype,
      construct(classList: readonly unknown[], onUnknown: () => void): Constructed | undefined {
        for (let index = 0; index < classList.length; index++) {
          const given = classList[index]
          if (typeof given !== "string" || !isPreludeName(given)) return undefined
        }
        unresolved = ""
        const made = constructed(classList)
        if (made === undefined) return undefined
        const { object } = made
        return {
          object,
          set(wanted, given) {
            unresolved = ""
            made.set(wanted, given)
            if (unresolved !== "") onUnknown()
          },
        }
      },
      privatesOf(object: object): unknown[] | undefined {
        const found = privatesOnChain(prototypeOf(object)!, () => "", isRecordedProxy)
        if (found === undefined) return undefined
        const values: unknown[] = newList()
        for (let index = 0; index < found.length; index++) {
          const { names: own, read, has } = found[index]!
          if (has(object)) for (let at = 0; at < own.length; at++) values[values.length] = read(object, at)
        }
        return values
      },
    },
  }
  const ownBindings = new OwnBindings({ bridge, environment, held, encodeWrite })
  const tools = new RealmTools(bridge, encodeArguments)
  const sessions = makeSessions({
    tools,
    bridge: shared.bridge,
    asker,
    evalMark: shared.evalMark,
    names: shared.names,
    environment,
    ownBindings,
    facts,
    resolveShared,
    onMinted: (object, text) => name(text, object),
  })
  const { own } = sessions
  const workspace = makeWorkspace({
    bridge: shared.bridge,
    asker,
    evalMark: shared.evalMark,
    names: shared.names,
    encodeShared,
    sessions: sessions.live,
    currentSession: sessions.current,
    singleton: (wanted) => (isOffered(wanted) ? (named[wanted] as object | undefined) : undefined),
    exports: preludes,
    show,
  })
  name("BindingsView", BindingsView)
  name("addInitializer", addInitializer)
  name("Workspace", workspace.Workspace)
  name("Workspace.globals", workspace.globalsView)
  name("Workspace.classes", workspace.classesView)
  name("Transcript", workspace.Transcript)

  /** Definitions that encoded or decoded values referred to, since last asked. */
  let referenced: string[] = newList()
  function note(definition: string): void {
    const { length } = referenced
    if (length === 0 || referenced[length - 1] !== definition) referenced[length] = definition
  }

  function name(text: string, object: object): void {
    named[text] = object
    weakMapSet(singletons, object, text)
  }

  /** What an object is called in every realm of the workspace, if anything. */
  function travellingName(object: object): string | undefined {
    const singleton = weakMapGet(singletons, object)
    if (singleton === undefined) return undefined
    if (object === own) return `Session:${facts.kind}:${facts.id}`
    if (object === sessions.ownView) return `View:${facts.kind}:${facts.id}`
    return typeof object === "function" || singleton === "tools" ? undefined : singleton
  }

  /** What such a name means here. */
  function sharedNamed(path: string): object | undefined {
    const found = named[path] as object | undefined
    return found !== undefined && travellingName(found) === path ? found : handleNamed(path)
  }

  /** A session or view of another, by "Session:kind:id" or "View:kind:id". */
  function handleNamed(path: string): object | undefined {
    const what = beforeColon(path)
    if (what !== "Session" && what !== "View") return undefined
    const rest = afterColon(path)
    return what === "Session"
      ? sessions.handle(beforeColon(rest), afterColon(rest))
      : sessions.viewOf(beforeColon(rest), afterColon(rest))
  }

  let isShowingView = false
  /** How singletons, sessions and views show; ordinary values show by themselves. */
  function textOf(object: object): string | undefined {
    const singleton = weakMapGet(singletons, object)
    if (singleton === undefined) return realmClassText(object)
    if (object === own) return `Session(${facts.kind}: ${facts.id})`
    const what = beforeColon(singleton)
    if (what === "Session" && singleton !== "Session") {
      const rest = afterColon(singleton)
      return `Session(${beforeColon(rest)}: ${afterColon(rest)})`
    }
    if (typeof object === "function") return undefined
    if (singleton === "tools" || singleton === "Workspace" || singleton === "Transcript") return singleton
    // A view may hold itself.
    if (isShowingView) return "BindingsView {…}"
    isShowingView = true
    const text = viewText(object as BindingsView, show)
    isShowingView = false
    return text
  }

  /** Whether the profile offers that name. */
  function isOffered(wanted: string): boolean {
    switch (wanted) {
      case "Session":
      case "BindingsView":
      case "Workspace":
        return true
      // No global: files of ES modules do not have it.
      case "require":
        return capabilities.hasNode
      case "tools":
        return capabilities.hasTools
      case "Transcript":
        return capabilities.has("print")
      default:
        return false
    }
  }

  /** Names that no session binds, in their order: globals, singletons, the class registry, the realm's own. */
  function resolveShared(wanted: string, isPreludeLoading = false): FreeValue | undefined {
    if (isOffered(wanted)) return { value: named[wanted], generation: undefined }
    // A prelude is the same for every session, whatever has been bound meanwhile.
    const global = isPreludeLoading ? undefined : workspace.globals.lookup(wanted)
    if (global !== undefined) return global
    const exported = preludes.lookup(wanted)
    if (exported !== undefined) return exported
    const descriptor = descriptorOf(realmGlobal, wanted)
    if (descriptor === undefined) return undefined
    return { value: (realmGlobal as Record<string, unknown>)[wanted], generation: undefined }
  }

  function generation(): number {
    return bridge.call(opGeneration) as number
  }

  function isShared(wanted: string): boolean {
    return preludes.has(wanted) || workspace.globals.lookup(wanted) !== undefined
  }

  /** Of a class of a prelude, as it is now. */
  function isPreludePrototype(prototype: object): boolean {
    const found = weakMapGet(classes, prototype)
    return found !== undefined && isPreludeName(found.name) && isCurrentPrototype(found.name, prototype)
  }

  function encodeShared(key: string, value: unknown): unknown {
    const encoded = encodeValue(value, sharingHooks, argumentBytesMax)
    if ("tooLarge" in encoded) {
      throw kindError("value_too_large", `The global '${key}' is larger than ${argumentBytesMax} bytes.`)
    }
    if ("ephemeral" in encoded) {
      const { what, path } = encoded.ephemeral
      const place = path === "" ? "" : ` (at ${path})`
      throw kindError(
        "value_not_transferable",
        `The global '${key}' would hold something that cannot leave its session: ${what}${place}. Globals hold data and sessions.`,
      )
    }
    return encoded
  }

  function clone(value: unknown): unknown {
    const encoded = encodeValue(value, encodeHooks)
    if ("ephemeral" in encoded) {
      const error = kindError(
        "value_not_transferable",
        `structuredClone: ${encoded.ephemeral.what} at ${encoded.ephemeral.path} cannot be cloned.`,
      )
      // As the web's is known by.
      putOwn(error, "name", "DataCloneError")
      putOwn(error, "code", 25)
      throw error
    }
    return "table" in encoded ? decodeValue(encoded.table, encoded.chunks, decodeHooks) : undefined
  }

  function encodeArguments(args: unknown[], what: string): unknown {
    const encoded = encodeValue(args, leavingHooks, argumentBytesMax, "reject", "", argumentItemsMax)
    if ("tooLarge" in encoded) {
      const message = `${what} is larger than ${argumentBytesMax} bytes or ${argumentItemsMax} parts; pass less, or in several calls.`
      throw kindError("value_too_large", message)
    }
    if ("ephemeral" in encoded) {
      const { what: found, path } = encoded.ephemeral
      throw kindError("value_not_transferable", `${what} holds ${found} (at ${path}), which cannot leave the session.`)
    }
    return encoded
  }

  function encodeWrite(key: string, value: unknown): unknown {
    const { groups, ephemeral } = encodeBindings([{ name: key, value }], encodeHooks)
    return ephemeral.length > 0 ? ephemeral[0]!.what : groups[0]
  }

  /** A fresh definition: values refer to it by name, and its data is compared with what it is now. */
  function onDefined(definition: string, value: unknown): void {
    if ((typeof value !== "object" || value === null) && typeof value !== "function") return
    const properties = propertiesOf(value)
    const made: CodeObject[] = newList()
    made[0] = { object: undefined, parent: -1, step: definition, made: properties }
    instances.set(value, { definition, made })
    if (!holdsObjects(properties)) return
    const found = membersOf(value, (object) => isNoMember(definition, object), made)
    for (let number = 0; number < found.length; number++) {
      weakMapSet(members, found[number]!, { definition, of: value, number })
    }
    if (typeof value !== "function") return
    const prototype = descriptorOf(value, "prototype")
    if (prototype === undefined || prototype.writable === true || typeof prototype.value !== "object") return
    weakMapSet(classes, prototype.value as object, {
      name: definition,
      hasPrivateNames: privateNames[definition] === true,
    })
  }

  /** The same for a function that has its `length` and `name` and nothing else: all that one factory makes of it share the facts. */
  function onBareDefined(definition: string, value: object, known: object | undefined): object | undefined {
    if (known !== undefined) {
      instances.set(value, known as Instance)
      return known
    }
    const properties = propertiesOf(value)
    if (typeof value !== "function" || holdsObjects(properties)) {
      onDefined(definition, value)
      return undefined
    }
    const made: CodeObject[] = newList()
    made[0] = { object: undefined, parent: -1, step: definition, made: properties }
    const instance: Instance = { definition, made }
    instances.set(value, instance)
    return instance
  }

  function notePrivateNames(names: readonly string[], have: readonly boolean[]): void {
    for (let index = 0; index < names.length; index++) privateNames[names[index]!] = have[index]!
  }

  /** Puts definitions in force for a while: `enter` makes them. Gives what making them threw; nothing has changed then. */
  function entering(
    unit: Unit,
    names: readonly string[],
    privates: readonly boolean[],
    sourceList: readonly Primitive[],
    enter: (before: readonly boolean[]) => void,
  ): string | undefined {
    const before: boolean[] = newList()
    for (let index = 0; index < names.length; index++) before[index] = privateNames[names[index]!] === true
    notePrivateNames(names, privates)
    adoptSources(unit.sites, sourceList)
    try {
      enter(before)
    } catch (error) {
      notePrivateNames(names, before)
      return describeOther(error)
    }
    return undefined
  }

  /** Notes what is not as it was made: of these definitions, and of the built-ins when `withBuiltIns`. */
  function noteChanges(names: readonly string[], withBuiltIns: boolean, globals: readonly string[] | undefined) {
    const isAsked: Record<string, boolean> = { __proto__: null } as never
    for (let index = 0; index < names.length; index++) {
      isAsked[names[index]!] = true
      noteDefinitionChanges(names[index]!)
    }
    if (withBuiltIns) intrinsics.eachChanged((object, path, made) => changes.compare(object, path, builtIns, made))
    if (globals !== undefined) {
      for (let index = 0; index < globals.length; index++) {
        changes.noteProperty(realmGlobal, globals[index]!, globalObject, globalObject)
      }
    }
    return changes.take((owner) => {
      if (owner === builtIns) return withBuiltIns
      return owner === globalObject ? globals !== undefined : isAsked[owner] === true
    })
  }

  /** Calls `visit` with a definition's objects that are not as they were made, until that gives false. */
  function eachChanged(
    definition: string,
    visit: (object: object, list: readonly CodeObject[], index: number) => boolean,
  ) {
    const value = readNamed(definition)
    if ((typeof value !== "object" || value === null) && typeof value !== "function") return
    const list = instances.get(value)?.made ?? nothingMade
    for (let index = 0; index < list.length; index++) {
      const { object = value, made } = list[index]!
      if (!isAsMade(object, made) && !visit(object, list, index)) return
    }
  }

  /** Those of the definitions whose objects are not as they were made. */
  function changedDefinitions(names: readonly string[]): string[] {
    const changed: string[] = newList()
    for (let at = 0; at < names.length; at++) {
      eachChanged(names[at]!, () => {
        changed[changed.length] = names[at]!
        return false
      })
    }
    return changed
  }

  function noteDefinitionChanges(definition: string): void {
    if (environment.kindOf(definition) !== "definition") return
    eachChanged(definition, (object, list, index) => {
      changes.compare(object, wayTo(list, index), definition, list[index]!.made)
      return true
    })
  }

  /** The record of a change to code, or what the name is bound to. */
  function changeOrValue(wanted: string): unknown {
    return changes.has(wanted) ? changes.read(wanted) : environment.read(wanted)
  }

  return objectFreeze({
    get intrinsicPlan() {
      return intrinsics.plan
    },
    newList: (): Primitive[] => newList(),
    newBytes: (length: number): Uint8Array => new Uint8ArrayOf(length),

    /** Makes it the realm of a session. `toolList`: the tools' names, which are identifiers, with commas between them. */
    adopt(id: string, kind: string, toolList: string, directory: string, url: string): void {
      facts.id = id
      facts.kind = kind
      if (capabilities.hasNode) modules.fillSessionMeta(meta, directory, url)
      if (capabilities.hasTools) name("tools", tools.makeTools(splitNames(toolList), capabilities))
    },

    /** Gives it what it has of Node; before any session has it. */
    installNode(node: NodeSide): void {
      installNode(node, modules, exit, nodeGlobals, capabilities)
      // A plan that came from another realm of the profile knows of this already.
      if (plan === undefined) intrinsics.lookAgain()
      noteGlobals()
      name("require", modules.makeRequire("") as object)
    },

    // Modules

    initMeta: (object: object, how: string, key: string, url: string, path: string, folder: string) =>
      modules.initMeta(object, how, key, url, path, folder),
    giveModule: (value: unknown) => modules.give(value),
    loadModule: (specifier: string, from: string, type: string, settle: (isLoaded: boolean, value: unknown) => void) =>
      modules.loadFor(specifier, from, type, settle),
    settleImport: (job: string, ok: boolean, value: unknown) => modules.settle(job, ok, value),
    refuseImport: (job: string, problem: string) => modules.refuse(job, problem),
    dropModule: (key: string) => modules.drop(key),
    beginModules: () => modules.begin(),
    endModules: () => modules.end(),
    /** Imports again what a checkpoint's imports ask for; `opRestored` says when that is done. What cannot be is lost. */
    restoreImports(unit: Unit, isApart: boolean): void {
      void environment
        .restoreImports(unit.imports ?? newList(), textOfFailure, isApart)
        .then(() => bridge.call(opRestored))
    },

    // Preludes

    preludeKind: (prelude: string, wanted: string) => preludes.kindOf(prelude, wanted),
    /** Runs a prelude's text; gives what it threw. */
    loadPrelude(
      prelude: string,
      unit: Unit,
      names: readonly string[],
      privates: readonly boolean[],
      sourceList: readonly Primitive[],
    ): string | undefined {
      notePrivateNames(names, privates)
      adoptSources(unit.sites, sourceList)
      try {
        preludes.load(prelude, unit)
      } catch (error) {
        return describeOther(error)
      }
      return undefined
    },
    /** Loads the modules that a prelude imports, which stands in `file`; `opRestored` says when that is done. */
    importForPrelude(prelude: string, unit: Unit, file: string): void {
      importer = file
      importProblem = undefined
      const { environment: ofPrelude } = preludes.find(`${prelude}:`)!
      void ofPrelude.bindImports(unit.imports ?? newList()).then(
        () => bridge.call(opRestored),
        (error: unknown) => {
          importProblem = describeOther(error)
          bridge.call(opRestored)
        },
      )
    },
    importProblem: () => importProblem,
    publishPrelude(prelude: string, exported: readonly string[], locals: readonly string[], problem: string): void {
      preludes.publish(prelude, exported, locals, problem)
      environment.forgetKept()
      preludes.forgetKept()
    },
    dropPrelude(prelude: string): void {
      preludes.drop(prelude)
      environment.forgetKept()
      preludes.forgetKept()
    },
    isPreludeStateful: (wanted: string) => preludes.isStateful(wanted),

    /** A value that comes with the answer to a question. */
    deposit: (table: readonly Primitive[], chunks: readonly Uint8Array[]) => asker.deposit(table, chunks),

    // Building a realm from a checkpoint

    /** Makes definitions; gives the message of what one threw. */
    install(
      unit: Unit,
      names: readonly string[],
      privates: readonly boolean[],
      sourceList: readonly Primitive[],
    ): string | undefined {
      notePrivateNames(names, privates)
      adoptSources(unit.sites, sourceList)
      try {
        environment.install(unit)
      } catch (error) {
        return textOfFailure(error)
      }
      return undefined
    },
    /** Makes known how the functions of one source are made; `facts` are those of the source. */
    addSource(unit: { sites: ScopeDescriptor[]; make: SkeletonMaker }, sourceList: readonly Primitive[]): void {
      const record = sourceRecord(sourceList, 0)
      const scopes: Record<string, readonly string[]> = { __proto__: null } as never
      for (let index = 0; index < unit.sites.length; index++) {
        const site = unit.sites[index]!
        site.q = record
        scopes[site.o] = site.n
      }
      scopes[rootScope] ??= newList()
      const cells = splitNames(record.cells)
      const prelude = cells.length > 0 && isPreludeName(cells[0]!) ? beforeColon(cells[0]!) : ""
      if (prelude !== "") for (let index = 0; index < cells.length; index++) cells[index] = afterColon(cells[index]!)
      sources[record.id] = { record, make: unit.make, cells, prelude, names: scopes, root: undefined }
    },
    setPrimitive: (wanted: string, value: Primitive, isReadonly: boolean) =>
      environment.setLocal(wanted, value, isReadonly),
    /** Binds those names of a group that still belong to it, which its bytes may know as others; gives a message when its bytes are not what they should be. */
    bindGroup(
      table: readonly Primitive[],
      chunks: readonly Uint8Array[],
      names: readonly string[],
      areReadonly: readonly boolean[],
      namesInBytes = names,
    ): string | undefined {
      try {
        unresolved = ""
        const bindings = decodeBindings(table, chunks, decodeHooks)
        if (unresolved !== "") return `it refers to ${unresolved}, which this realm does not have`
        for (let index = 0; index < bindings.length; index++) {
          const { name: found, value } = bindings[index]!
          for (let at = 0; at < names.length; at++) {
            if (namesInBytes[at] !== found) continue
            if (isChangeName(found)) changes.adopt(found, value, ownerOf(value))
            else environment.setLocal(names[at]!, value, areReadonly[at])
          }
        }
        return undefined
      } catch (error) {
        return textOfFailure(error)
      }
    },
    /** Makes built-ins and definitions what their records say; gives the names of those that could not be. */
    applyChanges: () => changes.apply(),
    noteChanges,
    changeNames: () => changes.names,
    changeOwner: (change: string) => changes.ownerOf(change),
    holdsBuiltIn: () => holdsBuiltIn,
    demote: (definition: string) => environment.demote(definition),
    madeWith: (definition: string) => environment.madeWith(definition),

    // Changes

    /** Makes the definitions of a change, which are in force until `leaveCandidate`. Gives what one of them threw. */
    enterCandidate(
      unit: Unit,
      names: readonly string[],
      privates: readonly boolean[],
      sourceList: readonly Primitive[],
      data: readonly string[],
      removed: readonly string[],
      guarded: readonly string[],
    ): string | undefined {
      return entering(unit, names, privates, sourceList, (before) => {
        entered = { candidate: environment.enterCandidate(unit, data, removed, guarded), names, privates, before }
      })
    },
    /** What has been made, dependents included. */
    candidateNames: () => entered!.candidate.made,
    leaveCandidate(id: string): void {
      environment.leaveCandidate(entered!.candidate)
      notePrivateNames(entered!.names, entered!.before)
      candidates[id] = entered
      entered = undefined
    },
    publishCandidate(id: string): void {
      const { candidate, names, privates } = candidates[id]!
      environment.publish(candidate)
      notePrivateNames(names, privates)
    },
    dropCandidate(id: string): void {
      candidates[id] = undefined
    },
    /** Puts an earlier revision in force until `leaveRevision`, as `Environment.enterRevision` says. Gives what making it threw. */
    enterRevision(
      unit: Unit,
      names: readonly string[],
      privates: readonly boolean[],
      sourceList: readonly Primitive[],
      removed: readonly string[],
      data: readonly string[],
      from: readonly string[],
      reasons: readonly string[],
      plain: readonly string[],
      plainValues: readonly Primitive[],
    ): string | undefined {
      return entering(unit, names, privates, sourceList, (before) => {
        const given = { removed, data, from, reasons, plain, plainValues }
        enteredRevision = { revision: environment.enterRevision(unit, given), names, before }
      })
    },
    /** The present revision again. Gives the names that code has changed meanwhile, or put data on: that is gone with the earlier one. */
    leaveRevision(): string[] {
      const { revision, names, before } = enteredRevision!
      const changed = changedDefinitions(revision.made)
      const undone = environment.leaveRevision(revision)
      for (let index = 0; index < undone.length; index++) changed[changed.length] = undone[index]!
      notePrivateNames(names, before)
      enteredRevision = undefined
      return changed
    },
    /** Keeps the result under a name that no code has; gives "function" or "object", or "" when it is neither and was not kept. */
    retainResult(as: string, functionsOnly: boolean): string {
      const value = resultOf(run)
      const isFunction = typeof value === "function"
      if (!isFunction && (functionsOnly || typeof value !== "object" || value === null)) return ""
      environment.setLocal(as, value, true)
      return isFunction ? "function" : "object"
    },
    /** Keeps what a name holds under one that no code has. */
    keep: (kept: string, as: string) => environment.setLocal(as, environment.read(kept), true),
    lose: (lost: string, reason: string) => environment.lose(lost, reason),
    setLast(which: "value" | "error", table: readonly Primitive[], chunks: readonly Uint8Array[]): void {
      try {
        const value = decodeValue(table, chunks, decodeHooks)
        if (which === "value") environment.lastValue = value
        else environment.lastError = value
      } catch {
        // `_` is a convenience: one that cannot be read back is undefined.
      }
    },
    /** The realm stands as its checkpoint says: what comes now is change. */
    ready: () => environment.settle(),
    /** Properties of the global object that code has added, replaced or taken away. */
    changedGlobals(): string[] {
      const changed: string[] = newList()
      let left = 0
      for (let at = 0; at < globalsAsMade.length; at += 2) {
        const key = globalsAsMade[at] as string | symbol
        const descriptor = descriptorOf(realmGlobal, key)
        if (descriptor !== undefined) left += 1
        const now = heldOf(descriptor)
        if (typeof key === "symbol" || isSame(now, globalsAsMade[at + 1]) || lazy.isAsMade(key, now)) continue
        if (now !== undefined && isSame(now, nodeGlobals[key])) continue
        changed[changed.length] = key
      }
      const keys = ownKeysOf(realmGlobal)
      for (let index = 0; index < keys.length && keys.length > left; index++) {
        const key = keys[index]!
        if (typeof key === "string" && isGlobalMade[key] !== true) changed[changed.length] = key
      }
      return changed
    },

    // Names

    kindOf: (wanted: string) => (changes.has(wanted) ? "readonly" : environment.kindOf(wanted)),
    names: () => environment.names(),

    takeReferenced(): string[] {
      const taken = referenced
      referenced = newList()
      return taken
    },

    // An eval

    /**
     * Runs a unit; true when it ended at once, false when its promise is pending. A nested one runs inside the one under way. `retained`: the
     * value that stands for its result. `callTable`: the arguments with which its result, which `called` names, is called.
     */
    start(
      unit: Unit,
      names: readonly string[],
      privates: readonly boolean[],
      sourceList: readonly Primitive[],
      isNested: boolean,
      called = "",
      callTable?: readonly Primitive[],
      callChunks?: readonly Uint8Array[],
      retained = "",
    ): boolean {
      if (isNested) arrayPush(around, run!)
      else {
        if (held.length > 0) held.length = 0
        exitSignal = undefined
        evalCount += 1
      }
      notePrivateNames(names, privates)
      adoptSources(unit.sites, sourceList)
      run = environment.start(unit, isNested)
      if (retained !== "") environment.giveRetained(run, retained)
      if (callTable !== undefined) {
        environment.callResult(run, called, decodeValue(callTable, callChunks!, decodeHooks) as unknown[])
      }
      if (run.state.how !== "running") return true
      run.ended = () => {
        bridge.call(opSettled)
      }
      return false
    },
    /** How the statements ended: "running", "ok" or "threw". */
    how: () => run?.state.how ?? "ok",
    /** Makes an uncaught error the eval's own. */
    uncaught,
    reached(): string[] {
      return run === undefined ? [] : environment.reachedDefinitions(run)
    },
    // The queue, as the worker folded it: applied in its order, before `finish`.
    clear: () => environment.clear(),
    put: (key: string, index: number) => environment.setLocal(key, held[index]),
    remove: (key: string) => environment.remove(key),
    /** Ends the eval. What changed, by kind; the lists are the environment's own. */
    finish,
    /** The same, for nearly every eval: gives the one name that was assigned, or "" for none. When there is more to tell, `finished` does. */
    finishShort(how: "ok" | "threw"): string | undefined {
      const { assigned, removed, definitions, rebuilt } = finish(how)
      if (assigned.length > 1 || removed.length > 0 || definitions.length > 0 || rebuilt.length > 0) return undefined
      return assigned.length === 0 ? "" : assigned[0]
    },
    finished: () => finished!,
    // Primitives other than symbols cross the bridge as they are, without a table: most bindings and results are such.
    isPrimitive: (wanted: string) => isPlainPrimitive(changeOrValue(wanted)),
    primitive: (wanted: string) => environment.read(wanted) as Primitive,
    isResultPrimitive: () => isPlainPrimitive(resultOf(run)),
    resultPrimitive: () => resultOf(run) as Primitive,
    locals(): string[] {
      const names: string[] = newList()
      environment.forEachLocal((found) => {
        names[names.length] = found
      })
      for (let index = 0; index < changes.names.length; index++) names[names.length] = changes.names[index]!
      return names
    },
    /** Moves the instances that locals hold of classes which this eval declared again; `undefined` when there was none. */
    moveInstances(): Moved | undefined {
      // Classes of the session may extend those of preludes.
      const redefinitions = preludes.takeRedefinitions(environment.takeRedefinitions())
      if (redefinitions.length === 0) return undefined
      const entries: { name: string; value: unknown }[] = []
      environment.forEachLocal((found, value) => arrayPush(entries, { name: found, value }))
      for (let index = 0; index < changes.names.length; index++) {
        arrayPush(entries, { name: changes.names[index]!, value: changes.read(changes.names[index]!) })
      }
      const { reached, ephemeral } = reachedFrom(entries, bindingHooks)
      const moved = moveInstances(redefinitions, reached, (binding) => {
        for (let at = 0; at < ephemeral.length; at++) if (ephemeral[at]!.name === binding) return true
        return false
      })
      if (moved.remade.length > 0) pairing = privatesPair(redefinitions)
      return moved
    },
    /** The instances that had to be made again were. */
    endMove(): void {
      pairing = undefined
      environment.settle()
    },
    /** Encodes these locals. */
    encode(names: readonly string[]) {
      const entries: { name: string; value: unknown }[] = []
      for (let index = 0; index < names.length; index++) {
        arrayPush(entries, { name: names[index]!, value: changeOrValue(names[index]!) })
      }
      return encodeBindings(entries, bindingHooks)
    },
    preview: (bytesMax: number) => {
      const { depthMax, itemsMax } = defaultPreviewLimits
      return preview(resultOf(run), { bytesMax, depthMax, itemsMax }, textOf)
    },
    encodeResult: (bytesMax: number) => encodeValue(resultOf(run), leavingHooks, bytesMax),
    encodeError: (bytesMax: number) => encodeValue(errorOf(run), encodeHooks, bytesMax, "describe"),
    describeError: () => errorToJson(describeError(errorOf(run), defaultErrorLimits, textOf)),
    describeOther,
    end(): void {
      if (around.length > 0) {
        run = around[around.length - 1]
        around.length -= 1
        return
      }
      run = undefined
      if (held.length > 0) held.length = 0
    },

    // What comes from outside

    fireTimer(timer: number): void {
      try {
        timers.fire(timer)
      } catch (error) {
        uncaught(error)
      }
    },
    forgetTimer: (timer: number) => timers.forget(timer),
    settleTool(
      callId: number,
      ok: boolean,
      table: readonly Primitive[] | undefined,
      chunks: readonly Uint8Array[] | undefined,
      kindOfError: string,
      message: string,
    ): void {
      let value: unknown = toolError(kindOfError, message)
      let isOk = ok
      if (table !== undefined && chunks !== undefined) {
        try {
          value = decodeValue(table, chunks, decodeHooks)
        } catch (error) {
          value = error
          isOk = false
        }
        if (!isOk && kindOfError !== "" && typeof value === "object" && value !== null) {
          defineOwn(value, "kind", {
            __proto__: null,
            value: kindOfError,
            configurable: true,
            writable: true,
          } as PropertyDescriptor)
        }
      }
      tools.settle(callId, isOk, value)
    },
    forgetTool: (callId: number) => tools.forget(callId),
  })
}

/** A name with its prelude in front. */
function isPreludeName(wanted: string): boolean {
  return stringIndexOf(wanted, ":") !== -1
}

/** Properties of an imported module that are looked at for functions. */
const exportsMax = 1_000

/** Code rather than data: a function, a namespace, or an object that holds functions. */
function isInterface(value: unknown): value is object {
  if (typeof value === "function") return !isRecordedProxy(value)
  if (typeof value !== "object" || value === null || isRecordedProxy(value)) return false
  if (prototypeOf(value) === null && descriptorOf(value, toStringTag)?.value === "Module") return true
  const keys = ownKeysOf(value)
  if (keys.length > exportsMax) return false
  for (let index = 0; index < keys.length; index++)
    if (typeof dataProperty(value, keys[index]!) === "function") return true
  return false
}

/** A property that is data; of an export that is not initialised yet there is none. */
function dataProperty(object: unknown, key: PropertyKey): unknown {
  if ((typeof object !== "object" && typeof object !== "function") || object === null) return undefined
  try {
    return descriptorOf(object, key)?.value
  } catch {
    return undefined
  }
}

function newListOf(path: readonly string[], key: string): string[] {
  const list: string[] = newList()
  for (let index = 0; index < path.length; index++) list[index] = path[index]!
  list[list.length] = key
  return list
}

function joinPath(path: readonly string[]): string {
  let text = path[0]!
  for (let index = 1; index < path.length; index++) text += `/${path[index]!}`
  return text
}

/** What a property holds, be it a value or a getter. */
function heldOf(descriptor: PropertyDescriptor | undefined): unknown {
  return descriptor === undefined ? undefined : (descriptor.get ?? (descriptor.value as unknown))
}

function isPlainPrimitive(value: unknown): boolean {
  return value === null || (typeof value !== "object" && typeof value !== "function" && typeof value !== "symbol")
}

/** Whether such properties have an object beside the prototype, which comes first. Most definitions are functions that have none. */
function holdsObjects(properties: MadeProperties): boolean {
  for (let index = 1; index < properties.length; index++) {
    const value = properties[index]
    if (typeof value === "function" || (typeof value === "object" && value !== null)) return true
  }
  return false
}

/** As a process would report it: a number that is no code is a failure. */
function exitCodeOf(code: unknown): number {
  if (typeof code !== "number") return 0
  return code === mathTrunc(code) && code >= -2147483648 && code <= 4294967295 ? code : 1
}

function isNativeError(value: unknown): boolean {
  return typeof value === "object" && value !== null && brandOf(value) === "error"
}

function beforeColon(text: string): string {
  const at = stringIndexOf(text, ":")
  return at === -1 ? text : stringSlice(text, 0, at)
}

function afterColon(text: string): string {
  const at = stringIndexOf(text, ":")
  return at === -1 ? "" : stringSlice(text, at + 1)
}

function splitNames(text: string): string[] {
  const names: string[] = newList()
  let name = ""
  for (let at = 0; at < text.length; at++) {
    if (text[at] !== ",") name += text[at]!
    else {
      names[names.length] = name
      name = ""
    }
  }
  if (name !== "") names[names.length] = name
  return names
}

/** What went wrong with our own work on a session's values, in a line. */
function textOfFailure(error: unknown): string {
  return preview(error, { bytesMax: 1_000, depthMax: 1, itemsMax: 10 }).text
}

function resultOf(run: Run | undefined): unknown {
  return run?.state.how === "ok" ? run.state.value : undefined
}

function errorOf(run: Run | undefined): unknown {
  return run?.state.how === "threw" ? run.state.error : undefined
}

/** Items of a list of sources for each one. */
const sourceFacts = 7

function sourceRecord(facts: readonly Primitive[], at: number): SourceRecord {
  return {
    __proto__: null,
    id: facts[at] as string,
    source: facts[at + 1] as string,
    cells: facts[at + 2] as string,
    roots: facts[at + 3] as string,
    file: facts[at + 4] as string,
    line: facts[at + 5] as number,
    column: facts[at + 6] as number,
  } as SourceRecord
}

/** Objects that a definition's own text made, in an order that depends on that text alone. Other definitions are left out. */
function membersOf(value: object, isOther: (object: object) => boolean, facts?: CodeObject[]): object[] {
  const found: object[] = newList()
  const open: object[] = newList()
  open[0] = value
  const add = (from: number, key: string | symbol, member: unknown): void => {
    if (!addMember(found, open, member, isOther) || facts === undefined) return
    facts[facts.length] = { object: member, parent: from, step: pathStep(key), made: propertiesOf(member) }
  }
  for (let next = 0; next < open.length; next++) {
    const object = open[next]!
    const keys = ownKeysOf(object)
    for (let index = 0; index < keys.length; index++) {
      const key = keys[index]!
      const descriptor = descriptorOf(object, key)
      if (descriptor === undefined || key === "constructor") continue
      add(next, key, descriptor.get)
      add(next, key, descriptor.set)
      add(next, key, descriptor.value)
    }
  }
  return found
}

function addMember(
  found: object[],
  open: object[],
  value: unknown,
  isOther: (object: object) => boolean,
): value is object {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return false
  if (isRecordedProxy(value) || isOther(value)) return false
  for (let index = 0; index < open.length; index++) if (open[index] === value) return false
  found[found.length] = value
  open[open.length] = value
  return true
}

/** Where in a definition its object of that index is: `api.list[0]`. */
function wayTo(list: readonly CodeObject[], index: number): string {
  let path = ""
  for (let at = index; at >= 0; at = list[at]!.parent) path = list[at]!.step + path
  return path
}

/** Records of changes to code are named like that; no identifier is. */
function isChangeName(name: string): boolean {
  return stringIndexOf(name, ".") !== -1 || stringIndexOf(name, "[") !== -1
}

/** Whether what is found under this name has properties that other built-ins are reached by: classes, prototypes, namespaces. */
function mayOwnBuiltIns(name: string): boolean {
  let word = 0
  for (let at = name.length - 1; at >= 0; at--) {
    if (name[at] !== "." && name[at] !== " ") continue
    word = at + 1
    break
  }
  const code = stringCodeAt(name, word)
  return (code >= 65 && code <= 90) || stringIndexOf(name, "prototype") === name.length - 9 || name === "globalThis"
}
