// Evals that only read: what they touch is not encoded again. Whatever might change something is, and then nothing is missing afterwards.
import { afterEach, describe, expect, test, vi } from "vitest"
import { ResidentSession } from "../../resident.ts"

afterEach(() => vi.restoreAllMocks())

const data = `
  const rows = Array.from({ length: 20 }, (_, id) => ({ id, name: "n" + id, tag: id % 2 ? "odd" : "even", score: id * 1.5, parts: [id, {}] }))
  const byId = new Map(rows.map((row) => [row.id, { at: row.id }]))
  let best = 0; let found; const dates = [new Date(0)]; const flags = new Set(["a"]); const nothing = Object.create(null); nothing.x = 1; const bytes = new Uint8Array(4)
  function isOdd(row: { tag: string }) { return row.tag === "odd" }
  const scoreOf = (row: { score: number }) => Math.round(row.score)
  function total(list: { score: number }[]) { let sum = 0; for (const row of list) sum += scoreOf(row); return sum }
  function shorten(list: unknown[]) { list.length = 1; return list }
  const cached = (() => { const seen: unknown[] = []; return (x: unknown) => { seen.push(x); return seen.length } })()
  class Row { id = 1 }
  const held = [new Row()]; const withCode = { f: () => 1, n: 1 }; const pattern = { re: /o/g }
  const counting = { n: 0, get next() { return this.n++ } }
`

async function opened(): Promise<ResidentSession> {
  const session = new ResidentSession()
  session.provesAbove = -1
  await session.run(data)
  return session
}

/** Whether the eval had anything encoded. */
async function encodes(session: ResidentSession, source: string): Promise<boolean> {
  const encode = vi.spyOn(session.resident.realm, "encode")
  const { status, text } = await session.eval(source)
  if (status !== "ok") expect(text, source).toBe("")
  return encode.mock.calls.length > 0
}

/** What stands is what is written: looking at everything finds no change. */
async function expectNothingMissing(session: ResidentSession, source: string): Promise<void> {
  const { delta } = await session.eval("globalThis; void 0")
  expect(delta, source).toEqual({})
}

describe("is not encoded again after", () => {
  test.each([
    "rows.length",
    "rows.__proto__.length",
    "rows[3].name",
    "rows.filter((row) => row.tag === 'odd').length",
    "rows.filter(isOdd).map(scoreOf).join()",
    "let sum = 0; for (const { score } of rows) sum += score; sum",
    "(() => { let sum = 0; for (const row of rows) sum += row.score; return sum })()",
    "rows.reduce((sum, row) => sum + row.score, 0)",
    "JSON.stringify(rows.reduce((counts, row) => { counts[row.tag] = (counts[row.tag] ?? 0) + 1; return counts }, {}))",
    "rows.reduce((counts, { tag }) => ((counts[tag] = (counts[tag] || 0) + 1), counts), {}).odd",
    "rows.map(({ id }) => id).sort((a, b) => b - a).slice(0, 3).join()",
    "[...rows].sort((a, b) => b.score - a.score)[0]?.id",
    "(() => { const out = []; for (const row of rows) if (isOdd(row)) out.push(row); return out.length })()",
    "(() => { const counts = new Map(); for (const { tag } of rows) counts.set(tag, (counts.get(tag) ?? 0) + 1); return counts.get('odd') })()",
    "best = Math.max(...rows.map((row) => row.score)); best",
    "total(rows)",
    "byId.get(3).at + byId.size; flags.has('a'); dates[0].getTime(); nothing.x",
    "JSON.stringify(rows, null, 2).length",
    "rows.some((row) => /1/.test(row.name)); rows[0].name.replace(/n/, (n) => n.toUpperCase()).length",
    "console.log(rows[0], rows.length); `${rows.length} ${rows[0]!.tag}`",
    "const [first, ...rest] = rows.map((row) => row.id); first + rest.length > 0 ? Object.keys(rows[0]).length : 0",
    "Object.entries(rows[0]).length; Array.from(rows, (row) => row.id).at(-1)",
    "switch (rows.length) { case 20: best = 1; break; default: best = 2 } do { best++ } while (best < 4); best",
    "try { throw rows.length } catch (n) { best = n as number } best",
    "rows.find((row): row is never => row.id === 3)!.id satisfies number",
  ])("%s", async (source) => {
    const session = await opened()
    expect(await encodes(session, source)).toBe(source.includes("const [first"))
    await expectNothingMissing(session, source)
  })
})

