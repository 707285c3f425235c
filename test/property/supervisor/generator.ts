// Seeded scenarios: trees up to depth 3, 3 to 12 steps, every operation of the oracle.
//
// Erlang runs in real time, so a scenario must not depend on who wins a close race. Deadlines that meet are 30 ms (a supervisor's),
// 80 ms (a worker's that hangs) and at most 4 ms (a clean-up); periods are 10 s, which no scenario lasts, or 1 s with a
// sleep of 2.3 s, which leaves OTP's whole-second window on any reading. Where a supervisor can be killed, nobody cleans up: its
// orphans would do so in a race with the next step. What OTP leaves waiting (`normal` to a worker, any signal but `kill` to a
// supervisor) is sent with `wait: false`, except rarely, since the oracle waits a real second for it.
import { createRandom, type Random } from "./random.ts"
import type { ChildNode, OtpReason, Plan, Scenario, Step, StepOp } from "./scenario.ts"

const strategies = ["one_for_one", "one_for_all", "rest_for_one", "simple_one_for_one"] as const
const restarts = ["permanent", "transient", "temporary"] as const

interface KnownChild {
  readonly id: string
  readonly sup: string
  readonly node: ChildNode
}

interface Draft {
  readonly random: Random
  readonly canKillSupervisors: boolean
  readonly hasShortPeriod: boolean
  idNext: number
  dynamicNext: number
  readonly sups: Map<string, ChildNode>
  readonly children: KnownChild[]
  readonly steps: Step[]
}

export function generateScenario(seed: number): Scenario {
  const random = createRandom(seed)
  const draft: Draft = {
    random,
    canKillSupervisors: random.chance(0.4),
    hasShortPeriod: random.chance(0.008),
    idNext: 1,
    dynamicNext: 1,
    sups: new Map(),
    children: [],
    steps: [],
  }
  const tree = { id: "root", ...supervisorNode(draft, "root", 1) }
  draft.sups.set("root", tree)
  const count = 3 + random.below(10)
  if (draft.hasShortPeriod) {
    const sleepAt = 1 + random.below(count - 1)
    for (let at = 0; at < count; at++) draft.steps.push(...(at === sleepAt ? [sleep(2300)] : step(draft)))
  } else {
    for (let at = 0; at < count; at++) draft.steps.push(...step(draft))
  }
  return { name: `seed-${seed}`, tree, steps: draft.steps.slice(0, 12) }
}

function supervisorNode(draft: Draft, id: string, depth: number): ChildNode {
  const { random } = draft
  const strategy = random.weighted([
    ["one_for_one", 3],
    ["one_for_all", 3],
    ["rest_for_one", 3],
    ["simple_one_for_one", depth === 1 ? 4 : 2],
  ] as const)
  const autoShutdown = random.weighted([
    ["never", 6],
    ["any_significant", 2],
    ["all_significant", 2],
  ] as const)
  const children: ChildNode[] = []
  if (strategy === "simple_one_for_one") {
    const { start: _noPlan, ...template } = workerNode(draft, `tpl${draft.idNext++}`, autoShutdown)
    children.push({ ...template, dynamic: true })
  } else {
    const count = 1 + random.below(depth === 1 ? 4 : 3)
    for (let at = 0; at < count; at++) children.push(childNode(draft, id, depth, autoShutdown))
  }
  return {
    strategy,
    intensity: random.weighted([
      [0, 1],
      [1, 3],
      [2, 3],
      [4, 2],
      [9, 1],
    ]),
    period: draft.hasShortPeriod ? 1 : 10,
    auto_shutdown: autoShutdown,
    children,
  }
}

