// Iteration by protocol over what session code passes in, as the web's classes do with their arguments.
//
// This runs session code on purpose, as the language would: nothing of ours is iterated this way.
import { applyFunction, iteratorSymbol, newList, TypeErrorOf } from "./intrinsics.ts"

/** Calls `visit` with each item; an iterator that is left early is closed. `method`: what its `Symbol.iterator` gave. */
export function iterateGiven(iterable: unknown, method: unknown, visit: (item: unknown) => void): void {
  if (typeof method !== "function") throw new TypeErrorOf("The value is not iterable.")
  const iterator = applyFunction(method, iterable, newList()) as Iterator<unknown>
  const next: unknown = iterator.next
  for (;;) {
    const step = applyFunction(next, iterator, newList()) as IteratorResult<unknown>
    if ((typeof step !== "object" || step === null) && typeof step !== "function")
      throw new TypeErrorOf("An iterator's result is no object.")
    if (step.done) return
    let isVisited = false
    try {
      visit(step.value)
      isVisited = true
    } finally {
      if (!isVisited) closeQuietly(iterator)
    }
  }
}

/** The items of an iterable, on a list of ours. */
export function givenItems(iterable: unknown): unknown[] {
  const items: unknown[] = newList()
  if (iterable === null || iterable === undefined) throw new TypeErrorOf("The value is not iterable.")
  iterateGiven(iterable, (iterable as Record<symbol, unknown>)[iteratorSymbol], (item) => {
    items[items.length] = item
  })
  return items
}

function closeQuietly(iterator: Iterator<unknown>): void {
  try {
    iterator.return?.()
  } catch {
    // What the visitor threw is what the caller hears of, as in the language.
  }
}
