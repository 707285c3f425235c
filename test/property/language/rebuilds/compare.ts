// Our language and the engine's own, with the realm thrown away in between: a program that is cut into consecutive evals, on a realm that is
// rebuilt from bytes at random cuts, gives what the engine gives for the whole text in one realm. Compared are the value, what was
// logged, the error's name and message, the places of all its frames, and what every function that is left
// gives when it is called.
//
// The prelude is part of the realms, like a built-in, so it costs a program nothing. In CI there are 20,000 programs. The number of a failing
// one is its seed: `SEED=n` runs it alone, `FIRST_SEED=n` goes on from there.
import { Script } from "node:vm"
import vm from "node:vm"
import { afterAll, expect, test } from "vitest"
import { bundleRealmScript } from "../../../../runtime/worker/bundle.ts"
import { Collector } from "../../../../runtime/worker/collect.ts"
import { RealmMaker, type Realm } from "../../../../runtime/worker/realm.ts"
import { ResidentSession } from "../../../resident.ts"
import { Generator, grammar, type Construct } from "../programs.ts"
import { cleaning, plain, prelude, probes, randomFrom, untyped } from "../texts.ts"
import type { Capabilities } from "../../../../stdlib/capabilities.ts"

// A program takes some 20 ms of processor time, most of it for realms that are made and collected.
const count = Number(process.env["PROGRAMS"] ?? (process.env["CI"] ? 20_000 : 1_000))
const first = Number(process.env["FIRST_SEED"] ?? 1)
const only = process.env["SEED"]
const chunks = 5
/** Programs between two collections: the engine alone lets dropped realms pile up for gigabytes. */
const programsPerCollection = 200
const collector = new Collector()
/**
 * Programs that mean something else to the engine, which runs them as scripts (docs/decisions/122): in 842 `await` is the name of a function, in an arrow that is not
 * async; in 1682 a name that is called and bound nowhere throws where its statement begins.
 */
const known = new Set([842, 1682])

const preludeScript = new Script(prelude + probes, { filename: "nacre:prelude" })
const bundle = bundleRealmScript()
/** A line that doubles each time is longer than any string: then the rest does not count. */
const takeLogged = new Script("logged.splice(0).map((line) => line.slice(0, 10_000)).join('\\n')")
const takeFuel = new Script("fuel")

/** Texts of functions are not compared: two of ours may be laid out differently. */
const hidesTexts = new Script('Function.prototype.toString = function toString() { return "code" }')

/** Realms whose built-ins have the prelude among them. */
class ScriptWithPrelude extends Script {
  override runInContext(context: vm.Context): unknown {
    preludeScript.runInContext(context)
    return bundle.runInContext(context)
  }
}
class Realms extends RealmMaker {
  override make(capabilities: Capabilities): Realm {
    const realm = super.make(capabilities)
    realm.run(hidesTexts)
    return realm
  }
}
const realms = new Realms(new ScriptWithPrelude(""))

interface Ended {
  how: string
  value: string
  logged: string
  frames: string[]
}

interface Part {
  text: string
  /** Lines before it in the whole. */
  line: number
}

const engine = vm.createContext(vm.constants.DONT_CONTEXTIFY)
preludeScript.runInContext(engine)
hidesTexts.runInContext(engine)
const setUp = new Script(`logged.length = 0; fuel = 400; ${cleaning}`)

async function byEngine(source: string, last: string, awaits: boolean): Promise<Ended> {
  setUp.runInContext(engine)
  // The text begins in its second line.
  engine["source"] = awaits
    ? `"use strict";(async()=>{\n${source}\nreturn ${last}\n\n})()\n//# sourceURL=program.ts`
    : `"use strict";void 0;\n${source}\n${last}\n//# sourceURL=program.ts`
  let ended: Pick<Ended, "how" | "value" | "frames">
  try {
    const value = (await (vm.runInContext("(0, eval)(source)", engine) as unknown)) as string
    ended = { how: "ok", value, frames: [] }
  } catch (error) {
    ended = { how: nameOf(error), value: "", frames: framesOf(error, source.split("\n").length + 1) }
  }
  return { ...ended, logged: takeLogged.runInContext(engine) as string }
}

function isError(error: unknown): error is Error {
  return typeof error === "object" && error !== null && typeof (error as Error).stack === "string"
}

function nameOf(error: unknown): string {
  return isError(error) ? `${error.name}: ${withoutRendering(error.message)}` : "thrown"
}

