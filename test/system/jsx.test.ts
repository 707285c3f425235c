// JSX in sessions and in files that they import: with React's own shape of packages, through checks, changes, kills, the protocol and the command line.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { connectStdio } from "nacre/client"
import type { OpenOptions, Session } from "nacre"
import { nacre } from "./nacre-process.ts"
import { refusal, useNacre } from "./nacre-under-test.ts"

const under = useNacre()
let folder: string

function write(path: string, text: string): void {
  mkdirSync(dirname(join(folder, path)), { recursive: true })
  writeFileSync(join(folder, path), text)
}

beforeAll(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "nacre-jsx-")))
  write(
    "node_modules/tiny/package.json",
    `{ "name": "tiny", "type": "module", "exports": { ".": "./index.js", "./jsx-runtime": "./jsx-runtime.js" } }`,
  )
  write(
    "node_modules/tiny/index.js",
    `export const createElement = (type, props, ...children) => ({ made: "classic", type, props, children }); export const Fragment = "fragment"`,
  )
  write(
    "node_modules/tiny/jsx-runtime.js",
    `const made = (how) => (type, props, key) => (typeof type === "function" ? type(props) : { made: how, type, props, key }); export const jsx = made("jsx"), jsxs = made("jsxs"), Fragment = "fragment"`,
  )
  write(
    "view.tsx",
    `import type { Missing } from "./types.ts"\nexport interface Props { name: string }\nexport const View = ({ name }: Props) => <b id="v">{name}</b>\nexport function fails(): void {\n  return <b>{(undefined as any).x}</b>\n}`,
  )
  write("plain.jsx", `export const list = [1, 2].map((n) => <i key={n}>{n}</i>)`)
  write("package.json", `{ "type": "module" }`)
  write("old/package.json", `{ "type": "commonjs" }`)
  write("old/old.jsx", `exports.el = <><u/></>`)
  write("none.tsx", `export const n: number = 5`)
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const automatic: OpenOptions = { profile: "full", jsx: { runtime: "automatic", importSource: "tiny" } }
const open = (options: OpenOptions = automatic): Promise<Session> => under.open({ directory: folder, ...options })

describe("the automatic runtime", () => {
  test("is imported when it is first needed, once, and is there after a kill", async () => {
    const session = await open()
    expect(await session.eval(`const View = ({ n }: { n: number }) => <b>{n}</b>`)).toMatchObject({
      committed: { definitions: ["View", "_jsx"] },
    })
    expect(await session.eval(`<View n={1}/>`)).toMatchObject({
      status: "ok",
      committed: { definitions: [] },
      value: { data: { made: "jsx", type: "b", props: { children: 1 } } },
    })
    await under.killHosts()
    const outcome = await session.eval(`<><View key="k" n={2}/>x</>`)
    expect(outcome).toMatchObject({ status: "ok", lost: [], value: { data: { made: "jsxs", type: "fragment" } } })
    expect(await session.run(`const o = { key: 1 }; (<a {...o} key="mine"/>).made`)).toBe("classic")
    expect(session.bindings.info("_jsx")).toMatchObject({ source: `import { jsx as _jsx } from "tiny/jsx-runtime"` })
  })

  test("is the runtime of files, with types, in both kinds of modules, with places for errors", async () => {
    const session = await open()
    expect(
      await session.run(
        `import { View, fails } from "./view.tsx"; import { list } from "./plain.jsx"; import { el } from "./old/old.jsx"; import { n } from "./none.tsx"; [<View name="n"/>, list, el, n]`,
      ),
    ).toEqual([
      { made: "jsx", type: "b", props: { id: "v", children: "n" }, key: undefined },
      [1, 2].map((n) => ({ made: "jsx", type: "i", props: { children: n }, key: n })),
      {
        made: "jsx",
        type: "fragment",
        props: { children: { made: "jsx", type: "u", props: {}, key: undefined } },
        key: undefined,
      },
      5,
    ])
    const { error } = await session.eval("fails()")
    expect(error).toMatchObject({ message: "Cannot read properties of undefined (reading 'x')" })
    expect(error?.stack[0]).toMatchObject({ file: join(folder, "view.tsx"), line: 5, column: 33 })
    expect(await session.run(`const again = await import("./view.js"); typeof again.View`)).toBe("function")
  })

  test("goes through a change", { timeout: 60_000 }, async () => {
    const session = await open()
    const change = await session.submit({
      source: `export function View(props: { n: number }) { return <b>{props.n}</b> }\nconst made = <View n={1}/>\nmade.type`,
      check: "syntax",
    })
    expect(change).toMatchObject({ status: "rejected", rejection: { kind: "threw" } })
    await session.eval("<a/>")
    expect(
      await session.submit({
        source: `export function View(props: { n: number }) { return <b>{props.n}</b> }\nconst made = <View n={1}/>`,
      }),
    ).toMatchObject({ status: "committed" })
    await under.killHosts()
    expect(await session.run("made.props.children")).toBe(1)
  })
})

