// Capability profiles: what code of each may do, what refusing says, and what a host of each may reach.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { afterAll, describe, expect, test } from "vitest"
import { Nacre } from "nacre"
import { until } from "../until.ts"
import { refusal, useNacre } from "./nacre-under-test.ts"

const folder = realpathSync(mkdtempSync(join(tmpdir(), "nacre-capabilities-")))
const readable = join(folder, "readable")
const writable = join(folder, "writable")
mkdirSync(readable)
mkdirSync(writable)
writeFileSync(join(readable, "data.txt"), "read me")
writeFileSync(join(readable, "lib.mjs"), "export const six = 6")
writeFileSync(join(folder, "secret.txt"), "secret")
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const under = useNacre({
  tools: { other: async () => "other" },
  profiles: {
    silent: { capabilities: ["timers", "tools.echo"] },
    reader: { capabilities: ["print", "fs.read"], readable: [readable] },
    writer: { capabilities: ["fs.read", "fs.write"], readable: [readable], writable: [writable] },
    importer: { capabilities: ["import", "env"], readable: [readable], env: { MODE: "test" } },
    quiet: { capabilities: ["web"] },
    caller: { capabilities: ["net", "print", "web"] },
  },
})

/** Of one session for each profile: the value, or the error's kind and name. */
async function answers(profile: string, code: string): Promise<unknown> {
  const session = await under.open({ profile, directory: readable })
  const { status, value, error } = await session.eval(code)
  await session.close()
  return status === "ok" ? value?.data : `${error?.name}, ${error?.kind}: ${error?.message}`
}

const denial = (what: string, capability: string, profile: string): string =>
  `${what} needs the capability '${capability}', which profile '${profile}' does not have.`

describe("what a profile lacks", () => {
  test.each([
    ["minimal", "console.log(1)", "console", "print"],
    ["minimal", "Transcript.show(1)", "Transcript", "print"],
    ["minimal", "setTimeout(() => {}, 1)", "setTimeout", "timers"],
    ["minimal", "new URL('a:b')", "URL", "web"],
    ["minimal", "tools.echo(1)", "tools", "tools.*"],
    ["standard", "fetch('https://example.test')", "fetch", "net"],
    ["standard", "require('fs')", "require", "import"],
    ["silent", "console.log(1)", "console", "print"],
    ["reader", "fetch('https://example.test')", "fetch", "net"],
    ["reader", "new AbortController()", "AbortController", "web"],
    ["reader", "setTimeout(() => {}, 1)", "setTimeout", "timers"],
  ])("of %s, `%s` throws and names it", async (profile, code, name, capability) => {
    expect(await answers(profile, code)).toBe(`ReferenceError, capability_denied: ${denial(name, capability, profile)}`)
    expect(await answers(profile, `typeof ${name}`)).toBe("undefined")
  })

  test.each([
    ["minimal", "Workspace.bind('x', 1)", "Workspace.bind", "globals.write"],
    ["silent", "Session.withId('else')", "Reading other sessions", "sessions.read"],
    ["silent", "Workspace.sessions", "Reading other sessions", "sessions.read"],
    ["silent", "tools.other()", "tools.other", "tools.other"],
    ["standard", "process.env", "process.env", "env"],
    ["reader", "process.env", "process.env", "env"],
    ["quiet", "AbortSignal.timeout(5)", "AbortSignal.timeout", "timers"],
    ["reader", "import('node:net')", "'node:net', which this session asks for,", "net"],
    ["reader", "import('node:child_process')", "'node:child_process', which this session asks for,", "process"],
    ["reader", "import('node:timers/promises')", "'node:timers/promises', which this session asks for,", "timers"],
    ["caller", "import('node:fs')", "'node:fs', which this session asks for,", "fs.read"],
    ["reader", "import('./lib.mjs')", `'${readable}/lib.mjs', which this session asks for,`, "import"],
  ])("of %s, `%s` is refused and named", async (profile, code, what, capability) => {
    expect(await answers(profile, code)).toContain(`capability_denied: ${denial(what, capability, profile)}`)
  })

  test("changes of definitions as a whole are one of them", async () => {
    const session = await under.open({ profile: "silent" })
    const refused = [
      session.submit("const a = () => 1"),
      session.restoreRevision(0),
      session.proposeChange("const b = 1"),
    ]
    for (const it of refused) expect((await refusal(it)).kind).toBe("capability_denied")
    expect(session.exportRevision().declarations).toEqual([])
    expect((await session.eval("function f() { return 2 }; f()")).value?.data).toBe(2)
  })
})

