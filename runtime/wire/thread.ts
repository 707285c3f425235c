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

/** A call from session code that needs its answer at once. The thread waits on WAITING until the answer is on the port. */
export interface SyncRequest {
  callId: number
  session: string
  evalId: string
  /** "cancel" takes back the write of that call id, whose caller does not wait any more; nobody waits for its answer. */
  op: "atPut" | "removeKey" | "clear" | "cancel"
  key: string
  /** Why the value could not be encoded; empty when `bytes` hold it. */
  what: string
  bytes: Uint8Array
}

export interface SyncReply {
  callId: number
  ok: boolean
  kind: string
  message: string
}
