// Full collections of this thread's heap, which free the realms that have been dropped.
//
// Left alone, the engine lets a heap grow to several times what is alive in it before it looks at realms, which are old to it. Its `gc` takes
// some 250 ms for 400 living realms. `v8.queryObjects` begins with seven of these, and `vm.measureMemory` marks for minutes where there are
// hundreds of realms (measured on Node 20.20 and 24.22).
import { getHeapStatistics, setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

/** Realms made between two looks at how many there are. */
const realmsPerLook = 16
/** Dropped realms that are left for the engine to find, besides as many as there are living ones. */
const droppedMin = 128

/**
 * Realms that are made while the flag is set have `gc`, too: one of another thread may be, so every realm takes it away before code of a session runs
 * (`stdlib/realm.ts`).
 */
function engineCollection(): () => void {
  setFlagsFromString("--expose-gc")
  try {
    return runInNewContext("gc") as () => void
  } finally {
    setFlagsFromString("--no-expose-gc")
  }
}

export class Collector {
  readonly #collect = engineCollection()
  #realmsMade = 0

  collect(): void {
    this.#collect()
  }

  /** For each realm that is made; collects when more have been dropped than are alive. */
  noteRealm(living: number): void {
    if (++this.#realmsMade % realmsPerLook !== 0) return
    if (getHeapStatistics().number_of_native_contexts > 2 * living + droppedMin) this.collect()
  }
}
