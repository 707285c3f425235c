// URL, text coding and abort signals as session code has them, held against Node's own: the same expression runs in a realm and here.

import { Script, createContext, runInContext } from "node:vm"
import { expect, test } from "vitest"
import { bundleRealmScript } from "../../../runtime/worker/bundle.ts"
import { Realm } from "../../../runtime/worker/realm.ts"
import { changedUrlParts, urlParts } from "../../../runtime/worker/url-parts.ts"
import { opTimerSet, opUrl } from "../../../stdlib/bridge.ts"
import { Capabilities, standardCapabilities } from "../../../stdlib/capabilities.ts"

const bundle = bundleRealmScript()

function newRealm(timers: number[] = []): Realm {
  const realm = new Realm(bundle, new Capabilities("standard", standardCapabilities))
  const facts = { id: "s", kind: "service", tools: [], directory: "/" }
  realm.adopt((op, a, b, _payload, c) => {
    if (op === opTimerSet) timers.push(a as number)
    if (op !== opUrl) return undefined
    const other = b === undefined ? undefined : String(b)
    return c === undefined ? urlParts(String(a), other) : changedUrlParts(String(a), String(c), String(b))
  }, facts)
  return realm
}

const realm = newRealm()
const node = createContext({ URL, URLSearchParams, TextEncoder, TextDecoder, AbortController, AbortSignal })

/** What an expression gives, as JSON, or the name and code of what it throws. */
function outcomeOf(run: (source: string) => unknown, expression: string): string {
  const source = `(() => { try { return JSON.stringify(${expression}) } catch (e) { return "throws " + e.name + " " + e.code } })()`
  return String(run(source))
}

function inRealm(expression: string): string {
  return outcomeOf((source) => realm.run(new Script(source)), expression)
}

function inNode(expression: string): string {
  return outcomeOf((source) => runInContext(source, node), expression)
}

const urls: [string, string?][] = [
  ["https://example.com"],
  ["https://user:pa%20ss@example.com:8443/a/b/../c?x=1&y=%20#frag"],
  ["HTTP://EXAMPLE.com:80/"],
  ["https://example.com:443/x"],
  ["ftp://h/%7Euser"],
  ["ws://h:80/s"],
  ["wss://h:444"],
  ["file:///C:/a/../b"],
  ["file://host/share/x"],
  ["file:a", "file:///x/y/z"],
  ["../up", "https://h/a/b/c"],
  ["//other/p", "https://h/a"],
  ["?q", "https://h/a?b#c"],
  ["#f", "https://h/a?b#c"],
  ["", "https://h/a?b#c"],
  ["/abs", "https://h/a/b"],
  ["x", "mailto:a@b"],
  ["mailto:someone@example.com"],
  ["data:text/plain,hello world"],
  ["javascript:alert(1)"],
  ["blob:https://h/uuid"],
  ["urn:isbn:123"],
  ["foo://h/p?q#f"],
  ["foo:/p"],
  ["https://münchen.de/ä?ö#ü"],
  ["https://xn--mnchen-3ya.de/"],
  ["https://EXAMPLE.com./"],
  ["https://192.168.0.1/"],
  ["https://0x7f.1/"],
  ["https://256.256.256.256/"],
  ["https://[::1]:8080/"],
  ["https://[2001:db8::0:0:1]/"],
  ["https://[bad/"],
  ["https://h:99999/"],
  ["https://h:a/"],
  ["https:// h/"],
  ["https://h/a b"],
  ["  https://h/trim  "],
  ["https://h/\ta\nb"],
  ["https:\\\\h\\a"],
  ["https:/h"],
  ["https:h"],
  ["https://"],
  ["http://?x"],
  ["//h"],
  ["/a"],
  ["a"],
  [""],
  ["https://h/%"],
  ["https://h/%zz?%zz#%zz"],
  ["https://h/?a='\"<>`"],
  ["https://h/#'\"<>`"],
  ["https://h/{}|^"],
  ["https://u@h"],
  ["https://:p@h"],
  ["https://@h"],
  ["https://a:b@c:d@h"],
  ["https://h/./a/.//b/.."],
  ["https://h/\ud800"],
  ["https://h/?\ud83d\ude00"],
  ["about:blank"],
  ["https://a%2fb/"],
  ["https://h?x#y?z"],
  ["https://ex%41mple.com"],
  ["non-special:opaque ?q #f"],
]

const parts = "href origin protocol username password host hostname port pathname search hash".split(" ")

