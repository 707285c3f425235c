// Texts of random programs: for the engine and for us, what they call, and the numbers they are made from.
//
// Text between the marks U+0001 and U+0002 are types, which only we get; text between U+0003 and U+0004 is for the engine alone, between
// U+0005 and U+0006 for us alone.

/** A small generator of numbers with a seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}

/* eslint-disable no-control-regex */

/** The text for the engine: without types. What stands for us alone leaves its room. */
export function plain(text: string): string {
  return text
    .replace(/\u0001[^\u0001\u0002]*\u0002/g, "")
    .replace(/\u0005[^\u0005\u0006]*\u0006/g, (part) => " ".repeat(part.length - 2))
    .replace(/[\u0003\u0004]/g, "")
}

/** The text for us, with types. */
export function typed(text: string): string {
  return untyped(text, false)
}

/** The text for us with everything at the places it has in the engine's: without types. */
export function untyped(text: string, dropsTypes = true): string {
  return (dropsTypes ? text.replace(/\u0001[^\u0001\u0002]*\u0002/g, "") : text)
    .replace(/\u0003[^\u0003\u0004]*\u0004/g, (part) => " ".repeat(part.length - 2))
    .replace(/[\u0001\u0002\u0005\u0006]/g, "")
}

/** What programs may call: `log`, `tick` (fuel), `id`, `tag` and `show` (a value as text). */
export const prelude = `
globalThis.logged = []
globalThis.show = function show(value, depth = 0) {
  if (typeof value === "function") return "f:" + (Object.hasOwn(value, "name") && typeof value.name === "string" ? value.name : "?") + "/" + value.length
  if (typeof value === "symbol" || typeof value === "bigint") return String(value)
  if (typeof value !== "object" || value === null) return Object.is(value, -0) ? "-0" : typeof value === "string" ? JSON.stringify(value) : String(value)
  if (depth > 3) return "…"
  if (value instanceof Error) return "error:" + value.name
  const parts = []
  for (const key of Reflect.ownKeys(value)) {
    if (Array.isArray(value) && key === "length") { parts.push("#" + value.length); continue }
    const { get, value: held } = Object.getOwnPropertyDescriptor(value, key)
    parts.push(String(key) + ":" + (get ? "get" : show(held, depth + 1)))
  }
  return (Array.isArray(value) ? "[" : "{") + parts.join(",") + "}"
}
globalThis.log = function log(...values) { if (logged.length < 300) logged.push(values.map((v) => show(v)).join(" ")); return values[0] }
globalThis.fuel = 400
globalThis.tick = function tick() { if (--fuel < 0) throw new RangeError("fuel") }
globalThis.called = function called(name, value) {
  tick()
  const made = name()
  try { return made(value) } catch (error) { if (!(error instanceof TypeError)) throw error }
  return Reflect.ownKeys(new made(value)).length
}
globalThis.id = function id(x) { return x }
globalThis.tag = function tag(strings, ...values) { return strings.raw.join("|") + values.map((v) => show(v)).join("&") + String(this) }
`

/** Takes back what programs put on built-ins. */
export const cleaning = `for (const key of ["x", "y", "x1", "m", "z", Symbol.for("s")]) delete Math[key]`

/** `probe`: what functions and the methods of objects give when they are called. */
export const probes = `
const texts = Function.prototype.call.bind(Function.prototype.toString)
globalThis.probe = function probe(list) {
  const call = (made, self) => {
    const text = texts(made)
    if (text.startsWith("async")) return "async"
    return show(text.startsWith("class") ? new made(1) : made.call(self, 1))
  }
  return list.map((value) => {
    const found = []
    try {
      if (typeof value === "function") return call(value)
      if (typeof value !== "object" || value === null) return value
      for (let from = value; from && from !== Object.prototype && from !== Array.prototype; from = Object.getPrototypeOf(from))
        for (const key of Object.getOwnPropertyNames(from)) {
          const held = Object.getOwnPropertyDescriptor(from, key)
          const made = held.value ?? held.get
          if (key !== "constructor" && typeof made === "function") found.push(key, call(made, value))
        }
    } catch (error) { found.push("threw " + error?.name) }
    return found
  })
}
`