function childNode(draft: Draft, sup: string, depth: number, autoShutdown: string): ChildNode {
  const { random } = draft
  const id = `c${draft.idNext++}`
  if (depth >= 3 || random.chance(0.65)) {
    const node = workerNode(draft, id, autoShutdown)
    draft.children.push({ id, sup, node })
    return node
  }
  const base = commonNode(draft, id, autoShutdown)
  const shutdown = draft.canKillSupervisors
    ? random.weighted<"brutal_kill" | "infinity" | 30>([
        ["brutal_kill", 2],
        [30, 2],
        ["infinity", 4],
      ])
    : "infinity"
  const plan = random.chance(0.1) ? { start: startPlan(draft, false, true) } : {}
  const node: ChildNode = { ...base, ...plan, shutdown, type: "supervisor", ...supervisorNode(draft, id, depth + 1) }
  draft.sups.set(id, node)
  draft.children.push({ id, sup, node })
  return node
}

function commonNode(draft: Draft, id: string, autoShutdown: string): ChildNode {
  const restart = draft.random.pick(restarts)
  const maySignify = autoShutdown !== "never" && restart !== "permanent"
  return { id, restart, ...(maySignify && draft.random.chance(0.6) ? { significant: true } : {}) }
}

function workerNode(draft: Draft, id: string, autoShutdown: string): ChildNode {
  const { random } = draft
  const base = commonNode(draft, id, autoShutdown)
  const plan = random.chance(0.15) ? { start: startPlan(draft, true, random.chance(0.8)) } : {}
  const shutdown = random.weighted<"brutal_kill" | "infinity" | 80 | undefined>([
    ["brutal_kill", 2],
    [80, 3],
    ["infinity", 1],
    [undefined, 3],
  ])
  const how = shutdown === undefined ? {} : { shutdown }
  if (random.chance(0.5)) return { ...base, ...plan, ...how }
  const mayHang = shutdown === 80 || shutdown === "brutal_kill"
  const onShutdown = random.weighted<NonNullable<ChildNode["on_shutdown"]>>([
    ["obey", 3],
    ["hang", mayHang ? 1 : 0],
    [{ exit: random.pick(["normal", "boom", "shutdown"]) }, 2],
    [{ exit: { shutdown: "x" } }, 1],
  ])
  const cleanup = draft.canKillSupervisors ? 0 : random.pick([0, 2, 4])
  return { ...base, ...plan, ...how, trap: true, on_shutdown: onShutdown, cleanup_ms: cleanup }
}

/** One entry per attempt. Most end with `ok`; the others make a restart fail until the supervisor gives up. */
function startPlan(draft: Draft, isWorker: boolean, isFirstOk: boolean): Plan[] {
  const { random } = draft
  const plan: Plan[] = isFirstOk ? ["ok"] : []
  const count = 1 + random.below(3)
  for (let at = 0; at < count; at++) {
    plan.push(
      random.weighted<Plan>([
        [{ error: "nope" }, 3],
        [{ throw: "thrown" }, 2],
        [{ bad_return: "bad" }, 2],
        [{ init_exit: "init" }, isWorker ? 2 : 0],
        ["ignore", 2],
        ["ok", 1],
      ]),
    )
  }
  if (random.chance(0.85)) plan.push("ok")
  return plan
}

const operations: readonly (readonly [StepOp, number])[] = [
  ["kill", 4],
  ["exit", 4],
  ["plan", 2],
  ["sleep", 1],
  ["alive", 2],
  ["start_child", 3],
  ["terminate_child", 2],
  ["restart_child", 2],
  ["delete_child", 2],
  ["which_children", 2],
  ["count_children", 2],
  ["stop_sup", 1.5],
]

