// The house rules that a machine can check: layers, headers, names, and nothing that must not be committed.
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { describe, expect, it } from "vitest"

const root = resolve(import.meta.dirname, "..")
const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8",
})
  .split("\n")
  .filter((file) => file !== "")
const sources = files.filter((file) => /^(runtime|supervisor|stdlib)\/.*\.ts$/.test(file))

interface Import {
  from: string
  to: string
  isTypeOnly: boolean
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), "utf8")
  const found: Import[] = []
  for (const match of text.matchAll(/^(?:import|export)\s+(type\s+)?[^;"']*?from\s+"(\.[^"]+)"/gm)) {
    const to = relative(root, resolve(root, dirname(file), match[2]!))
    found.push({ from: file, to, isTypeOnly: match[1] !== undefined })
  }
  return found
}

/** The layer of a file, highest first. A file may import from its own layer and from lower ones; types may come from anywhere. */
const layers: [RegExp, string][] = [
  [/^runtime\/cli\//, "cli"],
  [/^runtime\/serve\//, "serve"],
  [/^runtime\/client\//, "client"],
  [/^runtime\/index\.ts$/, "index"],
  [/^runtime\/nacre\.ts$/, "nacre"],
  [/^runtime\/workspace\//, "workspace"],
  [/^runtime\/session\/(session|bindings|changes|code-changes|checks|handles|tools|value-types)\.ts$/, "session"],
  [/^runtime\/shell\//, "shell"],
  [/^runtime\/session\/(state|outcome|unnamed)\.ts$/, "state"],
  [/^runtime\/checker\//, "checker"],
  [/^runtime\/module\//, "module"],
  [/^runtime\/host\//, "host"],
  [/^runtime\/worker\//, "worker"],
  [/^runtime\/profile\.ts$/, "profile"],
  [/^runtime\/language\//, "language"],
  [/^runtime\/wire\//, "wire"],
  [/^stdlib\//, "stdlib"],
  [/^runtime\/(errors|options|events|clock|entry|child-process)\.ts$/, "base"],
  [/^supervisor\//, "supervisor"],
]
const order = layers.map(([, name]) => name)

function layerOf(file: string): number {
  return layers.findIndex(([pattern]) => pattern.test(file))
}

describe("layers", () => {
  it("has a layer for every source file", () => {
    expect(sources.filter((file) => layerOf(file) === -1)).toEqual([])
  })

  it("imports values only downwards", () => {
    // The realm is evaluated from wire/values and stdlib together; they are one layer as far as values go.
    const isRealm = (file: string) => file.startsWith("stdlib/") || file.startsWith("runtime/wire/values/")
    const wrong = sources
      .flatMap(importsOf)
      .filter(({ isTypeOnly }) => !isTypeOnly)
      .filter(({ from, to }) => !(isRealm(from) && isRealm(to)))
      .filter(({ from, to }) => layerOf(to) < layerOf(from))
      .map(({ from, to }) => `${from} (${order[layerOf(from)]}) -> ${to} (${order[layerOf(to)]})`)
    expect(wrong).toEqual([])
  })

  it("keeps supervisor/ independent of runtime/ and stdlib/", () => {
    const wrong = sources.filter((file) => file.startsWith("supervisor/")).flatMap(importsOf)
    expect(wrong.filter(({ to }) => !to.startsWith("supervisor/"))).toEqual([])
  })

  it("keeps runtime/client/ independent of the server at run time", () => {
    const values = sources
      .filter((file) => file.startsWith("runtime/client/"))
      .flatMap(importsOf)
      .filter(({ isTypeOnly }) => !isTypeOnly)
    expect(values.filter(({ to }) => !to.startsWith("runtime/client/"))).toEqual([])
  })

  it("lets only one file spawn processes, and a client start a server", () => {
    const spawns = sources.filter((file) =>
      /^import \{.*from "node:child_process"/m.test(readFileSync(join(root, file), "utf8")),
    )
    const allowed = /^(runtime\/child-process\.ts|runtime\/client\/stdio\.ts|supervisor\/)/
    expect(spawns.filter((file) => !allowed.test(file))).toEqual([])
  })
})

describe("realm-side files", () => {
  it("import only each other", () => {
    const realm = sources.filter((file) => file.startsWith("stdlib/"))
    const wrong = realm
      .flatMap(importsOf)
      .filter(
        ({ isTypeOnly, to }) => !isTypeOnly && !to.startsWith("stdlib/") && !to.startsWith("runtime/wire/values/"),
      )
    expect(wrong).toEqual([])
    for (const file of realm) expect(readFileSync(join(root, file), "utf8"), file).not.toMatch(/from "(node:|[a-z@])/)
  })
})

describe("files", () => {
  it("open with a header that says why", () => {
    const bare = sources.filter((file) => {
      if (file.endsWith("/index.ts")) return false
      const lines = readFileSync(join(root, file), "utf8").split("\n")
      return !lines[lines[0]!.startsWith("#!") ? 1 : 0]!.startsWith("//")
    })
    expect(bare).toEqual([])
  })

  it("have no leftovers", () => {
    const marks = new RegExp(["TOD{1}O", "FIXM{1}E", "X{3}"].join("|"))
    const wrong = files.filter((file) => file.endsWith(".ts") && marks.test(readFileSync(join(root, file), "utf8")))
    expect(wrong).toEqual([])
  })

  it("name no machine, registry or home folder", () => {
    const places = new RegExp(["/(?:work|root|home)/[a-z]", "registry\\.[a-z-]+\\.(?:org|com|io|example)"].join("|"))
    const isChecked = (file: string) => /\.(ts|json|md|mjs|cjs)$|^\.ci\//.test(file) && !file.includes("test/golden/")
    const wrong = files.filter((file) => isChecked(file) && places.test(readFileSync(join(root, file), "utf8")))
    expect(wrong).toEqual([])
  })
})
