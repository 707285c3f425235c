// Hosts are killed with SIGKILL at random moments while sessions change values that are hard to keep: closures that share variables,
// factories and what they made, bound functions, instances with private fields, cycles, Maps of instances, and megabytes of text, bytes and
// objects. Kills are also aimed at evals whose commit is large: one kind at the moment in which its frame arrives, found by moving the
// delay from kill to kill; the other while the embedder is blocked, so that the frame has filled the socket and cannot have left whole.
//
// A model that knows neither closures nor objects of the session believes the outcomes alone. What must survive: everything that an `ok` or
// `threw` outcome committed, as the session's own functions tell it; exactly one outcome for each eval, those inside of others too, in order; nothing of what crashed.
import type { Outcome, Session } from "../../runtime/index.ts"
import { allHostsReady, describeOutcome, pause, pidOf, quantile, signal, within } from "./drill.ts"
import type { Drill, Ground } from "./drill.ts"

const sessionCount = 10
const evalsPerRound = 3
/** Kills come faster than hosts start, so without an end to them no eval would ever end either. */
const killsPerRound = 8
/** An eval that has no outcome by then has none. */
const outcomeMs = 120_000
/** How long the embedder blocks before an aimed kill: a megabyte is encoded in less. */
const blockedMs = 30

const textLength = 2 ** 20
const byteCount = 2 ** 20
const rowCount = 5_000
const countersMax = 6
const ringMax = 40

const prologue = `
  function makeCounter(start: number) { let n = start; return { add: (by: number) => (n += by), read: () => n } }
  class Account {
    #balance = 0
    #steps: number[] = []
    owner: string
    constructor(owner: string) { this.owner = owner }
    deposit(by: number) { this.#balance += by; this.#steps.push(by % 100); return this.#balance }
    get seen() { return [this.owner, this.#balance, this.#steps.length] }
  }
  function weight(x: number) { return x }
  const counter = makeCounter(0)
  const account = new Account("ada")
  const deposit = account.deposit.bind(account)
  const accounts = new Map<any, any>([["main", account], [account, "main"]])
  let counters: any[] = [counter]
  const ledger = (() => {
    let total = 0
    return { pay: (n: number) => { total += n; account.deposit(n) }, total: () => total, heavy: (n: number) => weight(n) + total }
  })()
  const ring: any = { value: 0 }
  ring.next = ring.prev = ring
  const link = (() => {
    let [last, size] = [ring, 1]
    return {
      push(value: number) {
        last = { value, next: ring, prev: ring.prev }
        ring.prev.next = last
        ring.prev = last
        if (++size > ${ringMax}) { ring.next = ring.next.next; ring.next.prev = ring; size -= 1 }
      },
      last: () => last,
    }
  })()
  let text = "x".repeat(${textLength})
  let bytes = new Uint8Array(${byteCount})
  let rows = Array.from({ length: ${rowCount} }, (_, id) => ({ id, hits: 0 }))
  const row = rows[7]
  let note: any = { n: 0 }
  function values() {
    const around: number[] = []
    for (let node = ring.next; node !== ring; node = node.next) {
      if (node.next.prev !== node) throw new Error("the ring is broken")
      around.push(node.value)
    }
    return [counter.read(), counters.map((it) => it.read()), counters[0] === counter, account.seen, account instanceof Account,
      [...accounts].filter(([key]) => key !== account).map(([key, it]) => [key, it.seen]), accounts.get(accounts.get("main")),
      ledger.total(), ledger.heavy(1), around, link.last() === ring.prev, note.n, note.self === note]
  }
  function masses() {
    let [a, b, c] = [0, 0, 0]
    for (let i = 0; i < text.length; i++) a = Math.imul(a ^ text.charCodeAt(i), 16777619)
    for (const byte of bytes) b = Math.imul(b ^ byte, 16777619)
    for (const { id, hits } of rows) c = Math.imul(c ^ (id + hits), 16777619)
    return [text.length, a, bytes.length, b, rows.length, c, rows[7] === row && row.hits]
  }
`

/** What the outcomes so far say that a session holds. Its names are the session's; its values are plain. */
interface Model {
  readonly session: Session
  counter: number
  /** Those after the first, which is `counter`. */
  counters: number[]
  account: [string, number, number]
  accounts: Map<string, [string, number, number]>
  total: number
  factor: number
  ring: number[]
  text: string
  readonly bytes: Uint8Array
  readonly hits: Uint32Array
  note: number
  masses: unknown[] | undefined
}