describe("the classic runtime", () => {
  const h = `function h(tag: any, props: any, ...children: any[]): any { return typeof tag === "function" ? tag(props) : { tag, ...props, children } }`

  test("needs no module, and is checked as TypeScript checks it", { timeout: 60_000 }, async () => {
    const session = await under.open({ jsx: { factory: "h", fragment: "String" }, check: "types" })
    expect(await session.eval(h)).toMatchObject({ status: "ok" })
    expect(
      await session.run(`function View({ n }: { n: number }) { return <b id={n}>{n + 1}</b> } <View n={1}/>`),
    ).toEqual({ tag: "b", id: 1, children: [2] })
    const wrong = await session.eval(`1;\n<View n="a"/>`)
    expect(wrong).toMatchObject({ status: "invalid" })
    expect(wrong.error?.message).toMatch(/Type 'string' is not assignable to type 'number'/)
    expect(wrong.error?.spans[0]).toMatchObject({ line: 2, column: 7 })
    expect(await session.eval(`<Nope/>`)).toMatchObject({
      status: "invalid",
      error: { message: expect.stringMatching(/Cannot find name 'Nope'/) },
    })
    expect(await session.submit({ source: `export const page = () => <View/>` })).toMatchObject({
      status: "rejected",
      rejection: { kind: "check_failed" },
    })
    expect(await session.submit({ source: `export const page = () => <View n={3}/>` })).toMatchObject({
      status: "committed",
    })
    await under.killHosts()
    expect(await session.run(`page()`)).toEqual({ tag: "b", id: 3, children: [4] })
    expect((await session.complete("<Vie")).items.map(({ name }) => name)).toContain("View")
    expect((await session.complete("page().")).items).toEqual([])
  })

  test(
    "a redefinition of a component is seen by what uses it, also one that no longer fits",
    { timeout: 60_000 },
    async () => {
      const session = await under.open({ jsx: { factory: "h" } })
      await session.eval(
        `${h}; function View({ n }: { n: number }) { return <b id={n}/> } function Page() { return <View n={1}/> }`,
      )
      expect(
        await session.submit({ source: `function View({ n }: { n: string }) { return <b id={n}/> }` }),
      ).toMatchObject({
        status: "rejected",
        rejection: { kind: "check_failed", diagnostics: [{ key: "Page" }] },
      })
      await session.eval(`function View() { return <c/> }`)
      expect(await session.run("Page().tag")).toBe("c")
      const fork = await session.fork()
      expect(fork.jsx).toEqual(session.jsx)
      expect(await fork.run("(<Page/>).tag")).toBe("c")
    },
  )
})

test("a session without it says what to do, in evals, changes and files", async () => {
  const session = await open({ profile: "full" })
  expect(session.jsx).toBeUndefined()
  const { error } = await session.eval("1;\n  <div/>")
  expect(error).toMatchObject({
    message: expect.stringMatching(/open the session with the option jsx/),
    spans: [{ line: 2, column: 3 }],
  })
  expect(await session.submit({ source: "const a = <div/>" })).toMatchObject({
    status: "rejected",
    rejection: { kind: "invalid", message: expect.stringMatching(/the option jsx/) },
  })
  expect((await session.eval(`import { View } from "./view.tsx"`)).error?.message).toMatch(/the option jsx/)
  expect(await session.run(`import { n } from "./none.tsx"; n`)).toBe(5)
})

test("what is no such option is refused, and so is another one for a session that is open", async () => {
  expect(await refusal(under.open({ jsx: { runtime: "preserve" } as never }))).toMatchObject({
    kind: "invalid_options",
    message: expect.stringMatching(/jsx must be .*"classic" or "automatic"/),
  })
  await under.open({ id: "one", jsx: { factory: "h" } })
  expect((await under.open({ id: "one", jsx: { factory: "h" } })).jsx).toMatchObject({
    runtime: "classic",
    factory: "h",
    fragment: "React.Fragment",
  })
  expect(await refusal(under.open({ id: "one", jsx: {} }))).toMatchObject({ kind: "profile_conflict" })
  expect((await under.open({ id: "one" })).jsx).toMatchObject({ factory: "h" })
})

test("the protocol has it", async () => {
  await using client = await connectStdio({ initialize: { jsx: { factory: "String" } } })
  expect(await client.request("eval", { code: "<a/>" })).toMatchObject({ status: "ok", value: { text: "'a'" } })
  expect(await client.request("isComplete", { code: "<a>" })).toMatchObject({ state: "incomplete", indent: 1 })
  expect(await client.request("isComplete", { code: "<a>", jsx: false })).toMatchObject({ state: "incomplete" })
  expect(await client.request("isComplete", { code: "<a>x</a>", jsx: false })).toMatchObject({ state: "invalid" })
  await client.request("sessions/open", { session: "two", jsx: { runtime: "classic", factory: "Boolean" } })
  expect(await client.request("eval", { session: "two", code: "<a/>" })).toMatchObject({ value: { text: "true" } })
  await expect(
    client.request("sessions/open", { session: "three", jsx: { runtime: "other" } as never }),
  ).rejects.toMatchObject({ kind: "invalid_options" })
})

test("the command line has it", async () => {
  expect(await nacre(["eval", "--jsx-factory", "String", "-e", "<a b={1}>x</a>"])).toEqual({
    code: 0,
    stdout: "'a'\n",
    stderr: "",
  })
  expect(await nacre(["eval", "-e", "<a/>"])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/--jsx|option jsx/),
  })
  expect(await nacre(["eval", "--jsx", "preserve", "-e", "1"])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/classic or automatic/),
  })
  expect(
    await nacre(["repl", "--jsx", "classic", "--jsx-factory", "String", "--no-history"], "<a>\n  {1}\n</a>\n1 + 1\n"),
  ).toMatchObject({ stdout: "'a'\n2\n" })
  const file = join(folder, "program.tsx")
  writeFileSync(file, `const View = (p: { a: number }) => <b>{p.a}</b>;\n(<View a={1}/>).props.children`)
  expect(await nacre(["eval", "--jsx", "automatic", "--jsx-import-source", "tiny", file])).toMatchObject({
    code: 0,
    stdout: "1\n",
  })
})
