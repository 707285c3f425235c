// What a start returned, turned into a process.
import { ChildProcess } from "node:child_process"
import { actorProcess, discardActor, isActor } from "./actor-process.ts"
import { osProcess } from "./os-process.ts"
import type { Startable } from "./child-spec.ts"
import { Process } from "./process.ts"
import type { ExitReason } from "./reason.ts"
import { Supervisor } from "./supervisor.ts"
import type { System } from "./system.ts"

export type ReadStart =
  | "ignore"
  | { readonly error: ExitReason }
  | { readonly child: Startable; readonly info: unknown }

/** Sorts a start's result; anything that is none of the documented shapes is an error that says what came. */
export function readStart(value: unknown): ReadStart {
  if (value === "ignore") return "ignore"
  if (typeof value !== "object" || value === null) return { error: { badReturn: value } }
  if (isStartable(value)) return { child: value, info: undefined }
  if ("child" in value && typeof value.child === "object" && value.child !== null && isStartable(value.child)) {
    return { child: value.child, info: "info" in value ? value.info : undefined }
  }
  if ("error" in value && isExitReason(value.error)) return { error: value.error }
  return { error: { badReturn: value } }
}

/** Throws when the thing is dead already or fails while it is started. */
export function adoptChild(system: System, child: Startable, label: string): Process {
  if (child instanceof Process) return ofSystem(system, child)
  if (child instanceof Supervisor) return ofSystem(system, child.process)
  if (child instanceof ChildProcess) return new Process(system, osProcess(child), label)
  if (isActor(child)) return new Process(system, actorProcess(child), label)
  return new Process(system, child, label)
}

/** Ends what came too late. An actor that has not run yet never does. */
export function discardChild(system: System, child: Startable, label: string): void {
  if (!(child instanceof Process) && isActor(child)) discardActor(child)
  else adoptChild(system, child, label).kill()
}

/** Serial numbers are a system's own: two children of two systems could not be told apart. */
function ofSystem(system: System, process: Process): Process {
  if (process.system === system) return process
  process.kill()
  throw new Error(
    `'${process.label}' lives in another System; pass the start's context on, as in startSupervisor(spec, context)`,
  )
}

export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function"
}

/** Any record is taken as a reason: it is data for reports, and every reader treats it so. */
function isExitReason(value: unknown): value is ExitReason {
  return typeof value === "string" || (typeof value === "object" && value !== null)
}

function isStartable(value: object): value is Startable {
  if (value instanceof Process || value instanceof Supervisor || value instanceof ChildProcess || isActor(value))
    return true
  return "kill" in value && typeof value.kill === "function" && "onExit" in value && typeof value.onExit === "function"
}
