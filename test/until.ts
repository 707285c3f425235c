// Waiting for a condition, never for a time: it is looked at again each time the loop has turned, until it holds or its deadline passes.
import { setTimeout as sleep } from "node:timers/promises"

/** Resolves with what `look` gives as soon as that is neither false nor undefined. Rejects, naming `what`, when it does not in time. */
export async function until<T>(
  what: string,
  look: () => T | false | undefined | Promise<T | false | undefined>,
  deadlineMs = 60_000,
): Promise<T> {
  const deadline = performance.now() + deadlineMs
  for (;;) {
    const found = await look()
    if (found !== false && found !== undefined) return found
    if (performance.now() > deadline) throw new Error(`Waited ${deadlineMs} ms in vain for: ${what}`)
    // The pause only keeps a busy machine free; how long it takes decides nothing.
    await sleep(2)
  }
}

export interface Gate {
  readonly opened: Promise<void>
  open(): void
}

/** A promise that a test settles by hand. */
export function gate(): Gate {
  let open!: () => void
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open }
}
