// Random graphs of modules, imported by Node and by a session: the order in which they run, what they see of each other, what they export and
// what is thrown are the same. Cycles, dead zones, live bindings, `export *` with conflicts, missing exports, top-level await and CommonJS
// come up by themselves: names are few, and any module may import any other.
import { join } from "node:path"
import fc from "fast-check"
import { expect, test } from "vitest"
import { importedByNode, importedBySession, writeCases, type Files } from "../../modules/beside-node.ts"
import { useNacre } from "../../system/nacre-under-test.ts"

const under = useNacre({ hosts: { min: 1, max: 1 } })
const graphCount = Number(process.env["NACRE_MODULE_GRAPHS"] ?? 400)
const names = ["a", "b", "c", "f", "K"] as const

const index = fc.nat({ max: 5 })
const name = fc.constantFrom(...names)
const statement = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("named"), from: index, name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("namespace"), from: index, name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("bare"), from: index, name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("default"), from: index, name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("star"), from: index, name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("starAs"), from: index, name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("reexport"), from: index, name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("dynamic"), from: index, name }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("throw"), from: index, name }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("await"), from: index, name }) },
)
const module = fc.record({
  isCommonJs: fc.oneof({ weight: 4, arbitrary: fc.constant(false) }, { weight: 1, arbitrary: fc.constant(true) }),
  exports: fc.uniqueArray(name, { maxLength: 4 }),
  hasDefault: fc.boolean(),
  statements: fc.array(statement, { maxLength: 4 }),
})
const graph = fc.array(module, { minLength: 2, maxLength: 6 })

type Graph = typeof graph extends fc.Arbitrary<infer G> ? G : never

/** One in which a module throws: a sample may hold none that goes so far. */
const thrower: Graph = [
  { isCommonJs: false, exports: ["f"], hasDefault: false, statements: [{ kind: "bare", from: 1, name: "f" }] },
  {
    isCommonJs: false,
    exports: [],
    hasDefault: false,
    statements: [
      { kind: "bare", from: 0, name: "f" },
      { kind: "await", from: 0, name: "f" },
      { kind: "await", from: 0, name: "f" },
      { kind: "throw", from: 0, name: "f" },
    ],
  },
]

function filesOf(modules: Graph): Files {
  const fileOf = (at: number): string => {
    const number = at % modules.length
    return `./m${number}.${modules[number]!.isCommonJs && number > 0 ? "cjs" : "mjs"}`
  }
  const files: Record<string, string> = {}
  for (const [number, each] of modules.entries()) {
    const isCommonJs = each.isCommonJs && number > 0
    files[fileOf(number)] = isCommonJs ? commonJsText(number, each, fileOf, modules) : moduleText(number, each, fileOf)
  }
  return files
}

