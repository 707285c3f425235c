// The children of one supervisor, as an immutable value.
//
// A slot is a child's place in the start order; it keeps it through every restart and loses it only when the specification goes. Ids and
// processes are found through indexes, never by scanning: OTP scans, and a restart among 50,000 children cost it 22 ms. Children of a
// `simple_one_for_one` supervisor have no ids, only slots.
import type { ResolvedChildSpec } from "./child-spec.ts"
import { emptyIndex, lookUp, put, type NameIndex } from "./name-index.ts"
import { createTable, entriesDown, entriesUp, getAt, setAt, type OrderedTable } from "./ordered-table.ts"
import type { Process } from "./process.ts"
import type { BackoffState } from "./restart.ts"

/** Shared by all children without arguments. */
export const noArguments: readonly unknown[] = []

export type ChildStatus = "running" | "stopped" | "restarting"

export interface Child {
  readonly slot: number
  readonly spec: ResolvedChildSpec
  /** Arguments after the context; only for `simple_one_for_one`, and not kept for temporary children. */
  readonly args: readonly unknown[]
  readonly status: ChildStatus
  /** The running process; of a restarting child the last one; `undefined` when stopped. */
  readonly process: Process | undefined
  readonly backoff: BackoffState | undefined
}

export interface Children {
  readonly bySlot: OrderedTable<Child>
  /** Only with ids; without, a child's slot is its process's serial number. */
  readonly slotByProcess: OrderedTable<number>
  readonly slotById: NameIndex
  readonly slotNext: number
  readonly restartingCount: number
  /** `false` under `simple_one_for_one`. */
  readonly hasIds: boolean
}

export function createChildren(specs: readonly ResolvedChildSpec[], hasIds: boolean): Children {
  let children: Children = {
    bySlot: createTable(),
    slotByProcess: createTable(),
    slotById: emptyIndex,
    slotNext: 0,
    restartingCount: 0,
    hasIds,
  }
  for (const spec of specs) children = addChild(children, spec, noArguments, undefined)
  return children
}

/** Adds a child at the end of the start order: stopped, or running as `process`. */
export function addChild(
  children: Children,
  spec: ResolvedChildSpec,
  args: readonly unknown[],
  process: Process | undefined,
): Children {
  const { bySlot, slotByProcess, slotById, slotNext, restartingCount, hasIds } = children
  const slot = hasIds || process === undefined ? slotNext : process.serial
  const status = process === undefined ? "stopped" : "running"
  const child: Child = { slot, spec, args, status, process, backoff: undefined }
  return {
    bySlot: setAt(bySlot, slot, child),
    slotByProcess: hasIds && process !== undefined ? setAt(slotByProcess, process.serial, slot) : slotByProcess,
    slotById: hasIds ? put(slotById, spec.id, slot) : slotById,
    slotNext: slot + 1,
    restartingCount,
    hasIds,
  }
}

export function childAt(children: Children, slot: number): Child | undefined {
  return getAt(children.bySlot, slot)
}

/** `undefined` for what is no string too: plain JavaScript asks with anything. */
export function childById(children: Children, id: unknown): Child | undefined {
  const slot = typeof id === "string" ? lookUp(children.slotById, id) : undefined
  return slot === undefined ? undefined : getAt(children.bySlot, slot)
}

/** The child that this process is, or, while it is restarting, last was. */
export function childByProcess(children: Children, process: Process): Child | undefined {
  const slot = children.hasIds ? getAt(children.slotByProcess, process.serial) : process.serial
  const child = slot === undefined ? undefined : getAt(children.bySlot, slot)
  // Serial numbers are a system's own: the process of another one may have the same.
  return child?.process === process ? child : undefined
}

/** A dynamic child moves to its new process's slot. */
export function setRunning(children: Children, slot: number, process: Process): Children {
  return change(children, slot, "running", process)
}

export function setStopped(children: Children, slot: number): Children {
  return change(children, slot, "stopped", undefined)
}

