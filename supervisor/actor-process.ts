// An XState actor as a process.
//
// XState has several ways in which one broken actor ends the whole Node process: an error that no observer takes, an observer without an
// `error` callback, an observer elsewhere that throws. Here every error of the actor is its exit, with a reason. Its own `stop` is
// immediate and cannot clean up; an actor that must gets `stopEvent` and ends by reaching a final state.
import type { AnyActor, EventObject, Subscription } from "xstate"
import type { ProcessLike } from "./process.ts"
import { reasonOfThrown, type ExitReason } from "./reason.ts"
import { warnOfThrown } from "./system.ts"

/** A root actor, started or not. */
export type ActorLike = AnyActor

export interface ActorProcessOptions {
  /** Sent for an orderly stop; the actor then has its shutdown deadline to reach a final state. Without it a stop is immediate. */
  readonly stopEvent?: EventObject
  /** A line for the tree. Default: the state value of a machine. */
  readonly describe?: (actor: AnyActor) => string
}

export function isActor(value: object): value is AnyActor {
  return (
    "getSnapshot" in value &&
    "subscribe" in value &&
    typeof value.subscribe === "function" &&
    "send" in value &&
    "start" in value &&
    typeof value.start === "function" &&
    "logic" in value
  )
}

/** Starts the actor if need be. Throws what the actor threw, when it fails in its own start, and refuses one that has ended. */
export function actorProcess(actor: AnyActor, options: ActorProcessOptions = noOptions): ProcessLike {
  if (isOwned(actor)) {
    throw new Error(
      `The actor ${actor.id} is another actor's child, which alone can stop it; make one with createActor`,
    )
  }
  const before = snapshotOf(actor)
  if (before.status === "error") throw before.error
  // Starting it again would give a zombie: XState marks it stopped and runs it all the same. A machine whose initial state is final is
  // done before its start, and ends in it.
  const isToRun = before.status === "active" ? !hasStopped(actor) : before.status === "done" && !hasStarted(actor)
  if (!isToRun) {
    throw new Error(`The actor ${actor.id} has ended; make a new one for every start`)
  }
  const process = new ActorProcess(actor, options)
  tameObservers(actor)
  observe(actor, process)
  actor.start()
  const started = snapshotOf(actor)
  if (started.status === "error") throw started.error
  return process
}

const noOptions: ActorProcessOptions = {}

/** Ends an actor that nobody wants any more; one that has not been started never runs. */
export function discardActor(actor: AnyActor): void {
  if (isOwned(actor)) return
  tameObservers(actor)
  observe(actor, { error: ignoreError })
  actor.stop()
}

/** The process and, being made a hundred thousand times, also the observer of its actor's end. */
class ActorProcess implements ProcessLike {
  readonly #actor: AnyActor
  readonly #options: ActorProcessOptions
  #listener: ((reason: ExitReason) => void) | undefined
  #ended: ExitReason | undefined
  #asked: ExitReason | undefined

  constructor(actor: AnyActor, options: ActorProcessOptions) {
    this.#actor = actor
    this.#options = options
  }

