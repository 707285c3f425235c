// What session code of profile `standard` has besides the language: for type checkers and editors. Nothing here exists in Node itself.
//
// Use it as the only library beside ECMAScript's: `"types": ["nacre/session-code"], "lib": ["ES2023"]`. `test/unit/session-code-types.test.ts`
// holds it against examples, and against what a session has.

/** Names with their values: the bindings of a session, the globals of a workspace. */
interface BindingsView extends Iterable<[string, unknown]> {
  /** `undefined` when the name is not bound. */
  at(key: string): any
  /**
   * Session: queued, applied when the eval ends. Globals: at once, for every session of the workspace. Gives the value.
   * Throws `binding_is_definition`, `cross_session_mutation_unsupported`, `name_conflict`, `value_not_transferable`.
   */
  atPut<T>(key: string, value: T): T
  /** Does nothing when the name is not bound. */
  removeKey(key: string): undefined
  includesKey(key: string): boolean
  keys(): string[]
  values(): unknown[]
  readonly size: number
  do(visit: (value: unknown) => void): void
  toString(): string
}
/** Views cannot be constructed: they come from `session.bindings` and `Workspace.globals`. */
declare const BindingsView: { readonly prototype: BindingsView }

type SessionKind = "repl" | "mcp" | "lsp" | "ide" | "attach" | "service" | "unknown"

interface SessionInfo {
  readonly id: string
  readonly kind: SessionKind
  readonly profile?: string
  readonly principal?: string
  /** ISO 8601. */
  readonly openedAt?: string
}

/** A session of this workspace. Uses of a closed one throw `session_not_found`, but for `kind`, `info` and `toString`. */
interface Session {
  readonly id: string
  readonly kind: SessionKind
  readonly bindings: BindingsView
  info(): SessionInfo
  /** What the bare name gives in that session; `undefined` when it means nothing. */
  resolve(name: string): any
  /** This session only: its bindings go when the eval ends. */
  clear(): undefined
  /**
   * This session only, where the embedder gives its code the capability (else `capability_denied`): makes a change of the definitions beside
   * those in force. A veto of the embedder's is a rejection of kind `vetoed` with the reason as its message.
   */
  proposeChange(change: string | ProposedChange): Promise<ChangeProposed | ChangeRejected>
  /** Puts a candidate in force for the evals that come after this one. With `rebase`, also on another revision, if nothing it rests on was touched. */
  commitChange(candidate: string, options?: { rebase?: boolean }): Promise<ChangeCommitted | ChangeRejected>
  /** Forgets a candidate; whether there was one. */
  abandonChange(candidate: string): Promise<boolean>
  /** The records of the revisions after `since`, oldest first. */
  history(since?: number): Promise<RevisionRecord[]>
  toString(): string
}
interface ProposedChange {
  /** Declarations become definitions. */
  source?: string
  /** Definitions to take away. */
  remove?: string[]
  /** The revision that it is meant for. Default: the present one. */
  parent?: number
  reason?: string
  check?: "types" | "syntax"
  /** When a definition that must be made again holds other data than its declaration makes. Default "reject". */
  onDataLoss?: "reject" | "rebuild"
  /** Name and first line of the source in positions. */
  file?: string
  line?: number
}
interface ChangeProposed {
  readonly status: "proposed"
  readonly candidate: string
  readonly parent: number
  readonly changed: string[]
  readonly removed: string[]
  readonly reinstantiated: string[]
  /** What of the source is no declaration; nothing runs it. */
  readonly statements?: string
}
interface ChangeCommitted {
  readonly status: "committed"
  readonly revision: number
  /** Missing when the change says what was there already. */
  readonly record?: RevisionRecord
}
interface ChangeRejected {
  readonly status: "rejected"
  /** The revision that stands. */
  readonly revision: number
  readonly rejection: {
    readonly kind: string
    readonly message: string
    readonly diagnostics: { key?: string; message: string; file: string; line: number; column: number }[]
    readonly keys?: string[]
  }
}
interface RevisionRecord {
  readonly revision: number
  readonly parent: number
  readonly cause: string
  readonly evalId?: string
  readonly principal?: string
  readonly onBehalfOf?: string
  readonly reason?: string
  readonly changes: {
    op: "set" | "remove" | "wrap" | "unwrap"
    key: string
    kind: string
    source?: string
    previousSource?: string
  }[]
  readonly reinstantiated: string[]
  readonly lostData: string[]
  readonly stale: string[]
  readonly digest: string
  readonly at: number
}
/** Sessions cannot be constructed. */
declare const Session: {
  readonly prototype: Session
  /** This session; `undefined` when no eval runs. */
  readonly current: Session | undefined
  /** That live session of the workspace. */
  withId(id: string): Session | undefined
}

declare const Workspace: {
  readonly globals: BindingsView
  /** The class registry, read-only: `Session`, `BindingsView` and what the workspace's preludes export. */
  readonly classes: BindingsView
  readonly currentSession: Session | undefined
  readonly sessions: Session[]
  /** Makes a global, seen by every session of the workspace when this returns. Gives the value. */
  bind<T>(name: string, value: T): T
  unbind(name: string): undefined
  toString(): string
}

