// A way to a served nacre that a test can cut, and that can be opened again.
import { createServer, connect as connectTcp } from "node:net"
import type { Server, Socket } from "node:net"

/** A way to the server that a test can cut. */
export class Wire {
  readonly #sockets = new Set<Socket>()
  readonly #server: Server
  isCut = false
  url = ""

  constructor(servedAt: string) {
    this.#server = createServer((near) => {
      if (this.isCut) {
        near.destroy()
        return
      }
      const { hostname, port } = new URL(servedAt)
      const far = connectTcp({ host: hostname, port: Number(port) })
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(from)
        from.on("error", () => {})
        from.on("close", () => {
          this.#sockets.delete(from)
          to.destroy()
        })
        from.pipe(to)
      }
    })
  }

  async open(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve))
    this.url = `ws://127.0.0.1:${(this.#server.address() as { port: number }).port}`
    return this
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  async close(): Promise<void> {
    this.cut()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}
