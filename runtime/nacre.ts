// One running system inside an embedder's process. The whole tree, in one place:
//
//   root (one_for_one)
//   ├ hosts     (one_for_one)  host-1 … host-N, one of them a warm spare; more while a group of its own needs them
//   ├ checker   (one_for_one)  the process that knows types; only once something has been checked
//   └ sessions  (one_for_one)  one shell per active session, temporary: the next message starts a fresh one on the same state
//
// Stopping goes the other way: sessions are drained and stopped first, then hosts. When the root gives up (hosts that cannot be kept
// running), every eval has its outcome and the nacre refuses everything with `nacre_failed`.
import { statSync } from "node:fs"
import { resolve as resolvePath } from "node:path"
import { inspect } from "node:util"
import { nanoid } from "nanoid"
import { printTree, startSupervisor, treeOf } from "../supervisor/index.ts"
import type { ChildSpec, ProcessLike, Report, Supervisor, SupervisorSpec, TreeNode } from "../supervisor/index.ts"
import { Checker } from "./checker/checker.ts"
import { systemClock } from "./clock.ts"
import type { Clock } from "./clock.ts"
import { NacreError, assert, messageOf } from "./errors.ts"
import { EventLog } from "./events.ts"
import type { AttachOptions, Attachment, EventListener, NacreHappening } from "./events.ts"
import { bubblewrapModes, Confinements, findBubblewrap } from "./host/confinement.ts"
import type { BubblewrapMode, Confinement } from "./host/confinement.ts"
import { Host } from "./host/host.ts"
import type { HostEnd, SyncAnswer, SyncCall } from "./host/host.ts"
import { Listener } from "./host/listener.ts"
import { Scheduler } from "./host/scheduler.ts"
import { checkMilliseconds, expectOption, refuseUnknown, resolveHosts, resolveLimits } from "./options.ts"
import type { HostOptions, Limits } from "./options.ts"
import { jsxOf, jsxProblem } from "./language/jsx-option.ts"
import type { JsxOptions } from "./language/jsx-option.ts"
import { profileNamed, resolveProfiles } from "./profile.ts"
import type { Profile, ProfileOptions } from "./profile.ts"
import { Session, sessionKinds } from "./session/session.ts"
import type { SessionContext, SessionFacts, SessionKind } from "./session/session.ts"
import type { SessionState } from "./session/state.ts"
import { ToolSet } from "./session/tools.ts"
import type { TypedTool } from "./session/tools.ts"
import type { Tool } from "./shell/tool-calls.ts"
import { isPlainValue } from "./wire/check.ts"
import { sessionKey } from "./shell/tool-calls.ts"
import { tryPreludes } from "./shell/prelude-trial.ts"
import { Versions } from "./workspace/committed.ts"
import { WorkspaceGlobals } from "./workspace/globals.ts"
import { noPreludes } from "./workspace/preludes.ts"
import type { LoadedPrelude, PreludeOptions, Trial } from "./workspace/preludes.ts"
import type { OnChange } from "./session/code-changes.ts"
import { Workspace } from "./workspace/workspace.ts"

export interface NacreOptions {
  hosts?: Partial<HostOptions>
  limits?: Partial<Limits>
  /** Functions that session code may call as `tools.name(…)`, with their types where they are given. */
  tools?: Record<string, Tool | TypedTool>
  /** Gives session code the capability to change its own definitions, and is asked each time. Without it: `capability_denied`. */
  onChange?: OnChange
  /** The profile of sessions that are opened without one; hosts stand ready for it. Default "standard". */
  profile?: ProfileName
  /** Profiles besides `minimal`, `standard` and `full`, by name. */
  profiles?: Record<string, ProfileOptions>
  /**
   * Whether hosts of confined profiles run under bubblewrap: "auto", the default, where it is installed and works; "require", or else `start`
   * fails with `host_unavailable`; "off". Profiles with `process`, such as `full`, are not confined.
   */
  bubblewrap?: BubblewrapMode
  /** The `directory` of sessions that are opened without one. Default: the working directory. */
  directory?: string
  /** Loaded before `start` resolves, in this order; each names its workspace. See `loadPrelude`. */
  preludes?: readonly PreludeOptions[]
  /** Receives every event; must not throw. */
  onEvent?: EventListener
}

/** What session code may call: the language, the web's basics, all that Node has, or what one of `NacreOptions.profiles` says. */
export type ProfileName = "minimal" | "standard" | "full" | (string & {})

