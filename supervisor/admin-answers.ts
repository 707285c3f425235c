// Answers to admin requests that only read the state, and the checks before a child is added. Pure.
import type { AdminError, ChildCounts, ChildEntry, NewChild, Refused } from "./admin.ts"
import { checkChildSpec, type ResolvedChildSpec, type ResolvedFlags } from "./child-spec.ts"
import { childById, inReverseOrder, inStartOrder, type Children } from "./children.ts"

/** The part of a supervisor's state that answers are made from. */
interface AdminView {
  readonly flags: ResolvedFlags
  readonly template: ResolvedChildSpec | undefined
  readonly children: Children
}

export function refuse(error: AdminError): Refused {
  return { ok: false, error }
}

/** What to start for a `startChild` request, or why not: the specification first, then the id, then the limit. */
export function startRequest(
  state: AdminView,
  child: NewChild,
): { readonly spec: ResolvedChildSpec; readonly args: readonly unknown[] } | Refused {
  const { flags, template, children } = state
  const overLimit = children.bySlot.size >= flags.childrenMax
  if (template !== undefined) {
    if (!isArguments(child)) {
      return refuse({ kind: "invalid_spec", problem: { kind: "invalid_child_spec", value: child } })
    }
    return overLimit
      ? refuse({ kind: "max_children", childrenMax: flags.childrenMax })
      : { spec: template, args: child }
  }
  const checked = isArguments(child)
    ? { ok: false as const, problem: { kind: "invalid_child_spec" as const, value: child } }
    : checkChildSpec(child, flags.autoShutdown)
  if (!checked.ok) return refuse({ kind: "invalid_spec", problem: checked.problem })
  const present = childById(children, checked.value.id)
  if (present?.status === "running") return refuse({ kind: "already_started", process: present.process })
  if (present !== undefined) return refuse({ kind: "already_present" })
  return overLimit
    ? refuse({ kind: "max_children", childrenMax: flags.childrenMax })
    : { spec: checked.value, args: [] }
}

/** Newest first, as OTP lists them. */
export function listChildren({ children }: AdminView): readonly ChildEntry[] {
  return Array.from(inReverseOrder(children), ({ spec, status, process }) => ({
    id: children.hasIds ? spec.id : undefined,
    status,
    process: status === "running" ? process : undefined,
    type: spec.type,
  }))
}

export function countChildren({ children, template }: AdminView): ChildCounts {
  const size = children.bySlot.size
  if (template !== undefined) {
    const isSupervisor = template.type === "supervisor"
    return {
      specs: 1,
      active: size - children.restartingCount,
      supervisors: isSupervisor ? size : 0,
      workers: isSupervisor ? 0 : size,
    }
  }
  let active = 0
  let supervisors = 0
  for (const { process, status, spec } of inStartOrder(children)) {
    if (status === "running" && process?.isAlive === true) active++
    if (spec.type === "supervisor") supervisors++
  }
  return { specs: size, active, supervisors, workers: size - supervisors }
}

function isArguments(child: NewChild): child is readonly unknown[] {
  return Array.isArray(child)
}