// oxlint-disable-next-line typescript/consistent-return -- the switch is exhaustive
function step(draft: Draft): Step[] {
  const { random } = draft
  const op = random.weighted(operations)
  switch (op) {
    case "sleep":
      return [sleep(5)]
    case "which_children":
    case "count_children":
      return [{ op, sup: random.pick([...draft.sups.keys()]) }]
    case "start_child":
      return startChild(draft)
    case "stop_sup": {
      const id = random.pick([...draft.sups.keys()])
      const isKill = draft.canKillSupervisors && random.chance(0.6)
      const reason: OtpReason = isKill ? "kill" : random.pick(["shutdown", "boom", "normal"])
      return [{ op, id, reason, ...(isKill ? {} : { wait: random.chance(0.02) }) }]
    }
    case "kill":
    case "exit":
    case "plan":
    case "alive":
    case "terminate_child":
    case "restart_child":
    case "delete_child": {
      const child = pickChild(draft)
      return child === undefined ? startChild(draft) : childStep(draft, op, child)
    }
  }
}

/** Dynamic children first when there are some: their cells of the histogram are the hardest to fill. */
function pickChild(draft: Draft): KnownChild | undefined {
  if (draft.children.length === 0) return undefined
  const dynamic = draft.children.filter(({ node }) => node.dynamic === true)
  if (dynamic.length > 0 && draft.random.chance(0.5)) return draft.random.pick(dynamic)
  return draft.random.pick(draft.children)
}

function childStep(draft: Draft, op: StepOp, child: KnownChild): Step[] {
  const { random } = draft
  const { id, sup, node } = child
  const isDynamic = node.dynamic === true
  const isSupervisor = node.type === "supervisor"
  if (op === "plan") {
    if (!isDynamic) return [{ op, id, start: startPlan(draft, !isSupervisor, random.chance(0.2)) }]
    // OTP stores a dynamic child that says `ignore` in a restart under no pid at all and crashes over it when it stops; see
    // the decisions. So `ignore` comes only before a first start.
    const start = startPlan(draft, true, false).filter((entry) => entry !== "ignore")
    return [{ op, id, start: start.length === 0 ? ["ok"] : start }]
  }
  if (op === "kill") {
    const reason = random.weighted<OtpReason>([
      ["kill", 4],
      ["boom", 4],
      ["shutdown", 2],
      [{ shutdown: "x" }, 1],
      ["normal", 0.6],
    ])
    const isSure = reason === "kill" ? !isSupervisor || draft.canKillSupervisors : !isSupervisor && reason !== "normal"
    if (reason === "kill" && !isSure) return [{ op, id, reason: "boom", wait: false }]
    return [{ op, id, reason, ...(isSure ? {} : { wait: random.chance(0.02) }) }]
  }
  if (op === "exit") {
    const reason = random.weighted<OtpReason>([
      ["normal", 3],
      ["boom", 4],
      ["shutdown", 2],
      [{ shutdown: "x" }, 2],
      ["kill", 0.5],
    ])
    return [{ op, id, reason, ...(isSupervisor ? { wait: random.chance(0.02) } : {}) }]
  }
  if (op === "alive") return [{ op, id }]
  if (op === "terminate_child" && isDynamic) return [{ op, sup, id, ...(random.chance(0.7) ? { by_pid: true } : {}) }]
  // A restart or a deletion needs a stopped child to succeed; half of the time make one.
  const first: Step[] =
    op !== "terminate_child" && !isDynamic && random.chance(0.5) ? [{ op: "terminate_child", sup, id }] : []
  return [...first, { op, sup, id }]
}

