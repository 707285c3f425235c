// What does one warm eval cost, and where does the time go?
//
// `x = x + 1` in one session, one at a time, beside a bare echo of messages of the same sizes between the same kinds of processes, in
// alternating rounds of one run. Then a breakdown: the worker's own times travel in its outcome message, and the moments at which the
// request leaves and the answer arrives are read at the embedder's socket, from outside the product and in rounds of their own.
import { Socket } from "node:net"
import { Packr } from "msgpackr"
import type { FrameReader as FrameReaderType } from "../runtime/wire/frame.ts"
import type * as schema from "../runtime/wire/schema.ts"
import { startEcho } from "./parts/echo.ts"
import { isQuick, over, quantile, report, short, show } from "./parts/figures.ts"
import { allHostsReady, built, builtFile } from "./parts/processes.ts"

const rounds = isQuick ? 5 : 15
const perRound = isQuick ? 300 : 1_000
const source = "x = x + 1"

const { Nacre } = await built()
const nacre = await Nacre.start()
await allHostsReady(nacre)
const session = await nacre.open()
await session.run("let x = 0")

const evalOnce = async (): Promise<void> => {
  const outcome = await session.eval(source)
  if (outcome.status !== "ok") throw new Error(`The eval ended as ${outcome.status}.`)
}

for (let i = 0; i < 3_000; i += 1) await evalOnce()
const socket = workerSocket()
const [writtenBefore, readBefore] = [socket.bytesWritten, socket.bytesRead]
for (let i = 0; i < 100; i += 1) await evalOnce()
const requestBytes = Math.round((socket.bytesWritten - writtenBefore) / 100)
const responseBytes = Math.round((socket.bytesRead - readBefore) / 100)

const echo = await startEcho(requestBytes, responseBytes)
for (let i = 0; i < 3_000; i += 1) await echo.roundTrip()

const evals: number[][] = []
const echoes: number[][] = []
for (let round = 0; round < rounds; round += 1) {
  echoes.push(await timeUs(perRound, () => echo.roundTrip()))
  evals.push(await timeUs(perRound, evalOnce))
}
const p50 = (samples: number[]) => quantile(samples, 0.5)
const p99 = (samples: number[]) => quantile(samples, 0.99)
const ratios = evals.map((samples, round) => p50(samples) / p50(echoes[round]!))
for (const [name, samples] of [
  ["echo", echoes],
  ["eval", evals],
] as const) {
  const [half, tail] = [over(samples.map(p50)), over(samples.map(p99))]
  report("eval-latency", name, `p50 ${show(half, " us")}, p99 ${show(tail, " us")}`, { p50Us: half, p99Us: tail })
}
const ratio = over(ratios)
report("eval-latency", "eval over echo, p50", show(ratio), { ratio, requestBytes, responseBytes }, "<= 2")
await echo.stop()

await breakDown()
await nacre.stop()

async function timeUs(times: number, once: () => Promise<void>): Promise<number[]> {
  const samples: number[] = []
  for (let i = 0; i < times; i += 1) {
    const from = performance.now()
    await once()
    samples.push((performance.now() - from) * 1_000)
  }
  return samples
}

/** The socket of the worker that holds the session: the one whose counters move when it evaluates. */
function workerSocket(): Socket {
  const activeHandles = Reflect.get(process, "_getActiveHandles") as () => unknown[]
  const handles = activeHandles()
  const sockets = handles.filter((handle): handle is Socket => handle instanceof Socket)
  return sockets.toSorted((a, b) => b.bytesRead - a.bytesRead)[0]!
}

async function breakDown(): Promise<void> {
  const { FrameReader } = await builtFile<{ FrameReader: typeof FrameReaderType }>("runtime/wire/frame.js")
  const { decoder, fromWorker } = await builtFile<typeof schema>("runtime/wire/schema.js")
  const decode = decoder(fromWorker)
  const packr = new Packr({ useRecords: false, copyBuffers: true })
  let [sentAt, arrivedAt] = [0, 0]
  const worker: number[][] = []
  const reader = new FrameReader((payload) => {
    const message = decode(packr.unpack(payload))
    if (message.type === "outcome") worker.push(message.times.map((ms) => ms * 1_000))
  })
  const write = socket.write.bind(socket)
  socket.write = ((...args: Parameters<typeof write>) => {
    sentAt = performance.now()
    return write(...args)
  }) as typeof socket.write
  const chunks: Uint8Array[] = []
  socket.prependListener("data", (chunk: Uint8Array) => {
    arrivedAt = performance.now()
    chunks.push(Uint8Array.from(chunk))
  })
  const samples: Record<string, number[]> = {
    "embedder, to the socket": [],
    "socket to socket": [],
    "embedder, from the socket": [],
    total: [],
  }
  for (let i = 0; i < rounds * perRound; i += 1) {
    const from = performance.now()
    await evalOnce()
    const to = performance.now()
    samples["embedder, to the socket"]!.push((sentAt - from) * 1_000)
    samples["socket to socket"]!.push((arrivedAt - sentAt) * 1_000)
    samples["embedder, from the socket"]!.push((to - arrivedAt) * 1_000)
    samples["total"]!.push((to - from) * 1_000)
    // Read after the clock has stopped.
    for (const chunk of chunks.splice(0)) reader.push(chunk)
  }
  for (const [at, name] of ["worker: find and compile", "worker: run", "worker: turn, commit, show"].entries()) {
    samples[name] = worker.map((times) => times[at] ?? NaN)
  }
  const inWorker = worker.map((times) => times.reduce((sum, us) => sum + us, 0))
  samples["socket to socket, less worker"] = samples["socket to socket"]!.map((us, i) => us - (inWorker[i] ?? 0))
  for (const [name, values] of Object.entries(samples)) {
    const figure = { p50Us: quantile(values, 0.5), p99Us: quantile(values, 0.99) }
    report("eval-latency", name, `p50 ${short(figure.p50Us)} us, p99 ${short(figure.p99Us)} us`, figure)
  }
}