test.each(urls)("URL %j with base %j", (input, base) => {
  const given = [input, base].filter((it) => it !== undefined).map((it) => JSON.stringify(it))
  const made = `new URL(${given.join(", ")})`
  for (const expression of [
    `((u) => [${parts.map((it) => `u.${it}`).join(", ")}, String(u), u, [...u.searchParams], u.searchParams.toString()])(${made})`,
    `URL.canParse(${given.join(", ")})`,
  ])
    expect(inRealm(expression)).toBe(inNode(expression))
})

const changes: [string, string][] = [
  ["protocol", "http"],
  ["protocol", "foo"],
  ["username", "a b@"],
  ["password", "ü"],
  ["host", "other:1234"],
  ["host", "bad host"],
  ["hostname", "x.y"],
  ["port", "443"],
  ["port", "77"],
  ["port", "x"],
  ["pathname", "a/../b c"],
  ["search", "a=1&b=ü"],
  ["search", "?"],
  ["search", ""],
  ["hash", "x y"],
  ["hash", ""],
  ["href", "https://new/p?z=1"],
  ["href", "nonsense"],
  ["origin", "https://x"],
]

test.each(changes)("assigning to %s the text %j", (part, value) => {
  const change = `((u, p) => { u.${part} = ${JSON.stringify(value)}; return [u, u.host, u.search, [...p]] })`
  const expression = `((u) => ${change}(u, u.searchParams))(new URL("https://u:p@h:8080/a?q=1#f"))`
  expect(inRealm(expression)).toBe(inNode(expression))
})

const queries = [
  `[...new URLSearchParams("?a=1&b=2&a=3&&c&=d&%41=%zz+%20%C3%BC%FF")]`,
  `new URLSearchParams({ a: 1, b: "ü &=+*-._~'()", c: "\\ud800" }).toString()`,
  `new URLSearchParams([["a", 1], ["b", 2]]).toString()`,
  `new URLSearchParams(new Map([["k", "v"]])).toString()`,
  `new URLSearchParams(new URLSearchParams("x=1&x=2")).toString()`,
  `new URLSearchParams([["a"]])`,
  `new URLSearchParams([1])`,
  `new URLSearchParams(5).toString()`,
  `new URLSearchParams(Symbol())`,
  `((p) => { p.append("b", "2"); p.set("a", "9"); return [p.toString(), p.size, p.get("a"), p.get("z"), p.getAll("a"), p.has("b"), p.has("b", "3")] })(new URLSearchParams("a=1&c=3&a=2"))`,
  `((p) => { p.delete("a", "2"); p.delete("c"); return p.toString() })(new URLSearchParams("a=1&c=3&a=2"))`,
  `((p) => { p.sort(); return p.toString() })(new URLSearchParams("z=1&a=2&\\ud83d\\ude00=3&\\ufb03=4&a=1"))`,
  `((p) => { const seen = []; p.forEach((v, k, o) => seen.push(v, k, o === p)); return seen })(new URLSearchParams("a=1&b=2"))`,
  `((p) => [[...p.keys()], [...p.values()], [...p.entries()], p[Symbol.iterator] === p.entries])(new URLSearchParams("a=1&b=2"))`,
  `((u) => { u.searchParams.append("x", "a b"); u.searchParams.delete("q"); return [u, u.search] })(new URL("https://h/?q=1#f"))`,
  `((u) => { u.searchParams.delete("q"); return [u, u.search] })(new URL("https://h/?q=1"))`,
  `((u) => u.searchParams === u.searchParams)(new URL("https://h"))`,
  `new URLSearchParams("a").get()`,
  `new URL()`,
  `Object.prototype.toString.call(new URL("a:b")) + Object.prototype.toString.call(new URLSearchParams())`,
  `Object.prototype.toString.call(new URLSearchParams().keys()) + typeof new URLSearchParams().keys()[Symbol.iterator]`,
]

test.each(queries)("%s", (expression) => {
  expect(inRealm(expression)).toBe(inNode(expression))
})

test("null is a text as any other value is, as the standard has it; Node 20 took it for nothing", () => {
  expect(inRealm(`new URLSearchParams(null).toString()`)).toBe(`"null="`)
})

const byteLists = [
  "",
  "41 c3 bc e2 82 ac f0 9f 98 80",
  "ef bb bf 41",
  "ef bb bf ef bb bf 41",
  "ef bb",
  "41 ef bf bd",
  "c0 80",
  "c1 bf",
  "e0 80 80",
  "e0 a0",
  "ed a0 80",
  "ed 9f bf",
  "f0 80 80 80",
  "f0 90 80",
  "f4 90 80 80",
  "f4 8f bf bf",
  "f5 80",
  "ff fe 41 00",
  "80 bf",
  "e2 82 41",
  "e2 28 a1",
  "f0 9f 41 98",
  "c3 c3 bc",
  "f0 9f 98 f0 9f 98 80",
  "3d d8 00 de",
  "3d d8 41 00",
  "00 de 41 00",
  "41 00 42",
  "3d d8",
  "3d d8 3d d8 00 de",
  "00 41 a0 ff",
]