export interface OpenOptions {
  /** Default: a fresh unguessable one. The id of a live session gives that session. */
  id?: string
  kind?: SessionKind
  /** What it shares globals and a transcript with, and whose sessions it sees. Default "main"; made at its first use. */
  workspace?: string
  /** Fixed from then on, as the other options are; see `restart`. */
  profile?: ProfileName
  /** Closes the live session of that id first, with all it holds, and opens it anew: also with another profile. */
  restart?: boolean
  /** Where what its code imports is looked for from: an absolute path, or one from the working directory, which is the default. */
  directory?: string
  /**
   * Lets its code hold JSX, and says what that is turned into: by the classic runtime calls of `factory` ("React.createElement") and `fragment`
   * ("React.Fragment"), by the automatic one those of `importSource` ("react"), whose `jsx-runtime` is imported. Default: JSX is refused.
   */
  jsx?: JsxOptions
  /** On whose behalf it runs; given to tools. */
  principal?: string
  /** Besides the nacre's own; the same name replaces. */
  tools?: Record<string, Tool | TypedTool>
  /** Instead of the nacre's own. */
  onChange?: OnChange
  /** `process`: a host of its own, which no other session's code can take down. */
  isolation?: "shared" | "process"
  /**
   * What is checked before code runs or definitions change, unless the call says otherwise. By default evals are checked for syntax, and changes
   * (`submit`, `proposeChange`, `wrapBinding`) for types. With "types" an eval with type mistakes does not run.
   */
  check?: "types" | "syntax"
  /**
   * When values are committed. "eval", the default: before the outcome. "idle": those that share more than 1 MiB, with all that may hang together with
   * them, when no eval of the session waits, or after a second; the outcome names them as `pending`, and an event `bindings.changed` follows. Should
   * the process end before that, they are back to what was committed of them before, and the next outcome says so.
   */
  commit?: "eval" | "idle"
  evalTimeoutMs?: number
  /** Milliseconds without an eval after which it is closed. Default: never. */
  idleMs?: number
  /** Milliseconds after its last client has gone (`session.attachClient`) in which another may come, before it is closed. Default: it stays. */
  graceMs?: number
}

const nacreOptionNames: readonly (keyof NacreOptions)[] = [
  "hosts",
  "limits",
  "tools",
  "onChange",
  "profile",
  "profiles",
  "bubblewrap",
  "directory",
  "preludes",
  "onEvent",
]
const openOptionNames: readonly (keyof OpenOptions)[] = [
  "id",
  "kind",
  "workspace",
  "profile",
  "restart",
  "directory",
  "jsx",
  "principal",
  "tools",
  "onChange",
  "isolation",
  "check",
  "evalTimeoutMs",
  "idleMs",
  "graceMs",
  "commit",
]

const mainWorkspace = "main"
/** Restarts of hosts within ten seconds before the tree gives up: far above what drills do, far below a spin. */
const hostRestarts = { intensity: 1_000, periodMs: 10_000 }
/** Restarts of the checker: its backoff allows ten in ten seconds, so the nacre never gives up for it; who asks is told. */
const checkerRestarts = { intensity: 100, periodMs: 10_000 }
/** Time between looks at idle sessions and realms. */
const idleSweepMs = 5_000
/** Milliseconds after its last eval that an idle session's shell is kept. */
const shellIdleMs = 60_000
const hostStopMs = 2_000
/** Start limits of a host after which `Nacre.start` gives up: one may be slow on a machine that has just come up, two are not. */
const hostStartsAwaited = 2

/** What `start` has made ready before there is a nacre. */
interface Prepared {
  readonly listener: Listener
  readonly hosts: HostOptions
  readonly limits: Limits
  readonly bubblewrap: { path: string } | { reason: string }
}

export class Nacre {
  readonly id = `ncr_${nanoid(12)}`
  readonly limits: Limits
  readonly hosts: HostOptions
  readonly #clock: Clock = systemClock
  readonly #listener: Listener
  readonly #scheduler: Scheduler
  readonly #tools: ToolSet
  readonly #onChange: OnChange | undefined
  readonly #directory: string
  readonly #profile: Profile
  readonly #profiles: ReadonlyMap<string, Profile>
  readonly #confinements: Confinements
  /** Of the group's hosts, while it has sessions. */
  readonly #groupKinds = new Map<string, string>()
  /** The bubblewrap that confined hosts run under, or why there is none. */
  readonly bubblewrap: { path: string } | { reason: string }
  readonly #events: EventLog
  readonly #workspaces = new Map<string, Workspace>()
  readonly #versions = new Versions()
  readonly #checker: Checker
  readonly #livingHosts = new Set<Host>()
  readonly #active = new Set<Session>()
  readonly #context: SessionContext
  readonly #evalPrefix = `evl_${nanoid(10)}_`
  readonly #startingHosts = new Set<Host>()
  readonly #supervisors = new Map<"hosts" | "sessions", Supervisor>()
  #evals = 0
  #preludeSets = 0
  #sessionCount = 0
  /** Sessions by the group of hosts they run on. */
  readonly #groupSizes = new Map<string, number>()
  #hostNumber = 0
  #lastLoss = "none did"
  #root: Supervisor | undefined
  #state: "running" | "stopping" | "stopped" | "failed" = "running"
  #stopping: Promise<void> | undefined
  #cancelIdleSweep: () => void = () => {}
  #firstHost: { resolve: () => void; reject: (error: Error) => void } | undefined

