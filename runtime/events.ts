// What a nacre tells its embedder about, besides outcomes: one union of named events, each with the facts and no prose, numbered in the
// order in which they happened.
//
// The last ones are kept for those who attach later or again: `since` the number they saw last, nothing is missing, or the gap is told.

export type NacreHappening =
  | { type: "session.opened"; session: string; workspace: string }
  | { type: "session.closed"; session: string; workspace: string }
  /** What a commit changed, once per commit and after it: names by what they are now. */
  | {
      type: "bindings.changed"
      session: string
      workspace: string
      /** The eval that was committed; none for `reset` and the like. "idle": values were written that evals had put off. */
      evalId?: string
      because: "eval" | "change" | "reset" | "rollback" | "realm-lost" | "idle"
      set: string[]
      definitions: string[]
      removed: string[]
      /** Bound still, but without a value: it went with a process. */
      lost: string[]
      commit: number
    }
  /** A realm ended outside an eval and took values with it that nothing else held. */
  | { type: "bindings.lost"; session: string; workspace: string; names: string[]; reason: string }
  /** Something happened in code of a session that no running eval can be blamed for, such as a throw after its eval had ended. */
  | { type: "session.stray"; session: string; workspace: string; evalId: string; text: string }
  /** A global was bound or unbound; `session` and `evalId` say by which code, and are missing when it was the embedder's. */
  | { type: "globals.changed"; workspace: string; set: string[]; removed: string[]; session?: string; evalId?: string }
  /** A prelude was loaded, loaded again, or removed, and its exports with it: sessions see it from their next eval. */
  | { type: "preludes.changed"; workspace: string; prelude: string; exports: readonly string[]; isRemoved: boolean }
  | { type: "transcript.shown"; workspace: string; session: string; evalId: string; text: string }
  | { type: "host.started"; host: string; pid: number }
  | { type: "host.lost"; host: string; pid: number; because: string }
  | { type: "checker.started"; pid: number }
  | { type: "checker.lost"; pid: number; because: string }
  /** An actor of Nacre itself crashed on a broken invariant; its supervisor decides what follows. */
  | { type: "actor.crashed"; actor: string; message: string }

/** `seq` counts the events of one nacre from 1, without gaps. */
export type NacreEvent = NacreHappening & { readonly seq: number }

export type Emit = (happening: NacreHappening) => void
export type EventListener = (event: NacreEvent) => void

export interface AttachOptions {
  /** The number of the last event that is known: those after it are given first. Without it, only what comes. */
  since?: number
  /** Only events of this workspace, and those of no workspace. */
  workspace?: string
  /** Only events of the sessions of this id. */
  session?: string
}

export interface Attachment {
  /** The number of the last event when it was attached. */
  readonly seq: number
  /** False when some events after `since` are no longer kept: look at what there is, then go on from `seq`. */
  readonly isComplete: boolean
  readonly detach: () => void
}

/** Events that are kept: some seconds of a busy system, enough for a connection that comes back. */
const eventsKept = 1_000
/** Characters of transcripts that are kept with them; a flood of text must not hold memory for ever. */
const textKept = 1024 * 1024

interface Listening {
  readonly listener: EventListener
  readonly isWanted: (event: NacreEvent) => boolean
  /** It gets what comes after this number. */
  readonly after: number
}

export class EventLog {
  readonly #kept: NacreEvent[] = []
  readonly #listeners = new Set<Listening>()
  readonly #onFailure: (error: unknown) => void
  /** Events that happened while a listener ran: everybody has those before them first. */
  readonly #undelivered: NacreEvent[] = []
  #isDelivering = false
  #first = 0
  #text = 0
  #seq = 0

  /** `onFailure` hears of listeners that throw. */
  constructor(onFailure: (error: unknown) => void) {
    this.#onFailure = onFailure
  }

  emit(happening: NacreHappening): void {
    // Everybody gets the same object, also those who attach later.
    const event: NacreEvent = Object.freeze(Object.assign(happening, { seq: ++this.#seq }))
    this.#kept.push(event)
    this.#text += textOf(event)
    while (this.#kept.length - this.#first > eventsKept || (this.#text > textKept && this.#first < this.#kept.length)) {
      this.#text -= textOf(this.#kept[this.#first++]!)
    }
    // In one go now and then: shifting an array of a thousand for each event would cost more than the event.
    if (this.#first > eventsKept) {
      this.#kept.splice(0, this.#first)
      this.#first = 0
    }
    this.#undelivered.push(event)
    this.#deliver()
  }

  attach(listener: EventListener, options: AttachOptions = {}): Attachment {
    const { since } = options
    const oldest = this.#seq - (this.#kept.length - this.#first) + 1
    const isComplete = since === undefined || (since >= oldest - 1 && since <= this.#seq)
    const missed = since === undefined ? [] : this.#kept.slice(this.#first).filter((it) => it.seq > since)
    const seq = this.#seq
    const listening: Listening = { listener, isWanted: wanted(options), after: seq }
    this.#listeners.add(listening)
    const wasDelivering = this.#isDelivering
    this.#isDelivering = true
    for (const event of missed) this.#call(listening, event)
    this.#isDelivering = wasDelivering
    this.#deliver()
    return { seq, isComplete, detach: () => void this.#listeners.delete(listening) }
  }

  /** Gives each event to all before the next one, also when a listener makes something happen. */
  #deliver(): void {
    if (this.#isDelivering) return
    this.#isDelivering = true
    for (let next = 0; next < this.#undelivered.length; next++) {
      const event = this.#undelivered[next]!
      for (const listening of this.#listeners) if (event.seq > listening.after) this.#call(listening, event)
    }
    this.#undelivered.length = 0
    this.#isDelivering = false
  }

  #call({ listener, isWanted }: Listening, event: NacreEvent): void {
    if (!isWanted(event)) return
    try {
      listener(event)
    } catch (error) {
      this.#onFailure(error)
    }
  }
}

function wanted({ workspace, session }: AttachOptions): (event: NacreEvent) => boolean {
  return (event) =>
    (workspace === undefined || !("workspace" in event) || event.workspace === workspace) &&
    (session === undefined || ("session" in event && event.session === session))
}

function textOf(event: NacreEvent): number {
  return "text" in event ? event.text.length : 0
}
