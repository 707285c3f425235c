// An XState actor as a process.
//
// XState has several ways in which one broken actor ends the whole Node process: an error that no observer takes, an observer without an
// `error` callback, an observer elsewhere that throws. Here every error of the actor is its exit, with a reason. Its own `stop` is
// immediate and cannot clean up; an actor that must gets `stopEvent` and ends by reaching a final state.
import type { AnyActor, EventObject, Subscription } from "xstate"
import type { ProcessLike } from "./process.ts"
import { reasonOfThrown, type ExitReason } from "./reason.ts"

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
  const before = snapshotOf(actor)
  if (before.status === "error") throw before.error
  // Starting it again would give a zombie: XState marks it stopped and runs it all the same.
  if (before.status !== "active" || hasStopped(actor)) {
    throw new Error(`The actor ${actor.id} has ended; make a new one for every start.`)
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

/** XState keeps "stopped" apart from the snapshot for some logics, in a field it does not document. */
function hasStopped(actor: AnyActor): boolean {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- see above
  return (actor as unknown as { _processingStatus: unknown })._processingStatus === 2
}

function describeSnapshot({ value }: SnapshotView): string {
  if (value === undefined) return ""
  return typeof value === "string" ? value : JSON.stringify(value)
}

/**
 * Gives every observer without an `error` callback an empty one, those that come later too. XState rethrows an actor's error from a timer
 * if any of its observers cannot take it, which ends the Node process although this process handle does take it.
 */
function tameObservers(actor: AnyActor): void {
  for (const observer of observersOf(actor) ?? []) observer.error ??= ignoreError
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the overloads of `subscribe` are its business
  actor.subscribe = guardedSubscribe as AnyActor["subscribe"]
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
    next: (value: unknown) => observer.next?.(value),
    error: (thrown: unknown) => observer.error?.(thrown),
    complete: () => observer.complete?.(),
  })
}

/** `subscribe` without its three bound copies and its subscription, where the field it fills is what it was when this was written. */
function observe(actor: AnyActor, observer: Observer): void {
  const observers = observersOf(actor)
  if (observers === undefined) guardedSubscribe.call(actor, observer)
  else observers.add(observer)
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
