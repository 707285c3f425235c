// Work for a session beside the eval that it has under way: in a realm made from the committed state, which is thrown away.
import type { Scheduler } from "../host/scheduler.ts"
import type { EvalRequest, Job, OutputMessage, Tenant } from "../host/worker-slot.ts"
import type { OutcomeStatus } from "../session/outcome.ts"
import type { ToolCalls, ToolResult } from "./tool-calls.ts"
import type { ChangeAnswer, ErrorRecord, WorkerOutcome } from "../wire/schema.ts"

/** How work on a change has ended. */
export interface ChangeEnd {
  readonly status: OutcomeStatus
  readonly because?: string | undefined
  readonly error?: ErrorRecord | undefined
  readonly answer?: ChangeAnswer | undefined
  /** The commit that it was done on. */
  readonly commit: number
}

/** An eval that ended by itself, or how it was stopped. */
export interface AsideEnd extends Omit<ChangeEnd, "commit"> {
  readonly outcome?: WorkerOutcome
}

/** What becomes of what the code does besides ending; nothing of it is heard otherwise. */
export interface AsideHandlers {
  readonly onOutput: (output: OutputMessage) => void
  /** Starts what answers its tool calls. */
  readonly tools: (answer: (result: ToolResult) => void) => Pick<ToolCalls, "start" | "abortAll">
}

/** Sends `message`, which has a checkpoint, to whatever worker of the session's group has room; calls `onEnd` once. */
export function runAside(
  scheduler: Scheduler,
  { group, session }: Pick<Tenant, "group" | "session">,
  message: EvalRequest,
  timeoutMs: number | undefined,
  onEnd: (end: AsideEnd) => void,
  handlers?: AsideHandlers,
): void {
  const { evalId } = message
  let tools: Pick<ToolCalls, "start" | "abortAll"> | undefined
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
  const end = (how: AsideEnd): void => {
    tools?.abortAll()
    tenant.worker?.evict(tenant)
    onEnd(how)
  }
  const job: Job = {
    evalId,
    tenant,
    timeoutMs,
    request: (seq) => ({ ...message, seq, session: tenant.session }),
    isUnseen: () => tools === undefined,
    onBegun: () => {},
    onParked: () => {},
    onOutput: (output) => handlers?.onOutput(output),
    onToolCall: (call) => {
      tools ??= handlers?.tools((result) => tenant.worker?.sendToolResult({ session: tenant.session, ...result }))
      tools?.start(call)
    },
    onOutcome: (outcome) => end({ status: outcome.status, error: outcome.error, answer: outcome.change, outcome }),
    onStopped: (status) => end({ status }),
    onLost: (because) => end({ status: "crashed", because }),
  }
  try {
    scheduler.submit(job)
  } catch (error) {
    onEnd({ status: "crashed", because: error instanceof Error ? error.message : String(error) })
  }
}