  private constructor(
    { listener, hosts, limits, bubblewrap }: Prepared,
    profiles: ReadonlyMap<string, Profile>,
    options: NacreOptions,
  ) {
    this.#listener = listener
    this.bubblewrap = bubblewrap
    this.#profiles = profiles
    this.#confinements = new Confinements(listener.folder, "path" in bubblewrap ? bubblewrap.path : undefined)
    this.hosts = hosts
    this.limits = limits
    this.#tools = ToolSet.of(options.tools)
    this.#onChange = checkOnChange(options.onChange)
    this.#directory = directoryOf(options.directory)
    this.#profile = profileNamed(profiles, options.profile ?? "standard")
    const { kind: mainKind } = this.#confinements.of(this.#profile)
    const mainGroup = groupOf(mainWorkspace, this.#profile.name)
    this.#events = new EventLog((error) => {
      process.emitWarning(`An event listener of nacre ${this.id} threw: ${messageOf(error)}`)
    })
    if (options.onEvent !== undefined) this.#events.attach(options.onEvent)
    this.#scheduler = new Scheduler(
      {
        clock: this.#clock,
        limits,
        hosts,
        listener,
        mainGroup,
        kindOf: (group) => this.#groupKinds.get(group) ?? mainKind,
      },
      {
        onHostWanted: () => this.#considerHost(),
        onHostRetired: (host) => void host.stop(hostStopMs),
        onStray: (group, session, evalId, text) =>
          this.#emit({ type: "session.stray", session, workspace: workspaceOf(group), evalId, text }),
      },
    )
    this.#checker = new Checker({
      clock: this.#clock,
      limits,
      emit: (event) => this.#emit(event),
      supervise: (start) => this.#startChecker(start),
    })
    this.#context = {
      scheduler: this.#scheduler,
      limits,
      clock: this.#clock,
      emit: (event) => this.#emit(event),
      globalNamesOf: (workspace) => this.#workspaces.get(workspace)?.globals.names() ?? [],
      preludesOf: (workspace) => this.#workspaces.get(workspace)?.preludes.current ?? noPreludes,
      preludeTextsOf: (workspace, profile) => this.#workspaces.get(workspace)?.preludes.texts(profile) ?? [],
      checker: this.#checker,
      generationOf: (workspace) => this.#workspaces.get(workspace)?.globals.generation ?? 0,
      nextEvalId: () => this.#evalPrefix + (++this.#evals).toString(36),
      startShell: (session, start) => this.#startShell(session, start),
      onClosed: (session) => this.#onClosed(session),
      fork: (session, state) => this.#fork(session, state),
      checkRunning: () => this.#checkRunning(),
    }
  }

  /** Starts hosts and resolves when the first one can run code. Rejects with `invalid_options` or `host_unavailable`. */
  static async start(options: NacreOptions = {}): Promise<Nacre> {
    refuseUnknown("start", options, nacreOptionNames)
    const hosts = resolveHosts(options.hosts)
    const limits = resolveLimits(options.limits)
    // All that the constructor refuses, too: what is opened from here on would keep the process alive.
    ToolSet.of(options.tools)
    checkOnChange(options.onChange)
    const profiles = resolveProfiles(options.profiles, directoryOf(options.directory))
    profileNamed(profiles, options.profile ?? "standard")
    const { bubblewrap: mode = "auto" } = options
    expectOption(bubblewrapModes.includes(mode), "bubblewrap", `one of ${bubblewrapModes.join(", ")}`, mode)
    const { onEvent, preludes = [] } = options
    expectOption(Array.isArray(preludes), "preludes", "a list of what loadPrelude takes", preludes)
    expectOption(onEvent === undefined || typeof onEvent === "function", "onEvent", "a function", onEvent)
    const bubblewrap = mode === "off" ? { reason: "it is off" } : await findBubblewrap()
    if (mode === "require" && "reason" in bubblewrap) {
      const message = `Bubblewrap is required and cannot be used: ${bubblewrap.reason}. Install it, allow user namespaces, or start with bubblewrap: "auto".`
      throw new NacreError("host_unavailable", message)
    }
    const nacre = new Nacre({ listener: await Listener.open(), hosts, limits, bubblewrap }, profiles, options)
    const firstHost = new Promise<void>((resolve, reject) => {
      nacre.#firstHost = { resolve, reject }
    })
    // The tree may fail before anyone waits for this.
    firstHost.catch(() => {})
    // Hosts are restarted for as long as the tree allows; the caller of `start` is told sooner.
    const cancel = nacre.#clock.after(limits.hostStartTimeoutMs * hostStartsAwaited, () => {
      const message = `No host became ready within ${limits.hostStartTimeoutMs * hostStartsAwaited} ms (the last one ended: ${nacre.#lastLoss}); see the host.lost events.`
      nacre.#firstHost?.reject(new NacreError("host_unavailable", message))
    })
    try {
      await nacre.#startTree()
      await firstHost
      for (const prelude of preludes) await nacre.loadPrelude(prelude)
    } catch (error) {
      await nacre.stop()
      throw error
    } finally {
      cancel()
    }
    nacre.#sweepIdle()
    return nacre
  }

  /** Opens a session, or gives the live one of that id. Opening starts nothing: its first eval does. */
  async open(options: OpenOptions = {}): Promise<Session> {
    this.#checkRunning()
    const facts = this.#factsOf(options)
    const known = (): Session | undefined => this.#workspaces.get(facts.workspace)?.sessions.get(facts.id)
    // One that is being closed is no longer alive, and its id is free when it has gone.
    for (let closing = known(); closing?.isClosed === true; closing = known()) {
      await closing.close()
      this.#checkRunning()
    }
    let live = known()
    // Whoever closes it meanwhile, or opens it anew, came first.
    while (options.restart === true && live !== undefined) {
      await live.close()
      this.#checkRunning()
      live = known()
    }
    if (live !== undefined) {
      this.#refuseConflicts(live, options, facts)
      return live
    }
    return this.#add(facts)
  }

  #fork({ facts, group }: Session, state: SessionState): Session {
    this.#checkRunning()
    const id = newSessionId()
    // A session with a host of its own shares that with nobody, its fork included.
    return this.#add({ ...facts, id, group: isOwnGroup(group) ? ownGroup(facts.workspace, id) : group }, state)
  }

  /** What a session was opened with is fixed: asking for something else must not silently give what is there. */
  #refuseConflicts(live: Session, options: OpenOptions, facts: SessionFacts): void {
    const fixed = [
      "profile",
      "directory",
      "kind",
      "principal",
      "evalTimeoutMs",
      "idleMs",
      "graceMs",
      "check",
      "commit",
    ] as const
    const name =
      fixed.find((it) => options[it] !== undefined && live.facts[it] !== facts[it]) ??
      (options.jsx !== undefined && JSON.stringify(live.facts.jsx) !== JSON.stringify(facts.jsx) ? "jsx" : undefined) ??
      (options.isolation !== undefined && live.facts.group !== facts.group ? "isolation" : undefined) ??
      (options.tools === undefined ? undefined : "tools") ??
      (options.onChange === undefined || options.onChange === live.facts.onChange ? undefined : "onChange")
    if (name === undefined) return
    const message = `Session '${live.id}' is open and its ${name} is fixed; leave ${name} out, open it with restart: true, which ends what it is, or open another id.`
    throw new NacreError("profile_conflict", message)
  }

  /** The live session of that id in that workspace. */
  session(id: string, workspace = mainWorkspace): Session | undefined {
    const session = this.#workspaces.get(workspace)?.sessions.get(id)
    return session?.isClosed === true ? undefined : session
  }

  /** The live sessions of one workspace, or of all. */
  sessions(workspace?: string): Session[] {
    return this.#registered(workspace).filter((it) => !it.isClosed)
  }

  /** As `sessions`, with those that are being closed. */
  #registered(workspace?: string): Session[] {
    const found = workspace === undefined ? [...this.#workspaces.values()] : [this.#workspaces.get(workspace)]
    return found.flatMap((it) => (it === undefined ? [] : [...it.sessions.values()]))
  }

  /** What the sessions of a workspace share by name. It is live, and stays usable while the workspace comes and goes. */
  globals(workspace = mainWorkspace): WorkspaceGlobals {
    checkWorkspace(workspace)
    return new WorkspaceGlobals(
      () => this.#workspaces.get(workspace)?.globals,
      async (name, bytes) => {
        this.#checkRunning()
        await this.#workspace(workspace).bind(name, bytes)
      },
      async (name) => {
        this.#checkRunning()
        await this.#workspace(workspace).unbind(name)
        this.#forgetIfEmpty(workspace)
      },
    )
  }

  /**
   * Loads a prelude into a workspace, or one in the place of that of the same name: a text that every realm of the workspace's sessions evaluates first,
   * and whose exports are known in them by bare name, after their own bindings and the workspace's globals. Sessions see it from their next eval on;
   * evals under way stay with what there was. Instances in bindings move to the classes of the new text.
   *
   * It is evaluated once before, in a realm that is thrown away, for at most `limits.changeTimeoutMs`. Rejects with `prelude_invalid` when it cannot be loaded,
   * `name_conflict` for a name that means something in every session or that another prelude exports, `invalid_options`, `source_too_large`,
   * `host_unavailable`; nothing has changed then.
   */
  async loadPrelude(options: PreludeOptions): Promise<LoadedPrelude> {
    this.#checkRunning()
    const name = workspaceOption(options)
    const workspace = this.#workspace(name)
    try {
      const loaded = await workspace.preludes.load(options, this.#directory, this.#trial(name))
      this.#emit({
        type: "preludes.changed",
        workspace: name,
        prelude: loaded.name,
        exports: loaded.exports,
        isRemoved: false,
      })
      return loaded
    } finally {
      this.#forgetIfEmpty(name)
    }
  }

  /**
   * Takes a prelude out of a workspace; false when it has none of that name. Instances of its classes stay what they are. Rejects with `prelude_invalid` when
   * another prelude cannot be loaded without it.
   */
  async removePrelude(prelude: string, workspace = mainWorkspace): Promise<boolean> {
    this.#checkRunning()
    checkWorkspace(workspace)
    const exports = await this.#workspaces.get(workspace)?.preludes.remove(prelude, this.#trial(workspace))
    if (exports === undefined) return false
    this.#emit({ type: "preludes.changed", workspace, prelude, exports, isRemoved: true })
    this.#forgetIfEmpty(workspace)
    return true
  }

  /** The preludes of a workspace, in the order in which they are evaluated. */
  preludes(workspace = mainWorkspace): LoadedPrelude[] {
    checkWorkspace(workspace)
    return this.#workspaces.get(workspace)?.preludes.list() ?? []
  }

  /** Evaluates preludes in a realm that is thrown away. */
  #trial(workspace: string): Trial {
    return async (preludes, hasImports) => {
      this.#checkRunning()
      const profile = hasImports ? profileNamed(this.#profiles, "full") : this.#profile
      const group = groupOf(workspace, profile.name)
      this.#joinGroup(group, profile)
      try {
        return await tryPreludes(this.#scheduler, { group, profile, preludes, directory: this.#directory }, this.limits)
      } finally {
        this.#leaveGroup(group)
      }
    }
  }

  /**
   * Calls `listener` with every event from now on and, given `since`, first with those after that number. The last thousand are kept; when
   * some of the asked ones are gone, `isComplete` is false.
   */
  attach(listener: EventListener, options: AttachOptions = {}): Attachment {
    expectOption(typeof listener === "function", "A listener", "a function", listener)
    refuseUnknown("attach", options, ["since", "workspace", "session"] satisfies (keyof AttachOptions)[])
    const { since, workspace, session } = options
    const isNumber = since === undefined || (Number.isSafeInteger(since) && since >= 0)
    expectOption(isNumber, "since", "a number that an event had", since)
    expectOption(workspace === undefined || typeof workspace === "string", "workspace", "a string", workspace)
    expectOption(session === undefined || typeof session === "string", "session", "a string", session)
    return this.#events.attach(listener, options)
  }

  /** Internal: types of sessions' code. */
  get checker(): Checker {
    return this.#checker
  }

  /** The supervision tree as data and as text, as it is now. */
  tree(): { root: TreeNode | undefined; text: string } {
    const root = this.#root
    if (root === undefined) return { root: undefined, text: "" }
    return { root: treeOf(root), text: printTree(root) }
  }

  /** What runs where: hosts, their process ids, their workers and what these do. */
  placement(): ReturnType<Scheduler["describe"]> {
    return this.#scheduler.describe()
  }

  /** Refuses new work, lets evals under way finish for `drainMs`, interrupts the rest, stops everything. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }

  async #stop(): Promise<void> {
    const hasFailed = this.#state === "failed"
    if (!hasFailed) this.#state = "stopping"
    this.#cancelIdleSweep()
    const deadline = this.#clock.now() + (hasFailed ? 0 : this.limits.drainMs)
    while ([...this.#active].some((session) => !session.isIdle) && this.#clock.now() < deadline) {
      await new Promise<void>((resolve) => setTimeout(resolve, 5))
    }
    await Promise.all([...this.#active].map((session) => session.close()))
    for (const session of this.#registered()) await session.close()
    this.#checker.stop()
    if (this.#root !== undefined && !hasFailed) await this.#root.stop()
    this.#scheduler.dispose()
    await this.#listener.close()
    if (!hasFailed) this.#state = "stopped"
  }

  // The tree

  async #startTree(): Promise<void> {
    const count = this.hosts.min + 1
    const main = this.#confinements.of(this.#profile)
    const hosts = Array.from({ length: count }, () => this.#hostSpec("permanent", main))
    this.#root = await startSupervisor(
      {
        strategy: "one_for_one",
        intensity: 0,
        children: [
          this.#supervisorSpec("hosts", { ...hostRestarts, children: hosts }),
          this.#supervisorSpec("sessions", {}),
        ],
      },
      { name: "nacre", onReport: (report) => this.#onReport(report) },
    )
  }

  /** The checker's part of the tree, made at the first check. */
  async #startChecker(start: () => ProcessLike): Promise<void> {
    assert(this.#root !== undefined, "something is checked before the tree has started")
    const process: ChildSpec = {
      id: "types",
      shutdown: hostStopMs + 1_000,
      backoff: { minMs: 10, maxMs: 1_000 },
      start,
    }
    const answer = await this.#root.startChild({
      id: "checker",
      type: "supervisor",
      start: (context) => startSupervisor({ ...checkerRestarts, children: [process] }, context),
    })
    if (!answer.ok) throw new NacreError("internal", "The checker could not be supervised.", { cause: answer })
  }

  #supervisorSpec(id: "hosts" | "sessions", spec: SupervisorSpec): ChildSpec {
    return {
      id,
      type: "supervisor",
      start: async (context) => {
        const supervisor = await startSupervisor(spec, context)
        this.#supervisors.set(id, supervisor)
        return supervisor
      },
    }
  }

  #supervisor(id: "hosts" | "sessions"): Supervisor {
    const supervisor = this.#supervisors.get(id)
    assert(supervisor !== undefined, `the ${id} supervisor has not been started`)
    return supervisor
  }

  #hostSpec(restart: ChildSpec["restart"], confinement: Confinement): ChildSpec {
    return {
      id: `host-${++this.#hostNumber}`,
      restart: restart!,
      shutdown: hostStopMs + 1_000,
      backoff: { minMs: 10, maxMs: 1_000 },
      start: () => this.#startHost(confinement),
    }
  }

  #startHost(confinement: Confinement): ProcessLike {
    let onExit: ((reason: string) => void) | undefined
    const host: Host = new Host(
      { clock: this.#clock, listener: this.#listener, hosts: this.hosts, limits: this.limits, confinement },
      {
        onSyncCall: (call) => this.#onSyncCall(host, call),
        onWorkerGone: (worker, lost) => this.#scheduler.onWorkerGone(host, worker, lost),
        onFrames: (worker, frames) => this.#scheduler.onFrames(host, worker, frames),
        onMemory: (rssBytes) => this.#scheduler.onMemory(host, rssBytes),
        onExit: (end: HostEnd) => {
          this.#startingHosts.delete(host)
          this.#livingHosts.delete(host)
          this.#scheduler.onHostExit(host, end)
          this.#lastLoss = end.because
          this.#emit({ type: "host.lost", host: host.id, pid: host.pid, because: end.because })
          onExit?.(end.because === "stopped" ? "shutdown" : end.because)
        },
      },
    )
    this.#startingHosts.add(host)
    host.ready.then(
      () => {
        this.#startingHosts.delete(host)
        this.#emit({ type: "host.started", host: host.id, pid: host.pid })
        this.#livingHosts.add(host)
        this.#scheduler.addHost(host)
        this.#firstHost?.resolve()
      },
      () => {
        // Its end is reported by onExit.
      },
    )
    return {
      stop: () => void host.stop(hostStopMs),
      kill: () => host.kill("killed"),
      onExit: (listener) => {
        onExit = listener
      },
      describe: () => `pid ${host.pid}`,
    }
  }

  /** A host more, when none is on its way and the maximum allows it. Asked in the next turn: a restart may be about to cover it. */
  #considerHost(): void {
    this.#clock.after(0, () => {
      if (this.#state !== "running" || this.#startingHosts.size > 0) return
      const { wantedKind, hostCount, idleSpares } = this.#scheduler
      if (wantedKind === undefined) return
      // A spare of another kind is of no use to who waits, and must not stand in its way.
      if (hostCount - idleSpares > this.hosts.max) return this.#scheduler.reclaim()
      void this.#supervisor("hosts").startChild(this.#hostSpec("temporary", this.#confinements.ofKind(wantedKind)))
    })
  }

  async #startShell(
    session: Session,
    start: Parameters<SessionContext["startShell"]>[1],
  ): ReturnType<SessionContext["startShell"]> {
    const id = childId(session)
    // From now on: whoever stops everything waits for what this session has accepted.
    this.#active.add(session)
    const answer = await this.#supervisor("sessions").startChild({ id, restart: "temporary", start })
    if (!answer.ok || answer.process === undefined) {
      this.#active.delete(session)
      throw new NacreError("internal", `The shell of session '${id}' could not be started.`, { cause: answer })
    }
    return answer.process
  }

  #onReport(report: Report): void {
    if (report.event === "supervisor.gaveUp") this.#fail()
  }

  #fail(): void {
    if (this.#state !== "running") return
    this.#state = "failed"
    const error = new NacreError("nacre_failed", "Hosts could not be kept running; see the host.lost events for why.")
    this.#firstHost?.reject(error)
    void this.stop()
  }

  // Sessions

  #add(facts: SessionFacts, state?: SessionState): Session {
    if (this.#sessionCount >= this.limits.sessionsMax) {
      const message = `This nacre has ${this.#sessionCount} sessions, its maximum; close some, or raise limits.sessionsMax.`
      throw new NacreError("session_limit", message)
    }
    const session = new Session(facts, this.#context, state)
    const { id, workspace } = facts
    this.#workspace(workspace).sessions.set(id, session)
    this.#sessionCount += 1
    this.#joinGroup(facts.group, facts.grants)
    // One that is never used expires too.
    if (facts.idleMs !== undefined) this.#active.add(session)
    this.#emit({ type: "session.opened", session: id, workspace })
    return session
  }

  #onClosed(session: Session): void {
    this.#active.delete(session)
    const { id, workspace, group } = session
    if (this.#workspaces.get(workspace)?.sessions.delete(id) === true) {
      this.#sessionCount -= 1
      this.#emit({ type: "session.closed", session: id, workspace })
      this.#leaveGroup(group)
    }
    this.#forgetIfEmpty(workspace)
  }

  // Workspaces

  #workspace(name: string): Workspace {
    let workspace = this.#workspaces.get(name)
    if (workspace !== undefined) return workspace
    workspace = new Workspace(name, {
      emit: (happening) => this.#emit(happening),
      hostsOf: (wanted) => [...this.#livingHosts].filter((host) => this.#serves(host) === wanted),
      versions: this.#versions,
      nextPreludes: () => ++this.#preludeSets,
    })
    this.#workspaces.set(name, workspace)
    return workspace
  }

  #forgetIfEmpty(name: string): void {
    const workspace = this.#workspaces.get(name)
    // Its generation must go on from where it is while any host knows it.
    if (workspace?.isEmpty === true && workspace.globals.generation === 0) this.#workspaces.delete(name)
  }

  /** The workspace whose code a host runs. */
  #serves(host: Host): string | undefined {
    const group = this.#scheduler.groupOf(host)
    return group === undefined ? undefined : workspaceOf(group)
  }

  /** Code of one workspace is answered by that one, whatever its host says; and only while its eval is under way. */
  #onSyncCall(host: Host, call: SyncCall): SyncAnswer | Promise<SyncAnswer> {
    const workspace = this.#workspaces.get(this.#serves(host) ?? "")
    const session = workspace?.sessions.get(call.session)
    const shell = session?.shell
    const ended = { ok: false, kind: "eval_ended", message: `Eval ${call.evalId} has ended.` }
    if (workspace === undefined || session === undefined || shell === undefined) return ended
    if (session.group !== this.#scheduler.groupOf(host)) return ended
    const { op } = call
    if (op === "atPut" || op === "removeKey" || op === "clear" || op === "cancel") return shell.onSyncCall(call)
    const changes = op === "bind" || op === "unbind" || op === "show"
    return shell.admits(call.evalId, changes) ? workspace.answer(session, call, op) : ended
  }

  #factsOf(options: OpenOptions): SessionFacts {
    refuseUnknown("open", options, openOptionNames)
    const {
      kind = "unknown",
      workspace = mainWorkspace,
      profile = this.#profile.name,
      restart,
      isolation = "shared",
      check,
    } = options
    checkWorkspace(workspace)
    const id = options.id ?? newSessionId()
    if (typeof id !== "string" || id === "" || id.length > 256 || !isPlainValue(id)) {
      throw new NacreError("invalid_options", "A session's id must be a well-formed string of 1 to 256 characters.")
    }
    expectOption(sessionKinds.includes(kind), "kind", `one of ${sessionKinds.join(", ")}`, kind)
    const grants = profileNamed(this.#profiles, profile)
    expectOption(restart === undefined || typeof restart === "boolean", "restart", "true or false", restart)
    const directory = options.directory === undefined ? this.#directory : directoryOf(options.directory)
    const jsxWanted = options.jsx === undefined ? undefined : jsxProblem(options.jsx)
    expectOption(jsxWanted === undefined, "jsx", jsxWanted ?? "", options.jsx)
    expectOption(isolation === "shared" || isolation === "process", "isolation", "one of shared, process", isolation)
    const { principal } = options
    expectOption(principal === undefined || typeof principal === "string", "principal", "a string", principal)
    expectOption(check === undefined || check === "types" || check === "syntax", "check", "one of types, syntax", check)
    const { commit = "eval" } = options
    expectOption(commit === "eval" || commit === "idle", "commit", "one of eval, idle", commit)
    checkMilliseconds("evalTimeoutMs", options.evalTimeoutMs)
    checkMilliseconds("idleMs", options.idleMs)
    checkMilliseconds("graceMs", options.graceMs)
    const tools = options.tools === undefined ? this.#tools : this.#tools.with(ToolSet.of(options.tools))
    const interactive = kind === "repl" || kind === "ide"
    return {
      id,
      kind,
      profile,
      grants,
      directory,
      jsx: options.jsx === undefined ? undefined : jsxOf(options.jsx),
      workspace,
      group: isolation === "process" ? ownGroup(workspace, id) : groupOf(workspace, profile),
      principal,
      tools: grants.has("tools.*") ? tools : tools.only((name) => grants.hasTool(name)),
      onChange: checkOnChange(options.onChange) ?? this.#onChange,
      // A person at a prompt decides for themselves how long to wait.
      evalTimeoutMs: options.evalTimeoutMs ?? (interactive ? Infinity : this.limits.evalTimeoutMs),
      idleMs: options.idleMs,
      graceMs: options.graceMs,
      check,
      commit,
    }
  }

  /** One more session, or trial, that hosts of the group serve. */
  #joinGroup(group: string, profile: Profile): void {
    this.#groupKinds.set(group, this.#confinements.of(profile).kind)
    this.#groupSizes.set(group, (this.#groupSizes.get(group) ?? 0) + 1)
  }

  /** A group's hosts go with its last session, but for those that stand ready for the main workspace. */
  #leaveGroup(group: string): void {
    const size = (this.#groupSizes.get(group) ?? 0) - 1
    if (size > 0) {
      this.#groupSizes.set(group, size)
      return
    }
    this.#groupSizes.delete(group)
    if (group === groupOf(mainWorkspace, this.#profile.name)) return
    this.#scheduler.retireGroup(group)
    this.#groupKinds.delete(group)
  }

  #sweepIdle(): void {
    this.#cancelIdleSweep = this.#clock.after(idleSweepMs, () => {
      const now = this.#clock.now()
      this.#scheduler.evictIdle(now - this.limits.residentIdleMs)
      for (const session of this.#active) {
        if (!session.isIdle) continue
        const idleMs = now - session.lastUsedAt
        if (idleMs > (session.facts.idleMs ?? Infinity)) void session.close()
        else if (idleMs > shellIdleMs) {
          session.passivate()
          if (session.facts.idleMs === undefined) this.#active.delete(session)
        }
      }
      this.#sweepIdle()
    })
  }

  #checkRunning(): void {
    if (this.#state === "running") return
    if (this.#state === "failed")
      throw new NacreError("nacre_failed", "This nacre gave up: its hosts could not be kept running.")
    throw new NacreError("nacre_stopped", "This nacre has been stopped; start another.")
  }

  #emit(happening: NacreHappening): void {
    this.#events.emit(happening)
  }
}

