// The methods and notifications of the protocol as types, made from the server's own table; nothing of it is there at run time.
import type { MethodTable, NotificationTable } from "../serve/methods.ts"
import type { FieldsOf, ValueOf } from "../serve/schema.ts"

export type MethodName = keyof MethodTable

type NeedsSession<N> = N extends "opens" | "finds" ? { session?: string } : unknown

/** What a method takes. Those about a session take its id; without one they mean the connection's own. */
export type ParamsOf<M extends MethodName> = FieldsOf<MethodTable[M]["params"]> & NeedsSession<MethodTable[M]["needs"]>

/** What a method answers. */
export type ResultOf<M extends MethodName> = ValueOf<MethodTable[M]["result"]>

export type NotificationName = keyof NotificationTable

export type NotificationOf<N extends NotificationName> = FieldsOf<NotificationTable[N]["params"]>