/** V8 prints expressions from the text that runs, and only knows names of classes that it has seen given. */
function withoutRendering(message: string): string {
  return message
    .replace(/^.*\(intermediate value\).* is not /s, "(…) is not ")
    .replace(/^Class constructor \S+ cannot/, "Class constructors cannot")
}

/** Places in the program: line and column. The call of the function around an awaiting program stands below it. */
function framesOf(error: unknown, lines: number): string[] {
  if (!isError(error)) return []
  const frames: Frame[] = []
  for (const text of error.stack!.split("\n")) {
    const [, line, column] = /program\.ts:(\d+):(\d+)/.exec(text) ?? []
    if (line === undefined || Number(line) - 1 > lines) continue
    frames.push({ line: Number(line) - 1, column: Number(column), isStatic: text.includes("<static_initializer>") })
  }
  return places(frames)
}

interface Frame {
  line: number
  column: number
  isStatic: boolean
}

/** V8 has no place for where static initialisers are called: it gives that of the code it has made just before. */
function places(frames: readonly Frame[]): string[] {
  return frames.flatMap(({ line, column }, index) => (frames[index - 1]?.isStatic ? [] : [`${line}:${column}`]))
}

interface Tally {
  programs: number
  rebuilds: number
  threw: number
  /** Those that end differently for a reason that is known. */
  explained: number
  /** Programs that held something a realm alone can hold, so that some of their cuts were none. */
  kept: Map<string, number>
  constructs: Map<Construct, number>
}
const tally: Tally = { programs: 0, rebuilds: 0, threw: 0, explained: 0, kept: new Map(), constructs: new Map() }

async function byUs(parts: readonly Part[], random: () => number): Promise<Ended & { marks: string[] }> {
  const session = new ResidentSession({ realms })
  // Values are written with each eval, or only before a rebuild.
  if (random() < 0.3) session.defersAbove = 0
  if (random() < 0.5) session.provesAbove = -1
  const ended: Ended = { how: "ok", value: "", logged: "", frames: [] }
  const logged: string[] = []
  const marks: string[] = []
  let fuel = 400
  for (const [index, { text }] of parts.entries()) {
    const { status, text: shown, value, delta, error } = await session.eval(text)
    const { realm } = session.resident
    const lines = realm.run(takeLogged) as string
    if (lines !== "") logged.push(lines)
    fuel = realm.run(takeFuel) as number
    if (status === "ok") {
      ended.value = String(value)
    } else {
      ended.how =
        status === "invalid"
          ? "SyntaxError"
          : error!.rendered.startsWith("Uncaught")
            ? "thrown"
            : `${error!.name}: ${withoutRendering(error!.message)}`
      const frames = (error?.stack ?? []).flatMap(({ name, file, line, column }) => {
        const number = /^test\/(\d+)\.ts$/.exec(file)?.[1]
        if (number === undefined) return []
        return [
          {
            line: line + parts[Number(number) - 1]!.line,
            column,
            isStatic: name?.includes("<static_initializer>") === true,
          },
        ]
      })
      ended.frames = places(frames)
      if (status === "invalid") ended.value = shown
      break
    }
    if (index === parts.length - 1 || random() < 0.5) continue
    session.write()
    const held = [...session.ephemeral.map((name) => session.ephemeralText(name) ?? ""), ...(delta.realmOnly ?? [])]
    for (const what of held) tally.kept.set(kindOf(what), (tally.kept.get(kindOf(what)) ?? 0) + 1)
    if (held.length > 0) continue
    session.rebuild()
    session.resident.realm.run(new Script(`fuel = ${fuel}`))
    tally.rebuilds += 1
    marks[index] = "// rebuilt"
  }
  return { ...ended, logged: logged.join("\n"), marks }
}

