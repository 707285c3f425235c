// What becomes of a file that imports `nacre:session`: every use is one of the name at that time, positions stay, and what cannot be live is refused.
import { expect, test } from "vitest"
import { compileFile } from "../../../runtime/language/file.ts"

function compiled(source: string, isTypeScript = false) {
  const text = compileFile(source, { isTypeScript, format: "module" })
  if (!text.valid) throw new Error(text.rendered)
  return text
}

function problemOf(source: string): string {
  const text = compileFile(source, { isTypeScript: false, format: "module" })
  return text.valid ? "none" : `${text.errors[0]!.message} (${text.errors[0]!.span.start})`
}

const at = `import { step, count as n } from "nacre:session"\n`

test.each([
  ["a read", `f(n)`, `f($$_n.v)`],
  ["a call, which has no this", `step(1)`, `;(0,$$_step.v)(1)`],
  ["a tag", "x = step`a`", "x = (0,$$_step.v)`a`"],
  ["new", `x = new step()`, `x = new $$_step.v()`],
  ["a shorthand property", `x = { n, step }`, `x = { n:$$_n.v, step:$$_step.v }`],
  ["typeof", `x = typeof n`, `x = $$_n.t`],
  ["an assignment", `n = 1`, `$$_n.w = 1`],
  ["a compound assignment", `n += 1`, `$$_n.w += 1`],
  ["a name of an inner scope", `(n) => { const step = n; return step }`, `(n) => { const step = n; return step }`],
  ["a default export", `export default step`, `export default $$_step.v`],
])("%s", (_, statement, expected) => {
  expect(compiled(at + statement).code).toBe(`import{e0 as $$_step,e1 as $$_n}from"nacre:session";\n${expected}`)
})

test("members of the namespace are names of their own; the whole is asked for only where it is used", () => {
  const { code, session } = compiled(
    `import * as all from "nacre:session"\nall.step(all.n); x = all.a?.b; all.n\n;[all.c] = []; use(all)`,
  )
  expect(session!.names).toEqual(["step", "n", "a", "*"])
  expect(code).toBe(
    `import{e0 as $$_0,e1 as $$_1,e2 as $$_2,e3 as $$_all}from"nacre:session";\n;(0,$$_0.o)($$_1.o); x = $$_2.o?.b; $$_1.o\n;[$$_all.v.c] = []; use($$_all.v)`,
  )
})

test("types of the session leave nothing behind, and several imports are one", () => {
  const source = `import type { Row } from "nacre:session"\nimport { type Cell, a } from "nacre:session"\nimport { b } from "nacre:session"\nexport const f = (row: Row): Cell => a(row, b)`
  const { code, session, requests } = compiled(source, true)
  expect(session!.names).toEqual(["a", "b"])
  expect(requests).toEqual([])
  expect(code).toContain(`=> (0,$$_a.v)(row, $$_b.v)`)
})

test("positions lead back to the file", () => {
  const text = compiled(`${at}export function f() {\n  const x = step(n); return x.y.z\n}`)
  const line = text.code.split("\n")[2]!
  expect(text.map(3, line.indexOf("x.y") + 1)).toEqual({ line: 3, column: 29 })
  expect(text.map(3, line.indexOf("$$_n") + 1)).toEqual({ line: 3, column: 18 })
})

test("a text with the marker in it gets another one", () => {
  expect(compiled(`import { a } from "nacre:session"\nlet $$_a = a`).code).toContain("let $$_a = $$__a.v")
})

test("a file that only mentions it is left alone", () => {
  const { session, code } = compiled(`export const s = "nacre:session"`)
  expect({ session, code }).toEqual({ session: undefined, code: `export const s = "nacre:session"` })
})

test.each([
  ["export { step } from", `export { step } from "nacre:session"`, 0],
  ["export * from", `export * from "nacre:session"`, 0],
  ["export of an imported name", `import { step } from "nacre:session"\nexport { step as other }`, 46],
])("%s is refused: it would not follow", (_, source, start) => {
  expect(problemOf(source)).toMatch(
    new RegExp(`^A file cannot export .* again, .*export a function that uses them \\(${start}\\)$`),
  )
})

test("there is no default export", () => {
  expect(problemOf(`import session from "nacre:session"`)).toMatch(/'nacre:session' has no default export/)
})