test.each(byteLists)("bytes %s decode as in Node, at once and piece by piece", (list) => {
  const numbers = JSON.stringify(list === "" ? [] : list.split(" ").map((it) => Number.parseInt(it, 16)))
  for (const label of ["utf-8", " UTF8\t", "utf-16le", "ucs-2"]) {
    for (const options of ["{}", "{ fatal: true }", "{ ignoreBOM: true }"]) {
      const made = `new TextDecoder(${JSON.stringify(label)}, ${options})`
      const whole = `((d) => [d.encoding, d.fatal, d.ignoreBOM, d.decode(new Uint8Array(${numbers}))])(${made})`
      expect(inRealm(whole)).toBe(inNode(whole))
      const pieces = `((d, b) => { const out = []; for (const one of b) out.push(d.decode(new Uint8Array([one]), { stream: true })); out.push(d.decode()); return out.join("") })(${made}, ${numbers})`
      expect(inRealm(pieces)).toBe(inNode(pieces))
    }
  }
})

const texts = ["", "abc", "üñ€", "😀", "\ud800", "a\udc00b", "\ud83d", "\u0000\u007f\u0080\u07ff\u0800\uffff"]

test.each(texts)("text %j encodes as in Node", (text) => {
  const quoted = JSON.stringify(text)
  for (const expression of [
    `[...new TextEncoder().encode(${quoted})]`,
    ...[0, 1, 2, 3, 4, 5].map(
      (room) =>
        `((b) => [new TextEncoder().encodeInto(${quoted}, b), [...b]])(new Uint8Array(new ArrayBuffer(8), 1, ${room}))`,
    ),
  ])
    expect(inRealm(expression)).toBe(inNode(expression))
})

test.each([
  `new TextEncoder().encoding`,
  `[...new TextEncoder().encode()]`,
  `new TextDecoder("no-such")`,
  `new TextDecoder().decode("text")`,
  `new TextDecoder().decode(new DataView(new Uint8Array([65, 66, 67]).buffer, 1, 1))`,
  `new TextDecoder().decode(new Uint8Array([65, 66]).buffer)`,
  `new TextDecoder().decode(new Uint16Array([0x4241]).subarray(0, 1))`,
  `new TextDecoder("latin1").encoding`,
  `new TextDecoder("latin1").decode(new Uint8Array([65, 0xe4, 0xff]))`,
])("%s", (expression) => {
  expect(inRealm(expression)).toBe(inNode(expression))
})

test("windows-1252 has signs where latin1 has controls", () => {
  expect(inRealm(`new TextDecoder("latin1").decode(new Uint8Array([0x80, 0x9f, 0x81]))`)).toBe('"€Ÿ\x81"')
})

test.each([
  `((c) => { c.abort(); return [c.signal.aborted, c.signal.reason.name, c.signal.reason.code, c.signal.reason.message] })(new AbortController())`,
  `((c) => { const seen = []; c.signal.onabort = (e) => seen.push("on " + e.type); c.signal.addEventListener("abort", function () { seen.push(this === c.signal) }, { once: true }); c.abort(1); c.abort(2); return [seen, c.signal.reason] })(new AbortController())`,
  `((c) => { const seen = []; const f = () => seen.push("f"); c.signal.addEventListener("abort", f); c.signal.addEventListener("abort", f); c.signal.addEventListener("abort", { handleEvent() { seen.push("object") } }); c.abort(); return seen })(new AbortController())`,
  `((c) => { const seen = []; const f = () => seen.push("f"); c.signal.addEventListener("abort", f); c.signal.removeEventListener("abort", f); c.signal.onabort = f; c.signal.onabort = null; c.abort(); return seen })(new AbortController())`,
  `((c, d) => { const seen = []; c.signal.addEventListener("abort", () => seen.push("f"), { signal: d.signal }); d.abort(); c.abort(); return seen })(new AbortController(), new AbortController())`,
  `((c) => { const seen = []; const g = () => seen.push("g"); c.signal.addEventListener("abort", () => { seen.push("f"); c.signal.removeEventListener("abort", g) }); c.signal.addEventListener("abort", g); c.abort(); return seen })(new AbortController())`,
  `AbortSignal.abort("why").reason`,
  `AbortSignal.abort().throwIfAborted()`,
  `new AbortController().signal.throwIfAborted()`,
  `new AbortSignal()`,
  `AbortSignal.timeout(-1)`,
  `((c, d) => { const any = AbortSignal.any([c.signal, d.signal]); const seen = []; any.addEventListener("abort", () => seen.push(c.signal.aborted, any.aborted)); c.abort("x"); d.abort("y"); return [any.aborted, any.reason, seen] })(new AbortController(), new AbortController())`,
  `AbortSignal.any([new AbortController().signal, AbortSignal.abort(3)]).reason`,
  `AbortSignal.any([]).aborted`,
  `AbortSignal.any([1])`,
  `((c) => { const b = AbortSignal.any([AbortSignal.any([c.signal])]); c.abort(7); return b.reason })(new AbortController())`,
  `((c) => Object.prototype.toString.call(c) + Object.prototype.toString.call(c.signal) + (c.signal instanceof AbortSignal))(new AbortController())`,
])("%s", (expression) => {
  expect(inRealm(expression)).toBe(inNode(expression))
})