function moduleText(
  number: number,
  { exports, hasDefault, statements }: Graph[number],
  fileOf: (at: number) => string,
): string {
  const head: string[] = []
  const body: string[] = [`log("m${number}")`]
  const reExported = new Set<string>(exports)
  const look = (what: string, label: string) =>
    body.push(
      `try { log("m${number} ${label}", typeof ${what} === "function" ? "function " + ${what}.name : typeof ${what} === "object" ? Object.keys(${what}) : ${what}) } catch (error) { log("m${number}", error.message) }`,
    )
  for (const [at, { kind, from, name: imported }] of statements.entries()) {
    const file = JSON.stringify(fileOf(from))
    const local = `${imported}${at}`
    if (kind === "named") {
      head.push(`import { ${imported} as ${local} } from ${file}`)
      look(local, `${imported} of ${from}`)
      if (imported === "f") body.push(`try { ${local}(); } catch (error) { log(error.message) }`)
    } else if (kind === "namespace") {
      head.push(`import * as ${local} from ${file}`)
      body.push(
        `try { log("m${number}", Object.keys(${local}).join(), ${local}.${imported}?.name ?? ${local}.${imported}) } catch (error) { log(error.message) }`,
      )
    } else if (kind === "bare") head.push(`import ${file}`)
    else if (kind === "default") {
      head.push(`import ${local} from ${file}`)
      look(local, `default of ${from}`)
    } else if (kind === "star") head.push(`export * from ${file}`)
    else if (kind === "starAs" || kind === "reexport") {
      if (reExported.has(imported)) continue
      reExported.add(imported)
      head.push(kind === "starAs" ? `export * as ${imported} from ${file}` : `export { ${imported} } from ${file}`)
    } else if (kind === "dynamic") {
      body.push(
        `later(() => import(${file}).then((it) => log("m${number} got", Object.keys(it).join()), (error) => log("m${number} missed", error.name)))`,
      )
    } else if (kind === "throw" && at === 3) body.push(`throw new RangeError("m${number}")`)
    else if (kind === "await")
      body.push(
        `await ${at % 2 === 0 ? "null" : `new Promise((resolve) => setTimeout(resolve, 1))`}; log("m${number} goes on")`,
      )
  }
  for (const each of exports) {
    if (each === "f")
      body.push(`export function f() { ${exports.includes("a") ? "a += 1; " : ""}log("f of m${number}") }`)
    else if (each === "K") body.push(`export class K { static at = ${number} }`)
    else if (each === "a") body.push(`export let a = ${number}`)
    else if (each === "b") body.push(`export const b = "b${number}"`)
    else body.push(`export var c = () => ${number}`)
  }
  if (hasDefault) body.push(number % 2 === 0 ? `export default function () {}` : `export default "d${number}"`)
  body.push(`log("m${number} end")`)
  return `${[...head, ...body].join("\n")}\n`
}

function commonJsText(
  number: number,
  { exports, statements }: Graph[number],
  fileOf: (at: number) => string,
  modules: Graph,
): string {
  const lines = [`log("m${number} cjs")`]
  for (const [at, { kind, from, name: wanted }] of statements.entries()) {
    const target = from % modules.length
    const isCommonJs = modules[target]!.isCommonJs && target > 0
    if (kind === "dynamic")
      lines.push(
        `later(() => import("${fileOf(from)}").then((it) => log("m${number} got", Object.keys(it).join()), (error) => log("m${number} missed", error.name)))`,
      )
    // What ES modules in cycles with CommonJS do differs between versions of Node.
    else if (isCommonJs)
      lines.push(
        `const r${at} = require("${fileOf(from)}"); log("m${number}", Object.keys(r${at}).join(), r${at}.${wanted})`,
      )
  }
  for (const each of exports)
    lines.push(
      each === "f" ? `exports.f = function f() { log("f of m${number}") }` : `exports.${each} = "${each}${number}"`,
    )
  return `${lines.join("\n")}\n`
}

test(`${graphCount} random graphs of modules are the same in Node and in a session`, async () => {
  // One that is always the same: what another one finds is looked at by a person, since Node itself is not always right.
  const seed = Number(process.env["NACRE_SEED"] ?? 1)
  const graphs: Graph[] = [...fc.sample(graph, { numRuns: graphCount, seed }), thrower]
  const cases = Object.fromEntries(graphs.map((each, at) => [`g${at}`, filesOf(each)]))
  const { root, remove } = writeCases(cases)
  try {
    const entries = graphs.map((_, at) => join(root, `g${at}`, "m0.mjs"))
    const session = await under.open({ profile: "full", directory: root })
    const [byNode, bySession] = await Promise.all([importedByNode(root, entries), importedBySession(session, entries)])
    const kinds: Record<string, number> = {}
    for (const [at, expected] of byNode.entries()) {
      const kind = expected.error ?? "imported"
      kinds[kind.split(" ", 1)[0]!] = (kinds[kind.split(" ", 1)[0]!] ?? 0) + 1
      // Node 20 forgets why a module could not be linked when another that is in a circle with it is imported at the same time.
      const log = expected.log.map((line) => line.replace(/ missed Error$/, " missed SyntaxError"))
      const files = cases[`g${at}`]
      expect({ seed, ...bySession[at], files }).toEqual({ seed, ...expected, log, files })
    }
    // Every way that a graph can end has come up.
    expect(Object.keys(kinds)).toEqual(expect.arrayContaining(["imported", "SyntaxError", "RangeError"]))
  } finally {
    remove()
  }
})
