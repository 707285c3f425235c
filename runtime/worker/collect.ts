// A full collection of this thread's heap, on request.
import { queryObjects } from "node:v8"

/**
 * Takes some hundred milliseconds. Counting objects begins with a full collection. The flag that exposes the engine's own function would show it
 * to session code of other threads, too, and the inspector is closed to hosts with fewer permissions.
 */
export function collectGarbage(): void {
  queryObjects(SharedArrayBuffer, { format: "count" })
}
