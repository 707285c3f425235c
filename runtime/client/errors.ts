// How a request of the client library can fail: the server refused it, or the way to the server did.

/**
 * The server's error answer, or what is refused before it is sent: parameters that are no JSON, or more than the server takes. `kind` is one of
 * docs/ERRORS.md; `retry` says whether trying again can help.
 */
export class RequestError extends Error {
  override readonly name = "RequestError"
  readonly code: number
  readonly kind: string
  readonly retry: string

  constructor(message: string, code: number, kind: string, retry: string) {
    super(message)
    this.code = code
    this.kind = kind
    this.retry = retry
  }
}

/** An error as the server sends it. */
export interface ErrorAnswer {
  code: number
  message: string
  data?: { kind?: string; retry?: string }
}

/** What the caller gave is wrong; the code is that of docs/ERRORS.md. */
export function invalidOptions(message: string): RequestError {
  return new RequestError(message, -32602, "invalid_options", "never")
}

export function requestErrorOf({ message, code, data = {} }: ErrorAnswer): RequestError {
  const { kind = "internal", retry = "never" } = data
  return new RequestError(message, code, kind, retry)
}

/**
 * Why there is no answer: `timed_out`, and the server did not end the request when it was told to; `server_exited`, its process ended or was
 * killed; `connection_lost`, it could not be reached again in time, or had forgotten this client; `answer_lost`, it answered while nobody listened
 * and no longer keeps the answer; `refused`, it did not let this client in; `not_started`, its program could not be started; `closed`, the client was closed. Whether the request had
 * an effect is not known, but for `refused` and `not_started`.
 */
export type ConnectionErrorKind =
  | "timed_out"
  | "server_exited"
  | "connection_lost"
  | "answer_lost"
  | "refused"
  | "not_started"
  | "closed"

export class ConnectionError extends Error {
  override readonly name = "ConnectionError"
  readonly kind: ConnectionErrorKind

  constructor(kind: ConnectionErrorKind, message: string) {
    super(message)
    this.kind = kind
  }
}
