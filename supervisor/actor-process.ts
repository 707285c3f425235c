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
    receive: (message) => actor.send(message as EventObject),
    describe: () => options.describe?.(actor) ?? describeSnapshot(snapshotOf(actor)),
  }
}

interface SnapshotView {
  readonly status: string
  readonly error?: unknown
  readonly value?: unknown
}

function snapshotOf(actor: AnyActor): SnapshotView {
  return actor.getSnapshot() as SnapshotView
}

/** XState keeps "stopped" apart from the snapshot for some logics, in a field it does not document. */
function hasStopped(actor: AnyActor): boolean {
  return "_processingStatus" in actor && (actor._processingStatus as unknown) === 2
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
  const target = actor as unknown as {
    observers?: Set<{ error?: unknown }>
    subscribe: (...args: unknown[]) => unknown
  }
  const ignore = (): void => undefined
  for (const observer of target.observers ?? []) observer.error ??= ignore
  const subscribe = target.subscribe.bind(actor)
  target.subscribe = (first: unknown, error?: unknown, complete?: unknown) => {
    if (typeof first === "function") return subscribe(first, error ?? ignore, complete)
    if (typeof first === "object" && first !== null && !("error" in first && first.error !== undefined)) {
      return subscribe({
        next: (value: unknown) => (first as { next?: (value: unknown) => void }).next?.(value),
        error: ignore,
        complete: () => (first as { complete?: () => void }).complete?.(),
      })
    }
    return subscribe(first, error, complete)
  }
}