/** The last process stays its name, so that whoever still holds it can end the restarting. */
export function setRestarting(children: Children, slot: number, backoff?: BackoffState): Children {
  const child = getAt(children.bySlot, slot)
  return child === undefined ? children : change(children, slot, "restarting", child.process, backoff ?? child.backoff)
}

/** What an end leaves: a temporary or a dynamic child is forgotten, any other keeps its specification. */
export function setEnded(children: Children, slot: number): Children {
  const child = getAt(children.bySlot, slot)
  if (child === undefined) return children
  return child.spec.restart === "temporary" || !children.hasIds
    ? removeChild(children, slot)
    : setStopped(children, slot)
}

export function removeChild(children: Children, slot: number): Children {
  const child = getAt(children.bySlot, slot)
  if (child === undefined) return children
  const { process, spec, status } = child
  return {
    ...children,
    bySlot: setAt(children.bySlot, slot, undefined),
    slotByProcess:
      process === undefined ? children.slotByProcess : setAt(children.slotByProcess, process.serial, undefined),
    slotById: children.hasIds ? put(children.slotById, spec.id, undefined) : children.slotById,
    restartingCount: children.restartingCount - (status === "restarting" ? 1 : 0),
  }
}

/**
 * New specifications for a supervisor that runs. Children that are named keep their process and get the new specification; new ones are
 * added stopped; the others stay as they are, behind the named ones in the start order. No slot is one that was in use before: an attempt
 * that is on its way to one finds nobody.
 */
export function replaceSpecs(children: Children, specs: readonly ResolvedChildSpec[]): Children {
  let replaced: Children = { ...createChildren([], true), slotNext: children.slotNext }
  const carry = (spec: ResolvedChildSpec, before: Child | undefined): void => {
    replaced = addChild(replaced, spec, noArguments, before?.process)
    if (before?.status === "restarting") replaced = setRestarting(replaced, replaced.slotNext - 1, before.backoff)
  }
  const named = new Set(specs.map(({ id }) => id))
  for (const spec of specs) carry(spec, childById(children, spec.id))
  for (const child of inStartOrder(children)) if (!named.has(child.spec.id)) carry(child.spec, child)
  return replaced
}

/** A new template for dynamic children, also for those that run. */
export function replaceTemplate(children: Children, template: ResolvedChildSpec): Children {
  let { bySlot } = children
  for (const child of inStartOrder(children)) bySlot = setAt(bySlot, child.slot, { ...child, spec: template })
  return { ...children, bySlot }
}

export function inStartOrder(children: Children): Iterable<Child> {
  return values(entriesUp(children.bySlot))
}

export function inReverseOrder(children: Children): Iterable<Child> {
  return values(entriesDown(children.bySlot))
}

function change(
  children: Children,
  slot: number,
  status: ChildStatus,
  process: Process | undefined,
  backoff?: BackoffState,
): Children {
  const before = getAt(children.bySlot, slot)
  if (before === undefined) return children
  let { bySlot, slotByProcess } = children
  let newSlot = slot
  if (before.process !== process) {
    if (children.hasIds) {
      if (before.process !== undefined) slotByProcess = setAt(slotByProcess, before.process.serial, undefined)
      if (process !== undefined) slotByProcess = setAt(slotByProcess, process.serial, slot)
    } else if (process !== undefined) {
      bySlot = setAt(bySlot, slot, undefined)
      newSlot = process.serial
    }
  }
  const { spec, args } = before
  const child: Child = { slot: newSlot, spec, args, status, process, backoff: backoff ?? before.backoff }
  const wasRestarting = before.status === "restarting" ? 1 : 0
  const isRestarting = status === "restarting" ? 1 : 0
  return {
    bySlot: setAt(bySlot, newSlot, child),
    slotByProcess,
    slotById: children.slotById,
    slotNext: children.slotNext,
    restartingCount: children.restartingCount + isRestarting - wasRestarting,
    hasIds: children.hasIds,
  }
}

function* values(entries: Iterable<readonly [number, Child]>): Generator<Child> {
  for (const [, child] of entries) yield child
}
