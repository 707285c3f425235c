// Whether two graphs are the same in everything session code could observe: shape, identity, attributes, prototypes. The second may be
// of another realm, so built-ins are compared by their names there. Test code: it may run on values it made itself only.

import { types } from "node:util"

export interface RealmNames {
  /** The stable name of a built-in or other reference object of the realm. */
  nameOf(object: object): string | undefined
}

/** The path of the first difference, or `undefined`. */
export function difference(a: unknown, b: unknown, namesA: RealmNames, namesB: RealmNames): string | undefined {
  const partners = new Map<unknown, unknown>()
  const back = new Map<unknown, unknown>()
  const queue: { a: unknown; b: unknown; path: string }[] = [{ a, b, path: "value" }]
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const problem = compare(next.a, next.b, next.path)
    if (problem !== undefined) return `${next.path}: ${problem}`
  }
  return undefined

  function later(left: unknown, right: unknown, path: string): void {
    queue.push({ a: left, b: right, path })
  }

  function compare(left: unknown, right: unknown, path: string): string | undefined {
    if (typeof left === "symbol" && typeof right === "symbol") return compareSymbols(left, right)
    if (!isObject(left) || !isObject(right)) {
      return Object.is(left, right) ? undefined : `${String(left)} became ${String(right)}`
    }
    const name = namesA.nameOf(left)
    if (name !== undefined || namesB.nameOf(right) !== undefined) {
      return name === namesB.nameOf(right) ? undefined : `${name} became ${namesB.nameOf(right)}`
    }
    if (partners.has(left) || back.has(right)) {
      return partners.get(left) === right && back.get(right) === left ? undefined : "identity differs"
    }
    partners.set(left, right)
    back.set(right, left)
    return compareObjects(left, right, path)
  }

  function compareSymbols(left: symbol, right: symbol): string | undefined {
    if (left === right) return undefined
    if (left.description !== right.description || Symbol.keyFor(left) !== undefined) return "symbol differs"
    if (!partners.has(left) && !back.has(right)) {
      partners.set(left, right)
      back.set(right, left)
    }
    return partners.get(left) === right ? undefined : "symbol identity differs"
  }

  function compareObjects(left: object, right: object, path: string): string | undefined {
    if (slotsOf(left) !== slotsOf(right)) return `${slotsOf(left)} became ${slotsOf(right)}`
    if (Object.isExtensible(left) !== Object.isExtensible(right)) return "extensibility differs"
    later(Object.getPrototypeOf(left), Object.getPrototypeOf(right), `${path}.__proto__`)
    if (types.isMap(left) && types.isMap(right)) {
      const pairs = [...right]
      ;[...left].forEach(([key, value], i) => {
        later(key, pairs[i]?.[0], `${path}{key ${i}}`)
        later(value, pairs[i]?.[1], `${path}{${i}}`)
      })
    }
    if (types.isSet(left) && types.isSet(right)) {
      const members = [...right]
      ;[...left].forEach((member, i) => later(member, members[i], `${path}{${i}}`))
    }
    if (ArrayBuffer.isView(left) && ArrayBuffer.isView(right)) later(left.buffer, right.buffer, `${path}.buffer`)
    if (types.isSymbolObject(left)) {
      const of = Symbol.prototype.valueOf
      later(of.call(left), of.call(right), `${path}.valueOf()`)
    }
    const keys = Reflect.ownKeys(left)
    const others = Reflect.ownKeys(right)
    if (keys.length !== others.length) return `keys ${keys.map(String).join()} became ${others.map(String).join()}`
    for (const [i, key] of keys.entries()) {
      const other = others[i] as string | symbol
      if (typeof key === "string" || typeof other === "string") {
        if (key !== other) return `key ${String(key)} became ${String(other)}`
      } else {
        const problem = compareSymbols(key, other)
        if (problem !== undefined) return `key ${String(key)}: ${problem}`
      }
      // V8 answers with the iterator of the realm that asks, which here is neither.
      if (types.isArgumentsObject(left) && key === Symbol.iterator) continue
      const one = Object.getOwnPropertyDescriptor(left, key) ?? {}
      const two = Object.getOwnPropertyDescriptor(right, other) ?? {}
      for (const attribute of ["enumerable", "configurable", "writable"] as const) {
        if (one[attribute] !== two[attribute])
          return `${String(key)} is ${attribute}: ${one[attribute]} became ${two[attribute]}`
      }
      for (const part of ["value", "get", "set"] as const) later(one[part], two[part], `${path}.${String(key)}`)
    }
    return undefined
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function"
}

/** What the object's internal slots hold, as text; the same text means the same kind and contents. */
function slotsOf(object: object): string {
  if (Array.isArray(object)) return "array"
  if (types.isDate(object)) return `date ${Date.prototype.getTime.call(object)}`
  if (types.isRegExp(object)) return `regexp ${RegExp.prototype.toString.call(object)}`
  if (types.isMap(object)) return `map ${mapSizeOf(object)}`
  if (types.isSet(object)) return `set ${setSizeOf(object)}`
  if (types.isNativeError(object)) return "error"
  if (types.isNumberObject(object)) {
    const value = Number.prototype.valueOf.call(object)
    return `number ${Object.is(value, -0) ? "-0" : value}`
  }
  if (types.isStringObject(object)) return `string ${JSON.stringify(String.prototype.valueOf.call(object))}`
  if (types.isBooleanObject(object)) return `boolean ${Boolean.prototype.valueOf.call(object)}`
  if (types.isBigIntObject(object)) return `bigint ${BigInt.prototype.valueOf.call(object)}`
  if (types.isSymbolObject(object)) return "symbol"
  if (types.isArgumentsObject(object)) return "arguments"
  if (types.isAnyArrayBuffer(object)) return bufferText(object)
  if (ArrayBuffer.isView(object)) return viewText(object)
  return typeof object
}

function mapSizeOf(map: object): number {
  return Reflect.get(Map.prototype, "size", map)
}

function setSizeOf(set: object): number {
  return Reflect.get(Set.prototype, "size", set)
}

function bufferText(buffer: ArrayBufferLike): string {
  const kind = types.isSharedArrayBuffer(buffer) ? SharedArrayBuffer.prototype : ArrayBuffer.prototype
  const max = Reflect.get(kind, "maxByteLength", buffer) as number
  return `buffer ${kind === ArrayBuffer.prototype} ${max} ${Buffer.from(new Uint8Array(buffer)).toString("hex")}`
}

function viewText(view: ArrayBufferView): string {
  const kind = types.isDataView(view) ? DataView.prototype : (Object.getPrototypeOf(Uint8Array.prototype) as object)
  const name = types.isDataView(view) ? "DataView" : (Reflect.get(kind, Symbol.toStringTag, view) as string)
  return `${name} ${String(Reflect.get(kind, "byteOffset", view))} ${String(Reflect.get(kind, "byteLength", view))}`
}
