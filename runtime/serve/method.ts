// A row of the method table: what describes a method, and what its handler works on.
//
// A row keeps the types of its parameters and result, so that the client library's methods are typed from the same table that the server
// checks with (`client/methods.ts`).
import type { ErrorKind } from "../errors.ts"
import type { Nacre } from "../nacre.ts"
import type { Session } from "../session/session.ts"
import type { Connection } from "./connection.ts"
import type { Request } from "./rpc.ts"
import type { Fields, FieldsOf, Type } from "./schema.ts"

/** What a handler works on. */
export interface Call {
  readonly connection: Connection
  readonly request: Request
  /** The running system. Fails a method whose row does not say that it needs one. */
  readonly nacre: Nacre
  /** The session the method works on. Fails a method whose row does not say that it opens one. */
  readonly session: Session
  /** As `session`, but without opening the connection's own. */
  readonly openSession: Session | undefined
}

export interface Method {
  readonly doc: string
  readonly params: Fields
  /** What it answers; the tests hold every answer to it. */
  readonly result: Type
  /** Kinds it can fail with, besides `commonKinds`. */
  readonly fails: readonly ErrorKind[]
  /**
   * What it needs before it can begin: nothing; the running system; a session, of which the connection's own is opened when there is
   * none yet (`opens`) or is not (`finds`).
   */
  readonly needs: "nothing" | "nacre" | "opens" | "finds"
  /** May be called before `initialize`, and after `shutdown`. */
  readonly isAlways?: true
  /** Requests behind it begin when it has ended, because they may build on it. */
  readonly isBarrier?: true
  /**
   * It works with a session's definitions or runs its code: it begins when the changes of that session that this connection asked for
   * before it have ended, and `interrupt` finds it by its id.
   */
  readonly isBehindChanges?: true
  /** It changes a session's definitions. */
  readonly isChange?: true
  /** Begins the work; `params` have been checked against the row. */
  readonly handle: (params: Readonly<Record<string, unknown>>, call: Call) => unknown
}

/** A row as it is written: its handler gets the parameters as the types that the row describes. */
type Row<P extends Fields, R extends Type, N extends Method["needs"]> = Omit<
  Method,
  "params" | "result" | "needs" | "handle"
> & {
  readonly params: P
  readonly result: R
  readonly needs: N
  readonly handle: (params: FieldsOf<P>, call: Call) => unknown
}

/** A row of the table with the types that it was written with. */
export type TypedMethod<P extends Fields, R extends Type, N extends Method["needs"]> = Omit<
  Method,
  "params" | "result" | "needs"
> & {
  readonly params: P
  readonly result: R
  readonly needs: N
}

export function method<const P extends Fields, const R extends Type, const N extends Method["needs"]>(
  row: Row<P, R, N>,
): TypedMethod<P, R, N> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- they have been checked against the row's parameters
  return { ...row, handle: (params, call) => row.handle(params as FieldsOf<P>, call) }
}

/** Rows of a list in one answer. */
export const pageMax = 1_000
export const page = {
  from: { type: "integer", min: 0, optional: true, doc: "How many to skip; default 0." },
  count: {
    type: "integer",
    min: 1,
    max: pageMax,
    optional: true,
    doc: `At most so many; default and maximum ${pageMax}.`,
  },
} as const satisfies Fields

export const sessionId = { type: "string", min: 1, max: 256 } as const