interface Step {
  readonly code: (n: number) => string
  readonly apply: (model: Model, n: number) => void
  /** The eval itself does not see it yet. */
  readonly isQueued?: true
}

const small: readonly Step[] = [
  { code: (n) => `counter.add(${n})`, apply: (it, n) => void (it.counter += n) },
  {
    code: (n) => `counters.push(makeCounter(${n})); if (counters.length > ${countersMax}) counters.splice(1, 1)`,
    apply: (it, n) => {
      it.counters.push(n)
      if (it.counters.length >= countersMax) it.counters.shift()
    },
  },
  {
    code: (n) => `counters.at(-1).add(${n})`,
    apply: (it, n) => {
      if (it.counters.length === 0) it.counter += n
      else it.counters[it.counters.length - 1]! += n
    },
  },
  { code: (n) => `deposit(${n})`, apply: (it, n) => putIn(it.account, n) },
  {
    code: (n) => `accounts.get("main").deposit(${n}); accounts.set("a${n % 4}", new Account("b${n}"))`,
    apply: (it, n) => {
      putIn(it.account, n)
      it.accounts.set(`a${n % 4}`, [`b${n}`, 0, 0])
    },
  },
  {
    code: (n) => `accounts.get("a${n % 4}")?.deposit(${n})`,
    apply: (it, n) => {
      const found = it.accounts.get(`a${n % 4}`)
      if (found !== undefined) putIn(found, n)
    },
  },
  {
    code: (n) => `ledger.pay(${n})`,
    apply: (it, n) => {
      it.total += n
      putIn(it.account, n)
    },
  },
  {
    code: (n) => `link.push(${n})`,
    apply: (it, n) => {
      it.ring.push(n)
      if (it.ring.length >= ringMax) it.ring.shift()
    },
  },
  {
    // In the session that waits for it, with an outcome of its own and no commit of its own.
    code: (n) => `await tools.inside("counter.add(${n}); deposit(${n})")`,
    apply: (it, n) => {
      it.counter += n
      putIn(it.account, n)
    },
  },
  { code: (n) => `note = { n: ${n} }; note.self = note`, apply: (it, n) => void (it.note = n) },
  {
    code: (n) => `{ const put: any = { n: ${n} }; put.self = put; Session.current.bindings.atPut("note", put) }`,
    apply: (it, n) => void (it.note = n),
    isQueued: true,
  },
]
const waits = [
  "await tools.wait(2)",
  "await new Promise((done) => setTimeout(done, 3))",
  "{ const until = Date.now() + 4; while (Date.now() < until); }",
  "",
  "",
]
const large: readonly Step[] = [
  {
    code: (n) => `text = text.slice(7) + ${n % 10} + "\\ud83d\\udc1a\\ud800é" + "${n % 7}" + "~"`,
    apply: (it, n) => void (it.text = `${it.text.slice(7)}${n % 10}\u{1f41a}\ud800é${n % 7}~`),
  },
  {
    code: (n) => `bytes.fill(${n % 251}, ${n % 1000}, ${n % byteCount}); bytes[${(n * 7919) % byteCount}] ^= 255`,
    apply: (it, n) => {
      it.bytes.fill(n % 251, n % 1000, n % byteCount)
      it.bytes[(n * 7919) % byteCount]! ^= 255
    },
  },
  {
    code: (n) => `for (let i = ${n % 100}; i < rows.length; i += 97) rows[i].hits += ${n % 11}; row.hits += 1`,
    apply: (it, n) => {
      for (let i = n % 100; i < rowCount; i += 97) it.hits[i]! += n % 11
      it.hits[7]! += 1
    },
  },
]

function putIn(account: [string, number, number], by: number): void {
  account[1] += by
  account[2] += 1
}

function valuesOf(it: Model): unknown[] {
  const { counter, counters, account, accounts, total, factor, ring, note } = it
  const own = [["main", account], ...accounts]
  const noteIsCyclic = note !== 0
  return [
    counter,
    [counter, ...counters],
    true,
    account,
    true,
    own,
    "main",
    total,
    factor + total,
    ring,
    true,
    note,
    noteIsCyclic,
  ]
}

function massesOf(it: Model): unknown[] {
  if (it.masses !== undefined) return it.masses
  let [a, b, c] = [0, 0, 0]
  for (let i = 0; i < it.text.length; i++) a = Math.imul(a ^ it.text.charCodeAt(i), 16_777_619)
  for (const byte of it.bytes) b = Math.imul(b ^ byte, 16_777_619)
  for (const [id, hits] of it.hits.entries()) c = Math.imul(c ^ (id + hits), 16_777_619)
  return (it.masses = [it.text.length, a, it.bytes.length, b, it.hits.length, c, it.hits[7]])
}

