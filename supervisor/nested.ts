// A supervisor as another's child, in one readable piece.
import type { ChildSpec, SupervisorSpec } from "./child-spec.ts"
import { startSupervisor } from "./supervisor.ts"

/** The child specification of a nested supervisor: type `supervisor`, so by default it gets all the time it needs to stop. */
export function supervisorSpec(
  id: string,
  spec: SupervisorSpec,
  child: Omit<ChildSpec, "id" | "type" | "start"> = {},
): ChildSpec {
  return { ...child, id, type: "supervisor", start: (context) => startSupervisor(spec, context) }
}
