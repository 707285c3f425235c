// JSX against TypeScript itself: what both make of the same text is run, and must make the same calls with the same values.
import typescript from "typescript"
import { describe, expect, test } from "vitest"
import { plainJsx } from "../../../runtime/language/jsx.ts"
import { characterNames } from "../../../runtime/language/jsx-characters.ts"
import { jsxOf, jsxProblem, type JsxOptions } from "../../../runtime/language/jsx-option.ts"
import { parse } from "../../../runtime/language/parse.ts"

const texts: string[] = [
  `<a/>`,
  `<a></a>`,
  `<a b c="d" e='f "g"' data-h="&lt;&amp;&#65;&#x1F600;&nope;&copy" i={1} j={"x"} k/>`,
  `<a b="one\n   two\ttabbed"/>`,
  `<Tag/>`,
  `<Ns.Tag.Deep x={1}>y</Ns.Tag.Deep>`,
  `<a-b/>`,
  `<svg:rect xlink:href="#a"/>`,
  `<Üml/>`,
  `<$ />`,
  `<_x/>`,
  `<a>text</a>`,
  `<a> text </a>`,
  `<a>  </a>`,
  `<a>\n</a>`,
  `<a>\n  one\n  two  three \n\n  four\n</a>`,
  `<a> one\r\n  two </a>`,
  `<a>one\u2028 two\u2029three</a>`,
  `<a>\t\v\f\u00a0one\u00a0\n\u3000two</a>`,
  `<a>&nbsp; &lt;b&gt; &#8364; &euro; &bogus; &AElig;&#x41;&amp;lt;</a>`,
  `<a>quote " ' \` \\ \\n $ // no comment /* nor this */</a>`,
  `<a>{1}{"two"}{[3]}</a>`,
  `<a>{/* nothing */}</a>`,
  `<a>{}</a>`,
  `<a>{/* one */}{1}{
    // two
  }</a>`,
  `<a>{...[1, 2]}</a>`,
  `<a>x{...[1, 2]}y</a>`,
  `<a>{1}</a>`,
  `<a>\n  {1}\n</a>`,
  `<a>\n  <b/>\n</a>`,
  `<a><b/><c/></a>`,
  `<a><b>x</b> <c>y</c>\n<d/></a>`,
  `<></>`,
  `<>x<b/>{2}</>`,
  `<><></><><a/></></>`,
  `<a {...{x: 1}}/>`,
  `<a x={1} {...o} y={2}/>`,
  `<a {...o} {...o}>z</a>`,
  `<a key="k" x={1}/>`,
  `<a x={1} key={n}>y</a>`,
  `<a key/>`,
  `<a {...o} key="k" x={2}>y</a>`,
  `<a key="k" {...o}/>`,
  `<a {...{x: 1}} key="k"/>`,
  `<a key=<b key="c"/> x=<i/>><u key={<s key="t"/>}/></a>`,
  `<a b=<c/> d=<></>/>`,
  `<a children={1}/>`,
  `<a children={1}>{2}</a>`,
  `<a b={(1, 2)} c={x => x} d={function () {}} />`,
  `<a b={ /* c */ 1 /* d */ } /* e */ f // g
    = "h" /* i */ />`,
  `<a
    b
    = {1}
    {...o}
  >
    {n > 1 ? <b/> : <c>{n}</c>}
    {[1, 2].map((i) => <li key={i}>{i}</li>)}
  </a >`,
  `<a>{\`\${<b/>}\`}</a>`,
  `[<a/>, <b/>].length + (<c/>, 1)`,
  `n < 2 && <a/> || (n<2)`,
  `(() => <a>{this === undefined}</a>)()`,
  `<this.tag x={1}/>`,
  `<A b="&quot;&apos;">&quot;&apos;</A>`,
]

function withoutFunctions(value: unknown): unknown {
  if (typeof value === "function") return `function ${value.name}`
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withoutFunctions(each)]))
}

/** What a text is, told by the calls it makes. */
function run(code: string): unknown {
  const made: unknown[] = []
  const call =
    (name: string) =>
    (...args: unknown[]) => {
      const each = { [name]: args.map(withoutFunctions) }
      made.push(each)
      return each
    }
  const scope = {
    React: { createElement: call("createElement"), Fragment: "React.Fragment" },
    h: call("h"),
    Frag: "Frag",
    _jsx: call("jsx"),
    _jsxs: call("jsxs"),
    _Fragment: "Fragment",
    _createElement: call("imported createElement"),
    Tag: "Tag",
    Ns: { Tag: { Deep: "Deep" } },
    A: "A",
    Üml: "Üml",
    $: "$",
    _x: "_x",
    o: { x: 9, key: "of o" },
    n: 3,
  }
  // oxlint-disable-next-line typescript/no-implied-eval -- what is made of a text is only known by running it
  const program = new Function(...Object.keys(scope), `"use strict"; ${code}\n;return $value`) as (
    ...args: unknown[]
  ) => unknown
  const value = program.call({ tag: "this tag" }, ...Object.values(scope))
  return { value, made }
}

