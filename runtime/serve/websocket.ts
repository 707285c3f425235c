// The protocol over WebSocket: many clients, one nacre.
//
// Whoever shows the token may run code in every session, so the door is narrow: a token that is compared in constant time, no page of a browser
// whose origin was not named, this machine only unless it is asked for more. Behind it every client is bounded: messages, requests, unread
// bytes, sessions. A client is apart from its socket: one whose socket broke has `graceMs` to come back with `resume` and lose nothing;
// until then its evals go on. Who says goodbye is gone at once.
import { createHash, timingSafeEqual } from "node:crypto"
import { createServer } from "node:http"
import type { IncomingMessage, Server } from "node:http"
import type { Duplex } from "node:stream"
import { nanoid } from "nanoid"
import { WebSocketServer } from "ws"
import type { WebSocket } from "ws"
import { NacreError } from "../errors.ts"
import type { Nacre } from "../nacre.ts"
import { checkMilliseconds, refuseUnknown } from "../options.ts"
import { Connection } from "./connection.ts"
import { messageBytesMax } from "./framing.ts"
import { Link } from "./link.ts"

export interface ServeOptions {
  /** Whoever shows it may do everything that the protocol offers. At least 16 characters. */
  token: string
  /** Default "127.0.0.1": this machine only. */
  host?: string
  /** Default 0: any free one, which `url` tells. */
  port?: number
  /** Origins of pages that may connect, such as "https://notes.example". Default: none; what is no browser sends no origin. */
  origins?: readonly string[]
  /** Profiles of sessions that clients may open or use. Default `minimal` and `standard`: `full` is this machine's files and network. */
  profiles?: readonly string[]
  /** Milliseconds in which a client whose socket broke may come back. Default 30 s. */
  graceMs?: number
  /** Clients at once, with or without a socket. Default 64: each may cost some megabytes. */
  clientsMax?: number
  /** Live sessions that one client has opened or used. Default 1,000. */
  sessionsPerClientMax?: number
  /** Milliseconds between signs of life; a socket without one for that long is ended. Default 15 s. */
  pingMs?: number
  /** Milliseconds a client may take from connecting to `initialize`. Default 10 s. */
  initializeMs?: number
  /** Hears of failures that are Nacre's own fault. */
  onInternal?: (error: unknown) => void
}

/** A server that listens. */
export interface Served {
  /** "ws://127.0.0.1:4750" */
  readonly url: string
  /** Clients, with or without a socket. */
  readonly clients: number
  /** Lets requests under way end within the nacre's drain limit, tells every client, and closes. The nacre goes on. Idempotent. */
  stop(): Promise<void>
}

const optionNames: readonly (keyof ServeOptions)[] = [
  "token",
  "host",
  "port",
  "origins",
  "profiles",
  "graceMs",
  "clientsMax",
  "sessionsPerClientMax",
  "pingMs",
  "initializeMs",
  "onInternal",
]
const tokenMin = 16
/** What a client asks for, and beside it the token, where it cannot send a header. */
export const subprotocol = "nacre.v1"
const tokenProtocol = "nacre.token."
/** Milliseconds for a client to answer a goodbye. */
const goodbyeMs = 1_000
/** Milliseconds for the headers of a request: nobody may hold a socket without saying something. */
const headersMs = 10_000
/**
 * Codes of a client that closed its socket: an ordinary end, a page that went away, and one that gave no code. With any other the socket
 * broke.
 */
const goodbyeCodes = new Set([1000, 1001, 1005])
const neverInitialized = 4001

/** Serves a nacre to clients over WebSocket. Rejects with `invalid_options`, or with the system's error when it cannot listen. */
export async function serve(nacre: Nacre, options: ServeOptions): Promise<Served> {
  const server = new WebSocketServe(nacre, options)
  await server.listen()
  return server
}

/** A client: what it has asked for, and the way to it. */
interface Client {
  readonly id: string
  readonly link: Link
  readonly connection: Connection
  isEnded: boolean
  cancelGrace: () => void
}

