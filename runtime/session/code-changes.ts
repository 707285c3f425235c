// What session code may do to its own definitions: `Session.current.proposeChange(…)` and its like.
//
// They are calls out of the session, as tools are: its eval is parked meanwhile, and stays in its revision. The capability is the embedder's to give: without
// an `onChange` there is none. It is asked for each proposal and each commit, before anything of it is read or made; what it throws is a
// veto, too. Session code says neither for whom it acts nor that it does: both stand in the record whatever it passes.
import { messageOf, NacreError } from "../errors.ts"
import { refuseUnknown } from "../options.ts"
import type { Tool, ToolContext } from "../shell/tool-calls.ts"
import type { RevisionRecord } from "../module/revision.ts"
import { changeNames } from "./changes.ts"
import type { Author, Change, Committed, Proposed, Rejected, SessionChanges } from "./changes.ts"

/** A change that session code asks for. */
export interface ChangeRequested {
  readonly op: "proposeChange" | "commitChange"
  readonly session: string
  readonly workspace: string
  /** The eval whose code asks. */
  readonly evalId: string
  /** On whose behalf that runs. */
  readonly principal?: string
  /** What it would declare and remove; of a commit, as it was proposed. */
  readonly change: Readonly<Change>
  /** Of a commit: the candidate, and what it was found to change when it was proposed. */
  readonly candidate?: Pick<Proposed, "candidate" | "parent" | "changed" | "removed" | "reinstantiated">
}

/** The embedder's answer. Session code sees the reason of a veto. */
export type ChangeVerdict = "allow" | { readonly veto: string }
export type OnChange = (request: ChangeRequested) => ChangeVerdict | Promise<ChangeVerdict>

export interface CodeChangesContext {
  readonly id: string
  readonly workspace: string
  readonly onChange: OnChange | undefined
  readonly changes: () => SessionChanges
  readonly history: (since: number) => RevisionRecord[]
}

const codeChangeNames = changeNames.filter((name) => name !== "principal")

/** What the realm calls for a method of `Session`; `undefined` for what is none of these. */
export function codeChangeTool(context: CodeChangesContext, name: string): Tool | undefined {
  const calls: Record<string, Tool> = {
    "Session.proposeChange": ([change], call) => propose(context, change, call),
    "Session.commitChange": ([candidate, options], call) => commit(context, candidate, options, call),
    "Session.abandonChange": ([candidate]) => context.changes().abandon(candidateOf(candidate)),
    "Session.history": ([since = 0]) => {
      if (typeof since === "number") return context.history(since)
      throw new NacreError("invalid_options", "history takes the number of a revision, or nothing.")
    },
  }
  if (!Object.hasOwn(calls, name)) return undefined
  return async (args, call) => {
    if (context.onChange === undefined) {
      const message = `${name} needs the capability 'change', which session '${context.id}' does not have: its embedder gives it with onChange.`
      throw new NacreError("capability_denied", message)
    }
    return calls[name]!(args, call)
  }
}

async function propose(context: CodeChangesContext, given: unknown, call: ToolContext): Promise<Proposed | Rejected> {
  const change = (typeof given === "string" ? { source: given } : given) as Change
  refuseUnknown("proposeChange", change, codeChangeNames)
  const changes = context.changes()
  const veto = await ask(context, { op: "proposeChange", ...callerOf(context, call), change })
  if (veto !== undefined) return changes.vetoed(veto)
  return changes.propose(change, authorOf(context, call))
}

async function commit(
  context: CodeChangesContext,
  given: unknown,
  options: unknown = {},
  call: ToolContext,
): Promise<Committed | Rejected> {
  refuseUnknown("commitChange", options, ["rebase"])
  const { rebase = false } = options as { rebase?: boolean }
  const changes = context.changes()
  const id = candidateOf(given)
  const { change, proposed } = changes.describe(id)
  const veto = await ask(context, { op: "commitChange", ...callerOf(context, call), change, candidate: proposed })
  if (veto !== undefined) return changes.vetoed(veto)
  return changes.commit(id, { rebase })
}

/** Why it is refused; `undefined` when it is not. */
async function ask({ onChange }: CodeChangesContext, request: ChangeRequested): Promise<string | undefined> {
  let verdict: ChangeVerdict
  try {
    verdict = await onChange!(request)
  } catch (error) {
    return `onChange failed: ${messageOf(error)}`
  }
  if (verdict === "allow") return undefined
  const { veto } = (verdict ?? {}) as { veto?: unknown }
  return typeof veto === "string" ? veto : `onChange answered neither "allow" nor { veto: reason }.`
}

function candidateOf(given: unknown): string {
  if (typeof given === "string") return given
  throw new NacreError("invalid_options", "A candidate is named by the id that proposeChange gave.")
}

function callerOf({ id, workspace }: CodeChangesContext, { evalId, principal }: ToolContext) {
  return { session: id, workspace, evalId, ...(principal !== undefined && { principal }) }
}

function authorOf({ id }: CodeChangesContext, { evalId, principal }: ToolContext): Author {
  return { principal: `session:${id}`, evalId, ...(principal !== undefined && { onBehalfOf: principal }) }
}
