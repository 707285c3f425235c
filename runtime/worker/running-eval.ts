// One eval on this thread, from when it is begun until its outcome is sent: what it has under way, and what it said.
//
// An object of this class is what AsyncLocalStorage carries through everything the eval starts; so whatever code runs, its eval is known,
// and once `hasEnded` is set every outside call of that code is refused.
import type { FieldsOf } from "../wire/schema.ts"
import type { fromWorker, toWorker } from "../wire/schema.ts"
import type { Compiled } from "./compile-cache.ts"
import type { Definition, Resident } from "./resident.ts"

export type EvalMessage = FieldsOf<typeof toWorker.eval>
export type NestedMessage = FieldsOf<typeof toWorker.nested>
export type OutputChunkMessage = FieldsOf<typeof fromWorker.output>

/** Characters collected before output is sent within a turn. */
const flushChars = 8 * 1024

export class RunningEval {
  readonly message: EvalMessage
  readonly resident: Resident
  /** Made when the first one is set, as are its calls: most evals have neither. */
  timers: Map<number, { handle: NodeJS.Timeout; repeats: boolean }> | undefined
  toolCalls: Set<number> | undefined
  /** Queued writes as the shell has them, without their values. */
  readonly queue: { op: "atPut" | "removeKey" | "clear"; key: string }[] = []
  /** Call ids of writes whose answer came too late: their code was told that they failed. */
  readonly cancelled: number[] = []
  readonly abandoned: { kind: string }[] = []
  compiled: Compiled | undefined
  isParked = false
  /** The realm is being built for it: imports of the session are made again. */
  isPreparing = false
  hasEnded = false
  hasUncaught = false
  exitCode: number | undefined
  isCheckScheduled = false
  omittedBytes = 0
  /** Writes that left at once. */
  prompt = 0
  /** The eval that waits for this one, and the one that this one waits for. */
  readonly parent: RunningEval | undefined
  child: RunningEval | undefined
  /** The one that its shell and its scheduler know: itself, unless it is nested. */
  readonly root: RunningEval
  /** How many are around it. */
  readonly depth: number
  /** Came before the first turn of this one had passed. */
  waitingNested: NestedMessage | undefined
  /** An eval has run inside of it; what those have defined. */
  hadNested = false
  nestedDefinitions: Map<string, Definition> | undefined
  readonly times = { begunAt: 0, compiledAt: 0, ranAt: 0 }
  readonly #outputBytesMax: number
  readonly #send: (chunk: OutputChunkMessage) => void
  #outputBytes = 0
  #omittedSent = 0
  #seq = 0
  #stream: "stdout" | "stderr" = "stdout"
  #text = ""

  constructor(
    message: EvalMessage,
    resident: Resident,
    send: (chunk: OutputChunkMessage) => void,
    parent?: RunningEval,
  ) {
    this.message = message
    this.parent = parent
    this.root = parent?.root ?? this
    this.depth = parent === undefined ? 0 : parent.depth + 1
    this.resident = resident
    this.#outputBytesMax = message.limits[0] ?? 0
    this.#send = send
  }

  get hasTimers(): boolean {
    return this.timers !== undefined && this.timers.size > 0
  }

  get hasToolCalls(): boolean {
    return this.toolCalls !== undefined && this.toolCalls.size > 0
  }

  /** Whether anything of its own can still make it go on. */
  get hasPending(): boolean {
    return this.hasTimers || this.hasToolCalls
  }

  write(stream: "stdout" | "stderr", text: string): void {
    if (stream !== this.#stream) {
      this.flush()
      this.#stream = stream
    }
    const bytes = Buffer.byteLength(text)
    const room = this.#outputBytesMax - this.#outputBytes
    if (bytes > room) {
      // A character has at least one byte: what is beyond that many is not looked at.
      const kept = cutUtf8(text.slice(0, Math.max(room, 0)), room)
      this.omittedBytes += bytes - Buffer.byteLength(kept)
      text = kept
    }
    this.#outputBytes += Math.min(bytes, Math.max(room, 0))
    this.#text += text
    if (this.#text.length >= flushChars) this.flush()
  }

  /** Sends what was written, and how much was not kept: the eval's thread may be killed before an outcome could say it. */
  flush(): void {
    const { omittedBytes } = this
    if (this.#text === "" && omittedBytes === this.#omittedSent) return
    this.#omittedSent = omittedBytes
    const seq = this.#text === "" ? this.#seq : this.#seq++
    this.#send({ evalId: this.message.evalId, stream: this.#stream, text: this.#text, seq, omittedBytes })
    this.#text = ""
  }

  /** Nothing of the eval goes on: its timers are cancelled and named, its tool calls forgotten. */
  end(): void {
    this.hasEnded = true
    const { timers, toolCalls } = this
    const { api } = this.resident.realm
    if (timers !== undefined) {
      for (const [id, { handle, repeats }] of timers) {
        clearTimeout(handle)
        api.forgetTimer(id)
        this.abandoned.push({ kind: repeats ? "interval" : "timeout" })
      }
      timers.clear()
    }
    if (toolCalls !== undefined) {
      for (const callId of toolCalls) {
        api.forgetTool(callId)
        this.abandoned.push({ kind: "tool" })
      }
      toolCalls.clear()
    }
  }
}

/** The longest start of a text that has at most `bytes` bytes and does not cut a character. */
function cutUtf8(text: string, bytes: number): string {
  if (bytes <= 0) return ""
  const encoded = Buffer.from(text)
  let end = bytes
  while (end > 0 && (encoded[end]! & 0xc0) === 0x80) end -= 1
  return encoded.toString("utf8", 0, end)
}
