// An XState actor as a process.
//
// XState has several ways in which one broken actor ends the whole Node process: an error that no observer takes, an observer without an
// `error` callback, an observer elsewhere that throws. Here every error of the actor is its exit, with a reason. Its own `stop` is
// immediate and cannot clean up; an actor that must gets `stopEvent` and ends by reaching a final state.
import type { AnyActor, EventObject } from "xstate"
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
export function actorProcess(actor: AnyActor, options: ActorProcessOptions = {}): ProcessLike {
  const before = snapshotOf(actor)
  if (before.status === "error") throw before.error
  // Starting it again would give a zombie: XState marks it stopped and runs it all the same.
  if (before.status !== "active" || hasStopped(actor)) {
    throw new Error(`The actor ${actor.id} has ended; make a new one for every start.`)
  }
  let listener: ((reason: ExitReason) => void) | undefined
  let ended: ExitReason | undefined
  let asked: ExitReason | undefined
  const end = (reason: ExitReason): void => {
    if (ended !== undefined) return
    ended = reason
    listener?.(reason)
  }
  tameObservers(actor)
  actor.subscribe({
    error: (thrown) => end(reasonOfThrown(thrown)),
    complete: () => end(asked ?? (snapshotOf(actor).status === "done" ? "normal" : "shutdown")),
  })
  actor.start()
  const started = snapshotOf(actor)
  if (started.status === "error") throw started.error
  return {
    stop: (reason) => {
      asked = reason
      if (options.stopEvent !== undefined && reason !== "killed") actor.send(options.stopEvent)
      else actor.stop()
    },
    kill: () => void actor.stop(),
    onExit: (told) => {
      listener = told
      if (ended !== undefined) told(ended)
    },
    receive: (message) => {
      if (!isEvent(message)) throw new Error("An XState actor takes events: objects with a type.")
      actor.send(message)
    },
    describe: () => options.describe?.(actor) ?? describeSnapshot(snapshotOf(actor)),
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
  return Reflect.get(actor, "_processingStatus") === 2
}

function describeSnapshot({ value }: SnapshotView): string {
  if (value === undefined) return ""
  return typeof value === "string" ? value : JSON.stringify(value)
}

/**
 * Gives every observer without an `error` callback an empty one. XState rethrows an actor's error from a timer if any of its observers
 * cannot take it, which ends the Node process although this process handle does take it.
 */
function tameObservers(actor: AnyActor): void {
  const observers: unknown = Reflect.get(actor, "observers")
  for (const observer of observers instanceof Set ? observers : []) {
    if (typeof observer === "object" && observer !== null && observer.error === undefined) observer.error = ignoreError
  }
  const subscribe = actor.subscribe.bind(actor)
  Reflect.set(
    actor,
    "subscribe",
    (first: Observer | Observer["next"], error?: Observer["error"], complete?: () => void) => {
      const observer: Observer = typeof first === "function" ? { next: first, error, complete } : (first ?? {})
      return subscribe({
        next: (value: unknown) => observer.next?.(value),
        error: (thrown: unknown) => observer.error?.(thrown),
        complete: () => observer.complete?.(),
      })
    },
  )
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