describe("is encoded after", () => {
  test.each([
    "rows[0].name = 'x'; 0",
    "rows[0].id++; 0",
    "rows.push({ id: 20 }); 0",
    "rows.sort((a, b) => b.id - a.id); 0",
    "rows.length = 3; 0",
    "delete rows[0].name; 0",
    "for (rows[0].id of [5]); 0",
    "[rows[0].id] = [7]; 0",
    "({ id: rows[0].id } = { id: 8 }); 0",
    "for (const row of rows) row.score = 0; 0",
    "rows.forEach((row) => { row.score = 1 }); 0",
    "rows.map((row) => row.parts).forEach((parts) => parts.push(1)); 0",
    "rows.filter(isOdd)[0].id = 100; 0",
    "shorten(rows); 0",
    "rows.map(shorten); 0",
    "[rows].map(shorten); 0",
    "cached(rows[0])",
    "Object.assign(rows[0], { id: 9 }); 0",
    "Object.freeze(rows[0]); 0",
    "Reflect.set(rows[0], 'id', 5); 0",
    "rows.forEach([].push, rows[1].parts); 0",
    "[9].forEach(Array.prototype.push, rows[1].parts); 0",
    "rows.map.call(rows, (row) => { row.id = 3 }); 0",
    "const push = [].push; rows.concat(push).length",
    "({ map: Object.assign }).map(rows[0], { id: 5 }); 0",
    "({ ['ma' + 'p']: ({})['constructor']['assign'] }).map(rows[0], { id: 6 }); 0",
    "(() => { const o = {}; o['map'] = ({})['constructor']['assign']; o.map(rows[0], { id: 7 }) })(); 0",
    "(() => { const o = {}; o.slice = rows.length; o.n = 1; return o.n })()",
    "rows.length; ({})['constructor']['constructor']('rows')",
    "rows.length; (({})['constr' + 'uctor']['const' + 'ructor'])('return 1')()",
    "rows['pu' + 'sh'](1); 0",
    "byId.set(50, 1); 0",
    "byId.get(1).at = 5; 0",
    "flags.add('b'); dates[0].setTime(5); 0",
    "dates[0]['setTime'](6); 0",
    "let it = rows[2]; it.id = 5; it = undefined; 0",
    "(() => { const out = [rows[0]]; out[0].id = 33 })(); 0",
    "(() => { const out = rows; out.length = 4 })(); 0",
    "(() => { let out = []; out = rows; out.push(1) })(); 0",
    "((out = []) => { out.push(1) })(rows); 0",
    "rows.reduce((all, row) => { all.push(row); return rows }, []); 0",
    "new Uint8Array(bytes.buffer).fill(1); 0",
    "const view = new Uint8Array(bytes.buffer); view[0] = 1; 0",
    "(() => { const view = new Uint8Array(bytes.buffer); view.set([1]) })(); 0",
    "{ const b = [] } function g() { const a = b; a.push(1) } let b = rows; g(); b = 0; 0",
    "{ const b = [] } (() => { let b = rows; rows.map((row) => row).reduce((all, row) => { all.push(row); return all }, b) })(); 0",
    "(() => { const a = []; (() => { const b = a; b.push(1) })() })(); rows.length",
    "rows.reduce((all, row) => { all.id = row.id; return row }, {}); 0",
    "rows.reduce((all, row) => { all.push(1); return all }); 0",
    "{ const rows2 = []; rows2.push(1) } rows.at(0).parts.at(0)",
    "function best2() { rows.pop() } best2(); 0",
    "rows.map(function () { return this }, rows).length",
    "(function () { arguments[0].id = 4 })(rows[0]); 0",
    "held.length",
    "withCode.n",
    "counting.next",
    "pattern.re.exec('oo'); 0",
    "'oo'.match(pattern.re); 0",
    "found = rows[0]; 0",
    "found = { of: rows[0] }; found = 0; rows[0].id",
    "eval('rows[0].id = 3'); 0",
    "rows.values().next().done",
    "rows instanceof Row",
    "structuredClone(rows).length",
    "label: for (const row of rows) { class A { static { row.id = 1 } } continue label } 0",
    "`${{ toString() { rows.pop(); return '' } }}`",
    "({ get x() { return rows.pop() } }).x; 0",
    "new Proxy(rows, {}).length",
    "(async () => { rows.pop() })(); 0",
    "[...(function* () { rows.pop(); yield 1 })()].length",
    "rows.map(String.raw`x`.at as never); 0",
  ])("%s", async (source) => {
    const session = await opened()
    const encode = vi.spyOn(session.resident.realm, "encode")
    await session.eval(source)
    const isProved = encode.mock.calls.length === 0
    await expectNothingMissing(session, source)
    expect(isProved, source).toBe(source.startsWith("found = { of") || source.startsWith("{ const rows2"))
  })
})

test("a session's own meaning of a built-in's name counts", async () => {
  const session = new ResidentSession()
  session.provesAbove = -1
  await session.run(
    "const rows = [{ id: 1 }]; const Math = { max: (row) => { row.id += 1; return 0 } }; function Number(row) { row.id += 1; return 1 }",
  )
  await session.run("Math.max(rows[0])")
  await session.run("rows.map(Number); 0")
  session.rebuild()
  expect(await session.run("rows[0].id")).toBe(3)
})

test("a built-in that was changed where no text says so is found before anything is believed", async () => {
  const session = new ResidentSession()
  session.provesAbove = -1
  await session.run("const rows = [{ id: 1 }]")
  await session.run("[]['__pro' + 'to__']['at'] = function () { this[0].id += 1; return 0 }; 0")
  await session.run("rows.at(0)")
  session.rebuild()
  expect(await session.run("rows[0].id")).toBe(2)
})

test("the same text is looked at as what its names are now", async () => {
  const session = new ResidentSession()
  session.provesAbove = -1
  await session.run("const rows = [1, 2]")
  const source = "{ const out = []; out.push(1) } rows.length; out.push(3)"
  expect((await session.eval(source)).status).toBe("threw")
  await session.run("const out = [1]")
  await session.run(source)
  session.rebuild()
  expect(await session.run("out")).toEqual([1, 3])
})