/** A socket, and whose it is. */
interface Line {
  readonly socket: WebSocket
  client: Client
  isAlive: boolean
  unread: number
}

class WebSocketServe implements Served {
  readonly #nacre: Nacre
  readonly #options: Required<Omit<ServeOptions, "onInternal" | "token">> & Pick<ServeOptions, "onInternal">
  readonly #tokenDigest: Buffer
  readonly #server: Server
  readonly #sockets: WebSocketServer
  readonly #clients = new Map<string, Client>()
  readonly #lines = new Set<Line>()
  #pinging: NodeJS.Timeout | undefined
  #stopping: Promise<void> | undefined
  url = ""

  constructor(nacre: Nacre, options: ServeOptions) {
    checkOptions(options)
    const { token, ...rest } = options
    this.#nacre = nacre
    this.#tokenDigest = digestOf(token)
    this.#options = {
      host: "127.0.0.1",
      port: 0,
      origins: [],
      profiles: ["minimal", "standard"],
      graceMs: 30_000,
      clientsMax: 64,
      sessionsPerClientMax: 1_000,
      pingMs: 15_000,
      initializeMs: 10_000,
      ...rest,
    }
    this.#sockets = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      maxPayload: messageBytesMax,
      perMessageDeflate: false,
      handleProtocols: (offered) => (offered.has(subprotocol) ? subprotocol : false),
    })
    this.#server = createServer(
      { headersTimeout: headersMs, requestTimeout: headersMs, connectionsCheckingInterval: headersMs / 2 },
      (_request, response) => {
        response.writeHead(426, { connection: "close", "content-type": "text/plain" })
        response.end("This is a WebSocket server; see docs/PROTOCOL.md of nacre.\n")
      },
    )
    // Sockets that say nothing are bounded too.
    this.#server.maxConnections = this.#options.clientsMax * 2 + 16
    this.#server.on("upgrade", (request, socket, head) => this.#onUpgrade(request, socket, head))
  }

  get clients(): number {
    return this.#clients.size
  }

  async listen(): Promise<void> {
    const { host, port, pingMs } = this.#options
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject)
      this.#server.listen({ host, port }, () => {
        this.#server.removeListener("error", reject)
        resolve()
      })
    })
    const address = this.#server.address()
    const bound = typeof address === "object" && address !== null ? address.port : port
    this.url = `ws://${host.includes(":") ? `[${host}]` : host}:${bound}`
    this.#pinging = setInterval(() => this.#ping(), pingMs)
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<void> {
    clearInterval(this.#pinging)
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()))
    // Without a socket nobody waits for an answer.
    await Promise.all(
      Array.from(this.#clients.values(), async (client) => {
        if (client.link.socket !== undefined) await client.connection.shutdown(undefined)
        await this.#end(client, 1001, "The server stops.")
      }),
    )
    this.#server.closeAllConnections()
    await closed
  }

  // The door

  #onUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on("error", () => socket.destroy())
    const refusal = this.#refusalOf(request)
    if (refusal !== undefined) {
      const { status, text } = refusal
      const body = `${text}\n`
      const headers = `Connection: close\r\nContent-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(body)}`
      socket.end(`HTTP/1.1 ${status}\r\n${headers}\r\n\r\n${body}`)
      return
    }
    this.#sockets.handleUpgrade(request, socket, head, (accepted) => this.#onSocket(accepted))
  }

  #refusalOf({ url, headers }: IncomingMessage): { status: string; text: string } | undefined {
    const { origin } = headers
    if (this.#stopping !== undefined) return { status: "503 Service Unavailable", text: "The server stops." }
    if (url !== "/") return { status: "404 Not Found", text: "The protocol is served at /." }
    if (origin !== undefined && !this.#options.origins.includes(origin)) {
      return { status: "403 Forbidden", text: "This origin may not connect; the server has to name it." }
    }
    if (!this.#isAuthorized(headers)) {
      const text = `The token is missing or wrong: send Authorization: Bearer TOKEN, or the subprotocols ${subprotocol} and ${tokenProtocol}TOKEN.`
      return { status: "401 Unauthorized", text }
    }
    if (this.#clients.size < this.#options.clientsMax || this.#forgetOne()) return undefined
    return { status: "503 Service Unavailable", text: `There are ${this.#clients.size} clients, the maximum.` }
  }

  #isAuthorized({ authorization, "sec-websocket-protocol": protocols }: IncomingMessage["headers"]): boolean {
    const bearer = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1]
    const offered = protocols?.split(",").map((it) => it.trim())
    const token = bearer ?? offered?.find((it) => it.startsWith(tokenProtocol))?.slice(tokenProtocol.length)
    // Digests have one length, so that how much of it is right cannot be timed.
    return token !== undefined && timingSafeEqual(digestOf(token), this.#tokenDigest)
  }

  /** Makes room: the client that has been without a socket for longest has no more grace. */
  #forgetOne(): boolean {
    for (const client of this.#clients.values()) {
      if (client.link.socket !== undefined) continue
      void this.#end(client, 1000, "")
      return true
    }
    return false
  }

  // Sockets

  #onSocket(socket: WebSocket): void {
    const line: Line = { socket, client: this.#newClient(socket), isAlive: true, unread: 0 }
    this.#lines.add(line)
    const deadline = setTimeout(() => {
      if (!line.client.connection.isInitialized) socket.close(neverInitialized, "initialize did not come in time")
    }, this.#options.initializeMs)
    socket.on("message", (data, isBinary) => {
      line.isAlive = true
      const { link, connection } = line.client
      link.received += 1
      if (isBinary) connection.peer.refuse(new NacreError("invalid_request", "Messages are text frames, not binary."))
      else connection.peer.receive(textOf(data))
    })
    socket.on("pong", (data) => {
      line.isAlive = true
      line.client.link.onPong(data.toString())
    })
    socket.on("ping", () => {
      line.isAlive = true
    })
    // What is wrong with it, `close` follows and tells.
    socket.on("error", () => {})
    socket.on("close", (code) => {
      clearTimeout(deadline)
      this.#lines.delete(line)
      if (line.client.link.socket === socket) this.#onSocketGone(line.client, code)
    })
  }

  #newClient(socket: WebSocket): Client {
    const id = `con_${nanoid(21)}`
    const link = new Link(socket)
    const { onInternal, sessionsPerClientMax, profiles, graceMs } = this.#options
    const connection = new Connection(link, {
      nacre: Promise.resolve(this.#nacre),
      limits: this.#nacre.limits,
      sessionsMax: sessionsPerClientMax,
      profiles,
      resumable: { id, graceMs, resume: (params) => this.#resume(client, params) },
      ...(onInternal === undefined ? {} : { onInternal }),
    })
    const client: Client = { id, link, connection, isEnded: false, cancelGrace: () => {} }
    this.#clients.set(id, client)
    void connection.exited.then(() => this.#end(client, 1000, "exit"))
    return client
  }

  #onSocketGone(client: Client, code: number): void {
    client.link.detach()
    if (client.isEnded) return
    if (goodbyeCodes.has(code) || !client.connection.isInitialized) return void this.#end(client, code, "")
    // The one that has waited longest stands first.
    this.#clients.delete(client.id)
    this.#clients.set(client.id, client)
    const grace = setTimeout(() => void this.#end(client, 1000, ""), this.#options.graceMs)
    client.cancelGrace = () => clearTimeout(grace)
  }

  /** The client of a broken socket is back: this one's socket is its from the answer on. */
  #resume(fresh: Client, { connection: id, received }: { connection: string; received: number }) {
    const known = this.#clients.get(id)
    if (known === undefined || known === fresh || !known.connection.isInitialized) {
      fresh.link.uncountLast()
      const message = `There is no connection '${id}' to resume; its grace may have ended. Begin a new one with initialize.`
      throw new NacreError("connection_not_found", message)
    }
    if (received > known.link.sent) {
      fresh.link.uncountLast()
      const message = `resume: params.received must be at most ${known.link.sent}, which is all that was sent on '${id}', not ${received}.`
      throw new NacreError("invalid_options", message)
    }
    known.cancelGrace()
    // Its old socket may look alive to this side still.
    known.link.detach()?.terminate()
    fresh.link.onNextSent = () => {
      const line = this.#lineOf(fresh)
      // From here on the socket is no longer its own, and does not end with it.
      if (line !== undefined) line.client = known
      fresh.link.detach()
      void this.#end(fresh, 1000, "")
      if (line === undefined) return this.#onSocketGone(known, 1006)
      known.link.attach(line.socket, received)
    }
    return {
      received: known.link.received,
      missed: known.link.missedSince(received),
      inFlight: known.connection.peer.inFlightIds,
    }
  }

  /** Ends a client: what it asked for is stopped, its socket closed. */
  async #end(client: Client, code: number, reason: string): Promise<void> {
    if (client.isEnded) return
    client.isEnded = true
    client.cancelGrace()
    this.#clients.delete(client.id)
    const line = this.#lineOf(client)
    if (line !== undefined) await goodbye(line.socket, code, reason)
    await client.connection.close()
  }

  #lineOf(client: Client): Line | undefined {
    for (const line of this.#lines) if (line.client === client) return line
    return undefined
  }

  #ping(): void {
    for (const line of this.#lines) {
      const { socket, client } = line
      const unread = socket.bufferedAmount
      // A client that reads, slowly, is alive, although its pong waits behind what it has not read.
      const isReading = unread > 0 && unread < line.unread
      line.unread = unread
      if (!line.isAlive && !isReading) {
        socket.terminate()
        continue
      }
      line.isAlive = false
      client.link.ping()
    }
  }
}