describe("what a profile has", () => {
  test.each([
    ["minimal", "[1, 2].map((it) => it * 2)", [2, 4]],
    ["silent", "await tools.echo(await new Promise((done) => setTimeout(done, 1, 3)))", [3]],
    [
      "reader",
      `(await import("node:fs")).readFileSync(${JSON.stringify(join(readable, "data.txt"))}, "utf8")`,
      "read me",
    ],
    ["importer", "import { six } from './lib.mjs'; six + process.env.MODE", "6test"],
    ["caller", "typeof fetch + typeof (await import('node:http')).get", "functionfunction"],
    ["caller", "typeof WebSocket === typeof globalThis.WebSocket && typeof Buffer", "undefined"],
  ])("in %s `%s` works", async (profile, code, value) => {
    expect(await answers(profile, code)).toEqual(value)
  })

  test("types are checked against what there is", async () => {
    const session = await under.open({ profile: "silent", check: "types" })
    expect((await session.eval("console.log(1)")).error?.message).toContain("console")
    expect((await session.eval("setTimeout(() => {}, 1); 1")).status).toBe("ok")
  })
})

test.each(["standard", "full", "importer", "caller", "silent"])(
  "what profile %s adds to built-ins is no change of a session's",
  async (profile) => {
    // The second one has a realm that is made by what the first one's was like.
    for (let round = 0; round < 2; round++) {
      const session = await under.open({ profile, directory: readable })
      await session.run("let o = { a: 1 }, k = 'a'; o[k]")
      for (let count = 0; count < 64; count++) await session.eval("k = k")
      expect((await session.eval("(Array as any).mine = 1; k = k")).ephemeral).toEqual([])
      await session.close()
    }
  },
)

describe("the host of a profile", () => {
  const at = (path: string): string => JSON.stringify(path)
  const [secret, inside, outside] = [join(folder, "secret.txt"), join(readable, "new.txt"), join(folder, "new.txt")]

  test.each([
    ["reader", `fs.readFileSync(${at(secret)})`, "fs.read", secret],
    ["reader", `fs.writeFileSync(${at(inside)}, "")`, "fs.write", inside],
    ["writer", `fs.writeFileSync(${at(outside)}, "")`, "fs.write", outside],
  ])("of %s does not give `%s`", async (profile, code, capability, path) => {
    const answer = await answers(profile, `const fs = (await import("node:fs")).default; ${code}`)
    // Under bubblewrap what may not be read is not there.
    if ("path" in under.nacre.bubblewrap && /ENOENT/.test(String(answer))) return
    expect(answer).toMatch(/^Error, capability_denied: /)
    expect(answer).toContain(`the session's profile does not give '${capability}' for '${path}'`)
  })

  test.each(["reader", "importer"])("of %s is not reached through node:module or process", async (profile) => {
    const session = await under.open({ profile, directory: readable })
    const [kinds, names] = (await session.run(`
      const module = (await import("node:module")).default as any
      const kindOf = (f: () => unknown) => { try { return typeof f() } catch (e: any) { return e.kind ?? e.name } }
      ;[["report", "binding", "_getActiveHandles"].map((name) => kindOf(() => (process as any)[name])), [...Object.keys(module), typeof module._load, typeof module._cache, typeof module.createRequire("/")]]`)) as [
      string[],
      string[],
    ]
    expect(kinds).toEqual(["capability_denied", "capability_denied", "capability_denied"])
    expect(names).toEqual([
      "isBuiltin",
      "builtinModules",
      "createRequire",
      "default",
      "undefined",
      "undefined",
      "function",
    ])
    expect(await session.run("try { process.kill(1) } catch (e: any) { e.kind }")).toBe("capability_denied")
    await session.close()
  })

  test("says so of a file that is imported", async () => {
    const module = join(folder, "outside.mjs")
    writeFileSync(module, "export const a = 1")
    const answer = await answers("importer", `import ${at(module)}`)
    if ("path" in under.nacre.bubblewrap && /module_not_found/.test(String(answer))) return
    expect(answer).toBe(
      `Error, capability_denied: Profile 'importer' may not read '${module}': import what is within its 'readable', or have the folder added there.`,
    )
  })

  test("writes where its profile says", async () => {
    const path = join(writable, "out.txt")
    await answers("writer", `(await import("node:fs")).writeFileSync(${at(path)}, "written")`)
    expect(readFileSync(path, "utf8")).toBe("written")
  })

  test("is of one kind for all profiles that have nothing of Node's, and of another for each that has", async () => {
    const kinds = new Map<string, string>()
    for (const profile of ["standard", "minimal", "silent", "reader", "importer", "full"]) {
      const session = await under.open({ profile })
      await session.eval("1")
      kinds.set(profile, session.worker!.host.kind)
      await session.close()
    }
    expect(Object.fromEntries(kinds)).toEqual({
      standard: "closed",
      minimal: "closed",
      silent: "closed",
      reader: "profile:reader",
      importer: "profile:importer",
      full: "open",
    })
  })

  test("that was killed is followed by one of its kind", async () => {
    const session = await under.open({ profile: "reader" })
    await session.eval("let kept = 7")
    const { host } = session.worker!
    host.kill("for the test")
    expect((await session.eval("kept")).value?.data).toBe(7)
    expect(session.worker!.host.kind).toBe("profile:reader")
    expect(session.worker!.host.id).not.toBe(host.id)
  })
})