function startChild(draft: Draft): Step[] {
  const { random } = draft
  const names = [...draft.sups.keys()]
  const dynamicNames = names.filter((name) => draft.sups.get(name)?.strategy === "simple_one_for_one")
  const sup = dynamicNames.length > 0 && random.chance(0.6) ? random.pick(dynamicNames) : random.pick(names)
  const node = draft.sups.get(sup)
  if (node === undefined) throw new Error(`no supervisor ${sup}`)
  if (node.strategy === "simple_one_for_one") {
    const id = `d${draft.dynamicNext++}`
    const template = node.children?.[0] ?? {}
    draft.children.push({ id, sup, node: { ...template, id } })
    const plan = random.weighted<readonly Plan[]>([
      [[], 12],
      [["ignore", "ok"], 1],
      [[{ error: "nope" }, "ok"], 1],
      [["ok", { throw: "thrown" }, { init_exit: "init" }, "ok"], 1],
    ])
    const before: Step[] = plan.length === 0 ? [] : [{ op: "plan", id, start: plan }]
    return [...before, { op: "start_child", sup, args: id }]
  }
  const own = draft.children.filter((child) => child.sup === sup)
  if (own.length > 0 && random.chance(0.35)) {
    const { node: spec } = random.pick(own)
    return [{ op: "start_child", sup, spec }]
  }
  if (random.chance(0.12)) return [{ op: "start_child", sup, spec: invalidSpec(random) }]
  const made = childNode(draft, sup, depthOf(draft, sup), node.auto_shutdown ?? "never")
  // In a tree a first start that fails ends the scenario; here it is one answer among others.
  const plan = random.chance(0.3) ? { start: startPlan(draft, made.type !== "supervisor", false) } : {}
  return [{ op: "start_child", sup, spec: { ...made, ...plan } }]
}

function invalidSpec(random: Random): ChildNode {
  return random.pick<ChildNode>([
    { restart: "transient" },
    { id: "bad", no_start: true },
    { id: "bad", restart: "always" },
    { id: "bad", shutdown: -1 },
    { id: "bad", type: "foo" },
    { id: "bad", restart: "permanent", significant: true },
    { id: "bad", restart: "transient", significant: true, shutdown: -2 },
  ])
}

function depthOf(draft: Draft, sup: string): number {
  const above = draft.children.find((child) => child.id === sup)?.sup
  return above === undefined ? 1 : 1 + depthOf(draft, above)
}

function sleep(ms: number): Step {
  return { op: "sleep", ms }
}

export const histogramCells: readonly string[] = operations.flatMap(([op]) =>
  strategies.flatMap((strategy) => restarts.map((restart) => `${op} ${strategy} ${restart}`)),
)

const knownCells: ReadonlySet<string> = new Set(histogramCells)

/** Which cells of operation x strategy x restart type a scenario exercises; an operation on a supervisor counts for its children's types. */
export function cellsOf(scenario: Scenario): string[] {
  const sups = new Map<string, ChildNode>()
  const children = new Map<string, { sup: string; node: ChildNode }>()
  const note = (node: ChildNode, id: string): void => {
    sups.set(id, node)
    for (const child of node.children ?? []) {
      if (child.id === undefined) continue
      children.set(child.id, { sup: id, node: child })
      if (child.type === "supervisor") note(child, child.id)
    }
  }
  note(scenario.tree, "root")
  const cells: string[] = []
  const add = (op: StepOp, sup: string | undefined, node: ChildNode): void => {
    const strategy = sup === undefined ? undefined : sups.get(sup)?.strategy
    // Not the specifications that are invalid on purpose: they belong to no cell.
    const cell = `${op} ${strategy} ${node.restart}`
    if (knownCells.has(cell)) cells.push(cell)
  }
  for (const { op, id, sup = "root", spec, args } of scenario.steps) {
    if (op === "start_child" && args !== undefined) {
      const template = sups.get(sup)?.children?.[0]
      if (template !== undefined) {
        children.set(args, { sup, node: template })
        add(op, sup, template)
      }
    } else if (op === "start_child" && spec !== undefined) {
      if (spec.id !== undefined && spec.id !== "bad") children.set(spec.id, { sup, node: spec })
      if (spec.type === "supervisor" && spec.id !== undefined) note(spec, spec.id)
      add(op, sup, spec)
    } else if (id !== undefined && op !== "stop_sup") {
      const child = children.get(id)
      if (child !== undefined) add(op, child.sup, child.node)
    } else {
      const target = op === "stop_sup" ? (id ?? "root") : sup
      const types = new Set(sups.get(target)?.children?.map(({ restart }) => restart))
      for (const restart of types) if (restart !== undefined) add(op, target, { restart })
    }
  }
  return cells
}
