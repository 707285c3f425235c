// Questions of a realm that need their answer at once: about other sessions and about globals. The embedder's process answers them.
//
// A question is a few strings and perhaps an encoded value; the answer is a text. When it comes with an encoded value, the worker has put
// that value's table here before the call returned, as objects of this realm.
import { stringSlice } from "./intrinsics.ts"
import type { Primitive } from "./intrinsics.ts"
import { opAsk, refuseWith } from "./bridge.ts"
import type { Bridge } from "./bridge.ts"

export interface AnsweredTable {
  readonly table: readonly Primitive[]
  readonly chunks: readonly Uint8Array[]
}

export class Asker {
  readonly #bridge: Bridge
  #answered: AnsweredTable | undefined

  constructor(bridge: Bridge) {
    this.#bridge = bridge
  }

  /** The worker's side: the table that belongs to the answer it is about to give. */
  deposit(table: readonly Primitive[], chunks: readonly Uint8Array[]): void {
    this.#answered = { table, chunks }
  }

  /** The value of the last answer, once. */
  take(): AnsweredTable | undefined {
    const answered = this.#answered
    this.#answered = undefined
    return answered
  }

  /** Asks `question` about `key` of the session `target`; throws what it is refused with. `what` begins the message when no eval runs. */
  ask(what: string, question: string, key: string, target: string, payload?: unknown): string {
    this.#answered = undefined
    const answer = this.#bridge.callOutside(what, opAsk, question, key, payload, target) as string
    const rest = stringSlice(answer, 1)
    if (answer[0] !== "=") throw refuseWith(rest)
    return rest
  }
}
