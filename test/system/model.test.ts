// Sessions and globals against a simple sequential model: random rounds in which every session does something at the same time, sessions
// read each other and the globals, some close, and hosts are killed under them.
//
// Within a round the order is open, so what is read in it may be the value from before the round or one that is written in it; an eval that
// crashed has done nothing to its session, and may or may not have written its global. After each round everything stands exactly as the
// model says. The seed is in the test's name: `NACRE_SEED=7 npx vitest run test/system/model.test.ts` runs another.
import { expect, test } from "vitest"
import type { Session } from "nacre"
import { createRandom } from "../property/supervisor/random.ts"
import { useNacre } from "./nacre-under-test.ts"

const under = useNacre({ hosts: { min: 2, max: 3 } })
const given = process.env["NACRE_SEED"]
const seeds = given === undefined ? [1, 2, 3] : [Number(given)]
const rounds = 25
const names = ["a", "b", "c"]
const globalNames = ["g", "h"]
const ids = ["s0", "s1", "s2", "s3"]

type Value = number | undefined

/** What everything holds between two rounds. */
interface Model {
  readonly sessions: Map<string, Map<string, number>>
  readonly globals: Map<string, number>
}

interface Step {
  readonly session: string
  readonly code: string
  /** What the code does to its own session when it ends by itself. */
  readonly apply: (bindings: Map<string, number>) => void
  /** What its value may be; `undefined` leaves it open. */
  readonly reads?: { of: "session" | "global"; target: string; name: string }
  readonly binds?: { name: string; value: Value }
  readonly closes?: true
}

test.each(seeds)(
  "seed %i: after each round everything is as the model says",
  async (seed) => {
    const random = createRandom(seed)
    const model: Model = { sessions: new Map(), globals: new Map() }
    const open = new Map<string, Session>()
    let last = 0

    const stepOf = (session: string): Step => {
      const name = random.pick(names)
      const value = ++last
      const global = random.pick(globalNames)
      const target = random.pick(ids.filter((it) => it !== session))
      const nothing = (): void => {}
      const set = (bindings: Map<string, number>): void => void bindings.set(name, value)
      return random.weighted<() => Step>([
        [() => ({ session, code: `${name} = ${value}`, apply: set }), 4],
        [() => ({ session, code: `Session.current.bindings.atPut("${name}", ${value}); ${name} = 0`, apply: set }), 2],
        [() => ({ session, code: `${name} = ${value}; throw 1`, apply: set }), 1],
        [
          () => ({
            session,
            code: `Session.current.bindings.removeKey("${name}")`,
            apply: (bindings) => void bindings.delete(name),
          }),
          1,
        ],
        [() => ({ session, code: `Session.current.clear()`, apply: (bindings) => bindings.clear() }), 1],
        [
          () => ({
            session,
            code: `Session.withId("${target}")?.bindings.at("${name}")`,
            apply: nothing,
            reads: { of: "session", target, name },
          }),
          5,
        ],
        [
          () => ({
            session,
            code: `typeof ${global} === "undefined" ? undefined : ${global}`,
            apply: nothing,
            reads: { of: "global", target: "", name: global },
          }),
          4,
        ],
        [
          () => ({
            session,
            code: `Workspace.bind("${global}", ${value}); ${name} = ${value}; ${global} >= ${value} || "stale"`,
            apply: set,
            binds: { name: global, value },
          }),
          4,
        ],
        [
          () => ({
            session,
            code: `Workspace.unbind("${global}")`,
            apply: nothing,
            binds: { name: global, value: undefined },
          }),
          1,
        ],
        [() => ({ session, code: `await tools.echo(1); ${name} = ${value}`, apply: set }), 2],
        [() => ({ session, code: `0`, apply: nothing, closes: true }), 1],
      ])()
    }

    for (let round = 0; round < rounds; round++) {
      for (const id of ids) {
        if (open.has(id)) continue
        open.set(id, await under.open({ id }))
        model.sessions.set(id, new Map())
      }
      const steps = ids.map(stepOf)
      const before = structuredClone(model)
      const outcomes = steps.map(({ session, code }) => open.get(session)!.eval(code))
      if (random.chance(0.3)) {
        const [pid] = under.hostPids()
        if (pid !== undefined) process.kill(pid, "SIGKILL")
      }
      const closing = steps.flatMap(({ session, closes }) => (closes ? [open.get(session)!.close()] : []))
      const ended = await Promise.all(outcomes)
      await Promise.all(closing)

      const trace = `round ${round}: ${steps.map(({ session, code }, at) => `${session}: ${code} -> ${ended[at]!.status}`).join("; ")}`
      /** Values that a global may have been given in this round. */
      const written = new Map(globalNames.map((name) => [name, new Set<Value>([before.globals.get(name)])]))
      for (const [at, { session, apply, binds, closes }] of steps.entries()) {
        const { status, committed } = ended[at]!
        if (binds !== undefined) written.get(binds.name)!.add(binds.value)
        if (closes) {
          open.delete(session)
          model.sessions.delete(session)
          continue
        }
        if (status !== "crashed") apply(model.sessions.get(session)!)
        if (binds?.value !== undefined)
          expect(committed.globals, trace).toEqual(status === "crashed" ? committed.globals : [binds.name])
      }
      for (const [at, { session, reads, binds }] of steps.entries()) {
        const { status, value, error } = ended[at]!
        if (status === "crashed" || steps[at]!.closes) continue
        if (reads?.of === "global") expect([...written.get(reads.name)!], trace).toContain(value?.data)
        if (reads?.of === "session") {
          const { target, name } = reads
          // One that was closed in this round is gone, or its last state is read.
          if (error !== undefined) {
            expect([error.kind, open.has(target)], trace).toEqual(["session_not_found", false])
            continue
          }
          const allowed = [before.sessions.get(target)?.get(name), model.sessions.get(target)?.get(name)]
          if (!open.has(target)) allowed.push(undefined)
          expect(allowed, trace).toContain(value?.data)
        }
        // What it has bound itself, or what came after, and never what was before.
        if (binds?.value !== undefined && written.get(binds.name)!.size === 2) {
          expect(value?.data, `${session} in ${trace}`).toBe(true)
        }
      }
      for (const name of globalNames) {
        const now = under.nacre.globals().at(name) as Value
        expect([...written.get(name)!], trace).toContain(now)
        if (now === undefined) model.globals.delete(name)
        else model.globals.set(name, now)
      }
      for (const [id, session] of open) {
        const { bindings } = session
        expect(
          Object.fromEntries(bindings.keys().map((name) => [name, bindings.at(name)])),
          `${id} after ${trace}`,
        ).toEqual(Object.fromEntries(model.sessions.get(id)!))
      }
    }
    for (const session of open.values()) await session.close()
    for (const name of under.nacre.globals().keys()) await under.nacre.globals().unbind(name)
  },
  120_000,
)
