// `Session` and `Session.current` for session code.
//
// A session is a value without a public constructor: the realm has exactly one for its own session, the same object each time. Sessions
// of others, workspaces and globals join when workspaces do.
import { defineOwn, objectFreeze, TypeErrorOf } from "./intrinsics.ts"
import { opCurrent } from "./bridge.ts"
import { BindingsView } from "./bindings-view.ts"
import type { ViewSource } from "./bindings-view.ts"
import { kindError } from "./bridge.ts"

export interface SessionFactsInRealm {
  id: string
  kind: string
}

/** Makes the realm's `Session`: a sealed class-like object and the one value of it. */
export function makeSession(facts: SessionFactsInRealm, source: ViewSource): { Session: object; own: object } {
  let allowed = true
  class Session {
    readonly bindings: BindingsView

    constructor() {
      if (!allowed) throw new TypeErrorOf("A Session cannot be constructed: use Session.current or Session.withId(id).")
      this.bindings = new BindingsView(source)
      objectFreeze(this)
    }

    get id(): string {
      return facts.id
    }

    get kind(): string {
      return facts.kind
    }

    static get current(): Session | undefined {
      return source.bridge.call(opCurrent) === undefined ? undefined : own
    }

    static withId(id: unknown): Session | undefined {
      if (typeof id !== "string")
        throw kindError("type_error", `Session.withId takes an id as a string, not ${typeof id}.`)
      return id === facts.id ? own : undefined
    }

    resolve(name: unknown): unknown {
      if (typeof name !== "string")
        throw kindError("type_error", `resolve takes a name as a string, not ${typeof name}.`)
      return source.environment.resolveName(name)
    }

    clear(): undefined {
      BindingsView.clear(source)
    }

    toString(): string {
      return `Session(${facts.kind}: ${facts.id})`
    }
  }
  const own = new Session()
  allowed = false
  defineOwn(Session.prototype, "constructor", { __proto__: null, value: Session } as PropertyDescriptor)
  objectFreeze(Session.prototype)
  objectFreeze(Session)
  return { Session, own }
}
