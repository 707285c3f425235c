// The embedder's door for workers: one Unix socket per nacre, to which every worker connects and shows the token it was given.
//
// The socket lies in a folder of its own that only this user may enter. It goes with the nacre; when the embedder is killed, the
// first host that notices removes it.
import { mkdtempSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import type { Server, Socket } from "node:net"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { Link } from "../wire/transport.ts"
import { fromWorker, toWorker, wireVersion } from "../wire/schema.ts"
import type { MessageOf } from "../wire/schema.ts"

export type WorkerLink = Link<typeof toWorker, typeof fromWorker>
export type WorkerMessage = MessageOf<typeof fromWorker>

export interface WorkerDoor {
  /** The worker that was given this token has connected. Returns where its messages go. */
  onConnected(link: WorkerLink): { onMessage(message: WorkerMessage): void; onClose(reason: Error | undefined): void }
}

/** Milliseconds a new connection may take to show its token. */
const helloTimeoutMs = 5_000

export class Listener {
  readonly path: string
  readonly #server: Server
  readonly #doors = new Map<string, WorkerDoor>()
  readonly #strangers = new Set<Socket>()

  private constructor(path: string, server: Server) {
    this.path = path
    this.#server = server
    server.on("connection", (socket) => this.#greet(socket))
  }

  static async open(): Promise<Listener> {
    const path = join(mkdtempSync(join(tmpdir(), "nacre-")), "workers")
    const server = createServer()
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject)
      server.listen(path, resolve)
    })
    return new Listener(path, server)
  }

  /** Holds the socket and nothing else. */
  get folder(): string {
    return dirname(this.path)
  }

  expect(token: string, door: WorkerDoor): void {
    this.#doors.set(token, door)
  }

  forget(token: string): void {
    this.#doors.delete(token)
  }

  async close(): Promise<void> {
    for (const socket of this.#strangers) socket.destroy()
    await new Promise<void>((resolve) => this.#server.close(() => resolve()))
    rmSync(dirname(this.path), { recursive: true, force: true })
  }

  #greet(socket: Socket): void {
    this.#strangers.add(socket)
    const late = setTimeout(() => socket.destroy(), helloTimeoutMs)
    let receiver: ReturnType<WorkerDoor["onConnected"]> | undefined
    const link: WorkerLink = new Link(
      socket,
      { out: toWorker, in: fromWorker },
      {
        onMessage: (message) => {
          if (receiver !== undefined) return receiver.onMessage(message)
          const door = message.type === "hello" ? this.#doors.get(message.token) : undefined
          if (door === undefined || message.type !== "hello" || message.version !== wireVersion) return link.abort()
          clearTimeout(late)
          this.#strangers.delete(socket)
          this.#doors.delete(message.token)
          receiver = door.onConnected(link)
        },
        onClose: (reason) => {
          clearTimeout(late)
          this.#strangers.delete(socket)
          receiver?.onClose(reason)
        },
      },
    )
  }
}
