// The canonical form of a trace, in which two correct runs are equal.
//
// Nearly everything is totally ordered, since one supervisor acts at a time and each step is waited for. Three things are not ordered by
// Erlang either, and only these are normalised:
//
// 1. A step's own fields. The oracle echoes them from the scenario; only number, operation and the tree's start result are kept.
// 2. Children of a `simple_one_for_one` supervisor that is stopping: told at once, order undefined by contract. Their exits directly
//    before the supervisor's own, and the one report per reason, are sorted; which exits and reports there are stays exact. The same
//    for the entries of its `which_children`, a walk over a map.
// 3. What a brutally killed supervisor leaves behind: its children die of link signals, concurrent with each other and with
//    the parent's restart. Each child's subtree is compared as an ordered stream of its own, beside the main trace.
import type { ChildNode, Scenario, TraceEvent } from "./scenario.ts"

interface Tree {
  readonly parents: Map<string, string>
  readonly dynamicSupervisors: Set<string>
  readonly templates: Map<string, string>
}

export interface CanonicalTrace {
  readonly main: readonly string[]
  readonly orphans: readonly string[]
}

export function canonicalTrace(scenario: Scenario, trace: readonly TraceEvent[]): CanonicalTrace {
  const tree = readTree(scenario)
  const { main, orphans } = separateOrphans(
    tree,
    trace.map((event) => bareStep(tree, scenario, event)),
  )
  return { main: sortDynamicStops(tree, main).map(line), orphans }
}

function readTree({ tree, steps }: Scenario): Tree {
  const known: Tree = { parents: new Map(), dynamicSupervisors: new Set(), templates: new Map() }
  const note = (node: ChildNode, id: string): void => {
    if (node.strategy === "simple_one_for_one") known.dynamicSupervisors.add(id)
    for (const child of node.children ?? []) {
      if (child.id === undefined) continue
      if (child.dynamic === true) known.templates.set(child.id, id)
      known.parents.set(child.id, id)
      if (child.type === "supervisor") note(child, child.id)
    }
  }
  note(tree, "root")
  for (const { op, sup = "root", spec, args } of steps) {
    if (op !== "start_child") continue
    if (args !== undefined) known.parents.set(args, sup)
    if (spec?.id === undefined || spec.id === "bad") continue
    known.parents.set(spec.id, sup)
    if (spec.type === "supervisor") note(spec, spec.id)
  }
  return known
}

function bareStep(tree: Tree, scenario: Scenario, event: TraceEvent): TraceEvent {
  if (event.ev === "step") {
    const { n, op, result } = event
    return { ev: "step", n, op, ...(op === "start_tree" ? { result } : {}) }
  }
  if (event.ev === "result" && Array.isArray(event["result"])) {
    const step = scenario.steps[Number(event["n"]) - 1]
    if (tree.dynamicSupervisors.has(step?.sup ?? "root")) {
      return { ...event, result: event["result"].toSorted((one, other) => compare(stable(one), stable(other))) }
    }
  }
  return event
}

