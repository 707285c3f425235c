// Time as an injected thing: everything that waits or measures takes a Clock, so that tests run on one they move by hand.

export interface Clock {
  /** Monotonic milliseconds. */
  now(): number
  /** Runs `callback` once after `ms`; returns a function that cancels it. Does not keep the process alive. */
  after(ms: number, callback: () => void): () => void
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