declare const Transcript: {
  /** Adds to the workspace's transcript; what is no string as it displays. */
  show(text: unknown): undefined
  toString(): string
}

/** Those that the session has are declared besides. */
interface SessionTools {}

/** Functions of the embedder. */
declare const tools: SessionTools

/** The last value, and the last error that was thrown. */
declare const _: any
declare const _error: any

declare function setTimeout(callback: (...args: any[]) => void, ms?: number, ...args: unknown[]): number
declare function setInterval(callback: (...args: any[]) => void, ms?: number, ...args: unknown[]): number
declare function setImmediate(callback: (...args: any[]) => void, ...args: unknown[]): number
declare function clearTimeout(id: number | undefined): void
declare function clearInterval(id: number | undefined): void
declare function clearImmediate(id: number | undefined): void
declare function queueMicrotask(callback: () => void): void
declare function structuredClone<T>(value: T): T

interface URLSearchParams extends Iterable<[string, string]> {
  readonly size: number
  append(name: string, value: string): void
  delete(name: string, value?: string): void
  get(name: string): string | null
  getAll(name: string): string[]
  has(name: string, value?: string): boolean
  set(name: string, value: string): void
  sort(): void
  forEach(callback: (value: string, name: string, params: URLSearchParams) => void, self?: unknown): void
  entries(): IterableIterator<[string, string]>
  keys(): IterableIterator<string>
  values(): IterableIterator<string>
  toString(): string
}
declare const URLSearchParams: {
  readonly prototype: URLSearchParams
  new (init?: string | Iterable<[string, string]> | Record<string, string>): URLSearchParams
}

/** As in Node, whose parser it asks. A value: it commits with its parameters. */
interface URL {
  href: string
  readonly origin: string
  protocol: string
  username: string
  password: string
  host: string
  hostname: string
  port: string
  pathname: string
  search: string
  hash: string
  readonly searchParams: URLSearchParams
  toString(): string
  toJSON(): string
}
declare const URL: {
  readonly prototype: URL
  /** Throws a TypeError when that is no URL. */
  new (input: string | URL, base?: string | URL): URL
  canParse(input: string | URL, base?: string | URL): boolean
}

interface TextEncoder {
  readonly encoding: "utf-8"
  encode(text?: string): Uint8Array
  encodeInto(text: string, destination: Uint8Array): { read: number; written: number }
}
declare const TextEncoder: { readonly prototype: TextEncoder; new (): TextEncoder }

interface TextDecoder {
  readonly encoding: "utf-8" | "utf-16le" | "windows-1252"
  readonly fatal: boolean
  readonly ignoreBOM: boolean
  decode(input?: ArrayBufferLike | ArrayBufferView, options?: { stream?: boolean }): string
}
declare const TextDecoder: {
  readonly prototype: TextDecoder
  /** Labels of utf-8, utf-16le and windows-1252 (`latin1`); a RangeError for others. */
  new (label?: string, options?: { fatal?: boolean; ignoreBOM?: boolean }): TextDecoder
}

interface AbortEvent {
  readonly type: "abort"
  readonly target: AbortSignal
  readonly currentTarget: AbortSignal
}
type AbortListener = ((this: AbortSignal, event: AbortEvent) => void) | { handleEvent(event: AbortEvent): void }
interface AbortSignal {
  readonly aborted: boolean
  readonly reason: any
  onabort: ((this: AbortSignal, event: AbortEvent) => void) | null
  throwIfAborted(): void
  addEventListener(
    type: "abort",
    listener: AbortListener,
    options?: boolean | { once?: boolean; signal?: AbortSignal },
  ): void
  removeEventListener(type: "abort", listener: AbortListener): void
}
/** Signals cannot be constructed. */
declare const AbortSignal: {
  readonly prototype: AbortSignal
  abort(reason?: unknown): AbortSignal
  /** Its timer belongs to the eval that made it, as every timer does. */
  timeout(ms: number): AbortSignal
  any(signals: Iterable<AbortSignal>): AbortSignal
}
interface AbortController {
  readonly signal: AbortSignal
  abort(reason?: unknown): void
}
declare const AbortController: { readonly prototype: AbortController; new (): AbortController }

declare const performance: { now(): number; readonly timeOrigin: number }
declare const crypto: { getRandomValues<T extends ArrayBufferView>(view: T): T; randomUUID(): string }
declare const process: {
  exit(code?: number): never
  /** For profiles with the capability `env`; reading it throws in others. */
  readonly env: never
}
declare const console: Readonly<
  Record<
    "log" | "info" | "debug" | "error" | "warn" | "dir" | "dirxml" | "table" | "trace",
    (...args: unknown[]) => void
  >
> & {
  assert(condition?: unknown, ...args: unknown[]): void
  count(label?: string): void
  countReset(label?: string): void
  group(...args: unknown[]): void
  groupCollapsed(...args: unknown[]): void
  groupEnd(): void
  time(label?: string): void
  timeLog(label?: string, ...args: unknown[]): void
  timeEnd(label?: string): void
}
