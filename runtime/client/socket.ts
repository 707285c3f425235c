// A served nacre, over WebSocket: the platform's own where there is one, else the package `ws`.
import type { Channel, ChannelHandlers } from "./channel.ts"
import { ConnectionError } from "./errors.ts"

/** What both have in common. */
interface PlatformSocket {
  readonly readyState: number
  send(text: string): void
  close(code?: number): void
  addEventListener(type: "open" | "error", listener: (event: { message?: string }) => void): void
  addEventListener(type: "message", listener: (event: { data: unknown }) => void): void
  addEventListener(type: "close", listener: (event: { code: number; reason: string }) => void): void
}

type SocketClass = new (url: string, protocols: string[]) => PlatformSocket

/** Milliseconds for a connection to open, and for a goodbye to be answered. */
const openMs = 10_000
const goodbyeMs = 2_000
/** The close code of a peer that was sent more in one message than it takes. */
const tooLargeCode = 1009

export async function openSocket(url: string, token: string, handlers: ChannelHandlers): Promise<Channel> {
  const Socket = await socketClass()
  // A browser's socket can send no header, so the token goes with the subprotocols everywhere.
  const socket = new Socket(url, ["nacre.v1", `nacre.token.${token}`])
  let state: "opening" | "open" | "ended" = "opening"
  let refuse!: (error: ConnectionError) => void
  let told!: () => void
  const ended = new Promise<void>((resolve) => (told = resolve))
  const end = (reason: string, code?: number): void => {
    if (state === "ended") return
    const wasOpen = state === "open"
    state = "ended"
    told()
    if (wasOpen) return handlers.onEnd(reason, code === tooLargeCode)
    const message = `Cannot connect to ${url}: ${reason}. Is it served there, and is the token right?`
    refuse(new ConnectionError("refused", message))
  }
  const opened = new Promise<void>((resolve, reject) => {
    refuse = reject
    socket.addEventListener("open", () => {
      if (state === "opening") state = "open"
      resolve()
    })
  })
  socket.addEventListener("message", ({ data }) => {
    if (state === "open" && typeof data === "string") handlers.onMessage(data)
  })
  let broke: string | undefined
  // Its `close` follows, and knows the code.
  socket.addEventListener("error", ({ message }) => {
    broke ??= message || "the socket broke"
  })
  socket.addEventListener("close", ({ code, reason }) =>
    end(broke ?? `the socket was closed with ${code}${reason === "" ? "" : `, ${reason}`}`, code),
  )
  const late = setTimeout(() => {
    end(`no answer within ${openMs} ms`)
    socket.close()
  }, openMs)
  try {
    await opened
  } finally {
    clearTimeout(late)
  }
  return {
    send: (text) => socket.send(text),
    close: async () => {
      socket.close(1000)
      const unanswered = setTimeout(() => end("the goodbye was not answered"), goodbyeMs)
      await ended
      clearTimeout(unanswered)
    },
    // It cannot be cut off on every platform; from here on it is not listened to.
    kill: () => {
      end("it was given up")
      socket.close()
    },
  }
}

async function socketClass(): Promise<SocketClass> {
  const own = (globalThis as { WebSocket?: SocketClass }).WebSocket
  if (own !== undefined) return own
  const { WebSocket } = await import("ws")
  return WebSocket
}
