// What the session language costs: one line, many lines, and loops over every kind of name, beside a plain function.
//
// Everything runs in one process and one realm; medians of several rounds. Prints a readable line and a JSON line for each question.
import vm from "node:vm"
import type { compile as Compile } from "../runtime/language/compile.ts"
import type { parse as Parse } from "../runtime/language/parse.ts"
import type { Unit } from "../stdlib/environment.ts"
import { TestSession } from "../test/realm.ts"
import { builtFile } from "./parts/processes.ts"

// As it is built: what runs the sources keeps names of functions at a price.
const { compile } = await builtFile<{ compile: typeof Compile }>("runtime/language/compile.js")
const { parse } = await builtFile<{ parse: typeof Parse }>("runtime/language/parse.js")

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}

/** Microseconds of one call, as the median of rounds. */
function timeUs(rounds: number, calls: number, run: () => void): number {
  const times: number[] = []
  for (let round = 0; round < rounds; round++) {
    const start = process.hrtime.bigint()
    for (let call = 0; call < calls; call++) run()
    times.push(Number(process.hrtime.bigint() - start) / calls / 1000)
  }
  return median(times)
}

function runUnit(script: vm.Script, { context }: TestSession): Unit {
  const unit: Unit = script.runInContext(context)
  return unit
}

function report(name: string, values: Record<string, number>): void {
  const rounded = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, Math.round(value * 100) / 100]))
  console.log(
    `${name}: ${Object.entries(rounded)
      .map(([key, value]) => `${key} ${value}`)
      .join(", ")}`,
  )
  console.log(JSON.stringify({ bench: "language", name, ...rounded }))
}

function oneLine(): void {
  const session = new TestSession()
  session.evalNow("let acc = 0; const rate = 2; function f(n: number) { return n * rate }")
  const line = "acc += f(3) as number"
  const filename = "nacre:bench/1.ts"
  const unit = compile(line, session, { filename })
  if (!unit.valid) throw new Error(unit.rendered)
  const script = new vm.Script(unit.code, { filename })
  const run = (): void => {
    const started = session.environment.start(runUnit(script, session))
    session.environment.finish(started, "ok")
  }
  let number = 0
  report("one line, microseconds", {
    parse: timeUs(15, 2000, () => void parse(line)),
    compile: timeUs(15, 2000, () => void compile(line, session, { filename })),
    script: timeUs(15, 1000, () => void new vm.Script(`${unit.code}//${++number}`, { filename })),
    run: timeUs(15, 2000, run),
    whole: timeUs(15, 1000, () => void session.evalNow(`${line} + ${++number}`)),
  })
}

function manyLines(): void {
  const lines: string[] = []
  for (let index = 0; lines.length < 2000; index++) {
    lines.push(
      `interface Row${index} { id: number; name?: string }`,
      `function area${index}(row: Row${index}, k: number = 2): number {`,
      `  const { id, name = "x" } = row`,
      `  for (let i = 0; i < 3; i++) total += id * i + k`,
      `  return name.length + total`,
      `}`,
      `const api${index} = { area${index}, twice: (n: number) => n * 2 }`,
      `let row${index}: Row${index} = { id: ${index} }`,
      `total += area${index}(row${index}) + api${index}.twice(1)`,
      `if (total > 1e9) { total = 0 }`,
    )
  }
  const source = `let total = 0\n${lines.join("\n")}`
  const session = new TestSession()
  const options = { filename: "nacre:bench/2.ts" }
  const unit = compile(source, session, options)
  if (!unit.valid) throw new Error(unit.rendered)
  report("2,000 lines, milliseconds", {
    parse: timeUs(9, 1, () => void parse(source)) / 1000,
    compile: timeUs(9, 1, () => void compile(source, session, options)) / 1000,
    script: timeUs(9, 1, () => void new vm.Script(unit.code, options)) / 1000,
  })
}

const turns = 30_000_000