/** Looked at now: later a misspelt folder would only show as imports that find nothing. */
function directoryOf(given: unknown): string {
  if (given === undefined) return process.cwd()
  if (typeof given !== "string" || given === "" || given.includes("\0")) {
    throw new NacreError("invalid_options", `directory must be the path of a folder, not ${inspect(given)}.`)
  }
  const path = resolvePath(given)
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new NacreError("invalid_options", `directory '${path}' is no folder.`)
  }
  return path
}

function groupOf(workspace: string, profile: string): string {
  return `${workspace}/${profile}`
}

/** The group of one session that has a host of its own. */
function ownGroup(workspace: string, id: string): string {
  return `own:${sessionKey({ workspace, id })}`
}

function isOwnGroup(group: string): boolean {
  return group.startsWith("own:")
}

/** The workspace of a group, as `groupOf` and `ownGroup` name them. */
function workspaceOf(group: string): string {
  const from = isOwnGroup(group) ? "own:".length : 0
  return group.slice(from, group.indexOf("/", from))
}

/** Its name in the supervision tree: an id of the main workspace stands by itself, unless it looks like one of another. */
function childId({ id, workspace }: Session): string {
  return workspace === mainWorkspace && !id.includes("/") ? id : sessionKey({ workspace, id })
}

function checkWorkspace(name: unknown): void {
  if (typeof name === "string" && /^[\w.-]{1,64}$/.test(name)) return
  const message = "A workspace's name must have 1 to 64 letters, digits, dots, dashes or underscores."
  throw new NacreError("invalid_options", message)
}

/** The workspace that a prelude is for; the other options are looked at by who loads it. */
function workspaceOption(options: PreludeOptions): string {
  expectOption(typeof options === "object" && options !== null, "A prelude", "an object with its options", options)
  const { workspace = mainWorkspace } = options
  checkWorkspace(workspace)
  return workspace
}

function newSessionId(): string {
  return `ses_${nanoid(16)}`
}

function checkOnChange(onChange: OnChange | undefined): OnChange | undefined {
  expectOption(onChange === undefined || typeof onChange === "function", "onChange", "a function", onChange)
  return onChange
}