  stop(reason: ExitReason): void {
    this.#asked = reason
    if (this.#options.stopEvent !== undefined && reason !== "killed") this.#actor.send(this.#options.stopEvent)
    else this.#actor.stop()
  }

  kill(): void {
    this.#actor.stop()
  }

  onExit(told: (reason: ExitReason) => void): void {
    this.#listener = told
    if (this.#ended !== undefined) told(this.#ended)
  }

  receive(message: unknown): void {
    if (!isEvent(message)) throw new Error("An XState actor takes events: objects with a type.")
    this.#actor.send(message)
  }

  describe(): string {
    return this.#options.describe?.(this.#actor) ?? describeSnapshot(snapshotOf(this.#actor))
  }

  // As an observer, whose functions XState takes away from their object.

  readonly error = (thrown: unknown): void => {
    this.#end(reasonOfThrown(thrown))
  }

  readonly complete = (): void => {
    this.#end(this.#asked ?? (snapshotOf(this.#actor).status === "done" ? "normal" : "shutdown"))
  }

  #end(reason: ExitReason): void {
    if (this.#ended !== undefined) return
    this.#ended = reason
    this.#listener?.(reason)
  }
}

interface SnapshotView {
  readonly status: string
  readonly error?: unknown
  readonly value?: unknown
}

function snapshotOf(actor: AnyActor): SnapshotView {
  const snapshot: SnapshotView = actor.getSnapshot()
  return snapshot
}

interface PrivateFields {
  readonly _processingStatus?: unknown
  readonly _parent?: unknown
}

/** XState keeps "stopped" apart from the snapshot for some logics, in a field it does not document. */
function hasStopped(actor: AnyActor): boolean {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return (actor as unknown as PrivateFields)._processingStatus === 2
}

function hasStarted(actor: AnyActor): boolean {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return (actor as unknown as PrivateFields)._processingStatus !== 0
}

/** Spawned or invoked by another actor. Its `stop` throws, so it would live on after every stop and kill. */
function isOwned(actor: AnyActor): boolean {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return (actor as unknown as PrivateFields)._parent !== undefined
}

function describeSnapshot({ value }: SnapshotView): string {
  if (value === undefined) return ""
  return typeof value === "string" ? value : JSON.stringify(value)
}

/**
 * Gives every observer without an `error` callback an empty one and makes what any of them throws a warning, those that come later too.
 * XState rethrows both from a timer, which ends the Node process although this process handle does take the error.
 */
export function tameObservers(actor: AnyActor): void {
  for (const observer of observersOf(actor) ?? []) {
    const { next, error, complete } = observer
    if (next !== undefined) observer.next = (value) => callObserver(next, value)
    observer.error = error === undefined ? ignoreError : (thrown) => callObserver(error, thrown)
    if (complete !== undefined) observer.complete = () => callObserver(complete, undefined)
  }
  // An object that has a `subscribe` of its own is no class of XState's, and there is none to go on to.
  if (Object.hasOwn(actor, "subscribe")) return
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the overloads of `subscribe` are its business
  actor.subscribe = guardedSubscribe as AnyActor["subscribe"]
}

function callObserver(call: (value: unknown) => unknown, value: unknown): void {
  try {
    const result = call(value)
    if (result instanceof Promise) result.catch(warnOfThrown)
  } catch (thrown) {
    warnOfThrown(thrown)
  }
}

/** One function for all actors: a closure for each cost 2 us of the start. */
function guardedSubscribe(
  this: AnyActor,
  first: Observer | Observer["next"],
  error?: Observer["error"],
  complete?: () => void,
): Subscription {
  const observer: Observer = typeof first === "function" ? { next: first, error, complete } : (first ?? {})
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the class of every actor, whichever copy of XState made it
  const { subscribe } = Object.getPrototypeOf(this) as {
    subscribe: (this: AnyActor, observer: Observer) => Subscription
  }
  return subscribe.call(this, {
    next: (value) => callObserver(() => observer.next?.(value), undefined),
    error: (thrown) => callObserver(() => observer.error?.(thrown), undefined),
    complete: () => callObserver(() => observer.complete?.(), undefined),
  })
}

/** `subscribe` without its three bound copies and its subscription, where the field it fills is what it was when this was written. */
function observe(actor: AnyActor, observer: Observer): void {
  const observers = observersOf(actor)
  if (observers !== undefined) observers.add(observer)
  else actor.subscribe({ error: (thrown) => observer.error?.(thrown), complete: () => observer.complete?.() })
}

function observersOf(actor: AnyActor): Set<Observer> | undefined {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a private field, looked at before it is used
  const { observers } = actor as unknown as { observers: unknown }
  return observers instanceof Set ? observers : undefined
}

interface Observer {
  next?: ((value: unknown) => void) | undefined
  error?: ((thrown: unknown) => void) | undefined
  complete?: (() => void) | undefined
}

function ignoreError(): void {
  // The process handle has taken it; this observer did not ask to know.
}

function isEvent(message: unknown): message is EventObject {
  return typeof message === "object" && message !== null && "type" in message && typeof message.type === "string"
}
