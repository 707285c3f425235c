// The one way decoding fails: bytes or a table that no encoder wrote.

/** `kind` is what callers compare; the message says what was wrong and where. */
export class MalformedValueError extends Error {
  override readonly name = "MalformedValueError"
  readonly kind = "value_malformed"
}
