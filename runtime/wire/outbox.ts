// Outcomes of a worker that wait to leave together, in memory that its host's main thread can read.
//
// Each write to a sleeping peer costs as much as a short eval, so a busy worker collects a few outcomes before it sends them. Meanwhile it
// runs other code, which may never let the thread go, or die with it; so what waits here must not need the thread to leave. The host
// looks in from time to time and takes what has waited too long, and whatever is left when the thread has ended. Only a death of the whole
// process loses it: then the evals in question have died with their host, unseen.
//
// One word is a lock, held for the copy of a few hundred bytes. A thread that is terminated while it holds the lock leaves LENGTH true, since
// bytes are written before they are counted and forgotten before they are sent.

const LOCK = 0
/** Bytes that wait. */
const LENGTH = 1
/** Counts how often the box was emptied, so that the host can tell what has waited since it looked last. */
const EMPTIED = 2

const free = 0
const held = 1

const headerBytes = 3 * Int32Array.BYTES_PER_ELEMENT
/** Some hundred outcomes of ordinary evals; larger ones go at once. */
const capacityBytes = 64 * 1024

export class Outbox {
  readonly memory: SharedArrayBuffer
  readonly #words: Int32Array<SharedArrayBuffer>
  readonly #bytes: Uint8Array<SharedArrayBuffer>
  #seen = -1
  /** Frames put since it was emptied from this side. */
  count = 0

  /** Without `memory` a new one; with it the other side's view of the same box. */
  constructor(memory = new SharedArrayBuffer(headerBytes + capacityBytes)) {
    this.memory = memory
    this.#words = new Int32Array(memory, 0, 3)
    this.#bytes = new Uint8Array(memory, headerBytes)
  }

  // The worker's side

  /** Adds a whole frame; false when it has no room. */
  put(frame: Uint8Array): boolean {
    this.#lock()
    const length = Atomics.load(this.#words, LENGTH)
    const isRoom = length + frame.length <= capacityBytes
    if (isRoom) {
      this.#bytes.set(frame, length)
      Atomics.store(this.#words, LENGTH, length + frame.length)
      this.count += 1
    }
    this.#unlock()
    return isRoom
  }

  /** Takes everything, in order; undefined when nothing waits, as after the host has taken it. */
  take(): Uint8Array | undefined {
    this.count = 0
    this.#lock()
    const taken = this.#empty()
    this.#unlock()
    return taken
  }

  // The host's side

  /** Takes what has waited since this was called last. Never waits for the worker. */
  takeStale(): Uint8Array | undefined {
    if (Atomics.load(this.#words, LENGTH) === 0) return undefined
    const emptied = Atomics.load(this.#words, EMPTIED)
    const isStale = emptied === this.#seen
    this.#seen = emptied
    if (!isStale || Atomics.compareExchange(this.#words, LOCK, free, held) !== free) return undefined
    const taken = this.#empty()
    this.#unlock()
    return taken
  }

  /** Takes what a thread has left that has ended, whatever it was doing. */
  takeLeft(): Uint8Array | undefined {
    return this.#empty()
  }

  #empty(): Uint8Array | undefined {
    const length = Atomics.load(this.#words, LENGTH)
    if (length === 0) return undefined
    const taken = Uint8Array.from(this.#bytes.subarray(0, length))
    Atomics.store(this.#words, LENGTH, 0)
    Atomics.add(this.#words, EMPTIED, 1)
    return taken
  }

  #lock(): void {
    // The other side holds it for microseconds, and is a thread that runs no user code.
    while (Atomics.compareExchange(this.#words, LOCK, free, held) !== free) Atomics.wait(this.#words, LOCK, held, 1)
  }

  #unlock(): void {
    Atomics.store(this.#words, LOCK, free)
    Atomics.notify(this.#words, LOCK)
  }
}