/** Shoots at the host of a session whose large commit is about to leave. */
class Marksman {
  readonly #kill: (pid: number) => void
  /** Where the frame arrives about as often as not. */
  #delayMs = 100
  readonly delays: number[] = []

  constructor(kill: (pid: number) => void) {
    this.#kill = kill
  }

  /** The session's eval goes on with its last step and then commits. */
  onMark(session: Session, how: unknown): void {
    const pid = pidOf(session)
    if (how === "timed") {
      this.delays.push(this.#delayMs)
      setTimeout(() => this.#kill(pid), this.#delayMs)
    } else if (how === "blocked") {
      // Two turns: the tool's answer has left by then.
      setImmediate(() =>
        setImmediate(() => {
          Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, blockedMs)
          this.#kill(pid)
        }),
      )
    }
  }

  onTimed(hasArrived: boolean): void {
    this.#delayMs = Math.min(2_000, Math.max(1, this.#delayMs * (hasArrived ? 0.8 : 1.25)))
  }
}

export const drill: Drill = {
  survives: `closures, instances, cycles and megabytes of ${sessionCount} sessions while hosts are killed`,
  timeoutMs: 7_200_000,
  async run(ground) {
    const killsWanted = ground.times(1_000, 30)
    const sessions = new Map<string, Session>()
    const tally = { kills: 0, evals: 0, crashed: 0, threw: 0, cut: 0, arrived: 0, rounds: 0, nested: 0 }
    const nestedEnds: Record<string, number> = {}
    const kill = (pid: number): void => {
      if (signal(pid, "SIGKILL")) tally.kills += 1
    }
    const marksman = new Marksman(kill)
    const nacre = await ground.nacre({
      tools: {
        wait: async ([ms]) => pause(ms as number),
        inside: async ([source], { session }) => {
          tally.nested += 1
          const { status, committed } = await sessions.get(session)!.eval(source as string, { nested: true })
          nestedEnds[status] = (nestedEnds[status] ?? 0) + 1
          ground.check(status === "ok" || status === "crashed", `a nested eval ended as ${status}`)
          ground.equal(committed.set, [], "set by a nested eval that assigns nothing")
        },
        mark: async ([how], { session }) => marksman.onMark(sessions.get(session)!, how),
      },
    })
    const models: Model[] = []
    for (let i = 0; i < sessionCount; i += 1) {
      const session = await nacre.open({ id: `keeper-${i}` })
      sessions.set(session.id, session)
      models.push(newModel(session))
    }
    const started = await Promise.all(models.map(({ session }) => session.eval(prologue)))
    for (const outcome of started) {
      ground.equal(describeOutcome(outcome), "ok", "the first eval")
      ground.equal(outcome.ephemeral, [], "ephemeral after the first eval")
    }
    await verify(ground, models)

    let serial = 0
    const ids = new Set<string>()
    const pick = <T>(from: readonly T[]): T => from[Math.floor(ground.random() * from.length)]!
    const evaluate = async (model: Model, order: number[], at: number): Promise<void> => {
      const n = ++serial
      const kind = ground.random()
      const isLarge = kind < 0.3
      const before = isLarge ? [...large.filter(() => ground.random() < 0.7), pick(small)] : [pick(small), pick(small)]
      const after = pick(small)
      const aim = isLarge && ground.random() < 0.4 ? pick(["timed", "blocked"] as const) : undefined
      const middle = isLarge ? `await tools.mark("${aim ?? "a call like any other"}")` : pick(waits)
      const isSeen = [...before, after].every((it) => it.isQueued !== true)
      const ending = kind > 0.85 ? `throw new Error("on purpose")` : kind > 0.6 && isSeen ? "values()" : ""
      const redefines = !isLarge && ground.random() < 0.1
      const definition = redefines ? `function weight(x: number) { return x * ${n} }` : ""
      const source = [...before.map((it) => it.code(n)), middle, after.code(n), definition, ending].join("\n")
      const outcome = await within(outcomeMs, model.session.eval(source))
      ground.check(outcome !== undefined, `an eval had no outcome within ${outcomeMs / 1000} s`)
      if (outcome === undefined) return
      order.push(at)
      tally.evals += 1
      ground.check(!ids.has(outcome.evalId), `two outcomes for ${outcome.evalId}`)
      ids.add(outcome.evalId)
      ground.equal(order.length - 1, at, "outcomes in the order of the calls")
      ground.equal(outcome.lost, [], "lost bindings")
      if (aim === "timed") marksman.onTimed(outcome.status === "ok")
      if (outcome.status === "crashed") {
        tally.crashed += 1
        if (aim === "blocked") tally.cut += 1
        ground.check(outcome.because !== undefined, "a crashed eval that does not say why")
        ground.equal(outcome.committed.set, [], "committed by a crashed eval")
        return
      }
      if (aim !== undefined) tally.arrived += 1
      const throws = kind > 0.85
      ground.equal(describeOutcome(outcome), throws ? "threw Error: on purpose" : "ok", `the outcome of ${source}`)
      ground.equal(outcome.ephemeral, [], `ephemeral after ${source}`)
      if (throws) tally.threw += 1
      if (redefines) model.factor = n
      model.masses = undefined
      for (const step of [...before, after]) step.apply(model, n)
      if (ending === "values()") ground.equal(outcome.value?.data, seen(valuesOf(model)), `values after ${source}`)
    }

    do {
      tally.rounds += 1
      const done = new AbortController()
      const killing = (async () => {
        for (let left = killsPerRound; left > 0 && !done.signal.aborted; left -= 1) {
          await pause(ground.random() * 150)
          const alive = nacre.placement().filter(({ host }) => !host.isDead)
          if (alive.length > 0 && !done.signal.aborted) kill(pick(alive).host.pid)
        }
      })()
      await Promise.all(
        models.flatMap((model) => {
          const order: number[] = []
          return Array.from({ length: evalsPerRound }, (_, at) => evaluate(model, order, at))
        }),
      )
      done.abort()
      await killing
      await verify(ground, models)
    } while (tally.kills < killsWanted)
    const nestedEnded = Object.values(nestedEnds).reduce((sum, it) => sum + it, 0)
    ground.equal(nestedEnded, tally.nested, "outcomes of nested evals")
    // No commit is announced twice, and none of an eval that has no outcome.
    const announced = new Set<string>()
    for (const event of ground.events) {
      if (event.type !== "bindings.changed" || event.evalId === undefined) continue
      ground.check(!announced.has(event.evalId), `two commits of ${event.evalId}`)
      announced.add(event.evalId)
    }
    ground.check(await allHostsReady(nacre), "the hosts were not all replaced within 30 s")
    const { kills, rounds, evals, crashed, threw, cut, arrived } = tally
    ground.figure(`${kills} kills in ${rounds} rounds, ${evals} evals, ${crashed} of them crashed, ${threw} threw`)
    const delay = marksman.delays.length === 0 ? "none" : `${quantile(marksman.delays, 0.5).toFixed(1)} ms`
    ground.figure(`${nestedEnded} evals inside of others, ${nestedEnds.crashed ?? 0} of them crashed`)
    ground.figure(`${cut} large frames cut off, ${arrived} aimed at arrived first, median delay ${delay}`)
  },
}

function newModel(session: Session): Model {
  return {
    session,
    counter: 0,
    counters: [],
    account: ["ada", 0, 0],
    accounts: new Map(),
    total: 0,
    factor: 1,
    ring: [],
    text: "x".repeat(textLength),
    bytes: new Uint8Array(byteCount),
    hits: new Uint32Array(rowCount),
    note: 0,
    masses: undefined,
  }
}

/** As it is after the wire: a copy that later steps do not change. */
function seen(values: unknown[]): unknown {
  return JSON.parse(JSON.stringify(values))
}

/** Everything that every session holds, by calling its functions and by value. */
async function verify(ground: Ground, models: readonly Model[]): Promise<void> {
  await Promise.all(
    models.map(async (model) => {
      // A host that was killed at the end of the round may take the reading with it, which then is asked again: nothing else may go wrong.
      let outcome: Outcome = await model.session.eval("[values(), masses()]")
      for (let again = 0; again < 3 && outcome.because === "host-killed"; again++)
        outcome = await model.session.eval("[values(), masses()]")
      const expected = [valuesOf(model), massesOf(model)]
      ground.equal(outcome.value?.data, expected, `${model.session.id} after the round (${describeOutcome(outcome)})`)
      ground.equal([outcome.lost, outcome.late], [[], []], "lost, or changed outside any eval")
    }),
  )
}
