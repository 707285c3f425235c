import { Client } from "./client.ts"
import type { ClientOptions } from "./client.ts"
import { openSocket } from "./socket.ts"
import { openStdio } from "./stdio.ts"
import type { StdioOptions } from "./stdio.ts"

export interface SocketOptions extends ClientOptions {
  /** "ws://127.0.0.1:4750" */
  url: string
  token: string
}

/** Starts `nacre session` as a process of its own, which ends with this client. Another is started when it has died. */
export async function connectStdio(options: ClientOptions & StdioOptions = {}): Promise<Client> {
  return new Client((handlers) => openStdio(options, handlers), false, options).connect()
}

/** Connects to a served nacre. A socket that breaks is opened again, and nothing is lost within the server's grace. */
export async function connectSocket({ url, token, ...options }: SocketOptions): Promise<Client> {
  return new Client((handlers) => openSocket(url, token, handlers), true, options).connect()
}

export type { Client, ClientOptions, ConnectionChange, RequestOptions } from "./client.ts"
export type { StdioOptions } from "./stdio.ts"
export { ConnectionError, RequestError } from "./errors.ts"
export type { ConnectionErrorKind } from "./errors.ts"
export { FrameDecoder } from "./decoder.ts"
export type { MethodName, NotificationName, NotificationOf, ParamsOf, ResultOf } from "./methods.ts"
