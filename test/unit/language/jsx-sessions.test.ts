// JSX in a session: its elements are calls whose names are references like any other, so they follow redefinitions, survive rebuilds, and
// have the places that they have in the text.
import { describe, expect, test } from "vitest"
import { ResidentSession } from "../../resident.ts"

const h =
  "function h(tag, props, ...children) { return { tag: typeof tag === 'function' ? tag(props) : tag, props, children } } const Frag = 'frag'"
const jsx = { factory: "h", fragment: "Frag" } as const

describe("with a factory of the session", () => {
  test("elements are values, in evals and in definitions, through rebuilds", async () => {
    const session = new ResidentSession({ jsx })
    await session.run(h)
    const element = { tag: "a", props: { b: 1 }, children: ["x", 2] }
    expect(await session.run("<a b={1}>x{2}</a>")).toEqual(element)
    await session.run(
      "function View({ n }: { n: number }) { return <b>{n}</b> } const list = <><View n={3}/></>; let make = (k: number) => <i k={k}/>",
    )
    session.rebuild()
    expect(await session.run("list")).toEqual({
      tag: "frag",
      props: null,
      children: [{ tag: { tag: "b", props: null, children: [3] }, props: { n: 3 }, children: [] }],
    })
    expect(await session.run("make(4)")).toEqual({ tag: "i", props: { k: 4 }, children: [] })
    expect(await session.run("String(make)")).toMatch(/^\(k\s*\) => h\("i",\{ k: \(k\) *\}\)$/)
  })

  test("what elements are calls of is bound late, and an edge", async () => {
    const session = new ResidentSession({ jsx })
    await session.run(h)
    await session.run("function View() { return <b/> } function Page() { return <View/> } let page = () => <Page/>")
    expect(await session.run("page().tag.tag.tag")).toBe("b")
    await session.run("function View() { return <c/> }")
    expect(await session.run("page().tag.tag.tag")).toBe("c")
    session.rebuild()
    expect(await session.run("page().tag.tag.tag")).toBe("c")
    await session.run("function h(tag) { return 'new ' + (typeof tag === 'function' ? tag() : tag) }")
    expect(await session.run("[page(), Page()]")).toEqual(["new new new c", "new new c"])
    await session.run(
      "let Local = () => 'local'; let o = { Tag: () => 'tag' }; class C { render() { return <this.tag/> } tag = () => 'of c' }",
    )
    expect(await session.run("[<Local/>, <o.Tag/>, new C().render()]")).toEqual(["new local", "new tag", "new of c"])
  })

  test("an element at the start of a line, and objects and types beside", async () => {
    const session = new ResidentSession({ jsx })
    await session.run(h)
    expect(await session.run("let a = 1;\n<b/>")).toEqual({ tag: "b", props: null, children: [] })
    expect(await session.run("{ a: <b/> }")).toEqual({ a: { tag: "b", props: null, children: [] } })
    expect(await session.run("const f = <T,>(x: T): T => x; f<number>(2) as number < 3")).toBe(true)
    expect(
      await session.run(
        "enum E { A = 5 } class P { constructor(readonly n: number) {} } (<a b={E.A} c={new P(6).n}/>).props",
      ),
    ).toEqual({ b: 5, c: 6 })
  })

  test.each([
    ["<a>\n  {nope}\n</a>", "ReferenceError: nope is not defined", 2, 4],
    ["<a b='&lt;'>  text  {1}\n\n  <c d={nope}/></a>", "ReferenceError: nope is not defined", 3, 9],
    ["1;  <Missing a='b'/>", "ReferenceError: Missing is not defined", 1, 6],
    ["const x = 1; <a>{x.y.z}</a>", "TypeError: Cannot read properties of undefined (reading 'z')", 1, 22],
    ["<a>{(() => { throw new RangeError('mine') })()}</a>", "RangeError: mine", 1, 20],
  ])("errors in %j are where they are written", async (source, what, line, column) => {
    const session = new ResidentSession({ jsx })
    await session.run(h)
    const { status, error } = await session.eval(source)
    expect(status).toBe("threw")
    expect(`${error!.name}: ${error!.message}`).toBe(what)
    expect(error!.stack[0]).toMatchObject({ line, column })
  })

  test("a missing factory is named, where the element is", async () => {
    const session = new ResidentSession({ jsx: {} })
    const { error } = await session.eval("1\n  <a/>".replace("1\n", "1;\n"))
    expect(error).toMatchObject({ name: "ReferenceError", message: "React is not defined" })
    expect(error!.stack[0]).toMatchObject({ line: 2, column: 3 })
  })

  test.each([
    ["<a", "1:3"],
    ["<a></b>", "1:6"],
    ["let x = <a>\n  <b>\n</a>", "3:3"],
    ["<a b=1/>", "1:6"],
    ["<a>{}</a>; let let = 1", "1:16"],
  ])("%j is invalid at %s", async (source, place) => {
    const session = new ResidentSession({ jsx })
    const { status, text } = await session.eval(source)
    expect(status).toBe("invalid")
    expect(text.split("\n")[0]).toContain(`(${place})`)
  })
})

test.each([
  "<a/>",
  "const view = () => (\n  <div>hello</div>\n)",
  "<>x</>",
  "f(<A b={1}/>)",
  "type T = { a: 1 }; <a>{x as T}</a>",
])("without the option %j is refused with its name", async (source) => {
  const session = new ResidentSession()
  const { status, text } = await session.eval(source)
  expect(status).toBe("invalid")
  expect(text).toMatch(/^JSX is off here; open the session with the option jsx/)
  const at = source.indexOf("<", source.includes("<div") ? 0 : source.indexOf("<"))
  expect(text).toContain(source.slice(at, at + 2))
})

test.each(["let x = <number>y", "a < b > c", "<T>(x: T) => x", "1 <", "<"])(
  "text that is no JSX is said nothing of it: %j",
  async (source) => {
    const { text } = await new ResidentSession().eval(source)
    expect(text).not.toMatch(/JSX/)
  },
)

test("what is nested too deeply is refused, and nothing dies of it", async () => {
  const session = new ResidentSession({ jsx })
  await session.run(h)
  const deep = (depth: number): string => `${"<a>".repeat(depth)}${"</a>".repeat(depth)}`
  expect((await session.eval(deep(100_000))).text).toMatch(/too deeply/)
  expect((await new ResidentSession().eval(deep(100_000))).status).toBe("invalid")
  expect((await session.eval(`(${deep(300)}).tag`)).value).toBe("a")
  expect((await session.eval(deep(100_000).replaceAll("><", ">x<"))).text).toMatch(/too deeply/)
  const types = "type T = Array<string>; for (let i = 0; i<3; i++) f<T>([]);\n".repeat(2_000)
  expect((await session.eval(`function f<T>(x: T) {}\n${types.replaceAll("type T", "{} type U")}`)).text).not.toMatch(
    /too deeply/,
  )
  const list = `<u>${"<i>x</i>".repeat(3_000)}</u>`
  expect((await session.eval(`(${list}).children.length`)).value).toBe(3_000)
})
