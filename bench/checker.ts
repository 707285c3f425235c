// What does a check of types cost, and does it depend on the change or on the session?
//
// Everything goes through the checker's process, as for a session. The session: N definitions, of which 60 % are functions with inferred
// types that call two earlier ones, and 10 % each are interfaces, type aliases, classes and records of functions; it is loaded in one
// check. Then, warm: a body edit; a body edit of the function that most others use; a new return type for a function with one dependent; one
// that breaks its dependent; a declaration more; statements alone; a completion. The first check is that of a fresh nacre.
import { readFileSync } from "node:fs"
import type { Checker } from "../runtime/checker/checker.ts"
import { isQuick, over, report, show } from "./parts/figures.ts"
import { built } from "./parts/processes.ts"

const sizes = isQuick ? [10, 1_000] : [10, 100, 1_000, 10_000]
const rounds = isQuick ? 10 : 40
const environment = { id: "env", profile: "standard", ambient: "", preludes: [], locals: [] }

const { Nacre } = await built()

function source(index: number): [key: string, source: string] {
  const before = (back: number): number => Math.max(0, index - back - ((index * 7) % 5))
  switch (index % 10) {
    case 1:
      return [`I${index}`, `interface I${index} { id: number; name: string; tags: string[] }`]
    case 2:
      return [`T${index}`, `type T${index} = { [K in keyof I${index - 1}]?: I${index - 1}[K] } | null`]
    case 3:
      return [
        `C${index}`,
        `class C${index} { items: I${index - 2}[] = []; add(it: I${index - 2}) { this.items.push(it); return this } }`,
      ]
    case 4:
      return [`ops${index}`, `const ops${index} = { size: (c: C${index - 1}) => c.items.length, zero: () => 0 }`]
    default: {
      const called = (at: number): string => (at < index && (at % 10 === 0 || at % 10 > 4) ? `f${at}(n)` : "n")
      return [
        `f${index}`,
        `function f${index}(n: number) { return hot(n) + ${called(before(3))} + ${called(before(11))} }`,
      ]
    }
  }
}

function set(size: number): Map<string, string> {
  const declarations = new Map([
    ["hot", "function hot(n: number) { return n * 2 }"],
    ["leaf", "function leaf(n: number) { return hot(n) + 1 }"],
    ["one", "function one(n: number) { return { n } }"],
    ["user", "const user = (n: number) => one(n).n + 1"],
  ])
  for (let index = 0; declarations.size < size; index += 1) declarations.set(...source(index))
  return declarations
}

class Client {
  readonly #checker: Checker
  readonly #session: string
  readonly declarations: Map<string, string>
  #base = ""
  #sets = 0

  constructor(checker: Checker, size: number) {
    this.#checker = checker
    this.#session = `bench-${size}`
    this.declarations = set(size)
  }

  place() {
    const { declarations } = this
    return {
      session: this.#session,
      base: this.#base,
      whole: () => Array.from(declarations, ([key, text]) => ({ key, source: text })),
      environment,
    }
  }

  async check(changes: Record<string, string>, statements = "", keep = true) {
    const changed = Object.entries(changes).map(([key, text]) => ({ key, source: text }))
    const next = changed.length === 0 ? this.#base : `s${++this.#sets}`
    const request = { ...this.place(), set: next, changed, removed: [], statements }
    const answer = await this.#checker.check(request, { deadlineMs: 600_000 })
    if (keep) this.#base = next
    return answer
  }
}

async function time(run: (round: number) => Promise<unknown>): Promise<number[]> {
  const samples: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    const from = performance.now()
    await run(round)
    samples.push(performance.now() - from)
  }
  return samples
}

const memory = (pid: number): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024

const nacre = await Nacre.start({ hosts: { min: 1 }, limits: { checkerMemoryBytesMax: 4 * 1024 ** 3 } })
const { checker } = nacre
let from = performance.now()
await new Client(checker, 4).check({ f: "function f(n: number) { return n }" }, "f(1)")
const first = performance.now() - from
report("checker", "first check of a nacre", `${first.toFixed(0)} ms, ${memory(checker.pid!).toFixed(0)} MB`, {
  firstMs: first,
  residentMb: memory(checker.pid!),
})

const clients = new Map<number, Client>()
for (const size of sizes) {
  const client = new Client(checker, size)
  clients.set(size, client)
  from = performance.now()
  const loaded = await client.check(Object.fromEntries(client.declarations))
  const loadMs = performance.now() - from
  if (loaded.diagnostics.length > 0) throw new Error(`The session has mistakes: ${loaded.diagnostics[0]!.message}`)
  report(
    "checker",
    `${size} definitions, all of them in one check`,
    `${loadMs.toFixed(0)} ms, ${memory(checker.pid!).toFixed(0)} MB`,
    {
      size,
      loadMs,
      residentMb: memory(checker.pid!),
    },
  )
}

// The sizes in turn, so that what the machine does meanwhile is the same for all.
const kinds: Record<
  string,
  (client: Client, round: number) => Promise<{ checkedCount?: number; diagnostics?: unknown[] }>
> = {
  "body edit": (client, n) => client.check({ leaf: `function leaf(n: number) { return hot(n) + ${n} }` }),
  "body edit of the hottest function": (client, n) =>
    client.check({ hot: `function hot(n: number) { return n * ${n} }` }),
  "new type, one dependent": (client, n) => client.check({ one: `function one(n: number) { return { n, m${n}: n } }` }),
  "new type that breaks the one dependent": (client, n) =>
    client.check({ one: `function one(n: number) { return { m${n}: n } }` }, "", false),
  "one declaration more": (client, n) => client.check({ [`g${n}`]: `const g${n} = () => leaf(${n})` }, "", false),
  "statements alone": (client, n) => client.check({}, `const a${n} = leaf(${n}); a${n}.toFixed()`),
  "completion after a dot": async (client) => {
    await checker.complete(client.place(), "one(1).", 7)
    return {}
  },
}
for (const [kind, run] of Object.entries(kinds)) {
  const samples = new Map<number, number[]>(sizes.map((size) => [size, []]))
  let checkedCount = 0
  await time(async (round) => {
    for (const [size, client] of clients) {
      const started = performance.now()
      const answer = await run(client, round)
      samples.get(size)!.push(performance.now() - started)
      checkedCount = answer.checkedCount ?? 0
    }
  })
  const smallest = over(samples.get(sizes[0]!)!)
  for (const [size, all] of samples) {
    const ms = over(all)
    const goal =
      kind === "body edit" && size === 1_000
        ? "<= 25 ms"
        : kind === "new type, one dependent" && size === 10_000
          ? "<= 2x of 10"
          : undefined
    const figure = { size, ms, ratio: ms.median / smallest.median, checkedCount }
    report(
      "checker",
      `${kind}, among ${size}`,
      `${show(ms, " ms")}, ${figure.ratio.toFixed(2)}x of among ${sizes[0]!}`,
      figure,
      goal,
    )
  }
}
report("checker", "memory after it", `${memory(checker.pid!).toFixed(0)} MB`, { residentMb: memory(checker.pid!) })
await nacre.stop()