describe("a session's profile", () => {
  test("is shown as it is, in the tree too", async () => {
    const session = await under.open({ id: "shown", profile: "reader" })
    await session.eval("1")
    expect(session.profile).toBe("reader")
    expect(under.nacre.tree().text).toMatch(/shown .*profile reader/)
    expect((await session.eval("Session.current.info().profile")).value?.data).toBe("reader")
  })

  test("changes only by opening it anew", async () => {
    const session = await under.open({ id: "again" })
    await session.eval("let held = 1")
    const refused = await refusal(under.open({ id: "again", profile: "minimal" }))
    expect(refused).toMatchObject({ kind: "profile_conflict", message: expect.stringContaining("restart: true") })
    const anew = await under.open({ id: "again", profile: "minimal", restart: true })
    expect([anew.profile, session.isClosed, anew.bindings.size]).toEqual(["minimal", true, 0])
    // Also with the same one.
    const fresh = await under.open({ id: "again", restart: true, profile: "minimal" })
    expect(fresh).not.toBe(anew)
    await until("the first ones are gone", () => under.nacre.sessions().length === 1)
  })
})

describe("refused at the start", () => {
  test.each([
    [{ Bad: { capabilities: ["fly"] } }, "fly"],
    [{ full: { capabilities: [] } }, "built in"],
    [{ "a b": { capabilities: [] } }, "profile's name"],
    [{ a: { capabilities: ["print"], readable: ["/"] } }, "readable"],
    [{ a: { capabilities: ["fs.read"], writable: ["/"] } }, "writable"],
    [{ a: { capabilities: ["print"], env: { A: "1" } } }, "env"],
    [{ a: { capabilities: "print" } }, "capabilities"],
    [{ a: { capabilities: [], more: 1 } }, "more"],
    [{ a: { capabilities: ["fs.write"], writable: null } }, "writable"],
    [{ a: { capabilities: ["env"], env: null } }, "env"],
    [{ a: { capabilities: ["env"], env: "A=1" } }, "env"],
    [{ a: { capabilities: ["fs.read"], readable: null } }, "readable"],
    // Either would end Node's permission model for the whole host.
    [{ a: { capabilities: ["fs.read"], readable: ["/a,b"] } }, "commas"],
    [{ a: { capabilities: ["fs.read"], readable: ["/a/*"] } }, "asterisks"],
    [new Map([["a", { capabilities: [] }]]), "object of profiles"],
  ])("profiles %o", async (profiles, named) => {
    const refused = await refusal(Nacre.start({ profiles: profiles as never }))
    expect(refused).toMatchObject({ kind: "invalid_options", message: expect.stringContaining(named) })
  })
})

describe("bubblewrap", () => {
  /** A command of that name, first on the path while `use` runs. */
  async function withCommand(script: string, use: () => Promise<void>): Promise<void> {
    const place = mkdtempSync(join(folder, "bin-"))
    writeFileSync(join(place, "bwrap"), script)
    chmodSync(join(place, "bwrap"), 0o755)
    const { PATH } = process.env
    process.env["PATH"] = `${place}${delimiter}${PATH}`
    try {
      await use()
    } finally {
      process.env["PATH"] = PATH
    }
  }

  const passing = `#!/bin/sh\necho "$*" >> "$0.calls"\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n`
  const failing = "#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n"

  test.runIf(process.platform === "linux")("runs hosts where it works", async () => {
    await withCommand(passing, async () => {
      const nacre = await Nacre.start({ hosts: { min: 1, max: 1 } })
      try {
        expect(nacre.bubblewrap).toMatchObject({ path: expect.stringContaining("bwrap") })
        expect(await (await nacre.open()).run("6 * 7")).toBe(42)
        const { path } = nacre.bubblewrap as { path: string }
        const [, hosts] = readFileSync(`${path}.calls`, "utf8").split("\n")
        expect(hosts).toMatch(/--unshare-all --die-with-parent .* -- .*--allow-worker/)
      } finally {
        await nacre.stop()
      }
    })
  })

  test.runIf(process.platform === "linux")("is left out where it does not, unless it is required", async () => {
    await withCommand(failing, async () => {
      const nacre = await Nacre.start({ hosts: { min: 1, max: 1 } })
      expect(nacre.bubblewrap).toEqual({ reason: "No permissions to create new namespace" })
      await nacre.stop()
      expect(await refusal(Nacre.start({ bubblewrap: "require" }))).toMatchObject({
        kind: "host_unavailable",
        message: expect.stringContaining("No permissions to create new namespace"),
      })
    })
  })
})
