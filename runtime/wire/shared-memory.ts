// The few words that a worker thread shares with its host's main thread, so that the truth about a thread that does not answer can
// still be read: which eval it entered last, whether its loop still turns, and which evals it must not begin any more.
//
// The fence is Dekker's handshake: the worker stores ENTERED and then reads the fence, the host stores the fence and then reads
// ENTERED. Atomics are sequentially consistent, so at least one of them sees the other: a fenced eval is either not begun, or known to
// have begun, and never both run and run again elsewhere.

/** Sequence number of the eval whose code the thread entered last; 0 when none has been since the last turn. */
export const ENTERED = 0
/** Counts answers of the thread's loop to pings. */
export const TURN = 1
/** Evals numbered FENCE_FROM to FENCE_TO, both included, must not begin; FENCE_FROM 0 is no fence. */
export const FENCE_FROM = 2
export const FENCE_TO = 3
/** 1 while the thread waits in a synchronous call; the host stores 0 and notifies when the answer is on the port. */
export const WAITING = 4

export type SharedWords = Int32Array<SharedArrayBuffer>

export function allocateSharedWords(): SharedWords {
  return new Int32Array(new SharedArrayBuffer(5 * Int32Array.BYTES_PER_ELEMENT))
}

/** The worker's side: true when the eval may begin. */
export function enter(words: SharedWords, seq: number): boolean {
  Atomics.store(words, ENTERED, seq)
  const from = Atomics.load(words, FENCE_FROM)
  if (from === 0 || seq < from || seq > Atomics.load(words, FENCE_TO)) return true
  Atomics.store(words, ENTERED, 0)
  return false
}

/** The host's side: fences `from` to `to` and returns the eval that the thread is in, if any: it has begun although it may be fenced. */
export function raiseFence(words: SharedWords, from: number, to: number): number {
  Atomics.store(words, FENCE_TO, to)
  Atomics.store(words, FENCE_FROM, from)
  return Atomics.load(words, ENTERED)
}
