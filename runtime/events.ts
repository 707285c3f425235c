// What a nacre tells its embedder about, besides outcomes: one union of named events, each with the facts and no prose.

export type NacreEvent =
  | { type: "session.opened"; session: string }
  | { type: "session.closed"; session: string }
  /** A realm ended outside an eval and took values with it that nothing else held. */
  | { type: "bindings.lost"; session: string; names: string[]; reason: string }
  /** Something happened in code of a session that no running eval can be blamed for, such as a throw after its eval had ended. */
  | { type: "session.stray"; session: string; evalId: string; text: string }
  | { type: "host.started"; host: string; pid: number }
  | { type: "host.lost"; host: string; pid: number; because: string }
  /** An actor of Nacre itself crashed on a broken invariant; its supervisor decides what follows. */
  | { type: "actor.crashed"; actor: string; message: string }

export type EventListener = (event: NacreEvent) => void
