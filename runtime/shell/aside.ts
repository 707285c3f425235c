// Work for a session beside the eval that it has under way: in a realm made from the committed state, which is thrown away.
import type { Scheduler } from "../host/scheduler.ts"
import type { EvalRequest, Job, Tenant } from "../host/worker-slot.ts"
import type { OutcomeStatus } from "../session/outcome.ts"
import type { ChangeAnswer, ErrorRecord } from "../wire/schema.ts"

/** How work on a change has ended. */
export interface ChangeEnd {
  readonly status: OutcomeStatus
  readonly because?: string | undefined
  readonly error?: ErrorRecord | undefined
  readonly answer?: ChangeAnswer | undefined
  /** The commit that it was done on. */
  readonly commit: number
}

/** Sends `message`, which has a checkpoint, to whatever worker of the session's group has room; calls `onEnd` once. */
export function runAside(
  scheduler: Scheduler,
  { group, session }: Tenant,
  message: EvalRequest,
  timeoutMs: number,
  onEnd: (end: Omit<ChangeEnd, "commit">) => void,
): void {
  const { evalId } = message
  const tenant: Tenant = {
    session: `${session}/${evalId}`,
    group,
    worker: undefined,
    commit: -1,
    holdsEphemerals: false,
    apart: 0,
    usedAt: 0,
    onRealmLost: () => {},
  }
  const end = (how: Omit<ChangeEnd, "commit">): void => {
    tenant.worker?.evict(tenant)
    onEnd(how)
  }
  const job: Job = {
    evalId,
    tenant,
    timeoutMs,
    request: (seq) => ({ ...message, seq, session: tenant.session }),
    isUnseen: () => true,
    onBegun: () => {},
    onParked: () => {},
    onOutput: () => {},
    onToolCall: () => {},
    onOutcome: ({ status, error, change: answer }) => end({ status, error, answer }),
    onStopped: (status) => end({ status }),
    onLost: (because) => end({ status: "crashed", because }),
  }
  try {
    scheduler.submit(job)
  } catch (error) {
    onEnd({ status: "crashed", because: error instanceof Error ? error.message : String(error) })
  }
}
