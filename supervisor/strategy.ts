// Which children a restart takes along.
//
// one_for_one and simple_one_for_one: nobody. one_for_all: everybody. rest_for_one: those started after it. Who is taken along is
// stopped in reverse start order; then every specification that is left in the group starts, in start order, also one that had
// ended normally, was stopped by an admin call, or had said `ignore`.
import { inReverseOrder, inStartOrder, type Child, type Children } from "./children.ts"
import type { Strategy } from "./child-spec.ts"

export interface GroupRestart {
  /** Slots to stop, in this order. */
  readonly stops: readonly number[]
  /** Slots to start once all have stopped, in this order. */
  readonly starts: readonly number[]
}

export function planRestart(strategy: Strategy, children: Children, failed: Child): GroupRestart {
  if (strategy === "one_for_one" || strategy === "simple_one_for_one") return { stops: [], starts: [failed.slot] }
  const first = strategy === "one_for_all" ? 0 : failed.slot
  const stops: number[] = []
  for (const child of inReverseOrder(children)) {
    if (child.slot < first) break
    if (child.slot !== failed.slot) stops.push(child.slot)
  }
  const starts: number[] = []
  for (const child of inStartOrder(children)) {
    if (child.slot >= first && child.spec.restart !== "temporary") starts.push(child.slot)
  }
  return { stops, starts }
}