function byTypeScript(text: string, options: JsxOptions): unknown {
  const { runtime, factory, fragment } = jsxOf(options)
  const automatic = runtime === "automatic"
  const { outputText } = typescript.transpileModule(`const $value = (${text}\n)`, {
    fileName: "a.tsx",
    compilerOptions: {
      target: typescript.ScriptTarget.ESNext,
      module: typescript.ModuleKind.ESNext,
      ...(automatic
        ? { jsx: typescript.JsxEmit.ReactJSX }
        : { jsx: typescript.JsxEmit.React, jsxFactory: factory, jsxFragmentFactory: fragment }),
    },
  })
  return run(outputText.replace(/^(?:import .*|export \{\}.*)$/gm, ""))
}

function plain(text: string, options: JsxOptions): string {
  const source = `const $value = (${text}\n)`
  const parsed = parse(source, true)
  if (!parsed.valid) throw new Error(parsed.errors[0]!.message)
  const { program } = parsed
  return plainJsx(parsed.text, program, jsxOf(options), () => true)?.text ?? source
}

describe.each<[string, JsxOptions]>([
  ["classic", {}],
  ["classic with another factory", { factory: "h", fragment: "Frag" }],
  ["automatic", { runtime: "automatic" }],
])("%s", (_name, options) => {
  test.each(texts)("%j", (text) => {
    const code = plain(text, options)
    expect(code.split(/[\n\r\u2028\u2029]/).length).toBe(`(${text}\n)`.split(/[\n\r\u2028\u2029]/).length)
    expect(run(code), code).toEqual(byTypeScript(text, options))
  })
})

test("random text between elements", () => {
  let seed = 7
  const below = (n: number): number => (seed = (seed * 48_271) % 2_147_483_647) % n
  const parts = [
    " ",
    "  ",
    "\n",
    "\r\n",
    "\t",
    "a",
    "b c",
    "&amp;",
    "&#10;",
    "&nbsp;",
    "{1}",
    "{/**/}",
    "{' '}",
    "<b/>",
    "<i> x </i>",
    "\u00a0",
    "é",
  ]
  for (let round = 0; round < 300; round++) {
    const text = `<a>${Array.from({ length: 1 + below(8) }, () => parts[below(parts.length)]).join("")}</a>`
    for (const runtime of ["classic", "automatic"] as const)
      expect(run(plain(text, { runtime })), JSON.stringify(text)).toEqual(byTypeScript(text, { runtime }))
  }
})

test("every name of a character is TypeScript's", () => {
  for (const name of [...characterNames.keys(), "none", "Ouml"])
    expect(run(plain(`<a>&${name};</a>`, {})), name).toEqual(byTypeScript(`<a>&${name};</a>`, {}))
})

test("what is imported, and how", () => {
  const importsOf = (text: string, options: JsxOptions, added: "import" | "require" | ((name: string) => boolean)) => {
    const parsed = parse(text, true)
    if (!parsed.valid) throw new Error(parsed.errors[0]!.message)
    return plainJsx(text, parsed.program, jsxOf(options), added)?.imports
  }
  const automatic = { runtime: "automatic", importSource: "preact" } as const
  expect(importsOf("<><a/><b/></>", automatic, "import")).toBe(
    `import{jsxs as _jsxs,Fragment as _Fragment,jsx as _jsx}from"preact/jsx-runtime";`,
  )
  expect(importsOf("<a {...o} key={1}/>", automatic, "require")).toBe(
    `const{createElement:_createElement}=require("preact");`,
  )
  expect(importsOf("<><a/></>", automatic, (name) => name === "_jsx")).toBe(
    `import{Fragment as _Fragment}from"preact/jsx-runtime";`,
  )
  expect(importsOf("<a/>", {}, "import")).toBe("")
  expect(importsOf("1 < 2", automatic, "import")).toBeUndefined()
})

test.each<[unknown, RegExp | undefined]>([
  [{}, undefined],
  [{ runtime: "automatic", importSource: "preact" }, undefined],
  [{ runtime: "classic", factory: "h", fragment: "Preact.Fragment" }, undefined],
  [{ factory: undefined }, undefined],
  ["react", /an object/],
  [null, /an object/],
  [true, /an object/],
  [{ runtime: "preserve" }, /runtime/],
  [{ factory: "h()" }, /names/],
  [{ pragma: "h" }, /nothing else/],
  [{ importSource: "" }, /importSource/],
  [{ runtime: "automatic", factory: "h" }, /classic/],
  [{ importSource: "preact" }, /automatic/],
])("the option %j", (given, problem) => {
  if (problem === undefined) expect(jsxProblem(given)).toBeUndefined()
  else expect(jsxProblem(given)).toMatch(problem)
})
