// The few words that a worker thread shares with its host's main thread, so that the truth about a thread that does not answer can
// still be read: which eval it entered last, whether its loop still turns, and which evals it must not begin any more.
//
// The fence is Dekker's handshake: the worker stores BEGUN and then reads the fence, the host stores the fence and then reads BEGUN.
// Atomics are sequentially consistent, so at least one of them sees the other: a fenced eval is either not begun, or known to have
// begun, and never both run and run again elsewhere. An eval may be reported as begun and be skipped all the same; its worker says so.

/** Sequence number of the eval whose code the thread entered last; 0 when none has been since the last turn. */
export const ENTERED = 0
/** Counts answers of the thread's loop to pings. */
export const TURN = 1
/** Evals numbered FENCE_FROM to FENCE_TO, both included, must not begin; FENCE_FROM 0 is no fence. */
export const FENCE_FROM = 2
export const FENCE_TO = 3
/** Highest sequence number of an eval that has begun, or been looked at to begin. Evals begin in order. */
export const BEGUN = 5
/** 1 while the thread waits in a synchronous call; the host stores 0 and notifies when the answer is on the port. */
export const WAITING = 4
/** Generation of the workspace's globals that the thread must have seen: moved by every write, 0 while there never was one. */
export const GENERATION = 6

export type SharedWords = Int32Array<SharedArrayBuffer>

export function allocateSharedWords(): SharedWords {
  return new Int32Array(new SharedArrayBuffer(7 * Int32Array.BYTES_PER_ELEMENT))
}

/** The worker's side: true when the eval may begin. */
export function enter(words: SharedWords, seq: number): boolean {
  Atomics.store(words, BEGUN, seq)
  if (isFenced(words, seq)) return false
  Atomics.store(words, ENTERED, seq)
  return true
}

function isFenced(words: SharedWords, seq: number): boolean {
  for (;;) {
    const from = Atomics.load(words, FENCE_FROM)
    if (from === 0 || seq < from) return false
    const to = Atomics.load(words, FENCE_TO)
    // Both words belong to one fence only when the first still stands: starts never come back.
    if (Atomics.load(words, FENCE_FROM) === from) return seq <= to
  }
}

/** The host's side: fences `from` to `to` and returns the last eval that has begun: up to it, nothing was taken back. */
export function raiseFence(words: SharedWords, from: number, to: number): number {
  // Down first: the new end with the old start would hold what lies between two fences.
  Atomics.store(words, FENCE_FROM, 0)
  Atomics.store(words, FENCE_TO, to)
  Atomics.store(words, FENCE_FROM, from)
  return Atomics.load(words, BEGUN)
}

/** Raises the generation; an older one that comes late changes nothing. It may wrap: the distance tells which one is newer. */
export function raiseGeneration(words: SharedWords, generation: number): void {
  for (;;) {
    const before = Atomics.load(words, GENERATION)
    if (before !== 0 && ((generation - before) | 0) <= 0) return
    if (Atomics.compareExchange(words, GENERATION, before, generation) === before) return
  }
}
