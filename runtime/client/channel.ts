// What carries messages to one server and back: a process's streams, or a socket. It is opened once and never comes back; another one is
// opened instead.

export interface ChannelHandlers {
  onMessage(text: string): void
  /**
   * Nothing more will come. `reason` says why, in words; `isTooLarge` that the server ended it because a message was above its limit. Called once,
   * also after `close` and `kill`.
   */
  onEnd(reason: string, isTooLarge?: boolean): void
}

export interface Channel {
  send(text: string): void
  /** Says goodbye. Resolves when it has ended. */
  close(): Promise<void>
  /** Ends it at once, and the server with it where this client started it. */
  kill(): void
}

/** Opens one. Rejects when the server cannot be reached or does not let this client in. */
export type OpenChannel = (handlers: ChannelHandlers) => Promise<Channel>