/** The reason without names and places. */
function kindOf(what: string): string {
  return what
    .replace(/ \(at .*/s, "")
    .replace(/^\S+ \(data/, "(data")
    .replace(/'[^']*'/g, "…")
    .replace(/\b[vfCr]\d+\b/g, "…")
}

/**
 * Programs that may end differently (docs/decisions/122). Where a stack overflows is a matter of how much of it a frame takes; a name that is bound nowhere, and a constant that the rest
 * of a list is assigned to, throw where they are written, and the engine says where the statement or the rest begins; `await` is no name.
 */
const freePlaces =
  /^(?:RangeError: Maximum call stack size exceeded|ReferenceError: \S+ is not defined|TypeError: Assignment to constant variable\.)$/

function isExplained(theirs: Ended, ours: Ended): boolean {
  if (ours.how === "SyntaxError") return ours.value.startsWith("The keyword 'await' is reserved")
  if (ours.how !== theirs.how || !freePlaces.test(ours.how) || ours.frames.length !== theirs.frames.length) return false
  const withoutFirst = (it: Ended): string => comparable({ ...it, frames: it.frames.slice(1) })
  return withoutFirst(theirs) === withoutFirst(ours)
}

function comparable({ how, value, logged, frames }: Ended): string {
  // A program logs 300 lines at most, which we count an eval at a time.
  const lines = logged.split("\n").slice(0, 300)
  return JSON.stringify([how, how === "ok" ? value : "", lines, frames], null, 1)
}

/** What differs; a chunk fails with the first few. */
const failures: string[] = []

async function compare(seed: number): Promise<boolean> {
  const random = randomFrom(seed)
  const awaits = random() < 0.35
  const { statements, constructs, begins, stands, names } = new Generator(seed, {
    awaits,
    redeclares: random() < 0.7,
  }).program()
  const parts: Part[] = []
  const add = (text: string, isApart: boolean): void => {
    const before = parts.at(-1)
    if (before !== undefined && !isApart && random() < 0.4) before.text += `;\n${text}`
    else parts.push({ text, line: before === undefined ? 0 : before.line + before.text.split("\n").length })
  }
  for (const [index, statement] of statements.entries()) add(statement, begins.has(index) || stands.has(index - 1))
  const last = `show([[${names.join(", ")}], probe([${names.join(", ")}])])`
  const source = parts.map(({ text }) => plain(text)).join(";\n") + ";"
  parts.push({ text: last, line: source.split("\n").length })
  const theirs = await byEngine(source, last, awaits)
  if (theirs.how.startsWith("SyntaxError")) return false
  const ours = await byUs(
    parts.map(({ text, line }) => ({ text: text === last ? text : untyped(text), line })),
    random,
  )
  tally.programs += 1
  if (tally.programs % programsPerCollection === 0) collector.collect()
  if (theirs.how !== "ok") tally.threw += 1
  for (const construct of constructs) tally.constructs.set(construct, (tally.constructs.get(construct) ?? 0) + 1)
  if (comparable(theirs) !== comparable(ours)) {
    if (isExplained(theirs, ours)) {
      tally.explained += 1
      return true
    }
    const listing = parts
      .map(({ text }, index) => `${text === last ? text : untyped(text)} ${ours.marks[index] ?? ""}`)
      .join("\n-----\n")
    failures.push(
      `seed ${seed}\n${listing}\n--- engine\n${comparable(theirs)}\n--- ours\n${comparable(ours)}\n${ours.value}`,
    )
  }
  return true
}

/** Half of the programs: each half is a file, so that two workers share them. */
export function testPrograms(half: 0 | 1): void {
  const size = Math.ceil(count / 2 / chunks)
  const parts = only === undefined ? Array.from({ length: chunks }, (_, index) => index) : half === 0 ? [0] : []
  test.each(parts)(
    "programs mean the same on realms that are rebuilt between evals, part %i",
    { timeout: 600_000 },
    async (part) => {
      failures.length = 0
      // Programs that do not parse are no programs: a part has room for twice as many seeds as it needs.
      const from = first + (half * chunks + part) * size * 2
      if (only !== undefined) await compare(Number(only))
      else for (let seed = from, done = 0; done < size; seed++) if (!known.has(seed) && (await compare(seed))) done += 1
      if (failures.length > 0) expect.fail(`${failures.length} differ:\n${failures.slice(0, 20).join("\n\n")}`)
    },
  )

  afterAll(() => {
    const { programs, threw, rebuilds, explained, constructs, kept } = tally
    const share = (number: number): string => `${Math.round((number / programs) * 100)} %`
    console.log(
      [
        `${programs} programs, ${rebuilds} rebuilds; ${share(threw)} end with an error; ${explained} end differently for a known reason`,
        ...grammar.map((construct) => `  ${construct}: ${share(constructs.get(construct) ?? 0)}`),
        "Not rebuilt, since only the realm holds:",
        ...Array.from(kept, ([what, times]) => `  ${what}: ${times}`),
      ].join("\n"),
    )
  })

  test("programs have every construct of the grammar", () => {
    if (only !== undefined) return
    const rare = grammar.filter((construct) => (tally.constructs.get(construct) ?? 0) < tally.programs / 200)
    expect(rare).toEqual([])
    expect(tally.rebuilds).toBeGreaterThan(tally.programs)
    expect(tally.explained).toBeLessThan(Math.max(5, tally.programs / 200))
  })
}