/** Closes a socket; one that does not answer in time is cut off. */
async function goodbye(socket: WebSocket, code: number, reason: string): Promise<void> {
  if (socket.readyState === socket.CLOSED) return
  await new Promise<void>((resolve) => {
    const late = setTimeout(() => socket.terminate(), goodbyeMs)
    socket.once("close", () => {
      clearTimeout(late)
      resolve()
    })
    socket.resume()
    socket.close(code === 1001 ? code : 1000, reason)
  })
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest()
}

function textOf(data: Buffer | ArrayBuffer | Buffer[]): string {
  if (Buffer.isBuffer(data)) return data.toString()
  return Array.isArray(data) ? Buffer.concat(data).toString() : Buffer.from(data).toString()
}

function checkOptions(options: ServeOptions): void {
  refuseUnknown("serve", options, optionNames)
  const expect = (isFine: boolean, name: string, what: string): void => {
    if (!isFine) throw new NacreError("invalid_options", `${name} of serve must be ${what}.`)
  }
  const { token, host, port, origins, profiles, clientsMax, sessionsPerClientMax } = options
  const isToken = typeof token === "string" && token.length >= tokenMin && /^[\w.~+/=-]+$/.test(token)
  expect(isToken, "token", `at least ${tokenMin} letters, digits or characters of -._~+/=`)
  expect(host === undefined || (typeof host === "string" && host !== ""), "host", "a name or an address")
  expect(port === undefined || (Number.isInteger(port) && port >= 0 && port < 65_536), "port", "a number below 65536")
  const isList = Array.isArray(origins) && origins.every((it) => typeof it === "string")
  expect(origins === undefined || isList, "origins", "a list of origins, such as https://notes.example")
  const areProfiles = Array.isArray(profiles) && profiles.every((it) => typeof it === "string")
  expect(profiles === undefined || areProfiles, "profiles", "a list of profiles, such as minimal, standard")
  for (const [name, value] of Object.entries({ clientsMax, sessionsPerClientMax })) {
    expect(value === undefined || (Number.isInteger(value) && value > 0), name, "a positive whole number")
  }
  for (const name of ["graceMs", "pingMs", "initializeMs"] as const) {
    checkMilliseconds(name, options[name])
    expect(options[name] === undefined || options[name] < 2 ** 31, name, "below 2^31 milliseconds")
  }
}