function separateOrphans(tree: Tree, trace: readonly TraceEvent[]): { main: TraceEvent[]; orphans: string[] } {
  const newest = new Map<string, number>()
  /** Live incarnations, `id#inc`, with their supervisor's. */
  const parentOf = new Map<string, string>()
  /** Orphaned incarnations, with the stream they write to. */
  const streamOf = new Map<string, string>()
  const streams = new Map<string, string[]>()
  /** Orphans whose exit is known and whose shutdown error, if there is one, is still to come. */
  const reportedTo = new Map<string, string>()
  const main: TraceEvent[] = []
  for (const event of trace) {
    const id = String(event["id"])
    const name = `${id}#${String(event["inc"])}`
    if (event.ev === "start") {
      newest.set(id, Number(event["inc"]))
      const sup = tree.parents.get(id)
      // Only the newest incarnation of a supervisor starts anything: an orphan stops what it has.
      parentOf.set(name, sup === undefined ? "" : `${sup}#${newest.get(sup)}`)
    }
    if (event.ev === "exit") {
      const stream = streamOf.get(name)
      if (event["reason"] === "killed") {
        for (const child of parentOf.keys()) {
          const top = childUnder(parentOf, name, child)
          if (top !== undefined) streamOf.set(child, `${name} ${top}`)
        }
      }
      parentOf.delete(name)
      if (stream !== undefined) {
        push(streams, stream, line(event))
        reportedTo.set(id, stream)
        continue
      }
      reportedTo.delete(id)
    }
    // The orphan's own supervisor, an orphan too, reports how it ended; a report about a later incarnation follows that one's exit.
    const reportStream = reportedTo.get(id)
    if (event.ev === "report" && event["context"] === "shutdown_error" && reportStream !== undefined) {
      reportedTo.delete(id)
      push(streams, reportStream, line(event))
      continue
    }
    main.push(event)
  }
  const orphans = [...streams].flatMap(([stream, lines]) => lines.map((text) => `${stream}: ${text}`))
  return { main, orphans: sortByStream(orphans, [...streams.keys()]) }
}

/** The direct child of `sup` on the way down to `name`, when `name` is below `sup`; all of them live incarnations. */
function childUnder(parentOf: ReadonlyMap<string, string>, sup: string, name: string): string | undefined {
  for (let at: string | undefined = name; at !== undefined; at = parentOf.get(at)) {
    if (parentOf.get(at) === sup) return at
  }
  return undefined
}

function sortByStream(lines: string[], streams: readonly string[]): string[] {
  return streams.toSorted(compare).flatMap((stream) => lines.filter((text) => text.startsWith(`${stream}: `)))
}

function sortDynamicStops(tree: Tree, trace: readonly TraceEvent[]): TraceEvent[] {
  const sorted = [...trace]
  for (const [index, event] of trace.entries()) {
    const sup = String(event["id"])
    if (event.ev !== "exit" || !tree.dynamicSupervisors.has(sup)) continue
    let from = index
    const isOfStop = (other: TraceEvent | undefined): boolean =>
      (other?.ev === "exit" && tree.parents.get(String(other["id"])) === sup) ||
      (other?.ev === "report" &&
        other["context"] === "shutdown_error" &&
        tree.templates.get(String(other["id"])) === sup)
    while (from > 0 && isOfStop(sorted[from - 1])) from--
    const run = sorted.slice(from, index)
    // Exits before reports on both sides; within each kind any order is as good.
    const order = (one: TraceEvent, other: TraceEvent): number =>
      compare(one.ev, other.ev) || compare(line(one), line(other))
    sorted.splice(from, run.length, ...run.toSorted(order))
  }
  return sorted
}

function push(streams: Map<string, string[]>, stream: string, text: string): void {
  const lines = streams.get(stream)
  if (lines === undefined) streams.set(stream, [text])
  else lines.push(text)
}

function compare(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0
}

function line(event: TraceEvent): string {
  return stable(event)
}

/** JSON with sorted keys. */
function stable(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(stable).join(",")}]`
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).toSorted(([one], [other]) => compare(one, other))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${stable(item)}`).join(",")}}`
}

/** The first place where two canonical traces part, with what came before it; `undefined` when they are equal. */
export function firstDifference(ours: CanonicalTrace, theirs: CanonicalTrace): string | undefined {
  for (const part of ["main", "orphans"] as const) {
    const length = Math.max(ours[part].length, theirs[part].length)
    for (let index = 0; index < length; index++) {
      if (ours[part][index] === theirs[part][index]) continue
      const before = theirs[part].slice(Math.max(0, index - 12), index)
      return [
        ...before.map((text) => `  = ${text}`),
        `  ours   ${ours[part].slice(index, index + 4).join("\n         ")}`,
        `  erlang ${theirs[part].slice(index, index + 4).join("\n         ")}`,
      ].join("\n")
    }
  }
  return undefined
}
