// What passes between a host's main thread and its workers by message port: the task that starts a worker, pings, and synchronous calls.
import type { MessagePort } from "node:worker_threads"
import type { SharedWords } from "./shared-memory.ts"

export interface ServeTask {
  hostId: string
  socketPath: string
  worker: number
  token: string
  words: SharedWords
  /** Memory of the outbox. */
  outbox: SharedArrayBuffer
  port: MessagePort
  syncCallTimeoutMs: number
}

/** What a question is about; the first three are writes that an eval queues. */
export type SyncOp =
  | "atPut"
  | "removeKey"
  | "clear"
  /** Takes back the write of that call id, whose caller does not wait any more; nobody waits for its answer. */
  | "cancel"
  | "find"
  | "info"
  | "sessions"
  | "keys"
  | "includes"
  | "read"
  | "global"
  | "globals"
  | "bind"
  | "unbind"
  | "show"

/** A call from session code that needs its answer at once. The thread waits on WAITING until the answer is on the port. */
export interface SyncRequest {
  callId: number
  session: string
  evalId: string
  op: SyncOp
  key: string
  /** Why the value could not be encoded; empty when `bytes` hold it. */
  what: string
  bytes: Uint8Array
  /** The session that a question is about. */
  target?: string
  /** The version of the value that the asking realm has; 0 for none. */
  version?: number
}

export interface SyncReply {
  callId: number
  ok: boolean
  kind: string
  /** Why it was refused; the answer when it was not. */
  message: string
  /** The value that belongs to the answer. */
  bytes?: Uint8Array | undefined
}