/** Nanoseconds a turn of a loop whose body uses a name of each kind, and the factor to a plain function of the same shape. */
function loops(kind: "int" | "double"): void {
  const step = kind === "int" ? "1" : "0.5"
  const measure = (prepare: string[], loop: string, promotes = true): number => {
    const times = [1, 2, 3, 4, 5].map(() => {
      const session = new TestSession({ promotes })
      for (const source of prepare) session.evalNow(source)
      const start = process.hrtime.bigint()
      const { status, error } = session.evalNow(loop)
      if (status !== "ok") throw error
      return Number(process.hrtime.bigint() - start) / turns
    })
    return median(times)
  }
  const head = `for (let i = 0; i < ${turns}; i++)`
  const plainLocal = measure([], `(() => { let acc = 0; ${head} acc += ${step}; return acc })()`)
  const plainCaptured = measure(
    [],
    `(() => { let acc = 0; const get = () => acc; ${head} acc += ${step}; return get() })()`,
  )
  const plainCall = measure(
    [],
    `(() => { function f(n) { return n + ${step} } let acc = 0; ${head} acc = f(acc); return acc })()`,
  )
  const plainConst = measure([], `(() => { const k = ${step}; let acc = 0; ${head} acc += k; return acc })()`)
  const local = measure(["let acc = 0"], `${head} acc += ${step}; acc`)
  const captured = measure(["let acc = 0; const get = () => acc"], `${head} acc += ${step}; get()`)
  const called = measure([`function f(n) { return n + ${step} }`, "let acc = 0"], `${head} acc = f(acc); acc`)
  const constant = measure([`const k = ${step}`, "let acc = 0"], `${head} acc += k; acc`)
  report(`loops over ${kind}s, nanoseconds a turn`, {
    plainLocal,
    local,
    plainCaptured,
    captured,
    plainCall,
    called,
    plainConst,
    constant,
  })
  report(`loops over ${kind}s, factor to a plain function`, {
    local: local / plainLocal,
    captured: captured / plainCaptured,
    definition: called / plainCall,
    const: constant / plainConst,
  })
}

/** What stamping adds where functions are created: nanoseconds a turn, in our language and in the engine's own, turn about. Processor time. */
function closures(): void {
  const kinds: Record<string, { turns: number; body: string }> = {
    called: { turns: 2_000_000, body: "const f = (x) => x + i; t += f(1)" },
    mapped: { turns: 500_000, body: "t += list.map((x) => x + i).length" },
    kept: { turns: 1_000_000, body: "kept[i & 1023] = (x) => x + i" },
    made: { turns: 1_000_000, body: "kept[i & 1023] = make(i)" },
    object: { turns: 500_000, body: "kept[i & 1023] = counter(i)" },
    "in a method, of private names": { turns: 1_000_000, body: "kept[i & 1023] = a.make()" },
    "in a method, of super": { turns: 1_000_000, body: "kept[i & 1023] = b.make()" },
    "none: a call of one of private names": { turns: 5_000_000, body: "t += counted()" },
    "none: a call of one of super": { turns: 5_000_000, body: "t += above()" },
    "none: an instance of their class": { turns: 1_000_000, body: "kept[i & 1023] = new A()" },
    "none: a method of their class": { turns: 5_000_000, body: "t += a.plain(i)" },
    "none: a literal with super": { turns: 500_000, body: "kept[i & 1023] = literal(i)" },
  }
  const head = `const list = [1, 2, 3, 4, 5, 6, 7, 8]; const kept = new Array(1024)
    function make(n) { let left = n; return () => left-- > 0 }
    function counter(n) { let c = n; return { up() { return ++c }, down: () => --c } }
    class A { #n = 1; make() { return () => this.#n++ } plain(k) { return this.#n + k } }
    class B extends A { make() { return () => super.plain(1) } }
    const a = new A(), b = new B(), counted = a.make(), above = b.make()
    const literal = (n) => ({ n, f() { return super.toString } })`
  for (const [kind, { turns: count, body }] of Object.entries(kinds)) {
    const source = `(() => { ${head}; let t = 0; for (let i = 0; i < ${count}; i++) { ${body} } return t })()`
    const session = new TestSession()
    const engine = new vm.Script(`"use strict";${source}`)
    const ours: number[] = []
    const theirs: number[] = []
    for (let round = 0; round < 9; round++) {
      let start = process.cpuUsage()
      session.evalNow(source)
      ours.push((process.cpuUsage(start).user * 1_000) / count)
      start = process.cpuUsage()
      engine.runInContext(session.context)
      theirs.push((process.cpuUsage(start).user * 1_000) / count)
    }
    const [stamped, plain] = [median(ours), median(theirs)]
    report(`functions created, ${kind}, nanoseconds a turn`, { plain, stamped, factor: stamped / plain })
  }
}

const [only] = process.argv.slice(2)
if (only === "closures") {
  closures()
  process.exit()
}
oneLine()
manyLines()
loops("int")
loops("double")
closures()