test("a timeout's signal aborts when its timer fires", () => {
  const timers: number[] = []
  const other = newRealm(timers)
  other.run(
    new Script(
      "globalThis.s = AbortSignal.timeout(5); globalThis.seen = []; s.onabort = () => seen.push(s.reason.name)",
    ),
  )
  expect(other.run(new Script("s.aborted"))).toBe(false)
  other.api.fireTimer(timers[0]!)
  expect(other.run(new Script("String(seen)"))).toBe("TimeoutError")
})

test("what a listener throws is the eval's failure, and the other listeners are told", () => {
  const other = newRealm()
  const source =
    "const c = new AbortController(); let told = 0; c.signal.onabort = () => { throw new Error('x') }; c.signal.addEventListener('abort', () => told++); c.abort(); told"
  expect(other.run(new Script(source))).toBe(1)
})

test("the globals are made at their first use, look like data then, and can be replaced before", () => {
  const other = newRealm()
  const run = (source: string): unknown => other.run(new Script(source))
  expect(run("typeof Object.getOwnPropertyDescriptor(globalThis, 'URL').get")).toBe("function")
  expect(run("URL === globalThis.URL && new URL('a:b').searchParams instanceof URLSearchParams")).toBe(true)
  expect(run("JSON.stringify(Object.getOwnPropertyDescriptor(globalThis, 'URL'))")).toBe(
    '{"writable":true,"enumerable":false,"configurable":true}',
  )
  expect(run("TextEncoder = 5; TextEncoder + typeof TextDecoder")).toBe("5function")
  expect(run("TextEncoder")).toBe(5)
  expect(other.changedGlobals()).toEqual(["TextEncoder"])
})

test.each([
  ["Promise = class {}", ["Promise"]],
  ["delete globalThis.Symbol", ["Symbol"]],
  ["delete globalThis.Symbol; globalThis.added = 1", ["Symbol", "added"]],
  ["Object.defineProperty(globalThis, 'console', { get() { return 1 } })", ["console"]],
  ["URL = URL; const kept = Promise; Promise = 1; Promise = kept", []],
  ["new AbortController(); new TextDecoder()", []],
])("%s: what it makes of the global object is known", (source, changed) => {
  const other = newRealm()
  other.run(new Script(source))
  expect(other.changedGlobals()).toEqual(changed)
})

test("a session that changed its built-ins changes nothing of them", () => {
  const other = newRealm()
  other.run(
    new Script(
      "Array.prototype[Symbol.iterator] = String.prototype.charCodeAt = String.prototype.slice = Array.prototype.push = Array.prototype.sort = Reflect.apply = () => { throw new Error('changed') }; Object.defineProperty(Array.prototype, 0, { set() { throw new Error('set') } })",
    ),
  )
  const source =
    "const p = new URLSearchParams('b=1&a=2'); p.append('c', 'ü'); p.sort(); p.toString() + new TextDecoder().decode(new TextEncoder().encode('ü')) + p.getAll('a').length + new URL('?x', 'https://h').search"
  expect(other.run(new Script(source))).toBe("a=2&b=1&c=%C3%BCü1?x")
})

test("the minimal profile has none of them", () => {
  const minimal = new Realm(bundle, new Capabilities("minimal", ""))
  const source = "typeof URL + typeof URLSearchParams + typeof TextEncoder + typeof AbortSignal"
  expect(minimal.run(new Script(source))).toBe("undefined".repeat(4))
})
