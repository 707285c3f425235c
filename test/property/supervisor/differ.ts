// Ours against Erlang's, for one scenario: compared, and shrunk when they part.
//
// Erlang runs in real time. When the traces differ the oracle is asked again; only if it repeats itself is it our difference. An oracle
// that contradicts itself is counted as unsteady, and the test bounds how often that may happen.
import { Oracle } from "./oracle.ts"
import { runOurs, UnrunnableScenario } from "./ours.ts"
import type { ChildNode, Scenario, TraceEvent } from "./scenario.ts"
import { canonicalTrace, firstDifference } from "./trace.ts"
import { generateScenario } from "./generator.ts"

export type Verdict =
  | { readonly is: "equal"; readonly theirs: readonly TraceEvent[] }
  | { readonly is: "unsteady" }
  | { readonly is: "different"; readonly difference: string; readonly theirs: readonly TraceEvent[] }

/** The first runnable scenarios from `seed` on: those that never ask a supervisor that has not existed. */
export async function runnableScenarios(
  seed: number,
  count: number,
): Promise<{ scenarios: { scenario: Scenario; ours: TraceEvent[] }[]; seedNext: number }> {
  const scenarios: { scenario: Scenario; ours: TraceEvent[] }[] = []
  let seedNext = seed
  while (scenarios.length < count) {
    const scenario = generateScenario(seedNext++)
    const ours = await tryOurs(scenario)
    if (ours !== undefined) scenarios.push({ scenario, ours })
  }
  return { scenarios, seedNext }
}

export async function judge(oracle: Oracle, scenario: Scenario, ours: readonly TraceEvent[]): Promise<Verdict> {
  const canonicalOurs = canonicalTrace(scenario, ours)
  const theirs = await oracle.run(scenario)
  const first = canonicalTrace(scenario, theirs)
  const difference = firstDifference(canonicalOurs, first)
  if (difference === undefined) return { is: "equal", theirs }
  for (let again = 0; again < 2; again++) {
    const repeated = canonicalTrace(scenario, await oracle.run(scenario))
    if (firstDifference(first, repeated) !== undefined) return { is: "unsteady" }
  }
  return { is: "different", difference, theirs }
}

/** The smallest scenario found that still differs: fewer steps, then fewer children, then plainer ones. */
export async function shrink(oracle: Oracle, scenario: Scenario): Promise<Scenario> {
  let smallest = scenario
  for (let isSmaller = true; isSmaller;) {
    isSmaller = false
    for (const candidate of smallerScenarios(smallest)) {
      if (!(await differs(oracle, candidate))) continue
      smallest = candidate
      isSmaller = true
      break
    }
  }
  return smallest
}

async function differs(oracle: Oracle, scenario: Scenario): Promise<boolean> {
  const ours = await tryOurs(scenario)
  return ours !== undefined && (await judge(oracle, scenario, ours)).is === "different"
}

async function tryOurs(scenario: Scenario): Promise<TraceEvent[] | undefined> {
  try {
    return await runOurs(scenario)
  } catch (thrown) {
    if (thrown instanceof UnrunnableScenario) return undefined
    throw new Error(`our run of ${JSON.stringify(scenario)} failed`, { cause: thrown })
  }
}

function* smallerScenarios(scenario: Scenario): Generator<Scenario> {
  const { tree, steps } = scenario
  for (let at = steps.length - 1; at >= 0; at--) yield { ...scenario, steps: steps.toSpliced(at, 1) }
  for (const smaller of smallerNodes(tree)) yield { ...scenario, tree: smaller }
  for (const [at, step] of steps.entries()) {
    if (step.spec === undefined) continue
    for (const spec of smallerNodes(step.spec)) yield { ...scenario, steps: steps.with(at, { ...step, spec }) }
  }
}

/** Children that no step names may go; traps, plans and shutdowns may be forgotten. */
function* smallerNodes(node: ChildNode): Generator<ChildNode> {
  const { children = [] } = node
  for (const [at, child] of children.entries()) {
    if (child.dynamic !== true) yield { ...node, children: children.toSpliced(at, 1) }
    for (const smaller of smallerNodes(child)) yield { ...node, children: children.with(at, smaller) }
  }
  for (const key of [
    "start",
    "trap",
    "on_shutdown",
    "cleanup_ms",
    "shutdown",
    "significant",
    "auto_shutdown",
  ] as const) {
    if (!(key in node)) continue
    const { [key]: _dropped, ...rest } = node
    yield rest
  }
}

/** The first place where our trace and a recorded one part. */
export function differenceFrom(
  scenario: Scenario,
  ours: readonly TraceEvent[],
  theirs: readonly TraceEvent[],
): string | undefined {
  return firstDifference(canonicalTrace(scenario, ours), canonicalTrace(scenario, theirs))
}
